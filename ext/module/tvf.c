#include "module/tvf.h"

#include "module/module.h"
#include "module/tvf_plan.h"

typedef struct tvf_table {
    sqlite3_vtab base;
    pt_connection *connection;
    const pt_tvf *tvf;
    bool other_text_order; /* the database orders text otherwise than UTF-8 */
} tvf_table;

static tvf_table *table_of(sqlite3_vtab *vtab)
{
    return (tvf_table *)vtab;
}

static pt_tvf_cursor *cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (pt_tvf_cursor *)cursor;
}

static const pt_tvf *tvf_of(const pt_tvf_cursor *cursor)
{
    return table_of(cursor->base.pVtab)->tvf;
}

static int fail(sqlite3_vtab *vtab, pt_error *error)
{
    return pt_module_fail(&vtab->zErrMsg, table_of(vtab)->tvf->name, error);
}

/* --- The table --- */

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    const pt_module_registration *registered = context;
    const pt_tvf *tvf = registered->description;
    int rc = sqlite3_declare_vtab(db, tvf->declaration);
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    if (tvf->opens_stores) {
        sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    }
    bool utf8;
    if (pt_module_is_utf8(db, "main", &utf8) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    tvf_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table =
        (tvf_table){.connection = registered->connection, .tvf = tvf, .other_text_order = !utf8};
    *vtab = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(table_of(vtab));
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const tvf_table *table = table_of(vtab);
    return pt_tvf_plan(table->tvf, table->other_text_order, info);
}

/* --- The cursor --- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    const tvf_table *table = table_of(vtab);
    pt_tvf_cursor *cursor = sqlite3_malloc64(table->tvf->cursor_size);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, table->tvf->cursor_size);
    cursor->connection = table->connection;
    *out = &cursor->base;
    return SQLITE_OK;
}

static void end(pt_tvf_cursor *cursor)
{
    tvf_of(cursor)->end(cursor);
    for (int i = 0; i < cursor->argument_count; i++) {
        sqlite3_value_free(cursor->arguments[i]);
    }
    cursor->argument_count = 0;
    cursor->eof = true;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    end(cursor_of(cursor));
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int ask_for_arguments(const pt_tvf *tvf, pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR, "needs to be told which table; write %s", tvf->usage);
}

/* Keeps the arguments, for columns show them. *complete: none of them is NULL. */
static int take_arguments(pt_tvf_cursor *cursor, int count, sqlite3_value **argv, bool *complete,
                          pt_error *error)
{
    if (count < tvf_of(cursor)->least_arguments) {
        return ask_for_arguments(tvf_of(cursor), error);
    }
    *complete = true;
    for (int i = 0; i < count; i++) {
        sqlite3_value *copy = sqlite3_value_dup(argv[i]);
        if (copy == NULL) {
            return pt_error_nomem(error);
        }
        cursor->arguments[cursor->argument_count++] = copy;
        *complete = *complete && sqlite3_value_type(copy) != SQLITE_NULL;
    }
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int index_number, const char *sentence, int argc,
                  sqlite3_value **argv)
{
    (void)sentence;
    pt_tvf_cursor *cursor = cursor_of(base);
    const pt_tvf *tvf = tvf_of(cursor);
    int arguments = pt_tvf_argument_count(index_number);
    const pt_tvf_keys keys = {
        .plan = pt_tvf_plan_bits(index_number), .argc = argc - arguments, .argv = argv + arguments};
    pt_error error = PT_ERROR_NONE;
    bool complete = false;
    end(cursor);
    int rc = take_arguments(cursor, arguments, argv, &complete, &error);
    if (rc == SQLITE_OK && complete) {
        cursor->eof = false;
        cursor->row = 1;
        rc = tvf->begin(cursor, &keys, &error);
        rc = rc == SQLITE_OK ? tvf->next(cursor, &error) : rc;
    }
    return rc == SQLITE_OK ? rc : fail(base->pVtab, &error);
}

static int next(sqlite3_vtab_cursor *base)
{
    pt_tvf_cursor *cursor = cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    cursor->row++;
    int rc = tvf_of(cursor)->next(cursor, &error);
    return rc == SQLITE_OK ? rc : fail(base->pVtab, &error);
}

static int eof(sqlite3_vtab_cursor *cursor)
{
    return cursor_of(cursor)->eof;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int index)
{
    pt_tvf_cursor *cursor = cursor_of(base);
    int argument = index - tvf_of(cursor)->first_argument;
    if (argument < 0) {
        tvf_of(cursor)->column(cursor, context, index);
    } else if (argument < cursor->argument_count) {
        sqlite3_result_value(context, cursor->arguments[argument]);
    }
    return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
    *id = cursor_of(cursor)->row;
    return SQLITE_OK;
}

void pt_tvf_result_text(sqlite3_context *context, pt_slice text)
{
    sqlite3_result_text64(context, text.size != 0 ? (const char *)text.data : "", text.size,
                          SQLITE_TRANSIENT, SQLITE_UTF8);
}

static const sqlite3_module tvf_module = {
    .iVersion = 1,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

int pt_tvf_register(sqlite3 *db, pt_connection *connection, const pt_tvf *tvf)
{
    return pt_module_register_shared(db, tvf->name, &tvf_module, connection, tvf);
}
