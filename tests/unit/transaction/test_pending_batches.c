#include "faults/failing_malloc.h"
#include "fixtures/store_fixture.h"

#include "entity/key.h"
#include "fixtures/own_shape.h"
#include "transaction/pending_batches.h"

static pt_memtable *memtable;
static pt_buffer position;
static sqlite3_int64 memory_before;

/* Records made of one letter are none, and so nobody asks for their shapes. */
static const pt_shape_source no_shapes;

static int setup(void **state)
{
    (void)state;
    memory_before = sqlite3_memory_used();
    memtable = pt_memtable_new();
    return memtable != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pt_memtable_free(memtable);
    pt_buffer_free(&position);
    return sqlite3_memory_used() == memory_before ? 0 : -1;
}

/* A logical key; '|' in the text stands for the 00 between the keys. */
static test_key entity_key(uint32_t table, const char *text)
{
    test_key key = key_of(table, text);
    uint8_t *separator = memchr(key.bytes, '|', key.size);
    if (separator != NULL) {
        *separator = 0;
    }
    return key;
}

static void put(uint32_t table, const char *text, pt_operation operation, size_t record_size)
{
    test_key key = entity_key(table, text);
    uint8_t *record = pt_memtable_put(memtable, key_slice(&key), operation, record_size);
    assert_non_null(record);
    memset(record, 'r', record_size);
}

static void assert_next(uint32_t table, const char *partition, size_t operations, uint64_t bytes)
{
    pt_pending_batch batch;
    assert_int_equal(pt_pending_batches_next(memtable, &no_shapes, &position, &batch), SQLITE_ROW);
    assert_int_equal(batch.table_id, table);
    assert_true(pt_slice_equal(batch.partition_key, pt_slice_text(partition)));
    assert_int_equal(batch.operations, operations);
    assert_int_equal(batch.bytes, bytes);
}

static void assert_end(void)
{
    pt_pending_batch batch;
    assert_int_equal(pt_pending_batches_next(memtable, &no_shapes, &position, &batch), SQLITE_DONE);
    pt_buffer_clear(&position);
}

static void nothing_is_pending(void **state)
{
    (void)state;
    assert_end();
}

static void operations_are_grouped_by_table_and_partition(void **state)
{
    (void)state;
    put(7, "b|2", PT_MERGE, 10);
    put(7, "b|1", PT_INSERT, 20);
    put(9, "a|1", PT_INSERT, 1);
    put(7, "a|1", PT_DELETE, 0);
    put(7, "b|3", PT_DELETE, 0);
    put(7, "|", PT_INSERT, 5);
    assert_next(7, "", 1, 1 + 1 + 5);
    assert_next(7, "a", 1, 1 + 3);
    assert_next(7, "b", 3, 3 * (1 + 3) + 30);
    assert_next(9, "a", 1, 1 + 3 + 1);
    assert_end();
}

/* A partition is neither its prefixes nor its extensions; RowKeys may be anything. */
static void partitions_that_look_alike_are_kept_apart(void **state)
{
    (void)state;
    put(7, "ab|", PT_INSERT, 0);
    put(7, "ab|\xf4\x8f\xbf\xbf", PT_INSERT, 0);
    put(7, "ab\x01|r", PT_INSERT, 0);
    put(7, "a|b", PT_INSERT, 0);
    put(7, "abc|r", PT_INSERT, 0);
    assert_next(7, "a", 1, 4);
    assert_next(7, "ab", 2, 4 + 8);
    assert_next(7, "ab\x01", 1, 6);
    assert_next(7, "abc", 1, 6);
    assert_end();
}

static void only_entities_count(void **state)
{
    (void)state;
    put(0, "newtable", PT_INSERT, 13);
    put(PT_TABLE_GARBAGE, "\x01", PT_INSERT, 1);
    put(PT_TABLE_CHUNKS, "\x07|chunk", PT_INSERT, 2000);
    assert_end();
    put(PT_TABLE_ID_LIMIT - 1, "p|r", PT_INSERT, 1);
    put(1, "p|r", PT_INSERT, 1);
    assert_next(1, "p", 1, 1 + 3 + 1);
    assert_next(PT_TABLE_ID_LIMIT - 1, "p", 1, 5 + 3 + 1);
    assert_end();
}

static void an_entity_counts_once(void **state)
{
    (void)state;
    put(7, "p|1", PT_INSERT, 100);
    pt_memtable_protect(memtable, pt_memtable_length(memtable));
    put(7, "p|1", PT_MERGE, 40);
    put(7, "p|2", PT_INSERT, 1);
    assert_next(7, "p", 2, 2 * 4 + 41);
    assert_end();
    pt_memtable_discard(memtable, 1);
    assert_next(7, "p", 1, 4 + 100);
    assert_end();
}

/* Where a walk stands is a key, not a place in the memtable. */
static void writes_and_rollbacks_do_not_disturb_a_walk(void **state)
{
    (void)state;
    for (char c = 'a'; c <= 'e'; c++) {
        char text[] = {c, '|', '1', 0};
        put(7, text, PT_INSERT, 0);
    }
    assert_next(7, "a", 1, 4);
    put(7, "a|2", PT_INSERT, 0); /* the walk has passed it */
    put(7, "bb|1", PT_INSERT, 0);
    assert_next(7, "b", 1, 4);
    assert_next(7, "bb", 1, 5);
    pt_memtable_discard(memtable, 3);
    assert_next(7, "c", 1, 4);
    assert_end();
}

/* What was looked up before a walk is found after it without a new index. */
static void a_walk_leaves_the_memtable_as_it_is(void **state)
{
    (void)state;
    put(7, "b|1", PT_INSERT, 1);
    put(7, "a|1", PT_INSERT, 2);
    uint64_t version = pt_memtable_version(memtable);
    test_key key = entity_key(7, "a|1");
    pt_pending *pending = NULL;
    assert_int_equal(pt_memtable_find(memtable, key_slice(&key), &pending), SQLITE_OK);
    assert_next(7, "a", 1, 6);
    assert_next(7, "b", 1, 5);
    assert_end();
    failing_malloc_arm(0, true);
    pt_pending *again = NULL;
    assert_int_equal(pt_memtable_find(memtable, key_slice(&key), &again), SQLITE_OK);
    assert_false(failing_malloc_disarm());
    assert_ptr_equal(again, pending);
    assert_int_equal(pt_memtable_version(memtable), version);
}

/* --- Against a count by brute force --- */

enum { TABLES = 3, PARTITIONS = 4, ROWS = 5 };

static void random_operations_agree_with_a_count(void **state)
{
    (void)state;
    static size_t sizes[TABLES][PARTITIONS][ROWS];
    static bool there[TABLES][PARTITIONS][ROWS];
    uint64_t seed = 1;
    for (int i = 0; i < 400; i++) {
        unsigned t = next_random(&seed) % TABLES;
        unsigned p = next_random(&seed) % PARTITIONS;
        unsigned r = next_random(&seed) % ROWS;
        char text[] = {(char)('a' + p), '|', (char)('a' + r), 0};
        bool deletes = next_random(&seed) % 3 == 0;
        sizes[t][p][r] = deletes ? 0 : next_random(&seed) % 50;
        there[t][p][r] = true;
        put(t + 1, text, deletes ? PT_DELETE : PT_REPLACE, sizes[t][p][r]);
        if (i % 20 != 0) {
            continue;
        }
        for (t = 0; t < TABLES; t++) {
            for (p = 0; p < PARTITIONS; p++) {
                size_t operations = 0;
                size_t bytes = 0;
                for (r = 0; r < ROWS; r++) {
                    operations += there[t][p][r];
                    bytes += there[t][p][r] ? 4 + sizes[t][p][r] : 0;
                }
                char partition[] = {(char)('a' + p), 0};
                if (operations != 0) {
                    assert_next(t + 1, partition, operations, bytes);
                }
            }
        }
        assert_end();
    }
}

static void may_run_out_of_memory(void **state)
{
    (void)state;
    put(7, "b|1", PT_INSERT, 1);
    put(7, "a|1", PT_INSERT, 2);
    for (int n = 0;; n++) {
        pt_pending_batch batch;
        failing_malloc_arm(n, false);
        int rc = pt_pending_batches_next(memtable, &no_shapes, &position, &batch);
        if (!failing_malloc_disarm()) {
            assert_int_equal(rc, SQLITE_ROW);
            assert_true(n > 1);
            break;
        }
        assert_int_equal(rc, SQLITE_NOMEM);
        pt_buffer_free(&position);
    }
    assert_next(7, "b", 1, 5);
    assert_end();
}

/* What is written to another place is no part of the batch; what has no size is not counted. */
static void put_own_records(void)
{
    static const uint64_t sizes[] = {5000, 0};
    put(PT_TABLE_CHUNKS, "\x07|chunk", PT_INSERT, 2000);
    for (int i = 0; i < 2; i++) {
        record_bytes record = own_large_record(sizes[i]);
        uint8_t *copy = pt_memtable_put(memtable, sample_key(), PT_INSERT, record.size);
        assert_non_null(copy);
        memcpy(copy, record.data, record.size);
        free(record.data);
    }
}

static void large_values_without_memory(void **state)
{
    (void)state;
    pt_pending_batch batch;
    put_own_records();
    bool hit = true;
    for (int n = 0; hit; n++) {
        failing_malloc_arm(n, false);
        int rc = pt_pending_batches_next(memtable, &source, &position, &batch);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_ROW);
        pt_buffer_free(&position);
    }
    assert_int_equal(batch.operations, 1);
    assert_in_range(batch.bytes, 50, 200);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_pending),
        TEST(operations_are_grouped_by_table_and_partition),
        TEST(partitions_that_look_alike_are_kept_apart),
        TEST(only_entities_count),
        TEST(an_entity_counts_once),
        TEST(writes_and_rollbacks_do_not_disturb_a_walk),
        TEST(a_walk_leaves_the_memtable_as_it_is),
        TEST(random_operations_agree_with_a_count),
        TEST(may_run_out_of_memory),
        TEST(large_values_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
