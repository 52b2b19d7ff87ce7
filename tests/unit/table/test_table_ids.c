/*
 * Tables whose ids take one, three and five bytes in keys: beside each other, in transactions,
 * dropped, in copies; and the last id that there is.
 */
#include "fixtures/connection.h"
#include "fixtures/raw_store.h"
#include "lmdb/page/format.h"

static sqlite3 *db;

/* --- SQL --- */

/* Runs a format of sqlite3_mprintf. */
static void run(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    assert_non_null(sql);
    run_sql(db, sql);
    sqlite3_free(sql);
}

/* The integer that a query returns. */
static int64_t number(const char *format, ...)
{
    sqlite3_stmt *statement;
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return value;
}

/* --- Ids --- */

/* The next table of the closed store gets this id. */
static void set_next_id(uint32_t id)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val value;
    pt_slice key = pt_format_state_key();
    MDB_val name = {.mv_size = key.size, .mv_data = (void *)(uintptr_t)key.data};
    pt_format_state stored;
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, fixture_path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    assert_int_equal(mdb_get(txn, dbi, &name, &value), 0);
    assert_true(pt_format_read_state(pt_slice_of(value.mv_data, value.mv_size), &stored));
    stored.next_table_id = id;
    stored.version = mdb_txn_id(txn);
    size_t size = pt_format_write_state(&stored, bytes);
    value = (MDB_val){.mv_size = size, .mv_data = bytes};
    assert_int_equal(mdb_put(txn, dbi, &name, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void open_again(void)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = open_with_ptable(":memory:");
}

/* A store with a table, whose next one gets this id. */
static void make_store_before(uint32_t id)
{
    db = open_with_ptable(":memory:");
    run("CREATE VIRTUAL TABLE first USING ptable(v String, store=%Q, sync=off)", fixture_path);
    open_again();
    set_next_id(id);
}

static void assert_id(const char *table, uint32_t id)
{
    test_key key = key_of(PT_TABLE_CATALOG, table);
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    bool found = false;
    pt_slice record;
    assert_ok(engine->get(snapshot, key_slice(&key), &found, &record, &error));
    assert_true(found);
    assert_int_equal(pt_get_le32(record.data + 1), id);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* --- Rows --- */

enum { ROWS = 7, LARGE = 5000, CHUNKS = 3 };

/* Short and empty keys, the greatest ones, those with links, the longest one, and a large value. */
static void make_model(void)
{
    run("CREATE TABLE model(PartitionKey, RowKey, b);"
        "INSERT INTO model VALUES ('', '', NULL), ('a', '', 'short'), ('a', '1', NULL),"
        "('a', printf('%%.600c', 'k'), 'linked'), ('p', printf('%%.16378c', 'k'), 'longest'),"
        "('p', 'large', printf('%%.5000c', 'x')), (char(0x10FFFF), char(0x10FFFF), 'last')");
}

static void attach_table(const char *table, const char *path)
{
    run("CREATE VIRTUAL TABLE %s USING ptable(v String, b String, store=%Q, sync=off)", table,
        path);
}

static void fill(const char *table)
{
    run("INSERT INTO %s SELECT PartitionKey, RowKey, %Q, b FROM model ORDER BY random()", table,
        table);
}

/* The table shows its rows, and no others, in all ways of reading. */
static void assert_rows(const char *table)
{
    static const char *const wholes[] = {
        "%s", "(SELECT * FROM %s ORDER BY PartitionKey DESC, RowKey DESC LIMIT 100)",
        "%s WHERE PartitionKey >= ''", "%s WHERE PartitionKey IN ('', 'a', 'p', char(0x10FFFF))"};
    for (size_t i = 0; i < sizeof wholes / sizeof wholes[0]; i++) {
        char from[200];
        snprintf(from, sizeof from, wholes[i], table);
        assert_int_equal(number("SELECT count(*) FROM %s", from), ROWS);
        assert_int_equal(number("SELECT sum(v = %Q) FROM %s", table, from), ROWS);
        assert_int_equal(number("SELECT max(length(b)) FROM %s", from), LARGE);
    }
    assert_int_equal(number("SELECT count(*) FROM (SELECT PartitionKey, RowKey, b FROM %s EXCEPT "
                            "SELECT * FROM model)",
                            table),
                     0);
    assert_int_equal(number("SELECT count(*) FROM model m JOIN %s t ON t.PartitionKey = "
                            "m.PartitionKey AND t.RowKey = m.RowKey AND t.b IS m.b",
                            table),
                     ROWS);
    assert_int_equal(number("SELECT count(DISTINCT PartitionKey) FROM %s", table), 4);
    assert_int_equal(number("SELECT count(*) FROM %s WHERE PartitionKey = 'a'", table), 3);
    assert_int_equal(number("SELECT unicode(RowKey) FROM %s ORDER BY EntityKey DESC", table),
                     0x10FFFF);
    assert_int_equal(number("SELECT count(*) FROM pt_partitions(%Q, %Q)", fixture_path, table), 4);
}

static void assert_sound(const char *path)
{
    assert_int_equal(number("SELECT pt_check(%Q) = 'ok'", path), 1);
}

/* --- Beside each other --- */

enum { TABLES = 4 };

static const char *const names[TABLES] = {"w0", "w1", "w2", "w3"};

static void assert_all_rows(void)
{
    for (int i = 0; i < TABLES; i++) {
        assert_rows(names[i]);
    }
}

/* What is pending hides what is stored of its own table only. */
static void write_and_undo(void)
{
    run("BEGIN");
    run("UPDATE w1 SET v = 'other', b = printf('%%.3000c', 'y') WHERE PartitionKey <> 'p'");
    assert_int_equal(number("SELECT sum(v = 'other') FROM w1"), ROWS - 2);
    run("SAVEPOINT s; DELETE FROM w2; INSERT OR REPLACE INTO w0 SELECT * FROM w1");
    assert_int_equal(number("SELECT count(*) FROM w2"), 0);
    assert_int_equal(number("SELECT sum(v = 'other') FROM w0"), ROWS - 2);
    assert_int_equal(number("SELECT count(*) FROM pt_batches WHERE TableName = 'w2'"), 4);
    assert_rows("w3");
    run("ROLLBACK TO s");
    assert_rows("w0");
    assert_rows("w2");
    run("ROLLBACK");
    assert_all_rows();
}

/* The garbage goes with the commits that follow. */
static void drop_table(const char *table)
{
    run("DELETE FROM pt_tables WHERE Store = %Q AND TableName = %Q", fixture_path, table);
    run("DROP TABLE %s", table);
    assert_sound(fixture_path);
    for (int i = 0; i < 10; i++) {
        run("INSERT INTO first(PartitionKey, RowKey) VALUES ('x', 'x')");
        run("DELETE FROM first");
    }
    assert_int_equal(number("SELECT count(*) FROM pt_tables WHERE Store = %Q AND TableName = %Q",
                            fixture_path, table),
                     0);
}

static void assert_copy(const char *dropped)
{
    char copy[128];
    snprintf(copy, sizeof copy, "%s/copy.ptable", fixture_folder);
    assert_true(number("SELECT pt_backup(%Q, %Q)", fixture_path, copy) > 0);
    assert_sound(copy);
    assert_int_equal(number("SELECT count(*) FROM pt_tables WHERE Store = %Q", copy), TABLES);
    for (int i = 0; i < TABLES; i++) {
        if (strcmp(names[i], dropped) != 0) {
            run("DROP TABLE %s", names[i]);
            attach_table(names[i], copy);
            assert_rows(names[i]);
            run("DROP TABLE %s", names[i]);
            attach_table(names[i], fixture_path);
        }
    }
    open_again();
    assert_int_equal(unlink(copy), 0);
    snprintf(copy, sizeof copy, "%s/copy.ptable-lock", fixture_folder);
    unlink(copy);
}

static void attach_all(void)
{
    run("CREATE VIRTUAL TABLE first USING ptable(v String, store=%Q, sync=off)", fixture_path);
    make_model();
    for (int i = 0; i < TABLES; i++) {
        attach_table(names[i], fixture_path);
    }
}

static void neighbours_of_an_edge(uint32_t edge)
{
    make_store_before(edge - 2);
    attach_all();
    for (int i = 0; i < TABLES; i++) {
        fill(names[i]);
    }
    assert_all_rows();
    write_and_undo();
    assert_sound(fixture_path);
    run("DELETE FROM pt_tables WHERE Store = %Q AND TableName = 'w1'", fixture_path);
    assert_copy("w1");
    attach_all();
    assert_int_equal(number("SELECT count(*) FROM w1"), 0); /* a new one, under the next id */
    drop_table("w1");
    assert_rows("w0");
    assert_rows("w2");
    drop_table("w2");
    assert_rows("w0");
    assert_rows("w3");
    assert_true(number("SELECT pt_compact(%Q)", fixture_path) >= 0);
    assert_sound(fixture_path);
    assert_rows("w0");
    assert_rows("w3");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(raw_entries("garbage"), 0);
    assert_int_equal(raw_entries("chunks"), 2 * CHUNKS);
    assert_id("w0", edge - 2);
    assert_id("w3", edge + 1);
}

static void ids_of_one_byte_and_three(void **state)
{
    (void)state;
    neighbours_of_an_edge(0xF0);
}

static void ids_whose_second_byte_changes(void **state)
{
    (void)state;
    neighbours_of_an_edge(0x100);
}

static void ids_of_three_bytes_and_five(void **state)
{
    (void)state;
    neighbours_of_an_edge(0x10000);
}

static void ids_of_five_bytes(void **state)
{
    (void)state;
    neighbours_of_an_edge(0x01000000);
}

static void assert_has_no_id_for(const char *format)
{
    char *sql = sqlite3_mprintf(format, fixture_path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_FULL);
    assert_non_null(strstr(sqlite3_errmsg(db), "has given out all its table ids; use another"));
    sqlite3_free(sql);
}

static void the_last_ids(void **state)
{
    (void)state;
    make_store_before(PT_TABLE_ID_LIMIT - TABLES);
    attach_all();
    for (int i = 0; i < TABLES; i++) {
        fill(names[i]);
    }
    assert_all_rows();
    write_and_undo();
    assert_has_no_id_for("CREATE VIRTUAL TABLE more USING ptable(v, store=%Q)");
    assert_has_no_id_for(
        "INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'w0', 'v')");
    assert_has_no_id_for("UPDATE pt_tables SET Changes = 1 WHERE Store = %Q AND TableName = 'w0'");
    assert_sound(fixture_path);
    run("DELETE FROM pt_tables WHERE Store = %Q AND TableName = 'w3'", fixture_path);
    assert_copy("w3");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_id("w0", PT_TABLE_ID_LIMIT - TABLES);
    assert_id("w2", PT_TABLE_ID_LIMIT - 2);
}

/* --- Many tables --- */

static void three_hundred_tables(void **state)
{
    enum { MANY = 300 };
    (void)state;
    db = open_with_ptable(":memory:");
    for (int i = 1; i <= MANY; i++) {
        run("CREATE VIRTUAL TABLE t%d USING ptable(n Int32, store=%Q, sync=off);"
            "INSERT INTO t%d VALUES ('p', 'r', %d)",
            i, fixture_path, i, i);
    }
    for (int i = 1; i <= MANY; i++) {
        assert_int_equal(number("SELECT sum(n) FROM t%d", i), i);
        assert_int_equal(number("SELECT n FROM t%d ORDER BY PartitionKey DESC", i), i);
    }
    assert_int_equal(number("SELECT sum(Entities) FROM pt_tables WHERE Store = %Q", fixture_path),
                     MANY);
    run("BEGIN");
    for (int i = 1; i <= MANY; i++) {
        run("UPDATE t%d SET n = n + 1000; DELETE FROM t%d WHERE n %% 2 = 0", i, i);
    }
    run("COMMIT");
    assert_int_equal(number("SELECT sum(Entities) FROM pt_tables WHERE Store = %Q", fixture_path),
                     MANY / 2);
    run("DELETE FROM pt_tables WHERE Store = %Q AND TableName GLOB 't2*'", fixture_path);
    assert_sound(fixture_path);
    assert_int_equal(number("SELECT count(*) FROM pt_tables WHERE Store = %Q", fixture_path),
                     MANY - 111);
    assert_int_equal(number("SELECT n FROM t199"), 1199);
    assert_int_equal(number("SELECT count(*) FROM t300"), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- Queues --- */

static void a_queue_with_a_long_id(void **state)
{
    (void)state;
    make_store_before(0xFFFF);
    run("CREATE VIRTUAL TABLE q USING pt_queue(store=%Q, sync=off);"
        "CREATE VIRTUAL TABLE behind USING pt_queue(store=%Q, sync=off);"
        "INSERT INTO q(Body) VALUES ('one'), (printf('%%.5000c', 'x'));"
        "INSERT INTO behind(Body) VALUES ('other')",
        fixture_path, fixture_path);
    assert_int_equal(number("SELECT count(*) FROM q"), 2);
    assert_int_equal(number("SELECT count(*) FROM q WHERE TimeNextVisible > '2000-01-01'"), 2);
    assert_int_equal(number("SELECT sum(length(Body)) FROM pt_queue_get('q', 32)"), LARGE + 3);
    assert_int_equal(number("SELECT count(*) FROM pt_queue_get('q', 32)"), 0);
    assert_int_equal(number("SELECT length(Body) FROM pt_queue_get('behind', 32)"), 5);
    run("DELETE FROM q WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM q)");
    assert_int_equal(number("SELECT count(*) FROM behind"), 1);
    assert_sound(fixture_path);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

#define store_test(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(ids_of_one_byte_and_three),
        store_test(ids_whose_second_byte_changes),
        store_test(ids_of_three_bytes_and_five),
        store_test(ids_of_five_bytes),
        store_test(the_last_ids),
        store_test(three_hundred_tables),
        store_test(a_queue_with_a_long_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
