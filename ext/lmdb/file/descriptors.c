#include "lmdb/file/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"

/* --- Descriptors that a child closes --- */

atomic_uint pt_lmdb_fork_count;

/* Held during a fork, so that a descriptor is opened and added to the list as one step. */
static pthread_mutex_t owned_mutex = PTHREAD_MUTEX_INITIALIZER;
static pt_lmdb_owned *first_owned;

static void add_owned(pt_lmdb_owned *owned, int fd)
{
    *owned = (pt_lmdb_owned){.fd = fd, .next = first_owned, .link = &first_owned};
    if (first_owned != NULL) {
        first_owned->link = &owned->next;
    }
    first_owned = owned;
}

int pt_lmdb_open_owned(const char *path, int flags, mode_t mode, pt_lmdb_owned *owned)
{
    int fd;
    *owned = (pt_lmdb_owned){.fd = -1};
    pthread_mutex_lock(&owned_mutex);
    do {
        fd = open(path, flags, mode);
    } while (fd < 0 && errno == EINTR);
    int problem = fd < 0 ? errno : 0;
    if (problem == 0) {
        add_owned(owned, fd);
    }
    pthread_mutex_unlock(&owned_mutex);
    return problem;
}

void pt_lmdb_own(int fd, pt_lmdb_owned *owned)
{
    pthread_mutex_lock(&owned_mutex);
    add_owned(owned, fd);
    pthread_mutex_unlock(&owned_mutex);
}

int pt_lmdb_disown(pt_lmdb_owned *owned)
{
    pthread_mutex_lock(&owned_mutex);
    int fd = owned->fd;
    if (owned->link != NULL) {
        *owned->link = owned->next;
        if (owned->next != NULL) {
            owned->next->link = owned->link;
        }
    }
    *owned = (pt_lmdb_owned){.fd = -1};
    pthread_mutex_unlock(&owned_mutex);
    return fd;
}

void pt_lmdb_close_owned(pt_lmdb_owned *owned)
{
    /* Off the list first: once it is closed, its number can be another file's, and a child must not
     * close that one. */
    int fd = pt_lmdb_disown(owned);
    if (fd >= 0) {
        close(fd);
    }
}

void pt_lmdb_before_fork(void)
{
    pthread_mutex_lock(&owned_mutex);
}

void pt_lmdb_after_fork(bool in_child)
{
    if (in_child) {
        atomic_fetch_add(&pt_lmdb_fork_count, 1);
    }
    /* The threads that use these descriptors exist in the parent only. */
    while (in_child && first_owned != NULL) {
        pt_lmdb_owned *owned = first_owned;
        first_owned = owned->next;
        close(owned->fd);
        *owned = (pt_lmdb_owned){.fd = -1};
    }
    pthread_mutex_unlock(&owned_mutex);
}

/* --- The standard descriptors --- */

static bool one_is_closed(void)
{
    bool closed = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        closed = closed || fcntl(fd, F_GETFD) < 0;
    }
    return closed;
}

/*
 * Without O_CLOEXEC, as programs that this process executes need the descriptors too. Read only, so
 * that printing still fails. open() returns the lowest free number, so threads may do this at once.
 */
static int fill_with_null_device(void)
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
    int problem = fill_with_null_device();
    if (problem == 0) {
        return SQLITE_OK;
    }
    if (problem == ENOMEM) {
        return pt_error_nomem(error);
    }
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q cannot be opened: descriptor 0, 1 or 2 of this process is "
                        "closed, so what it prints would be written into the store, and /dev/null "
                        "cannot be opened in its place: %s; keep all three open",
                        path, strerror(problem));
}
