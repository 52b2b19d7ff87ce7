/*
 * Transactions by number, of several kinds, and what a store and a main database hold, as one
 * number: tests of crashes compare what is found after one with what was there after each
 * transaction.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include "database.h"

typedef struct workload {
    const char *name;
    const char *tables; /* format: the option sync, as many times as it is needed */
    const char *steps;  /* ?1 is the number of the transaction, also inside of literals */
} workload;

/* `?1` becomes the number of the transaction. */
static const workload workloads[] = {
    {.name = "rows",
     .tables = "CREATE VIRTUAL TABLE t USING ptable(V Int64, sync='%s');",
     .steps = "INSERT INTO t VALUES('p' || (?1 % 3), printf('%06d', ?1), ?1), ('q', ?1, -?1);"
              "UPDATE t SET V = V + ?1 WHERE PartitionKey = 'p' || ((?1 + 1) % 3);"
              "DELETE FROM t WHERE PartitionKey = 'q' AND RowKey <> '?1';"},
    {.name = "large",
     .tables = "CREATE VIRTUAL TABLE t USING ptable(V String, sync='%s');",
     .steps =
         "INSERT OR REPLACE INTO t WITH k(r) AS (VALUES ('a'), (hex(zeroblob(300))),"
         " (hex(zeroblob(300)) || '1'), (hex(zeroblob(900))))"
         " SELECT 'p' || (?1 % 4), r, printf('%.*c', 1500 * (?1 % 5) + length(r), 'x') FROM k;"
         "UPDATE OR REPLACE t SET RowKey = RowKey || 'm' WHERE PartitionKey = 'p' || ((?1 + 3) % 4)"
         " AND length(RowKey) < 1900;"
         "DELETE FROM t WHERE PartitionKey = 'p' || ((?1 + 1) % 4);"},
    {.name = "drop",
     .tables = "CREATE VIRTUAL TABLE t USING ptable(V String, sync='%s');"
               "CREATE VIRTUAL TABLE d USING ptable(V String, sync='%s');",
     .steps = "DELETE FROM pt_tables WHERE TableName = 'd';"
              "INSERT INTO pt_tables(TableName) VALUES('d');"
              "INSERT INTO d WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 20)"
              " SELECT 'd' || (k % 3), CASE k % 9 WHEN 0 THEN hex(zeroblob(300)) ELSE '' END || k,"
              " printf('%.*c', iif(k = 7, 9000, 200), 'y') FROM n;"
              "INSERT OR REPLACE INTO t VALUES('p', ?1 % 4, ?1);"},
    {.name = "queue",
     .tables = "CREATE VIRTUAL TABLE t USING ptable(V String, sync='%s');"
               "CREATE VIRTUAL TABLE jobs USING pt_queue(sync='%s');",
     .steps = "INSERT INTO jobs(Body) VALUES('first of ' || ?1), ('second of ' || ?1);"
              "SAVEPOINT a; INSERT INTO t VALUES('undone', ?1, 1);"
              "INSERT INTO jobs(Body) VALUES('undone'); ROLLBACK TO a; RELEASE a;"
              "INSERT INTO t SELECT 'got', ?1, Body FROM pt_queue_get('jobs', 1, 3600);"
              "DELETE FROM t WHERE PartitionKey = 'got' AND RowKey = CAST(?1 - 2 AS TEXT);"},
    /* Pages that are taken and given back in the same transaction, at the end of the file too. */
    {.name = "shrink",
     .tables = "CREATE VIRTUAL TABLE t USING ptable(V String, sync='%s');",
     .steps = "INSERT OR REPLACE INTO t WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n"
              " WHERE k < 60 + 50 * ?1) SELECT 'p', printf('%06d', k * 7), printf('%.*c', 900, 'z')"
              " FROM n WHERE ?1 % 3 = 1;"
              "DELETE FROM t WHERE ?1 % 3 = 2 AND CAST(RowKey AS INT) % 2 = 0;"
              "DELETE FROM t WHERE ?1 % 3 = 0 AND CAST(RowKey AS INT) % 33 <> 0;"
              "INSERT OR REPLACE INTO t VALUES('n', 'n', ?1);"},
};

enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

static inline const workload *workload_of(const char *name)
{
    for (int i = 0; i < WORKLOADS; i++) {
        if (strcmp(workloads[i].name, name) == 0) {
            return &workloads[i];
        }
    }
    return NULL;
}

/* Declares the tables, beside the ordinary table o. */
static inline int workload_declare(sqlite3 *db, const workload *work, const char *sync)
{
    int code = code_of(db, "CREATE TABLE o(number INTEGER PRIMARY KEY, text)");
    return code == SQLITE_OK ? code_of(db, work->tables, sync, sync) : code;
}

/* Runs SQL in which ?1 stands for the number. */
static inline int workload_run(sqlite3 *db, const char *steps, int number)
{
    char text[12];
    sqlite3_str *sql = sqlite3_str_new(db);
    snprintf(text, sizeof text, "%d", number);
    for (const char *at = steps; *at != 0; at++) {
        bool is_number = at[0] == '?' && at[1] == '1';
        sqlite3_str_append(sql, is_number ? text : at, is_number ? (int)strlen(text) : 1);
        at += is_number ? 1 : 0;
    }
    char *all = sqlite3_str_finish(sql);
    int code = all != NULL ? sqlite3_exec(db, all, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(all);
    return code;
}

/* A transaction up to its COMMIT; `mixed`: it changes the main database too. */
static inline int workload_begin(sqlite3 *db, const workload *work, int number, bool mixed)
{
    int code = code_of(db, "BEGIN");
    if (code == SQLITE_OK && mixed) {
        code = workload_run(db,
                            "INSERT INTO o VALUES(?1, hex(zeroblob(40 * ?1 % 300)));"
                            "DELETE FROM o WHERE number = ?1 - 3;",
                            number);
    }
    return code == SQLITE_OK ? workload_run(db, work->steps, number) : code;
}

static inline int workload_transact(sqlite3 *db, const workload *work, int number, bool mixed)
{
    int code = workload_begin(db, work, number, mixed);
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

/* --- What is there --- */

/* Digests; the code is the first one that reading gave, or SQLITE_OK. */
typedef struct content {
    uint64_t store;
    uint64_t main;
    int code;
    char text[160]; /* of that code */
} content;

static inline uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}

static inline uint64_t digest_row(uint64_t digest, sqlite3_stmt *row)
{
    for (int column = 0; column < sqlite3_column_count(row); column++) {
        int type = sqlite3_column_type(row, column);
        const void *bytes = sqlite3_column_blob(row, column);
        digest = digest_bytes(digest, &type, sizeof type);
        digest = digest_bytes(digest, bytes, (size_t)sqlite3_column_bytes(row, column));
    }
    return digest;
}

/* All rows of a query; no such table is an answer too. */
static inline void digest_query(sqlite3 *db, const char *sql, uint64_t *digest, content *all)
{
    sqlite3_stmt *rows = NULL;
    *digest = digest_bytes(*digest, sql, strlen(sql));
    int code = sqlite3_prepare_v2(db, sql, -1, &rows, NULL);
    if (code != SQLITE_OK && strstr(sqlite3_errmsg(db), "no such table") != NULL) {
        return;
    }
    while (rows != NULL && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        *digest = digest_row(*digest, rows);
    }
    if (code != SQLITE_DONE && strstr(sqlite3_errmsg(db), "(TableNotFound)") == NULL &&
        all->code == SQLITE_OK) {
        all->code = code;
        snprintf(all->text, sizeof all->text, "%s: %s", sql, sqlite3_errmsg(db));
    }
    sqlite3_finalize(rows);
}

/*
 * Without times, receipts and identifiers, which are others whenever the same is done again; with
 * them where `exactly` is asked for.
 */
static inline content content_of(sqlite3 *db, bool exactly)
{
    static const char *const alike[] = {
        "SELECT EntityKey, Properties FROM t", "SELECT EntityKey, Properties FROM d",
        "SELECT EntityKey, Properties FROM f", "SELECT Body, DequeueCount FROM jobs",
        "SELECT TableName, Entities, Bytes FROM pt_tables ORDER BY 1"};
    static const char *const exact[] = {
        "SELECT EntityKey, Properties, Timestamp, ETag FROM t",
        "SELECT EntityKey, Properties, Timestamp, ETag FROM d",
        "SELECT EntityKey, Properties, Timestamp, ETag FROM f", "SELECT * FROM jobs",
        "SELECT TableName, Entities, Bytes FROM pt_tables ORDER BY 1"};
    static const char *const of_main[] = {"SELECT * FROM o ORDER BY 1",
                                          "SELECT sql FROM sqlite_schema ORDER BY 1"};
    content all = {.store = 1, .main = 1};
    for (size_t i = 0; i < sizeof alike / sizeof alike[0]; i++) {
        digest_query(db, exactly ? exact[i] : alike[i], &all.store, &all);
    }
    for (size_t i = 0; i < sizeof of_main / sizeof of_main[0]; i++) {
        digest_query(db, of_main[i], &all.main, &all);
    }
    return all;
}

/* SQLite's own check of the main database. */
static inline bool main_is_sound(sqlite3 *db)
{
    return first_number(db, "SELECT integrity_check = 'ok' FROM pragma_integrity_check", 0) == 1;
}

#endif
