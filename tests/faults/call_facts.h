/*
 * Facts about a system call that is being judged.
 */
#ifndef TESTS_FAULTS_CALL_FACTS_H
#define TESTS_FAULTS_CALL_FACTS_H

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "faults/system_calls.h"

static inline bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text);
    size_t end = strlen(ending);
    return size >= end && strcmp(text + size - end, ending) == 0;
}

/* The file's, until the next call of this; NULL for a call on none. */
static inline const char *path_of(const system_call *call)
{
    static char path[PATH_MAX];
    char link[32];
    if (call->fd < 0) {
        return call->path;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", call->fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    return path;
}

/* True if the first part of the written bytes is all zeros. */
static inline bool is_nothing(const system_call *call)
{
    const uint8_t *bytes = call->parts[0].iov_base;
    size_t size = call->parts[0].iov_len;
    return size > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

#endif
