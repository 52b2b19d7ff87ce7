/*
 * Commits that fail after the store could already have been written: nothing may remain, or
 * nothing may be lost.
 */
#include "faults/saboteur.h"
#include "fixtures/scene.h"
#include "fixtures/store.h"

enum { PATIENCE_MS = 20000 };

/* One table t with one row; a plain table o with one row. */
static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    all->db = open_database(all->folder, "main.db");
    sqlite3_create_module(all->db, "saboteur", &saboteur_module, NULL);
    run(all->db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                 "CREATE VIRTUAL TABLE s USING saboteur;"
                 "CREATE TABLE o(v); INSERT INTO o VALUES(1); INSERT INTO t VALUES('p', 'a', 1)");
    all->second = open_database(all->folder, "main.db");
    all->other = start_peer(all->folder, "main.db");
    return 0;
}

static int tear_down(void **state)
{
    saboteur_code = SQLITE_OK;
    saboteur_watch = NULL;
    return end_scene(state);
}

#define STORE "main.db-ptable"

/* --- A rollback-journal database that somebody reads --- */

static void hold_a_read(scene *all, bool another_process)
{
    if (another_process) {
        peer_run(&all->other, "BEGIN; SELECT v FROM o");
    } else {
        run(all->second, "BEGIN; SELECT v FROM o");
    }
}

static void end_the_read(scene *all, bool another_process)
{
    if (another_process) {
        peer_run(&all->other, "COMMIT");
    } else {
        run(all->second, "COMMIT");
    }
}

static void commit_waits_for_readers(scene *all, bool another_process)
{
    hold_a_read(all, another_process);
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2)");
    fails(all->db, SQLITE_BUSY, "COMMIT");
    assert_int_equal(sqlite3_get_autocommit(all->db), 0);
    assert_store(all->folder, STORE, 1, 1);
    assert_number(all->db, 2, "SELECT count(*) FROM t");
    run(all->db, "INSERT INTO t VALUES('p', 'c', 3)");
    fails(all->db, SQLITE_BUSY, "COMMIT");
    assert_store(all->folder, STORE, 1, 1);
    end_the_read(all, another_process);
    run(all->db, "COMMIT");
    assert_store(all->folder, STORE, 1, 3);
    assert_number(all->second, 6, "SELECT sum(V) FROM t");
    assert_peer_number(&all->other, 6, "SELECT sum(V) FROM t");
}

static void commit_beside_a_reader_is_busy_and_can_be_repeated(void **state)
{
    commit_waits_for_readers(*state, false);
}

static void commit_beside_another_process_is_busy_and_can_be_repeated(void **state)
{
    commit_waits_for_readers(*state, true);
}

static void an_autocommit_statement_beside_a_reader_leaves_nothing(void **state)
{
    scene *all = *state;
    for (int process = 0; process < 2; process++) {
        hold_a_read(all, process);
        fails(all->db, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'b', 2)");
        fails(all->db, SQLITE_BUSY, "UPDATE t SET V = 7");
        fails(all->db, SQLITE_BUSY, "DELETE FROM t");
        assert_int_equal(sqlite3_get_autocommit(all->db), 1);
        assert_store(all->folder, STORE, 1, 1);
        assert_number(all->db, 1, "SELECT sum(V) FROM t");
        end_the_read(all, process);
    }
    run(all->db, "INSERT INTO t VALUES('p', 'b', 2)");
    assert_store(all->folder, STORE, 1, 2);
}

static void a_refused_autocommit_statement_frees_the_store(void **state)
{
    scene *all = *state;
    hold_a_read(all, true);
    fails(all->db, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'b', 2)");
    peer_run(&all->other, "COMMIT");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'b', 2)");
    assert_store(all->folder, STORE, 1, 2);
}

static void rollback_after_a_busy_commit_leaves_nothing(void **state)
{
    scene *all = *state;
    hold_a_read(all, true);
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2); UPDATE t SET V = 5");
    fails(all->db, SQLITE_BUSY, "COMMIT");
    run(all->db, "ROLLBACK");
    assert_store(all->folder, STORE, 1, 1);
    assert_number(all->db, 1, "SELECT sum(V) FROM t");
    end_the_read(all, true);
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'b', 9)");
    assert_number(all->db, 10, "SELECT sum(V) FROM t");
}

static void commit_waits_as_long_as_busy_timeout_says(void **state)
{
    scene *all = *state;
    run(all->second, "BEGIN; SELECT v FROM o");
    peer_run(&all->other, "PRAGMA busy_timeout = %d", PATIENCE_MS);
    peer_begins(&all->other, "INSERT INTO t VALUES('p', 'b', 2)");
    peer_waits(&all->other);
    assert_store(all->folder, STORE, 1, 1);
    run(all->second, "COMMIT");
    peer_ends(&all->other, SQLITE_OK);
    assert_store(all->folder, STORE, 1, 2);
}

static void ordinary_tables_and_ptables_commit_together(void **state)
{
    scene *all = *state;
    hold_a_read(all, true);
    run(all->db, "BEGIN; UPDATE o SET v = 2; UPDATE t SET V = 2");
    fails(all->db, SQLITE_BUSY, "COMMIT");
    assert_peer_number(&all->other, 1, "SELECT v FROM o");
    assert_peer_number(&all->other, 1, "SELECT V FROM t");
    end_the_read(all, true);
    run(all->db, "COMMIT");
    assert_peer_number(&all->other, 4, "SELECT o.v + t.V FROM o, t");
    run(all->db, "BEGIN; UPDATE t SET V = 3; UPDATE o SET v = 3; ROLLBACK");
    assert_peer_number(&all->other, 4, "SELECT o.v + t.V FROM o, t");
}

static void in_wal_mode_readers_do_not_hinder_a_commit(void **state)
{
    scene *all = *state;
    run(all->db, "PRAGMA journal_mode = wal");
    hold_a_read(all, false);
    hold_a_read(all, true);
    run(all->db, "INSERT INTO t VALUES('p', 'b', 2)");
    run(all->db, "BEGIN; UPDATE o SET v = 2; UPDATE t SET V = 5; COMMIT");
    assert_peer_number(&all->other, 1, "SELECT v FROM o");
    end_the_read(all, false);
    end_the_read(all, true);
    assert_peer_number(&all->other, 12, "SELECT sum(t.V) + o.v FROM t, o");
    assert_store(all->folder, STORE, 1, 2);
}

/* --- A commit hook that refuses --- */

static int refuse(void *context)
{
    (void)context;
    return 1;
}

static void a_refused_commit_leaves_nothing(void **state)
{
    scene *all = *state;
    sqlite3_commit_hook(all->db, refuse, NULL);
    fails(all->db, SQLITE_CONSTRAINT_COMMITHOOK, "INSERT INTO t VALUES('p', 'b', 2)");
    fails(all->db, SQLITE_CONSTRAINT_COMMITHOOK, "UPDATE t SET V = 8");
    fails(all->db, SQLITE_CONSTRAINT_COMMITHOOK, "DELETE FROM t");
    assert_store(all->folder, STORE, 1, 1);
    fails(all->db, SQLITE_CONSTRAINT_COMMITHOOK,
          "BEGIN; INSERT INTO t VALUES('p', 'b', 2); UPDATE o SET v = 2; UPDATE t SET V = V + 1;"
          "DELETE FROM t WHERE RowKey = 'a'; COMMIT");
    assert_int_equal(sqlite3_get_autocommit(all->db), 1);
    assert_store(all->folder, STORE, 1, 1);
    assert_number(all->second, 2, "SELECT o.v + t.V FROM o, t");
    sqlite3_commit_hook(all->db, NULL, NULL);
    run(all->db, "INSERT INTO t VALUES('p', 'b', 2)");
    assert_peer_number(&all->other, 3, "SELECT sum(V) FROM t");
}

static void a_refused_create_leaves_no_table(void **state)
{
    scene *all = *state;
    sqlite3_commit_hook(all->db, refuse, NULL);
    fails(all->db, SQLITE_CONSTRAINT_COMMITHOOK, "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    assert_store(all->folder, STORE, 1, 1);
    fails(all->db, SQLITE_CONSTRAINT_COMMITHOOK,
          "BEGIN; CREATE VIRTUAL TABLE n USING ptable(V Int32);"
          "INSERT INTO n VALUES('p', 'a', 1), ('p', 'b', 1); UPDATE t SET V = 6; COMMIT");
    assert_store(all->folder, STORE, 1, 1);
    sqlite3_commit_hook(all->db, NULL, NULL);
    fails(all->db, SQLITE_ERROR, "SELECT * FROM n");
    run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    assert_number(all->db, 0, "SELECT count(*) FROM n");
    assert_store(all->folder, STORE, 2, 1);
}

/* --- Another module that fails after the store was written --- */

static const scene *watched;
static int64_t entities_at_sync;

static void look_at_store(void)
{
    entities_at_sync = content_of_store(watched->folder, STORE).entities;
}

/* The saboteur is asked after the store was written; nobody sees yet what is in a log. */
static void assert_entities_at_sync(int64_t before, int64_t written)
{
    char path[PATH_SIZE];
    path_in(watched->folder, STORE "-log", path);
    bool has_log = access(path, F_OK) == 0;
    assert_int_equal(entities_at_sync, has_log ? before : written);
}

/* From here on the saboteur takes part in transactions after t did. */
static void begin_watched(scene *all, int code)
{
    watched = all;
    saboteur_watch = look_at_store;
    saboteur_code = code;
    entities_at_sync = -1;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'b', 2); INSERT INTO s VALUES(1)");
}

static void a_failure_behind_ours_takes_the_commit_back(void **state)
{
    scene *all = *state;
    begin_watched(all, SQLITE_IOERR);
    run(all->db, "UPDATE t SET V = 50; DELETE FROM t WHERE RowKey = 'a'");
    run(all->db, "INSERT INTO t SELECT 'q', value, value FROM json_each('[1,2,3]')");
    fails(all->db, SQLITE_IOERR, "COMMIT");
    assert_entities_at_sync(1, 4);
    assert_int_equal(sqlite3_get_autocommit(all->db), 1);
    assert_store(all->folder, STORE, 1, 1);
    assert_number(all->second, 1, "SELECT sum(V) FROM t");
    assert_peer_number(&all->other, 1, "SELECT sum(V) FROM t");
    peer_run(&all->other, "INSERT INTO t VALUES('p', 'b', 3)");
    assert_store(all->folder, STORE, 1, 2);
}

static void a_commit_taken_back_can_be_repeated(void **state)
{
    scene *all = *state;
    begin_watched(all, SQLITE_BUSY);
    fails(all->db, SQLITE_BUSY, "COMMIT");
    assert_entities_at_sync(1, 2);
    assert_int_equal(sqlite3_get_autocommit(all->db), 0);
    run(all->db, "DELETE FROM t WHERE RowKey = 'b'; INSERT INTO t VALUES('p', 'c', 3);"
                 "SAVEPOINT x; UPDATE t SET V = 100; ROLLBACK TO x;"
                 "CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    fails(all->db, SQLITE_BUSY, "COMMIT");
    assert_int_equal(entities_at_sync, 2);
    saboteur_code = SQLITE_OK;
    run(all->db, "COMMIT");
    assert_store(all->folder, STORE, 2, 2);
    assert_number(all->second, 4, "SELECT sum(V) FROM t");
    assert_peer_number(&all->other, 4, "SELECT sum(V) FROM t");
}

static void a_commit_taken_back_and_rolled_back_leaves_nothing(void **state)
{
    scene *all = *state;
    begin_watched(all, SQLITE_BUSY);
    fails(all->db, SQLITE_BUSY, "COMMIT");
    run(all->db, "UPDATE t SET V = 9; CREATE VIRTUAL TABLE n USING ptable(V Int32)");
    fails(all->db, SQLITE_BUSY, "COMMIT");
    run(all->db, "ROLLBACK");
    assert_store(all->folder, STORE, 1, 1);
    assert_number(all->second, 1, "SELECT V FROM t");
    peer_run(&all->other, "UPDATE t SET V = 2");
    assert_number(all->db, 2, "SELECT V FROM t");
}

/* Timestamps rise, also over a commit that was taken back. */
static void the_clock_is_not_taken_back(void **state)
{
    scene *all = *state;
    begin_watched(all, SQLITE_ERROR);
    char latest[40];
    const char *sql = "SELECT Timestamp FROM t WHERE RowKey = 'b'";
    sqlite3_stmt *statement = step_into(all->db, sql);
    snprintf(latest, sizeof latest, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    fails(all->db, SQLITE_ERROR, "COMMIT");
    run(all->db, "INSERT INTO t VALUES('p', 'b', 2)");
    assert_number(all->db, 1, "SELECT Timestamp > %Q FROM t WHERE RowKey = 'b'", latest);
}

#define commit_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        commit_test(commit_beside_a_reader_is_busy_and_can_be_repeated),
        commit_test(commit_beside_another_process_is_busy_and_can_be_repeated),
        commit_test(an_autocommit_statement_beside_a_reader_leaves_nothing),
        commit_test(a_refused_autocommit_statement_frees_the_store),
        commit_test(rollback_after_a_busy_commit_leaves_nothing),
        commit_test(commit_waits_as_long_as_busy_timeout_says),
        commit_test(ordinary_tables_and_ptables_commit_together),
        commit_test(in_wal_mode_readers_do_not_hinder_a_commit),
        commit_test(a_refused_commit_leaves_nothing),
        commit_test(a_refused_create_leaves_no_table),
        commit_test(a_failure_behind_ours_takes_the_commit_back),
        commit_test(a_commit_taken_back_can_be_repeated),
        commit_test(a_commit_taken_back_and_rolled_back_leaves_nothing),
        commit_test(the_clock_is_not_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
