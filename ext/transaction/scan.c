#include "transaction/scan.h"

#include "base/sqlite.h"
#include "entity/key.h"

/* No memtable has this version, so the scan will seek its place before it steps. */
#define NEVER_SEEN UINT64_MAX

int pt_scan_open(pt_scan *scan, pt_view *view, pt_error *error)
{
    pt_scan_close(scan);
    scan->engine = view->snapshot->store->engine;
    int rc = scan->engine->cursor_open(view->snapshot, &scan->base, error);
    if (rc == SQLITE_OK) {
        scan->view = pt_view_retain(view);
        scan->horizon = SIZE_MAX;
    }
    return rc;
}

void pt_scan_freeze(pt_scan *scan)
{
    const pt_memtable *memtable = scan->view->memtable;
    scan->horizon = memtable != NULL ? pt_memtable_length(memtable) : 0;
}

void pt_scan_close(pt_scan *scan)
{
    if (scan->view != NULL) {
        scan->engine->cursor_close(scan->base);
        pt_view_release(scan->view);
    }
    scan->view = NULL;
    scan->base = NULL;
    scan->node = NULL;
    scan->point = NULL;
    scan->valid = false;
}

void pt_scan_free(pt_scan *scan)
{
    pt_scan_close(scan);
    pt_buffer_free(&scan->limit);
    pt_buffer_free(&scan->key_copy);
    pt_buffer_free(&scan->next_key);
    pt_buffer_free(&scan->record_copy);
}

static bool within_limit(const pt_scan *scan, pt_slice key)
{
    int order = pt_slice_compare(key, pt_buffer_slice(&scan->limit));
    return scan->direction == PT_FORWARD ? order < 0 : order >= 0;
}

static int refuse_rolled_back(pt_error *error)
{
    return pt_error_set(error, SQLITE_ABORT_ROLLBACK,
                        "the transaction whose writes this statement was reading has been rolled "
                        "back; run the statement again");
}

/* True if pending operations may lie ahead of the scan. Writes to other tables never do. */
static bool merges(const pt_scan *scan)
{
    pt_memtable *memtable = scan->view->memtable;
    return scan->node != NULL || scan->point != NULL ||
           (pt_memtable_version(memtable) != scan->seen_version &&
            pt_memtable_may_hold(memtable, scan->table_id));
}

/* True if the scan's bounds hold this key only: its successor, key + 00, is the limit. Then a hash
 * look-up does, and the memtable need not build its tree. */
static bool holds_only(const pt_scan *scan, pt_slice key)
{
    pt_slice limit = pt_buffer_slice(&scan->limit);
    return scan->direction == PT_FORWARD && limit.size == key.size + 1 &&
           limit.data[key.size] == 0 && pt_slice_has_prefix(limit, key);
}

/* Finds the next pending operation: at `from` or after it (forward), or before it (backward). */
static int seek_pending(pt_scan *scan, pt_slice from, pt_error *error)
{
    pt_memtable *memtable = scan->view->memtable;
    scan->node = NULL;
    scan->point = NULL;
    scan->seen_version = NEVER_SEEN;
    if (memtable == NULL || scan->horizon == 0) {
        return SQLITE_OK;
    }
    scan->seen_version = pt_memtable_version(memtable);
    if (!pt_memtable_may_hold(memtable, scan->table_id)) {
        return SQLITE_OK;
    }
    int rc = holds_only(scan, from)
                 ? pt_memtable_find(memtable, from, &scan->point)
                 : pt_memtable_seek(memtable, scan->table_id, from, scan->direction, &scan->node);
    return rc == SQLITE_OK ? rc : pt_error_nomem(error);
}

/* After the memtable has changed: finds the next pending operation after the current row. Seeks by
 * key, for the old node may be gone. */
static int follow_memtable(pt_scan *scan, pt_error *error)
{
    if (scan->direction == PT_BACKWARD) {
        return seek_pending(scan, scan->key, error);
    }
    /* The smallest key greater than k is k followed by 00. */
    pt_buffer *next = &scan->next_key;
    pt_buffer_assign(next, scan->key);
    pt_buffer_append_byte(next, 0);
    return next->failed ? pt_error_nomem(error) : seek_pending(scan, pt_buffer_slice(next), error);
}

/* The newest version of the operation before the horizon. NULL: all versions are newer. */
static const pt_pending *before_horizon(const pt_scan *scan, const pt_pending *pending)
{
    while (pending != NULL && pending->position >= scan->horizon) {
        pending = pt_memtable_older(scan->view->memtable, pending);
    }
    return pending;
}

/* The next pending operation as it was before the horizon. Skips keys that were not pending then.
 */
static const pt_pending *next_pending(pt_scan *scan)
{
    if (scan->point != NULL) {
        return before_horizon(scan, scan->point);
    }
    for (; scan->node != NULL; scan->node = pt_memtable_step(scan->node, scan->direction)) {
        const pt_pending *pending = pt_memtable_at(scan->node);
        if (!within_limit(scan, pt_pending_key(pending))) {
            return NULL;
        }
        pending = before_horizon(scan, pending);
        if (pending != NULL) {
            return pending;
        }
    }
    return NULL;
}

/* < 0: the scan reaches `a` first; > 0: `b`; 0: the keys are equal. */
static int meeting_order(const pt_scan *scan, pt_slice a, pt_slice b)
{
    int order = pt_slice_compare(a, b);
    return scan->direction == PT_FORWARD ? order : -order;
}

static int advance_sources(pt_scan *scan, pt_error *error)
{
    /* On equal keys the current row was on both sources, so both move: the pending operation hides
     * the stored record. */
    if (scan->on_pending && scan->point != NULL) {
        scan->point = NULL;
    } else if (scan->on_pending) {
        scan->node = pt_memtable_step(scan->node, scan->direction);
    }
    if (scan->on_base) {
        return scan->engine->cursor_step(scan->base, scan->direction, error);
    }
    return SQLITE_OK;
}

static int show_pending(pt_scan *scan, const pt_pending *pending, pt_error *error)
{
    /* Copy: the statement may overwrite or discard the operation while it stands on this row. */
    if (!pt_buffer_assign(&scan->key_copy, pt_pending_key(pending)) ||
        !pt_buffer_assign(&scan->record_copy, pt_pending_record(pending))) {
        scan->valid = false;
        return pt_error_nomem(error);
    }
    scan->key = pt_buffer_slice(&scan->key_copy);
    scan->record = pt_buffer_slice(&scan->record_copy);
    return SQLITE_OK;
}

/* Chooses the current row from the two sources. Skips pending deletions, and what they delete. */
static int choose_row(pt_scan *scan, pt_error *error)
{
    for (;;) {
        const pt_pending *pending = next_pending(scan);
        scan->on_pending = pending != NULL;
        scan->on_base = scan->base->valid;
        if (scan->on_pending && scan->on_base) {
            int order = meeting_order(scan, pt_pending_key(pending), scan->base->key);
            scan->on_pending = order <= 0;
            scan->on_base = order >= 0;
        }
        scan->valid = scan->on_pending || scan->on_base;
        if (!scan->valid) {
            return SQLITE_OK;
        }
        if (!scan->on_pending) {
            scan->key = scan->base->key;
            scan->record = scan->base->record;
            return SQLITE_OK;
        }
        if (pending->operation != PT_DELETE) {
            return show_pending(scan, pending, error);
        }
        /* A run of deletions can be long, and SQLite gets no row in which it could be interrupted.
         */
        int rc = pt_view_step(scan->view, error);
        if (rc == SQLITE_OK) {
            rc = advance_sources(scan, error);
        }
        if (rc != SQLITE_OK) {
            scan->valid = false;
            return rc;
        }
    }
}

int pt_scan_leap(pt_scan *scan, pt_slice from, pt_error *error)
{
    scan->valid = false;
    scan->ahead = 0;
    scan->passed = 0;
    if (scan->view->rolled_back) {
        return refuse_rolled_back(error);
    }
    int rc = scan->engine->cursor_seek(scan->base, from, pt_buffer_slice(&scan->limit),
                                       scan->direction, error);
    if (rc == SQLITE_OK) {
        rc = seek_pending(scan, from, error);
    }
    return rc == SQLITE_OK ? choose_row(scan, error) : rc;
}

int pt_scan_seek(pt_scan *scan, pt_slice low, pt_slice high, pt_direction direction,
                 pt_error *error)
{
    bool forward = direction == PT_FORWARD;
    scan->valid = false;
    scan->direction = direction;
    scan->table_id = pt_key_table(low);
    if (!pt_buffer_assign(&scan->limit, forward ? high : low)) {
        return pt_error_nomem(error);
    }
    return pt_scan_leap(scan, forward ? low : high, error);
}

int pt_scan_narrow(pt_scan *scan, pt_slice limit, pt_error *error)
{
    if (!pt_buffer_assign(&scan->limit, limit)) {
        return pt_error_nomem(error);
    }
    scan->engine->cursor_narrow(scan->base, pt_buffer_slice(&scan->limit));
    return SQLITE_OK;
}

static int step_merged(pt_scan *scan, pt_error *error)
{
    bool changed = pt_memtable_version(scan->view->memtable) != scan->seen_version;
    /* Seeking goes past the current pending operation by itself; only the base must still step. */
    scan->on_pending = scan->on_pending && !changed;
    int rc = changed ? follow_memtable(scan, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = advance_sources(scan, error);
    }
    return rc == SQLITE_OK ? choose_row(scan, error) : rc;
}

int pt_scan_step_beside_writes(pt_scan *scan, pt_error *error)
{
    scan->valid = false;
    if (scan->view->rolled_back) {
        return refuse_rolled_back(error);
    }
    return merges(scan) ? step_merged(scan, error) : pt_scan_step_base(scan, error);
}

int pt_scan_arrive(pt_scan *scan, pt_error *error)
{
    unsigned steps = scan->passed;
    scan->ahead -= steps;
    scan->passed = 0;
    if (steps == 0) {
        return SQLITE_OK;
    }
    int rc = scan->engine->cursor_skip(scan->base, scan->direction, steps, error);
    return pt_scan_take_base(scan, rc);
}

int pt_scan_open_table(pt_scan *scan, pt_view *view, uint32_t table_id, pt_error *error)
{
    pt_key_start start = pt_key_start_of_table(table_id);
    pt_key_start end = pt_key_start_after(start);
    int rc = pt_scan_open(scan, view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_scan_freeze(scan);
    return pt_scan_seek(scan, pt_key_start_slice(&start), pt_key_start_slice(&end), PT_FORWARD,
                        error);
}
