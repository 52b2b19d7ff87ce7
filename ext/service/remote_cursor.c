#include "service/remote_cursor.h"

#include "query/ranges.h"
#include "service/remote_planner.h"
#include "service/remote_row.h"
#include "service/remote_table.h"
#include "service/stream.h"

enum { SCAN_REQUESTS_MAX = 1000 };

typedef struct remote_cursor {
    sqlite3_vtab_cursor base;
    pt_remote_table *table;
    bool eof;
    pt_stream_query query;
    pt_ranges ranges;
    pt_range_walk walk;
    bool walked;                         /* the walk has no more ranges */
    pt_key_span spans[PT_KEY_SPANS_MAX]; /* of the walk's range */
    int span_count;
    int span_next;
    pt_buffer after_first; /* a bound of them */
    pt_stream *streams;    /* a ring: `stream_count` of them from `stream_first` on are open */
    int stream_capacity;
    int stream_first;
    int stream_count;
    int width; /* streams that may be open now */
    pt_remote_row row;
} remote_cursor;

static remote_cursor *remote_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (remote_cursor *)cursor;
}

/* --- Opening and closing --- */

static bool allocate_cursor(const pt_remote_table *table, remote_cursor **cursor)
{
    size_t columns = (size_t)table->config.base.column_count;
    size_t streams = (size_t)table->config.parallel;
    *cursor =
        sqlite3_malloc64(sizeof **cursor + streams * sizeof(pt_stream) + columns * sizeof(size_t));
    if (*cursor == NULL) {
        return false;
    }
    memset(*cursor, 0, sizeof **cursor + streams * sizeof(pt_stream) + columns * sizeof(size_t));
    (*cursor)->streams = (pt_stream *)(*cursor + 1);
    (*cursor)->stream_capacity = (int)streams;
    (*cursor)->row.hints = (size_t *)((*cursor)->streams + streams);
    return true;
}

int pt_remote_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    remote_cursor *cursor;
    if (!allocate_cursor(table, &cursor)) {
        return SQLITE_NOMEM;
    }
    const pt_service_config *config = &table->config;
    cursor->table = table;
    cursor->row.config = config;
    cursor->query = (pt_stream_query){
        .service = table->service,
        .subject = {.account = config->account, .table = config->base.table},
        .timeout = config->timeout,
        .retries = config->retries,
    };
    *out = &cursor->base;
    return SQLITE_OK;
}

static void close_streams(remote_cursor *cursor)
{
    for (int i = 0; i < cursor->stream_capacity; i++) {
        pt_stream_close(&cursor->streams[i]);
    }
    cursor->stream_count = 0;
}

int pt_remote_cursor_close(sqlite3_vtab_cursor *base)
{
    remote_cursor *cursor = remote_cursor_of(base);
    for (int i = 0; i < cursor->stream_capacity; i++) {
        pt_stream_free(&cursor->streams[i]);
    }
    pt_ranges_free(&cursor->ranges);
    pt_range_walk_free(&cursor->walk);
    pt_buffer_free(&cursor->after_first);
    pt_remote_row_free(&cursor->row);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* --- From ranges to streams --- */

/* The next range becomes spans. Without probing, what RowKeys there are in unknown partitions is
 * for the service to find: a condition on RowKeys goes with the rest of the partitions. */
static int take_range(remote_cursor *cursor, pt_error *error)
{
    pt_interval range;
    switch (pt_range_walk_next(&cursor->walk, &cursor->ranges, &range)) {
    case PT_RANGE_FOUND:
        cursor->span_count = pt_query_split(&range, &cursor->after_first, cursor->spans);
        cursor->walked = !range.bounded;
        if (!pt_range_walk_leave(&cursor->walk, &range)) {
            return pt_error_nomem(error);
        }
        break;
    case PT_RANGE_PROBE:
        cursor->span_count = pt_query_split(&range, &cursor->after_first, cursor->spans);
        cursor->walked = true;
        break;
    case PT_RANGE_END:
        cursor->span_count = 0;
        cursor->walked = true;
        break;
    case PT_RANGE_NOMEM:
    default:
        return pt_error_nomem(error);
    }
    cursor->span_next = 0;
    return cursor->after_first.failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* Opens streams for the next spans, as many as may be open. The first one sends its request when it
 * is read, the others at once. */
static int open_streams(remote_cursor *cursor, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && cursor->stream_count < cursor->width) {
        if (cursor->span_next == cursor->span_count) {
            if (cursor->walked) {
                break;
            }
            rc = take_range(cursor, error);
            continue;
        }
        int place = (cursor->stream_first + cursor->stream_count) % cursor->stream_capacity;
        pt_stream *stream = &cursor->streams[place];
        rc = pt_stream_open(stream, &cursor->query, &cursor->spans[cursor->span_next], error);
        if (rc == SQLITE_OK) {
            cursor->span_next++;
            cursor->stream_count++;
            rc = pt_stream_prefetch(stream, error);
        }
    }
    return rc;
}

static int find_next_entity(remote_cursor *cursor, pt_error *error)
{
    for (;;) {
        int rc = open_streams(cursor, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (cursor->stream_count == 0) {
            cursor->eof = true;
            return SQLITE_OK;
        }
        pt_stream *stream = &cursor->streams[cursor->stream_first];
        rc = pt_stream_next(stream, &cursor->row.entity, error);
        cursor->row.page = &stream->page;
        if (rc != SQLITE_OK || cursor->row.entity != NULL) {
            return rc;
        }
        pt_stream_close(stream);
        cursor->stream_first = (cursor->stream_first + 1) % cursor->stream_capacity;
        cursor->stream_count--;
    }
}

/* --- xFilter and xNext --- */

static int check_remote_scan(remote_cursor *cursor, unsigned bits, pt_error *error)
{
    const pt_service_config *config = &cursor->table->config;
    cursor->query.max_requests = config->max_requests;
    if (!pt_plan_is_table_scan(bits)) {
        return SQLITE_OK;
    }
    if (config->max_requests == 0) {
        cursor->query.max_requests = SCAN_REQUESTS_MAX;
    }
    return !config->base.deny_scan
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

static int begin_remote_query(remote_cursor *cursor, unsigned bits, const char *text, int argc,
                              sqlite3_value **argv, pt_error *error)
{
    close_streams(cursor);
    cursor->eof = false;
    cursor->walked = false;
    cursor->span_count = 0;
    cursor->span_next = 0;
    cursor->query.select = text + strlen(text) + 1;
    cursor->query.top = wanted_entities(bits, &argc, argv);
    bool few = cursor->query.top > 0 && cursor->query.top < cursor->stream_capacity;
    cursor->width = few ? (int)cursor->query.top : cursor->stream_capacity;
    int rc = check_remote_scan(cursor, bits, error);
    if (rc == SQLITE_OK) {
        rc = pt_ranges_set(&cursor->ranges, bits, argc, argv, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_key_condition *rows = &cursor->ranges.row;
    cursor->query.rows = pt_condition_is_always(rows) ? NULL : rows;
    pt_range_walk_begin(&cursor->walk, PT_FORWARD);
    return find_next_entity(cursor, error);
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
    int rc = find_next_entity(cursor, &error);
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
