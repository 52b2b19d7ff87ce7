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
    bool begun;   /* xBegin was called, and its statement has not read yet */
} pt_follower;

static inline pt_follower *pt_follower_of(sqlite3_vtab *vtab)
{
    return (pt_follower *)vtab;
}

/* xBegin of the catalogue's tables. The store to write is not known yet: xUpdate, or reading it,
 * begins its session. */
int pt_follower_begin(sqlite3_vtab *vtab);

/* True if the statement that begins to read now may write: it takes the writer lock before it
 * reads, so that its rows cannot change before it deletes them. */
bool pt_follower_takes_lock(pt_follower *follower);

/* The first step of the catalogue's xUpdate. False if a function in the statement has rolled the
 * transaction back: SQLite goes on without another xBegin. */
bool pt_follower_begin_update(pt_follower *follower);

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
