/*
 * The map of an environment: its size, how it grows, and the room in it. It is a range of addresses
 * far larger than the store's file, since LMDB cannot enlarge a map while it is in use.
 */
#ifndef PT_LMDB_MAP_H
#define PT_LMDB_MAP_H

#include "base/error.h"
#include "lmdb/env.h"

/*
 * Bytes of address space for a map that must hold `needed` bytes: as much as PTABLE_MAP_SIZE in the
 * process environment says, if that can be had (bytes, or a number followed by K, M, G or T;
 * anything else is ignored). Otherwise 1 TiB, or a fair share of the address space that is left; 0
 * if there is no room for `needed`.
 */
size_t pt_lmdb_map_size(size_t needed);

/* Sets *map_size to pt_lmdb_map_size; SQLITE_CANTOPEN if that is 0. */
int pt_lmdb_map_size_for(size_t needed, const char *path, size_t *map_size, pt_error *error);

/*
 * Makes the map larger after another process has made the file larger than the map: as large as it
 * may be, at least large enough for the file as it is now. No transaction of this process may be
 * open. On failure the environment must be closed.
 */
int pt_lmdb_map_grow(pt_lmdb_env *env, const char *path, pt_error *error);

/*
 * After the file was mapped: keeps the map out of core dumps, which would take minutes, and sets
 * env->misalignment. SQLITE_IOERR if the file's pages are larger than the memory's and it cannot be
 * read to find them in the map.
 */
int pt_lmdb_map_note_place(pt_lmdb_env *env, const char *path, pt_error *error);

/*
 * Room in the map for a write transaction. LMDB needs new pages even to delete, so puts must leave
 * some of the map free.
 */

/* In pages. */
typedef struct pt_lmdb_room {
    bool watched;        /* puts are to be checked */
    bool end_is_known;   /* pt_lmdb_room_end reads it: lmdb/next_page.h */
    size_t next_page;    /* after the last page before this transaction */
    size_t page_limit;   /* puts may use the map up to here */
    size_t pages_before; /* in use before this transaction */
    size_t free_pages;
    bool free_pages_known;
} pt_lmdb_room;

/* At the beginning of a write transaction. */
void pt_lmdb_room_measure(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn);

/* Before a put, if the room is watched: MDB_MAP_FULL if the put would use pages that must be left.
 * Returns LMDB's code. */
int pt_lmdb_room_check(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn);

/* The page after the last one that the file will have if the transaction is committed now; an
 * estimate, rather too low, if the end is not known. */
size_t pt_lmdb_room_end(const pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn);

/*
 * Room on the disk, of which puts must leave some too. The disk is asked for it before LMDB needs
 * it (fallocate): the file has blocks behind its last page, and commits that put something must
 * leave the reserve untouched, unless as many pages in the file are free. Commits that only delete
 * may use it. All zeros: nothing is known.
 */

/* In pages. */
typedef struct pt_lmdb_reserve {
    size_t allocated; /* the file's pages up to here have blocks on the disk */
    size_t limit;     /* a commit that ends the file here or before leaves the reserve untouched */
    bool is_scarce;   /* when last asked, disk or map had no room for more */
    bool touched;     /* and a commit used the reserve, was refused, or dropped a table */
} pt_lmdb_reserve;

/* For a file that is not to have a reserve on the disk. */
void pt_lmdb_reserve_none(pt_lmdb_reserve *reserve);

/*
 * Before a commit that ends the file at page `end`, beyond reserve->limit: asks the disk for more.
 * MDB_SUCCESS: the disk and the map have room for the commit and for deletes after it, or it only
 * deletes and leaves enough for the next one. ENOSPC, EDQUOT or MDB_MAP_FULL if not.
 */
int pt_lmdb_reserve_check(pt_lmdb_reserve *reserve, const pt_lmdb_env *env, MDB_txn *txn,
                          const pt_lmdb_room *room, size_t end, bool only_deletes);

/* Pages of the sub-databases that grow with the entities, in the version of the transaction. */
size_t pt_lmdb_pages_in_use(const pt_lmdb_env *env, MDB_txn *txn);

/* The free pages of the version that a read transaction shows. Returns LMDB's code. */
int pt_lmdb_count_free_pages(MDB_txn *txn, size_t *pages);

#endif
