/*
 * What statements see of a store through a session, and for how long.
 */
#include "unit/transaction/two_sessions.h"

#include "fixtures/log_mode.h"
#include "lmdb/writer.h"

static void a_statement_reads_one_version(void **state)
{
    (void)state;
    commit_text(other, "a", "1");
    pt_view *view = NULL;
    pt_view *again = NULL;
    assert_ok(pt_session_read(session, &view, &error));
    pt_session_cursor_opened(session);
    commit_text(other, "a", "2");
    assert_ok(pt_session_read(session, &again, &error));
    assert_ptr_equal(again, view);
    pt_session_cursor_opened(session);
    assert_reads(session, "a", "1");
    pt_session_cursor_closed(session);
    assert_reads(session, "a", "1");
    pt_session_cursor_closed(session);
    assert_reads(session, "a", "2");
}

static void a_followed_transaction_reads_one_version(void **state)
{
    (void)state;
    commit_text(other, "a", "1");
    host.follows = true;
    assert_reads(session, "a", "1");
    commit_text(other, "a", "2");
    assert_reads(session, "a", "1");
    host.follows = false;
    pt_session_end_read(session);
    assert_reads(session, "a", "2");
}

static void reading_again_allocates_nothing(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    assert_reads(session, "a", "1");
    failing_malloc_arm(0, true);
    for (int i = 0; i < 3; i++) {
        assert_reads(session, "a", "1");
    }
    assert_false(failing_malloc_disarm());
    fault_next(FAULTY_SNAPSHOT_BEGIN);
    pt_view *view;
    assert_fails(pt_session_read(session, &view, &error), FAULTY_RC, "fire");
    assert_reads(session, "a", "1");
}

/* Inside a transaction that has read, writing on top of what somebody else changed since would lose
 * that change. */
static void a_stale_reader_cannot_begin_to_write(void **state)
{
    (void)state;
    commit_text(other, "a", "1");
    host.follows = true;
    assert_reads(session, "a", "1");
    begin(session);
    write_text(session, "b", "1");
    sync_now(session);
    pt_session_commit(session);
    assert_reads(session, "a", "1");
    commit_text(other, "a", "2");
    assert_fails(pt_session_begin(session, &error), SQLITE_BUSY_SNAPSHOT, "changed");
    assert_false(faulty_locked);
    assert_false(pt_session_is_writing(session));
    assert_reads(session, "a", "1");
    host.follows = false;
    pt_session_end_read(session);
    host.follows = true;
    begin(session);
    assert_finds(session, "a", "2");
    pt_session_rollback(session);
}

/* A number that a killed writer left behind makes the store look as if it had changed. */
static void a_reader_that_looks_stale_is_looked_at_again(void **state)
{
    (void)state;
    commit_text(other, "a", "1");
    host.follows = true;
    assert_reads(session, "a", "1");
    fault_next(FAULTY_SNAPSHOT_IS_NEWEST);
    begin(session);
    pt_session_rollback(session);
}

/* Writes what the log holds to the tree, and nothing else. */
static void write_log_to_tree(void)
{
    const pt_commit commit = {.sync = PT_SYNC_OFF};
    pt_store *store = pt_session_store(other);
    pt_writer *writer;
    lock_store(store);
    assert_ok(pt_lmdb_write_begin(store, &writer, &error));
    assert_ok(pt_lmdb_write_commit(writer, &commit, &error));
    store->engine->unlock(store);
}

/* It changes nothing that the transaction has read; and what it writes on top of that can be rolled
 * back after it was seen. */
static void a_reader_may_write_after_the_log_was_written_to_the_tree(void **state)
{
    (void)state;
    put_log_aside();
    use_log(LOG_FEW);
    commit_text(other, "a", "1");
    commit_text(other, "a", "2");
    commit_text(other, "b", "2");
    host.follows = true;
    assert_reads(session, "a", "2");
    write_log_to_tree();
    begin(session);
    write_text(session, "a", "3");
    remove_text(session, "b");
    assert_finds(session, "a", "3");
    sync_now(session);
    pt_session_rollback(session);
    assert_reads(session, "a", "2");
    assert_reads(other, "a", "2");
    assert_reads(other, "b", "2");
    write_log_to_tree();
    begin(session);
    write_text(session, "a", "3");
    sync_now(session);
    pt_session_commit(session);
    host.follows = false;
    pt_session_end_read(session);
    assert_reads(other, "a", "3");
    assert_reads(other, "b", "2");
    take_log_again();
}

static void an_unfollowed_statement_writes_on_the_newest_version(void **state)
{
    (void)state;
    commit_text(other, "a", "1");
    pt_view *view;
    assert_ok(pt_session_read(session, &view, &error));
    pt_session_cursor_opened(session);
    commit_text(other, "a", "2");
    begin(session);
    assert_finds(session, "a", "2");
    sync_now(session);
    pt_session_commit(session);
    pt_session_cursor_closed(session);
}

/* --- Cursors that outlive the transaction --- */

static void open_scan(pt_scan *scan)
{
    pt_view *view = NULL;
    test_key low = key_of(SESSION_TABLE, "");
    test_key high = key_of(SESSION_TABLE + 1, "");
    assert_ok(pt_session_read(session, &view, &error));
    pt_session_cursor_opened(session);
    assert_ok(pt_scan_open(scan, view, &error));
    assert_ok(pt_scan_seek(scan, key_slice(&low), key_slice(&high), PT_FORWARD, &error));
}

static void close_scan(pt_scan *scan)
{
    pt_scan_free(scan);
    pt_session_cursor_closed(session);
}

static void assert_at(const pt_scan *scan, const char *text, const char *record)
{
    test_key key = key_of(SESSION_TABLE, text);
    assert_true(scan->valid);
    assert_true(pt_slice_equal(scan->key, key_slice(&key)));
    assert_true(pt_slice_equal(scan->record, pt_slice_text(record)));
}

static void a_cursor_reads_on_over_a_commit(void **state)
{
    (void)state;
    commit_text(session, "c", "1");
    begin(session);
    write_text(session, "a", "1");
    write_text(session, "b", "1");
    pt_scan scan = {0};
    open_scan(&scan);
    sync_now(session);
    pt_session_commit(session);
    commit_text(other, "b", "2");
    begin(session);
    write_text(session, "b", "3");
    write_text(session, "d", "3");
    assert_at(&scan, "a", "1");
    assert_ok(pt_scan_step(&scan, &error));
    assert_at(&scan, "b", "1");
    assert_ok(pt_scan_step(&scan, &error));
    assert_at(&scan, "c", "1");
    assert_ok(pt_scan_step(&scan, &error));
    assert_false(scan.valid);
    assert_reads(session, "b", "3");
    pt_session_rollback(session);
    close_scan(&scan);
    assert_reads(session, "b", "2");
}

static void a_cursor_over_withdrawn_writes_is_aborted(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    for (int synced = 0; synced < 2; synced++) {
        begin(session);
        write_text(session, "b", "1");
        pt_scan scan = {0};
        open_scan(&scan);
        if (synced) {
            sync_now(session);
        }
        pt_session_rollback(session);
        assert_at(&scan, "a", "1");
        assert_fails(pt_scan_step(&scan, &error), SQLITE_ABORT_ROLLBACK, "rolled back");
        close_scan(&scan);
        assert_reads(session, "b", NULL);
    }
}

static void a_cursor_reads_on_when_nothing_was_withdrawn(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    commit_text(session, "b", "1");
    begin(session);
    pt_scan scan = {0};
    open_scan(&scan);
    pt_session_rollback(session);
    assert_ok(pt_scan_step(&scan, &error));
    assert_at(&scan, "b", "1");
    close_scan(&scan);
}

static void a_cursor_sees_what_its_transaction_writes_later(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    host.follows = true;
    pt_scan scan = {0};
    open_scan(&scan);
    begin(session);
    write_text(session, "b", "1");
    assert_ok(pt_scan_step(&scan, &error));
    assert_at(&scan, "b", "1");
    close_scan(&scan);
    pt_session_rollback(session);
    host.follows = false;
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(a_statement_reads_one_version),
        TEST(a_followed_transaction_reads_one_version),
        TEST(reading_again_allocates_nothing),
        TEST(a_stale_reader_cannot_begin_to_write),
        TEST(a_reader_that_looks_stale_is_looked_at_again),
        TEST(a_reader_may_write_after_the_log_was_written_to_the_tree),
        TEST(an_unfollowed_statement_writes_on_the_newest_version),
        TEST(a_cursor_reads_on_over_a_commit),
        TEST(a_cursor_over_withdrawn_writes_is_aborted),
        TEST(a_cursor_reads_on_when_nothing_was_withdrawn),
        TEST(a_cursor_sees_what_its_transaction_writes_later),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
