/*
 * What virtual tables share that take part in transactions on behalf of the whole connection: they
 * hand each callback to all its sessions.
 */
#ifndef PT_MODULE_FOLLOWER_H
#define PT_MODULE_FOLLOWER_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* The first member of such a table's object. */
typedef struct pt_follower {
    sqlite3_vtab base;
    pt_connection *connection;
    bool joining; /* xBegin has come and nothing been written since */
    bool joined;  /* xBegin has come, and no end of the transaction */
} pt_follower;

static inline pt_follower *pt_follower_of(sqlite3_vtab *vtab)
{
    return (pt_follower *)vtab;
}

/* The module's xSync, xCommit and so on. */
int pt_follower_sync(sqlite3_vtab *vtab);
int pt_follower_commit(sqlite3_vtab *vtab);
int pt_follower_rollback(sqlite3_vtab *vtab);
int pt_follower_savepoint(sqlite3_vtab *vtab, int level);
int pt_follower_release(sqlite3_vtab *vtab, int level);
int pt_follower_rollback_to(sqlite3_vtab *vtab, int level);

/*
 * sqlite3_close() has virtual tables roll back before it looks whether the connection can be closed
 * at all. If a statement is left, SQLite would go on with the rest of the transaction, and commit
 * it without what was written to stores. So the rest is rolled back, too.
 */

/* What xRollback does first: ends the connection's transaction, unless SQLite has done so. */
void pt_whole_rollback(sqlite3 *db);

#endif
