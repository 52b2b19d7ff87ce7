/*
 * SQL functions for times. A time argument is a text that pt_ticks_parse accepts; 'now' is refused.
 * If the argument is NULL, so is the result. Without an argument the functions read the clock at
 * each call, so one statement may see several times. To use one time, read the clock once, e.g. in
 * a CTE.
 */
#ifndef PT_FUNCTIONS_TIME_FUNCTIONS_H
#define PT_FUNCTIONS_TIME_FUNCTIONS_H

#include "base/sqlite.h"

/* The collation PT_DATETIME, for sqlite3_create_collation_v2 in UTF-8. It allocates nothing. */
int pt_collation_datetime(void *context, int a_size, const void *a, int b_size, const void *b);

/* pt_ticks([time]): INTEGER, 100 ns ticks since 0001-01-01 UTC. */
void pt_function_ticks(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_datetime([time or ticks]): the canonical text with 7 digits. */
void pt_function_datetime(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_inverted_ticks([time or ticks]): PT_TICKS_MAX - ticks as a text of 19 digits, so that the
 * newest comes first. Without an argument each call in a process returns a smaller value than all
 * calls before it, in any thread.
 */
void pt_function_inverted_ticks(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_inverted_datetime(text of 19 digits): the canonical text of the time that pt_inverted_ticks
 * inverted. */
void pt_function_inverted_datetime(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
