/*
 * Watching how much private memory a process has at most, which the system does not keep: a thread
 * looks every few milliseconds.
 */
#ifndef WATCH_H
#define WATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct watch {
    pthread_t thread;
    bool started;
    atomic_bool stopping;
    double most_kib;
} watch;

/* The watch must stay where it is until it is stopped. */
void watch_start(watch *watch);

/* The most KiB since the start; 0 if it was not started. */
double watch_stop(watch *watch);

#endif
