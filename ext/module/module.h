/*
 * What the modules of virtual tables share.
 */
#ifndef PT_MODULE_MODULE_H
#define PT_MODULE_MODULE_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers a module whose methods get the connection; it keeps a reference. SQLite's code. */
int pt_module_register(sqlite3 *db, const char *name, const sqlite3_module *module,
                       pt_connection *connection);

/* What the methods of a module get that shares them with others. */
typedef struct pt_module_registration {
    pt_connection *connection;
    const void *description; /* of what is its own */
} pt_module_registration;

/* The same for such a module. The description stays where it is. */
int pt_module_register_shared(sqlite3 *db, const char *name, const sqlite3_module *module,
                              pt_connection *connection, const void *description);

/*
 * Hands a failure to SQLite: "ptable: <name>: <text>" becomes the message, a table's zErrMsg or
 * what xCreate and xConnect are given, in place of one that is there. Clears the error and returns
 * its code.
 */
int pt_module_fail(char **message, const char *name, pt_error *error);

/*
 * The same for xUpdate. What OR IGNORE passes over gets no message: SQLite would show it with
 * whatever ends the statement later, as an interruption.
 */
int pt_module_fail_write(sqlite3 *db, char **message, const char *name, pt_error *error);

/*
 * Records the connection's last error, that of a nested statement: its code and its text without
 * the "ptable: " that pt_module_fail puts in front. Where it was not allowed, the text also says
 * what an authorizer must allow, `needs`; so it was if there is no error, for then it was ignored:
 * SQLITE_AUTH. A closed connection, whose last statements may go on, runs none of ours:
 * SQLITE_ERROR. Returns the code.
 */
int pt_module_nested_error(sqlite3 *db, const char *needs, pt_error *error);

/* Whether an authorizer has made a statement that was prepared, and gives columns, one that does
 * nothing (SQLITE_IGNORE). */
bool pt_module_is_ignored(sqlite3_stmt *statement);

/*
 * Whether a schema's text is in UTF-8; in doubt it is not: then fewer conditions become key ranges.
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_module_is_utf8(sqlite3 *db, const char *schema, bool *utf8);

/* Whether a statement of the connection runs. */
bool pt_module_is_any_statement_busy(sqlite3 *db);

#endif
