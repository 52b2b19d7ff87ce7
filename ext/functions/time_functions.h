/*
 * SQL functions about time. A time argument is a text that pt_ticks_parse takes ('now' is refused);
 * NULL gives NULL. Without argument they read the clock at each call, so one statement may see
 * several times: take it once, e.g. in a CTE, where one is meant.
 */
#ifndef PT_FUNCTIONS_TIME_FUNCTIONS_H
#define PT_FUNCTIONS_TIME_FUNCTIONS_H

#include "base/sqlite.h"

/* pt_ticks([time]): INTEGER, 100 ns ticks since 0001-01-01 UTC. */
void pt_function_ticks(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_datetime([time or ticks]): the canonical text with 7 digits. */
void pt_function_datetime(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_inverted_ticks([time or ticks]): PT_TICKS_MAX - ticks as text of 19 digits, whose order is
 * newest first. Without argument no two calls in a process give the same value, and each gives a
 * smaller one than those before it, whichever thread makes them.
 */
void pt_function_inverted_ticks(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_inverted_datetime(text of 19 digits): the canonical text of the time that was inverted. */
void pt_function_inverted_datetime(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
