/*
 * The path of a table's store file.
 */
#ifndef PT_MODULE_STORE_PATH_H
#define PT_MODULE_STORE_PATH_H

#include "base/error.h"
#include "transaction/connection.h"

/*
 * Makes the absolute path, from sqlite3_malloc, for the option `store` of a table in a schema.
 *
 * A relative path is relative to the folder of the schema's database file; for a schema without a
 * file (TEMP) to that of the main database; without either, to the current folder. The current
 * folder is remembered when the connection first needs it: SQLite may reconnect a table at any
 * time, and the table must not change when the program changes its folder.
 *
 * Without the option (NULL) it is the schema's database file plus "-ptable". For a database without
 * a file *path = NULL: a private store. SQLITE_NOMEM; SQLITE_CANTOPEN if the current folder is not
 * known.
 */
int pt_store_path(pt_connection *connection, const char *schema, const char *store, char **path,
                  pt_error *error);

/* Refuses a URI (file:...), which SQLite takes in place of a path and a store does not:
 * SQLITE_CANTOPEN, else SQLITE_OK. `store` may be NULL. Not part of pt_store_path, so that a table
 * with such a store can be dropped. */
int pt_store_path_check(const char *store, pt_error *error);

#endif
