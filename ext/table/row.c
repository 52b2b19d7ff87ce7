#include "table/row.h"

#include <math.h>

#include "base/ticks.h"
#include "base/ways.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "entity/record.h"
#include "transaction/large_value.h"
#include "value/json_write.h"
#include "value/value.h"

/* The subtype by which SQLite's JSON functions know that a text is JSON. */
enum { JSON_SUBTYPE = 'J' };

enum { COPIED_JSON_MAX = 65536 }; /* SQLite takes over the memory of longer JSON */

enum { SHORT_KEY_MAX = 255 };

/* True if the record lies in the snapshot, for as long as the statement uses it: parts of it can be
 * returned as SQLITE_STATIC. */
static inline bool record_lasts(const pt_row *row)
{
    return !row->scan->on_pending;
}

/* True if parts of the key can be returned as SQLITE_STATIC. */
static inline bool key_lasts(const pt_row *row)
{
    return !row->scan->on_pending && row->scan->base->key_lasts;
}

void pt_row_free(pt_row *row)
{
    pt_buffer_free(&row->shape);
    pt_buffer_free(&row->json);
    pt_expiry_free(&row->expiry);
}

/* A shape id in a stored record is permanent. A rollback may give the id of a pending record to
 * another shape, so a pending record's shape must not be remembered. */
static int remember_shape(pt_row *row, pt_error *error)
{
    row->source.hint = row->record.shape;
    const pt_column_places *places = pt_column_map_find(&row->table->map, row->record.shape);
    if (places == NULL) {
        return pt_error_nomem(error);
    }
    row->properties = places->property;
    row->alike_columns = PT_WAYS_ARE_GENERAL ? 0 : (unsigned)row->table->config.column_count;
    return SQLITE_OK;
}

static int open_unlike(pt_row *row, pt_error *error)
{
    row->alike_columns = 0;
    if (row->source.context == NULL) {
        row->source = pt_dictionary_source(pt_session_store(row->table->session)->dictionary);
    }
    int rc =
        pt_record_open(&row->record, row->scan->key, row->scan->record, &row->source, &row->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(row->scan->key, error);
    }
    row->opened = true;
    return record_lasts(row) && row->record.shape->id != 0 ? remember_shape(row, error) : SQLITE_OK;
}

/* Opens the record if it begins like the last one. */
static inline bool open_alike(pt_row *row)
{
    row->opened = pt_record_open_alike(&row->record, row->scan->key, row->scan->record);
    return row->opened;
}

int pt_row_open(pt_row *row, pt_error *error)
{
    bool opened = row->opened || (row->alike_columns != 0 && open_alike(row));
    return opened ? SQLITE_OK : open_unlike(row, error);
}

/* --- Entities that expire --- */

int pt_row_learn_expiry(pt_row *row, pt_error *error)
{
    return pt_expiry_copy(&row->expiry, &row->table->expiry) ? SQLITE_OK : pt_error_nomem(error);
}

void pt_row_give_expiry(pt_row *row, pt_row *other)
{
    pt_expiry others = other->expiry;
    other->expiry = row->expiry;
    row->expiry = others;
    other->expires = row->expires;
}

int pt_row_judge_expiry(pt_row *row, bool *there, pt_error *error)
{
    bool expired = true;
    int rc = pt_row_open(row, error);
    if (rc == SQLITE_OK) {
        rc = pt_expiry_judge(&row->expiry, row->scan->view, &row->record, &expired, error);
    }
    *there = !expired;
    return rc;
}

/* --- PartitionKey and RowKey --- */

/* Finds RowKey, once per row. False if the key has none. */
static bool find_row_key(pt_row *row)
{
    if (row->row_key == NULL) {
        pt_slice entity = pt_key_entity(row->scan->key);
        const uint8_t *separator = memchr(entity.data, 0, entity.size);
        row->row_key = separator != NULL ? separator + 1 : NULL;
    }
    return row->row_key != NULL;
}

/*
 * A RowKey in the store has no NUL after it. If we returned it as STATIC, SQLite would allocate a
 * copy as soon as it needs a terminated string. A TRANSIENT text of known termination is copied
 * into memory that the register already has from the row before, which is cheaper. The only row of
 * a scan has no row before it, and often the text is only compared: STATIC is better there.
 */
static void row_key_column(const pt_row *row, sqlite3_context *context)
{
    char text[SHORT_KEY_MAX + 1];
    size_t size = row->scan->key.size - (size_t)(row->row_key - row->scan->key.data);
    if (!row->only_row && size <= SHORT_KEY_MAX && memchr(row->row_key, 0, size) == NULL) {
        memcpy(text, row->row_key, size);
        text[size] = 0;
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_text64(context, (const char *)row->row_key, size,
                              key_lasts(row) ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
    }
}

__attribute__((noinline)) static int refuse_damaged_key(const pt_row *row)
{
    pt_error error = PT_ERROR_NONE;
    pt_report_damage(row->scan->key, &error);
    return pt_table_fail(row->table, &error);
}

/* Returns SQLite's code, like return_any_column. */
__attribute__((noinline)) static int return_key_column(pt_row *row, sqlite3_context *context,
                                                       int column)
{
    if (!find_row_key(row)) {
        return refuse_damaged_key(row);
    }
    if (column == PT_COLUMN_PARTITION_KEY) {
        /* The 00 byte that divides the keys also terminates PartitionKey as a C string. */
        sqlite3_result_text(context, (const char *)pt_key_entity(row->scan->key).data, -1,
                            key_lasts(row) ? SQLITE_STATIC : SQLITE_TRANSIENT);
    } else {
        row_key_column(row, context);
    }
    return SQLITE_OK;
}

/* --- Properties --- */

/* Reads property `index` of a record, including the bytes of a large value. */
static int read_whole_value(pt_record *record, unsigned index, const pt_entity_source *source,
                            pt_value *value, pt_error *error)
{
    if (pt_record_value(record, index, value) != SQLITE_OK) {
        return pt_report_damage(source->key, error);
    }
    if (!pt_type_is_large(value->type)) {
        return SQLITE_OK;
    }
    int rc = pt_large_read(source->view, pt_key_table(source->key), value, source->bytes, error);
    return rc == SQLITE_CORRUPT_VTAB
               ? pt_report_damaged_property(source->key, record->shape->properties[index].name,
                                            error)
               : rc;
}

int pt_entity_to_json(pt_record *record, const pt_entity_source *source, pt_buffer *json,
                      pt_error *error)
{
    pt_buffer_clear(json);
    pt_json_begin(json);
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        int rc = read_whole_value(record, i, source, &value, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        pt_json_add(json, record->shape->properties[i].name, &value);
    }
    pt_json_end(json);
    return json->failed ? pt_error_nomem(error) : SQLITE_OK;
}

static int return_json(sqlite3_context *context, pt_buffer *json, pt_error *error)
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

static int properties_column(pt_row *row, sqlite3_context *context, pt_error *error)
{
    pt_buffer bytes = {0};
    const pt_entity_source source = {
        .view = row->scan->view, .key = row->scan->key, .bytes = &bytes};
    int rc = pt_entity_to_json(&row->record, &source, &row->json, error);
    pt_buffer_free(&bytes);
    return rc == SQLITE_OK ? return_json(context, &row->json, error) : rc;
}

/* --- The columns after the declared ones --- */

void pt_etag_format(int64_t ticks, char text[PT_ETAG_SIZE + 1])
{
    char time[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, time);
    /* The colons of hh:mm:ss are percent-encoded, as the service sends them. */
    sqlite3_snprintf(PT_ETAG_SIZE + 1, text, "W/\"datetime'%.13s%%3A%.2s%%3A%s'\"", time, time + 14,
                     time + 17);
}

/* All columns named for the rowid have the same value. */
static int row_id_column(pt_row *row, sqlite3_context *context, pt_error *error)
{
    pt_buffer_clear(&row->json);
    if (!pt_key_append_row_id(&row->json, pt_key_entity(row->scan->key))) {
        return pt_report_damage(row->scan->key, error);
    }
    if (row->json.failed) {
        return pt_error_nomem(error);
    }
    sqlite3_result_text64(context, (const char *)row->json.data, row->json.size, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    return SQLITE_OK;
}

static int tail_column(pt_row *row, sqlite3_context *context, int tail, pt_error *error)
{
    char time[PT_DATETIME_TEXT_SIZE + 1];
    char etag[PT_ETAG_SIZE + 1];
    if (tail == PT_TAIL_ENTITY_KEY) { /* needs no record, which may be damaged */
        pt_slice key = pt_key_entity(row->scan->key);
        row->key_was_read = true;
        sqlite3_result_blob64(context, key.data, key.size,
                              key_lasts(row) ? SQLITE_STATIC : SQLITE_TRANSIENT);
        return SQLITE_OK;
    }
    if (tail >= PT_TAIL_COUNT) {
        return row_id_column(row, context, error);
    }
    int rc = pt_row_open(row, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
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
        return properties_column(row, context, error);
    case PT_TAIL_TIMESTAMP:
        pt_ticks_format(row->record.ticks, time);
        sqlite3_result_text(context, time, -1, SQLITE_TRANSIENT);
        return SQLITE_OK;
    case PT_TAIL_ETAG:
        pt_etag_format(row->record.ticks, etag);
        sqlite3_result_text(context, etag, -1, SQLITE_TRANSIENT);
        return SQLITE_OK;
    default: /* WriteMode and IfMatch are only written; they read as NULL */
        return SQLITE_OK;
    }
}

/* --- Declared columns --- */

static int refuse_large_column(const pt_row *row, unsigned place, uint64_t size, int limit,
                               pt_error *error)
{
    pt_keys keys = pt_keys_of(row->scan->key);
    return pt_error_set(error, SQLITE_TOOBIG,
                        "property %Q of the entity with PartitionKey '%.*s', RowKey '%.*s' has "
                        "%lld bytes, and this connection takes %d; raise its SQLITE_LIMIT_LENGTH",
                        (const char *)row->record.shape->properties[place].name.data,
                        (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
                        keys.row.data, (sqlite3_int64)size, limit);
}

/* Reads a large value and hands its memory over to SQLite. */
static int large_column(pt_row *row, sqlite3_context *context, unsigned place, uint64_t size,
                        pt_error *error)
{
    int limit = sqlite3_limit(row->table->db, SQLITE_LIMIT_LENGTH, -1);
    if (size > (uint64_t)limit) {
        return refuse_large_column(row, place, size, limit, error);
    }
    pt_value value;
    pt_buffer bytes = {0};
    const pt_entity_source source = {
        .view = row->scan->view, .key = row->scan->key, .bytes = &bytes};
    int rc = read_whole_value(&row->record, place, &source, &value, error);
    if (rc == SQLITE_OK) {
        pt_value_result_buffer(context, value.type, &bytes);
    }
    pt_buffer_free(&bytes);
    return rc;
}

/* Returns property `place` of the row's shape, of any type. */
static int property_column(pt_row *row, sqlite3_context *context, unsigned place, pt_error *error)
{
    pt_value value;
    if (pt_record_value(&row->record, place, &value) != SQLITE_OK) {
        return pt_report_damage(row->scan->key, error);
    }
    if (pt_type_is_large(value.type)) {
        return large_column(row, context, place, value.large.size, error);
    }
    pt_value_result(context, &value, record_lasts(row));
    return SQLITE_OK;
}

static int declared_column(pt_row *row, sqlite3_context *context, int index, pt_error *error)
{
    int rc = pt_row_open(row, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_column_places *places = pt_column_map_find(&row->table->map, row->record.shape);
    if (places == NULL) {
        return pt_error_nomem(error);
    }
    int place = places->place[index];
    return place >= 0 ? property_column(row, context, (unsigned)place, error) : SQLITE_OK;
}

__attribute__((noinline)) static int return_other_column(pt_row *row, sqlite3_context *context,
                                                         int declared)
{
    pt_error error = PT_ERROR_NONE;
    int tail = declared - row->table->config.column_count;
    int rc = tail < 0 ? declared_column(row, context, declared, &error)
                      : tail_column(row, context, tail, &error);
    return rc == SQLITE_OK ? rc : pt_table_fail(row->table, &error);
}

__attribute__((noinline)) static int return_any_column(pt_row *row, sqlite3_context *context,
                                                       int column)
{
    return column < PT_COLUMN_FIRST ? return_key_column(row, context, column)
                                    : return_other_column(row, context, column - PT_COLUMN_FIRST);
}

/*
 * --- The direct way ---
 *
 * This is the hottest path of a scan: once per row and column. Values of the common types are
 * returned without a pt_value. Whatever is not as usual, such as damage, is left to
 * return_any_column. Functions are noinline if the others would save registers for them.
 */

/* With an explicit length SQLite copies the text as soon as it needs a terminated string. With -1
 * it knows that the terminator is there. Flattened: short data are verified without a call. */
__attribute__((noinline, flatten)) static int return_text(pt_row *row, sqlite3_context *context,
                                                          int column, const pt_property *property)
{
    pt_slice text;
    if (!pt_record_string(&row->record, property, &text) ||
        strlen((const char *)text.data) != text.size) {
        return return_any_column(row, context, column);
    }
    sqlite3_result_text(context, (const char *)text.data, -1,
                        record_lasts(row) ? SQLITE_STATIC : SQLITE_TRANSIENT);
    return SQLITE_OK;
}

/* -1, as in return_text: with an explicit length sqlite3_column_text would ask for more memory. */
__attribute__((noinline)) static int return_time(pt_row *row, sqlite3_context *context, int column,
                                                 const pt_property *property)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    int64_t ticks = pt_record_int64(&row->record, property);
    if ((uint64_t)ticks > (uint64_t)PT_TICKS_MAX) {
        return return_any_column(row, context, column);
    }
    pt_ticks_format(ticks, text);
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

/* Returns a column of an open row whose shape is remembered. */
static inline int return_column(pt_row *row, sqlite3_context *context, int column)
{
    pt_record *record = &row->record;
    const pt_property *property = row->properties[column - PT_COLUMN_FIRST];
    if (property->type == PT_STRING) { /* the most frequent type: no jump through a table */
        return return_text(row, context, column, property);
    }
    switch (property->type) {
    case PT_NONE: /* without a result SQLite takes NULL */
        return SQLITE_OK;
    case PT_DATETIME:
        return return_time(row, context, column, property);
    case PT_INT32:
        sqlite3_result_int(context, pt_record_int32(record, property));
        return SQLITE_OK;
    case PT_INT64:
        sqlite3_result_int64(context, pt_record_int64(record, property));
        return SQLITE_OK;
    case PT_BOOLEAN:
        if (record->fixed[property->slot] <= 1) {
            sqlite3_result_int(context, record->fixed[property->slot]);
            return SQLITE_OK;
        }
        break;
    case PT_DOUBLE:
        if (!isnan(pt_record_double(record, property))) {
            sqlite3_result_double(context, pt_record_double(record, property));
            return SQLITE_OK;
        }
        break;
    default:
        break;
    }
    return return_any_column(row, context, column);
}

/* Flattened: opening a short record takes no call. */
__attribute__((noinline, flatten)) static int
open_and_return_column(pt_row *row, sqlite3_context *context, int column)
{
    return open_alike(row) ? return_column(row, context, column)
                           : return_any_column(row, context, column);
}

static inline int return_wanted_column(pt_row *row, sqlite3_context *context, int column)
{
    unsigned declared = (unsigned)(column - PT_COLUMN_FIRST);
    if (declared >= row->alike_columns) {
        return return_any_column(row, context, column);
    }
    return row->opened ? return_column(row, context, column)
                       : open_and_return_column(row, context, column);
}

/* Sets no result for a column that an UPDATE does not change: xUpdate then sees
 * sqlite3_value_nochange() for it. */
__attribute__((noinline)) static int return_changing_column(pt_row *row, sqlite3_context *context,
                                                            int column)
{
    return sqlite3_vtab_nochange(context) ? SQLITE_OK : return_wanted_column(row, context, column);
}

int pt_row_column(pt_row *row, sqlite3_context *context, int column)
{
    return row->may_change ? return_changing_column(row, context, column)
                           : return_wanted_column(row, context, column);
}
