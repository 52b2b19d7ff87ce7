#include "service/stream.h"

#include <stdlib.h>

#include "entity/key.h"

enum {
    FIRST_ABOVE_SURROGATES = 0xEE, /* first byte in UTF-8 */
    DRIVE_ENTITIES = 64,           /* of a page are read between two looks for the next one */
    URL_QUERY_MAX = 7500, /* of 8 KiB, which services take; endpoint and signature need some */
};

/* --- Requests --- */

static bool copy_span(pt_stream *stream, const pt_key_span *span)
{
    stream->span = *span;
    stream->span.partition = pt_arena_copy(&stream->arena, span->partition);
    stream->span.keys.low = pt_arena_copy(&stream->arena, span->keys.low);
    stream->span.keys.high = pt_arena_copy(&stream->arena, span->keys.high);
    return stream->span.partition.data != NULL && stream->span.keys.low.data != NULL &&
           stream->span.keys.high.data != NULL;
}

bool pt_stream_is_point(const pt_stream_query *query, const pt_key_span *span)
{
    pt_slice row;
    return query->filter.data == NULL && pt_query_is_point(span, &row) &&
           pt_query_has_url(span->partition, row);
}

/* True if the entities that come are in the span's partition, so that they need not tell. A filter
 * of the statement could find others: its parentheses are not looked at. */
static bool knows_partition(const pt_stream *stream)
{
    return stream->query->filter.data == NULL && pt_query_names_partition(&stream->span);
}

int pt_stream_open(pt_stream *stream, pt_stream_query *query, const pt_key_span *span,
                   pt_error *error)
{
    pt_stream_close(stream);
    stream->query = query;
    if (!copy_span(stream, span)) {
        return pt_error_nomem(error);
    }
    stream->point = pt_stream_is_point(query, span);
    stream->page.partition = knows_partition(stream) ? stream->span.partition : (pt_slice){0};
    return SQLITE_OK;
}

static void begin_parameter(pt_buffer *query, const char *name)
{
    if (query->size != 0) {
        pt_buffer_append_byte(query, '&');
    }
    pt_buffer_append_text(query, name);
    pt_buffer_append_byte(query, '=');
}

static void add_parameter(pt_buffer *query, const char *name, pt_slice value)
{
    begin_parameter(query, name);
    pt_query_append_encoded(query, value);
}

static void add_filter(const pt_stream *stream, bool conditions, pt_buffer *query)
{
    pt_buffer filter = {0};
    pt_slice given = stream->query->filter;
    pt_query_append_filter(&filter, &stream->span, stream->query->rows);
    bool alone = filter.size == 0 && stream->query->parts->count == 0;
    if (given.size != 0) {
        pt_buffer_append_text(&filter, filter.size != 0 ? " and " : "");
        pt_buffer_append_text(&filter, alone ? "" : "(");
        pt_buffer_append_slice(&filter, given);
        pt_buffer_append_text(&filter, alone ? "" : ")");
    }
    if (conditions) {
        pt_filter_parts_append(stream->query->parts, &filter);
    }
    if (filter.size != 0) {
        add_parameter(query, "$filter", pt_buffer_slice(&filter));
    }
    query->failed = query->failed || filter.failed;
    pt_buffer_free(&filter);
}

/* A small first page if few entities are wanted. If none of them fits, full pages follow. */
static void add_top(const pt_stream *stream, pt_buffer *query)
{
    int64_t top = stream->query->top;
    if (top > 0 && top < PT_PAGE_ENTITIES_MAX && !stream->has_token) {
        char digits[24];
        sqlite3_snprintf(sizeof digits, digits, "%lld", (long long)top);
        add_parameter(query, "$top", pt_slice_text(digits));
    }
}

static void add_select(const pt_stream *stream, pt_buffer *query)
{
    const char *names = stream->query->select;
    if (names[0] != 0) {
        names += knows_partition(stream) ? sizeof PT_SELECT_PARTITION - 1 : 0;
        add_parameter(query, "$select", pt_slice_text(names));
    }
}

static void describe_page_query(pt_stream *stream, bool select, bool conditions)
{
    pt_buffer *query = &stream->call.query;
    pt_buffer_clear(query);
    if (!stream->point) {
        add_filter(stream, conditions, query);
        add_top(stream, query);
    }
    if (select) {
        add_select(stream, query);
    }
    if (stream->has_next_partition) {
        add_parameter(query, "NextPartitionKey", pt_buffer_slice(&stream->next_partition));
    }
    if (stream->has_next_row) {
        add_parameter(query, "NextRowKey", pt_buffer_slice(&stream->next_row));
    }
}

/* Leaves out of a URL that would be too long what the reply is right without. */
static int describe_page_call(pt_stream *stream, pt_error *error)
{
    pt_call *call = &stream->call;
    const pt_stream_query *query = stream->query;
    call->service = query->service;
    call->subject = query->subject;
    call->method = PT_HTTP_GET;
    call->timeout = query->timeout;
    call->retries = query->retries;
    pt_buffer_clear(&call->path);
    pt_buffer_append_byte(&call->path, '/');
    pt_query_append_encoded(&call->path, pt_slice_text(query->subject.table));
    if (stream->point) {
        pt_slice row;
        pt_query_is_point(&stream->span, &row);
        pt_query_append_keys(&call->path, stream->span.partition, row);
    } else {
        pt_buffer_append_text(&call->path, "()");
    }
    describe_page_query(stream, true, true);
    for (int left_out = 1; left_out <= 3 && call->query.size > URL_QUERY_MAX; left_out++) {
        describe_page_query(stream, (left_out & 1) == 0, (left_out & 2) == 0);
    }
    return call->query.size <= URL_QUERY_MAX || query->filter.data == NULL
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_TOOBIG,
                              "the Filter makes a URL of %lld bytes, and the service takes about "
                              "%d; write a shorter one, or several that are joined by OR",
                              (long long)call->query.size, URL_QUERY_MAX);
}

static pt_request_kind next_request_kind(const pt_stream *stream)
{
    bool first = stream->pages == 0 && !stream->is_second;
    return stream->query->whole ? PT_REQUEST_SCAN : first ? PT_REQUEST_ASK : PT_REQUEST_MORE;
}

int pt_stream_prefetch(pt_stream *stream, pt_error *error)
{
    const pt_budget *budget = &stream->query->budget;
    pt_request_kind kind = next_request_kind(stream);
    if (stream->finished || stream->call.http != NULL || !pt_budget_allows(budget, kind)) {
        return SQLITE_OK;
    }
    int rc = describe_page_call(stream, error);
    if (rc == SQLITE_OK) {
        rc = pt_budget_spend(budget, kind, error);
    }
    if (rc == SQLITE_OK) {
        stream->sent = pt_http_clock();
        rc = pt_call_send(&stream->call, error);
    }
    return rc;
}

/* --- Replies --- */

static bool keep_token(const pt_http_reply *reply, const char *header, pt_buffer *token, bool *has)
{
    pt_slice value;
    *has = pt_http_header(reply, header, &value);
    return !*has || pt_buffer_assign(token, value);
}

/* True if a header is as the request had it. */
static bool is_same_token(const pt_http_reply *reply, const char *header, const pt_buffer *token,
                          bool has)
{
    pt_slice value;
    bool came = pt_http_header(reply, header, &value);
    return came == has && (!came || pt_slice_equal(value, pt_buffer_slice(token)));
}

/* Each header may come without the other, or be empty. Only if neither came is the query over. */
static int keep_continuation(pt_stream *stream, const pt_http_reply *reply, bool *same,
                             pt_error *error)
{
    static const char partition[] = "x-ms-continuation-NextPartitionKey";
    static const char row[] = "x-ms-continuation-NextRowKey";
    *same = stream->has_token &&
            is_same_token(reply, partition, &stream->next_partition, stream->has_next_partition) &&
            is_same_token(reply, row, &stream->next_row, stream->has_next_row);
    if (!keep_token(reply, partition, &stream->next_partition, &stream->has_next_partition) ||
        !keep_token(reply, row, &stream->next_row, &stream->has_next_row)) {
        return pt_error_nomem(error);
    }
    stream->has_token = stream->has_next_partition || stream->has_next_row;
    stream->finished = !stream->has_token;
    return SQLITE_OK;
}

/* True if the reply says that there is no such entity: it is no error to ask for one. */
static bool is_missing_entity(const pt_stream *stream, const pt_http_reply *reply)
{
    const pt_refusal *refusal = &stream->call.refusal;
    return stream->point && reply->outcome == PT_HTTP_REPLIED && reply->status == 404 &&
           pt_refusal_has_code(refusal, "ResourceNotFound");
}

/* --- Parts of a range --- */

static int refuse_order(pt_error *error)
{
    return pt_error_set(error, SQLITE_IOERR,
                        "the service orders keys in an unknown way, so it cannot be asked for "
                        "several ranges of them at once; create the table with streams=1");
}

static bool is_after_end(const pt_stream *stream, const pt_page_entity *entity)
{
    int order = pt_slice_compare(entity->partition, pt_buffer_slice(&stream->end_partition));
    return order > 0 ||
           (order == 0 && pt_slice_compare(entity->row, pt_buffer_slice(&stream->end_row)) >= 0);
}

/* Drops the entities that another stream reads. After the first of them the stream is over. */
static int drop_after_end(pt_stream *stream, pt_error *error)
{
    pt_page *page = &stream->page;
    size_t kept = 0;
    while (kept < page->count && !is_after_end(stream, &page->entities[kept])) {
        kept++;
    }
    for (size_t i = kept; i < page->count; i++) {
        if (!is_after_end(stream, &page->entities[i])) {
            return refuse_order(error);
        }
    }
    stream->finished = stream->finished || kept < page->count;
    stream->query->in_vain += kept == 0;
    page->count = kept;
    return SQLITE_OK;
}

static void swap_buffers(pt_buffer *one, pt_buffer *other)
{
    pt_buffer kept = *one;
    *one = *other;
    *other = kept;
}

/* Keeps where the stream is, of a page that has entities. */
static bool note_place(pt_stream *stream)
{
    const pt_page_entity *first = &stream->page.entities[0];
    const pt_page_entity *last = &stream->page.entities[stream->page.count - 1];
    if (stream->has_place) {
        bool same = pt_slice_equal(first->partition, last->partition) &&
                    pt_slice_equal(first->partition, pt_buffer_slice(&stream->last_partition));
        stream->alone = same ? stream->alone + 1 : 0;
        swap_buffers(&stream->before_partition, &stream->last_partition);
        swap_buffers(&stream->before_row, &stream->last_row);
    } else if (!pt_buffer_assign(&stream->before_partition, first->partition) ||
               !pt_buffer_assign(&stream->before_row, first->row)) {
        return false;
    }
    stream->has_place = pt_buffer_assign(&stream->last_partition, last->partition) &&
                        pt_buffer_assign(&stream->last_row, last->row);
    return stream->has_place;
}

/* Looks at a page that came in any order. The service must find a bound where the extension finds
 * it: else entities could be lost between two streams, or found by both. */
static int note_page(pt_stream *stream, pt_error *error)
{
    const pt_page *page = &stream->page;
    stream->query->pages++;
    if (page->count == 0) {
        return SQLITE_OK;
    }
    const pt_page_entity *first = &page->entities[0];
    if (stream->is_second && pt_slice_compare(stream->span.one ? first->row : first->partition,
                                              stream->span.keys.low) < 0) {
        return refuse_order(error);
    }
    if (!note_place(stream)) {
        return pt_error_nomem(error);
    }
    return stream->has_end ? drop_after_end(stream, error) : SQLITE_OK;
}

/* True if the page after the one that comes just now will certainly be read, or very probably: many
 * statements stop in their first page, few in a later one. */
static bool will_read_on(const pt_stream *stream)
{
    const pt_stream_query *query = stream->query;
    int64_t pages = query->any_order ? query->pages : stream->pages;
    return query->top == 0 ? pages > 0 : query->missing > PT_PAGE_ENTITIES_MAX;
}

/* Takes the page out of a reply, and asks for the one after it before reading it; but a stream that
 * has an end looks first if it is there. */
static int take_page(pt_stream *stream, pt_http_reply *reply, pt_error *error)
{
    bool same = false;
    size_t before = stream->page.count;
    int rc = stream->point ? SQLITE_OK : keep_continuation(stream, reply, &same, error);
    stream->finished = stream->finished || stream->point;
    pt_buffer body = reply->body;
    reply->body = (pt_buffer){0};
    pt_call_end(&stream->call);
    bool reads_on = will_read_on(stream);
    if (rc == SQLITE_OK && reads_on && !stream->has_end) {
        rc = pt_stream_prefetch(stream, error);
    }
    stream->pages++;
    if (rc == SQLITE_OK) {
        rc = pt_page_add(&stream->page, &body, stream->point ? PT_PAGE_OF_ONE : PT_PAGE_OF_ENTITIES,
                         error);
        pt_call_name_request(&stream->call, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_page_check_progress(same, stream->page.count - before, &stream->repeats, error);
    }
    pt_buffer_free(&body);
    if (rc == SQLITE_OK && stream->query->any_order) {
        rc = note_page(stream, error);
    }
    return rc == SQLITE_OK && reads_on && stream->has_end ? pt_stream_prefetch(stream, error) : rc;
}

/* Forgets a request whose time is over because the rows before it were read slowly: nobody was
 * there to receive the reply. */
static void forget_late_request(pt_stream *stream)
{
    const pt_stream_query *query = stream->query;
    if (stream->call.http != NULL && pt_http_clock() - stream->sent >= query->timeout * 1000) {
        pt_call_end(&stream->call);
        pt_budget_take_back(&query->budget, next_request_kind(stream));
    }
}

/* Adds the next page to the entities that are there. */
static int receive_page(pt_stream *stream, pt_error *error)
{
    pt_http_reply *reply;
    forget_late_request(stream);
    int rc = pt_stream_prefetch(stream, error);
    if (rc == SQLITE_OK && stream->call.http == NULL) { /* it is not allowed */
        rc = pt_budget_spend(&stream->query->budget, next_request_kind(stream), error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_call_receive(&stream->call, &reply, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (is_missing_entity(stream, reply)) {
        stream->finished = true;
        pt_call_end(&stream->call);
        return SQLITE_OK;
    }
    return pt_call_has_succeeded(reply) ? take_page(stream, reply, error)
                                        : pt_call_fail(&stream->call, reply, error);
}

/* --- Order --- */

/* Where the first character from U+E000 on begins in a key; its size if there is none. */
static size_t find_high_character(pt_slice key)
{
    size_t at = 0;
    while (at < key.size && key.data[at] < FIRST_ABOVE_SURROGATES) {
        at++;
    }
    return at;
}

static int compare_entities(const void *a, const void *b)
{
    const pt_page_entity *left = a;
    const pt_page_entity *right = b;
    int order = pt_slice_compare(left->partition, right->partition);
    return order != 0 ? order : pt_slice_compare(left->row, right->row);
}

/* `a` has more than `size` bytes. */
static bool agree_before(pt_slice a, pt_slice b, size_t size)
{
    return b.size > size && b.data[size] >= FIRST_ABOVE_SURROGATES &&
           memcmp(a.data, b.data, size) == 0;
}

/* True if the service may have the two in another order than SQLite: their keys are the same up to
 * a character from U+D800 on. */
static bool may_be_swapped(const pt_page_entity *first, const pt_page_entity *other)
{
    size_t at = find_high_character(first->partition);
    if (at < first->partition.size) {
        return agree_before(first->partition, other->partition, at);
    }
    return pt_slice_equal(first->partition, other->partition) &&
           agree_before(first->row, other->row, find_high_character(first->row));
}

/* Orders the entity at the stream's place and those after it that belong together with it, on
 * further pages if need be. */
static int order_group(pt_stream *stream, pt_error *error)
{
    pt_page *page = &stream->page;
    size_t end = stream->at + 1;
    int rc = SQLITE_OK;
    const pt_page_entity *first = &page->entities[stream->at];
    if (find_high_character(first->partition) == first->partition.size &&
        find_high_character(first->row) == first->row.size) {
        stream->ordered = end;
        return SQLITE_OK;
    }
    while (rc == SQLITE_OK) {
        while (end < page->count &&
               may_be_swapped(&page->entities[stream->at], &page->entities[end])) {
            end++;
        }
        if (end < page->count || stream->finished) {
            break;
        }
        rc = receive_page(stream, error);
    }
    qsort(page->entities + stream->at, end - stream->at, sizeof *page->entities, compare_entities);
    stream->ordered = end;
    return rc;
}

/* --- Entities --- */

/* True if the next page should be on its way now: half of this one is read, or a LIMIT wants more
 * entities than it has. The first page of a LIMIT may be enough, even if it is small. */
static bool wants_next_page(const pt_stream *stream)
{
    const pt_stream_query *query = stream->query;
    size_t left = stream->page.count - stream->at;
    bool enough = query->top != 0 && (query->missing != 0 || stream->pages == 1);
    return enough ? query->missing > (int64_t)left : stream->at == (stream->page.count + 1) / 2;
}

int pt_stream_receive(pt_stream *stream, pt_error *error)
{
    pt_page_clear(&stream->page);
    stream->at = 0;
    stream->ordered = 0;
    return receive_page(stream, error);
}

bool pt_stream_must_wait(const pt_stream *stream)
{
    return !stream->finished && !pt_stream_has_entities(stream) && stream->call.http != NULL &&
           !pt_http_is_over(stream->call.http);
}

static int fill_page(pt_stream *stream, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && stream->at == stream->page.count && !stream->finished &&
           !stream->query->any_order) {
        rc = pt_stream_receive(stream, error);
    }
    return rc;
}

int pt_stream_next(pt_stream *stream, const pt_page_entity **entity, pt_error *error)
{
    *entity = NULL;
    for (;;) {
        int rc = fill_page(stream, error);
        if (rc != SQLITE_OK || stream->at == stream->page.count) {
            return rc;
        }
        bool ordered = stream->query->any_order || stream->at < stream->ordered;
        rc = ordered ? SQLITE_OK : order_group(stream, error);
        if (rc == SQLITE_OK && wants_next_page(stream)) {
            rc = pt_stream_prefetch(stream, error);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (stream->at % DRIVE_ENTITIES == 0 &&
            (stream->call.http != NULL || stream->query->any_order)) {
            pt_http_drive(stream->query->service->http);
        }
        const pt_page_entity *found = &stream->page.entities[stream->at++];
        if (pt_query_holds(&stream->span, stream->query->rows, found->partition, found->row)) {
            *entity = found;
            return SQLITE_OK;
        }
    }
}

void pt_stream_close(pt_stream *stream)
{
    pt_call_end(&stream->call);
    pt_page_clear(&stream->page);
    pt_arena_clear(&stream->arena);
    stream->pages = 0;
    stream->has_token = false;
    stream->has_next_partition = false;
    stream->has_next_row = false;
    stream->finished = false;
    stream->at = 0;
    stream->ordered = 0;
    stream->has_place = false;
    stream->alone = 0;
    stream->has_end = false;
    stream->in_partition = false;
    stream->is_second = false;
    stream->doubts = 0;
}

void pt_stream_free(pt_stream *stream)
{
    pt_call_free(&stream->call);
    pt_page_free(&stream->page);
    pt_arena_free(&stream->arena);
    pt_buffer_free(&stream->next_partition);
    pt_buffer_free(&stream->next_row);
    pt_buffer_free(&stream->last_partition);
    pt_buffer_free(&stream->last_row);
    pt_buffer_free(&stream->before_partition);
    pt_buffer_free(&stream->before_row);
    pt_buffer_free(&stream->end_partition);
    pt_buffer_free(&stream->end_row);
    *stream = (pt_stream){0};
}
