/*
 * An LMDB environment, which is one store's file as LMDB has it open, and its databases.
 */
#ifndef PT_LMDB_ENV_H
#define PT_LMDB_ENV_H

#include <lmdb.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "entity/key.h"
#include "lmdb/file/descriptors.h"

typedef struct pt_lmdb_env {
    MDB_env *env;     /* NULL: not open */
    MDB_dbi meta;     /* the main database: lmdb/page/format.h */
    MDB_dbi entities; /* the sub-databases */
    MDB_dbi long_keys;
    MDB_dbi chunks;
    MDB_dbi garbage;
    unsigned page_size;
    size_t misalignment; /* a page's address modulo page_size. Not 0 only if the file's pages are
                            larger than the memory's, as the file was made on another machine */
    bool read_only;      /* the file cannot be written, or: */
    bool is_newer;       /* it has features that this version must know to write to it */
} pt_lmdb_env;

/* True if a parent process opened what has this value of pt_lmdb_fork_count. Then it must not be
 * touched. */
static inline bool pt_lmdb_is_of_parent(unsigned fork_count)
{
    return fork_count != atomic_load_explicit(&pt_lmdb_fork_count, memory_order_relaxed);
}

/* The environments that exist in this process. */
extern atomic_size_t pt_lmdb_env_count;

/* Makes an environment with these limits, not yet opened. Returns LMDB's code. */
int pt_lmdb_env_create(pt_lmdb_env *env, size_t map_size);

/* Does nothing if the environment is not open. */
void pt_lmdb_env_close(pt_lmdb_env *env);

/* Gives memory that was freed, but that the C library keeps for later, back to the system. */
void pt_lmdb_env_trim_heap(void);

/*
 * Opens the main database, which has no name, or that and all others. `flags` may be MDB_CREATE.
 * Returns LMDB's code: MDB_INCOMPATIBLE for one whose order is not that of memcmp, or that has
 * duplicates.
 */
int pt_lmdb_env_open_main(pt_lmdb_env *env, MDB_txn *txn);
int pt_lmdb_env_open_databases(pt_lmdb_env *env, MDB_txn *txn, unsigned flags);

/* The cause of a failed write. LMDB reports a short write as EIO; if the disk is full that becomes
 * ENOSPC, and at the limit on the size of files EFBIG. */
int pt_lmdb_env_write_problem(const pt_lmdb_env *env, int mdb_rc);

enum { PT_LMDB_PROCESSES_MAX = 8 };

/* The reader table of an environment, without the slots of processes that have died. */
typedef struct pt_lmdb_readers {
    int count;                             /* snapshots in use, by all processes */
    int64_t oldest;                        /* the lowest version that one of them shows, or 0 */
    long processes[PT_LMDB_PROCESSES_MAX]; /* other processes that have a slot, each once */
    int process_count;
} pt_lmdb_readers;

/* All zeros if the environment is not open. */
pt_lmdb_readers pt_lmdb_env_readers(const pt_lmdb_env *env);

/* The sub-database that holds a logical key, or the first part of a long one. */
static inline MDB_dbi pt_lmdb_dbi_of(const pt_lmdb_env *env, pt_slice key)
{
    if (key.size == 0 || key.data[0] < PT_KEY_GARBAGE) {
        return env->entities;
    }
    return key.data[0] == PT_KEY_GARBAGE ? env->garbage : env->chunks;
}

static inline MDB_val pt_lmdb_val(pt_slice slice)
{
    return (MDB_val){.mv_size = slice.size, .mv_data = (void *)(uintptr_t)slice.data};
}

static inline pt_slice pt_lmdb_slice(MDB_val value)
{
    return pt_slice_of(value.mv_data, value.mv_size);
}

#endif
