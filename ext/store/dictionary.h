/*
 * A store's dictionary gives property names and shapes small ids, so that records need not repeat
 * them. All connections of the process share one object per store.
 *
 * Ids start at 1 and are assigned in order, by the one session that holds the store's writer lock.
 * An id is *assigned* while only the pending records of that session use it, and *committed* once
 * it is stored. If the session ends without a commit, its assigned ids are withdrawn. The objects
 * of the names and shapes stay, so pointers to them are valid until the dictionary is freed; they
 * get a new id when they are needed again. When no id is left, records contain their names and
 * shapes.
 *
 * Looking up a committed id takes no lock. A mutex inside guards everything else.
 */
#ifndef PT_STORE_DICTIONARY_H
#define PT_STORE_DICTIONARY_H

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

/* For pt_record_open. Valid as long as the dictionary. */
pt_shape_source pt_dictionary_source(pt_dictionary *dictionary);

/* A number that changes whenever ids are withdrawn. Do not use an id from before a change: ask for
 * it again. */
unsigned pt_dictionary_epoch(const pt_dictionary *dictionary);

/*
 * Finds or assigns the shape of an entity's fields. Puts the fields into the shape's order and sets
 * their name ids (0: the dictionary is full, or the name is longer than 255 bytes). Call it with
 * the writer lock held.
 *
 * `hint` is a shape that may fit, such as the last one, or NULL. It is taken without a look-up if
 * the fields lie in its order and have its types and names (or valid ids of the names). If the
 * dictionary is full, the shape is built in `scratch` with id 0.
 *
 * SQLITE_CONSTRAINT if two fields have the same name; SQLITE_TOOBIG for more than 65,535 fields, or
 * a name of more than 65,535 bytes; SQLITE_NOMEM.
 */
int pt_dictionary_shape(pt_dictionary *dictionary, pt_field *fields, unsigned count,
                        const pt_shape *hint, pt_buffer *scratch, const pt_shape **shape);

/* --- For the engine, which stores the dictionary --- */

/* The highest ids that are committed, and that are assigned. */
pt_dictionary_counts pt_dictionary_committed(pt_dictionary *dictionary);
pt_dictionary_counts pt_dictionary_assigned(pt_dictionary *dictionary);

/* The bytes to store for a committed or assigned id: a name, or a shape's description. Valid as
 * long as the dictionary. */
pt_slice pt_dictionary_name_bytes(pt_dictionary *dictionary, uint16_t id);
pt_slice pt_dictionary_shape_bytes(pt_dictionary *dictionary, uint16_t id);

/*
 * Loads the next committed id from the store. Load names before the shapes that use them. Does
 * nothing if the id is loaded already. SQLITE_NOMEM; SQLITE_CORRUPT_VTAB if ids are missing before
 * this one, or the bytes are malformed or have another id already.
 */
int pt_dictionary_load_name(pt_dictionary *dictionary, uint16_t id, pt_slice name);
int pt_dictionary_load_shape(pt_dictionary *dictionary, uint16_t id, pt_slice description);

/* Call the one when the assigned ids have been stored, the other when they never will be. */
void pt_dictionary_commit(pt_dictionary *dictionary);
void pt_dictionary_withdraw(pt_dictionary *dictionary);

#endif
