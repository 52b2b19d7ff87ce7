#include "module/follower.h"

#include <stdbool.h>
#include <stddef.h>

#include "module/module.h"
#include "transaction/explicit_transaction.h"

/* --- Callbacks --- */

int pt_follower_begin(sqlite3_vtab *vtab)
{
    pt_follower *follower = pt_follower_of(vtab);
    pt_connection_keep_open(follower->connection);
    follower->joining = true;
    follower->joined = true;
    follower->begun = true;
    return SQLITE_OK;
}

bool pt_follower_takes_lock(pt_follower *follower)
{
    bool begun = follower->begun;
    follower->begun = false;
    return begun;
}

bool pt_follower_begin_update(pt_follower *follower)
{
    follower->joining = false;
    follower->begun = false;
    return follower->joined;
}

/* If the statement of xBegin did not read, a later SELECT must not take the writer lock for it:
 * nothing would release it. */
static void leave_transaction(pt_follower *follower)
{
    follower->joined = false;
    follower->begun = false;
}

int pt_follower_sync(sqlite3_vtab *vtab)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_explicit_transaction_sync(pt_follower_of(vtab)->connection, &error);
    if (rc != SQLITE_OK && error.message != NULL) {
        sqlite3_free(vtab->zErrMsg);
        vtab->zErrMsg = sqlite3_mprintf("ptable: %s", error.message);
    }
    pt_error_clear(&error);
    return rc;
}

int pt_follower_commit(sqlite3_vtab *vtab)
{
    pt_follower *follower = pt_follower_of(vtab);
    leave_transaction(follower);
    pt_explicit_transaction_commit(follower->connection);
    return SQLITE_OK;
}

int pt_follower_rollback(sqlite3_vtab *vtab)
{
    pt_follower *follower = pt_follower_of(vtab);
    leave_transaction(follower);
    pt_roll_back_databases(follower->connection->db);
    pt_explicit_transaction_rollback(follower->connection);
    return SQLITE_OK;
}

/*
 * Right after xBegin SQLite calls xSavepoint for the innermost savepoint that is already open. Do
 * not mark that savepoint now: other tables may have written since it was opened. A session that
 * was writing when the savepoint was opened has marked it then. A session that was not needs no
 * mark: rolling back to a level without one discards all its writes.
 */
int pt_follower_savepoint(sqlite3_vtab *vtab, int level)
{
    pt_follower *follower = pt_follower_of(vtab);
    bool already_open =
        follower->joining || pt_explicit_transaction_is_joining(follower->connection);
    follower->joining = false;
    return already_open ? SQLITE_OK
                        : pt_explicit_transaction_savepoint(follower->connection, level);
}

int pt_follower_release(sqlite3_vtab *vtab, int level)
{
    pt_explicit_transaction_release(pt_follower_of(vtab)->connection, level);
    return SQLITE_OK;
}

int pt_follower_rollback_to(sqlite3_vtab *vtab, int level)
{
    pt_explicit_transaction_rollback_to(pt_follower_of(vtab)->connection, level);
    return SQLITE_OK;
}

/* --- Rolling back SQLite's databases --- */

/*
 * True if SQLite has not rolled back. A statement by which a virtual table joins a transaction also
 * puts a database into write state, and a real rollback ends that state before it calls xRollback.
 * Databases that other statements only read may still be in a transaction.
 */
static bool is_sqlite_still_writing(sqlite3 *db)
{
    return sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE;
}

/*
 * Makes SQLite roll back by interrupting a statement that writes. An interrupt stays in force only
 * while a statement is running, so there must be one.
 *
 * The statement is VACUUM because it needs no authorization and fails before it does anything: no
 * authorizer, progress handler or statement trace of the application is called. It is written
 * exactly like this because an interrupted SQLite does not parse a statement without a semicolon,
 * or with a space in it.
 */
static int roll_back_by_interrupt(sqlite3 *db)
{
    sqlite3_interrupt(db);
    return sqlite3_exec(db, "VACUUM;", NULL, NULL, NULL);
}

/* For when no statement is running: runs one of ours, so that the interrupt stays in force. EXPLAIN
 * VACUUM needs no authorization either. */
static int roll_back_with_own_statement(sqlite3 *db)
{
    sqlite3_stmt *running = NULL;
    sqlite3_prepare_v2(db, "EXPLAIN VACUUM", -1, &running, NULL);
    if (running != NULL) {
        sqlite3_step(running);
    }
    int rc = roll_back_by_interrupt(db);
    sqlite3_finalize(running);
    if (is_sqlite_still_writing(db)) {
        /* Out of memory. ROLLBACK may still work. It comes second because it calls the
         * application's authorizer and traces. */
        rc = sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    return rc;
}

/* They stay removed if a backup keeps the connection from closing after all. */
static void remove_application_callbacks(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_set_authorizer(db, NULL, NULL);
    sqlite3_trace_v2(db, 0, NULL, NULL);
}

void pt_roll_back_databases(sqlite3 *db)
{
    if (!is_sqlite_still_writing(db)) {
        return;
    }
    /* With no statement left, the connection is being closed. The application may have freed what
     * its callbacks need, as Python's sqlite3 does, so they must not be called. */
    if (sqlite3_next_stmt(db, NULL) == NULL) {
        remove_application_callbacks(db);
    }
    int rc = pt_module_is_any_statement_busy(db) ? roll_back_by_interrupt(db)
                                                 : roll_back_with_own_statement(db);
    if (is_sqlite_still_writing(db)) {
        sqlite3_log(rc, "ptable: sqlite3_close() has rolled back what a transaction wrote to "
                        "stores, but not the rest of it; ROLLBACK");
    }
}
