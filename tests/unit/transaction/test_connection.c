#include "unit/transaction/connected.h"

#include <sys/stat.h>

#include "module/store_path.h"
#include "transaction/explicit_transaction.h"

static int setup(void **state)
{
    (void)state;
    return connect_database();
}

static int teardown(void **state)
{
    (void)state;
    fault_none();
    return disconnect_database();
}

static pt_session *use_of(pt_connection *user, const char *path, const char *schema)
{
    pt_session *session = NULL;
    assert_ok(pt_connection_use(user, path, schema, true, &session, &error));
    return session;
}

static pt_session *use_path(const char *path)
{
    return use_of(connection, path, "main");
}

static pt_session *use_private(const char *schema)
{
    return use_of(connection, NULL, schema);
}

/* The name of a file in the fixture's folder, until the next call but three. */
static const char *file_name(const char *name)
{
    static char names[4][128];
    static unsigned last;
    last = (last + 1) % 4;
    snprintf(names[last], sizeof names[last], "%s/%s", fixture_folder, name);
    return names[last];
}

static void fault_all_locks(pt_session *session)
{
    make_faulty(pt_session_store(session));
    fault_from(FAULTY_LOCK, 0);
}

/* --- Which session --- */

static void one_file_has_one_session(void **state)
{
    (void)state;
    pt_session *session = use_path(fixture_path);
    const char *other_name = file_name("link.ptable");
    assert_int_equal(symlink(fixture_path, other_name), 0);
    assert_ptr_equal(use_path(fixture_path), session);
    assert_ptr_equal(use_path(other_name), session);
    char dotted[160];
    snprintf(dotted, sizeof dotted, "%s/.%s", fixture_folder, strrchr(fixture_path, '/'));
    assert_ptr_equal(use_path(dotted), session);
    assert_ptr_not_equal(use_path(file_name("another.ptable")), session);
    begin(session);
    begin(use_path(other_name));
}

static void another_connection_has_its_own_session(void **state)
{
    (void)state;
    pt_connection *second = pt_connection_new(db, &pt_lmdb_engine);
    pt_session *session = use_path(fixture_path);
    pt_session *theirs = use_of(second, fixture_path, "main");
    assert_ptr_not_equal(theirs, session);
    assert_ptr_equal(pt_session_store(theirs), pt_session_store(session));
    pt_connection_release(second);
    commit_text(session, "a", "1");
}

static void every_schema_has_its_own_private_store(void **state)
{
    (void)state;
    pt_session *of_main = use_private("main");
    pt_session *of_temp = use_private("temp");
    assert_ptr_not_equal(of_main, of_temp);
    assert_ptr_equal(use_private("main"), of_main);
    assert_string_equal(pt_session_store(of_main)->path, "(private)");
    commit_text(of_main, "a", "1");
    assert_reads(of_temp, "a", NULL);
    pt_connection_leave(connection, of_main);
    pt_connection_leave(connection, of_main);
    assert_reads(use_private("main"), "a", "1");
}

static void a_store_is_made_only_when_asked(void **state)
{
    (void)state;
    const char *path = file_name("missing.ptable");
    pt_session *session = NULL;
    assert_fails(pt_connection_use(connection, path, "main", false, &session, &error),
                 SQLITE_CANTOPEN, path);
    assert_null(session);
    pt_session *made = use_path(path);
    assert_ok(pt_connection_use(connection, path, "main", false, &session, &error));
    assert_ptr_equal(session, made);
}

/* --- How long it lives --- */

static void a_store_is_closed_with_its_last_use(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    pt_session *session = use_path(fixture_path);
    use_path(fixture_path);
    pt_connection_leave(connection, session);
    assert_true(sqlite3_memory_used() > before || before == 0); /* 0: it is not counted */
    commit_text(session, "a", "1");
    pt_connection_leave(connection, session);
    assert_int_equal(sqlite3_memory_used(), before);
    assert_reads(use_path(fixture_path), "a", "1");
}

/* After DROP TABLE the transaction goes on, and may be told to commit. */
static void a_store_that_is_being_written_stays_open(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    for (int commits = 0; commits < 2; commits++) {
        pt_session *session = use_path(fixture_path);
        pt_explicit_transaction_follow(connection);
        begin(session);
        write_text(session, "a", "1");
        pt_connection_leave(connection, session);
        assert_ptr_equal(use_path(fixture_path), session);
        pt_connection_leave(connection, session);
        if (commits) {
            assert_ok(pt_explicit_transaction_sync(connection, &error));
            pt_explicit_transaction_commit(connection);
        } else {
            pt_explicit_transaction_rollback(connection);
        }
        assert_int_equal(sqlite3_memory_used(), before);
        session = use_path(fixture_path);
        assert_reads(session, "a", commits ? "1" : NULL);
        pt_connection_leave(connection, session);
    }
}

static void the_last_reference_rolls_back_and_closes(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    pt_connection *second = pt_connection_new(db, &pt_lmdb_engine);
    assert_ptr_equal(second->db, db);
    pt_session *session = use_of(second, fixture_path, "main");
    use_of(second, NULL, "main");
    begin(session);
    write_text(session, "a", "1");
    assert_ok(pt_explicit_transaction_sync(second, &error));
    pt_connection_retain(second);
    pt_connection_release(second);
    assert_finds(session, "a", "1");
    pt_connection_release(second);
    assert_int_equal(sqlite3_memory_used(), before);
    assert_reads(use_path(fixture_path), "a", NULL);
}

/* --- Waiting --- */

static void waits_as_long_as_the_busy_timeout(void **state)
{
    (void)state;
    pt_session *session = use_path(fixture_path);
    fault_all_locks(session);
    assert_fails(pt_session_begin(session, &error), SQLITE_BUSY, NULL);
    assert_int_equal(fault_calls(FAULTY_LOCK), 1);
    sqlite3_busy_timeout(db, 1234);
    fault_all_locks(session);
    assert_fails(pt_session_begin(session, &error), SQLITE_BUSY, NULL);
    assert_int_equal(fault_calls(FAULTY_LOCK), 2);
    assert_int_equal(faulty_waits[0], 0);
    assert_int_equal(faulty_waits[1], 1234);
}

/* Two connections that hold one store each and wait for the other's would wait for ever. */
static void does_not_wait_while_it_writes_to_another_store(void **state)
{
    (void)state;
    pt_session *first = use_private("main");
    pt_session *second = use_path(fixture_path);
    sqlite3_busy_timeout(db, 60000);
    begin(first);
    fault_all_locks(second);
    assert_fails(pt_session_begin(second, &error), SQLITE_BUSY, NULL);
    assert_int_equal(fault_calls(FAULTY_LOCK), 1);
    pt_session_rollback(first);
    fault_all_locks(second);
    assert_fails(pt_session_begin(second, &error), SQLITE_BUSY, NULL);
    assert_int_equal(faulty_waits[1], 60000);
}

static int run(sqlite3 *user, const char *sql)
{
    return sqlite3_exec(user, sql, NULL, NULL, NULL);
}

static void a_database_that_is_being_read_stops_the_commit(void **state)
{
    (void)state;
    sqlite3 *writer = NULL;
    sqlite3 *reader = NULL;
    const char *path = file_name("main.db");
    assert_int_equal(sqlite3_open(path, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(run(writer, "PRAGMA synchronous=off; CREATE TABLE t(x)"), SQLITE_OK);
    pt_connection *second = pt_connection_new(writer, &pt_lmdb_engine);
    pt_session *session = use_of(second, fixture_path, "main");
    begin(session);
    write_text(session, "a", "1");
    assert_int_equal(run(reader, "BEGIN; SELECT * FROM t"), SQLITE_OK);
    assert_int_equal(run(writer, "BEGIN IMMEDIATE"), SQLITE_OK);
    assert_fails(pt_explicit_transaction_sync(second, &error), SQLITE_BUSY, "'main' is being read");
    assert_stored(session, "a", NULL);
    assert_int_equal(run(reader, "COMMIT"), SQLITE_OK);
    assert_ok(pt_explicit_transaction_sync(second, &error));
    assert_stored(session, "a", "1");
    assert_int_equal(run(reader, "SELECT * FROM t"), SQLITE_BUSY);
    assert_int_equal(run(writer, "COMMIT"), SQLITE_OK);
    pt_explicit_transaction_commit(second);
    pt_connection_release(second);
    sqlite3_close(writer);
    sqlite3_close(reader);
}

/* --- Explicit transactions --- */

static void a_followed_transaction_keeps_what_it_reads(void **state)
{
    (void)state;
    pt_connection *second = pt_connection_new(db, &pt_lmdb_engine);
    pt_session *session = use_path(fixture_path);
    pt_session *theirs = use_of(second, fixture_path, "main");
    void (*const ends[])(pt_connection *) = {pt_explicit_transaction_commit,
                                             pt_explicit_transaction_rollback};
    const char *const records[] = {"1", "2", "3"};
    commit_text(theirs, "a", records[0]);
    for (int i = 0; i < 2; i++) {
        assert_false(connection->followed);
        pt_explicit_transaction_follow(connection);
        assert_true(connection->followed);
        assert_reads(session, "a", records[i]);
        commit_text(theirs, "a", records[i + 1]);
        assert_reads(session, "a", records[i]);
        ends[i](connection);
        assert_reads(session, "a", records[i + 1]);
    }
    pt_connection_release(second);
}

static void savepoints_reach_every_session(void **state)
{
    (void)state;
    pt_session *first = use_private("main");
    pt_session *second = use_path(fixture_path);
    pt_explicit_transaction_follow(connection);
    begin(first);
    write_text(first, "a", "1");
    assert_int_equal(pt_explicit_transaction_savepoint(connection, 0), SQLITE_OK);
    begin(second);
    write_text(first, "b", "1");
    write_text(second, "a", "1");
    assert_int_equal(pt_explicit_transaction_savepoint(connection, 1), SQLITE_OK);
    write_text(second, "b", "1");
    pt_explicit_transaction_rollback_to(connection, 1);
    assert_finds(first, "b", "1");
    assert_finds(second, "a", "1");
    assert_finds(second, "b", NULL);
    pt_explicit_transaction_release(connection, 1);
    pt_explicit_transaction_rollback_to(connection, 0);
    assert_finds(first, "a", "1");
    assert_finds(first, "b", NULL);
    assert_finds(second, "a", NULL);
}

/* A savepoint that was open in a transaction which only read a store is over with it. */
static void savepoints_end_with_their_transaction(void **state)
{
    (void)state;
    pt_session *session = use_path(fixture_path);
    pt_explicit_transaction_follow(connection);
    assert_reads(session, "a", NULL);
    assert_int_equal(pt_explicit_transaction_savepoint(connection, 0), SQLITE_OK);
    assert_ok(pt_explicit_transaction_sync(connection, &error));
    pt_explicit_transaction_commit(connection);
    pt_explicit_transaction_follow(connection);
    begin(session);
    write_text(session, "a", "1");
    assert_int_equal(pt_explicit_transaction_savepoint(connection, 0), SQLITE_OK);
    write_text(session, "b", "1");
    pt_explicit_transaction_rollback_to(connection, 0);
    assert_finds(session, "a", "1");
}

static void all_stores_commit(void **state)
{
    (void)state;
    pt_session *sessions[] = {use_private("main"), use_path(fixture_path)};
    pt_explicit_transaction_follow(connection);
    for (int i = 0; i < 2; i++) {
        begin(sessions[i]);
        write_text(sessions[i], "a", "1");
    }
    assert_ok(pt_explicit_transaction_sync(connection, &error));
    pt_explicit_transaction_commit(connection);
    for (int i = 0; i < 2; i++) {
        assert_false(pt_session_is_writing(sessions[i]));
        assert_stored(sessions[i], "a", "1");
    }
}

static void a_store_that_fails_takes_the_others_back(void **state)
{
    (void)state;
    pt_session *sessions[] = {use_path(file_name("other.ptable")), use_path(fixture_path)};
    for (int failing = 0; failing < 2; failing++) {
        pt_explicit_transaction_follow(connection);
        for (int i = 0; i < 2; i++) {
            begin(sessions[i]);
            write_text(sessions[i], "a", "1");
        }
        make_faulty(pt_session_store(sessions[failing]));
        fault_next(FAULTY_COMMIT);
        assert_fails(pt_explicit_transaction_sync(connection, &error), FAULTY_RC, "fire");
        pt_explicit_transaction_rollback(connection);
        for (int i = 0; i < 2; i++) {
            assert_false(pt_session_is_writing(sessions[i]));
            assert_stored(sessions[i], "a", NULL);
            pt_session_store(sessions[i])->engine = engine;
        }
    }
}

/* --- Memory --- */

static void out_of_memory_opens_nothing(void **state)
{
    (void)state;
    for (int is_private = 0; is_private < 2; is_private++) {
        sqlite3_int64 before = sqlite3_memory_used();
        for (int n = 0;; n++) {
            pt_session *session = NULL;
            pt_error error = PT_ERROR_NONE;
            failing_malloc_arm(n, false);
            int rc = pt_connection_use(connection, is_private ? NULL : fixture_path, "main", true,
                                       &session, &error);
            bool hit = failing_malloc_disarm();
            assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
            assert_int_equal(error.rc, rc);
            if (!hit) {
                assert_true(n >= 3);
                pt_connection_leave(connection, session);
                break;
            }
            assert_null(session);
            assert_int_equal(sqlite3_memory_used(), before);
        }
    }
    failing_malloc_arm(0, false);
    assert_null(pt_connection_new(db, &pt_lmdb_engine));
    failing_malloc_disarm();
}

/* --- What is open --- */

static void sessions_are_numbered_and_never_renumbered(void **state)
{
    (void)state;
    assert_null(pt_connection_session_above(connection, 0));
    pt_session *first = use_path(fixture_path);
    pt_session *second = use_private("temp");
    uint32_t low = pt_connection_number_of(connection, first);
    uint32_t high = pt_connection_number_of(connection, second);
    assert_true(low >= 1 && high > low);
    assert_ptr_equal(pt_connection_session_above(connection, 0), first);
    assert_ptr_equal(pt_connection_session_above(connection, low), second);
    assert_null(pt_connection_session_above(connection, high));
    pt_connection_leave(connection, first);
    assert_ptr_equal(pt_connection_session_above(connection, 0), second);
    assert_true(pt_connection_number_of(connection, use_path(fixture_path)) > high);
}

static void private_stores_are_known_by_their_schema(void **state)
{
    (void)state;
    assert_null(pt_connection_find_private(connection, "temp"));
    pt_session *file = use_path(fixture_path);
    pt_session *of_temp = use_private("temp");
    assert_ptr_equal(pt_connection_find_private(connection, "temp"), of_temp);
    assert_null(pt_connection_find_private(connection, "main"));
    assert_string_equal(pt_connection_private_schema(connection, of_temp), "temp");
    assert_null(pt_connection_private_schema(connection, file));
}

static void another_use_keeps_a_store_open(void **state)
{
    (void)state;
    pt_session *session = use_path(fixture_path);
    pt_connection_use_again(connection, session);
    pt_connection_leave(connection, session);
    assert_ptr_equal(pt_connection_session_above(connection, 0), session);
    pt_connection_leave(connection, session);
    assert_null(pt_connection_session_above(connection, 0));
}

static void stores_can_be_kept_open_for_a_transaction(void **state)
{
    (void)state;
    for (int follows = 0; follows < 2; follows++) {
        pt_session *session = use_path(fixture_path);
        follows ? pt_explicit_transaction_follow(connection) : pt_connection_keep_open(connection);
        pt_connection_leave(connection, session);
        assert_ptr_equal(pt_connection_session_above(connection, 0), session);
        follows ? pt_explicit_transaction_rollback(connection)
                : pt_explicit_transaction_commit(connection);
        assert_null(pt_connection_session_above(connection, 0));
    }
}

/* A folder is no database. */
static void names_of_databases_files_are_refused(void **state)
{
    (void)state;
    const char *name = file_name("some.db-wal");
    assert_ok(pt_store_name_check(name, &error));
    fclose(fopen(file_name("some.db"), "w"));
    failing_malloc_arm(0, false);
    pt_error nomem = PT_ERROR_NONE;
    assert_int_equal(pt_store_name_check(name, &nomem), SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    assert_fails(pt_store_name_check(name, &error), SQLITE_CANTOPEN, "some.db");
    unlink(file_name("some.db"));
    assert_int_equal(mkdir(file_name("some.db"), 0700), 0);
    assert_ok(pt_store_name_check(name, &error));
    assert_int_equal(rmdir(file_name("some.db")), 0);
}

/* As when a shell's folder is deleted under it. */
static void a_folder_that_is_gone_is_reported(void **state)
{
    (void)state;
    char *path = NULL;
    char before[1000];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(file_name("folder"), 0700), 0);
    assert_int_equal(chdir(file_name("folder")), 0);
    assert_int_equal(rmdir(file_name("folder")), 0);
    assert_fails(pt_store_path(connection, "main", "a.ptable", &path, &error), SQLITE_CANTOPEN,
                 "the current folder is not known");
    assert_null(path);
    assert_int_equal(chdir(before), 0);
}

static void connected_tables_are_found_by_name(void **state)
{
    (void)state;
    pt_connected first = {.schema = "main", .name = "Employee"};
    pt_connected second = {.schema = "temp", .name = "Employee"};
    pt_connected again = {.schema = "main", .name = "employee"};
    pt_connected_tables_remove(connection, &first);
    pt_connected_tables_add(connection, &first);
    pt_connected_tables_add(connection, &second);
    assert_ptr_equal(pt_connected_tables_find(connection, "MAIN", "EMPLOYEE"), &first);
    assert_ptr_equal(pt_connected_tables_find(connection, "temp", "employee"), &second);
    assert_null(pt_connected_tables_find(connection, "main", "Employees"));
    pt_connected_tables_add(connection, &again);
    assert_ptr_equal(pt_connected_tables_find(connection, "main", "Employee"), &again);
    pt_connected_tables_remove(connection, &again);
    pt_connected_tables_remove(connection, &second);
    assert_ptr_equal(pt_connected_tables_find(connection, "main", "Employee"), &first);
    assert_null(pt_connected_tables_find(connection, "temp", "Employee"));
    pt_connected_tables_remove(connection, &first);
    assert_null(pt_connected_tables_find(connection, "main", "Employee"));
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(one_file_has_one_session),
        TEST(another_connection_has_its_own_session),
        TEST(every_schema_has_its_own_private_store),
        TEST(a_store_is_made_only_when_asked),
        TEST(a_store_is_closed_with_its_last_use),
        TEST(a_store_that_is_being_written_stays_open),
        TEST(the_last_reference_rolls_back_and_closes),
        TEST(waits_as_long_as_the_busy_timeout),
        TEST(does_not_wait_while_it_writes_to_another_store),
        TEST(a_database_that_is_being_read_stops_the_commit),
        TEST(a_followed_transaction_keeps_what_it_reads),
        TEST(savepoints_reach_every_session),
        TEST(savepoints_end_with_their_transaction),
        TEST(all_stores_commit),
        TEST(a_store_that_fails_takes_the_others_back),
        TEST(out_of_memory_opens_nothing),
        TEST(sessions_are_numbered_and_never_renumbered),
        TEST(private_stores_are_known_by_their_schema),
        TEST(another_use_keeps_a_store_open),
        TEST(names_of_databases_files_are_refused),
        TEST(a_folder_that_is_gone_is_reported),
        TEST(stores_can_be_kept_open_for_a_transaction),
        TEST(connected_tables_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
