/*
 * Copies of a store, for backups and for compacting, when LMDB or the system fails, the store turns
 * out to be damaged, or others come in between: it is said what failed, no file is left behind, and
 * the store is as it was.
 */
#include <dlfcn.h>
#include <lmdb.h>

#include "failing_malloc.h"
#include "key.h"
#include "lmdb_format.h"
#include "lmdb_locks.h"
#include "lmdb_long_key.h"
#include "sealed.h"
#include "store_fixture.h"
#include "system_calls.h"

enum { ROWS = 200, PAGE = 4096, PATIENCE_MS = 10000 };

/* --- Calls that fail --- */

static const char *failing_call; /* of LMDB or the system, by its name; NULL: none */
static int failing_passes;       /* before it fails, */
static int failing_times;        /* so often, then no more */
static int failing_code;
static void (*failing_event)(int fd); /* instead, or before, on its file */

static bool is_failing(const char *name)
{
    if (failing_call == NULL || strcmp(name, failing_call) != 0 || failing_passes-- > 0) {
        return false;
    }
    if (--failing_times == 0) {
        failing_call = NULL;
    }
    return true;
}

static void make_fail(const char *call, int passes, int code)
{
    failing_call = call;
    failing_passes = passes;
    failing_times = 1;
    failing_code = code;
    failing_event = NULL;
}

static system_call_verdict judge(const system_call *call)
{
    if (!is_failing(call->name)) {
        return (system_call_verdict){0};
    }
    if (failing_event != NULL) {
        failing_event(call->fd);
    }
    return (system_call_verdict){.error = failing_code};
}

/* The function of that name that this file's hides. */
static void find_hidden(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

#pragma GCC visibility push(default)

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    int (*hidden)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
    find_hidden("mdb_txn_begin", &hidden);
    return is_failing("mdb_txn_begin") ? failing_code : hidden(env, parent, flags, txn);
}

int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor)
{
    int (*hidden)(MDB_txn *, MDB_dbi, MDB_cursor **);
    find_hidden("mdb_cursor_open", &hidden);
    return is_failing("mdb_cursor_open") ? failing_code : hidden(txn, dbi, cursor);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation)
{
    int (*hidden)(MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op);
    find_hidden("mdb_cursor_get", &hidden);
    return is_failing("mdb_cursor_get") ? failing_code : hidden(cursor, key, value, operation);
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags)
{
    int (*hidden)(MDB_cursor *, MDB_val *, MDB_val *, unsigned);
    find_hidden("mdb_cursor_put", &hidden);
    return is_failing("mdb_cursor_put") ? failing_code : hidden(cursor, key, value, flags);
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    int (*hidden)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *);
    find_hidden("mdb_get", &hidden);
    return is_failing("mdb_get") ? failing_code : hidden(txn, dbi, key, value);
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    int (*hidden)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned);
    find_hidden("mdb_put", &hidden);
    return is_failing("mdb_put") ? failing_code : hidden(txn, dbi, key, value, flags);
}

int fchown(int fd, uid_t user, gid_t group)
{
    errno = failing_code;
    return is_failing("fchown") ? -1 : (int)syscall(SYS_fchown, fd, user, group);
}

int fchmod(int fd, mode_t mode)
{
    errno = failing_code;
    return is_failing("fchmod") ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

#pragma GCC visibility pop

/* --- A store --- */

static const char record[] = "a record of some bytes, which fills a page sooner than a word";

static char copy_path[96];

static int set_up(void **state)
{
    int rc = fixture_setup(state);
    snprintf(copy_path, sizeof copy_path, "%s/copy", fixture_folder);
    failing_call = NULL;
    system_call_judge = judge;
    return rc;
}

static int tear_down(void **state)
{
    system_call_judge = NULL;
    return fixture_teardown(state);
}

/* A key of table 1 as long as this. */
static pt_slice long_key(char first, size_t size)
{
    static uint8_t bytes[PT_KEY_LOGICAL_MAX];
    memset(bytes, first, size);
    pt_put_be32(bytes, 1);
    return pt_slice_of(bytes, size);
}

/* What stands for the dropped table 2; its counts are left over, too. */
static void put_garbage(pt_writer *writer)
{
    uint8_t bytes[2 * PT_KEY_TABLE_SIZE];
    pt_put_be32(bytes, PT_TABLE_GARBAGE);
    pt_put_be32(bytes + PT_KEY_TABLE_SIZE, 2);
    pt_slice key = pt_slice_of(bytes, sizeof bytes);
    assert_ok(engine->write_put(writer, key, sealed(key, pt_slice_text("\1")), &error));
}

/* Rows of table 1, some with long keys, and a dropped table. */
static pt_store *make_store(void)
{
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = 0; i < ROWS; i++) {
        char name[8];
        snprintf(name, sizeof name, "r%04d", i);
        put_text(writer, 1, name, record);
    }
    put_text(writer, 2, "x", "dropped");
    assert_ok(engine->write_put(writer, long_key('y', 900), pt_slice_text("1"), &error));
    assert_ok(engine->write_put(writer, long_key('y', 1900), pt_slice_text("2"), &error));
    commit_write(writer);
    writer = begin_write(store);
    put_garbage(writer);
    commit_write(writer);
    engine->unlock(store);
    return store;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static const pt_watch patient = {.is_over = never};

static int back_up(pt_store *store, pt_error *error)
{
    int64_t bytes;
    return engine->backup(store, copy_path, &patient, &bytes, error);
}

static int compact(pt_store *store, int wait_ms, const pt_watch *watch, pt_error *error)
{
    int64_t bytes;
    return engine->compact(store, wait_ms, watch, &bytes, error);
}

static void assert_whole(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "r0000", record);
    assert_counts(snapshot, 1, ROWS + 2, ROWS * (9 + strlen(record)) + 900 + 1900 + 2);
    engine->snapshot_free(snapshot);
}

/* --- LMDB fails --- */

/* Each call of a function of LMDB's fails in turn; how many there were. */
static int fail_in_turn(const char *function, int (*copy)(pt_store *, pt_error *), int limit)
{
    int calls = 0;
    pt_store *store = make_store();
    for (bool hit = true; hit && calls < limit; calls += hit) {
        pt_error error = PT_ERROR_NONE;
        make_fail(function, calls, EIO);
        int rc = copy(store, &error);
        hit = failing_call == NULL;
        failing_call = NULL;
        if ((rc & 0xff) != (hit ? SQLITE_IOERR : SQLITE_OK) && !(hit && rc == SQLITE_OK)) {
            fail_msg("%s %d: %d %s", function, calls, rc, error.message);
        }
        assert_true(rc == SQLITE_OK || strstr(error.message, "; ") != NULL);
        pt_error_clear(&error);
        unlink(copy_path);
        assert_whole(store);
        assert_int_equal(fixture_file_count(), 2); /* the store and its lock file */
    }
    engine->close(store);
    unlink(fixture_path);
    return calls;
}

static void a_backup_reports_what_lmdb_reports(void **state)
{
    (void)state;
    assert_in_range(fail_in_turn("mdb_cursor_open", back_up, 50), 6, 49);
    assert_in_range(fail_in_turn("mdb_get", back_up, 50), 4, 49);
    assert_in_range(fail_in_turn("mdb_put", back_up, 50), 8, 50);
    assert_in_range(fail_in_turn("mdb_cursor_get", back_up, 8), 8, 8);
    assert_in_range(fail_in_turn("mdb_cursor_put", back_up, 8), 4, 8);
}

static void the_last_calls_of_a_backup_may_fail(void **state)
{
    (void)state;
    pt_store *store = make_store();
    for (int passes = ROWS; failing_call == NULL; passes++) {
        make_fail("mdb_cursor_get", passes, EIO);
        pt_error error = PT_ERROR_NONE;
        int rc = back_up(store, &error);
        assert_int_equal(rc, failing_call == NULL ? SQLITE_IOERR : SQLITE_OK);
        pt_error_clear(&error);
        unlink(copy_path);
    }
    failing_call = NULL;
    assert_whole(store);
    engine->close(store);
}

/* --- The system fails --- */

static int compact_now(pt_store *store, pt_error *error)
{
    return compact(store, 0, &patient, error);
}

static void system_calls_may_fail(void **state)
{
    (void)state;
    static const char *const calls[] = {"fstat", "fsync", "fchmod", "link", "rename"};
    int failed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        failed += fail_in_turn(calls[i], back_up, 50);
        failed += fail_in_turn(calls[i], compact_now, 50);
    }
    print_message("# %d system calls failed in turn\n", failed);
    assert_true(failed > 20);
}

static void give_to_somebody(const char *path)
{
    assert_int_equal(chown(path, 12345, 23456), 0);
}

/* A store of another owner is not taken over by who compacts it. */
static void the_owner_stays(void **state)
{
    (void)state;
    struct stat file;
    if (geteuid() != 0) {
        skip();
    }
    pt_store *store = make_store();
    give_to_somebody(fixture_path);
    make_fail("fchown", 0, EPERM);
    failing_times = 2; /* when it is begun, where it does not matter, and at the end */
    assert_fails(compact(store, 0, &patient, &error), SQLITE_READONLY, "belongs to somebody else");
    make_fail("fchown", 0, EIO);
    failing_times = 2;
    assert_fails(compact(store, 0, &patient, &error), SQLITE_IOERR, "finishing its copy");
    assert_ok(compact(store, 0, &patient, &error));
    assert_int_equal(stat(fixture_path, &file), 0);
    assert_int_equal(file.st_uid, 12345);
    assert_int_equal(file.st_gid, 23456);
    assert_whole(store);
    engine->close(store);
}

static bool is_copy(int fd)
{
    char link[40];
    char name[128] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, name, sizeof name - 1) > 0 && strstr(name, "copy-new-") != NULL;
}

static void take_last_page(int fd)
{
    struct stat file;
    assert_int_equal(syscall(SYS_fstat, fd, &file), 0);
    if (is_copy(fd) && file.st_size > 0) {
        assert_int_equal(ftruncate(fd, file.st_size - PAGE), 0);
        make_fail("ftruncate", 0, EIO);
    }
}

/* LMDB may leave the file without its last page, which is to be there; without room it cannot. */
static void a_copy_that_is_too_short_is_none(void **state)
{
    (void)state;
    bool met = false;
    pt_store *store = make_store();
    for (int passes = 0; !met && passes < 20; passes++) {
        pt_error error = PT_ERROR_NONE;
        make_fail("fstat", passes, 0);
        failing_event = take_last_page;
        int rc = back_up(store, &error);
        met = rc == SQLITE_IOERR && strstr(error.message, "writing the copy") != NULL;
        failing_call = NULL;
        pt_error_clear(&error);
        assert_int_equal(fixture_file_count(), rc == SQLITE_OK ? 3 : 2);
        unlink(copy_path);
    }
    assert_true(met);
    assert_whole(store);
    engine->close(store);
}

/* --- The store is damaged --- */

typedef void harm(uint8_t *page);

/* Does harm to each leaf page that has these bytes, old versions of it too; the store may be open.
 */
static void harm_pages(const void *bytes, size_t size, harm *done)
{
    uint8_t page[PAGE];
    int met = 0;
    int fd = open(fixture_path, O_RDWR | O_CLOEXEC);
    for (off_t at = 2 * PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        if (pt_get_le16(page + 10) == 2 && memmem(page, PAGE, bytes, size) != NULL) {
            done(page);
            assert_int_equal(pwrite(fd, page, PAGE, at), PAGE);
            met++;
        }
    }
    close(fd);
    assert_true(met > 0);
}

static void exchange_slots(uint8_t *page)
{
    uint8_t kept[2];
    memcpy(kept, page + 16, 2);
    memcpy(page + 16, page + 18, 2);
    memcpy(page + 18, kept, 2);
}

static uint8_t *first_entry(uint8_t *page)
{
    return page + pt_get_le16(page + 16);
}

static void lengthen_key(uint8_t *page)
{
    uint8_t *key_size = first_entry(page) + 6;
    key_size[0] = 600 & 0xFF;
    key_size[1] = 600 >> 8;
}

static void spoil_state(uint8_t *page)
{
    uint8_t *name = memmem(page, PAGE, "current", 7);
    name[10] ^= 1;
}

static void rename_state(uint8_t *page)
{
    uint8_t *name = memmem(page, PAGE, "current", 7);
    name[6] = 's';
}

static harm *harm_of_state;

/* Asked once more, the copy has its snapshot, which read the state. */
static bool harm_state(void *context)
{
    (void)context;
    if (harm_of_state != NULL) {
        harm_pages("current", 7, harm_of_state);
        harm_of_state = NULL;
    }
    return false;
}

static void expect_refusal(pt_store *store)
{
    assert_fails(back_up(store, &error), SQLITE_CORRUPT, "restore it from a backup");
    assert_int_equal(fixture_file_count(), 2);
    engine->close(store);
    unlink(fixture_path);
}

/* It is found out while LMDB reads on. */
static void pages_damaged_in_use_are_not_copied(void **state)
{
    (void)state;
    static const pt_watch harming = {.is_over = harm_state};
    static harm *const harms[] = {spoil_state, rename_state};
    int64_t bytes;
    pt_store *store = make_store();
    harm_pages("r0100", 5, exchange_slots);
    expect_refusal(store);
    store = make_store();
    harm_pages("r0100", 5, lengthen_key);
    expect_refusal(store);
    for (int i = 0; i < 2; i++) {
        store = make_store();
        harm_of_state = harms[i];
        assert_fails(engine->backup(store, copy_path, &harming, &bytes, &error), SQLITE_CORRUPT,
                     "restore it from a backup");
        assert_null(harm_of_state);
        engine->close(store);
        unlink(fixture_path);
    }
}

/* Puts a record past the store into one of its databases. */
static void put_raw(const char *database, pt_slice key, pt_slice value)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val mdb_key = {.mv_size = key.size, .mv_data = (void *)(uintptr_t)key.data};
    MDB_val mdb_value = {.mv_size = value.size, .mv_data = (void *)(uintptr_t)value.data};
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, database, 0, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &mdb_key, &mdb_value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

/* A link to a bucket, from a bucket or, with 0, from table 1. */
static void put_link(uint64_t from, uint64_t to)
{
    uint8_t key[PT_LMDB_LINK_SIZE];
    uint8_t value[PT_FORMAT_BUCKET_SIZE];
    memset(key, 'z', sizeof key);
    key[sizeof key - 1] = 0;
    pt_lmdb_put_bucket_prefix(key, from);
    if (from == 0) {
        pt_put_be32(key, 1);
    }
    pt_slice slice = pt_slice_of(key, sizeof key);
    pt_format_write_bucket(slice, to, value);
    put_raw(from == 0 ? "entities" : "long_keys", slice, pt_slice_of(value, sizeof value));
}

/* Those of the store are 1 and those behind it. */
static void links_that_lead_astray_are_not_followed(void **state)
{
    (void)state;
    enum { FIRST = 100 };
    engine->close(make_store());
    put_link(0, 1); /* a second one */
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    put_link(0, FIRST);
    put_link(FIRST, FIRST); /* a circle */
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    put_link(0, FIRST);
    for (uint64_t i = 0; i <= PT_LMDB_DEPTH_MAX; i++) { /* deeper than keys are long */
        put_link(FIRST + i, FIRST + i + 1);
    }
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    uint8_t key[PT_LMDB_LINK_SIZE] = {0, 0, 0, 1, 'z'};
    put_raw("entities", pt_slice_of(key, sizeof key), pt_slice_text("no number"));
    expect_refusal(open_store(fixture_path));
    pt_store *store = make_store();
    static const uint8_t inside[] = {0, 0, 0, 0, 0, 0, 0, 1, 'y', 'y', 'y', 'y'};
    harm_pages(inside, sizeof inside, lengthen_key);
    expect_refusal(store);
}

static void keys_of_no_table_are_not_copied(void **state)
{
    (void)state;
    engine->close(make_store());
    put_raw("entities", pt_slice_of("\0\0", 2), pt_slice_text("x"));
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    put_raw(NULL, pt_slice_text("extra"), pt_slice_text("of a later version"));
    pt_store *store = open_store(fixture_path);
    assert_ok(back_up(store, &error));
    engine->close(store);
    store = open_store(copy_path);
    assert_whole(store);
    engine->close(store);
}

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
    assert_int_equal(fixture_file_count(), 2);
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
    assert_int_equal(fixture_file_count(), 2);
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

/* Comes before the lock is taken for the next slice, and takes it. */
static bool take_the_lock(void *context)
{
    lock_store(context);
    return false;
}

static bool at_once(void *context)
{
    (void)context;
    return true;
}

/* A private store is not rewritten, but what was dropped is collected. */
static void collecting_may_fail(void **state)
{
    (void)state;
    static const pt_watch over = {.is_over = at_once};
    uint8_t nothing[2 * PT_KEY_TABLE_SIZE] = {0xFF};
    pt_slice none = pt_slice_of(nothing, sizeof nothing);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_backup_reports_what_lmdb_reports),
        TEST(the_last_calls_of_a_backup_may_fail),
        TEST(system_calls_may_fail),
        TEST(the_owner_stays),
        TEST(a_copy_that_is_too_short_is_none),
        TEST(pages_damaged_in_use_are_not_copied),
        TEST(links_that_lead_astray_are_not_followed),
        TEST(keys_of_no_table_are_not_copied),
        TEST(readers_are_waited_for),
        TEST(another_process_may_come_while_readers_are_waited_for),
        TEST(without_memory_it_is_not_said_who_is_in_the_way),
        TEST(collecting_may_fail),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
