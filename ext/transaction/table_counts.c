#include "transaction/table_counts.h"

#include "base/sqlite.h"
#include "entity/key.h"

/* What the pending operations on the keys that begin so change, in records and bytes. */
typedef struct changes {
    int64_t records;
    int64_t bytes;
} changes;

static int add_change(pt_view *view, const pt_pending *pending, changes *sum, pt_error *error)
{
    pt_slice key = pt_pending_key(pending);
    bool found;
    pt_slice before;
    int rc = view->snapshot->store->engine->get(view->snapshot, key, &found, &before, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (found) {
        sum->records--;
        sum->bytes -= (int64_t)(key.size + before.size);
    }
    if (pending->operation != PT_DELETE) {
        sum->records++;
        sum->bytes += (int64_t)(key.size + pending->record_size);
    }
    return SQLITE_OK;
}

static int add_changes(pt_view *view, pt_slice prefix, changes *sum, pt_error *error)
{
    if (!pt_view_has_pending(view) ||
        !pt_memtable_may_hold(view->memtable, pt_get_be32(prefix.data))) {
        return SQLITE_OK;
    }
    pt_memtable_node *node;
    if (pt_memtable_seek(view->memtable, prefix, PT_FORWARD, &node) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && node != NULL &&
           pt_slice_has_prefix(pt_pending_key(pt_memtable_at(node)), prefix)) {
        rc = add_change(view, pt_memtable_at(node), sum, error);
        rc = rc == SQLITE_OK ? pt_view_step(view, error) : rc;
        node = pt_memtable_step(node, PT_FORWARD);
    }
    return rc;
}

int pt_table_counts_of(pt_view *view, uint32_t table_id, pt_table_counts *counts, pt_error *error)
{
    uint8_t entities[PT_KEY_TABLE_SIZE];
    uint8_t chunks[2 * PT_KEY_TABLE_SIZE];
    changes of_entities = {0};
    changes of_chunks = {0};
    pt_table_counts stored;
    pt_put_be32(entities, table_id);
    pt_put_be32(chunks, PT_TABLE_CHUNKS);
    pt_put_be32(chunks + PT_KEY_TABLE_SIZE, table_id);
    int rc = view->snapshot->store->engine->counts(view->snapshot, table_id, &stored, error);
    if (rc == SQLITE_OK) {
        rc = add_changes(view, pt_slice_of(entities, sizeof entities), &of_entities, error);
    }
    if (rc == SQLITE_OK) {
        rc = add_changes(view, pt_slice_of(chunks, sizeof chunks), &of_chunks, error);
    }
    if (rc == SQLITE_OK) {
        counts->entities = pt_add_counts(stored.entities, of_entities.records);
        counts->bytes = pt_add_counts(stored.bytes, of_entities.bytes + of_chunks.bytes);
        counts->chunks = pt_add_counts(stored.chunks, of_chunks.records);
    }
    return rc;
}
