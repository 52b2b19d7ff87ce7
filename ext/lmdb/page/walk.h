/*
 * A walk over the entries of one of LMDB's trees, in key order. It trusts nothing: each page is
 * verified before its entries are read, and damaged pages are skipped.
 */
#ifndef PT_LMDB_PAGE_WALK_H
#define PT_LMDB_PAGE_WALK_H

#include "base/buffer.h"
#include "lmdb/page/page_file.h"

typedef struct pt_lmdb_walk pt_lmdb_walk;

/* Called during a walk. */
typedef struct pt_lmdb_walk_listener {
    void *context;
    /* Called before `count` pages from `first` on are read; NULL is allowed. False: at least one of
     * them was read before, so they are not read and count as damaged. */
    bool (*claim)(void *context, uint64_t first, uint64_t count);
    /*
     * Called for a damaged page, which is skipped with all pages below it: with the keys >= low and
     * < high. An empty low is the beginning of the tree, an empty high its end. For a damaged
     * value both are its key. SQLITE_OK to continue, or the code that ends the walk.
     */
    int (*problem)(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                   pt_slice low, pt_slice high);
} pt_lmdb_walk_listener;

/* One page on the path from the root to the walk's position. */
typedef struct pt_lmdb_level {
    uint8_t *bytes;  /* of the page; from sqlite3_malloc, or NULL */
    uint64_t number; /* of the sound page in `bytes`; 0: none */
    pt_lmdb_page page;
    unsigned next; /* the entry that comes next */
    pt_slice low;  /* bounds of the keys below here, from the branches above; empty: none */
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
    pt_buffer value;   /* a value that was read from overflow pages */
    bool skips_values; /* values on overflow pages are not read */

    /* Counted so far. */
    int64_t problems;
    uint64_t bad_page; /* of the last problem */
    const char *bad_what;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
};

/* Begins before the first entry of a tree, whose root must have passed pt_lmdb_root_judge. Ended
 * with pt_lmdb_walk_end. */
void pt_lmdb_walk_begin(pt_lmdb_walk *walk, const pt_lmdb_page_file *file, const char *name,
                        const pt_lmdb_root *root, pt_lmdb_order order,
                        const pt_lmdb_walk_listener *listener);

/*
 * Reads the next entry, with its whole value, also if that lies on overflow pages. *found = false:
 * there is none. Valid until the next call. SQLITE_NOMEM, SQLITE_IOERR_READ, and the codes of the
 * listener.
 */
int pt_lmdb_walk_next(pt_lmdb_walk *walk, pt_lmdb_entry *entry, bool *found, pt_error *error);

/* Moves before the first key that is not less than this one. Pages are read again, so the listener
 * must have no `claim`. */
int pt_lmdb_walk_seek(pt_lmdb_walk *walk, pt_slice key, pt_error *error);

/* Moves before the last entry of the tree. */
int pt_lmdb_walk_seek_last(pt_lmdb_walk *walk, pt_error *error);

/* After a whole walk without problems: NULL if the root's numbers of pages and entries are right,
 * or a text that says what is wrong. */
const char *pt_lmdb_walk_judge(const pt_lmdb_walk *walk);

/* A `problem` that ends the walk at the first damaged page, with SQLITE_CORRUPT. */
int pt_lmdb_walk_stop(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                      pt_slice low, pt_slice high);

/* A `claim` that limits the number of pages, so that a walk over pages that form a circle ends. The
 * context is a uint64_t: how many are left. */
bool pt_lmdb_walk_claim_number(void *pages_left, uint64_t first, uint64_t count);

void pt_lmdb_walk_end(pt_lmdb_walk *walk);

#endif
