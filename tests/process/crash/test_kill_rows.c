/*
 * Processes that are killed: whatever they were doing, each transaction is there wholly or not at
 * all, everything acknowledged is there, and the next process can write at once.
 *
 * N: rows of a transaction; ROUNDS: how many processes are killed at a random moment; SEED.
 */
#include "faults/killing.h"
#include "faults/mortal.h"
#include "fixtures/store.h"

enum { DEFAULT_ROWS = 6000, DEFAULT_ROUNDS = 12, LONG_ROUNDS = 24, ROUNDS_A_STORE = 8 };

#define STORE "main.db-ptable"

/* --- What the processes do --- */

/* Batch b is the partition b, with V = 1 for each row, and the row b of the ordinary table o. */
static int load_batch(sqlite3 *db, int64_t batch, int64_t rows)
{
    return code_of(db,
                   "BEGIN; INSERT INTO o VALUES(%lld);"
                   "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %lld)"
                   "INSERT INTO t SELECT printf('%%06d', %lld), printf('%%08d', k), 1 FROM n;"
                   "COMMIT",
                   batch, rows, batch);
}

/* load path first-batch rows: batch after batch, each acknowledged by its number. */
static int load(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    int64_t rows = strtoll(arguments[2], NULL, 10);
    for (int64_t batch = strtoll(arguments[1], NULL, 10); db != NULL; batch++) {
        if (load_batch(db, batch, rows) != SQLITE_OK) {
            fprintf(stderr, "%s\n", sqlite3_errmsg(db));
            return 1;
        }
        write_all(STDOUT_FILENO, &batch, sizeof batch);
    }
    return 1;
}

/* LMDB writes its root page, and SQLite nothing of a transaction that wrote only to ptables, in one
 * write of less than a sector. */
static system_call_verdict die_after_the_root_page(const system_call *call)
{
    if (call->kind == CALL_WRITE && call->part_count == 1 &&
        call->parts[0].iov_len < MORTAL_SECTOR) {
        mortal_write(call, true);
        raise(SIGKILL);
    }
    return (system_call_verdict){0};
}

/* count path round: counts up and leaves a mark, and dies in the last step of the commit. */
static int count_up(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, "SELECT * FROM t") != SQLITE_OK) {
        return 1;
    }
    system_call_judge = die_after_the_root_page;
    code_of(db,
            "BEGIN; INSERT INTO t VALUES('mark', %s, 1);"
            "UPDATE t SET V = V + 1 WHERE PartitionKey = 'counter'; COMMIT",
            arguments[1]);
    return 1;
}

/* commit path batch point: dies at that call, in that way. Otherwise says how many there were. */
static int commit(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, "PRAGMA synchronous = full; SELECT * FROM t") != SQLITE_OK) {
        return 1;
    }
    int64_t point = strtoll(arguments[2], NULL, 10);
    mortal_way = (mortal_death)(point % DEATHS);
    mortal_begin(point / DEATHS);
    if (load_batch(db, strtoll(arguments[1], NULL, 10), 3) != SQLITE_OK) {
        return 1;
    }
    int64_t calls = mortal_calls;
    mortal_begin(0);
    write_all(STDOUT_FILENO, &calls, sizeof calls);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

#define MAKE_TABLE                                                                                 \
    "CREATE TABLE IF NOT EXISTS o(batch INTEGER PRIMARY KEY);"                                     \
    "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32, sync='%s')"

/* --- At a random moment --- */

/* Loads for up to `longest_ns`; returns the last acknowledged batch. */
static int64_t load_and_kill(const char *folder, int64_t batches, int64_t rows, int64_t longest_ns)
{
    child loader = start_numbered_child("load", folder, batches + 1, rows);
    return kill_at_random(&loader, batches, longest_ns);
}

/* Batches 1 to the returned number are there, wholly, and no others. */
static int64_t check_batches(const char *folder, sqlite3 *db, int64_t rows)
{
    int64_t batches = number(db, "SELECT count(DISTINCT PartitionKey) FROM t");
    assert_number(db, batches,
                  "SELECT count(*) FROM (SELECT PartitionKey, count(*) AS c, sum(V) AS s FROM t"
                  " GROUP BY PartitionKey) WHERE c = %lld AND s = %lld",
                  rows, rows);
    assert_number(db, batches, "SELECT coalesce(max(CAST(PartitionKey AS INT)), 0) FROM t");
    assert_store(folder, STORE, 1, batches * rows);
    return batches;
}

/*
 * The ordinary table commits after the store, so it may miss the last batch; no acknowledged one.
 * Puts in what is missing, which is a write that must succeed at once.
 */
static void check_main(sqlite3 *db, int64_t before, int64_t acknowledged, int64_t batches)
{
    assert_true(batches >= acknowledged);
    assert_true(batches <= acknowledged + 1);
    int64_t in_main = number(db, "SELECT coalesce(max(batch), 0) FROM o");
    assert_true(in_main >= acknowledged);
    assert_true(in_main <= batches);
    assert_number(db, acknowledged - before,
                  "SELECT count(*) FROM o WHERE batch > %lld AND batch <= %lld", before,
                  acknowledged);
    run(db, "PRAGMA busy_timeout = 0; INSERT OR IGNORE INTO o VALUES(%lld)", batches);
    run(db, "INSERT INTO t VALUES('probe', 'a', 1); DELETE FROM t WHERE PartitionKey = 'probe'");
}

static int64_t duration_of_a_load(const char *folder, int64_t rows)
{
    sqlite3 *db = open_database(folder, "measure.db");
    run(db, MAKE_TABLE, "off");
    int64_t begin = now_ns();
    assert_int_equal(load_batch(db, 1, rows), SQLITE_OK);
    int64_t duration = now_ns() - begin;
    close_database(db);
    return duration;
}

static void kill_at_random_moments(void **state, const char *journal_mode)
{
    const char *folder = *state;
    int64_t rows = setting("N", DEFAULT_ROWS);
    int64_t rounds = setting("ROUNDS", extent(DEFAULT_ROUNDS, LONG_ROUNDS)) / 2;
    seed = (uint32_t)setting("SEED", 1);
    int64_t longest = duration_of_a_load(folder, rows) * 3;
    int64_t batches = 0;
    int64_t whole = 0;
    for (int64_t round = 0; round < rounds; round++) {
        sqlite3 *db = open_database(folder, "main.db");
        run(db, "PRAGMA journal_mode = %s; " MAKE_TABLE, journal_mode, "off");
        if (round % ROUNDS_A_STORE == 0) {
            run(db, "DELETE FROM t; DELETE FROM o");
            batches = 0;
        }
        close_database(db);
        int64_t acknowledged = load_and_kill(folder, batches, rows, longest);
        db = open_database(folder, "main.db");
        int64_t found = check_batches(folder, db, rows);
        check_main(db, batches, acknowledged, found);
        close_database(db);
        whole += found - batches;
        batches = found;
    }
    printf("# %s, seed %u: %lld processes killed, %lld transactions of %lld rows found whole\n",
           journal_mode, (unsigned)setting("SEED", 1), (long long)rounds, (long long)whole,
           (long long)rows);
}

static void killed_at_random_moments_with_a_journal(void **state)
{
    kill_at_random_moments(state, "delete");
}

static void killed_at_random_moments_in_wal_mode(void **state)
{
    kill_at_random_moments(state, "wal");
}

/* --- At each system call of a commit --- */

/* With another process (this one) that has the store open meanwhile, or with none. */
static void die_at_each_call_of_a_commit(const char *folder, const char *journal_mode,
                                         bool survivor)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = %s; " MAKE_TABLE, journal_mode, "full");
    int64_t before = 0;
    int64_t point = DEATHS;
    bool died;
    do {
        if (!survivor) {
            close_database(db);
        }
        died = numbered_child_dies("commit", folder, before + 1, point++);
        if (!survivor) {
            db = open_database(folder, "main.db");
        }
        /* A process that dies right after it wrote the root page leaves its commit undecided while
         * others have the store open: the next to lock the store decides. */
        run(db, "DELETE FROM t WHERE 0");
        int64_t found = check_batches(folder, db, 3);
        check_main(db, before, died ? before : before + 1, found);
        before = found;
    } while (died);
    printf("# %s: a commit makes %lld calls\n", journal_mode, (long long)point / DEATHS - 1);
    assert_true(point / DEATHS > 5);
    close_database(db);
}

/*
 * A process that dies right after it wrote the root page has committed, but LMDB's other processes
 * do not know: the number of the last commit in their shared memory is still the one before. A
 * survivor that then writes must start from that commit, and must have read it.
 */
static void a_survivor_counts_on(void **state)
{
    const char *folder = *state;
    enum { ROUNDS = 6 };
    sqlite3 *db = open_database(folder, "main.db");
    run(db, MAKE_TABLE "; INSERT INTO t VALUES('counter', '', 0)", "full");
    for (int64_t round = 1; round <= ROUNDS; round++) {
        child process = start_numbered_child("count", folder, round, 0);
        int status = end_of_child(&process);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        run(db, "UPDATE t SET V = V + 1 WHERE PartitionKey = 'counter'");
        assert_number(db, round, "SELECT count(*) FROM t WHERE PartitionKey = 'mark'");
        assert_number(db, 2 * round, "SELECT V FROM t WHERE PartitionKey = 'counter'");
    }
    close_database(db);
}

static void killed_at_each_call_of_a_commit_with_a_journal(void **state)
{
    die_at_each_call_of_a_commit(*state, "delete", false);
}

static void killed_at_each_call_of_a_commit_in_wal_mode(void **state)
{
    die_at_each_call_of_a_commit(*state, "wal", false);
}

static void killed_beside_a_survivor_with_a_journal(void **state)
{
    die_at_each_call_of_a_commit(*state, "delete", true);
}

static void killed_beside_a_survivor_in_wal_mode(void **state)
{
    die_at_each_call_of_a_commit(*state, "wal", true);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return strcmp(argv[1], "load") == 0    ? load(argv + 2)
               : strcmp(argv[1], "count") == 0 ? count_up(argv + 2)
                                               : commit(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        folder_test(killed_at_random_moments_with_a_journal),
        folder_test(killed_at_random_moments_in_wal_mode),
        folder_test(killed_at_each_call_of_a_commit_with_a_journal),
        folder_test(killed_at_each_call_of_a_commit_in_wal_mode),
        folder_test(killed_beside_a_survivor_with_a_journal),
        folder_test(killed_beside_a_survivor_in_wal_mode),
        folder_test(a_survivor_counts_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
