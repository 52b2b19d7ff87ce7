/*
 * Room in the map for a write transaction. LMDB needs pages even for deleting, so puts must leave
 * some.
 */
#ifndef PT_LMDB_ROOM_H
#define PT_LMDB_ROOM_H

#include "lmdb/env.h"

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
