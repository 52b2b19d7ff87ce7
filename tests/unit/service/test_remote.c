#include "unit/service/remote_database.h"

#include "ptable.h"

#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Name String, Age Int32, account=hr"

/* --- Which requests are sent --- */

static char *answer_by_path(const char *request, int number)
{
    (void)number;
    if (strstr(request, "RowKey='none')") != NULL) {
        return canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "");
    }
    if (strstr(request, "GET /hr/Gone") != NULL) {
        return canned_reply(404, "",
                            "{\"odata.error\":{\"code\":\"TableNotFound\",\"message\":{"
                            "\"lang\":\"en\",\"value\":\"No.\"}}}");
    }
    if (strstr(request, "GET /hr/Employee(PartitionKey='p',RowKey='") != NULL) {
        const char *row = strstr(request, "RowKey='") + 8;
        char *body = canned_format("{\"PartitionKey\":\"p\",\"RowKey\":\"%.*s\",\"Name\":\"x\"}",
                                   (int)strcspn(row, "'"), row);
        char *reply = canned_reply(200, "", body);
        free(body);
        return reply;
    }
    return PAGE(NO_MORE, "p", "1", "p", "2", "q", "1");
}

static void only_reading_sends_requests(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_plan("SELECT * FROM Employee WHERE PartitionKey = 'p' AND RowKey = "
                "'1'",
                "SCAN Employee VIRTUAL TABLE INDEX 129:point query: PartitionKey=? AND "
                "RowKey=?; 1 request");
    expect_plan("SELECT PartitionKey FROM Employee",
                "SCAN Employee VIRTUAL TABLE INDEX 33554432:table scan, keys only; about 1 "
                "request for 1000 entities");
    expect_sql("DROP TABLE Employee", "");
    expect_sql("SELECT * FROM pt_service_accounts WHERE Endpoint LIKE '%:1'", "");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static void a_key_is_asked_for_by_its_url(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey, Name, Age FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'",
               "1 x NULL\n");
    assert_true(was_sent("GET /hr/Employee(PartitionKey='p',RowKey='1')?$select="
                         "RowKey%2CName%2CAge HTTP/1.1\r\n"));
    assert_true(was_sent("Authorization: SharedKeyLite hr:"));
    assert_true(was_sent("x-ms-version: 2019-02-02\r\n"));
    expect_sql("SELECT * FROM Employee WHERE PartitionKey = 'p' AND RowKey = 'none'", "");
    expect_sql("SELECT Properties, ETag FROM Employee WHERE EntityKey = x'700032'",
               "{\"Name\":\"x\"} NULL\n");
    assert_true(was_sent("GET /hr/Employee(PartitionKey='p',RowKey='2') HTTP/1.1\r\n"));
    assert_int_equal(canned_take_requests(), 3);
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey IN ('3', 'none', "
               "'1', '3') ORDER BY RowKey",
               "1\n3\n");
    assert_int_equal(canned_take_requests(), 3);
    expect_sql("SELECT 1 FROM Employee WHERE PartitionKey = NULL", "");
    assert_int_equal(canned_take_requests(), 0);
    /* No URL can name this key. */
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey = 'a/b'", "");
    assert_true(was_sent("PartitionKey%20eq%20%27p%27%20and%20RowKey%20eq%20%27a%2Fb%27&"));
    close_remote();
}

static void ranges_become_filters(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey, Age, Timestamp FROM Employee WHERE PartitionKey = 'p' AND RowKey >= "
               "'1' AND RowKey < '3'",
               "1 0 2026-11-21T09:35:44.9238194Z\n2 2 2026-11-21T09:35:44.9238194Z\n");
    assert_true(was_sent("GET /hr/Employee()?$filter=PartitionKey%20eq%20%27p%27%20and%20RowKey%20"
                         "ge%20%271%27%20and%20RowKey%20lt%20%273%27&$select="
                         "RowKey%2CTimestamp%2CAge HTTP/1.1\r\n"));
    expect_sql("SELECT count(*) FROM Employee WHERE RowKey = '1'", "2\n");
    assert_true(
        was_sent("?$filter=%28%28RowKey%20eq%20%271%27%29%29&$select=PartitionKey%2CRowKey "));
    expect_sql("SELECT RowKey FROM Employee WHERE pt_starts_with(PartitionKey, 'q')", "1\n");
    assert_true(was_sent("?$filter=PartitionKey%20ge%20%27q%27%20and%20PartitionKey%20lt%20%27r"));
    expect_sql("SELECT hex(EntityKey), hex(EntityVersion), _rowid_, rowid FROM Employee WHERE "
               "PartitionKey > 'p'",
               "710031 71003100572F226522 q/1 q/1\n");
    expect_sql("SELECT RowKey FROM Employee WHERE _rowid_ = 'p/7' ORDER BY ETag", "7\n");
    assert_true(was_sent("GET /hr/Employee(PartitionKey='p',RowKey='7')?$select="));
    expect_sql("SELECT RowKey FROM Employee WHERE EntityKey <= x'700032' AND RowKey IN ('1', '9')",
               "1\n");
    canned_take_requests();
    expect_sql("SELECT RowKey FROM Employee WHERE EntityKey > x'700031' ORDER BY EntityKey",
               "2\n1\n");
    assert_int_equal(canned_take_requests(), 2);
    close_remote();
}

static void a_limit_asks_for_few_entities(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' ORDER BY RowKey LIMIT 1 "
               "OFFSET 1",
               "2\n");
    assert_true(was_sent("&$top=2&"));
    assert_int_equal(canned_take_requests(), 1);
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' ORDER BY RowKey DESC LIMIT 1",
               "2\n");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT -1", "1\n2\n");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT 0", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT 5000000000", "1\n2\n");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT 2000", "1\n2\n");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT 1 OFFSET 5000000000",
               "");
    assert_false(was_sent("$top"));
    close_remote();
}

/* Names that need quotes are not named in $select. */
static void unusual_names_ask_for_all_properties(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(\"first name\", _x1, \"2\", \"a{\", "
               "\"Z^\", "
               "account=hr)",
               "");
    expect_sql("SELECT _x1 FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'", "NULL\n");
    assert_true(was_sent("?$select=RowKey%2C_x1 "));
    expect_sql("SELECT \"first name\" FROM Employee WHERE PartitionKey = 'p' AND RowKey = '2'",
               "NULL\n");
    assert_true(was_sent("RowKey='2') HTTP"));
    expect_sql("SELECT \"2\" FROM Employee WHERE PartitionKey = 'p' AND RowKey = '3'", "NULL\n");
    assert_true(was_sent("RowKey='3') HTTP"));
    expect_sql("SELECT \"a{\" FROM Employee WHERE PartitionKey = 'p' AND RowKey = '6'", "NULL\n");
    assert_true(was_sent("RowKey='6') HTTP"));
    expect_sql("SELECT \"Z^\" FROM Employee WHERE PartitionKey = 'p' AND RowKey = '7'", "NULL\n");
    assert_true(was_sent("RowKey='7') HTTP"));
    close_remote();
}

/* A table of so many columns that not each has a bit of its own, or a list that would be too long.
 */
static void many_columns_ask_for_all_properties(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    sqlite3_str *columns = sqlite3_str_new(NULL);
    for (int i = 0; i < 70; i++) {
        sqlite3_str_appendf(columns, "%s\"%s%02d\"", i > 0 ? ", " : "",
                            "ColumnWithALongNameThatFills", i);
    }
    char *names = sqlite3_str_finish(columns);
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE Wide USING pt_service(%s, account=hr, "
                                "table=Employee)",
                                names);
    expect_sql(sql, "");
    sqlite3_free(sql);
    sql = sqlite3_mprintf("SELECT count(*) FROM (SELECT %s FROM Wide WHERE PartitionKey = 'p' AND "
                          "RowKey = '4')",
                          names);
    expect_sql(sql, "1\n");
    expect_sql(
        "SELECT ColumnWithALongNameThatFills69, Timestamp FROM Wide WHERE PartitionKey = 'p' "
        "AND RowKey = '5'",
        "NULL NULL\n");
    assert_true(was_sent("RowKey='5') HTTP"));
    sqlite3_free(sql);
    char *end = strstr(names, ", \"ColumnWithALongNameThatFills57\"");
    *end = 0;
    sql = sqlite3_mprintf("CREATE VIRTUAL TABLE Long USING pt_service(%s, account=hr, "
                          "table=Employee)",
                          names);
    expect_sql(sql, "");
    sqlite3_free(sql);
    sql = sqlite3_mprintf("SELECT count(*) FROM (SELECT %s FROM Long WHERE PartitionKey = 'p' AND "
                          "RowKey = '6' LIMIT 1 OFFSET 0)",
                          names);
    expect_sql(sql, "1\n");
    sqlite3_free(sql);
    sql =
        sqlite3_mprintf("SELECT %s FROM Long WHERE PartitionKey = 'p' AND RowKey = 'none'", names);
    expect_sql(sql, "");
    assert_true(was_sent("RowKey='none') HTTP"));
    sqlite3_free(sql);
    sqlite3_free(names);
    close_remote();
}

static void text_in_utf16_is_compared_by_sqlite(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql("PRAGMA encoding = 'UTF-16'", "");
    expect_sql("CREATE TABLE t(x)", "");
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey > '1' ORDER BY "
               "RowKey",
               "2\n");
    assert_true(was_sent("?$filter=PartitionKey%20eq%20%27p%27&$select"));
    close_remote();
}

/* --- Pages --- */

static char *answer_in_pages(const char *request, int number)
{
    switch (number) {
    case 1:
        assert_null(strstr(request, "Next"));
        return PAGE(TOKEN("t'1", "r 1"), "p", "1", "p", "2");
    case 2:
        assert_non_null(strstr(request, "&NextPartitionKey=t%271&NextRowKey=r%201 "));
        return EMPTY_PAGE("x-ms-continuation-NextPartitionKey:\r\n");
    case 3:
        assert_non_null(strstr(request, "&NextPartitionKey= "));
        return PAGE("x-ms-continuation-NextRowKey: 9\r\n", "p", "3");
    case 4:
        assert_null(strstr(request, "NextPartitionKey"));
        assert_non_null(strstr(request, "&NextRowKey=9 "));
        return EMPTY_PAGE(TOKEN("", ""));
    default:
        return PAGE(NO_MORE, "p", "4");
    }
}

static void pages_end_when_no_token_comes(void **state)
{
    (void)state;
    open_remote(answer_in_pages);
    expect_sql(CREATE ", streams=1)", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p'", "1\n2\n3\n4\n");
    assert_int_equal(canned_take_requests(), 5);
    expect_sql("SELECT json_extract(pt_service_requests(), '$.requests')", "5\n");
    close_remote();
}

#define EMOJI "\xF0\x9F\x98\x80"
#define PRIVATE "\xEE\x80\x80"

/* As the service orders them: U+1F600 is before U+E000. */
static char *answer_in_units(const char *request, int number)
{
    (void)request;
    switch (number) {
    case 1:
        return PAGE(TOKEN("t", "1"), "p", "a", "p", "b" EMOJI "1", "p", "b" EMOJI "2");
    case 2:
        return EMPTY_PAGE(TOKEN("t", "2"));
    case 3:
        return PAGE(TOKEN("t", "3"), "p", "b" PRIVATE, "p", "c" EMOJI, "p", EMOJI);
    default:
        return PAGE(NO_MORE, "p", PRIVATE, "q", EMOJI, "q" EMOJI, "1", "q" PRIVATE, "2", "qa" EMOJI,
                    "4", "qb", EMOJI "x", "qb", "z", "r", EMOJI);
    }
}

static void only_the_first_page_is_small(void **state)
{
    (void)state;
    open_remote(answer_in_pages);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT 3", "1\n2\n3\n");
    assert_true(was_sent("&$top=3&$select=RowKey HTTP"));
    assert_false(was_sent("RowKey&$top"));
    assert_true(was_sent("%27&$select=RowKey&NextPartitionKey="));
    assert_int_equal(canned_take_requests(), 3);
    close_remote();
}

static void keys_come_in_sqlites_order(void **state)
{
    (void)state;
    open_remote(answer_in_units);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT PartitionKey, RowKey FROM Employee ORDER BY PartitionKey, RowKey",
               "p a\np b" PRIVATE "\np b" EMOJI "1\np b" EMOJI "2\np c" EMOJI "\np " PRIVATE
               "\np " EMOJI "\nq " EMOJI "\nq" PRIVATE " 2\nq" EMOJI " 1\nqa" EMOJI " 4\nqb " EMOJI
               "x\nqb z\nr " EMOJI "\n");
    close_remote();
}

/* The service may answer more than the range, because its bounds were cut. */
static void entities_outside_the_range_are_left_out(void **state)
{
    (void)state;
    open_remote(answer_in_units);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey > 'b" PRIVATE
               "' AND RowKey <= '" PRIVATE "'",
               "b" EMOJI "1\nb" EMOJI "2\nc" EMOJI "\n" PRIVATE "\n");
    assert_true(was_sent("RowKey%20ge%20%27b%27&"));
    close_remote();
}

/* --- Guards --- */

/* A refusal that has nothing to do with the key. */
static char *answer_without_code(const char *request, int number)
{
    (void)request;
    return canned_reply(number == 1 ? 404 : 400, "", "");
}

static char *answer_never(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_CLOSE;
}

static void a_lost_reply_is_an_error(void **state)
{
    (void)state;
    open_remote(answer_never);
    expect_sql("CREATE VIRTUAL TABLE Quick USING pt_service(account=hr, retries=0)", "");
    assert_int_equal(sqlite3_exec(db,
                                  "SELECT * FROM Quick WHERE PartitionKey = 'p' AND RowKey = '1'",
                                  NULL, NULL, NULL),
                     SQLITE_IOERR);
    assert_non_null(strstr(sqlite3_errmsg(db), "run the statement again"));
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

static void other_refusals_are_errors(void **state)
{
    (void)state;
    open_remote(answer_without_code);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT * FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'",
               "1: ptable: Employee: account 'hr', table 'Employee': there is no such resource; "
               "check the endpoint of the account: SELECT * FROM pt_service_accounts (404)");
    expect_sql("SELECT * FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'",
               "1: ptable: Employee: account 'hr', table 'Employee': the service refuses the "
               "request; check the endpoint and the name of the table (400)");
    close_remote();
}

/* A function of the table's rows is no condition. */
static void other_functions_are_sqlites(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE instr(PartitionKey, 'q')", "1\n");
    expect_sql("SELECT RowKey FROM Employee WHERE upper(PartitionKey) = 'Q'", "1\n");
    close_remote();
}

static char *answer_without_end(const char *request, int number)
{
    (void)request;
    return number % 2 != 0 ? PAGE(TOKEN("t", "r"), "p", "1") : PAGE(TOKEN("t", "s"), "p", "1");
}

static void requests_are_bounded(void **state)
{
    (void)state;
    open_remote(answer_without_end);
    expect_sql(CREATE ", max_requests=3)", "");
    expect_sql("SELECT count(*) FROM Employee",
               "1: ptable: Employee: the statement needs more than 3 requests, which max_requests "
               "forbids; add a condition on PartitionKey or RowKey, or a LIMIT, or create the "
               "table with a larger max_requests (0: any number)");
    assert_int_equal(canned_take_requests(), 3);
    expect_sql("CREATE VIRTUAL TABLE Narrow USING pt_service(account=hr, scan=deny)", "");
    expect_sql("SELECT count(*) FROM Narrow WHERE RowKey = 'x'",
               "1: ptable: Narrow: the statement would scan the whole table, which scan=deny "
               "forbids; add a condition on PartitionKey (=, IN, a range or pt_starts_with)");
    assert_int_equal(canned_take_requests(), 0);
    expect_sql("CREATE VIRTUAL TABLE Wide USING pt_service(account=hr, streams=1)", "");
    expect_sql(
        "SELECT count(*) FROM Wide WHERE RowKey = '2'",
        "1: ptable: Wide: the statement needs more than 1000 requests, which max_requests "
        "forbids by default; add a condition on PartitionKey or RowKey, or a LIMIT, or create the "
        "table with a larger max_requests (0: any number)");
    assert_int_equal(canned_take_requests(), 1000);
    close_remote();
}

static void an_account_must_be_named_first(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(account=elsewhere)", "");
    expect_sql("SELECT * FROM Employee",
               "1: ptable: Employee: this connection has no account 'elsewhere'; name it first: "
               "SELECT pt_service_account('elsewhere', <connection string>)");
    expect_sql("DROP TABLE Employee", "");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static void views_and_triggers_cannot_send_requests(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE VIEW v AS SELECT * FROM Employee", "");
    expect_sql("SELECT * FROM v", "1: unsafe use of virtual table \"Employee\"");
    expect_sql("CREATE VIEW w AS SELECT pt_service_account('x')", "");
    expect_sql("SELECT * FROM w", "1: unsafe use of pt_service_account()");
    expect_sql("CREATE TABLE watched(x)", "");
    expect_sql("CREATE TRIGGER writes AFTER INSERT ON watched BEGIN "
               "INSERT INTO Employee(PartitionKey, RowKey) VALUES ('a', 'b'); END",
               "");
    expect_sql("INSERT INTO watched VALUES (1)", "1: unsafe use of virtual table \"Employee\"");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

/* --- Failures --- */

static char *answer_busily(const char *request, int number)
{
    return number % 3 != 0 ? canned_reply(503, "Retry-After: 0\r\n", "")
                           : answer_by_path(request, number);
}

static void a_busy_service_is_asked_again(void **state)
{
    (void)state;
    open_remote(answer_busily);
    expect_sql(CREATE ", retries=2)", "");
    expect_sql("SELECT count(*) FROM Employee", "3\n");
    assert_int_equal(canned_take_requests(), 3);
    expect_sql("SELECT json_extract(pt_service_requests(), '$.retries')", "2\n");
    expect_sql("CREATE VIRTUAL TABLE Impatient USING pt_service(account=hr, retries=1)", "");
    expect_sql("SELECT count(*) FROM Impatient",
               "5: ptable: Impatient: account 'hr', table 'Impatient': the service is busy; try "
               "again later, or raise the option retries (503)");
    close_remote();
}

static char *answer_always_busily(const char *request, int number)
{
    (void)request;
    static const char *const headers[] = {"", "Retry-After: soon\r\n", "Retry-After: -1\r\n",
                                          "Retry-After: 60\r\n"};
    return canned_reply(500, headers[number % 4], "");
}

static int stop_at_once(void *context)
{
    (void)context;
    return 1;
}

/* Without a time that the service names, the pause is at least half a second. */
static void waiting_for_a_busy_service_can_be_interrupted(void **state)
{
    (void)state;
    open_remote(answer_always_busily);
    expect_sql(CREATE ")", "");
    for (int i = 0; i < 8; i++) {
        sqlite3_stmt *statement;
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM Employee", -1, &statement, NULL),
                         SQLITE_OK);
        sqlite3_progress_handler(db, 1000, stop_at_once, NULL);
        assert_int_equal(sqlite3_step(statement), SQLITE_INTERRUPT);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        sqlite3_finalize(statement);
    }
    close_remote();
}

static char *ask_for_long_pause(const char *request, int number)
{
    (void)request;
    (void)number;
    return canned_reply(503, "Retry-After: 3600\r\nx-ms-request-id: 5a-0b\r\n", "");
}

static void a_long_pause_is_told_at_once(void **state)
{
    (void)state;
    open_remote(ask_for_long_pause);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT * FROM Employee",
               "5: ptable: Employee: account 'hr', table 'Employee': the service is busy; it asks "
               "for a pause of 3600 seconds, so try again after that; request 5a-0b (503)");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')",
               "5: ptable: Employee: account 'hr', table 'Employee': the service is busy; it asks "
               "for a pause of 3600 seconds, so try again after that; request 5a-0b (503)");
    assert_int_equal(canned_take_requests(), 2);
    close_remote();
}

static char *refuse_to_connect(const char *request, int number)
{
    (void)number;
    assert_non_null(strstr(request, "CONNECT service.example:443 HTTP/1.1\r\n"));
    return canned_format("HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\n<html><cut>");
}

/* Nothing was sent to the service, so that a change was not made. */
static void a_proxy_that_refuses_is_told(void **state)
{
    (void)state;
    open_remote(refuse_to_connect);
    char *proxy = canned_format("http://user:secret@127.0.0.1:%d", canned.port);
    char *told =
        canned_format("10: ptable: Far: account 'far': no connection to "
                      "https://service.example/hr: the proxy 127.0.0.1:%d refuses it with status "
                      "403; check https_proxy in the environment, its user and password, or name "
                      "the host in no_proxy",
                      canned.port);
    setenv("https_proxy", proxy, 1);
    unsetenv("no_proxy");
    expect_sql("SELECT pt_service_account('far', 'AccountName=hr;BearerToken=t;TableEndpoint="
               "https://service.example/hr')",
               "https://service.example/hr\n");
    expect_sql("CREATE VIRTUAL TABLE Far USING pt_service(account=far)", "");
    expect_sql("SELECT * FROM Far", told);
    expect_sql("INSERT INTO Far(PartitionKey, RowKey) VALUES ('p', '1')", told);
    assert_int_equal(canned_take_requests(), 2);
    unsetenv("https_proxy");
    free(proxy);
    free(told);
    close_remote();
}

static char *lose_or_refuse(const char *request, int number)
{
    (void)number;
    return strstr(request, "RowKey='lost'") != NULL ? CANNED_CLOSE
           : strstr(request, "\"there\"") != NULL
               ? canned_reply(
                     409, "x-ms-error-code: EntityAlreadyExists\r\nx-ms-request-id: 5a-1\r\n", "")
               : canned_reply(200, "x-ms-request-id: 5a-2\r\n", "{\"value\":[");
}

/* With the number the service's logs find the request: its own, or else ours. */
static void errors_name_the_request(void **state)
{
    (void)state;
    static const char header[] = "\r\nx-ms-client-request-id: ";
    open_remote(lose_or_refuse);
    expect_sql(CREATE ", retries=0)", "");
    expect_sql("SELECT * FROM Employee WHERE PartitionKey = 'p'",
               "10: ptable: Employee: the service's reply cannot be read: malformed JSON; check "
               "that the endpoint is a Table service; request 5a-2");
    expect_sql("SELECT * FROM pt_service_tables",
               "10: ptable: pt_service_tables: the service's reply cannot be read: malformed JSON; "
               "check that the endpoint is a Table service; request 5a-2");
    expect_sql(
        "INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', 'there')",
        "1555: ptable: Employee: an entity with PartitionKey 'p', RowKey 'there' exists; give "
        "other keys, or change that entity with UPDATE; INSERT OR REPLACE would overwrite it; "
        "request 5a-1 (EntityAlreadyExists)");
    canned_take_requests();
    assert_int_equal(sqlite3_exec(db,
                                  "SELECT * FROM Employee WHERE PartitionKey = 'p' AND RowKey = "
                                  "'lost'",
                                  NULL, NULL, NULL),
                     SQLITE_IOERR);
    const char *told = strstr(sqlite3_errmsg(db), "; client request ");
    assert_non_null(told);
    char *sent = canned_format("%s%s\r\n", header, told + strlen("; client request "));
    assert_true(was_sent(sent));
    free(sent);
    close_remote();
}

static void a_missing_table_is_named(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql("CREATE VIRTUAL TABLE E USING pt_service(account=hr, table=Gone)", "");
    static const char missing[] =
        "1: ptable: E: account 'hr', table 'Gone': there is no such table; INSERT INTO "
        "pt_service_tables(Account, TableName) creates one, and SELECT * FROM pt_service_tables "
        "lists them (upper and lower case may matter) (TableNotFound)";
    expect_sql("SELECT * FROM E", missing);
    expect_sql("SELECT * FROM E WHERE PartitionKey = 'p' AND RowKey = '1'", missing);
    close_remote();
}

static char *answer_nonsense(const char *request, int number)
{
    (void)request;
    (void)number;
    return canned_reply(200, "", "<html>Welcome</html>");
}

static void other_servers_are_recognised(void **state)
{
    (void)state;
    open_remote(answer_nonsense);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT * FROM Employee",
               "10: ptable: Employee: the service's reply cannot be read: malformed JSON; check "
               "that the endpoint is a Table service");
    close_remote();
}

static void secrets_are_in_requests_only(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    register_account("SharedAccessSignature=sv=1&sig=secret");
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey = '7'", "7\n");
    assert_true(was_sent("$select=RowKey&sv=1&sig=secret HTTP/1.1\r\n"));
    assert_false(was_sent("Authorization"));
    register_account("BearerToken=ey.secret");
    expect_sql("SELECT count(*) FROM Employee", "3\n");
    assert_true(was_sent("Authorization: Bearer ey.secret\r\n"));
    expect_sql("SELECT Account, Credential FROM pt_service_accounts", "hr token\n");
    sqlite3_close(db);
    canned_end();
}

static char *never_answer(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_SILENCE;
}

static int stop(void *context)
{
    (void)context;
    return 1;
}

static void reading_can_be_interrupted(void **state)
{
    (void)state;
    open_remote(never_answer);
    expect_sql(CREATE ")", "");
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM Employee", -1, &statement, NULL),
                     SQLITE_OK);
    sqlite3_progress_handler(db, 1000, stop, NULL);
    assert_int_equal(sqlite3_step(statement), SQLITE_INTERRUPT);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_finalize(statement);
    expect_sql("CREATE VIRTUAL TABLE Quick USING pt_service(account=hr, timeout=1, retries=0)", "");
    char *lost =
        canned_format("10: ptable: Quick: account 'hr': no reply from http://127.0.0.1:%d/hr: "
                      "Operation timed out after 1",
                      canned.port);
    assert_int_equal(sqlite3_exec(db, "SELECT RowKey FROM Quick", NULL, NULL, NULL), SQLITE_IOERR);
    assert_memory_equal(sqlite3_errmsg(db), lost + 4, strlen(lost) - 4);
    free(lost);
    close_remote();
}

/* --- Both libraries --- */

static void both_libraries_can_be_loaded_in_either_order(void **state)
{
    (void)state;
    canned_start(answer_by_path);
    for (int first = 0; first < 2; first++) {
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        for (int i = 0; i < 4; i++) {
            int rc = (i + first) % 2 == 0 ? sqlite3_ptable_init(db, NULL, NULL)
                                          : sqlite3_ptableservice_init(db, NULL, NULL);
            assert_int_equal(rc, SQLITE_OK);
        }
        register_account("AccountKey=" REMOTE_KEY);
        expect_sql(CREATE ")", "");
        expect_sql("CREATE VIRTUAL TABLE Local USING ptable(Name String, Age Int32)", "");
        expect_sql("INSERT INTO Local(PartitionKey, RowKey, Properties) SELECT PartitionKey, "
                   "RowKey, Properties FROM Employee",
                   "");
        expect_sql("SELECT PartitionKey, RowKey, Name, Age FROM Local",
                   "p 1 n-1 0\np 2 n-2 2\nq 1 n-1 4\n");
        expect_sql("SELECT pt_debug() LIKE 'ptable: %', pt_pad(1, 2)", "1 01\n");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    canned_end();
}

/* A join asks for the entities of each local row, not for the whole table. */
static void joins_ask_for_keys(void **state)
{
    (void)state;
    open_remote(answer_by_path);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE TABLE ids(p, r)", "");
    expect_sql("INSERT INTO ids VALUES ('p', '5'), ('p', '6')", "");
    canned_take_requests();
    expect_sql(
        "SELECT e.RowKey, Name FROM ids JOIN Employee e ON e.PartitionKey = p AND e.RowKey = "
        "r ORDER BY 1",
        "5 x\n6 x\n");
    assert_int_equal(canned_take_requests(), 2);
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_reading_sends_requests),
        cmocka_unit_test(a_key_is_asked_for_by_its_url),
        cmocka_unit_test(ranges_become_filters),
        cmocka_unit_test(a_limit_asks_for_few_entities),
        cmocka_unit_test(unusual_names_ask_for_all_properties),
        cmocka_unit_test(many_columns_ask_for_all_properties),
        cmocka_unit_test(text_in_utf16_is_compared_by_sqlite),
        cmocka_unit_test(pages_end_when_no_token_comes),
        cmocka_unit_test(only_the_first_page_is_small),
        cmocka_unit_test(keys_come_in_sqlites_order),
        cmocka_unit_test(entities_outside_the_range_are_left_out),
        cmocka_unit_test(a_lost_reply_is_an_error),
        cmocka_unit_test(other_refusals_are_errors),
        cmocka_unit_test(other_functions_are_sqlites),
        cmocka_unit_test(requests_are_bounded),
        cmocka_unit_test(an_account_must_be_named_first),
        cmocka_unit_test(views_and_triggers_cannot_send_requests),
        cmocka_unit_test(a_busy_service_is_asked_again),
        cmocka_unit_test(waiting_for_a_busy_service_can_be_interrupted),
        cmocka_unit_test(a_long_pause_is_told_at_once),
        cmocka_unit_test(a_proxy_that_refuses_is_told),
        cmocka_unit_test(errors_name_the_request),
        cmocka_unit_test(a_missing_table_is_named),
        cmocka_unit_test(other_servers_are_recognised),
        cmocka_unit_test(secrets_are_in_requests_only),
        cmocka_unit_test(reading_can_be_interrupted),
        cmocka_unit_test(both_libraries_can_be_loaded_in_either_order),
        cmocka_unit_test(joins_ask_for_keys),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
