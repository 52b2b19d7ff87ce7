/*
 * Entities: shapes, the areas of a record, its values, large values in pieces.
 */
#ifndef TESTS_FORMAT_ENTITIES_H
#define TESTS_FORMAT_ENTITIES_H

#include "format/content.h"

enum {
    NONE,
    STRING,
    INT32,
    INT64,
    DOUBLE,
    BOOLEAN,
    DATETIME,
    GUID,
    BINARY,
    LARGE_STRING,
    LARGE_BINARY,
    TYPES,
};

/* Bytes in the fixed area; 0: the value lies in the data. */
static const size_t fixed_sizes[TYPES] = {0, 0, 4, 8, 8, 1, 8, 16, 0, 18, 18};

enum { PROPERTIES_MAX = 300, CHUNK_SIZE = 2000, TICKS_AT = 2 };

typedef struct property {
    bytes name;
    unsigned type;
    bytes value; /* its bytes; a large value's are put together */
} property;

typedef struct entity {
    uint64_t table;
    bytes partition;
    bytes row;
    bytes entity_key;
    uint64_t ticks;
    size_t count;
    property properties[PROPERTIES_MAX];
} entity;

/* --- Shapes --- */

/* Reads names and types. Returns the bytes of the description. */
static inline size_t read_shape(const store *from, bytes description, entity *to)
{
    to->count = little(description, 0, 2);
    expect(to->count <= PROPERTIES_MAX, "the number of properties");
    size_t names_at = 2 + 3 * to->count;
    uint64_t before = 0;
    for (size_t i = 0; i < to->count; i++) {
        property *next = &to->properties[i];
        uint64_t id = little(description, 2 + 3 * i, 2);
        next->type = (unsigned)little(description, 4 + 3 * i, 1);
        expect(next->type != NONE && next->type < TYPES, "the type of a property");
        expect(id == 0 || id > before || i == 0, "the order of the properties");
        before = id;
        if (id != 0) {
            next->name = from->names[id];
            expect(next->name.size != 0 && id <= from->highest_name, "the id of a name");
        } else {
            size_t size = little(description, names_at, 2);
            next->name = part(description, names_at + 2, size);
            names_at += 2 + size;
        }
    }
    return names_at;
}

/* --- Records --- */

static inline bool lies_in_data(unsigned type)
{
    return fixed_sizes[type] == 0;
}

/* The bytes of an end depend on those of the data, which are what the ends leave. */
static inline size_t width_of_ends(size_t record, size_t without_ends, size_t ends)
{
    static const size_t limits[] = {0xFF, 0xFFFF};
    for (size_t i = 0; i < 2; i++) {
        size_t width = i + 1;
        if (record <= without_ends + ends * width + limits[i]) {
            return width;
        }
    }
    return 4;
}

static inline void check_head(bytes key, bytes record, size_t head)
{
    builder hashed = {0};
    add_bytes(&hashed, key);
    add_bytes(&hashed, part(record, 0, head));
    uint32_t sum = (uint32_t)XXH3_64bits(hashed.at, hashed.size);
    sum += (uint32_t)(record.size + key.size * 65536);
    expect(sum == little(record, head, 4), "the checksum of a record's head");
    free(hashed.at);
}

static inline bytes large_value(const store *from, uint64_t table, bytes place)
{
    uint64_t size = little(place, 0, 8);
    builder value = {0};
    for (uint64_t number = 0; value.size < size; number++) {
        builder key = {0};
        add_byte(&key, 0xFF);
        add_table_id(&key, table);
        add_big(&key, little(place, 8, 8), 8);
        add_big(&key, little(place, 16, 2), 2);
        add_big(&key, number, 4);
        const item *chunk = find_item(&from->all, built(&key));
        expect(chunk != NULL && chunk->record.size > 4, "a chunk of a large value");
        bytes content = rest_of(chunk->record, 4);
        expect(little(chunk->record, 0, 4) == seal_of(chunk->key, content), "a chunk's checksum");
        size_t left = size - value.size;
        expect(content.size == (left < CHUNK_SIZE ? left : CHUNK_SIZE), "a chunk's size");
        add_bytes(&value, content);
        free(key.at);
    }
    return built(&value);
}

static inline void read_fixed_area(const store *from, entity *to, bytes record, size_t at)
{
    for (size_t i = 0; i < to->count; i++) {
        property *next = &to->properties[i];
        size_t size = fixed_sizes[next->type];
        next->value = part(record, at, size);
        at += size;
        if (next->type >= LARGE_STRING) {
            next->value = large_value(from, to->table, next->value);
        }
    }
}

static inline void read_data(entity *to, bytes ends, size_t width, bytes data)
{
    size_t begin = 0;
    size_t number = 0;
    for (size_t i = 0; i < to->count; i++) {
        property *next = &to->properties[i];
        if (!lies_in_data(next->type)) {
            continue;
        }
        bool is_last = number * width == ends.size;
        size_t end = is_last ? data.size : little(ends, number * width, width);
        number++;
        expect(begin <= end && end <= data.size, "the end of a text or binary");
        next->value = part(data, begin, end - begin);
        begin = end;
        if (next->type == STRING) {
            expect(next->value.size != 0 && next->value.at[next->value.size - 1] == 0,
                   "the NUL after a text");
            next->value.size--;
        }
    }
}

static inline void read_entity(const store *from, const item *found, entity *to)
{
    size_t id_size;
    size_t fixed = 0;
    size_t variable = 0;
    size_t fixed_at = 10;
    bytes record = found->record;
    to->table = table_id(found->key, &id_size);
    to->entity_key = rest_of(found->key, id_size);
    const uint8_t *nul = memchr(to->entity_key.at, 0, to->entity_key.size);
    expect(nul != NULL, "the 00 between PartitionKey and RowKey");
    to->partition = part(to->entity_key, 0, (size_t)(nul - to->entity_key.at));
    to->row = rest_of(to->entity_key, to->partition.size + 1);
    to->ticks = little(record, TICKS_AT, 8);
    uint64_t shape = little(record, 0, 2);
    if (shape == 0) {
        size_t size = little(record, 10, 4);
        fixed_at += 4 + size;
        expect(read_shape(from, part(record, 14, size), to) == size, "a shape's size");
    } else {
        expect(from->shapes[shape].size != 0 && shape <= from->highest_shape, "a shape's id");
        expect(read_shape(from, from->shapes[shape], to) == from->shapes[shape].size,
               "a shape's size");
    }
    for (size_t i = 0; i < to->count; i++) {
        fixed += fixed_sizes[to->properties[i].type];
        variable += lies_in_data(to->properties[i].type) ? 1 : 0;
    }
    size_t ends = variable > 1 ? variable - 1 : 0;
    size_t frame = fixed_at + fixed + (variable != 0 ? 8 : 4);
    size_t width = width_of_ends(record.size, frame, ends);
    bytes data = rest_of(record, frame + ends * width);
    expect(variable != 0 || data.size == 0, "a record's size");
    check_head(found->key, record, frame + ends * width - 4);
    if (variable != 0) {
        expect(little(record, frame + ends * width - 8, 4) ==
                   (uint32_t)XXH3_64bits(data.at, data.size),
               "the checksum of a record's data");
    }
    read_fixed_area(from, to, record, fixed_at);
    read_data(to, part(record, fixed_at + fixed, ends * width), width, data);
}

static inline const property *find_property(const entity *from, bytes name)
{
    for (size_t i = 0; i < from->count; i++) {
        if (same(from->properties[i].name, name)) {
            return &from->properties[i];
        }
    }
    return NULL;
}

static inline double real_of(bytes value)
{
    double real;
    uint64_t bits = little(value, 0, 8);
    memcpy(&real, &bits, sizeof real);
    return real;
}

static inline int64_t integer_of(const property *from)
{
    uint64_t bits = little(from->value, 0, from->value.size);
    return from->type == INT32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

#endif
