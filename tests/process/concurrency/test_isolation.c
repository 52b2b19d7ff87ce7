/*
 * Threads and processes append to lists and read them, all at once; then their history is checked:
 * a store's transactions, those that only read and those that were rolled back included, must have
 * run one after the other, each within its own time. Two stores are two histories. And writers get
 * their turns.
 *
 *     make test-isolation N=300000 SEED=7      so many transactions, in rounds
 */
#include <pthread.h>
#include <sys/mman.h>

#include "fixtures/child.h"
#include "process/concurrency/appender.h"
#include "process/concurrency/fair_share.h"
#include "process/concurrency/history_check.h"

enum { PROCESSES = 2, THREADS = 4, APPENDERS = (PROCESSES + 1) * THREADS, ROUND = 10000 };

/* --- Histories made by hand: what the checker finds --- */

static history made;

static void expect(const char *anomaly)
{
    int edges = 0;
    finding found = check_history(&made, all_keys, &edges);
    free_history(&made);
    if (found.anomaly == NULL || anomaly == NULL) {
        assert_ptr_equal(found.anomaly, anomaly);
    } else {
        assert_string_equal(found.anomaly, anomaly);
    }
}

/* A transaction that reads or appends what the text says: "r0:1,2 a0:3 k1". */
static void past(int begin_time, int end_time, bool committed, const char *text)
{
    begin_transaction(&made, made.transaction_count, begin_time);
    while (*text != 0) {
        char kind = *text++;
        int list[LIST_MAX];
        int length = 0;
        char *end;
        int key = (int)strtol(text, &end, 10);
        while (*end == ':' || *end == ',') {
            text = end + 1;
            list[length] = (int)strtol(text, &end, 10);
            length += end != text;
        }
        if (kind == 'r') {
            note_read(&made, key, list, length);
        } else if (kind == 'a') {
            note_append(&made, key, list[0]);
        } else {
            note_keep(&made, key);
        }
        text = *end == ' ' ? end + 1 : end;
    }
    end_transaction(&made, end_time, committed);
}

static void good_histories_pass(void **state)
{
    (void)state;
    past(0, 9, true, "r0: a0:1 r0:1 a1:2");
    past(0, 9, true, "r0:1 a0:3 k0 r0:1 a0:4 r0:1,4");
    past(0, 9, false, "r0:1 a0:5 r0:1,5 r1:2");
    past(0, 9, true, "r0: r1:");
    past(0, 9, false, "r0:1,4 a1:6");
    past(10, 11, true, "r0:1,4 r1:2");
    expect(NULL);
}

static void lost_updates_are_found(void **state)
{
    (void)state;
    past(0, 9, true, "r0: a0:1");
    past(0, 9, true, "r0: a0:2");
    past(10, 11, true, "r0:2");
    expect(LOST_APPEND);
    past(0, 9, true, "r0: a0:1");
    past(0, 9, true, "r0: a0:2");
    past(10, 11, true, "r0:1,2");
    expect(SINGLE_CYCLE);
    past(0, 9, true, "a0:1");
    past(10, 11, true, "r0:1,1");
    expect(WRITTEN_TWICE);
}

static void dirty_reads_are_found(void **state)
{
    (void)state;
    past(0, 9, false, "a0:1");
    past(0, 9, true, "r0:1");
    past(10, 11, true, "r0:");
    expect(ABORTED_READ);
    past(0, 9, true, "a0:1 k0 a0:2");
    past(0, 9, false, "r0:1");
    past(10, 11, true, "r0:2");
    expect(ABORTED_READ);
    past(0, 9, false, "a0:1");
    past(10, 11, true, "r0:1");
    expect(ABORTED_READ);
    past(0, 9, true, "a0:1 a0:2");
    past(0, 9, true, "r0:1");
    past(10, 11, true, "r0:1,2");
    expect(INTERMEDIATE_READ);
}

static void unrepeatable_and_fractured_reads_are_found(void **state)
{
    (void)state;
    past(0, 9, true, "a0:1");
    past(0, 9, true, "r0: r0:1");
    past(10, 11, true, "r0:1");
    expect(FUZZY_READ);
    past(0, 9, true, "a0:1 a1:2");
    past(0, 9, true, "r0:1 r1:");
    past(10, 11, true, "r0:1 r1:2");
    expect(SINGLE_CYCLE);
    past(0, 9, true, "a0:1 a1:2");
    past(0, 9, false, "r1: r0:1"); /* although it was rolled back */
    past(10, 11, true, "r0:1 r1:2");
    expect(SINGLE_CYCLE);
    past(0, 9, true, "a0:1 r1:2");
    past(0, 9, true, "a1:2 r0:1");
    past(10, 11, true, "r0:1 r1:2");
    expect(READ_CYCLE);
}

static void write_skew_is_found(void **state)
{
    (void)state;
    past(0, 9, true, "r1: a0:1");
    past(0, 9, true, "r0: a1:2");
    past(10, 11, true, "r0:1 r1:2");
    expect(SKEW_CYCLE);
}

static void torn_writes_are_found(void **state)
{
    (void)state;
    past(0, 9, true, "a0:1 a0:2");
    past(0, 9, true, "a0:3");
    past(10, 11, true, "r0:1,3,2");
    expect(TORN_APPENDS);
    past(0, 9, true, "a0:1 a1:2");
    past(0, 9, true, "a0:3 a1:4");
    past(10, 11, true, "r0:1,3 r1:4,2");
    expect(WRITE_CYCLE);
}

static void old_reads_are_found(void **state)
{
    (void)state;
    past(0, 4, true, "a0:1");
    past(5, 9, true, "r0:");
    past(10, 11, true, "r0:1");
    expect(STALE_CYCLE);
    past(0, 9, true, "a0:1 r0:");
    past(10, 11, true, "r0:1");
    expect(OWN_APPENDS);
    past(0, 9, true, "a0:1");
    past(0, 9, true, "a0:2");
    past(0, 9, true, "r0:2");
    past(10, 11, true, "r0:1,2");
    expect(FORKED_ORDER);
}

/* --- Histories made by appenders --- */

typedef struct settings {
    const char *folder;
    int transactions; /* of each */
    uint64_t seed;
} settings;

typedef struct worker {
    pthread_t thread;
    const settings *given;
    appender *self;
} worker;

static void *work(void *argument)
{
    worker *mine = argument;
    run_appender(mine->self, mine->given->folder, mine->given->transactions);
    return NULL;
}

static bool start_workers(worker *workers, const settings *given, int first)
{
    bool started = true;
    for (int i = 0; i < THREADS; i++) {
        appender *self = calloc(1, sizeof *self);
        workers[i] = (worker){.given = given, .self = self};
        if (self == NULL) {
            return false;
        }
        self->number = first + i;
        self->among = APPENDERS;
        self->random = (given->seed * 1000 + (uint64_t)self->number + 1) * 0x9E3779B97F4A7C15u;
        started = pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0 && started;
    }
    return started;
}

/* What a process has to say besides its history. */
typedef struct sums {
    int busy;
    int stale;
    int denied;
    int bad_code;
    char message[300];
} sums;

static void join_workers(worker *workers, history *all, sums *sum)
{
    for (int i = 0; i < THREADS; i++) {
        appender *self = workers[i].self;
        pthread_join(workers[i].thread, NULL);
        join_history(all, &self->h);
        sum->busy += self->busy;
        sum->stale += self->stale;
        sum->denied += self->denied;
        if (self->bad_code != SQLITE_OK) {
            sum->bad_code = self->bad_code;
            snprintf(sum->message, sizeof sum->message, "%s", self->message);
        }
        free_history(&self->h);
        free(self);
    }
}

static void path_of_history(const char *folder, int first, char path[PATH_SIZE])
{
    char name[20];
    snprintf(name, sizeof name, "history-%d", first);
    path_in(folder, name, path);
}

/* Arguments: folder, number of its first appender, transactions, seed. */
static int be_appenders(char **argv)
{
    const settings given = {argv[2], atoi(argv[4]), strtoull(argv[5], NULL, 10)};
    worker workers[THREADS];
    history all = {0};
    sums sum = {0};
    char path[PATH_SIZE];
    if (!start_workers(workers, &given, atoi(argv[3]))) {
        return 1;
    }
    join_workers(workers, &all, &sum);
    path_of_history(argv[2], atoi(argv[3]), path);
    bool saved = save_history(&all, path);
    free_history(&all);
    return saved && write_all(STDOUT_FILENO, &sum, sizeof sum) ? 0 : 1;
}

static void start_processes(child *processes, const settings *given)
{
    char numbers[PROCESSES][12];
    char transactions[12];
    char seed[24];
    snprintf(transactions, sizeof transactions, "%d", given->transactions);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)given->seed);
    for (int i = 0; i < PROCESSES; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%d", (i + 1) * THREADS);
        const char *const arguments[] = {given->folder, numbers[i], transactions, seed, NULL};
        processes[i] = start_child("appenders", arguments);
    }
}

static void join_processes(child *processes, const char *folder, history *all, sums *sum)
{
    for (int i = 0; i < PROCESSES; i++) {
        sums more;
        char path[PATH_SIZE];
        assert_true(read_all(processes[i].from, &more, sizeof more));
        stop_child(&processes[i]);
        path_of_history(folder, (i + 1) * THREADS, path);
        history part = load_history(path);
        join_history(all, &part);
        free_history(&part);
        sum->busy += more.busy;
        sum->stale += more.stale;
        sum->denied += more.denied;
        if (more.bad_code != SQLITE_OK) {
            sum->bad_code = more.bad_code;
            memcpy(sum->message, more.message, sizeof more.message);
        }
    }
}

/* The last transaction of the history: all lists as they are in the end. */
static void read_finals(const char *folder, history *all)
{
    appender *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->db = open_database(folder, "wal.db");
    self->explicitly = true;
    self->random = 1;
    int generations = 0;
    for (int i = 0; i < all->event_count; i++) {
        int generation = all->events[i].key / SLOTS;
        generations = generation >= generations ? generation + 1 : generations;
    }
    begin_noted(self);
    run(self->db, "BEGIN");
    for (int key = 0; key < generations * SLOTS; key++) {
        assert_int_equal(read_list(self, key), SQLITE_OK);
    }
    run(self->db, "COMMIT");
    end_noted(self, true);
    close_database(self->db);
    join_history(all, &self->h);
    free_history(&self->h);
    free(self);
}

static void make_hosts(const char *folder)
{
    const char *const names[] = {"journal.db", "wal.db"};
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = open_database(folder, names[i]);
        run(db, "PRAGMA journal_mode = %s", i == 0 ? "delete" : "wal");
        assert_int_equal(declare_lists(db, folder), SQLITE_OK);
        close_database(db);
    }
}

static void make_history(const settings *given, history *all, sums *sum)
{
    child processes[PROCESSES];
    worker workers[THREADS];
    make_hosts(given->folder);
    start_processes(processes, given);
    assert_true(start_workers(workers, given, 0));
    join_workers(workers, all, sum);
    join_processes(processes, given->folder, all, sum);
    if (sum->bad_code != SQLITE_OK) {
        fail_msg("SEED=%llu: %d: %s", (unsigned long long)given->seed, sum->bad_code, sum->message);
    }
    read_finals(given->folder, all);
}

/* What came of a history, for people. */
typedef struct census {
    int transactions;
    int committed;
    int reads;
    int appends;
    int edges;
} census;

static void count_history(const history *all, census *counts)
{
    counts->transactions += all->transaction_count;
    for (int i = 0; i < all->transaction_count; i++) {
        counts->committed += all->transactions[i].committed;
    }
    for (int i = 0; i < all->event_count; i++) {
        counts->reads += all->events[i].kind == EVENT_READ;
        counts->appends += all->events[i].kind == EVENT_APPEND;
    }
}

static void expect_serializable(const history *all, const settings *given, census *counts)
{
    bool (*const stores[])(int key) = {is_in_first_store, is_in_second_store};
    for (int i = 0; i < 2; i++) {
        finding found = check_history(all, stores[i], &counts->edges);
        if (found.anomaly != NULL) {
            fail_msg("SEED=%llu, store %d: %s: %s", (unsigned long long)given->seed, i + 1,
                     found.anomaly, found.text);
        }
    }
    count_history(all, counts);
}

/* Entries and entities go together in both stores. */
static void expect_sound_indexes(const char *folder)
{
    sqlite3 *db = try_open(":memory:");
    assert_non_null(db);
    assert_number(db, 1, "SELECT pt_check('%s/one.ptable') = 'ok'", folder);
    assert_number(db, 1, "SELECT pt_check('%s/two.ptable') = 'ok'", folder);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void one_round(settings *given, census *counts, sums *sum)
{
    void *folder;
    history all = {0};
    assert_int_equal(make_folder(&folder), 0);
    given->folder = folder;
    make_history(given, &all, sum);
    expect_serializable(&all, given, counts);
    expect_sound_indexes(given->folder);
    free_history(&all);
    assert_int_equal(remove_folder(&folder), 0);
}

static void transactions_are_serializable(void **state)
{
    (void)state;
    int64_t left = setting("N", ROUND);
    settings given = {.seed = (uint64_t)setting("SEED", 1)};
    census counts = {0};
    sums sum = {0};
    for (; left > 0; left -= ROUND, given.seed++) {
        int64_t now = left < ROUND ? left : ROUND;
        given.transactions = (int)(now / APPENDERS) + 1;
        one_round(&given, &counts, &sum);
    }
    printf("# %d transactions of %d threads in %d processes: %d committed; %d reads, %d appends; "
           "a graph of %d edges without a cycle\n",
           counts.transactions, APPENDERS, PROCESSES + 1, counts.committed, counts.reads,
           counts.appends, counts.edges);
    printf("# SQLITE_BUSY %d times, SQLITE_BUSY_SNAPSHOT %d times, %d given up otherwise\n",
           sum.busy, sum.stale, sum.denied);
    assert_true(counts.committed > counts.transactions / 4);
    assert_true(sum.stale > 0 && counts.appends > 0);
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "appenders") == 0) {
        return be_appenders(argv);
    }
    if (is_shareholder(argc, argv)) {
        return be_shareholder(argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_histories_pass),
        cmocka_unit_test(lost_updates_are_found),
        cmocka_unit_test(dirty_reads_are_found),
        cmocka_unit_test(unrepeatable_and_fractured_reads_are_found),
        cmocka_unit_test(write_skew_is_found),
        cmocka_unit_test(torn_writes_are_found),
        cmocka_unit_test(old_reads_are_found),
        cmocka_unit_test(transactions_are_serializable),
        cmocka_unit_test_setup_teardown(threads_get_their_turns, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(processes_get_their_turns, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
