/*
 * A disk that is full, a real one: a small file system in memory, filled up but for so many pages
 * that a commit fails at each of its writes in turn. What fails leaves nothing, and all goes on
 * once there is room. Needs the right to mount.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "fixtures/store.h"

enum { PAGE = 4096, ROWS = 60, PAGES_MAX = 400, PAGES_LEFT = 500, DELETES = 100 };

#define DISK_SIZE "size=6m"
#define STORE "main.db-ptable"

/* --- The disk --- */

static int mount_disk(void **state)
{
    if (make_folder(state) != 0) {
        return -1;
    }
    bool mounted = unshare(CLONE_NEWNS) == 0 &&
                   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                   mount("disk", *state, "tmpfs", 0, DISK_SIZE) == 0;
    if (!mounted) {
        remove_folder(state);
        *state = NULL;
    }
    return 0;
}

static int unmount_disk(void **state)
{
    if (*state == NULL) {
        return 0;
    }
    return umount(*state) == 0 ? remove_folder(state) : -1;
}

static const char *need_disk(void **state)
{
    if (*state == NULL) {
        print_message("# mounting a file system is not permitted here\n");
        skip();
    }
    return *state;
}

/* Fills the disk up but for so many pages. */
static void leave_pages(const char *folder, int pages)
{
    char path[PATH_SIZE];
    struct statvfs disk;
    path_in(folder, "filler", path);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fstatvfs(fd, &disk), 0);
    off_t size = ((off_t)disk.f_bavail - pages) * (off_t)disk.f_frsize;
    assert_true(size > 0);
    assert_int_equal(posix_fallocate(fd, 0, size), 0);
    close(fd);
}

static void make_room(const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, "filler", path);
    assert_int_equal(unlink(path), 0);
}

static void remove_files(const char *folder)
{
    static const char *const names[] = {"main.db", STORE, STORE "-lock"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[PATH_SIZE];
        path_in(folder, names[i], path);
        assert_int_equal(unlink(path), 0);
    }
}

/* --- Transactions --- */

typedef struct transaction {
    const char *journal;
    const char *sql; /* makes all of V new, and writes so much more */
    bool is_mixed;
} transaction;

#define WRITE_STORE                                                                                \
    "UPDATE t SET V = 'new'; INSERT INTO t SELECT 'q', RowKey, printf('%%.2000c', 'x') FROM t;"    \
    "INSERT INTO t VALUES('large', '1', hex(zeroblob(50000)));"
#define WRITE_MAIN "UPDATE o SET v = 'new'; INSERT INTO o SELECT printf('%%.2000c', 'x') FROM o;"

static const transaction transactions[] = {
    {"delete", WRITE_STORE, false},
    {"delete", WRITE_STORE WRITE_MAIN, true},
    {"wal", WRITE_STORE WRITE_MAIN, true},
    {"delete", WRITE_MAIN WRITE_STORE, true},
};

static sqlite3 *open_with_tables(const char *folder, const transaction *kind)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = %s; PRAGMA synchronous = normal", kind->journal);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V String); CREATE TABLE o(v);");
    run(db,
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
        "INSERT INTO t SELECT 'p', k, 'old' FROM n; INSERT INTO o SELECT V FROM t",
        ROWS);
    return db;
}

/* Whatever SQLite's own files lack room for it says in its own words. */
static bool is_explained(sqlite3 *db)
{
    const char *text = sqlite3_errmsg(db);
    if (strstr(text, "ptable: ") != NULL) {
        return strstr(text, STORE) != NULL && strstr(text, "make room on the disk") != NULL;
    }
    return strstr(text, "full") != NULL || strstr(text, "disk I/O error") != NULL ||
           strstr(text, "unable to open") != NULL;
}

static void check_old(sqlite3 *db)
{
    assert_number(db, ROWS, "SELECT count(*) FROM t WHERE V = 'old'");
    assert_number(db, ROWS, "SELECT count(*) FROM t");
    assert_number(db, ROWS, "SELECT count(*) FROM o WHERE v = 'old'");
    assert_number(db, ROWS, "SELECT count(*) FROM o");
    assert_number(db, ROWS, "SELECT Entities FROM pt_tables WHERE TableName = 't'");
}

static void check_new(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    assert_number(db, ROWS, "SELECT count(*) FROM t WHERE V = 'new'");
    assert_number(db, 2 * ROWS + 1, "SELECT count(*) FROM t");
    assert_number(db, 1, "SELECT length(V) = 100000 FROM t WHERE PartitionKey = 'large'");
    close_database(db);
    assert_store(folder, STORE, 1, 2 * ROWS + 1);
}

/* True if there was room; if not, nothing remains, and something else can be written. */
static bool commit_with_pages(sqlite3 *db, const char *folder, const char *sql, int pages)
{
    leave_pages(folder, pages);
    int code = code_of(db, "BEGIN");
    if (code == SQLITE_OK) {
        code = code_of(db, sql);
    }
    if (code == SQLITE_OK) {
        code = code_of(db, "COMMIT");
    }
    bool explained = code == SQLITE_OK || is_explained(db);
    if (!explained) {
        print_error("%d pages: %d, %s\n", pages, code, sqlite3_errmsg(db));
    }
    make_room(folder);
    assert_true(explained);
    if (code == SQLITE_OK) {
        return true;
    }
    if (sqlite3_get_autocommit(db) == 0) {
        run(db, "ROLLBACK");
    }
    check_old(db);
    run(db, "UPDATE t SET V = 'old' WHERE RowKey = '1'; UPDATE o SET v = 'old'");
    return false;
}

static void the_disk_fills_at_every_page_of_a_commit(void **state)
{
    const char *folder = need_disk(state);
    for (size_t i = 0; i < sizeof transactions / sizeof transactions[0]; i++) {
        sqlite3 *db = open_with_tables(folder, &transactions[i]);
        int pages = 0;
        while (!commit_with_pages(db, folder, transactions[i].sql, pages)) {
            pages++;
            assert_in_range(pages, 0, PAGES_MAX);
        }
        assert_true(pages > 3);
        print_message("# %s%s: room for %d pages was needed, all before were too few\n",
                      transactions[i].journal,
                      transactions[i].is_mixed ? " with the main database" : "", pages);
        close_database(db);
        check_new(folder);
        remove_files(folder);
    }
}

/* The store keeps some of the disk for deletes. */
static void deletes_need_no_room(void **state)
{
    const char *folder = need_disk(state);
    sqlite3 *db = open_with_tables(folder, &transactions[0]);
    leave_pages(folder, PAGES_LEFT);
    int written = 0;
    while (code_of(db, "INSERT INTO t VALUES('fill', %d, printf('%%.3000c', 'x'))", written) ==
           SQLITE_OK) {
        written++;
    }
    assert_true(is_explained(db) && written > PAGES_LEFT / 4);
    make_room(folder);
    leave_pages(folder, 0);
    for (int i = 0; i < DELETES; i++) {
        run(db, "DELETE FROM t WHERE PartitionKey = 'fill' AND RowKey = %d", i);
    }
    run(db, "BEGIN; DELETE FROM t WHERE PartitionKey = 'fill' AND RowKey LIKE '%%7'; COMMIT");
    run(db, "INSERT INTO t VALUES('again', 1, printf('%%.3000c', 'x'))");
    run(db, "DELETE FROM pt_tables WHERE TableName = 't'");
    run(db, "INSERT INTO pt_tables(TableName) VALUES('t')");
    run(db, "INSERT INTO t VALUES('again', 1, printf('%%.3000c', 'x'))");
    assert_number(db, 1, "SELECT count(*) FROM t");
    make_room(folder);
    close_database(db);
    remove_files(folder);
}

/* --- The lock file --- */

enum { LOCK_FILE_PAGES = 16, READERS = 100 };

static int open_reader(const char *folder, sqlite3 **db)
{
    *db = open_database(folder, ":memory:");
    return code_of(*db,
                   "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/" STORE "');"
                   "BEGIN; SELECT count(*) FROM t",
                   folder);
}

/* LMDB writes to its lock file through a map: a page without room would end the process. */
static void a_lock_file_without_room_is_refused(void **state)
{
    const char *folder = need_disk(state);
    char path[PATH_SIZE];
    path_in(folder, STORE "-lock", path);
    close_database(open_with_tables(folder, &transactions[0]));
    for (int pages = 0; pages <= LOCK_FILE_PAGES + 1; pages++) {
        sqlite3 *db;
        assert_int_equal(unlink(path), 0);
        leave_pages(folder, pages);
        int code = open_reader(folder, &db);
        make_room(folder);
        if (pages < LOCK_FILE_PAGES) {
            assert_int_equal(code, SQLITE_FULL);
            says(db, "make room on the disk");
            close_database(db);
            assert_int_equal(open_reader(folder, &db), SQLITE_OK);
        }
        assert_number(db, ROWS, "SELECT count(*) FROM t");
        close_database(db);
    }
}

static void a_private_store_without_room_is_refused(void **state)
{
    const char *folder = need_disk(state);
    int code = SQLITE_FULL;
    setenv("SQLITE_TMPDIR", folder, 1);
    for (int pages = 0; code != SQLITE_OK; pages++) {
        assert_in_range(pages, 0, PAGES_MAX);
        leave_pages(folder, pages);
        sqlite3 *db = open_database(folder, ":memory:");
        code = code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V String)");
        make_room(folder);
        if (code != SQLITE_OK) {
            assert_int_equal(code, SQLITE_FULL);
            says(db, "make room on the disk");
            run(db, "CREATE VIRTUAL TABLE t USING ptable(V String)");
        }
        run(db, "INSERT INTO t VALUES('p', '1', 'x')");
        close_database(db);
    }
    unsetenv("SQLITE_TMPDIR");
}

static void many_read_without_room(void **state)
{
    const char *folder = need_disk(state);
    sqlite3 *readers[READERS];
    close_database(open_with_tables(folder, &transactions[0]));
    leave_pages(folder, 0);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(open_reader(folder, &readers[i]), SQLITE_OK);
    }
    for (int i = 0; i < READERS; i++) {
        close_database(readers[i]);
    }
    make_room(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_disk_fills_at_every_page_of_a_commit, mount_disk,
                                        unmount_disk),
        cmocka_unit_test_setup_teardown(deletes_need_no_room, mount_disk, unmount_disk),
        cmocka_unit_test_setup_teardown(a_lock_file_without_room_is_refused, mount_disk,
                                        unmount_disk),
        cmocka_unit_test_setup_teardown(a_private_store_without_room_is_refused, mount_disk,
                                        unmount_disk),
        cmocka_unit_test_setup_teardown(many_read_without_room, mount_disk, unmount_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
