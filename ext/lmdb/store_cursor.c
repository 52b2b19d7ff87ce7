#include "lmdb/store_cursor.h"

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/snapshot.h"

/* --- In LMDB's tree --- */

/* Opens the second cursor, for long keys, or makes it usable in the snapshot's transaction. LMDB's
 * code. */
static int prepare_long_cursor(pt_lmdb_cursor *cursor)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    int mdb_rc = MDB_SUCCESS;
    if (cursor->long_cursor == NULL) {
        mdb_rc = pt_lmdb_long_cursor_open(snapshot->reader.txn, &snapshot->store->env,
                                          &cursor->long_cursor);
    } else if (!cursor->long_cursor_is_renewed) {
        mdb_rc = pt_lmdb_long_cursor_renew(cursor->long_cursor, snapshot->reader.txn);
    }
    cursor->long_cursor_is_renewed = mdb_rc == MDB_SUCCESS;
    return mdb_rc;
}

/* True if a move in the direction may end at the key. */
static bool is_within_limit(const pt_lmdb_cursor *cursor, pt_slice key, pt_direction direction)
{
    if (direction != cursor->direction || cursor->limit.size == 0) {
        return true;
    }
    int order = pt_slice_compare(key, cursor->limit);
    return direction == PT_FORWARD ? order < 0 : order >= 0;
}

static void lose_position(pt_lmdb_cursor *cursor)
{
    cursor->base.valid = false;
    cursor->base.key = (pt_slice){0};
}

/* Ends a move that found no entry. */
static int end_without_position(pt_lmdb_cursor *cursor, int mdb_rc, pt_error *error)
{
    lose_position(cursor);
    const char *path = cursor->base.snapshot->store->path;
    return mdb_rc == MDB_NOTFOUND ? SQLITE_OK
                                  : pt_lmdb_fail_reading(error, mdb_rc, path, "moving a cursor");
}

/*
 * True if the entry can be read: in a damaged file LMDB returns whatever a page says. A long key
 * was composed in memory of our own and lies in no page.
 */
static inline bool can_be_read(const pt_lmdb_cursor *cursor, const MDB_val *key,
                               const MDB_val *record)
{
    const pt_lmdb_env *env = &pt_lmdb_own_snapshot(cursor->base.snapshot)->store->env;
    return (key->mv_size > PT_LMDB_SHORT_KEY_MAX || pt_lmdb_is_in_page(env, key)) &&
           pt_key_has_table(pt_lmdb_slice(*key)) && pt_lmdb_is_in_store(env, record);
}

/* Ends a move: at a logical key and its record, or without a position. */
static inline int end_move(pt_lmdb_cursor *cursor, int mdb_rc, pt_direction direction,
                           const MDB_val *key, const MDB_val *record, pt_error *error)
{
    if (mdb_rc == MDB_SUCCESS && !can_be_read(cursor, key, record)) {
        mdb_rc = MDB_CORRUPTED;
    }
    if (mdb_rc != MDB_SUCCESS) {
        return end_without_position(cursor, mdb_rc, error);
    }
    pt_slice found = pt_lmdb_slice(*key);
    cursor->base.valid = is_within_limit(cursor, found, direction);
    cursor->base.key = found;
    cursor->base.record = pt_lmdb_slice(*record);
    cursor->base.key_lasts = found.size <= PT_LMDB_SHORT_KEY_MAX; /* not the composed ones */
    return SQLITE_OK;
}

/* Goes from a link to the first or last long key it leads to. LMDB has no key longer than a link.
 */
static int enter_link(pt_lmdb_cursor *cursor, pt_direction direction, MDB_val *key, MDB_val *record)
{
    const pt_lmdb_env *env = &pt_lmdb_own_snapshot(cursor->base.snapshot)->store->env;
    if (key->mv_size > PT_LMDB_LINK_SIZE || !pt_lmdb_is_in_page(env, key)) {
        return MDB_CORRUPTED;
    }
    int mdb_rc = prepare_long_cursor(cursor);
    return mdb_rc == MDB_SUCCESS
               ? pt_lmdb_long_cursor_enter(cursor->long_cursor, direction, key, record)
               : mdb_rc;
}

/* `key` is what the operation needs. At a link, `direction` decides between its first long key and
 * its last one. */
static int move_mdb_cursor(pt_lmdb_cursor *cursor, MDB_val *key, MDB_cursor_op op,
                           pt_direction direction, pt_error *error)
{
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, &record, op);
    if (mdb_rc == MDB_SUCCESS && key->mv_size >= PT_LMDB_LINK_SIZE) {
        mdb_rc = enter_link(cursor, direction, key, &record);
    }
    return end_move(cursor, mdb_rc, direction, key, &record, error);
}

/* Moves to the neighbour in `entities`. */
static int move_to_neighbour(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    MDB_val key;
    return move_mdb_cursor(cursor, &key, direction == PT_FORWARD ? MDB_NEXT : MDB_PREV, direction,
                           error);
}

/*
 * Ends a backward search. MDB_SET_RANGE has looked for the first key that is not below the sought
 * one, with this result; the key wanted is the one before that, or the last one of all.
 */
static int move_before(pt_lmdb_cursor *cursor, int mdb_rc, pt_error *error)
{
    MDB_val key = {0};
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return end_without_position(cursor, mdb_rc, error);
    }
    return move_mdb_cursor(cursor, &key, mdb_rc == MDB_SUCCESS ? MDB_PREV : MDB_LAST, PT_BACKWARD,
                           error);
}

/* Looks among the long keys of the link, which is on the way to the key; if there is none, goes on
 * from the link in `entities`. */
static int seek_through_link(pt_lmdb_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val record, pt_error *error)
{
    MDB_val key;
    int mdb_rc = prepare_long_cursor(cursor);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = pt_lmdb_long_cursor_seek(cursor->long_cursor, sought, direction, &key, &record);
        if (mdb_rc == MDB_NOTFOUND) {
            return move_to_neighbour(cursor, direction, error);
        }
    }
    return end_move(cursor, mdb_rc, direction, &key, &record, error);
}

static int seek_long(pt_lmdb_cursor *cursor, pt_slice sought, pt_direction direction,
                     pt_error *error)
{
    pt_lmdb_part link;
    pt_lmdb_part_at(&link, sought, 0, 0);
    MDB_val key = pt_lmdb_part_val(&link);
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, &key, &record, MDB_SET_RANGE);
    if (mdb_rc == MDB_SUCCESS && key.mv_size == link.size &&
        memcmp(key.mv_data, link.bytes, link.size) == 0) {
        return seek_through_link(cursor, sought, direction, record, error);
    }
    if (direction == PT_BACKWARD) {
        return move_before(cursor, mdb_rc, error);
    }
    return mdb_rc == MDB_SUCCESS ? move_mdb_cursor(cursor, &key, MDB_GET_CURRENT, direction, error)
                                 : end_move(cursor, mdb_rc, direction, &key, &record, error);
}

/*
 * Fails if a forward move found a key before its start, or a backward one a key that is not before
 * it. In a damaged file a page may stand in the place of another one and hold sound entities of
 * another table.
 */
__attribute__((noinline)) static int verify_order(pt_lmdb_cursor *cursor, int rc, pt_slice from,
                                                  pt_direction direction, pt_error *error)
{
    if (rc != SQLITE_OK || !cursor->base.valid) {
        return rc;
    }
    int order = pt_slice_compare(cursor->base.key, from);
    return (direction == PT_FORWARD ? order >= 0 : order < 0)
               ? rc
               : end_without_position(cursor, MDB_CORRUPTED, error);
}

/* True if LMDB compared the key it found with the sought one, so that the order needs no check. It
 * does not compare when it goes on to the first key of the next page. */
static inline bool was_compared(const pt_lmdb_cursor *cursor)
{
    return cursor->base.valid && cursor->base.key_lasts && cursor->leaf_size != 0 &&
           !pt_lmdb_leaf_is_first(cursor->base.key.data, cursor->leaf_size);
}

/* Not inlined, so that seek_in_tree need not save registers for it. */
__attribute__((noinline)) static int seek_backward(pt_lmdb_cursor *cursor, pt_slice from,
                                                   pt_error *error)
{
    if (from.size == 0) { /* LMDB has no empty key */
        return end_without_position(cursor, MDB_NOTFOUND, error);
    }
    MDB_val key = pt_lmdb_val(from);
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, &key, &record, MDB_SET_RANGE);
    return verify_order(cursor, move_before(cursor, mdb_rc, error), from, PT_BACKWARD, error);
}

/* Within the limit, in the cursor's direction. Forward: moves to the first key >= `from`. Backward:
 * to the last key < `from`. */
static int seek_in_tree(pt_lmdb_cursor *cursor, pt_slice from, pt_error *error)
{
    if (from.size > PT_LMDB_SHORT_KEY_MAX) {
        return seek_long(cursor, from, cursor->direction, error);
    }
    if (cursor->direction == PT_BACKWARD) {
        return seek_backward(cursor, from, error);
    }
    MDB_val key = pt_lmdb_val(from);
    int rc = move_mdb_cursor(cursor, &key, from.size != 0 ? MDB_SET_RANGE : MDB_FIRST, PT_FORWARD,
                             error);
    return from.size == 0 || was_compared(cursor)
               ? rc
               : verify_order(cursor, rc, from, PT_FORWARD, error);
}

/* --- Stepping in the tree --- */

static int step_long(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    MDB_val key;
    MDB_val record;
    int mdb_rc = pt_lmdb_long_cursor_step(cursor->long_cursor, direction, &key, &record);
    return mdb_rc == MDB_NOTFOUND ? move_to_neighbour(cursor, direction, error)
                                  : end_move(cursor, mdb_rc, direction, &key, &record, error);
}

/* Moves LMDB's cursor to our position. LMDB's code. */
static int catch_up(pt_lmdb_cursor *cursor)
{
    MDB_val key = pt_lmdb_val(cursor->base.key);
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, &key, &record, MDB_SET);
    return mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc; /* it was read from the page */
}

static int step_with_lmdb(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    int mdb_rc = cursor->mdb_cursor_lags ? catch_up(cursor) : MDB_SUCCESS;
    pt_lmdb_cursor_forget_leaf(cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return end_without_position(cursor, mdb_rc, error);
    }
    pt_slice start = cursor->base.key;
    int rc = move_to_neighbour(cursor, direction, error);
    return verify_order(cursor, rc, start, direction, error);
}

/* Finds the leaf page of the position and prepares to walk it in the direction. */
static bool enter_leaf(pt_lmdb_cursor *cursor, pt_direction direction)
{
    const pt_slice none = {0};
    return cursor->leaf_size != 0 &&
           pt_lmdb_leaf_enter(&cursor->leaf, cursor->base.key.data, cursor->leaf_size, direction,
                              direction == cursor->direction ? cursor->limit : none);
}

static int fail_inherited_cursor(const pt_lmdb_cursor *cursor, pt_error *error)
{
    return pt_lmdb_fail_inherited(pt_lmdb_own_snapshot(cursor->base.snapshot)->store, error);
}

/* Moves to the neighbour after the leaf was asked for it, and did not have it. */
static int step_in_tree_from_leaf(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    if (pt_lmdb_is_of_parent(cursor->fork_count)) {
        return fail_inherited_cursor(cursor, error);
    }
    if (cursor->base.key.size > PT_LMDB_SHORT_KEY_MAX) {
        return step_long(cursor, direction, error);
    }
    /* A leaf that is known was just asked, and has no further entry. */
    bool known = cursor->leaf.page != NULL && cursor->leaf.direction == direction;
    if (!known && enter_leaf(cursor, direction) &&
        pt_lmdb_leaf_step(&cursor->leaf, &cursor->base.key, &cursor->base.record)) {
        cursor->mdb_cursor_lags = true;
        return SQLITE_OK;
    }
    /* The next entry was seen to be beyond the limit: no need to ask LMDB for it. */
    if (cursor->leaf.at_limit && cursor->leaf.left == 0) {
        lose_position(cursor);
        return SQLITE_OK;
    }
    return step_with_lmdb(cursor, direction, error);
}

/* Moves to the neighbour; a cursor without a position stays. */
static int step_in_tree(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    if (!cursor->base.valid) {
        return SQLITE_OK;
    }
    if (direction == cursor->leaf.direction &&
        pt_lmdb_leaf_step(&cursor->leaf, &cursor->base.key, &cursor->base.record)) {
        cursor->mdb_cursor_lags = true;
        return SQLITE_OK;
    }
    return step_in_tree_from_leaf(cursor, direction, error);
}

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
        } else if (!is_within_limit(cursor, pt_tail_key(cursor->node), cursor->direction)) {
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
        int rc = cursor->hides ? step_in_tree(cursor, cursor->direction, error) : SQLITE_OK;
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
        return fail_inherited_cursor(cursor, error);
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
        rc = step_in_tree(cursor, cursor->direction, error);
    }
    return rc == SQLITE_OK ? choose_place(cursor, error) : rc;
}

/* A step that the leaf cannot do. Not inlined, so that pt_lmdb_cursor_step need not save registers
 * for it. */
__attribute__((noinline)) static int step_beyond_leaf(pt_lmdb_cursor *cursor,
                                                      pt_direction direction, pt_error *error)
{
    return cursor->node == NULL ? step_in_tree_from_leaf(cursor, direction, error)
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

/* Looks for the first node of a seek. True if the tree need not be asked, for a key that the tail
 * has. */
__attribute__((noinline)) static bool seek_in_tail(pt_lmdb_cursor *cursor, pt_slice from)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    const pt_lmdb_tail *tail = snapshot->tail;
    cursor->node = NULL;
    cursor->on_tail = false;
    if (is_point(cursor, from)) {
        const pt_tail_node *node = pt_tail_find(tail, from, snapshot->tail_end);
        if (node == NULL) {
            return false;
        }
        lose_position(cursor);
        if (!node->deletes) {
            cursor->node = node;
            cursor->hides = false;
            show_node(cursor);
        }
        return true;
    }
    if (!is_beside_no_node(cursor, from)) {
        cursor->node = pt_tail_seek(tail, from, snapshot->tail_end, cursor->direction);
    }
    return false;
}

/* --- The methods --- */

int pt_lmdb_cursor_seek(pt_engine_cursor *base, pt_slice from, pt_slice limit,
                        pt_direction direction, pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor));
    if (pt_lmdb_is_of_parent(cursor->fork_count)) {
        return fail_inherited_cursor(cursor, error);
    }
    pt_lmdb_cursor_forget_leaf(cursor);
    cursor->direction = direction;
    cursor->limit = limit;
    if (pt_lmdb_own_snapshot(base->snapshot)->tail_end != 0 && seek_in_tail(cursor, from)) {
        return SQLITE_OK;
    }
    int rc = seek_in_tree(cursor, from, error);
    return cursor->node != NULL && rc == SQLITE_OK ? choose_place(cursor, error) : rc;
}

void pt_lmdb_cursor_narrow(pt_engine_cursor *base, pt_slice limit)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    PT_ASSERT(pt_lmdb_cursor_is_usable(cursor));
    cursor->limit = limit;
    /* The leaf has counted its entries within the old limit. LMDB's cursor may still lag. */
    cursor->leaf = (pt_lmdb_leaf){0};
    if (cursor->on_tail && cursor->aside.valid &&
        !is_within_limit(cursor, cursor->aside.key, cursor->direction)) {
        cursor->aside.valid = false;
    }
    if (base->valid && !is_within_limit(cursor, base->key, cursor->direction)) {
        lose_position(cursor);
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
