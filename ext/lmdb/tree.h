/*
 * Puts and deletes keys of one sub-database within a write transaction. Fast when keys come in
 * order.
 */
#ifndef PT_LMDB_TREE_H
#define PT_LMDB_TREE_H

#include <lmdb.h>

#include "lmdb/page/format.h"

/*
 * How a key after the last one is put. MDB_APPEND saves the search, but relies on what the cursor
 * remembers about the end, and other operations can make that wrong. So it is used in one run only,
 * which begins with the first key after the last and ends with the first other operation.
 */
typedef enum pt_appending { PT_APPEND_MAY_BEGIN, PT_APPENDING, PT_APPEND_IS_OVER } pt_appending;

/* The end of the transaction closes it. */
typedef struct pt_lmdb_tree {
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor; /* NULL until the first operation */
    pt_appending appending;
    bool on_next; /* the last operation deleted a key: the cursor is on the one after it */
    bool last_key_known;
    size_t last_key_size; /* 0: no key at all */
    uint8_t last_key[PT_LMDB_LINK_SIZE];
} pt_lmdb_tree;

/* The record of a key before an operation. */
typedef struct pt_lmdb_old {
    bool present;
    size_t size; /* of its value */
} pt_lmdb_old;

/* A tree opens its cursor at the first operation, so one that is not used costs nothing. */
static inline void pt_lmdb_tree_init(pt_lmdb_tree *tree, MDB_txn *txn, MDB_dbi dbi)
{
    tree->txn = txn;
    tree->dbi = dbi;
    tree->cursor = NULL;
    tree->appending = PT_APPEND_MAY_BEGIN;
    tree->on_next = false;
    tree->last_key_known = false;
    tree->last_key_size = 0;
}

/* Keys are LMDB's. All return LMDB's code. After a failure the transaction must not be committed.
 */

/* Inserts or replaces. */
int pt_lmdb_tree_put(pt_lmdb_tree *tree, pt_slice key, pt_slice value, pt_lmdb_old *old);

/* Deletes the key if it is there. */
int pt_lmdb_tree_delete(pt_lmdb_tree *tree, pt_slice key, pt_lmdb_old *old);

/* Finds out if a key of the tree begins with the prefix. */
int pt_lmdb_tree_has_prefix(pt_lmdb_tree *tree, pt_slice prefix, bool *has);

#endif
