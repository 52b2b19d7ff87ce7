/*
 * Transactions so large that their writes are put into a file (base/swap_file.h): what they take in
 * memory, and what happens if that file cannot be had, or is lost. Where the file system of /tmp
 * cannot have such a file, much of this shows nothing new.
 */
#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>

#include "faults/system_calls.h"
#include "fixtures/child.h"
#include "fixtures/folder.h"
#include "fixtures/process_status.h"

enum {
    MIB = 1 << 20,
    ROWS = 12000,
    ROW_SIZE = 1900, /* two on a page */
    HEAP_MIB = 16,   /* what the memory of a transaction takes before it is put into a file */
    OTHER_MIB = 24,
};

#define INSERT_ROWS                                                                                \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"                 \
    "INSERT INTO t SELECT '%s', printf('%%08d', %s), printf('%%.*c', %d, 'v') FROM n"

static void insert_rows(sqlite3 *db, const char *partition, bool in_order)
{
    run(db, INSERT_ROWS, ROWS, partition, in_order ? "k" : "k * 7919 % 99991", ROW_SIZE);
}

static sqlite3 *open_with_table(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V String, sync='off')");
    return db;
}

static void check_rows(sqlite3 *db, int64_t rows)
{
    assert_number(db, rows, "SELECT count(*) FROM t WHERE length(V) = %d", ROW_SIZE);
}

/* At once, unlike DELETE FROM t. */
static void empty_table(sqlite3 *db)
{
    run(db, "DELETE FROM pt_tables WHERE TableName = 't'");
    run(db, "INSERT INTO pt_tables(TableName) VALUES('t')");
}

static bool is_fit(const char *folder)
{
    struct statfs place;
    assert_int_equal(statfs(folder, &place), 0);
    return place.f_type == 0xEF53 || place.f_type == 0x58465342;
}

/* Open files in the folder that have content and no name. */
static int nameless_files(const char *folder)
{
    int count = 0;
    DIR *entries = opendir("/proc/self/fd");
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        struct stat file;
        char target[PATH_SIZE] = "";
        ssize_t size = readlinkat(dirfd(entries), entry->d_name, target, sizeof target - 1);
        count += size > 0 && strncmp(target, folder, strlen(folder)) == 0 &&
                 strstr(target, "/#") != NULL &&
                 fstatat(dirfd(entries), entry->d_name, &file, 0) == 0 && file.st_size > 0;
    }
    closedir(entries);
    return count;
}

/* --- Memory --- */

static int64_t resident_mib(void)
{
    long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    assert_non_null(sizes);
    assert_int_equal(fscanf(sizes, "%*d %ld", &pages), 1);
    fclose(sizes);
    return (int64_t)pages * sysconf(_SC_PAGESIZE) / MIB;
}

static void forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "5", 1), 1);
    close(fd);
}

static int64_t peak_mib(void)
{
    return process_status_kib("VmHWM") / 1024;
}

/* Sanitizers keep memory of their own for each byte. */
static bool memory_can_be_measured(const char *folder)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return false;
#endif
    return is_fit(folder);
}

static void a_transaction_is_mostly_on_the_disk(void **state)
{
    for (int in_order = 0; in_order <= 1; in_order++) {
        sqlite3 *db = open_with_table(*state);
        int64_t before = resident_mib();
        run(db, "BEGIN");
        insert_rows(db, "p", in_order);
        insert_rows(db, "q", in_order);
        if (memory_can_be_measured(*state)) {
            assert_in_range(resident_mib() - before, 0, HEAP_MIB + OTHER_MIB);
        }
        assert_int_equal(nameless_files(*state), is_fit(*state));
        check_rows(db, 2 * ROWS);
        run(db, "UPDATE t SET V = V || '' WHERE RowKey LIKE '%%7'");
        run(db, "COMMIT");
        assert_int_equal(nameless_files(*state), 0);
        check_rows(db, 2 * ROWS);
        assert_number(db, 1, "SELECT pt_check() = 'ok'");
        empty_table(db);
        close_database(db);
    }
}

/* A COMMIT reads it from the beginning to the end. */
static void a_commit_in_key_order_leaves_it_there(void **state)
{
    sqlite3 *db = open_with_table(*state);
    run(db, "BEGIN");
    for (char partition = 'a'; partition <= 'c'; partition++) {
        insert_rows(db, (char[]){partition, 0}, true);
    }
    int64_t before = resident_mib();
    forget_peak();
    run(db, "COMMIT");
    if (memory_can_be_measured(*state)) {
        /* The pages that LMDB writes, and not the transaction as well. */
        assert_in_range(peak_mib() - before, 0, 3 * ROWS / 2 * 4096LL / MIB + OTHER_MIB);
    }
    check_rows(db, 3 * ROWS);
    close_database(db);
}

static void going_back_gives_the_file_back(void **state)
{
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "old", true);
    run(db, "BEGIN");
    insert_rows(db, "a", true);
    run(db, "SAVEPOINT s");
    insert_rows(db, "b", false);
    run(db, "DELETE FROM t WHERE PartitionKey = 'old'");
    run(db, "ROLLBACK TO s");
    assert_number(db, 2 * ROWS, "SELECT count(*) FROM t");
    insert_rows(db, "c", false);
    run(db, "COMMIT");
    assert_int_equal(nameless_files(*state), 0);
    check_rows(db, 3 * ROWS);
    run(db, "BEGIN");
    insert_rows(db, "d", false);
    run(db, "ROLLBACK");
    assert_int_equal(nameless_files(*state), 0);
    run(db, "BEGIN; SAVEPOINT s");
    insert_rows(db, "d", true);
    run(db, "ROLLBACK TO s; INSERT INTO t VALUES ('small', '1', printf('%%.*c', %d, 'v')); COMMIT",
        ROW_SIZE);
    assert_int_equal(nameless_files(*state), 0);
    check_rows(db, 3 * ROWS + 1);
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

static void a_private_store_has_no_file(void **state)
{
    (void)state;
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V String)");
    run(db, "BEGIN");
    insert_rows(db, "p", true);
    assert_int_equal(nameless_files("/"), 0);
    run(db, "COMMIT");
    assert_number(db, ROWS, "SELECT count(*) FROM t");
    close_database(db);
}

/* --- Calls that fail --- */

static const char *failing_call;
static int failing_from; /* so many calls of that name succeed first */
static int failing_error;

static system_call_verdict fail_named(const system_call *call)
{
    bool fails = failing_call != NULL && strcmp(call->name, failing_call) == 0 &&
                 (call->kind != CALL_OPEN || (call->flags & O_TMPFILE) == O_TMPFILE) &&
                 failing_from-- <= 0;
    return (system_call_verdict){.error = fails ? failing_error : 0};
}

static void fail_from(const char *call, int from, int error)
{
    failing_call = call;
    failing_from = from;
    failing_error = error;
    system_call_judge = call != NULL ? fail_named : NULL;
}

/* Then the transaction is in memory, from its first or a later part on. */
static void without_a_file_there_is_memory(void **state)
{
    static const struct {
        const char *call;
        int error;
    } faults[] = {{"open", EMFILE},
                  {"fstatfs", EIO},
                  {"mmap", ENOMEM},
                  {"fallocate", ENOSPC},
                  {"fallocate", EOPNOTSUPP}};
    sqlite3 *db = open_with_table(*state);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        for (int from = 0; from < 3; from += 2) {
            run(db, "BEGIN");
            fail_from(faults[i].call, from, faults[i].error);
            insert_rows(db, "p", i % 2 == 0);
            fail_from(NULL, 0, 0);
            run(db, "COMMIT");
            check_rows(db, ROWS);
            empty_table(db);
        }
    }
    close_database(db);
}

/* A page that was put aside could not be written: what COMMIT has read may be wrong. */
static void a_lost_page_is_noticed(void **state)
{
    if (!is_fit(*state)) {
        skip();
    }
    sqlite3 *db = open_with_table(*state);
    insert_rows(db, "old", true);
    run(db, "BEGIN");
    insert_rows(db, "p", false);
    fail_from("sync_file_range", 0, EIO);
    fails(db, SQLITE_IOERR, "COMMIT");
    says(db, "main.db-ptable");
    says(db, "has lost a part of this large transaction: Input/output error; see to the disk");
    fail_from(NULL, 0, 0);
    check_rows(db, ROWS);
    run(db, "INSERT INTO t VALUES ('q', '1', printf('%%.*c', %d, 'v'))", ROW_SIZE);
    check_rows(db, ROWS + 1);
    assert_number(db, 1, "SELECT pt_check() = 'ok'");
    close_database(db);
}

/* --- fork() --- */

#define SHARED "CREATE VIRTUAL TABLE t USING ptable(V String, store='%s/shared.ptable', sync='off')"

/* In the child; cmocka's assertions would go on with the parent's tests. What it inserts stays in
 * its own copy of the memory. */
static void use_inherited(sqlite3 *db)
{
    code_of(db, "INSERT INTO t VALUES ('x', '1', 'child')");
    bool refused =
        code_of(db, "SELECT count(*) FROM t") == SQLITE_CANTOPEN &&
        code_of(db, "UPDATE t SET V = 'child' WHERE PartitionKey = 'p'") == SQLITE_CANTOPEN &&
        code_of(db, "COMMIT") == SQLITE_CANTOPEN;
    code_of(db, "ROLLBACK");
    _exit(refused && sqlite3_close(db) == SQLITE_OK ? 0 : 1);
}

static void a_child_changes_nothing(void **state)
{
    sqlite3 *db = open_database(*state, ":memory:");
    run(db, SHARED, (const char *)*state);
    run(db, "BEGIN");
    insert_rows(db, "p", true);
    int status = -1;
    pid_t pid = fork_process();
    if (pid == 0) {
        use_inherited(db);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    insert_rows(db, "q", true);
    run(db, "COMMIT");
    check_rows(db, 2 * ROWS);
    assert_number(db, 1, "SELECT pt_check('%s/shared.ptable') = 'ok'", (const char *)*state);
    close_database(db);
}

/* --- A small disk --- */

#define DISK_MIB "300"

static int mount_disk(void **state)
{
    char command[3 * PATH_SIZE];
    if (make_folder(state) != 0) {
        return -1;
    }
    const char *folder = *state;
    snprintf(command, sizeof command,
             "{ cd '%s' && mkdir disk && truncate -s " DISK_MIB "M image && "
             "PATH=$PATH:/usr/sbin:/sbin && mkfs.ext4 -q -F image && mount -o loop image disk; } "
             ">/dev/null 2>&1",
             folder);
    bool mounted = unshare(CLONE_NEWNS) == 0 &&
                   mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 && system(command) == 0;
    if (!mounted) {
        remove_folder(state);
        *state = NULL;
    }
    return 0;
}

static int unmount_disk(void **state)
{
    char path[PATH_SIZE];
    if (*state == NULL) {
        return 0;
    }
    path_in(*state, "disk", path);
    return umount(path) == 0 ? remove_folder(state) : -1;
}

/* Fills the disk up but for so many MiB. */
static void leave_mib(const char *disk, int64_t mib)
{
    char path[PATH_SIZE];
    struct statvfs room;
    path_in(disk, "filler", path);
    unlink(path);
    assert_int_equal(statvfs(disk, &room), 0);
    off_t size = (off_t)room.f_bavail * (off_t)room.f_frsize - (off_t)mib * MIB;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && size > 0);
    assert_int_equal(posix_fallocate(fd, 0, size), 0);
    close(fd);
}

/* Whatever room there is, the commit is the only one that can lack it. */
static void a_disk_with_little_room(void **state)
{
    char disk[PATH_SIZE];
    if (*state == NULL) {
        print_message("# mounting a file system is not permitted here\n");
        skip();
    }
    path_in(*state, "disk", disk);
    sqlite3 *db = open_with_table(disk);
    int refused = 0;
    int shared = 0; /* transactions of which a part was in a file */
    static const int rooms[] = {4, 70, 120, 200};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        leave_mib(disk, rooms[i]);
        run(db, "BEGIN");
        insert_rows(db, "p", i % 2 == 0);
        shared += nameless_files(disk);
        int code = code_of(db, "COMMIT");
        if (code != SQLITE_OK) {
            assert_int_equal(code, SQLITE_FULL);
            says(db, "make room on the disk");
            refused++;
        }
        assert_number(db, 1, "SELECT pt_check() = 'ok'");
        check_rows(db, code == SQLITE_OK ? ROWS : 0);
        leave_mib(disk, 5);
        empty_table(db);
        run(db, "SELECT pt_compact()");
        assert_int_equal(nameless_files(*state), 0);
    }
    print_message("# %d refused, %d with a part of it in a file\n", refused, shared);
    assert_in_range(refused, 1, 2);
    assert_in_range(shared, 2, 3);
    close_database(db);
}

int main(void)
{
    setenv("TMPDIR", "/tmp", 1); /* only a disk's file system has such a file */
    const struct CMUnitTest tests[] = {
        folder_test(a_transaction_is_mostly_on_the_disk),
        folder_test(a_commit_in_key_order_leaves_it_there),
        folder_test(going_back_gives_the_file_back),
        folder_test(a_private_store_has_no_file),
        folder_test(without_a_file_there_is_memory),
        folder_test(a_lost_page_is_noticed),
        folder_test(a_child_changes_nothing),
        cmocka_unit_test_setup_teardown(a_disk_with_little_room, mount_disk, unmount_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
