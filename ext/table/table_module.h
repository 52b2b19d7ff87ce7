/*
 * The module ptable: the table of its methods, and xUpdate.
 */
#ifndef PT_TABLE_TABLE_MODULE_H
#define PT_TABLE_TABLE_MODULE_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers the module, which keeps a reference to the connection. Returns SQLite's code. */
int pt_table_register(sqlite3 *db, pt_connection *connection);

#endif
