#include "lmdb/file/foreign_files.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"

/* --- Refusing them --- */

/* LMDB's first page begins with a header of 16 bytes; its magic number follows. */
enum { LMDB_MAGIC_OFFSET = 16 };
static const uint8_t LMDB_MAGIC[4] = {0xDE, 0xC0, 0xEF, 0xBE};

static const char SQLITE_START[16] = "SQLite format 3";

int pt_lmdb_fail_foreign(pt_error *error, const char *path, const char *what)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "file %Q is not a ptable store (%s); name another file, or move this one "
                        "away to have a store created in its place",
                        path, what);
}

int pt_lmdb_check_kind(const struct stat *file, const char *path, pt_error *error)
{
    if (S_ISDIR(file->st_mode)) {
        return pt_lmdb_fail_foreign(error, path, "it is a folder");
    }
    return S_ISREG(file->st_mode) ? SQLITE_OK
                                  : pt_lmdb_fail_foreign(error, path, "it is not a regular file");
}

static int check_magic(int fd, const char *path, pt_error *error)
{
    uint8_t start[LMDB_MAGIC_OFFSET + sizeof LMDB_MAGIC] = {0};
    size_t size = 0;
    ssize_t part;
    do {
        part = pread(fd, start + size, sizeof start - size, (off_t)size);
        size += part > 0 ? (size_t)part : 0;
    } while ((part > 0 && size < sizeof start) || (part < 0 && errno == EINTR));
    if (part < 0) {
        return pt_lmdb_fail(error, errno, path, "opening it");
    }
    if (size == sizeof start && memcmp(start, SQLITE_START, sizeof SQLITE_START) == 0) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "file %Q is an SQLite database, not a ptable store; give the store a "
                            "name of its own, such as '%q-ptable'",
                            path, path);
    }
    return memcmp(start + LMDB_MAGIC_OFFSET, LMDB_MAGIC, sizeof LMDB_MAGIC) == 0
               ? SQLITE_OK
               : pt_lmdb_fail_foreign(error, path, "its content is something else");
}

int pt_lmdb_check_file(int fd, const char *path, struct stat *file, pt_error *error)
{
    if (fstat(fd, file) != 0) {
        return pt_lmdb_fail(error, errno, path, "opening it");
    }
    int rc = pt_lmdb_check_kind(file, path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return file->st_size == 0 ? pt_lmdb_fail_foreign(error, path, "it is empty")
                              : check_magic(fd, path, error);
}

/* --- Keeping their descriptors open --- */

typedef struct foreign_file {
    struct foreign_file *next;
    int fd;
    bool writable;
    dev_t device;
    ino_t inode;
} foreign_file;

static pthread_mutex_t foreign_mutex = PTHREAD_MUTEX_INITIALIZER;
static foreign_file *foreign_files;

/* For when memory runs out: without an entry, every further try to open the same file would leave
 * one more descriptor open. */
static foreign_file foreign_reserve[8];
enum { RESERVED = sizeof foreign_reserve / sizeof foreign_reserve[0] };
static bool reserve_is_used[RESERVED];

static foreign_file *new_entry_from_reserve(void)
{
    for (int i = 0; i < RESERVED; i++) {
        if (!reserve_is_used[i]) {
            reserve_is_used[i] = true;
            return &foreign_reserve[i];
        }
    }
    return NULL;
}

static void free_entry(foreign_file *entry)
{
    for (int i = 0; i < RESERVED; i++) {
        if (entry == &foreign_reserve[i]) {
            reserve_is_used[i] = false;
            return;
        }
    }
    free(entry);
}

void pt_lmdb_foreign_keep(pt_lmdb_owned *owned, bool writable)
{
    struct stat file = {0};
    if (fstat(owned->fd, &file) == 0 && !S_ISREG(file.st_mode)) {
        pt_lmdb_close_owned(owned);
        return;
    }
    foreign_file *entry = calloc(1, sizeof *entry); /* outlives sqlite3_shutdown() */
    pthread_mutex_lock(&foreign_mutex);
    entry = entry != NULL ? entry : new_entry_from_reserve();
    int fd = pt_lmdb_disown(owned); /* no fork can begin before the mutex is released */
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

static bool is_entry_of(const foreign_file *entry, dev_t device, ino_t inode)
{
    struct stat file;
    return fstat(entry->fd, &file) == 0 && file.st_dev == device && file.st_ino == inode;
}

bool pt_lmdb_foreign_take(const char *path, pt_lmdb_owned *owned, bool *writable)
{
    struct stat file;
    if (stat(path, &file) != 0) {
        return false;
    }
    pthread_mutex_lock(&foreign_mutex);
    foreign_file **link = &foreign_files;
    while (*link != NULL && !is_entry_of(*link, file.st_dev, file.st_ino)) {
        link = &(*link)->next;
    }
    foreign_file *found = *link;
    if (found != NULL) {
        *link = found->next;
        pt_lmdb_own(found->fd, owned);
        *writable = found->writable;
        free_entry(found);
    }
    pthread_mutex_unlock(&foreign_mutex);
    return found != NULL;
}

void pt_lmdb_foreign_before_fork(void)
{
    pthread_mutex_lock(&foreign_mutex);
}

void pt_lmdb_foreign_after_fork(bool in_child)
{
    while (in_child && foreign_files != NULL) {
        foreign_file *entry = foreign_files;
        foreign_files = entry->next;
        /* A program that becomes a daemon closes all descriptors and then forks, so the number may
         * be another file's by now. The locks on the file are the parent's, and stay. */
        if (is_entry_of(entry, entry->device, entry->inode)) {
            close(entry->fd);
        }
        free_entry(entry);
    }
    pthread_mutex_unlock(&foreign_mutex);
}
