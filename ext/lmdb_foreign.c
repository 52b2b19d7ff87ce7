#include "lmdb_foreign.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct kept {
    struct kept *next;
    dev_t device;
    ino_t inode;
    int fd;
    bool writable;
} kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static kept *all;

/* Not from sqlite3_malloc: it outlives sqlite3_shutdown(). Without memory the descriptor is left
 * open all the same. */
void pt_lmdb_foreign_keep(int fd, bool writable, const struct stat *named)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        file = *named;
    }
    if (!S_ISREG(file.st_mode)) {
        close(fd);
        return;
    }
    kept *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return;
    }
    pthread_mutex_lock(&mutex);
    *entry = (kept){
        .next = all, .device = file.st_dev, .inode = file.st_ino, .fd = fd, .writable = writable};
    all = entry;
    pthread_mutex_unlock(&mutex);
}

bool pt_lmdb_foreign_take(const struct stat *file, int *fd, bool *writable)
{
    pthread_mutex_lock(&mutex);
    kept **link = &all;
    while (*link != NULL && ((*link)->device != file->st_dev || (*link)->inode != file->st_ino)) {
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
