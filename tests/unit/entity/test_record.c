#include "fixtures/cmocka.h"

#include "faults/failing_malloc.h"
#include "fixtures/sample_records.h"
#include "fixtures/value_same.h"

/* Opens the bytes with a right checksum and reads every value to its last byte. */
static int read_all(record_bytes *bytes, unsigned *sum)
{
    pt_record record;
    pt_buffer scratch = {0};
    restore_checksums(bytes);
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
    /* shape id, ticks */
    0x07, 0x00, 0x89, 0x67, 0x45, 0x23, 0x01, 0xCA, 0xDB, 0x08,
    /* Age, Total, Score */
    0xDE, 0xFF, 0xFF, 0xFF, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0, 0, 0, 0, 0xF8,
    0xBF,
    /* Active, Due */
    0x01, 0x00, 0x80, 0xB5, 0xF7, 0xF5, 0x7F, 0x9F, 0x08,
    /* Badge */
    0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10,
    /* end of FirstName, checksums of data and head, data */
    0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 'J', 'u', 'n', 0x00, 0xDE, 0xAD};

enum { ACTIVE_AT = 30, DUE_AT = 31, END_AT = 55, DATA_SUM_AT = 56, HEAD_SUM_AT = 60, DATA_AT = 64 };

static const uint32_t expected_data_sum = UINT32_C(0x6D5B387D);
static const uint32_t expected_head_sum = UINT32_C(0xE82B076F);

static void the_layout_is_the_documented_one(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes record = write_record(shape, fields);
    assert_int_equal(record.size, sizeof expected_bytes);
    assert_memory_equal(record.data, expected_bytes, DATA_SUM_AT);
    assert_memory_equal(record.data + DATA_AT, expected_bytes + DATA_AT, record.size - DATA_AT);
    assert_int_equal(pt_get_le32(record.data + DATA_SUM_AT), expected_data_sum);
    assert_int_equal(pt_get_le32(record.data + HEAD_SUM_AT), expected_head_sum);
    restore_checksums(&record);
    assert_int_equal(pt_get_le32(record.data + DATA_SUM_AT), expected_data_sum);
    assert_int_equal(pt_get_le32(record.data + HEAD_SUM_AT), expected_head_sum);
    checksum_places found = find_checksums(sample_key(), slice_of(&record));
    assert_int_equal(found.head, HEAD_SUM_AT);
    assert_true(found.has_data);
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
    size_t shift = 4 + size;
    assert_int_equal(record.size, sizeof expected_bytes + shift);
    assert_int_equal(pt_get_le16(record.data), 0);
    assert_memory_equal(record.data + 2, expected_bytes + 2, 8);
    assert_int_equal(pt_get_le32(record.data + 10), size);
    assert_memory_equal(record.data + 14, description, size);
    assert_memory_equal(record.data + 10 + shift, expected_bytes + 10, DATA_SUM_AT - 10);
    assert_int_equal(pt_get_le32(record.data + shift + DATA_SUM_AT), expected_data_sum);
    assert_memory_equal(record.data + shift + DATA_AT, expected_bytes + DATA_AT,
                        sizeof expected_bytes - DATA_AT);
    free(record.data);
    free(shape);
}

/* Only a shape with a STRING or BINARY has data and their checksum. */
static void numbers_have_one_checksum(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described + 1, PROPERTIES - 2, SHAPE_ID);
    record_bytes record = write_record(shape, fields + 1);
    assert_int_equal(record.size, END_AT + 4);
    assert_memory_equal(record.data, expected_bytes, END_AT);
    checksum_places found = find_checksums(sample_key(), slice_of(&record));
    assert_int_equal(found.head, END_AT);
    assert_false(found.has_data);
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
    assert_int_equal(pt_record_size(known, NULL), PT_RECORD_LEAST);
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
    enum { LARGE = 70000, FRAME = 10 + 8 };
    static const sample_property three[] = {
        {1, PT_STRING, NULL}, {2, PT_BINARY, NULL}, {10, PT_BINARY, NULL}};
    static const struct {
        size_t text;
        size_t binary;
        size_t last;
        unsigned width;
    } sizes[] = {
        {0, 0, 0, 0},     {254, 0, 0, 0},       {255, 0, 0, 1},           {0, 254, 0, 0},
        {0, 255, 0, 1},   {0, 0, 254, 0},       {0, 0, 255, 1},           {65534, 0, 0, 1},
        {65535, 0, 0, 2}, {0, 65534, 0, 1},     {0, 65535, 0, 2},         {32767, 32766, 1, 1},
        {0, 0, 65534, 1}, {32768, 0, 32767, 2}, {LARGE, LARGE, LARGE, 2},
    };
    uint8_t *content = malloc(LARGE);
    assert_non_null(content);
    for (unsigned i = 0; i < LARGE; i++) {
        content[i] = (uint8_t)(i * 31);
    }
    pt_shape *shape = make_shape(three, 3, SHAPE_ID);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pt_field values[] = {
            {.value = {.type = PT_STRING, .bytes = pt_slice_of(content, sizes[i].text)}},
            {.value = {.type = PT_BINARY, .bytes = pt_slice_of(content, sizes[i].binary)}},
            {.value = {.type = PT_BINARY, .bytes = pt_slice_of(content, sizes[i].last)}},
        };
        record_bytes bytes = write_record(shape, values);
        assert_int_equal(bytes.size, FRAME + (2u << sizes[i].width) + sizes[i].text + 1 +
                                         sizes[i].binary + sizes[i].last);
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
    assert_int_equal(bytes.size, PT_RECORD_LEAST + sizeof expected);
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
    size_t frame = 10 + 4 + 8 + 1;
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

/* One change to the sample record, whose checksums are then made right again. */
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

static void nonsense_under_a_right_checksum_is_refused(void **state)
{
    (void)state;
    assert_refused(0, "\x08\0", 2);                           /* unknown shape */
    assert_refused(0, "\0\0", 2);                             /* no description */
    assert_refused(2, "\0\0\0\0\0\0\0\x80", 8);               /* negative time */
    assert_refused(2, "\x00\x40\x37\xF4\x75\x28\xCA\x2B", 8); /* year 10000 */
    assert_refused(ACTIVE_AT, "\2", 1);
    assert_refused(DUE_AT, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
    assert_refused(DUE_AT, "\x00\x40\x37\xF4\x75\x28\xCA\x2B", 8);
    assert_refused(END_AT, "\7", 1); /* beyond the data */
    assert_refused(END_AT, "\xFF", 1);
    assert_refused(END_AT, "\0", 1); /* a STRING without its NUL */
    assert_refused(END_AT, "\3", 1);
    assert_refused(DATA_AT + 3, "!", 1);
}

static void ends_in_disorder_are_refused(void **state)
{
    (void)state;
    static const sample_property three[] = {
        {1, PT_BINARY, NULL}, {2, PT_BINARY, NULL}, {10, PT_BINARY, NULL}};
    static const pt_field values[] = {
        {.value = {.type = PT_BINARY, .bytes = {(const uint8_t *)"abc", 3}}},
        {.value = {.type = PT_BINARY, .bytes = {(const uint8_t *)"de", 2}}},
        {.value = {.type = PT_BINARY, .bytes = {(const uint8_t *)"f", 1}}}};
    static const struct {
        uint8_t ends[2];
        uint8_t bad; /* bit i: property i */
    } cases[] = {{{3, 5}, 0}, {{5, 3}, 2}, {{7, 5}, 3}, {{3, 7}, 6}, {{6, 6}, 0}, {{0, 0}, 0}};
    pt_shape *shape = make_shape(three, 3, SHAPE_ID);
    record_bytes bytes = write_record(shape, values);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pt_record record;
        memcpy(bytes.data + PT_RECORD_HEADER, cases[i].ends, 2);
        restore_checksums(&bytes);
        assert_int_equal(pt_record_open(&record, sample_key(), slice_of(&bytes), &source, NULL),
                         SQLITE_OK);
        for (unsigned p = 0; p < 3; p++) {
            pt_value value;
            assert_int_equal(pt_record_value(&record, p, &value),
                             (cases[i].bad >> p & 1) != 0 ? SQLITE_CORRUPT_VTAB : SQLITE_OK);
        }
    }
    free(bytes.data);
    free(shape);
}

/* Under the old checksums; under right ones the last value may be shorter or longer. */
static void assert_other_lengths_are_refused(const pt_shape *shape, const pt_field *values)
{
    record_bytes bytes = write_record(shape, values);
    record_bytes longer = write_record(shape, values);
    unsigned sum = 0;
    assert_int_equal(read_all(&bytes, &sum), SQLITE_OK);
    resize(&longer, longer.size + 1);
    assert_corrupt(sample_key(), &longer);
    if (shape->variable == 0) {
        assert_int_equal(read_all(&longer, &sum), SQLITE_CORRUPT_VTAB);
    }
    free(longer.data);
    while (bytes.size > 1) {
        resize(&bytes, bytes.size - 1);
        assert_corrupt(sample_key(), &bytes);
    }
    free(bytes.data);
}

/* Whatever is cut off: every byte of what is left may be read, and no other. */
static void assert_short_records_do_no_harm(const pt_shape *shape, const pt_field *values)
{
    record_bytes bytes = write_record(shape, values);
    unsigned sum = 0;
    size_t head = find_checksums(sample_key(), slice_of(&bytes)).head;
    while (bytes.size > PT_RECORD_LEAST) {
        resize(&bytes, bytes.size - 1);
        int rc = read_all(&bytes, &sum);
        assert_true(rc == SQLITE_CORRUPT_VTAB ||
                    (rc == SQLITE_OK && bytes.size >= head + CHECKSUM_SIZE));
    }
    free(bytes.data);
}

static void other_lengths_are_refused(void **state)
{
    (void)state;
    pt_shape *number = make_shape(described + 1, 1, SHAPE_ID);
    assert_other_lengths_are_refused(number, fields + 1);
    assert_short_records_do_no_harm(number, fields + 1);
    pt_shape *all = make_shape(described, PROPERTIES, SHAPE_ID);
    assert_other_lengths_are_refused(all, fields);
    assert_short_records_do_no_harm(all, fields);
    pt_shape *inlined = make_shape(inline_described, PROPERTIES, 0);
    assert_other_lengths_are_refused(inlined, fields);
    assert_short_records_do_no_harm(inlined, fields);
    assert_corrupt(sample_key(), &(record_bytes){0});
    free(number);
    free(all);
    free(inlined);
}

static void assert_any_byte_does_no_harm(const pt_shape *shape)
{
    record_bytes bytes = write_record(shape, fields);
    unsigned sum = 0;
    unsigned refused = 0;
    for (size_t at = 0; at < bytes.size; at++) {
        for (int c = 0; c < 256; c++) {
            record_bytes copy = {.data = malloc(bytes.size), .size = bytes.size};
            assert_non_null(copy.data);
            memcpy(copy.data, bytes.data, bytes.size);
            copy.data[at] = (uint8_t)c;
            int rc = read_all(&copy, &sum);
            assert_true(rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB);
            refused += rc != SQLITE_OK;
            free(copy.data);
        }
    }
    assert_true(refused > 500);
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
            resize(&bytes, PT_RECORD_LEAST + next_random(&seed) % (bytes.size + 16));
        }
        for (uint32_t changes = next_random(&seed) % 6; changes != 0; changes--) {
            size_t at = next_random(&seed) % bytes.size;
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
        cmocka_unit_test(numbers_have_one_checksum),
        cmocka_unit_test(values_read_back),
        cmocka_unit_test(an_entity_may_have_no_property),
        cmocka_unit_test(extreme_values_read_back),
        cmocka_unit_test(large_values_read_back),
        cmocka_unit_test(values_outside_the_record_have_slots),
        cmocka_unit_test(places_that_no_value_has_are_refused),
        cmocka_unit_test(the_largest_record_is_bounded),
        cmocka_unit_test(nonsense_under_a_right_checksum_is_refused),
        cmocka_unit_test(ends_in_disorder_are_refused),
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
