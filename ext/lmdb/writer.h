/*
 * Writes a store: one LMDB write transaction from write_begin to write_commit or write_abort, and
 * what LMDB's commit does. The functions are pt_engine's methods.
 *
 * Every transaction begins with the commits that are in the log only (lmdb/log.h).
 *
 * The writer lock must be held (lmdb/writer_lock.h), and one thread makes all the calls.
 */
#ifndef PT_LMDB_WRITER_H
#define PT_LMDB_WRITER_H

#include "lmdb/registry.h"

/* What this writer begins with, and so does one that writes to the log (lmdb/logged_writer.h). */
typedef struct pt_writer_head {
    pt_lmdb_store *store;
    bool is_logged;
} pt_writer_head;

int pt_lmdb_write_begin(pt_store *store, pt_writer **writer, pt_error *error);
int pt_lmdb_write_collect(pt_writer *writer, bool *collected, pt_error *error);
int pt_lmdb_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error);
int pt_lmdb_write_delete(pt_writer *writer, pt_slice key, pt_error *error);
int pt_lmdb_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error);
int pt_lmdb_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error);
void pt_lmdb_write_abort(pt_writer *writer);

/* True if the writes so far are those of a small commit. */
bool pt_lmdb_write_is_small(const pt_writer *writer);

/* The transaction may take the last pages there are (lmdb/map.h), unless it puts something. */
void pt_lmdb_write_insist(pt_writer *writer);

#endif
