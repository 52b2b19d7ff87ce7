#include "lmdb/file/foreign.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kept {
    struct kept *next;
    int fd;
    bool writable;
    dev_t device;
    ino_t inode;
} kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static kept *all;

/* For when there is no memory, or else each further try would leave a descriptor open. */
static kept reserve[8];
enum { RESERVED = sizeof reserve / sizeof reserve[0] };
static bool reserve_is_used[RESERVED];

static kept *from_reserve(void)
{
    for (int i = 0; i < RESERVED; i++) {
        if (!reserve_is_used[i]) {
            reserve_is_used[i] = true;
            return &reserve[i];
        }
    }
    return NULL;
}

static void give_back(kept *entry)
{
    for (int i = 0; i < RESERVED; i++) {
        if (entry == &reserve[i]) {
            reserve_is_used[i] = false;
            return;
        }
    }
    free(entry);
}

/* Not from sqlite3_malloc: it outlives sqlite3_shutdown(). */
void pt_lmdb_foreign_keep(pt_lmdb_owned *owned, bool writable)
{
    struct stat file = {0};
    if (fstat(owned->fd, &file) == 0 && !S_ISREG(file.st_mode)) {
        pt_lmdb_close_owned(owned);
        return;
    }
    kept *entry = calloc(1, sizeof *entry);
    pthread_mutex_lock(&mutex);
    entry = entry != NULL ? entry : from_reserve();
    int fd = pt_lmdb_disown(owned);
    if (entry != NULL) {
        *entry = (kept){.next = all,
                        .fd = fd,
                        .writable = writable,
                        .device = file.st_dev,
                        .inode = file.st_ino};
        all = entry;
    }
    pthread_mutex_unlock(&mutex);
}

static bool is_of(const kept *entry, dev_t device, ino_t inode)
{
    struct stat own;
    return fstat(entry->fd, &own) == 0 && own.st_dev == device && own.st_ino == inode;
}

bool pt_lmdb_foreign_take(const char *path, pt_lmdb_owned *owned, bool *writable)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return false;
    }
    pthread_mutex_lock(&mutex);
    kept **link = &all;
    while (*link != NULL && !is_of(*link, file.st_dev, file.st_ino)) {
        link = &(*link)->next;
    }
    kept *found = *link;
    if (found != NULL) {
        *link = found->next;
        pt_lmdb_own(found->fd, owned);
        *writable = found->writable;
        give_back(found);
    }
    pthread_mutex_unlock(&mutex);
    return found != NULL;
}

void pt_lmdb_foreign_forks_begin(void)
{
    pthread_mutex_lock(&mutex);
}

void pt_lmdb_foreign_forks_end_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The locks on these files are the parent's, and stay. A number may be another file's by now: who
 * makes a daemon of itself closes all descriptors, and then forks. */
void pt_lmdb_foreign_forks_end_in_child(void)
{
    while (all != NULL) {
        kept *entry = all;
        all = entry->next;
        if (is_of(entry, entry->device, entry->inode)) {
            close(entry->fd);
        }
        give_back(entry);
    }
    pthread_mutex_unlock(&mutex);
}
