#include "whole_rollback.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Every statement that lets a virtual table take part writes some database, and a true rollback
 * ends that before it calls xRollback: what is left are databases that other statements read.
 */
static bool is_still_open(sqlite3 *db)
{
    return sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE;
}

/*
 * Where ROLLBACK cannot be run: an interrupted statement that writes rolls the transaction back. An
 * interruption lasts as long as any statement runs, and SQLite then parses nothing with a space in
 * it.
 */
static int roll_back_by_interruption(sqlite3 *db)
{
    sqlite3_stmt *running = NULL;
    sqlite3_prepare_v2(db, "SELECT 1", -1, &running, NULL);
    if (running != NULL) {
        sqlite3_step(running);
    }
    sqlite3_interrupt(db);
    int rc = sqlite3_exec(db, "PRAGMA\"temp\".\"user_version\"=0;", NULL, NULL, NULL);
    sqlite3_finalize(running);
    return rc;
}

/*
 * Who closes a connection may have freed what it gave for statements to call, so nothing of that
 * may be called: Python's sqlite3 frees it. A close that is refused after all leaves the connection
 * without. Where statements are left it keeps its authorizer, on which a program may rely that goes
 * on with it.
 */
static void take_out_callbacks(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_trace_v2(db, 0, NULL, NULL);
    if (sqlite3_next_stmt(db, NULL) == NULL) {
        sqlite3_set_authorizer(db, NULL, NULL);
    }
}

void pt_whole_rollback(sqlite3 *db)
{
    if (!is_still_open(db)) {
        return;
    }
    take_out_callbacks(db);
    bool in_statement = sqlite3_get_autocommit(db);
    sqlite3_exec(db, in_statement ? "BEGIN; ROLLBACK" : "ROLLBACK", NULL, NULL, NULL);
    int rc = is_still_open(db) ? roll_back_by_interruption(db) : SQLITE_OK;
    if (in_statement) {
        sqlite3_interrupt(db); /* It must not end as if all went well. */
    }
    if (is_still_open(db)) {
        sqlite3_log(rc, "ptable: sqlite3_close() has taken back what a transaction wrote to "
                        "stores, but not the rest of it; ROLLBACK");
    }
}
