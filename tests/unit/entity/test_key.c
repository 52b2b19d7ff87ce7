#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "entity/key.h"
#include "faults/failing_malloc.h"

enum { LAST_CODE_POINT = 0x10FFFF };

static bool is_surrogate(uint32_t code_point)
{
    return code_point >= 0xD800 && code_point <= 0xDFFF;
}

/* UTF-8 as its definition draws it: xxxxxxx, yyyyy xxxxxx, zzzz yyyyyy xxxxxx, ... */
static size_t encode(uint32_t code_point, uint8_t bytes[4])
{
    if (code_point < 0x80) {
        bytes[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        bytes[0] = (uint8_t)(0xC0 + code_point / 64);
        bytes[1] = (uint8_t)(0x80 + code_point % 64);
        return 2;
    }
    if (code_point < 0x10000) {
        bytes[0] = (uint8_t)(0xE0 + code_point / 4096);
        bytes[1] = (uint8_t)(0x80 + code_point / 64 % 64);
        bytes[2] = (uint8_t)(0x80 + code_point % 64);
        return 3;
    }
    bytes[0] = (uint8_t)(0xF0 + code_point / 262144);
    bytes[1] = (uint8_t)(0x80 + code_point / 4096 % 64);
    bytes[2] = (uint8_t)(0x80 + code_point / 64 % 64);
    bytes[3] = (uint8_t)(0x80 + code_point % 64);
    return 4;
}

static const char *const key_texts[] = {
    "",
    "\x01",
    " ",
    "0",
    "00",
    "1",
    "A",
    "Aa",
    "B",
    "a",
    "aa",
    "ab",
    "b",
    "empid_000123",
    "empid_000123_2012",
    "\x7F",
    "\xC2\x80",
    "\xC3\xA9",
    "\xEF\xBF\xBF",
    "\xF0\x90\x80\x80",
    "\xF4\x8F\xBF\xBF",
};

enum { KEY_TEXTS = sizeof key_texts / sizeof key_texts[0] };

static void bytes_order_is_partition_then_row_order(void **state)
{
    (void)state;
    pt_buffer a = {0};
    pt_buffer b = {0};
    for (unsigned i = 0; i < KEY_TEXTS * KEY_TEXTS; i++) {
        const char *pk = key_texts[i / KEY_TEXTS];
        const char *rk = key_texts[i % KEY_TEXTS];
        pt_buffer_clear(&a);
        pt_key_append(&a, pt_slice_text(pk), pt_slice_text(rk));
        for (unsigned k = 0; k < KEY_TEXTS * KEY_TEXTS; k++) {
            const char *other_pk = key_texts[k / KEY_TEXTS];
            const char *other_rk = key_texts[k % KEY_TEXTS];
            pt_buffer_clear(&b);
            pt_key_append(&b, pt_slice_text(other_pk), pt_slice_text(other_rk));
            int expected = strcmp(pk, other_pk) != 0 ? strcmp(pk, other_pk) : strcmp(rk, other_rk);
            int order = pt_slice_compare(pt_buffer_slice(&a), pt_buffer_slice(&b));
            assert_int_equal(order < 0, expected < 0);
            assert_int_equal(order > 0, expected > 0);
        }
    }
    pt_buffer_free(&a);
    pt_buffer_free(&b);
}

static void appended_keys_split_again(void **state)
{
    (void)state;
    pt_buffer key = {0};
    pt_buffer point = {0};
    for (unsigned i = 0; i < KEY_TEXTS; i++) {
        for (unsigned k = 0; k < KEY_TEXTS; k++) {
            pt_slice pk = pt_slice_text(key_texts[i]);
            pt_slice rk = pt_slice_text(key_texts[k]);
            pt_slice found_pk;
            pt_slice found_rk;
            pt_buffer_assign(&key, pt_slice_text("\1"));
            pt_key_append(&key, pk, rk);
            assert_int_equal(key.size, 1 + pk.size + 1 + rk.size);
            pt_slice entity_key = pt_key_entity(pt_buffer_slice(&key));
            assert_true(pt_key_split(entity_key, &found_pk, &found_rk));
            assert_true(pt_slice_equal(found_pk, pk));
            assert_true(pt_slice_equal(found_rk, rk));
            pt_buffer_assign(&point, pt_slice_text("\1"));
            pt_key_append_with_nul(&point, pk, rk);
            pt_buffer_append_byte(&key, 0);
            assert_true(pt_slice_equal(pt_buffer_slice(&point), pt_buffer_slice(&key)));
        }
    }
    pt_buffer_free(&key);
    pt_buffer_free(&point);
}

static void splitting_takes_the_first_nul(void **state)
{
    (void)state;
    pt_slice pk = {0};
    pt_slice rk = {0};
    assert_true(pt_key_split(pt_slice_of("a\0b\0c", 5), &pk, &rk));
    assert_true(pt_slice_equal(pk, pt_slice_text("a")));
    assert_true(pt_slice_equal(rk, pt_slice_of("b\0c", 3)));
    assert_false(pt_key_split(pt_slice_text("abc"), &pk, &rk));
    assert_false(pt_key_split((pt_slice){0}, &pk, &rk));
    assert_true(pt_slice_equal(pk, pt_slice_text("a")));
}

static pt_slice logical_key(pt_buffer *buffer, uint32_t table, const char *partition,
                            const char *row)
{
    pt_key_begin(buffer, table);
    pt_key_append(buffer, pt_slice_text(partition), pt_slice_text(row));
    return pt_buffer_slice(buffer);
}

static void a_logical_key_gives_both_keys(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    pt_keys keys = pt_keys_of(logical_key(&buffer, 1, "p", "r"));
    assert_true(pt_slice_equal(keys.partition, pt_slice_text("p")));
    assert_true(pt_slice_equal(keys.row, pt_slice_text("r")));
    keys = pt_keys_of(pt_slice_text("1no NUL"));
    assert_int_equal(keys.partition.size, 0);
    assert_int_equal(keys.row.size, 0);
    pt_buffer_free(&buffer);
}

static void a_partition_is_told_from_its_neighbours(void **state)
{
    (void)state;
    pt_buffer key = {0};
    pt_buffer other = {0};
    pt_slice partition = pt_key_partition(logical_key(&key, 7, "ab", "row"));
    assert_true(pt_slice_equal(partition, pt_slice_text("\7ab")));
    assert_true(pt_key_is_in_partition(logical_key(&other, 7, "ab", ""), partition));
    assert_true(pt_key_is_in_partition(logical_key(&other, 7, "ab", "\xff"), partition));
    assert_false(pt_key_is_in_partition(logical_key(&other, 7, "a", "b"), partition));
    assert_false(pt_key_is_in_partition(logical_key(&other, 7, "abc", ""), partition));
    assert_false(pt_key_is_in_partition(logical_key(&other, 8, "ab", "row"), partition));
    partition = pt_key_partition(logical_key(&key, 7, "", "row"));
    assert_int_equal(partition.size, 1);
    assert_true(pt_key_is_in_partition(logical_key(&other, 7, "", "x"), partition));
    assert_false(pt_key_is_in_partition(logical_key(&other, 7, "x", ""), partition));

    /* Other keys than those of entities have no 00; they may be as short as a table id. */
    pt_key_begin(&key, 0);
    assert_int_equal(pt_key_partition(pt_buffer_slice(&key)).size, 1);
    pt_buffer_append_text(&key, "name");
    assert_int_equal(pt_key_partition(pt_buffer_slice(&key)).size, 1 + 4);
    pt_buffer_free(&key);
    pt_buffer_free(&other);
}

static void bounds_enclose_the_keys_of_a_partition(void **state)
{
    (void)state;
    static const uint32_t ids[] = {1, PT_KEY_SMALL_TABLE + 1, PT_TABLE_ID_LIMIT - 1};
    static const char *const rows[] = {"", "\x01", "a", "\xF4\x8F\xBF\xBF"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        pt_buffer low = {0};
        pt_buffer high = {0};
        pt_buffer key = {0};
        pt_key_bound_partition(&low, ids[i], pt_slice_text("p"), PT_KEY_PARTITION_START);
        pt_key_bound_partition(&high, ids[i], pt_slice_text("p"), PT_KEY_PARTITION_END);
        for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
            pt_key_begin(&key, ids[i]);
            pt_key_append(&key, pt_slice_text("p"), pt_slice_text(rows[row]));
            assert_true(pt_slice_compare(pt_buffer_slice(&low), pt_buffer_slice(&key)) <= 0);
            assert_true(pt_slice_compare(pt_buffer_slice(&key), pt_buffer_slice(&high)) < 0);
        }
        pt_key_begin(&key, ids[i]);
        pt_key_append(&key, pt_slice_text("p\x01"), (pt_slice){0});
        assert_true(pt_slice_compare(pt_buffer_slice(&key), pt_buffer_slice(&high)) > 0);
        pt_key_begin(&key, ids[i]);
        pt_key_append(&key, pt_slice_text("o\x7F"), pt_slice_text("z"));
        assert_true(pt_slice_compare(pt_buffer_slice(&key), pt_buffer_slice(&low)) < 0);
        pt_buffer_free(&low);
        pt_buffer_free(&high);
        pt_buffer_free(&key);
    }
}

static void every_code_point_but_nul_is_valid(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point <= LAST_CODE_POINT; code_point++) {
        uint8_t bytes[6] = {'x'};
        size_t size = encode(code_point, bytes + 1);
        bytes[size + 1] = 'y';
        bool expected = code_point != 0 && !is_surrogate(code_point);
        assert_int_equal(pt_key_is_valid_text(pt_slice_of(bytes, size + 2)), expected);
    }
    assert_true(pt_key_is_valid_text((pt_slice){0}));
}

/* Long texts are looked at several bytes at a time. */
static void one_byte_makes_a_long_text_invalid(void **state)
{
    (void)state;
    enum { LONGEST = 40 };
    static const uint8_t wrong[] = {0x00, 0x80, 0xC3, 0xFF};
    for (size_t size = 1; size <= LONGEST; size++) {
        uint8_t bytes[LONGEST];
        memset(bytes, 0x7F, size);
        assert_true(pt_key_is_valid_text(pt_slice_of(bytes, size)));
        for (size_t at = 0; at < size; at++) {
            for (size_t i = 0; i < sizeof wrong; i++) {
                bytes[at] = wrong[i];
                assert_false(pt_key_is_valid_text(pt_slice_of(bytes, size)));
            }
            bytes[at] = 0x01;
            assert_true(pt_key_is_valid_text(pt_slice_of(bytes, size)));
            if (at + 1 < size) {
                memcpy(bytes + at, "\xC3\xA9", 2);
                assert_true(pt_key_is_valid_text(pt_slice_of(bytes, size)));
                bytes[at + 1] = 0x7F;
            }
            bytes[at] = 0x7F;
        }
    }
}

/* Marks what `encode` makes of all code points; whatever else has that many bytes is invalid. */
static void other_sequences_are_invalid(void **state)
{
    (void)state;
    uint8_t *marked = calloc(1 << 24, 1);
    assert_non_null(marked);
    for (uint32_t code_point = 1; code_point < 0x10000; code_point++) {
        uint8_t bytes[4];
        size_t size = encode(code_point, bytes);
        uint32_t index = 0;
        for (size_t i = 0; i < size; i++) {
            index = index << 8 | bytes[i];
        }
        marked[index] = !is_surrogate(code_point);
    }
    for (uint32_t index = 0; index < 1 << 24; index++) {
        uint8_t bytes[3] = {(uint8_t)(index >> 16), (uint8_t)(index >> 8), (uint8_t)index};
        size_t size = index < 1 << 8 ? 1 : index < 1 << 16 ? 2 : 3;
        if (size > 1 && bytes[3 - size] < 0x80) {
            continue; /* starts with a complete character */
        }
        if (size == 3 && bytes[0] >= 0xC2 && bytes[0] < 0xE0) {
            continue; /* decided by the first two bytes */
        }
        if (pt_key_is_valid_text(pt_slice_of(bytes + 3 - size, size)) != (marked[index] != 0)) {
            fail_msg("%06x", index);
        }
    }
    free(marked);
}

static void four_byte_sequences_have_tight_bounds(void **state)
{
    (void)state;
    static const uint8_t edges[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
    enum { EDGES = sizeof edges };
    for (unsigned lead = 0xF0; lead <= 0xFF; lead++) {
        for (unsigned i = 0; i < EDGES * EDGES * EDGES; i++) {
            uint8_t bytes[4] = {(uint8_t)lead, edges[i / EDGES / EDGES], edges[i / EDGES % EDGES],
                                edges[i % EDGES]};
            uint32_t code_point = (lead - 0xF0) * 262144 + (bytes[1] - 0x80u) % 64 * 4096 +
                                  (bytes[2] - 0x80u) % 64 * 64 + (bytes[3] - 0x80u) % 64;
            uint8_t again[4];
            bool expected = code_point >= 0x10000 && code_point <= LAST_CODE_POINT &&
                            encode(code_point, again) == 4 && memcmp(bytes, again, 4) == 0;
            assert_int_equal(pt_key_is_valid_text(pt_slice_of(bytes, 4)), expected);
        }
    }
}

static void sequences_cut_off_are_invalid(void **state)
{
    (void)state;
    static const uint32_t code_points[] = {0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, LAST_CODE_POINT};
    for (unsigned i = 0; i < sizeof code_points / sizeof code_points[0]; i++) {
        uint8_t bytes[4];
        size_t size = encode(code_points[i], bytes);
        for (size_t cut = 1; cut < size; cut++) {
            uint8_t *exact = malloc(cut);
            assert_non_null(exact);
            memcpy(exact, bytes, cut);
            assert_false(pt_key_is_valid_text(pt_slice_of(exact, cut)));
            free(exact);
        }
    }
}

/* The end of the prefix "a" + code point is "a" + the next code point. */
static void the_last_character_is_raised_by_one(void **state)
{
    (void)state;
    pt_buffer end = {0};
    for (uint32_t code_point = 1; code_point < LAST_CODE_POINT; code_point++) {
        if (is_surrogate(code_point)) {
            continue;
        }
        uint8_t prefix[5] = {'a'};
        uint8_t expected[5] = {'a'};
        uint32_t next = code_point == 0xD7FF ? 0xE000 : code_point + 1;
        size_t size = 1 + encode(code_point, prefix + 1);
        size_t expected_size = 1 + encode(next, expected + 1);
        assert_true(pt_key_prefix_end(pt_slice_of(prefix, size), &end));
        assert_true(pt_slice_equal(pt_buffer_slice(&end), pt_slice_of(expected, expected_size)));
    }
    pt_buffer_free(&end);
}

static void trailing_last_code_points_are_dropped(void **state)
{
    (void)state;
    pt_buffer end = {0};
    assert_true(pt_key_prefix_end(pt_slice_text("a\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF"), &end));
    assert_true(pt_slice_equal(pt_buffer_slice(&end), pt_slice_text("b")));
    assert_true(pt_key_prefix_end(pt_slice_text("\xF4\x8F\xBF\xBE\xF4\x8F\xBF\xBF"), &end));
    assert_true(pt_slice_equal(pt_buffer_slice(&end), pt_slice_text("\xF4\x8F\xBF\xBF")));
    assert_true(pt_key_prefix_end(pt_slice_of("a\0", 2), &end));
    assert_true(pt_slice_equal(pt_buffer_slice(&end), pt_slice_text("a\x01")));
    assert_false(pt_key_prefix_end(pt_slice_text(""), &end));
    assert_false(pt_key_prefix_end((pt_slice){0}, &end));
    assert_false(pt_key_prefix_end(pt_slice_text("\xF4\x8F\xBF\xBF\xF4\x8F\xBF\xBF"), &end));
    pt_buffer_free(&end);
}

enum { LETTERS = 11, TEXTS = 1 + LETTERS + LETTERS * LETTERS + LETTERS * LETTERS * LETTERS };

static const char *const letters[LETTERS] = {
    "\x01",
    "a",
    "b",
    "\x7F",
    "\xC2\x80",
    "\xDF\xBF",
    "\xE0\xA0\x80",
    "\xED\x9F\xBF",
    "\xEE\x80\x80",
    "\xEF\xBF\xBF",
    "\xF4\x8F\xBF\xBF",
};

/* All texts of up to three letters. */
static void make_texts(char texts[TEXTS][16])
{
    unsigned count = 1;
    texts[0][0] = 0;
    for (unsigned from = 0, to = 1; count < TEXTS; from = to, to = count) {
        for (unsigned i = from; i < to; i++) {
            for (unsigned letter = 0; letter < LETTERS; letter++) {
                char *made = texts[count++];
                memcpy(made, texts[i], sizeof texts[i]);
                strcat(made, letters[letter]);
            }
        }
    }
}

static void exactly_the_texts_with_the_prefix_lie_before_its_end(void **state)
{
    (void)state;
    static char texts[TEXTS][16];
    make_texts(texts);
    pt_buffer end = {0};
    for (unsigned i = 0; i < TEXTS; i++) {
        pt_slice prefix = pt_slice_text(texts[i]);
        bool bounded = pt_key_prefix_end(prefix, &end);
        assert_true(!bounded || pt_key_is_valid_text(pt_buffer_slice(&end)));
        for (unsigned k = 0; k < TEXTS; k++) {
            pt_slice text = pt_slice_text(texts[k]);
            bool within = pt_slice_compare(text, prefix) >= 0 &&
                          (!bounded || pt_slice_compare(text, pt_buffer_slice(&end)) < 0);
            if (within != pt_slice_has_prefix(text, prefix)) {
                fail_msg("prefix %s, text %s", texts[i], texts[k]);
            }
        }
    }
    pt_buffer_free(&end);
}

/* Bytes that are no UTF-8 are the caller's mistake, but no other memory is touched. */
static void a_malformed_prefix_does_no_harm(void **state)
{
    (void)state;
    pt_buffer end = {0};
    for (uint32_t pattern = 0; pattern < 1 << 16; pattern += 7) {
        uint8_t *exact = malloc(2);
        assert_non_null(exact);
        exact[0] = (uint8_t)(pattern >> 8);
        exact[1] = (uint8_t)pattern;
        if (pt_key_prefix_end(pt_slice_of(exact, 2), &end)) {
            assert_true(end.size >= 1 && end.size <= 5);
        }
        free(exact);
    }
    pt_buffer_free(&end);
}

static void running_out_of_memory_shows_in_the_buffer(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    failing_malloc_arm(0, false);
    pt_key_append(&buffer, pt_slice_text("Sales"), pt_slice_text("000223"));
    assert_true(failing_malloc_disarm());
    assert_true(buffer.failed);
    pt_buffer_clear(&buffer);
    failing_malloc_arm(0, false);
    pt_key_prefix_end(pt_slice_text("Sales"), &buffer);
    assert_true(failing_malloc_disarm());
    assert_true(buffer.failed);
    pt_buffer_free(&buffer);
}

static void a_logical_key_begins_with_the_table(void **state)
{
    (void)state;
    pt_buffer key = {0};
    pt_buffer_append_text(&key, "what was there before");
    pt_key_begin(&key, 0x01020304);
    pt_key_append(&key, pt_slice_text("p"), pt_slice_text("r"));
    assert_false(key.failed);
    assert_int_equal(key.size, 8);
    assert_memory_equal(key.data, "\xF1\1\2\3\4p\0r", 8);
    pt_buffer_free(&key);
    for (uint32_t table = 1; table < 0x01000000; table *= 0x100) {
        failing_malloc_arm(0, true);
        pt_key_begin(&key, table);
        assert_true(failing_malloc_disarm());
        assert_true(key.failed);
        failing_malloc_arm(0, true);
        pt_key_begin_after(&key, table);
        assert_true(failing_malloc_disarm());
        assert_true(key.failed);
    }
}

/* --- Table ids --- */

/* Ids and their bytes in ascending order; those where the size changes are neighbours. */
static const struct {
    uint32_t table;
    size_t size;
    const char *bytes;
} ids[] = {
    {PT_TABLE_CATALOG, 1, "\0"},
    {1, 1, "\1"},
    {0x7F, 1, "\x7F"},
    {0xEE, 1, "\xEE"},
    {0xEF, 1, "\xEF"},
    {0xF0, 3, "\xF0\0\xF0"},
    {0xFE, 3, "\xF0\0\xFE"},
    {0xFF, 3, "\xF0\0\xFF"},
    {0x100, 3, "\xF0\1\0"},
    {0xFFFE, 3, "\xF0\xFF\xFE"},
    {0xFFFF, 3, "\xF0\xFF\xFF"},
    {0x10000, 5, "\xF1\0\1\0\0"},
    {0x1FFFF, 5, "\xF1\0\1\xFF\xFF"},
    {0x00FFFFFF, 5, "\xF1\0\xFF\xFF\xFF"},
    {0x01020304, 5, "\xF1\1\2\3\4"},
    {PT_TABLE_ID_LIMIT - 1, 5, "\xF1\xFE\xFF\xFF\xFF"},
    {PT_TABLE_GARBAGE, 1, "\xFE"},
    {PT_TABLE_CHUNKS, 1, "\xFF"},
};

enum { IDS = sizeof ids / sizeof ids[0] };

static void table_ids_have_these_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < IDS; i++) {
        uint8_t bytes[PT_KEY_TABLE_MAX];
        uint32_t table = ids[i].table ^ 1;
        pt_slice expected = pt_slice_of(ids[i].bytes, ids[i].size);
        assert_int_equal(pt_key_put_table(bytes, ids[i].table), ids[i].size);
        assert_memory_equal(bytes, ids[i].bytes, ids[i].size);
        assert_true(pt_key_has_table(expected));
        assert_int_equal(pt_key_table_size(expected), ids[i].size);
        assert_int_equal(pt_key_table(expected), ids[i].table);
        assert_int_equal(pt_key_read_table(expected, &table), ids[i].size);
        assert_int_equal(table, ids[i].table);
        for (size_t size = 0; size < ids[i].size; size++) {
            uint8_t *exact = malloc(size + 1); /* nothing after the bytes may be read */
            assert_non_null(exact);
            memcpy(exact + 1, ids[i].bytes, size);
            assert_false(pt_key_has_table(pt_slice_of(exact + 1, size)));
            assert_int_equal(pt_key_read_table(pt_slice_of(exact + 1, size), &table), 0);
            free(exact);
        }
    }
}

/* The order of the numbers, and no id begins another one. */
static int order_of_ids(uint32_t a, uint32_t b)
{
    pt_key_start first = pt_key_start_of_table(a);
    pt_key_start second = pt_key_start_of_table(b);
    assert_int_equal(pt_slice_has_prefix(pt_key_start_slice(&first), pt_key_start_slice(&second)),
                     a == b);
    return pt_slice_compare(pt_key_start_slice(&first), pt_key_start_slice(&second));
}

static void assert_order_of_ids(uint32_t a, uint32_t b)
{
    int order = order_of_ids(a, b);
    assert_int_equal(order < 0, a < b);
    assert_int_equal(order > 0, a > b);
}

static void table_ids_are_ordered_as_numbers(void **state)
{
    (void)state;
    uint64_t seed = 20261122;
    for (int i = 0; i < IDS; i++) {
        for (int k = 0; k < IDS; k++) {
            assert_order_of_ids(ids[i].table, ids[k].table);
        }
    }
    for (uint32_t table = 0; table < 0x20000; table++) {
        assert_order_of_ids(table, table + 1);
    }
    for (int round = 0; round < 100000; round++) {
        uint32_t pair[2];
        for (int i = 0; i < 2; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            pair[i] = (uint32_t)(seed >> 32) >> (seed >> 27 & 31);
            pair[i] = pair[i] < PT_TABLE_ID_LIMIT ? pair[i] : PT_TABLE_ID_LIMIT - 1;
        }
        assert_order_of_ids(pair[0], pair[1]);
    }
}

static void table_ids_are_written_in_one_way(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        const char *bytes;
    } wrong[] = {
        {3, "\xF0\0\0"},       {3, "\xF0\0\1"},       {3, "\xF0\0\xEF"},
        {5, "\xF1\0\0\0\1"},   {5, "\xF1\0\0\0\xF0"}, {5, "\xF1\0\0\xFF\xFF"},
        {5, "\xF1\xFF\0\0\0"}, {5, "\xF1\xFF\0\0\1"}, {5, "\xF1\xFF\xFF\xFF\xFF"},
        {5, "\xF2\0\0\0\0"},   {5, "\xF3\1\1\1\1"},   {5, "\xFD\xFF\xFF\xFF\xFF"},
    };
    uint32_t table;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pt_slice bytes = pt_slice_of(wrong[i].bytes, wrong[i].size);
        assert_int_equal(pt_key_read_table(bytes, &table), 0);
        assert_true(pt_key_table_size(bytes) <= bytes.size); /* and reading it does no harm */
    }
    assert_int_equal(pt_key_table(pt_slice_text("\xF2")), UINT32_MAX);
}

/* All keys of a table, and no others, lie between its start and the position after it. */
static void a_table_ends_before_the_next_one(void **state)
{
    (void)state;
    pt_buffer after = {0};
    pt_buffer last = {0};
    for (int i = 0; i < IDS - 1; i++) {
        uint32_t table = ids[i].table;
        pt_key_begin_after(&after, table);
        logical_key(&last, table, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "\xFF");
        assert_true(pt_slice_compare(pt_buffer_slice(&last), pt_buffer_slice(&after)) < 0);
        pt_key_begin(&last, table == PT_TABLE_GARBAGE ? PT_TABLE_CHUNKS : table + 1);
        assert_true(pt_slice_compare(pt_buffer_slice(&last), pt_buffer_slice(&after)) >= 0);
        /* Not even damaged keys lie between: what is not below the end has another start. */
        pt_key_start start = pt_key_start_of_table(table);
        assert_false(pt_slice_has_prefix(pt_buffer_slice(&after), pt_key_start_slice(&start)));
        assert_true(after.size <= start.size);
    }
    pt_buffer_free(&after);
    pt_buffer_free(&last);
}

static void parts_and_garbage_belong_to_a_table(void **state)
{
    (void)state;
    for (int i = 0; i < IDS; i++) {
        uint32_t table = ids[i].table;
        bool is_table = table < PT_TABLE_ID_LIMIT;
        uint32_t read = table ^ 1;
        pt_key_start chunks = pt_key_start_of_chunks(table);
        pt_key_start garbage = pt_key_start_of_garbage(table);
        pt_slice key = pt_key_start_slice(&chunks);
        assert_int_equal(key.size, 1 + ids[i].size);
        assert_int_equal(key.data[0], 0xFF);
        assert_memory_equal(key.data + 1, ids[i].bytes, ids[i].size);
        assert_int_equal(pt_key_read_chunks(key, &read), is_table ? key.size : 0);
        assert_int_equal(read, table);
        assert_int_equal(pt_key_read_garbage(key, &read), 0);
        key = pt_key_start_slice(&garbage);
        assert_int_equal(key.data[0], 0xFE);
        assert_memory_equal(key.data + 1, ids[i].bytes, ids[i].size);
        assert_int_equal(pt_key_read_garbage(key, &read), is_table ? key.size : 0);
        assert_int_equal(pt_key_read_garbage(pt_slice_of(key.data, key.size - 1), &read), 0);
        assert_int_equal(pt_key_read_chunks(key, &read), 0);
        if (is_table) {
            pt_key_start after = pt_key_start_after(chunks);
            assert_true(pt_slice_compare(pt_key_start_slice(&chunks), pt_key_start_slice(&after)) <
                        0);
            assert_int_equal(after.bytes[0], 0xFF);
        }
    }
    uint32_t read;
    assert_int_equal(pt_key_read_garbage(pt_slice_text("\xFE\1x"), &read), 0);
    assert_int_equal(pt_key_read_garbage(pt_slice_text(""), &read), 0);
    assert_int_equal(pt_key_read_chunks(pt_slice_text("\1\1"), &read), 0);
    assert_int_equal(pt_key_read_chunks(pt_slice_text("\xFF\1x"), &read), 2);
}

/* Every function for logical keys with ids of every size. */
static void keys_of_every_table_are_read_alike(void **state)
{
    (void)state;
    pt_buffer buffer = {0};
    for (int i = 0; i < IDS; i++) {
        pt_slice key = logical_key(&buffer, ids[i].table, "pk", "rk");
        assert_int_equal(key.size, ids[i].size + 5);
        assert_true(pt_slice_equal(pt_key_entity(key), pt_slice_of("pk\0rk", 5)));
        pt_keys keys = pt_keys_of(key);
        assert_true(pt_slice_equal(keys.partition, pt_slice_text("pk")));
        assert_true(pt_slice_equal(keys.row, pt_slice_text("rk")));
        pt_slice partition = pt_key_partition(key);
        assert_int_equal(partition.size, ids[i].size + 2);
        assert_true(pt_key_is_in_partition(key, partition));
    }
    pt_buffer_free(&buffer);
}

/* --- Row ids --- */

#define KEY(literal) pt_slice_of(literal, sizeof(literal) - 1)

static void assert_row_id(pt_slice key, const char *row_id)
{
    pt_buffer text = {0};
    assert_true(pt_buffer_assign(&text, pt_slice_text("before ")));
    assert_true(pt_key_append_row_id(&text, key));
    pt_slice made = pt_slice_of(text.data + 7, text.size - 7);
    assert_true(pt_slice_equal(made, pt_slice_text(row_id)));
    uint8_t back[64];
    size_t size = pt_key_from_row_id(made, back);
    assert_true(pt_slice_equal(pt_slice_of(back, size), key));
    pt_buffer_free(&text);
}

static void a_row_id_spells_the_key(void **state)
{
    (void)state;
    assert_row_id(KEY("\0"), "/");
    assert_row_id(KEY("p\0r"), "p/r");
    assert_row_id(KEY("\0r"), "/r");
    assert_row_id(KEY("p\0"), "p/");
    assert_row_id(KEY("AZaz\0"
                      "09-._~"),
                  "AZaz/09-._~");
    assert_row_id(KEY("a/b\0%2F"), "a%2Fb/%252F");
    assert_row_id(KEY("it's\0\"x\" y"), "it%27s/%22x%22%20y");
    assert_row_id(KEY("\xC3\xA9\0\x01\x7F"), "%C3%A9/%01%7F");
    assert_row_id(KEY("@[`{\0/:,^"), "%40%5B%60%7B/%2F%3A%2C%5E");
}

static void every_byte_of_a_key_comes_back(void **state)
{
    (void)state;
    for (unsigned byte = 1; byte < 256; byte++) {
        const uint8_t key[] = {(uint8_t)byte, 0, (uint8_t)byte};
        pt_buffer text = {0};
        assert_true(pt_key_append_row_id(&text, pt_slice_of(key, sizeof key)));
        bool plain = text.size == 3;
        assert_true(plain || text.size == 7);
        assert_true(plain == (strchr("0123456789-._~", (int)byte) != NULL ||
                              ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z')));
        uint8_t back[7];
        assert_int_equal(pt_key_from_row_id(pt_buffer_slice(&text), back), sizeof key);
        assert_memory_equal(back, key, sizeof key);
        pt_buffer_free(&text);
    }
}

static void another_spelling_is_no_row_id(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "p",     "p/r/",  "//",    "p%2fr/",  "p/%61",
                                        "p/%",   "p/%2",  "p/%2G", "p/%G2", "p/ ",     "p/\xC3\xA9",
                                        "p/%00", "%00/r", "p/%7E", "p/r%",  "_rowid_", "p%2Fr",
                                        "p/%:0", "p/%0:", "p/%@1"};
    uint8_t key[16];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (pt_key_from_row_id(pt_slice_text(texts[i]), key) != 0) {
            fail_msg("'%s' is taken for a row id", texts[i]);
        }
    }
    assert_int_equal(pt_key_from_row_id(KEY("p/r\0"), key), 0);
    assert_int_equal(pt_key_from_row_id(KEY("p\0r"), key), 0);
    assert_int_equal(pt_key_from_row_id(pt_slice_of("p/r%2F", 5), key), 0);
}

static void a_row_id_needs_a_key_and_memory(void **state)
{
    (void)state;
    pt_buffer text = {0};
    assert_false(pt_key_append_row_id(&text, KEY("p")));
    assert_false(pt_key_append_row_id(&text, KEY("")));
    assert_false(text.failed);
    failing_malloc_arm(0, true);
    assert_true(pt_key_append_row_id(&text, KEY("p\0r")));
    assert_true(failing_malloc_disarm());
    assert_true(text.failed);
    pt_buffer_free(&text);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_order_is_partition_then_row_order),
        cmocka_unit_test(appended_keys_split_again),
        cmocka_unit_test(splitting_takes_the_first_nul),
        cmocka_unit_test(a_logical_key_begins_with_the_table),
        cmocka_unit_test(table_ids_have_these_bytes),
        cmocka_unit_test(table_ids_are_ordered_as_numbers),
        cmocka_unit_test(table_ids_are_written_in_one_way),
        cmocka_unit_test(a_table_ends_before_the_next_one),
        cmocka_unit_test(parts_and_garbage_belong_to_a_table),
        cmocka_unit_test(keys_of_every_table_are_read_alike),
        cmocka_unit_test(a_logical_key_gives_both_keys),
        cmocka_unit_test(a_partition_is_told_from_its_neighbours),
        cmocka_unit_test(bounds_enclose_the_keys_of_a_partition),
        cmocka_unit_test(every_code_point_but_nul_is_valid),
        cmocka_unit_test(one_byte_makes_a_long_text_invalid),
        cmocka_unit_test(other_sequences_are_invalid),
        cmocka_unit_test(four_byte_sequences_have_tight_bounds),
        cmocka_unit_test(sequences_cut_off_are_invalid),
        cmocka_unit_test(the_last_character_is_raised_by_one),
        cmocka_unit_test(trailing_last_code_points_are_dropped),
        cmocka_unit_test(exactly_the_texts_with_the_prefix_lie_before_its_end),
        cmocka_unit_test(a_malformed_prefix_does_no_harm),
        cmocka_unit_test(running_out_of_memory_shows_in_the_buffer),
        cmocka_unit_test(a_row_id_spells_the_key),
        cmocka_unit_test(every_byte_of_a_key_comes_back),
        cmocka_unit_test(another_spelling_is_no_row_id),
        cmocka_unit_test(a_row_id_needs_a_key_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
