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

/*
 * The last step of an xUpdate that has failed with this code: what an UPDATE ... FROM has written
 * before is discarded, since SQLite has no savepoint to go back to. The statement is told by
 * xUpdate's arguments.
 */
void pt_transaction_undo_statement(pt_table *table, int argc, sqlite3_value **argv, int rc);

/*
 * A write of an SQL function to a table that is given by its name. What it needs else stands after
 * it, in a struct that begins with it.
 */
typedef struct pt_named_write pt_named_write;
struct pt_named_write {
    pt_connection *connection;
    const char *schema;
    const char *name;
    pt_table_kind kind; /* of the table */
    int (*write)(pt_named_write *self, pt_table *table, pt_error *error);
};

/* NULL if no table of that kind is connected. */
pt_table *pt_named_write_find(const pt_named_write *self);

/*
 * Has the companion begin the write and call `write`; see pt_companion_run for *run. The text of an
 * error begins with the table's name. SQLITE_LOCKED: the table is gone meanwhile; what `write`
 * returns; other codes of pt_transaction_begin_write and pt_transaction_prepare_write.
 */
int pt_named_write_run(pt_named_write *self, bool *run, pt_error *error);

/* xBegin, xSync and so on of both modules. */
int pt_transaction_begin(sqlite3_vtab *vtab);
int pt_transaction_sync(sqlite3_vtab *vtab);
int pt_transaction_commit(sqlite3_vtab *vtab);
int pt_transaction_rollback(sqlite3_vtab *vtab);
int pt_transaction_savepoint(sqlite3_vtab *vtab, int level);
int pt_transaction_release(sqlite3_vtab *vtab, int level);
int pt_transaction_rollback_to(sqlite3_vtab *vtab, int level);

#endif
