/*
 * The pages of a store that is checked: each page must be in use once, or free once, and must be
 * sound. The modules that check the records (check_main.h, check_keys.h) walk over their trees with
 * pt_lmdb_check_tree.
 */
#ifndef PT_LMDB_CHECK_PAGES_H
#define PT_LMDB_CHECK_PAGES_H

#include "lmdb/page/format.h"
#include "lmdb/page/page_file.h"
#include "store/engine.h"

/* One bit for each page, the meta pages included. */
typedef struct pt_lmdb_page_bitmap {
    uint64_t pages;
    uint8_t *used; /* a tree contains the page */
    uint8_t *free; /* the list of free pages contains it */
} pt_lmdb_page_bitmap;

/* A running check: what all its parts share. */
typedef struct pt_lmdb_checking {
    pt_lmdb_page_file file;
    pt_lmdb_meta meta; /* of the version that is checked */
    pt_lmdb_page_bitmap bitmap;
    pt_check_report *report;
    const pt_check_visitor *visitor;
    const pt_watch *watch;
    unsigned entries; /* since `watch` was last asked */
    bool complete;    /* so far every record could be read */

    /* Read from the main database by pt_lmdb_check_main. */
    bool has_root[PT_FORMAT_DATABASES];
    pt_lmdb_root roots[PT_FORMAT_DATABASES];
    pt_dictionary *dictionary;
    pt_format_state state;
    uint64_t last_bucket;
} pt_lmdb_checking;

/* False when out of memory. Freed by pt_lmdb_check_pages_end. */
bool pt_lmdb_check_pages_begin(pt_lmdb_checking *checking);
void pt_lmdb_check_pages_end(pt_lmdb_checking *checking);

/* Receives an entry of a tree. SQLite's code. */
typedef int (*pt_lmdb_take_entry)(void *context, const pt_lmdb_entry *entry, pt_error *error);

/*
 * Walks over a whole tree, reports damaged pages and passes each entry to `take`. SQLITE_OK,
 * SQLITE_NOMEM, SQLITE_IOERR_READ, SQLITE_INTERRUPT and the codes of `take`.
 */
int pt_lmdb_check_tree(pt_lmdb_checking *checking, const char *name, const pt_lmdb_root *root,
                       pt_lmdb_order order, pt_lmdb_take_entry take, void *context,
                       pt_error *error);

/* pt_lmdb_check_tree for a sub-database; does nothing if the main database has no root for it. */
int pt_lmdb_check_database(pt_lmdb_checking *checking, pt_format_database database,
                           pt_lmdb_take_entry take, void *context, pt_error *error);

/* Checks the list of free pages. Before all other trees: a page in use that is also free is then
 * reported where it is used. */
int pt_lmdb_check_free_list(pt_lmdb_checking *checking, pt_error *error);

/* Reports pages that are neither in use nor free. After all trees. */
void pt_lmdb_check_lost_pages(const pt_lmdb_checking *checking);

/* To be called for each entry: asks `watch` now and then. SQLITE_OK or SQLITE_INTERRUPT. */
int pt_lmdb_check_go_on(pt_lmdb_checking *checking, pt_error *error);

#endif
