#include "module/store_path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"

static int remember_folder(pt_connection *connection, const char *store, pt_error *error)
{
    char current[PATH_MAX];
    if (getcwd(current, sizeof current) == NULL) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "the current folder is not known (%s), so store %Q cannot be found; "
                            "give an absolute path",
                            strerror(errno), store);
    }
    char *folder = sqlite3_mprintf("%s", current);
    if (folder == NULL) {
        return pt_error_nomem(error);
    }
    pt_connection_set_folder(connection, folder);
    return SQLITE_OK;
}

static int path_in_folder(pt_connection *connection, const char *store, char **path,
                          pt_error *error)
{
    if (pt_connection_folder(connection) == NULL) {
        int rc = remember_folder(connection, store, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    *path = sqlite3_mprintf("%s/%s", pt_connection_folder(connection), store);
    return *path != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* The absolute path of a schema's database file, or NULL if the database is in memory. SQLite gives
 * names also to in-memory databases of sqlite3_deserialize and file:/name?vfs=memdb. */
static const char *database_file(sqlite3 *db, const char *schema)
{
    const char *name = sqlite3_db_filename(db, schema);
    const sqlite3_vfs *vfs = NULL;
    if (name == NULL || name[0] == 0) {
        return NULL;
    }
    sqlite3_file_control(db, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    return vfs != NULL && strcmp(vfs->zName, "memdb") == 0 ? NULL : name;
}

int pt_store_path(pt_connection *connection, const char *schema, const char *store, char **path,
                  pt_error *error)
{
    sqlite3 *db = connection->db;
    const char *database = database_file(db, schema);
    *path = NULL;
    if (store == NULL && database == NULL) {
        return SQLITE_OK;
    }
    const char *beside = database != NULL ? database : database_file(db, "main");
    const char *slash = beside != NULL ? strrchr(beside, '/') : NULL;
    if (store == NULL) {
        *path = sqlite3_mprintf("%s-ptable", database);
    } else if (store[0] == '/') {
        *path = sqlite3_mprintf("%s", store);
    } else if (slash != NULL) {
        *path = sqlite3_mprintf("%.*s/%s", (int)(slash - beside), beside, store);
    } else {
        return path_in_folder(connection, store, path, error);
    }
    return *path != NULL ? SQLITE_OK : pt_error_nomem(error);
}

int pt_store_path_check(const char *store, pt_error *error)
{
    if (store == NULL || strncmp(store, "file:", strlen("file:")) != 0) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "%Q is a URI; give a path, without file: (to read only: the option "
                        "readonly=1; for a file whose name begins like this: './%q')",
                        store, store);
}
