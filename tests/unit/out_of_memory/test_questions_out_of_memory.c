/*
 * Statements that read, run once for each allocation of SQLite's allocator that they make, which
 * fails: they end for want of memory or give the rows that they give with memory, and in the end
 * nothing is left allocated. The keys are of many lengths, so that every buffer has to grow.
 */
#include "unit/out_of_memory/out_of_memory_questions.h"

#include "fixtures/own_shape.h"

static sqlite3_int64 memory_before;

#define C100 "printf('%.100c', 'c')"
#define R70 "printf('%.70c', 'r')"
#define D300 "printf('%.300c', 'd')"
#define R200 "printf('%.200c', 'r')"
#define B60 "printf('%.60c', 'b')"
#define B28 "printf('%.28c', 'b')"
#define B29 "printf('%.29c', 'b')"
#define E500 "printf('%.500c', 'e')"

static const char schema[] =
    "CREATE VIRTUAL TABLE T USING ptable(v, sync=off);"
    "INSERT INTO T(PartitionKey, RowKey, v) VALUES ('a', '1', 1), ('b', '1', 2), (" B60
    ", '1', 3), (" C100 ", " R70 ", 4), (" D300 ", " R200 ", 5), (" E500 ", '1', 6),"
    "(" E500 ", '2', zeroblob(100000));"
    "INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('z', '1', "
    "json_object(replace(printf('%.200c', 'x'), 'x', 'é'), 1, 'Name', " R70 "));"
    "CREATE VIRTUAL TABLE U USING ptable(v, sync=off);"
    "CREATE VIRTUAL TABLE B USING ptable(Ok Boolean, sync=off);"
    "INSERT INTO B VALUES ('a', '1', 1), ('b', '1', 0);"
    "CREATE VIRTUAL TABLE Q USING pt_queue(sync=off);"
    "CREATE TABLE Plain(k);"
    "INSERT INTO Plain VALUES ('a'), (" C100 "), (" D300 ")";

static void open_connection(const char *encoding)
{
    memory_before = sqlite3_memory_used();
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_extended_result_codes(db, 0);
    run_sql(db, encoding);
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    run_sql(db, schema);
}

static void close_connection(void)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_memory_used(), memory_before);
}

static void try_each(const question *asked, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        try_all(&asked[i]);
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- The questions --- */

static const question of_tables[] = {
    {NULL, "SELECT v FROM T WHERE PartitionKey = " C100 " AND RowKey = " R70},
    {NULL, "SELECT v FROM T WHERE PartitionKey = " D300},
    {NULL, "SELECT v FROM T WHERE PartitionKey IN ('a', " C100 ", " D300 ")"},
    {NULL,
     "SELECT v FROM T WHERE PartitionKey IN ('a', " C100 ", " D300 ") ORDER BY PartitionKey DESC"},
    {NULL, "SELECT RowKey FROM T WHERE RowKey = " R70},
    {NULL, "SELECT RowKey FROM T WHERE RowKey IN ('1', '2', " R70 ", " R200 ")"},
    {NULL, "SELECT RowKey FROM T WHERE RowKey > '1' ORDER BY EntityKey DESC"},
    {NULL, "SELECT DISTINCT PartitionKey FROM T"},
    {NULL, "SELECT DISTINCT PartitionKey FROM T ORDER BY PartitionKey DESC"},
    {NULL, "SELECT DISTINCT PartitionKey FROM Plain RIGHT JOIN T ON PartitionKey = k"},
    {NULL, "SELECT v FROM T WHERE PartitionKey GLOB " D300 " || '*' AND RowKey GLOB '1' || '*'"},
    {NULL, "SELECT DISTINCT PartitionKey FROM T WHERE PartitionKey IN ('a', " C100 ", " D300 ")"},
    {NULL, "SELECT v FROM T WHERE Filter = 'v eq 4'"},
    {NULL, "SELECT Ok FROM B WHERE Ok = '1' OR RowKey = '1' AND Ok IS NOT '0'"},
    {NULL, "SELECT Ok FROM B WHERE PartitionKey = 'a' AND Ok IS NOT '1' AND Ok <> '00'"},
    {NULL, "SELECT Ok FROM B WHERE Ok IN ('1', '0', 2)"},
    {NULL, "SELECT Ok FROM B WHERE Ok IN (SELECT k || '' FROM Plain WHERE k < 'a')"},
    {NULL, "SELECT v FROM T WHERE PartitionKey IN ('a', " C100 ", " D300 ") AND "
           "Filter = 'v eq 5'"},
    {NULL, "SELECT v FROM T WHERE RowKey IN ('1', " R70 ", " R200 ") AND Filter = 'v eq 5'"},
    {NULL, "SELECT v FROM T WHERE PartitionKey >= 'a' AND PartitionKey < " D300},
    {NULL, "SELECT v FROM T WHERE EntityKey > pt_entity_key(" C100 ", " R70 ")"},
    {NULL, "SELECT k, v FROM Plain JOIN T ON PartitionKey = k"},
    {NULL, "SELECT count(*) FROM T WHERE PartitionKey IN ('b0', 'b1', 'b2', 'b3', 'b4', 'b5') AND "
           "RowKey IN ('0', '2', '3', '4', '5', '6')"},
    {NULL, "SELECT count(*) FROM T WHERE PartitionKey IN (" B29 "||'1', " B29 "||'2', " B29
           "||'3', " B29 "||'4', " B29 "||'5') AND RowKey IN (" B29 "||'1', " B29 "||'2', " B29
           "||'3', " B29 "||'4', " B29 "||'5')"},
    {NULL, "SELECT count(*) FROM T WHERE PartitionKey IN (" B29 "||'1', " B29 "||'2', " B29
           "||'3', " B29 "||'4', " B29 "||'5') AND RowKey IN (" B28 "||'1', " B28 "||'2', " B28
           "||'3', " B28 "||'4', " B28 "||'5')"},
    {NULL, "SELECT * FROM pt_partitions('T') WHERE PartitionKey IN ('0', " C100 "||'0', " D300
           "||'0', " E500 "||'0')"},
    {NULL, "SELECT v FROM T WHERE EntityKey > zeroblob(100) AND EntityKey < zeroblob(200)"},
    {NULL, "SELECT v FROM T WHERE EntityKey IN (zeroblob(10000), x'00')"},
    {NULL, "SELECT v FROM T WHERE EntityKey = zeroblob(100000)"},
    {NULL, "SELECT v FROM T WHERE Filter = 'RowKey eq ''1'''"},
    {NULL, "SELECT v FROM T WHERE Filter = 'RowKey eq ''1'' or RowKey eq ''2'''"},
    {NULL, "SELECT v FROM T WHERE Filter = 'PartitionKey eq ''a'' and RowKey eq ''1'''"},
    {NULL, "CREATE VIRTUAL TABLE temp.Other USING ptable_companion"},
    {NULL, "SELECT * FROM temp.ptable_companion"},
    {NULL, "INSERT INTO temp.ptable_companion VALUES (1)"},
    {"DELETE FROM T WHERE PartitionKey = 'w'", "INSERT INTO T VALUES ('w', '1', 1)"},
};

/* So many operations that the next but one needs more room for all. */
#define WRITES(count)                                                                              \
    "BEGIN; WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < " count                 \
    ") INSERT INTO T SELECT 'p', printf('%03d', k), k FROM n"

static const question of_pending_rows[] = {
    {"BEGIN; INSERT INTO T(PartitionKey, RowKey, v) VALUES ('b', '2', 7), (" D300 ", '1', 8)",
     "SELECT PartitionKey, v FROM T"},
    {"BEGIN; INSERT INTO T(PartitionKey, RowKey, v) VALUES ('b', '2', 7), (" D300 ", '1', 8)",
     "SELECT v FROM T WHERE Filter = 'v eq 8'"},
    {"BEGIN; INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('y', '1', "
     "json_object(replace(printf('%.200c', 'x'), 'x', 'é'), 1, 'v', 9))",
     "SELECT v FROM T WHERE PartitionKey > 'u' AND Filter = 'v eq 9'"},
    {"BEGIN; INSERT INTO T(PartitionKey, RowKey, v) VALUES ('b', '2', 7), (" D300
     ", '1', zeroblob(100000)), ('y', '1', 1); DELETE FROM T WHERE PartitionKey = 'a'",
     "SELECT * FROM pt_batches"},
    {"BEGIN; INSERT INTO T(PartitionKey, RowKey, Properties) VALUES ('y', '1', "
     "json_object(replace(printf('%.200c', 'x'), 'x', 'é'), printf('%.200000c', 'v')))",
     "SELECT * FROM pt_batches"},
    {"BEGIN; INSERT INTO T VALUES ('y', '1', zeroblob(50000)); UPDATE T SET v = 7 WHERE "
     "PartitionKey = 'a'",
     "SELECT * FROM pt_batches"},
    {"BEGIN", "SELECT TableName, Entities FROM pt_tables"},
    {"BEGIN", "SELECT * FROM pt_partitions('T')"},
    {"BEGIN", "SELECT * FROM pt_properties('T')"},
    {"BEGIN; INSERT INTO U VALUES ('y', '1', 1)", "DROP TABLE U"},
    {"BEGIN; DELETE FROM U WHERE 0", "DROP TABLE U"},
    {"BEGIN", "SELECT count(*) FROM pt_queue_get('Q')"},
    {"BEGIN; WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 100) INSERT INTO T "
     "SELECT 'p', k, k FROM n",
     "INSERT INTO T VALUES ('p', '101', 1)"},
    {"BEGIN; INSERT INTO T VALUES ('p', 'b', 1), ('p', 'c', 1)",
     "INSERT INTO T VALUES ('p', 'a', 1)"},
    {"BEGIN; INSERT INTO T VALUES ('y', '1', printf('%.4000c', 'x'))",
     "DELETE FROM pt_tables WHERE TableName = 'T'"},
    {"BEGIN", "DELETE FROM pt_partitions WHERE TableName = 'T' AND PartitionKey IN ('a', " C100
              ", " D300 ")"},
    {"BEGIN; INSERT INTO T VALUES ('y', '1', printf('%.4000c', 'x'))",
     "DELETE FROM pt_partitions WHERE TableName = 'T' AND Store = '(private)'"},
    {WRITES("63"), "DELETE FROM pt_partitions WHERE TableName = 'T'"},
    {WRITES("15"), "DELETE FROM pt_tables WHERE TableName = 'T'"},
    {WRITES("31"), "DELETE FROM pt_tables WHERE TableName = 'T'"},
    {WRITES("63"), "DELETE FROM pt_tables WHERE TableName = 'T'"},
    {WRITES("127"), "DELETE FROM pt_tables WHERE TableName = 'T'"},
};

static const question of_functions[] = {
    {NULL, "SELECT * FROM pt_partitions('T')"},
    {NULL, "SELECT * FROM pt_partitions('main.T') ORDER BY PartitionKey DESC"},
    {NULL, "SELECT * FROM pt_partitions('T') WHERE PartitionKey IN ('a', " C100 ", " D300 ")"},
    {NULL, "SELECT * FROM pt_partitions('T') WHERE PartitionKey IN ('a', " C100 ", " D300
           ") ORDER BY PartitionKey DESC"},
    {NULL, "SELECT * FROM pt_partitions('T') WHERE PartitionKey > " C100},
    {NULL, "SELECT * FROM pt_partitions('(private)', 'T') WHERE PartitionKey = " E500},
    {NULL, "SELECT * FROM pt_partitions('(private nobody)', 'T')"},
    {NULL, "SELECT * FROM pt_partitions WHERE TableName = 'T' AND Store = 5"},
    {NULL, "SELECT PartitionKey FROM pt_partitions WHERE TableName = 'T' AND Store = '(private)'"},
    {NULL, "SELECT * FROM pt_properties('T')"},
    {"BEGIN", "INSERT INTO pt_tables(Store, TableName) VALUES ('(private)', 'New')"},
    {NULL, "SELECT TableName, Entities FROM pt_tables"},
    {NULL, "SELECT Entities FROM pt_tables WHERE TableName = 'T'"},
    {NULL, "SELECT Entities FROM pt_tables WHERE Store = '(private)' AND TableName = 'T'"},
    {NULL, "SELECT Store, Tables, Entities FROM pt_stores"},
    {NULL, "SELECT pt_check()"},
    {NULL, "SELECT pt_check('(private)')"},
    {NULL, "SELECT pt_backup('(private)', 'file:x')"},
};

static void rows_of_tables(void **state)
{
    (void)state;
    open_connection("PRAGMA encoding = 'UTF-8'");
    try_each(of_tables, COUNT(of_tables));
    try_each(of_pending_rows, COUNT(of_pending_rows));
    close_connection();
}

/* Every text is converted, which takes memory. */
static void rows_for_another_encoding(void **state)
{
    (void)state;
    open_connection("PRAGMA encoding = 'UTF-16'");
    try_each(of_tables, COUNT(of_tables));
    try_each(of_functions, COUNT(of_functions));
    close_connection();
}

static void rows_of_functions(void **state)
{
    (void)state;
    open_connection("PRAGMA encoding = 'UTF-8'");
    try_each(of_functions, COUNT(of_functions));
    close_connection();
}

/* Of the tables that were registered none is left over. Every other time there is no place for the
 * reason. */
static void loading(void **state)
{
    (void)state;
    bool hit = true;
    for (int n = 0; hit; n++) {
        sqlite3_int64 before = sqlite3_memory_used();
        char *message = NULL;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
        failing_malloc_arm(n, false);
        int rc = sqlite3_ptable_init(db, n % 2 == 0 ? &message : NULL, NULL);
        hit = failing_malloc_disarm();
        failures += hit;
        assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
        sqlite3_free(message);
        assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
        run_sql(db, schema);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_int_equal(sqlite3_memory_used(), before);
    }
}

/* Connects to a table in the store at `path`. */
static void open_store_table(const char *path, const char *more)
{
    memory_before = sqlite3_memory_used();
    db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE T USING ptable(v, store=%Q, sync=off);"
                                "%s INSERT OR REPLACE INTO T VALUES ('p', '1', 1)",
                                path, more);
    run_sql(db, sql);
    sqlite3_free(sql);
}

/* The row for which the dictionary had no room. */
static void rows_with_a_shape_of_their_own(void **state)
{
    (void)state;
    static const question questions[] = {
        {NULL, "SELECT Properties FROM T WHERE PartitionKey = 'Sales'"},
        {NULL, "SELECT RowKey FROM T WHERE Filter = 'Active eq true'"},
        {NULL, "SELECT PartitionKey, Bytes FROM pt_partitions((SELECT Store FROM pt_stores), 'T')"},
        {NULL, "SELECT Name, Entities FROM pt_properties((SELECT Store FROM pt_stores), 'T')"},
        {NULL, "SELECT pt_check((SELECT Store FROM pt_stores))"},
        {"BEGIN; UPDATE T SET v = 2", "SELECT RowKey FROM T WHERE Filter = 'Active eq true'"},
    };
    open_store_table(fixture_path, "");
    close_connection();
    record_bytes record = own_record(sample_ticks, 1);
    pt_store *opened = open_store(fixture_path);
    lock_store(opened);
    pt_writer *writer = begin_write(opened);
    assert_ok(engine->write_put(writer, sample_key(), slice_of(&record), &error));
    commit_write(writer);
    engine->unlock(opened);
    engine->close(opened);
    free(record.data);
    open_store_table(fixture_path, "DELETE FROM T WHERE PartitionKey = 'p';");
    try_each(questions, COUNT(questions));
    close_connection();
}

/* Their default store is not there, and of those that are open one has a file. */
static void stores_to_choose_from(void **state)
{
    (void)state;
    static const question questions[] = {
        {NULL, "SELECT TableName, Entities FROM pt_tables"},
        {NULL, "SELECT pt_compact()"},
        {NULL, "SELECT TableName FROM pt_tables WHERE Store = '(private temp)'"},
        {NULL, "SELECT * FROM pt_partitions('(private nobody)', 'T')"},
        {"BEGIN", "INSERT INTO pt_tables(TableName) VALUES ('New')"},
        {"BEGIN", "DELETE FROM pt_tables WHERE TableName = 'T'"},
        {NULL, "SELECT * FROM pt_stores WHERE Store = ''"},
        {NULL, "SELECT pt_compact((SELECT Store FROM pt_stores WHERE Store LIKE '/%'))"},
    };
    /* Not the fixture's store: its dictionary is full, and each compaction would copy all of it. */
    char small[sizeof fixture_path];
    snprintf(small, sizeof small, "%s/b.ptable", fixture_folder);
    open_store_table(small, "CREATE VIRTUAL TABLE temp.U USING ptable(v, sync=off);");
    try_each(questions, COUNT(questions));
    close_connection();
}

static int group_setup(void **state)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation can fail */
    failing_malloc_install();
    return fixture_setup(state);
}

static int group_teardown(void **state)
{
    printf("# %lu allocations failed, one at a time\n", failures);
    return fixture_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_tables),
        cmocka_unit_test(rows_for_another_encoding),
        cmocka_unit_test(rows_of_functions),
        cmocka_unit_test(loading),
        cmocka_unit_test(rows_with_a_shape_of_their_own),
        cmocka_unit_test(stores_to_choose_from),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
