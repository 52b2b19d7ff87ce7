/*
 * Optimistic concurrency as programs do it: read, compute, write on condition that nobody else has
 * written, and try again otherwise. Nothing is lost, and of many only one is the first.
 */
#include <pthread.h>

#include "fixtures/peer.h"

enum { INCREMENTS = 200, RACERS = 6, PATIENCE_MS = 60000 };

/* Each connection has a main database of its own; they meet in the store. */
#define TABLE                                                                                      \
    "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int64, store='shared.ptable', "           \
    "sync='off')"

static sqlite3 *open_first(const char *folder)
{
    sqlite3 *db = open_database(folder, "first.db");
    run(db, TABLE "; PRAGMA busy_timeout = %d", PATIENCE_MS);
    run(db, "INSERT INTO t VALUES('p', 'n', 0)");
    return db;
}

/* --- In a counter: a process that adds 1 to the entity's V again and again --- */

/* What a counter has done so far. */
typedef struct tally {
    bool reads; /* it has read and waits for a sign to write */
    int done;
    int changed;    /* tries that ended with UpdateConditionNotSatisfied */
    int stale;      /* ... with SQLITE_BUSY_SNAPSHOT */
    int busy;       /* ... with SQLITE_BUSY */
    int code;       /* any other failure */
    char text[200]; /* and its message */
} tally;

typedef struct counter {
    sqlite3 *db;
    bool in_transactions;
    int led; /* so many tries wait for a sign between reading and writing */
    int tries;
    tally sum;
} counter;

static bool read_entity(counter *self, int64_t *value, char *tag, size_t tag_size)
{
    sqlite3_stmt *statement = NULL;
    const char *sql = "SELECT V, ETag FROM t WHERE PartitionKey = 'p' AND RowKey = 'n'";
    bool found = sqlite3_prepare_v2(self->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_ROW;
    if (found) {
        *value = sqlite3_column_int64(statement, 0);
        snprintf(tag, tag_size, "%s", (const char *)sqlite3_column_text(statement, 1));
    }
    return sqlite3_finalize(statement) == SQLITE_OK && found;
}

static bool is_led(const counter *self)
{
    return self->tries < self->led;
}

static void wait_for_sign(counter *self)
{
    char sign;
    self->sum.reads = true;
    write_all(STDOUT_FILENO, &self->sum, sizeof self->sum);
    read_all(STDIN_FILENO, &sign, sizeof sign);
    self->sum.reads = false;
}

static int write_entity(counter *self, int64_t value, const char *tag)
{
    if (self->in_transactions) {
        return code_of(self->db,
                       "UPDATE t SET V = %lld WHERE PartitionKey = 'p' AND RowKey = 'n'; COMMIT",
                       (long long)value);
    }
    return code_of(self->db,
                   "INSERT INTO t(PartitionKey, RowKey, V, WriteMode, IfMatch)"
                   " VALUES('p', 'n', %lld, 'merge', %Q)",
                   (long long)value, tag);
}

static void count_try(counter *self, int code)
{
    const char *text = sqlite3_errmsg(self->db);
    bool changed =
        code == SQLITE_CONSTRAINT_VTAB && strstr(text, "(UpdateConditionNotSatisfied)") != NULL;
    self->sum.done += code == SQLITE_OK;
    self->sum.changed += changed;
    self->sum.stale += code == SQLITE_BUSY_SNAPSHOT;
    self->sum.busy += code == SQLITE_BUSY;
    if (code != SQLITE_OK && !changed && code != SQLITE_BUSY_SNAPSHOT && code != SQLITE_BUSY) {
        self->sum.code = code;
        snprintf(self->sum.text, sizeof self->sum.text, "%s", text);
    }
}

static void try_increment(counter *self)
{
    int64_t value = 0;
    char tag[64] = "";
    bool led = is_led(self);
    int code = self->in_transactions ? code_of(self->db, "BEGIN") : SQLITE_OK;
    if (code == SQLITE_OK && !read_entity(self, &value, tag, sizeof tag)) {
        code = sqlite3_extended_errcode(self->db);
    }
    if (led) {
        wait_for_sign(self);
    }
    sqlite3_busy_timeout(self->db, led && self->in_transactions ? 0 : PATIENCE_MS);
    count_try(self, code == SQLITE_OK ? write_entity(self, value + 1, tag) : code);
    if (!sqlite3_get_autocommit(self->db)) {
        code_of(self->db, "ROLLBACK");
    }
    self->tries++;
    if (led) {
        write_all(STDOUT_FILENO, &self->sum, sizeof self->sum);
    }
}

/* Arguments: main database, "etag" or "transaction", number of led tries. */
static int be_counter(char **argv)
{
    counter self = {.db = try_open(argv[2]),
                    .in_transactions = strcmp(argv[3], "transaction") == 0,
                    .led = atoi(argv[4])};
    if (self.db == NULL || code_of(self.db, TABLE) != SQLITE_OK) {
        return 1;
    }
    while (self.sum.done < INCREMENTS && self.sum.code == 0) {
        try_increment(&self);
    }
    write_all(STDOUT_FILENO, &self.sum, sizeof self.sum);
    return sqlite3_close(self.db) == SQLITE_OK ? 0 : 1;
}

/* --- In the test --- */

static child start_counter(const char *folder, const char *name, const char *way, const char *led)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    const char *const arguments[] = {path, way, led, NULL};
    return start_child("counter", arguments);
}

static tally hear(const child *from)
{
    tally heard;
    assert_true(read_all(from->from, &heard, sizeof heard));
    if (heard.code != 0) {
        fail_msg("a counter's failure: %d, %s", heard.code, heard.text);
    }
    return heard;
}

static void has_read(const child *from)
{
    assert_true(hear(from).reads);
}

/* The counter goes on and writes; what it has done when it has. */
static tally lets_write(const child *to)
{
    assert_true(write_all(to->to, "w", 1));
    return hear(to);
}

static tally finishes(child *running)
{
    tally last = hear(running);
    stop_child(running);
    assert_int_equal(last.done, INCREMENTS);
    return last;
}

static void increments_by_etag_are_exact(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_first(folder);
    child one = start_counter(folder, "one.db", "etag", "1");
    child two = start_counter(folder, "two.db", "etag", "1");
    has_read(&one);
    has_read(&two);
    assert_int_equal(lets_write(&one).done, 1);
    assert_int_equal(lets_write(&two).changed, 1); /* both have read the same version */
    tally first = finishes(&one);
    tally second = finishes(&two);
    assert_int_equal(first.stale + first.busy + second.stale + second.busy, 0);
    assert_number(db, 2 * INCREMENTS, "SELECT V FROM t");
    close_database(db);
}

static void increments_in_transactions_are_exact(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_first(folder);
    child one = start_counter(folder, "one.db", "transaction", "1");
    child two = start_counter(folder, "two.db", "transaction", "2");
    has_read(&one);
    has_read(&two);
    run(db, "BEGIN; UPDATE t SET V = V + 1");
    assert_int_equal(lets_write(&two).busy, 1); /* somebody is writing */
    run(db, "COMMIT");
    has_read(&two);
    run(db, "UPDATE t SET V = V + 1");
    assert_int_equal(lets_write(&two).stale, 1); /* somebody has written */
    tally late = lets_write(&one);
    assert_int_equal(late.stale + late.busy, 1);
    finishes(&one);
    finishes(&two);
    assert_number(db, 2 * INCREMENTS + 2, "SELECT V FROM t");
    close_database(db);
}

/* Both ways at once: a condition on the ETag, and a snapshot that must be the newest. */
static void both_ways_respect_each_other(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_first(folder);
    child one = start_counter(folder, "one.db", "etag", "2");
    child two = start_counter(folder, "two.db", "transaction", "1");
    has_read(&one);
    has_read(&two);
    assert_int_equal(lets_write(&one).done, 1);
    assert_int_equal(lets_write(&two).stale, 1);
    has_read(&one);
    run(db, "UPDATE t SET V = V + 1");
    assert_int_equal(lets_write(&one).changed, 1);
    finishes(&one);
    finishes(&two);
    assert_number(db, 2 * INCREMENTS + 1, "SELECT V FROM t");
    close_database(db);
}

/* --- Races: many make the same write, and only one of them can have been the first --- */

typedef struct race {
    const char *before; /* makes the entity */
    const char *write;  /* formats: the ETag that all have read */
    int refusal;        /* of all but one */
    const char *check;  /* gives 1 afterwards */
} race;

static const race races[] = {
    {"DELETE FROM t", "INSERT INTO t VALUES('p', 'n', 1)", SQLITE_CONSTRAINT_PRIMARYKEY,
     "SELECT V = 1 FROM t"},
    {"INSERT OR REPLACE INTO t VALUES('p', 'n', 1)",
     "INSERT INTO t(PartitionKey, RowKey, V, WriteMode, IfMatch) VALUES('p', 'n', 2, 'merge', %Q)",
     SQLITE_CONSTRAINT_VTAB, "SELECT V = 2 FROM t"},
    {"INSERT OR REPLACE INTO t VALUES('p', 'n', 1)",
     "INSERT INTO t(PartitionKey, RowKey, WriteMode, IfMatch) VALUES('p', 'n', 'replace', %Q)",
     SQLITE_CONSTRAINT_VTAB, "SELECT V IS NULL FROM t"},
    {"INSERT OR REPLACE INTO t VALUES('p', 'n', 1)",
     "INSERT INTO t(PartitionKey, RowKey, WriteMode, IfMatch) VALUES('p', 'n', 'delete', %Q)",
     SQLITE_CONSTRAINT_CHECK, "SELECT count(*) = 0 FROM t"},
};

enum { RACES = sizeof races / sizeof races[0] };

/* Makes the entity and returns the statement that all are to run; for sqlite3_free. */
static char *prepare_race(sqlite3 *db, const race *planned)
{
    counter reader = {.db = db};
    int64_t value;
    char tag[64] = "";
    run(db, "%s", planned->before);
    read_entity(&reader, &value, tag, sizeof tag);
    char *sql = sqlite3_mprintf(planned->write, tag);
    assert_non_null(sql);
    return sql;
}

static void judge_race(sqlite3 *db, const race *planned, const int codes[RACERS])
{
    int winners = 0;
    for (int i = 0; i < RACERS; i++) {
        winners += codes[i] == SQLITE_OK;
        assert_true(codes[i] == SQLITE_OK || codes[i] == planned->refusal);
    }
    assert_int_equal(winners, 1);
    assert_number(db, 1, "%s", planned->check);
}

static void of_many_processes_one_is_first(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_first(folder);
    peer racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        char name[20];
        snprintf(name, sizeof name, "%d.db", i);
        racers[i] = start_peer(folder, name);
        peer_run(&racers[i], TABLE "; PRAGMA busy_timeout = %d", PATIENCE_MS);
    }
    for (int i = 0; i < RACES; i++) {
        int codes[RACERS];
        char *sql = prepare_race(db, &races[i]);
        for (int k = 0; k < RACERS; k++) {
            peer_begins(&racers[k], "%s", sql);
        }
        for (int k = 0; k < RACERS; k++) {
            receive_end(&racers[k]);
            codes[k] = racers[k].last.code;
        }
        sqlite3_free(sql);
        judge_race(db, &races[i], codes);
    }
    for (int i = 0; i < RACERS; i++) {
        stop_peer(&racers[i]);
    }
    close_database(db);
}

typedef struct runner {
    pthread_t thread;
    pthread_barrier_t *start;
    sqlite3 *db;
    const char *sql;
    int code;
} runner;

static void *run_race(void *argument)
{
    runner *self = argument;
    pthread_barrier_wait(self->start);
    self->code = code_of(self->db, "%s", self->sql);
    return NULL;
}

static void race_in_threads(runner racers[RACERS], const char *sql, int codes[RACERS])
{
    pthread_barrier_t start;
    assert_int_equal(pthread_barrier_init(&start, NULL, RACERS), 0);
    for (int i = 0; i < RACERS; i++) {
        racers[i].start = &start;
        racers[i].sql = sql;
        assert_int_equal(pthread_create(&racers[i].thread, NULL, run_race, &racers[i]), 0);
    }
    for (int i = 0; i < RACERS; i++) {
        assert_int_equal(pthread_join(racers[i].thread, NULL), 0);
        codes[i] = racers[i].code;
    }
    pthread_barrier_destroy(&start);
}

static void of_many_threads_one_is_first(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_first(folder);
    runner racers[RACERS] = {0};
    for (int i = 0; i < RACERS; i++) {
        char name[20];
        snprintf(name, sizeof name, "%d.db", i);
        racers[i].db = open_database(folder, name);
        run(racers[i].db, TABLE "; PRAGMA busy_timeout = %d", PATIENCE_MS);
    }
    for (int i = 0; i < RACES; i++) {
        int codes[RACERS];
        char *sql = prepare_race(db, &races[i]);
        race_in_threads(racers, sql, codes);
        sqlite3_free(sql);
        judge_race(db, &races[i], codes);
    }
    for (int i = 0; i < RACERS; i++) {
        close_database(racers[i].db);
    }
    close_database(db);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    if (argc == 5 && strcmp(argv[1], "counter") == 0) {
        return be_counter(argv);
    }
    const struct CMUnitTest tests[] = {
        folder_test(increments_by_etag_are_exact),
        folder_test(increments_in_transactions_are_exact),
        folder_test(both_ways_respect_each_other),
        folder_test(of_many_processes_one_is_first),
        folder_test(of_many_threads_one_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
