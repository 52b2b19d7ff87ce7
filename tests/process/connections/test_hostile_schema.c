/*
 * What a schema and its data can do that somebody else has made: what views and triggers may not
 * use, names that look like SQL, authorizers and limits of the program, and inputs that are made to
 * take long or much memory.
 */
#include <unistd.h>

#include "fixtures/database.h"

enum { PATIENCE_SECONDS = 60 };

static const char text_function[] = "SELECT flags FROM pragma_function_list WHERE name = ";

#define DIRECT_ONLY "unsafe use of virtual table"

/* --- Views and triggers --- */

/* Those that a view may use; every other module of ours opens files or changes data. */
static bool may_be_in_views(const char *module)
{
    return strcmp(module, "ptable") == 0 || strcmp(module, "pt_queue") == 0 ||
           strcmp(module, "pt_batches") == 0 || strcmp(module, "pt_stores") == 0;
}

static int check_module(void *context, int count, char **values, char **names)
{
    sqlite3 *db = context;
    (void)count;
    (void)names;
    const char *module = values[0];
    int rc =
        code_of(db,
                "CREATE TEMP VIEW gone AS SELECT 1; DROP VIEW gone;"
                "DROP VIEW IF EXISTS v; CREATE VIEW v AS SELECT * FROM \"%w\"; SELECT * FROM v",
                module);
    bool refused = rc != SQLITE_OK && (strstr(sqlite3_errmsg(db), DIRECT_ONLY) != NULL ||
                                       strstr(sqlite3_errmsg(db), "no such table") != NULL);
    if (refused == may_be_in_views(module)) {
        print_error("module %s: %d, %s\n", module, rc, sqlite3_errmsg(db));
        return 1;
    }
    return 0;
}

static void modules_that_open_files_are_not_for_views(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    assert_true(number(db, "SELECT count(*) FROM pragma_module_list WHERE name LIKE 'pt%%'") > 8);
    assert_int_equal(sqlite3_exec(db,
                                  "SELECT name FROM pragma_module_list WHERE name LIKE 'pt%' "
                                  "AND name NOT IN ('ptable', 'pt_queue')",
                                  check_module, db, NULL),
                     SQLITE_OK);
    close_database(db);
}

/* A function that only computes says so; any other must not be for views. */
static void functions_are_innocuous_or_not_for_views(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    assert_true(number(db, "%s'pt_pad'", text_function) & SQLITE_INNOCUOUS);
    assert_number(db, 0,
                  "SELECT count(*) FROM pragma_function_list WHERE name LIKE 'pt\\_%%' ESCAPE '\\' "
                  "AND flags & %d = 0 AND flags & %d = 0",
                  SQLITE_INNOCUOUS, SQLITE_DIRECTONLY);
    close_database(db);
}

#define WITH_VIEWS                                                                                 \
    "CREATE VIRTUAL TABLE t USING ptable(V Int32); CREATE TABLE o(k);"                             \
    "CREATE VIEW v AS SELECT * FROM t;"                                                            \
    "CREATE TRIGGER g AFTER INSERT ON o BEGIN INSERT INTO t VALUES('p', new.k, 1); END;"           \
    "CREATE TRIGGER h INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES('p', new.RowKey, 2); END"

static void a_schema_that_is_not_trusted_reaches_no_ptable(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    run(db, WITH_VIEWS);
    run(db, "INSERT INTO o VALUES('a'); INSERT INTO v(RowKey) VALUES('b')");
    assert_number(db, 3, "SELECT sum(V) FROM v");
    run(db, "PRAGMA trusted_schema = 0");
    fails(db, SQLITE_ERROR, "SELECT * FROM v");
    says(db, DIRECT_ONLY);
    fails(db, SQLITE_ERROR, "INSERT INTO o VALUES('c')");
    says(db, DIRECT_ONLY);
    fails(db, SQLITE_ERROR, "INSERT INTO v(RowKey) VALUES('c')");
    run(db,
        "INSERT INTO t VALUES('p', 'c', 4); BEGIN; UPDATE t SET V = 8 WHERE RowKey = 'c'; COMMIT");
    assert_number(db, 11, "SELECT sum(V) FROM t");
    assert_number(db, 1, "SELECT count(*) FROM o");
    run(db, "CREATE TEMP VIEW own AS SELECT * FROM t");
    assert_number(db, 3, "SELECT count(*) FROM own");
    close_database(db);
}

/* Wherever a schema can hold an expression. */
static void functions_work_in_a_schema_that_is_not_trusted(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    run(db, "PRAGMA trusted_schema = 0;"
            "CREATE TABLE o(k TEXT CHECK (pt_starts_with(k, 'a')), id DEFAULT (pt_uuid7()),"
            "  g AS (pt_pad(length(k), 4)));"
            "CREATE INDEX i ON o(pt_key_part(k, 2)) WHERE pt_hash_bucket(k, 1) = 0;"
            "CREATE VIEW v AS SELECT pt_compound_key(k, g) AS c FROM o;"
            "INSERT INTO o(k) VALUES('a_1'), ('a_2')");
    fails(db, SQLITE_CONSTRAINT_CHECK, "INSERT INTO o(k) VALUES('b')");
    assert_number(db, 1,
                  "SELECT count(*) FROM o WHERE pt_key_part(k, 2) = '2' "
                  "AND pt_hash_bucket(k, 1) = 0");
    assert_number(db, 2, "SELECT count(*) FROM o WHERE length(id) = 36 AND g = '0003'");
    fails(db, SQLITE_ERROR, "SELECT c FROM v");
    says(db, "pt_compound_key_sep");
    assert_number(db, 1, "SELECT integrity_check = 'ok' FROM pragma_integrity_check");
    close_database(db);
}

static void what_a_crafted_schema_says_of_a_table_is_checked(void **state)
{
    static const char *const declarations[] = {
        "CREATE VIRTUAL TABLE t USING ptable(",
        "CREATE VIRTUAL TABLE t USING ptable(store=)",
        "CREATE VIRTUAL TABLE t USING ptable(V Int32, V Int32)",
        "CREATE VIRTUAL TABLE t USING ptable(PartitionKey Int32)",
        "CREATE VIRTUAL TABLE t USING ptable(sync=''off'', sync=''full'')",
        "CREATE VIRTUAL TABLE t USING pt_queue(max_dequeue_count=99999999999999999999)",
        "CREATE VIRTUAL TABLE t USING ptable_companion",
    };
    for (size_t i = 0; i < sizeof declarations / sizeof declarations[0]; i++) {
        sqlite3 *db = open_database(*state, "m.db");
        run(db,
            "PRAGMA writable_schema = on; DELETE FROM sqlite_schema;"
            "INSERT INTO sqlite_schema VALUES('table', 't', 't', 0, '%s');"
            "PRAGMA writable_schema = reset",
            declarations[i]);
        if (code_of(db, "SELECT * FROM t") == SQLITE_OK ||
            code_of(db, "INSERT INTO t VALUES(1)") == SQLITE_OK) {
            fail_msg("%s", declarations[i]);
        }
        assert_number(db, 1, "SELECT 1");
        close_database(db);
    }
}

/* --- Names --- */

/* Every name is used in every place where there is one. */
static void use_names(sqlite3 *db, const char *folder, const char *name)
{
    run(db, "ATTACH '%s/a.db' AS \"%w\"; PRAGMA \"%w\".synchronous = off", folder, name, name);
    run(db, "CREATE TABLE IF NOT EXISTS witness(v); DELETE FROM witness; INSERT INTO witness "
            "VALUES(1)");
    run(db,
        "CREATE VIRTUAL TABLE \"%w\".\"%w\" USING ptable(\"%w\" Int32, table=%Q, store=%Q, "
        "sync=off)",
        name, name, name, name, "n.ptable");
    run(db, "INSERT INTO \"%w\".\"%w\" VALUES('p', %Q, 7)", name, name, name);
    run(db, "BEGIN; UPDATE \"%w\" SET \"%w\" = 8; COMMIT", name, name);
    assert_number(db, 8, "SELECT \"%w\" FROM \"%w\".\"%w\" WHERE RowKey = %Q", name, name, name,
                  name);
    assert_number(db, 1, "SELECT Entities FROM pt_partitions(%Q)", name);
    assert_number(db, 1, "SELECT Entities FROM pt_properties(%Q) WHERE Name = %Q", name, name);
    assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE Store = %Q AND TableName = %Q",
                  "n.ptable", name);
    run(db, "CREATE VIRTUAL TABLE \"%w\".\"q%w\" USING pt_queue(store=%Q, sync=off)", name, name,
        "n.ptable");
    run(db, "INSERT INTO \"q%w\"(Body) VALUES(%Q)", name, name);
    assert_number(db, 1, "SELECT count(*) FROM pt_queue_get('q' || %Q)", name);
    fails(db, SQLITE_CONSTRAINT_PRIMARYKEY, "INSERT INTO \"%w\" VALUES('p', %Q, 7)", name, name);
    run(db, "DROP TABLE \"%w\".\"%w\"; DROP TABLE \"%w\".\"q%w\"; DETACH \"%w\"", name, name, name,
        name, name);
    assert_number(db, 1, "SELECT count(*) FROM witness");
}

static void names_are_never_sql(void **state)
{
    static const char *const names[] = {
        "it's",
        "a\"b",
        "a]b",
        "a`b",
        "x\"; DROP TABLE witness; --",
        "x'; DELETE FROM witness; --",
        "a.b",
        "a b",
        "%s%Q%n%w",
        "SELECT",
        "main.witness",
        "\xE2\x82\xAC",
        "--",
        "/*",
        "a\\b",
        "?1",
        ":a",
        "0",
        "a\nb",
    };
    const char *folder = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        sqlite3 *db = open_database(folder, "m.db");
        use_names(db, folder, names[i]);
        close_database(db);
    }
}

/* --- The program's own guards --- */

typedef struct guard {
    int denied;       /* an action, or 0 */
    const char *what; /* its first argument, or NULL for any */
    int asked;        /* how often it was denied */
    int reads, writes, creations;
} guard;

static int authorize(void *context, int action, const char *first, const char *second,
                     const char *schema, const char *trigger)
{
    guard *self = context;
    (void)schema;
    (void)trigger;
    self->reads += action == SQLITE_READ && strcmp(first, "t") == 0;
    self->writes +=
        (action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE) &&
        strcmp(first, "t") == 0;
    self->creations +=
        action == SQLITE_CREATE_VTABLE && strcmp(first, "t") == 0 && strcmp(second, "ptable") == 0;
    if (action != self->denied || (self->what != NULL && strcmp(first, self->what) != 0)) {
        return SQLITE_OK;
    }
    self->asked++;
    return SQLITE_DENY;
}

static int deny_kinds(void *kinds, int action, const char *first, const char *second,
                      const char *schema, const char *trigger)
{
    const int *denied = kinds;
    (void)first;
    (void)second;
    (void)schema;
    (void)trigger;
    return action == denied[0] || action == denied[1] ? SQLITE_DENY : SQLITE_OK;
}

static void an_authorizer_sees_what_is_done(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    guard all = {0};
    sqlite3_set_authorizer(db, authorize, &all);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    assert_int_equal(all.creations, 1);
    run(db, "INSERT INTO t VALUES('p', 'a', 1)");
    run(db, "UPDATE t SET V = 2 WHERE RowKey = 'a'");
    run(db, "DELETE FROM t WHERE RowKey = 'a'");
    assert_int_equal(all.writes, 3);
    assert_true(all.reads > 0);
    static const int actions[] = {SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE, SQLITE_READ,
                                  SQLITE_DROP_VTABLE};
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        all = (guard){.denied = actions[i], .what = "t"};
        int denied = code_of(db, "INSERT INTO t VALUES('p', 'a', 1)") == SQLITE_AUTH;
        denied += code_of(db, "UPDATE t SET V = 2 WHERE RowKey = 'a'") == SQLITE_AUTH;
        denied += code_of(db, "DELETE FROM t WHERE RowKey = 'a'") == SQLITE_AUTH;
        denied += code_of(db, "DROP TABLE t") == SQLITE_AUTH;
        assert_true(denied > 0 && all.asked >= denied);
        all = (guard){0};
        run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32)");
    }
    sqlite3_set_authorizer(db, NULL, NULL);
    close_database(db);
}

/* Who may not delete, say, may still write, and must not write over what he has not seen. */
static void an_authorizer_that_denies_a_kind_of_write_leaves_transactions_isolated(void **state)
{
    static const int denied[][2] = {
        {SQLITE_DELETE, 0}, {SQLITE_INSERT, 0}, {SQLITE_UPDATE, 0}, {SQLITE_DELETE, SQLITE_INSERT}};
    for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
        sqlite3 *db = open_database("", ":memory:");
        sqlite3 *other = open_database("", ":memory:");
        int kinds[] = {denied[i][0], denied[i][1]};
        run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/i')", (char *)*state);
        run(other, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/i')", (char *)*state);
        run(db, "INSERT OR REPLACE INTO t VALUES('p', 'a', 1)");
        sqlite3_set_authorizer(db, deny_kinds, kinds);
        run(db, "BEGIN");
        assert_number(db, 1, "SELECT V FROM t");
        run(other, "UPDATE t SET V = 10");
        assert_number(db, 1, "SELECT V FROM t");
        const char *write = kinds[0] == SQLITE_UPDATE ? "DELETE FROM t" : "UPDATE t SET V = 2";
        assert_int_equal(code_of(db, "%s", write), SQLITE_BUSY_SNAPSHOT);
        sqlite3_set_authorizer(db, NULL, NULL);
        run(db, "ROLLBACK");
        close_database(other);
        close_database(db);
    }
}

/* Results stay right whatever a program forbids SQLite beside its own statements. */
static void what_an_authorizer_denies_us_makes_nothing_wrong(void **state)
{
    (void)state;
    static const guard guards[] = {
        {.denied = SQLITE_PRAGMA},
        {.denied = SQLITE_DELETE, .what = "ptable_companion"},
        {.denied = SQLITE_INSERT, .what = "ptable_companion"},
        {.denied = SQLITE_READ, .what = "ptable_companion"},
        {.denied = SQLITE_CREATE_VTABLE, .what = "ptable_companion"},
        {.denied = SQLITE_FUNCTION},
    };
    for (size_t i = 0; i < sizeof guards / sizeof guards[0]; i++) {
        sqlite3 *db = open_database("", ":memory:");
        guard denying = guards[i];
        run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
        sqlite3_set_authorizer(db, authorize, &denying);
        run(db, "INSERT INTO t VALUES('p', 'a', 1), ('p', 'b', 2), ('q', 'c', 4)");
        assert_number(db, 2, "SELECT V FROM t WHERE PartitionKey = 'p' AND RowKey > 'a'");
        run(db, "BEGIN");
        assert_number(db, 4, "SELECT V FROM t WHERE PartitionKey > 'p'");
        run(db, "UPDATE t SET V = V + 8; SAVEPOINT s; DELETE FROM t");
        run(db, "ROLLBACK TO s; COMMIT");
        assert_number(db, 9, "SELECT V FROM t WHERE RowKey = 'a'");
        run(db, "BEGIN; DELETE FROM t; ROLLBACK");
        assert_number(db, 12, "SELECT V FROM t WHERE RowKey = 'c'");
        sqlite3_set_authorizer(db, NULL, NULL);
        assert_number(db, 31, "SELECT sum(V) FROM t");
        close_database(db);
    }
}

static void a_defensive_connection_works(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    int on = 0;
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, &on), SQLITE_OK);
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &on), SQLITE_OK);
    run(db,
        "CREATE VIRTUAL TABLE t USING ptable(V Int32); BEGIN; INSERT INTO t VALUES('p', 'a', 1);"
        "SAVEPOINT s; UPDATE t SET V = 2; ROLLBACK TO s; COMMIT");
    assert_number(db, 1, "SELECT V FROM t");
    run(db, "INSERT INTO pt_tables(TableName) VALUES('x'); DROP TABLE t");
    close_database(db);
}

static void small_limits_are_kept(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(S String)");
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 500);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 5000);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 20);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 2);
    run(db, "BEGIN; INSERT INTO t VALUES('p', 'a', printf('%%.*c', 4000, 'x')); COMMIT");
    fails(db, SQLITE_TOOBIG, "INSERT INTO t VALUES('p', 'b', hex(zeroblob(2600)))");
    assert_number(db, 4000, "SELECT length(S) FROM t WHERE Filter MATCH 'S gt ''w'''");
    assert_number(db, 1, "SELECT Entities FROM pt_partitions('t')");
    close_database(db);
    db = open_database(*state, "m.db");
    run(db, "UPDATE t SET S = S || S || S");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 5000);
    fails(db, SQLITE_TOOBIG, "SELECT S FROM t");
    fails(db, SQLITE_TOOBIG, "SELECT Properties FROM t");
    assert_number(db, 1, "SELECT count(*) FROM t");
    close_database(db);
}

/* --- What is made to take long or much --- */

#define REPEATED(text, times) "replace(hex(zeroblob(" #times " / 2)), '0', '" text "')"

static void nesting_has_bounds(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); INSERT INTO t VALUES('p', 'a', 1)");
    alarm(PATIENCE_SECONDS);
    fails(db, SQLITE_ERROR, "SELECT * FROM t WHERE Filter MATCH " REPEATED("(", 1000000));
    says(db, "parentheses");
    assert_number(
        db, 0,
        "SELECT count(*) FROM t WHERE Filter MATCH " REPEATED("not ", 100000) " || 'not V eq 1'");
    assert_number(
        db, 1,
        "SELECT count(*) FROM t WHERE Filter MATCH 'V eq 1' || " REPEATED(" and V lt 2", 100000));
    assert_number(db, 1,
                  "SELECT count(*) FROM t WHERE Filter MATCH 'V eq 1' || " REPEATED(
                      " or RowKey eq ''x''", 10000));
    fails(db, SQLITE_ERROR, "SELECT * FROM t WHERE Filter MATCH '(' || " REPEATED("not (", 10000));
    fails(db, SQLITE_MISMATCH,
          "INSERT INTO t(PartitionKey, RowKey, Properties) VALUES('p', 'b', " REPEATED(
              "[", 1000000) ")");
    fails(db, SQLITE_MISMATCH,
          "INSERT INTO t(PartitionKey, RowKey, Properties) "
          "VALUES('p', 'b', " REPEATED("{\"a\":", 1000000) ")");
    fails(db, SQLITE_ERROR, "SELECT pt_entity_properties(" REPEATED("[", 1000000) ", 'x')");
    alarm(0);
    close_database(db);
}

static void sizes_have_bounds(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); INSERT INTO t VALUES('p', 'a', 1)");
    alarm(PATIENCE_SECONDS);
    fails(db, SQLITE_ERROR,
          "SELECT count(*) FROM t WHERE PartitionKey GLOB 'p*' || hex(zeroblob(2000000))");
    says(db, "too complex");
    assert_number(db, 0,
                  "SELECT count(*) FROM t WHERE pt_starts_with(RowKey, hex(zeroblob(2000000)))");
    assert_number(db, 0, "SELECT count(*) FROM t WHERE PartitionKey = hex(zeroblob(2000000))");
    assert_number(
        db, 0, "SELECT count(*) FROM t WHERE EntityKey > CAST(x'ff' || zeroblob(2000000) AS BLOB)");
    assert_number(db, 0,
                  "SELECT count(*) FROM t WHERE Filter MATCH "
                  "'V eq ''' || hex(zeroblob(2000000)) || ''''");
    fails(db, SQLITE_TOOBIG, "INSERT INTO t VALUES(hex(zeroblob(2000000)), 'a', 1)");
    fails(db, SQLITE_TOOBIG,
          "INSERT INTO t(PartitionKey, RowKey, Properties) "
          "VALUES('p', 'b', '{\"' || hex(zeroblob(2000000)) || '\":1}')");
    fails(db, SQLITE_TOOBIG,
          "INSERT INTO t(PartitionKey, RowKey, Properties) SELECT 'p', 'b', "
          "json_group_object('p' || key, 1) FROM json_each('[0' || " REPEATED(",1",
                                                                              70000) " || ']')");
    assert_true(sqlite3_memory_highwater(1) < 1000000000);
    fails(db, SQLITE_ERROR, "SELECT pt_pad(1, 1000000000)");
    fails(db, SQLITE_ERROR, "SELECT pt_key_part('a_b', 0)");
    assert_number(db, 1, "SELECT pt_key_part('a_b', -9223372036854775808) IS NULL");
    alarm(0);
    assert_number(db, 1, "SELECT count(*) FROM t");
    close_database(db);
}

/* Ten thousand million pairs of keys, hardly any of which is there. */
static void long_lists_are_not_multiplied(void **state)
{
    sqlite3 *db = open_database(*state, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable; CREATE TABLE l(k); CREATE TABLE o("
            "PartitionKey TEXT, RowKey TEXT, PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;"
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000)"
            "INSERT INTO l SELECT CAST(i AS TEXT) FROM c;"
            "INSERT INTO o SELECT pt_hash_bucket(k || 'p', 60), k * 3 FROM l WHERE CAST(k AS INT) "
            "< 1000;"
            "INSERT INTO t(PartitionKey, RowKey) SELECT * FROM o");
    alarm(PATIENCE_SECONDS);
    int64_t expected = number(db, "SELECT count(*) FROM o WHERE PartitionKey <> '0'");
    assert_true(expected > 900);
    static const char *const orders[] = {"", "ORDER BY PartitionKey DESC, RowKey DESC"};
    for (int i = 0; i < 2; i++) {
        assert_number(
            db, expected,
            "SELECT count(*) FROM (SELECT * FROM t WHERE PartitionKey IN (SELECT k FROM l) "
            "AND RowKey IN (SELECT k FROM l) %s)",
            orders[i]);
        assert_number(
            db, 0,
            "SELECT count(*) FROM (SELECT * FROM o WHERE CAST(PartitionKey AS INT) %% 7 < 3 "
            "  AND CAST(RowKey AS INT) %% 11 < 3 EXCEPT SELECT PartitionKey, RowKey FROM (SELECT * "
            "  FROM t WHERE PartitionKey IN (SELECT k FROM l WHERE k %% 7 < 3 UNION SELECT '0') "
            "  AND RowKey IN (SELECT k FROM l WHERE CAST(k AS INT) < 4000 AND k %% 11 < 3) %s))",
            orders[i]);
    }
    alarm(0);
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(modules_that_open_files_are_not_for_views),
        folder_test(functions_are_innocuous_or_not_for_views),
        folder_test(a_schema_that_is_not_trusted_reaches_no_ptable),
        folder_test(functions_work_in_a_schema_that_is_not_trusted),
        folder_test(what_a_crafted_schema_says_of_a_table_is_checked),
        folder_test(names_are_never_sql),
        folder_test(an_authorizer_sees_what_is_done),
        folder_test(what_an_authorizer_denies_us_makes_nothing_wrong),
        folder_test(an_authorizer_that_denies_a_kind_of_write_leaves_transactions_isolated),
        folder_test(a_defensive_connection_works),
        folder_test(small_limits_are_kept),
        folder_test(nesting_has_bounds),
        folder_test(sizes_have_bounds),
        folder_test(long_lists_are_not_multiplied),
    };
    return cmocka_run_group_tests_name("hostile schema", tests, NULL, NULL);
}
