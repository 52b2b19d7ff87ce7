/*
 * Processes that are killed while they commit long keys, large values and dropped tables: what lies
 * in several sub-databases is there wholly or not at all, and goes without a trace.
 */
#include <lmdb.h>

#include "faults/mortal.h"
#include "fixtures/child.h"

enum { ROWS = 4, DATABASES_MAX = 8, SLICES = 20 };

#define STORE "main.db-ptable"
#define LONG_TEXT "hex(zeroblob(300))"

#define ROWS_OF_BATCH                                                                              \
    "WITH k(n, r) AS (VALUES (1, 'a'), (2, " LONG_TEXT "), (3, " LONG_TEXT " || '1'),"             \
    " (4, hex(zeroblob(1000))))"                                                                   \
    "SELECT printf('%%06d', %lld), r, printf('%%.*c', 3000 * n, 'x') FROM k;"

/*
 * Batch b writes the partition b, moves the rows of the one before to other keys, and deletes the
 * one before that. With every batch the table d is dropped, made again, and gets the same rows.
 */
static int commit_batch(sqlite3 *db, int64_t batch)
{
    return code_of(
        db,
        "BEGIN; INSERT INTO o VALUES(1);"
        "INSERT INTO t " ROWS_OF_BATCH
        "UPDATE t SET RowKey = 'moved' || RowKey WHERE PartitionKey = printf('%%06d', %lld);"
        "DELETE FROM t WHERE PartitionKey = printf('%%06d', %lld);"
        "DELETE FROM pt_tables WHERE TableName = 'd'; INSERT INTO pt_tables(TableName) VALUES('d');"
        "INSERT INTO d " ROWS_OF_BATCH "COMMIT",
        batch, batch - 1, batch - 2, batch);
}

/* commit path batch calls: dies before that call. Otherwise says how many there were. */
static int commit(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, "SELECT * FROM t") != SQLITE_OK) {
        return 1;
    }
    mortal_begin(strtoll(arguments[2], NULL, 10));
    if (commit_batch(db, strtoll(arguments[1], NULL, 10)) != SQLITE_OK) {
        return 1;
    }
    int64_t calls = mortal_calls;
    mortal_begin(0);
    write_all(STDOUT_FILENO, &calls, sizeof calls);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* Returns the last batch, which is there wholly, as is what it did to those before. */
static int64_t check_batches(sqlite3 *db)
{
    int64_t last = number(db, "SELECT coalesce(max(CAST(PartitionKey AS INT)), 0) FROM t");
    int64_t partitions = last < 2 ? last : 2;
    assert_number(db, partitions,
                  "SELECT count(*) FROM (SELECT PartitionKey AS p, count(*) AS c,"
                  " sum(RowKey GLOB 'moved*') AS m, sum(length(V)) AS s FROM t GROUP BY 1)"
                  " WHERE c = %d AND s = 30000 AND m = iif(CAST(p AS INT) = %lld, 0, %d)",
                  ROWS, last, ROWS);
    int64_t in_d = last == 0 ? 0 : ROWS;
    assert_number(db, in_d, "SELECT count(*) FROM d WHERE CAST(PartitionKey AS INT) = %lld", last);
    assert_number(db, in_d, "SELECT Entities FROM pt_tables WHERE TableName = 'd'");
    assert_number(db, partitions * ROWS, "SELECT Entities FROM pt_tables WHERE TableName = 't'");
    return last;
}

/* Of a store that nobody has open: entries of a sub-database. */
static size_t entries_of(const char *folder, const char *database)
{
    char path[PATH_SIZE];
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_stat stat;
    path_in(folder, STORE, path);
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, DATABASES_MAX);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_RDONLY, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, database, 0, &dbi), 0);
    assert_int_equal(mdb_stat(txn, dbi, &stat), 0);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return stat.ms_entries;
}

static void check_empty(const char *folder)
{
    assert_int_equal(entries_of(folder, "entities"), 2); /* the catalogue's */
    assert_int_equal(entries_of(folder, "long_keys"), 0);
    assert_int_equal(entries_of(folder, "chunks"), 0);
    assert_int_equal(entries_of(folder, "garbage"), 0);
}

static void die_at_each_call(const char *folder, const char *journal_mode)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db,
        "PRAGMA journal_mode = %s; CREATE TABLE o(v);"
        "CREATE VIRTUAL TABLE t USING ptable(V String);"
        "CREATE VIRTUAL TABLE d USING ptable(V String)",
        journal_mode);
    int64_t before = 0;
    int64_t calls = 0;
    bool died;
    do {
        close_database(db);
        died = numbered_child_dies("commit", folder, before + 1, ++calls);
        db = open_database(folder, "main.db");
        int64_t found = check_batches(db);
        assert_in_range(found, died ? before : before + 1, before + 1);
        before = found;
    } while (died);
    assert_true(calls > 5);
    for (int slice = 0; slice < SLICES; slice++) {
        run(db, "INSERT INTO t VALUES('p', 'a', 'x'); DELETE FROM t; DELETE FROM d");
    }
    close_database(db);
    check_empty(folder);
}

static void killed_at_each_call_with_a_journal(void **state)
{
    die_at_each_call(*state, "delete");
}

static void killed_at_each_call_in_wal_mode(void **state)
{
    die_at_each_call(*state, "wal");
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return commit(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        folder_test(killed_at_each_call_with_a_journal),
        folder_test(killed_at_each_call_in_wal_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
