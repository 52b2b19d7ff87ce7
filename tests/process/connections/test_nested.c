/*
 * Statements with a function that runs statements of its own on the same connection.
 */
#include "fixtures/scene.h"

/* perform(sql): its result code. */
static void perform(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *sql = (const char *)sqlite3_value_text(argv[0]);
    sqlite3 *db = sqlite3_context_db_handle(context);
    sqlite3_result_int(context, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int set_up(void **state)
{
    int failed = begin_scene(state, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                                    "INSERT INTO t VALUES('p', 'a', 1), ('p', 'b', 2)");
    if (failed == 0) {
        const scene *all = *state;
        sqlite3_create_function(all->db, "perform", 1, SQLITE_UTF8, NULL, perform, NULL, NULL);
    }
    return failed;
}

/* What a DELETE was to drop is gone already, or another table by now. */
static void a_table_is_dropped_once(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO pt_tables(TableName) VALUES ('b')");
    run(all->db, "DELETE FROM pt_tables WHERE TableName = 'b' AND "
                 "perform('DELETE FROM pt_tables WHERE TableName = ''b''') = 0");
    assert_number(all->db, 1, "SELECT count(*) FROM pt_tables");
    run(all->db, "INSERT INTO pt_tables(TableName) VALUES ('b')");
    run(all->db, "DELETE FROM pt_tables WHERE TableName = 'b' AND "
                 "perform('DELETE FROM pt_tables WHERE TableName = ''b''; "
                 "INSERT INTO pt_tables(TableName) VALUES (''b'')') = 0");
    assert_number(all->db, 2, "SELECT count(*) FROM pt_tables");
}

static void batches_are_named_anew_when_the_catalogue_changes(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('q', 'a', 1), ('r', 'a', 1)");
    assert_number(all->db, 2,
                  "SELECT count(*) FROM pt_batches WHERE TableName = 't' AND "
                  "perform('INSERT INTO pt_tables(TableName) VALUES (''' || PartitionKey || ''')') "
                  "= 0");
    run(all->db, "COMMIT");
    assert_number(all->db, 3, "SELECT count(*) FROM pt_tables");
}

/* Nothing would commit what it wrote, and the store would stay locked. */
static void a_statement_that_rolls_back_writes_nothing_more(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'c', 3)");
    fails(all->db, SQLITE_ABORT_ROLLBACK, "INSERT INTO t VALUES('p', 'd', perform('ROLLBACK'))");
    says(all->db, "rolled back");
    peer_run(&all->other, "UPDATE t SET V = V + 10");
    run(all->db, "BEGIN");
    fails(all->db, SQLITE_ABORT_ROLLBACK,
          "UPDATE t SET V = perform('ROLLBACK') WHERE PartitionKey = 'p' AND RowKey = 'a'");
    assert_number(all->db, 23, "SELECT sum(V) FROM t");
    assert_peer_number(&all->other, 23, "SELECT sum(V) FROM t");
}

static void a_statement_on_the_catalogue_that_rolls_back_does_nothing_more(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN");
    fails(all->db, SQLITE_ABORT_ROLLBACK,
          "INSERT INTO pt_tables(TableName) SELECT 'n' || perform('ROLLBACK')");
    peer_run(&all->other, "UPDATE t SET V = V + 10");
    assert_number(all->db, 1, "SELECT count(*) FROM pt_tables");
}

static void a_statement_may_write_the_table_that_its_function_writes(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES('p', 'c', perform('INSERT INTO t VALUES(1, 2, 3)'));"
                 "BEGIN; UPDATE t SET V = V + perform('DELETE FROM t WHERE RowKey = ''2''');"
                 "COMMIT");
    assert_number(all->db, 3, "SELECT sum(V) FROM t");
    assert_peer_number(&all->other, 3, "SELECT sum(V) FROM t");
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(a_statement_that_rolls_back_writes_nothing_more),
        scene_test(a_statement_on_the_catalogue_that_rolls_back_does_nothing_more),
        scene_test(a_statement_may_write_the_table_that_its_function_writes),
        scene_test(a_table_is_dropped_once),
        scene_test(batches_are_named_anew_when_the_catalogue_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
