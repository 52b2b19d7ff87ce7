/*
 * Bulk loads, each in a process of its own.
 */
#ifndef TESTS_BENCH_LOAD_H
#define TESTS_BENCH_LOAD_H

#include "bench/measure.h"

typedef struct load_result {
    double seconds;
    double peak_kib;    /* resident */
    double private_kib; /* the part that is not pages of files, if it was watched, else 0 */
} load_result;

/* True if this process is to load, as the first argument says. */
bool load_is_asked(int argc, char **argv);

/* Does what load_run asks for, and prints the result. */
int load_main(char **argv);

/* Empties the side's folder inside `folder` and loads it. Watching costs a little time. */
load_result load_run(const bench_side *side, const workload *work, const char *folder,
                     table_extent extent, bool watched);

/* Loads all sides in turns, each at most `runs` times and as often as it says; the last load stays.
 * The result's rows are those of one run, `peaks` the largest KiB of each side. */
void load_measure(const side_lineup *lineup, const workload *work, const char *folder,
                  table_extent extent, unsigned runs, measurement *result, double peaks[SIDES_MAX]);

#endif
