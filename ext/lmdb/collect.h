/*
 * Collecting dropped tables: their entities and chunks are deleted in slices, by the commits that
 * come after the drop.
 */
#ifndef PT_LMDB_COLLECT_H
#define PT_LMDB_COLLECT_H

#include "lmdb/env.h"

/*
 * Deletes a slice of what the tables in `garbage` still have; a table that has nothing left leaves
 * `garbage`, with its record of counts. *collected: whether there was any. Before anything else is
 * written in the transaction. LMDB's code; MDB_CORRUPTED for an entry of `garbage` that names no
 * table.
 */
int pt_lmdb_collect(MDB_txn *txn, const pt_lmdb_env *env, bool *collected);

#endif
