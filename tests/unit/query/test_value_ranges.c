#include "fixtures/value_fixture.h"

#include <stdio.h>

#include "entity/index.h"
#include "faults/failing_malloc.h"
#include "query/value_ranges.h"

enum { TEXT_MAX = 1000 };

static pt_arena arena;
static pt_buffer scratch;

/* A bound in short: the class, the text in it, and what follows: "20 abc 01". */
static void show_bound(pt_slice bound, char *text)
{
    for (size_t i = 0; i < bound.size; i++) {
        uint8_t c = bound.data[i];
        bool letter = i != 0 && ((c >= '0' && c <= ':') || (c >= 'A' && c <= 'z'));
        sprintf(text + strlen(text), letter ? "%c" : "<%02x>", c);
    }
}

static pt_comparison compare(pt_type column, pt_plan_op op, const char *value)
{
    pt_comparison comparison;
    pt_comparison_begin(&comparison, column, op, false);
    sqlite3_value *sql = value_of(value);
    assert_int_equal(pt_comparison_add(&comparison, sql, &arena), SQLITE_OK);
    sqlite3_value_free(sql);
    pt_comparison_end(&comparison);
    return comparison;
}

static void assert_ranges(const pt_comparison *const *comparisons, unsigned count, unsigned has,
                          const char *expected)
{
    char text[TEXT_MAX] = "";
    pt_value_ranges ranges;
    assert_int_equal(pt_value_ranges_set(&ranges, comparisons, count, has, &arena, &scratch),
                     SQLITE_OK);
    for (unsigned i = 0; i < ranges.count; i++) {
        show_bound(ranges.ranges[i].low, text);
        if (!ranges.ranges[i].point) {
            strcat(text, "..");
            show_bound(ranges.ranges[i].high, text);
        }
        strcat(text, " ");
    }
    assert_string_equal(text, expected);
}

static void assert_range_of(pt_type column, pt_plan_op op, const char *value, unsigned has,
                            const char *expected)
{
    pt_comparison comparison = compare(column, op, value);
    const pt_comparison *one = &comparison;
    assert_ranges(&one, 1, has, expected);
}

static void texts_beside_texts(void **state)
{
    (void)state;
    const unsigned texts = 1 << PT_STRING;
    assert_range_of(PT_STRING, PT_OP_EQ, "'abc'", texts, "<20>abc<00><01> ");
    assert_range_of(PT_STRING, PT_OP_EQ, "NULL", texts, "");
    assert_range_of(PT_STRING, PT_OP_EQ, "x'61'", texts, "");
    /* What looks like a number may be compared as one. */
    assert_range_of(PT_STRING, PT_OP_EQ, "'5'", texts, "<20>..<20>: <20>I..<20>J ");
    assert_range_of(PT_STRING, PT_OP_GE, "'abc'", texts,
                    "<20>..<20>: <20>I..<20>J <20>abc<00><01>..<21> ");
    assert_range_of(PT_STRING, PT_OP_LT, "'abc'", texts, "<20>..<20>abc<00><01> ");
}

static void exact_texts(void **state)
{
    (void)state;
    const unsigned texts = 1 << PT_STRING;
    pt_comparison exact = compare(PT_STRING, PT_OP_EQ, "'5'");
    const pt_comparison *one = &exact;
    pt_comparison_compare_exactly(&exact);
    assert_ranges(&one, 1, texts, "<20>5<00><01> ");
    exact = compare(PT_STRING, PT_OP_GT, "'abc'");
    pt_comparison_compare_exactly(&exact);
    assert_ranges(&one, 1, texts, "<20>abc<00><01><ff>..<21> ");
    exact = compare(PT_INT32, PT_OP_EQ, "'a'");
    pt_comparison_compare_exactly(&exact);
    assert_false(exact.exact);
}

static void numbers(void **state)
{
    (void)state;
    const unsigned integers = 1 << PT_INT32;
    const unsigned mixed = integers | 1 << PT_STRING;
    assert_range_of(PT_INT32, PT_OP_EQ, "1", integers, "<10><bf><f0><00><00><00><00><00><00> ");
    assert_range_of(PT_INT32, PT_OP_GT, "1", integers,
                    "<10><bf><f0><00><00><00><00><00><00><ff>..<11> ");
    assert_range_of(PT_INT32, PT_OP_LE, "1", integers,
                    "<10>..<10><bf><f0><00><00><00><00><00><00><ff> ");
    /* A number may equal a text in a column of numbers. */
    assert_range_of(PT_INT32, PT_OP_EQ, "1", mixed,
                    "<10><bf><f0><00><00><00><00><00><00> <20>..<20>: <20>I..<20>J ");
    assert_range_of(PT_STRING, PT_OP_EQ, "'abc'", mixed, "<10>..<11> <20>abc<00><01> ");
    /* A Double may be shown as the text NaN. */
    assert_range_of(PT_DOUBLE, PT_OP_EQ, "1.0", 1 << PT_DOUBLE,
                    "<10><bf><f0><00><00><00><00><00><00> <20>NaN<00><01> ");
}

static void times_and_guids(void **state)
{
    (void)state;
    const unsigned times = 1 << PT_DATETIME;
    assert_range_of(PT_DATETIME, PT_OP_EQ, "'2026-01-02'", times,
                    "<20>2026<2d>01<2d>02T00:00:00<2e>0000000Z<00><01> ");
    assert_range_of(PT_DATETIME, PT_OP_LT, "'later'", times, "<20>..<21> ");
    assert_range_of(PT_DATETIME, PT_OP_GT, "'later'", times, "");
    assert_range_of(PT_DATETIME, PT_OP_GE, "''", times, "<20>..<21> ");
    assert_range_of(PT_DATETIME, PT_OP_EQ, "'2026-01-02'", times | 1 << PT_STRING, "<20>..<21> ");
    assert_range_of(PT_GUID, PT_OP_EQ, "'0F8FAD5B-D9CB-469F-A165-70867728950E'", 1 << PT_GUID,
                    "<20>0f8fad5b<2d>d9cb<2d>469f<2d>a165<2d>70867728950e<00><01> ");
    assert_range_of(PT_STRING, PT_OP_EQ, "'2026'", times, "<20>..<21> ");
}

static pt_comparison begin_with(const char *prefix, bool other_encoding)
{
    pt_comparison comparison;
    pt_comparison_begin(&comparison, PT_STRING, PT_OP_STARTS_WITH, other_encoding);
    sqlite3_value *sql = value_of(prefix);
    assert_int_equal(pt_comparison_add_prefix(&comparison, sql, &arena), SQLITE_OK);
    sqlite3_value_free(sql);
    pt_comparison_end(&comparison);
    return comparison;
}

static void assert_range_of_prefix(const char *prefix, unsigned has, const char *expected)
{
    pt_comparison comparison = begin_with(prefix, false);
    const pt_comparison *one = &comparison;
    assert_ranges(&one, 1, has, expected);
}

/* A number or a Binary may begin with any text, too, once it is shown as one. */
static void prefixes(void **state)
{
    (void)state;
    const unsigned texts = 1 << PT_STRING;
    assert_range_of_prefix("'abc'", texts, "<20>abc..<20>abd ");
    assert_range_of_prefix("'5'", 1 << PT_DATETIME | 1 << PT_GUID, "<20>5..<20>6 ");
    assert_range_of_prefix("5", texts, "<20>5..<20>6 ");
    assert_range_of_prefix("x'61'", texts, "<20>a..<20>b ");
    assert_range_of_prefix("'a'", texts | 1 << PT_INT32 | 1 << PT_BINARY,
                           "<10>..<11> <20>a..<20>b <30>..<31> ");
    assert_range_of_prefix("'NaN'", 1 << PT_DOUBLE, "<10>..<11> <20>NaN<00><01> ");
    assert_range_of_prefix("''", texts, "<20>..<21> ");
    assert_range_of_prefix("NULL", texts, "");
    assert_range_of_prefix("'a' || char(0)", texts, "<20>a<00><ff>..<20>a<01> ");
    assert_range_of_prefix("CAST(x'41FFFF' AS TEXT)", texts, "<20>A<ff><ff>..<20>B ");
    assert_range_of_prefix("CAST(x'FF' AS TEXT)", texts, "<20><ff>..<21> ");
    pt_comparison comparison = begin_with("'a'", true);
    const pt_comparison *one = &comparison;
    assert_ranges(&one, 1, texts, "<20>..<21> ");
    assert_int_equal(pt_comparison_judging(&comparison, PT_STRING), PT_JUDGE_NONE);
    assert_int_equal(pt_comparison_judging(&comparison, PT_NONE), PT_JUDGE_ALL);
}

/* Entries have the first bytes of a value only. */
static void long_prefixes_are_cut(void **state)
{
    (void)state;
    pt_comparison comparison = begin_with("printf('%.*c', 300, 'x')", false);
    const pt_comparison *one = &comparison;
    pt_value_ranges ranges;
    assert_int_equal(pt_value_ranges_set(&ranges, &one, 1, 1 << PT_STRING, &arena, &scratch),
                     SQLITE_OK);
    assert_int_equal(ranges.count, 1);
    assert_int_equal(ranges.ranges[0].low.size, 1 + 255);
    assert_int_equal(ranges.ranges[0].high.size, 1 + 255);
}

static void a_prefix_may_run_out_of_memory(void **state)
{
    (void)state;
    sqlite3_value *value = value_of("'abc'");
    for (int n = 0, hit = 1; hit != 0; n++) {
        pt_arena own = {0};
        pt_comparison comparison;
        pt_comparison_begin(&comparison, PT_STRING, PT_OP_STARTS_WITH, false);
        failing_malloc_arm(n, false);
        int rc = pt_comparison_add_prefix(&comparison, value, &own);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        pt_arena_free(&own);
    }
    sqlite3_value_free(value);
}

/* Longer values have the part of their beginning. */
static void long_texts_are_not_told_apart(void **state)
{
    (void)state;
    pt_comparison longer = compare(PT_STRING, PT_OP_GT, "printf('%.*c', 255, 'x')");
    const pt_comparison *one = &longer;
    pt_comparison_compare_exactly(&longer);
    pt_value_ranges ranges;
    assert_int_equal(pt_value_ranges_set(&ranges, &one, 1, 1 << PT_STRING, &arena, &scratch),
                     SQLITE_OK);
    assert_int_equal(ranges.count, 1);
    assert_int_equal(ranges.ranges[0].low.size, 1 + 255 + 2); /* the part itself is in the range */
}

static void several_comparisons_hold_together(void **state)
{
    (void)state;
    const unsigned integers = 1 << PT_INT32;
    pt_comparison low = compare(PT_INT32, PT_OP_GE, "1");
    pt_comparison high = compare(PT_INT32, PT_OP_LT, "2");
    pt_comparison equal = compare(PT_INT32, PT_OP_EQ, "1");
    pt_comparison other = compare(PT_INT32, PT_OP_EQ, "7");
    assert_ranges((const pt_comparison *[]){&low, &high}, 2, integers,
                  "<10><bf><f0><00><00><00><00><00><00>..<10><c0><00><00><00><00><00><00><00> ");
    assert_ranges((const pt_comparison *[]){&low, &equal, &high}, 3, integers,
                  "<10><bf><f0><00><00><00><00><00><00> ");
    assert_ranges((const pt_comparison *[]){&low, &other, &high}, 3, integers, "");
}

static void values_of_an_in_come_in_order(void **state)
{
    (void)state;
    pt_comparison comparison;
    const pt_comparison *one = &comparison;
    static const char *const values[] = {"'b'", "'a'", "NULL", "2", "'b'"};
    pt_comparison_begin(&comparison, PT_NONE, PT_OP_EQ, false);
    for (size_t i = 0; i < COUNT(values); i++) {
        sqlite3_value *sql = value_of(values[i]);
        assert_int_equal(pt_comparison_add(&comparison, sql, &arena), SQLITE_OK);
        sqlite3_value_free(sql);
    }
    pt_comparison_end(&comparison);
    assert_ranges(&one, 1, 1 << PT_INT32, "<10><c0><00><00><00><00><00><00><00> ");
    assert_ranges(&one, 1, 1 << PT_STRING | 1 << PT_INT32,
                  "<10><c0><00><00><00><00><00><00><00> <20>..<20>: <20>I..<20>J <20>a<00><01> "
                  "<20>b<00><01> ");
    comparison.finds_null = true;
    assert_ranges(&one, 1, 1 << PT_INT32, "<00> <10><c0><00><00><00><00><00><00><00> ");
}

static void assert_no_memory_is_reported(const pt_comparison *const *comparisons, unsigned count)
{
    pt_value_ranges ranges;
    for (int n = 0;; n++) {
        pt_arena own = {0};
        pt_buffer part = {0};
        failing_malloc_arm(n, false);
        int rc = pt_value_ranges_set(&ranges, comparisons, count, 1 << PT_STRING, &own, &part);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        pt_arena_free(&own);
        pt_buffer_free(&part);
        if (!hit) {
            assert_true(n > 1);
            break;
        }
    }
}

/* A text that is not UTF-8 may have become one with U+FFFD. */
static void a_replaced_character_may_have_been_another(void **state)
{
    (void)state;
    static const char *const values[] = {"''", "x'61'", "'a'", "'b' || char(65533)", "'c'"};
    pt_comparison comparison;
    const pt_comparison *one = &comparison;
    pt_comparison_begin(&comparison, PT_STRING, PT_OP_EQ, true);
    for (size_t i = 0; i < COUNT(values); i++) {
        sqlite3_value *sql = value_of(values[i]);
        assert_int_equal(pt_comparison_add(&comparison, sql, &arena), SQLITE_OK);
        sqlite3_value_free(sql);
        if (i == 2) {
            pt_comparison_end(&comparison);
            assert_ranges(&one, 1, 1 << PT_STRING, "<20><00><01> <20>a<00><01> ");
        }
    }
    pt_comparison_end(&comparison);
    assert_ranges(&one, 1, 1 << PT_STRING, "<20>..<21> ");
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    pt_comparison low = compare(PT_STRING, PT_OP_GE, "'a'");
    pt_comparison high = compare(PT_STRING, PT_OP_LT, "'b'");
    assert_no_memory_is_reported((const pt_comparison *[]){&low, &high}, 2);
    /* Parts that fill several chunks of memory. */
    pt_comparison prefix = begin_with("printf('%.*c', 300, 'x')", false);
    assert_no_memory_is_reported((const pt_comparison *[]){&prefix, &low}, 2);
}

static int free_arena(void **state)
{
    pt_arena_free(&arena);
    pt_buffer_free(&scratch);
    return close_shared(state);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_beside_texts),
        cmocka_unit_test(exact_texts),
        cmocka_unit_test(numbers),
        cmocka_unit_test(times_and_guids),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(long_prefixes_are_cut),
        cmocka_unit_test(a_prefix_may_run_out_of_memory),
        cmocka_unit_test(long_texts_are_not_told_apart),
        cmocka_unit_test(several_comparisons_hold_together),
        cmocka_unit_test(values_of_an_in_come_in_order),
        cmocka_unit_test(a_replaced_character_may_have_been_another),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, open_shared, free_arena);
}
