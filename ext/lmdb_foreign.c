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

/* Not from sqlite3_malloc: it outlives sqlite3_shutdown(). Without memory the descriptor is left
 * open all the same. */
void pt_lmdb_foreign_keep(int fd, bool writable)
{
    struct stat file;
    if (fstat(fd, &file) == 0 && !S_ISREG(file.st_mode)) {
        close(fd);
        return;
    }
    kept *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return;
    }
    pthread_mutex_lock(&mutex);
    *entry = (kept){.next = all, .fd = fd, .writable = writable};
    all = entry;
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
    }
    pthread_mutex_unlock(&mutex);
    free(found);
    return found != NULL;
}
