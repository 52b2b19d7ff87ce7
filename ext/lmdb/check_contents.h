/*
 * What the parts of a check of a store share: lmdb/check.c has the pages and trees, these the
 * contents.
 */
#ifndef PT_LMDB_CHECK_CONTENTS_H
#define PT_LMDB_CHECK_CONTENTS_H

#include "lmdb/page/format.h"
#include "lmdb/page/pages.h"
#include "lmdb/page/walk.h"
#include "store/engine.h"

typedef struct pt_lmdb_checking {
    pt_lmdb_page_file file;
    pt_lmdb_meta meta; /* of the version that is checked */
    pt_lmdb_pages pages;
    pt_check_report *report;
    const pt_check_visitor *visitor;
    const pt_watch *watch;
    unsigned entries; /* since it was asked */
    bool complete;    /* all records can be read so far */

    /* Of the main database. */
    bool has_root[PT_FORMAT_DATABASES];
    pt_lmdb_root roots[PT_FORMAT_DATABASES];
    pt_dictionary *dictionary;
    pt_format_state state;
    uint64_t last_bucket;
} pt_lmdb_checking;

/* Takes an entry of a tree. SQLite's code. */
typedef int (*pt_lmdb_take_entry)(void *context, const pt_lmdb_entry *entry, pt_error *error);

/*
 * Walks through a whole tree, tells the report what is wrong with its pages and hands out its
 * entries. SQLITE_OK, SQLITE_NOMEM, SQLITE_IOERR_READ, SQLITE_INTERRUPT and what `take` answers.
 */
int pt_lmdb_check_tree(pt_lmdb_checking *checking, const char *name, const pt_lmdb_root *root,
                       pt_lmdb_order order, pt_lmdb_take_entry take, void *context,
                       pt_error *error);

/* For each entry that is met: SQLITE_OK, or SQLITE_INTERRUPT. */
int pt_lmdb_check_go_on(pt_lmdb_checking *checking, pt_error *error);

/* Reads the record "current" of a main database; SQLITE_CORRUPT if it cannot be read. */
int pt_lmdb_find_state(const pt_lmdb_page_file *file, const pt_lmdb_root *root,
                       pt_format_state *state, pt_error *error);

/* The main database: sets what is known from it, and tells the visitor. The same codes. */
int pt_lmdb_check_main(pt_lmdb_checking *checking, pt_error *error);

/* Entities and long keys: every record of either. The same codes. */
int pt_lmdb_check_keys(pt_lmdb_checking *checking, pt_error *error);

#endif
