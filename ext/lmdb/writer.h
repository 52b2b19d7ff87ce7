/*
 * Writing a store: its write transactions. The functions are pt_engine's methods.
 */
#ifndef PT_LMDB_WRITER_H
#define PT_LMDB_WRITER_H

#include "lmdb/snapshot.h"
#include "store/engine.h"

int pt_lmdb_write_begin(pt_store *store, pt_writer **writer, pt_error *error);
int pt_lmdb_write_collect(pt_writer *writer, bool *collected, pt_error *error);
int pt_lmdb_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error);
int pt_lmdb_write_delete(pt_writer *writer, pt_slice key, pt_error *error);
int pt_lmdb_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error);
int pt_lmdb_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error);
void pt_lmdb_write_abort(pt_writer *writer);

/*
 * The end of a write transaction: LMDB's commit, and what its failure means.
 */

/*
 * Commits the transaction, which has written `state` with a nonce of its own; it is over in any
 * case. SQLITE_OK: the commit took place, and the process knows it. SQLITE_FULL, SQLITE_IOERR and
 * so on with a text: it did not, or the text says that it did and may be lost.
 */
int pt_lmdb_commit(pt_lmdb_store *store, MDB_txn *txn, pt_sync sync, const pt_format_state *state,
                   pt_error *error);

#endif
