#include "catalog/check_records.h"
#include "entity/key.h"
#include "fixtures/sealed.h"
#include "fixtures/store_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lmdb/log.h"

/* --- A disk that fails: LMDB's calls come here first --- */

typedef enum disk_fault {
    NO_FAULT,
    ROOT_PAGE_FAULT,
    ROOT_PAGE_TAKEN_BACK_FAULT, /* it is written, reported as not, and LMDB puts the old number back
                                 */
    ROOT_PAGE_TAKEN_BACK_AND_SYNC_FAULT, /* and nothing can be synced from then on */
    ROOT_PAGE_DONE_FAULT,     /* it is written, reported as not, and LMDB cannot put the old back */
    ROOT_PAGE_AND_SYNC_FAULT, /* nor can anything be synced from then on */
    SYNC_FAULT,
    DEATH_AT_ROOT_PAGE,
} disk_fault;

static disk_fault armed_fault;
static bool sync_fails;
static int data_flushes; /* of the store's file */

/* LMDB writes its root pages, and only them, from the middle of a page on. */
static bool is_root_page(off_t offset)
{
    return offset < 8192 && offset % 4096 != 0;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    if (armed_fault == ROOT_PAGE_FAULT && is_root_page(offset)) {
        errno = EIO;
        return -1;
    }
    ssize_t written = syscall(SYS_pwrite64, fd, bytes, size, offset);
    bool taken_back = armed_fault == ROOT_PAGE_TAKEN_BACK_FAULT ||
                      armed_fault == ROOT_PAGE_TAKEN_BACK_AND_SYNC_FAULT;
    if (taken_back && is_root_page(offset)) {
        sync_fails = armed_fault == ROOT_PAGE_TAKEN_BACK_AND_SYNC_FAULT;
        armed_fault = NO_FAULT;
        errno = EIO;
        return -1;
    }
    bool done = armed_fault == ROOT_PAGE_DONE_FAULT || armed_fault == ROOT_PAGE_AND_SYNC_FAULT;
    if (done && is_root_page(offset)) {
        sync_fails = armed_fault == ROOT_PAGE_AND_SYNC_FAULT;
        armed_fault = ROOT_PAGE_FAULT;
        errno = EIO;
        return -1;
    }
    if (armed_fault == DEATH_AT_ROOT_PAGE && is_root_page(offset)) {
        _exit(0);
    }
    return written;
}

int fdatasync(int fd)
{
    struct stat flushed;
    struct stat file;
    data_flushes += fixture_path[0] != 0 && fstat(fd, &flushed) == 0 &&
                    stat(fixture_path, &file) == 0 && flushed.st_ino == file.st_ino;
    if (armed_fault == SYNC_FAULT || sync_fails) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

/* --- Sync modes --- */

static void all_sync_modes_commit(void **state)
{
    (void)state;
    static const pt_sync modes[] = {PT_SYNC_OFF, PT_SYNC_NORMAL, PT_SYNC_FULL, PT_SYNC_OFF};
    pt_store *store = open_store(fixture_path);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        pt_commit commit = {.sync = modes[i]};
        lock_store(store);
        pt_writer *writer = begin_write(store);
        put_text(writer, 1, "a", i % 2 == 0 ? "even" : "odd");
        armed_fault = modes[i] == PT_SYNC_OFF ? SYNC_FAULT : NO_FAULT; /* it must not sync then */
        assert_ok(engine->write_commit(writer, &commit, &error));
        armed_fault = NO_FAULT;
        engine->unlock(store);
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_record(snapshot, 1, "a", i % 2 == 0 ? "even" : "odd");
        engine->snapshot_free(snapshot);
    }
    engine->close(store);
}

/* --- Failing commits --- */

/* A commit of two records that must fail with that code, leaving the store as it was. */
static void check_failing_commit(pt_store *store, int rc, const char *part)
{
    pt_commit commit = {.sync = PT_SYNC_FULL, .clock = 99, .catalog_changed = true};
    static char large[40000];
    memset(large, 'x', sizeof large - 1);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", "changed");
    put_text(writer, 1, "b", large);
    assert_fails(engine->write_commit(writer, &commit, &error), rc, part);
    engine->unlock(store);
}

static void check_unchanged(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    assert_record(snapshot, 1, "b", NULL);
    assert_counts(snapshot, 1, 1, 2 + 3);
    assert_int_equal(snapshot->clock, 0);
    engine->snapshot_free(snapshot);
}

static void full_disk_leaves_the_old_state(void **state)
{
    (void)state;
    struct rlimit limit;
    struct stat file;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(stat(fixture_path, &file), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    struct rlimit tight = {.rlim_cur = (rlim_t)file.st_size, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    check_failing_commit(store, SQLITE_FULL, "make room");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    check_unchanged(store);
    store_text(store, 1, "a", "two");
    engine->close(store);
    store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "two");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void failing_sync_leaves_the_old_state(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    armed_fault = SYNC_FAULT;
    check_failing_commit(store, SQLITE_IOERR, fixture_path);
    armed_fault = NO_FAULT;
    check_unchanged(store);
    store_text(store, 1, "a", "two");
    engine->close(store);
}

/* LMDB then refuses everything until the environment is opened again, which needs quiet. */
static void failing_root_page_is_recovered_from(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *open = begin_snapshot(store);
    pt_snapshot *idle = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(idle, &cursor, &error));
    engine->cursor_close(cursor);
    engine->snapshot_end(idle);
    armed_fault = ROOT_PAGE_FAULT;
    check_failing_commit(store, SQLITE_IOERR, "while committing; check the disk");
    armed_fault = NO_FAULT;
    for (int i = 0; i < 2; i++) {
        assert_fails(engine->snapshot_begin(idle, &error), SQLITE_IOERR,
                     "end the open statements and transactions on it in this process");
        assert_record(open, 1, "a", "one");
    }
    assert_ok(engine->lock(store, 0, &error));
    assert_false(engine->snapshot_is_newest(open)); /* it cannot be said */
    engine->unlock(store);
    engine->snapshot_end(open);
    assert_ok(engine->snapshot_begin(idle, &error));
    assert_record(idle, 1, "a", "one"); /* nothing reached the disk */
    assert_ok(engine->cursor_open(idle, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    assert_true(cursor->valid);
    engine->cursor_close(cursor);
    assert_ok(engine->snapshot_begin(open, &error));
    store_text(store, 1, "a", "two");
    assert_record(open, 1, "a", "one");
    engine->snapshot_free(open);
    engine->snapshot_free(idle);
    engine->close(store);
}

static int commit_record(pt_store *store, const char *record, disk_fault fault, pt_error *error)
{
    pt_commit commit = {.sync = PT_SYNC_FULL};
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", record);
    armed_fault = fault;
    int rc = engine->write_commit(writer, &commit, error);
    armed_fault = NO_FAULT;
    sync_fails = false;
    engine->unlock(store);
    return rc;
}

static int commit_with(pt_store *store, disk_fault fault, pt_error *error)
{
    return commit_record(store, "two", fault, error);
}

/* The page has the roots of a version that there is not. */
static void assert_no_root_page_is_damaged(pt_store *store)
{
    char *report = NULL;
    assert_ok(pt_check_store(engine, fixture_path, store, NULL, &report, &error));
    assert_non_null(report);
    if (strstr(report, "page") != NULL) {
        fail_msg("%s", report);
    }
    sqlite3_free(report);
}

static const char *large_record(size_t size)
{
    static char large[70000];
    memset(large, 'x', size);
    large[size] = 0;
    return large;
}

static void assert_seen(pt_store *store, const char *record)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", record);
    engine->snapshot_free(snapshot);
}

static uint32_t log_end(const pt_store *store)
{
    const pt_lmdb_log *log = ((const pt_lmdb_store *)store)->log;
    return log->chain.end;
}

static void failing_root_page_is_no_damage(void **state)
{
    (void)state;
    for (int logged = 0; logged < 2; logged++) {
        setenv("PTABLE_LOG", logged ? "always" : "never", 1);
        pt_store *store = open_store(fixture_path);
        store_text(store, 1, "b", "one");
        store_text(store, 1, "a", "one");
        assert_int_equal(log_end(store) != 0, logged);
        for (int i = 0; i < 4; i++) {
            assert_fails(
                commit_record(store, large_record(69000), ROOT_PAGE_TAKEN_BACK_FAULT, &error),
                SQLITE_IOERR, "while committing");
            assert_no_root_page_is_damaged(store);
            assert_seen(store, "one");
            store_text(store, 1, "b", large_record(69000)); /* the other root page */
        }
        engine->close(store);
        setenv("PTABLE_LOG", "never", 1);
    }
}

/* The commits are right: they stay in the log until it can be written to the tree, and are read
 * there, but not while a statement is open that began before the disk failed. */
static void log_that_cannot_be_written_to_the_tree_is_read(void **state)
{
    (void)state;
    enum { RECORD_SIZE = 60000, MANY = PT_LOG_LONG / RECORD_SIZE + 3 };
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "b", "one");
    store_text(store, 1, "a",
               large_record(RECORD_SIZE)); /* what follows is beyond the root pages */
    armed_fault = ROOT_PAGE_FAULT;
    for (int i = 0; i < MANY; i++) {
        store_text(store, 1, "a", large_record((size_t)(RECORD_SIZE + i)));
        assert_seen(store, large_record((size_t)(RECORD_SIZE + i)));
    }
    pt_snapshot *open = begin_snapshot(store);
    pt_snapshot *next = new_snapshot(store);
    lock_store(store); /* its release tries again to write the log to the tree */
    engine->unlock(store);
    armed_fault = NO_FAULT;
    assert_in_range(log_end(store), PT_LOG_LONG + RECORD_SIZE, PT_LOG_ROOM);
    assert_fails(engine->lock(store, 0, &error), SQLITE_IOERR, "must be opened again");
    assert_fails(engine->snapshot_begin(next, &error), SQLITE_IOERR, "must be opened again");
    assert_record(open, 1, "a", large_record(RECORD_SIZE + MANY - 1));
    engine->snapshot_free(open);
    engine->snapshot_free(next);
    store_text(store, 1, "b", "two");
    assert_int_equal(log_end(store), 0);
    assert_seen(store, large_record(RECORD_SIZE + MANY - 1));
    engine->close(store);
    setenv("PTABLE_LOG", "never", 1);
}

/* The disk may have the root page of the commit that failed, until the older one is on the disk
 * again. Commits in the log would be lost if the next one to open the store found it. */
static void nothing_is_logged_while_a_root_page_may_come_back(void **state)
{
    (void)state;
    static const disk_fault faults[] = {ROOT_PAGE_TAKEN_BACK_FAULT,
                                        ROOT_PAGE_TAKEN_BACK_AND_SYNC_FAULT};
    setenv("PTABLE_LOG", "always", 1);
    for (int i = 0; i < 2; i++) {
        pt_store *store = open_store(fixture_path);
        store_text(store, 1, "a", "one"); /* names the log */
        store_text(store, 1, "a", "two");
        armed_fault = faults[i];
        check_failing_commit(store, SQLITE_IOERR, "committing");
        armed_fault = NO_FAULT;
        sync_fails = false;
        assert_seen(store, "two");
        uint32_t before = log_end(store);
        store_text(store, 1, "a", "three");
        assert_int_equal(log_end(store) > before, i == 0);
        assert_seen(store, "three");
        engine->close(store);
    }
    setenv("PTABLE_LOG", "never", 1);
}

/* LMDB says that it failed, but whoever opens the file sees it. */
static void commit_that_took_place_is_no_failure(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    assert_ok(commit_with(store, ROOT_PAGE_DONE_FAULT, &error));
    assert_seen(store, "two");
    engine->close(store);
}

static void commit_that_may_be_lost_is_a_failure(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    assert_fails(commit_with(store, ROOT_PAGE_AND_SYNC_FAULT, &error), SQLITE_IOERR,
                 "took place, but may be lost");
    assert_seen(store, "two");
    engine->close(store);
}

static int die_in_commit_as(const pt_commit *commit)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_writer *writer;
    test_key key = key_of(1, "b");
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK ||
        engine->lock(store, 0, &error) != SQLITE_OK ||
        engine->write_begin(store, &writer, &error) != SQLITE_OK ||
        engine->write_put(writer, key_slice(&key), pt_slice_text("dying"), &error) != SQLITE_OK) {
        return 1;
    }
    armed_fault = DEATH_AT_ROOT_PAGE;
    engine->write_commit(writer, commit, &error);
    return 2;
}

static int die_in_commit(void)
{
    const pt_commit commit = {.sync = PT_SYNC_FULL};
    return die_in_commit_as(&commit);
}

static int die_in_commit_to_tree(void)
{
    const pt_commit commit = {.sync = PT_SYNC_FULL, .catalog_changed = true};
    return die_in_commit_as(&commit);
}

/* It names a log first. */
static int log_and_die_in_commit(void)
{
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    store_text(store, 1, "a", "two");
    return die_in_commit_to_tree();
}

/* A process that dies while LMDB writes a root page may leave it in memory only. The next commit to
 * the log must not be durable before what it follows is. */
static void root_page_that_the_dead_have_left_is_flushed(void **state)
{
    (void)state;
    setenv("PTABLE_LOG", "always", 1);
    for (int alone = 0; alone < 2; alone++) {
        pt_store *store = open_store(fixture_path);
        store_text(store, 1, "a", "one"); /* names the log */
        store_text(store, 1, "a", "two");
        if (alone) {
            engine->close(store);
        }
        await_child(start_child(alone ? log_and_die_in_commit : die_in_commit_to_tree));
        data_flushes = 0;
        if (alone) {
            store = open_store(fixture_path);
        }
        store_text(store, 1, "a", "three");
        assert_true(log_end(store) != 0);
        assert_true(data_flushes > 0);
        engine->close(store);
    }
    setenv("PTABLE_LOG", "never", 1);
}

/* The root page is written, but LMDB's lock file does not yet say so. */
static void writer_dead_in_its_last_step_stops_nobody(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(store);
    uint64_t version = snapshot->version;
    engine->snapshot_end(snapshot);
    await_child(start_child(die_in_commit));
    for (int i = 0; i < 3; i++) {
        assert_ok(engine->snapshot_begin(snapshot, &error));
        assert_int_equal(snapshot->version, version);
        assert_record(snapshot, 1, "a", "one");
        assert_record(snapshot, 1, "b", NULL);
        engine->snapshot_end(snapshot);
    }
    store_text(store, 1, "c", "three");
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "a", "one");
    assert_record(snapshot, 1, "c", "three");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static int die_while_ending_the_log(void)
{
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    store_text(store, 1, "a", "two");
    armed_fault = DEATH_AT_ROOT_PAGE;
    engine->close(store);
    return 2;
}

/* The log is not named any more, but if the power fails, the disk may have the version that names
 * it, and needs it. */
static void log_that_the_dead_have_ended_is_not_removed_too_early(void **state)
{
    (void)state;
    setenv("PTABLE_LOG", "always", 1);
    for (int is_open = 0; is_open < 2; is_open++) {
        pt_store *store = open_store(fixture_path);
        if (!is_open) {
            engine->close(store);
        }
        await_child(start_child(die_while_ending_the_log));
        data_flushes = 0;
        if (is_open) {
            store_text(store, 1, "a", "two"); /* LMDB flushes, too, but after the removal */
        } else {
            store = open_store(fixture_path);
        }
        assert_true(data_flushes > is_open);
        assert_seen(store, "two");
        engine->close(store);
    }
    setenv("PTABLE_LOG", "never", 1);
}

/* --- A map that is used up --- */

static int put_until_full(pt_store *store, int from)
{
    static char record[500];
    memset(record, 'r', sizeof record - 1);
    for (int i = from;; i++) {
        char text[16];
        pt_error error = PT_ERROR_NONE;
        snprintf(text, sizeof text, "%06d.", i);
        test_key key = key_of(1, text);
        lock_store(store);
        pt_writer *writer = begin_write(store);
        int rc = SQLITE_OK;
        for (int part = 0; rc == SQLITE_OK && part < 5; part++) {
            key.bytes[key.size - 1] = (uint8_t)('a' + part);
            rc = engine->write_put(writer, key_slice(&key), pt_slice_text(record), &error);
        }
        if (rc != SQLITE_OK) {
            assert_int_equal(rc, SQLITE_FULL);
            assert_non_null(strstr(error.message, "PTABLE_MAP_SIZE"));
            pt_error_clear(&error);
            engine->write_abort(writer);
            engine->unlock(store);
            return i;
        }
        commit_write(writer);
        engine->unlock(store);
    }
}

static void used_up_map_still_allows_deletes(void **state)
{
    (void)state;
    set_map_size("2M");
    pt_store *store = open_store(fixture_path);
    pt_snapshot *old = begin_snapshot(store);
    engine->snapshot_end(old);
    int count = put_until_full(store, 0);
    assert_in_range(count * 5 * 500, 1 << 20, 2 << 20);
    assert_int_equal(put_until_full(store, count), count);
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%06d.", i);
        lock_store(store);
        pt_writer *writer = begin_write(store);
        for (int part = 0; part < 5; part++) {
            text[6] = (char)('a' + part);
            delete_text(writer, 1, text);
        }
        commit_write(writer);
        engine->unlock(store);
    }
    assert_ok(engine->snapshot_begin(old, &error));
    assert_counts(old, 1, 0, 0);
    engine->snapshot_end(old);
    assert_int_equal(put_until_full(store, 0), count);
    engine->snapshot_free(old);
    engine->close(store);
    set_map_size(NULL);
}

/* One of the five keys of a number that put_until_full puts. */
static test_key numbered_key(int number, int part)
{
    char text[16];
    snprintf(text, sizeof text, "%06d%c", number, 'a' + part);
    return key_of(1, text);
}

static void used_up_map_still_allows_to_take_back(void **state)
{
    (void)state;
    enum { DELETED = 40 };
    set_map_size("2M");
    pt_store *store = open_store(fixture_path);
    int count = put_until_full(store, 0);
    pt_snapshot *before = begin_snapshot(store);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = 0; i < DELETED * 5; i++) {
        test_key key = numbered_key(i / 5, i % 5);
        assert_ok(engine->write_delete(writer, key_slice(&key), &error));
    }
    commit_write(writer);
    writer = begin_write(store);
    for (int i = 0; i < DELETED * 5; i++) {
        test_key key = numbered_key(i / 5, i % 5);
        assert_ok(engine->write_restore(writer, before, key_slice(&key), &error));
    }
    commit_write(writer);
    engine->unlock(store);
    engine->snapshot_end(before);
    assert_ok(engine->snapshot_begin(before, &error));
    pt_table_counts counts;
    assert_ok(engine->counts(before, 1, &counts, &error));
    assert_int_equal(counts.entities, count * 5);
    engine->snapshot_free(before);
    engine->close(store);
    set_map_size(NULL);
}

/* Until not even the smallest record may be put. */
static void put_to_the_last_page(pt_store *store)
{
    int rc = SQLITE_OK;
    put_until_full(store, 0);
    lock_store(store);
    for (int i = 0; rc == SQLITE_OK; i++) {
        pt_error error = PT_ERROR_NONE;
        test_key key = numbered_key(i, 'z' - 'a');
        pt_writer *writer = begin_write(store);
        rc = engine->write_put(writer, key_slice(&key), pt_slice_text(""), &error);
        if (rc == SQLITE_OK) {
            commit_write(writer);
        } else {
            engine->write_abort(writer);
        }
        pt_error_clear(&error);
    }
    assert_int_equal(rc, SQLITE_FULL);
    engine->unlock(store);
}

static void used_up_map_still_allows_drops(void **state)
{
    (void)state;
    set_map_size("2M");
    pt_store *store = open_store(fixture_path);
    put_to_the_last_page(store);
    test_key garbage = garbage_key(1);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    pt_slice record = sealed(key_slice(&garbage), pt_slice_text("\1"));
    assert_ok(engine->write_put(writer, key_slice(&garbage), record, &error));
    commit_write(writer);
    pt_store_info info = {.garbage = 1};
    while (info.garbage != 0) {
        bool collected = false;
        writer = begin_write(store);
        assert_ok(engine->write_collect(writer, &collected, &error));
        assert_true(collected);
        commit_write(writer);
        assert_ok(engine->info(store, &info, &error));
    }
    engine->unlock(store);
    assert_in_range(put_until_full(store, 0) * 5 * 500, 1 << 20, 2 << 20);
    engine->close(store);
    set_map_size(NULL);
}

static void one_transaction_too_large_for_the_map(void **state)
{
    (void)state;
    static uint8_t record[100000];
    set_map_size("1024K");
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    lock_store(store);
    pt_writer *writer = begin_write(store);
    int rc = SQLITE_OK;
    pt_error error = PT_ERROR_NONE;
    for (int i = 0; rc == SQLITE_OK && i < 20; i++) {
        test_key key = key_of(2, "large");
        key.bytes[5] = (uint8_t)i;
        rc = engine->write_put(writer, key_slice(&key), pt_slice_of(record, sizeof record), &error);
    }
    assert_int_equal(rc, SQLITE_FULL);
    pt_error_clear(&error);
    engine->write_abort(writer);
    engine->unlock(store);
    check_unchanged(store);
    engine->close(store);
    set_map_size(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(all_sync_modes_commit),
        store_test(full_disk_leaves_the_old_state),
        store_test(failing_sync_leaves_the_old_state),
        store_test(failing_root_page_is_recovered_from),
        store_test(failing_root_page_is_no_damage),
        store_test(log_that_cannot_be_written_to_the_tree_is_read),
        store_test(nothing_is_logged_while_a_root_page_may_come_back),
        store_test(commit_that_took_place_is_no_failure),
        store_test(commit_that_may_be_lost_is_a_failure),
        store_test(writer_dead_in_its_last_step_stops_nobody),
        store_test(root_page_that_the_dead_have_left_is_flushed),
        store_test(log_that_the_dead_have_ended_is_not_removed_too_early),
        store_test(used_up_map_still_allows_deletes),
        store_test(used_up_map_still_allows_to_take_back),
        store_test(used_up_map_still_allows_drops),
        store_test(one_transaction_too_large_for_the_map),
    };
    /* Of commits to the file: tests/unit/lmdb/test_log.c has those to the log. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
