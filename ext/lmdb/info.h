/*
 * Facts about an open store, and the processes in its reader table.
 */
#ifndef PT_LMDB_INFO_H
#define PT_LMDB_INFO_H

#include "lmdb/registry.h"

/* pt_engine's method. */
int pt_lmdb_info(pt_store *store, pt_store_info *info, pt_error *error);

/* The ids of other processes in the reader table, at most eight, as "12, 345": processes that have
 * read the store and have it open. From sqlite3_malloc; NULL when out of memory. */
char *pt_lmdb_list_processes(pt_lmdb_store *store);

#endif
