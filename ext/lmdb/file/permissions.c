#include "lmdb/file/permissions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/sqlite.h"

static const char ACL_NAME[] = "system.posix_acl_access";

/* The kernel's format: a version, then for each entry a tag, rights (rwx) and a user or group. */
enum { ACL_VERSION = 2, VERSION_SIZE = 4, ACL_ENTRY_SIZE = 8, RIGHTS_AT = 2 };
enum {
    TAG_OWNER = 1,
    TAG_USER = 2,
    TAG_OWNING_GROUP = 4,
    TAG_GROUP = 8,
    TAG_MASK = 16,
    TAG_OTHER = 32
};

enum { FILE_BITS = 0666, ALL_BITS = 0777, OWNER_BITS = 0600, OWNER_ONLY = 0700, RIGHTS = 7 };
enum { OWNER_SHIFT = 6, GROUP_SHIFT = 3 };

/* --- Reading --- */

static unsigned tag_of(const uint8_t *entry)
{
    return pt_get_le16(entry);
}

static mode_t rights_of(const uint8_t *entry)
{
    return pt_get_le16(entry + RIGHTS_AT) & RIGHTS;
}

/* The kernel shows the mask in the place of the group's permission bits. A list without a mask says
 * no more than the permission bits. */
static bool has_mask(const uint8_t *acl, size_t size)
{
    for (size_t at = VERSION_SIZE; at < size; at += ACL_ENTRY_SIZE) {
        if (tag_of(acl + at) == TAG_MASK) {
            return true;
        }
    }
    return false;
}

/* True if a file system or kernel has no such list for this file. */
static bool means_none(int problem)
{
    return problem == ENODATA || problem == ENOTSUP || problem == ENOSYS;
}

static void take_acl(pt_lmdb_permissions *self, ssize_t size)
{
    self->acl_unknown = size < 0 && !means_none(errno);
    if (size <= 0) {
        return;
    }
    self->acl_unknown = size < VERSION_SIZE || (size - VERSION_SIZE) % ACL_ENTRY_SIZE != 0 ||
                        pt_get_le32(self->acl) != ACL_VERSION;
    if (!self->acl_unknown && has_mask(self->acl, (size_t)size)) {
        self->acl_size = (size_t)size;
    }
}

int pt_lmdb_read_permissions(int fd, const char *path, pt_lmdb_permissions *permissions)
{
    permissions->acl_unknown = false;
    permissions->acl_size = 0;
    if (fd >= 0) {
        if (fstat(fd, &permissions->file) != 0) {
            return errno;
        }
        take_acl(permissions, fgetxattr(fd, ACL_NAME, permissions->acl, PT_LMDB_ACL_MAX));
    } else {
        if (stat(path, &permissions->file) != 0) {
            return errno;
        }
        take_acl(permissions, getxattr(path, ACL_NAME, permissions->acl, PT_LMDB_ACL_MAX));
    }
    return 0;
}

/* --- Giving --- */

/* The list of `like`, but with these permission bits. A group that is not the same one gets the
 * rights of everybody. Sets the kernel's permission bits too. Returns 0 or errno. */
static int set_acl(int fd, const pt_lmdb_permissions *like, mode_t mode, bool same_group)
{
    uint8_t acl[PT_LMDB_ACL_MAX];
    memcpy(acl, like->acl, like->acl_size);
    for (size_t at = VERSION_SIZE; at < like->acl_size; at += ACL_ENTRY_SIZE) {
        uint8_t *entry = acl + at;
        mode_t rights = rights_of(entry);
        switch (tag_of(entry)) {
        case TAG_OWNER:
            rights = mode >> OWNER_SHIFT & RIGHTS;
            break;
        case TAG_MASK:
            rights = mode >> GROUP_SHIFT & RIGHTS;
            break;
        case TAG_OTHER:
            rights = mode & RIGHTS;
            break;
        case TAG_OWNING_GROUP:
            rights = same_group ? rights : mode & RIGHTS;
            break;
        default:
            break;
        }
        pt_put_le16(entry + RIGHTS_AT, (uint16_t)rights);
    }
    return fsetxattr(fd, ACL_NAME, acl, like->acl_size, 0) == 0 ? 0 : errno;
}

/* The permission bits without the list: the owning group and everybody have no more rights than in
 * the list, nor than any user or group in it, as its members may be among them. */
static mode_t narrowed(const pt_lmdb_permissions *like, mode_t mode)
{
    mode_t group = mode >> GROUP_SHIFT & RIGHTS;
    mode_t others = mode & RIGHTS;
    for (size_t at = VERSION_SIZE; at < like->acl_size; at += ACL_ENTRY_SIZE) {
        const uint8_t *entry = like->acl + at;
        unsigned tag = tag_of(entry);
        if (tag == TAG_USER || tag == TAG_GROUP) {
            group &= rights_of(entry);
            others &= rights_of(entry) & mode >> GROUP_SHIFT;
        } else if (tag == TAG_OWNING_GROUP) {
            group &= rights_of(entry);
        }
    }
    return like->acl_unknown ? mode & OWNER_ONLY
                             : (mode & OWNER_ONLY) | group << GROUP_SHIFT | others;
}

/* The file may have got a list from its folder. If that stays, the group's bits are its mask, and
 * without them it gives nobody anything. */
static mode_t remove_acl(int fd, mode_t mode)
{
    bool removed = fremovexattr(fd, ACL_NAME) == 0 || means_none(errno);
    return removed ? mode : mode & ~(mode_t)(RIGHTS << GROUP_SHIFT);
}

static mode_t without_group(mode_t mode)
{
    return (mode & ~(mode_t)(RIGHTS << GROUP_SHIFT)) | (mode & RIGHTS) << GROUP_SHIFT;
}

static int set_mode(int fd, const pt_lmdb_permissions *like, mode_t mode, bool same_group)
{
    if (like->acl_size > 0) {
        if (set_acl(fd, like, mode, same_group) == 0) {
            return 0;
        }
        /* The file may have the list already: the group must not get its mask when it goes. */
        if (fchmod(fd, mode & OWNER_ONLY) != 0) {
            return errno;
        }
    }
    mode = narrowed(like, mode);
    if (!same_group) {
        mode = without_group(mode);
    }
    return fchmod(fd, remove_acl(fd, mode)) == 0 ? 0 : errno;
}

int pt_lmdb_copy_permissions(int fd, const pt_lmdb_permissions *like)
{
    const uid_t unchanged = (uid_t)-1;
    const struct stat *model = &like->file;
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    bool is_root = geteuid() == 0;
    /* Owner and group come first: the mode must not let a wrong group in, not even for a moment. */
    bool same = (file.st_gid == model->st_gid && (!is_root || file.st_uid == model->st_uid)) ||
                fchown(fd, is_root ? model->st_uid : unchanged, model->st_gid) == 0;
    return set_mode(fd, like, (model->st_mode & FILE_BITS) | OWNER_BITS, same);
}

int pt_lmdb_keep_permissions(int fd, const pt_lmdb_permissions *like)
{
    const struct stat *model = &like->file;
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    bool same = file.st_uid == model->st_uid && file.st_gid == model->st_gid;
    if (!same && fchown(fd, model->st_uid, model->st_gid) != 0) {
        return errno;
    }
    return set_mode(fd, like, model->st_mode & ALL_BITS, true);
}

/* --- Protected files --- */

bool pt_lmdb_is_protected(const char *path)
{
    struct stat file;
    struct stat place;
    char *folder = sqlite3_mprintf("%.*s/", (int)(strrchr(path, '/') - path), path);
    bool found = folder != NULL && stat(path, &file) == 0 && stat(folder, &place) == 0;
    sqlite3_free(folder);
    return found && (place.st_mode & S_ISVTX) != 0 && (place.st_mode & (S_IWGRP | S_IWOTH)) != 0 &&
           file.st_uid != geteuid() && file.st_uid != place.st_uid &&
           faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0;
}
