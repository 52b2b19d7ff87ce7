#include "transaction/session.h"

#include "base/assert.h"
#include "base/sqlite.h"
#include "entity/key.h"

struct pt_session {
    pt_session_host host;
    pt_store *store;
    pt_current_view current;
    unsigned cursors;             /* open ones */
    pt_interruption interruption; /* of the statements that read the view */

    bool writing; /* the writer lock is held and the view has a memtable */
    bool in_doubt;
    pt_savepoints savepoints;
    size_t statement; /* length of the log when a cursor was opened last; see statement_start */
    unsigned rows;    /* begun and not ended, each inside the one before */
    pt_sync sync;
    int64_t clock;
    uint32_t next_table_id;
    size_t batch_length; /* of the log up to a batch's first write (transaction/batch_rules.h);
                            0: no batch */

    uint64_t catalog_changes;
    uint64_t directory_changes;
    bool directory_changed; /* by the transaction */

    pt_write_set applied;     /* what the store holds of this transaction since xSync */
    uint64_t applied_version; /* of the memtable then; 0: nothing */
    bool keeps_changes;       /* the transaction has written changes of tables */
    bool amending;            /* see amend_applied */
};

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
    PT_ASSERT(session->cursors == 0);
    pt_session_rollback(session);
    /* If the rollback could not undo, the view is still there, and its snapshot must end before the
     * store is closed. */
    pt_current_view_free(&session->current);
    pt_write_set_free(&session->applied);
    pt_savepoints_free(&session->savepoints);
    session->store->engine->close(session->store);
    sqlite3_free(session);
}

pt_store *pt_session_store(const pt_session *session)
{
    return session->store;
}

/* --- Phases --- */

typedef enum session_phase {
    SESSION_IDLE,
    SESSION_SYNCED,
    SESSION_WRITING,
    SESSION_IN_DOUBT,
} session_phase;

static session_phase phase_of(const pt_session *session)
{
    if (!session->writing) {
        return SESSION_IDLE;
    }
    if (session->in_doubt) {
        return SESSION_IN_DOUBT;
    }
    return pt_memtable_version(session->current.view->memtable) == session->applied_version
               ? SESSION_SYNCED
               : SESSION_WRITING;
}

/* For assertions: the transaction accepts writes. */
static bool accepts_writes(const pt_session *session)
{
    return phase_of(session) == SESSION_SYNCED || phase_of(session) == SESSION_WRITING;
}

bool pt_session_is_writing(const pt_session *session)
{
    return session->writing;
}

/* In doubt there is a memtable too, but its transaction has been rolled back. */
pt_memtable *pt_session_memtable(const pt_session *session)
{
    return session->writing && !session->in_doubt ? session->current.view->memtable : NULL;
}

static size_t pending_length(const pt_session *session)
{
    pt_memtable *memtable = pt_session_memtable(session);
    return memtable != NULL ? pt_memtable_length(memtable) : 0;
}

bool pt_session_has_pending(const pt_session *session)
{
    return pending_length(session) != 0;
}

pt_view *pt_session_pending_view(const pt_session *session)
{
    bool goes_on = session->writing && !atomic_load(&session->store->in_doubt);
    return goes_on && pt_view_has_pending(session->current.view) ? session->current.view : NULL;
}

void pt_session_note_changes(pt_session *session)
{
    session->keeps_changes = true;
}

/* --- Reading --- */

static int renew_view(pt_session *session, pt_error *error)
{
    pt_interruption *interruption = session->host.db != NULL ? &session->interruption : NULL;
    return pt_current_view_renew(&session->current, session->store, interruption, error);
}

static int undo_again(pt_session *session, pt_error *error);

/* Nobody may use a store that shows writes of a failed transaction. The flag is the store's, so all
 * sessions of the process see it; only the one that holds the writer lock can undo. */
static inline int resolve_doubt(pt_session *session, pt_error *error)
{
    bool in_doubt = atomic_load(&session->store->in_doubt) && !session->amending;
    return in_doubt ? undo_again(session, error) : SQLITE_OK;
}

int pt_session_read(pt_session *session, pt_view **view, pt_error *error)
{
    int rc = resolve_doubt(session, error);
    if (rc == SQLITE_OK && session->current.view == NULL) {
        rc = renew_view(session, error);
    }
    if (rc == SQLITE_OK) {
        *view = session->current.view;
    }
    return rc;
}

bool pt_session_is_current(const pt_session *session, const pt_view *view)
{
    return session->current.view == view;
}

bool pt_session_is_being_read(const pt_session *session)
{
    return session->cursors > 0;
}

static bool needs_view(const pt_session *session)
{
    return session->writing || session->cursors > 0 || *session->host.followed;
}

void pt_session_cursor_opened(pt_session *session)
{
    session->cursors++;
    session->statement = pending_length(session);
}

void pt_session_cursor_closed(pt_session *session)
{
    PT_ASSERT(session->cursors > 0);
    session->cursors--;
    pt_session_end_read(session);
}

void pt_session_end_read(pt_session *session)
{
    if (!needs_view(session)) {
        pt_current_view_drop(&session->current);
    }
}

/* --- Begin --- */

/* Compares with the newest version. If the reader table is full we cannot look: assume a change,
 * because the transaction must not write unless it is sure, and keeping its snapshot for another
 * try would not help. */
static int compare_with_newest(pt_session *session, bool *changed, pt_error *error)
{
    pt_view *newest;
    int rc = pt_view_open(session->store, &newest, error);
    if (rc == SQLITE_BUSY) {
        pt_error_clear(error);
        *changed = true;
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        *changed = newest->snapshot->version != session->current.view->snapshot->version;
        pt_view_release(newest);
    }
    return rc;
}

/* A transaction that has read may write only on top of the version that it has read. */
static int check_snapshot(pt_session *session, pt_error *error)
{
    bool changed = false;
    if (session->store->engine->snapshot_is_newest(session->current.view->snapshot)) {
        return SQLITE_OK;
    }
    int rc = compare_with_newest(session, &changed, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (changed) {
        return pt_error_set(error, SQLITE_BUSY_SNAPSHOT,
                            "store %Q was changed by another connection since this transaction "
                            "read from it; ROLLBACK and run the transaction again",
                            session->store->path);
    }
    return SQLITE_OK;
}

/* An autocommit statement has read nothing yet that its writes could contradict, so it takes a new
 * view. Older cursors keep theirs. */
static int begin_locked(pt_session *session, pt_error *error)
{
    bool has_read = session->current.view != NULL && *session->host.followed;
    int rc = has_read ? check_snapshot(session, error) : renew_view(session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_view_begin_writing(session->current.view) ? SQLITE_OK : pt_error_nomem(error);
}

/* Asking for the busy timeout costs a statement: do it only if the lock is taken. */
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
    int rc = resolve_doubt(session, error);
    if (rc != SQLITE_OK || session->writing) {
        return rc;
    }
    PT_ASSERT(session->applied.count == 0 && session->rows == 0);
    /* Reserve before locking, since this can fail. With room for its mark, the next savepoint is
     * open even if memory runs out. */
    if (!pt_savepoints_reserve(&session->savepoints)) {
        return pt_error_nomem(error);
    }
    /* Lock before comparing versions: from then on no other connection can change the store. */
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
    session->statement = 0;
    session->keeps_changes = false;
    session->clock = session->current.view->snapshot->clock;
    session->next_table_id = session->current.view->snapshot->next_table_id;
    return SQLITE_OK;
}

/* --- Savepoints --- */

/* After writes were discarded, or when the transaction is over: table ids that were looked up in
 * the catalogue may be wrong now. */
static void note_lost_writes(pt_session *session)
{
    session->catalog_changes++;
    session->directory_changes += session->directory_changed;
}

/* The batch is over if its first write was discarded. */
static void forget_discarded_batch(pt_session *session)
{
    if (pending_length(session) < session->batch_length) {
        session->batch_length = 0;
    }
}

int pt_session_savepoint(pt_session *session, int level)
{
    PT_ASSERT(level >= 0 && session->rows == 0);
    return pt_savepoints_open(&session->savepoints, pt_session_memtable(session), level);
}

void pt_session_release(pt_session *session, int level)
{
    PT_ASSERT(level >= 0 && session->rows == 0);
    pt_savepoints_release(&session->savepoints, pt_session_memtable(session), level);
}

void pt_session_rollback_to(pt_session *session, int level)
{
    PT_ASSERT(level >= -1 && session->rows == 0);
    pt_memtable *memtable = pt_session_memtable(session);
    pt_savepoints_rollback_to(&session->savepoints, memtable, level);
    if (memtable != NULL) {
        forget_discarded_batch(session);
        note_lost_writes(session);
    }
}

/*
 * For UPDATE ... FROM SQLite opens no savepoint. It opens all cursors and reads all rows before it
 * writes the first one, and closes none until the end, so that what the transaction had written
 * when a cursor was opened last was written before the statement. (An UPDATE of one row has closed
 * its cursor. Where SQLite opens a savepoint, that is in force, too.)
 */
static size_t statement_start(const pt_session *session)
{
    size_t savepoint = pt_savepoints_length(&session->savepoints);
    bool later = session->cursors != 0 && session->statement > savepoint;
    return later ? session->statement : savepoint;
}

void pt_session_protect_statement(pt_session *session)
{
    pt_memtable *memtable = pt_session_memtable(session);
    if (memtable != NULL) {
        pt_memtable_protect(memtable, statement_start(session));
    }
}

void pt_session_undo_statement(pt_session *session)
{
    PT_ASSERT(session->rows == 0);
    size_t start = statement_start(session);
    if (session->cursors == 0 || start >= pending_length(session)) {
        return;
    }
    pt_memtable_discard(session->current.view->memtable, start);
    forget_discarded_batch(session);
    note_lost_writes(session);
}

/* --- Sync, commit, rollback --- */

/* Makes the session idle. Cursors that still read the view keep it alive. */
static void end_writing(pt_session *session)
{
    /* The write set points into the view's memtable: free it first. */
    pt_write_set_free(&session->applied);
    session->applied_version = 0;
    note_lost_writes(session);
    session->directory_changed = false;
    session->writing = false;
    session->in_doubt = false;
    pt_current_view_drop(&session->current);
    session->store->engine->unlock(session->store);
}

static pt_commit store_commit(const pt_session *session, bool catalog_changed)
{
    return (pt_commit){.sync = session->sync,
                       .clock = session->clock,
                       .next_table_id = session->next_table_id,
                       .catalog_changed = catalog_changed};
}

/* Undoes what an earlier sync has committed and commits `writes`, in one commit to the store. */
static int replace_applied(pt_session *session, const pt_write_set *writes, pt_error *error)
{
    if (writes->count == 0 && session->applied.count == 0) {
        return SQLITE_OK;
    }
    pt_commit commit = store_commit(session, pt_write_set_changes_catalog(writes) ||
                                                 pt_write_set_changes_catalog(&session->applied));
    return pt_write_set_commit(session->store, &session->applied, session->current.view->snapshot,
                               writes, &commit, error);
}

/*
 * Others may have read the changes that an earlier sync has committed. What the memtable does not
 * have any more gets new changes in it, so that they hear of that, too.
 */
static int amend_applied(pt_session *session, pt_error *error)
{
    if (!session->keeps_changes || session->applied.count == 0) {
        return SQLITE_OK;
    }
    pt_view *view = session->current.view;
    bool rolled_back = view->rolled_back;
    view->rolled_back = false;
    session->amending = true;
    int rc = session->host.amend(session, &session->applied, error);
    session->amending = false;
    view->rolled_back = rolled_back;
    return rc;
}

int pt_session_sync(pt_session *session, pt_error *error)
{
    PT_ASSERT(session->rows == 0);
    /* The sync of another table of this store, or of the companion, has done it. */
    if (phase_of(session) != SESSION_WRITING) {
        return SQLITE_OK;
    }
    pt_memtable *memtable = session->current.view->memtable;
    pt_write_set writes = {0};
    int rc = amend_applied(session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (pt_memtable_sorted(memtable, &writes) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    /* Lock the main database first: if that fails, the store is untouched and COMMIT can be
     * repeated. */
    if (writes.count + session->applied.count != 0) {
        rc = session->host.before_commit(session->host.context, error);
    }
    if (rc == SQLITE_OK) {
        rc = replace_applied(session, &writes, error);
    }
    if (rc != SQLITE_OK) {
        pt_write_set_free(&writes);
        return rc;
    }
    pt_write_set_free(&session->applied);
    session->applied = writes;
    session->applied_version = pt_memtable_version(memtable);
    /* An undo needs the keys of these entries, even if they are discarded before it. */
    pt_memtable_pin(memtable);
    return SQLITE_OK;
}

/* SQLite ignores errors of xCommit, so nothing here may fail. */
void pt_session_commit(pt_session *session)
{
    PT_ASSERT(session->rows == 0 && phase_of(session) != SESSION_WRITING);
    pt_savepoints_clear(&session->savepoints);
    if (session->writing && !session->in_doubt) {
        session->store->engine->write_publish(session->store);
        end_writing(session);
    }
}

/* What an undo commits: the changes that it makes itself. */
static int make_last_changes(pt_session *session, pt_write_set *changes, pt_error *error)
{
    if (!session->keeps_changes || session->applied.count == 0) {
        return SQLITE_OK;
    }
    pt_memtable *memtable = session->current.view->memtable;
    /* Sync has pinned the entries. */
    pt_memtable_discard(memtable, 0);
    note_lost_writes(session);
    int rc = amend_applied(session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_memtable_sorted(memtable, changes) == SQLITE_OK ? SQLITE_OK : pt_error_nomem(error);
}

/* Undoes what xSync has committed and ends the transaction. If that fails, the store is in doubt:
 * the lock and the snapshot stay, because the next try needs both. */
static int undo_and_end(pt_session *session, pt_error *error)
{
    pt_write_set changes = {0};
    session->in_doubt = false;
    int rc = make_last_changes(session, &changes, error);
    if (rc == SQLITE_OK) {
        rc = replace_applied(session, &changes, error);
    }
    pt_write_set_free(&changes);
    session->in_doubt = rc != SQLITE_OK;
    /* Before end_writing releases the lock: the next writer must not find the store in doubt. */
    atomic_store(&session->store->in_doubt, session->in_doubt);
    if (rc == SQLITE_OK) {
        end_writing(session);
    }
    return rc;
}

void pt_session_rollback(pt_session *session)
{
    pt_savepoints_clear(&session->savepoints);
    if (!session->writing) {
        return;
    }
    /* Cursors that have shown the transaction's writes must not go on as if nothing had happened.
     */
    session->current.view->rolled_back = pt_view_has_pending(session->current.view);
    pt_error error = PT_ERROR_NONE;
    if (undo_and_end(session, &error) != SQLITE_OK) {
        sqlite3_log(error.rc, "ptable: store '%s': a failed transaction cannot be undone: %s",
                    session->store->path, error.message != NULL ? error.message : "out of memory");
    }
    pt_error_clear(&error);
}

/* For a store in doubt. Only the session whose transaction failed can try; all others just get the
 * error. */
static int undo_again(pt_session *session, pt_error *error)
{
    pt_error reason = PT_ERROR_NONE;
    if (session->in_doubt && undo_and_end(session, &reason) == SQLITE_OK) {
        return SQLITE_OK;
    }
    pt_error_set(error, SQLITE_IOERR,
                 "store %Q still shows writes of a transaction that failed to commit and could not "
                 "be undone%s%s; fix the cause, or close all connections of this process to it",
                 session->store->path, reason.message != NULL ? ": " : "",
                 reason.message != NULL ? reason.message : "");
    pt_error_clear(&reason);
    return error->rc;
}

/* --- Writing --- */

int pt_session_refuse_rolled_back(pt_error *error)
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

static int refuse_timestamp(const pt_session *session, pt_error *error)
{
    return pt_error_set(
        error, SQLITE_FULL,
        "store %Q: its clock stands at 9999-12-31T23:59:59.9999999Z, so there is no "
        "later Timestamp for another write; copy its tables into a new store with "
        "INSERT ... SELECT",
        session->store->path);
}

int pt_session_next_timestamp(pt_session *session, int64_t *ticks, pt_error *error)
{
    int64_t next = session->store->engine->next_timestamp(session->store);
    if (next == 0) {
        return refuse_timestamp(session, error);
    }
    session->clock = next;
    *ticks = next;
    return SQLITE_OK;
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

int pt_session_find(pt_session *session, pt_slice key, bool *found, pt_slice *record,
                    pt_error *error)
{
    return pt_view_get(session->current.view, key, found, record, error);
}

uint8_t *pt_session_put(pt_session *session, pt_slice key, pt_operation operation,
                        size_t record_size)
{
    PT_ASSERT(accepts_writes(session));
    return pt_memtable_put(session->current.view->memtable, key, operation, record_size);
}

int pt_session_remove(pt_session *session, pt_slice key, pt_error *error)
{
    return pt_session_put(session, key, PT_DELETE, 0) != NULL ? SQLITE_OK : pt_error_nomem(error);
}

uint8_t *pt_session_put_entry(pt_session *session, const pt_entry_key *entry, size_t record_size)
{
    PT_ASSERT(accepts_writes(session));
    return pt_memtable_put_entry(session->current.view->memtable, entry, PT_REPLACE, record_size);
}

int pt_session_remove_entry(pt_session *session, const pt_entry_key *entry, pt_error *error)
{
    PT_ASSERT(accepts_writes(session));
    pt_memtable *memtable = session->current.view->memtable;
    return pt_memtable_put_entry(memtable, entry, PT_DELETE, 0) != NULL ? SQLITE_OK
                                                                        : pt_error_nomem(error);
}

size_t pt_session_begin_row(pt_session *session)
{
    PT_ASSERT(accepts_writes(session));
    size_t row = pending_length(session);
    session->rows++;
    pt_memtable_protect(session->current.view->memtable, row);
    return row;
}

/* After an inner row ends, its protection stays: it covers more than the outer row's. */
void pt_session_end_row(pt_session *session)
{
    PT_ASSERT(session->rows > 0);
    session->rows--;
    if (session->rows == 0) {
        pt_session_protect_statement(session);
    }
}

void pt_session_discard_row(pt_session *session, size_t row)
{
    PT_ASSERT(session->rows > 0 && row <= pending_length(session));
    pt_memtable_discard(session->current.view->memtable, row);
    forget_discarded_batch(session);
    pt_session_end_row(session);
}

int pt_session_finish_catalog_row(pt_session *session, size_t row, int rc)
{
    if (rc == SQLITE_OK) {
        pt_session_end_row(session);
    } else {
        pt_session_discard_row(session, row);
        pt_session_note_catalog_change(session);
    }
    return rc;
}

void pt_session_note_batch(pt_session *session)
{
    if (session->batch_length == 0) {
        session->batch_length = pending_length(session);
    }
}

bool pt_session_has_batch(const pt_session *session)
{
    return session->batch_length != 0 && pending_length(session) != 0;
}
