/*
 * Which files are opened, made and written, and who may read them: access rights of new stores,
 * what is no store, what lies where a lock file belongs.
 */
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fixtures/acl.h"
#include "fixtures/child.h"
#include "fixtures/database.h"

enum { SOMEBODY = 65534, SOME_USER = 12345, SOME_GROUP = 23456, PATIENCE_SECONDS = 60 };

static const char secret[] = "root:secret:0:0: a file that is no store and nobody's business\n"
                             "and long enough to be looked at as one or as a lock file\n";

/* A table that SQLite finds in the schema, as if somebody had sent the database. */
#define CRAFTED(store)                                                                             \
    "PRAGMA writable_schema = on;"                                                                 \
    "INSERT INTO sqlite_schema VALUES('table', 't', 't', 0,"                                       \
    "  'CREATE VIRTUAL TABLE t USING ptable(V Int32, store=" store ")');"                          \
    "PRAGMA writable_schema = reset"

static void put_file(const char *path, const void *bytes, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
}

static void assert_untouched(const char *path)
{
    char bytes[sizeof secret + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof bytes), sizeof secret - 1);
    assert_memory_equal(bytes, secret, sizeof secret - 1);
    close(fd);
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    struct stat file;
    path_in(folder, name, path);
    return lstat(path, &file) == 0;
}

static mode_t mode_of(const char *folder, const char *name, struct stat *file)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    assert_int_equal(stat(path, file), 0);
    return file->st_mode & 07777;
}

/* --- Access rights --- */

static void make_database(const char *folder, const char *name, mode_t mode)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    put_file(path, "", 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void expect_mode(const char *folder, const char *name, mode_t mode)
{
    struct stat file;
    assert_int_equal(mode_of(folder, name, &file), mode);
}

static void check_modes(const char *folder, mode_t mode, mode_t mask)
{
    static const char *const made[] = {"m.db-ptable", "m.db-ptable-lock", "n.ptable",
                                       "n.ptable-lock"};
    make_database(folder, "m.db", mode);
    mode_t before = umask(mask);
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable; CREATE VIRTUAL TABLE n USING "
            "ptable(store='n.ptable'); INSERT INTO t VALUES('p', 'r', NULL)");
    close_database(db);
    umask(before);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char path[PATH_SIZE];
        expect_mode(folder, made[i], mode);
        path_in(folder, made[i], path);
        unlink(path);
    }
    char path[PATH_SIZE];
    path_in(folder, "m.db", path);
    unlink(path);
}

static void a_new_store_is_for_whom_its_database_is(void **state)
{
    static const mode_t modes[] = {0600, 0640, 0644, 0660, 0664, 0666};
    static const mode_t masks[] = {0, 022, 077};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
            check_modes(*state, modes[i], masks[m]);
        }
    }
}

static void a_lock_file_made_anew_is_for_whom_the_store_is(void **state)
{
    const char *folder = *state;
    char lock[PATH_SIZE];
    make_database(folder, "m.db", 0660);
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable");
    close_database(db);
    path_in(folder, "m.db-ptable-lock", lock);
    assert_int_equal(unlink(lock), 0);
    mode_t before = umask(077);
    db = open_database(folder, "m.db");
    assert_number(db, 0, "SELECT count(*) FROM t");
    umask(before);
    close_database(db);
    expect_mode(folder, "m.db-ptable-lock", 0660);
}

static void without_a_database_file_the_umask_decides(void **state)
{
    const char *folder = *state;
    mode_t before = umask(027);
    sqlite3 *db = open_database(folder, ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(store='%s/a.ptable')", folder);
    umask(before);
    close_database(db);
    expect_mode(folder, "a.ptable", 0640);
    expect_mode(folder, "a.ptable-lock", 0640);
}

static void root_makes_stores_for_the_owner_of_the_database(void **state)
{
    const char *folder = *state;
    static const char *const made[] = {"m.db-ptable", "m.db-ptable-lock"};
    char path[PATH_SIZE];
    if (geteuid() != 0) {
        skip();
    }
    make_database(folder, "m.db", 0640);
    path_in(folder, "m.db", path);
    assert_int_equal(chown(path, SOME_USER, SOME_GROUP), 0);
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable");
    close_database(db);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        struct stat file;
        assert_int_equal(mode_of(folder, made[i], &file), 0640);
        assert_int_equal(file.st_uid, SOME_USER);
        assert_int_equal(file.st_gid, SOME_GROUP);
    }
}

/* Runs `work` as a user without rights; it must return 0. */
static void as_somebody(int (*work)(const char *folder), const char *folder)
{
    int status = -1;
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgroups(0, NULL) != 0 || setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0) {
            _exit(99);
        }
        _exit(work(folder));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int make_store(const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, "m.db", path);
    sqlite3 *db = try_open(path);
    int rc = db != NULL ? code_of(db, "CREATE VIRTUAL TABLE t USING ptable") : 1;
    sqlite3_close(db);
    return rc;
}

/* Else a group that the database is not for could read the store. */
static void a_group_that_cannot_be_given_gets_nothing(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    struct stat file;
    if (geteuid() != 0) {
        skip();
    }
    make_database(folder, "m.db", 0660);
    path_in(folder, "m.db", path);
    assert_int_equal(chown(path, SOMEBODY, SOME_GROUP), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    as_somebody(make_store, folder);
    assert_int_equal(mode_of(folder, "m.db-ptable", &file), 0600);
    assert_int_equal(file.st_uid, SOMEBODY);
    assert_int_equal(mode_of(folder, "m.db-ptable-lock", &file), 0600);
}

static void skip_without_lists(void)
{
    print_message("skipped: the file system has no access control lists\n");
    skip();
}

/* True if a process of that user and group can open the file. */
static bool may_open(const char *folder, const char *name, uid_t user, gid_t group, int access)
{
    char path[PATH_SIZE];
    int status = -1;
    path_in(folder, name, path);
    pid_t pid = fork_process();
    if (pid == 0) {
        bool changed = setgroups(0, NULL) == 0 && setgid(group) == 0 && setuid(user) == 0;
        _exit(!changed ? 2 : open(path, access | O_CLOEXEC) >= 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 2);
    return WEXITSTATUS(status) == 0;
}

static void make_compact_and_back_up(const char *folder)
{
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable; INSERT INTO t VALUES('p', 'r', NULL);"
            "CREATE VIRTUAL TABLE n USING ptable(store='n.ptable');"
            "SELECT pt_backup('m.db-ptable', 'b.ptable'); SELECT pt_compact('n.ptable')");
    close_database(db);
    db = open_database(folder, "c.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(store='b.ptable')");
    close_database(db);
}

static const char *const files_of_database[] = {
    "m.db-ptable", "m.db-ptable-lock", "n.ptable", "n.ptable-lock", "b.ptable", "b.ptable-lock"};
enum { FILES_OF_DATABASE = sizeof files_of_database / sizeof files_of_database[0] };

static void stores_and_backups_get_the_list_of_the_database(void **state)
{
    static const acl_rights rights = {.owner = 6, .user = 4, .group = 0, .mask = 6, .other = 0};
    const char *folder = *state;
    char path[PATH_SIZE];
    make_database(folder, "m.db", 0600);
    path_in(folder, "m.db", path);
    if (!acl_set(path, ACL_OF_FILE, &rights, SOME_USER)) {
        skip_without_lists();
    }
    mode_t before = umask(077);
    make_compact_and_back_up(folder);
    umask(before);
    assert_int_equal(chmod(folder, 0755), 0);
    for (size_t i = 0; i < FILES_OF_DATABASE; i++) {
        const char *name = files_of_database[i];
        expect_mode(folder, name, 0660);
        path_in(folder, name, path);
        assert_true(acl_is(path, &rights, SOME_USER));
        if (geteuid() == 0) {
            assert_true(may_open(folder, name, SOME_USER, SOME_GROUP, O_RDONLY));
            assert_false(may_open(folder, name, SOME_USER, SOME_GROUP, O_RDWR));
            assert_false(may_open(folder, name, SOMEBODY, getegid(), O_RDONLY));
        }
    }
}

/* A folder can have a list for its new files. */
static void without_a_list_of_the_database_there_is_none(void **state)
{
    static const acl_rights rights = {.owner = 6, .user = 6, .group = 6, .mask = 6, .other = 6};
    const char *folder = *state;
    char path[PATH_SIZE];
    make_database(folder, "m.db", 0660);
    if (!acl_set(folder, ACL_OF_NEW_FILES, &rights, SOME_USER)) {
        skip_without_lists();
    }
    make_compact_and_back_up(folder);
    for (size_t i = 0; i < FILES_OF_DATABASE; i++) {
        path_in(folder, files_of_database[i], path);
        expect_mode(folder, files_of_database[i], 0660);
        assert_true(acl_is_missing(path));
    }
}

/* How many descriptors of this process are of deleted files named store or store-lock. */
static int nameless_files(void)
{
    int found = 0;
    for (int fd = 0; fd < 200; fd++) {
        char link[40];
        char target[200] = {0};
        struct stat file;
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        if (readlink(link, target, sizeof target - 1) < 0 || strstr(target, "/ptable-") == NULL ||
            strstr(target, " (deleted)") == NULL) {
            continue;
        }
        assert_int_equal(fstat(fd, &file), 0);
        assert_int_equal(file.st_mode & 07777, 0600);
        assert_int_equal(file.st_nlink, 0);
        found++;
    }
    return found;
}

static void a_private_store_has_no_name_and_no_readers(void **state)
{
    (void)state;
    mode_t before = umask(0);
    int already = nameless_files();
    sqlite3 *db = open_database("", ":memory:");
    run(db, "CREATE VIRTUAL TABLE t USING ptable; INSERT INTO t VALUES('p', 'r', NULL)");
    assert_int_equal(nameless_files() - already, 3); /* the data twice and its lock file */
    close_database(db);
    umask(before);
}

/* --- What is no store --- */

static void refuses_at(int line, sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int rc = execute(db, format, arguments);
    va_end(arguments);
    const char *message = sqlite3_errmsg(db);
    if ((rc & 0xff) != SQLITE_CANTOPEN || strstr(message, "secret") != NULL ||
        strncmp(message, "ptable: t: ", strlen("ptable: t: ")) != 0) {
        print_error("%s: %d, %s\n", format, rc, message);
        _fail(__FILE__, line);
    }
}

#define refuses(...) refuses_at(__LINE__, __VA_ARGS__)

/* A database somebody sent, with a table in this store, is read, written and made to make it. */
static void expect_refused(const char *folder, const char *store)
{
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "m.db");
    run(db, CRAFTED("''%s''"), store);
    close_database(db);
    db = open_database(folder, "m.db");
    refuses(db, "SELECT * FROM t");
    refuses(db, "INSERT INTO t VALUES('p', 'r', 1)");
    refuses(db, "DELETE FROM t");
    run(db, "DROP TABLE t");
    refuses(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s')", store);
    close_database(db);
    path_in(folder, "m.db", path);
    unlink(path);
}

static void text_files_are_refused_and_left_alone(void **state)
{
    const char *folder = *state;
    char victim[PATH_SIZE];
    char path[PATH_SIZE];
    path_in(folder, "victim", victim);
    path_in(folder, "link", path);
    put_file(victim, secret, sizeof secret - 1);
    assert_int_equal(symlink("victim", path), 0);
    expect_refused(folder, victim);
    expect_refused(folder, "link");
    expect_refused(folder, "./sub/../victim");
    path_in(folder, "sub", path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(folder, "./sub/../victim");
    expect_refused(folder, "victim/store");
    expect_refused(folder, "/etc/passwd");
    expect_refused(folder, "/etc/passwd-lock");
    expect_refused(folder, ".");
    expect_refused(folder, "/");
    assert_untouched(victim);
    assert_false(is_there(folder, "victim-lock"));
    assert_false(is_there(folder, "link-lock"));
    assert_false(is_there("/etc", "passwd-lock"));
}

static void expect_advice(const char *folder, const char *store, const char *advice)
{
    sqlite3 *db = open_database(folder, "m.db");
    fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE t USING ptable(store='%s')", store);
    says(db, advice);
    fails(db, SQLITE_CANTOPEN, "SELECT * FROM pt_partitions('%s', 't')", store);
    says(db, advice);
    close_database(db);
}

static void a_database_is_not_advised_away(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_database(folder, "e.db");
    run(db, "CREATE TABLE o(v)");
    fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE t USING ptable(store='e.db')");
    says(db, "e.db-ptable'");
    assert_null(strstr(sqlite3_errmsg(db), "away"));
    close_database(db);
    expect_refused(folder, "e.db");
}

static void empty_looping_and_missing_files_are_refused(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    struct stat file;
    path_in(folder, "empty", path);
    put_file(path, "", 0);
    expect_refused(folder, "empty");
    assert_int_equal(mode_of(folder, "empty", &file), 0644);
    assert_int_equal(file.st_size, 0);
    path_in(folder, "loop", path);
    assert_int_equal(symlink("loop", path), 0);
    expect_refused(folder, "loop");
    expect_advice(folder, "loop", "delete one of them");
    expect_advice(folder, "loop/store", "delete one of them");
    path_in(folder, "dangling", path);
    assert_int_equal(symlink("made", path), 0);
    expect_refused(folder, "dangling");
    expect_advice(folder, "dangling", "bring that file back, or delete the link");
    assert_false(is_there(folder, "made"));
    assert_false(is_there(folder, "empty-lock"));
    expect_refused(folder, "missing/store");
    assert_false(is_there(folder, "missing"));
}

/* --- Devices and the like --- */

static int watch(const char *path)
{
    int watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watcher >= 0);
    assert_true(inotify_add_watch(watcher, path, IN_OPEN) >= 0);
    return watcher;
}

/* Since the last call. */
static bool was_opened(int watcher)
{
    char events[4096];
    return read(watcher, events, sizeof events) > 0;
}

static void the_watcher_sees_an_opening(void **state)
{
    char path[PATH_SIZE];
    path_in(*state, "fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int watcher = watch(path);
    assert_false(was_opened(watcher));
    close(open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC));
    assert_true(was_opened(watcher));
    close(watcher);
}

static void fifos_and_devices_are_not_opened(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    path_in(folder, "fifo", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fifo = watch(path);
    alarm(PATIENCE_SECONDS);
    expect_refused(folder, "fifo");
    assert_false(was_opened(fifo));
    expect_refused(folder, "/dev/zero");
    expect_refused(folder, "/dev/tty");
    expect_refused(folder, "/proc/self/mem");
    expect_refused(folder, "/proc/self/fd/0");
    assert_false(is_there("/dev", "zero-lock"));
    alarm(0);
    close(fifo);
}

static void tables_that_are_not_used_open_nothing(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); CREATE TABLE o(v);"
            "CREATE VIEW w AS SELECT * FROM t;"
            "CREATE TRIGGER g AFTER INSERT ON o BEGIN INSERT INTO t VALUES('p', new.v, 1); END");
    close_database(db);
    path_in(folder, "m.db-ptable", path);
    int store = watch(path);
    db = open_database(folder, "m.db");
    assert_number(db, 4, "SELECT count(*) FROM sqlite_schema");
    run(db, "PRAGMA table_info(t); PRAGMA table_info(w); SELECT * FROM o; PRAGMA quick_check;"
            "EXPLAIN SELECT * FROM t; EXPLAIN QUERY PLAN SELECT * FROM w; VACUUM");
    assert_false(was_opened(store));
    run(db, "INSERT INTO o VALUES('x')");
    assert_true(was_opened(store));
    close_database(db);
    close(store);
}

static void a_database_without_its_store_makes_none(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "m.db");
    run(db, CRAFTED("''a.ptable''"));
    fails(db, SQLITE_CANTOPEN, "SELECT * FROM t");
    says(db, "does not exist");
    fails(db, SQLITE_CANTOPEN, "INSERT INTO t VALUES('p', 'r', 1)");
    fails(db, SQLITE_CANTOPEN, "DELETE FROM pt_tables WHERE Store = 'a.ptable'");
    fails(db, SQLITE_CANTOPEN, "INSERT INTO pt_tables(Store, TableName) VALUES('a.ptable', 'x')");
    fails(db, SQLITE_CANTOPEN, "SELECT * FROM pt_partitions('t')");
    assert_false(is_there(folder, "a.ptable"));
    assert_false(is_there(folder, "a.ptable-lock"));
    run(db, "DROP TABLE t");
    close_database(db);
    path_in(folder, "m.db-ptable", path);
    assert_false(is_there(folder, "m.db-ptable"));
}

/* --- The database's own files --- */

static void a_store_takes_no_name_that_sqlite_uses(void **state)
{
    static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
    const char *folder = *state;
    sqlite3 *other = open_database(folder, "other.db");
    run(other, "PRAGMA journal_mode=WAL; CREATE TABLE o(v); INSERT INTO o VALUES(1)");
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE TABLE o(v)");
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE t USING ptable(store='m.db%s')",
              endings[i]);
        fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE t USING ptable(store='other.db%s')",
              endings[i]);
        fails(db, SQLITE_CANTOPEN, "SELECT * FROM pt_partitions('other.db%s', 't')", endings[i]);
    }
    says(db, "choose another");
    run(db, "INSERT INTO o VALUES(1)");
    run(other, "INSERT INTO o VALUES(2)");
    assert_false(is_there(folder, "m.db-journal"));
    assert_number(other, 2, "SELECT count(*) FROM o");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(store='trade-journal');"
            "INSERT INTO t VALUES('p', 'r', NULL)");
    close_database(db);
    close_database(other);
}

/* --- Where the lock file belongs --- */

static void make_table(const char *folder)
{
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "m.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32); INSERT INTO t VALUES('p', 'r', 1)");
    close_database(db);
    path_in(folder, "m.db-ptable-lock", path);
    assert_int_equal(unlink(path), 0);
}

static void expect_no_lock(const char *folder)
{
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "m.db");
    refuses(db, "SELECT * FROM t");
    says(db, "lock file");
    refuses(db, "INSERT INTO t VALUES('p', 'r', 1)");
    close_database(db);
    path_in(folder, "m.db-ptable-lock", path);
    assert_int_equal(unlink(path), 0);
    db = open_database(folder, "m.db");
    assert_number(db, 1, "SELECT V FROM t");
    close_database(db);
    assert_int_equal(unlink(path), 0);
}

static void a_lock_file_that_is_another_file_is_not_written(void **state)
{
    const char *folder = *state;
    char victim[PATH_SIZE];
    char lock[PATH_SIZE];
    make_table(folder);
    path_in(folder, "victim", victim);
    path_in(folder, "m.db-ptable-lock", lock);
    put_file(victim, secret, sizeof secret - 1);
    assert_int_equal(symlink(victim, lock), 0);
    expect_no_lock(folder);
    assert_int_equal(link(victim, lock), 0);
    expect_no_lock(folder);
    assert_untouched(victim);
    assert_int_equal(symlink("made", lock), 0);
    expect_no_lock(folder);
    assert_false(is_there(folder, "made"));
    put_file(lock, secret, sizeof secret - 1);
    expect_no_lock(folder);
    put_file(lock, "short", 5);
    expect_no_lock(folder);
    assert_int_equal(mkfifo(lock, 0600), 0);
    alarm(PATIENCE_SECONDS);
    expect_no_lock(folder);
    alarm(0);
}

/* A file of `size` bytes, all zeros but for one at `at`, if that is in the file. */
static void put_zeros(const char *path, size_t size, size_t at)
{
    char *bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    bytes[at] = 'x';
    put_file(path, bytes, size);
    free(bytes);
}

static uint64_t sum_of(const char *path)
{
    uint64_t sum = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int byte; (byte = getc(file)) != EOF;) {
        sum = sum * 31 + (uint64_t)byte + 1;
    }
    fclose(file);
    return sum;
}

static void a_file_that_only_begins_as_an_unfinished_lock_file_is_not_written(void **state)
{
    enum { LARGEST = 65536, LARGE = 10 << 20 };
    static const struct {
        size_t size;
        size_t at;
    } victims[] = {
        {5, 5},
        {4, 0},
        {191, 191},
        {300, 0},
        {4096, 8},
        {4096, 200},
        {4096, 4095},
        {LARGEST - 1, LARGEST - 2},
        {LARGEST + 1, LARGEST + 1},
        {LARGE, LARGE},
        {LARGE, 500000},
    };
    const char *folder = *state;
    char lock[PATH_SIZE];
    make_table(folder);
    path_in(folder, "m.db-ptable-lock", lock);
    for (size_t i = 0; i < sizeof victims / sizeof victims[0]; i++) {
        put_zeros(lock, victims[i].size, victims[i].at);
        uint64_t before = sum_of(lock);
        sqlite3 *db = open_database(folder, "m.db");
        refuses(db, "SELECT * FROM t");
        says(db, "its content is something else");
        refuses(db, "INSERT INTO t VALUES('p', 'r', 1)");
        close_database(db);
        assert_true(sum_of(lock) == before);
        assert_int_equal(unlink(lock), 0);
    }
}

/* The first bytes of a data file of LMDB are zeros too. */
static void a_store_where_the_lock_file_belongs_is_not_written(void **state)
{
    const char *folder = *state;
    char lock[PATH_SIZE];
    make_table(folder);
    path_in(folder, "m.db-ptable-lock", lock);
    char path[PATH_SIZE];
    sqlite3 *db = open_database(folder, "o.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32)");
    close_database(db);
    path_in(folder, "o.db-ptable", path);
    assert_int_equal(rename(path, lock), 0);
    uint64_t before = sum_of(lock);
    db = open_database(folder, "m.db");
    refuses(db, "SELECT * FROM t");
    close_database(db);
    assert_true(sum_of(lock) == before);
}

/* What an opener leaves that ends between making the mutexes and writing the magic number. */
static void put_lock_file_with_mutexes(const char *lock)
{
    enum { NUMBERS = 8, LINE = 64 }; /* LMDB's: two before the first mutex, a line with it */
    char bytes[8192] = {0};
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    assert_int_equal(pthread_mutexattr_init(&attributes), 0);
    assert_int_equal(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    assert_int_equal(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
    assert_int_equal(pthread_mutex_init(&mutex, &attributes), 0);
    memcpy(bytes + NUMBERS, &mutex, sizeof mutex);
    memcpy(bytes + LINE, &mutex, sizeof mutex);
    put_file(lock, bytes, sizeof bytes);
}

static void an_empty_or_unfinished_lock_file_is_used(void **state)
{
    const char *folder = *state;
    static const char zeros[8192];
    char lock[PATH_SIZE];
    make_table(folder);
    path_in(folder, "m.db-ptable-lock", lock);
    for (size_t size = 0; size <= sizeof zeros; size += sizeof zeros / 2) {
        put_file(lock, zeros, size);
        sqlite3 *db = open_database(folder, "m.db");
        assert_number(db, 1, "SELECT V FROM t");
        close_database(db);
    }
    put_lock_file_with_mutexes(lock);
    sqlite3 *db = open_database(folder, "m.db");
    assert_number(db, 1, "SELECT V FROM t");
    close_database(db);
}

static void a_lock_file_filled_with_zeros_in_use_says_what_to_do(void **state)
{
    const char *folder = *state;
    static const char zeros[65536];
    char lock[PATH_SIZE];
    char byte = 0;
    int status = -1;
    int to_child[2];
    int to_parent[2];
    make_table(folder);
    path_in(folder, "m.db-ptable-lock", lock);
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
    pid_t pid = fork_process();
    if (pid == 0) {
        close(to_child[1]);
        sqlite3 *own = open_database(folder, "m.db");
        assert_number(own, 1, "SELECT V FROM t");
        _exit(write(to_parent[1], &byte, 1) == 1 && read(to_child[0], &byte, 1) == 0 ? 0 : 1);
    }
    assert_int_equal(read(to_parent[0], &byte, 1), 1);
    int fd = open(lock, O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, zeros, sizeof zeros), sizeof zeros);
    close(fd);
    sqlite3 *db = open_database(folder, "m.db");
    refuses(db, "SELECT * FROM t");
    says(db, "close the store in all processes and delete the lock file");
    close(to_child[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(unlink(lock), 0);
    assert_number(db, 1, "SELECT V FROM t");
    close_database(db);
    close(to_child[0]);
    close(to_parent[0]);
    close(to_parent[1]);
}

/* Closing any descriptor of a file drops the process's locks on it. */
static void a_database_where_the_lock_file_belongs_keeps_its_locks(void **state)
{
    const char *folder = *state;
    make_table(folder);
    sqlite3 *victim = open_database(folder, "m.db-ptable-lock");
    run(victim, "CREATE TABLE o(v); BEGIN IMMEDIATE; INSERT INTO o VALUES(1)");
    sqlite3 *db = open_database(folder, "m.db");
    refuses(db, "SELECT * FROM t");
    refuses(db, "SELECT * FROM t");
    char path[PATH_SIZE];
    path_in(folder, "m.db-ptable-lock", path);
    int status = -1;
    pid_t pid = fork_process();
    if (pid == 0) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        struct flock reserved = {.l_type = F_WRLCK, .l_start = 0x40000001, .l_len = 1};
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &reserved) == 0 && reserved.l_type == F_WRLCK ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    run(victim, "COMMIT");
    close_database(db);
    close_database(victim);
}

/* --- Size --- */

/* The thread sanitizer leaves less address space. */
static bool has_room_for(size_t size)
{
    void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return map != MAP_FAILED && munmap(map, size) == 0;
}

static void a_huge_sparse_store_is_read(void **state)
{
    const char *folder = *state;
    char path[PATH_SIZE];
    if (!has_room_for((size_t)1 << 42)) {
        skip();
    }
    make_table(folder);
    path_in(folder, "m.db-ptable", path);
    assert_int_equal(truncate(path, (off_t)1 << 42), 0);
    sqlite3 *db = open_database(folder, "m.db");
    assert_number(db, 1, "SELECT V FROM t");
    run(db, "INSERT INTO t VALUES('p', 's', 2)");
    close_database(db);
    path_in(folder, "zeros", path);
    put_file(path, "", 0);
    assert_int_equal(truncate(path, (off_t)1 << 42), 0);
    db = open_database(folder, "m.db");
    fails(db, SQLITE_CANTOPEN, "CREATE VIRTUAL TABLE z USING ptable(store='zeros')");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_new_store_is_for_whom_its_database_is),
        folder_test(a_lock_file_made_anew_is_for_whom_the_store_is),
        folder_test(without_a_database_file_the_umask_decides),
        folder_test(root_makes_stores_for_the_owner_of_the_database),
        folder_test(a_group_that_cannot_be_given_gets_nothing),
        folder_test(stores_and_backups_get_the_list_of_the_database),
        folder_test(without_a_list_of_the_database_there_is_none),
        folder_test(a_private_store_has_no_name_and_no_readers),
        folder_test(text_files_are_refused_and_left_alone),
        folder_test(a_database_is_not_advised_away),
        folder_test(empty_looping_and_missing_files_are_refused),
        folder_test(the_watcher_sees_an_opening),
        folder_test(fifos_and_devices_are_not_opened),
        folder_test(tables_that_are_not_used_open_nothing),
        folder_test(a_database_without_its_store_makes_none),
        folder_test(a_store_takes_no_name_that_sqlite_uses),
        folder_test(a_lock_file_that_is_another_file_is_not_written),
        folder_test(a_file_that_only_begins_as_an_unfinished_lock_file_is_not_written),
        folder_test(a_store_where_the_lock_file_belongs_is_not_written),
        folder_test(an_empty_or_unfinished_lock_file_is_used),
        folder_test(a_lock_file_filled_with_zeros_in_use_says_what_to_do),
        folder_test(a_database_where_the_lock_file_belongs_keeps_its_locks),
        folder_test(a_huge_sparse_store_is_read),
    };
    return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
