/*
 * Walking a leaf page of LMDB's without calling LMDB for every entry.
 *
 * The layout of a page is in lmdb/page/page.h. A leaf that this module walks has the flags of a
 * leaf page and no others; an entry that it hands out has no flags, so its value follows its key.
 *
 * A page of a snapshot does not change while its read transaction lives, and not longer may a leaf
 * be used. Nothing depends on it but speed: what is not as above is left to LMDB, and nothing
 * outside the page is ever read.
 */
#ifndef PT_LMDB_LEAF_H
#define PT_LMDB_LEAF_H

#include "lmdb/env.h"
#include "lmdb/page/page.h"
#include "store/engine.h"

enum {
    PT_LMDB_LEAF_KEY_MIN = 4,   /* a table's id: what is shorter is none of ours */
    PT_LMDB_LEAF_KEY_MAX = 510, /* longer keys are links, which are for the caller to follow */
    PT_LMDB_LEAF_AHEAD = 4,     /* entries: how far in front one is asked for */
    PT_LMDB_LEAF_LINES = 3,     /* cache lines of it */
    PT_LMDB_LEAF_LINE = 64,     /* bytes */
};

/* A place in a leaf page and the way from there in one direction. All zeros: none. */
typedef struct pt_lmdb_leaf {
    const uint8_t *page;
    size_t page_size;
    const uint8_t *slot; /* of the entry where the leaf stands */
    ptrdiff_t stride;    /* from there to the next one's, in bytes */
    unsigned left;       /* entries to go that are within the limit */
    pt_direction direction;
    bool at_limit; /* the one behind those is beyond the limit */
} pt_lmdb_leaf;

/* Whether pages of this size, of the library's version, are as above and lie in memory at
 * multiples of their size. */
bool pt_lmdb_leaf_is_known(size_t page_size);

/*
 * Stands on the entry of a known page that has its key at this address. Of the entries from there
 * on in the direction those are to be walked that are within the limit: forward keys below it,
 * backward keys not below it; an empty limit is none. False if that is nothing the leaf can do.
 */
bool pt_lmdb_leaf_enter(pt_lmdb_leaf *leaf, const uint8_t *key, size_t page_size,
                        pt_direction direction, pt_slice limit);

/* Whether the entry of a known page that has its key at this address is the page's first one. */
static inline bool pt_lmdb_leaf_is_first(const uint8_t *key, size_t page_size)
{
    size_t offset = (uintptr_t)key & (page_size - 1);
    size_t first = pt_get_le16(key - offset + PT_LMDB_PAGE_HEADER);
    return first + PT_LMDB_ENTRY_HEADER == offset;
}

/* Asks for lines to be brought to the cache, wherever that is. Always inlined: compilers drop calls
 * of a function that does nothing else. */
__attribute__((always_inline)) static inline void pt_lmdb_leaf_prefetch(uintptr_t from, int lines)
{
    for (int line = 0; line < lines; line++) {
        __builtin_prefetch((const void *)(from + (uintptr_t)line * PT_LMDB_LEAF_LINE));
    }
}

/* Asks for the entry that a slot of the page leads to. */
__attribute__((always_inline)) static inline void
pt_lmdb_leaf_prefetch_entry(const pt_lmdb_leaf *leaf, const uint8_t *slot)
{
    pt_lmdb_leaf_prefetch((uintptr_t)leaf->page + pt_get_le16(slot), PT_LMDB_LEAF_LINES);
}

/*
 * Goes on to the next entry and gives its key and value, which lie in the page. False if there is
 * none within the limit on the page, or it is one for LMDB; then nothing has changed.
 */
static inline bool pt_lmdb_leaf_step(pt_lmdb_leaf *leaf, pt_slice *key, pt_slice *value)
{
    if (leaf->left == 0) {
        return false;
    }
    const uint8_t *slot = leaf->slot + leaf->stride;
    size_t offset = pt_get_le16(slot);
    if (offset > leaf->page_size - PT_LMDB_ENTRY_HEADER) {
        return false;
    }
    const uint8_t *entry = leaf->page + offset;
    uint64_t header = pt_get_le64(entry);
    size_t value_size = (uint32_t)header;
    uint32_t upper = (uint32_t)(header >> 32);
    size_t key_size = upper >> 16 | upper << 16;        /* any flag makes it too large */
    size_t behind_id = key_size - PT_LMDB_LEAF_KEY_MIN; /* large if the key is too small */
    if (behind_id > PT_LMDB_LEAF_KEY_MAX - PT_LMDB_LEAF_KEY_MIN ||
        offset + PT_LMDB_ENTRY_HEADER + key_size + value_size > leaf->page_size) {
        return false;
    }
    leaf->slot = slot;
    leaf->left--;
    if (leaf->left >= PT_LMDB_LEAF_AHEAD) {
        pt_lmdb_leaf_prefetch_entry(leaf, slot + PT_LMDB_LEAF_AHEAD * leaf->stride);
    }
    const uint8_t *found = entry + PT_LMDB_ENTRY_HEADER;
    *key = pt_slice_of(found, key_size);
    *value = pt_slice_of(found + key_size, value_size);
    return true;
}

/*
 * Whether what LMDB hands out lies where it can: a damaged page may say any size, and LMDB does not
 * look.
 */

/* Of a value that does not lie in one page: whether it is on overflow pages that the store has. */
bool pt_lmdb_is_on_overflow_pages(const pt_lmdb_env *env, const MDB_val *value);

/* How far behind its page's first byte something lies. */
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
