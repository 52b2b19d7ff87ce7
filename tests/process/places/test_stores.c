/*
 * Transactions over several stores: of one database, of attached ones, of TEMP and in memory.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "fixtures/peer.h"
#include "fixtures/store.h"

enum { PATIENCE_MS = 20000, MANY_STORES = 60 };

#define TABLES                                                                                     \
    "CREATE VIRTUAL TABLE a USING ptable(V Int32, store='a.ptable', sync='off');"                  \
    "CREATE VIRTUAL TABLE b USING ptable(V Int32, store='b.ptable', sync='off')"

static void both_stores_commit_and_roll_back(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, TABLES);
    run(db, "BEGIN; INSERT INTO a VALUES('p', '1', 1); INSERT INTO b VALUES('p', '1', 2); COMMIT");
    assert_store(folder, "a.ptable", 1, 1);
    assert_store(folder, "b.ptable", 1, 1);
    run(db, "BEGIN; UPDATE a SET V = 10; UPDATE b SET V = 20; ROLLBACK");
    assert_number(db, 3, "SELECT a.V + b.V FROM a JOIN b USING(RowKey)");
    run(db, "BEGIN; UPDATE a SET V = 10; SAVEPOINT s; UPDATE b SET V = 20; UPDATE a SET V = 11;"
            "ROLLBACK TO s");
    assert_number(db, 12, "SELECT a.V + b.V FROM a JOIN b USING(RowKey)");
    run(db, "INSERT INTO b SELECT PartitionKey, '2', V FROM a; COMMIT");
    assert_number(db, 22, "SELECT sum(V) FROM (SELECT V FROM a UNION ALL SELECT V FROM b)");
    close_database(db);
}

static int refuse(void *context)
{
    (void)context;
    return 1;
}

static void a_refused_commit_leaves_nothing_in_any_store(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, TABLES);
    sqlite3_commit_hook(db, refuse, NULL);
    fails(db, SQLITE_CONSTRAINT_COMMITHOOK,
          "BEGIN; INSERT INTO a VALUES('p', '1', 1); INSERT INTO b VALUES('p', '1', 2); COMMIT");
    assert_store(folder, "a.ptable", 1, 0);
    assert_store(folder, "b.ptable", 1, 0);
    close_database(db);
}

static void attached_temp_and_main_commit_together(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "ATTACH '%s/other.db' AS other", folder);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32);"
            "CREATE VIRTUAL TABLE other.t USING ptable(V Int32);"
            "CREATE VIRTUAL TABLE temp.t USING ptable(V Int32)");
    run(db, "BEGIN; INSERT INTO main.t VALUES('p', 'a', 1);"
            "INSERT INTO other.t VALUES('p', 'a', 2); INSERT INTO temp.t VALUES('p', 'a', 4)");
    assert_number(db, 7, "SELECT m.V + o.V + t.V FROM main.t m, other.t o, temp.t t");
    assert_store(folder, "main.db-ptable", 1, 0);
    assert_store(folder, "other.db-ptable", 1, 0);
    run(db, "COMMIT");
    assert_store(folder, "main.db-ptable", 1, 1);
    assert_store(folder, "other.db-ptable", 1, 1);
    run(db, "BEGIN; UPDATE main.t SET V = 0; UPDATE other.t SET V = 0; UPDATE temp.t SET V = 0;"
            "ROLLBACK");
    assert_number(db, 7, "SELECT m.V + o.V + t.V FROM main.t m, other.t o, temp.t t");
    run(db, "DROP TABLE temp.t; DETACH other");
    close_database(db);
}

/* The second store's lock is only tried, so two that take them crosswise do not wait for ever. */
static void a_second_store_that_is_locked_is_busy_at_once(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "one.db");
    run(db, TABLES);
    run(db, "PRAGMA busy_timeout = %d", PATIENCE_MS);
    peer other = start_peer(folder, "two.db");
    peer_run(&other, TABLES);
    peer_run(&other, "PRAGMA busy_timeout = %d; BEGIN; INSERT INTO b VALUES('p', '2', 2)",
             PATIENCE_MS);
    run(db, "BEGIN; INSERT INTO a VALUES('p', '1', 1)");
    peer_fails(&other, SQLITE_BUSY, "INSERT INTO a VALUES('p', '2', 2)");
    assert_false(other.waited);
    fails(db, SQLITE_BUSY, "INSERT INTO b VALUES('p', '1', 1)");
    run(db, "INSERT INTO a VALUES('p', '3', 3); COMMIT");
    peer_run(&other, "COMMIT");
    assert_store(folder, "a.ptable", 1, 2);
    assert_store(folder, "b.ptable", 1, 1);
    run(db, "BEGIN; UPDATE a SET V = 5; UPDATE b SET V = 5; COMMIT");
    assert_peer_number(&other, 15,
                       "SELECT sum(V) FROM (SELECT V FROM a UNION ALL SELECT V FROM b)");
    stop_peer(&other);
    close_database(db);
}

/* Declared in two databases and under a second file name, it is still one store. */
static void one_store_under_several_names_is_one(void **state)
{
    const char *folder = *state;
    char link[PATH_SIZE];
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "ATTACH '%s/other.db' AS other", folder);
    path_in(folder, "link.ptable", link);
    assert_int_equal(symlink("a.ptable", link), 0);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='a.ptable');"
            "CREATE VIRTUAL TABLE other.t USING ptable(V Int32, store='a.ptable');"
            "CREATE VIRTUAL TABLE l USING ptable(V Int32, store='link.ptable', table='t')");
    run(db, "BEGIN; INSERT INTO main.t VALUES('p', 'a', 1); UPDATE other.t SET V = V + 1;"
            "UPDATE l SET V = V * 10");
    fails(db, SQLITE_CONSTRAINT_PRIMARYKEY, "INSERT INTO l VALUES('p', 'a', 1)");
    assert_number(db, 20, "SELECT V FROM main.t");
    run(db, "COMMIT");
    assert_store(folder, "a.ptable", 1, 1);
    assert_number(db, 20, "SELECT V FROM other.t");
    close_database(db);
}

/* Wherever the process stands: TEMP and databases in memory have no folder, but main's. */
static void a_relative_name_means_one_file(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "ATTACH ':memory:' AS memory; CREATE VIRTUAL TABLE t USING ptable(V Int32);"
            "INSERT INTO t VALUES('p', 'a', 1); SELECT pt_backup(NULL, 'copy.ptable')");
    run(db, "CREATE VIRTUAL TABLE temp.u USING ptable(V Int32, store='copy.ptable', table='t');"
            "CREATE VIRTUAL TABLE memory.v USING ptable(V Int32, store='copy.ptable', table='t')");
    assert_number(db, 2, "SELECT u.V + v.V FROM temp.u JOIN memory.v USING(RowKey)");
    assert_number(db, 1, "SELECT Entities FROM pt_partitions('copy.ptable', 't')");
    run(db, "INSERT INTO u VALUES('p', 'b', 2); INSERT INTO v VALUES('p', 'c', 3)");
    close_database(db);
    assert_store(folder, "copy.ptable", 1, 3);
}

static void go_to(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    mkdir(path, 0700);
    assert_int_equal(chdir(path), 0);
}

/* SQLite connects tables anew after a change of the schema that is rolled back. */
static void a_program_that_changes_its_folder_keeps_its_stores(void **state)
{
    const char *folder = *state;
    char before[1000];
    assert_non_null(getcwd(before, sizeof before));
    go_to(folder, "here");
    sqlite3 *db = open_database(folder, ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='a.ptable', sync='off');"
            "CREATE VIRTUAL TABLE temp.u USING ptable(V Int32, store='a.ptable', table=t);"
            "INSERT INTO t VALUES('p', '1', 1)");
    go_to(folder, "there");
    sqlite3 *other = open_database(folder, ":memory:");
    run(other, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='a.ptable', sync='off')");
    run(db, "INSERT INTO t VALUES('p', '2', 2); BEGIN; CREATE TABLE o(x); ROLLBACK;"
            "INSERT INTO t VALUES('p', '3', 3); INSERT INTO u VALUES('p', '4', 4)");
    assert_number(db, 4, "SELECT Entities FROM pt_tables WHERE Store = 'a.ptable'");
    assert_number(other, 0, "SELECT count(*) FROM t");
    close_database(db);
    close_database(other);
    assert_int_equal(chdir(before), 0);
    assert_store(folder, "here/a.ptable", 1, 4);
}

static void stores_in_memory_are_private(void **state)
{
    (void)state;
    sqlite3 *one = open_database("", ":memory:");
    sqlite3 *two = open_database("", ":memory:");
    const char *sql = "CREATE VIRTUAL TABLE t USING ptable(V Int32);"
                      "CREATE VIRTUAL TABLE u USING ptable(V Int32)";
    run(one, "%s", sql);
    run(two, "%s", sql);
    run(one, "BEGIN; INSERT INTO t VALUES('p', 'a', 1)");
    run(two, "BEGIN; INSERT INTO t VALUES('p', 'a', 2); INSERT INTO u SELECT * FROM t; COMMIT");
    run(one, "ROLLBACK");
    assert_number(one, 0, "SELECT count(*) FROM t");
    assert_number(two, 2, "SELECT t.V FROM t JOIN u USING(PartitionKey, RowKey)");
    close_database(two);
    close_database(one);
}

/* SQLite names these databases, but there is no file beside which a store could lie. */
static void databases_in_memory_that_have_names_have_private_stores(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2("file:/ptable-test?vfs=memdb", &db,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    run(db, "ATTACH ':memory:' AS filled");
    unsigned flags = SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE;
    assert_int_equal(sqlite3_deserialize(db, "filled", NULL, 0, 0, flags), SQLITE_OK);
    run(db, "CREATE VIRTUAL TABLE main.t USING ptable(V Int32);"
            "CREATE VIRTUAL TABLE filled.u USING ptable(V Int32);"
            "INSERT INTO t VALUES('p', 'a', 1); INSERT INTO u VALUES('p', 'a', 1)");
    assert_number(db, 2, "SELECT count(*) FROM pt_stores WHERE Store LIKE '(private%%'");
    close_database(db);
}

static void an_emptied_lock_file_is_told(void **state)
{
    const char *folder = *state;
    char path[200];
    snprintf(path, sizeof path, "%s/a.ptable-lock", folder);
    sqlite3 *db = open_database(folder, "main.db");
    run(db,
        "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/a.ptable');"
        "INSERT INTO t VALUES('p', 'a', 1)",
        folder);
    assert_number(db, 1, "SELECT count(*) FROM t");
    struct stat before;
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(truncate(path, before.st_size), 0);
    assert_int_equal(code_of(db, "SELECT * FROM t") & 0xFF, SQLITE_IOERR);
    assert_non_null(
        strstr(sqlite3_errmsg(db), "its lock file (-lock) was emptied or overwritten "));
    assert_non_null(strstr(sqlite3_errmsg(db), "then open it again"));
    assert_int_equal(code_of(db, "INSERT INTO t VALUES('p', 'b', 1)") & 0xFF, SQLITE_IOERR);
    close_database(db);
    db = open_database(folder, "main.db");
    run(db, "INSERT INTO t VALUES('p', 'b', 1)");
    assert_number(db, 2, "SELECT count(*) FROM t");
    close_database(db);
}

static sqlite3 *open_shared(const char *uri)
{
    sqlite3 *db = NULL;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;
    assert_int_equal(sqlite3_open_v2(uri, &db, flags, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    return db;
}

static void assert_told_to_name_a_store(sqlite3 *db, const char *sql, const char *what)
{
    assert_int_equal(code_of(db, "%s", sql), SQLITE_ERROR);
    const char *message = sqlite3_errmsg(db);
    assert_non_null(strstr(message, "store '(private)' has no "));
    assert_non_null(strstr(message, what));
    assert_non_null(strstr(message, "to share a store, name a file with store='path'"));
}

static void connections_to_one_database_in_memory_are_told_to_name_a_store(void **state)
{
    const char *folder = *state;
    static const char *const uris[] = {"file:shared?mode=memory&cache=shared",
                                       "file:/shared?vfs=memdb"};
    for (size_t i = 0; i < sizeof uris / sizeof uris[0]; i++) {
        sqlite3 *one = open_shared(uris[i]);
        sqlite3 *two = open_shared(uris[i]);
        run(one, "CREATE VIRTUAL TABLE t USING ptable(V Int32); CREATE VIRTUAL TABLE q USING "
                 "pt_queue; INSERT INTO t VALUES('p', 'a', 1)");
        assert_told_to_name_a_store(two, "SELECT * FROM t", "table 't'");
        assert_told_to_name_a_store(two, "INSERT INTO t VALUES('p', 'b', 1)", "(TableNotFound)");
        assert_told_to_name_a_store(two, "SELECT * FROM q", "queue 'q'");
        assert_told_to_name_a_store(two, "INSERT INTO q(Body) VALUES('b')", "(QueueNotFound)");
        assert_number(one, 1, "SELECT count(*) FROM t");
        run(one, "DROP TABLE t; CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/all%d')",
            folder, (int)i);
        run(two, "INSERT INTO t VALUES('p', 'b', 1)");
        assert_number(one, 1, "SELECT count(*) FROM t");
        close_database(two);
        close_database(one);
    }
}

static void name_main(sqlite3 *db, const char *name)
{
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_MAINDBNAME, name), SQLITE_OK);
}

static void a_main_database_may_have_another_name(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    name_main(db, "first");
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); CREATE VIRTUAL TABLE q USING pt_queue;"
            "INSERT INTO first.t VALUES('p', 'a', 1); INSERT INTO q(Body) VALUES('b');"
            "INSERT INTO pt_tables(TableName) VALUES('u'); SELECT pt_compact()");
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    assert_number(db, 1, "SELECT Entities FROM pt_partitions('first.t')");
    name_main(db, "second");
    run(db, "BEGIN; CREATE TABLE o(x); ROLLBACK; INSERT INTO t VALUES('p', 'b', 2)");
    assert_number(db, 2, "SELECT count(*) FROM second.t");
    assert_number(db, 2, "SELECT Entities FROM pt_partitions('main.t')");
    assert_number(db, 1, "SELECT count(*) FROM pt_queue_get('second.q')");
    assert_number(db, 1, "SELECT count(*) FROM pt_stores WHERE Store = '(private)'");
    close_database(db);
}

/* Each reserves addresses for what it may become, and must leave some to the others. */
static void many_stores_are_open_in_little_address_space(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* which have taken more of it for themselves */
#endif
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit narrow = {.rlim_cur = (rlim_t)4 << 30, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &narrow), 0);
    sqlite3 *stores[MANY_STORES];
    int rc = SQLITE_OK;
    int count = 0;
    for (; rc == SQLITE_OK && count < MANY_STORES; count++) {
        stores[count] = open_database("", ":memory:");
        rc = code_of(stores[count], "CREATE VIRTUAL TABLE t USING ptable(V);"
                                    "INSERT INTO t VALUES('p', '1', zeroblob(300000))");
    }
    setrlimit(RLIMIT_AS, &before);
    for (int i = 0; i < count; i++) {
        close_database(stores[i]);
    }
    assert_int_equal(rc, SQLITE_OK);
}

/* The last user's end closes the store, the next opens it anew. */
static void stores_close_and_open_again(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    for (int i = 0; i < 10; i++) {
        run(db, TABLES);
        run(db,
            "BEGIN; INSERT INTO a VALUES('p', %d, 1); SELECT * FROM b; COMMIT;"
            "DROP TABLE a; DROP TABLE b",
            i);
    }
    close_database(db);
    assert_store(folder, "a.ptable", 1, 10);
}

/* Whoever comes first makes it; nobody finds half a store. */
static void processes_make_one_store_at_once(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 3 };
    const char *folder = *state;
    peer others[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        others[i] = start_peer("", ":memory:");
        peer_run(&others[i], "PRAGMA busy_timeout = %d", PATIENCE_MS);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PROCESSES; i++) {
            peer_begins(&others[i],
                        "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/%d.ptable');"
                        "INSERT INTO t VALUES('p', %d, 1); SELECT count(*) FROM t; DROP TABLE t",
                        folder, round, i);
        }
        for (int i = 0; i < PROCESSES; i++) {
            peer_ends(&others[i], SQLITE_OK);
        }
        char store[PATH_SIZE];
        snprintf(store, sizeof store, "%d.ptable", round);
        assert_store(folder, store, 1, PROCESSES);
    }
    for (int i = 0; i < PROCESSES; i++) {
        stop_peer(&others[i]);
    }
}

static void a_database_in_wal_and_one_with_a_journal_commit_together(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    sqlite3 *reader = open_database(folder, "other.db");
    run(db, "PRAGMA journal_mode = wal; ATTACH '%s/other.db' AS other", folder);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32);"
            "CREATE VIRTUAL TABLE other.u USING ptable(V Int32); CREATE TABLE other.o(v)");
    run(reader, "BEGIN; SELECT * FROM o");
    run(db, "INSERT INTO t VALUES('p', 'a', 1)");
    run(db, "BEGIN; UPDATE t SET V = 2; INSERT INTO u VALUES('p', 'a', 1)");
    fails(db, SQLITE_BUSY, "COMMIT");
    says(db, "'other' is being read");
    assert_store(folder, "other.db-ptable", 1, 0);
    run(reader, "COMMIT");
    run(db, "COMMIT");
    assert_number(reader, 1, "SELECT V FROM u");
    close_database(reader);
    close_database(db);
}

/* To close a file that was taken for a store would drop the locks that SQLite has on it. */
static void a_database_taken_for_a_store_stays_locked(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE TABLE o(v)");
    peer other = start_peer(folder, "main.db");
    run(db, "BEGIN IMMEDIATE; INSERT INTO o VALUES(1)");
    for (int times = 0; times < 2; times++) {
        fails(db, SQLITE_CANTOPEN, "SELECT * FROM pt_tables WHERE Store = 'main.db'");
        fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE t USING ptable(store='main.db')");
        peer_fails(&other, SQLITE_BUSY, "INSERT INTO o VALUES(2)");
    }
    run(db, "COMMIT");
    peer_run(&other, "DROP TABLE o");
    stop_peer(&other);
    close_database(db);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        folder_test(both_stores_commit_and_roll_back),
        folder_test(a_refused_commit_leaves_nothing_in_any_store),
        folder_test(attached_temp_and_main_commit_together),
        folder_test(a_second_store_that_is_locked_is_busy_at_once),
        folder_test(one_store_under_several_names_is_one),
        folder_test(a_relative_name_means_one_file),
        folder_test(a_program_that_changes_its_folder_keeps_its_stores),
        folder_test(stores_in_memory_are_private),
        folder_test(databases_in_memory_that_have_names_have_private_stores),
        folder_test(an_emptied_lock_file_is_told),
        folder_test(connections_to_one_database_in_memory_are_told_to_name_a_store),
        cmocka_unit_test(a_main_database_may_have_another_name),
        cmocka_unit_test(many_stores_are_open_in_little_address_space),
        folder_test(stores_close_and_open_again),
        folder_test(processes_make_one_store_at_once),
        folder_test(a_database_in_wal_and_one_with_a_journal_commit_together),
        folder_test(a_database_taken_for_a_store_stays_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
