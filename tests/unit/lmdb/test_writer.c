#include "fixtures/store_fixture.h"

#include "entity/key.h"
#include "faults/failing_malloc.h"
#include "lmdb/registry.h"

/* --- Against a model --- */

enum { MODEL_TABLES = 3, MODEL_KEYS = 60, RECORD_MAX = 9000 };

typedef struct model {
    size_t sizes[MODEL_TABLES][MODEL_KEYS]; /* of records; 0: absent */
    uint8_t fills[MODEL_TABLES][MODEL_KEYS];
} model;

static test_key model_key(uint32_t table, unsigned number)
{
    char text[16];
    snprintf(text, sizeof text, "key %04u", number);
    return key_of(table, text);
}

static void check_model(pt_snapshot *snapshot, const model *expected)
{
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    for (uint32_t table = 0; table < MODEL_TABLES; table++) {
        int64_t entities = 0;
        int64_t bytes = 0;
        for (unsigned i = 0; i < MODEL_KEYS; i++) {
            size_t size = expected->sizes[table][i];
            if (size == 0) {
                continue;
            }
            test_key key = model_key(table, i);
            assert_true(cursor->valid);
            assert_true(pt_slice_equal(cursor->key, key_slice(&key)));
            assert_int_equal(cursor->record.size, size);
            assert_int_equal(cursor->record.data[0], expected->fills[table][i]);
            assert_int_equal(cursor->record.data[size - 1], expected->fills[table][i]);
            entities++;
            bytes += (int64_t)(key.size + size);
            assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
        }
        /* The catalogue, table 0, is not counted. */
        assert_counts(snapshot, table, table == 0 ? 0 : entities, table == 0 ? 0 : bytes);
    }
    assert_false(cursor->valid);
    engine->cursor_close(cursor);
}

static void put_model(pt_writer *writer, model *expected, uint32_t table, unsigned number,
                      size_t size, uint8_t fill)
{
    static uint8_t record[RECORD_MAX];
    test_key key = model_key(table, number);
    memset(record, fill, size);
    assert_ok(engine->write_put(writer, key_slice(&key), pt_slice_of(record, size), &error));
    expected->sizes[table][number] = size;
    expected->fills[table][number] = fill;
}

static void delete_model(pt_writer *writer, model *expected, uint32_t table, unsigned number)
{
    test_key key = model_key(table, number);
    assert_ok(engine->write_delete(writer, key_slice(&key), &error));
    expected->sizes[table][number] = 0;
}

static size_t random_size(uint64_t *seed)
{
    bool may_be_long = next_random(seed) % 8 == 0; /* asked first, whatever the compiler does */
    return 1 + next_random(seed) % (may_be_long ? RECORD_MAX : 200);
}

/* One transaction: ascending keys as batches have them, or any order. */
static void write_randomly(pt_writer *writer, model *expected, uint64_t *seed)
{
    bool ascending = next_random(seed) % 2 == 0;
    unsigned operations = next_random(seed) % 40;
    unsigned at = next_random(seed) % 20;
    for (unsigned i = 0; i < operations; i++) {
        at += next_random(seed) % 8;
        unsigned place = ascending ? at : next_random(seed);
        if (ascending && at >= MODEL_TABLES * MODEL_KEYS) {
            return;
        }
        uint32_t table = place / MODEL_KEYS % MODEL_TABLES;
        if (next_random(seed) % 3 == 0) {
            delete_model(writer, expected, table, place % MODEL_KEYS);
        } else {
            put_model(writer, expected, table, place % MODEL_KEYS, random_size(seed),
                      (uint8_t)next_random(seed));
        }
    }
}

static void writes_agree_with_a_model(void **state)
{
    (void)state;
    static model current;
    uint64_t seed = 11;
    memset(&current, 0, sizeof current);
    pt_store *store = open_store(fixture_path);
    for (int round = 0; round < 150; round++) {
        model kept = current;
        lock_store(store);
        pt_writer *writer = begin_write(store);
        write_randomly(writer, &current, &seed);
        if (next_random(&seed) % 5 == 0) {
            engine->write_abort(writer);
            current = kept;
        } else {
            commit_write(writer);
        }
        engine->unlock(store);
        pt_snapshot *snapshot = begin_snapshot(store);
        check_model(snapshot, &current);
        engine->snapshot_free(snapshot);
    }
    engine->close(store);
}

static void restore_leaves_the_earlier_state(void **state)
{
    (void)state;
    uint64_t seed = 12;
    model current = {0};
    pt_store *store = open_store(fixture_path);
    for (int round = 0; round < 40; round++) {
        pt_snapshot *before = begin_snapshot(store);
        model kept = current;
        lock_store(store);
        pt_writer *writer = begin_write(store);
        write_randomly(writer, &current, &seed);
        commit_write(writer);
        writer = begin_write(store);
        for (uint32_t table = 0; table < MODEL_TABLES; table++) {
            for (unsigned i = 0; i < MODEL_KEYS; i++) {
                test_key key = model_key(table, i);
                assert_ok(engine->write_restore(writer, before, key_slice(&key), &error));
            }
        }
        model restored = kept;
        if (round % 3 != 0) { /* undoes and writes again in one transaction */
            write_randomly(writer, &restored, &seed);
        }
        commit_write(writer);
        engine->unlock(store);
        pt_snapshot *after = begin_snapshot(store);
        check_model(before, &kept);
        check_model(after, &restored);
        current = restored;
        engine->snapshot_free(before);
        engine->snapshot_free(after);
    }
    engine->close(store);
}

/* LMDB would keep all pages of a value that the same transaction has written, and readers would
 * take that for damage. */
static void value_that_shrinks_gives_pages_back(void **state)
{
    static const size_t sizes[] = {9000, 8177, 8176, 4081, 4080, 2100, 900, 1};
    enum { SIZES = sizeof sizes / sizeof sizes[0], LAST = MODEL_KEYS - 1 };
    (void)state;
    model expected = {0};
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    for (size_t from = 0; from < SIZES; from++) {
        for (size_t to = from; to < SIZES; to++) {
            pt_writer *writer = begin_write(store);
            for (unsigned number = 0; number < MODEL_KEYS; number += LAST / 3) {
                put_model(writer, &expected, 1, number, sizes[from], 1);
                put_model(writer, &expected, 1, number, sizes[to], 2);
            }
            commit_write(writer);
            pt_snapshot *snapshot = begin_snapshot(store);
            check_model(snapshot, &expected);
            engine->snapshot_free(snapshot);
        }
    }
    engine->unlock(store);
    engine->close(store);
}

/* Smaller keys after appended ones, so that LMDB's idea of the end is put to the test. */
static void appending_ends_where_order_ends(void **state)
{
    (void)state;
    char text[16];
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = 1000; i > 0; i -= 10) {
        for (int j = 0; j < 10; j++) {
            snprintf(text, sizeof text, "%05d", i + j);
            put_text(writer, 1, text, "a record that fills the page some way");
        }
        snprintf(text, sizeof text, "%05d", 2000 - i);
        put_text(writer, 1, text, "a record that fills the page some way");
    }
    commit_write(writer);
    engine->unlock(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, (pt_slice){0}, (pt_slice){0}, PT_FORWARD, &error));
    pt_slice last = {0};
    int found = 0;
    for (; cursor->valid; found++) {
        assert_true(last.size == 0 || pt_slice_compare(last, cursor->key) < 0);
        last = cursor->key;
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
    }
    pt_table_counts counts = {0};
    assert_ok(engine->counts(snapshot, 1, &counts, &error));
    assert_int_equal(counts.entities, found);
    assert_int_equal(found, 1000 + 99); /* 1010..1990 lie beyond, 1000 and 1009 within */
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void keys_up_to_the_limit(void **state)
{
    (void)state;
    static uint8_t bytes[20490];
    memset(bytes, 'k', sizeof bytes);
    pt_slice longest = pt_slice_of(bytes, 20489);
    pt_slice longer = pt_slice_of(bytes, 20490);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, longest, pt_slice_text("long"), &error));
    assert_fails(engine->write_put(writer, longer, pt_slice_text("longer"), &error), SQLITE_TOOBIG,
                 "20490 bytes is longer than 20489");
    bytes[0] = PT_KEY_CHUNKS;
    assert_fails(engine->write_put(writer, pt_slice_of(bytes, 511), pt_slice_text("x"), &error),
                 SQLITE_TOOBIG, "511 bytes is longer than 510");
    bytes[0] = 'k';
    assert_ok(engine->write_delete(writer, longer, &error));
    commit_write(writer);
    engine->unlock(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    bool found = true;
    pt_slice record;
    assert_ok(engine->get(snapshot, longer, &found, &record, &error));
    assert_false(found);
    assert_ok(engine->get(snapshot, longest, &found, &record, &error));
    assert_true(found);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void file_is_never_left_short(void **state)
{
    (void)state;
    static uint8_t large[300000];
    test_key key = key_of(1, "large");
    pt_store *store = open_store(fixture_path);
    for (int i = 0; i < 20; i++) {
        lock_store(store);
        pt_writer *writer = begin_write(store);
        assert_ok(
            engine->write_put(writer, key_slice(&key), pt_slice_of(large, sizeof large), &error));
        put_text(writer, 1, "small", "record");
        assert_ok(engine->write_delete(writer, key_slice(&key), &error));
        commit_write(writer);
        engine->unlock(store);
        engine->close(store);
        store = open_store(fixture_path);
    }
    engine->close(store);
}

/* --- The dictionary in the store --- */

/* Assigns ids to a name and to the shape of an entity that has only this property. */
static int assign_name(pt_store *store, const char *name, uint16_t *id)
{
    pt_field field = {.name = pt_slice_text(name), .value = {.type = PT_INT32}};
    pt_buffer scratch = {0};
    const pt_shape *shape;
    int rc = pt_dictionary_shape(store->dictionary, &field, 1, NULL, &scratch, &shape);
    *id = field.name_id;
    return rc;
}

static uint16_t name_id(pt_store *store, const char *name)
{
    uint16_t id = 0;
    assert_int_equal(assign_name(store, name, &id), SQLITE_OK);
    return id;
}

static void assert_committed(pt_store *store, uint16_t names, uint16_t shapes)
{
    pt_dictionary_counts counts = pt_dictionary_committed(store->dictionary);
    assert_int_equal(counts.names, names);
    assert_int_equal(counts.shapes, shapes);
}

static void assert_name(pt_store *store, uint16_t id, const char *expected)
{
    pt_slice name = {0};
    pt_shape_source source = pt_dictionary_source(store->dictionary);
    assert_int_equal(source.name(source.context, id, &name), expected != NULL);
    assert_true(expected == NULL || pt_slice_equal(name, pt_slice_text(expected)));
}

static int add_names_in_child(void)
{
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_snapshot *snapshot;
    pt_writer *writer;
    uint16_t id;
    pt_commit commit = {.sync = PT_SYNC_OFF};
    if (engine->open(fixture_path, 0, &store, &error) != SQLITE_OK ||
        engine->lock(store, 0, &error) != SQLITE_OK ||
        engine->snapshot_new(store, &snapshot, &error) != SQLITE_OK ||
        engine->snapshot_begin(snapshot, &error) != SQLITE_OK) {
        return 1;
    }
    if (assign_name(store, "Age", &id) != SQLITE_OK || id != 2 ||
        assign_name(store, "Email", &id) != SQLITE_OK || id != 3 ||
        engine->write_begin(store, &writer, &error) != SQLITE_OK ||
        engine->write_commit(writer, &commit, &error) != SQLITE_OK) {
        return 2;
    }
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
    return 0;
}

static void dictionary_goes_with_commits(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    unsigned epoch = pt_dictionary_epoch(store->dictionary);
    lock_store(store);
    assert_int_equal(name_id(store, "First"), 1);
    assert_int_equal(name_id(store, "Second"), 2);
    engine->unlock(store); /* without a commit */
    assert_int_not_equal(pt_dictionary_epoch(store->dictionary), epoch);
    assert_name(store, 1, NULL);
    lock_store(store);
    assert_int_equal(name_id(store, "Second"), 1);
    commit_write(begin_write(store));
    engine->unlock(store);
    assert_committed(store, 1, 1);
    assert_name(store, 1, "Second");
    engine->snapshot_end(snapshot);
    await_child(start_child(add_names_in_child));
    lock_store(store); /* and a commit that has not seen the child's entries keeps them */
    commit_write(begin_write(store));
    engine->unlock(store);
    assert_committed(store, 1, 1);
    assert_ok(engine->snapshot_begin(snapshot, &error)); /* brings the child's entries */
    assert_committed(store, 3, 3);
    assert_name(store, 2, "Age");
    assert_name(store, 3, "Email");
    lock_store(store);
    assert_int_equal(name_id(store, "First"), 4);
    commit_write(begin_write(store));
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
    store = open_store(fixture_path);
    snapshot = begin_snapshot(store);
    assert_committed(store, 4, 4);
    pt_shape_source source = pt_dictionary_source(store->dictionary);
    const pt_shape *shape = source.shape(source.context, 4);
    assert_non_null(shape);
    assert_int_equal(shape->count, 1);
    assert_true(pt_slice_equal(shape->properties[0].name, pt_slice_text("First")));
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* --- Out of memory --- */

static int write_something(pt_store *store, pt_error *error)
{
    uint16_t id;
    pt_writer *writer;
    pt_commit commit = {.sync = PT_SYNC_OFF};
    test_key key = key_of(1, "b");
    test_key shrinks = key_of(1, "long");
    int rc = assign_name(store, "Name", &id);
    if (rc == SQLITE_OK) {
        rc = engine->write_begin(store, &writer, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = engine->write_put(writer, key_slice(&key), pt_slice_text("record"), error);
    if (rc == SQLITE_OK) {
        rc = engine->write_put(writer, key_slice(&shrinks), pt_slice_text("short"), error);
    }
    if (rc != SQLITE_OK) {
        engine->write_abort(writer);
        return rc;
    }
    return engine->write_commit(writer, &commit, error);
}

static void failed_allocations_write_nothing(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    char text[5001] = {0};
    memset(text, 'x', sizeof text - 1);
    store_text(store, 1, "a", "one");
    store_text(store, 1, "long", text);
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        lock_store(store);
        failing_malloc_arm(n, false);
        int rc = write_something(store, &error);
        bool hit = failing_malloc_disarm();
        engine->unlock(store);
        pt_error_clear(&error);
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        if (!hit) {
            break;
        }
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_record(snapshot, 1, "a", "one");
        assert_record(snapshot, 1, "b", NULL);
        assert_record(snapshot, 1, "long", text);
        assert_counts(snapshot, 1, 2, 2 + 3 + 5 + 5000);
        engine->snapshot_free(snapshot);
    }
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "b", "record");
    assert_record(snapshot, 1, "long", "short");
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static pt_table_counts counts_of(pt_store *store, uint32_t table)
{
    pt_table_counts counts = {0};
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_ok(engine->counts(snapshot, table, &counts, &error));
    engine->snapshot_free(snapshot);
    return counts;
}

/* A transaction may add chunks, and neither an entity nor a byte. */
static void chunks_are_counted_by_themselves(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "0123456789");
    pt_table_counts before = counts_of(store, 1);
    test_key chunk = key_with_start(pt_key_start_of_chunks(1));
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, key_slice(&chunk), pt_slice_text(""), &error));
    put_text(writer, 1, "a", "01234567"); /* shorter by the chunk's key */
    put_text(writer, PT_TABLE_CHUNKS, "", "of no table");
    commit_write(writer);
    pt_table_counts after = counts_of(store, 1);
    assert_int_equal(after.entities, before.entities);
    assert_int_equal(after.bytes, before.bytes);
    assert_int_equal(after.chunks, 1);
    writer = begin_write(store);
    assert_ok(engine->write_delete(writer, key_slice(&chunk), &error));
    delete_text(writer, 1, "a");
    commit_write(writer);
    engine->unlock(store);
    after = counts_of(store, 1);
    assert_true(after.entities == 0 && after.bytes == 0 && after.chunks == 0);
    engine->close(store);
}

/* --- Memory --- */

static void put_scattered(pt_writer *writer, unsigned keys, size_t size)
{
    static uint8_t record[RECORD_MAX];
    for (unsigned i = 0; i < keys; i++) {
        test_key key = model_key(1, i * 7919 % 9973);
        assert_ok(engine->write_put(writer, key_slice(&key), pt_slice_of(record, size), &error));
    }
}

static bool holds_much(pt_store *store)
{
    return ((pt_lmdb_store *)store)->holds_much;
}

/* A transaction that may have changed more than 32 MB of pages: LMDB holds their memory. */
static void a_large_transaction_is_noted_until_a_snapshot_ends(void **state)
{
    enum { KEYS = 9000 };
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_scattered(writer, KEYS, 10);
    commit_write(writer);
    assert_false(holds_much(store)); /* the whole file has fewer pages */
    writer = begin_write(store);
    put_scattered(writer, KEYS, 4000);
    engine->write_abort(writer);
    assert_true(holds_much(store));
    engine->snapshot_free(begin_snapshot(store));
    assert_false(holds_much(store));
    writer = begin_write(store);
    put_scattered(writer, KEYS, 4000);
    pt_snapshot *snapshot = begin_snapshot(store);
    commit_write(writer);
    assert_true(holds_much(store));
    engine->snapshot_free(begin_snapshot(store));
    assert_true(holds_much(store)); /* the other snapshot is still open */
    engine->snapshot_free(snapshot);
    assert_false(holds_much(store));
    engine->unlock(store);
    engine->close(store);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        store_test(writes_agree_with_a_model),
        store_test(restore_leaves_the_earlier_state),
        store_test(value_that_shrinks_gives_pages_back),
        store_test(appending_ends_where_order_ends),
        store_test(keys_up_to_the_limit),
        store_test(file_is_never_left_short),
        store_test(dictionary_goes_with_commits),
        store_test(a_large_transaction_is_noted_until_a_snapshot_ends),
        store_test(failed_allocations_write_nothing),
        store_test(chunks_are_counted_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
