#include "lmdb_access.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lmdb_foreign.h"
#include "sqlite.h"

enum { FILE_BITS = 0666, OWNER_BITS = 0600, GROUP_BITS = 0060, OTHER_BITS = 0006, GROUP_SHIFT = 3 };

/* LMDB's lock file begins with a magic number, which is written last, another and a mutex. */
enum { LOOKED_AT = 64, MUTEX_OFFSET = 8 };
static const uint32_t LOCK_MAGIC = 0xBEEFC0DE;

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

static int refuse(pt_error *error, const char *name, const char *what)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "file %Q stands where the store's lock file belongs, but %s; move it away, "
                        "or use another store",
                        name, what);
}

/* Makes the mutex there as LMDB does; leaves zeros where it cannot be made. */
static void make_mutex(unsigned char *at)
{
    pthread_mutex_t mutex = {0};
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) == 0) {
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    memcpy(at, &mutex, sizeof mutex);
}

/* Whether an opener ended before it wrote the magic number. */
static bool is_unfinished(const unsigned char start[LOOKED_AT])
{
    unsigned char expected[LOOKED_AT] = {0};
    bool is_empty = memcmp(start, expected, LOOKED_AT) == 0;
    make_mutex(expected + MUTEX_OFFSET);
    return is_empty || memcmp(start, expected, LOOKED_AT) == 0;
}

static bool is_lock_file(const unsigned char start[LOOKED_AT], ssize_t size)
{
    return size == 0 || (size == LOOKED_AT && (memcmp(start, &LOCK_MAGIC, sizeof LOCK_MAGIC) == 0 ||
                                               is_unfinished(start)));
}

/*
 * LMDB does not have it open, for the store is not. But it may be another file that this process
 * uses, and then its descriptor must not be closed.
 */
static int check_content(const char *name, pt_error *error)
{
    unsigned char start[LOOKED_AT];
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

static int prepare(const char *name, const struct stat *store, pt_error *error)
{
    int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, OWNER_BITS);
    if (fd < 0) {
        return errno == EEXIST ? check_existing(name, error) : SQLITE_OK;
    }
    pt_lmdb_share_like(fd, store);
    close(fd);
    return SQLITE_OK;
}

int pt_lmdb_prepare_lock_file(const char *path, const struct stat *store, pt_error *error)
{
    char *name = sqlite3_mprintf("%s-lock", path);
    if (name == NULL) {
        return pt_error_nomem(error);
    }
    int rc = prepare(name, store, error);
    sqlite3_free(name);
    return rc;
}
