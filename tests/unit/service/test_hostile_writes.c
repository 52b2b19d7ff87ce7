/*
 * Writes to servers that are no Table service, or a bad one, and other writers at the same time:
 * the application is never told that something is there which is not.
 */
#include "unit/service/remote_database.h"

#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define CREATE                                                                                     \
    "CREATE VIRTUAL TABLE Employee USING pt_service(Age Int32, account=hr, retries=0, timeout=5)"
#define DOUBT "the change may have been applied: look before you repeat it"

enum { OPERATIONS = 3 };

static const char *batch_reply; /* to POST /$batch: a whole reply, or one that is cut */
static bool is_there;           /* GET finds the entities as they were sent */
static int missing_row;         /* but not this one */

/* --- The server --- */

static void format_time(char *text, size_t size, const char *format)
{
    struct tm parts;
    const time_t soon = time(NULL) + 60;
    strftime(text, size, format, gmtime_r(&soon, &parts));
}

/* An entity as it was sent, written a moment ago. */
static char *sent_entity(int row)
{
    char written[40];
    format_time(written, sizeof written, "%Y-%m-%dT%H:%M:%S.0000000Z");
    char *body =
        canned_format("{\"odata.etag\":\"W/\\\"new\\\"\",\"PartitionKey\":\"p\",\"RowKey\":"
                      "\"%d\",\"Timestamp\":\"%s\",\"Age\":%d}",
                      row, written, 10 * row);
    char *reply = canned_reply(200, "", body);
    free(body);
    return reply;
}

static char *answer_to_writer(const char *request, int number)
{
    (void)number;
    const char *row = strstr(request, "RowKey='");
    if (strncmp(request, "GET /hr/Employee(P", 18) == 0) {
        int wanted = (int)strtol(row + strlen("RowKey='"), NULL, 10);
        return is_there && wanted != missing_row
                   ? sent_entity(wanted)
                   : canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "");
    }
    if (strncmp(request, "GET", 3) == 0) {
        return canned_reply(200, "Date: Sat, 21 Nov 2020 09:00:00 GMT\r\n", "{\"value\":[]}");
    }
    return canned_last_reply(batch_reply);
}

static void open_writer(void)
{
    open_remote(answer_to_writer);
    expect_sql(CREATE, "");
    /* The service's clock is known from its replies. */
    expect_sql("SELECT * FROM Employee WHERE PartitionKey = 'p'", "");
}

/* Writes some entities in one transaction. Returns the code of COMMIT. */
static int write_entities(int count)
{
    expect_sql("BEGIN", "");
    for (int i = 1; i <= count; i++) {
        char *sql = sqlite3_mprintf("INSERT INTO Employee(PartitionKey, RowKey, Age) "
                                    "VALUES ('p', '%d', %d)",
                                    i, 10 * i);
        expect_sql(sql, "");
        sqlite3_free(sql);
    }
    int rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    rc = rc == SQLITE_OK ? rc : sqlite3_extended_errcode(db);
    if (sqlite3_get_autocommit(db) == 0) {
        char *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        expect_sql("ROLLBACK", "");
        sqlite3_free(message);
    }
    return rc;
}

/* --- Replies that are cut --- */

#define PART(status, rest)                                                                         \
    "--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: "       \
    "binary\r\n\r\nHTTP/1.1 " status "\r\n" rest "\r\n\r\n"
#define BATCH(parts)                                                                               \
    "--batchresponse_1\r\nContent-Type: multipart/mixed; "                                         \
    "boundary=changesetresponse_1\r\n\r\n" parts                                                   \
    "--changesetresponse_1--\r\n--batchresponse_1--\r\n"
#define DONE PART("204 No Content", "ETag: W/\"new\"\r\nDataServiceVersion: 3.0;")
#define REFUSED(status, code)                                                                      \
    PART(status, "Content-Type: application/json\r\n\r\n{\"odata.error\":{\"code\":\"" code        \
                 "\",\"message\":{\"lang\":\"en-US\",\"value\":\"1:No.\\nRequestId:x\"}}}")

static char *frame_by_end(const char *body)
{
    return canned_format("HTTP/1.1 202 Accepted\r\n\r\n%s", body);
}

static char *frame_by_length(const char *body)
{
    return canned_reply(202, "", body);
}

static char *frame_by_chunks(const char *body)
{
    return canned_format("HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "9\r\n%.9s\r\n%zx\r\n%s\r\n0\r\n\r\n",
                         body, strlen(body) - 9, body + 9);
}

static char *(*const frames[])(const char *) = {frame_by_end, frame_by_length, frame_by_chunks};

/* How COMMIT ends for each cut: 'd' done, '?' in doubt, 'e' another error. */
static void cut_batch_everywhere(const char *body, char *(*frame)(const char *), char *ends)
{
    char *whole = frame(body);
    size_t size = strlen(whole);
    char *cut = calloc(1, size + 1);
    batch_reply = cut;
    for (size_t i = 0; i <= size; i++) {
        memcpy(cut, whole, i);
        int rc = write_entities(OPERATIONS);
        ends[i] = rc == SQLITE_OK ? 'd' : rc == SQLITE_IOERR ? '?' : 'e';
    }
    ends[size + 1] = 0;
    free(cut);
    free(whole);
}

/* All that the service says when it has done a batch comes before the last empty line. */
static void a_cut_success_is_success_only_if_it_was(void **state)
{
    (void)state;
    static char ends[2000];
    open_writer();
    for (size_t i = 0; i < 2 * COUNT(frames); i++) {
        is_there = i % 2 == 0; /* another program may have written it */
        cut_batch_everywhere(BATCH(DONE DONE DONE), frames[i / 2], ends);
        char *first = strchr(ends, 'd');
        assert_non_null(first); /* at least the whole one */
        assert_true(first - ends > (ptrdiff_t)strlen(BATCH(DONE DONE)));
        assert_int_equal(strspn(ends, "?"), first - ends);
        assert_int_equal(strspn(first, "d"), strlen(first));
    }
    close_remote();
}

static void a_cut_refusal_is_no_success(void **state)
{
    (void)state;
    static char ends[2000];
    open_writer();
    is_there = false;
    for (size_t i = 0; i < COUNT(frames); i++) {
        cut_batch_everywhere(BATCH(REFUSED("409 Conflict", "EntityAlreadyExists")), frames[i],
                             ends);
        size_t doubt = strspn(ends, "?");
        assert_int_equal(doubt + strspn(ends + doubt, "e"), strlen(ends));
        assert_int_equal(ends[strlen(ends) - 1], 'e');
        cut_batch_everywhere(BATCH(REFUSED("503 Busy", "ServerBusy")), frames[i], ends);
        assert_null(strchr(ends, 'd'));
    }
    close_remote();
}

/* --- Replies that are strange --- */

static void strange_batch_replies_are_no_success(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int rc;
        const char *message;
    } cases[] = {
        {BATCH(REFUSED("429 Slow down", "TooManyRequests")), SQLITE_BUSY, "(TooManyRequests)"},
        {BATCH(REFUSED("503 Busy", "ServerBusy")), SQLITE_BUSY, "(ServerBusy)"},
        {BATCH(REFUSED("500 Error", "InternalError")), SQLITE_IOERR, DOUBT},
        {BATCH(REFUSED("408 Time", "OperationTimedOut")), SQLITE_IOERR, DOUBT},
        {BATCH(REFUSED("409 Conflict", "EntityAlreadyExists")), SQLITE_CONSTRAINT_PRIMARYKEY,
         "RowKey '2'"},
        {BATCH(REFUSED("403 No", "AuthorizationFailure")), SQLITE_BUSY,
         "(AuthorizationFailure); not"},
        {BATCH(REFUSED("404 No", "TableNotFound")), SQLITE_ERROR, "no such table"},
        {BATCH(DONE DONE), SQLITE_IOERR, DOUBT},
        {BATCH(DONE DONE DONE DONE), SQLITE_IOERR, DOUBT},
        {BATCH(DONE DONE REFUSED("409 Conflict", "EntityAlreadyExists")), SQLITE_IOERR, DOUBT},
        {BATCH(PART("302 Found", "Location: /") DONE DONE), SQLITE_IOERR, DOUBT},
        {BATCH(PART("999 Odd", "") DONE DONE), SQLITE_IOERR, DOUBT},
        {BATCH(PART("000 Odd", "") DONE DONE), SQLITE_IOERR, DOUBT},
        {BATCH(PART("-04 Odd", "") DONE DONE), SQLITE_IOERR, DOUBT},
        {BATCH(DONE DONE DONE "HTTP/1.1 x"), SQLITE_IOERR, DOUBT},
        {BATCH(""), SQLITE_IOERR, DOUBT},
        {"", SQLITE_IOERR, DOUBT},
        {"<html></html>", SQLITE_IOERR, DOUBT},
        {"HTTP/1.1 204", SQLITE_IOERR, DOUBT},
        {"HTTP/1.1 409 Conflict\r\n", SQLITE_IOERR, DOUBT},
    };
    open_writer();
    is_there = false;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *reply = canned_reply(202, "", cases[i].body);
        batch_reply = reply;
        expect_sql("BEGIN", "");
        for (int row = 1; row <= OPERATIONS; row++) {
            char *sql = sqlite3_mprintf("INSERT INTO Employee(PartitionKey, RowKey, Age) "
                                        "VALUES ('p', '%d', 1)",
                                        row);
            expect_sql(sql, "");
            sqlite3_free(sql);
        }
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        if (sqlite3_extended_errcode(db) != cases[i].rc ||
            strstr(sqlite3_errmsg(db), cases[i].message) == NULL) {
            fail_msg("%s: %d %s", cases[i].body, sqlite3_extended_errcode(db), sqlite3_errmsg(db));
        }
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        free(reply);
    }
    close_remote();
}

static void strange_replies_to_one_write_are_no_success(void **state)
{
    (void)state;
    static const struct {
        const char *reply;
        int rc;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\n\r\n<html></html>", SQLITE_IOERR},
        {"HTTP/1.1 202 Accepted\r\n\r\n" BATCH(DONE), SQLITE_IOERR},
        {"HTTP/1.1 206 Part\r\n\r\n", SQLITE_IOERR},
        {"HTTP/1.1 204 No Content\r\n", SQLITE_IOERR},
        {"HTTP/1.1 100 Continue\r\n\r\n", SQLITE_IOERR},
        {"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", SQLITE_ERROR},
        {"HTTP/1.1 500 Error\r\n\r\n<html>sorry</html>", SQLITE_IOERR},
        {"HTTP/1.1 503 Busy\r\n\r\n", SQLITE_BUSY},
        {"HTTP/1.1 204 No Content\r\n\r\n", SQLITE_OK},
        {"HTTP/1.1 201 Created\r\n\r\n{}", SQLITE_OK},
    };
    open_writer();
    is_there = false;
    for (size_t i = 0; i < COUNT(cases); i++) {
        batch_reply = cases[i].reply;
        int rc = write_entities(1);
        if (rc != cases[i].rc) {
            fail_msg("%s: %d %s", cases[i].reply, rc, sqlite3_errmsg(db));
        }
    }
    close_remote();
}

/* --- Other writers --- */

/* The transaction gets lost before it is done. Meanwhile another program has written all of its
 * entities, with the same properties, or all but one. */
static void entities_of_another_writer_are_no_witnesses(void **state)
{
    (void)state;
    open_writer();
    is_there = true;
    batch_reply = "";
    for (missing_row = 0; missing_row <= OPERATIONS; missing_row++) {
        assert_int_equal(write_entities(OPERATIONS), SQLITE_IOERR);
    }
    missing_row = 0;
    assert_int_equal(write_entities(1), SQLITE_IOERR);
    close_remote();
}

/* --- Headers --- */

static void a_wrong_date_of_the_service_is_not_trusted(void **state)
{
    (void)state;
    static const char *const dates[] = {"Sat, 21 Nov 9999 09:00:00 GMT",
                                        "Sat, 21 Nov 99999 09:00:00 GMT",
                                        "Sat, 21 Nov 99999999 09:00:00 GMT",
                                        "Sat, 21 Nov 1601 09:00:00 GMT",
                                        "0",
                                        "a text that is longer than a date in a header can be",
                                        ""};
    open_writer();
    is_there = false;
    for (size_t i = 0; i < COUNT(dates); i++) {
        char *reply = canned_format("HTTP/1.1 409 Conflict\r\nDate: %s\r\nContent-Length: 0\r\n"
                                    "x-ms-error-code: EntityAlreadyExists\r\n\r\n",
                                    dates[i]);
        batch_reply = reply;
        assert_int_equal(write_entities(1), SQLITE_CONSTRAINT_PRIMARYKEY);
        is_there = true;
        batch_reply = "";
        assert_int_equal(write_entities(1), SQLITE_IOERR);
        is_there = false;
        free(reply);
    }
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_success_is_success_only_if_it_was),
        cmocka_unit_test(a_cut_refusal_is_no_success),
        cmocka_unit_test(strange_batch_replies_are_no_success),
        cmocka_unit_test(strange_replies_to_one_write_are_no_success),
        cmocka_unit_test(entities_of_another_writer_are_no_witnesses),
        cmocka_unit_test(a_wrong_date_of_the_service_is_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
