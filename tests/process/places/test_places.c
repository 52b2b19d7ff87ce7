/*
 * Stores in rough hands: lock files that are deleted, files that are moved, replaced, copied and
 * linked while they are open, folders that cannot be written, names of all kinds, network file
 * systems. What could harm a store is refused, with a text that says what to do.
 */
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "faults/killing.h"
#include "fixtures/backup.h"
#include "fixtures/scene_files.h"
#include "fixtures/store.h"

#define STORE "shared.ptable"
#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/%s', sync='off')"

/* This process has the store open, with one row; the peer has not. */
static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    all->other = start_peer("", ":memory:");
    all->db = open_database("", ":memory:");
    run(all->db, TABLE "; INSERT INTO t VALUES('p', '1', 1)", all->folder, STORE);
    return 0;
}

static void close_own(scene *all)
{
    close_database(all->db);
    all->db = NULL;
}

/* --- The lock file --- */

static void a_lock_file_deleted_while_nobody_has_it_is_made_again(void **state)
{
    scene *all = *state;
    close_own(all);
    assert_int_equal(unlink(in(all, STORE "-lock")), 0);
    peer_run(&all->other, TABLE "; INSERT INTO t VALUES('p', '2', 2)", all->folder, STORE);
    assert_store(all->folder, STORE, 1, 2);
}

static void a_lock_file_deleted_while_in_use_keeps_others_out(void **state)
{
    scene *all = *state;
    assert_int_equal(unlink(in(all, STORE "-lock")), 0);
    peer_fails(&all->other, SQLITE_CANTOPEN, TABLE, all->folder, STORE);
    peer_says(&all->other, "the lock file was deleted");
    run(all->db, "INSERT INTO t VALUES('p', '2', 2)");
    close_own(all);
    peer_run(&all->other, TABLE "; INSERT INTO t VALUES('p', '3', 3)", all->folder, STORE);
    assert_store(all->folder, STORE, 1, 3);
}

static pid_t lock_byte(const char *path, off_t byte)
{
    int ready[2];
    char locked = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_start = byte, .l_len = 1};
        int fd = open(path, O_RDWR);
        locked = fd >= 0 && fcntl(fd, F_SETLK, &lock) == 0;
        if (write(ready[1], &locked, 1) == 1) {
            pause();
        }
        _exit(1);
    }
    assert_int_equal(read(ready[0], &locked, 1), 1);
    assert_true(locked);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

/* As in two containers, each with a first process. */
static void two_processes_of_one_number_take_turns(void **state)
{
    scene *all = *state;
    close_own(all);
    pid_t twin = lock_byte(in(all, STORE "-lock"), getpid());
    all->db = open_database("", ":memory:");
    fails(all->db, SQLITE_BUSY, TABLE, all->folder, STORE);
    says(all->db, "in another process with the same process id");
    assert_int_equal(kill(twin, SIGKILL), 0);
    assert_int_equal(waitpid(twin, NULL, 0), twin);
    run(all->db, TABLE "; INSERT INTO t VALUES('p', '2', 2)", all->folder, STORE);
    close_own(all);
    assert_store(all->folder, STORE, 1, 2);
}

/* --- The file --- */

static void a_store_deleted_while_open_is_not_written_any_more(void **state)
{
    scene *all = *state;
    assert_int_equal(unlink(in(all, STORE)), 0);
    fails(all->db, SQLITE_READONLY_DBMOVED, "INSERT INTO t VALUES('p', '2', 2)");
    says(all->db, "moved, replaced or deleted");
    assert_number(all->db, 1, "SELECT count(*) FROM t");
    sqlite3 *second = open_database("", ":memory:");
    fails(second, SQLITE_CANTOPEN, TABLE, all->folder, STORE);
    says(second, "close all connections to it");
    close_database(second);
    peer_run(&all->other, TABLE "; INSERT INTO t VALUES('q', '1', 1)", all->folder, STORE);
    fails(all->db, SQLITE_READONLY_DBMOVED, "DELETE FROM t");
    close_own(all);
    peer_run(&all->other, "INSERT INTO t VALUES('q', '2', 1)");
    assert_store(all->folder, STORE, 1, 2);
}

/* Restoring a backup under a running program: both must stay whole, and the program must say it. */
static void a_store_replaced_while_open_is_not_mixed_with_the_new_one(void **state)
{
    enum { ROWS = 200 };
    scene *all = *state;
    run(all->db, "SELECT pt_backup('%s', '%s')", in(all, STORE), in(all, "backup"));
    run(all->db,
        "WITH RECURSIVE n(k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"
        "INSERT INTO t SELECT 'p', k, 1 FROM n",
        ROWS);
    move(all, "backup", STORE);
    sqlite3_stmt *walk = step_into(all->db, "SELECT V FROM t");
    peer_run(&all->other, TABLE, all->folder, STORE);
    for (int i = 0; i < 20; i++) {
        peer_run(&all->other, "INSERT INTO t SELECT 'q', '%d ' || RowKey, 1 FROM t", i);
        peer_run(&all->other, "DELETE FROM t WHERE RowKey <> '1'");
    }
    int64_t rows = 1;
    while (sqlite3_step(walk) == SQLITE_ROW) {
        rows++;
    }
    assert_int_equal(rows, ROWS);
    sqlite3_finalize(walk);
    fails(all->db, SQLITE_READONLY_DBMOVED, "UPDATE t SET V = 2");
    close_own(all);
    assert_peer_number(&all->other, 1, "SELECT count(*) FROM t");
    assert_store(all->folder, STORE, 1, 1);
    check_sound(all->folder, STORE);
}

static void a_store_moved_while_open_is_opened_by_nobody_else(void **state)
{
    scene *all = *state;
    move(all, STORE, "moved.ptable");
    fails(all->db, SQLITE_READONLY_DBMOVED, "INSERT INTO t VALUES('p', '2', 2)");
    peer_fails(&all->other, SQLITE_CANTOPEN, TABLE, all->folder, "moved.ptable");
    peer_says(&all->other, "under another name");
    move(all, "moved.ptable", STORE);
    run(all->db, "INSERT INTO t VALUES('p', '2', 2)");
    move(all, STORE, "moved.ptable");
    close_own(all);
    peer_run(&all->other, TABLE "; INSERT INTO t VALUES('p', '3', 3)", all->folder, "moved.ptable");
    assert_store(all->folder, "moved.ptable", 1, 3);
}

static void two_hard_links_are_not_open_at_once(void **state)
{
    scene *all = *state;
    assert_int_equal(link(in(all, STORE), in(all, "linked.ptable")), 0);
    peer_fails(&all->other, SQLITE_CANTOPEN, TABLE, all->folder, "linked.ptable");
    peer_says(&all->other, "under another name");
    peer_run(&all->other, TABLE "; INSERT INTO t VALUES('p', '2', 2)", all->folder, STORE);
    sqlite3 *second = open_database("", ":memory:");
    run(second, TABLE, all->folder, "linked.ptable"); /* the same one, in the same process */
    assert_number(second, 2, "SELECT count(*) FROM t");
    close_database(second);
}

static void symbolic_links_lead_to_one_store(void **state)
{
    scene *all = *state;
    assert_int_equal(symlink(STORE, in(all, "link.ptable")), 0);
    peer_run(&all->other, TABLE "; BEGIN; INSERT INTO t VALUES('p', '2', 2)", all->folder,
             "link.ptable");
    fails(all->db, SQLITE_BUSY, "INSERT INTO t VALUES('p', '2', 2)");
    peer_run(&all->other, "COMMIT");
    assert_number(all->db, 2, "SELECT count(*) FROM t");
}

static void a_copy_of_a_store_that_nobody_writes_is_a_store(void **state)
{
    scene *all = *state;
    copy(all, STORE, "copy.ptable");
    if (access(in(all, STORE "-log"), F_OK) == 0) {
        copy(all, STORE "-log", "copy.ptable-log"); /* with the last commits */
    }
    check_sound(all->folder, "copy.ptable");
    peer_run(&all->other, TABLE "; INSERT INTO t VALUES('p', '2', 2)", all->folder, "copy.ptable");
    assert_number(all->db, 1, "SELECT count(*) FROM t");
    close_own(all);
    copy(all, STORE "-lock", "copy2.ptable-lock"); /* as cp of a whole folder does */
    copy(all, STORE, "copy2.ptable");
    peer_run(&all->other, "DROP TABLE t;" TABLE "; INSERT INTO t VALUES('p', '2', 2)", all->folder,
             "copy2.ptable");
    assert_store(all->folder, "copy2.ptable", 1, 2);
}

static void a_database_and_its_store_can_be_moved(void **state)
{
    scene *all = *state;
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE u USING ptable(V); INSERT INTO u VALUES('p', '1', 1);"
            "CREATE VIRTUAL TABLE w USING ptable(V, store='w.ptable');"
            "INSERT INTO w VALUES('p', '1', 1)");
    close_database(db);
    assert_int_equal(mkdir(in(all, "else"), 0755), 0);
    move(all, "main.db", "else/main.db");
    move(all, "main.db-ptable", "else/main.db-ptable");
    move(all, "w.ptable", "else/w.ptable");
    db = open_database(all->folder, "else/main.db");
    assert_number(db, 2, "SELECT (SELECT count(*) FROM u) + (SELECT count(*) FROM w)");
    run(db, "INSERT INTO u VALUES('p', '2', 1)");
    close_database(db);
}

/* --- Names --- */

static void a_name_may_be_any(void **state)
{
    scene *all = *state;
    static const char *const names[] = {"with space",
                                        "it's",
                                        "\"double\"",
                                        "line\nbreak",
                                        "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80",
                                        "percent %s",
                                        "back\\slash",
                                        "a?b*c[d]",
                                        "-dash",
                                        "trailing "};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        run(all->db, "CREATE VIRTUAL TABLE n USING ptable(V, store=%Q, table=n)",
            in(all, names[i]));
        run(all->db, "INSERT INTO n VALUES('p', '1', 1); SELECT pt_compact(%Q)", in(all, names[i]));
        assert_number(all->db, 1, "SELECT Entities FROM pt_tables WHERE Store = %Q",
                      in(all, names[i]));
        run(all->db, "DROP TABLE n");
    }
    char *longest = sqlite3_mprintf("%s/%.250c", all->folder, 'x');
    char *too_long = sqlite3_mprintf("%s/%.300c", all->folder, 'x');
    fails(all->db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE n USING ptable(V, store=%Q)", too_long);
    says(all->db, "too long");
    fails(all->db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE n USING ptable(V, store=%Q)", longest);
    says(all->db, "too long");
    sqlite3_free(longest);
    sqlite3_free(too_long);
}

/* --- Network file systems --- */

static uint32_t file_system; /* what all files lie on, as far as anybody is told; 0: the truth */

#pragma GCC visibility push(default)

int fstatfs(int fd, struct statfs *place)
{
    int result = (int)syscall(SYS_fstatfs, fd, place);
    if (file_system != 0) {
        place->f_type = (__fsword_t)file_system;
    }
    return result;
}

#pragma GCC visibility pop

static void network_file_systems_are_refused(void **state)
{
    scene *all = *state;
    static const struct {
        uint32_t magic;
        const char *name;
    } kinds[] = {{0x6969, "(NFS)"},
                 {0xFF534D42, "(CIFS)"},
                 {0xFE534D42, "(SMB)"},
                 {0x01021997, "(9P)"},
                 {0x65735546, "(FUSE)"}};
    close_own(all);
    sqlite3 *db = open_database("", ":memory:");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        file_system = kinds[i].magic;
        fails(db, SQLITE_CANTOPEN, TABLE, all->folder, STORE);
        says(db, kinds[i].name);
        says(db, "PTABLE_NETWORK=allow");
        fails(db, SQLITE_CANTOPEN, TABLE, all->folder, "new.ptable");
        says(db, kinds[i].name);
    }
    assert_int_equal(files_like(all->folder, "new*"), 0);
    assert_int_equal(setenv("PTABLE_NETWORK", "allow it", 1), 0);
    fails(db, SQLITE_CANTOPEN, TABLE, all->folder, STORE);
    assert_int_equal(setenv("PTABLE_NETWORK", "allow", 1), 0);
    run(db, TABLE "; INSERT INTO t VALUES('p', '2', 2)", all->folder, STORE);
    assert_int_equal(unsetenv("PTABLE_NETWORK"), 0);
    file_system = 0;
    close_database(db);
}

/* --- Who may write --- */

/* Runs in a child that is nobody; its exit code says whether all was as expected. */
static bool as_nobody(bool (*work)(const scene *), const scene *all)
{
    int status = -1;
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct passwd *nobody = getpwnam("nobody");
        bool dropped = nobody != NULL && setgid(nobody->pw_gid) == 0 && setuid(nobody->pw_uid) == 0;
        _exit(dropped && work(all) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

static bool is_said(sqlite3 *db, int code, int expected, const char *text)
{
    if (code == expected && strstr(sqlite3_errmsg(db), text) != NULL) {
        return true;
    }
    fprintf(stderr, "# %d, not %d: %s\n", code, expected, sqlite3_errmsg(db));
    return false;
}

static bool only_read(const scene *all)
{
    sqlite3 *db = try_open(":memory:");
    int code = code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V, readonly=1, store='%s')",
                       in(all, STORE));
    bool read = code == SQLITE_OK && first_number(db, "SELECT count(*) FROM t", -1) == 1;
    code_of(db, "DROP TABLE t");
    code = code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s')", in(all, STORE));
    bool open = code == SQLITE_OK;
    code = code_of(db, "INSERT INTO t VALUES('p', '2', 2)");
    bool refused = open && is_said(db, code, SQLITE_READONLY, "the file is read-only");
    code = code_of(db, "SELECT pt_compact('%s')", in(all, STORE));
    bool not_compacted = is_said(db, code, SQLITE_READONLY, "the file is read-only");
    code = code_of(db, "SELECT pt_backup('%s', '%s')", in(all, STORE), in(all, "backup"));
    bool no_backup = is_said(db, code, SQLITE_CANTOPEN, "Permission denied");
    return sqlite3_close(db) == SQLITE_OK && read && refused && not_compacted && no_backup;
}

/* A file that others may read, with a lock file that they may write, as LMDB needs it. */
static void who_may_only_read_reads(void **state)
{
    scene *all = *state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(all->folder, 0755), 0);
    assert_int_equal(chmod(in(all, STORE), 0644), 0);
    assert_int_equal(chmod(in(all, STORE "-lock"), 0666), 0);
    close_own(all);
    assert_true(as_nobody(only_read, all));
    check_sound(all->folder, STORE);
}

static bool cannot_open(const scene *all)
{
    sqlite3 *db = try_open(":memory:");
    int code = code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s')", in(all, STORE));
    bool refused = is_said(db, code, SQLITE_CANTOPEN, "cannot be opened");
    code = code_of(db, "CREATE VIRTUAL TABLE t USING ptable(V, store='%s')", in(all, "new"));
    bool not_made = is_said(db, code, SQLITE_CANTOPEN, "ask for write permission on its folder");
    return sqlite3_close(db) == SQLITE_OK && refused && not_made;
}

static void who_may_do_nothing_is_told(void **state)
{
    scene *all = *state;
    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(chmod(all->folder, 0755), 0);
    assert_int_equal(chmod(in(all, STORE), 0600), 0);
    close_own(all);
    assert_true(as_nobody(cannot_open, all));
    assert_int_equal(files_like(all->folder, "*"), 2);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(a_lock_file_deleted_while_nobody_has_it_is_made_again),
        scene_test(a_lock_file_deleted_while_in_use_keeps_others_out),
        scene_test(two_processes_of_one_number_take_turns),
        scene_test(a_store_deleted_while_open_is_not_written_any_more),
        scene_test(a_store_replaced_while_open_is_not_mixed_with_the_new_one),
        scene_test(a_store_moved_while_open_is_opened_by_nobody_else),
        scene_test(two_hard_links_are_not_open_at_once),
        scene_test(symbolic_links_lead_to_one_store),
        scene_test(a_copy_of_a_store_that_nobody_writes_is_a_store),
        scene_test(a_database_and_its_store_can_be_moved),
        scene_test(a_name_may_be_any),
        scene_test(network_file_systems_are_refused),
        scene_test(who_may_only_read_reads),
        scene_test(who_may_do_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
