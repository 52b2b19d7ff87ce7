/*
 * Reads the entities of a plan's key ranges. A range becomes spans, and a span a stream
 * (service/stream.h). Several streams are under way at once. In SQLite's order of keys they are
 * read one after the other.
 *
 * If the order does not matter, their pages are read as they come, and a long span is divided
 * (service/division.h). That begins when a few pages have come, and costs at most one request
 * more for each four pages.
 */
#ifndef PT_SERVICE_REMOTE_SCAN_H
#define PT_SERVICE_REMOTE_SCAN_H

#include "query/ranges.h"
#include "service/division.h"

typedef struct pt_remote_scan {
    pt_stream_query query; /* set it before pt_remote_scan_begin */
    int parallel;          /* streams at once; of streams with one entity each, twice as many */
    int divided;           /* streams at once when spans are divided */
    pt_ranges ranges;
    pt_range_walk walk;
    bool walked;                         /* the walk has no more ranges */
    pt_key_span spans[PT_KEY_SPANS_MAX]; /* of the walk's range */
    int span_count;
    int span_next;
    pt_buffer after_first; /* a bound of them */
    pt_stream *streams;    /* a ring: `count` of them from `first` on are open */
    int capacity;
    int first;
    int count;
    int64_t round;     /* with a LIMIT: streams of this round; 0: of none yet. See open_streams */
    int64_t left;      /* of them: not opened */
    int64_t divisions; /* so far */
    int64_t retries;   /* of the connection, before the scan */
    int guesses;       /* bounds that may still turn out to have nothing after them */
} pt_remote_scan;

/* Zero `scan` before. False when out of memory. */
bool pt_remote_scan_init(pt_remote_scan *scan, int64_t parallel, int64_t divided);

/*
 * Begins to read what a plan asks for; bits and arguments as for pt_ranges_set. query.any_order
 * says if the order of entities matters, and may be taken back before the first of them. The last
 * reading ends. Codes as pt_ranges_set; sends nothing.
 */
int pt_remote_scan_begin(pt_remote_scan *scan, unsigned plan_bits, int argc, sqlite3_value **argv,
                         pt_error *error);

/* Moves to the next entity, which is in the page and valid until the next call. *entity = NULL at
 * the end. Codes as pt_stream_next; pt_remote_scan_begin must follow an error. */
int pt_remote_scan_next(pt_remote_scan *scan, const pt_page_entity **entity, const pt_page **page,
                        pt_error *error);

/* Ends the requests that are under way. */
void pt_remote_scan_end(pt_remote_scan *scan);
void pt_remote_scan_free(pt_remote_scan *scan);

#endif
