/*
 * The memory that a large transaction takes, which is measured when N, the number of entities, is
 * given; and the memory that stays when transactions have ended and stores are closed.
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "fixtures/child.h"
#include "fixtures/folder.h"
#include "lmdb/file/locks.h"

enum {
    ENTITY_SIZE = 130, /* keys and values */
    FACTOR = 3,        /* the transaction may take so many times its data */
    VALUE_SIZE = 94,
};

typedef struct usage {
    int64_t before; /* largest resident sizes, in KiB */
    int64_t after;
    int64_t entities;
} usage;

static int64_t peak_kib(void)
{
    struct rusage self;
    return getrusage(RUSAGE_SELF, &self) == 0 ? self.ru_maxrss : -1;
}

/* Keys of 18 bytes each; 1000000007 is prime, so a multiple of the number is a random order. */
#define LOAD                                                                                       \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %lld)"               \
    "INSERT INTO t SELECT printf('partition %%08d', i / 1000), printf('row key %%010d', i),"       \
    " printf('%%.*c', %d, 'v') FROM (SELECT %s AS i FROM n)"

/* load path entities order: one transaction in this process. */
static int load(char **arguments)
{
    usage used = {0};
    int64_t entities = strtoll(arguments[1], NULL, 10);
    bool ordered = strcmp(arguments[2], "ordered") == 0;
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V String, sync='off')")) {
        return 1;
    }
    used.before = peak_kib();
    int code =
        code_of(db, LOAD, entities, VALUE_SIZE, ordered ? "k" : "k * 387420489 % 1000000007");
    used.after = peak_kib();
    used.entities = first_number(db, "SELECT count(*) FROM t", -1);
    if (code != SQLITE_OK) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
    }
    write_all(STDOUT_FILENO, &used, sizeof used);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

static void check_load(const char *folder, const char *order)
{
    int64_t entities = setting("N", 0);
    if (entities == 0) {
        skip();
    }
    char path[PATH_SIZE];
    char count[24];
    path_in(folder, "main.db", path);
    snprintf(count, sizeof count, "%lld", (long long)entities);
    const char *const arguments[] = {path, count, order, NULL};
    child loader = start_child("load", arguments);
    usage used;
    assert_true(read_all(loader.from, &used, sizeof used));
    stop_child(&loader);
    int64_t data_kib = entities * ENTITY_SIZE / 1024;
    printf("# %lld entities of %d bytes, %s: %lld MiB of memory, %.2f times the data\n",
           (long long)entities, ENTITY_SIZE, order, (long long)(used.after - used.before) / 1024,
           (double)(used.after - used.before) / (double)data_kib);
    assert_int_equal(used.entities, entities);
    assert_true(used.after - used.before < FACTOR * data_kib);
}

static void a_load_in_key_order_takes_little_memory(void **state)
{
    check_load(*state, "ordered");
}

static void a_load_in_random_order_takes_little_memory(void **state)
{
    check_load(*state, "random");
}

/* --- What stays --- */

enum {
    MIB = 1 << 20,
    LARGE_ROWS = 22000, /* two on a page: they change 44 MB of pages */
    LARGE_SIZE = 1900,
    KEPT_MIB = 32,
    OTHER_MIB = 8, /* the library, SQLite, and what the C library does not give back */
    STORES = 60,
};

static int64_t resident_mib(void)
{
    long pages = 0;
    long shared = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    assert_non_null(sizes);
    assert_int_equal(fscanf(sizes, "%*d %ld %ld", &pages, &shared), 2);
    fclose(sizes);
    return (int64_t)(pages - shared) * sysconf(_SC_PAGESIZE) / MIB;
}

/* Sanitizers keep memory that was freed, to find uses of it. */
static void skip_with_sanitizer(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip();
#endif
}

static void insert_rows(sqlite3 *db, const char *name, int rows)
{
    run(db,
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
        "INSERT OR REPLACE INTO %s SELECT 'p', printf('%%08d', k * 7919 %% 99991),"
        " printf('%%.*c', %d, 'v') FROM n",
        rows, name, LARGE_SIZE);
}

static sqlite3 *open_with_table(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = wal"); /* its readers do not keep others from committing */
    run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V String, sync='off')");
    return db;
}

/* LMDB keeps the memory of all pages that a transaction has changed, until it is closed. */
static void a_committed_transaction_gives_its_memory_back(void **state)
{
    skip_with_sanitizer();
    sqlite3 *db = open_with_table(*state);
    sqlite3 *other = open_with_table(*state);
    insert_rows(db, "t", 1);
    assert_int_equal(number(other, "SELECT count(*) FROM t"), 1);
    int64_t before = resident_mib();
    insert_rows(db, "t", LARGE_ROWS);
    assert_true(resident_mib() - before < OTHER_MIB);
    assert_int_equal(number(other, "SELECT count(*) FROM t"), LARGE_ROWS);
    run(db, "BEGIN; UPDATE t SET V = V || 'w'; SELECT count(*) FROM t; COMMIT");
    assert_true(resident_mib() - before < OTHER_MIB);
    insert_rows(db, "t", 10);
    assert_int_equal(number(other, "SELECT count(*) FROM t WHERE length(V) = %d", LARGE_SIZE), 10);
    close_database(other);
    close_database(db);
}

static void a_large_value_gives_its_memory_back(void **state)
{
    skip_with_sanitizer();
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    int64_t before = resident_mib();
    run(db, "INSERT INTO t VALUES ('q', 'r', printf('%%.*c', %d, 'v'))", 100 * MIB);
    assert_true(resident_mib() - before < OTHER_MIB);
    assert_int_equal(number(db, "SELECT length(V) FROM t WHERE PartitionKey = 'q'"), 100 * MIB);
    assert_true(resident_mib() - before < OTHER_MIB);
    close_database(db);
}

static void a_private_store_gives_the_memory_of_its_transactions_back(void **state)
{
    (void)state;
    skip_with_sanitizer();
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V String)");
    insert_rows(db, "t", 1);
    int64_t before = resident_mib();
    insert_rows(db, "t", LARGE_ROWS);
    assert_true(resident_mib() - before < OTHER_MIB);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), LARGE_ROWS);
    close_database(db);
}

static void a_rolled_back_transaction_gives_its_memory_back(void **state)
{
    skip_with_sanitizer();
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    int64_t before = resident_mib();
    run(db, "BEGIN");
    insert_rows(db, "t", LARGE_ROWS);
    run(db, "ROLLBACK");
    assert_true(resident_mib() - before < KEPT_MIB + OTHER_MIB);
    close_database(db);
}

/* The environment cannot be closed while a statement of this process reads it. */
static void memory_is_given_back_when_the_last_reader_ends(void **state)
{
    skip_with_sanitizer();
    sqlite3 *db = open_with_table(*state);
    sqlite3 *reader = open_with_table(*state);
    insert_rows(db, "t", 10);
    sqlite3_stmt *reading = step_into(reader, "SELECT V FROM t");
    int64_t before = resident_mib();
    insert_rows(db, "t", LARGE_ROWS);
    insert_rows(db, "t", 10);
    assert_true(resident_mib() - before > KEPT_MIB);
    expect_rest(reading, 9);
    assert_true(resident_mib() - before < OTHER_MIB);
    assert_int_equal(number(reader, "SELECT count(*) FROM t"), LARGE_ROWS);
    close_database(reader);
    close_database(db);
}

/* With another lock file of that name, processes that use the old one would not know of this one.
 * So the environment stays open, and so does the memory. */
static void a_store_without_its_lock_file_goes_on(void **state)
{
    char lock_file[PATH_SIZE];
    char moved[PATH_SIZE];
    path_in(*state, "main.db-ptable-lock", lock_file);
    path_in(*state, "moved", moved);
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    assert_int_equal(rename(lock_file, moved), 0);
    insert_rows(db, "t", LARGE_ROWS);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), LARGE_ROWS);
    insert_rows(db, "t", 10);
    assert_int_equal(access(lock_file, F_OK), -1);
    close(open(lock_file, O_CREAT | O_EXCL, 0600));
    insert_rows(db, "t", LARGE_ROWS);
    assert_int_equal(size_of(*state, "main.db-ptable-lock"), 0);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), LARGE_ROWS);
    close_database(db);
}

static void a_store_without_its_name_goes_on(void **state)
{
    char store[PATH_SIZE];
    char moved[PATH_SIZE];
    path_in(*state, "main.db-ptable", store);
    path_in(*state, "moved", moved);
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    run(db, "BEGIN");
    insert_rows(db, "t", LARGE_ROWS);
    assert_int_equal(rename(store, moved), 0);
    run(db, "COMMIT");
    assert_int_equal(number(db, "SELECT count(*) FROM t"), LARGE_ROWS);
    fails(db, SQLITE_READONLY_DBMOVED, "DELETE FROM t");
    close_database(db);
}

/* As a server does that opens its files as root. */
static void a_process_that_gave_up_its_rights_goes_on(void **state)
{
    enum { NOBODY = 65534 };
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(*state, 0755), 0); /* the names can be looked at */
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    run(db, "BEGIN");
    insert_rows(db, "t", LARGE_ROWS);
    assert_int_equal(seteuid(NOBODY), 0);
    int code = code_of(db, "COMMIT");
    int64_t rows = first_number(db, "SELECT count(*) FROM t", -1);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(code, SQLITE_OK);
    assert_int_equal(rows, LARGE_ROWS);
    close_database(db);
}

static void memory_is_given_back_when_no_other_process_opens_the_store(void **state)
{
    char store[PATH_SIZE];
    path_in(*state, "main.db-ptable", store);
    skip_with_sanitizer();
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    int64_t before = resident_mib();
    int gate = open(store, O_RDWR);
    assert_int_equal(pt_lock_take(gate, PT_LOCK_GATE, true, 0), SQLITE_OK);
    insert_rows(db, "t", LARGE_ROWS);
    assert_true(resident_mib() - before > KEPT_MIB);
    pt_lock_release(gate, PT_LOCK_GATE);
    close(gate);
    assert_int_equal(number(db, "SELECT count(*) FROM t"), LARGE_ROWS);
    assert_true(resident_mib() - before < OTHER_MIB);
    close_database(db);
}

/* Each open environment has lists of 1 and 2 MB. */
static void closed_stores_leave_no_memory(void **state)
{
    skip_with_sanitizer();
    /* Once a block of this size was freed, the C library takes smaller ones from its heap. */
    sqlite3_free(sqlite3_malloc(16 * MIB));
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "t", 1);
    int64_t before = resident_mib();
    for (int i = 0; i < STORES; i++) {
        run(db, "CREATE VIRTUAL TABLE s%d USING ptable(V String, store='%d.ptable')", i, i);
        run(db, "INSERT INTO s%d VALUES ('p', 'r', 'v')", i);
    }
    for (int i = 0; i < STORES; i++) {
        run(db, "DROP TABLE s%d", i);
    }
    assert_true(resident_mib() - before < KEPT_MIB + OTHER_MIB);
    close_database(db);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return load(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        folder_test(a_load_in_key_order_takes_little_memory),
        folder_test(a_load_in_random_order_takes_little_memory),
        folder_test(a_committed_transaction_gives_its_memory_back),
        folder_test(a_large_value_gives_its_memory_back),
        folder_test(a_private_store_gives_the_memory_of_its_transactions_back),
        folder_test(a_rolled_back_transaction_gives_its_memory_back),
        folder_test(memory_is_given_back_when_the_last_reader_ends),
        folder_test(a_store_without_its_lock_file_goes_on),
        folder_test(a_store_without_its_name_goes_on),
        folder_test(a_process_that_gave_up_its_rights_goes_on),
        folder_test(memory_is_given_back_when_no_other_process_opens_the_store),
        folder_test(closed_stores_leave_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
