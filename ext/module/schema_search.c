#include "module/schema_search.h"

#include <string.h>

/* The table of a name that begins with a schema's. */
static int search_qualified(sqlite3 *db, const char *name, const char *point, pt_schema_look *look,
                            void *context, pt_error *error)
{
    char *schema = sqlite3_mprintf("%.*s", (int)(point - name), name);
    if (schema == NULL) {
        return pt_error_nomem(error);
    }
    bool has = false;
    bool exists = sqlite3_db_readonly(db, schema) >= 0;
    int rc = exists ? look(context, schema, point + 1, &has, error) : SQLITE_NOTFOUND;
    sqlite3_free(schema);
    return rc;
}

int pt_schema_search(sqlite3 *db, const char *name, pt_schema_look *look, void *context,
                     pt_error *error)
{
    const char *candidate = "temp";
    const char *point = strchr(name, '.');
    bool has = false;
    int rc = SQLITE_NOTFOUND;
    for (int i = 0; rc == SQLITE_NOTFOUND && !has && candidate != NULL; i++) {
        char *schema = sqlite3_mprintf("%s", candidate);
        rc = schema != NULL ? look(context, schema, name, &has, error) : pt_error_nomem(error);
        sqlite3_free(schema);
        candidate = sqlite3_db_name(db, i);
    }
    return rc == SQLITE_NOTFOUND && point != NULL
               ? search_qualified(db, name, point, look, context, error)
               : rc;
}
