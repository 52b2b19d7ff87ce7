/*
 * Numbers as texts for people. Each function writes into the text and returns it.
 */
#ifndef TESTS_BENCH_FORMAT_H
#define TESTS_BENCH_FORMAT_H

#include <stdint.h>

enum { FORMAT_SIZE = 32 };

/* "1,000,000" */
const char *format_count(uint64_t count, char text[FORMAT_SIZE]);

/* "1.23 us", "12.3 ms" */
const char *format_seconds(double seconds, char text[FORMAT_SIZE]);

/* "118.2 MB", of 1,000,000 bytes */
const char *format_megabytes(double bytes, char text[FORMAT_SIZE]);

/* "1.25", with three digits; "-" for 0 */
const char *format_ratio(double ratio, char text[FORMAT_SIZE]);

#endif
