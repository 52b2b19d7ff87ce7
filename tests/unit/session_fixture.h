/*
 * Sessions on a store in the fixture's folder, opened through the faulty engine, and short forms of
 * what tests do with them.
 */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include "failing_malloc.h"
#include "faulty_engine.h"
#include "transaction/scan.h"
#include "transaction/session.h"

enum { SESSION_TABLE = 7 };

/* Making a store takes longer than a test: it is made once for the group, and copied. */
static char session_template[96];
static sqlite3_int64 session_memory; /* SQLite's, before the test opened anything */

static inline int session_group_setup(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    snprintf(session_template, sizeof session_template, "%s/template", fixture_folder);
    pt_store *store = open_store(session_template);
    store->engine->close(store);
    return 0;
}

/* A fresh store at fixture_path. */
static inline void session_fresh_store(void)
{
    static unsigned number;
    snprintf(fixture_path, sizeof fixture_path, "%s/%u.ptable", fixture_folder, ++number);
    FILE *from = fopen(session_template, "rb");
    FILE *to = fopen(fixture_path, "wb");
    assert_true(from != NULL && to != NULL);
    char bytes[4096];
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, from)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, size, to), size);
    }
    assert_int_equal(fclose(to), 0);
    fclose(from);
    session_memory = sqlite3_memory_used();
}

/* After all has been closed. */
static inline int session_check_memory(void)
{
    return sqlite3_memory_used() == session_memory ? 0 : -1;
}

/* What a session asks its connection; counts the questions. */
typedef struct test_host {
    int wait_ms;
    bool follows;
    int before_commit_rc;
    int waits_asked;
    int commits_asked;
} test_host;

static inline int test_lock_wait(void *context, int *wait_ms, const char **advice, pt_error *error)
{
    test_host *host = context;
    (void)error;
    *advice = "advice";
    *wait_ms = host->wait_ms;
    host->waits_asked++;
    return SQLITE_OK;
}

static inline bool test_follows(void *context)
{
    return ((const test_host *)context)->follows;
}

static inline int test_before_commit(void *context, pt_error *error)
{
    test_host *host = context;
    host->commits_asked++;
    if (host->before_commit_rc != SQLITE_OK) {
        return pt_error_set(error, host->before_commit_rc, "the database is being read");
    }
    return SQLITE_OK;
}

/* Takes the store over. */
static inline pt_session *new_session(pt_store *store, test_host *host)
{
    const pt_session_host questions = {.context = host,
                                       .lock_wait = test_lock_wait,
                                       .follows_transaction = test_follows,
                                       .before_commit = test_before_commit};
    return pt_session_new(store, &questions);
}

static inline pt_session *open_session(test_host *host)
{
    pt_session *session = new_session(open_faulty(fixture_path), host);
    assert_non_null(session);
    return session;
}

/* A session keeps memory for its next transaction; a new one has none yet. */
static inline void renew_session(pt_session **session, test_host *host)
{
    pt_session_free(*session);
    *session = open_session(host);
}

static inline void begin(pt_session *session)
{
    assert_ok(pt_session_begin(session, &error));
    assert_true(pt_session_is_writing(session));
}

static inline void sync_now(pt_session *session)
{
    assert_ok(pt_session_sync(session, &error));
}

static inline void write_key(pt_session *session, pt_slice key, pt_slice record)
{
    uint8_t *bytes = pt_session_put(session, key, PT_REPLACE, record.size);
    assert_non_null(bytes);
    if (record.size != 0) {
        memcpy(bytes, record.data, record.size);
    }
}

static inline void write_text(pt_session *session, const char *text, const char *record)
{
    test_key key = key_of(SESSION_TABLE, text);
    write_key(session, key_slice(&key), pt_slice_text(record));
}

static inline void remove_text(pt_session *session, const char *text)
{
    test_key key = key_of(SESSION_TABLE, text);
    assert_ok(pt_session_remove(session, key_slice(&key), &error));
}

/* What the writing transaction finds; NULL: nothing. */
static inline void assert_finds(pt_session *session, const char *text, const char *expected)
{
    test_key key = key_of(SESSION_TABLE, text);
    bool found = expected == NULL;
    pt_slice record = {0};
    assert_ok(pt_session_find(session, key_slice(&key), &found, &record, &error));
    assert_int_equal(found, expected != NULL);
    assert_true(!found || pt_slice_equal(record, pt_slice_text(expected)));
}

/* What a statement reads. */
static inline void assert_reads(pt_session *session, const char *text, const char *expected)
{
    test_key key = key_of(SESSION_TABLE, text);
    pt_view *view = NULL;
    bool found = expected == NULL;
    pt_slice record = {0};
    assert_ok(pt_session_read(session, &view, &error));
    assert_ok(pt_view_get(view, key_slice(&key), &found, &record, &error));
    assert_int_equal(found, expected != NULL);
    assert_true(!found || pt_slice_equal(record, pt_slice_text(expected)));
    pt_session_end_read(session);
}

/* What everybody sees. */
static inline void assert_stored(pt_session *session, const char *text, const char *expected)
{
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    assert_record(snapshot, SESSION_TABLE, text, expected);
    engine->snapshot_free(snapshot);
}

/* One record in a transaction of its own. */
static inline void commit_text(pt_session *session, const char *text, const char *record)
{
    begin(session);
    write_text(session, text, record);
    sync_now(session);
    pt_session_commit(session);
}

#endif
