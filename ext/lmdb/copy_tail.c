#include "lmdb/copy_tail.h"

#include "lmdb/long_keys.h"
#include "lmdb/tree.h"

typedef struct tail_copy {
    const pt_lmdb_env *target;
    MDB_txn *txn;
    pt_lmdb_tree entities;
    pt_lmdb_tree long_keys;
    pt_lmdb_tree chunks;
    uint32_t table; /* that the counts are of; 0: none */
    pt_table_counts added;
} tail_copy;

/* Adds what was counted to the stored counts of the table. */
static int store_counts(tail_copy *self)
{
    pt_format_key key = pt_format_counts_key(self->table);
    pt_slice key_bytes = pt_slice_of(key.bytes, key.size);
    MDB_val mdb_key = pt_lmdb_val(key_bytes);
    MDB_val value;
    pt_table_counts counts = {0};
    if (self->table == 0) {
        return MDB_SUCCESS;
    }
    int mdb_rc = mdb_get(self->txn, self->target->meta, &mdb_key, &value);
    if (mdb_rc == MDB_SUCCESS && !pt_format_read_counts(key_bytes, pt_lmdb_slice(value), &counts)) {
        return MDB_CORRUPTED;
    }
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    bool were_stored = mdb_rc == MDB_SUCCESS;
    counts.entities = pt_add_counts(counts.entities, self->added.entities);
    counts.bytes = pt_add_counts(counts.bytes, self->added.bytes);
    counts.chunks = pt_add_counts(counts.chunks, self->added.chunks);
    if (counts.entities == 0 && counts.bytes == 0 && counts.chunks == 0) {
        return were_stored ? mdb_del(self->txn, self->target->meta, &mdb_key, NULL) : MDB_SUCCESS;
    }
    uint8_t record[PT_FORMAT_COUNTS_SIZE];
    pt_format_write_counts(key_bytes, &counts, record);
    value = pt_lmdb_val(pt_slice_of(record, sizeof record));
    return mdb_put(self->txn, self->target->meta, &mdb_key, &value, 0);
}

static int begin_table(tail_copy *self, uint32_t table)
{
    if (table == self->table) {
        return MDB_SUCCESS;
    }
    int mdb_rc = store_counts(self);
    self->table = table;
    self->added = (pt_table_counts){0};
    return mdb_rc;
}

static int change(tail_copy *self, const pt_tail_node *node, pt_lmdb_tree *tree, pt_lmdb_old *old)
{
    pt_slice key = pt_tail_key(node);
    if (key.size <= PT_LMDB_SHORT_KEY_MAX) {
        return node->deletes ? pt_lmdb_tree_delete(tree, key, old)
                             : pt_lmdb_tree_put(tree, key, pt_tail_record(node), old);
    }
    const pt_lmdb_long_trees trees = {
        .env = self->target, .entities = &self->entities, .long_keys = &self->long_keys};
    return node->deletes ? pt_lmdb_long_delete(&trees, key, old)
                         : pt_lmdb_long_put(&trees, key, pt_tail_record(node), old);
}

static int copy_node(tail_copy *self, const pt_tail_node *node)
{
    pt_slice key = pt_tail_key(node);
    bool is_chunk = key.data[0] == PT_KEY_CHUNKS;
    uint32_t table = 0;
    pt_lmdb_old old = {0};
    if (is_chunk) {
        pt_key_read_chunks(key, &table);
    } else {
        table = pt_key_table(key);
    }
    int mdb_rc = begin_table(self, table);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = change(self, node, is_chunk ? &self->chunks : &self->entities, &old);
    }
    int64_t records = (node->deletes ? 0 : 1) - (old.present ? 1 : 0);
    int64_t size = node->deletes ? 0 : (int64_t)(key.size + node->record_size);
    size -= old.present ? (int64_t)(key.size + old.size) : 0;
    self->added.entities += is_chunk ? 0 : records;
    self->added.chunks += is_chunk ? records : 0;
    self->added.bytes += size;
    return mdb_rc;
}

int pt_lmdb_copy_tail(const pt_lmdb_snapshot *snapshot, const pt_lmdb_env *target, MDB_txn *txn)
{
    tail_copy self = {.target = target, .txn = txn};
    uint32_t end = snapshot->tail_end;
    int mdb_rc = MDB_SUCCESS;
    pt_lmdb_tree_init(&self.entities, txn, target->entities);
    pt_lmdb_tree_init(&self.long_keys, txn, target->long_keys);
    pt_lmdb_tree_init(&self.chunks, txn, target->chunks);
    for (const pt_tail_node *node = pt_tail_seek(snapshot->tail, (pt_slice){0}, end, PT_FORWARD);
         mdb_rc == MDB_SUCCESS && node != NULL;
         node = pt_tail_step(snapshot->tail, node, end, PT_FORWARD)) {
        mdb_rc = copy_node(&self, node);
    }
    return mdb_rc == MDB_SUCCESS ? store_counts(&self) : mdb_rc;
}
