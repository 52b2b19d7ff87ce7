#include "lmdb_backup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lmdb_copy.h"
#include "lmdb_error.h"
#include "lmdb_temporary.h"
#include "sqlite.h"

enum { MODE_OF_NEW_FILES = 0644 };

static int fail(pt_error *error, const char *path, int problem)
{
    switch (problem) {
    case EEXIST:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "backup %Q cannot be made: there is a file of that name, and it is not "
                            "overwritten; name another, or remove it first",
                            path);
    case ENOENT:
    case ENOTDIR:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "backup %Q cannot be made: its folder does not exist; create it first, "
                            "or name another",
                            path);
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "backup %Q cannot be made: %s; ask for write permission on its folder, "
                            "or name another",
                            path, strerror(problem));
    default:
        return pt_lmdb_fail(error, problem, path, "making the backup");
    }
}

static int copy_newest(pt_store *store, const pt_lmdb_temporary *temporary, const char *path,
                       const pt_watch *watch, pt_error *error)
{
    pt_snapshot *snapshot;
    int rc = pt_lmdb_snapshot_new(store, &snapshot, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_lmdb_snapshot_begin(snapshot, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_copy(pt_lmdb_own_snapshot(snapshot), temporary->name, path, watch, error);
    }
    pt_lmdb_snapshot_free(snapshot);
    return rc;
}

/* Who may read the store may read its backup. 0 or errno. */
static int take_over_mode(const pt_lmdb_store *store, int fd)
{
    struct stat original;
    if (store->fd < 0) {
        return 0;
    }
    return fstat(store->fd, &original) == 0 && fchmod(fd, original.st_mode & 0777) == 0 ? 0 : errno;
}

static int publish(const pt_lmdb_store *store, pt_lmdb_temporary *temporary, const char *path,
                   int64_t *bytes, pt_error *error)
{
    struct stat copy;
    int problem = take_over_mode(store, temporary->fd);
    if (problem == 0 && fstat(temporary->fd, &copy) != 0) {
        problem = errno;
    }
    if (problem == 0) {
        problem = pt_lmdb_temporary_publish(temporary, path);
    }
    if (problem != 0) {
        return fail(error, path, problem);
    }
    *bytes = (int64_t)copy.st_size;
    return SQLITE_OK;
}

int pt_lmdb_backup(pt_store *base, const char *path, const pt_watch *watch, int64_t *bytes,
                   pt_error *error)
{
    const pt_lmdb_store *store = (const pt_lmdb_store *)base;
    pt_lmdb_temporary temporary;
    struct stat other;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    int problem = lstat(path, &other) == 0
                      ? EEXIST
                      : pt_lmdb_temporary_make(path, MODE_OF_NEW_FILES, &temporary);
    if (problem != 0) {
        return fail(error, path, problem);
    }
    int rc = copy_newest(base, &temporary, path, watch, error);
    if (rc == SQLITE_OK) {
        rc = publish(store, &temporary, path, bytes, error);
    }
    pt_lmdb_temporary_close(&temporary);
    return rc;
}
