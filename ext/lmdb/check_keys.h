/*
 * The records of entities in a store that is checked: those with short keys, in `entities`, and
 * those with long keys, which links in `entities` lead to (lmdb/page/format.c).
 */
#ifndef PT_LMDB_CHECK_KEYS_H
#define PT_LMDB_CHECK_KEYS_H

#include "lmdb/check_pages.h"

/*
 * Passes every entity to the visitor in logical key order, and checks that each bucket of long keys
 * has exactly one link. After pt_lmdb_check_main. Codes as pt_lmdb_check_tree.
 */
int pt_lmdb_check_keys(pt_lmdb_checking *checking, pt_error *error);

#endif
