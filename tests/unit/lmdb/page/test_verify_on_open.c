/*
 * What opening a store looks at before LMDB does: meta pages, the main database, the beginning of
 * the list of free pages and the ends of the other trees.
 */
#include "unit/lmdb/page/page_image.h"

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "lmdb/page/format.h"
#include "lmdb/page/verify_on_open.h"

enum { VERSION = 9 };

static uint8_t header[PT_FORMAT_HEADER_SIZE];

/* A root of one leaf page. */
static const char *root_at(uint64_t page, uint16_t depth)
{
    static uint8_t bytes[PT_LMDB_ROOT_SIZE];
    memset(bytes, 0, sizeof bytes);
    bytes[6] = (uint8_t)depth;
    pt_put_le64(bytes + 16, 1);
    pt_put_le64(bytes + 32, 2);
    pt_put_le64(bytes + 40, page);
    return (const char *)bytes;
}

/* The list of put_list(), a main database in page 3, and what it calls entities in page 4. */
static void put_store(const char *entities, size_t size)
{
    static const image_entry rows[] = {{KEY("a"), .value = "one"}, {KEY("b"), .value = "two"}};
    const image_entry main[] = {
        {KEY("another"), .value = "x"},
        {KEY("entities"), .value = entities, .value_size = size, .flags = PT_LMDB_ENTRY_ROOT},
        {KEY("header"), .value = (const char *)header, .value_size = sizeof header},
        {KEY("other"), .value = entities, .value_size = PT_LMDB_ROOT_SIZE,
         .flags = PT_LMDB_ENTRY_ROOT},
    };
    put_list();
    put_page(3, LEAF, main, 4);
    put_page(4, LEAF, rows, 2);
    put(PAGE + 94, 2, 1); /* depth, leaf pages, entries and page of the main database */
    put(PAGE + 104, 8, 1);
    put(PAGE + 120, 8, 4);
    put(PAGE + 128, 8, 3);
}

static void put_sound_store(void)
{
    put_store(root_at(4, 1), PT_LMDB_ROOT_SIZE);
}

static size_t file_size = sizeof image;

static int verify(uint64_t version, bool *again, pt_error *error)
{
    int fd = open_image(file_size < sizeof image ? file_size : sizeof image);
    assert_int_equal(ftruncate(fd, (off_t)file_size), 0);
    int rc = pt_lmdb_verify_trees(fd, "file", version, again, error);
    close(fd);
    return rc;
}

static void expect_sound(void)
{
    bool again = true;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(verify(VERSION, &again, &error), SQLITE_OK);
    assert_false(again);
}

static void expect_damage(const char *words)
{
    bool again = true;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(verify(VERSION, &again, &error), SQLITE_CORRUPT);
    assert_false(again);
    expect_text(error.message, words);
    expect_text(error.message, "restore it from a backup");
    pt_error_clear(&error);
}

static void damage_of_what_lmdb_reads_is_found(void **state)
{
    (void)state;
    static const page_damage damages[] = {
        {PAGE + 136, 8, 0, "page 1 counts more pages than the file has"},
        {PAGE + 94, 2, 2, "page 3 (main database) lies too high or too deep"},
        {PAGE + 104, 8, 0, "page 1 has an impossible root"},
        {3 * PAGE, 8, 4, "page 3 (main database) is the wrong page"},
        {4 * PAGE, 8, 5, "page 4 (entities) is the wrong page"},
        {2 * PAGE, 8, 5, "page 2 (the list of free pages) is the wrong page"},
        {3 * PAGE - 16, 8, 1,
         "the list of free pages has a page number that is out of range or out of order"},
        {3 * PAGE - 40, 4, 7, "page 2 (the list of free pages) has gaps"},
    };
    put_sound_store();
    expect_sound();
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        put_sound_store();
        put(damages[i].at, damages[i].size, damages[i].number);
        expect_damage(damages[i].words);
    }
}

static void roots_of_parts_are_judged(void **state)
{
    (void)state;
    put_store(root_at(4, 33), PT_LMDB_ROOT_SIZE);
    expect_damage("entities has an impossible root");
    put_store(root_at(4, 1), PT_LMDB_ROOT_SIZE - 1);
    expect_damage("entities has a root of an impossible size");
    put_store(root_at(5, 1), PT_LMDB_ROOT_SIZE);
    expect_damage("page 5 (entities) is neither a branch nor a leaf");
}

/* Or else damage could make it go on and on. */
static void more_pages_than_the_root_says_are_not_looked_at(void **state)
{
    (void)state;
    const image_entry first[] = {
        {KEY("a"), .value = "x"},
        {KEY("header"), .value = (const char *)header, .value_size = sizeof header}};
    static const image_entry last[] = {{KEY("i"), .value = "x"}};
    static const image_entry branch[] = {{KEY(""), .number = 4}, {KEY("i"), .number = 5}};
    put_sound_store();
    put_page(3, BRANCH, branch, 2);
    put_page(4, LEAF, first, 2);
    put_page(5, LEAF, last, 1);
    put(PAGE + 94, 2, 2);
    put(PAGE + 96, 8, 1);
    put(PAGE + 104, 8, 2);
    expect_sound();
    put(PAGE + 104, 8, 1);
    expect_damage("page 5 (main database) is also in use elsewhere");
}

/* A long list costs no time: what lies behind its beginning is not looked at. */
static void the_list_of_free_pages_is_looked_at_up_to_its_64th_page(void **state)
{
    (void)state;
    enum { LONG = 64, ALL = 80 };
    static const image_entry lists[] = {
        {KEY("\1\0\0\0\0\0\0\0"), .number = 5, .size = LONG * PAGE},
        {KEY("\xFF\0\0\0\0\0\0\0"), .value = "of a commit that there was not"}};
    put_sound_store();
    put_page(2, LEAF, lists, 2);
    put((size_t)5 * PAGE + 12, 4, LONG + 1);
    put((size_t)5 * PAGE + 16, 8, 0);
    put(PAGE + 64, 8, LONG + 1); /* overflow pages and entries of the root, and the last page */
    put(PAGE + 72, 8, 2);
    put(PAGE + 136, 8, ALL - 1);
    file_size = (size_t)ALL * PAGE;
    expect_sound();
    const image_entry short_list = {KEY("\1\0\0\0\0\0\0\0"), .value = "\0\0\0\0\0\0\0",
                                    .value_size = 8};
    const image_entry shorter[] = {short_list, lists[1]};
    put_page(2, LEAF, shorter, 2);
    expect_damage("the list of free pages has an entry of a commit that does not exist");
    file_size = sizeof image;
}

static void a_file_that_ends_before_the_main_database_is_refused(void **state)
{
    (void)state;
    put_sound_store();
    file_size = (size_t)3 * PAGE;
    expect_damage("main database has a root that is not one of the file's pages");
    file_size = sizeof image;
}

static void what_is_no_store_is_left_alone(void **state)
{
    (void)state;
    static const image_entry none[] = {{KEY("a"), .value = "x"}};
    static const image_entry later[] = {{KEY("x"), .value = "x"}};
    static const image_entry foreign[] = {{KEY("header"), .value = "mine"}};
    put_sound_store();
    put_page(3, LEAF, none, 1);
    expect_sound();
    put_page(3, LEAF, later, 1);
    expect_sound();
    put_page(3, LEAF, foreign, 1);
    expect_sound();
    put_sound_store();
    put((size_t)3 * PAGE, 8, 4);
    put(PAGE + 92, 2, 4); /* another order of the keys */
    expect_sound();
}

/* Commits may have overwritten it. */
static void a_version_that_is_not_there_is_asked_for_again(void **state)
{
    (void)state;
    bool again = false;
    pt_error error = PT_ERROR_NONE;
    put_sound_store();
    assert_int_equal(verify(VERSION - 2, &again, &error), SQLITE_OK);
    assert_true(again);
    again = false;
    put(PAGE + 16, 4, 0);
    assert_int_equal(verify(VERSION, &again, &error), SQLITE_OK);
    assert_true(again);
    assert_int_equal(pt_lmdb_verify_trees(-1, "file", VERSION, &again, &error), SQLITE_IOERR_READ);
    assert_false(again);
    pt_error_clear(&error);
}

static int verify_metas(pt_error *error)
{
    int fd = open_image(sizeof image);
    int rc = pt_lmdb_verify_metas(fd, "file", error);
    close(fd);
    return rc;
}

static void both_meta_pages_must_be_sound(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    put_sound_store();
    assert_int_equal(verify_metas(&error), SQLITE_OK);
    put(16, 4, 0);
    assert_int_equal(verify_metas(&error), SQLITE_CORRUPT);
    expect_text(error.message, "page 0 is not a meta page");
    put_sound_store();
    put(PAGE + 10, 2, LEAF);
    assert_int_equal(verify_metas(&error), SQLITE_CORRUPT);
    expect_text(error.message, "page 1 is not a meta page");
    put_sound_store();
    put(144, 8, 12);
    put(136, 8, 0);
    assert_int_equal(verify_metas(&error), SQLITE_CORRUPT);
    expect_text(error.message, "page 0 counts more pages than the file has");
    assert_int_equal(pt_lmdb_verify_metas(-1, "file", &error), SQLITE_IOERR_READ);
    pt_error_clear(&error);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    bool hit = true;
    int failed = 0;
    put_sound_store();
    for (int n = 0; hit; n++) {
        bool again;
        pt_error error = PT_ERROR_NONE;
        sqlite3_int64 before = sqlite3_memory_used();
        failing_malloc_arm(n, false);
        int rc = verify(VERSION, &again, &error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(sqlite3_memory_used(), before);
        failed += hit;
    }
    assert_true(failed > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_of_what_lmdb_reads_is_found),
        cmocka_unit_test(roots_of_parts_are_judged),
        cmocka_unit_test(more_pages_than_the_root_says_are_not_looked_at),
        cmocka_unit_test(the_list_of_free_pages_is_looked_at_up_to_its_64th_page),
        cmocka_unit_test(a_file_that_ends_before_the_main_database_is_refused),
        cmocka_unit_test(what_is_no_store_is_left_alone),
        cmocka_unit_test(a_version_that_is_not_there_is_asked_for_again),
        cmocka_unit_test(both_meta_pages_must_be_sound),
        cmocka_unit_test(memory_may_run_out),
    };
    failing_malloc_install();
    pt_format_write_header(header);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
