/*
 * A disk with room for so many pages, as far as one file is concerned: the store whose name is
 * SMALL_DISK_STORE. Each page of the file takes a page of the disk when it is written or asked for
 * the first time, and keeps it. Include it in one file of a program.
 */
#ifndef TESTS_FAULTS_SMALL_DISK_H
#define TESTS_FAULTS_SMALL_DISK_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SMALL_DISK_STORE "/small.ptable"

enum { SMALL_DISK_PAGE = 4096, SMALL_DISK_PAGES = 1 << 16 };

typedef struct small_disk {
    bool is_there;
    ino_t file; /* 0: not met yet */
    size_t free_pages;
    int problem; /* of asking for room; 0: none. EINTR comes once */
    enum { TELLS_ROOM, TELLS_ZEROS, TELLS_NOTHING } answer;
    bool taken[SMALL_DISK_PAGES];
} small_disk;

static small_disk the_disk;

/* From now on; the file must not be open. */
static inline void small_disk_begin(size_t free_pages)
{
    the_disk = (small_disk){.is_there = true, .free_pages = free_pages};
}

static inline void small_disk_end(void)
{
    the_disk.is_there = false;
}

/* What it had under its first name is not counted. */
static bool small_disk_meets(int fd, const struct stat *file)
{
    char link[64];
    char name[200];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, name, sizeof name);
    size_t end = strlen(SMALL_DISK_STORE);
    if (size < (ssize_t)end || memcmp(name + size - end, SMALL_DISK_STORE, end) != 0) {
        return false;
    }
    the_disk.file = file->st_ino;
    memset(the_disk.taken, 1, (size_t)file->st_size / SMALL_DISK_PAGE);
    return true;
}

static bool small_disk_has(int fd)
{
    struct stat file;
    int kept = errno;
    bool has = the_disk.is_there && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
               (the_disk.file != 0 ? the_disk.file == file.st_ino : small_disk_meets(fd, &file));
    errno = kept;
    return has;
}

/* How many bytes there is room for. */
static size_t small_disk_take(off_t offset, size_t size)
{
    size_t end = (size_t)offset + size;
    for (size_t page = (size_t)offset / SMALL_DISK_PAGE; page * SMALL_DISK_PAGE < end; page++) {
        if (!the_disk.taken[page] && the_disk.free_pages == 0) {
            return page * SMALL_DISK_PAGE > (size_t)offset ? page * SMALL_DISK_PAGE - (size_t)offset
                                                           : 0;
        }
        the_disk.free_pages -= !the_disk.taken[page];
        the_disk.taken[page] = true;
    }
    return size;
}

#pragma GCC visibility push(default)

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    size_t room = small_disk_has(fd) ? small_disk_take(offset, size) : size;
    if (room == 0 && size != 0) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, room, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return pwrite(fd, bytes, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += parts[i].iov_len;
    }
    if (!small_disk_has(fd)) {
        return syscall(SYS_writev, fd, parts, count);
    }
    size_t room = small_disk_take(lseek(fd, 0, SEEK_CUR), size);
    if (room == 0) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t written = 0;
    for (int i = 0; i < count && room != 0; i++) {
        size_t part = parts[i].iov_len < room ? parts[i].iov_len : room;
        written += syscall(SYS_write, fd, parts[i].iov_base, part);
        room -= part;
    }
    return written;
}

/* Like tmpfs: without room for all takes nothing, and loses what was asked for before. */
int fallocate(int fd, int mode, off_t offset, off_t size)
{
    if (the_disk.problem != 0 && small_disk_has(fd)) {
        errno = the_disk.problem;
        the_disk.problem = errno != EINTR ? errno : 0;
        return -1;
    }
    if (!small_disk_has(fd)) {
        return (int)syscall(SYS_fallocate, fd, mode, offset, size);
    }
    size_t first = (size_t)offset / SMALL_DISK_PAGE;
    size_t end = (size_t)(offset + size) / SMALL_DISK_PAGE;
    size_t needed = 0;
    struct stat file;
    fstat(fd, &file);
    for (size_t page = first; page < end; page++) {
        needed += !the_disk.taken[page];
    }
    bool fits = needed <= the_disk.free_pages;
    for (size_t page = first; page < end; page++) {
        bool written = page < (size_t)file.st_size / SMALL_DISK_PAGE;
        bool taken = fits || (the_disk.taken[page] && written);
        the_disk.free_pages += the_disk.taken[page] - taken;
        the_disk.taken[page] = taken;
    }
    errno = fits ? errno : ENOSPC;
    return fits ? 0 : -1;
}

int fstatvfs(int fd, struct statvfs *disk)
{
    static int (*real)(int, struct statvfs *);
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "fstatvfs");
        memcpy(&real, &found, sizeof found);
    }
    int result = real(fd, disk);
    if (result == 0 && small_disk_has(fd)) {
        disk->f_frsize = SMALL_DISK_PAGE;
        bool tells = the_disk.answer == TELLS_ROOM;
        disk->f_blocks = tells ? SMALL_DISK_PAGES : 0;
        disk->f_bavail = tells ? the_disk.free_pages : 0;
        disk->f_bfree = disk->f_bavail;
        result = the_disk.answer == TELLS_NOTHING ? -1 : 0;
    }
    return result;
}

#pragma GCC visibility pop

#endif
