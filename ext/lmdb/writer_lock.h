/*
 * The writer lock of a store, and the Timestamps given out while it is held. One session of all
 * processes holds it at a time. The functions are pt_engine's methods.
 */
#ifndef PT_LMDB_WRITER_LOCK_H
#define PT_LMDB_WRITER_LOCK_H

#include "lmdb/registry.h"

int pt_lmdb_lock(pt_store *store, int wait_ms, pt_error *error);
void pt_lmdb_unlock(pt_store *store);
int64_t pt_lmdb_next_timestamp(pt_store *store);

/* At the last close: also if the file has lost its name. Does not wait. */
int pt_lmdb_lock_to_close(pt_lmdb_store *store, pt_error *error);

#endif
