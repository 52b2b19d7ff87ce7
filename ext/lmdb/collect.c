#include "lmdb/collect.h"

#include "lmdb/long_keys.h"
#include "lmdb/map.h"
#include "lmdb/page/format.h"

/*
 * A slice is full when it has freed this many pages, or visited this many places, each of which may
 * have changed a page or two without emptying one. Then the pages that the slice frees fit into one
 * record of LMDB's list of free pages, and that record fits into one page. A longer record needs
 * contiguous pages, and every later commit would search for them.
 */
enum { SLICE_PAGES = 64, SLICE_VISITS = 150 };

typedef struct collection {
    MDB_txn *txn;
    const pt_lmdb_env *env;
    size_t pages_before;
    unsigned visits;
} collection;

static bool slice_is_full(const collection *slice)
{
    return slice->visits >= SLICE_VISITS ||
           pt_lmdb_pages_in_use(slice->env, slice->txn) + SLICE_PAGES <= slice->pages_before;
}

static bool val_has_prefix(const MDB_val *key, pt_slice prefix)
{
    return pt_slice_has_prefix(pt_lmdb_slice(*key), prefix);
}

/* Moves to the first key with a prefix. MDB_NOTFOUND: there is none. */
static int find_first_key(MDB_cursor *cursor, pt_slice prefix, MDB_val *key, MDB_val *value)
{
    *key = pt_lmdb_val(prefix);
    int mdb_rc = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
    return mdb_rc == MDB_SUCCESS && !val_has_prefix(key, prefix) ? MDB_NOTFOUND : mdb_rc;
}

/* Deletes keys from the cursor's position on. Stops at a link, at the end of the prefix, and when
 * the slice is full. */
static int delete_keys(const collection *slice, MDB_cursor *cursor, pt_slice prefix, MDB_val key)
{
    int mdb_rc = MDB_SUCCESS;
    while (mdb_rc == MDB_SUCCESS && val_has_prefix(&key, prefix) &&
           key.mv_size != PT_LMDB_LINK_SIZE && !slice_is_full(slice)) {
        mdb_rc = mdb_cursor_del(cursor, 0);
        if (mdb_rc == MDB_SUCCESS) {
            /* The first MDB_NEXT after a deletion stays: on the key after the deleted one. */
            mdb_rc = mdb_cursor_get(cursor, &key, NULL, MDB_NEXT);
        }
    }
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}

/* --- Buckets of long keys --- */

typedef struct bucket_prefix {
    uint8_t bytes[PT_LMDB_BUCKET_PREFIX];
} bucket_prefix;

static pt_slice make_bucket_prefix(uint64_t bucket, bucket_prefix *prefix)
{
    pt_lmdb_put_bucket_prefix(prefix->bytes, bucket);
    return pt_slice_of(prefix->bytes, sizeof prefix->bytes);
}

/*
 * Follows the first key of a bucket, if that is a link, to the next bucket and so on, to a bucket
 * that does not begin with a link, and moves to its first key. `link` receives the link to that
 * bucket; it stays empty if no link was followed. MDB_NOTFOUND: the bucket found is empty.
 */
static int find_innermost(MDB_cursor *cursor, uint64_t *bucket, pt_lmdb_part *link, MDB_val *key)
{
    link->size = 0;
    for (int depth = 0; depth < PT_LMDB_DEPTH_MAX; depth++) {
        bucket_prefix prefix;
        MDB_val value;
        int mdb_rc = find_first_key(cursor, make_bucket_prefix(*bucket, &prefix), key, &value);
        if (mdb_rc != MDB_SUCCESS || key->mv_size != PT_LMDB_LINK_SIZE) {
            return mdb_rc;
        }
        link->size = key->mv_size;
        memcpy(link->bytes, key->mv_data, key->mv_size);
        if (!pt_format_read_bucket(pt_lmdb_slice(*key), pt_lmdb_slice(value), bucket)) {
            return MDB_CORRUPTED;
        }
    }
    return MDB_CORRUPTED;
}

/* The state of a bucket that is being emptied. */
typedef enum emptying {
    EMPTYING_SOUND,  /* every link inside leads to a bucket with keys */
    EMPTYING_HOLLOW, /* a link may lead to an empty bucket: readers would call that damage */
    EMPTYING_DONE,   /* the bucket is empty */
} emptying;

/* Deletes keys of the bucket that find_innermost finds or, if that bucket is empty, the link to it.
 */
static int delete_from_bucket(const collection *slice, MDB_cursor *cursor, uint64_t bucket,
                              emptying *state)
{
    pt_lmdb_part link;
    MDB_val key;
    int mdb_rc = find_innermost(cursor, &bucket, &link, &key);
    if (mdb_rc == MDB_NOTFOUND) {
        *state = link.size == 0 ? EMPTYING_DONE : EMPTYING_HOLLOW;
        key = pt_lmdb_part_val(&link);
        return link.size == 0 ? MDB_SUCCESS
                              : mdb_del(slice->txn, slice->env->long_keys, &key, NULL);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    bucket_prefix prefix;
    pt_slice keys = make_bucket_prefix(bucket, &prefix);
    mdb_rc = delete_keys(slice, cursor, keys, key);
    if (mdb_rc == MDB_SUCCESS) {
        MDB_val value;
        mdb_rc = find_first_key(cursor, keys, &key, &value);
    }
    *state = mdb_rc == MDB_NOTFOUND ? EMPTYING_HOLLOW : EMPTYING_SOUND;
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}

/* Empties the bucket of a link until the slice is full, and then until each remaining link leads to
 * a bucket with keys. */
static int empty_bucket(collection *slice, const MDB_val *key, const MDB_val *link, bool *empty)
{
    uint64_t bucket;
    MDB_cursor *cursor;
    if (!pt_format_read_bucket(pt_lmdb_slice(*key), pt_lmdb_slice(*link), &bucket)) {
        return MDB_CORRUPTED;
    }
    int mdb_rc = mdb_cursor_open(slice->txn, slice->env->long_keys, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    emptying state = EMPTYING_SOUND;
    while (mdb_rc == MDB_SUCCESS && state != EMPTYING_DONE &&
           (state == EMPTYING_HOLLOW || !slice_is_full(slice))) {
        slice->visits++;
        mdb_rc = delete_from_bucket(slice, cursor, bucket, &state);
    }
    mdb_cursor_close(cursor);
    *empty = state == EMPTYING_DONE;
    return mdb_rc;
}

/* --- Tables --- */

/* Empties the bucket of a link; deletes the link if nothing is left in the bucket. */
static int delete_link(collection *slice, MDB_cursor *cursor, const MDB_val *key,
                       const MDB_val *link)
{
    bool empty = false;
    int mdb_rc = empty_bucket(slice, key, link, &empty);
    return mdb_rc == MDB_SUCCESS && empty ? mdb_cursor_del(cursor, 0) : mdb_rc;
}

/* Deletes the keys with a prefix, in order. *gone = true: there is none left. */
static int delete_range(collection *slice, MDB_dbi dbi, pt_slice prefix, bool *gone)
{
    MDB_cursor *cursor;
    int mdb_rc = mdb_cursor_open(slice->txn, dbi, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    while (mdb_rc == MDB_SUCCESS) {
        MDB_val key;
        MDB_val value;
        mdb_rc = find_first_key(cursor, prefix, &key, &value);
        if (mdb_rc != MDB_SUCCESS || slice_is_full(slice)) {
            break;
        }
        slice->visits++;
        mdb_rc = key.mv_size == PT_LMDB_LINK_SIZE ? delete_link(slice, cursor, &key, &value)
                                                  : delete_keys(slice, cursor, prefix, key);
    }
    mdb_cursor_close(cursor);
    *gone = mdb_rc == MDB_NOTFOUND;
    return *gone ? MDB_SUCCESS : mdb_rc;
}

static int forget_table(const collection *slice, uint32_t table)
{
    pt_format_key counts = pt_format_counts_key(table);
    pt_key_start garbage = pt_key_start_of_garbage(table);
    MDB_val key = pt_lmdb_val(pt_slice_of(counts.bytes, counts.size));
    int mdb_rc = mdb_del(slice->txn, slice->env->meta, &key, NULL);
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    key = pt_lmdb_val(pt_key_start_slice(&garbage));
    return mdb_del(slice->txn, slice->env->garbage, &key, NULL);
}

static int collect_table(collection *slice, uint32_t table, bool *gone)
{
    pt_key_start entities = pt_key_start_of_table(table);
    pt_key_start chunks = pt_key_start_of_chunks(table);
    int mdb_rc = delete_range(slice, slice->env->entities, pt_key_start_slice(&entities), gone);
    if (mdb_rc == MDB_SUCCESS && *gone) {
        mdb_rc = delete_range(slice, slice->env->chunks, pt_key_start_slice(&chunks), gone);
    }
    /* Last: by its entry in `garbage` later commits find what is left of the table. */
    return mdb_rc == MDB_SUCCESS && *gone ? forget_table(slice, table) : mdb_rc;
}

/* Finds the table to collect next. MDB_NOTFOUND: there is none. */
static int find_garbage_table(const collection *slice, uint32_t *table)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    pt_slice content;
    int mdb_rc = mdb_cursor_open(slice->txn, slice->env->garbage, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    mdb_cursor_close(cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    pt_slice found = pt_lmdb_slice(key);
    return pt_key_read_garbage(found, table) != 0 && *table != PT_TABLE_CATALOG &&
                   pt_unseal(found, pt_lmdb_slice(value), &content)
               ? MDB_SUCCESS
               : MDB_CORRUPTED;
}

int pt_lmdb_collect(MDB_txn *txn, const pt_lmdb_env *env, bool *collected)
{
    MDB_stat garbage;
    int mdb_rc = mdb_stat(txn, env->garbage, &garbage);
    *collected = mdb_rc == MDB_SUCCESS && garbage.ms_entries != 0;
    if (!*collected) {
        return mdb_rc;
    }
    collection slice = {.txn = txn, .env = env, .pages_before = pt_lmdb_pages_in_use(env, txn)};
    bool gone = true;
    while (mdb_rc == MDB_SUCCESS && gone && !slice_is_full(&slice)) {
        uint32_t table;
        mdb_rc = find_garbage_table(&slice, &table);
        if (mdb_rc == MDB_SUCCESS) {
            slice.visits++;
            mdb_rc = collect_table(&slice, table, &gone);
        }
    }
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}
