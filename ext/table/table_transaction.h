/*
 * The transaction callbacks of ptable and pt_queue, and what comes before a write. What each
 * callback means for the store: transaction/session.h.
 */
#ifndef PT_TABLE_TABLE_TRANSACTION_H
#define PT_TABLE_TABLE_TRANSACTION_H

#include "table/table.h"

/*
 * The work of xBegin: opens the store and begins the session's transaction. SQLITE_READONLY if the
 * table must not be written to; SQLITE_NOMEM; other codes of pt_session_begin.
 */
int pt_transaction_begin_write(pt_table *table, pt_error *error);

/*
 * The first step of xUpdate: the table may be written to, its session is writing, and table->id is
 * the one that the transaction sees. Codes as above.
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
