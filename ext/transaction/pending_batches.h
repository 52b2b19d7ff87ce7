/*
 * Groups the pending operations of a transaction into batches. A batch is all operations on one
 * partition of one table.
 */
#ifndef PT_TRANSACTION_PENDING_BATCHES_H
#define PT_TRANSACTION_PENDING_BATCHES_H

#include "base/buffer.h"
#include "entity/record.h"
#include "transaction/memtable.h"

typedef struct pt_pending_batch {
    uint32_t table_id;
    pt_slice partition_key; /* valid until the next call with the same buffer */
    size_t operations;      /* on different entities */
    uint64_t bytes;         /* of their keys (entity/key.h), records and pending large values */
} pt_pending_batch;

/*
 * The next batch in the order of table ids and PartitionKeys. `position` is empty for the first
 * call. It holds the key to go on from, so the transaction may write and roll back between calls.
 * Leaves out the table catalogue. SQLITE_ROW, SQLITE_DONE, or SQLITE_NOMEM.
 */
int pt_pending_batches_next(pt_memtable *memtable, const pt_shape_source *shapes,
                            pt_buffer *position, pt_pending_batch *batch);

#endif
