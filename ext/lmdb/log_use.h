/*
 * Beginning a log, writing what it holds to LMDB's tree, and ending it. All with the store's writer
 * lock held.
 *
 * A process begins a log when it has made some small commits within a second, so that programs of a
 * few statements never have one. When the log is long (1,000 commits or 1 MB), its holder writes
 * the tail to the tree before it unlocks the store.
 */
#ifndef PT_LMDB_LOG_USE_H
#define PT_LMDB_LOG_USE_H

#include "lmdb/log.h"

/*
 * Before a small commit to the file: begins a log if it is time, and the commit will name it. If it
 * cannot be made, the store goes on without.
 */
void pt_log_consider(pt_lmdb_store *store);

/* After the commit failed that was to name a new log, or no log any more. */
void pt_log_withdraw(pt_lmdb_store *store);

/* After a commit to the file: removes the log of this id, which it no longer names. */
void pt_log_clear_up(pt_lmdb_store *store, uint64_t id);

/* Writes a tail that has become long to the tree. A failure is only noted. */
void pt_log_limit(pt_lmdb_store *store);

/* Writes the tail to the tree and removes the log. Codes as write_commit. */
int pt_log_stop(pt_lmdb_store *store, pt_error *error);

#endif
