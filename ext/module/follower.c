#include "module/follower.h"

#include "module/whole_rollback.h"

int pt_follower_sync(sqlite3_vtab *vtab)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_connection_sync(pt_follower_of(vtab)->connection, &error);
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
    pt_connection_commit(follower->connection);
    return SQLITE_OK;
}

int pt_follower_rollback(sqlite3_vtab *vtab)
{
    pt_follower *follower = pt_follower_of(vtab);
    follower->joined = false;
    pt_whole_rollback(pt_connection_db(follower->connection));
    pt_connection_rollback(follower->connection);
    return SQLITE_OK;
}

/*
 * Right after xBegin SQLite announces the savepoint that is innermost already. When it was opened
 * it was announced to those that had written, so there is nothing to learn from it.
 */
int pt_follower_savepoint(sqlite3_vtab *vtab, int level)
{
    pt_follower *follower = pt_follower_of(vtab);
    bool known = follower->joining || pt_connection_is_joining(follower->connection);
    follower->joining = false;
    return known ? SQLITE_OK : pt_connection_savepoint(follower->connection, level);
}

int pt_follower_release(sqlite3_vtab *vtab, int level)
{
    pt_connection_release_savepoint(pt_follower_of(vtab)->connection, level);
    return SQLITE_OK;
}

int pt_follower_rollback_to(sqlite3_vtab *vtab, int level)
{
    pt_connection_rollback_to(pt_follower_of(vtab)->connection, level);
    return SQLITE_OK;
}
