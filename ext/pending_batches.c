#include "pending_batches.h"

#include "key.h"
#include "sqlite.h"

int pt_pending_batches_begin(pt_pending_batches *batches, pt_memtable *memtable)
{
    uint8_t first[PT_KEY_TABLE_SIZE];
    pt_put_be32(first, PT_TABLE_CATALOG + 1);
    return pt_memtable_seek(memtable, pt_slice_of(first, sizeof first), PT_FORWARD, &batches->node);
}

/* False for what is not an entity. */
static bool partition_of(pt_slice key, uint32_t *table_id, pt_slice *partition_key)
{
    pt_slice row_key;
    *table_id = pt_get_be32(key.data);
    return *table_id < PT_TABLE_ID_LIMIT &&
           pt_key_split(pt_key_entity(key), partition_key, &row_key);
}

bool pt_pending_batches_next(pt_pending_batches *batches, pt_pending_batch *batch)
{
    *batch = (pt_pending_batch){0};
    for (; batches->node != NULL; batches->node = pt_memtable_step(batches->node, PT_FORWARD)) {
        const pt_pending *pending = pt_memtable_at(batches->node);
        pt_slice key = pt_pending_key(pending);
        uint32_t table_id;
        pt_slice partition_key = {0};
        if (!partition_of(key, &table_id, &partition_key)) {
            break;
        }
        if (batch->operations == 0) {
            batch->table_id = table_id;
            batch->partition_key = partition_key;
        } else if (table_id != batch->table_id ||
                   !pt_slice_equal(partition_key, batch->partition_key)) {
            break;
        }
        batch->operations++;
        batch->bytes += (int64_t)(key.size + pending->record_size);
    }
    return batch->operations != 0;
}
