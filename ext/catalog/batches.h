/*
 * pt_batches: the uncommitted writes of the connection's transaction, by partition.
 *
 *     Store, TableName, PartitionKey, Operations, Bytes
 *
 * Bytes is the size of keys and records (transaction/pending_batches.h). Writes to a table that the
 * transaction has dropped are not shown.
 */
#ifndef PT_CATALOG_BATCHES_H
#define PT_CATALOG_BATCHES_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_batches;

#endif
