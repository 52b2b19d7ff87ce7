/*
 * Memory that does not come from SQLite's allocator: of LMDB, of the C library and of ptable
 * itself. These definitions come before the C library's; allocations fail as failing_malloc.h is
 * told, and memory that is not freed is counted. Include it in one file of a program, which must
 * not have threads.
 *
 * Memory means blocks of malloc() and related functions, and mappings by mmap(). It includes
 * mutexes, which by POSIX may fail for want of memory; but LMDB does not free those in its lock
 * file.
 */
#ifndef TESTS_FAULTS_LIBRARY_MEMORY_H
#define TESTS_FAULTS_LIBRARY_MEMORY_H

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults/failing_malloc.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define LIBRARY_MEMORY 0
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIBRARY_MEMORY 0
#endif
#endif
#ifndef LIBRARY_MEMORY
#define LIBRARY_MEMORY 1
#endif

/* Volatile: compilers know that malloc() changes nothing that they see. */
static volatile long library_blocks;                  /* in use */
static long library_mappings __attribute__((unused)); /* in use */
static bool library_map_refused
    __attribute__((unused)); /* a mapping has failed since it was false */

typedef struct library_functions {
    void *(*malloc)(size_t size);
    void *(*calloc)(size_t count, size_t size);
    void *(*realloc)(void *block, size_t size);
    void *(*aligned_alloc)(size_t alignment, size_t size);
    void (*free)(void *block);
    int (*mutex_init)(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
} library_functions;

/* The function of that name that this file's hides. */
static void library_find(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static inline const library_functions *library(void)
{
    static library_functions found;
    if (found.mutex_init == NULL) {
        library_find("malloc", &found.malloc);
        library_find("calloc", &found.calloc);
        library_find("realloc", &found.realloc);
        library_find("aligned_alloc", &found.aligned_alloc);
        library_find("free", &found.free);
        library_find("pthread_mutex_init", &found.mutex_init);
    }
    return &found;
}

#if LIBRARY_MEMORY

/* True if this allocation is to fail; sets errno. */
static bool library_fails(void)
{
    bool fails = !failing_malloc_inside && failing_malloc_decides(true);
    if (fails) {
        errno = ENOMEM;
    }
    return fails;
}

static void *library_counted(void *block)
{
    library_blocks += block != NULL && !failing_malloc_inside;
    return block;
}

/* SQLite maps its own files. */
static bool library_is_sqlite(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "sqlite") != NULL;
}

static void *library_map(const void *caller, void *address, size_t size, int protection, int flags,
                         int fd, off_t offset)
{
    bool counts = !library_is_sqlite(caller);
    if (counts && library_fails()) {
        library_map_refused = true;
        return MAP_FAILED;
    }
    library_mappings += counts;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

#pragma GCC visibility push(default)

void *malloc(size_t size)
{
    return library_fails() ? NULL : library_counted(library()->malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return library_fails() ? NULL : library_counted(library()->calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (library_fails()) {
        return NULL;
    }
    void *larger = library()->realloc(block, size);
    return block == NULL ? library_counted(larger) : larger;
}

void *reallocarray(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return library_fails() ? NULL : library_counted(library()->aligned_alloc(alignment, size));
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made = aligned_alloc(alignment, size);
    if (made != NULL) {
        *block = made;
    }
    return made != NULL ? 0 : ENOMEM;
}

void free(void *block)
{
    library_blocks -= block != NULL && !failing_malloc_inside;
    library()->free(block);
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    const void *caller = __builtin_return_address(0);
    return library_map(caller, address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    const void *caller = __builtin_return_address(0);
    return library_map(caller, address, size, protection, flags, fd, offset);
}

int munmap(void *address, size_t size)
{
    library_mappings -= !library_is_sqlite(__builtin_return_address(0));
    return (int)syscall(SYS_munmap, address, size);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    bool fails = !library_is_sqlite(__builtin_return_address(0)) && library_fails();
    return fails ? ENOMEM : library()->mutex_init(mutex, attributes);
}

#pragma GCC visibility pop

#endif

/* False with sanitizers and valgrind, which replace malloc() themselves. */
static inline bool library_memory_can_fail(void)
{
    long before = library_blocks;
    void *volatile block = malloc(1);
    bool counted = library_blocks == before + 1;
    free(block);
    return counted;
}

#endif
