/*
 * Objects by small ids: one of the dictionary's two tables. An id is found without a lock, through
 * an array of chunks that are allocated when the first id in them is given out; everything else
 * needs the owner's lock. Objects that lose their id stay findable by content.
 */
#ifndef PT_STORE_ID_TABLE_H
#define PT_STORE_ID_TABLE_H

#include <stdatomic.h>

#include "entity/shape.h"

enum { PT_ID_CHUNK = 256 };

typedef struct pt_id_entry {
    struct pt_id_entry *next; /* in its bucket */
    uint32_t hash;            /* pt_id_table_hash of the bytes */
    uint16_t id;              /* 0: withdrawn */
    pt_slice bytes;           /* a name's text, with a NUL behind it; a shape's description */
    pt_shape *shape;          /* NULL in a name's entry */
} pt_id_entry;

typedef struct pt_id_chunk {
    _Atomic(pt_id_entry *) entries[PT_ID_CHUNK];
} pt_id_chunk;

typedef struct pt_id_table {
    _Atomic(pt_id_chunk *) *chunks; /* (ids_max + 1) / PT_ID_CHUNK of them */
    unsigned ids_max;
    uint16_t committed; /* highest committed id */
    uint16_t assigned;  /* highest id in use, >= committed */
    pt_id_entry **buckets;
    unsigned bucket_count; /* a power of two, or 0 */
    unsigned entry_count;
} pt_id_table;

/* The object of an id, or NULL. */
static inline pt_id_entry *pt_id_table_get(const pt_id_table *table, uint16_t id)
{
    if (id > table->ids_max) {
        return NULL;
    }
    unsigned at = id / PT_ID_CHUNK;
    pt_id_chunk *chunk = atomic_load_explicit(&table->chunks[at], memory_order_acquire);
    if (chunk == NULL) {
        return NULL;
    }
    return atomic_load_explicit(&chunk->entries[id % PT_ID_CHUNK], memory_order_acquire);
}

/* Makes sure that the next id can be given out; there must be one. False: out of memory. */
bool pt_id_table_reserve(pt_id_table *table);

/* Gives an object without id the next one, which has been reserved. */
void pt_id_table_give_next(pt_id_table *table, pt_id_entry *entry);

/* Takes the ids away that are not committed. */
void pt_id_table_withdraw(pt_id_table *table);

uint32_t pt_id_table_hash(pt_slice bytes);

/* The first object of a bucket; NULL if it is empty. */
pt_id_entry *pt_id_table_bucket(const pt_id_table *table, uint32_t hash);

/* Makes sure that one more object can be inserted. False: out of memory. */
bool pt_id_table_make_room(pt_id_table *table);
void pt_id_table_insert(pt_id_table *table, pt_id_entry *entry);

/* Frees all but the objects. */
void pt_id_table_free(pt_id_table *table);

#endif
