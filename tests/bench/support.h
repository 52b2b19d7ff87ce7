/*
 * What every part of the benchmark needs: giving up, the time, and folders. A benchmark that cannot
 * go on has nothing to report, so every failure ends it with a message.
 */
#ifndef TESTS_BENCH_SUPPORT_H
#define TESTS_BENCH_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof *(array))

enum { PATH_SIZE = 512 };

_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program with `what` unless the condition holds. */
void require(bool holds, const char *what);

/* Seconds of a clock that never goes back. */
double now(void);

/* "folder/name" */
void path_join(char path[PATH_SIZE], const char *folder, const char *name);

void folder_make(const char *path);
void folder_remove(const char *path);

/* Bytes of all files in a folder. */
uint64_t folder_size(const char *path);

/* Has the system forget what it keeps of the files in a folder, as far as it is written and no
 * process maps it. None of them may be open in this process, which would lose its locks. */
void folder_forget(const char *path);

/* Waits until the folder's file system has written what earlier work left to it. */
void folder_settle(const char *path);

#endif
