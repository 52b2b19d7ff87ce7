/*
 * Results on the standard output, and as CSV.
 */
#ifndef TESTS_BENCH_REPORT_H
#define TESTS_BENCH_REPORT_H

#include <stdio.h>

#include "bench/measure.h"

/* How much faster a side is than the lineup's first. */
double report_ratio(const measurement *result, unsigned side);

void report_head(const side_lineup *lineup, const char *title);

/* Times are of an operation. Two more lines are about single ones, where each was timed. */
void report_row(const side_lineup *lineup, const measurement *result);

/* A row of bytes. A ptable with more than `target` has a mark; 0: there is no target. */
void report_bytes(const side_lineup *lineup, const char *name, const double *bytes, double target);

/* The file begins with its column names; NULL ends the program. */
FILE *report_csv_open(const char *path);
void report_csv_row(FILE *csv, const side_lineup *lineup, const measurement *result);

#endif
