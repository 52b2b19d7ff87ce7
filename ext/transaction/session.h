/*
 * A session is one SQLite connection's use of one store: what an SQL transaction means there.
 *
 * SQLite calls back once for every table of the store and once for the companion, in any order, so
 * every call here is idempotent. In the words of virtual table callbacks:
 *
 *     xOpen       pt_session_cursor_opened: an autocommit statement's view ends with its cursors
 *     xFilter     pt_session_read
 *     xBegin      pt_session_begin: writer lock, newest snapshot, empty memtable
 *     xUpdate     pt_session_find, pt_session_put, pt_session_remove
 *     xSavepoint  pt_session_savepoint: a mark in the memtable's log
 *     xSync       pt_session_sync: the memtable is committed to the store
 *     xCommit     pt_session_commit: the transaction is over
 *     xRollback   pt_session_rollback: also after xSync, whose commit is then undone
 *
 * After xSync the main database can still refuse to commit. Until xCommit the snapshot from before
 * stays open, so that the touched keys can be put back from it; a second xSync puts them back and
 * commits the memtable anew, at once. If putting back fails, the store is in doubt: the writer lock
 * stays and every use tries again.
 */
#ifndef PT_TRANSACTION_SESSION_H
#define PT_TRANSACTION_SESSION_H

#include "transaction/view.h"

typedef struct pt_session pt_session;

/* What a session needs to know of its connection. */
typedef struct pt_session_host {
    void *context;
    /* How long to wait for a writer lock, in ms, and what to do when that was not long enough.
     * SQLITE_OK; SQLITE_INTERRUPT, SQLITE_NOMEM: not at all. */
    int (*lock_wait)(void *context, int *wait_ms, const char **advice, pt_error *error);
    /* An explicit transaction is followed from its first statement on, so reads keep their view. */
    bool (*follows_transaction)(void *context);
    /* Takes what locks can make the main database's commit fail later. */
    int (*before_commit)(void *context, pt_error *error);
    sqlite3 *db; /* whose statements can be interrupted; NULL: they cannot */
} pt_session_host;

/* The session takes the store over and closes it. NULL when out of memory (the store is then
 * closed). */
pt_session *pt_session_new(pt_store *store, const pt_session_host *host);

/* Rolls back what is left and closes the store. No cursor may be open. NULL is allowed. */
void pt_session_free(pt_session *session);

pt_store *pt_session_store(const pt_session *session);

/* A transaction is writing; whether it has pending operations. */
bool pt_session_is_writing(const pt_session *session);
bool pt_session_has_pending(const pt_session *session);

/* What the transaction has written, or NULL while none is writing. */
pt_memtable *pt_session_memtable(const pt_session *session);

/* The view that has pending operations, if the transaction has written and can go on; or NULL. */
pt_view *pt_session_pending_view(const pt_session *session);

/*
 * The write just made begins a batch, if none has begun; whether one has, in this transaction, and
 * was not rolled back. What that means: transaction/batch_rules.h.
 */
void pt_session_note_batch(pt_session *session);
bool pt_session_has_batch(const pt_session *session);

/*
 * The view for a statement. It is the session's; pt_scan retains it. SQLITE_BUSY, SQLITE_CORRUPT
 * and so on as the engine's snapshot_begin; SQLITE_IOERR while the store is in doubt.
 */
int pt_session_read(pt_session *session, pt_view **view, pt_error *error);

/* Whether it is the view that pt_session_read gives now. */
bool pt_session_is_current(const pt_session *session, const pt_view *view);

/* Whether cursors are open: then an autocommit view may be older than the store. */
bool pt_session_is_being_read(const pt_session *session);

/* Cursors hold an autocommit view together; with the last one closed it ends. */
void pt_session_cursor_opened(pt_session *session);
void pt_session_cursor_closed(pt_session *session);

/* The connection's explicit transaction, which the companion followed, is over. */
void pt_session_end_read(pt_session *session);

/*
 * Begins to write. SQLITE_BUSY: another writer; SQLITE_BUSY_SNAPSHOT: the transaction has read what
 * somebody else changed since; SQLITE_READONLY; SQLITE_NOMEM; SQLITE_IOERR: the store is in doubt.
 */
int pt_session_begin(pt_session *session, pt_error *error);

/* SQLITE_OK, or SQLITE_NOMEM; the mark of the level is set even then while writes are pending. */
int pt_session_savepoint(pt_session *session, int level);
void pt_session_release(pt_session *session, int level);
void pt_session_rollback_to(pt_session *session, int level);

/*
 * SQLITE_BUSY: a reader of the main database keeps it from committing; SQLITE_FULL, SQLITE_IOERR,
 * SQLITE_NOMEM. The store then holds nothing of the transaction, or what an earlier xSync put
 * there.
 */
int pt_session_sync(pt_session *session, pt_error *error);
void pt_session_commit(pt_session *session);
void pt_session_rollback(pt_session *session);

/* --- Inside a transaction that writes --- */

/*
 * For xUpdate when no transaction is writing: a function in its own statement has rolled it back,
 * and SQLite goes on without another xBegin. SQLITE_ABORT_ROLLBACK.
 */
int pt_session_refuse_withdrawn(pt_error *error);

/* The commit will be at least this durable. */
void pt_session_require_sync(pt_session *session, pt_sync sync);

/* The timestamp of the next write. */
int64_t pt_session_tick(pt_session *session);

/* An id for a new table; PT_TABLE_ID_LIMIT if none is left. */
uint32_t pt_session_new_table_id(pt_session *session);

/* Changes whenever the transaction's own view of the table catalogue may have changed. */
uint64_t pt_session_catalog_changes(const pt_session *session);
void pt_session_note_catalog_change(pt_session *session);

/* The same, but it stays when a transaction ends that has neither made nor dropped a table. */
uint64_t pt_session_directory_changes(const pt_session *session);

/*
 * The record of a key as the transaction sees it, valid until the next write. SQLITE_OK,
 * SQLITE_NOMEM, and what the engine answers.
 */
int pt_session_find(pt_session *session, pt_slice key, bool *found, pt_slice *record,
                    pt_error *error);

/* Room for the record of an operation, to be filled at once. NULL when out of memory. */
uint8_t *pt_session_put(pt_session *session, pt_slice key, pt_operation operation,
                        size_t record_size);

/* Deletes a key. SQLITE_OK or SQLITE_NOMEM. */
int pt_session_remove(pt_session *session, pt_slice key, pt_error *error);

/*
 * A row's write that needs several operations: between begin and end nothing is overwritten in
 * place; on failure give up restores what was there. `row` is what begin returned. Rows may lie
 * inside each other; each is ended or given up.
 */
size_t pt_session_begin_row(pt_session *session);
void pt_session_end_row(pt_session *session);
void pt_session_give_up_row(pt_session *session, size_t row);

#endif
