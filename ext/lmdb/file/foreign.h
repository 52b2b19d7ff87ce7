/*
 * Files that were opened as stores and are none. A process loses all fcntl() locks on a file when
 * it closes any descriptor of it, and this one may be a database that SQLite has locked, or the
 * lock file of LMDB. So such descriptors stay open: one a file, which is used again. A child, which
 * has no such locks when it begins, closes them.
 */
#ifndef PT_LMDB_FILE_FOREIGN_H
#define PT_LMDB_FILE_FOREIGN_H

#include <stdbool.h>

#include "lmdb/file/forks.h"

/* Takes the descriptor over. It is closed only if it is not one of a regular file. */
void pt_lmdb_foreign_keep(pt_lmdb_owned *owned, bool writable);

/* The descriptor that is kept of the file of this name, which is the caller's from now on. */
bool pt_lmdb_foreign_take(const char *path, pt_lmdb_owned *owned, bool *writable);

/* For the handlers of pthread_atfork, around those of lmdb/file/forks.h. */
void pt_lmdb_foreign_forks_begin(void);
void pt_lmdb_foreign_forks_end_in_parent(void);
void pt_lmdb_foreign_forks_end_in_child(void);

#endif
