/*
 * From the fields of an entity, with their name ids, to the shape that they have.
 */
#ifndef PT_ENTITY_SHAPE_FIELDS_H
#define PT_ENTITY_SHAPE_FIELDS_H

#include "base/buffer.h"
#include "entity/bag.h"
#include "entity/shape.h"

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
