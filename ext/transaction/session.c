#include "transaction/session.h"

#include "base/sqlite.h"
#include "entity/key.h"
#include "transaction/batch.h"
#include "transaction/last_key.h"
#include "transaction/savepoints.h"

struct pt_session {
    pt_session_host host;
    pt_store *store;
    pt_view *view;    /* what statements see now, or NULL */
    pt_view *spare;   /* to open the next view without allocating, or NULL */
    unsigned cursors; /* open ones */

    bool writing; /* the writer lock is held and the view has a memtable */
    bool in_doubt;
    pt_savepoints savepoints;
    pt_sync sync;
    int64_t clock;
    uint32_t next_table_id;
    uint64_t catalog_changes;
    uint64_t directory_changes;
    bool directory_changed; /* by the transaction */

    unsigned rows; /* that have begun and not ended, each inside the one before */

    size_t batch_length; /* of the log with the first write of a batch (transaction/batch_rules.h);
                            0: none */

    pt_batch applied;         /* what the store holds of this transaction since xSync */
    uint64_t applied_version; /* of the memtable then; 0: nothing */

    pt_last_key last_key; /* in the snapshot */

    pt_interruption interruption; /* of the statements that read the view */
};

enum { WRITES_BEFORE_LAST_KEY = 16 };

pt_session *pt_session_new(pt_store *store, const pt_session_host *host)
{
    pt_session *session = sqlite3_malloc64(sizeof *session);
    if (session == NULL) {
        store->engine->close(store);
        return NULL;
    }
    *session = (pt_session){.host = *host, .store = store, .interruption = {.db = host->db}};
    return session;
}

void pt_session_free(pt_session *session)
{
    if (session == NULL) {
        return;
    }
    pt_session_rollback(session);
    pt_session_end_read(session);
    pt_view_release(session->view);
    pt_view_release(session->spare);
    pt_batch_free(&session->applied);
    pt_last_key_free(&session->last_key);
    pt_savepoints_free(&session->savepoints);
    session->store->engine->close(session->store);
    sqlite3_free(session);
}

pt_store *pt_session_store(const pt_session *session)
{
    return session->store;
}

bool pt_session_is_writing(const pt_session *session)
{
    return session->writing;
}

/* What the transaction writes to; NULL also for one that has failed and could not be taken back. */
static pt_memtable *memtable_of(const pt_session *session)
{
    return session->writing && !session->in_doubt ? session->view->memtable : NULL;
}

pt_memtable *pt_session_memtable(const pt_session *session)
{
    return memtable_of(session);
}

static size_t length_of(const pt_session *session)
{
    pt_memtable *memtable = memtable_of(session);
    return memtable != NULL ? pt_memtable_length(memtable) : 0;
}

bool pt_session_has_pending(const pt_session *session)
{
    return length_of(session) != 0;
}

pt_view *pt_session_pending_view(const pt_session *session)
{
    bool goes_on = session->writing && !atomic_load(&session->store->in_doubt);
    return goes_on && pt_memtable_length(session->view->memtable) != 0 ? session->view : NULL;
}

void pt_session_note_batch(pt_session *session)
{
    if (session->batch_length == 0) {
        session->batch_length = length_of(session);
    }
}

bool pt_session_has_batch(const pt_session *session)
{
    return session->batch_length != 0 && length_of(session) != 0;
}

/* --- Views --- */

/* Lets the current view go; it becomes the spare one if nobody else reads it. */
static void drop_view(pt_session *session)
{
    pt_view *view = session->view;
    session->view = NULL;
    if (view == NULL) {
        return;
    }
    if (view->references > 1) {
        pt_view_release(view);
        return;
    }
    pt_view_put_by(view);
    session->spare = view;
}

/* A view of the newest version becomes the current one. */
static int take_view(pt_session *session, pt_error *error)
{
    drop_view(session);
    if (session->spare == NULL) {
        int rc = pt_view_open(session->store, &session->spare, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        session->spare->interruption = session->host.db != NULL ? &session->interruption : NULL;
    } else {
        int rc = pt_view_reopen(session->spare, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    session->view = session->spare;
    session->spare = NULL;
    return SQLITE_OK;
}

static int take_back(pt_session *session, pt_error *error);

/* Nothing may use a store that shows writes of a transaction that failed. */
static inline int settle_doubt(pt_session *session, pt_error *error)
{
    return atomic_load(&session->store->in_doubt) ? take_back(session, error) : SQLITE_OK;
}

int pt_session_read(pt_session *session, pt_view **view, pt_error *error)
{
    int rc = settle_doubt(session, error);
    if (rc == SQLITE_OK && session->view == NULL) {
        rc = take_view(session, error);
    }
    if (rc == SQLITE_OK) {
        *view = session->view;
    }
    return rc;
}

bool pt_session_is_current(const pt_session *session, const pt_view *view)
{
    return session->view == view;
}

bool pt_session_is_being_read(const pt_session *session)
{
    return session->cursors > 0;
}

static bool view_is_held(const pt_session *session)
{
    return session->writing || session->cursors > 0 ||
           session->host.follows_transaction(session->host.context);
}

void pt_session_cursor_opened(pt_session *session)
{
    session->cursors++;
}

void pt_session_cursor_closed(pt_session *session)
{
    session->cursors--;
    pt_session_end_read(session);
}

void pt_session_end_read(pt_session *session)
{
    if (!view_is_held(session)) {
        drop_view(session);
    }
}

/* --- Begin --- */

/* By a look at the newest version. None to be had for other readers, there is nothing to gain by
 * keeping this one. */
static int look_for_change(pt_session *session, bool *changed, pt_error *error)
{
    pt_view *newest;
    int rc = pt_view_open(session->store, &newest, error);
    if (rc == SQLITE_BUSY) {
        pt_error_clear(error);
        *changed = true;
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        *changed = newest->snapshot->version != session->view->snapshot->version;
        pt_view_release(newest);
    }
    return rc;
}

/* A transaction that has read may write only on top of what it read. */
static int check_snapshot(pt_session *session, pt_error *error)
{
    bool changed = false;
    if (session->store->engine->snapshot_is_newest(session->view->snapshot)) {
        return SQLITE_OK;
    }
    int rc = look_for_change(session, &changed, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (changed) {
        return pt_error_set(error, SQLITE_BUSY_SNAPSHOT,
                            "store %Q was changed by somebody else since this transaction "
                            "read from it; ROLLBACK and run the transaction again",
                            session->store->path);
    }
    return SQLITE_OK;
}

static int begin_locked(pt_session *session, pt_error *error)
{
    bool has_read =
        session->view != NULL && session->host.follows_transaction(session->host.context);
    int rc = has_read ? check_snapshot(session, error) : take_view(session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_view_begin_writing(session->view) ? SQLITE_OK : pt_error_nomem(error);
}

/* The busy time-out is asked for only when there is something to wait for: that costs a statement.
 */
static int lock_store(pt_session *session, pt_error *error)
{
    const pt_engine *engine = session->store->engine;
    int rc = engine->lock(session->store, 0, error);
    if (rc != SQLITE_BUSY) {
        return rc;
    }
    const char *advice;
    int wait_ms;
    int asked = session->host.lock_wait(session->host.context, &wait_ms, &advice, error);
    if (asked != SQLITE_OK) {
        return asked;
    }
    if (wait_ms > 0) {
        pt_error_clear(error);
        rc = engine->lock(session->store, wait_ms, error);
    }
    return rc == SQLITE_BUSY ? pt_error_set(error, rc, "%s; %s", error->message, advice) : rc;
}

int pt_session_begin(pt_session *session, pt_error *error)
{
    int rc = settle_doubt(session, error);
    if (rc != SQLITE_OK || session->writing) {
        return rc;
    }
    if (!pt_savepoints_reserve(&session->savepoints)) {
        return pt_error_nomem(error);
    }
    rc = lock_store(session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = begin_locked(session, error);
    if (rc != SQLITE_OK) {
        session->store->engine->unlock(session->store);
        pt_session_end_read(session);
        return rc;
    }
    session->writing = true;
    session->sync = PT_SYNC_OFF;
    session->batch_length = 0;
    session->clock = session->view->snapshot->clock;
    session->next_table_id = session->view->snapshot->next_table_id;
    pt_last_key_forget(&session->last_key);
    return SQLITE_OK;
}

/* --- Savepoints --- */

/* Something that the transaction has written is taken back, or it is over. */
static void note_end(pt_session *session)
{
    session->catalog_changes++;
    session->directory_changes += session->directory_changed;
}

static void cut(pt_session *session, pt_memtable *memtable, size_t length)
{
    pt_memtable_cut(memtable, length);
    if (length < session->batch_length) {
        session->batch_length = 0;
    }
}

static void protect_marks(pt_session *session)
{
    pt_memtable *memtable = memtable_of(session);
    if (memtable != NULL) {
        pt_memtable_protect(memtable, pt_savepoints_protected(&session->savepoints));
    }
}

/* While writes are pending there is always room for the next mark. */
int pt_session_savepoint(pt_session *session, int level)
{
    int rc = pt_savepoints_open(&session->savepoints, level, length_of(session));
    protect_marks(session);
    return rc;
}

void pt_session_release(pt_session *session, int level)
{
    pt_savepoints_release(&session->savepoints, level);
    protect_marks(session);
}

void pt_session_rollback_to(pt_session *session, int level)
{
    size_t length = pt_savepoints_roll_back(&session->savepoints, level);
    pt_memtable *memtable = memtable_of(session);
    if (memtable != NULL) {
        cut(session, memtable, length);
        note_end(session);
    }
    protect_marks(session);
}

/* --- The end of a transaction --- */

/* The transaction is over: the lock is free again and the view gone, but for cursors that still
 * read it. */
static void finish(pt_session *session)
{
    pt_batch_free(&session->applied);
    session->applied_version = 0;
    note_end(session);
    session->directory_changed = false;
    session->writing = false;
    session->in_doubt = false;
    drop_view(session);
    session->store->engine->unlock(session->store);
}

static pt_commit commit_of(const pt_session *session, bool catalog_changed)
{
    return (pt_commit){.sync = session->sync,
                       .clock = session->clock,
                       .next_table_id = session->next_table_id,
                       .catalog_changed = catalog_changed};
}

int pt_session_sync(pt_session *session, pt_error *error)
{
    pt_memtable *memtable = memtable_of(session);
    if (memtable == NULL || pt_memtable_version(memtable) == session->applied_version) {
        return SQLITE_OK;
    }
    pt_batch batch = {0};
    if (pt_memtable_sorted(memtable, &batch.entries, &batch.count) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    if (batch.count + session->applied.count != 0) {
        pt_commit commit = commit_of(session, pt_batch_changes_catalog(&batch) ||
                                                  pt_batch_changes_catalog(&session->applied));
        rc = session->host.before_commit(session->host.context, error);
        if (rc == SQLITE_OK) {
            rc = pt_batch_commit(session->store, &session->applied, session->view->snapshot, &batch,
                                 &commit, error);
        }
    }
    if (rc != SQLITE_OK) {
        pt_batch_free(&batch);
        return rc;
    }
    pt_batch_free(&session->applied);
    session->applied = batch;
    session->applied_version = pt_memtable_version(memtable);
    pt_memtable_pin(memtable);
    return SQLITE_OK;
}

void pt_session_commit(pt_session *session)
{
    pt_savepoints_clear(&session->savepoints);
    if (session->writing && !session->in_doubt) {
        finish(session);
    }
}

/* Takes back from the store what xSync put there. */
static int undo(pt_session *session, pt_error *error)
{
    if (session->applied.count == 0) {
        return SQLITE_OK;
    }
    static const pt_batch nothing;
    pt_commit commit = commit_of(session, pt_batch_changes_catalog(&session->applied));
    return pt_batch_commit(session->store, &session->applied, session->view->snapshot, &nothing,
                           &commit, error);
}

/* Ends the transaction with nothing of it in the store; if that fails, the store is in doubt. */
static int give_up(pt_session *session, pt_error *error)
{
    int rc = undo(session, error);
    session->in_doubt = rc != SQLITE_OK;
    atomic_store(&session->store->in_doubt, session->in_doubt);
    if (rc == SQLITE_OK) {
        finish(session);
    }
    return rc;
}

void pt_session_rollback(pt_session *session)
{
    pt_savepoints_clear(&session->savepoints);
    if (!session->writing) {
        return;
    }
    session->view->withdrawn = pt_view_has_pending(session->view);
    pt_error error = PT_ERROR_NONE;
    if (give_up(session, &error) != SQLITE_OK) {
        sqlite3_log(error.rc, "ptable: store '%s': a failed transaction is not taken back: %s",
                    session->store->path, error.message != NULL ? error.message : "out of memory");
    }
    pt_error_clear(&error);
}

/* Tries again to take back what a transaction that failed has written. */
static int take_back(pt_session *session, pt_error *error)
{
    pt_error reason = PT_ERROR_NONE;
    if (session->in_doubt && give_up(session, &reason) == SQLITE_OK) {
        return SQLITE_OK;
    }
    pt_error_set(
        error, SQLITE_IOERR,
        "store %Q still shows writes of a transaction that failed to commit and could "
        "not be taken back%s%s; mend the cause, or close all connections of this process to it",
        session->store->path, reason.message != NULL ? ": " : "",
        reason.message != NULL ? reason.message : "");
    pt_error_clear(&reason);
    return error->rc;
}

/* --- Writes --- */

int pt_session_refuse_withdrawn(pt_error *error)
{
    return pt_error_set(error, SQLITE_ABORT_ROLLBACK,
                        "the transaction that this statement was writing in has been rolled back; "
                        "run the statement again");
}

void pt_session_require_sync(pt_session *session, pt_sync sync)
{
    if (sync > session->sync) {
        session->sync = sync;
    }
}

int64_t pt_session_tick(pt_session *session)
{
    session->clock = session->store->engine->tick(session->store);
    return session->clock;
}

uint32_t pt_session_new_table_id(pt_session *session)
{
    return session->next_table_id < PT_TABLE_ID_LIMIT ? session->next_table_id++
                                                      : PT_TABLE_ID_LIMIT;
}

uint64_t pt_session_catalog_changes(const pt_session *session)
{
    return session->catalog_changes;
}

void pt_session_note_catalog_change(pt_session *session)
{
    session->catalog_changes++;
    session->directory_changes++;
    session->directory_changed = true;
}

uint64_t pt_session_directory_changes(const pt_session *session)
{
    return session->directory_changes;
}

/* Whether the key need not be looked for. Only asked once a transaction has written some rows, for
 * it costs a look-up itself. */
static int is_beyond_snapshot(pt_session *session, pt_slice key, bool *beyond, pt_error *error)
{
    if (length_of(session) < WRITES_BEFORE_LAST_KEY) {
        *beyond = false;
        return SQLITE_OK;
    }
    return pt_last_key_is_before(&session->last_key, session->view->snapshot, key, beyond, error);
}

int pt_session_find(pt_session *session, pt_slice key, bool *found, pt_slice *record,
                    pt_error *error)
{
    bool decided;
    int rc = pt_view_get_pending(session->view, key, &decided, found, record, error);
    if (rc != SQLITE_OK || decided) {
        return rc;
    }
    bool beyond;
    rc = is_beyond_snapshot(session, key, &beyond, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (beyond) {
        *found = false;
        return SQLITE_OK;
    }
    return session->store->engine->get(session->view->snapshot, key, found, record, error);
}

uint8_t *pt_session_put(pt_session *session, pt_slice key, pt_operation operation,
                        size_t record_size)
{
    return pt_memtable_put(session->view->memtable, key, operation, record_size);
}

int pt_session_remove(pt_session *session, pt_slice key, pt_error *error)
{
    if (pt_memtable_put(session->view->memtable, key, PT_DELETE, 0) == NULL) {
        return pt_error_nomem(error);
    }
    return SQLITE_OK;
}

size_t pt_session_begin_row(pt_session *session)
{
    size_t row = length_of(session);
    session->rows++;
    pt_memtable_protect(session->view->memtable, row);
    return row;
}

/* The protection that an inner row leaves behind is stricter than the outer one's. */
static void leave_row(pt_session *session)
{
    session->rows--;
    if (session->rows == 0) {
        protect_marks(session);
    }
}

void pt_session_end_row(pt_session *session)
{
    leave_row(session);
}

void pt_session_give_up_row(pt_session *session, size_t row)
{
    cut(session, session->view->memtable, row);
    leave_row(session);
}
