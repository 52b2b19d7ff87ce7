/*
 * A store for tests of pt_check, what can be done to its file past the store, and what is then
 * reported.
 */
#ifndef CHECK_STORE_H
#define CHECK_STORE_H

#include "store_fixture.h"

#include <lmdb.h>

#include "catalog/check.h"
#include "entity/key.h"
#include "failing_malloc.h"
#include "ptable.h"
#include "sealed.h"

enum { PAGE = 4096, LONG_KEY = 900 };

/* --- The store --- */

static inline void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
}

/* Table 1 with entities, long keys and a large value, table 2 with nothing, table 3 dropped. */
static inline int make_store(void **state)
{
    sqlite3 *db;
    if (fixture_setup(state) != 0) {
        return -1;
    }
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_ptable_init(db, NULL, NULL), SQLITE_OK);
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
        "CREATE VIRTUAL TABLE Two USING ptable(A Int32, store=%Q);"
        "CREATE VIRTUAL TABLE Three USING ptable(A Int32, store=%Q);"
        "INSERT INTO Three VALUES('x', 'y', 1); DELETE FROM pt_tables WHERE TableName = 'Three' "
        "AND Store = %Q;"
        "INSERT INTO One VALUES('a', '1', 1, 'one'), ('a', '2', 2, printf('%%.5000c', 'x')),"
        "('l', printf('%%.900c', 'k'), 3, ''), ('l', printf('%%.2900c', 'k'), 4, '')",
        fixture_path, fixture_path, fixture_path, fixture_path);
    run(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return 0;
}

static inline int drop_store(void **state)
{
    return fixture_teardown(state);
}

/* --- Changing it --- */

typedef struct raw {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
} raw;

static inline raw raw_begin(const char *database)
{
    raw self;
    assert_int_equal(mdb_env_create(&self.env), 0);
    mdb_env_set_maxdbs(self.env, 8);
    assert_int_equal(mdb_env_open(self.env, fixture_path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(self.env, NULL, 0, &self.txn), 0);
    assert_int_equal(mdb_dbi_open(self.txn, database, MDB_CREATE, &self.dbi), 0);
    return self;
}

static inline void raw_end(raw *self)
{
    assert_int_equal(mdb_txn_commit(self->txn), 0);
    mdb_env_close(self->env);
}

static inline MDB_val val(pt_slice slice)
{
    return (MDB_val){.mv_size = slice.size, .mv_data = (void *)(uintptr_t)slice.data};
}

static inline void put(const char *database, pt_slice key, pt_slice value)
{
    raw self = raw_begin(database);
    MDB_val mdb_key = val(key);
    MDB_val mdb_value = val(value);
    assert_int_equal(mdb_put(self.txn, self.dbi, &mdb_key, &mdb_value, 0), 0);
    raw_end(&self);
}

/* The content of a record that has a checksum. */
static inline void put_sealed(const char *database, pt_slice key, pt_slice content)
{
    put(database, key, sealed(key, content));
}

/* Deletes the first key that begins so. */
static inline void take_out(const char *database, pt_slice prefix)
{
    raw self = raw_begin(database);
    MDB_cursor *cursor;
    MDB_val key = val(prefix);
    MDB_val value;
    assert_int_equal(mdb_cursor_open(self.txn, self.dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), 0);
    assert_true(key.mv_size >= prefix.size && memcmp(key.mv_data, prefix.data, prefix.size) == 0);
    assert_int_equal(mdb_cursor_del(cursor, 0), 0);
    mdb_cursor_close(cursor);
    raw_end(&self);
}

/* Flips the last bit of the value of the first key that begins so. */
static inline void flip(const char *database, pt_slice prefix)
{
    raw self = raw_begin(database);
    MDB_cursor *cursor;
    MDB_val key = val(prefix);
    MDB_val value;
    uint8_t bytes[PAGE];
    assert_int_equal(mdb_cursor_open(self.txn, self.dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), 0);
    assert_in_range(value.mv_size, 1, sizeof bytes);
    memcpy(bytes, value.mv_data, value.mv_size);
    bytes[value.mv_size - 1] ^= 1;
    value.mv_data = bytes;
    assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
    raw_end(&self);
}

/* --- Looking --- */

static inline char *check(void)
{
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    assert_int_equal(pt_check(fixture_path, NULL, NULL, &text, &error), SQLITE_OK);
    return text;
}

static inline void expect(const char *words)
{
    char *text = check();
    if (strstr(text, words) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", words, text);
    }
    sqlite3_free(text);
}

#define BYTES(literal) pt_slice_of(literal, sizeof(literal) - 1)

#define ENTITY "\0\0\0\1a\0001"
#define CHUNK "\xFF\0\0\1"

/* A key that leads to a bucket. */
static inline void put_link(const char *database, const char *beginning, size_t size,
                            uint8_t bucket)
{
    uint8_t key[511];
    uint8_t value[8] = {bucket};
    memset(key, 'z', sizeof key);
    memcpy(key, beginning, size);
    key[sizeof key - 1] = 0;
    put_sealed(database, pt_slice_of(key, sizeof key), pt_slice_of(value, sizeof value));
}

/* --- The file, byte by byte --- */

static inline FILE *open_file(void)
{
    FILE *file = fopen(fixture_path, "r+b");
    assert_non_null(file);
    return file;
}

static uint64_t number_at(FILE *file, long at)
{
    uint8_t bytes[8];
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes);
    return pt_get_le64(bytes);
}

static inline void set_number(FILE *file, long at, uint64_t number)
{
    uint8_t bytes[8];
    pt_put_le64(bytes, number);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, file), sizeof bytes);
}

/* Where the newest meta page begins. */
static inline long newest_meta(FILE *file)
{
    return number_at(file, 144) > number_at(file, PAGE + 144) ? 0 : PAGE;
}

/* --- Out of memory --- */

/* Every allocation fails once: the answer is the same as ever, or there is none. */
static inline void check_without_memory(void)
{
    char *expected = check();
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        char *text = NULL;
        sqlite3_int64 before = sqlite3_memory_used();
        failing_malloc_arm(n, false);
        int rc = pt_check(fixture_path, NULL, NULL, &text, &error);
        bool hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_NOMEM || strcmp(text, expected) == 0);
        assert_true(hit || rc == SQLITE_OK);
        sqlite3_free(text);
        pt_error_clear(&error);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            break;
        }
    }
    sqlite3_free(expected);
}

#endif
