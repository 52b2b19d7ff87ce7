/*
 * The functions that look after stores: pt_backup, pt_compact, pt_check.
 */
#ifndef PT_ADMIN_H
#define PT_ADMIN_H

#include "connection.h"
#include "sqlite.h"

/* Registers the functions; they keep references to the connection. SQLite's code. */
int pt_admin_register(sqlite3 *db, pt_connection *connection);

/* --- For the functions --- */

/*
 * Uses the store that an argument names, as the catalogue's column Store does; an SQL NULL, or no
 * argument (NULL), is the store that tables in main have by default. Given back with
 * pt_connection_leave. SQLITE_CANTOPEN, SQLITE_ERROR, SQLITE_NOMEM and what opening it answers.
 */
int pt_admin_use_store(pt_connection *connection, sqlite3_value *argument, pt_session **session,
                       pt_error *error);

/*
 * The name that such an argument has, valid as long as it; NULL: the store of main's tables.
 * SQLITE_CANTOPEN: it is none; SQLITE_NOMEM.
 */
int pt_admin_store_name(sqlite3_value *argument, const char **name, pt_error *error);

/* Fails the function of that name; clears the error. */
void pt_admin_fail(sqlite3_context *context, const char *name, pt_error *error);

#endif
