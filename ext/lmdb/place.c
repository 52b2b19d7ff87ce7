#include "lmdb/place.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/file/error.h"
#include "lmdb/file/temporary.h"

/* Whether the file of this name is this one. 0 or errno if that cannot be said. */
static int look_at_name(const char *path, dev_t device, ino_t inode, bool *same)
{
    struct stat named;
    *same = false;
    if (stat(path, &named) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    }
    *same = named.st_dev == device && named.st_ino == inode;
    return 0;
}

bool pt_lmdb_has_lost_name(const struct stat *file, const char *path)
{
    bool same;
    return look_at_name(path, file->st_dev, file->st_ino, &same) == 0 && !same;
}

int pt_lmdb_fail_moved(pt_error *error, int rc, const char *path)
{
    return pt_error_set(error, rc,
                        "store %Q was moved, replaced or deleted while it is open; close all "
                        "connections to it, and open it where it is now",
                        path);
}

int pt_lmdb_check_place(const pt_lmdb_store *store, int code, pt_error *error)
{
    bool same;
    int problem = look_at_name(store->base.path, store->device, store->inode, &same);
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, store->base.path, "looking at its name");
    }
    return same ? SQLITE_OK : pt_lmdb_fail_moved(error, code, store->base.path);
}

int pt_lmdb_settle_name(pt_lmdb_store *store, pt_error *error)
{
    if (store->renamed || store->found) {
        int problem = pt_lmdb_sync_folder(store->base.path);
        if (problem != 0) {
            return pt_lmdb_fail(error, problem, store->base.path, "making its name durable");
        }
        store->renamed = false;
        store->found = false;
    }
    return SQLITE_OK;
}
