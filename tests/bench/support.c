#include "bench/support.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void require(bool holds, const char *what)
{
    if (!holds) {
        fail("%s", what);
    }
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void path_join(char path[PATH_SIZE], const char *folder, const char *name)
{
    int size = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    require(size > 0 && size < PATH_SIZE, "the path of DIR is too long");
}

void folder_make(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        fail("%s cannot be made: %s", path, strerror(errno));
    }
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void folder_remove(const char *path)
{
    if (nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
        fail("%s cannot be removed: %s", path, strerror(errno));
    }
}

static _Thread_local uint64_t bytes_found;

static int add_size(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)path;
    (void)place;
    bytes_found += kind == FTW_F ? (uint64_t)status->st_size : 0;
    return 0;
}

uint64_t folder_size(const char *path)
{
    bytes_found = 0;
    require(nftw(path, add_size, 8, FTW_PHYS) == 0, "a folder of the benchmark is gone");
    return bytes_found;
}

static int forget_file(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)place;
    if (kind == FTW_F) {
        int fd = open(path, O_RDONLY);
        require(fd >= 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0,
                "a file of the benchmark cannot be forgotten");
        close(fd);
    }
    return 0;
}

void folder_forget(const char *path)
{
    require(nftw(path, forget_file, 8, FTW_PHYS) == 0, "a folder of the benchmark is gone");
}

void folder_settle(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    require(fd >= 0 && syncfs(fd) == 0, "a folder of the benchmark cannot be synced");
    close(fd);
}
