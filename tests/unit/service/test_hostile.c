/*
 * Servers that are no Table service, or a bad one: each statement gives all rows or an error.
 */
#include "unit/service/remote_database.h"

#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Age Int32, account=hr, retries=0)"
#define PARTITION "SELECT RowKey, Age FROM Employee WHERE PartitionKey = 'p'"
#define POINT "SELECT Age FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'"
#define TABLES "SELECT TableName FROM pt_service_tables"

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Replies that are cut --- */

#define PAGE_BODY                                                                                  \
    "{\"odata.metadata\":\"m\",\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Age\":7},"    \
    "{\"PartitionKey\":\"p\",\"RowKey\":\"2\",\"Age@odata.type\":\"Edm.Int32\",\"Age\":8}]}"
#define POINT_BODY "{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Age\":7}"
#define TABLES_BODY "{\"value\":[{\"TableName\":\"A\"},{\"TableName\":\"B\"}]}"

static char *cut_reply;

static char *answer_with_cut_reply(const char *request, int number)
{
    (void)request;
    (void)number;
    return canned_last_reply(cut_reply);
}

static char *frame_by_end(const char *body)
{
    return canned_format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n%s", body);
}

static char *frame_by_length(const char *body)
{
    return canned_reply(200, "Content-Type: application/json\r\n", body);
}

static char *frame_by_chunks(const char *body)
{
    return canned_format("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "9\r\n%.9s\r\n%zx\r\n%s\r\n0\r\nX-Trailer: x\r\n\r\n",
                         body, strlen(body) - 9, body + 9);
}

/* The rows of a statement as expect_sql writes them, or NULL after an error. */
static char *rows_or_error(const char *sql)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            sqlite3_str_appendf(text, "%s ", sqlite3_column_text(statement, i));
        }
    }
    int rc = sqlite3_finalize(statement);
    char *rows = sqlite3_str_finish(text);
    if (rc == SQLITE_OK) {
        return rows;
    }
    assert_int_equal(rc, SQLITE_IOERR);
    assert_string_not_equal(sqlite3_errmsg(db), sqlite3_errstr(rc));
    sqlite3_free(rows);
    return NULL;
}

/* The first reply that gives the rows must have all of the body. */
static void cut_everywhere(const char *sql, const char *body, const char *expected,
                           char *(*frame)(const char *body))
{
    char *whole = frame(body);
    size_t header = (size_t)(strstr(whole, "\r\n\r\n") - whole) + 4;
    size_t size = strlen(whole);
    bool answered = false;
    cut_reply = calloc(1, size + 1);
    for (size_t i = 0; i <= size; i++) {
        memcpy(cut_reply, whole, i);
        char *rows = rows_or_error(sql);
        answered = rows != NULL;
        if (answered) {
            assert_string_equal(rows, expected);
            assert_true(i >= header + strlen(body));
        }
        sqlite3_free(rows);
    }
    assert_true(answered);
    free(cut_reply);
    free(whole);
}

static void a_reply_cut_anywhere_gives_no_fewer_rows(void **state)
{
    (void)state;
    static char *(*const frames[])(const char *) = {frame_by_end, frame_by_length, frame_by_chunks};
    open_remote(answer_with_cut_reply);
    expect_sql(CREATE, "");
    for (size_t i = 0; i < COUNT(frames); i++) {
        cut_everywhere(PARTITION, PAGE_BODY, "1 7 2 8 ", frames[i]);
        cut_everywhere(POINT, POINT_BODY, "7 ", frames[i]);
    }
    close_remote();
}

/* --- Replies that are strange --- */

static const struct {
    const char *reply;
    int rc; /* SQLITE_OK: the reply gives the row 7 */
    const char *message;
} strange[] = {
#define OK_WITH(headers) "HTTP/1.1 200 OK\r\n" headers "\r\n"
#define FOREIGN "the reply is not that of a Table service: status "
    {OK_WITH("Content-Type: text/html\r\n") POINT_BODY, SQLITE_OK, NULL},
    {OK_WITH("Content-Type: text/html\r\n") "<html></html>", SQLITE_IOERR, FOREIGN "200"},
    {OK_WITH("Content-Encoding: gzip\r\n") "\x1F\x8B\x08\x01\x02", SQLITE_IOERR, FOREIGN "200"},
    {OK_WITH("x-ms-version: 1\r\n") "\x1F\x8B\x08\x01\x02", SQLITE_IOERR, "not UTF-8"},
    {OK_WITH("x-ms-version: 1\r\nx-ms-request-id: 5a-1\r\n") "<html>", SQLITE_IOERR,
     "malformed JSON; check that the endpoint is a Table service; request 5a-1"},
    {OK_WITH("Transfer-Encoding: gzip, chunked\r\n") "5\r\n\x1F\x8B\x08\x01\x02\r\n0\r\n\r\n",
     SQLITE_IOERR, ""},
    {OK_WITH("Content-Length: -1\r\n") POINT_BODY, SQLITE_IOERR, ""},
    {OK_WITH("Content-Length: 30000000\r\n") POINT_BODY, SQLITE_IOERR, "no reply"},
    {OK_WITH("Content-Length: 0\r\n"), SQLITE_IOERR, FOREIGN "200"},
    {OK_WITH("Transfer-Encoding: chunked\r\n") "-1\r\nx\r\n", SQLITE_IOERR, ""},
    {OK_WITH("Transfer-Encoding: chunked\r\n") "fffffffffffffffff\r\nx\r\n", SQLITE_IOERR, ""},
    {"HTTP/1.1 204 No Content\r\n\r\n", SQLITE_IOERR, FOREIGN "204"},
    {"hello", SQLITE_IOERR, "no reply"},
    {"HTTP/0.9 200 OK\r\n\r\n" POINT_BODY, SQLITE_IOERR, "no reply"},
    {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nx-ms-error-code: Bad\r\n\r\n"
     "HTTP/1.1 200 OK\r\n\r\n" POINT_BODY,
     SQLITE_OK, NULL},
    {"HTTP/1.1 100 Continue\r\n\r\n", SQLITE_IOERR, "no reply"},
    {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", SQLITE_IOERR, ""},
    {"HTTP/1.1 999 Odd\r\n\r\n", SQLITE_BUSY, "(999)"},
    {"HTTP/1.1 500 Error\r\n\r\n<html>sorry</html>", SQLITE_BUSY, FOREIGN "500"},
    {"HTTP/1.1 500 Error\r\nx-ms-version: 1\r\n\r\n<html>sorry</html>", SQLITE_BUSY,
     "the service has failed"},
    {"HTTP/1.1 502 Bad Gateway\r\n\r\n{", SQLITE_BUSY, FOREIGN "502"},
    {"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\r\n", SQLITE_IOERR, FOREIGN "401"},
    {"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer\r\nx-ms-request-id: 5a-2\r\n\r\n", SQLITE_AUTH,
     "given to pt_service_account; request 5a-2 (401)"},
    {"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n", SQLITE_IOERR,
     FOREIGN "407"},
    {"HTTP/1.1 404 Not Found\r\n\r\n<h1>Not found</h1>", SQLITE_IOERR, FOREIGN "404"},
    {"HTTP/1.1 300 Choices\r\nLocation: http://127.0.0.1:1/\r\n\r\n", SQLITE_ERROR,
     "redirection to http://127.0.0.1:1/,"},
    {"HTTP/1.1 308 Moved\r\nLocation: /elsewhere\r\n\r\n", SQLITE_ERROR,
     "redirection to /elsewhere,"},
    {"HTTP/1.1 304 Not Modified\r\n\r\n", SQLITE_IOERR, FOREIGN "304"},
    {"HTTP/1.1 304 Not Modified\r\nx-ms-version: 1\r\n\r\n", SQLITE_ERROR, "(304)"},
    {OK_WITH("") "[]", SQLITE_IOERR, FOREIGN "200"},
    {OK_WITH("") "null", SQLITE_IOERR, FOREIGN "200"},
    {OK_WITH("") "{}", SQLITE_IOERR, "no PartitionKey"},
    {OK_WITH("") "\xEF\xBB\xBF" POINT_BODY, SQLITE_IOERR, "malformed JSON"},
    {OK_WITH("") "{\"PartitionKey\":\"q\",\"RowKey\":\"1\",\"Age\":7}", SQLITE_DONE, NULL},
};

static char *answer_strangely(const char *request, int number)
{
    (void)request;
    return canned_last_reply(strange[number - 1].reply);
}

static void strange_replies_are_errors(void **state)
{
    (void)state;
    open_remote(answer_strangely);
    expect_sql(CREATE, "");
    for (size_t i = 0; i < COUNT(strange); i++) {
        sqlite3_stmt *statement = NULL;
        assert_int_equal(sqlite3_prepare_v2(db, POINT, -1, &statement, NULL), SQLITE_OK);
        int rc = sqlite3_step(statement);
        int expected = strange[i].rc == SQLITE_OK ? SQLITE_ROW : strange[i].rc;
        if (rc != expected) {
            fail_msg("%s: %d %s", strange[i].reply, rc, sqlite3_errmsg(db));
        }
        if (strange[i].message != NULL && strstr(sqlite3_errmsg(db), strange[i].message) == NULL) {
            fail_msg("%s: %s", strange[i].reply, sqlite3_errmsg(db));
        }
        if (rc == SQLITE_ROW) {
            assert_int_equal(sqlite3_column_int(statement, 0), 7);
        }
        sqlite3_finalize(statement);
    }
    assert_int_equal(canned_take_requests(), (int)COUNT(strange));
    assert_false(was_sent("elsewhere"));
    close_remote();
}

/* --- Replies without end --- */

static char *answer_without_end(const char *request, int number)
{
    enum { MUCH = 17 << 20 };
    if (strstr(request, "/Tables") != NULL) {
        return canned_format("HTTP/1.1 200 OK\r\nX: %090000d\r\n\r\n", number);
    }
    char *reply = malloc(MUCH + 100);
    int size = sprintf(reply, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n");
    memset(reply + size, ' ', MUCH);
    reply[size + MUCH] = 0;
    return reply;
}

static void replies_without_end_are_refused(void **state)
{
    (void)state;
    open_remote(answer_without_end);
    expect_sql(CREATE, "");
    static const char *const statements[] = {POINT, TABLES};
    for (size_t i = 0; i < COUNT(statements); i++) {
        sqlite3_exec(db, statements[i], NULL, NULL, NULL);
        if (strstr(sqlite3_errmsg(db), "longer than a page of the Table service") == NULL) {
            fail_msg("%s: %s", statements[i], sqlite3_errmsg(db));
        }
        assert_int_equal(sqlite3_errcode(db), SQLITE_TOOBIG);
    }
    close_remote();
}

static char *answer_with_empty_pages(const char *request, int number)
{
    (void)request;
    char *headers = canned_format("x-ms-continuation-NextPartitionKey: %d\r\n"
                                  "x-ms-continuation-NextTableName: %d\r\n",
                                  number, number);
    char *reply = canned_reply(200, headers, "{\"value\":[]}");
    free(headers);
    return reply;
}

static int64_t interrupt_time;

static int interrupt_later(void *context)
{
    (void)context;
    return milliseconds() > interrupt_time;
}

/* They may go on: but the statement can be ended. */
static void pages_without_end_can_be_interrupted(void **state)
{
    (void)state;
    static const char *const statements[] = {PARTITION, TABLES};
    open_remote(answer_with_empty_pages);
    expect_sql(CREATE, "");
    for (size_t i = 0; i < COUNT(statements); i++) {
        interrupt_time = milliseconds() + 100;
        sqlite3_progress_handler(db, 100, interrupt_later, NULL);
        assert_int_equal(sqlite3_exec(db, statements[i], NULL, NULL, NULL), SQLITE_INTERRUPT);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        assert_true(milliseconds() - interrupt_time < 2000);
    }
    close_remote();
}

static bool same_pages_are_empty;

/* The page that was asked for is the next one again. */
static char *answer_with_the_same_token(const char *request, int number)
{
    (void)number;
    bool tables = strstr(request, "Tables") != NULL;
    const char *headers = tables ? "x-ms-continuation-NextTableName: n\r\n" : TOKEN("t", "1");
    if (same_pages_are_empty) {
        return EMPTY_PAGE(headers);
    }
    return tables ? canned_reply(200, headers, TABLES_BODY) : PAGE(headers, "p", "1");
}

/* A service may need several requests to get further, so that empty pages are allowed for long. */
static void a_loop_of_pages_is_an_error(void **state)
{
    (void)state;
    static const char *const statements[] = {PARTITION, TABLES, PARTITION, TABLES};
    open_remote(answer_with_the_same_token);
    expect_sql(CREATE, "");
    for (size_t i = 0; i < COUNT(statements); i++) {
        same_pages_are_empty = i >= 2;
        sqlite3_exec(db, statements[i], NULL, NULL, NULL);
        if (strstr(sqlite3_errmsg(db), "names itself as the next page") == NULL) {
            fail_msg("%s: %s", statements[i], sqlite3_errmsg(db));
        }
        assert_int_equal(sqlite3_errcode(db), SQLITE_IOERR);
        int requests = canned_take_requests(); /* perhaps with one for the page after it */
        int least = same_pages_are_empty ? 101 : 2;
        assert_true(requests == least || requests == least + 1);
    }
    close_remote();
}

static void pages_without_end_are_limited(void **state)
{
    (void)state;
    open_remote(answer_with_empty_pages);
    expect_sql("CREATE VIRTUAL TABLE Few USING pt_service(account=hr, max_requests=20)", "");
    assert_int_equal(
        sqlite3_exec(db, "SELECT * FROM Few WHERE PartitionKey = 'p'", NULL, NULL, NULL),
        SQLITE_ERROR);
    assert_int_equal(canned_take_requests(), 20);
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_cut_anywhere_gives_no_fewer_rows),
        cmocka_unit_test(strange_replies_are_errors),
        cmocka_unit_test(replies_without_end_are_refused),
        cmocka_unit_test(pages_without_end_can_be_interrupted),
        cmocka_unit_test(a_loop_of_pages_is_an_error),
        cmocka_unit_test(pages_without_end_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
