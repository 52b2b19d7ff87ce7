#include "catalog/batches.h"

#include "catalog/stores.h"
#include "transaction/pending_batches.h"
#include "transaction/table_directory.h"

enum {
    BATCHES_STORE,
    BATCHES_TABLE,
    BATCHES_PARTITION_KEY,
    BATCHES_OPERATIONS,
    BATCHES_BYTES,
    BATCHES_ARGUMENTS
};

typedef struct batches_cursor {
    pt_tvf_cursor base;
    uint32_t number; /* number of the current session */
    char *store;     /* its name */
    pt_buffer position;
    pt_pending_batch batch;
    pt_table_names names; /* names of its tables */
    bool named;           /* `names` was read, */
    uint64_t changes;     /* at this value of pt_session_catalog_changes */
    const char *table;    /* name of the batch's table */
} batches_cursor;

static batches_cursor *batches_of(pt_tvf_cursor *cursor)
{
    return (batches_cursor *)cursor;
}

static int begin_batches(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    (void)error;
    batches_of(cursor)->number = 0;
    return SQLITE_OK;
}

static void end_batches(pt_tvf_cursor *cursor)
{
    batches_cursor *self = batches_of(cursor);
    sqlite3_free(self->store);
    self->store = NULL;
    pt_buffer_free(&self->position);
    pt_table_names_free(&self->names);
}

/* Moves to the next session, or sets eof. */
static int next_session(batches_cursor *self, pt_error *error)
{
    const pt_session *session = pt_connection_session_above(self->base.connection, self->number);
    self->base.eof = session == NULL;
    if (session == NULL) {
        return SQLITE_OK;
    }
    self->number = pt_connection_number_of(self->base.connection, session);
    pt_buffer_clear(&self->position);
    self->named = false;
    sqlite3_free(self->store);
    self->store = pt_catalog_store_name(self->base.connection, session);
    return self->store != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* SQLITE_NOTFOUND if the transaction has dropped the batch's table. */
static int find_batch_table(batches_cursor *self, pt_session *session, pt_error *error)
{
    uint64_t changes = pt_session_catalog_changes(session);
    if (!self->named || self->changes != changes) {
        pt_view *view = NULL;
        pt_table_names_clear(&self->names);
        int rc = pt_session_read(session, &view, error);
        if (rc == SQLITE_OK) {
            rc = pt_table_names_add_all(&self->names, view, error);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
        self->named = true;
        self->changes = changes;
    }
    self->table = pt_table_names_find(&self->names, self->batch.table_id);
    return self->table != NULL ? SQLITE_OK : SQLITE_NOTFOUND;
}

/* Moves to the next batch of the current session. *found says if there is one. */
static int next_in_session(batches_cursor *self, pt_session *session, bool *found, pt_error *error)
{
    pt_memtable *memtable = session != NULL ? pt_session_memtable(session) : NULL;
    *found = false;
    while (memtable != NULL) {
        pt_shape_source shapes = pt_dictionary_source(pt_session_store(session)->dictionary);
        int rc = pt_pending_batches_next(memtable, &shapes, &self->position, &self->batch);
        if (rc == SQLITE_NOMEM) {
            return pt_error_nomem(error);
        }
        if (rc == SQLITE_DONE) {
            return SQLITE_OK;
        }
        rc = find_batch_table(self, session, error);
        *found = rc == SQLITE_OK;
        if (rc != SQLITE_NOTFOUND) {
            return rc;
        }
    }
    return SQLITE_OK;
}

static int next_batch(pt_tvf_cursor *cursor, pt_error *error)
{
    batches_cursor *self = batches_of(cursor);
    for (;;) {
        bool found;
        pt_session *session = pt_connection_session_of(cursor->connection, self->number);
        int rc = next_in_session(self, session, &found, error);
        if (rc == SQLITE_OK && !found) {
            rc = next_session(self, error);
        }
        if (rc != SQLITE_OK || found || cursor->eof) {
            return rc;
        }
    }
}

static void batch_column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const batches_cursor *self = batches_of(cursor);
    switch (index) {
    case BATCHES_STORE:
        sqlite3_result_text(context, self->store, -1, SQLITE_TRANSIENT);
        break;
    case BATCHES_TABLE:
        sqlite3_result_text(context, self->table, -1, SQLITE_TRANSIENT);
        break;
    case BATCHES_PARTITION_KEY:
        pt_tvf_result_text(context, self->batch.partition_key);
        break;
    case BATCHES_OPERATIONS:
        sqlite3_result_int64(context, (sqlite3_int64)self->batch.operations);
        break;
    default:
        sqlite3_result_int64(context, (sqlite3_int64)self->batch.bytes);
        break;
    }
}

const pt_tvf pt_tvf_batches = {
    .name = "pt_batches",
    .declaration = "CREATE TABLE x(Store TEXT, TableName TEXT COLLATE NOCASE, PartitionKey TEXT, "
                   "Operations INT, Bytes INT)",
    .first_argument = BATCHES_ARGUMENTS,
    .key_column = -1,
    .cursor_size = sizeof(batches_cursor),
    .begin = begin_batches,
    .next = next_batch,
    .column = batch_column,
    .end = end_batches,
};
