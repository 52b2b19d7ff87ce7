/*
 * After every commit the log is read back from its file: the commit's record is whole and chained
 * to the one before, and what is published ends with it. Otherwise nobody would miss a record as
 * long as a process lives that has it in memory.
 *
 * N: how many random steps are made; SEED.
 */
#include "faults/killing.h"
#include "faults/saboteur.h"
#include "fixtures/log_chain.h"
#include "fixtures/pair.h"
#include "fixtures/workload.h"

enum { MANY = 1000000, DEFAULT_STEPS = 300, SMALL_LIMIT = 7 };

#define STORE "shared.ptable"

static const char *store_in(const char *folder)
{
    static char path[PATH_SIZE];
    path_in(folder, STORE, path);
    return path;
}

/* --- One connection --- */

static const struct {
    const char *sql;
    int records; /* more than before; -1: the log begins again, as LMDB commits */
} steps[] = {
    {"INSERT INTO t VALUES('p', 'b', 2, 'y')", 1},
    {"UPDATE t SET V = V + 1 WHERE PartitionKey = 'p' AND RowKey = 'a'", 1},
    {"UPDATE t SET V = V + 1", 1},
    {"DELETE FROM t WHERE RowKey = 'b'", 1},
    {"DELETE FROM t WHERE RowKey = 'nothing'", 0},
    {"SELECT count(*) FROM t", 0},
    {"BEGIN; INSERT INTO t VALUES('p', 'c', 3, 'z'); ROLLBACK", 0},
    {"BEGIN; INSERT INTO t VALUES('p', 'c', 3, 'z'); DELETE FROM t WHERE RowKey = 'a'; COMMIT", 1},
    {"BEGIN; INSERT INTO t VALUES('q', 'c', 3, 'z'); SAVEPOINT a; DELETE FROM t; ROLLBACK TO a;"
     " COMMIT",
     1},
    {"INSERT OR REPLACE INTO t WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 200)"
     " SELECT 'n', k, k, k FROM n",
     1},
    {"INSERT INTO t VALUES('p', hex(zeroblob(450)), 5, 'long key')", 1},
    {"INSERT INTO n VALUES('p', 'a', 1)", 1},
    {"INSERT INTO o VALUES('p', 'a', 1)", 1},
    {"INSERT INTO t VALUES('p', 'large', 5, printf('%.40000c', 'x'))", 1},
    {"INSERT INTO t VALUES('p', 'larger', 5, printf('%.90000c', 'x'))", -1},
    {"INSERT INTO t VALUES('p', 'd', 6, 'x')", 1},
    {"CREATE VIRTUAL TABLE more USING ptable(V Int64, store='" STORE "')", -1},
    {"INSERT INTO t VALUES('p', 'e', 7, 'x')", 1},
    {"DELETE FROM pt_tables WHERE TableName = 'more' AND Store = '" STORE "'", -1},
    {"INSERT INTO t VALUES('p', 'f', 8, 'x')", -1}, /* collects what was dropped */
    {"INSERT INTO t VALUES('p', 'g', 9, 'x')", -1}, /* finds nothing more to collect */
    {"INSERT INTO t VALUES('p', 'h', 10, 'x')", 1},
};

enum { STEPS = sizeof steps / sizeof steps[0] };

#define TABLES                                                                                     \
    "CREATE VIRTUAL TABLE t USING ptable(V Int64, S String, index(V), store='" STORE "');"         \
    "CREATE VIRTUAL TABLE n USING ptable(V Int64, sync='normal', store='" STORE "');"              \
    "CREATE VIRTUAL TABLE o USING ptable(V Int64, sync='off', store='" STORE "')"

/* The log has begun, and the dictionary knows the properties. */
#define WARM_UP                                                                                    \
    "INSERT INTO t VALUES('p', 'a', 1, 'x'); INSERT INTO n VALUES('w', 'a', 1);"                   \
    "INSERT INTO o VALUES('w', 'a', 1); INSERT INTO t VALUES('w', 'large', 1, "                    \
    "printf('%%.40000c', 'x'))"

static void every_commit_can_be_read_back(void **state)
{
    const char *store = store_in(*state);
    use_log(MANY);
    sqlite3 *db = open_database(*state, "main.db");
    run(db, TABLES "; " WARM_UP);
    for (int i = 0; i < STEPS; i++) {
        log_chain before = log_chain_check(store);
        run(db, "%s", steps[i].sql);
        log_chain after = log_chain_check(store);
        bool begins_again = after.version != before.version;
        if (begins_again ? steps[i].records >= 0 || after.commits != 0
                         : (int64_t)after.commits - before.commits != steps[i].records) {
            log_chain_fail_at(__FILE__, __LINE__, &after, steps[i].sql);
        }
    }
    close_database(db);
    log_chain closed = log_chain_of(store);
    assert_true(closed.readable && closed.log_id == 0 && !closed.has_file);
}

/* What a commit that fails has appended is not there, and what follows is. */
static void what_was_taken_back_is_not_in_the_log(void **state)
{
    const char *store = store_in(*state);
    use_log(MANY);
    sqlite3 *db = open_database(*state, "main.db");
    run(db, TABLES "; " WARM_UP);
    sqlite3_create_module(db, "saboteur", &saboteur_module, NULL);
    run(db, "CREATE VIRTUAL TABLE temp.s USING saboteur");
    for (int i = 0; i < 12; i++) {
        const char *table = i % 3 == 0 ? "n" : i % 3 == 1 ? "o" : "t";
        log_chain before = log_chain_check(store);
        saboteur_code = i % 2 == 0 ? SQLITE_ERROR : SQLITE_OK;
        fails(db, saboteur_code,
              "BEGIN; INSERT INTO %s(PartitionKey, RowKey, V) VALUES('p', 'k%d', 1);"
              "INSERT INTO temp.s VALUES(1); COMMIT",
              table, i);
        if (saboteur_code != SQLITE_OK && sqlite3_get_autocommit(db) == 0) {
            run(db, "ROLLBACK");
        }
        log_chain after = log_chain_check(store);
        assert_int_equal(after.version, before.version);
        assert_int_equal(after.commits, before.commits + (saboteur_code == SQLITE_OK ? 1 : 0));
    }
    saboteur_code = SQLITE_OK;
    assert_number(db, 6,
                  "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM n)"
                  " + (SELECT count(*) FROM o) - 4");
    close_database(db);
}

/* --- Two processes --- */

static int set_up_pair(void **state)
{
    use_log(MANY);
    return begin_pair(state, TABLES, "INSERT INTO t VALUES('p', 'a', 0, 'x')");
}

/* Whoever commits continues the chain of the other. */
static void two_processes_continue_one_chain(void **state)
{
    pair *both = *state;
    const char *store = store_in(both->folder);
    log_chain before = log_chain_check(store);
    for (int i = 0; i < 20; i++) {
        const char *sql = "UPDATE t SET V = V + 1";
        if (i % 3 == 0) {
            run(both->db, sql);
        } else {
            peer_run(&both->other, sql);
        }
        log_chain after = log_chain_check(store);
        assert_true(after.version != before.version || after.commits == before.commits + 1);
        before = after;
    }
    assert_number(both->db, 20, "SELECT V FROM t");
    assert_peer_number(&both->other, 20, "SELECT V FROM t");
}

/* Nobody is left, and the next one reads all. */
static void what_the_dead_have_committed_is_continued(void **state)
{
    use_log(MANY);
    sqlite3 *db = open_database(*state, "main.db");
    run(db, TABLES);
    run(db, "INSERT INTO t VALUES('p', 'a', 0, 'x')");
    close_database(db);
    for (int i = 0; i < 5; i++) {
        peer other = start_peer(*state, "main.db");
        peer_run(&other, "UPDATE t SET V = V + 1; UPDATE t SET V = V + 1; UPDATE t SET V = V + 1");
        log_chain left = log_chain_check(store_in(*state));
        assert_true(left.commits > 0);
        kill_peer(&other);
        log_chain same = log_chain_check(store_in(*state));
        assert_int_equal(same.end, left.end);
    }
    db = open_database(*state, "main.db");
    assert_number(db, 15, "SELECT V FROM t");
    log_chain_check(store_in(*state));
    run(db, "UPDATE t SET V = V + 1");
    log_chain_check(store_in(*state));
    close_database(db);
    assert_true(log_chain_of(store_in(*state)).log_id == 0);
}

/* --- At random --- */

static void step_at_random(pair *both, int number)
{
    static const char *const statements[] = {
        "INSERT OR REPLACE INTO t VALUES('r', ?1 % 50, ?1, '?1')",
        "INSERT OR REPLACE INTO n VALUES('r', ?1 % 9, ?1)",
        "INSERT OR REPLACE INTO o VALUES('r', ?1 % 9, ?1)",
        "UPDATE t SET V = V + ?1 WHERE PartitionKey = 'r' AND RowKey > '?1'",
        "DELETE FROM t WHERE PartitionKey = 'r' AND RowKey = CAST(?1 % 40 AS TEXT)",
        "DELETE FROM t WHERE V % 3 = ?1 % 3",
        "INSERT OR REPLACE INTO t VALUES('r', 'large', ?1, printf('%.*c', ?1 * 977 % 80000, 'x'))",
        "BEGIN; INSERT OR REPLACE INTO t VALUES('s', ?1 % 5, ?1, ''); DELETE FROM n; COMMIT",
        "BEGIN; INSERT OR REPLACE INTO t VALUES('s', ?1 % 5, ?1, ''); DELETE FROM n; ROLLBACK",
    };
    enum { STATEMENTS = sizeof statements / sizeof statements[0] };
    char sql[REQUEST_SIZE];
    char text[12];
    snprintf(text, sizeof text, "%d", number);
    size_t used = 0;
    for (const char *at = statements[random_below(STATEMENTS)]; *at != 0; at++) {
        bool is_number = at[0] == '?' && at[1] == '1';
        used += (size_t)snprintf(sql + used, sizeof sql - used, "%.*s",
                                 is_number ? (int)strlen(text) : 1, is_number ? text : at);
        at += is_number ? 1 : 0;
    }
    if (random_below(2) == 0) {
        run(both->db, "%s", sql);
    } else {
        peer_run(&both->other, "%s", sql);
    }
}

/* Either process may be closed or killed, and begin again; the limit is met often. */
static void random_commits_can_be_read_back(void **state)
{
    pair *both = *state;
    const char *store = store_in(both->folder);
    int64_t count = setting("N", DEFAULT_STEPS);
    int64_t records = 0;
    int64_t applied = 0;
    seed = (uint32_t)setting("SEED", 1);
    for (int number = 1; number <= count; number++) {
        log_chain before = log_chain_check(store);
        step_at_random(both, number);
        log_chain after = log_chain_check(store);
        applied += after.version != before.version;
        records += after.version != before.version ? after.commits : after.commits - before.commits;
        if (random_below(40) == 0) {
            close_database(both->db);
            both->db = open_database(both->folder, "one.db");
            assert_true(number(both->db, "SELECT count(*) FROM t") >= 0);
        } else if (random_below(40) == 0) {
            (random_below(2) == 0 ? kill_peer : stop_peer)(&both->other);
            both->other = start_peer(both->folder, "two.db");
        }
        assert_int_equal(
            number(both->db, "SELECT count(*) FROM t"),
            (peer_run(&both->other, "SELECT count(*) FROM t"), both->other.last.number));
    }
    printf("# seed %lld: %lld statements, %lld records read back, %lld commits of LMDB\n",
           (long long)setting("SEED", 1), (long long)count, (long long)records, (long long)applied);
    assert_true(records > count / 4 && applied > 0);
}

static int set_up_random(void **state)
{
    use_log(SMALL_LIMIT);
    return begin_pair(state, TABLES, "INSERT INTO t VALUES('p', 'a', 0, 'x')");
}

/* --- The reader itself --- */

static void flip(const char *path, size_t at)
{
    file_content content = {0};
    file_load(&content, path);
    assert_true(at < content.size);
    content.bytes[at] ^= 1;
    assert_true(file_write(path, &content));
    free(content.bytes);
}

/* A bit that differs, or a word that says more or less, is found. */
static void a_damaged_log_is_found_out(void **state)
{
    const char *store = store_in(*state);
    char log[PATH_SIZE + FILE_NAME_SIZE];
    char word[PATH_SIZE + FILE_NAME_SIZE];
    snprintf(log, sizeof log, "%s-log", store);
    snprintf(word, sizeof word, "%s-word", store);
    use_log(MANY);
    peer other = start_peer(*state, "main.db");
    peer_run(&other, TABLES);
    for (int i = 0; i < 5; i++) {
        peer_run(&other, "INSERT INTO t VALUES('p', '%d', 1, 'x')", i);
    }
    kill_peer(&other);
    log_chain whole = log_chain_check(store);
    assert_true(whole.commits > 2);
    for (size_t at = 0; at < whole.end; at += 1 + whole.end / 60) {
        flip(log, CHAIN_LOG_HEADER + at);
        log_chain damaged = log_chain_of(store);
        assert_true(damaged.end <= at);
        assert_string_equal(log_chain_complaint(&damaged), "what is published does not verify");
        flip(log, CHAIN_LOG_HEADER + at);
    }
    flip(word, 17);
    log_chain wrong = log_chain_of(store);
    assert_non_null(log_chain_complaint(&wrong));
    flip(word, 17);
    log_chain_check(store);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        folder_test(every_commit_can_be_read_back),
        folder_test(what_was_taken_back_is_not_in_the_log),
        cmocka_unit_test_setup_teardown(two_processes_continue_one_chain, set_up_pair, end_pair),
        folder_test(what_the_dead_have_committed_is_continued),
        cmocka_unit_test_setup_teardown(random_commits_can_be_read_back, set_up_random, end_pair),
        folder_test(a_damaged_log_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
