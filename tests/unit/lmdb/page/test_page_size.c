/*
 * Stores whose pages are larger than the memory's: LMDB gives a file the page size of the machine
 * that it is made on, and a copy may be opened on another one, where pages need not lie at
 * multiples of their size.
 */
#include "fixtures/connection.h"
#include "fixtures/store_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/ways.h"
#include "lmdb/leaf.h"
#include "lmdb/page/page.h"

enum { MEMORY_PAGE = 4096, LARGEST_PAGE = 32768, RESERVED = 4 * LARGEST_PAGE, ROWS = 600 };

static long machine_page_size = MEMORY_PAGE;
static bool shifts_maps;
static int reads_before_fault = -1; /* of a file; -1: none fails */

/* Maps of files, and how many of them are kept out of core dumps: from the first byte to the last.
 */
enum { MAPS_KNOWN = 64 };

static struct {
    const void *start;
    size_t size;
} maps[MAPS_KNOWN];

static unsigned map_count;
static unsigned not_dumped;
static unsigned cut_from_dumps; /* that are no such map */

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

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (reads_before_fault >= 0 && reads_before_fault-- == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, bytes, size, offset);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
    return pread(fd, bytes, size, offset);
}

/* An address where the machine's kernel may put a file's first page: it is a multiple of the
 * machine's page size, and if maps are shifted, of no larger one. */
static void *address_of_machine(size_t size)
{
    uintptr_t start = (uintptr_t)syscall(SYS_mmap, NULL, size + RESERVED, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    start = (start + LARGEST_PAGE) / LARGEST_PAGE * LARGEST_PAGE;
    return (void *)(start + (shifts_maps ? (size_t)machine_page_size : 0));
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && address == NULL) {
        address = address_of_machine(size);
        flags |= MAP_FIXED;
    }
    void *start = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (fd >= 0) {
        maps[map_count % MAPS_KNOWN].start = start;
        maps[map_count % MAPS_KNOWN].size = size;
        map_count++;
    }
    return start;
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, size, protection, flags, fd, offset);
}

int madvise(void *start, size_t size, int advice)
{
    if (advice == MADV_DONTDUMP) {
        unsigned at = 0;
        while (at < MAPS_KNOWN && (maps[at].start != start || maps[at].size != size)) {
            at++;
        }
        not_dumped += at < MAPS_KNOWN;
        cut_from_dumps += at == MAPS_KNOWN;
    }
    return (int)syscall(SYS_madvise, start, size, advice);
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

static void stores_of_machines_with_smaller_pages_are_usable(void **state)
{
    (void)state;
    make_table_on_machine(MEMORY_PAGE);
    machine_page_size = LARGEST_PAGE;
    assert_usable();
    machine_page_size = MEMORY_PAGE;
}

/* Opens the store with each read of the file failing in turn, and counts how often it is refused as
 * its pages are not found in memory. */
static int open_with_failing_reads(void)
{
    int refused = 0;
    bool failed = true;
    for (int read = 0; failed; read++) {
        pt_store *store = NULL;
        pt_error error = PT_ERROR_NONE;
        reads_before_fault = read;
        int rc = engine->open(fixture_path, 0, &store, &error);
        failed = reads_before_fault < 0;
        reads_before_fault = -1;
        assert_true(rc == SQLITE_OK || failed);
        if (rc == SQLITE_OK) {
            engine->close(store);
        } else {
            assert_int_equal(rc & 0xff, SQLITE_IOERR);
            refused += strstr(error.message, "larger pages than this machine") != NULL;
        }
        pt_error_clear(&error);
    }
    return refused;
}

/* Where nobody knows how pages lie, larger ones cannot be told from damaged ones. */
static void larger_pages_that_are_not_found_are_refused(void **state)
{
    (void)state;
    for (long page_size = MEMORY_PAGE; page_size <= LARGEST_PAGE; page_size *= 2) {
        make_table_on_machine(page_size);
        shifts_maps = true;
        assert_int_equal(open_with_failing_reads(), page_size != MEMORY_PAGE);
        assert_usable();
        shifts_maps = false;
        unlink(fixture_path);
    }
}

/* Puts the number where a page of the memory begins inside the main database's page, before the
 * entries, which are at its end. */
static void put_number_into_free_space(size_t page_size, uint64_t number)
{
    int fd = open(fixture_path, O_RDWR);
    uint8_t bytes[PT_LMDB_META_SIZE];
    uint8_t eight[8];
    pt_lmdb_meta metas[PT_LMDB_METAS];
    for (uint64_t i = 0; i < PT_LMDB_METAS; i++) {
        assert_int_equal(pread(fd, bytes, sizeof bytes, (off_t)(i * page_size)), sizeof bytes);
        assert_null(pt_lmdb_meta_read(bytes, i, &metas[i]));
    }
    const pt_lmdb_root *root = &metas[metas[0].version < metas[1].version].main;
    assert_int_equal(root->depth, 1);
    off_t at = (off_t)(root->page * page_size);
    assert_int_equal(pread(fd, bytes, PT_LMDB_PAGE_HEADER, at), PT_LMDB_PAGE_HEADER);
    size_t first = pt_get_le16(bytes + PT_LMDB_PAGE_UPPER_AT);
    size_t last = (first - sizeof eight) / MEMORY_PAGE * MEMORY_PAGE;
    assert_true(last > pt_get_le16(bytes + PT_LMDB_PAGE_LOWER_AT));
    pt_put_le64(eight, number);
    assert_int_equal(pwrite(fd, eight, sizeof eight, at + (off_t)last), sizeof eight);
    close(fd);
}

/* What only looks like the number of a page: of a meta page, of another one, of none in the file,
 * of none that a file could have. */
static void other_numbers_mislead_nobody(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {1, 2, 3, 100000, UINT64_MAX >> 1, UINT64_MAX};
    make_table_on_machine(LARGEST_PAGE);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        put_number_into_free_space(LARGEST_PAGE, numbers[i]);
        not_dumped = 0;
        cut_from_dumps = 0;
        shifts_maps = true;
        engine->close(open_store(fixture_path));
        shifts_maps = false;
        assert_int_equal(not_dumped, 1);
        assert_int_equal(cut_from_dumps, 0);
    }
    assert_usable();
}

/* Core dumps would take minutes. */
static void maps_are_not_dumped(void **state)
{
    (void)state;
    for (long page_size = MEMORY_PAGE; page_size <= LARGEST_PAGE; page_size *= 2) {
        make_table_on_machine(page_size);
        for (int shifted = 0; shifted < 2; shifted++) {
            not_dumped = 0;
            cut_from_dumps = 0;
            shifts_maps = shifted;
            engine->close(open_store(fixture_path));
            shifts_maps = false;
            assert_int_equal(not_dumped, 1);
            assert_int_equal(cut_from_dumps, 0);
        }
        unlink(fixture_path);
    }
}

static void leaves_of_larger_pages_are_left_to_lmdb(void **state)
{
    (void)state;
    assert_int_equal(pt_lmdb_leaf_is_known(MEMORY_PAGE), !PT_WAYS_ARE_GENERAL);
    for (size_t page_size = 2 * MEMORY_PAGE; page_size <= LARGEST_PAGE; page_size *= 2) {
        assert_false(pt_lmdb_leaf_is_known(page_size));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(stores_of_machines_with_larger_pages_are_usable),
        store_test(stores_of_machines_with_smaller_pages_are_usable),
        store_test(larger_pages_that_are_not_found_are_refused),
        store_test(other_numbers_mislead_nobody),
        store_test(maps_are_not_dumped),
        store_test(leaves_of_larger_pages_are_left_to_lmdb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
