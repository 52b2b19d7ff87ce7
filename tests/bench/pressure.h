/*
 * What want of memory does to a process that reads files, without any right to limit it: a thread
 * takes back every page of a folder's files again and again. A process that has them open takes
 * back what it maps; one that has not, what else the system keeps of them, for to open and close a
 * file would drop the locks on it.
 */
#ifndef TESTS_BENCH_PRESSURE_H
#define TESTS_BENCH_PRESSURE_H

#include <pthread.h>
#include <stdatomic.h>

#include "bench/support.h"

typedef struct memory_pressure {
    pthread_t thread;
    char folder[PATH_SIZE];
    bool mapped;
    atomic_bool stopping;
} memory_pressure;

/* The pressure must stay where it is until it is stopped. */
void pressure_start(memory_pressure *pressure, const char *folder, bool mapped);

void pressure_stop(memory_pressure *pressure);

#endif
