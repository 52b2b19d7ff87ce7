/*
 * pt_compact: the file becomes smaller and holds what it held, whoever reads, writes, opens or dies
 * meanwhile.
 *
 * N: moments at which a process that compacts is killed; SEED.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "faults/call_facts.h"
#include "faults/killing.h"
#include "faults/mortal_statement.h"
#include "faults/write_order.h"
#include "fixtures/backup.h"
#include "fixtures/mixed.h"
#include "fixtures/peer.h"
#include "fixtures/store.h"

enum { DEFAULT_KILLS = 8, LONG_KILLS = 16, LAST = MIXED_FIRST + 12 };

#define STORE "main.db-ptable"
#define DROPPED_TABLE                                                                              \
    "CREATE VIRTUAL TABLE dropped USING ptable(V Binary);"                                         \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 300)"                \
    "INSERT INTO dropped SELECT 'p', k, zeroblob(5000) FROM n;"                                    \
    "DELETE FROM pt_tables WHERE TableName = 'dropped'; DROP TABLE dropped"

static void fill(sqlite3 *db)
{
    run(db, MIXED_TABLES);
    for (int64_t batch = MIXED_FIRST; batch <= LAST; batch++) {
        assert_int_equal(mixed_batch(db, batch), SQLITE_OK);
    }
    run(db, DROPPED_TABLE);
}

static void the_file_becomes_smaller(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    struct stat file;
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    path_in(folder, STORE, path);
    assert_int_equal(chmod(path, 0640), 0);
    int64_t before = size_of(folder, STORE);
    int64_t given_back = number(db, "SELECT pt_compact(NULL)");
    assert_true(given_back > 300 * 5000);
    assert_int_equal(size_of(folder, STORE), before - given_back);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0640);
    mixed_check_rows(db, LAST);
    assert_int_equal(mixed_batch(db, LAST + 1), SQLITE_OK);
    mixed_check_rows(db, LAST + 1);
    assert_number(db, 0, "SELECT Dropped FROM pt_stores");
    int64_t chunks = mixed_chunks(db);
    close_database(db);
    assert_int_equal(files_like(folder, "*"), 3); /* main.db, the store and its lock file */
    assert_int_equal(anatomy_of(folder, STORE)->chunks, chunks);
    check_sound(folder, STORE);
}

/* The content before the name, and the name before anything is written to the new file. */
static void the_new_file_is_on_the_disk_before_it_is_used(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    const char *calls =
        order_of(db, "SELECT pt_compact(); INSERT INTO t VALUES('p', '1', 1); SELECT pt_compact()");
    assert_int_equal(strncmp(calls, "wsnfW", 5), 0);
    assert_string_equal(strchr(calls + 4, 'w'), "wsnf");
    close_database(db);
}

/* --- In one process --- */

static void other_connections_go_on(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    sqlite3 *other = open_database(folder, "main.db");
    fill(db);
    sqlite3_stmt *insert;
    sqlite3_stmt *count;
    assert_number(other, 0, "SELECT count(*) FROM t WHERE PartitionKey = 'n'");
    sqlite3_prepare_v2(other, "INSERT INTO t VALUES('n', ?, 0, 0, NULL)", -1, &insert, NULL);
    sqlite3_prepare_v2(other, "SELECT count(*) FROM t WHERE PartitionKey = 'n'", -1, &count, NULL);
    for (int i = 1; i < 6; i++) {
        sqlite3_bind_int(insert, 1, i);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
        run(db, "SELECT pt_compact(NULL)");
        assert_int_equal(sqlite3_step(count), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(count, 0), i);
        sqlite3_reset(count);
    }
    sqlite3_finalize(insert);
    sqlite3_finalize(count);
    close_database(other);
    close_database(db);
    check_sound(folder, STORE);
}

static void readers_of_the_process_are_in_the_way(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    sqlite3 *other = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = wal");
    fill(db);
    int64_t size = size_of(folder, STORE);
    run(other, "BEGIN");
    int64_t rows = number(other, "SELECT count(*) FROM t");
    fails(db, SQLITE_BUSY, "SELECT pt_compact(NULL)");
    says(db, "while this process reads it");
    run(db, "DELETE FROM t");
    assert_number(other, rows, "SELECT count(*) FROM t");
    run(other, "COMMIT; BEGIN; DELETE FROM t WHERE 0");
    fails(db, SQLITE_BUSY, "SELECT pt_compact(NULL)");
    says(db, "is being written by another connection of this process; try again");
    run(other, "COMMIT");
    fails(db, SQLITE_ERROR, "BEGIN; SELECT pt_compact(NULL)");
    says(db, "COMMIT first");
    fails(db, SQLITE_LOCKED,
          "COMMIT; INSERT INTO t(PartitionKey, RowKey, B) VALUES('p', 'r',"
          " (SELECT pt_compact(NULL)))");
    assert_true(size_of(folder, STORE) >= size);
    assert_int_equal(unfinished_files(folder), 0);
    run(db, "SELECT pt_compact(NULL)");
    assert_true(size_of(folder, STORE) < size);
    assert_number(other, 0, "SELECT count(*) FROM t");
    close_database(other);
    close_database(db);
}

enum { THREADS = 3 };

static atomic_bool stop_threads;
static atomic_int thread_failures;
static const char *thread_folder;

/* Rows come one by one; each is there at once, and with it all before. */
static void *write_rows(void *context)
{
    int64_t rows = 0;
    int writer = *(const int *)context;
    sqlite3 *db = open_database(thread_folder, ":memory:");
    int code = code_of(db,
                       "PRAGMA busy_timeout = 60000;"
                       "CREATE VIRTUAL TABLE t USING ptable(V, store='%s/" STORE "', sync='off')",
                       thread_folder);
    while (code == SQLITE_OK && !atomic_load(&stop_threads)) {
        char count[80];
        code = code_of(db, "INSERT INTO t VALUES('%d', printf('%%08d', %lld), 1)", writer, rows);
        rows++;
        snprintf(count, sizeof count, "SELECT count(*) FROM t WHERE PartitionKey = '%d'", writer);
        if (code == SQLITE_OK && first_number(db, count, -1) != rows) {
            code = SQLITE_CORRUPT;
        }
    }
    if (code != SQLITE_OK) {
        fprintf(stderr, "# %d: %s\n", code, sqlite3_errmsg(db));
        atomic_fetch_add(&thread_failures, 1);
    }
    close_database(db);
    return NULL;
}

static void threads_read_and_write_on(void **state)
{
    enum { TIMES = 10 };
    const char *folder = *state;
    pthread_t threads[THREADS];
    int numbers[THREADS];
    thread_folder = folder;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V, sync='off'); PRAGMA busy_timeout = 60000");
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_rows, &numbers[i]), 0);
    }
    for (int i = 0; i < TIMES; i++) {
        run(db, "SELECT pt_compact(NULL)");
    }
    atomic_store(&stop_threads, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(atomic_load(&thread_failures), 0);
    int64_t rows = number(db, "SELECT count(*) FROM t");
    print_message("# %d times compacted while %d threads wrote and read %lld rows\n", TIMES,
                  THREADS, (long long)rows);
    close_database(db);
    check_sound(folder, STORE);
}

enum { COUNTERS = 2, COUNTS = 30 };

typedef struct counting {
    int64_t counted;
    int busy;
} counting;

/* True if a statement failed because of other processes, and said so. */
static bool is_excused(sqlite3 *db)
{
    int code = sqlite3_extended_errcode(db);
    const char *text = sqlite3_errmsg(db);
    return (code == SQLITE_BUSY && strstr(text, "try again") != NULL) ||
           (code == SQLITE_BUSY_SNAPSHOT && strstr(text, "ROLLBACK and run") != NULL);
}

/* Each transaction reads how many rows there are, and inserts one of that number. */
static void *count_on(void *context)
{
    counting *self = context;
    sqlite3 *db = open_database(thread_folder, ":memory:");
    bool fine =
        code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s/" STORE "', sync='off')",
                thread_folder) == SQLITE_OK;
    while (fine && !atomic_load(&stop_threads)) {
        fine = code_of(db, "BEGIN") == SQLITE_OK;
        int64_t rows = first_number(db, "SELECT count(*) FROM t", -1);
        bool done = fine && rows >= self->counted &&
                    code_of(db, "INSERT INTO t VALUES('n', %lld, 1)", rows) == SQLITE_OK &&
                    code_of(db, "COMMIT") == SQLITE_OK;
        self->counted += done;
        self->busy += !done;
        if (!done) {
            fine = fine && is_excused(db);
            /* A connection that has read nothing can wait for the lock without being in the way. */
            fine = fine && code_of(db, "ROLLBACK; PRAGMA busy_timeout = 60000; DELETE FROM t WHERE "
                                       "0; PRAGMA busy_timeout = 0") == SQLITE_OK;
        }
    }
    if (!fine) {
        fprintf(stderr, "# %d: %s\n", sqlite3_extended_errcode(db), sqlite3_errmsg(db));
        atomic_fetch_add(&thread_failures, 1);
    }
    sqlite3_close(db);
    return NULL;
}

/* What was read in the old file is never a reason to write to the new one. */
static void transactions_that_read_and_write_are_in_one_file(void **state)
{
    const char *folder = *state;
    pthread_t threads[COUNTERS];
    counting counters[COUNTERS] = {{0}};
    int compacted = 0;
    int64_t rows = 0;
    int64_t busy = 0;
    thread_folder = folder;
    atomic_store(&stop_threads, false);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V, sync='off'); PRAGMA busy_timeout = 60000");
    for (int i = 0; i < COUNTERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_on, &counters[i]), 0);
    }
    for (; (compacted < 3 || number(db, "SELECT count(*) FROM t") < COUNTS) &&
           atomic_load(&thread_failures) == 0;
         compacted++) {
        run(db, "SELECT pt_compact(NULL)");
    }
    atomic_store(&stop_threads, true);
    for (int i = 0; i < COUNTERS; i++) {
        pthread_join(threads[i], NULL);
        rows += counters[i].counted;
        busy += counters[i].busy;
    }
    assert_int_equal(atomic_load(&thread_failures), 0);
    assert_number(db, rows, "SELECT count(*) FROM t");
    assert_number(db, rows - 1, "SELECT max(CAST(RowKey AS INTEGER)) FROM t");
    print_message("# %d times compacted while %lld transactions read and wrote, and %lld more were "
                  "busy\n",
                  compacted, (long long)rows, (long long)busy);
    close_database(db);
    check_sound(folder, STORE);
}

/* --- Other processes --- */

static void other_processes_are_in_the_way(void **state)
{
    const char *folder = *state;
    char text[60];
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    assert_number(db, 1, "SELECT Dropped > 0 FROM pt_stores");
    int64_t size = size_of(folder, STORE);
    peer other = start_peer(folder, "main.db");
    assert_peer_number(&other, 1, "SELECT count(*) > 0 FROM t");
    fails(db, SQLITE_BUSY, "SELECT pt_compact(NULL)");
    snprintf(text, sizeof text, "open: process %ld;", (long)other.process.pid);
    says(db, text);
    assert_number(db, 0, "SELECT Dropped FROM pt_stores"); /* collected all the same */
    assert_true(size_of(folder, STORE) >= size);
    peer_fails(&other, SQLITE_BUSY, "SELECT pt_compact(NULL)");
    stop_peer(&other);
    assert_true(number(db, "SELECT pt_compact(NULL)") > 0);
    mixed_check_rows(db, LAST);
    close_database(db);
}

/* come-and-go store writer: opens, writes one row and closes, whenever it is told to. */
static int come_and_go(char **arguments)
{
    char sign;
    for (int64_t row = 1; read_all(STDIN_FILENO, &sign, 1); row++) {
        sqlite3 *db = try_open(":memory:");
        if (db == NULL || code_of(db,
                                  "PRAGMA busy_timeout = 60000;"
                                  "CREATE VIRTUAL TABLE t USING ptable(V, store='%s', sync='off');"
                                  "INSERT INTO t VALUES('%s', %lld, 1)",
                                  arguments[0], arguments[1], row) != SQLITE_OK) {
            fprintf(stderr, "# %s\n", sqlite3_errmsg(db));
            return 1;
        }
        sqlite3_close(db);
        write_all(STDOUT_FILENO, &row, sizeof row);
    }
    return 0;
}

/* Whoever opens the store while its file is replaced must write to the new one. */
static void those_who_come_and_go_lose_nothing(void **state)
{
    enum { WRITERS = 2, ROUNDS = 24 };
    const char *folder = *state;
    char path[PATH_SIZE];
    child writers[WRITERS];
    int compacted = 0;
    path_in(folder, "shared.ptable", path);
    for (int i = 0; i < WRITERS; i++) {
        const char writer[] = {(char)('a' + i), 0};
        const char *const arguments[] = {path, writer, NULL};
        writers[i] = start_child("come-and-go", arguments);
    }
    for (int64_t round = 1; round <= ROUNDS; round++) {
        bool early[WRITERS];
        for (int i = 0; i < WRITERS; i++) {
            early[i] = round == 1 || random_below(3) == 0;
            assert_true(!early[i] || write_all(writers[i].to, "", 1));
        }
        sqlite3 *db = open_database("", ":memory:");
        int code = code_of(db, "SELECT pt_compact('%s')", path);
        assert_true(code == SQLITE_OK || code == SQLITE_BUSY ||
                    (round == 1 && code == SQLITE_CANTOPEN));
        compacted += code == SQLITE_OK;
        close_database(db);
        for (int i = 0; i < WRITERS; i++) {
            int64_t row;
            assert_true(early[i] || write_all(writers[i].to, "", 1));
            assert_true(read_all(writers[i].from, &row, sizeof row));
            assert_int_equal(row, round);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        stop_child(&writers[i]);
    }
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s')", path);
    assert_number(db, (int64_t)WRITERS * ROUNDS, "SELECT count(*) FROM t");
    print_message("# compacted %d of %d times while %d processes came and went\n", compacted,
                  ROUNDS, WRITERS);
    close_database(db);
    check_sound(folder, "shared.ptable");
}

static peer *opener;
static const char *opener_comes_at; /* a call that replaces the file */
static const char *opener_path;

static system_call_verdict let_opener_come(const system_call *call)
{
    /* A log is ended and removed first; then others may still open the store. */
    bool is_of_log =
        call->path != NULL && (ends_with(call->path, "-log") || ends_with(call->path, "-word"));
    if (opener_comes_at != NULL && strcmp(call->name, opener_comes_at) == 0 && !is_of_log) {
        opener_comes_at = NULL;
        peer_begins(opener,
                    "CREATE VIRTUAL TABLE t USING ptable(V, store='%s');"
                    "INSERT INTO t SELECT 'peer', count(*), 1 FROM t",
                    opener_path);
        peer_waits(opener);
        kill(opener->process.pid, SIGSTOP); /* until the new file is in use */
    }
    return (system_call_verdict){0};
}

/* Before the new file has the name, and just after: the peer waits at the gate of the old or the
 * new file. */
static void openers_never_stay_with_the_old_file(void **state)
{
    const char *folder = *state;
    static const char *const calls[] = {"rename", "unlink"};
    char path[PATH_SIZE];
    path_in(folder, "shared.ptable", path);
    opener_path = path;
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s')", path);
    for (int i = 0; i < 2; i++) {
        peer other = start_peer("", ":memory:");
        opener = &other;
        opener_comes_at = calls[i];
        system_call_judge = let_opener_come;
        run(db, "SELECT pt_compact('%s')", path);
        system_call_judge = NULL;
        assert_null(opener_comes_at);
        kill(other.process.pid, SIGCONT);
        peer_ends(&other, SQLITE_OK);
        assert_number(db, i + 1, "SELECT count(*) FROM t");
        run(db, "INSERT INTO t VALUES('own', %d, 1); DELETE FROM t WHERE PartitionKey = 'own'", i);
        assert_peer_number(&other, i + 1, "SELECT count(*) FROM t");
        stop_peer(&other);
    }
    close_database(db);
    check_sound(folder, "shared.ptable");
}

/* --- A backup that begins meanwhile --- */

enum { LOOK_WAIT_MS = 200 };

typedef enum meeting { NOBODY, BACKUP_BEGINS, FILE_IS_CLOSED, BACKUP_HAS_LOOKED } meeting;

static atomic_int met;
static __thread int calls_of_backup; /* since it began */
static __thread bool lock_file_is_gone;

static void wait_for(meeting expected, int64_t at_most_ms)
{
    struct timespec start;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (atomic_load(&met) < (int)expected &&
             (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
                 at_most_ms);
}

/* The backup looks at the store's file when the old one is closed and the new one not yet in its
 * place; or it waits until that is over. */
static system_call_verdict let_backup_look(const system_call *call)
{
    calls_of_backup += calls_of_backup > 0;
    if (calls_of_backup == 3) {
        atomic_store(&met, BACKUP_HAS_LOOKED);
    }
    if (strcmp(call->name, "lstat") == 0 && ends_with(call->path, "/meanwhile")) {
        calls_of_backup = 1;
        atomic_store(&met, BACKUP_BEGINS);
        wait_for(FILE_IS_CLOSED, INT64_MAX);
    }
    if (call->kind == CALL_CLOSE && lock_file_is_gone && atomic_load(&met) == BACKUP_BEGINS) {
        syscall(SYS_close, call->fd);
        atomic_store(&met, FILE_IS_CLOSED);
        wait_for(BACKUP_HAS_LOOKED, LOOK_WAIT_MS);
    }
    lock_file_is_gone = lock_file_is_gone ||
                        (strcmp(call->name, "unlink") == 0 && ends_with(call->path, STORE "-lock"));
    return (system_call_verdict){0};
}

static void *back_up_meanwhile(void *db)
{
    int code = code_of(db, "SELECT pt_backup(NULL, 'meanwhile')");
    atomic_store(&met, BACKUP_HAS_LOOKED);
    return code == SQLITE_OK ? NULL : db;
}

static void a_backup_never_meets_a_closed_file(void **state)
{
    const char *folder = *state;
    pthread_t thread;
    void *failed;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V); INSERT INTO t VALUES('p', 'a', 1)");
    sqlite3 *other = open_database(folder, "main.db");
    assert_number(other, 1, "SELECT V FROM t");
    system_call_judge = let_backup_look;
    assert_int_equal(pthread_create(&thread, NULL, back_up_meanwhile, other), 0);
    wait_for(BACKUP_BEGINS, INT64_MAX);
    run(db, "SELECT pt_compact(NULL)");
    assert_int_equal(pthread_join(thread, &failed), 0);
    system_call_judge = NULL;
    assert_true(lock_file_is_gone);
    assert_string_equal(failed != NULL ? sqlite3_errmsg(other) : "", "");
    close_database(other);
    close_database(db);
    check_sound(folder, "meanwhile");
}

/* --- Names --- */

static void a_link_to_the_store_stays_one(void **state)
{
    const char *folder = *state;
    char link_path[PATH_SIZE];
    char path[PATH_SIZE];
    struct stat file;
    path_in(folder, "link", link_path);
    path_in(folder, "real", path);
    assert_int_equal(symlink("real", link_path), 0);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE r USING ptable(V, store='real', table='t');"
            "CREATE VIRTUAL TABLE t USING ptable(V, store='link');"
            "INSERT INTO t VALUES('p', '1', 1); SELECT pt_compact('link')");
    assert_int_equal(lstat(link_path, &file), 0);
    assert_true(S_ISLNK(file.st_mode));
    run(db, "INSERT INTO t VALUES('p', '2', 2)");
    char second[PATH_SIZE];
    path_in(folder, "second", second);
    assert_int_equal(link(path, second), 0);
    fails(db, SQLITE_CANTOPEN, "SELECT pt_compact('link')");
    says(db, "hard links");
    assert_int_equal(unlink(second), 0);
    run(db, "SELECT pt_compact('link')");
    close_database(db);
    assert_store(folder, "real", 1, 2);
}

/* --- Failures --- */

static void without_room_everything_stays(void **state)
{
    enum { STEP = 100 * 4096 };
    const char *folder = *state;
    int failures = 0;
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t size = 0;; size += STEP) {
        limit_files(size);
        int code = code_of(db, "SELECT pt_compact(NULL)");
        limit_files(RLIM_INFINITY);
        if (code == SQLITE_OK) {
            break;
        }
        failures++;
        assert_true(code == SQLITE_FULL || code == SQLITE_IOERR);
        says(db, STORE);
        assert_int_equal(unfinished_files(folder), 0);
        mixed_check_rows(db, LAST);
    }
    assert_true(failures > 3);
    mixed_check_rows(db, LAST);
    close_database(db);
}

/* The copy of a small store is smaller than a lock file, which the new file needs, too. */
static void without_room_for_a_lock_file_everything_stays(void **state)
{
    const char *folder = *state;
    const rlim_t lock_file = 65536;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V); INSERT INTO t VALUES('p', '1', 1)");
    struct stat before;
    struct stat after;
    char path[PATH_SIZE];
    path_in(folder, STORE, path);
    assert_int_equal(stat(path, &before), 0);
    assert_true((rlim_t)before.st_size < lock_file - 4096);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t size = (rlim_t)before.st_size; size < lock_file; size += 4096) {
        limit_files(size);
        int code = code_of(db, "SELECT pt_compact(NULL)");
        int64_t rows = first_number(db, "SELECT count(*) FROM t", -1);
        limit_files(RLIM_INFINITY);
        assert_int_equal(code, SQLITE_FULL);
        assert_int_equal(rows, 1);
        assert_int_equal(stat(path, &after), 0);
        assert_int_equal(after.st_ino, before.st_ino);
        assert_int_equal(unfinished_files(folder), 0);
    }
    limit_files(lock_file);
    int code = code_of(db, "SELECT pt_compact(NULL)");
    limit_files(RLIM_INFINITY);
    assert_int_equal(code, SQLITE_OK);
    assert_number(db, 1, "SELECT count(*) FROM t");
    close_database(db);
}

static int failing_call;

static system_call_verdict fail_behind_filling(const system_call *call)
{
    bool counts = call->kind == CALL_NAME || call->kind == CALL_SYNC || call->kind == CALL_LOCK ||
                  call->kind == CALL_MAP ||
                  (call->kind == CALL_OPEN && strstr(call->path, STORE) != NULL);
    bool fails = counts && failing_call-- == 0;
    return (system_call_verdict){.error = fails ? EIO : 0};
}

/* Around the replacement of the file; what fails once leaves the old file or the new one, in use.
 */
static void a_call_that_fails_loses_nothing(void **state)
{
    const char *folder = *state;
    int failures = 0;
    int call = -1;
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    do {
        failing_call = ++call;
        system_call_judge = fail_behind_filling;
        int code = code_of(db, "SELECT pt_compact(NULL)");
        system_call_judge = NULL;
        failures += code != SQLITE_OK;
        mixed_check_rows(db, LAST);
        assert_int_equal(mixed_batch(db, LAST + 1), SQLITE_OK);
        run(db, "DELETE FROM t; DELETE FROM d; DELETE FROM o");
        for (int64_t batch = MIXED_FIRST; batch <= LAST; batch++) {
            assert_int_equal(mixed_batch(db, batch), SQLITE_OK);
        }
        run(db, "SELECT pt_compact(NULL)"); /* removes files that were left over */
        assert_int_equal(unfinished_files(folder), 0);
    } while (failing_call < 0);
    print_message("# %d system calls failed in turn, %d times was that said\n", call, failures);
    assert_true(failures > 5);
    close_database(db);
    check_sound(folder, STORE);
}

static system_call_verdict rename_and_deny_it(const system_call *call)
{
    bool renames = strcmp(call->name, "rename") == 0;
    return (system_call_verdict){.error = renames ? EIO : 0, .made = renames};
}

/* Over a network, say, whose answer is lost. */
static void a_new_file_that_is_in_place_is_used(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    int64_t before = size_of(folder, STORE);
    system_call_judge = rename_and_deny_it;
    int64_t given_back = number(db, "SELECT pt_compact(NULL)");
    system_call_judge = NULL;
    assert_true(given_back > 300 * 5000);
    assert_int_equal(size_of(folder, STORE), before - given_back);
    mixed_check_rows(db, LAST);
    assert_int_equal(mixed_batch(db, LAST + 1), SQLITE_OK);
    close_database(db);
    assert_int_equal(unfinished_files(folder), 0);
    check_sound(folder, STORE);
}

static bool renamed;

static system_call_verdict rename_and_see_nothing(const system_call *call)
{
    bool renames = strcmp(call->name, "rename") == 0;
    renamed = renamed || renames;
    bool fails = renames || (renamed && call->kind == CALL_LOOK);
    return (system_call_verdict){.error = fails ? EIO : 0, .made = renames};
}

static void a_new_file_that_cannot_be_seen_is_found_when_opened_again(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    system_call_judge = rename_and_see_nothing;
    int code = code_of(db, "SELECT pt_compact(NULL)");
    system_call_judge = NULL;
    assert_true(renamed);
    assert_int_equal(code, SQLITE_IOERR);
    says(db, STORE);
    close_database(db);
    db = open_database(folder, "main.db");
    mixed_check_rows(db, LAST);
    run(db, "DELETE FROM t");
    close_database(db);
    check_sound(folder, STORE);
}

static void what_is_no_store_is_not_compacted(void **state)
{
    char path[PATH_SIZE];
    path_in(*state, STORE, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("dear diary", file) >= 0);
    assert_int_equal(fclose(file), 0);
    sqlite3 *db = open_database(*state, "main.db");
    assert_int_equal(code_of(db, "SELECT pt_compact()"), SQLITE_CANTOPEN);
    says(db, "is not a ptable store");
    close_database(db);
}

/* --- Where nothing may be written --- */

static void compact_is_refused(sqlite3 *db, const char *text)
{
    fails(db, SQLITE_READONLY, "SELECT pt_compact()");
    says(db, text);
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
}

static int authorize_no_pragma(void *context, int action, const char *first, const char *second,
                               const char *third, const char *fourth)
{
    (void)context, (void)first, (void)second, (void)third, (void)fourth;
    return action == SQLITE_PRAGMA ? SQLITE_DENY : SQLITE_OK;
}

static void a_connection_that_only_reads_does_not_compact(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    int64_t size = size_of(folder, STORE);
    run(db, "PRAGMA query_only = 1");
    compact_is_refused(db, "query_only");
    run(db, "SELECT pt_backup(NULL, 'first.backup'); PRAGMA query_only = 0");
    sqlite3_set_authorizer(db, authorize_no_pragma, NULL);
    fails(db, SQLITE_AUTH, "SELECT pt_compact()");
    says(db, "ptable: pt_compact: not authorized; let the authorizer allow PRAGMA query_only");
    close_database(db);
    path_in(folder, "main.db", path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    compact_is_refused(db, "opened read-only");
    run(db, "SELECT pt_backup(NULL, 'second.backup')");
    close_database(db);
    assert_int_equal(size_of(folder, STORE), size);
    db = open_database(folder, "main.db");
    assert_true(number(db, "SELECT pt_compact()") > 0);
    close_database(db);
}

/* --- Killed --- */

static void check_after_death(const char *folder, int64_t last)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, MIXED_TABLES);
    mixed_check_rows(db, last);
    assert_int_equal(mixed_batch(db, last + 1), SQLITE_OK);
    mixed_check_rows(db, last + 1);
    close_database(db);
    check_sound(folder, STORE);
}

/* The last calls put the copy in place; those before fill it. */
static void a_killed_process_leaves_one_of_the_files(void **state)
{
    const char *folder = *state;
    int64_t kills = setting("N", extent(DEFAULT_KILLS, LONG_KILLS));
    int64_t last = LAST;
    int replaced = 0;
    sqlite3 *db = open_database(folder, "main.db");
    fill(db);
    close_database(db);
    for (int64_t i = 0; i < kills; i++) {
        int64_t calls = perform_in_child(folder, "SELECT pt_compact(NULL)", 0);
        assert_int_equal(unfinished_files(folder), 0);
        int64_t call = i < kills * 3 / 4 ? calls - i % calls : 1 + i * calls / kills;
        int64_t inode = 0;
        char path[PATH_SIZE];
        struct stat file;
        path_in(folder, STORE, path);
        assert_int_equal(stat(path, &file), 0);
        inode = (int64_t)file.st_ino;
        perform_in_child(folder, "SELECT pt_compact(NULL)", call);
        assert_int_equal(stat(path, &file), 0);
        replaced += inode != (int64_t)file.st_ino;
        check_after_death(folder, last++);
    }
    print_message("# killed %lld times, %d times with the new file in place\n", (long long)kills,
                  replaced);
    assert_true(replaced > 0 && replaced < kills);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    if (argc == 4 && strcmp(argv[1], "come-and-go") == 0) {
        return come_and_go(argv + 2);
    }
    if (argc == 5 && strcmp(argv[1], "perform") == 0) {
        return perform(argv + 2);
    }
    seed = (uint32_t)setting("SEED", 1);
    const struct CMUnitTest tests[] = {
        folder_test(the_file_becomes_smaller),
        folder_test(the_new_file_is_on_the_disk_before_it_is_used),
        folder_test(other_connections_go_on),
        folder_test(readers_of_the_process_are_in_the_way),
        folder_test(threads_read_and_write_on),
        folder_test(transactions_that_read_and_write_are_in_one_file),
        folder_test(other_processes_are_in_the_way),
        folder_test(those_who_come_and_go_lose_nothing),
        folder_test(openers_never_stay_with_the_old_file),
        folder_test(a_backup_never_meets_a_closed_file),
        folder_test(a_link_to_the_store_stays_one),
        folder_test(without_room_everything_stays),
        folder_test(without_room_for_a_lock_file_everything_stays),
        folder_test(a_call_that_fails_loses_nothing),
        folder_test(a_new_file_that_is_in_place_is_used),
        folder_test(a_new_file_that_cannot_be_seen_is_found_when_opened_again),
        folder_test(what_is_no_store_is_not_compacted),
        folder_test(a_connection_that_only_reads_does_not_compact),
        folder_test(a_killed_process_leaves_one_of_the_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
