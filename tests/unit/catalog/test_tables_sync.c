/*
 * How durable a commit of pt_tables is: full, unless all tables declared in the store are off. And
 * one of pt_partitions: as the table is declared.
 */
#include "faults/system_calls.h"
#include "fixtures/database.h"

static int syncs;

static system_call_verdict count_syncs(const system_call *call)
{
    syncs += call->kind == CALL_SYNC ? 1 : 0;
    return (system_call_verdict){0};
}

static int syncs_of(sqlite3 *db, const char *sql)
{
    syncs = 0;
    system_call_judge = count_syncs;
    int code = code_of(db, "%s", sql);
    system_call_judge = NULL;
    assert_int_equal(code, SQLITE_OK);
    return syncs;
}

static bool flushes(sqlite3 *db)
{
    int inserting = syncs_of(db, "INSERT INTO pt_tables(TableName) VALUES ('One')");
    int dropping = syncs_of(db, "DELETE FROM pt_tables WHERE TableName = 'One'");
    assert_int_equal(inserting > 0, dropping > 0);
    return inserting > 0;
}

static sqlite3 *reopened(sqlite3 *db, const char *folder)
{
    close_database(db);
    return open_database(folder, "main.db");
}

static void a_store_whose_tables_are_all_off_is_not_flushed(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(v, sync=off);"
            "CREATE VIRTUAL TABLE b USING PTABLE(v, sync=off);"
            "CREATE VIRTUAL TABLE q USING pt_queue(sync=off);"
            "CREATE TABLE ordinary(v UNIQUE); CREATE VIEW w AS SELECT * FROM a");
    assert_false(flushes(db));
    db = reopened(db, *state);
    assert_false(flushes(db)); /* SQLite has connected none of the tables */
    assert_int_equal(syncs_of(db, "BEGIN; INSERT INTO pt_tables(TableName) VALUES ('Two');"
                                  "INSERT INTO a VALUES ('p', '1', 1); COMMIT"),
                     0);
    close_database(db);
}

static void one_stricter_table_is_enough(void **state)
{
    static const char *const stricter[] = {"ptable(v)", "ptable(v, sync=normal)", "pt_queue"};
    for (size_t i = 0; i < sizeof stricter / sizeof stricter[0]; i++) {
        sqlite3 *db = open_database(*state, "main.db");
        run(db,
            "CREATE VIRTUAL TABLE a USING ptable(v, sync=off);"
            "CREATE VIRTUAL TABLE s USING %s",
            stricter[i]);
        assert_true(flushes(db));
        db = reopened(db, *state);
        assert_true(flushes(db));
        run(db, "DROP TABLE s");
        assert_false(flushes(db));
        run(db, "DROP TABLE a");
        run(db, "DELETE FROM pt_tables");
        close_database(db);
    }
}

static void tables_of_other_stores_do_not_count(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(v, sync=off)");
    run(db, "CREATE VIRTUAL TABLE other USING ptable(v, store='%s/other.ptable')", folder);
    run(db, "CREATE VIRTUAL TABLE temp.scratch USING ptable(v)");
    assert_false(flushes(db));
    run(db, "CREATE VIRTUAL TABLE temp.b USING ptable(v, store='%s/main.db-ptable')", folder);
    assert_true(flushes(db));
    close_database(db);
}

/* --- Deleting partitions: as durable as the table is declared --- */

static void partitions_are_deleted_as_durably_as_their_table_is(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(v, sync=off);"
            "CREATE VIRTUAL TABLE b USING ptable(v);"
            "INSERT INTO a VALUES ('p', '1', 1), ('q', '1', 1), ('r', '1', 1);"
            "INSERT INTO b VALUES ('p', '1', 1)");
#define DELETES(table, key)                                                                        \
    syncs_of(db, "DELETE FROM pt_partitions WHERE TableName = '" table                             \
                 "' AND PartitionKey = '" key "'")
    assert_int_equal(DELETES("a", "p"), 0);
    assert_true(DELETES("b", "p") > 0);
    run(db, "CREATE VIRTUAL TABLE stricter USING ptable(v, table=a, sync=normal)");
    assert_true(DELETES("a", "q") > 0);
    run(db, "DROP TABLE stricter; DROP TABLE a");
    assert_true(DELETES("a", "r") > 0);
    assert_number(db, 0, "SELECT sum(Entities) FROM pt_tables");
    close_database(db);
}

static void without_a_table_it_is_flushed(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(v, sync=off); DROP TABLE a");
    assert_true(flushes(db));
    close_database(db);
}

/* --- A trace that rolls back --- */

static int roll_back_once(unsigned kind, void *context, void *statement, void *text)
{
    (void)kind, (void)text;
    if (strstr(sqlite3_sql(statement), "sqlite_schema") != NULL) {
        sqlite3_trace_v2(context, 0, NULL, NULL);
        sqlite3_exec(context, "ROLLBACK", NULL, NULL, NULL);
    }
    return 0;
}

static void the_application_may_roll_back_meanwhile(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(v, sync=off)");
    run(db, "BEGIN");
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, roll_back_once, db);
    fails(db, SQLITE_ABORT_ROLLBACK, "INSERT INTO pt_tables(TableName) VALUES ('One')");
    assert_number(db, 1, "SELECT count(*) FROM pt_tables");
    sqlite3 *other = open_database(*state, "main.db");
    run(other, "INSERT INTO a VALUES ('p', '1', 1)"); /* the store is free */
    run(db, "BEGIN");
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, roll_back_once, db);
    fails(db, SQLITE_ABORT_ROLLBACK, "DELETE FROM pt_partitions WHERE TableName = 'a'");
    run(other, "UPDATE a SET v = 2");
    assert_number(db, 2, "SELECT v FROM a");
    close_database(other);
    close_database(db);
}

/* --- Tables that cannot be asked --- */

static const char *hidden_column;

static int hide(void *context, int action, const char *a, const char *b, const char *schema,
                const char *trigger)
{
    (void)context, (void)schema, (void)trigger;
    bool is_schema = a != NULL && strncmp(a, "sqlite_", 7) == 0;
    bool matches = action == SQLITE_READ && is_schema && strcmp(b, hidden_column) == 0;
    return matches ? SQLITE_IGNORE : SQLITE_OK;
}

static int refuse(void *context, int action, const char *a, const char *b, const char *schema,
                  const char *trigger)
{
    (void)context, (void)b, (void)schema, (void)trigger;
    bool matches = action == SQLITE_READ && a != NULL && strncmp(a, "sqlite_", 7) == 0;
    return matches ? SQLITE_DENY : SQLITE_OK;
}

static int ignore_select(void *context, int action, const char *a, const char *b,
                         const char *schema, const char *trigger)
{
    (void)context, (void)a, (void)b, (void)schema, (void)trigger;
    return action == SQLITE_SELECT ? SQLITE_IGNORE : SQLITE_OK;
}

static void a_table_that_cannot_be_asked_counts_as_full(void **state)
{
    static const char *const columns[] = {"name", "sql", "type"};
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(v, sync=off)");
    assert_false(flushes(db));
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        hidden_column = columns[i];
        sqlite3_set_authorizer(db, hide, NULL);
        assert_int_equal(flushes(db), strcmp(columns[i], "type") != 0); /* that is not needed */
    }
    sqlite3_set_authorizer(db, refuse, NULL);
    assert_true(flushes(db));
    sqlite3_set_authorizer(db, ignore_select, NULL);
    assert_true(flushes(db));
    sqlite3_set_authorizer(db, NULL, NULL);
    assert_false(flushes(db));
    run(db, "PRAGMA writable_schema = 1");
    run(db, "UPDATE sqlite_schema SET sql = replace(sql, 'off', 'of') WHERE name = 'a'");
    db = reopened(db, *state);
    assert_true(flushes(db));
    close_database(db);
}

/* --- Functions that write --- */

static int ignore_insert(void *context, int action, const char *a, const char *b,
                         const char *schema, const char *trigger)
{
    (void)context, (void)a, (void)b, (void)schema, (void)trigger;
    return action == SQLITE_INSERT ? SQLITE_IGNORE : SQLITE_OK;
}

static void a_function_that_may_not_write_says_so(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE a USING ptable(due DateTime, expires='due', changes=on)");
    run(db, "INSERT INTO a VALUES ('p', '1', '2020-01-01'), ('p', '2', NULL)");
    run(db, "DELETE FROM a WHERE RowKey = '2'");
    sqlite3_set_authorizer(db, ignore_insert, NULL);
    fails(db, SQLITE_AUTH, "SELECT pt_purge('a')");
    fails(db, SQLITE_AUTH, "SELECT pt_forget_deleted('a', '2999-01-01')");
    sqlite3_set_authorizer(db, NULL, NULL);
    assert_number(db, 1, "SELECT pt_purge('a')");
    assert_number(db, 2, "SELECT pt_forget_deleted('a', '2999-01-01')");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_store_whose_tables_are_all_off_is_not_flushed),
        folder_test(one_stricter_table_is_enough),
        folder_test(tables_of_other_stores_do_not_count),
        folder_test(partitions_are_deleted_as_durably_as_their_table_is),
        folder_test(without_a_table_it_is_flushed),
        folder_test(the_application_may_roll_back_meanwhile),
        folder_test(a_table_that_cannot_be_asked_counts_as_full),
        folder_test(a_function_that_may_not_write_says_so),
    };
    /* Flushes of the file are counted. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
