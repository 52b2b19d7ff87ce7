/*
 * What a run has read: how many rows, and a sum over all values, which must be the same on all
 * sides. A thorough digest, of untimed runs, counts every byte; the others only as much as makes
 * sure that the value is there, because the time that it takes is the same on all sides.
 */
#ifndef TESTS_BENCH_DIGEST_H
#define TESTS_BENCH_DIGEST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct checksum {
    uint64_t rows;
    uint64_t sum;
    bool thorough;
} checksum;

/* Makes the same value count differently in another column. */
static inline uint64_t digest_weigh(uint64_t value, char letter)
{
    return value * (2 * (uint64_t)(unsigned char)letter + 1);
}

/* FNV-1a. */
static inline uint64_t digest_bytes(const char *bytes, uint32_t size)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (uint32_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

static inline void digest_text(checksum *digest, char letter, const char *bytes, uint32_t size)
{
    uint64_t value = digest->thorough ? digest_bytes(bytes, size)
                     : size > 0       ? 256 * (uint64_t)size + (unsigned char)bytes[size - 1]
                                      : 0;
    digest->sum += digest_weigh(value, letter);
}

static inline void digest_integer(checksum *digest, char letter, int64_t value)
{
    digest->sum += digest_weigh((uint64_t)value, letter);
}

static inline void digest_real(checksum *digest, char letter, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    digest->sum += digest_weigh(bits, letter);
}

#endif
