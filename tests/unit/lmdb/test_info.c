#include "fixtures/store_fixture.h"

#include <sys/stat.h>

#include "entity/key.h"
#include "faults/failing_malloc.h"
#include "lmdb/info.h"
#include "lmdb/registry.h"

static pt_store_info info_of(pt_store *store)
{
    pt_store_info info = {0};
    assert_ok(engine->info(store, &info, &error));
    return info;
}

static void put_many(pt_store *store, int from, int count)
{
    static char record[1000];
    memset(record, 'r', sizeof record - 1);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = from; i < from + count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%06d", i);
        put_text(writer, 1, text, record);
    }
    commit_write(writer);
    engine->unlock(store);
}

static void a_new_store(void **state)
{
    (void)state;
    struct stat file;
    pt_store *store = open_store(fixture_path);
    pt_store_info info = info_of(store);
    assert_int_equal(stat(fixture_path, &file), 0);
    assert_int_equal(info.file_bytes, file.st_size);
    assert_int_equal(info.page_size, sysconf(_SC_PAGESIZE));
    assert_in_range(info.used_bytes, 4 * info.page_size, info.file_bytes);
    assert_true(info.version > 0);
    assert_int_equal(info.clock, 0);
    assert_int_equal(info.readers, 0);
    assert_int_equal(info.oldest_reader, 0);
    assert_int_equal(info.garbage, 0);
    engine->close(store);
}

static void sizes_follow_what_is_stored(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_store_info empty = info_of(store);
    put_many(store, 0, 2000);
    pt_store_info full = info_of(store);
    assert_in_range(full.used_bytes - empty.used_bytes, 2000 * 1000, 3000 * 1000);
    assert_in_range(full.file_bytes, full.used_bytes, full.used_bytes + (1 << 20));
    assert_int_equal(full.version, empty.version + 1);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = 0; i < 2000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%06d", i);
        delete_text(writer, 1, text);
    }
    pt_commit commit = {.sync = PT_SYNC_OFF, .clock = 77};
    assert_ok(engine->write_commit(writer, &commit, &error));
    engine->unlock(store);
    pt_store_info cleared = info_of(store);
    assert_in_range(cleared.used_bytes, empty.used_bytes, empty.used_bytes + 100000);
    assert_true(cleared.file_bytes >= full.file_bytes);
    assert_int_equal(cleared.clock, 77);
    engine->close(store);
}

static void garbage_is_counted(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, PT_TABLE_GARBAGE, "abcd", "\1");
    store_text(store, PT_TABLE_GARBAGE, "efgh", "\1");
    assert_int_equal(info_of(store).garbage, 2);
    engine->close(store);
}

static int read_in_child(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_snapshot *snapshot;
    pt_store_info info;
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK ||
        engine->snapshot_new(store, &snapshot, &error) != SQLITE_OK ||
        engine->snapshot_begin(snapshot, &error) != SQLITE_OK ||
        engine->info(store, &info, &error) != SQLITE_OK) {
        return 1;
    }
    return info.readers == 3 ? 0 : 2; /* dies with its snapshot */
}

static void readers_of_all_processes_are_counted(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    put_many(store, 0, 1);
    pt_snapshot *old = begin_snapshot(store);
    put_many(store, 1, 1);
    pt_snapshot *idle = begin_snapshot(store);
    pt_snapshot *young = begin_snapshot(store);
    engine->snapshot_end(idle);
    pt_store_info info = info_of(store);
    assert_int_equal(info.readers, 2);
    assert_int_equal(info.oldest_reader, old->version);
    assert_int_equal(info.version, old->version + 1);
    engine->snapshot_free(idle);
    await_child(start_child(read_in_child));
    info = info_of(store);
    assert_int_equal(info.readers, 2);
    assert_int_equal(info.oldest_reader, old->version);
    engine->snapshot_free(old);
    info = info_of(store);
    assert_int_equal(info.readers, 1);
    assert_int_equal(info.oldest_reader, young->version);
    engine->snapshot_free(young);
    assert_int_equal(info_of(store).readers, 0);
    engine->close(store);
}

static void private_stores_have_sizes_too(void **state)
{
    (void)state;
    pt_store *store = NULL;
    assert_ok(engine->open("", PT_OPEN_CREATE | PT_OPEN_PRIVATE, &store, &error));
    put_many(store, 0, 100);
    pt_store_info info = info_of(store);
    assert_true(info.used_bytes >= 100 * 1000);
    assert_true(info.file_bytes >= info.used_bytes);
    assert_int_equal(info.file_bytes % info.page_size, 0);
    engine->close(store);
}

static pt_store *inherited;

static int ask_in_child(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store_info info;
    int rc = engine->info(inherited, &info, &error);
    pt_error_clear(&error);
    return rc == SQLITE_CANTOPEN ? 0 : 1;
}

static void a_forked_child_is_refused(void **state)
{
    (void)state;
    inherited = open_store(fixture_path);
    await_child(start_child(ask_in_child));
    engine->close(inherited);
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_store_info info = {.page_size = -1};
        failing_malloc_arm(n, false);
        int rc = engine->info(store, &info, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(info.page_size == -1, hit);
        if (!hit) {
            break;
        }
    }
    engine->close(store);
}

/* --- Processes --- */

enum { READERS = 10, LISTED = 8 };

static int ready[2];
static int ended[2];

static int read_twice_till_told(void)
{
    char byte = 0;
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_snapshot *snapshots[2];
    close(ended[1]);
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK) {
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        if (engine->snapshot_new(store, &snapshots[i], &error) != SQLITE_OK ||
            engine->snapshot_begin(snapshots[i], &error) != SQLITE_OK) {
            return 2;
        }
    }
    return write(ready[1], "", 1) == 1 && read(ended[0], &byte, 1) == 0 ? 0 : 3;
}

/* Each of some children is in the list once, and nothing else. */
static void assert_lists(const char *list, const pid_t children[READERS], int expected)
{
    int found = 0;
    for (const char *at = list; *at != 0; found++) {
        char *end;
        long id = strtol(at, &end, 10);
        bool known = false;
        for (int i = 0; i < READERS; i++) {
            known = known || children[i] == id;
        }
        assert_true(known);
        assert_true(*end == 0 || strncmp(end, ", ", 2) == 0);
        at = *end == 0 ? end : end + 2;
    }
    assert_int_equal(found, expected);
}

static void reading_processes_are_named(void **state)
{
    (void)state;
    char byte;
    int out_of_memory = 0;
    pid_t children[READERS];
    pt_store *store = open_store(fixture_path);
    pt_snapshot *own = begin_snapshot(store);
    char *list = pt_lmdb_list_processes((pt_lmdb_store *)store);
    assert_string_equal(list, "");
    sqlite3_free(list);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(ended), 0);
    for (int i = 0; i < READERS; i++) {
        children[i] = start_child(read_twice_till_told);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        list = pt_lmdb_list_processes((pt_lmdb_store *)store);
        assert_lists(list, children, i < LISTED ? i + 1 : LISTED);
        sqlite3_free(list);
    }
    for (bool hit = true; hit; out_of_memory++) {
        failing_malloc_arm(out_of_memory, false);
        list = pt_lmdb_list_processes((pt_lmdb_store *)store);
        hit = failing_malloc_disarm();
        assert_true(hit == (list == NULL));
        sqlite3_free(list);
    }
    close(ended[1]);
    for (int i = 0; i < READERS; i++) {
        await_child(children[i]);
    }
    engine->snapshot_free(own);
    engine->close(store);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        store_test(a_new_store),
        store_test(sizes_follow_what_is_stored),
        store_test(garbage_is_counted),
        store_test(readers_of_all_processes_are_counted),
        store_test(private_stores_have_sizes_too),
        store_test(a_forked_child_is_refused),
        store_test(reading_processes_are_named),
        store_test(failed_allocations_are_reported),
    };
    /* Versions and pages are those of commits to the file. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
