/*
 * The tables of test_conditions.c. `plain` has the same entities as `m`, with three properties
 * more, PadA to PadC or PadD to PadF in turns, so that no entity has the shape of the one before,
 * and none fits into a leaf page. It lies in another store. In a transaction some of its writes are
 * always pending. So each of its entities is opened by itself, and read by LMDB's functions.
 */
#ifndef TESTS_RANDOM_CONDITION_TABLES_H
#define TESTS_RANDOM_CONDITION_TABLES_H

#include "random/random.h"
#include "random/run.h"

enum { ENTITIES = 60, MANY_ENTITIES = 150 };

typedef enum entity_kind {
    ENTITIES_MIXED, /* properties of any type, or none */
    ENTITIES_TYPED, /* properties of their column's type, or none */
    ENTITIES_ALIKE, /* most have all properties, of their column's types */
} entity_kind;

#define TYPED_COLUMNS                                                                              \
    "S String, I Int32, L Int64, D Double, B Boolean, T DateTime, G Guid, X Binary, V, sync=off"
#define OTHER_COLUMNS                                                                              \
    "I String, S Int32, D Int64, X Double, L Boolean, G DateTime, T Guid, V Binary, B, sync=off"

/* Every column is the first of an index, so most conditions find one. */
#define CONDITION_INDEXES                                                                          \
    ", index(S), index(I, S), index(L), index(D), index(B, T), index(T), index(G), index(X), "     \
    "index(V, S), index(PartitionKey, I), index(Timestamp), index(I, Timestamp), "                 \
    "index(PartitionKey, Timestamp, S), index(L, PartitionKey, S), index(Timestamp, D), "          \
    "index(RowKey), index(D, RowKey), index(RowKey, I)"

/* The same entities under columns of their types, and of others. Without automatic indexes: their
 * Bloom filters lose texts that are equal in PT_DATETIME and not as long (SQLite 3.40). */
static const char DECLARE_CONDITION_TABLES[] =
    "PRAGMA automatic_index = off;"
    "CREATE VIRTUAL TABLE m USING ptable(" TYPED_COLUMNS CONDITION_INDEXES ");"
    "CREATE VIRTUAL TABLE swapped USING ptable(" OTHER_COLUMNS ", table=m);"
    "CREATE VIRTUAL TABLE plain USING ptable(" TYPED_COLUMNS ", store='plain.ptable');"
    "CREATE VIRTUAL TABLE plain_swapped USING ptable(" OTHER_COLUMNS ", table=plain, "
    "store='plain.ptable');"
    "CREATE TABLE n(id INTEGER PRIMARY KEY, t TEXT, i INTEGER, r REAL, u NUMERIC, b BLOB, z, "
    "d TEXT COLLATE PT_DATETIME, c TEXT COLLATE NOCASE);"
    "INSERT INTO n(t, i, r, u, b, z) VALUES ('a', 5, 5, '05', 5, '5'), ('5', 'a', 2.5, 'x', 'a', "
    "5),"
    " ('05', 1, 9e999, 2.5, x'61', '05'), ('2026-01-01', 2026, 0.1, '2026', '2026-01-01', 2026),"
    " ('0F8FAD5B-D9CB-469F-A165-70867728950E', 0, -0.0, 0, '5', ' 5'), ('', '', '', '', '', ''),"
    " (NULL, NULL, NULL, NULL, NULL, NULL), ('Inf', 10, '-Inf', 'Inf', 'NaN', 9e999),"
    " ('00123', 123, 123, '00123', '00123', 123), ('é', 9007199254740993, 9007199254740992,"
    " 9007199254740993, 'é', '9007199254740993');"
    "UPDATE n SET d = CASE id % 5 WHEN 0 THEN '2026-01-01' WHEN 1 THEN '1970' WHEN 2 THEN "
    "'2025-12-31T23:00-01:00' WHEN 3 THEN 'x' END, c = iif(id % 3, upper(coalesce(t, 'b')), t);";

#define TWENTY "12345678901234567890"
#define LONG_NAME                                                                                  \
    "n" TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY TWENTY

/* Values of all types as JSON; %s is the property's name. */
static const char *const values_in_json[] = {
    "\"%s\":5",
    "\"%s\":0",
    "\"%s\":-5",
    "\"%s\":2026",
    "\"%s@odata.type\":\"Edm.Int64\",\"%s\":\"5\"",
    "\"%s@odata.type\":\"Edm.Int64\",\"%s\":\"9007199254740993\"",
    "\"%s@odata.type\":\"Edm.Int64\",\"%s\":\"9223372036854775807\"",
    "\"%s\":2.5",
    "\"%s\":5.0",
    "\"%s@odata.type\":\"Edm.Double\",\"%s\":-0.0",
    "\"%s@odata.type\":\"Edm.Double\",\"%s\":\"NaN\"",
    "\"%s@odata.type\":\"Edm.Double\",\"%s\":\"Infinity\"",
    "\"%s@odata.type\":\"Edm.Double\",\"%s\":9007199254740992.0",
    "\"%s\":true",
    "\"%s\":false",
    "\"%s\":\"a\"",
    "\"%s\":\"A\"",
    "\"%s\":\"\"",
    "\"%s\":\"5\"",
    "\"%s\":\"05\"",
    "\"%s\":\"00124\"",
    "\"%s\":\"é\"",
    "\"%s\":\"12 monkeys\"",
    "\"%s\":\"Inf\"",
    "\"%s\":\"a\\u0000b\"",
    "\"%s@odata.type\":\"Edm.DateTime\",\"%s\":\"2026-01-01T00:00:00Z\"",
    "\"%s@odata.type\":\"Edm.DateTime\",\"%s\":\"1970-01-01T00:00:00Z\"",
    "\"%s@odata.type\":\"Edm.DateTime\",\"%s\":\"2026-01-01T00:00:00.0000001Z\"",
    "\"%s@odata.type\":\"Edm.DateTime\",\"%s\":\"0001-01-01T00:00:00Z\"",
    "\"%s@odata.type\":\"Edm.DateTime\",\"%s\":\"9999-12-31T23:59:59.9999999Z\"",
    "\"%s@odata.type\":\"Edm.Guid\",\"%s\":\"0f8fad5b-d9cb-469f-a165-70867728950e\"",
    "\"%s@odata.type\":\"Edm.Guid\",\"%s\":\"7c9e6679-7425-40de-944b-e07fc1f90ae7\"",
    "\"%s@odata.type\":\"Edm.Binary\",\"%s\":\"YQ==\"",
    "\"%s@odata.type\":\"Edm.Binary\",\"%s\":\"\"",
};

enum { VALUES = sizeof values_in_json / sizeof values_in_json[0] };

/*
 * Values of the column's own type are the most frequent. In UTF-16 they are the only ones: there,
 * SQLite 3.40 does not always find a number in a column of texts equal to its own text. In columns
 * of texts no others are numbers.
 */
static inline unsigned choose_value(uint64_t *random, unsigned column, bool mixed)
{
    static const unsigned first[] = {15, 0, 4, 7, 13, 25, 30, 32, 0};
    static const unsigned count[] = {10, 4, 3, 6, 2, 5, 2, 2, VALUES};
    static const bool texts[] = {true, false, false, false, false, true, true, false, false};
    if (!mixed || random_below(random, 3) != 0) {
        return first[column] + random_below(random, count[column]);
    }
    return texts[column] ? first[0] + random_below(random, VALUES - first[0])
                         : random_below(random, VALUES);
}

static inline bool lacks_property(uint64_t *random, entity_kind kind)
{
    return random_below(random, kind == ENTITIES_ALIKE ? 300 : 5) == 0;
}

static inline void write_properties(sqlite3_str *json, uint64_t *random, entity_kind kind)
{
    static const char *const names[] = {"S", "I", "L", "D", "B", "T", "G", "X", "V"};
    bool mixed = kind == ENTITIES_MIXED || random_below(random, 20) == 0;
    const char *comma = "";
    /* A name that is too long for the dictionary makes the record describe its own shape. */
    if (kind != ENTITIES_ALIKE && random_below(random, 10) == 0) {
        sqlite3_str_appendf(json, "\"%s\":1", LONG_NAME);
        comma = ",";
    }
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (lacks_property(random, kind)) {
            continue;
        }
        unsigned value = choose_value(random, i, mixed && kind != ENTITIES_TYPED);
        sqlite3_str_appendall(json, comma);
        sqlite3_str_appendf(json, values_in_json[value], names[i], names[i]);
        comma = ",";
    }
}

/* Gives both tables the same entity. */
static inline void insert_entity(sqlite3 *db, uint64_t *random, int number, entity_kind kind)
{
    sqlite3_str *json = sqlite3_str_new(NULL);
    write_properties(json, random, kind);
    char *properties = need(sqlite3_mprintf("%s", sqlite3_str_value(json)));
    int pads = number % 2 * 3;
    char *sql = need(sqlite3_mprintf(
        "INSERT OR REPLACE INTO m(PartitionKey, RowKey, Properties) VALUES ('p%d', 'k%d', '{%s}');"
        "INSERT OR REPLACE INTO plain(PartitionKey, RowKey, Properties) SELECT 'p%d', 'k%d', "
        "json_patch('{%s}', json_object('Pad%c', x, 'Pad%c', x, 'Pad%c', x)) FROM "
        "(SELECT hex(zeroblob(400)) AS x)",
        number % 3, number, properties, number % 3, number, properties, 'A' + pads, 'B' + pads,
        'C' + pads));
    must(db, sql);
    sqlite3_free(sql);
    sqlite3_free(properties);
    sqlite3_free(sqlite3_str_finish(json));
}

/* Other entities; some of them are pending, and all may be. */
static inline void fill(sqlite3 *db, uint64_t *random, entity_kind kind)
{
    static const char *const tables[] = {"m", "plain"};
    int entities = kind == ENTITIES_ALIKE ? MANY_ENTITIES : ENTITIES;
    int pending = (int)random_below(random, 4) * entities / 3;
    must(db, "DELETE FROM m; DELETE FROM plain");
    for (int i = 0; i < entities; i++) {
        if (i == pending) {
            must(db, "BEGIN");
        }
        insert_entity(db, random, i, kind);
    }
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char *sql = need(sqlite3_mprintf(
            "INSERT OR REPLACE INTO %s(PartitionKey, RowKey, S, V) VALUES ('p1', 'large', "
            "'a' || hex(zeroblob(1500)), zeroblob(3000))",
            tables[i]));
        must(db, sql);
        sqlite3_free(sql);
    }
}

/* Replaces and deletes a few entities in a savepoint, which may be rolled back. */
static inline void write_some(sqlite3 *db, uint64_t *random, entity_kind kind)
{
    bool keep = random_below(random, 2) == 0;
    must(db, "SAVEPOINT some");
    for (unsigned i = random_below(random, 5); i > 0; i--) {
        int number = (int)random_below(random, ENTITIES + 5);
        if (random_below(random, 3) != 0) {
            insert_entity(db, random, number, kind);
            continue;
        }
        char *sql = need(sqlite3_mprintf("DELETE FROM m WHERE RowKey = 'k%d'; "
                                         "DELETE FROM plain WHERE RowKey = 'k%d'",
                                         number, number));
        must(db, sql);
        sqlite3_free(sql);
    }
    must(db, keep ? "RELEASE some" : "ROLLBACK TO some; RELEASE some");
}

static inline void end_transaction(sqlite3 *db)
{
    if (!sqlite3_get_autocommit(db)) {
        must(db, "COMMIT");
    }
}

/* Adds the entities of a table, without what only `plain` has, to the rows of an effect. */
static inline void append_entities(sqlite3 *db, const char *table, sql_effect *effect)
{
    sqlite3_stmt *statement = NULL;
    char *sql = need(sqlite3_mprintf("SELECT PartitionKey, RowKey, S, I, L, D, B, T, G, X, V FROM "
                                     "%s",
                                     table));
    must_be_ok(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), sql);
    int rc = run_prepared(statement, effect);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    must_be_ok(rc == SQLITE_DONE ? SQLITE_OK : rc, "reading all entities");
}

#endif
