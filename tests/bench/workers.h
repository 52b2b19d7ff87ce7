/*
 * Workers that read or write one store at the same time, as threads or as processes.
 */
#ifndef TESTS_BENCH_WORKERS_H
#define TESTS_BENCH_WORKERS_H

#include "bench/side.h"

enum { WORKERS_MAX = 16 };

/* Who works, on one side's data. */
typedef struct crew_plan {
    const bench_side *side;
    const char *folder; /* the side's own */
    table_extent extent;
    unsigned readers;
    unsigned writers;
    bool processes;         /* instead of threads */
    const workload *writes; /* what a writer does: one insert a commit */
    uint32_t number;        /* another one for each crew on the same data */
} crew_plan;

typedef struct crew_result {
    double reads;   /* point queries a second, of all readers */
    double writes;  /* inserts a second, of all writers */
    double longest; /* seconds that an insert has taken at most */
} crew_result;

/* Lets the crew work for so many seconds. Every worker has a connection of its own, and a writer a
 * partition. */
crew_result crew_work(const crew_plan *crew, double seconds);

#endif
