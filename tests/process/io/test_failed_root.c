/*
 * A disk that refuses LMDB's root page once. LMDB then begins no transaction until the store has
 * been opened again, which needs quiet: statements are refused as long as one is open that began
 * before, and that one goes on. Nothing is lost, and no other process notices.
 */
#include "faults/system_calls.h"

#include "faults/saboteur.h"
#include "fixtures/folder.h"
#include "fixtures/log_mode.h"
#include "fixtures/scene.h"
#include "fixtures/store.h"

enum { ROWS = 300 };

#define STORE "shared.ptable"
#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "', sync=full)"
#define ANOTHER_TABLE "CREATE VIRTUAL TABLE other USING ptable(V String, store='%s/" STORE "')"
#define DUMP "SELECT PartitionKey, RowKey, V FROM t"
#define OLD "SELECT count(*) FROM t WHERE V = 'old'"
#define REFUSAL "end the open statements and transactions on it in this process"

/* --- The disk --- */

static int failing_roots;

/* LMDB writes its root pages, and only them, from the middle of a page on. */
static bool is_root_page(const system_call *call)
{
    return call->kind == CALL_WRITE && strcmp(call->name, "pwrite") == 0 && call->offset < 8192 &&
           call->offset % 4096 != 0;
}

static system_call_verdict judge(const system_call *call)
{
    if (failing_roots == 0 || !is_root_page(call)) {
        return (system_call_verdict){0};
    }
    failing_roots--;
    return (system_call_verdict){.error = EIO};
}

static void fail_next_root(void)
{
    failing_roots = 1;
}

/* --- The scene --- */

static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    system_call_judge = judge;
    all->db = open_database("", ":memory:");
    all->second = open_database("", ":memory:");
    sqlite3_create_module(all->db, "saboteur", &saboteur_module, NULL);
    run(all->db,
        TABLE ";CREATE VIRTUAL TABLE s USING saboteur;"
              "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
              "INSERT INTO t SELECT 'p', printf('%%04d', k), 'old' FROM n",
        all->folder, ROWS);
    run(all->second, TABLE, all->folder);
    all->other = start_peer("", ":memory:");
    peer_run(&all->other, TABLE, all->folder);
    return 0;
}

static int tear_down(void **state)
{
    failing_roots = 0;
    saboteur_code = SQLITE_OK;
    saboteur_watch = NULL;
    use_no_log();
    return end_scene(state);
}

#define root_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* A change of the catalogue, which is never logged: a commit to LMDB's tree. */
static void fail_to_commit(scene *all)
{
    fail_next_root();
    fails(all->db, SQLITE_IOERR, "BEGIN; UPDATE t SET V = 'lost'; " ANOTHER_TABLE "; COMMIT",
          all->folder);
    assert_int_equal(failing_roots, 0);
}

static void assert_sound(sqlite3 *db, const char *folder)
{
    assert_number(db, 1, "SELECT pt_check('%s/" STORE "') = 'ok'", folder);
}

/* Both connections, and the other process, read and write all that was there. */
static void assert_usable(scene *all)
{
    assert_number(all->second, ROWS, OLD);
    assert_number(all->db, ROWS, OLD);
    assert_sound(all->db, all->folder);
    run(all->second, "INSERT INTO t VALUES('second', '', 'new')");
    run(all->db, "INSERT INTO t VALUES('first', '', 'new'); " ANOTHER_TABLE, all->folder);
    assert_peer_number(&all->other, ROWS + 2, "SELECT count(*) FROM t");
    peer_run(&all->other, "DELETE FROM t WHERE V = 'new'");
    assert_number(all->second, ROWS, "SELECT count(*) FROM t");
    assert_sound(all->db, all->folder);
}

/* --- Tests --- */

static void without_open_statements_all_goes_on_at_once(void **state)
{
    scene *all = *state;
    for (int first = 0; first < 4; first++) {
        fail_to_commit(all);
        sqlite3 *db = first % 2 == 0 ? all->db : all->second;
        if (first < 2) {
            assert_number(db, ROWS, OLD);
        } else {
            run(db, "UPDATE t SET V = 'old' WHERE RowKey = '0001'");
        }
    }
    assert_usable(all);
}

static void a_long_reader_goes_on_and_others_wait_for_its_end(void **state)
{
    scene *all = *state;
    sqlite3_stmt *reader = step_into(all->second, DUMP);
    fail_to_commit(all);
    for (int i = 1; i < ROWS; i++) {
        assert_int_equal(sqlite3_step(reader), SQLITE_ROW);
        assert_string_equal((const char *)sqlite3_column_text(reader, 2), "old");
        if (i % 100 == 0) {
            fails(all->db, SQLITE_IOERR, "SELECT count(*) FROM t");
            says(all->db, REFUSAL);
            says(all->db, STORE);
            fails(all->db, SQLITE_IOERR, "INSERT INTO t VALUES('first', '', 'lost')");
            says(all->db, REFUSAL);
            assert_number(all->second, ROWS, OLD); /* in the view of its reader */
            assert_peer_number(&all->other, ROWS, OLD);
            peer_run(&all->other, "INSERT INTO t VALUES('peer', %d, 'peer')", i);
        }
    }
    expect_rest(reader, 0);
    assert_number(all->db, 2, "SELECT count(*) FROM t WHERE V = 'peer'");
    peer_run(&all->other, "DELETE FROM t WHERE V = 'peer'");
    assert_usable(all);
}

/* It has no open statement, but reads on in what its first one saw. */
static void an_open_transaction_is_a_reader_too(void **state)
{
    scene *all = *state;
    run(all->second, "BEGIN");
    assert_number(all->second, ROWS, OLD);
    fail_to_commit(all);
    run(all->db, "BEGIN");
    fails(all->db, SQLITE_IOERR, "SELECT count(*) FROM t");
    says(all->db, REFUSAL);
    assert_true(sqlite3_get_autocommit(all->db)); /* as SQLite does after any I/O error */
    assert_number(all->second, ROWS, OLD);
    fails(all->second, SQLITE_IOERR, "UPDATE t SET V = 'lost'");
    says(all->second, REFUSAL);
    assert_true(sqlite3_get_autocommit(all->second)); /* it has ended with that */
    run(all->second, "UPDATE t SET V = 'old'");
    assert_usable(all);
}

/* The reader's own connection has made the commit. */
static void a_reader_may_be_the_one_that_failed(void **state)
{
    scene *all = *state;
    sqlite3_stmt *reader = step_into(all->db, DUMP);
    fail_next_root();
    fails(all->db, SQLITE_IOERR,
          "INSERT INTO t SELECT 'q', RowKey, printf('%%.1000c', 'x') FROM t");
    assert_int_equal(failing_roots, 0);
    fails(all->second, SQLITE_IOERR, "SELECT count(*) FROM t");
    says(all->second, REFUSAL);
    int rc = SQLITE_ROW;
    for (int rows = 1; rc == SQLITE_ROW; rows++) {
        rc = sqlite3_step(reader);
        assert_true(rc != SQLITE_DONE || rows == ROWS);
    }
    /* SQLite ends the statements of a connection whose transaction it has rolled back. */
    assert_true(rc == SQLITE_DONE || (rc & 0xff) == SQLITE_ABORT);
    sqlite3_finalize(reader);
    assert_usable(all);
}

static void what_the_log_holds_is_not_lost(void **state)
{
    scene *all = *state;
    use_log(LOG_FEW);
    run(all->db, "CREATE VIRTUAL TABLE l USING ptable(V String, store='%s/logged', sync=full)",
        all->folder);
    run(all->second, "CREATE VIRTUAL TABLE l USING ptable(V String, store='%s/logged', sync=full)",
        all->folder);
    run(all->db, "INSERT INTO l VALUES('p', '1', 'one')"); /* names the log */
    run(all->db, "INSERT INTO l VALUES('p', '2', 'two')");
    assert_int_equal(files_like(all->folder, "logged-log"), 1);
    for (int reads = 0; reads < 2; reads++) {
        sqlite3_stmt *reader = reads ? step_into(all->second, "SELECT RowKey FROM l") : NULL;
        run(all->db, "INSERT INTO l VALUES('p', %d, 'logged')", 3 + reads);
        fail_next_root();
        fails(all->db, SQLITE_IOERR,
              "BEGIN; CREATE VIRTUAL TABLE m USING ptable(V String, store='%s/logged'); COMMIT",
              all->folder);
        assert_int_equal(failing_roots, 0);
        if (reads) {
            fails(all->db, SQLITE_IOERR, "SELECT count(*) FROM l");
            fails(all->db, SQLITE_IOERR, "INSERT INTO l VALUES('p', '9', 'lost')");
            says(all->db, REFUSAL);
            expect_rest(reader, 2);
        }
        assert_number(all->db, 3 + reads, "SELECT count(*) FROM l");
    }
    run(all->second, "INSERT INTO l VALUES('p', '5', 'five')");
    assert_number(all->db, 12345, "SELECT group_concat(RowKey, '') FROM l");
    assert_number(all->db, 1, "SELECT pt_check('%s/logged') = 'ok'", all->folder);
    run(all->db, "DROP TABLE l");
    run(all->second, "DROP TABLE l");
    assert_int_equal(files_like(all->folder, "logged-log"), 0);
}

/* Its commits are in memory and files of the process only. */
static void a_private_store_is_opened_again_too(void **state)
{
    scene *all = *state;
    run(all->db, "CREATE VIRTUAL TABLE p USING ptable(V String);"
                 "INSERT INTO p VALUES('a', '1', 'one'), ('a', '2', 'two')");
    sqlite3_stmt *reader = step_into(all->db, "SELECT V FROM p");
    expect_rest(reader, 1);
    fail_next_root();
    fails(all->db, SQLITE_IOERR, "INSERT INTO p VALUES('a', '3', 'lost')");
    assert_int_equal(failing_roots, 0);
    assert_number(all->db, 2, "SELECT count(*) FROM p");
    run(all->db, "INSERT INTO p VALUES('a', '3', 'three')");
    assert_number(all->db, 3, "SELECT count(*) FROM p");
}

/*
 * The weakest case: SQLite fails after the store has committed, and the root page that is refused
 * is that of the commit that undoes it. The transaction holds the version from before, so the store
 * is not opened again until its connections are closed; then the store has the transaction, as
 * after a crash between the two commits.
 */
static void an_undo_that_fails_is_not_repeated(void **state)
{
    scene *all = *state;
    saboteur_code = SQLITE_ERROR;
    saboteur_watch = fail_next_root;
    run(all->db, "BEGIN; UPDATE t SET V = 'new'; INSERT INTO s VALUES(1)");
    fails(all->db, SQLITE_ERROR, "COMMIT");
    assert_int_equal(failing_roots, 0);
    saboteur_watch = NULL;
    saboteur_code = SQLITE_OK;
    sqlite3 *const ours[] = {all->db, all->second};
    for (int i = 0; i < 2; i++) {
        fails(ours[i], SQLITE_IOERR, "SELECT count(*) FROM t");
        says(ours[i], "could not be undone");
        says(ours[i], "close all connections of this process to it");
        fails(ours[i], SQLITE_IOERR, "INSERT INTO t VALUES('p', 'z', '')");
    }
    peer_fails(&all->other, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'z', '')");
    close_database(all->db);
    close_database(all->second);
    all->second = NULL;
    all->db = open_database("", ":memory:");
    run(all->db, TABLE, all->folder);
    assert_number(all->db, ROWS, "SELECT count(*) FROM t WHERE V = 'new'");
    peer_run(&all->other, "UPDATE t SET V = 'old'");
    all->second = open_database("", ":memory:");
    run(all->second, TABLE, all->folder);
    assert_usable(all);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        root_test(without_open_statements_all_goes_on_at_once),
        root_test(a_long_reader_goes_on_and_others_wait_for_its_end),
        root_test(an_open_transaction_is_a_reader_too),
        root_test(a_reader_may_be_the_one_that_failed),
        root_test(what_the_log_holds_is_not_lost),
        root_test(a_private_store_is_opened_again_too),
        root_test(an_undo_that_fails_is_not_repeated),
    };
    /* Of commits to the file, but for one test. */
    use_no_log();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
