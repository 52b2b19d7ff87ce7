#include "store_fixture.h"

#include "ticks.h"

static void ticks_rise(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    lock_store(store);
    int64_t last = pt_ticks_now();
    for (int i = 0; i < 1000; i++) {
        int64_t tick = engine->tick(store);
        assert_true(tick > last || (i == 0 && tick >= last));
        last = tick;
    }
    engine->unlock(store); /* a rollback */
    lock_store(store);
    assert_true(engine->tick(store) > last);
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* As after the system's clock was set back by an hour. */
static void ticks_never_come_twice(void **state)
{
    (void)state;
    int64_t ahead = pt_ticks_now() + 3600 * PT_TICKS_PER_SECOND;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_commit commit = {.sync = PT_SYNC_OFF, .clock = ahead};
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    engine->close(store);
    store = open_store(fixture_path);
    lock_store(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_int_equal(engine->tick(store), ahead + 1);
    assert_int_equal(engine->tick(store), ahead + 2);
    engine->unlock(store); /* rolled back, yet used up */
    engine->snapshot_free(snapshot);
    engine->close(store);
    store = open_store(fixture_path);
    snapshot = begin_snapshot(store);
    assert_int_equal(snapshot->clock, ahead + 2);
    lock_store(store);
    assert_int_equal(engine->tick(store), ahead + 3);
    commit.clock = 17; /* never back */
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ticks_rise),
        TEST(ticks_never_come_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
