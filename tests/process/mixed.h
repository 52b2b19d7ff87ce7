/*
 * Batches that write everything at once: long keys, large values of 10 to 100 KB, each kind of
 * WriteMode, and a table that is dropped and made again. What they leave follows from the number of
 * the last one alone.
 *
 * Batch b writes the rows of slot b % SLOTS of t, one way after another: it replaces them (with N
 * and B, where S = text of B), merges N, updates B and S, deletes those with long RowKeys. To d it
 * adds rows of its own; every third one drops and makes d before. Each adds the row b to the
 * ordinary table o.
 */
#ifndef MIXED_H
#define MIXED_H

#include "anatomy.h"
#include "transaction/large_value.h"

enum {
    MIXED_FIRST = 60, /* the number of the first batch: a multiple of all cycles */
    MIXED_SLOTS = 5,
    MIXED_WAYS = 4,
    MIXED_DROPS = 3,
    MIXED_ROWS = 5, /* of a batch, those with a long RowKey and the others */
    MIXED_SHORT_ROWS = 2,
};

/* The text of a batch; `number` is a column. Formats, as are all texts here. */
#define MIXED_TEXT(number)                                                                         \
    "substr(replace(hex(zeroblob(15000)), '00', printf('%%07d', " number ")),"                     \
    " 1, 10000 + " number " * 7919 %% 90000)"

#define MIXED_TABLES                                                                               \
    "CREATE TABLE IF NOT EXISTS o(batch INTEGER PRIMARY KEY);"                                     \
    "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(N Int32, B Int32, S String, sync='off');"   \
    "CREATE VIRTUAL TABLE IF NOT EXISTS d USING ptable(G Int32, B Int32, S String, sync='off');"   \
    "CREATE TEMP TABLE batch(b INT, slot INT);"                                                    \
    "CREATE TEMP VIEW rows AS SELECT b, column1 AS short, column2 || slot AS p, column3 AS r FROM" \
    " (VALUES(1, 's', 'a'), (1, hex(zeroblob(350)), 'a'), (0, 's', hex(zeroblob(300))),"           \
    " (0, 's', hex(zeroblob(300)) || '1'), (0, hex(zeroblob(350)), hex(zeroblob(500)))), batch;"

static inline const char *mixed_way(int64_t batch)
{
    static const char *const ways[MIXED_WAYS] = {
        "INSERT INTO t(PartitionKey, RowKey, N, B, S, WriteMode)"
        " SELECT p, r, b, b, " MIXED_TEXT("b") ", 'replace' FROM rows;",
        "INSERT INTO t(PartitionKey, RowKey, N, WriteMode, IfMatch)"
        " SELECT p, r, b, 'merge', '*' FROM rows;",
        "UPDATE t SET B = b.b, S = " MIXED_TEXT(
            "b.b") " FROM batch AS b"
                   " WHERE EntityKey IN (SELECT pt_entity_key(p, r) FROM rows);",
        "INSERT INTO t(PartitionKey, RowKey, WriteMode, IfMatch)"
        " SELECT p, r, 'delete', '*' FROM rows WHERE NOT short;"
        "INSERT INTO t(PartitionKey, RowKey, N, WriteMode)"
        " SELECT p, r, b, 'merge' FROM rows WHERE short;",
    };
    return ways[batch / MIXED_SLOTS % MIXED_WAYS];
}

/* Runs a batch up to its COMMIT. */
static inline int mixed_begin(sqlite3 *db, int64_t batch)
{
    const char *drop = "DELETE FROM pt_tables WHERE TableName = 'd';"
                       "INSERT INTO pt_tables(TableName) VALUES('d');";
    int code = code_of(db,
                       "DELETE FROM batch; INSERT INTO batch VALUES(%lld, %lld);"
                       "BEGIN; INSERT INTO o VALUES(%lld);",
                       batch, batch % MIXED_SLOTS, batch);
    if (code == SQLITE_OK) {
        code = code_of(db, mixed_way(batch));
    }
    if (code == SQLITE_OK && batch % MIXED_DROPS == 0) {
        code = code_of(db, drop);
    }
    if (code == SQLITE_OK) {
        code = code_of(
            db,
            "INSERT INTO d SELECT p || '-' || b, r, b - b %% %d, b, " MIXED_TEXT("b") " FROM rows",
            MIXED_DROPS);
    }
    return code;
}

static inline int mixed_batch(sqlite3 *db, int64_t batch)
{
    int code = mixed_begin(db, batch);
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

/* --- What is there after a batch --- */

/* Returns how many rows the slot has that `last` was the last batch of. */
static inline int64_t mixed_check_slot(sqlite3 *db, int64_t last)
{
    int way = (int)(last / MIXED_SLOTS % MIXED_WAYS);
    int64_t before = last - MIXED_SLOTS;
    int64_t rows = way == MIXED_WAYS - 1 ? MIXED_SHORT_ROWS : MIXED_ROWS;
    assert_number(db, rows,
                  "SELECT count(*) FROM t WHERE PartitionKey GLOB '*%lld' AND N = %lld"
                  " AND B = %lld AND S = " MIXED_TEXT("B"),
                  last % MIXED_SLOTS, way == 2 ? before : last, way % 2 == 0 ? last : before);
    return rows;
}

static inline void mixed_check_rows(sqlite3 *db, int64_t last)
{
    int64_t rows_of_t = 0;
    int64_t first = last - MIXED_SLOTS + 1 > MIXED_FIRST ? last - MIXED_SLOTS + 1 : MIXED_FIRST;
    int64_t rows_of_d = last < MIXED_FIRST ? 0 : MIXED_ROWS * (last % MIXED_DROPS + 1);
    for (int64_t batch = first; batch <= last; batch++) {
        rows_of_t += mixed_check_slot(db, batch);
    }
    assert_number(db, rows_of_t, "SELECT count(*) FROM t");
    assert_number(db, rows_of_t, "SELECT Entities FROM pt_tables WHERE TableName = 't'");
    assert_number(db, rows_of_d, "SELECT count(*) FROM d");
    assert_number(db, rows_of_d, "SELECT Entities FROM pt_tables WHERE TableName = 'd'");
    assert_number(db, rows_of_d,
                  "SELECT count(*) FROM d WHERE G = %lld AND S = " MIXED_TEXT(
                      "B") " AND PartitionKey GLOB '*-' || B",
                  last - last % MIXED_DROPS);
}

/* The last batch, or the one before the first if there is none. */
static inline int64_t mixed_last(sqlite3 *db)
{
    return number(db, "SELECT coalesce(max(B), %d) FROM d", MIXED_FIRST - 1);
}

#define MIXED_CHUNKS_OF(table) "(SELECT coalesce(sum((length(S) + %d) / %d), 0) FROM " table ")"

/* Chunks that entities point to. */
static inline int64_t mixed_chunks(sqlite3 *db)
{
    return number(db, "SELECT " MIXED_CHUNKS_OF("t") " + " MIXED_CHUNKS_OF("d"), PT_CHUNK_SIZE - 1,
                  PT_CHUNK_SIZE, PT_CHUNK_SIZE - 1, PT_CHUNK_SIZE);
}

#endif
