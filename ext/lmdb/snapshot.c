#include "lmdb/snapshot.h"

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/log/errors.h"
#include "lmdb/log_reader.h"
#include "lmdb/state.h"

enum { READ_BEGIN_TRIES = 64 };

/* --- The dictionary --- */

typedef int (*load_dictionary_entry)(pt_dictionary *dictionary, uint16_t id, pt_slice bytes);

static int fail_dictionary(pt_error *error, const pt_lmdb_store *store, const char *kind,
                           unsigned id, const char *what)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q: %s %u of its dictionary is %s; the file is damaged: restore it "
                        "from a backup",
                        store->base.path, kind, id, what);
}

static int load_dictionary_entries(pt_lmdb_snapshot *snapshot, unsigned known, unsigned stored,
                                   const char *kind, pt_format_key (*key_of)(uint16_t id),
                                   load_dictionary_entry load, pt_error *error)
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

/* Names first: shapes refer to them. */
static int load_dictionary(pt_lmdb_snapshot *snapshot, const pt_format_state *state,
                           pt_error *error)
{
    pt_dictionary_counts known = pt_dictionary_committed(snapshot->store->base.dictionary);
    int rc = load_dictionary_entries(snapshot, known.names, state->names, "property name",
                                     pt_format_name_key, pt_dictionary_load_name, error);
    if (rc == SQLITE_OK) {
        rc = load_dictionary_entries(snapshot, known.shapes, state->shapes, "shape",
                                     pt_format_shape_key, pt_dictionary_load_shape, error);
    }
    return rc;
}

/* --- Snapshots --- */

int pt_lmdb_snapshot_new(pt_store *base, pt_snapshot **snapshot, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    pt_lmdb_snapshot *created = sqlite3_malloc64(sizeof *created);
    if (created == NULL) {
        return pt_error_nomem(error);
    }
    *created = (pt_lmdb_snapshot){.base = {.store = base}, .store = store};
    pt_lmdb_reader_add(store, &created->reader);
    *snapshot = &created->base;
    return SQLITE_OK;
}

/*
 * True if the newest root page still has the number of our version.
 *
 * To begin, LMDB reads the number of the last commit and then copies the root page that belongs to
 * it. Two commits can pass in between, and the second one overwrites that page. If the newest
 * number is still ours afterwards, no commit has passed.
 */
static bool shows_newest_version(const pt_lmdb_snapshot *snapshot, uint64_t version)
{
    MDB_envinfo info;
    mdb_env_info(snapshot->store->env.env, &info);
    return info.me_last_txnid == version;
}

static void end_read_txn(const pt_lmdb_snapshot *snapshot)
{
    mdb_txn_reset(snapshot->reader.txn);
    pt_lmdb_txn_end(snapshot->store);
}

/*
 * When a writer was killed in the last step of its commit, LMDB goes on giving a version older
 * than the newest one, try after try. Then the snapshot is good if the state that it shows has that
 * version's number: no commit has overwritten its root page. Ends the transaction on failure.
 */
static int check_state_version(const pt_lmdb_snapshot *snapshot, uint64_t version, pt_error *error)
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
        end_read_txn(snapshot);
    }
    return rc;
}

static int begin_undisturbed(pt_lmdb_snapshot *snapshot, uint64_t *version, pt_error *error)
{
    pt_lmdb_reader *reader = &snapshot->reader;
    for (int tries = 1;; tries++) {
        int rc = pt_lmdb_txn_begin_read(snapshot->store, reader, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        *version = mdb_txn_id(reader->txn);
        if (shows_newest_version(snapshot, *version)) {
            return SQLITE_OK;
        }
        /* The first tries may fail because commits do pass; then a later one succeeds. */
        if (tries == READ_BEGIN_TRIES) {
            return check_state_version(snapshot, *version, error);
        }
        end_read_txn(snapshot);
    }
}

/* Reads the state of a version, unless it is the one that this process has committed last. */
static int find_state(pt_lmdb_snapshot *snapshot, uint64_t version, pt_format_state *state,
                      pt_error *error)
{
    pt_lmdb_store *store = snapshot->store;
    pthread_mutex_lock(&store->mutex);
    *state = store->committed.state;
    pthread_mutex_unlock(&store->mutex);
    return state->version == version
               ? SQLITE_OK
               : pt_lmdb_read_state(store, snapshot->reader.txn, state, error);
}

static int load_state(pt_lmdb_snapshot *snapshot, uint64_t version, pt_error *error)
{
    pt_format_state *state = &snapshot->state;
    snapshot->reader.seen = 0; /* until all of this version is loaded */
    int rc = find_state(snapshot, version, state, error);
    if (rc == SQLITE_OK) {
        rc = load_dictionary(snapshot, state, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    snapshot->base.version = state->shown;
    snapshot->tree_version = version;
    snapshot->base.catalog_generation = state->catalog_generation;
    snapshot->base.next_table_id = state->next_table_id;
    snapshot->base.clock = state->clock;
    snapshot->reader.seen = version;
    pt_lmdb_note_clock(snapshot->store, state->clock);
    return SQLITE_OK;
}

/* Shows what the word says of the log, with this version of the tree. SQLITE_BUSY: the word is
 * about another version by now. */
__attribute__((noinline)) static int show_tail(pt_lmdb_snapshot *snapshot, uint64_t word,
                                               pt_error *error)
{
    pt_lmdb_store *store = snapshot->store;
    const pt_format_state *state = &snapshot->state;
    uint32_t end = state->log_id != 0 ? pt_log_word_end(word, state->version) : 0;
    const pt_lmdb_tail *newest = atomic_load_explicit(&store->newest_tail, memory_order_acquire);
    snapshot->base.clock = state->clock;
    if (state->log_id != 0 && !pt_log_word_is_sealed(word)) {
        return pt_log_fail_overwritten(error, store->base.path);
    }
    if (end != 0 && (snapshot->tail == NULL || snapshot->tail != newest ||
                     snapshot->tail->version != state->version ||
                     atomic_load_explicit(&snapshot->tail->end, memory_order_acquire) < end)) {
        pt_tail_release(snapshot->tail);
        snapshot->tail = NULL;
        int rc = pt_log_tail_of(store, state, end, &snapshot->tail, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    if (end != 0) {
        int64_t clock = pt_tail_clock(snapshot->tail, end);
        snapshot->base.clock = clock > state->clock ? clock : state->clock;
    }
    snapshot->tail_end = end;
    snapshot->base.version = end != 0 ? pt_format_shown(state->version, end) : state->shown;
    return SQLITE_OK;
}

/* Follows the log that the version names, if this process does not yet. SQLITE_BUSY: begin again,
 * as the word that was read was not about that log. */
static int follow_log(pt_lmdb_snapshot *snapshot, uint64_t attached, uint64_t *word,
                      pt_error *error)
{
    pt_lmdb_store *store = snapshot->store;
    bool looks = store->env.read_only; /* at the log itself, if no process writes it */
    if (!looks && attached == snapshot->state.log_id) {
        return SQLITE_OK;
    }
    int rc = pt_log_attach(store, &snapshot->state, word, error);
    if (!looks) {
        return rc == SQLITE_OK ? SQLITE_BUSY : rc;
    }
    /* After the snapshot had begun: the log may have ended since, or begun again. */
    bool is_shown = rc == SQLITE_OK && pt_log_word_end(*word, snapshot->state.version) != 0;
    return is_shown || shows_newest_version(snapshot, snapshot->state.version) ? rc : SQLITE_BUSY;
}

/* SQLITE_BUSY: the log was begun or ended, or began again, meanwhile. Codes of a full reader table
 * and the like are SQLITE_BUSY_RECOVERY here. */
static int try_to_begin(pt_lmdb_snapshot *snapshot, pt_error *error)
{
    uint64_t version;
    /* The word first: what is in the log by then, and not in the tree, follows this version. And
     * before the word, which log it is about; 0: none, and follow_log reads the word if there is
     * one now. */
    uint64_t attached = atomic_load_explicit(&snapshot->store->attached_log, memory_order_acquire);
    uint64_t word = attached != 0 ? pt_log_read_word(snapshot->store) : 0;
    int rc = begin_undisturbed(snapshot, &version, error);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_BUSY ? SQLITE_BUSY_RECOVERY : rc;
    }
    /* The state is read, and the dictionary loaded, only if somebody has committed since. */
    if (version != snapshot->reader.seen) {
        rc = load_state(snapshot, version, error);
    }
    if (rc == SQLITE_OK && (snapshot->state.log_id != 0 || snapshot->tail_end != 0)) {
        rc = snapshot->state.log_id != 0 ? follow_log(snapshot, attached, &word, error) : SQLITE_OK;
        rc = rc == SQLITE_OK ? show_tail(snapshot, word, error) : rc;
    }
    if (rc != SQLITE_OK) {
        end_read_txn(snapshot);
    }
    return rc;
}

int pt_lmdb_snapshot_begin(pt_snapshot *base, pt_error *error)
{
    enum { TRIES = 100 };
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    if (pt_lmdb_is_of_parent(snapshot->store->fork_count)) {
        return pt_lmdb_fail_inherited(snapshot->store, error);
    }
    PT_ASSERT(!snapshot->begun);
    int rc;
    for (int tries = 0;; tries++) {
        rc = try_to_begin(snapshot, error);
        if (rc != SQLITE_BUSY || tries == TRIES) {
            break;
        }
        pt_error_clear(error);
    }
    if (rc == SQLITE_BUSY) {
        return pt_error_set(error, rc, "store %Q changes too fast to be read; try again",
                            base->store->path);
    }
    if (rc != SQLITE_OK) {
        return rc == SQLITE_BUSY_RECOVERY ? SQLITE_BUSY : rc;
    }
    snapshot->begun = true;
    snapshot->begins++;
    return SQLITE_OK;
}

/* False also after a failed write has broken the environment: its answer would be worthless. */
bool pt_lmdb_snapshot_is_newest(const pt_snapshot *base)
{
    const pt_lmdb_snapshot *snapshot = (const pt_lmdb_snapshot *)base;
    if (pt_lmdb_is_of_parent(snapshot->store->fork_count)) {
        return false;
    }
    /* Without the lock the answer could be out of date at once. */
    PT_ASSERT(snapshot->begun && snapshot->store->writer_state != PT_WRITER_FREE);
    return !atomic_load(&snapshot->store->broken) &&
           shows_newest_version(snapshot, snapshot->tree_version) &&
           snapshot->tail_end ==
               pt_log_word_end(pt_log_read_word(snapshot->store), snapshot->state.version);
}

void pt_lmdb_snapshot_end(pt_snapshot *base)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    if (!snapshot->begun) {
        return;
    }
    PT_ASSERT(snapshot->open_cursors == 0);
    snapshot->begun = false;
    snapshot->left_key = (pt_slice){0}; /* it points into a page of this version */
    if (!pt_lmdb_is_of_parent(snapshot->store->fork_count)) {
        end_read_txn(snapshot);
        if (atomic_load_explicit(&snapshot->store->holds_much, memory_order_relaxed)) {
            pt_lmdb_txn_give_back_memory(snapshot->store);
        }
    }
}

static void free_cursors(pt_lmdb_snapshot *snapshot)
{
    mdb_cursor_close(snapshot->lookup);
    while (snapshot->spares != NULL) {
        pt_lmdb_cursor *spare = snapshot->spares;
        snapshot->spares = spare->next_spare;
        pt_lmdb_long_cursor_close(spare->long_cursor);
        mdb_cursor_close(spare->cursor);
        sqlite3_free(spare);
    }
}

void pt_lmdb_snapshot_free(pt_snapshot *base)
{
    if (base == NULL) {
        return;
    }
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_snapshot_end(base);
    /* Cursors first: LMDB's cursors outlive a reset transaction but not an aborted one. */
    free_cursors(snapshot);
    if (!pt_lmdb_is_of_parent(snapshot->store->fork_count)) {
        pt_lmdb_reader_remove(snapshot->store, &snapshot->reader);
    }
    pt_tail_release(snapshot->tail);
    sqlite3_free(snapshot);
}

/* --- Single records --- */

/* Makes snapshot->lookup usable in the snapshot's transaction. LMDB's code. */
__attribute__((always_inline)) static inline int prepare_lookup(pt_lmdb_snapshot *snapshot)
{
    MDB_txn *txn = snapshot->reader.txn;
    int mdb_rc = MDB_SUCCESS;
    if (snapshot->lookup == NULL) {
        mdb_rc = mdb_cursor_open(txn, snapshot->store->env.entities, &snapshot->lookup);
    } else if (snapshot->lookup_begins != snapshot->begins) {
        mdb_rc = mdb_cursor_renew(txn, snapshot->lookup);
    }
    if (mdb_rc == MDB_SUCCESS) {
        snapshot->lookup_begins = snapshot->begins;
    }
    return mdb_rc;
}

/* Entities are looked up with a cursor that stays where it is: if the next key is on the same page,
 * LMDB does not search from the root. */
__attribute__((always_inline)) static inline int get_value(pt_lmdb_snapshot *snapshot, pt_slice key,
                                                           MDB_val *value)
{
    const pt_lmdb_env *env = &snapshot->store->env;
    if (key.size > PT_LMDB_SHORT_KEY_MAX) {
        return pt_lmdb_long_get(snapshot->reader.txn, env, key, value);
    }
    MDB_dbi dbi = pt_lmdb_dbi_of(env, key);
    MDB_val mdb_key = pt_lmdb_val(key);
    if (dbi != env->entities) {
        return mdb_get(snapshot->reader.txn, dbi, &mdb_key, value);
    }
    int mdb_rc = prepare_lookup(snapshot);
    return mdb_rc == MDB_SUCCESS ? mdb_cursor_get(snapshot->lookup, &mdb_key, value, MDB_SET)
                                 : mdb_rc;
}

int pt_lmdb_get(pt_snapshot *base, pt_slice key, bool *found, pt_slice *record, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_store *store = snapshot->store;
    PT_ASSERT(snapshot->begun);
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    /* UPDATE closes its cursor and then asks for the record of the cursor's position. */
    if (key.size != 0 && pt_slice_equal(key, snapshot->left_key)) {
        *found = true;
        *record = snapshot->left_record;
        return SQLITE_OK;
    }
    MDB_val value;
    if (snapshot->tail_end != 0) {
        const pt_tail_node *node = pt_tail_find(snapshot->tail, key, snapshot->tail_end);
        if (node != NULL) {
            *found = !node->deletes;
            *record = pt_tail_record(node);
            return SQLITE_OK;
        }
    }
    int mdb_rc = get_value(snapshot, key, &value);
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

static int read_stored_counts(pt_snapshot *base, uint32_t table_id, pt_table_counts *counts,
                              pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_store *store = snapshot->store;
    PT_ASSERT(snapshot->begun);
    if (pt_lmdb_is_of_parent(store->fork_count)) {
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
        return pt_lmdb_fail_damaged(error, store, "the counts of a table are damaged");
    }
    return SQLITE_OK;
}

/* Adds what the tail changes in the keys that begin with `start`. */
static int add_tail(pt_lmdb_snapshot *snapshot, pt_key_start start, int64_t *records,
                    int64_t *bytes, pt_error *error)
{
    const pt_lmdb_tail *tail = snapshot->tail;
    pt_slice prefix = pt_key_start_slice(&start);
    for (const pt_tail_node *node = pt_tail_seek(tail, prefix, snapshot->tail_end, PT_FORWARD);
         node != NULL && pt_slice_has_prefix(pt_tail_key(node), prefix);
         node = pt_tail_step(tail, node, snapshot->tail_end, PT_FORWARD)) {
        MDB_val value;
        pt_slice key = pt_tail_key(node);
        int mdb_rc = get_value(snapshot, key, &value);
        if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
            return pt_lmdb_fail_reading(error, mdb_rc, snapshot->store->base.path, "counting");
        }
        if (mdb_rc == MDB_SUCCESS) {
            *records -= 1;
            *bytes -= (int64_t)(key.size + value.mv_size);
        }
        if (!node->deletes) {
            *records += 1;
            *bytes += (int64_t)(key.size + node->record_size);
        }
    }
    return SQLITE_OK;
}

/* The log has no counts, as a commit would have to look for the old record of each key. Counts are
 * rarely asked for: then the tail is compared with the tree. */
int pt_lmdb_counts(pt_snapshot *base, uint32_t table_id, pt_table_counts *counts, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    int rc = read_stored_counts(base, table_id, counts, error);
    if (rc == SQLITE_OK && snapshot->tail_end != 0) {
        rc = add_tail(snapshot, pt_key_start_of_table(table_id), &counts->entities, &counts->bytes,
                      error);
    }
    if (rc == SQLITE_OK && snapshot->tail_end != 0) {
        rc = add_tail(snapshot, pt_key_start_of_chunks(table_id), &counts->chunks, &counts->bytes,
                      error);
    }
    return rc;
}

int pt_lmdb_has_chunks(pt_snapshot *base, uint32_t table_id, bool *any, pt_error *error)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_table_counts counts = {0};
    int rc = read_stored_counts(base, table_id, &counts, error);
    *any = rc == SQLITE_OK &&
           (counts.chunks != 0 || (snapshot->tail_end != 0 && snapshot->tail->has_chunks));
    return rc;
}

/* --- Opening and closing cursors --- */

/* Takes a closed cursor of this snapshot and renews it for the transaction; NULL if there is none.
 */
static pt_lmdb_cursor *take_spare_cursor(pt_lmdb_snapshot *snapshot)
{
    pt_lmdb_cursor *cursor = snapshot->spares;
    if (cursor == NULL || mdb_cursor_renew(snapshot->reader.txn, cursor->cursor) != MDB_SUCCESS) {
        return NULL;
    }
    snapshot->spares = cursor->next_spare;
    return cursor;
}

int pt_lmdb_cursor_open(pt_snapshot *base, pt_engine_cursor **cursor, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_store *store = snapshot->store;
    PT_ASSERT(snapshot->begun);
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    /* Point queries open and close a cursor each: a spare one needs neither memory nor LMDB's
     * set-up. */
    pt_lmdb_cursor *opened = take_spare_cursor(snapshot);
    if (opened == NULL) {
        opened = sqlite3_malloc64(sizeof *opened);
        if (opened == NULL) {
            return pt_error_nomem(error);
        }
        int mdb_rc = mdb_cursor_open(snapshot->reader.txn, store->env.entities, &opened->cursor);
        if (mdb_rc != MDB_SUCCESS) {
            sqlite3_free(opened);
            return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "opening a cursor");
        }
        opened->long_cursor = NULL;
        size_t page_size = store->env.page_size;
        opened->leaf_size = pt_lmdb_leaf_is_known(page_size) ? page_size : 0;
    }
    opened->base = (pt_engine_cursor){.snapshot = base};
    opened->fork_count = store->fork_count;
    opened->begins = snapshot->begins;
    pt_lmdb_cursor_forget_leaf(opened);
    opened->long_cursor_is_renewed = false;
    opened->next_spare = NULL;
    opened->node = NULL;
    opened->on_tail = false;
    snapshot->open_cursors++;
    *cursor = &opened->base;
    return SQLITE_OK;
}

void pt_lmdb_cursor_close(pt_engine_cursor *base)
{
    if (base == NULL) {
        return;
    }
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base->snapshot);
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor) && snapshot->open_cursors > 0);
    snapshot->open_cursors--;
    /* pt_lmdb_get is often asked for this record next. A key that does not last is gone by then. */
    bool lasts = cursor->base.valid && cursor->base.key_lasts;
    snapshot->left_key = lasts ? cursor->base.key : (pt_slice){0};
    snapshot->left_record = cursor->base.record;
    cursor->next_spare = snapshot->spares;
    snapshot->spares = cursor;
}
