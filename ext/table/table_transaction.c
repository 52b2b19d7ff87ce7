#include "table/table_transaction.h"

#include "module/companion.h"
#include "module/follower.h"
#include "module/module.h"

int pt_transaction_begin_write(pt_table *table, pt_error *error)
{
    int rc = pt_table_check_writable(table, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_open_store(table, error);
    }
    return rc == SQLITE_OK ? pt_session_begin(table->session, error) : rc;
}

int pt_transaction_begin(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    if (table->connection->attached != 0) { /* pt_connection_notice_detach, in the common path */
        pt_connection_leave_detached(table->connection);
    }
    pt_table_begin_rows(table);
    pt_table_set_busy(table);
    int rc = pt_transaction_begin_write(table, &error);
    pt_table_clear_busy(table);
    table->joining = rc == SQLITE_OK; /* after an error SQLite calls no xSavepoint */
    return rc == SQLITE_OK ? rc : pt_table_fail(table, &error);
}

int pt_transaction_sync(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    if (table->session == NULL) {
        return SQLITE_OK;
    }
    pt_error error = PT_ERROR_NONE;
    pt_table_set_busy(table);
    /* Everything that can fail happens here: SQLite ignores the result of xCommit. */
    int rc = pt_session_sync(table->session, &error);
    pt_table_clear_busy(table);
    return rc == SQLITE_OK ? rc : pt_table_fail(table, &error);
}

int pt_transaction_commit(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    table->created_in_transaction = false;
    if (table->session != NULL) {
        pt_session_commit(table->session);
    }
    return SQLITE_OK;
}

int pt_transaction_rollback(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    table->created_in_transaction = false;
    /* First: once the store is rolled back, SQLite's databases must not commit without it. */
    pt_roll_back_databases(table->db);
    pt_table_begin_rows(table);
    if (table->session != NULL) {
        pt_session_rollback(table->session);
    }
    return SQLITE_OK;
}

/* The call right after xBegin is for a savepoint that is open already, and is ignored: see
 * pt_follower_savepoint. */
int pt_transaction_savepoint(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    pt_table_begin_rows(table);
    bool already_open = table->joining || table->session == NULL;
    table->joining = false;
    return already_open ? SQLITE_OK : pt_session_savepoint(table->session, level);
}

int pt_transaction_release(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    if (table->session != NULL) {
        pt_session_release(table->session, level);
    }
    return SQLITE_OK;
}

int pt_transaction_rollback_to(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    pt_table_begin_rows(table);
    if (table->session != NULL) {
        pt_session_rollback_to(table->session, level);
    }
    return SQLITE_OK;
}

/* A function called by the statement may have rolled back the transaction. */
static int check_writing(const pt_table *table, pt_error *error)
{
    bool writing = table->session != NULL && pt_session_is_writing(table->session);
    return writing ? SQLITE_OK : pt_session_refuse_rolled_back(error);
}

/* Before the first write of a transaction, and before every write while the store is in doubt. */
static int prepare_first_write(pt_table *table, pt_error *error)
{
    int rc = check_writing(table, error);
    /* The companion must have joined before there is anything to commit: after a DROP TABLE it
     * alone gets xCommit. (In xBegin it cannot join: SQLite's array of joined tables would
     * overflow.) */
    if (rc == SQLITE_OK && !pt_session_has_pending(table->session)) {
        rc = pt_companion_join(table->connection, error);
    }
    pt_view *view = NULL;
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_writing(table, error); /* pt_session_read ends a transaction in doubt */
    }
    return rc == SQLITE_OK ? pt_table_find_id(table, view, error) : rc;
}

int pt_transaction_prepare_write(pt_table *table, pt_error *error)
{
    table->joining = false;
    int rc = pt_table_check_writable(table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Usually the transaction has written before, and then there is nothing to prepare. */
    pt_view *view = table->session != NULL ? pt_session_pending_view(table->session) : NULL;
    if (view == NULL) {
        return prepare_first_write(table, error);
    }
    pt_session_protect_statement(table->session);
    return pt_table_find_id(table, view, error);
}

void pt_transaction_undo_statement(pt_table *table, int argc, sqlite3_value **argv, int rc)
{
    bool updates = argc > 1 && sqlite3_value_type(argv[0]) != SQLITE_NULL;
    if (updates && table->session != NULL && !pt_module_keeps_rows(table->db, rc)) {
        pt_session_undo_statement(table->session);
    }
}

/* --- Writes of SQL functions --- */

pt_table *pt_named_write_find(const pt_named_write *self)
{
    pt_connected *connected = pt_connected_tables_find(self->connection, self->schema, self->name);
    pt_table *table = connected != NULL ? pt_table_of_connected(connected) : NULL;
    return table != NULL && table->form->kind == self->kind ? table : NULL;
}

static int begin_and_write(pt_named_write *self, pt_table *table, pt_error *error)
{
    pt_table_set_busy(table);
    int rc = pt_transaction_begin_write(table, error);
    if (rc == SQLITE_OK) {
        rc = pt_transaction_prepare_write(table, error);
    }
    if (rc == SQLITE_OK) {
        rc = self->write(self, table, error);
    }
    pt_table_clear_busy_by_name(table);
    return rc;
}

/* Runs in the companion: it may have run statements, so the table is looked for again. */
static int write_by_name(void *context, pt_error *error)
{
    pt_named_write *self = context;
    pt_error own = PT_ERROR_NONE;
    pt_table *table = pt_named_write_find(self);
    int rc = table != NULL
                 ? begin_and_write(self, table, &own)
                 : pt_error_set(&own, SQLITE_LOCKED,
                                "was dropped or disconnected while this statement ran; run "
                                "the statement again");
    if (rc == SQLITE_NOMEM) {
        pt_error_nomem(error);
    } else if (rc != SQLITE_OK) {
        rc = pt_error_set(error, rc, "%s: %s", self->name, own.message);
    }
    pt_error_clear(&own);
    return rc;
}

int pt_named_write_run(pt_named_write *self, bool *run, pt_error *error)
{
    return pt_companion_run(self->connection, write_by_name, self, run, error);
}
