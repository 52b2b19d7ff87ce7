/*
 * A store's dictionary: property names and shapes by small ids, so that a record need not repeat
 * them. One object serves all connections of the process.
 *
 * Ids start at 1 and are given out in order, by the one session that holds the store's writer lock.
 * An id is *assigned* while only that session's pending records use it, and *committed* once it is
 * stored. Assigned ids are withdrawn when the session ends without a commit; the name and shape
 * objects stay (pointers remain valid until the dictionary is freed) and get a new id when they are
 * asked for again. When the ids are used up, names and shapes go into the records.
 *
 * Looking up a committed id takes no lock. Everything else is guarded by a mutex inside.
 */
#ifndef PT_STORE_DICTIONARY_H
#define PT_STORE_DICTIONARY_H

#include <stdatomic.h>

#include "entity/record.h"
#include "entity/shape.h"

enum { PT_NAME_IDS_MAX = 65535, PT_SHAPE_IDS_MAX = 16383 };

typedef struct pt_dictionary pt_dictionary;

typedef struct pt_dictionary_counts {
    uint16_t names;  /* highest name id */
    uint16_t shapes; /* highest shape id */
} pt_dictionary_counts;

/* NULL when out of memory. */
pt_dictionary *pt_dictionary_new(void);
void pt_dictionary_free(pt_dictionary *dictionary);

/* For pt_record_open; valid as long as the dictionary. */
pt_shape_source pt_dictionary_source(pt_dictionary *dictionary);

/* Changes whenever ids were withdrawn: ids remembered from before must be asked for again. */
unsigned pt_dictionary_epoch(const pt_dictionary *dictionary);

/*
 * Finds or assigns the shape of an entity's fields, and puts the fields into the shape's order with
 * their name ids (0: the dictionary is full, or the name longer than 255 bytes). `hint` is a shape
 * that may fit (the last one), or NULL: when the fields have its names, or valid ids of them, lie
 * in its order and have its types it is taken without a look-up. With the dictionary full the shape
 * is built in `scratch` with id 0. Two fields of one name: SQLITE_CONSTRAINT. Otherwise SQLITE_OK,
 * SQLITE_NOMEM, or SQLITE_TOOBIG (more than 65,535 fields, or a name of more than 65,535 bytes).
 * Writer lock held.
 */
int pt_dictionary_shape(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                        const pt_shape *hint, pt_buffer *scratch, const pt_shape **shape);

/* --- For the engine, which stores it --- */

pt_dictionary_counts pt_dictionary_committed(pt_dictionary *dictionary);
pt_dictionary_counts pt_dictionary_assigned(pt_dictionary *dictionary);

/* The stored form of an id that is committed or assigned: a name's bytes, a shape's description. */
pt_slice pt_dictionary_name_bytes(pt_dictionary *dictionary, uint16_t id);
pt_slice pt_dictionary_shape_bytes(pt_dictionary *dictionary, uint16_t id);

/*
 * Enters the next committed id as read from the store; a shape's names must have been entered
 * before. An id that is there already is passed over. SQLITE_OK, SQLITE_NOMEM, or
 * SQLITE_CORRUPT_VTAB if ids leave a gap or the bytes are malformed.
 */
int pt_dictionary_load_name(pt_dictionary *dictionary, uint16_t id, pt_slice name);
int pt_dictionary_load_shape(pt_dictionary *dictionary, uint16_t id, pt_slice description);

/* Assigned ids have been stored; or they have not and are withdrawn. */
void pt_dictionary_commit(pt_dictionary *dictionary);
void pt_dictionary_withdraw(pt_dictionary *dictionary);

/*
 * Objects by small ids: one of the dictionary's two tables. An id is found without a lock, through
 * an array of chunks that are allocated when the first id in them is given out; everything else
 * needs the owner's lock. Objects that lose their id stay findable by content.
 */

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
