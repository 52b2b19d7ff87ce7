/*
 * The standard descriptors, 0 to 2. Where a process has closed them, the next files it opens get
 * their numbers, and what any part of it then prints is written into those files. So before a
 * store's files are opened the numbers that are free are filled with /dev/null, for good, as SQLite
 * does for its own files.
 */
#ifndef PT_LMDB_FILE_GUARDS_H
#define PT_LMDB_FILE_GUARDS_H

#include <sys/stat.h>

#include "base/error.h"

/*
 * Comes before whatever opens a file of the store of that path to be written, LMDB too. SQLITE_OK;
 * SQLITE_CANTOPEN if one is closed and cannot be filled, SQLITE_NOMEM.
 */
int pt_lmdb_fill_descriptors(const char *path, pt_error *error);

/*
 * Network file systems: a store there would be torn, for the memory that LMDB shares between
 * processes is not shared between machines.
 */

/*
 * Refuses a file on one, unless the environment variable PTABLE_NETWORK is "allow". SQLITE_CANTOPEN
 * or SQLITE_OK, also where it is not known what the file lies on.
 */
int pt_lmdb_check_network(int fd, const char *path, pt_error *error);

/*
 * Who may use a store's files.
 */

/*
 * A new file is for whom another one is for, whatever the umask: the same permission bits and group
 * and, if this process is root's, the same owner. Where the group cannot be given, the file's own
 * group may only what everybody may. Its owner can read and write it in any case. 0 or errno.
 */
int pt_lmdb_share_like(int fd, const struct stat *like);

#endif
