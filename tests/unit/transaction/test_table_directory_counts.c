#include "unit/transaction/one_session.h"

#include "transaction/table_directory.h"

static pt_table_counts counts_now(uint32_t table)
{
    pt_table_counts counts = {.entities = -1};
    pt_view *view = NULL;
    assert_ok(pt_session_read(session, &view, &error));
    assert_ok(pt_table_counts_of(view, table, &counts, &error));
    pt_session_end_read(session);
    return counts;
}

static void assert_same(pt_table_counts a, pt_table_counts b)
{
    assert_int_equal(a.entities, b.entities);
    assert_int_equal(a.bytes, b.bytes);
    assert_int_equal(a.chunks, b.chunks);
}

/* Counted now, they are what the store counts after the commit. */
static void commit_and_compare(void)
{
    pt_table_counts before[3];
    for (uint32_t i = 0; i < 3; i++) {
        before[i] = counts_now(SESSION_TABLE - 1 + i);
    }
    sync_now(session);
    pt_session_commit(session);
    for (uint32_t i = 0; i < 3; i++) {
        pt_table_counts stored;
        pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
        assert_ok(engine->counts(snapshot, SESSION_TABLE - 1 + i, &stored, &error));
        assert_same(before[i], stored);
        engine->snapshot_free(snapshot);
    }
}

static void pending_operations_count(void **state)
{
    (void)state;
    assert_same(counts_now(SESSION_TABLE), (pt_table_counts){0});
    begin(session);
    write_text(session, "a", "12345");
    write_text(session, "b", "");
    assert_same(counts_now(SESSION_TABLE), (pt_table_counts){.entities = 2, .bytes = 9});
    commit_and_compare();
    begin(session);
    write_text(session, "a", "1");
    write_text(session, "c", "1");
    remove_text(session, "b");
    remove_text(session, "absent");
    assert_same(counts_now(SESSION_TABLE), (pt_table_counts){.entities = 2, .bytes = 6});
    assert_same(counts_now(SESSION_TABLE + 1), (pt_table_counts){0});
    pt_session_rollback(session);
    assert_same(counts_now(SESSION_TABLE), (pt_table_counts){.entities = 2, .bytes = 9});
}

/* Parts of large values count for the table whose id follows. */
static void chunks_count_for_their_table(void **state)
{
    (void)state;
    uint8_t key[] = {0xFF, SESSION_TABLE, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    begin(session);
    write_key(session, pt_slice_of(key, sizeof key), pt_slice_text("0123456789"));
    key[15] = 1;
    write_key(session, pt_slice_of(key, sizeof key), pt_slice_text("0123456789"));
    key[1]++;
    write_key(session, pt_slice_of(key, sizeof key), pt_slice_text("01"));
    assert_same(counts_now(SESSION_TABLE), (pt_table_counts){.bytes = 52, .chunks = 2});
    assert_same(counts_now(SESSION_TABLE + 1), (pt_table_counts){.bytes = 18, .chunks = 1});
    commit_and_compare();
}

static void random_operations_count_as_stored(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int transaction = 0; transaction < 30; transaction++) {
        begin(session);
        for (int i = 0; i < 40; i++) {
            char text[3] = {(char)('a' + next_random(&seed) % 6),
                            (char)('a' + next_random(&seed) % 3)};
            uint32_t table = SESSION_TABLE - 1 + next_random(&seed) % 3;
            test_key key = key_of(table, text);
            static const char record[] = "a record of some length";
            if (next_random(&seed) % 3 == 0) {
                assert_ok(pt_session_remove(session, key_slice(&key), &error));
            } else {
                write_key(session, key_slice(&key),
                          pt_slice_of(record, next_random(&seed) % sizeof record));
            }
        }
        commit_and_compare();
    }
}

static void failures_are_reported(void **state)
{
    (void)state;
    commit_text(session, "a", "1");
    begin(session);
    write_text(session, "a", "2");
    pt_view *view = NULL;
    pt_table_counts counts;
    assert_ok(pt_session_read(session, &view, &error));
    pt_error no_memory = PT_ERROR_NONE;
    failing_malloc_arm(0, false);
    assert_int_equal(pt_table_counts_of(view, SESSION_TABLE, &counts, &no_memory), SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    fault_next(FAULTY_GET);
    assert_fails(pt_table_counts_of(view, SESSION_TABLE, &counts, &error), FAULTY_RC, "fire");
    fault_none();
    assert_ok(pt_table_counts_of(view, SESSION_TABLE, &counts, &error));
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(pending_operations_count),
        TEST(chunks_count_for_their_table),
        TEST(random_operations_count_as_stored),
        TEST(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
