#include "unit/query/asked_ranges.h"

#include "faults/failing_malloc.h"
#include "query/ranges.h"

static pt_range_walk walk;

static void assert_found(pt_slice low, pt_slice high)
{
    pt_interval range;
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_FOUND);
    assert_bytes(range.low, low);
    assert_bytes(range.high, high);
    assert_true(pt_range_walk_leave(&walk, &range));
}

static void assert_probe(void)
{
    pt_interval range;
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_PROBE);
}

static void assert_over(void)
{
    pt_interval range;
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_END);
}

static void ranges_come_in_either_order(void **state)
{
    (void)state;
    ask("t1 IN ('q', 'p')");
    pt_range_walk_begin(&walk, PT_FORWARD);
    assert_found(BYTES("p\0"), BYTES("p\1"));
    assert_false(walk.at_end);
    assert_found(BYTES("q\0"), BYTES("q\1"));
    assert_over();
    pt_range_walk_begin(&walk, PT_BACKWARD);
    assert_found(BYTES("q\0"), BYTES("q\1"));
    assert_found(BYTES("p\0"), BYTES("p\1"));
    assert_over();
}

static void the_end_of_the_table_is_known(void **state)
{
    (void)state;
    for (pt_direction direction = PT_FORWARD; direction <= PT_BACKWARD; direction++) {
        pt_interval range;
        ask("1");
        pt_range_walk_begin(&walk, direction);
        assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_FOUND);
        assert_true(pt_range_walk_leave(&walk, &range));
        assert_true(walk.at_end);
    }
}

static void a_probe_goes_on_at_what_it_found(void **state)
{
    (void)state;
    ask("t10 = 'm' AND t11 = 'p'");
    pt_range_walk_begin(&walk, PT_FORWARD);
    assert_probe();
    assert_true(pt_range_walk_follow(&walk, BYTES("a\0b")));
    assert_found(BYTES("a\0m"), BYTES("a\0p"));
    pt_range_walk_begin(&walk, PT_BACKWARD);
    assert_probe();
    assert_true(pt_range_walk_follow(&walk, BYTES("a\0m")));
    assert_found(BYTES("a\0m"), BYTES("a\0m\0"));
}

static void partitions_are_passed(void **state)
{
    (void)state;
    ask("1");
    pt_interval range;
    pt_range_walk_begin(&walk, PT_FORWARD);
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_FOUND);
    assert_true(pt_range_walk_pass(&walk, BYTES("p")));
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_FOUND);
    assert_bytes(range.low, BYTES("p\1"));
    pt_range_walk_begin(&walk, PT_BACKWARD);
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_FOUND);
    assert_true(pt_range_walk_pass(&walk, BYTES("p")));
    assert_int_equal(pt_range_walk_next(&walk, &ranges, &range), PT_RANGE_FOUND);
    assert_bytes(range.high, BYTES("p\0"));
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
    pt_range_walk_free(&walk);
    pt_range_walk_begin(&walk, PT_BACKWARD);
    failing_malloc_arm(0, true);
    bool followed = pt_range_walk_follow(&walk, BYTES("p\0r"));
    bool passed = pt_range_walk_pass(&walk, BYTES("p"));
    assert_true(failing_malloc_disarm());
    assert_false(followed);
    assert_false(passed);
}

static int end_walk(void **state)
{
    pt_range_walk_free(&walk);
    return close_term_table(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_come_in_either_order),
        cmocka_unit_test(the_end_of_the_table_is_known),
        cmocka_unit_test(a_probe_goes_on_at_what_it_found),
        cmocka_unit_test(partitions_are_passed),
        cmocka_unit_test(running_out_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, open_term_table, end_walk);
}
