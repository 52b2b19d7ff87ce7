/*
 * A process that forks while it has a store open: the child may not use what it inherited, does no
 * harm by having it, and may open the store itself. The main databases are in memory, for SQLite
 * has rules of its own about forks.
 */
#include "fixtures/scene.h"
#include "fixtures/store.h"

#define STORE "shared.ptable"

static sqlite3 *open_with_table(const char *folder)
{
    sqlite3 *db = try_open(":memory:");
    code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/" STORE "', sync='off')",
            folder);
    return db;
}

static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    all->db = open_with_table(all->folder);
    run(all->db, "INSERT INTO t VALUES('p', 'a', 1), ('p', 'b', 2), ('p', 'c', 3)");
    return 0;
}

/* --- The child --- */

/* In the child cmocka's assertions would go on with the parent's tests. */
static void expect_in_child(bool fulfilled, int line)
{
    if (!fulfilled) {
        fprintf(stderr, "# child: line %d\n", line);
        _exit(1);
    }
}

#define child_expects(condition) expect_in_child(condition, __LINE__)

/* Forks; the child does its work at once, says so, and lives until the parent lets it go. */
static child fork_child(void (*work)(scene *all), scene *all)
{
    int to[2];
    int from[2];
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        char nothing = 0;
        close(to[1]);
        work(all);
        child_expects(write_all(from[1], &nothing, 1));
        read_all(to[0], &nothing, 1);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    const child forked = {.pid = pid, .to = to[1], .from = from[0]};
    char nothing;
    assert_true(read_all(forked.from, &nothing, 1));
    return forked;
}

/* The inherited connection refuses with a text that says why. */
static bool is_refused(sqlite3 *db, const char *sql)
{
    return code_of(db, "%s", sql) == SQLITE_CANTOPEN &&
           strstr(sqlite3_errmsg(db), "opened before fork()") != NULL &&
           strstr(sqlite3_errmsg(db), "new connection") != NULL;
}

static void use_inherited(scene *all)
{
    child_expects(is_refused(all->db, "SELECT * FROM t"));
    child_expects(is_refused(all->db, "SELECT * FROM t WHERE PartitionKey = 'p'"));
    child_expects(is_refused(all->db, "INSERT INTO t VALUES('p', 'd', 4)"));
    child_expects(is_refused(all->db, "UPDATE t SET V = 9"));
    child_expects(is_refused(all->db, "DELETE FROM t"));
    child_expects(is_refused(all->db, "BEGIN; SELECT * FROM t"));
    child_expects(code_of(all->db, "ROLLBACK") == SQLITE_OK);
}

static void use_and_close_inherited(scene *all)
{
    use_inherited(all);
    child_expects(sqlite3_close(all->db) == SQLITE_OK);
}

static void use_own(scene *all)
{
    sqlite3 *db = open_with_table(all->folder);
    child_expects(code_of(db, "PRAGMA busy_timeout = 0") == SQLITE_OK);
    child_expects(first_number(db, "SELECT sum(V) FROM t", -1) == 6);
    child_expects(code_of(db, "INSERT INTO t VALUES('p', 'd', 4)") == SQLITE_OK);
    child_expects(first_number(db, "SELECT sum(V) FROM t", -1) == 10);
    child_expects(sqlite3_close(db) == SQLITE_OK);
}

static void use_inherited_and_own(scene *all)
{
    use_inherited(all);
    use_own(all);
    use_inherited(all);
}

/* --- The parent --- */

/* A younger child has a copy of the pipe, so that its end would not be noticed. */
static void let_go(child *forked)
{
    const char go = 1;
    assert_true(write_all(forked->to, &go, 1));
    int status = end_of_child(forked);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void check_parent(scene *all, int expected)
{
    assert_number(all->db, expected, "SELECT sum(V) FROM t");
    run(all->db, "BEGIN; INSERT INTO t VALUES('q', 'a', 100)");
    assert_number(all->db, expected + 100, "SELECT sum(V) FROM t");
    run(all->db, "ROLLBACK; UPDATE t SET V = V");
    sqlite3 *second = open_with_table(all->folder);
    assert_number(second, expected, "SELECT sum(V) FROM t");
    close_database(second);
}

static void a_child_is_refused_what_it_inherited(void **state)
{
    scene *all = *state;
    child forked = fork_child(use_inherited, all);
    check_parent(all, 6);
    let_go(&forked);
    check_parent(all, 6);
}

static void a_child_may_close_what_it_inherited(void **state)
{
    scene *all = *state;
    child forked = fork_child(use_and_close_inherited, all);
    check_parent(all, 6);
    let_go(&forked);
    check_parent(all, 6);
}

static void a_child_may_open_the_store_itself(void **state)
{
    scene *all = *state;
    child forked = fork_child(use_inherited_and_own, all);
    check_parent(all, 10);
    let_go(&forked);
    check_parent(all, 10);
    assert_store(all->folder, STORE, 1, 4);
}

/* While the parent writes: its lock holds, and what it has not committed is not seen. */
static void be_busy(scene *all)
{
    sqlite3 *db = open_with_table(all->folder);
    child_expects(code_of(db, "INSERT INTO t VALUES('p', 'e', 5)") == SQLITE_BUSY);
    child_expects(first_number(db, "SELECT sum(V) FROM t", -1) == 6);
    child_expects(sqlite3_close(db) == SQLITE_OK);
}

static void do_nothing(scene *all)
{
    (void)all;
}

/* The lock is the parent's: it ends with its transaction, not with a child or a copy. */
static void a_transaction_stays_the_parents(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'x', 10)");
    child first = fork_child(do_nothing, all);
    child second = fork_child(do_nothing, all);
    let_go(&first);
    assert_number(all->db, 16, "SELECT sum(V) FROM t");
    run(all->db, "COMMIT"); /* the second child still lives */
    check_parent(all, 16);
    let_go(&second);
    check_parent(all, 16);
}

static void rollback_in_child(scene *all)
{
    code_of(all->db, "ROLLBACK");
    use_inherited(all);
    be_busy(all);
}

static void commit_in_child(scene *all)
{
    child_expects(code_of(all->db, "COMMIT") == SQLITE_CANTOPEN);
    child_expects(sqlite3_close(all->db) == SQLITE_OK);
    be_busy(all);
}

static void a_child_cannot_end_the_parents_transaction(void **state)
{
    scene *all = *state;
    run(all->db, "BEGIN; INSERT INTO t VALUES('p', 'x', 10)");
    child first = fork_child(rollback_in_child, all);
    child second = fork_child(commit_in_child, all);
    run(all->db, "INSERT INTO t VALUES('p', 'y', 10); COMMIT");
    let_go(&first);
    let_go(&second);
    check_parent(all, 26);
}

/* --- Statements and cursors --- */

static sqlite3_stmt *walk;

static void step_inherited(scene *all)
{
    child_expects(sqlite3_step(walk) == SQLITE_CANTOPEN);
    child_expects(strstr(sqlite3_errmsg(all->db), "opened before fork()") != NULL);
    sqlite3_finalize(walk);
    child_expects(sqlite3_close(all->db) == SQLITE_OK);
}

static void a_walk_goes_on_in_the_parent_only(void **state)
{
    scene *all = *state;
    walk = step_into(all->db, "SELECT V FROM t");
    child forked = fork_child(step_inherited, all);
    assert_int_equal(sqlite3_step(walk), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(walk, 0), 2);
    let_go(&forked);
    expect_rest(walk, 1);
    check_parent(all, 6);
}

/* --- Indexes --- */

static sqlite3_stmt *entries_walk;

static void use_indexes(scene *all)
{
    child_expects(sqlite3_step(walk) == SQLITE_CANTOPEN);
    child_expects(sqlite3_step(entries_walk) == SQLITE_CANTOPEN);
    child_expects(is_refused(all->db, "SELECT W FROM i WHERE V = 1"));
    child_expects(is_refused(all->db, "INSERT INTO i VALUES('p', 'd', 4, 4)"));
    child_expects(is_refused(all->db, "DELETE FROM pt_indexes"));
    sqlite3_finalize(walk);
    sqlite3_finalize(entries_walk);
    sqlite3 *db = open_with_table(all->folder);
    child_expects(code_of(db,
                          "CREATE VIRTUAL TABLE i USING ptable(V Int32, W Int32, index(V), "
                          "store='%s/" STORE "', sync='off')",
                          all->folder) == SQLITE_OK);
    child_expects(first_number(db, "SELECT W FROM i WHERE V = 2", -1) == 20);
    child_expects(code_of(db, "UPDATE i SET V = 7 WHERE V = 2") == SQLITE_OK);
    child_expects(first_number(db, "SELECT W FROM i WHERE V = 7", -1) == 20);
    child_expects(sqlite3_close(db) == SQLITE_OK);
}

static void an_index_is_used_on_both_sides_of_a_fork(void **state)
{
    scene *all = *state;
    run(all->db,
        "CREATE VIRTUAL TABLE i USING ptable(V Int32, W Int32, index(V), store='%s/" STORE
        "', sync='off'); INSERT INTO i VALUES('p', 'a', 3, 30), ('p', 'b', 2, 20), ('p', 'c', 1, "
        "10)",
        all->folder);
    walk = step_into(all->db, "SELECT W FROM i WHERE V > 0 ORDER BY V");
    entries_walk = step_into(all->db, "SELECT V FROM i WHERE V > 0 ORDER BY V DESC");
    child forked = fork_child(use_indexes, all);
    assert_int_equal(sqlite3_step(walk), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(walk, 0), 20);
    let_go(&forked);
    expect_rest(walk, 1);
    expect_rest(entries_walk, 2);
    assert_number(all->db, 10, "SELECT W FROM i WHERE V = 1");
    assert_number(all->db, 20, "SELECT W FROM i WHERE V = 7");
    run(all->db, "INSERT INTO i VALUES('p', 'd', 2, 40)");
    assert_number(all->db, 40, "SELECT W FROM i WHERE V = 2");
    assert_number(all->db, 1, "SELECT pt_check('%s/" STORE "') = 'ok'", all->folder);
}

static void use_private(scene *all)
{
    child_expects(is_refused(all->db, "SELECT * FROM m"));
    child_expects(is_refused(all->db, "INSERT INTO m VALUES('p', 'b', 2)"));
}

static void a_private_store_is_the_parents_too(void **state)
{
    scene *all = *state;
    run(all->db, "CREATE VIRTUAL TABLE m USING ptable(V); INSERT INTO m VALUES('p', 'a', 1)");
    child forked = fork_child(use_private, all);
    let_go(&forked);
    run(all->db, "INSERT INTO m VALUES('p', 'b', 2)");
    assert_number(all->db, 2, "SELECT count(*) FROM m");
}

/* A grandchild inherits from both. */
static void fork_again(scene *all)
{
    scene own = *all;
    own.db = open_with_table(all->folder);
    child_expects(code_of(own.db, "BEGIN; INSERT INTO t VALUES('p', 'd', 4)") == SQLITE_OK);
    pid_t pid = fork_process();
    if (pid == 0) {
        child_expects(code_of(own.db, "COMMIT") == SQLITE_CANTOPEN);
        use_inherited(all);
        be_busy(all);
        _exit(0);
    }
    int status = -1;
    child_expects(waitpid(pid, &status, 0) == pid && status == 0);
    child_expects(code_of(own.db, "COMMIT") == SQLITE_OK);
    child_expects(sqlite3_close(own.db) == SQLITE_OK);
}

static void a_child_may_fork_again(void **state)
{
    scene *all = *state;
    child forked = fork_child(fork_again, all);
    check_parent(all, 10);
    let_go(&forked);
}

/* --- Files that were opened as stores and were none --- */

static void write_file(const char *path, const char *content, size_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    child_expects(fd >= 0 && write(fd, content, size) == (ssize_t)size && close(fd) == 0);
}

/* Writes over the store, tries to open it and restores it, in the same file; then forks. The child
 * lives on when this process has died in a transaction. */
static void die_after_restoring(const char *folder, int from_child)
{
    static char content[1 << 20];
    char path[256];
    snprintf(path, sizeof path, "%s/" STORE, folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(fd, content, sizeof content);
    child_expects(size > 0 && close(fd) == 0);
    sqlite3 *db = open_with_table(folder);
    child_expects(sqlite3_close(db) == SQLITE_OK);
    write_file(path, "", 0);
    db = try_open(":memory:");
    child_expects(code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s')", path) ==
                  SQLITE_CANTOPEN);
    write_file(path, content, (size_t)size);
    pid_t pid = fork();
    child_expects(pid >= 0);
    if (pid == 0) {
        char nothing;
        read_all(from_child, &nothing, 1); /* until the test lets go */
        _exit(0);
    }
    child_expects(code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s')", path) ==
                  SQLITE_OK);
    child_expects(code_of(db, "BEGIN; INSERT INTO t VALUES('p', 'x', 10)") == SQLITE_OK);
    _exit(0);
}

static void a_child_has_no_descriptor_of_what_was_no_store(void **state)
{
    scene *all = *state;
    int to[2];
    int status = -1;
    close_database(all->db);
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(to[1]);
        die_after_restoring(all->folder, to[0]);
    }
    close(to[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    all->db = open_with_table(all->folder);
    run(all->db, "PRAGMA busy_timeout = 0; INSERT INTO t VALUES('p', 'y', 100)");
    assert_number(all->db, 106, "SELECT sum(V) FROM t");
    close(to[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        scene_test(a_child_is_refused_what_it_inherited),
        scene_test(a_child_may_close_what_it_inherited),
        scene_test(a_child_may_open_the_store_itself),
        scene_test(a_transaction_stays_the_parents),
        scene_test(a_child_cannot_end_the_parents_transaction),
        scene_test(a_walk_goes_on_in_the_parent_only),
        scene_test(an_index_is_used_on_both_sides_of_a_fork),
        scene_test(a_private_store_is_the_parents_too),
        scene_test(a_child_may_fork_again),
        scene_test(a_child_has_no_descriptor_of_what_was_no_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
