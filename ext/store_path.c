#include "store_path.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int current_folder_path(const char *name, char **path, pt_error *error)
{
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) == NULL) {
        return pt_error_set(
            error, SQLITE_CANTOPEN,
            "the current folder is not known (%s), so store \"%w\" cannot be found; "
            "give an absolute path",
            strerror(errno), name);
    }
    *path = sqlite3_mprintf("%s/%s", folder, name);
    return *path != NULL ? SQLITE_OK : pt_error_nomem(error);
}

int pt_store_path(sqlite3 *db, const char *schema, const char *store, char **path, pt_error *error)
{
    const char *database = sqlite3_db_filename(db, schema);
    bool in_file = database != NULL && database[0] != 0;
    *path = NULL;
    if (store == NULL && !in_file) {
        return SQLITE_OK;
    }
    const char *slash = in_file ? strrchr(database, '/') : NULL;
    if (store == NULL) {
        *path = sqlite3_mprintf("%s-ptable", database);
    } else if (store[0] == '/') {
        *path = sqlite3_mprintf("%s", store);
    } else if (slash != NULL) {
        *path = sqlite3_mprintf("%.*s/%s", (int)(slash - database), database, store);
    } else {
        return current_folder_path(store, path, error);
    }
    return *path != NULL ? SQLITE_OK : pt_error_nomem(error);
}
