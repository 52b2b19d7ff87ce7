#include "transaction/write_set.h"

#include "base/sqlite.h"
#include "entity/key.h"

void pt_write_set_free(pt_write_set *set)
{
    sqlite3_free(set->entries);
    *set = (pt_write_set){0};
}

/* The catalogue is the table with the lowest id, so its keys come first. */
bool pt_write_set_changes_catalog(const pt_write_set *set)
{
    return set->count != 0 && pt_key_table(pt_pending_key(set->entries[0])) == PT_TABLE_CATALOG;
}

static int undo_writes(pt_writer *writer, const pt_engine *engine, const pt_write_set *set,
                       pt_snapshot *before, pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < set->count; i++) {
        rc = engine->write_restore(writer, before, pt_pending_key(set->entries[i]), error);
    }
    return rc;
}

/* Entries that were not written in key order are scattered in memory, so each would miss the cache.
 * Requests one some entries ahead of its use. */
static void prefetch_entry(const pt_write_set *set, size_t at)
{
    enum { AHEAD = 8, LINE = 64, LINES = 3 };
    if (at + AHEAD >= set->count) {
        return;
    }
    const uint8_t *memory = (const uint8_t *)set->entries[at + AHEAD];
    for (int line = 0; line < LINES; line++) {
        __builtin_prefetch(memory + (ptrdiff_t)line * LINE);
    }
}

/*
 * The part of the swap file that is being read. In key order most large sets are read from the
 * beginning to the end: what has been read is put aside again. In another order each page would
 * soon be back.
 */
typedef struct read_window {
    const pt_swap_file *swap;
    uintptr_t start;
    size_t size;
    size_t entries; /* read in it one after the other */
} read_window;

static read_window first_window(const pt_swap_file *swap)
{
    enum { LEAST = 8 << 20, PARTS = 64 };
    if (swap == NULL) {
        return (read_window){.size = SIZE_MAX};
    }
    /* The more there is, the longer it takes to put aside. */
    size_t part = swap->size / PARTS;
    return (read_window){.swap = swap, .size = part > LEAST ? part : LEAST};
}

static void leave_window(read_window *window, uintptr_t place)
{
    enum { WORTHWHILE = 100 };
    if (window->entries >= WORTHWHILE) {
        pt_swap_put_aside(window->swap);
    }
    window->start = place;
    window->entries = 0;
}

static inline void note_reading(read_window *window, const pt_pending *pending)
{
    uintptr_t place = (uintptr_t)pending;
    if (place - window->start >= window->size) {
        leave_window(window, place);
    }
    window->entries++;
}

static int apply_writes(pt_writer *writer, const pt_engine *engine, const pt_write_set *set,
                        pt_error *error)
{
    int rc = SQLITE_OK;
    read_window window = first_window(set->swap);
    for (size_t i = 0; rc == SQLITE_OK && i < set->count; i++) {
        const pt_pending *pending = set->entries[i];
        note_reading(&window, pending);
        prefetch_entry(set, i);
        pt_slice key = pt_pending_key(pending);
        rc = pending->operation == PT_DELETE
                 ? engine->write_delete(writer, key, error)
                 : engine->write_put(writer, key, pt_pending_record(pending), error);
    }
    return rc;
}

/* A page that could not be written to the disk may have been read back as it was before. */
static int check_swap(const pt_store *store, const pt_write_set *set, pt_error *error)
{
    int problem = set->swap != NULL ? pt_swap_check(set->swap) : 0;
    if (problem == 0) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "store %Q: the disk has lost a part of this large transaction: %s; see to "
                        "the disk, and run the transaction again",
                        store->path, strerror(problem));
}

static int undo_and_apply(pt_store *store, const pt_write_set *undo, pt_snapshot *before,
                          const pt_write_set *redo, const pt_commit *commit, pt_error *error)
{
    const pt_engine *engine = store->engine;
    pt_writer *writer;
    bool collected;
    int rc = engine->write_begin(store, &writer, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* An undo must not collect as well: the undone commit may have dropped the very table whose
     * entities a collection would delete. */
    rc = undo->count == 0 ? engine->write_collect(writer, &collected, error)
                          : undo_writes(writer, engine, undo, before, error);
    /* Undo before redo: `redo` may write keys of `undo` again, and the last write wins. */
    if (rc == SQLITE_OK) {
        rc = apply_writes(writer, engine, redo, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_swap(store, redo->count != 0 ? redo : undo, error);
    }
    if (rc != SQLITE_OK) {
        engine->write_abort(writer);
        return rc;
    }
    return engine->write_commit(writer, commit, error);
}

/* Collects a slice of the dropped tables in a commit of its own. False if nothing is left to
 * collect, or on failure: a later commit will collect. */
static bool collect_one_slice(pt_store *store, pt_sync sync)
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
 * Each commit collects one slice. If tables come and go, a large set that did no more would add
 * data faster than collecting frees it, and the file would grow for ever. So collect in proportion
 * to the set's size.
 */
static void collect_in_proportion(pt_store *store, const pt_write_set *set, pt_sync sync)
{
    enum { BYTES_OF_A_SLICE = 1 << 17 };
    size_t bytes = 0;
    for (size_t i = 0; i < set->count; i++) {
        bytes += pt_pending_key(set->entries[i]).size + set->entries[i]->record_size;
        for (; bytes >= BYTES_OF_A_SLICE; bytes -= BYTES_OF_A_SLICE) {
            if (!collect_one_slice(store, sync)) {
                return;
            }
        }
    }
}

int pt_write_set_commit(pt_store *store, const pt_write_set *undo, pt_snapshot *before,
                        const pt_write_set *redo, const pt_commit *commit, pt_error *error)
{
    if (undo->count == 0) {
        collect_in_proportion(store, redo, commit->sync);
    }
    int rc = undo_and_apply(store, undo, before, redo, commit, error);
    if (rc == SQLITE_FULL && undo->count == 0) {
        /* The failed commit lost the slice that it had collected, and so would every later one:
         * free that space now, for the next attempt. */
        collect_one_slice(store, commit->sync);
    }
    return rc;
}
