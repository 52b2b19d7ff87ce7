/*
 * Tables that are made, dropped and renamed: inside transactions that are rolled back, wholly or to
 * a savepoint, and under the eyes of another process.
 */
#include "fixtures/scene.h"
#include "fixtures/store.h"

#define STORE "main.db-ptable"

/* One table t with one row. */
static int set_up(void **state)
{
    return begin_scene(state, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                              "INSERT INTO t VALUES('p', 'a', 1)");
}

static void create_rolled_back_leaves_nothing(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    run(all->db, "INSERT INTO n VALUES('p', 'a', 1); INSERT INTO t VALUES('p', 'b', 2)");
    assert_number(all->db, 3, "SELECT count(*) FROM (SELECT V FROM n UNION ALL SELECT V FROM t)");
    run(all->db, "ROLLBACK");
    assert_store(all->folder, STORE, 1, 1);
    fails(all->db, SQLITE_ERROR, "SELECT * FROM n");
    run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    assert_number(all->db, 0, "SELECT count(*) FROM n");
    peer_run(&all->other, "INSERT INTO n VALUES('p', 'a', 1)");
    assert_number(all->db, 1, "SELECT count(*) FROM n");
}

static void create_in_an_empty_transaction_rolled_back_frees_the_lock(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; CREATE VIRTUAL TABLE n USING ptable; ROLLBACK");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'b', 2)");
    assert_store(all->folder, STORE, 1, 2);
}

static void create_rolled_back_to_a_savepoint_leaves_nothing(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; UPDATE t SET V = 2; SAVEPOINT s;"
                 "CREATE VIRTUAL TABLE n USING ptable(V Int32);"
                 "INSERT INTO n VALUES('p', 'a', 1); UPDATE t SET V = 3; ROLLBACK TO s");
    assert_number(all->db, 2, "SELECT V FROM t");
    fails(all->db, SQLITE_ERROR, "SELECT * FROM n");
    run(all->db, "COMMIT");
    assert_store(all->folder, STORE, 1, 1);
    assert_peer_number(&all->other, 2, "SELECT V FROM t");
}

static void create_first_and_rolled_back_to_a_savepoint_leaves_nothing(void **state)
{
    scene *all = *state;
    run(all->db, "SAVEPOINT outer; SAVEPOINT s; CREATE VIRTUAL TABLE n USING ptable(V Int32);"
                 "INSERT INTO n VALUES('p', 'a', 1); ROLLBACK TO s; RELEASE s");
    assert_number(all->db, 1, "SELECT V FROM t");
    run(all->db, "RELEASE outer");
    assert_store(all->folder, STORE, 1, 1);
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'b', 2)");
}

static void a_table_can_be_made_again_after_a_savepoint_took_it_back(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; SAVEPOINT s; CREATE VIRTUAL TABLE n USING ptable(V Int32);"
                 "INSERT INTO n VALUES('p', 'a', 1); ROLLBACK TO s;"
                 "CREATE VIRTUAL TABLE n USING ptable(W String)");
    assert_number(all->db, 0, "SELECT count(*) FROM n");
    run(all->db, "INSERT INTO n VALUES('q', 'a', 'x'); COMMIT");
    assert_store(all->folder, STORE, 2, 2);
    assert_peer_number(&all->other, 1, "SELECT W = 'x' FROM n");
}

static void a_savepoint_around_create_and_release_keeps_it(void **state)
{
    scene *all = *state;
    run(all->db, "SAVEPOINT s; CREATE VIRTUAL TABLE n USING ptable(V Int32);"
                 "INSERT INTO n VALUES('p', 'a', 7); RELEASE s");
    assert_store(all->folder, STORE, 2, 2);
    assert_peer_number(&all->other, 7, "SELECT V FROM n");
}

static void drop_keeps_the_entities(void **state)
{
    scene *all = *state;
    run(all->db, "DROP TABLE t");
    assert_store(all->folder, STORE, 1, 1);
    peer_fails(&all->other, SQLITE_ERROR, "SELECT * FROM t");
    run(all->db, "CREATE VIRTUAL TABLE t USING ptable(Other String, V)");
    assert_peer_number(&all->other, 1, "SELECT V FROM t WHERE Other IS NULL");
}

static void drop_rolled_back_changes_nothing(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; DROP TABLE t; ROLLBACK");
    assert_number(all->db, 1, "SELECT V FROM t");
    run(all->db, "BEGIN; UPDATE t SET V = 2; SAVEPOINT s; DROP TABLE t; ROLLBACK TO s");
    assert_number(all->db, 2, "SELECT V FROM t");
    run(all->db, "UPDATE t SET V = V + 1; COMMIT");
    assert_peer_number(&all->other, 3, "SELECT V FROM t");
}

static void writes_before_drop_are_committed(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2); DROP TABLE t; COMMIT");
    assert_store(all->folder, STORE, 1, 2);
    run(all->db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    assert_peer_number(&all->other, 3, "SELECT sum(V) FROM t");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'c', 3)");
}

static void writes_before_drop_are_rolled_back(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2); DROP TABLE t; ROLLBACK");
    assert_store(all->folder, STORE, 1, 1);
    assert_number(all->db, 1, "SELECT sum(V) FROM t");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'c', 3)");
}

static void a_table_made_and_dropped_in_one_transaction_is_there_afterwards(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; CREATE VIRTUAL TABLE n USING ptable(V Int32);"
                 "INSERT INTO n VALUES('p', 'a', 5); DROP TABLE n; COMMIT");
    assert_store(all->folder, STORE, 2, 2);
    run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    assert_number(all->db, 5, "SELECT V FROM n");
}

static void a_table_is_declared_anew_within_a_transaction(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2); DROP TABLE t;"
                 "CREATE VIRTUAL TABLE t USING ptable(V String, W Int64)");
    assert_number(all->db, 2, "SELECT V FROM t WHERE RowKey = 'b'");
    run(all->db, "INSERT INTO t VALUES('p', 'c', 'text', 9); COMMIT");
    assert_peer_number(&all->other, 3, "SELECT count(*) FROM t");
    assert_peer_number(&all->other, 9, "SELECT W FROM t WHERE V = 'text'");
}

static void a_table_of_the_store_is_declared_and_written_in_one_transaction(void **state)
{
    scene *all = *state;
    run(all->db, "DROP TABLE t; BEGIN; CREATE VIRTUAL TABLE t USING ptable(V Int32);"
                 "INSERT INTO t VALUES('p', 'b', 2); COMMIT");
    assert_peer_number(&all->other, 3, "SELECT sum(V) FROM t");
    run(all->db, "BEGIN; CREATE VIRTUAL TABLE s USING ptable(V Int32, table='t'); SAVEPOINT s;"
                 "UPDATE s SET V = 9 WHERE PartitionKey = 'p'; ROLLBACK TO s;"
                 "DELETE FROM s WHERE RowKey = 'a'; ROLLBACK");
    peer_run(&all->other, "UPDATE t SET V = V + 1");
    assert_number(all->db, 5, "SELECT sum(V) FROM t");
}

static void a_table_declared_read_only_is_not_written_in_that_transaction(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; CREATE VIRTUAL TABLE r USING ptable(V Int32, table='t', readonly=1)");
    fails(all->db, SQLITE_READONLY, "INSERT INTO r VALUES('p', 'b', 2)");
    says(all->db, "is read-only by its option");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 1, "SELECT sum(V) FROM t");
}

/* Without it nothing would commit the writes. */
static void without_the_companion_drop_after_writes_is_refused(void **state)
{
    scene *all = *state;
    forbid_companion(all->db);
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    fails(all->db, SQLITE_LOCKED, "DROP TABLE t");
    run(all->db, "COMMIT; DROP TABLE t");
    assert_store(all->folder, STORE, 1, 2);
}

static void a_table_is_used_by_another_process_at_once(void **state)
{
    scene *all = *state;
    for (int i = 0; i < 5; i++) {
        run(all->db, "CREATE VIRTUAL TABLE n%d USING ptable(V Int32)", i);
        peer_run(&all->other, "INSERT INTO n%d VALUES('p', 'a', %d)", i, i);
        assert_number(all->db, i, "SELECT V FROM n%d", i);
        peer_run(&all->other, "CREATE VIRTUAL TABLE m%d USING ptable(V Int32)", i);
        run(all->db, "INSERT INTO m%d VALUES('p', 'a', %d)", i, i);
        assert_peer_number(&all->other, i, "SELECT V FROM m%d", i);
    }
    assert_store(all->folder, STORE, 11, 11);
}

static void another_process_waits_for_create(void **state)
{
    scene *all = *state;
    peer_run(&all->other, "PRAGMA busy_timeout = 0");
    run(all->db, "BEGIN; CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    peer_fails(&all->other, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'b', 2)");
    peer_fails(&all->other, SQLITE_BUSY, "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    run(all->db, "COMMIT");
    peer_run(&all->other, "INSERT INTO n VALUES('p', 'b', 2)");
}

/* What the statement that runs reads is old. */
static void create_makes_a_table_that_was_dropped_while_a_statement_runs(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES('p', 'b', 2);"
                 "CREATE VIRTUAL TABLE n USING ptable(V Int32); DROP TABLE n");
    sqlite3_stmt *reading = step_into(all->db, "SELECT V FROM t");
    peer_run(&all->other, "DELETE FROM pt_tables WHERE TableName = 'n'");
    run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    peer_run(&all->other, "INSERT INTO n VALUES('p', 'a', 1)");
    assert_int_equal(sqlite3_step(reading), SQLITE_ROW);
    assert_int_equal(sqlite3_finalize(reading), SQLITE_OK);
    run(all->db, "INSERT INTO n VALUES('p', 'b', 1)");
    assert_number(all->db, 2, "SELECT count(*) FROM n");
}

static void a_create_that_fails_leaves_the_store_free(void **state)
{
    scene *all = *state;
    sqlite3 *second = open_database(all->folder, "second.db");
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    fails(second, SQLITE_BUSY, "CREATE VIRTUAL TABLE n USING ptable(V, store='" STORE "')");
    says(second, "is being written by another connection of this process");
    run(all->db, "COMMIT");
    fails(second, SQLITE_ERROR, "CREATE VIRTUAL TABLE n USING ptable(V Float16, store='x')");
    fails(second, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE n USING ptable(V, store='no/x.ptable')");
    says(second, "folder does not exist");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'c', 3)");
    run(second, "CREATE VIRTUAL TABLE n USING ptable(V, store='" STORE "')");
    assert_store(all->folder, STORE, 2, 3);
    close_database(second);
}

static void rename_is_refused_where_the_name_tells_the_table(void **state)
{
    scene *all = *state;
    fails(all->db, SQLITE_ERROR, "ALTER TABLE t RENAME TO r");
    says(all->db, "table='t'");
    assert_number(all->db, 1, "SELECT V FROM t");
}

static void rename_keeps_pending_writes(void **state)
{
    scene *all = *state;
    run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V Int32, table='T')");
    assert_number(all->db, 1, "SELECT V FROM n");
    run(all->db, "BEGIN; INSERT INTO n VALUES('p', 'b', 2); ALTER TABLE n RENAME TO r;"
                 "INSERT INTO r VALUES('p', 'c', 3)");
    assert_number(all->db, 6, "SELECT sum(V) FROM r");
    assert_number(all->db, 6, "SELECT sum(V) FROM t");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 6, "SELECT sum(V) FROM r");
    run(all->db, "BEGIN; DELETE FROM r; ALTER TABLE r RENAME TO n; ROLLBACK");
    assert_number(all->db, 6, "SELECT sum(V) FROM r");
    assert_store(all->folder, STORE, 1, 3);
}

static void a_missing_store_can_be_dropped(void **state)
{
    scene *all = *state;
    char path[PATH_SIZE];
    run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V, store='gone.ptable')");
    close_database(all->db);
    path_in(all->folder, "gone.ptable", path);
    assert_int_equal(unlink(path), 0);
    all->db = open_database(all->folder, "main.db");
    fails(all->db, SQLITE_CANTOPEN, "SELECT * FROM n");
    says(all->db, "CREATE VIRTUAL TABLE");
    fails(all->db, SQLITE_CANTOPEN, "INSERT INTO n VALUES('p', 'a', 1)");
    assert_int_equal(access(path, F_OK), -1);
    run(all->db, "DROP TABLE n");
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(create_rolled_back_leaves_nothing),
        scene_test(create_in_an_empty_transaction_rolled_back_frees_the_lock),
        scene_test(create_rolled_back_to_a_savepoint_leaves_nothing),
        scene_test(create_first_and_rolled_back_to_a_savepoint_leaves_nothing),
        scene_test(a_table_can_be_made_again_after_a_savepoint_took_it_back),
        scene_test(a_savepoint_around_create_and_release_keeps_it),
        scene_test(drop_keeps_the_entities),
        scene_test(drop_rolled_back_changes_nothing),
        scene_test(writes_before_drop_are_committed),
        scene_test(writes_before_drop_are_rolled_back),
        scene_test(a_table_made_and_dropped_in_one_transaction_is_there_afterwards),
        scene_test(a_table_is_declared_anew_within_a_transaction),
        scene_test(a_table_of_the_store_is_declared_and_written_in_one_transaction),
        scene_test(a_table_declared_read_only_is_not_written_in_that_transaction),
        scene_test(without_the_companion_drop_after_writes_is_refused),
        scene_test(a_table_is_used_by_another_process_at_once),
        scene_test(another_process_waits_for_create),
        scene_test(create_makes_a_table_that_was_dropped_while_a_statement_runs),
        scene_test(a_create_that_fails_leaves_the_store_free),
        scene_test(rename_is_refused_where_the_name_tells_the_table),
        scene_test(rename_keeps_pending_writes),
        scene_test(a_missing_store_can_be_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
