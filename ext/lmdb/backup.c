#include "lmdb/backup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/copy.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/temporary.h"
#include "lmdb/registry.h"

static int fail_backup(pt_error *error, const char *path, int problem)
{
    switch (problem) {
    case EEXIST:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "backup %Q cannot be made: a file of that name exists, and is not "
                            "overwritten; give another name, or remove the file first",
                            path);
    case ENOENT:
    case ENOTDIR:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "backup %Q cannot be made: its folder does not exist; create it first, "
                            "or give another name",
                            path);
    case EACCES:
    case EPERM:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "backup %Q cannot be made: %s; ask for write permission on its folder, "
                            "or give another name",
                            path, strerror(problem));
    default:
        return pt_lmdb_fail(error, problem, path, "making the backup");
    }
}

/* Makes a temporary file with the store's access rights: everyone who may read the store may read
 * its backup. 0 or errno. */
static int make_backup_file(const pt_lmdb_store *store, const char *path, pt_lmdb_temporary *copy)
{
    pt_lmdb_permissions original;
    bool is_file;
    int problem = pt_lmdb_look_at_file(store, &is_file, &original);
    return problem == 0 ? pt_lmdb_temporary_make(path, is_file ? &original : NULL, copy) : problem;
}

static int publish_backup(pt_lmdb_temporary *temporary, const char *path, int64_t *bytes,
                          pt_error *error)
{
    struct stat copy;
    int problem = fstat(temporary->fd, &copy) == 0 ? 0 : errno;
    if (problem == 0) {
        problem = pt_lmdb_temporary_publish(temporary, path);
    }
    if (problem != 0) {
        return fail_backup(error, path, problem);
    }
    *bytes = (int64_t)copy.st_size;
    return SQLITE_OK;
}

int pt_lmdb_backup(pt_store *base, const char *path, const pt_watch *watch, int64_t *bytes,
                   pt_error *error)
{
    const pt_lmdb_store *store = (const pt_lmdb_store *)base;
    pt_lmdb_temporary temporary = {.fd = -1};
    struct stat other;
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    /* The copy would lack what this version does not know, and say that it has it. */
    if (store->env.is_newer) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be copied: it was made by a newer version of ptable; "
                            "make the backup with that",
                            base->path);
    }
    /* Asked first, as publishing would notice only after all was copied. lstat: a link that leads
     * nowhere has the name too. */
    if (lstat(path, &other) == 0) {
        return fail_backup(error, path, EEXIST);
    }
    int rc = pt_lmdb_fill_descriptors(base->path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int problem = make_backup_file(store, path, &temporary);
    if (problem != 0) {
        return fail_backup(error, path, problem);
    }
    rc = pt_lmdb_copy(base, temporary.name, path, watch, error);
    if (rc == SQLITE_OK) {
        rc = publish_backup(&temporary, path, bytes, error);
    }
    pt_lmdb_temporary_close(&temporary);
    return rc;
}
