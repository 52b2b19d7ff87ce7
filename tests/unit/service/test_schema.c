/*
 * A database file from somewhere else, whose schema names an account that the connection has: no
 * request is sent unless the application reads the table itself.
 */
#include "unit/service/remote_database.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static char *answer_with_entity(const char *request, int number)
{
    (void)request;
    (void)number;
    return PAGE(NO_MORE, "p", "1");
}

/* --- A schema that tries to reach the service --- */

/* Written behind SQLite's back, as in a file that is made for it. */
static const char *const schema[][3] = {
    {"table", "Remote", "CREATE VIRTUAL TABLE Remote USING pt_service(Age Int32, account=hr)"},
    {"table", "Deny", "CREATE VIRTUAL TABLE Deny USING pt_service(account=hr, table=Remote)"},
    {"table", "Lists", "CREATE VIRTUAL TABLE Lists USING pt_service_tables"},
    {"table", "Accounts", "CREATE VIRTUAL TABLE Accounts USING pt_service_accounts"},
    {"view", "Seen", "CREATE VIEW Seen AS SELECT * FROM Remote"},
    {"view", "SeenTables", "CREATE VIEW SeenTables AS SELECT * FROM pt_service_tables"},
    {"view", "Named",
     "CREATE VIEW Named AS SELECT pt_service_account('hr', 'UseDevelopmentStorage=true')"},
    {"view", "Signed",
     "CREATE VIEW Signed AS SELECT pt_service_sas('hr', 'Remote', 'raud', '2026-11-21', "
     "'2030-01-01')"},
    {"view", "Exists_", "CREATE VIEW Exists_ AS SELECT EXISTS (SELECT 1 FROM Remote) AS e"},
    {"view", "Recursive",
     "CREATE VIEW Recursive AS WITH RECURSIVE r(x) AS (SELECT RowKey FROM Remote UNION SELECT x "
     "FROM r) SELECT * FROM r"},
    {"trigger", "OnInsert",
     "CREATE TRIGGER OnInsert AFTER INSERT ON Plain BEGIN SELECT count(*) FROM Remote; END"},
    {"trigger", "OnUpdate",
     "CREATE TRIGGER OnUpdate AFTER UPDATE ON Plain WHEN EXISTS (SELECT 1 FROM Remote) BEGIN "
     "SELECT 1; END"},
    {"trigger", "OnDelete",
     "CREATE TRIGGER OnDelete BEFORE DELETE ON Plain BEGIN DELETE FROM pt_service_tables; END"},
    {"trigger", "Writing",
     "CREATE TRIGGER Writing AFTER INSERT ON Other BEGIN INSERT INTO Remote(PartitionKey, RowKey) "
     "VALUES ('p', new.b); END"},
    {"trigger", "Changing",
     "CREATE TRIGGER Changing AFTER UPDATE ON Other BEGIN UPDATE Remote SET Age = 1; END"},
    {"trigger", "Deleting",
     "CREATE TRIGGER Deleting AFTER DELETE ON Other BEGIN DELETE FROM Remote; END"},
    {"trigger", "Instead",
     "CREATE TRIGGER Instead INSTEAD OF INSERT ON Seen BEGIN INSERT INTO "
     "pt_service_tables(Account, TableName) VALUES ('hr', 'Made'); END"},
};

static const char *const plain_tables[] = {
    ("CREATE TABLE Plain(a, b REFERENCES Remote(RowKey), FOREIGN KEY (a, b) REFERENCES "
     "Remote(PartitionKey, RowKey))"),
    "CREATE TABLE Other(a INTEGER PRIMARY KEY, b)",
    "INSERT INTO Plain VALUES (1, 2)",
    "INSERT INTO Other VALUES (1, 2), (2, 3)",
    "CREATE INDEX OtherB ON Other(b)",
};

/* The table that an entry of the schema belongs to. */
static const char *table_of(size_t i)
{
    const char *on = strstr(schema[i][2], " ON ");
    if (strcmp(schema[i][0], "trigger") != 0) {
        return schema[i][1];
    }
    return strncmp(on, " ON Seen", 8) == 0    ? "Seen"
           : strncmp(on, " ON Other", 9) == 0 ? "Other"
                                              : "Plain";
}

static char path[] = "/tmp/pt_schema_XXXXXX";

static void make_database(void)
{
    sqlite3 *made;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(sqlite3_open(path, &made), SQLITE_OK);
    for (size_t i = 0; i < COUNT(plain_tables); i++) {
        assert_int_equal(sqlite3_exec(made, plain_tables[i], NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_exec(made, "PRAGMA writable_schema = on", NULL, NULL, NULL),
                     SQLITE_OK);
    for (size_t i = 0; i < COUNT(schema); i++) {
        char *sql = sqlite3_mprintf("INSERT INTO sqlite_schema VALUES (%Q, %Q, %Q, 0, %Q)",
                                    schema[i][0], schema[i][1], table_of(i), schema[i][2]);
        assert_int_equal(sqlite3_exec(made, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_free(sql);
    }
    assert_int_equal(sqlite3_close(made), SQLITE_OK);
}

static void open_database(void)
{
    canned_start(answer_with_entity);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
    register_account("AccountKey=" REMOTE_KEY);
}

static int set_up(void **state)
{
    (void)state;
    make_database();
    open_database();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close_remote();
    unlink(path);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
    return 0;
}

/* Runs a statement, whatever comes of it. */
static int run(const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static void what_looks_at_a_database_sends_nothing(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT * FROM sqlite_schema",
        "PRAGMA table_info(Remote)",
        "PRAGMA table_xinfo(Remote)",
        "PRAGMA table_list",
        "PRAGMA table_list(Remote)",
        "SELECT * FROM pragma_table_xinfo('Seen')",
        "PRAGMA index_list(Remote)",
        "PRAGMA foreign_key_list(Remote)",
        "PRAGMA foreign_key_check",
        "PRAGMA foreign_key_check(Plain)",
        "PRAGMA integrity_check",
        "PRAGMA integrity_check(Remote)",
        "PRAGMA quick_check",
        "PRAGMA optimize(-1)",
        "PRAGMA optimize",
        "ANALYZE",
        "ANALYZE Remote",
        "REINDEX",
        "REINDEX Remote",
        "VACUUM",
        "VACUUM INTO ''",
        "EXPLAIN SELECT * FROM Remote",
        "EXPLAIN QUERY PLAN SELECT * FROM Remote WHERE PartitionKey = 'p'",
        "EXPLAIN DELETE FROM Remote",
        "EXPLAIN INSERT INTO Remote(PartitionKey, RowKey) VALUES ('p', 'r')",
        "EXPLAIN DELETE FROM pt_service_tables",
        "EXPLAIN UPDATE Remote SET Age = 1",
        "BEGIN",
        "INSERT INTO Remote(PartitionKey, RowKey) VALUES ('p', 'r')",
        "ROLLBACK",
        "CREATE TABLE Copy AS SELECT * FROM Remote WHERE 0",
        "SELECT * FROM Remote LIMIT 0",
        "SELECT * FROM Remote WHERE PartitionKey = NULL",
        "BEGIN",
        "SAVEPOINT s",
        "RELEASE s",
        "COMMIT",
        "ALTER TABLE Other RENAME TO Another",
        "ALTER TABLE Another RENAME b TO c",
        "ALTER TABLE Another ADD COLUMN d",
        "ALTER TABLE Remote RENAME TO Remotest",
        "ALTER TABLE Deny RENAME TO Denied",
        "ATTACH ':memory:' AS more",
        "DETACH more",
        "DROP TABLE Deny",
        "DROP TABLE Lists",
        "DROP VIEW Seen",
        "DROP TABLE Remote",
    };
    for (int foreign_keys = 0; foreign_keys < 2; foreign_keys++) {
        run(foreign_keys != 0 ? "PRAGMA foreign_keys = on" : "PRAGMA foreign_keys = off");
        for (size_t i = 0; i < COUNT(statements); i++) {
            run(statements[i]);
            if (canned_take_requests() != 0) {
                fail_msg("%s has sent a request", statements[i]);
            }
        }
    }
}

static void views_and_triggers_are_refused(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT * FROM Seen",
        "SELECT * FROM SeenTables",
        "SELECT * FROM Named",
        "SELECT * FROM Signed",
        "SELECT * FROM Exists_",
        "SELECT * FROM Recursive",
        "INSERT INTO Plain VALUES (3, 4)",
        "UPDATE Plain SET a = 5",
        "DELETE FROM Plain",
        "INSERT INTO Other VALUES (7, 8)",
        "UPDATE Other SET b = 5",
        "DELETE FROM Other",
        "REPLACE INTO Other VALUES (1, 5)",
        "INSERT INTO Seen(RowKey) VALUES (1)",
        "SELECT * FROM Other WHERE a IN (SELECT RowKey FROM Seen)",
    };
    for (int trusted = 0; trusted < 2; trusted++) {
        run(trusted != 0 ? "PRAGMA trusted_schema = on" : "PRAGMA trusted_schema = off");
        for (size_t i = 0; i < COUNT(statements); i++) {
            assert_int_equal(run(statements[i]), SQLITE_ERROR);
            if (strstr(sqlite3_errmsg(db), "unsafe use of") == NULL) {
                fail_msg("%s: %s", statements[i], sqlite3_errmsg(db));
            }
        }
    }
    assert_int_equal(canned_take_requests(), 0);
}

/* It does not say anything of the account either. */
static void an_account_of_another_connection_is_not_used(void **state)
{
    (void)state;
    sqlite3 *other;
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_ptableservice_init(other, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "SELECT * FROM Remote", NULL, NULL, NULL), SQLITE_ERROR);
    assert_non_null(strstr(sqlite3_errmsg(other), "this connection has no account 'hr'"));
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(canned_take_requests(), 0);
    assert_int_equal(run("SELECT * FROM Remote"), SQLITE_OK);
    assert_int_equal(canned_take_requests(), 1);
}

/* --- Statements that others see --- */

static char *traced;

/* Texts of statements: of the application without the values that are bound, of ours with them. */
static int trace(unsigned kind, void *context, void *object, void *text)
{
    sqlite3_stmt *statement = object;
    (void)kind;
    (void)context;
    bool nested = strncmp(text, "--", 2) == 0;
    char *expanded = nested ? NULL : sqlite3_expanded_sql(statement);
    bool own = expanded != NULL && strstr(expanded, "pt_service_account(") == NULL;
    char *longer = sqlite3_mprintf("%z%s\n", traced, own ? expanded : (const char *)text);
    traced = longer;
    sqlite3_free(expanded);
    return 0;
}

static void secrets_are_in_no_trace(void **state)
{
    (void)state;
    static const char *const credentials[] = {"AccountKey=U0VDUkVUU0VDUkVU",
                                              "SharedAccessSignature=sv=1&sig=U0VDUkVU",
                                              "BearerToken=U0VDUkVU"};
    for (size_t i = 0; i < COUNT(credentials); i++) {
        sqlite3_stmt *statement;
        char *string = sqlite3_mprintf("AccountName=hr;%s;TableEndpoint=http://127.0.0.1:%d/hr",
                                       credentials[i], canned.port);
        traced = sqlite3_mprintf("");
        sqlite3_trace_v2(db, SQLITE_TRACE_STMT, trace, NULL);
        assert_int_equal(
            sqlite3_prepare_v2(db, "SELECT pt_service_account('hr', ?1)", -1, &statement, NULL),
            SQLITE_OK);
        sqlite3_bind_text(statement, 1, string, -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_null(strstr((const char *)sqlite3_column_text(statement, 0), "U0VDUkVU"));
        sqlite3_finalize(statement);
        assert_int_equal(run("SELECT * FROM Remote"), SQLITE_OK);
        assert_int_equal(run("SELECT * FROM Remote WHERE PartitionKey IN ('p')"), SQLITE_OK);
        sqlite3_trace_v2(db, 0, NULL, NULL);
        assert_non_null(strstr(traced, "SELECT * FROM Remote"));
        assert_null(strstr(traced, "U0VDUkVU"));
        sqlite3_free(traced);
        sqlite3_free(string);
    }
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT group_concat(Account || Endpoint || Credential) || "
                                        "pt_service_requests() FROM pt_service_accounts",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_null(strstr((const char *)sqlite3_column_text(statement, 0), "U0VDUkVU"));
    sqlite3_finalize(statement);
}

int main(void)
{
#define SCHEMA_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        SCHEMA_TEST(what_looks_at_a_database_sends_nothing),
        SCHEMA_TEST(views_and_triggers_are_refused),
        SCHEMA_TEST(an_account_of_another_connection_is_not_used),
        SCHEMA_TEST(secrets_are_in_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
