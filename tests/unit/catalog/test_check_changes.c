#include "fixtures/check_store.h"

/* Of table One, whose id is 1: its deletions have the id 4, its changes 5. */

static void run_on_store(const char *format)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf(format, fixture_path, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int keep_changes(void **state)
{
    if (make_store(state) != 0) {
        return -1;
    }
    run_on_store("UPDATE pt_tables SET Changes = 'on' WHERE Store = %Q AND TableName = 'One';"
                 "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
                 "INSERT INTO One VALUES ('a', '3', 3, 'three');"
                 "DELETE FROM One WHERE RowKey = '3'");
    expect("ok");
    return 0;
}

#define changes_test(name) cmocka_unit_test_setup_teardown(name, keep_changes, drop_store)

/* What the reports say to do. */
static void mend_changes(void)
{
    run_on_store("UPDATE pt_tables SET Changes = 'off' WHERE Store = %Q;"
                 "UPDATE pt_tables SET Changes = 'on' WHERE Store = %Q AND TableName = 'One'");
    expect("ok");
}

/* The statement fails, and says that the changes are damaged. */
static void assert_damaged(const char *sql)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *declaration = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q)", fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CORRUPT);
    assert_int_equal(sqlite3_extended_errcode(db), SQLITE_CORRUPT_VTAB);
    assert_non_null(strstr(sqlite3_errmsg(db), "a change of the table is damaged in the store"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_damaged_deletion_is_found(void **state)
{
    (void)state;
    flip("entities", BYTES("\4a\0003"));
    expect("deletions of table 'One', PartitionKey 'a', RowKey '3': a change is damaged");
    expect("table 'One': its deletions are not those among its changes");
    assert_damaged("INSERT INTO One VALUES ('a', '3', 3, 'again')");
    assert_damaged("SELECT pt_forget_deleted('One', '9999-01-01')");
    mend_changes();
}

static void a_damaged_change_is_found(void **state)
{
    (void)state;
    flip("entities", BYTES("\5"));
    expect("changes of table 'One'");
    expect("a change is damaged");
    expect("table 'One': its changes are not those of its entities");
    assert_damaged("SELECT * FROM pt_changes('One', NULL)");
    mend_changes();
}

static void a_deletion_that_is_missing_is_found(void **state)
{
    (void)state;
    take_out("entities", BYTES("\4a\0003"));
    expect("table 'One': its deletions are not those among its changes");
    mend_changes();
}

static void a_change_that_is_missing_is_found(void **state)
{
    (void)state;
    take_out("entities", BYTES("\5"));
    expect("table 'One': its changes are not those of its entities");
    mend_changes();
}

static void a_change_of_the_future_is_found(void **state)
{
    (void)state;
    put_sealed("entities", BYTES("\4a\0004"), BYTES("\1\1\1\1\1\1\1\x2b"));
    expect("its time is later than the newest Timestamp of the store");
    mend_changes();
}

static void a_deletion_of_an_entity_that_is_there_is_found(void **state)
{
    (void)state;
    put_sealed("entities", BYTES("\4a\0001"), BYTES("\1\1\1\1\1\1\1\1"));
    put_sealed("entities", BYTES("\5\1\1\1\1\1\1\1\1a\0001"), BYTES("\2"));
    expect("changes of table 'One', PartitionKey");
    expect("a key that has an entity is noted as deleted");
    mend_changes();
}

/* An entity that is not there any more, though its change is: its Properties cannot be told. */
static void a_change_without_entity_is_found(void **state)
{
    (void)state;
    take_out("entities", BYTES("\1a\0001"));
    expect("table 'One': its changes are not those of its entities");
    assert_damaged("SELECT Properties FROM pt_changes('One', NULL)");
}

/* An entity whose Timestamp is not known cannot be replaced while changes are kept. */
static void a_damaged_entity_is_not_replaced(void **state)
{
    (void)state;
    flip_at("entities", BYTES("\1a\0001"), PT_RECORD_HEADER);
    sqlite3 *db = open_with_ptable(":memory:");
    char *declaration = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q)", fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    const char *sql = "DELETE FROM One WHERE PartitionKey = 'a' AND RowKey = '1'";
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CORRUPT);
    assert_non_null(strstr(sqlite3_errmsg(db), "SET Changes = 'off'"));
    run_on_store("UPDATE pt_tables SET Changes = 'off' WHERE Store = %Q");
    run_sql(db, sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    mend_changes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        changes_test(a_damaged_deletion_is_found),
        changes_test(a_damaged_change_is_found),
        changes_test(a_deletion_that_is_missing_is_found),
        changes_test(a_change_that_is_missing_is_found),
        changes_test(a_change_of_the_future_is_found),
        changes_test(a_deletion_of_an_entity_that_is_there_is_found),
        changes_test(a_change_without_entity_is_found),
        changes_test(a_damaged_entity_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
