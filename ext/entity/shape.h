/*
 * A shape is what entities with the same property names and types have in common: the list of
 * properties and where each one's value lies in a record. Records name their shape by an id of
 * the store's dictionary, or carry its description.
 *
 * Description, as stored in the dictionary and inside records (integers little-endian):
 *
 *     u16  number of properties
 *     per property:   u16 name id, u8 type code     (name id 0: the name follows below; types up to
 *                                                    PT_STORED_TYPE_LAST)
 *     per id-0 name:  u16 size, bytes of the name   (in the order of the properties)
 *
 * Properties are ordered by name id; those with inline names come last, by their names' bytes.
 * No name occurs twice.
 */
#ifndef PT_ENTITY_SHAPE_H
#define PT_ENTITY_SHAPE_H

#include "base/buffer.h"
#include "base/error.h"
#include "entity/bag.h"
#include "entity/edm.h"

typedef struct pt_property {
    pt_slice name;    /* UTF-8, NUL-terminated behind its size */
    uint16_t name_id; /* 0: not in the dictionary */
    uint8_t type;     /* a pt_type */
    uint32_t slot;    /* fixed-size types: byte offset in the fixed area; others: their ordinal */
} pt_property;

typedef struct pt_shape {
    uint16_t id;          /* in the dictionary; 0: described inside the record */
    uint16_t count;       /* of properties */
    uint32_t fixed_size;  /* bytes of the fixed area of a record */
    uint32_t variable;    /* number of properties whose size varies */
    pt_slice description; /* as above */
    pt_property *properties;
} pt_shape;

/* Finds the text of a name id; false if the id is unknown. The bytes must outlive the shape. */
typedef bool (*pt_name_lookup)(void *context, uint16_t name_id, pt_slice *name);

/* Bytes of memory that pt_shape_parse needs for a description. 0 if it is malformed. */
size_t pt_shape_memory(pt_slice description);

/*
 * Parses a description into `memory` (pt_shape_memory bytes, aligned for pointers), which then
 * holds the shape with a copy of the description and of inline names. NULL if the description is
 * malformed: unknown type, unknown name id, wrong order, wrong length.
 */
pt_shape *pt_shape_parse(pt_slice description, pt_name_lookup lookup, void *context, void *memory);

/* Index of the property with this name, or -1. */
int pt_shape_find(const pt_shape *shape, pt_slice name);

/*
 * From the fields of an entity, with their name ids, to the shape that they have.
 */

/* Brings the fields into the order of a shape's properties. False if a name occurs twice. */
bool pt_shape_order_fields(pt_field *fields, unsigned count);

/* The description (entity/shape.h) of fields in that order. */
void pt_shape_describe(const pt_field *fields, unsigned count, pt_buffer *description);

/*
 * Whether fields in that order have the shape, by their names where they have no ids yet; never one
 * that is not all in the dictionary. Its ids must be current, and are the fields' then, and
 * `data_size` the bytes of data of their record.
 */
bool pt_shape_fits(const pt_shape *shape, pt_field *fields, unsigned count, uint64_t *data_size);

#endif
