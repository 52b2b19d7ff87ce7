/*
 * A property bag: the named, typed values of an entity while they are being collected.
 */
#ifndef PT_ENTITY_BAG_H
#define PT_ENTITY_BAG_H

#include "base/arena.h"
#include "entity/edm.h"

typedef struct pt_field {
    pt_slice name;
    uint16_t name_id; /* in the dictionary; 0: not there, or not looked up yet */
    pt_value value;   /* never PT_NONE inside a bag */
} pt_field;

typedef struct pt_bag {
    pt_field *fields;
    unsigned count;
    size_t capacity;
    pt_arena arena; /* for copies of names and values that must outlive their source */
} pt_bag;

/* Empties the bag, keeping its memory for the next entity. */
void pt_bag_clear(pt_bag *bag);
void pt_bag_free(pt_bag *bag);

/* Makes room for `capacity` fields in all. Returns false when out of memory, as below. */
bool pt_bag_reserve(pt_bag *bag, unsigned capacity);

/* Adds a field, without a check that its name is new. Does not copy the slices. */
bool pt_bag_append(pt_bag *bag, const pt_field *field);

/* Replaces or adds the field of this name, or removes it if the type is PT_NONE. */
bool pt_bag_set(pt_bag *bag, const pt_field *field);

/* Returns the field of this name, or NULL. */
pt_field *pt_bag_find(const pt_bag *bag, pt_slice name);

#endif
