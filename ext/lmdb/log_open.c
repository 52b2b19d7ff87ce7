#include "lmdb/log_open.h"

#include <errno.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/network.h"
#include "lmdb/log/errors.h"
#include "lmdb/log_use.h"
#include "lmdb/writer_lock.h"

/*
 * A log that nobody uses, and the state does not name, was left by a process that died while it was
 * ending or beginning it. The state may be in memory only, and the disk have one that names the
 * log: so the file is flushed first. If that fails, the log stays for the next time.
 */
static int remove_stale(const pt_lmdb_store *store, pt_error *error)
{
    const char *path = store->base.path;
    pt_lmdb_owned file;
    int problem = pt_log_file_open(path, 0, false, &file); /* always fails: no log has the id 0 */
    if (problem == ENOMEM) {
        return pt_error_nomem(error);
    }
    if (problem != ENOENT && fdatasync(store->fd) != 0) {
        return SQLITE_OK;
    }
    return pt_log_file_remove(path, 0) && pt_log_word_remove(path, 0) ? SQLITE_OK
                                                                      : pt_error_nomem(error);
}

/*
 * The lock comes first, so that no process can begin or end a log once the state is read. If it
 * cannot be had, others use the log, and the first snapshot follows them.
 */
static int open_log(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_newest newest = {0};
    const pt_format_state *state = &newest.state;
    bool damaged = false;
    int rc = store->env.read_only ? SQLITE_BUSY : pt_log_lock(store, true);
    if (rc == SQLITE_BUSY) {
        return SQLITE_OK;
    }
    if (rc != SQLITE_OK) {
        /* Perhaps nobody uses it, and then what the word says is worth nothing. */
        return pt_lmdb_fail(error, errno, store->base.path, "locking its log");
    }
    rc = pt_lmdb_look_at_newest(store, &newest, error);
    if (rc == SQLITE_CORRUPT) {
        /* The first statement says so, and until then the store can be looked at. */
        pt_error_clear(error);
        pt_log_unlock(store);
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK && state->log_id != 0) {
        rc = pt_log_recover(store, state, &damaged, error);
    } else if (rc == SQLITE_OK) {
        rc = remove_stale(store, error);
    }
    if (rc == SQLITE_OK && damaged) {
        rc = pt_log_fail_damaged(error, store->base.path);
    }
    if (rc == SQLITE_OK && state->log_id != 0) {
        return pt_log_lock(store, false) == SQLITE_OK
                   ? SQLITE_OK
                   : pt_lmdb_fail(error, errno, store->base.path, "locking its log");
    }
    pt_log_unlock(store);
    return rc;
}

static int opened_with_log(pt_lmdb_store *store, pt_error *error)
{
    int rc = pt_log_new(store, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Memory is not shared between machines, and a log is followed through shared memory. */
    store->log->is_allowed = !pt_lmdb_is_on_network(store->fd);
    return open_log(store, error);
}

static void end_log(pt_lmdb_store *store)
{
    pt_error ignored = PT_ERROR_NONE;
    /* Looked at again by a transaction: if something is wrong with LMDB's lock file, a commit would
     * do harm. The file's name does not matter any more: with all commits in it, it is whole, also
     * where it was moved to. */
    store->log->seen = 0;
    if (pt_lmdb_lock_to_close(store, &ignored) == SQLITE_OK) {
        pt_log_stop(store, &ignored);
        pt_lmdb_unlock(&store->base);
    }
    pt_error_clear(&ignored);
}

/* No connection of this process has the store open any more. If the log cannot be ended, it stays,
 * and the next process to open the store reads it. The lock goes before the gate does: a process
 * that waits for the gate may be the last one. */
static void closing_with_log(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    if (log == NULL) {
        return;
    }
    if (log->has_lock && !atomic_load(&store->broken) && pt_log_lock(store, true) == SQLITE_OK) {
        end_log(store);
    }
    pt_log_unlock(store);
}

const pt_lmdb_hooks pt_log_hooks = {
    .opened = opened_with_log, .closing = closing_with_log, .freed = pt_log_free};

/* --- Giving up a log --- */

/*
 * Sets is_given_up if the log is lost. One that is a link, or cannot be opened now for reading and
 * writing, has all its commits. So has perhaps one that the disk does not give: a read that failed
 * may succeed the next time.
 */
static int look_before_forgetting(const pt_lmdb_store *store, uint64_t id, pt_error *error)
{
    pt_lmdb_owned file = {.fd = -1};
    int problem = pt_log_file_open(store->base.path, id, true, &file);
    if (problem == 0) {
        pt_lmdb_close_owned(&file);
    }
    store->log->is_given_up = pt_log_is_lost(problem);
    if (problem == 0 || store->log->is_given_up) {
        return SQLITE_OK;
    }
    return problem == EIO ? pt_log_fail_reading(error, store->base.path, problem)
                          : pt_log_fail(error, store->base.path, problem);
}

static int open_to_forget(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_newest newest = {0};
    bool damaged;
    int rc = pt_log_new(store, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (store->env.read_only) {
        return pt_error_set(error, SQLITE_READONLY,
                            "store %Q cannot be written: ask its owner to give up its log",
                            store->base.path);
    }
    if (pt_log_lock(store, true) != SQLITE_OK) {
        return pt_error_set(error, SQLITE_BUSY,
                            "the log of store %Q is in use in another process; close the store "
                            "there first",
                            store->base.path);
    }
    rc = pt_lmdb_look_at_newest(store, &newest, error);
    if (rc != SQLITE_OK || newest.state.log_id == 0) {
        return rc;
    }
    rc = look_before_forgetting(store, newest.state.log_id, error);
    if (rc != SQLITE_OK || store->log->is_given_up) {
        return rc;
    }
    store->log->is_alone = true;
    return pt_log_recover(store, &newest.state, &damaged, error);
}

static const pt_lmdb_hooks forgetting_hooks = {
    .opened = open_to_forget, .closing = closing_with_log, .freed = pt_log_free};

static int give_up_log(pt_lmdb_store *store, int64_t *kept, int64_t *clock, pt_error *error)
{
    const pt_lmdb_log *log = store->log;
    int rc = pt_lmdb_lock(&store->base, 0, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int64_t commits = pt_log_has_tail(store) ? (int64_t)atomic_load(&log->tail->commits) : 0;
    *kept = log->state.log_id == 0 ? -1 : commits;
    rc = pt_log_stop(store, error);
    *clock = log->state.clock;
    pt_lmdb_unlock(&store->base);
    return rc;
}

int pt_log_forget(const char *path, const pt_engine *engine, int64_t *kept, int64_t *clock,
                  pt_error *error)
{
    pt_store *store = NULL;
    int rc = pt_lmdb_open(path, 0, engine, &forgetting_hooks, &store, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_lmdb_store *own = (pt_lmdb_store *)store;
    rc = own->hooks == &forgetting_hooks
             ? give_up_log(own, kept, clock, error)
             : pt_error_set(error, SQLITE_BUSY,
                            "store %Q is open in this process; close the connections that use it "
                            "first",
                            path);
    pt_lmdb_close(store);
    return rc;
}
