/*
 * pt_check on files whose pages, roots, lists and links were changed byte by byte.
 */
#include "fixtures/check_store.h"

#include "lmdb/long_keys.h"

/* --- Long keys --- */

static void numbers_of_buckets_may_be_high(void)
{
    put_sealed(NULL, BYTES("bucket"), BYTES("\x63\0\0\0\0\0\0\0"));
}

static void empty_buckets_are_found(void **state)
{
    (void)state;
    numbers_of_buckets_may_be_high();
    put("long_keys", BYTES("\0\0\0\0\0\0\0\x40key"), BYTES("record"));
    put_link("entities", "\1z\0", 3, 0x20);
    expect("bucket 32 of long keys is empty, but a key leads to it: entities are lost");
    expect("bucket 64 of long keys holds entities that no key leads to");
}

static void links_inside_buckets_are_judged(void **state)
{
    (void)state;
    numbers_of_buckets_may_be_high();
    put_link("entities", "\1z\0", 3, 0x40);
    put_link("long_keys", "\0\0\0\0\0\0\0\x40", 8, 0);
    expect("bucket 64 of long keys has a link that leads nowhere: entities are lost");
    put("long_keys", BYTES("\0\0\0\0\0\0\0\x40"), BYTES("record"));
    expect("long_keys: a key has nothing after its bucket number");
    expect("bucket 64 of long keys has a key that is too long or too short");
}

static void links_end_where_keys_do(void **state)
{
    (void)state;
    uint8_t key[PT_LMDB_LINK_SIZE];
    char bucket[] = "\0\0\0\0\0\0\0\x40";
    numbers_of_buckets_may_be_high();
    put_link("entities", "\1z\0", 3, 0x40);
    for (int i = 0; i <= PT_LMDB_DEPTH_MAX; i++, bucket[7]++) {
        put_link("long_keys", bucket, 8, (uint8_t)(bucket[7] + 1));
    }
    expect("of long keys has a key that is too long or too short");
    memset(key, 'z', sizeof key); /* where a link ends with a zero */
    key[0] = 1;
    put_sealed("entities", pt_slice_of(key, sizeof key), BYTES("\x40\0\0\0\0\0\0\0"));
    expect("table number 1: a link to long keys leads nowhere");
}

static void without_long_keys_their_links_lead_nowhere(void **state)
{
    (void)state;
    raw self = raw_begin("long_keys");
    assert_int_equal(mdb_drop(self.txn, self.dbi, 1), 0);
    raw_end(&self);
    expect("the sub-database long_keys is missing: nothing of it can be read");
}

/* --- The main database --- */

static void other_records_are_named(void **state)
{
    (void)state;
    put(NULL, BYTES("xyz"), BYTES("7 bytes"));
    expect("the main database: a record of 7 bytes has a key that no store has");
    take_out(NULL, BYTES("xyz"));
    put(NULL, BYTES("vwxyz"), BYTES("nine byte"));
    expect("the main database: a record of 9 bytes has a key that no store has");
}

static void the_dictionary_is_counted(void **state)
{
    (void)state;
    take_out(NULL, BYTES("n\0\2"));
    expect("the dictionary has 1 property names, not 2");
}

/* The store has damage, too, but a check of another format would call everything damaged. */
static void expect_other_version(pt_slice header, const char *words)
{
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    put(NULL, BYTES("header"), header);
    assert_int_equal(pt_check_store(&pt_lmdb_engine, fixture_path, NULL, NULL, &text, &error),
                     SQLITE_CANTOPEN);
    assert_null(text);
    assert_non_null(strstr(error.message, fixture_path));
    assert_non_null(strstr(error.message, words));
    pt_error_clear(&error);
}

/* Features that must be known for reading; a size of stores that had no checksums. */
static void stores_of_other_versions_are_not_checked(void **state)
{
    (void)state;
    static const char newer[] = "was made by a newer version of ptable; open it with that";
    static const char older[] = "was made by an older version of ptable; export its tables";
    flip("entities", BYTES(ENTITY));
    expect_other_version(sealed(BYTES("header"), BYTES("ptable\0\1\0\0\0\x80\0\0\0\0\0\0\0\0")),
                         newer);
    expect_other_version(BYTES("ptable\0\1\0\0\0\0\0\0\0\0\0\0\0\0"), older);
    expect_other_version(sealed(BYTES("header"), BYTES("ptable\0\1\1\0\0\0\0\0\0\0\0\0\0\0")),
                         older);
}

/* SELECT pt_check() of a store that cannot be opened says the same. */
static void pt_check_says_what_to_do_with_another_version(void **state)
{
    (void)state;
    put(NULL, BYTES("header"),
        sealed(BYTES("header"), BYTES("ptable\0\1\1\0\0\0\0\0\0\0\0\0\0\0")));
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf("SELECT pt_check(%Q)", fixture_path);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CANTOPEN);
    assert_non_null(strstr(sqlite3_errmsg(db), "export its tables with that version"));
    assert_null(strstr(sqlite3_errmsg(db), "damage"));
    sqlite3_free(sql);
    sqlite3_close(db);
}

/* Where the root of a sub-database begins in the file. */
static long root_of(FILE *file, const char *name)
{
    static uint8_t page[PAGE];
    long at = (long)number_at(file, newest_meta(file) + 128) * PAGE;
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fread(page, 1, sizeof page, file), sizeof page);
    const uint8_t *found = memmem(page, sizeof page, name, strlen(name));
    assert_non_null(found);
    return at + (long)(found - page) + (long)strlen(name);
}

/* Changes one byte there, and changes it back after a look at the report. */
static void expect_with(FILE *file, long at, uint8_t byte, const char *words)
{
    uint64_t before = number_at(file, at);
    set_number(file, at, (before & ~UINT64_C(0xFF)) | byte);
    fflush(file);
    expect(words);
    set_number(file, at, before);
    fflush(file);
}

static void roots_are_judged(void **state)
{
    (void)state;
    enum { NAME = 9 };
    FILE *file = open_file();
    long root = root_of(file, "long_keys");
    expect_with(file, root - NAME - 4, 0, "the record of the sub-database long_keys is not a root");
    expect_with(file, root - NAME - 8, 49,
                "the record of the sub-database long_keys is not a root");
    expect_with(file, root + 4, 4, "the record of the sub-database long_keys has flags that no");
    expect_with(file, root + 6, 33,
                "the record of the sub-database long_keys has an impossible root");
    expect_with(file, newest_meta(file) + 92, 4, "flags of the main database that no store has");
    assert_int_equal(fclose(file), 0);
}

/* The other meta page may lead to no state, and then says nothing of a newer commit. */
static void the_other_version_may_have_no_state(void **state)
{
    (void)state;
    take_out(NULL, BYTES("current"));
    put(NULL, BYTES("bucket"), BYTES("\0")); /* now no version has one */
    expect("there is no state record (current) that can be read");
    FILE *file = open_file();
    long other = PAGE - newest_meta(file);
    for (long at = 92; at < 128; at += 4) {
        set_number(file, other + at, 0);
    }
    set_number(file, other + 128, UINT64_MAX);
    assert_int_equal(fclose(file), 0);
    char *text = check();
    assert_null(strstr(text, "meta page"));
    sqlite3_free(text);
}

/* LMDB's tools number the commits of what they copy anew. */
static void a_copy_by_lmdb_itself_is_sound(void **state)
{
    (void)state;
    char path[sizeof fixture_path + 8];
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    snprintf(path, sizeof path, "%s.copy", fixture_path);
    raw self = raw_begin(NULL);
    mdb_txn_abort(self.txn);
    assert_int_equal(mdb_env_copy2(self.env, path, MDB_CP_COMPACT), 0);
    mdb_env_close(self.env);
    assert_int_equal(pt_check_store(&pt_lmdb_engine, path, NULL, NULL, &text, &error), SQLITE_OK);
    assert_string_equal(text, "ok");
    sqlite3_free(text);
}

/* --- Free pages --- */

/* Where the n-th list of free pages begins in the file. */
static long free_list_at(FILE *file, long n)
{
    long leaf = (long)number_at(file, newest_meta(file) + 80) * PAGE;
    return leaf + (long)(number_at(file, leaf + 16 + 2 * n) & 0xFFFF) + 16;
}

static void free_pages_are_free_once(void **state)
{
    (void)state;
    FILE *file = open_file();
    uint64_t page = number_at(file, free_list_at(file, 1) + 8);
    set_number(file, free_list_at(file, 0), 1);
    set_number(file, free_list_at(file, 0) + 8, page);
    fflush(file);
    expect("is in the list of free pages twice: later commits may use it for two things");
    page = number_at(file, newest_meta(file) + 80); /* the list's own */
    set_number(file, free_list_at(file, 0) + 8, page);
    fflush(file);
    expect("is in use, and in the list of free pages too: later commits may overwrite it");
    assert_int_equal(fclose(file), 0);
}

/* --- Pages that are lost --- */

static void insert_rows(void)
{
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 60)"
        "INSERT INTO One SELECT 'b', printf('%%03d', k), k, printf('%%.300c', 'x') FROM n",
        fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void what_is_lost_is_said_also_without_memory(void **state)
{
    (void)state;
    insert_rows();
    FILE *file = open_file();
    long branch = (long)number_at(file, root_of(file, "entities") + 40) * PAGE;
    long entry = branch + (long)(number_at(file, branch + 16 + 2) & 0xFFFF);
    long child = (long)(number_at(file, entry) & 0xFFFFFFFF);
    set_number(file, child * PAGE, 1);
    fflush(file);
    expect("is the wrong page: it has the number of another one; its contents are lost: from "
           "table 'One', PartitionKey 'b', RowKey '0");
    check_without_memory();
    set_number(file, branch, 1);
    assert_int_equal(fclose(file), 0);
    expect("its contents are lost: from the beginning to the end");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(empty_buckets_are_found),
        check_test(links_inside_buckets_are_judged),
        check_test(links_end_where_keys_do),
        check_test(without_long_keys_their_links_lead_nowhere),
        check_test(other_records_are_named),
        check_test(the_dictionary_is_counted),
        check_test(stores_of_other_versions_are_not_checked),
        check_test(pt_check_says_what_to_do_with_another_version),
        check_test(roots_are_judged),
        check_test(the_other_version_may_have_no_state),
        check_test(a_copy_by_lmdb_itself_is_sound),
        check_test(free_pages_are_free_once),
        check_test(what_is_lost_is_said_also_without_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
