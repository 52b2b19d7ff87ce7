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

#include "entity/entity.h"

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

#endif
