#include "lmdb/long_keys.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/page/format.h"

void pt_lmdb_put_bucket_prefix(uint8_t bytes[PT_LMDB_BUCKET_PREFIX], uint64_t bucket)
{
    pt_put_be32(bytes, (uint32_t)(bucket >> 32));
    pt_put_be32(bytes + 4, (uint32_t)bucket);
}

bool pt_lmdb_is_in_bucket(const MDB_val *key, uint64_t bucket)
{
    uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
    pt_lmdb_put_bucket_prefix(prefix, bucket);
    return pt_slice_has_prefix(pt_lmdb_slice(*key), pt_slice_of(prefix, sizeof prefix));
}

void pt_lmdb_part_at(pt_lmdb_part *part, pt_slice key, unsigned depth, uint64_t bucket)
{
    size_t offset = 0;
    size_t prefix = 0;
    size_t most = PT_LMDB_SHORT_KEY_MAX;
    if (depth != 0) {
        offset = pt_lmdb_depth_offset(depth);
        prefix = PT_LMDB_BUCKET_PREFIX;
        most = PT_LMDB_BUCKET_KEY_MAX;
        pt_lmdb_put_bucket_prefix(part->bytes, bucket);
    }
    size_t rest = key.size - offset;
    size_t size = rest <= most ? rest : most;
    memcpy(part->bytes + prefix, key.data + offset, size);
    part->size = prefix + size;
    if (rest > most) {
        part->bytes[part->size++] = 0;
    }
}

int pt_lmdb_follow_link(MDB_txn *txn, MDB_dbi dbi, const pt_lmdb_part *link, uint64_t *bucket)
{
    MDB_val key = pt_lmdb_part_val(link);
    MDB_val value;
    int mdb_rc = mdb_get(txn, dbi, &key, &value);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    return pt_format_read_bucket(pt_lmdb_slice(key), pt_lmdb_slice(value), bucket) ? MDB_SUCCESS
                                                                                   : MDB_CORRUPTED;
}

int pt_lmdb_long_get(MDB_txn *txn, const pt_lmdb_env *env, pt_slice key, MDB_val *record)
{
    pt_lmdb_part part;
    uint64_t bucket = 0;
    for (unsigned depth = 0;; depth++) {
        pt_lmdb_part_at(&part, key, depth, bucket);
        MDB_dbi dbi = pt_lmdb_part_dbi(env, depth);
        if (part.size != PT_LMDB_LINK_SIZE) {
            MDB_val mdb_key = pt_lmdb_part_val(&part);
            return mdb_get(txn, dbi, &mdb_key, record);
        }
        int mdb_rc = pt_lmdb_follow_link(txn, dbi, &part, &bucket);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

/* --- Long cursor --- */

struct pt_lmdb_long_cursor {
    MDB_cursor *cursor;                      /* on `long_keys` */
    unsigned depth;                          /* of the bucket that holds the position */
    uint64_t buckets[PT_LMDB_DEPTH_MAX + 1]; /* by depth, from 1 on */
    uint8_t key[PT_KEY_LOGICAL_MAX];
};

int pt_lmdb_long_cursor_open(MDB_txn *txn, const pt_lmdb_env *env, pt_lmdb_long_cursor **cursor)
{
    pt_lmdb_long_cursor *opened = sqlite3_malloc64(sizeof *opened);
    if (opened == NULL) {
        return ENOMEM;
    }
    int mdb_rc = mdb_cursor_open(txn, env->long_keys, &opened->cursor);
    if (mdb_rc != MDB_SUCCESS) {
        sqlite3_free(opened);
        return mdb_rc;
    }
    *cursor = opened;
    return MDB_SUCCESS;
}

int pt_lmdb_long_cursor_renew(pt_lmdb_long_cursor *cursor, MDB_txn *txn)
{
    return mdb_cursor_renew(txn, cursor->cursor);
}

void pt_lmdb_long_cursor_close(pt_lmdb_long_cursor *cursor)
{
    if (cursor != NULL) {
        mdb_cursor_close(cursor->cursor);
        sqlite3_free(cursor);
    }
}

static uint64_t bucket_of(const pt_lmdb_long_cursor *cursor)
{
    return cursor->buckets[cursor->depth];
}

/* Makes the bucket a link, of this key, leads to the current one. */
static int descend(pt_lmdb_long_cursor *cursor, pt_slice key, const MDB_val *link)
{
    uint64_t bucket;
    if (cursor->depth == PT_LMDB_DEPTH_MAX ||
        !pt_format_read_bucket(key, pt_lmdb_slice(*link), &bucket)) {
        return MDB_CORRUPTED;
    }
    cursor->buckets[++cursor->depth] = bucket;
    return MDB_SUCCESS;
}

/* Goes to the link of the current bucket; the bucket around that becomes the current one. */
static int ascend(pt_lmdb_long_cursor *cursor, MDB_val *key, MDB_val *value)
{
    pt_lmdb_part link;
    size_t passed = pt_lmdb_depth_offset(cursor->depth--);
    pt_lmdb_part_at(&link, pt_slice_of(cursor->key, passed + 1), cursor->depth, bucket_of(cursor));
    *key = pt_lmdb_part_val(&link);
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET);
    return mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
}

/* From the first place behind what was sought to the last one before it. */
static int go_before(pt_lmdb_long_cursor *cursor, int mdb_rc, MDB_val *key, MDB_val *value)
{
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    MDB_cursor_op op = mdb_rc == MDB_SUCCESS ? MDB_PREV : MDB_LAST;
    return mdb_cursor_get(cursor->cursor, key, value, op);
}

/* To the first or last key of the current bucket, which has some. */
static int go_to_end(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                     MDB_val *value)
{
    uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
    bool backward = direction == PT_BACKWARD;
    pt_lmdb_put_bucket_prefix(prefix, bucket_of(cursor) + (backward ? 1 : 0));
    *key = pt_lmdb_val(pt_slice_of(prefix, sizeof prefix));
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET_RANGE);
    if (backward) {
        mdb_rc = go_before(cursor, mdb_rc, key, value);
    }
    if (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(key, bucket_of(cursor))) {
        return MDB_SUCCESS;
    }
    return mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
}

/* From a key of the current bucket to the record that it, or the links that begin there, lead to.
 */
static int arrive(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key, MDB_val *value)
{
    for (;;) {
        bool link = key->mv_size == PT_LMDB_LINK_SIZE;
        if (key->mv_size > PT_LMDB_LINK_SIZE) {
            return MDB_CORRUPTED;
        }
        size_t offset = pt_lmdb_depth_offset(cursor->depth);
        size_t size = key->mv_size - PT_LMDB_BUCKET_PREFIX - (link ? 1 : 0);
        if (size == 0 || size > sizeof cursor->key - offset) {
            return MDB_CORRUPTED;
        }
        memcpy(cursor->key + offset, (const uint8_t *)key->mv_data + PT_LMDB_BUCKET_PREFIX, size);
        if (!link) {
            *key = pt_lmdb_val(pt_slice_of(cursor->key, offset + size));
            return MDB_SUCCESS;
        }
        int mdb_rc = descend(cursor, pt_lmdb_slice(*key), value);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = go_to_end(cursor, direction, key, value);
        }
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

static int step_over(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                     MDB_val *value)
{
    MDB_cursor_op op = direction == PT_FORWARD ? MDB_NEXT : MDB_PREV;
    return mdb_cursor_get(cursor->cursor, key, value, op);
}

/* What a move has come to; if it has left the current bucket, the search goes on around that. */
static int settle(pt_lmdb_long_cursor *cursor, int mdb_rc, pt_direction direction, MDB_val *key,
                  MDB_val *value)
{
    for (;;) {
        if (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(key, bucket_of(cursor))) {
            return arrive(cursor, direction, key, value);
        }
        if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
            return mdb_rc;
        }
        if (cursor->depth == 1) {
            return MDB_NOTFOUND;
        }
        mdb_rc = ascend(cursor, key, value);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = step_over(cursor, direction, key, value);
        }
    }
}

/* Begins at the link in `entities` of keys that begin as this one, which may be the cursor's. */
static int begin(pt_lmdb_long_cursor *cursor, const void *key, const MDB_val *link)
{
    uint8_t link_key[PT_LMDB_LINK_SIZE];
    memcpy(link_key, key, PT_LMDB_SHORT_KEY_MAX);
    link_key[PT_LMDB_SHORT_KEY_MAX] = 0;
    cursor->depth = 0;
    memmove(cursor->key, key, PT_LMDB_SHORT_KEY_MAX);
    return descend(cursor, pt_slice_of(link_key, sizeof link_key), link);
}

int pt_lmdb_long_cursor_enter(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *record)
{
    int mdb_rc = begin(cursor, key->mv_data, record);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = go_to_end(cursor, direction, key, record);
    }
    return mdb_rc == MDB_SUCCESS ? arrive(cursor, direction, key, record) : mdb_rc;
}

static bool is_link(const pt_lmdb_part *part, const MDB_val *key)
{
    return part->size == PT_LMDB_LINK_SIZE && key->mv_size == PT_LMDB_LINK_SIZE &&
           memcmp(part->bytes, key->mv_data, PT_LMDB_LINK_SIZE) == 0;
}

/* Follows the links that are on the way to `sought` to where there is none, and finds the first
 * place there that is not before it. */
static int follow(pt_lmdb_long_cursor *cursor, pt_slice sought, MDB_val *key, MDB_val *value)
{
    for (;;) {
        pt_lmdb_part part;
        pt_lmdb_part_at(&part, sought, cursor->depth, bucket_of(cursor));
        *key = pt_lmdb_part_val(&part);
        int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET_RANGE);
        if (mdb_rc != MDB_SUCCESS || !is_link(&part, key)) {
            return mdb_rc;
        }
        size_t offset = pt_lmdb_depth_offset(cursor->depth);
        mdb_rc = descend(cursor, pt_lmdb_slice(*key), value);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        memmove(cursor->key + offset, sought.data + offset, PT_LMDB_BUCKET_KEY_MAX);
    }
}

int pt_lmdb_long_cursor_seek(pt_lmdb_long_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val *key, MDB_val *record)
{
    int mdb_rc = begin(cursor, sought.data, record);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = follow(cursor, sought, key, record);
    if (direction == PT_BACKWARD) {
        mdb_rc = go_before(cursor, mdb_rc, key, record);
    }
    return settle(cursor, mdb_rc, direction, key, record);
}

int pt_lmdb_long_cursor_step(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *record)
{
    return settle(cursor, step_over(cursor, direction, key, record), direction, key, record);
}

/* --- Long write --- */

static MDB_txn *transaction(const pt_lmdb_long_trees *trees)
{
    return trees->entities->txn;
}

static pt_lmdb_tree *tree_at(const pt_lmdb_long_trees *trees, unsigned depth)
{
    return depth == 0 ? trees->entities : trees->long_keys;
}

static pt_slice slice_of(const pt_lmdb_part *part)
{
    return pt_slice_of(part->bytes, part->size);
}

/* A number that no bucket has had. */
static int new_bucket(const pt_lmdb_long_trees *trees, uint64_t *bucket)
{
    MDB_val key = pt_lmdb_val(pt_format_last_bucket_key());
    MDB_val value;
    uint64_t last = 0;
    int mdb_rc = mdb_get(transaction(trees), trees->env->meta, &key, &value);
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    if (mdb_rc == MDB_SUCCESS &&
        !pt_format_read_bucket(pt_format_last_bucket_key(), pt_lmdb_slice(value), &last)) {
        return MDB_CORRUPTED;
    }
    uint8_t record[PT_FORMAT_BUCKET_SIZE];
    *bucket = last + 1;
    pt_format_write_bucket(pt_format_last_bucket_key(), *bucket, record);
    value = pt_lmdb_val(pt_slice_of(record, sizeof record));
    return mdb_put(transaction(trees), trees->env->meta, &key, &value, 0);
}

/* Makes a link to a new bucket. */
static int put_link(const pt_lmdb_long_trees *trees, const pt_lmdb_part *link, unsigned depth,
                    uint64_t *bucket)
{
    uint8_t value[PT_FORMAT_BUCKET_SIZE];
    int mdb_rc = new_bucket(trees, bucket);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    pt_lmdb_old old;
    pt_format_write_bucket(slice_of(link), *bucket, value);
    return pt_lmdb_tree_put(tree_at(trees, depth), slice_of(link), pt_slice_of(value, sizeof value),
                            &old);
}

int pt_lmdb_long_put(const pt_lmdb_long_trees *trees, pt_slice key, pt_slice record,
                     pt_lmdb_old *old)
{
    pt_lmdb_part part;
    uint64_t bucket = 0;
    for (unsigned depth = 0;; depth++) {
        pt_lmdb_part_at(&part, key, depth, bucket);
        if (part.size != PT_LMDB_LINK_SIZE) {
            return pt_lmdb_tree_put(tree_at(trees, depth), slice_of(&part), record, old);
        }
        int mdb_rc = pt_lmdb_follow_link(transaction(trees), pt_lmdb_part_dbi(trees->env, depth),
                                         &part, &bucket);
        if (mdb_rc == MDB_NOTFOUND) {
            mdb_rc = put_link(trees, &part, depth, &bucket);
        }
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

/* --- Deleting --- */

/* The way to a long key: the buckets by depth, from 1 on. */
typedef struct way {
    unsigned depth;
    uint64_t buckets[PT_LMDB_DEPTH_MAX + 1];
} way;

static int find_way(const pt_lmdb_long_trees *trees, pt_slice key, way *found, pt_lmdb_part *last)
{
    for (found->depth = 0;; found->depth++) {
        pt_lmdb_part_at(last, key, found->depth, found->buckets[found->depth]);
        if (last->size != PT_LMDB_LINK_SIZE) {
            return MDB_SUCCESS;
        }
        int mdb_rc =
            pt_lmdb_follow_link(transaction(trees), pt_lmdb_part_dbi(trees->env, found->depth),
                                last, &found->buckets[found->depth + 1]);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

/* Deletes the links to buckets that a deletion has emptied. */
static int delete_empty_buckets(const pt_lmdb_long_trees *trees, pt_slice key, const way *to_key)
{
    for (unsigned depth = to_key->depth; depth > 0; depth--) {
        uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
        bool in_use = false;
        pt_lmdb_put_bucket_prefix(prefix, to_key->buckets[depth]);
        int mdb_rc =
            pt_lmdb_tree_has_prefix(trees->long_keys, pt_slice_of(prefix, sizeof prefix), &in_use);
        if (mdb_rc != MDB_SUCCESS || in_use) {
            return mdb_rc;
        }
        pt_lmdb_part link;
        pt_lmdb_old old;
        pt_lmdb_part_at(&link, key, depth - 1, to_key->buckets[depth - 1]);
        mdb_rc = pt_lmdb_tree_delete(tree_at(trees, depth - 1), slice_of(&link), &old);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
    return MDB_SUCCESS;
}

int pt_lmdb_long_delete(const pt_lmdb_long_trees *trees, pt_slice key, pt_lmdb_old *old)
{
    way to_key;
    pt_lmdb_part last;
    *old = (pt_lmdb_old){.present = false};
    if (key.size > PT_KEY_LOGICAL_MAX) {
        return MDB_SUCCESS;
    }
    to_key.buckets[0] = 0;
    int mdb_rc = find_way(trees, key, &to_key, &last);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
    }
    mdb_rc = pt_lmdb_tree_delete(trees->long_keys, slice_of(&last), old);
    if (mdb_rc != MDB_SUCCESS || !old->present) {
        return mdb_rc;
    }
    return delete_empty_buckets(trees, key, &to_key);
}
