/*
 * The log in front of LMDB, through the engine's methods: when it is used, what is seen of it, what
 * is left of it after a crash, and what happens to it as a file.
 */
#include "fixtures/log_copies.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/seal.h"
#include "lmdb/log.h"
#include "lmdb/writer.h"
#include "store/check_report.h"

enum { HEADER_BYTES = 4096 };

static bool flushes_fail;
static int flushes;

/* The engine's and LMDB's flushes come here. */
int fdatasync(int fd)
{
    flushes++;
    if (flushes_fail) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static pt_lmdb_store *own(pt_store *store)
{
    return (pt_lmdb_store *)store;
}

static bool exists(const char *suffix)
{
    return access(beside(suffix), F_OK) == 0;
}

static bool is_logging(pt_store *store)
{
    return own(store)->log->state.log_id != 0;
}

static void store_number(pt_store *store, int i, const char *record)
{
    char text[16];
    snprintf(text, sizeof text, "%06d", i);
    store_text(store, 1, text, record);
}

static pt_store *open_with_log(void)
{
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    store_number(store, 0, "first");
    assert_true(is_logging(store));
    return store;
}

static void put_and_commit(pt_store *store, const char *text, const char *record, pt_sync sync)
{
    const pt_commit commit = {.sync = sync, .clock = 5};
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, text, record);
    assert_ok(engine->write_commit(writer, &commit, &error));
}

/* Restores a key, and puts another one unless it is NULL. */
static void replace_and_commit(pt_store *store, pt_snapshot *before, const char *text,
                               const char *other, const char *record, pt_sync sync)
{
    const pt_commit commit = {.sync = sync};
    test_key key = key_of(1, text);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_restore(writer, before, key_slice(&key), &error));
    if (other != NULL) {
        put_text(writer, 1, other, record);
    }
    assert_ok(engine->write_commit(writer, &commit, &error));
}

static void restore_and_commit(pt_store *store, pt_snapshot *before, const char *text)
{
    replace_and_commit(store, before, text, NULL, NULL, PT_SYNC_FULL);
}

static void assert_seen(pt_store *store, const char *text, const char *expected)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, text, expected);
    engine->snapshot_free(snapshot);
}

/* --- Files, as a crash leaves them --- */

/* Closes the store, and puts its files back as they were before. */
static void crash(pt_store *store)
{
    copy_bytes(fixture_path, beside("x"));
    copy_bytes(beside("-log"), beside("x-log"));
    engine->close(store);
    assert_int_equal(rename(beside("x"), fixture_path), 0);
    assert_int_equal(rename(beside("x-log"), beside("-log")), 0);
}

static void change_byte_of_log(off_t at)
{
    uint8_t byte;
    int fd = open(beside("-log"), O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* A call of the engine to lock the log comes here. */
static bool locking_fails;

/* The monotonic clock, in seconds; 0: the system's. And by how much each look at it moves it on. */
static time_t set_time;
static time_t seconds_a_look;

#pragma GCC visibility push(default)

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    const struct flock *lock = argument;
    if (locking_fails && command == F_OFD_SETLK && lock->l_type == F_WRLCK &&
        lock->l_start == (INT64_C(1) << 62) + PT_LOCK_LOG) {
        errno = ENOLCK;
        return -1;
    }
    int result = (int)syscall(SYS_fcntl, fd, command, argument);
    return result;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC || set_time == 0) {
        return (int)syscall(SYS_clock_gettime, clock, now);
    }
    set_time += seconds_a_look;
    *now = (struct timespec){.tv_sec = set_time};
    return 0;
}

static void set_the_clock(time_t step)
{
    set_time = 1;
    seconds_a_look = step;
}

/* The store whose environment may be closed by another thread, unless a transaction of it is open
 * or its mutex is held. */
static pt_lmdb_store *watched;
static bool could_be_closed;

int mdb_env_info(MDB_env *env, MDB_envinfo *info)
{
    int (*next)(MDB_env *, MDB_envinfo *);
    *(void **)&next = dlsym(RTLD_NEXT, "mdb_env_info");
    if (watched != NULL && atomic_load(&watched->active) == 0 &&
        pthread_mutex_trylock(&watched->mutex) == 0) {
        could_be_closed = true;
        pthread_mutex_unlock(&watched->mutex);
    }
    return next(env, info);
}

#pragma GCC visibility pop

/* --- When it is used --- */

static void it_begins_with_the_eighth_small_commit(void **state)
{
    (void)state;
    unsetenv("PTABLE_LOG");
    set_the_clock(0);
    pt_store *store = open_store(fixture_path);
    for (int i = 1; i < 8; i++) {
        store_number(store, i, "record");
        assert_false(is_logging(store));
    }
    assert_false(exists("-log"));
    store_number(store, 8, "record");
    assert_true(is_logging(store));
    assert_true(exists("-log"));
    assert_true(exists("-word"));
    assert_false(pt_log_has_tail(own(store))); /* this one names the log */
    store_number(store, 9, "record");
    assert_true(pt_log_has_tail(own(store)));
    set_time = 0;
    engine->close(store);
    assert_false(exists("-log"));
    assert_false(exists("-word"));
    store = open_store(fixture_path);
    assert_seen(store, "000009", "record");
    assert_false(is_logging(store));
    engine->close(store);
}

/* Deletions assign no Timestamp: the clock of such commits stands still, and tells no time. */
static void it_does_not_begin_with_commits_that_are_far_apart(void **state)
{
    (void)state;
    enum { AN_HOUR = 3600, COMMITS = 20 };
    unsetenv("PTABLE_LOG");
    set_the_clock(AN_HOUR);
    pt_store *store = open_store(fixture_path);
    for (int i = 0; i < COMMITS; i++) {
        store_number(store, i, "record");
    }
    assert_false(is_logging(store));
    set_time = 0;
    engine->close(store);
}

static void it_never_begins_where_it_must_not(void **state)
{
    (void)state;
    setenv("PTABLE_LOG", "never", 1);
    pt_store *store = open_store(fixture_path);
    for (int i = 0; i < 20; i++) {
        store_number(store, i, "record");
    }
    assert_false(is_logging(store));
    engine->close(store);
    setenv("PTABLE_LOG", "always", 1);
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    for (int i = 0; i < 20; i++) {
        store_number(store, i, "record");
    }
    assert_null(own(store)->log);
    engine->close(store);
}

/* A process that reads the store with LMDB alone, as one with an older library does, until `end` is
 * closed. */
static pid_t start_reader(int *end)
{
    int ready[2];
    int over[2];
    char byte = 0;
    assert_int_equal(pipe(ready) | pipe(over), 0);
    pid_t reader = fork();
    if (reader == 0) {
        MDB_env *env;
        MDB_txn *txn;
        close(over[1]);
        bool reads =
            mdb_env_create(&env) == 0 &&
            mdb_env_open(env, fixture_path, MDB_NOSUBDIR | MDB_NOTLS | MDB_RDONLY, 0) == 0 &&
            mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0;
        _exit(!reads || write(ready[1], &byte, 1) != 1 || read(over[0], &byte, 1) != 0);
    }
    close(ready[1]);
    close(over[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    *end = over[1];
    return reader;
}

static void it_never_begins_beside_a_program_that_does_not_follow_it(void **state)
{
    (void)state;
    int end;
    int status;
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    pid_t reader = start_reader(&end);
    store_number(store, 1, "record");
    assert_false(is_logging(store));
    close(end);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_int_equal(status, 0);
    store_number(store, 2, "record");
    assert_true(is_logging(store));
    engine->close(store);
}

static void a_long_log_is_written_to_the_tree(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    uint64_t version = own(store)->log->state.version;
    for (int i = 1; i <= 1000; i++) {
        assert_int_equal(own(store)->log->state.version, version);
        store_number(store, i, "record");
    }
    assert_int_equal(own(store)->log->state.version, version + 1);
    assert_false(pt_log_has_tail(own(store)));
    assert_true(is_logging(store));
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_counts(snapshot, 1, 1001, 1001 * 13 - 1);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void large_and_undurable_bases_go_to_the_tree(void **state)
{
    (void)state;
    static char large[70000];
    memset(large, 'l', sizeof large - 1);
    pt_store *store = open_with_log();
    store_number(store, 1, "record");
    assert_true(pt_log_has_tail(own(store)));
    store_number(store, 2, large);
    assert_false(pt_log_has_tail(own(store)));
    assert_seen(store, "000001", "record");
    assert_seen(store, "000002", large);
    /* That commit was with sync=off: a durable one cannot follow it in the log. */
    lock_store(store);
    put_and_commit(store, "durable", "d", PT_SYNC_FULL);
    assert_false(own(store)->log->commit.is_written);
    engine->unlock(store);
    engine->write_abort(NULL);
    lock_store(store);
    put_and_commit(store, "durable", "e", PT_SYNC_FULL);
    assert_true(own(store)->log->commit.is_written);
    engine->unlock(store);
    assert_seen(store, "durable", "e");
    engine->close(store);
}

/* Where the tree could not take what a log may hold, only deletions are logged. */
static void without_room_in_the_tree_only_deletions_are_logged(void **state)
{
    (void)state;
    static char large[60000];
    memset(large, 'l', sizeof large - 1);
    set_map_size("68M");
    pt_store *store = open_with_log();
    set_map_size(NULL);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = 0; i < 150; i++) {
        char text[16];
        snprintf(text, sizeof text, "large %03d", i);
        put_text(writer, 1, text, large);
    }
    commit_write(writer);
    engine->unlock(store);
    assert_true(is_logging(store));
    assert_false(own(store)->log->has_room);
    store_number(store, 1, "record");
    assert_false(pt_log_has_tail(own(store)));
    lock_store(store);
    writer = begin_write(store);
    delete_text(writer, 1, "large 000");
    commit_write(writer);
    engine->unlock(store);
    assert_true(pt_log_has_tail(own(store)));
    assert_seen(store, "000001", "record");
    assert_seen(store, "large 000", NULL);
    engine->close(store);
}

/* --- What is seen --- */

static uint64_t version_of(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    uint64_t version = snapshot->version;
    engine->snapshot_free(snapshot);
    return version;
}

/* Without a change. If it is `read_again`, as another process would see it afterwards. */
static void commit_to_tree(pt_store *store, bool read_again)
{
    const pt_commit commit = {.sync = PT_SYNC_OFF};
    pt_writer *writer;
    lock_store(store);
    assert_ok(pt_lmdb_write_begin(store, &writer, &error));
    assert_ok(pt_lmdb_write_commit(writer, &commit, &error));
    engine->unlock(store);
    if (read_again) {
        own(store)->committed = (pt_lmdb_outcome){0};
    }
}

/* Transactions that have read compare versions: only a commit of somebody else may change them. */
static void a_version_stays_when_the_log_is_written_to_the_tree(void **state)
{
    (void)state;
    for (int read_again = 0; read_again < 2; read_again++) {
        pt_store *store = open_with_log();
        store_number(store, 1, "record");
        uint64_t version = version_of(store);
        for (int times = 0; times < 3; times++) {
            commit_to_tree(store, read_again);
            assert_false(pt_log_has_tail(own(store)));
            assert_true(version_of(store) == version);
        }
        store_number(store, 2, "record");
        assert_true(version_of(store) != version);
        version = version_of(store);
        commit_to_tree(store, read_again);
        assert_true(version_of(store) == version);
        /* One that changes something writes the log to the tree, too. */
        store_number(store, 3, "record");
        version = version_of(store);
        lock_store(store);
        pt_writer *writer;
        const pt_commit commit = {.sync = PT_SYNC_OFF};
        assert_ok(pt_lmdb_write_begin(store, &writer, &error));
        test_key key = key_of(1, "000003");
        assert_ok(pt_lmdb_write_delete(writer, key_slice(&key), &error));
        assert_ok(pt_lmdb_write_commit(writer, &commit, &error));
        engine->unlock(store);
        assert_true(version_of(store) != version);
        engine->close(store);
        assert_int_equal(unlink(fixture_path), 0);
    }
}

static void a_commit_is_seen_once_it_is_published(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    lock_store(store);
    put_and_commit(store, "a", "new", PT_SYNC_FULL);
    assert_seen(store, "a", NULL);
    engine->write_publish(store);
    assert_seen(store, "a", "new");
    engine->unlock(store);
    engine->close(store);
}

static void a_commit_that_is_undone_is_never_seen(void **state)
{
    (void)state;
    for (int crashes = 0; crashes < 2; crashes++) {
        pt_store *store = open_with_log();
        store_text(store, 1, "a", "old");
        lock_store(store);
        pt_snapshot *before = begin_snapshot(store);
        put_and_commit(store, "a", "new", PT_SYNC_FULL);
        restore_and_commit(store, before, "a");
        engine->snapshot_free(before);
        engine->unlock(store);
        assert_seen(store, "a", "old");
        if (crashes) {
            crash(store);
        } else {
            engine->close(store);
        }
        store = open_store(fixture_path);
        assert_seen(store, "a", "old");
        engine->close(store);
    }
}

/* xSync, more writes, xSync again. */
static void a_second_commit_takes_the_place_of_the_first(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    lock_store(store);
    pt_snapshot *before = begin_snapshot(store);
    put_and_commit(store, "a", "first", PT_SYNC_FULL);
    replace_and_commit(store, before, "a", "b", "second", PT_SYNC_OFF);
    engine->write_publish(store);
    engine->snapshot_free(before);
    engine->unlock(store);
    assert_seen(store, "a", NULL);
    assert_seen(store, "b", "second");
    crash(store);
    store = open_store(fixture_path);
    assert_seen(store, "a", NULL);
    assert_seen(store, "b", "second");
    engine->close(store);
}

/* A commit that is not flushed may be on the disk all the same. What takes its place, in the log or
 * in the tree, must be there, too, or a power failure could bring it back. */
static void what_takes_the_place_of_a_commit_is_flushed(void **state)
{
    (void)state;
    static char large[1 << 17];
    memset(large, 'x', sizeof large - 1);
    for (pt_sync sync = PT_SYNC_OFF; sync < PT_SYNC_FULL; sync++) {
        pt_store *store = open_with_log();
        const pt_format_state *newest = &own(store)->log->state;
        lock_store(store);
        pt_snapshot *before = begin_snapshot(store);

        /* In the log: a record that is made void; one that another record replaces; one that a
         * commit to the tree replaces. */
        int before_all = flushes;
        put_and_commit(store, "a", "first", sync);
        assert_int_equal(flushes, before_all);
        replace_and_commit(store, before, "a", NULL, NULL, sync);
        assert_int_equal(flushes, before_all + 1);
        put_and_commit(store, "a", "second", sync);
        replace_and_commit(store, before, "a", "b", "third", sync);
        assert_int_equal(flushes, before_all + 2);
        assert_int_equal(newest->sync, PT_SYNC_FULL);
        uint64_t version = newest->version;
        replace_and_commit(store, before, "b", "c", large, sync);
        assert_true(newest->version > version);
        assert_int_equal(newest->sync, PT_SYNC_FULL);

        /* In the tree. */
        put_and_commit(store, "d", large, sync);
        assert_int_equal(newest->sync, sync);
        replace_and_commit(store, before, "d", NULL, NULL, sync);
        assert_int_equal(newest->sync, PT_SYNC_FULL);
        engine->snapshot_free(before);
        engine->unlock(store);
        assert_seen(store, "a", NULL);
        assert_seen(store, "b", NULL);
        assert_seen(store, "c", large);
        assert_seen(store, "d", NULL);
        engine->close(store);
        assert_int_equal(unlink(fixture_path), 0);
    }
}

/* xSync, more writes, xSync again, which fails, xRollback: the record of the first one is not that
 * of a dead writer. */
static void a_commit_is_undone_after_a_second_one_has_failed(void **state)
{
    (void)state;
    const pt_commit to_the_tree = {.sync = PT_SYNC_FULL, .catalog_changed = true};
    for (int crashes = 0; crashes < 2; crashes++) {
        pt_store *store = open_with_log();
        store_text(store, 1, "a", "old");
        lock_store(store);
        pt_snapshot *before = begin_snapshot(store);
        put_and_commit(store, "a", "new", PT_SYNC_FULL);
        pt_writer *writer = begin_write(store);
        put_text(writer, 1, "b", "second");
        flushes_fail = true;
        assert_fails(engine->write_commit(writer, &to_the_tree, &error), SQLITE_IOERR,
                     "committing");
        flushes_fail = false;
        restore_and_commit(store, before, "a");
        engine->snapshot_free(before);
        engine->unlock(store);
        assert_seen(store, "a", "old");
        assert_seen(store, "b", NULL);
        if (crashes) {
            crash(store);
        } else {
            engine->close(store);
        }
        store = open_store(fixture_path);
        assert_seen(store, "a", "old");
        assert_seen(store, "b", NULL);
        engine->close(store);
    }
}

/* A process may die between LMDB's commit and setting the word. Readers must not take what is
 * appended from then on for the log of the version before. */
static void the_next_writer_sets_a_word_that_was_left(void **state)
{
    (void)state;
    const pt_commit to_the_tree = {.sync = PT_SYNC_FULL, .catalog_changed = true};
    pt_store *store = open_with_log();
    store_text(store, 1, "a", "one");
    pt_lmdb_log *log = own(store)->log;
    uint64_t left = atomic_load(&log->word->published);
    lock_store(store);
    assert_ok(engine->write_commit(begin_write(store), &to_the_tree, &error));
    engine->unlock(store);
    assert_int_not_equal(atomic_load(&log->word->published), left);
    atomic_store(&log->word->published, left);
    log->seen = 0;
    lock_store(store);
    assert_true(pt_log_word_is_of(atomic_load(&log->word->published), log->state.version));
    engine->unlock(store);
    assert_seen(store, "a", "one");
    engine->close(store);
}

/* A program has written into the word's file. */
static void assert_word_is_told(pt_store *store, uint64_t published)
{
    pt_snapshot *snapshot = NULL;
    atomic_store(&own(store)->log->word->published, published);
    assert_ok(engine->snapshot_new(store, &snapshot, &error));
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_CORRUPT, "-word");
    engine->snapshot_free(snapshot);
}

/* Readers do not take what is in the file for all that there is. The next writer, who knows the
 * log, sets the word again. */
static void a_word_that_was_overwritten_is_told(void **state)
{
    (void)state;
    static const uint64_t others[] = {0, UINT64_MAX, 0x0101010101010101, 0x2020202020202020};
    pt_store *store = open_with_log();
    store_text(store, 1, "a", "one");
    store_text(store, 1, "b", "two");
    _Atomic uint64_t *published = &own(store)->log->word->published;
    uint64_t right = atomic_load(published);
    for (int bit = 0; bit < 64; bit++) {
        assert_word_is_told(store, right ^ UINT64_C(1) << bit);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_word_is_told(store, others[i]);
        lock_store(store);
        engine->unlock(store);
        assert_true(atomic_load(published) == right);
        assert_seen(store, "b", "two");
        assert_word_is_told(store, others[i]);
        store_text(store, 1, "c", "three");
        assert_seen(store, "b", "two");
        assert_seen(store, "c", "three");
        right = atomic_load(published);
    }
    engine->close(store);
}

/* --- After a crash --- */

/* When another process has committed to the tree, say. */
static void the_environment_cannot_be_closed_while_it_is_looked_at(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    store_text(store, 1, "a", "1");
    watched = own(store);
    watched->log->seen = 0;
    store_text(store, 1, "a", "2");
    watched = NULL;
    assert_false(could_be_closed);
    assert_seen(store, "a", "2");
    engine->close(store);
}

/* It is opened again by another thread, or was closed because that failed. */
static void without_the_environment_there_is_no_room(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    const pt_lmdb_env open = own(store)->env;
    own(store)->env = (pt_lmdb_env){.read_only = false};
    assert_false(pt_log_look_for_room(own(store)));
    own(store)->env = open;
    assert_true(pt_log_look_for_room(own(store)));
    engine->close(store);
}

/* --- Versions begin again, and a child goes on --- */

static bool is_never_over(void *context)
{
    (void)context;
    return false;
}

/* Commits to the tree until LMDB's version is this one. */
static void write_up_to_version(pt_store *store, uint64_t version)
{
    static char large[1 << 17];
    memset(large, 'x', sizeof large - 1);
    while (own(store)->log->state.version < version) {
        store_text(store, 1, "z", large);
    }
    assert_int_equal(own(store)->log->state.version, version);
}

/* A view keeps its tail. After pt_compact another log may follow a version of the same number. */
static void a_tail_of_before_compacting_is_not_shown(void **state)
{
    enum { COMMITS = 40 };
    (void)state;
    const pt_watch watch = {.is_over = is_never_over};
    int64_t bytes;
    pt_store *store = open_with_log();
    uint64_t version = own(store)->log->state.version + COMMITS;
    write_up_to_version(store, version);
    store_text(store, 1, "a", "old");
    pt_snapshot *kept = begin_snapshot(store);
    assert_record(kept, 1, "a", "old");
    engine->snapshot_end(kept);
    assert_ok(engine->compact(store, 0, &watch, &bytes, &error));
    store_text(store, 1, "b", "begins a log");
    assert_true(is_logging(store) && own(store)->log->state.version < version);
    write_up_to_version(store, version);
    store_text(store, 1, "a", "new");
    assert_ok(engine->snapshot_begin(kept, &error));
    assert_record(kept, 1, "a", "new");
    engine->snapshot_free(kept);
    engine->close(store);
}

static pt_store *inherited;

static int write_in_child(void)
{
    pt_error own_error = PT_ERROR_NONE;
    pt_writer *writer;
    int rc = engine->write_begin(inherited, &writer, &own_error);
    pt_error_clear(&own_error);
    return rc == SQLITE_CANTOPEN ? 0 : 1;
}

/* Before it looks at the newest state, which it could not read. */
/* Of a table whose rows came and went in the log, a copy has no counts. */
static void a_table_that_only_the_log_has_held_is_not_copied(void **state)
{
    (void)state;
    const pt_watch watch = {.is_over = is_never_over};
    int64_t bytes;
    pt_store *store = open_with_log();
    store_text(store, 2, "a", "record");
    lock_store(store);
    pt_writer *writer = begin_write(store);
    delete_text(writer, 2, "a");
    commit_write(writer);
    engine->unlock(store);
    assert_true(is_logging(store));
    assert_ok(engine->backup(store, beside("-copy"), &watch, &bytes, &error));
    engine->close(store);
    store = open_store(beside("-copy"));
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 2, "a", NULL);
    assert_counts(snapshot, 2, 0, 0);
    assert_record(snapshot, 1, "000000", "first");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void a_child_does_not_begin_to_write(void **state)
{
    (void)state;
    int status;
    inherited = open_with_log();
    lock_store(inherited);
    own(inherited)->log->seen = 0;
    pid_t child = start_child(write_in_child);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    engine->unlock(inherited);
    store_text(inherited, 1, "a", "goes on");
    engine->close(inherited);
}

static void what_is_left_is_read(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    for (int i = 1; i < 50; i++) {
        store_number(store, i, i % 3 == 0 ? "three" : "record");
    }
    crash(store);
    store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "000048", "three");
    assert_record(snapshot, 1, "000049", "record");
    engine->snapshot_free(snapshot);
    assert_true(is_logging(store) || own(store)->log->id != 0);
    store_number(store, 50, "later");
    engine->close(store);
    assert_false(exists("-log"));
    store = open_store(fixture_path);
    assert_seen(store, "000049", "record");
    assert_seen(store, "000050", "later");
    engine->close(store);
}

/* A power failure may leave the word's file empty, with zeros, or not at all; another version of
 * this library leaves one of its own. */
static void the_word_need_not_last(void **state)
{
    (void)state;
    static const uint8_t of_another_version[] = {'p', 't', 'w', 'o', 'r', 'd', 0, 1, 'x'};
    for (int way = 0; way < 4; way++) {
        pt_store *store = open_with_log();
        char text[2] = {(char)('a' + way), 0};
        store_text(store, 1, text, "record");
        crash(store);
        if (way < 3) {
            int fd = open(beside("-word"), O_RDWR | O_CREAT, 0600);
            assert_int_equal(ftruncate(fd, way == 0 ? 0 : 4096), 0);
            if (way == 2) {
                assert_int_equal(write(fd, of_another_version, sizeof of_another_version),
                                 sizeof of_another_version);
            }
            close(fd);
        }
        store = open_store(fixture_path);
        assert_seen(store, text, "record");
        store_text(store, 1, text, "later");
        engine->close(store);
        assert_false(exists("-word"));
    }
}

/* If it is not known whether another process uses the log, the word is not believed. */
static void a_word_that_was_left_is_not_believed_without_the_lock(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    store_text(store, 1, "a", "old");
    copy_bytes(beside("-word"), beside("x-word"));
    store_text(store, 1, "a", "new");
    crash(store);
    assert_int_equal(rename(beside("x-word"), beside("-word")), 0);
    locking_fails = true;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_IOERR, "locking its log");
    locking_fails = false;
    store = open_store(fixture_path);
    assert_seen(store, "a", "new");
    engine->close(store);
}

/* Nothing says that the last record was flushed: without it the log is merely torn. */
static void a_torn_end_is_dropped(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    store_number(store, 1, "record");
    off_t last = own(store)->log->chain.end;
    store_number(store, 2, "record");
    crash(store);
    change_byte_of_log(HEADER_BYTES + last + PT_LOG_RECORD_HEADER);
    store = open_store(fixture_path);
    assert_seen(store, "000001", "record");
    assert_seen(store, "000002", NULL);
    store_number(store, 3, "record");
    engine->close(store);
}

static void commit_durably(pt_store *store, const char *text)
{
    lock_store(store);
    put_and_commit(store, text, "durable", PT_SYNC_FULL);
    engine->unlock(store);
}

static void damage_is_an_error_until_the_log_is_given_up(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    int64_t kept;
    int64_t clock;
    commit_durably(store, "a");
    commit_durably(store, "b");
    off_t second = own(store)->log->chain.end;
    commit_durably(store, "c");
    commit_durably(store, "d");
    crash(store);
    change_byte_of_log(HEADER_BYTES + second + PT_LOG_RECORD_HEADER);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CORRUPT, "is damaged");
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CORRUPT, "pt_forget_log");
    assert_ok(engine->forget_log(fixture_path, &kept, &clock, &error));
    assert_int_equal(kept, 2);
    store = open_store(fixture_path);
    assert_seen(store, "b", "durable");
    assert_seen(store, "c", NULL);
    engine->close(store);
    assert_ok(engine->forget_log(fixture_path, &kept, &clock, &error));
    assert_int_equal(kept, -1);
    assert_int_equal(clock, 5);
}

/* Locks of open files: this descriptor is as good as another process. */
static void a_log_in_use_elsewhere_is_not_given_up(void **state)
{
    (void)state;
    int64_t kept;
    int64_t clock;
    pt_store *store = open_with_log();
    store_text(store, 1, "a", "record");
    crash(store);
    int other = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(other, PT_LOCK_LOG, false, 0), SQLITE_OK);
    assert_fails(engine->forget_log(fixture_path, &kept, &clock, &error), SQLITE_BUSY,
                 "in use in another process");
    close(other);
    assert_ok(engine->forget_log(fixture_path, &kept, &clock, &error));
    assert_int_equal(kept, 1);
}

/* Another process is about to open or to close the store, and stands still. Waiting for it once is
 * enough. */
static void a_log_that_another_process_keeps_locked_is_busy(void **state)
{
    (void)state;
    enum { MORE_THAN_IT_WAITS = 11, LOOKS = 3 };
    pt_store *store = open_with_log();
    store_text(store, 1, "a", "record");
    pt_log_detach(own(store));
    own(store)->log->seen = 0;
    int other = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(other, PT_LOCK_LOG, true, 0), SQLITE_OK);
    pt_snapshot *snapshot = new_snapshot(store);
    set_the_clock(MORE_THAN_IT_WAITS);
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_BUSY, "end that process");
    assert_true(set_time <= 1 + LOOKS * MORE_THAN_IT_WAITS);
    assert_fails(engine->lock(store, 0, &error), SQLITE_BUSY, "end that process");
    set_time = 0;
    close(other);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "a", "record");
    engine->snapshot_free(snapshot);
    store_text(store, 1, "a", "later");
    assert_seen(store, "a", "later");
    engine->close(store);
}

/* --- As a file --- */

static void without_its_log_a_store_is_refused(void **state)
{
    (void)state;
    int64_t kept;
    int64_t clock;
    pt_store *store = open_with_log();
    store_number(store, 1, "record");
    crash(store);
    assert_int_equal(rename(beside("-log"), beside("-kept")), 0);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "is missing");
    copy_bytes(beside("-kept"), beside("-log"));
    change_byte_of_log(9); /* of the id: its seal is wrong now */
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "-log");
    assert_int_equal(truncate(beside("-log"), 0), 0);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "-log");
    assert_int_equal(unlink(beside("-log")), 0);
    assert_int_equal(symlink(beside("-kept"), beside("-log")), 0);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "link");
    assert_int_equal(unlink(beside("-log")), 0);
    assert_int_equal(link(beside("-kept"), beside("-log")), 0);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "several names");
    assert_int_equal(unlink(beside("-kept")), 0);
    store = open_store(fixture_path);
    assert_seen(store, "000001", "record");
    assert_fails(engine->forget_log(fixture_path, &kept, &clock, &error), SQLITE_BUSY,
                 "open in this process");
    engine->close(store);
}

/* It can be read, but not written. */
static void a_log_without_permissions_is_not_given_up(void **state)
{
    (void)state;
    enum { ANOTHER_USER = 12346 };
    int64_t kept;
    int64_t clock;
    if (geteuid() != 0) {
        skip();
    }
    pt_store *store = open_with_log();
    store_number(store, 1, "record");
    crash(store);
    assert_int_equal(chmod(fixture_folder, 0777), 0);
    assert_int_equal(chmod(fixture_path, 0666), 0);
    assert_int_equal(chmod(beside("-lock"), 0666), 0);
    assert_int_equal(chmod(beside("-log"), 0444), 0);
    assert_int_equal(seteuid(ANOTHER_USER), 0);
    assert_fails(engine->forget_log(fixture_path, &kept, &clock, &error), SQLITE_CANTOPEN,
                 "permissions of the store");
    assert_int_equal(seteuid(0), 0);
    store = open_store(fixture_path);
    assert_seen(store, "000001", "record");
    engine->close(store);
}

static void a_shorter_log_is_damaged(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    store_number(store, 1, "record");
    crash(store);
    assert_int_equal(truncate(beside("-log"), HEADER_BYTES + 64), 0);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CORRUPT, "is damaged");
}

/* What a shorter file cannot hold goes to the tree, with all that the log held. */
static void a_log_that_is_cut_takes_no_more(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    store_number(store, 1, "record");
    assert_int_equal(truncate(beside("-log"), HEADER_BYTES + PT_LOG_ROOM - 1), 0);
    lock_store(store);
    put_and_commit(store, "later", "record", PT_SYNC_FULL);
    engine->unlock(store);
    assert_false(is_logging(store));
    engine->close(store);
    store = open_store(fixture_path);
    assert_seen(store, "000001", "record");
    assert_seen(store, "later", "record");
    engine->close(store);
}

static void stale_and_unfinished_logs_are_removed(void **state)
{
    (void)state;
    pt_store *store = open_with_log();
    copy_bytes(beside("-log"), beside("-kept"));
    engine->close(store);
    assert_int_equal(rename(beside("-kept"), beside("-log")), 0);
    store = open_store(fixture_path);
    assert_false(exists("-log"));
    engine->close(store);
    static const off_t sizes[] = {0, 100, HEADER_BYTES, HEADER_BYTES + 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int begun = 0; begun < 2; begun++) {
            int fd = open(beside("-log"), O_RDWR | O_CREAT, 0600);
            assert_int_equal(write(fd, "ptlog\0\0\1", 8 * (size_t)begun), 8 * begun);
            assert_int_equal(ftruncate(fd, begun * 8 + sizes[i]), 0);
            close(fd);
            store = open_store(fixture_path);
            assert_false(exists("-log"));
            engine->close(store);
        }
    }
}

/* A power failure has left the end of the header, and not its beginning. */
static void write_torn_log(void)
{
    static uint8_t header[HEADER_BYTES] = {'p', 't', 'l', 'o', 'g', 0, 0, 1, 5};
    pt_seal(pt_slice_of(header, 8), header, sizeof header);
    int fd = open(beside("-log"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(pwrite(fd, header + 512, sizeof header - 512, 512), sizeof header - 512);
    close(fd);
}

static void a_log_with_a_torn_header_is_removed(void **state)
{
    (void)state;
    engine->close(open_store(fixture_path));
    write_torn_log();
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    assert_false(exists("-log"));
    write_torn_log(); /* as by a process that has died since */
    store_number(store, 1, "record");
    assert_true(is_logging(store));
    engine->close(store);
    assert_false(exists("-log"));
}

/* No log is made with that id, but a file may say so. */
static void a_log_with_the_id_0_is_removed(void **state)
{
    (void)state;
    static uint8_t header[HEADER_BYTES] = {'p', 't', 'l', 'o', 'g', 0, 0, 1};
    engine->close(open_store(fixture_path));
    pt_seal(pt_slice_of(header, 8), header, sizeof header);
    int fd = open(beside("-log"), O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(fd, header, sizeof header), sizeof header);
    close(fd);
    pt_store *store = open_store(fixture_path);
    assert_false(exists("-log"));
    engine->close(store);
}

static void other_files_of_these_names_are_left_alone(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"-log", "-word"};
    for (int i = 0; i < 2; i++) {
        int fd = open(beside(suffixes[i]), O_RDWR | O_CREAT, 0600);
        assert_int_equal(write(fd, "mine", 4), 4);
        close(fd);
        setenv("PTABLE_LOG", "always", 1);
        pt_store *store = open_store(fixture_path);
        store_number(store, 1, "record");
        assert_false(is_logging(store));
        engine->close(store);
        struct stat file;
        assert_int_equal(stat(beside(suffixes[i]), &file), 0);
        assert_int_equal(file.st_size, 4);
        assert_int_equal(unlink(beside(suffixes[i])), 0);
    }
}

static void its_files_have_the_permissions_of_the_store(void **state)
{
    (void)state;
    setenv("PTABLE_LOG", "always", 1);
    engine->close(open_store(fixture_path));
    assert_int_equal(chmod(fixture_path, 0640), 0);
    pt_store *store = open_with_log();
    struct stat file;
    assert_int_equal(stat(beside("-log"), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0640);
    assert_int_equal(stat(beside("-word"), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0640);
    engine->close(store);
}

int main(void)
{
#if defined(PT_DEBUG) || defined(PT_WAYS)
    const struct CMUnitTest tests[] = {
        store_test(it_begins_with_the_eighth_small_commit),
        store_test(it_does_not_begin_with_commits_that_are_far_apart),
        store_test(it_never_begins_where_it_must_not),
        store_test(it_never_begins_beside_a_program_that_does_not_follow_it),
        store_test(a_long_log_is_written_to_the_tree),
        store_test(large_and_undurable_bases_go_to_the_tree),
        store_test(without_room_in_the_tree_only_deletions_are_logged),
        store_test(a_version_stays_when_the_log_is_written_to_the_tree),
        store_test(a_commit_is_seen_once_it_is_published),
        store_test(a_commit_that_is_undone_is_never_seen),
        store_test(a_second_commit_takes_the_place_of_the_first),
        store_test(what_takes_the_place_of_a_commit_is_flushed),
        store_test(a_commit_is_undone_after_a_second_one_has_failed),
        store_test(the_next_writer_sets_a_word_that_was_left),
        store_test(a_word_that_was_overwritten_is_told),
        store_test(the_environment_cannot_be_closed_while_it_is_looked_at),
        store_test(without_the_environment_there_is_no_room),
        store_test(a_tail_of_before_compacting_is_not_shown),
        store_test(a_table_that_only_the_log_has_held_is_not_copied),
        store_test(a_child_does_not_begin_to_write),
        store_test(what_is_left_is_read),
        store_test(the_word_need_not_last),
        store_test(a_word_that_was_left_is_not_believed_without_the_lock),
        store_test(a_torn_end_is_dropped),
        store_test(damage_is_an_error_until_the_log_is_given_up),
        store_test(a_log_in_use_elsewhere_is_not_given_up),
        store_test(a_log_that_another_process_keeps_locked_is_busy),
        store_test(without_its_log_a_store_is_refused),
        store_test(a_log_without_permissions_is_not_given_up),
        store_test(a_shorter_log_is_damaged),
        store_test(a_log_that_is_cut_takes_no_more),
        store_test(stale_and_unfinished_logs_are_removed),
        store_test(a_log_with_a_torn_header_is_removed),
        store_test(a_log_with_the_id_0_is_removed),
        store_test(other_files_of_these_names_are_left_alone),
        store_test(its_files_have_the_permissions_of_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 0;
#endif
}
