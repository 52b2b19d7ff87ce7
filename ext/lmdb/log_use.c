#include "lmdb/log_use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "base/ways.h"
#include "lmdb/writer.h"

enum {
    LONG_COMMITS = 1000,
    COMMITS_BEFORE_LOG = 8,
    MS_FOR_THESE = 1000,
    MS_AFTER_FAILURE = 60000, /* before the next try to make a log */
};

/* --- Beginning --- */

static void note_problem(const pt_lmdb_store *store, int problem)
{
    sqlite3_log(SQLITE_WARNING, "ptable: store '%s' goes on without a log: %s", store->base.path,
                strerror(problem));
}

/* Not by the clock of the commits: deletions do not move it on. */
static bool is_time_for_log(pt_lmdb_log *log)
{
    if (PT_WAYS_LOG_ALWAYS) {
        return true;
    }
    if (pt_deadline_has_passed(log->recent_until)) {
        log->recent = 0;
        log->recent_until = pt_deadline_in(MS_FOR_THESE);
    }
    log->recent++;
    return log->recent >= COMMITS_BEFORE_LOG;
}

/* Of a line of LMDB's list of readers, which begins with a process id unless it is a heading. */
static int look_at_reader(const char *line, void *context)
{
    const pt_lmdb_store **store = context;
    char *end;
    bool held = false;
    long process = strtol(line, &end, 10);
    if (end == line || process == (long)getpid() || *store == NULL) {
        return 0;
    }
    if (pt_lock_look((*store)->fd, pt_lock_of_process(process), &held) != 0 || !held) {
        *store = NULL;
    }
    return 0;
}

/* False if a program reads the store that does not follow logs: one with an older version of this
 * library, or with LMDB alone. It would not see what is in the log, and the older library would
 * take the store for damaged. */
static bool all_follow_logs(const pt_lmdb_store *store)
{
    mdb_reader_check(store->env.env, NULL);
    mdb_reader_list(store->env.env, look_at_reader, &store);
    return store != NULL;
}

void pt_log_consider(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    if (!log->is_allowed || PT_WAYS_LOG_NEVER || log->state.log_id != 0 ||
        store->reserve.is_scarce || !pt_deadline_has_passed(log->not_before) ||
        !is_time_for_log(log) || !pt_log_look_for_room(store)) {
        return;
    }
    log->recent = 0;
    if (!all_follow_logs(store)) {
        return;
    }
    int problem = pt_log_prepare(store);
    /* A process that opens the store holds the lock for a moment: some commits later it is free. */
    if (problem != 0 && problem != EAGAIN) {
        note_problem(store, problem);
        pt_log_clear_up(store, 0);
        pt_log_detach(store);
        log->not_before = pt_deadline_in(MS_AFTER_FAILURE);
    }
}

/* The commit may have taken place all the same (lmdb/failed_commit.h): then the log is needed. A
 * log that is not named, and stays, is removed by the next process that opens the store. */
void pt_log_withdraw(pt_lmdb_store *store)
{
    pt_lmdb_log *log = store->log;
    pt_error ignored = PT_ERROR_NONE;
    pt_lmdb_newest newest = {0};
    bool had_none = log->state.log_id == 0;
    if (log->next_id != 0 && had_none) {
        if (pt_lmdb_look_at_newest(store, &newest, &ignored) == SQLITE_OK &&
            newest.state.log_id == 0) {
            pt_log_clear_up(store, log->next_id);
        }
        pt_log_detach(store);
        pt_error_clear(&ignored);
    }
    if (log->next_id != 0 || !had_none) {
        log->seen = 0;
    }
    log->next_id = log->state.log_id;
}

/* --- Applying and ending --- */

static int commit_tail(pt_lmdb_store *store, pt_error *error)
{
    const pt_commit commit = {.sync = PT_SYNC_OFF}; /* pt_log_sync_of asks for what is needed */
    pt_writer *writer;
    bool collected;
    int rc = pt_lmdb_write_begin(&store->base, &writer, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_write_collect(writer, &collected, error);
        if (rc != SQLITE_OK) {
            pt_lmdb_write_abort(writer);
        }
    }
    return rc == SQLITE_OK ? pt_lmdb_write_commit(writer, &commit, error) : rc;
}

static bool is_long(pt_lmdb_log *log)
{
    if (PT_WAYS_LOG_RANDOM) {
        log->dice = log->dice * 6364136223846793005U + 1442695040888963407U;
        return log->dice >> 61 == 0;
    }
    return log->chain.end >= PT_LOG_LONG ||
           (log->tail != NULL &&
            atomic_load_explicit(&log->tail->commits, memory_order_relaxed) >= LONG_COMMITS);
}

void pt_log_limit(pt_lmdb_store *store)
{
    pt_error error = PT_ERROR_NONE;
    if (!pt_log_has_tail(store) || store->log->commit.is_written || !is_long(store->log)) {
        return;
    }
    if (commit_tail(store, &error) != SQLITE_OK) {
        sqlite3_log(error.rc, "ptable: store '%s': what its log holds cannot be written: %s",
                    store->base.path, error.message != NULL ? error.message : "out of memory");
        store->reserve.is_scarce |= error.rc == SQLITE_FULL;
    }
    pt_error_clear(&error);
}

/* With the writer lock held no process can begin another log now. Those that followed this one see
 * that the state does not name it any more. */
void pt_log_clear_up(pt_lmdb_store *store, uint64_t id)
{
    pt_log_file_remove(store->base.path, id);
    pt_log_word_remove(store->base.path, id);
}

int pt_log_stop(pt_lmdb_store *store, pt_error *error)
{
    pt_lmdb_log *log = store->log;
    if (log == NULL || log->state.log_id == 0) {
        return SQLITE_OK;
    }
    uint64_t id = log->state.log_id;
    log->next_id = 0;
    int rc = commit_tail(store, error);
    if (rc == SQLITE_OK) {
        pt_log_clear_up(store, id);
    } else {
        pt_log_withdraw(store);
    }
    return rc;
}
