/*
 * Reads one version of a store: snapshots, single records, and the cursors of a snapshot. Cursors
 * are moved by lmdb/store_cursor.h. The functions are pt_engine's methods.
 *
 * A snapshot shows the version that was the newest at snapshot_begin, until snapshot_end. Its
 * cursors must be closed before that.
 */
#ifndef PT_LMDB_SNAPSHOT_H
#define PT_LMDB_SNAPSHOT_H

#include "lmdb/leaf.h"
#include "lmdb/log/tail.h"
#include "lmdb/long_keys.h"
#include "lmdb/txn.h"

int pt_lmdb_snapshot_new(pt_store *store, pt_snapshot **snapshot, pt_error *error);
int pt_lmdb_snapshot_begin(pt_snapshot *snapshot, pt_error *error);
bool pt_lmdb_snapshot_is_newest(const pt_snapshot *snapshot);
void pt_lmdb_snapshot_end(pt_snapshot *snapshot);
void pt_lmdb_snapshot_free(pt_snapshot *snapshot);

int pt_lmdb_get(pt_snapshot *snapshot, pt_slice key, bool *found, pt_slice *record,
                pt_error *error);
int pt_lmdb_counts(pt_snapshot *snapshot, uint32_t table_id, pt_table_counts *counts,
                   pt_error *error);
int pt_lmdb_has_chunks(pt_snapshot *snapshot, uint32_t table_id, bool *any, pt_error *error);

int pt_lmdb_cursor_open(pt_snapshot *snapshot, pt_engine_cursor **cursor, pt_error *error);
void pt_lmdb_cursor_close(pt_engine_cursor *cursor);

/* --- For other parts of the engine --- */

typedef struct pt_lmdb_cursor {
    pt_engine_cursor base;  /* first */
    pt_lmdb_leaf leaf;      /* the leaf page at the position; all zeros if it is not known */
    unsigned fork_count;    /* the store's: lmdb/registry.h */
    unsigned begins;        /* the snapshot's when the cursor was opened */
    pt_direction direction; /* of the last seek */
    pt_slice limit;         /* in that direction; empty: none */
    size_t leaf_size;       /* of known pages; 0: leaves are not read */
    MDB_cursor *cursor;
    pt_lmdb_long_cursor *long_cursor; /* NULL until the first long key */
    struct pt_lmdb_cursor *next_spare;
    bool mdb_cursor_lags;        /* LMDB's cursor is elsewhere on the leaf */
    bool long_cursor_is_renewed; /* for the snapshot's transaction */

    /* Beside the tail: lmdb/store_cursor.c. */
    bool on_tail;             /* shows its node, and the tree's position is put aside */
    bool hides;               /* the node has the key of the tree's position */
    const pt_tail_node *node; /* the next one, or the one shown; NULL: none ahead */
    pt_engine_cursor aside;
} pt_lmdb_cursor;

typedef struct pt_lmdb_snapshot {
    pt_snapshot base; /* first */
    pt_lmdb_store *store;
    pt_lmdb_reader reader;
    pt_lmdb_cursor *spares; /* closed cursors, to be opened again */
    bool begun;
    unsigned begins;        /* how often it has begun */
    unsigned open_cursors;  /* for assertions */
    unsigned lookup_begins; /* `begins` when `lookup` was last made usable */
    MDB_cursor *lookup;     /* of pt_lmdb_get; NULL until it is needed */
    pt_slice left_key;      /* position of the last cursor that was closed, or empty */
    pt_slice left_record;

    /* What it shows: a version of LMDB's tree, and so much of the tail that follows it. */
    uint64_t tree_version; /* LMDB's number */
    pt_format_state state;
    pt_lmdb_tail *tail; /* kept from one begin to the next; NULL: none */
    uint32_t tail_end;
} pt_lmdb_snapshot;

static inline pt_lmdb_snapshot *pt_lmdb_own_snapshot(pt_snapshot *snapshot)
{
    return (pt_lmdb_snapshot *)snapshot;
}

/* True while the cursor may be used: its snapshot has neither ended nor begun again since. */
static inline bool pt_lmdb_cursor_is_usable(const pt_lmdb_cursor *cursor)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    return snapshot->begun && snapshot->begins == cursor->begins;
}

/* Forgets the leaf page: LMDB's cursor has moved, or will. */
static inline void pt_lmdb_cursor_forget_leaf(pt_lmdb_cursor *cursor)
{
    cursor->leaf = (pt_lmdb_leaf){0};
    cursor->mdb_cursor_lags = false;
}

#endif
