#include "table/row.h"

#include <math.h>

#include "base/ticks.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "entity/record.h"
#include "query/filter.h"
#include "query/filter_eval.h"
#include "transaction/large_value.h"
#include "value/json_write.h"
#include "value/value.h"

void pt_row_free(pt_row *row)
{
    pt_buffer_free(&row->shape);
    pt_buffer_free(&row->json);
}

/* A shape that a stored record names keeps its id; one that only pending records name may lose it.
 */
static void remember_shape(pt_row *row)
{
    if (row->lasting && row->record.shape->id != 0) {
        row->source.hint = row->record.shape;
    }
}

static inline int open_record(pt_row *row, const pt_table *table, pt_error *error)
{
    if (row->source.context == NULL) {
        row->source = pt_dictionary_source(pt_session_store(table->session)->dictionary);
    }
    int rc = pt_record_open(&row->record, row->key, row->bytes, &row->source, &row->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(row->key, error);
    }
    row->opened = true;
    if (row->record.shape != row->source.hint) {
        remember_shape(row);
    }
    return SQLITE_OK;
}

int pt_row_open(pt_row *row, const pt_table *table, pt_error *error)
{
    return row->opened ? SQLITE_OK : open_record(row, table, error);
}

/*
 * --- Declared columns ---
 *
 * One is asked for in every row of every scan. What is not needed each time, or calls out, is kept
 * out of line: then the usual way saves no registers.
 */

/* SQLite copies a text of given length as soon as somebody asks for its terminated form; with -1 it
 * knows that the NUL is there. */
__attribute__((noinline)) static int string_column(const pt_row *row, sqlite3_context *context,
                                                   const pt_property *property, pt_error *error)
{
    pt_slice text;
    if (!pt_record_string(&row->record, property, &text)) {
        return pt_report_damage(row->key, error);
    }
    const char *data = (const char *)text.data;
    int size = strlen(data) == text.size ? -1 : (int)text.size;
    sqlite3_result_text(context, data, size, row->lasting ? SQLITE_STATIC : SQLITE_TRANSIENT);
    return SQLITE_OK;
}

/* The usual types are handed on without a value being made of them. */
static inline int present_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                                 unsigned place, pt_error *error)
{
    const pt_record *record = &row->record;
    const pt_property *property = &record->shape->properties[place];
    switch (property->type) {
    case PT_STRING:
        return string_column(row, context, property, error);
    case PT_INT32:
        sqlite3_result_int(context, pt_record_int32(record, property));
        return SQLITE_OK;
    case PT_INT64:
        sqlite3_result_int64(context, pt_record_int64(record, property));
        return SQLITE_OK;
    case PT_DOUBLE:
        if (!isnan(pt_record_double(record, property))) {
            sqlite3_result_double(context, pt_record_double(record, property));
            return SQLITE_OK;
        }
        break;
    default:
        break;
    }
    return pt_property_column(row, table, context, place, error);
}

static inline int placed_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                                int place, pt_error *error)
{
    if (place < 0) {
        sqlite3_result_null(context);
        return SQLITE_OK;
    }
    return present_column(row, table, context, (unsigned)place, error);
}

/* The places of shapes without id lie in the map only until the next of them is asked for. */
__attribute__((noinline)) static int newly_placed_column(pt_row *row, pt_table *table,
                                                         sqlite3_context *context, int index,
                                                         pt_error *error)
{
    const pt_shape *shape = row->record.shape;
    const pt_column_places *places = pt_column_map_find(&table->map, shape);
    row->places = shape->id != 0 ? places : NULL;
    return places != NULL ? placed_column(row, table, context, places->place[index], error)
                          : pt_error_nomem(error);
}

static inline int declared_column(pt_row *row, pt_table *table, sqlite3_context *context, int index,
                                  pt_error *error)
{
    const pt_column_places *places = row->places;
    return places != NULL && places->shape == row->record.shape
               ? placed_column(row, table, context, places->place[index], error)
               : newly_placed_column(row, table, context, index, error);
}

__attribute__((noinline)) static int
first_column(pt_row *row, pt_table *table, sqlite3_context *context, int index, pt_error *error)
{
    int rc = open_record(row, table, error);
    return rc == SQLITE_OK ? declared_column(row, table, context, index, error) : rc;
}

int pt_row_column(pt_row *row, pt_table *table, sqlite3_context *context, int column,
                  pt_error *error)
{
    int declared = column - PT_COLUMN_FIRST;
    int tail = declared - table->config.column_count;
    if (tail >= 0) {
        return pt_tail_column(row, table, context, tail, error);
    }
    return row->opened ? declared_column(row, table, context, declared, error)
                       : first_column(row, table, context, declared, error);
}

/* --- Columns --- */

/* SQLite's JSON functions then take the text as JSON, not as a string. */
enum { JSON_SUBTYPE = 'J' };

enum { COPIED_JSON_MAX = 65536 }; /* longer objects are handed to SQLite with their memory */

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

/* --- Row filter --- */

/* The text of a filter that no row passes. */
static const char nothing[] = "false";

static int parse(pt_row_filter *filter, pt_error *error)
{
    int rc = pt_filter_parse(&filter->filter, pt_buffer_slice(&filter->text), error);
    if (rc == SQLITE_OK && pt_filter_find_keys(&filter->filter, &filter->keys) != SQLITE_OK) {
        rc = pt_error_nomem(error);
    }
    filter->parsed = rc == SQLITE_OK;
    filter->map.columns = filter->filter.properties;
    filter->map.column_count = filter->filter.property_count;
    return rc;
}

static int text_of(sqlite3_value *argument, pt_slice *text, pt_error *error)
{
    int type = sqlite3_value_type(argument);
    if (type == SQLITE_NULL) {
        *text = pt_slice_text(nothing);
        return SQLITE_OK;
    }
    if (type != SQLITE_TEXT) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "Filter is a %s; give a text, as 'Age gt 30' (InvalidInput)",
                            type == SQLITE_BLOB ? "BLOB" : "number");
    }
    const unsigned char *bytes = sqlite3_value_text(argument);
    *text = pt_slice_of(bytes, (size_t)sqlite3_value_bytes(argument));
    return bytes != NULL ? SQLITE_OK : pt_error_nomem(error);
}

int pt_row_filter_set(pt_row_filter *filter, sqlite3_value *argument, pt_error *error)
{
    pt_slice text = {0};
    int rc = text_of(argument, &text, error);
    if (rc != SQLITE_OK ||
        (filter->parsed && pt_slice_equal(text, pt_buffer_slice(&filter->text)))) {
        return rc;
    }
    filter->parsed = false;
    filter->places = NULL;
    pt_column_map_free(&filter->map);
    return pt_buffer_assign(&filter->text, text) ? parse(filter, error) : pt_error_nomem(error);
}

void pt_row_filter_free(pt_row_filter *filter)
{
    pt_filter_free(&filter->filter);
    pt_column_map_free(&filter->map);
    pt_buffer_free(&filter->text);
    pt_buffer_free(&filter->large);
    *filter = (pt_row_filter){0};
}

bool pt_row_filter_bounds_partitions(const pt_row_filter *filter)
{
    return pt_filter_keys_bound_partitions(&filter->keys);
}

bool pt_row_filter_restrict(const pt_row_filter *filter, pt_ranges *ranges)
{
    const pt_filter_keys *keys = &filter->keys;
    return pt_ranges_restrict(ranges, &keys->partition, &keys->row, &keys->entity);
}

/* --- Rows --- */

typedef struct fetch_context {
    pt_row_filter *filter;
    const pt_row *row;
} fetch_context;

static int fetch(void *context, pt_value *value, pt_error *error)
{
    const fetch_context *from = context;
    uint32_t table_id = pt_get_be32(from->row->key.data);
    return pt_large_read(from->row->view, table_id, value, &from->filter->large, error);
}

/* Opens the row's record and finds the filter's properties in it. */
static int open_row(pt_row_filter *filter, const pt_table *table, pt_row *row, pt_error *error)
{
    int rc = pt_row_open(row, table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_shape *shape = row->record.shape;
    if (filter->places == NULL || filter->places->shape != shape || shape->id == 0) {
        filter->places = pt_column_map_find(&filter->map, shape);
    }
    return filter->places != NULL ? SQLITE_OK : pt_error_nomem(error);
}

int pt_row_filter_passes(pt_row_filter *filter, const pt_table *table, pt_row *row, bool *passes,
                         pt_error *error)
{
    fetch_context context = {.filter = filter, .row = row};
    pt_filter_entity entity = {.record = &row->record, .fetch = fetch, .context = &context};
    if (!pt_key_split(pt_key_entity(row->key), &entity.partition_key, &entity.row_key)) {
        return pt_report_damage(row->key, error);
    }
    if (filter->filter.reads_record) {
        int rc = open_row(filter, table, row, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        entity.places = filter->places->place;
    }
    int rc = pt_filter_matches(&filter->filter, &entity, passes, error);
    return rc == SQLITE_CORRUPT_VTAB ? pt_report_damage(row->key, error) : rc;
}

/* --- Match function --- */

static bool is_same_text(sqlite3_value *a, sqlite3_value *b)
{
    if (sqlite3_value_type(a) != SQLITE_TEXT || sqlite3_value_type(b) != SQLITE_TEXT) {
        return false;
    }
    const unsigned char *text_a = sqlite3_value_text(a);
    const unsigned char *text_b = sqlite3_value_text(b);
    int size = sqlite3_value_bytes(a);
    return text_a != NULL && text_b != NULL && size == sqlite3_value_bytes(b) &&
           memcmp(text_a, text_b, (size_t)size) == 0;
}

/* As all columns of the row that an outer join adds. */
static bool is_absent(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL &&
           sqlite3_value_pointer(value, PT_ROW_POINTER) == NULL;
}

static void free_filter(void *filter)
{
    pt_row_filter_free(filter);
    sqlite3_free(filter);
}

/* The filter of this place in the statement, which SQLite keeps while its text is a constant. */
static pt_row_filter *filter_of(sqlite3_context *context)
{
    pt_row_filter *filter = sqlite3_get_auxdata(context, 0);
    if (filter == NULL) {
        filter = sqlite3_malloc64(sizeof *filter);
        if (filter == NULL) {
            return NULL;
        }
        memset(filter, 0, sizeof *filter);
        sqlite3_set_auxdata(context, 0, filter, free_filter);
        filter = sqlite3_get_auxdata(context, 0); /* gone, if there was no memory for it */
    }
    return filter;
}

static int passes(sqlite3_context *context, pt_table *table, pt_row *row, sqlite3_value *text,
                  bool *result, pt_error *error)
{
    pt_row_filter *filter = filter_of(context);
    if (filter == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_row_filter_set(filter, text, error);
    return rc == SQLITE_OK ? pt_row_filter_passes(filter, table, row, result, error) : rc;
}

static void fail(sqlite3_context *context, const pt_table *table, pt_error *error)
{
    char *message = NULL;
    if (error->message != NULL) {
        message = sqlite3_mprintf("ptable: %s: %s", table->config.sql_name, error->message);
    }
    if (message == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, message, -1);
        sqlite3_result_error_code(context, error->rc);
    }
    sqlite3_free(message);
    pt_error_clear(error);
}

/* A row of this store, or NULL; a record of another one has its names from another dictionary. */
static pt_row *row_of(const pt_table *table, sqlite3_value *value)
{
    pt_row *row = sqlite3_value_pointer(value, PT_ROW_POINTER);
    bool own = row != NULL && row->view->snapshot->store == pt_session_store(table->session);
    return own ? row : NULL;
}

void pt_function_match(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_table *table = sqlite3_user_data(context);
    pt_row *row = row_of(table, argv[1]);
    pt_error error = PT_ERROR_NONE;
    bool result = false;
    int rc = SQLITE_OK;
    if (row != NULL) {
        rc = passes(context, table, row, argv[0], &result, &error);
    } else if (is_absent(argv[1])) {
        return; /* with an SQL NULL */
    } else if (is_same_text(argv[0], argv[1])) {
        result = true;
    } else {
        rc = pt_error_set(
            &error, SQLITE_ERROR,
            "MATCH cannot be answered here; only the column Filter knows it, in WHERE or "
            "ON, and one Filter at a time");
    }
    if (rc != SQLITE_OK) {
        fail(context, table, &error);
    } else {
        sqlite3_result_int(context, result);
    }
}
