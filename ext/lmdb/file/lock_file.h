/*
 * LMDB's lock file, which lies beside a store's file and says who reads it. LMDB finds it by its
 * name only, so two processes could share a store's file and not its lock file, or the reverse:
 * after a file was deleted, replaced, moved or linked while somebody had it open. Either would
 * destroy what they write.
 */
#ifndef PT_LMDB_FILE_LOCK_FILE_H
#define PT_LMDB_FILE_LOCK_FILE_H

#include <sys/stat.h>

#include "base/error.h"
#include "lmdb/file/locks.h"

/* How often an opener has been told to look again, and until when it will be; zeros: not yet. */
typedef struct pt_lmdb_patience {
    int looks;
    pt_deadline end;
    pt_deadline end_of_ending; /* where a process may be about to end */
} pt_lmdb_patience;

/*
 * Before LMDB opens the lock file of the store at `path`, which is `store`: makes it, for whom the
 * store is, or looks at what is there, for LMDB follows links and writes over anything.
 * SQLITE_CANTOPEN, with a text, unless it is a lock file, or empty, has no other name, and nobody
 * in this process has it open; SQLITE_IOERR if it cannot be read; SQLITE_FULL; SQLITE_NOMEM. What
 * cannot be made or looked at is left to LMDB to complain of.
 */
int pt_lmdb_lock_file_prepare(const char *path, const struct stat *store, pt_error *error);

/*
 * Before the environment of the store at `path` is opened: whoever has the file open must use the
 * lock file that this process is going to use, and nobody else may use that. A lock file of others
 * that have another file open is removed; they keep it, without its name. `fd` is open for writing;
 * its gate is held, and this process has no store of that name open. SQLITE_CANTOPEN if the file is
 * open elsewhere with another lock file, or as above; SQLITE_BUSY if that may be so for a moment
 * only: it is to be asked again, soon and with the same `patience`, but without the gate;
 * SQLITE_IOERR if it cannot be seen; SQLITE_NOMEM.
 */
int pt_lmdb_lock_file_check(const char *path, int fd, pt_lmdb_patience *patience, pt_error *error);

/* Why this process cannot make a lock file, as far as that is known: 0 or errno, EFBIG if its files
 * may not be as large. */
int pt_lmdb_lock_file_problem(void);

/* Removes the lock file of a store that nobody has open. */
void pt_lmdb_lock_file_remove(const char *path);

#endif
