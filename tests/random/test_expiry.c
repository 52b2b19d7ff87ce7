/*
 * Random statements on a table whose entities expire, against a model: an ordinary table that has
 * every entity, and of which only those are looked at that have not expired. The test sets the
 * clock, forth and back; the time of a transaction is that of its first statement. Entities are
 * inserted under keys and with unique values of expired ones, expiry is switched off and on, and
 * two connections with different declarations write; commits are refused, and so taken back.
 * Queries are prepared once. The table keeps its changes, and a copy that follows them must have
 * what the model has, also what has expired and was not purged. N is the number of steps, SEED the
 * first number of their sequence.
 */
#include "fixtures/database.h"

#include "base/ticks.h"
#include "fixtures/connection.h"
#include "random/random.h"

#include <sys/syscall.h>
#include <time.h>

enum { DEFAULT_STEPS = 3000, PARTITIONS = 3, ROWS = 6, USERS = 8, SECOND = 10000000 };
enum { TIME_SIZE = 32 };

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

static int64_t clock_ticks(void)
{
    return PT_TICKS_UNIX_EPOCH + clock_seconds * SECOND;
}

/* --- The two sides --- */

enum { CONNECTIONS = 2, QUERIES = 8 };

static const char *const queries[QUERIES] = {
    "SELECT PartitionKey, RowKey, User, Due, N FROM t ORDER BY PartitionKey, RowKey",
    "SELECT PartitionKey, RowKey, User, Due, N FROM t WHERE PartitionKey = 'p1' AND RowKey = 'r2'",
    "SELECT count(*) FROM t",
    "SELECT DISTINCT PartitionKey FROM t ORDER BY 1",
    "SELECT User, PartitionKey, RowKey FROM t WHERE User >= 'u2' ORDER BY User",
    "SELECT count(*) FROM t WHERE PartitionKey = 'p0' AND RowKey > 'r1'",
    "SELECT Due, PartitionKey, RowKey FROM t WHERE Due > '2020' ORDER BY Due, PartitionKey, RowKey",
    "SELECT a.User, b.RowKey FROM t a JOIN t b ON b.User = a.User AND b.N IS a.N ORDER BY 1, 2",
};

static uint64_t seed;
static sqlite3 *dbs[CONNECTIONS];
static sqlite3_stmt *prepared[CONNECTIONS][QUERIES];
static sqlite3 *model;        /* m: all entities; t: the view of those that are there */
static sqlite3 *copy;         /* c: all entities, by the changes */
static char since[TIME_SIZE]; /* of the copy; empty: it has nothing */
static bool vetoes;           /* the next commit is refused */
static bool in_transaction;
static bool time_known; /* of the transaction */
static int writer;      /* the connection that is used */
static int64_t step;    /* for messages */
static int64_t changes_read;
static int64_t deletions_read;
static int64_t copied_anew;
static int64_t taken_back; /* commits */
static const char *store_folder;

static unsigned below(unsigned limit)
{
    return random_below(&seed, limit);
}

static int64_t last_write(sqlite3 *db)
{
    return number(db, "SELECT pt_ticks(LastWrite) FROM pt_stores");
}

/* Sets the model's time, and if entities expire. */
static void set_model(const char *name, int64_t value)
{
    run(model, "UPDATE state SET %s = %lld", name, (long long)value);
}

static bool model_expires(void)
{
    return number(model, "SELECT expires FROM state") != 0;
}

/* A transaction's time is that of its first statement while entities expire. */
static void begin_time(void)
{
    int64_t last = last_write(dbs[writer]);
    set_model("now", last > clock_ticks() ? last : clock_ticks());
    time_known = model_expires();
}

/* --- Comparing --- */

static char *row_text(sqlite3_stmt *statement)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const char *value = (const char *)sqlite3_column_text(statement, i);
        sqlite3_str_appendf(text, "%s|", value != NULL ? value : "NULL");
    }
    sqlite3_str_appendall(text, "\n");
    return sqlite3_str_finish(text);
}

static char *all_rows(sqlite3_stmt *statement)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        char *row = row_text(statement);
        sqlite3_str_appendall(text, row);
        sqlite3_free(row);
    }
    sqlite3_str_appendall(text, sqlite3_reset(statement) == SQLITE_OK ? "." : "an error");
    return sqlite3_str_finish(text);
}

static void compare_query(int query)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(model, queries[query], -1, &statement, NULL), SQLITE_OK);
    char *expected = all_rows(statement);
    char *found = all_rows(prepared[writer][query]);
    sqlite3_finalize(statement);
    if (strcmp(expected, found) != 0) {
        fail_msg("step %lld: %s\nexpected:\n%s\nfound:\n%s\n%s", (long long)step, queries[query],
                 expected, found, sqlite3_errmsg(dbs[writer]));
    }
    sqlite3_free(expected);
    sqlite3_free(found);
}

/* --- Following --- */

static void take_change(sqlite3_stmt *change)
{
    static const char *const columns[] = {"User", "Due", "N"};
    enum { TIME, PARTITION, ROW, MODE, PROPERTIES };
    const char *time = (const char *)sqlite3_column_text(change, TIME);
    const char *mode = (const char *)sqlite3_column_text(change, MODE);
    const char *json = (const char *)sqlite3_column_text(change, PROPERTIES);
    if (strcmp(time, since) <= 0 || (json == NULL) != (strcmp(mode, "delete") == 0)) {
        fail_msg("step %lld: WriteMode %s at %s, after %s", (long long)step, mode, time, since);
    }
    snprintf(since, sizeof since, "%s", time);
    changes_read++;
    deletions_read += json == NULL;
    run(copy, "DELETE FROM c WHERE PartitionKey = %Q AND RowKey = %Q",
        sqlite3_column_text(change, PARTITION), sqlite3_column_text(change, ROW));
    if (json != NULL) {
        run(copy,
            "INSERT INTO c SELECT %Q, %Q, j ->> %Q, pt_datetime(j ->> %Q), CAST(j ->> %Q AS INT) "
            "FROM (SELECT %Q AS j)",
            sqlite3_column_text(change, PARTITION), sqlite3_column_text(change, ROW), columns[0],
            columns[1], columns[2], json);
    }
}

/* False if the changes since then are not all known any more. */
static bool read_changes(sqlite3 *db)
{
    sqlite3_stmt *change = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT * FROM pt_changes('t', ?1)", -1, &change, NULL);
    assert_int_equal(rc, SQLITE_OK);
    if (since[0] != 0) {
        sqlite3_bind_text(change, 1, since, -1, SQLITE_TRANSIENT);
    }
    while ((rc = sqlite3_step(change)) == SQLITE_ROW) {
        take_change(change);
    }
    sqlite3_finalize(change);
    if (rc != SQLITE_DONE && strstr(sqlite3_errmsg(db), "are not all known") == NULL) {
        fail_msg("step %lld: %s", (long long)step, sqlite3_errmsg(db));
    }
    return rc == SQLITE_DONE;
}

static void compare_copy(void)
{
    sqlite3_stmt *rows[2] = {NULL, NULL};
    char *texts[2];
    sqlite3_prepare_v2(model, "SELECT * FROM m ORDER BY PartitionKey, RowKey", -1, &rows[0], NULL);
    sqlite3_prepare_v2(copy, "SELECT * FROM c ORDER BY PartitionKey, RowKey", -1, &rows[1], NULL);
    for (int i = 0; i < 2; i++) {
        assert_non_null(rows[i]);
        texts[i] = all_rows(rows[i]);
        sqlite3_finalize(rows[i]);
    }
    if (strcmp(texts[0], texts[1]) != 0) {
        fail_msg("step %lld: expected:\n%s\nin the copy:\n%s", (long long)step, texts[0], texts[1]);
    }
    sqlite3_free(texts[0]);
    sqlite3_free(texts[1]);
}

static void follow(sqlite3 *db, bool is_shown)
{
    if (!read_changes(db)) {
        copied_anew++;
        since[0] = 0;
        run_sql(copy, "DELETE FROM c");
        assert_true(read_changes(db));
    }
    if (is_shown) {
        compare_copy();
    }
}

/* What the transaction sees, which may not last. */
static void follow_inside(void)
{
    char kept[TIME_SIZE];
    memcpy(kept, since, sizeof kept);
    run_sql(copy, "SAVEPOINT f");
    follow(dbs[writer], true);
    run_sql(copy, "ROLLBACK TO f; RELEASE f");
    memcpy(since, kept, sizeof since);
}

static bool has_log(void)
{
    char path[PATH_SIZE];
    path_in(store_folder, "shared.ptable-log", path);
    return access(path, F_OK) == 0;
}

/* The store has been committed, and the other connection sees that, unless it is in a log. */
static int commit_hook(void *context)
{
    (void)context;
    if (vetoes && below(2) == 0) {
        follow(dbs[1 - writer], !has_log());
    }
    return vetoes;
}

/* --- Statements --- */

/* Runs the same on the ptable, and compares its code. */
static void both(int code, const char *sql)
{
    int rc = sqlite3_exec(dbs[writer], sql, NULL, NULL, NULL);
    if (rc != code) {
        fail_msg("step %lld: %d, not %d: %s: %s", (long long)step, rc, code, sql,
                 sqlite3_errmsg(dbs[writer]));
    }
}

typedef struct entity {
    char key[60]; /* condition on both keys */
    char keys[30];
    char user[10];
    char due[60];
    int n;
} entity;

static entity random_entity(void)
{
    entity made;
    unsigned p = below(PARTITIONS);
    unsigned r = below(ROWS);
    char text[PT_DATETIME_TEXT_SIZE + 1];
    sqlite3_snprintf(sizeof made.key, made.key, "PartitionKey = 'p%u' AND RowKey = 'r%u'", p, r);
    sqlite3_snprintf(sizeof made.keys, made.keys, "'p%u', 'r%u'", p, r);
    sqlite3_snprintf(sizeof made.user, made.user, below(4) == 0 ? "NULL" : "'u%u'", below(USERS));
    pt_ticks_format(clock_ticks() + ((int64_t)below(24) - 6) * SECOND, text);
    sqlite3_snprintf(sizeof made.due, made.due, below(5) == 0 ? "NULL" : "'%s'", text);
    made.n = (int)below(100);
    return made;
}

static bool model_has(const char *format, const char *a, const char *b)
{
    char *sql = sqlite3_mprintf(format, a, b);
    int64_t count = number(model, "SELECT count(*) FROM %s", sql);
    sqlite3_free(sql);
    return count != 0;
}

/* What the model does with a row to be put: 0, or the code of the conflict. */
static int conflict_of(const entity *put, bool may_exist)
{
    if (!may_exist && model_has("t WHERE %s", put->key, NULL)) {
        return SQLITE_CONSTRAINT_PRIMARYKEY;
    }
    return model_has("t WHERE User = %s AND NOT (%s)", put->user, put->key)
               ? SQLITE_CONSTRAINT_UNIQUE
               : SQLITE_OK;
}

/* Removes what is in the way, expired or not, and puts the row. */
static void model_put(const entity *put)
{
    run(model, "DELETE FROM m WHERE %s OR User = %s", put->key, put->user);
    run(model, "INSERT INTO m VALUES (%s, %s, %s, %d)", put->keys, put->user, put->due, put->n);
}

static void insert_row(void)
{
    static const char *const verbs[] = {"INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"};
    entity put = random_entity();
    unsigned verb = below(3);
    int code = verb == 1 ? SQLITE_OK : conflict_of(&put, false);
    char *sql =
        sqlite3_mprintf("%s INTO t(PartitionKey, RowKey, User, Due, N) VALUES (%s, %s, %s, %d)",
                        verbs[verb], put.keys, put.user, put.due, put.n);
    both(verb == 2 ? SQLITE_OK : code, sql);
    sqlite3_free(sql);
    if (code == SQLITE_OK) {
        model_put(&put);
    }
}

/* With WriteMode, with and without IfMatch. A merge keeps what is not given. */
static void operate(void)
{
    static const char *const modes[] = {"replace", "merge", "delete"};
    entity put = random_entity();
    unsigned mode = below(3);
    bool must_exist = below(2) == 0;
    bool exists = model_has("t WHERE %s", put.key, NULL);
    int code = must_exist && !exists ? SQLITE_CONSTRAINT_CHECK
               : mode == 2           ? SQLITE_OK
                                     : conflict_of(&put, true);
    const char *match = must_exist ? "'*'" : "NULL";
    char *sql = sqlite3_mprintf("INSERT INTO t(PartitionKey, RowKey, User, Due, N, WriteMode, "
                                "IfMatch) VALUES (%s, %s, %s, %d, '%s', %s)",
                                put.keys, put.user, put.due, put.n, modes[mode], match);
    if (mode == 2) {
        sqlite3_free(sql);
        sql = sqlite3_mprintf("INSERT INTO t(PartitionKey, RowKey, WriteMode, IfMatch) "
                              "VALUES (%s, 'delete', %s)",
                              put.keys, match);
    }
    both(code, sql);
    sqlite3_free(sql);
    if (code != SQLITE_OK || (mode == 2 && !exists)) {
        return;
    }
    if (mode == 2) {
        run(model, "DELETE FROM m WHERE %s", put.key);
    } else if (mode == 1 && exists) {
        run(model, "DELETE FROM m WHERE User = %s AND NOT (%s)", put.user, put.key);
        run(model, "UPDATE m SET User = ifnull(%s, User), Due = ifnull(%s, Due), N = %d WHERE %s",
            put.user, put.due, put.n, put.key);
    } else {
        model_put(&put);
    }
}

static void update_row(void)
{
    entity put = random_entity();
    bool exists = model_has("t WHERE %s", put.key, NULL);
    int code = exists ? conflict_of(&put, true) : SQLITE_OK;
    char *sql = sqlite3_mprintf("UPDATE t SET User = %s, Due = %s, N = %d WHERE %s", put.user,
                                put.due, put.n, put.key);
    both(code, sql);
    sqlite3_free(sql);
    if (exists && code == SQLITE_OK) {
        model_put(&put);
    }
}

/* A row gets another key, perhaps that of an expired one. */
static void move_row(void)
{
    entity from = random_entity();
    entity to = random_entity();
    bool same = strcmp(from.key, to.key) == 0;
    bool exists = model_has("t WHERE %s", from.key, NULL);
    bool conflict = exists && !same && model_has("t WHERE %s", to.key, NULL);
    char *sql =
        sqlite3_mprintf("UPDATE t SET (PartitionKey, RowKey) = (%s) WHERE %s", to.keys, from.key);
    both(conflict ? SQLITE_CONSTRAINT_PRIMARYKEY : SQLITE_OK, sql);
    sqlite3_free(sql);
    if (exists && !same && !conflict) {
        run(model, "DELETE FROM m WHERE %s", to.key);
        run(model, "UPDATE m SET (PartitionKey, RowKey) = (%s) WHERE %s", to.keys, from.key);
    }
}

/* Several rows at a time. SQLite cannot write a view: the model's table gets the condition. */
static void change_rows(void)
{
    entity some = random_entity();
    unsigned kind = below(3);
    static const char *const verbs[] = {"UPDATE %s SET N = N + 1 WHERE PartitionKey = 'p%u'%s",
                                        "UPDATE %s SET Due = %s WHERE RowKey = 'r%u'%s",
                                        "DELETE FROM %s WHERE PartitionKey > 'p%u' AND N < 20%s"};
    unsigned which = below(PARTITIONS);
    const char *there = " AND (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM t)";
    char *sql = kind == 1 ? sqlite3_mprintf(verbs[1], "t", some.due, which, "")
                          : sqlite3_mprintf(verbs[kind], "t", which, "");
    both(SQLITE_OK, sql);
    sqlite3_free(sql);
    sql = kind == 1 ? sqlite3_mprintf(verbs[1], "m", some.due, which, there)
                    : sqlite3_mprintf(verbs[kind], "m", which, there);
    run_sql(model, sql);
    sqlite3_free(sql);
}

static void purge(void)
{
    int64_t count = below(3) == 0 ? 1000 : below(4);
    if (!model_expires()) {
        both(SQLITE_ERROR, "SELECT pt_purge('t')");
        return;
    }
    run(model,
        "DELETE FROM m WHERE (PartitionKey, RowKey) IN (SELECT PartitionKey, RowKey FROM m, state "
        "WHERE Due <= pt_datetime(now) ORDER BY Due, PartitionKey, RowKey LIMIT %lld)",
        (long long)count);
    assert_number(dbs[writer], number(model, "SELECT changes()"), "SELECT pt_purge('t', %lld)",
                  (long long)count);
}

/* Followers that read before that copy anew; all do if changes were switched off. */
static void forget_deletions(void)
{
    if (below(4) == 0) {
        both(SQLITE_OK, "UPDATE pt_tables SET Changes = 'off' WHERE Store = 'shared.ptable'");
        both(SQLITE_OK, "UPDATE pt_tables SET Changes = 'on' WHERE Store = 'shared.ptable'");
    } else {
        both(SQLITE_OK, "SELECT pt_forget_deleted('t', (SELECT LastWrite FROM pt_stores))");
    }
}

static void switch_expiry(void)
{
    bool on = below(3) != 0;
    both(SQLITE_OK, on ? "UPDATE pt_tables SET Expires = 'Due' WHERE Store = 'shared.ptable'"
                       : "UPDATE pt_tables SET Expires = NULL WHERE Store = 'shared.ptable'");
    set_model("expires", on);
    if (!time_known) {
        begin_time();
    }
}

static void write_something(void)
{
    switch (below(16)) {
    case 0:
        purge();
        break;
    case 1:
        change_rows();
        break;
    case 2:
    case 3:
        move_row();
        break;
    case 4:
    case 5:
        update_row();
        break;
    case 6:
    case 7:
    case 8:
        operate();
        break;
    case 9:
        if (below(8) == 0) {
            switch_expiry();
        } else if (below(8) == 0) {
            forget_deletions();
        } else {
            insert_row();
        }
        break;
    default:
        insert_row();
    }
}

/* --- Transactions --- */

/* A statement that fails leaves the rest of its transaction as it was, as the model does. */
static void both_sides(const char *sql)
{
    run_sql(dbs[writer], sql);
    run_sql(model, sql);
}

static void commit(void)
{
    vetoes = below(3) == 0;
    taken_back += vetoes;
    both(vetoes ? SQLITE_CONSTRAINT_COMMITHOOK : SQLITE_OK, "COMMIT");
    run_sql(model, vetoes ? "ROLLBACK" : "COMMIT");
    vetoes = false;
    in_transaction = false;
}

static void transaction_step(void)
{
    switch (below(13)) {
    case 0:
        commit();
        break;
    case 1:
        both_sides("ROLLBACK");
        in_transaction = false;
        break;
    case 2:
        both_sides("SAVEPOINT s");
        write_something();
        both_sides(below(2) == 0 ? "ROLLBACK TO s" : "RELEASE s");
        break;
    case 3:
        clock_seconds += (int64_t)below(20) - 8;
        break;
    case 4:
        follow_inside();
        break;
    default:
        write_something();
    }
}

static void do_step(void)
{
    if (in_transaction) {
        transaction_step();
    } else {
        clock_seconds += below(10) == 0 ? -(int64_t)below(15) : (int64_t)below(4);
        writer = (int)below(CONNECTIONS);
        begin_time();
        if (below(4) == 0) {
            both_sides("BEGIN");
            in_transaction = true;
        }
        write_something();
    }
    if (!in_transaction) {
        begin_time();
        if (below(10) == 0) {
            follow(dbs[below(CONNECTIONS)], true);
        }
    }
    compare_query((int)below(QUERIES));
}

static void check_all(void)
{
    both_sides(in_transaction ? "COMMIT" : "SELECT 1");
    in_transaction = false;
    begin_time();
    for (int i = 0; i < QUERIES; i++) {
        compare_query(i);
    }
    follow(dbs[0], true);
    assert_number(dbs[0], number(model, "SELECT count(*) FROM m"),
                  "SELECT Entities FROM pt_tables WHERE Store = 'shared.ptable'");
    assert_number(dbs[0], 1, "SELECT pt_check('shared.ptable') = 'ok'");
}

/* --- Set-up --- */

static void open_sides(const char *folder)
{
    store_folder = folder;
    static const char *const tables[CONNECTIONS] = {
        "CREATE VIRTUAL TABLE t USING ptable(User String, Due DateTime, N Int32, unique(User), "
        "store='shared.ptable', sync=off)",
        "CREATE VIRTUAL TABLE t USING ptable(N, Due DateTime, User, index(Due, N), "
        "store='shared.ptable', sync=off)",
    };
    for (int i = 0; i < CONNECTIONS; i++) {
        dbs[i] = open_database(folder, i == 0 ? "one.db" : "two.db");
        run_sql(dbs[i], tables[i]);
        run(dbs[i], "SELECT * FROM pt_tables WHERE Store = 'shared.ptable'");
        sqlite3_commit_hook(dbs[i], commit_hook, NULL);
    }
    for (int i = 0; i < CONNECTIONS * QUERIES; i++) {
        assert_int_equal(sqlite3_prepare_v2(dbs[i / QUERIES], queries[i % QUERIES], -1,
                                            &prepared[i / QUERIES][i % QUERIES], NULL),
                         SQLITE_OK);
    }
    copy = open_database(folder, ":memory:");
    run_sql(copy, "CREATE TABLE c(PartitionKey, RowKey, User, Due, N)");
    model = open_database(folder, ":memory:");
    run(model,
        "CREATE TABLE m(PartitionKey, RowKey, User, Due, N, PRIMARY KEY (PartitionKey, RowKey));"
        "CREATE TABLE state(now, expires); INSERT INTO state VALUES (0, 0);"
        "CREATE VIEW t AS SELECT m.* FROM m, state WHERE NOT (expires AND "
        "ifnull(Due <= pt_datetime(now), 0))");
}

static void close_sides(void)
{
    for (int i = 0; i < CONNECTIONS; i++) {
        for (int j = 0; j < QUERIES; j++) {
            sqlite3_finalize(prepared[i][j]);
        }
        close_database(dbs[i]);
    }
    close_database(model);
    close_database(copy);
}

static void what_has_expired_is_not_there(void **state)
{
    int64_t steps = setting("N", DEFAULT_STEPS);
    seed = (uint64_t)setting("SEED", 1);
    open_sides(*state);
    writer = 0;
    begin_time();
    both(SQLITE_OK, "UPDATE pt_tables SET Expires = 'Due' WHERE Store = 'shared.ptable'");
    set_model("expires", 1);
    both(SQLITE_OK, "UPDATE pt_tables SET Changes = 'on' WHERE Store = 'shared.ptable'");
    for (step = 0; step < steps; step++) {
        do_step();
        if (step % 500 == 499) {
            check_all();
        }
    }
    check_all();
    printf(
        "# %lld changes were read, %lld of them deletions; %lld times the table was copied anew, "
        "%lld commits were taken back\n",
        (long long)changes_read, (long long)deletions_read, (long long)copied_anew,
        (long long)taken_back);
    assert_true(deletions_read > steps / 100 && copied_anew > 0 && taken_back > 0);
    close_sides();
}

int main(void)
{
    const struct CMUnitTest tests[] = {folder_test(what_has_expired_is_not_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
