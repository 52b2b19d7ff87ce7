#include "transaction/store_name.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sqlite.h"

static bool is_regular_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* SQLite overwrites and deletes files with such endings, but only next to a database of that name.
 */
static int refuse_next_to_database(const char *path, const char *ending, pt_error *error)
{
    char *database = sqlite3_mprintf("%.*s", (int)(ending - path), path);
    if (database == NULL) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    if (is_regular_file(database)) {
        rc = pt_error_set(error, SQLITE_CANTOPEN,
                          "a store cannot be named %Q: SQLite gives a file of the database %Q this "
                          "name; choose another",
                          path, database);
    }
    sqlite3_free(database);
    return rc;
}

int pt_store_name_check(const char *path, pt_error *error)
{
    const char *ending = strrchr(path, '-');
    if (ending == NULL) {
        return SQLITE_OK;
    }
    /* LMDB would take it for the lock file of the store without the ending, and overwrite it. */
    if (strcmp(ending, "-lock") == 0) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "a store cannot be named %Q: names that end in -lock are those of "
                            "lock files; choose another",
                            path);
    }
    bool reserved = strcmp(ending, "-journal") == 0 || strcmp(ending, "-wal") == 0 ||
                    strcmp(ending, "-shm") == 0;
    return reserved ? refuse_next_to_database(path, ending, error) : SQLITE_OK;
}
