#include "transaction/view.h"

#include "base/sqlite.h"

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
    view->snapshot->store->engine->snapshot_free(view->snapshot);
    sqlite3_free(view);
}

bool pt_view_begin_writing(pt_view *view)
{
    view->memtable = view->spare != NULL ? view->spare : pt_memtable_new();
    view->spare = NULL;
    return view->memtable != NULL;
}

void pt_view_put_by(pt_view *view)
{
    if (view->memtable != NULL) {
        pt_memtable_reset(view->memtable);
        view->spare = view->memtable;
        view->memtable = NULL;
    }
    view->withdrawn = false;
    view->snapshot->store->engine->snapshot_end(view->snapshot);
}

int pt_view_reopen(pt_view *view, pt_error *error)
{
    memset(view->chunks, 0, sizeof view->chunks);
    return view->snapshot->store->engine->snapshot_begin(view->snapshot, error);
}

int pt_view_get_pending(pt_view *view, pt_slice key, bool *decided, bool *found, pt_slice *record,
                        pt_error *error)
{
    *decided = false;
    if (!pt_view_has_pending(view)) {
        return SQLITE_OK;
    }
    pt_pending *pending;
    if (pt_memtable_find(view->memtable, key, &pending) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (pending != NULL) {
        *decided = true;
        *found = pending->operation != PT_DELETE;
        *record = pt_pending_record(pending);
    }
    return SQLITE_OK;
}

int pt_view_get(pt_view *view, pt_slice key, bool *found, pt_slice *record, pt_error *error)
{
    bool decided;
    int rc = pt_view_get_pending(view, key, &decided, found, record, error);
    if (rc != SQLITE_OK || decided) {
        return rc;
    }
    return view->snapshot->store->engine->get(view->snapshot, key, found, record, error);
}
