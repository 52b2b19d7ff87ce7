/*
 * pt_partitions(table) or pt_partitions(store, table): the partitions of a table, in key order.
 *
 *     Store, TableName, PartitionKey, Entities, Bytes, FirstRowKey, LastRowKey
 *
 * Bytes is the size of keys and records, and of the large values that records point to. All
 * entities of a partition are read, unless only the first three columns are asked for. PartitionKey
 * =, IN and ranges limit which partitions.
 *
 * DELETE deletes all entities of a partition. It needs WHERE TableName = 'table', or Store too.
 */
#ifndef PT_CATALOG_PARTITIONS_H
#define PT_CATALOG_PARTITIONS_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_partitions;

#endif
