#include "entity/shape_fields.h"

#include <stdlib.h>

/* By name id, those without one last and by name. */
static int compare_fields(const void *a, const void *b)
{
    const pt_field *left = a;
    const pt_field *right = b;
    unsigned left_rank = (left->name_id - 1u) & 0xFFFFu; /* 0 becomes the highest */
    unsigned right_rank = (right->name_id - 1u) & 0xFFFFu;
    if (left_rank != right_rank) {
        return left_rank < right_rank ? -1 : 1;
    }
    return left->name_id != 0 ? 0 : pt_slice_compare(left->name, right->name);
}

bool pt_shape_order_fields(pt_field *fields, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        if (compare_fields(&fields[i - 1], &fields[i]) >= 0) {
            qsort(fields, count, sizeof *fields, compare_fields);
            break;
        }
    }
    for (unsigned i = 1; i < count; i++) {
        if (compare_fields(&fields[i - 1], &fields[i]) == 0) {
            return false;
        }
    }
    return true;
}

void pt_shape_describe(const pt_field *fields, unsigned count, pt_buffer *description)
{
    uint8_t number[2];
    pt_buffer_clear(description);
    pt_put_le16(number, (uint16_t)count);
    pt_buffer_append(description, number, sizeof number);
    for (unsigned i = 0; i < count; i++) {
        pt_put_le16(number, fields[i].name_id);
        pt_buffer_append(description, number, sizeof number);
        pt_buffer_append_byte(description, (uint8_t)fields[i].value.type);
    }
    for (unsigned i = 0; i < count; i++) {
        if (fields[i].name_id == 0) {
            pt_put_le16(number, (uint16_t)fields[i].name.size);
            pt_buffer_append(description, number, sizeof number);
            pt_buffer_append_slice(description, fields[i].name);
        }
    }
}

static bool has_property(const pt_field *field, const pt_property *property)
{
    if (property->name_id == 0 || field->value.type != (pt_type)property->type) {
        return false;
    }
    return field->name_id != 0 ? field->name_id == property->name_id
                               : pt_slice_equal(field->name, property->name);
}

bool pt_shape_fits(const pt_shape *shape, pt_field *fields, unsigned count, uint64_t *data_size)
{
    uint64_t size = 0;
    if (shape->id == 0 || shape->count != count) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!has_property(&fields[i], &shape->properties[i])) {
            return false;
        }
        fields[i].name_id = shape->properties[i].name_id;
        size += pt_value_data_size(&fields[i].value);
    }
    *data_size = size;
    return true;
}
