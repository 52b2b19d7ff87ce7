/*
 * Statements that use, write and list indexes, run once for each allocation that they make, which
 * fails. Their values have many lengths, so that each allocation is once the one that needs a new
 * chunk of an arena. N=all tries more lengths.
 */
#include "unit/out_of_memory/out_of_memory_questions.h"

enum { LONGEST = 260, STEP = 4, FEW_STEP = 130 };

static const char schema[] =
    "PRAGMA automatic_index = off;"
    "CREATE VIRTUAL TABLE T USING ptable(v, sync=off);"
    "INSERT INTO T VALUES ('a', '1', 1), ('b', '2', 2);"
    "CREATE VIRTUAL TABLE I USING ptable(s String, n Int32, t DateTime, g Guid, x Binary, v, "
    "index(s, n, v), index(n, s), unique(t), index(g, s), index(x), index(PartitionKey, v), "
    "sync=off);"
    "INSERT INTO I(PartitionKey, RowKey, s, n, t, g, x, v) VALUES "
    "('p', '1', printf('%.300c', 's'), 1, '2026-01-01', '0f8fad5b-d9cb-469f-a165-70867728950e', "
    "x'0001', 1), ('p', '2', printf('%.300c', 's') || 'a', 2, '2026-01-02', "
    "'1f8fad5b-d9cb-469f-a165-70867728950e', zeroblob(300), 1), ('q', printf('%.200c', 'r'), "
    "'a' || char(0) || 'b', 3, NULL, NULL, NULL, 'v'), ('q', '4', printf('%.70000c', 's'), 4, "
    "NULL, "
    "NULL, NULL, NULL);"
    "INSERT INTO I(PartitionKey, RowKey, Properties) VALUES ('r', '1', "
    "'{\"t\":\"soon\",\"g\":\"a text\",\"n\":1.5,\"s\":5}');"
    "CREATE TABLE k(i); INSERT INTO k VALUES (1), (2), (3);"
    "CREATE VIRTUAL TABLE M USING ptable(index(a01), index(a02), index(a03), index(a04), "
    "index(a05), index(a06), index(a07), index(a08), index(a09), index(a10), index(a11), "
    "index(a12), index(a13), index(a14), index(a15), index(a16), index(a17), index(a18), "
    "index(a19), index(a20), index(a21), index(a22), index(a23), index(a24), index(a25), "
    "index(a26), index(a27), index(a28), index(a29), index(a30), index(a31), index(a32), "
    "index(a33), index(a34), index(a35), index(a36), index(a37), index(a38), index(a39), "
    "index(a40), sync=off);"
    "CREATE VIRTUAL TABLE U USING ptable(sync=off);"
    "INSERT INTO U(PartitionKey, RowKey, Properties) VALUES ('p', '1', '{\"Name\":1}'), "
    "('p', '2', '{\"Name\":2}'), ('p', '3', '{\"Other\":2}')";

#define TEXT "printf('%%.%dc', 's')"

#define TEXTS                                                                                      \
    TEXT ", " TEXT " || 'a', " TEXT " || 'b', " TEXT " || 'c', " TEXT " || 'd', " TEXT             \
         " || 'e', " TEXT " || 'f'"

/* TEXT is a text of the length that is tried. */
static const question of_indexes[] = {
    {NULL, "SELECT s FROM I WHERE s IN (" TEXT ", " TEXT " || 'a', 'z') AND n IN (1, 2, 3)"},
    {NULL, "SELECT s FROM I WHERE s IN (" TEXTS ") AND n IN (1, 2, 3) AND v IN (1, 2)"},
    {NULL, "SELECT s FROM I WHERE s IN (" TEXTS ") AND n > 0"},
    {NULL, "SELECT RowKey FROM I WHERE n IN (1, 2, 3) AND s IN (" TEXTS ") AND PartitionKey = 'p'"},
    {NULL, "SELECT RowKey FROM I WHERE PartitionKey = " TEXT " AND v IN (" TEXTS ")"},
    {NULL, "SELECT RowKey FROM I WHERE x IN (x'01', x'02', x'03', x'04', CAST(" TEXT
           " AS BLOB)) AND PartitionKey = printf('%%.1000c', 'p')"},
    {NULL, "SELECT RowKey FROM I WHERE x IN (" TEXTS ") AND x < CAST(" TEXT " AS BLOB)"},
    {NULL, "SELECT s FROM I WHERE s >= " TEXT " AND s >= " TEXT " || 'a' AND s <= " TEXT
           " || 'b' AND s < " TEXT " || 'c' AND s > " TEXT " || 'd' AND s < " TEXT " || 'z'"},
    {NULL, "SELECT RowKey FROM I WHERE s = " TEXT " AND n = 1 AND v > 0 AND PartitionKey = 'p'"},
    {NULL, "SELECT RowKey FROM I WHERE s = " TEXT " AND n = 1 AND v = 1 AND PartitionKey = " TEXT},
    {NULL, "SELECT s, n FROM I WHERE s >= " TEXT " ORDER BY s, n"},
    {NULL, "SELECT s FROM I WHERE s > " TEXT " AND s < 't' AND s >= 'a' ORDER BY s DESC"},
    {NULL, "SELECT s, x FROM I WHERE n > 0 AND s GLOB " TEXT " || '*' ORDER BY n, s"},
    {NULL, "SELECT t FROM I WHERE t > '' ORDER BY t"},
    {NULL, "SELECT g, s FROM I WHERE g > '' ORDER BY g, s"},
    {NULL, "SELECT x FROM I WHERE x >= CAST(" TEXT " AS BLOB) OR x < CAST(" TEXT " AS BLOB)"},
    {NULL, "SELECT RowKey FROM I WHERE x = zeroblob(300)"},
    {NULL, "SELECT i, RowKey, s FROM k JOIN I ON I.n = i"},
    {NULL, "SELECT RowKey FROM I WHERE PartitionKey = " TEXT " AND v IN (1, 2, 'v')"},
    {NULL, "SELECT s FROM I WHERE PartitionKey > '' AND s IN ('a' || char(0) || 'b', " TEXT ")"},
};

static const question of_writes[] = {
    {"BEGIN; DELETE FROM I WHERE RowKey = '1'",
     "INSERT INTO I(PartitionKey, RowKey, s, n, t) VALUES ('z', '1', " TEXT ", 9, '2026-01-05')"},
    {"BEGIN", "INSERT INTO I(PartitionKey, RowKey, t) VALUES ('z', " TEXT ", '2026-01-01')"},
    {"BEGIN", "INSERT OR REPLACE INTO I(PartitionKey, RowKey, t) VALUES ('z', '1', '2026-01-01')"},
    {"BEGIN", "UPDATE I SET s = s || 'x', v = " TEXT " WHERE n > 0"},
    {"BEGIN", "UPDATE OR REPLACE I SET t = '2026-01-02' WHERE n = 1"},
    {"BEGIN; INSERT INTO I(PartitionKey, RowKey, s) VALUES ('y', '1', " TEXT ")",
     "SELECT s FROM I WHERE s >= " TEXT " ORDER BY s"},
    {"BEGIN; INSERT INTO I(PartitionKey, RowKey, t) VALUES ('y', '1', '2026-02-01')",
     "UPDATE I SET t = '2026-02-01' WHERE RowKey = '2'"},
    {"BEGIN; INSERT INTO pt_indexes(TableName, Columns) VALUES ('U', " TEXT "), ('I', " TEXT ")",
     "SELECT * FROM pt_indexes"},
    {"BEGIN; INSERT INTO pt_indexes(TableName, Columns) VALUES ('M', 'A' || " TEXT ")",
     "INSERT INTO M(PartitionKey, RowKey) VALUES ('p', '1')"},
    {"BEGIN; INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', " TEXT ")",
     "INSERT INTO T VALUES ('c', '1', " TEXT ")"},
    {"BEGIN; INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', " TEXT ")",
     "INSERT INTO pt_indexes(TableName, Columns) VALUES ('T', " TEXT ")"},
    {"BEGIN", "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('I', 'v,' || " TEXT
              ", 0), ('I', 'v', 1)"},
    {"BEGIN", "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('U', 'name', 1)"},
    {"BEGIN", "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('U', 'Name', 1)"},
    {"BEGIN; INSERT INTO U(PartitionKey, RowKey, Properties) VALUES ('q', '1', '{\"Name\":1}')",
     "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('U', 'Name', 1)"},
    {"BEGIN; INSERT INTO U(PartitionKey, RowKey, Properties) VALUES ('q', '1', '{\"Name\":1}')",
     "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('U', 'Name,' || " TEXT
     " || ',Other', 1)"},
    {"BEGIN", "DELETE FROM pt_indexes WHERE TableName = 'I' AND IsUnique"},
    {"BEGIN", "DELETE FROM pt_partitions WHERE TableName = 'I' AND PartitionKey = 'p'"},
    {"BEGIN", "DELETE FROM pt_tables WHERE TableName = 'I'"},
    {"BEGIN", "CREATE VIRTUAL TABLE J USING ptable(index(Name), index(Other, Name), table=U)"},
    {"BEGIN", "CREATE VIRTUAL TABLE J USING ptable(index(name), table=U)"},
    {"BEGIN; UPDATE pt_tables SET Expires = 't' WHERE TableName = 'I'",
     "SELECT Expires FROM pt_tables"},
    {"BEGIN; UPDATE pt_tables SET Expires = 't' WHERE TableName = 'I'", "SELECT pt_purge('I')"},
    {"BEGIN", "UPDATE pt_tables SET Expires = " TEXT " WHERE TableName = 'T'"},
    {"BEGIN; UPDATE pt_tables SET Changes = 1 WHERE TableName = 'I'",
     "UPDATE I SET s = " TEXT " WHERE n = 1"},
    {NULL, "SELECT pt_check()"},
};

/* Replaces %d by the length. */
static char *with_length(const char *sql, int length)
{
    return sql != NULL ? sqlite3_mprintf(sql, length, length, length, length, length, length,
                                         length, length, length)
                       : NULL;
}

/* With memory the statement succeeds, or breaks a constraint. */
static void assert_makes_sense(const question *asked)
{
    static char rows[ROWS_SIZE];
    size_t size;
    int rc;
    assert_false(ask(asked, MOST, &rc, rows, &size));
    if (rc != SQLITE_OK && rc != SQLITE_CONSTRAINT) {
        fail_msg("%s: %d %s", asked->sql, rc, sqlite3_errmsg(db));
    }
}

static void try_lengths(const question *asked, size_t count)
{
    const char *number = getenv("N");
    int step = number != NULL && strcmp(number, "all") == 0 ? STEP : FEW_STEP;
    for (size_t i = 0; i < count; i++) {
        for (int length = 1; length < LONGEST; length += step) {
            char *before = with_length(asked[i].before, length);
            char *sql = with_length(asked[i].sql, length);
            const question one = {.before = before, .sql = sql};
            assert_makes_sense(&one);
            try_all(&one);
            sqlite3_free(before);
            sqlite3_free(sql);
        }
    }
}

static void open_indexes(const char *encoding, const char *spare_cursors)
{
    taking_spare_cursors = spare_cursors;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_extended_result_codes(db, 0);
    run_sql(db, encoding);
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    run_sql(db, schema);
}

static void rows_by_indexes(void **state)
{
    (void)state;
    open_indexes("PRAGMA encoding = 'UTF-8'", "SELECT 1 FROM T, I");
    try_lengths(of_indexes, sizeof of_indexes / sizeof of_indexes[0]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void rows_by_indexes_in_another_encoding(void **state)
{
    (void)state;
    open_indexes("PRAGMA encoding = 'UTF-16'", "SELECT 1 FROM T, I");
    try_lengths(of_indexes, sizeof of_indexes / sizeof of_indexes[0]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void changes_of_indexes(void **state)
{
    (void)state;
    open_indexes("PRAGMA encoding = 'UTF-8'", "SELECT 1 FROM T");
    try_lengths(of_writes, sizeof of_writes / sizeof of_writes[0]);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_by_indexes),
        cmocka_unit_test(rows_by_indexes_in_another_encoding),
        cmocka_unit_test(changes_of_indexes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    print_message("# %lu allocations failed\n", failures);
    return failed;
}
