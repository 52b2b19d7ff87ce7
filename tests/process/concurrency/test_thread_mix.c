/*
 * Everything that a process does with a store, at once: a thread each counts, makes and drops
 * tables, sends and gets messages, looks around, backs up, compacts, and opens and closes. What is
 * promised of each holds as if it were alone, but that some have to wait for others.
 *
 * N: how many rounds each thread does.
 */
#include <pthread.h>

#include "fixtures/store.h"

enum { ROUNDS = 12, PATIENCE_MS = 60000 };

typedef struct mixer {
    pthread_t thread;
    const char *folder;
    int number;
    int rounds;
    int busy;
    int wrong;    /* rounds in which something promised was not so */
    int bad_code; /* the first that is neither success nor busy */
    char message[1500];
} mixer;

/* Runs SQL in which %1$s is the folder, and %2$d and %3$d are the thread and its round. */
static bool done(mixer *self, sqlite3 *db, int round, const char *format)
{
    char sql[1000];
    snprintf(sql, sizeof sql, format, self->folder, self->number, round);
    int code = code_of(db, "%s", sql);
    if ((code & 0xff) == SQLITE_BUSY) {
        self->busy++;
    } else if (code != SQLITE_OK && self->bad_code == 0) {
        self->bad_code = code;
        snprintf(self->message, sizeof self->message, "%s: %s", sql, sqlite3_errmsg(db));
    }
    if (code != SQLITE_OK && !sqlite3_get_autocommit(db)) {
        code_of(db, "ROLLBACK");
    }
    return code == SQLITE_OK;
}

/* The query's answer must be 1. */
static void expect(mixer *self, sqlite3 *db, int round, const char *format)
{
    char sql[1000];
    snprintf(sql, sizeof sql, format, self->folder, self->number, round);
    int64_t answer = first_number(db, sql, -1);
    int code = sqlite3_extended_errcode(db);
    bool failed = answer < 0 && code != SQLITE_OK && code != SQLITE_DONE;
    if (failed && (code & 0xff) == SQLITE_BUSY) {
        self->busy++;
    } else if (answer != 1) {
        if (self->wrong++ == 0) {
            snprintf(self->message, sizeof self->message, "%s: %lld, %s", sql, (long long)answer,
                     failed ? sqlite3_errmsg(db) : "");
        }
    }
}

/* --- What they do --- */

/* Both counters of a partition are the same, in every version. */
static void count(mixer *self, sqlite3 *db, int round)
{
    while (!done(self, db, round,
                 "BEGIN; UPDATE c SET V = V + 1 WHERE PartitionKey = '%2$d';"
                 "SAVEPOINT s; DELETE FROM c; ROLLBACK TO s; COMMIT") &&
           self->bad_code == 0) {
    }
    expect(self, db, round,
           "SELECT min(V) = max(V) AND min(V) = %3$d + 1 FROM c WHERE PartitionKey = '%2$d'");
    done(self, db, round, "BEGIN; UPDATE c SET V = 0; ROLLBACK");
}

static void make_and_drop(mixer *self, sqlite3 *db, int round)
{
    if (done(self, db, round,
             "CREATE VIRTUAL TABLE made USING ptable(store='%1$s/s', table='made%3$d')") &&
        done(self, db, round,
             "WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 50)"
             "INSERT INTO made(PartitionKey, RowKey, Properties)"
             " SELECT 'p', i, json_object('P%3$d_' || i, i, 'Long', hex(zeroblob(3000))) FROM n")) {
        expect(
            self, db, round,
            "SELECT count(*) = 50 AND sum(Properties ->> ('P%3$d_' || RowKey)) = 1275 FROM made");
        done(self, db, round,
             "DELETE FROM pt_tables WHERE Store = '%1$s/s' AND TableName = 'made%3$d'");
    }
    done(self, db, round, "DROP TABLE IF EXISTS made");
}

/* Names of properties that nobody else knows, and that are forgotten again. */
static void roll_back(mixer *self, sqlite3 *db, int round)
{
    done(self, db, round,
         "BEGIN; WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 20)"
         "INSERT INTO c(PartitionKey, RowKey, Properties)"
         " SELECT 'back', i, json_object('B%3$d_' || i, i) FROM n");
    expect(self, db, round, "SELECT count(*) = 24 FROM c");
    done(self, db, round, "ROLLBACK");
    expect(self, db, round, "SELECT count(*) = 4 FROM c");
}

static void send_and_get(mixer *self, sqlite3 *db, int round)
{
    done(self, db, round, "INSERT INTO q(Body) VALUES('%3$d'), (zeroblob(5000))");
    expect(self, db, round, "SELECT count(*) > 0 FROM q");
    done(self, db, round,
         "DELETE FROM held; INSERT INTO held"
         " SELECT MessageId, PopReceipt FROM pt_queue_get('q', 2, 600)");
    done(self, db, round, "DELETE FROM q WHERE (MessageId, PopReceipt) IN (SELECT * FROM held)");
}

static void look_around(mixer *self, sqlite3 *db, int round)
{
    expect(self, db, round, "SELECT count(*) FROM pt_stores WHERE Store = '%1$s/s'");
    expect(self, db, round, "SELECT count(*) >= 2 FROM pt_tables WHERE Store = '%1$s/s'");
    expect(self, db, round, "SELECT sum(Entities) = 4 FROM pt_partitions('%1$s/s', 'c')");
    expect(self, db, round, "SELECT sum(Entities) = 4 FROM pt_properties('%1$s/s', 'c')");
    expect(self, db, round, "SELECT count(*) = 0 FROM pt_batches");
}

static void back_up(mixer *self, sqlite3 *db, int round)
{
    if (done(self, db, round, "SELECT pt_backup('%1$s/s', '%1$s/copy%3$d')")) {
        expect(self, db, round, "SELECT pt_check('%1$s/copy%3$d') = 'ok'");
    }
    expect(self, db, round, "SELECT pt_check('%1$s/s') = 'ok'");
}

static void compact(mixer *self, sqlite3 *db, int round)
{
    done(self, db, round, "SELECT pt_compact('%1$s/s')");
}

static void (*const jobs[])(mixer *, sqlite3 *, int) = {
    count, count, make_and_drop, roll_back, send_and_get, look_around, back_up, compact};

enum { JOBS = sizeof jobs / sizeof jobs[0], COUNTERS = 2, THREADS = JOBS + 2 };

/* --- The threads --- */

static sqlite3 *open_all(mixer *self)
{
    sqlite3 *db = try_open(":memory:");
    if (db != NULL) {
        sqlite3_busy_timeout(db, PATIENCE_MS);
        done(self, db, 0,
             "CREATE VIRTUAL TABLE c USING ptable(V Int32, store='%1$s/s', sync='off');"
             "CREATE VIRTUAL TABLE q USING pt_queue(store='%1$s/s', sync='normal');"
             "CREATE TEMP TABLE held(id, receipt)");
    }
    return db;
}

static void *work(void *argument)
{
    mixer *self = argument;
    sqlite3 *db = self->number < JOBS ? open_all(self) : NULL;
    for (int i = 0; i < self->rounds && self->bad_code == 0 && self->wrong == 0; i++) {
        if (self->number < JOBS) {
            jobs[self->number](self, db, i);
        } else {
            db = open_all(self);
            expect(self, db, i, "SELECT count(*) = 4 FROM c");
            sqlite3_close(db);
            db = NULL;
        }
    }
    sqlite3_close(db);
    return NULL;
}

static void start(mixer *mixers, int count, void *(*task)(void *), const char *folder, int rounds)
{
    for (int i = 0; i < count; i++) {
        mixers[i] = (mixer){.folder = folder, .number = i, .rounds = rounds};
        assert_int_equal(pthread_create(&mixers[i].thread, NULL, task, &mixers[i]), 0);
    }
}

/* When all are done, without fault: how often one was too busy. */
static int finish(mixer *mixers, int count)
{
    int busy = 0;
    for (int i = 0; i < count; i++) {
        assert_int_equal(pthread_join(mixers[i].thread, NULL), 0);
        busy += mixers[i].busy;
    }
    for (int i = 0; i < count; i++) {
        if (mixers[i].bad_code != 0 || mixers[i].wrong != 0) {
            fail_msg("%d: %s", mixers[i].bad_code, mixers[i].message);
        }
    }
    return busy;
}

static void a_mix_of_everything_is_as_if_each_were_alone(void **state)
{
    const char *folder = *state;
    int rounds = (int)setting("N", ROUNDS);
    mixer mixers[THREADS] = {{.folder = folder}};
    sqlite3 *db = open_all(&mixers[0]);
    run(db, "INSERT INTO c VALUES('0', 'a', 0), ('0', 'b', 0), ('1', 'a', 0), ('1', 'b', 0)");
    start(mixers, THREADS, work, folder, rounds);
    int busy = finish(mixers, THREADS);
    printf("# %d threads, %d rounds each, busy %d times\n", THREADS, rounds, busy);
    assert_number(db, COUNTERS * 2 * rounds, "SELECT sum(V) FROM c");
    assert_number(db, 1, "SELECT pt_check('%s/s') = 'ok'", folder);
    close_database(db);
}

/* --- One connection of several threads --- */

enum { SHARERS = 4 };

static sqlite3 *shared;

static void *share(void *argument)
{
    mixer *self = argument;
    for (int i = 0; i < self->rounds && self->bad_code == 0 && self->wrong == 0; i++) {
        done(self, shared, i, "INSERT INTO t VALUES('%2$d', '%3$d', 1)");
        expect(self, shared, i, "SELECT count(*) = %3$d + 1 FROM t WHERE PartitionKey = '%2$d'");
        expect(self, shared, i, "SELECT Entities >= %3$d FROM pt_stores");
    }
    return NULL;
}

static void threads_may_share_a_connection(void **state)
{
    const char *folder = *state;
    int rounds = (int)setting("N", ROUNDS);
    mixer mixers[SHARERS];
    shared = open_database(folder, "main.db");
    run(shared, "CREATE VIRTUAL TABLE t USING ptable(V, sync=off)");
    start(mixers, SHARERS, share, folder, rounds);
    finish(mixers, SHARERS);
    assert_number(shared, SHARERS * rounds, "SELECT count(*) FROM t");
    close_database(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mix_of_everything_is_as_if_each_were_alone, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(threads_may_share_a_connection, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
