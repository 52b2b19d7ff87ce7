#include "lmdb/writer_lock.h"

#include <errno.h>

#include "base/sqlite.h"
#include "base/ticks.h"
#include "lmdb/file/errors.h"
#include "lmdb/registry.h"
#include "lmdb/writer.h"

static int fail_busy(pt_error *error, const pt_lmdb_store *store, const char *holder)
{
    return pt_error_set(error, SQLITE_BUSY, "store %Q is being written by %s", store->base.path,
                        holder);
}

static int lock_file(pt_lmdb_store *store, pt_deadline deadline, pt_error *error)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_WRITER, true, deadline);
    if (rc == SQLITE_BUSY) {
        return fail_busy(error, store, "another process");
    }
    if (rc != SQLITE_OK) {
        return pt_lmdb_fail(error, errno, store->base.path, "locking it");
    }
    rc = pt_lmdb_check_name(store, SQLITE_READONLY_DBMOVED, error);
    if (rc != SQLITE_OK) {
        pt_lock_release(store->fd, PT_LOCK_WRITER);
    }
    return rc;
}

int pt_lmdb_lock(pt_store *base, int wait_ms, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    if (base->read_only) {
        return pt_error_set(error, SQLITE_READONLY,
                            "store %Q cannot be written: the file is read-only, or was made by a "
                            "newer version of ptable; change its permissions, or open it with that",
                            base->path);
    }
    pt_deadline deadline = pt_deadline_in(wait_ms);
    int rc = pt_writer_queue_enter(&store->queue, deadline);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error)
                                  : fail_busy(error, store, "another connection of this process");
    }
    rc = store->fd >= 0 ? lock_file(store, deadline, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        pt_writer_queue_leave(&store->queue);
    }
    return rc;
}

/*
 * Another process counts on from the stored clock or from its own, whichever is later. Neither may
 * be behind what was given out here and then not committed, which happens when the system's clock
 * was set back. It is a precaution: failing changes nothing for this process.
 */
static void store_last_tick(pt_lmdb_store *store)
{
    pt_error ignored = PT_ERROR_NONE;
    pt_writer *writer;
    pt_commit commit = {.sync = PT_SYNC_NORMAL, .clock = store->last_tick};
    if (pt_lmdb_write_begin(&store->base, &writer, &ignored) == SQLITE_OK) {
        pt_lmdb_write_commit(writer, &commit, &ignored);
    }
    pt_error_clear(&ignored);
}

void pt_lmdb_unlock(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_inherited(store)) {
        return;
    }
    pt_dictionary_withdraw(base->dictionary);
    if (store->fd >= 0) {
        if (store->last_tick > atomic_load(&store->newest_clock) &&
            store->last_tick > pt_ticks_now()) {
            store_last_tick(store);
        }
        pt_lock_release(store->fd, PT_LOCK_WRITER);
    }
    pt_writer_queue_leave(&store->queue);
}

int64_t pt_lmdb_tick(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    int64_t stored = atomic_load(&store->newest_clock);
    int64_t last = store->last_tick > stored ? store->last_tick : stored;
    int64_t now = pt_ticks_now();
    int64_t next = now > last ? now : last + 1;
    /* What is later could not be read again: the store would count as damaged. */
    store->last_tick = next < PT_TICKS_MAX ? next : PT_TICKS_MAX;
    return store->last_tick;
}
