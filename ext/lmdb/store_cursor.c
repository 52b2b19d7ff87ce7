#include "lmdb/store_cursor.h"

#include "base/sqlite.h"
#include "lmdb/snapshot.h"
#include "lmdb/tree_cursor.h"

/* --- Beside the tail (lmdb/log/tail.h) --- */

/* Puts the tree's position aside and shows the node. */
static void show_node(pt_lmdb_cursor *cursor)
{
    pt_lmdb_leaf_close_off(&cursor->leaf);
    cursor->aside.valid = cursor->base.valid;
    cursor->aside.key = cursor->base.key;
    cursor->aside.record = cursor->base.record;
    cursor->aside.key_lasts = cursor->base.key_lasts;
    cursor->on_tail = true;
    cursor->base.valid = true;
    cursor->base.key = pt_tail_key(cursor->node);
    cursor->base.record = pt_tail_record(cursor->node);
    cursor->base.key_lasts = true;
}

static const pt_tail_node *next_node(const pt_lmdb_cursor *cursor)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    return pt_tail_step(snapshot->tail, cursor->node, snapshot->tail_end, cursor->direction);
}

/* < 0: the cursor meets the tree's position before the node. */
static inline int order_of_places(const pt_lmdb_cursor *cursor)
{
    int order = pt_slice_compare(cursor->base.key, pt_tail_key(cursor->node));
    return cursor->direction == PT_FORWARD ? order : -order;
}

/* The node that is shown next, and the one after it, of which the key is needed then. */
static void prefetch_node(const pt_tail_node *node)
{
    const void *after = atomic_load_explicit(&node->next[0], memory_order_acquire);
    pt_lmdb_leaf_prefetch((uintptr_t)node, PT_LMDB_LEAF_LINES + 1);
    pt_lmdb_leaf_prefetch((uintptr_t)after, 2);
}

/* Chooses between the tree's position and the node. Deletions hide the tree's entry. */
static int choose_place(pt_lmdb_cursor *cursor, pt_error *error)
{
    while (cursor->node != NULL) {
        int order = 1;
        if (cursor->base.valid) {
            order = order_of_places(cursor);
        } else if (!pt_lmdb_tree_is_within_limit(cursor, pt_tail_key(cursor->node),
                                                 cursor->direction)) {
            break; /* one that the tree's position is not before is within the limit, too */
        }
        if (order < 0) {
            /* Up to the node the leaf goes on alone. */
            pt_lmdb_leaf_fence(&cursor->leaf, pt_tail_key(cursor->node));
            prefetch_node(cursor->node);
            return SQLITE_OK;
        }
        cursor->hides = order == 0;
        if (!cursor->node->deletes) {
            show_node(cursor);
            return SQLITE_OK;
        }
        int rc = cursor->hides ? pt_lmdb_tree_step(cursor, cursor->direction, error) : SQLITE_OK;
        if (rc != SQLITE_OK) {
            return rc;
        }
        cursor->node = next_node(cursor);
    }
    cursor->node = NULL;
    return SQLITE_OK;
}

/* Leaves the node, if it is shown, or the tree's position. In the direction of the seek. */
__attribute__((noinline)) static int step_beside_tail(pt_lmdb_cursor *cursor, pt_error *error)
{
    int rc = SQLITE_OK;
    if (pt_lmdb_is_of_parent(cursor->fork_count)) {
        return pt_lmdb_tree_fail_inherited(cursor, error);
    }
    bool on_tree = !cursor->on_tail;
    if (cursor->on_tail) {
        cursor->base.valid = cursor->aside.valid;
        cursor->base.key = cursor->aside.key;
        cursor->base.record = cursor->aside.record;
        cursor->base.key_lasts = cursor->aside.key_lasts;
        cursor->on_tail = false;
        cursor->node = next_node(cursor);
    }
    pt_lmdb_leaf_lift_fence(&cursor->leaf);
    if (on_tree || cursor->hides) {
        rc = pt_lmdb_tree_step(cursor, cursor->direction, error);
    }
    return rc == SQLITE_OK ? choose_place(cursor, error) : rc;
}

/* A step that the leaf cannot do. Not inlined, so that pt_lmdb_cursor_step need not save registers
 * for it. */
__attribute__((noinline)) static int step_beyond_leaf(pt_lmdb_cursor *cursor,
                                                      pt_direction direction, pt_error *error)
{
    return cursor->node == NULL ? pt_lmdb_tree_step_from_leaf(cursor, direction, error)
                                : step_beside_tail(cursor, error);
}

/* True if the keys from `from` up to the limit are those of one table, which the tail does not
 * hold. */
static bool is_beside_no_node(const pt_lmdb_cursor *cursor, pt_slice from)
{
    bool forward = cursor->direction == PT_FORWARD;
    pt_slice low = forward ? from : cursor->limit;
    pt_slice high = forward ? cursor->limit : from;
    if (low.size == 0 || high.size == 0 || low.data[0] >= PT_KEY_GARBAGE) {
        return false;
    }
    uint32_t table = pt_key_table(low);
    pt_key_start after = pt_key_start_after(pt_key_start_of_table(table));
    return pt_slice_compare(high, pt_key_start_slice(&after)) <= 0 &&
           !pt_tail_may_hold(pt_lmdb_own_snapshot(cursor->base.snapshot)->tail, table);
}

/* True if nothing but this key is within the limit. */
static bool is_point(const pt_lmdb_cursor *cursor, pt_slice from)
{
    pt_slice limit = cursor->limit;
    return cursor->direction == PT_FORWARD && limit.size == from.size + 1 &&
           limit.data[from.size] == 0 && pt_slice_has_prefix(limit, from);
}

/* The tree need not be asked for a key that the tail has. */
static int seek_one_key(pt_lmdb_cursor *cursor, pt_slice key, pt_error *error)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    const pt_tail_node *node = pt_tail_find(snapshot->tail, key, snapshot->tail_end);
    if (node == NULL) {
        return pt_lmdb_tree_seek(cursor, key, PT_FORWARD, error);
    }
    pt_lmdb_tree_lose_position(cursor);
    if (!node->deletes) {
        cursor->node = node;
        cursor->hides = false;
        show_node(cursor);
    }
    return SQLITE_OK;
}

__attribute__((noinline)) static int seek_beside_tail(pt_lmdb_cursor *cursor, pt_slice from,
                                                      pt_error *error)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    cursor->node = NULL;
    cursor->on_tail = false;
    if (is_point(cursor, from)) {
        return seek_one_key(cursor, from, error);
    }
    if (is_beside_no_node(cursor, from)) {
        return pt_lmdb_tree_seek(cursor, from, cursor->direction, error);
    }
    cursor->node = pt_tail_seek(snapshot->tail, from, snapshot->tail_end, cursor->direction);
    int rc = pt_lmdb_tree_seek(cursor, from, cursor->direction, error);
    return rc == SQLITE_OK ? choose_place(cursor, error) : rc;
}

/* --- The methods --- */

int pt_lmdb_cursor_seek(pt_engine_cursor *base, pt_slice from, pt_slice limit,
                        pt_direction direction, pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor));
    if (pt_lmdb_is_of_parent(cursor->fork_count)) {
        return pt_lmdb_tree_fail_inherited(cursor, error);
    }
    pt_lmdb_cursor_forget_leaf(cursor);
    cursor->direction = direction;
    cursor->limit = limit;
    return pt_lmdb_own_snapshot(base->snapshot)->tail_end == 0
               ? pt_lmdb_tree_seek(cursor, from, direction, error)
               : seek_beside_tail(cursor, from, error);
}

void pt_lmdb_cursor_narrow(pt_engine_cursor *base, pt_slice limit)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor));
    cursor->limit = limit;
    /* The leaf has counted its entries within the old limit. LMDB's cursor may still lag. */
    cursor->leaf = (pt_lmdb_leaf){0};
    if (cursor->on_tail && cursor->aside.valid &&
        !pt_lmdb_tree_is_within_limit(cursor, cursor->aside.key, cursor->direction)) {
        cursor->aside.valid = false;
    }
    if (base->valid && !pt_lmdb_tree_is_within_limit(cursor, base->key, cursor->direction)) {
        pt_lmdb_tree_lose_position(cursor);
    }
}

int pt_lmdb_cursor_step(pt_engine_cursor *base, pt_direction direction, pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor) &&
              (base->valid || pt_lmdb_is_of_parent(cursor->fork_count)));
    if (pt_lmdb_is_of_parent(cursor->fork_count) || direction != cursor->leaf.direction ||
        !pt_lmdb_leaf_step(&cursor->leaf, &base->key, &base->record)) {
        return step_beyond_leaf(cursor, direction, error);
    }
    cursor->mdb_cursor_lags = true;
    return SQLITE_OK;
}

unsigned pt_lmdb_cursor_ahead(const pt_engine_cursor *base, pt_direction direction)
{
    const pt_lmdb_cursor *cursor = (const pt_lmdb_cursor *)base;
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor) && base->valid);
    return direction == cursor->leaf.direction ? pt_lmdb_leaf_ahead(&cursor->leaf) : 0;
}

int pt_lmdb_cursor_skip(pt_engine_cursor *base, pt_direction direction, unsigned count,
                        pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    PT_ASSERT(direction == cursor->leaf.direction && count > 0 && count <= cursor->leaf.left);
    pt_lmdb_leaf_pass(&cursor->leaf, count - 1);
    return pt_lmdb_cursor_step(base, direction, error);
}
