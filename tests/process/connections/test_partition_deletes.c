/*
 * Partitions that are deleted through pt_partitions: under the eyes of another process, beside open
 * statements, and with all that a transaction can do.
 */
#include "fixtures/scene.h"

/* Table t with partitions of 3, 3 and 1 entities. */
static int set_up(void **state)
{
    return begin_scene(state, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                              "INSERT INTO t VALUES('p', 'a', 1), ('p', 'b', 2), ('p', 'c', 3),"
                              "('q', 'a', 4), ('q', 'b', 5), ('q', 'c', 6), ('r', 'a', 7)");
}

#define DELETE_OF(condition) "DELETE FROM pt_partitions WHERE TableName = 't' AND " condition
#define DELETE_P DELETE_OF("PartitionKey = 'p'")

/* --- Two processes --- */

static void others_see_the_deletion_when_it_is_committed(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; " DELETE_P);
    assert_number(all->db, 4, "SELECT count(*) FROM t");
    assert_peer_number(&all->other, 7, "SELECT count(*) FROM t");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 4, "SELECT count(*) FROM t");
    assert_peer_number(&all->other, 4, "SELECT Entities FROM pt_tables");
}

static void a_transaction_of_another_process_reads_on(void **state)
{
    scene *all = *state;
    peer_run(&all->other, "BEGIN; SELECT count(*) FROM t");
    run(all->db, DELETE_P);
    assert_peer_number(&all->other, 7, "SELECT count(*) FROM t");
    peer_fails(&all->other, SQLITE_BUSY_SNAPSHOT, DELETE_OF("PartitionKey = 'q'"));
    peer_says(&all->other, "ptable: pt_partitions: store");
    peer_run(&all->other, "ROLLBACK; " DELETE_OF("PartitionKey = 'q'"));
    assert_number(all->db, 1, "SELECT count(*) FROM t");
}

static void a_deletion_waits_for_writers(void **state)
{
    scene *all = *state;
    run(all->db, "PRAGMA busy_timeout = 0");
    peer_run(&all->other, "BEGIN; INSERT INTO t VALUES('p', 'd', 8)");
    fails(all->db, SQLITE_BUSY, DELETE_P);
    peer_run(&all->other, "COMMIT");
    run(all->db, DELETE_P);
    assert_number(all->db, 4, "SELECT count(*) FROM t");
}

/* The read comes under the lock, so what it finds is what is deleted. */
static void a_deletion_that_begins_a_transaction_reads_the_newest_state(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN");
    peer_run(&all->other, "INSERT INTO t VALUES('new', 'a', 8)");
    run(all->db, DELETE_OF("PartitionKey = 'new'"));
    assert_number(all->db, 1, "SELECT changes()");
    peer_run(&all->other, "PRAGMA busy_timeout = 0");
    peer_fails(&all->other, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'd', 4)");
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 7, "SELECT count(*) FROM t");
}

/* xBegin comes for all of these, and for the first two nothing else. */
static void who_does_not_delete_leaves_no_lock(void **state)
{
    static const char *const idle[] = {
        "DELETE FROM pt_partitions WHERE 0", "DELETE FROM pt_partitions WHERE TableName = NULL",
        "BEGIN; DELETE FROM pt_partitions WHERE 0; ROLLBACK", DELETE_OF("PartitionKey = 'none'"),
        "BEGIN; " DELETE_P "; ROLLBACK"};
    scene *all = *state;
    peer_run(&all->other, "PRAGMA busy_timeout = 0");
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++) {
        run(all->db, "%s", idle[i]);
        assert_number(all->db, 3, "SELECT count(*) FROM pt_partitions('t')");
        peer_run(&all->other, "UPDATE t SET V = V + 1");
    }
}

/* --- Open statements of the same connection --- */

static void open_statements_read_on(void **state)
{
    scene *all = *state;
    sqlite3_stmt *entities = step_into(all->db, "SELECT * FROM t");
    sqlite3_stmt *partitions = step_into(all->db, "SELECT PartitionKey FROM pt_partitions('t')");
    run(all->db, DELETE_P);
    expect_rest(entities, 6);
    expect_rest(partitions, 2);
    assert_number(all->db, 4, "SELECT count(*) FROM t");
}

/* The entities of a row are read only when a column needs them. */
static void counts_are_those_of_the_statement(void **state)
{
    scene *all = *state;
    sqlite3_stmt *partitions = step_into(all->db, "SELECT Entities FROM pt_partitions('t')");
    run(all->db, "BEGIN; " DELETE_OF("1"));
    assert_int_equal(sqlite3_step(partitions), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(partitions, 0), 3);
    run(all->db, "ROLLBACK");
    sqlite3_finalize(partitions);
    assert_number(all->db, 7, "SELECT count(*) FROM t");
}

static void a_rollback_ends_statements_that_have_seen_the_deletion(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; " DELETE_P);
    sqlite3_stmt *entities = step_into(all->db, "SELECT * FROM t");
    run(all->db, "ROLLBACK");
    assert_int_equal(sqlite3_step(entities), SQLITE_ABORT_ROLLBACK);
    sqlite3_finalize(entities);
}

/* --- Transactions --- */

static void savepoints_hold(void **state)
{
    scene *all = *state;
    run(all->db, "SAVEPOINT a; " DELETE_P "; SAVEPOINT b;" DELETE_OF("PartitionKey > 'p'"));
    assert_number(all->db, 0, "SELECT count(*) FROM t");
    run(all->db, "INSERT INTO t VALUES('q', 'new', 8); ROLLBACK TO b");
    assert_number(all->db, 4, "SELECT count(*) FROM t");
    run(all->db, "RELEASE b; ROLLBACK TO a");
    assert_number(all->db, 7, "SELECT count(*) FROM t");
    run(all->db, DELETE_OF("PartitionKey = 'r'") "; RELEASE a");
    assert_peer_number(&all->other, 6, "SELECT count(*) FROM t");
}

/* In one transaction the same partition is written and deleted again and again. */
static void each_deletion_sees_what_was_written_before_it(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN");
    for (int i = 0; i < 5; i++) {
        run(all->db, DELETE_OF("PartitionKey IN ('p', 'q')"));
        assert_number(all->db, 1, "SELECT count(*) FROM t");
        run(all->db, "INSERT INTO t VALUES('p', 'b', 1), ('q', '%d', 2), ('p', 'new', 3)", i);
        assert_number(all->db, 2,
                      "SELECT Entities FROM pt_partitions('t') WHERE PartitionKey = 'p'");
    }
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 4, "SELECT count(*) FROM t");
    assert_number(all->db, 1, "SELECT pt_check() = 'ok'");
}

static void drop_then_keep(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    run(sqlite3_context_db_handle(context), "DELETE FROM pt_tables WHERE TableName = 't'");
    sqlite3_result_value(context, argv[0]);
}

static void roll_back(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    sqlite3_exec(sqlite3_context_db_handle(context), "ROLLBACK", NULL, NULL, NULL);
    sqlite3_result_value(context, argv[0]);
}

static void call(sqlite3 *db, void (*function)(sqlite3_context *, int, sqlite3_value **))
{
    assert_int_equal(
        sqlite3_create_function(db, "call", 1, SQLITE_UTF8, NULL, function, NULL, NULL), SQLITE_OK);
}

static void a_function_of_the_statement_may_drop_the_table(void **state)
{
    scene *all = *state;
    call(all->db, drop_then_keep);
    run(all->db, "BEGIN; INSERT INTO t VALUES('a', 'a', 1);" DELETE_OF("call(PartitionKey) = 'r'"));
    assert_number(all->db, 0, "SELECT count(*) FROM pt_tables");
    run(all->db, "ROLLBACK");
    assert_number(all->db, 7, "SELECT count(*) FROM t");
}

static void a_function_of_the_statement_may_roll_back(void **state)
{
    scene *all = *state;
    call(all->db, roll_back);
    run(all->db, "BEGIN; INSERT INTO t VALUES('a', 'a', 1)");
    assert_int_not_equal(code_of(all->db, DELETE_OF("call(PartitionKey) = 'r'")), SQLITE_OK);
    assert_number(all->db, 7, "SELECT count(*) FROM t");
    assert_peer_number(&all->other, 7, "SELECT count(*) FROM t");
    /* Nothing was written that the rows could miss: xUpdate is the first to be told. */
    run(all->db, "BEGIN");
    fails(all->db, SQLITE_ABORT_ROLLBACK, DELETE_OF("call(PartitionKey) = 'r'"));
    assert_number(all->db, 7, "SELECT count(*) FROM t");
}

static int stop(void *context)
{
    return --*(int *)context <= 0;
}

/* All or nothing, wherever it is stopped. */
static void it_can_be_interrupted(void **state)
{
    scene *all = *state;
    run(all->db, "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 20000) "
                 "INSERT INTO t SELECT 'large', k, k FROM n");
    int calls = 1;
    int rc = SQLITE_INTERRUPT;
    for (int first = 1; rc == SQLITE_INTERRUPT; first++) {
        calls = first;
        sqlite3_progress_handler(all->db, 20, stop, &calls);
        rc = code_of(all->db, DELETE_OF("PartitionKey = 'large'"));
        sqlite3_progress_handler(all->db, 0, NULL, NULL);
        assert_number(all->db, rc == SQLITE_OK ? 7 : 20007, "SELECT count(*) FROM t");
        assert_true(first < 1000);
    }
    assert_int_equal(rc, SQLITE_OK);
}

/* --- Other stores --- */

/* The statement that joins the transaction locks the store that it reads first. Another store is
 * locked when it is written. */
static void a_second_store_is_locked_when_it_is_written(void **state)
{
#define FAR "CREATE VIRTUAL TABLE far USING ptable(V, store='far.ptable', sync=off);"
    scene *all = *state;
    run(all->db, "PRAGMA busy_timeout = 0; " FAR "INSERT INTO far VALUES('p', 'a', 1)");
    all->second = open_database(all->folder, "second.db");
    run(all->second, FAR "BEGIN; INSERT INTO far VALUES('q', 'a', 1)");
    run(all->db, "BEGIN; " DELETE_P);
    fails(all->db, SQLITE_BUSY,
          "DELETE FROM pt_partitions WHERE Store = 'far.ptable' AND TableName = 'far'");
    run(all->second, "ROLLBACK");
    run(all->db, "DELETE FROM pt_partitions WHERE Store = 'far.ptable' AND TableName = 'far'");
    run(all->db, "COMMIT");
    assert_number(all->second, 0, "SELECT count(*) FROM far");
    assert_peer_number(&all->other, 4, "SELECT count(*) FROM t");
}

/* A connection that declares no table in the store opens it for the statement only. */
static void a_store_is_opened_for_the_statement(void **state)
{
    scene *all = *state;
    all->second = open_database(all->folder, "second.db");
    run(all->second, "DELETE FROM pt_partitions WHERE Store = 'main.db-ptable' AND TableName = 'T' "
                     "AND PartitionKey >= 'q'");
    assert_number(all->second, 2, "SELECT changes()");
    assert_number(all->second, 0, "SELECT count(*) FROM pt_stores");
    assert_number(all->db, 3, "SELECT count(*) FROM t");
    fails(all->second, SQLITE_ERROR, DELETE_P);
    says(all->second, "Store");
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(others_see_the_deletion_when_it_is_committed),
        scene_test(a_transaction_of_another_process_reads_on),
        scene_test(a_deletion_waits_for_writers),
        scene_test(a_deletion_that_begins_a_transaction_reads_the_newest_state),
        scene_test(who_does_not_delete_leaves_no_lock),
        scene_test(open_statements_read_on),
        scene_test(counts_are_those_of_the_statement),
        scene_test(a_rollback_ends_statements_that_have_seen_the_deletion),
        scene_test(savepoints_hold),
        scene_test(each_deletion_sees_what_was_written_before_it),
        scene_test(a_function_of_the_statement_may_drop_the_table),
        scene_test(a_function_of_the_statement_may_roll_back),
        scene_test(it_can_be_interrupted),
        scene_test(a_second_store_is_locked_when_it_is_written),
        scene_test(a_store_is_opened_for_the_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
