/*
 * The pages of LMDB's file, read without trusting them: no function here reads outside the bytes it
 * is given, whatever they contain.
 *
 * This is the layout of a page in LMDB's data version 1 on a 64-bit little-endian machine. All
 * numbers are little-endian:
 *
 *     0   8 bytes   number of the page
 *     8   2 bytes   unused
 *    10   2 bytes   flags: 1 branch, 2 leaf, 4 overflow, 8 meta
 *    12   2 bytes   lower: where the slots end. On the first page of a run of overflow pages bytes
 *                   12 to 15 are the number of pages in the run; its other pages have no header
 *    14   2 bytes   upper: where the entries begin
 *    16   slots of 2 bytes, in key order: the offset of an entry in the page
 *
 * The entries lie between `upper` and the end of the page, at even offsets, in any order and
 * without gaps. An entry:
 *
 *     0   4 bytes   leaf: size of the value; branch: low 32 bits of the child's page number
 *     4   2 bytes   leaf: flags. 1: the value is on overflow pages, and the entry holds the number
 *                   of the first, 8 bytes, in its place; 2: the value is the root of a
 *                   sub-database. Branch: high 16 bits of the child's page number
 *     6   2 bytes   size of the key
 *     8   the key (not used in the first entry of a branch page), then the value
 *
 * The root of a tree, as the value of an entry or in a meta page:
 *
 *     0   4 bytes   unused; in the root of the list of free pages: the page size
 *     4   2 bytes   flags of the database
 *     6   2 bytes   depth
 *     8   8 bytes each: branch pages, leaf pages, overflow pages, entries, page number of the root
 *         (all ones if the tree is empty)
 *
 * Pages 0 and 1 are meta pages. A commit writes page 0 if its number is even, page 1 if it is odd:
 *
 *    16   4 bytes   magic number
 *    20   4 bytes   version: 1
 *    24   8 bytes   unused
 *    32   8 bytes   size of the map
 *    40   root of the list of free pages
 *    88   root of the main database
 *   136   8 bytes   number of the last page
 *   144   8 bytes   number of the commit
 */
#ifndef PT_LMDB_PAGE_PAGE_H
#define PT_LMDB_PAGE_PAGE_H

#include "base/bytes.h"

enum {
    PT_LMDB_PAGE_FLAGS_AT = 10,
    PT_LMDB_PAGE_LOWER_AT = 12,
    PT_LMDB_PAGE_UPPER_AT = 14,
    PT_LMDB_PAGE_HEADER = 16, /* bytes before the first slot */
    PT_LMDB_PAGE_SLOT = 2,
    PT_LMDB_ENTRY_FLAGS_AT = 4,
    PT_LMDB_ENTRY_KEY_SIZE_AT = 6,
    PT_LMDB_ENTRY_HEADER = 8,
    PT_LMDB_META_SIZE = 152, /* bytes of a meta page that are used */
    PT_LMDB_ROOT_SIZE = 48,
    PT_LMDB_METAS = 2,
    PT_LMDB_KEY_MAX = 511,
    PT_LMDB_PAGE_MIN = 256,
    PT_LMDB_PAGE_MAX = 32768,
    PT_LMDB_DEPTH_LIMIT = 32,
};

/* Flags of pages. */
enum {
    PT_LMDB_PAGE_BRANCH = 1,
    PT_LMDB_PAGE_LEAF = 2,
    PT_LMDB_PAGE_OVERFLOW = 4,
    PT_LMDB_PAGE_META = 8,
};

/* Flags of entries on leaf pages. */
enum { PT_LMDB_ENTRY_BIG = 1, PT_LMDB_ENTRY_ROOT = 2 };

#define PT_LMDB_NO_PAGE UINT64_MAX

typedef struct pt_lmdb_root {
    uint16_t flags;
    uint16_t depth;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
    uint64_t page; /* PT_LMDB_NO_PAGE: the tree is empty */
} pt_lmdb_root;

typedef struct pt_lmdb_meta {
    uint32_t page_size;
    pt_lmdb_root free;
    pt_lmdb_root main;
    uint64_t last_page;
    uint64_t version; /* number of the commit */
} pt_lmdb_meta;

/* A sound page. Valid as long as its bytes. */
typedef struct pt_lmdb_page {
    const uint8_t *bytes;
    size_t size;
    unsigned count; /* of entries, not 0 */
    bool is_leaf;
} pt_lmdb_page;

typedef struct pt_lmdb_entry {
    pt_slice key;
    uint64_t child;      /* branch page: page number of the child */
    uint16_t flags;      /* leaf page, and so for the other members */
    uint64_t value_size; /* bytes */
    pt_slice value;      /* the part of the value that lies in this page */
} pt_lmdb_entry;

/* Compares two keys: pt_slice_compare, or for LMDB's list of free pages pt_lmdb_compare_numbers. */
typedef int (*pt_lmdb_order)(pt_slice a, pt_slice b);
int pt_lmdb_compare_numbers(pt_slice a, pt_slice b); /* of 8 bytes each */

/*
 * The next functions return NULL if all is well, or a text that continues "page 7 ...".
 */

/* Reads PT_LMDB_META_SIZE bytes of meta page `number`. Values that change with each commit are not
 * checked: pt_lmdb_meta_judge does that. */
const char *pt_lmdb_meta_read(const uint8_t *bytes, uint64_t number, pt_lmdb_meta *meta);

/*
 * Checks the values that change with each commit, for meta page `number` of a file that has this
 * many pages. The file may lack free pages at its end.
 */
const char *pt_lmdb_meta_judge(const pt_lmdb_meta *meta, uint64_t number, uint64_t pages);

/* Checks that a root is possible in a file with this last page. */
const char *pt_lmdb_root_judge(const pt_lmdb_root *root, uint64_t last_page);

/* Checks every entry of a branch or leaf page: its bounds, its size, the order of the keys. */
const char *pt_lmdb_page_open(pt_lmdb_page *page, const uint8_t *bytes, size_t size,
                              uint64_t number, pt_lmdb_order order);

/* Checks that a page is the first of a run of `count` overflow pages. */
const char *pt_lmdb_overflow_judge(const uint8_t *bytes, uint64_t number, uint64_t count);

/*
 * Checks an entry of the list of free pages. Its key is the number of a commit, which must not be
 * later than this version. Its value is a count and that many page numbers in falling order, of 8
 * bytes each.
 */
const char *pt_lmdb_free_list_judge(const pt_lmdb_entry *entry, const pt_lmdb_meta *meta);

/* The count, and the page numbers, of a sound entry of the list of free pages. */
static inline uint64_t pt_lmdb_free_list_count(const pt_lmdb_entry *entry)
{
    return pt_get_le64(entry->value.data);
}

static inline uint64_t pt_lmdb_free_list_page(const pt_lmdb_entry *entry, uint64_t index)
{
    return pt_get_le64(entry->value.data + sizeof(uint64_t) * (index + 1));
}

void pt_lmdb_root_read(const uint8_t bytes[PT_LMDB_ROOT_SIZE], pt_lmdb_root *root);

/* An entry of a sound page. The key of the first one on a branch page is empty. */
pt_lmdb_entry pt_lmdb_page_entry(const pt_lmdb_page *page, unsigned index);

/* The number of overflow pages that a value needs. */
static inline uint64_t pt_lmdb_overflow_pages(uint64_t value_size, size_t page_size)
{
    return (PT_LMDB_PAGE_HEADER + value_size + page_size - 1) / page_size;
}

#endif
