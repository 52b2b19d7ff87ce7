/*
 * The sides of the rows about reading beside a log: ptables that have written the same entities,
 * without a log, with one that is empty, and with one that holds 1,000 small commits to the table
 * that is read, which is as many as a log may hold (ext/lmdb/log.h).
 */
#ifndef TESTS_BENCH_LOGGED_SIDES_H
#define TESTS_BENCH_LOGGED_SIDES_H

#include "bench/side.h"

/* Fills the sides' folders inside `folder`. */
void logged_sides_fill(const char *folder, table_extent extent);

#endif
