#include "session_fixture.h"

#include "pending_batches.h"

static pt_memtable *memtable;

static int setup(void **state)
{
    (void)state;
    memtable = pt_memtable_new();
    return memtable != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pt_memtable_free(memtable);
    return 0;
}

static void put(uint32_t table, const char *partition, const char *row, pt_operation operation,
                const char *record)
{
    uint8_t key[40];
    size_t size = 4 + strlen(partition);
    pt_put_be32(key, table);
    memcpy(key + 4, partition, strlen(partition) + 1);
    memcpy(key + size + 1, row, strlen(row));
    size += 1 + strlen(row);
    uint8_t *bytes = pt_memtable_put(memtable, pt_slice_of(key, size), operation, strlen(record));
    assert_non_null(bytes);
    memcpy(bytes, record, strlen(record));
}

/* "table/partition: operations, bytes; " for each batch. */
static void assert_batches(const char *expected)
{
    char seen[300] = "";
    pt_pending_batches batches;
    assert_int_equal(pt_pending_batches_begin(&batches, memtable), SQLITE_OK);
    for (pt_pending_batch batch; pt_pending_batches_next(&batches, &batch);) {
        size_t size = strlen(seen);
        snprintf(seen + size, sizeof seen - size, "%u/%.*s: %d, %d; ", batch.table_id,
                 (int)batch.partition_key.size, (const char *)batch.partition_key.data,
                 (int)batch.operations, (int)batch.bytes);
    }
    assert_string_equal(seen, expected);
}

static void nothing_pending_is_no_batch(void **state)
{
    (void)state;
    assert_batches("");
}

static void operations_of_one_partition_lie_together(void **state)
{
    (void)state;
    put(2, "b", "1", PT_INSERT, "xyz");
    put(1, "a", "2", PT_REPLACE, "x");
    put(1, "a", "1", PT_DELETE, "");
    put(1, "", "", PT_INSERT, "x");
    put(1, "ab", "1", PT_INSERT, "x");
    put(2, "a", "1", PT_MERGE, "xy");
    assert_batches("1/: 1, 6; 1/a: 2, 15; 1/ab: 1, 9; 2/a: 1, 9; 2/b: 1, 10; ");
    put(1, "a", "1", PT_INSERT, "again");
    assert_batches("1/: 1, 6; 1/a: 2, 20; 1/ab: 1, 9; 2/a: 1, 9; 2/b: 1, 10; ");
    pt_memtable_cut(memtable, 1);
    assert_batches("2/b: 1, 10; ");
}

/* The catalogue, dropped tables and parts of large values are no entities. */
static void other_keys_are_no_batches(void **state)
{
    (void)state;
    put(0, "employee", "", PT_INSERT, "x");
    put(0xFF000000, "", "", PT_INSERT, "x");
    put(0xFF000001, "", "", PT_INSERT, "x");
    assert_batches("");
    put(5, "p", "r", PT_INSERT, "x");
    assert_batches("5/p: 1, 8; ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_pending_is_no_batch),
        TEST(operations_of_one_partition_lie_together),
        TEST(other_keys_are_no_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
