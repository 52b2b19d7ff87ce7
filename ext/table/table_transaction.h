/*
 * The transaction callbacks of ptable and pt_queue, and the checks before a write. The comment of
 * transaction/session.h says what each callback means for the store.
 */
#ifndef PT_TABLE_TABLE_TRANSACTION_H
#define PT_TABLE_TABLE_TRANSACTION_H

#include "table/table.h"

/*
 * The work of xBegin: opens the store and begins the session's transaction. SQLITE_READONLY if the
 * table must not be written to; SQLITE_NOMEM; other codes of pt_connection_use and
 * pt_session_begin.
 */
int pt_transaction_begin_write(pt_table *table, pt_error *error);

/*
 * The first step of xUpdate. After it the session is writing, the companion has joined an explicit
 * transaction (if it can), and table->id is the table's id as the transaction sees it.
 * SQLITE_READONLY if the table must not be written to; SQLITE_ABORT_ROLLBACK if a function called
 * by the statement has rolled back; other codes of pt_companion_join, pt_session_read and
 * pt_table_find_id.
 */
int pt_transaction_prepare_write(pt_table *table, pt_error *error);

/* xBegin, xSync and so on of both modules. */
int pt_transaction_begin(sqlite3_vtab *vtab);
int pt_transaction_sync(sqlite3_vtab *vtab);
int pt_transaction_commit(sqlite3_vtab *vtab);
int pt_transaction_rollback(sqlite3_vtab *vtab);
int pt_transaction_savepoint(sqlite3_vtab *vtab, int level);
int pt_transaction_release(sqlite3_vtab *vtab, int level);
int pt_transaction_rollback_to(sqlite3_vtab *vtab, int level);

#endif
