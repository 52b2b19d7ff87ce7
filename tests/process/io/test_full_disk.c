/*
 * A disk that is full, or rather a process whose files may not grow: what fails leaves nothing, and
 * all is well again once there is room.
 */
#include <sys/resource.h>

#include "faults/saboteur.h"
#include "fixtures/folder.h"
#include "fixtures/mixed.h"
#include "fixtures/scene.h"
#include "fixtures/store.h"

enum { ROWS = 100, PAGE = 4096 };

#define STORE "shared.ptable"

/* Files may be written up to this size; the signal is ignored, so writes fail with EFBIG. */
static void lift_limit(void)
{
    limit_files(RLIM_INFINITY);
}

/* Main databases in memory, so that only the store needs room. */
static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    signal(SIGXFSZ, SIG_IGN);
    all->db = open_database("", ":memory:");
    sqlite3_create_module(all->db, "saboteur", &saboteur_module, NULL);
    run(all->db,
        "CREATE VIRTUAL TABLE s USING saboteur;"
        "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "');"
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
        "INSERT INTO t SELECT 'p', k, 'old' FROM n",
        all->folder, ROWS);
    all->other = start_peer("", ":memory:");
    peer_run(&all->other, "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "')",
             all->folder);
    return 0;
}

static int tear_down(void **state)
{
    lift_limit();
    saboteur_code = SQLITE_OK;
    saboteur_watch = NULL;
    return end_scene(state);
}

static void check_old_rows(scene *all)
{
    assert_store(all->folder, STORE, 1, ROWS);
    assert_number(all->db, ROWS, "SELECT count(*) FROM t WHERE V = 'old'");
    assert_peer_number(&all->other, ROWS, "SELECT count(*) FROM t WHERE V = 'old'");
}

static bool is_explained(sqlite3 *db, const char *store)
{
    int code = sqlite3_errcode(db);
    return code == SQLITE_FULL && strstr(sqlite3_errmsg(db), "ptable: ") != NULL &&
           strstr(sqlite3_errmsg(db), "; make room: raise the limit") != NULL &&
           strstr(sqlite3_errmsg(db), store) != NULL;
}

#define BIG_WRITE                                                                                  \
    "UPDATE t SET V = 'new'; DELETE FROM t WHERE RowKey LIKE '%9';"                                \
    "INSERT INTO t SELECT 'q', RowKey, printf('%.1000c', 'x') FROM t"

/* With room for ever more of what is to be written, until there is room for all. */
static void a_commit_without_room_leaves_nothing(void **state)
{
    scene *all = *state;
    int failures = 0;
    rlim_t step = 5 * PAGE;
    for (rlim_t room = 0;; room += step) {
        limit_files((rlim_t)size_of(all->folder, STORE) + room);
        run(all->db, "BEGIN; %s", BIG_WRITE);
        bool failed = code_of(all->db, "COMMIT") != SQLITE_OK;
        bool explained = is_explained(all->db, STORE);
        lift_limit();
        if (!failed) {
            break;
        }
        failures++;
        assert_true(explained);
        assert_int_equal(sqlite3_get_autocommit(all->db), 1);
        check_old_rows(all);
        run(all->db, "UPDATE t SET V = 'old' WHERE RowKey = '1'");
    }
    assert_true(failures > 3);
    assert_number(all->db, 2 * ROWS * 9 / 10, "SELECT count(*) FROM t WHERE V <> 'old'");
    peer_run(&all->other, "DELETE FROM t WHERE PartitionKey = 'q'; UPDATE t SET V = 'old'");
    assert_number(all->db, ROWS * 9 / 10, "SELECT count(*) FROM t WHERE V = 'old'");
}

static void a_statement_without_room_leaves_nothing(void **state)
{
    scene *all = *state;
    limit_files(0);
    assert_int_not_equal(code_of(all->db, "UPDATE t SET V = 'new'"), SQLITE_OK);
    bool explained = is_explained(all->db, STORE);
    assert_int_not_equal(code_of(all->db, "DELETE FROM t"), SQLITE_OK);
    assert_number(all->db, ROWS, "SELECT count(*) FROM t WHERE V = 'old'");
    lift_limit();
    assert_true(explained);
    check_old_rows(all);
    peer_run(&all->other, "UPDATE t SET V = 'new'");
    assert_number(all->db, ROWS, "SELECT count(*) FROM t WHERE V = 'new'");
}

/* Unless it is ignored the signal ends the process, at a write that begins behind the limit. */
static int write_with_limit(const char *folder, rlim_t limit)
{
    const struct rlimit no_core = {0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGXFSZ, SIG_DFL);
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "')", folder);
    limit_files(limit);
    return code_of(db, "BEGIN; %s; COMMIT", BIG_WRITE) & 0xff;
}

static int status_of_writer(const char *folder, rlim_t limit)
{
    int status;
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(write_with_limit(folder, limit));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void a_process_killed_for_want_of_room_leaves_nothing(void **state)
{
    scene *all = *state;
    int killed = 0;
    for (rlim_t limit = 0;; limit += 3 * PAGE) {
        int status = status_of_writer(all->folder, limit);
        if (WIFEXITED(status) && WEXITSTATUS(status) == SQLITE_OK) {
            break;
        }
        assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGXFSZ
                                        : WEXITSTATUS(status) == SQLITE_FULL);
        killed += WIFSIGNALED(status);
        check_old_rows(all);
    }
    assert_true(killed > 3);
    run(all->db, "UPDATE t SET V = 'old'");
    assert_peer_number(&all->other, 2 * ROWS * 9 / 10, "SELECT count(*) FROM t WHERE V = 'old'");
}

static void a_store_without_room_is_not_made(void **state)
{
    scene *all = *state;
    int failures = 0;
    for (int pages = 0;; pages++) {
        limit_files((rlim_t)pages * PAGE);
        int code = code_of(all->db, "CREATE VIRTUAL TABLE n USING ptable(V, store='%s/%d.ptable')",
                           all->folder, pages);
        bool explained = strstr(sqlite3_errmsg(all->db), ".ptable") != NULL;
        lift_limit();
        if (code == SQLITE_OK) {
            break;
        }
        failures++;
        assert_true(explained);
        assert_int_equal(unfinished_files(all->folder), 0);
        run(all->db,
            "CREATE VIRTUAL TABLE n USING ptable(V, store='%s/%d.ptable');"
            "INSERT INTO n VALUES('p', 'a', 1); DROP TABLE n",
            all->folder, pages);
    }
    assert_true(failures > 3);
    run(all->db, "INSERT INTO n VALUES('p', 'a', 1)");
}

/* --- When not even taking back is possible --- */

static void take_all_room(void)
{
    limit_files(0);
}

/* The store has the transaction's writes, its commit failed behind that, and the undo fails too. */
static void get_into_doubt(scene *all)
{
    saboteur_watch = take_all_room;
    saboteur_code = SQLITE_ERROR;
    run(all->db, "BEGIN; UPDATE t SET V = 'new'; INSERT INTO s VALUES(1)");
    assert_int_equal(code_of(all->db, "COMMIT"), SQLITE_ERROR);
    saboteur_watch = NULL;
    saboteur_code = SQLITE_OK;
}

static void a_store_in_doubt_is_refused_until_there_is_room(void **state)
{
    scene *all = *state;
    peer_run(&all->other, "PRAGMA busy_timeout = 0");
    sqlite3 *second = open_database("", ":memory:");
    run(second, "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "')", all->folder);
    get_into_doubt(all);
    int read = code_of(all->db, "SELECT * FROM t");
    bool explained = strstr(sqlite3_errmsg(all->db), "could not be undone") != NULL;
    int written = code_of(all->db, "INSERT INTO t VALUES('p', 'z', '')");
    int saved =
        code_of(all->db, "SELECT pt_backup('%s/" STORE "', '%s/copy')", all->folder, all->folder);
    int read_by_second = code_of(second, "SELECT * FROM t");
    int written_by_second = code_of(second, "INSERT INTO t VALUES('p', 'z', '')");
    lift_limit();
    assert_int_equal(read, SQLITE_IOERR);
    assert_true(explained);
    assert_int_equal(written, SQLITE_IOERR);
    assert_int_equal(saved, SQLITE_IOERR);
    assert_int_equal(read_by_second, SQLITE_IOERR);
    assert_int_equal(written_by_second, SQLITE_IOERR);
    peer_fails(&all->other, SQLITE_BUSY, "UPDATE t SET V = 'peer'");
    check_old_rows(all);
    assert_number(second, ROWS, "SELECT count(*) FROM t WHERE V = 'old'");
    run(second, "UPDATE t SET V = 'new'");
    peer_run(&all->other, "UPDATE t SET V = 'old'");
    check_old_rows(all);
    close_database(second);
}

static void closing_takes_back_what_was_in_doubt(void **state)
{
    scene *all = *state;
    get_into_doubt(all);
    lift_limit();
    close_database(all->db);
    all->db = open_database("", ":memory:");
    run(all->db, "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "')",
        all->folder);
    check_old_rows(all);
    peer_run(&all->other, "UPDATE t SET V = 'new'");
}

/* --- Long keys, large values and dropped tables --- */

enum { MIXED_LAST = MIXED_FIRST + MIXED_SLOTS * MIXED_WAYS };

#define MIXED_STORE "mixed.db-ptable"

/* A main database that writes next to nothing. */
static sqlite3 *open_mixed(const char *folder)
{
    sqlite3 *db = open_database(folder, "mixed.db");
    sqlite3_create_module(db, "saboteur", &saboteur_module, NULL);
    run(db, "PRAGMA journal_mode = memory; PRAGMA temp_store = memory; " MIXED_TABLES
            "CREATE VIRTUAL TABLE temp.s USING saboteur");
    return db;
}

static void check_mixed(sqlite3 *db, int64_t last)
{
    assert_int_equal(mixed_last(db), last);
    mixed_check_rows(db, last);
}

static void check_mixed_file(const char *folder)
{
    sqlite3 *db = open_mixed(folder);
    int64_t chunks = mixed_chunks(db);
    close_database(db);
    assert_int_equal(anatomy_of(folder, MIXED_STORE)->chunks, chunks);
}

/* Writes a batch with ever more room; returns how often there was too little. */
static int write_with_more_room(const char *folder, sqlite3 *db, int64_t batch)
{
    for (int failures = 0;; failures++) {
        rlim_t room = (rlim_t)size_of(folder, MIXED_STORE) + (rlim_t)failures * 20 * PAGE;
        assert_int_equal(mixed_begin(db, batch), SQLITE_OK);
        limit_files(room);
        int code = code_of(db, "COMMIT");
        bool explained = is_explained(db, MIXED_STORE);
        lift_limit();
        if (code == SQLITE_OK) {
            return failures;
        }
        assert_true(explained);
        assert_int_equal(sqlite3_get_autocommit(db), 1);
        check_mixed(db, batch - 1);
    }
}

static void all_kinds_of_writes_fail_without_room(void **state)
{
    const scene *all = *state;
    sqlite3 *db = open_mixed(all->folder);
    int failures = 0;
    for (int64_t batch = MIXED_FIRST; batch < MIXED_LAST; batch++) {
        failures += write_with_more_room(all->folder, db, batch);
        check_mixed(db, batch);
    }
    assert_true(failures > 3);
    close_database(db);
    check_mixed_file(all->folder);
}

/* Each batch is applied and taken back, which fails at first, before it is committed. */
static void all_kinds_of_writes_are_taken_back_once_there_is_room(void **state)
{
    const scene *all = *state;
    sqlite3 *db = open_mixed(all->folder);
    for (int64_t batch = MIXED_FIRST; batch < MIXED_LAST; batch++) {
        assert_int_equal(mixed_begin(db, batch), SQLITE_OK);
        run(db, "INSERT INTO s VALUES(1)");
        saboteur_watch = take_all_room;
        saboteur_code = SQLITE_ERROR;
        assert_int_equal(code_of(db, "COMMIT"), SQLITE_ERROR);
        saboteur_watch = NULL;
        saboteur_code = SQLITE_OK;
        int read = code_of(db, "SELECT * FROM t");
        lift_limit();
        assert_int_equal(read, SQLITE_IOERR);
        check_mixed(db, batch - 1);
        assert_int_equal(mixed_batch(db, batch), SQLITE_OK);
    }
    check_mixed(db, MIXED_LAST - 1);
    close_database(db);
    check_mixed_file(all->folder);
}

#define disk_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        disk_test(a_commit_without_room_leaves_nothing),
        disk_test(a_statement_without_room_leaves_nothing),
        disk_test(a_process_killed_for_want_of_room_leaves_nothing),
        disk_test(a_store_without_room_is_not_made),
        disk_test(a_store_in_doubt_is_refused_until_there_is_room),
        disk_test(closing_takes_back_what_was_in_doubt),
        disk_test(all_kinds_of_writes_fail_without_room),
        disk_test(all_kinds_of_writes_are_taken_back_once_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
