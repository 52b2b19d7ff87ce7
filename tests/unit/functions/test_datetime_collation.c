/*
 * The collation PT_DATETIME in SQL, on ordinary tables: the order of every permutation, and texts
 * in UTF-16.
 */
#include "base/assert.h"
#include "functions/functions.h"
#include "unit/functions/function_fixture.h"

/* In the order of PT_DATETIME; texts in one line are equal. */
static const char *const ranked[][2] = {
    {"", NULL},
    {"2026-11-22", "2026-11-22T01:00+01:00"},
    {"2026-11-22 00:00:00.0000001", NULL},
    {"2026-11-22T23:00:00.0000000Z", "2026-11-22 23"},
    {"9999", NULL},
    {"2026-11-31", NULL},
    {"now", NULL},
};

enum { RANKS = sizeof ranked / sizeof ranked[0], TEXTS = RANKS + 2 };

static sqlite3 *open_with_collation(const char *encoding)
{
    sqlite3 *db = fixture_open();
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(sqlite3_exec(db, encoding, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(pt_functions_register(db, &error), SQLITE_OK);
    return db;
}

/* A table of all texts with their ranks, in the order of a permutation, given by its number. */
static void fill_table(sqlite3 *db, sqlite3_stmt *insert, unsigned permutation)
{
    struct {
        const char *text;
        int rank;
    } left[TEXTS];
    int count = 0;
    for (int i = 0; i < RANKS; i++) {
        for (int j = 0; j < 2 && ranked[i][j] != NULL; j++) {
            left[count].text = ranked[i][j];
            left[count++].rank = i;
        }
    }
    assert_int_equal(count, TEXTS);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM o", NULL, NULL, NULL), SQLITE_OK);
    for (; count > 0; count--) {
        int next = (int)(permutation % (unsigned)count);
        permutation /= (unsigned)count;
        sqlite3_bind_text(insert, 1, left[next].text, -1, SQLITE_STATIC);
        sqlite3_bind_int(insert, 2, left[next].rank);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
        left[next] = left[count - 1];
    }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void assert_answer(sqlite3_stmt *statement, const char *expected)
{
    char *answer = fixture_step(statement);
    assert_string_equal(answer, expected);
    sqlite3_free(answer);
    sqlite3_reset(statement);
}

/* Sorts a table's permutations by the sorter and by an index. `step` skips permutations. */
static void sort_permutations(sqlite3 *db, unsigned step)
{
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE o(x TEXT COLLATE PT_DATETIME, rank);"
                                  "CREATE TABLE i(x TEXT COLLATE PT_DATETIME, rank, PRIMARY KEY(x, "
                                  "rank)) WITHOUT ROWID",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_stmt *insert = prepare(db, "INSERT INTO o VALUES (?, ?)");
    sqlite3_stmt *sorted =
        prepare(db, "SELECT group_concat(rank, '') FROM (SELECT rank FROM o ORDER BY x)");
    sqlite3_stmt *grouped = prepare(
        db, "SELECT group_concat(n || rank, ' ') FROM (SELECT count(*) n, rank FROM o GROUP BY x "
            "ORDER BY x DESC)");
    sqlite3_stmt *distinct = prepare(db, "SELECT count(DISTINCT x) || min(x) FROM o");
    unsigned permutations = 1;
    for (unsigned i = 2; i <= TEXTS; i++) {
        permutations *= i;
    }
    for (unsigned i = 0; i < permutations; i += step) {
        fill_table(db, insert, i);
        assert_answer(sorted, "011233456");
        assert_answer(grouped, "16 15 14 23 12 21 10");
        assert_answer(distinct, "7");
    }
    sqlite3_finalize(insert);
    sqlite3_finalize(sorted);
    sqlite3_finalize(grouped);
    sqlite3_finalize(distinct);
}

static void every_permutation_is_sorted(void **state)
{
    (void)state;
    sqlite3 *db = open_with_collation("PRAGMA encoding = 'UTF-8'");
    sort_permutations(db, 37);
    fixture_close(db);
}

static void utf16_is_sorted_too(void **state)
{
    (void)state;
    sqlite3 *db = open_with_collation("PRAGMA encoding = 'UTF-16le'");
    sort_permutations(db, 3701);
    fixture_expect(db, "'2026-11-22' = '2026-11-22T01:00+01:00' COLLATE pt_datetime", "1");
    fixture_close(db);
}

static void an_index_finds_every_spelling(void **state)
{
    (void)state;
    sqlite3 *db = open_with_collation("PRAGMA encoding = 'UTF-8'");
    assert_int_equal(
        sqlite3_exec(db,
                     "CREATE TABLE o(x TEXT);"
                     "CREATE INDEX i ON o(x COLLATE PT_DATETIME);"
                     "INSERT INTO o VALUES ('2026-11-22 10:00'), ('2026-11-22T10:00Z'),"
                     " ('2026-11-23'), ('soon'), (NULL), (5)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    fixture_expect(
        db, "count(*) FROM o INDEXED BY i WHERE x = '2026-11-22T11:00+01:00' COLLATE PT_DATETIME",
        "2");
    fixture_expect(
        db, "count(*) FROM o INDEXED BY i WHERE x COLLATE PT_DATETIME >= '2026-11-22 10:00:00.5'",
        "3");
    fixture_expect(db, "group_concat(integrity_check) FROM pragma_integrity_check", "ok");
    fixture_close(db);
}

/* Reading the table goes on; writing it does not. */
static void without_the_extension_the_index_is_an_error(void **state)
{
    (void)state;
    sqlite3 *db = open_with_collation("PRAGMA encoding = 'UTF-8'");
    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE o(x TEXT); INSERT INTO o VALUES ('2026');"
                                  "CREATE INDEX i ON o(x COLLATE PT_DATETIME)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_int64 size;
    unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
    assert_non_null(bytes);
    sqlite3 *plain = fixture_open();
    assert_int_equal(
        sqlite3_deserialize(plain, "main", bytes, size, size, SQLITE_DESERIALIZE_FREEONCLOSE),
        SQLITE_OK);
    fixture_expect(plain, "count(*) FROM o WHERE x = '2026'", "1");
    assert_int_equal(sqlite3_exec(plain, "INSERT INTO o VALUES ('2027')", NULL, NULL, NULL),
                     SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(plain), "no such collation sequence: PT_DATETIME");
    sqlite3_close(plain);
    fixture_close(db);
}

static void comparing_allocates_nothing(void **state)
{
    (void)state;
    sqlite3 *db = open_with_collation("PRAGMA encoding = 'UTF-8'");
    sqlite3_stmt *statement =
        prepare(db, "SELECT ?1 < ?2 COLLATE PT_DATETIME AND ?2 < 'now' COLLATE PT_DATETIME");
    sqlite3_bind_text(statement, 1, "2026-11-22 10:00+01:00", -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, "2026-11-22T10", -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    sqlite3_reset(statement);
    failing_malloc_arm(0, true);
    int rc = sqlite3_step(statement);
    bool asked = failing_malloc_disarm();
    assert_int_equal(rc, SQLITE_ROW);
    assert_false(asked);
    assert_int_equal(sqlite3_column_int(statement, 0), 1);
    sqlite3_finalize(statement);
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_permutation_is_sorted),
        cmocka_unit_test(utf16_is_sorted_too),
        cmocka_unit_test(an_index_finds_every_spelling),
        cmocka_unit_test(without_the_extension_the_index_is_an_error),
        cmocka_unit_test(comparing_allocates_nothing),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
