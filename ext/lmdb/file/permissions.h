/*
 * The permissions of a store's new files: those of the main database, or of the store they belong
 * to. Without such a file the umask decides (lmdb/file/temporary.c).
 */
#ifndef PT_LMDB_FILE_PERMISSIONS_H
#define PT_LMDB_FILE_PERMISSIONS_H

#include <sys/stat.h>

/*
 * Gives a new file the permissions of the file `like`, whatever the umask: its permission bits, its
 * group, and, if the process runs as root, its owner. Where the group cannot be given, the file's
 * own group gets only the rights of everybody. The owner can always read and write the file.
 * Returns 0 or errno.
 */
int pt_lmdb_copy_permissions(int fd, const struct stat *like);

#endif
