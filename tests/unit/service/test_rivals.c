/*
 * The first attempt of a write gets no clear reply, and other programs write to the same entities
 * before the second one. Success is told only if a request of our own was performed, and failure
 * only if none was, unless the error says that nobody knows.
 */
#include "unit/service/remote_database.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define DATE "Date: Sat, 21 Nov 2026 09:00:00 GMT\r\n"
#define DOUBT "the change may have been applied: look before you repeat it"

enum { ROWS = 40 };

/* --- The service: one partition, whose RowKeys are numbers --- */

typedef struct world_row {
    bool exists;
    bool old; /* written before the service's clock was read */
    int version;
    int n;
} world_row;

typedef enum fault { DROPPED, LOST } fault;

static struct {
    world_row rows[ROWS + 1];
    int versions;
    const char *server; /* the header */
    fault first;        /* what happens to the first attempt */
    const char *rivals; /* what others do after it: i1, u1 and d1 insert, update and delete 1 */
    int attempts;
    int reads;     /* after the first attempt */
    int performed; /* requests that write */
} world;

static void write_row(int row, int n)
{
    world.rows[row] = (world_row){.exists = true, .version = ++world.versions, .n = n};
}

/* Each of them does what it can, as we would do it. */
static void let_rivals_write(void)
{
    for (const char *step = world.rivals; *step != 0; step += 2) {
        int row = step[1] - '0';
        bool exists = world.rows[row].exists;
        if (step[0] == 'i' && !exists) {
            write_row(row, 5);
        } else if (step[0] == 'u' && exists) {
            write_row(row, world.rows[row].n + 1);
        } else if (step[0] == 'd') {
            world.rows[row].exists = false;
        }
    }
}

/* The number behind a text, before `end`; 0: the text is not there. */
static int number_behind(const char *text, const char *end, const char *mark)
{
    const char *at = memmem(text, (size_t)(end - text), mark, strlen(mark));
    return at != NULL ? (int)strtol(at + strlen(mark), NULL, 10) : 0;
}

/* Performs one operation, from its request line on. Returns the status. */
static int perform_operation(const char *text, const char *end)
{
    bool inserts = strncmp(text, "POST", 4) == 0;
    int row = number_behind(text, end, inserts ? "\"RowKey\":\"" : "RowKey='");
    int version = number_behind(text, end, "If-Match: W/\"");
    bool conditional = memmem(text, (size_t)(end - text), "If-Match", 8) != NULL;
    const world_row *there = &world.rows[row];
    if (inserts && there->exists) {
        return 409;
    }
    if (conditional && !there->exists) {
        return 404;
    }
    if (version != 0 && version != there->version) {
        return 412;
    }
    if (strncmp(text, "DELETE", 6) == 0) {
        world.rows[row].exists = false;
    } else {
        write_row(row, number_behind(text, end, "\"n\":"));
    }
    return 204;
}

/* Performs a request that writes, as a whole or not at all. *refused is the operation's place. */
static int perform(const char *request, int *operations, int *refused)
{
    static const char mark[] = "Content-Transfer-Encoding: binary\r\n\r\n";
    static world_row before[ROWS + 1];
    const char *at = strstr(request, mark);
    int status = 204;
    *operations = 0;
    memcpy(before, world.rows, sizeof before);
    if (at == NULL) {
        status = perform_operation(request, request + strlen(request));
    }
    while (at != NULL && status == 204) {
        const char *next = strstr(at + 1, mark);
        status = perform_operation(at + strlen(mark), next != NULL ? next : at + strlen(at));
        *refused = *operations;
        *operations += 1;
        at = next;
    }
    if (status == 204) {
        world.performed++;
    } else {
        memcpy(world.rows, before, sizeof before);
    }
    return status;
}

static const char *code_of(int status)
{
    return status == 404   ? "ResourceNotFound"
           : status == 409 ? "EntityAlreadyExists"
                           : "UpdateConditionNotSatisfied";
}

static char *reply_with_server(int status, const char *body)
{
    char *headers = canned_format(DATE "%s", world.server);
    char *reply = canned_reply(status, headers, body);
    free(headers);
    return reply;
}

static char *reply_to_batch(int status, int operations, int refused)
{
    char *body = status == 204 ? canned_format("--b\r\n")
                               : canned_format("--b\r\n\r\nHTTP/1.1 %d x\r\nx: y\r\n\r\n"
                                               "{\"odata.error\":{\"code\":\"%s\",\"message\":{"
                                               "\"value\":\"%d:x\"}}}\r\n--b--\r\n",
                                               status, code_of(status), refused);
    for (int i = 0; status == 204 && i < operations; i++) {
        char *longer = canned_format("%sHTTP/1.1 204 x\r\n\r\n", body);
        free(body);
        body = longer;
    }
    char *reply = reply_with_server(202, body);
    free(body);
    return reply;
}

static char *reply_to_single(int status)
{
    char *body = status == 204
                     ? canned_format("%s", "")
                     : canned_format("{\"odata.error\":{\"code\":\"%s\"}}", code_of(status));
    char *reply = reply_with_server(status, body);
    free(body);
    return reply;
}

/* `page`: a member of a list of all rows, else the reply. */
static char *entity_text(int row, const char *separator)
{
    const world_row *there = &world.rows[row];
    return canned_format("%s{\"odata.etag\":\"W/\\\"%d\\\"\",\"PartitionKey\":\"p\",\"RowKey\":"
                         "\"%d\",\"Timestamp\":\"2026-11-21T%s:00:00Z\",\"n\":%d}",
                         separator, there->version, row, there->old ? "08" : "10", there->n);
}

static char *reply_to_read(const char *request)
{
    const char *key = strstr(request, "RowKey='");
    const char *line_end = strstr(request, "\r\n");
    char *body = canned_format("%s", "{\"value\":[");
    if (key != NULL && key < line_end) {
        int row = (int)strtol(key + strlen("RowKey='"), NULL, 10);
        free(body);
        if (!world.rows[row].exists) {
            return reply_to_single(404);
        }
        body = entity_text(row, "");
    } else {
        const char *separator = "";
        for (int row = 1; row <= ROWS; row++) {
            char *entity =
                world.rows[row].exists ? entity_text(row, separator) : canned_format("%s", "");
            separator = world.rows[row].exists ? "," : separator;
            char *longer = canned_format("%s%s", body, entity);
            free(entity);
            free(body);
            body = longer;
        }
        char *whole = canned_format("%s]}", body);
        free(body);
        body = whole;
    }
    char *reply = reply_with_server(200, body);
    free(body);
    return reply;
}

static char *answer_rival(const char *request, int number)
{
    (void)number;
    int operations = 0;
    int refused = 0;
    if (strncmp(request, "GET", 3) == 0) {
        world.reads += world.attempts != 0;
        return reply_to_read(request);
    }
    bool first = world.attempts++ == 0;
    if (!first || world.first == LOST) {
        int status = perform(request, &operations, &refused);
        if (!first) {
            return strstr(request, "/$batch") != NULL ? reply_to_batch(status, operations, refused)
                                                      : reply_to_single(status);
        }
    }
    let_rivals_write();
    return canned_reply(500, DATE "Retry-After: 0\r\n", "");
}

/* --- Cases --- */

#define INSERT(values) "INSERT INTO Lock(PartitionKey, RowKey, n) VALUES " values
#define DELETE_ANY                                                                                 \
    "INSERT INTO Lock(PartitionKey, RowKey, WriteMode, IfMatch) VALUES ('p', '1', 'delete', '*')"
#define CONDITIONAL(mode, match)                                                                   \
    "INSERT INTO Lock(PartitionKey, RowKey, n, WriteMode, IfMatch) VALUES ('p', '1', 5, '" mode    \
    "', '" match "')"
#define MODES(values) "INSERT INTO Lock(PartitionKey, RowKey, n, WriteMode) VALUES " values
#define ONE " WHERE PartitionKey = 'p' AND RowKey = '1'"
#define BOTH " WHERE PartitionKey = 'p' AND RowKey <= '2'"

/* `before` are the rows that are there, and old. Returns how the statement ended: 'd' done, '?' in
 * doubt, 'r' refused. */
static char run_case(const char *sql, const char *before, fault first, const char *rivals)
{
    world.first = first;
    world.rivals = rivals;
    world.attempts = 0;
    world.reads = 0;
    world.performed = 0;
    memset(world.rows, 0, sizeof world.rows);
    world.versions = 1; /* of what is there before */
    for (; *before != 0; before++) {
        world.rows[*before - '0'] = (world_row){.exists = true, .old = true, .version = 1, .n = 1};
    }
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        return 'd';
    }
    bool doubt = strstr(sqlite3_errmsg(db), DOUBT) != NULL;
    assert_int_equal(doubt, rc == SQLITE_IOERR);
    return doubt ? '?' : 'r';
}

/* In Azure's dialect a single delete is a batch. */
static void open_rivals(const char *server)
{
    memset(&world, 0, sizeof world);
    world.server = server;
    open_remote(answer_rival);
    expect_sql("CREATE VIRTUAL TABLE Lock USING pt_service(n Int32, account=hr, retries=1)", "");
    /* The service's clock is known from its replies. */
    expect_sql("SELECT count(*) FROM Lock WHERE PartitionKey = 'p'", "0\n");
}

#define AZURE "Server: Windows-Azure-Table/1.0\r\n"
#define AZURITE "Server: Azurite-Table/3.35.0\r\n"

static void what_can_be_known_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        const char *before;
        fault first;
        const char *rivals;
        char end;
    } cases[] = {
        {INSERT("('p', '1', 5)"), "", DROPPED, "", 'd'},
        {INSERT("('p', '1', 5)"), "", LOST, "", '?'},
        {INSERT("('p', '1', 5)"), "", DROPPED, "i1", '?'},
        {INSERT("('p', '1', 5)"), "", LOST, "d1", 'd'},
        {INSERT("('p', '1', 5)"), "", LOST, "d1i1", '?'},
        {INSERT("('p', '1', 5)"), "1", DROPPED, "", 'r'},
        {"UPDATE Lock SET n = n + 1" ONE, "1", DROPPED, "", 'd'},
        {"UPDATE Lock SET n = n + 1" ONE, "1", LOST, "", '?'},
        {"UPDATE Lock SET n = n + 1" ONE, "1", DROPPED, "u1", '?'},
        {"UPDATE Lock SET n = n + 1" ONE, "1", DROPPED, "d1", '?'},
        {"DELETE FROM Lock" ONE, "1", DROPPED, "", 'd'},
        {"DELETE FROM Lock" ONE, "1", LOST, "", '?'},
        {"DELETE FROM Lock" ONE, "1", DROPPED, "d1", '?'},
        {"DELETE FROM Lock" ONE, "1", DROPPED, "u1", '?'},
        {"DELETE FROM Lock" ONE, "1", LOST, "i1", '?'},
        {CONDITIONAL("merge", "W/\"1\""), "1", LOST, "", '?'},
        {CONDITIONAL("merge", "W/\"9\""), "1", DROPPED, "", 'r'},
        {CONDITIONAL("replace", "*"), "1", DROPPED, "d1", '?'},
        {DELETE_ANY, "1", LOST, "", '?'},
        /* what may be done twice */
        {"INSERT OR REPLACE INTO Lock(PartitionKey, RowKey, n) VALUES ('p', '1', 5)", "1", LOST,
         "u1", 'd'},
        {MODES("('p', '1', 5, 'merge')"), "", LOST, "", 'd'},
        {MODES("('p', '1', NULL, 'delete')"), "1", LOST, "", 'd'},
        {MODES("('p', '1', NULL, 'delete')"), "1", DROPPED, "d1", 'd'},
        {MODES("('p', '1', 5, 'replace'), ('p', '2', NULL, 'delete')"), "2", LOST, "", 'd'},
        /* batches: an old ETag of another operation proves that nothing is done */
        {INSERT("('p', '1', 5), ('p', '2', 5)"), "", DROPPED, "", 'd'},
        {INSERT("('p', '1', 5), ('p', '2', 5)"), "", LOST, "", '?'},
        {INSERT("('p', '1', 5), ('p', '2', 5)"), "", LOST, "d1", '?'},
        {INSERT("('p', '1', 5), ('p', '2', 5)"), "", DROPPED, "i2", '?'},
        {INSERT("('p', '1', 5), ('p', '2', 5)"), "2", DROPPED, "", 'r'},
        {"UPDATE Lock SET n = n + 1" BOTH, "12", LOST, "", '?'},
        {"UPDATE Lock SET n = n + 1" BOTH, "12", DROPPED, "u1", 'r'},
        {"UPDATE Lock SET n = n + 1" BOTH, "12", DROPPED, "u1u2", '?'},
        {"DELETE FROM Lock" BOTH, "12", LOST, "", '?'},
        {"DELETE FROM Lock" BOTH, "12", DROPPED, "d2", 'r'},
        /* a delete of what is gone is left out, and the doubt stays */
        {MODES("('p', '1', 5, NULL), ('p', '2', NULL, 'delete')"), "", DROPPED, "", 'd'},
        {MODES("('p', '2', NULL, 'delete'), ('p', '1', 5, NULL)"), "2", LOST, "", '?'},
    };
    static const char *const servers[] = {AZURE, AZURITE, ""};
    for (size_t s = 0; s < COUNT(servers); s++) {
        open_rivals(servers[s]);
        for (size_t i = 0; i < COUNT(cases); i++) {
            char end = run_case(cases[i].sql, cases[i].before, cases[i].first, cases[i].rivals);
            if (end != cases[i].end) {
                fail_msg("server %d, case %d, %s: %c instead of %c: %s", (int)s, (int)i,
                         cases[i].sql, end, cases[i].end, sqlite3_errmsg(db));
            }
        }
        close_remote();
    }
}

/* A statement whose success needs a request that was performed. */
static const char *const claims[] = {
    INSERT("('p', '1', 5)"),
    INSERT("('p', '1', 5), ('p', '2', 5)"),
    "UPDATE Lock SET n = n + 1" ONE,
    "UPDATE Lock SET n = n + 1" BOTH,
    "UPDATE Lock SET n = NULL" ONE,
    "DELETE FROM Lock" ONE,
    "DELETE FROM Lock" BOTH,
    CONDITIONAL("merge", "W/\"1\""),
    CONDITIONAL("replace", "*"),
    DELETE_ANY,
    MODES("('p', '1', 5, NULL), ('p', '2', NULL, 'delete')"),
    MODES("('p', '2', NULL, 'delete'), ('p', '1', 5, NULL)"),
    "BEGIN; UPDATE Lock SET n = n + 1" ONE "; " INSERT("('p', '2', 5)") "; COMMIT",
};

static void nobody_wins_by_what_another_did(void **state)
{
    (void)state;
    static const char *const befores[] = {"", "1", "2", "12"};
    static const char *const steps[] = {"", "i1", "u1", "d1", "i2", "u2", "d2"};
    int ends[128] = {0};
    open_rivals(AZURITE);
    for (size_t i = 0; i < COUNT(claims) * COUNT(befores) * COUNT(steps) * COUNT(steps); i++) {
        size_t step = i / COUNT(claims) / COUNT(befores);
        const char *sql = claims[i % COUNT(claims)];
        const char *before = befores[i / COUNT(claims) % COUNT(befores)];
        char rivals[8];
        sqlite3_snprintf(sizeof rivals, rivals, "%s%s", steps[step / COUNT(steps)],
                         steps[step % COUNT(steps)]);
        for (fault first = DROPPED; first <= LOST; first++) {
            char end = run_case(sql, before, first, rivals);
            /* Without an attempt the statement found no row. */
            bool right =
                end == '?' || world.attempts == 0 || (end == 'd') == (world.performed != 0);
            if (!right || world.reads > 1) {
                fail_msg("%s, before '%s', then '%s': %c, %d performed, %d reads: %s", sql, before,
                         rivals, end, world.performed, world.reads, sqlite3_errmsg(db));
            }
            ends[(int)end]++;
            sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        }
    }
    close_remote();
    assert_true(ends['d'] > 100 && ends['r'] > 100 && ends['?'] > 100);
}

/* --- Messages and requests --- */

static void a_doubt_names_the_entity_and_the_refusal(void **state)
{
    (void)state;
    open_rivals(AZURE);
    assert_int_equal(run_case(INSERT("('p', '1', 5), ('p', '2', 5)"), "", DROPPED, "i2"), '?');
    assert_string_equal(
        sqlite3_errmsg(db),
        "ptable: Lock: account 'hr', table 'Lock': an attempt had no clear reply, and the next one "
        "was "
        "refused at the entity with PartitionKey 'p', RowKey '2' (EntityAlreadyExists), perhaps "
        "because the first was done; " DOUBT);
    close_remote();
}

/* The first attempt is done, and the second one refused for a delete that is left out then. The
 * limit forbids to send the rest. */
static void a_limit_of_requests_leaves_the_doubt(void **state)
{
    (void)state;
    open_rivals(AZURE);
    expect_sql("CREATE VIRTUAL TABLE Few USING pt_service(n Int32, account=hr, table='Lock', "
               "retries=1, max_requests=1)",
               "");
    static const char sql[] = "INSERT INTO Few(PartitionKey, RowKey, n, WriteMode) VALUES "
                              "('p', '2', NULL, 'delete'), ('p', '1', 5, NULL)";
    assert_int_equal(run_case(sql, "2", LOST, ""), '?');
    assert_int_equal(world.performed, 1);
    assert_non_null(strstr(sqlite3_errmsg(db), "needs more than 1 requests"));
    close_remote();
}

/* Whatever the number of operations, one entity tells what can be told. */
static void a_lost_reply_to_a_batch_takes_one_read(void **state)
{
    (void)state;
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, INSERT("('p', 1, 1)"));
    for (int i = 2; i <= ROWS; i++) {
        sqlite3_str_appendf(text, ", ('p', %d, %d)", i, i);
    }
    char *sql = sqlite3_str_finish(text);
    open_rivals(AZURE);
    canned_take_requests();
    assert_int_equal(run_case(sql, "", LOST, ""), '?');
    assert_int_equal(canned_take_requests(), 3);
    assert_int_equal(run_case("DELETE FROM Lock WHERE PartitionKey = 'p'", "123456789", LOST, ""),
                     '?');
    assert_int_equal(canned_take_requests(), 4); /* one finds the rows */
    sqlite3_free(sql);
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_known_is_told),
        cmocka_unit_test(nobody_wins_by_what_another_did),
        cmocka_unit_test(a_doubt_names_the_entity_and_the_refusal),
        cmocka_unit_test(a_limit_of_requests_leaves_the_doubt),
        cmocka_unit_test(a_lost_reply_to_a_batch_takes_one_read),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
