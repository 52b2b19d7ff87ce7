/*
 * The pending operations of a transaction by batch: those on one partition of one table.
 */
#ifndef PT_PENDING_BATCHES_H
#define PT_PENDING_BATCHES_H

#include "buffer.h"
#include "memtable.h"

typedef struct pt_pending_batch {
    uint32_t table_id;
    pt_slice partition_key; /* valid until the next call with the same buffer */
    size_t operations;      /* on different entities */
    uint64_t bytes;         /* of their keys (key.h) and records */
} pt_pending_batch;

/*
 * The next batch in the order of table ids and PartitionKeys. `position` is empty at first and then
 * says where to go on, so that writes and rollbacks in between do no harm. Large values do not
 * count: their chunks do not tell whose they are; nor does what is written to the table catalogue.
 * SQLITE_ROW, SQLITE_DONE, or SQLITE_NOMEM.
 */
int pt_pending_batches_next(pt_memtable *memtable, pt_buffer *position, pt_pending_batch *batch);

#endif
