/*
 * Several processes write to one store, each everything that there is to write, and others read;
 * some are killed at random moments and begin again. The others go on at once; whatever a writer
 * was told is committed is there, and of what it was writing all or nothing. The file does not grow
 * for readers that are dead.
 *
 * N: how many processes are killed; SEED.
 */
#include <stdatomic.h>
#include <sys/mman.h>

#include "faults/killing.h"
#include "fixtures/anatomy.h"
#include "fixtures/files.h"
#include "fixtures/folder.h"

enum {
    DEFAULT_KILLS = 60,
    WRITERS = 3,
    READERS = 2,
    CREW = WRITERS + READERS,
    COMMITS_BETWEEN = 6,       /* two kills, at most */
    LONGEST_DELAY_NS = 400000, /* from a commit to a kill */
    KILLS_BETWEEN_CHECKS = 12,
    KEPT = 6, /* rows of a partition */
    UPDATED = 4,
    SLOTS = 3,
    DROPS = 4,
    PATIENCE_S = 30,
};

#define STORE "shared.ptable"

/* --- What the processes share --- */

typedef struct ledger {
    _Atomic int64_t begun[WRITERS]; /* number of the last transaction that was begun */
    _Atomic int64_t acknowledged[WRITERS];
    _Atomic int64_t reads;
    _Atomic bool blamed; /* by the first one, which writes the text */
    _Atomic bool failed; /* the text is there */
    char text[400];
} ledger;

static ledger *ours;

static int blame(const char *what, const char *more)
{
    if (!atomic_exchange(&ours->blamed, true)) {
        snprintf(ours->text, sizeof ours->text, "%s: %s", what, more);
        ours->failed = true;
    }
    return 1;
}

/* --- What a writer does --- */

#define TABLES                                                                                     \
    "PRAGMA busy_timeout = 60000;"                                                                 \
    "CREATE VIRTUAL TABLE temp.t USING ptable(V Int64, sync='off', store='%s/" STORE "');"         \
    "CREATE VIRTUAL TABLE temp.l USING ptable(S String, N Int64, sync='off',"                      \
    " store='%s/" STORE "');"                                                                      \
    "CREATE VIRTUAL TABLE temp.done USING ptable(sync='off', store='%s/" STORE "');"               \
    "CREATE VIRTUAL TABLE temp.jobs USING pt_queue(sync='off', store='%s/" STORE "');"

#define TABLE_D                                                                                    \
    "CREATE VIRTUAL TABLE temp.d%d USING ptable(V Int64, sync='off', store='%s/" STORE "');"

static int declare(sqlite3 *db, const char *folder)
{
    int code = code_of(db, TABLES, folder, folder, folder, folder);
    for (int writer = 0; code == SQLITE_OK && writer < WRITERS; writer++) {
        code = code_of(db, TABLE_D, writer, folder);
    }
    return code;
}

/* Format: the writer, the number. `w` and `n` in the texts stand for them. */
static const char rows_of_transaction[] =
    "DELETE FROM now; INSERT INTO now VALUES('%d', %lld); BEGIN; INSERT INTO o SELECT n FROM now;"
    "INSERT INTO t SELECT p || w, printf('%%06d', n), n FROM now, (SELECT 'w' AS p UNION SELECT "
    "'x');"
    "UPDATE t SET V = (SELECT n FROM now) WHERE PartitionKey = (SELECT 'w' || w FROM now)"
    " AND RowKey > (SELECT printf('%%06d', n - 4) FROM now);"
    "DELETE FROM t WHERE PartitionKey IN (SELECT 'w' || w FROM now UNION SELECT 'x' || w FROM now)"
    " AND RowKey <= (SELECT printf('%%06d', n - 6) FROM now);"
    "SAVEPOINT a; INSERT INTO t SELECT 'undone', w || n, 1 FROM now;"
    "DELETE FROM l WHERE PartitionKey = (SELECT w FROM now); ROLLBACK TO a; RELEASE a;"
    "INSERT OR REPLACE INTO l SELECT w, n %% 3, printf('%%.*c', 1000 + n * 7919 %% 20000, 'x'), n"
    " FROM now;"
    "INSERT INTO jobs(Body) SELECT w || '-' || n FROM now;"
    "DELETE FROM got; INSERT INTO got SELECT MessageId, PopReceipt, Body"
    " FROM pt_queue_get('jobs', 1, 3600);"
    "DELETE FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT id, receipt FROM got);"
    "INSERT INTO done(PartitionKey, RowKey) SELECT 'done', body FROM got;";

static int transact(sqlite3 *db, const char *folder, int writer, int64_t number)
{
    int code = code_of(db, rows_of_transaction, writer, number);
    if (code == SQLITE_OK && number % DROPS == 0) {
        code = code_of(db,
                       "DELETE FROM pt_tables WHERE Store = '%s/" STORE "' AND TableName = 'd%d';"
                       "INSERT INTO pt_tables(Store, TableName) VALUES('%s/" STORE "', 'd%d')",
                       folder, writer, folder, writer);
    }
    if (code == SQLITE_OK) {
        code = code_of(db, "INSERT INTO d%d VALUES('d', %lld, %lld)", writer, number, number);
    }
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

static int64_t last_of(sqlite3 *db, int writer)
{
    char sql[100];
    snprintf(sql, sizeof sql, "SELECT coalesce(max(V), 0) FROM t WHERE PartitionKey = 'w%d'",
             writer);
    return first_number(db, sql, -1);
}

static sqlite3 *open_own(const char *folder, int writer)
{
    char name[20];
    char path[PATH_SIZE];
    snprintf(name, sizeof name, "%d.db", writer);
    path_in(folder, name, path);
    sqlite3 *db = try_open(path);
    bool good = db != NULL &&
                code_of(db,
                        "PRAGMA journal_mode = %s; CREATE TABLE IF NOT EXISTS o(n INTEGER PRIMARY "
                        "KEY); CREATE TEMP TABLE now(w, n); CREATE TEMP TABLE got(id, receipt, "
                        "body)",
                        writer % 2 == 0 ? "wal" : "delete") == SQLITE_OK &&
                declare(db, folder) == SQLITE_OK;
    if (!good) {
        blame("opening", sqlite3_errmsg(db));
    }
    return good ? db : NULL;
}

/* Begins where the last one was killed. */
static int write_on(const char *folder, int writer)
{
    sqlite3 *db = open_own(folder, writer);
    if (db == NULL) {
        return 1;
    }
    int64_t last = last_of(db, writer);
    if (last < ours->acknowledged[writer] || last > ours->begun[writer]) {
        return blame("beginning again", sqlite3_errmsg(db));
    }
    if (code_of(db, "INSERT OR IGNORE INTO o SELECT %lld WHERE %lld > 0", last, last) !=
        SQLITE_OK) {
        return blame("main database", sqlite3_errmsg(db));
    }
    ours->acknowledged[writer] = last;
    for (int64_t number = last + 1;; number++) {
        ours->begun[writer] = number;
        if (transact(db, folder, writer, number) != SQLITE_OK) {
            return blame("writing", sqlite3_errmsg(db));
        }
        ours->acknowledged[writer] = number;
    }
}

/* --- What a reader does --- */

static int read_on(const char *folder)
{
    static const char *const numbers[] = {
        "SELECT sum(V - CAST(RowKey AS INT)) FROM t WHERE PartitionKey GLOB 'x*'",
        "SELECT sum(iif(PartitionKey GLOB 'w*', 1, -1)) FROM t",
        "SELECT (SELECT max(V) FROM t) - (SELECT max(N) FROM l)"};
    sqlite3 *db = try_open(":memory:");
    if (db == NULL || declare(db, folder) != SQLITE_OK) {
        return blame("reader", sqlite3_errmsg(db));
    }
    for (;;) {
        if (code_of(db, "BEGIN") != SQLITE_OK) {
            return blame("reader", sqlite3_errmsg(db));
        }
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            if (first_number(db, numbers[i], -1) != 0) {
                return blame(numbers[i], sqlite3_errmsg(db));
            }
        }
        if (code_of(db, "COMMIT") != SQLITE_OK) {
            return blame("reader", sqlite3_errmsg(db));
        }
        ours->reads++;
    }
}

/* --- What is there --- */

/* Queries that give 1, of the writer ?1 that has come to the transaction ?2. */
static const char *const checks[] = {
    "SELECT count(*) = min(?2, 6) AND count(*) = coalesce(sum(V = min(?2, CAST(RowKey AS INT) + 3)"
    " AND CAST(RowKey AS INT) BETWEEN ?2 - 5 AND ?2), 0) FROM t WHERE PartitionKey = 'w' || ?1",
    "SELECT count(*) = min(?2, 6) AND count(*) = coalesce(sum(V = CAST(RowKey AS INT)"
    " AND V BETWEEN ?2 - 5 AND ?2), 0) FROM t WHERE PartitionKey = 'x' || ?1",
    "SELECT count(*) = min(?2, 3) AND count(*) = coalesce(sum(N > ?2 - 3 AND N <= ?2 AND"
    " CAST(RowKey AS INT) = N % 3 AND length(S) = 1000 + N * 7919 % 20000), 0) FROM l"
    " WHERE PartitionKey = CAST(?1 AS TEXT)",
    "SELECT count(*) = 0 FROM t WHERE PartitionKey = 'undone'",
    "WITH b(body) AS (SELECT Body FROM jobs UNION ALL SELECT RowKey FROM done)"
    " SELECT count(*) = ?2 AND count(DISTINCT body) = ?2 AND"
    " coalesce(max(CAST(substr(body, 3) AS INT)), 0) = ?2 FROM b WHERE body GLOB ?1 || '-*'",
};

static int64_t answer(sqlite3 *db, const char *sql, int writer, int64_t number)
{
    sqlite3_stmt *query = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK) {
        sqlite3_bind_int(query, 1, writer);
        sqlite3_bind_int64(query, 2, number);
        value = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int64(query, 0) : -1;
    }
    return sqlite3_finalize(query) == SQLITE_OK ? value : -1;
}

/* The table that is dropped now and then holds what came since. */
static bool check_dropped(sqlite3 *db, int writer, int64_t last)
{
    char sql[160];
    int64_t first = last - last % DROPS > 1 ? last - last % DROPS : 1;
    snprintf(sql, sizeof sql,
             "SELECT count(*) = %lld AND count(*) = coalesce(sum(V = CAST(RowKey AS INT) AND V >= "
             "%lld), 0) FROM d%d",
             (long long)(last == 0 ? 0 : last - first + 1), (long long)first, writer);
    return answer(db, sql, writer, last) == 1;
}

static int check_writer(sqlite3 *db, int writer)
{
    int64_t last = last_of(db, writer);
    char more[300];
    snprintf(more, sizeof more, "writer %d: %lld, acknowledged %lld, begun %lld", writer,
             (long long)last, (long long)ours->acknowledged[writer],
             (long long)ours->begun[writer]);
    if (last < ours->acknowledged[writer] || last > ours->begun[writer]) {
        return blame("lost or made up", more);
    }
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (answer(db, checks[i], writer, last) != 1) {
            return blame(checks[i], sqlite3_errcode(db) > SQLITE_ROW ? sqlite3_errmsg(db) : more);
        }
    }
    if (!check_dropped(db, writer, last)) {
        return blame("dropped table", more);
    }
    return 0;
}

/* The main database commits after the store, so it may miss what was not acknowledged. */
static int check_main(const char *folder, int writer)
{
    sqlite3 *db = open_own(folder, writer);
    if (db == NULL) {
        return 1;
    }
    int64_t in_main = first_number(db, "SELECT coalesce(max(n), 0) FROM o", -1);
    int64_t rows = first_number(db, "SELECT count(*) FROM o", -1);
    int64_t last = last_of(db, writer);
    sqlite3_close(db);
    return in_main >= ours->acknowledged[writer] && in_main <= last && in_main >= last - 1 &&
                   rows == in_main
               ? 0
               : blame("main database", "it has other transactions than the store");
}

static int look(const char *folder)
{
    sqlite3 *db = try_open(":memory:");
    if (db == NULL || declare(db, folder) != SQLITE_OK) {
        return blame("looking", sqlite3_errmsg(db));
    }
    int failed = 0;
    for (int writer = 0; failed == 0 && writer < WRITERS; writer++) {
        failed = check_writer(db, writer);
        failed = failed == 0 ? check_main(folder, writer) : failed;
    }
    sqlite3_close(db);
    return failed;
}

/* --- The test --- */

static pid_t start(const char *folder, int member)
{
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        die_of_signals();
        _exit(member < 0         ? look(folder)
              : member < WRITERS ? write_on(folder, member)
                                 : read_on(folder));
    }
    return pid;
}

static void check_no_failure(void)
{
    if (ours->failed) {
        fail_msg("%s", ours->text);
    }
}

static void end_by_kill(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    check_no_failure();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static int64_t all_acknowledged(void)
{
    int64_t sum = 0;
    for (int writer = 0; writer < WRITERS; writer++) {
        sum += ours->acknowledged[writer];
    }
    return sum;
}

/* Lets some more commits be made, which must not take long whoever was killed. */
static void wait_for_commits(int64_t commits, int64_t *longest_ns)
{
    int64_t begin = now_ns();
    int64_t wanted = all_acknowledged() + commits;
    while (all_acknowledged() < wanted) {
        check_no_failure();
        if (now_ns() - begin > (int64_t)PATIENCE_S * NS_PER_SECOND) {
            fail_msg("no commit for %d s: a lock was left behind", PATIENCE_S);
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    int64_t waited = now_ns() - begin;
    *longest_ns = waited > *longest_ns ? waited : *longest_ns;
    nanosleep(&(struct timespec){.tv_nsec = random_below(LONGEST_DELAY_NS)}, NULL);
}

static void check_all(const char *folder)
{
    int status;
    pid_t looks = start(folder, -1);
    assert_int_equal(waitpid(looks, &status, 0), looks);
    check_no_failure();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    anatomy_of(folder, STORE);
}

static void begin_store(const char *folder)
{
    sqlite3 *db = open_database(folder, "begin.db");
    assert_int_equal(declare(db, folder), SQLITE_OK);
    close_database(db);
}

static void killed_under_load(void **state)
{
    (void)state;
    int64_t kills = setting("N", DEFAULT_KILLS);
    int64_t longest = 0;
    pid_t crew[CREW];
    void *folder = new_folder();
    seed = (uint32_t)setting("SEED", 1);
    printf("# seed %u\n", seed);
    begin_store(folder);
    int64_t begin = now_ns();
    int64_t done = 0;
    while (done < kills) {
        for (int i = 0; i < CREW; i++) {
            crew[i] = start(folder, i);
        }
        for (int i = 0; i < KILLS_BETWEEN_CHECKS && done + CREW < kills; i++, done++) {
            uint32_t victim = random_below(CREW);
            wait_for_commits(random_below(COMMITS_BETWEEN), &longest);
            end_by_kill(crew[victim]);
            crew[victim] = start(folder, (int)victim);
        }
        wait_for_commits(1, &longest);
        for (int i = 0; i < CREW; i++, done++) {
            end_by_kill(crew[i]);
        }
        check_all(folder);
    }
    int64_t ns = now_ns() - begin;
    printf(
        "# %lld processes killed, %lld commits acknowledged (%lld a second), %lld reading "
        "transactions; the longest wait for commits after a kill: %lld ms; the store: %lld KiB\n",
        (long long)done, (long long)all_acknowledged(),
        (long long)(all_acknowledged() * 1000 / (ns / 1000000 + 1)), (long long)ours->reads,
        (long long)longest / 1000000, (long long)size_of(folder, STORE) / 1024);
    remove_folder(&folder);
}

/* --- Dead readers --- */

enum { REWRITES = 1500, REWRITES_A_READER = 100, LIMIT_KIB = 12000 };

/* A process that dies while it reads. */
static void leave_dead_reader(const char *folder)
{
    child reader = start_child("reader", (const char *const[]){folder, NULL});
    char sign;
    assert_true(read_all(reader.from, &sign, 1));
    kill_child(&reader);
}

static int be_reader(const char *folder)
{
    sqlite3 *db = try_open(":memory:");
    if (db == NULL || declare(db, folder) != SQLITE_OK ||
        code_of(db, "BEGIN; SELECT count(*) FROM t") != SQLITE_OK) {
        return 1;
    }
    write_all(STDOUT_FILENO, "r", 1);
    return read_all(STDIN_FILENO, (char[1]){0}, 1) ? 0 : 1;
}

static void dead_readers_do_not_make_the_file_grow(void **state)
{
    (void)state;
    void *folder = new_folder();
    begin_store(folder);
    sqlite3 *db = open_database("", ":memory:");
    assert_int_equal(declare(db, folder), SQLITE_OK);
    for (int i = 0; i < REWRITES; i++) {
        if (i % REWRITES_A_READER == 0) {
            leave_dead_reader(folder);
        }
        run(db, "INSERT OR REPLACE INTO t VALUES('p', '%d', %d)", i % 100, i);
    }
    close_database(db);
    int64_t size = size_of(folder, STORE) / 1024;
    printf("# %d commits beside %d readers that died one after the other: %lld KiB\n", REWRITES,
           REWRITES / REWRITES_A_READER, (long long)size);
    assert_true(size < LIMIT_KIB);
    remove_folder(&folder);
}

static int share_ledger(void **state)
{
    (void)state;
    ours = mmap(NULL, sizeof *ours, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return ours != MAP_FAILED ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "reader") == 0) {
        return be_reader(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_under_load),
        cmocka_unit_test(dead_readers_do_not_make_the_file_grow),
    };
    return cmocka_run_group_tests(tests, share_ledger, NULL);
}
