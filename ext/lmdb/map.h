/*
 * The map of an environment: a range of addresses far larger than its file.
 */
#ifndef PT_LMDB_MAP_H
#define PT_LMDB_MAP_H

#include "lmdb/env.h"

/*
 * Bytes of address space for a map that must hold `needed` bytes: PTABLE_MAP_SIZE of the process
 * environment (bytes, or with K, M, G or T behind; anything else is ignored), if that is to be had.
 * Otherwise 1 TiB, or a fair share of what is left; 0 if not even `needed` is.
 */
size_t pt_lmdb_map_size(size_t needed);

/* Counts the maps of this process: the more there are, the smaller is the share of the next. */
void pt_lmdb_map_enter(void);
void pt_lmdb_map_leave(void);

/*
 * After opening, or changing the map's size: keeps the map out of core dumps, which would take
 * minutes, and notes where in memory the pages lie. SQLITE_IOERR if that cannot be found and pages
 * are larger than the memory's.
 */
int pt_lmdb_map_settle(pt_lmdb_env *env, const char *path, pt_error *error);

#endif
