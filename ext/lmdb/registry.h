/*
 * The open stores of this process, and opening and closing them. A file has one environment in a
 * process, under whatever names and by however many connections it is opened: with two, closing one
 * would drop the locks of the other.
 */
#ifndef PT_LMDB_REGISTRY_H
#define PT_LMDB_REGISTRY_H

#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/assert.h"
#include "lmdb/env.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/locks.h"
#include "lmdb/file/temporary.h"
#include "lmdb/map.h"
#include "lmdb/page/format.h"
#include "store/engine.h"

struct pt_lmdb_reader;

/*
 * The protocol of a store's writer lock within this process. Only assertions look at the state, and
 * only the holder of the lock changes it.
 *
 *     FREE -> HELD                      the lock is taken
 *     HELD -> WRITING                   a write transaction begins
 *     WRITING -> COMMITTED              it has been committed
 *     WRITING -> FAILED                 it has been aborted, or its commit failed
 *     COMMITTED, FAILED -> WRITING      another one begins: more writes, or an undo
 *     HELD, COMMITTED, FAILED -> FREE   the lock is released
 */
typedef enum pt_writer_state {
    PT_WRITER_FREE = 1,
    PT_WRITER_HELD = 2,
    PT_WRITER_WRITING = 4,
    PT_WRITER_COMMITTED = 8,
    PT_WRITER_FAILED = 16,
} pt_writer_state;

enum {
    PT_WRITER_BETWEEN_WRITES = PT_WRITER_HELD | PT_WRITER_COMMITTED | PT_WRITER_FAILED,
    PT_WRITER_LOCKED = PT_WRITER_BETWEEN_WRITES | PT_WRITER_WRITING,
};

/* The result of a commit. The next commit need not read it from the store, unless another process
 * commits in between. */
typedef struct pt_lmdb_outcome {
    pt_format_state state;
    bool no_garbage;        /* no dropped table is left to be collected */
    uint32_t counted_table; /* the table that `counts` is of, or 0 */
    pt_table_counts counts;
} pt_lmdb_outcome;

typedef struct pt_lmdb_store {
    pt_store base; /* first: what the layers above know */
    pt_lmdb_env env;
    int fd;        /* our own descriptor of the file, for our locks; -1: private store */
    bool writable; /* fd is open for writing */
    bool renamed;  /* we gave the file its name, which may not have reached the disk yet */
    bool found;    /* it had its name already, which may not have reached the disk either */
    dev_t device;
    ino_t inode;
    pt_lmdb_file_id lock_file;
    unsigned references; /* guarded by the registry's mutex */
    unsigned fork_count; /* pt_lmdb_fork_count when it was opened */
    struct pt_lmdb_store *next;

    /* Keeps transactions and changes of the environment apart: lmdb/txn.h. */
    atomic_uint active;
    atomic_bool changing;
    atomic_bool broken;
    atomic_bool holds_much; /* memory, which opening the environment again would give back */
    pthread_mutex_t mutex;  /* guards changes, the list of readers, and `committed` */
    struct pt_lmdb_reader *readers;

    /* Writing: lmdb/writer.h. */
    pt_writer_queue queue;
    pt_writer_state writer_state;
    pt_writer *spare_writer;             /* this, and the next ones: guarded by the writer lock */
    pt_lmdb_outcome committed;           /* by this process; version 0: not known. Set under
                                            `mutex` too, so that either lock is enough to read */
    uint8_t nonce[PT_FORMAT_NONCE_SIZE]; /* random; the nonces of commits are made from it */
    int64_t last_timestamp;              /* given out by this process */
    unsigned commits;
    off_t file_size; /* the file is at least as large */
    pt_lmdb_reserve reserve;
    _Atomic int64_t newest_clock; /* of all states that were read or committed; not guarded */

    /* The log in front of LMDB: lmdb/log.h. */
    struct pt_lmdb_log *log;                    /* NULL: a private store */
    _Atomic(struct pt_log_word *) word;         /* NULL: no log is followed */
    _Atomic uint64_t attached_log;              /* the id of the one that is, or 0 */
    _Atomic(struct pt_lmdb_tail *) newest_tail; /* the log's: to be compared only */
    const struct pt_lmdb_hooks *hooks;
} pt_lmdb_store;

/* Goes to another state from one of those in `from`, which are bits of pt_writer_state. */
static inline void pt_lmdb_change_writer_state(pt_lmdb_store *store, unsigned from,
                                               pt_writer_state to)
{
    PT_ASSERT((store->writer_state & from) != 0);
    store->writer_state = to;
}

/* Remembers the clock of a state that was read or committed: Timestamps must not fall below it. */
static inline void pt_lmdb_note_clock(pt_lmdb_store *store, int64_t clock)
{
    int64_t known = atomic_load(&store->newest_clock);
    while (clock > known && !atomic_compare_exchange_weak(&store->newest_clock, &known, clock)) {
    }
}

/* What else is to be done when a store in a file is opened and closed, with its gate held and
 * before other threads can use it, or when none can any more: lmdb/log_open.h. */
typedef struct pt_lmdb_hooks {
    int (*opened)(pt_lmdb_store *store, pt_error *error);
    void (*closing)(pt_lmdb_store *store);
    void (*freed)(pt_lmdb_store *store); /* without the gate; also after opening has failed */
} pt_lmdb_hooks;

/* The error of every method on a store that a parent process opened. */
int pt_lmdb_fail_inherited(const pt_lmdb_store *store, pt_error *error);

/* pt_engine's open and close. A new store gets `engine` as its methods. */
int pt_lmdb_open(const char *path, unsigned flags, const pt_engine *engine,
                 const pt_lmdb_hooks *hooks, pt_store **store, pt_error *error);
void pt_lmdb_close(pt_store *store);

/* Closes the environment and opens it again. After a failure it may be closed. */
int pt_lmdb_reopen(pt_lmdb_store *store, pt_error *error);

/*
 * The same, but leaves the environment open if that could fail: if the file or its lock file was
 * moved or replaced, or this process has lost its rights to them. Also if another process is
 * opening or closing the store; then SQLITE_BUSY.
 */
int pt_lmdb_reopen_if_safe(pt_lmdb_store *store, pt_error *error);

/* Sets *is_file, false for a private store, and the file's *permissions. May be called while
 * another thread replaces the file. Returns 0 or errno. */
int pt_lmdb_look_at_file(const pt_lmdb_store *store, bool *is_file,
                         pt_lmdb_permissions *permissions);

/* SQLITE_OK if the store's file still has its name, else `code`: writes to it would be lost.
 * SQLITE_IOERR. */
int pt_lmdb_check_name(const pt_lmdb_store *store, int code, pt_error *error);

/* Before a commit that must last: the file's name must last too. SQLITE_OK, SQLITE_IOERR. */
int pt_lmdb_make_name_durable(pt_lmdb_store *store, pt_error *error);

/* SQLITE_OK if no other process has the store open at this moment, SQLITE_BUSY if one has;
 * SQLITE_IOERR. */
int pt_lmdb_check_alone(pt_lmdb_store *store, pt_error *error);

/*
 * Puts a finished copy in the place of the store's file, under its name, and opens it. No
 * transaction of this process may be open (pt_lmdb_change_env), and the writer lock must be held;
 * then it is held on the new file too. After a failure the copy is unchanged, and the store is
 * unchanged too, or closed until pt_lmdb_change_env opens it again. SQLITE_BUSY as above;
 * SQLITE_CANTOPEN if the store's file no longer has its name; SQLITE_IOERR.
 */
int pt_lmdb_replace_file(pt_lmdb_store *store, pt_lmdb_temporary *copy, pt_error *error);

#endif
