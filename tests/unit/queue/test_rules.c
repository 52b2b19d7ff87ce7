#include "fixtures/value_fixture.h"

#include "faults/failing_malloc.h"

#include "base/ticks.h"
#include "queue/rules.h"

#define SECOND PT_TICKS_PER_SECOND
#define WEEK (604800 * SECOND)

enum { ANY = 1, AZURE = 2, BOTH = ANY | AZURE }; /* where something is allowed */

typedef int (*read_ticks)(bool azure, sqlite3_value *value, int64_t *ticks, pt_error *error);

static int read_delay(bool azure, sqlite3_value *value, int64_t *ticks, pt_error *error)
{
    return pt_queue_read_insert_timeout(azure, value, 60 * SECOND, ticks, error);
}

typedef struct rule_case {
    read_ticks read;
    const char *given;
    unsigned allowed;
    int64_t ticks;
    int code;         /* where it is not allowed */
    const char *text; /* that is said then */
} rule_case;

#define RANGE SQLITE_CONSTRAINT_VTAB, "OutOfRangeQueryParameterValue"
#define TYPE SQLITE_MISMATCH, "InvalidQueryParameterValue"

static const rule_case cases[] = {
    {pt_queue_read_get_timeout, "30", BOTH, 30 * SECOND, RANGE},
    {pt_queue_read_get_timeout, "'30'", BOTH, 30 * SECOND, RANGE},
    {pt_queue_read_get_timeout, "30.0", BOTH, 30 * SECOND, RANGE},
    {pt_queue_read_get_timeout, "'3e1'", BOTH, 30 * SECOND, RANGE},
    {pt_queue_read_get_timeout, "0.25", ANY, SECOND / 4, RANGE},
    {pt_queue_read_get_timeout, "0.0000001", ANY, 1, RANGE},
    {pt_queue_read_get_timeout, "1", BOTH, SECOND, RANGE},
    {pt_queue_read_get_timeout, "604800", BOTH, WEEK, RANGE},
    {pt_queue_read_get_timeout, "604801", ANY, WEEK + SECOND, RANGE},
    {pt_queue_read_get_timeout, "1e300", ANY, PT_TICKS_MAX, RANGE},
    {pt_queue_read_get_timeout, "9e999", ANY, PT_TICKS_MAX, RANGE},
    {pt_queue_read_get_timeout, "9223372036854775807", ANY, PT_TICKS_MAX, RANGE},
    {pt_queue_read_get_timeout, "0", 0, 0, RANGE},
    {pt_queue_read_get_timeout, "0.00000001", 0, 0, RANGE},
    {pt_queue_read_get_timeout, "-1", 0, 0, RANGE},
    {pt_queue_read_get_timeout, "-9223372036854775807 - 1", 0, 0, RANGE},
    {pt_queue_read_get_timeout, "NULL", 0, 0, TYPE},
    {pt_queue_read_get_timeout, "''", 0, 0, TYPE},
    {pt_queue_read_get_timeout, "'1 s'", 0, 0, TYPE},
    {pt_queue_read_get_timeout, "'NaN'", 0, 0, TYPE},
    {pt_queue_read_get_timeout, "x'31'", 0, 0, TYPE},
    {pt_queue_read_update_timeout, "0", BOTH, 0, RANGE},
    {pt_queue_read_update_timeout, "0.5", ANY, SECOND / 2, RANGE},
    {pt_queue_read_update_timeout, "604800", BOTH, WEEK, RANGE},
    {pt_queue_read_update_timeout, "604801", ANY, WEEK + SECOND, RANGE},
    {pt_queue_read_update_timeout, "-1", 0, 0, RANGE},
    {pt_queue_read_update_timeout, "NULL", 0, 0, TYPE},
    {read_delay, "NULL", BOTH, 0, RANGE},
    {read_delay, "0", BOTH, 0, RANGE},
    {read_delay, "59", BOTH, 59 * SECOND, RANGE},
    {read_delay, "60", ANY, 60 * SECOND, RANGE},
    {read_delay, "-0.1", 0, 0, RANGE},
    {read_delay, "'no'", 0, 0, TYPE},
    {pt_queue_read_time_to_live, "-1", BOTH, PT_TICKS_MAX, RANGE},
    {pt_queue_read_time_to_live, "-1.0", BOTH, PT_TICKS_MAX, RANGE},
    {pt_queue_read_time_to_live, "1", BOTH, SECOND, RANGE},
    {pt_queue_read_time_to_live, "99999999", BOTH, 99999999 * SECOND, RANGE},
    {pt_queue_read_time_to_live, "1e99", BOTH, PT_TICKS_MAX, RANGE},
    {pt_queue_read_time_to_live, "0.5", ANY, SECOND / 2, RANGE},
    {pt_queue_read_time_to_live, "0", 0, 0, RANGE},
    {pt_queue_read_time_to_live, "-2", 0, 0, RANGE},
    {pt_queue_read_time_to_live, "'never'", 0, 0, TYPE},
    {pt_queue_read_count, "1", BOTH, 1, RANGE},
    {pt_queue_read_count, "'32'", BOTH, 32, RANGE},
    {pt_queue_read_count, "33", ANY, 33, RANGE},
    {pt_queue_read_count, "0", 0, 0, RANGE},
    {pt_queue_read_count, "-5", 0, 0, RANGE},
    {pt_queue_read_count, "1.0", BOTH, 1, RANGE},
    {pt_queue_read_count, "1e3", ANY, 1000, RANGE},
    {pt_queue_read_count, "9007199254740992.0", ANY, 9007199254740992, RANGE},
    {pt_queue_read_count, "9007199254740994.0", 0, 0, TYPE},
    {pt_queue_read_count, "-0.0", 0, 0, RANGE},
    {pt_queue_read_count, "1.5", 0, 0, TYPE},
    {pt_queue_read_count, "9e999", 0, 0, TYPE},
    {pt_queue_read_count, "NULL", 0, 0, TYPE},
};

static void numbers_are_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        const rule_case *rule = &cases[i / 2];
        bool azure = i % 2 == 1;
        bool allowed = (rule->allowed & (azure ? AZURE : ANY)) != 0;
        sqlite3_value *value = value_of(rule->given);
        pt_error error = PT_ERROR_NONE;
        int64_t ticks = -77;
        int rc = rule->read(azure, value, &ticks, &error);
        if (rc != (allowed ? SQLITE_OK : rule->code) || (allowed && ticks != rule->ticks) ||
            (!allowed && strstr(error.message, rule->text) == NULL)) {
            fail_msg("%s, azure %d: %d, %lld, %s", rule->given, azure, rc, (long long)ticks,
                     error.message);
        }
        pt_error_clear(&error);
        sqlite3_value_free(value);
    }
}

/* In the other encoding a text must be converted, which takes memory. */
static void out_of_memory_is_no_refusal(void **state)
{
    (void)state;
    static const read_ticks readers[] = {pt_queue_read_get_timeout, pt_queue_read_update_timeout,
                                         read_delay, pt_queue_read_time_to_live,
                                         pt_queue_read_count};
    sqlite3 *other = open_database();
    assert_int_equal(sqlite3_exec(other, "PRAGMA encoding = 'UTF-16le'", NULL, NULL, NULL), 0);
    for (size_t i = 0; i < COUNT(readers); i++) {
        sqlite3_value *value = value_in(other, "'30'");
        pt_error error = PT_ERROR_NONE;
        int64_t number;
        failing_malloc_arm(0, false);
        assert_int_equal(readers[i](false, value, &number, &error), SQLITE_NOMEM);
        assert_true(failing_malloc_disarm());
        assert_null(error.message);
        sqlite3_value_free(value);
    }
    sqlite3_close(other);
}

static void without_a_time_to_live_only_azure_forgets(void **state)
{
    (void)state;
    sqlite3_value *null = value_of("NULL");
    int64_t ticks = 0;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_queue_read_time_to_live(false, null, &ticks, &error), SQLITE_OK);
    assert_int_equal(ticks, PT_TICKS_MAX);
    assert_int_equal(pt_queue_read_time_to_live(true, null, &ticks, &error), SQLITE_OK);
    assert_int_equal(ticks, WEEK);
    sqlite3_value_free(null);
}

static void the_calendar_ends(void **state)
{
    (void)state;
    assert_int_equal(pt_queue_later(5, 6), 11);
    assert_int_equal(pt_queue_later(5, PT_TICKS_MAX), PT_TICKS_MAX);
    assert_int_equal(pt_queue_later(PT_TICKS_MAX, PT_TICKS_MAX), PT_TICKS_MAX);
    assert_int_equal(pt_queue_later(PT_TICKS_MAX - 1, 1), PT_TICKS_MAX);
}

static void assert_body(bool azure, const char *given, int code, pt_type type, size_t size)
{
    sqlite3_value *value = value_of(given);
    pt_error error = PT_ERROR_NONE;
    pt_value body = {.type = PT_NONE};
    assert_int_equal(pt_queue_read_body(azure, value, &body, &error), code);
    if (code == SQLITE_OK) {
        assert_int_equal(body.type, type);
        assert_int_equal(body.bytes.size, size);
    } else {
        assert_non_null(strstr(error.message, "Body "));
    }
    pt_error_clear(&error);
    sqlite3_value_free(value);
}

static void bodies_are_texts_and_blobs(void **state)
{
    (void)state;
    for (int azure = 0; azure < 2; azure++) {
        assert_body(azure, "'text'", SQLITE_OK, PT_STRING, 4);
        assert_body(azure, "''", SQLITE_OK, PT_STRING, 0);
        assert_body(azure, "x''", SQLITE_OK, PT_BINARY, 0);
        assert_body(azure, "'a' || char(0) || 'é'", SQLITE_OK, PT_STRING, 4);
        assert_body(azure, "zeroblob(65536)", SQLITE_OK, PT_BINARY, 65536);
        assert_body(azure, "NULL", SQLITE_CONSTRAINT_NOTNULL, PT_NONE, 0);
        assert_body(azure, "7", SQLITE_MISMATCH, PT_NONE, 0);
        assert_body(azure, "7.5", SQLITE_MISMATCH, PT_NONE, 0);
    }
    assert_body(false, "zeroblob(65537)", SQLITE_OK, PT_BINARY, 65537);
    assert_body(true, "zeroblob(65537)", SQLITE_CONSTRAINT_VTAB, PT_NONE, 0);
    assert_body(true, "hex(zeroblob(32768)) || 'é'", SQLITE_CONSTRAINT_VTAB, PT_NONE, 0);
}

static void assert_name(bool azure, const char *name, bool has_poison, int code, const char *text)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_queue_check_name(azure, name, has_poison, &error);
    if (rc != code || (code != SQLITE_OK && strstr(error.message, text) == NULL)) {
        fail_msg("%s: %d, %s", name, rc, error.message);
    }
    pt_error_clear(&error);
}

static void names_are_those_of_the_service(void **state)
{
    (void)state;
    static const char *const wrong[] = {"Jobs",   "my_jobs", "jobs-", "-jobs",
                                        "jo--bs", "jöbs",    "jobs~"};
    static const char *const right[] = {"abc", "123", "a-b-c", "0-0"};
    char name[500];
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_name(true, wrong[i], false, SQLITE_CONSTRAINT_VTAB, "(InvalidResourceName)");
        assert_name(false, wrong[i], true, SQLITE_OK, "");
    }
    for (size_t i = 0; i < COUNT(right); i++) {
        assert_name(true, right[i], true, SQLITE_OK, "");
    }
    assert_name(true, "ab", false, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeInput)");
    memset(name, 'a', sizeof name);
    name[64] = 0;
    assert_name(true, name, false, SQLITE_CONSTRAINT_VTAB, "64 characters");
    name[63] = 0;
    assert_name(true, name, false, SQLITE_OK, "");
    assert_name(true, name, true, SQLITE_CONSTRAINT_VTAB, "max_dequeue_count=0");
    name[56] = 0;
    assert_name(true, name, true, SQLITE_OK, "");
}

static void poison_queues_need_names_that_fit(void **state)
{
    (void)state;
    char name[501];
    memset(name, 'a', sizeof name);
    name[494] = 0;
    assert_name(false, name, true, SQLITE_TOOBIG, "longer than 500");
    assert_name(false, name, false, SQLITE_OK, "");
    name[493] = 0;
    assert_name(false, name, true, SQLITE_OK, "");
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_or_refused),
        cmocka_unit_test(out_of_memory_is_no_refusal),
        cmocka_unit_test(without_a_time_to_live_only_azure_forgets),
        cmocka_unit_test(the_calendar_ends),
        cmocka_unit_test(bodies_are_texts_and_blobs),
        cmocka_unit_test(names_are_those_of_the_service),
        cmocka_unit_test(poison_queues_need_names_that_fit),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
