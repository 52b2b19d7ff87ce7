/*
 * pt_tables: the tables of a store as rows. SELECT lists them, INSERT makes an empty one, DELETE
 * drops one with its entities.
 *
 *     pt_tables(Store, TableName, Entities, Bytes)
 *
 * The rowid is the number of the session (transaction/connection.h) in the upper and the table's id
 * in the lower 32 bits.
 */
#ifndef PT_CATALOG_TABLES_H
#define PT_CATALOG_TABLES_H

#include "transaction/connection.h"

/* Registers the module; it keeps a reference to the connection. SQLite's code. */
int pt_catalog_register(sqlite3 *db, pt_connection *connection);

#endif
