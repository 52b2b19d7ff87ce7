/*
 * The companion: a virtual table in TEMP that lets the extension follow explicit transactions.
 *
 * SQLite tells a virtual table nothing of transactions that only read it, nor of a ROLLBACK TO over
 * its CREATE, nor of a COMMIT after its DROP. The companion is a table nobody drops; a statement
 * that writes no row makes it a participant, and from then on it gets every callback of that
 * transaction and passes them to all sessions. If it is gone (PRAGMA temp_store empties TEMP) it is
 * made again. Where it cannot take part, as under PRAGMA query_only, snapshots last only as long as
 * cursors are open or a write has begun.
 */
#ifndef PT_MODULE_COMPANION_H
#define PT_MODULE_COMPANION_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/*
 * Registers the module and makes the table, if no statement is running that this would abort. On
 * failure SQLite's code, with or without a text.
 */
int pt_companion_register(sqlite3 *db, pt_connection *connection, pt_error *error);

/*
 * For xConnect: makes the table if it is not there and no statement is running. On failure, as for
 * want of memory, SQLite may have rolled the transaction back: the caller must fail as well, also
 * with SQLITE_SCHEMA, after which SQLite calls it once more.
 */
int pt_companion_ensure(pt_connection *connection, pt_error *error);

/*
 * In an explicit transaction: lets the companion take part from now on, if that is possible.
 * Failure as above.
 */
int pt_companion_join(pt_connection *connection, pt_error *error);

/*
 * Lets `write` write to stores in a statement of its own, as part of the transaction that is open
 * or else committed when this returns. Unlike a statement on a table of the main database it needs
 * no lock of that, so that it can run inside a statement that reads: SQLite would not wait for the
 * lock. *run = false with SQLITE_OK: there is no companion, or an authorizer ignores what is
 * written to it, and nothing has been done. SQLITE_OK, the code and text of `write`, and those of a
 * failure to begin or to commit.
 */
typedef int (*pt_companion_write)(void *context, pt_error *error);
int pt_companion_run(pt_connection *connection, pt_companion_write write, void *context, bool *run,
                     pt_error *error);

/*
 * Whether the connection has the companion's module, and so the whole extension: it is the last
 * that is registered. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_companion_is_registered(sqlite3 *db, bool *registered);

#endif
