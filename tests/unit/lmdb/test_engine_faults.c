/*
 * The engine when LMDB fails: whatever it says, at whichever of its calls, is reported, leaves what
 * is stored and nothing half-done, and what comes next works again.
 */
#include "faults/lmdb_faults.h"
#include "unit/lmdb/filled_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/ticks.h"
#include "catalog/check_records.h"
#include "entity/key.h"
#include "lmdb/registry.h"
#include "lmdb/tree.h"

/* --- Every call of LMDB's --- */

/* Everything that reads: SQLITE_OK only if all that is stored was seen. */
static int read_all(pt_store *store, pt_error *error)
{
    const scan_start starts[] = {
        {.direction = PT_FORWARD, .rows = 6},
        {.from = long_key(1), .direction = PT_FORWARD, .rows = 3},
        {.from = long_key(3), .direction = PT_BACKWARD, .rows = 5},
        {.from = pt_slice_of("\2", 1), .direction = PT_BACKWARD, .rows = 6},
    };
    bool found = false;
    pt_slice record;
    pt_table_counts counts;
    pt_store_info info;
    pt_snapshot *snapshot = NULL;
    int rc = engine->snapshot_new(store, &snapshot, error);
    if (rc == SQLITE_OK) {
        rc = engine->snapshot_begin(snapshot, error);
    }
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof starts / sizeof starts[0]; i++) {
        rc = scan_from(snapshot, &starts[i], error);
    }
    if (rc == SQLITE_OK) {
        rc = engine->get(snapshot, long_key(2), &found, &record, error);
        assert_true(rc != SQLITE_OK || found);
    }
    if (rc == SQLITE_OK) {
        rc = engine->counts(snapshot, 1, &counts, error);
        assert_true(rc != SQLITE_OK || counts.entities == 6);
    }
    engine->snapshot_free(snapshot);
    return rc == SQLITE_OK ? engine->info(store, &info, error) : rc;
}

/* A transaction that leaves everything as it was. */
static int write_and_delete(pt_store *store, pt_error *error)
{
    pt_writer *writer = NULL;
    pt_commit commit = {.sync = PT_SYNC_OFF};
    test_key other = key_of(2, "b");
    lock_store(store);
    int rc = engine->write_begin(store, &writer, error);
    if (rc == SQLITE_OK) {
        rc = engine->write_put(writer, long_key(3), pt_slice_text("new"), error);
        rc = rc == SQLITE_OK
                 ? engine->write_put(writer, key_slice(&other), pt_slice_text("b"), error)
                 : rc;
        rc = rc == SQLITE_OK ? engine->write_delete(writer, long_key(3), error) : rc;
        rc = rc == SQLITE_OK ? engine->write_delete(writer, key_slice(&other), error) : rc;
        if (rc == SQLITE_OK) {
            rc = engine->write_commit(writer, &commit, error);
        } else {
            engine->write_abort(writer);
        }
    }
    engine->unlock(store);
    return rc;
}

static void assert_sound(pt_store *store)
{
    assert_ok(read_all(store, &error));
}

typedef int (*work)(pt_store *store, pt_error *error);

/* Fails each call of the function in turn, with the code. */
static void fail_each_call(lmdb_function function, int code, int expected, work what)
{
    pt_store *store = open_filled_store();
    int calls = 0;
    for (bool hit = true; hit; calls++) {
        pt_error error = PT_ERROR_NONE;
        lmdb_fail_at(function, code, calls, 1);
        int rc = what(store, &error);
        hit = lmdb_has_failed(1);
        lmdb_forget_faults();
        assert_int_equal(rc, hit ? expected : SQLITE_OK);
        if (hit && expected != SQLITE_NOMEM) {
            assert_non_null(strstr(error.message, fixture_path));
        }
        pt_error_clear(&error);
        assert_sound(store);
    }
    assert_true(calls > 1);
    engine->close(store);
}

static int check_all(pt_store *store, pt_error *error)
{
    char *text = NULL;
    int rc = pt_check_store(&pt_lmdb_engine, fixture_path, store, NULL, &text, error);
    sqlite3_free(text);
    return rc;
}

static int begin_again(pt_store *store, pt_error *error)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    engine->snapshot_end(snapshot);
    int rc = engine->snapshot_begin(snapshot, error);
    engine->snapshot_free(snapshot);
    return rc;
}

static void failing_reads_are_reported(void **state)
{
    (void)state;
    fail_each_call(LMDB_TXN_BEGIN, EIO, SQLITE_IOERR, check_all);
    fail_each_call(LMDB_TXN_RENEW, EIO, SQLITE_IOERR, begin_again);
    static const lmdb_function functions[] = {LMDB_GET, LMDB_CURSOR_OPEN, LMDB_CURSOR_GET,
                                              LMDB_CURSOR_SET};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        fail_each_call(functions[i], MDB_CORRUPTED, SQLITE_CORRUPT, read_all);
        fail_each_call(functions[i], EIO, SQLITE_IOERR, read_all);
    }
    /* A cursor searches exactly only for keys that exist. */
    fail_each_call(LMDB_CURSOR_SET, MDB_NOTFOUND, SQLITE_CORRUPT, read_all);
}

static void failing_writes_are_reported(void **state)
{
    (void)state;
    static const lmdb_function functions[] = {LMDB_GET, LMDB_CURSOR_OPEN, LMDB_CURSOR_GET,
                                              LMDB_CURSOR_SET, LMDB_DEL};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        fail_each_call(functions[i], MDB_CORRUPTED, SQLITE_CORRUPT, write_and_delete);
    }
}

/* --- Beginning --- */

static void check_recovered(pt_store *store)
{
    lmdb_forget_faults();
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    store_text(store, 1, "a", "one");
}

static void map_that_cannot_grow_is_made_anew(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, MDB_MAP_RESIZED, 0, 1);
    lmdb_faults[1] = (lmdb_fault){.function = LMDB_SET_MAPSIZE, .code = EINVAL, .times = 1};
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_IOERR, "making its map larger");
    assert_int_equal(lmdb_faults[1].times, 0);
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

static bool is_never_over(void *context)
{
    (void)context;
    return false;
}

static void map_needs_address_space(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, MDB_MAP_RESIZED, 0, 1);
    lmdb_map_is_refused = true;
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_CANTOPEN, "ulimit -v");
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
    lmdb_map_is_refused = true;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "ulimit -v");
    lmdb_forget_faults();
}

static void copy_needs_address_space(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/copy", fixture_folder);
    const pt_watch watch = {.is_over = is_never_over};
    int64_t bytes;
    pt_error none = PT_ERROR_NONE; /* it has no text */
    pt_store *store = open_filled_store();
    lmdb_map_is_refused = true;
    assert_int_equal(engine->backup(store, path, &watch, &bytes, &none), SQLITE_NOMEM);
    assert_int_equal(fixture_file_count(), 2);
    lmdb_forget_faults();
    assert_ok(engine->backup(store, path, &watch, &bytes, &error));
    check_recovered(store);
    engine->close(store);
}

static void endless_growth_is_an_error(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, MDB_MAP_RESIZED, 0, 100);
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_BUSY, "made it larger");
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

/* LMDB refuses a transaction after a failed write of another thread, which gets over it before this
 * one does anything about it. The reader keeps the store from being opened again. */
static void a_failure_that_is_over_keeps_nobody_out(void **state)
{
    (void)state;
    static const lmdb_function functions[] = {LMDB_TXN_BEGIN, LMDB_TXN_RENEW};
    pt_store *store = open_filled_store();
    pt_snapshot *reader = begin_snapshot(store);
    pt_snapshot *snapshot = new_snapshot(store);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lmdb_fail_at(functions[i], MDB_PANIC, 0, 1);
        assert_ok(engine->snapshot_begin(snapshot, &error));
        assert_true(lmdb_has_failed(1));
        assert_record(snapshot, 1, "a", "one");
        engine->snapshot_end(snapshot);
    }
    engine->snapshot_free(snapshot);
    engine->snapshot_free(reader);
    check_recovered(store);
    engine->close(store);
}

/* Opening it again fails at first, and the store stays closed till it does not. */
static void store_that_cannot_be_opened_again_is_tried_again(void **state)
{
    (void)state;
    pt_store_info info = {0};
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, MDB_PANIC, 0, 2);
    lmdb_faults[1] = (lmdb_fault){.function = LMDB_ENV_OPEN, .code = EIO, .times = 2};
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_IOERR, "opening it");
    assert_null(((pt_lmdb_store *)store)->env.env);
    assert_fails(engine->info(store, &info, &error), SQLITE_IOERR, "opening it");
    assert_ok(engine->info(store, &info, &error));
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

static void store_closed_for_good_can_be_closed(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, MDB_PANIC, 0, 2);
    lmdb_faults[1] = (lmdb_fault){.function = LMDB_ENV_OPEN, .code = EIO, .times = 1};
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_IOERR, NULL);
    engine->snapshot_free(snapshot);
    engine->close(store);
    store = open_store(fixture_path);
    check_recovered(store);
    engine->close(store);
}

/* No statement fails because memory could not be given back. */
static void store_closed_to_give_memory_back_is_opened_later(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = begin_snapshot(store);
    ((pt_lmdb_store *)store)->holds_much = true;
    lmdb_fail_at(LMDB_ENV_OPEN, ENOMEM, 0, 1);
    engine->snapshot_end(snapshot);
    assert_null(((pt_lmdb_store *)store)->env.env);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

static pt_store *reopened;
static pthread_t compactor;
static atomic_bool has_asked;
static bool gate_is_held;

/* As pt_compact does again and again while it waits for readers. */
static void *ask_for_others(void *store)
{
    assert_ok(pt_lmdb_check_alone(store, &error));
    atomic_store(&has_asked, true);
    return NULL;
}

static void look_at_gate_while_another_thread_asks(void)
{
    enum { WAITS = 100, WAIT_US = 1000 };
    int fd = open(fixture_path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pthread_create(&compactor, NULL, ask_for_others, reopened), 0);
    for (int i = 0; i < WAITS && !atomic_load(&has_asked); i++) {
        usleep(WAIT_US);
    }
    assert_int_equal(pt_lock_look(fd, PT_LOCK_GATE, &gate_is_held), 0);
    close(fd);
}

/* Otherwise a process that opens the store now could meet a lock file that is being made. */
static void no_other_thread_releases_the_gate_of_an_opening(void **state)
{
    (void)state;
    reopened = open_filled_store();
    pt_snapshot *snapshot = begin_snapshot(reopened);
    ((pt_lmdb_store *)reopened)->holds_much = true;
    lmdb_before_open = look_at_gate_while_another_thread_asks;
    engine->snapshot_end(snapshot);
    lmdb_before_open = NULL;
    assert_int_equal(pthread_join(compactor, NULL), 0);
    assert_true(gate_is_held);
    assert_true(has_asked);
    engine->snapshot_free(snapshot);
    check_recovered(reopened);
    engine->close(reopened);
}

/* A private store's file has no name any more; it is opened through its descriptor. */
static void private_store_is_opened_again_or_stays(void **state)
{
    (void)state;
    static const lmdb_function functions[] = {LMDB_ENV_OPEN, LMDB_TXN_BEGIN, LMDB_DBI_OPEN,
                                              LMDB_TXN_COMMIT};
    setenv("SQLITE_TMPDIR", fixture_folder, 1);
    pt_store *store = NULL;
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    store_text(store, 1, "a", "one");
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        pt_snapshot *snapshot = new_snapshot(store);
        lmdb_fail_at(LMDB_TXN_BEGIN, MDB_PANIC, 0, 2);
        lmdb_faults[1] = (lmdb_fault){.function = functions[i], .code = EIO, .times = 1};
        assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_IOERR, "opening it again");
        engine->snapshot_free(snapshot);
        check_recovered(store);
        assert_int_equal(fixture_file_count(), 0);
    }
    engine->close(store);
    unsetenv("SQLITE_TMPDIR");
}

static size_t map_size_of(const pt_store *store)
{
    MDB_envinfo info;
    mdb_env_info(((const pt_lmdb_store *)store)->env.env, &info);
    return info.me_mapsize;
}

/* Its file is mapped twice for a moment. Without room for that, memory is not worth a smaller map.
 * After a failed write it must be opened again in any case. */
static void private_store_keeps_its_room(void **state)
{
    (void)state;
    pt_store *store = NULL;
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    store_text(store, 1, "a", "one");
    size_t size = map_size_of(store);
    for (int refused = 0; refused < 2; refused++) {
        pt_snapshot *snapshot = begin_snapshot(store);
        const MDB_env *env = ((pt_lmdb_store *)store)->env.env;
        ((pt_lmdb_store *)store)->holds_much = true;
        lmdb_map_is_refused = refused;
        engine->snapshot_end(snapshot);
        assert_int_equal(((pt_lmdb_store *)store)->env.env == env, refused);
        assert_false(((pt_lmdb_store *)store)->holds_much);
        assert_int_equal(map_size_of(store), size);
        engine->snapshot_free(snapshot);
        check_recovered(store);
    }
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, MDB_PANIC, 0, 2);
    lmdb_map_is_refused = true;
    assert_ok(engine->snapshot_begin(snapshot, &error));
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

/* --- Opening --- */

static void failures_of_opening_say_what_to_do(void **state)
{
    (void)state;
    static const struct {
        int code;
        int rc;
        const char *part;
    } failures[] = {
        {MDB_INVALID, SQLITE_CANTOPEN, "lock file (-lock)"},
        {MDB_VERSION_MISMATCH, SQLITE_CANTOPEN, "another version of LMDB"},
        {EACCES, SQLITE_CANTOPEN, "check the permissions"},
        {EPERM, SQLITE_CANTOPEN, "check the permissions"},
        {EROFS, SQLITE_CANTOPEN, "check the permissions"},
        {EIO, SQLITE_IOERR, "check the disk"},
        {ENOMEM, SQLITE_NOMEM, NULL},
    };
    engine->close(open_filled_store());
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        pt_store *store = NULL;
        pt_error error = PT_ERROR_NONE;
        lmdb_fail_at(LMDB_ENV_OPEN, failures[i].code, 0, 1);
        assert_int_equal(engine->open(fixture_path, 0, &store, &error), failures[i].rc);
        assert_true(failures[i].part == NULL || strstr(error.message, failures[i].part) != NULL);
        pt_error_clear(&error);
        assert_null(store);
    }
    pt_store *store = open_store(fixture_path);
    check_recovered(store);
    engine->close(store);
}

/* The last of these calls only looks for the place of the map: it is dumped with the core then. */
static void map_that_is_not_found_is_used(void **state)
{
    (void)state;
    static const lmdb_function functions[] = {LMDB_TXN_BEGIN, LMDB_GET};
    engine->close(open_filled_store());
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        int opened = 0;
        bool hit = true;
        for (int skipped = 0; hit; skipped++) {
            pt_store *store = NULL;
            pt_error error = PT_ERROR_NONE;
            lmdb_fail_at(functions[i], EIO, skipped, 1);
            int rc = engine->open(fixture_path, 0, &store, &error);
            hit = lmdb_has_failed(1);
            lmdb_forget_faults();
            assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_IOERR && error.message != NULL));
            if (rc == SQLITE_OK) {
                opened += hit;
                check_recovered(store);
                engine->close(store);
            }
            pt_error_clear(&error);
        }
        assert_int_equal(opened, 1);
    }
}

static char other_path[128];

static void put_other_in_place(void)
{
    lmdb_before_open = NULL;
    assert_int_equal(rename(other_path, fixture_path), 0);
}

static void put_link_in_place(void)
{
    lmdb_before_open = NULL;
    assert_int_equal(unlink(fixture_path), 0);
    assert_int_equal(symlink(other_path, fixture_path), 0);
}

/* LMDB opens by name what may be another file by then. */
static void file_replaced_at_the_last_moment_is_not_used(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    engine->close(store);
    snprintf(other_path, sizeof other_path, "%s/other", fixture_folder);
    engine->close(open_store(other_path));
    lmdb_forget_faults();
    lmdb_before_open = put_other_in_place;
    assert_ok(engine->open(fixture_path, 0, &store, &error)); /* the next try finds the other */
    assert_null(lmdb_before_open);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", NULL);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void link_to_another_device_is_not_followed(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    engine->close(store);
    if (!make_folder_elsewhere(fixture_folder, other_path)) {
        skip();
    }
    strcat(other_path, "/b");
    engine->close(open_store(other_path));
    lmdb_forget_faults();
    lmdb_before_open = put_link_in_place;
    assert_ok(engine->open(fixture_path, 0, &store, &error));
    assert_string_equal(store->path, other_path);
    engine->close(store);
    unlink(other_path);
    strcat(other_path, "-lock");
    unlink(other_path);
    *strrchr(other_path, '/') = 0;
    assert_int_equal(rmdir(other_path), 0);
}

/* --- Versions --- */

static void store_that_never_stands_still_is_busy(void **state)
{
    (void)state;
    pt_store *store = NULL;
    engine->close(open_filled_store());
    lmdb_versions_behind = 2;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_BUSY,
                 "changes too fast to be opened");
    lmdb_forget_faults();
    store = open_store(fixture_path);
    check_recovered(store);
    engine->close(store);
}

/* LMDB's lock file names an older version than the newest, whose roots are the ones that are seen.
 */
static void version_that_stays_behind_is_the_states(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_forget_faults();
    lmdb_versions_ahead = 1;
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_end(snapshot);
    lmdb_fail_at(LMDB_GET, EIO, 0, 1);
    lmdb_versions_ahead = 1;
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_IOERR, "reading its state");
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

/* A commit that leaves the record of the state as it is, as no commit of a store does. */
static void commit_past_the_state(void)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val value = {.mv_size = 1, .mv_data = "x"};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &value, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void version_that_is_not_the_states_is_not_shown(void **state)
{
    (void)state;
    lmdb_forget_faults();
    engine->close(open_filled_store());
    commit_past_the_state();
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = new_snapshot(store);
    lmdb_versions_ahead = 1;
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_BUSY, "changes too fast");
    engine->snapshot_free(snapshot);
    check_recovered(store);
    engine->close(store);
}

/* --- Committing --- */

static int commit_record(pt_store *store, pt_sync sync, const char *record, pt_error *error)
{
    pt_commit commit = {.sync = sync};
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", record);
    return engine->write_commit(writer, &commit, error);
}

static void assert_stored(pt_store *store, const char *record)
{
    lmdb_forget_faults();
    engine->unlock(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", record);
    engine->snapshot_free(snapshot);
}

static void check_commits(pt_store *store)
{
    static const pt_sync modes[] = {PT_SYNC_OFF, PT_SYNC_NORMAL, PT_SYNC_FULL};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        lmdb_forget_faults();
        lmdb_faults[0] = (lmdb_fault){.function = LMDB_TXN_COMMIT_DONE, .code = EIO, .times = 1};
        assert_ok(commit_record(store, modes[i], "done", &error));
        assert_stored(store, "done");
        lmdb_fail_at(LMDB_TXN_COMMIT, EIO, 0, 1);
        assert_fails(commit_record(store, modes[i], "not done", &error), SQLITE_IOERR,
                     "committing");
        assert_stored(store, "done");
    }
}

/* LMDB's word is not taken for it, in every mode. */
static void what_was_committed_is_looked_for(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    check_commits(store);
    engine->close(store);
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    check_commits(store);
    engine->close(store);
}

/* Then LMDB's root pages must tell. */
static void what_was_committed_may_be_hard_to_look_for(void **state)
{
    (void)state;
    static const lmdb_fault looks[] = {{LMDB_TXN_BEGIN, ENOMEM, 1, 1}, {LMDB_GET, EIO, 0, 1}};
    pt_store *store = open_filled_store();
    assert_ok(commit_record(store, PT_SYNC_OFF, "old", &error)); /* the state is known from now */
    assert_stored(store, "old");
    for (size_t i = 0; i < 2; i++) {
        lmdb_forget_faults();
        lmdb_faults[0] = (lmdb_fault){.function = LMDB_TXN_COMMIT_DONE, .code = EIO, .times = 1};
        lmdb_faults[1] = looks[i];
        assert_ok(commit_record(store, PT_SYNC_OFF, "done", &error));
        assert_int_equal(lmdb_faults[1].times, 0);
        assert_stored(store, "done");
        lmdb_fail_at(LMDB_TXN_COMMIT, EIO, 0, 1);
        lmdb_faults[1] = looks[i];
        assert_fails(commit_record(store, PT_SYNC_OFF, "not done", &error), SQLITE_IOERR, NULL);
        assert_int_equal(lmdb_faults[1].times, 0);
        assert_stored(store, "done");
    }
    engine->close(store);
}

static void failed_transaction_is_not_committed(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    pt_commit commit = {.sync = PT_SYNC_OFF};
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", "half");
    lmdb_fail_at(LMDB_GET, MDB_CORRUPTED, 0, 1);
    assert_fails(engine->write_put(writer, long_key(3), pt_slice_text("new"), &error),
                 SQLITE_CORRUPT, "writing a record");
    assert_fails(engine->write_commit(writer, &commit, &error), SQLITE_IOERR, "preparing a commit");
    assert_stored(store, "one");
    engine->close(store);
}

/* It is a precaution, for when the clock was set back, and nobody is told. */
static void last_tick_may_stay_unstored(void **state)
{
    (void)state;
    pt_store *store = open_filled_store();
    int64_t last = pt_ticks_now() + INT64_C(36000000000); /* in an hour */
    lock_store(store);
    ((pt_lmdb_store *)store)->last_timestamp = last;
    lmdb_fail_at(LMDB_TXN_BEGIN, EIO, 0, 1);
    engine->unlock(store);
    assert_true(lmdb_has_failed(1));
    lock_store(store);
    engine->unlock(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_int_equal(snapshot->clock, last);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* --- Room --- */

/* Its map has no more pages than are kept for deletes. */
static void smallest_map_takes_nothing(void **state)
{
    (void)state;
    engine->close(open_filled_store());
    set_map_size("64K");
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    lmdb_fail_at(LMDB_CURSOR_OPEN, ENOMEM, 0, 1);
    pt_error none = PT_ERROR_NONE; /* it has no text */
    assert_int_equal(engine->write_put(writer, long_key(3), pt_slice_text("x"), &none),
                     SQLITE_NOMEM);
    lmdb_fail_at(LMDB_TXN_BEGIN, ENOMEM, 0, 1);
    assert_int_equal(engine->write_put(writer, long_key(3), pt_slice_text("x"), &none),
                     SQLITE_NOMEM);
    lmdb_forget_faults();
    assert_fails(engine->write_put(writer, long_key(3), pt_slice_text("x"), &error), SQLITE_FULL,
                 "PTABLE_MAP_SIZE");
    engine->write_abort(writer);
    engine->unlock(store);
    assert_sound(store);
    engine->close(store);
    set_map_size(NULL);
}

/* --- Trees --- */

static void tree_without_a_cursor_is_asked_in_vain(void **state)
{
    (void)state;
    pt_lmdb_store *store = (pt_lmdb_store *)open_filled_store();
    bool has = true;
    pt_lmdb_tree tree = {.dbi = store->env.entities};
    assert_int_equal(mdb_txn_begin(store->env.env, NULL, 0, &tree.txn), 0);
    lmdb_fail_at(LMDB_CURSOR_OPEN, ENOMEM, 0, 1);
    assert_int_equal(pt_lmdb_tree_has_prefix(&tree, pt_slice_of("\1", 1), &has), ENOMEM);
    assert_false(has);
    assert_int_equal(pt_lmdb_tree_has_prefix(&tree, pt_slice_of("\1", 1), &has), MDB_SUCCESS);
    assert_true(has);
    assert_int_equal(pt_lmdb_tree_has_prefix(&tree, pt_slice_of("\2", 1), &has), MDB_SUCCESS);
    assert_false(has);
    mdb_txn_abort(tree.txn);
    engine->close(&store->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(failing_reads_are_reported),
        store_test(failing_writes_are_reported),
        store_test(map_that_cannot_grow_is_made_anew),
        store_test(map_needs_address_space),
        store_test(copy_needs_address_space),
        store_test(endless_growth_is_an_error),
        store_test(a_failure_that_is_over_keeps_nobody_out),
        store_test(store_that_cannot_be_opened_again_is_tried_again),
        store_test(store_closed_for_good_can_be_closed),
        store_test(store_closed_to_give_memory_back_is_opened_later),
        store_test(no_other_thread_releases_the_gate_of_an_opening),
        store_test(private_store_is_opened_again_or_stays),
        store_test(private_store_keeps_its_room),
        store_test(failures_of_opening_say_what_to_do),
        store_test(map_that_is_not_found_is_used),
        store_test(file_replaced_at_the_last_moment_is_not_used),
        store_test(link_to_another_device_is_not_followed),
        store_test(store_that_never_stands_still_is_busy),
        store_test(version_that_stays_behind_is_the_states),
        store_test(version_that_is_not_the_states_is_not_shown),
        store_test(what_was_committed_is_looked_for),
        store_test(what_was_committed_may_be_hard_to_look_for),
        store_test(failed_transaction_is_not_committed),
        store_test(last_tick_may_stay_unstored),
        store_test(smallest_map_takes_nothing),
        store_test(tree_without_a_cursor_is_asked_in_vain),
    };
    /* Of commits to the file. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
