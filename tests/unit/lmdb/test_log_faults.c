/*
 * Commits that go to the log (lmdb/log.h) and are taken back, when LMDB or the log's file fails
 * meanwhile; and how much memory such commits hold.
 */
#include "faults/lmdb_faults.h"
#include "fixtures/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lmdb/log.h"

enum { HEADER_BYTES = 4096 };

static pt_lmdb_log *log_of(pt_store *store)
{
    return ((pt_lmdb_store *)store)->log;
}

static pt_store *open_with_log(void)
{
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "first", "record"); /* names the log */
    store_text(store, 1, "a", "old");
    assert_true(pt_log_has_tail((pt_lmdb_store *)store));
    return store;
}

static void assert_seen(pt_store *store, const char *text, const char *expected)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, text, expected);
    engine->snapshot_free(snapshot);
}

static int put_and_commit_as(pt_store *store, const char *record, const pt_commit *commit,
                             pt_error *error)
{
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", record);
    return engine->write_commit(writer, commit, error);
}

static int put_and_commit(pt_store *store, const char *record, pt_error *error)
{
    const pt_commit commit = {.sync = PT_SYNC_FULL, .clock = 5};
    return put_and_commit_as(store, record, &commit, error);
}

/* xRollback. */
static int undo(pt_store *store, pt_snapshot *before, pt_error *error)
{
    const pt_commit commit = {.sync = PT_SYNC_FULL};
    test_key key = key_of(1, "a");
    pt_writer *writer = NULL;
    int rc = engine->write_begin(store, &writer, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    assert_int_equal(engine->write_restore(writer, before, key_slice(&key), error), SQLITE_OK);
    return engine->write_commit(writer, &commit, error);
}

/* A record that goes to LMDB's tree. */
static const char *large_record(void)
{
    static char large[70000];
    memset(large, 'l', sizeof large - 1);
    return large;
}

/* xSync, more writes, and xSync fails: the undo finds the record of the first one in the log. */
static void one_is_undone_after_a_commit_to_the_tree_failed(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    lock_store(store);
    pt_snapshot *before = begin_snapshot(store);
    assert_ok(put_and_commit(store, "new", &error));
    lmdb_fail_at(LMDB_TXN_COMMIT, EIO, 0, 1);
    assert_fails(put_and_commit(store, large_record(), &error), SQLITE_IOERR, "committing");
    lmdb_forget_faults();
    assert_seen(store, "a", "old");
    assert_ok(undo(store, before, &error));
    engine->snapshot_free(before);
    engine->unlock(store);
    assert_seen(store, "a", "old");
    store_text(store, 1, "b", "later");
    assert_seen(store, "a", "old");
    engine->close(store);
    store = open_store(fixture_path);
    assert_seen(store, "a", "old");
    assert_seen(store, "b", "later");
    engine->close(store);
}

/* The descriptor of the log becomes one that cannot be written. */
static int break_log(pt_store *store)
{
    int fd = pt_log_fd(log_of(store));
    int kept = dup(fd);
    int other = open("/dev/null", O_RDONLY);
    assert_int_equal(dup2(other, fd), fd);
    close(other);
    return kept;
}

static void mend_log(pt_store *store, int kept)
{
    assert_int_equal(dup2(kept, pt_log_fd(log_of(store))), pt_log_fd(log_of(store)));
    close(kept);
}

/* Neither the log nor the tree can be written: the session gives up, and nobody sees the commit. */
static void one_that_cannot_be_undone_is_not_seen(void **state)
{
    (void)state;
    for (int mended = 0; mended < 2; mended++) {
        pt_store *store = open_with_log();
        lock_store(store);
        pt_snapshot *before = begin_snapshot(store);
        assert_ok(put_and_commit(store, "new", &error));
        int kept = break_log(store);
        lmdb_fail_at(LMDB_TXN_COMMIT, EIO, 0, 1);
        assert_fails(undo(store, before, &error), SQLITE_IOERR, "committing");
        lmdb_forget_faults();
        engine->snapshot_free(before);
        if (mended) {
            mend_log(store, kept);
        }
        engine->unlock(store);
        assert_seen(store, "a", "old");
        store_text(store, 1, "b", "later");
        if (!mended) {
            close(kept);
        }
        engine->close(store);
        store = open_store(fixture_path);
        assert_seen(store, "a", "old");
        assert_seen(store, "b", "later");
        engine->close(store);
    }
}

static void those_undone_hold_no_memory(void **state)
{
    (void)state;
    static char record[10000];
    memset(record, 'r', sizeof record - 1);
    pt_store *store = open_with_log();
    lock_store(store);
    pt_snapshot *before = begin_snapshot(store);
    for (int i = 0; i < 300; i++) {
        assert_ok(put_and_commit(store, record, &error));
        assert_ok(undo(store, before, &error));
    }
    engine->snapshot_free(before);
    engine->unlock(store);
    assert_true(log_of(store)->tail->arena.total < 100000);
    assert_seen(store, "a", "old");
    store_text(store, 1, "b", "later");
    assert_seen(store, "b", "later");
    engine->close(store);
}

static void those_that_fail_hold_no_memory(void **state)
{
    (void)state;
    static char record[40000];
    memset(record, 'r', sizeof record - 1);
    const pt_commit commit = {.sync = PT_SYNC_FULL, .clock = 5};
    pt_store *store = open_with_log();
    for (int i = 0; i < 100; i++) {
        lock_store(store);
        pt_writer *writer = begin_write(store);
        put_text(writer, 1, "a", record);
        put_text(writer, 1, "b", record);
        lmdb_fail_at(LMDB_TXN_COMMIT, EIO, 0, 1);
        assert_fails(engine->write_commit(writer, &commit, &error), SQLITE_IOERR, NULL);
        engine->unlock(store);
    }
    lmdb_forget_faults();
    assert_true(log_of(store)->tail->arena.total < 400000);
    assert_seen(store, "a", "old");
    assert_seen(store, "b", NULL);
    engine->close(store);
}

/* --- A commit to the tree that may be lost --- */

static int flushes_that_succeed = -1; /* before the others fail; -1: all do */
static ino_t counted_file;
static int flushes_counted; /* of it */

#pragma GCC visibility push(default)

int fdatasync(int fd)
{
    struct stat file;
    flushes_counted += counted_file != 0 && fstat(fd, &file) == 0 && file.st_ino == counted_file;
    if (flushes_that_succeed == 0) {
        errno = EIO;
        return -1;
    }
    flushes_that_succeed -= flushes_that_succeed > 0;
    return (int)syscall(SYS_fdatasync, fd);
}

#pragma GCC visibility pop

/* LMDB's commit is there, but its root page is not known to be on the disk. So it is no ground for
 * durable commits in the log: they would be lost with it. */
static void nothing_is_logged_on_a_commit_that_may_be_lost(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    lock_store(store);
    flushes_that_succeed = 1;
    lmdb_fail_at(LMDB_TXN_COMMIT_DONE, EIO, 0, 1);
    assert_fails(put_and_commit(store, large_record(), &error), SQLITE_IOERR, "may be lost");
    lmdb_forget_faults();
    flushes_that_succeed = -1;
    engine->unlock(store);
    assert_seen(store, "a", large_record());
    store_text(store, 1, "b", "later");
    assert_false(pt_log_has_tail((pt_lmdb_store *)store));
    store_text(store, 1, "b", "names the next log");
    store_text(store, 1, "b", "is in it");
    assert_true(pt_log_has_tail((pt_lmdb_store *)store));
    engine->close(store);
}

/* xSync, DDL, and xSync fails, but is there: without a log, too, it can be undone. */
static void one_that_may_be_lost_is_undone(void **state)
{
    (void)state;
    const pt_commit ddl = {.sync = PT_SYNC_FULL, .clock = 6, .catalog_changed = true};
    setenv("PTABLE_LOG", "never", 1);
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "old");
    lock_store(store);
    pt_snapshot *before = begin_snapshot(store);
    assert_ok(put_and_commit(store, "new", &error));
    flushes_that_succeed = 1;
    lmdb_fail_at(LMDB_TXN_COMMIT_DONE, EIO, 0, 1);
    assert_fails(put_and_commit_as(store, "newer", &ddl, &error), SQLITE_IOERR, "may be lost");
    lmdb_forget_faults();
    flushes_that_succeed = -1;
    assert_ok(undo(store, before, &error));
    engine->snapshot_free(before);
    engine->unlock(store);
    assert_seen(store, "a", "old");
    engine->close(store);
}

/* It has made its record void, and died before that was flushed: a power failure would bring the
 * record back, after others have seen that it is not there. */
static void a_void_of_the_dead_is_flushed(void **state)
{
    (void)state;
    struct stat file;
    pt_store *store = open_with_log();
    assert_int_equal(fstat(pt_log_fd(log_of(store)), &file), 0);
    counted_file = file.st_ino;
    flushes_counted = 0;
    lock_store(store);
    engine->unlock(store);
    assert_int_equal(flushes_counted, 0);
    pt_log_mark_pending((pt_lmdb_store *)store, true); /* as a dead process would leave it */
    lock_store(store);
    engine->unlock(store);
    assert_int_equal(flushes_counted, 1);
    counted_file = 0;
    assert_seen(store, "a", "old");
    engine->close(store);
}

/* A cursor has found its place in the tail, and not in the tree. */
static void the_tree_fails_beside_a_tail(void **state)
{
    (void)state;
    enum { CALLS_MAX = 100 };
    int calls = 0;
    bool failed = true;
    pt_store *store = open_with_log();
    test_key low = key_of(1, "");
    test_key high = key_of(2, "");
    for (; failed && calls < CALLS_MAX; calls++) {
        pt_error error = PT_ERROR_NONE;
        pt_engine_cursor *cursor = NULL;
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_int_equal(engine->cursor_open(snapshot, &cursor, &error), SQLITE_OK);
        lmdb_fail_at(LMDB_CURSOR_GET, EIO, calls, 1);
        int rc = engine->cursor_seek(cursor, key_slice(&low), key_slice(&high), PT_FORWARD, &error);
        failed = lmdb_has_failed(1);
        assert_int_equal(rc, failed ? SQLITE_IOERR : SQLITE_OK);
        assert_int_equal(cursor->valid, !failed);
        pt_error_clear(&error);
        lmdb_forget_faults();
        engine->cursor_close(cursor);
        engine->snapshot_free(snapshot);
    }
    assert_in_range(calls, 2, CALLS_MAX - 1);
    engine->close(store);
}

/* Otherwise the kernel would kill it. */
static void a_process_with_a_limit_goes_on_without_a_log(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    const rlim_t sizes[] = {HEADER_BYTES, HEADER_BYTES + PT_LOG_ROOM - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct rlimit limit = {.rlim_cur = sizes[i] < 1 << 20 ? 1 << 20 : sizes[i],
                               .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        store_text(store, 1, "a", "record");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(log_of(store)->state.log_id, 0);
        assert_seen(store, "a", "record");
        log_of(store)->not_before = 0;
    }
    store_text(store, 1, "a", "other");
    assert_true(log_of(store)->state.log_id != 0);
    engine->close(store);
}

int main(void)
{
#if defined(PT_DEBUG) || defined(PT_WAYS)
    const struct CMUnitTest tests[] = {
        store_test(one_is_undone_after_a_commit_to_the_tree_failed),
        store_test(one_that_cannot_be_undone_is_not_seen),
        store_test(those_undone_hold_no_memory),
        store_test(those_that_fail_hold_no_memory),
        store_test(nothing_is_logged_on_a_commit_that_may_be_lost),
        store_test(one_that_may_be_lost_is_undone),
        store_test(a_void_of_the_dead_is_flushed),
        store_test(the_tree_fails_beside_a_tail),
        store_test(a_process_with_a_limit_goes_on_without_a_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 0;
#endif
}
