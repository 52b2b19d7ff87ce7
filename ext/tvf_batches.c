#include "tvf_batches.h"

#include "arena.h"
#include "catalog_store.h"
#include "pending_batches.h"
#include "table_directory.h"

enum { STORE, TABLE, PARTITION_KEY, OPERATIONS, BYTES, ARGUMENTS };

/* Texts lie in the cursor's arena. */
typedef struct batch_row {
    const char *store;
    const char *table;
    pt_slice partition_key;
    int64_t operations;
    int64_t bytes;
    struct batch_row *next;
} batch_row;

/* The rows are made at once, for the operations may change while they are read. */
typedef struct batches {
    pt_tvf_cursor base;
    pt_arena arena;
    batch_row *first;
    batch_row **end; /* where the next row goes */
    batch_row *current;
    pt_buffer name;
} batches;

static batches *batches_of(pt_tvf_cursor *cursor)
{
    return (batches *)cursor;
}

static const char *copy_text(batches *self, const char *text)
{
    return (const char *)pt_arena_copy(&self->arena, pt_slice_text(text)).data;
}

static int add_row(batches *self, const char *store, const char *table,
                   const pt_pending_batch *batch, pt_error *error)
{
    batch_row *row = pt_arena_alloc(&self->arena, sizeof *row);
    pt_slice partition_key = pt_arena_copy(&self->arena, batch->partition_key);
    if (row == NULL || partition_key.data == NULL) {
        return pt_error_nomem(error);
    }
    *row = (batch_row){.store = store,
                       .table = table,
                       .partition_key = partition_key,
                       .operations = batch->operations,
                       .bytes = batch->bytes};
    *self->end = row;
    self->end = &row->next;
    return SQLITE_OK;
}

/* *table = NULL if the transaction has dropped it. */
static int find_table(batches *self, pt_view *view, uint32_t id, const char **table,
                      pt_error *error)
{
    *table = NULL;
    int rc = pt_table_directory_name_of(view, id, &self->name, error);
    if (rc == SQLITE_OK) {
        *table = copy_text(self, (const char *)self->name.data);
        rc = *table != NULL ? SQLITE_OK : pt_error_nomem(error);
    }
    return rc == SQLITE_NOTFOUND ? SQLITE_OK : rc;
}

static int add_batches(batches *self, const char *store, pt_view *view, pt_error *error)
{
    pt_pending_batches walk;
    if (pt_pending_batches_begin(&walk, view->memtable) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    uint32_t table_id = 0;
    const char *table = NULL;
    for (pt_pending_batch batch; rc == SQLITE_OK && pt_pending_batches_next(&walk, &batch);) {
        if (batch.table_id != table_id) {
            table_id = batch.table_id;
            rc = find_table(self, view, table_id, &table, error);
        }
        if (rc == SQLITE_OK && table != NULL) {
            rc = add_row(self, store, table, &batch, error);
        }
    }
    return rc;
}

static int add_session(batches *self, pt_session *session, pt_error *error)
{
    pt_buffer_clear(&self->name);
    char *name = pt_catalog_store_name(self->base.connection, session);
    const char *store = name != NULL ? copy_text(self, name) : NULL;
    sqlite3_free(name);
    if (store == NULL) {
        return pt_error_nomem(error);
    }
    pt_view *view = NULL;
    int rc = pt_session_read(session, &view, error);
    return rc == SQLITE_OK ? add_batches(self, store, view, error) : rc;
}

static int begin(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    batches *self = batches_of(cursor);
    int rc = SQLITE_OK;
    uint32_t number = 0;
    self->end = &self->first;
    for (pt_session *session; rc == SQLITE_OK && (session = pt_connection_session_above(
                                                      cursor->connection, number)) != NULL;) {
        number = pt_connection_number_of(cursor->connection, session);
        if (pt_session_has_pending(session)) {
            rc = add_session(self, session, error);
        }
    }
    return rc;
}

static void end(pt_tvf_cursor *cursor)
{
    batches *self = batches_of(cursor);
    pt_arena_free(&self->arena);
    pt_buffer_free(&self->name);
    self->first = NULL;
    self->current = NULL;
}

static int next(pt_tvf_cursor *cursor, pt_error *error)
{
    (void)error;
    batches *self = batches_of(cursor);
    self->current = self->current != NULL ? self->current->next : self->first;
    cursor->eof = self->current == NULL;
    return SQLITE_OK;
}

static void column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const batch_row *row = batches_of(cursor)->current;
    switch (index) {
    case STORE:
        sqlite3_result_text(context, row->store, -1, SQLITE_TRANSIENT);
        break;
    case TABLE:
        sqlite3_result_text(context, row->table, -1, SQLITE_TRANSIENT);
        break;
    case PARTITION_KEY:
        sqlite3_result_text64(context, (const char *)row->partition_key.data,
                              row->partition_key.size, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    case OPERATIONS:
        sqlite3_result_int64(context, row->operations);
        break;
    default:
        sqlite3_result_int64(context, row->bytes);
        break;
    }
}

const pt_tvf pt_tvf_batches = {
    .name = "pt_batches",
    .declaration = "CREATE TABLE x(Store TEXT, TableName TEXT COLLATE NOCASE, PartitionKey TEXT, "
                   "Operations INT, Bytes INT)",
    .first_argument = ARGUMENTS,
    .key_column = -1,
    .cursor_size = sizeof(batches),
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
