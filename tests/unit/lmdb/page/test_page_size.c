/*
 * Stores whose pages are larger than the memory's: LMDB gives a file the page size of the machine
 * that it is made on, and a copy may be opened on another one, where pages need not lie at
 * multiples of their size.
 */
#include "fixtures/connection.h"
#include "fixtures/store_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MEMORY_PAGE = 4096, LARGEST_PAGE = 32768, RESERVED = 4 * LARGEST_PAGE, ROWS = 600 };

static long machine_page_size = MEMORY_PAGE;
static bool shifts_maps;
static bool hides_maps;

#pragma GCC visibility push(default)

long sysconf(int name)
{
    static long (*real)(int name);
    if (name == _SC_PAGESIZE) {
        return machine_page_size;
    }
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "sysconf");
        memcpy(&real, &found, sizeof real);
    }
    return real(name);
}

FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*real)(const char *, const char *);
    if (hides_maps && strcmp(path, "/proc/self/maps") == 0) {
        errno = ENOENT;
        return NULL;
    }
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "fopen");
        memcpy(&real, &found, sizeof real);
    }
    return real(path, mode);
}

/* An address that is a multiple of the memory's page size and of no larger one. */
static void *shifted_address(size_t size)
{
    uintptr_t start = (uintptr_t)syscall(SYS_mmap, NULL, size + RESERVED, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return (void *)((start + LARGEST_PAGE) / LARGEST_PAGE * LARGEST_PAGE + MEMORY_PAGE);
}

/* The kernel may choose any page of the memory for a file's first one. */
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (shifts_maps && fd >= 0 && address == NULL) {
        address = shifted_address(size);
        flags |= MAP_FIXED;
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, size, protection, flags, fd, offset);
}

#pragma GCC visibility pop

static sqlite3 *open_table(void)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE t USING ptable(v, store=%Q, sync='off')",
                                fixture_path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_free(sql);
    return db;
}

static void assert_answer(sqlite3 *db, const char *sql, const char *expected)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    if (sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), expected);
    sqlite3_finalize(statement);
}

/* Small rows, long keys, and values that take several pages. */
static void fill(sqlite3 *db)
{
    char sql[400];
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d) "
             "INSERT INTO t SELECT 'p' || (k %% 7), printf('%%05d', k), "
             "printf('%%.*c', k %% 300 + 1, 'x') FROM n;"
             "INSERT INTO t SELECT 'long', printf('%%.900c%%s', 'k', RowKey), v FROM t "
             "WHERE PartitionKey = 'p1';"
             "INSERT INTO t VALUES ('large', '1', zeroblob(100000)), "
             "('large', '2', zeroblob(5000))",
             ROWS);
    run_sql(db, sql);
}

/* What every reading of the table has to give. */
static const char *const answers[][2] = {
    {"SELECT count(*) FROM t", "688"},
    {"SELECT sum(length(v)) FROM t", "208157"},
    {"SELECT count(*) FROM (SELECT v FROM t ORDER BY EntityKey DESC)", "688"},
    {"SELECT count(*) FROM t WHERE PartitionKey = 'p3'", "86"},
    {"SELECT length(v) FROM t WHERE PartitionKey = 'p3' AND RowKey = '00010'", "11"},
    {"SELECT length(v) FROM t WHERE PartitionKey = 'large' AND RowKey = '1'", "100000"},
    {"SELECT count(DISTINCT PartitionKey) FROM t", "9"},
};

static void assert_answers(sqlite3 *db)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        assert_answer(db, answers[i][0], answers[i][1]);
    }
}

static void assert_usable(void)
{
    sqlite3 *db = open_table();
    assert_answers(db);
    run_sql(db, "UPDATE t SET v = v; INSERT INTO t VALUES ('new', '1', 1);"
                "DELETE FROM t WHERE PartitionKey = 'new'");
    assert_answers(db);
    char *check = sqlite3_mprintf("SELECT pt_check(%Q)", fixture_path);
    assert_answer(db, check, "ok");
    char *compact = sqlite3_mprintf("SELECT pt_compact(%Q)", fixture_path);
    run_sql(db, compact);
    assert_answers(db);
    assert_answer(db, check, "ok");
    sqlite3_free(compact);
    sqlite3_free(check);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void make_table_on_machine(long page_size)
{
    pt_store_info info = {0};
    machine_page_size = page_size;
    sqlite3 *db = open_table();
    fill(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    machine_page_size = MEMORY_PAGE;
    pt_store *store = open_store(fixture_path);
    assert_ok(engine->info(store, &info, &error));
    assert_int_equal(info.page_size, page_size);
    engine->close(store);
}

static void stores_of_machines_with_larger_pages_are_usable(void **state)
{
    (void)state;
    for (long page_size = MEMORY_PAGE; page_size <= LARGEST_PAGE; page_size *= 2) {
        make_table_on_machine(page_size);
        shifts_maps = true;
        assert_usable();
        shifts_maps = false;
        unlink(fixture_path);
    }
}

/* Where nobody knows how pages lie, larger ones cannot be told from damaged ones. */
static void without_proc_they_are_refused(void **state)
{
    (void)state;
    make_table_on_machine(2L * MEMORY_PAGE);
    shifts_maps = true;
    hides_maps = true;
    pt_store *store = NULL;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_IOERR, "/proc/self/maps");
    hides_maps = false;
    assert_usable();
    shifts_maps = false;
    unlink(fixture_path);
    hides_maps = true;
    make_table_on_machine(MEMORY_PAGE);
    assert_usable();
    hides_maps = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(stores_of_machines_with_larger_pages_are_usable),
        store_test(without_proc_they_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
