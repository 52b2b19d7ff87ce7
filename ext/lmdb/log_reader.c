#include "lmdb/log_reader.h"

#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/log/errors.h"
#include "lmdb/log/load.h"

enum { PUBLISH_WAIT_MS = 1000 };

/* --- Following a log without the right to write, with the store's mutex --- */

/* Another process writes the log: its word says what is published. */
static int follow_writer(pt_lmdb_store *store, uint64_t id)
{
    pt_lmdb_log *log = store->log;
    if (pt_log_attached(store) == id && atomic_load(&store->word) == log->word) {
        return 0;
    }
    pt_log_unfollow(store);
    int problem = pt_log_file_open(store->base.path, id, false, &log->files[log->file]);
    if (problem == 0) {
        problem = pt_log_find_word(store, PT_WORD_READ, id);
    }
    if (problem == 0) {
        pt_log_follow(store, id, log->word);
    }
    return problem;
}

/* No process writes the log now: this one has a word of its own, which says what verifies in it. */
static int follow_file(pt_lmdb_store *store, const pt_format_state *state, int *problem,
                       pt_error *error)
{
    pt_lmdb_log *log = store->log;
    bool damaged = false;
    if (pt_log_attached(store) != state->log_id || atomic_load(&store->word) != &log->own) {
        pt_log_unfollow(store);
        *problem = pt_log_file_open(store->base.path, state->log_id, false, &log->files[log->file]);
        if (*problem != 0) {
            return SQLITE_CANTOPEN;
        }
        atomic_store(&log->own.published, pt_log_word_of(0, 0));
        pt_log_follow(store, state->log_id, &log->own);
    }
    pt_lmdb_tail *tail = pt_log_newest_tail(store, state);
    if (tail == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_log_load_all(pt_log_fd(log), store->base.path, tail, &damaged, error);
    if (rc != SQLITE_OK || damaged) {
        return rc != SQLITE_OK ? rc : pt_log_fail_damaged(error, store->base.path);
    }
    atomic_store(&log->own.published, pt_log_word_of(state->version, tail->chain.end));
    return SQLITE_OK;
}

/*
 * Sets *used if other processes use the log: then their word tells. One that has the lock alone is
 * opening or closing the store, and goes by the log itself: the word may be one that was left, and
 * a power failure may have left an old one. Returns 0 or errno.
 */
static int look_for_log_users(const pt_lmdb_store *store, bool *used)
{
    bool is_alone = false;
    int problem = pt_lock_look(store->fd, PT_LOCK_LOG, used);
    if (problem == 0 && *used) {
        problem = pt_lock_look_if_exclusive(store->fd, PT_LOCK_LOG, &is_alone);
    }
    *used = *used && !is_alone;
    return problem;
}

/* Called for each view. SQLITE_CANTOPEN: *problem says why, and there is no text. */
static int attach_without_rights(pt_lmdb_store *store, const pt_format_state *state, int *problem,
                                 pt_error *error)
{
    bool used = false;
    *problem = look_for_log_users(store, &used);
    if (*problem == 0 && used) {
        *problem = follow_writer(store, state->log_id);
    }
    if (*problem != 0 || used) {
        return *problem != 0 ? SQLITE_CANTOPEN : SQLITE_OK;
    }
    int rc = follow_file(store, state, problem, error);
    if (rc == SQLITE_OK && (look_for_log_users(store, &used) != 0 || used)) {
        /* A writer has come: the last record that was read may not be published, or never be. */
        pt_log_replace_tail(store, NULL);
        pt_log_unfollow(store);
        return SQLITE_BUSY;
    }
    return rc;
}

/* --- Following a log --- */

/* The log may have ended since the state was read: SQLITE_BUSY. If it is only locked, trying again
 * would be waiting again: SQLITE_BUSY_RECOVERY. */
static int judge_missing(pt_lmdb_store *store, const pt_format_state *state, int problem,
                         pt_error *error)
{
    pt_lmdb_newest newest;
    int rc = pt_lmdb_look_at_newest(store, &newest, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (newest.state.log_id != state->log_id) {
        return SQLITE_BUSY;
    }
    rc = pt_log_fail(error, store->base.path, problem);
    return rc == SQLITE_BUSY ? SQLITE_BUSY_RECOVERY : rc;
}

/* The process that has died between writing a record and publishing it; 0 if there is none. */
static uint32_t find_dead_writer(const pt_lmdb_store *store, const pt_log_word *word)
{
    uint32_t writer = word != NULL ? atomic_load(&word->pending) : 0;
    bool lives = true;
    bool is_left = writer != 0 && writer != (uint32_t)getpid() &&
                   pt_lock_look(store->fd, pt_lock_of_process(writer), &lives) == 0 && !lives;
    return is_left ? writer : 0;
}

/* False if another writer has the store. */
static bool publish_as_writer(pt_lmdb_store *store)
{
    pt_error ignored = PT_ERROR_NONE;
    if (pt_writer_queue_enter(&store->queue, 0) != SQLITE_OK) {
        return false;
    }
    int rc = pt_lock_take(store->fd, PT_LOCK_WRITER, true, 0);
    if (rc == SQLITE_OK) {
        pt_log_catch_up(store, 0, &ignored);
        pt_lock_release(store->fd, PT_LOCK_WRITER);
    }
    pt_writer_queue_leave(&store->queue);
    pt_error_clear(&ignored);
    return rc != SQLITE_BUSY;
}

/*
 * A process may have died between the commit of its main database and publishing its record. So
 * that the first view of this process shows what that main database says, the record is published
 * now. If another writer has the store, it does that as its first step.
 */
static void publish_what_is_left(pt_lmdb_store *store)
{
    const pt_log_word *word = atomic_load(&store->word);
    uint32_t writer = find_dead_writer(store, word);
    pt_deadline deadline = writer != 0 ? pt_deadline_in(PUBLISH_WAIT_MS) : 0;
    while (writer != 0 && !publish_as_writer(store)) {
        bool is_published = atomic_load(&word->pending) != writer;
        writer = is_published || !pt_lock_pause(deadline) ? 0 : writer;
    }
}

int pt_log_attach(pt_lmdb_store *store, const pt_format_state *state, uint64_t *word,
                  pt_error *error)
{
    bool may_write = !store->env.read_only;
    int rc = SQLITE_OK;
    int problem = 0;
    if (may_write) {
        problem = pt_log_join(store, state->log_id);
    } else {
        pthread_mutex_lock(&store->mutex);
        rc = attach_without_rights(store, state, &problem, error);
        *word = pt_log_read_word(store); /* before another thread follows a writer, or none */
        pthread_mutex_unlock(&store->mutex);
    }
    if (problem != 0) {
        return judge_missing(store, state, problem, error);
    }
    if (may_write) {
        publish_what_is_left(store);
    }
    return rc;
}

/* --- Its tail --- */

/* With the store's mutex. */
static int load_for_reader(pt_lmdb_store *store, const pt_format_state *state, uint32_t end,
                           pt_lmdb_tail **tail, pt_error *error)
{
    if (pt_log_attached(store) != state->log_id ||
        !pt_log_word_is_of(pt_log_read_word(store), state->version)) {
        return SQLITE_BUSY;
    }
    pt_lmdb_tail *newest = pt_log_newest_tail(store, state);
    if (newest == NULL) {
        return pt_error_nomem(error);
    }
    int rc = newest->chain.end < end
                 ? pt_log_load_up_to(pt_log_fd(store->log), store->base.path, newest, end, error)
                 : SQLITE_OK;
    if (rc == SQLITE_BUSY && pt_log_word_is_of(pt_log_read_word(store), state->version)) {
        return pt_log_fail_damaged(error, store->base.path); /* nothing has begun the log again */
    }
    if (rc == SQLITE_OK) {
        pt_tail_retain(newest);
        *tail = newest;
    }
    return rc;
}

int pt_log_tail_of(pt_lmdb_store *store, const pt_format_state *state, uint32_t end,
                   pt_lmdb_tail **tail, pt_error *error)
{
    pthread_mutex_lock(&store->mutex);
    int rc = load_for_reader(store, state, end, tail, error);
    pthread_mutex_unlock(&store->mutex);
    return rc;
}
