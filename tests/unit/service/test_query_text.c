#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sqlite.h"
#include "base/text.h"
#include "entity/key.h"
#include "service/query_text.h"

#define EMOJI "\xF0\x9F\x98\x80" /* U+1F600: in UTF-16 its first unit is D83D */
#define PRIVATE "\xEE\x80\x80"   /* U+E000 */
#define BELOW "\xED\x9F\xBF"     /* U+D7FF */

static pt_slice slice(const char *text)
{
    return pt_slice_text(text);
}

static void expect_filter(const pt_key_span *span, const pt_key_condition *rows,
                          const char *expected)
{
    pt_buffer filter = {0};
    pt_query_append_filter(&filter, span, rows);
    pt_buffer_append_byte(&filter, 0);
    assert_string_equal((char *)filter.data, expected);
    pt_buffer_free(&filter);
}

/* The filter of a partition's RowKeys from `low`, below `high`. */
static void expect_rows(pt_slice low, const pt_slice *high, const char *expected)
{
    pt_key_span span = {.one = true, .partition = slice("p"), .keys = {.low = low}};
    if (high != NULL) {
        span.keys.high = *high;
        span.keys.bounded = true;
    }
    char *whole =
        sqlite3_mprintf("PartitionKey eq 'p'%s%s", *expected != 0 ? " and " : "", expected);
    expect_filter(&span, NULL, whole);
    sqlite3_free(whole);
}

static void expect_high(const char *high, size_t size, const char *expected)
{
    pt_slice bound = pt_slice_of(high, size);
    expect_rows((pt_slice){0}, &bound, expected);
}

static void keys_are_encoded_in_urls(void **state)
{
    (void)state;
    pt_buffer url = {0};
    pt_query_append_keys(&url, slice("o'c{^@"), slice("a b%~-_.Z9" EMOJI));
    pt_buffer_append_byte(&url, 0);
    assert_string_equal((char *)url.data,
                        "(PartitionKey='o%27%27c%7B%5E%40',RowKey='a%20b%25~-_.Z9%F0%9F%98%80')");
    pt_buffer_free(&url);
    assert_true(pt_query_has_url(slice(""), slice("a b%" EMOJI)));
    assert_false(pt_query_has_url(slice("a/b"), slice("")));
    assert_false(pt_query_has_url(slice(""), slice("a?")));
    assert_false(pt_query_has_url(slice("a\x01"), slice("")));
    assert_false(pt_query_has_url(slice("\xFF"), slice("")));
    assert_false(pt_query_has_url(slice(""), slice("\xFF")));
}

static void bounds_become_comparisons(void **state)
{
    (void)state;
    expect_rows(slice(""), NULL, "");
    expect_rows(slice("a'b"), NULL, "RowKey ge 'a''b'");
    expect_rows(slice("a\x01"), NULL, "RowKey gt 'a'");
    expect_rows(pt_slice_of("a\0", 2), NULL, "RowKey gt 'a'");
    expect_rows(slice("\x01"), NULL, "RowKey gt ''");
    expect_high("b", 1, "RowKey lt 'b'");
    expect_high("b\x01", 2, "RowKey le 'b'");
    expect_high("b\0", 2, "RowKey le 'b'");
    expect_high("b\xFF", 2, "RowKey lt 'c'");
    expect_high("b'\xFF", 3, "RowKey lt 'b('");
}

static void bounds_are_cut_before_characters_that_compare_otherwise(void **state)
{
    (void)state;
    expect_rows(slice("a" EMOJI "b"), NULL, "RowKey ge 'a'");
    expect_rows(slice("a" PRIVATE "\x01"), NULL, "RowKey ge 'a'");
    expect_rows(slice(EMOJI), NULL, "");
    expect_rows(slice("a\x07"
                      "b"),
                NULL, "RowKey ge 'a'");
    expect_high("a" EMOJI, 5, "RowKey lt 'b'");
    expect_high("a~" PRIVATE, 5, "RowKey lt 'a\xC2\xA0'");
    expect_high("a" BELOW EMOJI, 8, "RowKey lt 'b'");
    expect_high(BELOW EMOJI, 7, "");
    expect_high(EMOJI, 4, "");
    expect_high("a\x7F", 2, "RowKey lt 'b'");
    expect_rows(slice(BELOW), NULL, "RowKey ge '" BELOW "'");
}

/* A URL must not become too long. */
static void long_bounds_are_cut(void **state)
{
    (void)state;
    char bound[1002];
    char expected[500];
    memset(bound, 'x', sizeof bound - 1);
    bound[sizeof bound - 1] = 0;
    snprintf(expected, sizeof expected, "RowKey ge '%.400s'", bound);
    expect_rows(slice(bound), NULL, expected);
    snprintf(expected, sizeof expected, "RowKey lt '%.399sy'", bound);
    expect_high(bound, sizeof bound - 1, expected);
}

static void points_are_compared_with_eq(void **state)
{
    (void)state;
    pt_key_span span = {.one = true,
                        .partition = slice("p" EMOJI),
                        .keys = {.low = slice("a/b"), .high = slice("a/b\x01"), .bounded = true}};
    pt_slice row;
    assert_true(pt_query_is_point(&span, &row));
    assert_true(pt_slice_equal(row, slice("a/b")));
    expect_filter(&span, NULL, "PartitionKey eq 'p" EMOJI "' and RowKey eq 'a/b'");
    span.partition = slice("p\x02");
    expect_filter(&span, NULL, "PartitionKey ge 'p' and PartitionKey lt 'q' and RowKey eq 'a/b'");
    span.partition = slice("p\xC2\x85");
    expect_filter(&span, NULL, "PartitionKey ge 'p' and PartitionKey lt 'q' and RowKey eq 'a/b'");
    span.partition = slice("p\xFF");
    expect_filter(&span, NULL, "PartitionKey ge 'p' and PartitionKey lt 'q' and RowKey eq 'a/b'");
    span.keys.high = slice("a/b\x02");
    assert_false(pt_query_is_point(&span, &row));
}

static void conditions_on_rows_go_with_partitions(void **state)
{
    (void)state;
    pt_key_span all = {0};
    pt_key_span some = {.keys = {.low = slice("p"), .high = slice("q\x01"), .bounded = true}};
    pt_key_condition range = {.interval = {.low = slice("1"), .high = slice("2"), .bounded = true}};
    pt_slice points[] = {slice("a"), slice("b'"), slice("c"), slice("d"), slice("e")};
    pt_key_condition few = {.points = points, .point_count = 2, .listed = true};
    pt_key_condition many = {.points = points, .point_count = 5, .listed = true};
    expect_filter(&all, NULL, "");
    expect_filter(&all, &range, "RowKey ge '1' and RowKey lt '2'");
    expect_filter(
        &some, &range,
        "PartitionKey ge 'p' and PartitionKey le 'q' and RowKey ge '1' and RowKey lt '2'");
    expect_filter(&all, &few, "((RowKey eq 'a') or (RowKey eq 'b'''))");
    expect_filter(&some, &few,
                  "PartitionKey ge 'p' and PartitionKey le 'q' and ((RowKey eq 'a') or (RowKey eq "
                  "'b'''))");
    expect_filter(&all, &many, "RowKey ge 'a' and RowKey le 'e'");
    points[4] = slice("e" EMOJI);
    expect_filter(&all, &many, "RowKey ge 'a' and RowKey lt 'f'");
}

static int split(const char *low, size_t low_size, const char *high, size_t high_size,
                 pt_key_span spans[PT_KEY_SPANS_MAX])
{
    static pt_buffer bound;
    pt_interval range = {.low = pt_slice_of(low, low_size)};
    if (high != NULL) {
        range.high = pt_slice_of(high, high_size);
        range.bounded = true;
    }
    return pt_query_split(&range, &bound, spans);
}

static void ranges_are_split_at_partitions(void **state)
{
    (void)state;
    pt_key_span spans[PT_KEY_SPANS_MAX];
    assert_int_equal(split("", 0, NULL, 0, spans), 1);
    expect_filter(&spans[0], NULL, "");
    assert_int_equal(split("p\0a", 3, "p\0b\x01", 4, spans), 1);
    expect_filter(&spans[0], NULL, "PartitionKey eq 'p' and RowKey ge 'a' and RowKey le 'b'");
    assert_int_equal(split("p\0", 2, "p\x01", 2, spans), 1);
    expect_filter(&spans[0], NULL, "PartitionKey eq 'p'");
    assert_int_equal(split("p\0a\0", 4, NULL, 0, spans), 2);
    expect_filter(&spans[0], NULL, "PartitionKey eq 'p' and RowKey gt 'a'");
    expect_filter(&spans[1], NULL, "PartitionKey gt 'p'");
    assert_int_equal(split("p\0a", 3, "r\0b", 3, spans), 3);
    expect_filter(&spans[0], NULL, "PartitionKey eq 'p' and RowKey ge 'a'");
    expect_filter(&spans[1], NULL, "PartitionKey gt 'p' and PartitionKey lt 'r'");
    expect_filter(&spans[2], NULL, "PartitionKey eq 'r' and RowKey lt 'b'");
    assert_int_equal(split("p", 1, "r\0", 2, spans), 1);
    expect_filter(&spans[0], NULL, "PartitionKey ge 'p' and PartitionKey lt 'r'");
}

/* --- Random bounds --- */

enum { RANDOM_CASES = 200000, TEXT_MAX = 5 };

static uint32_t random_character(void)
{
    static const uint32_t characters[] = {'\'',   'a',    'b',    '~',     0xA0,    0xD7FE,
                                          0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x1F600, 0x10FFFF};
    return characters[(size_t)random() % (sizeof characters / sizeof characters[0])];
}

static pt_slice random_key(uint8_t bytes[4 * TEXT_MAX])
{
    uint8_t *end = bytes;
    for (long i = random() % TEXT_MAX; i > 0; i--) {
        end = pt_utf8_put(end, random_character());
    }
    return pt_slice_of(bytes, (size_t)(end - bytes));
}

/* Compares two texts by their UTF-16 units. */
static int compare_units(pt_slice a, pt_slice b)
{
    size_t i = 0;
    while (i < a.size && i < b.size && a.data[i] == b.data[i]) {
        i++;
    }
    if (i == a.size || i == b.size) {
        return (a.size > b.size) - (a.size < b.size);
    }
    while (i > 0 && (a.data[i] & 0xC0) == 0x80) {
        i--;
    }
    uint32_t x = pt_utf8_decode(a.data + i, pt_utf8_size(pt_slice_of(a.data + i, a.size - i)));
    uint32_t y = pt_utf8_decode(b.data + i, pt_utf8_size(pt_slice_of(b.data + i, b.size - i)));
    bool x_pair = x > 0xFFFF;
    bool y_pair = y > 0xFFFF;
    if (x_pair != y_pair) {
        return x_pair ? (y >= 0xE000 ? -1 : 1) : (x >= 0xE000 ? 1 : -1);
    }
    return x < y ? -1 : 1;
}

/* Judges `column op 'constant' and ...` as the service does. */
static bool service_finds(const char *filter, pt_slice key, bool units)
{
    bool found = true;
    while ((filter = strstr(filter, "RowKey ")) != NULL) {
        const char *op = filter + strlen("RowKey ");
        uint8_t constant[200];
        size_t size = 0;
        const char *c = op + 4;
        for (; *c != '\'' || c[1] == '\''; c++) {
            c += *c == '\'';
            constant[size++] = (uint8_t)*c;
        }
        pt_slice bound = pt_slice_of(constant, size);
        int order = units ? compare_units(key, bound) : pt_slice_compare(key, bound);
        bool holds = (op[0] == 'g' && order > 0) || (op[0] == 'l' && order < 0) ||
                     ((op[1] == 'e' || op[0] == 'e') && order == 0);
        found = found && holds;
        filter = c;
    }
    return found;
}

static void no_order_of_the_service_loses_a_row(void **state)
{
    (void)state;
    srandom(7);
    long inside = 0;
    for (int i = 0; i < RANDOM_CASES; i++) {
        uint8_t low[4 * TEXT_MAX + 1];
        uint8_t high[4 * TEXT_MAX + 1];
        uint8_t other[4 * TEXT_MAX];
        static const uint8_t ends[] = {0x00, 0x01, 0xFF};
        pt_key_span span = {.one = true, .partition = slice("p"), .keys = {.bounded = true}};
        span.keys.low = random_key(low);
        span.keys.high = random_key(high);
        if (random() % 2 == 0) {
            low[span.keys.low.size++] = ends[random() % 2];
        }
        if (random() % 2 == 0) {
            high[span.keys.high.size++] = ends[random() % 3];
        }
        pt_slice key = random_key(other);
        if (!pt_query_holds(&span, NULL, slice("p"), key)) {
            continue;
        }
        inside++;
        pt_buffer filter = {0};
        pt_query_append_filter(&filter, &span, NULL);
        pt_buffer_append_byte(&filter, 0);
        if (!service_finds((char *)filter.data, key, true) ||
            !service_finds((char *)filter.data, key, false)) {
            fail_msg("%s loses %.*s", filter.data, (int)key.size, key.data);
        }
        pt_buffer_free(&filter);
    }
    assert_true(inside > RANDOM_CASES / 20);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_encoded_in_urls),
        cmocka_unit_test(bounds_become_comparisons),
        cmocka_unit_test(bounds_are_cut_before_characters_that_compare_otherwise),
        cmocka_unit_test(long_bounds_are_cut),
        cmocka_unit_test(points_are_compared_with_eq),
        cmocka_unit_test(conditions_on_rows_go_with_partitions),
        cmocka_unit_test(ranges_are_split_at_partitions),
        cmocka_unit_test(no_order_of_the_service_loses_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
