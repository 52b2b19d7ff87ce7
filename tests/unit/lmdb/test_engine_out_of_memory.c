/*
 * The engine while there is no memory for LMDB, the C library and the engine's own lists: in the
 * end it knows whether a commit took place, and says so.
 */
#include "faults/library_memory.h"
#include "fixtures/store_fixture.h"

enum { RECORD_SIZE = 900 };

static const char *const keys[] = {"a", "b", "c", "d", "e"};

/* Takes a writer over. */
static int write_all(pt_writer *writer, const char *record)
{
    pt_error error = PT_ERROR_NONE;
    pt_commit commit = {.sync = PT_SYNC_OFF};
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof keys / sizeof keys[0]; i++) {
        test_key key = key_of(1, keys[i]);
        rc = engine->write_put(writer, key_slice(&key), pt_slice_text(record), &error);
    }
    if (rc == SQLITE_OK) {
        rc = engine->write_commit(writer, &commit, &error);
    } else {
        engine->write_abort(writer);
    }
    pt_error_clear(&error);
    return rc;
}

static int write_record(pt_store *store, const char *record)
{
    pt_error error = PT_ERROR_NONE;
    pt_writer *writer = NULL;
    int rc = engine->write_begin(store, &writer, &error);
    pt_error_clear(&error);
    return rc == SQLITE_OK ? write_all(writer, record) : rc;
}

static void assert_all(pt_store *store, const char *record)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_record(snapshot, 1, keys[i], record);
    }
    engine->snapshot_free(snapshot);
}

/* In a store that has just been opened: LMDB keeps memory for later writes. Whether one failed. */
static bool try_number(int number, bool persistent, char before[RECORD_SIZE], int *failed)
{
    char record[RECORD_SIZE];
    long blocks = library_blocks;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    snprintf(record, sizeof record, "%d %0*d", number, 100 + number * 7 % 700, persistent);
    failing_malloc_elsewhere = true;
    failing_malloc_arm(number, persistent);
    int rc = write_record(store, record);
    bool hit = failing_malloc_disarm();
    assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
    if (rc == SQLITE_OK) {
        memcpy(before, record, RECORD_SIZE);
    }
    assert_all(store, before);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(library_blocks, blocks);
    *failed += rc != SQLITE_OK;
    return hit;
}

static void a_write_without_memory_says_what_it_did(void **state)
{
    (void)state;
    if (!library_memory_can_fail()) {
        skip();
    }
    char before[RECORD_SIZE] = "before";
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    assert_int_equal(write_record(store, before), SQLITE_OK);
    engine->unlock(store);
    engine->close(store);
    for (int persistent = 0; persistent <= 1; persistent++) {
        int failed = 0;
        for (int number = 0; try_number(number, persistent, before, &failed);) {
            number++;
        }
        assert_true(failed > 5);
    }
}

static int next_descriptor(void)
{
    int fd = dup(STDIN_FILENO);
    close(fd);
    return fd;
}

/* Its descriptor must stay open, but not one more for each try. */
static void a_file_that_is_no_store_is_kept_without_memory(void **state)
{
    (void)state;
    FILE *file = fopen(fixture_path, "w");
    assert_non_null(file);
    fputs("something else, and long enough for a look at it", file);
    fclose(file);
    int before = next_descriptor();
    for (int tries = 0; tries < 20; tries++) {
        pt_store *store = NULL;
        pt_error error = PT_ERROR_NONE;
        failing_malloc_elsewhere = true;
        failing_malloc_arm(0, true);
        int rc = engine->open(fixture_path, PT_OPEN_CREATE, &store, &error);
        failing_malloc_disarm();
        pt_error_clear(&error);
        assert_int_equal(rc, SQLITE_CANTOPEN);
    }
    assert_true(next_descriptor() <= before + 1);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_write_without_memory_says_what_it_did, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_store_is_kept_without_memory,
                                        fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
