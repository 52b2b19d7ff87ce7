#include "fixtures/cmocka.h"

#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

#include "base/ticks.h"

#define TICKS_PER_DAY (INT64_C(86400) * PT_TICKS_PER_SECOND)

static int64_t parsed(const char *text)
{
    int64_t ticks = -1;
    if (!pt_ticks_parse(pt_slice_text(text), &ticks)) {
        fail_msg("refused: %s", text);
    }
    return ticks;
}

static void assert_format(int64_t ticks, const char *expected)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    memset(text, 'x', sizeof text);
    pt_ticks_format(ticks, text);
    assert_string_equal(text, expected);
}

static void published_vectors_agree(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t inverted; /* PT_TICKS_MAX - ticks */
    } vectors[] = {
        {"2014-07-31T15:04:05.0000000Z", INT64_C(2519954817549999999)},
        {"1970-01-01T00:00:00.0000000Z", INT64_C(2534023007999999999)},
        {"9999-12-31T23:59:59.9999999Z", 0},
        {"0001-01-01T00:00:00.0000000Z", INT64_C(3155378975999999999)},
    };
    for (unsigned i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        int64_t ticks = INT64_C(3155378975999999999) - vectors[i].inverted;
        assert_int_equal(parsed(vectors[i].text), ticks);
        assert_format(ticks, vectors[i].text);
    }
    assert_int_equal(parsed("9999-12-31T23:59:59.9999999Z"), PT_TICKS_MAX);
    assert_int_equal(parsed("1970-01-01"), PT_TICKS_UNIX_EPOCH);
    assert_int_equal(parsed("1601-01-01"), INT64_C(504911232000000000));
}

static void expect_same_with_offset(const char *without_zone)
{
    char z[40];
    char offset[40];
    snprintf(z, sizeof z, "%sZ", without_zone);
    snprintf(offset, sizeof offset, "%s+00:00", without_zone);
    int64_t read = -1;
    int64_t expected = -1;
    const char *rule = pt_ticks_read(pt_slice_text(z), &read);
    const char *expected_rule = pt_ticks_read(pt_slice_text(offset), &expected);
    if (read != expected || rule != expected_rule) {
        fail_msg("%s: %lld %s, not %lld %s", z, (long long)read, rule != NULL ? rule : "",
                 (long long)expected, expected_rule != NULL ? expected_rule : "");
    }
}

/* Texts of the usual form are read eight bytes at a time; with another time zone they are not. */
static void the_usual_form_is_read_as_any_other(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "2026-11-22T21:42:59",         "2024-02-29T00:00:00.0000000", "0001-01-01T00:00:00",
        "9999-12-31T23:59:59.9999999", "2000-10-30T19:08:07.1234567", "1900-02-28T09:30:00",
        "2026-11-22T21:42:59.123456",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[PT_DATETIME_TEXT_SIZE];
        snprintf(text, sizeof text, "%s", texts[i]);
        expect_same_with_offset(text);
        for (size_t at = 0; at < strlen(texts[i]); at++) {
            for (const char *byte = "0123456789/:-+T .Zz\x80\xff\x01"; *byte != 0; byte++) {
                text[at] = *byte;
                expect_same_with_offset(text);
            }
            text[at] = texts[i][at];
        }
    }
}

static int month_length(int year, int month)
{
    if (month == 2) {
        bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        return leap ? 29 : 28;
    }
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* Counts all days from 0001 to 9999 one by one. */
static void every_day_is_where_counting_puts_it(void **state)
{
    (void)state;
    int64_t days = 0;
    for (int year = 1; year <= 9999; year++) {
        for (int month = 1; month <= 12; month++) {
            char expected[64];
            snprintf(expected, sizeof expected, "%04d-%02d-01T00:00:00.0000000Z", year, month);
            for (int day = 1; day <= month_length(year, month); day++, days++) {
                expected[8] = (char)('0' + day / 10);
                expected[9] = (char)('0' + day % 10);
                char text[PT_DATETIME_TEXT_SIZE + 1];
                pt_ticks_format(days * TICKS_PER_DAY, text);
                int64_t ticks = -1;
                if (memcmp(text, expected, sizeof text) != 0 ||
                    !pt_ticks_parse(pt_slice_of(expected, 10), &ticks) ||
                    ticks != days * TICKS_PER_DAY) {
                    fail_msg("%s is %s, %lld ticks", expected, text, (long long)ticks);
                }
            }
        }
    }
    assert_int_equal(days * TICKS_PER_DAY - 1, PT_TICKS_MAX);
}

static void days_that_do_not_exist_are_refused(void **state)
{
    (void)state;
    for (int year = 1; year <= 9999; year += year < 1899 || year > 2101 ? 97 : 1) {
        for (int month = 0; month <= 13; month++) {
            for (int day = 0; day <= 32; day++) {
                char text[40];
                snprintf(text, sizeof text, "%04d-%02d-%02d", year, month, day);
                bool exists =
                    month >= 1 && month <= 12 && day >= 1 && day <= month_length(year, month);
                int64_t ticks;
                assert_int_equal(pt_ticks_parse(pt_slice_text(text), &ticks), exists);
            }
        }
    }
}

static void all_forms_are_read(void **state)
{
    (void)state;
    int64_t day = parsed("2026-11-21");
    int64_t second = PT_TICKS_PER_SECOND;
    static const struct {
        const char *text;
        int64_t minutes;
        int64_t ticks;
    } forms[] = {
        {"2026-11-21 08:43", 523, 0},
        {"2026-11-21T08:43", 523, 0},
        {"2026-11-21T08:43Z", 523, 0},
        {"2026-11-21T08:43z", 523, 0},
        {"2026-11-21 08:43:22", 523, 220000000},
        {"2026-11-21 08:43:22.5", 523, 225000000},
        {"2026-11-21 08:43:22.5484454", 523, 225484454},
        {"2026-11-21 08:43:22.5484454Z", 523, 225484454},
        {"2026-11-21 08:43:22.54844540000", 523, 225484454},
        {"2026-11-21 08:43:22.000000100000000000000000000000000000Z", 523, 220000001},
        {"2026-11-21T08:43+01:00", 463, 0},
        {"2026-11-21T08:43:22.5-02:30", 673, 225000000},
        {"2026-11-21T08:43+00:00", 523, 0},
        {"2026-11-21T08:43-00:00", 523, 0},
        {"2026-11-21T08:43+14:00", -317, 0},
        {"2026-11-21T08:43-14:00", 1363, 0},
        {"2026-11-21T23:59:59.9999999", 1439, 599999999},
    };
    for (unsigned i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        assert_int_equal(parsed(forms[i].text),
                         day + forms[i].minutes * 60 * second + forms[i].ticks);
    }
}

static void a_refused_text_breaks_a_rule(void **state)
{
    (void)state;
    static const char date[] = "it does not begin with a date YYYY-MM-DD";
    static const char end[] =
        "its date is followed by something other than a space or T and a time";
    static const char time[] = "its date is not followed by a time HH:MM or HH:MM:SS";
    static const char range[] = "its time is not from 00:00:00 to 23:59:59";
    static const char zone[] = "its time is followed by something other than Z, +HH:MM or -HH:MM";
    static const char offset[] = "its offset from UTC is not written +HH:MM or -HH:MM";
    static const char far[] = "its offset from UTC is more than 14:00";
    static const char years[] = "in UTC it is not in a year from 0001 to 9999";
    static const struct {
        const char *text;
        const char *rule;
    } cases[] = {
        {"", date},
        {"now", date},
        {"26-11-21", date},
        {"2026/11/21", date},
        {"2026-11/21", date},
        {"2026-1-21", date},
        {"2026-11-2", date},
        {"10000-01-01", date},
        {"2026-00-01", "its month is not from 01 to 12"},
        {"2026-13-01", "its month is not from 01 to 12"},
        {"2026-02-29", "its month has no such day"},
        {"2026-04-00", "its month has no such day"},
        {"2026-11-21Z", end},
        {"2026-11-21+01:00", end},
        {"2026-11-21_08:43", end},
        {"2026-11-21T", time},
        {"2026-11-21 8:43", time},
        {"2026-11-21 08.43", time},
        {"2026-11-21 08:4", time},
        {"2026-11-21 08:43:", time},
        {"2026-11-21 08:43:2", time},
        {"2026-11-21 24:00", range},
        {"2026-11-21 08:60", range},
        {"2026-11-21 08:43:60", range},
        {"2026-11-21 08:43:22.", "no digit follows the point of its seconds"},
        {"2026-11-21 08:43:22.12345678", "its seconds have more than 7 digits after the point"},
        {"2026-11-21 08:43 Z", zone},
        {"2026-11-21 08:43:22,5", zone},
        {"2026-11-21 08:43+0100", offset},
        {"2026-11-21 08:43+1:00", offset},
        {"2026-11-21 08:43+01:0", offset},
        {"2026-11-21 08:43+14:01", far},
        {"2026-11-21 08:43-15:00", far},
        {"2026-11-21 08:43+01:60", "its offset from UTC has more than 59 minutes"},
        {"2026-11-21 08:43Zulu", "something follows its end"},
        {"2026-11-21 08:43+01:00 CET", "something follows its end"},
        {"0000-01-01", years},
        {"0001-01-01 00:00+00:01", years},
        {"9999-12-31 23:59-00:01", years},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *rule = pt_ticks_broken_rule(pt_slice_text(cases[i].text));
        assert_non_null(rule);
        assert_string_equal(rule, cases[i].rule);
    }
    assert_null(pt_ticks_broken_rule(pt_slice_text("2026-11-21")));
}

static void the_ends_of_time_hold_in_utc(void **state)
{
    (void)state;
    int64_t ticks = 42;
    assert_int_equal(parsed("0001-01-01T01:00+01:00"), 0);
    assert_int_equal(parsed("0000-12-31T23:00-01:00"), 0);
    assert_int_equal(parsed("9999-12-31T22:59:59.9999999-01:00"), PT_TICKS_MAX);
    assert_false(pt_ticks_parse(pt_slice_text("0001-01-01T00:59+01:00"), &ticks));
    assert_false(pt_ticks_parse(pt_slice_text("0000-12-31T22:59-01:00"), &ticks));
    assert_false(pt_ticks_parse(pt_slice_text("9999-12-31T23:00-01:00"), &ticks));
    assert_false(pt_ticks_parse(pt_slice_text("0000-12-31"), &ticks));
    assert_false(pt_ticks_parse(pt_slice_text("0000-01-01"), &ticks));
    assert_int_equal(ticks, 42);
}

static const char *const refused_texts[] = {
    "",
    "now",
    "2026",
    "2026-11",
    "2026-1-21",
    "26-11-21",
    "12026-11-21",
    "-2026-11-21",
    "+2026-11-21",
    "2026/11/21",
    "20261121",
    "2026-11-21T",
    "2026-11-21 ",
    " 2026-11-21",
    "2026-11-21Z",
    "2026-11-21+01:00",
    "2026-11-21  08:43",
    "2026-11-21t08:43",
    "2026-11-21T 08:43",
    "2026-11-21\t08:43",
    "2026-11-21T08",
    "2026-11-21T8:43",
    "2026-11-21T08:4",
    "2026-11-21T24:00",
    "2026-11-21T24:00:00",
    "2026-11-21T08:60",
    "2026-11-21T08:43:60",
    "2026-11-21T08:43:",
    "2026-11-21T08:43:2",
    "2026-11-21T08:43.5",
    "2026-11-21T08:43:22.",
    "2026-11-21T08:43:22.Z",
    "2026-11-21T08:43:22,5",
    "2026-11-21T08:43:22.54844541",
    "2026-11-21T08:43:22.00000000000000000000000000000000001",
    "2026-11-21T08:43 ",
    "2026-11-21T08:43 Z",
    "2026-11-21T08:43ZZ",
    "2026-11-21T08:43Z ",
    "2026-11-21T08:43+1:00",
    "2026-11-21T08:43+01",
    "2026-11-21T08:43+0100",
    "2026-11-21T08:43+01:60",
    "2026-11-21T08:43+14:01",
    "2026-11-21T08:43-15:00",
    "2026-11-21T08:43+01:00Z",
    "2026-11-21T08:43+-1:00",
    "2014-07-31 15:04:05 UTC",
    "2456870.127836",
    "15:04:05",
};

static void other_texts_are_refused(void **state)
{
    (void)state;
    int64_t ticks = 42;
    for (unsigned i = 0; i < sizeof refused_texts / sizeof refused_texts[0]; i++) {
        if (pt_ticks_parse(pt_slice_text(refused_texts[i]), &ticks)) {
            fail_msg("accepted: %s", refused_texts[i]);
        }
    }
    assert_false(pt_ticks_parse((pt_slice){0}, &ticks));
    assert_false(pt_ticks_parse(pt_slice_of("2026-11-21\0", 11), &ticks));
    assert_int_equal(ticks, 42);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 11;
}

static int64_t random_ticks(uint64_t *seed)
{
    return (int64_t)((next_random(seed) << 20 ^ next_random(seed)) % ((uint64_t)PT_TICKS_MAX + 1));
}

static void text_order_is_time_order_and_comes_back(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int64_t earlier = 0;
    char earlier_text[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(earlier, earlier_text);
    for (int i = 0; i < 100000; i++) {
        int64_t ticks = random_ticks(&seed);
        char text[PT_DATETIME_TEXT_SIZE + 1];
        pt_ticks_format(ticks, text);
        assert_int_equal(parsed(text), ticks);
        assert_int_equal(strcmp(text, earlier_text) < 0, ticks < earlier);
        earlier = ticks;
        memcpy(earlier_text, text, sizeof text);
    }
}

/* SQLite's own calendar, to the second, for texts with every kind of zone. */
static void sqlite_agrees(void **state)
{
    (void)state;
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT CAST(strftime('%s', ?1) AS INTEGER)", -1, &statement, NULL),
        SQLITE_OK);
    uint64_t seed = 2;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        pt_ticks_format(random_ticks(&seed), text);
        text[10] = i % 2 == 0 ? 'T' : ' ';
        unsigned offset = (unsigned)(next_random(&seed) % 841);
        snprintf(text + 19, sizeof text - 19, "%c%02u:%02u", i % 3 == 0 ? '-' : '+', offset / 60,
                 offset % 60);
        sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        int64_t expected =
            sqlite3_column_int64(statement, 0) * PT_TICKS_PER_SECOND + PT_TICKS_UNIX_EPOCH;
        int64_t ticks = 0;
        bool accepted = pt_ticks_parse(pt_slice_text(text), &ticks);
        assert_int_equal(accepted, expected >= 0 && expected <= PT_TICKS_MAX);
        if (accepted) {
            assert_int_equal(ticks, expected);
        }
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static void the_clock_is_the_system_s(void **state)
{
    (void)state;
    int64_t before = (int64_t)time(NULL);
    int64_t ticks = pt_ticks_now();
    int64_t after = (int64_t)time(NULL);
    int64_t seconds = (ticks - PT_TICKS_UNIX_EPOCH) / PT_TICKS_PER_SECOND;
    assert_true(seconds >= before - 1);
    assert_true(seconds <= after + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_agree),
        cmocka_unit_test(the_usual_form_is_read_as_any_other),
        cmocka_unit_test(every_day_is_where_counting_puts_it),
        cmocka_unit_test(days_that_do_not_exist_are_refused),
        cmocka_unit_test(a_refused_text_breaks_a_rule),
        cmocka_unit_test(all_forms_are_read),
        cmocka_unit_test(the_ends_of_time_hold_in_utc),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(text_order_is_time_order_and_comes_back),
        cmocka_unit_test(sqlite_agrees),
        cmocka_unit_test(the_clock_is_the_system_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
