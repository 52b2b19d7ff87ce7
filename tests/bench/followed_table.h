/*
 * Table C, whose changes are kept: for rows about changes. A tenth of the entities. On the sides
 * without ptable, triggers keep the last change of each key in a table Changed.
 */
#ifndef TESTS_BENCH_FOLLOWED_TABLE_H
#define TESTS_BENCH_FOLLOWED_TABLE_H

#include "bench/sql_side.h"

/* `store` and `sync` are those of a ptable, else NULL. */
void followed_table_declare(sql_session *session, const char *store, const char *sync);

#endif
