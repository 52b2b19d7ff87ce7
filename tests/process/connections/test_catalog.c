/*
 * Tables that are dropped and made again through pt_tables: under the eyes of another process,
 * under open statements, and together with what transactions have written.
 */
#include "fixtures/scene.h"

/* Tables t with three rows and u with one. */
static int set_up(void **state)
{
    return begin_scene(state, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                              "CREATE VIRTUAL TABLE u USING ptable(V Int32, sync='off');"
                              "INSERT INTO t VALUES('p', 'a', 1), ('p', 'b', 2), ('q', 'a', 3);"
                              "INSERT INTO u VALUES('p', 'a', 10)");
}

#define DROP_T "DELETE FROM pt_tables WHERE TableName = 't'"
#define MAKE_T "INSERT INTO pt_tables(TableName) VALUES('t')"
#define ROWS_OF_T "SELECT Entities FROM pt_tables WHERE TableName = 't'"

/* --- Two processes --- */

static void another_process_sees_that_a_table_is_gone(void **state)
{
    scene *all = *state;
    assert_peer_number(&all->other, 3, "SELECT count(*) FROM t");
    run(all->db, DROP_T);
    peer_fails(&all->other, SQLITE_ERROR, "SELECT count(*) FROM t");
    peer_says(&all->other, "(TableNotFound)");
    peer_fails(&all->other, SQLITE_ERROR, "INSERT INTO t VALUES('p', 'c', 4)");
    peer_says(&all->other, "INSERT INTO pt_tables");
    assert_peer_number(&all->other, 1, "SELECT count(*) FROM pt_tables");
    assert_peer_number(&all->other, 10, "SELECT V FROM u");
}

static void another_process_uses_a_table_made_again(void **state)
{
    scene *all = *state;
    assert_peer_number(&all->other, 3, "SELECT count(*) FROM t");
    run(all->db, "BEGIN; " DROP_T "; " MAKE_T "; COMMIT");
    assert_peer_number(&all->other, 0, "SELECT count(*) FROM t");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'new', 7)");
    assert_number(all->db, 7, "SELECT V FROM t");
    assert_number(all->db, 1, ROWS_OF_T);
}

static void a_transaction_of_another_process_reads_on(void **state)
{
    scene *all = *state;
    peer_run(&all->other, "BEGIN; SELECT count(*) FROM u");
    run(all->db, DROP_T);
    assert_peer_number(&all->other, 3, "SELECT count(*) FROM t");
    assert_peer_number(&all->other, 2, "SELECT count(*) FROM pt_tables");
    peer_fails(&all->other, SQLITE_BUSY_SNAPSHOT, "INSERT INTO t VALUES('p', 'c', 4)");
    peer_run(&all->other, "ROLLBACK");
    peer_fails(&all->other, SQLITE_ERROR, "SELECT count(*) FROM t");
}

static void who_has_read_what_changed_may_not_drop(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; SELECT count(*) FROM t");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'c', 4)");
    fails(all->db, SQLITE_BUSY_SNAPSHOT, DROP_T);
    says(all->db, "ptable: pt_tables: store");
    fails(all->db, SQLITE_BUSY_SNAPSHOT, "INSERT INTO pt_tables(TableName) VALUES('n')");
    run(all->db, "ROLLBACK; " DROP_T);
}

static void drops_wait_for_writers_as_writes_do(void **state)
{
    scene *all = *state;
    run(all->db, "PRAGMA busy_timeout = 0");
    peer_run(&all->other, "BEGIN; INSERT INTO u VALUES('p', 'b', 11)");
    fails(all->db, SQLITE_BUSY, DROP_T);
    fails(all->db, SQLITE_BUSY, "INSERT INTO pt_tables(TableName) VALUES('n')");
    assert_number(all->db, 2, "SELECT count(*) FROM pt_tables");
    peer_run(&all->other, "COMMIT; PRAGMA busy_timeout = 5000");
    run(all->db, "BEGIN; " DROP_T);
    sqlite3 *second = open_database(all->folder, "second.db");
    fails(second, SQLITE_BUSY, "DELETE FROM pt_tables WHERE Store = 'main.db-ptable'");
    run(all->db, "COMMIT");
    run(second, "DELETE FROM pt_tables WHERE Store = 'main.db-ptable'");
    assert_number(all->db, 0, "SELECT count(*) FROM pt_tables");
    close_database(second);
}

/* Both stores are read before anything is dropped, and one of them is locked, through another
 * database. */
static void a_drop_in_two_stores_waits_for_each(void **state)
{
    static const char *const locks[] = {"BEGIN; INSERT INTO u VALUES('p', 'b', 11)",
                                        "BEGIN; INSERT INTO w VALUES('p', 'b', 2)"};
    static const char drop[] = "DELETE FROM pt_tables WHERE Store IN ('main.db-ptable', "
                               "'w.ptable') AND TableName IN ('t', 'w')";
    scene *all = *state;
    run(all->db, "PRAGMA busy_timeout = 0;"
                 "CREATE VIRTUAL TABLE w USING ptable(V, store='w.ptable', sync='off');"
                 "INSERT INTO w VALUES('p', 'a', 1)");
    sqlite3 *third = open_database(all->folder, "third.db");
    run(third, "CREATE VIRTUAL TABLE u USING ptable(V Int32, store='main.db-ptable');"
               "CREATE VIRTUAL TABLE w USING ptable(V, store='w.ptable')");
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        run(third, locks[i]);
        fails(all->db, SQLITE_BUSY, drop);
        says(all->db, i == 0 ? "main.db-ptable" : "w.ptable");
        run(third, "ROLLBACK");
        assert_number(all->db, 3, "SELECT count(*) FROM t");
        assert_number(all->db, 1, "SELECT count(*) FROM w");
    }
    run(all->db, drop);
    assert_number(all->db, 1, "SELECT count(*) FROM pt_tables");
    assert_number(all->db, 0, "SELECT count(*) FROM pt_tables WHERE Store = 'w.ptable'");
    close_database(third);
}

/* xBegin comes for all of these, and for the first two nothing else. */
static void who_does_not_drop_leaves_no_lock(void **state)
{
    static const char *const idle[] = {"DELETE FROM pt_tables WHERE 0",
                                       "DELETE FROM pt_tables WHERE Store = NULL",
                                       "INSERT INTO pt_tables(TableName) SELECT V FROM u WHERE 0",
                                       "BEGIN; DELETE FROM pt_tables WHERE 0; ROLLBACK"};
    scene *all = *state;
    peer_run(&all->other, "PRAGMA busy_timeout = 0");
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        run(all->db, "%s", idle[i]);
        assert_number(all->db, 2, "SELECT count(*) FROM pt_tables");
        peer_run(&all->other, "UPDATE u SET V = V + 1");
    }
}

/* The read comes under the lock, so nothing can change between it and the write. */
static void a_drop_that_begins_a_transaction_reads_the_newest_state(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN");
    peer_run(&all->other, "INSERT INTO pt_tables(TableName) VALUES('n')");
    run(all->db, "DELETE FROM pt_tables WHERE TableName = 'n'");
    peer_run(&all->other, "PRAGMA busy_timeout = 0");
    peer_fails(&all->other, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'c', 4)");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 2, "SELECT count(*) FROM pt_tables");
}

/* --- Open statements of the same connection --- */

static void an_open_statement_reads_a_dropped_table_to_its_end(void **state)
{
    scene *all = *state;
    sqlite3_stmt *reading = step_into(all->db, "SELECT V FROM t");
    run(all->db, DROP_T);
    expect_rest(reading, 2);
    fails(all->db, SQLITE_ERROR, "SELECT V FROM t");
    run(all->db, MAKE_T "; INSERT INTO t VALUES('p', 'a', 1), ('p', 'b', 2); BEGIN");
    reading = step_into(all->db, "SELECT V FROM t");
    run(all->db, DROP_T "; " MAKE_T);
    expect_rest(reading, 1);
    run(all->db, "COMMIT");
    assert_number(all->db, 0, "SELECT count(*) FROM t");
}

static void an_open_statement_looks_again_and_is_told(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; CREATE TABLE two(v); INSERT INTO two VALUES(1), (2)");
    sqlite3_stmt *joining =
        step_into(all->db, "SELECT (SELECT max(V) FROM t WHERE V > two.v - 10) FROM two");
    run(all->db, DROP_T);
    /* Newer versions of SQLite use the subquery's cursor again, which goes on with its view. */
    int rc = sqlite3_step(joining);
    assert_true(rc == SQLITE_ERROR || rc == SQLITE_ROW);
    if (rc == SQLITE_ERROR) {
        says(all->db, "(TableNotFound)");
    }
    sqlite3_finalize(joining);
    run(all->db, "ROLLBACK");
    assert_number(all->db, 3, "SELECT count(*) FROM t");
}

/* Without the companion a transaction does not go on with the view of a statement before it. */
static void nothing_is_written_to_a_table_that_an_older_statement_still_sees(void **state)
{
    scene *all = *state;
    forbid_companion(all->db);
    sqlite3_stmt *older = step_into(
        all->db, "SELECT V FROM json_each('[1,2,3]') CROSS JOIN t WHERE PartitionKey = 'q'");
    run(all->db, "BEGIN; " DROP_T);
    assert_int_equal(sqlite3_step(older), SQLITE_ROW);
    fails(all->db, SQLITE_ERROR, "INSERT INTO t VALUES('p', 'c', 4)");
    says(all->db, "(TableNotFound)");
    expect_rest(older, 1);
    run(all->db, "COMMIT");
}

static void the_catalogue_is_dropped_while_it_is_read(void **state)
{
    scene *all = *state;
    sqlite3_stmt *listing = step_into(all->db, "SELECT TableName, Entities FROM pt_tables");
    run(all->db, "DELETE FROM pt_tables");
    expect_rest(listing, 1);
    assert_number(all->db, 0, "SELECT count(*) FROM pt_tables");
    run(all->db, "BEGIN; INSERT INTO pt_tables(TableName) VALUES('a'), ('b'), ('c')");
    listing = step_into(all->db, "SELECT TableName FROM pt_tables");
    run(all->db, "ROLLBACK");
    assert_int_equal(sqlite3_step(listing), SQLITE_ABORT_ROLLBACK);
    sqlite3_finalize(listing);
    assert_number(all->db, 0, "SELECT count(*) FROM pt_tables");
}

static void functions_read_on_when_their_table_is_dropped(void **state)
{
    scene *all = *state;
    sqlite3_stmt *partitions = step_into(all->db, "SELECT * FROM pt_partitions('t')");
    sqlite3_stmt *properties = step_into(all->db, "SELECT * FROM pt_properties('t')");
    sqlite3_stmt *stores = step_into(all->db, "SELECT * FROM pt_stores");
    run(all->db, DROP_T "; DROP TABLE t");
    expect_rest(partitions, 1);
    expect_rest(properties, 0);
    expect_rest(stores, 0);
    fails(all->db, SQLITE_ERROR, "SELECT * FROM pt_partitions('t')");
    fails(all->db, SQLITE_ERROR, "SELECT * FROM pt_partitions('main.db-ptable', 't')");
    says(all->db, "(TableNotFound)");
}

/* --- Transactions --- */

static void pending_writes_go_with_their_table(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'c', 4); UPDATE u SET V = 11; " DROP_T);
    assert_number(all->db, 1, "SELECT count(*) FROM pt_batches");
    run(all->db, "COMMIT");
    peer_fails(&all->other, SQLITE_ERROR, "SELECT count(*) FROM t");
    assert_peer_number(&all->other, 11, "SELECT V FROM u");
    peer_run(&all->other, MAKE_T);
    assert_peer_number(&all->other, 0, "SELECT count(*) FROM t");
}

/* SQLite hands over what to drop in the order of ids. With a walk through the names for each of
 * them this took seconds. */
static void many_tables_are_dropped_in_any_order(void **state)
{
    scene *all = *state;
    run(all->db,
        "CREATE TABLE n(name); WITH c(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM c WHERE "
        "i < 7999) INSERT INTO n SELECT format('n%%04d', i * 4357 %% 8000) FROM c;"
        "INSERT INTO pt_tables(TableName) SELECT name FROM n");
    run(all->db, "BEGIN; DELETE FROM pt_tables WHERE TableName GLOB 'n???[02468]'");
    assert_number(all->db, 4000, "SELECT changes()");
    assert_number(all->db, 4000,
                  "SELECT count(*) FROM pt_tables JOIN n ON name = TableName "
                  "WHERE name GLOB 'n???[13579]'");
    assert_number(all->db, 4002, "SELECT count(*) FROM pt_tables");
    run(all->db, "DELETE FROM pt_tables WHERE Store = 'main.db-ptable' AND TableName > 'n'");
    assert_number(all->db, 4002, "SELECT changes()");
    assert_number(all->db, 0, "SELECT count(*) FROM pt_tables");
    run(all->db, "ROLLBACK; DELETE FROM pt_tables WHERE TableName GLOB 'n*'; DROP TABLE n");
    assert_number(all->db, 2, "SELECT count(*) FROM pt_tables");
    assert_number(all->db, 3, "SELECT count(*) FROM t");
}

static void savepoints_hold_for_a_table_that_joins_late(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'c', 4); SAVEPOINT a;"
                 "INSERT INTO t VALUES('p', 'd', 5); SAVEPOINT b; " DROP_T);
    run(all->db, "INSERT INTO pt_tables(TableName) VALUES('t'), ('n'); ROLLBACK TO b");
    assert_number(all->db, 5, ROWS_OF_T);
    run(all->db, DROP_T "; RELEASE b; ROLLBACK TO a");
    assert_number(all->db, 4, ROWS_OF_T);
    assert_number(all->db, 2, "SELECT count(*) FROM pt_tables");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 4, "SELECT count(*) FROM t");
}

static void the_outermost_savepoint_takes_everything_back(void **state)
{
    scene *all = *state;
    run(all->db, "SAVEPOINT outer; SAVEPOINT inner; " DROP_T "; RELEASE inner;"
                 "INSERT INTO pt_tables(TableName) VALUES('n'); ROLLBACK TO outer");
    assert_number(all->db, 3, ROWS_OF_T);
    run(all->db, "DELETE FROM pt_tables WHERE TableName = 'u'; RELEASE outer");
    peer_fails(&all->other, SQLITE_ERROR, "SELECT * FROM u");
    assert_peer_number(&all->other, 3, "SELECT count(*) FROM t");
}

static void a_failed_statement_takes_its_drops_back(void **state)
{
    scene *all = *state;
    run(all->db, "CREATE TABLE once(name PRIMARY KEY);"
                 "CREATE TRIGGER log AFTER INSERT ON once BEGIN"
                 "  INSERT INTO t VALUES('log', new.name, 1); END");
    run(all->db, "BEGIN; " DROP_T);
    fails(all->db, SQLITE_ERROR, "INSERT INTO once VALUES('x')");
    assert_number(all->db, 0, "SELECT count(*) FROM once");
    fails(all->db, SQLITE_CONSTRAINT_PRIMARYKEY,
          "INSERT INTO pt_tables(TableName) VALUES('n'), ('m'), ('u')");
    assert_number(all->db, 1, "SELECT count(*) FROM pt_tables");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 1, "SELECT count(*) FROM pt_tables");
}

static void several_stores_commit_and_roll_back_together(void **state)
{
    scene *all = *state;
    run(all->db, "CREATE VIRTUAL TABLE w USING ptable(V, store='w.ptable', sync='off');"
                 "INSERT INTO w VALUES('p', 'a', 1)");
    for (int commits = 0; commits < 2; commits++) {
        run(all->db, "BEGIN; " DROP_T "; DELETE FROM pt_tables WHERE Store = 'w.ptable';"
                     "INSERT INTO pt_tables(Store, TableName) VALUES('w.ptable', 'x')");
        fails(all->db, SQLITE_ERROR, "SELECT * FROM w");
        run(all->db, commits ? "COMMIT" : "ROLLBACK");
        assert_peer_number(&all->other, commits ? 1 : 2, "SELECT count(*) FROM pt_tables");
        assert_peer_number(&all->other, commits,
                           "SELECT TableName = 'x' FROM pt_tables WHERE Store = 'w.ptable'");
    }
}

static void a_refused_commit_drops_nothing(void **state)
{
    scene *all = *state;
    sqlite3 *third = open_database(all->folder, "third.db");
    sqlite3 *reader = open_database(all->folder, "third.db");
    run(third, "PRAGMA journal_mode = delete; CREATE TABLE x(v);"
               "CREATE VIRTUAL TABLE n USING ptable(V); INSERT INTO n VALUES('p', 'a', 1)");
    run(reader, "BEGIN; SELECT * FROM x");
    fails(third, SQLITE_BUSY, "DELETE FROM pt_tables");
    assert_number(third, 1, "SELECT V FROM n");
    run(third, "BEGIN; DELETE FROM pt_tables");
    fails(third, SQLITE_BUSY, "COMMIT");
    assert_number(reader, 1, "SELECT count(*) FROM pt_tables");
    run(reader, "COMMIT");
    run(third, "COMMIT");
    assert_number(reader, 0, "SELECT count(*) FROM pt_tables");
    close_database(reader);
    close_database(third);
}

/* --- Stores that no table of the connection uses --- */

static void a_store_is_open_as_long_as_it_is_needed(void **state)
{
    scene *all = *state;
    sqlite3 *second = open_database(all->folder, "second.db");
    assert_number(second, 2, "SELECT count(*) FROM pt_tables WHERE Store = 'main.db-ptable'");
    assert_number(second, 0, "SELECT count(*) FROM pt_stores");
    assert_number(second, 2, "SELECT count(*) FROM pt_partitions('main.db-ptable', 't')");
    run(second, "DELETE FROM pt_tables WHERE Store = 'main.db-ptable' AND TableName = 't'");
    assert_number(second, 0, "SELECT count(*) FROM pt_stores");
    run(second, "BEGIN");
    assert_number(second, 1, "SELECT count(*) FROM pt_tables WHERE Store = 'main.db-ptable'");
    peer_run(&all->other, "INSERT INTO pt_tables(TableName) VALUES('n')");
    assert_number(second, 1, "SELECT count(*) FROM pt_tables WHERE Store = 'main.db-ptable'");
    assert_number(second, 1, "SELECT count(*) FROM pt_stores");
    run(second, "COMMIT");
    assert_number(second, 0, "SELECT count(*) FROM pt_stores");
    assert_number(second, 2, "SELECT count(*) FROM pt_tables WHERE Store = 'main.db-ptable'");
    close_database(second);
}

static void readers_are_counted_over_processes(void **state)
{
    scene *all = *state;
    assert_number(all->db, 0, "SELECT Readers FROM pt_stores");
    peer_run(&all->other, "BEGIN; SELECT count(*) FROM t");
    assert_number(all->db, 1, "SELECT Readers FROM pt_stores");
    assert_number(all->db, 0, "SELECT OldestReader FROM pt_stores");
    /* Commits that never go to a log, in which they keep no pages of older ones. */
    run(all->db, "CREATE VIRTUAL TABLE x USING ptable; CREATE VIRTUAL TABLE y USING ptable");
    assert_number(all->db, 2, "SELECT OldestReader FROM pt_stores");
    peer_run(&all->other, "COMMIT");
    assert_number(all->db, 1, "SELECT OldestReader IS NULL FROM pt_stores");
}

/* Large commits, which are few, make room as well. */
static void tables_that_come_and_go_reuse_their_space(void **state)
{
    enum { DAYS = 12, SETTLED = 4, LOADS = 4, ROWS = 5000 };
    scene *all = *state;
    int64_t settled = 0;
    for (int day = 0; day < DAYS; day++) {
        run(all->db, "CREATE VIRTUAL TABLE day USING ptable(V, table='day%d', sync='off')", day);
        for (int load = 0; load < LOADS; load++) {
            run(all->db,
                "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
                "INSERT INTO day SELECT %d, printf('%%08d', k), hex(zeroblob(50)) FROM n",
                ROWS, load);
        }
        run(all->db, "DROP TABLE day; DELETE FROM pt_tables WHERE TableName = 'day%d'", day - 1);
        if (day == SETTLED) {
            settled = number(all->db, "SELECT FileBytes FROM pt_stores");
        }
    }
    assert_in_range(number(all->db, "SELECT FileBytes FROM pt_stores"), settled, settled * 5 / 4);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(another_process_sees_that_a_table_is_gone),
        scene_test(another_process_uses_a_table_made_again),
        scene_test(a_transaction_of_another_process_reads_on),
        scene_test(who_has_read_what_changed_may_not_drop),
        scene_test(drops_wait_for_writers_as_writes_do),
        scene_test(a_drop_in_two_stores_waits_for_each),
        scene_test(who_does_not_drop_leaves_no_lock),
        scene_test(a_drop_that_begins_a_transaction_reads_the_newest_state),
        scene_test(an_open_statement_reads_a_dropped_table_to_its_end),
        scene_test(an_open_statement_looks_again_and_is_told),
        scene_test(nothing_is_written_to_a_table_that_an_older_statement_still_sees),
        scene_test(the_catalogue_is_dropped_while_it_is_read),
        scene_test(functions_read_on_when_their_table_is_dropped),
        scene_test(pending_writes_go_with_their_table),
        scene_test(many_tables_are_dropped_in_any_order),
        scene_test(savepoints_hold_for_a_table_that_joins_late),
        scene_test(the_outermost_savepoint_takes_everything_back),
        scene_test(a_failed_statement_takes_its_drops_back),
        scene_test(several_stores_commit_and_roll_back_together),
        scene_test(a_refused_commit_drops_nothing),
        scene_test(a_store_is_open_as_long_as_it_is_needed),
        scene_test(readers_are_counted_over_processes),
        scene_test(tables_that_come_and_go_reuse_their_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
