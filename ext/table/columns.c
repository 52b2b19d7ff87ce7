#include "table/columns.h"

#include "base/ticks.h"
#include "entity/key.h"
#include "table/match_function.h"
#include "value/json_write.h"
#include "value/value.h"

/* SQLite's JSON functions then take the text as JSON, not as a string. */
enum { JSON_SUBTYPE = 'J' };

enum { COPIED_JSON_MAX = 65536 }; /* longer objects are handed to SQLite with their memory */

int pt_report_damage(pt_slice logical_key, pt_error *error)
{
    pt_keys keys = pt_keys_of(logical_key);
    return pt_error_set(
        error, SQLITE_CORRUPT_VTAB,
        "the entity with PartitionKey '%.*s', RowKey '%.*s' is damaged in the store; "
        "DELETE or REPLACE it, or restore the store from a backup",
        (int)keys.partition.size, keys.partition.data, (int)keys.row.size, keys.row.data);
}

int pt_report_damaged_property(pt_slice logical_key, pt_slice name, pt_error *error)
{
    pt_keys keys = pt_keys_of(logical_key);
    return pt_error_set(
        error, SQLITE_CORRUPT_VTAB,
        "property %Q of the entity with PartitionKey '%.*s', RowKey '%.*s' is damaged in the "
        "store; UPDATE it to another value, or restore the store from a backup",
        (const char *)name.data, (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
        keys.row.data);
}

/* The value of a property of an entity's record, a large one with its bytes. */
static int value_of(const pt_record *record, unsigned index, const pt_entity_source *source,
                    pt_value *value, pt_error *error)
{
    if (pt_record_value(record, index, value) != SQLITE_OK) {
        return pt_report_damage(source->key, error);
    }
    if (!pt_type_is_large(value->type)) {
        return SQLITE_OK;
    }
    int rc =
        pt_large_read(source->view, pt_get_be32(source->key.data), value, source->bytes, error);
    return rc == SQLITE_CORRUPT_VTAB
               ? pt_report_damaged_property(source->key, record->shape->properties[index].name,
                                            error)
               : rc;
}

static int refuse_length(const pt_row *row, pt_slice name, uint64_t size, int limit,
                         pt_error *error)
{
    pt_keys keys = pt_keys_of(row->key);
    return pt_error_set(error, SQLITE_TOOBIG,
                        "property %Q of the entity with PartitionKey '%.*s', RowKey '%.*s' has "
                        "%lld bytes, and this connection takes %d; raise its SQLITE_LIMIT_LENGTH",
                        (const char *)name.data, (int)keys.partition.size, keys.partition.data,
                        (int)keys.row.size, keys.row.data, (sqlite3_int64)size, limit);
}

/* Reads a large value and hands its memory to SQLite. */
static int large_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                        unsigned place, uint64_t size, pt_error *error)
{
    int limit = sqlite3_limit(pt_connection_db(table->connection), SQLITE_LIMIT_LENGTH, -1);
    if (size > (uint64_t)limit) {
        return refuse_length(row, row->record.shape->properties[place].name, size, limit, error);
    }
    pt_value value;
    pt_buffer bytes = {0};
    const pt_entity_source source = {.view = row->view, .key = row->key, .bytes = &bytes};
    int rc = value_of(&row->record, place, &source, &value, error);
    if (rc == SQLITE_OK) {
        pt_value_result_buffer(context, value.type, &bytes);
    }
    pt_buffer_free(&bytes);
    return rc;
}

int pt_property_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                       unsigned place, pt_error *error)
{
    pt_value value;
    if (pt_record_value(&row->record, place, &value) != SQLITE_OK) {
        return pt_report_damage(row->key, error);
    }
    if (pt_type_is_large(value.type)) {
        return large_column(row, table, context, place, value.large.size, error);
    }
    pt_value_result(context, &value, row->lasting);
    return SQLITE_OK;
}

int pt_entity_to_json(const pt_record *record, const pt_entity_source *source, pt_buffer *json,
                      pt_error *error)
{
    pt_buffer_clear(json);
    pt_json_begin(json);
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        int rc = value_of(record, i, source, &value, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        pt_json_add(json, record->shape->properties[i].name, &value);
    }
    pt_json_end(json);
    return json->failed ? pt_error_nomem(error) : SQLITE_OK;
}

static int result_json(sqlite3_context *context, pt_buffer *json, pt_error *error)
{
    if (json->size <= COPIED_JSON_MAX) {
        sqlite3_result_text64(context, (const char *)json->data, json->size, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
    } else if (pt_buffer_reserve(json, 1)) {
        json->data[json->size] = 0;
        pt_value_result_buffer(context, PT_STRING, json);
    } else {
        return pt_error_nomem(error);
    }
    sqlite3_result_subtype(context, JSON_SUBTYPE);
    return SQLITE_OK;
}

static int properties(pt_row *row, sqlite3_context *context, pt_error *error)
{
    pt_buffer bytes = {0};
    const pt_entity_source source = {.view = row->view, .key = row->key, .bytes = &bytes};
    int rc = pt_entity_to_json(&row->record, &source, &row->json, error);
    pt_buffer_free(&bytes);
    return rc == SQLITE_OK ? result_json(context, &row->json, error) : rc;
}

void pt_etag_format(int64_t ticks, char text[PT_ETAG_SIZE + 1])
{
    char time[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, time);
    /* The colons of hh:mm:ss are percent-encoded, as the service sends them. */
    sqlite3_snprintf(PT_ETAG_SIZE + 1, text, "W/\"datetime'%.13s%%3A%.2s%%3A%s'\"", time, time + 14,
                     time + 17);
}

static int opened_tail_column(pt_row *row, sqlite3_context *context, int tail, pt_error *error)
{
    char time[PT_DATETIME_TEXT_SIZE + 1];
    char etag[PT_ETAG_SIZE + 1];
    switch (tail) {
    case PT_TAIL_FILTER:
        if (row->filter != NULL) {
            sqlite3_result_text64(context, (const char *)row->filter->data, row->filter->size,
                                  SQLITE_TRANSIENT, SQLITE_UTF8);
        } else {
            sqlite3_result_pointer(context, row, PT_ROW_POINTER, NULL);
        }
        return SQLITE_OK;
    case PT_TAIL_PROPERTIES:
        return properties(row, context, error);
    case PT_TAIL_TIMESTAMP:
        pt_ticks_format(row->record.ticks, time);
        sqlite3_result_text(context, time, PT_DATETIME_TEXT_SIZE, SQLITE_TRANSIENT);
        return SQLITE_OK;
    case PT_TAIL_ETAG:
        pt_etag_format(row->record.ticks, etag);
        sqlite3_result_text(context, etag, -1, SQLITE_TRANSIENT);
        return SQLITE_OK;
    default: /* what is only ever given: an SQL NULL */
        return SQLITE_OK;
    }
}

int pt_tail_column(pt_row *row, const pt_table *table, sqlite3_context *context, int tail,
                   pt_error *error)
{
    if (tail == PT_TAIL_ENTITY_KEY) {
        pt_slice key = pt_key_entity(row->key);
        sqlite3_result_blob64(context, key.data, key.size,
                              row->key_lasts ? SQLITE_STATIC : SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    int rc = pt_row_open(row, table, error);
    return rc == SQLITE_OK ? opened_tail_column(row, context, tail, error) : rc;
}

/* Finds RowKey in the row's key, once a row. False if it is not there. */
static bool find_row_key(pt_row *row)
{
    if (row->row_key == NULL) {
        pt_slice entity = pt_key_entity(row->key);
        const uint8_t *separator = memchr(entity.data, 0, entity.size);
        row->row_key = separator != NULL ? separator + 1 : NULL;
    }
    return row->row_key != NULL;
}

enum { SHORT_KEY_MAX = 255 };

/*
 * Nothing ends a RowKey in the store, and SQLite copies a text without a NUL behind it into new
 * memory when somebody asks for its terminated form. A copy that it makes here goes into the memory
 * of the row before. With one row there is none before, and often only a comparison asks.
 */
static void row_key_column(const pt_row *row, sqlite3_context *context, bool only_row)
{
    char text[SHORT_KEY_MAX + 1];
    size_t size = row->key.size - (size_t)(row->row_key - row->key.data);
    if (!only_row && size <= SHORT_KEY_MAX && memchr(row->row_key, 0, size) == NULL) {
        memcpy(text, row->row_key, size);
        text[size] = 0;
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_text64(context, (const char *)row->row_key, size,
                              row->key_lasts ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
    }
}

int pt_key_column(pt_row *row, sqlite3_context *context, int column, bool only_row, pt_error *error)
{
    if (!find_row_key(row)) {
        return pt_report_damage(row->key, error);
    }
    if (column == PT_COLUMN_PARTITION_KEY) {
        /* The 00 behind it ends a C string, as SQLite likes it. */
        sqlite3_result_text(context, (const char *)pt_key_entity(row->key).data, -1,
                            row->key_lasts ? SQLITE_STATIC : SQLITE_TRANSIENT);
    } else {
        row_key_column(row, context, only_row);
    }
    return SQLITE_OK;
}
