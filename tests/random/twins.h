/*
 * Two databases that must not be told apart: one with ptables, and its twin with ordinary tables of
 * the same names and columns, so that both understand the same SQL. The twin's tables are STRICT,
 * which refuses the values that typed columns of a ptable refuse.
 */
#ifndef TWINS_H
#define TWINS_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ptable.h"
#include "step.h"

/* A kind of main database. */
typedef struct twin_host {
    const char *name;
    const char *file; /* in the test's folder; NULL: in memory */
    const char *encoding;
    const char *journal_mode;
} twin_host;

enum { CURSORS = 3 };

typedef struct twin_pair {
    const twin_host *host;
    const char *folder;
    sqlite3 *ptable;
    sqlite3 *ordinary;
    sqlite3_stmt *cursors[CURSORS]; /* of the ptable's database */
} twin_pair;

#define PTABLE_COLUMNS "S String, I Int32, D Double, B Boolean, X Binary, V"
#define ORDINARY_TABLE(name)                                                                       \
    "CREATE TABLE " name "(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, S TEXT, I INTEGER, "  \
    "D REAL, B INTEGER, X BLOB, V ANY, "                                                           \
    "EntityKey BLOB AS (twin_key(PartitionKey, RowKey)) VIRTUAL, "                                 \
    "PRIMARY KEY(PartitionKey, RowKey)) STRICT, WITHOUT ROWID;"

/* Two tables in one store, one of them declared twice, and one in another store. %Q: its path. */
static const char DECLARE_PTABLES[] =
    "CREATE VIRTUAL TABLE t1 USING ptable(" PTABLE_COLUMNS ", sync=off);"
    "CREATE VIRTUAL TABLE t2 USING ptable(" PTABLE_COLUMNS ", sync=off);"
    "CREATE VIRTUAL TABLE t3 USING ptable(" PTABLE_COLUMNS ", sync=off, store=%Q);"
    "CREATE VIRTUAL TABLE again USING ptable(V, X Binary, S String, I Int32, table=t1, sync=off);";

static const char DROP_PTABLES[] =
    "BEGIN; DROP TABLE t1; DROP TABLE t2; DROP TABLE t3; DROP TABLE again;";

static const char DECLARE_ORDINARY[] = ORDINARY_TABLE("t1") ORDINARY_TABLE("t2") ORDINARY_TABLE(
    "t3") "CREATE VIEW again AS SELECT PartitionKey, RowKey, V, X, S, I, EntityKey FROM t1;";

/* What both have: an ordinary table with keys as text and as numbers, whose trigger writes t2. */
static const char DECLARE_SHARED[] =
    "CREATE TABLE n(id INTEGER PRIMARY KEY, k TEXT UNIQUE, i INTEGER, r REAL, z);"
    "INSERT INTO n(k, i, r, z) VALUES ('', 0, 0, NULL), ('a', 1, 1, 'a'), ('b', 10, 10.0, 1),"
    " ('ab', 5, 2.5, 1.0), ('B', 2, 1, x'61'), ('1', 1, 1, ''), ('01', NULL, NULL, '01'),"
    " ('10', 10, 1e1, 10), ('é', 3, 3, 'é'), ('日本', 7, 7.5, '日本');"
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
    char *path = host->file == NULL ? need(sqlite3_mprintf(":memory:"))
                                    : need(sqlite3_mprintf("%s/%s", twins->folder, host->file));
    twins->ptable = open_database(path, host->encoding, host->journal_mode);
    sqlite3_free(path);
}

static inline void declare_ptables(const twin_pair *twins)
{
    char *store = need(sqlite3_mprintf("%s/other.ptable", twins->folder));
    char *sql = need(sqlite3_mprintf(DECLARE_PTABLES, store));
    must(twins->ptable, sql);
    sqlite3_free(sql);
    sqlite3_free(store);
}

static inline void twins_open(twin_pair *twins, const twin_host *host, const char *folder)
{
    memset(twins, 0, sizeof *twins);
    twins->host = host;
    twins->folder = folder;
    open_ptable(twins);
    twins->ordinary = open_database(":memory:", host->encoding, "memory");
    must_be_ok(sqlite3_create_function(twins->ordinary, "twin_key", 2,
                                       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                       twin_key, NULL, NULL),
               "twin_key");
    declare_ptables(twins);
    must(twins->ordinary, DECLARE_ORDINARY);
    must(twins->ptable, DECLARE_SHARED);
    must(twins->ordinary, DECLARE_SHARED);
}

static inline void close_cursors(twin_pair *twins)
{
    for (int i = 0; i < CURSORS; i++) {
        sqlite3_finalize(twins->cursors[i]);
        twins->cursors[i] = NULL;
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
