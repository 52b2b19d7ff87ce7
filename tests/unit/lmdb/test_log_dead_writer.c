/*
 * A process that has died between writing its record and publishing it: its main database may say
 * that the transaction is committed, so the first view of another process must show it.
 */
#include "fixtures/store_fixture.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "lmdb/file/locks.h"
#include "lmdb/log.h"

static int writers_lock = -1; /* a descriptor that has the lock */
static int pauses;

#pragma GCC visibility push(default)

/* Who waits for a lock comes here. The holder of the writer lock gives it back then. */
int nanosleep(const struct timespec *time, struct timespec *rest)
{
    pauses++;
    if (writers_lock >= 0) {
        pt_lock_release(writers_lock, PT_LOCK_WRITER);
    }
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest);
}

#pragma GCC visibility pop

static void write_record(pt_store *store)
{
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "b", "committed");
    assert_ok(engine->write_commit(writer, &(pt_commit){.sync = PT_SYNC_FULL}, &error));
}

static pt_store *open_with_log(void)
{
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "first");
    return store;
}

static int write_and_die(void)
{
    write_record(open_store(fixture_path));
    return 0;
}

static bool shows(const char *expected)
{
    pt_store *store = open_store(fixture_path);
    pauses = 0;
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_slice record = get_text(snapshot, 1, "b");
    bool found = record.data != NULL && record.size == strlen(expected) &&
                 memcmp(record.data, expected, record.size) == 0;
    engine->snapshot_free(snapshot);
    engine->close(store);
    return found;
}

static int sees_it_at_once(void)
{
    return shows("committed") && pauses == 0 ? 0 : 1;
}

static int sees_it_after_a_pause(void)
{
    return shows("committed") && pauses > 0 ? 0 : 1;
}

static int does_not_see_it(void)
{
    return !shows("committed") && pauses == 0 ? 0 : 1;
}

static void the_first_view_publishes_it(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    await_child(start_child(write_and_die));
    await_child(start_child(sees_it_at_once));
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "b", "committed");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* It publishes the record as its first step, but has not come to that. */
static void the_first_view_waits_for_the_next_writer(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    await_child(start_child(write_and_die));
    writers_lock = open(fixture_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pt_lock_take(writers_lock, PT_LOCK_WRITER, true, 0), SQLITE_OK);
    await_child(start_child(sees_it_after_a_pause));
    close(writers_lock);
    writers_lock = -1;
    engine->close(store);
}

static void a_writer_that_lives_makes_no_view_wait(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    write_record(store);
    await_child(start_child(does_not_see_it));
    engine->write_publish(store);
    engine->unlock(store);
    await_child(start_child(sees_it_at_once));
    engine->close(store);
}

int main(void)
{
#if defined(PT_DEBUG) || defined(PT_WAYS)
    const struct CMUnitTest tests[] = {
        store_test(the_first_view_publishes_it),
        store_test(the_first_view_waits_for_the_next_writer),
        store_test(a_writer_that_lives_makes_no_view_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    printf("1..0 # SKIP PTABLE_LOG works in builds with PT_DEBUG\n");
    return 0;
#endif
}
