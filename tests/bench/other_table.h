/*
 * A second table, beside the one that is measured: on each side of bench-growth a table "Other"
 * with the same columns.
 */
#ifndef TESTS_BENCH_OTHER_TABLE_H
#define TESTS_BENCH_OTHER_TABLE_H

#include "bench/side.h"

/* In the folder of the side, which is absolute, if it is not there yet. */
void other_table_declare(const bench_side *side, void *session, const char *folder);

/* An inserting workload, with the other table in place of the one that is measured. LMDB's session
 * must be told by other_table_select too. */
workload other_table_workload(const char *name);

/* Which table LMDB's session works on; the others' statements say it themselves. */
void other_table_select(const bench_side *side, void *session, bool other);

/* In one statement, or in one transaction of LMDB. */
void other_table_drop(const bench_side *side, void *session);

/* The keys with the prefix, in one transaction of LMDB. */
void raw_delete_together(void *session, const uint8_t *prefix, size_t size);

#endif
