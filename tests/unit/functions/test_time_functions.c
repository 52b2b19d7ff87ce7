#include "fixtures/cmocka.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "functions/time_functions.h"
#include "unit/functions/function_fixture.h"

enum { THREADS = 4, CALLS = 5000, INVERTED_SIZE = PT_INVERTED_TICKS_SIZE + 1 };

static bool clock_went_back; /* to 1970, where it stands */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME && clock_went_back) {
        *now = (struct timespec){0};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

static sqlite3 *open_with_functions(void)
{
    sqlite3 *db = fixture_open();
    fixture_register(db, "pt_ticks", pt_function_ticks);
    fixture_register(db, "pt_datetime", pt_function_datetime);
    fixture_register(db, "pt_inverted_ticks", pt_function_inverted_ticks);
    fixture_register(db, "pt_inverted_datetime", pt_function_inverted_datetime);
    return db;
}

/* The service's landmarks: 1601, 1970, the design guide's log tail example, the last tick. */
static void landmarks(void **state)
{
    (void)state;
    static const struct {
        const char *time, *ticks, *inverted;
    } known[] = {
        {"0001-01-01T00:00:00.0000000Z", "0", "3155378975999999999"},
        {"1601-01-01T00:00:00.0000000Z", "504911232000000000", "2650467743999999999"},
        {"1970-01-01T00:00:00.0000000Z", "621355968000000000", "2534023007999999999"},
        {"2014-07-31T15:04:05.0000000Z", "635424158450000000", "2519954817549999999"},
        {"9999-12-31T23:59:59.9999999Z", "3155378975999999999", "0000000000000000000"},
    };
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct {
            const char *format, *argument, *result;
        } calls[] = {
            {"pt_ticks('%s')", known[i].time, known[i].ticks},
            {"pt_datetime('%s')", known[i].time, known[i].time},
            {"pt_datetime(%s)", known[i].ticks, known[i].time},
            {"pt_inverted_ticks('%s')", known[i].time, known[i].inverted},
            {"pt_inverted_ticks(%s)", known[i].ticks, known[i].inverted},
            {"pt_inverted_datetime('%s')", known[i].inverted, known[i].time},
        };
        for (size_t k = 0; k < sizeof calls / sizeof calls[0]; k++) {
            char *call = sqlite3_mprintf(calls[k].format, calls[k].argument);
            fixture_expect(db, call, calls[k].result);
            sqlite3_free(call);
        }
    }
    fixture_close(db);
}

static void the_clock_is_between_two_readings(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    static const char *const calls[] = {
        "pt_ticks()",
        "pt_ticks(pt_datetime())",
        "pt_ticks(pt_inverted_datetime(pt_inverted_ticks()))",
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char *sql = sqlite3_mprintf("SELECT %s", calls[i]);
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        int64_t before = pt_ticks_now();
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        int64_t after = pt_ticks_now();
        assert_true(sqlite3_column_int64(statement, 0) >= before);
        assert_true(sqlite3_column_int64(statement, 0) <= after);
        sqlite3_finalize(statement);
        sqlite3_free(sql);
    }
    fixture_close(db);
}

/* Runs in a thread of its own, where cmocka's assertions must not be used. */
static void *make_inverted(void *made)
{
    char(*texts)[INVERTED_SIZE] = made;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int count = 0;
    if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_create_function_v2(db, "pt_inverted_ticks", 0, SQLITE_UTF8, NULL,
                                   pt_function_inverted_ticks, NULL, NULL, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT pt_inverted_ticks()", -1, &statement, NULL) == SQLITE_OK) {
        while (count < CALLS && sqlite3_step(statement) == SQLITE_ROW) {
            memcpy(texts[count++], sqlite3_column_text(statement, 0), INVERTED_SIZE);
            sqlite3_reset(statement);
        }
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return NULL;
}

static int compare_texts(const void *a, const void *b)
{
    return memcmp(a, b, INVERTED_SIZE);
}

static void inverted_ticks_never_come_twice(void **state)
{
    (void)state;
    static char made[THREADS][CALLS][INVERTED_SIZE];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, make_inverted, made[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < CALLS; k++) {
            assert_int_equal(strspn(made[i][k], "0123456789"), PT_INVERTED_TICKS_SIZE);
            assert_true(k == 0 || compare_texts(made[i][k], made[i][k - 1]) < 0);
        }
    }
    char(*all)[INVERTED_SIZE] = made[0];
    qsort(all, (size_t)THREADS * CALLS, INVERTED_SIZE, compare_texts);
    for (int i = 1; i < THREADS * CALLS; i++) {
        assert_true(compare_texts(all[i - 1], all[i]) < 0);
    }
}

static void inverted_ticks_fall_also_when_the_clock_goes_back(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    char last[INVERTED_SIZE] = "9";
    for (int i = 0; i < 4; i++) {
        clock_went_back = i == 1 || i == 2;
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT pt_inverted_ticks()", -1, &statement, NULL),
                         SQLITE_OK);
        char *inverted = fixture_step(statement);
        assert_int_equal(strlen(inverted), PT_INVERTED_TICKS_SIZE);
        assert_true(strcmp(inverted, last) < 0);
        memcpy(last, inverted, sizeof last);
        sqlite3_free(inverted);
        sqlite3_finalize(statement);
    }
    fixture_close(db);
}

static void what_is_no_inverted_time_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "000000000000000000", "000000000000000000/",
                                        "000000000000000000:", "3155378976000000000"};
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *call = sqlite3_mprintf("pt_inverted_datetime(%Q)", wrong[i]);
        char *message = sqlite3_mprintf("pt_inverted_datetime: %Q is not 19 digits up to "
                                        "3155378975999999999; give a result of pt_inverted_ticks",
                                        wrong[i]);
        fixture_expect(db, call, message);
        sqlite3_free(call);
        sqlite3_free(message);
    }
    fixture_close(db);
}

static void memory_may_run_out_in_wide_databases(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA encoding='UTF-16le'; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    fixture_expect_without_memory(db, "pt_ticks('1970-' || '01-01')", "621355968000000000", false);
    fixture_expect_without_memory(db, "pt_inverted_datetime('000000000000000' || '0000')",
                                  "9999-12-31T23:59:59.9999999Z", false);
    fixture_close(db);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect_without_memory(db, "pt_datetime('2026-' || '11-21')",
                                  "2026-11-21T00:00:00.0000000Z", false);
    fixture_expect_without_memory(db, "pt_ticks('1970-' || '01-01')", "621355968000000000", false);
    fixture_expect_without_memory(db, "pt_inverted_ticks(0)", "3155378975999999999", false);
    fixture_expect_without_memory(db, "pt_inverted_datetime('000000000000000' || '0000')",
                                  "9999-12-31T23:59:59.9999999Z", true);
    fixture_expect_without_memory(
        db, "pt_ticks('now')",
        "pt_ticks: 'now' is not accepted; call the function without an argument", false);
    fixture_expect_without_memory(
        db, "pt_datetime(-1)",
        "pt_datetime: -1 is not a number of ticks; give 0 (year 0001) to 3155378975999999999 "
        "(end of 9999)",
        true);
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(landmarks),
        cmocka_unit_test(the_clock_is_between_two_readings),
        cmocka_unit_test(inverted_ticks_never_come_twice),
        cmocka_unit_test(inverted_ticks_fall_also_when_the_clock_goes_back),
        cmocka_unit_test(what_is_no_inverted_time_is_refused),
        cmocka_unit_test(memory_may_run_out_in_wide_databases),
        cmocka_unit_test(memory_may_run_out),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
