/*
 * What a mass deletion in a large store does to the commits behind it. Deleting one row here and
 * there frees nearly half of all pages, no two of them side by side. LMDB keeps the list of free
 * pages in records, and if it has no ids for many short ones, in long ones: these need contiguous
 * pages, which it searches in the whole list with each commit.
 *
 *     FREELIST=10    entities of the store, in millions
 */
#ifndef TESTS_BENCH_FREELIST_H
#define TESTS_BENCH_FREELIST_H

#include "bench/side.h"

/* Prints a table; the sides have their folders inside `folder`, one at a time. */
void freelist_measure(const side_lineup *lineup, const char *folder);

#endif
