/*
 * The main database of a store that is checked: header, state, dictionary, counts of tables, and
 * the roots of the sub-databases.
 */
#ifndef PT_LMDB_CHECK_MAIN_H
#define PT_LMDB_CHECK_MAIN_H

#include "lmdb/check_pages.h"

/*
 * Checks every record, sets the members of `checking` that come from the main database, passes the
 * counts to the visitor and calls its `begin`. Codes as pt_lmdb_check_tree.
 */
int pt_lmdb_check_main(pt_lmdb_checking *checking, pt_error *error);

/*
 * Refuses a store of another format with SQLITE_CANTOPEN: what it holds would all seem damaged.
 * SQLITE_OK also if the header cannot be read; SQLITE_NOMEM, SQLITE_IOERR_READ.
 */
int pt_lmdb_check_format(const pt_lmdb_checking *checking, pt_error *error);

/* Reads the record "current" of a main database. SQLITE_CORRUPT if it cannot be read, SQLITE_NOMEM,
 * SQLITE_IOERR_READ. */
int pt_lmdb_find_state(const pt_lmdb_page_file *file, const pt_lmdb_root *root,
                       pt_format_state *state, pt_error *error);

#endif
