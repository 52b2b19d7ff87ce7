/*
 * One LMDB environment on one store's file: opening it safely.
 */
#ifndef PT_LMDB_ENV_H
#define PT_LMDB_ENV_H

#include <lmdb.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/error.h"

enum { PT_LMDB_READERS_MAX = 1022, PT_LMDB_LOCK_FILE_SIZE = 65536 };

typedef struct pt_lmdb_env {
    MDB_env *env;     /* NULL: not open */
    MDB_dbi meta;     /* the main database: lmdb/page/format.h */
    MDB_dbi entities; /* the sub-databases */
    MDB_dbi long_keys;
    MDB_dbi chunks;
    MDB_dbi garbage;
    unsigned page_size;
    size_t misalignment; /* bytes from a multiple of it to a page, in memory; 0 unless pages are
                            larger than the memory's: the file was made on another machine */
    bool read_only;      /* the file cannot be written, or has features that forbid writing */
} pt_lmdb_env;

/* SQLITE_CANTOPEN unless it is a regular file. Others must not even be opened: that can start a
 * device, or let another process go on that waits at a FIFO. */
int pt_lmdb_check_kind(const struct stat *file, const char *path, pt_error *error);

/*
 * Looks at a file before LMDB does, which would put its lock file beside whatever it is.
 * SQLITE_CANTOPEN if it is no file of LMDB, SQLITE_IOERR.
 */
int pt_lmdb_check_file(int fd, const char *path, struct stat *file, pt_error *error);

/*
 * Opens the environment of an existing store; nobody else may be opening or closing one on that
 * file. `fd` is a descriptor of the file that is meant. SQLITE_CANTOPEN with a text for whatever is
 * not a sound store, SQLITE_NOMEM, SQLITE_IOERR.
 */
int pt_lmdb_env_open(pt_lmdb_env *env, const char *path, int fd, bool writable, pt_error *error);
void pt_lmdb_env_close(pt_lmdb_env *env);

/* A new environment, not yet opened, with these limits. LMDB's code; env->env is set on success. */
int pt_lmdb_env_configure(pt_lmdb_env *env, size_t map_size);

/*
 * Opens the databases, with MDB_CREATE in `flags` also those that are not there. LMDB's code:
 * MDB_INCOMPATIBLE for one that is not in memcmp order, or has duplicates.
 */
int pt_lmdb_env_open_databases(pt_lmdb_env *env, MDB_txn *txn, unsigned flags);

/*
 * Makes the map as large as it may be, at least large enough for the file as it is now. No
 * transaction of this process may be open. On failure the environment must be closed.
 */
int pt_lmdb_env_remap(pt_lmdb_env *env, const char *path, pt_error *error);

/* What a failed write means: ENOSPC in place of the EIO that LMDB makes of a write that came out
 * short, if the disk is full. */
int pt_lmdb_env_write_problem(const pt_lmdb_env *env, int mdb_rc);

/*
 * After opening: keeps the map out of core dumps, which would take minutes, and the file's
 * descriptor out of programs that are executed; notes where in memory the pages lie, and fails as
 * pt_lmdb_map_settle does.
 */
int pt_lmdb_env_settle(pt_lmdb_env *env, const char *path, pt_error *error);

static inline MDB_val pt_lmdb_val(pt_slice slice)
{
    return (MDB_val){.mv_size = slice.size, .mv_data = (void *)(uintptr_t)slice.data};
}

static inline pt_slice pt_lmdb_slice(MDB_val value)
{
    return pt_slice_of(value.mv_data, value.mv_size);
}

#endif
