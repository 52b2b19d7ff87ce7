/*
 * Long keys: the way from a logical key to its record when the key does not fit into LMDB's. The
 * format, with its links and buckets, is in lmdb/page/format.c.
 *
 * A bucket has a depth: 1 if its link is in `entities`, one more than that of the bucket that holds
 * its link otherwise. All keys in it begin with the same pt_lmdb_depth_offset(depth) bytes.
 */
#ifndef PT_LMDB_LONG_KEYS_H
#define PT_LMDB_LONG_KEYS_H

#include "entity/key.h"
#include "lmdb/env.h"
#include "lmdb/page/format.h"
#include "lmdb/tree.h"
#include "store/engine.h"

/* The sub-database that holds a logical key, or the first part of a long one. */
static inline MDB_dbi pt_lmdb_dbi_of(const pt_lmdb_env *env, pt_slice key)
{
    uint32_t table = key.size >= PT_KEY_TABLE_SIZE ? pt_get_be32(key.data) : 0;
    if (table < PT_TABLE_ID_LIMIT) {
        return env->entities;
    }
    return table == PT_TABLE_GARBAGE  ? env->garbage
           : table == PT_TABLE_CHUNKS ? env->chunks
                                      : env->entities;
}

/* One LMDB key on the way to a long key: a link, or the last one. */
typedef struct pt_lmdb_part {
    size_t size;
    uint8_t bytes[PT_LMDB_LINK_SIZE];
} pt_lmdb_part;

static inline size_t pt_lmdb_depth_offset(unsigned depth)
{
    return PT_LMDB_SHORT_KEY_MAX + (size_t)(depth - 1) * PT_LMDB_BUCKET_KEY_MAX;
}

static inline MDB_val pt_lmdb_part_val(const pt_lmdb_part *part)
{
    return pt_lmdb_val(pt_slice_of(part->bytes, part->size));
}

void pt_lmdb_put_bucket_prefix(uint8_t bytes[PT_LMDB_BUCKET_PREFIX], uint64_t bucket);

/* Whether a key of `long_keys` lies in the bucket. */
bool pt_lmdb_is_in_bucket(const MDB_val *key, uint64_t bucket);

/*
 * The part of a logical key at a depth: depth 0 is its LMDB key in `entities` (`bucket` ignored),
 * others are in `long_keys`. The key must be longer than what lies before the depth.
 */
void pt_lmdb_part_at(pt_lmdb_part *part, pt_slice key, unsigned depth, uint64_t bucket);

/* The sub-database of the parts at a depth. */
static inline MDB_dbi pt_lmdb_part_dbi(const pt_lmdb_env *env, unsigned depth)
{
    return depth == 0 ? env->entities : env->long_keys;
}

/* The bucket a link leads to. LMDB's code: MDB_NOTFOUND, MDB_CORRUPTED if it leads nowhere. */
int pt_lmdb_follow_link(MDB_txn *txn, MDB_dbi dbi, const pt_lmdb_part *link, uint64_t *bucket);

/* The record of a long key. LMDB's code. */
int pt_lmdb_long_get(MDB_txn *txn, const pt_lmdb_env *env, pt_slice key, MDB_val *record);

/*
 * Positions in the buckets of long keys. While a cursor on `entities` stands on a link, one of
 * these stands on one of the long keys behind it.
 */

typedef struct pt_lmdb_long_cursor pt_lmdb_long_cursor;

/* ENOMEM, and LMDB's codes. */
int pt_lmdb_long_cursor_open(MDB_txn *txn, const pt_lmdb_env *env, pt_lmdb_long_cursor **cursor);

/* Makes it usable in another read transaction. LMDB's code. */
int pt_lmdb_long_cursor_renew(pt_lmdb_long_cursor *cursor, MDB_txn *txn);

void pt_lmdb_long_cursor_close(pt_lmdb_long_cursor *cursor); /* NULL is allowed */

/*
 * In all of these `key` and `record` receive the logical key, which is the cursor's until it moves,
 * and its record. LMDB's code; MDB_CORRUPTED: links lead nowhere, or too far.
 */

/* Goes to the first (forward) or last long key behind a link, whose LMDB key and value are given in
 * `key` and `record`. */
int pt_lmdb_long_cursor_enter(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *record);

/*
 * Goes to the first long key >= `sought` (forward) or the last one < `sought` behind the link that
 * is on the way to `sought`, whose value is given in `record`. MDB_NOTFOUND: there is none behind
 * this link.
 */
int pt_lmdb_long_cursor_seek(pt_lmdb_long_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val *key, MDB_val *record);

/* Goes to the neighbour. MDB_NOTFOUND: there is none behind this link. */
int pt_lmdb_long_cursor_step(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *record);

/*
 * Putting and deleting long keys, and with them the links and buckets on the way.
 */

/* Where long keys go: two trees of one transaction. */
typedef struct pt_lmdb_long_trees {
    const pt_lmdb_env *env;
    pt_lmdb_tree *entities;
    pt_lmdb_tree *long_keys;
} pt_lmdb_long_trees;

/* Both return LMDB's code, as pt_lmdb_tree_put and pt_lmdb_tree_delete do. The key to be put has at
 * most PT_KEY_LOGICAL_MAX bytes. */
int pt_lmdb_long_put(const pt_lmdb_long_trees *trees, pt_slice key, pt_slice record,
                     pt_lmdb_old *old);
int pt_lmdb_long_delete(const pt_lmdb_long_trees *trees, pt_slice key, pt_lmdb_old *old);

#endif
