/*
 * Every WriteMode with every IfMatch on every kind of entity, compared with a model of the Table
 * service's rules.
 */
#include "fixtures/database.h"

typedef enum entity_state {
    ABSENT,
    PRESENT,
    WRITTEN_IN_TRANSACTION,
    MADE_ANEW,
    STATES
} entity_state;

typedef enum mode { NONE, INSERT, REPLACE, MERGE, DELETE, UNKNOWN, MODES } mode;

typedef enum condition {
    NOTHING,
    ANY,
    CURRENT, /* the ETag that the entity has, or had if it is gone */
    OLDER,   /* an earlier ETag of the entity */
    OTHER,
    MALFORMED,
    CONDITIONS
} condition;

static const char *const mode_words[] = {"NULL",    "'insert'", "'Replace'",
                                         "'MERGE'", "'delete'", "'put'"};
static const char *const condition_words[] = {
    "NULL", "'*'", "(SELECT tag FROM Current)", "(SELECT tag FROM Older)", "'W/\"x\"'", "'\"x\"'",
};
static const char *const clauses[] = {"", "OR ABORT", "OR REPLACE"};

/* What an entity holds before: properties A, B and the undeclared C. */
#define BEFORE "'{\"A\":1,\"B\":\"one\",\"C\":true}'"
#define NOTE(table) "DELETE FROM " table "; INSERT INTO " table " SELECT ETag FROM t"

static void make_entity(sqlite3 *db, entity_state state)
{
    run(db, "DELETE FROM t; INSERT INTO t(PartitionKey, RowKey) VALUES('p', 'r')");
    run(db, NOTE("Older"));
    run(db, "INSERT INTO t(PartitionKey, RowKey, Properties, WriteMode) "
            "VALUES('p', 'r', " BEFORE ", 'replace')");
    run(db, NOTE("Current"));
    if (state == MADE_ANEW) {
        run(db, "DELETE FROM Older; INSERT INTO Older SELECT tag FROM Current");
    }
    if (state == ABSENT || state == MADE_ANEW) {
        run(db, "DELETE FROM t");
    }
    run(db, "BEGIN");
    if (state == MADE_ANEW) {
        run(db, "INSERT INTO t(PartitionKey, RowKey, Properties) VALUES('p', 'r', " BEFORE ")");
    } else if (state == WRITTEN_IN_TRANSACTION) {
        run(db, "UPDATE t SET A = A");
    }
    if (state != ABSENT) {
        run(db, NOTE("Current"));
    }
}

/* --- The model --- */

static int expected_code(entity_state state, mode given, condition asked, bool or_replace)
{
    if (given == UNKNOWN || asked == MALFORMED ||
        (asked != NOTHING && (given == NONE || given == INSERT))) {
        return SQLITE_CONSTRAINT_VTAB;
    }
    if (given == INSERT || (given == NONE && !or_replace)) {
        return state == ABSENT ? SQLITE_OK : SQLITE_CONSTRAINT_PRIMARYKEY;
    }
    if (asked != NOTHING && state == ABSENT) {
        return SQLITE_CONSTRAINT_CHECK;
    }
    return asked == OLDER || asked == OTHER ? SQLITE_CONSTRAINT_VTAB : SQLITE_OK;
}

static const char *expected_reason(int code, mode given, condition asked)
{
    switch (code) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
        return "(EntityAlreadyExists)";
    case SQLITE_CONSTRAINT_CHECK:
        return "(ResourceNotFound)";
    default:
        return given >= REPLACE && given <= DELETE && asked != MALFORMED
                   ? "(UpdateConditionNotSatisfied)"
                   : "(InvalidInput)";
    }
}

/* What the statement gives: A = 2 and D = 4. */
static const char *expected_properties(entity_state state, mode done, bool succeeds)
{
    if (!succeeds) {
        return state == ABSENT ? "" : "A=1,B=one,C=1";
    }
    if (done == DELETE) {
        return "";
    }
    return done == MERGE && state != ABSENT ? "A=2,B=one,C=1,D=4" : "A=2,D=4";
}

/* --- The comparison --- */

static void expect_properties(sqlite3 *db, const char *expected)
{
    bool same = number(db,
                       "SELECT coalesce((SELECT group_concat(word) FROM (SELECT key || '=' || value"
                       " AS word FROM t, json_each(Properties) ORDER BY key)), '') = %Q",
                       expected) == 1;
    if (!same) {
        print_error("not %s\n", expected);
        fail();
    }
}

static void expect_tag(sqlite3 *db, entity_state state, mode done, bool succeeds)
{
    if (done == DELETE && succeeds) {
        return;
    }
    bool entity = succeeds || state != ABSENT;
    assert_number(db, entity, "SELECT count(*) FROM t");
    assert_number(db, entity && succeeds,
                  "SELECT count(*) FROM t, Current WHERE ETag > tag AND Timestamp = "
                  "replace(substr(ETag, 13, 32), '%%3A', ':')");
}

static void try_write(sqlite3 *db, entity_state state, mode given, condition asked, size_t clause)
{
    const char *properties = given == DELETE ? "NULL, NULL" : "2, '{\"A\":0,\"D\":4}'";
    bool or_replace = clause == 2;
    int code = expected_code(state, given, asked, or_replace);
    mode done = given == NONE ? or_replace ? REPLACE : INSERT : given;
    make_entity(db, state);
    fails(db, code,
          "INSERT %s INTO t(PartitionKey, RowKey, A, Properties, WriteMode, IfMatch) "
          "VALUES('p', 'r', %s, %s, %s)",
          clauses[clause], properties, mode_words[given], condition_words[asked]);
    if (code != SQLITE_OK) {
        says(db, expected_reason(code, given, asked));
    }
    const char *expected = expected_properties(state, done, code == SQLITE_OK);
    expect_properties(db, expected);
    expect_tag(db, state, done, code == SQLITE_OK);
    run(db, "CREATE TEMP TABLE Seen AS SELECT ETag AS tag FROM t; COMMIT");
    expect_properties(db, expected);
    assert_number(db, 1,
                  "SELECT coalesce((SELECT ETag FROM t), '') = "
                  "coalesce((SELECT tag FROM Seen), '')");
    run(db, "DROP TABLE Seen");
}

static sqlite3 *open_memory(void)
{
    sqlite3 *db = try_open(":memory:");
    assert_non_null(db);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(A Int32, B String);"
            "CREATE TEMP TABLE Current(tag); CREATE TEMP TABLE Older(tag)");
    return db;
}

static void every_mode_does_what_the_service_does(void **unused)
{
    (void)unused;
    sqlite3 *db = open_memory();
    for (entity_state state = ABSENT; state < STATES; state++) {
        for (mode given = NONE; given < MODES; given++) {
            for (condition asked = NOTHING; asked < CONDITIONS; asked++) {
                for (size_t clause = 0; clause < sizeof clauses / sizeof clauses[0]; clause++) {
                    try_write(db, state, given, asked, clause);
                }
            }
        }
    }
    close_database(db);
}

/* Of several things that are wrong with a write the service names the first of these. */
static void what_is_malformed_comes_before_what_is_missing(void **unused)
{
    static const struct {
        const char *values; /* PartitionKey, RowKey, A, Properties */
        int code;
        const char *says;
    } malformed[] = {
        {"NULL, 'r', NULL, NULL", SQLITE_CONSTRAINT_NOTNULL, "PartitionKey is NULL"},
        {"'p', 1.5, NULL, NULL", SQLITE_MISMATCH, "RowKey is the REAL 1.5"},
        {"'p', 'r' || char(0), NULL, NULL", SQLITE_MISMATCH, "(OutOfRangeInput)"},
        {"'p', hex(zeroblob(9000)), NULL, NULL", SQLITE_TOOBIG, "(PropertyValueTooLarge)"},
        {"'p', 'r', 'x', NULL", SQLITE_MISMATCH, "(InvalidValueType)"},
        {"'p', 'r', NULL, '[]'", SQLITE_MISMATCH, "Properties"},
    };
    (void)unused;
    sqlite3 *db = open_memory();
    run(db, "INSERT INTO Current VALUES('W/\"y\"'); INSERT INTO Older VALUES('W/\"z\"')");
    for (int exists = 0; exists < 2; exists++) {
        for (mode given = REPLACE; given <= MERGE; given++) {
            for (condition asked = NOTHING; asked <= OTHER; asked++) {
                for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
                    fails(db, malformed[i].code,
                          "INSERT INTO t(PartitionKey, RowKey, A, Properties, WriteMode, IfMatch) "
                          "VALUES(%s, %s, %s)",
                          malformed[i].values, mode_words[given], condition_words[asked]);
                    says(db, malformed[i].says);
                }
            }
        }
        run(db, "INSERT OR IGNORE INTO t(PartitionKey, RowKey) VALUES('p', 'r')");
        run(db, NOTE("Current"));
    }
    close_database(db);
}

/* Statements that are prepared once and bound: the way programs use it. UTF-16 too. */
static void bound_values_are_read_as_such(void **unused)
{
    static const char *const encodings[] = {"UTF-8", "UTF-16le", "UTF-16be"};
    (void)unused;
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        sqlite3 *db = NULL;
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        run(db, "PRAGMA encoding = '%s'", encodings[i]);
        assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
        sqlite3_extended_result_codes(db, 1);
        run(db, "CREATE VIRTUAL TABLE t USING ptable(A Int32)");
        const char *sql = "INSERT INTO t(PartitionKey, RowKey, A, WriteMode, IfMatch) "
                          "VALUES('p', 'r', 1, ?1, ?2)";
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
        sqlite3_bind_text(statement, 1, "mergers", 5, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_reset(statement);
        sqlite3_bind_text(statement, 2, "**", 1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
        sqlite3_reset(statement);
        sqlite3_bind_text(statement, 2, "W/\"é\"?", 6, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_CONSTRAINT_VTAB);
        says(db, "not 'W/\"é\"'");
        sqlite3_reset(statement);
        sqlite3_bind_text(statement, 2, "W/\"\xff\"", 5, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_CONSTRAINT_VTAB);
        says(db, "(UpdateConditionNotSatisfied)");
        assert_int_equal(sqlite3_finalize(statement), SQLITE_CONSTRAINT_VTAB);
        close_database(db);
    }
}

/* Merging keeps values bit by bit, of every type, also those of undeclared properties. */
static void a_merge_keeps_every_type(void **unused)
{
    (void)unused;
    sqlite3 *db = open_memory();
    run(db,
        "CREATE TABLE Kept AS SELECT '{\"i\":7,\"l\":7,\"l@odata.type\":\"Edm.Int64\","
        "\"d\":-0.0,\"n\":\"NaN\",\"n@odata.type\":\"Edm.Double\",\"b\":false,"
        "\"t\":\"2026-11-21T08:43:22.5484454Z\",\"t@odata.type\":\"Edm.DateTime\","
        "\"g\":\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"g@odata.type\":\"Edm.Guid\","
        "\"x\":\"AP8=\",\"x@odata.type\":\"Edm.Binary\",\"s\":\"a\\u0000b\",\"e\":\"\"}' AS bag");
    run(db, "INSERT INTO t(PartitionKey, RowKey, Properties) SELECT 'p', '1', bag FROM Kept;"
            "INSERT INTO t(PartitionKey, RowKey, Properties) SELECT 'p', '2', bag FROM Kept");
    run(db, "INSERT INTO t(PartitionKey, RowKey, A, WriteMode, IfMatch)"
            " VALUES('p', '1', 1, 'merge', '*'), ('p', '1', 2, 'merge', '*')");
    assert_number(db, 1,
                  "SELECT json_remove(one.Properties, '$.A') = two.Properties AND one.A = 2"
                  " FROM t AS one, t AS two WHERE one.RowKey = '1' AND two.RowKey = '2'");
    run(db, "INSERT INTO t(PartitionKey, RowKey, Properties, WriteMode)"
            " SELECT PartitionKey, '3', Properties, 'merge' FROM t WHERE RowKey = '2'");
    assert_number(db, 1,
                  "SELECT one.Properties = two.Properties FROM t AS one, t AS two"
                  " WHERE one.RowKey = '3' AND two.RowKey = '2'");
    close_database(db);
}

/* More properties than fit into the first memory of a bag, half of them there before. */
static void wide_entities_are_merged(void **unused)
{
    (void)unused;
    sqlite3 *db = open_memory();
    for (int first = 0; first < 252; first += 126) {
        run(db,
            "WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
            "INSERT INTO t(PartitionKey, RowKey, Properties, WriteMode)"
            " SELECT 'p', 'r', json_group_object('p' || (i %% 252), i), 'merge' FROM n",
            first, first + 188);
    }
    assert_number(db, 252, "SELECT count(*) FROM t, json_each(Properties)");
    assert_number(db, 1, "SELECT Properties ->> 'p62' = 314 AND Properties ->> 'p63' = 63 FROM t");
    assert_number(db, 1, "SELECT Properties ->> 'p126' = 126 FROM t");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mode_does_what_the_service_does),
        cmocka_unit_test(what_is_malformed_comes_before_what_is_missing),
        cmocka_unit_test(bound_values_are_read_as_such),
        cmocka_unit_test(a_merge_keeps_every_type),
        cmocka_unit_test(wide_entities_are_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
