#include "entity/shape.h"

#include <stdalign.h>
#include <stdlib.h>

enum { COUNT_SIZE = 2, ENTRY_SIZE = 3, NAME_HEADER_SIZE = 2 };

_Static_assert(sizeof(pt_shape) % alignof(pt_property) == 0, "properties follow the shape");

/* A position in a description; pt_shape_memory has checked all sizes in it. */
typedef struct shape_reader {
    const uint8_t *entry;
    const uint8_t *inline_name;
    uint8_t *name_memory; /* where to copy the next inline name */
} shape_reader;

static bool has_entries(pt_slice description)
{
    return description.size >= COUNT_SIZE &&
           description.size - COUNT_SIZE >= (size_t)pt_get_le16(description.data) * ENTRY_SIZE;
}

size_t pt_shape_memory(pt_slice description)
{
    if (!has_entries(description)) {
        return 0;
    }
    size_t count = pt_get_le16(description.data);
    const uint8_t *entry = description.data + COUNT_SIZE;
    const uint8_t *name = entry + count * ENTRY_SIZE;
    const uint8_t *end = description.data + description.size;
    size_t names_size = 0;
    for (size_t i = 0; i < count; i++, entry += ENTRY_SIZE) {
        if (pt_get_le16(entry) != 0) {
            continue;
        }
        if (end - name < NAME_HEADER_SIZE ||
            end - name - NAME_HEADER_SIZE < (ptrdiff_t)pt_get_le16(name)) {
            return 0;
        }
        names_size += pt_get_le16(name) + 1u;
        name += NAME_HEADER_SIZE + pt_get_le16(name);
    }
    if (name != end) {
        return 0;
    }
    return sizeof(pt_shape) + count * sizeof(pt_property) + description.size + names_size;
}

static pt_slice copy_inline_name(shape_reader *reader)
{
    size_t size = pt_get_le16(reader->inline_name);
    uint8_t *copy = reader->name_memory;
    memcpy(copy, reader->inline_name + NAME_HEADER_SIZE, size);
    copy[size] = 0;
    reader->inline_name += NAME_HEADER_SIZE + size;
    reader->name_memory += size + 1;
    return pt_slice_of(copy, size);
}

static bool is_after(const pt_property *property, const pt_property *previous)
{
    if (property->name_id != 0) {
        return property->name_id > previous->name_id && previous->name_id != 0;
    }
    return previous->name_id != 0 || pt_slice_compare(property->name, previous->name) > 0;
}

/* Reads the next entry into a property, except for the slot. */
static bool read_entry(shape_reader *reader, pt_name_lookup lookup, void *context,
                       pt_property *property)
{
    property->name_id = pt_get_le16(reader->entry);
    property->type = reader->entry[2];
    reader->entry += ENTRY_SIZE;
    if (property->type == PT_NONE || property->type > PT_STORED_TYPE_LAST) {
        return false;
    }
    if (property->name_id == 0) {
        property->name = copy_inline_name(reader);
        return true;
    }
    return lookup(context, property->name_id, &property->name);
}

static void place_property(pt_shape *shape, pt_property *property)
{
    unsigned size = pt_type_fixed_size((pt_type)property->type);
    if (size == 0) {
        property->slot = shape->variable++;
    } else {
        property->slot = shape->fixed_size;
        shape->fixed_size += size;
    }
}

pt_shape *pt_shape_parse(pt_slice description, pt_name_lookup lookup, void *context, void *memory)
{
    if (pt_shape_memory(description) == 0) {
        return NULL;
    }
    uint16_t count = pt_get_le16(description.data);
    pt_shape *shape = memory;
    pt_property *properties = (pt_property *)(shape + 1);
    uint8_t *copy = (uint8_t *)(properties + count);
    memcpy(copy, description.data, description.size);
    *shape = (pt_shape){.count = count,
                        .description = pt_slice_of(copy, description.size),
                        .properties = properties};
    shape_reader reader = {.entry = copy + COUNT_SIZE,
                           .inline_name = copy + COUNT_SIZE + (size_t)count * ENTRY_SIZE,
                           .name_memory = copy + description.size};
    for (unsigned i = 0; i < count; i++) {
        if (!read_entry(&reader, lookup, context, &properties[i]) ||
            (i != 0 && !is_after(&properties[i], &properties[i - 1]))) {
            return NULL;
        }
        place_property(shape, &properties[i]);
    }
    return shape;
}

int pt_shape_find(const pt_shape *shape, pt_slice name)
{
    for (int i = 0; i < shape->count; i++) {
        if (pt_slice_equal(shape->properties[i].name, name)) {
            return i;
        }
    }
    return -1;
}

/* --- Fields --- */

/* Compares name ids. Fields without name id come last, in the order of their names. */
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
