#include "service/remote_scan.h"

enum {
    POINTS_FACTOR = 2,
    PAGES_A_DIVISION = 4,
    REQUESTS_A_DIVISION = 16,  /* of max_requests: the others are for entities */
    GUESSES = 4,               /* that may fail in a row */
    ADDED_COMPARISONS = 4,     /* in the filter of a part */
    DIVIDED_FILTER_MAX = 1000, /* bytes of a Filter that leaves room for them in a URL */
};

bool pt_remote_scan_init(pt_remote_scan *scan, int64_t parallel, int64_t divided)
{
    scan->parallel = (int)parallel;
    scan->divided = (int)divided;
    scan->capacity = POINTS_FACTOR * scan->parallel;
    scan->capacity = scan->capacity > scan->divided ? scan->capacity : scan->divided;
    size_t size = (size_t)scan->capacity * sizeof *scan->streams;
    scan->streams = sqlite3_malloc64(size);
    if (scan->streams == NULL) {
        return false;
    }
    memset(scan->streams, 0, size);
    return true;
}

static pt_stream *stream_at(const pt_remote_scan *scan, int place)
{
    return &scan->streams[(scan->first + place) % scan->capacity];
}

void pt_remote_scan_end(pt_remote_scan *scan)
{
    for (int i = 0; i < scan->count; i++) {
        pt_stream_close(stream_at(scan, i));
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
    scan->divisions = 0;
    scan->retries = scan->query.service->counts.retries;
    scan->guesses = GUESSES;
    scan->query.pages = 0;
    scan->query.in_vain = 0;
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
    bool point = pt_stream_is_point(&scan->query, span);
    int most = point ? POINTS_FACTOR * scan->parallel : scan->parallel;
    bool limited = scan->query.top != 0;
    bool may_ask =
        pt_budget_allows(&scan->query.budget, scan->query.whole ? PT_REQUEST_SCAN : PT_REQUEST_ASK);
    return scan->count == 0 || (scan->count < most && may_ask && (!limited || scan->left > 0));
}

static int open_stream(pt_remote_scan *scan, const pt_key_span *span, pt_error *error)
{
    pt_stream *stream = stream_at(scan, scan->count);
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

/* --- Dividing spans --- */

/* True if a filter of the statement leaves room for the bounds of a part, with all conditions. */
static bool has_room_for_bounds(const pt_stream_query *query)
{
    return query->filter.size <= DIVIDED_FILTER_MAX &&
           pt_filter_parts_count(query->parts, query->filter) + ADDED_COMPARISONS <=
               PT_FILTER_COMPARISONS_MAX;
}

/* True if another stream may read a part of what one of the streams reads. A service that refuses
 * requests because there are too many gets no more at once. */
static bool may_divide(const pt_remote_scan *scan)
{
    const pt_stream_query *query = &scan->query;
    int64_t more = scan->divisions + query->in_vain;
    bool useful = more < (query->pages - query->in_vain) / PAGES_A_DIVISION && scan->guesses > 0;
    pt_request_kind kind = query->whole ? PT_REQUEST_SCAN : PT_REQUEST_MORE;
    int64_t most = pt_budget_limit(&query->budget, kind);
    bool allowed =
        most == 0 || (more < most / REQUESTS_A_DIVISION && pt_budget_allows(&query->budget, kind));
    return useful && allowed && scan->count < scan->divided && scan->walked &&
           scan->span_next == scan->span_count && query->service->counts.retries == scan->retries &&
           has_room_for_bounds(query);
}

/* Finds the stream that is divided best; NULL if none can be. */
static pt_stream *find_largest(const pt_remote_scan *scan, pt_division *best)
{
    pt_stream *largest = NULL;
    for (int i = 0; i < scan->count; i++) {
        pt_division division;
        pt_stream *stream = stream_at(scan, i);
        if (pt_division_find(stream, &division) &&
            (largest == NULL || pt_division_is_better(&division, best))) {
            largest = stream;
            *best = division;
        }
    }
    return largest;
}

static int divide_streams(pt_remote_scan *scan, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && may_divide(scan)) {
        pt_division division = {0};
        pt_stream *stream = find_largest(scan, &division);
        if (stream == NULL) {
            break;
        }
        pt_stream *second = stream_at(scan, scan->count);
        rc = pt_division_perform(&division, stream, second, error);
        if (rc == SQLITE_OK) {
            scan->count++;
            scan->divisions++;
            rc = pt_stream_prefetch(second, error);
        }
    }
    return rc;
}

/* Looks if the part of a stream that is over had anything. */
static void judge_division(pt_remote_scan *scan, const pt_stream *second)
{
    bool failed = !second->has_place && second->pages <= 1;
    scan->guesses += failed ? -1 : scan->guesses < GUESSES;
    scan->query.in_vain += failed;
    for (int i = 0; failed && i < scan->count; i++) {
        pt_stream *stream = stream_at(scan, i);
        stream->doubts += pt_division_is_of(stream, second);
    }
}

/* --- Entities --- */

static void drop_first(pt_remote_scan *scan)
{
    pt_stream *stream = stream_at(scan, 0);
    if (stream->is_second) {
        judge_division(scan, stream);
    }
    pt_stream_close(stream);
    scan->first = (scan->first + 1) % scan->capacity;
    scan->count--;
}

static void put_first_last(pt_remote_scan *scan)
{
    pt_stream *from = stream_at(scan, 0);
    pt_stream *to = stream_at(scan, scan->count);
    if (from != to) {
        pt_stream kept = *to;
        *to = *from;
        *from = kept;
    }
    scan->first = (scan->first + 1) % scan->capacity;
}

/* True if the stream's first page is to be read when the streams before it have given theirs: the
 * rows of short ranges come in order. */
static bool is_read_in_turn(const pt_stream *stream)
{
    return stream->pages == 0 && !stream->is_second;
}

/* Puts a stream first whose next page is there, or will not come. */
static int wait_for_page(pt_remote_scan *scan, pt_error *error)
{
    int rc = SQLITE_OK;
    for (int looked = 1; rc == SQLITE_OK; looked++) {
        pt_stream *stream = stream_at(scan, 0);
        rc = pt_stream_prefetch(stream, error);
        if (rc != SQLITE_OK || is_read_in_turn(stream) || !pt_stream_must_wait(stream)) {
            return rc;
        }
        put_first_last(scan);
        if (looked == scan->count) {
            rc = pt_call_wait_for_any(&stream_at(scan, 0)->call, error);
            looked = 0;
        }
    }
    return rc;
}

/* Makes the first stream one that has an entity; no stream at the end. The others have none: their
 * pages wait as they came. */
static int read_any(pt_remote_scan *scan, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && (scan->count == 0 || !pt_stream_has_entities(stream_at(scan, 0)))) {
        if (scan->count != 0 && pt_stream_is_over(stream_at(scan, 0))) {
            drop_first(scan);
        } else if (scan->count != 0) {
            put_first_last(scan);
        }
        rc = open_streams(scan, error);
        if (rc != SQLITE_OK || scan->count == 0) {
            return rc;
        }
        rc = wait_for_page(scan, error);
        if (rc == SQLITE_OK) {
            rc = pt_stream_receive(stream_at(scan, 0), error);
        }
        if (rc == SQLITE_OK) {
            rc = divide_streams(scan, error);
        }
    }
    return rc;
}

int pt_remote_scan_next(pt_remote_scan *scan, const pt_page_entity **entity, const pt_page **page,
                        pt_error *error)
{
    for (;;) {
        *entity = NULL;
        int rc = scan->query.any_order ? read_any(scan, error) : open_streams(scan, error);
        if (rc != SQLITE_OK || scan->count == 0) {
            return rc;
        }
        pt_stream *stream = stream_at(scan, 0);
        rc = pt_stream_next(stream, entity, error);
        *page = &stream->page;
        if (rc != SQLITE_OK || *entity != NULL) {
            scan->query.missing -= scan->query.missing > 0;
            return rc;
        }
        if (!scan->query.any_order) {
            drop_first(scan);
        }
    }
}
