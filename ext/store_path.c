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
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "the current folder is not known (%s), so store %Q cannot be found; "
                            "give an absolute path",
                            strerror(errno), name);
    }
    *path = sqlite3_mprintf("%s/%s", folder, name);
    return *path != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* LMDB would take the file for the lock file of the store without the ending, and overwrite it. */
static bool ends_like_a_lock_file(const char *name)
{
    static const char ending[] = "-lock";
    size_t size = strlen(name);
    return size >= strlen(ending) && strcmp(name + size - strlen(ending), ending) == 0;
}

/* The absolute path of a schema's database file, or NULL if it is in memory: also one that
 * sqlite3_deserialize has filled or file:/name?vfs=memdb has opened, which SQLite gives names. */
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

int pt_store_path(sqlite3 *db, const char *schema, const char *store, char **path, pt_error *error)
{
    const char *database = database_file(db, schema);
    bool in_file = database != NULL;
    *path = NULL;
    if (store == NULL && !in_file) {
        return SQLITE_OK;
    }
    if (store != NULL && ends_like_a_lock_file(store)) {
        return pt_error_set(
            error, SQLITE_CANTOPEN,
            "a store cannot be named %Q: names that end in -lock are those of lock files; "
            "choose another",
            store);
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
