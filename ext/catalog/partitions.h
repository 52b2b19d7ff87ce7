/*
 * pt_partitions(table) or pt_partitions(store, table): the partitions of a table, in key order.
 *
 *     Store, TableName, PartitionKey, Entities, Bytes, FirstRowKey, LastRowKey
 *
 * Bytes are those of keys and records, and of the large values that they point to. Every entity of
 * the partitions asked for is looked at: PartitionKey =, IN and ranges make that fewer.
 */
#ifndef PT_CATALOG_PARTITIONS_H
#define PT_CATALOG_PARTITIONS_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_partitions;

#endif
