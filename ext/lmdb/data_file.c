#include "lmdb/data_file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sqlite.h"
#include "lmdb/create.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/foreign_files.h"

enum { FINDING_TRIES = 3 };

static int open_as(const char *path, int access, pt_lmdb_owned *file)
{
    return pt_lmdb_open_owned(path, access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0, file);
}

/* Opens the data file, for writing if possible. Returns 0 or errno. */
static int open_existing(const char *path, pt_lmdb_owned *file, bool *writable)
{
    /* First the descriptor that is kept of a foreign file: a second one could not be closed without
     * dropping the process's locks on the file. */
    if (pt_lmdb_foreign_take(path, file, writable)) {
        return 0;
    }
    *writable = true;
    int problem = open_as(path, O_RDWR, file);
    if (problem == EACCES || problem == EPERM || problem == EROFS || problem == EISDIR) {
        *writable = false;
        problem = open_as(path, O_RDONLY, file);
    }
    return problem;
}

static bool is_link(const char *path)
{
    struct stat file;
    return lstat(path, &file) == 0 && S_ISLNK(file.st_mode);
}

static int fail_missing(pt_error *error, const char *path)
{
    if (is_link(path)) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q is a symbolic link to a file that does not exist; bring that "
                            "file back, or delete the link, or name another store",
                            path);
    }
    return pt_error_set(
        error, SQLITE_CANTOPEN,
        "store %Q does not exist; bring it back, if it was moved or left behind, or "
        "make a new one with CREATE VIRTUAL TABLE, after DROP TABLE if the table is "
        "declared already",
        path);
}

int pt_lmdb_fail_opening_file(pt_error *error, const char *path, int problem)
{
    switch (problem) {
    case ENOENT:
        return fail_missing(error, path);
    case ELOOP:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be opened: its path has a circle of symbolic links; "
                            "delete one of them, or name another store",
                            path);
    case ENOTDIR:
        return pt_error_set(
            error, SQLITE_CANTOPEN,
            "store %Q cannot be opened: a part of its path is not a folder; name another", path);
    case EACCES:
    case EPERM:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be opened: no permission; ask its owner for it", path);
    case ENOMEM:
        return pt_error_nomem(error);
    default:
        pt_lmdb_fail(error, problem, path, "opening it");
        error->rc = error->rc == SQLITE_IOERR ? SQLITE_CANTOPEN : error->rc;
        return error->rc;
    }
}

static int check_kind_at(const char *path, pt_error *error)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return errno == ENOENT ? SQLITE_OK : pt_lmdb_fail_opening_file(error, path, errno);
    }
    return pt_lmdb_check_kind(&file, path, error);
}

int pt_lmdb_open_data_file(const char *path, bool create, pt_lmdb_owned *file, bool *writable,
                           pt_error *error)
{
    int rc = check_kind_at(path, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_fill_descriptors(path, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* More than one try: another process may remove the file after we have made it. */
    int problem = open_existing(path, file, writable);
    for (int tries = 1; problem == ENOENT && create && tries < FINDING_TRIES; tries++) {
        rc = pt_lmdb_create_file(path, NULL, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        problem = open_existing(path, file, writable);
    }
    return problem == 0 ? SQLITE_OK : pt_lmdb_fail_opening_file(error, path, problem);
}

/* --- Its name --- */

int pt_lmdb_is_named(const char *path, dev_t device, ino_t inode, bool *same)
{
    struct stat named;
    *same = false;
    if (stat(path, &named) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    }
    *same = named.st_dev == device && named.st_ino == inode;
    return 0;
}

int pt_lmdb_fail_moved(pt_error *error, int rc, const char *path)
{
    return pt_error_set(error, rc,
                        "store %Q was moved, replaced or deleted while it is open; close all "
                        "connections to it, and open it where it is now",
                        path);
}
