/*
 * Dropped tables go in slices, with the commits that follow, and nobody else notices.
 */
#include "fixtures/raw_store.h"

#include <sys/stat.h>

#include "entity/key.h"
#include "fixtures/sealed.h"

enum {
    DROPPED = 7,
    NEIGHBOURS = 2,
    ONE_PAGE = 509, /* free pages that a list in one page can name */
};

/* The tables before and behind the dropped one. */
static const uint32_t neighbours[NEIGHBOURS] = {DROPPED - 1, DROPPED + 1};

static test_key chunk_key(uint32_t table, unsigned number)
{
    test_key key = key_with_start(pt_key_start_of_chunks(table));
    key_add_be32(&key, number);
    return key;
}

static void put_entities(pt_writer *writer, uint32_t table, unsigned count)
{
    char text[32];
    for (unsigned i = 0; i < count; i++) {
        snprintf(text, sizeof text, "key %08u", i);
        put_text(writer, table, text, "a small entity of a few bytes");
    }
}

static void put_chunks(pt_writer *writer, uint32_t table, unsigned count)
{
    static const uint8_t chunk[2004];
    for (unsigned i = 0; i < count; i++) {
        test_key key = chunk_key(table, i);
        assert_ok(
            engine->write_put(writer, key_slice(&key), pt_slice_of(chunk, sizeof chunk), &error));
    }
}

/* Keys of the table, each in a bucket of its own; other tables' buckets lie between them. */
static void put_long_keys(pt_writer *writer, uint32_t table, unsigned from, unsigned count,
                          unsigned size)
{
    static uint8_t key[PT_KEY_LOGICAL_MAX];
    for (unsigned i = from; i < from + count; i++) {
        memset(key, 'l', sizeof key);
        pt_put_be32(key + pt_key_put_table(key, table), i);
        assert_ok(engine->write_put(writer, pt_slice_of(key, size + i % 3), pt_slice_text("long"),
                                    &error));
    }
}

static void drop(pt_writer *writer, uint32_t table)
{
    test_key key = garbage_key(table);
    pt_slice record = sealed(key_slice(&key), pt_slice_text("\1"));
    assert_ok(engine->write_put(writer, key_slice(&key), record, &error));
}

static int64_t garbage_of(pt_store *store)
{
    pt_store_info info;
    assert_ok(engine->info(store, &info, &error));
    return info.garbage;
}

/* A commit of one row, as the layer above makes it. */
static void commit_one_row(pt_store *store, unsigned number)
{
    char record[16];
    snprintf(record, sizeof record, "%u", number);
    bool garbage = garbage_of(store) != 0;
    bool collected = !garbage;
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_collect(writer, &collected, &error));
    assert_int_equal(collected, garbage);
    put_text(writer, 1, "row", record);
    commit_write(writer);
}

static unsigned commits_until_collected(pt_store *store, unsigned most)
{
    unsigned commits = 0;
    while (garbage_of(store) != 0) {
        assert_true(commits < most);
        commit_one_row(store, commits++);
    }
    return commits;
}

/*
 * The same while a reader keeps LMDB from using free pages again, so that every commit's list of
 * them stays. Returns the version before.
 */
static uint64_t collect_under_a_reader(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    uint64_t version = snapshot->version;
    commits_until_collected(store, 1000);
    engine->snapshot_free(snapshot);
    return version;
}

static int64_t entities_of(pt_snapshot *snapshot, uint32_t table)
{
    test_key low = key_of(table, "");
    int64_t entities = 0;
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, key_slice(&low), (pt_slice){0}, PT_FORWARD, &error));
    while (cursor->valid && pt_key_table(cursor->key) == table) {
        entities++;
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
    }
    engine->cursor_close(cursor);
    return entities;
}

static bool has_chunk(pt_snapshot *snapshot, uint32_t table, unsigned number)
{
    bool found = false;
    pt_slice record;
    test_key key = chunk_key(table, number);
    assert_ok(engine->get(snapshot, key_slice(&key), &found, &record, &error));
    return found;
}

static off_t file_size(void)
{
    struct stat file;
    assert_int_equal(stat(fixture_path, &file), 0);
    return file.st_size;
}

/* A store with the dropped table between two others, which have `few` entities. */
static pt_store *store_with_neighbours(unsigned few)
{
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "row", "first");
    for (int i = 0; i < NEIGHBOURS; i++) {
        put_entities(writer, neighbours[i], few);
        put_chunks(writer, neighbours[i], 10);
        put_long_keys(writer, neighbours[i], 0, 10, 600);
    }
    commit_write(writer);
    return store;
}

static void check_neighbours(pt_store *store, unsigned few)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    for (int i = 0; i < NEIGHBOURS; i++) {
        assert_int_equal(entities_of(snapshot, neighbours[i]), few + 10);
        assert_true(has_chunk(snapshot, neighbours[i], 0));
        assert_true(has_chunk(snapshot, neighbours[i], 9));
    }
    engine->snapshot_free(snapshot);
}

static void check_gone(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_table_counts counts;
    assert_int_equal(entities_of(snapshot, DROPPED), 0);
    assert_false(has_chunk(snapshot, DROPPED, 0));
    assert_ok(engine->counts(snapshot, DROPPED, &counts, &error));
    assert_int_equal(counts.entities, 0);
    assert_int_equal(counts.bytes, 0);
    assert_int_equal(counts.chunks, 0);
    engine->snapshot_free(snapshot);
}

static void a_large_table_goes_in_slices(void **state)
{
    (void)state;
    enum { ENTITIES = 200000, FEW = 300 };
    pt_store *store = store_with_neighbours(FEW);
    pt_writer *writer = begin_write(store);
    put_entities(writer, DROPPED, ENTITIES);
    commit_write(writer);
    writer = begin_write(store);
    drop(writer, DROPPED);
    commit_write(writer);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_int_equal(entities_of(snapshot, DROPPED), ENTITIES);
    engine->snapshot_free(snapshot);
    off_t size = file_size();
    commit_one_row(store, 1);
    snapshot = begin_snapshot(store);
    int64_t left = entities_of(snapshot, DROPPED);
    assert_in_range(left, ENTITIES - 8000, ENTITIES - 1000);
    engine->snapshot_free(snapshot);
    unsigned commits = commits_until_collected(store, 1000);
    assert_in_range(commits, 20, 200);
    assert_in_range(file_size(), 0, size + 64 * 4096);
    check_gone(store);
    check_neighbours(store, FEW);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(raw_entries("garbage"), 0);
    assert_int_equal(raw_entries("entities"), 1 + NEIGHBOURS * (FEW + 10));
}

static void chunks_and_long_keys_go_too(void **state)
{
    (void)state;
    pt_store *store = store_with_neighbours(50);
    for (unsigned round = 0; round < 20; round++) {
        pt_writer *writer = begin_write(store);
        put_long_keys(writer, DROPPED, round * 50, 40, 506 + 300 * (round % 5));
        put_long_keys(writer, neighbours[round % 2], 0, 10, 600);
        put_chunks(writer, DROPPED, 30 * round);
        commit_write(writer);
    }
    pt_writer *writer = begin_write(store);
    drop(writer, DROPPED);
    commit_write(writer);
    uint64_t version = collect_under_a_reader(store);
    check_gone(store);
    check_neighbours(store, 50);
    engine->unlock(store);
    engine->close(store);
    assert_in_range(raw_longest_free_list(version + 1), 10, ONE_PAGE);
    assert_int_equal(raw_entries("long_keys"), NEIGHBOURS * 10);
    assert_int_equal(raw_entries("chunks"), NEIGHBOURS * 10);
    assert_int_equal(raw_entries("entities"), 1 + NEIGHBOURS * 60);
}

/* Buckets of many tables side by side, each slice visits pages that stay. */
static void scattered_buckets_free_few_pages_at_once(void **state)
{
    (void)state;
    enum { KEYS = 6000 };
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (unsigned i = 0; i < KEYS; i++) {
        put_long_keys(writer, i % 8 == 0 ? DROPPED : 100, i, 1, 900);
    }
    drop(writer, DROPPED);
    commit_write(writer);
    uint64_t version = collect_under_a_reader(store);
    engine->unlock(store);
    engine->close(store);
    assert_in_range(raw_longest_free_list(version + 1), 10, ONE_PAGE);
    assert_int_equal(raw_entries("long_keys"), KEYS - KEYS / 8);
    assert_int_equal(raw_entries("entities"), 1 + KEYS - KEYS / 8);
}

static void one_long_bucket_is_emptied_in_slices(void **state)
{
    (void)state;
    enum { KEYS = 5000 };
    static uint8_t key[1100];
    memset(key, 'p', sizeof key); /* one PartitionKey of 1,000 bytes */
    key[0] = DROPPED;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (unsigned i = 0; i < KEYS; i++) {
        pt_put_be32(key + 1020, i);
        assert_ok(engine->write_put(writer, pt_slice_of(key, sizeof key),
                                    pt_slice_text("an entity"), &error));
    }
    drop(writer, DROPPED);
    commit_write(writer);
    assert_in_range(commits_until_collected(store, 100), 2, 50);
    check_gone(store);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(raw_entries("long_keys"), 0);
    assert_int_equal(raw_entries("entities"), 1);
}

/* Who reads the table before steps onto the first key that is left. */
static void neighbours_can_be_read_between_slices(void **state)
{
    (void)state;
    enum { KEYS = 400, DEEPER = 500 };
    for (unsigned more = 0; more < 4; more++) {
        pt_store *store = store_with_neighbours(10);
        pt_writer *writer = begin_write(store);
        put_entities(writer, DROPPED, more);
        put_long_keys(writer, DROPPED, 0, KEYS, 600 + more * DEEPER);
        drop(writer, DROPPED);
        commit_write(writer);
        for (unsigned commits = 0; garbage_of(store) != 0; commits++) {
            assert_true(commits < 100);
            check_neighbours(store, 10);
            commit_one_row(store, commits);
        }
        check_neighbours(store, 10);
        engine->unlock(store);
        engine->close(store);
        assert_int_equal(raw_entries("long_keys"), NEIGHBOURS * 10);
    }
}

static void older_snapshots_keep_the_table(void **state)
{
    (void)state;
    pt_store *store = store_with_neighbours(10);
    pt_writer *writer = begin_write(store);
    put_entities(writer, DROPPED, 30000);
    put_chunks(writer, DROPPED, 100);
    put_long_keys(writer, DROPPED, 0, 100, 600);
    commit_write(writer);
    pt_snapshot *before = begin_snapshot(store);
    writer = begin_write(store);
    drop(writer, DROPPED);
    commit_write(writer);
    commits_until_collected(store, 1000);
    check_gone(store);
    assert_int_equal(entities_of(before, DROPPED), 30100);
    assert_true(has_chunk(before, DROPPED, 99));
    engine->snapshot_free(before);
    engine->unlock(store);
    engine->close(store);
}

static void an_aborted_slice_loses_nothing(void **state)
{
    (void)state;
    pt_store *store = store_with_neighbours(10);
    pt_writer *writer = begin_write(store);
    put_entities(writer, DROPPED, 20000);
    drop(writer, DROPPED);
    commit_write(writer);
    for (int i = 0; i < 3; i++) {
        bool collected = false;
        writer = begin_write(store);
        assert_ok(engine->write_collect(writer, &collected, &error));
        assert_true(collected);
        engine->write_abort(writer);
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_int_equal(entities_of(snapshot, DROPPED), 20000);
        assert_counts(snapshot, DROPPED, 20000, 20000 * (13 + 29));
        engine->snapshot_free(snapshot);
    }
    engine->unlock(store);
    engine->close(store);
    store = open_store(fixture_path);
    lock_store(store);
    assert_int_equal(garbage_of(store), 1);
    commits_until_collected(store, 100);
    check_gone(store);
    check_neighbours(store, 10);
    engine->unlock(store);
    engine->close(store);
}

static void small_tables_go_together(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (uint32_t table = 10; table < 30; table++) {
        put_entities(writer, table, table % 3);
    }
    put_text(writer, 30, "stays", "here");
    for (uint32_t table = 10; table < 30; table++) {
        drop(writer, table);
    }
    drop(writer, 9999); /* has never had any */
    commit_write(writer);
    assert_int_equal(garbage_of(store), 21);
    assert_int_equal(commits_until_collected(store, 10), 1);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 30, "stays", "here");
    assert_counts(snapshot, 10, 0, 0);
    assert_counts(snapshot, 30, 1, 1 + 5 + 4);
    engine->snapshot_free(snapshot);
    engine->unlock(store);
    engine->close(store);
    assert_int_equal(raw_entries("entities"), 2);
}

/* The record that names a dropped table is read and taken back like any other. */
static void a_drop_can_be_taken_back(void **state)
{
    (void)state;
    test_key key = garbage_key(DROPPED);
    bool found = true;
    pt_slice record;
    pt_store *store = store_with_neighbours(10);
    pt_snapshot *before = begin_snapshot(store);
    pt_writer *writer = begin_write(store);
    put_chunks(writer, DROPPED, 3);
    drop(writer, DROPPED);
    commit_write(writer);
    pt_snapshot *after = begin_snapshot(store);
    assert_ok(engine->get(after, key_slice(&key), &found, &record, &error));
    assert_true(found);
    assert_int_equal(record.size, 1 + PT_SEAL_SIZE);
    assert_int_equal(entities_of(after, PT_TABLE_GARBAGE), 0); /* cursors do not meet it */
    assert_int_equal(entities_of(after, PT_TABLE_CHUNKS), 0);
    assert_counts(after, PT_TABLE_GARBAGE, 0, 0);
    assert_counts(after, DROPPED, 0, 3 * (6 + 2004));
    writer = begin_write(store);
    assert_ok(engine->write_restore(writer, before, key_slice(&key), &error));
    test_key chunk = chunk_key(DROPPED, 1);
    assert_ok(engine->write_restore(writer, before, key_slice(&chunk), &error));
    commit_write(writer);
    engine->snapshot_end(after);
    assert_int_equal(garbage_of(store), 0);
    assert_ok(engine->snapshot_begin(after, &error));
    assert_true(has_chunk(after, DROPPED, 0));
    assert_false(has_chunk(after, DROPPED, 1));
    assert_counts(after, DROPPED, 0, 2 * (6 + 2004));
    engine->snapshot_free(before);
    engine->snapshot_free(after);
    engine->unlock(store);
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(a_large_table_goes_in_slices),
        store_test(chunks_and_long_keys_go_too),
        store_test(scattered_buckets_free_few_pages_at_once),
        store_test(one_long_bucket_is_emptied_in_slices),
        store_test(neighbours_can_be_read_between_slices),
        store_test(older_snapshots_keep_the_table),
        store_test(an_aborted_slice_loses_nothing),
        store_test(small_tables_go_together),
        store_test(a_drop_can_be_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
