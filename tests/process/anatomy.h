/*
 * What the file of a store that nobody has open is made of, as LMDB shows it: nothing may be in one
 * of its sub-databases that nothing in another leads to.
 */
#ifndef ANATOMY_H
#define ANATOMY_H

#include <lmdb.h>

#include "database.h"
#include "entity/key.h"
#include "lmdb/long_keys.h"
#include "lmdb/page/format.h"

enum { ANATOMY_DATABASES = 8, ANATOMY_MAX = 20000 };

/* Numbers of tables or buckets. */
typedef struct anatomy_set {
    size_t count;
    uint64_t members[ANATOMY_MAX];
} anatomy_set;

typedef struct anatomy {
    anatomy_set tables;  /* in the catalogue */
    anatomy_set dropped; /* in `garbage` */
    anatomy_set links;   /* buckets that links lead to */
    anatomy_set buckets; /* buckets that hold something */
    size_t chunks;       /* of tables in the catalogue */
} anatomy;

static inline bool anatomy_has(const anatomy_set *set, uint64_t member)
{
    for (size_t i = set->count; i > 0; i--) {
        if (set->members[i - 1] == member) {
            return true;
        }
    }
    return false;
}

static inline void anatomy_add(anatomy_set *set, uint64_t member)
{
    assert_in_range(set->count, 0, ANATOMY_MAX - 1);
    set->members[set->count++] = member;
}

static inline void anatomy_note_link(anatomy *all, const MDB_val *key, const MDB_val *value)
{
    if (key->mv_size == PT_LMDB_LINK_SIZE) {
        uint64_t bucket = 0;
        assert_true(pt_format_read_bucket(pt_slice_of(key->mv_data, key->mv_size),
                                          pt_slice_of(value->mv_data, value->mv_size), &bucket));
        anatomy_add(&all->links, bucket);
    }
}

static inline void anatomy_of_garbage(anatomy *all, const MDB_val *key, const MDB_val *value)
{
    (void)value;
    anatomy_add(&all->dropped, pt_get_be32((const uint8_t *)key->mv_data + PT_KEY_TABLE_SIZE));
}

static inline void anatomy_of_entity(anatomy *all, const MDB_val *key, const MDB_val *value)
{
    uint32_t table = pt_get_be32(key->mv_data);
    if (table == PT_TABLE_CATALOG) {
        uint32_t id = pt_get_le32((const uint8_t *)value->mv_data + 1);
        assert_false(anatomy_has(&all->dropped, id));
        anatomy_add(&all->tables, id);
        return;
    }
    assert_true(anatomy_has(&all->tables, table) || anatomy_has(&all->dropped, table));
    anatomy_note_link(all, key, value);
}

static inline void anatomy_of_long_key(anatomy *all, const MDB_val *key, const MDB_val *value)
{
    const uint8_t *bytes = key->mv_data;
    uint64_t bucket =
        (uint64_t)(pt_get_be32(bytes) & 0xFFFFFF) << 32 | pt_get_be32(bytes + sizeof(uint32_t));
    if (all->buckets.count == 0 || all->buckets.members[all->buckets.count - 1] != bucket) {
        anatomy_add(&all->buckets, bucket);
    }
    anatomy_note_link(all, key, value);
}

static inline void anatomy_of_chunk(anatomy *all, const MDB_val *key, const MDB_val *value)
{
    (void)value;
    uint32_t table = pt_get_be32((const uint8_t *)key->mv_data + PT_KEY_TABLE_SIZE);
    bool lives = anatomy_has(&all->tables, table);
    assert_true(lives || anatomy_has(&all->dropped, table));
    all->chunks += lives ? 1 : 0;
}

static inline void anatomy_walk(anatomy *all, MDB_txn *txn, const char *database,
                                void (*note)(anatomy *, const MDB_val *, const MDB_val *))
{
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    assert_int_equal(mdb_dbi_open(txn, database, 0, &dbi), 0);
    assert_int_equal(mdb_cursor_open(txn, dbi, &cursor), 0);
    int mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    while (mdb_rc == 0) {
        note(all, &key, &value);
        mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    assert_int_equal(mdb_rc, MDB_NOTFOUND);
    mdb_cursor_close(cursor);
}

/* Every bucket has one link, and no link leads to an empty one. */
static inline void anatomy_check_buckets(const anatomy *all)
{
    assert_int_equal(all->links.count, all->buckets.count);
    for (size_t i = 0; i < all->links.count; i++) {
        assert_true(anatomy_has(&all->buckets, all->links.members[i]));
    }
    for (size_t i = 0; i < all->buckets.count; i++) {
        assert_true(anatomy_has(&all->links, all->buckets.members[i]));
    }
}

/* Looks through the file; what it is made of, in static memory. */
static inline const anatomy *anatomy_of(const char *folder, const char *store)
{
    static anatomy all;
    char path[PATH_SIZE];
    MDB_env *env;
    MDB_txn *txn;
    all = (anatomy){0};
    path_in(folder, store, path);
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, ANATOMY_DATABASES);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_RDONLY, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    anatomy_walk(&all, txn, "garbage", anatomy_of_garbage);
    anatomy_walk(&all, txn, "entities", anatomy_of_entity);
    anatomy_walk(&all, txn, "long_keys", anatomy_of_long_key);
    anatomy_walk(&all, txn, "chunks", anatomy_of_chunk);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    anatomy_check_buckets(&all);
    return &all;
}

#endif
