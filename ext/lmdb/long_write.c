#include "lmdb/long_write.h"

#include "lmdb/page/format.h"

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
