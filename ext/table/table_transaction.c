#include "table/table_transaction.h"

#include "module/companion.h"
#include "module/follower.h"

int pt_transaction_enter(pt_table *table, pt_error *error)
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
    pt_table_enter(table);
    int rc = pt_transaction_enter(table, &error);
    pt_table_leave(table);
    table->joining = rc == SQLITE_OK;
    return rc == SQLITE_OK ? rc : pt_table_fail(table, &error);
}

int pt_transaction_sync(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    if (table->session == NULL) {
        return SQLITE_OK;
    }
    pt_error error = PT_ERROR_NONE;
    pt_table_enter(table);
    int rc = pt_session_sync(table->session, &error);
    pt_table_leave(table);
    return rc == SQLITE_OK ? rc : pt_table_fail(table, &error);
}

int pt_transaction_commit(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    table->owes_end = false;
    if (table->session != NULL) {
        pt_session_commit(table->session);
    }
    return SQLITE_OK;
}

int pt_transaction_rollback(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    table->owes_end = false;
    pt_whole_rollback(pt_connection_db(table->connection));
    if (table->session != NULL) {
        pt_session_rollback(table->session);
    }
    return SQLITE_OK;
}

/*
 * Right after xBegin SQLite announces the savepoint that is innermost already. When it was opened
 * it was announced to those that have written, so there is nothing to learn from it.
 */
int pt_transaction_savepoint(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    bool known = table->joining || table->session == NULL;
    table->joining = false;
    return known ? SQLITE_OK : pt_session_savepoint(table->session, level);
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
    if (table->session != NULL) {
        pt_session_rollback_to(table->session, level);
    }
    return SQLITE_OK;
}

static int check_writing(const pt_table *table, pt_error *error)
{
    bool writing = table->session != NULL && pt_session_is_writing(table->session);
    return writing ? SQLITE_OK : pt_session_refuse_rolled_back(error);
}

/* Before the first write of a transaction, and of one that may be in doubt. */
static int prepare_first_write(pt_table *table, pt_error *error)
{
    int rc = check_writing(table, error);
    if (rc == SQLITE_OK && !pt_session_has_pending(table->session)) {
        rc = pt_companion_join(table->connection, error);
    }
    pt_view *view = NULL;
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_writing(table, error); /* reading may have ended a transaction in doubt */
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
    pt_view *view = table->session != NULL ? pt_session_pending_view(table->session) : NULL;
    return view != NULL ? pt_table_find_id(table, view, error) : prepare_first_write(table, error);
}

int pt_transaction_open_scan(pt_table *table, pt_scan *scan, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_companion_join(table->connection, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_find_id(table, view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_scan_open(scan, view, error);
    }
    if (rc == SQLITE_OK) {
        pt_scan_freeze(scan);
    }
    return rc;
}
