/*
 * pt_engine's compact: replaces the store's file with a copy of itself that is as small as
 * possible.
 *
 * No other process may have the store open: its readers and writers would continue with the old
 * file, which no longer has a name. Within this process readers continue while the copy is made;
 * writers wait.
 */
#ifndef PT_LMDB_COMPACT_H
#define PT_LMDB_COMPACT_H

#include "store/engine.h"

/* *bytes is 0 for a private store, which has no file. */
int pt_lmdb_compact(pt_store *store, int wait_ms, const pt_watch *watch, int64_t *bytes,
                    pt_error *error);

#endif
