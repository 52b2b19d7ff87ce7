#include "fixtures/cmocka.h"

#include <sqlite3.h>

#include "entity/key.h"
#include "fixtures/random_bits.h"
#include "query/key_condition.h"

static pt_slice text(const char *string)
{
    return pt_slice_text(string);
}

static void assert_text(pt_slice got, const char *expected)
{
    assert_int_equal(got.size, strlen(expected));
    assert_memory_equal(got.data, expected, got.size);
}

static void an_interval_is_half_open(void **state)
{
    (void)state;
    pt_interval interval = {.low = text("b"), .high = text("d"), .bounded = true};
    assert_false(pt_interval_contains(&interval, text("az")));
    assert_true(pt_interval_contains(&interval, text("b")));
    assert_true(pt_interval_contains(&interval, text("czz")));
    assert_false(pt_interval_contains(&interval, text("d")));
    assert_false(pt_interval_is_empty(&interval));
    interval.high = text("b");
    assert_true(pt_interval_is_empty(&interval));
    interval.bounded = false;
    assert_false(pt_interval_is_empty(&interval));
    assert_true(pt_interval_contains(&interval, text("zz")));
}

static void bounds_only_narrow(void **state)
{
    (void)state;
    pt_interval interval = {0};
    pt_interval_raise_low(&interval, text("b"));
    pt_interval_raise_low(&interval, text("a"));
    assert_text(interval.low, "b");
    assert_false(interval.bounded);
    pt_interval_lower_high(&interval, text("x"));
    pt_interval_lower_high(&interval, text("y"));
    assert_text(interval.high, "x");
    pt_interval other = {.low = text("c")};
    pt_interval_intersect(&interval, &other);
    assert_text(interval.low, "c");
    assert_text(interval.high, "x");
    other = (pt_interval){.high = text(""), .bounded = true};
    pt_interval_intersect(&interval, &other);
    assert_true(pt_interval_is_empty(&interval));
}

static void points_are_found_from_both_ends(void **state)
{
    (void)state;
    pt_slice points[] = {text(""), text("b"), text("bb"), text("d")};
    pt_key_condition condition = {.points = points, .point_count = 4, .listed = true};
    assert_int_equal(pt_condition_points_before(&condition, text("")), 0);
    assert_int_equal(pt_condition_points_before(&condition, text("b")), 1);
    assert_int_equal(pt_condition_points_before(&condition, text("ba")), 2);
    assert_int_equal(pt_condition_points_before(&condition, text("e")), 4);
    pt_interval point;
    pt_interval within = {.low = text("a"), .high = text("d"), .bounded = true};
    assert_true(pt_condition_outermost(&condition, &within, PT_FORWARD, &point));
    assert_text(point.low, "b");
    assert_int_equal(point.high.size, 2);
    assert_memory_equal(point.high.data, "b", 2);
    assert_true(pt_condition_outermost(&condition, &within, PT_BACKWARD, &point));
    assert_text(point.low, "bb");
    within.bounded = false;
    assert_true(pt_condition_outermost(&condition, &within, PT_BACKWARD, &point));
    assert_text(point.low, "d");
    within = (pt_interval){.low = text("c"), .high = text("d"), .bounded = true};
    assert_false(pt_condition_outermost(&condition, &within, PT_FORWARD, &point));
    assert_false(pt_condition_outermost(&condition, &within, PT_BACKWARD, &point));
}

static void a_condition_is_interval_and_points(void **state)
{
    (void)state;
    pt_key_condition condition = {0};
    assert_true(pt_condition_is_always(&condition));
    assert_false(pt_condition_is_never(&condition));
    assert_true(pt_condition_holds(&condition, text("")));
    condition.interval.low = text("b");
    assert_false(pt_condition_is_always(&condition));
    assert_false(pt_condition_holds(&condition, text("a")));
    pt_slice points[] = {text("a"), text("c")};
    condition.points = points;
    condition.point_count = 2;
    condition.listed = true;
    assert_true(pt_condition_holds(&condition, text("c")));
    assert_false(pt_condition_holds(&condition, text("a")));
    assert_false(pt_condition_holds(&condition, text("d")));
    assert_false(pt_condition_is_never(&condition));
    condition.point_count = 0;
    assert_true(pt_condition_is_never(&condition));
    condition = (pt_key_condition){.interval = {.high = text(""), .bounded = true}};
    assert_true(pt_condition_is_never(&condition));
}

static void points_are_sorted_and_merged(void **state)
{
    (void)state;
    pt_slice points[] = {text("c"), text(""), text("b"), text("c"), text(""), text("ba")};
    pt_key_condition list = {.points = points, .point_count = 6};
    pt_condition_sort(&list);
    assert_int_equal(list.point_count, 4);
    assert_text(points[0], "");
    assert_text(points[1], "b");
    assert_text(points[2], "ba");
    assert_text(points[3], "c");

    pt_key_condition condition = {0};
    pt_condition_restrict(&condition, &list);
    assert_true(condition.listed);
    assert_int_equal(condition.point_count, 4);
    pt_slice other_points[] = {text("a"), text("b"), text("c"), text("d")};
    pt_key_condition other = {.points = other_points, .point_count = 4};
    pt_condition_restrict(&condition, &other);
    assert_int_equal(condition.point_count, 2);
    assert_text(condition.points[0], "b");
    assert_text(condition.points[1], "c");

    pt_key_condition none = {0};
    pt_condition_sort(&none);
    pt_condition_restrict(&condition, &none);
    assert_true(pt_condition_is_never(&condition));
}

/* --- Patterns --- */

static void a_pattern_begins_with_what_all_matches_begin_with(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *beginning;
    } cases[] = {
        {"", ""},
        {"*", ""},
        {"?a", ""},
        {"[a]b", ""},
        {"abc", "abc"},
        {"ab*cd", "ab"},
        {"ab?", "ab"},
        {"ab[c]", "ab"},
        {"a]b*", "a]b"},
        {"\\*", "\\"},
        {"\xC3\xA9*", "\xC3\xA9"},
        {"a\xF4\x8F\xBF\xBF*", "a\xF4\x8F\xBF\xBF"},
        {"\xED\x9F\xBF", "\xED\x9F\xBF"},
        {"a\xEF\xBF\xBC*", "a\xEF\xBF\xBC"},
        {"a\xEF\xBF\xBD*", "a"},  /* also what is not UTF-8 */
        {"a\xEF\xBF\xBE*", "a"},  /* GLOB reads U+FFFD */
        {"a\xEF\xBF\xBF", "a"},   /* the same */
        {"a\xED\xA0\x80", "a"},   /* half of a pair of UTF-16 */
        {"a\xFF*", "a"},          /* not UTF-8 */
        {"a\x80*", "a"},          /* GLOB reads U+0080 */
        {"ab\xC3\xA9\x80", "ab"}, /* GLOB reads one character of three bytes */
        {"a\xE0\x83\xA9*", "a"},  /* GLOB reads U+00E9 */
        {"a\xC3\xA9"
         "b\xFF",
         "a"}, /* only the ASCII counts */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_text(pt_glob_beginning(text(cases[i].pattern)), cases[i].beginning);
    }
    assert_text(pt_glob_beginning(pt_slice_of("a\0*", 3)), "a");
}

/* SQLite's own judgement, of random patterns and keys. */
static void no_match_begins_otherwise(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",
                                         "b",
                                         "*",
                                         "?",
                                         "[ab]",
                                         "\xC3\xA9",
                                         "\xEF\xBF\xBD",
                                         "\xE3\xA9\x80",
                                         "\xEF\xBF\xBE",
                                         "\xFF",
                                         "\x80",
                                         "\xC2\x80",
                                         "\xE0\x83\xA9",
                                         "\xC3",
                                         "]",
                                         "\xF0\x9F\x98\x80"};
    enum { PIECES = sizeof pieces / sizeof *pieces, ROUNDS = 200000, LONGEST = 4 };
    int matches = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char pattern[20] = "";
        char key[20] = "";
        for (uint64_t i = random_bits() % LONGEST; i > 0; i--) {
            strcat(pattern, pieces[random_bits() % PIECES]);
        }
        for (uint64_t i = random_bits() % LONGEST; i > 0; i--) {
            strcat(key, pieces[random_bits() % PIECES]);
        }
        if (pt_key_is_valid_text(text(key)) && sqlite3_strglob(pattern, key) == 0) {
            pt_slice beginning = pt_glob_beginning(text(pattern));
            assert_memory_equal(key, beginning.data, beginning.size);
            matches++;
        }
    }
    assert_true(matches > ROUNDS / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_is_half_open),
        cmocka_unit_test(bounds_only_narrow),
        cmocka_unit_test(points_are_found_from_both_ends),
        cmocka_unit_test(a_condition_is_interval_and_points),
        cmocka_unit_test(points_are_sorted_and_merged),
        cmocka_unit_test(a_pattern_begins_with_what_all_matches_begin_with),
        cmocka_unit_test(no_match_begins_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
