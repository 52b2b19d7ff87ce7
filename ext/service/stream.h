/*
 * The entities of one key span, in SQLite's order of keys, page by page from the service.
 */
#ifndef PT_SERVICE_STREAM_H
#define PT_SERVICE_STREAM_H

#include "service/budget.h"
#include "service/call.h"
#include "service/filter_parts.h"
#include "service/page.h"
#include "service/query_text.h"

enum { PT_PAGE_ENTITIES_MAX = 1000 };

#define PT_SELECT_PARTITION "PartitionKey,"
#define PT_SELECT_KEYS PT_SELECT_PARTITION "RowKey"

/* What all streams of a cursor have in common. */
typedef struct pt_stream_query {
    pt_service *service;
    pt_request_subject subject;
    const char *select;           /* PT_SELECT_KEYS and names of properties; "": all */
    const pt_key_condition *rows; /* beside spans of several partitions; NULL: none */
    pt_slice filter;              /* a $filter that each request must have; data NULL: none */
    pt_filter_parts *parts;       /* conditions that SQLite checks again. Left out if the URL would
                                     be too long */
    int64_t timeout;
    int64_t retries;
    pt_budget budget; /* of the statement */
    bool whole;       /* the whole table is scanned */
    int64_t top;      /* entities that SQLite wants, by LIMIT and OFFSET; 0: not known */
    int64_t missing;  /* of them: not yet given */
    bool any_order;   /* of entities; see pt_stream_receive */
    int64_t pages;    /* that came, in any order */
    int64_t in_vain;  /* of them: those of no use, because a range was divided */
} pt_stream_query;

/* All zeros before its first use. */
typedef struct pt_stream {
    pt_stream_query *query;
    pt_arena arena; /* holds the bytes of `span` */
    pt_key_span span;
    bool point;     /* one entity, asked for by its URL */
    int64_t pages;  /* that came */
    bool has_token; /* one of these came with the last page */
    bool has_next_partition;
    bool has_next_row;
    bool finished; /* no page will follow */
    int repeats;   /* see pt_page_check_progress */
    pt_buffer next_partition;
    pt_buffer next_row;
    pt_call call; /* under way if call.http is set */
    int64_t sent; /* when, by pt_http_clock */
    pt_page page;
    size_t at;      /* the next entity in the page */
    size_t ordered; /* entities before this one are in SQLite's order */

    /* In any order. The keys of the last entity that came, and of the last one of a page before. */
    bool has_place; /* they are set */
    pt_buffer last_partition;
    pt_buffer last_row;
    pt_buffer before_partition;
    pt_buffer before_row;
    int64_t alone;     /* so many pages, up to the last one, were of the partition before them */
    bool has_end;      /* another stream reads from these keys on: */
    bool in_partition; /* it does not leave the partition of the last entity */
    bool is_second;    /* it reads what another one has left to it */
    int doubts;        /* times that the other one did not find anything */
    pt_buffer end_partition;
    pt_buffer end_row;
} pt_stream;

/* True if the span is one entity that is asked for by its URL. */
bool pt_stream_is_point(const pt_stream_query *query, const pt_key_span *span);

/* Begins a stream, which copies the span. Sends nothing. SQLITE_OK, SQLITE_NOMEM. */
int pt_stream_open(pt_stream *stream, pt_stream_query *query, const pt_key_span *span,
                   pt_error *error);

/* Sends the request for the next page if none is under way, so that the reply is there sooner. Does
 * nothing if max_requests forbids it: perhaps the page is not needed. Codes of pt_call_send. */
int pt_stream_prefetch(pt_stream *stream, pt_error *error);

/* Moves to the next entity, which stays valid until the next call. *entity = NULL at the end.
 * Codes of pt_budget_spend; SQLITE_TOOBIG if the filter
 * is too long for a URL; codes of pt_call_send,
 * pt_call_receive, pt_call_fail and pt_page_add. */
int pt_stream_next(pt_stream *stream, const pt_page_entity **entity, pt_error *error);

/*
 * In any order, pt_stream_next gives the entities of one page only, as they came, and then NULL. If
 * the stream is not over, pt_stream_receive takes the next page; it does not wait if
 * pt_stream_must_wait says so. Codes as pt_stream_next; SQLITE_IOERR if the service
 * orders keys in an unknown way.
 */
int pt_stream_receive(pt_stream *stream, pt_error *error);
bool pt_stream_must_wait(const pt_stream *stream);

/* True if there are entities in the page that were not given yet. */
static inline bool pt_stream_has_entities(const pt_stream *stream)
{
    return stream->at < stream->page.count;
}

/* True if no entity will follow. */
static inline bool pt_stream_is_over(const pt_stream *stream)
{
    return stream->finished && !pt_stream_has_entities(stream);
}

/* Ends what is under way, and keeps memory for the next pt_stream_open. */
void pt_stream_close(pt_stream *stream);
void pt_stream_free(pt_stream *stream);

#endif
