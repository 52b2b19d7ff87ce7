/*
 * Finds the schema of an unqualified table name, in SQLite's order.
 */
#ifndef PT_MODULE_SCHEMA_SEARCH_H
#define PT_MODULE_SCHEMA_SEARCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sqlite.h"

/* *has = true if the schema has the table. Any other code than SQLITE_OK ends the search. */
typedef int pt_schema_look(sqlite3 *db, const char *schema, void *context, bool *has,
                           pt_error *error);

/*
 * Calls `look` for temp, main and the attached databases. *schema is the first that has the table,
 * from sqlite3_malloc; NULL if none has it, or on an error. It is a copy, because callbacks of the
 * application may detach the database while `look` runs statements. SQLITE_OK, SQLITE_NOMEM, or the
 * code of `look`.
 */
int pt_schema_search(sqlite3 *db, pt_schema_look *look, void *context, char **schema,
                     pt_error *error);

#endif
