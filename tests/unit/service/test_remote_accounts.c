#include "unit/service/remote_database.h"

#include "faults/failing_malloc.h"
#include "service/config.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- pt_service_account --- */

static char *answer_nothing(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_CLOSE;
}

static void accounts_are_named(void **state)
{
    (void)state;
    open_remote(answer_nothing);
    expect_sql("SELECT pt_service_account('Dev', 'UseDevelopmentStorage=true')",
               "http://127.0.0.1:10002/devstoreaccount1\n");
    expect_sql("SELECT pt_service_account('z', CAST('AccountName=a;BearerToken=t' AS BLOB))",
               "https://a.table.core.windows.net\n");
    expect_sql("SELECT pt_service_account('DEV', 'AccountName=a;SharedAccessSignature=sig=t')",
               "https://a.table.core.windows.net\n");
    expect_sql("SELECT pt_service_account('A-Z_0.9', 'AccountName=a;BearerToken=t')",
               "https://a.table.core.windows.net\n");
    expect_sql("SELECT Account, Credential FROM pt_service_accounts",
               "A-Z_0.9 token\nDev sas\nhr key\nz token\n");
    expect_sql("SELECT count(*) FROM pt_service_accounts a, pt_service_accounts b", "16\n");
    expect_sql("SELECT rowid FROM pt_service_accounts WHERE Account = 'z'", "4\n");
    expect_sql("DELETE FROM pt_service_accounts",
               "1: table pt_service_accounts may not be modified");
    close_remote();
}

static void connection_strings_come_from_the_environment(void **state)
{
    (void)state;
    open_remote(answer_nothing);
    setenv("PTABLE_ACCOUNT_MY_HR2", "AccountName=a;BearerToken=t\n", 1);
    expect_sql("SELECT pt_service_account('my-hr2')", "https://a.table.core.windows.net\n");
    unsetenv("PTABLE_ACCOUNT_MY_HR2");
    expect_sql("SELECT pt_service_account('my-hr2')",
               "1: pt_service_account: the environment variable PTABLE_ACCOUNT_MY_HR2 is not set; "
               "set it to a connection string, or give the string as second argument");
    close_remote();
}

static void accounts_that_cannot_be_named_are_refused(void **state)
{
    (void)state;
    open_remote(answer_nothing);
    expect_sql("SELECT pt_service_account('h r', 'x')",
               "1: pt_service_account: 'h r' is not a name for an account; use letters, digits, _, "
               "- and .");
    expect_sql("SELECT pt_service_account('', 'x')",
               "1: pt_service_account: '' is not a name for an account; use letters, digits, _, - "
               "and .");
    expect_sql("SELECT pt_service_account('a{', 'x')",
               "1: pt_service_account: 'a{' is not a name for an account; use letters, digits, _, "
               "- and .");
    expect_sql("SELECT pt_service_account('a^', 'x')",
               "1: pt_service_account: 'a^' is not a name for an account; use letters, digits, _, "
               "- and .");
    expect_sql("SELECT pt_service_account(NULL)",
               "1: pt_service_account: 'NULL' is not a name for an account; use letters, digits, "
               "_, - and .");
    expect_sql("SELECT pt_service_account('x', NULL)",
               "20: pt_service_account: the connection string is NULL; give a text, such as "
               "readfile('file') of a file that exists");
    expect_sql("SELECT pt_service_account('x', 5)",
               "20: pt_service_account: the connection string is a number; give a text, such as "
               "readfile('file') of a file that exists");
    expect_sql("SELECT pt_service_account('x', x'')",
               "1: pt_service_account: the connection string has none of AccountKey, "
               "SharedAccessSignature and BearerToken; give one");
    close_remote();
}

/* --- pt_service_tables --- */

static char *answer_with_tables(const char *request, int number)
{
    if (strstr(request, "GET /hr/Tables HTTP") != NULL) {
        return canned_reply(200, "x-ms-continuation-NextTableName: n'1\r\n",
                            "{\"odata.metadata\":\"m\",\"value\":[{\"TableName\":\"A\"},"
                            "{\"TableName\":\"B\"}]}");
    }
    if (strstr(request, "GET /hr/Tables?NextTableName=n%271 HTTP") != NULL) {
        return canned_reply(200, "", "{\"value\":[{\"TableName\":\"C\"}]}");
    }
    if (strstr(request, "\"TableName\":\"There\"") != NULL) {
        return canned_reply(409, "x-ms-error-code: TableAlreadyExists\r\n", "");
    }
    if (strstr(request, "\"TableName\":\"Busy\"") != NULL) {
        return number == 1 ? canned_reply(429, "Retry-After: 0\r\n", "")
                           : canned_reply(500, "Retry-After: 0\r\n", "");
    }
    if (strstr(request, "\"TableName\":\"Lost\"") != NULL) {
        return CANNED_CLOSE;
    }
    if (strstr(request, "GET /odd/") != NULL) {
        return canned_reply(200, "", "{\"value\":[{\"X\":1},{\"TableName\":5}]}");
    }
    if (strstr(request, "DELETE /hr/Tables('C')") != NULL) {
        return canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "");
    }
    if (strstr(request, "GET /other/") != NULL) {
        return canned_reply(200, "", "{\"value\":[]}");
    }
    return strstr(request, "GET") == request ? canned_reply(400, "", "")
                                             : canned_reply(204, "", "");
}

static void tables_are_listed(void **state)
{
    (void)state;
    open_remote(answer_with_tables);
    expect_sql("SELECT * FROM pt_service_tables", "hr A\nhr B\nhr C\n");
    assert_int_equal(canned_take_requests(), 2);
    char *sql = sqlite3_mprintf("SELECT pt_service_account('abc', 'AccountName=x;BearerToken=t;"
                                "TableEndpoint=http://127.0.0.1:%d/other') IS NULL",
                                canned.port);
    expect_sql(sql, "0\n");
    sqlite3_free(sql);
    expect_sql("SELECT Account, TableName, hex(TableKey) FROM pt_service_tables",
               "hr A 0068720041\nhr B 0068720042\nhr C 0068720043\n");
    assert_int_equal(canned_take_requests(), 3);
    expect_sql("SELECT count(*) FROM pt_service_tables WHERE Account = 'abc'", "0\n");
    assert_int_equal(canned_take_requests(), 1);
    expect_sql("SELECT * FROM pt_service_tables WHERE Account = NULL", "");
    expect_sql("SELECT * FROM pt_service_tables a LEFT JOIN pt_service_tables b ON b.Account = "
               "a.TableName WHERE a.Account = NULL",
               "");
    expect_sql("INSERT INTO pt_service_tables VALUES (NULL, 'New')",
               "1299: ptable: pt_service_tables: Account and TableName are needed to create a "
               "table; give both");
    assert_int_equal(canned_take_requests(), 0);
    expect_sql("SELECT count(*) FROM pt_service_tables WHERE Account > 'abc' AND TableName = 'A'",
               "1\n");
    sql = sqlite3_mprintf("SELECT pt_service_account('odd', 'AccountName=x;BearerToken=t;"
                          "TableEndpoint=http://127.0.0.1:%d/odd') IS NULL",
                          canned.port);
    expect_sql(sql, "0\n");
    sqlite3_free(sql);
    expect_sql("SELECT TableName = '' FROM pt_service_tables WHERE Account = 'odd'", "1\n1\n");
    sql = sqlite3_mprintf("SELECT pt_service_account('bad', 'AccountName=x;BearerToken=t;"
                          "TableEndpoint=http://127.0.0.1:%d/bad') IS NULL",
                          canned.port);
    expect_sql(sql, "0\n");
    sqlite3_free(sql);
    expect_sql(
        "SELECT * FROM pt_service_tables WHERE Account = 'bad'",
        "1: ptable: pt_service_tables: account 'bad': the service refuses the request; check "
        "the endpoint and the name of the table (400)");
    expect_sql("SELECT * FROM pt_service_tables WHERE Account = 'x'",
               "1: ptable: pt_service_tables: this connection has no account 'x'; name it first: "
               "SELECT pt_service_account('x', <connection string>)");
    close_remote();
}

static void tables_are_created_and_deleted(void **state)
{
    (void)state;
    open_remote(answer_with_tables);
    expect_sql("INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'New')", "");
    assert_true(was_sent("POST /hr/Tables HTTP/1.1\r\n"));
    assert_true(was_sent("\r\nContent-Type: application/json\r\n"));
    assert_true(was_sent("\r\n\r\n{\"TableName\":\"New\"}"));
    assert_int_equal(canned_take_requests(), 1);
    expect_sql("DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'B'", "");
    assert_true(was_sent("DELETE /hr/Tables('B') HTTP/1.1\r\n"));
    assert_int_equal(canned_take_requests(), 3);
    expect_sql("DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'C'",
               "1: ptable: pt_service_tables: account 'hr', table 'C': there is no such table; "
               "INSERT INTO pt_service_tables(Account, TableName) creates one, and SELECT * FROM "
               "pt_service_tables lists them (upper and lower case may matter) "
               "(ResourceNotFound)");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'There')",
               "1555: ptable: pt_service_tables: account 'hr', table 'There': there is one "
               "already; use another name (TableAlreadyExists)");
    expect_sql("INSERT OR IGNORE INTO pt_service_tables VALUES ('hr', 'There')", "");
    canned_take_requests();
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'x')",
               "2323: ptable: pt_service_tables: the service has no table 'x': a name has 3 to 63 "
               "letters and digits (A-Z, a-z, 0-9), begins with a letter, and is not \"tables\"; "
               "give another one (OutOfRangeInput)");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'New' || char(0) || 'er')",
               "2323: ptable: pt_service_tables: TableName 'New' is followed by U+0000; leave that "
               "out (InvalidResourceName)");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', x'4E6577')",
               "20: ptable: pt_service_tables: TableName is no text; give a text "
               "(InvalidResourceName)");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 5.0)",
               "20: ptable: pt_service_tables: TableName is no text; give a text "
               "(InvalidResourceName)");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', NULL)",
               "1299: ptable: pt_service_tables: Account and TableName are needed to create a "
               "table; give both");
    assert_int_equal(canned_take_requests(), 0);
    expect_sql("UPDATE pt_service_tables SET TableName = 'Z' WHERE TableName = 'A'",
               "2323: ptable: pt_service_tables: a table of the service cannot be renamed; INSERT "
               "a new one, copy the entities, and DELETE the old one");
    close_remote();
}

#define NAMES_NEEDED                                                                               \
    "2323: ptable: pt_service_tables: a DELETE without the names of the tables would delete all "  \
    "that it finds, with their entities, and ROLLBACK brings none back; write WHERE Account = "    \
    "... AND TableName = ..., or IN (...) with a list of names"

static void expect_delete(const char *where, const char *expected, int deleted, int requests)
{
    char *sql = sqlite3_mprintf("DELETE FROM pt_service_tables %s", where);
    expect_sql(sql, expected);
    int found = was_sent("DELETE /hr/Tables('A')") + was_sent("DELETE /hr/Tables('B')");
    assert_int_equal(found, deleted);
    assert_int_equal(canned_take_requests(), requests);
    sqlite3_free(sql);
}

/* A statement that found tables in another way deletes none, not even those that it names. */
static void tables_are_deleted_by_their_names_only(void **state)
{
    (void)state;
    static const char *const unnamed[] = {
        "",
        "WHERE Account = 'hr'",
        "WHERE TableName = 'A'",
        "WHERE TableName IN ('A', 'B')",
        "WHERE Account = 'hr' AND TableName LIKE 'A%'",
        "WHERE Account = 'hr' AND TableName >= 'A'",
        "WHERE Account = 'hr' AND TableName = TableName",
        "WHERE Account = 'hr' AND +TableName = 'A'",
        "WHERE Account IS NOT NULL AND TableName IN ('A', 'B')",
        "WHERE Account = 'hr' AND TableName = 'A' OR TableName > 'A'",
        "WHERE Account = 'hr' AND TableName = 'A' OR Account = 'zoo' AND TableName > 'A'",
        "WHERE Account = 'hr' AND TableName = 'A' OR Account = 'hr' AND TableName = 'B'",
        "WHERE Account = 'hr' AND TableName = 'B' OR Account = 'hr' AND TableName LIKE 'A%'",
        "WHERE TableKey = x'0068720041'",
        "WHERE EXISTS (SELECT 1 FROM Names WHERE a = Account AND t = TableName)",
    };
    open_remote(answer_with_tables);
    char *zoo = sqlite3_mprintf("SELECT pt_service_account('zoo', 'AccountName=hr;BearerToken=t;"
                                "TableEndpoint=http://127.0.0.1:%d/hr') IS NULL",
                                canned.port);
    expect_sql(zoo, "0\n");
    sqlite3_free(zoo);
    expect_sql("CREATE TABLE Names AS SELECT 'hr' AS a, 'A' AS t UNION SELECT 'hr', 'B'", "");
    for (size_t i = 0; i < COUNT(unnamed); i++) {
        char *sql = sqlite3_mprintf("DELETE FROM pt_service_tables %s", unnamed[i]);
        expect_sql(sql, NAMES_NEEDED);
        assert_false(was_sent("DELETE "));
        sqlite3_free(sql);
    }
    canned_take_requests();
    expect_delete("WHERE Account = 'hr' AND TableName = 'A'", "", 1, 3);
    expect_delete("WHERE Account = 'hr' AND TableName = 'a'", "", 1, 3);
    expect_delete("WHERE Account = 'hr' AND TableName IN ('A', 'B')", "", 2, 4);
    expect_delete("WHERE Account = 'hr' AND (TableName = 'A' OR TableName = 'B')", "", 2, 4);
    expect_delete("WHERE Account = 'hr' AND TableName IN (SELECT t FROM Names)", "", 2, 4);
    expect_delete("WHERE (Account, TableName) IN (SELECT a, t FROM Names)", "", 2, 6);
    expect_delete("WHERE Account = 'hr' AND TableName = 'A' OR Account = 'zoo' AND TableName = 'B'",
                  "", 2, 6);
    expect_delete("WHERE Account = 'hr' AND TableName = 'Z'", "", 0, 2);
    expect_delete("WHERE Account = 'hr' AND TableName = NULL", "", 0, 2);
    close_remote();
}

#define NO_TRANSACTION                                                                             \
    "1: ptable: pt_service_tables: a table of the service is created and deleted at once, and "    \
    "ROLLBACK would not undo it, so a transaction cannot do it; COMMIT first, and repeat the "     \
    "statement without BEGIN (in Python with isolation_level=None)"

static void a_transaction_changes_no_tables(void **state)
{
    (void)state;
    static const char *const begin[] = {"BEGIN", "BEGIN IMMEDIATE", "SAVEPOINT s"};
    open_remote(answer_with_tables);
    expect_sql("CREATE TABLE Plain(x)", "");
    for (size_t i = 0; i < COUNT(begin); i++) {
        expect_sql(begin[i], "");
        expect_sql("INSERT INTO Plain VALUES (1)", "");
        expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'New')", NO_TRANSACTION);
        expect_sql("INSERT OR IGNORE INTO pt_service_tables VALUES ('hr', 'New')", NO_TRANSACTION);
        expect_sql("DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'A'",
                   NO_TRANSACTION);
        expect_sql("UPDATE pt_service_tables SET TableName = 'B'", NO_TRANSACTION);
        assert_int_equal(canned_take_requests(), 0);
        assert_int_equal(sqlite3_get_autocommit(db), 0);
        expect_sql("SELECT count(*) FROM pt_service_tables", "3\n");
        expect_sql("COMMIT", "");
        canned_take_requests();
    }
    expect_sql("SELECT count(*) FROM Plain", "3\n");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'New')", "");
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

/* Nothing takes back what was done before. */
static void a_statement_that_fails_says_what_is_done(void **state)
{
    (void)state;
    open_remote(answer_with_tables);
    expect_sql("DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName IN ('C', 'A', "
               "'B')",
               "1: ptable: pt_service_tables: account 'hr', table 'C': there is no such table; "
               "INSERT INTO pt_service_tables(Account, TableName) creates one, and SELECT * FROM "
               "pt_service_tables lists them (upper and lower case may matter) "
               "(ResourceNotFound); of the statement 2 tables are deleted, which stays so");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'New'), ('hr', 'There')",
               "1555: ptable: pt_service_tables: account 'hr', table 'There': there is one "
               "already; use another name (TableAlreadyExists); of the statement 1 table is "
               "created, which stays so");
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'There')",
               "1555: ptable: pt_service_tables: account 'hr', table 'There': there is one "
               "already; use another name (TableAlreadyExists)");
    expect_sql("INSERT OR IGNORE INTO pt_service_tables VALUES ('hr', 'New'), ('hr', 'There'), "
               "('hr', 'New2')",
               "");
    expect_sql("SELECT changes()", "2\n");
    expect_sql("INSERT OR FAIL INTO pt_service_tables VALUES ('hr', 'New'), ('hr', 'x')",
               "2323: ptable: pt_service_tables: the service has no table 'x': a name has 3 to 63 "
               "letters and digits (A-Z, a-z, 0-9), begins with a letter, and is not \"tables\"; "
               "give another one (OutOfRangeInput); of the statement 1 table is created, which "
               "stays so");
    close_remote();
}

/* In a database from elsewhere it would look like a table of that database. */
static void a_schema_cannot_rename_the_list_of_tables(void **state)
{
    (void)state;
    open_remote(answer_with_tables);
    expect_sql("PRAGMA writable_schema = on", "");
    expect_sql("INSERT INTO sqlite_schema VALUES ('table', 'Notes', 'Notes', 0, 'CREATE VIRTUAL "
               "TABLE Notes USING pt_service_tables')",
               "");
    expect_sql("PRAGMA writable_schema = reset", "");
    expect_sql(
        "DELETE FROM Notes",
        "1: ptable: Notes: the schema gives the module pt_service_tables another name, which "
        "it must not have; use pt_service_tables itself");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

/* It may have been done, so it is not done again. A 429 says that it was not. */
static void a_lost_change_is_reported(void **state)
{
    (void)state;
    open_remote(answer_with_tables);
    expect_sql("INSERT INTO pt_service_tables VALUES ('hr', 'Busy')",
               "5: ptable: pt_service_tables: account 'hr', table 'Busy': the service has failed; "
               "try again later, or raise the option retries (500)");
    assert_int_equal(canned_take_requests(), 2);
    assert_int_equal(
        sqlite3_exec(db, "INSERT INTO pt_service_tables VALUES ('hr', 'Lost')", NULL, NULL, NULL),
        SQLITE_IOERR);
    assert_non_null(strstr(sqlite3_errmsg(db), "the change may have been applied: look before you "
                                               "repeat it"));
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

static int stop_soon(void *context)
{
    int *calls = context;
    return ++*calls > 4;
}

/* What was not sent is sent again. */
static void a_change_that_was_not_sent_is_repeated(void **state)
{
    (void)state;
    open_remote(answer_with_tables);
    canned_end();
    sqlite3_stmt *statement;
    int calls = 0;
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO pt_service_tables VALUES ('hr', 'New')",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_progress_handler(db, 1000, stop_soon, &calls);
    assert_int_equal(sqlite3_step(statement), SQLITE_INTERRUPT);
    sqlite3_finalize(statement);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    expect_sql("SELECT json_extract(pt_service_requests(), '$.retries')", "1\n");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* --- Arguments of CREATE VIRTUAL TABLE --- */

static void arguments_are_checked(void **state)
{
    (void)state;
    open_remote(answer_nothing);
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(Name String)",
               "1: ptable: Employee: no account; give account=name, a name given to "
               "pt_service_account");
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(account=hr, parallel=65)",
               "1: ptable: Employee: unknown value \"65\" in argument \"parallel=65\"; parallel is "
               "an integer from 1 to 64");
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(account=hr, timeout=0)",
               "1: ptable: Employee: unknown value \"0\" in argument \"timeout=0\"; timeout is an "
               "integer from 1 to 3600 (seconds)");
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(account=hr, EntityVersion)",
               "1: ptable: Employee: reserved column name \"EntityVersion\" in argument "
               "\"EntityVersion\"; leave it out: the name is kept for a column of ptable itself; "
               "such a property is reachable through Properties");
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(account=hr, Filter)",
               "1: ptable: Employee: reserved column name \"Filter\" in argument \"Filter\"; leave "
               "it out: the name is kept for a column of ptable itself; such a property is "
               "reachable through Properties");
    expect_sql("CREATE VIRTUAL TABLE Employee_2 USING pt_service(account=hr)",
               "1: ptable: Employee_2: the service has no table 'Employee_2': a name has 3 to 63 "
               "letters and digits (A-Z, a-z, 0-9), begins with a letter, and is not \"tables\"; "
               "give another one (InvalidResourceName)");
    static const char ten[] = "Abcdefghij";
    char *longest = canned_format("%s%s%s%s%s%sabc", ten, ten, ten, ten, ten, ten);
    for (int longer = 0; longer <= 1; longer++) {
        char *sql =
            canned_format("CREATE VIRTUAL TABLE wide USING pt_service(account=hr, table=%s%s)",
                          longest, longer ? "d" : "");
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL),
                         longer ? SQLITE_ERROR : SQLITE_OK);
        expect_sql("DROP TABLE IF EXISTS wide", "");
        free(sql);
    }
    free(longest);
    expect_sql("CREATE VIRTUAL TABLE m USING pt_service(account=hr, table='$MetricsCapacityBlob')",
               "");
    expect_sql("SELECT group_concat(name, ' ') FROM pragma_table_xinfo('m')",
               "PartitionKey RowKey Filter Properties Timestamp ETag WriteMode IfMatch EntityKey "
               "EntityVersion _rowid_ rowid oid\n");
    expect_sql("ALTER TABLE m RENAME TO n", "");
    expect_sql("CREATE VIRTUAL TABLE Emp USING pt_service(account=hr)", "");
    assert_int_equal(sqlite3_exec(db, "ALTER TABLE Emp RENAME TO Other", NULL, NULL, NULL),
                     SQLITE_ERROR);
    expect_sql("SELECT sql FROM sqlite_schema WHERE name = 'Emp'",
               "CREATE VIRTUAL TABLE Emp USING pt_service(account=hr)\n");
    close_remote();
}

/* --- Without memory --- */

#define EMOJI "\xF0\x9F\x98\x80"

static char *answer_with_entities(const char *request, int number)
{
    (void)number;
    if (strstr(request, "/Tables") != NULL) {
        return answer_with_tables(request, number);
    }
    if (strstr(request, "NextRowKey") != NULL) {
        return PAGE(NO_MORE, "p", EMOJI, "q", "2");
    }
    if (strstr(request, "Employee(P") != NULL) {
        return canned_reply(200, "", "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Name\":\"x\"}");
    }
    return PAGE(TOKEN("a", "b"), "p", "1", "p", EMOJI "1");
}

/* Runs a statement to its end. */
static int run_to_end(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            sqlite3_column_text(statement, i);
        }
    }
    int end = sqlite3_finalize(statement);
    return rc != SQLITE_OK ? rc : end;
}

/* Prepares the statement, which sends no request. */
static void read_schema(const char *sql)
{
    char *explain = sqlite3_mprintf("EXPLAIN %s", sql);
    assert_int_equal(run_to_end(explain), SQLITE_OK);
    sqlite3_free(explain);
}

static void statements_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "CREATE VIRTUAL TABLE temp.Emp USING pt_service(Name String, account=hr, scan=deny)",
        "SELECT Name, Properties, Timestamp, ETag, EntityKey, EntityVersion, _rowid_ FROM Employee",
        "SELECT Name FROM Employee WHERE PartitionKey = 'p' AND RowKey IN ('1', '2', '3') LIMIT 2",
        "SELECT * FROM Employee WHERE EntityKey > x'7000' ORDER BY EntityKey",
        "SELECT PartitionKey FROM Employee WHERE RowKey IN ('1', '" EMOJI "')",
        "SELECT * FROM pt_service_tables WHERE Account = 'hr'",
        "SELECT * FROM pt_service_accounts",
        "INSERT INTO pt_service_tables VALUES ('hr', 'New'), ('hr', 'New2')",
        "DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = 'A'",
        "SELECT pt_service_account('new', 'AccountName=x;BearerToken=t'), pt_service_requests()",
        "SELECT pt_service_account('env0')",
        "SELECT pt_service_account(5, CAST('AccountName=x;BearerToken=t' AS BLOB))",
        "SELECT * FROM pt_service_tables WHERE Account = 'hr' AND TableName > 'A'",
        "SELECT _rowid_ FROM Employee WHERE Name IS NULL AND RowKey > 'a'",
        "SELECT EntityKey FROM Employee WHERE PartitionKey = 'p'",
    };
    open_remote(answer_with_entities);
    setenv("PTABLE_ACCOUNT_ENV0", "AccountName=x;BearerToken=t", 1);
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(Name String, account=hr)", "");
    /* Without memory SQLite may forget the schema. In the second round it has it each time. */
    for (size_t i = 0; i < 2 * COUNT(statements); i++) {
        const char *sql = statements[i % COUNT(statements)];
        bool hit = true;
        int failures = 0;
        for (int n = 0; hit; n++) {
            int rc = SQLITE_OK;
            /* Twice: the first time SQLite may be asked if the statement was interrupted. */
            for (int again = 0; again < 2; again++) {
                if (i >= COUNT(statements)) {
                    read_schema(sql);
                }
                failing_malloc_arm(n, false);
                rc = run_to_end(sql);
                hit = failing_malloc_disarm();
                if (rc == SQLITE_OK && sql == statements[0]) {
                    expect_sql("DROP TABLE Emp", "");
                }
            }
            failures += hit;
            if (rc != SQLITE_OK && !(hit && rc == SQLITE_NOMEM)) {
                fail_msg("%s: %d %s", sql, rc, sqlite3_errmsg(db));
            }
        }
        assert_true(failures > 10);
    }
    close_remote();
}

static void return_nothing(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)context;
    (void)argc;
    (void)argv;
}

static void naming_may_run_out_of_memory(void **state)
{
    (void)state;
    bool hit = true;
    for (int n = 0; hit; n++) {
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
        assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
        failing_malloc_arm(n, false);
        int rc = run_to_end("SELECT pt_service_account('x', 'AccountName=x;BearerToken=t')");
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, false);
        rc = pt_service_check_table_name("x", &error);
        bool name_hit = failing_malloc_disarm();
        assert_int_equal(rc, name_hit ? SQLITE_NOMEM : SQLITE_ERROR);
        pt_error_clear(&error);
    }
}

/* SQLite does not replace a function while a statement runs. */
static void loading_may_be_refused(void **state)
{
    (void)state;
    char *message = NULL;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_create_function(db, "pt_service_requests", 0, SQLITE_UTF8, NULL,
                                             return_nothing, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT 1", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_ptableservice_init(db, &message, NULL), SQLITE_BUSY);
    assert_string_equal(message, "ptable_service: unable to delete/modify user-function due to "
                                 "active statements");
    sqlite3_free(message);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void loading_may_run_out_of_memory(void **state)
{
    (void)state;
    bool hit = true;
    for (int n = 0; hit; n++) {
        char *message = NULL;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
        failing_malloc_arm(n, false);
        int rc = sqlite3_ptableservice_init(db, n % 2 == 0 ? &message : NULL, NULL);
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
        sqlite3_free(message);
        assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
        expect_sql("SELECT count(*) FROM pt_service_accounts", "0\n");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_named),
        cmocka_unit_test(connection_strings_come_from_the_environment),
        cmocka_unit_test(accounts_that_cannot_be_named_are_refused),
        cmocka_unit_test(tables_are_listed),
        cmocka_unit_test(tables_are_created_and_deleted),
        cmocka_unit_test(tables_are_deleted_by_their_names_only),
        cmocka_unit_test(a_transaction_changes_no_tables),
        cmocka_unit_test(a_statement_that_fails_says_what_is_done),
        cmocka_unit_test(a_schema_cannot_rename_the_list_of_tables),
        cmocka_unit_test(a_lost_change_is_reported),
        cmocka_unit_test(a_change_that_was_not_sent_is_repeated),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(statements_may_run_out_of_memory),
        cmocka_unit_test(naming_may_run_out_of_memory),
        cmocka_unit_test(loading_may_be_refused),
        cmocka_unit_test(loading_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
