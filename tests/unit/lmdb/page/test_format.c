#include "fixtures/cmocka.h"

#include "base/xxhash.h"
#include "lmdb/page/format.h"

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
    static const uint8_t expected[20] = "ptable\0\1\17";
    const pt_slice key = pt_format_header_key();
    uint8_t header[PT_FORMAT_HEADER_SIZE];
    pt_format_write_header(header);
    assert_memory_equal(header, expected, sizeof expected);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)), PT_FORMAT_OURS);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, 23)), PT_FORMAT_DAMAGED);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, 19)), PT_FORMAT_FOREIGN);
    for (size_t at = 0; at < sizeof expected; at++) {
        static const pt_format_kind kinds[] = {PT_FORMAT_FOREIGN, PT_FORMAT_FOREIGN,
                                               PT_FORMAT_NEWER, PT_FORMAT_READ_ONLY,
                                               PT_FORMAT_OURS};
        header[at] ^= 0x40;
        assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)),
                         at < 8 ? PT_FORMAT_FOREIGN : PT_FORMAT_DAMAGED);
        pt_seal(key, header, sizeof header);
        assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)), kinds[at / 4]);
        header[at] ^= 0x40;
    }
    header[8] = 15; /* one without its last field, which a later version cannot have written */
    pt_seal(key, header, 20);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, 20)), PT_FORMAT_DAMAGED);
    pt_format_write_header(header);
    header[8] = 0x2F; /* both: what forbids reading counts */
    header[12] = 1;
    pt_seal(key, header, sizeof header);
    assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)), PT_FORMAT_NEWER);
}

/* Nothing else that a later version has put there is lost. */
static void header_says_that_there_is_a_log(void **state)
{
    (void)state;
    enum { LONGER = PT_FORMAT_HEADER_SIZE + 4 };
    uint8_t before[PT_FORMAT_HEADER_MAX + 1] = {0};
    uint8_t after[PT_FORMAT_HEADER_MAX];
    pt_format_write_header(before);
    memset(before + 16, 0x5A, 8);
    pt_seal(pt_format_header_key(), before, LONGER);
    size_t size = pt_format_mark_log(pt_slice_of(before, LONGER), true, after);
    assert_int_equal(size, LONGER);
    assert_int_equal(after[8], 31);
    assert_memory_equal(after + 9, before + 9, LONGER - PT_SEAL_SIZE - 9);
    assert_int_equal(pt_format_read_header(pt_slice_of(after, size)), PT_FORMAT_OURS);
    size = pt_format_mark_log(pt_slice_of(after, size), false, after);
    assert_int_equal(size, LONGER);
    assert_memory_equal(after, before, LONGER);

    pt_seal(pt_format_header_key(), before, sizeof before);
    assert_int_equal(pt_format_read_header(pt_slice_of(before, sizeof before)), PT_FORMAT_DAMAGED);
}

static void stores_of_older_formats_are_told_apart(void **state)
{
    (void)state;
    const pt_slice key = pt_format_header_key();
    uint8_t sealed[PT_FORMAT_HEADER_SIZE];
    for (uint8_t features = 0; features < 15; features++) {
        pt_format_write_header(sealed);
        sealed[8] = features;
        pt_seal(key, sealed, sizeof sealed);
        assert_int_equal(pt_format_read_header(pt_slice_of(sealed, sizeof sealed)),
                         PT_FORMAT_OLDER);
    }
    uint8_t header[20] = "ptable\0\1";
    assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)), PT_FORMAT_OLDER);
    header[12] = 1;
    assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)), PT_FORMAT_OLDER);
    header[8] = 1; /* says that it has a seal, and has none */
    assert_int_equal(pt_format_read_header(pt_slice_of(header, sizeof header)), PT_FORMAT_DAMAGED);
}

static void state_is_as_documented(void **state)
{
    (void)state;
    static const uint8_t expected[48] = {
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
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE + 16] = {0};
    pt_format_write_state(&written, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        pt_format_state read = {0};
        bool fits = size >= PT_FORMAT_STATE_SIZE;
        if (fits) {
            pt_seal(pt_format_state_key(), bytes, size);
        }
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

/* A program that does not know logs may have opened the store before it had one. It takes a state
 * without a next table id for damage. */
static void state_with_a_log_is_as_documented(void **state)
{
    (void)state;
    static const uint8_t expected[32] = {
        0,    0,    0, 0, 0,    0,    0,    0,    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
        0x02, 0x00, 0, 0, 0x0D, 0x0C, 0x0B, 0x0A, 0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21};
    const pt_format_state written = {.next_table_id = 0x0A0B0C0D,
                                     .log_id = 0x1112131415161718,
                                     .sync = PT_SYNC_FULL,
                                     .shown = 0x2122232425262728};
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    pt_format_state read;
    size_t size = pt_format_write_state(&written, bytes);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(bytes + 40, expected, sizeof expected);
    assert_true(pt_format_read_state(pt_slice_of(bytes, size), &read));
    assert_int_equal(read.next_table_id, written.next_table_id);
    assert_int_equal(read.log_id, written.log_id);
    assert_int_equal(read.sync, PT_SYNC_FULL);
    assert_int_equal(read.shown, written.shown);
    bytes[56] = PT_SYNC_FULL + 1; /* of a later version */
    pt_seal(pt_format_state_key(), bytes, size);
    assert_true(pt_format_read_state(pt_slice_of(bytes, size), &read));
    assert_int_equal(read.sync, PT_SYNC_OFF);
    pt_seal(pt_format_state_key(), bytes, PT_FORMAT_STATE_SIZE);
    assert_false(pt_format_read_state(pt_slice_of(bytes, PT_FORMAT_STATE_SIZE), &read));
}

static bool is_read(int64_t clock, uint32_t next_table_id)
{
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    pt_format_state read;
    size_t size = pt_format_write_state(
        &(pt_format_state){.clock = clock, .next_table_id = next_table_id}, bytes);
    return pt_format_read_state(pt_slice_of(bytes, size), &read);
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
    static const uint8_t expected[24] = {0x04, 0x03, 0x02, 0x01, 0,    0,    0,    0,
                                         0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F,
                                         0x05, 0x00, 0x00, 0x00, 0,    0,    0,    0};
    const pt_table_counts counts = {.entities = 0x01020304, .bytes = INT64_MAX, .chunks = 5};
    uint8_t bytes[PT_FORMAT_COUNTS_SIZE];
    pt_table_counts read = {0};
    const pt_slice key = pt_slice_text("c1234");
    pt_format_write_counts(key, &counts, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_true(pt_format_read_counts(key, pt_slice_of(bytes, sizeof bytes), &read));
    assert_int_equal(read.entities, 0x01020304);
    assert_int_equal(read.bytes, INT64_MAX);
    assert_int_equal(read.chunks, 5);
    assert_false(pt_format_read_counts(key, pt_slice_of(bytes, sizeof bytes - 1), &read));
    assert_false(
        pt_format_read_counts(pt_slice_text("c1235"), pt_slice_of(bytes, sizeof bytes), &read));
}

static void buckets_are_as_documented(void **state)
{
    (void)state;
    static const uint8_t expected[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    const pt_slice key = pt_slice_text("key");
    uint8_t bytes[PT_FORMAT_BUCKET_SIZE + 1] = {0};
    pt_format_write_bucket(key, UINT64_C(0x0102030405060708), bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t bucket = 0;
        bool fits = size == PT_FORMAT_BUCKET_SIZE;
        assert_int_equal(pt_format_read_bucket(key, pt_slice_of(bytes, size), &bucket), fits);
        assert_true(bucket == (fits ? UINT64_C(0x0102030405060708) : 0));
    }
    uint64_t none;
    pt_format_write_bucket(key, 0, bytes);
    assert_false(pt_format_read_bucket(key, pt_slice_of(bytes, PT_FORMAT_BUCKET_SIZE), &none));
}

static void seals_are_as_documented(void **state)
{
    (void)state;
    const pt_slice key = pt_slice_text("current");
    uint8_t record[40] = "what is known of the store";
    pt_slice content;
    pt_seal(key, record, sizeof record);
    assert_int_equal(pt_get_le32(record + 36),
                     (uint32_t)XXH3_64bits_withSeed(record, 36, XXH3_64bits("current", 7)));
    assert_true(pt_unseal(key, pt_slice_of(record, sizeof record), &content));
    assert_int_equal(content.size, sizeof record - PT_SEAL_SIZE);
    for (size_t bit = 0; bit < 8 * sizeof record; bit++) {
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(pt_unseal(key, pt_slice_of(record, sizeof record), &content));
        assert_int_equal(content.size, sizeof record - PT_SEAL_SIZE);
        record[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_false(pt_unseal(pt_slice_text("curreNt"), pt_slice_of(record, sizeof record), &content));
    for (size_t size = 0; size < PT_SEAL_SIZE; size++) {
        assert_false(pt_unseal(key, pt_slice_of(record, size), &content));
        assert_int_equal(content.size, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_as_documented),
        cmocka_unit_test(header_tells_kinds_apart),
        cmocka_unit_test(header_says_that_there_is_a_log),
        cmocka_unit_test(stores_of_older_formats_are_told_apart),
        cmocka_unit_test(state_is_as_documented),
        cmocka_unit_test(state_with_a_log_is_as_documented),
        cmocka_unit_test(state_must_be_one_that_commits_write),
        cmocka_unit_test(counts_are_as_documented),
        cmocka_unit_test(buckets_are_as_documented),
        cmocka_unit_test(seals_are_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
