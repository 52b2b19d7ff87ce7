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

void pt_whole_rollback(sqlite3 *db)
{
    if (!is_still_open(db)) {
        return;
    }
    if (sqlite3_get_autocommit(db)) {
        /* The statement that writes has not ended. It must not say that all went well. */
        sqlite3_exec(db, "BEGIN; ROLLBACK", NULL, NULL, NULL);
        sqlite3_interrupt(db);
    } else {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
}
