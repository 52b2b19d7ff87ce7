/*
 * Processes that share a queue: every message is handed out to one of them and to no other while it
 * is hidden, in the order in which messages came; what a process held that was killed comes again;
 * and in a transaction a message is there if and only if the rows are that it came or went with.
 */
#include <sched.h>

#include "faults/mortal.h"
#include "fixtures/child.h"
#include "fixtures/scene.h"

enum { PRODUCERS = 2, CONSUMERS = 3, MESSAGES = 120 /* of each producer */, ID_SIZE = 40 };

#define BUSY_TIMEOUT "PRAGMA busy_timeout = 60000;"
#define QUEUE "CREATE VIRTUAL TABLE jobs USING pt_queue(sync=off);"

/* --- What the processes do --- */

/* What a consumer says of each message that it was handed out, in their order. */
typedef struct delivery {
    int64_t number; /* the message's body */
    int64_t dequeue_count;
    char id[ID_SIZE];
    char receipt[2 * ID_SIZE];
} delivery;

enum { BATCH = 3 };

typedef struct deliveries {
    delivery all[BATCH];
    int count;
} deliveries;

static int fail_as(const char *role, sqlite3 *db)
{
    fprintf(stderr, "%s: %s\n", role, sqlite3_errmsg(db));
    return 1;
}

/* produce path first: MESSAGES numbers from `first` on. */
static int produce(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    int64_t first = strtoll(arguments[1], NULL, 10);
    int code = code_of(db, BUSY_TIMEOUT);
    for (int64_t i = first; code == SQLITE_OK && i < first + MESSAGES; i++) {
        code = code_of(db, "INSERT INTO jobs(Body) VALUES ('%lld')", i);
    }
    return code == SQLITE_OK ? sqlite3_close(db) : fail_as("produce", db);
}

static int note_delivery(void *context, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    deliveries *got = context;
    delivery *next = &got->all[got->count++];
    *next = (delivery){.number = strtoll(values[0], NULL, 10),
                       .dequeue_count = strtoll(values[1], NULL, 10)};
    snprintf(next->id, sizeof next->id, "%s", values[2]);
    snprintf(next->receipt, sizeof next->receipt, "%s", values[3]);
    return 0;
}

/*
 * With a rollback journal a statement that reads the database keeps those from committing that it
 * may wait for, so it would not wait. BEGIN IMMEDIATE waits before anything is read.
 */
static int get(sqlite3 *db, bool immediate, deliveries *got)
{
    const char *sql = "SELECT Body, DequeueCount, MessageId, PopReceipt"
                      " FROM pt_queue_get('jobs', 3, 3600)";
    got->count = 0;
    int code = immediate ? code_of(db, "BEGIN IMMEDIATE") : SQLITE_OK;
    code = code == SQLITE_OK ? sqlite3_exec(db, sql, note_delivery, got, NULL) : code;
    return code == SQLITE_OK && immediate ? code_of(db, "COMMIT") : code;
}

static int work_off(sqlite3 *db, const deliveries *got)
{
    int code = SQLITE_OK;
    for (int i = 0; code == SQLITE_OK && i < got->count; i++) {
        const delivery *held = &got->all[i];
        code = code_of(db, "DELETE FROM jobs WHERE MessageId = %Q AND PopReceipt = %Q", held->id,
                       held->receipt);
        write_all(STDOUT_FILENO, held, sizeof *held);
    }
    return code;
}

/* consume path immediate: until the table `ended` has a row and nothing is left. */
static int consume(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    bool immediate = arguments[1][0] == '1';
    deliveries got = {.count = 0};
    int64_t ended = 0;
    int code = code_of(db, BUSY_TIMEOUT);
    while (code == SQLITE_OK && (ended == 0 || got.count > 0)) {
        ended = first_number(db, "SELECT count(*) FROM ended", 0);
        code = get(db, immediate, &got);
        code = code == SQLITE_OK ? work_off(db, &got) : code;
        if (got.count == 0) {
            sched_yield();
        }
    }
    return code == SQLITE_OK ? sqlite3_close(db) : fail_as("consume", db);
}

/* A message of `jobs` becomes a row of `done`, and is gone. */
#define WORK                                                                                       \
    "BEGIN IMMEDIATE; INSERT INTO held SELECT MessageId, PopReceipt, Body FROM"                    \
    " pt_queue_get('jobs', 1, 3600);"                                                              \
    "INSERT INTO done SELECT 'd', Body, 1 FROM held;"                                              \
    "DELETE FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM held);"  \
    "COMMIT"

/* An order and the message that it is to be worked off. */
#define ORDER                                                                                      \
    "BEGIN IMMEDIATE; INSERT INTO orders SELECT 'o', 1000 + count(*), 1 FROM orders;"              \
    "INSERT INTO jobs(Body) SELECT max(RowKey) FROM orders; COMMIT"

/* order path calls, work path calls: dies before that call. Otherwise says that it lives. */
static int transact(const char *sql, char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    int64_t calls = strtoll(arguments[1], NULL, 10);
    if (code_of(db, BUSY_TIMEOUT "CREATE TEMP TABLE held(MessageId, PopReceipt, Body);"
                                 "SELECT count(*) FROM orders, jobs, done") != SQLITE_OK) {
        return fail_as("transact", db);
    }
    mortal_begin(calls);
    int code = code_of(db, sql);
    mortal_begin(0);
    if (code != SQLITE_OK) {
        return fail_as("transact", db);
    }
    write_all(STDOUT_FILENO, &calls, sizeof calls);
    return sqlite3_close(db);
}

static child start_role(const char *role, const char *folder, int64_t number)
{
    char path[PATH_SIZE];
    char text[24];
    path_in(folder, "main.db", path);
    snprintf(text, sizeof text, "%lld", (long long)number);
    const char *const arguments[] = {path, text, NULL};
    return start_child(role, arguments);
}

static void await(child *process)
{
    int status = end_of_child(process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- Every message once --- */

/* Reads what a consumer was handed out, until it ends. */
static int64_t check_deliveries(child *consumer, int seen[PRODUCERS * MESSAGES])
{
    delivery last = {.number = -1};
    delivery next;
    int64_t count = 0;
    while (read_all(consumer->from, &next, sizeof next)) {
        assert_in_range(next.number, 0, PRODUCERS * MESSAGES - 1);
        assert_int_equal(next.dequeue_count, 1);
        assert_int_equal(seen[next.number]++, 0);
        assert_true(strcmp(last.id, next.id) < 0);
        last = next;
        count++;
    }
    await(consumer);
    return count;
}

static void share_the_work(const char *folder, const char *journal_mode, bool immediate)
{
    int seen[PRODUCERS * MESSAGES] = {0};
    child producers[PRODUCERS];
    child consumers[CONSUMERS];
    int64_t count = 0;
    sqlite3 *db = open_database(folder, "main.db");
    run(db,
        "PRAGMA journal_mode = %s;" BUSY_TIMEOUT QUEUE
        "CREATE VIRTUAL TABLE ended USING ptable(sync=off)",
        journal_mode);
    for (int i = 0; i < CONSUMERS; i++) {
        consumers[i] = start_role("consume", folder, immediate);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = start_role("produce", folder, (int64_t)i * MESSAGES);
    }
    for (int i = 0; i < PRODUCERS; i++) {
        await(&producers[i]);
    }
    run(db, "INSERT INTO ended VALUES ('', '', NULL)");
    for (int i = 0; i < CONSUMERS; i++) {
        count += check_deliveries(&consumers[i], seen);
    }
    assert_int_equal(count, PRODUCERS * MESSAGES);
    assert_number(db, 0, "SELECT count(*) FROM jobs");
    assert_number(db, 0, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs'");
    close_database(db);
}

static void messages_are_handed_out_once_in_wal_mode(void **state)
{
    share_the_work(*state, "wal", false);
}

static void messages_are_handed_out_once_with_a_journal(void **state)
{
    share_the_work(*state, "delete", true);
}

/* --- Two processes --- */

static int set_up(void **state)
{
    return begin_scene(state, QUEUE "CREATE TABLE o(x); INSERT INTO o VALUES (1);"
                                    "INSERT INTO jobs(Body) VALUES ('1'), ('2'), ('3')");
}

static void what_another_holds_is_not_handed_out(void **state)
{
    scene *both = *state;
    assert_peer_number(&both->other, 1, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    assert_number(both->db, 2, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    assert_peer_number(&both->other, 3, "SELECT Body FROM pt_queue_get('jobs', 3, 3600)");
    assert_number(both->db, 0, "SELECT count(*) FROM pt_queue_get('jobs')");
}

static void who_lost_a_message_cannot_delete_it(void **state)
{
    scene *both = *state;
    peer_run(&both->other, "CREATE TEMP TABLE mine AS SELECT MessageId, PopReceipt"
                           " FROM pt_queue_get('jobs', 1, 0.0000001)");
    assert_number(both->db, 2, "SELECT max(DequeueCount) FROM pt_queue_get('jobs', 3, 3600)");
    peer_fails(&both->other, SQLITE_CONSTRAINT_VTAB,
               "DELETE FROM jobs WHERE (MessageId, PopReceipt) IN mine");
    peer_says(&both->other, "(PopReceiptMismatch)");
    assert_number(both->db, 3, "SELECT count(*) FROM jobs");
}

/* A worker that dies says nothing; its messages come again when they are visible again. */
static void what_a_killed_process_held_comes_again(void **state)
{
    scene *both = *state;
    peer_run(&both->other, "SELECT * FROM pt_queue_get('jobs', 3, 0.05)");
    kill_peer(&both->other);
    int64_t got = 0;
    while (got < 3) {
        got += number(both->db,
                      "SELECT count(*) FROM pt_queue_get('jobs', 3, 3600) WHERE DequeueCount = 2");
        sched_yield();
    }
    assert_int_equal(got, 3);
    both->other = start_peer(both->folder, "main.db");
}

/* What was not committed has not been handed out. */
static void a_transaction_that_is_killed_gives_back(void **state)
{
    scene *both = *state;
    peer_run(&both->other, "BEGIN; SELECT * FROM pt_queue_get('jobs', 3, 3600)");
    run(both->db, "PRAGMA busy_timeout = 0");
    fails(both->db, SQLITE_BUSY, "SELECT * FROM pt_queue_get('jobs', 3, 3600)");
    kill_peer(&both->other);
    assert_number(both->db, 1, "SELECT max(DequeueCount) FROM pt_queue_get('jobs', 3, 3600)");
    both->other = start_peer(both->folder, "main.db");
}

/* SQLite does not wait for the main database while a statement reads it; the queue needs no lock of
 * it. */
static void a_writer_of_the_main_database_is_not_in_the_way(void **state)
{
    scene *both = *state;
    run(both->db, "PRAGMA busy_timeout = 0");
    peer_run(&both->other, "BEGIN IMMEDIATE; INSERT INTO o VALUES (2)");
    assert_number(both->db, 1, "SELECT Body FROM o, pt_queue_get('jobs', 1, 3600)");
    peer_run(&both->other, "COMMIT");
    assert_peer_number(&both->other, 2, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
}

static void another_writer_of_the_store_is_waited_for(void **state)
{
    scene *both = *state;
    run(both->db, "BEGIN");
    assert_number(both->db, 1, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    peer_run(&both->other, BUSY_TIMEOUT);
    peer_begins(&both->other, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    peer_waits(&both->other);
    run(both->db, "COMMIT");
    peer_ends(&both->other, SQLITE_OK);
    assert_int_equal(both->other.last.number, 2);
}

static void what_was_read_has_changed(void **state)
{
    scene *both = *state;
    run(both->db, "BEGIN");
    assert_number(both->db, 3, "SELECT count(*) FROM jobs");
    peer_run(&both->other, "SELECT * FROM pt_queue_get('jobs', 1, 3600)");
    fails(both->db, SQLITE_BUSY_SNAPSHOT, "SELECT * FROM pt_queue_get('jobs', 1, 3600)");
    run(both->db, "ROLLBACK");
    assert_number(both->db, 2, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
}

static void with_a_journal_a_reader_does_not_wait(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, BUSY_TIMEOUT QUEUE "INSERT INTO jobs(Body) VALUES ('1'), ('2'), ('3')");
    peer other = start_peer(*state, "main.db");
    peer_run(&other, "BEGIN; SELECT * FROM pt_queue_get('jobs', 1, 3600)");
    fails(db, SQLITE_BUSY, "SELECT * FROM pt_queue_get('jobs', 1, 3600)");
    says(db, "is being written by another process");
    says(db, "BEGIN IMMEDIATE before it, or use PRAGMA journal_mode=WAL");
    run(db, "PRAGMA busy_timeout = 0");
    fails(db, SQLITE_BUSY, "BEGIN IMMEDIATE; SELECT * FROM pt_queue_get('jobs', 1, 3600)");
    says(db, "wait longer with PRAGMA busy_timeout");
    run(db, "ROLLBACK");
    peer_run(&other, "COMMIT");
    assert_number(db, 2, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    stop_peer(&other);
    close_database(db);
}

/* Where the companion is gone, the queue's own INSERT hands out. */
static void without_the_companion(void **state)
{
    scene *both = *state;
    run(both->db, "DROP TABLE temp.ptable_companion");
    sqlite3_stmt *busy = NULL;
    sqlite3_prepare_v2(both->db, "VALUES (1), (2)", -1, &busy, NULL);
    assert_int_equal(sqlite3_step(busy), SQLITE_ROW);
    run(both->db, "BEGIN");
    assert_number(both->db, 1, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    run(both->db, "ROLLBACK");
    assert_number(both->db, 1, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
    fails(both->db, SQLITE_CONSTRAINT_VTAB, "SELECT * FROM pt_queue_get('jobs', 0)");
    says(both->db, "ptable: pt_queue_get: jobs: ");
    assert_number(both->db, 2, "SELECT Body FROM pt_queue_get('main.jobs', 1, 3600)");
    sqlite3_finalize(busy);
    assert_peer_number(&both->other, 3, "SELECT Body FROM pt_queue_get('jobs', 1, 3600)");
}

/* --- Messages and rows --- */

/* Each order is there, and either done or a message that nobody holds. */
static void check_orders(sqlite3 *db, int64_t orders, int64_t done)
{
    assert_number(db, orders, "SELECT count(*) FROM orders");
    assert_number(db, done, "SELECT count(*) FROM done");
    assert_number(db, orders - done, "SELECT count(*) FROM jobs WHERE DequeueCount = 0");
    assert_number(db, orders,
                  "SELECT count(*) FROM orders WHERE (RowKey IN (SELECT RowKey FROM done))"
                  " + (RowKey IN (SELECT Body FROM jobs)) = 1");
}

/* Lets the process die before each of its calls that change a file, until it lives. Each time the
 * transaction is there wholly or not at all; returns how many were. */
static int64_t die_at_each_call(const char *folder, const char *role, sqlite3 *db)
{
    int64_t before =
        number(db, "SELECT 2 * count(*) FROM orders") - number(db, "SELECT count(*) FROM jobs");
    int64_t calls = 0;
    bool died = true;
    while (died) {
        int64_t lives;
        child process = start_role(role, folder, ++calls);
        died = !read_all(process.from, &lives, sizeof lives);
        int status = end_of_child(&process);
        assert_true(died ? WIFSIGNALED(status) : WIFEXITED(status));
        int64_t orders = number(db, "SELECT count(*) FROM orders");
        check_orders(db, orders, number(db, "SELECT count(*) FROM done"));
    }
    assert_true(calls > 1); /* at least a record of the log was written */
    return number(db, "SELECT 2 * count(*) FROM orders") - number(db, "SELECT count(*) FROM jobs") -
           before;
}

static void messages_and_rows_come_and_go_together(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = wal;" BUSY_TIMEOUT QUEUE
            "CREATE VIRTUAL TABLE orders USING ptable(v, sync=off);"
            "CREATE VIRTUAL TABLE done USING ptable(v, sync=off)");
    assert_true(die_at_each_call(folder, "order", db) >= 1);
    for (int i = 0; i < 12; i++) {
        run(db, ORDER);
    }
    assert_true(die_at_each_call(folder, "work", db) >= 1);
    close_database(db);
}

static void rollback_takes_both_back(void **state)
{
    scene *both = *state;
    run(both->db, "BEGIN; INSERT INTO o VALUES (2); INSERT INTO jobs(Body) VALUES ('4'); ROLLBACK");
    assert_peer_number(&both->other, 3, "SELECT count(*) FROM jobs");
    run(both->db, "BEGIN; INSERT INTO o SELECT Body FROM pt_queue_get('jobs', 2, 3600); ROLLBACK");
    assert_peer_number(&both->other, 3, "SELECT count(*) FROM jobs WHERE DequeueCount = 0");
    run(both->db, "INSERT INTO o SELECT Body FROM pt_queue_get('jobs', 2, 3600)");
    assert_peer_number(&both->other, 2, "SELECT count(*) FROM jobs WHERE DequeueCount = 1");
    assert_peer_number(&both->other, 3, "SELECT count(*) FROM o");
}

static int run_role(char **argv)
{
    const char *role = argv[1];
    return strcmp(role, "produce") == 0 ? produce(argv + 2)
           : strcmp(role, "consume") == 0
               ? consume(argv + 2)
               : transact(strcmp(role, "order") == 0 ? ORDER : WORK, argv + 2);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    if (argc > 2) {
        return run_role(argv);
    }
    const struct CMUnitTest tests[] = {
        folder_test(messages_are_handed_out_once_in_wal_mode),
        folder_test(messages_are_handed_out_once_with_a_journal),
        scene_test(what_another_holds_is_not_handed_out),
        scene_test(who_lost_a_message_cannot_delete_it),
        scene_test(what_a_killed_process_held_comes_again),
        scene_test(a_transaction_that_is_killed_gives_back),
        scene_test(a_writer_of_the_main_database_is_not_in_the_way),
        scene_test(another_writer_of_the_store_is_waited_for),
        scene_test(what_was_read_has_changed),
        folder_test(with_a_journal_a_reader_does_not_wait),
        scene_test(without_the_companion),
        folder_test(messages_and_rows_come_and_go_together),
        scene_test(rollback_takes_both_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
