/*
 * A view is what one SQL transaction or statement sees of a store: a snapshot and, once the
 * transaction writes, its memtable on top. A view outlives its transaction while cursors read it.
 */
#ifndef PT_TRANSACTION_VIEW_H
#define PT_TRANSACTION_VIEW_H

#include "transaction/interruption.h"
#include "transaction/memtable.h"

/* Remembers whether a table has large values in the snapshot. */
typedef struct pt_chunks_known {
    uint32_t table_id;
    bool known;
    bool any;
} pt_chunks_known;

enum { PT_VIEW_CHUNKS_KNOWN = 8 };

/* The greatest key that a table has in the snapshot. A load in ascending order writes only greater
 * keys, and need not look for them in the store. */
typedef struct pt_last_key {
    pt_buffer key; /* empty: the table has no entity */
    uint32_t table_id;
} pt_last_key;

enum { PT_VIEW_LAST_KEYS = 8 };

typedef struct pt_view {
    pt_snapshot *snapshot; /* begun while the view is in use */
    pt_memtable *memtable; /* NULL: the transaction does not write */
    pt_memtable *spare;    /* an empty one, or NULL */
    unsigned references;
    bool rolled_back;              /* the memtable was, after cursors may have shown its writes */
    int64_t now;                   /* pt_view_now; 0: nobody has asked yet */
    pt_interruption *interruption; /* of the statements that read the view, or NULL */
    pt_chunks_known chunks[PT_VIEW_CHUNKS_KNOWN]; /* a cache, by table id modulo its size */
    pt_last_key last_keys[PT_VIEW_LAST_KEYS];     /* a cache as well: of a table and its indexes */
    uint8_t last_known;                           /* which of them are known, as bits */
} pt_view;

/* A view of the store's newest version, with one reference. SQLITE_NOMEM, or the engine's error. */
int pt_view_open(pt_store *store, pt_view **view, pt_error *error);

/* The last reference ends the snapshot and frees everything. NULL is allowed. */
void pt_view_release(pt_view *view);

static inline pt_view *pt_view_retain(pt_view *view)
{
    view->references++;
    return view;
}

/*
 * The time, in ticks, by which entities of the view have expired: the later of the system's clock
 * and the store's. It is read when it is first asked for, and then stays the same for as long as
 * the view shows this version of the store.
 */
int64_t pt_view_now(pt_view *view);

/* True if the view's memtable has any operation. */
static inline bool pt_view_has_pending(const pt_view *view)
{
    return view->memtable != NULL && pt_memtable_length(view->memtable) != 0;
}

/* Gives a view that has no memtable an empty one. False when out of memory. */
bool pt_view_begin_writing(pt_view *view);

/* For loops over what the view shows: pt_interruption_step. */
static inline int pt_view_step(pt_view *view, pt_error *error)
{
    return pt_interruption_step(view->interruption, error);
}

/* The record of the logical key of an entity or a catalogue entry, as the view shows it. Valid
 * until the next write or the view's end. SQLITE_OK, SQLITE_NOMEM, or the engine's error. */
int pt_view_get(pt_view *view, pt_slice key, bool *found, pt_slice *record, pt_error *error);

/* Sets *beyond to false unless the key is known to be greater than all of its table in the
 * snapshot. A transaction with few writes does not try to find out. Codes as pt_view_get. */
int pt_view_is_beyond_stored(pt_view *view, pt_slice key, bool *beyond, pt_error *error);

/* --- The view that new statements see --- */

/* All zeros: none. An unused view is kept as the spare one, so that the next statement allocates
 * nothing. */
typedef struct pt_current_view {
    pt_view *view;
    pt_view *spare;
} pt_current_view;

/* Replaces the current view by one of the store's newest version. `interruption`: NULL if the
 * statements cannot be interrupted. On failure there is no current view. Codes as pt_view_open. */
int pt_current_view_renew(pt_current_view *current, pt_store *store, pt_interruption *interruption,
                          pt_error *error);

/* Drops the current view. Cursors that read it keep it alive. */
void pt_current_view_drop(pt_current_view *current);

/* Drops it and frees the spare view. */
void pt_current_view_free(pt_current_view *current);

#endif
