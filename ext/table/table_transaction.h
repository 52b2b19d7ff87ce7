/*
 * How a table takes part in transactions: what the modules `ptable` and `pt_queue` share.
 */
#ifndef PT_TABLE_TABLE_TRANSACTION_H
#define PT_TABLE_TABLE_TRANSACTION_H

#include "table/table.h"
#include "transaction/scan.h"

/*
 * What xBegin does: the table may be written, its store is open, and its transaction begins to
 * write. SQLITE_OK, SQLITE_NOMEM, or the code of an error with text.
 */
int pt_transaction_enter(pt_table *table, pt_error *error);

/*
 * At the beginning of xUpdate: the table may be written, its transaction is writing, and table->id
 * is as the transaction sees it. Codes as above.
 */
int pt_transaction_prepare_write(pt_table *table, pt_error *error);

/*
 * At the first xFilter of a cursor: opens a scan of the session's view that sees nothing of what is
 * written later, and sets table->id as the view shows it. The store is open. Codes as above.
 */
int pt_transaction_open_scan(pt_table *table, pt_scan *scan, pt_error *error);

/* The modules' methods of these names: transaction/session.h says what each call means. */
int pt_transaction_begin(sqlite3_vtab *vtab);
int pt_transaction_sync(sqlite3_vtab *vtab);
int pt_transaction_commit(sqlite3_vtab *vtab);
int pt_transaction_rollback(sqlite3_vtab *vtab);
int pt_transaction_savepoint(sqlite3_vtab *vtab, int level);
int pt_transaction_release(sqlite3_vtab *vtab, int level);
int pt_transaction_rollback_to(sqlite3_vtab *vtab, int level);

#endif
