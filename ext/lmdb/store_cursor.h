/*
 * Moves cursors over the entities of a snapshot: those in LMDB's tree, and those in the tail
 * (lmdb/log/tail.h), which hide the tree's of the same key. lmdb/snapshot.h opens and closes
 * cursors. The functions are pt_engine's methods.
 *
 * In the tree a cursor steps within a leaf page by itself (lmdb/leaf.h). LMDB's own cursor is left
 * where it was and catches up at the end of the page. On a link it stands still while a second
 * cursor walks the long keys that the link leads to (lmdb/long_keys.h).
 *
 * Between two keys of the tail a cursor goes on in the tree alone: the leaf ends at a fence, which
 * is the next key of the tail.
 */
#ifndef PT_LMDB_STORE_CURSOR_H
#define PT_LMDB_STORE_CURSOR_H

#include "store/engine.h"

int pt_lmdb_cursor_seek(pt_engine_cursor *cursor, pt_slice from, pt_slice limit,
                        pt_direction direction, pt_error *error);
void pt_lmdb_cursor_narrow(pt_engine_cursor *cursor, pt_slice limit);
int pt_lmdb_cursor_step(pt_engine_cursor *cursor, pt_direction direction, pt_error *error);
unsigned pt_lmdb_cursor_ahead(const pt_engine_cursor *cursor, pt_direction direction);
int pt_lmdb_cursor_skip(pt_engine_cursor *cursor, pt_direction direction, unsigned count,
                        pt_error *error);

#endif
