/* Records that are opened as the one before was. */
#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "fixtures/sample_records.h"
#include "fixtures/value_same.h"

static void open_sample(pt_record *record, const record_bytes *bytes)
{
    assert_int_equal(pt_record_open(record, sample_key(), slice_of(bytes), &source, NULL),
                     SQLITE_OK);
}

static void assert_same_record(pt_record *record, const pt_field *values)
{
    assert_int_equal(record->ticks, sample_ticks);
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        assert_int_equal(pt_record_value(record, i, &value), SQLITE_OK);
        assert_true(value_same(&value, &values[i].value));
    }
}

static void a_record_of_the_same_shape_opens_alike(void **state)
{
    (void)state;
    static const uint8_t content[70000] = {0};
    static const size_t sizes[] = {0, 200, 70000, 69999, 1, 300}; /* all widths of ends */
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    pt_field values[PROPERTIES];
    pt_record record;
    memcpy(values, fields, sizeof values);
    record_bytes first = write_record(shape, fields);
    open_sample(&record, &first);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        values[1].value.integer = i;
        values[7].value.bytes = pt_slice_of(content, sizes[i]);
        record_bytes bytes = write_record(shape, values);
        assert_true(pt_record_open_alike(&record, sample_key(), slice_of(&bytes)));
        assert_same_record(&record, values);
        free(bytes.data);
    }
    free(first.data);
    free(shape);
}

/* True if bytes with a right checksum open alike after the sample record. */
static bool opens_alike(record_bytes *bytes)
{
    pt_record record;
    record_bytes sample = write_record(known_shape, fields);
    open_sample(&record, &sample);
    restore_checksums(bytes);
    bool alike = pt_record_open_alike(&record, sample_key(), slice_of(bytes));
    free(sample.data);
    return alike;
}

/* True if so many bytes, in memory of their own, open alike after the sample record. */
static bool opens_alike_short(const record_bytes *bytes, size_t size)
{
    pt_record record;
    record_bytes sample = write_record(known_shape, fields);
    record_bytes copy = {.data = malloc(size), .size = size};
    assert_non_null(copy.data);
    memcpy(copy.data, bytes->data, size);
    open_sample(&record, &sample);
    bool alike = pt_record_open_alike(&record, sample_key(), slice_of(&copy));
    free(copy.data);
    free(sample.data);
    return alike;
}

/* What has been verified of the record before does not count. */
static void the_data_of_each_record_are_verified(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    pt_value value;
    open_sample(&record, &bytes);
    assert_int_equal(pt_record_value(&record, 0, &value), SQLITE_OK);
    bytes.data[bytes.size - 1] ^= 1;
    assert_true(pt_record_open_alike(&record, sample_key(), slice_of(&bytes)));
    assert_int_equal(pt_record_value(&record, 0, &value), SQLITE_CORRUPT_VTAB);
    assert_int_equal(pt_record_value(&record, 1, &value), SQLITE_OK);
    assert_int_equal(value.integer, fields[1].value.integer);
    free(bytes.data);
    free(shape);
}

static void a_damaged_record_does_not_open_alike(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    size_t head = find_checksums(sample_key(), slice_of(&bytes)).head + CHECKSUM_SIZE;
    for (size_t bit = 0; bit < head * 8; bit++) {
        open_sample(&record, &bytes);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(pt_record_open_alike(&record, sample_key(), slice_of(&bytes)));
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    open_sample(&record, &bytes);
    assert_false(pt_record_open_alike(&record, pt_slice_of("", 0), slice_of(&bytes)));
    free(bytes.data);
    free(shape);
}

static void a_record_that_begins_differently_does_not_open_alike(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    size_t full = bytes.size;
    assert_true(opens_alike(&bytes));
    for (unsigned at = 0; at < 2; at++) { /* shape id */
        bytes.data[at] ^= 1;
        assert_false(opens_alike(&bytes));
        bytes.data[at] ^= 1;
    }
    bytes.data[9] ^= 0x80; /* a time before 0001 */
    assert_false(opens_alike(&bytes));
    bytes.data[9] ^= 0xC0; /* a time after 9999 */
    assert_false(opens_alike(&bytes));
    free(bytes.data);
    bytes = write_record(shape, fields);
    assert_true(opens_alike(&bytes));
    for (size_t size = full - 1; size > 0; size--) {
        assert_false(opens_alike_short(&bytes, size));
    }
    resize(&bytes, full + 1);
    assert_false(opens_alike_short(&bytes, full + 1));
    pt_record record;
    free(bytes.data);
    bytes = write_record(shape, fields);
    open_sample(&record, &bytes);
    assert_false(
        pt_record_open_alike(&record, sample_key(), pt_slice_of(bytes.data, PT_RECORD_MAX + 1u)));
    free(bytes.data);
    free(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_of_the_same_shape_opens_alike),
        cmocka_unit_test(the_data_of_each_record_are_verified),
        cmocka_unit_test(a_damaged_record_does_not_open_alike),
        cmocka_unit_test(a_record_that_begins_differently_does_not_open_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
