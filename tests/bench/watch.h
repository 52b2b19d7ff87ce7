/*
 * Watching how much private memory a process has at most, which the system does not keep: a thread
 * looks every few milliseconds.
 */
#ifndef TESTS_BENCH_WATCH_H
#define TESTS_BENCH_WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct memory_watch {
    pthread_t thread;
    bool started;
    atomic_bool stopping;
    double most_kib;
} memory_watch;

/* The watch must stay where it is until it is stopped. */
void watch_start(memory_watch *watch);

/* The most KiB since the start; 0 if it was not started. */
double watch_stop(memory_watch *watch);

#endif
