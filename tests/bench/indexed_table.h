/*
 * Table I, with one or three indexes: for rows about indexes. A tenth of the entities; their Emails
 * are in another order than their keys, and ten of them have the same Team.
 */
#ifndef TESTS_BENCH_INDEXED_TABLE_H
#define TESTS_BENCH_INDEXED_TABLE_H

#include "bench/sql_side.h"

/* With the indexes that the opening asks for. `store` and `sync` are those of a ptable, else NULL.
 */
void indexed_table_declare(sql_session *session, unsigned indexes, const char *store,
                           const char *sync);

#endif
