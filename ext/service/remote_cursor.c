#include "service/remote_cursor.h"

#include "service/overlay.h"
#include "service/remote_conditions.h"
#include "service/remote_filter.h"
#include "service/remote_planner.h"
#include "service/remote_row.h"
#include "service/remote_table.h"

typedef struct remote_cursor {
    sqlite3_vtab_cursor base;
    pt_remote_table *table;
    bool eof;
    pt_remote_scan scan;
    pt_overlay overlay;
    pt_remote_filter filter;
    pt_remote_conditions conditions;
    pt_remote_row row;
} remote_cursor;

static remote_cursor *remote_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (remote_cursor *)cursor;
}

/* --- Opening and closing --- */

int pt_remote_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    const pt_service_config *config = &table->config;
    size_t hints = (size_t)config->base.column_count * sizeof(size_t);
    remote_cursor *cursor = sqlite3_malloc64(sizeof *cursor + hints);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof *cursor + hints);
    pt_statement *statement = pt_statement_enter(&table->service->statements, table->service->db);
    cursor->table = table;
    cursor->row.config = config;
    cursor->row.query = &cursor->scan.query;
    cursor->row.hints = (size_t *)(cursor + 1);
    cursor->scan.query = (pt_stream_query){
        .service = table->service,
        .subject = {.account = config->account, .table = config->base.table},
        .timeout = config->timeout,
        .retries = config->retries,
        .parts = &cursor->conditions.parts,
        .budget = {.statement = statement, .max_requests = config->max_requests},
    };
    int64_t streams = config->streams != 0 ? config->streams : config->parallel;
    if (statement == NULL || !pt_remote_scan_init(&cursor->scan, config->parallel, streams)) {
        pt_statement_leave(&table->service->statements, statement);
        sqlite3_free(cursor);
        return SQLITE_NOMEM;
    }
    table->service->pending.statement = table->service->pending.operations.count;
    *out = &cursor->base;
    return SQLITE_OK;
}

int pt_remote_cursor_close(sqlite3_vtab_cursor *base)
{
    remote_cursor *cursor = remote_cursor_of(base);
    pt_statement *statement = cursor->scan.query.budget.statement;
    pt_statement_leave(&cursor->table->service->statements, statement);
    pt_remote_scan_free(&cursor->scan);
    pt_overlay_free(&cursor->overlay);
    pt_remote_filter_free(&cursor->filter);
    pt_remote_conditions_free(&cursor->conditions);
    pt_remote_row_free(&cursor->row);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int find_next_row(remote_cursor *cursor, pt_error *error)
{
    pt_remote_row *row = &cursor->row;
    int rc = pt_overlay_next(&cursor->overlay, &cursor->scan, &row->entity, &row->page, error);
    cursor->eof = rc == SQLITE_OK && row->entity == NULL;
    return rc;
}

/* --- xFilter and xNext --- */

static int check_remote_scan(remote_cursor *cursor, unsigned bits, pt_error *error)
{
    const pt_service_config *config = &cursor->table->config;
    bool whole = pt_plan_is_table_scan(bits) && !cursor->filter.bounded;
    cursor->scan.query.whole = whole;
    return !whole || !config->base.deny_scan
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_ERROR,
                              "the statement would scan the whole table, which scan=deny forbids; "
                              "add a condition on PartitionKey (=, IN, a range or pt_starts_with)");
}

/* How many entities the statement wants, by LIMIT and OFFSET; 0: not known. Takes their arguments
 * off *argc. */
static int64_t wanted_entities(unsigned bits, int *argc, sqlite3_value **argv)
{
    int64_t offset = 0;
    if ((bits & PT_REMOTE_OFFSET) != 0) {
        offset = sqlite3_value_int64(argv[--*argc]);
    }
    if ((bits & PT_REMOTE_LIMIT) == 0) {
        return 0;
    }
    int64_t limit = sqlite3_value_int64(argv[--*argc]);
    bool sensible = limit > 0 && limit < INT32_MAX && offset < INT32_MAX;
    return sensible ? limit + (offset > 0 ? offset : 0) : 0;
}

/* The Filter's argument is the last one of the plan. */
static int take_filter(remote_cursor *cursor, unsigned bits, int *argc, sqlite3_value **argv,
                       pt_error *error)
{
    pt_remote_filter_clear(&cursor->filter);
    int rc = SQLITE_OK;
    if ((bits & PT_PLAN_TERM(PT_TERM_FILTER)) != 0) {
        rc = pt_remote_filter_set(&cursor->filter, argv[--*argc], error);
    }
    bool empty = cursor->filter.text.size == 0;
    pt_slice text = empty ? pt_slice_text("") : pt_buffer_slice(&cursor->filter.text);
    cursor->row.filter = cursor->filter.given ? text : (pt_slice){0};
    cursor->scan.query.filter = cursor->row.filter;
    cursor->scan.query.subject.filtered = cursor->filter.given;
    return rc;
}

/* True if entities may come from several parts of a range at once. How Cosmos DB orders keys is not
 * known. */
static bool may_be_in_any_order(const remote_cursor *cursor, unsigned bits)
{
    return (bits & PT_REMOTE_ORDERED) == 0 && cursor->scan.divided > 1 &&
           pt_remote_table_dialect(cursor->table) != PT_DIALECT_COSMOS;
}

static int begin_remote_query(remote_cursor *cursor, unsigned bits, const char *text, int argc,
                              sqlite3_value **argv, pt_error *error)
{
    pt_stream_query *query = &cursor->scan.query;
    query->select = text + strlen(text) + 1;
    query->top = wanted_entities(bits, &argc, argv);
    query->any_order = query->top == 0 && may_be_in_any_order(cursor, bits);
    pt_remote_conditions *conditions = &cursor->conditions;
    int rc =
        pt_remote_conditions_set(conditions, cursor->table, bits,
                                 query->select + strlen(query->select) + 1, &argc, argv, error);
    query->subject.has_conditions = conditions->parts.count != 0;
    if (rc == SQLITE_OK) {
        rc = take_filter(cursor, bits, &argc, argv, error);
    }
    if (rc == SQLITE_OK && (cursor->filter.nothing || conditions->terms.never)) {
        pt_remote_scan_end(&cursor->scan);
        cursor->eof = true;
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        rc = check_remote_scan(cursor, bits, error);
    }
    if (rc == SQLITE_OK) {
        const unsigned others = PT_REMOTE_LIMIT | PT_REMOTE_OFFSET | PT_REMOTE_ORDERED;
        rc = pt_remote_scan_begin(&cursor->scan, bits & ~others, argc, argv, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_overlay_begin(&cursor->overlay, &cursor->scan, error);
    }
    return rc == SQLITE_OK ? find_next_row(cursor, error) : rc;
}

int pt_remote_cursor_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                            sqlite3_value **argv)
{
    remote_cursor *cursor = remote_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    int rc = begin_remote_query(cursor, (unsigned)plan, text, argc, argv, &error);
    return rc == SQLITE_OK ? rc : pt_remote_table_fail(cursor->table, &error);
}

int pt_remote_cursor_next(sqlite3_vtab_cursor *base)
{
    remote_cursor *cursor = remote_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    int rc = find_next_row(cursor, &error);
    return rc == SQLITE_OK ? rc : pt_remote_table_fail(cursor->table, &error);
}

int pt_remote_cursor_eof(sqlite3_vtab_cursor *base)
{
    return remote_cursor_of(base)->eof;
}

int pt_remote_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    return pt_remote_row_column(&remote_cursor_of(base)->row, context, column);
}

/* The table is WITHOUT ROWID. SQLite may ask before it has connected the table; then it prepares
 * the statement again. */
int pt_remote_cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    (void)rowid;
    return SQLITE_SCHEMA;
}
