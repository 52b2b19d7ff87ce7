#include "lmdb/file/guards.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/sqlite.h"

static bool one_is_closed(void)
{
    bool closed = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        closed = closed || fcntl(fd, F_GETFD) < 0;
    }
    return closed;
}

/*
 * Programs that are executed need them filled as well. Read only, so that printing fails as it did.
 * A descriptor gets the lowest free number: threads may do this at once.
 */
static int fill(void)
{
    int fd = 0;
    while (fd >= 0 && one_is_closed()) {
        fd = open("/dev/null", O_RDONLY);
        if (fd > STDERR_FILENO) {
            close(fd);
        }
    }
    return fd >= 0 ? 0 : errno;
}

int pt_lmdb_fill_descriptors(const char *path, pt_error *error)
{
    int problem = fill();
    if (problem == 0) {
        return SQLITE_OK;
    }
    if (problem == ENOMEM) {
        return pt_error_nomem(error);
    }
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q is not opened while descriptor 0, 1 or 2 of this process is "
                        "closed, as what is printed would go into it, and /dev/null cannot be "
                        "opened in its place: %s; keep all three open",
                        path, strerror(problem));
}

/* --- Network --- */

/* What statfs calls them; not all kernel headers know all of them. */
static const struct {
    uint32_t magic;
    const char *name;
} network_file_systems[] = {
    {0x00006969, "NFS"},   {0x0000517B, "SMB"},  {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB"},
    {0x01021997, "9P"},    {0x5346414F, "AFS"},  {0x6B414653, "AFS"},    {0x73757245, "Coda"},
    {0x00C36400, "Ceph"},  {0x65735546, "FUSE"}, {0x0BD00BD0, "Lustre"}, {0x19830326, "BeeGFS"},
    {0x47504653, "GPFS"},  {0x01161970, "GFS2"}, {0x7461636F, "OCFS2"},  {0x786F4256, "vboxsf"},
    {0xAAD7AAEA, "PanFS"},
};

static const char *name_of(uint32_t magic)
{
    for (size_t i = 0; i < sizeof network_file_systems / sizeof network_file_systems[0]; i++) {
        if (network_file_systems[i].magic == magic) {
            return network_file_systems[i].name;
        }
    }
    return NULL;
}

static bool is_allowed(void)
{
    const char *setting = getenv("PTABLE_NETWORK");
    return setting != NULL && strcmp(setting, "allow") == 0;
}

int pt_lmdb_check_network(int fd, const char *path, pt_error *error)
{
    struct statfs place;
    const char *name = fstatfs(fd, &place) == 0 ? name_of((uint32_t)place.f_type) : NULL;
    if (name == NULL || is_allowed()) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q lies on a network file system (%s), where two machines would "
                        "destroy it; move it to a local disk, or, if only one machine ever uses "
                        "it, set the environment variable PTABLE_NETWORK=allow",
                        path, name);
}

/* --- Access --- */

enum { FILE_BITS = 0666, OWNER_BITS = 0600, GROUP_BITS = 0060, OTHER_BITS = 0006, GROUP_SHIFT = 3 };

int pt_lmdb_share_like(int fd, const struct stat *like)
{
    const uid_t unchanged = (uid_t)-1;
    mode_t mode = (like->st_mode & FILE_BITS) | OWNER_BITS;
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    bool is_root = geteuid() == 0;
    bool same = file.st_gid == like->st_gid && (!is_root || file.st_uid == like->st_uid);
    if (!same && fchown(fd, is_root ? like->st_uid : unchanged, like->st_gid) != 0) {
        mode = (mode & ~(mode_t)GROUP_BITS) | (mode & OTHER_BITS) << GROUP_SHIFT;
    }
    return fchmod(fd, mode) == 0 ? 0 : errno;
}
