/*
 * Damaged definitions and entries of indexes, with right checksums: pt_check finds each, and no
 * statement takes one for sound.
 */
#include "entity/edm.h"
#include "entity/index.h"
#include "fixtures/check_store.h"
#include "transaction/table_directory.h"

#define KEY_OF_S "\0one\0S"
#define HEAD_OF_S "\1\4\0\0\0one\0S"
#define ENTRY_OF_A1 "\4\x20one\0\1a\0001"
#define IS_STRING "\2\0"

static int code_of_sql(sqlite3 *db, const char *sql)
{
    char *text = sqlite3_mprintf(sql, fixture_path);
    sqlite3_exec(db, text, NULL, NULL, NULL);
    sqlite3_free(text);
    return sqlite3_extended_errcode(db);
}

static void run_here(const char *sql)
{
    sqlite3 *db = open_with_ptable(":memory:");
    if (code_of_sql(db, sql) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void assert_is_corrupt(const char *sql, const char *text)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *declaration = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q)", fixture_path);
    run_sql(db, declaration);
    sqlite3_free(declaration);
    int code = code_of_sql(db, sql);
    if (code != SQLITE_CORRUPT_VTAB) {
        fail_msg("%s: %d", sql, code);
    }
    if (strstr(sqlite3_errmsg(db), text) == NULL) {
        fail_msg("%s: \"%s\" is not in \"%s\"", sql, text, sqlite3_errmsg(db));
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Indexes on S and, unique, on A and Timestamp; an entity without S, one without A. */
static int make_indexes(void **state)
{
    if (make_store(state) != 0) {
        return -1;
    }
    run_here("INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
             "(%Q, 'One', 'S', 0)");
    run_here("INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
             "(%Q, 'One', 'A,Timestamp', 1)");
    run_here("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
             "INSERT INTO One VALUES ('z', '1', 9, NULL), ('z', '2', NULL, 'two')");
    expect("ok");
    return 0;
}

static void make_again(void **state)
{
    assert_int_equal(drop_store(state), 0);
    assert_int_equal(make_indexes(state), 0);
}

#define damage_test(name) cmocka_unit_test_setup_teardown(name, make_indexes, drop_store)

static void damaged_definitions_are_refused(void **state)
{
    (void)state;
    const uint8_t kind = PT_TABLE_OF_ENTRIES;
    static const struct {
        const char *key;
        size_t key_size;
        const char *content; /* K stands for the kind */
        size_t size;
    } damaged[] = {
#define DAMAGED(key, content) {key, sizeof(key) - 1, content, sizeof(content) - 1}
        DAMAGED(KEY_OF_S, "\2\4\0\0\0one\0SK\0\1" IS_STRING),         /* format */
        DAMAGED(KEY_OF_S, "\1\0\0\0\0one\0SK\0\1" IS_STRING),         /* number 0 */
        DAMAGED(KEY_OF_S, "\1\xF0\xFF\xFF\xFFone\0SK\0\1" IS_STRING), /* far too great */
        DAMAGED(KEY_OF_S, "\1\xF0\0\0\0one\0SK\0\1" IS_STRING),       /* not given out yet */
        DAMAGED(KEY_OF_S, "\1\1\0\0\0one\0SK\0\1" IS_STRING),         /* that of the table */
        DAMAGED(KEY_OF_S, HEAD_OF_S "\0\0\1" IS_STRING),              /* kind */
        DAMAGED(KEY_OF_S, HEAD_OF_S "K\2\1" IS_STRING),               /* unique */
        DAMAGED(KEY_OF_S, HEAD_OF_S "K\0\0" IS_STRING),               /* no columns */
        DAMAGED(KEY_OF_S, HEAD_OF_S "K\0\x9" IS_STRING),              /* too many */
        DAMAGED(KEY_OF_S, HEAD_OF_S "K\0\2" IS_STRING),               /* more than types */
        DAMAGED(KEY_OF_S, HEAD_OF_S "K\0\2" IS_STRING IS_STRING),     /* more than names */
        DAMAGED(KEY_OF_S, HEAD_OF_S "K"),                             /* too short */
        DAMAGED(KEY_OF_S, HEAD_OF_S),                                 /* no kind */
        DAMAGED("\0one\0S\0T", HEAD_OF_S "\0TK\0\1" IS_STRING),       /* fewer than names */
        DAMAGED("\0one\0\0S", "\1\4\0\0\0one\0\0SK\0\2" IS_STRING IS_STRING), /* empty name */
        DAMAGED("\0one\0", "\1\4\0\0\0one\0K\0\1" IS_STRING),                 /* no name */
        DAMAGED("\0nobody\0S", "\1\4\0\0\0nobody\0SK\0\1" IS_STRING),         /* of no table */
        DAMAGED("\0onerous\0S", "\1\4\0\0\0onerous\0SK\0\1" IS_STRING),       /* nor this */
        DAMAGED("\0zero\0S", "\1\4\0\0\0zero\0SK\0\1" IS_STRING),
    };
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        char content[64];
        memcpy(content, damaged[i].content, damaged[i].size);
        char *kind_at = memchr(content, 'K', damaged[i].size);
        if (kind_at != NULL) {
            *kind_at = (char)kind;
        }
        pt_slice key = pt_slice_of(damaged[i].key, damaged[i].key_size);
        put_sealed("entities", key, pt_slice_of(content, damaged[i].size));
        char *report = check();
        if (strstr(report, "the entry of an index is damaged") == NULL &&
            strstr(report, "has the same number") == NULL) {
            fail_msg("%d: %s", (int)i, report);
        }
        sqlite3_free(report);
        if (!pt_slice_equal(key, BYTES(KEY_OF_S))) {
            take_out("entities", key);
        }
    }
    put_sealed("entities", BYTES(KEY_OF_S), BYTES(HEAD_OF_S "\0\0\1" IS_STRING));
    assert_is_corrupt("UPDATE One SET A = 7", "the catalogue entry of an index of table 'One'");
    flip("entities", BYTES(KEY_OF_S));
    assert_is_corrupt("DELETE FROM pt_tables WHERE Store = %Q AND TableName = 'One'",
                      "catalogue entry");
    assert_is_corrupt("SELECT * FROM pt_indexes WHERE Store = %Q",
                      "the catalogue entry of an index of table 'One'");
}

/* What is read by statements that name its index, and by pt_check. */
static void damaged_entries_are_refused(void **state)
{
    static const struct {
        const char *key;
        size_t key_size;
        const char *types;
        size_t count;
        bool readable; /* only pt_check looks so closely */
    } damaged[] = {
#define ENTRY(key, types, readable) {key, sizeof(key) - 1, types, sizeof(types) - 1, readable}
        ENTRY("\4\x20one\0\2a\0001", "\1", false),            /* the text does not end */
        ENTRY("\4\x20one", "\1", false),                      /* nor this, and there is no entity */
        ENTRY("\4\x21one\0\1a\0001", "\1", false),            /* no class */
        ENTRY("\4\x20one\0\1zz", "\1", false),                /* no key of an entity */
        ENTRY("\4\x20one\0\1a\0001", "\x81", true),           /* cut */
        ENTRY("\4\x20one\0\1a\0001", "\2", true),             /* not a String */
        ENTRY("\4\x20one\0\1a\0001", "\x41", true),           /* not exact */
        ENTRY("\4\x10\x80\0\0\0\0\0\0\0a\0001", "\1", false), /* a number */
    };
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        pt_slice key = pt_slice_of(damaged[i].key, damaged[i].key_size);
        put_sealed("entities", key, pt_slice_of(damaged[i].types, damaged[i].count));
        char *report = check();
        if (strstr(report, "index 'S' of table 'One'") == NULL) {
            fail_msg("%d: %s", (int)i, report);
        }
        sqlite3_free(report);
        if (!damaged[i].readable && key.data[1] == 0x20) {
            assert_is_corrupt("SELECT * FROM One WHERE S >= 'o' AND S < 'p'",
                              "an entry of index 'S' is damaged");
        }
        make_again(state);
    }
    put_sealed("entities", BYTES(ENTRY_OF_A1), BYTES(""));
    expect("an entry is damaged");
    assert_is_corrupt("SELECT S FROM One WHERE S >= 'o' AND S < 'p'",
                      "an entry of index 'S' is damaged");
}

/* The entry of the first entity in the unique index: A is 1. */
static pt_slice entry_in_unique_index(uint8_t *bytes, size_t room)
{
    raw self = raw_begin("entities");
    MDB_cursor *cursor;
    MDB_val key = val(BYTES("\5\x10"));
    MDB_val value;
    assert_int_equal(mdb_cursor_open(self.txn, self.dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE), 0);
    assert_true(key.mv_size <= room && memcmp(key.mv_data, "\5\x10", 2) == 0);
    memcpy(bytes, key.mv_data, key.mv_size);
    pt_slice entry = pt_slice_of(bytes, key.mv_size);
    mdb_cursor_close(cursor);
    raw_end(&self);
    return entry;
}

static void two_entities_with_unique_values_are_found(void **state)
{
    (void)state;
    uint8_t bytes[64];
    pt_slice entry = entry_in_unique_index(bytes, sizeof bytes);
    assert_int_equal(bytes[entry.size - 1], '1');
    bytes[entry.size - 1] = '2';
    const uint8_t types[] = {PT_INT32, PT_DATETIME};
    put_sealed("entities", entry, pt_slice_of(types, sizeof types));
    expect("two entities have the same values, which should be unique");
    const uint8_t cut[] = {PT_INT32 | PT_ENTRY_CUT, PT_DATETIME};
    put_sealed("entities", entry, pt_slice_of(cut, sizeof cut));
    expect("an entry is damaged");
}

/* An entity that is written again has another Timestamp, so uniqueness looks at its neighbours. */
static void damaged_entries_are_in_the_way_of_unique_ones(void **state)
{
    (void)state;
    run_here("INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
             "(%Q, 'One', 'S,RowKey', 1)");
    put_sealed("entities",
               BYTES("\6\x20one\0\1\x20"
                     "7\0\1a\0007"),
               BYTES("\1"));
    assert_is_corrupt("INSERT INTO One VALUES ('b', '7', 5, 'one')",
                      "an entry of index 'S,RowKey' is damaged");
    /* The entity that has the value is not there. */
    put_sealed("entities",
               BYTES("\6\x20one\0\1\x20"
                     "7\0\1a\0007"),
               BYTES("\1\1"));
    assert_is_corrupt("INSERT INTO One VALUES ('b', '7', 5, 'one')",
                      "an entry of index 'S,RowKey' is damaged");
    flip("entities", BYTES("\6\x20one\0\1\x20"
                           "7\0"));
    assert_is_corrupt("INSERT INTO One VALUES ('b', '7', 5, 'one')",
                      "an entry of index 'S,RowKey' is damaged");
    /* Its values are cut, so those of the entity are needed, which is not there. */
    put_sealed("entities",
               BYTES("\6\x20one\0\1\x20"
                     "7\0\1a\0007"),
               BYTES("\x81\1"));
    assert_is_corrupt("INSERT INTO One VALUES ('b', '7', 5, 'one')",
                      "an entry of index 'S,RowKey' is damaged");
}

/* No entity is removed for a value that it does not have, or blamed for it. */
static void entries_of_other_values_remove_nothing(void **state)
{
    (void)state;
    static const char *const writes[] = {
        "INSERT OR REPLACE INTO One VALUES ('b', '7', 5, 'wrong')",
        "INSERT INTO One VALUES ('b', '7', 5, 'wrong')",
        "UPDATE OR REPLACE One SET S = 'wrong', RowKey = '7' WHERE PartitionKey = 'z' AND A = 9",
        /* In the transaction the entity is another one, and has the value neither. */
        ("BEGIN; UPDATE One SET S = 'right' WHERE PartitionKey = 'a' AND RowKey = '1';"
         "INSERT OR REPLACE INTO One VALUES ('b', '7', 5, 'wrong')"),
    };
    run_here("INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
             "(%Q, 'One', 'S,RowKey', 1)");
    /* The entity has other texts there; one has no S, so no entry. */
    put_sealed("entities",
               BYTES("\6\x20wrong\0\1\x20"
                     "7\0\1a\0001"),
               BYTES("\1\1"));
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        assert_is_corrupt(writes[i], "an entry of index 'S,RowKey' is damaged");
    }
    put_sealed("entities",
               BYTES("\6\x20none\0\1\x20"
                     "7\0\1z\0001"),
               BYTES("\1\1"));
    assert_is_corrupt("INSERT OR REPLACE INTO One VALUES ('b', '7', 5, 'none')",
                      "an entry of index 'S,RowKey' is damaged");
    run_here("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
             "SELECT iif(count(*) = 2, 1, abs(-9223372036854775808)) FROM One "
             "WHERE RowKey = '1' AND (A, S) IN (VALUES (1, 'one')) OR A = 9 AND S IS NULL");
}

static void damaged_entities_have_unknown_entries(void **state)
{
    (void)state;
    flip("entities", BYTES("\1a\0001"));
    assert_is_corrupt("UPDATE One SET A = 7 WHERE RowKey = '1'", "damaged");
    assert_is_corrupt("DELETE FROM One WHERE PartitionKey = 'a' AND RowKey = '1'",
                      "so its entries in the table's indexes are not known");
    assert_is_corrupt("DELETE FROM pt_partitions WHERE Store = %Q AND TableName = 'One'",
                      "so its entries in the table's indexes are not known");
    assert_is_corrupt("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S,A')",
                      "damaged");
    flip_at("entities", BYTES("\1a\0001"), 3);
    assert_is_corrupt("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S,A')",
                      "damaged");
    expect("PartitionKey 'a', RowKey '1'");
}

/* The beginning of a large value is in its index. */
static void damaged_large_values_have_unknown_entries(void **state)
{
    (void)state;
    run_here("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
             "INSERT INTO One VALUES ('y', '1', 9, printf('%%.70000c', 'l'))");
    take_out("chunks", BYTES(CHUNK "\1"));
    assert_is_corrupt("DELETE FROM One", "damaged");
    assert_is_corrupt("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S,A')",
                      "damaged");
}

/* A table whose own entry is damaged shows the name of its indexes' keys. */
static void indexes_of_a_damaged_table_are_listed(void **state)
{
    (void)state;
    flip("entities", BYTES("\0one"));
    run_here("SELECT * FROM pt_indexes WHERE Store = %Q");
    sqlite3 *db = open_with_ptable(":memory:");
    assert_int_equal(code_of_sql(db, "INSERT INTO pt_indexes(Store, TableName, Columns) VALUES "
                                     "(%Q, 'One', 'x')"),
                     SQLITE_CORRUPT_VTAB);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    expect("the entry of an index is damaged");
}

static void notes_of_dropped_tables_may_be_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *content;
        size_t size;
    } damaged[] = {{"", 0}, {"\2", 1}, {"\1\1", 2}, {"\1\2\3", 3}};
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        put_sealed("garbage", BYTES("\xFE\3"), pt_slice_of(damaged[i].content, damaged[i].size));
        expect("the note that it was dropped is damaged");
    }
}

#define PART_OF_2020                                                                               \
    "\4\x20"                                                                                       \
    "2020-01-01T00:00:00.0000000Z\0\1"

/* Entities of the table expire by S, and one has. */
static void make_one_expire(void)
{
    run_here("CREATE VIRTUAL TABLE One USING ptable(A Int32, S DateTime, store=%Q);"
             "INSERT INTO One VALUES ('y', '1', 9, '2020-01-01')");
    run_here("UPDATE pt_tables SET Expires = 'S' WHERE Store = %Q AND TableName = 'One'");
    expect("ok");
}

/* Nothing is deleted by an entry that does not agree with its entity. */
static void damaged_entries_purge_nothing(void **state)
{
    static const uint8_t time = PT_DATETIME;
    static const struct {
        const char *key;
        size_t size;
    } wrong[] = {{"\4\x20"
                  "1999",
                  6},                                               /* does not end */
                 {PART_OF_2020 "a\0001", sizeof PART_OF_2020 + 2},  /* it has a text */
                 {PART_OF_2020 "none\0", sizeof PART_OF_2020 + 4}}; /* there is none */
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        make_one_expire();
        put_sealed("entities", pt_slice_of(wrong[i].key, wrong[i].size), pt_slice_of(&time, 1));
        assert_is_corrupt("SELECT pt_purge('One')", "an entry of index 'S' is damaged");
        make_again(state);
    }
    make_one_expire();
    put_sealed("entities", BYTES(PART_OF_2020 "y\0001"), BYTES(""));
    assert_is_corrupt("SELECT pt_purge('One')", "an entry of index 'S' is damaged");
    flip("entities", BYTES(PART_OF_2020 "y\0001"));
    assert_is_corrupt("SELECT pt_purge('One')", "an entry of index 'S' is damaged");
}

/* Of a damaged entity it is not known if it has expired. */
static void damaged_entities_are_not_taken_for_expired(void **state)
{
    (void)state;
    make_one_expire();
    flip("entities", BYTES("\1y\0001"));
    assert_is_corrupt("SELECT count(*) FROM One", "PartitionKey 'y', RowKey '1'");
    assert_is_corrupt("SELECT RowKey FROM One WHERE PartitionKey = 'y'", "damaged");
    assert_is_corrupt("SELECT pt_purge('One')", "PartitionKey 'y', RowKey '1'");
    assert_is_corrupt("INSERT INTO One(PartitionKey, RowKey) VALUES ('y', '1')", "damaged");
    assert_is_corrupt("INSERT INTO One(PartitionKey, RowKey, WriteMode, IfMatch) "
                      "VALUES ('y', '1', 'delete', '*')",
                      "damaged");
    assert_is_corrupt("INSERT INTO One(PartitionKey, RowKey, A, WriteMode) "
                      "VALUES ('y', '1', 5, 'merge')",
                      "damaged");
    run_here("UPDATE pt_tables SET Expires = NULL WHERE Store = %Q AND TableName = 'One'");
    run_here("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
             "SELECT count(*) FROM One");
}

static void expiry_needs_its_index(void **state)
{
    (void)state;
    make_one_expire();
    take_out("entities", BYTES(KEY_OF_S));
    assert_is_corrupt("SELECT pt_purge('One')", "lacks the index on S");
    expect("table 'One': its entities expire by S, but the index on that property is missing");
    check_without_memory();
    run_here("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'S')");
    char *text = check();
    assert_null(strstr(text, "expire"));
    sqlite3_free(text);
}

static void checking_indexes_may_run_out_of_memory(void **state)
{
    (void)state;
    run_here("INSERT INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, 'One', 'Timestamp')");
    run_here("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
             "INSERT INTO One(PartitionKey, RowKey, Properties) VALUES "
             "('n', '1', '{\"S\":\"\\u0000\\u0000\"}')");
    check_without_memory();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        damage_test(damaged_definitions_are_refused),
        damage_test(damaged_entries_are_refused),
        damage_test(two_entities_with_unique_values_are_found),
        damage_test(damaged_entries_are_in_the_way_of_unique_ones),
        damage_test(entries_of_other_values_remove_nothing),
        damage_test(damaged_entities_have_unknown_entries),
        damage_test(damaged_large_values_have_unknown_entries),
        damage_test(indexes_of_a_damaged_table_are_listed),
        damage_test(notes_of_dropped_tables_may_be_damaged),
        damage_test(damaged_entries_purge_nothing),
        damage_test(damaged_entities_are_not_taken_for_expired),
        damage_test(expiry_needs_its_index),
        damage_test(checking_indexes_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
