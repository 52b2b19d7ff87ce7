/*
 * For every virtual table module of the extension: error messages, and questions about the
 * connection.
 */
#ifndef PT_MODULE_MODULE_H
#define PT_MODULE_MODULE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sqlite.h"

/*
 * Reports an error to SQLite: *message becomes "ptable: <name>: <text>" and its old text is freed.
 * `message` is the zErrMsg of a table, or the message argument of xCreate and xConnect. Clears the
 * error and returns its code.
 */
int pt_module_fail(char **message, const char *name, pt_error *error);

/* The same for an SQL function: its result is the error. */
void pt_module_fail_function(sqlite3_context *context, const char *name, pt_error *error);

/* True if OR IGNORE will skip the row of xUpdate that has this error. */
bool pt_module_ignores(sqlite3 *db, const pt_error *error);

/* True if this error of xUpdate leaves the rows that the statement has written before: OR IGNORE
 * goes on, OR FAIL ends there. */
bool pt_module_keeps_rows(sqlite3 *db, int rc);

/*
 * pt_module_fail for xUpdate. Leaves the message alone if OR IGNORE will skip the row: SQLite would
 * keep the message, and show it if an unrelated error (an interrupt, for example) ends the
 * statement later.
 */
int pt_module_fail_write(sqlite3 *db, char **message, const char *name, pt_error *error);

/*
 * Sets `error` to the connection's last error, which a nested statement of ours has caused, without
 * the prefix "ptable: ". Returns its code, except:
 *     SQLITE_AUTH    if an authorizer has denied or ignored the statement. (An ignored statement
 *                    leaves no error.) The text adds that the authorizer must allow `needs`.
 *     SQLITE_ERROR   instead of SQLITE_MISUSE: after sqlite3_close_v2 the statements left can run,
 *                    but new ones cannot be prepared.
 */
int pt_module_nested_error(sqlite3 *db, const char *needs, pt_error *error);

/*
 * Prepares a nested statement and frees its text, which is NULL if there was no memory for it
 * (SQLITE_NOMEM). *statement is NULL if SQLite refuses it: pt_module_finish reports why.
 */
int pt_module_prepare(sqlite3 *db, char *sql, sqlite3_stmt **statement, pt_error *error);

/* Finalizes a nested statement, which may be NULL. Unless it is done, reports its error as
 * pt_module_nested_error does. */
int pt_module_finish(sqlite3 *db, sqlite3_stmt *statement, bool done, const char *needs,
                     pt_error *error);

/*
 * Finds out which modules of these names the connection has, in one statement. If that cannot be
 * found out, none. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_module_find(sqlite3 *db, const char *const *names, bool *found, int count);

/* True if an authorizer's SQLITE_IGNORE has made a prepared statement do nothing. The statement
 * must be one that returns columns. */
bool pt_module_is_ignored(sqlite3_stmt *statement);

/*
 * *utf8 = true if text in a schema is UTF-8. If that cannot be found out it is false: then fewer
 * conditions become key ranges. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_module_is_utf8(sqlite3 *db, const char *schema, bool *utf8);

/* True if a statement of the connection is running. */
bool pt_module_is_any_statement_busy(sqlite3 *db);

#endif
