/*
 * pt_tables: the tables of a store as rows. SELECT lists them, INSERT creates an empty table,
 * DELETE drops a table with its entities.
 *
 *     pt_tables(Store, TableName, Entities, Bytes, Changes, Expires, Limits, Horizon)
 *
 * INSERT and UPDATE set Changes and Expires. Limits and Horizon are hidden. Limits is for INSERT
 * only: 'azure' refuses names that the Table service refuses. Horizon is that of
 * transaction/change_log.h.
 *
 * The upper 32 bits of the rowid are the number of the session (transaction/connection.h), the
 * lower 32 bits the id of the table.
 */
#ifndef PT_CATALOG_TABLES_H
#define PT_CATALOG_TABLES_H

#include "transaction/connection.h"

/* Registers the module, which keeps a reference to the connection. Returns an SQLite code. */
int pt_tables_register(sqlite3 *db, pt_connection *connection);

#endif
