#include "service/remote_scan.h"

enum { POINTS_FACTOR = 2 };

bool pt_remote_scan_init(pt_remote_scan *scan, int64_t parallel)
{
    scan->parallel = (int)parallel;
    scan->capacity = POINTS_FACTOR * scan->parallel;
    size_t size = (size_t)scan->capacity * sizeof *scan->streams;
    scan->streams = sqlite3_malloc64(size);
    if (scan->streams == NULL) {
        return false;
    }
    memset(scan->streams, 0, size);
    return true;
}

void pt_remote_scan_end(pt_remote_scan *scan)
{
    for (int i = 0; i < scan->count; i++) {
        pt_stream_close(&scan->streams[(scan->first + i) % scan->capacity]);
    }
    scan->count = 0;
}

void pt_remote_scan_free(pt_remote_scan *scan)
{
    for (int i = 0; i < scan->capacity; i++) {
        pt_stream_free(&scan->streams[i]);
    }
    sqlite3_free(scan->streams);
    pt_ranges_free(&scan->ranges);
    pt_range_walk_free(&scan->walk);
    pt_buffer_free(&scan->after_first);
    *scan = (pt_remote_scan){0};
}

int pt_remote_scan_begin(pt_remote_scan *scan, unsigned plan_bits, int argc, sqlite3_value **argv,
                         pt_error *error)
{
    pt_remote_scan_end(scan);
    int rc = pt_ranges_set(&scan->ranges, plan_bits, argc, argv, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_key_condition *rows = &scan->ranges.row;
    scan->query.rows = pt_condition_is_always(rows) ? NULL : rows;
    scan->query.missing = scan->query.top;
    pt_range_walk_begin(&scan->walk, PT_FORWARD);
    scan->walked = false;
    scan->span_count = 0;
    scan->span_next = 0;
    scan->round = 0;
    return SQLITE_OK;
}

/* --- From ranges to streams --- */

/* The next range becomes spans. Without probing, what RowKeys there are in unknown partitions is
 * for the service to find: a condition on RowKeys goes with the rest of the partitions. */
static int take_range(pt_remote_scan *scan, pt_error *error)
{
    pt_interval range;
    scan->span_next = 0;
    scan->span_count = 0;
    switch (pt_range_walk_next(&scan->walk, &scan->ranges, &range)) {
    case PT_RANGE_FOUND:
        scan->span_count = pt_query_split(&range, &scan->after_first, scan->spans);
        scan->walked = !range.bounded;
        if (!pt_range_walk_leave(&scan->walk, &range)) {
            return pt_error_nomem(error);
        }
        break;
    case PT_RANGE_PROBE:
        scan->span_count = pt_query_split(&range, &scan->after_first, scan->spans);
        scan->walked = true;
        break;
    case PT_RANGE_END:
        scan->walked = true;
        break;
    case PT_RANGE_NOMEM:
    default:
        return pt_error_nomem(error);
    }
    return scan->after_first.failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* The next span to open, NULL if there are no more. */
static int find_span(pt_remote_scan *scan, const pt_key_span **span, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && scan->span_next == scan->span_count && !scan->walked) {
        rc = take_range(scan, error);
    }
    bool found = rc == SQLITE_OK && scan->span_next < scan->span_count;
    *span = found ? &scan->spans[scan->span_next] : NULL;
    return rc;
}

/* True if a stream for the span should be opened now. One always is. With a LIMIT, streams come in
 * rounds. */
static bool is_time_for(const pt_remote_scan *scan, const pt_key_span *span)
{
    int most = pt_stream_is_point(&scan->query, span) ? scan->capacity : scan->parallel;
    bool limited = scan->query.top != 0;
    return scan->count == 0 ||
           (scan->count < most && pt_stream_may_send(&scan->query) && (!limited || scan->left > 0));
}

static int open_stream(pt_remote_scan *scan, const pt_key_span *span, pt_error *error)
{
    pt_stream *stream = &scan->streams[(scan->first + scan->count) % scan->capacity];
    int rc = pt_stream_open(stream, &scan->query, span, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    scan->span_next++;
    scan->count++;
    scan->left--;
    return pt_stream_prefetch(stream, error);
}

/* The first round of streams may have as many entities as a LIMIT wants, in their first pages. If
 * they do not, because entities are missing or SQLite rejects some, the next round is twice as
 * large. */
static void begin_round(pt_remote_scan *scan, const pt_key_span *span)
{
    int64_t each = pt_stream_is_point(&scan->query, span) ? 1 : PT_PAGE_ENTITIES_MAX;
    scan->round = scan->round == 0 ? (scan->query.top + each - 1) / each : scan->round * 2;
    scan->left = scan->round;
}

/* Opens streams for the next spans, each of which sends its first request. */
static int open_streams(pt_remote_scan *scan, pt_error *error)
{
    for (;;) {
        const pt_key_span *span;
        int rc = find_span(scan, &span, error);
        if (rc != SQLITE_OK || span == NULL) {
            return rc;
        }
        if (scan->count == 0) {
            begin_round(scan, span);
        }
        rc = is_time_for(scan, span) ? open_stream(scan, span, error) : SQLITE_DONE;
        if (rc != SQLITE_OK) {
            return rc == SQLITE_DONE ? SQLITE_OK : rc;
        }
    }
}

int pt_remote_scan_next(pt_remote_scan *scan, const pt_page_entity **entity, const pt_page **page,
                        pt_error *error)
{
    for (;;) {
        *entity = NULL;
        int rc = open_streams(scan, error);
        if (rc != SQLITE_OK || scan->count == 0) {
            return rc;
        }
        pt_stream *stream = &scan->streams[scan->first];
        rc = pt_stream_next(stream, entity, error);
        *page = &stream->page;
        if (rc != SQLITE_OK || *entity != NULL) {
            scan->query.missing -= scan->query.missing > 0;
            return rc;
        }
        pt_stream_close(stream);
        scan->first = (scan->first + 1) % scan->capacity;
        scan->count--;
    }
}
