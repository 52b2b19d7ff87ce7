/*
 * Statements that are still being stepped while their connection, or another process, writes,
 * commits and rolls back.
 */
#include "fixtures/scene.h"

enum { KEYS = 200 };

static bool key_present[KEYS]; /* of table t */
static uint32_t random_state;

/* A table t, one partition, with every third key. */
static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    random_state = 1;
    all->db = open_database(all->folder, "main.db");
    run(all->db, "PRAGMA journal_mode = wal;"
                 "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off')");
    for (int key = 0; key < KEYS; key++) {
        key_present[key] = key % 3 == 0;
    }
    run(all->db,
        "WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 3 FROM n WHERE k + 3 < %d)"
        "INSERT INTO t SELECT 'p', printf('%%03d', k), k FROM n",
        KEYS);
    return 0;
}

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 16) % limit;
}

/* Inserts the key if it is missing, deletes it if it is there. */
static void flip(scene *all, int key)
{
    if (key_present[key]) {
        run(all->db, "DELETE FROM t WHERE PartitionKey = 'p' AND RowKey = printf('%%03d', %d)",
            key);
    } else {
        run(all->db, "INSERT INTO t VALUES('p', printf('%%03d', %d), %d)", key, key);
    }
    key_present[key] = !key_present[key];
}

static sqlite3_stmt *begin_walk(scene *all, bool backward)
{
    sqlite3_stmt *walk;
    const char *sql = backward ? "SELECT RowKey, V FROM t ORDER BY PartitionKey DESC, RowKey DESC"
                               : "SELECT RowKey, V FROM t ORDER BY PartitionKey, RowKey";
    assert_int_equal(sqlite3_prepare_v2(all->db, sql, -1, &walk, NULL), SQLITE_OK);
    return walk;
}

/* The key that the walk stands on now, or -1 behind the last. */
static int step_walk(sqlite3_stmt *walk)
{
    int rc = sqlite3_step(walk);
    if (rc == SQLITE_DONE) {
        return -1;
    }
    assert_int_equal(rc, SQLITE_ROW);
    int key = atoi((const char *)sqlite3_column_text(walk, 0));
    assert_int_equal(sqlite3_column_int(walk, 1), key);
    return key;
}

/* The next key behind `key` that is present, or -1; from the start if `key` is -1. */
static int next_present(const bool *present, int key, bool backward)
{
    int step = backward ? -1 : 1;
    int from = key >= 0 ? key + step : backward ? KEYS - 1 : 0;
    for (int next = from; next >= 0 && next < KEYS; next += step) {
        if (present[next]) {
            return next;
        }
    }
    return -1;
}

/* Walks on from `key` to the end and checks each step against the model, which does not change. */
static void walk_to_end(sqlite3_stmt *walk, const bool *present, int key, bool backward)
{
    do {
        int expected = next_present(present, key, backward);
        key = step_walk(walk);
        assert_int_equal(key, expected);
    } while (key >= 0);
    assert_int_equal(sqlite3_finalize(walk), SQLITE_OK);
}

/* --- Writes of the same connection --- */

/* A statement does not meet what its own transaction writes while it runs. */
static void a_walk_in_a_transaction_sees_what_was_there_at_its_begin(void **state)
{
    scene *all = *state;
    for (int round = 0; round < 20; round++) {
        bool backward = round % 2 == 1;
        bool before[KEYS];
        memcpy(before, key_present, sizeof before);
        run(all->db, "BEGIN");
        sqlite3_stmt *walk = begin_walk(all, backward);
        int key = -1;
        do {
            int expected = next_present(before, key, backward);
            key = step_walk(walk);
            assert_int_equal(key, expected);
            for (unsigned flips = random_below(4); key >= 0 && flips > 0; flips--) {
                flip(all, (int)random_below(KEYS));
            }
        } while (key >= 0);
        assert_int_equal(sqlite3_finalize(walk), SQLITE_OK);
        walk_to_end(begin_walk(all, backward), key_present, -1, backward);
        run(all->db, "COMMIT");
    }
}

/* Each autocommit statement is a transaction of its own, which an older walk does not see. */
static void a_walk_in_autocommit_sees_what_was_there_at_its_begin(void **state)
{
    scene *all = *state;
    for (int round = 0; round < 10; round++) {
        bool backward = round % 2 == 1;
        bool before[KEYS];
        memcpy(before, key_present, sizeof before);
        sqlite3_stmt *walk = begin_walk(all, backward);
        int key = -1;
        do {
            int expected = next_present(before, key, backward);
            key = step_walk(walk);
            assert_int_equal(key, expected);
            if (key >= 0) {
                flip(all, (int)random_below(KEYS));
            }
        } while (key >= 0);
        assert_int_equal(sqlite3_finalize(walk), SQLITE_OK);
        walk_to_end(begin_walk(all, backward), key_present, -1, backward);
    }
}

static void a_walk_can_delete_every_row_it_meets(void **state)
{
    scene *all = *state;
    for (int in_transaction = 0; in_transaction < 2; in_transaction++) {
        run(all->db, in_transaction ? "BEGIN" : "SELECT 1");
        sqlite3_stmt *walk = begin_walk(all, false);
        int rows = 0;
        for (int key = step_walk(walk); key >= 0; key = step_walk(walk)) {
            assert_int_equal(key, rows * 3);
            flip(all, key);
            rows++;
        }
        assert_int_equal(rows, (KEYS + 2) / 3);
        assert_number(all->db, 0, "SELECT count(*) FROM t");
        assert_int_equal(sqlite3_finalize(walk), SQLITE_OK);
        run(all->db, in_transaction ? "COMMIT" : "SELECT 1");
        for (int key = 0; key < KEYS; key += 3) {
            flip(all, key);
        }
    }
}

static void a_walk_follows_a_rollback_to_a_savepoint(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; DELETE FROM t WHERE RowKey < '030'; SAVEPOINT s");
    memset(key_present, 0, 30);
    bool kept[KEYS];
    memcpy(kept, key_present, sizeof kept);
    for (int key = 31; key < 150; key += 3) {
        flip(all, key);
    }
    sqlite3_stmt *walk = begin_walk(all, false);
    int key = -1;
    while (key < 61) {
        key = step_walk(walk);
    }
    assert_int_equal(key, 61); /* a row that the rollback takes back */
    run(all->db, "ROLLBACK TO s");
    walk_to_end(walk, kept, key, false);
    run(all->db, "ROLLBACK");
}

/* --- Over the end of the transaction --- */

static void a_walk_goes_on_over_commit(void **state)
{
    scene *all = *state;
    for (int backward = 0; backward < 2; backward++) {
        bool seen[KEYS];
        run(all->db, "BEGIN");
        for (int i = 0; i < 40; i++) {
            flip(all, (int)random_below(KEYS));
        }
        memcpy(seen, key_present, sizeof seen);
        sqlite3_stmt *walk = begin_walk(all, backward);
        int key = step_walk(walk);
        run(all->db, "COMMIT");
        for (int i = 0; i < 40; i++) {
            flip(all, (int)random_below(KEYS));
        }
        walk_to_end(walk, seen, key, backward);
        walk_to_end(begin_walk(all, backward), key_present, -1, backward);
    }
}

static void a_walk_that_read_nothing_pending_goes_on_over_rollback(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN");
    sqlite3_stmt *walk = begin_walk(all, false);
    int key = step_walk(walk);
    run(all->db, "ROLLBACK");
    flip(all, 1);
    key_present[1] = false;
    walk_to_end(walk, key_present, key, false);
}

static void a_walk_over_withdrawn_writes_is_aborted(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', '001', 1), ('p', '199', 199)");
    sqlite3_stmt *walk = begin_walk(all, false);
    assert_int_equal(step_walk(walk), 0);
    assert_int_equal(step_walk(walk), 1);
    run(all->db, "ROLLBACK");
    assert_int_equal(sqlite3_step(walk), SQLITE_ABORT_ROLLBACK);
    says(all->db, "rolled back");
    assert_int_equal(sqlite3_reset(walk), SQLITE_ABORT_ROLLBACK);
    walk_to_end(walk, key_present, -1, false);
    run(all->db, "INSERT INTO t VALUES('q', 'a', 1)");
}

static void an_open_walk_does_not_keep_the_lock(void **state)
{
    scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    sqlite3_stmt *walk = begin_walk(all, false);
    assert_int_equal(step_walk(walk), 0);
    flip(all, 1);
    peer_run(&other, "DELETE FROM t WHERE RowKey <> '000'");
    bool before[KEYS];
    memcpy(before, key_present, sizeof before);
    before[1] = false;
    walk_to_end(walk, before, 0, false);
    assert_number(all->db, 1, "SELECT count(*) FROM t");
    stop_peer(&other);
}

static void several_walks_keep_their_own_versions(void **state)
{
    scene *all = *state;
    enum { WALKS = 12 };
    sqlite3_stmt *walks[WALKS];
    bool versions[WALKS][KEYS];
    for (int i = 0; i < WALKS; i++) {
        memcpy(versions[i], key_present, KEYS);
        walks[i] = begin_walk(all, i % 2 == 1);
        int key = step_walk(walks[i]);
        assert_int_equal(key, next_present(versions[i], -1, i % 2 == 1));
        flip(all, (int)random_below(KEYS - 2) + 1);
    }
    for (int i = WALKS - 1; i >= 0; i--) {
        int first = next_present(versions[i], -1, i % 2 == 1);
        walk_to_end(walks[i], versions[i], first, i % 2 == 1);
    }
}

/* --- Another process --- */

static void a_long_walk_keeps_its_version_over_many_commits(void **state)
{
    enum { COMMITS = 1000, COMMITS_A_STEP = 20 };
    scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    sqlite3_stmt *walk = begin_walk(all, false);
    int key = step_walk(walk);
    for (int commit = 0; commit < COMMITS; commit++) {
        peer_run(&other,
                 "INSERT OR REPLACE INTO t VALUES('p', printf('%%03d', %d), -1);"
                 "DELETE FROM t WHERE PartitionKey = 'p' AND RowKey = printf('%%03d', %d)",
                 (commit * 7) % KEYS, (commit * 11) % KEYS);
        if (commit % COMMITS_A_STEP == 0) {
            int expected = next_present(key_present, key, false);
            key = step_walk(walk);
            assert_int_equal(key, expected);
        }
    }
    walk_to_end(walk, key_present, key, false);
    peer_run(&other, "DELETE FROM t; INSERT INTO t VALUES('p', '005', 5)");
    assert_number(all->db, 5, "SELECT sum(V) FROM t");
    stop_peer(&other);
}

/* What has read needs no second place to find out whether it may write. */
static void check_that_a_reader_may_write(scene *all, sqlite3 *reader)
{
    run(reader, "BEGIN; SELECT * FROM t; UPDATE t SET V = V; COMMIT; BEGIN; SELECT * FROM t");
    flip(all, 2);
    fails(reader, SQLITE_BUSY_SNAPSHOT, "UPDATE t SET V = V");
    run(reader, "ROLLBACK");
}

/* A connection that has read keeps its place among the store's readers until it is closed. */
static void readers_are_many_but_not_without_number(void **state)
{
    enum { MOST = 2000, LEAST = 500 };
    scene *all = *state;
    sqlite3 *readers[MOST];
    sqlite3 *writer = open_database("", ":memory:");
    int count = 0;
    int code = SQLITE_OK;
    run(writer,
        "CREATE VIRTUAL TABLE t USING ptable(V, store='%s/main.db-ptable'); SELECT * FROM t",
        all->folder);
    run(all->db, "SELECT * FROM t");
    while (code == SQLITE_OK && count < MOST) {
        sqlite3 *db = open_database("", ":memory:");
        readers[count++] = db;
        run(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s/main.db-ptable', readonly=1)",
            all->folder);
        code = code_of(db, "BEGIN; SELECT * FROM t");
    }
    assert_int_equal(code, SQLITE_BUSY);
    assert_true(count > LEAST);
    says(readers[count - 1], "close some of the connections");
    check_that_a_reader_may_write(all, writer);
    close_database(writer);
    close_database(readers[0]);
    run(readers[count - 1], "SELECT * FROM t");
    for (int i = 1; i < count; i++) {
        close_database(readers[i]);
    }
    flip(all, 1);
    walk_to_end(begin_walk(all, false), key_present, -1, false);
}

/* Closing waits for statements: sqlite3_close refuses, sqlite3_close_v2 puts it off. */
static void a_connection_closed_under_a_walk_lives_on(void **state)
{
    scene *all = *state;
    sqlite3_stmt *walk = begin_walk(all, false);
    assert_int_equal(step_walk(walk), 0);
    assert_int_equal(sqlite3_close(all->db), SQLITE_BUSY);
    assert_int_equal(step_walk(walk), 3);
    assert_int_equal(sqlite3_close_v2(all->db), SQLITE_OK);
    walk_to_end(walk, key_present, 3, false);
    all->db = open_database(all->folder, "main.db");
}

/* It looks rows up in the old table for each row of the VALUES, others write to the new one. */
static void a_walk_over_a_table_made_anew_does_not_lead_writes_astray(void **state)
{
    scene *all = *state;
    sqlite3_stmt *walk = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(all->db,
                           "SELECT t.RowKey, t.V FROM (VALUES (0), (3), (6)) n CROSS JOIN t "
                           "WHERE t.V = n.column1",
                           -1, &walk, NULL),
        SQLITE_OK);
    assert_int_equal(step_walk(walk), 0);
    run(all->db,
        "BEGIN; DELETE FROM pt_tables WHERE TableName = 't';"
        "INSERT INTO pt_tables(TableName) VALUES ('t'); INSERT INTO t VALUES ('p', 'a', 1)");
    assert_int_equal(step_walk(walk), 3);
    run(all->db, "INSERT INTO t VALUES ('p', 'b', 2)");
    assert_number(all->db, 2, "SELECT count(*) FROM t");
    assert_int_equal(step_walk(walk), 6);
    run(all->db, "COMMIT");
    assert_number(all->db, 2, "SELECT count(*) FROM t");
    assert_int_equal(step_walk(walk), -1);
    sqlite3_finalize(walk);
}

/* --- Writes that call a function that rolls back --- */

/* rolls_back(sql): ROLLBACK, and then the SQL, on the connection that calls it; once. */
static void roll_back(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    bool *done = sqlite3_user_data(context);
    sqlite3 *db = sqlite3_context_db_handle(context);
    if (!*done) {
        *done = true;
        run(db, "ROLLBACK; %s", sqlite3_value_text(argv[0]));
    }
    sqlite3_result_int(context, 1);
}

static void check_rolled_back(scene *all, const char *write)
{
    bool done = false;
    sqlite3 *second = open_database(all->folder, "main.db");
    run(all->db, "PRAGMA busy_timeout = 0");
    run(second, "PRAGMA busy_timeout = 0");
    sqlite3_create_function(all->db, "rolls_back", 1, SQLITE_UTF8, &done, roll_back, NULL, NULL);
    run(all->db, "BEGIN; DELETE FROM t WHERE PartitionKey = 'none'");
    fails(all->db, SQLITE_ABORT_ROLLBACK, "%s", write);
    says(all->db, "rolled back");
    assert_true(done);
    assert_int_equal(sqlite3_get_autocommit(all->db), 1);
    run(second, "INSERT INTO t VALUES('q', 'second', 0); DELETE FROM t WHERE PartitionKey = 'q'");
    assert_number(all->db, 67, "SELECT count(*) FROM t");
    assert_number(all->db, 0, "SELECT count(*) FROM t WHERE V < 0");
    close_database(second);
}

static void an_insert_rolled_back_inside_is_aborted(void **state)
{
    check_rolled_back(*state, "INSERT INTO t VALUES('p', 'new', rolls_back('SELECT 1'))");
}

static void an_update_rolled_back_inside_is_aborted(void **state)
{
    check_rolled_back(*state, "UPDATE t SET V = -rolls_back('SELECT * FROM t')");
}

static void a_delete_rolled_back_inside_is_aborted(void **state)
{
    check_rolled_back(*state, "DELETE FROM t WHERE RowKey > '1' AND rolls_back('')");
}

static void a_drop_rolled_back_inside_is_aborted(void **state)
{
    check_rolled_back(*state, "DELETE FROM pt_tables WHERE TableName = 't' AND rolls_back('')");
}

static void a_table_made_and_rolled_back_inside_is_aborted(void **state)
{
    check_rolled_back(*state, "INSERT INTO pt_tables(TableName) SELECT 'u' || rolls_back('')");
}

/* --- Reads that call a function that writes --- */

/* overwrites(): every text of `words` becomes another one, in several commits. */
static void overwrite(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3 *db = sqlite3_context_db_handle(context);
    for (int i = 0; i < 7; i++) {
        run(db, "UPDATE words SET W = substr(W, 2) || substr(W, 1, 1)");
    }
    sqlite3_result_int(context, 1);
}

/* SQLite may open the subquery's cursor anew for each row, and max() goes on holding the text that
 * an earlier one has given. */
static void a_statement_keeps_its_texts_whatever_it_writes(void **state)
{
    scene *all = *state;
    sqlite3_create_function(all->db, "overwrites", 0, SQLITE_UTF8, NULL, overwrite, NULL, NULL);
    run(all->db, "CREATE VIRTUAL TABLE words USING ptable(W, sync='off');"
                 "INSERT INTO words VALUES('p', '1', 'zebra'), ('p', '2', 'yak'), ('p', '3', 'x');"
                 "CREATE TABLE n(k TEXT); INSERT INTO n VALUES (1), (2), (3)");
    assert_number(all->db, 1,
                  "SELECT max((SELECT W FROM words WHERE PartitionKey = 'p' AND RowKey = k)) = "
                  "'zebra' AND sum(overwrites()) = 3 FROM n");
}

/* adds(key): an entity of partition 'new', which it returns. */
static void add(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    run(sqlite3_context_db_handle(context), "INSERT INTO t VALUES('new', %Q, 0)",
        sqlite3_value_text(argv[0]));
    sqlite3_result_text(context, "new", -1, SQLITE_STATIC);
}

static void a_cursor_used_again_sees_what_was_written_since(void **state)
{
    scene *all = *state;
    sqlite3_create_function(all->db, "adds", 1, SQLITE_UTF8, NULL, add, NULL, NULL);
    run(all->db, "CREATE TABLE n(k TEXT); INSERT INTO n VALUES (1), (2), (3); BEGIN");
    assert_number(all->db, 1 + 2 + 3,
                  "SELECT count(RowKey) FROM n LEFT JOIN t ON PartitionKey = adds(k)");
    run(all->db, "ROLLBACK");
}

/* enqueues(body): a message with the body, if there is none; it returns the time from which on to
 * look for messages. */
static void enqueue(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    run(sqlite3_context_db_handle(context),
        "INSERT INTO q(Body) SELECT %Q WHERE NOT EXISTS (SELECT 1 FROM q WHERE Body = %Q)",
        sqlite3_value_text(argv[0]), sqlite3_value_text(argv[0]));
    sqlite3_result_text(context, "2000", -1, SQLITE_STATIC);
}

static void a_queue_looked_at_again_shows_what_was_written_since(void **state)
{
    scene *all = *state;
    sqlite3_create_function(all->db, "enqueues", 1, SQLITE_UTF8, NULL, enqueue, NULL, NULL);
    run(all->db, "CREATE VIRTUAL TABLE q USING pt_queue();"
                 "CREATE TABLE n(k TEXT); INSERT INTO n VALUES (1), (2), (3); BEGIN");
    assert_number(all->db, 1 + 2 + 3,
                  "SELECT count(Body) FROM n LEFT JOIN q ON TimeNextVisible > enqueues(k)");
    run(all->db, "ROLLBACK");
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(a_walk_in_a_transaction_sees_what_was_there_at_its_begin),
        scene_test(a_walk_in_autocommit_sees_what_was_there_at_its_begin),
        scene_test(a_walk_can_delete_every_row_it_meets),
        scene_test(a_walk_follows_a_rollback_to_a_savepoint),
        scene_test(a_walk_goes_on_over_commit),
        scene_test(a_walk_that_read_nothing_pending_goes_on_over_rollback),
        scene_test(a_walk_over_withdrawn_writes_is_aborted),
        scene_test(an_open_walk_does_not_keep_the_lock),
        scene_test(several_walks_keep_their_own_versions),
        scene_test(a_long_walk_keeps_its_version_over_many_commits),
        scene_test(readers_are_many_but_not_without_number),
        scene_test(a_connection_closed_under_a_walk_lives_on),
        scene_test(a_walk_over_a_table_made_anew_does_not_lead_writes_astray),
        scene_test(an_insert_rolled_back_inside_is_aborted),
        scene_test(an_update_rolled_back_inside_is_aborted),
        scene_test(a_delete_rolled_back_inside_is_aborted),
        scene_test(a_drop_rolled_back_inside_is_aborted),
        scene_test(a_table_made_and_rolled_back_inside_is_aborted),
        scene_test(a_statement_keeps_its_texts_whatever_it_writes),
        scene_test(a_cursor_used_again_sees_what_was_written_since),
        scene_test(a_queue_looked_at_again_shows_what_was_written_since),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
