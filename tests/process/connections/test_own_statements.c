/*
 * The statements that ptable itself runs: none is left for the application to find, and whatever it
 * does when it hears of one (here in a trace, it could be a progress handler) ends in an answer.
 */
#include "fixtures/scene.h"

static int set_up(void **state)
{
    return begin_scene(state, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
                              "CREATE VIRTUAL TABLE q USING pt_queue(sync='off');"
                              "INSERT INTO t VALUES('p', 'a', 1);"
                              "INSERT INTO q(Body) VALUES('x')");
}

/* --- What is left --- */

static const char *const uses[] = {
    "INSERT INTO t(PartitionKey, RowKey, Properties) VALUES('p', 'json', '{\"V\":2,\"W\":\"x\"}')",
    "UPDATE t SET Properties = '{\"V\":3}' WHERE RowKey = 'json'",
    "UPDATE t SET V = 4 WHERE RowKey = 'json'",
    "SELECT pt_entity_json(PartitionKey, RowKey, Timestamp, Properties) FROM t",
    "SELECT pt_entity_properties('{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"V\":1}', 'line 1')",
    "SELECT * FROM pt_tables",
    "SELECT * FROM pt_partitions('t')",
    "SELECT * FROM pt_properties('t')",
    "SELECT * FROM pt_stores",
    "SELECT Body FROM pt_queue_get('q')",
    "BEGIN; SELECT * FROM t; INSERT INTO t VALUES('p', 'b', 1); COMMIT",
    "SELECT pt_check()",
    "DELETE FROM t WHERE RowKey = 'json'",
};

static void no_statement_is_left(void **state)
{
    scene *all = *state;
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        run(all->db, "%s", uses[i]);
        const sqlite3_stmt *left = sqlite3_next_stmt(all->db, NULL);
        if (left != NULL) {
            fail_msg("%s\nleft a statement", uses[i]);
        }
    }
}

/* As SQLite's documentation advises, and libraries do. */
static int finalize_all(sqlite3 *db)
{
    int count = 0;
    sqlite3_stmt *left;
    while ((left = sqlite3_next_stmt(db, NULL)) != NULL) {
        sqlite3_finalize(left);
        count++;
    }
    return count;
}

static void an_application_may_finalize_all_statements(void **state)
{
    scene *all = *state;
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "%s", uses[0]);
    step_into(db, "SELECT * FROM t");
    assert_int_equal(sqlite3_close(db), SQLITE_BUSY);
    assert_int_equal(finalize_all(db), 1);
    run(db, "%s", uses[1]);
    assert_int_equal(finalize_all(db), 0);
    close_database(db);
}

/* --- What is done meanwhile --- */

typedef struct meddling {
    sqlite3 *db;
    const char *begins; /* the statement that is waited for, or NULL: number `turn` of ours */
    const char *spares; /* a word of statements that do not count, or NULL */
    const char *sql;
    int turn;
    int seen;
    bool done;
    int code; /* of sql */
} meddling;

/* SQLite shows a statement that runs inside another one as a comment. */
static int meddle(unsigned type, void *context, void *statement, void *text)
{
    static const char comment[] = "-- ";
    meddling *self = context;
    const char *shown = text;
    (void)type;
    (void)statement;
    if (self->done || strncmp(shown, comment, sizeof comment - 1) != 0 ||
        (self->spares != NULL && strstr(shown, self->spares) != NULL)) {
        return 0;
    }
    shown += sizeof comment - 1;
    bool awaited = self->begins != NULL ? strncmp(shown, self->begins, strlen(self->begins)) == 0
                                        : self->seen++ == self->turn;
    if (awaited) {
        self->done = true;
        self->code = sqlite3_exec(self->db, self->sql, NULL, NULL, NULL);
    }
    return 0;
}

static int code_with(meddling *self, const char *sql)
{
    sqlite3_trace_v2(self->db, SQLITE_TRACE_STMT, meddle, self);
    int code = code_of(self->db, "%s", sql);
    sqlite3_trace_v2(self->db, 0, NULL, NULL);
    return code;
}

static void a_table_is_not_dropped_while_it_is_written(void **state)
{
    static const char *const writes[] = {"INSERT INTO t VALUES('p', 'b', 2)",
                                         "INSERT INTO q(Body) VALUES('y')"};
    static const char *const drops[] = {"DROP TABLE t", "DROP TABLE q"};
    scene *all = *state;
    for (int i = 0; i < 2; i++) {
        meddling drop = {
            .db = all->db, .begins = "DELETE FROM temp.ptable_companion", .sql = drops[i]};
        run(all->db, "BEGIN");
        assert_int_equal(code_with(&drop, writes[i]), SQLITE_OK);
        assert_true(drop.done);
        assert_int_equal(drop.code, SQLITE_LOCKED);
        run(all->db, "COMMIT");
    }
    assert_number(all->db, 2, "SELECT count(*) FROM t");
    assert_number(all->db, 2, "SELECT count(*) FROM q");
}

/* To the store, not to the database. */
static void let_other_write(scene *all)
{
    peer_run(&all->other,
             "CREATE VIRTUAL TABLE IF NOT EXISTS temp.only_store USING "
             "ptable(store='%s/main.db-ptable', table='t'); BEGIN; DELETE FROM only_store WHERE 0",
             all->folder);
}

/* xBegin asks for the time-out when another process writes. */
static void a_table_is_not_dropped_while_it_waits(void **state)
{
    scene *all = *state;
    meddling drop = {.db = all->db, .begins = "PRAGMA busy_timeout", .sql = "DROP TABLE t"};
    let_other_write(all);
    assert_int_equal(code_with(&drop, "INSERT INTO t VALUES('p', 'b', 2)"), SQLITE_BUSY);
    assert_true(drop.done);
    assert_int_equal(drop.code, SQLITE_LOCKED);
    peer_run(&all->other, "COMMIT");
    run(all->db, "INSERT INTO t VALUES('p', 'b', 2)");
}

static void a_table_is_dropped_once(void **state)
{
    scene *all = *state;
    meddling drop = {
        .db = all->db, .begins = "DELETE FROM temp.ptable_companion", .sql = "DROP TABLE t"};
    run(all->db, "CREATE TABLE x(a); BEGIN; DELETE FROM t WHERE 0; SAVEPOINT s");
    int code = code_with(&drop, "DROP TABLE t");
    assert_true(drop.done);
    assert_int_equal(drop.code, SQLITE_LOCKED);
    assert_int_equal(code, SQLITE_OK);
    run(all->db, "COMMIT");
}

/* The queue may be dropped between the lookup of its name and the request. */
static void a_queue_may_be_gone_when_it_is_asked(void **state)
{
    scene *all = *state;
    meddling drop = {
        .db = all->db, .begins = "INSERT INTO temp.ptable_companion", .sql = "DROP TABLE q"};
    assert_int_equal(code_with(&drop, "SELECT Body FROM pt_queue_get('q')"), SQLITE_LOCKED);
    says(all->db, "q: was dropped or disconnected");
    assert_int_equal(drop.code, SQLITE_OK);
}

/* A schema that is taken back is read again, and its tables are connected again. */
static void a_queue_may_be_disconnected_while_it_is_asked(void **state)
{
    static const char taking_back[] = "BEGIN; CREATE TABLE x(a); ROLLBACK";
    const meddling deeds[] = {
        {.begins = "PRAGMA \"temp\".table_xinfo", .sql = "DETACH more"},
        {.begins = "INSERT INTO temp.ptable_companion", .sql = taking_back},
        {.begins = "PRAGMA busy_timeout", .sql = taking_back},
    };
    scene *all = *state;
    char path[PATH_SIZE];
    path_in(all->folder, "more.db", path);
    run(all->db,
        "ATTACH %Q AS more; PRAGMA more.journal_mode = wal; CREATE VIRTUAL TABLE more.other USING "
        "pt_queue(sync='off',"
        "store='main.db-ptable', table='q'); DETACH more",
        path);
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++) {
        meddling deed = deeds[i];
        deed.db = all->db;
        run(all->db, "ATTACH %Q AS more", path);
        let_other_write(all);
        int code = code_with(&deed, "SELECT Body FROM pt_queue_get('other')");
        assert_true(deed.done);
        assert_int_equal(deed.code, SQLITE_OK);
        assert_true(code != SQLITE_OK && code != SQLITE_NOMEM);
        peer_run(&all->other, "ROLLBACK");
        code_of(all->db, "DETACH more");
    }
    assert_number(all->db, 1, "SELECT count(*) FROM pt_queue_get('q')");
}

/*
 * At each statement of ours in turn, but for those that read it themselves: SQLite does not survive
 * that, whoever runs the statement.
 */
static void a_database_may_be_detached_while_it_is_searched(void **state)
{
    static const char *const questions[] = {"SELECT * FROM pt_partitions('other')",
                                            "SELECT * FROM pt_partitions('more.other')",
                                            "SELECT * FROM pt_properties('other')",
                                            "SELECT * FROM pt_queue_get('jobs')",
                                            "SELECT * FROM more.other",
                                            "INSERT INTO more.other VALUES('p', 'b', 2)"};
    scene *all = *state;
    int detached = 0;
    char path[PATH_SIZE];
    path_in(all->folder, "more.db", path);
    run(all->db,
        "ATTACH %Q AS more; PRAGMA more.journal_mode = wal; CREATE VIRTUAL TABLE more.other USING "
        "ptable(V Int32, sync='off'); INSERT INTO more.other VALUES('p', 'a', 1);"
        "CREATE VIRTUAL TABLE more.jobs USING pt_queue(sync='off'); DETACH more",
        path);
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        meddling detach = {.done = true};
        for (int turn = 0; detach.done; turn++) {
            sqlite3 *db = open_database(all->folder, "main.db");
            run(db, "ATTACH %Q AS more", path);
            detach = (meddling){.db = db,
                                .sql = "DETACH more; SELECT count(*) FROM pt_stores",
                                .spares = "\"more\"",
                                .turn = turn};
            int code = code_with(&detach, questions[i]);
            assert_true(code == SQLITE_OK || *sqlite3_errmsg(db) != 0);
            detached += detach.done && detach.code == SQLITE_OK;
            close_database(db);
        }
    }
    print_message("# detached %d times\n", detached);
    assert_true(detached > 5);
}

/* --- Anything at any time --- */

static const char *const statements[] = {
    "INSERT INTO t VALUES('p', 'b', 2)",
    "UPDATE t SET V = 5",
    "DELETE FROM t",
    "SELECT * FROM t",
    "SELECT * FROM pt_queue_get('q')",
    "SELECT * FROM pt_partitions('t')",
    "SELECT * FROM pt_tables",
    "SELECT pt_check()",
    "INSERT INTO q(Body) VALUES('y')",
    "DROP TABLE t",
};

static const char *const deeds[] = {
    "DROP TABLE t",
    "DROP TABLE q",
    "INSERT INTO t VALUES('p', 'nested', 3); DROP TABLE t",
    "SAVEPOINT s; CREATE TABLE x(a); ROLLBACK TO s; RELEASE s",
    "CREATE TABLE x(a)",
    "COMMIT",
    "ROLLBACK",
    "BEGIN; CREATE TABLE x(a); ROLLBACK",
    "CREATE TABLE x(a); ROLLBACK",
    "SELECT * FROM pt_queue_get('q')",
};

/* True if there was such a turn. */
static bool meddle_at(const char *folder, const char *statement, const char *deed, int turn,
                      bool in_transaction)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32, sync='off');"
            "CREATE VIRTUAL TABLE IF NOT EXISTS q USING pt_queue(sync='off');"
            "DROP TABLE IF EXISTS x");
    run(db, "%s", in_transaction ? "BEGIN" : "SELECT 1");
    meddling self = {.db = db, .sql = deed, .turn = turn};
    code_with(&self, statement);
    if (sqlite3_get_autocommit(db) == 0) {
        run(db, "ROLLBACK");
    }
    assert_null(sqlite3_next_stmt(db, NULL));
    run(db, "SELECT pt_check()");
    close_database(db);
    return self.done;
}

static void whatever_is_done_ends_in_an_answer(void **state)
{
    scene *all = *state;
    int deeds_done = 0;
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        for (size_t k = 0; k < sizeof deeds / sizeof deeds[0]; k++) {
            for (int in_transaction = 0; in_transaction <= 1; in_transaction++) {
                int turn = 0;
                while (meddle_at(all->folder, statements[i], deeds[k], turn, in_transaction)) {
                    turn++;
                }
                deeds_done += turn;
            }
        }
    }
    print_message("# %d deeds inside statements of ptable's own\n", deeds_done);
    assert_true(deeds_done > 100);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(no_statement_is_left),
        scene_test(an_application_may_finalize_all_statements),
        scene_test(a_table_is_not_dropped_while_it_is_written),
        scene_test(a_table_is_not_dropped_while_it_waits),
        scene_test(a_table_is_dropped_once),
        scene_test(a_queue_may_be_gone_when_it_is_asked),
        scene_test(a_queue_may_be_disconnected_while_it_is_asked),
        scene_test(a_database_may_be_detached_while_it_is_searched),
        scene_test(whatever_is_done_ends_in_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
