/*
 * The functions that look after stores: pt_backup, pt_compact, pt_check.
 */
#ifndef PT_CATALOG_ADMIN_H
#define PT_CATALOG_ADMIN_H

#include "base/sqlite.h"
#include "store/engine.h"
#include "transaction/connection.h"

/* Registers the functions; they keep references to the connection. SQLite's code. */
int pt_admin_register(sqlite3 *db, pt_connection *connection);

/* --- For the functions --- */

typedef struct pt_admin_call {
    sqlite3_context *context; /* for the result of a call that succeeds */
    pt_connection *connection;
    const char *store;       /* the first argument; NULL: the store of main's tables */
    sqlite3_value *argument; /* the second one, if the function has two */
    const pt_watch *watch;
} pt_admin_call;

typedef int pt_admin_work(const pt_admin_call *call, pt_error *error);

/* Runs the work of the function of that name, of which the first argument names a store. */
void pt_admin_run(sqlite3_context *context, const char *name, pt_admin_work *work, int argc,
                  sqlite3_value **argv);

/*
 * Uses the store, which is named as in the catalogue's column Store. Given back with
 * pt_connection_leave. SQLITE_CANTOPEN, SQLITE_ERROR, SQLITE_NOMEM and what opening it answers.
 */
int pt_admin_use_store(const pt_admin_call *call, pt_session **session, pt_error *error);

/*
 * pt_check([store]): whether a store is sound, as text: ok, or a line for each problem and one that
 * says what to do. Not in views and triggers.
 */

void pt_admin_check(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
