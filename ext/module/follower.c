#include "module/follower.h"

#include <stdbool.h>
#include <stddef.h>

#include "module/module.h"
#include "transaction/explicit_transaction.h"

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
    follower->joined = false;
    pt_explicit_transaction_commit(follower->connection);
    return SQLITE_OK;
}

int pt_follower_rollback(sqlite3_vtab *vtab)
{
    pt_follower *follower = pt_follower_of(vtab);
    follower->joined = false;
    pt_whole_rollback(pt_connection_db(follower->connection));
    pt_explicit_transaction_rollback(follower->connection);
    return SQLITE_OK;
}

/*
 * Right after xBegin SQLite announces the savepoint that is innermost already. When it was opened
 * it was announced to those that had written, so there is nothing to learn from it.
 */
int pt_follower_savepoint(sqlite3_vtab *vtab, int level)
{
    pt_follower *follower = pt_follower_of(vtab);
    bool known = follower->joining || pt_explicit_transaction_is_joining(follower->connection);
    follower->joining = false;
    return known ? SQLITE_OK : pt_explicit_transaction_savepoint(follower->connection, level);
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

/* --- Whole rollback --- */

/*
 * Every statement that lets a virtual table take part writes some database, and a true rollback
 * ends that before it calls xRollback: what is left are databases that other statements read.
 */
static bool is_still_open(sqlite3 *db)
{
    return sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE;
}

/*
 * An interrupted statement that writes rolls the transaction back. An interruption lasts as long as
 * any statement runs, and SQLite then parses nothing without a semicolon or with a space. VACUUM
 * needs nobody's permission, and ends before it begins: no authorizer or progress handler hears of
 * it, nor a trace of statements.
 */
static int roll_back_by_interruption(sqlite3 *db)
{
    sqlite3_interrupt(db);
    return sqlite3_exec(db, "VACUUM;", NULL, NULL, NULL);
}

/* Where no statement runs. One that is only explained needs nobody's permission either. */
static int roll_back_beside_another(sqlite3 *db)
{
    sqlite3_stmt *running = NULL;
    sqlite3_prepare_v2(db, "EXPLAIN VACUUM", -1, &running, NULL);
    if (running != NULL) {
        sqlite3_step(running);
    }
    int rc = roll_back_by_interruption(db);
    sqlite3_finalize(running);
    return rc;
}

/* ROLLBACK, which calls what the program gave, is for when there was no memory for the other. */
static int roll_back(sqlite3 *db)
{
    int rc = roll_back_beside_another(db);
    return is_still_open(db) ? sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) : rc;
}

/* They are not set any more if a backup keeps the connection from closing after all. */
static void take_out_callbacks(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_set_authorizer(db, NULL, NULL);
    sqlite3_trace_v2(db, 0, NULL, NULL);
}

/*
 * Who closes a connection by sqlite3_close_v2(), or with nothing left of it, may have freed what it
 * gave for statements to call, as Python's sqlite3 does: it must not be called.
 */
void pt_whole_rollback(sqlite3 *db)
{
    if (!is_still_open(db)) {
        return;
    }
    if (sqlite3_next_stmt(db, NULL) == NULL) {
        take_out_callbacks(db);
    }
    int rc = pt_module_is_any_statement_busy(db) ? roll_back_by_interruption(db) : roll_back(db);
    if (is_still_open(db)) {
        sqlite3_log(rc, "ptable: sqlite3_close() has taken back what a transaction wrote to "
                        "stores, but not the rest of it; ROLLBACK");
    }
}
