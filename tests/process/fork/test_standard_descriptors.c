/*
 * A process that has closed its standard descriptors, as some daemons do: whatever file is opened
 * next gets their numbers, and what the process then prints goes into that file. No file of a store
 * may be it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "faults/system_calls.h"
#include "fixtures/database.h"

enum { STANDARD = 3, SPARE_DESCRIPTOR = 100, ROUNDS = 40, JUNK_SIZE = 9000 };

#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/%s', sync='off')"

/* --- In a child process: where its messages go is no standard descriptor --- */

static int messages;

static void expect_in_child(bool fulfilled, int line)
{
    if (!fulfilled) {
        dprintf(messages, "# child: line %d\n", line);
        _exit(1);
    }
}

#define child_expects(condition) expect_in_child(condition, __LINE__)

static void run_in_child(int line, sqlite3 *db, int code, const char *sql)
{
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (rc != code) {
        dprintf(messages, "# child: line %d: %s\n# %d: %s\n", line, sql, rc, sqlite3_errmsg(db));
        _exit(1);
    }
}

#define child_runs(db, sql) run_in_child(__LINE__, db, SQLITE_OK, sql)
#define child_fails(db, code, sql) run_in_child(__LINE__, db, code, sql)

/* SQLite opens no file for it. */
static sqlite3 *open_in_child(const char *folder, const char *store)
{
    sqlite3 *db = try_open(":memory:");
    child_expects(db != NULL);
    if (store != NULL) {
        char sql[3 * PATH_SIZE];
        snprintf(sql, sizeof sql, TABLE, folder, store);
        child_runs(db, sql);
    }
    return db;
}

static void close_in_child(sqlite3 *db)
{
    child_expects(sqlite3_close(db) == SQLITE_OK);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static bool all_are_open(void)
{
    return is_open(0) && is_open(1) && is_open(2);
}

static void close_all(void)
{
    for (int fd = 0; fd < STANDARD; fd++) {
        close(fd);
    }
}

/* What a program does that does not know better. */
static void print_junk(void)
{
    char junk[JUNK_SIZE];
    memset(junk, 'E', sizeof junk);
    for (int fd = 0; fd < STANDARD; fd++) {
        struct stat file;
        child_expects(fstat(fd, &file) == 0 && S_ISCHR(file.st_mode));
        lseek(fd, 0, SEEK_SET);
        (void)!write(fd, junk, sizeof junk);
    }
}

/* Does the work in a child; its standard descriptors are open until it closes them. */
static void in_child(void (*work)(const char *folder), const char *folder)
{
    int status = -1;
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        messages = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, SPARE_DESCRIPTOR);
        work(folder);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* --- A judge: no file is opened to be written while one of the numbers is free --- */

static atomic_int files_opened;

/* In a test's folder or a private store's: the compiler's counters are written as well. */
static bool opens_to_write(const system_call *call)
{
    return call->kind == CALL_OPEN && (call->flags & O_ACCMODE) != O_RDONLY &&
           strstr(call->path, "/ptable-") != NULL;
}

static system_call_verdict watch_opening(const system_call *call)
{
    if (opens_to_write(call)) {
        if (!all_are_open()) {
            dprintf(messages, "# child: %s could become 0, 1 or 2\n", call->path);
            _exit(1);
        }
        atomic_fetch_add(&files_opened, 1);
    }
    return (system_call_verdict){0};
}

static void close_all_and_watch(void)
{
    close_all();
    atomic_store(&files_opened, 0);
    system_call_judge = watch_opening;
}

static void expect_files(void)
{
    system_call_judge = NULL;
    child_expects(atomic_load(&files_opened) > 0);
    print_junk();
}

/* --- The work --- */

static void make_and_fill(const char *folder)
{
    close_all_and_watch();
    sqlite3 *db = open_in_child(folder, "s.ptable");
    child_runs(db, "INSERT INTO t VALUES('p', '1', 1)");
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '2', 2)");
    child_expects(first_number(db, "SELECT sum(V) FROM t", -1) == 3);
    close_in_child(db);
}

static void open_and_add(const char *folder)
{
    close_all_and_watch();
    sqlite3 *db = open_in_child(folder, "s.ptable");
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '3', 3)");
    close_in_child(db);
}

static void back_up_and_compact(const char *folder)
{
    char sql[4 * PATH_SIZE];
    sqlite3 *db = open_in_child(folder, "s.ptable");
    close_all_and_watch();
    snprintf(sql, sizeof sql, "SELECT pt_backup('%s/s.ptable', '%s/backup.ptable')", folder,
             folder);
    child_runs(db, sql);
    expect_files();
    close_all_and_watch();
    snprintf(sql, sizeof sql, "SELECT pt_compact('%s/s.ptable')", folder);
    child_runs(db, sql);
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '4', 4)");
    close_in_child(db);
}

static system_call_verdict close_when_renamed(const system_call *call)
{
    if (strcmp(call->name, "rename") == 0) {
        close_all();
    }
    return watch_opening(call);
}

/* The copy is opened after it has got the store's name. */
static void close_while_compacting(const char *folder)
{
    char sql[3 * PATH_SIZE];
    sqlite3 *db = open_in_child(folder, "s.ptable");
    snprintf(sql, sizeof sql, "SELECT pt_compact('%s/s.ptable')", folder);
    close_all_and_watch();
    system_call_judge = close_when_renamed;
    child_runs(db, sql);
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '5', 5)");
    close_in_child(db);
}

/* A store that nobody has open. */
static void check(const char *folder)
{
    char sql[3 * PATH_SIZE];
    sqlite3 *db = open_in_child(folder, NULL);
    close_all_and_watch();
    snprintf(sql, sizeof sql, "SELECT pt_check('%s/s.ptable') <> 'ok'", folder);
    child_expects(first_number(db, sql, -1) == 0);
    expect_files();
    close_in_child(db);
}

static void use_private(const char *folder)
{
    (void)folder;
    sqlite3 *db = open_in_child(folder, NULL);
    close_all_and_watch();
    child_runs(db, "CREATE VIRTUAL TABLE t USING ptable(V)");
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '1', 1), ('p', '2', 2)");
    child_expects(first_number(db, "SELECT sum(V) FROM t", -1) == 3);
    close_in_child(db);
}

/* The environment is opened anew to give back the memory of a large transaction. */
static void open_private_again(const char *folder)
{
    sqlite3 *db = open_in_child(folder, NULL);
    child_runs(db, "CREATE VIRTUAL TABLE t USING ptable(V); INSERT INTO t VALUES('p', '1', 1)");
    close_all_and_watch();
    child_runs(db, "WITH RECURSIVE n(k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM n WHERE k < 700) "
                   "INSERT INTO t SELECT 'p', k, zeroblob(60000) FROM n");
    expect_files();
    child_expects(first_number(db, "SELECT count(*) FROM t", -1) == 700);
    close_in_child(db);
}

static void assert_sound(const char *folder, const char *store, int sum)
{
    sqlite3 *db = open_database("", ":memory:");
    run(db, TABLE, folder, store);
    assert_number(db, sum, "SELECT sum(V) FROM t");
    assert_number(db, 1, "SELECT pt_check('%s/%s') = 'ok'", folder, store);
    close_database(db);
}

static void what_is_printed_goes_into_no_store(void **state)
{
    in_child(make_and_fill, *state);
    assert_sound(*state, "s.ptable", 3);
    in_child(open_and_add, *state);
    assert_sound(*state, "s.ptable", 6);
    in_child(check, *state);
}

static void nor_into_a_copy_of_one(void **state)
{
    in_child(make_and_fill, *state);
    in_child(back_up_and_compact, *state);
    assert_sound(*state, "s.ptable", 7);
    assert_sound(*state, "backup.ptable", 3);
    in_child(close_while_compacting, *state);
    assert_sound(*state, "s.ptable", 12);
}

static void nor_into_a_private_one(void **state)
{
    in_child(use_private, *state);
    in_child(open_private_again, *state);
}

/* SQLite has opened its only file before. */
static sqlite3 *open_main_in_child(const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, "main.db", path);
    sqlite3 *db = try_open(path);
    child_expects(db != NULL);
    child_runs(db, "PRAGMA journal_mode = memory; CREATE TABLE IF NOT EXISTS o(x)");
    return db;
}

static void make_beside_main(const char *folder)
{
    sqlite3 *db = open_main_in_child(folder);
    close_all_and_watch();
    child_runs(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '1', 1)");
    close_in_child(db);
}

static void use_beside_main(const char *folder)
{
    sqlite3 *db = open_main_in_child(folder);
    close_all_and_watch();
    child_expects(first_number(db, "SELECT sum(V) FROM t", -1) == 1);
    expect_files();
    child_runs(db, "INSERT INTO t VALUES('p', '2', 2)");
    close_in_child(db);
}

static void nor_into_one_beside_a_database(void **state)
{
    in_child(make_beside_main, *state);
    in_child(use_beside_main, *state);
    sqlite3 *db = open_database(*state, "main.db");
    assert_number(db, 3, "SELECT sum(V) FROM t");
    assert_number(db, 1, "SELECT pt_check('%s/main.db-ptable') = 'ok'", (const char *)*state);
    close_database(db);
}

/* --- Numbers that are taken, and that cannot be --- */

/* Only what is closed is filled. */
static void close_one(const char *folder)
{
    struct stat before[STANDARD];
    for (int closed = 0; closed < STANDARD; closed++) {
        for (int fd = 0; fd < STANDARD; fd++) {
            child_expects(fstat(fd, &before[fd]) == 0);
        }
        close(closed);
        sqlite3 *db = open_in_child(folder, "s.ptable");
        for (int fd = 0; fd < STANDARD; fd++) {
            struct stat after;
            child_expects(fstat(fd, &after) == 0);
            child_expects(fd == closed ? S_ISCHR(after.st_mode)
                                       : after.st_ino == before[fd].st_ino);
        }
        close_in_child(db);
        child_expects(all_are_open());
    }
}

static void only_what_is_closed_is_filled(void **state)
{
    in_child(close_one, *state);
}

static system_call_verdict lose_null(const system_call *call)
{
    bool null = call->kind == CALL_OPEN && strcmp(call->path, "/dev/null") == 0;
    return null ? (system_call_verdict){.error = ENOENT} : watch_opening(call);
}

static void live_without_null(const char *folder)
{
    char sql[3 * PATH_SIZE];
    sqlite3 *db = open_in_child(folder, NULL);
    snprintf(sql, sizeof sql, TABLE, folder, "s.ptable");
    system_call_judge = lose_null;
    close(STDIN_FILENO);
    child_fails(db, SQLITE_CANTOPEN, sql);
    child_expects(strstr(sqlite3_errmsg(db), "/dev/null") != NULL);
    child_expects(strstr(sqlite3_errmsg(db), "s.ptable") != NULL);
    child_fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE temp.u USING ptable(V)");
    child_expects(strstr(sqlite3_errmsg(db), "/dev/null") != NULL);
    child_expects(!is_open(STDIN_FILENO));
    system_call_judge = watch_opening;
    child_runs(db, sql);
    system_call_judge = lose_null;
    close(STDOUT_FILENO);
    snprintf(sql, sizeof sql, "SELECT pt_compact('%s/s.ptable')", folder);
    child_fails(db, SQLITE_CANTOPEN, sql);
    snprintf(sql, sizeof sql, "SELECT pt_backup('%s/s.ptable', '%s/b.ptable')", folder, folder);
    child_fails(db, SQLITE_CANTOPEN, sql);
    child_expects(strstr(sqlite3_errmsg(db), "/dev/null") != NULL);
    child_runs(db, "INSERT INTO t VALUES('p', '1', 1)");
    close_in_child(db);
}

static void without_dev_null_nothing_is_opened(void **state)
{
    in_child(live_without_null, *state);
    assert_sound(*state, "s.ptable", 1);
}

/* --- Threads --- */

static pthread_barrier_t both_are_ready;

static void *open_and_close(void *store)
{
    char sql[3 * PATH_SIZE];
    sqlite3 *db = open_in_child("", NULL);
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s')",
             (const char *)store);
    pthread_barrier_wait(&both_are_ready);
    child_runs(db, sql);
    child_expects(all_are_open());
    close_in_child(db);
    return NULL;
}

static void open_two_at_once(const char *folder)
{
    static const char *const names[2] = {"s.ptable", "second.ptable"};
    pthread_t threads[2];
    char paths[2][PATH_SIZE];
    child_expects(pthread_barrier_init(&both_are_ready, NULL, 2) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        close_all_and_watch();
        for (int i = 0; i < 2; i++) {
            path_in(folder, names[i], paths[i]);
            child_expects(pthread_create(&threads[i], NULL, open_and_close, paths[i]) == 0);
        }
        for (int i = 0; i < 2; i++) {
            child_expects(pthread_join(threads[i], NULL) == 0);
        }
        expect_files();
    }
}

static void two_threads_fill_them_at_once(void **state)
{
    in_child(open_two_at_once, *state);
    assert_sound(*state, "s.ptable", 0);
    assert_sound(*state, "second.ptable", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(what_is_printed_goes_into_no_store),
        folder_test(nor_into_a_copy_of_one),
        folder_test(nor_into_a_private_one),
        folder_test(nor_into_one_beside_a_database),
        folder_test(only_what_is_closed_is_filled),
        folder_test(without_dev_null_nothing_is_opened),
        folder_test(two_threads_fill_them_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
