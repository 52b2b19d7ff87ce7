/*
 * What one SQL transaction or statement sees of a store: a snapshot and, once it writes, its
 * memtable laid over it. A view outlives its transaction while cursors read it.
 */
#ifndef PT_TRANSACTION_VIEW_H
#define PT_TRANSACTION_VIEW_H

#include "transaction/interruption.h"
#include "transaction/memtable.h"

/* Whether a table has large values in the view's snapshot, as far as it has been asked. */
typedef struct pt_chunks_known {
    uint32_t table_id;
    bool known;
    bool any;
} pt_chunks_known;

enum { PT_VIEW_CHUNKS_KNOWN = 8 };

typedef struct pt_view {
    pt_snapshot *snapshot; /* begun while the view is in use */
    pt_memtable *memtable; /* NULL: nothing is written */
    pt_memtable *spare;    /* an empty one, or NULL */
    unsigned references;
    pt_interruption *interruption; /* of those who read it, or NULL */
    bool withdrawn; /* the memtable was rolled back: what was read is no longer true */
    pt_chunks_known chunks[PT_VIEW_CHUNKS_KNOWN]; /* by table id, the last one asked for */
} pt_view;

/* A view of the store's newest version with one reference. */
int pt_view_open(pt_store *store, pt_view **view, pt_error *error);

/* The last reference ends the snapshot and frees everything. NULL is allowed. */
void pt_view_release(pt_view *view);

static inline pt_view *pt_view_retain(pt_view *view)
{
    view->references++;
    return view;
}

/* Whether anything is pending in the view. */
static inline bool pt_view_has_pending(const pt_view *view)
{
    return view->memtable != NULL && pt_memtable_length(view->memtable) != 0;
}

/* Gives a view that has none a memtable. False when out of memory. */
bool pt_view_begin_writing(pt_view *view);

/* Puts a view by that nobody else uses, and empties its memtable; it can be opened again without
 * allocating. */
void pt_view_put_by(pt_view *view);
int pt_view_reopen(pt_view *view, pt_error *error);

/*
 * Whether a pending operation decides what the view shows under a key, and if so what that is:
 * *found and *record as pt_view_get sets them.
 */
int pt_view_get_pending(pt_view *view, pt_slice key, bool *decided, bool *found, pt_slice *record,
                        pt_error *error);

/* For loops over what the view shows: pt_interruption_step. */
static inline int pt_view_step(pt_view *view, pt_error *error)
{
    return pt_interruption_step(view->interruption, error);
}

/* The record of a logical key as the view shows it; valid until the next write or the view's end.
 */
int pt_view_get(pt_view *view, pt_slice key, bool *found, pt_slice *record, pt_error *error);

#endif
