/*
 * Damaged files: opening and pt_check neither crash nor hang and say what to do; pt_check finds all
 * damage that is not harmless; no row is shown with a value that was never stored under its key.
 * Reading on regardless may end in LMDB: that is counted.
 *
 * N: damaged copies; SEED.
 */
#include <lmdb.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "process/crash/damage.h"

enum {
    DEFAULT_COPIES = 63,
    STEPS = 6,
    ROWS_MAX = 60000,
    TEXT_SIZE = 50000,
    SECONDS_TO_LIVE = 60,
    FOREIGN_ENTRIES = 2000,
    OPERATIONS = 300,
    COPIES_A_LIFE = 40, /* as long as so many damaged copies */
};

/* The tables, and how they are read: two of them also by an index. */
static const struct {
    const char *name;
    const char *columns;
    const char *condition;
} tables[] = {
    {"Mixed", "", "1"},
    {"Wide", "", "1"},
    {"Long", "", "1"},
    {"Blobs", "", "1"},
    {"Gone", "", "1"},
    {"Mixed", "Text String, ", "Text >= ''"},
    {"Blobs", "S String, ", "S > ''"},
};

enum { TABLES = sizeof tables / sizeof tables[0] };

/* What children tell. */
typedef struct shared {
    size_t stored; /* rows of all versions */
    uint64_t hashes[ROWS_MAX];
    size_t current; /* rows of the newest version */
    uint64_t newest[ROWS_MAX];
    int check_code;
    char check[TEXT_SIZE];
    int open_code;
    char open[TEXT_SIZE];
    int64_t rows;
    int64_t unknown;  /* rows that were never stored */
    int64_t failures; /* statements that failed */
    size_t found;
    uint64_t read[ROWS_MAX];
} shared;

static shared *told;
static image newest;
static image older;

/* --- Children --- */

/* cmocka would take a crash for that of a test, and go on in the child. */
static void crash_as_usual(void)
{
    static const int signals[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        signal(signals[i], SIG_DFL);
    }
}

/* Runs `work` in a process of its own; the status as waitpid gives it. */
static int in_child(void (*work)(const char *path), const char *path, bool quiet)
{
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        int nowhere = open("/dev/null", O_WRONLY);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        if (quiet) {
            dup2(nowhere, STDERR_FILENO);
        }
        crash_as_usual();
        alarm(SECONDS_TO_LIVE);
        work(path);
        _exit(0);
    }
    int status = -1;
    while (waitpid(pid, &status, 0) < 0) {
        assert_int_equal(errno, EINTR);
    }
    return status;
}

static sqlite3 *open_memory(void)
{
    sqlite3 *db = try_open(":memory:");
    if (db == NULL) {
        _exit(2);
    }
    return db;
}

static void must(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
        _exit(3);
    }
}

/* --- The store --- */

#define NUMBERS(last)                                                                              \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < " #last ") "

static const char *const steps[STEPS] = {
    "CREATE VIRTUAL TABLE Mixed USING ptable(store='s');"
    "CREATE VIRTUAL TABLE Wide USING ptable(store='s');"
    "CREATE VIRTUAL TABLE Long USING ptable(V, store='s');"
    "CREATE VIRTUAL TABLE Blobs USING ptable(S String, B Binary, store='s');"
    "CREATE VIRTUAL TABLE Gone USING ptable(S String, store='s');"
    "INSERT INTO Gone " NUMBERS(160) "SELECT 'g', printf('%04d', k), printf('%.1900c', 'g') FROM n",
    "INSERT INTO Mixed(PartitionKey, RowKey, Properties) " NUMBERS(
        700) "SELECT 'p' || (k % 9), "
             "printf('%05d', k), json_object('A' || (k % 23), k, 'Text', 'text ' || k, 'Real', k * "
             "0.5, "
             "'B' || (k % 5), 'b') FROM n",
    "INSERT INTO Wide(PartitionKey, RowKey, Properties) " NUMBERS(
        12) "SELECT 'w', k, "
            "(SELECT json_group_object('P' || value, printf('%.300c', char(96 + value))) FROM "
            "json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]')) FROM n",
    "INSERT INTO Long " NUMBERS(90) "SELECT printf('%.*c', 300 + k % 3 * 400, 'l') || (k % 4), "
                                    "printf('%.*c', k * 13, 'r') || k, k FROM n",
    "BEGIN; INSERT INTO Blobs " NUMBERS(
        30) "SELECT 'b', k, printf('%.*c', k * 300, 'x') || k, "
            "CAST(printf('%.*c', k * 100, 'y') || k AS BLOB) FROM n;"
            "INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
            "('s', 'Mixed', 'Text,A1', 0), ('s', 'Blobs', 'S', 1);"
            "DELETE FROM Mixed WHERE RowKey LIKE '%7'; UPDATE Long SET V = V + 1000 WHERE V % 5 = "
            "0; COMMIT",
    "DELETE FROM pt_tables WHERE Store = 's' AND TableName = 'Gone';"
    "UPDATE Mixed SET Properties = json_set(Properties, '$.Text', 'new') WHERE RowKey LIKE '%3';"
    "DELETE FROM Blobs WHERE RowKey LIKE '%2'",
};

static sqlite3 *open_beside(const char *path)
{
    char database[PATH_SIZE + 3];
    snprintf(database, sizeof database, "%s.db", path);
    sqlite3 *db = try_open(database);
    if (db == NULL) {
        _exit(2);
    }
    return db;
}

static int step;

static void take_step(const char *path)
{
    sqlite3 *db = open_beside(path);
    must(db, steps[step]);
    sqlite3_close(db);
}

static uint64_t hash_of(uint64_t hash, const void *bytes, int size)
{
    const uint8_t *at = bytes;
    for (int i = 0; i < size; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return (hash ^ (uint64_t)size) * UINT64_C(0x100000001b3);
}

/* Reads a table to its end, or to where it fails. */
static bool read_table(sqlite3 *db, const char *path, int number)
{
    sqlite3_stmt *statement = NULL;
    const char *table = tables[number].name;
    char *declare =
        sqlite3_mprintf("CREATE VIRTUAL TABLE way%d USING ptable(%sstore=%Q, table=%s, readonly=1)",
                        number, tables[number].columns, path, table);
    char *select =
        sqlite3_mprintf("SELECT PartitionKey, RowKey, Timestamp, Properties FROM way%d WHERE %s",
                        number, tables[number].condition);
    int rc = sqlite3_exec(db, declare, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v2(db, select, -1, &statement, NULL);
    }
    while (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        uint64_t hash = hash_of(UINT64_C(0xcbf29ce484222325), table, (int)strlen(table));
        for (int i = 0; i < 4; i++) {
            const void *text = sqlite3_column_text(statement, i);
            hash = hash_of(hash, text, sqlite3_column_bytes(statement, i));
        }
        if (told->found < ROWS_MAX) {
            told->read[told->found++] = hash;
        }
        told->rows++;
    }
    bool sound = sqlite3_finalize(statement) == SQLITE_OK && rc == SQLITE_OK;
    sqlite3_free(declare);
    sqlite3_free(select);
    return sound;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;
    return (*left > *right) - (*left < *right);
}

/* A process of its own for each table would be dear: what LMDB ends, ends for all. */
static void read_all_tables(const char *path)
{
    sqlite3 *db = open_memory();
    told->rows = 0;
    told->found = 0;
    told->failures = 0;
    for (int i = 0; i < TABLES; i++) {
        told->failures += read_table(db, path, i) ? 0 : 1;
    }
    sqlite3_close(db);
}

static void remember_rows(void)
{
    qsort(told->read, told->found, sizeof told->read[0], compare_hashes);
    memcpy(told->newest, told->read, told->found * sizeof told->read[0]);
    told->current = told->found;
    assert_true(told->stored + told->found <= ROWS_MAX);
    memcpy(told->hashes + told->stored, told->read, told->found * sizeof told->read[0]);
    told->stored += told->found;
}

/* The store as it was before its last step and is now, and all rows that it ever had. */
static int make_store(void **state)
{
    char path[PATH_SIZE];
    if (make_folder(state) != 0) {
        return -1;
    }
    path_in(*state, "s", path);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    for (step = 0; step < STEPS; step++) {
        if (step == STEPS - 1) {
            older = image_of(path);
        }
        assert_int_equal(in_child(take_step, path, false), 0);
        assert_int_equal(in_child(read_all_tables, path, false), 0);
        remember_rows();
    }
    newest = image_of(path);
    qsort(told->hashes, told->stored, sizeof told->hashes[0], compare_hashes);
    return 0;
}

/* --- Judging --- */

static void check_and_open(const char *path)
{
    sqlite3 *db = open_memory();
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT pt_check(%Q)", path);
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    int rc = sqlite3_step(statement);
    told->check_code = rc == SQLITE_ROW ? SQLITE_OK : sqlite3_errcode(db);
    snprintf(told->check, sizeof told->check, "%s",
             rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0)
                              : sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    sql = sqlite3_mprintf("CREATE VIRTUAL TABLE Mixed USING ptable(store=%Q);"
                          "SELECT count(*), sum(Entities) FROM pt_tables WHERE Store = %Q",
                          path, path);
    told->open_code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    snprintf(told->open, sizeof told->open, "%s",
             told->open_code == SQLITE_OK ? "" : sqlite3_errmsg(db));
    sqlite3_free(sql);
    sqlite3_close(db);
}

static bool is_sound(void)
{
    return told->check_code == SQLITE_OK && strcmp(told->check, "ok") == 0;
}

/* Errors of opening and checking say what to do. */
static bool has_advice(const char *text)
{
    return strstr(text, "backup") != NULL || strstr(text, "name another") != NULL ||
           strstr(text, "a name of its own") != NULL || strstr(text, "pt_check") != NULL ||
           strstr(text, "newer version") != NULL;
}

static bool is_stored(uint64_t hash)
{
    return bsearch(&hash, told->hashes, told->stored, sizeof hash, compare_hashes) != NULL;
}

static int64_t count_unknown(void)
{
    int64_t unknown = 0;
    for (size_t i = 0; i < told->found; i++) {
        unknown += is_stored(told->read[i]) ? 0 : 1;
    }
    return unknown;
}

/* True if exactly the rows of the newest version were read. */
static bool all_was_read(void)
{
    qsort(told->read, told->found, sizeof told->read[0], compare_hashes);
    return told->found == told->current &&
           memcmp(told->read, told->newest, told->found * sizeof told->read[0]) == 0;
}

static void forget_lock(const char *path)
{
    char lock[PATH_SIZE + 8];
    snprintf(lock, sizeof lock, "%s-lock", path);
    unlink(lock);
}

typedef struct tally {
    int64_t copies;
    int64_t found;    /* by pt_check */
    int64_t harmless; /* and all rows were read */
    int64_t refused;  /* not opened */
    int64_t died;     /* while reading on */
    int64_t rows;
} tally;

static void fail_copy(const char *what, const char *kind, uint64_t seed)
{
    print_error("SEED=%llu, %s: %s\ncheck: %d %s\nopen: %d %s\nrows %lld of %lld\n",
                (unsigned long long)seed, kind, what, told->check_code, told->check,
                told->open_code, told->open, (long long)told->found, (long long)told->current);
    fail();
}

static void judge_copy(const char *folder, const char *kind, uint64_t seed, tally *sum)
{
    char path[PATH_SIZE];
    path_in(folder, "copy", path);
    forget_lock(path);
    if (in_child(check_and_open, path, false) != 0) {
        fail_copy("pt_check or opening did not end well", kind, seed);
    }
    if (told->check_code != SQLITE_OK && told->check_code != SQLITE_CANTOPEN &&
        told->check_code != SQLITE_CORRUPT) {
        fail_copy("pt_check failed", kind, seed);
    }
    if ((!is_sound() && !has_advice(told->check)) ||
        (told->open_code != SQLITE_OK && !has_advice(told->open))) {
        fail_copy("nothing is said about what to do", kind, seed);
    }
    bool sound = is_sound();
    bool opened = told->open_code == SQLITE_OK;
    forget_lock(path);
    bool died = in_child(read_all_tables, path, true) != 0;
    if (count_unknown() != 0) {
        fail_copy("rows that were never stored", kind, seed);
    }
    sum->copies++;
    sum->rows += (int64_t)told->found;
    sum->died += died ? 1 : 0;
    sum->refused += opened ? 0 : 1;
    sum->found += sound ? 0 : 1;
    sum->harmless += sound ? 1 : 0;
    if (sound && (died || !opened || !all_was_read())) {
        fail_copy("pt_check has not found the damage", kind, seed);
    }
}

static image copy_of(const image *original)
{
    image copy = {.bytes = malloc(original->size), .size = original->size};
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, original->bytes, original->size);
    return copy;
}

static void print_tally(const char *name, const tally *sum)
{
    print_message("# %-34s %5lld copies: %5lld found, %5lld harmless; %5lld not opened, reading "
                  "%lld rows %lld ended in LMDB\n",
                  name, (long long)sum->copies, (long long)sum->found, (long long)sum->harmless,
                  (long long)sum->refused, (long long)sum->rows, (long long)sum->died);
}

static void damaged_copies(void **state)
{
    char path[PATH_SIZE];
    tally sums[DAMAGES] = {0};
    tally all = {0};
    int64_t copies = setting("N", DEFAULT_COPIES);
    uint64_t seed = (uint64_t)setting("SEED", 1);
    path_in(*state, "copy", path);
    for (int64_t i = 0; i < copies; i++) {
        size_t kind = (size_t)((seed + (uint64_t)i) % DAMAGES);
        uint64_t random = seed + (uint64_t)i;
        image copy = copy_of(&newest);
        damages[kind].harm(&copy, &older, &random);
        write_image(path, &copy);
        free(copy.bytes);
        judge_copy(*state, damages[kind].name, seed + (uint64_t)i, &sums[kind]);
    }
    for (size_t i = 0; i < DAMAGES; i++) {
        print_tally(damages[i].name, &sums[i]);
        all.copies += sums[i].copies;
        all.found += sums[i].found;
        all.harmless += sums[i].harmless;
        all.refused += sums[i].refused;
        all.died += sums[i].died;
        all.rows += sums[i].rows;
    }
    print_tally("together", &all);
}

static void the_store_is_sound_and_has_everything(void **state)
{
    char path[PATH_SIZE];
    tally sum = {0};
    path_in(*state, "copy", path);
    write_image(path, &newest);
    judge_copy(*state, "none", 0, &sum);
    assert_int_equal(sum.harmless, 1);
    static const char *const parts[] = {"entities", "long_keys", "chunks", "garbage"};
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(memmem(newest.bytes, newest.size, parts[i], strlen(parts[i])));
    }
    size_t overflow = 0;
    for (size_t page = 2; page < pages_of(&newest); page++) {
        overflow += short_at(page_of(&newest, page) + 10) == 4;
    }
    assert_true(overflow > 0);
    print_message("# the store: %lld pages, %lld rows, %lld in all its versions\n",
                  (long long)pages_of(&newest), (long long)told->current, (long long)told->stored);
}

/* --- Files that are no stores --- */

static void expect_refusal(const char *path, const char *what)
{
    if (in_child(check_and_open, path, false) != 0 || is_sound() || told->open_code == SQLITE_OK ||
        !has_advice(told->check) || !has_advice(told->open)) {
        fail_copy("not refused", what, 0);
    }
}

static void write_text(const char *path, const char *text, size_t size)
{
    const image written = {.bytes = (uint8_t *)(uintptr_t)text, .size = size};
    unlink(path);
    write_image(path, &written);
}

/* Of another program, with so many entries. */
static void make_foreign_lmdb(const char *path)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    if (mdb_env_create(&env) != 0 || mdb_env_open(env, path, MDB_NOSUBDIR, 0644) != 0 ||
        mdb_txn_begin(env, NULL, 0, &txn) != 0 || mdb_dbi_open(txn, NULL, 0, &dbi) != 0) {
        _exit(4);
    }
    for (uint32_t i = 0; i < FOREIGN_ENTRIES; i++) {
        MDB_val entry = {.mv_data = &i, .mv_size = sizeof i};
        mdb_put(txn, dbi, &entry, &entry, 0);
    }
    mdb_txn_commit(txn);
    mdb_env_close(env);
}

static void make_sqlite_database(const char *path)
{
    sqlite3 *db = try_open(path);
    must(db, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    sqlite3_close(db);
}

static void files_of_others_are_refused(void **state)
{
    char path[PATH_SIZE];
    static const char zeros[3 * DAMAGE_PAGE];
    path_in(*state, "other", path);
    write_text(path, "", 0);
    expect_refusal(path, "an empty file");
    write_text(path, "hello\n", 6);
    expect_refusal(path, "a text");
    write_text(path, zeros, sizeof zeros);
    expect_refusal(path, "zeros");
    write_text(path, (const char *)newest.bytes, 100);
    expect_refusal(path, "a beginning");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refusal(path, "a pipe");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refusal(path, "a folder");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(in_child(make_sqlite_database, path, false), 0);
    expect_refusal(path, "a database of SQLite");
    unlink(path);
    assert_int_equal(in_child(make_foreign_lmdb, path, false), 0);
    expect_refusal(path, "a file of LMDB's");
    unlink(path);
}

/* --- Stores that are well --- */

static uint64_t history_seed;

/* Random operations on some tables, with large values, long keys and dropped tables. */
static void live_a_life(const char *path)
{
    sqlite3 *db = open_beside(path);
    uint64_t random = history_seed;
    must(db, "PRAGMA recursive_triggers = 1");
    for (int i = 0; i < OPERATIONS; i++) {
        unsigned table = random_below(&random, 4);
        char *sql = sqlite3_mprintf(
            "CREATE VIRTUAL TABLE IF NOT EXISTS T%u USING ptable(V, W, store='life', sync=off); "
            "BEGIN; INSERT OR REPLACE INTO T%u VALUES('p%u', printf('%%.*c%u', %u, 'k'), %u, "
            "printf('%%.*c', %u, 'w'));"
            "DELETE FROM T%u WHERE PartitionKey = 'p%u' AND V %% 7 = %u;"
            "UPDATE T%u SET W = 'changed' WHERE V = %u; %s",
            table, table, random_below(&random, 3), random_below(&random, 400),
            random_below(&random, 8) == 0 ? 1 + random_below(&random, 1500) : 1,
            random_below(&random, 100),
            random_below(&random, 4) == 0 ? 1 + random_below(&random, 30000) : 20, table,
            random_below(&random, 3), random_below(&random, 90), table, random_below(&random, 100),
            random_below(&random, 5) == 0 ? "ROLLBACK" : "COMMIT");
        must(db, sql);
        sqlite3_free(sql);
        if (random_below(&random, 60) == 0) {
            sql = sqlite3_mprintf("DROP TABLE T%u; DELETE FROM pt_tables WHERE Store = 'life' AND "
                                  "TableName = 'T%u'",
                                  table, table);
            must(db, sql);
            sqlite3_free(sql);
        }
    }
    sqlite3_close(db);
}

static void expect_sound(const char *path, const char *what)
{
    assert_int_equal(in_child(check_and_open, path, false), 0);
    if (!is_sound()) {
        fail_copy(what, "a sound store", history_seed);
    }
}

static void stores_with_a_history_are_sound(void **state)
{
    char path[PATH_SIZE];
    int64_t lives = setting("N", DEFAULT_COPIES) / COPIES_A_LIFE + 1;
    path_in(*state, "life", path);
    history_seed = (uint64_t)setting("SEED", 1);
    for (int64_t i = 0; i < lives; i++, history_seed++) {
        assert_int_equal(in_child(live_a_life, path, false), 0);
        expect_sound(path, "after a history");
    }
    print_message("# %lld random operations, %lld checks\n", (long long)lives * OPERATIONS,
                  (long long)lives);
}

/* A connection that checks again and again until its input ends, and says how often. */
static int check_until_told(const char *path)
{
    sqlite3 *db = open_memory();
    char *sql = sqlite3_mprintf("SELECT pt_check(%Q)", path);
    int64_t checks = 0;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, 0) == 0 || checks == 0) {
        sqlite3_stmt *statement = NULL;
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
        if (sqlite3_step(statement) != SQLITE_ROW ||
            strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0) {
            fprintf(stderr, "%s %s\n", (const char *)sqlite3_column_text(statement, 0),
                    sqlite3_errmsg(db));
            return 1;
        }
        sqlite3_finalize(statement);
        checks++;
        write_all(STDOUT_FILENO, &checks, sizeof checks);
    }
    sqlite3_free(sql);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

static void stores_being_written_are_sound(void **state)
{
    char path[PATH_SIZE];
    int64_t checks = 0;
    path_in(*state, "life", path);
    history_seed = (uint64_t)setting("SEED", 1) + 1000;
    assert_int_equal(in_child(live_a_life, path, false), 0);
    const char *const arguments[] = {path, NULL};
    child checker = start_child("check", arguments);
    assert_true(read_all(checker.from, &checks, sizeof checks));
    for (int64_t i = 0; i <= setting("N", DEFAULT_COPIES) / COPIES_A_LIFE; i++, history_seed++) {
        assert_int_equal(in_child(live_a_life, path, false), 0);
    }
    close(checker.to);
    checker.to = -1;
    while (read_all(checker.from, &checks, sizeof checks)) {
    }
    int status = end_of_child(&checker);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    print_message("# %lld checks while another process wrote\n", (long long)checks);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "check") == 0) {
        return check_until_told(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_is_sound_and_has_everything),
        cmocka_unit_test(files_of_others_are_refused),
        cmocka_unit_test(stores_with_a_history_are_sound),
        cmocka_unit_test(stores_being_written_are_sound),
        cmocka_unit_test(damaged_copies),
    };
    return cmocka_run_group_tests(tests, make_store, remove_folder);
}
