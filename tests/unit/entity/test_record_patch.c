#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "fixtures/sample_records.h"

/* In place of the values of sample_records.h, each of the same size. */
static const pt_field others[PROPERTIES] = {
    {.value = {.type = PT_STRING, .bytes = {(const uint8_t *)"A\0n", 3}}},
    {.value = {.type = PT_INT32, .integer = INT32_MAX}},
    {.value = {.type = PT_INT64, .integer = INT64_MIN}},
    {.value = {.type = PT_DOUBLE, .real = 0.1}},
    {.value = {.type = PT_BOOLEAN, .integer = 0}},
    {.value = {.type = PT_DATETIME, .integer = PT_TICKS_MAX}},
    {.value = {.type = PT_GUID, .guid = {0xFE}}},
    {.value = {.type = PT_BINARY, .bytes = {(const uint8_t *)"\0\xFF", 2}}},
};

/* A record of the sample's values, opened. */
typedef struct opened {
    pt_shape *shape;
    record_bytes bytes;
    pt_record record;
} opened;

static opened open_sample(void)
{
    opened sample = {.shape = make_shape(described, PROPERTIES, SHAPE_ID)};
    sample.bytes = write_record(sample.shape, fields);
    assert_int_equal(
        pt_record_open(&sample.record, sample_key(), slice_of(&sample.bytes), &source, NULL),
        SQLITE_OK);
    return sample;
}

static void close_sample(opened *sample)
{
    free(sample->bytes.data);
    free(sample->shape);
}

/* The record with the others where the bits of `chosen` say so, patched. */
static record_bytes patched(opened *sample, unsigned chosen, int64_t ticks)
{
    record_bytes copy = {.data = malloc(sample->bytes.size), .size = sample->bytes.size};
    assert_non_null(copy.data);
    memcpy(copy.data, sample->bytes.data, copy.size);
    for (unsigned i = 0; i < PROPERTIES; i++) {
        const pt_property *property = &sample->shape->properties[i];
        if ((chosen >> i & 1) != 0) {
            assert_true(pt_record_can_take(&sample->record, property, &others[i].value));
            pt_record_patch(&sample->record, property, &others[i].value, copy.data);
        }
    }
    pt_record_seal(&sample->record, ticks, sample_key(), copy.data);
    return copy;
}

/* The same one, written anew. */
static record_bytes written(const opened *sample, unsigned chosen, int64_t ticks)
{
    pt_field values[PROPERTIES];
    for (unsigned i = 0; i < PROPERTIES; i++) {
        values[i] = (chosen >> i & 1) != 0 ? others[i] : fields[i];
    }
    record_bytes record = {.data = malloc(sample->bytes.size), .size = sample->bytes.size};
    assert_non_null(record.data);
    assert_int_equal(pt_record_size(sample->shape, values), record.size);
    pt_record_write(sample->shape, values, ticks, sample_key(), record.data, record.size);
    return record;
}

static void a_patched_record_is_the_one_written_anew(void **state)
{
    (void)state;
    opened sample = open_sample();
    for (unsigned chosen = 0; chosen < 1u << PROPERTIES; chosen++) {
        record_bytes patch = patched(&sample, chosen, sample_ticks + 1);
        record_bytes anew = written(&sample, chosen, sample_ticks + 1);
        assert_memory_equal(patch.data, anew.data, anew.size);
        free(patch.data);
        free(anew.data);
    }
    close_sample(&sample);
}

static void only_the_same_type_and_size_is_taken(void **state)
{
    (void)state;
    static const pt_value refused[] = {
        {.type = PT_NONE},
        {.type = PT_STRING, .bytes = {(const uint8_t *)"June", 4}},
        {.type = PT_STRING, .bytes = {(const uint8_t *)"", 0}},
        {.type = PT_BINARY, .bytes = {(const uint8_t *)"\xDE", 1}},
        {.type = PT_BINARY, .bytes = {(const uint8_t *)"June", 4}},
        {.type = PT_LARGE_STRING, .large = {.size = 3}},
        {.type = PT_LARGE_BINARY, .large = {.size = 2}},
    };
    opened sample = open_sample();
    for (unsigned i = 0; i < PROPERTIES; i++) {
        const pt_property *property = &sample.shape->properties[i];
        for (size_t value = 0; value < sizeof refused / sizeof refused[0]; value++) {
            assert_false(pt_record_can_take(&sample.record, property, &refused[value]));
        }
        for (unsigned value = 0; value < PROPERTIES; value++) {
            assert_int_equal(pt_record_can_take(&sample.record, property, &others[value].value),
                             i == value);
        }
    }
    close_sample(&sample);
}

static void large_values_are_not_taken(void **state)
{
    (void)state;
    static const sample_property large_described[] = {{1, PT_LARGE_STRING, NULL},
                                                      {3, PT_INT32, NULL}};
    static const pt_field large_fields[] = {
        {.value = {.type = PT_LARGE_STRING, .large = {.size = 5000, .ticks = 1}}},
        {.value = {.type = PT_INT32, .integer = 1}}};
    pt_shape *shape = make_shape(large_described, 2, SHAPE_ID);
    record_bytes bytes = write_record(shape, large_fields);
    pt_record record;
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, NULL),
                     SQLITE_OK);
    assert_true(pt_record_is_sound(&record));
    assert_false(pt_record_can_take(&record, &shape->properties[0], &large_fields[0].value));
    assert_true(pt_record_can_take(&record, &shape->properties[1], &large_fields[1].value));
    free(bytes.data);
    free(shape);
}

static bool can_be_read(pt_record *record)
{
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        if (pt_record_value(record, i, &value) != SQLITE_OK) {
            return false;
        }
    }
    return true;
}

/* True for a record that was open before its bytes changed. */
static bool is_sound_again(pt_record *record)
{
    record->data_verified = false;
    return pt_record_is_sound(record);
}

static void a_sound_record_is_one_that_can_be_read(void **state)
{
    (void)state;
    opened sample = open_sample();
    assert_true(is_sound_again(&sample.record));
    unsigned damaged = 0;
    for (size_t at = PT_RECORD_HEADER; at < sample.bytes.size; at++) {
        uint8_t original = sample.bytes.data[at];
        for (unsigned byte = 0; byte <= UINT8_MAX; byte++) {
            sample.bytes.data[at] = (uint8_t)byte;
            bool sound = is_sound_again(&sample.record);
            sample.record.data_verified = false;
            assert_int_equal(can_be_read(&sample.record), sound);
            damaged += !sound;
        }
        sample.bytes.data[at] = original;
    }
    /* Data and their checksum; end, Boolean and one byte of DateTime */
    assert_in_range(damaged, 10 * 255, 13 * 255);
    close_sample(&sample);
}

/* A record whose data have another checksum: numbers are patched and the data stay damaged, texts
 * and binaries are refused. */
static void damaged_data_stay_damaged(void **state)
{
    (void)state;
    opened sample = open_sample();
    sample.bytes.data[sample.bytes.size - 1] ^= 1;
    for (unsigned i = 0; i < PROPERTIES; i++) {
        const pt_property *property = &sample.shape->properties[i];
        pt_type type = others[i].value.type;
        bool in_data = type == PT_STRING || type == PT_BINARY;
        assert_int_equal(pt_record_can_take(&sample.record, property, &others[i].value), !in_data);
        if (in_data) {
            continue;
        }
        record_bytes patch = patched(&sample, 1u << i, sample_ticks + 1);
        pt_record record;
        pt_value value;
        assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&patch), &source, NULL),
                         SQLITE_OK);
        assert_int_equal(record.ticks, sample_ticks + 1);
        assert_int_equal(pt_record_value(&record, i, &value), SQLITE_OK);
        assert_int_equal(pt_record_value(&record, 0, &value), SQLITE_CORRUPT_VTAB);
        assert_int_equal(pt_record_value(&record, PROPERTIES - 1, &value), SQLITE_CORRUPT_VTAB);
        free(patch.data);
    }
    close_sample(&sample);
}

/* Where a text or binary is not within the data, nothing is taken and nothing changed. */
static void a_record_with_wrong_ends_is_not_patched(void **state)
{
    (void)state;
    opened sample = open_sample();
    sample.bytes.data[find_checksums(sample_key(), slice_of(&sample.bytes)).head - 5] = 0xFF;
    record_bytes copy = {.data = malloc(sample.bytes.size), .size = sample.bytes.size};
    assert_non_null(copy.data);
    memcpy(copy.data, sample.bytes.data, copy.size);
    unsigned refused = 0;
    for (unsigned i = 0; i < PROPERTIES; i++) {
        const pt_property *property = &sample.shape->properties[i];
        if (others[i].value.type == PT_STRING || others[i].value.type == PT_BINARY) {
            assert_false(pt_record_can_take(&sample.record, property, &others[i].value));
            pt_record_patch(&sample.record, property, &others[i].value, copy.data);
            refused++;
        }
    }
    assert_int_equal(refused, 2);
    assert_memory_equal(copy.data, sample.bytes.data, copy.size);
    free(copy.data);
    close_sample(&sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_patched_record_is_the_one_written_anew),
        cmocka_unit_test(only_the_same_type_and_size_is_taken),
        cmocka_unit_test(large_values_are_not_taken),
        cmocka_unit_test(a_sound_record_is_one_that_can_be_read),
        cmocka_unit_test(damaged_data_stay_damaged),
        cmocka_unit_test(a_record_with_wrong_ends_is_not_patched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
