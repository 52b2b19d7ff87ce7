#include "fixtures/store_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { KEYS = 400, TABLE = 7 };

static test_key keys[KEYS];
static unsigned key_count;

static int compare_keys(const void *a, const void *b)
{
    return pt_slice_compare(key_slice(a), key_slice(b));
}

/* Distinct random keys of two tables, sorted; many share prefixes. */
static void make_keys(void)
{
    uint64_t seed = 20261121;
    key_count = 0;
    while (key_count < KEYS) {
        test_key key = {0};
        key.size = 2 + next_random(&seed) % (next_random(&seed) % 10 == 0 ? 505 : 6);
        key.bytes[0] = (uint8_t)(TABLE + next_random(&seed) % 2);
        for (size_t i = 1; i < key.size; i++) {
            key.bytes[i] = (uint8_t)(next_random(&seed) % 3 * 127);
        }
        bool known = false;
        for (unsigned i = 0; i < key_count && !known; i++) {
            known = compare_keys(&keys[i], &key) == 0;
        }
        if (!known) {
            keys[key_count++] = key;
        }
    }
    qsort(keys, key_count, sizeof keys[0], compare_keys);
}

/* The record of a key is the key backwards. */
static pt_slice record_of(const test_key *key, uint8_t *memory)
{
    for (size_t i = 0; i < key->size; i++) {
        memory[i] = key->bytes[key->size - 1 - i];
    }
    return pt_slice_of(memory, key->size);
}

static void fill(pt_store *store)
{
    uint8_t memory[512];
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (unsigned i = 0; i < key_count; i++) {
        assert_ok(
            engine->write_put(writer, key_slice(&keys[i]), record_of(&keys[i], memory), &error));
    }
    commit_write(writer);
    engine->unlock(store);
}

/* Index of the first key >= `key`. */
static unsigned model_lower_bound(const test_key *key)
{
    unsigned at = 0;
    while (at < key_count && compare_keys(&keys[at], key) < 0) {
        at++;
    }
    return at;
}

static void assert_at(const pt_engine_cursor *cursor, long at)
{
    uint8_t memory[512];
    bool valid = at >= 0 && at < (long)key_count;
    assert_int_equal(cursor->valid, valid);
    if (valid) {
        assert_true(pt_slice_equal(cursor->key, key_slice(&keys[at])));
        assert_true(pt_slice_equal(cursor->record, record_of(&keys[at], memory)));
    }
}

static void check_seek(pt_engine_cursor *cursor, const test_key *key)
{
    long bound = (long)model_lower_bound(key);
    assert_ok(engine->cursor_seek(cursor, key_slice(key), (pt_slice){0}, PT_FORWARD, &error));
    assert_at(cursor, bound);
    if (cursor->valid) {
        assert_ok(engine->cursor_step(cursor, PT_BACKWARD, &error));
        assert_at(cursor, bound - 1);
    }
    assert_ok(engine->cursor_seek(cursor, key_slice(key), (pt_slice){0}, PT_BACKWARD, &error));
    assert_at(cursor, bound - 1);
    if (cursor->valid) {
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
        assert_at(cursor, bound);
    }
}

static void cursors_agree_with_a_sorted_array(void **state)
{
    (void)state;
    make_keys();
    pt_store *store = open_store(fixture_path);
    fill(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    for (unsigned i = 0; i < key_count; i++) {
        test_key key = keys[i];
        check_seek(cursor, &key);
        if (key.size < sizeof key.bytes) {
            key.bytes[key.size++] = 0; /* the next possible key */
            check_seek(cursor, &key);
        }
        key = keys[i];
        key.bytes[key.size - 1]--; /* somewhere before */
        check_seek(cursor, &key);
        key.size = 4 + key.size % 3; /* a prefix */
        check_seek(cursor, &key);
    }
    test_key empty = {0};
    check_seek(cursor, &empty);
    test_key behind = {.bytes = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, .size = 5};
    check_seek(cursor, &behind);
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void whole_walks(void **state)
{
    (void)state;
    make_keys();
    pt_store *store = open_store(fixture_path);
    fill(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    for (long i = 0; i < (long)key_count; i++) {
        assert_at(cursor, i);
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
    }
    assert_false(cursor->valid);
    test_key behind = {.bytes = {0xFF, 0xFF, 0xFF, 0xFF}, .size = 4};
    assert_ok(engine->cursor_seek(cursor, key_slice(&behind), (pt_slice){0}, PT_BACKWARD, &error));
    for (long i = (long)key_count - 1; i >= 0; i--) {
        assert_at(cursor, i);
        assert_ok(engine->cursor_step(cursor, PT_BACKWARD, &error));
    }
    assert_false(cursor->valid);
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void empty_store_has_no_position(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    key_count = 0;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    test_key key = key_of(1, "a");
    check_seek(cursor, &key);
    key.size = 0;
    check_seek(cursor, &key);
    assert_int_equal(snapshot->next_table_id, 1);
    assert_int_equal(snapshot->clock, 0);
    assert_record(snapshot, 1, "a", NULL);
    assert_counts(snapshot, 1, 0, 0);
    engine->cursor_close(cursor);
    engine->cursor_close(NULL);
    engine->snapshot_free(snapshot);
    engine->snapshot_free(NULL);
    engine->close(store);
}

static void snapshots_do_not_see_later_commits(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *before = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(before, &cursor, &error));
    for (int i = 0; i < 50; i++) {
        store_text(store, 1, "a", "two");
        store_text(store, 1, "b", "three");
    }
    pt_snapshot *after = begin_snapshot(store);
    assert_true(after->version != before->version);
    assert_record(before, 1, "a", "one");
    assert_record(before, 1, "b", NULL);
    assert_counts(before, 1, 1, 2 + 3);
    assert_record(after, 1, "a", "two");
    assert_record(after, 1, "b", "three");
    assert_counts(after, 1, 2, 2 + 3 + 2 + 5);
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    assert_int_equal(cursor->record.size, 3);
    assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
    assert_false(cursor->valid);
    engine->cursor_close(cursor);
    engine->snapshot_end(before);
    assert_ok(engine->snapshot_begin(before, &error));
    assert_int_equal(before->version, after->version);
    assert_record(before, 1, "b", "three");
    engine->snapshot_free(before);
    engine->snapshot_free(after);
    engine->close(store);
}

static void versions_change_with_commits_only(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    uint64_t version = snapshot->version;
    uint64_t generation = snapshot->catalog_generation;
    engine->snapshot_end(snapshot);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_int_equal(snapshot->version, version);
    engine->snapshot_end(snapshot);
    lock_store(store);
    engine->write_abort(begin_write(store));
    pt_commit commit = {
        .sync = PT_SYNC_FULL, .clock = 1234, .next_table_id = 5, .catalog_changed = true};
    assert_ok(engine->write_commit(begin_write(store), &commit, &error));
    engine->unlock(store);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_true(snapshot->version != version);
    assert_int_equal(snapshot->catalog_generation, generation + 1);
    assert_int_equal(snapshot->clock, 1234);
    assert_int_equal(snapshot->next_table_id, 5);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void cursors_are_used_again(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *first = NULL;
    pt_engine_cursor *second = NULL;
    assert_ok(engine->cursor_open(snapshot, &first, &error));
    assert_ok(engine->cursor_open(snapshot, &second, &error));
    assert_ptr_not_equal(first, second);
    engine->cursor_close(first);
    engine->cursor_close(second);
    engine->snapshot_end(snapshot);
    store_text(store, 1, "a", "other");
    assert_ok(engine->snapshot_begin(snapshot, &error));
    for (int i = 0; i < 3; i++) {
        pt_engine_cursor *again = NULL;
        assert_ok(engine->cursor_open(snapshot, &again, &error));
        assert_ptr_equal(again, second);
        assert_false(again->valid);
        assert_ok(engine->cursor_seek(again, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
        assert_true(again->valid);
        assert_int_equal(again->record.size, 5);
        engine->cursor_close(again);
    }
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void too_many_readers_are_busy(void **state)
{
    (void)state;
    enum { READERS = 1022 };
    static pt_snapshot *snapshots[READERS];
    pt_store *store = open_store(fixture_path);
    for (int i = 0; i < READERS; i++) {
        snapshots[i] = begin_snapshot(store);
    }
    pt_snapshot *one_more = new_snapshot(store);
    assert_fails(engine->snapshot_begin(one_more, &error), SQLITE_BUSY,
                 "close some of the connections to it");
    engine->snapshot_free(snapshots[0]);
    assert_ok(engine->snapshot_begin(one_more, &error));
    engine->snapshot_free(one_more);
    for (int i = 1; i < READERS; i++) {
        engine->snapshot_free(snapshots[i]);
    }
    engine->close(store);
}

static int hold_many_readers(void)
{
    static pt_store *store; /* static, so that it is no leak at the end */
    static pt_snapshot *snapshots[1000];
    pt_error error = PT_ERROR_NONE;
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK) {
        return 1;
    }
    for (int i = 0; i < 1000; i++) {
        if (engine->snapshot_new(store, &snapshots[i], &error) != SQLITE_OK ||
            engine->snapshot_begin(snapshots[i], &error) != SQLITE_OK) {
            return 2;
        }
    }
    return 0;
}

static void dead_readers_make_room(void **state)
{
    (void)state;
    pt_snapshot *snapshots[100];
    pt_store *store = open_store(fixture_path);
    await_child(start_child(hold_many_readers));
    for (int i = 0; i < 100; i++) {
        snapshots[i] = begin_snapshot(store);
    }
    for (int i = 0; i < 100; i++) {
        engine->snapshot_free(snapshots[i]);
    }
    engine->close(store);
}

/* --- Threads --- */

static atomic_bool writing_is_over;

static long number_in(pt_slice record)
{
    char digits[16] = "";
    if (record.size > 0 && record.size < sizeof digits) {
        memcpy(digits, record.data, record.size);
    }
    return strtol(digits, NULL, 10);
}

/*
 * Two records with the number of their commit are always written together, so no snapshot may see
 * them differ, nor see an older commit than the snapshot before. A version that has not changed
 * shows the same commit; which of two versions is larger says nothing.
 */
static void *read_pairs(void *context)
{
    pt_store *store = context;
    pt_snapshot *snapshot = NULL;
    pt_error error = PT_ERROR_NONE;
    uint64_t version = 0;
    long number = 0;
    intptr_t wrong = 0;
    if (engine->snapshot_new(store, &snapshot, &error) != SQLITE_OK) {
        return (void *)1;
    }
    while (!atomic_load(&writing_is_over)) {
        if (engine->snapshot_begin(snapshot, &error) != SQLITE_OK) {
            pt_error_clear(&error);
            wrong++;
            continue;
        }
        bool found_a = false;
        bool found_b = false;
        pt_slice a = {0};
        pt_slice b = {0};
        test_key key_a = key_of(1, "a");
        test_key key_b = key_of(2, "b");
        engine->get(snapshot, key_slice(&key_a), &found_a, &a, &error);
        engine->get(snapshot, key_slice(&key_b), &found_b, &b, &error);
        long seen = number_in(a);
        wrong += found_a != found_b || !pt_slice_equal(a, b) || seen < number ||
                 (snapshot->version == version && seen != number);
        version = snapshot->version;
        number = seen;
        engine->snapshot_end(snapshot);
    }
    engine->snapshot_free(snapshot);
    return (void *)wrong;
}

static void threads_see_whole_commits(void **state)
{
    (void)state;
    enum { THREADS = 3, COMMITS = 400 };
    pthread_t threads[THREADS];
    pt_store *store = open_store(fixture_path);
    atomic_store(&writing_is_over, false);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_pairs, store), 0);
    }
    for (int i = 0; i < COMMITS; i++) {
        char record[16];
        snprintf(record, sizeof record, "%d", i);
        lock_store(store);
        pt_writer *writer = begin_write(store);
        put_text(writer, 1, "a", record);
        put_text(writer, 2, "b", record);
        commit_write(writer);
        engine->unlock(store);
    }
    atomic_store(&writing_is_over, true);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    engine->close(store);
}

/* --- A map that another process has outgrown --- */

static int grow_store(void)
{
    static uint8_t record[100000];
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_writer *writer;
    pt_commit commit = {.sync = PT_SYNC_OFF};
    set_map_size(NULL);
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK ||
        engine->lock(store, 1000, &error) != SQLITE_OK ||
        engine->write_begin(store, &writer, &error) != SQLITE_OK) {
        return 1;
    }
    for (uint32_t i = 0; i < 50; i++) {
        test_key key = key_of(1, "large");
        pt_put_be32(key.bytes + 2, i);
        if (engine->write_put(writer, key_slice(&key), pt_slice_of(record, sizeof record),
                              &error) != SQLITE_OK) {
            return 2;
        }
    }
    if (engine->write_commit(writer, &commit, &error) != SQLITE_OK) {
        return 3;
    }
    engine->unlock(store);
    engine->close(store);
    return 0;
}

static void map_follows_another_process(void **state)
{
    (void)state;
    set_map_size("1M");
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *first = begin_snapshot(store);
    pt_snapshot *second = new_snapshot(store);
    await_child(start_child(grow_store));
    assert_record(first, 1, "a", "one");
    assert_fails(engine->snapshot_begin(second, &error), SQLITE_BUSY, "made larger");
    engine->snapshot_end(first);
    assert_ok(engine->snapshot_begin(second, &error));
    assert_counts(second, 1, 51, 2 + 3 + 50 * (6 + 100000));
    assert_ok(engine->snapshot_begin(first, &error));
    assert_record(first, 1, "a", "one");
    engine->snapshot_free(first);
    engine->snapshot_free(second);
    engine->close(store);
    set_map_size(NULL);
}

/* What a closed cursor stood on is asked for next; but not from a snapshot that is another by then.
 */
static void record_of_a_closed_cursor_is_not_kept(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    assert_true(cursor->valid);
    engine->cursor_close(cursor);
    engine->snapshot_end(snapshot);
    store_text(store, 1, "a", "two");
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "a", "two");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* A snapshot looks keys up with one cursor, which remembers its page: no order of look-ups, absent
 * key or new version may confuse it. */
static void look_ups_depend_on_no_earlier_one(void **state)
{
    (void)state;
    uint8_t memory[512];
    uint64_t seed = 20261122;
    make_keys();
    pt_store *store = open_store(fixture_path);
    fill(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    for (unsigned i = 0; i < 6 * KEYS; i++) {
        /* Forwards, then backwards, then at random; in a new version each time. */
        unsigned run = i / (2 * KEYS);
        unsigned at = run == 0   ? i % KEYS
                      : run == 1 ? KEYS - 1 - i % KEYS
                                 : (unsigned)(next_random(&seed) % KEYS);
        if (i % KEYS == 0) {
            engine->snapshot_end(snapshot);
            store_text(store, TABLE + 2, "a", run % 2 == 0 ? "one" : "other");
            assert_ok(engine->snapshot_begin(snapshot, &error));
        }
        bool found;
        pt_slice record;
        assert_ok(engine->get(snapshot, key_slice(&keys[at]), &found, &record, &error));
        assert_true(found && pt_slice_equal(record, record_of(&keys[at], memory)));
        test_key absent = keys[at];
        absent.bytes[absent.size - 1] = 1; /* between two keys */
        assert_ok(engine->get(snapshot, key_slice(&absent), &found, &record, &error));
        assert_false(found);
        if (i % 100 == 0) {
            assert_record(snapshot, TABLE + 2, "a", run % 2 == 0 ? "one" : "other");
        }
    }
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* Too short for a table's id, or of one that no table has. */
static void keys_of_no_table_are_not_found(void **state)
{
    (void)state;
    static const pt_slice strange[] = {{(const uint8_t *)"\0\0", 2},
                                       {(const uint8_t *)"\xFF\0\0\x77", 4}};
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(store);
    bool found = true;
    pt_slice record;
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        assert_ok(engine->get(snapshot, strange[i], &found, &record, &error));
        assert_false(found);
    }
    assert_fails(engine->get(snapshot, (pt_slice){0}, &found, &record, &error), SQLITE_IOERR,
                 "reading a record");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(cursors_agree_with_a_sorted_array, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(whole_walks, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(empty_store_has_no_position, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(snapshots_do_not_see_later_commits, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(versions_change_with_commits_only, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(cursors_are_used_again, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(too_many_readers_are_busy, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(dead_readers_make_room, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(threads_see_whole_commits, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(map_follows_another_process, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(record_of_a_closed_cursor_is_not_kept, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(look_ups_depend_on_no_earlier_one, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(keys_of_no_table_are_not_found, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
