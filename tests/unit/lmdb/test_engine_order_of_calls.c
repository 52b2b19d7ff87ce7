/* Calls in a wrong order stop a process that has assertions: lmdb/registry.h, and cursors that
 * outlive their snapshot. */
#include "fixtures/store_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- Wrong orders, each for a child process with a store of its own --- */

static void timestamp_without_lock(pt_store *store)
{
    engine->next_timestamp(store);
}

static void write_without_lock(pt_store *store)
{
    begin_write(store);
}

static void unlock_without_lock(pt_store *store)
{
    engine->unlock(store);
}

static void unlock_while_writing(pt_store *store)
{
    lock_store(store);
    begin_write(store);
    engine->unlock(store);
}

static void write_within_a_write(pt_store *store)
{
    lock_store(store);
    begin_write(store);
    begin_write(store);
}

static void put_after_commit(pt_store *store)
{
    lock_store(store);
    pt_writer *writer = begin_write(store);
    commit_write(writer);
    put_text(writer, 1, "a", "one");
}

static void commit_after_abort(pt_store *store)
{
    lock_store(store);
    pt_writer *writer = begin_write(store);
    engine->write_abort(writer);
    commit_write(writer);
}

static void *put_one(void *writer)
{
    put_text(writer, 1, "a", "one");
    return NULL;
}

static void put_on_another_thread(pt_store *store)
{
    pthread_t thread;
    lock_store(store);
    pthread_create(&thread, NULL, put_one, begin_write(store));
    pthread_join(thread, NULL);
}

static void newest_without_lock(pt_store *store)
{
    engine->snapshot_is_newest(begin_snapshot(store));
}

static void read_after_end(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    engine->snapshot_end(snapshot);
    get_text(snapshot, 1, "a");
}

static void begin_twice(pt_store *store)
{
    assert_ok(engine->snapshot_begin(begin_snapshot(store), &error));
}

static void end_before_cursor_is_closed(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    engine->snapshot_end(snapshot);
}

static void seek_after_close(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    engine->cursor_close(cursor);
    engine->snapshot_end(snapshot);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
}

static void step_without_position(pt_store *store)
{
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(begin_snapshot(store), &cursor, &error));
    assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
}

/* --- */

typedef void wrong_order(pt_store *store);

static void expect_abort(const char *name, wrong_order *call)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        fclose(stderr); /* where the assertion is printed */
        call(open_store(fixture_path));
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        fail_msg("%s: status %#x", name, (unsigned)status);
    }
}

static void wrong_orders_abort(void **state)
{
    (void)state;
#ifndef PT_DEBUG
    skip();
#endif
#define EXPECT_ABORT(name) expect_abort(#name, name)
    EXPECT_ABORT(timestamp_without_lock);
    EXPECT_ABORT(write_without_lock);
    EXPECT_ABORT(unlock_without_lock);
    EXPECT_ABORT(unlock_while_writing);
    EXPECT_ABORT(write_within_a_write);
    EXPECT_ABORT(put_after_commit);
    EXPECT_ABORT(commit_after_abort);
    EXPECT_ABORT(put_on_another_thread);
    EXPECT_ABORT(newest_without_lock);
    EXPECT_ABORT(read_after_end);
    EXPECT_ABORT(begin_twice);
    EXPECT_ABORT(end_before_cursor_is_closed);
    EXPECT_ABORT(seek_after_close);
    EXPECT_ABORT(step_without_position);
}

/* The store is sound afterwards: what the children left is cleared by the next process. */
static void right_order_works(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(wrong_orders_abort, fixture_setup),
        cmocka_unit_test_teardown(right_order_works, fixture_teardown),
    };
    /* Writers of the file. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
