/*
 * The log in rough hands: deleted, exchanged, cut, damaged, linked, left behind, copied. A store
 * whose commits are in a log that is not there, or cannot be trusted, is refused with a text that
 * says what to do; with its own log it works again.
 */
#include <sys/stat.h>

#include "fixtures/log_chain.h"
#include "fixtures/scene_files.h"

enum { MANY = 1000000, ROWS = 6 };

#define STORE "shared.ptable"
#define TABLE "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32, store='" STORE "')"

/* Another process has logged some rows, and was killed. */
static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    use_log(MANY);
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, TABLE);
    for (int i = 1; i <= ROWS; i++) {
        peer_run(&other, "INSERT INTO t VALUES('p', '%d', %d)", i, i);
    }
    kill_peer(&other);
    return 0;
}

static bool is_there(const scene *all, const char *name)
{
    struct stat status;
    return lstat(in(all, name), &status) == 0;
}

static void expect_refused(const scene *all, int code, const char *text)
{
    sqlite3 *db = open_database(all->folder, "main.db");
    fails(db, code, "SELECT count(*) FROM t");
    says(db, text);
    says(db, "pt_forget_log");
    fails(db, code, "INSERT INTO t VALUES('p', 'new', 1)");
    close_database(db);
}

/* The store has these rows, and works; closed, it is one file. */
static void expect_rows(const scene *all, int rows)
{
    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, rows, "SELECT count(*) FROM t");
    assert_number(db, rows * (rows + 1) / 2, "SELECT coalesce(sum(V), 0) FROM t");
    run(db, "INSERT INTO t VALUES('p', 'new', 1); UPDATE t SET V = 2 WHERE RowKey = 'new';"
            "DELETE FROM t WHERE RowKey = 'new'");
    assert_number(db, 1, "SELECT pt_check('%s/" STORE "') = 'ok'", all->folder);
    close_database(db);
    log_chain closed = log_chain_of(in(all, STORE));
    assert_true(closed.readable && closed.log_id == 0);
}

static void expect_one_file(const scene *all)
{
    assert_false(is_there(all, STORE "-log"));
    assert_false(is_there(all, STORE "-word"));
}

/* --- Gone --- */

static void a_deleted_log_is_missed(void **state)
{
    const scene *all = *state;
    move(all, STORE "-log", "elsewhere");
    expect_refused(all, SQLITE_CANTOPEN, "is missing");
    move(all, "elsewhere", STORE "-log");
    expect_rows(all, ROWS);
    expect_one_file(all);
}

static void a_deleted_log_can_be_given_up(void **state)
{
    const scene *all = *state;
    assert_int_equal(unlink(in(all, STORE "-log")), 0);
    expect_refused(all, SQLITE_CANTOPEN, "is missing");
    sqlite3 *db = open_database("", ":memory:");
    run(db, "SELECT pt_forget_log('%s/" STORE "')", all->folder);
    close_database(db);
    expect_rows(all, 1); /* the first one was LMDB's, and began the log */
    expect_one_file(all);
}

/* Its log is not known by the new name. */
static void a_store_is_moved_with_its_log(void **state)
{
    const scene *all = *state;
    sqlite3 *db = open_database("", ":memory:");
    move(all, STORE, "new.ptable");
    fails(db, SQLITE_CANTOPEN,
          "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/new.ptable')", all->folder);
    says(db, "is missing");
    move(all, STORE "-log", "new.ptable-log");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/new.ptable')", all->folder);
    assert_number(db, ROWS, "SELECT count(*) FROM t");
    close_database(db);
}

/* --- Another one --- */

static void the_log_of_another_store_is_refused(void **state)
{
    const scene *all = *state;
    peer other = start_peer(all->folder, "other.db");
    peer_run(&other, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='other.ptable');"
                     "INSERT INTO t VALUES('p', '1', 1); INSERT INTO t VALUES('p', '2', 1)");
    kill_peer(&other);
    move(all, STORE "-log", "elsewhere");
    copy(all, "other.ptable-log", STORE "-log");
    expect_refused(all, SQLITE_CANTOPEN, "another store");
    assert_int_equal(unlink(in(all, STORE "-log")), 0);
    move(all, "elsewhere", STORE "-log");
    expect_rows(all, ROWS);
}

static void what_is_no_log_is_refused(void **state)
{
    const scene *all = *state;
    static const file_content text = {.bytes = (uint8_t *)(uintptr_t) "a letter", .size = 8};
    move(all, STORE "-log", "elsewhere");
    assert_true(file_write(in(all, STORE "-log"), &text));
    expect_refused(all, SQLITE_CANTOPEN, "-log");
    assert_true(is_there(all, STORE "-log"));
    assert_int_equal(unlink(in(all, STORE "-log")), 0);
    assert_int_equal(mkdir(in(all, STORE "-log"), 0700), 0);
    expect_refused(all, SQLITE_CANTOPEN, "-log");
    assert_int_equal(rmdir(in(all, STORE "-log")), 0);
    assert_int_equal(mkfifo(in(all, STORE "-log"), 0600), 0);
    expect_refused(all, SQLITE_CANTOPEN, "-log");
    assert_int_equal(unlink(in(all, STORE "-log")), 0);
    move(all, "elsewhere", STORE "-log");
    expect_rows(all, ROWS);
}

static void a_log_with_other_names_is_refused(void **state)
{
    const scene *all = *state;
    move(all, STORE "-log", "elsewhere");
    assert_int_equal(symlink("elsewhere", in(all, STORE "-log")), 0);
    expect_refused(all, SQLITE_CANTOPEN, "its log");
    expect_refused(all, SQLITE_CANTOPEN, "link");
    assert_int_equal(unlink(in(all, STORE "-log")), 0);
    assert_int_equal(link(in(all, "elsewhere"), in(all, STORE "-log")), 0);
    expect_refused(all, SQLITE_CANTOPEN, "several names");
    sqlite3 *db = open_database("", ":memory:");
    assert_number(db, 1, "SELECT pt_check('%s/" STORE "') LIKE '%%several names%%'", all->folder);
    close_database(db);
    assert_int_equal(unlink(in(all, "elsewhere")), 0);
    expect_rows(all, ROWS);
}

/* A word from before says nothing, whatever it is. */
static void a_word_that_was_left_is_not_believed(void **state)
{
    const scene *all = *state;
    static file_content word;
    word.size = 0;
    file_load(&word, in(all, STORE "-word"));
    memset(word.bytes + 8, 0xff, 40);
    assert_true(file_write(in(all, STORE "-word"), &word));
    expect_rows(all, ROWS);
    expect_one_file(all);
}

/* No commit is lost without it: nobody should give up the log for that. */
static void a_word_that_is_none_is_refused(void **state)
{
    const scene *all = *state;
    assert_int_equal(unlink(in(all, STORE "-word")), 0);
    assert_int_equal(symlink("main.db", in(all, STORE "-word")), 0);
    sqlite3 *db = open_database(all->folder, "main.db");
    fails(db, SQLITE_CANTOPEN, "SELECT count(*) FROM t");
    says(db, "-word");
    says(db, "remove");
    assert_null(strstr(sqlite3_errmsg(db), "-log"));
    assert_null(strstr(sqlite3_errmsg(db), "pt_forget_log"));
    close_database(db);
    assert_int_equal(unlink(in(all, STORE "-word")), 0);
    expect_rows(all, ROWS);
}

/* --- Damage --- */

/* Rows that are there once the log has this content; -1: the store is refused. */
static int rows_with(const scene *all, const file_content *log)
{
    copy(all, "before", STORE);
    assert_true(file_write(in(all, STORE "-log"), log));
    unlink(in(all, STORE "-word"));
    unlink(in(all, STORE "-lock"));
    sqlite3 *db = open_database(all->folder, "main.db");
    int64_t rows = first_number(db, "SELECT count(*) FROM t", -1);
    if (rows < 0) {
        int code = sqlite3_errcode(db);
        assert_true(code == SQLITE_CORRUPT || code == SQLITE_CANTOPEN);
        says(db, "-log");
        fails(db, code, "INSERT INTO t VALUES('p', 'new', 1)");
        assert_number(db, 1, "SELECT pt_check('%s/" STORE "') LIKE '%%-log%%pt_forget_log%%'",
                      all->folder);
    }
    close_database(db);
    return (int)rows;
}

/* All records but the last were known to be on the disk when the next one was written. */
static void damage_is_found_and_a_torn_end_is_not_damage(void **state)
{
    const scene *all = *state;
    file_content log = {0};
    log_chain chain = log_chain_of(in(all, STORE));
    int kept = ROWS - (int)chain.commits;
    move(all, STORE, "before");
    file_load(&log, in(all, STORE "-log"));
    assert_int_equal(rows_with(all, &log), ROWS);
    for (size_t at = 0; at < chain.end; at += 1 + chain.end / 50) {
        log.bytes[CHAIN_LOG_HEADER + at] ^= 0x10;
        int rows = rows_with(all, &log);
        assert_int_equal(rows, at < chain.last ? -1 : ROWS - 1);
        log.bytes[CHAIN_LOG_HEADER + at] ^= 0x10;
    }
    assert_int_equal(rows_with(all, &log), ROWS);
    size_t whole = log.size;
    static const size_t lengths[] = {0, 1, 8, 2000, CHAIN_LOG_HEADER, CHAIN_LOG_HEADER + 100};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        log.size = lengths[i];
        assert_int_equal(rows_with(all, &log), -1);
    }
    log.size = CHAIN_LOG_HEADER + chain.end;
    assert_int_equal(rows_with(all, &log), -1); /* it was made longer */
    log.size = whole;
    assert_int_equal(rows_with(all, &log), ROWS);
    assert_true(kept < ROWS);
    free(log.bytes);
}

/* What was durable follows a version that this file does not have. */
static void a_store_that_is_older_than_its_log_is_refused(void **state)
{
    const scene *all = *state;
    copy(all, STORE, "older");
    peer other = start_peer(all->folder, "main.db");
    /* A large one goes to the file, and the log begins again. */
    peer_run(&other, "INSERT INTO t WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE "
                     "k < 3000) SELECT 'many', k, k FROM n");
    peer_run(&other, "INSERT INTO t VALUES('p', 'later', 1); INSERT INTO t VALUES('p', 'last', 1)");
    assert_true(log_chain_check(in(all, STORE)).commits > 0);
    kill_peer(&other);
    move(all, STORE, "newer");
    move(all, "older", STORE);
    expect_refused(all, SQLITE_CORRUPT, "-log");
    assert_int_equal(unlink(in(all, STORE)), 0);
    move(all, "newer", STORE);
    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, ROWS + 3002, "SELECT count(*) FROM t");
    close_database(db);
}

/* --- While it is open --- */

static void a_log_that_is_deleted_while_open_loses_nothing(void **state)
{
    const scene *all = *state;
    static const char *const names[] = {STORE "-log", STORE "-word"};
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = open_database(all->folder, "main.db");
        run(db, "INSERT INTO t VALUES('o', 'a%d', 0); INSERT INTO t VALUES('o', 'b%d', 0)", i, i);
        assert_true(log_chain_check(in(all, STORE)).commits > 0);
        assert_int_equal(unlink(in(all, names[i])), 0);
        peer other = start_peer(all->folder, "main.db");
        peer_fails(&other, SQLITE_CANTOPEN, "SELECT count(*) FROM t");
        peer_says(&other, i == 0 ? "-log" : "-word");
        run(db, "INSERT INTO t VALUES('o', 'c%d', 0)", i);
        close_database(db);
        stop_peer(&other);
        db = open_database(all->folder, "main.db");
        assert_number(db, ROWS + 3 * (i + 1), "SELECT count(*) FROM t");
        close_database(db);
    }
}

/* What is published cannot be read any more, which no process takes for nothing. */
static void a_word_that_is_overwritten_while_open_is_told(void **state)
{
    const scene *all = *state;
    static file_content word;
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "INSERT INTO t VALUES('o', 'a', 0); INSERT INTO t VALUES('o', 'b', 0)");
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, "INSERT INTO t VALUES('o', 'c', 0)");
    assert_number(db, ROWS + 3, "SELECT count(*) FROM t");
    word.size = 0;
    file_load(&word, in(all, STORE "-word"));
    for (int i = 0; i < 3; i++) {
        int fd = open(in(all, STORE "-word"), O_RDWR);
        memset(word.bytes + 16, i == 0 ? 0 : i == 1 ? 0xff : 'x', 8);
        assert_int_equal(pwrite(fd, word.bytes, 24, 0), 24);
        close(fd);
        fails(db, SQLITE_CORRUPT, "SELECT count(*) FROM t");
        says(db, "-word");
        says(db, "no commit is lost");
        peer_fails(&other, SQLITE_CORRUPT, "SELECT count(*) FROM t");
        peer_run(&other, "INSERT INTO t VALUES('o', 'd%d', 0)", i);
        assert_number(db, ROWS + 4 + i, "SELECT count(*) FROM t");
    }
    stop_peer(&other);
    close_database(db);
    db = open_database(all->folder, "main.db");
    assert_number(db, ROWS + 6, "SELECT count(*) FROM t");
    close_database(db);
}

/* As `cp --backup` and editors do: the log has another name, and a copy has its own. */
static void move_log_away(const scene *all)
{
    move(all, STORE "-log", STORE "-log~");
    copy(all, STORE "-log~", STORE "-log");
}

typedef enum spoiling {
    DELETED,
    REPLACED, /* a copy in its place is as good as none */
    CUT,
    MOVED,
    MOVED_AND_COPIED,
    MOVED_AND_LINKED,
    REPLACED_BY_OTHER,
    SPOILINGS,
} spoiling;

static void spoil_log(const scene *all, spoiling how)
{
    static const file_content text = {.bytes = (uint8_t *)(uintptr_t) "a letter", .size = 8};
    switch (how) {
    case DELETED:
        assert_int_equal(unlink(in(all, STORE "-log")), 0);
        break;
    case REPLACED:
        copy(all, STORE "-log", "copy");
        move(all, "copy", STORE "-log");
        break;
    case CUT:
        assert_int_equal(truncate(in(all, STORE "-log"), 0), 0);
        break;
    case MOVED:
        move(all, STORE "-log", STORE "-log~");
        break;
    case MOVED_AND_COPIED:
        move_log_away(all);
        break;
    case MOVED_AND_LINKED:
        move(all, STORE "-log", STORE "-log~");
        assert_int_equal(symlink(STORE "-log~", in(all, STORE "-log")), 0);
        break;
    default:
        assert_true(file_write(in(all, "other"), &text));
        move(all, "other", STORE "-log");
        break;
    }
}

/* The next COMMIT that promises the disk finds that nobody could read what it would append, and
 * writes all to the store's file. */
static void a_commit_does_not_go_to_a_log_that_was_spoilt(void **state)
{
    const scene *all = *state;
    enum { COMMITS = 3, AFTERWARDS = 4 };
    int rows = ROWS;
    for (spoiling how = 0; how < SPOILINGS; how++) {
        peer other = start_peer(all->folder, "main.db");
        for (int i = 0; i < COMMITS; i++) {
            peer_run(&other, "INSERT INTO t VALUES('o%d', 'before %d', 0)", (int)how, i);
        }
        assert_true(log_chain_check(in(all, STORE)).commits > 0);
        spoil_log(all, how);
        for (int i = 0; i < AFTERWARDS; i++) {
            peer_run(&other, "INSERT INTO t VALUES('o%d', 'after %d', 0)", (int)how, i);
            assert_peer_number(&other, 1, "SELECT pt_check('" STORE "') = 'ok'");
        }
        rows += COMMITS + AFTERWARDS;
        sqlite3 *db = open_database(all->folder, "main.db");
        assert_number(db, rows, "SELECT count(*) FROM t");
        close_database(db);
        kill_peer(&other);
        db = open_database(all->folder, "main.db");
        assert_number(db, rows, "SELECT count(*) FROM t");
        assert_number(db, 1, "SELECT pt_check('" STORE "') = 'ok'");
        close_database(db);
        unlink(in(all, STORE "-log~"));
        unlink(in(all, STORE "-log"));
    }
    expect_one_file(all);
}

/* With sync=normal nothing is asked of the disk: pt_check says that the commits are not there, and
 * so does who opens the store. A commit with sync=full makes up for all. */
static void a_log_that_was_moved_is_missed(void **state)
{
    const scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other,
             "CREATE VIRTUAL TABLE n USING ptable(V Int32, sync=normal, store='" STORE "')");
    peer_run(&other, "INSERT INTO t VALUES('o', '1', 0)");
    peer_run(&other, "INSERT INTO n VALUES('o', '1', 0)");
    assert_true(log_chain_check(in(all, STORE)).commits > 0);
    move_log_away(all);
    assert_peer_number(&other, 1, "SELECT pt_check('" STORE "') = 'ok'");
    peer_run(&other, "INSERT INTO n VALUES('o', '2', 0)");
    assert_peer_number(&other, 1, "SELECT pt_check('" STORE "') LIKE '%%-log is damaged%%'");
    sqlite3 *db = open_database(all->folder, "main.db");
    fails(db, SQLITE_CORRUPT, "SELECT count(*) FROM n");
    fails(db, SQLITE_CORRUPT, "SELECT pt_check('" STORE "')");
    says(db, "-log");
    peer_run(&other, "INSERT INTO t VALUES('o', '2', 0)");
    assert_peer_number(&other, 1, "SELECT pt_check('" STORE "') = 'ok'");
    assert_number(db, 2, "SELECT count(*) FROM n");
    assert_number(db, 1, "SELECT pt_check('" STORE "') = 'ok'");
    kill_peer(&other);
    close_database(db);
    db = open_database(all->folder, "main.db");
    assert_number(db, 2, "SELECT count(*) FROM n");
    assert_number(db, ROWS + 2, "SELECT count(*) FROM t");
    close_database(db);
    expect_one_file(all);
}

/* A copy of the word does not change with it. Two processes that go by different words would
 * overwrite each other's commits. */
static void a_word_that_was_moved_away_is_not_followed(void **state)
{
    const scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, "INSERT INTO t VALUES('o', '1', 0)");
    peer_run(&other, "INSERT INTO t VALUES('o', '2', 0)");
    assert_true(log_chain_check(in(all, STORE)).commits > 0);
    move(all, STORE "-word", STORE "-word~");
    copy(all, STORE "-word~", STORE "-word");
    sqlite3 *db = open_database(all->folder, "main.db");
    fails(db, SQLITE_CANTOPEN, "INSERT INTO t VALUES('o', '3', 0)");
    says(db, "-word");
    peer_run(&other, "INSERT INTO t VALUES('o', '4', 0)");
    kill_peer(&other);
    close_database(db);
    db = open_database(all->folder, "main.db");
    assert_number(db, ROWS + 3, "SELECT count(*) FROM t");
    close_database(db);
    expect_one_file(all);
}

/* With its folder the store's file has moved, too, and then nothing more is written. What the log
 * has is in the file before it is closed. */
static void a_store_whose_folder_is_moved_keeps_all(void **state)
{
    scene *all = *state;
    char *moved = sqlite3_mprintf("%s-moved", all->folder);
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "INSERT INTO t VALUES('o', '1', 0); INSERT INTO t VALUES('o', '2', 0)");
    assert_true(log_chain_check(in(all, STORE)).commits > 0);
    assert_int_equal(rename(all->folder, moved), 0);
    fails(db, SQLITE_READONLY_DBMOVED, "INSERT INTO t VALUES('o', '3', 0)");
    assert_number(db, ROWS + 2, "SELECT count(*) FROM t");
    close_database(db);
    assert_int_equal(rename(moved, all->folder), 0);
    sqlite3_free(moved);
    db = open_database(all->folder, "main.db");
    assert_number(db, ROWS + 2, "SELECT count(*) FROM t");
    close_database(db);
    expect_one_file(all);
}

/* Between two commits: the two files are enough, the file of the store alone is refused. */
static void a_copy_of_an_open_store_needs_the_log(void **state)
{
    const scene *all = *state;
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "INSERT INTO t VALUES('o', '1', 0); INSERT INTO t VALUES('o', '2', 0)");
    copy(all, STORE, "copy.ptable");
    sqlite3 *other = open_database("", ":memory:");
    fails(other, SQLITE_CANTOPEN,
          "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/copy.ptable')", all->folder);
    copy(all, STORE "-log", "copy.ptable-log");
    run(other, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/copy.ptable')", all->folder);
    assert_number(other, ROWS + 2, "SELECT count(*) FROM t");
    run(other, "INSERT INTO t VALUES('o', '3', 0); INSERT INTO t VALUES('o', '4', 0)");
    close_database(other);
    assert_number(db, ROWS + 2, "SELECT count(*) FROM t");
    run(db, "SELECT pt_backup('" STORE "', 'backup.ptable')");
    close_database(db);
    assert_false(is_there(all, "backup.ptable-log"));
    other = open_database("", ":memory:");
    run(other, "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/backup.ptable')",
        all->folder);
    assert_number(other, ROWS + 2, "SELECT count(*) FROM t");
    close_database(other);
}

/* Puts and deletions of entities with short keys, long keys, and large values, over what the tree
 * has and over nothing, and a table of which the log leaves nothing. */
static void a_backup_has_every_kind_of_write_of_the_log(void **state)
{
    const scene *all = *state;
    static const char all_rows[] =
        "SELECT sum(V * length(RowKey)) + 7 * count(*) + sum(length(Data)) FROM w";
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE w USING ptable(V Int32, Data String, store='" STORE "');"
            "CREATE VIRTUAL TABLE emptied USING ptable(V Int32, store='" STORE "')");
    run(db, "INSERT INTO w VALUES ('p', '1', 1, 'x'), ('p', '2', 2, 'x'), ('p', '3', 3, 'x'),"
            "  ('p', printf('a%%0700d', 1), 4, 'x'), ('p', printf('b%%0700d', 1), 5, 'x'),"
            "  ('p', 'large', 6, printf('%%040000d', 1));"
            "INSERT INTO emptied VALUES ('p', '1', 1)");
    run(db, "INSERT INTO pt_tables(TableName, Store) VALUES ('Other', '" STORE "')");
    assert_number(db, 0, "SELECT Logged FROM pt_stores");
    run(db, "UPDATE w SET V = 20 WHERE RowKey = '2'; DELETE FROM w WHERE RowKey = '3';"
            "UPDATE w SET V = 40 WHERE RowKey GLOB 'a*'; DELETE FROM w WHERE RowKey GLOB 'b*';"
            "INSERT INTO w VALUES ('p', printf('c%%0700d', 1), 7, 'x'), ('p', '9', 8, 'x');"
            "DELETE FROM w WHERE RowKey = 'large';"
            "INSERT INTO w VALUES ('p', 'larger', 9, printf('%%050000d', 1));"
            "INSERT INTO emptied VALUES ('p', '2', 2); DELETE FROM emptied");
    assert_number(db, 1, "SELECT Logged > 5 FROM pt_stores");
    int64_t expected = number(db, all_rows);
    run(db, "SELECT pt_backup('" STORE "', 'backup.ptable')");
    close_database(db);
    sqlite3 *other = open_database("", ":memory:");
    run(other,
        "CREATE VIRTUAL TABLE w USING ptable(V Int32, Data String, store='%s/backup.ptable')",
        all->folder);
    assert_number(other, expected, all_rows);
    assert_number(other, 6, "SELECT Entities FROM pt_tables WHERE TableName = 'w'");
    assert_number(other, 0, "SELECT Entities FROM pt_tables WHERE TableName = 'emptied'");
    assert_number(other, 1, "SELECT pt_check('%s/backup.ptable') = 'ok'", all->folder);
    close_database(other);
}

static void the_files_have_the_permissions_of_the_store(void **state)
{
    const scene *all = *state;
    static const mode_t modes[] = {0600, 0640, 0664, 0666};
    expect_rows(all, ROWS);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct stat status;
        assert_int_equal(chmod(in(all, STORE), modes[i]), 0);
        sqlite3 *db = open_database(all->folder, "main.db");
        run(db, "INSERT INTO t VALUES('m', 'a%d', 0); INSERT INTO t VALUES('m', 'b%d', 0)", (int)i,
            (int)i);
        assert_int_equal(stat(in(all, STORE "-log"), &status), 0);
        assert_int_equal(status.st_mode & 0777, modes[i]);
        assert_int_equal(stat(in(all, STORE "-word"), &status), 0);
        assert_int_equal(status.st_mode & 0777, modes[i]);
        close_database(db);
    }
}

/* --- Left behind --- */

/* A log that the state does not name is removed, and a file that is no log is not. */
static void a_stale_log_is_removed(void **state)
{
    const scene *all = *state;
    static const file_content text = {.bytes = (uint8_t *)(uintptr_t) "a letter", .size = 8};
    copy(all, STORE "-log", "stale");
    expect_rows(all, ROWS);
    copy(all, "stale", STORE "-log");
    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, ROWS, "SELECT count(*) FROM t");
    assert_false(is_there(all, STORE "-log"));
    close_database(db);
    assert_true(file_write(in(all, STORE "-log"), &text));
    db = open_database(all->folder, "main.db");
    run(db, "INSERT INTO t VALUES('o', '1', 0); INSERT INTO t VALUES('o', '2', 0)");
    assert_number(db, ROWS + 2, "SELECT count(*) FROM t");
    close_database(db);
    file_content found = {0};
    file_load(&found, in(all, STORE "-log"));
    assert_int_equal(found.size, text.size);
    free(found.bytes);
}

/* The copy that takes the place of the store begins with low versions. */
static void compacting_begins_again(void **state)
{
    const scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, "INSERT INTO t VALUES('o', '1', 0); SELECT pt_compact('" STORE "')");
    peer_run(&other, "INSERT INTO t VALUES('o', '2', 0)");
    log_chain_check(in(all, STORE));
    kill_peer(&other);
    other = start_peer(all->folder, "main.db");
    assert_peer_number(&other, ROWS + 2, "SELECT count(*) FROM t");
    peer_run(&other, "SELECT pt_compact('" STORE "')");
    kill_peer(&other);
    other = start_peer(all->folder, "main.db");
    assert_peer_number(&other, ROWS + 2, "SELECT count(*) FROM t");
    peer_run(&other, "INSERT INTO t VALUES('o', '3', 0); INSERT INTO t VALUES('o', '4', 0)");
    log_chain_check(in(all, STORE));
    stop_peer(&other);
    expect_one_file(all);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(a_deleted_log_is_missed),
        scene_test(a_deleted_log_can_be_given_up),
        scene_test(a_store_is_moved_with_its_log),
        scene_test(the_log_of_another_store_is_refused),
        scene_test(what_is_no_log_is_refused),
        scene_test(a_log_with_other_names_is_refused),
        scene_test(a_word_that_was_left_is_not_believed),
        scene_test(a_word_that_is_none_is_refused),
        scene_test(a_word_that_is_overwritten_while_open_is_told),
        scene_test(damage_is_found_and_a_torn_end_is_not_damage),
        scene_test(a_store_that_is_older_than_its_log_is_refused),
        scene_test(a_log_that_is_deleted_while_open_loses_nothing),
        scene_test(a_commit_does_not_go_to_a_log_that_was_spoilt),
        scene_test(a_log_that_was_moved_is_missed),
        scene_test(a_word_that_was_moved_away_is_not_followed),
        scene_test(a_store_whose_folder_is_moved_keeps_all),
        scene_test(a_copy_of_an_open_store_needs_the_log),
        scene_test(a_backup_has_every_kind_of_write_of_the_log),
        scene_test(the_files_have_the_permissions_of_the_store),
        scene_test(a_stale_log_is_removed),
        scene_test(compacting_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
