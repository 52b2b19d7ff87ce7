/*
 * sqlite3_close() in the middle of a transaction. When it is refused, because a statement is left,
 * SQLite has told virtual tables to roll back but goes on itself: then all of the transaction must
 * be over, what it wrote to ordinary tables as well.
 */
#include "faults/failing_malloc.h"
#include "fixtures/scene.h"

/* close_within(): closes the connection, and gives the result code of that. */
static void close_within(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_int(context, sqlite3_close(sqlite3_context_db_handle(context)));
}

static int set_up(void **state)
{
    int failed = begin_scene(state, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                                    "CREATE TABLE o(V)");
    if (failed == 0) {
        const scene *all = *state;
        sqlite3_create_function(all->db, "close_within", 0, SQLITE_UTF8, NULL, close_within, NULL,
                                NULL);
    }
    return failed;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

static void refuse_close(sqlite3 *db)
{
    sqlite3_stmt *left = prepare(db, "SELECT 1");
    assert_int_equal(sqlite3_close(db), SQLITE_BUSY);
    sqlite3_finalize(left);
}

static void expect_no_transaction(sqlite3 *db)
{
    assert_true(sqlite3_get_autocommit(db));
    fails(db, SQLITE_ERROR, "COMMIT");
    says(db, "no transaction is active");
}

/* --- A transaction is whole --- */

static const char *const hosts[] = {"PRAGMA journal_mode = delete", "PRAGMA journal_mode = wal",
                                    "PRAGMA locking_mode = exclusive"};

/* One row more in each of three kinds of store, in a queue, and in an ordinary table. */
static const char write_everywhere[] = "INSERT INTO t SELECT 'p', 'k' || count(*), 1 FROM o;"
                                       "INSERT INTO second SELECT 'p', 'k' || count(*), 1 FROM o;"
                                       "INSERT INTO passing SELECT 'p', 'k' || count(*), 1 FROM o;"
                                       "INSERT INTO q(Body) VALUES ('m');"
                                       "INSERT INTO o VALUES (1);";

static const char rows_everywhere[] =
    "SELECT (SELECT count(*) FROM t) || (SELECT count(*) FROM second) || (SELECT count(*) FROM "
    "passing) || (SELECT count(*) FROM q) || (SELECT count(*) FROM o)";

static sqlite3 *open_host(const char *folder, const char *name, const char *setting)
{
    sqlite3 *db = open_database(folder, name);
    run(db, "%s", setting);
    run(db,
        "CREATE VIRTUAL TABLE t USING ptable(V);"
        "CREATE VIRTUAL TABLE second USING ptable(V, store='%s/second-%s');"
        "CREATE VIRTUAL TABLE temp.passing USING ptable(V);"
        "CREATE VIRTUAL TABLE q USING pt_queue;"
        "CREATE TABLE o(V)",
        folder, name);
    return db;
}

static void check_refused_close(sqlite3 *db, const char *begin)
{
    int64_t before = number(db, rows_everywhere);
    run(db, "%s; %s", begin, write_everywhere);
    refuse_close(db);
    expect_no_transaction(db);
    assert_number(db, before, rows_everywhere);
    run(db, "BEGIN; %s COMMIT", write_everywhere);
    assert_number(db, before + 11111, rows_everywhere);
}

static void a_refused_close_rolls_back_everything(void **state)
{
    const char *folder = *state;
    for (size_t i = 0; i <= sizeof hosts / sizeof hosts[0]; i++) {
        char name[20];
        bool in_memory = i == sizeof hosts / sizeof hosts[0];
        snprintf(name, sizeof name, "host%zu.db", i);
        sqlite3 *db = open_host(folder, in_memory ? ":memory:" : name, in_memory ? "" : hosts[i]);
        check_refused_close(db, "BEGIN");
        check_refused_close(db, "BEGIN IMMEDIATE; SAVEPOINT a; INSERT INTO t VALUES ('p', '0', 0);"
                                "INSERT INTO o VALUES (0); SAVEPOINT b");
        check_refused_close(db, "SAVEPOINT a; INSERT INTO o VALUES (0); SAVEPOINT b");
        close_database(db);
    }
}

static void a_refused_close_rolls_back_what_was_written_to_ptables_only(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1)");
    refuse_close(all->db);
    peer_run(&all->other, "INSERT INTO t VALUES ('p', '2', 2)");
    expect_no_transaction(all->db);
    assert_number(all->db, 2, "SELECT sum(V) FROM t");
}

static void a_refused_close_rolls_back_tables_made_and_dropped(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES ('p', '1', 1);"
                 "BEGIN; CREATE VIRTUAL TABLE n USING ptable(V); INSERT INTO n VALUES (1, 1, 1);"
                 "DROP TABLE t; INSERT INTO o VALUES (1)");
    refuse_close(all->db);
    expect_no_transaction(all->db);
    assert_number(all->db, 1, "SELECT count(*) FROM t");
    assert_number(all->db, 0, "SELECT count(*) FROM o");
    fails(all->db, SQLITE_ERROR, "SELECT * FROM n");
    assert_number(all->db, 1, "SELECT count(*) FROM pt_tables");
}

static void a_transaction_without_ptables_goes_on_after_a_refused_close(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES ('p', '1', 1); BEGIN; INSERT INTO o VALUES (1)");
    refuse_close(all->db);
    run(all->db, "INSERT INTO t VALUES ('p', '2', 1); COMMIT");
    assert_number(all->db, 21, "SELECT (SELECT count(*) FROM t) || (SELECT count(*) FROM o)");
}

/* It would write on top of what it has not seen. */
static void a_transaction_that_read_writes_nothing_after_a_refused_close(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES ('p', '1', 100); INSERT INTO o VALUES (0)");
    run(all->db, "BEGIN; UPDATE o SET V = (SELECT V FROM t)");
    refuse_close(all->db);
    peer_run(&all->other, "UPDATE t SET V = V + 1000");
    expect_no_transaction(all->db);
    assert_number(all->db, 0, "SELECT V FROM o");
    run(all->db, "BEGIN; SELECT * FROM t");
    refuse_close(all->db);
    expect_no_transaction(all->db);
    close_database(all->db);
    all->db = open_database(all->folder, "main.db");
    assert_number(all->db, 1100, "SELECT V FROM t");
}

static void a_backup_of_the_database_keeps_it_from_closing(void **state)
{
    scene *all = *state;
    sqlite3 *copy = open_database(all->folder, ":memory:");
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", all->db, "main");
    assert_non_null(backup);
    assert_int_equal(sqlite3_close(all->db), SQLITE_BUSY);
    assert_int_equal(sqlite3_backup_finish(backup), SQLITE_OK);
    expect_no_transaction(all->db);
    assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
    close_database(copy);
}

/* --- Statements that are being stepped --- */

static void statements_that_only_read_are_interrupted(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES ('p', '1', 1), ('p', '2', 2); INSERT INTO o VALUES (1), (2);"
                 "BEGIN; INSERT INTO o VALUES (3)");
    sqlite3_stmt *entities = step_into(all->db, "SELECT V FROM t");
    sqlite3_stmt *rows = step_into(all->db, "SELECT V FROM o");
    assert_int_equal(sqlite3_close(all->db), SQLITE_BUSY);
    assert_int_equal(sqlite3_step(rows), SQLITE_INTERRUPT);
    assert_int_equal(sqlite3_step(entities), SQLITE_INTERRUPT);
    sqlite3_finalize(entities);
    sqlite3_finalize(rows);
    expect_no_transaction(all->db);
    assert_number(all->db, 22, "SELECT (SELECT count(*) FROM t) || (SELECT count(*) FROM o)");
}

static void a_statement_that_reads_what_is_rolled_back_fails(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1), ('p', '2', 2)");
    sqlite3_stmt *entities = step_into(all->db, "SELECT V FROM t");
    assert_int_equal(sqlite3_close(all->db), SQLITE_BUSY);
    assert_int_equal(sqlite3_step(entities), SQLITE_INTERRUPT);
    sqlite3_finalize(entities);
    expect_no_transaction(all->db);
}

/* A statement that has not ended is what SQLite would commit. */
static void an_insert_that_is_not_done_fails(void **state)
{
    scene *all = *state;
    run(all->db, "CREATE TRIGGER both AFTER INSERT ON o BEGIN"
                 " INSERT INTO t VALUES ('p', new.V, new.V); END");
    sqlite3_stmt *insert = step_into(all->db, "INSERT INTO o VALUES (1), (2) RETURNING V");
    assert_int_equal(sqlite3_close(all->db), SQLITE_BUSY);
    assert_int_equal(sqlite3_step(insert), SQLITE_INTERRUPT);
    sqlite3_finalize(insert);
    assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
    insert = step_into(all->db, "INSERT INTO o VALUES (1), (2) RETURNING V");
    assert_int_equal(sqlite3_step(insert), SQLITE_ROW);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(insert);
    assert_number(all->db, 22, "SELECT (SELECT count(*) FROM t) || (SELECT count(*) FROM o)");
}

static void a_statement_that_tries_to_close_writes_nothing(void **state)
{
    scene *all = *state;
    static const char insert[] =
        "INSERT INTO t VALUES ('p', '1', 1), ('p', '2', close_within()), ('p', '3', 3)";
    fails(all->db, SQLITE_ABORT_ROLLBACK, insert);
    run(all->db, "BEGIN; INSERT INTO o VALUES (1); INSERT INTO t VALUES ('p', '0', 0)");
    fails(all->db, SQLITE_ABORT_ROLLBACK, insert);
    expect_no_transaction(all->db);
    assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
    peer_run(&all->other, "INSERT INTO t VALUES ('p', '2', 2)");
}

/* --- Where ROLLBACK cannot be run --- */

static void an_interrupted_connection_rolls_back_everything(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    sqlite3_stmt *left = step_into(all->db, "SELECT 1 UNION ALL SELECT 2");
    sqlite3_interrupt(all->db);
    assert_int_equal(sqlite3_close(all->db), SQLITE_BUSY);
    sqlite3_finalize(left);
    expect_no_transaction(all->db);
    assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
}

static int deny_transactions(void *context, int action, const char *a, const char *b, const char *c,
                             const char *d)
{
    (void)context;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return action == SQLITE_TRANSACTION ? SQLITE_DENY : SQLITE_OK;
}

static void an_authorizer_that_denies_rollback_does_not_tear_a_transaction(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    sqlite3_set_authorizer(all->db, deny_transactions, NULL);
    refuse_close(all->db);
    sqlite3_set_authorizer(all->db, NULL, NULL);
    expect_no_transaction(all->db);
    assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
}

/* True if the refused close made one more allocation, which failed. */
static bool close_without_memory(scene *all, int allocation, bool persistent)
{
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    sqlite3_stmt *left = prepare(all->db, "SELECT 1");
    failing_malloc_arm(allocation, persistent);
    int rc = sqlite3_close(all->db);
    bool hit = failing_malloc_disarm();
    assert_int_equal(rc, SQLITE_BUSY);
    sqlite3_finalize(left);
    return hit;
}

static void want_of_memory_does_not_tear_a_transaction(void **state)
{
    scene *all = *state;
    int points = 0;
    sqlite3_db_config(all->db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    while (close_without_memory(all, points, false)) {
        expect_no_transaction(all->db);
        assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
        points++;
    }
    print_message("# %d allocations of a refused close failed\n", points);
    assert_true(points > 0);
}

static bool told;       /* by the log, that a transaction is torn */
static int told_closed; /* how often, that a connection is closed */

static void watch_log(void *context, int code, const char *message)
{
    (void)context;
    (void)code;
    told = told || strstr(message, "but not the rest of it; ROLLBACK") != NULL;
    told_closed += strstr(message, "ptable: pt_") != NULL &&
                   strstr(message, "closed with sqlite3_close_v2; run it in another one") != NULL;
}

static void where_there_is_no_memory_at_all_the_log_tells(void **state)
{
    scene *all = *state;
    told = false;
    close_without_memory(all, 0, false);
    assert_false(told);
    close_without_memory(all, 0, true);
    assert_int_not_equal(told, sqlite3_get_autocommit(all->db));
}

/* --- True rollbacks and true closes --- */

static void count_call(void *calls)
{
    (*(int *)calls)++;
}

static int count_transaction_control(unsigned event, void *calls, void *statement, void *sql)
{
    (void)event;
    (void)statement;
    if (strstr(sql, "BEGIN") != NULL || strstr(sql, "ROLLBACK") != NULL) {
        count_call(calls);
    }
    return 0;
}

/* The number of statements with BEGIN or ROLLBACK in it that run for this one. */
static int transaction_control(sqlite3 *db, const char *sql, int code)
{
    int calls = 0;
    sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_transaction_control, &calls);
    fails(db, code, "%s", sql);
    sqlite3_trace_v2(db, 0, NULL, NULL);
    return calls;
}

static void a_true_rollback_is_left_to_sqlite(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1), (2)");
    sqlite3_stmt *entities = step_into(all->db, "SELECT * FROM t");
    sqlite3_stmt *rows = step_into(all->db, "SELECT * FROM o");
    static const char twice[] = "INSERT INTO t VALUES ('p', '2', 1), ('p', '1', 1)";
    assert_int_equal(transaction_control(all->db, twice, SQLITE_CONSTRAINT_PRIMARYKEY), 0);
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '3', 1); INSERT INTO o VALUES (3)");
    assert_int_equal(transaction_control(all->db, "ROLLBACK", SQLITE_OK), 1);
    run(all->db, "BEGIN; INSERT INTO o VALUES (3)");
    assert_int_equal(transaction_control(all->db, "INSERT OR ROLLBACK INTO t VALUES ('p', '1', 1)",
                                         SQLITE_CONSTRAINT_PRIMARYKEY),
                     1);
    expect_no_transaction(all->db);
    sqlite3_finalize(entities);
    sqlite3_finalize(rows);
    assert_number(all->db, 12, "SELECT (SELECT count(*) FROM t) || (SELECT count(*) FROM o)");
}

static void a_close_in_a_transaction_leaves_nothing_locked(void **state)
{
    scene *all = *state;
    int rollbacks = 0;
    sqlite3_rollback_hook(all->db, count_call, &rollbacks);
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    close_database(all->db);
    assert_int_equal(rollbacks, 1);
    peer_run(&all->other, "INSERT INTO t VALUES ('p', '1', 10); INSERT INTO o VALUES (10)");
    all->db = open_database(all->folder, "main.db");
    assert_number(all->db, 20, "SELECT (SELECT sum(V) FROM t) + (SELECT sum(V) FROM o)");
}

/* --- What a program gives to be called --- */

static int count_progress(void *calls)
{
    count_call(calls);
    return 0;
}

static int count_permission(void *calls, int action, const char *a, const char *b, const char *c,
                            const char *d)
{
    (void)action;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    count_call(calls);
    return SQLITE_OK;
}

static int count_event(unsigned event, void *calls, void *statement, void *sql)
{
    (void)event;
    (void)statement;
    (void)sql;
    count_call(calls);
    return 0;
}

static void watch_statements(sqlite3 *db, unsigned events, int *calls)
{
    sqlite3_progress_handler(db, 1, count_progress, calls);
    sqlite3_set_authorizer(db, count_permission, calls);
    sqlite3_trace_v2(db, events, count_event, calls);
}

static void watch_nothing(sqlite3 *db)
{
    sqlite3_progress_handler(db, 0, NULL, NULL);
    sqlite3_set_authorizer(db, NULL, NULL);
    sqlite3_trace_v2(db, 0, NULL, NULL);
}

/* Who closes a connection may have freed what they need: so does Python's sqlite3. */
static void a_close_calls_nothing_of_the_program(void **state)
{
    scene *all = *state;
    int calls = 0;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    watch_statements(all->db, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, &calls);
    assert_int_equal(sqlite3_close(all->db), SQLITE_OK);
    assert_int_equal(calls, 0);
    all->db = open_database(all->folder, "main.db");
    assert_number(all->db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM o)");
}

/* As Python closes, beside a statement that is left. Takes back what the transaction wrote. */
static void close_v2_calls_nothing(scene *all, sqlite3_stmt *left)
{
    int calls = 0;
    watch_statements(all->db, SQLITE_TRACE_STMT | SQLITE_TRACE_ROW, &calls);
    assert_int_equal(sqlite3_close_v2(all->db), SQLITE_OK);
    assert_int_equal(calls, 0);
    peer_run(&all->other, "INSERT INTO t VALUES ('p', '1', 10); INSERT INTO o VALUES (10)");
    sqlite3_finalize(left);
    all->db = open_database(all->folder, "main.db");
}

static void a_close_beside_a_statement_that_runs_calls_nothing_of_the_program(void **state)
{
    scene *all = *state;
    run(all->db, "INSERT INTO o VALUES (1), (2);"
                 "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (3)");
    close_v2_calls_nothing(all, step_into(all->db, "SELECT V FROM o"));
    assert_number(all->db, 23, "SELECT (SELECT sum(V) FROM t) + (SELECT sum(V) FROM o)");
}

/* Nor beside one that has not begun, or was reset. */
static void a_close_beside_an_idle_statement_calls_nothing_of_the_program(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (3)");
    close_v2_calls_nothing(all, prepare(all->db, "SELECT V FROM o"));
    assert_number(all->db, 20, "SELECT (SELECT sum(V) FROM t) + (SELECT sum(V) FROM o)");
}

static void a_refused_close_leaves_what_the_program_gave(void **state)
{
    scene *all = *state;
    int calls = 0;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1)");
    watch_statements(all->db, SQLITE_TRACE_STMT, &calls);
    refuse_close(all->db);
    calls = 0;
    run(all->db, "SELECT 1");
    int authorized = 1;
    int traced = 1;
    assert_true(calls > authorized + traced);
    expect_no_transaction(all->db);
    watch_nothing(all->db);
}

/* The connection lives on until its last statement is finalized. */
static void statements_left_by_close_v2_commit_nothing(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES ('p', '1', 1); INSERT INTO o VALUES (1)");
    sqlite3_stmt *commit = prepare(all->db, "COMMIT");
    sqlite3_stmt *insert = prepare(all->db, "INSERT INTO t VALUES ('p', '2', 2)");
    assert_int_equal(sqlite3_close_v2(all->db), SQLITE_OK);
    peer_run(&all->other, "INSERT INTO t VALUES ('p', '1', 10); INSERT INTO o VALUES (10)");
    assert_int_equal(sqlite3_step(commit), SQLITE_ERROR);
    assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
    sqlite3_finalize(commit);
    sqlite3_finalize(insert);
    all->db = open_database(all->folder, "main.db");
    assert_number(all->db, 12, "SELECT sum(V) FROM t");
    assert_number(all->db, 10, "SELECT sum(V) FROM o");
}

/* Which cannot run statements of ours any more; SQLite has only the log to say why in. */
static void statements_left_by_close_v2_say_why_they_fail(void **state)
{
    static const char *const left[] = {"SELECT * FROM pt_partitions('t')",
                                       "SELECT * FROM pt_properties('main.t')",
                                       "SELECT * FROM pt_queue_get('q')", "SELECT pt_compact()"};
    enum { LEFT = sizeof left / sizeof left[0] };
    sqlite3_stmt *statements[LEFT];
    scene *all = *state;
    run(all->db, "CREATE VIRTUAL TABLE q USING pt_queue");
    for (int i = 0; i < LEFT; i++) {
        statements[i] = prepare(all->db, left[i]);
    }
    assert_int_equal(sqlite3_close_v2(all->db), SQLITE_OK);
    told_closed = 0;
    for (int i = 0; i < LEFT; i++) {
        int code = sqlite3_step(statements[i]);
        if (code != SQLITE_ERROR || told_closed != i + 1) {
            fail_msg("%s: %d, told %d times", left[i], code, told_closed);
        }
    }
    for (int i = 0; i < LEFT; i++) {
        sqlite3_finalize(statements[i]);
    }
    all->db = open_database(all->folder, "main.db");
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    sqlite3_config(SQLITE_CONFIG_LOG, watch_log, NULL);
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_refused_close_rolls_back_everything, make_folder,
                                        remove_folder),
        scene_test(a_refused_close_rolls_back_what_was_written_to_ptables_only),
        scene_test(a_refused_close_rolls_back_tables_made_and_dropped),
        scene_test(a_transaction_without_ptables_goes_on_after_a_refused_close),
        scene_test(a_transaction_that_read_writes_nothing_after_a_refused_close),
        scene_test(a_backup_of_the_database_keeps_it_from_closing),
        scene_test(statements_that_only_read_are_interrupted),
        scene_test(a_statement_that_reads_what_is_rolled_back_fails),
        scene_test(an_insert_that_is_not_done_fails),
        scene_test(a_statement_that_tries_to_close_writes_nothing),
        scene_test(an_interrupted_connection_rolls_back_everything),
        scene_test(an_authorizer_that_denies_rollback_does_not_tear_a_transaction),
        scene_test(want_of_memory_does_not_tear_a_transaction),
        scene_test(where_there_is_no_memory_at_all_the_log_tells),
        scene_test(a_true_rollback_is_left_to_sqlite),
        scene_test(a_close_in_a_transaction_leaves_nothing_locked),
        scene_test(a_close_calls_nothing_of_the_program),
        scene_test(a_close_beside_a_statement_that_runs_calls_nothing_of_the_program),
        scene_test(a_close_beside_an_idle_statement_calls_nothing_of_the_program),
        scene_test(a_refused_close_leaves_what_the_program_gave),
        scene_test(statements_left_by_close_v2_commit_nothing),
        scene_test(statements_left_by_close_v2_say_why_they_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
