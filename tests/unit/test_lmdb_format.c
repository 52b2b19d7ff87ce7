#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lmdb_format.h"

static void keys_are_as_documented(void **state)
{
    (void)state;
    pt_format_key name = pt_format_name_key(0x1234);
    assert_int_equal(name.size, 3);
    assert_memory_equal(name.bytes, "n\x12\x34", 3);
    pt_format_key shape = pt_format_shape_key(0x0102);
    assert_int_equal(shape.size, 3);
    assert_memory_equal(shape.bytes, "s\x01\x02", 3);
    pt_format_key counts = pt_format_counts_key(0x01020304);
    assert_int_equal(counts.size, 5);
    assert_memory_equal(counts.bytes, "c\x01\x02\x03\x04", 5);
    assert_true(pt_slice_equal(pt_format_header_key(), pt_slice_text("header")));
    assert_true(pt_slice_equal(pt_format_state_key(), pt_slice_text("current")));
    assert_true(pt_slice_equal(pt_format_last_bucket_key(), pt_slice_text("bucket")));
}

static void header_tells_kinds_apart(void **state)
{
    (void)state;
    static const uint8_t expected[20] = "ptable\0\1";
    uint8_t header[PT_FORMAT_HEADER_SIZE];
    pt_format_write_header(header);
    assert_memory_equal(header, expected, sizeof expected);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, 20)), PT_FORMAT_OURS);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, 19)), PT_FORMAT_FOREIGN);
    for (size_t at = 0; at < sizeof header; at++) {
        static const pt_format_kind kinds[] = {PT_FORMAT_FOREIGN, PT_FORMAT_FOREIGN,
                                               PT_FORMAT_NEWER, PT_FORMAT_READ_ONLY,
                                               PT_FORMAT_OURS};
        header[at] ^= 0x40;
        assert_int_equal(pt_format_read_header(pt_slice_of(header, 20)), kinds[at / 4]);
        header[at] ^= 0x40;
    }
    header[8] = 1; /* both: what forbids reading counts */
    header[12] = 1;
    assert_int_equal(pt_format_read_header(pt_slice_of(header, 20)), PT_FORMAT_NEWER);
}

static void state_is_as_documented(void **state)
{
    (void)state;
    static const uint8_t expected[PT_FORMAT_STATE_SIZE] = {
        1,    2,    3,    4,    5,    6,    7,    8,    9, 10, 11, 12, 13, 14, 15, 16, /* nonce */
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,                                /* version */
        0x09, 0,    0,    0,    0,    0,    0,    0x80, /* generation */
        0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* clock */
        0x0D, 0x0C, 0x0B, 0x0A,                         /* next table id */
        0x02, 0x01, 0x04, 0x03,                         /* names, shapes */
    };
    pt_format_state written = {
        .nonce = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
        .version = 0x0102030405060708,
        .catalog_generation = 0x8000000000000009,
        .clock = 0x1112131415161718,
        .next_table_id = 0x0A0B0C0D,
        .names = 0x0102,
        .shapes = 0x0304,
    };
    uint8_t bytes[PT_FORMAT_STATE_SIZE + 8] = {0};
    pt_format_write_state(&written, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        pt_format_state read = {0};
        bool fits = size >= PT_FORMAT_STATE_SIZE;
        assert_int_equal(pt_format_read_state(pt_slice_of(bytes, size), &read), fits);
        if (fits) {
            assert_memory_equal(read.nonce, written.nonce, PT_FORMAT_NONCE_SIZE);
            assert_int_equal(read.version, written.version);
            assert_int_equal(read.catalog_generation, written.catalog_generation);
            assert_int_equal(read.clock, written.clock);
            assert_int_equal(read.next_table_id, written.next_table_id);
            assert_int_equal(read.names, written.names);
            assert_int_equal(read.shapes, written.shapes);
        }
    }
}

static bool is_read(int64_t clock, uint32_t next_table_id)
{
    uint8_t bytes[PT_FORMAT_STATE_SIZE];
    pt_format_state read;
    pt_format_write_state(&(pt_format_state){.clock = clock, .next_table_id = next_table_id},
                          bytes);
    return pt_format_read_state(pt_slice_of(bytes, sizeof bytes), &read);
}

static void state_must_be_one_that_commits_write(void **state)
{
    (void)state;
    const int64_t end_of_time = INT64_C(3155378975999999999);
    assert_true(is_read(0, 1));
    assert_true(is_read(end_of_time, 0xFF000000));
    assert_false(is_read(-1, 1));
    assert_false(is_read(end_of_time + 1, 1));
    assert_false(is_read(INT64_MAX, 1));
    assert_false(is_read(0, 0));
    assert_false(is_read(0, 0xFF000001));
}

static void counts_are_as_documented(void **state)
{
    (void)state;
    static const uint8_t expected[PT_FORMAT_COUNTS_SIZE] = {
        0x04, 0x03, 0x02, 0x01, 0,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF, 0xFF, 0x7F, 0x05, 0x00, 0x00, 0x00, 0,    0,    0,    0};
    const pt_table_counts counts = {.entities = 0x01020304, .bytes = INT64_MAX, .chunks = 5};
    uint8_t bytes[PT_FORMAT_COUNTS_SIZE];
    pt_table_counts read = {0};
    pt_format_write_counts(&counts, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_true(pt_format_read_counts(pt_slice_of(bytes, sizeof bytes), &read));
    assert_int_equal(read.entities, 0x01020304);
    assert_int_equal(read.bytes, INT64_MAX);
    assert_int_equal(read.chunks, 5);
    assert_false(pt_format_read_counts(pt_slice_of(bytes, sizeof bytes - 1), &read));
}

static void buckets_are_as_documented(void **state)
{
    (void)state;
    static const uint8_t expected[9] = {8, 7, 6, 5, 4, 3, 2, 1, 0};
    uint8_t bytes[9] = {0};
    pt_format_write_bucket(UINT64_C(0x0102030405060708), bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t bucket = 0;
        assert_int_equal(pt_format_read_bucket(pt_slice_of(bytes, size), &bucket), size == 8);
        assert_true(bucket == (size == 8 ? UINT64_C(0x0102030405060708) : 0));
    }
    memset(bytes, 0, sizeof bytes);
    uint64_t none;
    assert_false(pt_format_read_bucket(pt_slice_of(bytes, 8), &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_as_documented),
        cmocka_unit_test(header_tells_kinds_apart),
        cmocka_unit_test(state_is_as_documented),
        cmocka_unit_test(state_must_be_one_that_commits_write),
        cmocka_unit_test(counts_are_as_documented),
        cmocka_unit_test(buckets_are_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
