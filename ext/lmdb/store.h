/*
 * Reading a store: snapshots and single records. The functions are pt_engine's methods.
 */
#ifndef PT_LMDB_STORE_H
#define PT_LMDB_STORE_H

#include "lmdb/begin.h"

int pt_lmdb_snapshot_new(pt_store *store, pt_snapshot **snapshot, pt_error *error);
int pt_lmdb_snapshot_begin(pt_snapshot *snapshot, pt_error *error);
bool pt_lmdb_snapshot_is_newest(const pt_snapshot *snapshot);
void pt_lmdb_snapshot_end(pt_snapshot *snapshot);
void pt_lmdb_snapshot_free(pt_snapshot *snapshot);

int pt_lmdb_get(pt_snapshot *snapshot, pt_slice key, bool *found, pt_slice *record,
                pt_error *error);
int pt_lmdb_counts(pt_snapshot *snapshot, uint32_t table_id, pt_table_counts *counts,
                   pt_error *error);

/* --- For other parts of the engine --- */

struct pt_lmdb_cursor;

typedef struct pt_lmdb_snapshot {
    pt_snapshot base; /* first */
    pt_lmdb_store *store;
    pt_lmdb_reader reader;
    struct pt_lmdb_cursor *spares; /* closed cursors, for the next that are opened */
    bool begun;
    pt_slice left_key; /* where the cursor that was closed last stood, or empty */
    pt_slice left_record;
} pt_lmdb_snapshot;

static inline pt_lmdb_snapshot *pt_lmdb_own_snapshot(pt_snapshot *snapshot)
{
    return (pt_lmdb_snapshot *)snapshot;
}

/* Reads the record "current" within a transaction. */
int pt_lmdb_read_state(pt_lmdb_store *store, MDB_txn *txn, pt_format_state *state, pt_error *error);

/* Notes the clock of a state that was seen. */
void pt_lmdb_note_clock(pt_lmdb_store *store, int64_t clock);

#endif
