#include "lmdb/file/permissions.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

enum { FILE_BITS = 0666, OWNER_BITS = 0600, GROUP_BITS = 0060, OTHER_BITS = 0006, GROUP_SHIFT = 3 };

int pt_lmdb_copy_permissions(int fd, const struct stat *like)
{
    const uid_t unchanged = (uid_t)-1;
    mode_t mode = (like->st_mode & FILE_BITS) | OWNER_BITS;
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    bool is_root = geteuid() == 0;
    /* Owner and group come first: the mode must not let a wrong group in, not even for a moment. */
    bool same = file.st_gid == like->st_gid && (!is_root || file.st_uid == like->st_uid);
    if (!same && fchown(fd, is_root ? like->st_uid : unchanged, like->st_gid) != 0) {
        mode = (mode & ~(mode_t)GROUP_BITS) | (mode & OTHER_BITS) << GROUP_SHIFT;
    }
    return fchmod(fd, mode) == 0 ? 0 : errno;
}
