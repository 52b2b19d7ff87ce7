/*
 * Putting and deleting long keys, and with them the links and buckets on the way.
 */
#ifndef PT_LMDB_LONG_WRITE_H
#define PT_LMDB_LONG_WRITE_H

#include "lmdb/tree.h"

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
