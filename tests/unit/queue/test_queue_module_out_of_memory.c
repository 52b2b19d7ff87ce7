/*
 * Out of memory in every statement on a queue: each allocation fails once, alone or with all behind
 * it. What fails has done nothing.
 */
#include "fixtures/queue_requests.h"

#include "faults/failing_malloc.h"

static sqlite3 *db;

/* What a connection needs to look at before anything fails. */
static const char *const queue_before =
    "CREATE VIRTUAL TABLE jobs USING pt_queue(max_dequeue_count=2);"
    "INSERT INTO jobs(Body, TimeToLive) VALUES ('expired', 1e-7);"
    "INSERT INTO jobs(Body) VALUES (zeroblob(5000)), ('b'), ('c');"
    "INSERT INTO jobs(Body, VisibilityTimeout) VALUES ('later', 60);"
    "CREATE TEMP TABLE held AS SELECT MessageId AS id, PopReceipt AS receipt, Body AS was FROM "
    "jobs";

static void make_queue(void)
{
    run(db, "%s", queue_before);
}

static void drop_queue(void)
{
    run(db, "DROP TABLE held; DELETE FROM pt_tables; DROP TABLE jobs");
}

/* Everything that can be seen of the store's tables; for sqlite3_free. */
static char *look(void)
{
    sqlite3_value *seen = evaluate(
        db,
        "(SELECT group_concat(concat, ' ') FROM (SELECT hex(Body) || '/' || MessageId || '/' || "
        "PopReceipt || '/' || DequeueCount || '/' || ifnull(ExpirationTime, '') AS concat FROM "
        "jobs)) || (SELECT group_concat(TableName || '=' || Entities || '/' || Bytes, ' ') FROM "
        "pt_tables)");
    char *text = sqlite3_mprintf("%s", sqlite3_value_text(seen));
    sqlite3_value_free(seen);
    return text;
}

/* --- The operations --- */

typedef int (*operation)(void);

static int execute_text(const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int insert_small(void)
{
    return execute_text("INSERT INTO jobs(Body, VisibilityTimeout, TimeToLive) VALUES ('n', 1, 9)");
}

static int insert_large(void)
{
    return execute_text("INSERT INTO jobs(Body) VALUES (hex(zeroblob(3000)))");
}

static int peek(void)
{
    return execute_text(
        "SELECT *, PopReceipt, MessageKey FROM jobs WHERE TimeNextVisible >= '2000' "
        "ORDER BY TimeNextVisible DESC");
}

#define HELD " WHERE (MessageId, PopReceipt) IN (SELECT id, receipt FROM held"

static int update_body(void)
{
    return execute_text("UPDATE jobs SET Body = zeroblob(3000), VisibilityTimeout = 9" HELD
                        " WHERE typeof(was) = 'blob')");
}

static int update_timeout(void)
{
    return execute_text("UPDATE jobs SET VisibilityTimeout = 9" HELD " WHERE was = 'b')");
}

static int delete_message(void)
{
    return execute_text("DELETE FROM jobs" HELD " WHERE typeof(was) = 'blob')");
}

static int hold_none(void)
{
    int rc = execute_text("DELETE FROM jobs WHERE MessageId = 'x' AND PopReceipt = 'y'");
    return rc == SQLITE_CONSTRAINT_VTAB ? SQLITE_OK : rc;
}

static int declare_again(void)
{
    int rc = execute_text("CREATE VIRTUAL TABLE again USING pt_queue(table=new, limits=azure)");
    int dropped = rc == SQLITE_OK ? execute_text("DROP TABLE again") : rc;
    return dropped == SQLITE_OK ? execute_text("DELETE FROM pt_tables WHERE TableName = 'new'")
                                : dropped;
}

/* Requests are made before anything fails. */
static pt_queue_request request;

static int ask(void)
{
    int rc = send_request(db, "jobs", &request);
    assert_true(rc != SQLITE_OK || request.message_count >= 1);
    pt_queue_request_clear(&request);
    return rc;
}

static void prepare_get(void)
{
    request = get_request(db, "3", "60");
}

static void prepare_poison(void)
{
    run(db, "CREATE VIRTUAL TABLE always USING pt_queue(table=jobs, max_dequeue_count=0)");
    for (int i = 0; i < 2; i++) {
        pt_queue_request handed_out = get_messages(db, "always", "2", "60");
        end_request(&handed_out);
        run(db, "UPDATE jobs SET VisibilityTimeout = 0 WHERE (MessageId, PopReceipt) IN (SELECT "
                "MessageId, PopReceipt FROM jobs WHERE DequeueCount > 0)");
    }
    run(db, "DROP TABLE always");
    request = get_request(db, "3", "60");
}

static void prepare_update(void)
{
    sqlite3_value *id = evaluate(db, "(SELECT id FROM held WHERE typeof(was) = 'blob')");
    sqlite3_value *receipt = evaluate(db, "(SELECT receipt FROM held WHERE typeof(was) = 'blob')");
    request = (pt_queue_request){.kind = PT_QUEUE_UPDATE,
                                 .id = id,
                                 .receipt = receipt,
                                 .visibility = evaluate(db, "5"),
                                 .body = evaluate(db, "hex(zeroblob(2500))")};
}

static void prepare_keeping_update(void)
{
    prepare_update();
    sqlite3_value_free(request.body);
    request.body = NULL;
}

/* Texts of UTF-16 are converted. */
static void prepare_wide_update(void)
{
    sqlite3 *wide;
    prepare_update();
    assert_int_equal(sqlite3_open(":memory:", &wide), SQLITE_OK);
    run(wide, "PRAGMA encoding = 'UTF-16le'");
    char *id = sqlite3_mprintf("%Q", sqlite3_value_text(request.id));
    char *receipt = sqlite3_mprintf("%Q", sqlite3_value_text(request.receipt));
    end_request(&request);
    request = (pt_queue_request){.kind = PT_QUEUE_UPDATE,
                                 .id = evaluate(wide, id),
                                 .receipt = evaluate(wide, receipt),
                                 .visibility = evaluate(wide, "5"),
                                 .body = evaluate(wide, "'wide'")};
    sqlite3_free(id);
    sqlite3_free(receipt);
    close_database(wide);
}

static const struct trial {
    operation perform;
    void (*prepare)(void); /* a request, or NULL */
    bool reads;
} trials[] = {
    {insert_small, NULL, false},
    {insert_large, NULL, false},
    {peek, NULL, true},
    {update_body, NULL, false},
    {update_timeout, NULL, false},
    {delete_message, NULL, false},
    {hold_none, NULL, true},
    {ask, prepare_get, false},
    {ask, prepare_poison, false},
    {ask, prepare_update, false},
    {ask, prepare_keeping_update, false},
    {ask, prepare_wide_update, false},
    {declare_again, NULL, true},
};

/* --- The trials --- */

static void assert_unchanged(const char *before)
{
    char *after = look();
    assert_string_equal(after, before);
    sqlite3_free(after);
}

static void begin_trial(const struct trial *trial)
{
    make_queue();
    if (trial->prepare != NULL) {
        trial->prepare();
    }
}

static void end_trial(void)
{
    end_request(&request);
    request = (pt_queue_request){0};
    drop_queue();
}

static void try_all(const struct trial *trial, bool persistent)
{
    bool hit = true;
    begin_trial(trial);
    for (int n = 0; hit; n++) {
        char *before = look();
        failing_malloc_arm(n, persistent);
        int rc = trial->perform();
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || (hit && (rc & 0xff) == SQLITE_NOMEM));
        if (rc != SQLITE_OK || trial->reads) {
            run(db, "DELETE FROM pt_tables WHERE TableName = 'new'; DROP TABLE IF EXISTS again");
            assert_unchanged(before);
        } else if (hit) {
            end_trial();
            begin_trial(trial);
        }
        sqlite3_free(before);
    }
    end_trial();
}

static void what_fails_has_done_nothing(void **state)
{
    (void)state;
    sqlite3_int64 memory = sqlite3_memory_used();
    db = open_database("", ":memory:");
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        try_all(&trials[i], false);
        try_all(&trials[i], true);
    }
    close_database(db);
    assert_int_equal(sqlite3_memory_used(), memory);
}

int main(void)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation can fail */
    failing_malloc_install();
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_fails_has_done_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
