/*
 * One connection that wanders through threads, and many connections in many threads on one store.
 */
#include <pthread.h>

#include "fixtures/store.h"

enum { THREADS = 8, COUNTERS = 4, PATIENCE_MS = 60000 };

/* --- One connection --- */

typedef struct errand {
    sqlite3 *db;
    const char *sql;
    int code;
} errand;

static void *do_errand(void *argument)
{
    errand *mine = argument;
    mine->code = code_of(mine->db, "%s", mine->sql);
    return NULL;
}

/* Runs the SQL in a thread of its own, which has ended afterwards. */
static void run_in_thread(sqlite3 *db, const char *sql)
{
    pthread_t thread;
    errand job = {.db = db, .sql = sql};
    assert_int_equal(pthread_create(&thread, NULL, do_errand, &job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (job.code != SQLITE_OK) {
        fail_msg("%s: %d, %s", sql, job.code, sqlite3_errmsg(db));
    }
}

static void a_transaction_wanders_through_threads(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run_in_thread(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    for (int i = 0; i < 5; i++) {
        run_in_thread(db, "BEGIN; INSERT INTO t SELECT 'p', count(*), 1 FROM t");
        run_in_thread(db, "SAVEPOINT s; DELETE FROM t");
        run_in_thread(db, "ROLLBACK TO s; INSERT INTO t SELECT 'p', count(*), 1 FROM t");
        run_in_thread(db, "COMMIT");
        assert_store(folder, "main.db-ptable", 1, 2 * (i + 1));
        run_in_thread(db, "BEGIN; DELETE FROM t");
        run_in_thread(db, "ROLLBACK");
    }
    sqlite3 *second = open_database(folder, "main.db");
    run(second, "UPDATE t SET V = 2");
    assert_number(db, 20, "SELECT sum(V) FROM t");
    close_database(second);
    close_database(db);
}

static void *close_in_thread(void *db)
{
    return sqlite3_close(db) == SQLITE_OK ? NULL : db;
}

static void a_connection_may_be_closed_by_another_thread(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run_in_thread(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    run_in_thread(db, "BEGIN; INSERT INTO t VALUES('p', 'a', 1)");
    pthread_t thread;
    void *failed;
    assert_int_equal(pthread_create(&thread, NULL, close_in_thread, db), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    db = open_database(folder, "main.db");
    run(db, "INSERT INTO t VALUES('p', 'a', 1)");
    close_database(db);
}

/* --- Many connections --- */

typedef struct worker {
    pthread_t thread;
    const char *folder;
    int number;
    int transactions;
    int committed;
    int stale;    /* transactions begun again after SQLITE_BUSY_SNAPSHOT */
    int wrong;    /* snapshots whose counters did not agree */
    int bad_code; /* the first code that was neither success nor busy */
    char message[200];
} worker;

static bool is_done(worker *self, sqlite3 *db, int code)
{
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY && self->bad_code == 0) {
        self->bad_code = code;
        snprintf(self->message, sizeof self->message, "%s", sqlite3_errmsg(db));
    }
    self->stale += code == SQLITE_BUSY_SNAPSHOT;
    return code == SQLITE_OK;
}

/*
 * Adds 1 to each of a partition's counters. Every other transaction reads first, so it may find
 * that it has read an old version.
 */
static bool count_up(worker *self, sqlite3 *db, int turn)
{
    int partition = (self->number + turn) % COUNTERS;
    bool reads_first = turn % 2 == 0;
    int code =
        code_of(db, "BEGIN; %s", reads_first ? "SELECT sum(V) FROM c" : "DELETE FROM c WHERE 0");
    if (is_done(self, db, code)) {
        code = code_of(db,
                       "UPDATE c SET V = V + 1 WHERE PartitionKey = '%d';"
                       "INSERT INTO done(PartitionKey, RowKey)"
                       " VALUES('%d', printf('%%06d', %d)); COMMIT",
                       partition, self->number, turn);
    }
    if (is_done(self, db, code)) {
        return true;
    }
    code_of(db, "ROLLBACK");
    return false;
}

/* In every version all counters of a partition are equal, and together as many as what is done. */
static bool adds_up(sqlite3 *db)
{
    const char *sql = "SELECT (SELECT sum(V) FROM c) = 2 * (SELECT count(*) FROM done)"
                      " AND NOT EXISTS (SELECT 1 FROM c AS one JOIN c AS two USING(PartitionKey)"
                      " WHERE one.V <> two.V)";
    return first_number(db, sql, 0) == 1;
}

static void *work(void *argument)
{
    worker *self = argument;
    sqlite3 *db = try_open(":memory:");
    char store[PATH_SIZE];
    path_in(self->folder, "shared.ptable", store);
    if (db == NULL) {
        return NULL;
    }
    int code = code_of(db,
                       "PRAGMA busy_timeout = %d;"
                       "CREATE VIRTUAL TABLE c USING ptable(V Int32, store='%s', sync='off');"
                       "CREATE VIRTUAL TABLE done USING ptable(store='%s', sync='off')",
                       PATIENCE_MS, store, store);
    if (is_done(self, db, code)) {
        while (self->bad_code == 0 && self->committed < self->transactions) {
            self->committed += count_up(self, db, self->committed);
            self->wrong += self->committed % 20 == 0 && !adds_up(db);
        }
    }
    sqlite3_close(db);
    return NULL;
}

static sqlite3 *make_counters(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE c USING ptable(V Int32, store='shared.ptable');"
            "CREATE VIRTUAL TABLE done USING ptable(Nothing, store='shared.ptable')");
    for (int i = 0; i < COUNTERS; i++) {
        run(db, "INSERT INTO c VALUES('%d', 'one', 0), ('%d', 'two', 0)", i, i);
    }
    return db;
}

static void counters_of_many_threads_add_up(void **state)
{
    const char *folder = *state;
    int transactions = (int)setting("TRANSACTIONS", 200);
    sqlite3 *db = make_counters(folder);
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.folder = folder, .number = i, .transactions = transactions};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    int stale = 0;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        stale += workers[i].stale;
    }
    printf("# %d transactions were begun again\n", stale);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].bad_code != 0) {
            fail_msg("%d: %s", workers[i].bad_code, workers[i].message);
        }
        assert_int_equal(workers[i].committed, transactions);
        assert_int_equal(workers[i].wrong, 0);
        assert_number(db, transactions, "SELECT count(*) FROM done WHERE PartitionKey = '%d'", i);
    }
    assert_number(db, 2 * THREADS * transactions, "SELECT sum(V) FROM c");
    assert_store(folder, "shared.ptable", 2, 2 * COUNTERS + THREADS * transactions);
    close_database(db);
}

/* --- Opening and closing at once --- */

static void *open_and_close(void *argument)
{
    worker *self = argument;
    for (int i = 0; i < self->transactions && self->bad_code == 0; i++) {
        sqlite3 *db = try_open(":memory:");
        int code = code_of(db,
                           "PRAGMA busy_timeout = %d;"
                           "CREATE VIRTUAL TABLE t USING ptable(V, store='%s/new.ptable');"
                           "INSERT INTO t VALUES('%d', '%d', 1)",
                           PATIENCE_MS, self->folder, self->number, i);
        self->committed += is_done(self, db, code);
        sqlite3_close(db);
    }
    return NULL;
}

/* All make the store, and whoever is the last to close it closes it for good. */
static void threads_open_and_close_one_store(void **state)
{
    const char *folder = *state;
    enum { OPENINGS = 20 };
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.folder = folder, .number = i, .transactions = OPENINGS};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, open_and_close, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        if (workers[i].bad_code != 0) {
            fail_msg("%d: %s", workers[i].bad_code, workers[i].message);
        }
        assert_int_equal(workers[i].committed, OPENINGS);
    }
    assert_store(folder, "new.ptable", 1, THREADS * OPENINGS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_transaction_wanders_through_threads),
        folder_test(a_connection_may_be_closed_by_another_thread),
        folder_test(counters_of_many_threads_add_up),
        folder_test(threads_open_and_close_one_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
