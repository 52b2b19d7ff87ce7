/*
 * The end of a write transaction: LMDB's commit, and what its failure means.
 */
#ifndef PT_LMDB_COMMIT_H
#define PT_LMDB_COMMIT_H

#include "lmdb/begin.h"
#include "store/engine.h"

/*
 * Commits the transaction, which has written `state` with a nonce of its own; it is over in any
 * case. SQLITE_OK: the commit took place, and the process knows it. SQLITE_FULL, SQLITE_IOERR and
 * so on with a text: it did not, or the text says that it did and may be lost.
 */
int pt_lmdb_commit(pt_lmdb_store *store, MDB_txn *txn, pt_sync sync, const pt_format_state *state,
                   pt_error *error);

#endif
