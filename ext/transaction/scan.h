/*
 * Reads a view in key order: merges the snapshot's cursor with the pending operations.
 *
 * If the memtable changes while a scan is open, the next step goes on after the current key. The
 * current row stays readable until the scan moves.
 */
#ifndef PT_TRANSACTION_SCAN_H
#define PT_TRANSACTION_SCAN_H

#include "base/sqlite.h"
#include "transaction/view.h"

typedef struct pt_scan {
    pt_view *view;
    const pt_engine *engine; /* the store's */
    pt_engine_cursor *base;
    pt_memtable_node *node; /* next pending operation, or NULL */
    pt_pending *point;      /* used instead of `node` if the bounds hold one key only */
    size_t horizon;         /* the scan does not see entries of the log from here on */
    uint64_t seen_version;  /* of the memtable when `node` was found */
    pt_direction direction;
    uint32_t table_id;
    pt_buffer limit; /* forward: keys are below it; backward: not below it */
    pt_slice key;    /* of the current row */
    pt_slice record;
    unsigned ahead;  /* rows that are known to follow */
    unsigned passed; /* rows of them that were passed over: pt_scan_pass */
    bool valid;      /* there is a current row */
    bool on_base;
    bool on_pending;
    pt_buffer key_copy;
    pt_buffer next_key; /* where to go on after the memtable has changed */
    pt_buffer record_copy;
} pt_scan;

/* All zeros is a closed scan. Opens it on a view, and retains the view. Closes an open scan first.
 */
int pt_scan_open(pt_scan *scan, pt_view *view, pt_error *error);

/*
 * Hides later writes, so that a statement that reads the table it writes comes to an end. Only a
 * later write to a key that is pending now may show, because it may overwrite in place.
 */
void pt_scan_freeze(pt_scan *scan);

/* Opens a scan on a table, which does not show later writes, and moves to its first row. Codes as
 * pt_scan_seek. */
int pt_scan_open_table(pt_scan *scan, pt_view *view, uint32_t table_id, pt_error *error);

/* Releases the view. Keeps the scan's memory for the next use. */
void pt_scan_close(pt_scan *scan);

/* Closes the scan and frees its memory. */
void pt_scan_free(pt_scan *scan);

/*
 * Moves to the first row with low <= key < high (forward), or the last one (backward), and sets the
 * bounds for steps. Both are logical keys; `low` begins with the table's id. At the end `valid` is
 * false. SQLITE_ABORT_ROLLBACK if the view's writes were rolled back; SQLITE_NOMEM;
 * SQLITE_INTERRUPT; or the engine's error.
 */
int pt_scan_seek(pt_scan *scan, pt_slice low, pt_slice high, pt_direction direction,
                 pt_error *error);

/*
 * Moves within those bounds to the first row with a key >= `from` (forward), or the last one with a
 * key < `from` (backward). `from` must not point into the current row. Codes as pt_scan_seek.
 */
int pt_scan_leap(pt_scan *scan, pt_slice from, pt_error *error);

/* Moves the far bound closer: `high` of a forward scan, `low` of a backward one. The current row
 * must lie inside. SQLITE_OK or SQLITE_NOMEM. */
int pt_scan_narrow(pt_scan *scan, pt_slice limit, pt_error *error);

/* Takes the row after a move of the snapshot's cursor that returned `rc`. */
static inline int pt_scan_take_base(pt_scan *scan, int rc)
{
    scan->valid = rc == SQLITE_OK && scan->base->valid;
    if (scan->valid) {
        scan->key = pt_slice_copy(&scan->base->key);
        scan->record = pt_slice_copy(&scan->base->record);
    }
    return rc;
}

/* Steps if no pending operation lies ahead. */
static inline int pt_scan_step_base(pt_scan *scan, pt_error *error)
{
    return pt_scan_take_base(scan, scan->engine->cursor_step(scan->base, scan->direction, error));
}

int pt_scan_step_beside_writes(pt_scan *scan, pt_error *error);

/* Shows a row that has a key, which is not copied, but no record. Nothing but a new search, the end
 * or another such row may follow. */
static inline void pt_scan_show_key(pt_scan *scan, pt_slice key)
{
    scan->key = key;
    scan->record = (pt_slice){0};
    scan->valid = true;
    scan->on_pending = true;
}

/* Moves to the next row in the direction of the scan. Codes as pt_scan_seek. */
static inline int pt_scan_step(pt_scan *scan, pt_error *error)
{
    const pt_view *view = scan->view;
    bool sees_writes = view->memtable != NULL && scan->horizon != 0;
    return !sees_writes && !view->rolled_back ? pt_scan_step_base(scan, error)
                                              : pt_scan_step_beside_writes(scan, error);
}

/*
 * --- Counting rows ---
 *
 * A scan of one range that sees no writes can pass over rows that are known to follow. It then
 * stands where it was, and nothing but pt_scan_arrive, a new search or the end may follow.
 */

/* True if the scan shows no pending operation, also none to come. */
static inline bool pt_scan_sees_no_writes(const pt_scan *scan)
{
    return scan->horizon == 0;
}

/* Learns how many rows follow the current one. */
static inline void pt_scan_look_ahead(pt_scan *scan)
{
    scan->ahead = scan->engine->cursor_ahead(scan->base, scan->direction);
    scan->passed = 0;
}

/* Passes to the next row. False if it is not known that there is one. */
static inline bool pt_scan_pass(pt_scan *scan)
{
    if (scan->passed == scan->ahead || scan->view->rolled_back) {
        return false;
    }
    scan->passed++;
    return true;
}

/* Moves to the row that was passed to last. The engine's error. */
int pt_scan_arrive(pt_scan *scan, pt_error *error);

#endif
