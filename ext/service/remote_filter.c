#include "service/remote_filter.h"

#include "module/module.h"
#include "query/filter.h"
#include "query/filter_keys.h"
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

void pt_remote_function_match(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const pt_remote_table *table = sqlite3_user_data(context);
    const char *asked = (const char *)sqlite3_value_text(argv[0]);
    const char *judged = (const char *)sqlite3_value_text(argv[1]);
    if (asked != NULL && judged != NULL && strcmp(asked, judged) == 0) {
        sqlite3_result_int(context, 1);
        return;
    }
    pt_error error = PT_ERROR_NONE;
    pt_error_set(&error, SQLITE_ERROR,
                 "only the service can judge a Filter: write one Filter MATCH '...' for the table, "
                 "joined to the rest of WHERE by AND, or in the ON of a LEFT JOIN");
    pt_module_fail_function(context, table->config.base.sql_name, &error);
}
