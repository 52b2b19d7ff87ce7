#include "lmdb/log/word.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdb/file/foreign_files.h"
#include "lmdb/log/file.h"

enum { WORD_FILE_SIZE = 4096 };

static const uint8_t WORD_MAGIC[8] = {'p', 't', 'w', 'o', 'r', 'd', 0, 2};

_Static_assert((int)PT_LOG_ROOM <= (int)PT_LOG_END_MAX, "a word can say where any record ends");

typedef enum word_content {
    WORD_IS_ONE,
    WORD_IS_COPY,
    WORD_IS_UNFINISHED,
    WORD_IS_SOMETHING_ELSE,
} word_content;

static bool are_zero_bytes(const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/*
 * *log_id is what it is about. A file without content, or of zeros, is one that a process has left
 * when it died, or that a power failure has emptied: the word's file is never flushed. One of
 * another version of this library is as worthless, once it has been left.
 */
static int look_at_word(int fd, word_content *content, uint64_t *log_id)
{
    uint8_t page[WORD_FILE_SIZE + 1];
    struct stat file;
    uint64_t inode;
    ssize_t got = pread(fd, page, sizeof page, 0);
    if (got < 0 || fstat(fd, &file) != 0) {
        return errno;
    }
    *log_id = 0;
    *content = WORD_IS_SOMETHING_ELSE;
    const size_t version_at = sizeof WORD_MAGIC - 1;
    bool has_name = got >= (ssize_t)sizeof WORD_MAGIC && memcmp(page, WORD_MAGIC, version_at) == 0;
    if (has_name && page[version_at] == WORD_MAGIC[version_at] && got == WORD_FILE_SIZE) {
        memcpy(log_id, page + offsetof(pt_log_word, log_id), sizeof *log_id);
        memcpy(&inode, page + offsetof(pt_log_word, inode), sizeof inode);
        *content = inode == file.st_ino ? WORD_IS_ONE : WORD_IS_COPY;
    } else if (got <= WORD_FILE_SIZE && (has_name || are_zero_bytes(page, (size_t)got))) {
        *content = WORD_IS_UNFINISHED;
    }
    return 0;
}

/* The room is written at once: the kernel kills a process that writes to a page of a map for which
 * the disk has no room. */
static int fill_word(int fd)
{
    uint8_t page[WORD_FILE_SIZE] = {0};
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    memcpy(page, WORD_MAGIC, sizeof WORD_MAGIC);
    memcpy(page + offsetof(pt_log_word, inode), &file.st_ino, sizeof(uint64_t));
    ssize_t written = pwrite(fd, page, sizeof page, 0);
    return written == (ssize_t)sizeof page ? 0 : written < 0 ? errno : ENOSPC;
}

static int prepare_word(int fd, bool make)
{
    word_content content = WORD_IS_SOMETHING_ELSE;
    uint64_t log_id = 0;
    int problem = look_at_word(fd, &content, &log_id);
    if (problem != 0 || content == WORD_IS_ONE) {
        return problem;
    }
    if (content == WORD_IS_SOMETHING_ELSE) {
        return EEXIST;
    }
    return make ? fill_word(fd) : content == WORD_IS_COPY ? EIDRM : EEXIST;
}

int pt_log_word_map(const char *path, pt_log_word_use use, int store, pt_log_word **word)
{
    static const int flags[] = {O_RDONLY, O_RDWR, O_RDWR | O_CREAT};
    pt_lmdb_owned file;
    bool writable = use != PT_WORD_READ;
    int problem = pt_log_open_beside(path, "-word", flags[use], store, &file);
    if (problem != 0) {
        return problem;
    }
    problem = prepare_word(file.fd, use == PT_WORD_MAKE);
    if (problem == EEXIST) {
        pt_lmdb_foreign_keep(&file, writable);
        return problem;
    }
    if (problem == 0) {
        int access = PROT_READ | (writable ? PROT_WRITE : 0);
        void *page = mmap(NULL, WORD_FILE_SIZE, access, MAP_SHARED, file.fd, 0);
        problem = page == MAP_FAILED ? errno : 0;
        *word = page;
    }
    pt_lmdb_close_owned(&file);
    return problem;
}

void pt_log_word_unmap(pt_log_word *word)
{
    if (word != NULL) {
        munmap(word, WORD_FILE_SIZE);
    }
}

bool pt_log_word_remove(const char *path, uint64_t id)
{
    pt_lmdb_owned file;
    word_content content = WORD_IS_SOMETHING_ELSE;
    uint64_t found = 0;
    int problem = pt_log_open_beside(path, "-word", O_RDONLY, -1, &file);
    if (problem != 0) {
        return problem != ENOMEM;
    }
    problem = look_at_word(file.fd, &content, &found);
    if (problem == 0 && content == WORD_IS_SOMETHING_ELSE) {
        pt_lmdb_foreign_keep(&file, false);
        return true;
    }
    pt_lmdb_close_owned(&file);
    if (problem != 0) {
        return true;
    }
    return content == WORD_IS_UNFINISHED || id == 0 || id == found
               ? pt_log_remove_beside(path, "-word")
               : true;
}
