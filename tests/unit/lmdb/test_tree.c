/*
 * What a store's sub-databases look like after writes: how full their pages are shows whether keys
 * were appended. And how few pages a commit copies.
 */
#include "fixtures/raw_store.h"

#include "entity/key.h"

enum { ROWS = 4000 };

static test_key numbered_key(pt_key_start start, unsigned number)
{
    test_key key = key_with_start(start);
    key_add_be32(&key, number);
    return key;
}

static void put_numbered(pt_writer *writer, pt_key_start start, unsigned number)
{
    static const uint8_t record[100];
    test_key key = numbered_key(start, number);
    assert_ok(
        engine->write_put(writer, key_slice(&key), pt_slice_of(record, sizeof record), &error));
}

/* Leaf pages are as full as they can be; they are half empty where keys were not appended. */
static void assert_appended(const char *database, size_t bytes_a_row)
{
    MDB_stat stat = raw_stat(database);
    size_t rows_a_page = (stat.ms_psize - 16) / (bytes_a_row + 10); /* with LMDB's headers */
    assert_int_equal(stat.ms_entries, ROWS);
    assert_in_range(stat.ms_leaf_pages, ROWS / rows_a_page, ROWS / rows_a_page + 3);
}

static void each_tree_is_appended_to(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    for (unsigned half = 0; half < 2; half++) {
        pt_writer *writer = begin_write(store);
        for (unsigned i = half * ROWS / 2; i < (half + 1) * ROWS / 2; i++) {
            put_numbered(writer, pt_key_start_of_table(1), i);
            put_numbered(writer, pt_key_start_of_chunks(1), i);
        }
        commit_write(writer);
    }
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_table_counts counts;
    assert_ok(engine->counts(snapshot, 1, &counts, &error));
    assert_int_equal(counts.entities, ROWS);
    assert_int_equal(counts.chunks, ROWS);
    assert_int_equal(counts.bytes, ROWS * (105 + 106));
    engine->snapshot_free(snapshot);
    engine->unlock(store);
    engine->close(store);
    assert_appended("entities", 105);
    assert_appended("chunks", 106);
}

/* Long keys that begin alike share a link, and that does not end the run. */
static void long_keys_in_order_are_appended(void **state)
{
    (void)state;
    static const uint8_t record[100];
    static uint8_t key[532];
    memset(key, 'k', sizeof key);
    key[0] = 1;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (unsigned i = 0; i < ROWS; i++) {
        pt_put_be32(key + 4, i / 10);
        pt_put_be32(key + 528, i);
        assert_ok(engine->write_put(writer, pt_slice_of(key, sizeof key),
                                    pt_slice_of(record, sizeof record), &error));
    }
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    assert_appended("long_keys", 8 + 22 + 100);
    MDB_stat links = raw_stat("entities");
    assert_int_equal(links.ms_entries, ROWS / 10);
    assert_in_range(links.ms_leaf_pages, ROWS / 10 / 7, ROWS / 10 / 7 + 2);
}

/* A deletion, or a key that is not beyond the last, ends the run; order is kept all the same. */
static void runs_end_and_order_stays(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (unsigned i = 0; i < ROWS; i++) {
        unsigned number = i % 100 == 99 ? i - 98 : i + 1;
        put_numbered(writer, pt_key_start_of_chunks(3), number);
    }
    commit_write(writer);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_table_counts counts;
    assert_ok(engine->counts(snapshot, 3, &counts, &error));
    assert_int_equal(counts.chunks, ROWS - ROWS / 100);
    assert_int_equal(counts.bytes, counts.chunks * 106);
    engine->snapshot_free(snapshot);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(raw_entries("chunks"), ROWS - ROWS / 100);
}

static void delete_numbered(pt_writer *writer, uint32_t table, unsigned number)
{
    test_key key = numbered_key(pt_key_start_of_table(table), number);
    assert_ok(engine->write_delete(writer, key_slice(&key), &error));
}

/* Every `stride`-th row is left, and the rest deleted: in runs, some more than once, with puts
 * between. */
static void delete_all_but(pt_writer *writer, uint32_t table, unsigned stride)
{
    for (unsigned i = 0; i < ROWS; i++) {
        if (i % stride != 0) {
            delete_numbered(writer, table, i);
        }
        if (i % 37 == 1) {
            delete_numbered(writer, table, i % stride != 0 ? i : i - 1);
            put_numbered(writer, pt_key_start_of_table(table), i % stride != 0 ? i - 1 : i);
            delete_numbered(writer, table, i % stride != 0 ? i - 1 : i);
            put_numbered(writer, pt_key_start_of_table(table), i - i % stride);
        }
    }
}

/* How many rows a table has, all of which must be of the stride. */
static unsigned count_rows(pt_store *store, uint32_t table, unsigned stride)
{
    unsigned rows = 0;
    pt_snapshot *snapshot = begin_snapshot(store);
    for (unsigned i = 0; i < ROWS; i++) {
        bool found;
        pt_slice record;
        test_key key = numbered_key(pt_key_start_of_table(table), i);
        assert_ok(engine->get(snapshot, key_slice(&key), &found, &record, &error));
        assert_true(!found || i % stride == 0);
        rows += found;
    }
    pt_table_counts counts;
    assert_ok(engine->counts(snapshot, table, &counts, &error));
    assert_int_equal(counts.entities, rows);
    assert_int_equal(counts.bytes, rows * 105);
    engine->snapshot_free(snapshot);
    return rows;
}

static void runs_of_deletions_meet_only_their_keys(void **state)
{
    (void)state;
    static const unsigned strides[] = {2, 3, 50, 1000, ROWS};
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    for (uint32_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        pt_writer *writer = begin_write(store);
        for (unsigned row = 0; row < ROWS; row++) {
            put_numbered(writer, pt_key_start_of_table(1 + i), row);
        }
        commit_write(writer);
    }
    for (uint32_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        pt_writer *writer = begin_write(store);
        delete_all_but(writer, 1 + i, strides[i]);
        commit_write(writer);
        assert_int_equal(count_rows(store, 1 + i, strides[i]), (ROWS - 1) / strides[i] + 1);
    }
    pt_writer *writer = begin_write(store);
    for (uint32_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        for (unsigned row = 0; row < ROWS; row++) {
            delete_numbered(writer, 1 + i, row);
        }
    }
    delete_numbered(writer, 1, 0);
    put_numbered(writer, pt_key_start_of_table(1), 0);
    commit_write(writer);
    assert_int_equal(count_rows(store, 1, 1), 1);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(raw_entries("entities"), 1);
}

/* The leaf of the entities, that of the main database, and that of the list of free pages. */
static void a_small_commit_copies_three_pages(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    uint64_t version = 0;
    for (unsigned i = 0; i < 5; i++) {
        char text[] = {(char)('a' + i), 0};
        store_text(store, 1, text, "text");
        pt_snapshot *snapshot = begin_snapshot(store);
        version = snapshot->version;
        engine->snapshot_free(snapshot);
    }
    engine->close(store);
    assert_int_equal(raw_longest_free_list(version), 3);
    assert_int_equal(raw_stat(NULL).ms_depth, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(each_tree_is_appended_to),
        store_test(long_keys_in_order_are_appended),
        store_test(runs_end_and_order_stays),
        store_test(runs_of_deletions_meet_only_their_keys),
        store_test(a_small_commit_copies_three_pages),
    };
    /* Of commits to the file. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
