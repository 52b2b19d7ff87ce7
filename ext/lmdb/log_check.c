#include "lmdb/log_check.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/log.h"
#include "lmdb/log/errors.h"

static void report_missing(const char *path, int problem, pt_check_report *report)
{
    switch (problem) {
    case ENOENT:
        pt_check_problem(report,
                         "the log %s-log is missing: it has the last commits; bring it back, or go "
                         "on without them with pt_forget_log",
                         path);
        break;
    case ESTALE:
        pt_check_problem(
            report,
            "%s-log is the log of another store, or of another time of this one: the "
            "last commits are missing; bring back the right one, or go on without them "
            "with pt_forget_log",
            path);
        break;
    case EMLINK:
        pt_check_problem(report,
                         "the log %s-log is a link, or no regular file, or has several names: "
                         "it is not read; put the file itself there, under this name only",
                         path);
        break;
    default:
        pt_check_problem(
            report,
            "%s-log is no log: the last commits are missing; bring the log back, or go "
            "on without them with pt_forget_log",
            path);
        break;
    }
}

/* False if the store has begun the log again, or ended it, since the snapshot was taken: then what
 * is in the file belongs to another version. */
static bool is_as_shown(const pt_lmdb_snapshot *shown)
{
    return shown == NULL || pt_log_word_is_of(pt_log_read_word(shown->store), shown->state.version);
}

static void check_records(const char *path, const pt_format_state *state,
                          const pt_lmdb_snapshot *shown, pt_slice bytes, pt_check_report *report)
{
    pt_log_chain chain = pt_log_chain_of(state->log_id, state->version,
                                         pt_slice_of(state->nonce, sizeof state->nonce));
    pt_log_record record;
    pt_slice rest = bytes;
    int64_t commits = 0;
    while (pt_log_record_read(rest, &chain, &record)) {
        commits++;
        rest = pt_slice_of(bytes.data + chain.end, bytes.size - chain.end);
    }
    /* While the store is open, others may append. What they publish was whole before. */
    uint32_t sure = shown != NULL ? shown->tail_end : pt_log_flushed_beyond(rest, &chain);
    bool is_damaged = chain.end < sure || (shown == NULL && bytes.size < PT_LOG_ROOM);
    if (!is_as_shown(shown)) {
        return;
    }
    if (is_damaged) {
        pt_check_problem(report,
                         "the log %s-log is damaged, or was cut, at byte %lld of its records: "
                         "pt_forget_log keeps the %lld commit%s before that, and the rest is lost",
                         path, (sqlite3_int64)chain.end, (sqlite3_int64)commits,
                         commits == 1 ? "" : "s");
    } else if (chain.end == 0 && pt_log_follows_later_version(rest, &chain)) {
        pt_check_problem(report,
                         "the log %s-log follows a later version of the store: the store's file is "
                         "an old copy; bring back the right one, or go on without the log with "
                         "pt_forget_log",
                         path);
    }
}

int pt_log_check(const char *path, const pt_format_state *state, const pt_lmdb_snapshot *shown,
                 pt_check_report *report, pt_error *error)
{
    pt_lmdb_owned file = {.fd = -1};
    size_t got = 0;
    if (state->log_id == 0) {
        return SQLITE_OK;
    }
    int problem = pt_log_file_open(path, state->log_id, false, &file);
    if (pt_log_is_lost(problem) || problem == EMLINK) {
        if (is_as_shown(shown)) {
            report_missing(path, problem, report);
        }
        return SQLITE_OK;
    }
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, path, "opening its log (-log)");
    }
    uint8_t *bytes = sqlite3_malloc64(PT_LOG_ROOM);
    problem = bytes == NULL ? ENOMEM : pt_log_file_read(file.fd, 0, bytes, PT_LOG_ROOM, &got);
    if (problem == 0) {
        check_records(path, state, shown, pt_slice_of(bytes, got), report);
    }
    sqlite3_free(bytes);
    pt_lmdb_close_owned(&file);
    return problem == 0 ? SQLITE_OK : pt_lmdb_fail(error, problem, path, "reading its log (-log)");
}
