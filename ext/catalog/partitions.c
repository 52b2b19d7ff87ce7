#include "catalog/partitions.h"

#include "catalog/tables_source.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "query/ranges.h"

enum {
    PARTITIONS_STORE,
    PARTITIONS_TABLE,
    PARTITIONS_PARTITION_KEY,
    PARTITIONS_ENTITIES,
    PARTITIONS_BYTES,
    PARTITIONS_FIRST_ROW_KEY,
    PARTITIONS_LAST_ROW_KEY,
    PARTITIONS_ARGUMENTS
};

typedef struct partitions_cursor {
    pt_tvf_cursor base;
    pt_catalog_source source;
    pt_ranges ranges;
    pt_range_walk walk; /* stands after the current partition */
    pt_buffer key;      /* PartitionKey and 00 */
    pt_buffer end;      /* PartitionKey and 01 */
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
    return rc == SQLITE_OK ? pt_catalog_source_open(&self->source, cursor, error) : rc;
}

static void end_partitions(pt_tvf_cursor *cursor)
{
    partitions_cursor *self = partitions_of(cursor);
    pt_catalog_source_close(&self->source);
    pt_ranges_free(&self->ranges);
    pt_range_walk_free(&self->walk);
    pt_buffer_free(&self->key);
    pt_buffer_free(&self->end);
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
    pt_slice row;
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

/* Reads all entities of the partition at the scan's position, from the first one. When descending,
 * the scan is at the last one. */
static int read_partition(partitions_cursor *self, pt_error *error)
{
    pt_slice partition;
    pt_slice row;
    int rc = split_current_key(self, &partition, &row, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!set_partition_bound(&self->key, partition, 0) ||
        !set_partition_bound(&self->end, partition, 1) ||
        !pt_range_walk_pass(&self->walk, partition)) {
        return pt_error_nomem(error);
    }
    self->entities = 0;
    self->bytes = 0;
    rc = pt_catalog_source_seek(&self->source, pt_buffer_slice(&self->key),
                                pt_buffer_slice(&self->end), true, PT_FORWARD, error);
    while (rc == SQLITE_OK && self->source.scan.valid) {
        rc = add_entity(self, error);
        rc = rc == SQLITE_OK ? pt_view_step(self->source.scan.view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&self->source.scan, error) : rc;
    }
    return rc;
}

static int next_partition(pt_tvf_cursor *cursor, pt_error *error)
{
    partitions_cursor *self = partitions_of(cursor);
    int rc = find_partition(self, error);
    return rc == SQLITE_OK && !cursor->eof ? read_partition(self, error) : rc;
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
    default:
        pt_tvf_result_text(context, pt_buffer_slice(last));
        break;
    }
}

const pt_tvf pt_tvf_partitions = {
    .name = "pt_partitions",
    .declaration = "CREATE TABLE x(Store TEXT, TableName TEXT COLLATE NOCASE, PartitionKey TEXT, "
                   "Entities INT, Bytes INT, FirstRowKey TEXT, LastRowKey TEXT, "
                   "argument1 HIDDEN, argument2 HIDDEN)",
    .usage = "pt_partitions('table'), or pt_partitions('store', 'table')",
    .first_argument = PARTITIONS_ARGUMENTS,
    .least_arguments = 1,
    .most_arguments = 2,
    .key_column = PARTITIONS_PARTITION_KEY,
    .opens_stores = true,
    .cursor_size = sizeof(partitions_cursor),
    .begin = begin_partitions,
    .next = next_partition,
    .column = partition_column,
    .end = end_partitions,
};
