/*
 * A walk over one of LMDB's trees that trusts nothing: it verifies each page before it looks at it,
 * and passes over those that are damaged.
 */
#ifndef PT_LMDB_PAGE_WALK_H
#define PT_LMDB_PAGE_WALK_H

#include "base/buffer.h"
#include "lmdb/page/page_file.h"

typedef struct pt_lmdb_walk pt_lmdb_walk;

/* What a walk tells. */
typedef struct pt_lmdb_walk_listener {
    void *context;
    /* NULL is allowed. Before `count` pages from `first` on are read. False: they have been read
     * already, and are not read again. */
    bool (*claim)(void *context, uint64_t first, uint64_t count);
    /*
     * A page is damaged, and what lies behind it left out: keys >= low and < high; empty: up to the
     * end of the tree. SQLITE_OK to go on, or the code that ends the walk.
     */
    int (*problem)(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                   pt_slice low, pt_slice high);
} pt_lmdb_walk_listener;

/* One page of the way from the root to where the walk is. */
typedef struct pt_lmdb_level {
    uint8_t *bytes;  /* a page; from sqlite3_malloc, or NULL */
    uint64_t number; /* 0: none */
    pt_lmdb_page page;
    unsigned next; /* entry */
    pt_slice low;  /* what keys below here are within, as far as branches say */
    pt_slice high;
} pt_lmdb_level;

struct pt_lmdb_walk {
    const pt_lmdb_page_file *file;
    const char *name; /* of the tree, for messages */
    pt_lmdb_root root;
    pt_lmdb_order order;
    pt_lmdb_walk_listener listener;
    unsigned depth; /* levels in use */
    pt_lmdb_level levels[PT_LMDB_DEPTH_LIMIT];
    pt_buffer value;   /* of overflow pages */
    bool skips_values; /* values on overflow pages are not read */

    /* Met so far. */
    int64_t problems;
    uint64_t bad_page; /* of the last problem, and what it was */
    const char *bad_what;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
};

/* Before the first entry of a tree whose root was judged. The walk is ended with
 * pt_lmdb_walk_end. */
void pt_lmdb_walk_begin(pt_lmdb_walk *walk, const pt_lmdb_page_file *file, const char *name,
                        const pt_lmdb_root *root, pt_lmdb_order order,
                        const pt_lmdb_walk_listener *listener);

/*
 * The next entry; its value is whole, also where it lies on overflow pages. *found = false: there
 * is none. Valid until the next call. SQLITE_NOMEM, SQLITE_IOERR_READ, and what the
 * listener answers.
 */
int pt_lmdb_walk_next(pt_lmdb_walk *walk, pt_lmdb_entry *entry, bool *found, pt_error *error);

/* Goes before the first key that is not less than this one; the walk must claim nothing. */
int pt_lmdb_walk_seek(pt_lmdb_walk *walk, pt_slice key, pt_error *error);

/* Goes before the last entry of the tree. */
int pt_lmdb_walk_seek_last(pt_lmdb_walk *walk, pt_error *error);

/* After a whole walk without problems: NULL, or which of the root's numbers is wrong. */
const char *pt_lmdb_walk_judge(const pt_lmdb_walk *walk);

/* For listeners whose walk is to end with the first problem: SQLITE_CORRUPT. */
int pt_lmdb_walk_stop(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                      pt_slice low, pt_slice high);

/* For listeners whose walk reads no page twice if it reads only so many: their context is the
 * number of pages that are left, a uint64_t. */
bool pt_lmdb_walk_claim_number(void *pages_left, uint64_t first, uint64_t count);

void pt_lmdb_walk_end(pt_lmdb_walk *walk);

#endif
