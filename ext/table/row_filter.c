#include "table/row_filter.h"

#include "entity/key.h"
#include "query/filter_eval.h"
#include "query/filter_parse.h"
#include "transaction/large_value.h"

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
