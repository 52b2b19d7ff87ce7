/*
 * The real engine, with methods that fail when a test says so and that count their calls.
 *
 *     pt_store *store = open_faulty(NULL);
 *     fault_next(FAULTY_COMMIT);               the next commit fails, later ones do not
 *     fault_from(FAULTY_RESTORE, 2);           all from the third call on fail
 *     fault_none();
 */
#ifndef TESTS_FAULTS_FAULTY_ENGINE_H
#define TESTS_FAULTS_FAULTY_ENGINE_H

#include "fixtures/store_fixture.h"

typedef enum faulty_method {
    FAULTY_LOCK,
    FAULTY_SNAPSHOT_NEW,
    FAULTY_SNAPSHOT_BEGIN,
    FAULTY_SNAPSHOT_IS_NEWEST, /* which then does not know */
    FAULTY_GET,
    FAULTY_CURSOR_OPEN,
    FAULTY_CURSOR_SEEK,
    FAULTY_CURSOR_STEP,
    FAULTY_WRITE_BEGIN,
    FAULTY_COLLECT,
    FAULTY_PUT,
    FAULTY_DELETE,
    FAULTY_RESTORE,
    FAULTY_COMMIT,
    FAULTY_METHODS
} faulty_method;

typedef struct fault {
    int calls;
    int passes; /* calls that still pass before the failure */
    bool armed;
    bool persistent;
} fault;

enum { FAULTY_RC = SQLITE_IOERR_WRITE, FAULTY_WAITS = 8 };

static fault faults[FAULTY_METHODS];
static int faulty_waits[FAULTY_WAITS]; /* of the first calls of `lock` */
static bool faulty_locked;
static pt_commit faulty_last_commit;

static inline void fault_arm(faulty_method method, int passes, bool persistent)
{
    faults[method] = (fault){.passes = passes, .armed = true, .persistent = persistent};
}

static inline void fault_next(faulty_method method)
{
    fault_arm(method, 0, false);
}

static inline void fault_from(faulty_method method, int passes)
{
    fault_arm(method, passes, true);
}

/* Nothing fails any more; all counts are 0. */
static inline void fault_none(void)
{
    memset(faults, 0, sizeof faults);
}

static inline int fault_calls(faulty_method method)
{
    return faults[method].calls;
}

static inline bool faulty_fails(faulty_method method, pt_error *error)
{
    fault *at = &faults[method];
    at->calls++;
    if (!at->armed || at->passes-- > 0) {
        return false;
    }
    at->passes = 0;
    at->armed = at->persistent;
    pt_error_set(error, FAULTY_RC, "the disk is on fire");
    return true;
}

static inline int faulty_lock(pt_store *store, int wait_ms, pt_error *error)
{
    int call = fault_calls(FAULTY_LOCK);
    if (call < FAULTY_WAITS) {
        faulty_waits[call] = wait_ms;
    }
    if (faulty_fails(FAULTY_LOCK, error)) {
        pt_error_set(error, SQLITE_BUSY, "somebody else writes");
        return SQLITE_BUSY;
    }
    int rc = pt_lmdb_engine.lock(store, wait_ms, error);
    faulty_locked = faulty_locked || rc == SQLITE_OK;
    return rc;
}

static inline void faulty_unlock(pt_store *store)
{
    faulty_locked = false;
    pt_lmdb_engine.unlock(store);
}

static inline int faulty_snapshot_new(pt_store *store, pt_snapshot **snapshot, pt_error *error)
{
    return faulty_fails(FAULTY_SNAPSHOT_NEW, error)
               ? FAULTY_RC
               : pt_lmdb_engine.snapshot_new(store, snapshot, error);
}

static inline int faulty_snapshot_begin(pt_snapshot *snapshot, pt_error *error)
{
    return faulty_fails(FAULTY_SNAPSHOT_BEGIN, error)
               ? FAULTY_RC
               : pt_lmdb_engine.snapshot_begin(snapshot, error);
}

static inline bool faulty_snapshot_is_newest(const pt_snapshot *snapshot)
{
    pt_error ignored = PT_ERROR_NONE;
    bool fails = faulty_fails(FAULTY_SNAPSHOT_IS_NEWEST, &ignored);
    pt_error_clear(&ignored);
    return !fails && pt_lmdb_engine.snapshot_is_newest(snapshot);
}

static inline int faulty_get(pt_snapshot *snapshot, pt_slice key, bool *found, pt_slice *record,
                             pt_error *error)
{
    return faulty_fails(FAULTY_GET, error)
               ? FAULTY_RC
               : pt_lmdb_engine.get(snapshot, key, found, record, error);
}

static inline int faulty_cursor_open(pt_snapshot *snapshot, pt_engine_cursor **cursor,
                                     pt_error *error)
{
    return faulty_fails(FAULTY_CURSOR_OPEN, error)
               ? FAULTY_RC
               : pt_lmdb_engine.cursor_open(snapshot, cursor, error);
}

static inline int faulty_cursor_seek(pt_engine_cursor *cursor, pt_slice from, pt_slice limit,
                                     pt_direction direction, pt_error *error)
{
    return faulty_fails(FAULTY_CURSOR_SEEK, error)
               ? FAULTY_RC
               : pt_lmdb_engine.cursor_seek(cursor, from, limit, direction, error);
}

static inline int faulty_cursor_step(pt_engine_cursor *cursor, pt_direction direction,
                                     pt_error *error)
{
    return faulty_fails(FAULTY_CURSOR_STEP, error)
               ? FAULTY_RC
               : pt_lmdb_engine.cursor_step(cursor, direction, error);
}

static inline int faulty_write_begin(pt_store *store, pt_writer **writer, pt_error *error)
{
    return faulty_fails(FAULTY_WRITE_BEGIN, error)
               ? FAULTY_RC
               : pt_lmdb_engine.write_begin(store, writer, error);
}

static inline int faulty_write_collect(pt_writer *writer, bool *collected, pt_error *error)
{
    return faulty_fails(FAULTY_COLLECT, error)
               ? FAULTY_RC
               : pt_lmdb_engine.write_collect(writer, collected, error);
}

static inline int faulty_write_put(pt_writer *writer, pt_slice key, pt_slice record,
                                   pt_error *error)
{
    return faulty_fails(FAULTY_PUT, error) ? FAULTY_RC
                                           : pt_lmdb_engine.write_put(writer, key, record, error);
}

static inline int faulty_write_delete(pt_writer *writer, pt_slice key, pt_error *error)
{
    return faulty_fails(FAULTY_DELETE, error) ? FAULTY_RC
                                              : pt_lmdb_engine.write_delete(writer, key, error);
}

static inline int faulty_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key,
                                       pt_error *error)
{
    return faulty_fails(FAULTY_RESTORE, error)
               ? FAULTY_RC
               : pt_lmdb_engine.write_restore(writer, snapshot, key, error);
}

static inline int faulty_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error)
{
    faulty_last_commit = *commit;
    if (faulty_fails(FAULTY_COMMIT, error)) {
        pt_lmdb_engine.write_abort(writer);
        return FAULTY_RC;
    }
    return pt_lmdb_engine.write_commit(writer, commit, error);
}

static pt_engine faulty_engine = {
    .lock = faulty_lock,
    .unlock = faulty_unlock,
    .snapshot_new = faulty_snapshot_new,
    .snapshot_begin = faulty_snapshot_begin,
    .snapshot_is_newest = faulty_snapshot_is_newest,
    .get = faulty_get,
    .cursor_open = faulty_cursor_open,
    .cursor_seek = faulty_cursor_seek,
    .cursor_step = faulty_cursor_step,
    .write_begin = faulty_write_begin,
    .write_collect = faulty_write_collect,
    .write_put = faulty_write_put,
    .write_delete = faulty_write_delete,
    .write_restore = faulty_write_restore,
    .write_commit = faulty_write_commit,
};

/* From now on the store is used through the faulty engine. */
static inline void make_faulty(pt_store *store)
{
    faulty_engine.open = engine->open;
    faulty_engine.close = engine->close;
    faulty_engine.next_timestamp = engine->next_timestamp;
    faulty_engine.snapshot_end = engine->snapshot_end;
    faulty_engine.snapshot_free = engine->snapshot_free;
    faulty_engine.cursor_close = engine->cursor_close;
    faulty_engine.cursor_narrow = engine->cursor_narrow;
    faulty_engine.cursor_ahead = engine->cursor_ahead;
    faulty_engine.cursor_skip = engine->cursor_skip;
    faulty_engine.counts = engine->counts;
    faulty_engine.info = engine->info;
    faulty_engine.write_abort = engine->write_abort;
    faulty_engine.write_publish = engine->write_publish;
    faulty_engine.has_chunks = engine->has_chunks;
    store->engine = &faulty_engine;
    fault_none();
    faulty_locked = false;
}

/* Opens a store through the faulty engine; the path NULL means a private one. */
static inline pt_store *open_faulty(const char *path)
{
    pt_store *store = NULL;
    unsigned flags = PT_OPEN_CREATE | (path == NULL ? PT_OPEN_PRIVATE : 0u);
    assert_ok(engine->open(path != NULL ? path : "", flags, &store, &error));
    make_faulty(store);
    return store;
}

#endif
