/*
 * Compacting while others come in between, or what was dropped cannot be collected.
 */
#include "process/copies/copying.h"

/* --- Others --- */

typedef struct visitor {
    int asked;
    int comes_at; /* the time that it is asked for which something happens */
    pt_store *store;
    pt_snapshot *snapshot;
    bool gives_up;
    int child[2]; /* a pipe to a process that opens the store, and one back; 0: none */
    int back[2];
} visitor;

static bool come(void *context)
{
    visitor *self = context;
    char sign = 0;
    if (++self->asked != self->comes_at) {
        return false;
    }
    if (self->snapshot != NULL && !self->gives_up && self->child[1] == 0) {
        engine->snapshot_end(self->snapshot);
    }
    if (self->child[1] != 0) {
        assert_int_equal(write(self->child[1], &sign, 1), 1);
        assert_int_equal(read(self->back[0], &sign, 1), 1);
    }
    return self->gives_up;
}

/* How often a compaction asks whether it is over before it has its copy. */
static int questions_of_copying(pt_store *store)
{
    visitor self = {.comes_at = -1};
    const pt_watch watch = {.context = &self, .is_over = come};
    assert_ok(compact(store, PATIENCE_MS, &watch, &error));
    return self.asked;
}

static void readers_are_waited_for(void **state)
{
    (void)state;
    pt_store *store = make_store();
    int questions = questions_of_copying(store);
    visitor self = {.comes_at = questions + 3, .snapshot = begin_snapshot(store)};
    const pt_watch watch = {.context = &self, .is_over = come};
    assert_fails(compact(store, 0, &watch, &error), SQLITE_BUSY, "while this process reads it");
    assert_int_equal(self.asked, questions);
    self.asked = 0;
    assert_ok(compact(store, PATIENCE_MS, &watch, &error));
    assert_int_equal(self.asked, questions + 3);
    assert_ok(engine->snapshot_begin(self.snapshot, &error));
    self.gives_up = true;
    self.asked = 0;
    assert_fails(compact(store, PATIENCE_MS, &watch, &error), SQLITE_INTERRUPT, "interrupted");
    engine->snapshot_free(self.snapshot);
    assert_whole(store);
    assert_int_equal(copying_file_count(), 2);
    engine->close(store);
}

/* Starts a process that opens the store when it is told to, and keeps it until its input ends. */
static pid_t start_opener(visitor *self)
{
    assert_int_equal(pipe(self->child), 0);
    assert_int_equal(pipe(self->back), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char sign;
        pt_store *store = NULL;
        pt_snapshot *snapshot = NULL;
        pt_error error = PT_ERROR_NONE;
        close(self->child[1]);
        if (read(self->child[0], &sign, 1) != 1 ||
            engine->open(fixture_path, 0, &store, &error) != SQLITE_OK ||
            engine->snapshot_new(store, &snapshot, &error) != SQLITE_OK ||
            engine->snapshot_begin(snapshot, &error) != SQLITE_OK ||
            write(self->back[1], &sign, 1) != 1 || read(self->child[0], &sign, 1) != 0) {
            _exit(1);
        }
        engine->snapshot_free(snapshot);
        engine->close(store);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void end_opener(visitor *self, pid_t pid)
{
    close(self->child[1]);
    await_child(pid);
    close(self->child[0]);
    close(self->back[0]);
    close(self->back[1]);
}

static void another_process_may_come_while_readers_are_waited_for(void **state)
{
    (void)state;
    visitor self = {0};
    pid_t pid = start_opener(&self);
    pt_store *store = make_store();
    self.comes_at = questions_of_copying(store) + 1;
    self.snapshot = begin_snapshot(store);
    const pt_watch watch = {.context = &self, .is_over = come};
    assert_fails(compact(store, PATIENCE_MS, &watch, &error), SQLITE_BUSY, "another process");
    engine->snapshot_free(self.snapshot);
    end_opener(&self, pid);
    assert_whole(store);
    assert_int_equal(copying_file_count(), 2);
    engine->close(store);
}

/* Others that have the store open keep it from being rewritten, and this is said with their ids as
 * far as they are known. */
static void without_memory_it_is_not_said_who_is_in_the_way(void **state)
{
    (void)state;
    char text[40];
    bool hit = true;
    visitor self = {.comes_at = 1};
    pid_t pid = start_opener(&self);
    pt_store *store = make_store();
    assert_false(come(&self));
    snprintf(text, sizeof text, ": process %ld;", (long)pid);
    assert_fails(compact(store, 0, &patient, &error), SQLITE_BUSY, text);
    for (int n = 0; hit; n++) {
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, false);
        int rc = compact(store, 0, &patient, &error);
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_BUSY || (hit && rc == SQLITE_NOMEM));
        assert_true(rc == SQLITE_NOMEM || strstr(error.message, "another process") != NULL);
        pt_error_clear(&error);
    }
    end_opener(&self, pid);
    int fd = open(fixture_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_PRESENCE, false, 0), SQLITE_OK);
    assert_fails(compact(store, 0, &patient, &error), SQLITE_BUSY, "has it open; close it");
    close(fd);
    assert_ok(compact(store, 0, &patient, &error));
    engine->close(store);
}

/* --- Collecting --- */

static bool at_once(void *context)
{
    (void)context;
    return true;
}

static const pt_watch over = {.is_over = at_once};

static void beside_others_it_can_be_interrupted(void **state)
{
    (void)state;
    pt_store *store = make_store();
    int fd = open(fixture_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_PRESENCE, false, 0), SQLITE_OK);
    assert_fails(compact(store, 0, &over, &error), SQLITE_INTERRUPT, "interrupted");
    close(fd);
    engine->close(store);
}

/* Comes before the lock is taken for the next slice, and takes it. */
static bool take_the_lock(void *context)
{
    lock_store(context);
    return false;
}

/* A private store is not rewritten, but what was dropped is collected. */
static void collecting_may_fail(void **state)
{
    (void)state;
    test_key nothing = garbage_key(PT_TABLE_CATALOG);
    pt_slice none = key_slice(&nothing);
    pt_store *store = NULL;
    assert_ok(engine->open("", PT_OPEN_CREATE | PT_OPEN_PRIVATE, &store, &error));
    const pt_watch greedy = {.context = store, .is_over = take_the_lock};
    store_text(store, 2, "x", "dropped");
    assert_fails(compact(store, 0, &over, &error), SQLITE_INTERRUPT, "interrupted");
    assert_fails(compact(store, 0, &greedy, &error), SQLITE_BUSY, "another connection");
    engine->unlock(store);
    make_fail("mdb_txn_begin", 0, EIO);
    assert_fails(compact(store, 0, &patient, &error), SQLITE_IOERR, "; ");
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, none, sealed(none, pt_slice_text("\1")), &error));
    commit_write(writer);
    engine->unlock(store);
    assert_fails(compact(store, 0, &patient, &error), SQLITE_CORRUPT, "; ");
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(readers_are_waited_for),
        TEST(another_process_may_come_while_readers_are_waited_for),
        TEST(without_memory_it_is_not_said_who_is_in_the_way),
        TEST(beside_others_it_can_be_interrupted),
        TEST(collecting_may_fail),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
