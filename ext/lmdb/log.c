#include "lmdb/log.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/log/errors.h"
#include "lmdb/log/load.h"

enum { LOCK_WAIT_MS = 10000 };

int pt_log_new(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_log *log = sqlite3_malloc64(sizeof *log);
    if (log == NULL) {
        return pt_error_nomem(error);
    }
    *log = (pt_lmdb_log){.files = {{.fd = -1}, {.fd = -1}}};
    store->log = log;
    log->name = sqlite3_mprintf("%s-log", store->base.path);
    return log->name != NULL ? SQLITE_OK : pt_error_nomem(error);
}

typedef struct pt_mapped_word {
    pt_log_word *word;
    struct pt_mapped_word *next;
} pt_mapped_word;

/* Returns 0 or errno. */
static int map_word(pt_lmdb_store *store, pt_log_word_use use)
{
    pt_lmdb_log *log = store->log;
    pt_mapped_word *mapped = sqlite3_malloc64(sizeof *mapped);
    if (mapped == NULL) {
        return ENOMEM;
    }
    int problem = pt_log_word_map(store->base.path, use, store->fd, &mapped->word);
    if (problem != 0) {
        sqlite3_free(mapped);
        return problem == EEXIST || problem == EMLINK ? ENOTUNIQ : problem;
    }
    mapped->next = log->mapped;
    log->mapped = mapped;
    log->word = mapped->word;
    return 0;
}

static void unmap_words(pt_lmdb_log *log)
{
    while (log->mapped != NULL) {
        pt_mapped_word *mapped = log->mapped;
        log->mapped = mapped->next;
        pt_log_word_unmap(mapped->word);
        sqlite3_free(mapped);
    }
}

/* --- The file --- */

static void close_file(pt_lmdb_owned *file)
{
    if (file->fd >= 0) {
        pt_lmdb_close_owned(file);
    }
    file->fd = -1;
}

int pt_log_fd(const pt_lmdb_log *log)
{
    return log->files[log->file].fd;
}

/* Where another file is opened while this one may still be needed. */
static pt_lmdb_owned *other_file(pt_lmdb_log *log)
{
    return &log->files[1 - log->file];
}

static void use_other_file(pt_lmdb_log *log)
{
    close_file(&log->files[log->file]);
    log->file = 1 - log->file;
}

void pt_log_free(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    if (log == NULL) {
        return;
    }
    store->log = NULL;
    close_file(&log->files[0]);
    close_file(&log->files[1]);
    unmap_words(log);
    pt_tail_release(log->tail);
    pt_tail_release(log->commit.tail);
    pt_buffer_free(&log->commit.record);
    sqlite3_free(log->name);
    sqlite3_free(log);
}

/* --- The lock --- */

int pt_log_lock(pt_lmdb_store *store, bool exclusive)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_LOG, exclusive, 0);
    store->log->has_lock |= rc == SQLITE_OK;
    return rc;
}

void pt_log_unlock(pt_lmdb_store *store)
{
    if (store->log->has_lock) {
        pt_lock_release(store->fd, PT_LOCK_LOG);
        store->log->has_lock = false;
    }
}

/* --- The state --- */

/* True if the map and the disk have room for what a log may hold, if each of its commits changes
 * some pages of its own. */
bool pt_log_look_for_room(pt_lmdb_store *store)
{
    enum { LEAST_ROOM = 64 << 20 };
    MDB_envinfo info = {0};
    struct statvfs disk;
    /* No transaction need be open here, so another thread may close the environment and open it
     * again, but not without the mutex. If it could not be opened, it is not known what it has. */
    pthread_mutex_lock(&store->mutex);
    size_t page_size = store->env.page_size;
    if (store->env.env != NULL) {
        mdb_env_info(store->env.env, &info);
    }
    pthread_mutex_unlock(&store->mutex);
    store->log->has_room =
        page_size != 0 &&
        info.me_mapsize / page_size > info.me_last_pgno + LEAST_ROOM / page_size &&
        fstatvfs(store->fd, &disk) == 0 &&
        disk.f_bavail > LEAST_ROOM / (disk.f_frsize != 0 ? disk.f_frsize : 1);
    return store->log->has_room;
}

static pt_log_chain chain_of(const pt_format_state *state)
{
    return pt_log_chain_of(state->log_id, state->version,
                           pt_slice_of(state->nonce, sizeof state->nonce));
}

/* --- The tail --- */

void pt_log_replace_tail(pt_lmdb_store *store, pt_lmdb_tail *tail)
{
    pt_tail_release(store->log->tail);
    store->log->tail = tail;
    atomic_store_explicit(&store->newest_tail, tail, memory_order_release);
}

pt_lmdb_tail *pt_log_newest_tail(pt_lmdb_store *store, const pt_format_state *state)
{
    pt_log_chain chain = chain_of(state);
    if (store->log->tail == NULL || store->log->tail->chain.seed != chain.seed) {
        pt_lmdb_tail *tail = pt_tail_new(state->version, &chain);
        if (tail == NULL) {
            return NULL;
        }
        pt_log_replace_tail(store, tail);
    }
    return store->log->tail;
}

/* --- Following the log that a state names --- */

/* The word in use is about this log, unless its file was replaced: then another process has made
 * it. */
int pt_log_find_word(pt_lmdb_store *store, pt_log_word_use use, uint64_t id)
{
    pt_lmdb_log *log = store->log;
    if (log->word != NULL && atomic_load(&log->word->log_id) == id) {
        return 0;
    }
    int problem = map_word(store, use);
    if (problem != 0) {
        return problem == ENOENT ? EIDRM : problem;
    }
    return atomic_load(&log->word->log_id) == id ? 0 : EIDRM;
}

void pt_log_follow(pt_lmdb_store *store, uint64_t id, pt_log_word *word)
{
    store->log->id = id;
    store->log->file_id = pt_log_file_identify(pt_log_fd(store->log));
    atomic_store(&store->word, word);
    atomic_store_explicit(&store->attached_log, id, memory_order_release);
}

void pt_log_unfollow(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    atomic_store(&store->attached_log, 0);
    atomic_store(&store->word, NULL);
    close_file(&log->files[log->file]);
    log->id = 0;
}

static int join_others(pt_lmdb_store *store, uint64_t id)
{
    pt_lmdb_log *log = store->log;
    if (pt_log_attached(store) == id) {
        return 0; /* another thread has done it */
    }
    if (!log->has_lock) {
        int rc = pt_lock_take(store->fd, PT_LOCK_LOG, false, pt_deadline_in(LOCK_WAIT_MS));
        log->has_lock = rc == SQLITE_OK;
        if (rc != SQLITE_OK) {
            return rc == SQLITE_BUSY ? EAGAIN : errno;
        }
    }
    /* A thread that is late may ask for a log that has ended, while others use the next one. */
    int problem = pt_log_file_open(store->base.path, id, true, other_file(log));
    if (problem == 0) {
        problem = pt_log_find_word(store, PT_WORD_WRITE, id);
    }
    if (problem == 0) {
        use_other_file(log);
        pt_log_follow(store, id, log->word);
        return 0;
    }
    close_file(other_file(log));
    if (log->id == 0) {
        pt_log_unlock(store);
    }
    return problem;
}

int pt_log_join(pt_lmdb_store *store, uint64_t id)
{
    pthread_mutex_lock(&store->mutex);
    int problem = join_others(store, id);
    pthread_mutex_unlock(&store->mutex);
    return problem;
}

/* --- With the writer lock held --- */

static void publish(pt_lmdb_store *store, uint64_t version, uint32_t end)
{
    pt_log_word *word = atomic_load_explicit(&store->word, memory_order_relaxed);
    atomic_store_explicit(&word->published, pt_log_word_of(version, end), memory_order_release);
}

void pt_log_mark_pending(pt_lmdb_store *store, bool pending)
{
    pt_log_word *word = atomic_load_explicit(&store->word, memory_order_relaxed);
    uint32_t process = pending ? (uint32_t)getpid() : 0;
    atomic_store_explicit(&word->pending, process, memory_order_release);
}

void pt_log_note_failure(pt_lmdb_store *store)
{
    atomic_store(&atomic_load(&store->word)->failed, true);
}

void pt_log_distrust_base(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    if (log == NULL) {
        return;
    }
    log->seen = 0;
    pthread_mutex_lock(&store->mutex);
    if (log->word != NULL) {
        atomic_store(&log->word->failed, true);
    }
    pthread_mutex_unlock(&store->mutex);
}

bool pt_log_has_failed(const pt_lmdb_store *store)
{
    return atomic_load_explicit(&atomic_load_explicit(&store->word, memory_order_relaxed)->failed,
                                memory_order_relaxed);
}

/* A record that a process left behind: what its commit asked for is not known to have been done,
 * and it is shown from now on. Or the process had made it void, and others see now that it is not
 * there. */
static void flush_left(pt_lmdb_store *store)
{
    if (pt_log_file_flush(pt_log_fd(store->log)) == 0) {
        store->log->tail->chain.flushed = store->log->tail->chain.end;
    } else {
        pt_log_note_failure(store);
    }
}

/* A process has died in a commit to the file, or may have: LMDB's root page, which says how durable
 * it is, may be in memory only. */
static void flush_base(pt_lmdb_store *store)
{
    if (fdatasync(store->fd) != 0) {
        pt_log_note_failure(store);
    }
}

/* Takes over what is published, with the store's mutex. */
static void take_over(pt_lmdb_store *store, const pt_lmdb_tail *tail)
{
    pt_lmdb_log *log = store->log;
    log->chain = tail->chain;
    log->strongest = PT_SYNC_FULL; /* we did not see what the commits asked for */
    pt_lmdb_note_clock(store, pt_tail_clock(tail, tail->chain.end));
    publish(store, log->state.version, log->chain.end);
    pt_log_mark_pending(store, log->commit.is_written); /* last: the process may die before */
}

/* Reads what others have published, and the record that a dead writer has left. */
static int load_newest(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_log *log = store->log;
    const pt_log_word *word = atomic_load(&store->word);
    uint64_t published = atomic_load(&word->published);
    bool is_sealed = pt_log_word_is_sealed(published);
    uint32_t end = is_sealed ? pt_log_word_end(published, log->state.version) : log->chain.end;
    bool left = atomic_load(&word->pending) != 0 || !is_sealed; /* then the log itself tells */
    bool damaged = false;
    left = left && !log->commit.is_written; /* not by this process */
    /* A writer that died after LMDB's commit has left the word of the version before. */
    if (!left && end == log->chain.end && pt_log_word_is_of(published, log->state.version)) {
        return SQLITE_OK;
    }
    if (!pt_log_word_is_of(published, log->state.version)) {
        flush_base(store);
    }
    pt_lmdb_tail *tail = pt_log_newest_tail(store, &log->state);
    if (tail == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_log_load_up_to(pt_log_fd(log), store->base.path, tail, end, error);
    if (rc == SQLITE_BUSY) {
        return pt_log_fail_damaged(error, store->base.path);
    }
    if (rc == SQLITE_OK && left) {
        rc = pt_log_load_all(pt_log_fd(log), store->base.path, tail, &damaged, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (left) {
        flush_left(store); /* if that fails, the next commit writes it to the tree */
    }
    take_over(store, tail);
    return SQLITE_OK;
}

static void forget_record(pt_lmdb_log *log)
{
    log->commit.is_written = false;
    log->commit.is_whole = false;
}

/* Learns what the newest state says of the log. */
static int look_at_newest(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_log *log = store->log;
    pt_lmdb_newest newest = {0};
    log->seen = 0;
    int rc = pt_lmdb_look_at_newest(store, &newest, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    log->state = newest.state;
    log->next_id = newest.state.log_id;
    pt_log_chain chain = chain_of(&newest.state);
    if (chain.seed != log->chain.seed) {
        forget_record(log); /* nobody will read it */
    }
    log->chain = chain;
    log->strongest = PT_SYNC_OFF;
    log->may_have_garbage = newest.has_garbage;
    if (newest.state.log_id != 0) {
        pt_log_look_for_room(store);
    }
    if (newest.state.log_id != 0 && !log->is_given_up) {
        int problem = pt_log_join(store, newest.state.log_id);
        rc = problem == 0 ? SQLITE_OK : pt_log_fail(error, store->base.path, problem);
    } else if (log->id != 0) {
        pt_log_detach(store);
    }
    log->seen = rc == SQLITE_OK ? newest.number : 0;
    return rc;
}

int pt_log_catch_up(pt_lmdb_store *store, uint64_t number, pt_error *error)
{
    pt_lmdb_log *log = store->log;
    int rc = SQLITE_OK;
    if (number == 0 || number != log->seen) {
        rc = look_at_newest(store, error);
    }
    if (rc == SQLITE_OK && log->id != 0) {
        pthread_mutex_lock(&store->mutex);
        rc = load_newest(store, error);
        pthread_mutex_unlock(&store->mutex);
        log->seen = rc == SQLITE_OK ? log->seen : 0;
    }
    return rc;
}

pt_sync pt_log_sync_of(const pt_lmdb_store *store, uint64_t named, pt_sync wanted)
{
    const pt_lmdb_log *log = store->log;
    if (log == NULL) {
        return wanted;
    }
    /* What the tail promises, a power failure could break after the next record has overwritten the
     * log. And the name of a log must be there before its first record, and go after its last. */
    bool holds = log->chain.end != 0 && log->strongest != PT_SYNC_OFF;
    return holds || named != log->next_id ? PT_SYNC_FULL : wanted;
}

/* Also gives back what an earlier commit has left in the tail that was not published. Only the
 * holder of the writer lock adds to a tail that has all that is published. */
static bool begin_commit(pt_lmdb_store *store)
{
    pt_logged_commit *commit = &store->log->commit;
    pt_lmdb_tail *tail = pt_log_newest_tail(store, &store->log->state);
    bool is_known = commit->begin != NULL && commit->tail == tail;
    commit->is_whole = false;
    if (tail == NULL) {
        return false;
    }
    PT_ASSERT(tail->chain.end == store->log->chain.end);
    if (is_known && tail->chain.end == commit->begin_end) {
        pt_arena_give_back(&tail->arena, commit->begin);
    }
    pt_tail_retain(tail);
    pt_tail_release(commit->tail);
    commit->tail = tail;
    bool begun = pt_tail_row_begin(tail, &commit->row);
    commit->begin = commit->row.commit;
    commit->begin_end = tail->chain.end;
    return begun;
}

bool pt_log_begin_commit(pt_lmdb_store *store)
{
    pthread_mutex_lock(&store->mutex);
    bool begun = begin_commit(store);
    pthread_mutex_unlock(&store->mutex);
    return begun;
}

void pt_log_note_lmdb_commit(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    const pt_format_state *state = &store->committed.state;
    if (pt_log_has_tail(store)) {
        mdb_reader_check(store->env.env, NULL); /* this commit stands for many */
    }
    pthread_mutex_lock(&store->mutex);
    pt_log_replace_tail(store, NULL);
    if (state->log_id != 0 && pt_log_attached(store) != state->log_id) {
        pt_log_follow(store, state->log_id, log->word);
    }
    pthread_mutex_unlock(&store->mutex);
    log->state = *state;
    log->seen = state->version;
    log->next_id = state->log_id;
    log->chain = chain_of(state);
    log->strongest = PT_SYNC_OFF;
    log->may_have_garbage = !store->committed.no_garbage;
    forget_record(log);
    if (state->log_id != 0) {
        pt_log_look_for_room(store);
        pt_log_mark_pending(store, false);
        publish(store, state->version, 0);
    } else if (log->id != 0) {
        pt_log_detach(store);
    }
}

void pt_log_forget_versions(pt_lmdb_store *store)
{
    pthread_mutex_lock(&store->mutex);
    pt_log_replace_tail(store, NULL);
    pthread_mutex_unlock(&store->mutex);
    store->log->seen = 0;
}

void pt_log_publish(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    pt_logged_commit *commit = &log->commit;
    pthread_mutex_lock(&store->mutex);
    pt_tail_add_commit(commit->tail, &commit->row, &commit->after, commit->clock);
    pthread_mutex_unlock(&store->mutex);
    log->chain = commit->after;
    log->strongest = commit->sync > log->strongest ? commit->sync : log->strongest;
    forget_record(log);
    pt_lmdb_note_clock(store, commit->clock);
    publish(store, log->state.version, log->chain.end);
    pt_log_mark_pending(store, false);
}

/* --- Opening, beginning, ending --- */

/* If that fails, the next commit ends the log. */
static void clear_rest(pt_lmdb_store *store, const pt_lmdb_tail *tail)
{
    if (pt_log_clear_rest(pt_log_fd(store->log), tail) != 0) {
        pt_log_note_failure(store);
    }
    flush_left(store);
}

static int recover(pt_lmdb_store *store, const pt_format_state *state, bool *damaged,
                   pt_error *error)
{
    pt_lmdb_log *log = store->log;
    int problem = pt_log_file_open(store->base.path, state->log_id, true, &log->files[log->file]);
    if (log->is_alone) {
        log->word = &log->own;
    } else if (problem == 0) {
        problem = map_word(store, PT_WORD_MAKE);
    }
    if (problem != 0) {
        return pt_log_fail(error, store->base.path, problem);
    }
    pt_lmdb_tail *tail = pt_log_newest_tail(store, state);
    if (tail == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_log_load_all(pt_log_fd(log), store->base.path, tail, damaged, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    atomic_store(&log->word->log_id, state->log_id);
    atomic_store(&log->word->failed, false);
    pt_log_follow(store, state->log_id, log->word);
    log->state = *state;
    log->seen = 0; /* whoever locks the store first looks at all of this again */
    flush_base(store);
    if (!*damaged) {
        clear_rest(store, tail);
    }
    take_over(store, tail);
    return SQLITE_OK;
}

int pt_log_recover(pt_lmdb_store *store, const pt_format_state *state, bool *damaged,
                   pt_error *error)
{
    pthread_mutex_lock(&store->mutex);
    int rc = recover(store, state, damaged, error);
    if (rc != SQLITE_OK) {
        pt_log_unfollow(store);
    }
    pthread_mutex_unlock(&store->mutex);
    return rc;
}

/* With the mutex from the lock on: a thread that looks for a log that has ended takes the lock,
 * too, and gives it back. */
int pt_log_prepare(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    uint64_t id;
    pthread_mutex_lock(&store->mutex);
    if (!log->has_lock && pt_log_lock(store, false) != SQLITE_OK) {
        pthread_mutex_unlock(&store->mutex);
        return EAGAIN;
    }
    /* A log that a dead process has ended is removed now: the disk may still have the version that
     * names it. */
    if (fdatasync(store->fd) != 0) {
        pt_log_unlock(store);
        pthread_mutex_unlock(&store->mutex);
        return EAGAIN;
    }
    pt_log_word_remove(store->base.path, 0);
    int problem = map_word(store, PT_WORD_MAKE);
    if (problem == 0) {
        problem = pt_log_file_make(store->base.path, store->fd, &id, &log->files[log->file]);
    }
    if (problem == 0) {
        log->id = id;
        atomic_store(&log->word->published, pt_log_word_of(0, 0));
        atomic_store(&log->word->pending, 0);
        atomic_store(&log->word->failed, false);
        atomic_store(&log->word->log_id, id);
        log->next_id = id;
    }
    pthread_mutex_unlock(&store->mutex);
    return problem;
}

void pt_log_detach(pt_lmdb_store *store)
{
    pthread_mutex_lock(&store->mutex);
    pt_log_unfollow(store);
    pt_log_unlock(store);
    pthread_mutex_unlock(&store->mutex);
}
