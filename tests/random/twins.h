/*
 * Two databases that must not be told apart: one with ptables, and its twin with ordinary tables of
 * the same names and columns, so that both understand the same SQL. The twin's tables are STRICT,
 * which refuses the values that typed columns of a ptable refuse.
 */
#ifndef TESTS_RANDOM_TWINS_H
#define TESTS_RANDOM_TWINS_H

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptable.h"
#include "random/step.h"

/* A kind of main database. */
typedef struct twin_host {
    const char *name;
    const char *file; /* in the test's folder; NULL: in memory */
    const char *encoding;
    const char *journal_mode;
    bool unique; /* with unique indexes: uniqueness.h */
} twin_host;

enum { CURSORS = 3, KEPT_STATEMENTS = 4 };

typedef struct twin_pair {
    const twin_host *host;
    const char *folder;
    sqlite3 *ptable;
    sqlite3 *ordinary;
    sqlite3_stmt *cursors[CURSORS];         /* of the ptable's database */
    sqlite3_stmt *kept[KEPT_STATEMENTS][2]; /* prepared on both sides */
} twin_pair;

#define PTABLE_COLUMNS "S String, I Int32, D Double, B Boolean, X Binary, V"
/* In the test's folder, which is the current one. */
#define OTHER_STORE "other.ptable"

#define ORDINARY_COLUMNS                                                                           \
    "PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, S TEXT, I INTEGER, D REAL, B INTEGER, "     \
    "X BLOB, V ANY"

/* Whatever writes a row gives it a new version, which its ETag shows. */
#define ORDINARY_TABLE(name)                                                                       \
    "CREATE TABLE IF NOT EXISTS " name "(" ORDINARY_COLUMNS ", "                                   \
    "EntityKey BLOB AS (twin_key(PartitionKey, RowKey)) VIRTUAL, Version INTEGER, "                \
    "ETag TEXT AS ('W/\"' || Version || '\"') VIRTUAL, "                                           \
    "PRIMARY KEY(PartitionKey, RowKey)) STRICT, WITHOUT ROWID;"                                    \
    "CREATE TRIGGER IF NOT EXISTS " name "_made AFTER INSERT ON " name                             \
    " BEGIN " NEW_VERSION(name) "CREATE TRIGGER IF NOT EXISTS " name                               \
                                "_changed AFTER UPDATE OF PartitionKey, RowKey, "                  \
                                "S, I, D, B, X, V ON " name " BEGIN " NEW_VERSION(name)
#define NEW_VERSION(name)                                                                          \
    "UPDATE " name " SET Version = twin_version() WHERE PartitionKey = new.PartitionKey AND "      \
    "RowKey = new.RowKey; END;"

/* Two tables in one store, one of them declared twice, and one in another store. Their indexes are
 * not declared, as those would have to be made again with their tables. */
static const char DECLARE_PTABLES[] =
    "CREATE VIRTUAL TABLE t1 USING ptable(" PTABLE_COLUMNS ", sync=off);"
    "CREATE VIRTUAL TABLE t2 USING ptable(" PTABLE_COLUMNS ", sync=off);"
    "CREATE VIRTUAL TABLE t3 USING ptable(" PTABLE_COLUMNS ", sync=off, store=" OTHER_STORE ");"
    "CREATE VIRTUAL TABLE again USING ptable(V, X Binary, S String, I Int32, table=t1, sync=off);"
    "INSERT OR IGNORE INTO pt_indexes(Store, TableName, Columns) VALUES (NULL, 't1', 'V, S'), "
    "(NULL, 't1', 'S'), (NULL, 't1', 'PartitionKey, D'), (NULL, 't2', 'I'), "
    "('" OTHER_STORE "', 't3', 'D, I'), ('" OTHER_STORE "', 't3', 'X');";

/* Instead of those indexes: unique ones, which come and go but for those of t3. */
static const char DECLARE_UNIQUE_PTABLES[] =
    "DELETE FROM pt_indexes; DROP TABLE t3; DELETE FROM pt_tables WHERE Store = '" OTHER_STORE "';"
    "CREATE VIRTUAL TABLE t3 USING ptable(" PTABLE_COLUMNS ", unique(S), index(D, I), sync=off, "
    "store=" OTHER_STORE ");"
    "CREATE VIRTUAL TABLE timed USING ptable(V DateTime, S String, table=t1, sync=off);"
    "INSERT INTO pt_indexes(TableName, Columns, IsUnique) VALUES ('t1', 'S', 1), ('t2', 'I', 1);";
static const char MAKE_UNIQUE_ORDINARY[] =
    "CREATE UNIQUE INDEX t3_s ON t3(S); CREATE INDEX t3_di ON t3(D, I);"
    "CREATE UNIQUE INDEX t1_s ON t1(S); CREATE UNIQUE INDEX t2_i ON t2(I);";

static const char DROP_PTABLES[] =
    "BEGIN; DROP TABLE t1; DROP TABLE t2; DROP TABLE t3; DROP TABLE again;";

static const char MAKE_ORDINARY[] = ORDINARY_TABLE("t1") ORDINARY_TABLE("t2") ORDINARY_TABLE("t3");

/* `given` takes the rows of an operation, one at a time (twin_operation.h). */
static const char DECLARE_ORDINARY[] =
    "CREATE VIEW again AS SELECT PartitionKey, RowKey, V, X, S, I, D, B, EntityKey, ETag FROM t1;"
    "CREATE TABLE given(" ORDINARY_COLUMNS ") STRICT;";

/* What both have: an ordinary table with keys as text and as numbers, whose trigger writes t2, and
 * one for ETags that have been read. */
static const char DECLARE_SHARED[] =
    "CREATE TABLE n(id INTEGER PRIMARY KEY, k TEXT UNIQUE, i INTEGER, r REAL, z);"
    "INSERT INTO n(k, i, r, z) VALUES ('', 0, 0, NULL), ('a', 1, 1, 'a'), ('b', 10, 10.0, 1),"
    " ('ab', 5, 2.5, 1.0), ('B', 2, 1, x'61'), ('1', 1, 1, ''), ('01', NULL, NULL, '01'),"
    " ('10', 10, 1e1, 10), ('é', 3, 3, 'é'), ('日本', 7, 7.5, '日本');"
    "CREATE TABLE seen(id INTEGER PRIMARY KEY, PartitionKey TEXT, RowKey TEXT, tag TEXT);"
    "CREATE TRIGGER n_changed AFTER UPDATE OF i ON n BEGIN"
    " INSERT OR IGNORE INTO t2(PartitionKey, RowKey, I) VALUES (new.k, new.i, new.i);"
    "END;";

/* PartitionKey, 00, RowKey in UTF-8: an EntityKey. */
static inline void twin_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *partition = (const char *)sqlite3_value_text(argv[0]);
    const char *row = (const char *)sqlite3_value_text(argv[1]);
    if (partition == NULL || row == NULL) {
        return;
    }
    sqlite3_str *key = sqlite3_str_new(NULL);
    sqlite3_str_appendall(key, partition);
    sqlite3_str_appendchar(key, 1, 0);
    sqlite3_str_appendall(key, row);
    int size = sqlite3_str_length(key);
    sqlite3_result_blob(context, sqlite3_str_finish(key), size, sqlite3_free);
}

/* The bytes of a text in UTF-8. */
static inline void twin_text(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const unsigned char *text = sqlite3_value_text(argv[0]);
    if (text != NULL) {
        sqlite3_result_blob(context, text, sqlite3_value_bytes(argv[0]), SQLITE_TRANSIENT);
    }
}

/* What is less than any other value that is not NULL. */
static inline void twin_less(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (sqlite3_value_type(argv[0]) != SQLITE_NULL) {
        sqlite3_result_double(context, -INFINITY);
    }
}

/* Never the same again, also after ROLLBACK. */
static inline void twin_version(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static sqlite3_int64 last;
    (void)argc;
    (void)argv;
    sqlite3_result_int64(context, ++last);
}

/* Runs SQL that must work. */
static inline void must(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        printf("Bail out! %s: %s\n", sql, message);
        exit(1);
    }
}

static inline void must_be_ok(int rc, const char *what)
{
    if (rc != SQLITE_OK) {
        printf("Bail out! %s: %s\n", what, sqlite3_errstr(rc));
        exit(1);
    }
}

static inline sqlite3 *open_database(const char *path, const char *encoding, const char *mode)
{
    sqlite3 *db = NULL;
    must_be_ok(sqlite3_open(path, &db), path);
    char *pragmas = need(sqlite3_mprintf(
        "PRAGMA encoding=%Q; PRAGMA journal_mode=%s; PRAGMA synchronous=off", encoding, mode));
    must(db, pragmas);
    sqlite3_extended_result_codes(db, 1);
    sqlite3_free(pragmas);
    must_be_ok(sqlite3_ptable_init(db, NULL, NULL), "loading the extension");
    return db;
}

static inline void open_ptable(twin_pair *twins)
{
    const twin_host *host = twins->host;
    twins->ptable = open_database(host->file == NULL ? ":memory:" : host->file, host->encoding,
                                  host->journal_mode);
}

static inline void make_function(sqlite3 *db, const char *name, int arguments,
                                 void (*function)(sqlite3_context *, int, sqlite3_value **),
                                 int flags)
{
    must_be_ok(sqlite3_create_function(db, name, arguments, SQLITE_UTF8 | SQLITE_INNOCUOUS | flags,
                                       NULL, function, NULL, NULL),
               name);
}

static inline void open_ordinary(twin_pair *twins)
{
    twins->ordinary = open_database(":memory:", twins->host->encoding, "memory");
    make_function(twins->ordinary, "twin_key", 2, twin_key, SQLITE_DETERMINISTIC);
    make_function(twins->ordinary, "twin_text", 1, twin_text, SQLITE_DETERMINISTIC);
    make_function(twins->ordinary, "twin_less", 1, twin_less, SQLITE_DETERMINISTIC);
    make_function(twins->ordinary, "twin_version", 0, twin_version, 0);
    must(twins->ordinary, MAKE_ORDINARY);
    must(twins->ordinary, DECLARE_ORDINARY);
    must(twins->ordinary, DECLARE_SHARED);
}

static inline void twins_open(twin_pair *twins, const twin_host *host, const char *folder)
{
    memset(twins, 0, sizeof *twins);
    twins->host = host;
    twins->folder = folder;
    open_ptable(twins);
    must(twins->ptable, DECLARE_PTABLES);
    must(twins->ptable, DECLARE_SHARED);
    open_ordinary(twins);
    if (host->unique) {
        must(twins->ptable, DECLARE_UNIQUE_PTABLES);
        must(twins->ordinary, MAKE_UNIQUE_ORDINARY);
    }
}

static inline void close_kept(twin_pair *twins, int number)
{
    for (int side = 0; side < 2; side++) {
        sqlite3_finalize(twins->kept[number][side]);
        twins->kept[number][side] = NULL;
    }
}

static inline void close_cursors(twin_pair *twins)
{
    for (int i = 0; i < CURSORS; i++) {
        sqlite3_finalize(twins->cursors[i]);
        twins->cursors[i] = NULL;
    }
    for (int i = 0; i < KEPT_STATEMENTS; i++) {
        close_kept(twins, i);
    }
}

/* Closing rolls an open transaction back, in the twin too. */
static inline void close_ptable(twin_pair *twins)
{
    close_cursors(twins);
    must_be_ok(sqlite3_close(twins->ptable), "closing the database with ptables");
    if (!sqlite3_get_autocommit(twins->ordinary)) {
        must(twins->ordinary, "ROLLBACK");
    }
}

static inline void remove_files(const char *folder)
{
    DIR *directory = need(opendir(folder));
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        char *path = need(sqlite3_mprintf("%s/%s", folder, entry->d_name));
        if (entry->d_name[0] != '.') {
            unlink(path);
        }
        sqlite3_free(path);
    }
    closedir(directory);
}

static inline void twins_close(twin_pair *twins)
{
    close_ptable(twins);
    must_be_ok(sqlite3_close(twins->ordinary), "closing the twin");
    remove_files(twins->folder);
}

#endif
