/*
 * Carrying a transaction's operations to the store: applying them, and putting them back.
 */
#ifndef PT_TRANSACTION_BATCH_H
#define PT_TRANSACTION_BATCH_H

#include "store/engine.h"
#include "transaction/pending.h"

/* Operations in key order. The entries belong to a memtable; the array is from sqlite3_malloc. */
typedef struct pt_batch {
    pt_pending **entries;
    size_t count;
} pt_batch;

void pt_batch_free(pt_batch *batch);

/* Whether the batch touches the table catalogue (table id 0). */
bool pt_batch_changes_catalog(const pt_batch *batch);

/*
 * In one store transaction: puts the keys of `undo` back to what they are in `before`, then applies
 * `redo`. Either may be empty. All or nothing; the writer lock is held. Before a large batch, and
 * after SQLITE_FULL, commits of their own may collect dropped tables.
 */
int pt_batch_commit(pt_store *store, const pt_batch *undo, pt_snapshot *before,
                    const pt_batch *redo, const pt_commit *commit, pt_error *error);

#endif
