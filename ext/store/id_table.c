#include "store/id_table.h"

#include "base/sqlite.h"

enum { FIRST_BUCKETS = 64 };

bool pt_id_table_reserve(pt_id_table *table)
{
    _Atomic(pt_id_chunk *) *slot = &table->chunks[(table->assigned + 1u) / PT_ID_CHUNK];
    if (atomic_load_explicit(slot, memory_order_relaxed) != NULL) {
        return true;
    }
    pt_id_chunk *chunk = sqlite3_malloc64(sizeof *chunk);
    if (chunk == NULL) {
        return false;
    }
    for (int i = 0; i < PT_ID_CHUNK; i++) {
        atomic_init(&chunk->entries[i], NULL);
    }
    atomic_store_explicit(slot, chunk, memory_order_release);
    return true;
}

static void set_entry(pt_id_table *table, uint16_t id, pt_id_entry *entry)
{
    unsigned at = id / PT_ID_CHUNK;
    pt_id_chunk *chunk = atomic_load_explicit(&table->chunks[at], memory_order_relaxed);
    atomic_store_explicit(&chunk->entries[id % PT_ID_CHUNK], entry, memory_order_release);
}

static void set_id(pt_id_entry *entry, uint16_t id)
{
    entry->id = id;
    if (entry->shape != NULL) {
        entry->shape->id = id;
    }
}

void pt_id_table_give_next(pt_id_table *table, pt_id_entry *entry)
{
    table->assigned++;
    set_id(entry, table->assigned);
    set_entry(table, table->assigned, entry);
}

void pt_id_table_withdraw(pt_id_table *table)
{
    while (table->assigned > table->committed) {
        set_id(pt_id_table_get(table, table->assigned), 0);
        set_entry(table, table->assigned, NULL);
        table->assigned--;
    }
}

uint32_t pt_id_table_hash(pt_slice bytes)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ bytes.data[i]) * 16777619u;
    }
    return hash;
}

pt_id_entry *pt_id_table_bucket(const pt_id_table *table, uint32_t hash)
{
    return table->bucket_count == 0 ? NULL : table->buckets[hash & (table->bucket_count - 1)];
}

static void push(pt_id_entry **buckets, unsigned bucket_count, pt_id_entry *entry)
{
    pt_id_entry **bucket = &buckets[entry->hash & (bucket_count - 1)];
    entry->next = *bucket;
    *bucket = entry;
}

bool pt_id_table_make_room(pt_id_table *table)
{
    if (table->entry_count < table->bucket_count) {
        return true;
    }
    unsigned count = table->bucket_count == 0 ? FIRST_BUCKETS : table->bucket_count * 2;
    pt_id_entry **buckets = sqlite3_malloc64(count * sizeof(pt_id_entry *));
    if (buckets == NULL) {
        return false;
    }
    memset(buckets, 0, count * sizeof(pt_id_entry *));
    for (unsigned i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i] != NULL) {
            pt_id_entry *moved = table->buckets[i];
            table->buckets[i] = moved->next;
            push(buckets, count, moved);
        }
    }
    sqlite3_free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
    return true;
}

void pt_id_table_insert(pt_id_table *table, pt_id_entry *entry)
{
    push(table->buckets, table->bucket_count, entry);
    table->entry_count++;
}

void pt_id_table_free(pt_id_table *table)
{
    for (unsigned i = 0; i < (table->ids_max + 1) / PT_ID_CHUNK; i++) {
        sqlite3_free(atomic_load(&table->chunks[i]));
    }
    sqlite3_free(table->buckets);
}
