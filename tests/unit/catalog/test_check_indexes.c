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

/* What the report says to do: the index is dropped, and made again. */
static void mend_index(void)
{
    run_on_store(
        "DELETE FROM pt_indexes WHERE Store = %Q AND TableName = 'One' AND IndexName = 'S'");
    run_on_store("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S')");
    expect("ok");
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
                           "an entry of index 'S' is damaged");
    mend_index();
}

static void an_entity_without_entry_is_found(void **state)
{
    (void)state;
    take_out("entities", BYTES(ENTRY_OF_A1));
    expect("index 'S' of table 'One': its entries are not those of the table's entities");
    mend_index();
}

static void a_damaged_entry_is_found(void **state)
{
    (void)state;
    flip("entities", BYTES(ENTRY_OF_A1));
    expect("index 'S' of table 'One', PartitionKey");
    expect("an entry is damaged");
    assert_statement_fails("SELECT * FROM One WHERE S = 'one'", SQLITE_CORRUPT_VTAB,
                           "an entry of index 'S' is damaged");
    mend_index();
}

/* Its type is none that the catalogue has noted, or that its bytes show. */
static void an_entry_of_another_type_is_found(void **state)
{
    (void)state;
    put_sealed("entities", BYTES(ENTRY_OF_A1), BYTES("\2"));
    expect("an entry is damaged");
}

/* A query by the index gives the right rows, fewer if the entry is not where it belongs, or fails.
 */
static void assert_no_wrong_rows(void)
{
    static const char *const conditions[] = {"S = 'one'", "S >= ''", "S < 'z' ORDER BY S DESC"};
    sqlite3 *db = open_with_ptable(":memory:");
    char *declaration = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, index(S), store=%Q)",
        fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        sqlite3_stmt *rows = NULL;
        char *sql = sqlite3_mprintf("SELECT A, substr(S, 1, 3), length(RowKey) FROM One WHERE %s",
                                    conditions[i]);
        unsigned seen = 0;
        int rc = sqlite3_prepare_v2(db, sql, -1, &rows, NULL);
        assert_int_equal(rc, SQLITE_OK);
        while ((rc = sqlite3_step(rows)) == SQLITE_ROW) {
            static const char *const texts[] = {"one", "xxx", "", ""};
            static const int sizes[] = {1, 1, 900, 2900};
            int number = sqlite3_column_int(rows, 0);
            assert_in_range(number, 1, 4);
            assert_int_equal(seen >> number & 1, 0);
            assert_string_equal(sqlite3_column_text(rows, 1), texts[number - 1]);
            assert_int_equal(sqlite3_column_int(rows, 2), sizes[number - 1]);
            seen |= 1u << number;
        }
        assert_true(rc == SQLITE_DONE || rc == SQLITE_CORRUPT);
        sqlite3_finalize(rows);
        sqlite3_free(sql);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_found(const char *what, size_t at)
{
    char *text = check();
    if (strstr(text, "index 'S' of table 'One'") == NULL) {
        fail_msg("pt_check does not find byte %zu of %s damaged", at, what);
    }
    sqlite3_free(text);
    assert_no_wrong_rows();
}

/* LMDB's own commits, which damage the store, count as damage. */
static void assert_indexes_are_sound(void)
{
    char *text = check();
    assert_null(strstr(text, "index"));
    sqlite3_free(text);
}

static void each_damaged_byte_of_a_record_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < 1 + PT_SEAL_SIZE; i++) {
        flip_at("entities", BYTES(ENTRY_OF_A1), i);
        assert_found("the record", i);
        assert_statement_fails("SELECT * FROM One WHERE S = 'one'", SQLITE_CORRUPT_VTAB,
                               "an entry of index 'S' is damaged");
        flip_at("entities", BYTES(ENTRY_OF_A1), i);
    }
    assert_indexes_are_sound();
}

static void each_damaged_byte_of_a_key_is_found(void **state)
{
    (void)state;
    const pt_slice key = BYTES(ENTRY_OF_A1);
    const uint8_t types[] = {PT_STRING};
    const pt_slice record = sealed(key, pt_slice_of(types, sizeof types));
    uint8_t kept[1 + PT_SEAL_SIZE];
    assert_int_equal(record.size, sizeof kept);
    memcpy(kept, record.data, sizeof kept);
    for (size_t i = 0; i < 8 * key.size; i++) {
        uint8_t moved[sizeof ENTRY_OF_A1 - 1];
        memcpy(moved, key.data, sizeof moved);
        moved[i / 8] ^= (uint8_t)(1 << i % 8);
        take_out("entities", key);
        put("entities", pt_slice_of(moved, sizeof moved), pt_slice_of(kept, sizeof kept));
        assert_found("the key", i / 8);
        take_out("entities", pt_slice_of(moved, sizeof moved));
        put("entities", key, pt_slice_of(kept, sizeof kept));
    }
    assert_indexes_are_sound();
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

static void assert_refused(sqlite3 *db, const char *sql, int expected, const char *text)
{
    assert_int_not_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_extended_errcode(db), expected);
    if (strstr(sqlite3_errmsg(db), text) == NULL) {
        fail_msg("\"%s\" is not in: %s", text, sqlite3_errmsg(db));
    }
}

/* A database that declares the table with its index on S. */
static sqlite3 *open_declared(void)
{
    char *path = sqlite3_mprintf("%s.db", fixture_path);
    sqlite3 *db = open_with_ptable(path);
    char *declaration = sqlite3_mprintf("CREATE VIRTUAL TABLE IF NOT EXISTS One USING ptable(A "
                                        "Int32, S String, index(S), store=%Q)",
                                        fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    sqlite3_free(path);
    return db;
}

static void run_in_store(sqlite3 *db, const char *format)
{
    char *sql = sqlite3_mprintf(format, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
}

/* The message says how to get rid of such an entity, and that works. */
static void entities_that_are_damaged_keep_their_entries(void **state)
{
    (void)state;
    static const char advice[] = "drop the indexes (DELETE FROM pt_indexes), DELETE the entity, "
                                 "make the indexes again, then INSERT the entity";
    assert_int_equal(sqlite3_close(open_declared()), SQLITE_OK);
    flip_at("entities", BYTES("\1a\0001"), 3);
    sqlite3 *db = open_declared();
    assert_refused(db, "DELETE FROM One WHERE RowKey = '1'", SQLITE_CORRUPT_VTAB, advice);
    assert_refused(db, "INSERT OR REPLACE INTO One(PartitionKey, RowKey) VALUES ('a', '1')",
                   SQLITE_CORRUPT_VTAB, advice);
    assert_refused(db, "DELETE FROM pt_partitions WHERE argument1 = 'One'", SQLITE_CORRUPT_VTAB,
                   advice);
    assert_refused(db, "UPDATE One SET A = 5 WHERE RowKey = '1'", SQLITE_CORRUPT_VTAB,
                   "is damaged");
    char *unknown = sqlite3_mprintf(
        "INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'a')", fixture_path);
    assert_refused(db, unknown, SQLITE_CORRUPT_VTAB, "is damaged");
    sqlite3_free(unknown);
    run_in_store(db, "DELETE FROM pt_indexes WHERE Store = %Q");
    run_sql(db, "DELETE FROM One WHERE RowKey = '1'");
    assert_refused(db, "INSERT INTO One VALUES ('a', '1', 1, 'one')", SQLITE_ERROR,
                   "INSERT INTO pt_indexes(");
    run_in_store(db, "INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S')");
    run_sql(db, "INSERT INTO One VALUES ('a', '1', 1, 'one')");
    run_sql(db, "DROP TABLE One");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    expect("ok");
    char *path = sqlite3_mprintf("%s.db", fixture_path);
    unlink(path);
    sqlite3_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        index_test(sound_indexes_are_ok),
        index_test(an_entry_without_entity_is_found),
        index_test(an_entity_without_entry_is_found),
        index_test(a_damaged_entry_is_found),
        index_test(an_entry_of_another_type_is_found),
        index_test(each_damaged_byte_of_a_record_is_found),
        index_test(each_damaged_byte_of_a_key_is_found),
        index_test(a_damaged_definition_is_found),
        index_test(entities_that_are_damaged_keep_their_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
