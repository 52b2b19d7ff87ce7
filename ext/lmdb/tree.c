#include "lmdb/tree.h"

#include "lmdb/env.h"
#include "lmdb/page/page.h"

/* Uses a cursor of its own, so that the tree's cursor does not remember the end from this search.
 */
static int find_last_key(pt_lmdb_tree *tree)
{
    MDB_cursor *cursor;
    MDB_val key;
    int mdb_rc = mdb_cursor_open(tree->txn, tree->dbi, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = mdb_cursor_get(cursor, &key, NULL, MDB_LAST);
    mdb_cursor_close(cursor);
    if (mdb_rc == MDB_SUCCESS && key.mv_size > sizeof tree->last_key) {
        return MDB_CORRUPTED;
    }
    if (mdb_rc == MDB_SUCCESS) {
        tree->last_key_size = key.mv_size;
        memcpy(tree->last_key, key.mv_data, key.mv_size);
    }
    tree->last_key_known = mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND;
    return tree->last_key_known ? MDB_SUCCESS : mdb_rc;
}

static inline int open_tree_cursor(pt_lmdb_tree *tree)
{
    return tree->cursor != NULL ? MDB_SUCCESS
                                : mdb_cursor_open(tree->txn, tree->dbi, &tree->cursor);
}

static inline bool is_beyond_last(const pt_lmdb_tree *tree, pt_slice key)
{
    return pt_slice_compare(key, pt_slice_of(tree->last_key, tree->last_key_size)) > 0;
}

static int append_record(pt_lmdb_tree *tree, pt_slice key, pt_slice value)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val mdb_value = pt_lmdb_val(value);
    int mdb_rc = mdb_cursor_put(tree->cursor, &mdb_key, &mdb_value, MDB_APPEND);
    if (mdb_rc == MDB_SUCCESS) {
        memcpy(tree->last_key, key.data, key.size);
        tree->last_key_size = key.size;
    }
    return mdb_rc;
}

/*
 * True if the new value needs fewer overflow pages than the old one has. If this transaction has
 * written the old one, LMDB would keep its pages, also those that the new one does not need, and
 * such a run of pages is damage to those who read it (pt_lmdb_overflow_judge).
 */
static bool would_leave_pages(const pt_lmdb_tree *tree, size_t old_size, size_t new_size)
{
    if (old_size <= new_size || old_size <= PT_LMDB_PAGE_MIN - PT_LMDB_PAGE_HEADER) {
        return false;
    }
    MDB_stat stat = {.ms_psize = PT_LMDB_PAGE_MIN};
    mdb_stat(tree->txn, tree->dbi, &stat);
    return pt_lmdb_overflow_pages(old_size, stat.ms_psize) >
           pt_lmdb_overflow_pages(new_size, stat.ms_psize);
}

/* One search serves both: MDB_NOOVERWRITE stops at a key that exists, and MDB_CURRENT replaces its
 * value there. */
static int insert_or_replace(pt_lmdb_tree *tree, pt_slice key, pt_slice value, pt_lmdb_old *old)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val mdb_value = pt_lmdb_val(value);
    int mdb_rc = mdb_cursor_put(tree->cursor, &mdb_key, &mdb_value, MDB_NOOVERWRITE);
    if (mdb_rc != MDB_KEYEXIST) {
        return mdb_rc;
    }
    *old = (pt_lmdb_old){.present = true, .size = mdb_value.mv_size};
    mdb_value = pt_lmdb_val(value);
    if (!would_leave_pages(tree, old->size, value.size)) {
        return mdb_cursor_put(tree->cursor, &mdb_key, &mdb_value, MDB_CURRENT);
    }
    mdb_rc = mdb_cursor_del(tree->cursor, 0);
    return mdb_rc == MDB_SUCCESS ? mdb_cursor_put(tree->cursor, &mdb_key, &mdb_value, 0) : mdb_rc;
}

int pt_lmdb_tree_put(pt_lmdb_tree *tree, pt_slice key, pt_slice value, pt_lmdb_old *old)
{
    *old = (pt_lmdb_old){.present = false};
    tree->on_next = false;
    int mdb_rc = open_tree_cursor(tree);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    /* Most loads put keys in ascending order, so appending is tried first. */
    if (tree->appending != PT_APPEND_IS_OVER) {
        mdb_rc = tree->last_key_known ? MDB_SUCCESS : find_last_key(tree);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        if (is_beyond_last(tree, key)) {
            tree->appending = PT_APPENDING;
            return append_record(tree, key, value);
        }
        /* A run that has not begun may still begin; one that has must not be resumed. */
        if (tree->appending == PT_APPENDING) {
            tree->appending = PT_APPEND_IS_OVER;
        }
    }
    return insert_or_replace(tree, key, value, old);
}

/* Finds a key to delete. Neighbours are deleted one after the other without a search. */
static int find_to_delete(pt_lmdb_tree *tree, pt_slice key, MDB_val *value)
{
    MDB_val mdb_key;
    if (tree->on_next) {
        tree->on_next = false;
        /* The first MDB_NEXT after a deletion stays where it is: on the key after the deleted one.
         */
        int mdb_rc = mdb_cursor_get(tree->cursor, &mdb_key, value, MDB_NEXT);
        if (mdb_rc == MDB_SUCCESS && pt_slice_equal(pt_lmdb_slice(mdb_key), key)) {
            return MDB_SUCCESS;
        }
    }
    mdb_key = pt_lmdb_val(key);
    return mdb_cursor_get(tree->cursor, &mdb_key, value, MDB_SET);
}

int pt_lmdb_tree_delete(pt_lmdb_tree *tree, pt_slice key, pt_lmdb_old *old)
{
    MDB_val value;
    *old = (pt_lmdb_old){.present = false};
    tree->appending = PT_APPEND_IS_OVER;
    int mdb_rc = open_tree_cursor(tree);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = find_to_delete(tree, key, &value);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
    }
    *old = (pt_lmdb_old){.present = true, .size = value.mv_size};
    mdb_rc = mdb_cursor_del(tree->cursor, 0);
    tree->on_next = mdb_rc == MDB_SUCCESS;
    return mdb_rc;
}

int pt_lmdb_tree_has_prefix(pt_lmdb_tree *tree, pt_slice prefix, bool *has)
{
    MDB_val key = pt_lmdb_val(prefix);
    MDB_val value;
    tree->appending = PT_APPEND_IS_OVER;
    tree->on_next = false;
    int mdb_rc = open_tree_cursor(tree);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_cursor_get(tree->cursor, &key, &value, MDB_SET_RANGE);
    }
    *has = mdb_rc == MDB_SUCCESS && pt_slice_has_prefix(pt_lmdb_slice(key), prefix);
    return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
}
