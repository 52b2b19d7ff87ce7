/*
 * pt_stores: the stores that this connection has open.
 *
 *     Store, Tables, Entities, FileBytes, UsedBytes, Readers, OldestReader, LastTransaction,
 *     LastWrite
 *
 * Tables and Entities are those the transaction sees. UsedBytes is FileBytes without free pages.
 * Readers are the snapshots in use by all connections and processes, OldestReader how many commits
 * the oldest of them is behind: pages that it still sees cannot be used again. LastTransaction is
 * the number of the newest commit, LastWrite the last Timestamp that was given out.
 */
#ifndef PT_CATALOG_STORES_H
#define PT_CATALOG_STORES_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_stores;

#endif
