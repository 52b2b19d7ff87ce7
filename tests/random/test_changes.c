/*
 * Random statements on a table that keeps its changes, and followers that read them: after each
 * reading, a follower's copy must be equal to the table. Two connections write, in transactions
 * with savepoints; commits are refused by a hook, and so taken back, or by a reader of another
 * database, and then repeated. One follower reads after commits, one between the commit to the
 * store and its end, and one what a transaction sees of itself. Deletions are forgotten, changes
 * switched off and on, the table is made anew. The test sets the clock, forth and back. N is the
 * number of steps, SEED the first number of their sequence.
 */
#include "fixtures/database.h"

#include "fixtures/connection.h"
#include "random/random.h"

#include <sys/syscall.h>
#include <time.h>

enum { DEFAULT_STEPS = 1000, PARTITIONS = 3, ROWS = 6, KEYS = PARTITIONS * ROWS };
enum { WRITERS = 2, FOLLOWERS = 2, TIME_SIZE = 32 };
enum { AFTER_COMMITS, BETWEEN }; /* followers */

/* --- The clock --- */

static int64_t clock_seconds = 1800000000;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock == CLOCK_REALTIME) {
        *now = (struct timespec){.tv_sec = clock_seconds};
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, now);
}

/* --- State --- */

typedef struct follower {
    char since[TIME_SIZE]; /* empty: nothing was read yet */
    char *copy[KEYS];      /* Properties, or NULL */
    bool touched[KEYS];    /* a write may have changed it since */
} follower;

static uint64_t seed;
static sqlite3 *writers[WRITERS];
static sqlite3 *reader;
static sqlite3 *blocker; /* reads a database in which the first writer also writes */
static sqlite3_stmt *blocking;
static follower followers[FOLLOWERS];
static int writer; /* that is used */
static int savepoints;
static bool vetoes;
static bool written[KEYS]; /* by the transaction */
static int64_t step;       /* for messages */
static int64_t read_rows;  /* by all followers */
static int64_t copied_anew;

static unsigned below(unsigned limit)
{
    return random_below(&seed, limit);
}

/* --- Following --- */

static int key_of_row(sqlite3_stmt *row, int column)
{
    int partition = atoi((const char *)sqlite3_column_text(row, column) + 1);
    int number = atoi((const char *)sqlite3_column_text(row, column + 1) + 1);
    return partition * ROWS + number;
}

static void forget_copy(follower *self)
{
    for (int i = 0; i < KEYS; i++) {
        free(self->copy[i]);
        self->copy[i] = NULL;
    }
    self->since[0] = 0;
}

static void duplicate(const follower *from, follower *to)
{
    *to = *from;
    for (int i = 0; i < KEYS; i++) {
        to->copy[i] = from->copy[i] != NULL ? strdup(from->copy[i]) : NULL;
    }
}

static void set_entity(follower *self, int key, const unsigned char *properties)
{
    free(self->copy[key]);
    self->copy[key] = properties != NULL ? strdup((const char *)properties) : NULL;
}

static void take_change(follower *self, sqlite3_stmt *row, bool seen[KEYS])
{
    enum { TIME, PARTITION, ROW, MODE, PROPERTIES };
    const char *mode = (const char *)sqlite3_column_text(row, MODE);
    const char *time = (const char *)sqlite3_column_text(row, TIME);
    const unsigned char *properties = sqlite3_column_text(row, PROPERTIES);
    int key = key_of_row(row, PARTITION);
    bool first_copy = self->since[0] == 0;
    if (seen[key] || (properties == NULL) != (strcmp(mode, "delete") == 0)) {
        fail_msg("step %lld: key %d comes twice, or with WriteMode %s", (long long)step, key, mode);
    }
    if (!first_copy && (strcmp(time, self->since) <= 0 || !self->touched[key])) {
        fail_msg("step %lld: key %d was not written since %s", (long long)step, key, self->since);
    }
    seen[key] = true;
    self->touched[key] = false;
    set_entity(self, key, properties);
    read_rows++;
}

/* Reads at most so many changes. False if they are not all known. */
static bool read_changes(sqlite3 *db, follower *self, int limit, int *count)
{
    bool seen[KEYS] = {false};
    char last[TIME_SIZE];
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT * FROM pt_changes('t', ?1) LIMIT ?2", -1, &row, NULL);
    assert_int_equal(rc, SQLITE_OK);
    if (self->since[0] != 0) {
        sqlite3_bind_text(row, 1, self->since, -1, SQLITE_STATIC);
    }
    sqlite3_bind_int(row, 2, limit);
    memcpy(last, self->since, sizeof last);
    for (*count = 0; (rc = sqlite3_step(row)) == SQLITE_ROW; (*count)++) {
        const char *time = (const char *)sqlite3_column_text(row, 0);
        assert_true(strcmp(time, last) > 0);
        snprintf(last, sizeof last, "%s", time);
        take_change(self, row, seen);
    }
    bool known = rc == SQLITE_DONE;
    if (!known && strstr(sqlite3_errmsg(db), "are not all known") == NULL) {
        fail_msg("step %lld: %s", (long long)step, sqlite3_errmsg(db));
    }
    sqlite3_finalize(row);
    memcpy(self->since, last, sizeof last);
    return known;
}

static bool is_before_horizon(sqlite3 *db, const follower *self)
{
    sqlite3_stmt *row =
        step_into(db, "SELECT Horizon FROM pt_tables WHERE Store = 'shared.ptable'");
    bool before =
        self->since[0] != 0 && strcmp(self->since, (const char *)sqlite3_column_text(row, 0)) < 0;
    sqlite3_finalize(row);
    return before;
}

static void compare_copy(sqlite3 *db, const follower *self)
{
    bool seen[KEYS] = {false};
    sqlite3_stmt *row = NULL;
    int rc =
        sqlite3_prepare_v2(db, "SELECT PartitionKey, RowKey, Properties FROM t", -1, &row, NULL);
    assert_int_equal(rc, SQLITE_OK);
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        int key = key_of_row(row, 0);
        const char *properties = (const char *)sqlite3_column_text(row, 2);
        if (self->copy[key] == NULL || strcmp(self->copy[key], properties) != 0) {
            fail_msg("step %lld: key %d is %.40s, and %.40s in the copy", (long long)step, key,
                     properties, self->copy[key] != NULL ? self->copy[key] : "not there");
        }
        seen[key] = true;
    }
    assert_int_equal(rc, SQLITE_DONE);
    sqlite3_finalize(row);
    for (int i = 0; i < KEYS; i++) {
        if (!seen[i] && self->copy[i] != NULL) {
            fail_msg("step %lld: key %d is only in the copy", (long long)step, i);
        }
    }
}

/* Reads all changes, in pages perhaps, and compares. Within a transaction of the connection. */
static void follow(sqlite3 *db, follower *self)
{
    enum { ALL = 1000 };
    int limit = below(3) == 0 ? 1 + (int)below(4) : ALL;
    for (int count = limit; count == limit;) {
        bool before = is_before_horizon(db, self);
        bool known = read_changes(db, self, limit, &count);
        if (known == before) {
            fail_msg("step %lld: since %s: %s", (long long)step, self->since,
                     known ? "not refused" : "refused");
        }
        if (!known) {
            forget_copy(self);
            copied_anew++;
            count = limit = ALL;
        }
    }
    compare_copy(db, self);
}

static void follow_committed(int number)
{
    run_sql(reader, "BEGIN");
    follow(reader, &followers[number]);
    run_sql(reader, "COMMIT");
}

/* What the transaction sees, which may not last. */
static void follow_inside(void)
{
    follower own;
    duplicate(&followers[AFTER_COMMITS], &own);
    for (int i = 0; i < KEYS; i++) {
        own.touched[i] = own.touched[i] || written[i];
    }
    follow(writers[writer], &own);
    forget_copy(&own);
}

static int commit_hook(void *context)
{
    (void)context;
    if (below(2) == 0) {
        follow_committed(BETWEEN);
    }
    return vetoes;
}

/* --- Writing --- */

static void touch(int key)
{
    written[key] = true;
    for (int i = 0; i < FOLLOWERS; i++) {
        followers[i].touched[key] = true;
    }
}

static void touch_all(void)
{
    for (int i = 0; i < KEYS; i++) {
        touch(i);
    }
}

/* A commit changes all of them, and so does it if it is taken back. */
static void touch_written(void)
{
    for (int i = 0; i < KEYS; i++) {
        if (written[i]) {
            touch(i);
        }
    }
}

/* Runs a statement that may break uniqueness. */
static void write_row(const char *sql, int key, int other, int value)
{
    const int numbers[] = {key / ROWS,   key % ROWS, other / ROWS,
                           other % ROWS, value,      (int)below(KEYS)};
    sqlite3 *db = writers[writer];
    sqlite3_stmt *statement = NULL;
    touch(key);
    touch(other);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++) {
        sqlite3_bind_int(statement, i + 1, numbers[i]);
    }
    sqlite3_step(statement);
    int rc = sqlite3_finalize(statement);
    if (rc != SQLITE_OK && (rc & 0xFF) != SQLITE_CONSTRAINT) {
        fail_msg("step %lld: %s: %s", (long long)step, sql, sqlite3_errmsg(db));
    }
}

static void write_something(void)
{
    static const char *const statements[] = {
        "INSERT INTO t(PartitionKey, RowKey, N, U) VALUES ('p' || ?1, 'r' || ?2, ?5, ?6)",
        "INSERT OR REPLACE INTO t(PartitionKey, RowKey, N, U) VALUES ('p' || ?1, 'r' || ?2, ?5, "
        "?6)",
        "INSERT OR REPLACE INTO t(PartitionKey, RowKey, N) VALUES ('p' || ?1, 'r' || ?2, ?5)",
        "INSERT INTO t(PartitionKey, RowKey, N, WriteMode) VALUES ('p' || ?1, 'r' || ?2, ?5, "
        "'merge')",
        "INSERT INTO t(PartitionKey, RowKey, Properties, WriteMode) VALUES ('p' || ?1, 'r' || ?2, "
        "json_object('A', ?5), 'replace')",
        "INSERT INTO t(PartitionKey, RowKey, WriteMode) VALUES ('p' || ?1, 'r' || ?2, 'delete')",
        "UPDATE t SET N = ?5 WHERE PartitionKey = 'p' || ?1 AND RowKey = 'r' || ?2",
        "UPDATE OR REPLACE t SET PartitionKey = 'p' || ?3, RowKey = 'r' || ?4 WHERE PartitionKey = "
        "'p' || ?1 AND RowKey = 'r' || ?2",
        "DELETE FROM t WHERE PartitionKey = 'p' || ?1 AND RowKey = 'r' || ?2",
        "DELETE FROM t WHERE PartitionKey = 'p' || ?1 AND RowKey = 'r' || ?2",
        "INSERT OR REPLACE INTO t(PartitionKey, RowKey, N) VALUES ('p' || ?1, 'r' || ?2, "
        "hex(zeroblob(?5 + 33000)))",
    };
    enum { FORMS = sizeof statements / sizeof statements[0] };
    unsigned form = below(FORMS);
    if (form == FORMS - 1 && below(20) != 0) { /* a large value */
        form = 1;
    }
    if (form == 1) { /* may replace any other entity, too */
        touch_all();
    }
    write_row(statements[form], (int)below(KEYS), (int)below(KEYS), (int)below(1000));
}

/* Statements on many entities, or on the table itself. */
static void write_much(void)
{
    sqlite3 *db = writers[writer];
    touch_all();
    switch (below(6)) {
    case 0:
        run(db,
            "DELETE FROM pt_partitions WHERE Store = 'shared.ptable' AND TableName = 't' AND "
            "PartitionKey = 'p%d'",
            (int)below(PARTITIONS));
        break;
    case 1:
        run(db, "UPDATE OR REPLACE t SET U = %d WHERE N %% 3 = %d", (int)below(KEYS),
            (int)below(3));
        break;
    case 2:
        run(db, "DELETE FROM t WHERE N %% 4 = %d", (int)below(4));
        break;
    case 3:
        run(db, "SELECT pt_forget_deleted('t', nullif(%Q, ''))", followers[below(FOLLOWERS)].since);
        break;
    case 4:
        run(db,
            "SAVEPOINT whole; UPDATE pt_tables SET Changes = 'off' WHERE Store = 'shared.ptable';"
            "DELETE FROM t WHERE N %% 5 = 0;"
            "UPDATE pt_tables SET Changes = 'on' WHERE Store = 'shared.ptable'; RELEASE whole");
        break;
    default:
        run(db, "SAVEPOINT whole; DELETE FROM pt_tables WHERE Store = 'shared.ptable';"
                "INSERT INTO pt_tables(Store, TableName, Changes) VALUES ('shared.ptable', 't', 1);"
                "INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
                "('shared.ptable', 't', 'U', 1);"
                "INSERT INTO pt_indexes(Store, TableName, Columns) VALUES ('shared.ptable', 't', "
                "'Timestamp'); RELEASE whole");
        break;
    }
}

/* --- Transactions --- */

static bool is_open(void)
{
    return !sqlite3_get_autocommit(writers[writer]);
}

static void set_blocker(bool on)
{
    sqlite3_finalize(blocking);
    blocking = NULL;
    if (!on) {
        return;
    }
    int rc = sqlite3_prepare_v2(blocker, "SELECT * FROM side", -1, &blocking, NULL);
    rc = rc == SQLITE_OK ? sqlite3_step(blocking) : rc;
    /* A COMMIT that was refused before may leave the database locked. */
    assert_true(rc == SQLITE_ROW || rc == SQLITE_BUSY);
}

/* Ends the transaction, which may be refused or have to be repeated. */
static void commit(void)
{
    sqlite3 *db = writers[writer];
    vetoes = below(3) == 0;
    if (writer == 0 && below(3) == 0) {
        run_sql(db, "UPDATE side SET x = x + 1");
        set_blocker(below(2) == 0);
    }
    touch_written();
    int rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    set_blocker(false);
    if (rc != SQLITE_OK) {
        touch_written();
    }
    if (rc != SQLITE_OK && rc != SQLITE_BUSY && rc != SQLITE_CONSTRAINT_COMMITHOOK) {
        fail_msg("step %lld: COMMIT: %s", (long long)step, sqlite3_errmsg(db));
    }
    if (rc == SQLITE_BUSY && below(2) == 0) {
        follow_committed(BETWEEN); /* what has been committed to the store */
    }
    vetoes = false;
}

static void change_transaction(void)
{
    sqlite3 *db = writers[writer];
    if (!is_open()) {
        writer = (int)below(WRITERS);
        savepoints = 0;
        memset(written, 0, sizeof written);
        run_sql(writers[writer], below(2) == 0 ? "BEGIN" : "BEGIN IMMEDIATE");
        return;
    }
    switch (below(8)) {
    case 0:
        touch_written(); /* a commit that was refused may have to be taken back */
        run_sql(db, "ROLLBACK");
        break;
    case 1:
    case 2:
        run(db, "SAVEPOINT s%d", savepoints++);
        break;
    case 3:
        if (savepoints > 0) {
            run(db, "ROLLBACK TO s%d", (int)below((unsigned)savepoints));
            savepoints = 0; /* some may be left; they have the same effect as none */
            run_sql(db, "RELEASE s0");
        }
        break;
    default:
        commit();
        break;
    }
}

static void do_step(void)
{
    unsigned choice = below(100);
    if (choice < 55) {
        write_something();
    } else if (choice < 60) {
        write_much();
    } else if (choice < 80) {
        change_transaction();
    } else if (choice < 88) {
        follow_committed(AFTER_COMMITS);
    } else if (choice < 93) {
        if (is_open()) {
            follow_inside();
        }
    } else {
        clock_seconds += (int64_t)below(200) - 90;
    }
}

/* --- The test --- */

static void open_all(const char *folder)
{
    const char *declaration = "CREATE VIRTUAL TABLE t USING ptable(N, U Int32, unique(U), "
                              "index(Timestamp), store='shared.ptable', sync=off)";
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = open_database(folder, i == 0 ? "one.db" : "two.db");
        run_sql(writers[i], "PRAGMA journal_mode = wal");
        run_sql(writers[i], declaration);
    }
    reader = open_database(folder, "three.db");
    run_sql(reader, declaration);
    char side[PATH_SIZE];
    path_in(folder, "side.db", side);
    run(writers[0], "ATTACH %Q AS side; CREATE TABLE side.side(x); INSERT INTO side VALUES (0)",
        side);
    blocker = open_database(folder, "side.db");
    run_sql(writers[0], "UPDATE pt_tables SET Changes = 'on' WHERE Store = 'shared.ptable'");
    for (int i = 0; i < WRITERS; i++) {
        sqlite3_commit_hook(writers[i], commit_hook, NULL);
    }
}

static void close_all(void)
{
    for (int i = 0; i < WRITERS; i++) {
        close_database(writers[i]);
    }
    close_database(reader);
    close_database(blocker);
    for (int i = 0; i < FOLLOWERS; i++) {
        forget_copy(&followers[i]);
    }
}

static void check_all(void)
{
    sqlite3_stmt *check = step_into(reader, "SELECT pt_check('shared.ptable')");
    if (strcmp((const char *)sqlite3_column_text(check, 0), "ok") != 0) {
        fail_msg("step %lld: %s", (long long)step, sqlite3_column_text(check, 0));
    }
    sqlite3_finalize(check);
}

static void copies_of_followers_are_equal(void **state)
{
    int64_t steps = setting("N", DEFAULT_STEPS);
    seed = (uint64_t)setting("SEED", 1);
    open_all(*state);
    for (step = 0; step < steps; step++) {
        do_step();
        if (step % 250 == 249) {
            check_all();
        }
    }
    if (is_open()) {
        touch_written();
        run_sql(writers[writer], "COMMIT");
    }
    follow_committed(AFTER_COMMITS);
    follow_committed(BETWEEN);
    check_all();
    printf("# %lld changes were read, %lld times a table was copied anew\n", (long long)read_rows,
           (long long)copied_anew);
    assert_true(read_rows > steps / 10);
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {folder_test(copies_of_followers_are_equal)};
    /* The model expects that a commit can be seen while SQLite commits the main database. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
