#include "transaction/explicit_transaction.h"

#include "base/sqlite.h"

void pt_explicit_transaction_follow(pt_connection *connection)
{
    connection->followed = true;
}

int pt_explicit_transaction_savepoint(pt_connection *connection, int level)
{
    int first_rc = SQLITE_OK;
    /* Go on after a failure: SQLite will roll back to this savepoint, so all sessions need it. */
    for (pt_open_session *open = connection->sessions; open != NULL; open = open->next) {
        int rc = pt_session_savepoint(open->session, level);
        first_rc = first_rc == SQLITE_OK ? rc : first_rc;
    }
    return first_rc;
}

void pt_explicit_transaction_release(pt_connection *connection, int level)
{
    for (pt_open_session *open = connection->sessions; open != NULL; open = open->next) {
        pt_session_release(open->session, level);
    }
}

void pt_explicit_transaction_rollback_to(pt_connection *connection, int level)
{
    for (pt_open_session *open = connection->sessions; open != NULL; open = open->next) {
        pt_session_rollback_to(open->session, level);
    }
}

int pt_explicit_transaction_sync(pt_connection *connection, pt_error *error)
{
    int rc = SQLITE_OK;
    /* Stop at the first failure. SQLite then calls xRollback, which undoes the sessions that have
     * synced. After SQLITE_BUSY it may leave the transaction open instead: those sessions stay
     * synced until COMMIT is repeated or the transaction is rolled back. */
    for (pt_open_session *open = connection->sessions; rc == SQLITE_OK && open != NULL;
         open = open->next) {
        rc = pt_session_sync(open->session, error);
    }
    return rc;
}

static void end_all_sessions(pt_connection *connection, void (*end)(pt_session *))
{
    /* Clear these first: they would keep the views and the unused stores. */
    connection->followed = false;
    connection->keeps_open = false;
    for (pt_open_session *open = connection->sessions; open != NULL; open = open->next) {
        end(open->session);
        pt_session_end_read(open->session);
    }
    pt_connection_close_unused(connection);
}

void pt_explicit_transaction_commit(pt_connection *connection)
{
    end_all_sessions(connection, pt_session_commit);
}

void pt_explicit_transaction_rollback(pt_connection *connection)
{
    end_all_sessions(connection, pt_session_rollback);
}

bool pt_explicit_transaction_is_joining(const pt_connection *connection)
{
    return connection->joining;
}

void pt_explicit_transaction_set_joining(pt_connection *connection, bool joining)
{
    connection->joining = joining;
}

bool pt_explicit_transaction_is_reconnecting(const pt_connection *connection)
{
    return connection->reconnecting;
}

void pt_explicit_transaction_set_reconnecting(pt_connection *connection, bool reconnecting)
{
    connection->reconnecting = reconnecting;
}

void pt_explicit_transaction_set_beside_main(pt_connection *connection, bool beside)
{
    connection->beside_main = beside;
}
