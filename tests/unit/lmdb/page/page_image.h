/*
 * A small file of LMDB's made byte by byte: 8 pages with a tree, or a list of free pages.
 */
#ifndef TESTS_UNIT_LMDB_PAGE_PAGE_IMAGE_H
#define TESTS_UNIT_LMDB_PAGE_PAGE_IMAGE_H

#include "fixtures/cmocka.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lmdb/page/page.h"

enum { PAGE = 512, PAGES = 8, LAST = PAGES - 1, BRANCH = 1, LEAF = 2, OVERFLOW = 4, META = 8 };

static uint8_t image[PAGES * PAGE];

typedef struct image_entry {
    const char *key;
    size_t key_size;
    const char *value; /* NULL: `number` stands for it */
    size_t value_size; /* 0: `value` is a text */
    unsigned flags;    /* of an entry with a value */
    uint64_t number;   /* of a child, or of the first overflow page */
    uint32_t size;     /* of a value on overflow pages */
} image_entry;

#define KEY(text) .key = text, .key_size = sizeof(text) - 1

static inline void put(size_t at, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++) {
        image[at + i] = (uint8_t)(number >> 8 * i);
    }
}

static inline size_t value_size_of(const image_entry *from)
{
    return from->value == NULL     ? sizeof from->number
           : from->value_size != 0 ? from->value_size
                                   : strlen(from->value);
}

/* Returns the bytes that it takes. */
static inline size_t put_entry(uint8_t *bytes, bool is_leaf, const image_entry *from)
{
    size_t value_size = is_leaf ? value_size_of(from) : 0;
    pt_put_le64(bytes, from->number); /* the key's size overwrites its end */
    if (is_leaf) {
        pt_put_le32(bytes, from->value != NULL ? (uint32_t)value_size : from->size);
        bytes[4] = (uint8_t)(from->value != NULL ? from->flags : PT_LMDB_ENTRY_BIG);
        bytes[5] = 0;
    }
    bytes[6] = (uint8_t)from->key_size;
    bytes[7] = (uint8_t)(from->key_size >> 8);
    memcpy(bytes + 8, from->key, from->key_size);
    if (is_leaf && from->value != NULL) {
        memcpy(bytes + 8 + from->key_size, from->value, value_size);
    } else if (is_leaf) {
        pt_put_le64(bytes + 8 + from->key_size, from->number);
    }
    size_t size = 8 + from->key_size + value_size;
    return size + size % 2;
}

static inline void put_page(size_t number, unsigned flags, const image_entry *entries, size_t count)
{
    uint8_t room[PAGE];
    size_t upper = PAGE;
    size_t page = number * PAGE;
    memset(image + page, 0, PAGE);
    for (size_t i = 0; i < count; i++) {
        memset(room, 0, sizeof room);
        size_t size = put_entry(room, flags == LEAF, &entries[i]);
        upper -= size;
        memcpy(image + page + upper, room, size);
        put(page + 16 + 2 * i, 2, upper);
    }
    put(page, 8, number);
    put(page + 10, 2, flags);
    put(page + 12, 2, 16 + 2 * count);
    put(page + 14, 2, upper);
}

/* 2 is a branch over the leaves 3 and 4; a value lies on 5 and 6. */
static inline void put_tree(void)
{
    static const image_entry root[] = {{KEY(""), .number = 3}, {KEY("m"), .number = 4}};
    static const image_entry left[] = {{KEY("a"), .value = "one"},
                                       {KEY("b"), .number = 5, .size = PAGE},
                                       {KEY("c"), .value = "two"}};
    static const image_entry right[] = {{KEY("m"), .value = "three"}, {KEY("z"), .value = "four"}};
    memset(image, 0, sizeof image);
    put_page(2, BRANCH, root, 2);
    put_page(3, LEAF, left, 3);
    put_page(4, LEAF, right, 2);
    put_page(5, OVERFLOW, NULL, 0);
    put(5 * PAGE + 12, 4, 2);
}

static const pt_lmdb_root whole_root = {
    .depth = 2, .branch_pages = 1, .leaf_pages = 2, .overflow_pages = 2, .entries = 5, .page = 2};

/* A descriptor of the image, of so many bytes. */
static inline int open_image(size_t size)
{
    int fd = memfd_create("pages", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, image, size), size);
    return fd;
}

static inline void expect_text(const char *text, const char *words)
{
    if (text == NULL || strstr(text, words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, text != NULL ? text : "(nothing)");
    }
}

/* --- Meta pages --- */

static inline void put_meta_at(size_t at, uint64_t number, uint32_t page_size, uint64_t version)
{
    memset(image + at, 0, PT_LMDB_META_SIZE);
    put(at, 8, number);
    put(at + 10, 2, META);
    put(at + 16, 4, 0xBEEFC0DE);
    put(at + 20, 4, 1);
    put(at + 40, 4, page_size);
    put(at + 44, 2, 0x4008);
    put(at + 80, 8, PT_LMDB_NO_PAGE);
    put(at + 128, 8, PT_LMDB_NO_PAGE);
    put(at + 136, 8, LAST);
    put(at + 144, 8, version);
}

static inline void put_metas(void)
{
    put_tree();
    put_meta_at(0, 0, PAGE, 8);
    put_meta_at(PAGE, 1, PAGE, 9);
}

/* The list of free pages of the version that page 1 shows, with two pages, in page 2. */
static inline void put_list(void)
{
    static const image_entry list[] = {
        {KEY("\1\0\0\0\0\0\0\0"), .value = "123456781234567812345678"}};
    put_metas();
    put_page(2, LEAF, list, 1);
    size_t value = (size_t)3 * PAGE - 24;
    put(value, 8, 2);
    put(value + 8, 8, 7);
    put(value + 16, 8, 6);
    put(PAGE + 46, 2, 1); /* depth, leaf pages, entries and page of the root */
    put(PAGE + 56, 8, 1);
    put(PAGE + 72, 8, 1);
    put(PAGE + 80, 8, 2);
}

/* A number written into the image, and what is then said. */
typedef struct page_damage {
    size_t at;
    size_t size;
    uint64_t number;
    const char *words;
} page_damage;

#endif
