/*
 * A queue that several processes fill and empty at once: every message is handed out once, and its
 * place in the queue is that of its commit.
 */
#include "fixtures/queue_requests.h"

#include <sys/wait.h>

enum { PROCESSES = 3, MESSAGES = 40 };

static sqlite3 *open_jobs(const char *folder, int number)
{
    char name[20];
    snprintf(name, sizeof name, "%d.db", number);
    sqlite3 *db = open_database(folder, name);
    sqlite3_busy_timeout(db, 20000);
    run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS jobs USING pt_queue(store='%q/q.ptable', sync=off)",
        folder);
    return db;
}

static void fill(sqlite3 *db, int number, int out)
{
    (void)out;
    for (int i = 0; i < MESSAGES; i++) {
        run(db, "INSERT INTO jobs(Body) VALUES ('%d')", number * MESSAGES + i);
    }
}

static void finish_message(sqlite3 *db, const pt_queue_message *message, int out)
{
    int body = atoi((const char *)message->body.data);
    assert_int_equal(write(out, &body, sizeof body), sizeof body);
    run(db, "DELETE FROM jobs WHERE MessageId = %Q AND PopReceipt = %Q", message->id,
        message->receipt);
}

static void empty(sqlite3 *db, int number, int out)
{
    (void)number;
    for (size_t got = 1; got != 0;) {
        pt_queue_request request = get_messages(db, "jobs", "2", "600");
        got = request.message_count;
        for (size_t i = 0; i < got; i++) {
            finish_message(db, &request.messages[i], out);
        }
        end_request(&request);
    }
}

/* Runs the work in several processes, which write to `out`. */
static void run_everywhere(const char *folder, void (*work)(sqlite3 *, int, int), int out)
{
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork_process();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            sqlite3 *db = open_jobs(folder, i);
            work(db, i, out);
            close_database(db);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
}

static void every_message_is_handed_out_once(void **state)
{
    int ends[2];
    bool seen[PROCESSES * MESSAGES] = {false};
    assert_int_equal(pipe(ends), 0);
    run_everywhere(*state, fill, ends[1]);
    sqlite3 *db = open_jobs(*state, PROCESSES);
    assert_number(db, PROCESSES * MESSAGES, "SELECT count(*) FROM jobs");
    assert_number(
        db, 0,
        "SELECT count(*) FROM (SELECT MessageId, InsertionTime, lag(MessageId) OVER () AS "
        "id, lag(InsertionTime) OVER () AS time FROM jobs) WHERE id >= MessageId OR time "
        ">= InsertionTime");
    assert_number(db, 0,
                  "SELECT count(*) FROM (SELECT CAST(Body AS INTEGER) AS n, lag(CAST(Body AS "
                  "INTEGER)) OVER (PARTITION BY CAST(Body AS INTEGER) / %d) AS before FROM jobs) "
                  "WHERE before >= n",
                  MESSAGES);
    close_database(db);
    run_everywhere(*state, empty, ends[1]);
    for (int i = 0; i < PROCESSES * MESSAGES; i++) {
        int body = -1;
        assert_int_equal(read(ends[0], &body, sizeof body), sizeof body);
        assert_true(body >= 0 && body < PROCESSES * MESSAGES && !seen[body]);
        seen[body] = true;
    }
    close(ends[0]);
    close(ends[1]);
    db = open_jobs(*state, PROCESSES);
    assert_number(db, 0, "SELECT Entities FROM pt_tables WHERE Store = '%q/q.ptable'",
                  (const char *)*state);
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        every_message_is_handed_out_once, make_folder, remove_folder)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
