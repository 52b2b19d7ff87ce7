/*
 * The log beside those that do not write it: users who may only read, other users of a group,
 * children of a process that has died, programs that use LMDB alone.
 */
#include <grp.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fixtures/log_chain.h"
#include "fixtures/scene.h"

enum { MANY = 1000000, ROWS = 5, OWNER = 12345, MEMBER = 12346, GROUP = 23456, IDLE_SECONDS = 60 };

#define STORE "shared.ptable"

static char store[PATH_SIZE];
static int rows; /* in the store's table */

static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    path_in(all->folder, STORE, store);
    use_log(MANY);
    rows = 0;
    return 0;
}

/* user path number: another process, of that user and of the group. */
static peer start_user(unsigned user)
{
    char number_of_user[16];
    snprintf(number_of_user, sizeof number_of_user, "%u", user);
    const char *const arguments[] = {":memory:", number_of_user, NULL};
    peer started = {.process = start_child("user", arguments)};
    assert_true(read_all(started.process.from, &started.last, sizeof started.last));
    peer_run(&started, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s')", store);
    return started;
}

static int be_user(char **argv)
{
    unsigned user = (unsigned)strtoul(argv[3], NULL, 10);
    umask(0);
    if (user != 0 && (setgroups(0, NULL) != 0 || setgid(GROUP) != 0 || setuid(user) != 0)) {
        return 1;
    }
    return be_peer(argv);
}

static void insert_rows(peer *writer)
{
    for (int i = 0; i < ROWS; i++) {
        peer_run(writer, "INSERT INTO t VALUES('p', '%d', 1)", ++rows);
    }
    assert_peer_number(writer, rows, "SELECT sum(V) FROM t");
}

static bool has_log(void)
{
    char path[PATH_SIZE + FILE_NAME_SIZE];
    snprintf(path, sizeof path, "%s-log", store);
    return access(path, F_OK) == 0;
}

/* Opened by another one, the store has all rows, and takes more; closed, it has no log. */
static void expect_all(void)
{
    peer next = start_user(0);
    assert_peer_number(&next, rows, "SELECT sum(V) FROM t");
    insert_rows(&next);
    stop_peer(&next);
    assert_false(has_log());
    assert_int_equal(log_chain_of(store).log_id, 0);
}

/* --- Readers --- */

static void give_to_owner(const scene *all, mode_t folder, mode_t file, mode_t lock)
{
    char path[PATH_SIZE + FILE_NAME_SIZE];
    peer maker = start_user(0);
    insert_rows(&maker);
    stop_peer(&maker);
    snprintf(path, sizeof path, "%s-lock", store);
    assert_int_equal(chown(all->folder, OWNER, GROUP), 0);
    assert_int_equal(chown(store, OWNER, GROUP), 0);
    assert_int_equal(chown(path, OWNER, GROUP), 0);
    assert_int_equal(chmod(all->folder, folder), 0);
    assert_int_equal(chmod(store, file), 0);
    assert_int_equal(chmod(path, lock), 0);
}

/* While it is open: beside a writer, after that one was closed, and after it was killed. */
static void who_may_only_read_follows_the_writers(void **state)
{
    if (geteuid() != 0) {
        skip();
    }
    give_to_owner(*state, 0755, 0644, 0666);
    peer reader = start_user(MEMBER);
    assert_peer_number(&reader, rows, "SELECT sum(V) FROM t");
    for (int round = 0; round < 6; round++) {
        peer writer = start_user(OWNER);
        insert_rows(&writer);
        assert_true(has_log());
        assert_peer_number(&reader, rows, "SELECT sum(V) FROM t");
        if (round % 2 == 0) {
            kill_peer(&writer);
        } else {
            stop_peer(&writer);
        }
        assert_int_equal(has_log(), round % 2 == 0);
        assert_peer_number(&reader, rows, "SELECT sum(V) FROM t");
        peer_fails(&reader, SQLITE_READONLY, "INSERT INTO t VALUES('q', '1', 1)");
        peer another = start_user(MEMBER);
        assert_peer_number(&another, rows, "SELECT sum(V) FROM t");
        stop_peer(&another);
        assert_int_equal(has_log(), round % 2 == 0);
    }
    peer writer = start_user(OWNER);
    peer_run(&writer, "BEGIN; INSERT INTO t VALUES('q', '1', 1)");
    assert_peer_number(&reader, rows, "SELECT sum(V) FROM t");
    peer_run(&writer, "ROLLBACK");
    stop_peer(&writer);
    stop_peer(&reader);
    expect_all();
}

/* --- Users of a group --- */

static void expect_log_of(unsigned user)
{
    char path[PATH_SIZE + FILE_NAME_SIZE];
    static const char *const suffixes[] = {"-log", "-word"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        struct stat file;
        snprintf(path, sizeof path, "%s%s", store, suffixes[i]);
        assert_int_equal(stat(path, &file), 0);
        assert_int_equal(file.st_mode & 0777, 0660);
        assert_int_equal(file.st_uid, user);
        assert_int_equal(file.st_gid, GROUP);
    }
}

/* Whoever begins the log, the other goes on with it, ends it, and reads it if the first has died.
 */
static void users_of_a_group_share_a_log(void **state)
{
    if (geteuid() != 0) {
        skip();
    }
    static const unsigned users[] = {OWNER, MEMBER};
    unsigned made_by = 0;
    give_to_owner(*state, 0770, 0660, 0660);
    for (int i = 0; i < 4; i++) {
        peer first = start_user(users[i % 2]);
        made_by = has_log() ? made_by : users[i % 2];
        insert_rows(&first);
        expect_log_of(made_by);
        peer second = start_user(users[1 - i % 2]);
        assert_peer_number(&second, rows, "SELECT sum(V) FROM t");
        insert_rows(&second);
        assert_peer_number(&first, rows, "SELECT sum(V) FROM t");
        if (i < 2) {
            stop_peer(&first);
            insert_rows(&second);
            stop_peer(&second);
            assert_false(has_log());
        } else {
            kill_peer(&first);
            insert_rows(&second);
            kill_peer(&second);
            assert_true(has_log());
        }
    }
    expect_all();
}

/* Without the right to make and remove files in the folder: a log of the owner's is used; it is
 * left behind, and does no harm. Without one, commits go to LMDB's file. */
static void who_may_make_no_files_uses_a_log_that_is_there(void **state)
{
    if (geteuid() != 0) {
        skip();
    }
    give_to_owner(*state, 0755, 0660, 0660);
    peer member = start_user(MEMBER);
    insert_rows(&member);
    assert_false(has_log());
    peer owner = start_user(OWNER);
    insert_rows(&owner);
    expect_log_of(OWNER);
    insert_rows(&member);
    stop_peer(&owner);
    insert_rows(&member);
    stop_peer(&member);
    assert_true(has_log());
    assert_int_equal(log_chain_of(store).log_id, 0);
    member = start_user(MEMBER);
    insert_rows(&member);
    owner = start_user(OWNER);
    insert_rows(&owner);
    expect_log_of(OWNER);
    stop_peer(&member);
    stop_peer(&owner);
    expect_all();
}

/* --- Children --- */

/* fork_idle(): the number of a child process that inherits everything and does nothing. */
static void fork_idle(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count, (void)values;
    pid_t pid = fork();
    if (pid == 0) {
        close(STDIN_FILENO);
        close(STDOUT_FILENO);
        alarm(IDLE_SECONDS);
        pause();
        _exit(0);
    }
    sqlite3_result_int64(context, pid);
}

static int add_fork_idle(sqlite3 *db, char **message, const struct sqlite3_api_routines *api)
{
    (void)message, (void)api;
    return sqlite3_create_function(db, "fork_idle", 0, SQLITE_UTF8, NULL, fork_idle, NULL, NULL);
}

/* The child of one that has ended, or died, neither keeps others out nor stands for it. */
static void a_child_that_lives_on_is_in_nobodys_way(void **state)
{
    (void)state;
    peer first = start_user(0);
    insert_rows(&first);
    assert_true(has_log());
    peer_run(&first, "SELECT fork_idle()");
    pid_t of_ended = (pid_t)first.last.number;
    stop_peer(&first);
    assert_false(has_log());
    expect_all();
    peer second = start_user(0);
    insert_rows(&second);
    peer_run(&second, "SELECT fork_idle()");
    pid_t of_dead = (pid_t)second.last.number;
    kill_peer(&second);
    assert_true(has_log());
    expect_all();
    assert_int_equal(kill(of_ended, SIGKILL), 0);
    assert_int_equal(kill(of_dead, SIGKILL), 0);
    expect_all();
}

/* --- Programs that use LMDB alone --- */

/* Commits something that is not ptable's, in a process of its own. */
static int commit_with_lmdb(char *database)
{
    MDB_env *env = NULL;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val key = {.mv_size = 3, .mv_data = "own"};
    MDB_val value = {.mv_size = 5, .mv_data = "thing"};
    bool done = mdb_env_create(&env) == 0 && mdb_env_set_maxdbs(env, 16) == 0 &&
                mdb_env_open(env, database, MDB_NOSUBDIR, 0644) == 0 &&
                mdb_txn_begin(env, NULL, 0, &txn) == 0 &&
                mdb_dbi_open(txn, "of another program", MDB_CREATE, &dbi) == 0 &&
                mdb_put(txn, dbi, &key, &value, 0) == 0 && mdb_txn_commit(txn) == 0;
    mdb_env_close(env);
    return done ? 0 : 1;
}

static void let_lmdb_commit(void)
{
    const char *const arguments[] = {store, NULL};
    child program = start_child("lmdb", arguments);
    stop_child(&program);
}

/* Such a commit does not have what is in the log, and does not end it. */
static void a_commit_of_lmdb_alone_loses_nothing(void **state)
{
    (void)state;
    peer first = start_user(0);
    peer second = start_user(0);
    insert_rows(&first);
    let_lmdb_commit();
    assert_peer_number(&first, rows, "SELECT sum(V) FROM t");
    assert_peer_number(&second, rows, "SELECT sum(V) FROM t");
    insert_rows(&second);
    let_lmdb_commit();
    insert_rows(&first);
    assert_peer_number(&second, rows, "SELECT sum(V) FROM t");
    kill_peer(&first);
    kill_peer(&second);
    assert_true(has_log());
    let_lmdb_commit();
    expect_all();
    let_lmdb_commit();
    expect_all();
}

int main(int argc, char **argv)
{
    if (sqlite3_auto_extension((void (*)(void))add_fork_idle) != SQLITE_OK) {
        return 1;
    }
    if (argc == 4 && strcmp(argv[1], "user") == 0) {
        return be_user(argv);
    }
    if (argc == 3 && strcmp(argv[1], "lmdb") == 0) {
        return commit_with_lmdb(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        scene_test(who_may_only_read_follows_the_writers),
        scene_test(users_of_a_group_share_a_log),
        scene_test(who_may_make_no_files_uses_a_log_that_is_there),
        scene_test(a_child_that_lives_on_is_in_nobodys_way),
        scene_test(a_commit_of_lmdb_alone_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
