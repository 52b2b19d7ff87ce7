/*
 * Lets the process die in the middle of its work: as if by kill -9, immediately before the n-th
 * system call that changes a file. These definitions come before the C library's, also for SQLite
 * and LMDB.
 */
#ifndef MORTAL_H
#define MORTAL_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int64_t mortal_calls; /* so far */
static int64_t mortal_last;  /* the call that is not made any more, or 0 */

static void mortal_count(void)
{
    mortal_calls++;
    if (mortal_calls == mortal_last) {
        raise(SIGKILL);
    }
}

/* Counts from now on; the process dies before the call of this number, or lives with 0. */
static inline void mortal_begin(int64_t last)
{
    mortal_calls = 0;
    mortal_last = last;
}

#pragma GCC visibility push(default)

ssize_t write(int fd, const void *bytes, size_t size)
{
    mortal_count();
    return syscall(SYS_write, fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    mortal_count();
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    mortal_count();
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    mortal_count();
    return syscall(SYS_writev, fd, parts, count);
}

int fsync(int fd)
{
    mortal_count();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    mortal_count();
    return (int)syscall(SYS_fdatasync, fd);
}

int ftruncate(int fd, off_t size)
{
    mortal_count();
    return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    mortal_count();
    return (int)syscall(SYS_ftruncate, fd, size);
}

int link(const char *from, const char *to)
{
    mortal_count();
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlink(const char *path)
{
    mortal_count();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

#pragma GCC visibility pop

#endif
