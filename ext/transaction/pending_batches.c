#include "transaction/pending_batches.h"

#include "base/sqlite.h"
#include "entity/key.h"
#include "transaction/large_value.h"

/* Table ids begin at 1, after the catalogue. */
static bool begin_position(pt_buffer *position)
{
    if (position->size != 0) {
        return true;
    }
    pt_key_begin(position, PT_TABLE_CATALOG + 1);
    return !position->failed;
}

/* Adds the sizes of the record's large values that this transaction has written. Adds nothing for a
 * damaged record. */
static int add_pending_large_values(pt_memtable *memtable, const pt_shape_source *shapes,
                                    const pt_pending *pending, pt_pending_batch *batch)
{
    pt_buffer shape = {0};
    pt_record record;
    int rc = pt_record_open(&record, pt_pending_key(pending), pt_pending_record(pending), shapes,
                            &shape);
    unsigned count = rc == SQLITE_OK ? record.shape->count : 0;
    for (unsigned i = 0; rc == SQLITE_OK && i < count; i++) {
        pt_value value;
        bool stored;
        if (pt_type_is_large((pt_type)record.shape->properties[i].type) &&
            pt_record_value(&record, i, &value) == SQLITE_OK) {
            rc = pt_large_is_pending(memtable, batch->table_id, &value.large, &stored);
            batch->bytes += stored ? value.large.size : 0;
        }
    }
    pt_buffer_free(&shape);
    return rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

/* Counts the operations on a partition, starting at `node`. SQLITE_OK or SQLITE_NOMEM. */
static int count_operations(pt_memtable *memtable, const pt_shape_source *shapes,
                            pt_memtable_node *node, pt_slice partition, pt_pending_batch *batch)
{
    bool may_be_large = pt_memtable_may_hold(memtable, PT_TABLE_CHUNKS);
    int rc = SQLITE_OK;
    for (; rc == SQLITE_OK && node != NULL; node = pt_memtable_step(node, PT_FORWARD)) {
        const pt_pending *pending = pt_memtable_at(node);
        if (!pt_key_is_in_partition(pt_pending_key(pending), partition)) {
            break;
        }
        batch->operations++;
        batch->bytes += (uint64_t)pending->key_size + pending->record_size;
        if (may_be_large && pending->operation != PT_DELETE) {
            rc = add_pending_large_values(memtable, shapes, pending, batch);
        }
    }
    return rc;
}

/* Sets the position after all keys of the partition. */
static bool go_after_partition(pt_buffer *position, pt_slice partition)
{
    pt_buffer_assign(position, partition);
    pt_buffer_append_byte(position, PT_KEY_PARTITION_END);
    return !position->failed;
}

/* The first operation on an entity from the position on; NULL if there is none. SQLITE_OK or
 * SQLITE_NOMEM. */
static int find_operation(pt_memtable *memtable, pt_buffer *position, pt_memtable_node **node)
{
    uint32_t table_id = pt_key_table(pt_buffer_slice(position));
    *node = NULL;
    for (;;) {
        table_id = pt_memtable_next_table(memtable, table_id);
        if (table_id >= PT_TABLE_ID_LIMIT) {
            return SQLITE_OK;
        }
        int rc = pt_memtable_seek(memtable, table_id, pt_buffer_slice(position), PT_FORWARD, node);
        if (rc != SQLITE_OK || (*node != NULL && !pt_memtable_at(*node)->of_index)) {
            return rc;
        }
        *node = NULL;
        table_id++;
    }
}

int pt_pending_batches_next(pt_memtable *memtable, const pt_shape_source *shapes,
                            pt_buffer *position, pt_pending_batch *batch)
{
    pt_memtable_node *node;
    if (!begin_position(position) || find_operation(memtable, position, &node) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    if (node == NULL) {
        return SQLITE_DONE;
    }
    pt_slice partition = pt_key_partition(pt_pending_key(pt_memtable_at(node)));
    uint32_t table_id = pt_key_table(partition);
    *batch = (pt_pending_batch){.table_id = table_id};
    if (count_operations(memtable, shapes, node, partition, batch) != SQLITE_OK ||
        !go_after_partition(position, partition)) {
        return SQLITE_NOMEM;
    }
    batch->partition_key = pt_key_entity(pt_buffer_slice(position));
    batch->partition_key.size--; /* without PT_KEY_PARTITION_END */
    return SQLITE_ROW;
}
