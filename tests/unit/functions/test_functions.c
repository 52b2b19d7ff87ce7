#include "fixtures/cmocka.h"

#include "base/assert.h"
#include "base/version.h"
#include "functions/debug.h"
#include "functions/functions.h"
#include "store/engine.h"
#include "unit/functions/function_fixture.h"

#define COUNT_FUNCTIONS "count(*) FROM pragma_function_list WHERE name GLOB 'pt_*'"

static sqlite3 *open_with_functions(void)
{
    sqlite3 *db = fixture_open();
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_functions_register(db, &error), SQLITE_OK);
    assert_int_equal(pt_debug_register(db, pt_engine_version(), &error), SQLITE_OK);
    assert_int_equal(pt_functions_check_version(db, &error), SQLITE_OK);
    assert_null(error.message);
    return db;
}

static int count_functions(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT " COUNT_FUNCTIONS, -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return count;
}

/* test_reference.sh compares each of them, and the deterministic ones, with the reference. */
static void functions_only_compute(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    assert_true(count_functions(db) > 20);
    char *flags = sqlite3_mprintf(COUNT_FUNCTIONS " AND flags & %d = 0", SQLITE_INNOCUOUS);
    fixture_expect(db, flags, "0");
    sqlite3_free(flags);
    fixture_close(db);
}

/* Calls a function without arguments until it gives another result. */
static bool gives_another_result(sqlite3 *db, const char *name)
{
    enum { CALLS = 10000 };
    char *sql = sqlite3_mprintf("SELECT %s()", name);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    char *first = fixture_step(statement);
    bool same = true;
    for (int call = 1; same && call < CALLS; call++) {
        sqlite3_reset(statement);
        char *result = fixture_step(statement);
        same = strcmp(first, result) == 0;
        sqlite3_free(result);
    }
    sqlite3_free(first);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return !same;
}

/* SQLite may call a deterministic function once for all rows, and keeps its results in indexes. */
static void what_changes_by_itself_is_not_deterministic(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    sqlite3_stmt *names = NULL;
    int changing = 0;
    int constant = 0;
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name, flags FROM pragma_function_list "
                                        "WHERE name GLOB 'pt_*' AND narg = 0",
                                        -1, &names, NULL),
                     SQLITE_OK);
    while (sqlite3_step(names) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(names, 0);
        bool deterministic = (sqlite3_column_int(names, 1) & SQLITE_DETERMINISTIC) != 0;
        if (gives_another_result(db, name) == deterministic) {
            fail_msg("%s is%s deterministic", name, deterministic ? "" : " not");
        }
        changing += !deterministic;
        constant += deterministic;
    }
    sqlite3_finalize(names);
    assert_true(changing > 0 && constant > 0);
    fixture_close(db);
}

static void errors_name_the_function(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_pad(12345, 3)",
                   "pt_pad: 12345 has more than 3 digits; give a larger width");
    fixture_expect(db, "PT_KEY_PART('a', 0, '-')",
                   "pt_key_part: 0 is not a part; count from 1, or from -1 backward from the end");
    fixture_expect(db, "pt_compound_key_sep('-', 'a-b')",
                   "pt_compound_key_sep: 'a-b' contains the separator '-'; choose another "
                   "separator with pt_compound_key_sep, or join with ||");
    fixture_close(db);
}

static void version_and_debug_tell_versions(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "pt_version()", PT_VERSION);
    char *head =
        sqlite3_mprintf("ptable: %s\nSQLite: %s (compiled against %s)\nengine: %s\n", PT_VERSION,
                        sqlite3_libversion(), SQLITE_VERSION, pt_engine_version());
    char *call = sqlite3_mprintf("substr(pt_debug(), 1, %d)", (int)strlen(head));
    fixture_expect(db, call, head);
    fixture_expect(db,
                   "pt_debug() GLOB '*\nlibuuid: ?*\ncompiler: ?*\nlinkage: ?*\n"
                   "assertions: " PT_ASSERTIONS "\nsanitizer: ?*[^\n]'",
                   "1");
    sqlite3_free(head);
    sqlite3_free(call);
    fixture_close(db);
}

/* SQLite may get along without what it wanted memory for; then all functions are there. */
static void registering_may_run_out_of_memory(void **state)
{
    (void)state;
    sqlite3 *whole = open_with_functions();
    int count = count_functions(whole);
    fixture_close(whole);
    bool hit = true;
    int failures = 0;
    for (int n = 0; hit; n++) {
        sqlite3 *db = fixture_open();
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, n % 2 != 0);
        int rc = pt_functions_register(db, &error);
        if (rc == SQLITE_OK) {
            rc = pt_debug_register(db, pt_engine_version(), &error);
        }
        if (rc == SQLITE_OK) {
            rc = pt_functions_check_version(db, &error);
        }
        hit = failing_malloc_disarm();
        failures += hit;
        assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
        assert_int_equal(error.rc, rc);
        assert_null(error.message);
        if (rc == SQLITE_OK) {
            assert_int_equal(count_functions(db), count);
            fixture_expect(db, "'2026' = '2026-01-01' COLLATE PT_DATETIME", "1");
        }
        fixture_close(db);
    }
    assert_true(failures >= 20);
}

static void registering_under_a_running_statement_is_refused(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 UNION ALL SELECT 2", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_functions_register(db, &error), SQLITE_BUSY);
    assert_non_null(strstr(error.message, "the function pt_ticks cannot be registered: "));
    assert_int_equal(pt_debug_register(db, "other", &error), SQLITE_BUSY);
    assert_non_null(strstr(error.message, "the function pt_debug cannot be registered: "));
    pt_error_clear(&error);
    sqlite3_finalize(statement);
    fixture_close(db);
}

static void other_version(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_text(context, "0.0.1", -1, SQLITE_STATIC);
}

static void functions_of_another_version_are_refused(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    assert_int_equal(
        sqlite3_create_function(db, "pt_version", 0, SQLITE_UTF8, NULL, other_version, NULL, NULL),
        SQLITE_OK);
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_functions_check_version(db, &error), SQLITE_ERROR);
    assert_string_equal(error.message,
                        "this connection has the functions of version 0.0.1, and this library is "
                        "version " PT_VERSION "; load ptable and ptable_service of one version");
    pt_error_clear(&error);
    fixture_close(db);
}

static int deny_functions(void *context, int action, const char *a, const char *b, const char *c,
                          const char *d)
{
    (void)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_FUNCTION ? SQLITE_DENY : SQLITE_OK;
}

/* Then the version is not known, and the functions are taken for the same. */
static void an_authorizer_may_hide_the_version(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    pt_error error = PT_ERROR_NONE;
    sqlite3_set_authorizer(db, deny_functions, NULL);
    assert_int_equal(pt_functions_check_version(db, &error), SQLITE_OK);
    sqlite3_set_authorizer(db, NULL, NULL);
    fixture_close(db);
}

static int compare_nothing(void *context, int a_size, const void *a, int b_size, const void *b)
{
    (void)context;
    (void)a_size;
    (void)a;
    (void)b_size;
    (void)b;
    return 0;
}

/* The application has a collation of this name, which SQLite does not replace meanwhile. */
static void a_collation_in_use_is_not_replaced(void **state)
{
    (void)state;
    sqlite3 *db = fixture_open();
    sqlite3_stmt *statement = NULL;
    assert_int_equal(
        sqlite3_create_collation(db, "PT_DATETIME", SQLITE_UTF8, NULL, compare_nothing), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1 UNION ALL SELECT 2", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_functions_register(db, &error), SQLITE_BUSY);
    assert_non_null(strstr(error.message, "the collation PT_DATETIME cannot be registered: "));
    pt_error_clear(&error);
    sqlite3_finalize(statement);
    fixture_expect(db, "'a' = 'b' COLLATE PT_DATETIME", "1");
    assert_int_equal(pt_functions_register(db, &error), SQLITE_OK);
    fixture_expect(db, "'a' = 'b' COLLATE PT_DATETIME", "0");
    fixture_close(db);
}

static void version_and_debug_may_run_out_of_memory(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect_without_memory(db, "pt_version() || ''", PT_VERSION, false);
    fixture_expect_without_memory(db, "pt_debug() GLOB 'ptable: *'", "1", false);
    fixture_expect_without_memory(db, "pt_debug() GLOB 'ptable: *'", "1", true);
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_only_compute),
        cmocka_unit_test(what_changes_by_itself_is_not_deterministic),
        cmocka_unit_test(errors_name_the_function),
        cmocka_unit_test(version_and_debug_tell_versions),
        cmocka_unit_test(registering_may_run_out_of_memory),
        cmocka_unit_test(registering_under_a_running_statement_is_refused),
        cmocka_unit_test(functions_of_another_version_are_refused),
        cmocka_unit_test(an_authorizer_may_hide_the_version),
        cmocka_unit_test(a_collation_in_use_is_not_replaced),
        cmocka_unit_test(version_and_debug_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
