/*
 * LMDB's lock file, beside a store's file. It holds the reader table: which process reads which
 * version. LMDB finds the lock file by its name only. So after a file was deleted, replaced, moved
 * or linked while it was open, two processes could share the store's file but not its lock file, or
 * the reverse. Either would destroy what they write.
 */
#ifndef PT_LMDB_FILE_LOCK_FILE_H
#define PT_LMDB_FILE_LOCK_FILE_H

#include <sys/types.h>

#include "base/error.h"
#include "lmdb/file/locks.h"

/* Slots of the reader table, and bytes of a lock file with so many. */
enum { PT_LMDB_READERS_MAX = 1022, PT_LMDB_LOCK_FILE_SIZE = 65536 };

/* The name of the lock file of the store at `path`, from sqlite3_malloc. NULL when out of memory.
 */
char *pt_lmdb_lock_file_of(const char *path);

/* How often an opener was told to look again, and until when it will be. Starts as zeros. */
typedef struct pt_lmdb_patience {
    int looks;
    pt_deadline end;
    pt_deadline end_of_ending; /* if another process may be about to end */
} pt_lmdb_patience;

/*
 * Comes before LMDB opens the lock file of the store at `path`, since LMDB follows links and
 * overwrites anything. Makes the lock file, with the permissions of the store's open file `store`
 * (for this user only if it is -1), or checks the one that is there. SQLITE_CANTOPEN if it is
 * neither a lock file nor empty, has another name, or is open in this process; SQLITE_IOERR if it
 * cannot be read; SQLITE_FULL; SQLITE_NOMEM. A file that cannot be made or opened is SQLITE_OK:
 * LMDB reports it.
 */
int pt_lmdb_lock_file_prepare(const char *path, int store, pt_error *error);

/*
 * Comes before the environment of the store at `path` is opened. Checks that the processes that
 * have the store's file open are the ones that use the lock file of that name. If the lock file
 * belongs to users of another store's file, its name is removed; they go on with it. `fd` is the
 * store's file, open for writing; its gate is held, and this process has no store of that name
 * open.
 *
 * SQLITE_CANTOPEN if the store's file is open elsewhere with another lock file, and as above;
 * SQLITE_BUSY if that may be so for a moment only: release the gate and call again soon, with the
 * same `patience`; SQLITE_IOERR if the locks cannot be read; SQLITE_NOMEM.
 */
int pt_lmdb_lock_file_check(const char *path, int fd, pt_lmdb_patience *patience, pt_error *error);

/* EFBIG if the process may not make a file as large as a lock file (RLIMIT_FSIZE), else 0. */
int pt_lmdb_lock_file_problem(void);

/* A file, whatever its name. Zeros: none. */
typedef struct pt_lmdb_file_id {
    dev_t device;
    ino_t inode;
} pt_lmdb_file_id;

/* The file that is the lock file of the store at `path` now. Zeros if there is none, or this user
 * may not read and write it. */
pt_lmdb_file_id pt_lmdb_lock_file_identify(const char *path);

/* Removes the lock file of a store that no process has open. */
void pt_lmdb_lock_file_remove(const char *path);

#endif
