#include "lmdb/txn.h"

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/map.h"

enum { REMEDIES_MAX = 3 };

void pt_lmdb_reader_add(pt_lmdb_store *store, pt_lmdb_reader *reader)
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

void pt_lmdb_reader_remove(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    pthread_mutex_lock(&store->mutex);
    *reader->link = reader->next;
    if (reader->next != NULL) {
        reader->next->link = reader->link;
    }
    /* Under the mutex: a change of the environment must not abort the same transaction. */
    if (reader->txn != NULL) {
        mdb_txn_abort(reader->txn);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* --- Transactions against changes of the environment --- */

/* Waits until no change is in progress. The caller has counted its transaction, and it is counted
 * again when this returns. */
__attribute__((noinline)) static void wait_for_change(pt_lmdb_store *store)
{
    do {
        atomic_fetch_sub(&store->active, 1);
        /* The change holds the mutex from beginning to end. */
        pthread_mutex_lock(&store->mutex);
        pthread_mutex_unlock(&store->mutex);
        atomic_fetch_add(&store->active, 1);
    } while (atomic_load(&store->changing));
}

/*
 * Counts a transaction that is about to begin. First `active`, then `changing`;
 * change_env_when_idle takes them the other way round. So whatever the timing, at least one of the
 * two sees the other.
 */
static void count_txn(pt_lmdb_store *store)
{
    atomic_fetch_add(&store->active, 1);
    if (atomic_load(&store->changing)) {
        wait_for_change(store);
    }
}

static int change_env_when_idle(pt_lmdb_store *store, pt_lmdb_env_work work, void *context,
                                int busy_rc, const char *busy_text, pt_error *error)
{
    int rc;
    pthread_mutex_lock(&store->mutex);
    atomic_store(&store->changing, true);
    if (atomic_load(&store->active) == 0) {
        rc = work(store, context, error);
    } else {
        rc = pt_error_set(error, busy_rc, "store %Q %s", store->base.path, busy_text);
    }
    /* Before the mutex is released: whoever waits for it would otherwise wait again. */
    atomic_store(&store->changing, false);
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

/* Frees the read transactions that are kept: they belong to the environment that will be closed. */
static void abort_kept_readers(pt_lmdb_store *store)
{
    for (pt_lmdb_reader *reader = store->readers; reader != NULL; reader = reader->next) {
        if (reader->txn != NULL) {
            mdb_txn_abort(reader->txn);
        }
        reader->txn = NULL;
        reader->seen = 0;
    }
}

typedef struct outer_work {
    pt_lmdb_env_work work;
    void *context;
} outer_work;

static int work_without_readers(pt_lmdb_store *store, void *context, pt_error *error)
{
    const outer_work *outer = context;
    abort_kept_readers(store);
    int rc = outer->work(store, outer->context, error);
    if (rc == SQLITE_OK || store->env.env == NULL) {
        atomic_store(&store->broken, rc != SQLITE_OK);
    }
    return rc;
}

int pt_lmdb_change_env(pt_lmdb_store *store, pt_lmdb_env_work work, void *context,
                       const char *busy_text, pt_error *error)
{
    outer_work outer = {.work = work, .context = context};
    return change_env_when_idle(store, work_without_readers, &outer, SQLITE_BUSY, busy_text, error);
}

/* --- Memory --- */

static int reopen_if_safe(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    return pt_lmdb_reopen_if_safe(store, error);
}

void pt_lmdb_txn_give_back_memory(pt_lmdb_store *store)
{
    if (atomic_load(&store->active) != 0) {
        return;
    }
    atomic_store(&store->holds_much, false);
    /* No failure is an error: either the memory stays for now, or the environment is closed and the
     * next transaction opens it. */
    pt_error ignored = PT_ERROR_NONE;
    if (pt_lmdb_change_env(store, reopen_if_safe, NULL, "is in use", &ignored) == SQLITE_BUSY) {
        atomic_store(&store->holds_much, true);
    }
    pt_error_clear(&ignored);
    pt_lmdb_env_trim_heap();
}

void pt_lmdb_txn_note_size(pt_lmdb_store *store, size_t operations, size_t bytes, bool committed)
{
    enum { PAGES_OF_A_PAGEFUL = 2 }; /* pages are at least half full */
    const pt_lmdb_env *env = &store->env;
    size_t most = PT_LMDB_KEPT_MAX / env->page_size;
    if (operations + PAGES_OF_A_PAGEFUL * bytes / env->page_size <= most) {
        return;
    }
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    /* After a commit: it cannot have changed more pages than there are. */
    if (!committed || info.me_last_pgno > most) {
        atomic_store(&store->holds_much, true);
    }
}

/* --- Remedies --- */

/* Frees reader slots of processes that have died. True if there were any. */
static bool free_dead_reader_slots(pt_lmdb_store *store)
{
    int dead = 0;
    /* The mutex keeps other threads from closing the environment. */
    pthread_mutex_lock(&store->mutex);
    if (store->env.env != NULL) {
        mdb_reader_check(store->env.env, &dead);
    }
    pthread_mutex_unlock(&store->mutex);
    return dead > 0;
}

/* Another process has made the file larger than our map of it. LMDB moves the map, so no
 * transaction may be open: a reader would die of SIGSEGV or SIGBUS. */
static int remap_outgrown_map(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    int rc = pt_lmdb_map_grow(&store->env, store->base.path, error);
    if (rc != SQLITE_OK) {
        atomic_store(&store->broken, true);
    }
    return rc;
}

/* After LMDB has failed to write a root page it refuses every further transaction of the
 * environment (MDB_PANIC). Those that are open read on, and while there is one the environment
 * stays. */
static int reopen_broken_env(pt_lmdb_store *store, void *context, pt_error *error)
{
    (void)context;
    if (!atomic_load(&store->broken)) {
        return SQLITE_OK; /* another thread has reopened it since */
    }
    abort_kept_readers(store);
    int rc = pt_lmdb_reopen(store, error);
    if (rc == SQLITE_OK) {
        atomic_store(&store->broken, false);
    }
    return rc;
}

/*
 * LMDB has said MDB_PANIC. Another thread may have opened the environment again since, and with
 * transactions open `broken` would keep all others out of one that works. So LMDB is asked once
 * more. False: it is not broken any more.
 */
static bool note_panic(pt_lmdb_store *store)
{
    count_txn(store); /* so nothing closes the environment */
    pthread_mutex_lock(&store->mutex);
    if (!atomic_load(&store->broken)) {
        MDB_txn *txn = NULL;
        atomic_store(&store->broken,
                     mdb_txn_begin(store->env.env, NULL, MDB_RDONLY, &txn) == MDB_PANIC);
        mdb_txn_abort(txn);
    }
    bool broken = atomic_load(&store->broken);
    pthread_mutex_unlock(&store->mutex);
    pt_lmdb_txn_end(store);
    return broken;
}

/* Removes the cause of a failed begin. SQLITE_OK: worth another try. */
static int remedy_failed_begin(pt_lmdb_store *store, int mdb_rc, pt_error *error)
{
    switch (mdb_rc) {
    case MDB_READERS_FULL:
        return free_dead_reader_slots(store)
                   ? SQLITE_OK
                   : pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning to read it");
    case MDB_MAP_RESIZED:
        return change_env_when_idle(
            store, remap_outgrown_map, NULL, SQLITE_BUSY,
            "was made larger by another process; end the open statements on it in this "
            "process and try again",
            error);
    case MDB_PANIC:
        if (!note_panic(store)) {
            return SQLITE_OK;
        }
        return change_env_when_idle(
            store, reopen_broken_env, NULL, SQLITE_IOERR,
            "must be opened again after a failed write; end the open statements and "
            "transactions on it in this process, and the next one opens it",
            error);
    default:
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning a transaction");
    }
}

/* --- Begin --- */

static int begin_or_renew_reader(pt_lmdb_store *store, pt_lmdb_reader *reader)
{
    if (reader->txn != NULL) {
        return mdb_txn_renew(reader->txn);
    }
    return mdb_txn_begin(store->env.env, NULL, MDB_RDONLY, &reader->txn);
}

static int try_to_begin_txn(pt_lmdb_store *store, pt_lmdb_reader *reader, MDB_txn **txn)
{
    /* Counted before `broken` is read: once counted, nothing closes the environment. */
    count_txn(store);
    int mdb_rc = MDB_PANIC;
    if (!atomic_load_explicit(&store->broken, memory_order_acquire)) {
        mdb_rc = reader != NULL ? begin_or_renew_reader(store, reader)
                                : mdb_txn_begin(store->env.env, NULL, 0, txn);
    }
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_txn_end(store);
    }
    return mdb_rc;
}

/* The first try has failed with `mdb_rc`. */
__attribute__((noinline)) static int begin_with_remedies(pt_lmdb_store *store,
                                                         pt_lmdb_reader *reader, MDB_txn **txn,
                                                         int mdb_rc, pt_error *error)
{
    for (int remedies = 0; mdb_rc != MDB_SUCCESS; remedies++) {
        if (remedies == REMEDIES_MAX) {
            return pt_lmdb_fail(error, mdb_rc, store->base.path, "beginning a transaction");
        }
        int rc = remedy_failed_begin(store, mdb_rc, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        mdb_rc = try_to_begin_txn(store, reader, txn);
    }
    return SQLITE_OK;
}

static int begin_txn(pt_lmdb_store *store, pt_lmdb_reader *reader, MDB_txn **txn, pt_error *error)
{
    int mdb_rc = try_to_begin_txn(store, reader, txn);
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : begin_with_remedies(store, reader, txn, mdb_rc, error);
}

int pt_lmdb_txn_begin_read(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_error *error)
{
    return begin_txn(store, reader, NULL, error);
}

int pt_lmdb_txn_begin_write(pt_lmdb_store *store, MDB_txn **txn, pt_error *error)
{
    return begin_txn(store, NULL, txn, error);
}

/* That of the newest root page. 0 if a failed write has broken the environment. */
static uint64_t number_of_newest(pt_lmdb_store *store)
{
    uint64_t number = 0;
    count_txn(store);
    if (!atomic_load_explicit(&store->broken, memory_order_acquire)) {
        MDB_envinfo info;
        mdb_env_info(store->env.env, &info);
        number = info.me_last_txnid;
    }
    pt_lmdb_txn_end(store);
    return number;
}

/* LMDB corrects the number when a write transaction begins. */
int pt_lmdb_txn_correct_number(pt_lmdb_store *store, uint64_t known, uint64_t *number,
                               pt_error *error)
{
    MDB_txn *txn = NULL;
    *number = number_of_newest(store);
    /* If this process made the last commit, the number is right. */
    if (*number == 0 || *number == known || *number == store->committed.state.version) {
        return SQLITE_OK;
    }
    int rc = pt_lmdb_txn_begin_write(store, &txn, error);
    if (rc == SQLITE_OK) {
        mdb_txn_abort(txn);
        pt_lmdb_txn_end(store);
        *number = number_of_newest(store);
    }
    return rc;
}
