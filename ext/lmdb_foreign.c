#include "lmdb_foreign.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kept {
    struct kept *next;
    int fd;
    bool writable;
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
void pt_lmdb_foreign_keep(int fd, bool writable)
{
    struct stat file;
    if (fstat(fd, &file) == 0 && !S_ISREG(file.st_mode)) {
        close(fd);
        return;
    }
    kept *entry = calloc(1, sizeof *entry);
    pthread_mutex_lock(&mutex);
    entry = entry != NULL ? entry : from_reserve();
    if (entry != NULL) {
        *entry = (kept){.next = all, .fd = fd, .writable = writable};
        all = entry;
    }
    pthread_mutex_unlock(&mutex);
}

static bool is_of(const kept *entry, const struct stat *file)
{
    struct stat own;
    return fstat(entry->fd, &own) == 0 && own.st_dev == file->st_dev && own.st_ino == file->st_ino;
}

bool pt_lmdb_foreign_take(const char *path, int *fd, bool *writable)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return false;
    }
    pthread_mutex_lock(&mutex);
    kept **link = &all;
    while (*link != NULL && !is_of(*link, &file)) {
        link = &(*link)->next;
    }
    kept *found = *link;
    if (found != NULL) {
        *link = found->next;
        *fd = found->fd;
        *writable = found->writable;
        give_back(found);
    }
    pthread_mutex_unlock(&mutex);
    return found != NULL;
}
