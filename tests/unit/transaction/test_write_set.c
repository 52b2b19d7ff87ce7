#include "faults/faulty_engine.h"

#include "entity/key.h"
#include "faults/failing_malloc.h"
#include "fixtures/sealed.h"
#include "transaction/memtable.h"
#include "transaction/write_set.h"

enum { TABLE = 7 };

static const pt_write_set nothing;
static const pt_commit plain = {.sync = PT_SYNC_OFF};

static pt_store *store;

static int setup(void **state)
{
    (void)state;
    store = open_faulty(NULL);
    lock_store(store);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store->engine->unlock(store);
    store->engine->close(store);
    return 0;
}

/* --- Batches --- */

static void add(pt_memtable *memtable, uint32_t table, const char *text, pt_operation operation,
                const char *record)
{
    test_key key = key_of(table, text);
    uint8_t *bytes = pt_memtable_put(memtable, key_slice(&key), operation, strlen(record));
    assert_non_null(bytes);
    memcpy(bytes, record, strlen(record));
}

static pt_write_set batch_of(pt_memtable *memtable)
{
    pt_write_set batch;
    assert_int_equal(pt_memtable_sorted(memtable, &batch), SQLITE_OK);
    return batch;
}

static void assert_stored(const char *text, const char *expected)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, TABLE, text, expected);
    engine->snapshot_free(snapshot);
}

static void commit(const pt_write_set *undo, pt_snapshot *before, const pt_write_set *redo)
{
    assert_ok(pt_write_set_commit(store, undo, before, redo, &plain, &error));
}

/* What the tests start from: "a" and "b" are stored. The memtable of a transaction over it. */
static pt_memtable *first_transaction(void)
{
    pt_memtable *memtable = pt_memtable_new();
    add(memtable, TABLE, "a", PT_INSERT, "old");
    add(memtable, TABLE, "b", PT_INSERT, "old");
    pt_write_set batch = batch_of(memtable);
    commit(&nothing, NULL, &batch);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
    memtable = pt_memtable_new();
    add(memtable, TABLE, "c", PT_INSERT, "new");
    add(memtable, TABLE, "b", PT_DELETE, "");
    add(memtable, TABLE, "a", PT_MERGE, "newer");
    return memtable;
}

static void operations_are_applied_together(void **state)
{
    (void)state;
    pt_memtable *memtable = first_transaction();
    add(memtable, TABLE, "absent", PT_DELETE, "");
    pt_write_set batch = batch_of(memtable);
    commit(&nothing, NULL, &batch);
    assert_int_equal(fault_calls(FAULTY_COMMIT), 2);
    assert_stored("a", "newer");
    assert_stored("b", NULL);
    assert_stored("c", "new");
    pt_write_set_free(&batch);
    assert_null(batch.entries);
    assert_int_equal(batch.count, 0);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
}

static void undo_and_redo_are_one_commit(void **state)
{
    (void)state;
    pt_memtable *memtable = first_transaction();
    pt_snapshot *before = begin_snapshot(store);
    pt_write_set first = batch_of(memtable);
    commit(&nothing, NULL, &first);
    pt_memtable *changed = pt_memtable_new();
    add(changed, TABLE, "b", PT_REPLACE, "redone");
    add(changed, TABLE, "d", PT_INSERT, "redone");
    pt_write_set second = batch_of(changed);
    fault_none();
    commit(&first, before, &second);
    assert_int_equal(fault_calls(FAULTY_COMMIT), 1);
    assert_stored("a", "old");
    assert_stored("b", "redone");
    assert_stored("c", NULL);
    assert_stored("d", "redone");
    commit(&second, before, &nothing);
    assert_stored("a", "old");
    assert_stored("b", "old");
    assert_stored("d", NULL);
    engine->snapshot_free(before);
    pt_write_set_free(&first);
    pt_write_set_free(&second);
    pt_memtable_free(memtable);
    pt_memtable_free(changed);
}

/* What is taken back may be the drop itself. */
static void dropped_tables_are_collected_unless_undoing(void **state)
{
    (void)state;
    pt_memtable *memtable = first_transaction();
    pt_write_set batch = batch_of(memtable);
    pt_snapshot *before = begin_snapshot(store);
    commit(&nothing, NULL, &batch);
    assert_int_equal(fault_calls(FAULTY_COLLECT), 2);
    commit(&batch, before, &nothing);
    commit(&batch, before, &batch);
    assert_int_equal(fault_calls(FAULTY_COLLECT), 2);
    commit(&nothing, NULL, &nothing);
    assert_int_equal(fault_calls(FAULTY_COLLECT), 3);
    engine->snapshot_free(before);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
}

/* Collecting beforehand is only for room: when it fails, the commit is tried all the same. */
static void a_collection_that_fails_beforehand_is_left(void **state)
{
    (void)state;
    enum { SIZE = 1 << 18 };
    char *record = sqlite3_mprintf("%.*c", SIZE, 'x');
    pt_memtable *memtable = pt_memtable_new();
    add(memtable, TABLE, "large", PT_INSERT, record);
    pt_write_set batch = batch_of(memtable);
    fault_next(FAULTY_COLLECT);
    commit(&nothing, NULL, &batch);
    assert_int_equal(fault_calls(FAULTY_COLLECT), 2);
    assert_stored("large", record);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
    sqlite3_free(record);
}

/* Puts into table 1 until there is no room for a record of that size. */
static void fill(size_t record_size)
{
    static uint8_t record[1500];
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK; i++) {
        char text[32];
        pt_error error = PT_ERROR_NONE;
        snprintf(text, sizeof text, "%zu-%d", record_size, i);
        test_key key = key_of(1, text);
        pt_writer *writer = begin_write(store);
        rc = engine->write_put(writer, key_slice(&key), pt_slice_of(record, record_size), &error);
        rc == SQLITE_OK ? commit_write(writer) : engine->write_abort(writer);
        pt_error_clear(&error);
    }
    assert_int_equal(rc, SQLITE_FULL);
}

static void drop_table_1(void)
{
    test_key garbage = garbage_key(1);
    pt_writer *writer = begin_write(store);
    pt_slice record = sealed(key_slice(&garbage), pt_slice_text("\1"));
    assert_ok(engine->write_put(writer, key_slice(&garbage), record, &error));
    commit_write(writer);
}

static void a_dropped_table_makes_room_in_a_full_store(void **state)
{
    enum { TRIES = 20 };
    teardown(state);
    set_map_size("2M");
    setup(state);
    pt_memtable *memtable = first_transaction();
    fill(1500);
    fill(1);
    drop_table_1();
    pt_write_set batch = batch_of(memtable);
    int rc = SQLITE_FULL;
    for (int tries = 0; rc == SQLITE_FULL && tries < TRIES; tries++) {
        pt_error error = PT_ERROR_NONE;
        rc = pt_write_set_commit(store, &nothing, NULL, &batch, &plain, &error);
        pt_error_clear(&error);
    }
    assert_int_equal(rc, SQLITE_OK);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
    set_map_size(NULL);
}

static void a_failure_changes_nothing(void **state)
{
    (void)state;
    const faulty_method methods[] = {FAULTY_WRITE_BEGIN, FAULTY_RESTORE, FAULTY_DELETE, FAULTY_PUT,
                                     FAULTY_COMMIT};
    pt_memtable *memtable = first_transaction();
    pt_snapshot *before = begin_snapshot(store);
    pt_write_set batch = batch_of(memtable);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        sqlite3_int64 used = sqlite3_memory_used();
        fault_next(methods[i]);
        assert_fails(pt_write_set_commit(store, &batch, before, &batch, &plain, &error), FAULTY_RC,
                     "fire");
        assert_int_equal(sqlite3_memory_used(), used);
        assert_stored("a", "old");
        assert_stored("b", "old");
        assert_stored("c", NULL);
    }
    fault_next(FAULTY_COLLECT);
    assert_fails(pt_write_set_commit(store, &nothing, NULL, &batch, &plain, &error), FAULTY_RC,
                 "fire");
    fault_arm(FAULTY_PUT, 1, false);
    assert_fails(pt_write_set_commit(store, &nothing, NULL, &batch, &plain, &error), FAULTY_RC,
                 "fire");
    assert_stored("a", "old");
    commit(&nothing, NULL, &batch);
    assert_stored("a", "newer");
    engine->snapshot_free(before);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
}

static void the_commit_record_is_handed_on(void **state)
{
    (void)state;
    pt_snapshot *before = begin_snapshot(store);
    const pt_commit given = {.sync = PT_SYNC_NORMAL,
                             .clock = before->clock + 5,
                             .next_table_id = before->next_table_id + 3,
                             .catalog_changed = true};
    assert_ok(pt_write_set_commit(store, &nothing, NULL, &nothing, &given, &error));
    pt_snapshot *after = begin_snapshot(store);
    assert_int_equal(faulty_last_commit.sync, PT_SYNC_NORMAL);
    assert_true(after->clock == before->clock + 5);
    assert_int_equal(after->next_table_id, before->next_table_id + 3);
    assert_true(after->catalog_generation != before->catalog_generation);
    engine->snapshot_free(before);
    engine->snapshot_free(after);
}

static void tells_whether_the_catalogue_is_touched(void **state)
{
    (void)state;
    assert_false(pt_write_set_changes_catalog(&nothing));
    pt_memtable *memtable = pt_memtable_new();
    add(memtable, TABLE, "a", PT_INSERT, "new");
    pt_write_set batch = batch_of(memtable);
    assert_false(pt_write_set_changes_catalog(&batch));
    pt_write_set_free(&batch);
    add(memtable, 0, "logins", PT_DELETE, "");
    batch = batch_of(memtable);
    assert_true(pt_write_set_changes_catalog(&batch));
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
}

/* Taking a commit back must not fail for want of memory: once there was a commit, none is asked
 * for. */
static void needs_no_memory_after_the_first(void **state)
{
    (void)state;
    pt_memtable *memtable = first_transaction();
    pt_write_set batch = batch_of(memtable);
    pt_snapshot *before = begin_snapshot(store);
    commit(&nothing, NULL, &batch);
    failing_malloc_arm(0, true);
    assert_ok(pt_write_set_commit(store, &batch, before, &nothing, &plain, &error));
    assert_false(failing_malloc_disarm());
    assert_stored("a", "old");
    engine->snapshot_free(before);
    pt_write_set_free(&batch);
    pt_memtable_free(memtable);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(operations_are_applied_together),
        TEST(undo_and_redo_are_one_commit),
        TEST(dropped_tables_are_collected_unless_undoing),
        TEST(a_collection_that_fails_beforehand_is_left),
        TEST(a_dropped_table_makes_room_in_a_full_store),
        TEST(a_failure_changes_nothing),
        TEST(the_commit_record_is_handed_on),
        TEST(tells_whether_the_catalogue_is_touched),
        TEST(needs_no_memory_after_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
