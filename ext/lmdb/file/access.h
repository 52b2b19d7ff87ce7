/*
 * Who may use a store's files.
 */
#ifndef PT_LMDB_FILE_ACCESS_H
#define PT_LMDB_FILE_ACCESS_H

#include <sys/stat.h>

/*
 * A new file is for whom another one is for, whatever the umask: the same permission bits and group
 * and, if this process is root's, the same owner. Where the group cannot be given, the file's own
 * group may only what everybody may. Its owner can read and write it in any case. 0 or errno.
 */
int pt_lmdb_share_like(int fd, const struct stat *like);

#endif
