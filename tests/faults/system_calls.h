/*
 * The system calls on files, seen and judged before they are made: these definitions come before
 * the C library's, also for SQLite and LMDB. The test sets `system_call_judge`; without it, and for
 * calls made by the judge itself, nothing changes. Threads may call at the same time: a judge that
 * keeps state must protect it.
 */
#ifndef TESTS_FAULTS_SYSTEM_CALLS_H
#define TESTS_FAULTS_SYSTEM_CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

typedef enum system_call_kind {
    CALL_OPEN,   /* open */
    CALL_READ,   /* read, pread */
    CALL_WRITE,  /* write, pwrite, writev */
    CALL_SYNC,   /* fsync, fdatasync, msync, sync_file_range */
    CALL_SIZE,   /* ftruncate */
    CALL_ROOM,   /* fallocate; posix_fallocate, which makes the file larger */
    CALL_NAME,   /* link, unlink, rename, mkdtemp: a folder changes */
    CALL_LOOK,   /* stat, fstat, statx, fstatfs, access, realpath, lseek, asking who holds a lock */
    CALL_LOCK,   /* fcntl for locks, other than CALL_UNLOCK */
    CALL_UNLOCK, /* fcntl that only gives a lock back */
    CALL_MAP,    /* mmap of a file */
    CALL_CLOSE,
} system_call_kind;

typedef struct system_call {
    system_call_kind kind;
    const char *name;
    int fd;                    /* -1 for a call by path */
    const char *path;          /* of the file, or of the second of two; NULL for a call by fd */
    const char *from;          /* of the first of two */
    const struct iovec *parts; /* the bytes to write; of a read and posix_fallocate only the size */
    int part_count;
    off_t offset; /* -1: where the file stands; the new size for CALL_SIZE */
    int flags;    /* of open, of fallocate */
} system_call;

/* The thread sanitizer calls some of these functions itself, also before it is ready for code that
 * it watches. */
#ifdef __clang__
#define UNWATCHED __attribute__((disable_sanitizer_instrumentation))
#else
#define UNWATCHED __attribute__((no_sanitize("thread")))
#endif

/* The verdict on a call. All zeros: the call is made. */
typedef struct system_call_verdict {
    int error;       /* errno, and the call is not made */
    bool made;       /* but it is, before it fails with that error; only where something changes */
    size_t short_by; /* bytes less than asked for are read or written; 0: all */
} system_call_verdict;

static system_call_verdict (*system_call_judge)(const system_call *call);

static __thread bool system_call_judging;

UNWATCHED static system_call_verdict system_call_judged(const system_call *call)
{
    system_call_verdict verdict = {0};
    if (system_call_judge != NULL && !system_call_judging) {
        int before = errno;
        system_call_judging = true;
        verdict = system_call_judge(call);
        system_call_judging = false;
        errno = before;
    }
    return verdict;
}

/* True if the call is to fail; sets errno. */
UNWATCHED static bool system_call_fails(const system_call *call)
{
    int error = system_call_judged(call).error;
    if (error != 0) {
        errno = error;
    }
    return error != 0;
}

/* True if the call is made, by itself or before it fails. */
static bool system_call_is_made(system_call_verdict verdict)
{
    return verdict.error == 0 || verdict.made;
}

/* The result that the caller gets with this verdict; -1 and errno if the call fails. */
UNWATCHED static long system_call_outcome(system_call_verdict verdict, long result)
{
    if (verdict.error != 0) {
        errno = verdict.error;
        return -1;
    }
    return result;
}

static inline size_t system_call_size(const system_call *call)
{
    size_t size = 0;
    for (int i = 0; i < call->part_count; i++) {
        size += call->parts[i].iov_len;
    }
    return size;
}

/* A call with one buffer, and how much of it is to be transferred. */
static system_call_verdict system_call_part(system_call_kind kind, const char *name, int fd,
                                            const void *bytes, size_t *size, off_t offset)
{
    const struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = *size};
    const system_call call = {
        .kind = kind, .name = name, .fd = fd, .parts = &part, .part_count = 1, .offset = offset};
    system_call_verdict verdict = system_call_judged(&call);
    *size = verdict.short_by < *size ? *size - verdict.short_by : 0;
    return verdict;
}

UNWATCHED static bool system_call_on(system_call_kind kind, const char *name, int fd)
{
    return system_call_fails(&(system_call){.kind = kind, .name = name, .fd = fd, .offset = -1});
}

static system_call_verdict system_call_on_names(const char *name, const char *from,
                                                const char *path)
{
    return system_call_judged(&(system_call){
        .kind = CALL_NAME, .name = name, .fd = -1, .path = path, .from = from, .offset = -1});
}

UNWATCHED static bool system_call_by_path(system_call_kind kind, const char *name, const char *path)
{
    return system_call_fails(
        &(system_call){.kind = kind, .name = name, .fd = -1, .path = path, .offset = -1});
}

static int system_call_sync(const char *name, int fd, long number)
{
    const system_call call = {.kind = CALL_SYNC, .name = name, .fd = fd, .offset = -1};
    system_call_verdict verdict = system_call_judged(&call);
    return (int)system_call_outcome(verdict,
                                    system_call_is_made(verdict) ? syscall(number, fd) : -1);
}

#pragma GCC visibility push(default)

UNWATCHED static int system_call_open(const char *path, int flags, int mode)
{
    const system_call call = {
        .kind = CALL_OPEN, .name = "open", .fd = -1, .path = path, .offset = -1, .flags = flags};
    return system_call_fails(&call) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

UNWATCHED int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    return system_call_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    return system_call_open(path, flags, mode);
}

/* A close that fails has closed nevertheless. */
UNWATCHED int close(int fd)
{
    const system_call call = {.kind = CALL_CLOSE, .name = "close", .fd = fd, .offset = -1};
    system_call_verdict verdict = system_call_judged(&call);
    return (int)system_call_outcome(verdict, syscall(SYS_close, fd));
}

ssize_t read(int fd, void *bytes, size_t size)
{
    system_call_verdict verdict = system_call_part(CALL_READ, "read", fd, NULL, &size, -1);
    return system_call_outcome(verdict,
                               verdict.error == 0 ? syscall(SYS_read, fd, bytes, size) : -1);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    system_call_verdict verdict = system_call_part(CALL_READ, "pread", fd, NULL, &size, offset);
    return system_call_outcome(
        verdict, verdict.error == 0 ? syscall(SYS_pread64, fd, bytes, size, offset) : -1);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
    return pread(fd, bytes, size, offset);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    system_call_verdict verdict = system_call_part(CALL_WRITE, "write", fd, bytes, &size, -1);
    return system_call_outcome(
        verdict, system_call_is_made(verdict) ? syscall(SYS_write, fd, bytes, size) : -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    system_call_verdict verdict = system_call_part(CALL_WRITE, "pwrite", fd, bytes, &size, offset);
    return system_call_outcome(verdict, system_call_is_made(verdict)
                                            ? syscall(SYS_pwrite64, fd, bytes, size, offset)
                                            : -1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    return pwrite(fd, bytes, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    const system_call call = {.kind = CALL_WRITE,
                              .name = "writev",
                              .fd = fd,
                              .parts = parts,
                              .part_count = count,
                              .offset = -1};
    system_call_verdict verdict = system_call_judged(&call);
    if (verdict.short_by != 0) { /* a short one ends within its first part */
        return syscall(SYS_write, fd, parts[0].iov_base, parts[0].iov_len / 2);
    }
    return system_call_outcome(
        verdict, system_call_is_made(verdict) ? syscall(SYS_writev, fd, parts, count) : -1);
}

int fsync(int fd)
{
    return system_call_sync("fsync", fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return system_call_sync("fdatasync", fd, SYS_fdatasync);
}

int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags)
{
    return system_call_on(CALL_SYNC, "sync_file_range", fd)
               ? -1
               : (int)syscall(SYS_sync_file_range, fd, offset, size, flags);
}

int msync(void *address, size_t size, int flags)
{
    return system_call_on(CALL_SYNC, "msync", -1) ? -1
                                                  : (int)syscall(SYS_msync, address, size, flags);
}

int ftruncate(int fd, off_t size)
{
    const system_call call = {.kind = CALL_SIZE, .name = "ftruncate", .fd = fd, .offset = size};
    system_call_verdict verdict = system_call_judged(&call);
    return (int)system_call_outcome(
        verdict, system_call_is_made(verdict) ? syscall(SYS_ftruncate, fd, size) : -1);
}

int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    const system_call call = {
        .kind = CALL_ROOM, .name = "fallocate", .fd = fd, .offset = offset, .flags = mode};
    system_call_verdict verdict = system_call_judged(&call);
    return (int)system_call_outcome(verdict, system_call_is_made(verdict)
                                                 ? syscall(SYS_fallocate, fd, mode, offset, size)
                                                 : -1);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    const system_call call = {.kind = CALL_ROOM,
                              .name = "posix_fallocate",
                              .fd = fd,
                              .parts = &(struct iovec){.iov_len = (size_t)size},
                              .part_count = 1,
                              .offset = offset};
    system_call_verdict verdict = system_call_judged(&call);
    long made = system_call_is_made(verdict) ? syscall(SYS_fallocate, fd, 0, offset, size) : 0;
    return verdict.error != 0 ? verdict.error : made != 0 ? errno : 0;
}

int link(const char *from, const char *to)
{
    system_call_verdict verdict = system_call_on_names("link", from, to);
    return (int)system_call_outcome(
        verdict,
        system_call_is_made(verdict) ? syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) : -1);
}

int unlink(const char *path)
{
    system_call_verdict verdict = system_call_on_names("unlink", NULL, path);
    return (int)system_call_outcome(
        verdict, system_call_is_made(verdict) ? syscall(SYS_unlinkat, AT_FDCWD, path, 0) : -1);
}

int rename(const char *from, const char *to)
{
    system_call_verdict verdict = system_call_on_names("rename", from, to);
    return (int)system_call_outcome(verdict,
                                    system_call_is_made(verdict)
                                        ? syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)
                                        : -1);
}

char *mkdtemp(char *name)
{
    static atomic_uint number;
    size_t length = strlen(name);
    if (system_call_outcome(system_call_on_names("mkdtemp", NULL, name), 0) != 0) {
        return NULL;
    }
    do {
        snprintf(name + length - 6, 7, "%06x",
                 ((unsigned)getpid() << 8 ^ atomic_fetch_add(&number, 1)) & 0xFFFFFF);
    } while (syscall(SYS_mkdirat, AT_FDCWD, name, 0700) != 0 && errno == EEXIST);
    return name;
}

UNWATCHED static int system_call_fcntl(int fd, int command, void *argument)
{
    const struct flock *lock = argument;
    bool locks = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
                 command == F_OFD_SETLKW;
    if (locks && system_call_on(lock->l_type == F_UNLCK ? CALL_UNLOCK : CALL_LOCK, "fcntl", fd)) {
        return -1;
    }
    bool looks = command == F_GETLK || command == F_OFD_GETLK;
    if (looks && system_call_on(CALL_LOOK, "fcntl", fd)) {
        return -1;
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

UNWATCHED int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return system_call_fcntl(fd, command, argument);
}

int fcntl64(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return system_call_fcntl(fd, command, argument);
}

UNWATCHED void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && system_call_on(CALL_MAP, "mmap", fd)) {
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, size, protection, flags, fd, offset);
}

int stat(const char *path, struct stat *info)
{
    return system_call_by_path(CALL_LOOK, "stat", path)
               ? -1
               : (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, 0);
}

UNWATCHED int fstat(int fd, struct stat *info)
{
    return system_call_on(CALL_LOOK, "fstat", fd) ? -1 : (int)syscall(SYS_fstat, fd, info);
}

/* Of a descriptor, or of an absolute path. */
int statx(int fd, const char *path, int flags, unsigned int mask, struct statx *info)
{
    bool fails = (flags & AT_EMPTY_PATH) != 0 ? system_call_on(CALL_LOOK, "statx", fd)
                                              : system_call_by_path(CALL_LOOK, "statx", path);
    return fails ? -1 : (int)syscall(SYS_statx, fd, path, flags, mask, info);
}

int access(const char *path, int mode)
{
    return system_call_by_path(CALL_LOOK, "access", path)
               ? -1
               : (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

int fstatfs(int fd, struct statfs *info)
{
    return system_call_on(CALL_LOOK, "fstatfs", fd) ? -1 : (int)syscall(SYS_fstatfs, fd, info);
}

/* SQLite's names for stat and fstat, and LMDB's. */
int stat64(const char *path, struct stat64 *info)
{
    return system_call_by_path(CALL_LOOK, "stat", path)
               ? -1
               : (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, 0);
}

int fstat64(int fd, struct stat64 *info)
{
    return system_call_on(CALL_LOOK, "fstat", fd) ? -1 : (int)syscall(SYS_fstat, fd, info);
}

int __fxstat(int version, int fd, struct stat *info);
int __fxstat(int version, int fd, struct stat *info)
{
    (void)version;
    return fstat(fd, info);
}

UNWATCHED int lstat(const char *path, struct stat *info)
{
    return system_call_by_path(CALL_LOOK, "lstat", path)
               ? -1
               : (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, AT_SYMLINK_NOFOLLOW);
}

off_t lseek(int fd, off_t offset, int from)
{
    return system_call_on(CALL_LOOK, "lseek", fd) ? -1 : syscall(SYS_lseek, fd, offset, from);
}

char *realpath(const char *path, char *resolved)
{
    (void)resolved; /* NULL: the caller frees */
    return system_call_by_path(CALL_LOOK, "realpath", path) ? NULL : canonicalize_file_name(path);
}

#pragma GCC visibility pop

#endif
