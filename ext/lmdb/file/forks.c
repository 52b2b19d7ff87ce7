#include "lmdb/file/forks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
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

/* --- Foreign --- */

typedef struct foreign_file {
    struct foreign_file *next;
    int fd;
    bool writable;
    dev_t device;
    ino_t inode;
} foreign_file;

static pthread_mutex_t foreign_mutex = PTHREAD_MUTEX_INITIALIZER;
static foreign_file *foreign_files;

/* For when there is no memory, or else each further try would leave a descriptor open. */
static foreign_file foreign_reserve[8];
enum { RESERVED = sizeof foreign_reserve / sizeof foreign_reserve[0] };
static bool reserve_is_used[RESERVED];

static foreign_file *from_reserve(void)
{
    for (int i = 0; i < RESERVED; i++) {
        if (!reserve_is_used[i]) {
            reserve_is_used[i] = true;
            return &foreign_reserve[i];
        }
    }
    return NULL;
}

static void give_back(foreign_file *entry)
{
    for (int i = 0; i < RESERVED; i++) {
        if (entry == &foreign_reserve[i]) {
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
    foreign_file *entry = calloc(1, sizeof *entry);
    pthread_mutex_lock(&foreign_mutex);
    entry = entry != NULL ? entry : from_reserve();
    int fd = pt_lmdb_disown(owned);
    if (entry != NULL) {
        *entry = (foreign_file){.next = foreign_files,
                                .fd = fd,
                                .writable = writable,
                                .device = file.st_dev,
                                .inode = file.st_ino};
        foreign_files = entry;
    }
    pthread_mutex_unlock(&foreign_mutex);
}

static bool is_of(const foreign_file *entry, dev_t device, ino_t inode)
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
    pthread_mutex_lock(&foreign_mutex);
    foreign_file **link = &foreign_files;
    while (*link != NULL && !is_of(*link, file.st_dev, file.st_ino)) {
        link = &(*link)->next;
    }
    foreign_file *found = *link;
    if (found != NULL) {
        *link = found->next;
        pt_lmdb_own(found->fd, owned);
        *writable = found->writable;
        give_back(found);
    }
    pthread_mutex_unlock(&foreign_mutex);
    return found != NULL;
}

void pt_lmdb_foreign_forks_begin(void)
{
    pthread_mutex_lock(&foreign_mutex);
}

void pt_lmdb_foreign_forks_end_in_parent(void)
{
    pthread_mutex_unlock(&foreign_mutex);
}

/* The locks on these files are the parent's, and stay. A number may be another file's by now: who
 * makes a daemon of itself closes all descriptors, and then forks. */
void pt_lmdb_foreign_forks_end_in_child(void)
{
    while (foreign_files != NULL) {
        foreign_file *entry = foreign_files;
        foreign_files = entry->next;
        if (is_of(entry, entry->device, entry->inode)) {
            close(entry->fd);
        }
        give_back(entry);
    }
    pthread_mutex_unlock(&foreign_mutex);
}
