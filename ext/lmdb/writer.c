#include "lmdb/writer.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/collect.h"
#include "lmdb/file/errors.h"
#include "lmdb/long_keys.h"
#include "lmdb/map.h"
#include "lmdb/snapshot.h"

enum { CHUNK_KEY_MIN = 2 * PT_KEY_TABLE_SIZE }; /* bytes in which a chunk's key names its table */

struct pt_writer {
    pt_lmdb_store *store;
    MDB_txn *txn;
    pt_lmdb_tree entities;
    pt_lmdb_tree long_keys;
    pt_lmdb_tree chunks;
    pt_lmdb_tree garbage;
    pt_lmdb_outcome next; /* begins as that of the version that is written upon */
    bool failed;          /* the transaction is no longer whole: no commit */
    pt_lmdb_room room;

    /* Not yet added to the stored counts of `counted_table`; the catalogue is not counted. */
    uint32_t counted_table;
    pt_table_counts counted;
};

static int fail(pt_writer *writer, int mdb_rc, const char *doing, pt_error *error)
{
    writer->failed = true;
    return pt_lmdb_fail(error, mdb_rc, writer->store->base.path, doing);
}

/* --- Begin and abort --- */

/* A tree costs nothing before its first operation. */
static void plant(pt_lmdb_tree *tree, MDB_txn *txn, MDB_dbi dbi)
{
    tree->txn = txn;
    tree->dbi = dbi;
}

static int take_state(pt_writer *writer, pt_error *error)
{
    pt_lmdb_store *store = writer->store;
    if (store->committed.state.version + 1 != mdb_txn_id(writer->txn)) {
        return pt_lmdb_read_state(store, writer->txn, &writer->next.state, error);
    }
    writer->next = store->committed;
    return SQLITE_OK;
}

static int prepare(pt_writer *writer, pt_error *error)
{
    const pt_lmdb_env *env = &writer->store->env;
    plant(&writer->entities, writer->txn, env->entities);
    plant(&writer->long_keys, writer->txn, env->long_keys);
    plant(&writer->chunks, writer->txn, env->chunks);
    plant(&writer->garbage, writer->txn, env->garbage);
    pt_lmdb_room_measure(&writer->room, env, writer->txn);
    return take_state(writer, error);
}

int pt_lmdb_write_begin(pt_store *base, pt_writer **writer, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    pt_writer *begun = store->spare_writer;
    store->spare_writer = NULL;
    if (begun == NULL) {
        begun = sqlite3_malloc64(sizeof *begun);
    }
    if (begun == NULL) {
        return pt_error_nomem(error);
    }
    *begun = (pt_writer){.store = store};
    int rc = pt_lmdb_begin_write(store, &begun->txn, error);
    if (rc != SQLITE_OK) {
        store->spare_writer = begun;
        return rc;
    }
    rc = prepare(begun, error);
    if (rc != SQLITE_OK) {
        pt_lmdb_write_abort(begun);
        return rc;
    }
    *writer = begun;
    return SQLITE_OK;
}

/*
 * After the transaction was committed or aborted, which also closed its cursors. The writer is
 * kept: taking a commit back must not fail for want of memory.
 */
static void put_by(pt_writer *writer)
{
    pt_lmdb_end(writer->store);
    writer->store->spare_writer = writer;
}

void pt_lmdb_write_abort(pt_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    mdb_txn_abort(writer->txn);
    put_by(writer);
}

/* --- Counts --- */

static int put_meta(pt_writer *writer, pt_slice key, pt_slice bytes)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = pt_lmdb_val(bytes);
    return mdb_put(writer->txn, writer->store->env.meta, &mdb_key, &value, 0);
}

static bool is_nothing(const pt_table_counts *counts)
{
    return counts->entities == 0 && counts->bytes == 0 && counts->chunks == 0;
}

/* The counts of the counted table before this change; zeros if it has none. */
static int read_counts(const pt_writer *writer, pt_slice key, pt_table_counts *counts)
{
    if (writer->next.counted_table == writer->counted_table) {
        *counts = writer->next.counts;
        return MDB_SUCCESS;
    }
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value;
    *counts = (pt_table_counts){0};
    int mdb_rc = mdb_get(writer->txn, writer->store->env.meta, &mdb_key, &value);
    if (mdb_rc == MDB_NOTFOUND) {
        return MDB_SUCCESS;
    }
    return mdb_rc == MDB_SUCCESS && !pt_format_read_counts(key, pt_lmdb_slice(value), counts)
               ? MDB_CORRUPTED
               : mdb_rc;
}

/* They are there: what has become nothing by a change that is something was not nothing. */
static int delete_counts(const pt_writer *writer, pt_slice key)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    return mdb_del(writer->txn, writer->store->env.meta, &mdb_key, NULL);
}

static int add_counts(pt_writer *writer, pt_slice key)
{
    pt_table_counts counts;
    int mdb_rc = read_counts(writer, key, &counts);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    counts.entities = pt_add_counts(counts.entities, writer->counted.entities);
    counts.bytes = pt_add_counts(counts.bytes, writer->counted.bytes);
    counts.chunks = pt_add_counts(counts.chunks, writer->counted.chunks);
    writer->next.counted_table = writer->counted_table;
    writer->next.counts = counts;
    if (is_nothing(&counts)) {
        return delete_counts(writer, key);
    }
    uint8_t record[PT_FORMAT_COUNTS_SIZE];
    pt_format_write_counts(key, &counts, record);
    return put_meta(writer, key, pt_slice_of(record, sizeof record));
}

static int flush_counts(pt_writer *writer)
{
    int mdb_rc = MDB_SUCCESS;
    if (writer->counted_table != 0 && !is_nothing(&writer->counted)) {
        pt_format_key key = pt_format_counts_key(writer->counted_table);
        mdb_rc = add_counts(writer, pt_slice_of(key.bytes, key.size));
    }
    writer->counted = (pt_table_counts){0};
    return mdb_rc;
}

static int add_to(pt_writer *writer, uint32_t table, int64_t *count, int64_t records, int64_t bytes)
{
    if (table != writer->counted_table) {
        int mdb_rc = flush_counts(writer);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        writer->counted_table = table;
    }
    *count += records;
    writer->counted.bytes += bytes;
    return MDB_SUCCESS;
}

/* A chunk counts for the table whose id follows in its key; garbage is not counted. */
static inline int count(pt_writer *writer, const pt_lmdb_tree *tree, pt_slice key, int64_t records,
                        int64_t bytes)
{
    if (tree == &writer->entities) {
        return add_to(writer, pt_get_be32(key.data), &writer->counted.entities, records, bytes);
    }
    if (tree == &writer->chunks && key.size >= CHUNK_KEY_MIN) {
        uint32_t table = pt_get_be32(key.data + PT_KEY_TABLE_SIZE);
        return add_to(writer, table, &writer->counted.chunks, records, bytes);
    }
    return MDB_SUCCESS;
}

/* --- Putting and deleting --- */

static pt_lmdb_tree *tree_of(pt_writer *writer, pt_slice key)
{
    MDB_dbi dbi = pt_lmdb_dbi_of(&writer->store->env, key);
    return dbi == writer->entities.dbi ? &writer->entities
           : dbi == writer->chunks.dbi ? &writer->chunks
                                       : &writer->garbage;
}

static pt_lmdb_long_trees long_trees(pt_writer *writer)
{
    return (pt_lmdb_long_trees){
        .env = &writer->store->env, .entities = &writer->entities, .long_keys = &writer->long_keys};
}

static int put(pt_writer *writer, pt_lmdb_tree *tree, pt_slice key, pt_slice record)
{
    pt_lmdb_old old;
    int mdb_rc;
    writer->next.no_garbage = writer->next.no_garbage && tree != &writer->garbage;
    if (key.size > PT_LMDB_SHORT_KEY_MAX) {
        pt_lmdb_long_trees trees = long_trees(writer);
        mdb_rc = pt_lmdb_long_put(&trees, key, record, &old);
    } else {
        mdb_rc = pt_lmdb_tree_put(tree, key, record, &old);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    int64_t size = (int64_t)record.size;
    return old.present ? count(writer, tree, key, 0, size - (int64_t)old.size)
                       : count(writer, tree, key, 1, (int64_t)key.size + size);
}

int pt_lmdb_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error)
{
    pt_lmdb_tree *tree = tree_of(writer, key);
    size_t longest = tree == &writer->entities ? PT_KEY_LOGICAL_MAX : PT_LMDB_SHORT_KEY_MAX;
    if (key.size > longest) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "store %Q: a key of %lld bytes is longer than %lld; shorten "
                            "PartitionKey or RowKey",
                            writer->store->base.path, (sqlite3_int64)key.size,
                            (sqlite3_int64)longest);
    }
    /* Dropping a table is a way to make room. */
    bool checked = writer->room.watched && tree != &writer->garbage;
    int mdb_rc =
        checked ? pt_lmdb_room_check(&writer->room, &writer->store->env, writer->txn) : MDB_SUCCESS;
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put(writer, tree, key, record);
    }
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : fail(writer, mdb_rc, "writing a record", error);
}

static int delete_key(pt_writer *writer, pt_lmdb_tree *tree, pt_slice key)
{
    pt_lmdb_old old;
    int mdb_rc;
    if (key.size > PT_LMDB_SHORT_KEY_MAX) {
        pt_lmdb_long_trees trees = long_trees(writer);
        mdb_rc = pt_lmdb_long_delete(&trees, key, &old);
    } else {
        mdb_rc = pt_lmdb_tree_delete(tree, key, &old);
    }
    return mdb_rc == MDB_SUCCESS && old.present
               ? count(writer, tree, key, -1, -(int64_t)(key.size + old.size))
               : mdb_rc;
}

int pt_lmdb_write_delete(pt_writer *writer, pt_slice key, pt_error *error)
{
    int mdb_rc = delete_key(writer, tree_of(writer, key), key);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : fail(writer, mdb_rc, "deleting a record", error);
}

/* With whatever room there is: a commit that could not be taken back would be worse. */
int pt_lmdb_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error)
{
    bool found;
    pt_slice record;
    int rc = pt_lmdb_get(snapshot, key, &found, &record, error);
    if (rc != SQLITE_OK) {
        writer->failed = true;
        return rc;
    }
    if (!found) {
        return pt_lmdb_write_delete(writer, key, error);
    }
    int mdb_rc = put(writer, tree_of(writer, key), key, record);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : fail(writer, mdb_rc, "restoring a record", error);
}

int pt_lmdb_write_collect(pt_writer *writer, bool *collected, pt_error *error)
{
    *collected = false;
    if (writer->next.no_garbage) {
        return SQLITE_OK;
    }
    int mdb_rc = pt_lmdb_collect(writer->txn, &writer->store->env, collected);
    if (mdb_rc != MDB_SUCCESS) {
        return fail(writer, mdb_rc, "deleting what is left of a dropped table", error);
    }
    writer->next.no_garbage = !*collected;
    if (*collected) {
        writer->next.counted_table = 0;
    }
    return SQLITE_OK;
}

/* --- Commit --- */

static int put_entry(const pt_writer *writer, pt_slice key, pt_slice content)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = {.mv_size = content.size + PT_SEAL_SIZE};
    int mdb_rc = mdb_put(writer->txn, writer->store->env.meta, &mdb_key, &value, MDB_RESERVE);
    if (mdb_rc == MDB_SUCCESS) {
        memcpy(value.mv_data, content.data, content.size);
        pt_seal(key, value.mv_data, value.mv_size);
    }
    return mdb_rc;
}

/* Stores the ids behind `stored`, which then is the highest one assigned. */
static int put_entries(pt_writer *writer, uint16_t *stored, uint16_t assigned,
                       pt_format_key (*key_of)(uint16_t id),
                       pt_slice (*bytes_of)(pt_dictionary *dictionary, uint16_t id))
{
    int mdb_rc = MDB_SUCCESS;
    while (mdb_rc == MDB_SUCCESS && *stored < assigned) {
        uint16_t id = ++*stored;
        pt_format_key key = key_of(id);
        mdb_rc = put_entry(writer, pt_slice_of(key.bytes, key.size),
                           bytes_of(writer->store->base.dictionary, id));
    }
    return mdb_rc;
}

static int put_dictionary(pt_writer *writer)
{
    pt_format_state *state = &writer->next.state;
    pt_dictionary_counts assigned = pt_dictionary_assigned(writer->store->base.dictionary);
    int mdb_rc = put_entries(writer, &state->names, assigned.names, pt_format_name_key,
                             pt_dictionary_name_bytes);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_entries(writer, &state->shapes, assigned.shapes, pt_format_shape_key,
                             pt_dictionary_shape_bytes);
    }
    return mdb_rc;
}

static void make_nonce(const pt_writer *writer, uint8_t nonce[PT_FORMAT_NONCE_SIZE])
{
    memcpy(nonce, writer->store->nonce, PT_FORMAT_NONCE_SIZE);
    pt_put_le64(nonce, pt_get_le64(nonce) + writer->next.state.version);
}

static int put_state(pt_writer *writer, const pt_commit *commit)
{
    pt_format_state *state = &writer->next.state;
    state->version = mdb_txn_id(writer->txn);
    state->catalog_generation += commit->catalog_changed ? 1 : 0;
    if (commit->clock > state->clock) {
        state->clock = commit->clock;
    }
    if (commit->next_table_id > state->next_table_id) {
        state->next_table_id = commit->next_table_id;
    }
    make_nonce(writer, state->nonce);
    uint8_t bytes[PT_FORMAT_STATE_SIZE];
    pt_format_write_state(state, bytes);
    return put_meta(writer, pt_format_state_key(), pt_slice_of(bytes, sizeof bytes));
}

static int put_rest(pt_writer *writer, const pt_commit *commit)
{
    int mdb_rc = flush_counts(writer);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_dictionary(writer);
    }
    return mdb_rc == MDB_SUCCESS ? put_state(writer, commit) : mdb_rc;
}

int pt_lmdb_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error)
{
    pt_lmdb_store *store = writer->store;
    int rc = commit->sync == PT_SYNC_FULL ? pt_lmdb_make_name_durable(store, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        pt_lmdb_write_abort(writer);
        return rc;
    }
    int mdb_rc = writer->failed ? MDB_BAD_TXN : put_rest(writer, commit);
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_write_abort(writer);
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "preparing a commit");
    }
    rc = pt_lmdb_commit(store, writer->txn, commit->sync, &writer->next.state, error);
    if (rc == SQLITE_OK) {
        store->committed = writer->next;
    }
    put_by(writer);
    return rc;
}

/* --- Commit --- */

enum { COMMITS_BETWEEN_READER_CHECKS = 256 };

/*
 * A full commit flushes the whole file before it writes its root page, and that page before it
 * returns: so it also makes durable whatever earlier commits left unflushed.
 */
static int commit_transaction(const pt_lmdb_store *store, MDB_txn *txn, pt_sync sync)
{
    MDB_env *env = store->env.env;
    bool private = store->fd < 0;
    unsigned flags = private || sync == PT_SYNC_OFF ? MDB_NOSYNC
                     : sync == PT_SYNC_NORMAL       ? MDB_NOMETASYNC
                                                    : 0u;
    mdb_env_set_flags(env, MDB_NOSYNC | MDB_NOMETASYNC, 0);
    mdb_env_set_flags(env, flags, 1);
    return mdb_txn_commit(txn);
}

/* Whether the newest version is this commit. SQLITE_OK or the reason why it cannot be said. */
static int look_for(pt_lmdb_store *store, const pt_format_state *state, bool *found,
                    pt_error *error)
{
    MDB_txn *txn;
    pt_format_state newest;
    int mdb_rc = mdb_txn_begin(store->env.env, NULL, MDB_RDONLY, &txn);
    if (mdb_rc == MDB_PANIC) {
        atomic_store(&store->broken, true);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "looking for a commit that failed");
    }
    int rc = pt_lmdb_read_state(store, txn, &newest, error);
    mdb_txn_abort(txn);
    *found = rc == SQLITE_OK && memcmp(newest.nonce, state->nonce, PT_FORMAT_NONCE_SIZE) == 0;
    return rc;
}

/*
 * LMDB begins nothing any more after it could not write a root page. The map still shows which root
 * page is the newest, and whoever opens the file will see that one.
 */
static bool is_newest(const pt_lmdb_store *store, const pt_format_state *state)
{
    MDB_envinfo info;
    mdb_env_info(store->env.env, &info);
    return info.me_last_txnid == state->version;
}

static bool took_place(pt_lmdb_store *store, const pt_format_state *state)
{
    bool found = false;
    pt_error ignored = PT_ERROR_NONE;
    if (look_for(store, state, &found, &ignored) != SQLITE_OK) {
        found = is_newest(store, state);
    }
    pt_error_clear(&ignored);
    return found;
}

static int flush(const pt_lmdb_store *store)
{
    int fd;
    mdb_env_get_fd(store->env.env, &fd);
    return fdatasync(fd);
}

/* LMDB may report a failure of a commit that nevertheless took place. */
static int settle_failure(pt_lmdb_store *store, const pt_format_state *state, pt_sync sync,
                          int mdb_rc, pt_error *error)
{
    if (!took_place(store, state)) {
        return pt_lmdb_fail(error, pt_lmdb_env_write_problem(&store->env, mdb_rc), store->base.path,
                            "committing");
    }
    if (store->fd < 0 || sync != PT_SYNC_FULL || flush(store) == 0) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "store %Q: the commit took place, but may be lost when the power fails "
                        "(%s); check the disk",
                        store->base.path, mdb_strerror(mdb_rc));
}

/*
 * LMDB does not write a last page that it has taken and given back in the same transaction; the
 * file then ends before the last page, which is how a truncated file looks.
 */
static void extend_file(pt_lmdb_store *store)
{
    int fd;
    struct stat file;
    MDB_envinfo info;
    mdb_env_info(store->env.env, &info);
    off_t size = (off_t)((info.me_last_pgno + 1) * store->env.page_size);
    if (size <= store->file_size) {
        return;
    }
    mdb_env_get_fd(store->env.env, &fd);
    if (fstat(fd, &file) == 0 && (file.st_size >= size || ftruncate(fd, size) == 0)) {
        store->file_size = size;
    }
}

static void finish(pt_lmdb_store *store, const pt_format_state *state)
{
    pt_dictionary_commit(store->base.dictionary);
    pt_lmdb_note_clock(store, state->clock);
    extend_file(store);
    if (++store->commits % COMMITS_BETWEEN_READER_CHECKS == 0) {
        mdb_reader_check(store->env.env, NULL);
    }
}

int pt_lmdb_commit(pt_lmdb_store *store, MDB_txn *txn, pt_sync sync, const pt_format_state *state,
                   pt_error *error)
{
    int mdb_rc = commit_transaction(store, txn, sync);
    int rc = mdb_rc == MDB_SUCCESS ? SQLITE_OK : settle_failure(store, state, sync, mdb_rc, error);
    if (rc == SQLITE_OK) {
        finish(store, state);
    }
    return rc;
}
