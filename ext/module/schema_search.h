/*
 * Finds a table by its name, with or without a schema, in SQLite's order.
 */
#ifndef PT_MODULE_SCHEMA_SEARCH_H
#define PT_MODULE_SCHEMA_SEARCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sqlite.h"

/*
 * Looks for a table in a schema, and uses it. SQLITE_NOTFOUND, without a text, if it is not there
 * or is of the wrong kind; *has = true in the second case, which ends the search by this name. Any
 * other code ends the whole search.
 */
typedef int pt_schema_look(void *context, const char *schema, const char *name, bool *has,
                           pt_error *error);

/*
 * Calls `look` for temp, main and the attached databases, and then, if the name is "schema.table"
 * and there is such a schema, for that. Each schema's name is a copy, because callbacks of the
 * application may detach the database while `look` runs statements. The last result of `look`,
 * SQLITE_NOTFOUND if there was none, or SQLITE_NOMEM.
 */
int pt_schema_search(sqlite3 *db, const char *name, pt_schema_look *look, void *context,
                     pt_error *error);

#endif
