/*
 * Median, least and most of a few numbers.
 */
#ifndef TESTS_BENCH_STATISTICS_H
#define TESTS_BENCH_STATISTICS_H

typedef struct summary {
    double median;
    double least;
    double most;
} summary;

/* Sorts the numbers, of which there is at least one. */
summary summarize(double *numbers, unsigned count);

#endif
