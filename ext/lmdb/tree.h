/*
 * One sub-database within a write transaction: putting and deleting, fast when keys come in order.
 */
#ifndef PT_LMDB_TREE_H
#define PT_LMDB_TREE_H

#include <lmdb.h>

#include "lmdb/env.h"
#include "lmdb/page/format.h"

/*
 * How a key beyond the last one is put. MDB_APPEND saves the search, but relies on what the cursor
 * knows about the end, and that can be wrong once other operations came in between: so it is used
 * in one run only, which begins at the first key beyond the last and ends with the first other
 * operation.
 */
typedef enum pt_appending { PT_APPEND_MAY_BEGIN, PT_APPENDING, PT_APPEND_IS_OVER } pt_appending;

/* All zeros but for `txn` and `dbi`: not yet used in this transaction, whose end closes it. */
typedef struct pt_lmdb_tree {
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor; /* NULL until the first operation */
    pt_appending appending;
    bool on_next; /* the last operation was a deletion: the cursor stands on the key behind it */
    bool last_key_known;
    size_t last_key_size; /* 0: no key at all */
    uint8_t last_key[PT_LMDB_LINK_SIZE];
} pt_lmdb_tree;

/* What a key had before an operation. */
typedef struct pt_lmdb_old {
    bool present;
    size_t size; /* of its value */
} pt_lmdb_old;

/* Keys are LMDB's. All return LMDB's code; after a failure the transaction is no longer whole. */

/* Inserts or replaces. */
int pt_lmdb_tree_put(pt_lmdb_tree *tree, pt_slice key, pt_slice value, pt_lmdb_old *old);

/* Deletes the key if it is there. */
int pt_lmdb_tree_delete(pt_lmdb_tree *tree, pt_slice key, pt_lmdb_old *old);

/* Whether the tree has a key that begins with the prefix. */
int pt_lmdb_tree_has_prefix(pt_lmdb_tree *tree, pt_slice prefix, bool *has);

#endif
