/*
 * Shapes. Entities with the same property names and types have the same shape: the list of these
 * properties, and the place of each one's value in a record. A record refers to its shape by an id
 * of the store's dictionary, or contains the description of the shape.
 *
 * The description, as it is stored in the dictionary and in records (integers little-endian):
 *
 *     u16  number of properties
 *     for each property:           u16 name id, or 0; u8 type code, up to PT_STORED_TYPE_LAST
 *     for each property of id 0:   u16 size, bytes of the name: an inline name
 *
 * Properties are in the order of their name ids. Those with inline names come last, in the order of
 * the names' bytes. No name occurs twice.
 */
#ifndef PT_ENTITY_SHAPE_H
#define PT_ENTITY_SHAPE_H

#include "base/buffer.h"
#include "base/error.h"
#include "entity/bag.h"
#include "entity/edm.h"

typedef struct pt_property {
    pt_slice name;    /* UTF-8; a NUL follows */
    uint16_t name_id; /* 0: not in the dictionary */
    uint8_t type;     /* a pt_type */
    uint32_t slot;    /* fixed-size types: offset in the fixed area; others: ordinal among them */
} pt_property;

typedef struct pt_shape {
    uint16_t id;          /* in the dictionary; 0: described in the record */
    uint16_t count;       /* of properties */
    uint32_t fixed_size;  /* bytes of the fixed area of a record */
    uint32_t variable;    /* number of properties of varying size */
    pt_slice description; /* as above */
    pt_property *properties;
} pt_shape;

/* Finds the name of a name id. Returns false if the id is unknown. The bytes must outlive the
 * shape. */
typedef bool (*pt_name_lookup)(void *context, uint16_t name_id, pt_slice *name);

/* Returns the bytes of memory that pt_shape_parse needs for a description; 0 if it is malformed. */
size_t pt_shape_memory(pt_slice description);

/*
 * Parses a description into `memory`, which has pt_shape_memory bytes and is aligned for pointers.
 * It then contains the shape, a copy of the description and copies of inline names. Returns NULL if
 * the description is malformed: unknown type, unknown name id, wrong order or wrong length.
 */
pt_shape *pt_shape_parse(pt_slice description, pt_name_lookup lookup, void *context, void *memory);

/* Returns the index of the property of this name, or -1. */
int pt_shape_find(const pt_shape *shape, pt_slice name);

/* --- The shape of an entity's fields, which have their name ids --- */

/* Sorts the fields into the order of a shape's properties. Returns false if a name occurs twice. */
bool pt_shape_order_fields(pt_field *fields, unsigned count);

/* Writes the description of fields in this order. */
void pt_shape_describe(const pt_field *fields, unsigned count, pt_buffer *description);

/*
 * True if fields in this order have the shape, whose ids must be current. Fields without name id
 * are compared by name. False for a shape or a property that is not in the dictionary. If true,
 * sets the name ids of the fields, and *data_size to the bytes of data that their record has.
 */
bool pt_shape_fits(const pt_shape *shape, pt_field *fields, unsigned count, uint64_t *data_size);

#endif
