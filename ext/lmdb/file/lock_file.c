#include "lmdb/file/lock_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/forks.h"
#include "lmdb/file/guards.h"
#include "lmdb/registry.h"

/*
 * A process that ends lets go of its locks one after the other, the store's last; on a busy machine
 * that may take long. But it leaves the lock file there.
 */
enum { LOOKS = 50, LOOKING_MS = 50, LOOKING_AT_ENDING_MS = 3000 };

/* A lock file begins with a magic number and that of its format; a mutex follows. */
enum { NUMBERS = 8, PRIVATE_MODE = 0600 };
static const uint32_t LOCK_MAGIC = 0xBEEFC0DE;

static char *lock_file_of(const char *path)
{
    return sqlite3_mprintf("%s-lock", path);
}

/*
 * LMDB writes to the file through a map, and a page for which there is no room would end the
 * process. So the room is taken here, where the file system can do that. One that was made
 * otherwise serves as long as it begins with a page, and keeps its size: who uses it has mapped no
 * more.
 */
static int take_room(int fd, const char *name, pt_error *error)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return SQLITE_OK;
    }
    off_t size = file.st_size > 0 ? file.st_size : PT_LMDB_LOCK_FILE_SIZE;
    int result;
    do {
        result = fallocate(fd, 0, 0, size);
    } while (result != 0 && errno == EINTR);
    int problem = result == 0 ? 0 : errno;
    return (problem == ENOSPC || problem == EDQUOT) && file.st_blocks == 0
               ? pt_lmdb_fail(error, problem, name, "making this lock file")
               : SQLITE_OK;
}

int pt_lmdb_lock_file_problem(void)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &limit);
    return limit.rlim_cur < PT_LMDB_LOCK_FILE_SIZE ? EFBIG : 0;
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
static bool is_lock_file(const uint8_t *start, size_t size)
{
    static const uint8_t zeros[NUMBERS];
    return (size == NUMBERS && memcmp(start, &LOCK_MAGIC, sizeof LOCK_MAGIC) == 0) ||
           memcmp(start, zeros, size) == 0;
}

/* Whether the descriptor is of this file. In /proc, a descriptor's name leads to its file. */
static bool is_descriptor_of(DIR *descriptors, const char *name, const struct stat *file)
{
    struct stat other;
    return fstatat(dirfd(descriptors), name, &other, 0) == 0 && other.st_dev == file->st_dev &&
           other.st_ino == file->st_ino;
}

/* Whether this process has it open: another copy of LMDB, or LMDB beside us. What a child process
 * has inherited does not count: LMDB does not use it there. */
static bool is_open_here(const struct stat *file)
{
    bool found = false;
    DIR *descriptors = atomic_load(&pt_lmdb_generation) == 0 ? opendir("/proc/self/fd") : NULL;
    if (descriptors == NULL) {
        return false;
    }
    for (const struct dirent *entry; !found && (entry = readdir(descriptors)) != NULL;) {
        found = is_descriptor_of(descriptors, entry->d_name, file);
    }
    closedir(descriptors);
    return found;
}

/*
 * Our LMDB does not have it open, for the store is not. But it may be another file that this
 * process uses, and then its descriptor must not be closed.
 */
static int check_content(const char *name, const struct stat *file, pt_error *error)
{
    uint8_t start[NUMBERS];
    bool writable = false;
    pt_lmdb_owned owned;
    if (!pt_lmdb_foreign_take(name, &owned, &writable)) {
        if (is_open_here(file)) {
            return pt_error_set(error, SQLITE_CANTOPEN,
                                "lock file %Q is in use in this process, by another copy of the "
                                "extension or by LMDB without it; close the store there, or load "
                                "one copy only",
                                name);
        }
        const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
        if (pt_lmdb_open_owned(name, O_RDWR | flags, 0, &owned) != 0 &&
            pt_lmdb_open_owned(name, O_RDONLY | flags, 0, &owned) != 0) {
            return SQLITE_OK;
        }
    }
    ssize_t size = pread(owned.fd, start, sizeof start, 0);
    if (size < 0 || !is_lock_file(start, (size_t)size)) {
        int problem = errno;
        pt_lmdb_foreign_keep(&owned, writable);
        return size < 0 ? pt_lmdb_fail(error, problem, name, "reading this lock file")
                        : refuse(error, name, "its content is something else");
    }
    int rc = take_room(owned.fd, name, error);
    pt_lmdb_close_owned(&owned);
    return rc;
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
    return check_content(name, &file, error);
}

/* What cannot be made is left to LMDB to complain of. */
static int make_or_examine(const char *lock_file, const struct stat *store, pt_error *error)
{
    int fd = open(lock_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, PRIVATE_MODE);
    if (fd < 0) {
        return errno == EEXIST ? check_existing(lock_file, error) : SQLITE_OK;
    }
    pt_lmdb_share_like(fd, store);
    int rc = take_room(fd, lock_file, error);
    close(fd);
    return rc;
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

/* LMDB locks the first byte, in the name of the process. 0, or errno if that cannot be said. */
static int look_at_users(const char *lock_file, bool *used)
{
    *used = false;
    int fd = open(lock_file, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int problem = fcntl(fd, F_GETLK, &lock) == 0 ? 0 : errno;
    *used = problem == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return problem;
}

/* Whether it may still be seen otherwise; notes that it has been seen. */
static bool may_look_again(pt_lmdb_patience *patience, bool is_ending)
{
    if (patience->looks == 0) {
        patience->end = pt_deadline_in(LOOKING_MS);
        patience->end_of_ending = pt_deadline_in(LOOKING_AT_ENDING_MS);
    }
    patience->looks++;
    pt_deadline end = is_ending ? patience->end_of_ending : patience->end;
    return patience->looks < LOOKS || !pt_deadline_has_passed(end);
}

/* Of the store's file and its lock file one has users, and the other none. */
static int judge_difference(const char *path, const char *lock_file, bool in_use,
                            pt_lmdb_patience *patience, pt_error *error)
{
    if (may_look_again(patience, in_use && access(lock_file, F_OK) == 0)) {
        return pt_error_set(error, SQLITE_BUSY,
                            "store %Q is being opened or closed by another process; try again",
                            path);
    }
    if (in_use) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q is open in another process that does not use its lock file "
                            "%Q: the lock file was deleted, or the store is open there under "
                            "another name; close it there first",
                            path, lock_file);
    }
    unlink(lock_file);
    return SQLITE_OK;
}

static int check_users(const char *path, const char *lock_file, int fd, pt_lmdb_patience *patience,
                       pt_error *error)
{
    bool in_use;
    bool used;
    int problem = pt_lock_look(fd, PT_LOCK_PRESENCE, &in_use);
    if (problem == 0) {
        problem = look_at_users(lock_file, &used);
    }
    if (problem != 0) {
        pt_lmdb_fail(error, problem, path, "looking who uses its lock file");
        error->rc = error->rc == SQLITE_READONLY ? SQLITE_CANTOPEN : error->rc;
        return error->rc;
    }
    return in_use == used ? SQLITE_OK : judge_difference(path, lock_file, in_use, patience, error);
}

int pt_lmdb_lock_file_check(const char *path, int fd, pt_lmdb_patience *patience, pt_error *error)
{
    char *lock_file = lock_file_of(path);
    if (lock_file == NULL) {
        return pt_error_nomem(error);
    }
    /* First, for to look at the locks of another file of this process is to lose them. */
    int rc = check_existing(lock_file, error);
    if (rc == SQLITE_OK) {
        rc = check_users(path, lock_file, fd, patience, error);
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
