/* The checksums of records: whatever changes is found, wherever key and record lie. */
#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "fixtures/sample_records.h"
#include "fixtures/value_same.h"

/* True if the record opens, all its numbers read as they are, and none of its texts and binaries
 * can be read: its data are damaged, and nothing else. */
static bool has_only_damaged_data(const record_bytes *bytes, const pt_field *values)
{
    pt_record record;
    pt_buffer scratch = {0};
    bool only_data =
        pt_record_open(&record, sample_key(), slice_of(bytes), &source, &scratch) == SQLITE_OK;
    unsigned refused = 0;
    for (unsigned i = 0; only_data && i < record.shape->count; i++) {
        pt_value value;
        pt_type type = (pt_type)record.shape->properties[i].type;
        int rc = pt_record_value(&record, i, &value);
        bool in_data = type == PT_STRING || type == PT_BINARY;
        refused += in_data;
        only_data = in_data ? rc == SQLITE_CORRUPT_VTAB
                            : rc == SQLITE_OK && value_same(&value, &values[i].value);
    }
    only_data = only_data && refused != 0 && !pt_record_is_sound(&record);
    pt_buffer_free(&scratch);
    return only_data;
}

static void assert_change_is_found(const record_bytes *bytes, const pt_field *values, size_t at,
                                   size_t data_at)
{
    if (at < data_at) {
        assert_corrupt(sample_key(), bytes);
    } else {
        assert_true(has_only_damaged_data(bytes, values));
    }
}

static void assert_other_keys_are_found(const record_bytes *bytes)
{
    uint8_t key[13];
    assert_int_equal(sample_key().size, sizeof key);
    memcpy(key, sample_key().data, sizeof key);
    for (size_t bit = 0; bit < sizeof key * 8; bit++) {
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_corrupt(pt_slice_of(key, sizeof key), bytes);
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_corrupt(pt_slice_of(key, sizeof key - 1), bytes);
    assert_corrupt(pt_slice_of(key, 0), bytes);
}

static void assert_every_flip_is_found(const pt_shape *shape, const pt_field *values)
{
    record_bytes bytes = write_record(shape, values);
    size_t data_at = find_checksums(sample_key(), slice_of(&bytes)).head + CHECKSUM_SIZE;
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_change_is_found(&bytes, values, bit / 8, data_at);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t at = 0; at < bytes.size; at++) { /* and whole bytes */
        bytes.data[at] ^= 0xFF;
        assert_change_is_found(&bytes, values, at, data_at);
        bytes.data[at] ^= 0xFF;
    }
    assert_other_keys_are_found(&bytes);
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
    pt_shape *numbers = make_shape(described + 1, PROPERTIES - 2, SHAPE_ID);
    assert_every_flip_is_found(numbers, fields + 1);
    free(numbers);
    pt_shape *text = make_shape(described, 1, SHAPE_ID);
    assert_every_flip_is_found(text, fields);
    free(text);
    pt_shape *inlined = make_shape(inline_described, PROPERTIES, 0);
    assert_every_flip_is_found(inlined, fields);
    free(inlined);
}

/* The head with ends of four bytes. */
static void every_flipped_bit_of_a_wide_head_is_found(void **state)
{
    (void)state;
    static const uint8_t content[66000] = {0};
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    pt_field values[PROPERTIES];
    memcpy(values, fields, sizeof values);
    values[7].value.bytes = pt_slice_of(content, sizeof content);
    record_bytes bytes = write_record(shape, values);
    size_t data_at = find_checksums(sample_key(), slice_of(&bytes)).head + CHECKSUM_SIZE;
    for (size_t bit = 0; bit < data_at * 8; bit++) {
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_corrupt(sample_key(), &bytes);
        bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    bytes.data[bytes.size - 1] ^= 1;
    assert_true(has_only_damaged_data(&bytes, values));
    free(bytes.data);
    free(shape);
}

/* Opens the record under its key, which lies before it or elsewhere. */
static void assert_opens(pt_slice key, const uint8_t *bytes, size_t size, bool alike)
{
    pt_record record;
    pt_buffer scratch = {0};
    pt_slice both = pt_slice_of(bytes, size);
    assert_int_equal(pt_record_open(&record, key, both, &source, &scratch), SQLITE_OK);
    assert_int_equal(record.ticks, sample_ticks);
    assert_true(!alike || pt_record_open_alike(&record, key, both));
    pt_buffer_free(&scratch);
}

/* An empty BINARY has no byte that could be damaged, but it is part of the data. */
static void an_empty_binary_is_read_under_a_right_checksum_only(void **state)
{
    (void)state;
    static const sample_property binary[] = {{10, PT_BINARY, NULL}};
    static const pt_field value = {.value = {.type = PT_BINARY}};
    pt_shape *shape = make_shape(binary, 1, SHAPE_ID);
    record_bytes bytes = write_record(shape, &value);
    assert_int_equal(bytes.size, 18);
    assert_opens(sample_key(), bytes.data, bytes.size, true);
    bytes.data[10] ^= 1;
    checksum_places head_only = {.head = 14};
    restore_checksums_at(head_only, sample_key(), bytes.data, bytes.size);
    assert_true(has_only_damaged_data(&bytes, &value));
    free(bytes.data);
    free(shape);
}

/*
 * --- Key and head ---
 *
 * They are hashed in one run if one follows the other in memory. If not, they are gathered or
 * hashed piece by piece.
 */

enum { LONGEST_KEY = 4700 };

static void assert_same_checksum_beside_key(const pt_shape *shape, const pt_field *values,
                                            pt_slice key)
{
    size_t size = pt_record_size(shape, values);
    uint8_t *together = malloc(key.size + size);
    uint8_t *apart = malloc(size);
    assert_true(together != NULL && apart != NULL);
    memcpy(together, key.data, key.size);
    pt_slice before = pt_slice_of(together, key.size);
    uint8_t *record = together + key.size;
    pt_record_write(shape, values, sample_ticks, before, record, size);
    pt_record_write(shape, values, sample_ticks, key, apart, size);
    assert_memory_equal(record, apart, size);
    size_t head = find_checksums(key, pt_slice_of(apart, size)).head;
    assert_int_equal(pt_get_le32(apart + head),
                     checksum_of_head(key, pt_slice_of(apart, head), size));
    assert_opens(before, record, size, shape->id != 0);
    assert_opens(key, apart, size, shape->id != 0);
    assert_opens(before, apart, size, shape->id != 0);
    free(together);
    free(apart);
}

static void key_and_head_may_lie_apart(void **state)
{
    (void)state;
    static uint8_t key[LONGEST_KEY];
    static const size_t key_sizes[] = {5,   6,   16,  60,  100, 101, 102,  200,        230,
                                       231, 232, 233, 300, 510, 600, 1500, LONGEST_KEY};
    for (size_t i = 0; i < sizeof key; i++) {
        key[i] = (uint8_t)(i * 7 + 1);
    }
    pt_shape *shapes[] = {make_shape(NULL, 0, SHAPE_ID), make_shape(described + 1, 1, SHAPE_ID),
                          make_shape(inline_described, PROPERTIES, 0),
                          make_shape(described, PROPERTIES, SHAPE_ID)};
    const pt_field *values[] = {NULL, fields + 1, fields, fields};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        known_shape = shapes[s];
        for (size_t k = 0; k < sizeof key_sizes / sizeof key_sizes[0]; k++) {
            assert_same_checksum_beside_key(shapes[s], values[s], pt_slice_of(key, key_sizes[k]));
        }
        free(shapes[s]);
    }
}

/* All sizes of key and head together, up to more than any way through the hash begins with. */
static void heads_of_any_size_may_lie_apart(void **state)
{
    (void)state;
    static const sample_property text[] = {{1, PT_STRING, NULL}};
    static const pt_field value = {.value = {.type = PT_STRING}};
    static uint8_t key[1100];
    pt_shape *shape = make_shape(text, 1, SHAPE_ID);
    for (size_t size = 5; size < sizeof key; size++) {
        key[size - 1] = (uint8_t)(size * 31);
        assert_same_checksum_beside_key(shape, &value, pt_slice_of(key, size));
    }
    free(shape);
}

/* The same run of bytes, divided otherwise, and the same head of a longer or shorter record. */
static void moved_boundaries_are_found(void **state)
{
    (void)state;
    pt_shape *shape = make_shape(described, PROPERTIES, SHAPE_ID);
    record_bytes bytes = write_record(shape, fields);
    pt_slice key = sample_key();
    uint8_t run[200];
    memcpy(run, key.data, key.size);
    memcpy(run + key.size, bytes.data, bytes.size);
    for (size_t size = PT_RECORD_LEAST; size < 130; size++) {
        pt_record record;
        int rc = pt_record_open(&record, pt_slice_of(run, key.size),
                                pt_slice_of(run + key.size, size), &source, NULL);
        assert_int_equal(rc, size == bytes.size ? SQLITE_OK : SQLITE_CORRUPT_VTAB);
    }
    size_t head = find_checksums(key, slice_of(&bytes)).head;
    uint32_t sum = checksum_of_head(key, pt_slice_of(bytes.data, head), bytes.size);
    for (size_t moved = 1; moved < key.size; moved++) {
        uint8_t *start = run + key.size - moved;
        assert_int_not_equal(sum, checksum_of_head(pt_slice_of(run, key.size - moved),
                                                   pt_slice_of(start, head + moved),
                                                   bytes.size + moved));
    }
    free(bytes.data);
    free(shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(every_flipped_bit_of_a_wide_head_is_found),
        cmocka_unit_test(an_empty_binary_is_read_under_a_right_checksum_only),
        cmocka_unit_test(key_and_head_may_lie_apart),
        cmocka_unit_test(heads_of_any_size_may_lie_apart),
        cmocka_unit_test(moved_boundaries_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
