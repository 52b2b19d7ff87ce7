/*
 * Beginning LMDB transactions, with the remedies for what may stand in the way: a full table of
 * readers, a map that another process has outgrown, an environment that a failed write has left
 * unusable.
 *
 * The last two change the environment, during which no transaction of this process may be open.
 * Every transaction is therefore counted, and nobody waits for those that are: the change is made
 * when there are none, or refused.
 */
#ifndef PT_LMDB_SNAPSHOT_H
#define PT_LMDB_SNAPSHOT_H

#include "lmdb/registry.h"

/* A read transaction that is kept between its uses. In a list, for the day when the environment
 * must be closed. */
typedef struct pt_lmdb_reader {
    MDB_txn *txn;  /* NULL, reset, or begun */
    uint64_t seen; /* version of the state that was read last; 0: none */
    struct pt_lmdb_reader *next;
    struct pt_lmdb_reader **link;
} pt_lmdb_reader;

void pt_lmdb_reader_enter(pt_lmdb_store *store, pt_lmdb_reader *reader);

/* Takes the reader out and aborts its transaction, which must not be begun. */
void pt_lmdb_reader_leave(pt_lmdb_store *store, pt_lmdb_reader *reader);

/*
 * Begins a read transaction (reader given) or a write transaction. It is counted until
 * pt_lmdb_end. SQLITE_BUSY, SQLITE_IOERR and others, with text.
 */
int pt_lmdb_begin_read(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_error *error);
int pt_lmdb_begin_write(pt_lmdb_store *store, MDB_txn **txn, pt_error *error);

/*
 * Lets `work` change the environment, while no transaction of this process is open and none can
 * begin; it must not take long. SQLITE_BUSY if there are transactions, with a text that goes on
 * with `busy_text` after the store's name; else what `work` answers. After a failure that has left
 * the environment closed, the next transaction opens it.
 */
typedef int (*pt_lmdb_work)(pt_lmdb_store *store, void *context, pt_error *error);
int pt_lmdb_change(pt_lmdb_store *store, pt_lmdb_work work, void *context, const char *busy_text,
                   pt_error *error);

/* After a transaction was reset, aborted or committed. */
static inline void pt_lmdb_end(pt_lmdb_store *store)
{
    atomic_fetch_sub(&store->active, 1);
}

/*
 * Reading a store: snapshots and single records. The functions are pt_engine's methods.
 */

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
