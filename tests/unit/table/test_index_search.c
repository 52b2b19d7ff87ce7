/*
 * Queries of indexes whose entries show too little, or are not in the order that was promised: cut
 * values, texts among times and Guids, several values of a column that ORDER BY passes over. Their
 * rows are those of the same entities without indexes, in the same order.
 */
#include "fixtures/database.h"

#define LONG_TEXT "printf('%%.300c', 'x') || "
#define COLUMNS "S String, I Int32, T DateTime, G Guid, X Binary, V, W, sync=off"
#define GUID "0f8fad5b-d9cb-469f-a165-70867728950e"

static const char *const rows[] = {
    "INSERT INTO %s(PartitionKey, RowKey, S, I, T, G, X) VALUES "
    "('p', '1', 'b', 1, '2026-01-02', '" GUID "', x'01'), "
    "('p', '2', 'a', 2, '2026-01-01T00:00:00.5', '1f8fad5b-d9cb-469f-a165-70867728950e', x'00'), "
    "('p', '3', " LONG_TEXT "'2', 1, '0001-01-01', NULL, x'0001'), "
    "('p', '4', " LONG_TEXT "'1', 1, '9999-12-31', NULL, CAST(zeroblob(300) || x'02' AS BLOB)), "
    "('q', '1', printf('%%.300c', 'x'), 2, NULL, NULL, CAST(zeroblob(300) || x'01' AS BLOB)), "
    "('q', '2', printf('%%.70000c', 'x'), NULL, NULL, NULL, CAST(printf('%%.70000c', 'y') AS "
    "BLOB))",
    "INSERT INTO %s(PartitionKey, RowKey, Properties) VALUES "
    "('q', '3', '{\"T\":\"2026-01-01\",\"G\":\"0F8FAD5B-D9CB-469F-A165-70867728950E\",\"I\":3,"
    "\"S\":5,\"V\":1}'), "
    "('q', '4', '{\"T\":\"soon\",\"G\":\"zebra\",\"I\":1.5,\"S\":true,\"V\":2}'), "
    "('q', '5', '{\"T\":\"\",\"G\":\"a text that is longer than a Guid and not one\",\"I\":7,"
    "\"V\":1}'), "
    "('r', '1', '{\"T\":\"0000-12-31\",\"G\":\"Q\",\"I\":true,\"S\":\"\\u0000b\",\"V\":\"x\"}'), "
    "('r', '2', '{\"T\":5,\"G\":7,\"I\":\"1\",\"S\":\"\",\"V\":-0.5}'), "
    "('r', '3', '{\"T@odata.type\":\"Edm.Double\",\"T\":\"NaN\",\"G@odata.type\":\"Edm.Double\","
    "\"G\":\"NaN\",\"I@odata.type\":\"Edm.Double\",\"I\":\"NaN\",\"V\":3}')",
};

/* Table m has indexes, table plain has the same entities without. */
static sqlite3 *open_twins(const char *folder)
{
    static const char *const tables[] = {"m", "plain"};
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA automatic_index = off;"
            "CREATE VIRTUAL TABLE m USING ptable(" COLUMNS ", index(S, X), index(I, S), index(T), "
            "index(G, I), index(X, RowKey), index(V, PartitionKey, Timestamp), "
            "index(PartitionKey, T), index(I, T, G), index(W));"
            "CREATE VIRTUAL TABLE plain USING ptable(" COLUMNS ")");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t j = 0; j < sizeof tables / sizeof tables[0]; j++) {
            run(db, rows[i], tables[j]);
        }
    }
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const char *table)
{
    sqlite3_stmt *statement = NULL;
    char *text = sqlite3_mprintf(sql, table);
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", text, sqlite3_errmsg(db));
    }
    sqlite3_free(text);
    return statement;
}

static bool is_same_value(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    int size = sqlite3_column_bytes(a, column);
    return sqlite3_column_type(a, column) == sqlite3_column_type(b, column) &&
           size == sqlite3_column_bytes(b, column) &&
           (size == 0 || memcmp(sqlite3_column_blob(a, column), sqlite3_column_blob(b, column),
                                (size_t)size) == 0);
}

/* Returns the number of rows. */
static int assert_same_rows(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *with = prepare(db, sql, "m");
    sqlite3_stmt *without = prepare(db, sql, "plain");
    int count = 0;
    for (; sqlite3_step(without) == SQLITE_ROW; count++) {
        if (sqlite3_step(with) != SQLITE_ROW) {
            fail_msg("%s: row %d is missing", sql, count);
        }
        for (int i = 0; i < sqlite3_column_count(with); i++) {
            if (!is_same_value(with, without, i)) {
                fail_msg("%s: row %d is %s, not %s", sql, count, sqlite3_column_text(with, i),
                         sqlite3_column_text(without, i));
            }
        }
    }
    assert_int_equal(sqlite3_step(with), SQLITE_DONE);
    sqlite3_finalize(with);
    sqlite3_finalize(without);
    return count;
}

static bool plan_has(sqlite3 *db, const char *sql, const char *words)
{
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *statement = prepare(db, explain, "m");
    bool has = false;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        has = has || strstr((const char *)sqlite3_column_text(statement, 3), words) != NULL;
    }
    sqlite3_finalize(statement);
    sqlite3_free(explain);
    return has;
}

static void assert_same_by_index(sqlite3 *db, const char *sql, int expected)
{
    if (!plan_has(db, sql, "index query")) {
        fail_msg("%s: no index is used", sql);
    }
    int count = assert_same_rows(db, sql);
    if (count != expected) {
        fail_msg("%s: %d rows, not %d", sql, count, expected);
    }
}

static const struct query {
    int count;
    const char *sql;
} ordered[] = {
    {10, "SELECT S FROM %s WHERE S >= '' ORDER BY S"},
    {10, "SELECT S, X FROM %s WHERE S >= '' ORDER BY S DESC, X DESC"},
    {4, "SELECT S FROM %s WHERE S GLOB 'x*' ORDER BY S"},
    {9, "SELECT T FROM %s WHERE T > '' ORDER BY T"},
    {9, "SELECT T FROM %s WHERE T > '' ORDER BY T DESC"},
    {3, "SELECT T FROM %s WHERE PartitionKey = 'q' AND T >= '' ORDER BY T"},
    {6, "SELECT G FROM %s WHERE G >= '1' ORDER BY G"},
    {8, "SELECT G, I FROM %s WHERE G > '' ORDER BY G DESC, I DESC"},
    {6, "SELECT X FROM %s WHERE X >= x'' ORDER BY X"},
    {6, "SELECT X, RowKey FROM %s WHERE X >= x'' ORDER BY X DESC, RowKey DESC"},
    {3, "SELECT S FROM %s WHERE I = 1 AND S > 'a' ORDER BY S DESC"},
    {4, "SELECT V, PartitionKey FROM %s WHERE V > 0 AND V < 9 ORDER BY V, PartitionKey"},
    {2, "SELECT PartitionKey FROM %s WHERE V = 1 AND PartitionKey IN ('q', 'r')"},
    {2, "SELECT Timestamp IS NULL FROM %s WHERE V = 1 AND PartitionKey = 'q' ORDER BY Timestamp"},
    {5, "SELECT T, G FROM %s WHERE I = 1 AND T > '' ORDER BY T, G"},
    {1, "SELECT S FROM %s WHERE I IN (1, 2) AND S = 'b'"},
    {4, "SELECT V, PartitionKey FROM %s WHERE V > 0 AND V < 9 ORDER BY V, PartitionKey LIMIT -1"},
    {0, "SELECT W FROM %s WHERE W > 0 ORDER BY W"},
    {0, "SELECT S FROM %s WHERE S > 'b' AND S < 'a' ORDER BY S"},
    {0, "SELECT S FROM %s WHERE S = NULL ORDER BY S"},
    {1, "SELECT S FROM %s WHERE S > 'a' AND S >= 'b' AND S <= 'b' AND S IN ('a', 'b', 'c') "
        "ORDER BY S"},
};

static void rows_are_in_the_order_of_a_table(void **state)
{
    sqlite3 *db = open_twins(*state);
    for (size_t i = 0; i < sizeof ordered / sizeof ordered[0]; i++) {
        assert_same_by_index(db, ordered[i].sql, ordered[i].count);
    }
    run(db, "BEGIN; UPDATE m SET S = 'c' WHERE S = 'b'; UPDATE plain SET S = 'c' WHERE S = 'b'");
    for (size_t i = 0; i < sizeof ordered / sizeof ordered[0]; i++) {
        assert_same_rows(db, ordered[i].sql);
    }
    run(db, "COMMIT");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

/* A large value is read again for its whole. */
static void whole_values_are_unique(void **state)
{
    sqlite3 *db = open_twins(*state);
    run(db, "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('m', 'S', 1), "
            "('m', 'X,S', 1)");
    run(db, "INSERT INTO m(PartitionKey, RowKey, S) VALUES ('u', '1', printf('%%.70001c', 'x')), "
            "('u', '2', printf('%%.301c', 'x'))");
    fails(db, SQLITE_CONSTRAINT_UNIQUE,
          "INSERT INTO m(PartitionKey, RowKey, S) VALUES ('u', '3', printf('%%.70001c', 'x'))");
    fails(db, SQLITE_CONSTRAINT_UNIQUE, "UPDATE m SET S = printf('%%.301c', 'x') WHERE S = 'a'");
    says(db, "PartitionKey 'u', RowKey '2' already has S 'xxx");
    run(db, "UPDATE OR REPLACE m SET S = printf('%%.301c', 'x') WHERE S = 'a'");
    assert_number(db, 0, "SELECT count(*) FROM m WHERE PartitionKey = 'u' AND RowKey = '2'");
    run(db, "UPDATE m SET S = S || 'y' WHERE PartitionKey = 'u'");
    fails(db, SQLITE_CONSTRAINT_UNIQUE,
          "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('m', 'V', 1)");
    says(db, "both have '1'");
    run(db, "INSERT INTO m(PartitionKey, RowKey, V) VALUES ('w', '1', " LONG_TEXT "'1'), "
            "('w', '2', " LONG_TEXT "'1')");
    fails(db, SQLITE_CONSTRAINT_UNIQUE,
          "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('m', 'V,PartitionKey', 1)");
    says(db, "cannot be unique");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

/* Values of an IN that are combined with others, up to a limit. */
static void many_values_of_several_columns_are_combined(void **state)
{
    sqlite3 *db = open_twins(*state);
    run(db, "CREATE TABLE n AS WITH RECURSIVE k(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k "
            "WHERE i < 99) SELECT i, 'a' || i AS s FROM k; INSERT INTO n VALUES (1, 'b')");
    assert_same_by_index(
        db, "SELECT S FROM %s WHERE I IN (SELECT i FROM n) AND S IN (SELECT s FROM n)", 1);
    assert_same_by_index(db, "SELECT S FROM %s WHERE I IN (1, 2) AND S IN ('a', 'b')", 2);
    run(db, "CREATE VIRTUAL TABLE pairs USING ptable(I, S, index(I, S)); "
            "INSERT INTO pairs SELECT 'p', rowid, i, s FROM n");
    assert_number(db, 101,
                  "SELECT count(*) FROM pairs WHERE I IN (SELECT i FROM n) AND "
                  "S IN (SELECT s FROM n)");
    close_database(db);
}

/* An index takes the first 64 conditions. */
static void there_may_be_more_conditions(void **state)
{
    sqlite3 *db = open_twins(*state);
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "SELECT S FROM %s WHERE I > 0");
    for (int i = 1; i < 70; i++) {
        sqlite3_str_appendf(text, " AND I > -%d", i);
    }
    sqlite3_str_appendall(text, " AND S = 'b'");
    char *sql = sqlite3_str_finish(text);
    assert_same_by_index(db, sql, 1);
    sqlite3_free(sql);
    close_database(db);
}

static void an_index_may_have_a_column_that_is_not_declared(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(T DateTime);"
            "INSERT INTO t(PartitionKey, RowKey, T) VALUES ('p', '3', '2026-01-01');"
            "INSERT INTO t(PartitionKey, RowKey, Properties) VALUES "
            "('p', '1', '{\"T\":\"soon\",\"Other\":1}'), ('p', '2', '{\"T\":\"now\"}');"
            "INSERT INTO pt_indexes(TableName, Columns) VALUES ('t', 'T,Other')");
    assert_number(db, 321,
                  "SELECT group_concat(RowKey, '') FROM "
                  "(SELECT RowKey FROM t WHERE T > '' ORDER BY T)");
    close_database(db);
}

static void a_table_without_scans_is_searched(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V, index(V), scan=deny);"
            "INSERT INTO t VALUES ('p', '1', 1), ('p', '2', 2), ('q', '1', 1)");
    assert_number(db, 2, "SELECT count(*) FROM t WHERE V = 1");
    assert_number(db, 1, "SELECT count(*) FROM t WHERE V = 1 AND PartitionKey = 'p'");
    close_database(db);
}

/* --- A statement that was prepared with an index that is not there any more --- */

static void a_lost_index_is_replaced_by_sorting(void **state)
{
    sqlite3 *db = open_twins(*state);
    sqlite3_stmt *statements[2 * sizeof ordered / sizeof ordered[0]];
    size_t count = 0;
    sqlite3 *other = open_database(*state, "main.db");
    for (size_t i = 0; i < sizeof ordered / sizeof ordered[0]; i++) {
        statements[count++] = prepare(db, ordered[i].sql, "m");
        statements[count++] = prepare(db, ordered[i].sql, "plain");
    }
    run(other, "DELETE FROM pt_indexes");
    for (size_t i = 0; i < count; i += 2) {
        int number = 0;
        while (sqlite3_step(statements[i + 1]) == SQLITE_ROW) {
            assert_int_equal(sqlite3_step(statements[i]), SQLITE_ROW);
            assert_true(is_same_value(statements[i], statements[i + 1], 0) ||
                        strstr(ordered[i / 2].sql, "ORDER BY") == NULL);
            number++;
        }
        assert_int_equal(sqlite3_step(statements[i]), SQLITE_DONE);
        assert_int_equal(number, ordered[i / 2].count);
        sqlite3_finalize(statements[i]);
        sqlite3_finalize(statements[i + 1]);
    }
    close_database(other);
    close_database(db);
}

/* Rows that were sorted are found by their keys, one after the other. */
static void sorted_rows_that_are_gone_are_passed_over(void **state)
{
    static const char sql[] = "SELECT RowKey FROM %s WHERE S >= 'x' ORDER BY S";
    sqlite3 *db = open_twins(*state);
    run(db,
        "DELETE FROM m WHERE S > 'x'; INSERT INTO m(PartitionKey, RowKey, S) VALUES "
        "('u', 'first', " LONG_TEXT "'0'), ('u', 'last', " LONG_TEXT "'a'); BEGIN; SAVEPOINT s; "
        "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < 1000) "
        "INSERT INTO m(PartitionKey, RowKey, S) SELECT 'u', i, " LONG_TEXT "i FROM k");
    assert_true(plan_has(db, sql, "index query: S>=? (S,X)"));
    sqlite3_stmt *walk = prepare(db, sql, "m");
    assert_int_equal(sqlite3_step(walk), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(walk, 0), "first");
    run(db, "ROLLBACK TO s");
    assert_int_equal(sqlite3_step(walk), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(walk, 0), "last");
    assert_int_equal(sqlite3_step(walk), SQLITE_DONE);
    sqlite3_finalize(walk);
    run(db, "COMMIT");
    close_database(db);
}

/* --- A table that is dropped while it is read --- */

/* Reads the rows that are left, of the table as it was. */
static void read_the_rest(sqlite3 *db, sqlite3_stmt *join)
{
    for (int i = 2; i <= 4; i++) {
        if (sqlite3_step(join) != SQLITE_ROW) {
            fail_msg("row %d: %s", i, sqlite3_errmsg(db));
        }
        assert_int_equal(sqlite3_column_int(join, 0), i);
        assert_int_equal(sqlite3_column_int(join, 1), i);
    }
    assert_int_equal(sqlite3_step(join), SQLITE_DONE);
    sqlite3_finalize(join);
}

/* The connection looks the new table up, and the statement goes on in the old one. */
static void a_join_goes_on_in_a_table_that_is_dropped_and_made_again(void **state)
{
    static const char *const joins[] = {
        "SELECT n.i, d.W FROM n CROSS JOIN d ON d.V = n.i",
        "SELECT n.i, d.RowKey FROM n CROSS JOIN d ON d.V = n.i",
        "SELECT n.i, d.W FROM n CROSS JOIN d ON d.PartitionKey = 'p' AND d.RowKey = n.i || ''",
        "SELECT n.i, (SELECT W FROM d WHERE S >= n.i || 'x' ORDER BY S LIMIT 1) FROM n",
    };
    for (size_t i = 0; i < sizeof joins / sizeof joins[0]; i++) {
        sqlite3 *db = open_database(*state, ":memory:");
        run(db,
            "CREATE VIRTUAL TABLE d USING ptable(V Int32, W Int32, S String, index(V), index(S));"
            "INSERT INTO d SELECT 'p', value, value, value, value || printf('%%.300c', 'x') "
            "FROM json_each('[1,2,3,4]');"
            "CREATE TABLE n(i); INSERT INTO n VALUES (1), (2), (3), (4)");
        sqlite3_stmt *join = prepare(db, joins[i], "");
        assert_int_equal(sqlite3_step(join), SQLITE_ROW);
        run(db, "DELETE FROM pt_tables WHERE TableName = 'd';"
                "INSERT INTO pt_tables(TableName) VALUES ('d');"
                "INSERT INTO pt_indexes(TableName, Columns) VALUES ('d', 'V'), ('d', 'S');"
                "INSERT INTO d(PartitionKey, RowKey, V, W) VALUES ('p', '3', 30, 30), "
                "('p', '9', 3, 30)");
        read_the_rest(db, join);
        assert_number(db, 9, "SELECT RowKey FROM d WHERE V = 3");
        close_database(db);
    }
}

int main(void)
{
#define folder_test(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        folder_test(a_join_goes_on_in_a_table_that_is_dropped_and_made_again),
        folder_test(rows_are_in_the_order_of_a_table),
        folder_test(whole_values_are_unique),
        folder_test(many_values_of_several_columns_are_combined),
        folder_test(there_may_be_more_conditions),
        folder_test(an_index_may_have_a_column_that_is_not_declared),
        folder_test(a_table_without_scans_is_searched),
        folder_test(sorted_rows_that_are_gone_are_passed_over),
        folder_test(a_lost_index_is_replaced_by_sorting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
