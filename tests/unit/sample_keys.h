/*
 * Random keys that are the same in every run, and pending operations in memory of their own.
 * To be included behind cmocka.h.
 */
#ifndef SAMPLE_KEYS_H
#define SAMPLE_KEYS_H

#include <stdlib.h>

#include "transaction/pending.h"

enum { SAMPLE_KEY_MAX = 68 };

typedef struct sample_key {
    uint8_t bytes[SAMPLE_KEY_MAX];
    size_t size;
} sample_key;

/* Ways in which keys resemble each other. */
typedef enum sample_kind {
    SAMPLE_FEW_BYTES, /* of two values, in few lengths: prefixes of each other, trailing zeros */
    SAMPLE_SHARED,    /* a prefix of up to 50 bytes in common, then a few that differ */
    SAMPLE_ANY,       /* any bytes */
    SAMPLE_KINDS
} sample_kind;

static inline uint32_t sample_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static inline pt_slice sample_slice(const sample_key *key)
{
    return pt_slice_of(key->bytes, key->size);
}

static inline sample_key sample_make(sample_kind kind, uint64_t *seed)
{
    static const size_t shared[] = {3, 8, 16, 23, 50};
    sample_key key = {0};
    size_t prefix = 0;
    if (kind == SAMPLE_SHARED) {
        prefix = shared[sample_random(seed) % (sizeof shared / sizeof shared[0])];
        memset(key.bytes, 'k', prefix);
    }
    key.size = prefix + sample_random(seed) % (kind == SAMPLE_FEW_BYTES ? 25 : 14);
    for (size_t i = prefix; i < key.size; i++) {
        uint32_t random = sample_random(seed);
        key.bytes[i] = (uint8_t)(kind == SAMPLE_FEW_BYTES ? (random % 4 == 0) * 255 : random);
    }
    return key;
}

static inline int sample_compare(const void *a, const void *b)
{
    const sample_key *first = a;
    const sample_key *second = b;
    size_t shared = first->size < second->size ? first->size : second->size;
    int order = memcmp(first->bytes, second->bytes, shared);
    return order != 0 ? order : (first->size > second->size) - (first->size < second->size);
}

/* Puts a table's id in front. */
static inline void sample_set_table(sample_key *key, uint32_t table)
{
    memmove(key->bytes + 4, key->bytes, key->size);
    pt_put_be32(key->bytes, table);
    key->size += 4;
}

/*
 * Fills an array with at most `count` distinct keys in ascending order; returns how many. With
 * `tables` > 0 they are logical keys of the tables 1 to `tables`.
 */
static inline size_t sample_sorted(sample_key *keys, size_t count, sample_kind kind,
                                   uint32_t tables, uint64_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        keys[i] = sample_make(kind, seed);
        if (tables > 0) {
            sample_set_table(&keys[i], 1 + sample_random(seed) % tables);
        }
    }
    if (count != 0) {
        qsort(keys, count, sizeof keys[0], sample_compare);
    }
    size_t distinct = 0;
    for (size_t i = 0; i < count; i++) {
        if (distinct == 0 || sample_compare(&keys[distinct - 1], &keys[i]) != 0) {
            keys[distinct++] = keys[i];
        }
    }
    return distinct;
}

/* An operation without record, in exactly the bytes that it needs, from malloc. */
static inline pt_pending *sample_pending(pt_slice key)
{
    pt_pending *pending = calloc(1, sizeof *pending + key.size);
    assert_non_null(pending);
    pending->key_size = (uint16_t)key.size;
    pending->newest = true;
    if (key.size != 0) {
        memcpy(pending->bytes, key.data, key.size);
    }
    return pending;
}

#endif
