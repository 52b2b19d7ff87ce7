#include "lmdb_lock_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "lmdb_locks.h"
#include "sqlite.h"

/* A process that ends lets go of its locks one after the other. */
enum { LOOKS = 50, NS_BETWEEN_LOOKS = 1000000 };

static char *lock_file_of(const char *path)
{
    return sqlite3_mprintf("%s-lock", path);
}

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
    int rc = SQLITE_OK;
    if (!is_consistent(lock_file, fd, &in_use)) {
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
