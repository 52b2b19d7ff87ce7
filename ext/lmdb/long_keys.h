/*
 * Finds, puts and deletes keys that are longer than LMDB's keys may be. The format, with its links
 * and buckets, is described in lmdb/page/format.c.
 *
 * The depth of a bucket is 1 if its link is in `entities`; otherwise it is one more than the depth
 * of the bucket that holds its link. All keys in a bucket begin with the same
 * pt_lmdb_depth_offset(depth) bytes.
 */
#ifndef PT_LMDB_LONG_KEYS_H
#define PT_LMDB_LONG_KEYS_H

#include "entity/key.h"
#include "lmdb/env.h"
#include "lmdb/page/format.h"
#include "lmdb/tree.h"
#include "store/engine.h"

/* One LMDB key on the way to a long key: a link, or the last one. */
typedef struct pt_lmdb_part {
    size_t size;
    uint8_t bytes[PT_LMDB_LINK_SIZE];
} pt_lmdb_part;

/* Bytes of a logical key that come before its part in a bucket of this depth. */
static inline size_t pt_lmdb_depth_offset(unsigned depth)
{
    return PT_LMDB_SHORT_KEY_MAX + (size_t)(depth - 1) * PT_LMDB_BUCKET_KEY_MAX;
}

static inline MDB_val pt_lmdb_part_val(const pt_lmdb_part *part)
{
    return pt_lmdb_val(pt_slice_of(part->bytes, part->size));
}

/* Writes the bucket number that begins each key of the bucket, big-endian. */
void pt_lmdb_put_bucket_prefix(uint8_t bytes[PT_LMDB_BUCKET_PREFIX], uint64_t bucket);

/* True if a key of `long_keys` is in the bucket. */
bool pt_lmdb_is_in_bucket(const MDB_val *key, uint64_t bucket);

/*
 * Gives the part of a logical key that is stored at a depth: at depth 0 its LMDB key in `entities`
 * (`bucket` is ignored), at others its LMDB key in `long_keys`. The key must be longer than the
 * bytes that come before this depth.
 */
void pt_lmdb_part_at(pt_lmdb_part *part, pt_slice key, unsigned depth, uint64_t bucket);

/* Finds the record of a long key; valid as long as the transaction. LMDB's code: MDB_NOTFOUND if
 * there is no such key. */
int pt_lmdb_long_get(MDB_txn *txn, const pt_lmdb_env *env, pt_slice key, MDB_val *record);

/*
 * A cursor over long keys. While a cursor on `entities` is on a link, this one is on one of the
 * long keys that the link leads to.
 */

typedef struct pt_lmdb_long_cursor pt_lmdb_long_cursor;

/* ENOMEM, and LMDB's codes. */
int pt_lmdb_long_cursor_open(MDB_txn *txn, const pt_lmdb_env *env, pt_lmdb_long_cursor **cursor);

/* Makes the cursor usable in another read transaction. LMDB's code. */
int pt_lmdb_long_cursor_renew(pt_lmdb_long_cursor *cursor, MDB_txn *txn);

void pt_lmdb_long_cursor_close(pt_lmdb_long_cursor *cursor); /* NULL is allowed */

/*
 * The functions that move a cursor set `key` to the logical key, which stays valid until the cursor
 * moves, and `record` to its record. LMDB's code; MDB_CORRUPTED if links lead nowhere or too deep.
 */

/* Moves to the first (backward: last) long key of a link, whose LMDB key and value are given in
 * `key` and `record`. */
int pt_lmdb_long_cursor_enter(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *record);

/*
 * Moves to the first long key >= `sought` (backward: the last one < `sought`) of the link on the
 * way to `sought`, whose value is given in `record`. MDB_NOTFOUND: the link leads to no such key.
 */
int pt_lmdb_long_cursor_seek(pt_lmdb_long_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val *key, MDB_val *record);

/* Moves to the neighbour. MDB_NOTFOUND: the link leads to no further key. */
int pt_lmdb_long_cursor_step(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *record);

/* The two trees, of one transaction, that hold long keys and the links to them. */
typedef struct pt_lmdb_long_trees {
    const pt_lmdb_env *env;
    pt_lmdb_tree *entities;
    pt_lmdb_tree *long_keys;
} pt_lmdb_long_trees;

/* Put and delete a long key, together with the links on the way. LMDB's code, like pt_lmdb_tree_put
 * and pt_lmdb_tree_delete. A key to be put has at most PT_KEY_LOGICAL_MAX bytes. */
int pt_lmdb_long_put(const pt_lmdb_long_trees *trees, pt_slice key, pt_slice record,
                     pt_lmdb_old *old);
int pt_lmdb_long_delete(const pt_lmdb_long_trees *trees, pt_slice key, pt_lmdb_old *old);

#endif
