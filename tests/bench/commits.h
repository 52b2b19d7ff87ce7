/*
 * How long small durable commits take: each inserts one entity in a random partition.
 */
#ifndef TESTS_BENCH_COMMITS_H
#define TESTS_BENCH_COMMITS_H

#include "bench/side.h"
#include "bench/statistics.h"

enum { COMMITS_MAX = 1000 };

typedef struct commit_run {
    const bench_side *side;
    void *session;
    const workload *work; /* of KEYS_NEW */
    table_extent extent;
    uint32_t commits; /* made so far */
} commit_run;

/* Seconds of so many commits. */
summary commit_often(commit_run *run, unsigned count);

/* The workload whose commits are measured. */
#define COMMIT_WORK "autocommit insert, durable"

#endif
