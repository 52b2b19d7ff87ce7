/*
 * Tests with a connection to a database in memory, and a fresh store that it does not use yet.
 */
#ifndef TESTS_UNIT_TRANSACTION_CONNECTED_H
#define TESTS_UNIT_TRANSACTION_CONNECTED_H

#include "fixtures/session_fixture.h"
#include "transaction/connection.h"

static sqlite3 *db;
static pt_connection *connection;

static int connect_database(void)
{
    session_fresh_store();
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        return -1;
    }
    connection = pt_connection_new(db, &pt_lmdb_engine);
    return connection != NULL ? 0 : -1;
}

static int disconnect_database(void)
{
    pt_connection_release(connection);
    return sqlite3_close(db) == SQLITE_OK ? session_check_memory() : -1;
}

#endif
