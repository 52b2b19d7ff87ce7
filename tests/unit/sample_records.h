/*
 * Entities for tests of the record codec, and records of them in memory that a test may damage.
 * To be included behind cmocka.h.
 */
#ifndef SAMPLE_RECORDS_H
#define SAMPLE_RECORDS_H

#include <stdlib.h>

#include "base/ticks.h"
#include "entity/record.h"
#include "sample_shapes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { SHAPE_ID = 7, PROPERTIES = 8 };

static const sample_property described[PROPERTIES] = {
    {1, PT_STRING, NULL},  {3, PT_INT32, NULL},    {5, PT_INT64, NULL}, {6, PT_DOUBLE, NULL},
    {7, PT_BOOLEAN, NULL}, {8, PT_DATETIME, NULL}, {9, PT_GUID, NULL},  {10, PT_BINARY, NULL},
};

static const sample_property inline_described[PROPERTIES] = {
    {1, PT_STRING, NULL},  {3, PT_INT32, NULL},      {5, PT_INT64, NULL}, {6, PT_DOUBLE, NULL},
    {7, PT_BOOLEAN, NULL}, {0, PT_DATETIME, "Due1"}, {0, PT_GUID, "Id"},  {0, PT_BINARY, "Jpeg"},
};

static const pt_field fields[PROPERTIES] = {
    {.value = {.type = PT_STRING, .bytes = {(const uint8_t *)"Jun", 3}}},
    {.value = {.type = PT_INT32, .integer = -34}},
    {.value = {.type = PT_INT64, .integer = INT64_C(0x1122334455667788)}},
    {.value = {.type = PT_DOUBLE, .real = -1.5}},
    {.value = {.type = PT_BOOLEAN, .integer = 1}},
    {.value = {.type = PT_DATETIME, .integer = PT_TICKS_UNIX_EPOCH}},
    {.value = {.type = PT_GUID,
               .guid = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98,
                        0x76, 0x54, 0x32, 0x10}}},
    {.value = {.type = PT_BINARY, .bytes = {(const uint8_t *)"\xDE\xAD", 2}}},
};

static const int64_t sample_ticks = INT64_C(0x08DBCA0123456789);

static pt_slice sample_key(void)
{
    return pt_slice_of("\0\0\0\1Sales\0"
                       "000223",
                       16);
}

/* The dictionary has one shape, whose id is SHAPE_ID. */
static const pt_shape *known_shape;

static const pt_shape *find_shape(void *context, uint16_t shape_id)
{
    (void)context;
    return shape_id == SHAPE_ID ? known_shape : NULL;
}

static const pt_shape_source source = {.shape = find_shape, .name = sample_lookup};

/* A shape in memory of its own, from malloc. */
static pt_shape *make_shape(const sample_property *properties, unsigned count, uint16_t id)
{
    uint8_t description[4096];
    pt_slice slice = pt_slice_of(description, sample_describe(properties, count, description));
    void *memory = malloc(pt_shape_memory(slice));
    assert_non_null(memory);
    pt_shape *shape = pt_shape_parse(slice, sample_lookup, NULL, memory);
    assert_non_null(shape);
    shape->id = id;
    if (id != 0) {
        known_shape = shape;
    }
    return shape;
}

/* A record in exactly the bytes it needs, so that a sanitizer sees every stray access. */
typedef struct record_bytes {
    uint8_t *data;
    size_t size;
} record_bytes;

static record_bytes write_record(const pt_shape *shape, const pt_field *values)
{
    record_bytes record = {.size = pt_record_size(shape, values)};
    assert_true(record.size >= PT_RECORD_HEADER);
    record.data = malloc(record.size);
    assert_non_null(record.data);
    pt_record_write(shape, values, sample_ticks, sample_key(), record.data, record.size);
    return record;
}

static inline pt_slice slice_of(const record_bytes *record)
{
    return pt_slice_of(record->data, record->size);
}

static inline void restore_checksum(record_bytes *record)
{
    pt_slice key = sample_key();
    uint64_t seed = XXH3_64bits(key.data, key.size) ^ pt_get_le32(record->data);
    uint64_t hash = XXH3_64bits_withSeed(record->data + 8, record->size - 8, seed);
    pt_put_le32(record->data + 4, (uint32_t)hash);
}

static inline void resize(record_bytes *record, size_t size)
{
    record->data = realloc(record->data, size);
    assert_non_null(record->data);
    if (size > record->size) {
        memset(record->data + record->size, 0, size - record->size);
    }
    record->size = size;
}

#endif
