#include "lmdb/compact.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/copy.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/guards.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/temporary.h"
#include "lmdb/info.h"
#include "lmdb/txn.h"
#include "lmdb/writer.h"
#include "lmdb/writer_lock.h"

enum { NS_BETWEEN_TRIES = 200000 };

/* --- Collecting --- */

static int fail_interrupted(const pt_store *store, pt_error *error)
{
    return pt_error_set(error, SQLITE_INTERRUPT, "compacting store %Q was interrupted",
                        store->path);
}

static int collect_slice(pt_store *store, bool *collected, pt_error *error)
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

static int take_lock(pt_store *store, int wait_ms, pt_error *error)
{
    int rc = pt_lmdb_lock(store, wait_ms, error);
    return rc == SQLITE_BUSY
               ? pt_error_set(error, rc, "%s; try again, or wait longer with PRAGMA busy_timeout",
                              error->message)
               : rc;
}

/* What is left of dropped tables, in short commits; others may write in between. */
static int collect_all(pt_store *store, int wait_ms, const pt_watch *watch, pt_error *error)
{
    bool collected = true;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && collected) {
        if (watch->is_over(watch->context)) {
            return fail_interrupted(store, error);
        }
        rc = take_lock(store, wait_ms, error);
        if (rc == SQLITE_OK) {
            rc = collect_slice(store, &collected, error);
            pt_lmdb_unlock(store);
        }
    }
    return rc;
}

/* --- Others --- */

static int fail_not_alone(pt_lmdb_store *store, pt_error *error)
{
    char *processes = pt_lmdb_list_processes(store);
    if (processes == NULL) {
        return pt_error_nomem(error);
    }
    pt_error_set(error, SQLITE_BUSY,
                 "store %Q cannot be made smaller while another process has it open%s%s; close it "
                 "there and try again (what dropped tables left behind has been collected and will "
                 "be used again)",
                 store->base.path, processes[0] != 0 ? ": process " : "", processes);
    sqlite3_free(processes);
    return error->rc;
}

/* --- Rewriting --- */

typedef struct rewriting {
    pt_lmdb_temporary copy;
    struct stat old;
    struct stat new;
} rewriting;

/* The copy would have one of the names only. */
static int check_names(const pt_lmdb_store *store, pt_error *error)
{
    struct stat file;
    const char *path = store->base.path;
    if (fstat(store->fd, &file) != 0) {
        return pt_lmdb_fail(error, errno, path, "looking at it");
    }
    if (file.st_nlink > 1) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be made smaller: its file has several names (hard "
                            "links), which would then be different files; remove the others first",
                            path);
    }
    return SQLITE_OK;
}

static int take_over_owner(const rewriting *self)
{
    int fd = self->copy.fd;
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return errno;
    }
    bool same = file.st_uid == self->old.st_uid && file.st_gid == self->old.st_gid;
    if (!same && fchown(fd, self->old.st_uid, self->old.st_gid) != 0) {
        return errno;
    }
    return fchmod(fd, self->old.st_mode & 0777) == 0 ? 0 : errno;
}

/* Owner, size, and all that has been written to the disk. */
static int finish_copy(pt_store *store, rewriting *self, pt_error *error)
{
    int problem = take_over_owner(self);
    if (problem == EPERM) {
        return pt_error_set(error, SQLITE_READONLY,
                            "store %Q cannot be made smaller: its file belongs to somebody else; "
                            "let its owner do it",
                            store->path);
    }
    if (problem == 0 && (fsync(self->copy.fd) != 0 || fstat(self->copy.fd, &self->new) != 0)) {
        problem = errno;
    }
    return problem == 0 ? SQLITE_OK
                        : pt_lmdb_fail(error, problem, store->path, "finishing its copy");
}

static int put_in_place(pt_lmdb_store *store, void *context, pt_error *error)
{
    return pt_lmdb_take_over(store, &((rewriting *)context)->copy, error);
}

/* Transactions of this process are waited for, as writers are; other processes are not. */
static int replace(pt_lmdb_store *store, rewriting *self, int wait_ms, const pt_watch *watch,
                   pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(wait_ms);
    for (;;) {
        int rc =
            pt_lmdb_change_env(store, put_in_place, self,
                               "cannot be made smaller while this process reads it; end the open "
                               "statements and transactions on it and try again",
                               error);
        if (rc != SQLITE_BUSY || pt_deadline_has_passed(deadline)) {
            return rc;
        }
        rc = pt_lmdb_is_alone(store, error);
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

/* The store's lock is held. */
static int rewrite(pt_store *base, int wait_ms, const pt_watch *watch, int64_t *bytes,
                   pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    rewriting self = {.copy = {.fd = -1}};
    int rc = pt_lmdb_fill_descriptors(base->path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* The new file has a lock file of its own; without one it could not be opened. */
    int problem = pt_lmdb_lock_file_problem();
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, base->path, "making a lock file for its copy");
    }
    problem = fstat(store->fd, &self.old) == 0
                  ? pt_lmdb_temporary_make(base->path, &self.old, &self.copy)
                  : errno;
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, base->path, "making a copy beside it");
    }
    rc = check_names(store, error); /* a process that died may have left a second one till now */
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_copy(base, self.copy.name, base->path, watch, error);
    }
    if (rc == SQLITE_OK) {
        rc = finish_copy(base, &self, error);
    }
    if (rc == SQLITE_OK) {
        rc = replace(store, &self, wait_ms, watch, error);
    }
    pt_lmdb_temporary_close(&self.copy);
    if (rc == SQLITE_OK) {
        *bytes = (int64_t)(self.old.st_size - self.new.st_size);
    }
    return rc;
}

int pt_lmdb_compact(pt_store *base, int wait_ms, const pt_watch *watch, int64_t *bytes,
                    pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    int rc = take_lock(base, wait_ms, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool is_private = store->fd < 0;
    rc = is_private ? SQLITE_OK : pt_lmdb_is_alone(store, error);
    bool alone = rc == SQLITE_OK;
    if (alone && !is_private) {
        rc = rewrite(base, wait_ms, watch, bytes, error);
    }
    pt_lmdb_unlock(base);
    if (is_private) {
        *bytes = 0;
        return collect_all(base, wait_ms, watch, error);
    }
    if (alone || rc != SQLITE_BUSY) {
        return rc;
    }
    pt_error_clear(error);
    rc = collect_all(base, wait_ms, watch, error);
    return rc == SQLITE_OK ? fail_not_alone(store, error) : rc;
}
