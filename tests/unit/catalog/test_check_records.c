/*
 * pt_check on stores whose file holds what no commit writes: each kind of damage is found, and is
 * called what it is.
 */
#include "fixtures/check_store.h"
#include "fixtures/own_shape.h"

static void a_sound_store_is_ok(void **state)
{
    (void)state;
    char *text = check();
    assert_string_equal(text, "ok");
    sqlite3_free(text);
}

/* What is not written by a commit of ours does not renew the state. */
static void foreign_commits_are_found(void **state)
{
    (void)state;
    put_sealed(NULL, BYTES("header"), BYTES("ptable\0\1\17\0\0\0\0\0\0\0\0\0\0\0"));
    expect("its state record (current) is that of commit");
}

static void entities_are_checked(void **state)
{
    (void)state;
    flip("entities", BYTES(ENTITY));
    expect("table 'One', PartitionKey 'a', RowKey '1': the entity is damaged in its Strings and "
           "Binaries, which cannot be read; it can be replaced or deleted");
    flip("entities", BYTES(ENTITY));
    flip_at("entities", BYTES(ENTITY), PT_RECORD_HEADER);
    expect("table 'One', PartitionKey 'a', RowKey '1': the entity is damaged in its keys, its "
           "Timestamp or what else the head of its record has; it can be replaced or deleted");
    put("entities", BYTES("\1mm"), BYTES("no record"));
    expect("table 'One', PartitionKey 'mm': its key is damaged: the PartitionKey does not end");
    put("entities", BYTES("\1a\0\xFF"), BYTES("no record"));
    expect("its keys are damaged: they are not UTF-8");
    put("entities", BYTES("\1\xFF\0b"), BYTES("no record"));
    expect("its keys are damaged: they are not UTF-8");
    put("entities", BYTES("\011a\0001"), BYTES("no record"));
    expect("table number 9: it is not in the catalogue, but it has 1 entities");
}

/* They are cut off, written with more bytes than needed, of no table, and begun by no known byte.
 */
static void damaged_table_ids_are_found(void **state)
{
    (void)state;
    static const pt_slice keys[] = {
        {(const uint8_t *)"\xF0", 1},
        {(const uint8_t *)"\xF1\0\1\0", 4},
        {(const uint8_t *)"\xF0\0\1a\0001", 6},
        {(const uint8_t *)"\xF1\0\0\xFF\xFF"
                          "a\0001",
         8},
        {(const uint8_t *)"\xF1\xFF\0\0\0a\0001", 8},
        {(const uint8_t *)"\xF2"
                          "a\0001",
         4},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char expected[80];
        snprintf(expected, sizeof expected,
                 "a key of %zu bytes: it does not begin with the id of a table", keys[i].size);
        put("entities", keys[i], BYTES("no record"));
        expect(expected);
        take_out("entities", keys[i]);
    }
    put("chunks", BYTES(CHUNK "\xF0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0"), BYTES("12345"));
    expect("large values of table number 0: the key of a part is damaged");
    put("chunks", BYTES(CHUNK), BYTES("12345"));
    expect("large values of table number 0: the key of a part is damaged");
}

static void put_own_record(int64_t ticks, uint8_t active)
{
    record_bytes record = own_record(ticks, active);
    put("entities", sample_key(), slice_of(&record));
    free(record.data);
}

static void what_a_right_checksum_hides_is_found(void **state)
{
    (void)state;
    put_own_record(sample_ticks, 2);
    expect(
        "PartitionKey 'Sales', RowKey '000223': the entity is damaged: one of its values is none "
        "of its type; it can be replaced or deleted");
    put_own_record(PT_TICKS_MAX, 1);
    expect("PartitionKey 'Sales', RowKey '000223': its Timestamp is later than the newest one");
    record_bytes record = own_large_record(5000);
    put("entities", sample_key(), slice_of(&record));
    free(record.data);
    expect("PartitionKey 'Sales', RowKey '000223': a large value of the entity is incomplete");
}

static void the_catalogue_is_checked(void **state)
{
    (void)state;
    flip("entities", BYTES("\0two"));
    expect("the catalogue's table 'two': its entry is damaged");
    flip("entities", BYTES("\0two"));
    put_sealed("entities", BYTES("\0four"), BYTES("\1\2\0\0\0Four"));
    expect("another table, or a dropped table, has the same number");
    put_sealed("garbage", BYTES("\xFE\3"), BYTES("\1"));
    put_sealed("entities", BYTES("\0four"), BYTES("\1\3\0\0\0Four"));
    expect("another table, or a dropped table, has the same number");
    put_sealed("entities", BYTES("\0four"), BYTES("\1\4\0\0\0Four"));
    expect("the catalogue's table 'four': its entry is damaged");
    put_sealed("entities", BYTES("\0four"), BYTES("\1\2\0\0\0Five"));
    expect("the catalogue's table 'four': its entry is damaged");
    put_sealed("entities", BYTES("\0four"), BYTES("\2"));
    expect("the catalogue's table 'four': its entry is damaged");
    take_out("entities", BYTES("\0one"));
    expect("table number 1: it is not in the catalogue, but it has 4 entities and 3 parts");
}

static void counts_are_compared(void **state)
{
    (void)state;
    put_sealed(NULL, BYTES("c\0\0\0\2"), BYTES("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    expect("table 'Two': the store says 1 entities, 0 parts of large values and 0 "
           "bytes, but 0, 0 and 0 were found");
    put(NULL, BYTES("c\0\0\0\2"), BYTES("\1"));
    expect("the counts of table number 2 are damaged");
    put_sealed(NULL, BYTES("c\0\0\0\7"), BYTES("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    expect("table number 7: it is not in the catalogue");
    put_sealed(NULL, BYTES("c\0\0\0\2"), BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0"));
    expect("table 'Two': the store says 0 entities, 1 parts of large values and 0 "
           "bytes, but 0, 0 and 0 were found");
    take_out("entities", BYTES(ENTITY));
    expect("table 'One': the store says 4 entities, 3 parts");
}

static void large_values_are_checked(void **state)
{
    (void)state;
    static const char value[] = "PartitionKey 'a', RowKey '2': a large value of the entity is ";
    char damaged[200];
    snprintf(damaged, sizeof damaged, "%sdamaged", value);
    flip("chunks", BYTES(CHUNK));
    expect(damaged);
    take_out("chunks", BYTES(CHUNK));
    snprintf(damaged, sizeof damaged, "%sincomplete: it lacks parts", value);
    expect(damaged);
    put("chunks", BYTES(CHUNK "\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0"), BYTES("12345"));
    expect("large values of table 'One': a part belongs to no entity");
    put("chunks", BYTES(CHUNK "\1\0\0"), BYTES("12345"));
    expect("large values of table 'One': the key of a part is damaged");
    put_sealed("garbage", BYTES("\xFE\3"), BYTES("\1"));
    put("chunks", BYTES(CHUNK "\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0"), BYTES("12345"));
    expect("a part is damaged");
    put("chunks", BYTES(CHUNK "\3\0\0\0\0\0\0\0\1\0\0\0\0\0\0"), BYTES("1234"));
    expect("a part is damaged");
    take_out("entities", BYTES("\1a\0002"));
    expect("large values of table 'One': a part belongs to no entity");
}

static void the_last_parts_of_a_large_value_are_missed(void **state)
{
    (void)state;
    for (int part = 0; part < 3; part++) {
        take_out("chunks", BYTES(CHUNK));
    }
    expect("RowKey '2': a large value of the entity is incomplete");
}

static void links_are_followed(void **state)
{
    (void)state;
    put_link("entities", "\1z\0", 3, 1);
    expect("bucket 1 of long keys has several keys that lead to it");
    put_link("entities", "\1z\0", 3, 99);
    expect("table number 1: a link to long keys leads nowhere");
    put_link("entities", "\1z\0", 3, 0);
    expect("table number 1: a link to long keys leads nowhere");
}

static void buckets_are_compared_with_links(void **state)
{
    (void)state;
    static const char numbers[] = "\x63\0\0\0\0\0\0\0";
    put_sealed(NULL, BYTES("bucket"), BYTES(numbers));
    put("long_keys", BYTES("\0\0\0\0\0\0\0\x40key"), BYTES("record"));
    expect("bucket 64 of long keys holds entities that no key leads to");
    put_link("entities", "\1z\0", 3, 0x50);
    expect("bucket 80 of long keys is empty, but a key leads to it");
    put("long_keys", BYTES("\0\0\0\0\0\0\0"), BYTES("record"));
    expect("long_keys: a key has nothing after its bucket number");
}

/* Two buckets that lead to each other: each has its link, but nothing leads to them. */
static void circles_of_links_are_found(void **state)
{
    (void)state;
    static const char numbers[] = "\x63\0\0\0\0\0\0\0";
    put_sealed(NULL, BYTES("bucket"), BYTES(numbers));
    put_link("long_keys", "\0\0\0\0\0\0\0\x40", 8, 0x41);
    put_link("long_keys", "\0\0\0\0\0\0\0\x41", 8, 0x40);
    expect("long_keys: 2 entries are not reached from any entity's key");
    put_link("entities", "\1z\0", 3, 0x40);
    expect("bucket 64 of long keys has several keys that lead to it");
}

static void the_dictionary_is_checked(void **state)
{
    (void)state;
    put_sealed(NULL, BYTES("s\0\1"), BYTES("\1\0\1\0\x63"));
    expect("the dictionary: shape 1 is malformed");
    put_sealed(NULL, BYTES("n\0\x63"), BYTES("Name"));
    expect("the dictionary: property name 99 is malformed, or those before it are missing");
    take_out(NULL, BYTES("n\0\x63"));
    take_out(NULL, BYTES("s\0\1"));
    take_out(NULL, BYTES("n\0\1"));
    expect("the dictionary");
}

/* Each in the place of the store's own first name, which is A. */
static void names_that_no_property_can_have_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"",           "PartitionKey", "RowKey",     "Timestamp",
                                        "odata.etag", "A@odata.type", "@odata.type"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char expected[100];
        put_sealed(NULL, BYTES("n\0\1"), pt_slice_text(names[i]));
        snprintf(expected, sizeof expected,
                 "the dictionary: property name 1 is '%s', which no property can have", names[i]);
        expect(expected);
    }
    static const char *const allowed[] = {"partitionkey", "Odata.etag", "a.odata.", "@odata.typ"};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        put_sealed(NULL, BYTES("n\0\1"), pt_slice_text(allowed[i]));
        char *text = check();
        assert_null(strstr(text, "the dictionary"));
        sqlite3_free(text);
    }
}

static void a_last_bucket_at_its_limit_is_found(void **state)
{
    (void)state;
    put_sealed(NULL, BYTES("bucket"), BYTES("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
    expect("the number of its last bucket of long keys is damaged");
    put_sealed(NULL, BYTES("bucket"), BYTES("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
    expect("the number of its last bucket of long keys is the highest possible");
    put_sealed(NULL, BYTES("bucket"), BYTES("\xFD\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
    char *text = check();
    assert_null(strstr(text, "bucket"));
    sqlite3_free(text);
}

/* What the report says: a key that needs a new bucket cannot be inserted, others can. */
static void a_last_bucket_at_its_limit_is_the_last(void **state)
{
    (void)state;
    put_sealed(NULL, BYTES("bucket"), BYTES("\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF"));
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, "
                                "store=%Q)",
                                fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO One VALUES('n', printf('%.900c', 'm'), 5, '')",
                                  NULL, NULL, NULL),
                     SQLITE_CORRUPT);
    run_sql(db, "INSERT INTO One VALUES('n', '1', 5, '')");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void the_main_database_is_checked(void **state)
{
    (void)state;
    put(NULL, BYTES("something"), BYTES("else"));
    expect("the main database: a record of 4 bytes has a key that no store has");
    put("another", BYTES("key"), BYTES("value"));
    expect("the main database: it has a sub-database that no store has");
    put(NULL, BYTES("bucket"), BYTES("\0"));
    expect("the number of its last bucket of long keys is damaged");
    put(NULL, BYTES("current"), BYTES("\0"));
    expect("its state record (current) is damaged");
    put(NULL, BYTES("header"), BYTES("\0"));
    expect("its header is not that of a ptable store");
    take_out(NULL, BYTES("header"));
    expect("its header is missing");
    take_out(NULL, BYTES("current"));
    expect("there is no state record (current) that can be read");
}

static void garbage_is_checked(void **state)
{
    (void)state;
    put("garbage", BYTES("\xFE"), BYTES("\1"));
    expect("the note that it was dropped is damaged");
}

static void garbage_has_a_number_that_was_given_out(void **state)
{
    (void)state;
    static const pt_slice keys[] = {
        {(const uint8_t *)"\xFE\0", 2},
        {(const uint8_t *)"\xFE\xF0\1\0", 4},
        {(const uint8_t *)"\xFE\xFE", 2},
        {(const uint8_t *)"\xFE\3\3", 3},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        put_sealed("garbage", keys[i], BYTES("\1"));
        expect("the note that it was dropped is damaged");
        take_out("garbage", keys[i]);
    }
    static const pt_slice contents[] = {{(const uint8_t *)"\2", 1}, {(const uint8_t *)"\1\1", 2}};
    for (int i = 0; i < 2; i++) {
        put_sealed("garbage", BYTES("\xFE\3"), contents[i]);
        expect("the note that it was dropped is damaged");
    }
    put("garbage", BYTES("\xFE\3"), BYTES("\1"));
    expect("the note that it was dropped is damaged");
}

static void missing_parts_are_named(void **state)
{
    (void)state;
    raw self = raw_begin("chunks");
    assert_int_equal(mdb_drop(self.txn, self.dbi, 1), 0);
    raw_end(&self);
    expect("the sub-database chunks is missing");
}

/* --- The file's own structures, byte by byte --- */

/* Makes the first entry of the list of free pages one of this page and perhaps another. */
static void set_free_list(uint64_t page, uint64_t another)
{
    FILE *file = open_file();
    long leaf = (long)number_at(file, newest_meta(file) + 80) * PAGE;
    long entry = leaf + (long)(number_at(file, leaf + 16) & 0xFFFF);
    set_number(file, entry + 16, another != 0 ? 2 : 1);
    set_number(file, entry + 24, page);
    if (another != 0) {
        set_number(file, entry + 32, another);
    }
    assert_int_equal(fclose(file), 0);
}

static void free_pages_are_checked(void **state)
{
    (void)state;
    FILE *file = open_file();
    uint64_t root = number_at(file, newest_meta(file) + 128);
    assert_int_equal(fclose(file), 0);
    set_free_list(root, 0);
    expect("is in use, and in the list of free pages too: later commits may overwrite it");
    expect("neither in use nor in the list of free pages");
    set_free_list(0, 0);
    expect("the list of free pages has a page number that is out of range or out of order");
    set_free_list(root, root);
    expect("the list of free pages has a page number that is out of range or out of order");
}

static void meta_pages_are_checked(void **state)
{
    (void)state;
    FILE *file = open_file();
    long meta = newest_meta(file);
    uint64_t commit = number_at(file, meta + 144);
    set_number(file, meta + 144, commit + 1);
    fflush(file);
    expect("has the number of a commit that belongs on the other meta page");
    set_number(file, meta + 144, commit + 2);
    fflush(file);
    expect("its state record (current) is that of commit");
    set_number(file, meta + 144, commit - 2);
    fflush(file);
    expect("a meta page, is damaged: it leads to commit");
    set_number(file, meta + 144, commit);
    uint64_t entries = number_at(file, meta + 120);
    set_number(file, meta + 120, entries + 1);
    fflush(file);
    expect("the sub-database main database has a different number of entries than its root says");
    set_number(file, meta + 120, entries);
    set_number(file, meta + 136, UINT64_C(1) << 40);
    fflush(file);
    expect("counts more pages than the file has");
    set_number(file, meta + 16, 0);
    fflush(file);
    expect("does not have LMDB's magic number");
    assert_int_equal(fclose(file), 0);
}

static void commit_once(void)
{
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    commit_write(begin_write(store));
    engine->unlock(store);
    engine->close(store);
}

/* LMDB takes page 0 then: the commit before, which is whole. */
static void two_meta_pages_of_one_commit_are_found(void **state)
{
    (void)state;
    FILE *file = open_file();
    if (newest_meta(file) == 0) {
        commit_once();
    }
    set_number(file, PAGE + 144, number_at(file, 144));
    assert_int_equal(fclose(file), 0);
    expect("page 1, a meta page, is damaged: it leads to commit");
}

enum { COMMITS_LOST = 20 };

static void use_up_free_pages(void)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
        "WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 200) "
        "INSERT INTO One SELECT 'many', printf('%%05d', k), k, printf('%%.900c', 'x') FROM n",
        fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void read_page(long offset, uint8_t bytes[PAGE])
{
    FILE *file = open_file();
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fread(bytes, PAGE, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* A power failure has taken the meta pages of some commits. The last one has used again the pages
 * of the commit that the older of those left leads to, which nobody reads any more. */
static void meta_pages_of_lost_commits_are_no_damage(void **state)
{
    uint8_t metas[2][PAGE];
    uint8_t before[PAGE];
    uint8_t after[PAGE];
    use_up_free_pages();
    commit_once();
    read_page(0, metas[0]);
    read_page(PAGE, metas[1]);
    FILE *file = open_file();
    long root = (long)number_at(file, PAGE - newest_meta(file) + 128) * PAGE;
    read_page(root, before);
    int lost = 0;
    do {
        commit_once();
        read_page(root, after);
    } while (memcmp(before, after, PAGE) == 0 && ++lost < COMMITS_LOST);
    assert_in_range(lost, 1, COMMITS_LOST - 1);
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    assert_int_equal(fwrite(metas, sizeof metas, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    a_sound_store_is_ok(state);
}

static void less_than_a_page_is_left(void **state)
{
    (void)state;
    FILE *file = open_file();
    assert_int_equal(ftruncate(fileno(file), PAGE / 4), 0);
    expect("page 1 is missing");
    set_number(file, 128, UINT64_C(1) << 50);
    set_number(file, 136, UINT64_MAX);
    assert_int_equal(fclose(file), 0);
    expect("counts more pages than the file has");
}

/* Nobody watches this one. */
static void long_checks_go_on(void **state)
{
    (void)state;
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q, sync=off);"
        "WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 9000) "
        "INSERT INTO One SELECT 'many', printf('%%05d', k), k, '' FROM n",
        fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    expect("ok");
}

/* --- The report --- */

static void reports_end_after_a_hundred_lines(void **state)
{
    (void)state;
    pt_check_report report = {0};
    for (int i = 0; i < PT_CHECK_LINES_MAX + 5; i++) {
        pt_check_problem(&report, "problem %d", i);
    }
    char *text = pt_check_report_text(&report);
    assert_non_null(strstr(text, "problem 99\n105 problems, of which 5 are not shown: restore"));
    assert_null(strstr(text, "problem 100\n"));
    sqlite3_free(text);
}

/* --- Out of memory --- */

/* More tables and large values than there is room for at first, of two tables one behind the other,
 * none counted, the last with parts that are missing. */
static void many_things_without_memory(void **state)
{
    (void)state;
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql =
        sqlite3_mprintf("CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
                        "CREATE VIRTUAL TABLE Two USING ptable(S String, store=%Q);"
                        "WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 70) "
                        "INSERT INTO Two SELECT 'p', k, printf('%%.2500c', 'x') FROM n;"
                        "INSERT INTO One VALUES('z', '1', 1, printf('%%.2500c', 'x'));"
                        "WITH n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 20) "
                        "INSERT INTO pt_tables(Store, TableName) SELECT %Q, 'More' || k FROM n",
                        fixture_path, fixture_path, fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    check_without_memory();
    put_own_record(sample_ticks, 1);
    take_out(NULL, BYTES("c\0\0\0\1"));
    take_out(NULL, BYTES("c\0\0\0\2"));
    take_out("chunks", BYTES(CHUNK "\1"));
    take_out("chunks", BYTES(CHUNK "\2"));
    check_without_memory();
}

/* With the catalogue and the counts gone, what is read first is the first that is known. */
static void unknown_tables_without_memory(void **state)
{
    (void)state;
    take_out("entities", BYTES("\0one"));
    take_out("entities", BYTES("\0two"));
    take_out(NULL, BYTES("c\0\0\0\1"));
    check_without_memory();
    put_sealed("garbage", BYTES("\xFE\3"), BYTES("\1"));
    check_without_memory();
    take_out("garbage", BYTES("\xFE\3"));
    raw self = raw_begin("entities");
    assert_int_equal(mdb_drop(self.txn, self.dbi, 0), 0);
    raw_end(&self);
    check_without_memory();
}

/* A part behind the last of a value, and one of a table before those whose values are known. */
static void parts_too_many_are_found(void **state)
{
    (void)state;
    uint8_t key[22];
    raw self = raw_begin("chunks");
    MDB_cursor *cursor;
    MDB_val found;
    MDB_val value;
    assert_int_equal(mdb_cursor_open(self.txn, self.dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &found, &value, MDB_LAST), 0);
    assert_true(found.mv_size <= sizeof key);
    memcpy(key, found.mv_data, found.mv_size);
    key[found.mv_size - 1]++;
    found.mv_data = key;
    value = (MDB_val){.mv_size = 5, .mv_data = "12345"};
    assert_int_equal(mdb_put(self.txn, self.dbi, &found, &value, 0), 0);
    mdb_cursor_close(cursor);
    raw_end(&self);
    expect("large values of table 'One': a part belongs to no entity");
    put("chunks", BYTES(CHUNK "\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0"), BYTES("12345"));
    expect("large values of table number 0: a part belongs to no entity");
}

static void dropped_tables_without_memory(void **state)
{
    (void)state;
    put_sealed("garbage", BYTES("\xFE\3"), BYTES("\1"));
    put("entities", BYTES("\011a\0001"), BYTES("no record"));
    put("chunks", BYTES(CHUNK "\x8\0\0\0\0\0\0\0\1\0\0\0\0\0\0"), BYTES("12345"));
    check_without_memory();
}

static void memory_may_run_out(void **state)
{
    (void)state;
    check_without_memory();
    flip("entities", BYTES(ENTITY));
    flip("chunks", BYTES(CHUNK));
    put_link("entities", "\1z\0", 3, 1);
    put_sealed(NULL, BYTES("c\0\0\0\7"), BYTES("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    check_without_memory();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(a_sound_store_is_ok),
        check_test(foreign_commits_are_found),
        check_test(entities_are_checked),
        check_test(damaged_table_ids_are_found),
        check_test(the_catalogue_is_checked),
        check_test(counts_are_compared),
        check_test(large_values_are_checked),
        check_test(the_last_parts_of_a_large_value_are_missed),
        check_test(links_are_followed),
        check_test(buckets_are_compared_with_links),
        check_test(circles_of_links_are_found),
        check_test(the_dictionary_is_checked),
        check_test(names_that_no_property_can_have_are_found),
        check_test(a_last_bucket_at_its_limit_is_found),
        check_test(a_last_bucket_at_its_limit_is_the_last),
        check_test(the_main_database_is_checked),
        check_test(garbage_is_checked),
        check_test(missing_parts_are_named),
        check_test(free_pages_are_checked),
        check_test(meta_pages_are_checked),
        check_test(two_meta_pages_of_one_commit_are_found),
        check_test(meta_pages_of_lost_commits_are_no_damage),
        check_test(less_than_a_page_is_left),
        check_test(long_checks_go_on),
        check_test(reports_end_after_a_hundred_lines),
        check_test(memory_may_run_out),
        check_test(many_things_without_memory),
        check_test(dropped_tables_without_memory),
        check_test(unknown_tables_without_memory),
        check_test(parts_too_many_are_found),
        check_test(what_a_right_checksum_hides_is_found),
        check_test(garbage_has_a_number_that_was_given_out),
    };
    failing_malloc_install();
    /* Pages are damaged that commits to the file have written. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
