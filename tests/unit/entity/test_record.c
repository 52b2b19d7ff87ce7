#include "fixtures/cmocka.h"

#include "faults/failing_malloc.h"
#include "fixtures/sample_records.h"
#include "fixtures/value_same.h"

/* Opens the bytes with a right checksum and reads every value to its last byte. */
static int read_all(record_bytes *bytes, unsigned *sum)
{
    pt_record record;
    pt_buffer scratch = {0};
    restore_checksum(bytes);
    int rc = pt_record_open(&record, sample_key(), slice_of(bytes), &source, &scratch);
    for (unsigned i = 0; rc == SQLITE_OK && i < record.shape->count; i++) {
        pt_value value;
        rc = pt_record_value(&record, i, &value);
        if (rc != SQLITE_OK) {
            break;
        }
        if (value.type == PT_STRING || value.type == PT_BINARY) {
            for (size_t at = 0; at < value.bytes.size + (value.type == PT_STRING); at++) {
                *sum += value.bytes.data[at];
            }
        }
    }
    pt_buffer_free(&scratch);
    return rc;
}

static const uint8_t expected_bytes[] = {
    /* format, flags, shape id, checksum, ticks */
    0x01, 0x00, 0x07, 0x00, 0, 0, 0, 0, 0x89, 0x67, 0x45, 0x23, 0x01, 0xCA, 0xDB, 0x08,
    /* Age, Total, Score */
    0xDE, 0xFF, 0xFF, 0xFF, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0xF8,
    0xBF,
    /* Active, Due */
    0x01, 0x00, 0x80, 0xB5, 0xF7, 0xF5, 0x7F, 0x9F, 0x08,
    /* Badge */
    0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10,
    /* ends of FirstName and Photo, data */
    0x04, 0x00, 0x06, 0x00, 'J', 'u', 'n', 0x00, 0xDE, 0xAD};

static const uint32_t expected_checksum = UINT32_C(0x57C521BA);

static void the_layout_is_the_documented_one(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes record = write_record(shape, fields);
    assert_int_equal(record.size, sizeof expected_bytes);
    assert_memory_equal(record.data, expected_bytes, 4);
    assert_memory_equal(record.data + 8, expected_bytes + 8, record.size - 8);
    assert_int_equal(pt_get_le32(record.data + 4), expected_checksum);
    uint32_t written = pt_get_le32(record.data + 4);
    restore_checksum(&record);
    assert_int_equal(pt_get_le32(record.data + 4), written);
    free(record.data);
    free(shape);
}

static void an_inline_description_stands_before_the_values(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(inline_described, PROPERTIES, 0);
    record_bytes record = write_record(shape, fields);
    uint8_t description[1024];
    size_t size = sample_describe(inline_described, PROPERTIES, description);
    assert_int_equal(record.size, sizeof expected_bytes + 4 + size);
    assert_int_equal(pt_get_le16(record.data + 2), 0);
    assert_int_equal(pt_get_le32(record.data + 16), size);
    assert_memory_equal(record.data + 20, description, size);
    assert_memory_equal(record.data + 20 + size, expected_bytes + 16, sizeof expected_bytes - 16);
    free(record.data);
    free(shape);
}

static void assert_reads_back(const pt_shape *shape, const pt_field *values)
{
    record_bytes bytes = write_record(shape, values);
    pt_record record;
    pt_buffer scratch = {0};
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch),
                     SQLITE_OK);
    assert_int_equal(record.ticks, sample_ticks);
    assert_int_equal(record.shape->count, shape->count);
    for (unsigned i = 0; i < shape->count; i++) {
        pt_value value;
        assert_int_equal(pt_record_value(&record, i, &value), SQLITE_OK);
        assert_true(value_same(&value, &values[i].value));
        assert_true(pt_slice_equal(record.shape->properties[i].name, shape->properties[i].name));
        if (value.type == PT_STRING) {
            assert_int_equal(value.bytes.data[value.bytes.size], 0);
        }
    }
    pt_buffer_free(&scratch);
    free(bytes.data);
}

static void values_read_back(void **state)
{
    (void)state;
    pt_shape *known = make_shape(described, PROPERTIES, SHAPE_ID);
    pt_shape *inlined = make_shape(inline_described, PROPERTIES, 0);
    assert_reads_back(known, fields);
    assert_reads_back(inlined, fields);
    free(known);
    free(inlined);
}

static void an_entity_may_have_no_property(void **state)
{
    (void)state;
    pt_shape *known = make_shape(NULL, 0, SHAPE_ID);
    pt_shape *inlined = make_shape(NULL, 0, 0);
    assert_int_equal(pt_record_size(known, NULL), PT_RECORD_HEADER);
    assert_reads_back(known, NULL);
    assert_reads_back(inlined, NULL);
    free(known);
    free(inlined);
}

static pt_value real_of(uint64_t bits)
{
    pt_value value = {.type = PT_DOUBLE};
    memcpy(&value.real, &bits, sizeof value.real);
    return value;
}

static void extreme_values_read_back(void **state)
{
    (void)state;
    const pt_value extremes[] = {
        {.type = PT_INT32, .integer = INT32_MIN},
        {.type = PT_INT32, .integer = INT32_MAX},
        {.type = PT_INT64, .integer = INT64_MIN},
        {.type = PT_INT64, .integer = INT64_MAX},
        {.type = PT_BOOLEAN, .integer = 0},
        {.type = PT_DATETIME, .integer = 0},
        {.type = PT_DATETIME, .integer = PT_TICKS_MAX},
        real_of(0),
        real_of(UINT64_C(0x8000000000000000)),
        real_of(1),
        real_of(UINT64_C(0x7FF0000000000000)),
        real_of(UINT64_C(0xFFF0000000000000)),
        real_of(UINT64_C(0x7FF8000000000000)),
        real_of(UINT64_C(0xFFF8000000000123)),
        {.type = PT_STRING, .bytes = {0}},
        {.type = PT_STRING, .bytes = {(const uint8_t *)"a\0b\0", 4}},
        {.type = PT_BINARY, .bytes = {0}},
        {.type = PT_BINARY, .bytes = {(const uint8_t *)"\0\0\0", 3}},
    };
    for (unsigned i = 0; i < sizeof extremes / sizeof extremes[0]; i++) {
        sample_property property = {1, (uint8_t)extremes[i].type, NULL};
        pt_shape *shape = make_shape(&property, 1, SHAPE_ID);
        pt_field field = {.value = extremes[i]};
        assert_reads_back(shape, &field);
        free(shape);
    }
}

/* Around the sizes at which the ends become wider. */
static void large_values_read_back(void **state)
{
    (void)state;
    enum { LARGE = 70000 };
    static const sample_property two[] = {{1, PT_STRING, NULL}, {10, PT_BINARY, NULL}};
    static const struct {
        size_t text;
        size_t binary;
        bool wide;
    } sizes[] = {
        {65534, 0, false},     {65535, 0, true},     {0, 65534, false},    {0, 65535, true},
        {32767, 32767, false}, {32768, 32767, true}, {LARGE, LARGE, true},
    };
    uint8_t *content = malloc(LARGE);
    assert_non_null(content);
    for (unsigned i = 0; i < LARGE; i++) {
        content[i] = (uint8_t)(i * 31);
    }
    pt_shape *shape = make_shape(two, 2, SHAPE_ID);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pt_field values[] = {
            {.value = {.type = PT_STRING, .bytes = pt_slice_of(content, sizes[i].text)}},
            {.value = {.type = PT_BINARY, .bytes = pt_slice_of(content, sizes[i].binary)}},
        };
        record_bytes bytes = write_record(shape, values);
        assert_int_equal(bytes.data[1], sizes[i].wide);
        assert_int_equal(bytes.size,
                         16u + (sizes[i].wide ? 8u : 4u) + sizes[i].text + 1 + sizes[i].binary);
        free(bytes.data);
        assert_reads_back(shape, values);
    }
    free(shape);
    free(content);
}

static const sample_property outside[] = {{1, PT_LARGE_STRING, NULL}, {10, PT_LARGE_BINARY, NULL}};

/* Where the bytes of large values are, and nothing of them. */
static void values_outside_the_record_have_slots(void **state)
{
    (void)state;
    static const uint8_t expected[] = {0x01, 0x23, 0x45, 0x67, 0,    0,    0,    0,    0x88,
                                       0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xCD, 0xAB,
                                       0xFF, 0xFF, 0xFF, 0x7F, 0,    0,    0,    0,    1,
                                       0,    0,    0,    0,    0,    0,    0,    2,    0};
    const pt_field values[] = {
        {.value = {.type = PT_LARGE_STRING,
                   .large = {UINT64_C(0x67452301), INT64_C(0x1122334455667788), 0xABCD}}},
        {.value = {.type = PT_LARGE_BINARY, .large = {INT32_MAX, 1, 2}}},
    };
    pt_shape *shape = make_shape(outside, 2, SHAPE_ID);
    record_bytes bytes = write_record(shape, values);
    assert_int_equal(bytes.size, PT_RECORD_HEADER + sizeof expected);
    assert_memory_equal(bytes.data + PT_RECORD_HEADER, expected, sizeof expected);
    assert_reads_back(shape, values);
    free(bytes.data);
    free(shape);
}

static void assert_place_is_refused(pt_large large)
{
    const pt_field value = {.value = {.type = PT_LARGE_STRING, .large = large}};
    pt_shape *shape = make_shape(outside, 1, SHAPE_ID);
    record_bytes bytes = write_record(shape, &value);
    unsigned sum = 0;
    assert_int_equal(read_all(&bytes, &sum), SQLITE_CORRUPT_VTAB);
    free(bytes.data);
    free(shape);
}

static void places_that_no_value_has_are_refused(void **state)
{
    (void)state;
    assert_place_is_refused((pt_large){.size = 0, .ticks = 1});
    assert_place_is_refused((pt_large){.size = (uint64_t)INT32_MAX + 1, .ticks = 1});
    assert_place_is_refused((pt_large){.size = UINT64_MAX, .ticks = 1});
    assert_place_is_refused((pt_large){.size = 1, .ticks = -1});
    assert_place_is_refused((pt_large){.size = 1, .ticks = PT_TICKS_MAX + 1});
}

static void the_largest_record_is_bounded(void **state)
{
    (void)state;
    static const sample_property two[] = {{1, PT_STRING, NULL}, {10, PT_BINARY, NULL}};
    pt_shape *shape = make_shape(two, 2, SHAPE_ID);
    size_t frame = 16 + 8 + 1;
    pt_field values[] = {
        {.value = {.type = PT_STRING, .bytes = pt_slice_of(NULL, 1 << 29)}},
        {.value = {.type = PT_BINARY, .bytes = pt_slice_of(NULL, (1 << 29) - frame)}},
    };
    assert_int_equal(pt_record_size(shape, values), PT_RECORD_MAX);
    values[1].value.bytes.size++;
    assert_int_equal(pt_record_size(shape, values), 0);
    values[0].value.bytes.size = (size_t)1 << 40;
    assert_int_equal(pt_record_size(shape, values), 0);
    pt_record record;
    assert_int_equal(
        pt_record_open(&record, sample_key(), pt_slice_of("", PT_RECORD_MAX + 1u), &source, NULL),
        SQLITE_CORRUPT_VTAB);
    free(shape);
}

static void assert_corrupt(pt_slice key, const record_bytes *bytes)
{
    pt_record record;
    pt_buffer scratch = {0};
    assert_int_equal(pt_record_open(&record, key, slice_of(bytes), &source, &scratch),
                     SQLITE_CORRUPT_VTAB);
    pt_buffer_free(&scratch);
}

static void assert_every_flip_is_found(const pt_shape *shape, const pt_field *values)
{
    record_bytes bytes = write_record(shape, values);
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_corrupt(sample_key(), &bytes);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    uint8_t key[13];
    assert_int_equal(sample_key().size, sizeof key);
    memcpy(key, sample_key().data, sizeof key);
    for (size_t bit = 0; bit < sizeof key * 8; bit++) {
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_corrupt(pt_slice_of(key, sizeof key), &bytes);
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_corrupt(pt_slice_of(key, sizeof key - 1), &bytes);
    assert_corrupt((pt_slice){0}, &bytes);
    free(bytes.data);
}

/* Short and long records take different ways through the hash. */
static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 3, 100, 300, 2000};
    static const uint8_t content[2000] = {0};
    pt_shape *known = make_shape(described, PROPERTIES, SHAPE_ID);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pt_field values[PROPERTIES];
        memcpy(values, fields, sizeof values);
        values[7].value.bytes = pt_slice_of(content, sizes[i]);
        assert_every_flip_is_found(known, values);
    }
    free(known);
    pt_shape *empty = make_shape(NULL, 0, SHAPE_ID);
    assert_every_flip_is_found(empty, NULL);
    free(empty);
    pt_shape *inlined = make_shape(inline_described, PROPERTIES, 0);
    assert_every_flip_is_found(inlined, fields);
    free(inlined);
}

/* One change to the sample record, whose checksum is then made right again. */
static void assert_refused(size_t at, const char *change, size_t change_size)
{
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    unsigned sum = 0;
    memcpy(bytes.data + at, change, change_size);
    assert_int_equal(read_all(&bytes, &sum), SQLITE_CORRUPT_VTAB);
    free(bytes.data);
    free(shape);
}

enum { ACTIVE_AT = 36, DUE_AT = 37, ENDS_AT = 61, DATA_AT = 65 };

static void nonsense_under_a_right_checksum_is_refused(void **state)
{
    (void)state;
    assert_refused(0, "\0", 1); /* format */
    assert_refused(0, "\2", 1);
    assert_refused(1, "\1", 1); /* wide, with narrow ends */
    assert_refused(1, "\2", 1); /* unknown flags */
    assert_refused(1, "\x80", 1);
    assert_refused(2, "\x08\0", 2);                           /* unknown shape */
    assert_refused(2, "\0\0", 2);                             /* no description */
    assert_refused(8, "\0\0\0\0\0\0\0\x80", 8);               /* negative time */
    assert_refused(8, "\x00\x40\x37\xF4\x75\x28\xCA\x2B", 8); /* year 10000 */
    assert_refused(ACTIVE_AT, "\2", 1);
    assert_refused(DUE_AT, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    assert_refused(DUE_AT, "\x00\x40\x37\xF4\x75\x28\xCA\x2B", 8);
    assert_refused(ENDS_AT, "\7\0\6\0", 4); /* descending */
    assert_refused(ENDS_AT, "\4\0\7\0", 4); /* beyond the data */
    assert_refused(ENDS_AT, "\4\0\5\0", 4); /* data left over */
    assert_refused(ENDS_AT, "\xFF\xFF\6\0", 4);
    assert_refused(ENDS_AT, "\0\0\6\0", 4); /* a STRING without its NUL */
    assert_refused(DATA_AT + 3, "!", 1);
}

static void assert_other_lengths_are_refused(const pt_shape *shape, const pt_field *values)
{
    record_bytes bytes = write_record(shape, values);
    record_bytes longer = write_record(shape, values);
    unsigned sum = 0;
    assert_int_equal(read_all(&bytes, &sum), SQLITE_OK);
    resize(&longer, longer.size + 1);
    assert_int_equal(read_all(&longer, &sum), SQLITE_CORRUPT_VTAB);
    free(longer.data);
    while (bytes.size > PT_RECORD_HEADER) {
        resize(&bytes, bytes.size - 1);
        assert_int_equal(read_all(&bytes, &sum), SQLITE_CORRUPT_VTAB);
    }
    while (bytes.size > 1) {
        resize(&bytes, bytes.size - 1);
        assert_corrupt(sample_key(), &bytes);
    }
    free(bytes.data);
}

static void other_lengths_are_refused(void **state)
{
    (void)state;
    pt_shape *known = make_shape(described + 1, 1, SHAPE_ID);
    pt_shape *inlined = make_shape(inline_described, PROPERTIES, 0);
    assert_other_lengths_are_refused(known, fields + 1);
    assert_other_lengths_are_refused(inlined, fields);
    assert_corrupt(sample_key(), &(record_bytes){0});
    free(known);
    free(inlined);
}

static void assert_any_byte_does_no_harm(const pt_shape *shape)
{
    record_bytes bytes = write_record(shape, fields);
    unsigned sum = 0;
    unsigned refused = 0;
    for (size_t at = 0; at < bytes.size; at++) {
        uint8_t original = bytes.data[at];
        for (int c = 0; c < 256; c++) {
            bytes.data[at] = (uint8_t)c;
            int rc = read_all(&bytes, &sum);
            assert_true(rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB);
            refused += rc != SQLITE_OK;
        }
        bytes.data[at] = original;
    }
    assert_true(refused > 1000);
    assert_int_equal(read_all(&bytes, &sum), SQLITE_OK);
    free(bytes.data);
}

static void every_byte_may_be_anything(void **state)
{
    (void)state;
    pt_shape *known = make_shape(described, PROPERTIES, SHAPE_ID);
    pt_shape *inlined = make_shape(inline_described, PROPERTIES, 0);
    assert_any_byte_does_no_harm(known);
    assert_any_byte_does_no_harm(inlined);
    free(known);
    free(inlined);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void random_changes_do_no_harm(void **state)
{
    (void)state;
    pt_shape *shapes[] = {make_shape(described, PROPERTIES, SHAPE_ID),
                          make_shape(inline_described, PROPERTIES, 0)};
    uint32_t seed = 1;
    unsigned sum = 0;
    for (int i = 0; i < 40000; i++) {
        record_bytes bytes = write_record(shapes[i % 2], fields);
        if (next_random(&seed) % 2 == 0) {
            resize(&bytes, PT_RECORD_HEADER + next_random(&seed) % (bytes.size + 16));
        }
        for (uint32_t changes = next_random(&seed) % 6; changes != 0; changes--) {
            size_t at = 1 + next_random(&seed) % (bytes.size - 1);
            bytes.data[at] = (uint8_t)next_random(&seed);
        }
        int rc = read_all(&bytes, &sum);
        assert_true(rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB);
        free(bytes.data);
    }
    free(shapes[0]);
    free(shapes[1]);
}

static pt_value random_value(uint32_t *seed, pt_slice content)
{
    pt_value value = {.type = (pt_type)(1 + next_random(seed) % PT_STORED_TYPE_LAST)};
    if (value.type == PT_STRING || value.type == PT_BINARY) {
        value.bytes = pt_slice_of(content.data, next_random(seed) % content.size);
    } else if (value.type == PT_GUID) {
        memcpy(value.guid, content.data + next_random(seed) % 300, PT_GUID_SIZE);
    } else if (pt_type_is_large(value.type)) {
        value.large = (pt_large){.size = 1 + next_random(seed),
                                 .ticks = next_random(seed),
                                 .ordinal = (uint16_t)next_random(seed)};
    } else if (value.type == PT_DOUBLE) {
        value.real = (double)next_random(seed) / 7;
    } else {
        value.integer = next_random(seed) % (value.type == PT_BOOLEAN ? 2 : 1 << 24);
    }
    return value;
}

static void random_entities_read_back(void **state)
{
    (void)state;
    uint32_t seed = 2;
    uint8_t content[400];
    for (unsigned i = 0; i < sizeof content; i++) {
        content[i] = (uint8_t)next_random(&seed);
    }
    for (int i = 0; i < 3000; i++) {
        sample_property properties[SAMPLE_NAMES];
        pt_field values[SAMPLE_NAMES] = {0};
        unsigned count = 0;
        for (unsigned name_id = 1; name_id < SAMPLE_NAMES; name_id++) {
            if (next_random(&seed) % 2 == 0) {
                pt_value value = random_value(&seed, pt_slice_of(content, sizeof content));
                properties[count] = (sample_property){(uint16_t)name_id, (uint8_t)value.type, NULL};
                values[count++].value = value;
            }
        }
        pt_shape *shape = make_shape(properties, count, i % 3 == 0 ? 0 : SHAPE_ID);
        assert_reads_back(shape, values);
        free(shape);
    }
}

static void dictionary_shapes_need_no_memory(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    pt_value value;
    failing_malloc_arm(0, true);
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, NULL),
                     SQLITE_OK);
    assert_int_equal(pt_record_value(&record, 0, &value), SQLITE_OK);
    assert_false(failing_malloc_disarm());
    assert_ptr_equal(record.shape, shape);
    free(bytes.data);
    free(shape);
}

static const pt_shape *no_shape(void *context, uint16_t shape_id)
{
    (void)context;
    (void)shape_id;
    return NULL;
}

static int open_with_hint(const record_bytes *bytes, const pt_shape *hint, pt_record *record)
{
    const pt_shape_source hinted = {.shape = no_shape, .name = sample_lookup, .hint = hint};
    pt_buffer scratch = {0};
    int rc = pt_record_open(record, sample_key(), slice_of(bytes), &hinted, &scratch);
    pt_buffer_free(&scratch);
    return rc;
}

static void a_hint_with_the_id_is_not_looked_up(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    assert_int_equal(open_with_hint(&bytes, NULL, &record), SQLITE_CORRUPT_VTAB);
    assert_int_equal(open_with_hint(&bytes, shape, &record), SQLITE_OK);
    assert_ptr_equal(record.shape, shape);
    shape->id = SHAPE_ID + 1;
    assert_int_equal(open_with_hint(&bytes, shape, &record), SQLITE_CORRUPT_VTAB);
    shape->id = 0;
    assert_int_equal(open_with_hint(&bytes, shape, &record), SQLITE_CORRUPT_VTAB);
    free(bytes.data);
    free(shape);
}

static void a_hint_without_id_is_no_inline_shape(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(inline_described, PROPERTIES, 0);
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    assert_int_equal(open_with_hint(&bytes, shape, &record), SQLITE_OK);
    assert_ptr_not_equal(record.shape, shape);
    free(bytes.data);
    free(shape);
}

static void inline_shapes_may_run_out_of_memory(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(inline_described, PROPERTIES, 0);
    record_bytes bytes = write_record(shape, fields);
    pt_record record;
    pt_buffer scratch = {0};
    failing_malloc_arm(0, false);
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch),
                     SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch),
                     SQLITE_OK);
    failing_malloc_arm(0, false);
    assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, &scratch),
                     SQLITE_OK);
    assert_false(failing_malloc_disarm());
    pt_buffer_free(&scratch);
    free(bytes.data);
    free(shape);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(an_inline_description_stands_before_the_values),
        cmocka_unit_test(values_read_back),
        cmocka_unit_test(an_entity_may_have_no_property),
        cmocka_unit_test(extreme_values_read_back),
        cmocka_unit_test(large_values_read_back),
        cmocka_unit_test(values_outside_the_record_have_slots),
        cmocka_unit_test(places_that_no_value_has_are_refused),
        cmocka_unit_test(the_largest_record_is_bounded),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(nonsense_under_a_right_checksum_is_refused),
        cmocka_unit_test(other_lengths_are_refused),
        cmocka_unit_test(every_byte_may_be_anything),
        cmocka_unit_test(random_changes_do_no_harm),
        cmocka_unit_test(random_entities_read_back),
        cmocka_unit_test(dictionary_shapes_need_no_memory),
        cmocka_unit_test(a_hint_with_the_id_is_not_looked_up),
        cmocka_unit_test(a_hint_without_id_is_no_inline_shape),
        cmocka_unit_test(inline_shapes_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
