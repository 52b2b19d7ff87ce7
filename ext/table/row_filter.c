#include "table/row_filter.h"

#include "base/text.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "module/module.h"
#include "query/filter.h"
#include "query/filter_eval.h"
#include "transaction/large_value.h"

/* --- Parsing --- */

static int check_name(pt_slice name, const char *column, pt_error *error)
{
    if (!pt_is_word(name, column) || pt_slice_equal(name, pt_slice_text(column))) {
        return SQLITE_OK;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    return pt_error_set(error, SQLITE_ERROR,
                        "Filter: no property '%s'; did you mean %s (upper and lower case differ)? "
                        "(InvalidInput)",
                        excerpt, column);
}

/*
 * To SQL age and Age are one name, but to a filter they are two properties. A filter with the wrong
 * one would silently find nothing. Any other name is allowed, since an entity may have properties
 * that are not columns.
 */
static int check_names(const pt_filter *filter, const pt_config *config, pt_error *error)
{
    static const char *const fixed[] = {"PartitionKey", "RowKey", "Timestamp"};
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < filter->property_count; i++) {
        const pt_column *property = &filter->properties[i];
        pt_slice name = pt_slice_of(property->name, property->name_size);
        for (size_t f = 0; rc == SQLITE_OK && f < sizeof fixed / sizeof fixed[0]; f++) {
            rc = check_name(name, fixed[f], error);
        }
        for (int c = 0; rc == SQLITE_OK && c < config->column_count; c++) {
            rc = check_name(name, config->columns[c].name, error);
        }
    }
    return rc;
}

static int parse_row_filter(pt_row_filter *filter, const pt_config *config, pt_error *error)
{
    int rc = pt_filter_parse(&filter->filter, pt_buffer_slice(&filter->text), error);
    if (rc == SQLITE_OK) {
        rc = check_names(&filter->filter, config, error);
    }
    if (rc == SQLITE_OK && pt_filter_find_keys(&filter->filter, &filter->keys) != SQLITE_OK) {
        rc = pt_error_nomem(error);
    }
    filter->parsed = rc == SQLITE_OK;
    filter->map.columns = filter->filter.properties;
    filter->map.column_count = filter->filter.property_count;
    return rc;
}

int pt_row_filter_set(pt_row_filter *filter, const pt_config *config, sqlite3_value *argument,
                      pt_error *error)
{
    pt_slice text = {0};
    int rc = pt_filter_text(argument, &text, error);
    if (rc != SQLITE_OK ||
        (filter->parsed && pt_slice_equal(text, pt_buffer_slice(&filter->text)))) {
        return rc;
    }
    /* Before parsing, which may fail: the map has the places of the old filter's properties. */
    filter->parsed = false;
    filter->places = NULL;
    pt_column_map_free(&filter->map);
    return pt_buffer_assign(&filter->text, text) ? parse_row_filter(filter, config, error)
                                                 : pt_error_nomem(error);
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

typedef struct large_value_source {
    pt_row_filter *filter;
    const pt_row *row;
} large_value_source;

static int fetch_large_value(void *context, pt_value *value, pt_error *error)
{
    const large_value_source *source = context;
    uint32_t table_id = pt_key_table(source->row->scan->key);
    return pt_large_read(source->row->scan->view, table_id, value, &source->filter->large, error);
}

/* Opens the row and finds the places of the filter's properties in its shape. */
static int open_filtered_row(pt_row_filter *filter, pt_row *row, pt_error *error)
{
    int rc = pt_row_open(row, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_shape *shape = row->record.shape;
    if (filter->places == NULL || filter->places->shape != shape || shape->id == 0) {
        filter->places = pt_column_map_find(&filter->map, shape);
    }
    return filter->places != NULL ? SQLITE_OK : pt_error_nomem(error);
}

int pt_row_filter_passes(pt_row_filter *filter, pt_row *row, bool *passes, pt_error *error)
{
    large_value_source source = {.filter = filter, .row = row};
    pt_filter_entity entity = {
        .record = &row->record, .fetch = fetch_large_value, .context = &source};
    if (!pt_key_split(pt_key_entity(row->scan->key), &entity.partition_key, &entity.row_key)) {
        return pt_report_damage(row->scan->key, error);
    }
    if (filter->filter.reads_record) {
        int rc = open_filtered_row(filter, row, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        entity.places = filter->places->place;
    }
    int rc = pt_filter_matches(&filter->filter, &entity, passes, error);
    return rc == SQLITE_CORRUPT_VTAB ? pt_report_damage(row->scan->key, error) : rc;
}

/* --- The SQL function match() --- */

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

/* True for a plain NULL: column Filter of the row that an outer join adds. A row pointer reads as
 * NULL, too. */
static bool is_outer_join_null(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_NULL &&
           sqlite3_value_pointer(value, PT_ROW_POINTER) == NULL;
}

static void free_auxiliary_filter(void *filter)
{
    pt_row_filter_free(filter);
    sqlite3_free(filter);
}

/* The parsed filter of this call site. SQLite keeps it while the filter's text is a constant. */
static pt_row_filter *auxiliary_filter(sqlite3_context *context)
{
    pt_row_filter *filter = sqlite3_get_auxdata(context, 0);
    if (filter == NULL) {
        filter = sqlite3_malloc64(sizeof *filter);
        if (filter == NULL) {
            return NULL;
        }
        memset(filter, 0, sizeof *filter);
        sqlite3_set_auxdata(context, 0, filter, free_auxiliary_filter);
        /* When out of memory SQLite has freed the filter already; then this is NULL. */
        filter = sqlite3_get_auxdata(context, 0);
    }
    return filter;
}

static int match_row(sqlite3_context *context, pt_row *row, sqlite3_value *text, bool *passes,
                     pt_error *error)
{
    pt_row_filter *filter = auxiliary_filter(context);
    if (filter == NULL) {
        return pt_error_nomem(error);
    }
    const pt_table *table = sqlite3_user_data(context);
    int rc = pt_row_filter_set(filter, &table->config, text, error);
    return rc == SQLITE_OK ? pt_row_filter_passes(filter, row, passes, error) : rc;
}

/* The row that column Filter points to, or NULL. A row of another store does not count: this
 * store's dictionary does not have the names of its record. */
static pt_row *row_of_store(const pt_table *table, sqlite3_value *value)
{
    pt_row *row = sqlite3_value_pointer(value, PT_ROW_POINTER);
    bool own = row != NULL && row->scan->view->snapshot->store == pt_session_store(table->session);
    return own ? row : NULL;
}

void pt_function_match(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_table *table = sqlite3_user_data(context);
    pt_row *row = row_of_store(table, argv[1]);
    pt_error error = PT_ERROR_NONE;
    bool passes = false;
    int rc = SQLITE_OK;
    if (row != NULL) {
        rc = match_row(context, row, argv[0], &passes, &error);
    } else if (is_outer_join_null(argv[1])) {
        return; /* NULL */
    } else if (is_same_text(argv[0], argv[1])) {
        passes = true;
    } else {
        rc = pt_error_set(&error, SQLITE_ERROR,
                          "MATCH works only on column Filter in WHERE or ON, with one filter per "
                          "table; write one Filter MATCH '...' there");
    }
    if (rc != SQLITE_OK) {
        pt_module_fail_function(context, table->config.sql_name, &error);
    } else {
        sqlite3_result_int(context, passes);
    }
}
