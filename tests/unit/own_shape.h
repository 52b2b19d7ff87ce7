/*
 * Records that describe their own shape, as records do when a store's dictionary is full, at the
 * key of sample_records.h. They may be damaged in one value behind a right checksum. To be included
 * behind cmocka.h.
 */
#ifndef OWN_SHAPE_H
#define OWN_SHAPE_H

#include "sample_records.h"

enum { OWN_PROPERTIES = 2 };

static inline record_bytes own_record_of(const sample_property *properties, const pt_field *values)
{
    pt_shape *shape = make_shape(properties, OWN_PROPERTIES, 0);
    record_bytes record = write_record(shape, values);
    free(shape);
    return record;
}

/* A Boolean and a String; of the first, any byte. */
static inline record_bytes own_record(int64_t ticks, uint8_t active)
{
    static const sample_property properties[] = {{0, PT_BOOLEAN, "Active"}, {0, PT_STRING, "Name"}};
    static const pt_field values[] = {
        {.value = {.type = PT_BOOLEAN, .integer = 0}},
        {.value = {.type = PT_STRING, .bytes = {(const uint8_t *)"Jun", 3}}}};
    uint8_t description[100];
    record_bytes record = own_record_of(properties, values);
    size_t size = sample_describe(properties, OWN_PROPERTIES, description);
    record.data[PT_RECORD_HEADER + 4 + size] = active;
    pt_put_le64(record.data + 8, (uint64_t)ticks);
    restore_checksum(&record);
    return record;
}

/* A Boolean and a large String of that size, which has no parts. */
static inline record_bytes own_large_record(uint64_t large_size)
{
    static const sample_property properties[] = {{0, PT_BOOLEAN, "Active"},
                                                 {0, PT_LARGE_STRING, "Body"}};
    const pt_field values[] = {
        {.value = {.type = PT_BOOLEAN, .integer = 0}},
        {.value = {.type = PT_LARGE_STRING,
                   .large = {.size = large_size, .ticks = sample_ticks, .ordinal = 1}}}};
    return own_record_of(properties, values);
}

#endif
