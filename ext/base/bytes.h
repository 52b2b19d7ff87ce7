/*
 * Byte strings and fixed-width integers. Integers are stored little-endian, but big-endian in keys,
 * where memcmp must give their order. They need no alignment.
 */
#ifndef PT_BASE_BYTES_H
#define PT_BASE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A byte string in memory that something else owns. `data` may be NULL when `size` is 0. */
typedef struct pt_slice {
    const uint8_t *data;
    size_t size;
} pt_slice;

static inline pt_slice pt_slice_of(const void *data, size_t size)
{
    return (pt_slice){.data = data, .size = size};
}

static inline pt_slice pt_slice_text(const char *text)
{
    return pt_slice_of(text, strlen(text));
}

/* Copies a slice member by member. If the members have just been stored one by one, this is faster
 * than copying the struct: one load of both members would wait for the two stores to retire. */
static inline pt_slice pt_slice_copy(const pt_slice *slice)
{
    return pt_slice_of(slice->data, slice->size);
}

/* Compares as memcmp does, a prefix before its extensions: the order of keys and of SQLite's BINARY
 * collation. */
static inline int pt_slice_compare(pt_slice a, pt_slice b)
{
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared != 0 ? memcmp(a.data, b.data, shared) : 0;
    if (order != 0) {
        return order;
    }
    return (a.size > b.size) - (a.size < b.size);
}

static inline bool pt_slice_equal(pt_slice a, pt_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool pt_slice_has_prefix(pt_slice text, pt_slice prefix)
{
    return text.size >= prefix.size &&
           (prefix.size == 0 || memcmp(text.data, prefix.data, prefix.size) == 0);
}

static inline bool pt_slice_has_nul(pt_slice text)
{
    return text.size != 0 && memchr(text.data, 0, text.size) != NULL;
}

/* The suffix must not be empty. */
static inline bool pt_slice_has_suffix(pt_slice text, pt_slice suffix)
{
    return text.size >= suffix.size &&
           memcmp(text.data + (text.size - suffix.size), suffix.data, suffix.size) == 0;
}

/* Adds modulo 2^64. For counts from a file: a damaged file may contain any number. */
static inline int64_t pt_add_counts(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* Compilers make one load of this; of shifted bytes they do not always. */

static inline uint16_t pt_get_le16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return le16toh(v);
}

static inline uint32_t pt_get_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return le32toh(v);
}

static inline uint64_t pt_get_le64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

static inline uint32_t pt_get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static inline void pt_put_le16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline void pt_put_le32(uint8_t *p, uint32_t v)
{
    pt_put_le16(p, (uint16_t)v);
    pt_put_le16(p + 2, (uint16_t)(v >> 16));
}

static inline void pt_put_le64(uint8_t *p, uint64_t v)
{
    pt_put_le32(p, (uint32_t)v);
    pt_put_le32(p + 4, (uint32_t)(v >> 32));
}

static inline void pt_put_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    p[1] = (uint8_t)(v >> 16);
    p[2] = (uint8_t)(v >> 8);
    p[3] = (uint8_t)v;
}

#endif
