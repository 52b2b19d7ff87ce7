#include "fixtures/cmocka.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "entity/edm.h"
#include "functions/id_functions.h"
#include "unit/functions/function_fixture.h"

enum { THREADS = 4, CALLS = 5000, UUID_TEXT = PT_GUID_TEXT_SIZE + 1 };

typedef struct maker {
    sql_function function;
    char made[CALLS][UUID_TEXT];
} maker;

static maker makers[THREADS];

static bool clock_went_back; /* to 1970, where it stands */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME && clock_went_back) {
        *now = (struct timespec){0};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

/* Runs in a thread of its own, where cmocka's assertions must not be used. */
static void *make_ids(void *argument)
{
    maker *m = argument;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int count = 0;
    if (sqlite3_open(":memory:", &db) == SQLITE_OK &&
        sqlite3_create_function_v2(db, "make", 0, SQLITE_UTF8, NULL, m->function, NULL, NULL,
                                   NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT make()", -1, &statement, NULL) == SQLITE_OK) {
        while (count < CALLS && sqlite3_step(statement) == SQLITE_ROW) {
            if (sqlite3_column_bytes(statement, 0) == PT_GUID_TEXT_SIZE) {
                memcpy(m->made[count], sqlite3_column_text(statement, 0), UUID_TEXT);
            }
            count++;
            sqlite3_reset(statement);
        }
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return NULL;
}

static void make_in_all_threads(sql_function function)
{
    memset(makers, 0, sizeof makers);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        makers[i].function = function;
        assert_int_equal(pthread_create(&threads[i], NULL, make_ids, &makers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

static int compare_texts(const void *a, const void *b)
{
    return memcmp(a, b, UUID_TEXT);
}

static void expect_distinct(void)
{
    static char all[THREADS * CALLS][UUID_TEXT];
    for (int i = 0; i < THREADS; i++) {
        memcpy(all[i * CALLS], makers[i].made, sizeof makers[i].made);
    }
    qsort(all, (size_t)THREADS * CALLS, UUID_TEXT, compare_texts);
    for (int i = 1; i < THREADS * CALLS; i++) {
        assert_true(compare_texts(all[i - 1], all[i]) < 0);
    }
}

/* Canonical text, the version, and the variant 10. */
static void expect_form(const char *text, int version)
{
    uint8_t uuid[PT_GUID_SIZE];
    char canonical[UUID_TEXT];
    assert_true(pt_guid_parse(pt_slice_text(text), uuid));
    pt_guid_format(uuid, canonical);
    assert_string_equal(text, canonical);
    assert_int_equal(uuid[6] >> 4, version);
    assert_int_equal(uuid[8] >> 6, 2);
}

static void guids_are_random(void **state)
{
    (void)state;
    make_in_all_threads(pt_function_guid);
    expect_distinct();
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < CALLS; k++) {
            expect_form(makers[i].made[k], 4);
        }
    }
}

static int64_t milliseconds_of(const char *uuid)
{
    char digits[13] = {0};
    memcpy(digits, uuid, 8);
    memcpy(digits + 8, uuid + 9, 4);
    return strtoll(digits, NULL, 16);
}

static int64_t milliseconds_now(void)
{
    return (pt_ticks_now() - PT_TICKS_UNIX_EPOCH) / 10000;
}

/* The stamps may run ahead of the clock by one for each value made: 1/4096 ms. */
static void uuids_of_version_7_ascend(void **state)
{
    (void)state;
    int64_t before = milliseconds_now();
    make_in_all_threads(pt_function_uuid7);
    int64_t after = milliseconds_now() + THREADS * CALLS / 4096 + 1;
    expect_distinct();
    for (int i = 0; i < THREADS; i++) {
        for (int k = 0; k < CALLS; k++) {
            expect_form(makers[i].made[k], 7);
            assert_true(milliseconds_of(makers[i].made[k]) >= before);
            assert_true(milliseconds_of(makers[i].made[k]) <= after);
            assert_true(k == 0 || compare_texts(makers[i].made[k], makers[i].made[k - 1]) > 0);
        }
    }
}

static void ids_rise_also_when_the_clock_goes_back(void **state)
{
    (void)state;
    sqlite3 *db = fixture_open();
    fixture_register(db, "pt_uuid7", pt_function_uuid7);
    char last[UUID_TEXT] = "";
    for (int i = 0; i < 4; i++) {
        clock_went_back = i == 1 || i == 2;
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT pt_uuid7()", -1, &statement, NULL),
                         SQLITE_OK);
        char *id = fixture_step(statement);
        assert_int_equal(strlen(id), UUID_TEXT - 1);
        assert_true(strcmp(id, last) > 0);
        memcpy(last, id, sizeof last);
        sqlite3_free(id);
        sqlite3_finalize(statement);
    }
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(guids_are_random),
        cmocka_unit_test(uuids_of_version_7_ascend),
        cmocka_unit_test(ids_rise_also_when_the_clock_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
