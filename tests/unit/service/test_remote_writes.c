#include "unit/service/remote_database.h"

#include <time.h>

#include "faults/failing_malloc.h"
#include "service/batch_text.h"
#include "service/entity_text.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Name String, Age Int32, account=hr"

/* --- A service that does everything --- */

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

#define PART(status, headers, body)                                                                \
    "--changesetresponse_1\r\nContent-Type: application/http\r\n"                                  \
    "Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 " status "\r\n" headers "\r\n" body "\r\n"
#define BATCH_START                                                                                \
    "--batchresponse_1\r\nContent-Type: multipart/mixed; "                                         \
    "boundary=changesetresponse_1\r\n\r\n"
#define BATCH_END "--changesetresponse_1--\r\n--batchresponse_1--\r\n"

static char *answer_batch(size_t operations)
{
    char *body = canned_format("%s", BATCH_START);
    for (size_t i = 0; i < operations; i++) {
        char *longer = canned_format("%s%s", body, PART("204 No Content", "ETag: e\r\n", ""));
        free(body);
        body = longer;
    }
    char *whole = canned_format("%s%s", body, BATCH_END);
    char *reply = canned_reply(202, "Date: Sat, 21 Nov 2026 09:00:00 GMT\r\n", whole);
    free(body);
    free(whole);
    return reply;
}

static const char *server = ""; /* the header that tells the dialect */

static char *answer_all(const char *request, int number)
{
    (void)number;
    if (strstr(request, "/$batch") != NULL) {
        return answer_batch(count_text(request, "application/http"));
    }
    if (strncmp(request, "GET", 3) != 0) {
        return canned_reply(204, "ETag: e\r\n", "");
    }
    if (strstr(request, "RowKey='none')") != NULL) {
        return canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "");
    }
    if (strstr(request, "Employee(P") != NULL) {
        return canned_reply(200, server,
                            "{\"odata.etag\":\"W/\\\"e\\\"\",\"PartitionKey\":\"p\",\"RowKey\":"
                            "\"1\",\"Name\":\"x\",\"Age\":7}");
    }
    return PAGE(NO_MORE, "p", "1", "p", "2");
}

/* --- Requests --- */

static void an_operation_by_itself_is_a_request(void **state)
{
    (void)state;
    server = "Server: Windows-Azure-Table/1.0\r\n";
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey, Age) VALUES ('p', 1, 5)", "");
    assert_true(was_sent("POST /hr/Employee HTTP/1.1\r\n"));
    assert_true(was_sent("\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"Age\":5}"));
    assert_true(was_sent("Content-Type: application/json\r\n"));
    assert_true(was_sent("Prefer: return-no-content\r\n"));
    assert_false(was_sent("If-Match"));
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey, Name, WriteMode, IfMatch) VALUES ('p', "
               "'a b', 'n', 'merge', 'W/\"e''1\"')",
               "");
    assert_true(was_sent("MERGE /hr/Employee(PartitionKey='p',RowKey='a%20b') HTTP/1.1\r\n"));
    assert_true(was_sent("\r\nIf-Match: W/\"e'1\"\r\n"));
    expect_sql("DELETE FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'", "");
    assert_true(was_sent("POST /hr/$batch HTTP/1.1\r\n"));
    assert_true(was_sent("Content-Type: multipart/mixed; boundary=batch_ptable\r\n"));
    assert_true(was_sent("/hr/Employee(PartitionKey='p',RowKey='1') HTTP/1.1\r\nAccept"));
    assert_true(was_sent("\r\nIf-Match: W/\"e\"\r\n"));
    assert_int_equal(canned_take_requests(), 4);
    expect_sql(
        "UPDATE Employee SET RowKey = '9', Properties = '{\"a\":1}' WHERE PartitionKey = 'p' "
        "AND RowKey = '1'",
        "");
    assert_true(was_sent("\r\n\r\n{\"PartitionKey\":\"p\",\"RowKey\":\"9\",\"a\":1}\r\n"));
    close_remote();
    server = "";
}

/* It misreads some keys in batches. Who does not tell what it is may be the emulator. */
static void the_emulator_gets_no_batch_for_a_delete(void **state)
{
    (void)state;
    static const char *const servers[] = {"Server: Azurite-Table/3.35.0\r\n", ""};
    for (size_t i = 0; i < COUNT(servers); i++) {
        server = servers[i];
        open_remote(answer_all);
        expect_sql(CREATE ")", "");
        expect_sql("DELETE FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'", "");
        assert_true(was_sent("DELETE /hr/Employee(PartitionKey='p',RowKey='1') HTTP/1.1\r\n"));
        assert_true(was_sent("\r\nIf-Match: W/\"e\"\r\n"));
        expect_sql("INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES "
                   "('p', 'x'',y', 'delete')",
                   "");
        assert_true(was_sent("DELETE /hr/Employee(PartitionKey='p',RowKey='x%27%27%2Cy') HTTP"));
        assert_false(was_sent("/$batch"));
        assert_int_equal(canned_take_requests(), 3);
        /* libcurl repeats none by itself, since none takes a connection of others or leaves it */
        assert_int_equal(canned_connections(), 3);
        close_remote();
    }
    server = "Server: Microsoft-HTTPAPI/2.0\r\n"; /* Cosmos DB */
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql("DELETE FROM Employee WHERE PartitionKey = 'p' AND RowKey = '1'", "");
    assert_true(was_sent("POST /hr/$batch HTTP/1.1\r\n"));
    close_remote();
    server = "";
}

/* --- Replies --- */

static pt_http_reply unwrapped;

static void unwrap(const char *body, size_t size, size_t count)
{
    pt_buffer_free(&unwrapped.headers);
    pt_buffer_free(&unwrapped.body);
    unwrapped = (pt_http_reply){.outcome = PT_HTTP_REPLIED, .status = 202};
    pt_buffer_append(&unwrapped.body, body, size);
    pt_buffer_append_byte(&unwrapped.body, 0);
    unwrapped.body.size--;
    pt_batch_unwrap(&unwrapped, count);
}

static void a_batch_is_done_if_all_its_operations_are(void **state)
{
    (void)state;
    static const char two[] =
        BATCH_START PART("204 No Content", "", "") PART("201 Created", "", "{}") BATCH_END;
    unwrap(two, strlen(two), 2);
    assert_int_equal(unwrapped.outcome, PT_HTTP_REPLIED);
    assert_int_equal(unwrapped.status, 204);
    unwrap(two, strlen(two), 1);
    assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    unwrap(two, strlen(two), 3);
    assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    const char *last = strstr(two, "201");
    for (size_t size = 0; size < (size_t)(last - two) + 4; size++) {
        unwrap(two, size, 2);
        assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    }
    unwrap("", 0, 1);
    assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    unwrap("HTTP/1.1 xyz ", 13, 1);
    assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    unwrap("HTTP/1.1 099 ", 13, 1);
    assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
}

static void a_refused_operation_becomes_the_reply(void **state)
{
    (void)state;
    static const char refused[] = BATCH_START PART("429 Too Many Requests", "Retry-After: 7\r\n",
                                                   "{\"odata.error\":1}") BATCH_END;
    static const char stray[] = "changesetresponse_1\r\n" PART("409 Conflict", "", "{}") BATCH_END;
    pt_slice value;
    unwrap(refused, strlen(refused), 2);
    assert_int_equal(unwrapped.outcome, PT_HTTP_REPLIED);
    assert_int_equal(unwrapped.status, 429);
    assert_string_equal((const char *)unwrapped.body.data, "{\"odata.error\":1}");
    assert_true(pt_http_header(&unwrapped, "Retry-After", &value));
    assert_true(pt_slice_equal(value, pt_slice_text("7")));
    unwrap(stray, strlen(stray), 2);
    assert_int_equal(unwrapped.status, 409);
    assert_string_equal((const char *)unwrapped.body.data, "{}");
    /* Where it is cut, nobody knows what it says. */
    const char *end = strstr(refused, "\r\n--changesetresponse_1--");
    for (size_t size = 0; size < (size_t)(end - refused) + 4; size++) {
        unwrap(refused, size, 2);
        assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    }
    /* A batch is refused as a whole. */
    static const char half[] =
        BATCH_START PART("204 No Content", "", "") PART("409 Conflict", "", "{}") BATCH_END;
    unwrap(half, strlen(half), 2);
    assert_int_equal(unwrapped.outcome, PT_HTTP_LOST);
    /* Other replies stay as they are. */
    unwrapped.outcome = PT_HTTP_REPLIED;
    unwrapped.status = 403;
    pt_batch_unwrap(&unwrapped, 1);
    assert_int_equal(unwrapped.status, 403);
    pt_buffer_free(&unwrapped.headers);
    pt_buffer_free(&unwrapped.body);
}

/* --- Entities --- */

static void entities_are_written_in_ascii(void **state)
{
    (void)state;
    pt_bag bag = {0};
    pt_buffer json = {0};
    const pt_field fields[] = {
        {.name = pt_slice_text("S"),
         .value = {.type = PT_STRING,
                   .bytes = pt_slice_text("\"\\\n\x7F\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80")}},
        {.name = pt_slice_text("\xC3\xA9"), .value = {.type = PT_INT32, .integer = -5}},
        {.name = pt_slice_text("L"), .value = {.type = PT_INT64, .integer = INT64_MIN}},
        {.name = pt_slice_text("D"), .value = {.type = PT_DOUBLE, .real = 5}},
        {.name = pt_slice_text("N"), .value = {.type = PT_DOUBLE, .real = -1.0 / 0.0}},
        {.name = pt_slice_text("B"), .value = {.type = PT_BOOLEAN, .integer = 1}},
        {.name = pt_slice_text("X"), .value = {.type = PT_BINARY, .bytes = pt_slice_of("\0\1", 2)}},
    };
    for (size_t i = 0; i < COUNT(fields); i++) {
        assert_true(pt_bag_append(&bag, &fields[i]));
    }
    pt_entity_text_append(&json, pt_slice_text("p"), pt_slice_text(""), &bag);
    pt_buffer_append_byte(&json, 0);
    assert_string_equal((const char *)json.data,
                        "{\"PartitionKey\":\"p\",\"RowKey\":\"\","
                        "\"S\":\"\\\"\\\\\\u000a\\u007f\\u00e9\\u20ac\\ud83d\\ude00\","
                        "\"\\u00e9\":-5,"
                        "\"L\":\"-9223372036854775808\",\"L@odata.type\":\"Edm.Int64\","
                        "\"D\":5.0,\"D@odata.type\":\"Edm.Double\","
                        "\"N\":\"-Infinity\",\"N@odata.type\":\"Edm.Double\",\"B\":true,"
                        "\"X\":\"AAE=\",\"X@odata.type\":\"Edm.Binary\"}");
    pt_buffer_clear(&json);
    pt_bag_clear(&bag);
    /* no byte is read after the end of a text that is cut within a character */
    static const char *const cut[] = {"\xF0\x9F\x98", "\xE2\x82", "\xC3"};
    for (size_t i = 0; i < COUNT(cut); i++) {
        const pt_field field = {.name = pt_slice_of(&"STU"[i], 1),
                                .value = {.type = PT_STRING, .bytes = pt_slice_text(cut[i])}};
        assert_true(pt_bag_append(&bag, &field));
    }
    pt_entity_text_append(&json, pt_slice_text("p"), pt_slice_text(""), &bag);
    pt_buffer_append_byte(&json, 0);
    assert_string_equal((const char *)json.data,
                        "{\"PartitionKey\":\"p\",\"RowKey\":\"\","
                        "\"S\":\"\\u07d8\",\"T\":\"\\u0082\",\"U\":\"\\u00c3\"}");
    pt_buffer_free(&json);
    pt_bag_free(&bag);
}

/* --- COMMIT --- */

/* Nothing is sent as long as SQLite could not commit its own part. */
static void sqlites_lock_comes_first(void **state)
{
    (void)state;
    char path[] = "/tmp/ptable-service-XXXXXX";
    int file = mkstemp(path);
    sqlite3 *reader;
    assert_true(file >= 0);
    close(file);
    open_remote(answer_all);
    sqlite3_close(db);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
    register_account("AccountKey=" REMOTE_KEY);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE TABLE local(x)", "");
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM local", NULL, NULL, NULL),
                     SQLITE_OK);
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO local VALUES (1)", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "");
    expect_sql("COMMIT", "5: ptable: Employee: database 'main' is being read by another "
                         "connection, so the transaction cannot commit now; try again (an open one "
                         "by COMMIT), or use WAL mode");
    assert_int_equal(canned_take_requests(), 0);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    expect_sql("COMMIT", "");
    assert_int_equal(canned_take_requests(), 1);
    expect_sql("SELECT count(*) FROM local", "1\n");
    close_remote();
    unlink(path);
}

/* --- Something else fails after the service has done its part --- */

/* A virtual table whose first xSync is busy. */
static int busy_syncs;

static int connect_busy(sqlite3 *on, void *context, int argc, const char *const *argv,
                        sqlite3_vtab **vtab, char **message)
{
    (void)context;
    (void)argc;
    (void)argv;
    (void)message;
    *vtab = calloc(1, sizeof **vtab);
    return sqlite3_declare_vtab(on, "CREATE TABLE b(x)");
}

static int disconnect_busy(sqlite3_vtab *vtab)
{
    free(vtab);
    return SQLITE_OK;
}

static int update_busy(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    (void)vtab;
    (void)argc;
    (void)argv;
    *rowid = 1;
    return SQLITE_OK;
}

static int begin_busy(sqlite3_vtab *vtab)
{
    (void)vtab;
    return SQLITE_OK;
}

static int sync_busy(sqlite3_vtab *vtab)
{
    (void)vtab;
    return busy_syncs-- > 0 ? SQLITE_BUSY : SQLITE_OK;
}

static int plan_busy(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    (void)info;
    return SQLITE_CONSTRAINT;
}

static void an_accepted_batch_is_sent_once(void **state)
{
    (void)state;
    static const sqlite3_module busy = {.xCreate = connect_busy,
                                        .xConnect = connect_busy,
                                        .xBestIndex = plan_busy,
                                        .xDisconnect = disconnect_busy,
                                        .xDestroy = disconnect_busy,
                                        .xUpdate = update_busy,
                                        .xBegin = begin_busy,
                                        .xSync = sync_busy};
    open_remote(answer_all);
    assert_int_equal(sqlite3_create_module(db, "busy", &busy, NULL), SQLITE_OK);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE VIRTUAL TABLE b USING busy", "");
    busy_syncs = 2;
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "");
    expect_sql("INSERT INTO b VALUES (1)", "");
    expect_sql("SAVEPOINT s", "");
    expect_sql("COMMIT", "5: database is locked");
    assert_int_equal(canned_take_requests(), 1);
    expect_sql(
        "INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '2')",
        "5: ptable: Employee: PartitionKey 'p', RowKey '2': the service has done the "
        "transaction already, and only SQLite's own COMMIT is left; COMMIT again before more "
        "is written");
    expect_sql("ROLLBACK TO s", "");
    expect_sql("COMMIT", "5: database is locked");
    expect_sql("COMMIT", "");
    assert_int_equal(canned_take_requests(), 0);
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '2')", "");
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

/* SQLite can still refuse: then the service keeps what it has done, and the transaction is over. */
static int refuse_commit(void *context)
{
    (void)context;
    return 1;
}

static void a_refused_commit_ends_the_transaction(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    sqlite3_commit_hook(db, refuse_commit, NULL);
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "");
    assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_CONSTRAINT);
    assert_int_equal(canned_take_requests(), 1);
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    sqlite3_commit_hook(db, NULL, NULL);
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '2')", "");
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

/* --- Without the right --- */

static const char *rights_status = ""; /* of requests with the token that has ended */
static int refusals_to_come;

static char *answer_with_rights(const char *request, int number)
{
    if (strstr(request, "Authorization: Bearer old\r\n") == NULL) {
        return answer_all(request, number);
    }
    return strcmp(rights_status, "doubt") == 0 && refusals_to_come++ == 0
               ? canned_reply(500, "Retry-After: 0\r\n", "")
               : canned_reply(strcmp(rights_status, "401") == 0 ? 401 : 403,
                              "x-ms-error-code: AuthenticationFailed\r\n", "");
}

#define ENDED                                                                                      \
    "ptable: Employee: account 'hr', table 'Employee': the service refuses the request; the "      \
    "token "                                                                                       \
    "may be over: give a new one with pt_service_account, and check the roles of its owner "       \
    "(AuthenticationFailed)"
#define STAYS_OPEN                                                                                 \
    "; nothing has been done, and the transaction is still open: COMMIT again when the account "   \
    "has the right, or ROLLBACK"

/* The token ends between BEGIN and COMMIT. */
static void a_transaction_waits_for_the_right(void **state)
{
    (void)state;
    static const char *const ends[] = {"COMMIT", "RELEASE all_of_it"};
    static const char *const statuses[] = {"401", "403"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        rights_status = statuses[i];
        open_remote(answer_with_rights);
        register_account("BearerToken=old");
        expect_sql(CREATE ")", "");
        expect_sql("CREATE TABLE Own(a)", "");
        expect_sql(i == 0 ? "BEGIN" : "SAVEPOINT all_of_it", "");
        expect_sql("INSERT INTO Employee(PartitionKey, RowKey, Age) VALUES ('p', '1', 5)", "");
        expect_sql("INSERT INTO Own VALUES (7)", "");
        expect_sql(ends[i], "5: " ENDED STAYS_OPEN);
        expect_sql(ends[i], "5: " ENDED STAYS_OPEN);
        assert_int_equal(sqlite3_get_autocommit(db), 0);
        assert_int_equal(canned_take_requests(), 2);
        register_account("BearerToken=new");
        expect_sql("INSERT INTO Employee(PartitionKey, RowKey, Age) VALUES ('p', '2', 6)", "");
        expect_sql(ends[i], "");
        assert_int_equal(sqlite3_get_autocommit(db), 1);
        assert_int_equal(canned_requests(), 1);
        assert_true(was_sent("\"RowKey\":\"1\",\"Age\":5") &&
                    was_sent("\"RowKey\":\"2\",\"Age\":6"));
        expect_sql("SELECT a FROM Own", "7\n");
        close_remote();
    }
}

/* Without BEGIN there is nothing to wait for. If an earlier attempt may have been done, COMMIT
 * given again could do it twice. */
static void what_cannot_be_repeated_does_not_wait_for_the_right(void **state)
{
    (void)state;
    open_remote(answer_with_rights);
    register_account("BearerToken=old");
    expect_sql(CREATE ")", "");
    rights_status = "403";
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "23: " ENDED);
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "");
    expect_sql("COMMIT", "5: " ENDED STAYS_OPEN);
    expect_sql("ROLLBACK", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "23: " ENDED);
    rights_status = "doubt";
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "");
    expect_sql("COMMIT", "10: ptable: Employee: account 'hr', table 'Employee': an attempt had no "
                         "clear reply, and the next one was refused (AuthenticationFailed); the "
                         "change may have been applied: look before you repeat it");
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    close_remote();
}

/* --- Interrupted --- */

static const char *retry_after = "";

static char *answer_throttled(const char *request, int number)
{
    (void)request;
    (void)number;
    return canned_reply(429, retry_after, "");
}

static char *answer_busy(const char *request, int number)
{
    (void)request;
    (void)number;
    return canned_reply(500, retry_after, "");
}

/* The entity does not tell either if it was written. */
static char *answer_busy_once(const char *request, int number)
{
    return strncmp(request, "GET", 3) == 0 ? CANNED_SILENCE : answer_busy(request, number);
}

static char *answer_never(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_SILENCE;
}

static int64_t clock_in_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* After a time in which the reply has come. */
static int interrupt_commit(void *context)
{
    int64_t *begin = context;
    return clock_in_milliseconds() > *begin + 300;
}

#define NOT_SENT "ptable: Employee: the statement was interrupted"
#define MAYBE_DONE                                                                                 \
    "ptable: Employee: interrupted while the service did the transaction, which may have been "    \
    "applied: look before you repeat it"

/* The error says if the service may have got the request and done it. */
static void an_interrupted_commit_tells_if_it_was_sent(void **state)
{
    (void)state;
    static const struct {
        canned_answer *answer;
        const char *header;
        const char *error;
    } cases[] = {
        {answer_throttled, "Retry-After: 60\r\n", NOT_SENT},
        {answer_throttled, "Retry-After: soon\r\n", NOT_SENT}, /* a second, as without */
        {answer_throttled, "Retry-After: -1\r\n", NOT_SENT},
        {answer_never, "", MAYBE_DONE},
        {answer_busy, "Retry-After: 30\r\n", MAYBE_DONE},
        {answer_busy_once, "", MAYBE_DONE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool asks = cases[i].answer == answer_busy_once;
        retry_after = cases[i].header;
        open_remote(cases[i].answer);
        expect_sql(asks ? CREATE ", retries=0)" : CREATE ")", "");
        expect_sql("BEGIN", "");
        expect_sql("INSERT OR REPLACE INTO Employee(PartitionKey, RowKey) VALUES ('p', '1')", "");
        int64_t begin = clock_in_milliseconds();
        sqlite3_progress_handler(db, 1000, interrupt_commit, &begin);
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_INTERRUPT);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        assert_string_equal(sqlite3_errmsg(db), cases[i].error);
        assert_int_equal(canned_take_requests(), asks ? 2 : 1);
        close_remote();
    }
}

/* --- After a lost reply --- */

/* The first request for the two deletes gets lost, another program deletes one of the entities, and
 * the second request is refused: the other entity is there still. */
static char *answer_one_gone(const char *request, int number)
{
    if (strstr(request, "/$batch") == NULL) {
        bool gone = strstr(request, "RowKey='1')") != NULL;
        return gone ? canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "")
               : strstr(request, "RowKey='2')") != NULL
                   ? canned_reply(200, "",
                                  "{\"odata.etag\":\"W/\\\"e\\\"\",\"PartitionKey\":\"p\","
                                  "\"RowKey\":\"2\"}")
                   : PAGE(NO_MORE, "p", "1", "p", "2");
    }
    return number == 2
               ? CANNED_CLOSE
               : canned_reply(202, "",
                              BATCH_START PART("404 Not Found", "",
                                               "{\"odata.error\":{\"code\":\"ResourceNotFound\","
                                               "\"message\":{\"value\":\"0:x\"}}}") BATCH_END);
}

static void deletes_are_not_done_if_an_entity_has_its_etag(void **state)
{
    (void)state;
    open_remote(answer_one_gone);
    expect_sql(CREATE ")", "");
    expect_sql("DELETE FROM Employee WHERE PartitionKey = 'p'",
               "517: ptable: Employee: the entity with PartitionKey 'p', RowKey '1' has been "
               "deleted since the statement read it; run the transaction again "
               "(ResourceNotFound)");
    assert_int_equal(canned_take_requests(), 4);
    close_remote();
}

/* --- batch=split --- */

#define LOADED "CREATE VIRTUAL TABLE Loaded USING pt_service(account=hr, batch=split, parallel="

/* Operations of more than 64 partitions are not kept. Those of 'p' are sent twice, at the same
 * time: they have no entity in common. */
static void a_partition_may_be_sent_in_any_order(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(LOADED "4)", "");
    expect_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 64) "
               "INSERT INTO Loaded(PartitionKey, RowKey) SELECT 'p', '6' UNION ALL SELECT 'p', '5' "
               "UNION ALL SELECT 'x' || i, '1' FROM n UNION ALL SELECT 'p', '1'",
               "");
    assert_int_equal(canned_take_requests(), 66);
    close_remote();
}

/* A batch has each entity once, in whatever order the rows come. */
static void an_entity_written_twice_is_in_two_batches(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "('p', '1'), ('p', '2'), ('p', '2')",
        "('p', '1'), ('p', '3'), ('p', '2'), ('p', '3')",
        "('p', '2'), ('p', '1'), ('p', '2')",
        "('p', '1'), ('p', '2'), ('p', '3'), ('p', '1')",
    };
    open_remote(answer_all);
    expect_sql(LOADED "1)", "");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *sql = sqlite3_mprintf("INSERT OR REPLACE INTO Loaded(PartitionKey, RowKey) VALUES %s",
                                    rows[i]);
        expect_sql(sql, "");
        sqlite3_free(sql);
        assert_int_equal(canned_take_requests(), 2);
    }
    expect_sql("INSERT INTO Loaded(PartitionKey, RowKey) VALUES ('p', '1'), ('p', '3'), ('p', '2')",
               "");
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

/* The entity is not there when it is looked for, and there when it is written. */
static char *answer_too_late(const char *request, int number)
{
    (void)number;
    return strncmp(request, "GET", 3) == 0
               ? canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "")
               : canned_reply(409, "x-ms-error-code: EntityAlreadyExists\r\n", "");
}

/* The row that is being written is not the one that was refused. */
static void an_ignored_row_does_not_hide_another_error(void **state)
{
    (void)state;
    open_remote(answer_too_late);
    expect_sql(LOADED "1)", "");
    expect_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 66) "
               "INSERT OR IGNORE INTO Loaded(PartitionKey, RowKey) SELECT i, '1' FROM n",
               "1: ptable: Loaded: an entity with PartitionKey '1', RowKey '1' exists; give other "
               "keys, or change that entity with UPDATE; INSERT OR REPLACE would overwrite it "
               "(EntityAlreadyExists)");
    close_remote();
}

/* Another statement that writes ends the transaction. */
static void a_failed_statement_sends_nothing_more(void **state)
{
    (void)state;
    sqlite3_stmt *other;
    open_remote(answer_all);
    expect_sql(LOADED "1)", "");
    expect_sql("CREATE TABLE local(x)", "");
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO local VALUES (1) RETURNING x", -1, &other, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(other), SQLITE_ROW);
    assert_int_equal(
        sqlite3_exec(db, "INSERT INTO Loaded(PartitionKey, RowKey) VALUES ('p', '1'), ('a/b', '1')",
                     NULL, NULL, NULL),
        SQLITE_CONSTRAINT);
    assert_int_equal(sqlite3_step(other), SQLITE_DONE);
    sqlite3_finalize(other);
    assert_int_equal(sqlite3_get_autocommit(db), 1);
    assert_int_equal(canned_take_requests(), 0);
    expect_sql("SELECT * FROM local", "1\n");
    close_remote();
}

/* --- Without memory --- */

static const char *const writes[] = {
    "INSERT INTO Employee(PartitionKey, RowKey, Name, Age) VALUES ('p', '1', '\xC3\xA9', 5)",
    "INSERT INTO Employee(PartitionKey, RowKey, Properties) VALUES ('p', '1', '{\"a\":1}'), ('p', "
    "'2', '{\"b\":2.5}')",
    "INSERT INTO Employee(PartitionKey, RowKey, Age, WriteMode, IfMatch) VALUES ('p', '1', 1, "
    "'merge', 'W/\"e\"')",
    "INSERT OR IGNORE INTO Employee(PartitionKey, RowKey, Age) VALUES ('p', '1', 1), ('p', 'none', "
    "1)",
    "UPDATE Employee SET Age = 3 WHERE PartitionKey = 'p'",
    "UPDATE Employee SET Name = NULL WHERE PartitionKey = 'p' AND RowKey = '1'",
    "UPDATE Employee SET RowKey = '9' WHERE PartitionKey = 'p' AND RowKey = '1'",
    "UPDATE Employee SET Age = column1 FROM (VALUES (5)) WHERE PartitionKey = 'p' AND RowKey = '1'",
    "DELETE FROM Employee WHERE PartitionKey = 'p'",
    "INSERT INTO Loaded(PartitionKey, RowKey) VALUES ('p', '1'), ('q', '2'), ('p', '3'), ('p', "
    "'1')",
    "BEGIN; INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1'); SAVEPOINT s; INSERT INTO "
    "Employee(PartitionKey, RowKey) VALUES ('p', '2'); ROLLBACK TO s; COMMIT",
    "BEGIN; UPDATE Employee SET Age = 3 WHERE PartitionKey = 'p' AND RowKey = '1'; INSERT INTO "
    "Employee(PartitionKey, RowKey, Name) VALUES ('p', '3', 'n'); INSERT INTO "
    "Employee(PartitionKey, RowKey, WriteMode) VALUES ('p', '2', 'delete'); SELECT *, Properties "
    "FROM Employee WHERE PartitionKey = 'p'; ROLLBACK",
};

static void writes_may_run_out_of_memory(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE VIRTUAL TABLE Loaded USING pt_service(account=hr, batch=split, parallel=2)",
               "");
    for (size_t i = 0; i < COUNT(writes); i++) {
        bool hit = true;
        int failures = 0;
        assert_int_equal(sqlite3_exec(db, writes[i], NULL, NULL, NULL), SQLITE_OK);
        for (int n = 0; hit; n++) {
            failing_malloc_arm(n, false);
            int rc = sqlite3_exec(db, writes[i], NULL, NULL, NULL);
            hit = failing_malloc_disarm();
            if (sqlite3_get_autocommit(db) == 0) {
                assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
            }
            failures += hit;
            if (rc != SQLITE_OK && !(hit && rc == SQLITE_NOMEM)) {
                fail_msg("%s: %d %s", writes[i], rc, sqlite3_errmsg(db));
            }
        }
        assert_true(failures > 10);
    }
    close_remote();
}

/* The lists of operations, savepoints and properties are allocated by the first transaction. */
static const char *const first_writes[] = {
    "BEGIN; INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '1'); SAVEPOINT s; ROLLBACK",
    "BEGIN; UPDATE Employee SET Age = 3 WHERE PartitionKey = 'p' AND RowKey = '1'; ROLLBACK",
    "BEGIN; UPDATE Employee SET RowKey = '9' WHERE PartitionKey = 'p' AND RowKey = '1'; ROLLBACK",
    ("BEGIN; UPDATE Employee SET RowKey = '9', Properties = '{\"a\":1}' WHERE PartitionKey = 'p' "
     "AND RowKey = '1'; ROLLBACK"),
};

static void open_first_transaction(void)
{
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
    register_account("AccountKey=" REMOTE_KEY);
    expect_sql(CREATE ")", "");
}

static void the_first_transaction_may_run_out_of_memory(void **state)
{
    (void)state;
    open_remote(answer_all);
    for (size_t i = 0; i < COUNT(first_writes); i++) {
        bool hit = true;
        int failures = 0;
        for (int n = 0; hit; n++) {
            assert_int_equal(sqlite3_close(db), SQLITE_OK);
            open_first_transaction();
            failing_malloc_arm(n, false);
            int rc = sqlite3_exec(db, first_writes[i], NULL, NULL, NULL);
            hit = failing_malloc_disarm();
            failures += hit;
            assert_int_equal(rc, hit && rc != SQLITE_OK ? SQLITE_NOMEM : SQLITE_OK);
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        }
        assert_true(failures > 10);
    }
    close_remote();
}

static void begin_own_writes(void)
{
    expect_sql("BEGIN", "");
    expect_sql("UPDATE Employee SET Age = 3 WHERE PartitionKey = 'p' AND RowKey = '1'", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p', '3'), ('p', '4')", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey, WriteMode) VALUES ('p', '2', 'delete')",
               "");
}

/* A reply may need a new connection, so the number of allocations varies: more are tried. */
static void reading_own_writes_may_run_out_of_memory(void **state)
{
    (void)state;
    open_remote(answer_all);
    expect_sql(CREATE ")", "");
    bool hit = true;
    for (int n = 0; hit || n < 600; n++) {
        sqlite3_stmt *statement = NULL;
        int rows = 0;
        begin_own_writes();
        assert_int_equal(
            sqlite3_prepare_v2(db, "SELECT *, Properties FROM Employee", -1, &statement, NULL),
            SQLITE_OK);
        failing_malloc_arm(n / 3, false);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            rows++;
        }
        hit = failing_malloc_disarm();
        int rc = sqlite3_finalize(statement);
        assert_true(rc == SQLITE_OK ? rows == 3 : hit && rc == SQLITE_NOMEM);
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    }
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_by_itself_is_a_request),
        cmocka_unit_test(the_emulator_gets_no_batch_for_a_delete),
        cmocka_unit_test(a_batch_is_done_if_all_its_operations_are),
        cmocka_unit_test(a_refused_operation_becomes_the_reply),
        cmocka_unit_test(entities_are_written_in_ascii),
        cmocka_unit_test(sqlites_lock_comes_first),
        cmocka_unit_test(an_accepted_batch_is_sent_once),
        cmocka_unit_test(an_interrupted_commit_tells_if_it_was_sent),
        cmocka_unit_test(a_refused_commit_ends_the_transaction),
        cmocka_unit_test(a_transaction_waits_for_the_right),
        cmocka_unit_test(what_cannot_be_repeated_does_not_wait_for_the_right),
        cmocka_unit_test(deletes_are_not_done_if_an_entity_has_its_etag),
        cmocka_unit_test(a_partition_may_be_sent_in_any_order),
        cmocka_unit_test(an_entity_written_twice_is_in_two_batches),
        cmocka_unit_test(an_ignored_row_does_not_hide_another_error),
        cmocka_unit_test(a_failed_statement_sends_nothing_more),
        cmocka_unit_test(writes_may_run_out_of_memory),
        cmocka_unit_test(the_first_transaction_may_run_out_of_memory),
        cmocka_unit_test(reading_own_writes_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
