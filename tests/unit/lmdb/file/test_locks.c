#include "fixtures/store_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "lmdb/file/locks.h"

/* Two pipes to make a child process take turns with its parent. */
static int to_child[2];
static int to_parent[2];

static void open_pipes(void)
{
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
}

static void close_pipes(void)
{
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(to_parent[i]);
    }
}

static void tell(const int pipe_ends[2])
{
    char byte = 1;
    if (write(pipe_ends[1], &byte, 1) != 1) {
        _exit(99);
    }
}

static void await(const int pipe_ends[2])
{
    char byte;
    if (read(pipe_ends[0], &byte, 1) != 1) {
        _exit(98);
    }
}

/* --- Between processes --- */

static int hold_lock_until_told(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK ||
        engine->lock(store, 0, &error) != SQLITE_OK) {
        return 1;
    }
    tell(to_parent);
    await(to_child);
    engine->unlock(store);
    tell(to_parent);
    await(to_child);
    engine->close(store);
    return 0;
}

static void processes_exclude_each_other(void **state)
{
    (void)state;
    open_pipes();
    pt_store *store = open_store(fixture_path);
    pid_t child = start_child(hold_lock_until_told);
    await(to_parent);
    assert_fails(engine->lock(store, 0, &error), SQLITE_BUSY, "another process");
    assert_fails(engine->lock(store, 5, &error), SQLITE_BUSY, fixture_path);
    tell(to_child);
    await(to_parent);
    assert_ok(engine->lock(store, 0, &error));
    engine->unlock(store);
    tell(to_child);
    await_child(child);
    engine->close(store);
    close_pipes();
}

static void waiting_process_gets_the_lock(void **state)
{
    (void)state;
    open_pipes();
    pt_store *store = open_store(fixture_path);
    pid_t child = start_child(hold_lock_until_told);
    await(to_parent);
    tell(to_child); /* it unlocks about now */
    assert_ok(engine->lock(store, 20000, &error));
    tell(to_child);
    engine->unlock(store);
    await_child(child);
    engine->close(store);
    close_pipes();
}

static void killed_holder_leaves_no_lock(void **state)
{
    (void)state;
    open_pipes();
    pt_store *store = open_store(fixture_path);
    pid_t child = start_child(hold_lock_until_told);
    await(to_parent);
    assert_fails(engine->lock(store, 0, &error), SQLITE_BUSY, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_ok(engine->lock(store, 0, &error));
    engine->unlock(store);
    engine->close(store);
    close_pipes();
}

static int exit_at_once(void)
{
    return 0;
}

static int wait_for_parent(void)
{
    tell(to_parent);
    await(to_child);
    return 0;
}

/* A child that merely lives on must not keep alive what its parent has given up. */
static void children_do_not_keep_locks(void **state)
{
    (void)state;
    open_pipes();
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pid_t child = start_child(wait_for_parent);
    await(to_parent);
    engine->unlock(store);
    engine->close(store);
    int fd = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_WRITER, true, pt_deadline_in(0)), SQLITE_OK);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_PRESENCE, true, pt_deadline_in(0)), SQLITE_OK);
    close(fd);
    tell(to_child);
    await_child(child);
    close_pipes();
}

static void child_does_not_drop_its_parents_lock(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    await_child(start_child(exit_at_once));
    int fd = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_WRITER, true, pt_deadline_in(0)), SQLITE_BUSY);
    close(fd);
    engine->unlock(store);
    engine->close(store);
}

/* --- Within a process --- */

static void second_lock_of_a_process_is_busy(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_store *same = open_store(fixture_path);
    assert_ptr_equal(store, same);
    lock_store(store);
    assert_fails(engine->lock(same, 0, &error), SQLITE_BUSY, "another connection");
    assert_fails(engine->lock(same, 3, &error), SQLITE_BUSY, "another connection");
    engine->unlock(store);
    assert_ok(engine->lock(same, 0, &error));
    engine->unlock(same);
    engine->close(store);
    engine->close(same);
}

static void *unlock_in_thread(void *store)
{
    engine->unlock(store);
    return NULL;
}

static void another_thread_may_unlock(void **state)
{
    (void)state;
    pthread_t thread;
    pt_store *store = open_store(fixture_path);
    for (int i = 0; i < 3; i++) {
        assert_ok(engine->lock(store, 20000, &error));
        assert_int_equal(pthread_create(&thread, NULL, unlock_in_thread, store), 0);
        assert_ok(engine->lock(store, 20000, &error)); /* handed over by the thread */
        pthread_join(thread, NULL);
        engine->unlock(store);
    }
    engine->close(store);
}

enum { THREADS = 4, TURNS = 50 };

typedef struct turns {
    pt_store *store;
    int inside;  /* guarded by the writer lock */
    int overlap; /* how often somebody else was inside */
    int done;
} turns;

static void *take_turns(void *context)
{
    turns *shared = context;
    pt_error error = PT_ERROR_NONE;
    for (int i = 0; i < TURNS; i++) {
        if (engine->lock(shared->store, 60000, &error) != SQLITE_OK) {
            return (void *)1;
        }
        shared->overlap += shared->inside++;
        shared->done++;
        shared->inside--;
        engine->unlock(shared->store);
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    turns shared = {.store = open_store(fixture_path)};
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &shared), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    assert_int_equal(shared.done, THREADS * TURNS);
    assert_int_equal(shared.overlap, 0);
    engine->close(shared.store);
}

/* --- The queue by itself --- */

typedef struct waiter {
    pt_writer_queue *queue;
    int *order; /* guarded by the queue's turn */
    int *arrived;
    int id;
} waiter;

static void *wait_in_queue(void *context)
{
    waiter *self = context;
    if (pt_writer_queue_enter(self->queue, pt_deadline_in(60000)) != SQLITE_OK) {
        return (void *)1;
    }
    self->order[(*self->arrived)++] = self->id;
    pt_writer_queue_leave(self->queue);
    return NULL;
}

static bool is_last_in_queue(pt_writer_queue *queue, const void *before)
{
    pthread_mutex_lock(&queue->mutex);
    bool changed = queue->last != before;
    pthread_mutex_unlock(&queue->mutex);
    return changed;
}

static void first_come_first_served(void **state)
{
    (void)state;
    pt_writer_queue queue;
    pthread_t threads[THREADS];
    waiter waiters[THREADS];
    int order[THREADS];
    int arrived = 0;
    assert_true(pt_writer_queue_init(&queue));
    assert_int_equal(pt_writer_queue_enter(&queue, pt_deadline_in(0)), SQLITE_OK);
    for (int i = 0; i < THREADS; i++) {
        const void *before = queue.last;
        waiters[i] = (waiter){.queue = &queue, .order = order, .arrived = &arrived, .id = i};
        assert_int_equal(pthread_create(&threads[i], NULL, wait_in_queue, &waiters[i]), 0);
        while (!is_last_in_queue(&queue, before)) {
            sched_yield();
        }
    }
    /* One that gives up is forgotten, wherever it stood. */
    assert_int_equal(pt_writer_queue_enter(&queue, pt_deadline_in(1)), SQLITE_BUSY);
    pt_writer_queue_leave(&queue);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_null(result);
        assert_int_equal(order[i], i);
    }
    assert_int_equal(pt_writer_queue_enter(&queue, pt_deadline_in(0)), SQLITE_OK);
    pt_writer_queue_leave(&queue);
    pt_writer_queue_destroy(&queue);
}

/* Lets another thread wait for the lock, which this one has, leaves, and comes back at once.
 * Returns true if it is there before the other one. */
static bool come_back_first(pt_writer_queue *queue, int64_t passed_at)
{
    pthread_t thread;
    void *result;
    int order[1];
    int arrived = 0;
    waiter other = {.queue = queue, .order = order, .arrived = &arrived};
    assert_int_equal(pt_writer_queue_enter(queue, pt_deadline_in(60000)), SQLITE_OK);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_queue, &other), 0);
    while (!is_last_in_queue(queue, NULL)) {
        sched_yield();
    }
    queue->passed_at = passed_at;
    pt_writer_queue_leave(queue);
    assert_int_equal(pt_writer_queue_enter(queue, pt_deadline_in(60000)), SQLITE_OK);
    bool first = arrived == 0;
    pt_writer_queue_leave(queue);
    pthread_join(thread, &result);
    assert_null(result);
    assert_int_equal(arrived, 1);
    return first;
}

static void a_session_may_come_back_within_its_slice_of_time(void **state)
{
    (void)state;
    pt_writer_queue queue;
    bool was_first = false;
    assert_true(pt_writer_queue_init(&queue));
    for (int tries = 0; tries < 1000 && !was_first; tries++) {
        was_first = come_back_first(&queue, INT64_MAX);
    }
    assert_true(was_first);
    for (int tries = 0; tries < 10; tries++) {
        assert_false(come_back_first(&queue, 0));
    }
    pt_writer_queue_destroy(&queue);
}

/* --- Single bytes --- */

static void locks_belong_to_descriptors(void **state)
{
    (void)state;
    int first = open(fixture_path, O_RDWR | O_CREAT, 0600);
    int second = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(first, PT_LOCK_PRESENCE, false, pt_deadline_in(0)), SQLITE_OK);
    assert_int_equal(pt_lock_take(second, PT_LOCK_PRESENCE, false, pt_deadline_in(0)), SQLITE_OK);
    assert_int_equal(pt_lock_take(second, PT_LOCK_PRESENCE, true, pt_deadline_in(0)), SQLITE_BUSY);
    pt_lock_release(first, PT_LOCK_PRESENCE);
    assert_int_equal(pt_lock_take(second, PT_LOCK_PRESENCE, true, pt_deadline_in(0)), SQLITE_OK);
    assert_int_equal(pt_lock_take(first, PT_LOCK_GATE, true, pt_deadline_in(0)), SQLITE_OK);
    assert_int_equal(pt_lock_take(first, PT_LOCK_WRITER, true, pt_deadline_in(0)), SQLITE_OK);
    close(second);
    assert_int_equal(pt_lock_take(first, PT_LOCK_PRESENCE, true, pt_deadline_in(0)), SQLITE_OK);
    close(first);
    assert_int_equal(pt_lock_take(first, PT_LOCK_GATE, true, pt_deadline_in(0)), SQLITE_IOERR_LOCK);
}

/* --- A process that ends slowly --- */

enum { SLEEPS_OF_ITS_END = 300 };

static int ending = -1; /* the descriptor that it has not closed yet */
static int sleeps;

int nanosleep(const struct timespec *time, struct timespec *left)
{
    sleeps++;
    if (ending >= 0 && sleeps == SLEEPS_OF_ITS_END) {
        close(ending);
        ending = -1;
    }
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left) == 0 ? 0 : -1;
}

/* Its lock on LMDB's file has gone, that on the store has not. */
static void an_opener_waits_for_who_lets_go_of_locks_slowly(void **state)
{
    (void)state;
    engine->close(open_store(fixture_path));
    ending = open(fixture_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pt_lock_take(ending, PT_LOCK_PRESENCE, false, pt_deadline_in(0)), SQLITE_OK);
    sleeps = 0;
    engine->close(open_store(fixture_path));
    assert_int_equal(ending, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(processes_exclude_each_other, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(waiting_process_gets_the_lock, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(killed_holder_leaves_no_lock, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(children_do_not_keep_locks, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(child_does_not_drop_its_parents_lock, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(second_lock_of_a_process_is_busy, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(another_thread_may_unlock, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(threads_take_turns, fixture_setup, fixture_teardown),
        cmocka_unit_test(first_come_first_served),
        cmocka_unit_test(a_session_may_come_back_within_its_slice_of_time),
        cmocka_unit_test_setup_teardown(locks_belong_to_descriptors, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(an_opener_waits_for_who_lets_go_of_locks_slowly,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
