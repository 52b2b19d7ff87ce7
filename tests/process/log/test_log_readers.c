/*
 * Threads read while another process begins to log its commits: whoever begins to read after a
 * COMMIT has returned sees it.
 *
 * N: how many stores are tried.
 */
#include <dlfcn.h>
#include <lmdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fixtures/child.h"
#include "fixtures/log_chain.h"
#include "fixtures/other_steps.h"
#include "lmdb/file/locks.h"
#include "lmdb/log/word.h"

enum { DEFAULT_ROUNDS = 6, READERS = 12, COMMITS = 60, MANY = 1000000 };

#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int64, sync='off', store='one.ptable')"

/* Written to LMDB's tree, with what the log has. */
#define TO_THE_TREE "CREATE VIRTUAL TABLE u USING ptable(store='one.ptable')"

/* Shared by the processes. */
typedef struct board {
    _Atomic int acknowledged;
    atomic_bool may_begin;
    atomic_bool done;
} board;

static board *ours;

/* --- The process that writes --- */

static int write_all_commits(const char *folder, int limit)
{
    char path[PATH_SIZE];
    path_in(folder, "writer.db", path);
    use_log(limit);
    sqlite3 *db = try_open(path);
    if (db == NULL || code_of(db, TABLE) != SQLITE_OK) {
        return 1;
    }
    while (!atomic_load(&ours->may_begin)) {
        sched_yield();
    }
    for (int i = 1; i <= COMMITS; i++) {
        if (code_of(db, "UPDATE t SET V = %d", i) != SQLITE_OK) {
            return 2;
        }
        atomic_store(&ours->acknowledged, i);
    }
    atomic_store(&ours->done, true);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 3;
}

/* --- The threads that read --- */

typedef struct reader {
    pthread_t thread;
    const char *folder;
    int begins_after; /* so many commits */
    int reads;
    int64_t expected; /* of the first read that saw less */
    int64_t seen;
    char text[200]; /* of a failure */
} reader;

static void *read_on(void *context)
{
    reader *self = context;
    char path[PATH_SIZE];
    path_in(self->folder, "reader.db", path);
    sqlite3 *db = try_open(path);
    sqlite3_busy_timeout(db, 10000);
    int64_t seen = first_number(db, "SELECT V FROM t", -1);
    /* All of them find the log at once, and one of them opens it. */
    while (atomic_load(&ours->acknowledged) < self->begins_after && !atomic_load(&ours->done)) {
        sched_yield();
    }
    while (!atomic_load(&ours->done) && seen >= 0 && self->expected == 0) {
        int64_t least = atomic_load(&ours->acknowledged);
        seen = first_number(db, "SELECT V FROM t", -1);
        self->reads++;
        if (seen < least) {
            self->expected = least;
            self->seen = seen;
        }
    }
    if (seen < 0 && self->expected == 0) {
        self->expected = -1;
        self->seen = sqlite3_errcode(db);
        snprintf(self->text, sizeof self->text, "%s", sqlite3_errmsg(db));
    }
    sqlite3_close(db);
    return NULL;
}

static pid_t start_writer(const char *folder, int limit)
{
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(write_all_commits(folder, limit));
    }
    return pid;
}

static int64_t try_store(const char *folder, int limit, int begins_after)
{
    reader readers[READERS] = {0};
    int64_t reads = 0;
    int status;
    *ours = (board){0};
    sqlite3 *db = open_database(folder, "reader.db");
    run(db, TABLE "; INSERT INTO t VALUES('p', 'a', 0)");
    pid_t writer = start_writer(folder, limit);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.folder = folder, .begins_after = begins_after};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    atomic_store(&ours->may_begin, true);
    assert_int_equal(waitpid(writer, &status, 0), writer);
    atomic_store(&ours->done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    for (int i = 0; i < READERS; i++) {
        reads += readers[i].reads;
        if (readers[i].expected != 0) {
            fail_msg("%lld was acknowledged, and a reader saw %lld %s",
                     (long long)readers[i].expected, (long long)readers[i].seen, readers[i].text);
        }
    }
    assert_number(db, COMMITS, "SELECT V FROM t");
    close_database(db);
    return reads;
}

static void what_is_acknowledged_is_seen(void **state)
{
    (void)state;
    static const int limits[] = {MANY, 5, 1};
    int64_t rounds = setting("N", DEFAULT_ROUNDS);
    int64_t reads = 0;
    use_no_log(); /* of our own */
    for (int64_t i = 0; i < rounds; i++) {
        void *folder;
        assert_int_equal(make_folder(&folder), 0);
        reads += try_store(folder, limits[i % 3], (int)(i % 5) * 3);
        remove_folder(&folder);
    }
    printf("# %lld stores, %lld reads beside a writer\n", (long long)rounds, (long long)reads);
}

/* --- One reader between the steps of another --- */

/* When LMDB begins to read. */
static _Atomic other_step before_reading;

#pragma GCC visibility push(default)

int mdb_txn_renew(MDB_txn *txn)
{
    int (*next)(MDB_txn *);
    *(void **)&next = dlsym(RTLD_NEXT, "mdb_txn_renew");
    meet(&before_reading);
    return next(txn);
}

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    int (*next)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
    *(void **)&next = dlsym(RTLD_NEXT, "mdb_txn_begin");
    if ((flags & MDB_RDONLY) != 0) {
        meet(&before_reading);
    }
    return next(env, parent, flags, txn);
}

#pragma GCC visibility pop

static sqlite3 *other_reader;

static void read_by_other(void)
{
    assert_number(other_reader, 5, "SELECT V FROM t");
}

static int be_logger(const char *path)
{
    char sign;
    use_log(MANY);
    sqlite3 *db = try_open(path);
    bool good = db != NULL && code_of(db, TABLE) == SQLITE_OK;
    for (int i = 1; i <= 5; i++) {
        good = good && code_of(db, "UPDATE t SET V = %d", i) == SQLITE_OK;
    }
    sign = good ? 'g' : 'b';
    write_all(STDOUT_FILENO, &sign, 1);
    while (read_all(STDIN_FILENO, &sign, 1) && sign != 'e') {
        good = code_of(db, sign == 't' ? TO_THE_TREE : "UPDATE t SET V = V + 1") == SQLITE_OK;
        write_all(STDOUT_FILENO, good ? "g" : "b", 1);
    }
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* The first one has read the word before the process opened the log, and the state afterwards. */
static void a_log_that_another_reader_opens_meanwhile(void **state)
{
    char path[PATH_SIZE];
    char sign = 0;
    use_no_log(); /* of our own */
    sqlite3 *db = open_database(*state, "reader.db");
    run(db, TABLE "; INSERT INTO t VALUES('p', 'a', 0)");
    other_reader = open_database(*state, "reader.db");
    assert_number(db, 0, "SELECT V FROM t");
    assert_number(other_reader, 0, "SELECT V FROM t");
    path_in(*state, "writer.db", path);
    child logger = start_child("logger", (const char *const[]){path, NULL});
    assert_true(read_all(logger.from, &sign, 1));
    assert_int_equal(sign, 'g');
    atomic_store(&before_reading, read_by_other);
    assert_number(db, 5, "SELECT V FROM t");
    assert_null(atomic_load(&before_reading));
    stop_child(&logger);
    close_database(other_reader);
    close_database(db);
}

static child the_logger;

static void tell_logger(char sign)
{
    assert_true(write_all(the_logger.to, &sign, 1));
    assert_true(read_all(the_logger.from, &sign, 1));
    assert_int_equal(sign, 'g');
}

static void let_the_log_begin_again(void)
{
    tell_logger('t');
}

static void let_the_log_end(void)
{
    stop_child(&the_logger);
}

/* A process that may not write looks at the log after it has begun to read the tree. */
static void a_log_that_begins_again_beside_a_reader_without_rights(void **state)
{
    enum { ANOTHER_USER = 12346 };
    char path[PATH_SIZE];
    char sign = 0;
    if (geteuid() != 0) {
        skip();
    }
    use_no_log(); /* of our own */
    sqlite3 *db = open_database(*state, "reader.db");
    run(db, TABLE "; INSERT INTO t VALUES('p', 'a', 0)");
    close_database(db);
    path_in(*state, "writer.db", path);
    the_logger = start_child("logger", (const char *const[]){path, NULL});
    assert_true(read_all(the_logger.from, &sign, 1));
    assert_int_equal(sign, 'g');
    path_in(*state, "one.ptable-lock", path);
    assert_int_equal(chmod(path, 0666), 0);
    path_in(*state, "one.ptable", path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(*state, 0777), 0);
    db = open_database(*state, "reader.db");
    assert_int_equal(seteuid(ANOTHER_USER), 0);
    int code = code_of(db, "SELECT V FROM t");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(code, SQLITE_OK);
    assert_int_equal(code_of(db, "UPDATE t SET V = 0"), SQLITE_READONLY);
    assert_number(db, 5, "SELECT V FROM t");
    tell_logger('u');
    atomic_store(&after_beginning, let_the_log_begin_again);
    assert_number(db, 6, "SELECT V FROM t");
    assert_null(atomic_load(&after_beginning));
    tell_logger('u');
    atomic_store(&after_beginning, let_the_log_end);
    assert_number(db, 7, "SELECT V FROM t");
    assert_null(atomic_load(&after_beginning));
    close_database(db);
}

/* --- Threads without rights --- */

/* Waits in the next COMMIT of this process: the record is written, and not published. */
static bool waits_in_commit;

#pragma GCC visibility push(default)

int unlink(const char *path)
{
    const char *suffix = strrchr(path, '-');
    if (waits_in_commit && suffix != NULL && strcmp(suffix, "-journal") == 0) {
        char sign = 'g';
        waits_in_commit = false;
        write_all(STDOUT_FILENO, &sign, 1);
        read_all(STDIN_FILENO, &sign, 1);
    }
    return unlinkat(AT_FDCWD, path, 0);
}

#pragma GCC visibility pop

/* 'u' counts; 'w' too, and waits for another sign meanwhile. */
static int be_counter(const char *path)
{
    char sign;
    use_log(MANY);
    sqlite3 *db = try_open(path);
    bool good = db != NULL && code_of(db, "ATTACH '%q-side' AS side", path) == SQLITE_OK;
    while (good && read_all(STDIN_FILENO, &sign, 1)) {
        waits_in_commit = sign == 'w';
        good =
            code_of(db, "BEGIN; UPDATE t SET V = V + 1; UPDATE side.side SET x = x + 1; COMMIT") ==
                SQLITE_OK &&
            !waits_in_commit;
        write_all(STDOUT_FILENO, good ? "g" : "b", 1);
    }
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

static void tell_counter(const child *counter, char sign)
{
    assert_true(write_all(counter->to, &sign, 1));
    assert_true(read_all(counter->from, &sign, 1));
    assert_int_equal(sign, 'g');
}

static void make_count(const char *folder)
{
    sqlite3 *db = open_database(folder, "reader.db");
    run(db, TABLE "; INSERT INTO t VALUES('p', 'a', 0)");
    close_database(db);
    db = open_database(folder, "writer.db");
    run(db, TABLE);
    close_database(db);
    db = open_database(folder, "writer.db-side");
    run(db, "CREATE TABLE side(x); INSERT INTO side VALUES(0)");
    close_database(db);
}

/* A process that counts in the log: it is killed, and leaves the log, or closes the store. */
static void count_on(const char *path, int round)
{
    enum { TIMES = 5, STOPPED_ONCE_IN = 4 };
    child counter = start_child("counter", (const char *const[]){path, NULL});
    for (int i = 0; i < TIMES; i++) {
        tell_counter(&counter, 'u');
        atomic_fetch_add(&ours->acknowledged, 1);
    }
    if (round % STOPPED_ONCE_IN == 0) {
        stop_child(&counter);
    } else {
        kill_child(&counter);
    }
}

static sqlite3 *open_without_rights(const char *folder)
{
    enum { ANOTHER_USER = 12346 };
    char path[PATH_SIZE];
    path_in(folder, "one.ptable-lock", path);
    assert_int_equal(chmod(path, 0666), 0);
    path_in(folder, "one.ptable", path);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    sqlite3 *db = open_database(folder, "reader.db");
    assert_int_equal(seteuid(ANOTHER_USER), 0);
    int code = code_of(db, "SELECT V FROM t");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(code, SQLITE_OK);
    assert_int_equal(code_of(db, "UPDATE t SET V = 0"), SQLITE_READONLY);
    return db;
}

/* While writers come and go, one thread finds that a writer has gone, and another one is about to
 * read what that writer has published. */
static void threads_without_rights_see_what_is_acknowledged(void **state)
{
    reader readers[READERS];
    char path[PATH_SIZE];
    int64_t reads = 0;
    int64_t rounds = setting("N", DEFAULT_ROUNDS);
    if (geteuid() != 0) {
        skip();
    }
    use_no_log(); /* of our own */
    *ours = (board){0};
    make_count(*state);
    path_in(*state, "writer.db", path);
    sqlite3 *db = open_without_rights(*state);
    for (int i = 0; i < READERS; i++) {
        readers[i] = (reader){.folder = *state};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (int64_t i = 0; i < rounds; i++) {
        count_on(path, (int)i);
    }
    atomic_store(&ours->done, true);
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i].thread, NULL);
        reads += readers[i].reads;
        if (readers[i].expected != 0) {
            fail_msg("%lld was acknowledged, and a reader saw %lld %s",
                     (long long)readers[i].expected, (long long)readers[i].seen, readers[i].text);
        }
    }
    assert_number(db, atomic_load(&ours->acknowledged), "SELECT V FROM t");
    close_database(db);
    printf("# %lld reads without rights\n", (long long)reads);
}

static const char *counter_path;
static child the_counter;

static void let_a_counter_wait(void)
{
    the_counter = start_child("counter", (const char *const[]){counter_path, NULL});
    tell_counter(&the_counter, 'w');
}

/* Between its look at who uses the log and its look at the log, a writer comes, and writes a record
 * that it does not publish. */
static void a_record_that_is_not_published_is_not_seen(void **state)
{
    char path[PATH_SIZE];
    if (geteuid() != 0) {
        skip();
    }
    use_no_log(); /* of our own */
    *ours = (board){0};
    make_count(*state);
    path_in(*state, "writer.db", path);
    counter_path = path;
    sqlite3 *db = open_without_rights(*state);
    count_on(path, 1); /* and is killed */
    int64_t counted = atomic_load(&ours->acknowledged);
    atomic_store(&before_log, let_a_counter_wait);
    assert_number(db, counted, "SELECT V FROM t");
    assert_null(atomic_load(&before_log));
    tell_counter(&the_counter, 'c');
    assert_number(db, counted + 1, "SELECT V FROM t");
    stop_child(&the_counter);
    assert_number(db, counted + 1, "SELECT V FROM t");
    close_database(db);
}

/* As a power failure may leave it: an older one. */
static void take_back_word(const char *folder)
{
    char path[PATH_SIZE];
    uint64_t word;
    path_in(folder, "one.ptable-word", path);
    int fd = open(path, O_RDWR);
    const off_t at = offsetof(pt_log_word, published);
    assert_int_equal(pread(fd, &word, sizeof word, at), sizeof word);
    word = pt_log_word_of(word >> PT_LOG_LIFE_AT, 0);
    assert_int_equal(pwrite(fd, &word, sizeof word, at), sizeof word);
    close(fd);
}

/* A process that opens the store first has the lock alone until it has read the log. It is no
 * writer that has set the word. */
static void a_word_that_was_left_is_not_believed(void **state)
{
    char path[PATH_SIZE];
    if (geteuid() != 0) {
        skip();
    }
    use_no_log(); /* of our own */
    *ours = (board){0};
    make_count(*state);
    path_in(*state, "writer.db", path);
    sqlite3 *db = open_without_rights(*state);
    count_on(path, 1); /* and is killed */
    take_back_word(*state);
    path_in(*state, "one.ptable", path);
    int fd = open(path, O_RDWR);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_LOG, true, 0), SQLITE_OK);
    assert_number(db, atomic_load(&ours->acknowledged), "SELECT V FROM t");
    pt_lock_release(fd, PT_LOCK_LOG);
    assert_number(db, atomic_load(&ours->acknowledged), "SELECT V FROM t");
    close(fd);
    close_database(db);
}

static int share_board(void **state)
{
    (void)state;
    ours = mmap(NULL, sizeof *ours, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return ours != MAP_FAILED ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "logger") == 0) {
        return be_logger(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "counter") == 0) {
        return be_counter(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_acknowledged_is_seen),
        folder_test(a_log_that_another_reader_opens_meanwhile),
        folder_test(a_log_that_begins_again_beside_a_reader_without_rights),
        folder_test(threads_without_rights_see_what_is_acknowledged),
        folder_test(a_record_that_is_not_published_is_not_seen),
        folder_test(a_word_that_was_left_is_not_believed),
    };
    return cmocka_run_group_tests(tests, share_board, NULL);
}
