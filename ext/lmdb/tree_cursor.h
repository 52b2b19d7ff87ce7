/*
 * Moves a cursor of a snapshot in LMDB's tree, long keys among others, whatever the tail has
 * (lmdb/store_cursor.h).
 *
 * A cursor steps within a leaf page by itself (lmdb/leaf.h). LMDB's own cursor is left where it was
 * and catches up at the end of the page. On a link it stands still while a second cursor walks the
 * long keys that the link leads to (lmdb/long_keys.h).
 */
#ifndef PT_LMDB_TREE_CURSOR_H
#define PT_LMDB_TREE_CURSOR_H

#include "lmdb/snapshot.h"

/* Forward: moves to the first key >= `from`. Backward: to the last key < `from`. In the cursor's
 * direction the limit holds. */
int pt_lmdb_tree_seek(pt_lmdb_cursor *cursor, pt_slice from, pt_direction direction,
                      pt_error *error);

/* Moves to the neighbour; a cursor without a position stays. */
int pt_lmdb_tree_step(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error);

/* The same after the leaf was asked for it, and did not have it. */
int pt_lmdb_tree_step_from_leaf(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error);

/* For a snapshot of a parent process. */
int pt_lmdb_tree_fail_inherited(const pt_lmdb_cursor *cursor, pt_error *error);

/* True if a move in the direction may end at the key. */
bool pt_lmdb_tree_is_within_limit(const pt_lmdb_cursor *cursor, pt_slice key,
                                  pt_direction direction);

void pt_lmdb_tree_lose_position(pt_lmdb_cursor *cursor);

#endif
