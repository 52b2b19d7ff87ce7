#include "lmdb/collect.h"

#include "lmdb/long_keys.h"
#include "lmdb/map.h"
#include "lmdb/page/format.h"

/*
 * A slice is over when so many pages are gone, or so many places were visited that may each have
 * changed a page or two without emptying one. The pages that a slice gives back then fit into one
 * record of LMDB's list of free pages, and that record into one page: longer ones need contiguous
 * pages and make every later commit search for them.
 */
enum { SLICE_PAGES = 64, SLICE_VISITS = 150 };

/* Of a key in `garbage`, and of what a table's keys in `chunks` begin with. */
enum { TWO_IDS = 2 * PT_KEY_TABLE_SIZE };

typedef struct collection {
    MDB_txn *txn;
    const pt_lmdb_env *env;
    size_t pages_before;
    unsigned visits;
} collection;

static bool is_over(const collection *slice)
{
    return slice->visits >= SLICE_VISITS ||
           pt_lmdb_pages_in_use(slice->env, slice->txn) + SLICE_PAGES <= slice->pages_before;
}

static bool has_prefix(const MDB_val *key, pt_slice prefix)
{
    return pt_slice_has_prefix(pt_lmdb_slice(*key), prefix);
}

/* The first key with a prefix. MDB_NOTFOUND: there is none. */
static int find_first(MDB_cursor *cursor, pt_slice prefix, MDB_val *key, MDB_val *value)
{
    *key = pt_lmdb_val(prefix);
    int mdb_rc = mdb_cursor_get(cursor, key, value, MDB_SET_RANGE);
    return mdb_rc == MDB_SUCCESS && !has_prefix(key, prefix) ? MDB_NOTFOUND : mdb_rc;
}

/* Deletes from the key the cursor stands on, to a link, the prefix's end or the slice's. */
static int delete_run(const collection *slice, MDB_cursor *cursor, pt_slice prefix, MDB_val key)
{
    int mdb_rc = MDB_SUCCESS;
    while (mdb_rc == MDB_SUCCESS && has_prefix(&key, prefix) && key.mv_size != PT_LMDB_LINK_SIZE &&
           !is_over(slice)) {
        mdb_rc = mdb_cursor_del(cursor, 0);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = mdb_cursor_get(cursor, &key, NULL, MDB_NEXT);
        }
    }
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}

/* --- Buckets of long keys --- */

typedef struct bucket_prefix {
    uint8_t bytes[PT_LMDB_BUCKET_PREFIX];
} bucket_prefix;

static pt_slice prefix_of(uint64_t bucket, bucket_prefix *prefix)
{
    pt_lmdb_put_bucket_prefix(prefix->bytes, bucket);
    return pt_slice_of(prefix->bytes, sizeof prefix->bytes);
}

/*
 * From a bucket through the links that stand first, to the first bucket that does not begin with
 * one. `link` receives the link to it, and is empty if it is the first bucket itself. MDB_NOTFOUND:
 * it is empty.
 */
static int find_innermost(MDB_cursor *cursor, uint64_t *bucket, pt_lmdb_part *link, MDB_val *key)
{
    link->size = 0;
    for (int depth = 0; depth < PT_LMDB_DEPTH_MAX; depth++) {
        bucket_prefix prefix;
        MDB_val value;
        int mdb_rc = find_first(cursor, prefix_of(*bucket, &prefix), key, &value);
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

/* How far the emptying of a bucket is. */
typedef enum emptying {
    EMPTYING_SOUND,  /* all links lead to buckets that hold something */
    EMPTYING_HOLLOW, /* some may not: who reads the table before would meet them */
    EMPTYING_DONE,   /* the bucket itself is empty */
} emptying;

/* Deletes the first keys of a bucket, or of one inside it; or that one's link, once it is empty. */
static int delete_from_bucket(const collection *slice, MDB_cursor *cursor, uint64_t bucket,
                              emptying *state)
{
    pt_lmdb_part link;
    MDB_val key;
    int mdb_rc = find_innermost(cursor, &bucket, &link, &key);
    if (mdb_rc == MDB_SUCCESS) {
        bucket_prefix prefix;
        pt_slice keys = prefix_of(bucket, &prefix);
        mdb_rc = delete_run(slice, cursor, keys, key);
        if (mdb_rc == MDB_SUCCESS) {
            MDB_val value;
            mdb_rc = find_first(cursor, keys, &key, &value);
        }
        *state = mdb_rc == MDB_NOTFOUND ? EMPTYING_HOLLOW : EMPTYING_SOUND;
        return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
    }
    if (mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    *state = link.size == 0 ? EMPTYING_DONE : EMPTYING_HOLLOW;
    if (*state == EMPTYING_DONE) {
        return MDB_SUCCESS;
    }
    key = pt_lmdb_part_val(&link);
    return mdb_del(slice->txn, slice->env->long_keys, &key, NULL);
}

/* As far as the slice goes; no link is left that leads to nothing. */
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
           (state == EMPTYING_HOLLOW || !is_over(slice))) {
        slice->visits++;
        mdb_rc = delete_from_bucket(slice, cursor, bucket, &state);
    }
    mdb_cursor_close(cursor);
    *empty = state == EMPTYING_DONE;
    return mdb_rc;
}

/* --- Tables --- */

/* A link goes when nothing is left behind it. */
static int delete_link(collection *slice, MDB_cursor *cursor, const MDB_val *key,
                       const MDB_val *link)
{
    bool empty = false;
    int mdb_rc = empty_bucket(slice, key, link, &empty);
    return mdb_rc == MDB_SUCCESS && empty ? mdb_cursor_del(cursor, 0) : mdb_rc;
}

/* Deletes keys with a prefix, from the first one on. */
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
        mdb_rc = find_first(cursor, prefix, &key, &value);
        if (mdb_rc != MDB_SUCCESS || is_over(slice)) {
            break;
        }
        slice->visits++;
        mdb_rc = key.mv_size == PT_LMDB_LINK_SIZE ? delete_link(slice, cursor, &key, &value)
                                                  : delete_run(slice, cursor, prefix, key);
    }
    mdb_cursor_close(cursor);
    *gone = mdb_rc == MDB_NOTFOUND;
    return *gone ? MDB_SUCCESS : mdb_rc;
}

static int forget(const collection *slice, uint32_t table, MDB_val *garbage_key)
{
    pt_format_key counts = pt_format_counts_key(table);
    MDB_val counts_key = pt_lmdb_val(pt_slice_of(counts.bytes, counts.size));
    int mdb_rc = mdb_del(slice->txn, slice->env->meta, &counts_key, NULL);
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    return mdb_del(slice->txn, slice->env->garbage, garbage_key, NULL);
}

static int collect_table(collection *slice, uint32_t table, bool *gone)
{
    uint8_t prefix[TWO_IDS];
    pt_put_be32(prefix, PT_TABLE_CHUNKS);
    pt_put_be32(prefix + PT_KEY_TABLE_SIZE, table);
    pt_slice entities = pt_slice_of(prefix + PT_KEY_TABLE_SIZE, PT_KEY_TABLE_SIZE);
    int mdb_rc = delete_range(slice, slice->env->entities, entities, gone);
    if (mdb_rc == MDB_SUCCESS && *gone) {
        mdb_rc = delete_range(slice, slice->env->chunks, pt_slice_of(prefix, sizeof prefix), gone);
    }
    if (mdb_rc == MDB_SUCCESS && *gone) {
        uint8_t bytes[TWO_IDS];
        pt_put_be32(bytes, PT_TABLE_GARBAGE);
        pt_put_be32(bytes + PT_KEY_TABLE_SIZE, table);
        MDB_val garbage_key = pt_lmdb_val(pt_slice_of(bytes, sizeof bytes));
        mdb_rc = forget(slice, table, &garbage_key);
    }
    return mdb_rc;
}

/* The table that is collected next; MDB_NOTFOUND: there is none. */
static int next_table(const collection *slice, uint32_t *table)
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
    const uint8_t *bytes = key.mv_data;
    if (key.mv_size != TWO_IDS || pt_get_be32(bytes) != PT_TABLE_GARBAGE ||
        !pt_unseal(pt_lmdb_slice(key), pt_lmdb_slice(value), &content)) {
        return MDB_CORRUPTED;
    }
    *table = pt_get_be32(bytes + PT_KEY_TABLE_SIZE);
    return *table != 0 && *table < PT_TABLE_ID_LIMIT ? MDB_SUCCESS : MDB_CORRUPTED;
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
    while (mdb_rc == MDB_SUCCESS && gone && !is_over(&slice)) {
        uint32_t table;
        mdb_rc = next_table(&slice, &table);
        if (mdb_rc == MDB_SUCCESS) {
            slice.visits++;
            mdb_rc = collect_table(&slice, table, &gone);
        }
    }
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}
