/*
 * What there is to know about an open store. The function is pt_engine's method.
 */
#ifndef PT_LMDB_INFO_H
#define PT_LMDB_INFO_H

#include "lmdb/registry.h"

int pt_lmdb_info(pt_store *store, pt_store_info *info, pt_error *error);

/* The ids of other processes that have read the store and have it open, as "12, 345"; from
 * sqlite3_malloc, NULL when out of memory. */
char *pt_lmdb_list_processes(pt_lmdb_store *store);

#endif
