/*
 * DETACH and DROP TABLE close stores: their descriptors, maps and locks are gone, so that the files
 * can be moved and their volume unmounted.
 */
#include "fixtures/database.h"

#include <dirent.h>

/* --- What this process has open --- */

static bool is_mapped(const char *path)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        found = strstr(line, path) != NULL;
    }
    fclose(maps);
    return found;
}

static bool has_descriptor(const char *path)
{
    bool found = false;
    DIR *descriptors = opendir("/proc/self/fd");
    assert_non_null(descriptors);
    for (struct dirent *entry; !found && (entry = readdir(descriptors)) != NULL;) {
        char target[PATH_SIZE] = "";
        ssize_t size = readlinkat(dirfd(descriptors), entry->d_name, target, sizeof target - 1);
        found = size > 0 && strncmp(target, path, strlen(path)) == 0;
    }
    closedir(descriptors);
    return found;
}

/* The file of that name, or its lock file. */
static bool is_open(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    bool has = has_descriptor(path);
    assert_int_equal(is_mapped(path), has);
    return has;
}

/* --- Scenes --- */

static void attach(sqlite3 *db, const char *folder, const char *name)
{
    run(db, "ATTACH '%s/%s' AS x", folder, name);
}

static sqlite3 *open_with_attached(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    attach(db, folder, "a.db");
    run(db, "CREATE VIRTUAL TABLE x.t USING ptable(V String)");
    run(db, "INSERT INTO x.t VALUES ('p', 'r', 'a')");
    return db;
}

/* A program keeps such statements, as Python's sqlite3 does. */
static sqlite3_stmt *read_and_keep(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *kept = step_into(db, sql);
    assert_int_equal(sqlite3_reset(kept), SQLITE_OK);
    return kept;
}

/* --- DETACH --- */

static void a_detached_store_is_closed_by_the_next_statement(void **state)
{
    sqlite3 *db = open_with_attached(*state);
    assert_true(is_open(*state, "a.db-ptable"));
    run(db, "DETACH x; SELECT 1");
    assert_false(is_open(*state, "a.db-ptable"));
    attach(db, *state, "a.db");
    assert_int_equal(number(db, "SELECT count(*) FROM x.t"), 1);
    assert_true(is_open(*state, "a.db-ptable"));
    close_database(db);
}

static void statements_that_are_kept_do_not_keep_it_open(void **state)
{
    static const char *const uses[] = {
        "SELECT * FROM pt_stores",
        "SELECT count(*) FROM m",
        "INSERT INTO m VALUES ('p', 'r', 'm')",
        "SELECT * FROM q",
        "SELECT count(*) FROM pt_tables",
        "CREATE VIRTUAL TABLE n USING ptable",
        "DROP TABLE m",
        "SELECT pt_backup('main.db-ptable', 'copy')",
    };
    sqlite3 *db = open_with_attached(*state);
    run(db, "CREATE VIRTUAL TABLE m USING ptable(V String)");
    run(db, "CREATE VIRTUAL TABLE q USING pt_queue");
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        sqlite3_stmt *kept = read_and_keep(db, "SELECT V FROM x.t");
        run(db, "DETACH x");
        run(db, uses[i]);
        assert_false(is_open(*state, "a.db-ptable"));
        assert_int_equal(sqlite3_step(kept), SQLITE_ERROR);
        attach(db, *state, "a.db");
        sqlite3_reset(kept);
        assert_int_equal(sqlite3_step(kept), SQLITE_ROW);
        assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    }
    close_database(db);
}

static void queues_are_closed_too(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    attach(db, *state, "a.db");
    run(db, "CREATE VIRTUAL TABLE x.q USING pt_queue(max_dequeue_count=1)");
    run(db, "INSERT INTO x.q(Body) VALUES ('b')");
    for (int i = 0; i < 2; i++) { /* the second time it goes to the poison queue */
        run(db, "SELECT * FROM pt_queue_get('x.q', 1, 0.000001)");
    }
    assert_int_equal(number(db, "SELECT count(*) FROM x.q"), 0);
    run(db, "INSERT INTO x.q(Body) VALUES ('b')");
    sqlite3_stmt *kept = read_and_keep(db, "SELECT count(*) FROM x.q");
    run(db, "DETACH x; SELECT count(*) FROM pt_stores");
    assert_false(is_open(*state, "a.db-ptable"));
    assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    close_database(db);
}

/* Another database gets the name, before the extension could see that there was none. */
static void a_name_may_be_given_to_another_database(void **state)
{
    sqlite3 *db = open_with_attached(*state);
    sqlite3_stmt *kept = read_and_keep(db, "SELECT V FROM x.t");
    run(db, "DETACH x");
    attach(db, *state, "b.db");
    run(db, "CREATE VIRTUAL TABLE x.t USING ptable(V String)");
    assert_false(is_open(*state, "a.db-ptable"));
    assert_true(is_open(*state, "b.db-ptable"));
    assert_int_equal(sqlite3_step(kept), SQLITE_DONE); /* it is empty */
    assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    close_database(db);
}

static void other_uses_of_the_store_go_on(void **state)
{
    sqlite3 *db = open_with_attached(*state);
    sqlite3 *other = open_database(*state, "a.db");
    assert_int_equal(number(other, "SELECT count(*) FROM t"), 1);
    run(db, "CREATE VIRTUAL TABLE m USING ptable(V String, store='a.db-ptable', table=t)");
    run(db, "DETACH x; SELECT count(*) FROM pt_stores");
    assert_int_equal(number(db, "SELECT count(*) FROM m"), 1);
    run(db, "DROP TABLE m; SELECT 1");
    assert_true(is_open(*state, "a.db-ptable"));
    run(other, "INSERT INTO t VALUES ('p', 's', 'o')");
    assert_int_equal(number(other, "SELECT count(*) FROM t"), 2);
    close_database(other);
    assert_false(is_open(*state, "a.db-ptable"));
    close_database(db);
}

static void a_transaction_keeps_its_snapshots_to_its_end(void **state)
{
    sqlite3 *db = open_with_attached(*state);
    run(db, "CREATE VIRTUAL TABLE m USING ptable(V String)");
    sqlite3_stmt *kept = read_and_keep(db, "SELECT V FROM x.t");
    run(db, "BEGIN; SELECT count(*) FROM m");
    run(db, "DETACH x; INSERT INTO m VALUES ('p', 'r', 'm')");
    run(db, "COMMIT");
    assert_false(is_open(*state, "a.db-ptable"));
    assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    attach(db, *state, "a.db");
    run(db, "BEGIN; SELECT count(*) FROM x.t");
    fails(db, SQLITE_ERROR, "DETACH x");
    says(db, "database x is locked");
    run(db, "COMMIT");
    close_database(db);
}

static void open_cursors_refuse(void **state)
{
    sqlite3 *db = open_with_attached(*state);
    sqlite3_stmt *reading = step_into(db, "SELECT * FROM x.t");
    fails(db, SQLITE_ERROR, "DETACH x");
    says(db, "database x is locked");
    fails(db, SQLITE_LOCKED, "DROP TABLE x.t");
    expect_rest(reading, 0);
    run(db, "DETACH x; SELECT 1");
    assert_false(is_open(*state, "a.db-ptable"));
    close_database(db);
}

/* A private store belongs to its database in memory. */
static void a_private_store_goes_with_its_database(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    for (int keeps = 0; keeps < 2; keeps++) {
        run(db, "ATTACH ':memory:' AS x; CREATE VIRTUAL TABLE x.t USING ptable(V String)");
        assert_int_equal(number(db, "SELECT count(*) FROM x.t"), 0);
        run(db, "INSERT INTO x.t VALUES ('p', 'r', 'v')");
        sqlite3_stmt *kept = read_and_keep(db, "SELECT V FROM x.t");
        if (keeps == 0) {
            assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
            kept = NULL;
        }
        run(db, "DETACH x");
        assert_int_equal(number(db, "SELECT count(*) FROM pt_stores"), 0);
        assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    }
    close_database(db);
}

/* --- DROP TABLE --- */

static void the_last_table_closes_the_store(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    for (int i = 0; i < 2; i++) {
        run(db, "CREATE VIRTUAL TABLE t USING ptable(V String)");
        run(db, "CREATE VIRTUAL TABLE temp.u USING ptable(V String, store='main.db-ptable')");
        run(db, "INSERT OR REPLACE INTO t VALUES ('p', 'r', 'v')");
        assert_int_equal(number(db, "SELECT count(*) FROM u"), 0);
        sqlite3_stmt *kept = read_and_keep(db, "SELECT count(*) FROM u");
        run(db, "DROP TABLE t");
        assert_true(is_open(*state, "main.db-ptable"));
        run(db, "DROP TABLE u");
        assert_false(is_open(*state, "main.db-ptable"));
        assert_int_equal(sqlite3_finalize(kept), SQLITE_OK);
    }
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V String)");
    assert_int_equal(number(db, "SELECT count(*) FROM t"), 1); /* the entities stay */
    close_database(db);
}

static void a_dropped_table_keeps_the_store_to_the_end_of_the_transaction(void **state)
{
    static const char *const ends[] = {"COMMIT", "ROLLBACK", "ROLLBACK TO s; RELEASE s; COMMIT"};
    sqlite3 *db = open_database(*state, "main.db");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V String)");
        run(db, "BEGIN; SAVEPOINT s; INSERT INTO t VALUES ('p', '%d', 'v'); DROP TABLE t", (int)i);
        assert_true(is_open(*state, "main.db-ptable"));
        run(db, ends[i]);
        assert_false(is_open(*state, "main.db-ptable"));
        run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V String)");
        assert_int_equal(number(db, "SELECT count(*) FROM t"), 1);
    }
    close_database(db);
}

static void a_private_store_keeps_the_entities_of_dropped_tables(void **state)
{
    (void)state;
    sqlite3 *db = open_database("", ":memory:");
    run(db, "ATTACH ':memory:' AS x");
    static const char *const schemas[] = {"main", "temp", "x"};
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        run(db, "CREATE VIRTUAL TABLE %s.t USING ptable(V String)", schemas[i]);
        run(db, "INSERT INTO %s.t VALUES ('p', 'r', 'v'); DROP TABLE %s.t", schemas[i], schemas[i]);
        run(db, "SELECT count(*) FROM pt_stores");
        run(db, "CREATE VIRTUAL TABLE %s.t USING ptable(V String)", schemas[i]);
        assert_int_equal(number(db, "SELECT count(*) FROM %s.t", schemas[i]), 1);
    }
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_detached_store_is_closed_by_the_next_statement),
        folder_test(statements_that_are_kept_do_not_keep_it_open),
        folder_test(queues_are_closed_too),
        folder_test(a_name_may_be_given_to_another_database),
        folder_test(other_uses_of_the_store_go_on),
        folder_test(a_transaction_keeps_its_snapshots_to_its_end),
        folder_test(open_cursors_refuse),
        folder_test(a_private_store_goes_with_its_database),
        folder_test(the_last_table_closes_the_store),
        folder_test(a_dropped_table_keeps_the_store_to_the_end_of_the_transaction),
        cmocka_unit_test(a_private_store_keeps_the_entities_of_dropped_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
