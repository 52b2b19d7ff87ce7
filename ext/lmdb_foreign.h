/*
 * Files that were opened as stores and are none. A process loses all fcntl() locks on a file when
 * it closes any descriptor of it, and this one may be a database that SQLite has locked, or the
 * lock file of LMDB. So such descriptors stay open: one a file, which is used again.
 */
#ifndef PT_LMDB_FOREIGN_H
#define PT_LMDB_FOREIGN_H

#include <stdbool.h>

/* Takes a descriptor over. It is closed only if it is not one of a regular file. */
void pt_lmdb_foreign_keep(int fd, bool writable);

/* The descriptor that is kept of the file of this name, which is the caller's from now on. */
bool pt_lmdb_foreign_take(const char *path, int *fd, bool *writable);

#endif
