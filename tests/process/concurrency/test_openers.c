/*
 * Openers of a store and those who are in their way: processes that end slowly, children of who
 * made it, whoever died before its name was on the disk, and LMDB without ptable in one process.
 */
#include <errno.h>
#include <lmdb.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "faults/write_order.h"
#include "fixtures/child.h"
#include "fixtures/log_mode.h"
#include "lmdb/file/locks.h"

#define STORE "shared.ptable"
#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/" STORE "')"

static sqlite3 *open_with_table(const char *folder)
{
    sqlite3 *db = open_database(folder, ":memory:");
    run(db, TABLE, folder);
    return db;
}

static void make_store(const char *folder)
{
    sqlite3 *db = open_with_table(folder);
    run(db, "INSERT INTO t VALUES('p', '0', 0)");
    close_database(db);
}

/* --- Locks that fail --- */

static int failing_lock;

static system_call_verdict fail_lock(const system_call *call)
{
    bool fails = call->kind == CALL_LOCK && failing_lock-- == 0;
    return (system_call_verdict){.error = fails ? EIO : 0};
}

/* LMDB goes on without its first lock, and then finds that nobody has filled the lock file in. */
static void a_lock_that_fails_is_not_called_damage(void **state)
{
    char lock_file[PATH_SIZE];
    int failures = 0;
    path_in(*state, STORE "-lock", lock_file);
    make_store(*state);
    sqlite3 *db = open_database(*state, ":memory:");
    failing_lock = -1;
    for (int lock = 0; failing_lock < 0; lock++) {
        assert_int_equal(unlink(lock_file), 0);
        failing_lock = lock;
        system_call_judge = fail_lock;
        int code = code_of(db, TABLE, (const char *)*state);
        system_call_judge = NULL;
        if (code != SQLITE_OK) {
            failures++;
            says(db, STORE);
            assert_null(strstr(sqlite3_errmsg(db), "from a backup"));
            run(db, TABLE, (const char *)*state);
        }
        run(db, "DROP TABLE t");
    }
    print_message("# %d locks failed\n", failures);
    assert_true(failures > 1);
    close_database(db);
}

static void a_private_store_is_never_called_damaged(void **state)
{
    int failures = 0;
    sqlite3 *db = open_database(*state, ":memory:");
    failing_lock = -1;
    for (int lock = 0; failing_lock < 0; lock++) {
        failing_lock = lock;
        system_call_judge = fail_lock;
        int code = code_of(db, "CREATE VIRTUAL TABLE temp.t USING ptable(v)");
        system_call_judge = NULL;
        if (code != SQLITE_OK) {
            failures++;
            assert_int_equal(code, SQLITE_IOERR);
            says(db, "store '(private)'");
            says(db, "try again");
            run(db, "CREATE VIRTUAL TABLE temp.t USING ptable(v)");
        }
        run(db, "DROP TABLE t");
    }
    assert_true(failures > 0);
    close_database(db);
}

/* --- Room for a lock file --- */

static int room_problem;
static int room_asked;

/* EINTR passes. */
static system_call_verdict fail_room(const system_call *call)
{
    system_call_verdict verdict = {0};
    if (call->kind == CALL_ROOM) {
        room_asked++;
        verdict.error = room_problem;
        room_problem = room_problem == EINTR ? 0 : room_problem;
    }
    return verdict;
}

static void room_for_a_lock_file_is_taken_when_it_is_made(void **state)
{
    static const int problems[] = {EINTR, EOPNOTSUPP, ENOSPC, EDQUOT};
    char lock_file[PATH_SIZE];
    path_in(*state, STORE "-lock", lock_file);
    make_store(*state);
    sqlite3 *db = open_database(*state, ":memory:");
    system_call_judge = fail_room;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        bool full = problems[i] == ENOSPC || problems[i] == EDQUOT;
        assert_int_equal(unlink(lock_file), 0);
        room_asked = 0;
        room_problem = problems[i];
        int code = code_of(db, TABLE, (const char *)*state);
        room_problem = 0;
        assert_int_equal(code, full ? SQLITE_FULL : SQLITE_OK);
        assert_int_equal(room_asked, problems[i] == EINTR ? 2 : 1);
        if (full) {
            says(db, "lock file");
            run(db, TABLE, (const char *)*state);
        }
        run(db, "DROP TABLE t");
    }
    room_problem = ENOSPC; /* a store that exists has its room already */
    run(db, TABLE, (const char *)*state);
    system_call_judge = NULL;
    close_database(db);
}

/* --- Files that cannot be looked for --- */

static int failing_look;

static system_call_verdict fail_look(const system_call *call)
{
    bool fails = strcmp(call->name, "stat") == 0 && failing_look-- == 0;
    return (system_call_verdict){.error = fails ? EIO : 0};
}

/* The store is made for whom the database is, or not at all. SQLite looks for its own file, too. */
static void a_store_is_not_made_without_having_looked(void **state)
{
    char store[PATH_SIZE];
    char database[PATH_SIZE];
    struct stat file;
    int failures = 0;
    path_in(*state, STORE, store);
    path_in(*state, "m.db", database);
    sqlite3 *db = open_database(*state, "m.db");
    run(db, "CREATE TABLE ordinary(x)");
    assert_int_equal(chmod(database, 0640), 0);
    failing_look = -1;
    for (int look = 0; failing_look < 0; look++) {
        failing_look = look;
        system_call_judge = fail_look;
        int code = code_of(db, TABLE, (const char *)*state);
        system_call_judge = NULL;
        if (code != SQLITE_OK) {
            failures += strstr(sqlite3_errmsg(db), STORE) != NULL;
            assert_null(strstr(sqlite3_errmsg(db), "does not exist"));
            run(db, TABLE, (const char *)*state);
        }
        assert_int_equal(stat(store, &file), 0);
        assert_int_equal(file.st_mode & 07777, 0640);
        run(db, "DROP TABLE t");
        assert_int_equal(unlink(store), 0);
    }
    print_message("# %d looks failed\n", failures);
    assert_true(failures > 1);
    close_database(db);
}

/* --- A program that forks --- */

static const char *fork_before;
static pid_t forked;

static system_call_verdict fork_once(const system_call *call)
{
    if (forked == 0 && strcmp(call->name, fork_before) == 0) {
        forked = fork();
        if (forked == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
            _exit(0);
        }
    }
    return (system_call_verdict){0};
}

static void fork_in(sqlite3 *db, const char *call, const char *sql)
{
    fork_before = call;
    forked = 0;
    system_call_judge = fork_once;
    int code = code_of(db, "%s", sql);
    system_call_judge = NULL;
    assert_int_equal(code, SQLITE_OK);
    assert_true(forked > 0);
}

static void end_forked(void)
{
    assert_int_equal(kill(forked, SIGKILL), 0);
    assert_int_equal(waitpid(forked, NULL, 0), forked);
}

static void a_child_forked_while_a_store_is_made_keeps_nobody_out(void **state)
{
    char sql[200];
    sqlite3 *db = open_database(*state, ":memory:");
    snprintf(sql, sizeof sql, "CREATE VIRTUAL TABLE t USING ptable(store='%s/" STORE "')",
             (const char *)*state);
    fork_in(db, "link", sql);
    close_database(db);
    db = open_with_table(*state);
    run(db, "INSERT INTO t VALUES('p', '1', 1)");
    end_forked();
    close_database(db);
}

static void a_child_forked_while_a_store_is_compacted_keeps_nobody_out(void **state)
{
    make_store(*state);
    sqlite3 *db = open_with_table(*state);
    fork_in(db, "fsync", "SELECT pt_compact((SELECT Store FROM pt_stores))");
    close_database(db);
    db = open_with_table(*state);
    run(db, "INSERT INTO t VALUES('p', '1', 1)");
    end_forked();
    close_database(db);
}

/* --- A process that ends --- */

enum { TIME_TO_END_MS = 300 };

static void *let_go(void *fd)
{
    const struct timespec time = {.tv_nsec = TIME_TO_END_MS * 1000000L};
    nanosleep(&time, NULL);
    pt_lock_release(*(int *)fd, PT_LOCK_PRESENCE);
    return NULL;
}

/* On a busy machine it may take long between letting go of the lock file and of the store. */
static void who_ends_slowly_is_waited_for(void **state)
{
    char path[PATH_SIZE];
    pthread_t thread;
    make_store(*state);
    path_in(*state, STORE, path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_PRESENCE, false, 0), SQLITE_OK);
    assert_int_equal(pthread_create(&thread, NULL, let_go, &fd), 0);
    sqlite3 *db = open_with_table(*state);
    assert_number(db, 1, "SELECT count(*) FROM t");
    pthread_join(thread, NULL);
    close_database(db);
    close(fd);
}

/* --- A name that is not on the disk --- */

/* Who made the file may have died before that, and a commit is not there without the name. */
static void the_first_full_commit_makes_the_name_durable(void **state)
{
    put_log_aside(); /* making one makes the name durable, too */
    make_store(*state);
    sqlite3 *db = open_with_table(*state);
    assert_string_equal(order_of(db, "SELECT * FROM t"), "");
    assert_string_equal(order_of(db, "INSERT INTO t VALUES('p', '1', 1)"), "fW");
    assert_string_equal(order_of(db, "INSERT INTO t VALUES('p', '2', 1)"), "W");
    close_database(db);
    take_log_again();
}

/* --- LMDB without ptable --- */

static bool others_see_a_lock(const char *path)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int fd = open(path, O_RDWR);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Opened a second time in a process, LMDB's locks would be lost with the first close. */
static void a_file_that_lmdb_has_open_in_the_process_is_not_opened(void **state)
{
    char path[PATH_SIZE];
    char lock_file[PATH_SIZE];
    MDB_env *env;
    make_store(*state);
    path_in(*state, STORE, path);
    path_in(*state, STORE "-lock", lock_file);
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOTLS, 0600), 0);
    sqlite3 *db = open_database(*state, ":memory:");
    fails(db, SQLITE_CANTOPEN, TABLE, (const char *)*state);
    says(db, "in this process");
    assert_true(others_see_a_lock(lock_file));
    mdb_env_close(env);
    run(db, TABLE, (const char *)*state);
    assert_number(db, 1, "SELECT count(*) FROM t");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_lock_that_fails_is_not_called_damage),
        folder_test(a_private_store_is_never_called_damaged),
        folder_test(room_for_a_lock_file_is_taken_when_it_is_made),
        folder_test(a_store_is_not_made_without_having_looked),
        folder_test(a_file_that_lmdb_has_open_in_the_process_is_not_opened),
        folder_test(a_child_forked_while_a_store_is_made_keeps_nobody_out),
        folder_test(a_child_forked_while_a_store_is_compacted_keeps_nobody_out),
        folder_test(who_ends_slowly_is_waited_for),
        folder_test(the_first_full_commit_makes_the_name_durable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
