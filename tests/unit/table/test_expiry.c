/*
 * Entities that expire, with a clock that the test sets: a transaction has one time, the store's
 * clock counts if the system's goes back, and what has expired blocks nothing.
 */
#include "fixtures/database.h"

#include <sys/syscall.h>
#include <time.h>

static int64_t clock_seconds; /* since 2026-01-01 */
static int clock_readings;

enum { YEAR_2026 = 1767225600 };

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME) {
        clock_readings++;
        *now = (struct timespec){.tv_sec = YEAR_2026 + clock_seconds};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

#define TABLE "CREATE VIRTUAL TABLE t USING ptable(Due DateTime, User String, unique(User), "

static sqlite3 *open_table(const char *folder, const char *name, const char *options)
{
    sqlite3 *db = open_database(folder, name);
    run(db, TABLE "store='shared.ptable', table=T, sync=off, %s)", options);
    return db;
}

/* An entity in partition p that expires at a second. */
static void put(sqlite3 *db, const char *row, int second)
{
    run(db,
        "INSERT OR REPLACE INTO t(PartitionKey, RowKey, Due, User) VALUES ('p', '%s', "
        "pt_datetime(pt_ticks('2026-01-01') + %d * 10000000), '%s')",
        row, second, row);
}

#define assert_rows(db, count) assert_number(db, count, "SELECT count(*) FROM t")

static void an_entity_is_there_until_its_time(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "early", 100);
    put(db, "next", 101);
    put(db, "late", 200);
    assert_rows(db, 2); /* the time itself is too late */
    clock_seconds = 101;
    assert_rows(db, 1);
    clock_seconds = 1000;
    assert_rows(db, 0);
    assert_number(db, 3, "SELECT Entities FROM pt_tables WHERE Store = 'shared.ptable'");
    assert_number(db, 3, "SELECT pt_purge('t')");
    assert_number(db, 0, "SELECT Entities FROM pt_tables WHERE Store = 'shared.ptable'");
    close_database(db);
}

static void a_long_name_cannot_tell_when_entities_expire(void **state)
{
    char name[261] = "";
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    for (int i = 0; i < 130; i++) {
        strcat(name, "\xC3\xA9");
    }
    fails(db, SQLITE_ERROR, "CREATE VIRTUAL TABLE other USING ptable(\"%s\" DateTime, expires=%s)",
          name, name);
    says(db, "it has more than 255 bytes");
    close_database(db);
}

static void a_transaction_has_one_time(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 150);
    put(db, "b", 120);
    run(db, "BEGIN");
    assert_rows(db, 2);
    clock_seconds = 160;
    assert_rows(db, 2);
    fails(db, SQLITE_CONSTRAINT_PRIMARYKEY,
          "INSERT INTO t(PartitionKey, RowKey) VALUES ('p', 'a')");
    fails(db, SQLITE_CONSTRAINT_UNIQUE,
          "INSERT INTO t(PartitionKey, RowKey, User) VALUES ('p', 'c', 'b')");
    assert_number(db, 0, "SELECT pt_purge('t')");
    run(db, "COMMIT");
    assert_rows(db, 0);
    run(db, "BEGIN; INSERT INTO t(PartitionKey, RowKey, User) VALUES ('p', 'a', 'b')");
    clock_seconds = 100;
    assert_rows(db, 1);
    assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE Store = 'shared.ptable'");
    run(db, "ROLLBACK");
    assert_rows(db, 0); /* the store has given out a later Timestamp */
    assert_number(db, 2, "SELECT pt_purge('t')");
    close_database(db);
}

static void a_statement_has_one_time(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 150);
    put(db, "b", 150);
    put(db, "c", 150);
    sqlite3_stmt *all = step_into(db, "SELECT RowKey FROM t");
    sqlite3_stmt *nested = step_into(db, "SELECT (SELECT b.User FROM t b WHERE b.PartitionKey = "
                                         "'p' AND b.RowKey = a.RowKey) FROM t a");
    clock_seconds = 160;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sqlite3_step(nested), SQLITE_ROW);
        assert_int_equal(sqlite3_column_type(nested, 0), SQLITE_TEXT);
    }
    expect_rest(nested, 0);
    expect_rest(all, 2);
    assert_rows(db, 0);
    close_database(db);
}

/* As after the system's clock was set back. A write makes the time rise again. */
static void the_clock_of_the_store_counts(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 150);
    put(db, "b", 300);
    clock_seconds = 400;
    assert_rows(db, 0);
    clock_seconds = 50;
    assert_rows(db, 2); /* nothing was written at 400 */
    clock_seconds = 200;
    run(db, "CREATE VIRTUAL TABLE o USING ptable(store='shared.ptable')");
    run(db, "INSERT INTO o(PartitionKey, RowKey) VALUES ('', '')");
    clock_seconds = 50;
    assert_rows(db, 1);
    assert_number(db, 1, "SELECT pt_purge('t')");
    close_database(db);
}

static void other_tables_read_no_clock(void **state)
{
    sqlite3 *db = open_table(*state, "a.db", "readonly=0");
    put(db, "a", 1);
    clock_readings = 0;
    assert_rows(db, 1);
    assert_number(db, 1, "SELECT Due < '2027' FROM t WHERE User = 'a'");
    assert_int_equal(clock_readings, 0);
    run(db, "UPDATE pt_tables SET Expires = 'Due' WHERE Store = 'shared.ptable'");
    put(db, "b", 1);
    put(db, "c", 1000000000);
    clock_readings = 0;
    assert_rows(db, 1);
    assert_int_equal(clock_readings, 1);
    close_database(db);
}

/* What one connection switches the other sees, in statements that it has prepared before. */
static void connections_see_the_switch(void **state)
{
    clock_seconds = 100;
    sqlite3 *one = open_table(*state, "a.db", "readonly=0");
    sqlite3 *two = open_table(*state, "b.db", "readonly=1");
    sqlite3_stmt *by_user = NULL;
    sqlite3_stmt *all = NULL;
    put(one, "a", 50);
    put(one, "b", 500);
    assert_int_equal(sqlite3_prepare_v2(two, "SELECT User FROM t WHERE User >= 'a' ORDER BY User",
                                        -1, &by_user, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(two, "SELECT count(*) FROM t", -1, &all, NULL), SQLITE_OK);
    for (int on = 0; on < 4; on++) {
        run(one, "UPDATE pt_tables SET Expires = %s WHERE Store = 'shared.ptable'",
            on % 2 != 0 ? "'Due'" : "NULL");
        assert_int_equal(sqlite3_step(by_user), SQLITE_ROW);
        assert_string_equal(sqlite3_column_text(by_user, 0), on % 2 != 0 ? "b" : "a");
        sqlite3_reset(by_user);
        assert_int_equal(sqlite3_step(all), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(all, 0), on % 2 != 0 ? 1 : 2);
        sqlite3_reset(all);
    }
    fails(two, SQLITE_READONLY, "SELECT pt_purge('t')");
    fails(two, SQLITE_READONLY,
          "UPDATE pt_tables SET Expires = NULL WHERE Store = 'shared.ptable'");
    sqlite3_finalize(by_user);
    sqlite3_finalize(all);
    close_database(one);
    close_database(two);
}

/* A cursor goes on with the property by which it has begun. */
static void a_cursor_keeps_the_property(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 500);
    put(db, "b", 50);
    put(db, "c", 500);
    run(db, "CREATE VIRTUAL TABLE o USING ptable(Due DateTime, Till DateTime, table=T, "
            "store='shared.ptable')");
    sqlite3_stmt *all = step_into(db, "SELECT RowKey FROM o");
    run(db, "UPDATE o SET Till = '2020-01-01'");
    run(db, "UPDATE pt_tables SET Expires = 'Till' WHERE Store = 'shared.ptable'");
    assert_number(db, 1,
                  "SELECT count(*) FROM pt_indexes WHERE Store = 'shared.ptable' AND "
                  "IndexName = 'Till'");
    expect_rest(all, 1);
    assert_number(db, 0, "SELECT count(*) FROM o WHERE RowKey <> 'b'");
    assert_number(db, 1, "SELECT count(*) FROM o");
    close_database(db);
}

/* Each entity that goes is an operation. */
static void batches_count_what_goes(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due, batch='azure'");
    put(db, "a", 50);
    put(db, "b", 50);
    run(db, "BEGIN; INSERT INTO t(PartitionKey, RowKey) VALUES ('p', 'a')");
    assert_number(db, 1, "SELECT Operations FROM pt_batches");
    run(db, "INSERT INTO t(PartitionKey, RowKey, User) VALUES ('p', 'c', 'b')");
    assert_number(db, 3, "SELECT Operations FROM pt_batches");
    run(db, "COMMIT");
    run(db, "INSERT INTO t(PartitionKey, RowKey, Due) VALUES ('q', 'a', '2020-01-01')");
    put(db, "d", 50);
    fails(db, SQLITE_CONSTRAINT_VTAB, "SELECT pt_purge('t')");
    says(db, "CommandsInBatchActOnDifferentPartitions");
    assert_number(db, 4, "SELECT Entities FROM pt_tables WHERE Store = 'shared.ptable'");
    assert_number(db, 1, "SELECT pt_purge('t', 1)");
    assert_number(db, 1, "SELECT pt_purge('t')");
    put(db, "e", 50);
    fails(db, SQLITE_CONSTRAINT_VTAB,
          "INSERT INTO t(PartitionKey, RowKey, User) VALUES ('r', 'a', 'e')");
    says(db, "CommandsInBatchActOnDifferentPartitions");
    assert_number(db, 1, "SELECT pt_purge('t')");
    run(db, "INSERT INTO t(PartitionKey, RowKey, User) VALUES ('r', 'a', 'e')");
    close_database(db);
}

static void purging_needs_permission(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 50);
    run(db, "PRAGMA query_only = 1");
    fails(db, SQLITE_READONLY, "SELECT pt_purge('t')");
    run(db, "PRAGMA query_only = 0");
    forbid_companion(db);
    fails(db, SQLITE_AUTH, "SELECT pt_purge('t')");
    sqlite3_set_authorizer(db, NULL, NULL);
    run(db, "CREATE VIEW v AS SELECT pt_purge('t')");
    fails(db, SQLITE_ERROR, "SELECT * FROM v");
    assert_number(db, 1, "SELECT pt_purge('t')");
    close_database(db);
}

static int deny_deletes(void *context, int action, const char *table, const char *column,
                        const char *schema, const char *trigger)
{
    (void)context;
    (void)column;
    (void)schema;
    (void)trigger;
    return action == SQLITE_DELETE && strcmp(table, "t") == 0 ? SQLITE_DENY : SQLITE_OK;
}

static void an_authorizer_sees_the_delete(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 50);
    assert_int_equal(sqlite3_set_authorizer(db, deny_deletes, NULL), SQLITE_OK);
    fails(db, SQLITE_AUTH, "SELECT pt_purge('t')");
    assert_int_equal(sqlite3_set_authorizer(db, NULL, NULL), SQLITE_OK);
    assert_number(db, 1, "SELECT pt_purge('t')");
    close_database(db);
}

/* A new unique index counts what has expired, so that it stays unique if expiry is switched off. */
static void a_new_unique_index_wants_a_purge(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    run(db, "INSERT INTO t(PartitionKey, RowKey, Due, Properties) VALUES "
            "('p', '1', '2020-01-01', '{\"N\":1}'), ('p', '2', NULL, '{\"N\":1}')");
    fails(db, SQLITE_CONSTRAINT_UNIQUE,
          "INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) "
          "VALUES ('shared.ptable', 'T', 'N', 1)");
    says(db, "if one has expired, SELECT pt_purge(...) deletes it");
    assert_number(db, 1, "SELECT pt_purge('t')");
    run(db, "INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) "
            "VALUES ('shared.ptable', 'T', 'N', 1)");
    run(db, "UPDATE pt_tables SET Expires = NULL WHERE Store = 'shared.ptable'");
    run(db, "INSERT INTO pt_indexes(Store, TableName, Columns) "
            "VALUES ('shared.ptable', 'T', 'Due, N')");
    close_database(db);
}

/* A large value goes with its entity. */
static void large_values_go(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    for (int i = 0; i < 3; i++) {
        run(db,
            "INSERT INTO t(PartitionKey, RowKey, Due, Properties) VALUES ('p', '%d', "
            "'2020-01-01', json_object('Text', printf('%%.*c', 200000, 'x')))",
            i);
    }
    run(db, "INSERT INTO t(PartitionKey, RowKey) VALUES ('p', '1')");
    assert_number(db, 1,
                  "SELECT Bytes > 400000 AND Bytes < 500000 FROM pt_tables "
                  "WHERE Store = 'shared.ptable'");
    assert_number(db, 2, "SELECT pt_purge('t')");
    assert_number(db, 1, "SELECT Bytes < 1000 FROM pt_tables WHERE Store = 'shared.ptable'");
    assert_number(db, 1, "SELECT pt_check('shared.ptable') = 'ok'");
    close_database(db);
}

/* A copy is the store with what has expired in it. */
static void backup_and_compacting_keep_what_has_expired(void **state)
{
    clock_seconds = 100;
    sqlite3 *db = open_table(*state, "a.db", "expires=Due");
    put(db, "a", 50);
    put(db, "b", 500);
    run(db, "SELECT pt_backup('shared.ptable', 'copy.ptable')");
    run(db, "SELECT pt_compact('shared.ptable')");
    assert_rows(db, 1);
    run(db, "CREATE VIRTUAL TABLE c USING ptable(User, store='copy.ptable', table=T)");
    assert_number(db, 1, "SELECT count(*) FROM c");
    assert_number(db, 2,
                  "SELECT sum(Entities) / 2 FROM pt_tables WHERE Store IN "
                  "('copy.ptable', 'shared.ptable')");
    assert_number(db, 1, "SELECT pt_purge('c')");
    assert_number(db, 2, "SELECT Entities FROM pt_tables WHERE Store = 'shared.ptable'");
    assert_number(db, 1, "SELECT pt_check('shared.ptable') || pt_check('copy.ptable') = 'okok'");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_long_name_cannot_tell_when_entities_expire),
        folder_test(an_entity_is_there_until_its_time),
        folder_test(a_transaction_has_one_time),
        folder_test(a_statement_has_one_time),
        folder_test(the_clock_of_the_store_counts),
        folder_test(other_tables_read_no_clock),
        folder_test(connections_see_the_switch),
        folder_test(a_cursor_keeps_the_property),
        folder_test(batches_count_what_goes),
        folder_test(purging_needs_permission),
        folder_test(an_authorizer_sees_the_delete),
        folder_test(a_new_unique_index_wants_a_purge),
        folder_test(large_values_go),
        folder_test(backup_and_compacting_keep_what_has_expired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
