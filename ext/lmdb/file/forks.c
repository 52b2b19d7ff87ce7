#include "lmdb/file/forks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pt_lmdb_owned *all;

static void enter(pt_lmdb_owned *owned, int fd)
{
    *owned = (pt_lmdb_owned){.fd = fd, .next = all, .link = &all};
    if (all != NULL) {
        all->link = &owned->next;
    }
    all = owned;
}

int pt_lmdb_open_owned(const char *path, int flags, mode_t mode, pt_lmdb_owned *owned)
{
    int fd;
    *owned = (pt_lmdb_owned){.fd = -1};
    pthread_mutex_lock(&mutex);
    do {
        fd = open(path, flags, mode);
    } while (fd < 0 && errno == EINTR);
    int problem = fd < 0 ? errno : 0;
    if (problem == 0) {
        enter(owned, fd);
    }
    pthread_mutex_unlock(&mutex);
    return problem;
}

void pt_lmdb_own(int fd, pt_lmdb_owned *owned)
{
    pthread_mutex_lock(&mutex);
    enter(owned, fd);
    pthread_mutex_unlock(&mutex);
}

int pt_lmdb_disown(pt_lmdb_owned *owned)
{
    pthread_mutex_lock(&mutex);
    int fd = owned->fd;
    if (owned->link != NULL) {
        *owned->link = owned->next;
        if (owned->next != NULL) {
            owned->next->link = owned->link;
        }
    }
    *owned = (pt_lmdb_owned){.fd = -1};
    pthread_mutex_unlock(&mutex);
    return fd;
}

/* In this order: closed first, its number could be another file's when a child closes it. */
void pt_lmdb_close_owned(pt_lmdb_owned *owned)
{
    int fd = pt_lmdb_disown(owned);
    if (fd >= 0) {
        close(fd);
    }
}

void pt_lmdb_forks_begin(void)
{
    pthread_mutex_lock(&mutex);
}

void pt_lmdb_forks_end_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

/* Those who owned them are threads of the parent. */
void pt_lmdb_forks_end_in_child(void)
{
    while (all != NULL) {
        pt_lmdb_owned *owned = all;
        all = owned->next;
        close(owned->fd);
        *owned = (pt_lmdb_owned){.fd = -1};
    }
    pthread_mutex_unlock(&mutex);
}
