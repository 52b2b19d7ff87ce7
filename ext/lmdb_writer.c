#include "lmdb_writer.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "key.h"
#include "lmdb_store.h"
#include "sqlite.h"

enum {
    COMMITS_BETWEEN_READER_CHECKS = 256,
    HEADROOM_PART = 50,      /* the fiftieth part of the map is for deletes, */
    HEADROOM_PAGES = 64,     /* and no fewer pages than some transactions copy */
    FEW_PAGES = 64,          /* a disk with less room is full */
    WATCHED_PAGES = 1 << 20, /* more free pages than this need not be watched */
};

/*
 * How a key beyond the last one is put. MDB_APPEND saves the search, but relies on what the cursor
 * knows about the end, and that can be wrong once other operations came in between: so it is used
 * in one run only, which begins at the first key beyond the last and ends with the first other
 * operation.
 */
typedef enum pt_appending { PT_APPEND_MAY_BEGIN, PT_APPENDING, PT_APPEND_IS_OVER } pt_appending;

struct pt_writer {
    pt_lmdb_store *store;
    MDB_txn *txn;
    MDB_cursor *cursor;    /* on the entities */
    pt_format_state state; /* of the version that is written upon */
    bool failed;           /* the transaction is no longer whole: no commit */

    pt_appending appending;
    bool last_key_known;
    size_t last_key_size; /* 0: no key at all */
    uint8_t last_key[PT_KEY_LOGICAL_MAX];

    /* Not yet added to the stored counts of `counted_table`; the catalogue is not counted. */
    uint32_t counted_table;
    pt_table_counts counted;

    /* Room in the map, in pages. */
    bool watched;
    size_t next_page;    /* behind the last page before this transaction */
    size_t page_limit;   /* puts may use the map up to here */
    size_t pages_before; /* of the entities' tree */
    size_t free_pages;
    bool free_pages_known;
};

static int fail(pt_writer *writer, int mdb_rc, const char *doing, pt_error *error)
{
    writer->failed = true;
    return pt_lmdb_fail(error, mdb_rc, writer->store->base.path, doing);
}

/* --- Begin and abort --- */

static size_t pages_of(const MDB_stat *stat)
{
    return stat->ms_branch_pages + stat->ms_leaf_pages + stat->ms_overflow_pages;
}

static void measure_room(pt_writer *writer)
{
    MDB_envinfo info;
    MDB_stat stat;
    const pt_lmdb_env *env = &writer->store->env;
    mdb_env_info(env->env, &info);
    mdb_stat(writer->txn, env->entities, &stat);
    size_t map_pages = info.me_mapsize / env->page_size;
    size_t headroom = map_pages / HEADROOM_PART;
    if (headroom < HEADROOM_PAGES) {
        headroom = HEADROOM_PAGES;
    }
    writer->page_limit = map_pages > headroom ? map_pages - headroom : 0;
    writer->next_page = info.me_last_pgno + 1;
    writer->pages_before = pages_of(&stat);
    writer->watched = writer->next_page + WATCHED_PAGES > writer->page_limit;
}

static int prepare(pt_writer *writer, pt_error *error)
{
    int rc = pt_lmdb_read_state(writer->store, writer->txn, &writer->state, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int mdb_rc = mdb_cursor_open(writer->txn, writer->store->env.entities, &writer->cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return fail(writer, mdb_rc, "opening a cursor", error);
    }
    measure_room(writer);
    return SQLITE_OK;
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
 * After the transaction was committed or aborted, which also closed its cursor. The writer is kept:
 * taking a commit back must not fail for want of memory.
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

/* A damaged file may hold any number. */
static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int add_counts(pt_writer *writer, pt_slice key)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value;
    pt_table_counts counts = {0};
    int mdb_rc = mdb_get(writer->txn, writer->store->env.meta, &mdb_key, &value);
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    bool present = mdb_rc == MDB_SUCCESS;
    if (present && !pt_format_read_counts(pt_lmdb_slice(value), &counts)) {
        return MDB_CORRUPTED;
    }
    counts.entities = add(counts.entities, writer->counted.entities);
    counts.bytes = add(counts.bytes, writer->counted.bytes);
    counts.chunks = add(counts.chunks, writer->counted.chunks);
    if (counts.entities == 0 && counts.bytes == 0 && counts.chunks == 0) {
        return present ? mdb_del(writer->txn, writer->store->env.meta, &mdb_key, NULL)
                       : MDB_SUCCESS;
    }
    uint8_t record[PT_FORMAT_COUNTS_SIZE];
    pt_format_write_counts(&counts, record);
    return put_meta(writer, key, pt_slice_of(record, sizeof record));
}

static int flush_counts(pt_writer *writer)
{
    int mdb_rc = MDB_SUCCESS;
    if (writer->counted_table != 0 && (writer->counted.entities != 0 ||
                                       writer->counted.bytes != 0 || writer->counted.chunks != 0)) {
        pt_format_key key = pt_format_counts_key(writer->counted_table);
        mdb_rc = add_counts(writer, pt_slice_of(key.bytes, key.size));
    }
    writer->counted = (pt_table_counts){0};
    return mdb_rc;
}

/* A chunk counts for the table whose id follows in its key. */
static inline int count(pt_writer *writer, pt_slice key, int64_t records, int64_t bytes)
{
    uint32_t table = pt_get_be32(key.data);
    bool is_chunk = table == PT_TABLE_CHUNKS && key.size >= 2 * PT_KEY_TABLE_SIZE;
    if (is_chunk) {
        table = pt_get_be32(key.data + PT_KEY_TABLE_SIZE);
    }
    if (table != writer->counted_table) {
        int mdb_rc = flush_counts(writer);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        writer->counted_table = table;
    }
    *(is_chunk ? &writer->counted.chunks : &writer->counted.entities) += records;
    writer->counted.bytes += bytes;
    return MDB_SUCCESS;
}

/* --- Room --- */

/* The free pages of the version that is written upon; LMDB shows them to readers only. */
static int count_free_pages(pt_writer *writer)
{
    MDB_txn *txn;
    MDB_cursor *cursor = NULL;
    MDB_val key;
    MDB_val value;
    int mdb_rc = mdb_txn_begin(writer->store->env.env, NULL, MDB_RDONLY, &txn);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    writer->free_pages = 0;
    mdb_rc = mdb_cursor_open(txn, 0, &cursor);
    while (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        if (mdb_rc == MDB_SUCCESS) {
            size_t pages; /* a list begins with its length */
            memcpy(&pages, value.mv_data, sizeof pages);
            writer->free_pages += pages;
        }
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    writer->free_pages_known = mdb_rc == MDB_NOTFOUND;
    return writer->free_pages_known ? MDB_SUCCESS : mdb_rc;
}

/* MDB_MAP_FULL once what is in use has grown into the headroom. */
static int check_room(pt_writer *writer)
{
    MDB_stat stat;
    mdb_stat(writer->txn, writer->store->env.entities, &stat);
    size_t grown = pages_of(&stat);
    grown = grown > writer->pages_before ? grown - writer->pages_before : 0;
    if (writer->next_page + grown < writer->page_limit) {
        return MDB_SUCCESS;
    }
    if (!writer->free_pages_known) {
        int mdb_rc = count_free_pages(writer);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
    return writer->next_page + grown < writer->page_limit + writer->free_pages ? MDB_SUCCESS
                                                                               : MDB_MAP_FULL;
}

/* --- Putting and deleting --- */

/* With a cursor of its own, so that the writer's knows nothing of the end yet. */
static int find_last_key(pt_writer *writer)
{
    MDB_cursor *cursor;
    MDB_val key;
    int mdb_rc = mdb_cursor_open(writer->txn, writer->store->env.entities, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = mdb_cursor_get(cursor, &key, NULL, MDB_LAST);
    mdb_cursor_close(cursor);
    if (mdb_rc == MDB_SUCCESS && key.mv_size > sizeof writer->last_key) {
        return MDB_CORRUPTED;
    }
    if (mdb_rc == MDB_SUCCESS) {
        writer->last_key_size = key.mv_size;
        memcpy(writer->last_key, key.mv_data, key.mv_size);
    }
    writer->last_key_known = mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND;
    return writer->last_key_known ? MDB_SUCCESS : mdb_rc;
}

static inline bool is_beyond_last(const pt_writer *writer, pt_slice key)
{
    return pt_slice_compare(key, pt_slice_of(writer->last_key, writer->last_key_size)) > 0;
}

static int append(pt_writer *writer, pt_slice key, pt_slice record)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = pt_lmdb_val(record);
    int mdb_rc = mdb_cursor_put(writer->cursor, &mdb_key, &value, MDB_APPEND);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    memcpy(writer->last_key, key.data, key.size);
    writer->last_key_size = key.size;
    return count(writer, key, 1, (int64_t)(key.size + record.size));
}

/* One search for both cases: a key that is there is only found, and then replaced in place. */
static int insert_or_replace(pt_writer *writer, pt_slice key, pt_slice record)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = pt_lmdb_val(record);
    int mdb_rc = mdb_cursor_put(writer->cursor, &mdb_key, &value, MDB_NOOVERWRITE);
    if (mdb_rc == MDB_SUCCESS) {
        return count(writer, key, 1, (int64_t)(key.size + record.size));
    }
    if (mdb_rc != MDB_KEYEXIST) {
        return mdb_rc;
    }
    int64_t growth = (int64_t)record.size - (int64_t)value.mv_size;
    value = pt_lmdb_val(record);
    mdb_rc = mdb_cursor_put(writer->cursor, &mdb_key, &value, MDB_CURRENT);
    return mdb_rc == MDB_SUCCESS ? count(writer, key, 0, growth) : mdb_rc;
}

static int put(pt_writer *writer, pt_slice key, pt_slice record)
{
    if (writer->watched) {
        int mdb_rc = check_room(writer);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
    if (writer->appending != PT_APPEND_IS_OVER) {
        int mdb_rc = writer->last_key_known ? MDB_SUCCESS : find_last_key(writer);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        if (is_beyond_last(writer, key)) {
            writer->appending = PT_APPENDING;
            return append(writer, key, record);
        }
        if (writer->appending == PT_APPENDING) {
            writer->appending = PT_APPEND_IS_OVER;
        }
    }
    return insert_or_replace(writer, key, record);
}

int pt_lmdb_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error)
{
    if (key.size > PT_KEY_LOGICAL_MAX) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "store %Q: a key of %lld bytes is longer than %d; shorten PartitionKey "
                            "or RowKey",
                            writer->store->base.path, (sqlite3_int64)key.size, PT_KEY_LOGICAL_MAX);
    }
    int mdb_rc = put(writer, key, record);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : fail(writer, mdb_rc, "writing a record", error);
}

int pt_lmdb_write_delete(pt_writer *writer, pt_slice key, pt_error *error)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value;
    writer->appending = PT_APPEND_IS_OVER;
    int mdb_rc = mdb_cursor_get(writer->cursor, &mdb_key, &value, MDB_SET);
    if (mdb_rc == MDB_NOTFOUND) {
        return SQLITE_OK;
    }
    if (mdb_rc == MDB_SUCCESS) {
        int64_t bytes = (int64_t)(key.size + value.mv_size);
        mdb_rc = mdb_cursor_del(writer->cursor, 0);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = count(writer, key, -1, -bytes);
        }
    }
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : fail(writer, mdb_rc, "deleting a record", error);
}

int pt_lmdb_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error)
{
    bool found;
    pt_slice record;
    int rc = pt_lmdb_get(snapshot, key, &found, &record, error);
    if (rc != SQLITE_OK) {
        writer->failed = true;
        return rc;
    }
    return found ? pt_lmdb_write_put(writer, key, record, error)
                 : pt_lmdb_write_delete(writer, key, error);
}

/* --- Commit --- */

/* Stores the ids behind `stored`, which then is the highest one assigned. */
static int put_entries(pt_writer *writer, uint16_t *stored, uint16_t assigned,
                       pt_format_key (*key_of)(uint16_t id),
                       pt_slice (*bytes_of)(pt_dictionary *dictionary, uint16_t id))
{
    int mdb_rc = MDB_SUCCESS;
    while (mdb_rc == MDB_SUCCESS && *stored < assigned) {
        uint16_t id = ++*stored;
        pt_format_key key = key_of(id);
        mdb_rc = put_meta(writer, pt_slice_of(key.bytes, key.size),
                          bytes_of(writer->store->base.dictionary, id));
    }
    return mdb_rc;
}

static int put_dictionary(pt_writer *writer)
{
    pt_format_state *state = &writer->state;
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
    pt_put_le64(nonce, pt_get_le64(nonce) + writer->state.version);
}

static int put_state(pt_writer *writer, const pt_commit *commit)
{
    pt_format_state *state = &writer->state;
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

/*
 * A full commit flushes the whole file before it writes its root page, and that page before it
 * returns: so it also makes durable whatever earlier commits left unflushed.
 */
static int commit_transaction(pt_writer *writer, pt_sync sync)
{
    MDB_env *env = writer->store->env.env;
    bool private = writer->store->fd < 0;
    unsigned flags = private || sync == PT_SYNC_OFF ? MDB_NOSYNC
                     : sync == PT_SYNC_NORMAL       ? MDB_NOMETASYNC
                                                    : 0u;
    mdb_env_set_flags(env, MDB_NOSYNC | MDB_NOMETASYNC, 0);
    mdb_env_set_flags(env, flags, 1);
    return mdb_txn_commit(writer->txn);
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

static bool is_disk_full(const pt_lmdb_store *store)
{
    int fd;
    struct statvfs disk;
    mdb_env_get_fd(store->env.env, &fd);
    return fstatvfs(fd, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize < (uint64_t)FEW_PAGES * store->env.page_size;
}

/* LMDB may report a failure of a commit that nevertheless took place. */
static int settle_failed_commit(pt_lmdb_store *store, const pt_format_state *state, int mdb_rc,
                                pt_error *error)
{
    bool found = false;
    if (look_for(store, state, &found, error) != SQLITE_OK) {
        return pt_error_set(error, SQLITE_IOERR,
                            "store %Q: %s while committing; whether the commit took place shows "
                            "when the store is opened again: end the open statements on it",
                            store->base.path, mdb_strerror(mdb_rc));
    }
    if (!found) {
        /* LMDB calls it EIO when a write comes out short. */
        bool full = mdb_rc == EIO && is_disk_full(store);
        return pt_lmdb_fail(error, full ? ENOSPC : mdb_rc, store->base.path, "committing");
    }
    if (mdb_env_sync(store->env.env, 1) == MDB_SUCCESS) {
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

static void finish_commit(pt_lmdb_store *store, const pt_format_state *state)
{
    pt_dictionary_commit(store->base.dictionary);
    pt_lmdb_note_clock(store, state->clock);
    extend_file(store);
    if (++store->commits % COMMITS_BETWEEN_READER_CHECKS == 0) {
        mdb_reader_check(store->env.env, NULL);
    }
}

int pt_lmdb_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error)
{
    pt_lmdb_store *store = writer->store;
    int mdb_rc = writer->failed ? MDB_BAD_TXN : put_rest(writer, commit);
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_write_abort(writer);
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "preparing a commit");
    }
    int rc = SQLITE_OK;
    mdb_rc = commit_transaction(writer, commit->sync);
    if (mdb_rc != MDB_SUCCESS) {
        rc = settle_failed_commit(store, &writer->state, mdb_rc, error);
    }
    if (rc == SQLITE_OK) {
        finish_commit(store, &writer->state);
    }
    put_by(writer);
    return rc;
}
