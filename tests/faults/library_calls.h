/*
 * LMDB's functions that may fail: each call counts as an allocation of library_memory.h and fails
 * for want of memory like those, before it reaches LMDB, because LMDB itself rarely allocates.
 * LMDB's internal calls are not counted. Include it in one file of a program.
 */
#ifndef TESTS_FAULTS_LIBRARY_CALLS_H
#define TESTS_FAULTS_LIBRARY_CALLS_H

#include <lmdb.h>

#include "faults/library_memory.h"

typedef struct lmdb_functions {
    int (*env_create)(MDB_env **env);
    int (*env_open)(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode);
    int (*env_set_mapsize)(MDB_env *env, size_t size);
    int (*env_sync)(MDB_env *env, int force);
    int (*reader_check)(MDB_env *env, int *dead);
    int (*txn_begin)(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn);
    int (*txn_renew)(MDB_txn *txn);
    int (*txn_commit)(MDB_txn *txn);
    int (*dbi_open)(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi);
    int (*stat)(MDB_txn *txn, MDB_dbi dbi, MDB_stat *stat);
    int (*get)(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value);
    int (*put)(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags);
    int (*del)(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value);
    int (*cursor_open)(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor);
    int (*cursor_renew)(MDB_txn *txn, MDB_cursor *cursor);
    int (*cursor_get)(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation);
    int (*cursor_put)(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags);
    int (*cursor_del)(MDB_cursor *cursor, unsigned flags);
} lmdb_functions;

static inline const lmdb_functions *lmdb(void)
{
    static lmdb_functions found;
    if (found.cursor_del == NULL) {
        library_find("mdb_env_create", &found.env_create);
        library_find("mdb_env_open", &found.env_open);
        library_find("mdb_env_set_mapsize", &found.env_set_mapsize);
        library_find("mdb_env_sync", &found.env_sync);
        library_find("mdb_reader_check", &found.reader_check);
        library_find("mdb_txn_begin", &found.txn_begin);
        library_find("mdb_txn_renew", &found.txn_renew);
        library_find("mdb_txn_commit", &found.txn_commit);
        library_find("mdb_dbi_open", &found.dbi_open);
        library_find("mdb_stat", &found.stat);
        library_find("mdb_get", &found.get);
        library_find("mdb_put", &found.put);
        library_find("mdb_del", &found.del);
        library_find("mdb_cursor_open", &found.cursor_open);
        library_find("mdb_cursor_renew", &found.cursor_renew);
        library_find("mdb_cursor_get", &found.cursor_get);
        library_find("mdb_cursor_put", &found.cursor_put);
        library_find("mdb_cursor_del", &found.cursor_del);
    }
    return &found;
}

#if LIBRARY_MEMORY

static bool lmdb_calls_itself(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && strstr(info.dli_fname, "lmdb") != NULL &&
           strstr(info.dli_fname, ".so") != NULL;
}

/* True if this call is to fail. */
static bool lmdb_fails(const void *caller)
{
    return failing_malloc_countdown >= 0 && !lmdb_calls_itself(caller) && library_fails();
}

#define FAILS lmdb_fails(__builtin_return_address(0))

#pragma GCC visibility push(default)

int mdb_env_create(MDB_env **env)
{
    return FAILS ? ENOMEM : lmdb()->env_create(env);
}

int mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode)
{
    return FAILS ? ENOMEM : lmdb()->env_open(env, path, flags, mode);
}

int mdb_env_set_mapsize(MDB_env *env, size_t size)
{
    return FAILS ? ENOMEM : lmdb()->env_set_mapsize(env, size);
}

int mdb_env_sync(MDB_env *env, int force)
{
    return FAILS ? ENOMEM : lmdb()->env_sync(env, force);
}

int mdb_reader_check(MDB_env *env, int *dead)
{
    return FAILS ? ENOMEM : lmdb()->reader_check(env, dead);
}

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    return FAILS ? ENOMEM : lmdb()->txn_begin(env, parent, flags, txn);
}

int mdb_txn_renew(MDB_txn *txn)
{
    return FAILS ? ENOMEM : lmdb()->txn_renew(txn);
}

/* A commit that fails ends the transaction. */
int mdb_txn_commit(MDB_txn *txn)
{
    if (FAILS) {
        mdb_txn_abort(txn);
        return ENOMEM;
    }
    return lmdb()->txn_commit(txn);
}

int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi)
{
    return FAILS ? ENOMEM : lmdb()->dbi_open(txn, name, flags, dbi);
}

int mdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *stat)
{
    return FAILS ? ENOMEM : lmdb()->stat(txn, dbi, stat);
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    return FAILS ? ENOMEM : lmdb()->get(txn, dbi, key, value);
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    return FAILS ? ENOMEM : lmdb()->put(txn, dbi, key, value, flags);
}

int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    return FAILS ? ENOMEM : lmdb()->del(txn, dbi, key, value);
}

int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor)
{
    return FAILS ? ENOMEM : lmdb()->cursor_open(txn, dbi, cursor);
}

int mdb_cursor_renew(MDB_txn *txn, MDB_cursor *cursor)
{
    return FAILS ? ENOMEM : lmdb()->cursor_renew(txn, cursor);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation)
{
    return FAILS ? ENOMEM : lmdb()->cursor_get(cursor, key, value, operation);
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags)
{
    return FAILS ? ENOMEM : lmdb()->cursor_put(cursor, key, value, flags);
}

int mdb_cursor_del(MDB_cursor *cursor, unsigned flags)
{
    return FAILS ? ENOMEM : lmdb()->cursor_del(cursor, flags);
}

#pragma GCC visibility pop

#undef FAILS

#endif

#endif
