/*
 * Bounds of TimeNextVisible as ticks, compared with how the times' texts compare with the bounds in
 * the collation PT_DATETIME.
 */
#include "fixtures/value_fixture.h"

#include "base/ticks.h"
#include "faults/failing_malloc.h"
#include "queue/plan.h"

/* Ticks at which texts change much, and their neighbours. */
static const int64_t times[] = {0,
                                1,
                                9999999,
                                10000000,
                                PT_TICKS_UNIX_EPOCH - 1,
                                PT_TICKS_UNIX_EPOCH,
                                INT64_C(639308784992341940),
                                INT64_C(639308784992341941),
                                INT64_C(639308784999999999),
                                INT64_C(639308785000000000),
                                PT_TICKS_MAX - 1,
                                PT_TICKS_MAX};

static const char *const bounds_given[] = {
    "''",
    "'0'",
    "'0001-01-01T00:00:00.0000000Z'",
    "'0001-01-01T00:00:00.0000001Z'",
    "'1970'",
    "'1970-01-01T00:00:00'",
    "'1970-01-01 00:00:00'",
    "'2026-11-21T08:54:59.2341940Z'",
    "'2026-11-21T08:54:59.234194'",
    "'2026-11-21T08:54:59.2341940Z '",
    "'2026-11-21T08:54:59.2341940Z' || char(0)",
    "'9999-12-31T23:59:59.9999999Z'",
    "'9999-12-31T23:59:59.9999999Zz'",
    "'a'",
    "'é'",
    "'2026-11-21T09:54:59.234194+01:00'",
    "'1970-01-01T01:00:00.0000001+01:00'",
    "'2026-13'",
};

static bool fits(int order, unsigned plan)
{
    if ((plan & PT_QUEUE_PLAN_EQUAL) != 0) {
        return order == 0;
    }
    bool open = (plan & (PT_QUEUE_PLAN_LOW_OPEN | PT_QUEUE_PLAN_HIGH_OPEN)) != 0;
    if ((plan & PT_QUEUE_PLAN_LOW) != 0) {
        return open ? order > 0 : order >= 0;
    }
    return open ? order < 0 : order <= 0;
}

static void assert_bounds(unsigned plan, const char *given)
{
    sqlite3_value *value = value_of(given);
    pt_queue_bounds bounds;
    bool any = pt_queue_bounds_set(plan, &value, &bounds);
    pt_slice bound = pt_slice_of(sqlite3_value_text(value), (size_t)sqlite3_value_bytes(value));
    for (size_t i = 0; i < COUNT(times); i++) {
        char text[PT_DATETIME_TEXT_SIZE + 1];
        pt_ticks_format(times[i], text);
        bool inside = any && times[i] >= bounds.low && times[i] < bounds.high;
        if (inside != fits(pt_ticks_compare_texts(pt_slice_text(text), bound), plan)) {
            fail_msg("%s with %s in plan %u", text, given, plan);
        }
    }
    sqlite3_value_free(value);
}

static void texts_bound_as_they_compare(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bounds_given); i++) {
        assert_bounds(PT_QUEUE_PLAN_EQUAL, bounds_given[i]);
        assert_bounds(PT_QUEUE_PLAN_LOW, bounds_given[i]);
        assert_bounds(PT_QUEUE_PLAN_LOW | PT_QUEUE_PLAN_LOW_OPEN, bounds_given[i]);
        assert_bounds(PT_QUEUE_PLAN_HIGH, bounds_given[i]);
        assert_bounds(PT_QUEUE_PLAN_HIGH | PT_QUEUE_PLAN_HIGH_OPEN, bounds_given[i]);
    }
}

static void two_bounds_come_in_their_order(void **state)
{
    (void)state;
    sqlite3_value *values[] = {value_of("'1970-01-01T00:00:00.0000000Z'"),
                               value_of("'1970-01-01T00:00:01.0000000Z'")};
    pt_queue_bounds bounds;
    unsigned plan = PT_QUEUE_PLAN_LOW | PT_QUEUE_PLAN_HIGH;
    assert_true(pt_queue_bounds_set(plan, values, &bounds));
    assert_int_equal(bounds.low, PT_TICKS_UNIX_EPOCH);
    assert_int_equal(bounds.high, PT_TICKS_UNIX_EPOCH + PT_TICKS_PER_SECOND + 1);
    plan |= PT_QUEUE_PLAN_LOW_OPEN | PT_QUEUE_PLAN_HIGH_OPEN;
    assert_true(pt_queue_bounds_set(plan, values, &bounds));
    assert_int_equal(bounds.low, PT_TICKS_UNIX_EPOCH + 1);
    assert_int_equal(bounds.high, PT_TICKS_UNIX_EPOCH + PT_TICKS_PER_SECOND);
    sqlite3_value *backwards[] = {values[1], values[0]};
    assert_false(pt_queue_bounds_set(plan, backwards, &bounds));
    sqlite3_value_free(values[0]);
    sqlite3_value_free(values[1]);
}

/* SQLite compares them again. */
static void what_is_no_text_bounds_nothing(void **state)
{
    (void)state;
    static const char *const given[] = {"5", "5.5", "x'32'"};
    static const unsigned plans[] = {PT_QUEUE_PLAN_EQUAL, PT_QUEUE_PLAN_LOW, PT_QUEUE_PLAN_HIGH};
    for (size_t i = 0; i < COUNT(given); i++) {
        for (size_t j = 0; j < COUNT(plans); j++) {
            sqlite3_value *value = value_of(given[i]);
            pt_queue_bounds bounds;
            assert_true(pt_queue_bounds_set(plans[j], &value, &bounds));
            assert_int_equal(bounds.low, 0);
            assert_true(bounds.high > PT_TICKS_MAX);
            sqlite3_value_free(value);
        }
    }
}

static void nothing_compares_with_null(void **state)
{
    (void)state;
    static const unsigned plans[] = {PT_QUEUE_PLAN_EQUAL, PT_QUEUE_PLAN_LOW, PT_QUEUE_PLAN_HIGH};
    for (size_t j = 0; j < COUNT(plans); j++) {
        sqlite3_value *value = value_of("NULL");
        pt_queue_bounds bounds;
        assert_false(pt_queue_bounds_set(plans[j], &value, &bounds));
        sqlite3_value_free(value);
    }
}

/* SQLite, which then knows that its memory has run out, fails the statement. */
static void a_text_that_cannot_be_converted_bounds_nothing(void **state)
{
    (void)state;
    sqlite3 *wide = open_database();
    assert_int_equal(sqlite3_exec(wide, "PRAGMA encoding = 'UTF-16le'", NULL, NULL, NULL), 0);
    sqlite3_value *value = value_in(wide, "'2026-11-21'");
    pt_queue_bounds bounds;
    failing_malloc_arm(0, false);
    assert_true(pt_queue_bounds_set(PT_QUEUE_PLAN_LOW, &value, &bounds));
    assert_true(failing_malloc_disarm());
    assert_int_equal(bounds.low, 0);
    assert_int_equal(bounds.high, PT_TICKS_MAX + 1);
    sqlite3_value_free(value);
    assert_int_equal(sqlite3_close(wide), SQLITE_OK);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_bound_as_they_compare),
        cmocka_unit_test(two_bounds_come_in_their_order),
        cmocka_unit_test(what_is_no_text_bounds_nothing),
        cmocka_unit_test(nothing_compares_with_null),
        cmocka_unit_test(a_text_that_cannot_be_converted_bounds_nothing),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
