/*
 * What a session does when the main database refuses a commit that the store has already taken, and
 * when taking it back fails too.
 */
#include "unit/transaction/two_sessions.h"

static int commit_old(void **state)
{
    if (setup(state) != 0) {
        return -1;
    }
    commit_text(session, "changed", "old");
    commit_text(session, "deleted", "old");
    commit_text(session, "kept", "old");
    fault_none();
    host = (test_host){0};
    return 0;
}

static int end_faults(void **state)
{
    fault_none();
    return teardown(state);
}

#define undo_test(name) cmocka_unit_test_setup_teardown(name, commit_old, end_faults)

static void write_all(void)
{
    begin(session);
    write_text(session, "changed", "new");
    remove_text(session, "deleted");
    write_text(session, "inserted", "new");
}

static void assert_old(void)
{
    assert_stored(session, "changed", "old");
    assert_stored(session, "deleted", "old");
    assert_stored(session, "inserted", NULL);
    assert_stored(session, "kept", "old");
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    /* keys with their table id, and records */
    assert_counts(snapshot, SESSION_TABLE, 3, (1 + 7 + 3) * 2 + (1 + 4 + 3));
    engine->snapshot_free(snapshot);
}

static void assert_new(void)
{
    assert_stored(session, "changed", "new");
    assert_stored(session, "deleted", NULL);
    assert_stored(session, "inserted", "new");
    assert_stored(session, "kept", "old");
}

/* --- A commit that does not happen --- */

static void a_busy_database_leaves_everything_untouched(void **state)
{
    (void)state;
    write_all();
    host.before_commit_rc = SQLITE_BUSY;
    for (int i = 0; i < 2; i++) {
        assert_fails(pt_session_sync(session, &error), SQLITE_BUSY, "being read");
        assert_int_equal(fault_calls(FAULTY_WRITE_BEGIN), 0);
        assert_old();
        assert_finds(session, "changed", "new");
    }
    write_text(session, "later", "new");
    host.before_commit_rc = SQLITE_OK;
    sync_now(session);
    pt_session_commit(session);
    assert_new();
    assert_stored(session, "later", "new");
}

static void a_failed_commit_can_be_rolled_back_or_tried_again(void **state)
{
    (void)state;
    const faulty_method methods[] = {FAULTY_WRITE_BEGIN, FAULTY_PUT, FAULTY_DELETE, FAULTY_COMMIT};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        write_all();
        fault_next(methods[i]);
        assert_fails(pt_session_sync(session, &error), FAULTY_RC, "fire");
        assert_old();
        fault_none();
        pt_session_rollback(session);
        assert_int_equal(fault_calls(FAULTY_WRITE_BEGIN), 0);
        assert_false(faulty_locked);
    }
    write_all();
    fault_next(FAULTY_COMMIT);
    assert_fails(pt_session_sync(session, &error), FAULTY_RC, "fire");
    sync_now(session);
    pt_session_commit(session);
    assert_new();
}

/* --- A commit that is taken back --- */

static void rolling_back_after_sync_restores_exactly(void **state)
{
    (void)state;
    write_all();
    pt_session_require_sync(session, PT_SYNC_NORMAL);
    sync_now(session);
    assert_new();
    pt_session_rollback(session);
    assert_int_equal(faulty_last_commit.sync, PT_SYNC_NORMAL);
    assert_false(faulty_locked);
    assert_old();
    assert_reads(session, "changed", "old");
    pt_session_rollback(session);
    assert_int_equal(fault_calls(FAULTY_COMMIT), 2);
}

static void a_second_sync_commits_what_was_written_since(void **state)
{
    (void)state;
    write_all();
    sync_now(session);
    write_text(session, "changed", "newer than new");
    write_text(session, "deleted", "again");
    remove_text(session, "inserted");
    write_text(session, "later", "new");
    assert_new();
    sync_now(session);
    assert_stored(session, "changed", "newer than new");
    assert_stored(session, "deleted", "again");
    assert_stored(session, "inserted", NULL);
    assert_stored(session, "later", "new");
    pt_session_rollback(session);
    assert_old();
    assert_stored(session, "later", NULL);
}

static void a_second_sync_takes_back_what_was_undone_since(void **state)
{
    (void)state;
    write_all();
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    write_text(session, "kept", "new");
    write_text(session, "later", "new");
    sync_now(session);
    assert_stored(session, "kept", "new");
    pt_session_rollback_to(session, 0);
    sync_now(session);
    assert_int_equal(fault_calls(FAULTY_COMMIT), 2);
    assert_new();
    assert_stored(session, "later", NULL);
    pt_session_rollback_to(session, -1);
    sync_now(session);
    assert_old();
    pt_session_commit(session);
    assert_old();
}

static void a_failed_second_sync_leaves_the_first(void **state)
{
    (void)state;
    const faulty_method methods[] = {FAULTY_WRITE_BEGIN, FAULTY_RESTORE, FAULTY_PUT, FAULTY_COMMIT};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        write_all();
        sync_now(session);
        write_text(session, "kept", "new");
        fault_next(methods[i]);
        assert_fails(pt_session_sync(session, &error), FAULTY_RC, "fire");
        assert_new();
        pt_session_rollback(session);
        assert_old();
    }
}

static void others_read_what_is_withdrawn_only_between_the_calls(void **state)
{
    (void)state;
    pt_view *view = NULL;
    write_all();
    sync_now(session);
    assert_ok(pt_session_read(other, &view, &error));
    pt_session_cursor_opened(other);
    pt_session_rollback(session);
    assert_reads(other, "changed", "new");
    pt_session_cursor_closed(other);
    assert_reads(other, "changed", "old");
}

/* Whatever was written, synced and withdrawn in between, the end is the one or the other state. */
static void random_transactions_end_as_they_should(void **state)
{
    enum { KEYS = 12 };
    (void)state;
    int stored[KEYS] = {0};
    uint64_t seed = 1;
    for (int transaction = 0; transaction < 150; transaction++) {
        int pending[KEYS];
        int saved[KEYS];
        memcpy(pending, stored, sizeof stored);
        memcpy(saved, stored, sizeof stored);
        begin(session);
        for (int i = 0; i < 20; i++) {
            int at = (int)(next_random(&seed) % KEYS);
            int value = (int)(next_random(&seed) % 10);
            char key[] = {(char)('A' + at), 0};
            char record[] = {(char)('0' + value), (char)('0' + value), 0};
            switch (next_random(&seed) % 8) {
            case 0:
                sync_now(session);
                break;
            case 1:
                assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
                pt_session_release(session, 0);
                assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
                memcpy(saved, pending, sizeof pending);
                break;
            case 2:
                pt_session_rollback_to(session, 0);
                memcpy(pending, saved, sizeof pending);
                break;
            default:
                if (value == 0) {
                    remove_text(session, key);
                } else {
                    write_text(session, key, record);
                }
                pending[at] = value;
                break;
            }
        }
        if (next_random(&seed) % 2 == 0) {
            sync_now(session);
            pt_session_commit(session);
            memcpy(stored, pending, sizeof stored);
        } else {
            pt_session_rollback(session);
        }
        for (int at = 0; at < KEYS; at++) {
            char key[] = {(char)('A' + at), 0};
            char record[] = {(char)('0' + stored[at]), (char)('0' + stored[at]), 0};
            assert_stored(session, key, stored[at] != 0 ? record : NULL);
        }
    }
}

/* --- In doubt --- */

/* The store keeps writes of a transaction that has failed. */
static void bring_in_doubt(void)
{
    write_all();
    sync_now(session);
    fault_from(FAULTY_RESTORE, 1);
    pt_session_rollback(session);
    assert_true(atomic_load(&pt_session_store(session)->in_doubt));
    assert_true(faulty_locked);
    assert_new();
}

static void assert_every_use_is_refused(pt_session *user)
{
    pt_view *view;
    assert_fails(pt_session_read(user, &view, &error), SQLITE_IOERR, "failed to commit");
    assert_fails(pt_session_begin(user, &error), SQLITE_IOERR, "close all connections");
}

static void in_doubt_every_use_says_so(void **state)
{
    (void)state;
    bring_in_doubt();
    pt_view *view;
    assert_every_use_is_refused(session);
    assert_fails(pt_session_read(session, &view, &error), SQLITE_IOERR, "fire");
    assert_every_use_is_refused(other);
    pt_session_commit(session);
    assert_every_use_is_refused(session);
    pt_session_rollback(session);
    assert_every_use_is_refused(other);
    assert_new();
    assert_true(faulty_locked);
}

static void in_doubt_nothing_is_pending(void **state)
{
    (void)state;
    write_all();
    assert_non_null(pt_session_pending_view(session));
    pt_session_rollback(session);
    bring_in_doubt();
    assert_true(pt_session_is_writing(session));
    assert_null(pt_session_pending_view(session));
}

static void the_next_use_settles_the_doubt(void **state)
{
    (void)state;
    for (int use = 0; use < 3; use++) {
        bring_in_doubt();
        fault_none();
        if (use == 0) {
            assert_reads(session, "changed", "old");
        } else if (use == 1) {
            pt_session_rollback(session);
        } else {
            begin(session);
            assert_finds(session, "changed", "old");
            pt_session_rollback(session);
        }
        assert_false(atomic_load(&pt_session_store(session)->in_doubt));
        assert_false(faulty_locked);
        assert_old();
        commit_text(other, "kept", "old");
    }
}

static void a_commit_of_the_undo_may_fail_too(void **state)
{
    (void)state;
    write_all();
    sync_now(session);
    fault_next(FAULTY_COMMIT);
    pt_session_rollback(session);
    assert_new();
    assert_fails(pt_session_begin(other, &error), SQLITE_IOERR, "failed to commit");
    assert_reads(session, "changed", "old");
    assert_old();
    begin(other);
}

/* The transaction is over for SQLite: a later one of the connection, on another store, must not
 * bring its writes back. */
static void in_doubt_nothing_is_committed_any_more(void **state)
{
    (void)state;
    write_all();
    sync_now(session);
    write_text(session, "kept", "new");
    fault_from(FAULTY_RESTORE, 0);
    pt_session_rollback(session);
    assert_true(atomic_load(&pt_session_store(session)->in_doubt));
    assert_false(pt_session_has_pending(session));
    fault_none();
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    pt_session_rollback_to(session, 0);
    sync_now(session);
    pt_session_commit(session);
    assert_stored(session, "kept", "old");
    assert_new();
    assert_reads(session, "kept", "old");
    assert_old();
}

static void cursors_over_the_doubt_are_aborted(void **state)
{
    (void)state;
    pt_view *view = NULL;
    pt_scan scan = {0};
    test_key low = key_of(SESSION_TABLE, "");
    test_key high = key_of(SESSION_TABLE + 1, "");
    write_all();
    assert_ok(pt_session_read(session, &view, &error));
    pt_session_cursor_opened(session);
    assert_ok(pt_scan_open(&scan, view, &error));
    assert_ok(pt_scan_seek(&scan, key_slice(&low), key_slice(&high), PT_FORWARD, &error));
    sync_now(session);
    fault_from(FAULTY_RESTORE, 0);
    pt_session_rollback(session);
    assert_fails(pt_scan_step(&scan, &error), SQLITE_ABORT_ROLLBACK, "rolled back");
    pt_scan_free(&scan);
    pt_session_cursor_closed(session);
    fault_none();
    assert_reads(session, "changed", "old");
}

static void closing_all_connections_ends_the_doubt(void **state)
{
    (void)state;
    bring_in_doubt();
    pt_session_free(other);
    pt_session_free(session);
    session = open_session(&host);
    other = open_session(&other_host);
    assert_new();
    begin(other);
    pt_session_rollback(other);
}

static void freeing_in_doubt_leaks_nothing(void **state)
{
    (void)state;
    pt_session_free(other);
    pt_session_free(session);
    sqlite3_int64 before = sqlite3_memory_used();
    session = open_session(&host);
    bring_in_doubt();
    pt_session_free(session);
    assert_int_equal(sqlite3_memory_used(), before);
    session = open_session(&host);
    other = open_session(&other_host);
}

/* --- Memory --- */

static int sync_twice(pt_error *error)
{
    test_key key = key_of(SESSION_TABLE, "kept");
    int rc = pt_session_sync(session, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_remove(session, key_slice(&key), error);
    }
    return rc == SQLITE_OK ? pt_session_sync(session, error) : rc;
}

static void out_of_memory_in_sync_can_be_rolled_back(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        write_all();
        failing_malloc_arm(n, false);
        int rc = sync_twice(&error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(error.rc, rc);
        pt_session_rollback(session);
        assert_false(faulty_locked);
        assert_old();
        if (!hit) {
            assert_true(n >= 2);
            break;
        }
    }
}

static void an_undo_needs_no_memory(void **state)
{
    (void)state;
    write_all();
    sync_now(session);
    failing_malloc_arm(0, true);
    pt_session_rollback(session);
    assert_false(failing_malloc_disarm());
    assert_false(faulty_locked);
    assert_old();
}

static void settling_may_run_out_of_memory_too(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        pt_view *view = NULL;
        pt_error error = PT_ERROR_NONE;
        bring_in_doubt();
        failing_malloc_arm(n, false);
        int rc = pt_session_read(session, &view, &error);
        bool hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_NOMEM || rc == SQLITE_IOERR);
        assert_int_equal(error.rc, rc);
        pt_error_clear(&error);
        fault_none();
        assert_reads(session, "changed", "old");
        if (!hit) {
            assert_true(n >= 2);
            break;
        }
    }
}

static void ignore_log(void *context, int rc, const char *text)
{
    (void)context;
    (void)rc;
    assert_non_null(strstr(text, fixture_folder));
}

int main(void)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOG, ignore_log, NULL);
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        undo_test(a_busy_database_leaves_everything_untouched),
        undo_test(a_failed_commit_can_be_rolled_back_or_tried_again),
        undo_test(rolling_back_after_sync_restores_exactly),
        undo_test(a_second_sync_commits_what_was_written_since),
        undo_test(a_second_sync_takes_back_what_was_undone_since),
        undo_test(a_failed_second_sync_leaves_the_first),
        undo_test(others_read_what_is_withdrawn_only_between_the_calls),
        undo_test(random_transactions_end_as_they_should),
        undo_test(in_doubt_every_use_says_so),
        undo_test(in_doubt_nothing_is_pending),
        undo_test(the_next_use_settles_the_doubt),
        undo_test(a_commit_of_the_undo_may_fail_too),
        undo_test(in_doubt_nothing_is_committed_any_more),
        undo_test(cursors_over_the_doubt_are_aborted),
        undo_test(closing_all_connections_ends_the_doubt),
        undo_test(freeing_in_doubt_leaks_nothing),
        undo_test(out_of_memory_in_sync_can_be_rolled_back),
        undo_test(an_undo_needs_no_memory),
        undo_test(settling_may_run_out_of_memory_too),
    };
    /* What is in the log only need not be undone: tests/unit/lmdb/test_logged_writer.c. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
