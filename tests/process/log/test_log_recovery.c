/*
 * What is read back from a log, in a process that finds it, and what must never be: commits that
 * were lost once stay lost, and giving up a log loses none that can be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixtures/log_chain.h"
#include "fixtures/scene.h"

static int reads_that_succeed = -1; /* before one fails; -1: all do */

/* Files whose names end so cannot be opened, with this error. */
static const char *open_fails_for;
static int open_fails_with = EMFILE;

#pragma GCC visibility push(default)
int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    size_t length = open_fails_for == NULL ? 0 : strlen(open_fails_for);
    size_t size = strlen(path);
    if (length != 0 && size > length && strcmp(path + size - length, open_fails_for) == 0) {
        errno = open_fails_with;
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    if (reads_that_succeed >= 0 && reads_that_succeed-- == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, bytes, size, at);
}

#pragma GCC visibility pop

enum { MANY = 1000000 };

#define STORE "shared.ptable"
#define TABLES                                                                                     \
    "CREATE VIRTUAL TABLE IF NOT EXISTS f USING ptable(V Int32, store='" STORE "');"               \
    "CREATE VIRTUAL TABLE IF NOT EXISTS n USING ptable(V Int32, sync='normal', store='" STORE "')"

static int set_up(void **state)
{
    use_log(MANY);
    return new_scene(state) != NULL ? 0 : -1;
}

static const char *beside(const scene *all, const char *suffix)
{
    static char paths[4][PATH_SIZE];
    static int next;
    char name[PATH_SIZE];
    next = (next + 1) % 4;
    snprintf(name, sizeof name, STORE "%s", suffix);
    path_in(all->folder, name, paths[next]);
    return paths[next];
}

/* The power has failed before this record was on the disk. */
static void lose_record(const scene *all, const log_chain *with)
{
    static file_content log;
    log.size = 0;
    file_load(&log, beside(all, "-log"));
    memset(log.bytes + CHAIN_LOG_HEADER + with->last, 0, with->end - with->last);
    assert_true(file_write(beside(all, "-log"), &log));
}

/*
 * Of two commits that were not flushed, the disk has the second one only. Both are lost. A deletion
 * assigns no timestamp. So the first one, made again, is the same record, byte by byte, and the
 * second one would follow it.
 */
static void what_a_power_failure_took_does_not_come_back(void **state)
{
    const scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, TABLES);
    peer_run(&other, "INSERT INTO n VALUES('p', 'old', 1); INSERT INTO f VALUES('p', 'f', 1)");
    peer_run(&other, "DELETE FROM n WHERE PartitionKey = 'p' AND RowKey = 'old'");
    log_chain with = log_chain_check(beside(all, ""));
    peer_run(&other, "INSERT INTO n VALUES('p', 'new', 2)");
    kill_peer(&other);
    lose_record(all, &with);

    other = start_peer(all->folder, "main.db");
    assert_peer_number(&other, 1, "SELECT count(*) FROM n WHERE RowKey = 'old'");
    assert_peer_number(&other, 0, "SELECT count(*) FROM n WHERE RowKey = 'new'");
    peer_run(&other, "DELETE FROM n WHERE PartitionKey = 'p' AND RowKey = 'old'");
    assert_peer_number(&other, 0, "SELECT count(*) FROM n");
    kill_peer(&other);

    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, 0, "SELECT count(*) FROM n");
    close_database(db);
}

/* --- Giving up a log --- */

static void leave_rows(const scene *all)
{
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, TABLES);
    peer_run(&other, "INSERT INTO f VALUES('p', 'a', 1); INSERT INTO f VALUES('p', 'b', 1)");
    kill_peer(&other);
}

static void expect_rows(const scene *all, int rows)
{
    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, rows, "SELECT count(*) FROM f");
    close_database(db);
}

/* The word is worth nothing by then. */
static void a_log_without_a_word_is_not_lost(void **state)
{
    const scene *all = *state;
    leave_rows(all);
    unlink(beside(all, "-word"));
    assert_int_equal(mkdir(beside(all, "-word"), 0700), 0);
    sqlite3 *db = open_database(all->folder, "other.db");
    run(db, "SELECT pt_forget_log('%s')", beside(all, ""));
    close_database(db);
    assert_int_equal(rmdir(beside(all, "-word")), 0);
    expect_rows(all, 2);
}

static void expect_kept(const scene *all, const char *why)
{
    sqlite3 *db = open_database(all->folder, "other.db");
    fails(db, SQLITE_CANTOPEN, "SELECT pt_forget_log('%s')", beside(all, ""));
    says(db, why);
    close_database(db);
}

/* A copy of a folder that is made of hard links, a log that lies on another disk: it is there. */
static void a_log_with_other_names_is_not_given_up(void **state)
{
    const scene *all = *state;
    leave_rows(all);
    assert_int_equal(link(beside(all, "-log"), beside(all, "-second")), 0);
    expect_kept(all, "several names");
    assert_int_equal(unlink(beside(all, "-log")), 0);
    assert_int_equal(symlink(beside(all, "-second"), beside(all, "-log")), 0);
    expect_kept(all, "is a link");
    assert_int_equal(rename(beside(all, "-second"), beside(all, "-log")), 0);
    expect_rows(all, 2);
}

/* A descriptor that cannot be had says nothing of the log. */
static void a_log_that_cannot_be_opened_now_is_not_given_up(void **state)
{
    const scene *all = *state;
    leave_rows(all);
    sqlite3 *db = open_database(all->folder, "other.db");
    open_fails_for = "-log";
    fails(db, SQLITE_IOERR, "SELECT pt_forget_log('%s')", beside(all, ""));
    says(db, "Too many open files");
    open_fails_for = NULL;
    close_database(db);
    expect_rows(all, 2);
}

/* Nobody knows how often that will happen: whoever removes the log has given it up. */
static void a_log_that_the_disk_does_not_give_is_given_up_once_it_is_removed(void **state)
{
    const scene *all = *state;
    leave_rows(all);
    sqlite3 *db = open_database(all->folder, "other.db");
    open_fails_for = "-log";
    open_fails_with = EIO;
    fails(db, SQLITE_IOERR, "SELECT pt_forget_log('%s')", beside(all, ""));
    says(db, "remove");
    open_fails_for = NULL;
    open_fails_with = EMFILE;
    assert_int_equal(unlink(beside(all, "-log")), 0);
    assert_number(db, 1, "SELECT pt_forget_log('%s') LIKE 'kept 0 commits of the log; %%'",
                  beside(all, ""));
    close_database(db);
    expect_rows(all, 1);
}

/* Any read, of the store too. It fails once: the next one would succeed. */
static void a_read_that_fails_gives_no_log_up(void **state)
{
    const scene *all = *state;
    bool failed = true;
    for (int i = 0; failed; i++) {
        peer other = start_peer(all->folder, "main.db");
        peer_run(&other, TABLES);
        peer_run(&other, "INSERT INTO f VALUES('p', 'a%d', 1); INSERT INTO f VALUES('p', 'b%d', 1)",
                 i, i);
        kill_peer(&other);
        sqlite3 *db = open_database(all->folder, "other.db");
        reads_that_succeed = i;
        code_of(db, "SELECT pt_forget_log('%s')", beside(all, ""));
        failed = reads_that_succeed < 0;
        reads_that_succeed = -1;
        close_database(db);
        expect_rows(all, 2 * (i + 1));
    }
}

/* Reading is not writing: the code is that of a store that cannot be opened. */
static void a_log_without_permission_cannot_be_opened(void **state)
{
    const scene *all = *state;
    leave_rows(all);
    sqlite3 *db = open_database(all->folder, "main.db");
    open_fails_for = "-log";
    open_fails_with = EACCES;
    fails(db, SQLITE_CANTOPEN, "SELECT count(*) FROM f");
    says(db, "-log");
    says(db, "permissions");
    open_fails_for = NULL;
    open_fails_with = EMFILE;
    close_database(db);
    expect_rows(all, 2);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(what_a_power_failure_took_does_not_come_back),
        scene_test(a_log_without_a_word_is_not_lost),
        scene_test(a_log_with_other_names_is_not_given_up),
        scene_test(a_log_that_cannot_be_opened_now_is_not_given_up),
        scene_test(a_log_that_the_disk_does_not_give_is_given_up_once_it_is_removed),
        scene_test(a_read_that_fails_gives_no_log_up),
        scene_test(a_log_without_permission_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
