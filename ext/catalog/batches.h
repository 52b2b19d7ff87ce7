/*
 * pt_batches: what the connection's transaction has written and not yet committed, by partition.
 *
 *     Store, TableName, PartitionKey, Operations, Bytes
 *
 * Bytes are those of keys and records (transaction/pending_batches.h). What was written to a table
 * that the transaction has dropped is not shown.
 */
#ifndef PT_CATALOG_BATCHES_H
#define PT_CATALOG_BATCHES_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_batches;

#endif
