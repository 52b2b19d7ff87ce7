#include "service/remote_filter.h"

#include "module/module.h"
#include "query/filter.h"
#include "query/filter_keys.h"
#include "service/overlay.h"
#include "service/remote_row.h"
#include "service/remote_table.h"

/* Finds out if the filter bounds the partitions. */
static int read_bounds(pt_remote_filter *filter, pt_error *error)
{
    pt_filter parsed = {0};
    pt_filter_keys keys;
    pt_error problem = PT_ERROR_NONE;
    int rc = pt_filter_parse(&parsed, pt_buffer_slice(&filter->text), &problem);
    pt_error_clear(&problem);
    if (rc == SQLITE_OK) {
        rc = pt_filter_find_keys(&parsed, &keys);
    }
    filter->bounded = rc == SQLITE_OK && pt_filter_keys_bound_partitions(&keys);
    pt_filter_free(&parsed);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : SQLITE_OK;
}

int pt_remote_filter_set(pt_remote_filter *filter, sqlite3_value *argument, pt_error *error)
{
    pt_slice text;
    int rc = pt_filter_text(argument, &text, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    filter->given = true;
    filter->nothing = sqlite3_value_type(argument) == SQLITE_NULL;
    return pt_buffer_assign(&filter->text, text) ? read_bounds(filter, error)
                                                 : pt_error_nomem(error);
}

void pt_remote_filter_clear(pt_remote_filter *filter)
{
    filter->given = false;
    filter->nothing = false;
    filter->bounded = false;
}

void pt_remote_filter_free(pt_remote_filter *filter)
{
    pt_buffer_free(&filter->text);
    *filter = (pt_remote_filter){0};
}

/* --- The SQL function match() --- */

/* Asks for the row's entity by its keys and the filter. */
static int ask_service(const pt_remote_row *row, pt_slice filter, bool *passes, pt_error *error)
{
    const pt_page_entity *entity = row->entity;
    pt_filter_parts no_conditions = {0};
    pt_buffer after = {0};
    if (entity->etag.size == 0) {
        return pt_overlay_refuse_filter(error);
    }
    pt_buffer_append_slice(&after, entity->row);
    pt_buffer_append_byte(&after, PT_AFTER_TEXT);
    if (after.failed) {
        pt_buffer_free(&after);
        return pt_error_nomem(error);
    }
    pt_stream_query query = *row->query;
    query.any_order = false;
    query.whole = false;
    query.select = PT_SELECT_KEYS;
    query.rows = NULL;
    query.filter = filter;
    query.parts = &no_conditions;
    query.top = 0;
    query.subject.filtered = true;
    const pt_key_span span = {
        .one = true,
        .partition = entity->partition,
        .keys = {.low = entity->row, .high = pt_buffer_slice(&after), .bounded = true}};
    pt_stream stream = {0};
    const pt_page_entity *found = NULL;
    int rc = pt_stream_open(&stream, &query, &span, error);
    if (rc == SQLITE_OK) {
        rc = pt_stream_next(&stream, &found, error);
    }
    *passes = found != NULL;
    pt_stream_free(&stream);
    pt_buffer_free(&after);
    return rc;
}

/* Compares with the filter that the service has judged for all rows. */
static int match_judged(pt_slice filter, sqlite3_value *judged, pt_error *error)
{
    const unsigned char *text = sqlite3_value_text(judged);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    return pt_slice_equal(filter, pt_slice_of(text, (size_t)sqlite3_value_bytes(judged)))
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_ERROR,
                              "MATCH works only on column Filter in WHERE or ON, with one filter "
                              "per table; write one Filter MATCH '...' there");
}

void pt_remote_function_match(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const pt_remote_table *table = sqlite3_user_data(context);
    const pt_remote_row *row = sqlite3_value_pointer(argv[1], PT_REMOTE_ROW_POINTER);
    pt_error error = PT_ERROR_NONE;
    pt_slice filter;
    bool passes = sqlite3_value_type(argv[0]) != SQLITE_NULL;
    int rc = pt_filter_text(argv[0], &filter, &error);
    if (rc == SQLITE_OK && passes) {
        if (row == NULL && sqlite3_value_type(argv[1]) == SQLITE_NULL) {
            return; /* NULL: the row that an outer join adds */
        }
        rc = row != NULL ? ask_service(row, filter, &passes, &error)
                         : match_judged(filter, argv[1], &error);
    }
    if (rc != SQLITE_OK) {
        pt_module_fail_function(context, table->config.base.sql_name, &error);
    } else {
        sqlite3_result_int(context, passes);
    }
}
