/*
 * Writing: a commit goes to the log (lmdb/log.h) if one is in use and the commit is fit for it, and
 * otherwise to LMDB's tree, after what the log holds (lmdb/writer.h). The functions are pt_engine's
 * methods.
 *
 * Fit are small commits of entities and chunks: up to 64 KB, without a change of the catalogue and
 * without new names or shapes in the dictionary. And a commit must not be less durable because of
 * what it follows: what LMDB's tree holds must be as durable as the commit shall be.
 *
 * A commit in the log is seen by nobody until write_publish. Until then write_restore need not put
 * anything back: it makes the record void, or the next record replaces it. Both are flushed
 * whatever the sync, as the disk may have the record.
 */
#ifndef PT_LMDB_LOGGED_WRITER_H
#define PT_LMDB_LOGGED_WRITER_H

#include "lmdb/registry.h"

int pt_logged_write_begin(pt_store *store, pt_writer **writer, pt_error *error);
int pt_logged_write_collect(pt_writer *writer, bool *collected, pt_error *error);
int pt_logged_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error);
int pt_logged_write_delete(pt_writer *writer, pt_slice key, pt_error *error);
int pt_logged_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key,
                            pt_error *error);
int pt_logged_write_commit(pt_writer *writer, const pt_commit *commit, pt_error *error);
void pt_logged_write_abort(pt_writer *writer);
void pt_logged_write_publish(pt_store *store);

/* Before the writer lock is released, by the process that took it: publishes the last commit, if it
 * was neither published nor undone. For a store that has a log. */
void pt_logged_write_end(pt_lmdb_store *store);

#endif
