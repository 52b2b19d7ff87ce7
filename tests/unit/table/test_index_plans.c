/*
 * Which queries use which index, told by the sentence of EXPLAIN QUERY PLAN. Each finds the same
 * rows as in a table without indexes: also if it was prepared before the indexes went, before they
 * came, and in a transaction that has written all entities.
 */
#include "fixtures/store_fixture.h"

#include "fixtures/connection.h"
#include "fixtures/database.h"

enum { ENTITIES = 60, ROWS_MAX = 200 };

#define COLUMNS "S String, I Int32, T DateTime, D Double, G Guid, B Boolean"

static sqlite3 *db;
static sqlite3 *other; /* another connection to the store */

/* Columns, the rest of the query, and its plan. */
static const struct plan {
    const char *columns;
    const char *query;
    const char *sentence;
} plans[] = {
    /* Comparisons. */
    {"RowKey, D", "WHERE S = 's3'", "index query: S=? (S,I)"},
    {"RowKey, I", "WHERE S = 's3'", "index query: S=? (S,I), entries only"},
    {"RowKey, D", "WHERE 's3' = S", "index query: S=? (S,I)"},
    {"RowKey, D", "WHERE S IN ('s3', 's5', 'none')", "index query: S IN (?) (S,I)"},
    {"RowKey, D", "WHERE S IN ('s3', 's5') AND I > 20", "index query: S IN (?) AND I>? (S,I)"},
    {"RowKey, D", "WHERE S = 's3' AND I BETWEEN 10 AND 40",
     "index query: S=? AND I>=? AND I<=? (S,I)"},
    {"RowKey, D", "WHERE S > 's3' AND S <= 's5'", "index query: S>? AND S<=? (S,I)"},
    {"RowKey, D", "WHERE S GLOB 's3*'", "index query: S>=? AND S<? (S,I)"},
    {"RowKey, D", "WHERE S > 's3' AND I = 5", "index query: S>? (S,I); judged in the scan: I=?"},
    {"RowKey", "WHERE S IS 's3'", "index query: S IS ? (S,I), entries only"},
    {"RowKey, D", "WHERE S = 's3' OR S = 's4'", "MULTI-INDEX OR"},
    {"count(*)", "WHERE I = 5", "table scan; judged in the scan: I=?"},
    {"RowKey, D", "WHERE S = 5", "index query: S=? (S,I)"},
    {"RowKey", "WHERE S <> 's3'", "table scan"},
    {"RowKey", "WHERE S IS NULL", "table scan; judged in the scan: S IS NULL"},
    {"RowKey", "WHERE S = 's3' COLLATE NOCASE", "table scan"},
    {"RowKey", "WHERE +S = 's3'", "table scan"},
    {"RowKey", "WHERE T >= '2026-01-10' AND T < '2026-01-20T12:00Z'",
     "index query: T>=? AND T<? (T), entries only"},
    {"RowKey", "WHERE G = '00000000-0000-0000-0000-00000000000A'",
     "index query: G=? (G), entries only"},
    {"RowKey, D", "WHERE PartitionKey = 'p1' AND I >= 10",
     "index query: PartitionKey=? AND I>=? (PartitionKey,I)"},
    {"RowKey, D", "WHERE PartitionKey = 'p1' AND S = 's4'", "index query: S=? (S,I)"},
    {"RowKey, D", "WHERE PartitionKey = 'p1' AND S = 's4' AND I = 4",
     "index query: PartitionKey=? AND S=? AND I=? (S,I)"},
    /* The key is better, or as good. */
    {"RowKey", "WHERE PartitionKey = 'p1' AND RowKey = 'k04' AND S = 's4'",
     "point query: PartitionKey=? AND RowKey=?; judged in the scan: S=?"},
    {"RowKey", "WHERE PartitionKey = 'p1'", "partition scan: PartitionKey=?, keys only"},
    {"RowKey", "WHERE PartitionKey > 'p0'", "partition range scan: PartitionKey>?, keys only"},
    /* Order. */
    {"RowKey, D", "WHERE S > 's3' ORDER BY S, I", "index query: S>? (S,I)"},
    {"RowKey, D", "WHERE S > 's3' ORDER BY S DESC, I DESC", "index query: S>? (S,I), descending"},
    {"RowKey, D", "WHERE S = 's3' ORDER BY I DESC", "index query: S=? (S,I), descending"},
    {"RowKey, D", "WHERE S = 's3' ORDER BY I, PartitionKey, RowKey", "index query: S=? (S,I)"},
    {"RowKey, T", "WHERE T > '2026' ORDER BY T DESC, PartitionKey DESC, RowKey DESC LIMIT 7",
     "index query: T>? (T), entries only, descending"},
    {"RowKey, D", "WHERE PartitionKey = 'p1' AND I > 3 ORDER BY I DESC LIMIT 3",
     "index query: PartitionKey=? AND I>? (PartitionKey,I), descending"},
    {"RowKey", "ORDER BY Timestamp DESC LIMIT 5",
     "index scan (Timestamp), entries only, descending"},
    {"RowKey, D", "ORDER BY Timestamp LIMIT 5 OFFSET 3", "index scan (Timestamp)"},
    {"RowKey", "WHERE I > 3 ORDER BY Timestamp LIMIT 5", "table scan; judged in the scan: I>?"},
    {"RowKey", "WHERE Timestamp > '2020' AND Timestamp < '2120' ORDER BY Timestamp DESC",
     "index query: Timestamp>? AND Timestamp<? (Timestamp), entries only, descending"},
    {"RowKey", "WHERE PartitionKey = 'p2' ORDER BY Timestamp DESC LIMIT 2",
     "index query: PartitionKey=? (PartitionKey,Timestamp), entries only, descending"},
    {"RowKey, D", "ORDER BY Timestamp LIMIT abs(-5)", "index scan (Timestamp)"},
    {"RowKey, D", "ORDER BY Timestamp LIMIT -1", "index scan (Timestamp)"},
    {"RowKey, D", "WHERE S = 's3' ORDER BY I, PartitionKey DESC, RowKey", "index query: S=? (S,I)"},
    {"RowKey, D", "WHERE S = 's3' ORDER BY I, I DESC, D", "index query: S=? (S,I)"},
    {"RowKey, D", "WHERE PartitionKey IN ('p1', 'p2') AND S = 's4'", "index query: S=? (S,I)"},
    {"RowKey, D", "WHERE PartitionKey = 'p1' COLLATE NOCASE AND S = 's4'",
     "index query: S=? (S,I)"},
    /* What entries have: keys and the index's columns. */
    {"PartitionKey, RowKey, EntityKey, _rowid_, S, I", "WHERE S >= 's4'",
     "index query: S>=? (S,I), entries only"},
    {"count(*)", "WHERE S >= 's4'", "index query: S>=? (S,I), entries only"},
    {"RowKey, ETag IS NULL", "WHERE S = 's4'", "index query: S=? (S,I)"},
    {"RowKey, Properties", "WHERE S = 's4'", "index query: S=? (S,I)"},
    {"RowKey", "WHERE S = 's4' AND Filter MATCH 'I gt 5'",
     "key range from Filter; judged in the scan: S=?"},
};

enum { PLANS = sizeof plans / sizeof plans[0] };

/* --- Rows --- */

typedef struct result {
    char *rows[ROWS_MAX];
    int count;
} result;

static int take_row(void *context, int count, char **values, char **names)
{
    (void)names;
    result *found = context;
    sqlite3_str *row = sqlite3_str_new(NULL);
    for (int i = 0; i < count; i++) {
        sqlite3_str_appendf(row, "%Q,", values[i]);
    }
    assert_true(found->count < ROWS_MAX);
    found->rows[found->count] = sqlite3_str_finish(row);
    assert_non_null(found->rows[found->count++]);
    return 0;
}

static int text_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *query_of(const struct plan *plan, const char *table)
{
    char *sql = sqlite3_mprintf("SELECT %s FROM %s %s", plan->columns, table, plan->query);
    assert_non_null(sql);
    return sql;
}

static void step_all(sqlite3_stmt *statement, result *found)
{
    int rc = sqlite3_step(statement);
    for (; rc == SQLITE_ROW; rc = sqlite3_step(statement)) {
        char *values[8];
        int count = sqlite3_column_count(statement);
        for (int i = 0; i < count; i++) {
            values[i] = (char *)(uintptr_t)sqlite3_column_text(statement, i);
        }
        take_row(found, count, values, NULL);
    }
    assert_int_equal(rc, SQLITE_DONE);
}

static void free_result(result *found)
{
    for (int i = 0; i < found->count; i++) {
        sqlite3_free(found->rows[i]);
    }
}

/* The rows that a statement finds are those of the same query in the table without indexes. */
static void assert_same_rows(const struct plan *plan, sqlite3_stmt *statement)
{
    result found = {.count = 0};
    result expected = {.count = 0};
    char *sql = query_of(plan, "plain");
    step_all(statement, &found);
    assert_int_equal(sqlite3_exec(db, sql, take_row, &expected, NULL), SQLITE_OK);
    if (strstr(plan->query, "ORDER BY") == NULL) {
        qsort(found.rows, (size_t)found.count, sizeof found.rows[0], text_order);
        qsort(expected.rows, (size_t)expected.count, sizeof expected.rows[0], text_order);
    }
    if (found.count != expected.count) {
        fail_msg("%d rows instead of %d: %s", found.count, expected.count, sql);
    }
    for (int i = 0; i < found.count; i++) {
        if (strcmp(found.rows[i], expected.rows[i]) != 0) {
            fail_msg("row %d is %s instead of %s: %s", i, found.rows[i], expected.rows[i], sql);
        }
    }
    free_result(&found);
    free_result(&expected);
    sqlite3_free(sql);
}

static sqlite3_stmt *prepare(const struct plan *plan, const char *table)
{
    sqlite3_stmt *statement = NULL;
    char *sql = query_of(plan, table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_free(sql);
    return statement;
}

static void assert_rows_of_all(void)
{
    for (size_t i = 0; i < PLANS; i++) {
        sqlite3_stmt *statement = prepare(&plans[i], "t");
        assert_same_rows(&plans[i], statement);
        sqlite3_finalize(statement);
    }
}

/* --- Tables --- */

static const char *const indexes[] = {
    "S,I", "T", "G", "PartitionKey,I", "Timestamp", "PartitionKey,Timestamp"};

enum { INDEXES = sizeof indexes / sizeof indexes[0] };

static void drop_indexes(void)
{
    run(other, "DELETE FROM pt_indexes WHERE TableName = 't'");
}

static void make_indexes(void)
{
    for (size_t i = 0; i < INDEXES; i++) {
        run(other, "INSERT INTO pt_indexes(TableName, Columns) VALUES ('t', %Q)", indexes[i]);
    }
}

/* Table undeclared has the entities of t and declares no index. */
static int setup(void **state)
{
    if (make_folder(state) != 0) {
        return -1;
    }
    db = open_database(*state, "plans.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(" COLUMNS ", index(S, I), index(T), index(G), "
            "index(PartitionKey, I), index(Timestamp), index(PartitionKey, Timestamp), sync=off);"
            "CREATE VIRTUAL TABLE undeclared USING ptable(" COLUMNS ", table=t, sync=off);"
            "CREATE VIRTUAL TABLE plain USING ptable(" COLUMNS ", sync=off);");
    for (int i = 0; i < ENTITIES; i++) {
        for (int table = 0; table < 2; table++) {
            run(db,
                "INSERT INTO %s SELECT 'p%d', 'k%02d', iif(%d %% 11, 's%d', NULL), iif(%d %% 7, "
                "%d, NULL), '2026-01-%02d', %d / 2.0, "
                "'00000000-0000-0000-0000-0000000000%02x', %d",
                table == 0 ? "t" : "plain", i % 3, i, i, i % 7, i, i, i % 28 + 1, i, i % 20, i % 2);
        }
    }
    other = open_database(*state, "plans.db");
    return 0;
}

static int teardown(void **state)
{
    close_database(db);
    close_database(other);
    return remove_folder(state);
}

/* --- Tests --- */

/* The sentence of a query's first loop, from sqlite3_malloc. */
static char *sentence_of(const struct plan *plan, const char *table)
{
    sqlite3_stmt *statement = NULL;
    char *sql = query_of(plan, table);
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(db, explain, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const char *detail = (const char *)sqlite3_column_text(statement, 3);
    const char *colon = strchr(detail, ':');
    char *sentence = sqlite3_mprintf("%s", colon != NULL ? colon + 1 : detail);
    sqlite3_finalize(statement);
    sqlite3_free(explain);
    sqlite3_free(sql);
    return sentence;
}

static void queries_use_the_index_that_serves_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLANS; i++) {
        char *sentence = sentence_of(&plans[i], "t");
        if (strcmp(sentence, plans[i].sentence) != 0) {
            fail_msg("'%s' instead of '%s': SELECT %s FROM t %s", sentence, plans[i].sentence,
                     plans[i].columns, plans[i].query);
        }
        sqlite3_free(sentence);
    }
    assert_rows_of_all();
}

static void queries_find_what_a_transaction_has_written(void **state)
{
    (void)state;
    run(db, "BEGIN; UPDATE t SET B = NOT B; UPDATE plain SET B = NOT B");
    assert_rows_of_all();
    run(db, "UPDATE t SET I = I + 1, S = S || 'x' WHERE I > 30;"
            "UPDATE plain SET I = I + 1, S = S || 'x' WHERE I > 30;"
            "DELETE FROM t WHERE I = 5; DELETE FROM plain WHERE I = 5");
    assert_rows_of_all();
    run(db, "ROLLBACK");
    assert_rows_of_all();
}

/* A plan that was prepared with an index goes on without it, in the same order. */
static void plans_outlive_their_indexes(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLANS; i++) {
        sqlite3_stmt *statement = prepare(&plans[i], "t");
        assert_same_rows(&plans[i], statement);
        drop_indexes();
        assert_int_equal(sqlite3_reset(statement), SQLITE_OK);
        assert_same_rows(&plans[i], statement);
        make_indexes();
        assert_int_equal(sqlite3_reset(statement), SQLITE_OK);
        assert_same_rows(&plans[i], statement);
        sqlite3_finalize(statement);
    }
}

/* A declaration without indexes learns of them when it reads the store. */
static void plans_learn_of_indexes(void **state)
{
    (void)state;
    drop_indexes();
    run(db, "SELECT count(*) FROM undeclared WHERE RowKey = 'k01'");
    for (size_t i = 0; i < PLANS; i++) {
        sqlite3_stmt *statement = prepare(&plans[i], "undeclared");
        assert_same_rows(&plans[i], statement);
        make_indexes();
        assert_int_equal(sqlite3_reset(statement), SQLITE_OK);
        assert_same_rows(&plans[i], statement);
        sqlite3_finalize(statement);
        statement = prepare(&plans[i], "undeclared");
        assert_same_rows(&plans[i], statement);
        sqlite3_finalize(statement);
        drop_indexes();
    }
    make_indexes();
    run(db, "SELECT count(*) FROM undeclared WHERE RowKey = 'k01'");
    for (size_t i = 0; i < PLANS; i++) {
        char *sentence = sentence_of(&plans[i], "undeclared");
        assert_string_equal(sentence, plans[i].sentence);
        sqlite3_free(sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries_use_the_index_that_serves_them),
        cmocka_unit_test(queries_find_what_a_transaction_has_written),
        cmocka_unit_test(plans_outlive_their_indexes),
        cmocka_unit_test(plans_learn_of_indexes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
