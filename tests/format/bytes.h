/*
 * Bytes of a store, as ext/FORMAT.md describes them: numbers, seals, times. Nothing here or in the
 * other headers of this folder comes from ext/: the description is all that they follow.
 */
#ifndef TESTS_FORMAT_BYTES_H
#define TESTS_FORMAT_BYTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct bytes {
    const uint8_t *at;
    size_t size;
} bytes;

/* Says what is not as described, and ends the program. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "not as described: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static inline void expect(bool holds, const char *what)
{
    if (!holds) {
        fail("%s", what);
    }
}

static inline void *need(void *memory)
{
    expect(memory != NULL, "the memory, which is full");
    return memory;
}

/* The bytes from there on; fails if there are not so many. */
static inline bytes part(bytes whole, size_t at, size_t size)
{
    expect(at <= whole.size && size <= whole.size - at, "a size: something ends too early");
    return (bytes){.at = whole.at + at, .size = size};
}

static inline bytes rest_of(bytes whole, size_t at)
{
    expect(at <= whole.size, "a size: something ends too early");
    return part(whole, at, whole.size - at);
}

static inline bytes text_bytes(const char *text)
{
    return (bytes){.at = (const uint8_t *)text, .size = strlen(text)};
}

static inline int compare(bytes a, bytes b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common != 0 ? memcmp(a.at, b.at, common) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static inline bool same(bytes a, bytes b)
{
    return compare(a, b) == 0;
}

static inline bool begins_with(bytes all, bytes start)
{
    return all.size >= start.size && compare(part(all, 0, start.size), start) == 0;
}

/* --- Numbers --- */

static inline uint64_t little(bytes from, size_t at, size_t size)
{
    uint64_t number = 0;
    bytes digits = part(from, at, size);
    for (size_t i = size; i-- > 0;) {
        number = number << 8 | digits.at[i];
    }
    return number;
}

static inline uint64_t big(bytes from, size_t at, size_t size)
{
    uint64_t number = 0;
    bytes digits = part(from, at, size);
    for (size_t i = 0; i < size; i++) {
        number = number << 8 | digits.at[i];
    }
    return number;
}

/* --- Bytes that are put together --- */

typedef struct builder {
    uint8_t *at;
    size_t size;
    size_t room;
} builder;

static inline void add_bytes(builder *to, bytes more)
{
    if (to->size + more.size > to->room) {
        to->room = 2 * (to->size + more.size);
        to->at = need(realloc(to->at, to->room));
    }
    if (more.size != 0) {
        memcpy(to->at + to->size, more.at, more.size);
    }
    to->size += more.size;
}

static inline void add_byte(builder *to, unsigned byte)
{
    uint8_t one = (uint8_t)byte;
    add_bytes(to, (bytes){.at = &one, .size = 1});
}

static inline void add_big(builder *to, uint64_t number, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        add_byte(to, (unsigned)(number >> (8 * i)) & 0xFF);
    }
}

static inline bytes built(const builder *from)
{
    return (bytes){.at = from->at, .size = from->size};
}

/* --- Seals --- */

static inline uint32_t seal_of(bytes key, bytes content)
{
    return (uint32_t)XXH3_64bits_withSeed(content.at, content.size, XXH3_64bits(key.at, key.size));
}

/* The content of a sealed record. */
static inline bytes unseal(bytes key, bytes record, const char *what)
{
    expect(record.size >= 4, what);
    bytes content = part(record, 0, record.size - 4);
    expect(little(record, content.size, 4) == seal_of(key, content), what);
    return content;
}

/* --- Times and GUIDs as texts --- */

enum { TIME_SIZE = 28, GUID_SIZE = 36 };

static inline int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

/* Ticks of 100 ns since 0001-01-01T00:00:00Z. */
static inline void format_time(uint64_t ticks, char text[TIME_SIZE + 1])
{
    enum { TICKS_PER_SECOND = 10000000, SECONDS_PER_DAY = 86400 };
    uint64_t seconds = ticks / TICKS_PER_SECOND;
    int64_t day = (int64_t)(seconds / SECONDS_PER_DAY);
    unsigned second = (unsigned)(seconds % SECONDS_PER_DAY);
    int64_t year = 1;
    int month = 1;
    while (day >= days_in_month(year, month)) {
        day -= days_in_month(year, month);
        year += month == 12 ? 1 : 0;
        month = month % 12 + 1;
    }
    snprintf(text, TIME_SIZE + 1, "%04u-%02u-%02uT%02u:%02u:%02u.%07uZ", (unsigned)year % 10000,
             (unsigned)month % 100, (unsigned)(day + 1) % 100, second / 3600, second / 60 % 60,
             second % 60, (unsigned)(ticks % TICKS_PER_SECOND));
}

static inline void format_guid(bytes guid, char text[GUID_SIZE + 1])
{
    char *to = text;
    for (size_t i = 0; i < 16; i++) {
        bool dash = i == 4 || i == 6 || i == 8 || i == 10;
        to += sprintf(to, "%s%02x", dash ? "-" : "", part(guid, i, 1).at[0]);
    }
}

#endif
