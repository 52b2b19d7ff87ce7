#include "catalog/store.h"

#include <errno.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "module/store_path.h"

#define PRIVATE "(private"

char *pt_catalog_store_name(const pt_connection *connection, const pt_session *session)
{
    const char *schema = pt_connection_private_schema(connection, session);
    if (schema == NULL) {
        return sqlite3_mprintf("%s", pt_session_store(session)->path);
    }
    return sqlite3_stricmp(schema, "main") == 0 ? sqlite3_mprintf(PRIVATE ")")
                                                : sqlite3_mprintf(PRIVATE " %s)", schema);
}

/* The open private store of that name, or NULL. */
static int find_private(const pt_connection *connection, const char *name, pt_session **session,
                        pt_error *error)
{
    uint32_t number = 0;
    *session = NULL;
    for (pt_session *open;
         *session == NULL && (open = pt_connection_session_above(connection, number)) != NULL;) {
        number = pt_connection_number_of(connection, open);
        char *own = pt_catalog_store_name(connection, open);
        if (own == NULL) {
            return pt_error_nomem(error);
        }
        bool same = pt_connection_private_schema(connection, open) != NULL &&
                    sqlite3_stricmp(own, name) == 0;
        *session = same ? open : NULL;
        sqlite3_free(own);
    }
    return SQLITE_OK;
}

static int use_private(pt_connection *connection, const char *name, pt_session **session,
                       pt_error *error)
{
    pt_session *found;
    int rc = find_private(connection, name, &found, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (found == NULL) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "this connection has no store %Q open; CREATE VIRTUAL TABLE without "
                            "store= makes a private store, or name a file",
                            name);
    }
    pt_connection_use_again(connection, found);
    *session = found;
    return SQLITE_OK;
}

int pt_catalog_use_store(pt_connection *connection, const char *name, pt_session **session,
                         pt_error *error)
{
    if (strncmp(name, PRIVATE, strlen(PRIVATE)) == 0) {
        return use_private(connection, name, session, error);
    }
    char *path;
    int rc = pt_store_path(connection, "main", name, &path, error);
    if (rc == SQLITE_OK) {
        rc = pt_connection_use(connection, path, "main", false, session, error);
        sqlite3_free(path);
    }
    return rc;
}

int pt_catalog_use_default_store(pt_connection *connection, pt_session **session, pt_error *error)
{
    *session = NULL;
    char *path;
    int rc = pt_store_path(connection, "main", NULL, &path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool there = path != NULL ? access(path, F_OK) == 0 || errno != ENOENT
                              : pt_connection_find_private(connection, "main") != NULL;
    if (there) {
        rc = pt_connection_use(connection, path, "main", false, session, error);
    }
    sqlite3_free(path);
    return rc;
}

/* The names of the open stores, from sqlite3_malloc; NULL when out of memory. */
static char *list_stores(const pt_connection *connection)
{
    sqlite3_str *list = sqlite3_str_new(NULL);
    uint32_t number = 0;
    const char *joint = "";
    for (const pt_session *open;
         (open = pt_connection_session_above(connection, number)) != NULL;) {
        number = pt_connection_number_of(connection, open);
        char *name = pt_catalog_store_name(connection, open);
        if (name == NULL) {
            sqlite3_free(sqlite3_str_finish(list));
            return NULL;
        }
        sqlite3_str_appendf(list, "%s%Q", joint, name);
        sqlite3_free(name);
        joint = ", ";
    }
    if (sqlite3_str_length(list) == 0) {
        sqlite3_str_appendall(list, "none");
    }
    return sqlite3_str_finish(list);
}

int pt_catalog_ask_for_store(const pt_connection *connection, pt_error *error)
{
    char *list = list_stores(connection);
    if (list == NULL) {
        return pt_error_nomem(error);
    }
    pt_error_set(
        error, SQLITE_ERROR,
        "the main database has no store of its own yet; CREATE VIRTUAL TABLE makes it, or name "
        "another, as in Store = 'contoso.ptable'; open stores: %s",
        list);
    sqlite3_free(list);
    return error->rc;
}
