/*
 * A session's turn to write: the writer lock, and the timestamps given out under it. The functions
 * are pt_engine's methods.
 */
#ifndef PT_LMDB_WRITER_LOCK_H
#define PT_LMDB_WRITER_LOCK_H

#include "store/engine.h"

int pt_lmdb_lock(pt_store *store, int wait_ms, pt_error *error);
void pt_lmdb_unlock(pt_store *store);
int64_t pt_lmdb_tick(pt_store *store);

#endif
