/*
 * Measuring a workload on several sides: a run on each to warm it, in which every byte that is read
 * is compared, then the timed runs, in turns (A B C A B C ...).
 */
#ifndef TESTS_BENCH_MEASURE_H
#define TESTS_BENCH_MEASURE_H

#include "bench/side.h"
#include "bench/statistics.h"

/* Small differences take more runs to be seen. */
enum { RUNS = 5, RUNS_BESIDE_LOG = 25 };

/* What was measured of a workload. */
typedef struct measurement {
    const workload *work;
    unsigned runs;
    uint64_t operations;        /* of a run */
    uint64_t rows;              /* read or written by all timed runs */
    summary times[SIDES_MAX];   /* of a run, in seconds; all 0 of a side that has none */
    summary singles[SIDES_MAX]; /* of an operation, in seconds, where each was timed */
} measurement;

/*
 * Runs the workload on the sides, which keep their data in folders inside `folder`. Ends the
 * program if they do not read, or write, the same; of made up rows only the number is compared.
 */
void measure(const side_lineup *lineup, const workload *work, const char *folder,
             table_extent extent, measurement *result);

/* One run alone, on sides opened for it. */
void measure_once(const side_lineup *lineup, const workload *work, const char *folder,
                  table_extent extent);

/* Reads every value of every side; ends the program if they are not the same. */
void measure_check(const side_lineup *lineup, const char *folder, table_extent extent);

#endif
