#include "fixtures/check_store.h"

/* Entries of the index on S, whose id is 4, and of that on A, whose id is 5. */
#define ENTRY_OF_A1 "\4\x20one\0\1a\0001"

static void run_on_store(const char *format)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf(format, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int make_indexes(void **state)
{
    if (make_store(state) != 0) {
        return -1;
    }
    run_on_store("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S')");
    run_on_store("INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES (%Q, 'One', "
                 "'A,Timestamp', 1)");
    return 0;
}

#define index_test(name) cmocka_unit_test_setup_teardown(name, make_indexes, drop_store)

/* Statements on the table fail so. */
static void assert_statement_fails(const char *sql, int expected, const char *text)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *declaration = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, index(S), store=%Q)",
        fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CORRUPT);
    assert_int_equal(sqlite3_extended_errcode(db), expected);
    assert_non_null(strstr(sqlite3_errmsg(db), text));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void sound_indexes_are_ok(void **state)
{
    (void)state;
    expect("ok");
}

static void an_entry_without_entity_is_found(void **state)
{
    (void)state;
    put_sealed("entities", BYTES("\4\x20two\0\1a\0009"), BYTES("\1"));
    expect("index 'S' of table 'One': its entries are not those of the table's entities");
    assert_statement_fails("SELECT * FROM One WHERE S = 'two'", SQLITE_CORRUPT_VTAB,
                           "an index of the table is damaged");
}

static void an_entity_without_entry_is_found(void **state)
{
    (void)state;
    take_out("entities", BYTES(ENTRY_OF_A1));
    expect("index 'S' of table 'One': its entries are not those of the table's entities");
}

static void a_damaged_entry_is_found(void **state)
{
    (void)state;
    flip("entities", BYTES(ENTRY_OF_A1));
    expect("index 'S' of table 'One', PartitionKey");
    expect("an entry is damaged");
    assert_statement_fails("SELECT * FROM One WHERE S = 'one'", SQLITE_CORRUPT_VTAB,
                           "an index of the table is damaged");
}

/* Its type is none that the catalogue has noted, or that its bytes show. */
static void an_entry_of_another_type_is_found(void **state)
{
    (void)state;
    put_sealed("entities", BYTES(ENTRY_OF_A1), BYTES("\2"));
    expect("an entry is damaged");
}

/* Without the index, the table can be read. */
static void a_damaged_definition_is_found(void **state)
{
    (void)state;
    flip("entities", BYTES("\0one\0S"));
    expect("the entry of an index is damaged");
    sqlite3 *db = open_with_ptable(":memory:");
    char *declaration = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(S String, store=%Q); SELECT * FROM One",
        fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM One", NULL, NULL, NULL), SQLITE_CORRUPT);
    assert_non_null(strstr(sqlite3_errmsg(db), "entry of an index of table 'One' is damaged"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void entities_that_are_damaged_keep_their_entries(void **state)
{
    (void)state;
    flip_at("entities", BYTES("\1a\0001"), 3);
    assert_statement_fails("DELETE FROM One WHERE RowKey = '1'", SQLITE_CORRUPT_VTAB,
                           "drop the indexes");
    assert_statement_fails("INSERT OR REPLACE INTO One(PartitionKey, RowKey) VALUES ('a', '1')",
                           SQLITE_CORRUPT_VTAB, "drop the indexes");
    run_on_store("DELETE FROM pt_indexes WHERE Store = %Q");
    run_on_store("CREATE VIRTUAL TABLE One USING ptable(A Int32, store=%Q);"
                 "DELETE FROM One WHERE RowKey = '1'");
    expect("ok");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        index_test(sound_indexes_are_ok),
        index_test(an_entry_without_entity_is_found),
        index_test(an_entity_without_entry_is_found),
        index_test(a_damaged_entry_is_found),
        index_test(an_entry_of_another_type_is_found),
        index_test(a_damaged_definition_is_found),
        index_test(entities_that_are_damaged_keep_their_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
