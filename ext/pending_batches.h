/*
 * The batches of a transaction: its pending operations, those of one partition together.
 */
#ifndef PT_PENDING_BATCHES_H
#define PT_PENDING_BATCHES_H

#include "memtable.h"

typedef struct pt_pending_batch {
    uint32_t table_id;
    pt_slice partition_key; /* lies in the memtable */
    int64_t operations;
    int64_t bytes; /* keys and records */
} pt_pending_batch;

/* A place in the memtable, valid until its next write or rollback. */
typedef struct pt_pending_batches {
    pt_memtable_node *node;
} pt_pending_batches;

/* SQLITE_OK or SQLITE_NOMEM. */
int pt_pending_batches_begin(pt_pending_batches *batches, pt_memtable *memtable);

/* The next batch, in key order; false if there is none. */
bool pt_pending_batches_next(pt_pending_batches *batches, pt_pending_batch *batch);

#endif
