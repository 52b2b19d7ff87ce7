/*
 * Files and their folder, for tests that write and remove many of them.
 */
#ifndef FILES_H
#define FILES_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

#include "database.h"

enum { FILE_NAME_SIZE = 64 };

typedef struct file_content {
    uint8_t *bytes;
    size_t size;
    size_t room;
} file_content;

static inline void *need(void *memory)
{
    if (memory == NULL) {
        puts("Bail out! out of memory");
        exit(1);
    }
    return memory;
}

static inline void file_resize(file_content *content, size_t size)
{
    if (size > content->room) {
        content->room = size * 2;
        content->bytes = need(realloc(content->bytes, content->room));
    }
    if (size > content->size) {
        memset(content->bytes + content->size, 0, size - content->size);
    }
    content->size = size;
}

static inline void file_put(file_content *content, size_t offset, const void *bytes, size_t size)
{
    if (size == 0) {
        return;
    }
    if (offset + size > content->size) {
        file_resize(content, offset + size);
    }
    memcpy(content->bytes + offset, bytes, size);
}

static inline void file_copy(file_content *to, const file_content *from)
{
    to->size = 0;
    file_put(to, 0, from->bytes, from->size);
}

static inline void file_load(file_content *content, const char *path)
{
    uint8_t block[1 << 14];
    ssize_t size;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    while ((size = read(fd, block, sizeof block)) > 0) {
        file_put(content, content->size, block, (size_t)size);
    }
    assert_int_equal(size, 0);
    close(fd);
}

static inline bool file_write(const char *path, const file_content *content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = fd >= 0 && (content->size == 0 ||
                               write(fd, content->bytes, content->size) == (ssize_t)content->size);
    return fd >= 0 && close(fd) == 0 && written;
}

static inline void empty_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char path[PATH_SIZE + FILE_NAME_SIZE];
        snprintf(path, sizeof path, "%s/%.63s", folder, entry->d_name);
        if (entry->d_type == DT_REG) {
            unlink(path);
        }
    }
    closedir(entries);
}

/* In memory, if there is such a place: these files need no disk. */
static inline char *make_quick_folder(void)
{
    char *folder = strdup("/dev/shm/ptable-process-XXXXXX");
    if (folder != NULL && mkdtemp(folder) == NULL) {
        free(folder);
        folder = strdup("/tmp/ptable-process-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

/* cmocka would go on after a signal, with the next test. */
static inline void die_of_signals(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        signal(signals[i], SIG_DFL);
    }
}

#endif
