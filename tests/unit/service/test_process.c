/*
 * A process around the library for the Table service: forks, threads, signals, programs that it
 * starts, and a full table of descriptors.
 */
#include "fixtures/forked.h"
#include "unit/service/remote_database.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Age Int32, account=hr, retries=0)"
#define ALL "SELECT group_concat(RowKey, '') FROM Employee WHERE PartitionKey = 'p'"

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Three pages. */
static char *answer_with_pages(const char *request, int number)
{
    (void)number;
    if (strstr(request, "NextRowKey=2") != NULL) {
        return PAGE(TOKEN("p", "3"), "p", "3", "p", "4");
    }
    if (strstr(request, "NextRowKey=3") != NULL) {
        return PAGE(NO_MORE, "p", "5");
    }
    return PAGE(TOKEN("p", "2"), "p", "1", "p", "2");
}

static void open_employees(canned_answer *answer)
{
    open_remote(answer);
    expect_sql(CREATE, "");
}

/* --- Forks --- */

/* True if the statement gives this one row. */
static bool gives(const char *sql, const char *row)
{
    sqlite3_stmt *statement;
    bool same = sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW &&
                strcmp((const char *)sqlite3_column_text(statement, 0), row) == 0;
    return sqlite3_finalize(statement) == SQLITE_OK && same;
}

/* What the child does with the parent's connection and its statement, which is in its first page.
 */
static int use_in_child(sqlite3_stmt *statement)
{
    int rc = SQLITE_ROW;
    while (rc == SQLITE_ROW) {
        rc = sqlite3_step(statement);
    }
    if (rc != SQLITE_DONE && (rc != SQLITE_IOERR || strstr(sqlite3_errmsg(db), "forked") == NULL)) {
        return 1;
    }
    if (!gives(ALL, "12345")) {
        return 2;
    }
    sqlite3_finalize(statement);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 3;
}

static int wait_for_child(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_child_does_not_disturb_its_parent(void **state)
{
    (void)state;
    open_employees(answer_with_pages);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT RowKey FROM Employee WHERE PartitionKey = 'p'",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    pid_t child = fork();
    if (child == 0) {
        end_forked(use_in_child(statement));
    }
    assert_int_equal(wait_for_child(child), 0);
    int connections = canned_connections();
    for (int i = 2; i <= 5; i++) {
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(statement, 0), i);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    assert_int_equal(canned_connections(), connections); /* the parent's was left alone */
    expect_sql(ALL, "12345\n");
    close_remote();
}

/* --- Threads --- */

enum { THREADS = 6, ROUNDS = 40 };

static void *read_many_times(void *failures)
{
    for (int i = 0; i < ROUNDS; i++) {
        char *text = NULL;
        char **rows = NULL;
        int row_count = 0;
        int rc = sqlite3_get_table(db, ALL, &rows, &row_count, NULL, &text);
        if (rc != SQLITE_OK || row_count != 1 || strcmp(rows[1], "12345") != 0) {
            atomic_fetch_add((_Atomic int *)failures, 1);
        }
        sqlite3_free_table(rows);
        sqlite3_free(text);
    }
    return NULL;
}

static void threads_may_share_a_connection(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    _Atomic int failures = 0;
    open_employees(answer_with_pages);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_many_times, &failures), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(failures, 0);
    assert_int_equal(canned_connections(), 1);
    close_remote();
}

/* --- Interruptions and signals --- */

static char *never_answer(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_SILENCE;
}

static _Atomic int64_t interrupted_at;

static void *interrupt_soon(void *nothing)
{
    static const struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    interrupted_at = milliseconds();
    sqlite3_interrupt(db);
    return nothing;
}

/* It takes 200 ms at most, and more only if the machine is busy with other things. */
static void another_thread_may_interrupt(void **state)
{
    (void)state;
    static const char *const statements[] = {
        ALL,
        "SELECT * FROM Employee WHERE PartitionKey = 'p' AND RowKey IN ('1', '2', '3')",
        "SELECT * FROM pt_service_tables",
        "INSERT INTO pt_service_tables(Account, TableName) VALUES ('hr', 'New')",
        ("WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n LIMIT 5000) "
         "INSERT INTO Load(PartitionKey, RowKey) SELECT x % 50, x FROM n"),
    };
    open_employees(never_answer);
    expect_sql("CREATE VIRTUAL TABLE Load USING pt_service(account=hr, batch=split, parallel=64)",
               "");
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        int64_t shortest = INT64_MAX;
        for (int again = 0; again < 5 && shortest > 200; again++) {
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, NULL), 0);
            assert_int_equal(sqlite3_exec(db, statements[i], NULL, NULL, NULL), SQLITE_INTERRUPT);
            int64_t took = milliseconds() - interrupted_at;
            shortest = took < shortest ? took : shortest;
            pthread_join(thread, NULL);
        }
        assert_true(shortest <= 200);
    }
    close_remote();
}

static _Atomic int signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static char *answer_late(const char *request, int number)
{
    static const struct timespec pause = {.tv_nsec = 50000000};
    nanosleep(&pause, NULL);
    return answer_with_pages(request, number);
}

/* System calls end early, without SA_RESTART. */
static void signals_of_the_application_do_no_harm(void **state)
{
    (void)state;
    const struct sigaction counting = {.sa_handler = count_signal};
    const struct itimerval often = {{.tv_usec = 1000}, {.tv_usec = 1000}};
    const struct itimerval never = {{0}, {0}};
    open_employees(answer_late);
    sigaction(SIGALRM, &counting, NULL); /* for good: the last signal may come late */
    setitimer(ITIMER_REAL, &often, NULL);
    bool read = gives(ALL, "12345");
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(read);
    assert_true(signals > 10);
    close_remote();
}

/* --- Descriptors --- */

enum { FEW_DESCRIPTORS = 64 };

/* Takes all descriptors that the process may have. */
static int take_descriptors(int *taken)
{
    int count = 0;
    for (int fd = dup(1); fd >= 0; fd = dup(1)) {
        taken[count++] = fd;
    }
    return count;
}

/* The server needs one of those that become free, and libcurl may need several. */
static void too_few_descriptors_are_an_error(void **state)
{
    (void)state;
    int taken[FEW_DESCRIPTORS];
    struct rlimit before;
    open_remote(answer_with_pages);
    expect_sql("CREATE VIRTUAL TABLE Employee USING pt_service(account=hr, retries=0, timeout=1)",
               "");
    getrlimit(RLIMIT_NOFILE, &before);
    const struct rlimit few = {.rlim_cur = FEW_DESCRIPTORS, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    int count = take_descriptors(taken);
    int rc = sqlite3_exec(db, ALL, NULL, NULL, NULL);
    char *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    bool read = false;
    while (count > 0) {
        close(taken[--count]);
        read = read || gives(ALL, "12345");
    }
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(rc, SQLITE_IOERR);
    assert_non_null(strstr(message, "no connection to http://127.0.0.1:"));
    assert_true(read);
    sqlite3_free(message);
    expect_sql(ALL, "12345\n");
    close_remote();
}

/* --- Programs that the process starts --- */

static void programs_get_no_secret(void **state)
{
    (void)state;
    open_employees(answer_with_pages);
    register_account("BearerToken=U0VDUkVUX3Rva2Vu");
    expect_sql(ALL, "12345\n");
    char line[4096];
    int found = 0;
    char *command = canned_format("env; ps -o args= -p $$ -p %d; for fd in /proc/$$/fd/*; do "
                                  "readlink $fd; done; echo end",
                                  (int)getpid());
    FILE *output = popen(command, "r");
    assert_non_null(output);
    while (fgets(line, sizeof line, output) != NULL) {
        assert_null(strstr(line, "U0VDUkVU"));
        found += strcmp(line, "end\n") == 0;
    }
    assert_int_equal(pclose(output), 0);
    assert_int_equal(found, 1);
    free(command);
    close_remote();
}

/* Proxies are for other machines. */
static void this_machine_is_reached_without_proxy(void **state)
{
    (void)state;
    static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"};
    open_employees(answer_with_pages);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        setenv(names[i], "http://user:secret@127.0.0.1:1", 1);
        expect_sql(ALL, "12345\n");
        unsetenv(names[i]);
    }
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_does_not_disturb_its_parent),
        cmocka_unit_test(threads_may_share_a_connection),
        cmocka_unit_test(another_thread_may_interrupt),
        cmocka_unit_test(signals_of_the_application_do_no_harm),
        cmocka_unit_test(too_few_descriptors_are_an_error),
        cmocka_unit_test(programs_get_no_secret),
        cmocka_unit_test(this_machine_is_reached_without_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
