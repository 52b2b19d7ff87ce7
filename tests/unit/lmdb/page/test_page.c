/*
 * LMDB's pages are read without trust: whatever is wrong with one is found and called by its name.
 */
#include "unit/lmdb/page/page_image.h"

#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/sqlite.h"
#include "lmdb/leaf.h"
#include "lmdb/page/page_file.h"

static int reads_before_failure = -1; /* -1: none fails */

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
    if (reads_before_failure == 0) {
        errno = EIO;
        return -1;
    }
    reads_before_failure -= reads_before_failure > 0;
    return syscall(SYS_pread64, fd, bytes, size, offset);
}

/* --- Pages --- */

static void damaged_pages_are_not_read(void **state)
{
    (void)state;
    static const page_damage damages[] = {
        {0, 8, 4, "is the wrong page"},
        {10, 2, OVERFLOW, "is neither a branch nor a leaf"},
        {10, 2, BRANCH | LEAF, "is neither a branch nor a leaf"},
        {12, 2, 16, "an impossible header"},
        {12, 2, 21, "an impossible header"},
        {12, 2, PAGE, "an impossible header"},
        {14, 2, PAGE + 2, "an impossible header"},
        {16, 2, 18, "an entry outside its bounds"},
        {16, 2, PAGE - 1, "an entry outside its bounds"},
        {16, 2, PAGE - 11, "an entry outside its bounds"},
        {16, 2, PAGE - 4, "an entry outside its bounds"},
        {PAGE - 12 + 6, 2, 0, "a key of an impossible size"},
        {PAGE - 12 + 6, 2, 512, "a key of an impossible size"},
        {PAGE - 12 + 4, 2, 3, "flags that no store has"},
        {PAGE - 12, 4, 400, "goes beyond its end"},
        {PAGE - 12, 4, UINT32_MAX, "goes beyond its end"},
        {18, 2, PAGE - 12, "entries that overlap"},
        {14, 2, PAGE - 60, "gaps between its entries"},
        {PAGE - 12 + 8, 1, 'y', "keys that are not in order"},
    };
    pt_lmdb_page page;
    put_tree();
    uint8_t *bytes = image + (size_t)3 * PAGE;
    assert_null(pt_lmdb_page_open(&page, bytes, PAGE, 3, pt_slice_compare));
    assert_int_equal(page.count, 3);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        put_tree();
        put((size_t)3 * PAGE + damages[i].at, damages[i].size, damages[i].number);
        expect_text(pt_lmdb_page_open(&page, bytes, PAGE, 3, pt_slice_compare), damages[i].words);
    }
}

static void keys_of_branches_and_lists_have_their_sizes(void **state)
{
    (void)state;
    static const image_entry nameless[] = {{KEY("a"), .number = 3}, {KEY(""), .number = 4}};
    static const image_entry list[] = {{KEY("\1\0\0\0\0\0\0\0"), .value = ""},
                                       {KEY("12"), .value = ""}};
    pt_lmdb_page page;
    uint8_t *bytes = image + (size_t)2 * PAGE;
    put_page(2, BRANCH, nameless, 2);
    expect_text(pt_lmdb_page_open(&page, bytes, PAGE, 2, pt_slice_compare),
                "a key of an impossible size");
    put_page(2, BRANCH, nameless, 1);
    assert_null(pt_lmdb_page_open(&page, bytes, PAGE, 2, pt_slice_compare));
    assert_int_equal(pt_lmdb_page_entry(&page, 0).key.size, 0);
    put((size_t)3 * PAGE - 10 + 6, 2, 512);
    expect_text(pt_lmdb_page_open(&page, bytes, PAGE, 2, pt_slice_compare),
                "a key of an impossible size");
    put_page(2, LEAF, list, 2);
    expect_text(pt_lmdb_page_open(&page, bytes, PAGE, 2, pt_lmdb_compare_numbers),
                "a key of an impossible size");
}

static void overflow_pages_are_recognised(void **state)
{
    (void)state;
    uint8_t *bytes = image + (size_t)5 * PAGE;
    put_tree();
    assert_null(pt_lmdb_overflow_judge(bytes, 5, 2));
    expect_text(pt_lmdb_overflow_judge(bytes, 6, 2), "is not the first page");
    expect_text(pt_lmdb_overflow_judge(bytes, 5, 3), "a different number of pages");
    bytes[10] = LEAF;
    expect_text(pt_lmdb_overflow_judge(bytes, 5, 2), "is not the first page");
}

/* --- Roots and lists --- */

static void roots_that_cannot_be_are_found(void **state)
{
    (void)state;
    static const struct {
        pt_lmdb_root root;
        const char *words;
    } roots[] = {
        {{.depth = 1, .leaf_pages = 1, .entries = 1, .page = PT_LMDB_NO_PAGE}, "contradict"},
        {{.entries = 1, .page = PT_LMDB_NO_PAGE}, "contradict"},
        {{.leaf_pages = 1, .page = PT_LMDB_NO_PAGE}, "contradict"},
        {{.leaf_pages = 1, .entries = 1, .page = 2}, "contradict"},
        {{.depth = 1, .leaf_pages = 1, .page = 2}, "contradict"},
        {{.depth = 1, .entries = 1, .page = 2}, "contradict"},
        {{.depth = 33, .leaf_pages = 1, .entries = 1, .page = 2}, "contradict"},
        {{.depth = 1, .leaf_pages = 1, .entries = 1, .page = 1}, "not one of the file's pages"},
        {{.depth = 1, .leaf_pages = 1, .entries = 1, .page = 8}, "not one of the file's pages"},
        {{.depth = 1, .leaf_pages = 8, .entries = 1, .page = 2}, "more pages than the file"},
        {{.depth = 1, .leaf_pages = 1, .branch_pages = 8, .entries = 1, .page = 2}, "more pages"},
        {{.depth = 1, .leaf_pages = 1, .overflow_pages = 8, .entries = 1, .page = 2}, "more pages"},
    };
    const pt_lmdb_root none = {.page = PT_LMDB_NO_PAGE};
    assert_null(pt_lmdb_root_judge(&none, LAST));
    assert_null(pt_lmdb_root_judge(&whole_root, LAST));
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        expect_text(pt_lmdb_root_judge(&roots[i].root, LAST), roots[i].words);
    }
}

static void lists_of_free_pages_that_cannot_be_are_found(void **state)
{
    (void)state;
    static const struct {
        uint64_t commit;
        unsigned flags;
        size_t size;
        uint64_t list[3];
        const char *words; /* NULL: nothing is wrong */
    } lists[] = {
        {9, 0, 24, {2, 7, 2}, NULL},
        {1, 0, 8, {0}, NULL},
        {0, 0, 24, {2, 7, 2}, "a commit that does not exist"},
        {10, 0, 24, {2, 7, 2}, "a commit that does not exist"},
        {9, PT_LMDB_ENTRY_ROOT, 24, {2, 7, 2}, "not a list"},
        {9, 0, 7, {0}, "not a list"},
        {9, 0, 24, {3, 7, 2}, "not a list"},
        {9, 0, 24, {2, 7, 7}, "out of range or out of order"},
        {9, 0, 24, {2, 8, 2}, "out of range or out of order"},
        {9, 0, 24, {2, 7, 1}, "out of range or out of order"},
    };
    const pt_lmdb_meta meta = {.last_page = LAST, .version = 9};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        uint8_t key[8];
        uint8_t value[24];
        pt_put_le64(key, lists[i].commit);
        for (size_t j = 0; j < 3; j++) {
            pt_put_le64(value + 8 * j, lists[i].list[j]);
        }
        const pt_lmdb_entry entry = {.key = pt_slice_of(key, sizeof key),
                                     .flags = (uint16_t)lists[i].flags,
                                     .value = pt_slice_of(value, lists[i].size)};
        const char *text = pt_lmdb_free_list_judge(&entry, &meta);
        if (lists[i].words == NULL) {
            assert_null(text);
        } else {
            expect_text(text, lists[i].words);
        }
    }
}

/* --- Meta pages --- */

static pt_lmdb_metas read_metas(size_t size, pt_lmdb_page_file *file)
{
    pt_error error = PT_ERROR_NONE;
    pt_lmdb_metas metas;
    *file = (pt_lmdb_page_file){.fd = open_image(size), .path = "file"};
    assert_int_equal(pt_lmdb_read_metas(file, &metas, &error), SQLITE_OK);
    close(file->fd);
    return metas;
}

static void meta_pages_that_cannot_be_are_found(void **state)
{
    (void)state;
    static const page_damage damages[] = {
        {16, 4, 0, "magic number"},
        {10, 2, LEAF, "header is that of another page"},
        {0, 8, 1, "header is that"},
        {20, 4, 2, "another version of LMDB"},
        {40, 4, 128, "an impossible page size"},
        {40, 4, 65536, "an impossible page size"},
        {40, 4, 768, "an impossible page size"},
        {44, 2, 0, "flags that no store has"},
        {44, 2, 0x4018, "flags that no store has"},
    };
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        pt_lmdb_page_file file;
        put_metas();
        put(damages[i].at, damages[i].size, damages[i].number);
        const pt_lmdb_metas metas = read_metas(sizeof image, &file);
        expect_text(metas.wrong[0], damages[i].words);
        assert_null(metas.wrong[1]);
        assert_ptr_equal(pt_lmdb_newest_meta(&metas), &metas.metas[1]);
        assert_int_equal(file.page_size, PAGE);
        assert_int_equal(file.pages, PAGES);
    }
}

static void the_second_meta_page_is_found_by_itself(void **state)
{
    (void)state;
    pt_lmdb_page_file file;
    put_metas();
    image[0] = 7;
    put(PAGE + 40, 4, 2 * PAGE);
    pt_lmdb_metas metas = read_metas(sizeof image, &file);
    assert_non_null(metas.wrong[0]);
    assert_non_null(metas.wrong[1]); /* it says that it lies elsewhere */
    assert_null(pt_lmdb_newest_meta(&metas));
    put_metas();
    put(PAGE + 40, 4, 2 * PAGE);
    metas = read_metas(sizeof image, &file);
    assert_null(metas.wrong[0]);
    expect_text(metas.wrong[1], "a different page size than page 0");
    assert_int_equal(file.page_size, PAGE);
    put_metas();
    metas = read_metas(PAGE + 100, &file);
    assert_null(metas.wrong[0]);
    expect_text(metas.wrong[1], "is missing");
}

static void what_meta_pages_say_is_judged(void **state)
{
    (void)state;
    pt_lmdb_page_file file;
    put_metas();
    pt_lmdb_metas metas = read_metas(sizeof image, &file);
    pt_lmdb_meta meta = metas.metas[1];
    assert_null(pt_lmdb_meta_judge(&meta, 1, PAGES));
    expect_text(pt_lmdb_meta_judge(&meta, 0, PAGES), "belongs on the other meta page");
    meta.last_page = 0;
    expect_text(pt_lmdb_meta_judge(&meta, 1, PAGES), "more pages than the file has");
    meta.last_page = 1 << 20;
    expect_text(pt_lmdb_meta_judge(&meta, 1, PAGES), "more pages than the file has");
    meta.last_page = LAST;
    meta.free.depth = 1;
    expect_text(pt_lmdb_meta_judge(&meta, 1, PAGES), "contradict");
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    pt_lmdb_metas metas;
    pt_lmdb_page_file file = {.fd = -1, .path = "file"};
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_lmdb_read_metas(&file, &metas, &error), SQLITE_IOERR_READ);
    expect_text(error.message, "check the disk");
    put_metas();
    image[0] = 7; /* so that the other one is looked for */
    for (int reads = 0; reads < 3; reads++) {
        file.fd = open_image(sizeof image);
        reads_before_failure = reads;
        assert_int_equal(pt_lmdb_read_metas(&file, &metas, &error), SQLITE_IOERR_READ);
        reads_before_failure = -1;
        close(file.fd);
    }
    pt_error_clear(&error);
}

/* --- Values in LMDB's map --- */

static void overflow_pages_must_be_the_stores(void **state)
{
    (void)state;
    static _Alignas(PAGE) uint8_t map[4 * PAGE];
    char path[] = "/tmp/ptable-page-XXXXXX";
    char lock[sizeof path + 8];
    pt_lmdb_env env = {.page_size = PAGE};
    MDB_val value = {.mv_data = map + PT_LMDB_PAGE_HEADER, .mv_size = PAGE};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(lock, sizeof lock, "%s-lock", path);
    assert_int_equal(mdb_env_create(&env.env), 0);
    assert_int_equal(mdb_env_open(env.env, path, MDB_NOSUBDIR, 0600), 0); /* its last page is 1 */
    map[10] = OVERFLOW;
    map[12] = 2;
    assert_true(pt_lmdb_is_on_overflow_pages(&env, &value));
    map[0] = 1;
    assert_false(pt_lmdb_is_on_overflow_pages(&env, &value)); /* the second one is not there */
    map[0] = 2;
    assert_false(pt_lmdb_is_on_overflow_pages(&env, &value));
    map[0] = 0;
    map[10] = LEAF;
    assert_false(pt_lmdb_is_on_overflow_pages(&env, &value));
    value.mv_data = map + PT_LMDB_PAGE_HEADER + 2;
    assert_false(pt_lmdb_is_on_overflow_pages(&env, &value));
    mdb_env_close(env.env);
    unlink(lock);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_pages_are_not_read),
        cmocka_unit_test(keys_of_branches_and_lists_have_their_sizes),
        cmocka_unit_test(overflow_pages_are_recognised),
        cmocka_unit_test(roots_that_cannot_be_are_found),
        cmocka_unit_test(lists_of_free_pages_that_cannot_be_are_found),
        cmocka_unit_test(meta_pages_that_cannot_be_are_found),
        cmocka_unit_test(the_second_meta_page_is_found_by_itself),
        cmocka_unit_test(what_meta_pages_say_is_judged),
        cmocka_unit_test(a_file_that_cannot_be_read_is_an_error),
        cmocka_unit_test(overflow_pages_must_be_the_stores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
