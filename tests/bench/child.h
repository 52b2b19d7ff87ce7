/*
 * Work in a process of its own: this program again, with other arguments. So its memory is only its
 * own, and what one side leaves behind in memory does not help or hinder another.
 */
#ifndef TESTS_BENCH_CHILD_H
#define TESTS_BENCH_CHILD_H

#include "bench/support.h"

enum { CHILD_NUMBERS = 6 };

/* Runs this program with the arguments (without its name, NULL at the end), and reads the numbers
 * that it prints; how many. Ends the program if it fails. */
unsigned child_run(const char *const *arguments, double numbers[CHILD_NUMBERS]);

/* The largest resident size of this process, in KiB: its private memory, and pages of mapped files
 * as far as they are in memory. */
double child_peak_kib(void);

/* A line of /proc/self/status, in KiB; 0 if there is none. */
double child_status_kib(const char *name);

#endif
