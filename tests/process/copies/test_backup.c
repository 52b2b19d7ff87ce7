/*
 * pt_backup: a backup is one of the store's commits, whole, whatever others do meanwhile; one that
 * fails leaves nothing.
 *
 * N: backups under load, and moments at which a process that makes one is killed.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "faults/killing.h"
#include "faults/mortal_statement.h"
#include "faults/write_order.h"
#include "fixtures/backup.h"
#include "fixtures/mixed.h"
#include "fixtures/store.h"

enum {
    DEFAULT_BACKUPS = 6,
    DEFAULT_KILLS = 12,
    LONG_KILLS = 25,
    ROWS = 50,
    LOADERS = 2,
    ROUND = 6
};

#define STORE "shared.ptable"
#define COPY "copy.ptable"
#define TABLE "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32, store='%s', sync='off')"

static void remove_file(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    unlink(path);
}

/* --- Under load --- */

/* load store writer: batch after batch, each a partition of its own, acknowledged by its number. */
static int load(char **arguments)
{
    sqlite3 *db = try_open(":memory:");
    if (db == NULL || code_of(db, "PRAGMA busy_timeout = 60000; " TABLE, arguments[0]) != 0) {
        return 1;
    }
    for (int64_t batch = 1;; batch++) {
        int code = code_of(db,
                           "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n"
                           " WHERE k < %d) INSERT INTO t SELECT '%s' || printf('%%09d', %lld),"
                           " printf('%%09d', k), 1 FROM n",
                           ROWS, arguments[1], batch);
        if (code != SQLITE_OK) {
            fprintf(stderr, "# %s\n", sqlite3_errmsg(db));
            return 1;
        }
        write_all(STDOUT_FILENO, &batch, sizeof batch);
    }
}

/* Batches 1 to the returned number of a writer are there, wholly, and no others. */
static int64_t whole_batches(sqlite3 *db, const char *writer)
{
    int64_t batches = number(
        db, "SELECT count(DISTINCT PartitionKey) FROM b WHERE pt_starts_with(PartitionKey, '%s')",
        writer);
    assert_number(db, batches,
                  "SELECT coalesce(max(CAST(substr(PartitionKey, 2) AS INT)), 0) FROM b"
                  " WHERE pt_starts_with(PartitionKey, '%s')",
                  writer);
    assert_number(db, batches * ROWS,
                  "SELECT count(*) FROM b WHERE pt_starts_with(PartitionKey, '%s')", writer);
    return batches;
}

static void check_backup(const char *folder, const char *name, const int64_t *acknowledged)
{
    sqlite3 *db = open_database(folder, "reader.db");
    run(db, "CREATE VIRTUAL TABLE b USING ptable(V Int32, store='%s', table='t', readonly=1)",
        name);
    for (int i = 0; i < LOADERS; i++) {
        const char writer[] = {(char)('a' + i), 0};
        assert_true(whole_batches(db, writer) >= acknowledged[i]);
    }
    run(db, "DROP TABLE b");
    close_database(db);
    check_sound(folder, name);
}

static void start_loaders(child *loaders, const char *path)
{
    for (int i = 0; i < LOADERS; i++) {
        const char writer[] = {(char)('a' + i), 0};
        const char *const arguments[] = {path, writer, NULL};
        loaders[i] = start_child("load", arguments);
    }
}

static void back_up_under_load(const char *folder, sqlite3 *db, child *loaders,
                               int64_t *acknowledged)
{
    for (int i = 0; i < LOADERS; i++) {
        assert_true(read_all(loaders[i].from, &acknowledged[i], sizeof acknowledged[i]));
        acknowledged[i] = read_acknowledged(&loaders[i], acknowledged[i], now_ns() + 20000000);
    }
    run(db, "SELECT pt_backup('" STORE "', '" COPY "')");
    check_backup(folder, COPY, acknowledged);
    remove_file(folder, COPY);
    remove_file(folder, COPY "-lock");
}

/* As many as ROUND of one store, which grows meanwhile. Returns the batches that were written. */
static int64_t backups_of_one_store(const char *folder, int64_t backups)
{
    char path[PATH_SIZE];
    child loaders[LOADERS];
    int64_t acknowledged[LOADERS] = {0};
    int64_t batches = 0;
    path_in(folder, STORE, path);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, TABLE, path);
    start_loaders(loaders, path);
    for (int64_t i = 0; i < backups; i++) {
        back_up_under_load(folder, db, loaders, acknowledged);
    }
    for (int i = 0; i < LOADERS; i++) {
        kill_child(&loaders[i]);
        batches += acknowledged[i];
    }
    assert_int_equal(unfinished_files(folder), 0);
    run(db, "DROP TABLE t");
    close_database(db);
    remove_file(folder, STORE);
    remove_file(folder, STORE "-lock");
    return batches;
}

static void backups_under_load_are_commits(void **state)
{
    int64_t backups = setting("N", DEFAULT_BACKUPS);
    int64_t batches = 0;
    for (int64_t made = 0; made < backups; made += ROUND) {
        batches += backups_of_one_store(*state, backups - made < ROUND ? backups - made : ROUND);
    }
    print_message("# %lld backups while %d processes wrote %lld batches: each one commit\n",
                  (long long)backups, LOADERS, (long long)batches);
}

/* --- Damage --- */

enum { DAMAGED_ROWS = 400, PAGE = 4096 };

static bool zero_page(const char *path, off_t page)
{
    static const char zeros[PAGE];
    static char was[PAGE];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    bool is_there = pread(fd, was, PAGE, page * PAGE) == PAGE;
    assert_true(!is_there || pwrite(fd, zeros, PAGE, page * PAGE) == PAGE);
    close(fd);
    return is_there;
}

static void make_rows(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db,
        "CREATE VIRTUAL TABLE d USING ptable(V, store='d.ptable', sync='off');"
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
        "INSERT INTO d SELECT k / 20, printf('%%04d', k), hex(zeroblob(100)) FROM n; DROP TABLE d",
        DAMAGED_ROWS);
    close_database(db);
}

/* True if the store was opened, and then found to be damaged. */
static bool is_refused(sqlite3 *db, const char *function)
{
    int code = code_of(db, "SELECT pt_%s", function);
    assert_true(code == SQLITE_CORRUPT || code == SQLITE_CANTOPEN);
    says(db, "restore");
    return strstr(sqlite3_errmsg(db), "is damaged: ") != NULL;
}

/* Whichever page is lost: a store that still opens is not copied, nor replaced by a copy. */
static void a_damaged_store_is_not_copied(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    int refused = 0;
    path_in(folder, "d.ptable", path);
    make_rows(folder);
    for (off_t page = 2; zero_page(path, page); page++) {
        sqlite3 *db = open_database(folder, "main.db");
        if (number(db, "SELECT pt_check('d.ptable') <> 'ok'") == 1) {
            refused += is_refused(db, "backup('d.ptable', 'copy.ptable')") &&
                       is_refused(db, "compact('d.ptable')");
        }
        close_database(db);
        assert_int_equal(unlink(path), 0);
        make_rows(folder);
    }
    assert_true(refused > 5);
}

/* --- What is in it --- */

static void fill_mixed(sqlite3 *db, int64_t last)
{
    run(db, MIXED_TABLES);
    for (int64_t batch = MIXED_FIRST; batch <= last; batch++) {
        assert_int_equal(mixed_batch(db, batch), SQLITE_OK);
    }
}

/* Long keys, large values and dropped tables; of those nothing is left in the backup. */
static void a_backup_has_everything(void **state)
{
    enum { LAST = MIXED_FIRST + 12 };
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "main.db");
    fill_mixed(db, LAST);
    int64_t chunks = mixed_chunks(db);
    int64_t bytes = number(db, "SELECT pt_backup(NULL, 'copy.db-ptable')");
    close_database(db);
    const anatomy *made_of = anatomy_of(folder, "copy.db-ptable");
    assert_int_equal(made_of->dropped.count, 0);
    assert_int_equal(made_of->chunks, chunks);
    db = open_database(folder, "copy.db");
    run(db, MIXED_TABLES);
    mixed_check_rows(db, LAST);
    assert_number(db, bytes, "SELECT FileBytes FROM pt_stores");
    assert_number(db, 1, "SELECT FileBytes - UsedBytes <= 40 * 4096 FROM pt_stores");
    assert_int_equal(mixed_batch(db, LAST + 1), SQLITE_OK);
    mixed_check_rows(db, LAST + 1);
    close_database(db);
    check_sound(folder, "copy.db-ptable");
}

static void uncommitted_writes_are_not_in_it(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    path_in(folder, STORE, path);
    sqlite3 *db = open_database(folder, "main.db");
    sqlite3 *other = open_database(folder, "other.db");
    run(db, TABLE "; INSERT INTO t VALUES('p', '1', 1)", path);
    run(other, TABLE "; BEGIN; INSERT INTO t VALUES('p', '2', 2)", path);
    fails(other, SQLITE_LOCKED, "SELECT pt_backup('%s', 'own')", path);
    says(other, "COMMIT first");
    run(db, "BEGIN; SELECT * FROM t; SELECT pt_backup('%s', 'backup'); COMMIT", path);
    run(other, "COMMIT");
    assert_store(folder, "backup", 1, 1);
    assert_int_equal(files_like(folder, "own*"), 0);
    close_database(other);
    close_database(db);
}

static void private_stores_can_be_backed_up(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); INSERT INTO t VALUES('p', '1', 1);"
            "CREATE VIRTUAL TABLE temp.u USING ptable(V Int32);"
            "INSERT INTO u VALUES('p', '1', 1), ('p', '2', 2)");
    run(db, "SELECT pt_backup(NULL, '%s/main')", folder);
    run(db, "SELECT pt_backup('(private temp)', '%s/temp')", folder);
    assert_store(folder, "main", 1, 1);
    assert_store(folder, "temp", 1, 2);
    check_sound(folder, "main");
    close_database(db);
}

static void a_backup_is_for_the_same_readers(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    struct stat file;
    path_in(folder, STORE, path);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, TABLE, path);
    assert_int_equal(chmod(path, 0660), 0);
    run(db, "SELECT pt_backup('%s', 'backup')", path);
    close_database(db);
    path_in(folder, "backup", path);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0660);
}

static void a_symbolic_link_is_not_followed(void **state)
{
    const char *folder = *state;
    char link[PATH_SIZE];
    path_in(folder, "link", link);
    assert_int_equal(symlink("elsewhere", link), 0);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    fails(db, SQLITE_CANTOPEN, "SELECT pt_backup(NULL, 'link')");
    says(db, "exists, and is not overwritten");
    fails(db, SQLITE_CANTOPEN, "SELECT pt_backup(NULL, 'main.db-ptable')");
    fails(db, SQLITE_CANTOPEN, "SELECT pt_backup(NULL, 'main.db')");
    assert_int_equal(files_like(folder, "elsewhere*"), 0);
    close_database(db);
}

/* Content before name, and both before the function returns. */
static void a_backup_is_on_the_disk(void **state)
{
    sqlite3 *db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    assert_string_equal(order_of(db, "SELECT pt_backup(NULL, 'backup')"), "wsnf");
    close_database(db);
}

static const char *intruder;

static system_call_verdict make_file_before_link(const system_call *call)
{
    if (intruder != NULL && strcmp(call->name, "link") == 0) {
        int fd = open(intruder, O_WRONLY | O_CREAT | O_EXCL, 0644);
        assert_int_equal(write(fd, "mine", 4), 4);
        close(fd);
        intruder = NULL;
    }
    return (system_call_verdict){0};
}

/* Not even if it comes while the backup is made. */
static void a_file_that_comes_meanwhile_is_not_overwritten(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    struct stat file;
    path_in(folder, "backup", path);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    intruder = path;
    system_call_judge = make_file_before_link;
    int code = code_of(db, "SELECT pt_backup(NULL, 'backup')");
    system_call_judge = NULL;
    assert_int_equal(code, SQLITE_CANTOPEN);
    says(db, "exists, and is not overwritten");
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_size, 4);
    assert_int_equal(unfinished_files(folder), 0);
    close_database(db);
}

/* --- Failures --- */

static void a_backup_without_room_leaves_nothing(void **state)
{
    enum { STEP = 40 * 4096 };
    const char *folder = *state;
    int failures = 0;
    sqlite3 *db = open_database(folder, "main.db");
    fill_mixed(db, MIXED_FIRST + 4);
    signal(SIGXFSZ, SIG_IGN);
    for (rlim_t size = 0;; size += STEP) {
        limit_files(size);
        int code = code_of(db, "SELECT pt_backup(NULL, 'backup')");
        limit_files(RLIM_INFINITY);
        if (code == SQLITE_OK) {
            break;
        }
        failures++;
        assert_true(code == SQLITE_FULL || code == SQLITE_IOERR);
        says(db, "/backup'");
        assert_int_equal(files_like(folder, "backup*"), 0);
    }
    assert_true(failures > 3);
    close_database(db);
    check_sound(folder, "backup");
}

static sqlite3 *interrupted;

static system_call_verdict interrupt_after_some(const system_call *call)
{
    mortal_calls += call->kind == CALL_WRITE;
    if (mortal_calls == mortal_last) {
        sqlite3_interrupt(interrupted);
    }
    return (system_call_verdict){0};
}

static void a_backup_can_be_interrupted(void **state)
{
    const char *folder = *state;
    interrupted = open_database(folder, "main.db");
    run(interrupted, "CREATE VIRTUAL TABLE t USING ptable(V Binary);"
                     "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 20)"
                     "INSERT INTO t SELECT 'p', k, zeroblob(1000000) FROM n");
    mortal_calls = 0;
    mortal_last = 100;
    system_call_judge = interrupt_after_some;
    int code = code_of(interrupted, "SELECT pt_backup(NULL, 'backup')");
    system_call_judge = NULL;
    assert_int_equal(code, SQLITE_INTERRUPT);
    assert_int_equal(files_like(folder, "backup*"), 0);
    run(interrupted, "SELECT pt_backup(NULL, 'backup')");
    close_database(interrupted);
}

/* --- Killed --- */

/* Most of the calls fill the file; the first and the last ones are the interesting ones. */
static void a_killed_backup_is_whole_or_not_there(void **state)
{
    const char *folder = *state;
    int64_t kills = setting("N", extent(DEFAULT_KILLS, LONG_KILLS));
    int whole = 0;
    int left = 0;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); INSERT INTO t VALUES('p', '1', 1)");
    int64_t calls = perform_in_child(folder, "SELECT pt_backup(NULL, 'backup')", 0);
    remove_file(folder, "backup");
    for (int64_t i = 0; i < kills; i++) {
        int64_t call = i < kills / 2 ? calls - i : 1 + (i - kills / 2) * (i - kills / 2) * 10;
        if (call < 1 || call > calls) {
            continue;
        }
        perform_in_child(folder, "SELECT pt_backup(NULL, 'backup')", call);
        left += unfinished_files(folder) > 0;
        if (files_like(folder, "backup") > 0) {
            whole++;
            assert_store(folder, "backup", 1, 1);
            remove_file(folder, "backup");
        }
        run(db, "SELECT pt_backup(NULL, 'backup')");
        assert_int_equal(unfinished_files(folder), 0);
        assert_store(folder, "backup", 1, 1);
        remove_file(folder, "backup");
    }
    print_message(
        "# a backup makes %lld calls; %d times killed it left a temporary file, which the "
        "next removed, %d times the whole backup\n",
        (long long)calls, left, whole);
    assert_true(whole > 0);
    assert_true(left > 0);
    close_database(db);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "load") == 0) {
        return load(argv + 2);
    }
    if (argc == 5 && strcmp(argv[1], "perform") == 0) {
        return perform(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        folder_test(backups_under_load_are_commits),
        folder_test(a_damaged_store_is_not_copied),
        folder_test(a_backup_has_everything),
        folder_test(uncommitted_writes_are_not_in_it),
        folder_test(private_stores_can_be_backed_up),
        folder_test(a_backup_is_for_the_same_readers),
        folder_test(a_symbolic_link_is_not_followed),
        folder_test(a_backup_is_on_the_disk),
        folder_test(a_file_that_comes_meanwhile_is_not_overwritten),
        folder_test(a_backup_without_room_leaves_nothing),
        folder_test(a_backup_can_be_interrupted),
        folder_test(a_killed_backup_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
