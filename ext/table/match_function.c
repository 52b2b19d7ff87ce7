#include "table/match_function.h"

#include "table/row_filter.h"

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
