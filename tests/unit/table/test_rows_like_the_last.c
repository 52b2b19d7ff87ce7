/*
 * A row of an INSERT that gives the same columns in the same types as the last one is put together
 * by a way of its own. Random rows, most of them like the one before, are compared with the same
 * rows in another database where Properties = '{}' keeps every row from that way: result codes,
 * messages, changes, entities, and the bytes that they take must be the same.
 */
#include "fixtures/database.h"
#include "random/random.h"

enum { STATEMENTS = 3500, COMPARED_EVERY = 47, COLUMNS = 9, FORMS_MAX = 14, ROWS_MAX = 5 };

static const char declared[] = "S String, I Int32, L Int64, D Double, B Boolean, T DateTime, "
                               "G Guid, X Binary, V";
static const char names[] = "S, I, L, D, B, T, G, X, V";

/* The forms that the values of a column take; %u is a random number. The first ones are the usual
 * ones, the rest have other SQL types, become other types, or are refused. */
static const char *const forms[COLUMNS][FORMS_MAX] = {
    {"'text %u'", "NULL", "''", "%u", "%u.5", "char(97, 0, 98 + %u %% 3)", "hex(zeroblob(%u * 9))",
     "hex(zeroblob(1001))", "CAST(x'ff41' AS TEXT)", "x'00%u2'"},
    {"%u", "NULL", "-%u", "2147483647", "-2147483648", "2147483648", "%u.0", "'%u'", "''", "'x'"},
    {"%u", "NULL", "9223372036854775807", "-%u", "'%u'", "1e3", "1e300", "''", "x'01'"},
    {"%u.25", "NULL", "%u", "9007199254740993", "'NaN'", "'%u.5'", "-0.0", "1e999", "''", "'x'"},
    {"%u %% 2", "NULL", "2", "'true'", "'FALSE'", "1.0", "''"},
    {"'2026-11-%u2T10:20:30Z'", "NULL", "'2026-01-01 10:%u0'", "'2026-01-01T00:00:00.12345%u7Z'",
     "'2026-02-3%uT00:00:00Z'", "'1500-01-01T00:00:00Z'", "''", "%u"},
    {"'0f8fad5b-d9cb-469f-a165-7086772895%u0'", "NULL", "zeroblob(16)", "zeroblob(15)", "'no'"},
    {"x'00%u1'", "NULL", "zeroblob(%u * 5)", "x''", "zeroblob(2001)", "'text'"},
    {"'text %u'", "NULL", "%u", "%u.5", "x'%u1'", "2147483648", "''", "hex(zeroblob(1500))"},
};

static const char *const verbs[] = {
    "INSERT",           "INSERT",         "INSERT OR REPLACE",  "INSERT OR REPLACE",
    "INSERT OR IGNORE", "INSERT OR FAIL", "INSERT OR ROLLBACK",
};

typedef struct pair {
    sqlite3 *tried;
    sqlite3 *general;
    uint64_t random;
    unsigned form[COLUMNS]; /* of the last row */
    unsigned next_key;
} pair;

static unsigned form_count(unsigned column)
{
    unsigned count = 0;
    while (count < FORMS_MAX && forms[column][count] != NULL) {
        count++;
    }
    return count;
}

/* Now and then some columns become NULL or the usual form. */
static void vary_forms(pair *test)
{
    if (random_below(&test->random, 8) != 0) {
        return;
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (random_below(&test->random, 4) == 0) {
            test->form[i] = random_below(&test->random, 2);
        }
    }
}

/* Now and then a value has any form. */
static char *make_value(pair *test, unsigned column)
{
    bool any = random_below(&test->random, 3 * COLUMNS) == 0;
    unsigned form = any ? random_below(&test->random, form_count(column)) : test->form[column];
    return sqlite3_mprintf(forms[column][form], random_below(&test->random, 10));
}

/* Mostly a key that follows all others, but also some that are there, and some that cannot be. */
static char *make_key(pair *test)
{
    switch (random_below(&test->random, 40)) {
    case 0:
        return sqlite3_mprintf("'p', NULL");
    case 1:
        return sqlite3_mprintf("%u, 'é%u'", random_below(&test->random, 3),
                               random_below(&test->random, 50));
    case 2:
        return sqlite3_mprintf("'p', 'a/b'");
    case 3:
        return sqlite3_mprintf("'p', CAST(x'c3' AS TEXT)");
    default:
        break;
    }
    unsigned present = random_below(&test->random, test->next_key + 1);
    bool again = random_below(&test->random, 8) == 0;
    return sqlite3_mprintf("'p', '%06u'", again ? present : test->next_key++);
}

static char *append_row(pair *test, char *sql, const char *last)
{
    vary_forms(test);
    char *key = make_key(test);
    sql = sqlite3_mprintf("%z(%z", sql, key);
    for (unsigned i = 0; i < COLUMNS; i++) {
        char *value = make_value(test, i);
        sql = sqlite3_mprintf("%z, %z", sql, value);
    }
    sql = sqlite3_mprintf("%z, $properties)%s", sql, last);
    assert_non_null(sql);
    return sql;
}

static char *make_insert(pair *test)
{
    unsigned rows =
        random_below(&test->random, 3) != 0 ? 1 : 1 + random_below(&test->random, ROWS_MAX);
    char *sql =
        sqlite3_mprintf("%s INTO Rows(PartitionKey, RowKey, %s, Properties) VALUES",
                        verbs[random_below(&test->random, sizeof verbs / sizeof verbs[0])], names);
    while (rows-- != 0) {
        sql = append_row(test, sql, rows != 0 ? ", " : "");
    }
    return sql;
}

static char *make_statement(pair *test)
{
    switch (random_below(&test->random, 30)) {
    case 0:
        return sqlite3_mprintf("BEGIN");
    case 1:
        return sqlite3_mprintf("COMMIT");
    case 2:
        return sqlite3_mprintf(random_below(&test->random, 4) == 0 ? "ROLLBACK" : "COMMIT");
    case 3:
        return sqlite3_mprintf("SAVEPOINT s");
    case 4:
        return sqlite3_mprintf("ROLLBACK TO s");
    case 5:
        return sqlite3_mprintf("UPDATE Rows SET I = %u, S = 'u' WHERE RowKey = '%06u'",
                               random_below(&test->random, 9),
                               random_below(&test->random, test->next_key + 1));
    case 6:
        return sqlite3_mprintf("DELETE FROM Rows WHERE RowKey = '%06u'",
                               random_below(&test->random, test->next_key + 1));
    case 7:
        return sqlite3_mprintf("INSERT OR REPLACE INTO Rows(PartitionKey, RowKey, Properties) "
                               "VALUES('p', '%06u', '{\"S\":\"o\",\"Undeclared\":%u}')",
                               test->next_key++, random_below(&test->random, 9));
    default:
        return make_insert(test);
    }
}

/* Returns the code. */
static int run_with(sqlite3 *db, const char *sql, const char *properties)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    int parameter = sqlite3_bind_parameter_index(statement, "$properties");
    if (parameter != 0) {
        sqlite3_bind_text(statement, parameter, properties, -1, SQLITE_STATIC);
    }
    sqlite3_step(statement);
    return sqlite3_finalize(statement);
}

static void run_in_both(pair *test, const char *sql)
{
    int tried = run_with(test->tried, sql, NULL);
    int general = run_with(test->general, sql, "{}");
    if (tried != general ||
        strcmp(sqlite3_errmsg(test->tried), sqlite3_errmsg(test->general)) != 0 ||
        sqlite3_total_changes(test->tried) != sqlite3_total_changes(test->general) ||
        sqlite3_get_autocommit(test->tried) != sqlite3_get_autocommit(test->general)) {
        print_error("%s\n%d %s\n%d %s\n", sql, tried, sqlite3_errmsg(test->tried), general,
                    sqlite3_errmsg(test->general));
        fail();
    }
}

/* All that is stored but the times. */
static char *contents(sqlite3 *db)
{
    sqlite3_stmt *statement;
    const char *sql =
        "SELECT (SELECT group_concat(hex(EntityKey) || hex(Properties) || hex(S) || typeof(S) || "
        "coalesce(I, '-') || typeof(V) || hex(V), char(10)) FROM Rows), "
        "(SELECT Entities || ' ' || Bytes FROM pt_tables WHERE TableName = 'Rows'), pt_check()";
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(statement, 2), "ok");
    char *text = sqlite3_mprintf("%s\n%s", sqlite3_column_text(statement, 1),
                                 sqlite3_column_text(statement, 0));
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    return text;
}

static void compare_contents(pair *test)
{
    while (!sqlite3_get_autocommit(test->tried)) {
        run_in_both(test, "COMMIT");
        run_in_both(test, "ROLLBACK");
    }
    char *tried = contents(test->tried);
    char *general = contents(test->general);
    assert_string_equal(tried, general);
    sqlite3_free(tried);
    sqlite3_free(general);
}

static sqlite3 *open_with(const char *encoding, const char *options)
{
    sqlite3 *db = try_open(":memory:");
    assert_non_null(db);
    run(db, "PRAGMA encoding = '%s'; CREATE VIRTUAL TABLE Rows USING ptable(%s%s)", encoding,
        declared, options);
    return db;
}

static void compare_ways(const char *encoding, const char *options, unsigned statements)
{
    pair test = {.tried = open_with(encoding, options),
                 .general = open_with(encoding, options),
                 .random = (uint64_t)setting("SEED", 1)};
    for (unsigned i = 1; i <= statements; i++) {
        char *sql = make_statement(&test);
        run_in_both(&test, sql);
        sqlite3_free(sql);
        if (i % COMPARED_EVERY == 0) {
            compare_contents(&test);
        }
    }
    compare_contents(&test);
    close_database(test.tried);
    close_database(test.general);
}

static void rows_are_the_same(void **unused)
{
    (void)unused;
    compare_ways("UTF-8", "", (unsigned)setting("N", STATEMENTS));
}

static void rows_of_utf16_are_the_same(void **unused)
{
    (void)unused;
    compare_ways("UTF-16le", "", (unsigned)setting("N", STATEMENTS) / 4);
}

static void rows_under_the_limits_are_the_same(void **unused)
{
    (void)unused;
    compare_ways("UTF-8", ", limits=azure", (unsigned)setting("N", STATEMENTS) / 4);
}

static void rows_of_batches_are_the_same(void **unused)
{
    (void)unused;
    compare_ways("UTF-8", ", batch=azure", (unsigned)setting("N", STATEMENTS) / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same),
        cmocka_unit_test(rows_of_utf16_are_the_same),
        cmocka_unit_test(rows_under_the_limits_are_the_same),
        cmocka_unit_test(rows_of_batches_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
