/*
 * A session is one SQLite connection's use of one store. It says what an SQL transaction means
 * there, in terms of virtual table callbacks:
 *
 *     xOpen       pt_session_cursor_opened: an autocommit statement's view ends with its cursors
 *     xFilter     pt_session_read
 *     xBegin      pt_session_begin: writer lock, newest snapshot, empty memtable
 *     xUpdate     pt_session_find, pt_session_put, pt_session_remove
 *     xSavepoint  pt_session_savepoint: a mark in the memtable's log
 *     xSync       pt_session_sync: commits the memtable to the store
 *     xCommit     pt_session_commit: ends the transaction
 *     xRollback   pt_session_rollback: also after xSync, whose commit is then undone
 *
 * Phases, and the calls that lead from one to the next:
 *
 *     idle      no transaction writes             begin -> synced, with nothing written yet
 *     synced    the store holds all writes        put, discard -> writing; commit, rollback -> idle
 *     writing   some are in the memtable only     sync -> synced; rollback -> idle, or in doubt
 *     in doubt  rollback could not undo a sync    read, begin, rollback try again -> idle
 *
 * SQLite repeats calls and leaves some out. All this is legal, and other orders are not (debug
 * builds assert that):
 *   - It calls back once for each table of the store and once for the companion, in any order: so
 *     each call may come again, and commit and rollback come in the phase idle too.
 *   - xSync, then xSync again without xBegin, perhaps with more writes in between: COMMIT found the
 *     main database busy, and the user has repeated it. If there were writes, one commit to the
 *     store undoes the first xSync and applies all writes.
 *   - xSync, then xRollback: the main database could not commit. Until xCommit the snapshot from
 *     before the transaction stays open, so that the written keys can be put back from it.
 *   - xSavepoint of a level without those outside it, xRollbackTo a level that was never opened
 *     (-1: the SAVEPOINT that began the transaction), savepoints of sessions that do not write.
 * xCommit without xSync while writes are pending is not legal: they would be lost.
 *
 * Three words for going back: a transaction is *rolled back*; pending operations are *discarded*
 * from the memtable; what xSync has committed is *undone* in the store. If undoing fails, the store
 * is in doubt: the writer lock stays, and every use tries again.
 */
#ifndef PT_TRANSACTION_SESSION_H
#define PT_TRANSACTION_SESSION_H

#include "transaction/view.h"

typedef struct pt_session pt_session;

/* A session's questions to its connection. */
typedef struct pt_session_host {
    void *context;
    /* How long to wait for a writer lock, in ms (0: not at all). `advice` is static text for the
     * message if that is not long enough. SQLITE_INTERRUPT, SQLITE_NOMEM: give up at once. */
    int (*lock_wait)(void *context, int *wait_ms, const char **advice, pt_error *error);
    /* True while the companion follows an explicit transaction: then reads keep their view. */
    const bool *followed;
    /* Takes the locks without which the main database's commit could fail after ours. SQLITE_BUSY
     * if another connection holds one. */
    int (*before_commit)(void *context, pt_error *error);
    /* May be NULL. Notes as changes of the transaction what an earlier sync has committed and the
     * memtable does not have any more: transaction/taken_back.h. */
    int (*amend)(pt_session *session, const pt_write_set *applied, pt_error *error);
    sqlite3 *db; /* the connection; NULL: its statements cannot be interrupted */
} pt_session_host;

/* The session takes over the store and closes it. When out of memory, closes it at once and returns
 * NULL. */
pt_session *pt_session_new(pt_store *store, const pt_session_host *host);

/* Rolls back an open transaction and closes the store. No cursor may be open. NULL is allowed. */
void pt_session_free(pt_session *session);

pt_store *pt_session_store(const pt_session *session);

/* True from begin to the end of the transaction, also while it is in doubt. */
bool pt_session_is_writing(const pt_session *session);

/* True if the transaction has pending operations. False in doubt. */
bool pt_session_has_pending(const pt_session *session);

/* What the transaction has written. NULL: idle or in doubt. */
pt_memtable *pt_session_memtable(const pt_session *session);

/* The session's view if it has pending operations and the store is not in doubt; else NULL. */
pt_view *pt_session_pending_view(const pt_session *session);

/* A batch (transaction/batch_rules.h) begins with the write just made, unless one has begun. */
void pt_session_note_batch(pt_session *session);

/* True if the transaction has begun a batch, and has not discarded the batch's first write. */
bool pt_session_has_batch(const pt_session *session);

/* The transaction has written the changes of a table, or has dropped them. */
void pt_session_note_changes(pt_session *session);

/* --- Reading --- */

/*
 * The view for a statement. It belongs to the session, and is valid until the session drops it; a
 * caller that needs it for longer retains it, as pt_scan does. SQLITE_BUSY, SQLITE_CORRUPT and so
 * on, as the engine's snapshot_begin; SQLITE_NOMEM; SQLITE_IOERR while the store is in doubt.
 */
int pt_session_read(pt_session *session, pt_view **view, pt_error *error);

/* True if this is the view that pt_session_read gives now. */
bool pt_session_is_current(const pt_session *session, const pt_view *view);

/* True if cursors are open: then an autocommit view may be older than the store. */
bool pt_session_is_being_read(const pt_session *session);

/* Open cursors keep an autocommit view; closing the last one drops it. */
void pt_session_cursor_opened(pt_session *session);
void pt_session_cursor_closed(pt_session *session);

/* Drops the view unless a transaction or a cursor needs it. */
void pt_session_end_read(pt_session *session);

/* --- The transaction --- */

/*
 * Begins to write; does nothing if the session is writing. SQLITE_BUSY: another connection writes;
 * SQLITE_BUSY_SNAPSHOT: the transaction has read, and another connection has changed the store
 * since; SQLITE_READONLY; SQLITE_NOMEM; SQLITE_INTERRUPT; SQLITE_IOERR: the store is in doubt.
 */
int pt_session_begin(pt_session *session, pt_error *error);

/* Opens a savepoint. Levels are SQLite's numbers, from 0 on. SQLITE_OK or SQLITE_NOMEM. In a
 * session that writes, the savepoint is open even on SQLITE_NOMEM, because SQLite goes back to it.
 */
int pt_session_savepoint(pt_session *session, int level);

/* Closes the savepoint and those inside it. What was written stays pending. */
void pt_session_release(pt_session *session, int level);

/* Discards what was written since the savepoint was opened, and closes those inside it. The
 * savepoint stays open. Level -1 is a SAVEPOINT that began the transaction: discards everything. */
void pt_session_rollback_to(pt_session *session, int level);

/* An UPDATE is about to write a row, or another statement: until the row is written, operations
 * from before the statement are not overwritten in place. The session has pending operations. */
void pt_session_protect_statement(pt_session *session);

/* Discards what an UPDATE that has failed has written before. Its cursor is open, or it has written
 * one row at most. */
void pt_session_undo_statement(pt_session *session);

/*
 * Commits to the store, so that commit cannot fail; rollback can still undo it. SQLITE_BUSY: a
 * reader of the main database keeps it from committing; SQLITE_FULL; SQLITE_IOERR; SQLITE_NOMEM.
 * On failure the store is as it was before the call: it holds nothing of the transaction, or only
 * the writes of an earlier sync. (Unless the text of SQLITE_IOERR says that the commit took place
 * but may be lost: the engine's write_commit.)
 */
int pt_session_sync(pt_session *session, pt_error *error);

/* Ends the transaction, whose writes sync has committed. Does nothing if the session is idle or in
 * doubt. */
void pt_session_commit(pt_session *session);

/* Ends the transaction and discards its writes; undoes what sync has committed. If that fails, the
 * session is in doubt, and the failure is logged (sqlite3_log). */
void pt_session_rollback(pt_session *session);

/* --- Writing: in a transaction that has begun --- */

/*
 * The error for xUpdate in an idle session: a function in the statement itself has rolled the
 * transaction back, and SQLite goes on without another xBegin. SQLITE_ABORT_ROLLBACK.
 */
int pt_session_refuse_rolled_back(pt_error *error);

/* The commit will be at least this durable. */
void pt_session_require_sync(pt_session *session, pt_sync sync);

/* The timestamp of the next write, in ticks (base/ticks.h). Greater than all before in the store.
 * SQLITE_FULL: there is no greater one. */
int pt_session_next_timestamp(pt_session *session, int64_t *ticks, pt_error *error);

/* An id for a new table. PT_TABLE_ID_LIMIT: no id is left. */
uint32_t pt_session_new_table_id(pt_session *session);

/* A counter that changes whenever this session may see another table catalogue because of its own
 * writes: after it writes to the catalogue, discards writes, or ends a transaction. */
uint64_t pt_session_catalog_changes(const pt_session *session);
/* To be called after each write to the catalogue. */
void pt_session_note_catalog_change(pt_session *session);

/* Like pt_session_catalog_changes, but does not change when a transaction ends that has neither
 * created nor dropped a table. */
uint64_t pt_session_directory_changes(const pt_session *session);

/*
 * The record of a key as the transaction sees it, valid until the next write. SQLITE_OK,
 * SQLITE_NOMEM, or the engine's error.
 */
int pt_session_find(pt_session *session, pt_slice key, bool *found, pt_slice *record,
                    pt_error *error);

/* Returns room for the record of an operation, after a copy of the key; the caller fills it at
 * once. NULL when out of memory. */
uint8_t *pt_session_put(pt_session *session, pt_slice key, pt_operation operation,
                        size_t record_size);

/* Deletes a key. SQLITE_OK or SQLITE_NOMEM. */
int pt_session_remove(pt_session *session, pt_slice key, pt_error *error);

/* The same two for entries of indexes, which do not count as operations of the transaction. */
uint8_t *pt_session_put_entry(pt_session *session, const pt_entry_key *entry, size_t record_size);
int pt_session_remove_entry(pt_session *session, const pt_entry_key *entry, pt_error *error);

/*
 * Makes several operations on one row all-or-nothing: end keeps them, discard takes them all back.
 * `row` is the result of begin. Rows nest; each is ended or discarded. In between, operations from
 * before begin are not overwritten in place.
 */
size_t pt_session_begin_row(pt_session *session);
void pt_session_end_row(pt_session *session);
void pt_session_discard_row(pt_session *session, size_t row);

/* Ends a row of operations on the catalogue if rc is SQLITE_OK, else takes them back, and what has
 * been read of the catalogue with them. Returns rc. */
int pt_session_finish_catalog_row(pt_session *session, size_t row, int rc);

#endif
