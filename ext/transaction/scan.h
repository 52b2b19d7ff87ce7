/*
 * Reading a view in key order: the snapshot's cursor merged with the pending operations.
 *
 * A scan notices writes and rollbacks that happen while it is open and goes on behind the key it
 * stands on. The row it stands on stays readable until the scan moves.
 */
#ifndef PT_TRANSACTION_SCAN_H
#define PT_TRANSACTION_SCAN_H

#include "transaction/view.h"

typedef struct pt_scan {
    pt_view *view;
    const pt_engine *engine; /* the store's */
    pt_engine_cursor *base;
    pt_memtable_node *node; /* next pending operation, or NULL */
    pt_pending *point;      /* instead, if the bounds hold one key: it needs no order */
    size_t horizon;         /* operations from this length of the memtable on are not seen */
    uint64_t seen_version;  /* of the memtable, when `node` was found */
    pt_direction direction;
    uint32_t table_id;
    pt_buffer limit; /* forward: keys are below it; backward: not below it */
    pt_slice key;    /* of the current row */
    pt_slice record;
    bool valid; /* there is a current row */
    bool on_base;
    bool on_pending;
    pt_buffer key_copy;
    pt_buffer behind_key; /* where to go on after the memtable has changed */
    pt_buffer record_copy;
} pt_scan;

/* All zeros is a closed scan. Opens it on a view, which it retains; an open one is closed first. */
int pt_scan_open(pt_scan *scan, pt_view *view, pt_error *error);

/*
 * From now on the scan sees nothing that is written later, so that a statement that reads what it
 * writes comes to an end. Only a later write to a key that was pending already may show.
 */
void pt_scan_freeze(pt_scan *scan);

/* Lets the view go; the scan's memory is kept for the next use. */
void pt_scan_close(pt_scan *scan);

/* Closes the scan and frees its memory. */
void pt_scan_free(pt_scan *scan);

/*
 * Moves to the first row with low <= key < high (forward), or the last one (backward), and sets the
 * bounds for steps. Both are logical keys, `low` of the table that is read. SQLITE_ABORT_ROLLBACK
 * if the view was withdrawn.
 */
int pt_scan_seek(pt_scan *scan, pt_slice low, pt_slice high, pt_direction direction,
                 pt_error *error);

/*
 * Moves within those bounds to the first row with a key >= `from` (forward), or the last one with a
 * key < `from` (backward). The bytes of `from` are not the current row's.
 */
int pt_scan_leap(pt_scan *scan, pt_slice from, pt_error *error);

/* Draws the far bound nearer: `high` for a forward scan, `low` for a backward one. The current row
 * is inside. */
int pt_scan_narrow(pt_scan *scan, pt_slice limit, pt_error *error);

/* Moves to the neighbouring row. */
int pt_scan_step(pt_scan *scan, pt_error *error);

#endif
