#include "faults/failing_malloc.h"
#include "unit/service/remote_database.h"

#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Name String, Age Int32, account=hr"

/* Judges no filter: the tests look at the requests. */
static char *answer_all(const char *request, int number)
{
    (void)number;
    return strstr(request, "nonsense") != NULL
               ? canned_reply(400, "x-ms-error-code: InvalidInput\r\n", "")
               : PAGE(NO_MORE, "p", "1", "p", "2", "q", "1");
}

static void a_filter_is_sent_as_it_is(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql(
        "SELECT RowKey FROM Employee WHERE Filter MATCH 'Name eq ''it''''s'' or (Age gt 3L)'",
        "1\n2\n1\n");
    assert_true(
        was_sent("()?$filter=Name%20eq%20%27it%27%27s%27%20or%20%28Age%20gt%203L%29&$select="
                 "PartitionKey%2CRowKey "));
    /* Keys beside it, without a URL of one entity. */
    expect_sql(
        "SELECT PartitionKey FROM Employee WHERE Filter MATCH 'x eq 1 or y' AND PartitionKey "
        "= 'p' AND RowKey = '1'",
        "p\n");
    assert_true(
        was_sent("()?$filter=PartitionKey%20eq%20%27p%27%20and%20RowKey%20eq%20%271%27%20and"
                 "%20%28x%20eq%201%20or%20y%29&"));
    canned_take_requests();
    expect_sql(
        "SELECT RowKey FROM Employee('Age ge 1') WHERE PartitionKey IN ('p', 'q') AND Age > 0",
        "2\n1\n");
    assert_true(
        was_sent("PartitionKey%20eq%20%27q%27%20and%20%28Age%20ge%201%29%20and%20%28Age%20gt"
                 "%200%20or%20"));
    assert_int_equal(canned_take_requests(), 2);
    /* Each side of OR is a query of its own. */
    expect_sql("SELECT count(*) FROM Employee WHERE Filter MATCH 'a eq 1' OR Filter MATCH 'b eq 2'",
               "3\n");
    assert_int_equal(canned_take_requests(), 2);
    expect_sql("SELECT count(*) FROM Employee WHERE Filter MATCH NULL", "0\n");
    assert_int_equal(canned_take_requests(), 0);
    expect_sql("SELECT count(*) FROM Employee WHERE Filter = ''", "3\n");
    assert_false(was_sent("$filter"));
    expect_sql("SELECT count(*) FROM Employee WHERE Filter MATCH '' AND PartitionKey = 'p'", "2\n");
    assert_true(was_sent("?$filter=PartitionKey%20eq%20%27p%27&"));
    close_remote();
}

/* SQLite may ask match() again, but not for another filter. */
static void a_statement_has_one_filter(void **state)
{
    (void)state;
    static const char refusal[] =
        "1: ptable: Employee: MATCH works only on column Filter in WHERE or ON, with one filter "
        "per table; write one Filter MATCH '...' there";
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql(
        "SELECT count(*) FROM Employee WHERE Filter MATCH 'a eq 1' AND Age > -1 AND Age > -2 "
        "AND Age > -3 AND Age > -4 AND Age > -5 AND Age > -6 AND Age > -7 AND Age > -8 AND "
        "Age > -9 AND Age > -10 AND Age > -11 AND Age > -12 AND Age > -13 AND Age > -14 AND "
        "Age > -15 AND Age > -16 AND Age > -17 AND Filter MATCH 'a eq 1'",
        "1: ptable: Employee: Filter is given more than once; write one filter, with and "
        "inside");
    expect_sql(
        "SELECT count(*) FROM Employee WHERE Age > -1 AND Age > -2 AND Age > -3 AND Age > -4 "
        "AND Age > -5 AND Age > -6 AND Age > -7 AND Age > -8 AND Age > -9 AND Age > -10 AND "
        "Age > -11 AND Age > -12 AND Age > -13 AND Age > -14 AND Age > -15 AND Age > -16 AND "
        "Age > -17 AND Filter MATCH 'a eq 1'",
        "3\n");
    expect_sql("SELECT count(*) FROM Employee WHERE Filter IN ('a eq 1', 'b eq 1')",
               "1: ptable: Employee: Filter cannot be one of several (IN, or = with OR between); "
               "write one filter, with or inside");
    expect_sql("SELECT count(*) FROM Employee WHERE Filter MATCH 'a' AND NOT (Filter MATCH 'b')",
               refusal);
    expect_sql("SELECT count(*) FROM Employee WHERE Filter MATCH 'a' AND NOT (Filter MATCH NULL)",
               "3\n");
    expect_sql("SELECT count(*) FROM Employee WHERE Filter MATCH 5",
               "20: ptable: Employee: Filter is a number; give a text, as 'Age gt 30' "
               "(InvalidInput)");
    expect_sql("CREATE TABLE one(x)", "");
    expect_sql("INSERT INTO one VALUES (1)", "");
    expect_sql("SELECT count(*) FROM one LEFT JOIN Employee ON Filter MATCH 'a eq 1'", "3\n");
    expect_sql("SELECT count(*) FROM one LEFT JOIN Employee ON 1 WHERE Filter MATCH 'a eq 1'",
               "3\n");
    expect_sql("SELECT count(*) FROM one LEFT JOIN Employee ON PartitionKey = 'z' WHERE Filter "
               "MATCH 'a eq 1' IS NULL",
               "1\n");
    expect_sql("SELECT Filter FROM Employee WHERE Filter MATCH 'z eq 0' LIMIT 1", "z eq 0\n");
    expect_sql("SELECT Filter, typeof(Filter) FROM Employee LIMIT 1", "NULL null\n");
    close_remote();
}

static char *answer_some(const char *request, int number)
{
    bool passes = strstr(request, "RowKey%20eq%20%272%27%20and%20%28good%29") != NULL;
    if (strstr(request, "good") != NULL && !passes) {
        return EMPTY_PAGE(NO_MORE);
    }
    return answer_all(request, number);
}

/* Beside an OR of keys, SQLite does not say that there is a filter. */
static void the_service_is_asked_for_each_row(void **state)
{
    (void)state;
    open_remote(answer_some);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT PartitionKey, RowKey FROM Employee WHERE Filter MATCH 'good' AND "
               "(PartitionKey = 'p' AND RowKey > '0' OR PartitionKey = 'q' AND RowKey >= '1')",
               "p 2\n");
    assert_int_equal(canned_take_requests(), 5);
    expect_sql("SELECT RowKey, Filter MATCH 'good', Filter MATCH NULL FROM Employee WHERE "
               "PartitionKey = 'p'",
               "1 0 0\n2 1 0\n");
    assert_true(was_sent("$filter=PartitionKey%20eq%20%27p%27%20and%20RowKey%20eq%20%271%27%20and"
                         "%20%28good%29&$select=PartitionKey%2CRowKey HTTP"));
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND NOT (Filter MATCH 'good')",
               "1\n");
    expect_sql("SELECT RowKey, Filter MATCH 5 FROM Employee WHERE PartitionKey = 'p'",
               "20: ptable: Employee: Filter is a number; give a text, as 'Age gt 30' "
               "(InvalidInput)");
    expect_sql("CREATE VIRTUAL TABLE Few USING pt_service(account=hr, max_requests=2)", "");
    expect_sql("SELECT RowKey FROM Few WHERE PartitionKey = 'p' AND NOT (Filter MATCH 'good')",
               "1\n1: ptable: Few: the statement needs more than 2 requests, which max_requests "
               "forbids; instead of asking for each row, read a whole range, or copy it first "
               "(CREATE TEMP TABLE ... AS SELECT ... WHERE PartitionKey = ...), or create the "
               "table with a larger max_requests (0: any number)");
    close_remote();
}

/* The filter's value comes from the row of another table. */
static void a_filter_may_come_from_a_join(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE TABLE wanted(f)", "");
    expect_sql("INSERT INTO wanted VALUES ('a eq 1'), (NULL), ('b eq 2')", "");
    expect_sql("SELECT f, count(*) FROM wanted JOIN Employee ON Filter = f GROUP BY f",
               "a eq 1 3\nb eq 2 3\n");
    expect_sql("SELECT f, count(*) FROM wanted JOIN Employee ON Filter MATCH f GROUP BY f",
               "a eq 1 3\nb eq 2 3\n");
    expect_sql("SELECT f, count(*) FROM wanted, Employee(f) GROUP BY f", "a eq 1 3\nb eq 2 3\n");
    assert_true(was_sent("$filter=b%20eq%202&"));
    close_remote();
}

static void a_filter_may_bound_a_scan(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ", scan=deny)", "");
    static const char denied[] =
        "1: ptable: Employee: the statement would scan the whole table, which scan=deny forbids; "
        "add a condition on PartitionKey (=, IN, a range or pt_starts_with)";
    expect_sql("SELECT count(*) FROM Employee('PartitionKey eq ''p'' and Age gt 3')", "3\n");
    expect_sql("SELECT count(*) FROM Employee('Age gt 3')", denied);
    expect_sql("SELECT count(*) FROM Employee('startswith(PartitionKey, ''p'')')", denied);
    expect_sql("SELECT count(*) FROM Employee('Age gt 3') WHERE PartitionKey > 'a'", "3\n");
    close_remote();
}

static void a_refused_filter_is_an_error(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT count(*) FROM Employee('nonsense')",
               "1: ptable: Employee: account 'hr', table 'Employee': the service refuses the "
               "request; check the Filter: the service judges it, and not all services take the "
               "same constants (InvalidInput)");
    expect_sql("SELECT count(*) FROM Employee", "3\n");
    close_remote();
}

static void filtering_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT count(*) FROM Employee('PartitionKey eq ''p'' and Age gt 3')",
        "SELECT count(*) FROM Employee WHERE Filter MATCH 'Age gt 3' AND PartitionKey = 'p'",
        "SELECT count(*) FROM Employee WHERE NOT (Filter MATCH 'a eq 1')",
        ("SELECT count(*) FROM Employee WHERE Filter MATCH 'Age gt 3' AND CASE WHEN PartitionKey = "
         "'p' THEN 1 ELSE Filter MATCH ('Age' || ' gt 3') END"),
        "SELECT count(*) FROM Employee WHERE Filter IN ('a eq 1', 'b eq 1')",
    };
    open_remote(answer_all);
    expect_sql("PRAGMA encoding = 'UTF-16'", "");
    expect_sql(CREATE ")", "");
    for (int i = 0; i < 5; i++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            sqlite3_stmt *statement = NULL;
            failing_malloc_arm(n, false);
            int rc = sqlite3_prepare_v2(db, statements[i], -1, &statement, NULL);
            rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
            hit = failing_malloc_disarm();
            assert_true(rc == (i < 4 ? SQLITE_ROW : SQLITE_ERROR) || (hit && rc == SQLITE_NOMEM));
            sqlite3_finalize(statement);
        }
    }
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_is_sent_as_it_is),
        cmocka_unit_test(a_statement_has_one_filter),
        cmocka_unit_test(the_service_is_asked_for_each_row),
        cmocka_unit_test(a_filter_may_come_from_a_join),
        cmocka_unit_test(a_filter_may_bound_a_scan),
        cmocka_unit_test(a_refused_filter_is_an_error),
        cmocka_unit_test(filtering_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
