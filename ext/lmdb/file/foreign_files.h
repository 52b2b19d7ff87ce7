/*
 * Files that are not stores: refusing them, and keeping their descriptors open.
 *
 * A process loses all its fcntl() locks on a file when it closes any descriptor of that file. A
 * file that was opened as a store and is not one may be a database that SQLite has locked, or the
 * lock file of LMDB. So its descriptor stays open, one a file, and is used again. A child process
 * starts without such locks, and closes the descriptors.
 */
#ifndef PT_LMDB_FILE_FOREIGN_FILES_H
#define PT_LMDB_FILE_FOREIGN_FILES_H

#include <sys/stat.h>

#include "base/error.h"
#include "lmdb/file/descriptors.h"

/* Sets the error "not a ptable store", with the reason `what`. Returns SQLITE_CANTOPEN. */
int pt_lmdb_fail_foreign(pt_error *error, const char *path, const char *what);

/* SQLITE_CANTOPEN unless it is a regular file. To be asked before the file is opened: opening a
 * device can start it, and opening a FIFO lets the process at its other end go on. */
int pt_lmdb_check_kind(const struct stat *file, const char *path, pt_error *error);

/*
 * Checks that `fd` is of a file that LMDB made, and sets *file. LMDB itself would first put its
 * lock file beside the file, whatever it is. SQLITE_CANTOPEN if it is not one, SQLITE_IOERR.
 */
int pt_lmdb_check_file(int fd, const char *path, struct stat *file, pt_error *error);

/* Takes over the descriptor and keeps it open. Only that of something other than a regular file is
 * closed. */
void pt_lmdb_foreign_keep(pt_lmdb_owned *owned, bool writable);

/* Gives the caller the descriptor that is kept of the file at `path`. False if there is none. */
bool pt_lmdb_foreign_take(const char *path, pt_lmdb_owned *owned, bool *writable);

/* For the handlers of pthread_atfork; pt_lmdb_before_fork and pt_lmdb_after_fork come between. */
void pt_lmdb_foreign_before_fork(void);
void pt_lmdb_foreign_after_fork(bool in_child);

#endif
