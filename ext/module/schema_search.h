/*
 * Which schema a table's name means to SQLite where none is written before it.
 */
#ifndef PT_MODULE_SCHEMA_SEARCH_H
#define PT_MODULE_SCHEMA_SEARCH_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sqlite.h"

/* Whether a schema has it. The context is the caller's. SQLITE_OK, or what ends the search. */
typedef int pt_schema_look(sqlite3 *db, const char *schema, void *context, bool *has,
                           pt_error *error);

/*
 * temp, main, or the first attached database that has it. *schema = NULL: none, or an error. It is
 * a copy, for sqlite3_free: what an application does when it hears of our statements may detach the
 * database. SQLITE_NOMEM, and what `look` answers.
 */
int pt_schema_search(sqlite3 *db, pt_schema_look *look, void *context, char **schema,
                     pt_error *error);

#endif
