/*
 * A property bag: the named, typed values of one entity while it is being put together.
 */
#ifndef PT_ENTITY_BAG_H
#define PT_ENTITY_BAG_H

#include "base/arena.h"
#include "entity/edm.h"

typedef struct pt_field {
    pt_slice name;
    uint16_t name_id; /* the dictionary's, 0 if not looked up or not there */
    pt_value value;   /* never PT_NONE inside a bag */
} pt_field;

typedef struct pt_bag {
    pt_field *fields;
    unsigned count;
    unsigned capacity;
    pt_arena arena; /* for copies of names and values that need to outlive their source */
} pt_bag;

/* Empties the bag, keeping its memory for the next entity. */
void pt_bag_clear(pt_bag *bag);
void pt_bag_free(pt_bag *bag);

/* Makes room for so many fields altogether. False: out of memory. */
bool pt_bag_reserve(pt_bag *bag, unsigned capacity);

/* Adds a field without looking whether the name is there. The slices are not copied. False: out of
 * memory. */
bool pt_bag_append(pt_bag *bag, const pt_field *field);

/* Replaces, adds, or (type PT_NONE) removes the property of that name. False: out of memory. */
bool pt_bag_set(pt_bag *bag, const pt_field *field);

/* The field of that name, or NULL. */
pt_field *pt_bag_find(const pt_bag *bag, pt_slice name);

#endif
