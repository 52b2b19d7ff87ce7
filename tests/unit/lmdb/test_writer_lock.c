#include "fixtures/store_fixture.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"

static const int64_t *set_clock; /* in seconds since 1970; NULL: the system's */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME && set_clock != NULL) {
        *now = (struct timespec){.tv_sec = *set_clock, .tv_nsec = 999999999};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static void ticks_rise(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    lock_store(store);
    int64_t last = pt_ticks_now();
    for (int i = 0; i < 1000; i++) {
        int64_t tick = engine->next_timestamp(store);
        assert_true(tick > last || (i == 0 && tick >= last));
        last = tick;
    }
    engine->unlock(store); /* a rollback */
    lock_store(store);
    assert_true(engine->next_timestamp(store) > last);
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
    assert_int_equal(engine->next_timestamp(store), ahead + 1);
    assert_int_equal(engine->next_timestamp(store), ahead + 2);
    engine->unlock(store); /* rolled back, yet used up */
    engine->snapshot_free(snapshot);
    engine->close(store);
    store = open_store(fixture_path);
    snapshot = begin_snapshot(store);
    assert_int_equal(snapshot->clock, ahead + 2);
    lock_store(store);
    assert_int_equal(engine->next_timestamp(store), ahead + 3);
    commit.clock = 17; /* never back */
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* A write that its transaction's tick dates. */
static int64_t write_now(pt_store *store)
{
    lock_store(store);
    pt_commit commit = {.sync = PT_SYNC_OFF, .clock = engine->next_timestamp(store)};
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    return commit.clock;
}

/* As on a machine that has lost its time: what is written then must not be the store's end. */
static void a_clock_that_is_off_harms_no_store(void **state)
{
    (void)state;
    static const int64_t clocks[] = {0,
                                     -1,
                                     INT64_C(-62135596801), /* 0000-12-31T23:59:59Z */
                                     INT64_C(253370764799), /* 9998-12-31T23:59:59Z */
                                     INT64_C(253370764800),
                                     INT64_C(253402300799), /* 9999-12-31T23:59:59Z */
                                     INT64_C(253402300800),
                                     INT64_C(1000000000000),
                                     INT64_MAX,
                                     INT64_MIN};
    int64_t last = 0;
    for (size_t i = 0; i <= sizeof clocks / sizeof clocks[0]; i++) {
        set_clock = i < sizeof clocks / sizeof clocks[0] ? &clocks[i] : NULL;
        pt_store *store = open_store(fixture_path);
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_int_equal(snapshot->clock, last);
        engine->snapshot_free(snapshot);
        for (int writes = 0; writes < 3; writes++) {
            int64_t tick = write_now(store);
            assert_true(tick > last && tick < PT_TICKS_MAX);
            last = tick;
        }
        engine->close(store);
    }
}

static void a_store_at_the_end_of_time_stays_there(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_commit commit = {.sync = PT_SYNC_OFF, .clock = PT_TICKS_MAX};
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    for (int i = 0; i < 3; i++) {
        engine->snapshot_free(begin_snapshot(store)); /* reads the clock */
        assert_int_equal(write_now(store), 0);
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_true(snapshot->clock == PT_TICKS_MAX);
        engine->snapshot_free(snapshot);
        engine->close(store);
        store = open_store(fixture_path);
    }
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(ticks_rise),
        store_test(ticks_never_come_twice),
        store_test(a_clock_that_is_off_harms_no_store),
        store_test(a_store_at_the_end_of_time_stays_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
