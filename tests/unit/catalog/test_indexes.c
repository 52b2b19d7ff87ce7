/*
 * The table pt_indexes: its plans, what it refuses, and statements that change their own ground.
 */
#include "fixtures/database.h"

/* perform(sql): its result code. */
static void perform(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *sql = (const char *)sqlite3_value_text(argv[0]);
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_result_int(context, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static sqlite3 *open_with_indexes(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(A Int32, S String, sync=off);"
            "CREATE VIRTUAL TABLE jobs USING pt_queue(sync=off);"
            "INSERT INTO t VALUES ('p', '1', 1, 'one'), ('p', '2', 2, 'two');"
            "INSERT INTO pt_indexes(TableName, Columns) VALUES ('t', 'A'), ('T', 'S')");
    assert_int_equal(
        sqlite3_create_function(db, "perform", 1, SQLITE_UTF8, NULL, perform, NULL, NULL),
        SQLITE_OK);
    return db;
}

/* --- Reading --- */

static void a_store_is_chosen_by_its_exact_name(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    run(db, "CREATE VIRTUAL TABLE o USING ptable(A Int32, index(A), store='%s/Other', sync=off)",
        (const char *)*state);
    run(db, "CREATE TABLE name AS SELECT Store AS s FROM pt_stores WHERE Store LIKE '%%Other'");
    assert_number(db, 1, "SELECT count(*) FROM pt_indexes WHERE Store = (SELECT s FROM name)");
    assert_number(db, 1, "SELECT count(*) FROM pt_indexes WHERE Store IS (SELECT s FROM name)");
    assert_number(
        db, 1, "SELECT count(*) FROM name LEFT JOIN pt_indexes ON Store = s AND Store = s || ''");
    assert_number(db, 0,
                  "SELECT count(*) FROM pt_indexes WHERE Store = (SELECT s FROM name) AND Store = "
                  "'%s/main.db-ptable'",
                  (const char *)*state);
    /* These are no plans: only the default store is looked at. */
    assert_number(db, 2, "SELECT count(*) FROM pt_indexes WHERE Store > ''");
    assert_number(
        db, 0,
        "SELECT count(*) FROM pt_indexes WHERE Store = (SELECT upper(s) FROM name) COLLATE "
        "NOCASE");
    assert_number(db, 3,
                  "SELECT count(*) FROM pt_stores AS x JOIN pt_indexes AS i ON i.Store = x.Store");
    assert_number(db, 2,
                  "SELECT count(*) FROM pt_indexes AS i CROSS JOIN pt_stores AS x ON i.Store = "
                  "x.Store");
    close_database(db);
}

static void no_store_has_a_name_that_is_no_text(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    assert_number(db, 0, "SELECT count(*) FROM pt_indexes WHERE Store = NULL");
    assert_number(db, 0, "SELECT count(*) FROM pt_indexes WHERE Store IS NULL");
    assert_number(db, 0, "SELECT count(*) FROM pt_indexes WHERE Store = x'61'");
    fails(db, SQLITE_CANTOPEN, "SELECT * FROM pt_indexes WHERE Store = 'nowhere.ptable'");
    says(db, "nowhere.ptable");
    close_database(db);
}

/* Without a default store all open ones are listed, and a change must name its own. */
static void a_database_in_memory_shows_all_open_stores(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    close_database(db);
    db = open_database("", ":memory:");
    assert_number(db, 0, "SELECT count(*) FROM pt_indexes");
    for (int i = 1; i <= 2; i++) {
        run(db, "CREATE VIRTUAL TABLE t%d USING ptable(A Int32, index(A), store='%s/%d', sync=off)",
            i, (const char *)*state, i);
        run(db, "INSERT INTO t%d VALUES ('p', '1', 1)", i);
    }
    assert_number(db, 2, "SELECT count(DISTINCT Store) FROM pt_indexes");
    assert_number(db, 2, "SELECT sum(Entries) FROM pt_indexes");
    assert_number(db, 1, "SELECT min(Bytes) > 0 FROM pt_indexes");
    fails(db, SQLITE_ERROR, "DELETE FROM pt_indexes WHERE TableName = 't1'");
    says(db, "Store");
    run(db, "DELETE FROM pt_indexes WHERE Store = '%s/1'", (const char *)*state);
    assert_number(db, 1, "SELECT count(*) FROM pt_indexes");
    fails(db, SQLITE_ERROR, "INSERT INTO pt_indexes(TableName, Columns) VALUES ('t1', 'A')");
    says(db, "Store");
    close_database(db);
}

/* --- Writing --- */

static void values_that_are_no_index_are_refused(void **state)
{
    static const struct {
        int code;
        const char *columns;
        const char *values;
        const char *text;
    } refused[] = {
        {SQLITE_CONSTRAINT_NOTNULL, "Columns", "'A'", "TableName is not a text"},
        {SQLITE_CONSTRAINT_NOTNULL, "TableName, Columns", "1, 'A'", "TableName is not a text"},
        {SQLITE_CONSTRAINT_NOTNULL, "TableName", "'t'", "Columns is not a text"},
        {SQLITE_CONSTRAINT_NOTNULL, "Store, TableName, Columns", "7, 't', 'A,S'",
         "Store is not a text"},
        {SQLITE_CONSTRAINT_VTAB, "IndexName, TableName, Columns", "'x', 't', 'A,S'",
         "IndexName cannot be given"},
        {SQLITE_CONSTRAINT_VTAB, "Entries, TableName, Columns", "1, 't', 'A,S'",
         "Entries cannot be given"},
        {SQLITE_CONSTRAINT_VTAB, "Bytes, TableName, Columns", "1, 't', 'A,S'",
         "Bytes cannot be given"},
        {SQLITE_CONSTRAINT_VTAB, "rowid, TableName, Columns", "1, 't', 'A,S'",
         "the rowid cannot be given"},
        {SQLITE_CONSTRAINT_VTAB, "IsUnique, TableName, Columns", "2, 't', 'A,S'", "0 or 1"},
        {SQLITE_CONSTRAINT_VTAB, "IsUnique, TableName, Columns", "'yes', 't', 'A,S'", "0 or 1"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', ''", "a name is empty"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', '\"a@odata.type\"'",
         "no property can have this name"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', '\"'", "needs double quotes"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', '\"a'", "needs double quotes"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', 'a b'", "needs double quotes"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', 'A,A'", "listed twice"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', 'a,b,c,d,e,f,g,h,i'",
         "more than 8 columns"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', printf('%.2001c', 'x')",
         "more than 2000 bytes"},
        {SQLITE_CONSTRAINT_VTAB, "TableName, Columns", "'t', 'PartitionKey,RowKey'",
         "in the order of PartitionKey, RowKey anyway"},
        {SQLITE_CONSTRAINT_PRIMARYKEY, "TableName, Columns", "'t', 'A'", "already has an index"},
        {SQLITE_ERROR, "TableName, Columns", "'none', 'A'", "TableNotFound"},
        {SQLITE_ERROR, "TableName, Columns", "'jobs', 'A'", "is a queue"},
    };
    sqlite3 *db = open_with_indexes(*state);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        fails(db, refused[i].code, "INSERT INTO pt_indexes(%s) VALUES (%s)", refused[i].columns,
              refused[i].values);
        says(db, refused[i].text);
        assert_number(db, 2, "SELECT count(*) FROM pt_indexes");
    }
    fails(db, SQLITE_ERROR, "UPDATE pt_indexes SET IsUnique = 1");
    says(db, "INSERT makes one, DELETE drops one");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

static void names_may_be_quoted(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    run(db, "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES "
            "('t', ' \"say \"\"a, b\"\"\" , timestamp', NULL)");
    assert_number(db, 1,
                  "SELECT count(*) FROM pt_indexes WHERE IndexName = 'say \"a, b\",Timestamp' AND "
                  "IsUnique = 0 AND Columns = IndexName AND Entries = 0");
    close_database(db);
}

static void a_table_that_is_only_read_keeps_its_indexes(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    run(db, "DELETE FROM pt_indexes; DROP TABLE t;"
            "CREATE VIRTUAL TABLE seen USING ptable(A Int32, table=t, readonly=1);"
            "CREATE VIRTUAL TABLE w USING ptable(A Int32, index(A))");
    fails(db, SQLITE_READONLY, "INSERT INTO pt_indexes(TableName, Columns) VALUES ('t', 'A')");
    says(db, "declared read-only, as 'seen'");
    run(db, "DROP TABLE seen; INSERT INTO pt_indexes(TableName, Columns) VALUES ('t', 'A');"
            "CREATE VIRTUAL TABLE seen USING ptable(A Int32, table=t, readonly=1)");
    fails(db, SQLITE_READONLY, "DELETE FROM pt_indexes WHERE TableName = 't'");
    run(db, "DELETE FROM pt_indexes WHERE TableName = 'w'");
    assert_number(db, 1, "SELECT count(*) FROM pt_indexes");
    close_database(db);
}

/* --- Functions within the statement --- */

static void an_index_is_dropped_once(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    run(db, "DELETE FROM pt_indexes WHERE IndexName = 'S' AND "
            "perform('DELETE FROM pt_indexes WHERE IndexName = ''S''') = 0");
    assert_number(db, 1, "SELECT count(*) FROM pt_indexes");
    run(db, "DELETE FROM pt_indexes WHERE perform('DELETE FROM pt_tables') = 0");
    assert_number(db, 0, "SELECT count(*) FROM pt_indexes");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

static void a_statement_that_rolls_back_changes_nothing_more(void **state)
{
    sqlite3 *db = open_with_indexes(*state);
    run(db, "BEGIN; DELETE FROM pt_indexes WHERE TableName = 'none'");
    fails(db, SQLITE_ABORT_ROLLBACK, "DELETE FROM pt_indexes WHERE perform('ROLLBACK') = 0");
    run(db, "BEGIN; DELETE FROM pt_indexes WHERE TableName = 'none'");
    fails(db, SQLITE_ABORT_ROLLBACK,
          "INSERT INTO pt_indexes(TableName, Columns) SELECT 't', 'A,S' WHERE "
          "perform('ROLLBACK') = 0");
    says(db, "rolled back");
    assert_number(db, 2, "SELECT count(*) FROM pt_indexes");
    close_database(db);
}

int main(void)
{
#define folder_test(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        folder_test(a_store_is_chosen_by_its_exact_name),
        folder_test(no_store_has_a_name_that_is_no_text),
        folder_test(a_database_in_memory_shows_all_open_stores),
        folder_test(values_that_are_no_index_are_refused),
        folder_test(names_may_be_quoted),
        folder_test(a_table_that_is_only_read_keeps_its_indexes),
        folder_test(an_index_is_dropped_once),
        folder_test(a_statement_that_rolls_back_changes_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
