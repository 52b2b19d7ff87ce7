#include "module/schema_search.h"

#include <stddef.h>

int pt_schema_search(sqlite3 *db, pt_schema_look *look, void *context, char **schema,
                     pt_error *error)
{
    const char *candidate = "temp";
    bool has = false;
    int rc = SQLITE_OK;
    *schema = NULL;
    for (int i = 0; rc == SQLITE_OK && !has && candidate != NULL; i++) {
        sqlite3_free(*schema);
        *schema = sqlite3_mprintf("%s", candidate);
        rc = *schema != NULL ? look(db, *schema, context, &has, error) : pt_error_nomem(error);
        candidate = sqlite3_db_name(db, i);
    }
    if (rc != SQLITE_OK || !has) {
        sqlite3_free(*schema);
        *schema = NULL;
    }
    return rc;
}
