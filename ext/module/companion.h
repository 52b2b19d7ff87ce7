/*
 * The companion: a hidden virtual table by which the extension follows explicit transactions.
 *
 * SQLite calls xBegin, xSavepoint, xCommit and so on only for virtual tables that a transaction
 * writes. It does not call them
 *     - for a table that the transaction only reads: we would not learn when it ends, so its
 *       snapshot could not last until COMMIT;
 *     - for a table whose CREATE VIRTUAL TABLE is undone by ROLLBACK TO an older savepoint: nothing
 *       would discard what had been written to it;
 *     - for a table after its DROP TABLE: nothing would commit what had been written to it.
 *
 * So there is one more table, temp.ptable_companion, which no one drops. A statement that writes no
 * row to it (DELETE ... WHERE 0) makes it join the transaction: from then on SQLite calls all its
 * callbacks, and it passes them to all sessions of the connection (module/follower.h). PRAGMA
 * temp_store drops everything in TEMP; then the companion is created again.
 *
 * It cannot join under PRAGMA query_only, for example. Then a snapshot lasts only while cursors are
 * open, or from the first write on.
 */
#ifndef PT_MODULE_COMPANION_H
#define PT_MODULE_COMPANION_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/*
 * Registers the module, and creates the table unless a statement is running, because creating it
 * would abort that statement. Returns SQLite's code; on failure `error` may or may not be set.
 */
int pt_companion_register(sqlite3 *db, pt_connection *connection, pt_error *error);

/*
 * For xConnect of other tables: creates the companion if it does not exist and no statement is
 * running. If this fails, SQLite may have rolled back the transaction, so xConnect must fail with
 * the same code. After SQLITE_SCHEMA, SQLite calls xConnect once more.
 */
int pt_companion_ensure(pt_connection *connection, pt_error *error);

/*
 * In an explicit transaction: makes the companion join it, unless it has joined already. Does
 * nothing in autocommit mode. SQLITE_OK even if the companion cannot join;
 * pt_connection.followed tells. If this fails, SQLite may have rolled back the transaction, so
 * the caller must fail with the same code. Never call it inside xBegin: SQLite's array of joined
 * tables would overflow.
 */
int pt_companion_join(pt_connection *connection, pt_error *error);

/*
 * Calls `write` inside a statement of its own (an INSERT into the companion), so that an SQL
 * function can write to stores. The write is part of the open transaction, or is committed when
 * this returns.
 *
 * The statement locks only TEMP. A statement on a table of the main database would need that
 * database's write lock, and SQLite does not wait for the lock inside a statement that reads.
 *
 * *run = true once `write` has been called. *run = false with SQLITE_OK: nothing was done, because
 * there is no companion or an authorizer ignores writes to it. Returns the code and text of
 * `write`, or of a failure to begin or commit.
 */
typedef int (*pt_companion_write)(void *context, pt_error *error);
int pt_companion_run(pt_connection *connection, pt_companion_write write, void *context, bool *run,
                     pt_error *error);

/*
 * *registered = true if the connection has the companion's module. It is the last module to be
 * registered, so the connection then has the whole extension. *functions = true if the library for
 * the Table service has registered the functions that both libraries have. SQLITE_OK or
 * SQLITE_NOMEM.
 */
int pt_companion_is_registered(sqlite3 *db, bool *registered, bool *functions);

#endif
