/*
 * Which file is a table's store.
 */
#ifndef PT_MODULE_STORE_PATH_H
#define PT_MODULE_STORE_PATH_H

#include "base/error.h"
#include "transaction/connection.h"

/*
 * The absolute path, from sqlite3_malloc, for the option `store` (NULL: not given) of a table in a
 * schema. A relative path starts at the folder of the schema's database file, or of the main
 * database's for a schema without a file (TEMP). If there is neither it starts at the folder that
 * was the current one when the connection first needed it: SQLite may connect a table anew at any
 * time, and it must not become another one when the program changes its folder.
 * Without the option it is the schema's file plus "-ptable", or *path = NULL for a database without
 * a file: a private store. SQLITE_NOMEM; SQLITE_CANTOPEN if the current folder is not known.
 */
int pt_store_path(pt_connection *connection, const char *schema, const char *store, char **path,
                  pt_error *error);

#endif
