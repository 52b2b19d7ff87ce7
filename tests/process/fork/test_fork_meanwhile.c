/*
 * A process that forks while another of its threads opens, compacts or closes a store: at each of
 * some of the system calls of that. The child is refused what it inherited and may open the store
 * itself, and when its parent dies, it keeps nobody from the store.
 *
 * N: at how many calls of each, evenly spread.
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "faults/system_calls.h"
#include "fixtures/child.h"
#include "fixtures/store.h"

#define STORE "shared.ptable"
#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/" STORE "', sync='off')"

/* Who holds a lock that a fork must wait for cannot wait for the fork; at the first call of all
 * nobody does. */
enum {
    FORK_WAIT_MS = 10,
    FIRST_FORK_WAIT_MS = 60000,
    ROWS = 3,
    DEFAULT_FORKS = 10,
    NO_SUCH_CALL = 2
};

/* --- The parent, a process that is to die: one thread works, the other forks --- */

typedef struct parent {
    const char *folder;
    sqlite3 *db;       /* the working thread's */
    sqlite3 *other;    /* a second connection that the child inherits, or NULL */
    int (*deed)(void); /* the work */
    int at;            /* the call of the work at which it forks */
    atomic_int calls;  /* of the work, so far */
    int code;          /* of the work */
    sem_t is_there;
    sem_t has_forked;
    atomic_bool waits; /* the working thread, for the fork: it is inside of nothing */
    pthread_t thread;
} parent;

static parent self;
static __thread bool works;

static int open_store(void)
{
    return code_of(self.db, TABLE, self.folder);
}

static int compact_store(void)
{
    return code_of(self.db, "SELECT pt_compact('%s/" STORE "')", self.folder);
}

static int close_store(void)
{
    int code = sqlite3_close(self.db);
    self.db = NULL;
    return code;
}

static void wait_for_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    bool is_first = self.at == 0 && self.deed != close_store;
    int64_t ms = is_first ? FIRST_FORK_WAIT_MS : FORK_WAIT_MS;
    int64_t ns = until.tv_nsec + ms * 1000000;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    atomic_store(&self.waits, true);
    sem_post(&self.is_there);
    while (sem_timedwait(&self.has_forked, &until) != 0 && errno == EINTR) {
    }
    atomic_store(&self.waits, false);
}

/* Of compacting the many that only read and write content are all alike. */
static bool counts(const system_call *call)
{
    return self.deed != compact_store ||
           (call->kind != CALL_READ && call->kind != CALL_WRITE && call->kind != CALL_LOOK);
}

static system_call_verdict count_calls(const system_call *call)
{
    if (works && counts(call) && self.calls++ == self.at) {
        wait_for_fork();
    }
    return (system_call_verdict){0};
}

static void *work(void *nothing)
{
    works = true;
    self.code = self.deed();
    works = false;
    if (self.calls <= self.at) {
        sem_post(&self.is_there);
    }
    return nothing;
}

/* A failure in another process than cmocka's. */
static void expect_here(bool fulfilled, int line, sqlite3 *db)
{
    if (!fulfilled) {
        fprintf(stderr, "# line %d, at call %d: %s\n", line, self.at, sqlite3_errmsg(db));
        _exit(1);
    }
}

#define expects(condition, db) expect_here(condition, __LINE__, db)

/* --- The child, which outlives its parent --- */

enum { OWN_ROW = 'r', NO_OWN_ROW = 'n' };

static char use_own_store(void)
{
    sqlite3 *db = try_open(":memory:");
    int code = code_of(db, "PRAGMA busy_timeout = 60000; " TABLE, self.folder);
    if (code == SQLITE_OK) {
        code = code_of(db, "INSERT INTO t VALUES('child', '1', 1)");
    }
    expects(code == SQLITE_OK || code == SQLITE_BUSY, db);
    expects(sqlite3_close(db) == SQLITE_OK, NULL);
    return code == SQLITE_OK ? OWN_ROW : NO_OWN_ROW;
}

static void check_inherited(sqlite3 *db)
{
    expects(code_of(db, "SELECT * FROM t") == SQLITE_CANTOPEN, db);
    expects(strstr(sqlite3_errmsg(db), "opened before fork()") != NULL, db);
    expects(code_of(db, "SELECT pt_compact('%s/" STORE "')", self.folder) == SQLITE_CANTOPEN, db);
    expects(sqlite3_close(db) == SQLITE_OK, db);
}

/* SQLite may be used only if the other thread was not inside of it. */
static void be_child(const int to[2], const int from[2])
{
    char sign = NO_OWN_ROW;
    close(to[1]);
    close(from[0]);
    system_call_judge = NULL;
    if (atomic_load(&self.waits)) {
        if (self.other != NULL) {
            check_inherited(self.other);
        }
        sign = self.at % 2 == 0 ? use_own_store() : NO_OWN_ROW;
    }
    write_all(from[1], &sign, 1);
    read_all(to[0], &sign, 1); /* until the test lets go */
    _exit(0);
}

/* Dies in a transaction that writes, unless another process has the lock just now. */
static void die_writing(void)
{
    sqlite3 *db = self.db != NULL ? self.db : try_open(":memory:");
    int code = self.db != NULL ? self.code : code_of(db, TABLE, self.folder);
    expects(code == SQLITE_OK || code == SQLITE_BUSY, db);
    code = code_of(db,
                   "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32, store='%s/" STORE
                   "'); BEGIN; INSERT INTO t VALUES('parent', '1', 1)",
                   self.folder);
    expects(code == SQLITE_OK || code == SQLITE_BUSY, db);
}

static void be_parent(const int to[2], const int from[2])
{
    system_call_judge = count_calls;
    expects(sem_init(&self.is_there, 0, 0) == 0 && sem_init(&self.has_forked, 0, 0) == 0, NULL);
    expects(pthread_create(&self.thread, NULL, work, NULL) == 0, NULL);
    while (sem_wait(&self.is_there) != 0) {
    }
    pid_t pid = self.calls > self.at ? fork() : -1;
    if (pid == 0) {
        be_child(to, from);
    }
    sem_post(&self.has_forked);
    pthread_join(self.thread, NULL);
    if (pid < 0) {
        int calls = self.calls;
        write_all(from[1], &calls, sizeof calls);
        _exit(NO_SUCH_CALL);
    }
    die_writing();
    _exit(0);
}

/* --- The test --- */

typedef struct scene {
    void *folder;
    int to[2]; /* to the child, and back */
    int from[2];
    int forks;
    int rows_of_children;
} scene;

static void make_store(const char *folder)
{
    sqlite3 *db = open_database("", ":memory:");
    run(db, TABLE, folder);
    run(db,
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d) "
        "INSERT INTO t SELECT 'p', k, k FROM n",
        ROWS);
    close_database(db);
}

/* With the parent dead and the child alive. */
static void check_store(const scene *all, int64_t rows)
{
    sqlite3 *db = open_database("", ":memory:");
    run(db, TABLE, all->folder);
    run(db, "INSERT INTO t VALUES('later', '1', 1); DELETE FROM t WHERE PartitionKey = 'later'");
    assert_number(db, rows, "SELECT count(*) FROM t");
    run(db, "DELETE FROM t WHERE PartitionKey = 'child'");
    close_database(db);
}

static int begin_parent(scene *all, int (*deed)(void), bool has_other, int at)
{
    int status = -1;
    assert_int_equal(pipe2(all->to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(all->from, O_CLOEXEC), 0);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        self = (parent){.folder = all->folder, .deed = deed, .at = at};
        self.db = try_open(":memory:");
        self.other = has_other ? try_open(":memory:") : NULL;
        expects(deed == open_store || open_store() == SQLITE_OK, self.db);
        expects(!has_other || code_of(self.other, TABLE, self.folder) == SQLITE_OK, self.other);
        be_parent(all->to, all->from);
    }
    close(all->to[0]);
    close(all->from[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void let_child_go(const scene *all)
{
    close(all->to[1]);
    close(all->from[0]);
}

static int count_all_calls(scene *all, int (*deed)(void), bool has_other)
{
    int calls = 0;
    assert_int_equal(begin_parent(all, deed, has_other, INT_MAX), NO_SUCH_CALL);
    assert_true(read_all(all->from[0], &calls, sizeof calls));
    let_child_go(all);
    return calls;
}

static void fork_at(scene *all, int (*deed)(void), bool has_other, int at)
{
    char sign = NO_OWN_ROW;
    int end = begin_parent(all, deed, has_other, at);
    if (end == 0) {
        all->forks++;
        assert_true(read_all(all->from[0], &sign, 1));
        all->rows_of_children += sign == OWN_ROW;
        check_store(all, ROWS + (sign == OWN_ROW));
    } else {
        assert_int_equal(end, NO_SUCH_CALL);
    }
    let_child_go(all);
}

/* How many children wrote. */
static int fork_within(const char *name, int (*deed)(void), bool has_other)
{
    scene all = {0};
    int forks = (int)setting("N", DEFAULT_FORKS);
    assert_int_equal(make_folder(&all.folder), 0);
    make_store(all.folder);
    int calls = count_all_calls(&all, deed, has_other);
    for (int i = 0; i < forks; i++) {
        fork_at(&all, deed, has_other, (int)((int64_t)calls * i / forks));
    }
    print_message("# forked %d times within %d calls of %s, and %d children wrote\n", all.forks,
                  calls, name, all.rows_of_children);
    assert_true(all.forks > forks / 2);
    assert_int_equal(remove_folder(&all.folder), 0);
    return all.rows_of_children;
}

static void a_child_forked_while_a_store_is_compacted_harms_nobody(void **state)
{
    (void)state;
    assert_true(fork_within("compacting", compact_store, false) > 0);
    assert_true(fork_within("compacting beside a connection", compact_store, true) > 0);
}

static void a_child_forked_while_a_store_is_opened_harms_nobody(void **state)
{
    (void)state;
    assert_true(fork_within("opening", open_store, false) > 0);
}

static void a_child_forked_while_a_store_is_closed_harms_nobody(void **state)
{
    (void)state;
    fork_within("closing", close_store, false);
}

/* --- A fork that has begun --- */

static sem_t fork_has_begun;
static atomic_bool lets_open;

/* Called last before the fork: its handler was the first to be registered. */
static void let_other_open(void)
{
    if (atomic_load(&lets_open)) {
        sem_post(&fork_has_begun);
        self.at = INT_MAX;
        wait_for_fork();
    }
}

static void *open_in_fork(void *nothing)
{
    while (sem_wait(&fork_has_begun) != 0) {
    }
    self.code = open_store();
    return nothing;
}

static void fork_while_opening_begins(const int to[2], const int from[2])
{
    expects(sem_init(&self.is_there, 0, 0) == 0 && sem_init(&self.has_forked, 0, 0) == 0, NULL);
    expects(sem_init(&fork_has_begun, 0, 0) == 0, NULL);
    expects(pthread_create(&self.thread, NULL, open_in_fork, NULL) == 0, NULL);
    atomic_store(&lets_open, true);
    pid_t pid = fork();
    expects(pid >= 0, NULL);
    if (pid == 0) {
        be_child(to, from);
    }
    atomic_store(&lets_open, false);
    pthread_join(self.thread, NULL);
    die_writing();
    _exit(0);
}

static void a_store_opened_while_a_fork_has_begun_is_in_no_child(void **state)
{
    scene all = {0};
    int status = -1;
    (void)state;
    assert_int_equal(make_folder(&all.folder), 0);
    make_store(all.folder);
    assert_int_equal(pipe2(all.to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(all.from, O_CLOEXEC), 0);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        self = (parent){.folder = all.folder, .deed = open_store};
        self.db = try_open(":memory:");
        fork_while_opening_begins(all.to, all.from);
    }
    close(all.to[0]);
    close(all.from[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    check_store(&all, ROWS);
    let_child_go(&all);
    assert_int_equal(remove_folder(&all.folder), 0);
}

/* --- A program that forks all the time --- */

static atomic_bool is_over;

static void *fork_again_and_again(void *nothing)
{
    int forks = 0;
    while (!atomic_load(&is_over)) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(0);
        }
        forks++;
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
    while (waitpid(-1, NULL, 0) > 0) {
    }
    print_message("# %d forks while stores were made\n", forks);
    return nothing;
}

static void who_forks_all_the_time_makes_stores(void **state)
{
    void *folder;
    pthread_t forking;
    int stores = (int)setting("N", DEFAULT_FORKS);
    (void)state;
    assert_int_equal(make_folder(&folder), 0);
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&forking, NULL, fork_again_and_again, NULL), 0);
    int made = 0;
    for (int i = 0; i < stores; i++) {
        sqlite3 *db = try_open(":memory:");
        made += code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s/%d', sync='off')",
                        (const char *)folder, i) == SQLITE_OK;
        sqlite3_close(db);
    }
    atomic_store(&is_over, true);
    pthread_join(forking, NULL);
    assert_int_equal(made, stores);
    assert_int_equal(remove_folder(&folder), 0);
}

int main(void)
{
    if (pthread_atfork(let_other_open, NULL, NULL) != 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_forked_while_a_store_is_compacted_harms_nobody),
        cmocka_unit_test(a_child_forked_while_a_store_is_opened_harms_nobody),
        cmocka_unit_test(a_child_forked_while_a_store_is_closed_harms_nobody),
        cmocka_unit_test(a_store_opened_while_a_fork_has_begun_is_in_no_child),
        cmocka_unit_test(who_forks_all_the_time_makes_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
