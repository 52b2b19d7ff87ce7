#include "faults/failing_malloc.h"
#include "fixtures/forked.h"
#include "unit/service/remote_database.h"

#include <sys/wait.h>
#include <time.h>

#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Name String, Age Int32, account=hr"

/* --- A service with partitions a to z of entities 1 to 9 --- */

/* The constant after `name` in a request, or "". */
static const char *constant_of(const char *request, const char *name)
{
    static char text[2][32];
    static int turn;
    char *value = text[turn ^= 1];
    const char *at = strstr(request, name);
    const char *end = at != NULL ? strpbrk(at += strlen(name), "%'") : NULL;
    snprintf(value, sizeof text[0], "%.*s", end != NULL ? (int)(end - at) : 0,
             at != NULL ? at : "");
    return value;
}

static char *answer_partition(const char *request)
{
    const char *partition = constant_of(request, "PartitionKey%20eq%20%27");
    return PAGE(NO_MORE, partition, "1", partition, "2");
}

static char *answer_entity(const char *request)
{
    const char *partition = constant_of(request, "(PartitionKey='");
    const char *row = constant_of(request, "RowKey='");
    if (strcmp(row, "none") < 0) {
        char *body = canned_format("{\"PartitionKey\":\"%s\",\"RowKey\":\"%s\",\"Age\":%d}",
                                   partition, row, atoi(row));
        char *reply = canned_reply(200, "", body);
        free(body);
        return reply;
    }
    return canned_reply(404, "x-ms-error-code: ResourceNotFound\r\n", "");
}

static char *answer_keys(const char *request, int number)
{
    (void)number;
    return strstr(request, "RowKey='") != NULL ? answer_entity(request) : answer_partition(request);
}

/* --- Several requests at once --- */

static int awaited; /* requests without reply that are let go together */

/* Answers nothing before so many requests are there; then the newest first. */
static char *answer_together(const char *request, int number)
{
    if (number % awaited != 0) {
        return CANNED_SILENCE;
    }
    for (int i = canned.open_count - 1; i >= 0; i--) {
        if (canned.open[i].request != request) {
            assert_true(canned_send(canned.open[i].socket, answer_keys(canned.open[i].request, 0)));
        }
    }
    return answer_keys(request, 0);
}

static void points_are_asked_for_sixteen_at_once(void **state)
{
    (void)state;
    awaited = 16;
    open_remote(answer_together);
    expect_sql(CREATE ", timeout=20)", "");
    expect_sql("WITH RECURSIVE n(i) AS (VALUES (10) UNION ALL SELECT i + 1 FROM n WHERE i < 41) "
               "SELECT count(*), min(RowKey), max(RowKey), sum(Age) FROM Employee WHERE "
               "PartitionKey = 'p' AND RowKey IN (SELECT i FROM n)",
               "32 10 41 816\n");
    assert_int_equal(canned_take_requests(), 32);
    close_remote();
}

static void partitions_are_read_eight_at_once_in_order(void **state)
{
    (void)state;
    awaited = 8;
    open_remote(answer_together);
    expect_sql(CREATE ", timeout=20)", "");
    expect_sql("SELECT group_concat(PartitionKey || RowKey, ' ') FROM (SELECT * FROM Employee "
               "WHERE PartitionKey IN ('h', 'c', 'b', 'g', 'a', 'd', 'e', 'f') ORDER BY "
               "PartitionKey, RowKey)",
               "a1 a2 b1 b2 c1 c2 d1 d2 e1 e2 f1 f2 g1 g2 h1 h2\n");
    assert_int_equal(canned_take_requests(), 8);
    awaited = 3;
    expect_sql("CREATE VIRTUAL TABLE Three USING pt_service(account=hr, parallel=3, timeout=20)",
               "");
    expect_sql("SELECT count(*) FROM Three WHERE PartitionKey IN ('a', 'b', 'c')", "6\n");
    close_remote();
}

/* --- LIMIT --- */

#define PARTITIONS "('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j')"

static int counted; /* requests of the connection at the last look */

/* So many requests were sent since the last look, read by the server or not. */
static void expect_sent(int requests)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT pt_service_requests() ->> '$.requests'", -1,
                                        &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int now = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    assert_int_equal(now - counted, requests);
    counted = now;
}

static void a_limit_asks_for_what_it_needs(void **state)
{
    (void)state;
    counted = 0;
    open_remote(answer_keys);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT PartitionKey, RowKey FROM Employee WHERE PartitionKey IN " PARTITIONS
               " LIMIT 2",
               "a 1\na 2\n");
    expect_sent(1);
    /* One partition, then two, then four. */
    expect_sql("SELECT PartitionKey, RowKey FROM Employee WHERE PartitionKey IN " PARTITIONS
               " LIMIT 1 OFFSET 6",
               "d 1\n");
    expect_sent(7);
    /* As many pages as the rows may be on. */
    expect_sql("SELECT count(*) FROM (SELECT 1 FROM Employee WHERE PartitionKey IN " PARTITIONS
               " LIMIT 2001)",
               "20\n");
    expect_sent(10);
    expect_sql("SELECT EXISTS (SELECT 1 FROM Employee WHERE PartitionKey IN " PARTITIONS ")",
               "1\n");
    expect_sent(1);
    close_remote();
}

/* A LIMIT that is no number of rows. */
static void plans_say_how_many_requests_a_limit_needs(void **state)
{
    (void)state;
    static const struct {
        const char *limit;
        const char *requests;
    } cases[] = {
        {"LIMIT 1000", "about 1 request"},
        {"LIMIT 1000 OFFSET 1", "about 2 requests"},
        {"LIMIT -1", "about 1 request for 1000 entities"},
        {"LIMIT 5000000000", "about 1 request for 1000 entities"},
        {"LIMIT 10 OFFSET -5", "about 1 request for 1000 entities"},
        {"LIMIT 10 OFFSET 5000000000", "about 1 request for 1000 entities"},
    };
    open_remote(answer_keys);
    expect_sql(CREATE ")", "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool offset = strstr(cases[i].limit, "OFFSET") != NULL;
        char *sql =
            sqlite3_mprintf("SELECT Age FROM Employee WHERE PartitionKey = 'p' %s", cases[i].limit);
        char *plan = sqlite3_mprintf("SCAN Employee VIRTUAL TABLE INDEX %d:partition scan: "
                                     "PartitionKey=?; %s",
                                     offset ? 1610612737 : 536870913, cases[i].requests);
        expect_plan(sql, plan);
        sqlite3_free(sql);
        sqlite3_free(plan);
    }
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static void a_limit_of_points_asks_for_as_many(void **state)
{
    (void)state;
    counted = 0;
    open_remote(answer_keys);
    expect_sql(CREATE ")", "");
    static const char select[] = "SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey "
                                 "IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 'none', 'so') LIMIT ";
    char *sql = sqlite3_mprintf("%s 3", select);
    expect_sql(sql, "1\n2\n3\n");
    expect_sent(3);
    sqlite3_free(sql);
    sql = sqlite3_mprintf("%s 2 OFFSET 8", select);
    expect_sql(sql, "9\n");
    expect_sent(11);
    sqlite3_free(sql);
    /* SQLite rejects entities: the next ones come in twice as many requests. The newest SQLite does
     * not tell the LIMIT then. */
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p' AND RowKey IN (1, 2, 3, 4, 5, "
               "6, 7, 8, 9) AND Age = 4 LIMIT 1",
               "4\n");
    expect_sent(sqlite3_libversion_number() < 3054000 ? 7 : 9);
    close_remote();
}

/* --- Pages ahead --- */

/* Four pages, each of two entities. */
static char *answer_two_of_many(const char *request, int number)
{
    static const char *const rows[] = {"1", "2", "3", "4", "5", "6", "7", "8"};
    static const char *const tokens[] = {TOKEN("t", "1"), TOKEN("t", "2"), TOKEN("t", "3"),
                                         NO_MORE};
    const char *token = strstr(request, "NextRowKey=");
    int page = token != NULL ? token[11] - '0' : 0;
    (void)number;
    return PAGE(tokens[page], "p", rows[2 * page], "p", rows[2 * page + 1]);
}

/* Steps through some rows; the statement has then sent so many requests. */
static void expect_requests(const char *sql, int rows, int requests)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    for (int i = 0; i < rows; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    }
    sqlite3_int64 sent = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    assert_int_equal(sent, requests);
    canned_take_requests();
    expect_sql("SELECT pt_service_requests() IS NULL", "0\n");
}

/* Counts each request when it is sent. */
#define SENT "(pt_service_requests() ->> '$.requests') - (SELECT n FROM base)"

static void later_pages_are_asked_for_early(void **state)
{
    (void)state;
    open_remote(answer_two_of_many);
    expect_sql(CREATE ")", "");
    static const struct {
        const char *limit;
        int rows;
        int requests;
    } cases[] = {
        {"", 1, 1},
        {"", 2, 2},
        {"", 3, 3},
        {"", 5, 4},
        {"", 8, 4},
        {"LIMIT 2", 2, 1},
        {"LIMIT 3", 1, 2},
        {"LIMIT 4 OFFSET 1", 1, 2},
        {"LIMIT 3", 3, 2},
        {"LIMIT 5", 3, 3},
        {"AND Name = 'n-6' LIMIT 1", 1, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_sql("DROP TABLE IF EXISTS base", "");
        expect_sql("CREATE TABLE base AS SELECT pt_service_requests() ->> '$.requests' AS n", "");
        char *sql = sqlite3_mprintf("SELECT " SENT ", RowKey FROM Employee WHERE PartitionKey = "
                                    "'p' %s",
                                    cases[i].limit);
        expect_requests(sql, cases[i].rows, cases[i].requests);
        sqlite3_free(sql);
    }
    close_remote();
}

/* A page that is asked for early needs no permission that the statement would not need. */
static void max_requests_is_for_pages_that_are_read(void **state)
{
    (void)state;
    open_remote(answer_two_of_many);
    expect_sql(CREATE ", max_requests=2)", "");
    expect_sql("SELECT count(*) FROM (SELECT RowKey FROM Employee WHERE PartitionKey = 'p' LIMIT "
               "4)",
               "4\n");
    canned_take_requests();
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT RowKey FROM Employee WHERE PartitionKey = 'p'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_ERROR);
    assert_non_null(strstr(sqlite3_errmsg(db), "needs more than 2 requests"));
    sqlite3_finalize(statement);
    assert_int_equal(canned_take_requests(), 2);
    expect_sql(
        "SELECT count(*) FROM (SELECT 1 FROM Employee WHERE PartitionKey IN ('a', 'b', 'c'))",
        "1: ptable: Employee: the statement needs more than 2 requests, which max_requests "
        "forbids; add a condition on PartitionKey or RowKey, or a LIMIT, or write fewer rows at "
        "once, or create the table with a larger max_requests (0: any number)");
    assert_in_range(canned_take_requests(), 1, 2); /* the second one may be given up at once */
    close_remote();
}

enum { MANY = 6000 };

/* Many entities, and then one that is longer than what the system keeps of a reply. */
static char *answer_with_a_large_page(const char *request, int number)
{
    (void)request;
    char *body = malloc(13 << 20);
    char *end = body + sprintf(body, "{\"value\":[");
    if (number == 1) {
        for (int i = 0; i < MANY; i++) {
            end += sprintf(end, "%s{\"RowKey\":\"%04d\"}", i > 0 ? "," : "", i);
        }
    } else {
        end += sprintf(end, "{\"RowKey\":\"x\",\"Name\":\"");
        memset(end, 'n', 12 << 20);
        end += 12 << 20;
        end += sprintf(end, "\"}");
    }
    strcpy(end, "]}");
    char *reply = canned_reply(200, number == 1 ? TOKEN("t", "r") : NO_MORE, body);
    free(body);
    return reply;
}

/* The rows of a page may take their time. The next page comes in meanwhile. */
static void a_page_comes_while_rows_are_read(void **state)
{
    (void)state;
    open_remote(answer_with_a_large_page);
    expect_sql(CREATE ")", "");
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT length(Name) FROM Employee WHERE PartitionKey "
                                        "= 'p'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        if (i > MANY / 2 && i % 64 == 0 && canned_sent() < 2) {
            usleep(100000);
        }
    }
    assert_int_equal(canned_sent(), 2);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 12 << 20);
    sqlite3_finalize(statement);
    close_remote();
}

/* A statement may take a long time for its rows, longer than a request may take. */
static void rows_may_be_read_slowly(void **state)
{
    (void)state;
    open_remote(answer_two_of_many);
    expect_sql(CREATE ", timeout=1, retries=0, max_requests=4)", "");
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT RowKey FROM Employee WHERE PartitionKey = 'p'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        if (i == 1) {
            /* The next page has been asked for. libcurl itself bears the shorter time. */
            usleep(getenv("LONG") != NULL ? 2100000 : 1050000);
        }
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    close_remote();
}

/* --- URLs --- */

/* In one partition, where none but RowKeys are asked for, and in others. */
static char *answer_without_partition(const char *request, int number)
{
    (void)number;
    bool rows_only = strstr(request, "select=RowKey") != NULL;
    return canned_reply(200, NO_MORE,
                        rows_only ? "{\"value\":[{\"RowKey\":\"1\"},{\"RowKey\":\"2\",\"Age\":3}]}"
                                  : "{\"value\":[{\"RowKey\":\"1\",\"PartitionKey\":\"r\"}]}");
}

/* The statement knows the partition. */
static void a_partition_is_not_asked_for_its_key(void **state)
{
    (void)state;
    open_remote(answer_without_partition);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT count(*) FROM Employee WHERE PartitionKey = 'p'", "2\n");
    assert_true(was_sent("%27&$select=RowKey HTTP"));
    expect_sql("SELECT PartitionKey, RowKey, Age FROM Employee WHERE PartitionKey IN ('p', 'q')",
               "p 1 NULL\np 2 3\nq 1 NULL\nq 2 3\n");
    expect_sql("SELECT hex(EntityKey) FROM Employee WHERE PartitionKey = 'p' LIMIT 1", "700031\n");
    canned_take_requests();
    expect_sql("SELECT count(*) FROM Employee WHERE PartitionKey > 'p'", "1\n");
    expect_sql("SELECT count(*) FROM Employee WHERE PartitionKey = 'r' || char(7)", "0\n");
    /* The filter might find others. */
    expect_sql("SELECT count(*) FROM Employee('a eq 1) or (b eq 2') WHERE PartitionKey = 'r'",
               "1\n");
    expect_sql("SELECT count(*) FROM Employee('a eq 1) or (b eq 2') WHERE PartitionKey = 'p'",
               "0\n");
    assert_false(was_sent("$select=RowKey"));
    close_remote();
}

/* Selects from partition p with a filter of so many letters. */
static void expect_filter_of(int letters, const char *expected)
{
    char *filter = malloc((size_t)letters + 1);
    memset(filter, 'a', (size_t)letters);
    filter[letters] = 0;
    char *sql =
        sqlite3_mprintf("SELECT count(Age) FROM Employee(%Q) WHERE PartitionKey = 'p'", filter);
    expect_sql(sql, expected);
    sqlite3_free(sql);
    free(filter);
}

/* What need not be in a URL is left out of one that would be too long. */
static void long_urls_leave_out_what_they_can(void **state)
{
    (void)state;
    open_remote(answer_keys);
    expect_sql(CREATE ")", "");
    expect_filter_of(7300, "2\n");
    assert_true(was_sent("aaa%29&$select=PartitionKey%2CRowKey%2CAge HTTP"));
    expect_filter_of(7440, "2\n");
    assert_true(was_sent("aaa%29 HTTP"));
    canned_take_requests();
    expect_filter_of(7500, "18: ptable: Employee: the Filter makes a URL of 7550 bytes, and the "
                           "service takes about 7500; write a shorter one, or several that are "
                           "joined by OR");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static char *answer_with_long_tokens(const char *request, int number)
{
    (void)request;
    char *token = malloc(8001);
    memset(token, 't', 8000);
    token[8000] = 0;
    char *header = canned_format("x-ms-continuation-NextRowKey: %s\r\n", token);
    char *reply = PAGE(number == 1 ? header : NO_MORE, "p", number == 1 ? "1" : "2");
    free(token);
    free(header);
    return reply;
}

/* What the service gives, it takes. */
static void tokens_may_be_long(void **state)
{
    (void)state;
    open_remote(answer_with_long_tokens);
    expect_sql(CREATE ")", "");
    expect_sql("SELECT RowKey FROM Employee WHERE PartitionKey = 'p'", "1\n2\n");
    assert_true(was_sent("%27&$select=RowKey HTTP"));
    assert_true(was_sent("%27&NextRowKey=ttt"));
    close_remote();
}

/* --- Ends --- */

static char *answer_all_but_c(const char *request, int number)
{
    return strcmp(constant_of(request, "PartitionKey%20eq%20%27"), "c") == 0
               ? canned_reply(400, "x-ms-error-code: InvalidInput\r\n", "")
               : answer_keys(request, number);
}

/* Rows before the failed request have been given; its failure ends the statement, and nothing of it
 * disturbs the next one. */
static void one_failure_ends_all(void **state)
{
    (void)state;
    open_remote(answer_all_but_c);
    expect_sql(CREATE ")", "");
    for (int i = 0; i < 3; i++) {
        expect_sql("SELECT PartitionKey FROM Employee WHERE PartitionKey IN " PARTITIONS,
                   "a\na\nb\nb\n1: ptable: Employee: account 'hr', table 'Employee': the service "
                   "refuses the request; check the endpoint and the name of the table "
                   "(InvalidInput)");
        expect_sql("SELECT PartitionKey FROM Employee WHERE PartitionKey IN ('d', 'e')",
                   "d\nd\ne\ne\n");
    }
    close_remote();
}

static char *answer_busily_at_first(const char *request, int number)
{
    return number <= 8 ? canned_reply(503, "Retry-After: 1\r\n", "") : answer_keys(request, number);
}

/* Requests that are refused at the same time wait at the same time. */
static void one_pause_is_for_all(void **state)
{
    (void)state;
    open_remote(answer_busily_at_first);
    expect_sql(CREATE ")", "");
    time_t begun = time(NULL);
    expect_sql("SELECT count(*) FROM Employee WHERE PartitionKey IN " PARTITIONS, "20\n");
    assert_in_range(time(NULL) - begun, 1, 5);
    assert_int_equal(canned_take_requests(), 18);
    close_remote();
}

static void statements_may_stop_and_overlap(void **state)
{
    (void)state;
    static const char all[] = "SELECT PartitionKey || RowKey FROM Employee WHERE PartitionKey IN "
                              "('a', 'b', 'c')";
    sqlite3_stmt *first;
    sqlite3_stmt *second;
    open_remote(answer_keys);
    expect_sql(CREATE ")", "");
    assert_int_equal(sqlite3_prepare_v2(db, all, -1, &first, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, all, -1, &second, NULL), SQLITE_OK);
    static const char *const keys[] = {"a1", "a2", "b1", "b2", "c1", "c2"};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(sqlite3_step(first), SQLITE_ROW);
        assert_int_equal(sqlite3_step(second), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(first, 0), keys[i]);
        assert_string_equal((const char *)sqlite3_column_text(second, 0), keys[i]);
        if (i == 3) {
            expect_sql("SELECT a.RowKey, b.PartitionKey FROM Employee a JOIN Employee b ON "
                       "b.RowKey = a.Name WHERE a.PartitionKey = 'a' AND b.PartitionKey = 'z'",
                       "1 z\n2 z\n");
        }
    }
    sqlite3_reset(first);
    for (int i = 0; i < 3; i++) { /* in the middle, with requests under way */
        assert_int_equal(sqlite3_step(first), SQLITE_ROW);
        sqlite3_reset(first);
    }
    assert_int_equal(sqlite3_step(second), SQLITE_DONE);
    sqlite3_finalize(first);
    sqlite3_finalize(second);
    close_remote();
}

/* A process that is forked while requests are under way. The child cannot have the replies, and
 * runs statements of its own. */
static void a_child_reads_for_itself(void **state)
{
    (void)state;
    static const char all[] = "SELECT PartitionKey || RowKey FROM Employee WHERE PartitionKey IN "
                              "('a', 'b', 'c')";
    sqlite3_stmt *statement;
    open_remote(answer_keys);
    expect_sql(CREATE ")", "");
    assert_int_equal(sqlite3_prepare_v2(db, all, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    pid_t child = fork();
    if (child == 0) {
        bool first = sqlite3_step(statement) == SQLITE_ROW;
        bool refused = sqlite3_step(statement) == SQLITE_IOERR;
        sqlite3_finalize(statement);
        sqlite3_prepare_v2(db, all, -1, &statement, NULL);
        int rows = 0;
        while (sqlite3_step(statement) == SQLITE_ROW) {
            rows++;
        }
        sqlite3_finalize(statement);
        end_forked(first && refused && rows == 6 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    close_remote();
}

/* Its parent receives the next page. */
static void a_child_keeps_the_page_that_has_come(void **state)
{
    (void)state;
    sqlite3_stmt *statement;
    open_remote(answer_with_a_large_page);
    expect_sql(CREATE ")", "");
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT RowKey FROM Employee WHERE PartitionKey = 'p'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    for (int i = 0; i < MANY / 2 + 2; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    }
    pid_t child = fork();
    if (child == 0) {
        int rows = 0;
        while (rows < 100 && sqlite3_step(statement) == SQLITE_ROW) {
            rows++;
        }
        end_forked(rows == 100 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = MANY / 2 + 2; i < MANY + 1; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    close_remote();
}

/* --- Out of memory --- */

static void reading_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT count(Name) FROM Employee WHERE PartitionKey IN " PARTITIONS,
        "SELECT count(RowKey) FROM Employee WHERE PartitionKey = 'p' AND RowKey IN (1, 2, 3)",
        "SELECT count(*) FROM (SELECT 1 FROM Employee WHERE PartitionKey IN " PARTITIONS
        " LIMIT 3)",
        "SELECT count(*) FROM Employee WHERE PartitionKey = 'a' || char(7)",
    };
    static const char *const answers[] = {"20\n", "3\n", "3\n", "0\n"};
    for (int i = 0; i < 4; i++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            open_remote(answer_keys);
            expect_sql(CREATE ", parallel=2)", "");
            sqlite3_stmt *statement = NULL;
            failing_malloc_arm(n, false);
            int rc = sqlite3_prepare_v2(db, statements[i], -1, &statement, NULL);
            rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
            hit = failing_malloc_disarm();
            assert_true(rc == SQLITE_ROW || (hit && rc == SQLITE_NOMEM));
            if (rc == SQLITE_ROW) {
                assert_int_equal(sqlite3_column_int(statement, 0), atoi(answers[i]));
            }
            sqlite3_finalize(statement);
            expect_sql(statements[i], answers[i]);
            close_remote();
        }
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_are_asked_for_sixteen_at_once),
        cmocka_unit_test(partitions_are_read_eight_at_once_in_order),
        cmocka_unit_test(a_limit_asks_for_what_it_needs),
        cmocka_unit_test(plans_say_how_many_requests_a_limit_needs),
        cmocka_unit_test(a_limit_of_points_asks_for_as_many),
        cmocka_unit_test(later_pages_are_asked_for_early),
        cmocka_unit_test(max_requests_is_for_pages_that_are_read),
        cmocka_unit_test(a_page_comes_while_rows_are_read),
        cmocka_unit_test(rows_may_be_read_slowly),
        cmocka_unit_test(a_partition_is_not_asked_for_its_key),
        cmocka_unit_test(long_urls_leave_out_what_they_can),
        cmocka_unit_test(tokens_may_be_long),
        cmocka_unit_test(one_failure_ends_all),
        cmocka_unit_test(one_pause_is_for_all),
        cmocka_unit_test(statements_may_stop_and_overlap),
        cmocka_unit_test(a_child_reads_for_itself),
        cmocka_unit_test(a_child_keeps_the_page_that_has_come),
        cmocka_unit_test(reading_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
