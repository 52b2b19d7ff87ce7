/*
 * The entities of a scan as the open transaction has changed them: its operations, which the
 * service gets at COMMIT, laid over the entities that the service sends.
 */
#ifndef PT_SERVICE_OVERLAY_H
#define PT_SERVICE_OVERLAY_H

#include "service/remote_scan.h"

/* An operation on an entity that the scan covers. */
typedef struct pt_overlay_row {
    pt_write_mode mode;
    bool must_exist; /* it has an If-Match */
    size_t sent;     /* the place of its entity in the page of those */
} pt_overlay_row;

/* All zeros before its first use. */
typedef struct pt_overlay {
    pt_overlay_row *rows; /* by ascending keys */
    size_t count;
    size_t capacity;
    size_t next;    /* the next one */
    pt_page sent;   /* their entities, as they were written; of a delete only the keys */
    pt_page merged; /* an entity of the service with the properties of a merge */
    bool ahead;     /* the scan's next entity is known already: */
    const pt_page_entity *entity; /* NULL: it has no more */
    const pt_page *page;
} pt_overlay;

/*
 * Begins to lay the transaction's operations over a scan that has just begun. Later operations do
 * not change it. If there are some in the scan's ranges, the scan leaves its conditions to SQLite.
 * SQLITE_ERROR if it has a Filter, which only the service can judge; SQLITE_NOMEM.
 */
int pt_overlay_begin(pt_overlay *overlay, pt_remote_scan *scan, pt_error *error);

/* Moves to the next entity, as pt_remote_scan_next. One that has been written by the transaction
 * has neither ETag nor Timestamp. */
int pt_overlay_next(pt_overlay *overlay, pt_remote_scan *scan, const pt_page_entity **entity,
                    const pt_page **page, pt_error *error);

/* The error for a Filter that would have to judge what the transaction has written. SQLITE_ERROR.
 */
int pt_overlay_refuse_filter(pt_error *error);

void pt_overlay_free(pt_overlay *overlay);

#endif
