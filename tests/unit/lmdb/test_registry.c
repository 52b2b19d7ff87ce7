#include "fixtures/store_fixture.h"

#include <fcntl.h>
#include <grp.h>
#include <lmdb.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "faults/failing_malloc.h"
#include "fixtures/sealed.h"
#include "lmdb/page/page.h"
#include "lmdb/registry.h"

static void write_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

/* A store with one record, closed again. */
static void make_store(void)
{
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    engine->close(store);
}

static void check_store(const char *path)
{
    pt_store *store = open_store(path);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    assert_counts(snapshot, 1, 1, 2 + 3);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

#define assert_cannot_open(path, part)                                                             \
    do {                                                                                           \
        pt_store *unopened = NULL;                                                                 \
        assert_fails(engine->open(path, PT_OPEN_CREATE, &unopened, &error), SQLITE_CANTOPEN,       \
                     part);                                                                        \
        assert_null(unopened);                                                                     \
    } while (0)

/* Changes one of LMDB's records, as another program would. */
static void alter_store(const char *database, const char *key, pt_slice value)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val mdb_key = {.mv_size = strlen(key), .mv_data = (void *)(uintptr_t)key};
    MDB_val mdb_value = {.mv_size = value.size, .mv_data = (void *)(uintptr_t)value.data};
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 4);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, database, MDB_CREATE, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &mdb_key, &mdb_value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

/* --- Creating --- */

static void created_store_is_there_again(void **state)
{
    (void)state;
    make_store();
    struct stat file;
    assert_int_equal(stat(fixture_path, &file), 0);
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(file.st_mode & 0777, 0644 & ~mask);
    assert_int_equal(file.st_nlink, 1);
    assert_int_equal(fixture_file_count(), 2); /* with LMDB's lock file, nothing else */
    check_store(fixture_path);
}

static void missing_store_is_created_only_when_asked(void **state)
{
    (void)state;
    pt_store *store;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "does not exist");
    assert_int_equal(fixture_file_count(), 0);
    char path[128];
    snprintf(path, sizeof path, "%s/none/a.ptable", fixture_folder);
    assert_cannot_open(path, "folder does not exist");
    assert_fails(engine->open(path, 0, &store, &error), SQLITE_CANTOPEN, "does not exist");
}

static int open_and_write(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_writer *writer;
    pt_commit commit = {.sync = PT_SYNC_OFF};
    char text[32];
    snprintf(text, sizeof text, "%ld", (long)getpid());
    test_key key = key_of(1, text);
    if (engine->open(fixture_path, PT_OPEN_CREATE, &store, &error) != SQLITE_OK ||
        engine->lock(store, 20000, &error) != SQLITE_OK ||
        engine->write_begin(store, &writer, &error) != SQLITE_OK ||
        engine->write_put(writer, key_slice(&key), pt_slice_text("x"), &error) != SQLITE_OK ||
        engine->write_commit(writer, &commit, &error) != SQLITE_OK) {
        return 1;
    }
    engine->unlock(store);
    engine->close(store);
    return 0;
}

static void racing_creators_share_one_store(void **state)
{
    (void)state;
    enum { ROUNDS = 6, CREATORS = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[CREATORS];
        for (int i = 0; i < CREATORS; i++) {
            children[i] = start_child(open_and_write);
        }
        for (int i = 0; i < CREATORS; i++) {
            await_child(children[i]);
        }
        pt_store *store = open_store(fixture_path);
        pt_snapshot *snapshot = begin_snapshot(store);
        pt_table_counts counts = {0};
        assert_ok(engine->counts(snapshot, 1, &counts, &error));
        assert_int_equal(counts.entities, CREATORS);
        engine->snapshot_free(snapshot);
        engine->close(store);
        assert_int_equal(fixture_file_count(), 2);
        assert_int_equal(unlink(fixture_path), 0);
    }
}

/* --- What is not a store --- */

static void other_things_are_refused(void **state)
{
    (void)state;
    assert_cannot_open(fixture_folder, "folder");
    write_file(fixture_path, "", 0);
    assert_cannot_open(fixture_path, "empty");
    write_file(fixture_path, "SQLite format 3", 16);
    assert_cannot_open(fixture_path, "not a ptable store");
    uint8_t zeros[8192] = {0};
    write_file(fixture_path, zeros, sizeof zeros);
    assert_cannot_open(fixture_path, "not a ptable store");
    assert_int_equal(fixture_file_count(), 1); /* no lock file beside it */
    unlink(fixture_path);
    assert_int_equal(mkfifo(fixture_path, 0600), 0);
    assert_cannot_open(fixture_path, "not a regular file");
    unlink(fixture_path);
    assert_int_equal(symlink("nowhere", fixture_path), 0);
    assert_cannot_open(fixture_path, fixture_path);
}

static void foreign_lmdb_files_are_refused(void **state)
{
    (void)state;
    alter_store("other", "key", pt_slice_text("value"));
    assert_cannot_open(fixture_path, "another program's");
    alter_store(NULL, "header", pt_slice_text("something that is no header"));
    assert_cannot_open(fixture_path, "another program's");
}

static pt_slice header_with(uint8_t *bytes, size_t feature_word)
{
    memset(bytes, 0, 24); /* longer than today's: that alone is no obstacle */
    memcpy(bytes, "ptable\0\1\17", 9);
    bytes[8 + 4 * feature_word + 1] = 0x80;
    return sealed(pt_slice_text("header"), pt_slice_of(bytes, 24));
}

static void newer_formats_are_told_apart(void **state)
{
    (void)state;
    uint8_t bytes[24];
    make_store();
    alter_store(NULL, "header", header_with(bytes, 0));
    assert_cannot_open(fixture_path, "newer version");
    alter_store(NULL, "header", header_with(bytes, 2));
    check_store(fixture_path);
    alter_store(NULL, "header", header_with(bytes, 1));
    check_store(fixture_path);
    pt_store *store = open_store(fixture_path);
    assert_true(store->read_only);
    assert_fails(engine->lock(store, 0, &error), SQLITE_READONLY, "newer version");
    engine->close(store);
}

/* In one of them table ids have four bytes and records one checksum, in the other one records have
 * no checksum. */
static void older_formats_are_told_apart(void **state)
{
    (void)state;
    const pt_slice sealed_header = pt_slice_of("ptable\0\1\1\0\0\0\0\0\0\0\0\0\0\0", 20);
    make_store();
    alter_store(NULL, "header", sealed(pt_slice_text("header"), sealed_header));
    assert_cannot_open(fixture_path, "export its tables with that version");
    alter_store(NULL, "header", pt_slice_of("ptable\0\1\0\0\0\0\0\0\0\0\0\0\0\0", 20));
    assert_cannot_open(fixture_path, "older version");
}

static void damaged_header_is_reported(void **state)
{
    (void)state;
    pt_store *store = NULL;
    uint8_t header[PT_FORMAT_HEADER_SIZE];
    make_store();
    pt_format_write_header(header);
    header[17] ^= 4; /* a feature that may be ignored */
    alter_store(NULL, "header", pt_slice_of(header, sizeof header));
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CORRUPT,
                 "header has a wrong checksum");
}

static void longer_state_is_accepted(void **state)
{
    (void)state;
    uint8_t bytes[80] = {0};
    pt_slice key = pt_format_state_key();
    pt_format_state stored = {.next_table_id = 77, .clock = 5};
    make_store();
    size_t size = pt_format_write_state(&stored, bytes);
    memset(bytes + size - PT_SEAL_SIZE, 0, PT_SEAL_SIZE); /* no log */
    alter_store(NULL, "current", sealed(key, pt_slice_of(bytes, sizeof bytes)));
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_int_equal(snapshot->next_table_id, 77);
    engine->snapshot_free(snapshot);
    engine->close(store);
    alter_store(NULL, "current", sealed(key, pt_slice_of(bytes, 20)));
    store = open_store(fixture_path);
    snapshot = new_snapshot(store);
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_CORRUPT, "state");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void truncated_store_is_refused_at_every_size(void **state)
{
    (void)state;
    struct stat file;
    make_store_of(500);
    assert_int_equal(stat(fixture_path, &file), 0);
    /* Without both root pages the file is damaged; without other pages it is truncated. */
    for (off_t size = file.st_size - 1; size > 0; size -= 3000) {
        int code =
            size < sysconf(_SC_PAGESIZE) + PT_LMDB_META_SIZE ? SQLITE_CORRUPT : SQLITE_CANTOPEN;
        pt_store *unopened = NULL;
        assert_int_equal(truncate(fixture_path, size), 0);
        assert_fails(engine->open(fixture_path, PT_OPEN_CREATE, &unopened, &error), code,
                     fixture_path);
        assert_null(unopened);
    }
}

/* --- Permissions; the tests may run as root, who has them all --- */

static int drop_rights(void)
{
    return getuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0);
}

static int read_without_rights(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_snapshot *snapshot;
    bool found = false;
    pt_slice record;
    test_key key = key_of(1, "a");
    if (drop_rights() || engine->open(fixture_path, PT_OPEN_CREATE, &store, &error) != SQLITE_OK ||
        !store->read_only) {
        return 1;
    }
    if (engine->lock(store, 0, &error) != SQLITE_READONLY ||
        engine->snapshot_new(store, &snapshot, &error) != SQLITE_OK ||
        engine->snapshot_begin(snapshot, &error) != SQLITE_OK ||
        engine->get(snapshot, key_slice(&key), &found, &record, &error) != SQLITE_OK || !found) {
        return 2;
    }
    engine->snapshot_free(snapshot);
    engine->close(store);
    pt_error_clear(&error);
    return 0;
}

static int open_in_vain(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    if (drop_rights() ||
        engine->open(fixture_path, PT_OPEN_CREATE, &store, &error) != SQLITE_CANTOPEN) {
        return 1;
    }
    bool told = strstr(error.message, "permission") != NULL;
    pt_error_clear(&error);
    return told ? 0 : 2;
}

static void rights_decide(void **state)
{
    (void)state;
    make_store();
    assert_int_equal(chmod(fixture_folder, 0777), 0);
    assert_int_equal(chmod(fixture_path, 0444), 0);
    char lock_file[128];
    snprintf(lock_file, sizeof lock_file, "%s-lock", fixture_path);
    unlink(lock_file);
    await_child(start_child(read_without_rights));
    unlink(lock_file);
    assert_int_equal(chmod(fixture_path, 0000), 0);
    await_child(start_child(open_in_vain));
    unlink(fixture_path);
    assert_int_equal(chmod(fixture_folder, 0555), 0);
    await_child(start_child(open_in_vain));
    assert_int_equal(chmod(fixture_folder, 0700), 0);
}

/* --- One environment a file --- */

static void names_of_one_file_share_its_store(void **state)
{
    (void)state;
    char alias[128];
    snprintf(alias, sizeof alias, "%s/alias", fixture_folder);
    assert_int_equal(symlink(fixture_path, alias), 0);
    pt_store *store = open_store(fixture_path);
    pt_store *same = open_store(alias);
    assert_ptr_equal(store, same);
    engine->close(store);
    store_text(same, 1, "a", "one");
    engine->close(same);
    check_store(alias); /* alone, and still beside the lock file of the real name */
    assert_int_equal(fixture_file_count(), 3);
}

static void stores_do_not_mix(void **state)
{
    (void)state;
    char other_path[128];
    snprintf(other_path, sizeof other_path, "%s/b.ptable", fixture_folder);
    pt_store *store = open_store(fixture_path);
    pt_store *other = open_store(other_path);
    assert_ptr_not_equal(store, other);
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(other);
    assert_record(snapshot, 1, "a", NULL);
    engine->snapshot_free(snapshot);
    engine->close(store);
    engine->close(other);
    check_store(fixture_path);
}

static void *open_and_close(void *context)
{
    (void)context;
    intptr_t failures = 0;
    for (int i = 0; i < 30; i++) {
        pt_error error = PT_ERROR_NONE;
        pt_store *store;
        pt_snapshot *snapshot;
        if (engine->open(fixture_path, PT_OPEN_CREATE, &store, &error) != SQLITE_OK) {
            pt_error_clear(&error);
            failures++;
            continue;
        }
        failures += engine->snapshot_new(store, &snapshot, &error) != SQLITE_OK ||
                    engine->snapshot_begin(snapshot, &error) != SQLITE_OK;
        engine->snapshot_free(snapshot);
        engine->close(store);
    }
    return (void *)failures;
}

static void threads_open_and_close_one_file(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failures;
        pthread_join(threads[i], &failures);
        assert_null(failures);
    }
    assert_int_equal(fixture_file_count(), 2);
}

/* --- Private stores --- */

static void private_stores_leave_no_names(void **state)
{
    (void)state;
    assert_int_equal(setenv("SQLITE_TMPDIR", fixture_folder, 1), 0);
    pt_store *store = NULL;
    pt_store *other = NULL;
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE | PT_OPEN_CREATE, &other, &error));
    assert_ptr_not_equal(store, other);
    assert_int_equal(fixture_file_count(), 0);
    assert_string_equal(store->path, "(private)");
    store_text(store, 1, "a", "one");
    lock_store(other); /* each has a writer lock of its own */
    lock_store(store);
    assert_fails(engine->lock(store, 0, &error), SQLITE_BUSY, NULL);
    engine->unlock(store);
    engine->unlock(other);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    engine->close(store);
    engine->close(other);
    unsetenv("SQLITE_TMPDIR");
}

static void unusable_places_for_private_stores_are_passed_over(void **state)
{
    (void)state;
    setenv("SQLITE_TMPDIR", "/nowhere/at/all", 1);
    setenv("TMPDIR", fixture_folder, 1);
    pt_store *store = NULL;
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    engine->close(store);
    unsetenv("SQLITE_TMPDIR");
    unsetenv("TMPDIR");
}

/* --- Forks --- */

static pt_store *inherited_store;
static pt_snapshot *inherited_snapshot;
static pt_engine_cursor *inherited_cursor;

static bool is_refused(int rc, pt_error *error)
{
    bool refused = rc == SQLITE_CANTOPEN && strstr(error->message, "before fork()") != NULL;
    pt_error_clear(error);
    return refused;
}

static int use_inherited(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_snapshot *snapshot;
    pt_engine_cursor *cursor;
    pt_writer *writer;
    pt_table_counts counts;
    pt_slice record;
    bool found;
    test_key key = key_of(1, "a");
    pt_slice slice = key_slice(&key);
    pt_store *store = inherited_store;
    pt_snapshot *begun = inherited_snapshot;
    if (!is_refused(engine->lock(store, 0, &error), &error) ||
        !is_refused(engine->snapshot_new(store, &snapshot, &error), &error) ||
        !is_refused(engine->snapshot_begin(begun, &error), &error) ||
        !is_refused(engine->get(begun, slice, &found, &record, &error), &error) ||
        !is_refused(engine->counts(begun, 1, &counts, &error), &error) ||
        !is_refused(engine->cursor_open(begun, &cursor, &error), &error) ||
        !is_refused(engine->cursor_seek(inherited_cursor, slice, (pt_slice){0}, PT_FORWARD, &error),
                    &error) ||
        !is_refused(engine->cursor_step(inherited_cursor, PT_FORWARD, &error), &error) ||
        !is_refused(engine->write_begin(store, &writer, &error), &error) ||
        engine->snapshot_is_newest(begun)) {
        return 1;
    }
    engine->unlock(store);
    engine->cursor_close(inherited_cursor);
    engine->snapshot_free(begun);
    engine->close(store);
    return open_and_write(); /* a new environment works */
}

static void child_cannot_use_or_harm_what_it_inherits(void **state)
{
    (void)state;
    make_store();
    inherited_store = open_store(fixture_path);
    inherited_snapshot = begin_snapshot(inherited_store);
    assert_ok(engine->cursor_open(inherited_snapshot, &inherited_cursor, &error));
    for (int i = 0; i < 3; i++) {
        await_child(start_child(use_inherited));
    }
    /* The snapshot is still protected: many commits do not change it. */
    for (int i = 0; i < 50; i++) {
        store_text(inherited_store, 1, "a", "two");
    }
    assert_record(inherited_snapshot, 1, "a", "one");
    assert_counts(inherited_snapshot, 1, 1, 2 + 3);
    assert_ok(
        engine->cursor_seek(inherited_cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    assert_true(inherited_cursor->valid);
    engine->cursor_close(inherited_cursor);
    engine->snapshot_end(inherited_snapshot);
    assert_ok(engine->snapshot_begin(inherited_snapshot, &error));
    pt_table_counts counts = {0};
    assert_ok(engine->counts(inherited_snapshot, 1, &counts, &error));
    assert_int_equal(counts.entities, 1 + 3); /* one from each child */
    engine->snapshot_free(inherited_snapshot);
    engine->close(inherited_store);
}

/* --- Out of memory --- */

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    make_store();
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_store *store = NULL;
        sqlite3_int64 used = sqlite3_memory_used();
        failing_malloc_arm(n, false);
        int rc = engine->open(fixture_path, 0, &store, &error);
        bool hit = failing_malloc_disarm();
        if (rc == SQLITE_OK) {
            engine->close(store);
        } else {
            assert_int_equal(rc, SQLITE_NOMEM);
            assert_true(hit);
        }
        pt_error_clear(&error);
        assert_int_equal(sqlite3_memory_used(), used);
        if (!hit) {
            break;
        }
    }
    check_store(fixture_path);
}

static void failed_creation_leaves_nothing(void **state)
{
    (void)state;
    int files = 0;
    for (int n = 0; files == 0; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_store *store = NULL;
        sqlite3_int64 used = sqlite3_memory_used();
        failing_malloc_arm(n, false);
        int rc = engine->open(fixture_path, PT_OPEN_CREATE, &store, &error);
        failing_malloc_disarm();
        files = fixture_file_count();
        if (rc == SQLITE_OK) {
            engine->close(store);
        }
        pt_error_clear(&error);
        assert_int_equal(sqlite3_memory_used(), used);
        assert_true(files == 0 || access(fixture_path, R_OK) == 0);
    }
    for (int n = 0; n < 20; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_store *store = NULL;
        setenv("SQLITE_TMPDIR", fixture_folder, 1);
        failing_malloc_arm(n, false);
        int rc = engine->open(NULL, PT_OPEN_PRIVATE, &store, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        if (rc == SQLITE_OK) {
            engine->close(store);
        }
        pt_error_clear(&error);
        assert_int_equal(fixture_file_count(), files);
        unsetenv("SQLITE_TMPDIR");
    }
}

static void engine_names_itself(void **state)
{
    (void)state;
    char expected[64];
    snprintf(expected, sizeof expected, "LMDB %d.%d.%d", MDB_VERSION_MAJOR, MDB_VERSION_MINOR,
             MDB_VERSION_PATCH);
    assert_string_equal(pt_engine_version(), expected);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(created_store_is_there_again, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(missing_store_is_created_only_when_asked, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(racing_creators_share_one_store, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(other_things_are_refused, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(foreign_lmdb_files_are_refused, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(newer_formats_are_told_apart, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(older_formats_are_told_apart, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(damaged_header_is_reported, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(longer_state_is_accepted, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(truncated_store_is_refused_at_every_size, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(rights_decide, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(names_of_one_file_share_its_store, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(stores_do_not_mix, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(threads_open_and_close_one_file, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(private_stores_leave_no_names, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(unusable_places_for_private_stores_are_passed_over,
                                        fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(child_cannot_use_or_harm_what_it_inherits, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_survived, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(failed_creation_leaves_nothing, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test(engine_names_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
