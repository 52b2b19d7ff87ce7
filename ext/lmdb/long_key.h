/*
 * Long keys: the way from a logical key to its record when the key does not fit into LMDB's. The
 * format, with its links and buckets, is in lmdb/page/format.c.
 *
 * A bucket has a depth: 1 if its link is in `entities`, one more than that of the bucket that holds
 * its link otherwise. All keys in it begin with the same pt_lmdb_depth_offset(depth) bytes.
 */
#ifndef PT_LMDB_LONG_KEY_H
#define PT_LMDB_LONG_KEY_H

#include "entity/key.h"
#include "lmdb/env.h"

enum {
    PT_LMDB_SHORT_KEY_MAX = 510,  /* bytes of a logical key that needs no link */
    PT_LMDB_LINK_SIZE = 511,      /* bytes of an LMDB key that is a link */
    PT_LMDB_BUCKET_PREFIX = 8,    /* bytes of the number in front of a key in a bucket */
    PT_LMDB_BUCKET_KEY_MAX = 502, /* bytes of logical key behind it */
    PT_LMDB_DEPTH_MAX = (PT_KEY_LOGICAL_MAX - PT_LMDB_SHORT_KEY_MAX + PT_LMDB_BUCKET_KEY_MAX - 1) /
                        PT_LMDB_BUCKET_KEY_MAX,
};

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

#endif
