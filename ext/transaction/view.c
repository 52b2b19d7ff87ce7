#include "transaction/view.h"

#include "base/assert.h"
#include "base/sqlite.h"
#include "base/ticks.h"
#include "entity/key.h"

/* Finding a table's last key costs as much as a look-up: only a longer transaction gains by it. */
enum { WRITES_BEFORE_LAST_KEY = 16 };

int pt_view_open(pt_store *store, pt_view **out, pt_error *error)
{
    pt_view *view = sqlite3_malloc64(sizeof *view);
    if (view == NULL) {
        return pt_error_nomem(error);
    }
    *view = (pt_view){.references = 1};
    int rc = store->engine->snapshot_new(store, &view->snapshot, error);
    if (rc == SQLITE_OK) {
        rc = store->engine->snapshot_begin(view->snapshot, error);
    }
    if (rc != SQLITE_OK) {
        store->engine->snapshot_free(view->snapshot);
        sqlite3_free(view);
        return rc;
    }
    *out = view;
    return SQLITE_OK;
}

void pt_view_release(pt_view *view)
{
    if (view == NULL || --view->references > 0) {
        return;
    }
    pt_memtable_free(view->memtable);
    pt_memtable_free(view->spare);
    for (int i = 0; i < PT_VIEW_LAST_KEYS; i++) {
        pt_buffer_free(&view->last_keys[i].key);
    }
    view->snapshot->store->engine->snapshot_free(view->snapshot);
    sqlite3_free(view);
}

bool pt_view_begin_writing(pt_view *view)
{
    /* A spare memtable keeps its memory, so a small transaction allocates nothing. */
    view->memtable = view->spare;
    view->spare = NULL;
    if (view->memtable == NULL) {
        const pt_store *store = view->snapshot->store;
        view->memtable = pt_memtable_new();
        if (view->memtable != NULL && !store->is_private) {
            pt_memtable_swap_beside(view->memtable, store->path);
        }
    }
    return view->memtable != NULL;
}

int64_t pt_view_now(pt_view *view)
{
    if (view->now == 0) {
        int64_t clock = pt_ticks_now();
        view->now = clock > view->snapshot->clock ? clock : view->snapshot->clock;
    }
    return view->now;
}

/* --- One record --- */

static int find_last_stored(pt_view *view, uint32_t table_id, pt_buffer *last, pt_error *error)
{
    const pt_engine *engine = view->snapshot->store->engine;
    pt_key_start low = pt_key_start_of_table(table_id);
    pt_key_start high = pt_key_start_after(low);
    pt_engine_cursor *cursor;
    int rc = engine->cursor_open(view->snapshot, &cursor, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_buffer_clear(last);
    rc = engine->cursor_seek(cursor, pt_key_start_slice(&high), pt_key_start_slice(&low),
                             PT_BACKWARD, error);
    /* Copy the key: it is valid only until the cursor is closed. */
    if (rc == SQLITE_OK && cursor->valid && !pt_buffer_assign(last, cursor->key)) {
        rc = pt_error_nomem(error);
    }
    engine->cursor_close(cursor);
    return rc;
}

static inline int is_beyond_snapshot(pt_view *view, pt_slice key, bool *beyond, pt_error *error)
{
    uint32_t table_id = pt_key_table(key);
    size_t place = table_id % PT_VIEW_LAST_KEYS;
    pt_last_key *last = &view->last_keys[place];
    *beyond = false;
    if (view->memtable == NULL || pt_memtable_length(view->memtable) < WRITES_BEFORE_LAST_KEY) {
        return SQLITE_OK;
    }
    if ((view->last_known >> place & 1) == 0 || last->table_id != table_id) {
        /* Unknown until the search has succeeded: a failure must not leave half an answer. */
        view->last_known &= (uint8_t) ~(1u << place);
        int rc = find_last_stored(view, table_id, &last->key, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        last->table_id = table_id;
        view->last_known |= (uint8_t)(1u << place);
    }
    *beyond = pt_slice_compare(key, pt_buffer_slice(&last->key)) > 0;
    if (*beyond) {
        pt_memtable_note_last_stored(view->memtable, table_id, pt_buffer_slice(&last->key));
    }
    return SQLITE_OK;
}

int pt_view_is_beyond_stored(pt_view *view, pt_slice key, bool *beyond, pt_error *error)
{
    return is_beyond_snapshot(view, key, beyond, error);
}

static int get_stored(pt_view *view, pt_slice key, bool *found, pt_slice *record, pt_error *error)
{
    bool beyond;
    int rc = is_beyond_snapshot(view, key, &beyond, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (beyond) {
        *found = false;
        return SQLITE_OK;
    }
    return view->snapshot->store->engine->get(view->snapshot, key, found, record, error);
}

/* A pending operation hides what the snapshot has: look for it first. */
int pt_view_get(pt_view *view, pt_slice key, bool *found, pt_slice *record, pt_error *error)
{
    pt_pending *pending = NULL;
    if (view->memtable != NULL) {
        if (pt_memtable_is_beyond_stored(view->memtable, key)) {
            *found = false;
            return SQLITE_OK;
        }
        if (pt_memtable_find(view->memtable, key, &pending) != SQLITE_OK) {
            return pt_error_nomem(error);
        }
    }
    if (pending == NULL) {
        return get_stored(view, key, found, record, error);
    }
    *found = pending->operation != PT_DELETE;
    *record = pt_pending_record(pending);
    return SQLITE_OK;
}

/* --- The current view --- */

/* Ends the snapshot of a view that nobody uses, and empties its memtable. */
static void end_view(pt_view *view)
{
    if (view->memtable != NULL) {
        pt_memtable_reset(view->memtable);
        view->spare = view->memtable;
        view->memtable = NULL;
    }
    /* Forget what was remembered of the snapshot. */
    view->rolled_back = false;
    view->now = 0;
    view->last_known = 0;
    memset(view->chunks, 0, sizeof view->chunks);
    view->snapshot->store->engine->snapshot_end(view->snapshot);
}

void pt_current_view_drop(pt_current_view *current)
{
    pt_view *view = current->view;
    current->view = NULL;
    if (view == NULL) {
        return;
    }
    if (view->references > 1) {
        pt_view_release(view);
        return;
    }
    PT_ASSERT(current->spare == NULL);
    end_view(view);
    current->spare = view;
}

int pt_current_view_renew(pt_current_view *current, pt_store *store, pt_interruption *interruption,
                          pt_error *error)
{
    /* Drop first: an unused view becomes the spare one, and is begun again here. */
    pt_current_view_drop(current);
    pt_view *view = current->spare;
    int rc = view != NULL ? store->engine->snapshot_begin(view->snapshot, error)
                          : pt_view_open(store, &view, error);
    if (rc == SQLITE_OK) {
        PT_ASSERT(view != NULL);
        view->interruption = interruption;
        *current = (pt_current_view){.view = view};
    }
    return rc;
}

void pt_current_view_free(pt_current_view *current)
{
    pt_view_release(current->view);
    pt_view_release(current->spare);
    *current = (pt_current_view){0};
}
