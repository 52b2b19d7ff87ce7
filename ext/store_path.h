/*
 * Which file is a table's store.
 */
#ifndef PT_STORE_PATH_H
#define PT_STORE_PATH_H

#include "error.h"
#include "sqlite.h"

/*
 * The absolute path, from sqlite3_malloc, for the option `store` (NULL: not given) of a table in a
 * schema. A relative path starts at the folder of the schema's database file, or of the main
 * database's for a schema without a file (TEMP), or at the current folder if there is neither.
 * Without the option it is the schema's file plus "-ptable", or *path = NULL for a database without
 * a file: a private store. SQLITE_NOMEM; SQLITE_CANTOPEN if the current folder is not known.
 */
int pt_store_path(sqlite3 *db, const char *schema, const char *store, char **path, pt_error *error);

#endif
