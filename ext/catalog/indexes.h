/*
 * pt_indexes: the indexes of the tables of one store, or of all stores that are open.
 *
 *     Store, TableName, IndexName, Columns, IsUnique, Entries, Bytes
 *
 * INSERT makes an index, with the entries of all entities that are there, and DELETE drops one.
 * IndexName and Columns are the columns, joined by commas.
 */
#ifndef PT_CATALOG_INDEXES_H
#define PT_CATALOG_INDEXES_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers the module. Returns SQLite's code. */
int pt_indexes_register(sqlite3 *db, pt_connection *connection);

#endif
