#include "lmdb_lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lmdb_access.h"
#include "lmdb_foreign.h"
#include "lmdb_locks.h"
#include "sqlite.h"

/* A process that ends lets go of its locks one after the other, and where many run that takes time.
 */
enum { LOOKS = 1000, NS_BETWEEN_LOOKS = 1000000 };

/* A lock file begins with a magic number and that of its format; a mutex follows. */
enum { NUMBERS = 8, PRIVATE_MODE = 0600 };
static const uint32_t LOCK_MAGIC = 0xBEEFC0DE;

static char *lock_file_of(const char *path)
{
    return sqlite3_mprintf("%s-lock", path);
}

/* --- What lies there --- */

static int refuse(pt_error *error, const char *name, const char *what)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "file %Q stands where the store's lock file belongs, but %s; move it away, "
                        "or use another store",
                        name, what);
}

/* LMDB writes the two numbers last: they are missing where its process, or the power, ended then.
 */
static bool is_lock_file(const uint8_t *start, ssize_t size)
{
    static const uint8_t zeros[NUMBERS];
    return size >= 0 && ((size == NUMBERS && memcmp(start, &LOCK_MAGIC, sizeof LOCK_MAGIC) == 0) ||
                         memcmp(start, zeros, (size_t)size) == 0);
}

/*
 * LMDB does not have it open, for the store is not. But it may be another file that this process
 * uses, and then its descriptor must not be closed.
 */
static int check_content(const char *name, pt_error *error)
{
    uint8_t start[NUMBERS];
    bool writable = false;
    int fd;
    if (!pt_lmdb_foreign_take(name, &fd, &writable)) {
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    }
    if (fd < 0) {
        return SQLITE_OK;
    }
    if (!is_lock_file(start, pread(fd, start, sizeof start, 0))) {
        pt_lmdb_foreign_keep(fd, writable);
        return refuse(error, name, "its content is something else");
    }
    close(fd);
    return SQLITE_OK;
}

static int check_existing(const char *name, pt_error *error)
{
    struct stat file;
    if (lstat(name, &file) != 0) {
        return SQLITE_OK;
    }
    if (!S_ISREG(file.st_mode)) {
        return refuse(error, name, S_ISLNK(file.st_mode) ? "is a link" : "is no regular file");
    }
    if (file.st_nlink > 1) {
        return refuse(error, name, "has another name, too");
    }
    return check_content(name, error);
}

/* What cannot be made is left to LMDB to complain of. */
static int make_or_examine(const char *lock_file, const struct stat *store, pt_error *error)
{
    int fd = open(lock_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, PRIVATE_MODE);
    if (fd < 0) {
        return errno == EEXIST ? check_existing(lock_file, error) : SQLITE_OK;
    }
    pt_lmdb_share_like(fd, store);
    close(fd);
    return SQLITE_OK;
}

int pt_lmdb_lock_file_prepare(const char *path, const struct stat *store, pt_error *error)
{
    char *lock_file = lock_file_of(path);
    if (lock_file == NULL) {
        return pt_error_nomem(error);
    }
    int rc = make_or_examine(lock_file, store, error);
    sqlite3_free(lock_file);
    return rc;
}

/* --- Who uses it --- */

/* LMDB locks the first byte, in the name of the process. */
static bool is_used(const char *lock_file)
{
    int fd = open(lock_file, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    bool used = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return used;
}

/* Whether the store's file and its lock file have users both, or neither has. */
static bool is_consistent(const char *lock_file, int fd, bool *in_use)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        *in_use = pt_lock_is_held(fd, PT_LOCK_PRESENCE);
        if (*in_use == is_used(lock_file)) {
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = NS_BETWEEN_LOOKS}, NULL);
    }
    return false;
}

int pt_lmdb_lock_file_check(const char *path, int fd, pt_error *error)
{
    bool in_use;
    char *lock_file = lock_file_of(path);
    if (lock_file == NULL) {
        return pt_error_nomem(error);
    }
    /* First, for to look at the locks of another file of this process is to lose them. */
    int rc = check_existing(lock_file, error);
    if (rc == SQLITE_OK && !is_consistent(lock_file, fd, &in_use)) {
        if (in_use) {
            rc = pt_error_set(error, SQLITE_CANTOPEN,
                              "store %Q is open in another process that does not use its lock file "
                              "%Q: the lock file was deleted, or the store is open there under "
                              "another name; close it there first",
                              path, lock_file);
        } else {
            unlink(lock_file);
        }
    }
    sqlite3_free(lock_file);
    return rc;
}

void pt_lmdb_lock_file_remove(const char *path)
{
    char *lock_file = lock_file_of(path);
    if (lock_file != NULL) {
        unlink(lock_file);
    }
    sqlite3_free(lock_file);
}
