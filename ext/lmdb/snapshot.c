#include "lmdb/snapshot.h"

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/leaf.h"
#include "lmdb/long_keys.h"
#include "lmdb/map.h"
#include "lmdb/store_cursor.h"

enum { REMEDIES_MAX = 3 };

void pt_lmdb_reader_enter(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    pthread_mutex_lock(&store->mutex);
    reader->next = store->readers;
    reader->link = &store->readers;
    if (reader->next != NULL) {
        reader->next->link = &reader->next;
    }
    store->readers = reader;
    pthread_mutex_unlock(&store->mutex);
}

void pt_lmdb_reader_leave(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    pthread_mutex_lock(&store->mutex);
    *reader->link = reader->next;
    if (reader->next != NULL) {
        reader->next->link = reader->link;
    }
    if (reader->txn != NULL) {
        mdb_txn_abort(reader->txn);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* --- Counting against changes --- */

/* Until no change goes on. The store has been counted in, and is so again. */
__attribute__((noinline)) static void wait_for_change(pt_lmdb_store *store)
{
    do {
        atomic_fetch_sub(&store->active, 1);
        pthread_mutex_lock(&store->mutex);
        pthread_mutex_unlock(&store->mutex);
        atomic_fetch_add(&store->active, 1);
    } while (atomic_load(&store->changing));
}

static void count_in(pt_lmdb_store *store)
{
    atomic_fetch_add(&store->active, 1);
    if (atomic_load(&store->changing)) {
        wait_for_change(store);
    }
}

static int remap(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    int rc = pt_lmdb_map_grow(&store->env, store->base.path, error);
    if (rc != SQLITE_OK) {
        atomic_store(&store->broken, true);
    }
    return rc;
}

/* Nothing of the environment is in use any more. */
static void abort_readers(pt_lmdb_store *store)
{
    for (pt_lmdb_reader *reader = store->readers; reader != NULL; reader = reader->next) {
        if (reader->txn != NULL) {
            mdb_txn_abort(reader->txn);
        }
        reader->txn = NULL;
        reader->seen = 0;
    }
}

static int reopen(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    if (!atomic_load(&store->broken)) {
        return SQLITE_OK; /* somebody else has done it meanwhile */
    }
    abort_readers(store);
    int rc = pt_lmdb_reopen(store, error);
    if (rc == SQLITE_OK) {
        atomic_store(&store->broken, false);
    }
    return rc;
}

static int change(pt_lmdb_store *store, pt_lmdb_work work, void *context, int busy_rc,
                  const char *busy_text, pt_error *error)
{
    int rc;
    pthread_mutex_lock(&store->mutex);
    atomic_store(&store->changing, true);
    if (atomic_load(&store->active) == 0) {
        rc = work(store, context, error);
    } else {
        rc = pt_error_set(error, busy_rc, "store %Q %s", store->base.path, busy_text);
    }
    atomic_store(&store->changing, false);
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

typedef struct outer_work {
    pt_lmdb_work work;
    void *context;
} outer_work;

static int work_without_readers(pt_lmdb_store *store, void *context, pt_error *error)
{
    const outer_work *outer = context;
    abort_readers(store);
    int rc = outer->work(store, outer->context, error);
    if (rc == SQLITE_OK || store->env.env == NULL) {
        atomic_store(&store->broken, rc != SQLITE_OK);
    }
    return rc;
}

int pt_lmdb_change(pt_lmdb_store *store, pt_lmdb_work work, void *context, const char *busy_text,
                   pt_error *error)
{
    outer_work outer = {.work = work, .context = context};
    return change(store, work_without_readers, &outer, SQLITE_BUSY, busy_text, error);
}

/* --- Beginning --- */

/* Whether there were any. The mutex keeps the environment from being changed meanwhile. */
static bool drop_dead_readers(pt_lmdb_store *store)
{
    int dead = 0;
    pthread_mutex_lock(&store->mutex);
    if (store->env.env != NULL) {
        mdb_reader_check(store->env.env, &dead);
    }
    pthread_mutex_unlock(&store->mutex);
    return dead > 0;
}

/* SQLITE_OK: worth another try. */
static int remedy(pt_lmdb_store *store, int mdb_rc, pt_error *error)
{
    switch (mdb_rc) {
    case MDB_READERS_FULL:
        return drop_dead_readers(store)
                   ? SQLITE_OK
                   : pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning to read it");
    case MDB_MAP_RESIZED:
        return change(store, remap, NULL, SQLITE_BUSY,
                      "was made larger by another process; end the open statements on it in this "
                      "process and try again",
                      error);
    case MDB_PANIC:
        atomic_store(&store->broken, true);
        return change(store, reopen, NULL, SQLITE_IOERR,
                      "must be opened again after a failed write; end the open statements and "
                      "transactions on it in this process, then it will be",
                      error);
    default:
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning a transaction");
    }
}

static int begin_or_renew(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    if (reader->txn != NULL) {
        return mdb_txn_renew(reader->txn);
    }
    return mdb_txn_begin(store->env.env, NULL, MDB_RDONLY, &reader->txn);
}

static int try_to_begin(pt_lmdb_store *store, pt_lmdb_reader *reader, MDB_txn **txn)
{
    count_in(store);
    int mdb_rc = MDB_PANIC;
    if (!atomic_load_explicit(&store->broken, memory_order_acquire)) {
        mdb_rc = reader != NULL ? begin_or_renew(store, reader)
                                : mdb_txn_begin(store->env.env, NULL, 0, txn);
    }
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_end(store);
    }
    return mdb_rc;
}

/* After a first try that ended with `mdb_rc`. */
__attribute__((noinline)) static int begin_with_remedies(pt_lmdb_store *store,
                                                         pt_lmdb_reader *reader, MDB_txn **txn,
                                                         int mdb_rc, pt_error *error)
{
    for (int remedies = 0; mdb_rc != MDB_SUCCESS; remedies++) {
        if (remedies == REMEDIES_MAX) {
            return pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning a transaction");
        }
        int rc = remedy(store, mdb_rc, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        mdb_rc = try_to_begin(store, reader, txn);
    }
    return SQLITE_OK;
}

static int begin(pt_lmdb_store *store, pt_lmdb_reader *reader, MDB_txn **txn, pt_error *error)
{
    int mdb_rc = try_to_begin(store, reader, txn);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : begin_with_remedies(store, reader, txn, mdb_rc, error);
}

int pt_lmdb_begin_read(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_error *error)
{
    return begin(store, reader, NULL, error);
}

int pt_lmdb_begin_write(pt_lmdb_store *store, MDB_txn **txn, pt_error *error)
{
    return begin(store, NULL, txn, error);
}

/* --- Store --- */

enum { BEGIN_TRIES = 64 };

static int fail_damaged(pt_error *error, const pt_lmdb_store *store, const char *what)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q: %s; the file is damaged: restore it from a backup",
                        store->base.path, what);
}

/* --- The state --- */

int pt_lmdb_read_state(pt_lmdb_store *store, MDB_txn *txn, pt_format_state *state, pt_error *error)
{
    MDB_val key = pt_lmdb_val(pt_format_state_key());
    MDB_val value;
    int mdb_rc = mdb_get(txn, store->env.meta, &key, &value);
    if (mdb_rc == MDB_NOTFOUND ||
        (mdb_rc == MDB_SUCCESS && !pt_format_read_state(pt_lmdb_slice(value), state))) {
        return fail_damaged(error, store, "its state record (current) is missing or damaged");
    }
    return mdb_rc == MDB_SUCCESS
               ? SQLITE_OK
               : pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "reading its state");
}

void pt_lmdb_note_clock(pt_lmdb_store *store, int64_t clock)
{
    int64_t known = atomic_load(&store->newest_clock);
    while (clock > known && !atomic_compare_exchange_weak(&store->newest_clock, &known, clock)) {
    }
}

/* --- The dictionary --- */

typedef int (*load_entry)(pt_dictionary *dictionary, uint16_t id, pt_slice bytes);

static int fail_dictionary(pt_error *error, const pt_lmdb_store *store, const char *kind,
                           unsigned id, const char *what)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q: %s %u of its dictionary is %s; the file is damaged: restore it "
                        "from a backup",
                        store->base.path, kind, id, what);
}

static int load_entries(pt_lmdb_snapshot *snapshot, unsigned known, unsigned stored,
                        const char *kind, pt_format_key (*key_of)(uint16_t id), load_entry load,
                        pt_error *error)
{
    pt_lmdb_store *store = snapshot->store;
    for (unsigned id = known + 1; id <= stored; id++) {
        pt_format_key key = key_of((uint16_t)id);
        MDB_val mdb_key = pt_lmdb_val(pt_slice_of(key.bytes, key.size));
        MDB_val value;
        int mdb_rc = mdb_get(snapshot->reader.txn, store->env.meta, &mdb_key, &value);
        if (mdb_rc == MDB_NOTFOUND) {
            return fail_dictionary(error, store, kind, id, "missing");
        }
        if (mdb_rc != MDB_SUCCESS) {
            return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "reading its dictionary");
        }
        pt_slice content;
        int rc = pt_unseal(pt_lmdb_slice(mdb_key), pt_lmdb_slice(value), &content)
                     ? load(store->base.dictionary, (uint16_t)id, content)
                     : SQLITE_CORRUPT;
        if (rc == SQLITE_NOMEM) {
            return pt_error_nomem(error);
        }
        if (rc != SQLITE_OK) {
            return fail_dictionary(error, store, kind, id, "damaged");
        }
    }
    return SQLITE_OK;
}

static int load_dictionary(pt_lmdb_snapshot *snapshot, const pt_format_state *state,
                           pt_error *error)
{
    pt_dictionary_counts known = pt_dictionary_committed(snapshot->store->base.dictionary);
    int rc = load_entries(snapshot, known.names, state->names, "property name", pt_format_name_key,
                          pt_dictionary_load_name, error);
    if (rc == SQLITE_OK) {
        rc = load_entries(snapshot, known.shapes, state->shapes, "shape", pt_format_shape_key,
                          pt_dictionary_load_shape, error);
    }
    return rc;
}

/* --- Snapshots --- */

int pt_lmdb_snapshot_new(pt_store *base, pt_snapshot **snapshot, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    pt_lmdb_snapshot *created = sqlite3_malloc64(sizeof *created);
    if (created == NULL) {
        return pt_error_nomem(error);
    }
    *created = (pt_lmdb_snapshot){.base = {.store = base}, .store = store};
    pt_lmdb_reader_enter(store, &created->reader);
    *snapshot = &created->base;
    return SQLITE_OK;
}

/*
 * Between reading the number of the last commit and copying the root pages that belong to it two
 * commits can pass, and the second overwrites them. If the newest root page still has that number
 * afterwards, nothing passed. A number that stays behind is the trace of a writer killed in the
 * last step of its commit; then the state must say that the roots belong to the number.
 */
static bool is_one_version(const pt_lmdb_snapshot *snapshot, uint64_t version)
{
    MDB_envinfo info;
    mdb_env_info(snapshot->store->env.env, &info);
    return info.me_last_txnid == version;
}

static void end_reading(const pt_lmdb_snapshot *snapshot)
{
    mdb_txn_reset(snapshot->reader.txn);
    pt_lmdb_end(snapshot->store);
}

/* Ends the reading if it is not what the state says. */
static int check_version(const pt_lmdb_snapshot *snapshot, uint64_t version, pt_error *error)
{
    pt_lmdb_store *store = snapshot->store;
    pt_format_state state = {0};
    int rc = pt_lmdb_read_state(store, snapshot->reader.txn, &state, error);
    if (rc == SQLITE_OK && state.version != version) {
        rc = pt_error_set(error, SQLITE_BUSY,
                          "store %Q changes too fast to be read, or its file was replaced while a "
                          "process had it open; try again, or close all connections to it",
                          store->base.path);
    }
    if (rc != SQLITE_OK) {
        end_reading(snapshot);
    }
    return rc;
}

static int begin_one_version(pt_lmdb_snapshot *snapshot, uint64_t *version, pt_error *error)
{
    pt_lmdb_reader *reader = &snapshot->reader;
    for (int tries = 1;; tries++) {
        int rc = pt_lmdb_begin_read(snapshot->store, reader, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        *version = mdb_txn_id(reader->txn);
        if (is_one_version(snapshot, *version)) {
            return SQLITE_OK;
        }
        if (tries == BEGIN_TRIES) {
            return check_version(snapshot, *version, error);
        }
        end_reading(snapshot);
    }
}

static int take_state(pt_lmdb_snapshot *snapshot, uint64_t version, pt_error *error)
{
    pt_format_state state = {0};
    int rc = pt_lmdb_read_state(snapshot->store, snapshot->reader.txn, &state, error);
    if (rc == SQLITE_OK) {
        rc = load_dictionary(snapshot, &state, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    snapshot->base.version = version;
    snapshot->base.catalog_generation = state.catalog_generation;
    snapshot->base.next_table_id = state.next_table_id;
    snapshot->base.clock = state.clock;
    snapshot->reader.seen = version;
    pt_lmdb_note_clock(snapshot->store, state.clock);
    return SQLITE_OK;
}

int pt_lmdb_snapshot_begin(pt_snapshot *base, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    if (pt_lmdb_is_inherited(snapshot->store)) {
        return pt_lmdb_fail_inherited(snapshot->store, error);
    }
    uint64_t version;
    int rc = begin_one_version(snapshot, &version, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (version != snapshot->reader.seen) {
        rc = take_state(snapshot, version, error);
        if (rc != SQLITE_OK) {
            end_reading(snapshot);
            return rc;
        }
    }
    snapshot->begun = true;
    return SQLITE_OK;
}

/* An environment that a failed write has left unusable tells nothing. */
bool pt_lmdb_snapshot_is_newest(const pt_snapshot *base)
{
    const pt_lmdb_snapshot *snapshot = (const pt_lmdb_snapshot *)base;
    return !pt_lmdb_is_inherited(snapshot->store) && !atomic_load(&snapshot->store->broken) &&
           is_one_version(snapshot, base->version);
}

void pt_lmdb_snapshot_end(pt_snapshot *base)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    if (!snapshot->begun) {
        return;
    }
    snapshot->begun = false;
    snapshot->left_key = (pt_slice){0};
    if (!pt_lmdb_is_inherited(snapshot->store)) {
        end_reading(snapshot);
    }
}

void pt_lmdb_snapshot_free(pt_snapshot *base)
{
    if (base == NULL) {
        return;
    }
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_snapshot_end(base);
    pt_lmdb_free_spare_cursors(snapshot);
    if (!pt_lmdb_is_inherited(snapshot->store)) {
        pt_lmdb_reader_leave(snapshot->store, &snapshot->reader);
    }
    sqlite3_free(snapshot);
}

/* --- Single records --- */

static int look_up(MDB_txn *txn, const pt_lmdb_env *env, pt_slice key, MDB_val *value)
{
    if (key.size > PT_LMDB_SHORT_KEY_MAX) {
        return pt_lmdb_long_get(txn, env, key, value);
    }
    MDB_val mdb_key = pt_lmdb_val(key);
    return mdb_get(txn, pt_lmdb_dbi_of(env, key), &mdb_key, value);
}

int pt_lmdb_get(pt_snapshot *base, pt_slice key, bool *found, pt_slice *record, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_store *store = snapshot->store;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    if (key.size != 0 && pt_slice_equal(key, snapshot->left_key)) {
        *found = true;
        *record = snapshot->left_record;
        return SQLITE_OK;
    }
    MDB_val value;
    int mdb_rc = look_up(snapshot->reader.txn, &store->env, key, &value);
    if (mdb_rc == MDB_NOTFOUND) {
        *found = false;
        return SQLITE_OK;
    }
    if (mdb_rc == MDB_SUCCESS && !pt_lmdb_is_in_store(&store->env, &value)) {
        mdb_rc = MDB_CORRUPTED;
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "reading a record");
    }
    *found = true;
    *record = pt_lmdb_slice(value);
    return SQLITE_OK;
}

int pt_lmdb_counts(pt_snapshot *base, uint32_t table_id, pt_table_counts *counts, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_store *store = snapshot->store;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    pt_format_key key = pt_format_counts_key(table_id);
    MDB_val mdb_key = pt_lmdb_val(pt_slice_of(key.bytes, key.size));
    MDB_val value;
    int mdb_rc = mdb_get(snapshot->reader.txn, store->env.meta, &mdb_key, &value);
    if (mdb_rc == MDB_NOTFOUND) {
        *counts = (pt_table_counts){0};
        return SQLITE_OK;
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "reading its counts");
    }
    if (!pt_format_read_counts(pt_lmdb_slice(mdb_key), pt_lmdb_slice(value), counts)) {
        return fail_damaged(error, store, "the counts of a table are damaged");
    }
    return SQLITE_OK;
}
