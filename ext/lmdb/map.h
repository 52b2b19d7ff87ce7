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

/*
 * Room in the map for a write transaction. LMDB needs pages even for deleting, so puts must leave
 * some.
 */

/* In pages. */
typedef struct pt_lmdb_room {
    bool watched;
    size_t next_page;    /* behind the last page before this transaction */
    size_t page_limit;   /* puts may use the map up to here */
    size_t pages_before; /* in use */
    size_t free_pages;
    bool free_pages_known;
} pt_lmdb_room;

/* At the beginning of a write transaction. */
void pt_lmdb_room_measure(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn);

/* Before a put, if the room is watched: MDB_MAP_FULL once what is in use has grown into what must
 * be left. LMDB's code. */
int pt_lmdb_room_check(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn);

/* Pages of the sub-databases that grow with the entities, as the transaction sees them. */
size_t pt_lmdb_pages_in_use(const pt_lmdb_env *env, MDB_txn *txn);

/* The free pages of the version that a read transaction shows. LMDB's code. */
int pt_lmdb_count_free_pages(MDB_txn *txn, size_t *pages);

#endif
