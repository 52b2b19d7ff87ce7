#include "lmdb/file/network.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/sqlite.h"

/* The numbers that statfs() reports. Not every kernel header defines all of them. */
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

static const char *network_name_of(uint32_t magic)
{
    for (size_t i = 0; i < sizeof network_file_systems / sizeof network_file_systems[0]; i++) {
        if (network_file_systems[i].magic == magic) {
            return network_file_systems[i].name;
        }
    }
    return NULL;
}

static bool network_is_allowed(void)
{
    const char *setting = getenv("PTABLE_NETWORK");
    return setting != NULL && strcmp(setting, "allow") == 0;
}

static const char *find_network(int fd)
{
    struct statfs place;
    return fstatfs(fd, &place) == 0 ? network_name_of((uint32_t)place.f_type) : NULL;
}

bool pt_lmdb_is_on_network(int fd)
{
    return find_network(fd) != NULL;
}

int pt_lmdb_check_network(int fd, const char *path, pt_error *error)
{
    const char *name = find_network(fd);
    if (name == NULL || network_is_allowed()) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q lies on a network file system (%s), where two machines would "
                        "destroy it; move it to a local disk, or, if only one machine ever uses "
                        "it, set the environment variable PTABLE_NETWORK=allow",
                        path, name);
}
