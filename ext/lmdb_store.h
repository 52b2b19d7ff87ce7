/*
 * Reading a store: snapshots and cursors. The functions are pt_engine's methods.
 */
#ifndef PT_LMDB_STORE_H
#define PT_LMDB_STORE_H

#include "lmdb_begin.h"

int pt_lmdb_snapshot_new(pt_store *store, pt_snapshot **snapshot, pt_error *error);
int pt_lmdb_snapshot_begin(pt_snapshot *snapshot, pt_error *error);
void pt_lmdb_snapshot_end(pt_snapshot *snapshot);
void pt_lmdb_snapshot_free(pt_snapshot *snapshot);

int pt_lmdb_get(pt_snapshot *snapshot, pt_slice key, bool *found, pt_slice *record,
                pt_error *error);
int pt_lmdb_counts(pt_snapshot *snapshot, uint32_t table_id, pt_table_counts *counts,
                   pt_error *error);

int pt_lmdb_cursor_open(pt_snapshot *snapshot, pt_engine_cursor **cursor, pt_error *error);
void pt_lmdb_cursor_close(pt_engine_cursor *cursor);
int pt_lmdb_cursor_seek(pt_engine_cursor *cursor, pt_slice key, pt_direction direction,
                        pt_error *error);
int pt_lmdb_cursor_step(pt_engine_cursor *cursor, pt_direction direction, pt_error *error);

/* --- For the writer --- */

/* Reads the record "state" within a transaction. */
int pt_lmdb_read_state(pt_lmdb_store *store, MDB_txn *txn, pt_format_state *state, pt_error *error);

/* Notes the clock of a state that was seen. */
void pt_lmdb_note_clock(pt_lmdb_store *store, int64_t clock);

#endif
