/*
 * Cursors over the entities of a snapshot, long keys among them. The functions are pt_engine's
 * methods.
 */
#ifndef PT_LMDB_STORE_CURSOR_H
#define PT_LMDB_STORE_CURSOR_H

#include "lmdb/snapshot.h"

int pt_lmdb_cursor_open(pt_snapshot *snapshot, pt_engine_cursor **cursor, pt_error *error);
void pt_lmdb_cursor_close(pt_engine_cursor *cursor);
int pt_lmdb_cursor_seek(pt_engine_cursor *cursor, pt_slice from, pt_slice limit,
                        pt_direction direction, pt_error *error);
void pt_lmdb_cursor_narrow(pt_engine_cursor *cursor, pt_slice limit);
int pt_lmdb_cursor_step(pt_engine_cursor *cursor, pt_direction direction, pt_error *error);

/* Frees what closed cursors have left with the snapshot. */
void pt_lmdb_free_spare_cursors(pt_lmdb_snapshot *snapshot);

#endif
