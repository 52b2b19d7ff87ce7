/*
 * Walks a leaf page of LMDB's file without calling LMDB for every entry, and checks that what LMDB
 * returns lies inside the file.
 *
 * The layout of a page is in lmdb/page/page.h. A leaf that this module walks has the flags of a
 * leaf page and no others; an entry that it hands out has no flags, so its value follows its key.
 *
 * A leaf may be used as long as the read transaction lives: until then the page does not change.
 * Only speed depends on leaves: whatever looks different is left to LMDB, and nothing outside the
 * page is ever read.
 */
#ifndef PT_LMDB_LEAF_H
#define PT_LMDB_LEAF_H

#include "entity/key.h"
#include "lmdb/env.h"
#include "lmdb/page/format.h"
#include "lmdb/page/page.h"
#include "store/engine.h"

enum {
    PT_LMDB_LEAF_LINES = 3, /* cache lines of an entry to prefetch */
    PT_LMDB_LEAF_LINE = 64, /* bytes */
};

/* A position in a leaf page, and the rest of the walk in one direction. All zeros: none. */
typedef struct pt_lmdb_leaf {
    const uint8_t *page;
    const uint8_t *last; /* place in the page where an entry without key and value could be */
    const uint8_t *slot; /* of the entry at the position */
    ptrdiff_t stride;    /* from one slot to the next, in bytes */
    unsigned left;       /* entries to go that are within the limit, before the fence */
    unsigned ahead;      /* entries to prefetch ahead */
    pt_direction direction;
    uint16_t hidden; /* entries to go that are within the limit, behind the fence */
    bool at_limit;   /* the entry after those is beyond the limit */
} pt_lmdb_leaf;

/* True if pages of this size have the known layout, with the LMDB that runs, and are at multiples
 * of their size in memory. */
bool pt_lmdb_leaf_is_known(size_t page_size);

/*
 * Enters a known page at the entry whose key is at this address, to walk the entries from there on
 * that are within the limit: forward keys below it, backward keys not below it. An empty limit is
 * none. False if the page does not look as it should.
 */
bool pt_lmdb_leaf_enter(pt_lmdb_leaf *leaf, const uint8_t *key, size_t page_size,
                        pt_direction direction, pt_slice limit);

/* True if the entry whose key is at this address is the first one of its page, which is known. */
static inline bool pt_lmdb_leaf_is_first(const uint8_t *key, size_t page_size)
{
    size_t offset = (uintptr_t)key & (page_size - 1);
    size_t first = pt_get_le16(key - offset + PT_LMDB_PAGE_HEADER);
    return first + PT_LMDB_ENTRY_HEADER == offset;
}

/* Prefetches cache lines; the address may be anything. Always inlined: compilers drop calls of a
 * function that does nothing else. */
__attribute__((always_inline)) static inline void pt_lmdb_leaf_prefetch(uintptr_t from, int lines)
{
    for (int line = 0; line < lines; line++) {
        __builtin_prefetch((const void *)(from + (uintptr_t)line * PT_LMDB_LEAF_LINE));
    }
}

/* Prefetches the entry that a slot of the page points to. */
__attribute__((always_inline)) static inline void
pt_lmdb_leaf_prefetch_entry(const pt_lmdb_leaf *leaf, const uint8_t *slot)
{
    pt_lmdb_leaf_prefetch((uintptr_t)leaf->page + pt_get_le16(slot), PT_LMDB_LEAF_LINES);
}

/* Gives key and value of the entry that a slot of the page points to. False if the entry is one for
 * LMDB. */
static inline bool pt_lmdb_leaf_read(const pt_lmdb_leaf *leaf, const uint8_t *slot, pt_slice *key,
                                     pt_slice *value)
{
    const uint8_t *entry = leaf->page + pt_get_le16(slot);
    if (entry > leaf->last) {
        return false;
    }
    uint64_t header = pt_get_le64(entry);
    size_t value_size = (uint32_t)header;
    uint32_t upper = (uint32_t)(header >> 32);
    size_t key_size = upper >> 16 | upper << 16;   /* too large if there is any flag */
    size_t after_id = key_size - PT_KEY_TABLE_MAX; /* huge if the key is shorter */
    if (key_size + value_size > (size_t)(leaf->last - entry)) {
        return false;
    }
    /* Longer keys are links, and left to the caller. */
    if (after_id > PT_LMDB_SHORT_KEY_MAX - PT_KEY_TABLE_MAX &&
        (key_size > PT_LMDB_SHORT_KEY_MAX ||
         !pt_key_has_table(pt_slice_of(entry + PT_LMDB_ENTRY_HEADER, key_size)))) {
        return false;
    }
    *key = pt_slice_of(entry + PT_LMDB_ENTRY_HEADER, key_size);
    *value = pt_slice_of(key->data + key_size, value_size);
    return true;
}

/*
 * Steps to the next entry and gives its key and value, which are in the page. False, and nothing
 * changed, if the page has no further entry within the limit or the entry is one for LMDB. Always
 * inlined: a call would cost a scan 6 instructions a row.
 */
__attribute__((always_inline)) static inline bool pt_lmdb_leaf_step(pt_lmdb_leaf *leaf,
                                                                    pt_slice *key, pt_slice *value)
{
    if (leaf->left == 0) {
        return false;
    }
    const uint8_t *slot = leaf->slot + leaf->stride;
    if (!pt_lmdb_leaf_read(leaf, slot, key, value)) {
        return false;
    }
    leaf->slot = slot;
    leaf->left--;
    if (leaf->left >= leaf->ahead) {
        pt_lmdb_leaf_prefetch_entry(leaf, slot + (ptrdiff_t)leaf->ahead * leaf->stride);
    }
    return true;
}

/*
 * A fence: hides the entries that are not before the key (in the direction), until it is lifted.
 */
void pt_lmdb_leaf_fence(pt_lmdb_leaf *leaf, pt_slice key);

static inline void pt_lmdb_leaf_lift_fence(pt_lmdb_leaf *leaf)
{
    leaf->left += leaf->hidden;
    leaf->hidden = 0;
}

/* A fence right after the position. */
static inline void pt_lmdb_leaf_close_off(pt_lmdb_leaf *leaf)
{
    leaf->hidden = (uint16_t)(leaf->hidden + leaf->left); /* of one page */
    leaf->left = 0;
}

/* How many steps will succeed. */
unsigned pt_lmdb_leaf_ahead(const pt_lmdb_leaf *leaf);

/* Makes some of these steps. */
static inline void pt_lmdb_leaf_pass(pt_lmdb_leaf *leaf, unsigned steps)
{
    leaf->slot += (ptrdiff_t)steps * leaf->stride;
    leaf->left -= steps;
}

/*
 * Bounds: a damaged page may give any size for a key or value, and LMDB does not check it.
 */

/* True if a value that is not inside one page is on overflow pages that the file has. */
bool pt_lmdb_is_on_overflow_pages(const pt_lmdb_env *env, const MDB_val *value);

/* Bytes from the beginning of its page to `bytes`. */
static inline size_t pt_lmdb_offset_in_page(const pt_lmdb_env *env, const void *bytes)
{
    return ((uintptr_t)bytes - env->misalignment) & (env->page_size - 1);
}

static inline bool pt_lmdb_is_in_page(const pt_lmdb_env *env, const MDB_val *bytes)
{
    return pt_lmdb_offset_in_page(env, bytes->mv_data) + bytes->mv_size <= env->page_size;
}

static inline bool pt_lmdb_is_in_store(const pt_lmdb_env *env, const MDB_val *value)
{
    return pt_lmdb_is_in_page(env, value) || pt_lmdb_is_on_overflow_pages(env, value);
}

#endif
