/*
 * Two processes use one store: who waits for whom, and who sees what.
 */

#include "fixtures/pair.h"

enum { PATIENCE_MS = 20000 };

#define TABLES                                                                                     \
    "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='shared.ptable', sync='off');"             \
    "CREATE VIRTUAL TABLE u USING ptable(V Int32, store='shared.ptable', sync='off')"

static int set_up(void **state)
{
    return begin_pair(state, TABLES,
                      "INSERT INTO t VALUES('p', 'a', 1); INSERT INTO u VALUES('p', 'a', 1)");
}

static void a_second_writer_is_busy_at_once(void **state)
{
    pair *both = *state;
    run(both->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    peer_fails(&both->other, SQLITE_BUSY, "INSERT INTO u VALUES('p', 'b', 2)");
    peer_says(&both->other, "is being written by another process");
    peer_fails(&both->other, SQLITE_BUSY, "BEGIN; INSERT INTO t VALUES('p', 'c', 3)");
    peer_run(&both->other, "ROLLBACK");
    run(both->db, "COMMIT");
    peer_run(&both->other, "INSERT INTO u VALUES('p', 'b', 2)");
    assert_number(both->db, 2, "SELECT count(*) FROM u");
}

static void a_second_writer_waits_for_commit(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "PRAGMA busy_timeout = %d", PATIENCE_MS);
    run(both->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    peer_begins(&both->other, "INSERT INTO t SELECT 'p', 'c', max(V) + 1 FROM t");
    peer_waits(&both->other);
    run(both->db, "COMMIT");
    peer_ends(&both->other, SQLITE_OK);
    assert_number(both->db, 3, "SELECT V FROM t WHERE PartitionKey = 'p' AND RowKey = 'c'");
}

static void a_second_writer_waits_for_rollback(void **state)
{
    pair *both = *state;
    run(both->db, "PRAGMA busy_timeout = %d", PATIENCE_MS);
    peer_run(&both->other, "PRAGMA busy_timeout = %d", PATIENCE_MS);
    run(both->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    peer_begins(&both->other, "INSERT INTO t VALUES('p', 'b', 3)");
    peer_waits(&both->other);
    run(both->db, "ROLLBACK");
    peer_ends(&both->other, SQLITE_OK);
    assert_number(both->db, 3, "SELECT V FROM t WHERE RowKey = 'b'");
}

static void waiting_ends_with_the_time_out(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "PRAGMA busy_timeout = 30");
    run(both->db, "BEGIN; DELETE FROM t WHERE 0");
    peer_begins(&both->other, "INSERT INTO t VALUES('p', 'c', 3)");
    peer_waits(&both->other);
    peer_ends(&both->other, SQLITE_BUSY);
    run(both->db, "ROLLBACK");
}

static void readers_see_the_old_version_until_commit(void **state)
{
    pair *both = *state;
    run(both->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2); UPDATE t SET V = 10");
    assert_number(both->db, 20, "SELECT sum(V) FROM t");
    assert_peer_number(&both->other, 1, "SELECT sum(V) FROM t");
    run(both->db, "COMMIT");
    assert_peer_number(&both->other, 20, "SELECT sum(V) FROM t");
}

static void reading_and_then_writing_needs_an_unchanged_store(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "BEGIN");
    assert_peer_number(&both->other, 1, "SELECT count(*) FROM t");
    run(both->db, "INSERT INTO u VALUES('p', 'b', 2)");
    peer_fails(&both->other, SQLITE_BUSY_SNAPSHOT, "INSERT INTO t VALUES('p', 'c', 3)");
    peer_says(&both->other, "ROLLBACK");
    assert_peer_number(&both->other, 1, "SELECT count(*) FROM u");
    run(both->db, "INSERT INTO u VALUES('p', 'c', 2)"); /* the refused writer holds no lock */
    peer_run(&both->other, "ROLLBACK; BEGIN");
    assert_peer_number(&both->other, 3, "SELECT count(*) FROM u");
    peer_run(&both->other, "INSERT INTO t VALUES('p', 'c', 3); COMMIT");
}

static void own_commits_do_not_make_a_snapshot_stale(void **state)
{
    pair *both = *state;
    for (int i = 0; i < 3; i++) {
        peer_run(&both->other, "BEGIN");
        assert_peer_number(&both->other, i + 1, "SELECT count(*) FROM t");
        peer_run(&both->other, "INSERT INTO t VALUES('q', %d, 1); COMMIT", i);
    }
}

static void writing_first_sees_the_newest_version(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "BEGIN");
    run(both->db, "INSERT INTO t VALUES('p', 'b', 2)");
    peer_run(&both->other, "UPDATE t SET V = V + 1");
    assert_peer_number(&both->other, 5, "SELECT sum(V) FROM t");
    peer_run(&both->other, "COMMIT");
}

static void a_reading_transaction_keeps_one_version_of_all_tables(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "BEGIN");
    assert_peer_number(&both->other, 1, "SELECT sum(V) FROM t");
    for (int i = 0; i < 20; i++) {
        run(both->db,
            "BEGIN; UPDATE t SET V = V + 1; UPDATE u SET V = V + 1;"
            "INSERT INTO u VALUES('q', %d, 0); COMMIT",
            i);
        assert_peer_number(&both->other, 1, "SELECT V FROM t");
        assert_peer_number(&both->other, 1, "SELECT count(*) FROM u");
        assert_peer_number(&both->other, 1,
                           "SELECT t.V = u.V FROM t JOIN u USING(PartitionKey, RowKey)");
    }
    peer_run(&both->other, "COMMIT");
    assert_peer_number(&both->other, 21, "SELECT V FROM t");
    assert_peer_number(&both->other, 21, "SELECT count(*) FROM u");
}

static void a_savepoint_alone_is_a_transaction_too(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "SAVEPOINT s");
    assert_peer_number(&both->other, 1, "SELECT V FROM t");
    run(both->db, "UPDATE t SET V = 2");
    assert_peer_number(&both->other, 1, "SELECT V FROM t");
    peer_run(&both->other, "RELEASE s");
    assert_peer_number(&both->other, 2, "SELECT V FROM t");
}

static void one_statement_sees_one_version(void **state)
{
    pair *both = *state;
    run(both->db, "INSERT INTO t VALUES('p', 'b', 2), ('p', 'c', 3)");
    const char *sql = "SELECT (SELECT sum(V) FROM u), V FROM t";
    sqlite3_stmt *statement = step_into(both->db, sql);
    peer_run(&both->other,
             "UPDATE u SET V = 100; DELETE FROM t; INSERT INTO u VALUES('z', 'z', 1)");
    int rows = 1;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        assert_int_equal(sqlite3_column_int(statement, 0), 1);
        rows++;
    }
    assert_int_equal(rows, 3);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_number(both->db, 101, "SELECT sum(V) FROM u");
}

/* Where the companion may not take part, each statement sees what is committed. */
static void under_query_only_a_transaction_reads_what_is_committed(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "PRAGMA query_only = 1; BEGIN");
    assert_peer_number(&both->other, 1, "SELECT V FROM t");
    run(both->db, "UPDATE t SET V = 2");
    assert_peer_number(&both->other, 2, "SELECT V FROM t");
    run(both->db, "UPDATE t SET V = 3");
    assert_peer_number(&both->other, 3, "SELECT V FROM t");
    peer_fails(&both->other, SQLITE_READONLY, "UPDATE t SET V = 4");
    peer_run(&both->other, "COMMIT; PRAGMA query_only = 0; UPDATE t SET V = 4");
    assert_number(both->db, 4, "SELECT V FROM t");
}

static void without_the_companion_a_write_begins_the_snapshot(void **state)
{
    pair *both = *state;
    forbid_companion(both->db);
    run(both->db, "BEGIN");
    assert_number(both->db, 1, "SELECT V FROM t");
    peer_run(&both->other, "UPDATE t SET V = 2");
    assert_number(both->db, 2, "SELECT V FROM t");
    run(both->db, "UPDATE t SET V = V + 1");
    assert_number(both->db, 3, "SELECT V FROM t");
    assert_peer_number(&both->other, 2, "SELECT V FROM t");
    run(both->db, "COMMIT");
    assert_peer_number(&both->other, 3, "SELECT V FROM t");
}

static void expect_isolation(pair *both)
{
    run(both->db, "BEGIN");
    int64_t before = number(both->db, "SELECT V FROM t");
    peer_run(&both->other, "UPDATE t SET V = V + 1000");
    assert_number(both->db, before, "SELECT V FROM t");
    fails(both->db, SQLITE_BUSY_SNAPSHOT, "UPDATE t SET V = 0");
    run(both->db, "ROLLBACK");
    assert_number(both->db, before + 1000, "SELECT V FROM t");
}

/* TEMP, and the companion in it, is emptied after loading: no update is lost for that. */
static void a_companion_that_is_gone_is_made_again(void **state)
{
    static const char *const ways[] = {
        "PRAGMA temp_store = memory",
        "SELECT * FROM t; PRAGMA temp_store = file",
        "PRAGMA temp_store = memory; CREATE TEMP TABLE x(a)",
        "PRAGMA temp_store = file; SELECT count(*) FROM temp.sqlite_schema",
        "PRAGMA temp_store = memory; BEGIN; UPDATE t SET V = (SELECT max(x) FROM o); COMMIT",
        "PRAGMA temp_store = file; BEGIN; DROP TABLE u; ROLLBACK",
        "DROP TABLE temp.ptable_companion",
        "PRAGMA query_only = 1; SELECT * FROM t; PRAGMA query_only = 0",
    };
    pair *both = *state;
    run(both->db, "CREATE TABLE o(x); INSERT INTO o VALUES (1), (2)");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        run(both->db, "%s", ways[i]);
        expect_isolation(both);
        expect_isolation(both);
    }
}

/* Then it cannot be made at once. */
static void loading_while_a_statement_runs_keeps_isolation(void **state)
{
    pair *both = *state;
    char path[PATH_SIZE];
    sqlite3_stmt *busy = NULL;
    path_in(both->folder, "one.db", path);
    close_database(both->db);
    assert_int_equal(sqlite3_open(path, &both->db), SQLITE_OK);
    sqlite3_extended_result_codes(both->db, 1);
    sqlite3_prepare_v2(both->db, "VALUES (1), (2)", -1, &busy, NULL);
    assert_int_equal(sqlite3_step(busy), SQLITE_ROW);
    assert_int_equal(sqlite3_ptable_init(both->db, NULL, NULL), SQLITE_OK);
    run(both->db, "SELECT * FROM t");
    expect_isolation(both);
    assert_int_equal(sqlite3_step(busy), SQLITE_ROW);
    sqlite3_finalize(busy);
    expect_isolation(both);
}

static void a_writer_that_dies_frees_the_lock(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    fails(both->db, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'c', 3)");
    kill_peer(&both->other);
    run(both->db, "INSERT INTO t VALUES('p', 'c', 3)");
    assert_number(both->db, 4, "SELECT sum(V) FROM t");
    both->other = start_peer(both->folder, "two.db");
    assert_peer_number(&both->other, 4, "SELECT sum(V) FROM t");
}

static void update_many_times(const pair *both, int times)
{
    for (int i = 0; i < times; i++) {
        run(both->db, "UPDATE t SET V = V + 1");
    }
}

static void a_reader_that_dies_does_not_make_the_store_grow(void **state)
{
    pair *both = *state;
    peer_run(&both->other, "BEGIN");
    assert_peer_number(&both->other, 1, "SELECT V FROM t");
    kill_peer(&both->other);
    update_many_times(both, 600);
    off_t size = size_of(both->folder, "shared.ptable");
    update_many_times(both, 600);
    /* Some pages more if a log was written to the file meanwhile. */
    assert_in_range(size_of(both->folder, "shared.ptable"), size, size + (64 << 10));
    both->other = start_peer(both->folder, "two.db");
    assert_peer_number(&both->other, 1201, "SELECT V FROM t");
}

#define pair_test(name) cmocka_unit_test_setup_teardown(name, set_up, end_pair)

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        pair_test(a_second_writer_is_busy_at_once),
        pair_test(a_second_writer_waits_for_commit),
        pair_test(a_second_writer_waits_for_rollback),
        pair_test(waiting_ends_with_the_time_out),
        pair_test(readers_see_the_old_version_until_commit),
        pair_test(reading_and_then_writing_needs_an_unchanged_store),
        pair_test(own_commits_do_not_make_a_snapshot_stale),
        pair_test(writing_first_sees_the_newest_version),
        pair_test(a_reading_transaction_keeps_one_version_of_all_tables),
        pair_test(a_savepoint_alone_is_a_transaction_too),
        pair_test(one_statement_sees_one_version),
        pair_test(under_query_only_a_transaction_reads_what_is_committed),
        pair_test(without_the_companion_a_write_begins_the_snapshot),
        pair_test(a_companion_that_is_gone_is_made_again),
        pair_test(loading_while_a_statement_runs_keeps_isolation),
        pair_test(a_writer_that_dies_frees_the_lock),
        pair_test(a_reader_that_dies_does_not_make_the_store_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
