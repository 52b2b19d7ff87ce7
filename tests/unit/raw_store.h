/*
 * Looking into a closed store's file as LMDB shows it, and changing its records as no commit does.
 */
#ifndef RAW_STORE_H
#define RAW_STORE_H

#include <lmdb.h>

#include "store_fixture.h"

/* What LMDB says about one of the sub-databases of the test's store, which must be closed. */
static inline MDB_stat raw_stat(const char *database)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_stat stat;
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR | MDB_RDONLY, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, database, 0, &dbi), 0);
    assert_int_equal(mdb_stat(txn, dbi, &stat), 0);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return stat;
}

/* Puts a record into one of the sub-databases, or the main one (NULL); without data deletes it. The
 * flags are those of mdb_dbi_open. */
static inline void raw_put_with(const char *database, unsigned flags, pt_slice key, pt_slice value)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val mdb_key = {.mv_size = key.size, .mv_data = (void *)(uintptr_t)key.data};
    MDB_val mdb_value = {.mv_size = value.size, .mv_data = (void *)(uintptr_t)value.data};
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, database, flags, &dbi), 0);
    assert_int_equal(value.data != NULL ? mdb_put(txn, dbi, &mdb_key, &mdb_value, 0)
                                        : mdb_del(txn, dbi, &mdb_key, NULL),
                     0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static inline void raw_put(const char *database, pt_slice key, pt_slice value)
{
    raw_put_with(database, 0, key, value);
}

static inline size_t raw_entries(const char *database)
{
    return raw_stat(database).ms_entries;
}

/* Pages in the longest record of LMDB's list of free pages, of commits from a version on. */
static inline size_t raw_longest_free_list(uint64_t version)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    size_t longest = 0;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR | MDB_RDONLY, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    assert_int_equal(mdb_cursor_open(txn, 0, &cursor), 0);
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        size_t length;
        size_t id;
        memcpy(&id, key.mv_data, sizeof id);
        memcpy(&length, value.mv_data, sizeof length);
        longest = id >= version && length > longest ? length : longest;
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return longest;
}

#endif
