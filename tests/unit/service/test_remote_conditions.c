#include "faults/failing_malloc.h"
#include "service/service.h"
#include "unit/service/remote_database.h"

#define CREATE                                                                                     \
    "CREATE VIRTUAL TABLE Employee USING pt_service(Name String, Age Int32, Id Guid, Data "        \
    "Binary, \"a b\", "                                                                            \
    "account=hr"
#define AZURE "Server: Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0\r\n"
#define AZURITE "Server: Azurite-Table/3.35.0\r\n"
#define COSMOS "Server: Microsoft-HTTPAPI/2.0\r\n"

static const char *server_header = "";

static char *answer_with_header(const char *request, int number)
{
    (void)number;
    if (strstr(request, "refused") != NULL) {
        return canned_reply(400, "x-ms-error-code: InvalidInput\r\n", "");
    }
    return PAGE(server_header, "p", "1", "p", "2", "q", "1");
}

/* Age is 0, 2 and 4. */
#define READ "SELECT count(*) FROM Employee WHERE Age > 1"
#define AS_AZURE                                                                                   \
    "$filter=%28Age%20ne%201%20and%20not%20%28Age%20le%201%29%20or%20Age%20lt%20-2147483648%29&"
#define FOR_ALL "$filter=%28Age%20gt%201%20or%20Age%20ge%20%27x%27%20or%20Age%20lt%20%27x%27%29&"

static void forget_requests(void)
{
    pthread_mutex_lock(&canned.lock);
    canned.logged = 0;
    canned.log[0] = 0;
    pthread_mutex_unlock(&canned.lock);
    canned_take_requests();
}

/* Reads again, and expects this filter ("GET": any) in the request. */
static void expect_sent(const char *sql, const char *sent)
{
    forget_requests();
    expect_sql(sql, "2\n");
    assert_true(was_sent(sent));
}

static void the_first_reply_tells_the_dialect(void **state)
{
    (void)state;
    server_header = AZURE;
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    expect_sent(READ, FOR_ALL);
    expect_sent(READ, AS_AZURE);
    server_header = AZURITE; /* later replies do not count */
    expect_sent(READ, AS_AZURE);
    expect_sent(READ, AS_AZURE);
    register_account("AccountKey=" REMOTE_KEY);
    expect_sent(READ, FOR_ALL);
    server_header = AZURE;
    expect_sent(READ, FOR_ALL);
    server_header = COSMOS;
    register_account("AccountKey=" REMOTE_KEY);
    expect_sent(READ, FOR_ALL);
    expect_sent(READ, "Employee()?$select=");
    server_header = "";
    register_account("AccountKey=" REMOTE_KEY);
    expect_sent(READ, FOR_ALL);
    expect_sent(READ, FOR_ALL);
    close_remote();
}

/* Where the name of the host tells the dialect, only a header that is known says otherwise. */
static void another_header_leaves_the_dialect(void **state)
{
    (void)state;
    pt_account account = {0};
    pt_error error = PT_ERROR_NONE;
    open_remote(answer_with_header);
    pt_service *service = pt_service_new(db);
    assert_int_equal(
        pt_account_parse(pt_slice_text("AccountName=hr;AccountKey=" REMOTE_KEY), &account, &error),
        SQLITE_OK);
    assert_int_equal(pt_service_name_account(service, "hr", &account, &error), SQLITE_OK);
    pt_service_note_server(service, "hr", pt_slice_text("proxy/1.0"));
    assert_int_equal(pt_service_dialect(service, "hr"), PT_DIALECT_AZURE);
    pt_service_release(service);
    close_remote();
}

static void options_choose_what_is_sent(void **state)
{
    (void)state;
    server_header = AZURITE;
    open_remote(answer_with_header);
    expect_sql(CREATE ", dialect=azure)", "");
    expect_sent(READ, AS_AZURE);
    expect_sent(READ, AS_AZURE);
    expect_sql("DROP TABLE Employee", "");
    expect_sql(CREATE ", types=declared)", "");
    expect_sent(READ, "$filter=%28Age%20gt%201%29&");
    expect_sql("DROP TABLE Employee", "");
    expect_sql(CREATE ", push=keys)", "");
    expect_sent(READ, "Employee()?$select=");
    expect_sql("DROP TABLE Employee", "");
    expect_sql(CREATE ", types=any, push=all)", "");
    expect_sent(READ, FOR_ALL);
    close_remote();
}

static void some_conditions_need_no_request(void **state)
{
    (void)state;
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT count(*) FROM Employee WHERE Age = NULL", "0\n");
    expect_sql("SELECT count(*) FROM Employee WHERE PartitionKey = 'p' AND Age IN (NULL)", "0\n");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static void some_conditions_are_not_sent(void **state)
{
    (void)state;
    static const char *const conditions[] = {
        "Age <> 7",
        "Age + 0 >= 0",
        "Name = 'X' COLLATE NOCASE OR Age >= 0",
        "\"a b\" IS NULL",
        "Id > '' OR 1",
        "Id IS NULL AND Id >= 5 OR Age < 9",
        "Data >= 5 OR Age < 9",
        "Age < 1e300",
        "ETag >= ''",
    };
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        char *sql = sqlite3_mprintf("SELECT count(*) FROM Employee WHERE %s", conditions[i]);
        forget_requests();
        expect_sql(sql, "3\n");
        assert_false(was_sent("$filter"));
        sqlite3_free(sql);
    }
    expect_sql("SELECT count(*) FROM Employee WHERE Id < 'x'", "0\n");
    assert_false(was_sent("$filter"));
    close_remote();
}

static void terms_of_outer_joins_keep_rows(void **state)
{
    (void)state;
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE TABLE Wanted(years INTEGER)", "");
    expect_sql("INSERT INTO Wanted VALUES (2), (7)", "");
    expect_sql("SELECT years, RowKey FROM Wanted LEFT JOIN Employee ON Age = years AND Age > 1 AND "
               "PartitionKey >= 'a' AND Employee.Age = Wanted.years",
               "2 2\n7 NULL\n");
    forget_requests();
    expect_sql("SELECT Employee.Age, years FROM Employee LEFT JOIN Wanted ON Employee.Age IS "
               "NOT NULL AND Employee.Age > 3 AND years = 7",
               "0 NULL\n2 NULL\n4 7\n");
    assert_false(was_sent("$filter"));
    close_remote();
}

/* Before SQLite 3.51.1 an IS NOT NULL may come from the ON of a LEFT JOIN, whose rows must stay. */
static void presence_is_sent_if_sqlite_tells_where_it_stands(void **state)
{
    (void)state;
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT count(*) FROM Employee WHERE Age IS NOT NULL", "3\n");
    assert_int_equal(was_sent("$filter=%28Age%20eq%20%27x%27%20or%20Age%20ne%20%27x%27%29&"),
                     sqlite3_libversion_number() >= 3051001);
    expect_sql("SELECT count(*) FROM Employee WHERE Age IS NULL", "0\n");
    assert_true(was_sent("$filter=not%20%28Age%20eq%20%27x%27%20or%20Age%20ne%20%27x%27%29&"));
    close_remote();
}

/* The token of a page may be so long that a URL has no place for conditions. */
static char *answer_with_long_token(const char *request, int number)
{
    (void)number;
    if (strstr(request, "NextPartitionKey") != NULL) {
        return PAGE("", "q", "1");
    }
    char *headers = sqlite3_mprintf("x-ms-continuation-NextPartitionKey: %.4000c\r\n"
                                    "x-ms-continuation-NextRowKey: %.4000c\r\n",
                                    'x', 'x');
    char *reply = PAGE(headers, "p", "1", "p", "2");
    sqlite3_free(headers);
    return reply;
}

static void long_urls_leave_conditions_out(void **state)
{
    (void)state;
    open_remote(answer_with_long_token);
    expect_sql(CREATE ", dialect=azure)", "");
    expect_sql("SELECT count(*) FROM Employee WHERE Age > -1", "3\n");
    assert_true(was_sent("Employee()?$filter=%28Age%20ne"));
    assert_true(was_sent("Employee()?NextPartitionKey=xxx"));
    close_remote();
}

#define LONG(c)                                                                                    \
    "printf('%.390c', '" c "'), printf('%.391c', '" c "'), printf('%.392c', '" c                   \
    "'), printf('%.393c', '" c "')"

/* A condition is left out if its text is too long for a URL. */
static void characters_that_urls_keep_take_a_byte_each(void **state)
{
    (void)state;
    open_remote(answer_with_header);
    expect_sql(CREATE ", dialect=azure)", "");
    expect_sql("SELECT count(*) FROM Employee WHERE Name IN (" LONG("+") ")", "0\n");
    assert_false(was_sent("$filter"));
    expect_sql("SELECT count(*) FROM Employee WHERE Name IN (" LONG("~") ")", "0\n");
    assert_true(was_sent("$filter=%28Name%20eq%20%27~~~"));
    close_remote();
}

static void many_values_or_none_are_compared(void **state)
{
    (void)state;
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    expect_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
               "SELECT count(*) FROM Employee WHERE Age IN n",
               "2\n");
    canned_take_requests();
    expect_sql("SELECT count(*) FROM Employee WHERE Age = NULL AND Name = NULL", "0\n");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static void a_refused_condition_is_an_error(void **state)
{
    (void)state;
    open_remote(answer_with_header);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT count(*) FROM Employee WHERE Name = 'refused'",
               "1: ptable: Employee: account 'hr', table 'Employee': the service refuses the "
               "request; check the endpoint and the name of the table, or create it with "
               "push=keys, so that no conditions on properties are sent (InvalidInput)");
    expect_sql("SELECT count(*) FROM Employee WHERE PartitionKey = 'refused'",
               "1: ptable: Employee: account 'hr', table 'Employee': the service refuses the "
               "request; check the endpoint and the name of the table (InvalidInput)");
    close_remote();
}

static void conditions_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT count(*) FROM Employee WHERE Name > 'a' AND Age IN (1, 2, 3) AND Id = "
        "'0f8fad5b-d9cb-469f-a165-70867728950e'",
        "SELECT count(*) FROM Employee WHERE Filter MATCH 'Age gt 3' AND PartitionKey = 'p' AND "
        "Name < 'a\xF0\x9F\x98\x80' AND \"a b\" = x'00' AND Timestamp > '2020'",
        "SELECT count(*) FROM Employee WHERE Name IN ('a', 'b', 'c')",
        "SELECT count(*) FROM Employee WHERE Name < '\xED\x9F\xBF\xF0\x9F\x98\x80'",
    };
    server_header = AZURE;
    open_remote(answer_with_header);
    expect_sql(CREATE ", dialect=azure)", "");
    for (int i = 0; i < 4; i++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            sqlite3_stmt *statement = NULL;
            failing_malloc_arm(n, false);
            int rc = sqlite3_prepare_v2(db, statements[i], -1, &statement, NULL);
            rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
            hit = failing_malloc_disarm();
            assert_true(rc == SQLITE_ROW || (hit && rc == SQLITE_NOMEM));
            sqlite3_finalize(statement);
        }
    }
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_reply_tells_the_dialect),
        cmocka_unit_test(another_header_leaves_the_dialect),
        cmocka_unit_test(options_choose_what_is_sent),
        cmocka_unit_test(some_conditions_need_no_request),
        cmocka_unit_test(some_conditions_are_not_sent),
        cmocka_unit_test(terms_of_outer_joins_keep_rows),
        cmocka_unit_test(presence_is_sent_if_sqlite_tells_where_it_stands),
        cmocka_unit_test(long_urls_leave_conditions_out),
        cmocka_unit_test(characters_that_urls_keep_take_a_byte_each),
        cmocka_unit_test(many_values_or_none_are_compared),
        cmocka_unit_test(a_refused_condition_is_an_error),
        cmocka_unit_test(conditions_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
