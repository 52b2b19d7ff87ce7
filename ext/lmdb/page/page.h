/*
 * The pages of LMDB's file, read without trusting them: nothing here reads outside the bytes it was
 * given, whatever they are.
 *
 * A page of data version 1 on a 64-bit little-endian machine, all numbers little-endian:
 *
 *     0   8 bytes   number of the page
 *     8   2 bytes   unused
 *    10   2 bytes   flags: 1 branch, 2 leaf, 4 overflow, 8 meta
 *    12   2 bytes   lower: where the slots end         (overflow pages: 4 bytes, how many there are
 *    14   2 bytes   upper: where the entries begin      in a row, of which only the first has this)
 *    16   slots of 2 bytes, in the order of the keys: where the entry begins in the page
 *
 * and an entry, at an even place behind `upper`, where the entries leave no gaps:
 *
 *     0   4 bytes   leaf: size of the value; branch: low half of the child's page number
 *     4   2 bytes   leaf: flags, 1 the value is on overflow pages and 8 bytes, their number, stand
 *                   for it, 2 the value is the root of a sub-database; branch: the number goes on
 *     6   2 bytes   size of the key
 *     8   the key (not looked at in the first entry of a branch), then the value
 *
 * The root of a sub-database, as a value or in a meta page:
 *
 *     0   4 bytes   unused; of the list of free pages: the page size
 *     4   2 bytes   flags of the database
 *     6   2 bytes   depth
 *     8   8 bytes each: branch pages, leaf pages, overflow pages, entries, page of the root or all
 *         ones
 *
 * Pages 0 and 1 are meta pages; a commit writes the one with its number's last bit:
 *
 *    16   4 bytes   magic
 *    20   4 bytes   version: 1
 *    24   8 bytes   unused
 *    32   8 bytes   size of the map
 *    40   the root of the list of free pages
 *    88   the root of the main database
 *   136   8 bytes   number of the last page
 *   144   8 bytes   number of the commit
 */
#ifndef PT_LMDB_PAGE_PAGE_H
#define PT_LMDB_PAGE_PAGE_H

#include "base/bytes.h"

enum {
    PT_LMDB_PAGE_HEADER = 16,
    PT_LMDB_ENTRY_HEADER = 8,
    PT_LMDB_META_SIZE = 152, /* bytes of a meta page that mean something */
    PT_LMDB_ROOT_SIZE = 48,
    PT_LMDB_METAS = 2,
    PT_LMDB_KEY_MAX = 511,
    PT_LMDB_PAGE_MIN = 256,
    PT_LMDB_PAGE_MAX = 32768,
    PT_LMDB_DEPTH_LIMIT = 32,
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
    uint64_t page; /* PT_LMDB_NO_PAGE: there are no entries */
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
    uint64_t child;      /* on a branch page: of the page */
    uint16_t flags;      /* on a leaf page, and so below */
    uint64_t value_size; /* bytes */
    pt_slice value;      /* what lies in the page */
} pt_lmdb_entry;

/* What keys are compared as: LMDB's list of free pages has integers. */
typedef int (*pt_lmdb_order)(pt_slice a, pt_slice b);
int pt_lmdb_compare_numbers(pt_slice a, pt_slice b); /* of 8 bytes each */

/*
 * These return NULL, or what is wrong, in words that go on after "page 7 ".
 */

/* Reads PT_LMDB_META_SIZE bytes of meta page `number`. What commits change is not judged. */
const char *pt_lmdb_meta_read(const uint8_t *bytes, uint64_t number, pt_lmdb_meta *meta);

/*
 * Whether what commits change can be so in meta page `number` of a file of so many pages. The file
 * may lack free pages at its end.
 */
const char *pt_lmdb_meta_judge(const pt_lmdb_meta *meta, uint64_t number, uint64_t pages);

/* Whether a root can be one in a file with this last page. */
const char *pt_lmdb_root_judge(const pt_lmdb_root *root, uint64_t last_page);

/* Looks at every entry of a branch or leaf page: its bounds, its size, the order of the keys. */
const char *pt_lmdb_page_open(pt_lmdb_page *page, const uint8_t *bytes, size_t size,
                              uint64_t number, pt_lmdb_order order);

/* Whether a page is the first of so many overflow pages. */
const char *pt_lmdb_overflow_judge(const uint8_t *bytes, uint64_t number, uint64_t count);

/* Whether an entry of the list of free pages is a list of pages, of a commit before this version or
 * of it: its length, then so many numbers that fall, of 8 bytes each. */
const char *pt_lmdb_free_list_judge(const pt_lmdb_entry *entry, const pt_lmdb_meta *meta);

void pt_lmdb_root_read(const uint8_t bytes[PT_LMDB_ROOT_SIZE], pt_lmdb_root *root);

/* An entry of a sound page. The key of the first one on a branch page is empty. */
pt_lmdb_entry pt_lmdb_page_entry(const pt_lmdb_page *page, unsigned index);

/* Overflow pages of a value. */
static inline uint64_t pt_lmdb_overflow_pages(uint64_t value_size, size_t page_size)
{
    return (PT_LMDB_PAGE_HEADER + value_size + page_size - 1) / page_size;
}

#endif
