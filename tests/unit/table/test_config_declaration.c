#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "base/ticks.h"
#include "faults/failing_malloc.h"
#include "table/config.h"

static int connect_module(sqlite3 *db, void *context, int argc, const char *const *argv,
                          sqlite3_vtab **vtab, char **message)
{
    (void)context;
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    int rc = pt_config_parse(argc, argv, &config, &error);
    if (rc != SQLITE_OK) {
        *message = error.message;
        return rc;
    }
    char *declaration = pt_declaration_text(&pt_config_of_ptable, &config);
    assert_non_null(declaration);
    rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    pt_config_free(&config);
    *vtab = sqlite3_malloc(sizeof **vtab);
    assert_non_null(*vtab);
    **vtab = (sqlite3_vtab){0};
    return rc;
}

static int disconnect_module(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* A WITHOUT ROWID table is checked more strictly if it can be written. */
static int refuse_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)vtab;
    (void)argc;
    (void)argv;
    (void)rowid;
    return SQLITE_READONLY;
}

static const sqlite3_module module = {.xCreate = connect_module,
                                      .xConnect = connect_module,
                                      .xDisconnect = disconnect_module,
                                      .xDestroy = disconnect_module,
                                      .xUpdate = refuse_update};

static int compare_times(void *context, int a_size, const void *a, int b_size, const void *b)
{
    (void)context;
    return pt_ticks_compare_texts(pt_slice_of(a, (size_t)a_size), pt_slice_of(b, (size_t)b_size));
}

static sqlite3 *open_database(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    static const char *const names[] = {PT_TICKS_COLLATION, PT_TICKS_SHORT_COLLATION};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sqlite3_create_collation(db, names[i], SQLITE_UTF8, NULL, compare_times),
                         SQLITE_OK);
    }
    assert_int_equal(sqlite3_create_module(db, "ptable", &module, NULL), SQLITE_OK);
    return db;
}

/* All columns as "name type hidden key;". */
static void assert_table(sqlite3 *db, const char *create, const char *columns)
{
    assert_int_equal(sqlite3_exec(db, create, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_stmt *statement;
    const char *sql = "SELECT group_concat(name || ' ' || type || ' ' || hidden || ' ' || pk, ';') "
                      "FROM pragma_table_xinfo('t')";
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(statement, 0), columns);
    sqlite3_finalize(statement);
}

static void assert_collation(sqlite3 *db, const char *column, const char *expected)
{
    const char *collation = NULL;
    assert_int_equal(
        sqlite3_table_column_metadata(db, "main", "t", column, NULL, &collation, NULL, NULL, NULL),
        SQLITE_OK);
    assert_string_equal(collation, expected);
}

static void sqlite_accepts_the_declaration(void **state)
{
    (void)state;
    sqlite3 *db = open_database();
    assert_table(db, "CREATE VIRTUAL TABLE t USING ptable",
                 "PartitionKey TEXT 0 0;RowKey TEXT 0 0;Filter TEXT 1 0;Properties TEXT 0 0;"
                 "Timestamp TEXT PTTIME 1 0;ETag TEXT 1 0;WriteMode TEXT 1 0;IfMatch TEXT 1 0;"
                 "EntityKey BLOB 1 1;_rowid_ TEXT 1 0;rowid TEXT 1 0;oid TEXT 1 0");
    assert_int_equal(sqlite3_exec(db, "DROP TABLE t", NULL, NULL, NULL), SQLITE_OK);
    assert_table(db,
                 "CREATE VIRTUAL TABLE t USING ptable(a, \"b \"\"x\"\"\" String, c Int32, d Int64,"
                 " e Double, f Boolean, g DateTime, h Guid, [select] Binary, scan=deny)",
                 "PartitionKey TEXT 0 0;RowKey TEXT 0 0;a  0 0;b \"x\" TEXT 0 0;c INTEGER 0 0;"
                 "d INTEGER 0 0;e REAL 0 0;f INTEGER 0 0;g TEXT 0 0;h TEXT 0 0;select BLOB 0 0;"
                 "Filter TEXT 1 0;Properties TEXT 1 0;Timestamp TEXT PTTIME 1 0;ETag TEXT 1 0;"
                 "WriteMode TEXT 1 0;IfMatch TEXT 1 0;EntityKey BLOB 1 1;_rowid_ TEXT 1 0;"
                 "rowid TEXT 1 0;oid TEXT 1 0");
    static const char *const collations[][2] = {
        {"PartitionKey", "BINARY"}, {"RowKey", "BINARY"},    {"a", "BINARY"},
        {"b \"x\"", "BINARY"},      {"c", "BINARY"},         {"f", "BINARY"},
        {"g", "PT_DATETIME"},       {"h", "NOCASE"},         {"select", "BINARY"},
        {"Properties", "BINARY"},   {"Timestamp", "PTTIME"}, {"ETag", "BINARY"},
    };
    for (size_t i = 0; i < sizeof collations / sizeof collations[0]; i++) {
        assert_collation(db, collations[i][0], collations[i][1]);
    }
    sqlite3_close(db);
}

static void a_declared_column_takes_the_place_of_a_row_id(void **state)
{
    (void)state;
    sqlite3 *db = open_database();
    assert_table(db, "CREATE VIRTUAL TABLE t USING ptable(OID Int32)",
                 "PartitionKey TEXT 0 0;RowKey TEXT 0 0;OID INTEGER 0 0;Filter TEXT 1 0;"
                 "Properties TEXT 1 0;Timestamp TEXT PTTIME 1 0;ETag TEXT 1 0;WriteMode TEXT 1 0;"
                 "IfMatch TEXT 1 0;EntityKey BLOB 1 1;_rowid_ TEXT 1 0;rowid TEXT 1 0");
    assert_int_equal(sqlite3_exec(db, "DROP TABLE t", NULL, NULL, NULL), SQLITE_OK);
    assert_table(db, "CREATE VIRTUAL TABLE t USING ptable(oid, \"_RowId_\" String, rowid)",
                 "PartitionKey TEXT 0 0;RowKey TEXT 0 0;oid  0 0;_RowId_ TEXT 0 0;rowid  0 0;"
                 "Filter TEXT 1 0;Properties TEXT 1 0;Timestamp TEXT PTTIME 1 0;ETag TEXT 1 0;"
                 "WriteMode TEXT 1 0;IfMatch TEXT 1 0;EntityKey BLOB 1 1");
    sqlite3_close(db);
}

static pt_config one_column(void)
{
    static char name[] = "Age";
    static pt_column age = {.name = name, .name_size = sizeof name - 1, .type = PT_INT32};
    return (pt_config){.columns = &age, .column_count = 1};
}

static void key_columns_are_never_null(void **state)
{
    (void)state;
    pt_config config = one_column();
    char *declaration = pt_declaration_text(&pt_config_of_ptable, &config);
    assert_string_equal(declaration,
                        "CREATE TABLE x(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, \"Age\" "
                        "INTEGER, Filter TEXT HIDDEN, Properties TEXT HIDDEN, Timestamp TEXT "
                        "HIDDEN PTTIME COLLATE PT_DATETIME, ETag TEXT HIDDEN, WriteMode TEXT "
                        "HIDDEN, IfMatch TEXT HIDDEN, "
                        "EntityKey BLOB HIDDEN PRIMARY KEY) WITHOUT ROWID");
    sqlite3_free(declaration);
}

static void names_of_the_tail_are_reserved(void **state)
{
    (void)state;
    assert_true(pt_declaration_reserves(&pt_config_of_ptable, "Filter"));
    assert_true(pt_declaration_reserves(&pt_config_of_ptable, "entitykey"));
    assert_false(pt_declaration_reserves(&pt_config_of_ptable, "Age"));
    assert_false(pt_declaration_reserves(&pt_config_of_ptable, "RowKey"));
    assert_false(pt_declaration_reserves(&pt_config_of_ptable, "rowid"));
    assert_false(pt_declaration_reserves(&pt_config_of_ptable, ""));
}

static void it_may_run_out_of_memory(void **state)
{
    (void)state;
    pt_config config = one_column();
    bool hit = true;
    for (int n = 0; hit; n++) {
        failing_malloc_arm(n, false);
        char *declaration = pt_declaration_text(&pt_config_of_ptable, &config);
        hit = failing_malloc_disarm();
        assert_int_equal(declaration == NULL, hit);
        sqlite3_free(declaration);
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlite_accepts_the_declaration),
        cmocka_unit_test(a_declared_column_takes_the_place_of_a_row_id),
        cmocka_unit_test(key_columns_are_never_null),
        cmocka_unit_test(names_of_the_tail_are_reserved),
        cmocka_unit_test(it_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
