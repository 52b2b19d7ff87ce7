#include "catalog/stores.h"

#include <errno.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "base/ticks.h"
#include "module/store_path.h"
#include "transaction/table_directory.h"

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

/* Finds the open private store of that name, or NULL. */
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
                            "this connection has no open store %Q; CREATE VIRTUAL TABLE without "
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
    if (name == NULL) {
        int rc = pt_catalog_use_default_store(connection, session, error);
        return rc == SQLITE_OK && *session == NULL ? pt_catalog_ask_for_store(connection, error)
                                                   : rc;
    }
    if (strncmp(name, PRIVATE, strlen(PRIVATE)) == 0) {
        return use_private(connection, name, session, error);
    }
    char *path;
    int rc = pt_store_path_check(name, error);
    if (rc == SQLITE_OK) {
        rc = pt_store_path(connection, "main", name, &path, error);
    }
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

/* The names of the open stores, from sqlite3_malloc. NULL when out of memory. */
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

/* --- pt_stores --- */

enum {
    STORES_STORE,
    STORES_TABLES,
    STORES_ENTITIES,
    STORES_FILE_BYTES,
    STORES_USED_BYTES,
    STORES_DROPPED,
    STORES_READERS,
    STORES_OLDEST_READER,
    STORES_LAST_TRANSACTION,
    STORES_LAST_WRITE,
    STORES_LOGGED,
    STORES_ARGUMENTS
};

typedef struct stores_cursor {
    pt_tvf_cursor base;
    uint32_t number; /* number of the current session */
    char *name;
    pt_store_info info;
    int64_t tables;
    int64_t entities;
} stores_cursor;

static stores_cursor *stores_of(pt_tvf_cursor *cursor)
{
    return (stores_cursor *)cursor;
}

static int begin_stores(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    (void)error;
    stores_of(cursor)->number = 0;
    return SQLITE_OK;
}

static void end_stores(pt_tvf_cursor *cursor)
{
    stores_cursor *self = stores_of(cursor);
    sqlite3_free(self->name);
    self->name = NULL;
}

static int count_tables(stores_cursor *self, pt_view *view, pt_error *error)
{
    pt_table_walk walk = {0};
    pt_table_entry entry;
    bool found = true;
    self->tables = 0;
    self->entities = 0;
    int rc = pt_table_walk_open(&walk, view, (pt_slice){0}, error);
    while (rc == SQLITE_OK && found) {
        pt_table_counts counts = {0};
        rc = pt_table_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found) {
            rc = pt_table_counts_of(view, entry.id, &counts, error);
            self->tables++;
            self->entities = pt_add_counts(self->entities, counts.entities);
        }
    }
    pt_table_walk_close(&walk);
    return rc;
}

/* Asks the engine first, because the view that counts the tables is a reader too. */
static int read_store(stores_cursor *self, pt_session *session, pt_error *error)
{
    pt_store *store = pt_session_store(session);
    pt_view *view = NULL;
    sqlite3_free(self->name);
    self->name = pt_catalog_store_name(self->base.connection, session);
    if (self->name == NULL) {
        return pt_error_nomem(error);
    }
    int rc = store->engine->info(store, &self->info, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = count_tables(self, view, error);
    }
    pt_session_end_read(session);
    return rc;
}

static int next_store(pt_tvf_cursor *cursor, pt_error *error)
{
    stores_cursor *self = stores_of(cursor);
    pt_session *session = pt_connection_session_above(cursor->connection, self->number);
    cursor->eof = session == NULL;
    if (cursor->eof) {
        return SQLITE_OK;
    }
    self->number = pt_connection_number_of(cursor->connection, session);
    return read_store(self, session, error);
}

static void result_time(sqlite3_context *context, int64_t ticks)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, text);
    sqlite3_result_text(context, text, PT_DATETIME_TEXT_SIZE, SQLITE_TRANSIENT);
}

static void store_column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const stores_cursor *self = stores_of(cursor);
    switch (index) {
    case STORES_STORE:
        sqlite3_result_text(context, self->name, -1, SQLITE_TRANSIENT);
        break;
    case STORES_TABLES:
        sqlite3_result_int64(context, self->tables);
        break;
    case STORES_ENTITIES:
        sqlite3_result_int64(context, self->entities);
        break;
    case STORES_FILE_BYTES:
        sqlite3_result_int64(context, self->info.file_bytes);
        break;
    case STORES_USED_BYTES:
        sqlite3_result_int64(context, self->info.used_bytes);
        break;
    case STORES_DROPPED:
        sqlite3_result_int64(context, self->info.garbage);
        break;
    case STORES_READERS:
        sqlite3_result_int64(context, self->info.readers);
        break;
    case STORES_OLDEST_READER:
        if (self->info.oldest_reader != 0) {
            sqlite3_result_int64(context, self->info.version - self->info.oldest_reader);
        }
        break;
    case STORES_LAST_TRANSACTION:
        sqlite3_result_int64(context, self->info.version);
        break;
    case STORES_LOGGED:
        sqlite3_result_int64(context, self->info.logged);
        break;
    default:
        result_time(context, self->info.clock);
        break;
    }
}

const pt_tvf pt_tvf_stores = {
    .name = "pt_stores",
    .declaration = "CREATE TABLE x(Store TEXT, Tables INT, Entities INT, FileBytes INT, "
                   "UsedBytes INT, Dropped INT, Readers INT, OldestReader INT, "
                   "LastTransaction INT, LastWrite TEXT COLLATE " PT_TICKS_COLLATION ", "
                   "Logged INT)",
    .first_argument = STORES_ARGUMENTS,
    .key_column = -1,
    .cursor_size = sizeof(stores_cursor),
    .begin = begin_stores,
    .next = next_store,
    .column = store_column,
    .end = end_stores,
};
