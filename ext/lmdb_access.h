/*
 * Who may use a store's files, and what may lie under the name of its lock file.
 */
#ifndef PT_LMDB_ACCESS_H
#define PT_LMDB_ACCESS_H

#include <sys/stat.h>

#include "error.h"

/*
 * A new file is for whom another one is for, whatever the umask: the same permission bits and group
 * and, if this process is root's, the same owner. Where the group cannot be given, the file's own
 * group may only what everybody may. Its owner can read and write it in any case. 0 or errno.
 */
int pt_lmdb_share_like(int fd, const struct stat *like);

/*
 * Before LMDB opens the lock file of the store at `path`, which is `store`: makes it, for whom the
 * store is, or looks at what is there, for LMDB follows links and writes over anything.
 * SQLITE_CANTOPEN, with a text, unless it is a lock file, or empty, and has no other name;
 * SQLITE_NOMEM. What cannot be made or looked at is left to LMDB to complain of.
 */
int pt_lmdb_prepare_lock_file(const char *path, const struct stat *store, pt_error *error);

#endif
