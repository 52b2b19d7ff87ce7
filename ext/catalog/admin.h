/*
 * The functions for maintaining stores. `store` is a name as in a column Store; without it, or with
 * NULL, it is the default store of tables in main.
 *
 * pt_backup(store, path): copies what the last commit left in the store to a new file, while others
 * read and write the store. Returns the size of the file in bytes, once it is on the disk. A
 * relative path starts where that of a store does. SQLITE_LOCKED if the transaction has written to
 * the store.
 *
 * pt_compact([store]): makes the file of a store as small as possible, and returns by how many
 * bytes. Fails inside a transaction. SQLITE_BUSY if another process has the store open;
 * SQLITE_READONLY if the main database is read-only, and under PRAGMA query_only.
 *
 * pt_check([store]): returns "ok", or a line for each problem of the store and one that says what
 * to do.
 *
 * All of them can be interrupted (sqlite3_interrupt). Views and triggers cannot call them.
 */
#ifndef PT_CATALOG_ADMIN_H
#define PT_CATALOG_ADMIN_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers the functions, which keep references to the connection. Returns an SQLite code. */
int pt_admin_register(sqlite3 *db, pt_connection *connection);

#endif
