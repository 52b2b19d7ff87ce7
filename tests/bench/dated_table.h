/*
 * Table D, for a condition on a DateTime: a tenth as many entities as there are, each with an Email
 * and one of 1,000 times. Table X has as many, half of which have expired: their times are over.
 * Only the sides that speak SQL have them.
 */
#ifndef TESTS_BENCH_DATED_TABLE_H
#define TESTS_BENCH_DATED_TABLE_H

#include "bench/sql_side.h"

/* Declares the tables; `store` is the folder of a ptable's store, `sync` its option. */
void dated_table_declare(sql_session *session, const char *store, const char *sync);

/* Fills the tables on each side, which has its data in `folder`. */
void dated_table_fill(const side_lineup *lineup, const char *folder, table_extent extent);

#endif
