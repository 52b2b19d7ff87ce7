/*
 * PTABLE_WAYS of the environment (base/ways.h) does what it says: otherwise make test-ways would
 * test nothing new.
 */
#include "fixtures/cmocka.h"

#include "base/arena.h"
#include "base/ways.h"
#include "fixtures/database.h"
#include "fixtures/folder.h"
#include "lmdb/leaf.h"

static const char *const all_ways[] = {"", "general", "quick"};

enum { USUAL, GENERAL, QUICK, WAYS, PAGE = 4096, SMALL = 100, LARGE = 16 << 20 };

static int setup(void **state)
{
    return make_folder(state);
}

static int teardown(void **state)
{
    unsetenv("PTABLE_WAYS");
    return remove_folder(state);
}

static void use(int ways)
{
#if !defined(PT_DEBUG) && !defined(PT_WAYS)
    skip();
#endif
    assert_int_equal(setenv("PTABLE_WAYS", all_ways[ways], 1), 0);
    assert_int_equal(PT_WAYS_ARE_GENERAL, ways == GENERAL);
    assert_int_equal(PT_WAYS_ARE_QUICK, ways == QUICK);
}

static void leaf_pages_are_walked(void **unused)
{
    (void)unused;
    for (int ways = 0; ways < WAYS; ways++) {
        use(ways);
        assert_int_equal(pt_lmdb_leaf_is_known(PAGE), ways != GENERAL);
    }
}

/* Some file systems cannot have such a file. */
static bool is_fit(const char *path)
{
    pt_swap_file swap = {.beside = path};
    bool fit = pt_swap_take(&swap, PAGE) != NULL;
    pt_swap_close(&swap);
    return fit;
}

static bool puts_into_file(const char *path, size_t size)
{
    pt_swap_file swap = {.beside = path};
    pt_arena arena = {.swap = &swap};
    assert_non_null(pt_arena_alloc(&arena, size));
    bool used = swap.count != 0;
    pt_arena_clear(&arena);
    pt_arena_free(&arena);
    pt_swap_close(&swap);
    return used;
}

static void writes_go_into_a_file(void **state)
{
    char path[PATH_SIZE];
    path_in(*state, "store", path);
    bool fit = is_fit(path);
    for (int ways = 0; ways < WAYS; ways++) {
        use(ways);
        assert_int_equal(puts_into_file(path, SMALL), fit && ways == QUICK);
        assert_int_equal(puts_into_file(path, LARGE), fit && ways != GENERAL);
    }
}

/* Steps of SQLite's machine: rows that the scan passes over cost none. */
static int steps_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 3);
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    sqlite3_finalize(statement);
    return steps;
}

static void conditions_are_judged(void **unused)
{
    (void)unused;
    int steps[WAYS];
    for (int ways = 0; ways < WAYS; ways++) {
        use(ways);
        sqlite3 *db = open_database("", ":memory:");
        run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32);"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) "
                "INSERT INTO t(PartitionKey, RowKey, V) SELECT 'p', i, i FROM n");
        steps[ways] = steps_of(db, "SELECT count(*) FROM t WHERE V < 4");
        close_database(db);
    }
    assert_true(steps[GENERAL] > steps[USUAL] + 97);
    assert_int_equal(steps[QUICK], steps[USUAL]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leaf_pages_are_walked),
        TEST(writes_go_into_a_file),
        TEST(conditions_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
