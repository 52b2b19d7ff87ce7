#include "lmdb/begin.h"

#include "base/sqlite.h"
#include "lmdb/file/error.h"

enum { REMEDIES_MAX = 3 };

void pt_lmdb_reader_enter(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    pthread_mutex_lock(&store->mutex);
    reader->next = store->readers;
    reader->link = &store->readers;
    if (reader->next != NULL) {
        reader->next->link = &reader->next;
    }
    store->readers = reader;
    pthread_mutex_unlock(&store->mutex);
}

void pt_lmdb_reader_leave(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    pthread_mutex_lock(&store->mutex);
    *reader->link = reader->next;
    if (reader->next != NULL) {
        reader->next->link = reader->link;
    }
    if (reader->txn != NULL) {
        mdb_txn_abort(reader->txn);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* --- Counting against changes --- */

/* Until no change goes on. The store has been counted in, and is so again. */
__attribute__((noinline)) static void wait_for_change(pt_lmdb_store *store)
{
    do {
        atomic_fetch_sub(&store->active, 1);
        pthread_mutex_lock(&store->mutex);
        pthread_mutex_unlock(&store->mutex);
        atomic_fetch_add(&store->active, 1);
    } while (atomic_load(&store->changing));
}

static void count_in(pt_lmdb_store *store)
{
    atomic_fetch_add(&store->active, 1);
    if (atomic_load(&store->changing)) {
        wait_for_change(store);
    }
}

static int remap(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    int rc = pt_lmdb_env_remap(&store->env, store->base.path, error);
    if (rc != SQLITE_OK) {
        atomic_store(&store->broken, true);
    }
    return rc;
}

/* Nothing of the environment is in use any more. */
static void abort_readers(pt_lmdb_store *store)
{
    for (pt_lmdb_reader *reader = store->readers; reader != NULL; reader = reader->next) {
        if (reader->txn != NULL) {
            mdb_txn_abort(reader->txn);
        }
        reader->txn = NULL;
        reader->seen = 0;
    }
}

static int reopen(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    if (!atomic_load(&store->broken)) {
        return SQLITE_OK; /* somebody else has done it meanwhile */
    }
    abort_readers(store);
    int rc = pt_lmdb_reopen(store, error);
    if (rc == SQLITE_OK) {
        atomic_store(&store->broken, false);
    }
    return rc;
}

static int change(pt_lmdb_store *store, pt_lmdb_work work, void *context, int busy_rc,
                  const char *busy_text, pt_error *error)
{
    int rc;
    pthread_mutex_lock(&store->mutex);
    atomic_store(&store->changing, true);
    if (atomic_load(&store->active) == 0) {
        rc = work(store, context, error);
    } else {
        rc = pt_error_set(error, busy_rc, "store %Q %s", store->base.path, busy_text);
    }
    atomic_store(&store->changing, false);
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

typedef struct outer_work {
    pt_lmdb_work work;
    void *context;
} outer_work;

static int work_without_readers(pt_lmdb_store *store, void *context, pt_error *error)
{
    const outer_work *outer = context;
    abort_readers(store);
    int rc = outer->work(store, outer->context, error);
    if (rc == SQLITE_OK || store->env.env == NULL) {
        atomic_store(&store->broken, rc != SQLITE_OK);
    }
    return rc;
}

int pt_lmdb_change(pt_lmdb_store *store, pt_lmdb_work work, void *context, const char *busy_text,
                   pt_error *error)
{
    outer_work outer = {.work = work, .context = context};
    return change(store, work_without_readers, &outer, SQLITE_BUSY, busy_text, error);
}

/* --- Beginning --- */

/* Whether there were any. The mutex keeps the environment from being changed meanwhile. */
static bool drop_dead_readers(pt_lmdb_store *store)
{
    int dead = 0;
    pthread_mutex_lock(&store->mutex);
    if (store->env.env != NULL) {
        mdb_reader_check(store->env.env, &dead);
    }
    pthread_mutex_unlock(&store->mutex);
    return dead > 0;
}

/* SQLITE_OK: worth another try. */
static int remedy(pt_lmdb_store *store, int mdb_rc, pt_error *error)
{
    switch (mdb_rc) {
    case MDB_READERS_FULL:
        return drop_dead_readers(store)
                   ? SQLITE_OK
                   : pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning to read it");
    case MDB_MAP_RESIZED:
        return change(store, remap, NULL, SQLITE_BUSY,
                      "was made larger by another process; end the open statements on it in this "
                      "process and try again",
                      error);
    case MDB_PANIC:
        atomic_store(&store->broken, true);
        return change(store, reopen, NULL, SQLITE_IOERR,
                      "must be opened again after a failed write; end the open statements and "
                      "transactions on it in this process, then it will be",
                      error);
    default:
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning a transaction");
    }
}

static int begin_or_renew(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    if (reader->txn != NULL) {
        return mdb_txn_renew(reader->txn);
    }
    return mdb_txn_begin(store->env.env, NULL, MDB_RDONLY, &reader->txn);
}

static int try_to_begin(pt_lmdb_store *store, pt_lmdb_reader *reader, MDB_txn **txn)
{
    count_in(store);
    int mdb_rc = MDB_PANIC;
    if (!atomic_load_explicit(&store->broken, memory_order_acquire)) {
        mdb_rc = reader != NULL ? begin_or_renew(store, reader)
                                : mdb_txn_begin(store->env.env, NULL, 0, txn);
    }
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_end(store);
    }
    return mdb_rc;
}

/* After a first try that ended with `mdb_rc`. */
__attribute__((noinline)) static int begin_with_remedies(pt_lmdb_store *store,
                                                         pt_lmdb_reader *reader, MDB_txn **txn,
                                                         int mdb_rc, pt_error *error)
{
    for (int remedies = 0; mdb_rc != MDB_SUCCESS; remedies++) {
        if (remedies == REMEDIES_MAX) {
            return pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning a transaction");
        }
        int rc = remedy(store, mdb_rc, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        mdb_rc = try_to_begin(store, reader, txn);
    }
    return SQLITE_OK;
}

static int begin(pt_lmdb_store *store, pt_lmdb_reader *reader, MDB_txn **txn, pt_error *error)
{
    int mdb_rc = try_to_begin(store, reader, txn);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : begin_with_remedies(store, reader, txn, mdb_rc, error);
}

int pt_lmdb_begin_read(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_error *error)
{
    return begin(store, reader, NULL, error);
}

int pt_lmdb_begin_write(pt_lmdb_store *store, MDB_txn **txn, pt_error *error)
{
    return begin(store, NULL, txn, error);
}
