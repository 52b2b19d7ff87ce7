/*
 * Records that everything else depends on: header, state, names, shapes, counts, catalogue, links
 * of long keys, what is to be collected. Whichever of their bits flips, and whichever of them
 * stands in another's place, pt_check finds it, and what reads the record fails and says so:
 * nothing is shown, kept or deleted that depends on it.
 *
 * N: bits of each byte that are flipped, 1 to 8.
 */
#include <lmdb.h>

#include "base/bytes.h"
#include "fixtures/files.h"
#include "process/crash/damage.h"

enum { RECORDS_MAX = 100, KEY_MAX = 511, VALUE_MAX = 512, BITS = 8, LIVING = 2 /* tables */ };

typedef enum kind { HEADER, STATE, BUCKET, NAME, SHAPE, COUNTS, TABLE, LINK, GARBAGE, KINDS } kind;

/* Each goes on with collecting. */
#define FOUR_COMMITS                                                                               \
    "UPDATE U SET Properties = '{\"V\":1}'; UPDATE U SET Properties = '{\"V\":2}';"                \
    "UPDATE U SET Properties = '{\"V\":3}'; UPDATE U SET Properties = '{\"V\":4}';"

static const struct {
    const char *name;
    const char *work; /* that reads such records */
} kinds[KINDS] = {
    [HEADER] = {"header", "SELECT count(*) FROM T"},
    [STATE] = {"state", "SELECT count(*) FROM T"},
    [BUCKET] = {"last bucket", "INSERT INTO T(PartitionKey, RowKey) VALUES "
                               "('new', printf('%.700c', 'x'))"},
    [NAME] = {"names", "SELECT Properties FROM T"},
    [SHAPE] = {"shapes", "SELECT Properties FROM T"},
    [COUNTS] = {"counts", "SELECT sum(Entities) FROM pt_tables WHERE Store = 's'"},
    [TABLE] = {"tables", "SELECT count(*) FROM pt_tables WHERE Store = 's'"},
    [LINK] = {"links", "SELECT count(*) FROM T WHERE (PartitionKey, RowKey) IN (SELECT * FROM "
                       "asked)"},
    [GARBAGE] = {"garbage", FOUR_COMMITS FOUR_COMMITS},
};

typedef struct stored {
    kind is;
    size_t key_size;
    size_t size;
    uint8_t bytes[KEY_MAX + VALUE_MAX]; /* key and value, as they lie in a page */
} stored;

typedef struct tally {
    int64_t tried;
    int64_t records;
} tally;

static struct {
    size_t count;
    stored records[RECORDS_MAX];
    image file;
    tally tallies[KINDS];
    const char *folder;
    char path[PATH_SIZE];
} all;

/* --- The store --- */

static sqlite3 *open_tables(const char *store, int *code)
{
    sqlite3 *db = open_database(all.folder, ":memory:");
    *code = code_of(db,
                    "CREATE TABLE asked AS WITH n(k) AS (VALUES(1), (2)) SELECT "
                    "printf('%%.600c', char(96 + k)), printf('%%.600c', char(96 + k)) FROM n;"
                    "ATTACH %Q AS d; CREATE VIRTUAL TABLE T USING ptable(store=%Q);"
                    "CREATE VIRTUAL TABLE U USING ptable(store=%Q)",
                    ":memory:", store, store);
    return db;
}

/* Dropped tables are collected by the next commits: what was dropped last is still there. */
static void make_records(void)
{
    sqlite3 *db = open_database(all.folder, "db");
    run(db, "CREATE VIRTUAL TABLE T USING ptable(store='s');"
            "CREATE VIRTUAL TABLE U USING ptable(store='s');"
            "CREATE VIRTUAL TABLE V USING ptable(Filling, store='s');"
            "CREATE VIRTUAL TABLE W USING ptable(Filling, store='s');"
            "INSERT INTO T(PartitionKey, RowKey, Properties) VALUES "
            "('p', '1', '{\"One\":1,\"Two\":2}'), ('p', '2', '{\"Two\":\"2\"}'),"
            "('p', '3', '{\"Three\":3,\"Two\":true}');"
            "WITH n(k) AS (VALUES(1), (2)) INSERT INTO T(PartitionKey, RowKey) SELECT "
            "printf('%%.600c', char(96 + k)), printf('%%.600c', char(96 + k)) FROM n;"
            "INSERT INTO U(PartitionKey, RowKey) VALUES ('u', '1'), ('u', '2');"
            "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 500) "
            "INSERT INTO V SELECT k, k, printf('%%.900c', 'v') FROM n;"
            "INSERT INTO W SELECT * FROM V;"
            "DELETE FROM pt_tables WHERE Store = 's' AND TableName IN ('V', 'W')");
    close_database(db);
}

static kind kind_in_main(pt_slice key)
{
    return pt_slice_equal(key, pt_slice_text("header"))                   ? HEADER
           : pt_slice_equal(key, pt_slice_text("current"))                ? STATE
           : pt_slice_equal(key, pt_slice_text("bucket"))                 ? BUCKET
           : key.size == 3 && key.data[0] == 'n'                          ? NAME
           : key.size == 3 && key.data[0] == 's'                          ? SHAPE
           : key.size == 5 && key.data[0] == 'c' && key.data[4] <= LIVING ? COUNTS
                                                                          : KINDS;
}

static kind kind_of(const char *database, pt_slice key)
{
    if (database == NULL) {
        return kind_in_main(key);
    }
    return database[0] == 'g'                       ? GARBAGE
           : key.size == KEY_MAX                    ? LINK
           : database[0] == 'e' && key.data[0] == 0 ? TABLE
                                                    : KINDS;
}

static void note(kind is, const MDB_val *key, const MDB_val *value)
{
    stored *record = &all.records[all.count++];
    assert_in_range(all.count, 1, RECORDS_MAX);
    assert_true(key->mv_size <= KEY_MAX && value->mv_size <= VALUE_MAX);
    record->is = is;
    record->key_size = key->mv_size;
    record->size = key->mv_size + value->mv_size;
    memcpy(record->bytes, key->mv_data, key->mv_size);
    memcpy(record->bytes + key->mv_size, value->mv_data, value->mv_size);
    all.tallies[is].records++;
}

static void note_records(MDB_txn *txn, const char *database)
{
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    assert_int_equal(mdb_dbi_open(txn, database, 0, &dbi), 0);
    assert_int_equal(mdb_cursor_open(txn, dbi, &cursor), 0);
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        kind is = kind_of(database, pt_slice_of(key.mv_data, key.mv_size));
        if (is != KINDS) {
            note(is, &key, &value);
        }
    }
    mdb_cursor_close(cursor);
}

static int make_store(void **state)
{
    MDB_env *env;
    MDB_txn *txn;
    *state = new_folder();
    all.folder = *state;
    path_in(all.folder, "s", all.path);
    make_records();
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, BITS);
    assert_int_equal(mdb_env_open(env, all.path, MDB_NOSUBDIR | MDB_RDONLY, 0), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    static const char *const databases[] = {NULL, "entities", "long_keys", "garbage"};
    for (size_t i = 0; i < sizeof databases / sizeof databases[0]; i++) {
        note_records(txn, databases[i]);
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    all.file = image_of(all.path);
    return 0;
}

/* --- Damage --- */

/* Writes the file with other bytes for a record, wherever the file has it, also in older pages. */
static void write_with(const stored *record, const uint8_t *bytes)
{
    image copy = {.bytes = malloc(all.file.size), .size = all.file.size};
    assert_non_null(copy.bytes);
    memcpy(copy.bytes, all.file.bytes, copy.size);
    size_t met = 0;
    uint8_t *end = copy.bytes + copy.size;
    uint8_t *at = copy.bytes;
    while ((at = memmem(at, (size_t)(end - at), record->bytes, record->size)) != NULL) {
        memcpy(at, bytes, record->size);
        at += record->size;
        met++;
    }
    assert_true(met > 0);
    write_image(all.path, &copy);
    free(copy.bytes);
}

static void fail_record(const stored *record, const char *what, const char *how, const char *said)
{
    print_error("a record of kind %s, %s: %s: %s\n", kinds[record->is].name, how, what, said);
    fail();
}

static void expect_found(const stored *record, sqlite3 *db, const char *how)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT pt_check(%Q)", all.path);
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    int rc = sqlite3_step(statement);
    const char *said =
        rc == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : sqlite3_errmsg(db);
    if (rc != SQLITE_ROW || strcmp(said, "ok") == 0 ||
        (strstr(said, "backup") == NULL && strstr(said, "name another") == NULL)) {
        fail_record(record, "not found by pt_check", how, said);
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
}

/* A magic number that is another makes it another program's file. */
static void expect_failure(const stored *record, sqlite3 *db, int rc, const char *how)
{
    const char *said = sqlite3_errmsg(db);
    bool foreign = record->is == HEADER && rc == SQLITE_CANTOPEN;
    if (((rc & 0xFF) != SQLITE_CORRUPT && !foreign) || strstr(said, all.path) == NULL ||
        (!foreign && (strstr(said, "damaged") == NULL || strstr(said, "backup") == NULL))) {
        fail_record(record, "not refused by what reads it", how, said);
    }
}

/* Its code. */
static int work_on(sqlite3 *db, kind is)
{
    const char *work = kinds[is].work;
    const char *store = strstr(work, "'s'");
    return store == NULL ? code_of(db, "%s", work)
                         : code_of(db, "%.*s%Q", (int)(store - work), work, all.path);
}

static void judge(const stored *record, const char *how)
{
    int rc;
    char lock[PATH_SIZE + 8];
    snprintf(lock, sizeof lock, "%s-lock", all.path);
    unlink(lock);
    sqlite3 *db = open_tables(all.path, &rc);
    if (rc == SQLITE_OK) {
        rc = work_on(db, record->is);
    }
    expect_failure(record, db, rc, how);
    expect_found(record, db, how);
    close_database(db);
    all.tallies[record->is].tried++;
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    int bits = (int)setting("N", 1);
    for (size_t i = 0; i < all.count; i++) {
        const stored *record = &all.records[i];
        for (size_t at = record->key_size; at < record->size; at++) {
            for (int bit = 0; bit < bits; bit++) {
                uint8_t bytes[KEY_MAX + VALUE_MAX];
                char how[64];
                unsigned flipped = (unsigned)(at + (size_t)bit) % BITS;
                snprintf(how, sizeof how, "bit %u of byte %zu", flipped, at - record->key_size);
                memcpy(bytes, record->bytes, record->size);
                bytes[at] ^= (uint8_t)(1u << flipped);
                write_with(record, bytes);
                judge(record, how);
            }
        }
    }
}

/* Keys of one kind differ, and so do their records' checksums. */
static void every_record_in_anothers_place_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < all.count; i++) {
        const stored *record = &all.records[i];
        for (size_t j = 0; j < all.count; j++) {
            const stored *other = &all.records[j];
            size_t size = record->size - record->key_size;
            if (i == j || other->is != record->is || other->size - other->key_size != size) {
                continue;
            }
            uint8_t bytes[KEY_MAX + VALUE_MAX];
            memcpy(bytes, record->bytes, record->key_size);
            memcpy(bytes + record->key_size, other->bytes + other->key_size, size);
            write_with(record, bytes);
            judge(record, "another's in its place");
        }
    }
}

/* What must fail with damage succeeds without. */
static void the_sound_store_serves(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        int rc;
        assert_true(all.tallies[i].records > 0);
        write_image(all.path, &all.file);
        sqlite3 *db = open_tables(all.path, &rc);
        assert_int_equal(rc, SQLITE_OK);
        char *sql = sqlite3_mprintf("SELECT pt_check(%Q) = 'ok'", all.path);
        assert_number(db, 1, "%s", sql);
        sqlite3_free(sql);
        assert_int_equal(work_on(db, (kind)i), SQLITE_OK);
        assert_number(db, 2, "%s", kinds[LINK].work);
        assert_number(db, 5 + (i == BUCKET), "SELECT count(*) FROM T");
        close_database(db);
    }
}

static int print_tallies(void **state)
{
    for (size_t i = 0; i < KINDS; i++) {
        print_message("# %-12s %3lld records, damaged in %5lld ways, all found\n", kinds[i].name,
                      (long long)all.tallies[i].records, (long long)all.tallies[i].tried);
    }
    free(all.file.bytes);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sound_store_serves),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(every_record_in_anothers_place_is_found),
    };
    return cmocka_run_group_tests(tests, make_store, print_tallies);
}
