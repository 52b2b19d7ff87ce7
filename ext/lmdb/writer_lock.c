#include "lmdb/writer_lock.h"

#include <errno.h>

#include "base/sqlite.h"
#include "base/ticks.h"
#include "lmdb/file/errors.h"
#include "lmdb/log_use.h"
#include "lmdb/logged_writer.h"
#include "lmdb/registry.h"
#include "lmdb/txn.h"
#include "lmdb/writer.h"

static int fail_being_written(pt_error *error, const pt_lmdb_store *store, const char *holder)
{
    return pt_error_set(error, SQLITE_BUSY, "store %Q is being written by %s", store->base.path,
                        holder);
}

/* Learns what others have committed, to the file and to the log. If a failed write has broken the
 * environment, the next snapshot opens it again, and until then nothing is known. */
static int catch_up_with_others(pt_lmdb_store *store, pt_error *error)
{
    uint64_t number;
    pt_lmdb_log *log = store->log;
    int rc = pt_lmdb_txn_correct_number(store, log->seen, &number, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool had_log = log->state.log_id != 0;
    log->is_locked_blindly = number == 0 && !had_log;
    if (log->is_locked_blindly) {
        log->seen = 0;
        return SQLITE_OK;
    }
    rc = had_log || number != log->seen ? pt_log_catch_up(store, number, error) : SQLITE_OK;
    if (rc == SQLITE_CORRUPT && !had_log) { /* the snapshot that follows says so, too */
        pt_error_clear(error);
        log->is_locked_blindly = true;
        rc = SQLITE_OK;
    }
    return rc;
}

static int lock_data_file(pt_lmdb_store *store, pt_deadline deadline, bool checks_name,
                          pt_error *error)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_WRITER, true, deadline);
    if (rc == SQLITE_BUSY) {
        return fail_being_written(error, store, "another process");
    }
    if (rc != SQLITE_OK) {
        return pt_lmdb_fail(error, errno, store->base.path, "locking it");
    }
    /* Looked at under the lock: pt_compact puts another file in the place of this one while it
     * holds the lock. */
    rc = checks_name ? pt_lmdb_check_name(store, SQLITE_READONLY_DBMOVED, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = catch_up_with_others(store, error);
    }
    if (rc != SQLITE_OK) {
        pt_lock_release(store->fd, PT_LOCK_WRITER);
    }
    return rc;
}

/* Sets *more if there may be more to collect. */
static int commit_renewal(pt_lmdb_store *store, bool *more, pt_error *error)
{
    const pt_commit commit = {.sync = PT_SYNC_NORMAL};
    pt_writer *writer;
    int rc = pt_lmdb_write_begin(&store->base, &writer, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_lmdb_write_insist(writer);
    if (pt_lmdb_env_readers(&store->env).count != 0 ||
        pt_lmdb_write_collect(writer, more, error) != SQLITE_OK) {
        pt_lmdb_write_abort(writer);
        *more = false;
        return SQLITE_OK;
    }
    rc = pt_lmdb_write_commit(writer, &commit, error);
    store->reserve.touched = false;
    return rc;
}

/*
 * After a commit that touched the reserve (lmdb/map.h): commits nothing, so that the next one can
 * use the pages that it freed, and deletes what is left of dropped tables. While a snapshot is in
 * use that would not help: then a later call does it.
 */
static void renew(pt_lmdb_store *store)
{
    enum { COMMITS_MAX = 16 }; /* each collects a slice; other sessions may be waiting */
    pt_error ignored = PT_ERROR_NONE;
    bool again = true;
    for (int i = 0; again && i < COMMITS_MAX; i++) {
        bool more = false;
        again = commit_renewal(store, &more, &ignored) == SQLITE_OK;
        again &= more;
    }
    store->reserve.touched |= again;
    pt_error_clear(&ignored);
}

/* First the queue, against the other sessions of this process; then the file, against other
 * processes. All sessions of a process lock the file through one descriptor, so the file's lock
 * does not keep them apart. */
__attribute__((always_inline)) static inline int
take_lock(pt_lmdb_store *store, pt_deadline deadline, bool checks_name, pt_error *error)
{
    int rc = pt_writer_queue_enter(&store->queue, deadline);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM
                   ? pt_error_nomem(error)
                   : fail_being_written(error, store, "another connection of this process");
    }
    rc = store->fd >= 0 ? lock_data_file(store, deadline, checks_name, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        pt_writer_queue_leave(&store->queue);
        return rc;
    }
    pt_lmdb_change_writer_state(store, PT_WRITER_FREE, PT_WRITER_HELD);
    return SQLITE_OK;
}

static int fail_read_only(pt_error *error, const pt_lmdb_store *store)
{
    return pt_error_set(error, SQLITE_READONLY,
                        store->env.is_newer
                            ? "store %Q cannot be written: it was made by a newer version of "
                              "ptable; write to it with that"
                            : "store %Q cannot be written: the file is read-only; change its "
                              "permissions",
                        store->base.path);
}

int pt_lmdb_lock(pt_store *base, int wait_ms, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    if (base->read_only) {
        return fail_read_only(error, store);
    }
    int rc = take_lock(store, pt_deadline_in(wait_ms), true, error);
    if (rc == SQLITE_OK && store->reserve.touched) {
        renew(store);
    }
    return rc;
}

int pt_lmdb_lock_to_close(pt_lmdb_store *store, pt_error *error)
{
    return take_lock(store, 0, false, error);
}

/*
 * Stores the last Timestamp, so that other processes continue after it. They start from the stored
 * clock or the system's, whichever is later. Both can be below our last Timestamp if the system's
 * clock was set back and the transaction that took the Timestamp was not committed. A failure is
 * harmless to this process, which remembers the Timestamp anyway.
 */
static void store_last_timestamp(pt_lmdb_store *store)
{
    pt_error ignored = PT_ERROR_NONE;
    pt_writer *writer;
    pt_commit commit = {.sync = PT_SYNC_NORMAL, .clock = store->last_timestamp};
    if (pt_lmdb_write_begin(&store->base, &writer, &ignored) == SQLITE_OK) {
        pt_lmdb_write_commit(writer, &commit, &ignored);
    }
    pt_error_clear(&ignored);
}

void pt_lmdb_unlock(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return;
    }
    /* Everything that the lock guards comes before its release. */
    pt_dictionary_withdraw(base->dictionary);
    if (store->log != NULL) {
        pt_logged_write_end(store);
    }
    if (store->fd >= 0 && store->last_timestamp > atomic_load(&store->newest_clock) &&
        store->last_timestamp > pt_ticks_now()) {
        store_last_timestamp(store);
    }
    if (store->reserve.touched) {
        renew(store);
    }
    if (pt_log_has_tail(store)) {
        pt_log_limit(store);
    }
    pt_lmdb_change_writer_state(store, PT_WRITER_BETWEEN_WRITES, PT_WRITER_FREE);
    /* The file first. Otherwise the next session in the queue would lock the file through the same
     * descriptor, and this release would take its lock away. */
    if (store->fd >= 0) {
        pt_lock_release(store->fd, PT_LOCK_WRITER);
    }
    pt_writer_queue_leave(&store->queue);
}

int64_t pt_lmdb_next_timestamp(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    PT_ASSERT((store->writer_state & PT_WRITER_LOCKED) != 0);
    /* Timestamps rise even if the system's clock is set back: above all that were committed, by any
     * process, and above all that this process gave out and did not commit. */
    int64_t stored = atomic_load(&store->newest_clock);
    int64_t last = store->last_timestamp > stored ? store->last_timestamp : stored;
    int64_t now = pt_ticks_now();
    /* A later one could not be read back: the store would count as damaged. The same one again
     * would repeat an ETag, and a large value would overwrite another. */
    if (last == PT_TICKS_MAX) {
        return 0;
    }
    store->last_timestamp = now > last ? now : last + 1;
    return store->last_timestamp;
}
