/*
 * The module `ptable`.
 */
#ifndef PT_TABLE_TABLE_MODULE_H
#define PT_TABLE_TABLE_MODULE_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers the module; it keeps a reference to the connection. SQLite's code. */
int pt_table_register(sqlite3 *db, pt_connection *connection);

#endif
