/*
 * Transaction callbacks of virtual tables that stand for the whole connection: the companion and
 * the catalogue's tables. Each callback goes to all sessions of the connection.
 */
#ifndef PT_MODULE_FOLLOWER_H
#define PT_MODULE_FOLLOWER_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* The first member of such a table's object. */
typedef struct pt_follower {
    sqlite3_vtab base;
    pt_connection *connection;
    /* Set by the catalogue's tables only. (The companion has pt_explicit_transaction_is_joining.)
     */
    bool joining; /* xBegin was called, and no xSavepoint or xUpdate since */
    bool joined;  /* xBegin was called, and no xCommit or xRollback since */
} pt_follower;

static inline pt_follower *pt_follower_of(sqlite3_vtab *vtab)
{
    return (pt_follower *)vtab;
}

/* The table's xSync, xCommit and so on. xSync and xSavepoint may fail, with the codes of
 * transaction/explicit_transaction.h. */
int pt_follower_sync(sqlite3_vtab *vtab);
int pt_follower_commit(sqlite3_vtab *vtab);
int pt_follower_rollback(sqlite3_vtab *vtab);
int pt_follower_savepoint(sqlite3_vtab *vtab, int level);
int pt_follower_release(sqlite3_vtab *vtab, int level);
int pt_follower_rollback_to(sqlite3_vtab *vtab, int level);

/*
 * The first step of every xRollback: makes sure that SQLite rolls back its own databases, too.
 *
 * Usually it has. But sqlite3_close() calls xRollback of all virtual tables before it checks
 * whether the connection can be closed. If a statement or a backup keeps the connection open,
 * sqlite3_close() returns SQLITE_BUSY and SQLite goes on with the transaction: a later COMMIT would
 * commit what was written to the databases, without what was written to stores.
 */
void pt_roll_back_databases(sqlite3 *db);

#endif
