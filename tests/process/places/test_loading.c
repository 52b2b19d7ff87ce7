/*
 * Loading the library: by several threads, by a second SQLite library, by sqlite3_auto_extension,
 * and with each allocation of SQLite failing in turn. SQLite closes a library that could not be
 * loaded, of which the connection may have registered tables and functions by then.
 */
#include "fixtures/cmocka.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "faults/failing_malloc.h"

typedef int entry_point(sqlite3 *, char **, const sqlite3_api_routines *);

static sqlite3 *db;

static int open_connection(void)
{
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    return sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
}

/* Whatever could be said has been said. */
static int load(void)
{
    static const char without_reason[] = "error during initialization: ";
    char *message = NULL;
    int rc = sqlite3_load_extension(db, getenv("PT_LIBRARY"), "sqlite3_ptable_init", &message);
    assert_true(message == NULL || strcmp(message, without_reason) != 0);
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

/* --- By several threads --- */

enum { THREADS = 4 };

static pthread_barrier_t start;

static void *open_load_and_close(void *result)
{
    sqlite3 *own = NULL;
    int rc = sqlite3_open(":memory:", &own);
    sqlite3_db_config(own, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    pthread_barrier_wait(&start);
    if (rc == SQLITE_OK) {
        rc = sqlite3_load_extension(own, getenv("PT_LIBRARY"), "sqlite3_ptable_init", NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(own, "CREATE VIRTUAL TABLE t USING ptable(v)", NULL, NULL, NULL);
    }
    int closed = sqlite3_close(own);
    *(int *)result = rc != SQLITE_OK ? rc : closed;
    return NULL;
}

/* It is the first test: the library is not in memory yet. */
static void threads_may_load_it_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int results[THREADS];
    assert_null(dlopen(getenv("PT_LIBRARY"), RTLD_NOW | RTLD_NOLOAD));
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_load_and_close, &results[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(results[i], SQLITE_OK);
    }
    pthread_barrier_destroy(&start);
}

/* --- By a second SQLite library --- */

static entry_point *find_entry_point(const char *path, const char *name)
{
    entry_point *entry;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&entry = dlsym(library, name);
    assert_non_null(entry);
    return entry;
}

static char text_of_other[1000];

static char *mprintf_of_other(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sqlite3_vsnprintf(sizeof text_of_other, text_of_other, format, arguments);
    va_end(arguments);
    return text_of_other;
}

static char *no_memory(const char *format, ...)
{
    (void)format;
    return NULL;
}

/* The library is in use already. */
static void expect_refusal(const char *path, const char *name, const char *said)
{
    static const sqlite3_api_routines other = {.mprintf = mprintf_of_other};
    static const sqlite3_api_routines poor = {.mprintf = no_memory};
    entry_point *entry = find_entry_point(path, name);
    char *message = NULL;
    assert_int_equal(entry(NULL, &message, &other), SQLITE_ERROR);
    assert_ptr_equal(message, text_of_other);
    assert_non_null(strstr(message, said));
    assert_int_equal(entry(NULL, &message, &poor), SQLITE_NOMEM);
    assert_null(message);
    assert_int_equal(entry(NULL, NULL, &other), SQLITE_ERROR);
}

static void a_second_sqlite_library_is_refused(void **state)
{
    (void)state;
    assert_int_equal(open_connection(), SQLITE_OK);
    assert_int_equal(load(), SQLITE_OK);
    expect_refusal(getenv("PT_LIBRARY"), "sqlite3_ptable_init",
                   "ptable: this process has already loaded the extension into another SQLite "
                   "library, '");
    assert_works();
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* The library for the Table service is beside the other one, if it was built. */
static void a_second_one_is_refused_by_the_service_library(void **state)
{
    (void)state;
    char path[1000];
    const char *beside = getenv("PT_LIBRARY");
    size_t folder = (size_t)(strrchr(beside, '/') - beside);
    snprintf(path, sizeof path, "%.*s/ptable_service.so", (int)folder, beside);
    if (access(path, F_OK) != 0) {
        skip();
    }
    assert_int_equal(open_connection(), SQLITE_OK);
    assert_int_equal(sqlite3_load_extension(db, path, "sqlite3_ptableservice_init", NULL),
                     SQLITE_OK);
    expect_refusal(path, "sqlite3_ptableservice_init",
                   "ptable_service: this process has already loaded the extension into another "
                   "SQLite library, '");
    assert_int_equal(sqlite3_exec(db, "SELECT count(*) FROM pt_service_accounts", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- With limits --- */

static void small_limits_give_a_reason(void **state)
{
    (void)state;
    int failures = 0;
    for (int limit = 0; limit < 200; limit++) {
        assert_int_equal(open_connection(), SQLITE_OK);
        sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, limit);
        failures += load() != SQLITE_OK;
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    assert_true(failures > 10 && failures < 200);
}

/* --- By sqlite3_auto_extension --- */

static int later_extensions;

static int later_extension(void)
{
    later_extensions++;
    return SQLITE_OK;
}

static void every_connection_may_have_it(void **state)
{
    (void)state;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXRESCODE;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))find_entry_point(
                         getenv("PT_LIBRARY"), "sqlite3_ptable_init")),
                     SQLITE_OK);
    assert_int_equal(sqlite3_auto_extension((void (*)(void))later_extension), SQLITE_OK);
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(sqlite3_open_v2(":memory:", &db, flags, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_errcode(db), SQLITE_OK);
        assert_int_equal(later_extensions, i);
        assert_works();
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    sqlite3_reset_auto_extension();
}

/* SQLite closes the library with the connection that loaded it; stores that others have open are
 * in its memory. */
static void it_stays_in_memory(void **state)
{
    (void)state;
    assert_int_equal(open_connection(), SQLITE_OK);
    assert_int_equal(load(), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    void *library = dlopen(getenv("PT_LIBRARY"), RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    dlclose(library);
    assert_int_equal(open_connection(), SQLITE_OK);
    assert_int_equal(load(), SQLITE_OK);
    assert_works();
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- Without memory --- */

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
        cmocka_unit_test(threads_may_load_it_at_once),
        cmocka_unit_test(it_stays_in_memory),
        cmocka_unit_test(a_second_sqlite_library_is_refused),
        cmocka_unit_test(a_second_one_is_refused_by_the_service_library),
        cmocka_unit_test(small_limits_give_a_reason),
        cmocka_unit_test(every_connection_may_have_it),
        cmocka_unit_test(what_could_not_be_loaded_can_be_closed),
        cmocka_unit_test(what_could_not_be_loaded_can_be_loaded_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
