/*
 * Property bags of any content, the same ones in every run. Include cmocka.h first.
 */
#ifndef RANDOM_BAG_H
#define RANDOM_BAG_H

#include <math.h>

#include "base/ticks.h"
#include "entity/bag.h"

static uint64_t random_state = 88172645463325252;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static size_t random_below(size_t limit)
{
    return (size_t)(random_bits() % limit);
}

static pt_slice random_bytes(pt_arena *arena, bool text)
{
    static const char characters[] = "ab\"\\/{}[],:@.\n\t\x01 \x7F";
    size_t size = random_below(12);
    uint8_t *bytes = pt_arena_alloc(arena, size + 8);
    assert_non_null(bytes);
    size_t used = 0;
    while (used < size) {
        if (!text) {
            bytes[used++] = (uint8_t)random_bits();
        } else if (random_below(5) == 0) {
            memcpy(bytes + used, "\xF0\x9F\x98\x80", 4);
            used += 4;
        } else {
            bytes[used++] = (uint8_t)characters[random_below(sizeof characters)]; /* and NUL */
        }
    }
    return pt_slice_of(bytes, used);
}

static pt_value random_value(pt_arena *arena)
{
    pt_value value = {.type = (pt_type)(1 + random_below(PT_TYPE_LAST))};
    uint64_t bits = random_bits();
    switch (value.type) {
    case PT_INT32:
        value.integer = (int32_t)bits;
        break;
    case PT_BOOLEAN:
        value.integer = (int64_t)(bits & 1);
        break;
    case PT_DATETIME:
        value.integer = (int64_t)(bits % ((uint64_t)PT_TICKS_MAX + 1));
        break;
    case PT_DOUBLE:
        memcpy(&value.real, &bits, sizeof bits);
        value.real = isnan(value.real) ? -INFINITY : value.real;
        break;
    case PT_GUID:
        memcpy(value.guid, &bits, sizeof bits);
        memcpy(value.guid + 8, &bits, sizeof bits);
        break;
    case PT_STRING:
    case PT_BINARY:
        value.bytes = random_bytes(arena, value.type == PT_STRING);
        break;
    default:
        value.integer = (int64_t)bits;
        break;
    }
    return value;
}

static inline void fill_randomly(pt_bag *bag)
{
    pt_bag_clear(bag);
    size_t count = random_below(20);
    for (size_t i = 0; i < count; i++) {
        pt_field field = {.name = random_bytes(&bag->arena, true),
                          .value = random_value(&bag->arena)};
        if (field.name.size != 0) {
            assert_true(pt_bag_set(bag, &field));
        }
    }
}

#endif
