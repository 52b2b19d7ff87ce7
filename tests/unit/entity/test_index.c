#include "fixtures/value_fixture.h"

#include <math.h>

#include "base/ticks.h"
#include "entity/index.h"
#include "faults/failing_malloc.h"
#include "fixtures/random_bits.h"

enum { TEXT_MAX = 300, VALUES = 4000 };

/* --- Random values, with many that are near each other --- */

static int64_t random_integer(void)
{
    static const int64_t near[] = {0,         1,           -1,        5,         INT32_MAX,
                                   INT32_MIN, INT64_MAX,   INT64_MIN, 1LL << 53, -(1LL << 53),
                                   1LL << 62, -(1LL << 62)};
    int64_t middle = near[random_bits() % COUNT(near)];
    int64_t around = (int64_t)(random_bits() % 2500) - 1250;
    return (int64_t)((uint64_t)middle + (uint64_t)around);
}

static double random_double(void)
{
    static const double special[] = {0.0,
                                     -0.0,
                                     INFINITY,
                                     -INFINITY,
                                     0.5,
                                     -0.5,
                                     1e300,
                                     5e-324,
                                     9223372036854775808.0,
                                     -9223372036854775808.0};
    switch (random_bits() % 4) {
    case 0:
        return special[random_bits() % COUNT(special)];
    case 1:
        return (double)random_integer() / 4;
    case 2:
        return nextafter((double)random_integer(), random_bits() % 2 == 0 ? INFINITY : -INFINITY);
    default:
        return (double)random_integer();
    }
}

/* Short texts of few characters, and long ones that differ near the place where they are cut. */
static pt_slice random_text(uint8_t bytes[TEXT_MAX])
{
    static const uint8_t few[] = {0, 1, 2, 'a', 'b', 0xC2, 0xFE, 0xFF};
    size_t size = random_bits() % 6;
    if (random_bits() % 4 == 0) {
        size = 252 + random_bits() % 8;
    }
    memset(bytes, 'a', size);
    for (size_t i = 0; i < size; i++) {
        if (size < 10 || i > 250) {
            bytes[i] = few[random_bits() % COUNT(few)];
        }
    }
    return pt_slice_of(bytes, size);
}

static pt_value random_value(uint8_t bytes[TEXT_MAX])
{
    pt_value value = {.type = (pt_type)(random_bits() % (PT_TYPE_LAST + 1))};
    switch (value.type) {
    case PT_STRING:
    case PT_BINARY:
        value.bytes = random_text(bytes);
        break;
    case PT_INT32:
        value.integer = (int32_t)random_integer();
        break;
    case PT_BOOLEAN:
        value.integer = (int64_t)(random_bits() % 2);
        break;
    case PT_DOUBLE:
        value.real = random_double();
        break;
    case PT_DATETIME:
        value.integer = (int64_t)(random_bits() % (uint64_t)PT_TICKS_MAX);
        break;
    case PT_GUID:
        for (int i = 0; i < PT_GUID_SIZE; i++) {
            value.guid[i] = (uint8_t)random_bits();
        }
        break;
    default:
        value.integer = random_integer();
        break;
    }
    return value;
}

/* --- SQLite's order: a table whose rows are values as a column shows them, and their parts --- */

static void show_value(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_value_result(context, sqlite3_value_pointer(argv[0], "value"), false);
}

static void insert_value(sqlite3_stmt *statement, const pt_value *value)
{
    pt_buffer key = {0};
    pt_entry_append(&key, value);
    sqlite3_bind_pointer(statement, 1, (void *)(uintptr_t)value, "value", NULL);
    sqlite3_bind_blob(statement, 2, key.data, (int)key.size, SQLITE_TRANSIENT);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
    pt_buffer_free(&key);
}

static sqlite3_int64 count_of(const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    sqlite3_int64 count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

/* Values of up to 255 bytes have the order of their parts, and are equal if their parts are. */
static void parts_are_in_the_order_of_sqlite(void **state)
{
    (void)state;
    sqlite3_stmt *statement;
    assert_int_equal(
        sqlite3_create_function(db, "shown", 1, SQLITE_UTF8, NULL, show_value, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE x(v, k)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO x VALUES(shown(?), ?)", -1, &statement, NULL),
        SQLITE_OK);
    for (int i = 0; i < VALUES; i++) {
        uint8_t bytes[TEXT_MAX];
        pt_value value = random_value(bytes);
        insert_value(statement, &value);
    }
    sqlite3_finalize(statement);
    assert_int_equal(count_of("SELECT count(*) FROM x"), VALUES);
    /* Each row beside the next one in SQLite's order. */
    assert_int_equal(count_of("SELECT count(*) FROM (SELECT v, k, lead(k) OVER w AS after FROM x "
                              "WINDOW w AS (ORDER BY v)) WHERE k > after"),
                     0);
    assert_int_equal(
        count_of("SELECT count(*) FROM (SELECT v, k, lead(v) OVER w AS next, lead(k) OVER w AS "
                 "after FROM x WHERE octet_length(v) <= 255 OR v IS NULL "
                 "WINDOW w AS (ORDER BY v)) WHERE (v IS next) <> (k IS after)"),
        0);
    sqlite3_exec(db, "DROP TABLE x", NULL, NULL, NULL);
}

/* SQLite 3.40 has no octet_length. */
static void octet_length(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_TEXT || sqlite3_value_type(argv[0]) == SQLITE_BLOB) {
        sqlite3_result_int(context, sqlite3_value_bytes(argv[0]));
    } else {
        sqlite3_result_int(context, 0);
    }
}

static void order_is_that_of_sqlite(void **state)
{
    if (!has_long_doubles()) {
        skip();
    }
    assert_int_equal(
        sqlite3_create_function(db, "octet_length", 1, SQLITE_UTF8, NULL, octet_length, NULL, NULL),
        SQLITE_OK);
    parts_are_in_the_order_of_sqlite(state);
}

/* --- Reading --- */

static bool is_same_value(const pt_value *a, const pt_value *b)
{
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case PT_NONE:
        return true;
    case PT_STRING:
    case PT_BINARY:
        return pt_slice_equal(a->bytes, b->bytes);
    case PT_DOUBLE:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case PT_GUID:
        return memcmp(a->guid, b->guid, PT_GUID_SIZE) == 0;
    default:
        return a->integer == b->integer;
    }
}

static bool is_cut(const pt_value *value)
{
    return (value->type == PT_STRING || value->type == PT_BINARY) &&
           value->bytes.size > PT_ENTRY_VALUE_MAX;
}

static void values_are_read_back(void **state)
{
    (void)state;
    pt_buffer key = {0};
    pt_buffer scratch = {0};
    for (int i = 0; i < VALUES; i++) {
        uint8_t bytes[TEXT_MAX];
        pt_value value = random_value(bytes);
        pt_value read;
        pt_buffer_clear(&key);
        uint8_t type = pt_entry_append(&key, &value);
        assert_int_equal(key.data[0], pt_entry_class_of(&value));
        assert_true(key.size <= PT_ENTRY_PART_MAX);
        size_t size = key.size;
        pt_buffer_append_text(&key, "p");
        assert_int_equal(pt_entry_part_size(pt_buffer_slice(&key)), size);
        bool plain =
            key.data[0] == PT_ENTRY_TEXT && memchr(key.data, 0, size) == key.data + size - 2;
        assert_int_equal(pt_entry_plain_text_size(pt_buffer_slice(&key)), plain ? size : 0);
        assert_int_equal(pt_entry_plain_text_size(pt_slice_of(key.data, size - 1)), 0);
        assert_int_equal((type & PT_ENTRY_CUT) != 0, is_cut(&value));
        bool negative_zero = value.type == PT_DOUBLE && value.real == 0 && signbit(value.real);
        assert_int_equal((type & PT_ENTRY_INEXACT) != 0, negative_zero);
        assert_int_equal(type & PT_ENTRY_TYPE, value.type);
        if (type == (type & PT_ENTRY_TYPE)) {
            assert_true(pt_entry_read(pt_slice_of(key.data, size), type, &read, &scratch));
            assert_true(is_same_value(&value, &read));
        }
        /* A part that has lost its end is no part, unless it ends elsewhere. */
        if (value.type != PT_NONE) {
            size_t shorter = pt_entry_part_size(pt_slice_of(key.data, size - 1));
            assert_int_equal(shorter, 0);
            assert_false(
                pt_entry_read(pt_slice_of(key.data, 1), type & PT_ENTRY_TYPE, &read, &scratch));
        }
    }
    pt_buffer_free(&key);
    pt_buffer_free(&scratch);
}

static void not_a_number_is_a_text(void **state)
{
    (void)state;
    pt_buffer key = {0};
    pt_value value = {.type = PT_DOUBLE, .real = NAN};
    assert_int_equal(pt_entry_append(&key, &value), PT_DOUBLE | PT_ENTRY_INEXACT);
    assert_int_equal(pt_entry_class_of(&value), PT_ENTRY_TEXT);
    assert_int_equal(key.size, 6);
    assert_memory_equal(key.data, "\x20NaN\0\x01", 6);
    pt_buffer_free(&key);
}

static void several_parts_follow_each_other(void **state)
{
    (void)state;
    pt_buffer key = {0};
    pt_value number = {.type = PT_INT64, .integer = INT64_MAX};
    pt_value text = {.type = PT_STRING, .bytes = pt_slice_of("a\0b", 3)};
    pt_value none = {.type = PT_NONE};
    pt_entry_append(&key, &number);
    pt_entry_append(&key, &text);
    pt_entry_append(&key, &none);
    size_t size = key.size;
    pt_buffer_append(&key, "p\0r", 3);
    assert_int_equal(size, 11 + 7 + 1);
    assert_int_equal(pt_entry_parts_size(pt_buffer_slice(&key), 3), size);
    assert_int_equal(pt_entry_parts_size(pt_buffer_slice(&key), 4), 0);
    assert_int_equal(pt_entry_parts_size(pt_slice_of(key.data, 12), 2), 0);
    assert_int_equal(pt_entry_whole_parts_size(pt_buffer_slice(&key), 2), size - 1);
    assert_int_equal(pt_entry_whole_parts_size(pt_buffer_slice(&key), 3), 0); /* NULL */
    assert_int_equal(pt_entry_whole_parts_size(pt_slice_of(key.data, 12), 2), 0);
    pt_buffer_free(&key);
}

static void a_prefix_begins_the_parts_of_longer_texts(void **state)
{
    (void)state;
    pt_buffer prefix = {0};
    pt_buffer key = {0};
    pt_value text = {.type = PT_STRING, .bytes = pt_slice_of("a\0bc", 4)};
    pt_entry_append_prefix(&prefix, pt_slice_of("a\0b", 3));
    pt_entry_append(&key, &text);
    assert_true(pt_slice_has_prefix(pt_buffer_slice(&key), pt_buffer_slice(&prefix)));
    pt_buffer_clear(&key);
    text.bytes.size = 2;
    pt_entry_append(&key, &text);
    assert_false(pt_slice_has_prefix(pt_buffer_slice(&key), pt_buffer_slice(&prefix)));
    pt_buffer_free(&prefix);
    pt_buffer_free(&key);
}

static void whole_values_are_not_cut(void **state)
{
    (void)state;
    uint8_t bytes[2 * TEXT_MAX];
    memset(bytes, 'x', sizeof bytes);
    pt_value text = {.type = PT_STRING, .bytes = pt_slice_of(bytes, sizeof bytes)};
    pt_buffer whole = {0};
    pt_buffer cut = {0};
    pt_entry_append_whole(&whole, &text);
    assert_int_equal(pt_entry_append(&cut, &text), PT_STRING | PT_ENTRY_CUT);
    assert_int_equal(whole.size, 1 + sizeof bytes + 2);
    assert_int_equal(cut.size, 1 + PT_ENTRY_VALUE_MAX + 2);
    pt_buffer_free(&whole);
    pt_buffer_free(&cut);
}

static void damaged_parts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        uint8_t type;
    } damaged[] = {
        {"\x40", 1, PT_STRING}, /* no class */
        {"\x20"
         "abc",
         4, PT_STRING}, /* no end */
        {"\x20"
         "abc\0",
         5, PT_STRING},                                  /* half an end */
        {"\x10\xFF\xF8\0\0\0\0\0\0", 9, PT_DOUBLE},      /* NaN as a number */
        {"\x10\xFF\xF8\0\0\0\0\0\0\0\0", 11, PT_DOUBLE}, /* and with more bytes */
    };
    pt_buffer scratch = {0};
    pt_value value;
    for (size_t i = 0; i < COUNT(damaged); i++) {
        pt_slice part = pt_slice_of(damaged[i].bytes, damaged[i].size);
        assert_int_equal(pt_entry_part_size(part), 0);
    }
    /* Values that are none of the type. */
    assert_false(pt_entry_read(pt_slice_text("\x20"), PT_NONE, &value, &scratch));
    pt_buffer key = {0};
    pt_value half = {.type = PT_DOUBLE, .real = 0.5};
    pt_entry_append(&key, &half);
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_INT32, &value, &scratch));
    pt_buffer_clear(&key);
    half.real = 1e19;
    pt_entry_append(&key, &half);
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_INT64, &value, &scratch));
    pt_buffer_clear(&key);
    pt_value text = {.type = PT_STRING, .bytes = pt_slice_text("2026-13-01T00:00:00.0000000Z")};
    pt_entry_append(&key, &text);
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_DATETIME, &value, &scratch));
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_GUID, &value, &scratch));
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_BINARY, &value, &scratch));
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_LARGE_STRING, &value, &scratch));
    pt_buffer_free(&key);
    pt_buffer_free(&scratch);
}

/* Reads the part of `value` as a value of a type. */
static bool is_read_as(pt_value value, pt_type type)
{
    pt_buffer key = {0};
    pt_buffer scratch = {0};
    pt_value read;
    pt_entry_append(&key, &value);
    bool is_read = pt_entry_read(pt_buffer_slice(&key), (uint8_t)type, &read, &scratch);
    pt_buffer_free(&key);
    pt_buffer_free(&scratch);
    return is_read;
}

static void a_part_is_read_as_its_own_type(void **state)
{
    (void)state;
    const pt_value long_text = {.type = PT_STRING, .bytes = pt_slice_text("longer than a number")};
    assert_false(is_read_as(long_text, PT_INT64));
    assert_false(is_read_as(long_text, PT_DOUBLE));
    assert_false(is_read_as(long_text, PT_DATETIME));
    assert_false(is_read_as(long_text, PT_NONE));
    assert_false(is_read_as((pt_value){.type = PT_STRING}, PT_NONE));
    assert_false(is_read_as((pt_value){.type = PT_NONE}, PT_STRING));
    assert_false(is_read_as((pt_value){.type = PT_INT32, .integer = 5}, PT_NONE));
    assert_false(is_read_as((pt_value){.type = PT_INT32, .integer = 5}, PT_DATETIME));
    assert_false(is_read_as((pt_value){.type = PT_INT32, .integer = 5}, PT_GUID));
    assert_false(is_read_as((pt_value){.type = PT_DOUBLE, .real = -1e19}, PT_INT64));
    assert_false(is_read_as((pt_value){.type = PT_DOUBLE, .real = INFINITY}, PT_INT64));
    assert_false(is_read_as((pt_value){.type = PT_INT64, .integer = INT32_MAX + 1LL}, PT_INT32));
    assert_false(is_read_as((pt_value){.type = PT_INT64, .integer = INT32_MIN - 1LL}, PT_INT32));
    assert_true(is_read_as((pt_value){.type = PT_INT64, .integer = INT32_MIN}, PT_INT32));
    assert_false(is_read_as((pt_value){.type = PT_INT32, .integer = 2}, PT_BOOLEAN));
    /* An integer that no Double is equal to. */
    assert_false(is_read_as((pt_value){.type = PT_INT64, .integer = (1LL << 53) + 1}, PT_DOUBLE));
    assert_true(is_read_as((pt_value){.type = PT_INT64, .integer = 1LL << 53}, PT_DOUBLE));
}

static void no_bytes_are_no_part(void **state)
{
    (void)state;
    assert_int_equal(pt_entry_part_size(pt_slice_of("", 0)), 0);
    assert_int_equal(pt_entry_parts_size(pt_slice_of("", 0), 1), 0);
    assert_int_equal(pt_entry_parts_size(pt_slice_of("", 0), 0), 0);
}

/* Only the beginning of a large value is ever made a part. */
static void large_values_have_classes(void **state)
{
    (void)state;
    pt_buffer key = {0};
    static const struct {
        pt_type type;
        pt_entry_class class;
    } types[] = {{PT_LARGE_STRING, PT_ENTRY_TEXT}, {PT_LARGE_BINARY, PT_ENTRY_BINARY}};
    for (size_t i = 0; i < COUNT(types); i++) {
        const pt_value large = {.type = types[i].type};
        assert_int_equal(pt_entry_class_of(&large), types[i].class);
        pt_buffer_clear(&key);
        assert_int_equal(pt_entry_append(&key, &large), PT_NONE);
        assert_int_equal(key.size, 1);
    }
    pt_buffer_free(&key);
}

static void a_definition_refuses_what_is_no_name(void **state)
{
    (void)state;
    pt_index_definition definition = {.count = 0};
    assert_int_equal(pt_index_definition_key(&definition).size, 0);
    assert_non_null(pt_index_definition_add(&definition, pt_slice_of("a\0b", 3)));
    assert_null(pt_index_definition_add(&definition, pt_slice_text("timestamp")));
    assert_null(pt_index_definition_problem(&definition));
    assert_non_null(pt_index_definition_add(&definition, pt_slice_text("Timestamp")));
    assert_int_equal(definition.count, 1);
    assert_int_equal(pt_index_definition_key(&definition).size, strlen("Timestamp"));
    pt_index_definition_free(&definition);
}

static void running_out_of_memory_is_noted(void **state)
{
    (void)state;
    pt_value text = {.type = PT_STRING, .bytes = pt_slice_of("a\0b", 3)};
    pt_value number = {.type = PT_INT32, .integer = 5};
    pt_value value;
    pt_buffer key = {0};
    failing_malloc_arm(0, false);
    pt_entry_append(&key, &text);
    assert_true(failing_malloc_disarm());
    assert_true(key.failed);
    pt_buffer_clear(&key);
    failing_malloc_arm(0, false);
    pt_entry_append(&key, &number);
    assert_true(failing_malloc_disarm());
    assert_true(key.failed);
    pt_buffer_clear(&key);
    pt_entry_append(&key, &text);
    pt_buffer scratch = {0};
    failing_malloc_arm(0, false);
    assert_false(pt_entry_read(pt_buffer_slice(&key), PT_STRING, &value, &scratch));
    assert_true(failing_malloc_disarm());
    assert_true(scratch.failed);
    pt_buffer_free(&key);
    pt_buffer_free(&scratch);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_that_of_sqlite),
        cmocka_unit_test(values_are_read_back),
        cmocka_unit_test(not_a_number_is_a_text),
        cmocka_unit_test(several_parts_follow_each_other),
        cmocka_unit_test(a_prefix_begins_the_parts_of_longer_texts),
        cmocka_unit_test(whole_values_are_not_cut),
        cmocka_unit_test(damaged_parts_are_refused),
        cmocka_unit_test(a_part_is_read_as_its_own_type),
        cmocka_unit_test(no_bytes_are_no_part),
        cmocka_unit_test(large_values_have_classes),
        cmocka_unit_test(a_definition_refuses_what_is_no_name),
        cmocka_unit_test(running_out_of_memory_is_noted),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
