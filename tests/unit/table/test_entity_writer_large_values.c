/*
 * Large values through SQL: whatever happens to entities, the store keeps the chunks that they
 * point to and no others. Also damage to chunks, and what reading touches.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "faults/failing_malloc.h"
#include "fixtures/connection.h"
#include "fixtures/raw_store.h"
#include "fixtures/store_fixture.h"
#include "lmdb/page/format.h"

static char folder_database[96];
static sqlite3 *db;

/* The statement must fail with that extended code and a text that contains `part`. */
static void run_failing(const char *sql, int rc, const char *part)
{
    assert_int_not_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_extended_errcode(db), rc);
    if (strstr(sqlite3_errmsg(db), part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, sqlite3_errmsg(db));
    }
}

static int64_t number(const char *sql)
{
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* big(n, c): a text of n characters. */
static void make_big(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    int size = sqlite3_value_int(argv[0]);
    char *text = sqlite3_malloc64((sqlite3_uint64)size + 1);
    if (text == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    memset(text, sqlite3_value_text(argv[1])[0], (size_t)size);
    sqlite3_result_text(context, text, size, sqlite3_free);
}

static int setup(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    snprintf(folder_database, sizeof folder_database, "%s/main.db", fixture_folder);
    db = open_with_ptable(folder_database);
    assert_int_equal(sqlite3_create_function(db, "big", 2, SQLITE_UTF8, NULL, make_big, NULL, NULL),
                     SQLITE_OK);
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE t USING ptable(s String, b Binary, n Int32, store=%Q, table=things, "
        "sync=off);"
        "CREATE VIRTUAL TABLE other USING ptable(s String, store=%Q, sync=off);"
        "CREATE TABLE Plain(v)",
        fixture_path, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return fixture_teardown(state);
}

/* --- Counting chunks --- */

static pt_table_counts counts_of(uint32_t table)
{
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_table_counts counts = {0};
    assert_ok(engine->counts(snapshot, table, &counts, &error));
    engine->snapshot_free(snapshot);
    engine->close(store);
    return counts;
}

/* As many as the values that are read need: 2,000 bytes each. */
static int64_t chunks_needed(void)
{
    return number("SELECT coalesce(sum((s > 2000) * (s + 1999) / 2000 + "
                  "(b > 2000) * (b + 1999) / 2000), 0) FROM (SELECT length(CAST(s AS BLOB)) AS s, "
                  "coalesce(length(b), 0) AS b FROM "
                  "(SELECT coalesce(s, '') AS s, b FROM t))");
}

static void assert_chunks(int64_t chunks)
{
    assert_int_equal(counts_of(1).chunks, chunks);
    assert_int_equal(chunks_needed(), chunks);
}

/* Deletes everything; nothing may stay behind. */
static void assert_nothing_stays(void)
{
    run_sql(db, "DELETE FROM t; DELETE FROM other");
    for (uint32_t table = 1; table <= 2; table++) {
        assert_int_equal(counts_of(table).chunks, 0);
        assert_int_equal(counts_of(table).entities, 0);
        assert_int_equal(counts_of(table).bytes, 0);
    }
}

/* --- What happens to entities --- */

typedef struct step {
    const char *sql;
    int64_t chunks; /* afterwards */
} step;

static void take_steps(const step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        run_sql(db, steps[i].sql);
        if (steps[i].chunks != counts_of(1).chunks) {
            print_error("%s\n", steps[i].sql);
        }
        assert_chunks(steps[i].chunks);
    }
    assert_nothing_stays();
}

#define TAKE_STEPS(steps) take_steps(steps, sizeof(steps) / sizeof(steps)[0])

static void chunks_come_and_go_with_their_entities(void **state)
{
    (void)state;
    static const step steps[] = {
        {"INSERT INTO t VALUES ('p', '1', big(2000, 'a'), zeroblob(2000), 1)", 0},
        {"INSERT INTO t VALUES ('p', '2', big(2001, 'a'), zeroblob(6000), 1)", 2 + 3},
        {"INSERT INTO t VALUES ('q', '3', NULL, zeroblob(6001), 1)", 5 + 4},
        {"UPDATE t SET n = 2", 9},
        {"UPDATE t SET s = 'short' WHERE RowKey = '2'", 7},
        {"UPDATE t SET s = big(9000, 'b') WHERE RowKey = '1'", 12},
        {"UPDATE t SET s = big(9000, 'c') WHERE RowKey = '1'", 12},
        {"UPDATE t SET s = s, b = b", 12},
        {"UPDATE t SET RowKey = RowKey || 'x'", 12},
        {"UPDATE t SET RowKey = 'm', s = big(2500, 'd') WHERE RowKey = '1x'", 9},
        {"UPDATE t SET b = NULL WHERE RowKey = '3x'", 5},
        {"UPDATE t SET Properties = '{\"n\":1}' WHERE RowKey = 'm'", 3},
        {"INSERT OR REPLACE INTO t VALUES ('p', '2x', big(2500, 'e'), NULL, 1)", 2},
        {"INSERT OR REPLACE INTO t VALUES ('p', '2x', 'small', NULL, 1)", 0},
        {"INSERT OR REPLACE INTO t VALUES ('p', '2x', big(2500, 'e'), zeroblob(2500), 1)", 4},
        {"UPDATE OR REPLACE t SET RowKey = '2x' WHERE RowKey = 'm'", 0},
        {"INSERT INTO t VALUES ('r', '1', big(9000, 'f'), zeroblob(2500), 1)", 7},
        {"UPDATE OR REPLACE t SET PartitionKey = 'p', RowKey = '2x', n = 9 WHERE RowKey = '1'", 7},
        {"UPDATE OR REPLACE t SET PartitionKey = 'q', RowKey = '3x', b = NULL WHERE n = 9", 5},
        {"DELETE FROM t WHERE PartitionKey = 'q'", 0},
    };
    TAKE_STEPS(steps);
}

static void transactions_write_over_their_own_chunks(void **state)
{
    (void)state;
    static const step steps[] = {
        {"BEGIN; INSERT INTO t VALUES ('p', '1', big(5000, 'a'), NULL, 1);"
         "UPDATE t SET s = big(7000, 'b'); UPDATE t SET n = 3;"
         "INSERT OR REPLACE INTO t VALUES ('p', '1', big(3000, 'c'), zeroblob(9000), 4); COMMIT",
         2 + 5},
        {"BEGIN; UPDATE t SET s = 'x'; UPDATE t SET s = big(2100, 'x'); COMMIT", 2 + 5},
        {"BEGIN; DELETE FROM t; COMMIT", 0},
        {"BEGIN; INSERT INTO t VALUES ('p', '1', big(5000, 'a'), NULL, 1); DELETE FROM t; COMMIT",
         0},
        {"BEGIN; INSERT INTO t VALUES ('p', '1', big(5000, 'a'), NULL, 1);"
         "UPDATE t SET RowKey = '2'; UPDATE t SET RowKey = '3', b = zeroblob(4000); COMMIT",
         3 + 2},
        {"BEGIN; DELETE FROM t; INSERT INTO t VALUES ('p', '3', big(5000, 'z'), NULL, 1); COMMIT",
         3},
    };
    TAKE_STEPS(steps);
}

static void rollbacks_bring_chunks_back(void **state)
{
    (void)state;
    static const step steps[] = {
        {"INSERT INTO t VALUES ('p', '1', big(5000, 'a'), zeroblob(3000), 1)", 5},
        {"BEGIN; INSERT INTO t VALUES ('p', '2', big(5000, 'b'), NULL, 1); DELETE FROM t; ROLLBACK",
         5},
        {"BEGIN; UPDATE t SET s = 'x'; SAVEPOINT a; UPDATE t SET s = big(9000, 'c');"
         "UPDATE t SET b = NULL; ROLLBACK TO a; COMMIT",
         2},
        {"BEGIN; SAVEPOINT a; INSERT OR REPLACE INTO t VALUES ('p', '1', 'x', NULL, 1);"
         "ROLLBACK TO a; UPDATE t SET n = 7; RELEASE a; COMMIT",
         2},
        {"SAVEPOINT a; UPDATE t SET s = big(2001, 'd'); SAVEPOINT b; UPDATE t SET b = NULL;"
         "DELETE FROM t; ROLLBACK TO b; UPDATE t SET n = 8; RELEASE a",
         4},
    };
    TAKE_STEPS(steps);
}

static void failing_statements_leave_no_chunk(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), zeroblob(3000), 1)");
    run_failing("INSERT INTO t VALUES ('p', '0', big(9000, 'a'), NULL, 1), "
                "('p', '1', big(9000, 'a'), NULL, 1)",
                SQLITE_CONSTRAINT_PRIMARYKEY, "EntityAlreadyExists");
    assert_chunks(5);
    run_failing("INSERT OR FAIL INTO t VALUES ('p', '0', big(9000, 'a'), NULL, 1), "
                "('p', '1', big(9000, 'a'), NULL, 1)",
                SQLITE_CONSTRAINT_PRIMARYKEY, "EntityAlreadyExists");
    assert_chunks(5 + 5);
    run_failing("UPDATE t SET s = big(20000, 'b'), n = 'x' WHERE RowKey = '1'", SQLITE_MISMATCH,
                "InvalidValueType");
    run_sql(db, "BEGIN");
    run_failing("UPDATE t SET RowKey = 'same', s = big(4100, 'b')", SQLITE_CONSTRAINT_PRIMARYKEY,
                "EntityAlreadyExists");
    run_sql(db, "COMMIT");
    assert_chunks(5 + 5);
    assert_nothing_stays();
}

static int refuse_commit(void *context)
{
    (void)context;
    return 1;
}

/* The store has committed when the main database refuses to. */
static void commits_that_are_taken_back_leave_no_chunk(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), zeroblob(3000), 1)");
    sqlite3_commit_hook(db, refuse_commit, NULL);
    run_sql(db, "BEGIN; INSERT INTO Plain VALUES (1);"
                "INSERT INTO t VALUES ('p', '2', big(9000, 'b'), NULL, 1); UPDATE t SET b = NULL");
    run_failing("COMMIT", SQLITE_CONSTRAINT_COMMITHOOK, "");
    sqlite3_commit_hook(db, NULL, NULL);
    assert_chunks(5);
    assert_int_equal(number("SELECT b = zeroblob(3000) AND s = big(5000, 'a') FROM t"), 1);
    assert_nothing_stays();
}

static void tables_do_not_share_chunks(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), NULL, 1);"
                "INSERT INTO other(PartitionKey, RowKey, Properties) "
                "SELECT PartitionKey, RowKey, Properties FROM t");
    assert_int_equal(counts_of(2).chunks, 3);
    run_sql(db, "DELETE FROM t");
    assert_chunks(0);
    assert_int_equal(number("SELECT s = big(5000, 'a') FROM other"), 1);
    assert_nothing_stays();
}

static void properties_without_a_column_are_large_too(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t(PartitionKey, RowKey, Properties) "
                "VALUES ('p', '1', json_object('x', big(5000, 'a'), 'n', 1))");
    run_sql(db, "UPDATE t SET n = 2");
    assert_int_equal(counts_of(1).chunks, 3);
    assert_int_equal(number("SELECT Properties ->> 'x' = big(5000, 'a') FROM t"), 1);
    run_sql(db, "UPDATE t SET Properties = json_set(Properties, '$.y', 1)");
    assert_int_equal(counts_of(1).chunks, 3);
    run_sql(db, "UPDATE t SET Properties = json_remove(Properties, '$.x')");
    assert_chunks(0);
    assert_nothing_stays();
}

/* A record of many middling values: those over 256 bytes go outside. */
static void crowded_records_are_relieved(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t(PartitionKey, RowKey, Properties) "
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20) "
                "SELECT 'p', '1', json_group_object('p' || i, big(i * 100, 'x')) FROM n");
    assert_int_equal(counts_of(1).chunks, 18);
    assert_true(counts_of(1).bytes < 30000);
    assert_int_equal(number("SELECT sum(length(value)) FROM t, json_each(Properties)"), 21000);
    run_sql(db, "UPDATE t SET s = 'more'");
    assert_int_equal(counts_of(1).chunks, 18);
    assert_nothing_stays();
}

static void any_mixture_leaves_nothing_behind(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "INSERT OR IGNORE INTO t VALUES ('p', %u %% 4, big(%u, 'i'), zeroblob(%u), 1)",
        "INSERT OR REPLACE INTO t VALUES ('p', %u %% 4, big(%u, 'r'), zeroblob(%u), 1)",
        "UPDATE t SET n = %u, s = substr(s, 1, %u) || big(%u, 'u')",
        "UPDATE OR IGNORE t SET RowKey = %u %% 4, n = %u, b = zeroblob(%u) WHERE RowKey < 2",
        "UPDATE OR REPLACE t SET RowKey = %u %% 4, n = %u - %u WHERE RowKey = 1",
        "UPDATE t SET b = NULL WHERE RowKey = CAST(%u %% 4 AS TEXT) OR n = %u + %u",
        "DELETE FROM t WHERE RowKey = CAST(%u %% 4 AS TEXT) AND %u + %u",
        "ROLLBACK TO a; SAVEPOINT b",
        "RELEASE a; SAVEPOINT a",
    };
    uint64_t seed = 1;
    for (int round = 0; round < 40; round++) {
        run_sql(db, "BEGIN; SAVEPOINT a");
        for (uint32_t left = 1 + next_random(&seed) % 12; left != 0; left--) {
            size_t which = next_random(&seed) % (sizeof statements / sizeof statements[0]);
            char *sql = sqlite3_mprintf(statements[which], next_random(&seed) % 4,
                                        next_random(&seed) % 6000, next_random(&seed) % 6000);
            run_sql(db, sql);
            sqlite3_free(sql);
        }
        int64_t needed = chunks_needed();
        bool undone = next_random(&seed) % 4 == 0;
        run_sql(db, undone ? "ROLLBACK" : "COMMIT");
        assert_true(undone || chunks_needed() == needed);
        assert_chunks(chunks_needed());
    }
    assert_nothing_stays();
}

/* --- Damage --- */

/* Writes to the chunk's record with this number of the table's only large value; NULL deletes it.
 */
static void overwrite_chunk(uint32_t chunk, const char *record)
{
    uint8_t key[16] = {0xFF, 1};
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_snapshot *snapshot = begin_snapshot(store);
    uint64_t ticks = (uint64_t)number("SELECT pt_ticks(Timestamp) FROM t");
    pt_put_be32(key + 2, (uint32_t)(ticks >> 32));
    pt_put_be32(key + 6, (uint32_t)ticks);
    pt_put_be32(key + 12, chunk);
    bool found = false;
    pt_slice present;
    pt_slice slice = pt_slice_of(key, sizeof key);
    assert_ok(engine->get(snapshot, slice, &found, &present, &error));
    assert_true(found);
    pt_writer *writer = begin_write(store);
    if (record != NULL) {
        assert_ok(engine->write_put(writer, slice, pt_slice_text(record), &error));
    } else {
        assert_ok(engine->write_delete(writer, slice, &error));
    }
    commit_write(writer);
    engine->unlock(store);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void damage_is_reported_for_its_property_alone(void **state)
{
    (void)state;
    static const char *const damages[] = {"nonsense", NULL};
    for (size_t i = 0; i < 2; i++) {
        run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), x'01', 1)");
        overwrite_chunk(1, damages[i]);
        run_failing("SELECT s FROM t", SQLITE_CORRUPT_VTAB,
                    "ptable: t: property 's' of the entity with PartitionKey 'p', RowKey '1' is "
                    "damaged");
        run_failing("SELECT Properties FROM t", SQLITE_CORRUPT_VTAB, "property 's'");
        assert_int_equal(number("SELECT n + length(b) FROM t WHERE Timestamp > ''"), 2);
        run_sql(db, "UPDATE t SET n = 5");
        run_failing("SELECT s FROM t", SQLITE_CORRUPT_VTAB, "property 's'");
        run_sql(db, "UPDATE t SET s = big(5000, 'b')");
        assert_int_equal(number("SELECT s = big(5000, 'b') AND n = 5 FROM t"), 1);
        assert_nothing_stays();
    }
}

/* In another process: LMDB may open a file only once in each. */
static void damage_counts(uint32_t table)
{
    pid_t child = fork();
    if (child == 0) {
        pt_format_key key = pt_format_counts_key(table);
        raw_put(NULL, pt_slice_of(key.bytes, key.size), pt_slice_text("nonsense"));
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Without the counts nobody knows if the entity that is replaced has large values. */
static void damaged_counts_are_reported_before_a_replacement(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t(PartitionKey, RowKey, s, n) VALUES "
                "('p', '1', 'x', 1), ('p', '2', 'x', 2), ('p', '3', 'x', 3)");
    damage_counts(1);
    run_failing("INSERT OR REPLACE INTO t(PartitionKey, RowKey, s, n) VALUES ('p', '1', 'y', 4)",
                SQLITE_CORRUPT, "the counts of a table are damaged");
    run_failing("INSERT OR REPLACE INTO t(PartitionKey, RowKey, n) VALUES ('p', '1', 4)",
                SQLITE_CORRUPT, "the counts of a table are damaged");
    assert_int_equal(number("SELECT sum(n) FROM t WHERE s = 'x'"), 6);
}

/* The rules of limits='azure' count what an entity keeps. */
static void damage_is_reported_where_values_are_counted(void **state)
{
    (void)state;
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE z USING ptable(s String, n Int32, store=%Q, "
                                "table=things, limits=azure, sync=off)",
                                fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), x'01', 1)");
    overwrite_chunk(1, "nonsense");
    run_failing(
        "UPDATE z SET n = 5", SQLITE_CORRUPT_VTAB,
        "ptable: z: property 's' of the entity with PartitionKey 'p', RowKey '1' is damaged");
    run_sql(db, "UPDATE z SET n = 5, s = 'x'; DROP TABLE z");
    assert_nothing_stays();
}

/* Runs SQL in the middle of a row. */
static void perform(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    int rc = sqlite3_exec(sqlite3_context_db_handle(context),
                          (const char *)sqlite3_value_text(argv[0]), NULL, NULL, NULL);
    sqlite3_result_int(context, rc);
}

/* The chunks are looked for among what the transaction has deleted. */
static void a_chunk_that_is_missing_and_deleted_is_missing(void **state)
{
    (void)state;
    assert_int_equal(
        sqlite3_create_function(db, "perform", 1, SQLITE_UTF8, NULL, perform, NULL, NULL),
        SQLITE_OK);
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), x'01', 1)");
    overwrite_chunk(1, NULL);
    run_sql(db, "BEGIN");
    run_failing("SELECT perform('DELETE FROM t'), s FROM t", SQLITE_CORRUPT_VTAB, "property 's'");
    run_sql(db, "COMMIT");
    assert_int_equal(number("SELECT count(*) FROM t"), 0);
    assert_nothing_stays();
}

static void damaged_entities_can_be_repaired(void **state)
{
    (void)state;
    static const char *const repairs[] = {
        "UPDATE t SET s = NULL",
        "UPDATE t SET Properties = '{}'",
        "UPDATE t SET Properties = NULL",
        "INSERT OR REPLACE INTO t VALUES ('p', '1', 'x', NULL, 1)",
        "DELETE FROM t",
        "UPDATE t SET RowKey = '2', s = big(100, 'x')",
    };
    for (size_t i = 0; i < sizeof repairs / sizeof repairs[0]; i++) {
        run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), x'01', 1)");
        overwrite_chunk(2, i % 2 == 0 ? "nonsense" : NULL);
        run_sql(db, repairs[i]);
        run_sql(db, "SELECT s, Properties FROM t");
        assert_nothing_stays();
    }
}

/* --- Reading --- */

static void lengths_that_sqlite_does_not_take_are_refused(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), zeroblob(4000), 1)");
    int limit = sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 4500);
    run_failing("SELECT s FROM t", SQLITE_TOOBIG,
                "property 's' of the entity with PartitionKey 'p', RowKey '1' has 5000 bytes, and "
                "this connection takes 4500");
    assert_int_equal(number("SELECT length(b) FROM t"), 4000);
    run_failing("SELECT Properties FROM t", SQLITE_TOOBIG, "too big");
    run_sql(db, "UPDATE t SET n = 2");
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, limit);
    assert_int_equal(number("SELECT length(s) FROM t WHERE n = 2"), 5000);
}

/* The outer row is one that the transaction wrote; its value is read again for each inner row. */
static void a_row_may_be_rolled_back_while_it_is_read(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO Plain VALUES (1), (2), (3); BEGIN; SAVEPOINT a;"
                "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), NULL, 1)");
    sqlite3_stmt *statement;
    assert_int_equal(
        sqlite3_prepare_v2(db, "SELECT length(s), v FROM t CROSS JOIN Plain", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 5000);
    run_sql(db, "UPDATE t SET s = 'x'");
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 5000);
    run_sql(db, "ROLLBACK TO a");
    assert_int_equal(sqlite3_step(statement), SQLITE_ABORT);
    assert_int_equal(sqlite3_extended_errcode(db), SQLITE_ABORT_ROLLBACK);
    assert_non_null(strstr(sqlite3_errmsg(db), "has been rolled back; run the statement again"));
    sqlite3_finalize(statement);
    run_sql(db, "ROLLBACK");
    assert_nothing_stays();
}

static void values_outlive_their_transaction(void **state)
{
    (void)state;
    run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), zeroblob(3000), 1)");
    sqlite3_stmt *statement = step_into(db, "SELECT max(s), b FROM t");
    sqlite3_value *copy = sqlite3_value_dup(sqlite3_column_value(statement, 0));
    run_sql(db, "DELETE FROM t");
    assert_int_equal(strlen((const char *)sqlite3_column_text(statement, 0)), 5000);
    assert_int_equal(sqlite3_column_bytes(statement, 1), 3000);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_value_bytes(copy), 5000);
    sqlite3_value_free(copy);
    assert_nothing_stays();
}

/* --- Out of memory --- */

static void assert_memory_may_run_out(const char *sql)
{
    bool hit = true;
    for (int n = 0; hit; n += 1 + n / 16) {
        run_sql(db, "DELETE FROM t"); /* SQLite does without some of its memory */
        run_sql(db, "INSERT INTO t VALUES ('p', '1', big(5000, 'a'), zeroblob(3000), 1)");
        failing_malloc_arm(n, false);
        int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
        if (!sqlite3_get_autocommit(db)) {
            run_sql(db, "COMMIT");
        }
        assert_chunks(chunks_needed());
    }
    assert_nothing_stays();
}

static void memory_may_run_out(void **state)
{
    (void)state;
    assert_memory_may_run_out("INSERT OR REPLACE INTO t VALUES ('p', '1', big(9000, 'b'), NULL, 1),"
                              "('p', '2', big(9000, 'b'), NULL, 1)");
    assert_memory_may_run_out("UPDATE t SET RowKey = '2', s = big(9000, 'c')");
    assert_memory_may_run_out("BEGIN; UPDATE t SET s = big(9000, 'c'); UPDATE t SET b = NULL");
    assert_memory_may_run_out("DELETE FROM t");
}

/* Of 94,479 bytes, where a buffer that grows by half is full, and about that. */
static void objects_of_any_length_may_run_out_of_memory(void **state)
{
    (void)state;
    enum { FULL = 94479, QUOTES = 8 /* {"s":""} */ };
    for (int size = FULL - 1; size <= FULL + 1; size++) {
        char *sql = sqlite3_mprintf("INSERT OR REPLACE INTO t(PartitionKey, RowKey, s) VALUES "
                                    "('p', '1', big(%d, 'a'))",
                                    size - QUOTES);
        run_sql(db, sql);
        sqlite3_free(sql);
        bool hit = true;
        for (int n = 0; hit; n++) {
            sqlite3_stmt *statement = NULL;
            assert_int_equal(
                sqlite3_prepare_v2(db, "SELECT Properties FROM t", -1, &statement, NULL),
                SQLITE_OK);
            failing_malloc_arm(n, false);
            int rc = sqlite3_step(statement);
            hit = failing_malloc_disarm();
            assert_true(rc == SQLITE_ROW || (hit && rc == SQLITE_NOMEM));
            assert_true(rc != SQLITE_ROW || sqlite3_column_bytes(statement, 0) == size);
            sqlite3_finalize(statement);
        }
    }
    run_sql(db, "DELETE FROM t");
    assert_nothing_stays();
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(chunks_come_and_go_with_their_entities),
        TEST(transactions_write_over_their_own_chunks),
        TEST(rollbacks_bring_chunks_back),
        TEST(failing_statements_leave_no_chunk),
        TEST(commits_that_are_taken_back_leave_no_chunk),
        TEST(tables_do_not_share_chunks),
        TEST(properties_without_a_column_are_large_too),
        TEST(crowded_records_are_relieved),
        TEST(any_mixture_leaves_nothing_behind),
        TEST(damage_is_reported_for_its_property_alone),
        TEST(damaged_counts_are_reported_before_a_replacement),
        TEST(damage_is_reported_where_values_are_counted),
        TEST(a_chunk_that_is_missing_and_deleted_is_missing),
        TEST(damaged_entities_can_be_repaired),
        TEST(lengths_that_sqlite_does_not_take_are_refused),
        TEST(a_row_may_be_rolled_back_while_it_is_read),
        TEST(values_outlive_their_transaction),
        TEST(memory_may_run_out),
        TEST(objects_of_any_length_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
