/*
 * Compacting: the store's file is replaced by a copy of itself that is as small as can be.
 *
 * That needs this process to be the only one that has the store open. Readers and writers of other
 * processes would go on with the old file, which has no name any more. Within the process readers
 * go on while the copy is made, and writers wait.
 */
#ifndef PT_LMDB_COMPACT_H
#define PT_LMDB_COMPACT_H

#include "store/engine.h"

/* pt_engine's compact. A private store has no file to become smaller: 0 bytes. */
int pt_lmdb_compact(pt_store *store, int wait_ms, const pt_watch *watch, int64_t *bytes,
                    pt_error *error);

#endif
