/*
 * The open stores of this process. A file has one environment in a process, whoever opens it and by
 * whatever name: with two, closing one would drop the locks of the other.
 */
#ifndef PT_LMDB_REGISTRY_H
#define PT_LMDB_REGISTRY_H

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lmdb/env.h"
#include "lmdb/file/locks.h"
#include "lmdb/file/temporary.h"
#include "lmdb/page/format.h"
#include "lmdb/writer_state.h"
#include "store/engine.h"

struct pt_lmdb_reader;

/* What a commit leaves behind. The next one need not read it if no other process comes between. */
typedef struct pt_lmdb_outcome {
    pt_format_state state;
    bool no_garbage;        /* no dropped table is left to be collected */
    uint32_t counted_table; /* the table whose counts are known, or 0 */
    pt_table_counts counts;
} pt_lmdb_outcome;

typedef struct pt_lmdb_store {
    pt_store base; /* first: what the layers above know */
    pt_lmdb_env env;
    int fd;        /* our own descriptor of the file, for our locks; -1: private store */
    bool writable; /* fd is open for writing */
    bool renamed;  /* the file was given its name, and that may not have reached the disk */
    bool found;    /* so was it, by somebody who may have died before that */
    dev_t device;
    ino_t inode;
    unsigned references; /* guarded by the registry */
    unsigned generation; /* of pt_lmdb_generation, when it was opened */
    struct pt_lmdb_store *next;

    /* Transactions against changes of the environment: lmdb/txn.h. */
    atomic_uint active;
    atomic_bool changing;
    atomic_bool broken;
    pthread_mutex_t mutex; /* guards changes and the list of readers */
    struct pt_lmdb_reader *readers;

    /* Writing: lmdb/writer.h. */
    pt_writer_queue queue;
    pt_writer_state writer_state;
    pt_writer *spare_writer;             /* guarded by the writer lock, like the rest */
    pt_lmdb_outcome committed;           /* by this process; version 0: nothing */
    uint8_t nonce[PT_FORMAT_NONCE_SIZE]; /* random; a commit's nonce is made from it */
    int64_t last_timestamp;              /* given out by this process */
    unsigned commits;
    off_t file_size;              /* known to be at least this */
    _Atomic int64_t newest_clock; /* of the states that were seen */
} pt_lmdb_store;

/* Counts the forks between this process and the first that used this code. */
extern atomic_uint pt_lmdb_generation;

/* Whether the store was opened by a parent process, and must not be touched. */
static inline bool pt_lmdb_is_inherited(const pt_lmdb_store *store)
{
    return store->generation != atomic_load_explicit(&pt_lmdb_generation, memory_order_relaxed);
}

/* The error of every method on an inherited store. */
int pt_lmdb_fail_inherited(const pt_lmdb_store *store, pt_error *error);

/* pt_engine's open and close. A new store gets `engine` as its methods. */
int pt_lmdb_open(const char *path, unsigned flags, const pt_engine *engine, pt_store **store,
                 pt_error *error);
void pt_lmdb_close(pt_store *store);

/* Closes the environment and opens it again. On failure it may stay closed. */
int pt_lmdb_reopen(pt_lmdb_store *store, pt_error *error);

/* Whether the store is in a file, and what that is, also while another is put in its place. 0 or
 * errno. */
int pt_lmdb_look(const pt_lmdb_store *store, bool *is_file, struct stat *file);

/*
 * Whether no other process has the store open; somebody may open it at once after that. SQLITE_OK,
 * SQLITE_BUSY if another one has it open, with a text that says which as far as that can be known;
 * SQLITE_IOERR.
 */
int pt_lmdb_is_alone(pt_lmdb_store *store, pt_error *error);

/*
 * Puts a finished copy in the place of the store's file, under its name, and goes on with it. No
 * transaction of this process may be open (pt_lmdb_change_env), and the store's lock must be held;
 * it is, on the new file too. On failure the copy is as it was and the store what it was, or closed
 * to be opened again (pt_lmdb_change_env). SQLITE_BUSY as above; SQLITE_CANTOPEN if the store's
 * file is not under its name any more; SQLITE_IOERR.
 */
int pt_lmdb_take_over(pt_lmdb_store *store, pt_lmdb_temporary *copy, pt_error *error);

#endif
