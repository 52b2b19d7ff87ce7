#include "faults/failing_malloc.h"
#include "query/ranges.h"
#include "unit/query/asked_ranges.h"

static void assert_interval(const pt_key_condition *condition, pt_slice low, pt_slice high)
{
    assert_false(condition->listed);
    assert_bytes(condition->interval.low, low);
    assert_true(condition->interval.bounded);
    assert_bytes(condition->interval.high, high);
}

static void texts_are_bounds_without_a_nul(void **state)
{
    (void)state;
    ask("t2 = 'a' AND t4 = 'b'");
    assert_interval(&ranges.partition, BYTES("a\1"), BYTES("b"));
    ask("t3 = 'a' AND t5 = 'b'");
    assert_interval(&ranges.partition, BYTES("a"), BYTES("b\1"));
    ask("t9 = 'a' AND t10 = 'c' AND t11 = 'x' AND t12 = 'd'");
    assert_interval(&ranges.row, BYTES("c"), BYTES("d\1"));
    ask("t13 = 'ab'");
    assert_interval(&ranges.row, BYTES("ab"), BYTES("ab\xFF"));
    ask("t3 = 'a' || char(0) AND t4 = 'b' || char(0) || 'c'");
    assert_interval(&ranges.partition, BYTES("a\1"), BYTES("b\1"));
    ask("t2 = char(0) AND t5 = char(0)");
    assert_true(ranges.nothing);
    ask("t13 = ''");
    assert_true(pt_condition_is_always(&ranges.row));
}

static void blobs_are_bounds_of_any_bytes(void **state)
{
    (void)state;
    ask("t16 = x'610062' AND t18 = x'620063'");
    assert_interval(&ranges.entity, BYTES("a\0b\0"), BYTES("b\0c"));
    ask("t17 = x'610062' AND t19 = x'620063'");
    assert_interval(&ranges.entity, BYTES("a\0b"), BYTES("b\0c\0"));
    ask("t17 = zeroblob(0) AND t19 = zeroblob(3)");
    assert_interval(&ranges.entity, BYTES(""), BYTES("\0\0\0\0"));
}

static void partitions_bound_entities(void **state)
{
    (void)state;
    ask("t3 = 'b' AND t16 = x'610062' AND t4 = 'c' AND t19 = x'ff'");
    assert_interval(&ranges.entity, BYTES("b"), BYTES("c"));
}

static void what_always_holds_is_no_bound(void **state)
{
    (void)state;
    ask("t4 = x'61' AND t5 = x'' AND t6 = x'' AND t11 = x'61' AND t16 = 'a' AND t17 = 3");
    assert_false(ranges.nothing);
    assert_true(pt_condition_is_always(&ranges.partition));
    assert_true(pt_condition_is_always(&ranges.row));
    assert_true(pt_condition_is_always(&ranges.entity));
}

static void contradictions_end_without_a_look(void **state)
{
    (void)state;
    static const char *const contradictions[] = {
        "t0 = NULL",
        "t0 = x'61'",
        "t0 = 'a' || char(0)",
        "t6 = 'a' || char(0)",
        "t1 IN (NULL, x'61')",
        "t1 IN (SELECT 1 WHERE 0)",
        "t2 = 'a' AND t4 = 'a'",
        "t2 = 'a' AND t5 = 'a'",
        "t2 = 'a' AND t4 = 'a' || char(1)",
        "t4 = ''",
        "t2 = x'61'",
        "t5 = NULL",
        "t0 = 'a' AND t1 IN ('b', 'c')",
        "t0 = 'a' AND t2 = 'a'",
        "t0 = '5' AND t1 IN ('6', 'x')",
        "t6 = 'a' AND t3 = 'b'",
        "t10 = 'b' AND t11 = 'a'",
        "t7 = 'a' AND t8 IN ('b', 'c')",
        "t8 IN ('a', 'b') AND t13 = 'c'",
        "t7 = NULL AND t0 = 'a'",
        "t14 = 'a'",
        "t14 = 5",
        "t14 = NULL",
        "t14 = x'61'",
        "t14 = x'6100' AND t0 = 'b'",
        "t14 = x'6100' AND t7 = 'b'",
        "t14 = x'610062' AND t0 = '7'",
        "t15 IN ('a', 3, NULL)",
        "t16 = NULL",
        "t18 = 'a'",
        "t19 = 7",
        "t16 = x'6100' AND t18 = x'610000'",
        "t16 = x'62' AND t4 = 'b'",
    };
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++) {
        pt_interval range;
        ask(contradictions[i]);
        if (pt_ranges_next(&ranges, BYTES(""), &range) != PT_RANGE_END ||
            pt_ranges_previous(&ranges, NULL, &range) != PT_RANGE_END) {
            fail_msg("not the end: %s", contradictions[i]);
        }
    }
}

static void assert_point(const pt_key_condition *condition, const char *text)
{
    assert_true(condition->listed);
    assert_int_equal(condition->point_count, 1);
    assert_bytes(condition->points[0], pt_slice_text(text));
}

static void ask_with_number(const char *where, sqlite3_int64 number)
{
    term_table_filter = set_ranges;
    asked = false;
    char *sql = sqlite3_mprintf("SELECT 1 FROM terms WHERE %s", where);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_bind_int64(statement, 1, number), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_true(asked);
}

static void bind_reals_and_ask(const char *where, double first, double second, int expected)
{
    char *sql = sqlite3_mprintf("SELECT 1 FROM terms WHERE %s", where);
    sqlite3_stmt *statement;
    asked = false;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_free(sql);
    sqlite3_bind_double(statement, 1, first);
    sqlite3_bind_double(statement, 2, second);
    assert_int_equal(sqlite3_step(statement), expected);
    sqlite3_finalize(statement);
    assert_true(asked);
}

static void ask_with_reals(const char *where, double first, double second)
{
    term_table_filter = set_ranges;
    bind_reals_and_ask(where, first, second, SQLITE_DONE);
}

static void bound_reals_that_are_integers_compare_as_those(void **state)
{
    (void)state;
    ask_with_reals("t0 = ?1 AND t7 = ?2", 5.0, -0.0);
    assert_point(&ranges.partition, "5");
    assert_point(&ranges.row, "0");
    ask_with_reals("t0 = ?1 AND t7 = ?2", 0x1p53, -0x1p53);
    assert_point(&ranges.partition, "9007199254740992");
    assert_point(&ranges.row, "-9007199254740992");
    ask_with_reals("t2 = ?1 AND t4 = ?2", 5.0, 7.0);
    assert_interval(&ranges.partition, BYTES("5\1"), BYTES("7"));
    ask_with_reals("t10 = ?1 AND t12 = ?2", 5.0, 7.0);
    assert_interval(&ranges.row, BYTES("5"), BYTES("7\1"));
    ask_with_reals("t13 = ?1", 5.0, 0);
    assert_interval(&ranges.row, BYTES("5.0"), BYTES("5.0\xFF"));
}

static unsigned more_bits;

static int set_refused_ranges(unsigned bits, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_ranges_set(&ranges, bits | more_bits, argc, argv, &error);
    assert_int_equal(rc, SQLITE_MISMATCH);
    assert_non_null(strstr(error.message, "; bind a text or an integer"));
    pt_error_clear(&error);
    asked = true;
    return rc;
}

static void other_bound_reals_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *where;
        double real;
        unsigned bits;
    } refused[] = {
        {"t0 = ?1", 5.5, 0},          {"t7 = ?1", 0x1p53 + 2, 0},
        {"t11 = ?1", -0x1p53 - 2, 0}, {"t7 = ?1", 1e300, 0},
        {"t3 = ?1", 5.0, 0}, /* it may be a row value */
        {"t5 = ?1", 5.0, 0},          {"t7 = ?1", 5.0, PT_PLAN_CHECKED},
    };
    term_table_filter = set_refused_ranges;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        more_bits = refused[i].bits;
        bind_reals_and_ask(refused[i].where, refused[i].real, 0, SQLITE_MISMATCH);
    }
}

/* As TEXT affinity makes them, in an ordinary table, too. */
static void bound_integers_compare_as_texts(void **state)
{
    (void)state;
    ask_with_number("t0 = ?1 AND t7 = ?1", -5);
    assert_point(&ranges.partition, "-5");
    assert_point(&ranges.row, "-5");
    ask_with_number("t2 = ?1 AND t11 = (?1 + 0) || ''", 7);
    assert_interval(&ranges.row, BYTES(""), BYTES("7"));
    assert_bytes(ranges.partition.interval.low, BYTES("7\1"));
    ask("t1 IN (5, 'a', 5.5) AND t8 IN (7, 8)");
    assert_int_equal(ranges.partition.point_count, 3);
    assert_bytes(ranges.partition.points[1], BYTES("5.5"));
    assert_int_equal(ranges.row.point_count, 2);
}

static void a_prefix_is_always_a_text(void **state)
{
    (void)state;
    ask("t6 = 0 AND t13 = 2.5 + 3");
    assert_interval(&ranges.partition, BYTES("0"), BYTES("0\xFF"));
    assert_interval(&ranges.row, BYTES("5.5"), BYTES("5.5\xFF"));
    ask("t6 = x'6162'");
    assert_interval(&ranges.partition, BYTES("ab"), BYTES("ab\xFF"));
    ask("t6 = x'610062'");
    assert_true(ranges.nothing);
}

static int set_ranges_of_patterns(unsigned bits, int argc, sqlite3_value **argv)
{
    return set_ranges(bits | PT_PLAN_PK_PATTERN | PT_PLAN_RK_PATTERN, argc, argv);
}

static void ask_patterns(const char *where)
{
    term_table_filter = set_ranges_of_patterns;
    asked = false;
    assert_int_equal(term_table_query(db, where), SQLITE_OK);
    assert_true(asked);
}

static void a_pattern_is_its_literal_beginning(void **state)
{
    (void)state;
    ask_patterns("t6 = 'ab*c' AND t13 = '2026-?'");
    assert_interval(&ranges.partition, BYTES("ab"), BYTES("ab\xFF"));
    assert_interval(&ranges.row, BYTES("2026-"), BYTES("2026-\xFF"));
    ask_patterns("t6 = x'61622a' AND t13 = 12");
    assert_interval(&ranges.partition, BYTES("ab"), BYTES("ab\xFF"));
    assert_interval(&ranges.row, BYTES("12"), BYTES("12\xFF"));
    ask_patterns("t6 = 'a' || char(0) || 'b' AND t13 = 2.50");
    assert_interval(&ranges.partition, BYTES("a"), BYTES("a\xFF"));
    assert_interval(&ranges.row, BYTES("2.5"), BYTES("2.5\xFF"));
    ask_patterns("t6 = '*' AND t13 = ''");
    assert_true(pt_condition_is_always(&ranges.partition));
    assert_true(pt_condition_is_always(&ranges.row));
    assert_false(ranges.nothing);
    ask_patterns("t6 = 'a*' AND t4 = 'ab' AND t3 = 'aa'");
    assert_interval(&ranges.partition, BYTES("aa"), BYTES("ab"));
    ask_patterns("t0 = 'ab' AND t6 = 'b*'");
    assert_true(ranges.nothing);
    ask_patterns("t6 = NULL");
    assert_true(ranges.nothing);
}

/* A pattern that begins with a wildcard leaves all partitions. */
static void a_pattern_may_scan_the_table(void **state)
{
    (void)state;
    unsigned alone = PT_PLAN_TERM(PT_TERM_PK_STARTS_WITH) | PT_PLAN_PK_PATTERN;
    unsigned bounded = alone | PT_PLAN_TERM(PT_TERM_PK_GE);
    ask_patterns("t6 = '*b'");
    assert_true(pt_ranges_scan_table(&ranges, alone));
    assert_false(pt_ranges_scan_table(&ranges, bounded));
    assert_false(pt_ranges_scan_table(&ranges, PT_PLAN_TERM(PT_TERM_PK_STARTS_WITH)));
    assert_true(pt_ranges_scan_table(&ranges, 0));
    ask_patterns("t6 = 'a*b'");
    assert_false(pt_ranges_scan_table(&ranges, alone));
    ask_patterns("t6 = NULL");
    assert_false(pt_ranges_scan_table(&ranges, alone));
}

static int set_ranges_that_are_refused(unsigned bits, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_ranges_set(&ranges, bits, argc, argv, &error), SQLITE_MISMATCH);
    bool of_partition = (bits & (PT_PLAN_TERM(PT_TERM_RK_EQ) - 1)) != 0;
    const char *key = of_partition ? "PartitionKey is" : "RowKey is";
    assert_memory_equal(error.message, key, strlen(key));
    pt_error_clear(&error);
    asked = true;
    return SQLITE_OK;
}

/* They may be meant as numbers ('5' and '05') or, from a column without a type, as no text at all.
 */
static void other_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "t0 = 5",
        "t0 = 2 + 3",
        "t0 = (SELECT 5)",
        "t2 = 2 + 3",
        "t5 = abs(-5.5)",
        "t7 = 2 + 3",
        "t12 = (SELECT 5)",
        "t1 IN (SELECT value FROM json_each('[5]'))",
        "t8 IN (SELECT value FROM json_each('[\"a\", 5.5]'))",
    };
    term_table_filter = set_ranges_that_are_refused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        asked = false;
        assert_int_equal(term_table_query(db, refused[i]), SQLITE_OK);
        assert_true(asked);
    }
}

static void lists_are_sorted_and_distinct(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    ask("t1 IN (WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
        "SELECT printf('%05d', 10007 * i % 3001) FROM n UNION ALL SELECT NULL UNION ALL "
        "SELECT '00001' UNION ALL SELECT x'61' UNION ALL SELECT 'a' || char(0) || 'b')");
    assert_true(ranges.partition.listed);
    assert_int_equal(ranges.partition.point_count, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        char expected[8];
        sqlite3_snprintf(sizeof expected, expected, "%05d", (int)i + 1);
        assert_bytes(ranges.partition.points[i], pt_slice_text(expected));
    }
    ask("t0 = 'b' AND t1 IN ('a', 'b', 'c') AND t8 IN ('x', 'z', 'y') AND t12 = 'y'");
    assert_int_equal(ranges.partition.point_count, 1);
    assert_bytes(ranges.partition.points[0], BYTES("b"));
    assert_int_equal(ranges.row.point_count, 2);
    assert_bytes(ranges.row.points[1], BYTES("y"));
}

/* --- Conditions from elsewhere --- */

static pt_key_condition listed(pt_slice *points, unsigned count)
{
    return (pt_key_condition){.points = points, .point_count = count, .listed = true};
}

static void more_conditions_narrow_ranges(void **state)
{
    (void)state;
    pt_slice points[] = {BYTES("a"), BYTES("b"), BYTES("c")};
    pt_slice entities[] = {BYTES("a\0x"), BYTES("b\0x"), BYTES("b\0y")};
    const pt_key_condition always = {0};
    const pt_key_condition list = listed(points, 3);
    const pt_key_condition entity_list = listed(entities, 3);
    const pt_key_condition from_b = {.interval = {.low = BYTES("b")}};
    ask("t4 = 'c'");
    assert_true(pt_ranges_restrict(&ranges, &from_b, &always, &always));
    assert_interval(&ranges.partition, BYTES("b"), BYTES("c"));
    assert_bytes(ranges.entity.interval.low, BYTES("b"));
    ask("t1 IN ('b', 'c', 'd') AND t4 = 'c'");
    assert_true(pt_ranges_restrict(&ranges, &list, &from_b, &always));
    assert_int_equal(ranges.partition.point_count, 1);
    assert_bytes(ranges.partition.points[0], BYTES("b"));
    assert_bytes(ranges.row.interval.low, BYTES("b"));
    ask("t0 = 'b' AND t11 = 'y'");
    assert_true(pt_ranges_restrict(&ranges, &always, &always, &entity_list));
    assert_int_equal(ranges.entity.point_count, 1);
    assert_bytes(ranges.entity.points[0], BYTES("b\0x"));
    assert_int_equal(entity_list.point_count, 3);
    assert_bytes(entities[0], BYTES("a\0x")); /* the given bytes have not changed */
    ask("t0 = 'x'");
    assert_true(pt_ranges_restrict(&ranges, &list, &always, &always));
    assert_true(ranges.nothing);
}

/* --- Failures --- */

static int set_a_list_that_is_none(unsigned bits, int argc, sqlite3_value **argv)
{
    (void)bits;
    pt_error error = PT_ERROR_NONE;
    int rc = pt_ranges_set(&ranges, PT_PLAN_TERM(PT_TERM_PK_IN), argc, argv, &error);
    assert_int_not_equal(rc, SQLITE_OK);
    assert_int_equal(error.rc, rc);
    assert_memory_equal(error.message, "the values of an IN cannot be read: ", 36);
    pt_error_clear(&error);
    asked = true;
    return SQLITE_OK;
}

static void a_list_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    asked = false;
    term_table_filter = set_a_list_that_is_none;
    assert_int_equal(term_table_query(db, "t0 = 'a'"), SQLITE_OK);
    assert_true(asked);
}

static int failing_at;
static bool failed;

static unsigned bits_with_failure;

static int set_with_failure(unsigned bits, int argc, sqlite3_value **argv)
{
    pt_ranges_free(&ranges);
    failing_malloc_arm(failing_at, false);
    int rc = set_ranges(bits | bits_with_failure, argc, argv);
    failed = failing_malloc_disarm();
    return rc;
}

static void row_ids_are_keys(void **state)
{
    (void)state;
    ask("t20 = 'a%2F/b'");
    assert_int_equal(ranges.entity.point_count, 1);
    assert_bytes(ranges.entity.points[0], BYTES("a/\0b"));
    ask("t21 IN ('a/b', 'a/a', 'a/%61', 'a/b', '', NULL, x'612f63', 5, 'a/a' || char(0))");
    assert_int_equal(ranges.entity.point_count, 2);
    assert_bytes(ranges.entity.points[0], BYTES("a\0a"));
    assert_bytes(ranges.entity.points[1], BYTES("a\0b"));
    ask("t21 IN (SELECT value FROM json_each('[1, 2.5, \"a/b\", null]'))");
    assert_int_equal(ranges.entity.point_count, 1);
    ask("t14 = x'610062' AND t20 = 'a/b'");
    assert_false(ranges.nothing);
    static const char *const nothing[] = {
        "t20 = 'a/%62'", "t20 = '_rowid_'",           "t20 = ''",
        "t20 = 5",       "t20 = x'612f62'",           "t20 = NULL",
        "t20 = 2.5",     "t20 = 'a/b' || char(0)",    "t20 = 'a' || char(0) || 'b'",
        "t20 = 'é/'",    "t21 IN ('a', 'b', 'a/b%')", "t20 = 'a/b' AND t14 = x'610063'"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        ask(nothing[i]);
        assert_true(ranges.nothing);
    }
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "t0 = 'a' AND t16 = zeroblob(10000) AND t13 = 7",
        "t1 IN (SELECT hex(zeroblob(2000)) || value FROM json_each('[1,2,3,4,5]')) AND t13 = 'a'",
        "t15 IN (x'610062', zeroblob(9000)) AND t4 = hex(zeroblob(5000))",
        "t20 = hex(zeroblob(5000)) || '/' || hex(zeroblob(5000))",
        "t21 IN (SELECT hex(zeroblob(2000)) || '/' || value FROM json_each('[1,2,3,4,5]'))",
        "t6 = hex(zeroblob(5000)) || '*'",
    };
    term_table_filter = set_with_failure;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        bits_with_failure = strncmp(queries[i], "t6 ", 3) == 0 ? PT_PLAN_PK_PATTERN : 0;
        failed = true;
        for (failing_at = 0; failed; failing_at++) {
            failed = false;
            asked = false;
            int rc = term_table_query(db, queries[i]);
            assert_true(asked);
            assert_int_equal(rc, failed ? SQLITE_NOMEM : SQLITE_OK);
        }
        assert_true(failing_at > 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_bounds_without_a_nul),
        cmocka_unit_test(blobs_are_bounds_of_any_bytes),
        cmocka_unit_test(partitions_bound_entities),
        cmocka_unit_test(what_always_holds_is_no_bound),
        cmocka_unit_test(contradictions_end_without_a_look),
        cmocka_unit_test(bound_integers_compare_as_texts),
        cmocka_unit_test(bound_reals_that_are_integers_compare_as_those),
        cmocka_unit_test(other_bound_reals_are_refused),
        cmocka_unit_test(a_prefix_is_always_a_text),
        cmocka_unit_test(a_pattern_is_its_literal_beginning),
        cmocka_unit_test(a_pattern_may_scan_the_table),
        cmocka_unit_test(other_numbers_are_refused),
        cmocka_unit_test(lists_are_sorted_and_distinct),
        cmocka_unit_test(more_conditions_narrow_ranges),
        cmocka_unit_test(a_list_that_cannot_be_read_is_an_error),
        cmocka_unit_test(row_ids_are_keys),
        cmocka_unit_test(running_out_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, open_term_table, close_term_table);
}
