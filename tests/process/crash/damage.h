/*
 * Images of a store's file, and what can happen to them: bits that flip, pages that are zeroed,
 * exchanged or old, ends that are missing, and numbers that are changed where they hurt.
 */
#ifndef TESTS_PROCESS_CRASH_DAMAGE_H
#define TESTS_PROCESS_CRASH_DAMAGE_H

#include <sys/stat.h>

#include "fixtures/child.h"
#include "random/random.h"

enum { DAMAGE_PAGE = 4096, DAMAGE_RUN_MAX = 64, DAMAGE_AIMS = 200 };

typedef struct image {
    uint8_t *bytes;
    size_t size;
} image;

static inline image image_of(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &status), 0);
    image read = {.bytes = malloc((size_t)status.st_size), .size = (size_t)status.st_size};
    assert_non_null(read.bytes);
    assert_true(read_all(fd, read.bytes, read.size));
    close(fd);
    return read;
}

static inline void write_image(const char *path, const image *written)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_true(write_all(fd, written->bytes, written->size));
    close(fd);
}

static inline size_t pages_of(const image *in)
{
    return in->size / DAMAGE_PAGE;
}

static inline uint8_t *page_of(const image *in, size_t page)
{
    return in->bytes + page * DAMAGE_PAGE;
}

static inline unsigned short_at(const uint8_t *bytes)
{
    return bytes[0] | (unsigned)bytes[1] << 8;
}

/* A page that looks like one with these flags (1 branch, 2 leaf, 4 overflow), or any. */
static inline size_t page_like(const image *in, unsigned flags, uint64_t *random)
{
    for (int tries = 0; tries < DAMAGE_AIMS; tries++) {
        size_t page = random_below(random, (unsigned)pages_of(in));
        if (short_at(page_of(in, page) + 10) == flags) {
            return page;
        }
    }
    return random_below(random, (unsigned)pages_of(in));
}

/* The number of `size` bytes there becomes one near it, a small one, or any. */
static inline void change_number(uint8_t *bytes, size_t size, uint64_t *random)
{
    uint64_t number = 0;
    memcpy(&number, bytes, size);
    switch (random_below(random, 5)) {
    case 0:
        number += 1 + random_below(random, 16);
        break;
    case 1:
        number -= 1 + random_below(random, 16);
        break;
    case 2:
        number = random_below(random, 300);
        break;
    case 3:
        number = UINT64_MAX - random_below(random, 2);
        break;
    default:
        number = random_next(random);
    }
    memcpy(bytes, &number, size);
}

static inline void flip(uint8_t *byte, uint64_t *random)
{
    *byte = (uint8_t)(*byte ^ 1u << random_below(random, 8));
}

/* An entry of the page, by its slot. */
static inline uint8_t *entry_like(uint8_t *page, uint64_t *random)
{
    unsigned lower = short_at(page + 12);
    unsigned slots = lower > 16 && lower < DAMAGE_PAGE ? (lower - 16) / 2 : 1;
    unsigned at = short_at(page + 16 + 2 * (size_t)random_below(random, slots));
    return page + (at <= DAMAGE_PAGE - 8 ? at : DAMAGE_PAGE - 8);
}

/* --- The kinds --- */

typedef void damage_kind(image *in, const image *older, uint64_t *random);

static inline void flip_anywhere(image *in, const image *older, uint64_t *random)
{
    (void)older;
    flip(in->bytes + random_next(random) % in->size, random);
}

static inline void flip_in_header(image *in, const image *older, uint64_t *random)
{
    (void)older;
    size_t page = random_below(random, (unsigned)pages_of(in));
    flip(page_of(in, page) + random_below(random, 32), random);
}

static inline void zero_page(image *in, const image *older, uint64_t *random)
{
    (void)older;
    memset(page_of(in, random_below(random, (unsigned)pages_of(in))), 0, DAMAGE_PAGE);
}

static inline void fill_page(image *in, const image *older, uint64_t *random)
{
    (void)older;
    uint8_t *page = page_of(in, random_below(random, (unsigned)pages_of(in)));
    for (size_t i = 0; i < DAMAGE_PAGE; i++) {
        page[i] = (uint8_t)random_next(random);
    }
}

static inline void fill_run(image *in, const image *older, uint64_t *random)
{
    (void)older;
    size_t size = 1 + random_below(random, DAMAGE_RUN_MAX);
    uint8_t *bytes = in->bytes + random_next(random) % (in->size - size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)random_next(random);
    }
}

static inline void swap_pages(image *in, const image *older, uint64_t *random)
{
    (void)older;
    uint8_t kept[DAMAGE_PAGE];
    uint8_t *a = page_of(in, random_below(random, (unsigned)pages_of(in)));
    uint8_t *b = page_of(in, random_below(random, (unsigned)pages_of(in)));
    memcpy(kept, a, DAMAGE_PAGE);
    memmove(a, b, DAMAGE_PAGE);
    memcpy(b, kept, DAMAGE_PAGE);
}

static inline void copy_page(image *in, const image *older, uint64_t *random)
{
    (void)older;
    uint8_t *a = page_of(in, random_below(random, (unsigned)pages_of(in)));
    const uint8_t *b = page_of(in, random_below(random, (unsigned)pages_of(in)));
    memmove(a, b, DAMAGE_PAGE);
}

/* Not a meta page: an old one is an old version, and as good as any. */
static inline void bring_back(image *in, const image *older, uint64_t *random)
{
    size_t pages = pages_of(older) < pages_of(in) ? pages_of(older) : pages_of(in);
    size_t page = 2 + random_below(random, (unsigned)pages - 2);
    memcpy(page_of(in, page), page_of(older, page), DAMAGE_PAGE);
}

static inline void cut_at_page(image *in, const image *older, uint64_t *random)
{
    (void)older;
    in->size = random_below(random, (unsigned)pages_of(in)) * (size_t)DAMAGE_PAGE;
}

static inline void cut_anywhere(image *in, const image *older, uint64_t *random)
{
    (void)older;
    in->size = random_next(random) % in->size;
}

static inline void change_slot(image *in, const image *older, uint64_t *random)
{
    (void)older;
    uint8_t *page = page_of(in, page_like(in, 1 + random_below(random, 2), random));
    change_number(page + 16 + 2 * (size_t)random_below(random, 20), 2, random);
}

static inline void change_bounds(image *in, const image *older, uint64_t *random)
{
    (void)older;
    uint8_t *page = page_of(in, page_like(in, 1 + random_below(random, 2), random));
    change_number(page + 12 + 2 * (size_t)random_below(random, 2), 2, random);
}

static inline void change_value_size(image *in, const image *older, uint64_t *random)
{
    (void)older;
    change_number(entry_like(page_of(in, page_like(in, 2, random)), random), 4, random);
}

static inline void change_entry_flags(image *in, const image *older, uint64_t *random)
{
    (void)older;
    change_number(entry_like(page_of(in, page_like(in, 2, random)), random) + 4, 2, random);
}

static inline void change_key_size(image *in, const image *older, uint64_t *random)
{
    (void)older;
    size_t page = page_like(in, 1 + random_below(random, 2), random);
    change_number(entry_like(page_of(in, page), random) + 6, 2, random);
}

static inline void change_child(image *in, const image *older, uint64_t *random)
{
    (void)older;
    change_number(entry_like(page_of(in, page_like(in, 1, random)), random), 4, random);
}

static inline void change_overflow(image *in, const image *older, uint64_t *random)
{
    (void)older;
    uint8_t *page = page_of(in, page_like(in, 4, random));
    change_number(page + (random_below(random, 2) != 0 ? 12 : 0), 4, random);
}

/* Meta pages: page size and what follows. */
static inline void change_meta(image *in, const image *older, uint64_t *random)
{
    (void)older;
    size_t page = random_below(random, 2);
    change_number(page_of(in, page) + 40 + 8 * (size_t)random_below(random, 14), 8, random);
}

static inline void flip_in_meta(image *in, const image *older, uint64_t *random)
{
    (void)older;
    flip(page_of(in, random_below(random, 2)) + random_below(random, 152), random);
}

/* Roots of the sub-databases, wherever their names lie in the file. */
static inline void change_root(image *in, const image *older, uint64_t *random)
{
    (void)older;
    static const char *const names[] = {"entities", "long_keys", "chunks", "garbage"};
    const char *name = names[random_below(random, 4)];
    uint8_t *from = in->bytes + random_next(random) % in->size;
    uint8_t *found = memmem(from, (size_t)(in->bytes + in->size - from), name, strlen(name));
    if (found == NULL) {
        found = memmem(in->bytes, in->size, name, strlen(name));
    }
    uint8_t *root = found + strlen(name) + 4 + 8 * (size_t)random_below(random, 6);
    change_number(root, random_below(random, 2) != 0 ? 2 : 4, random);
}

/* What the main database says of the store. */
static inline void change_state(image *in, const image *older, uint64_t *random)
{
    (void)older;
    static const char *const names[] = {"current", "header", "bucket"};
    const char *name = names[random_below(random, 3)];
    uint8_t *from = in->bytes + random_next(random) % in->size;
    uint8_t *found = memmem(from, (size_t)(in->bytes + in->size - from), name, strlen(name));
    if (found == NULL) {
        found = memmem(in->bytes, in->size, name, strlen(name));
    }
    change_number(found + strlen(name) + random_below(random, 46), 2, random);
}

static const struct {
    const char *name;
    damage_kind *harm;
} damages[] = {
    {"a bit flipped anywhere", flip_anywhere},
    {"a bit flipped in a page's header", flip_in_header},
    {"a page zeroed", zero_page},
    {"a page filled at random", fill_page},
    {"some bytes at random", fill_run},
    {"two pages exchanged", swap_pages},
    {"a page in another's place", copy_page},
    {"a page of an older version", bring_back},
    {"cut at a page", cut_at_page},
    {"cut anywhere", cut_anywhere},
    {"a slot", change_slot},
    {"a page's bounds", change_bounds},
    {"the size of a value", change_value_size},
    {"the flags of an entry", change_entry_flags},
    {"the size of a key", change_key_size},
    {"the number of a child", change_child},
    {"the header of overflow pages", change_overflow},
    {"a number in a meta page", change_meta},
    {"a bit in a meta page", flip_in_meta},
    {"the root of a sub-database", change_root},
    {"the store's own state", change_state},
};

enum { DAMAGES = sizeof damages / sizeof damages[0] };

#endif
