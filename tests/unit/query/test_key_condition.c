#include "fixtures/cmocka.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interval_is_half_open),
        cmocka_unit_test(bounds_only_narrow),
        cmocka_unit_test(points_are_found_from_both_ends),
        cmocka_unit_test(a_condition_is_interval_and_points),
        cmocka_unit_test(points_are_sorted_and_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
