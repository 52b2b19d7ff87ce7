/*
 * Writes the part of the tail that a snapshot shows to a copy of LMDB's tree (lmdb/copy.h).
 */
#ifndef PT_LMDB_COPY_TAIL_H
#define PT_LMDB_COPY_TAIL_H

#include "lmdb/snapshot.h"

/* In a transaction of the copy, which has everything else already. Returns LMDB's code. */
int pt_lmdb_copy_tail(const pt_lmdb_snapshot *snapshot, const pt_lmdb_env *target, MDB_txn *txn);

#endif
