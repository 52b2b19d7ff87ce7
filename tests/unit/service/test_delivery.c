#include "faults/failing_malloc.h"
#include "service/remote_operations.h"
#include "unit/service/remote_database.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

/* --- A service that answers as each case says --- */

enum { REPLIES_MAX = 8 };

typedef struct scripted_reply {
    int status; /* 0: closes the connection without a reply; negative: a gateway's */
    const char *headers;
    const char *body;
} scripted_reply;

static const scripted_reply *script;
static int script_place;

static char *answer_as_written(const char *request, int number)
{
    (void)request;
    (void)number;
    assert_true(script_place < REPLIES_MAX);
    const scripted_reply *reply = &script[script_place++];
    if (reply->status < 0) {
        return canned_format("HTTP/1.1 %d Text\r\nContent-Length: %zu\r\n\r\n%s", -reply->status,
                             strlen(reply->body), reply->body);
    }
    return reply->status == 0 ? CANNED_CLOSE
                              : canned_reply(reply->status, reply->headers, reply->body);
}

#define DATE "Date: Sat, 21 Nov 2026 09:00:00 GMT\r\n"
#define AZURE DATE "Server: Windows-Azure-Table/1.0\r\n"
#define CODE(code) DATE "x-ms-error-code: " code "\r\n"
#define AT_ONCE DATE "Retry-After: 0\r\n"
#define LATER "\"Timestamp\":\"2026-11-21T09:35:44Z\""
#define EARLIER "\"Timestamp\":\"2026-11-21T08:59:49Z\""
#define PERHAPS_LATER "\"Timestamp\":\"2026-11-21T08:59:50Z\"" /* by another machine's clock */
#define ENTITY(etag, properties)                                                                   \
    {                                                                                              \
        200, DATE,                                                                                 \
            "{\"odata.etag\":\"" etag "\",\"PartitionKey\":\"p\",\"RowKey\":\"1\"," properties "}" \
    }
#define LOST                                                                                       \
    {                                                                                              \
        0, "", ""                                                                                  \
    }
#define DONE                                                                                       \
    {                                                                                              \
        204, DATE "ETag: n\r\n", ""                                                                \
    }
#define MISSING                                                                                    \
    {                                                                                              \
        404, CODE("ResourceNotFound"), ""                                                          \
    }
#define GATEWAY(status)                                                                            \
    {                                                                                              \
        -(status), "", "<html>No</html>"                                                           \
    }
#define BATCH(status, code, message)                                                               \
    {                                                                                              \
        202, DATE,                                                                                 \
            "--b\r\n\r\nHTTP/1.1 " status " x\r\nx: y\r\n\r\n{\"odata.error\":{\"code\":\"" code   \
            "\",\"message\":{\"value\":\"" message "\"}}}\r\n--b--\r\n"                            \
    }

typedef struct delivery_case {
    const char *sql;
    scripted_reply replies[REPLIES_MAX];
    const char *expected; /* a part of the error; "": none */
} delivery_case;

/* The service's clock is known: the table has been read before. */
static void run_cases(const delivery_case *cases, size_t count)
{
    static const scripted_reply empty[REPLIES_MAX] = {{200, AZURE, "{\"value\":[]}"}};
    for (size_t i = 0; i < count; i++) {
        open_remote(answer_as_written);
        expect_sql(
            "CREATE VIRTUAL TABLE Emp USING pt_service(S String, I Int32, L Int64, D Double, N "
            "Double, B Boolean, T DateTime, G Guid, X Binary, account=hr, retries=1)",
            "");
        script = empty;
        script_place = 0;
        expect_sql("SELECT RowKey FROM Emp WHERE PartitionKey = 'p'", "");
        script = cases[i].replies;
        script_place = 0;
        int rc = sqlite3_exec(db, cases[i].sql, NULL, NULL, NULL);
        const char *found = rc == SQLITE_OK ? "" : sqlite3_errmsg(db);
        if (strstr(found, cases[i].expected) == NULL ||
            (*cases[i].expected == 0) != (*found == 0)) {
            fail_msg("case %d: '%s' instead of '%s'", (int)i, found, cases[i].expected);
        }
        close_remote();
    }
}

/* --- A reply that got lost --- */

#define REPLACE_ALL "INSERT OR REPLACE INTO " ALL_IN_EMP
#define INSERT_ALL "INSERT INTO " ALL_IN_EMP
#define ALL_IN_EMP                                                                                 \
    "Emp(PartitionKey, RowKey, S, I, L, D, N, B, T, G, X) VALUES ('p', '1', 'x', 5, "              \
    "7, "                                                                                          \
    "1.5, 'NaN', 1, '2026-01-02', '00000000-0000-0000-0000-00000000000a', x'0102')"
#define TYPED(name, value, type) "\"" name "\":" value ",\"" name "@odata.type\":\"Edm." type "\""
#define S_I "\"S\":\"x\",\"I\":5"
#define L_D TYPED("L", "\"7\"", "Int64") ",\"D\":1.5"
#define N_B TYPED("N", "\"NaN\"", "Double") ",\"B\":true"
#define T_G                                                                                        \
    TYPED("T", "\"2026-01-02T00:00:00Z\"", "DateTime")                                             \
    "," TYPED("G", "\"00000000-0000-0000-0000-00000000000a\"", "Guid")
#define X TYPED("X", "\"AQI=\"", "Binary")
#define UNKNOWN "the change may have been applied: look before you repeat it"
#define BUSY_500                                                                                   \
    {                                                                                              \
        500, AT_ONCE, ""                                                                           \
    }
#define EXISTS_409                                                                                 \
    {                                                                                              \
        409, CODE("EntityAlreadyExists"), ""                                                       \
    }
#define SAYS(status, message)                                                                      \
    {                                                                                              \
        status, DATE, "{\"odata.error\":{\"code\":\"x\",\"message\":{\"value\":\"" message "\"}}}" \
    }
#define AFTER_500(properties)                                                                      \
    {                                                                                              \
        BUSY_500, BUSY_500, ENTITY("n", properties)                                                \
    }
#define AFTER_409(properties)                                                                      \
    {                                                                                              \
        BUSY_500, EXISTS_409, ENTITY("n", properties)                                              \
    }
#define ALL S_I "," L_D "," N_B "," T_G "," X
#define REFUSED                                                                                    \
    "an attempt had no clear reply, and the next one was refused at the entity with "              \
    "PartitionKey 'p', RowKey '1' "

/* No attempt has a clear reply. What may be done twice is done if the entity is as it was sent. */
static void an_entity_tells_if_it_was_replaced(void **state)
{
    (void)state;
    static const delivery_case cases[] = {
        {REPLACE_ALL, AFTER_500(LATER "," ALL), ""},
        {REPLACE_ALL, AFTER_500(PERHAPS_LATER "," ALL), ""},
        /* the types and values of other writers */
        {REPLACE_ALL, AFTER_500(LATER ",\"S\":\"y\",\"I\":5," L_D "," N_B "," T_G "," X), UNKNOWN},
        {REPLACE_ALL, AFTER_500(LATER ",\"S\":5,\"I\":5," L_D "," N_B "," T_G "," X), UNKNOWN},
        {REPLACE_ALL, AFTER_500(LATER ",\"S\":\"x\",\"I\":6," L_D "," N_B "," T_G "," X), UNKNOWN},
        {REPLACE_ALL,
         AFTER_500(LATER "," S_I "," L_D "," TYPED("N", "2.5", "Double") ",\"B\":true," T_G "," X),
         UNKNOWN},
        {REPLACE_ALL,
         AFTER_500(LATER "," S_I "," L_D "," N_B
                         "," TYPED("T", "\"2026-01-02T00:00:00Z\"", "DateTime") "," TYPED(
                             "G", "\"00000000-0000-0000-0000-00000000000b\"", "Guid") "," X),
         UNKNOWN},
        {REPLACE_ALL,
         AFTER_500(LATER "," S_I "," L_D "," N_B "," T_G "," TYPED("X", "\"AQM=\"", "Binary")),
         UNKNOWN},
        {REPLACE_ALL, AFTER_500(LATER "," S_I "," L_D "," N_B "," T_G), UNKNOWN},
        {REPLACE_ALL, AFTER_500(LATER "," ALL ",\"More\":1"), UNKNOWN},
        /* it was there before the requests, which may still be done */
        {REPLACE_ALL, AFTER_500(EARLIER "," ALL), UNKNOWN},
        /* nobody can be asked */
        {REPLACE_ALL, {BUSY_500, BUSY_500, {403, DATE, ""}}, UNKNOWN},
        {REPLACE_ALL, {BUSY_500, BUSY_500, MISSING}, UNKNOWN},
        {REPLACE_ALL, {BUSY_500, BUSY_500, {404, CODE("TableNotFound"), ""}}, UNKNOWN},
        /* the second attempt is refused for a reason that the first one may not have met */
        {REPLACE_ALL, {BUSY_500, {403, DATE, ""}, ENTITY("n", LATER "," ALL)}, ""},
        {REPLACE_ALL, {BUSY_500, {403, DATE, ""}, ENTITY("n", EARLIER "," ALL)}, UNKNOWN},
        /* a number that is written otherwise is the same */
        {"INSERT OR REPLACE INTO Emp(PartitionKey, RowKey, D) VALUES ('p', '1', 0.0)",
         AFTER_500(LATER ",\"D\":-0.0"), ""},
        /* a merge leaves other properties */
        {"INSERT INTO Emp(PartitionKey, RowKey, I, WriteMode) VALUES ('p', '1', 5, 'merge')",
         AFTER_500(LATER "," S_I), ""},
        {"INSERT INTO Emp(PartitionKey, RowKey, I, WriteMode) VALUES ('p', '1', 5, 'replace')",
         AFTER_500(LATER "," S_I), UNKNOWN},
        /* a delete that needs no entity */
        {"INSERT INTO Emp(PartitionKey, RowKey, WriteMode) VALUES ('p', '1', 'delete')",
         {BUSY_500, BUSY_500, MISSING},
         ""},
        {"INSERT INTO Emp(PartitionKey, RowKey, WriteMode) VALUES ('p', '1', 'delete')",
         AFTER_500(LATER "," S_I), UNKNOWN},
    };
    run_cases(cases, COUNT(cases));
}

#define REPLACE_OLD                                                                                \
    "INSERT INTO Emp(PartitionKey, RowKey, I, WriteMode, IfMatch) VALUES ('p', '1', 5, "           \
    "'replace', 'W/\"old\"')"
#define DELETE_OLD                                                                                 \
    "INSERT INTO Emp(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'delete', "       \
    "'W/\"old\"')"
#define CHANGED_412                                                                                \
    {                                                                                              \
        412, CODE("UpdateConditionNotSatisfied"), ""                                               \
    }

/* The first attempt may have been done, and the second one is refused. Whatever the entity is: what
 * was sent may be there because another program has written the same. */
static void an_entity_tells_only_what_was_not_done(void **state)
{
    (void)state;
    static const delivery_case cases[] = {
        {INSERT_ALL, AFTER_409(LATER "," ALL), REFUSED "(EntityAlreadyExists)"},
        {INSERT_ALL, AFTER_409(LATER "," ALL), UNKNOWN},
        {INSERT_ALL, AFTER_409(PERHAPS_LATER "," ALL), UNKNOWN},
        {INSERT_ALL, AFTER_409(LATER ",\"S\":\"y\""), UNKNOWN},
        {INSERT_ALL, {BUSY_500, EXISTS_409, MISSING}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, EXISTS_409, {403, DATE, ""}}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, BUSY_500}, UNKNOWN},
        /* it was there before the request */
        {INSERT_ALL, AFTER_409(EARLIER "," ALL), "RowKey '1' exists; give other keys"},
        /* the second attempt is refused for a reason that the first one may not have met */
        {INSERT_ALL, {BUSY_500, {403, DATE, ""}, {403, DATE, ""}}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, {403, DATE, ""}, ENTITY("n", LATER "," ALL)}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, LOST}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, SAYS(403, "no"), MISSING}, "and the next one was refused (x); the"},
        {INSERT_ALL, {BUSY_500, {403, DATE, ""}, MISSING}, "was refused (403); the change may"},
        {INSERT_ALL, {BUSY_500, SAYS(500, "as a@b")}, "no reply that tells what was done; "},
        {INSERT_ALL, {BUSY_500, SAYS(500, "no")}, "'Emp': no; the change may"},
        {INSERT_ALL, {BUSY_500, {409, CODE("Other"), ""}, MISSING}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, {404, CODE("TableNotFound"), ""}, MISSING}, UNKNOWN},
        /* what is wrong with the request was wrong with the first one */
        {INSERT_ALL, {BUSY_500, {400, CODE("InvalidInput"), ""}}, "(InvalidInput)"},
        /* but a gateway judges only what comes to it */
        {INSERT_ALL, {BUSY_500, GATEWAY(400)}, UNKNOWN},
        {INSERT_ALL, {BUSY_500, GATEWAY(413)}, UNKNOWN},
        {REPLACE_OLD, {BUSY_500, GATEWAY(412), ENTITY("W/\\\"old\\\"", LATER)}, UNKNOWN},
        /* with an ETag, which only the entity of before can have */
        {REPLACE_OLD, {BUSY_500, CHANGED_412, ENTITY("n", LATER ",\"I\":5")}, REFUSED},
        {REPLACE_OLD, {BUSY_500, CHANGED_412, ENTITY("n", LATER ",\"I\":6")}, UNKNOWN},
        {REPLACE_OLD, {BUSY_500, MISSING, MISSING}, REFUSED "(ResourceNotFound)"},
        {REPLACE_OLD,
         {BUSY_500, CHANGED_412, ENTITY("W/\\\"old\\\"", LATER "," S_I)},
         "RowKey '1' has another ETag than IfMatch"},
        {REPLACE_OLD, {BUSY_500, CHANGED_412, ENTITY("n", EARLIER)}, "has another ETag"},
        {DELETE_OLD,
         {BUSY_500, BATCH("412", "UpdateConditionNotSatisfied", "0:x"), ENTITY("n", LATER)},
         REFUSED "(UpdateConditionNotSatisfied)"},
        {DELETE_OLD,
         {BUSY_500, BATCH("412", "UpdateConditionNotSatisfied", "0:x"), ENTITY("n", EARLIER)},
         "RowKey '1' has another ETag than IfMatch"},
        {DELETE_OLD, {BUSY_500, BATCH("404", "ResourceNotFound", "0:x"), MISSING}, UNKNOWN},
        {DELETE_OLD, {BUSY_500, BUSY_500}, UNKNOWN},
    };
    run_cases(cases, COUNT(cases));
}

/* --- Refusals --- */

#define TWO "INSERT INTO Emp(PartitionKey, RowKey) VALUES ('p', '1'), ('p', '2')"

static void a_refusal_names_its_operation(void **state)
{
    (void)state;
    static const delivery_case cases[] = {
        {TWO, {BATCH("409", "EntityAlreadyExists", "1:x")}, "RowKey '2' exists"},
        {TWO, {BATCH("409", "EntityAlreadyExists", "x")}, "RowKey '1' exists"},
        {TWO, {BATCH("409", "EntityAlreadyExists", "2:x")}, "RowKey '1' exists"},
        {TWO, {BATCH("409", "EntityAlreadyExists", "x: y")}, "RowKey '1' exists"},
        {TWO, {BATCH("409", "EntityAlreadyExists", "-1:x")}, "RowKey '1' exists"},
        {TWO,
         {BATCH("400", "PropertyNameInvalid", "1:bad")},
         "refuses the entity with PartitionKey 'p', RowKey '2': bad"},
        {TWO, {BATCH("400", "PropertyNameInvalid", "12")}, "RowKey '1': 12; change it"},
        {TWO,
         {BATCH("413", "RequestBodyTooLarge", "0:big")},
         "in a smaller transaction (RequestBodyTooLarge)"},
        {TWO, {BATCH("409", "TableBeingDeleted", "0:x")}, "is being deleted"},
        {TWO, {BATCH("404", "TableNotFound", "0:x")}, "there is no such table"},
        {TWO, {{201, DATE, ""}, MISSING}, "the reply is not that of a Table service; " UNKNOWN},
        {TWO, {{200, DATE, ""}, LOST, LOST}, UNKNOWN},
        {"INSERT OR REPLACE INTO Emp(PartitionKey, RowKey) VALUES ('p', '1')",
         {{201, DATE, ""}, MISSING},
         UNKNOWN},
        {"INSERT INTO Emp(PartitionKey, RowKey) VALUES ('p', '1')", {{201, DATE, ""}}, ""},
        {"INSERT OR IGNORE INTO Emp(PartitionKey, RowKey) VALUES ('p', '1')",
         {{404, CODE("TableNotFound"), ""}},
         "there is no such table"},
        {"INSERT OR IGNORE INTO Emp(PartitionKey, RowKey) VALUES ('p', '1')", {MISSING, DONE}, ""},
    };
    run_cases(cases, COUNT(cases));
}

/* What is wrong with a row is told before anything is sent, or skipped if the statement says so. */
static void wrong_rows_are_not_sent(void **state)
{
    (void)state;
    static const delivery_case cases[] = {
        {"INSERT INTO Emp(PartitionKey, RowKey, WriteMode) VALUES ('p', '1', 'other')",
         {LOST},
         "PartitionKey 'p', RowKey '1': "},
        {"INSERT OR IGNORE INTO Emp(PartitionKey, RowKey) VALUES ('a/b', '1')", {LOST}, ""},
        {"DELETE FROM Emp WHERE PartitionKey = 'p' AND RowKey = '1'",
         {ENTITY("\\u00e9", S_I)},
         "PartitionKey 'p', RowKey '1': IfMatch is not the text of an ETag"},
        {"UPDATE Emp SET I = 1 WHERE PartitionKey = 'p' AND RowKey = '1'",
         {ENTITY("\\u00e9", S_I)},
         "PartitionKey 'p', RowKey '1': IfMatch is not the text of an ETag"},
        {"UPDATE Emp SET Properties = '[' WHERE PartitionKey = 'p' AND RowKey = '1'",
         {ENTITY("e", S_I)},
         "PartitionKey 'p', RowKey '1': "},
    };
    run_cases(cases, COUNT(cases));
}

/* --- A reply without end --- */

enum { TOO_MUCH = 17 << 20 };

static char *answer_too_much(const char *request, int number)
{
    (void)number;
    if (strncmp(request, "GET", 3) == 0) {
        return canned_reply(404, CODE("ResourceNotFound"), "");
    }
    char *body = malloc(TOO_MUCH + 1);
    assert_non_null(body);
    memset(body, 'x', TOO_MUCH);
    body[TOO_MUCH] = 0;
    char *reply = canned_reply(201, DATE, body);
    free(body);
    return reply;
}

static void a_reply_that_is_too_big_leaves_a_doubt(void **state)
{
    (void)state;
    open_remote(answer_too_much);
    expect_sql("CREATE VIRTUAL TABLE Emp USING pt_service(I Int32, account=hr, retries=0)", "");
    assert_int_equal(sqlite3_exec(db, "INSERT INTO Emp(PartitionKey, RowKey) VALUES ('p', '1')",
                                  NULL, NULL, NULL),
                     SQLITE_IOERR);
    assert_non_null(strstr(sqlite3_errmsg(db), UNKNOWN));
    assert_int_equal(canned_take_requests(), 1);
    close_remote();
}

/* --- Without memory --- */

/* Whoever asks gets the same: a write fails, but the entity is there; a delete finds none. */
static char *answer_doubtfully(const char *request, int number)
{
    static const scripted_reply missing = BATCH("404", "ResourceNotFound", "0:x");
    static const scripted_reply found = ENTITY("n", LATER ",\"I\":5");
    (void)number;
    if (strstr(request, "/$batch") != NULL) {
        return canned_reply(missing.status, missing.headers, missing.body);
    }
    return strncmp(request, "GET", 3) == 0 ? canned_reply(found.status, AZURE, found.body)
                                           : canned_reply(500, DATE, "");
}

static void a_doubt_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const writes[] = {
        "INSERT OR REPLACE INTO Emp(PartitionKey, RowKey, I) VALUES ('p', '1', 5)",
        "INSERT INTO Emp(PartitionKey, RowKey, WriteMode) VALUES ('p', '1', 'delete'), ('p', '2', "
        "'delete')",
    };
    open_remote(answer_doubtfully);
    expect_sql("CREATE VIRTUAL TABLE Emp USING pt_service(I Int32, account=hr, retries=0)", "");
    expect_sql("SELECT I FROM Emp WHERE PartitionKey = 'p' AND RowKey = '1'", "5\n");
    for (size_t i = 0; i < COUNT(writes); i++) {
        bool hit = true;
        int failures = 0;
        assert_int_equal(sqlite3_exec(db, writes[i], NULL, NULL, NULL), SQLITE_OK);
        for (int n = 0; hit; n++) {
            failing_malloc_arm(n, false);
            int rc = sqlite3_exec(db, writes[i], NULL, NULL, NULL);
            hit = failing_malloc_disarm();
            failures += hit;
            if (rc != SQLITE_OK && !(hit && rc == SQLITE_NOMEM)) {
                fail_msg("%s: %d %s", writes[i], rc, sqlite3_errmsg(db));
            }
        }
        assert_true(failures > 10);
    }
    close_remote();
}

/* Without an answer before, nobody knows what time it is there. */
static void the_first_request_of_all_may_be_lost(void **state)
{
    (void)state;
    static const scripted_reply replies[REPLIES_MAX] = AFTER_409(EARLIER ",\"I\":5");
    open_remote(answer_as_written);
    expect_sql("CREATE VIRTUAL TABLE Emp USING pt_service(I Int32, account=hr, retries=1)", "");
    script = replies;
    script_place = 0;
    assert_int_equal(sqlite3_exec(db,
                                  "INSERT INTO Emp(PartitionKey, RowKey, I) VALUES ('p', '1', 5)",
                                  NULL, NULL, NULL),
                     SQLITE_IOERR);
    assert_non_null(strstr(sqlite3_errmsg(db), UNKNOWN));
    close_remote();
}

/* An UPDATE that needs the whole entity reads it once more. */
static void an_update_sees_that_the_entity_has_changed(void **state)
{
    (void)state;
    static const delivery_case cases[] = {
        {"UPDATE Emp SET S = NULL WHERE PartitionKey = 'p' AND RowKey = '1'",
         {ENTITY("e", S_I), MISSING},
         "has changed since the statement read it; run the transaction again"},
        {"UPDATE Emp SET S = NULL WHERE PartitionKey = 'p' AND RowKey = '1'",
         {ENTITY("e", S_I), ENTITY("f", S_I)},
         "has changed since the statement read it; run the transaction again"},
        {"UPDATE Emp SET S = NULL WHERE PartitionKey = 'p' AND RowKey = '1'",
         {ENTITY("e", S_I), ENTITY("e", S_I), DONE},
         ""},
    };
    run_cases(cases, COUNT(cases));
}

static void requests_that_cannot_be_sent_have_done_nothing(void **state)
{
    (void)state;
    open_remote(answer_as_written);
    expect_sql("SELECT pt_service_account('away', 'AccountName=a;AccountKey=" REMOTE_KEY
               ";TableEndpoint=http://127.0.0.1:1/a') IS NULL",
               "0\n");
    expect_sql("CREATE VIRTUAL TABLE Away USING pt_service(account=away, retries=0)", "");
    expect_sql("CREATE VIRTUAL TABLE Nobody USING pt_service(account=nobody)", "");
    assert_int_equal(sqlite3_exec(db, "INSERT INTO Away(PartitionKey, RowKey) VALUES ('p', '1')",
                                  NULL, NULL, NULL),
                     SQLITE_IOERR);
    assert_non_null(strstr(sqlite3_errmsg(db), "no connection to http://127.0.0.1:1/a"));
    assert_null(strstr(sqlite3_errmsg(db), "may have been"));
    static const char unnamed[] =
        "1: ptable: Nobody: this connection has no account 'nobody'; name it first: SELECT "
        "pt_service_account('nobody', <connection string>)";
    expect_sql("INSERT INTO Nobody(PartitionKey, RowKey) VALUES ('p', '1')", unnamed);
    expect_sql("INSERT INTO Nobody(PartitionKey, RowKey) VALUES ('p', '1'), ('p', '2')", unnamed);
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO Away(PartitionKey, RowKey) VALUES ('p', '1')", "");
    expect_sql("CREATE VIRTUAL TABLE Same USING pt_service(account=hr, table=Away)", "");
    expect_sql("INSERT INTO Same(PartitionKey, RowKey) VALUES ('p', '2')",
               "2323: ptable: Same: PartitionKey 'p', RowKey '2': operation 1 (from 0) of the "
               "transaction is on another table of the service than earlier ones, on 'Away'; write "
               "each table in a transaction of its own (CommandsInBatchActOnDifferentPartitions)");
    expect_sql("ROLLBACK", "");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

/* --- Lists of operations --- */

static void add_entity(pt_remote_operations *list, const char *partition, const char *row)
{
    assert_true(
        pt_remote_operations_add(list, &(pt_remote_operation){.partition = pt_slice_text(partition),
                                                              .row = pt_slice_text(row)}));
}

/* The place of an entity in the list, or -1. */
static int place_of(const pt_remote_operations *list, const char *partition, const char *row)
{
    size_t place;
    return pt_remote_operations_find(list, pt_slice_text(partition), pt_slice_text(row), &place)
               ? (int)place
               : -1;
}

static void operations_are_found_in_any_order(void **state)
{
    (void)state;
    pt_remote_operations list = {0};
    assert_int_equal(place_of(&list, "p", "5"), -1);
    add_entity(&list, "p", "5");
    add_entity(&list, "p", "6");
    assert_int_equal(place_of(&list, "p", "5"), 0);
    assert_int_equal(place_of(&list, "p", "6"), 1);
    assert_int_equal(place_of(&list, "p", "7"), -1);
    assert_int_equal(place_of(&list, "o", "5"), -1);
    assert_int_equal(place_of(&list, "q", "5"), -1);
    add_entity(&list, "o", "9");
    add_entity(&list, "r", "1");
    assert_int_equal(place_of(&list, "p", "6"), 1);
    assert_int_equal(place_of(&list, "r", "1"), 3);
    assert_int_equal(place_of(&list, "s", "5"), -1);
    pt_remote_operations_cut(&list, 0);
    add_entity(&list, "p", "1");
    assert_int_equal(place_of(&list, "p", "1"), 0);
    assert_int_equal(place_of(&list, "q", "1"), -1);
    pt_remote_operations_free(&list);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_found_in_any_order),
        cmocka_unit_test(an_entity_tells_if_it_was_replaced),
        cmocka_unit_test(an_entity_tells_only_what_was_not_done),
        cmocka_unit_test(a_refusal_names_its_operation),
        cmocka_unit_test(wrong_rows_are_not_sent),
        cmocka_unit_test(a_reply_that_is_too_big_leaves_a_doubt),
        cmocka_unit_test(a_doubt_may_run_out_of_memory),
        cmocka_unit_test(the_first_request_of_all_may_be_lost),
        cmocka_unit_test(an_update_sees_that_the_entity_has_changed),
        cmocka_unit_test(requests_that_cannot_be_sent_have_done_nothing),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
