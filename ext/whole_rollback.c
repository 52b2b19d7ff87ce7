#include "whole_rollback.h"

#include <stdbool.h>
#include <stddef.h>

#include "module.h"

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

/* Where ROLLBACK cannot be run: beside a statement that runs. */
static int roll_back_beside_another(sqlite3 *db)
{
    sqlite3_stmt *running = NULL;
    sqlite3_prepare_v2(db, "SELECT 1", -1, &running, NULL);
    if (running != NULL) {
        sqlite3_step(running);
    }
    int rc = roll_back_by_interruption(db);
    sqlite3_finalize(running);
    return rc;
}

/* They are not set any more if a backup keeps the connection from closing after all. */
static void take_out_callbacks(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_set_authorizer(db, NULL, NULL);
    sqlite3_trace_v2(db, 0, NULL, NULL);
}

static int roll_back(sqlite3 *db)
{
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return is_still_open(db) ? roll_back_beside_another(db) : SQLITE_OK;
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
