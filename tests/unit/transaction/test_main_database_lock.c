#include "fixtures/store_fixture.h"

#include <pthread.h>

#include "faults/failing_malloc.h"
#include "fixtures/connection.h"
#include "transaction/main_database_lock.h"

static sqlite3 *writer, *reader;
static sqlite3_stmt *reading; /* an open statement of the reader */

static sqlite3 *open_database(const char *name)
{
    char path[128];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    assert_int_equal(sqlite3_open(name[0] == ':' ? name : path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous=off", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static int setup(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    writer = open_database("main.db");
    reader = open_database("main.db");
    reading = NULL;
    run_sql(writer, "CREATE TABLE t(x); INSERT INTO t VALUES(1), (2)");
    return 0;
}

static int teardown(void **state)
{
    sqlite3_finalize(reading);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    return fixture_teardown(state);
}

static void begin_reading(const char *sql)
{
    reading = step_into(reader, sql);
}

static void end_reading(void)
{
    sqlite3_finalize(reading);
    reading = NULL;
}

static void begin_writing(void)
{
    run_sql(writer, "BEGIN; INSERT INTO t VALUES(3)");
}

static void lock_all(int wait_ms)
{
    assert_ok(pt_main_database_lock_all(writer, wait_ms, &error));
}

static void a_reader_is_noticed_before_the_commit(void **state)
{
    (void)state;
    begin_reading("SELECT x FROM t");
    begin_writing();
    for (int wait_ms = -1; wait_ms < 10; wait_ms += 5) {
        assert_fails(pt_main_database_lock_all(writer, wait_ms, &error), SQLITE_BUSY,
                     "'main' is being read");
    }
    end_reading();
    lock_all(0);
    lock_all(0);
    assert_int_equal(run(reader, "SELECT x FROM t"), SQLITE_BUSY);
    run_sql(writer, "COMMIT");
    run_sql(reader, "SELECT x FROM t");
    run_sql(reader, "INSERT INTO t VALUES(4)");
}

static void who_reads_hinders_writers(void **state)
{
    (void)state;
    assert_false(pt_main_database_read_blocks_writers(reader));
    begin_reading("SELECT x FROM t");
    assert_true(pt_main_database_read_blocks_writers(reader));
    end_reading();
    begin_writing();
    assert_false(pt_main_database_read_blocks_writers(writer));
    run_sql(writer, "ROLLBACK; PRAGMA journal_mode = wal");
    begin_reading("SELECT x FROM t");
    assert_false(pt_main_database_read_blocks_writers(reader));
}

static void a_rollback_drops_the_lock(void **state)
{
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        begin_writing();
        if (refused) {
            begin_reading("SELECT x FROM t");
            assert_fails(pt_main_database_lock_all(writer, 0, &error), SQLITE_BUSY, "try again");
            end_reading();
        } else {
            lock_all(0);
        }
        run_sql(writer, "ROLLBACK");
        run_sql(reader, "INSERT INTO t VALUES(4)");
    }
}

static void a_commit_after_a_refusal_succeeds(void **state)
{
    (void)state;
    begin_reading("SELECT x FROM t");
    begin_writing();
    assert_fails(pt_main_database_lock_all(writer, 0, &error), SQLITE_BUSY, NULL);
    end_reading();
    run_sql(writer, "COMMIT");
    run_sql(reader, "INSERT INTO t VALUES(4)");
}

static void *finish_reading(void *argument)
{
    sqlite3_finalize(argument);
    return NULL;
}

static void waits_for_the_reader_to_finish(void **state)
{
    (void)state;
    pthread_t thread;
    begin_reading("SELECT x FROM t");
    begin_writing();
    assert_int_equal(pthread_create(&thread, NULL, finish_reading, reading), 0);
    reading = NULL;
    lock_all(60000);
    pthread_join(thread, NULL);
    run_sql(writer, "COMMIT");
}

static void readers_of_a_wal_file_do_not_matter(void **state)
{
    (void)state;
    run_sql(writer, "PRAGMA journal_mode=WAL");
    begin_reading("SELECT x FROM t");
    begin_writing();
    lock_all(0);
    run_sql(reader, "SELECT x FROM t");
    run_sql(writer, "COMMIT");
}

static void every_rollback_journal_counts(void **state)
{
    (void)state;
    const char *const modes[] = {"delete", "truncate", "persist", "memory", "off"};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        char pragma[64];
        snprintf(pragma, sizeof pragma, "PRAGMA journal_mode=%s", modes[i]);
        run_sql(writer, "PRAGMA journal_mode=WAL");
        run_sql(writer, pragma);
        begin_reading("SELECT x FROM t");
        begin_writing();
        assert_fails(pt_main_database_lock_all(writer, 0, &error), SQLITE_BUSY, NULL);
        end_reading();
        lock_all(0);
        run_sql(writer, "COMMIT");
    }
}

static void a_transaction_that_only_reads_locks_nothing(void **state)
{
    (void)state;
    lock_all(0);
    run_sql(writer, "BEGIN; SELECT x FROM t");
    lock_all(0);
    run_sql(reader, "BEGIN IMMEDIATE; INSERT INTO t VALUES(4); ROLLBACK");
    run_sql(writer, "COMMIT");
}

static void a_file_without_content_is_locked_too(void **state)
{
    (void)state;
    sqlite3 *fresh = open_database("fresh.db");
    sqlite3 *other = open_database("fresh.db");
    run_sql(fresh, "BEGIN IMMEDIATE");
    assert_ok(pt_main_database_lock_all(fresh, 0, &error));
    assert_int_equal(run(other, "SELECT * FROM sqlite_schema"), SQLITE_BUSY);
    run_sql(fresh, "CREATE TABLE t(x); COMMIT");
    run_sql(other, "SELECT * FROM t");
    sqlite3_close(fresh);
    sqlite3_close(other);
}

static void databases_in_memory_have_nothing_to_lock(void **state)
{
    (void)state;
    sqlite3 *memory = open_database(":memory:");
    run_sql(memory, "CREATE TABLE t(x); CREATE TEMP TABLE u(x)");
    run_sql(memory, "BEGIN; INSERT INTO t VALUES(1); INSERT INTO u VALUES(1)");
    assert_ok(pt_main_database_lock_all(memory, 0, &error));
    run_sql(memory, "COMMIT");
    sqlite3_close(memory);
}

static void every_attached_file_that_is_written_counts(void **state)
{
    (void)state;
    char sql[160];
    snprintf(sql, sizeof sql, "ATTACH '%s/side.db' AS \"the side\"", fixture_folder);
    run_sql(writer, sql);
    run_sql(reader, sql);
    run_sql(writer, "CREATE TABLE \"the side\".u(x); INSERT INTO u VALUES(1)");
    begin_reading("SELECT x FROM u");
    begin_writing();
    lock_all(0);
    run_sql(writer, "INSERT INTO u VALUES(2)");
    assert_fails(pt_main_database_lock_all(writer, 0, &error), SQLITE_BUSY, "'the side'");
    end_reading();
    lock_all(0);
    assert_int_equal(run(reader, "SELECT x FROM u"), SQLITE_BUSY);
    run_sql(writer, "COMMIT");
    run_sql(reader, "SELECT x FROM u");
}

static int failed_locks;

static int fail_to_lock(sqlite3_file *file, int level)
{
    (void)file;
    (void)level;
    failed_locks++;
    return SQLITE_IOERR_LOCK;
}

static void other_failures_are_not_blamed_on_readers(void **state)
{
    (void)state;
    sqlite3_file *file = NULL;
    begin_writing();
    sqlite3_file_control(writer, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    const sqlite3_io_methods *right = file->pMethods;
    static sqlite3_io_methods wrong;
    wrong = *right;
    wrong.xLock = fail_to_lock;
    file->pMethods = &wrong;
    assert_fails(pt_main_database_lock_all(writer, 1000, &error), SQLITE_IOERR_LOCK,
                 "'main' cannot be locked");
    file->pMethods = right;
    assert_int_equal(failed_locks, 1);
    run_sql(writer, "ROLLBACK");
}

/* It holds the file's locks as a rollback journal would. */
static void an_exclusive_wal_is_none_to_lock(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    run_sql(writer, "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal");
    begin_writing();
    lock_all(0);
    run_sql(writer, "COMMIT");
    reader = open_database(":memory:");
}

static void out_of_memory_is_told_as_such(void **state)
{
    (void)state;
    begin_reading("SELECT x FROM t");
    begin_writing();
    pt_error error = PT_ERROR_NONE;
    failing_malloc_arm(0, true);
    assert_int_equal(pt_main_database_lock_all(writer, 0, &error), SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    assert_null(error.message);
    run_sql(writer, "ROLLBACK");
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(a_reader_is_noticed_before_the_commit),
        TEST(who_reads_hinders_writers),
        TEST(a_rollback_drops_the_lock),
        TEST(a_commit_after_a_refusal_succeeds),
        TEST(waits_for_the_reader_to_finish),
        TEST(readers_of_a_wal_file_do_not_matter),
        TEST(every_rollback_journal_counts),
        TEST(a_transaction_that_only_reads_locks_nothing),
        TEST(a_file_without_content_is_locked_too),
        TEST(databases_in_memory_have_nothing_to_lock),
        TEST(every_attached_file_that_is_written_counts),
        TEST(other_failures_are_not_blamed_on_readers),
        TEST(an_exclusive_wal_is_none_to_lock),
        TEST(out_of_memory_is_told_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
