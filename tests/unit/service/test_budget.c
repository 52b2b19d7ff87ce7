#include "unit/service/remote_database.h"

#include "faults/failing_malloc.h"
#include "service/budget.h"

#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Age Int32, account=hr, "
#define POINT "SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'"
#define POINTS "SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey IN "

/* --- Limits --- */

static void spend_all(const pt_budget *budget, pt_request_kind kind, int count)
{
    pt_error error = PT_ERROR_NONE;
    for (int i = 0; i < count; i++) {
        assert_true(pt_budget_allows(budget, kind));
        assert_int_equal(pt_budget_spend(budget, kind, &error), SQLITE_OK);
    }
}

static void expect_refusal(const pt_budget *budget, pt_request_kind kind, const char *begin)
{
    pt_error error = PT_ERROR_NONE;
    assert_false(pt_budget_allows(budget, kind));
    assert_int_equal(pt_budget_spend(budget, kind, &error), SQLITE_ERROR);
    assert_true(strncmp(error.message, begin, strlen(begin)) == 0);
    assert_non_null(strstr(error.message, " larger max_requests (0: any number)"));
    pt_error_clear(&error);
}

static void each_kind_has_its_default(void **state)
{
    (void)state;
    pt_statement statement = {.users = 1};
    const pt_budget budget = {.statement = &statement, .max_requests = PT_BUDGET_DEFAULT};
    spend_all(&budget, PT_REQUEST_SCAN, 1000);
    spend_all(&budget, PT_REQUEST_MORE, 20000);
    spend_all(&budget, PT_REQUEST_ASK, 10000);
    spend_all(&budget, PT_REQUEST_LOOK, 10000);
    expect_refusal(&budget, PT_REQUEST_SCAN,
                   "the statement needs more than 1000 requests, which max_requests forbids by "
                   "default; add a condition");
    expect_refusal(&budget, PT_REQUEST_ASK,
                   "the statement needs more than 10000 requests for single entities and ranges, "
                   "which max_requests forbids by default; instead of asking for each row, ");
    expect_refusal(&budget, PT_REQUEST_LOOK,
                   "the statement needs more than 10000 requests for single entities and ranges, "
                   "which max_requests forbids by default; write fewer rows at once ");
    pt_budget_take_back(&budget, PT_REQUEST_ASK);
    spend_all(&budget, PT_REQUEST_ASK, 1);
    spend_all(&budget, PT_REQUEST_MORE, 1);
}

static void a_limit_that_is_given_is_for_all_kinds(void **state)
{
    (void)state;
    pt_statement statement = {.users = 1};
    const pt_budget budget = {.statement = &statement, .max_requests = 4};
    const pt_budget free_one = {.statement = &statement, .max_requests = 0};
    for (int i = 0; i < PT_REQUEST_KINDS; i++) {
        spend_all(&budget, (pt_request_kind)i, 1);
    }
    for (int i = 0; i < PT_REQUEST_KINDS; i++) {
        expect_refusal(&budget, (pt_request_kind)i,
                       "the statement needs more than 4 requests, which max_requests forbids; ");
        spend_all(&free_one, (pt_request_kind)i, 10001);
    }
}

/* --- Statements --- */

static char *answer_with_one(const char *request, int number)
{
    (void)number;
    bool point = strstr(request, ",RowKey='1'") != NULL;
    return point ? canned_reply(200, "", "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Age\":5}")
           : strstr(request, "RowKey='") != NULL
               ? canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "")
           : strstr(request, "POST ") == request ? canned_reply(204, "", "")
                                                 : PAGE(NO_MORE, "p", "1", "p", "2", "p", "3");
}

static sqlite3_stmt *prepared(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void expect_too_many(const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_ERROR);
    assert_non_null(strstr(sqlite3_errmsg(db), "needs more than 2 requests, which max_requests"));
}

/* A program may keep a statement with a row for ever; its requests are not those of others. */
static void statements_are_told_apart(void **state)
{
    (void)state;
    open_remote(answer_with_one);
    expect_sql(CREATE "max_requests=2)", "");
    expect_sql("CREATE TABLE Three(k)", "");
    expect_sql("INSERT INTO Three VALUES (1), (2), (3)", "");
    sqlite3_stmt *kept = prepared(POINT);
    assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
    for (int i = 0; i < 5; i++) {
        expect_sql(POINT, "1\n");
        expect_sql(POINTS "('1', '2')", "1\n");
        expect_too_many(POINTS "('1', '2', '3')");
        expect_too_many("SELECT (" POINT " AND k IS NOT NULL) FROM Three");
    }
    sqlite3_stmt *again = prepared(POINT);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sqlite3_step(again), SQLITE_ROW);
        sqlite3_reset(again);
    }
    sqlite3_stmt *outer = prepared("SELECT RowKey FROM Employee WHERE PartitionKey = 'p'");
    int rows = 0;
    while (sqlite3_step(outer) == SQLITE_ROW) {
        expect_sql(POINTS "('1', '2')", "1\n");
        assert_int_equal(sqlite3_step(again), SQLITE_ROW);
        sqlite3_reset(again);
        rows++;
    }
    assert_int_equal(rows, 3);
    sqlite3_finalize(outer);
    sqlite3_finalize(again);
    sqlite3_finalize(kept);
    close_remote();
}

/* COMMIT is not refused for what the transaction's statements have read. */
static void statements_of_a_transaction_are_told_apart(void **state)
{
    (void)state;
    open_remote(answer_with_one);
    expect_sql(CREATE "max_requests=2)", "");
    sqlite3_stmt *insert =
        prepared("INSERT OR IGNORE INTO Employee(PartitionKey, RowKey) VALUES ('p', '1'), "
                 "('p', ?1)");
    expect_sql("BEGIN", "");
    for (int i = 7; i <= 7; i++) {
        sqlite3_bind_int(insert, 1, i);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
    }
    for (int i = 0; i < 5; i++) {
        sqlite3_bind_text(insert, 1, "1", -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
    }
    expect_too_many("INSERT OR IGNORE INTO Employee(PartitionKey, RowKey) VALUES ('p', '1'), "
                    "('p', '1'), ('p', '1')");
    sqlite3_finalize(insert);
    expect_sql("COMMIT", "");
    assert_true(was_sent("POST /hr/Employee HTTP/1.1\r\n"));
    expect_sql(POINT, "1\n");
    close_remote();
}

static const char *const inner[] = {
    POINTS "('1', '2')",
    POINTS "('1', '2', '3')",
    "INSERT OR IGNORE INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')",
};

static void run_inner(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *sql = inner[sqlite3_value_int(argv[0])];
    sqlite3_result_int(context, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* A function may run statements while another one runs. */
static void statements_within_others_are_told_apart(void **state)
{
    (void)state;
    open_remote(answer_with_one);
    expect_sql(CREATE "max_requests=2)", "");
    expect_sql("CREATE VIRTUAL TABLE Split USING pt_service(account=hr, table=Employee, "
               "batch=split, max_requests=2)",
               "");
    sqlite3_create_function(db, "run", 1, SQLITE_UTF8, NULL, run_inner, NULL, NULL);
    expect_sql("CREATE TABLE Three(k)", "");
    expect_sql("INSERT INTO Three VALUES (1), (2), (3)", "");
    expect_sql("SELECT run(0) FROM Three", "0\n0\n0\n");
    expect_sql("SELECT run(1) FROM Three", "1\n1\n1\n");
    expect_sql("SELECT RowKey, run(0) FROM Employee WHERE PartitionKey = 'p'", "1 0\n2 0\n3 0\n");
    expect_sql("INSERT INTO Split(PartitionKey, RowKey) SELECT k, '7' FROM Three WHERE run(2) = 0 "
               "AND k < 3",
               "");
    close_remote();
}

static void statements_are_counted_without_memory(void **state)
{
    (void)state;
    open_remote(answer_with_one);
    expect_sql(CREATE "max_requests=2)", "");
    sqlite3_stmt *insert =
        prepared("INSERT OR IGNORE INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')");
    bool hit = true;
    for (int n = 0; hit; n++) {
        expect_sql("BEGIN", "");
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
        failing_malloc_arm(n, false);
        int rc = sqlite3_step(insert);
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_DONE || (hit && rc == SQLITE_NOMEM));
        sqlite3_reset(insert);
        expect_sql(sqlite3_get_autocommit(db) != 0 ? POINT : "ROLLBACK",
                   sqlite3_get_autocommit(db) != 0 ? "1\n" : "");
    }
    sqlite3_finalize(insert);
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_default),
        cmocka_unit_test(a_limit_that_is_given_is_for_all_kinds),
        cmocka_unit_test(statements_are_told_apart),
        cmocka_unit_test(statements_of_a_transaction_are_told_apart),
        cmocka_unit_test(statements_within_others_are_told_apart),
        cmocka_unit_test(statements_are_counted_without_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
