#include "lmdb/logged_writer.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/log_use.h"
#include "lmdb/writer.h"

enum { RECORD_MAX = 1 << 16 };

static inline const pt_writer_head *head_of(const pt_writer *writer)
{
    return (const pt_writer_head *)(const void *)writer;
}

static inline pt_writer *as_writer(pt_logged_commit *commit)
{
    return (pt_writer *)(void *)commit;
}

/* The commit that a writer stands for; NULL: the writer is LMDB's. */
static inline pt_logged_commit *commit_of(pt_writer *writer)
{
    return head_of(writer)->is_logged ? (pt_logged_commit *)(void *)writer : NULL;
}

/* --- Begin --- */

/* Goes on in an LMDB transaction, with the operations so far. */
static int become_plain(pt_logged_commit *commit, pt_error *error)
{
    pt_lmdb_store *store = commit->store;
    pt_lmdb_change_writer_state(store, PT_WRITER_WRITING, PT_WRITER_FAILED);
    int rc = pt_lmdb_write_begin(&store->base, &commit->plain, error);
    for (pt_tail_node *node = commit->row.first; rc == SQLITE_OK && node != NULL;
         node = pt_tail_row_next(node)) {
        rc = node->deletes
                 ? pt_lmdb_write_delete(commit->plain, pt_tail_key(node), error)
                 : pt_lmdb_write_put(commit->plain, pt_tail_key(node), pt_tail_record(node), error);
    }
    return rc;
}

static int begin_logged(pt_lmdb_store *store, pt_writer **writer, pt_error *error)
{
    pt_logged_commit *commit = &store->log->commit;
    if (!pt_log_begin_commit(store) || !pt_log_record_begin(&commit->record)) {
        return pt_error_nomem(error);
    }
    commit->store = store;
    commit->is_logged = true;
    commit->plain = NULL;
    commit->operations = 0;
    commit->has_put = false;
    commit->undoes = false;
    pt_lmdb_change_writer_state(store, PT_WRITER_BETWEEN_WRITES, PT_WRITER_WRITING);
    *writer = as_writer(commit);
    return SQLITE_OK;
}

/* After a commit to the file has failed, or if a failed write had broken the environment when the
 * store was locked. */
static int catch_up_again(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_log *log = store->log;
    bool is_blind = log->is_locked_blindly;
    int rc = pt_log_catch_up(store, 0, error);
    if (rc == SQLITE_OK) {
        log->is_locked_blindly = false;
    }
    return rc == SQLITE_OK && is_blind && log->state.log_id != 0
               ? pt_error_set(error, SQLITE_BUSY,
                              "store %Q was changed by another process; run the transaction again",
                              store->base.path)
               : rc;
}

/* Not inlined, like commit_beside_log: where there is no log, it should cost nothing. */
__attribute__((noinline)) static int begin_beside_log(pt_lmdb_store *store, pt_writer **writer,
                                                      pt_error *error)
{
    if (pt_lmdb_is_of_parent(store->fork_count)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    int rc = store->log->seen == 0 ? catch_up_again(store, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        return rc;
    }
    return store->log->state.log_id != 0 ? begin_logged(store, writer, error)
                                         : pt_lmdb_write_begin(&store->base, writer, error);
}

int pt_logged_write_begin(pt_store *base, pt_writer **writer, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    return store->log != NULL ? begin_beside_log(store, writer, error)
                              : pt_lmdb_write_begin(base, writer, error);
}

/* Commits go to the tree until all garbage is collected. */
__attribute__((noinline)) static int collect_for_log(pt_logged_commit *commit, bool *collected,
                                                     pt_error *error)
{
    *collected = false;
    if (!commit->store->log->may_have_garbage) {
        return SQLITE_OK;
    }
    int rc = become_plain(commit, error);
    return rc == SQLITE_OK ? pt_lmdb_write_collect(commit->plain, collected, error) : rc;
}

int pt_logged_write_collect(pt_writer *writer, bool *collected, pt_error *error)
{
    pt_logged_commit *commit = commit_of(writer);
    return commit == NULL ? pt_lmdb_write_collect(writer, collected, error)
                          : collect_for_log(commit, collected, error);
}

/* --- Putting and deleting --- */

static bool is_fit(const pt_logged_commit *commit, pt_slice key, size_t record_size)
{
    return commit->record.size + key.size + record_size < RECORD_MAX && key.size != 0 &&
           key.size <= PT_KEY_LOGICAL_MAX && key.data[0] != PT_KEY_GARBAGE &&
           (key.data[0] == PT_KEY_CHUNKS || pt_key_table(key) != PT_TABLE_CATALOG);
}

static int log_operation(pt_logged_commit *commit, pt_slice key, pt_slice record, bool deletes,
                         pt_error *error)
{
    pt_tail_node *node = pt_tail_make(commit->tail, key, record, deletes);
    pt_log_record_add(&commit->record, key, record, deletes);
    if (node == NULL || commit->record.failed) {
        return pt_error_nomem(error);
    }
    pt_tail_row_append(&commit->row, node);
    commit->operations++;
    commit->has_put |= !deletes;
    return SQLITE_OK;
}

/* Adds the operation to the record, or makes it in LMDB's transaction. */
__attribute__((noinline)) static int add_to_commit(pt_logged_commit *commit, pt_slice key,
                                                   pt_slice record, bool deletes, pt_error *error)
{
    int rc = SQLITE_OK;
    if (commit->plain == NULL && is_fit(commit, key, record.size)) {
        return log_operation(commit, key, record, deletes, error);
    }
    if (commit->plain == NULL) {
        rc = become_plain(commit, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    return deletes ? pt_lmdb_write_delete(commit->plain, key, error)
                   : pt_lmdb_write_put(commit->plain, key, record, error);
}

int pt_logged_write_put(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error)
{
    pt_logged_commit *commit = commit_of(writer);
    return commit == NULL ? pt_lmdb_write_put(writer, key, record, error)
                          : add_to_commit(commit, key, record, false, error);
}

int pt_logged_write_delete(pt_writer *writer, pt_slice key, pt_error *error)
{
    pt_logged_commit *commit = commit_of(writer);
    return commit == NULL ? pt_lmdb_write_delete(writer, key, error)
                          : add_to_commit(commit, key, (pt_slice){0}, true, error);
}

int pt_logged_write_restore(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error)
{
    pt_logged_commit *commit = commit_of(writer);
    if (commit == NULL) {
        return pt_lmdb_write_restore(writer, snapshot, key, error);
    }
    commit->undoes = true;
    if (commit->is_written) {
        return SQLITE_OK; /* the tree does not have it, and no tail shows it */
    }
    int rc = commit->plain == NULL ? become_plain(commit, error) : SQLITE_OK;
    return rc == SQLITE_OK ? pt_lmdb_write_restore(commit->plain, snapshot, key, error) : rc;
}

void pt_logged_write_abort(pt_writer *writer)
{
    pt_logged_commit *commit = writer != NULL ? commit_of(writer) : NULL;
    if (commit == NULL) {
        pt_lmdb_write_abort(writer);
    } else if (commit->plain != NULL) {
        pt_lmdb_write_abort(commit->plain);
        commit->plain = NULL;
    } else if (commit->store->writer_state == PT_WRITER_WRITING) {
        /* Otherwise the LMDB transaction could not be begun. */
        pt_lmdb_change_writer_state(commit->store, PT_WRITER_WRITING, PT_WRITER_FAILED);
    }
}

/* --- Commits to the tree --- */

/* A log that cannot be written any more ends with the commit. */
static int commit_plain(pt_logged_commit *commit, const pt_commit *facts, pt_error *error)
{
    pt_lmdb_store *store = commit->store;
    pt_writer *plain = commit->plain;
    bool ends = pt_log_has_failed(store);
    uint64_t id = store->log->state.log_id;
    pt_commit wanted = *facts;
    if (commit->is_written) { /* the disk may have the record that this commit replaces */
        wanted.sync = PT_SYNC_FULL;
    }
    commit->plain = NULL;
    if (ends) {
        store->log->next_id = 0;
    }
    int rc = pt_lmdb_write_commit(plain, &wanted, error);
    if (rc != SQLITE_OK) {
        pt_log_withdraw(store);
    } else if (ends) {
        pt_log_clear_up(store, id);
    }
    return rc;
}

/* Without a log. This commit may begin one. */
static int commit_without_log(pt_lmdb_store *store, pt_writer *writer, const pt_commit *facts,
                              pt_error *error)
{
    bool may_begin = !facts->catalog_changed && pt_lmdb_write_is_small(writer);
    if (may_begin) {
        pt_log_consider(store);
    }
    int rc = pt_lmdb_write_commit(writer, facts, error);
    if (rc != SQLITE_OK && may_begin) {
        pt_log_withdraw(store);
    }
    return rc;
}

/* --- Commits to the log --- */

static bool has_new_ids(const pt_lmdb_store *store)
{
    pt_dictionary_counts committed = pt_dictionary_committed(store->base.dictionary);
    pt_dictionary_counts assigned = pt_dictionary_assigned(store->base.dictionary);
    return committed.names != assigned.names || committed.shapes != assigned.shapes;
}

/* Without room for what the log holds, it takes deletions only: they make room. */
static bool lacks_room(const pt_logged_commit *commit)
{
    const pt_lmdb_store *store = commit->store;
    const pt_lmdb_log *log = store->log;
    return log->chain.end + commit->record.size + PT_LOG_RECORD_ALIGNMENT > PT_LOG_ROOM ||
           (commit->has_put && (!log->has_room || store->reserve.is_scarce));
}

/* Looks at the log's file where the disk is promised: the flush takes a hundred times as long. */
static bool can_log(const pt_logged_commit *commit, const pt_commit *facts)
{
    pt_lmdb_store *store = commit->store;
    if (facts->sync == PT_SYNC_FULL && commit->operations != 0 &&
        !pt_log_file_is_whole(store->log->name, store->log->file_id)) {
        pt_log_note_failure(store);
    }
    return !pt_log_has_failed(store);
}

static bool must_be_plain(const pt_logged_commit *commit, const pt_commit *facts)
{
    const pt_lmdb_log *log = commit->store->log;
    bool is_void = commit->operations == 0 && commit->undoes && commit->is_written;
    return facts->catalog_changed || has_new_ids(commit->store) || facts->sync > log->state.sync ||
           lacks_room(commit) || (commit->operations == 0 && !is_void) || !can_log(commit, facts);
}

/* The record may be whole on the disk, flushed or not, and a power failure must not bring it back.
 */
static int make_void(pt_logged_commit *commit)
{
    const pt_lmdb_log *log = commit->store->log;
    int problem = pt_log_file_void(pt_log_fd(log), log->chain.end);
    return problem == 0 ? pt_log_file_flush(pt_log_fd(log)) : problem;
}

/* Also flushes if it overwrites a record: that must not come back either. */
static int append(pt_logged_commit *commit)
{
    pt_lmdb_log *log = commit->store->log;
    int problem =
        pt_log_file_write(pt_log_fd(log), log->chain.end, pt_buffer_slice(&commit->record));
    if (problem == 0 && (commit->sync == PT_SYNC_FULL || commit->is_written)) {
        problem = pt_log_file_flush(pt_log_fd(log));
        commit->after.flushed = problem == 0 ? commit->after.end : commit->after.flushed;
    }
    return problem;
}

/* After an append or a void failed: nothing can be trusted that the log should have, so its commits
 * go to the tree from memory, without this one. */
static int end_failed_log(pt_logged_commit *commit, pt_error *error)
{
    pt_lmdb_store *store = commit->store;
    pt_log_note_failure(store);
    pt_log_mark_pending(store, false);
    commit->row = (pt_tail_row){0};
    int rc = become_plain(commit, error);
    if (rc != SQLITE_OK) {
        pt_logged_write_abort(as_writer(commit));
        return rc;
    }
    const pt_commit nothing = {.sync = PT_SYNC_FULL};
    return commit_plain(commit, &nothing, error);
}

/* The commit has not taken place. Its record may be in the log; that does not matter once the tree
 * has what comes before it. */
static int fail_to_append(pt_logged_commit *commit, int problem, pt_error *error)
{
    pt_error reason = PT_ERROR_NONE;
    pt_lmdb_store *store = commit->store;
    int rc = pt_lmdb_fail(error, problem, store->base.path, "writing its log (-log)");
    if (end_failed_log(commit, &reason) != SQLITE_OK && make_void(commit) != 0 &&
        rc != SQLITE_NOMEM) {
        rc = pt_error_set(error, rc,
                          "%s; if all processes that use the store stop now, this transaction may "
                          "turn out to be committed",
                          error->message);
    }
    pt_error_clear(&reason);
    return rc;
}

static int commit_void(pt_logged_commit *commit, pt_error *error)
{
    if (make_void(commit) != 0) {
        return end_failed_log(commit, error);
    }
    commit->is_written = false;
    pt_log_mark_pending(commit->store, false);
    pt_lmdb_change_writer_state(commit->store, PT_WRITER_WRITING, PT_WRITER_COMMITTED);
    return SQLITE_OK;
}

static int commit_record(pt_logged_commit *commit, const pt_commit *facts, pt_error *error)
{
    pt_lmdb_store *store = commit->store;
    const pt_log_facts written = {
        .count = commit->operations, .sync = (uint8_t)facts->sync, .clock = facts->clock};
    pt_log_record_end(&commit->record, &written, &store->log->chain, &commit->after);
    if (commit->record.failed) {
        pt_logged_write_abort(as_writer(commit));
        return pt_error_nomem(error);
    }
    commit->sync = facts->sync;
    commit->clock = facts->clock;
    pt_log_mark_pending(store, true);
    int problem = append(commit);
    if (problem != 0) {
        return fail_to_append(commit, problem, error);
    }
    commit->is_written = true;
    commit->is_whole = true;
    pt_lmdb_change_writer_state(store, PT_WRITER_WRITING, PT_WRITER_COMMITTED);
    return SQLITE_OK;
}

__attribute__((noinline)) static int commit_beside_log(pt_writer *writer, const pt_commit *facts,
                                                       pt_error *error)
{
    pt_logged_commit *commit = commit_of(writer);
    if (commit == NULL) {
        return commit_without_log(head_of(writer)->store, writer, facts, error);
    }
    if (commit->plain == NULL && must_be_plain(commit, facts)) {
        int rc = become_plain(commit, error);
        if (rc != SQLITE_OK) {
            pt_logged_write_abort(writer);
            return rc;
        }
    }
    if (commit->plain != NULL) {
        return commit_plain(commit, facts, error);
    }
    return commit->operations == 0 ? commit_void(commit, error)
                                   : commit_record(commit, facts, error);
}

int pt_logged_write_commit(pt_writer *writer, const pt_commit *facts, pt_error *error)
{
    return head_of(writer)->store->log != NULL ? commit_beside_log(writer, facts, error)
                                               : pt_lmdb_write_commit(writer, facts, error);
}

__attribute__((noinline)) static void publish_record(pt_lmdb_store *store)
{
    if (store->log->commit.is_whole && !pt_lmdb_is_of_parent(store->fork_count)) {
        pt_log_publish(store);
    }
}

void pt_logged_write_publish(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (store->log != NULL) {
        publish_record(store);
    }
}

/* If a record is left, its transaction was to be undone, and that has failed. If it cannot be made
 * void now either, the next commit ends the log without it. */
void pt_logged_write_end(pt_lmdb_store *store)
{
    pt_logged_commit *commit = &store->log->commit;
    publish_record(store);
    if (commit->is_written) {
        if (make_void(commit) != 0) {
            pt_log_note_failure(store);
        }
        commit->is_written = false;
        pt_log_mark_pending(store, false);
    }
}
