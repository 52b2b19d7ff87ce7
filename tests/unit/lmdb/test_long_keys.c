/*
 * Keys that do not fit into LMDB's, among keys that do, against a sorted array.
 */
#include "fixtures/raw_store.h"

#include "entity/key.h"
#include "faults/failing_malloc.h"

enum { KEYS = 12000, KEY_MAX = 4700, BYTES_MAX = 1 << 25, TABLES = 2 };

typedef struct model_key {
    uint8_t *bytes;
    size_t size;
    uint32_t record; /* 0: absent */
} model_key;

static model_key keys[KEYS]; /* sorted, each once */
static size_t key_count;
static uint8_t *key_bytes;

static pt_slice slice_at(size_t at)
{
    return pt_slice_of(keys[at].bytes, keys[at].size);
}

static int compare_keys(const void *a, const void *b)
{
    const model_key *x = a;
    const model_key *y = b;
    return pt_slice_compare(pt_slice_of(x->bytes, x->size), pt_slice_of(y->bytes, y->size));
}

/* Lengths near those at which a key needs one more bucket, and all others now and then. */
static size_t random_length(uint64_t *seed)
{
    static const size_t edges[] = {20, 510, 510, 510, 1012, 1012, 1514, 2016};
    uint32_t kind = next_random(seed) % 16;
    if (kind < 8) {
        return edges[kind] - 5 + next_random(seed) % 11;
    }
    return kind < 15 ? 5 + next_random(seed) % 40 : 5 + next_random(seed) % (KEY_MAX - 5);
}

/* The beginning of an earlier key, and then bytes of which there are few. */
static void make_key(model_key *key, size_t made, uint64_t *seed)
{
    size_t shared = 0;
    key->size = random_length(seed);
    if (made > 0 && next_random(seed) % 8 != 0) {
        const model_key *other = &keys[next_random(seed) % made];
        size_t most = other->size < key->size ? other->size : key->size;
        shared = next_random(seed) % 4 == 0 ? next_random(seed) % (most + 1) : most;
        if (shared == key->size) {
            shared -= next_random(seed) % 3;
        }
        memcpy(key->bytes, other->bytes, shared);
    }
    for (size_t i = shared; i < key->size; i++) {
        key->bytes[i] = (uint8_t)(next_random(seed) % 3 * 127 + next_random(seed) % 2);
    }
    key->bytes[0] = (uint8_t)(1 + key->bytes[5 % key->size] % TABLES);
}

static void make_keys(uint64_t seed)
{
    uint8_t *at = key_bytes;
    for (size_t i = 0; i < KEYS; i++) {
        keys[i] = (model_key){.bytes = at};
        make_key(&keys[i], i, &seed);
        at += keys[i].size;
        assert_true(at + KEY_MAX < key_bytes + BYTES_MAX);
    }
    qsort(keys, KEYS, sizeof keys[0], compare_keys);
    key_count = 1;
    for (size_t i = 1; i < KEYS; i++) {
        if (compare_keys(&keys[i], &keys[key_count - 1]) != 0) {
            keys[key_count++] = keys[i];
        }
    }
}

/* --- Writing --- */

/* The record that goes with a number: its length differs from that of most others. */
static pt_slice record_of(uint32_t number, uint8_t memory[64])
{
    memset(memory, (int)(number % 251), 64);
    pt_put_be32(memory, number);
    return pt_slice_of(memory, 4 + number % 40);
}

static void put_key(pt_writer *writer, size_t at, uint32_t number)
{
    uint8_t memory[64];
    assert_ok(engine->write_put(writer, slice_at(at), record_of(number, memory), &error));
    keys[at].record = number;
}

static void delete_key(pt_writer *writer, size_t at)
{
    assert_ok(engine->write_delete(writer, slice_at(at), &error));
    keys[at].record = 0;
}

/* Puts and deletes keys at random places; one of `deletes_in` operations is a deletion. */
static void write_randomly(pt_writer *writer, size_t operations, unsigned deletes_in,
                           uint64_t *seed)
{
    for (size_t i = 0; i < operations; i++) {
        size_t at = next_random(seed) % key_count;
        if (next_random(seed) % deletes_in == 0) {
            delete_key(writer, at);
        } else {
            put_key(writer, at, 1 + next_random(seed) % 1000000);
        }
    }
}

/* --- Checking --- */

static size_t next_present(size_t at)
{
    while (at < key_count && keys[at].record == 0) {
        at++;
    }
    return at;
}

/* key_count if there is none before `at`. */
static size_t last_present(size_t at)
{
    while (at > 0 && keys[at - 1].record == 0) {
        at--;
    }
    return at > 0 ? at - 1 : key_count;
}

static void assert_at(const pt_engine_cursor *cursor, size_t at)
{
    uint8_t memory[64];
    assert_int_equal(cursor->valid, at < key_count);
    if (cursor->valid) {
        assert_true(pt_slice_equal(cursor->key, slice_at(at)));
        assert_true(pt_slice_equal(cursor->record, record_of(keys[at].record, memory)));
    }
}

static void check_walks(pt_engine_cursor *cursor)
{
    static const uint8_t behind[] = {0xFF, 0xFF, 0xFF, 0xFF};
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    for (size_t at = next_present(0); at < key_count; at = next_present(at + 1)) {
        assert_at(cursor, at);
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
    }
    assert_false(cursor->valid);
    assert_ok(
        engine->cursor_seek(cursor, pt_slice_of(behind, 4), (pt_slice){0}, PT_BACKWARD, &error));
    for (size_t at = last_present(key_count); at < key_count; at = last_present(at)) {
        assert_at(cursor, at);
        assert_ok(engine->cursor_step(cursor, PT_BACKWARD, &error));
    }
    assert_false(cursor->valid);
}

static void check_counts(pt_snapshot *snapshot)
{
    pt_table_counts expected[TABLES + 1] = {{0}};
    for (size_t at = next_present(0); at < key_count; at = next_present(at + 1)) {
        pt_table_counts *counts = &expected[keys[at].bytes[0]];
        counts->entities++;
        counts->bytes += (int64_t)(keys[at].size + 4 + keys[at].record % 40);
    }
    for (uint32_t table = 1; table <= TABLES; table++) {
        assert_counts(snapshot, table, expected[table].entities, expected[table].bytes);
    }
}

static void check_all(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    check_walks(cursor);
    check_counts(snapshot);
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
}

static size_t lower_bound(pt_slice key)
{
    size_t low = 0;
    size_t high = key_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pt_slice_compare(slice_at(middle), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void check_seek(pt_engine_cursor *cursor, pt_slice key)
{
    size_t bound = lower_bound(key);
    size_t first = next_present(bound);
    size_t before = last_present(bound);
    assert_ok(engine->cursor_seek(cursor, key, (pt_slice){0}, PT_FORWARD, &error));
    assert_at(cursor, first);
    if (cursor->valid) {
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
        assert_at(cursor, next_present(first + 1));
    }
    assert_ok(engine->cursor_seek(cursor, key, (pt_slice){0}, PT_FORWARD, &error));
    if (cursor->valid) {
        assert_ok(engine->cursor_step(cursor, PT_BACKWARD, &error));
        assert_at(cursor, before);
    }
    assert_ok(engine->cursor_seek(cursor, key, (pt_slice){0}, PT_BACKWARD, &error));
    assert_at(cursor, before);
    if (cursor->valid) {
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
        assert_at(cursor, first);
    }
    assert_ok(engine->cursor_seek(cursor, key, (pt_slice){0}, PT_BACKWARD, &error));
    if (cursor->valid) {
        assert_ok(engine->cursor_step(cursor, PT_BACKWARD, &error));
        assert_at(cursor, last_present(before));
    }
}

static void check_get(pt_snapshot *snapshot, size_t at)
{
    uint8_t memory[64];
    bool found = false;
    pt_slice record = {0};
    assert_ok(engine->get(snapshot, slice_at(at), &found, &record, &error));
    assert_int_equal(found, keys[at].record != 0);
    assert_true(!found || pt_slice_equal(record, record_of(keys[at].record, memory)));
}

/* Around a key: itself, the place behind it, one before it, prefixes of all interesting lengths. */
static void check_around(pt_engine_cursor *cursor, size_t at, uint64_t *seed)
{
    static const size_t lengths[] = {4, 509, 510, 511, 512, 1011, 1012, 1013, 1514, 1515};
    static uint8_t near[KEY_MAX + 700];
    size_t size = keys[at].size;
    memcpy(near, keys[at].bytes, size);
    check_seek(cursor, pt_slice_of(near, size));
    memset(near + size, 0, 600);
    check_seek(cursor, pt_slice_of(near, size + 1));
    check_seek(cursor, pt_slice_of(near, size + 600));
    size_t length = lengths[next_random(seed) % 10];
    if (length < size) {
        check_seek(cursor, pt_slice_of(near, length));
        near[length - 1]++;
        check_seek(cursor, pt_slice_of(near, length));
        check_seek(cursor, pt_slice_of(near, size));
        near[length - 1] -= 2;
        check_seek(cursor, pt_slice_of(near, size));
        near[length - 1]++;
    }
    near[size - 1]--;
    check_seek(cursor, pt_slice_of(near, size));
}

static void check_samples(pt_store *store, size_t samples, uint64_t *seed)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    for (size_t i = 0; i < samples; i++) {
        size_t at = next_random(seed) % key_count;
        check_get(snapshot, at);
        check_around(cursor, at, seed);
    }
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
}

static void assert_nothing_is_left(void)
{
    assert_int_equal(raw_entries("entities"), 0);
    assert_int_equal(raw_entries("long_keys"), 0);
}

/* --- Tests --- */

static int setup(void **state)
{
    key_bytes = malloc(BYTES_MAX);
    return key_bytes == NULL ? -1 : fixture_setup(state);
}

static int teardown(void **state)
{
    free(key_bytes);
    return fixture_teardown(state);
}

static void writes_agree_with_a_sorted_array(void **state)
{
    (void)state;
    uint64_t seed = 21;
    make_keys(22);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    for (int round = 0; round < 8; round++) {
        pt_writer *writer = begin_write(store);
        write_randomly(writer, key_count / 2, round < 5 ? 6 : 2, &seed);
        commit_write(writer);
        check_all(store);
        check_samples(store, 300, &seed);
    }
    pt_writer *writer = begin_write(store);
    for (size_t at = 0; at < key_count; at++) {
        delete_key(writer, at * 7919 % key_count);
    }
    for (size_t at = 0; at < key_count; at++) {
        delete_key(writer, at);
    }
    commit_write(writer);
    check_all(store);
    engine->unlock(store);
    engine->close(store);
    assert_nothing_is_left();
}

static void keys_in_order_are_appended(void **state)
{
    (void)state;
    uint64_t seed = 23;
    make_keys(24);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    for (size_t at = 0; at < key_count;) { /* in three transactions */
        pt_writer *writer = begin_write(store);
        for (size_t end = at + key_count / 3 + 1; at < key_count && at < end; at++) {
            put_key(writer, at, (uint32_t)at + 1);
        }
        commit_write(writer);
    }
    check_all(store);
    check_samples(store, 300, &seed);
    pt_writer *writer = begin_write(store);
    for (size_t at = key_count; at-- > 0;) {
        delete_key(writer, at);
    }
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    assert_nothing_is_left();
}

/* What an aborted or an undone commit did is not there, and does not come back. */
static void earlier_states_come_back(void **state)
{
    (void)state;
    static model_key kept[KEYS];
    uint64_t seed = 25;
    make_keys(26);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    for (int round = 0; round < 6; round++) {
        pt_snapshot *before = begin_snapshot(store);
        memcpy(kept, keys, sizeof keys);
        pt_writer *writer = begin_write(store);
        write_randomly(writer, 3000, 3, &seed);
        if (round % 3 == 2) {
            engine->write_abort(writer);
        } else {
            commit_write(writer);
            writer = begin_write(store);
            for (size_t at = 0; at < key_count; at++) {
                if (keys[at].record != kept[at].record) {
                    assert_ok(engine->write_restore(writer, before, slice_at(at), &error));
                }
            }
            commit_write(writer);
        }
        memcpy(keys, kept, sizeof keys);
        engine->snapshot_free(before);
        check_all(store);
        writer = begin_write(store);
        write_randomly(writer, 3000, 4, &seed);
        commit_write(writer);
        check_all(store);
    }
    engine->unlock(store);
    engine->close(store);
}

static void one_bucket_inside_another_to_the_limit(void **state)
{
    (void)state;
    key_count = 0;
    for (size_t size = 400; size <= PT_KEY_LOGICAL_MAX; size += 96, key_count++) {
        keys[key_count] = (model_key){.bytes = key_bytes, .size = size};
    }
    keys[key_count++] = (model_key){.bytes = key_bytes, .size = PT_KEY_LOGICAL_MAX};
    memset(key_bytes, 0, PT_KEY_LOGICAL_MAX + 1); /* only their lengths differ */
    key_bytes[0] = 1;
    qsort(keys, key_count, sizeof keys[0], compare_keys);
    key_count -= keys[key_count - 2].size == PT_KEY_LOGICAL_MAX;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (size_t at = 0; at < key_count; at++) {
        put_key(writer, at * 101 % key_count, (uint32_t)at + 1);
    }
    commit_write(writer);
    check_all(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    for (size_t at = 0; at < key_count; at++) {
        check_get(snapshot, at);
        check_seek(cursor, slice_at(at));
        check_seek(cursor, cursor->key); /* the cursor's own */
    }
    check_seek(cursor, pt_slice_of(key_bytes, PT_KEY_LOGICAL_MAX + 1000));
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    writer = begin_write(store);
    for (size_t at = 0; at < key_count; at++) {
        delete_key(writer, at * 37 % key_count);
        if (at == key_count / 2) {
            commit_write(writer);
            check_all(store);
            writer = begin_write(store);
        }
    }
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    assert_nothing_is_left();
}

static void cursors_are_used_again_for_long_keys(void **state)
{
    (void)state;
    make_keys(27);
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = new_snapshot(store);
    lock_store(store);
    for (uint32_t round = 1; round <= 3; round++) {
        pt_writer *writer = begin_write(store);
        for (size_t at = 0; at < 200; at++) {
            put_key(writer, at * 97 % key_count, round);
        }
        commit_write(writer);
        assert_ok(engine->snapshot_begin(snapshot, &error));
        for (int use = 0; use < 2; use++) {
            pt_engine_cursor *cursor = NULL;
            assert_ok(engine->cursor_open(snapshot, &cursor, &error));
            check_walks(cursor);
            engine->cursor_close(cursor);
        }
        engine->snapshot_end(snapshot);
    }
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static int walk(pt_snapshot *snapshot, size_t *met, pt_error *error)
{
    pt_engine_cursor *cursor = NULL;
    int rc = engine->cursor_open(snapshot, &cursor, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *met = 0;
    rc = engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, error);
    while (rc == SQLITE_OK && cursor->valid) {
        (*met)++;
        rc = engine->cursor_step(cursor, PT_FORWARD, error);
    }
    engine->cursor_close(cursor);
    return rc;
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    make_keys(28);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    failing_malloc_arm(0, true); /* once there is a writer, writing needs no memory */
    pt_writer *writer;
    pt_error failure = PT_ERROR_NONE;
    assert_int_equal(engine->write_begin(store, &writer, &failure), SQLITE_NOMEM);
    failing_malloc_disarm();
    writer = begin_write(store);
    failing_malloc_arm(0, true);
    for (size_t at = 0; at < 300; at++) {
        put_key(writer, at * 61 % key_count, (uint32_t)at + 1);
    }
    delete_key(writer, 61);
    commit_write(writer);
    assert_false(failing_malloc_disarm());
    engine->unlock(store);
    for (int n = 0;; n++) {
        size_t met = 0;
        pt_snapshot *snapshot = begin_snapshot(store);
        failing_malloc_arm(n, false);
        int rc = walk(snapshot, &met, &failure);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_ok(walk(snapshot, &met, &error)); /* the same cursor again */
        assert_int_equal(met, 299);
        engine->snapshot_free(snapshot);
        if (!hit) {
            assert_int_equal(n, 2);
            break;
        }
    }
    engine->close(store);
}

static void used_up_map_leaves_whole_keys(void **state)
{
    (void)state;
    set_map_size("2M");
    make_keys(29);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    int rc = SQLITE_OK;
    for (size_t at = 0; rc == SQLITE_OK; at++) {
        uint8_t memory[64];
        pt_error error = PT_ERROR_NONE;
        pt_writer *writer = begin_write(store);
        size_t place = at * 7919 % key_count;
        rc = engine->write_put(writer, slice_at(place), record_of(1, memory), &error);
        if (rc == SQLITE_OK) {
            keys[place].record = 1;
            commit_write(writer);
        } else {
            assert_int_equal(rc, SQLITE_FULL);
            pt_error_clear(&error);
            engine->write_abort(writer);
        }
    }
    check_all(store);
    for (size_t at = next_present(0); at < key_count; at = next_present(at + 1)) {
        pt_writer *writer = begin_write(store);
        delete_key(writer, at);
        commit_write(writer);
    }
    check_all(store);
    engine->unlock(store);
    engine->close(store);
    assert_nothing_is_left();
    set_map_size(NULL);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(writes_agree_with_a_sorted_array),
        TEST(keys_in_order_are_appended),
        TEST(earlier_states_come_back),
        TEST(one_bucket_inside_another_to_the_limit),
        TEST(cursors_are_used_again_for_long_keys),
        TEST(failed_allocations_are_reported),
        TEST(used_up_map_leaves_whole_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
