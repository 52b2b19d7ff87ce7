/*
 * Registers the SQL functions that need no table, such as pt_ticks, pt_starts_with and pt_uuid7,
 * and the collation PT_DATETIME. The table in functions.c lists the functions; pt_function_x
 * implements pt_x.
 */
#ifndef PT_FUNCTIONS_FUNCTIONS_H
#define PT_FUNCTIONS_FUNCTIONS_H

#include "base/error.h"
#include "base/sqlite.h"

/* For a connection that has these functions and collations already, from the other library of the
 * extension. SQLITE_OK; SQLITE_NOMEM; SQLITE_ERROR if they are of another version. */
int pt_functions_check_version(sqlite3 *db, pt_error *error);

/* SQLITE_OK, SQLITE_NOMEM, or SQLite's code with a text. */
int pt_functions_register(sqlite3 *db, pt_error *error);

#endif
