/*
 * Which fields of an entity become large values, and which large values of its old record go.
 */
#include "unit/transaction/one_session.h"

#include "transaction/large_value.h"

static uint8_t content[6000];

static int begin_with_content(void **state)
{
    if (setup(state) != 0) {
        return -1;
    }
    begin(session);
    for (size_t i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)i;
    }
    return 0;
}

#define content_test(name) cmocka_unit_test_setup_teardown(name, begin_with_content, teardown)

/* A bag of strings and binaries, in turn, of these sizes; 0 is an Int32. */
static pt_bag bag_of(const size_t *sizes, unsigned count)
{
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"};
    pt_bag bag = {0};
    for (unsigned i = 0; i < count; i++) {
        pt_field field = {.name = pt_slice_text(names[i % 10])};
        if (sizes[i] != 0) {
            field.value.type = i % 2 == 0 ? PT_STRING : PT_BINARY;
            field.value.bytes = pt_slice_of(content, sizes[i]);
        } else {
            field.value = (pt_value){.type = PT_INT32, .integer = 7};
        }
        assert_true(pt_bag_append(&bag, &field));
    }
    return bag;
}

/* `large`: a letter for each field, L if it must be large. */
static void assert_large(const size_t *sizes, const char *large)
{
    unsigned count = (unsigned)strlen(large);
    pt_bag bag = bag_of(sizes, count);
    bool any = strchr(large, 'L') != NULL;
    assert_true(pt_large_fields_are_needed(&bag) || !any);
    assert_ok(pt_large_fields_put(session, SESSION_TABLE, 5, &bag, &error));
    uint16_t ordinal = 0;
    for (unsigned i = 0; i < count; i++) {
        const pt_value *value = &bag.fields[i].value;
        assert_int_equal(pt_type_is_large(value->type), large[i] == 'L');
        if (large[i] == 'L') {
            assert_int_equal(value->type, i % 2 == 0 ? PT_LARGE_STRING : PT_LARGE_BINARY);
            assert_int_equal(value->large.size, sizes[i]);
            assert_int_equal(value->large.ticks, 5);
            assert_int_equal(value->large.ordinal, ordinal++);
        }
    }
    pt_bag_free(&bag);
}

#define SIZES(...) ((const size_t[]){__VA_ARGS__})

static void long_fields_become_large(void **state)
{
    (void)state;
    assert_large(SIZES(0), ".");
    assert_large(SIZES(2000, 0, 2000, 2000), "....");
    assert_large(SIZES(2000, 2001), ".L");
    assert_large(SIZES(5000, 0, 5000, 257), "L.L.");
}

/* Long ones do not count: they are outside anyway. */
static void records_stay_small(void **state)
{
    (void)state;
    const size_t full = 2000;
    assert_large(SIZES(full, full, full, full, full, full, full, full, 384), ".........");
    assert_large(SIZES(full, full, full, full, full, full, full, full, 385), "LLLLLLLLL");
    assert_large(SIZES(full, full, full, full, full, full, full, full, 256, 257), "LLLLLLLL.L");
    assert_large(SIZES(full, full, full, full, full, full, full, full, 0, 6000), ".........L");
    pt_bag small = {0};
    for (unsigned i = 0; i < 100; i++) {
        const pt_field field = {.value = {.type = PT_STRING, .bytes = pt_slice_of(content, 256)}};
        assert_true(pt_bag_append(&small, &field));
    }
    assert_ok(pt_large_fields_put(session, SESSION_TABLE, 5, &small, &error));
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(small.fields[i].value.type, PT_STRING);
    }
    pt_bag_free(&small);
}

static void ordinary_fields_are_seen_at_once(void **state)
{
    (void)state;
    pt_bag bag = bag_of(SIZES(0, 2000, 256, 0), 4);
    assert_false(pt_large_fields_are_needed(&bag));
    bag.fields[0].value = (pt_value){.type = PT_LARGE_STRING, .large = {.size = 90000}};
    assert_false(pt_large_fields_are_needed(&bag));
    pt_bag_free(&bag);
    bag = (pt_bag){0};
    assert_false(pt_large_fields_are_needed(&bag));
}

/* --- What goes --- */

static test_key entity_key(void)
{
    test_key key = key_of(SESSION_TABLE, "p*1");
    key.bytes[5] = 0;
    return key;
}

/* Stores the bag as an entity, whose fields are then in the record's order. */
static void put_entity(pt_bag *bag, int64_t ticks)
{
    test_key key = entity_key();
    const pt_shape *shape;
    pt_buffer scratch = {0};
    assert_ok(pt_large_fields_put(session, SESSION_TABLE, ticks, bag, &error));
    assert_int_equal(pt_dictionary_shape(pt_session_store(session)->dictionary, bag->fields,
                                         bag->count, NULL, &scratch, &shape),
                     SQLITE_OK);
    size_t size = pt_record_size(shape, bag->fields);
    uint8_t *bytes = pt_session_put(session, key_slice(&key), PT_REPLACE, size);
    assert_non_null(bytes);
    pt_record_write(shape, bag->fields, ticks, key_slice(&key), bytes, size);
    pt_buffer_free(&scratch);
}

static void assert_gone(const pt_bag *kept, unsigned count)
{
    test_key key = entity_key();
    pt_buffer gone = {0};
    assert_ok(pt_large_fields_find_gone(session, key_slice(&key), kept, &gone, &error));
    assert_int_equal(gone.size, count * sizeof(pt_large));
    pt_buffer_free(&gone);
}

static void what_nothing_points_to_goes(void **state)
{
    (void)state;
    pt_bag old = bag_of(SIZES(5000, 10, 3000, 0), 4);
    assert_gone(NULL, 0);
    put_entity(&old, 5);
    assert_gone(NULL, 2);
    assert_gone(&old, 0);
    pt_bag kept = bag_of(SIZES(0, 5000), 2);
    assert_gone(&kept, 2);
    kept.fields[1].value = old.fields[0].value;
    assert_gone(&kept, 1);
    kept.fields[1].value.large.ordinal = 9; /* another write's, or another value's */
    assert_gone(&kept, 2);
    kept.fields[1].value = old.fields[0].value;
    kept.fields[1].value.large.ticks++;
    assert_gone(&kept, 2);
    kept.count = 0;
    assert_gone(&kept, 2);
    pt_bag_free(&kept);
    pt_bag_free(&old);
}

static int64_t chunk_count(void)
{
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    pt_table_counts counts;
    assert_ok(engine->counts(snapshot, SESSION_TABLE, &counts, &error));
    engine->snapshot_free(snapshot);
    return counts.chunks;
}

static void what_goes_is_removed(void **state)
{
    (void)state;
    test_key key = entity_key();
    pt_bag old = bag_of(SIZES(5000, 10, 3000, 2500), 4);
    put_entity(&old, next_timestamp(session));
    sync_now(session);
    pt_session_commit(session);
    assert_int_equal(chunk_count(), 3 + 2 + 2);
    begin(session);
    pt_buffer gone = {0};
    old.count = 1;
    assert_ok(pt_large_fields_find_gone(session, key_slice(&key), &old, &gone, &error));
    pt_session_begin_row(session);
    assert_ok(pt_large_fields_remove(session, SESSION_TABLE, &gone, &error));
    pt_session_end_row(session);
    sync_now(session);
    pt_session_commit(session);
    assert_int_equal(chunk_count(), 3);
    pt_buffer_free(&gone);
    pt_bag_free(&old);
}

/* It can be replaced and deleted like any other, and what it pointed to is not known. */
static void a_damaged_record_has_no_large_values(void **state)
{
    (void)state;
    test_key key = entity_key();
    pt_bag old = bag_of(SIZES(5000), 1);
    put_entity(&old, 5);
    write_key(session, key_slice(&key), pt_slice_text("not a record"));
    assert_gone(NULL, 0);
    write_key(session, key_slice(&key), (pt_slice){0});
    assert_gone(NULL, 0);
    pt_bag_free(&old);
}

static void errors_of_the_engine_are_reported(void **state)
{
    (void)state;
    test_key key = entity_key();
    pt_bag old = bag_of(SIZES(5000), 1);
    pt_buffer gone = {0};
    put_entity(&old, 5);
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    fault_next(FAULTY_GET);
    assert_fails(pt_large_fields_find_gone(session, key_slice(&key), NULL, &gone, &error),
                 FAULTY_RC, "fire");
    pt_bag_free(&old);
}

static int find_and_remove(pt_error *error)
{
    test_key key = entity_key();
    pt_buffer gone = {0};
    size_t row = pt_session_begin_row(session);
    int rc = pt_large_fields_find_gone(session, key_slice(&key), NULL, &gone, error);
    if (rc == SQLITE_OK) {
        assert_int_equal(gone.size, 2 * sizeof(pt_large));
        rc = pt_large_fields_remove(session, SESSION_TABLE, &gone, error);
    }
    pt_session_discard_row(session, row);
    pt_buffer_free(&gone);
    return rc;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    pt_bag old = bag_of(SIZES(5000, 10, 6000), 3);
    put_entity(&old, 5);
    bool hit = true;
    for (int n = 0; hit; n++) {
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, false);
        int rc = find_and_remove(&error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_gone(NULL, 2);
    }
    pt_bag_free(&old);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        content_test(long_fields_become_large),
        content_test(records_stay_small),
        content_test(ordinary_fields_are_seen_at_once),
        content_test(what_nothing_points_to_goes),
        content_test(what_goes_is_removed),
        content_test(a_damaged_record_has_no_large_values),
        content_test(errors_of_the_engine_are_reported),
        content_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
