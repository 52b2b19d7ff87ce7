/*
 * Entities for tests of filters: a record of named values, opened, and where a filter's properties
 * are in it. To be included behind cmocka.h.
 */
#ifndef FILTER_ENTITY_H
#define FILTER_ENTITY_H

#include <stdlib.h>

#include "query/filter_eval.h"
#include "sample_shapes.h"

enum { ENTITY_FIELDS_MAX = 8, ENTITY_PLACES_MAX = 64 };

static const int64_t entity_ticks = INT64_C(0x08DBCA0123456789);

typedef struct named_value {
    const char *name; /* in ascending order */
    pt_value value;
} named_value;

typedef struct test_entity {
    uint8_t *bytes;
    pt_buffer scratch;
    pt_record record;
    int places[ENTITY_PLACES_MAX];
    pt_filter_entity entity;
} test_entity;

static const pt_shape *no_shape(void *context, uint16_t shape_id)
{
    (void)context;
    (void)shape_id;
    return NULL;
}

static void make_entity(test_entity *made, const char *partition, const char *row,
                        const named_value *values, unsigned count)
{
    const pt_shape_source source = {.shape = no_shape, .name = sample_lookup};
    const pt_slice key = pt_slice_text("key");
    sample_property described[ENTITY_FIELDS_MAX] = {{0, 0, NULL}};
    pt_field fields[ENTITY_FIELDS_MAX] = {{.name_id = 0}};
    for (unsigned i = 0; i < count; i++) {
        described[i].type = (uint8_t)values[i].value.type;
        described[i].inline_name = values[i].name;
        fields[i].value = values[i].value;
    }
    uint8_t description[400];
    pt_slice slice = pt_slice_of(description, sample_describe(described, count, description));
    void *memory = malloc(pt_shape_memory(slice));
    assert_non_null(memory);
    pt_shape *shape = pt_shape_parse(slice, sample_lookup, NULL, memory);
    assert_non_null(shape);
    size_t size = pt_record_size(shape, fields);
    *made = (test_entity){.bytes = malloc(size)};
    assert_non_null(made->bytes);
    pt_record_write(shape, fields, entity_ticks, key, made->bytes, size);
    free(memory);
    assert_int_equal(
        pt_record_open(&made->record, key, pt_slice_of(made->bytes, size), &source, &made->scratch),
        0);
    made->entity = (pt_filter_entity){.partition_key = pt_slice_text(partition),
                                      .row_key = pt_slice_text(row),
                                      .record = &made->record,
                                      .places = made->places};
}

static inline void free_entity(test_entity *made)
{
    pt_buffer_free(&made->scratch);
    free(made->bytes);
}

/* Holds the entity against a filter. */
static bool passes(test_entity *made, const pt_filter *filter)
{
    pt_error error = PT_ERROR_NONE;
    bool matches = false;
    assert_true(filter->property_count <= ENTITY_PLACES_MAX);
    for (int i = 0; i < filter->property_count; i++) {
        made->places[i] =
            pt_shape_find(made->record.shape, pt_slice_text(filter->properties[i].name));
    }
    assert_int_equal(pt_filter_matches(filter, &made->entity, &matches, &error), 0);
    return matches;
}

#endif
