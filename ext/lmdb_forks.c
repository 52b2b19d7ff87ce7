#include "lmdb_forks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pt_lmdb_owned *all;
static atomic_uint forks;

unsigned pt_lmdb_forks(void)
{
    return atomic_load(&forks);
}

bool pt_lmdb_own(pt_lmdb_owned *owned, int fd, unsigned known)
{
    pthread_mutex_lock(&mutex);
    bool is_ours = atomic_load(&forks) == known;
    if (is_ours) {
        *owned = (pt_lmdb_owned){.fd = fd, .next = all, .link = &all};
        if (all != NULL) {
            all->link = &owned->next;
        }
        all = owned;
    }
    pthread_mutex_unlock(&mutex);
    return is_ours;
}

void pt_lmdb_disown(pt_lmdb_owned *owned)
{
    pthread_mutex_lock(&mutex);
    if (owned->link != NULL) {
        *owned->link = owned->next;
        if (owned->next != NULL) {
            owned->next->link = owned->link;
        }
        *owned = (pt_lmdb_owned){0};
    }
    pthread_mutex_unlock(&mutex);
}

void pt_lmdb_forks_begin(void)
{
    pthread_mutex_lock(&mutex);
    atomic_fetch_add(&forks, 1);
}

void pt_lmdb_forks_end_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

/* Those who owned them are threads of the parent. */
void pt_lmdb_forks_end_in_child(void)
{
    for (const pt_lmdb_owned *owned = all; owned != NULL; owned = owned->next) {
        close(owned->fd);
    }
    all = NULL;
    pthread_mutex_unlock(&mutex);
}
