#include "catalog/partitions.h"

#include "catalog/tables_source.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "query/ranges.h"
#include "transaction/batch_rules.h"
#include "transaction/large_value.h"

enum {
    PARTITIONS_STORE,
    PARTITIONS_TABLE,
    PARTITIONS_PARTITION_KEY,
    PARTITIONS_ENTITIES,
    PARTITIONS_BYTES,
    PARTITIONS_FIRST_ROW_KEY,
    PARTITIONS_LAST_ROW_KEY,
    PARTITIONS_ARGUMENTS,
    PARTITIONS_KEY = PARTITIONS_ARGUMENTS + 2 /* the primary key */
};

typedef struct partitions_cursor {
    pt_tvf_cursor base;
    pt_catalog_source source;
    pt_ranges ranges;
    pt_range_walk walk; /* stands after the current partition */
    pt_buffer key;      /* PartitionKey and PT_KEY_PARTITION_START */
    pt_buffer end;      /* PartitionKey and PT_KEY_PARTITION_END */
    pt_buffer id;       /* the primary key */
    bool counted;       /* the partition was read, and all below is known */
    int64_t entities;
    int64_t bytes;
    pt_buffer first_row;
    pt_buffer last_row;
    uint16_t small_shape; /* id of a shape without large values; 0: none known */
} partitions_cursor;

static partitions_cursor *partitions_of(pt_tvf_cursor *cursor)
{
    return (partitions_cursor *)cursor;
}

static int begin_partitions(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    partitions_cursor *self = partitions_of(cursor);
    bool descending = (keys->plan & PT_PLAN_DESCENDING) != 0;
    pt_range_walk_begin(&self->walk, descending ? PT_BACKWARD : PT_FORWARD);
    self->small_shape = 0;
    int rc = pt_ranges_set(&self->ranges, keys->plan, keys->argc, keys->argv, error);
    if (rc == SQLITE_OK) {
        rc = pt_catalog_source_open(&self->source, cursor, error);
    }
    cursor->eof = rc == SQLITE_NOTFOUND;
    return cursor->eof ? SQLITE_OK : rc;
}

static void end_partitions(pt_tvf_cursor *cursor)
{
    partitions_cursor *self = partitions_of(cursor);
    pt_catalog_source_close(&self->source);
    pt_ranges_free(&self->ranges);
    pt_range_walk_free(&self->walk);
    pt_buffer_free(&self->key);
    pt_buffer_free(&self->end);
    pt_buffer_free(&self->id);
    pt_buffer_free(&self->first_row);
    pt_buffer_free(&self->last_row);
}

/* --- The next partition --- */

/* Splits the key at the scan's position. */
static int split_current_key(const partitions_cursor *self, pt_slice *partition, pt_slice *row,
                             pt_error *error)
{
    if (pt_key_split(pt_key_entity(self->source.scan.key), partition, row)) {
        return SQLITE_OK;
    }
    return pt_report_damage(self->source.scan.key, error);
}

/* Moves the scan to an entity of the next partition, or sets eof. Conditions are on PartitionKey
 * only, so every range consists of whole partitions, and none is a PT_RANGE_PROBE. */
static int find_partition(partitions_cursor *self, pt_error *error)
{
    for (;;) {
        pt_interval range;
        pt_ranges_step step = pt_range_walk_next(&self->walk, &self->ranges, &range);
        if (step == PT_RANGE_NOMEM) {
            return pt_error_nomem(error);
        }
        self->base.eof = step == PT_RANGE_END;
        if (self->base.eof) {
            return SQLITE_OK;
        }
        int rc = pt_catalog_source_seek(&self->source, range.low, range.high, range.bounded,
                                        self->walk.direction, error);
        if (rc != SQLITE_OK || self->source.scan.valid) {
            return rc;
        }
        if (!pt_range_walk_leave(&self->walk, &range)) {
            return pt_error_nomem(error);
        }
        self->base.eof = self->walk.at_end;
        if (self->base.eof) {
            return SQLITE_OK;
        }
        rc = pt_view_step(self->source.scan.view, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
}

/* --- Its entities --- */

/* Adds the sizes of the large values of the current record. Most shapes have none; remembering one
 * of these saves decoding the record. */
static int add_large_value_bytes(partitions_cursor *self, pt_error *error)
{
    uint16_t shape_id = pt_catalog_source_shape(&self->source);
    if (shape_id != 0 && shape_id == self->small_shape) {
        return SQLITE_OK;
    }
    pt_record record;
    int rc = pt_catalog_source_record(&self->source, &record, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool small = true;
    for (unsigned i = 0; i < record.shape->count; i++) {
        pt_value value;
        if (!pt_type_is_large((pt_type)record.shape->properties[i].type)) {
            continue;
        }
        small = false;
        if (pt_record_value(&record, i, &value) == SQLITE_OK) {
            self->bytes = pt_add_counts(self->bytes, (int64_t)value.large.size);
        }
    }
    self->small_shape = small ? shape_id : 0;
    return SQLITE_OK;
}

static int add_entity(partitions_cursor *self, pt_error *error)
{
    pt_slice partition;
    pt_slice row = {0};
    int rc = split_current_key(self, &partition, &row, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_buffer *key = self->entities == 0 ? &self->first_row : &self->last_row;
    if (!pt_buffer_assign(key, row)) {
        return pt_error_nomem(error);
    }
    self->entities++;
    self->bytes += (int64_t)(self->source.scan.key.size + self->source.scan.record.size);
    return add_large_value_bytes(self, error);
}

/* Makes a bound of the partition's keys: those begin with the PartitionKey and 00. */
static bool set_partition_bound(pt_buffer *key, pt_slice partition, uint8_t last)
{
    pt_buffer_assign(key, partition);
    pt_buffer_append_byte(key, last);
    return !key->failed;
}

/* Begins the partition at the scan's position. The walk goes on after it. */
static int begin_partition(partitions_cursor *self, pt_error *error)
{
    pt_slice partition;
    pt_slice row;
    self->counted = false;
    int rc = split_current_key(self, &partition, &row, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool done = set_partition_bound(&self->key, partition, PT_KEY_PARTITION_START) &&
                set_partition_bound(&self->end, partition, PT_KEY_PARTITION_END) &&
                pt_range_walk_pass(&self->walk, partition);
    return done ? SQLITE_OK : pt_error_nomem(error);
}

static int next_partition(pt_tvf_cursor *cursor, pt_error *error)
{
    partitions_cursor *self = partitions_of(cursor);
    int rc = find_partition(self, error);
    return rc == SQLITE_OK && !cursor->eof ? begin_partition(self, error) : rc;
}

/* --- Columns --- */

/* Reads all entities of the partition. */
static int count_partition(partitions_cursor *self, pt_error *error)
{
    self->entities = 0;
    self->bytes = 0;
    int rc = pt_catalog_source_seek(&self->source, pt_buffer_slice(&self->key),
                                    pt_buffer_slice(&self->end), true, PT_FORWARD, error);
    while (rc == SQLITE_OK && self->source.scan.valid) {
        rc = add_entity(self, error);
        rc = rc == SQLITE_OK ? pt_view_step(self->source.scan.view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&self->source.scan, error) : rc;
    }
    self->counted = rc == SQLITE_OK;
    return rc;
}

/*
 * --- The primary key ---
 *
 * be32(number of the session), name of the table, 00, PartitionKey. It is there for xUpdate.
 */

static int make_id(partitions_cursor *self, pt_error *error)
{
    uint8_t number[sizeof(uint32_t)];
    pt_put_be32(number, pt_connection_number_of(self->base.connection, self->source.session));
    pt_buffer_assign(&self->id, pt_slice_of(number, sizeof number));
    pt_buffer_append(&self->id, self->source.table, strlen(self->source.table) + 1);
    pt_buffer_append(&self->id, self->key.data, self->key.size - 1);
    return self->id.failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* Most queries need no more than the keys. */
static int load_column(pt_tvf_cursor *cursor, int column, pt_error *error)
{
    partitions_cursor *self = partitions_of(cursor);
    if (column == PARTITIONS_KEY) {
        return make_id(self, error);
    }
    return column >= PARTITIONS_ENTITIES && !self->counted ? count_partition(self, error)
                                                           : SQLITE_OK;
}

static void partition_column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const partitions_cursor *self = partitions_of(cursor);
    const pt_buffer *last = self->entities > 1 ? &self->last_row : &self->first_row;
    switch (index) {
    case PARTITIONS_STORE:
        sqlite3_result_text(context, self->source.store, -1, SQLITE_TRANSIENT);
        break;
    case PARTITIONS_TABLE:
        sqlite3_result_text(context, self->source.table, -1, SQLITE_TRANSIENT);
        break;
    case PARTITIONS_PARTITION_KEY:
        pt_tvf_result_text(context, pt_slice_of(self->key.data, self->key.size - 1));
        break;
    case PARTITIONS_ENTITIES:
        sqlite3_result_int64(context, self->entities);
        break;
    case PARTITIONS_BYTES:
        sqlite3_result_int64(context, self->bytes);
        break;
    case PARTITIONS_FIRST_ROW_KEY:
        pt_tvf_result_text(context, pt_buffer_slice(&self->first_row));
        break;
    case PARTITIONS_LAST_ROW_KEY:
        pt_tvf_result_text(context, pt_buffer_slice(last));
        break;
    default:
        sqlite3_result_blob64(context, self->id.data, self->id.size, SQLITE_TRANSIENT);
        break;
    }
}

/*
 * --- DELETE ---
 *
 * Deletes the entities one by one, as DELETE from their table would, but in one loop over the
 * records.
 */

typedef struct partitions_writer {
    pt_declared_tables declared;
    /* Reads what the statement began with, so that its own deletions are not merged into what it
     * has still to delete. Open while the memtable has this version. */
    pt_scan scan;
    uint64_t version;
    pt_index_writer indexes; /* of this table of this session */
    pt_session *indexes_of;
    uint32_t indexed_table;
} partitions_writer;

/* A partition to be deleted. */
typedef struct doomed_partition {
    partitions_writer *writer;
    pt_session *session;
    pt_view *view;
    uint32_t table_id;
    pt_slice partition_key;
    bool in_batch;
    bool may_be_large; /* its entities may have large values */
    pt_buffer gone;    /* the large values of one entity */
} doomed_partition;

/* Returns the table's name, which points into the value, like the PartitionKey. */
static const char *read_id(sqlite3_value *id, uint32_t *number, pt_slice *partition_key)
{
    pt_slice bytes = pt_slice_of(sqlite3_value_blob(id), (size_t)sqlite3_value_bytes(id));
    const char *table = (const char *)bytes.data + sizeof *number;
    const uint8_t *key = bytes.data + sizeof *number + strlen(table) + 1;
    *number = pt_get_be32(bytes.data);
    *partition_key = pt_slice_of(key, (size_t)(bytes.data + bytes.size - key));
    return table;
}

/* Opens the scan, unless it is open already and the memtable has not changed since. */
static int open_doomed_scan(const doomed_partition *doomed, pt_error *error)
{
    partitions_writer *writer = doomed->writer;
    int rc = SQLITE_OK;
    if (writer->scan.view != doomed->view ||
        writer->version != pt_memtable_version(doomed->view->memtable)) {
        rc = pt_scan_open(&writer->scan, doomed->view, error);
        if (rc == SQLITE_OK) {
            pt_scan_freeze(&writer->scan);
        }
    }
    return rc;
}

static int seek_doomed_partition(const doomed_partition *doomed, pt_error *error)
{
    pt_buffer low = {0};
    pt_buffer high = {0};
    pt_key_bound_partition(&low, doomed->table_id, doomed->partition_key, PT_KEY_PARTITION_START);
    pt_key_bound_partition(&high, doomed->table_id, doomed->partition_key, PT_KEY_PARTITION_END);
    int rc = low.failed || high.failed ? pt_error_nomem(error)
                                       : pt_scan_seek(&doomed->writer->scan, pt_buffer_slice(&low),
                                                      pt_buffer_slice(&high), PT_FORWARD, error);
    pt_buffer_free(&low);
    pt_buffer_free(&high);
    return rc;
}

/* Removes the entries that the entity of a key has in indexes. */
static int remove_entries(pt_index_writer *indexes, uint32_t table_id, pt_slice key,
                          pt_error *error)
{
    pt_index_writer_begin(indexes, table_id);
    int rc = pt_index_writer_lose(indexes, key, error);
    return rc == SQLITE_OK ? pt_index_writer_remove(indexes, error) : rc;
}

static int remove_current(doomed_partition *doomed, pt_error *error)
{
    const pt_scan *scan = &doomed->writer->scan;
    pt_session *session = doomed->session;
    int rc = SQLITE_OK;
    if (doomed->in_batch) {
        const pt_connection *connection = doomed->writer->declared.connection;
        rc = pt_batch_rules_check(connection, session, scan->key, scan->key.size, error);
    }
    if (rc == SQLITE_OK && doomed->may_be_large) {
        pt_buffer_clear(&doomed->gone);
        rc = pt_large_fields_find_in(session, scan->key, scan->record, NULL, &doomed->gone, error);
    }
    if (rc == SQLITE_OK && !pt_index_list_is_empty(&doomed->writer->indexes.list)) {
        rc = remove_entries(&doomed->writer->indexes, doomed->table_id, scan->key, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_remove(session, scan->key, error);
    }
    return rc == SQLITE_OK && doomed->gone.size != 0
               ? pt_large_fields_remove(session, doomed->table_id, &doomed->gone, error)
               : rc;
}

static int remove_entities(doomed_partition *doomed, pt_error *error)
{
    pt_scan *scan = &doomed->writer->scan;
    int rc = open_doomed_scan(doomed, error);
    if (rc == SQLITE_OK) {
        rc = seek_doomed_partition(doomed, error);
    }
    while (rc == SQLITE_OK && scan->valid) {
        rc = remove_current(doomed, error);
        rc = rc == SQLITE_OK ? pt_view_step(doomed->view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(scan, error) : rc;
    }
    doomed->writer->version = pt_memtable_version(doomed->view->memtable);
    return rc;
}

/* Loads the indexes of the table. One transaction may delete partitions of several. */
static int load_indexes(const doomed_partition *doomed, const char *table, pt_error *error)
{
    partitions_writer *writer = doomed->writer;
    if (writer->indexes_of != doomed->session || writer->indexed_table != doomed->table_id) {
        pt_index_writer_free(&writer->indexes);
        writer->indexes_of = doomed->session;
        writer->indexed_table = doomed->table_id;
    }
    return pt_index_writer_load(&writer->indexes, doomed->session, table, error);
}

/* All or nothing: SQLite opens no savepoint around a single row. */
static int remove_all_or_none(doomed_partition *doomed, const char *table, pt_error *error)
{
    size_t row = pt_session_begin_row(doomed->session);
    int rc =
        pt_large_values_possible(doomed->session, doomed->table_id, &doomed->may_be_large, error);
    if (rc == SQLITE_OK) {
        rc = load_indexes(doomed, table, error);
    }
    if (rc == SQLITE_OK) {
        rc = remove_entities(doomed, error);
    }
    if (rc == SQLITE_OK) {
        pt_session_end_row(doomed->session);
    } else {
        pt_session_discard_row(doomed->session, row);
    }
    pt_buffer_free(&doomed->gone);
    return rc;
}

/* As a DELETE from the declared tables would do it. */
static int remove_as_declared(doomed_partition *doomed, const char *table, pt_error *error)
{
    pt_connection *connection = doomed->writer->declared.connection;
    pt_declaration said = pt_declared_tables_ask(&doomed->writer->declared, doomed->session, table);
    int rc = pt_declaration_check_writable(&said, "to delete from it", error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    doomed->in_batch = said.azure_batch || pt_batch_rules_apply(connection);
    pt_session_require_sync(doomed->session, said.sync);
    rc = remove_all_or_none(doomed, table, error);
    if (rc == SQLITE_OK && said.azure_batch) {
        pt_batch_rules_begin(connection, doomed->session);
    }
    return rc;
}

/* It is not an error if the table was dropped since the row was read. */
static int delete_partition(partitions_writer *writer, sqlite3_value *id, pt_error *error)
{
    uint32_t number;
    pt_table_entry entry = {0};
    doomed_partition doomed = {.writer = writer};
    const char *table = read_id(id, &number, &doomed.partition_key);
    doomed.session = pt_connection_session_of(writer->declared.connection, number);
    int rc = pt_session_begin(doomed.session, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(doomed.session, &doomed.view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(doomed.view, table, &entry, error);
    }
    if (rc == SQLITE_OK) {
        doomed.table_id = entry.id;
        rc = remove_as_declared(&doomed, table, error);
    }
    return rc == SQLITE_NOTFOUND ? SQLITE_OK : rc;
}

static int update_partitions(const pt_follower *follower, void *shared, int argc,
                             sqlite3_value **argv, pt_error *error)
{
    partitions_writer *writer = shared;
    if (argc != 1) {
        return pt_error_set(error, SQLITE_ERROR,
                            "INSERT and UPDATE cannot change a partition; DELETE deletes its "
                            "entities, and a ptable writes them");
    }
    writer->declared.connection = follower->connection;
    int rc = pt_declared_tables_connect(&writer->declared, error);
    if (rc == SQLITE_OK && !follower->joined) {
        rc = pt_session_refuse_rolled_back(error);
    }
    return rc == SQLITE_OK ? delete_partition(writer, argv[0], error) : rc;
}

static void transaction_is_over(void *shared)
{
    partitions_writer *writer = shared;
    pt_scan_free(&writer->scan);
    pt_index_writer_free(&writer->indexes);
    *writer = (partitions_writer){0};
}

/* The scan must not keep the view for longer than the statement. */
static void close_partitions(pt_tvf_cursor *cursor)
{
    partitions_writer *writer = cursor->shared;
    pt_scan_free(&writer->scan);
}

const pt_tvf pt_tvf_partitions = {
    .name = "pt_partitions",
    .declaration = "CREATE TABLE x(Store TEXT, TableName TEXT COLLATE NOCASE, PartitionKey TEXT, "
                   "Entities INT, Bytes INT, FirstRowKey TEXT, LastRowKey TEXT, "
                   "argument1 HIDDEN, argument2 HIDDEN, Key BLOB HIDDEN PRIMARY KEY) WITHOUT ROWID",
    .usage = "pt_partitions('table'), pt_partitions('store', 'table'), or WHERE TableName = "
             "'table'",
    .first_argument = PARTITIONS_ARGUMENTS,
    .least_arguments = 1,
    .most_arguments = 2,
    .key_column = PARTITIONS_PARTITION_KEY,
    .opens_stores = true,
    .takes_columns = true,
    .cursor_size = sizeof(partitions_cursor),
    .shared_size = sizeof(partitions_writer),
    .closed = close_partitions,
    .begin = begin_partitions,
    .next = next_partition,
    .load = load_column,
    .column = partition_column,
    .end = end_partitions,
    .update = update_partitions,
    .over = transaction_is_over,
};
