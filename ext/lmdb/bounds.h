/*
 * Whether what LMDB hands out lies where it can: a damaged page may say any size, and LMDB does not
 * look.
 */
#ifndef PT_LMDB_BOUNDS_H
#define PT_LMDB_BOUNDS_H

#include "lmdb/env.h"

/* Of a value that does not lie in one page: whether it is on overflow pages that the store has. */
bool pt_lmdb_is_on_overflow_pages(const pt_lmdb_env *env, const MDB_val *value);

/* How far behind its page's first byte something lies. */
static inline size_t pt_lmdb_offset_in_page(const pt_lmdb_env *env, const void *bytes)
{
    return ((uintptr_t)bytes - env->misalignment) & (env->page_size - 1);
}

static inline bool pt_lmdb_is_in_page(const pt_lmdb_env *env, const MDB_val *bytes)
{
    return pt_lmdb_offset_in_page(env, bytes->mv_data) + bytes->mv_size <= env->page_size;
}

static inline bool pt_lmdb_is_in_store(const pt_lmdb_env *env, const MDB_val *value)
{
    return pt_lmdb_is_in_page(env, value) || pt_lmdb_is_on_overflow_pages(env, value);
}

#endif
