#include "lmdb/room.h"

enum {
    HEADROOM_PART = 50,      /* the fiftieth part of the map is for deletes, */
    HEADROOM_PAGES = 64,     /* and no fewer pages than some transactions copy */
    WATCHED_PAGES = 1 << 20, /* more free pages than this need not be watched */
    FREE_DBI = 0,            /* LMDB's own list of free pages */
};

static size_t pages_of(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_stat stat = {0};
    mdb_stat(txn, dbi, &stat);
    return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
}

size_t pt_lmdb_pages_in_use(const pt_lmdb_env *env, MDB_txn *txn)
{
    return pages_of(txn, env->entities) + pages_of(txn, env->long_keys) +
           pages_of(txn, env->chunks);
}

void pt_lmdb_room_measure(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn)
{
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    size_t map_pages = info.me_mapsize / env->page_size;
    size_t headroom = map_pages / HEADROOM_PART;
    if (headroom < HEADROOM_PAGES) {
        headroom = HEADROOM_PAGES;
    }
    *room = (pt_lmdb_room){.next_page = info.me_last_pgno + 1};
    room->page_limit = map_pages > headroom ? map_pages - headroom : 0;
    room->watched = room->next_page + WATCHED_PAGES > room->page_limit;
    if (room->watched) {
        room->pages_before = pt_lmdb_pages_in_use(env, txn);
    }
}

int pt_lmdb_count_free_pages(MDB_txn *txn, size_t *pages)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    size_t counted = 0;
    int mdb_rc = mdb_cursor_open(txn, FREE_DBI, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    while ((mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
        size_t length; /* a list begins with it */
        memcpy(&length, value.mv_data, sizeof length);
        counted += length;
    }
    mdb_cursor_close(cursor);
    if (mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    *pages = counted;
    return MDB_SUCCESS;
}

/* The free pages of the version that is written upon; LMDB shows them to readers only. */
static int find_free_pages(pt_lmdb_room *room, const pt_lmdb_env *env)
{
    MDB_txn *txn;
    int mdb_rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = pt_lmdb_count_free_pages(txn, &room->free_pages);
    mdb_txn_abort(txn);
    room->free_pages_known = mdb_rc == MDB_SUCCESS;
    return mdb_rc;
}

int pt_lmdb_room_check(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn)
{
    size_t grown = pt_lmdb_pages_in_use(env, txn);
    grown = grown > room->pages_before ? grown - room->pages_before : 0;
    if (room->next_page + grown < room->page_limit) {
        return MDB_SUCCESS;
    }
    if (!room->free_pages_known) {
        int mdb_rc = find_free_pages(room, env);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
    return room->next_page + grown < room->page_limit + room->free_pages ? MDB_SUCCESS
                                                                         : MDB_MAP_FULL;
}
