/*
 * Collects dropped tables: DROP only puts a table's id into `garbage`; its entities and chunks are
 * deleted by later commits, a slice each.
 */
#ifndef PT_LMDB_COLLECT_H
#define PT_LMDB_COLLECT_H

#include "lmdb/env.h"

/*
 * Deletes a slice of the entities and chunks of the tables in `garbage`. A table that has none left
 * is removed from `garbage`, with its record of counts. *collected: `garbage` was not empty. Call
 * this before anything else is written in the transaction. LMDB's code; MDB_CORRUPTED for an entry
 * of `garbage` that names no table.
 */
int pt_lmdb_collect(MDB_txn *txn, const pt_lmdb_env *env, bool *collected);

#endif
