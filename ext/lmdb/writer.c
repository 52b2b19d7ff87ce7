#include "lmdb/writer.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/collect.h"
#include "lmdb/failed_commit.h"
#include "lmdb/file/errors.h"
#include "lmdb/log.h"
#include "lmdb/long_keys.h"
#include "lmdb/map.h"
#include "lmdb/snapshot.h"
#include "lmdb/state.h"

struct pt_writer {
    pt_lmdb_store *store; /* this and the next one: pt_writer_head */
    bool is_logged;
    MDB_txn *txn;
    pt_lmdb_outcome next; /* at first that of the commit before this transaction */
    pt_sync sync;         /* of its commit, at least */
    bool failed;          /* an operation failed half-way: the transaction must not be committed */
    bool has_put;         /* something that makes the store larger */
    bool must_commit;     /* an undo or a renewal: it may take the last pages */
    pt_lmdb_room room;
    pthread_t thread; /* LMDB binds a write transaction to the thread that began it */
    size_t scattered; /* operations that were not appended: each may change a page of its own */
    size_t bytes;     /* of the keys and records put */
    size_t tail_scattered, tail_bytes; /* of those that the log had: what is seen stays the same */

    /* Not yet added to the stored counts of `counted_table`. The catalogue is not counted. */
    uint32_t counted_table;
    pt_table_counts counted;

    pt_lmdb_tree entities; /* the first of the trees, which are last */
    pt_lmdb_tree long_keys;
    pt_lmdb_tree chunks;
    pt_lmdb_tree garbage;
};

static int fail_write(pt_writer *writer, int mdb_rc, const char *doing, pt_error *error)
{
    writer->failed = true;
    return pt_lmdb_fail(error, mdb_rc, writer->store->base.path, doing);
}

static int write_tail(pt_writer *writer, pt_error *error);

/* --- Begin and abort --- */

/* True while the writer may be used: by its own thread, before the commit. */
static bool is_writing(const pt_writer *writer)
{
    return writer->store->writer_state == PT_WRITER_WRITING &&
           pthread_equal(writer->thread, pthread_self()) != 0;
}

/* Reads the state that the transaction starts from, unless it is the one that we committed last. */
static int start_from_committed(pt_writer *writer, pt_error *error)
{
    pt_lmdb_store *store = writer->store;
    /* Another process has committed since this one did: what we remember is out of date. */
    if (store->committed.state.version + 1 != mdb_txn_id(writer->txn)) {
        MDB_stat garbage;
        writer->next.no_garbage =
            mdb_stat(writer->txn, store->env.garbage, &garbage) == 0 && garbage.ms_entries == 0;
        return pt_lmdb_read_state(store, writer->txn, &writer->next.state, error);
    }
    writer->next = store->committed;
    return SQLITE_OK;
}

/* The commit will end what is in a log that follows this version. So it must be the version that
 * was looked at when the store was locked, or nothing is lost. Not inlined: a private store has no
 * log. */
__attribute__((noinline)) static int start_from_log(pt_writer *writer, pt_error *error)
{
    const pt_format_state *state = &writer->next.state;
    const pt_lmdb_log *log = writer->store->log;
    if ((!log->is_locked_blindly || state->log_id != 0) &&
        memcmp(state->nonce, log->state.nonce, PT_FORMAT_NONCE_SIZE) != 0) {
        return pt_error_set(error, SQLITE_BUSY,
                            "store %Q was changed by another process; run the transaction again",
                            writer->store->base.path);
    }
    return pt_log_has_tail(writer->store) ? write_tail(writer, error) : SQLITE_OK;
}

static int prepare_writer(pt_writer *writer, pt_error *error)
{
    const pt_lmdb_env *env = &writer->store->env;
    pt_lmdb_tree_init(&writer->entities, writer->txn, env->entities);
    pt_lmdb_tree_init(&writer->long_keys, writer->txn, env->long_keys);
    pt_lmdb_tree_init(&writer->chunks, writer->txn, env->chunks);
    pt_lmdb_tree_init(&writer->garbage, writer->txn, env->garbage);
    pt_lmdb_room_measure(&writer->room, env, writer->txn);
    int rc = start_from_committed(writer, error);
    return rc == SQLITE_OK && writer->store->log != NULL ? start_from_log(writer, error) : rc;
}

int pt_lmdb_write_begin(pt_store *base, pt_writer **writer, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    PT_ASSERT((store->writer_state & PT_WRITER_BETWEEN_WRITES) != 0);
    /* After a failed commit it is not known what the tree has of the tail. */
    int rc =
        store->log != NULL && store->log->seen == 0 ? pt_log_catch_up(store, 0, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_writer *begun = store->spare_writer;
    store->spare_writer = NULL;
    if (begun == NULL) {
        begun = sqlite3_malloc64(sizeof *begun);
    }
    if (begun == NULL) {
        return pt_error_nomem(error);
    }
    /* The trees are large and are initialised later: clearing them would show in small commits. */
    memset(begun, 0, offsetof(pt_writer, entities));
    begun->store = store;
    begun->thread = pthread_self();
    rc = pt_lmdb_txn_begin_write(store, &begun->txn, error);
    if (rc != SQLITE_OK) {
        store->spare_writer = begun;
        return rc;
    }
    pt_lmdb_change_writer_state(store, PT_WRITER_BETWEEN_WRITES, PT_WRITER_WRITING);
    rc = prepare_writer(begun, error);
    if (rc != SQLITE_OK) {
        pt_lmdb_write_abort(begun);
        return rc;
    }
    *writer = begun;
    return SQLITE_OK;
}

/*
 * Puts the writer aside after its transaction was committed or aborted, which has also closed the
 * trees' cursors. It is kept so that undoing a commit cannot fail because no memory is left.
 */
static void end_writer(pt_writer *writer, pt_writer_state result)
{
    pt_lmdb_txn_note_size(writer->store, writer->scattered, writer->bytes,
                          result == PT_WRITER_COMMITTED);
    pt_lmdb_txn_end(writer->store);
    pt_lmdb_change_writer_state(writer->store, PT_WRITER_WRITING, result);
    writer->store->spare_writer = writer;
}

void pt_lmdb_write_abort(pt_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    PT_ASSERT(is_writing(writer));
    mdb_txn_abort(writer->txn);
    end_writer(writer, PT_WRITER_FAILED);
}

/* --- Counts --- */

static int put_meta(pt_writer *writer, pt_slice key, pt_slice bytes)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = pt_lmdb_val(bytes);
    return mdb_put(writer->txn, writer->store->env.meta, &mdb_key, &value, 0);
}

static bool are_zero(const pt_table_counts *counts)
{
    return counts->entities == 0 && counts->bytes == 0 && counts->chunks == 0;
}

/* Reads the counts that `counted_table` had before this change; zeros if none are stored. */
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
    if (are_zero(&counts)) { /* the key exists: they were not zero before */
        MDB_val mdb_key = pt_lmdb_val(key);
        return mdb_del(writer->txn, writer->store->env.meta, &mdb_key, NULL);
    }
    uint8_t record[PT_FORMAT_COUNTS_SIZE];
    pt_format_write_counts(key, &counts, record);
    return put_meta(writer, key, pt_slice_of(record, sizeof record));
}

/* Adds what was counted to the stored counts: when the table changes, and before a commit. */
static int flush_counts(pt_writer *writer)
{
    int mdb_rc = MDB_SUCCESS;
    if (writer->counted_table != 0 && !are_zero(&writer->counted)) {
        pt_format_key key = pt_format_counts_key(writer->counted_table);
        mdb_rc = add_counts(writer, pt_slice_of(key.bytes, key.size));
    }
    writer->counted = (pt_table_counts){0};
    return mdb_rc;
}

static int add_to_counts(pt_writer *writer, uint32_t table, int64_t *count, int64_t records,
                         int64_t bytes)
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

/* Counts a change for the table of the key. In the key of a chunk the table's id comes second.
 * Garbage is not counted. */
static inline int count_change(pt_writer *writer, const pt_lmdb_tree *tree, pt_slice key,
                               int64_t records, int64_t bytes)
{
    uint32_t table;
    if (tree == &writer->entities) {
        return add_to_counts(writer, pt_key_table(key), &writer->counted.entities, records, bytes);
    }
    if (tree == &writer->chunks && pt_key_read_chunks(key, &table) != 0) {
        return add_to_counts(writer, table, &writer->counted.chunks, records, bytes);
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

static int put_value(pt_writer *writer, pt_lmdb_tree *tree, pt_slice key, pt_slice record)
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
    writer->scattered += tree->appending != PT_APPENDING;
    writer->bytes += key.size + record.size;
    int64_t size = (int64_t)record.size;
    return old.present ? count_change(writer, tree, key, 0, size - (int64_t)old.size)
                       : count_change(writer, tree, key, 1, (int64_t)key.size + size);
}

/* MDB_MAP_FULL if the map has no room for a put. Returns LMDB's code. */
static int check_map(pt_writer *writer)
{
    return writer->room.watched
               ? pt_lmdb_room_check(&writer->room, &writer->store->env, writer->txn)
               : MDB_SUCCESS;
}

/* Garbage may always be put: dropping a table is how to make room. In a store without room that is
 * to help at once. */
static void note_drop(pt_writer *writer)
{
    pt_lmdb_reserve *reserve = &writer->store->reserve;
    reserve->is_scarce |= check_map(writer) != MDB_SUCCESS;
    reserve->touched |= reserve->is_scarce;
}

/* Refuses a put that there is no room for. Returns LMDB's code. */
static int prepare_put(pt_writer *writer)
{
    pt_lmdb_reserve *reserve = &writer->store->reserve;
    int mdb_rc = check_map(writer);
    writer->has_put = true;
    if (mdb_rc == MDB_MAP_FULL) {
        reserve->touched = true;
        reserve->is_scarce = true;
    }
    return mdb_rc;
}

int pt_lmdb_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error)
{
    PT_ASSERT(is_writing(writer));
    pt_lmdb_tree *tree = tree_of(writer, key);
    size_t longest = tree == &writer->entities ? PT_KEY_LOGICAL_MAX : PT_LMDB_SHORT_KEY_MAX;
    if (key.size > longest) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "store %Q: a key of %lld bytes is longer than %lld; shorten "
                            "PartitionKey or RowKey",
                            writer->store->base.path, (sqlite3_int64)key.size,
                            (sqlite3_int64)longest);
    }
    int mdb_rc = MDB_SUCCESS;
    if (tree == &writer->garbage) {
        note_drop(writer);
    } else {
        mdb_rc = prepare_put(writer);
    }
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_value(writer, tree, key, record);
    }
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : fail_write(writer, mdb_rc, "writing a record", error);
}

/* Inlined: a call would cost a DELETE 20 instructions a row. */
__attribute__((always_inline)) static inline int delete_key(pt_writer *writer, pt_lmdb_tree *tree,
                                                            pt_slice key)
{
    pt_lmdb_old old;
    int mdb_rc;
    if (key.size > PT_LMDB_SHORT_KEY_MAX) {
        pt_lmdb_long_trees trees = long_trees(writer);
        mdb_rc = pt_lmdb_long_delete(&trees, key, &old);
    } else {
        mdb_rc = pt_lmdb_tree_delete(tree, key, &old);
    }
    writer->scattered++;
    return mdb_rc == MDB_SUCCESS && old.present
               ? count_change(writer, tree, key, -1, -(int64_t)(key.size + old.size))
               : mdb_rc;
}

int pt_lmdb_write_delete(pt_writer *writer, pt_slice key, pt_error *error)
{
    PT_ASSERT(is_writing(writer));
    int mdb_rc = delete_key(writer, tree_of(writer, key), key);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : fail_write(writer, mdb_rc, "deleting a record", error);
}

/* Does not check the room in the map: a commit that cannot be undone would be worse than a full
 * map. The undo is flushed whatever its sync: the disk may have the commit, or get it just by the
 * first part of the undo. */
int pt_lmdb_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error)
{
    PT_ASSERT(is_writing(writer) && writer->store == pt_lmdb_own_snapshot(snapshot)->store);
    bool found;
    pt_slice record;
    writer->must_commit = true;
    writer->sync = PT_SYNC_FULL;
    int rc = pt_lmdb_get(snapshot, key, &found, &record, error);
    if (rc != SQLITE_OK) {
        writer->failed = true;
        return rc;
    }
    if (!found) {
        return pt_lmdb_write_delete(writer, key, error);
    }
    int mdb_rc = put_value(writer, tree_of(writer, key), key, record);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : fail_write(writer, mdb_rc, "restoring a record", error);
}

bool pt_lmdb_write_is_small(const pt_writer *writer)
{
    enum { OPERATIONS_MAX = 100, BYTES_MAX = 1 << 16 };
    return writer->scattered <= OPERATIONS_MAX && writer->bytes <= BYTES_MAX;
}

/* Does not check the room in the map either: these commits have taken place, and deletions may be
 * among them that make room. */
static int write_tail(pt_writer *writer, pt_error *error)
{
    const pt_lmdb_log *log = writer->store->log;
    uint32_t end = log->chain.end;
    int64_t clock = pt_tail_clock(log->tail, end);
    int mdb_rc = MDB_SUCCESS;
    for (const pt_tail_node *node = pt_tail_seek(log->tail, (pt_slice){0}, end, PT_FORWARD);
         mdb_rc == MDB_SUCCESS && node != NULL;
         node = pt_tail_step(log->tail, node, end, PT_FORWARD)) {
        pt_slice key = pt_tail_key(node);
        pt_lmdb_tree *tree = tree_of(writer, key);
        mdb_rc = node->deletes ? delete_key(writer, tree, key)
                               : put_value(writer, tree, key, pt_tail_record(node));
    }
    writer->must_commit = true;
    writer->tail_scattered = writer->scattered;
    writer->tail_bytes = writer->bytes;
    writer->next.state.clock = clock > writer->next.state.clock ? clock : writer->next.state.clock;
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : fail_write(writer, mdb_rc, "writing what its log holds", error);
}

void pt_lmdb_write_insist(pt_writer *writer)
{
    writer->must_commit = true;
}

int pt_lmdb_write_collect(pt_writer *writer, bool *collected, pt_error *error)
{
    PT_ASSERT(is_writing(writer));
    *collected = false;
    if (writer->next.no_garbage) {
        return SQLITE_OK;
    }
    int mdb_rc = pt_lmdb_collect(writer->txn, &writer->store->env, collected);
    if (mdb_rc != MDB_SUCCESS) {
        return fail_write(writer, mdb_rc, "deleting what is left of a dropped table", error);
    }
    writer->next.no_garbage = !*collected;
    /* The collector changes stored counts itself, perhaps those that we remember. */
    if (*collected) {
        writer->next.counted_table = 0;
    }
    return SQLITE_OK;
}

/* --- The records of a commit --- */

static int put_dictionary_entry(const pt_writer *writer, pt_slice key, pt_slice content)
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

/* Stores the ids above `stored` up to `assigned`, and counts `stored` up. */
static int put_dictionary_entries(pt_writer *writer, uint16_t *stored, uint16_t assigned,
                                  pt_format_key (*key_of)(uint16_t id),
                                  pt_slice (*bytes_of)(pt_dictionary *dictionary, uint16_t id))
{
    int mdb_rc = MDB_SUCCESS;
    while (mdb_rc == MDB_SUCCESS && *stored < assigned) {
        uint16_t id = ++*stored;
        pt_format_key key = key_of(id);
        mdb_rc = put_dictionary_entry(writer, pt_slice_of(key.bytes, key.size),
                                      bytes_of(writer->store->base.dictionary, id));
    }
    return mdb_rc;
}

static int put_dictionary(pt_writer *writer)
{
    pt_format_state *state = &writer->next.state;
    pt_dictionary_counts assigned = pt_dictionary_assigned(writer->store->base.dictionary);
    int mdb_rc = put_dictionary_entries(writer, &state->names, assigned.names, pt_format_name_key,
                                        pt_dictionary_name_bytes);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_dictionary_entries(writer, &state->shapes, assigned.shapes,
                                        pt_format_shape_key, pt_dictionary_shape_bytes);
    }
    return mdb_rc;
}

static void make_nonce(const pt_writer *writer, uint8_t nonce[PT_FORMAT_NONCE_SIZE])
{
    memcpy(nonce, writer->store->nonce, PT_FORMAT_NONCE_SIZE);
    pt_put_le64(nonce, pt_get_le64(nonce) + writer->next.state.version);
}

static int mark_log(pt_writer *writer, bool has_log)
{
    uint8_t header[PT_FORMAT_HEADER_MAX];
    size_t size;
    int mdb_rc = pt_lmdb_mark_header(writer->txn, writer->store->env.meta, has_log, header, &size);
    return mdb_rc == MDB_SUCCESS
               ? put_meta(writer, pt_format_header_key(), pt_slice_of(header, size))
               : mdb_rc;
}

/* `state` is still that of the version before, whose log is now in the tree. */
static uint64_t number_of_shown(const pt_writer *writer, const pt_commit *commit)
{
    const pt_format_state *state = &writer->next.state;
    const pt_lmdb_log *log = writer->store->log;
    if (commit->catalog_changed || log->next_id == 0 ||
        writer->scattered != writer->tail_scattered || writer->bytes != writer->tail_bytes) {
        return pt_format_shown(mdb_txn_id(writer->txn), 0);
    }
    return log->chain.end != 0 ? pt_format_shown(state->version, log->chain.end) : state->shown;
}

/* Names the log in the state, and marks the header if it must. Not inlined: a private store has no
 * log. */
__attribute__((noinline)) static int put_log(pt_writer *writer, const pt_commit *commit)
{
    pt_format_state *state = &writer->next.state;
    bool had_log = state->log_id != 0;
    state->shown = number_of_shown(writer, commit);
    state->log_id = writer->store->log->next_id;
    state->sync = writer->sync;
    bool has_log = state->log_id != 0;
    return had_log == has_log ? MDB_SUCCESS : mark_log(writer, has_log);
}

static int put_next_state(pt_writer *writer, const pt_commit *commit)
{
    pt_format_state *state = &writer->next.state;
    int mdb_rc = writer->store->log != NULL ? put_log(writer, commit) : MDB_SUCCESS;
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    state->version = mdb_txn_id(writer->txn);
    state->shown = writer->store->log != NULL ? state->shown : pt_format_shown(state->version, 0);
    state->catalog_generation += commit->catalog_changed ? 1 : 0;
    state->clock = commit->clock > state->clock ? commit->clock : state->clock;
    if (commit->next_table_id > state->next_table_id) {
        state->next_table_id = commit->next_table_id;
    }
    make_nonce(writer, state->nonce);
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    size_t size = pt_format_write_state(state, bytes);
    return put_meta(writer, pt_format_state_key(), pt_slice_of(bytes, size));
}

/* The state comes last: the dictionary's new size is part of it. */
static int put_commit_records(pt_writer *writer, const pt_commit *commit)
{
    int mdb_rc = flush_counts(writer);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_dictionary(writer);
    }
    return mdb_rc == MDB_SUCCESS ? put_next_state(writer, commit) : mdb_rc;
}

/* --- LMDB's commit --- */

enum { COMMITS_BETWEEN_READER_CHECKS = 256 };

/*
 * A full commit flushes the whole file before it writes its root page, and the root page before it
 * returns. So it also makes durable what earlier commits left unflushed.
 */
static int call_mdb_commit(const pt_lmdb_store *store, MDB_txn *txn, pt_sync sync)
{
    MDB_env *env = store->env.env;
    bool private = store->fd < 0;
    unsigned flags = private || sync == PT_SYNC_OFF ? MDB_NOSYNC
                     : sync == PT_SYNC_NORMAL       ? MDB_NOMETASYNC
                                                    : 0u;
    /* The flags belong to the environment: those of the last commit go first. */
    mdb_env_set_flags(env, MDB_NOSYNC | MDB_NOMETASYNC, 0);
    mdb_env_set_flags(env, flags, 1);
    return mdb_txn_commit(txn);
}

/*
 * LMDB does not write a last page that it has allocated and freed in the same transaction. The file
 * then ends before the last page, and would be refused as truncated when it is opened.
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

/* Brings this process's knowledge of the store up to date. Nothing here can fail: the commit has
 * taken place. */
static void note_commit(pt_lmdb_store *store, const pt_format_state *state)
{
    pt_dictionary_commit(store->base.dictionary);
    pt_lmdb_note_clock(store, state->clock);
    extend_file(store);
    if (++store->commits % COMMITS_BETWEEN_READER_CHECKS == 0) {
        mdb_reader_check(store->env.env, NULL);
    }
}

/* Commits and ends the transaction. SQLITE_OK: the commit took place. Otherwise it did not, or the
 * text says that it did but may be lost. */
static int commit_txn(pt_writer *writer, pt_sync sync, pt_error *error)
{
    pt_lmdb_store *store = writer->store;
    const pt_format_state *state = &writer->next.state;
    int mdb_rc = call_mdb_commit(store, writer->txn, sync);
    int rc = mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                   : pt_lmdb_judge_failed_commit(store, state, sync, mdb_rc, error);
    if (rc == SQLITE_OK) {
        note_commit(store, state);
        /* The mutex is for snapshots, which are begun without the writer lock. */
        pthread_mutex_lock(&store->mutex);
        store->committed = writer->next;
        pthread_mutex_unlock(&store->mutex);
        if (store->log != NULL) {
            pt_log_note_lmdb_commit(store);
        }
    }
    end_writer(writer, rc == SQLITE_OK ? PT_WRITER_COMMITTED : PT_WRITER_FAILED);
    return rc;
}

/* Asks for room on the disk before LMDB needs it. Returns LMDB's code. */
static int check_reserve(pt_writer *writer)
{
    pt_lmdb_reserve *reserve = &writer->store->reserve;
    const pt_lmdb_env *env = &writer->store->env;
    size_t end = pt_lmdb_room_end(&writer->room, env, writer->txn);
    if (end <= reserve->limit) {
        return MDB_SUCCESS;
    }
    if (!writer->has_put && (writer->must_commit || !writer->room.end_is_known)) {
        reserve->touched |= reserve->is_scarce;
        return MDB_SUCCESS;
    }
    return pt_lmdb_reserve_check(reserve, env, writer->txn, &writer->room, end, !writer->has_put);
}

static int fail_without_room(const pt_writer *writer, int mdb_rc, pt_error *error)
{
    if (mdb_rc == MDB_MAP_FULL) {
        return pt_lmdb_fail(error, mdb_rc, writer->store->base.path, "committing");
    }
    return pt_error_set(
        error, SQLITE_FULL, "store %Q: %s while committing; make room on the disk, %s",
        writer->store->base.path, mdb_strerror(mdb_rc),
        writer->has_put ? "or delete entities, for which some of it is kept"
                        : "or delete less at once; and end old readers, which keep deleted pages");
}

int pt_lmdb_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error)
{
    pt_lmdb_store *store = writer->store;
    PT_ASSERT(is_writing(writer));
    /* First the file's name, if it is new: a durable commit in a file without a durable name would
     * be lost with the file. */
    pt_sync sync = pt_log_sync_of(store, writer->next.state.log_id, commit->sync);
    writer->sync = sync > writer->sync ? sync : writer->sync;
    int rc = sync == PT_SYNC_FULL ? pt_lmdb_make_name_durable(store, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        pt_lmdb_write_abort(writer);
        return rc;
    }
    int mdb_rc = writer->failed ? MDB_BAD_TXN : put_commit_records(writer, commit);
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_write_abort(writer);
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "preparing a commit");
    }
    mdb_rc = check_reserve(writer);
    if (mdb_rc != MDB_SUCCESS) {
        rc = fail_without_room(writer, mdb_rc, error);
        pt_lmdb_write_abort(writer);
        return rc;
    }
    return commit_txn(writer, writer->sync, error);
}
