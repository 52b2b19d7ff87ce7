#include "lmdb/copy.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/copy_tail.h"
#include "lmdb/create.h"
#include "lmdb/file/errors.h"
#include "lmdb/long_keys.h"
#include "lmdb/map.h"
#include "lmdb/snapshot.h"
#include "lmdb/state.h"

/* The copy is written in slices, one commit each, because LMDB keeps what a transaction writes on
 * the heap until it commits. */
enum { SLICE_BYTES = 4 << 20, SPARE_ROOM = 16 << 20 };

typedef struct copying {
    const pt_lmdb_snapshot *snapshot;
    const pt_lmdb_env *source;
    MDB_txn *from;
    pt_lmdb_env target;
    MDB_txn *to;      /* NULL between slices */
    MDB_cursor *last; /* in the database that is being filled, of `to` */
    size_t put;       /* bytes since the slice began */
    const pt_watch *watch;
    bool target_failed;  /* the last error is of the copy, not of the source */
    uint32_t last_table; /* the table that is_dropped was last called for, */
    bool last_dropped;   /* and its result */
} copying;

/* Passes on LMDB's code for an operation on the copy. A failure will be reported as the copy's. */
static int note_target(copying *self, int mdb_rc)
{
    if (mdb_rc != MDB_SUCCESS) {
        self->target_failed = true;
    }
    return mdb_rc;
}

/* --- Slices --- */

static int begin_copy_slice(copying *self, MDB_dbi dbi)
{
    if (self->watch->is_over(self->watch->context)) {
        return ECANCELED;
    }
    int mdb_rc = mdb_txn_begin(self->target.env, NULL, 0, &self->to);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_cursor_open(self->to, dbi, &self->last);
    }
    self->put = 0;
    return note_target(self, mdb_rc);
}

static int end_copy_slice(copying *self)
{
    /* mdb_txn_commit frees the transaction also when it fails. */
    MDB_txn *ended = self->to;
    self->to = NULL;
    return note_target(self, mdb_txn_commit(ended));
}

/* Ends the slice and begins the next one, if it is large enough. */
static int end_full_slice(copying *self, MDB_dbi dbi)
{
    if (self->put < SLICE_BYTES) {
        return MDB_SUCCESS;
    }
    int mdb_rc = end_copy_slice(self);
    return mdb_rc == MDB_SUCCESS ? begin_copy_slice(self, dbi) : mdb_rc;
}

/* After putting a record. If its key is in the copy already, or less than the last one that was
 * appended, the source is damaged. */
static int note_put(copying *self, const MDB_val *key, const MDB_val *value, int mdb_rc)
{
    self->put += key->mv_size + value->mv_size;
    return mdb_rc == MDB_KEYEXIST || mdb_rc == MDB_BAD_VALSIZE ? MDB_CORRUPTED
                                                               : note_target(self, mdb_rc);
}

/* --- Dropped tables --- */

static int is_dropped(copying *self, uint32_t table, bool *dropped)
{
    if (self->last_table != table) {
        pt_key_start garbage = pt_key_start_of_garbage(table);
        MDB_val key = pt_lmdb_val(pt_key_start_slice(&garbage));
        MDB_val value;
        int mdb_rc = mdb_get(self->from, self->source->garbage, &key, &value);
        if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
            return mdb_rc;
        }
        self->last_table = table;
        self->last_dropped = mdb_rc == MDB_SUCCESS;
    }
    *dropped = self->last_dropped;
    return MDB_SUCCESS;
}

/* Moves to the first key after those with this start. */
static int skip_keys(MDB_cursor *cursor, MDB_val *key, MDB_val *value, pt_key_start start)
{
    pt_key_start after = pt_key_start_after(start);
    *key = pt_lmdb_val(pt_key_start_slice(&after));
    return mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
}

/* --- Long keys --- */

/*
 * Copies the bucket that a link leads to, and the buckets that the links in it lead to. In a sound
 * store one link leads to each bucket. If there is a second link, or links form a circle, a key
 * comes that is in the copy already: note_put calls that damage, and the recursion ends.
 */
static int copy_bucket(copying *self, const MDB_val *link_key, const MDB_val *link, int depth)
{
    uint64_t bucket;
    MDB_cursor *cursor;
    if (depth > PT_LMDB_DEPTH_MAX ||
        !pt_format_read_bucket(pt_lmdb_slice(*link_key), pt_lmdb_slice(*link), &bucket)) {
        return MDB_CORRUPTED;
    }
    int mdb_rc = mdb_cursor_open(self->from, self->source->long_keys, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
    pt_lmdb_put_bucket_prefix(prefix, bucket);
    MDB_val key = pt_lmdb_val(pt_slice_of(prefix, sizeof prefix));
    MDB_val value;
    mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(&key, bucket)) {
        mdb_rc = mdb_put(self->to, self->target.long_keys, &key, &value, MDB_NOOVERWRITE);
        mdb_rc = note_put(self, &key, &value, mdb_rc);
        if (mdb_rc == MDB_SUCCESS && key.mv_size == PT_LMDB_LINK_SIZE) {
            mdb_rc = copy_bucket(self, &key, &value, depth + 1);
        }
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}

/* --- Entities and chunks --- */

/* A sub-database to be copied. */
typedef struct copied_database {
    MDB_dbi from;
    MDB_dbi to;
    /* Reads the id of the table that a key belongs to. Returns 0 if it is damaged. */
    size_t (*read_table)(pt_slice key, uint32_t *table_id);
    pt_key_start (*start_of)(uint32_t table_id); /* all keys of the table begin with this */
    bool has_links;
} copied_database;

static int copy_with_links(copying *self, const copied_database *database, MDB_val *key,
                           MDB_val *value)
{
    int mdb_rc = mdb_cursor_put(self->last, key, value, MDB_APPEND);
    mdb_rc = note_put(self, key, value, mdb_rc);
    if (mdb_rc == MDB_SUCCESS && database->has_links && key->mv_size == PT_LMDB_LINK_SIZE) {
        mdb_rc = copy_bucket(self, key, value, 1);
    }
    return mdb_rc == MDB_SUCCESS ? end_full_slice(self, database->to) : mdb_rc;
}

/* Copies the record under the cursor and moves on; skips its table if that was dropped. */
static int copy_or_skip(copying *self, const copied_database *database, MDB_cursor *cursor,
                        MDB_val *key, MDB_val *value)
{
    bool dropped;
    uint32_t table;
    if (database->read_table(pt_lmdb_slice(*key), &table) == 0 || table >= PT_TABLE_ID_LIMIT) {
        return MDB_CORRUPTED;
    }
    int mdb_rc = is_dropped(self, table, &dropped);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    if (dropped) {
        return skip_keys(cursor, key, value, database->start_of(table));
    }
    mdb_rc = copy_with_links(self, database, key, value);
    return mdb_rc == MDB_SUCCESS ? mdb_cursor_get(cursor, key, value, MDB_NEXT) : mdb_rc;
}

static int copy_database(copying *self, const copied_database *database)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    int mdb_rc = mdb_cursor_open(self->from, database->from, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = begin_copy_slice(self, database->to);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    }
    while (mdb_rc == MDB_SUCCESS) {
        mdb_rc = copy_or_skip(self, database, cursor, &key, &value);
    }
    mdb_cursor_close(cursor);
    return mdb_rc == MDB_NOTFOUND ? end_copy_slice(self) : mdb_rc;
}

/* --- The main database --- */

/* The target has roots of its own, and no counts of dropped tables. */
static int is_left_out(copying *self, const MDB_val *key, bool *left_out)
{
    pt_format_database database;
    uint32_t table;
    *left_out = pt_format_find_database(pt_lmdb_slice(*key), &database);
    return pt_format_is_counts_key(pt_lmdb_slice(*key), &table) ? is_dropped(self, table, left_out)
                                                                : MDB_SUCCESS;
}

static int copy_meta_records(copying *self, MDB_cursor *cursor)
{
    MDB_val key;
    MDB_val value;
    int mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (mdb_rc == MDB_SUCCESS) {
        bool left_out;
        mdb_rc = is_left_out(self, &key, &left_out);
        if (mdb_rc == MDB_SUCCESS && !left_out) {
            mdb_rc = note_target(self, mdb_put(self->to, self->target.meta, &key, &value, 0));
        }
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
        }
    }
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}

static int put_copied_record(copying *self, pt_slice key, pt_slice bytes)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = pt_lmdb_val(bytes);
    return note_target(self, mdb_put(self->to, self->target.meta, &mdb_key, &value, 0));
}

/* The copy has no log. */
static int put_copied_header(copying *self)
{
    uint8_t header[PT_FORMAT_HEADER_MAX];
    size_t size;
    int mdb_rc = pt_lmdb_mark_header(self->from, self->source->meta, false, header, &size);
    return mdb_rc == MDB_SUCCESS
               ? put_copied_record(self, pt_format_header_key(), pt_slice_of(header, size))
               : mdb_rc;
}

/* Copies the state, with the id of LMDB's transaction in the copy as its version, and without a
 * log.
 */
static int put_copied_state(copying *self)
{
    pt_format_state state;
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    MDB_val key = pt_lmdb_val(pt_format_state_key());
    MDB_val value;
    int mdb_rc = mdb_get(self->from, self->source->meta, &key, &value);
    if (mdb_rc != MDB_SUCCESS || !pt_format_read_state(pt_lmdb_slice(value), &state)) {
        return mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
    }
    state.version = mdb_txn_id(self->to);
    state.clock = self->snapshot->base.clock; /* that of the tail, if it shows one */
    state.log_id = 0;
    size_t size = pt_format_write_state(&state, bytes);
    mdb_rc = put_copied_record(self, pt_format_state_key(), pt_slice_of(bytes, size));
    return mdb_rc == MDB_SUCCESS ? put_copied_header(self) : mdb_rc;
}

static int copy_meta(copying *self)
{
    MDB_cursor *cursor;
    int mdb_rc = mdb_cursor_open(self->from, self->source->meta, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = begin_copy_slice(self, self->target.meta);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = copy_meta_records(self, cursor);
    }
    mdb_cursor_close(cursor);
    if (mdb_rc == MDB_SUCCESS && self->snapshot->tail_end != 0) {
        mdb_rc = note_target(self, pt_lmdb_copy_tail(self->snapshot, &self->target, self->to));
    }
    /* Over the source's state, which was copied with the other records. */
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_copied_state(self);
    }
    return mdb_rc == MDB_SUCCESS ? end_copy_slice(self) : mdb_rc;
}

/* --- The whole store --- */

static int copy_all(copying *self)
{
    const pt_lmdb_env *from = self->source;
    const pt_lmdb_env *to = &self->target;
    const copied_database entities = {from->entities, to->entities, pt_key_read_table,
                                      pt_key_start_of_table, true};
    const copied_database chunks = {from->chunks, to->chunks, pt_key_read_chunks,
                                    pt_key_start_of_chunks, false};
    int mdb_rc = copy_database(self, &entities);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = copy_database(self, &chunks);
    }
    /* Last: the state has the number of the copy's last commit. */
    return mdb_rc == MDB_SUCCESS ? copy_meta(self) : mdb_rc;
}

/* LMDB may not have written the last page, if it was allocated and freed again (lmdb/writer.c). So
 * the file is extended to its full size before it is synced. */
static int finish_target(copying *self)
{
    int fd;
    struct stat file;
    MDB_envinfo info;
    mdb_env_info(self->target.env, &info);
    mdb_env_get_fd(self->target.env, &fd);
    off_t size = (off_t)((info.me_last_pgno + 1) * self->target.page_size);
    if (fstat(fd, &file) != 0 || (file.st_size < size && ftruncate(fd, size) != 0)) {
        return note_target(self, errno);
    }
    return note_target(self, mdb_env_sync(self->target.env, 1));
}

static int open_target(copying *self, const char *name)
{
    MDB_envinfo info;
    mdb_env_info(self->source->env, &info);
    size_t map_size =
        pt_lmdb_map_size((info.me_last_pgno + 1) * self->source->page_size * 2 + SPARE_ROOM);
    return note_target(self,
                       map_size == 0 ? ENOMEM : pt_lmdb_create_in(&self->target, name, map_size));
}

static int fail_to_copy(const copying *self, const pt_lmdb_store *store, const char *place,
                        int mdb_rc, pt_error *error)
{
    if (mdb_rc == ECANCELED) {
        return pt_error_set(error, SQLITE_INTERRUPT, "copying store %Q was interrupted",
                            store->base.path);
    }
    return self->target_failed ? pt_lmdb_fail(error, mdb_rc, place, "writing the copy")
                               : pt_lmdb_fail(error, mdb_rc, store->base.path, "copying it");
}

static int copy_snapshot(const pt_lmdb_snapshot *snapshot, const char *name, const char *place,
                         const pt_watch *watch, pt_error *error)
{
    const pt_lmdb_store *store = snapshot->store;
    copying self = {.snapshot = snapshot,
                    .source = &store->env,
                    .from = snapshot->reader.txn,
                    .watch = watch,
                    .last_table = PT_TABLE_GARBAGE};
    int mdb_rc = open_target(&self, name);
    if (mdb_rc != MDB_SUCCESS) {
        return fail_to_copy(&self, store, place, mdb_rc, error);
    }
    mdb_rc = copy_all(&self);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = finish_target(&self);
    }
    if (mdb_rc == MDB_SUCCESS && watch->is_over(watch->context)) {
        mdb_rc = ECANCELED; /* not too late: the copy does not have its name yet */
    }
    if (self.to != NULL) {
        mdb_txn_abort(self.to);
    }
    if (self.target_failed) {
        mdb_rc = pt_lmdb_env_write_problem(&self.target, mdb_rc);
    }
    pt_lmdb_env_close(&self.target);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : fail_to_copy(&self, store, place, mdb_rc, error);
}

int pt_lmdb_copy(pt_store *store, const char *name, const char *place, const pt_watch *watch,
                 pt_error *error)
{
    pt_snapshot *snapshot = NULL;
    int rc = pt_lmdb_snapshot_new(store, &snapshot, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_lmdb_snapshot_begin(snapshot, error);
    if (rc == SQLITE_OK) {
        rc = copy_snapshot(pt_lmdb_own_snapshot(snapshot), name, place, watch, error);
    }
    pt_lmdb_snapshot_free(snapshot);
    return rc;
}
