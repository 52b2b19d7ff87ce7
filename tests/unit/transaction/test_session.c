#include "unit/transaction/two_sessions.h"

#include "base/ticks.h"

static uint64_t newest_version(void)
{
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    uint64_t version = snapshot->version;
    engine->snapshot_free(snapshot);
    return version;
}

/* --- Writing --- */

static void writes_are_seen_by_others_after_sync(void **state)
{
    (void)state;
    assert_ptr_equal(pt_session_store(session), pt_session_store(other));
    begin(session);
    assert_false(pt_session_has_pending(session));
    write_text(session, "a", "1");
    write_text(session, "b", "1");
    remove_text(session, "b");
    assert_true(pt_session_has_pending(session));
    assert_finds(session, "a", "1");
    assert_finds(session, "b", NULL);
    assert_reads(session, "a", "1");
    assert_reads(other, "a", NULL);
    sync_now(session);
    assert_reads(other, "a", "1");
    assert_true(faulty_locked);
    pt_session_commit(session);
    assert_false(faulty_locked);
    assert_false(pt_session_is_writing(session));
    assert_false(pt_session_has_pending(session));
    assert_reads(session, "a", "1");
    assert_reads(other, "b", NULL);
}

static void a_rollback_leaves_no_trace(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    uint64_t version = newest_version();
    begin(session);
    write_text(session, "a", "2");
    write_text(session, "b", "2");
    pt_session_rollback(session);
    assert_false(faulty_locked);
    assert_reads(session, "a", "1");
    assert_reads(session, "b", NULL);
    assert_true(newest_version() == version);
}

static void every_call_may_come_again(void **state)
{
    (void)state;
    pt_session_commit(session);
    pt_session_rollback(session);
    sync_now(session);
    begin(session);
    begin(session);
    write_text(session, "a", "1");
    begin(session);
    assert_finds(session, "a", "1");
    sync_now(session);
    sync_now(session);
    assert_int_equal(fault_calls(FAULTY_COMMIT), 1);
    assert_int_equal(host.commits_asked, 1);
    pt_session_commit(session);
    pt_session_commit(session);
    pt_session_rollback(session);
    assert_reads(session, "a", "1");
}

static void without_writes_nothing_is_committed(void **state)
{
    (void)state;
    begin(session);
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    write_text(session, "a", "1");
    pt_session_rollback_to(session, -1);
    sync_now(session);
    pt_session_commit(session);
    assert_int_equal(fault_calls(FAULTY_WRITE_BEGIN), 0);
    assert_int_equal(host.commits_asked, 0);
}

static void a_commit_is_as_durable_as_the_strictest_table_asks(void **state)
{
    (void)state;
    begin(session);
    write_text(session, "a", "1");
    sync_now(session);
    assert_int_equal(faulty_last_commit.sync, PT_SYNC_OFF);
    pt_session_commit(session);
    begin(session);
    write_text(session, "a", "2");
    pt_session_require_sync(session, PT_SYNC_NORMAL);
    pt_session_require_sync(session, PT_SYNC_FULL);
    pt_session_require_sync(session, PT_SYNC_OFF);
    sync_now(session);
    assert_int_equal(faulty_last_commit.sync, PT_SYNC_FULL);
    pt_session_commit(session);
    commit_text(session, "a", "3");
    assert_int_equal(faulty_last_commit.sync, PT_SYNC_OFF);
}

static void timestamps_rise_over_sessions_and_rollbacks(void **state)
{
    (void)state;
    int64_t last = 0;
    for (int i = 0; i < 20; i++) {
        pt_session *writer = i % 2 == 0 ? session : other;
        begin(writer);
        for (int write = 0; write < 3; write++) {
            int64_t tick = next_timestamp(writer);
            assert_true(tick > last);
            last = tick;
        }
        write_text(writer, "a", "1");
        sync_now(writer);
        assert_true(faulty_last_commit.clock == last);
        if (i % 3 == 0) {
            pt_session_rollback(writer);
        } else {
            pt_session_commit(writer);
        }
    }
}

/* The last timestamp is given once; what needs none goes on. */
static void the_clock_ends(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_commit commit = {.sync = PT_SYNC_OFF, .clock = PT_TICKS_MAX - 1};
    lock_store(store);
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    begin(session);
    assert_true(next_timestamp(session) == PT_TICKS_MAX);
    write_text(session, "a", "1");
    sync_now(session);
    pt_session_commit(session);
    begin(other);
    int64_t ticks = 17;
    for (int i = 0; i < 3; i++) {
        assert_fails(pt_session_next_timestamp(other, &ticks, &error), SQLITE_FULL,
                     "copy its tables into a new store");
        assert_int_equal(ticks, 17);
    }
    remove_text(other, "a");
    sync_now(other);
    assert_true(faulty_last_commit.clock == PT_TICKS_MAX);
    pt_session_commit(other);
    assert_stored(session, "a", NULL);
    engine->close(store);
}

/* A DELETE gives no timestamp out. */
static void a_commit_without_timestamps_keeps_the_clock(void **state)
{
    (void)state;
    begin(session);
    int64_t last = next_timestamp(session);
    write_text(session, "a", "1");
    sync_now(session);
    pt_session_commit(session);
    begin(other);
    remove_text(other, "a");
    sync_now(other);
    assert_true(faulty_last_commit.clock == last);
    pt_session_commit(other);
}

static void table_ids_are_new_unless_nothing_was_committed(void **state)
{
    (void)state;
    begin(session);
    uint32_t first = pt_session_new_table_id(session);
    assert_int_equal(pt_session_new_table_id(session), first + 1);
    write_text(session, "a", "1");
    sync_now(session);
    assert_int_equal(faulty_last_commit.next_table_id, first + 2);
    pt_session_rollback(session);
    begin(other);
    assert_int_equal(pt_session_new_table_id(other), first + 2);
    pt_session_rollback(other);
    begin(session);
    assert_int_equal(pt_session_new_table_id(session), first + 2);
}

static void a_commit_tells_whether_the_catalogue_changed(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    assert_false(faulty_last_commit.catalog_changed);
    begin(session);
    test_key key = key_of(0, "logins");
    write_key(session, key_slice(&key), pt_slice_text("record"));
    write_text(session, "a", "2");
    sync_now(session);
    assert_true(faulty_last_commit.catalog_changed);
    pt_session_rollback(session);
    assert_true(faulty_last_commit.catalog_changed);
    begin(session);
    write_key(session, key_slice(&key), pt_slice_text("record"));
    sync_now(session);
    pt_session_rollback_to(session, -1);
    write_text(session, "a", "2");
    sync_now(session);
    assert_true(faulty_last_commit.catalog_changed);
}

/* --- The writer lock --- */

static void another_writer_is_busy(void **state)
{
    (void)state;
    begin(other);
    assert_fails(pt_session_begin(session, &error), SQLITE_BUSY, "another connection");
    assert_false(pt_session_is_writing(session));
    assert_int_equal(host.waits_asked, 1);
    assert_int_equal(other_host.waits_asked, 0);
    host.wait_ms = 1;
    fault_none();
    assert_fails(pt_session_begin(session, &error), SQLITE_BUSY, "another connection");
    assert_int_equal(fault_calls(FAULTY_LOCK), 2);
    assert_int_equal(faulty_waits[0], 0);
    assert_int_equal(faulty_waits[1], 1);
    pt_session_commit(other);
    begin(session);
}

static void waiting_for_the_lock_leaves_no_error(void **state)
{
    (void)state;
    host.wait_ms = 1000;
    fault_next(FAULTY_LOCK);
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_session_begin(session, &error), SQLITE_OK);
    assert_int_equal(error.rc, SQLITE_OK);
    assert_null(error.message);
    assert_int_equal(faulty_waits[1], 1000);
}

static void a_read_only_store_cannot_be_written(void **state)
{
    (void)state;
    pt_session_store(session)->read_only = true;
    assert_fails(pt_session_begin(session, &error), SQLITE_READONLY, "read-only");
    pt_session_store(session)->read_only = false;
    begin(session);
}

static void a_failed_begin_gives_the_lock_back(void **state)
{
    (void)state;
    const faulty_method methods[] = {FAULTY_SNAPSHOT_NEW, FAULTY_SNAPSHOT_BEGIN};
    for (int follows = 0; follows < 2; follows++) {
        for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
            pt_view *view;
            host.follows = follows != 0;
            if (follows) {
                assert_ok(pt_session_read(session, &view, &error));
            }
            fault_next(FAULTY_SNAPSHOT_IS_NEWEST);
            fault_next(methods[i]);
            assert_fails(pt_session_begin(session, &error), FAULTY_RC, "fire");
            assert_false(faulty_locked);
            assert_false(pt_session_is_writing(session));
            begin(other);
            pt_session_rollback(other);
            host.follows = false;
            pt_session_end_read(session);
        }
    }
    begin(session);
}

/* --- Looking keys up --- */

static test_key numbered_key(uint32_t table, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "%06u", number);
    return key_of(table, text);
}

static bool finds_number(uint32_t table, unsigned number)
{
    test_key key = numbered_key(table, number);
    bool found = false;
    pt_slice record = {0};
    assert_ok(pt_session_find(session, key_slice(&key), &found, &record, &error));
    return found;
}

static void write_number(uint32_t table, unsigned number)
{
    test_key key = numbered_key(table, number);
    write_key(session, key_slice(&key), pt_slice_text("1"));
}

/* The short cut for keys beyond a table's last must not lie, whatever the tables around hold. */
static void finding_agrees_with_a_model(void **state)
{
    enum { TABLES = 3, NUMBERS = 40, FIRST = 6 };
    (void)state;
    for (uint64_t run = 1; run <= 20; run++) {
        uint64_t seed = run;
        bool model[TABLES][NUMBERS] = {0};
        begin(session);
        for (int i = 0; i < 60; i++) {
            uint32_t table = next_random(&seed) % TABLES;
            unsigned number = next_random(&seed) % (NUMBERS / 2);
            write_number(FIRST + table, number);
            model[table][number] = true;
            if (i == 30) {
                sync_now(session);
                pt_session_commit(session);
                begin(session);
            }
        }
        for (int i = 0; i < 200; i++) {
            uint32_t table = next_random(&seed) % TABLES;
            unsigned number = next_random(&seed) % NUMBERS;
            assert_int_equal(finds_number(FIRST + table, number), model[table][number]);
            write_number(FIRST + table, number);
            model[table][number] = true;
        }
        pt_session_rollback(session);
        begin(session);
        for (unsigned number = 0; number < NUMBERS; number++) {
            for (uint32_t table = 0; table < TABLES; table++) {
                test_key key = numbered_key(FIRST + table, number);
                assert_ok(pt_session_remove(session, key_slice(&key), &error));
            }
        }
        sync_now(session);
        pt_session_commit(session);
    }
}

/* What was the last key for one transaction need not be so for the next one. */
static void the_last_key_is_sought_in_every_transaction(void **state)
{
    (void)state;
    for (int transaction = 0; transaction < 2; transaction++) {
        begin(session);
        for (unsigned number = 0; number < 40; number++) {
            unsigned far = 1000 + number * 2 + (unsigned)transaction;
            assert_false(finds_number(SESSION_TABLE, far));
            write_number(SESSION_TABLE, far);
        }
        assert_int_equal(finds_number(SESSION_TABLE, 1078), true);
        sync_now(session);
        pt_session_commit(session);
    }
}

static void loads_beyond_the_last_key_do_not_ask_the_store(void **state)
{
    (void)state;
    begin(session);
    write_number(SESSION_TABLE, 100);
    write_number(SESSION_TABLE + 1, 900);
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    for (unsigned number = 101; number < 120; number++) {
        if (number == 110) {
            assert_int_equal(fault_calls(FAULTY_CURSOR_OPEN), 0);
        }
        assert_false(finds_number(SESSION_TABLE, number));
        write_number(SESSION_TABLE, number);
    }
    fault_none();
    for (unsigned number = 200; number < 300; number++) {
        assert_false(finds_number(SESSION_TABLE, number));
        write_number(SESSION_TABLE, number);
    }
    assert_int_equal(fault_calls(FAULTY_GET), 0);
    assert_int_equal(fault_calls(FAULTY_CURSOR_OPEN), 0);
    assert_true(finds_number(SESSION_TABLE, 100));
    assert_int_equal(fault_calls(FAULTY_GET), 1);
}

/* After a load beyond the stored keys is discarded, smaller keys that are then written are not
 * beyond them. */
static void a_discarded_load_was_beyond_nothing(void **state)
{
    (void)state;
    begin(session);
    write_number(SESSION_TABLE, 100);
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    for (unsigned number = 0; number < 20; number++) {
        write_number(SESSION_TABLE, number);
    }
    assert_ok(pt_session_savepoint(session, 0));
    for (unsigned number = 200; number < 210; number++) {
        assert_false(finds_number(SESSION_TABLE, number));
        write_number(SESSION_TABLE, number);
    }
    pt_session_rollback_to(session, 0);
    assert_true(finds_number(SESSION_TABLE, 100));
    write_number(SESSION_TABLE, 50);
    assert_true(finds_number(SESSION_TABLE, 100));
    assert_false(finds_number(SESSION_TABLE, 205));
}

/* Keys of the next table are greater, but may be stored. */
static void the_next_table_has_a_last_key_of_its_own(void **state)
{
    (void)state;
    begin(session);
    write_number(SESSION_TABLE, 100);
    write_number(SESSION_TABLE + 1, 100);
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    for (unsigned number = 101; number < 130; number++) {
        assert_false(finds_number(SESSION_TABLE, number));
        write_number(SESSION_TABLE, number);
    }
    assert_true(finds_number(SESSION_TABLE + 1, 100));
    write_number(SESSION_TABLE + 1, 50);
    assert_true(finds_number(SESSION_TABLE + 1, 100));
    assert_false(finds_number(SESSION_TABLE + 1, 101));
}

static void a_failed_look_up_tells_nothing(void **state)
{
    (void)state;
    commit_text(session, "5", "1");
    begin(session);
    for (unsigned number = 0; number < 20; number++) {
        write_number(SESSION_TABLE, number);
    }
    test_key key = key_of(SESSION_TABLE, "5");
    const faulty_method methods[] = {FAULTY_CURSOR_OPEN, FAULTY_CURSOR_SEEK, FAULTY_GET};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        bool found = false;
        pt_slice record;
        fault_next(methods[i]);
        assert_fails(pt_session_find(session, key_slice(&key), &found, &record, &error), FAULTY_RC,
                     "fire");
        assert_false(found);
    }
    assert_finds(session, "5", "1");
}

/* --- Memory --- */

static int write_row(const char *text, bool find, pt_error *error)
{
    test_key key = key_of(SESSION_TABLE, text);
    bool found;
    pt_slice record;
    int rc = find ? pt_session_find(session, key_slice(&key), &found, &record, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        return rc;
    }
    uint8_t *bytes = pt_session_put(session, key_slice(&key), PT_INSERT, 1);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    bytes[0] = '2';
    return pt_session_remove(session, key_slice(&key), error);
}

static int whole_transaction(pt_error *error)
{
    int rc = pt_session_begin(session, error);
    for (int i = 0; rc == SQLITE_OK && i < 30; i++) {
        char text[] = {(char)('a' + i * 7 % 26), (char)('0' + i / 10), 0};
        rc = i % 10 != 0 || pt_session_savepoint(session, i / 10) == SQLITE_OK
                 ? write_row(text, i >= 15, error)
                 : pt_error_nomem(error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_sync(session, error);
    }
    return rc;
}

static void out_of_memory_leaves_the_store_as_it_was(void **state)
{
    (void)state;
    commit_text(session, "a0", "1");
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        renew_session(&session, &host);
        failing_malloc_arm(n, false);
        int rc = whole_transaction(&error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(error.rc, rc);
        if (!hit) {
            assert_true(n > 5);
            break;
        }
        assert_stored(session, "a0", "1");
        pt_session_rollback(session);
        assert_false(faulty_locked);
        assert_reads(session, "a0", "1");
    }
    pt_session_commit(session);
    assert_reads(session, "a0", NULL);
}

static void a_session_that_cannot_be_made_closes_its_store(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    pt_store *store = open_faulty(NULL);
    failing_malloc_arm(0, false);
    assert_null(new_session(store, &host));
    assert_true(failing_malloc_disarm());
    assert_int_equal(sqlite3_memory_used(), before);
}

static void freeing_rolls_back_and_leaves_nothing(void **state)
{
    (void)state;
    begin(other);
    write_text(other, "a", "1");
    sync_now(other); /* the store keeps its writer for the next time */
    pt_session_rollback(other);
    assert_reads(session, "a", NULL);
    sqlite3_int64 before = sqlite3_memory_used();
    for (int synced = 0; synced < 2; synced++) {
        pt_session *third = open_session(&host);
        begin(third);
        for (char c = 'a'; c < 'z'; c++) {
            char text[] = {c, 0};
            assert_finds(third, text, NULL);
            write_text(third, text, "1");
        }
        assert_int_equal(pt_session_savepoint(third, 0), SQLITE_OK);
        if (synced) {
            sync_now(third);
        }
        pt_session_free(third);
        assert_int_equal(sqlite3_memory_used(), before);
        assert_reads(session, "a", NULL);
        begin(other);
        pt_session_rollback(other);
    }
    pt_session_free(NULL);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(writes_are_seen_by_others_after_sync),
        TEST(a_rollback_leaves_no_trace),
        TEST(every_call_may_come_again),
        TEST(without_writes_nothing_is_committed),
        TEST(a_commit_is_as_durable_as_the_strictest_table_asks),
        TEST(timestamps_rise_over_sessions_and_rollbacks),
        TEST(the_clock_ends),
        TEST(a_commit_without_timestamps_keeps_the_clock),
        TEST(table_ids_are_new_unless_nothing_was_committed),
        TEST(a_commit_tells_whether_the_catalogue_changed),
        TEST(another_writer_is_busy),
        TEST(waiting_for_the_lock_leaves_no_error),
        TEST(a_read_only_store_cannot_be_written),
        TEST(a_failed_begin_gives_the_lock_back),
        TEST(finding_agrees_with_a_model),
        TEST(the_last_key_is_sought_in_every_transaction),
        TEST(loads_beyond_the_last_key_do_not_ask_the_store),
        TEST(a_discarded_load_was_beyond_nothing),
        TEST(the_next_table_has_a_last_key_of_its_own),
        TEST(a_failed_look_up_tells_nothing),
        TEST(out_of_memory_leaves_the_store_as_it_was),
        TEST(a_session_that_cannot_be_made_closes_its_store),
        TEST(freeing_rolls_back_and_leaves_nothing),
    };
    /* Memory is compared, and a log has some. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
