#include "faults/failing_malloc.h"
#include "fixtures/range_model.h"
#include "unit/query/asked_ranges.h"

/* --- Expected steps, case by case --- */

static void assert_range(const pt_interval *range, pt_slice low, pt_slice high)
{
    assert_bytes(range->low, low);
    assert_true(range->bounded);
    assert_bytes(range->high, high);
}

static void assert_next(pt_slice at, pt_ranges_step step, pt_slice low, pt_slice high)
{
    pt_interval range;
    assert_int_equal(pt_ranges_next(&ranges, at, &range), step);
    assert_range(&range, low, high);
}

static void assert_previous(pt_slice at, pt_ranges_step step, pt_slice low, pt_slice high)
{
    pt_interval range;
    assert_int_equal(pt_ranges_previous(&ranges, &at, &range), step);
    assert_range(&range, low, high);
}

static void assert_end(pt_slice next_at, pt_slice previous_at)
{
    pt_interval range;
    assert_int_equal(pt_ranges_next(&ranges, next_at, &range), PT_RANGE_END);
    assert_int_equal(pt_ranges_previous(&ranges, &previous_at, &range), PT_RANGE_END);
}

static void a_condition_on_partitions_alone_is_one_range(void **state)
{
    (void)state;
    pt_interval range;
    ask("1");
    assert_int_equal(pt_ranges_next(&ranges, BYTES(""), &range), PT_RANGE_FOUND);
    assert_int_equal(range.low.size, 0);
    assert_false(range.bounded);
    assert_int_equal(pt_ranges_previous(&ranges, NULL, &range), PT_RANGE_FOUND);
    assert_int_equal(range.low.size, 0);
    assert_false(range.bounded);
    assert_previous(BYTES("x"), PT_RANGE_FOUND, BYTES(""), BYTES("x"));

    ask("t0 = 'a'");
    assert_next(BYTES(""), PT_RANGE_FOUND, BYTES("a\0"), BYTES("a\1"));
    assert_next(BYTES("a\0x"), PT_RANGE_FOUND, BYTES("a\0x"), BYTES("a\1"));
    assert_previous(BYTES("a\0x"), PT_RANGE_FOUND, BYTES("a\0"), BYTES("a\0x"));
    assert_end(BYTES("a\1"), BYTES("a\0"));

    ask("t2 = 'a' AND t4 = 'c'");
    assert_next(BYTES(""), PT_RANGE_FOUND, BYTES("a\1"), BYTES("c"));
    assert_next(BYTES("b\0x"), PT_RANGE_FOUND, BYTES("b\0x"), BYTES("c"));
    assert_previous(BYTES("z"), PT_RANGE_FOUND, BYTES("a\1"), BYTES("c"));
    assert_end(BYTES("c"), BYTES("a\1"));

    ask("t6 = 'ab' AND t16 = x'61620063'");
    assert_next(BYTES(""), PT_RANGE_FOUND, BYTES("ab\0c\0"), BYTES("ab\xFF"));
}

static void listed_keys_are_one_range_each(void **state)
{
    (void)state;
    ask("t1 IN ('q', 'p', 'q') AND t8 IN ('b', '')");
    assert_next(BYTES(""), PT_RANGE_FOUND, BYTES("p\0"), BYTES("p\0\0"));
    assert_next(BYTES("p\0\0"), PT_RANGE_FOUND, BYTES("p\0b"), BYTES("p\0b\0"));
    assert_next(BYTES("p\0c"), PT_RANGE_FOUND, BYTES("q\0"), BYTES("q\0\0"));
    assert_next(BYTES("q\0a"), PT_RANGE_FOUND, BYTES("q\0b"), BYTES("q\0b\0"));
    assert_previous(BYTES("q\0b"), PT_RANGE_FOUND, BYTES("q\0"), BYTES("q\0\0"));
    assert_previous(BYTES("q\0"), PT_RANGE_FOUND, BYTES("p\0b"), BYTES("p\0b\0"));
    assert_end(BYTES("q\0b\0"), BYTES("p\0"));

    ask("t15 IN (x'610062', x'610061', x'ff', x'620063') AND t9 = 'a'");
    assert_next(BYTES(""), PT_RANGE_FOUND, BYTES("a\0b"), BYTES("a\0b\0"));
    assert_next(BYTES("a\0b\0"), PT_RANGE_FOUND, BYTES("b\0c"), BYTES("b\0c\0"));
    assert_end(BYTES("b\0c\0"), BYTES("a\0b"));

    ask("t0 = 'p' AND t7 = 'r'");
    assert_next(BYTES(""), PT_RANGE_FOUND, BYTES("p\0r"), BYTES("p\0r\0"));
    assert_end(BYTES("p\0r\0"), BYTES("p\0r"));
}

static void rows_of_unknown_partitions_are_probed_for(void **state)
{
    (void)state;
    pt_interval range;
    ask("t10 = 'm' AND t11 = 'p'");
    assert_int_equal(pt_ranges_next(&ranges, BYTES(""), &range), PT_RANGE_PROBE);
    assert_bytes(range.low, BYTES(""));
    assert_next(BYTES("a\0b"), PT_RANGE_FOUND, BYTES("a\0m"), BYTES("a\0p"));
    assert_next(BYTES("a\0n"), PT_RANGE_FOUND, BYTES("a\0n"), BYTES("a\0p"));
    assert_int_equal(pt_ranges_next(&ranges, BYTES("a\0p"), &range), PT_RANGE_PROBE);
    assert_bytes(range.low, BYTES("a\1"));

    assert_int_equal(pt_ranges_previous(&ranges, NULL, &range), PT_RANGE_PROBE);
    assert_false(range.bounded);
    assert_previous(BYTES("a\0z\0"), PT_RANGE_FOUND, BYTES("a\0m"), BYTES("a\0p"));
    pt_slice at = BYTES("a\0m");
    assert_int_equal(pt_ranges_previous(&ranges, &at, &range), PT_RANGE_PROBE);
    assert_true(range.bounded);
    assert_bytes(range.high, BYTES("a\0"));

    ask("t10 = 'm' AND t3 = 'b' AND t4 = 'c'");
    assert_next(BYTES(""), PT_RANGE_PROBE, BYTES("b"), BYTES("c"));
    assert_next(BYTES("bb\0z"), PT_RANGE_FOUND, BYTES("bb\0z"), BYTES("bb\1"));
    assert_previous(BYTES("bb\0m"), PT_RANGE_PROBE, BYTES("b"), BYTES("bb\0"));
    assert_end(BYTES("c"), BYTES("b"));
}

/* --- Against the model --- */

enum { STEPS_MAX = 2000 };

static pt_slice key_slice(int i)
{
    return pt_slice_of(model.keys[i].bytes, model.keys[i].size);
}

/* The first key >= bound. */
static int keys_before(pt_slice bound)
{
    int i = 0;
    while (i < model.key_count && pt_slice_compare(key_slice(i), bound) < 0) {
        i++;
    }
    return i;
}

/* Delivers key after key; every one must be the next that is expected. */
static void deliver(int *next_expected, int step, int index)
{
    while (*next_expected != index) {
        assert_in_range(*next_expected, 0, model.key_count - 1);
        assert_false(model.expected[*next_expected]);
        *next_expected += step;
    }
    assert_true(model.expected[index]);
    *next_expected += step;
}

static void assert_no_more(int next_expected, int step)
{
    for (int i = next_expected; i >= 0 && i < model.key_count; i += step) {
        assert_false(model.expected[i]);
    }
}

/* A position as one to ask at. */
static pt_slice keep_position(pt_slice position)
{
    static uint8_t kept[sizeof model.keys[0].bytes * 2];
    assert_true(position.size <= sizeof kept);
    memmove(kept, position.data, position.size);
    return pt_slice_of(kept, position.size);
}

/* False if memory ran out. */
static bool run_forward(pt_slice start)
{
    pt_slice at = start;
    int next = keys_before(start);
    for (int steps = 0;; steps++) {
        assert_true(steps < STEPS_MAX);
        pt_interval range = {0};
        pt_ranges_step step = pt_ranges_next(&ranges, at, &range);
        if (step == PT_RANGE_NOMEM) {
            return false;
        }
        int i = step == PT_RANGE_END ? model.key_count : keys_before(range.low);
        if (step == PT_RANGE_FOUND) {
            int end = range.bounded ? keys_before(range.high) : model.key_count;
            for (; i < end; i++) {
                deliver(&next, 1, i);
            }
        }
        if (i == model.key_count) {
            assert_no_more(next, 1);
            return true;
        }
        at = step == PT_RANGE_FOUND && random_below(2) == 0 ? keep_position(range.high)
                                                            : key_slice(i);
    }
}

/* A position just behind key `i`. */
static pt_slice behind_key(int i)
{
    static uint8_t position[sizeof model.keys[0].bytes + 1];
    memcpy(position, model.keys[i].bytes, model.keys[i].size);
    position[model.keys[i].size] = 0;
    return pt_slice_of(position, model.keys[i].size + 1);
}

static bool run_backward(const pt_slice *start)
{
    pt_slice at = start != NULL ? *start : (pt_slice){0};
    bool bounded = start != NULL;
    int next = (bounded ? keys_before(at) : model.key_count) - 1;
    for (int steps = 0;; steps++) {
        assert_true(steps < STEPS_MAX);
        pt_interval range = {0};
        pt_ranges_step step = pt_ranges_previous(&ranges, bounded ? &at : NULL, &range);
        if (step == PT_RANGE_NOMEM) {
            return false;
        }
        int i = (range.bounded ? keys_before(range.high) : model.key_count) - 1;
        if (step == PT_RANGE_FOUND) {
            for (; i >= keys_before(range.low); i--) {
                deliver(&next, -1, i);
            }
        }
        if (step == PT_RANGE_END || i < 0) {
            assert_no_more(next, -1);
            return true;
        }
        at = step == PT_RANGE_FOUND && random_below(2) == 0 ? keep_position(range.low)
                                                            : behind_key(i);
        bounded = true;
    }
}

static bool run_all_ways(void)
{
    argument start = random_blob();
    pt_slice at = pt_slice_of(start.bytes, start.size);
    return run_forward((pt_slice){0}) && run_backward(NULL) && run_forward(at) && run_backward(&at);
}

static int run_model(unsigned bits, int argc, sqlite3_value **argv)
{
    assert_int_equal(bits, model.bits);
    int rc = set_ranges(bits, argc, argv);
    return rc == SQLITE_OK && !run_all_ways() ? SQLITE_NOMEM : rc;
}

static void bind_argument(sqlite3_stmt *statement, int parameter, const argument *value)
{
    switch (value->type) {
    case SQLITE_TEXT:
        sqlite3_bind_text(statement, parameter, (const char *)value->bytes, (int)value->size,
                          SQLITE_TRANSIENT);
        break;
    case SQLITE_BLOB:
        sqlite3_bind_blob(statement, parameter, value->bytes, (int)value->size, SQLITE_TRANSIENT);
        break;
    case SQLITE_INTEGER:
        sqlite3_bind_int64(statement, parameter, strtoll((const char *)value->bytes, NULL, 10));
        break;
    default:
        sqlite3_bind_null(statement, parameter);
    }
}

/* The query with the model's terms. A list of IN with one value would come as an equality. */
static sqlite3_stmt *prepare_model(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT 1 FROM terms WHERE 1");
    for (int term = 0; term < PT_TERM_COUNT; term++) {
        if ((model.bits & PT_PLAN_TERM(term)) != 0 && is_in_term(term)) {
            int first = term * LIST_MAX + 1;
            sqlite3_str_appendf(sql, " AND t%d IN (?%d, ?%d, ?%d, ?%d)", term, first, first + 1,
                                first + 2, first + 3);
        } else if ((model.bits & PT_PLAN_TERM(term)) != 0) {
            sqlite3_str_appendf(sql, " AND t%d = ?%d", term, term * LIST_MAX + 1);
        }
    }
    char *text = sqlite3_str_finish(sql);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, text, -1, &statement, NULL), SQLITE_OK);
    sqlite3_free(text);
    for (int term = 0; term < PT_TERM_COUNT; term++) {
        for (int i = 0; (model.bits & PT_PLAN_TERM(term)) != 0 && i < LIST_MAX; i++) {
            int value = i < model.counts[term] ? i : 0;
            bind_argument(statement, term * LIST_MAX + 1 + i, &model.arguments[term][value]);
        }
    }
    return statement;
}

static sqlite3_stmt *make_model(void)
{
    make_keys();
    make_terms();
    sqlite3_stmt *statement = prepare_model();
    find_expected();
    return statement;
}

static void every_matching_key_comes_once_in_order(void **state)
{
    (void)state;
    term_table_filter = run_model;
    for (int round = 0; round < 8000; round++) {
        sqlite3_stmt *statement = make_model();
        asked = false;
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        assert_true(asked);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    }
}

/* --- Out of memory --- */

static int failing_at;
static bool failed;

static int run_model_with_failure(unsigned bits, int argc, sqlite3_value **argv)
{
    pt_ranges_free(&ranges);
    failing_malloc_arm(failing_at, false);
    int rc = run_model(bits, argc, argv);
    failed = failing_malloc_disarm();
    return rc;
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
    term_table_filter = run_model_with_failure;
    for (int round = 0; round < 200; round++) {
        sqlite3_stmt *statement = make_model();
        failed = true;
        for (failing_at = 0; failed; failing_at++) {
            asked = false;
            int rc = sqlite3_step(statement);
            assert_true(asked);
            assert_int_equal(rc, failed ? SQLITE_NOMEM : SQLITE_DONE);
            sqlite3_reset(statement);
        }
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    }
}

/* The lists of a filter are copied. */
static void restricting_takes_memory(void **state)
{
    (void)state;
    pt_slice point = pt_slice_text("1");
    const pt_key_condition all = {0};
    const pt_key_condition one = {.listed = true, .points = &point, .point_count = 1};
    for (int listed = 0; listed < 3; listed++) {
        pt_ranges restricted = {0};
        failing_malloc_arm(0, false);
        assert_false(pt_ranges_restrict(&restricted, listed == 0 ? &one : &all,
                                        listed == 1 ? &one : &all, listed == 2 ? &one : &all));
        assert_true(failing_malloc_disarm());
        pt_ranges_free(&restricted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_on_partitions_alone_is_one_range),
        cmocka_unit_test(listed_keys_are_one_range_each),
        cmocka_unit_test(rows_of_unknown_partitions_are_probed_for),
        cmocka_unit_test(every_matching_key_comes_once_in_order),
        cmocka_unit_test(running_out_of_memory_is_told),
        cmocka_unit_test(restricting_takes_memory),
    };
    return cmocka_run_group_tests(tests, open_term_table, close_term_table);
}
