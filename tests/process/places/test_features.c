/*
 * Stores of later versions, as their users see them: the header of a store says which features a
 * program must know to open it, which to write to it, and which it may ignore. Each bit that this
 * version does not know is set in turn.
 */
#include <lmdb.h>
#include <sys/stat.h>

#include "base/seal.h"
#include "fixtures/database.h"
#include "fixtures/files.h"
#include "lmdb/page/format.h"

/* Lower bits of the first set are in use. */
enum { FIRST_UNKNOWN_BIT = 8, BITS = 32 };

/* Offsets of the sets in the header. */
enum { TO_OPEN = 8, TO_WRITE = 12, TO_IGNORE = 16, HEADER_MAX = 64 };

#define STORE "a.ptable"
#define TABLE                                                                                      \
    "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V Int32, index(V), store='" STORE "')"

/* --- A store's header --- */

typedef struct raw_header {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi main;
    uint8_t bytes[HEADER_MAX];
    size_t size;
} raw_header;

static MDB_val header_key(void)
{
    pt_slice key = pt_slice_text("header");
    return (MDB_val){.mv_size = key.size, .mv_data = (void *)(uintptr_t)key.data};
}

/* Reads it with LMDB alone. */
static raw_header begin_raw(const char *folder, const char *store)
{
    raw_header header;
    char path[PATH_SIZE];
    MDB_val key = header_key();
    MDB_val value;
    path_in(folder, store, path);
    assert_int_equal(mdb_env_create(&header.env), 0);
    mdb_env_set_maxdbs(header.env, 8);
    assert_int_equal(mdb_env_open(header.env, path, MDB_NOSUBDIR, 0600), 0);
    assert_int_equal(mdb_txn_begin(header.env, NULL, 0, &header.txn), 0);
    assert_int_equal(mdb_dbi_open(header.txn, NULL, 0, &header.main), 0);
    assert_int_equal(mdb_get(header.txn, header.main, &key, &value), 0);
    assert_in_range(value.mv_size, TO_IGNORE + 4 + PT_SEAL_SIZE, HEADER_MAX);
    memcpy(header.bytes, value.mv_data, value.mv_size);
    header.size = value.mv_size;
    return header;
}

static void put_raw(raw_header *header, const char *name, const void *bytes, size_t size)
{
    MDB_val key = {.mv_size = strlen(name), .mv_data = (void *)(uintptr_t)name};
    MDB_val value = {.mv_size = size, .mv_data = (void *)(uintptr_t)bytes};
    assert_int_equal(mdb_put(header->txn, header->main, &key, &value, 0), 0);
}

/* The state has the number of each commit, also of this one. */
static void put_version(raw_header *header)
{
    MDB_val key = {.mv_size = strlen("current"), .mv_data = (void *)(uintptr_t) "current"};
    MDB_val value;
    pt_format_state state;
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    assert_int_equal(mdb_get(header->txn, header->main, &key, &value), 0);
    assert_true(pt_format_read_state(pt_slice_of(value.mv_data, value.mv_size), &state));
    state.version = mdb_txn_id(header->txn);
    size_t size = pt_format_write_state(&state, bytes);
    put_raw(header, "current", bytes, size);
}

static void commit_raw(raw_header *header)
{
    put_version(header);
    pt_seal(pt_slice_text("header"), header->bytes, header->size);
    put_raw(header, "header", header->bytes, header->size);
    assert_int_equal(mdb_txn_commit(header->txn), 0);
    mdb_env_close(header->env);
}

static uint32_t features_of(const char *folder, const char *store, size_t set)
{
    raw_header header = begin_raw(folder, store);
    uint32_t features = pt_get_le32(header.bytes + set);
    mdb_txn_abort(header.txn);
    mdb_env_close(header.env);
    return features;
}

static void set_features(const char *folder, size_t set, uint32_t features)
{
    raw_header header = begin_raw(folder, STORE);
    pt_put_le32(header.bytes + set, features);
    commit_raw(&header);
}

/* --- A store that has everything of which a later version may change the format --- */

static void make_store(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, TABLE "; CREATE VIRTUAL TABLE gone USING ptable(store='" STORE "');"
                  "INSERT INTO gone VALUES('p', '1', '{}');"
                  "INSERT INTO t VALUES('p', '1', 1), ('p', '2', 2);"
                  "DELETE FROM pt_tables WHERE TableName = 'gone' AND Store = '" STORE "'");
    close_database(db);
}

static sqlite3 *open_anew(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, TABLE);
    return db;
}

static file_content content_of(const char *folder)
{
    char path[PATH_SIZE];
    file_content content = {0};
    path_in(folder, STORE, path);
    file_load(&content, path);
    return content;
}

static void assert_same_file(const char *folder, file_content *before)
{
    file_content after = content_of(folder);
    assert_int_equal(after.size, before->size);
    assert_memory_equal(after.bytes, before->bytes, after.size);
    free(after.bytes);
    free(before->bytes);
}

static void assert_no_file(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    struct stat status;
    path_in(folder, name, path);
    assert_int_equal(lstat(path, &status), -1);
}

/* --- The three sets --- */

#define refuses(db, code, text, ...)                                                               \
    do {                                                                                           \
        fails(db, code, __VA_ARGS__);                                                              \
        says(db, text);                                                                            \
    } while (0)

static void expect_refused(const char *folder, const char *text)
{
    file_content before = content_of(folder);
    sqlite3 *db = open_database(folder, "main.db");
    refuses(db, SQLITE_CANTOPEN, text, "SELECT * FROM t");
    refuses(db, SQLITE_CANTOPEN, text, "INSERT INTO t VALUES('p', '3', 3)");
    refuses(db, SQLITE_CANTOPEN, text, "SELECT * FROM pt_tables WHERE Store = '" STORE "'");
    refuses(db, SQLITE_CANTOPEN, text, "SELECT pt_check('%s/" STORE "')", folder);
    refuses(db, SQLITE_CANTOPEN, text, "SELECT pt_compact('%s/" STORE "')", folder);
    refuses(db, SQLITE_CANTOPEN, text, "SELECT pt_backup('%s/" STORE "', '%s/copy.ptable')", folder,
            folder);
    close_database(db);
    assert_no_file(folder, "copy.ptable");
    assert_same_file(folder, &before);
}

static void a_store_with_a_feature_that_must_be_known_is_not_opened(void **state)
{
    const char *folder = *state;
    make_store(folder);
    uint32_t features = features_of(folder, STORE, TO_OPEN);
    for (unsigned bit = FIRST_UNKNOWN_BIT; bit < BITS; bit++) {
        set_features(folder, TO_OPEN, features | UINT32_C(1) << bit);
        expect_refused(folder, "was made by a newer version of ptable; open it with that");
    }
    set_features(folder, TO_OPEN, features);
    sqlite3 *db = open_anew(folder);
    assert_number(db, 2, "SELECT count(*) FROM t");
    close_database(db);
}

/* Features that every store has had for so long that the ways of reading others are gone. */
static void a_store_without_a_feature_of_all_stores_is_not_opened(void **state)
{
    const char *folder = *state;
    make_store(folder);
    uint32_t features = features_of(folder, STORE, TO_OPEN);
    assert_int_equal(features, 15);
    for (unsigned bit = 0; bit < 4; bit++) {
        set_features(folder, TO_OPEN, features & ~(UINT32_C(1) << bit));
        expect_refused(folder, "was made by an older version of ptable");
    }
}

static void expect_read_only(const char *folder)
{
    static const char *const text = "was made by a newer version of ptable";
    file_content before = content_of(folder);
    sqlite3 *db = open_database(folder, "main.db");
    assert_number(db, 3, "SELECT sum(V) FROM t");
    assert_number(db, 2, "SELECT V FROM t WHERE V > 1");
    assert_number(db, 2, "SELECT Entities FROM pt_tables WHERE TableName = 't'");
    assert_number(db, 1, "SELECT pt_check('%s/" STORE "') = 'ok'", folder);
    refuses(db, SQLITE_READONLY, text, "INSERT INTO t VALUES('p', '3', 3)");
    refuses(db, SQLITE_READONLY, text, "DELETE FROM t");
    refuses(db, SQLITE_READONLY, text, "BEGIN; UPDATE t SET V = 0");
    run(db, "ROLLBACK");
    refuses(db, SQLITE_READONLY, text, "CREATE VIRTUAL TABLE u USING ptable(store='" STORE "')");
    refuses(db, SQLITE_READONLY, text,
            "DELETE FROM pt_tables WHERE TableName = 't' AND Store = '" STORE "'");
    refuses(db, SQLITE_READONLY, text, "SELECT pt_compact('%s/" STORE "')", folder);
    refuses(db, SQLITE_CANTOPEN, text, "SELECT pt_backup('%s/" STORE "', '%s/copy.ptable')", folder,
            folder);
    close_database(db);
    assert_no_file(folder, "copy.ptable");
    assert_same_file(folder, &before);
}

static void a_store_with_a_feature_that_writers_must_know_is_only_read(void **state)
{
    const char *folder = *state;
    make_store(folder);
    for (unsigned bit = 0; bit < BITS; bit++) {
        set_features(folder, TO_WRITE, UINT32_C(1) << bit);
        expect_read_only(folder);
    }
    set_features(folder, TO_WRITE, 0);
    sqlite3 *db = open_anew(folder);
    run(db, "INSERT INTO t VALUES('p', '3', 3)");
    assert_number(db, 6, "SELECT sum(V) FROM t");
    close_database(db);
}

/* Everything works, and keeps it, also with a field of its own at the end of the header. */
static void a_feature_that_may_be_ignored_is_kept(void **state)
{
    const char *folder = *state;
    make_store(folder);
    raw_header header = begin_raw(folder, STORE);
    pt_put_le32(header.bytes + TO_IGNORE, 0xFFFFFFFF);
    header.size += 8;
    memset(header.bytes + header.size - 8 - PT_SEAL_SIZE, 0x5A, 8);
    size_t size = header.size;
    commit_raw(&header);

    sqlite3 *db = open_anew(folder);
    for (int i = 3; i < 20; i++) {
        run(db, "INSERT INTO t VALUES('p', '%d', %d)", i, i);
    }
    run(db, "UPDATE t SET V = 0 WHERE RowKey = '2'; DELETE FROM t WHERE V = 1;"
            "CREATE VIRTUAL TABLE u USING ptable(store='" STORE "')");
    assert_number(db, 1, "SELECT pt_backup('%s/" STORE "', '%s/copy.ptable') > 0", folder, folder);
    assert_number(db, 1, "SELECT pt_compact('%s/" STORE "') > 0", folder);
    assert_number(db, 18, "SELECT count(*) FROM t");
    close_database(db);
    static const char *const stores[] = {STORE, "copy.ptable"};
    for (size_t i = 0; i < 2; i++) {
        header = begin_raw(folder, stores[i]);
        assert_int_equal(pt_get_le32(header.bytes + TO_IGNORE), 0xFFFFFFFF);
        assert_int_equal(header.size, size);
        assert_int_equal(header.bytes[header.size - PT_SEAL_SIZE - 1], 0x5A);
        mdb_txn_abort(header.txn);
        mdb_env_close(header.env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_store_with_a_feature_that_must_be_known_is_not_opened),
        folder_test(a_store_without_a_feature_of_all_stores_is_not_opened),
        folder_test(a_store_with_a_feature_that_writers_must_know_is_only_read),
        folder_test(a_feature_that_may_be_ignored_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
