/*
 * Loading the library with each allocation of SQLite failing in turn. SQLite closes a library that
 * could not be loaded, of which the connection may have registered tables and functions by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "failing_malloc.h"

static sqlite3 *db;

static int open_connection(void)
{
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
}

static int load(void)
{
    char *message = NULL;
    int rc = sqlite3_load_extension(db, getenv("PT_LIBRARY"), "sqlite3_ptable_init", &message);
    sqlite3_free(message);
    return rc;
}

static void assert_works(void)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_exec(db,
                          "CREATE VIRTUAL TABLE t USING ptable(v, sync=off);"
                          "INSERT INTO t VALUES ('p', 'r', 1)",
                          NULL, NULL, NULL);
    assert_int_equal(rc, SQLITE_OK);
    rc = sqlite3_prepare_v2(db, "SELECT v || pt_check() FROM t", -1, &statement, NULL);
    assert_int_equal(rc, SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(statement, 0), "1ok");
    sqlite3_finalize(statement);
}

static void every_allocation_fails(bool persistent, bool again)
{
    bool hit = true;
    int failures = 0;
    for (int n = 0; hit; n++) {
        sqlite3_int64 before = sqlite3_memory_used();
        assert_int_equal(open_connection(), SQLITE_OK);
        failing_malloc_arm(n, persistent);
        int rc = load();
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || hit);
        failures += rc != SQLITE_OK;
        if (again) {
            assert_int_equal(load(), SQLITE_OK);
            assert_works();
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(sqlite3_memory_used(), before);
    }
    assert_true(failures > 10);
}

static void what_could_not_be_loaded_can_be_closed(void **state)
{
    (void)state;
    every_allocation_fails(false, false);
    every_allocation_fails(true, false);
}

static void what_could_not_be_loaded_can_be_loaded_again(void **state)
{
    (void)state;
    every_allocation_fails(false, true);
    every_allocation_fails(true, true);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_could_not_be_loaded_can_be_closed),
        cmocka_unit_test(what_could_not_be_loaded_can_be_loaded_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
