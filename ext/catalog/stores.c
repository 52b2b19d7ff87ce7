#include "catalog/stores.h"

#include "base/ticks.h"
#include "catalog/store.h"
#include "transaction/table_directory.h"

enum {
    STORE,
    TABLES,
    ENTITIES,
    FILE_BYTES,
    USED_BYTES,
    DROPPED,
    READERS,
    OLDEST_READER,
    LAST_TRANSACTION,
    LAST_WRITE,
    ARGUMENTS
};

typedef struct stores {
    pt_tvf_cursor base;
    uint32_t number; /* of the current session */
    char *name;
    pt_store_info info;
    int64_t tables;
    int64_t entities;
} stores;

static stores *stores_of(pt_tvf_cursor *cursor)
{
    return (stores *)cursor;
}

static int begin(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    (void)error;
    stores_of(cursor)->number = 0;
    return SQLITE_OK;
}

static void end(pt_tvf_cursor *cursor)
{
    stores *self = stores_of(cursor);
    sqlite3_free(self->name);
    self->name = NULL;
}

static int count_tables(stores *self, pt_view *view, pt_error *error)
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

/* The engine is asked first, for the view that counts the tables is a reader too. */
static int describe(stores *self, pt_session *session, pt_error *error)
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

static int next(pt_tvf_cursor *cursor, pt_error *error)
{
    stores *self = stores_of(cursor);
    pt_session *session = pt_connection_session_above(cursor->connection, self->number);
    cursor->eof = session == NULL;
    if (cursor->eof) {
        return SQLITE_OK;
    }
    self->number = pt_connection_number_of(cursor->connection, session);
    return describe(self, session, error);
}

static void result_time(sqlite3_context *context, int64_t ticks)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, text);
    sqlite3_result_text(context, text, PT_DATETIME_TEXT_SIZE, SQLITE_TRANSIENT);
}

static void column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const stores *self = stores_of(cursor);
    switch (index) {
    case STORE:
        sqlite3_result_text(context, self->name, -1, SQLITE_TRANSIENT);
        break;
    case TABLES:
        sqlite3_result_int64(context, self->tables);
        break;
    case ENTITIES:
        sqlite3_result_int64(context, self->entities);
        break;
    case FILE_BYTES:
        sqlite3_result_int64(context, self->info.file_bytes);
        break;
    case USED_BYTES:
        sqlite3_result_int64(context, self->info.used_bytes);
        break;
    case DROPPED:
        sqlite3_result_int64(context, self->info.garbage);
        break;
    case READERS:
        sqlite3_result_int64(context, self->info.readers);
        break;
    case OLDEST_READER:
        if (self->info.oldest_reader != 0) {
            sqlite3_result_int64(context, self->info.version - self->info.oldest_reader);
        }
        break;
    case LAST_TRANSACTION:
        sqlite3_result_int64(context, self->info.version);
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
                   "LastTransaction INT, LastWrite TEXT)",
    .first_argument = ARGUMENTS,
    .key_column = -1,
    .cursor_size = sizeof(stores),
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
