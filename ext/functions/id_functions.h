/*
 * SQL functions that return new identifiers: UUIDs as lower-case text.
 */
#ifndef PT_FUNCTIONS_ID_FUNCTIONS_H
#define PT_FUNCTIONS_ID_FUNCTIONS_H

#include "base/sqlite.h"

/* pt_guid(): a random UUID (version 4). */
void pt_function_guid(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_uuid7(): a time-ordered UUID of RFC 9562, version 7:
 *
 *     48 bits  milliseconds since 1970-01-01 UTC, big-endian
 *      4 bits  version: 7
 *     12 bits  fraction of the millisecond in 1/4096 (method 3 of the RFC's section 6.2)
 *      2 bits  variant: 10
 *     62 bits  random
 *
 * Each call in a process returns a greater value than all calls before it, in any thread. If the
 * clock has not advanced since the last call, the 60 bits of time are increased by one.
 */
void pt_function_uuid7(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
