#include "lmdb/compact.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/copy.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/temporary.h"
#include "lmdb/info.h"
#include "lmdb/log_use.h"
#include "lmdb/txn.h"
#include "lmdb/writer.h"
#include "lmdb/writer_lock.h"

enum { NS_BETWEEN_TRIES = 200000 };

/* --- Collecting dropped tables --- */

static int fail_interrupted(const pt_store *store, pt_error *error)
{
    return pt_error_set(error, SQLITE_INTERRUPT, "compacting store %Q was interrupted",
                        store->path);
}

static int commit_collection(pt_store *store, bool *collected, pt_error *error)
{
    static const pt_commit commit = {.sync = PT_SYNC_NORMAL};
    pt_writer *writer;
    int rc = pt_lmdb_write_begin(store, &writer, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_lmdb_write_collect(writer, collected, error);
    if (rc != SQLITE_OK || !*collected) {
        pt_lmdb_write_abort(writer);
        return rc;
    }
    return pt_lmdb_write_commit(writer, &commit, error);
}

static int lock_to_compact(pt_store *store, int wait_ms, pt_error *error)
{
    int rc = pt_lmdb_lock(store, wait_ms, error);
    return rc == SQLITE_BUSY
               ? pt_error_set(error, rc, "%s; try again, or wait longer with PRAGMA busy_timeout",
                              error->message)
               : rc;
}

/* Deletes the entities and chunks of all dropped tables, in short commits; others may write between
 * them. */
static int collect_all(pt_store *store, int wait_ms, const pt_watch *watch, pt_error *error)
{
    bool collected = true;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && collected) {
        if (watch->is_over(watch->context)) {
            return fail_interrupted(store, error);
        }
        rc = lock_to_compact(store, wait_ms, error);
        if (rc == SQLITE_OK) {
            rc = commit_collection(store, &collected, error);
            pt_lmdb_unlock(store);
        }
    }
    return rc;
}

static int fail_not_alone(pt_lmdb_store *store, pt_error *error)
{
    char *processes = pt_lmdb_list_processes(store);
    if (processes == NULL) {
        return pt_error_nomem(error);
    }
    pt_error_set(
        error, SQLITE_BUSY,
        "store %Q cannot be compacted while another process has it open%s%s; close it "
        "there and try again (the space of dropped tables has been collected and will be reused)",
        store->base.path, processes[0] != 0 ? ": process " : "", processes);
    sqlite3_free(processes);
    return error->rc;
}

/* --- Rewriting the file --- */

typedef struct rewriting {
    pt_lmdb_temporary copy;
    pt_lmdb_permissions old;
    struct stat new;
} rewriting;

/* Refuses a file with hard links: the copy would replace one of its names only. */
static int check_one_name(const pt_lmdb_store *store, pt_error *error)
{
    struct stat file;
    const char *path = store->base.path;
    if (fstat(store->fd, &file) != 0) {
        return pt_lmdb_fail(error, errno, path, "looking at it");
    }
    if (file.st_nlink > 1) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be compacted: its file has several names (hard "
                            "links), which would become different files; remove the others first",
                            path);
    }
    return SQLITE_OK;
}

/* Gives the copy the owner and permissions of the old file, syncs it and notes its size. */
static int finish_copy(pt_store *store, rewriting *self, pt_error *error)
{
    int problem = pt_lmdb_keep_permissions(self->copy.fd, &self->old);
    if (problem == EPERM) {
        return pt_error_set(
            error, SQLITE_READONLY,
            "store %Q cannot be compacted: its file belongs to another user, who can do it",
            store->path);
    }
    if (problem == 0 && (fsync(self->copy.fd) != 0 || fstat(self->copy.fd, &self->new) != 0)) {
        problem = errno;
    }
    return problem == 0 ? SQLITE_OK
                        : pt_lmdb_fail(error, problem, store->path, "finishing its copy");
}

static int install_copy(pt_lmdb_store *store, void *context, pt_error *error)
{
    return pt_lmdb_replace_file(store, &((rewriting *)context)->copy, error);
}

/* Waits up to `wait_ms` for the transactions of this process, but not for other processes. */
static int replace_file(pt_lmdb_store *store, rewriting *self, int wait_ms, const pt_watch *watch,
                        pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(wait_ms);
    for (;;) {
        int rc = pt_lmdb_change_env(store, install_copy, self,
                                    "cannot be compacted while this process reads it; end the open "
                                    "statements and transactions on it and try again",
                                    error);
        if (rc != SQLITE_BUSY || pt_deadline_has_passed(deadline)) {
            return rc;
        }
        /* Transactions of ours are worth waiting for, a process that has the store open is not. */
        rc = pt_lmdb_check_alone(store, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (watch->is_over(watch->context)) {
            return fail_interrupted(&store->base, error);
        }
        nanosleep(&(struct timespec){.tv_nsec = NS_BETWEEN_TRIES}, NULL);
        pt_error_clear(error);
    }
}

/* The caller holds the store's writer lock. */
static int rewrite_file(pt_store *base, int wait_ms, const pt_watch *watch, int64_t *bytes,
                        pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    rewriting self = {.copy = {.fd = -1}};
    int rc = pt_lmdb_fill_descriptors(base->path, error);
    if (rc == SQLITE_OK) {
        rc = pt_log_stop(store, error); /* so that nothing is in the log only */
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_log_forget_versions(store);
    /* The new file needs a lock file of its own, or it could not be opened: find out now. */
    int problem = pt_lmdb_lock_file_problem();
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, base->path, "making a lock file for its copy");
    }
    problem = pt_lmdb_read_permissions(store->fd, NULL, &self.old);
    if (problem == 0) {
        problem = pt_lmdb_temporary_make(base->path, &self.old, &self.copy);
    }
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, base->path, "making a copy beside it");
    }
    /* Only now: making the temporary file has removed the second name that a process may have left
     * when it died. */
    rc = check_one_name(store, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_copy(base, self.copy.name, base->path, watch, error);
    }
    if (rc == SQLITE_OK) {
        rc = finish_copy(base, &self, error);
    }
    if (rc == SQLITE_OK) {
        rc = replace_file(store, &self, wait_ms, watch, error);
    }
    pt_lmdb_temporary_close(&self.copy);
    if (rc == SQLITE_OK) {
        *bytes = (int64_t)(self.old.file.st_size - self.new.st_size);
    }
    return rc;
}

int pt_lmdb_compact(pt_store *base, int wait_ms, const pt_watch *watch, int64_t *bytes,
                    pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    int rc = lock_to_compact(base, wait_ms, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool is_private = store->fd < 0;
    rc = is_private ? SQLITE_OK : pt_lmdb_check_alone(store, error);
    bool alone = rc == SQLITE_OK;
    if (alone && !is_private) {
        rc = rewrite_file(base, wait_ms, watch, bytes, error);
    }
    /* collect_all takes the lock for each of its commits. */
    pt_lmdb_unlock(base);
    if (is_private) {
        *bytes = 0;
        return collect_all(base, wait_ms, watch, error);
    }
    if (alone || rc != SQLITE_BUSY) {
        return rc;
    }
    /* Another process has the store open, so the file stays. Its free pages can be reused at least.
     */
    pt_error_clear(error);
    rc = collect_all(base, wait_ms, watch, error);
    return rc == SQLITE_OK ? fail_not_alone(store, error) : rc;
}
