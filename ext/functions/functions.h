/*
 * The SQL functions: pt_ticks, pt_starts_with, pt_uuid7 and so on. They need no table.
 */
#ifndef PT_FUNCTIONS_FUNCTIONS_H
#define PT_FUNCTIONS_FUNCTIONS_H

#include "base/error.h"
#include "base/sqlite.h"

/* Makes all of them known to a connection. SQLITE_OK, SQLITE_NOMEM, or SQLite's code with text. */
int pt_functions_register(sqlite3 *db, pt_error *error);

#endif
