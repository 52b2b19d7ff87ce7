#include "transaction/batch.h"

#include "base/sqlite.h"
#include "entity/key.h"

void pt_batch_free(pt_batch *batch)
{
    sqlite3_free(batch->entries);
    *batch = (pt_batch){0};
}

bool pt_batch_changes_catalog(const pt_batch *batch)
{
    return batch->count != 0 && pt_get_be32(batch->entries[0]->bytes) == 0;
}

static int put_back(pt_writer *writer, const pt_engine *engine, const pt_batch *batch,
                    pt_snapshot *before, pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < batch->count; i++) {
        rc = engine->write_restore(writer, before, pt_pending_key(batch->entries[i]), error);
    }
    return rc;
}

/* Entries written in another order than that of their keys lie all over the memory: they are asked
 * for in time. */
static void prefetch(const pt_batch *batch, size_t at)
{
    enum { AHEAD = 8, LINE = 64, LINES = 3 };
    if (at + AHEAD >= batch->count) {
        return;
    }
    const uint8_t *memory = (const uint8_t *)batch->entries[at + AHEAD];
    for (int line = 0; line < LINES; line++) {
        __builtin_prefetch(memory + (ptrdiff_t)line * LINE);
    }
}

static int apply(pt_writer *writer, const pt_engine *engine, const pt_batch *batch, pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < batch->count; i++) {
        const pt_pending *pending = batch->entries[i];
        prefetch(batch, i);
        pt_slice key = pt_pending_key(pending);
        rc = pending->operation == PT_DELETE
                 ? engine->write_delete(writer, key, error)
                 : engine->write_put(writer, key, pt_pending_record(pending), error);
    }
    return rc;
}

static int commit_once(pt_store *store, const pt_batch *undo, pt_snapshot *before,
                       const pt_batch *redo, const pt_commit *commit, pt_error *error)
{
    const pt_engine *engine = store->engine;
    pt_writer *writer;
    bool collected;
    int rc = engine->write_begin(store, &writer, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = undo->count == 0 ? engine->write_collect(writer, &collected, error)
                          : put_back(writer, engine, undo, before, error);
    if (rc == SQLITE_OK) {
        rc = apply(writer, engine, redo, error);
    }
    if (rc != SQLITE_OK) {
        engine->write_abort(writer);
        return rc;
    }
    return engine->write_commit(writer, commit, error);
}

/* Collects a slice in a commit of its own; false if there is nothing left, or that fails. */
static bool collect_alone(pt_store *store, pt_sync sync)
{
    const pt_engine *engine = store->engine;
    const pt_commit commit = {.sync = sync};
    pt_error error = PT_ERROR_NONE;
    pt_writer *writer;
    bool collected = false;
    int rc = engine->write_begin(store, &writer, &error);
    if (rc == SQLITE_OK) {
        rc = engine->write_collect(writer, &collected, &error);
        if (rc == SQLITE_OK && collected) {
            rc = engine->write_commit(writer, &commit, &error);
        } else {
            engine->write_abort(writer);
        }
    }
    pt_error_clear(&error);
    return rc == SQLITE_OK && collected;
}

/*
 * What is dropped must go as fast as new data comes, or the file grows for ever where tables come
 * and go. So a batch that is worth several slices has them collected before it.
 */
static void collect_for(pt_store *store, const pt_batch *batch, pt_sync sync)
{
    enum { BYTES_OF_A_SLICE = 1 << 17 };
    size_t bytes = 0;
    for (size_t i = 0; i < batch->count; i++) {
        bytes += pt_pending_key(batch->entries[i]).size + batch->entries[i]->record_size;
        for (; bytes >= BYTES_OF_A_SLICE; bytes -= BYTES_OF_A_SLICE) {
            if (!collect_alone(store, sync)) {
                return;
            }
        }
    }
}

int pt_batch_commit(pt_store *store, const pt_batch *undo, pt_snapshot *before,
                    const pt_batch *redo, const pt_commit *commit, pt_error *error)
{
    if (undo->count == 0) {
        collect_for(store, redo, commit->sync);
    }
    int rc = commit_once(store, undo, before, redo, commit, error);
    if (rc == SQLITE_FULL && undo->count == 0) {
        /* The commit has taken back what it had collected; that would be so for ever. */
        collect_alone(store, commit->sync);
    }
    return rc;
}
