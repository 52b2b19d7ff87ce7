/*
 * Messages that are damaged in the store: they are reported and stay, and the others can still be
 * worked off.
 */
#include "fixtures/queue_requests.h"

#include <lmdb.h>

#include "base/seal.h"
#include "entity/record.h"
#include "fixtures/record_checksums.h"
#include "unit/queue/queue_database.h"

/* Lets all messages be visible at once. */
static void give_back(void)
{
    run(db, "UPDATE jobs SET VisibilityTimeout = 0 WHERE (MessageId, PopReceipt) IN (SELECT "
            "MessageId, PopReceipt FROM jobs)");
}

/* Makes a table of the store, whose catalogue entry ends with its name, a queue's. */
static void make_it_a_queue(const char *path, const char *table)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val value;
    uint8_t key[40] = {0};
    uint8_t record[40] = {0};
    memcpy(key + 1, table, strlen(table));
    MDB_val name = {.mv_size = 1 + strlen(table), .mv_data = key};
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "entities", 0, &dbi), 0);
    assert_int_equal(mdb_get(txn, dbi, &name, &value), 0);
    size_t content = value.mv_size - PT_SEAL_SIZE;
    memcpy(record, value.mv_data, content);
    record[content] = 1;
    pt_seal(pt_slice_of(key, name.mv_size), record, content + 1 + PT_SEAL_SIZE);
    MDB_val queue = {.mv_size = content + 1 + PT_SEAL_SIZE, .mv_data = record};
    assert_int_equal(mdb_put(txn, dbi, &name, &queue, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

#define ID "01a1ff20-c1a2-71e5-816f-a201ba7d23a7"

static void what_is_no_message_is_reported_and_not_in_the_way(void **state)
{
    static const struct {
        const char *partition;
        const char *row;
        const char *properties;
        bool valid;
    } entities[] = {
        {"", "0639308784992341940_" ID, "'Body', 'x'", true},
        {"", "0639308784992341940_" ID, "'Body', NULL", false},
        {"", "0639308784992341940_" ID, "'Body', 1", false},
        {"", "0639308784992341940_" ID, "'Body', 'x', 'Receipt@odata.type', 'Edm.String'", false},
        {"", "0639308784992341940_" ID, "'Body', 'x', 'DequeueCount@odata.type', 'Edm.String'",
         false},
        {"", "0639308784992341940_" ID, "'Body', 'x', 'InsertionTime', NULL", false},
        {"", "0639308784992341940_" ID, "'Body', 'x', 'ExpirationTime', 'x'", false},
        {"p", "0639308784992341940_" ID, "'Body', 'x'", false},
        {"", "0639308784992341940-" ID, "'Body', 'x'", false},
        {"", "063930878499234194_" ID, "'Body', 'x'", false},
        {"", "9639308784992341940_" ID, "'Body', 'x'", false},
        {"", "3155378976000000000_" ID, "'Body', 'x'", false},
        {"", "0639308784992341940_01A1ff20-c1a2-71e5-816f-a201ba7d23a7", "'Body', 'x'", false},
        {"", "0639308784992341940_" ID "0", "'Body', 'x'", false},
        {"", "063930878499234194/_" ID, "'Body', 'x'", false},
        {"", "063930878499234194:_" ID, "'Body', 'x'", false},
        {"", "0639308784992341940_01a1ff20-c1a2-71e5-816f-a201ba7d23g7", "'Body', 'x'", false},
    };
    static const char sound[] = "'{\"InsertionTime@odata.type\":\"Edm.DateTime\",\"InsertionTime\":"
                                "\"2026-11-21T00:00:00Z\","
                                "\"DequeueCount@odata.type\":\"Edm.Int64\",\"DequeueCount\":\"3\","
                                "\"Receipt@odata.type\":\"Edm.Guid\",\"Receipt\":\"" ID "\"}'";
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++) {
        char store[PATH_SIZE];
        char name[20];
        snprintf(name, sizeof name, "%u.ptable", (unsigned)i);
        path_in(*state, name, store);
        run(db, "CREATE VIRTUAL TABLE made USING ptable(store=%Q, sync=off)", store);
        run(db,
            "INSERT INTO made(PartitionKey, RowKey, Properties) VALUES (%Q, %Q, json_patch(%s, "
            "json_object(%s)))",
            entities[i].partition, entities[i].row, sound, entities[i].properties);
        run(db, "DROP TABLE made");
        make_it_a_queue(store, "made");
        run(db, "CREATE VIRTUAL TABLE made USING pt_queue(store=%Q, sync=off)", store);
        if (entities[i].valid) {
            assert_number(db, 1,
                          "SELECT count(*) FROM made WHERE MessageId = %Q AND Body = 'x' AND "
                          "DequeueCount = 3",
                          ID);
            assert_gets(db, "made", "1", "x ");
        } else {
            fails(db, SQLITE_CORRUPT_VTAB, "SELECT count(*) FROM made");
            says(db, entities[i].row);
            run(db, "INSERT INTO made(Body) VALUES ('sound')");
            assert_gets(db, "made", "2", "sound ");
            assert_gets(db, "made", "2", "");
            fails(db, SQLITE_CORRUPT_VTAB, "SELECT count(*) FROM made");
        }
        run(db, "DROP TABLE made");
    }
}

/* --- Records --- */

typedef void change_record(uint8_t *record, size_t size);

static void no_record(uint8_t *record, size_t size)
{
    memset(record, 'x', size);
}

static void body_without_end(uint8_t *record, size_t size)
{
    uint8_t *body = memmem(record, size, "first", sizeof "first");
    assert_non_null(body);
    body[sizeof "first" - 1] = 'x';
}

/* Its checksum stays the one of the old body. */
static void body_under_wrong_checksum(uint8_t *record, size_t size)
{
    uint8_t *body = memmem(record, size, "first", sizeof "first");
    assert_non_null(body);
    body[0] = 'F';
}

/* The time of insertion is the first value of fixed size. */
static void insertion_at_no_time(uint8_t *record, size_t size)
{
    assert_true(size > PT_RECORD_HEADER + 8);
    memset(record + PT_RECORD_HEADER, 0xFF, 8);
}

/* Changes the record of the first message; the store must not be open. */
static void change_first_message(const char *path, change_record *change)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    uint8_t bytes[400];
    MDB_val key = {.mv_size = 1, .mv_data = "\1"};
    MDB_val value;
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "entities", 0, &dbi), 0);
    assert_int_equal(mdb_cursor_open(txn, dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), 0);
    assert_true(value.mv_size <= sizeof bytes);
    memcpy(bytes, value.mv_data, value.mv_size);
    pt_slice name = pt_slice_of(key.mv_data, key.mv_size);
    checksum_places places = find_checksums(name, pt_slice_of(bytes, value.mv_size));
    change(bytes, value.mv_size);
    if (change != no_record && change != body_under_wrong_checksum) {
        restore_checksums_at(places, name, bytes, value.mv_size);
    }
    value.mv_data = bytes;
    assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void a_record_that_is_damaged_is_not_in_the_way(void **state)
{
    static change_record *const changes[] = {no_record, body_without_end, body_under_wrong_checksum,
                                             insertion_at_no_time};
    char store[PATH_SIZE];
    path_in(*state, "main.db-ptable", store);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        run(db,
            "DELETE FROM pt_tables; DROP TABLE jobs;"
            "CREATE VIRTUAL TABLE jobs USING pt_queue(store='other%d.ptable', sync=off);"
            "INSERT INTO jobs(Body) VALUES ('first'); INSERT INTO jobs(Body) VALUES ('good')",
            (int)i);
        close_database(db);
        char name[40];
        snprintf(name, sizeof name, "other%d.ptable", (int)i);
        path_in(*state, name, store);
        change_first_message(store, changes[i]);
        db = open_database(*state, "main.db");
        fails(db, SQLITE_CORRUPT_VTAB, "SELECT count(*) FROM jobs");
        says(db, "of the queue's table is not a message");
        assert_gets(db, "jobs", "2", "good ");
        assert_gets(db, "jobs", "2", "");
        fails(db, SQLITE_CORRUPT_VTAB, "SELECT Body FROM jobs");
    }
}

/* What counts does not begin again. */
static void a_message_may_have_been_handed_out_very_often(void **state)
{
    char store[PATH_SIZE];
    path_in(*state, "often.ptable", store);
    run(db, "CREATE VIRTUAL TABLE made USING ptable(store=%Q, sync=off)", store);
    run(db,
        "INSERT INTO made(PartitionKey, RowKey, Properties) VALUES ('', '0639308784992341940_" ID
        "', '{\"Body\":\"x\",\"InsertionTime@odata.type\":\"Edm.DateTime\",\"InsertionTime\":"
        "\"2026-11-21T00:00:00Z\",\"DequeueCount@odata.type\":\"Edm.Int64\",\"DequeueCount\":"
        "\"9223372036854775807\",\"Receipt@odata.type\":\"Edm.Guid\",\"Receipt\":\"" ID "\"}')");
    run(db, "DROP TABLE made");
    make_it_a_queue(store, "made");
    run(db, "CREATE VIRTUAL TABLE made USING pt_queue(store=%Q, max_dequeue_count=0, sync=off)",
        store);
    assert_gets(db, "made", "1", "x ");
    assert_number(db, 1, "SELECT DequeueCount = 9223372036854775807 FROM made");
}

static void a_queue_without_its_store_says_so(void **state)
{
    char store[PATH_SIZE];
    path_in(*state, "main.db-ptable", store);
    close_database(db);
    FILE *file = fopen(store, "wb");
    assert_non_null(file);
    assert_int_equal(fputs("this is no store", file) >= 0 && fclose(file) == 0, 1);
    db = open_database(*state, "main.db");
    fails(db, SQLITE_CANTOPEN, "SELECT count(*) FROM jobs");
    says(db, "ptable: jobs: ");
}

/* Flips a bit of the first chunk of a large value. */
static void damage_first_chunk(const char *path)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    uint8_t bytes[4096];
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 8);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR, 0644), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, "chunks", 0, &dbi), 0);
    assert_int_equal(mdb_cursor_open(txn, dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
    assert_true(value.mv_size > 1000 && value.mv_size <= sizeof bytes);
    memcpy(bytes, value.mv_data, value.mv_size);
    bytes[value.mv_size / 2] ^= 1;
    value.mv_data = bytes;
    assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void a_body_that_is_damaged_is_not_in_the_way(void **state)
{
    char store[PATH_SIZE];
    path_in(*state, "main.db-ptable", store);
    run(db, "INSERT INTO jobs(Body) VALUES (hex(zeroblob(4000))), ('good')");
    close_database(db);
    damage_first_chunk(store);
    db = open_database(*state, "main.db");
    for (int i = 0; i < 2; i++) {
        assert_gets(db, "jobs", "2", "good ");
        give_back();
    }
    assert_number(db, 0, "SELECT min(DequeueCount) FROM jobs");
    fails(db, SQLITE_CORRUPT_VTAB, "SELECT Body FROM jobs");
    run(db, "CREATE VIRTUAL TABLE always USING pt_queue(table=jobs, max_dequeue_count=1)");
    assert_gets(db, "always", "2", "");
    assert_number(db, 1, "SELECT Entities FROM pt_tables WHERE TableName = 'jobs'");
    run(db, "DELETE FROM jobs WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM "
            "jobs)");
    assert_number(db, 0, "SELECT count(*) FROM jobs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        queue_test(what_is_no_message_is_reported_and_not_in_the_way),
        queue_test(a_body_that_is_damaged_is_not_in_the_way),
        queue_test(a_record_that_is_damaged_is_not_in_the_way),
        queue_test(a_message_may_have_been_handed_out_very_often),
        queue_test(a_queue_without_its_store_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
