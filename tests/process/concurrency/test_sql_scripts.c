/*
 * What the scripts of the folder sql set up, written to by two processes at once: entities with
 * copies, lists and counters, three views one over another; events and timelines. In the end all
 * parts must agree. The scripts are for the sqlite3 shell, so that sets them up; PT_LIBRARY is the
 * extension that it loads, PT_PRELOAD what it loads before itself.
 */
#include "fixtures/child.h"

enum { WRITES = 120, PATIENCE_MS = 60000, COMMAND_SIZE = 1000 };

static const char tables[] =
    "CREATE VIRTUAL TABLE Staff USING ptable(LastName String, Email String, Salary Int32,"
    "  store='shared.ptable', sync='off');\n"
    "CREATE VIRTUAL TABLE Emails USING ptable(LastName String, store='shared.ptable',"
    " sync='off');\n"
    "CREATE VIRTUAL TABLE Names USING ptable(store='shared.ptable', sync='off');\n"
    "CREATE VIRTUAL TABLE Department USING ptable(Employees Int64, Payroll Int64,"
    "  store='shared.ptable', sync='off');\n"
    "CREATE VIRTUAL TABLE Event USING ptable(Title String, store='shared.ptable', sync='off');\n"
    "CREATE VIRTUAL TABLE Timeline USING ptable(Subject String, Title String,"
    "  store='shared.ptable', sync='off');\n"
    "CREATE VIRTUAL TABLE Follower USING ptable(store='shared.ptable', sync='off');\n"
    "CREATE VIRTUAL TABLE Following USING ptable(store='shared.ptable', sync='off');\n";

static const char views[] =
    "CREATE TEMP TABLE secondary_index(base, entities, name, copies, lookup, PartitionKey,"
    " RowKey);\n"
    "INSERT INTO secondary_index VALUES('Staff', NULL, 'Indexed', 'Emails', 'ByEmail',"
    " '''email''', 'lower(Email)');\n"
    ".read sql/secondary_index.sql\n"
    "CREATE TEMP TABLE index_entities(base, entities, name, lists, lookup, PartitionKey,"
    " RowKey);\n"
    "INSERT INTO index_entities VALUES('Indexed', NULL, 'Listed', 'Names', 'ByName',"
    " '''name''', 'LastName');\n"
    ".read sql/index_entities.sql\n"
    "CREATE TEMP TABLE counters(base, entities, name, counters, property, PartitionKey, RowKey,"
    " amount);\n"
    "INSERT INTO counters VALUES('Listed', NULL, 'Employee', 'Department', 'Employees',"
    " 'PartitionKey', '''''', '1'),\n"
    "('Listed', NULL, 'Employee', 'Department', 'Payroll', 'PartitionKey', '''''', 'Salary');\n"
    ".read sql/counters.sql\n"
    "CREATE TEMP TABLE fan_out(events, timelines, followers, following, post, follow);\n"
    "INSERT INTO fan_out VALUES('Event', 'Timeline', 'Follower', 'Following', 'Post', 'Follow');\n"
    ".read sql/fan_out.sql\n";

/* Runs SQL in the stock shell, in the folder, where sql is the project's. */
static void in_shell(const char *folder, const char *database, const char *first,
                     const char *second)
{
    char here[COMMAND_SIZE / 4];
    char command[COMMAND_SIZE];
    const char *library = getenv("PT_LIBRARY");
    const char *preload = getenv("PT_PRELOAD");
    assert_non_null(getcwd(here, sizeof here));
    int length = snprintf(command, sizeof command,
                          "cd %s && ln -sfn %s/sql sql &&"
                          " LD_PRELOAD='%s' sqlite3 -batch -bail -init /dev/null %s",
                          folder, here, preload != NULL ? preload : "", database);
    assert_true(length > 0 && length < COMMAND_SIZE);
    FILE *shell = popen(command, "w");
    assert_non_null(shell);
    fprintf(shell, ".load %s%s\n%s%s", library != NULL ? library : here,
            library != NULL ? "" : "/ptable.so", first, second);
    assert_int_equal(pclose(shell), 0);
}

/* --- A writer --- */

/* What a write takes its values from: few, so that they collide. */
static const char thrown[] =
    "CREATE TEMP TABLE thrown(department, id, id2, name, email, salary, subject, subject2, event)";

static const char *const ways[] = {
    "INSERT INTO Employee(PartitionKey, RowKey, LastName, Email, Salary)"
    " SELECT department, id, name, upper(email), salary FROM thrown",
    "INSERT INTO Employee(PartitionKey, RowKey, LastName, Salary)"
    " SELECT department, id, name, salary FROM thrown"
    " UNION ALL SELECT department, id2, name, NULL FROM thrown",
    "INSERT OR REPLACE INTO Employee(PartitionKey, RowKey, LastName, Email, Salary)"
    " SELECT department, id, name, email, salary FROM thrown",
    "INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, Email, Salary)"
    " SELECT department, id, email, salary FROM thrown",
    "UPDATE Employee SET (LastName, Email) = (SELECT name, email FROM thrown)"
    " WHERE RowKey = (SELECT id FROM thrown)",
    "UPDATE Employee SET Salary = Salary + 10, LastName = (SELECT name FROM thrown)"
    " WHERE Salary < 50",
    "UPDATE Employee SET PartitionKey = (SELECT department FROM thrown)"
    " WHERE RowKey IN (SELECT id FROM thrown UNION SELECT id2 FROM thrown)",
    "UPDATE OR REPLACE Employee SET RowKey = (SELECT id2 FROM thrown)"
    " WHERE (PartitionKey, RowKey) = (SELECT department, id FROM thrown)",
    "UPDATE OR IGNORE Employee SET RowKey = (SELECT id2 FROM thrown), Email = NULL"
    " WHERE (PartitionKey, RowKey) = (SELECT department, id FROM thrown)",
    "DELETE FROM Employee WHERE RowKey = (SELECT id FROM thrown)",
    "BEGIN; DELETE FROM Employee WHERE LastName = (SELECT name FROM thrown); SAVEPOINT a;"
    "UPDATE Employee SET LastName = 'x', Email = NULL, Salary = 1; DELETE FROM Post;"
    "ROLLBACK TO a; INSERT INTO Post(PartitionKey, RowKey) SELECT subject, event FROM thrown;"
    "COMMIT",
    "INSERT OR REPLACE INTO Post(PartitionKey, RowKey, Title)"
    " SELECT subject, event, name FROM thrown UNION ALL SELECT subject2, event, name FROM thrown",
    "UPDATE Post SET (PartitionKey, Title) = (SELECT subject, name FROM thrown)"
    " WHERE RowKey = (SELECT event FROM thrown)",
    "INSERT OR IGNORE INTO Follow SELECT subject, id FROM thrown"
    " UNION ALL SELECT subject2, id2 FROM thrown;"
    "DELETE FROM Follow WHERE (Subject, Follower) = (SELECT subject, id2 FROM thrown);"
    "DELETE FROM Post WHERE RowKey = (SELECT id FROM thrown)",
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static int roll(uint64_t *dice, int sides)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((*dice >> 33) % (uint64_t)sides);
}

static int write_something(sqlite3 *db, uint64_t *dice)
{
    char values[COMMAND_SIZE];
    int department = roll(dice, 3);
    int id = roll(dice, 20);
    int id2 = roll(dice, 20);
    int name = roll(dice, 4);
    int email = roll(dice, 20);
    int subject = roll(dice, 3);
    snprintf(values, sizeof values,
             "DELETE FROM thrown;"
             "INSERT INTO thrown VALUES('d%d', '%d', '%d', 'n%d', 'e%d', %d, 's%d', 's%d', '%d')",
             department, id, id2, name, email, roll(dice, 100), subject, (subject + 1) % 3,
             roll(dice, 60));
    int code = sqlite3_exec(db, values, NULL, NULL, NULL);
    return code == SQLITE_OK ? sqlite3_exec(db, ways[roll(dice, WAYS)], NULL, NULL, NULL) : code;
}

/* Keys that collide break a constraint; nothing else may go wrong. */
static bool may_be(int code)
{
    return code == SQLITE_OK || (code & 0xff) == SQLITE_CONSTRAINT;
}

/* Arguments: the database, a seed. Says how many writes succeeded, or a code that must not be. */
static int be_writer(char **argv)
{
    int64_t succeeded = 0;
    uint64_t dice = strtoull(argv[3], NULL, 10);
    sqlite3 *db = try_open(argv[2]);
    sqlite3_busy_timeout(db, PATIENCE_MS);
    int code = sqlite3_exec(db, thrown, NULL, NULL, NULL);
    for (int i = 0; i < WRITES && may_be(code); i++) {
        code = write_something(db, &dice);
        succeeded += code == SQLITE_OK;
        if (!sqlite3_get_autocommit(db)) {
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        }
    }
    if (!may_be(code)) {
        fprintf(stderr, "%d: %s\n", code, sqlite3_errmsg(db));
        succeeded = -code;
    }
    write_all(STDOUT_FILENO, &succeeded, sizeof succeeded);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

static child start_writer(const char *folder, const char *name, const char *seed)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    const char *const arguments[] = {path, seed, NULL};
    return start_child("writer", arguments);
}

static void end_writer(child *writer)
{
    int64_t succeeded = 0;
    assert_true(read_all(writer->from, &succeeded, sizeof succeeded));
    assert_true(succeeded > WRITES / 4);
    stop_child(writer);
}

/* --- What must agree --- */

/* Two queries that give the same rows, each once. */
static void same_rows(sqlite3 *db, const char *one, const char *other)
{
    assert_number(db, 0, "SELECT count(*) FROM (%s EXCEPT %s)", one, other);
    assert_number(db, 0, "SELECT (SELECT count(*) FROM (%s)) <> (SELECT count(*) FROM (%s))", one,
                  other);
}

static void check_parts(sqlite3 *db)
{
    assert_true(number(db, "SELECT count(*) FROM Staff") > 0);
    assert_true(number(db, "SELECT count(*) FROM Timeline") > 0);
    same_rows(db,
              "SELECT 'email', lower(Email), LastName, PartitionKey, RowKey FROM Staff"
              " WHERE Email IS NOT NULL",
              "SELECT IndexPartitionKey, IndexRowKey, LastName, PartitionKey, RowKey FROM ByEmail");
    same_rows(db, "SELECT PartitionKey, RowKey FROM Emails",
              "SELECT IndexPartitionKey, IndexRowKey FROM ByEmail");
    same_rows(db, "SELECT LastName, PartitionKey, RowKey FROM Staff WHERE LastName IS NOT NULL",
              "SELECT IndexRowKey, PartitionKey, RowKey FROM ByName");
    same_rows(db, "SELECT DISTINCT LastName FROM Staff WHERE LastName IS NOT NULL",
              "SELECT RowKey FROM Names");
    same_rows(db, "SELECT PartitionKey, count(*), total(Salary) FROM Staff GROUP BY PartitionKey",
              "SELECT PartitionKey, Employees, total(Payroll) FROM Department WHERE Employees > 0"
              " GROUP BY PartitionKey");
    assert_number(db, 0, "SELECT count(*) FROM Department WHERE Employees = 0 AND Payroll <> 0");
    same_rows(db,
              "SELECT f.RowKey, e.RowKey, e.PartitionKey, e.Title FROM Event AS e"
              " JOIN Follower AS f USING (PartitionKey)",
              "SELECT PartitionKey, RowKey, Subject, Title FROM Timeline");
    same_rows(db, "SELECT PartitionKey, RowKey FROM Follower",
              "SELECT RowKey, PartitionKey FROM Following");
}

/* --- Tests --- */

static void two_writers_of_one_database(void **state)
{
    const char *folder = *state;
    in_shell(folder, "main.db", tables, views);
    child one = start_writer(folder, "main.db", "1");
    child two = start_writer(folder, "main.db", "2");
    end_writer(&one);
    end_writer(&two);
    sqlite3 *db = open_database(folder, "main.db");
    check_parts(db);
    close_database(db);
}

/* They wait for each other at the store only. The second set-up finds all tables there. */
static void two_writers_with_databases_of_their_own(void **state)
{
    const char *folder = *state;
    in_shell(folder, "one.db", tables, views);
    in_shell(folder, "two.db", tables, views);
    child one = start_writer(folder, "one.db", "3");
    child two = start_writer(folder, "two.db", "4");
    end_writer(&one);
    end_writer(&two);
    sqlite3 *db = open_database(folder, "two.db");
    check_parts(db);
    close_database(db);
}

/* To set up again what is right writes nothing; what was written beside the views, is put right. */
static void setting_up_again_puts_right_what_is_wrong(void **state)
{
    const char *folder = *state;
    in_shell(folder, "main.db", tables, views);
    child one = start_writer(folder, "main.db", "5");
    end_writer(&one);
    sqlite3 *db = open_database(folder, "main.db");
    check_parts(db);
    int64_t last = number(db, "SELECT LastTransaction FROM pt_stores");
    in_shell(folder, "main.db", "", views);
    check_parts(db);
    assert_number(db, last, "SELECT LastTransaction FROM pt_stores");
    run(db, "UPDATE Staff SET LastName = 'n' || RowKey, Email = PartitionKey || RowKey WHERE "
            "RowKey < '15';"
            "DELETE FROM Staff WHERE RowKey > '5';"
            "UPDATE Event SET Title = 'other';"
            "DELETE FROM Follower WHERE RowKey > 'f4'");
    in_shell(folder, "main.db", "", views);
    check_parts(db);
    close_database(db);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "writer") == 0) {
        return be_writer(argv);
    }
    const struct CMUnitTest tests[] = {
        folder_test(two_writers_of_one_database),
        folder_test(two_writers_with_databases_of_their_own),
        folder_test(setting_up_again_puts_right_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
