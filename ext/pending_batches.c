#include "pending_batches.h"

#include "key.h"
#include "sqlite.h"

/* Table ids begin at 1: before them lies the catalogue. */
static bool begin(pt_buffer *position)
{
    if (position->size != 0) {
        return true;
    }
    pt_key_begin(position, PT_TABLE_CATALOG + 1);
    return !position->failed;
}

/* Counts the operations on a partition, from its first one on. */
static void count(pt_memtable_node *node, pt_slice partition, pt_pending_batch *batch)
{
    for (; node != NULL; node = pt_memtable_step(node, PT_FORWARD)) {
        const pt_pending *pending = pt_memtable_at(node);
        if (!pt_key_is_in_partition(pt_pending_key(pending), partition)) {
            return;
        }
        batch->operations++;
        batch->bytes += (uint64_t)pending->key_size + pending->record_size;
    }
}

/* The keys that follow a partition's are those from table id, PartitionKey, 01 on. */
static bool go_behind(pt_buffer *position, pt_slice partition)
{
    pt_buffer_assign(position, partition);
    pt_buffer_append_byte(position, 1);
    return !position->failed;
}

int pt_pending_batches_next(pt_memtable *memtable, pt_buffer *position, pt_pending_batch *batch)
{
    pt_memtable_node *node;
    if (!begin(position) ||
        pt_memtable_seek(memtable, pt_buffer_slice(position), PT_FORWARD, &node) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    if (node == NULL) {
        return SQLITE_DONE;
    }
    pt_slice partition = pt_key_partition(pt_pending_key(pt_memtable_at(node)));
    uint32_t table_id = pt_get_be32(partition.data);
    if (table_id >= PT_TABLE_ID_LIMIT) {
        return SQLITE_DONE;
    }
    if (!go_behind(position, partition)) {
        return SQLITE_NOMEM;
    }
    *batch = (pt_pending_batch){.table_id = table_id};
    count(node, partition, batch);
    batch->partition_key =
        pt_slice_of(position->data + PT_KEY_TABLE_SIZE, position->size - PT_KEY_TABLE_SIZE - 1);
    return SQLITE_ROW;
}
