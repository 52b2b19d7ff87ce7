/*
 * Walks through LMDB's trees pass over what is damaged, say what it is, and show all the rest.
 */
#include "unit/lmdb/page/page_image.h"

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "lmdb/page/verify_on_open.h"
#include "lmdb/page/walk.h"

typedef struct tally {
    int problems;
    uint64_t page;
    const char *what;
    uint64_t refused; /* a page that is taken for one met before */
} tally;

static int note_problem(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                        pt_slice low, pt_slice high)
{
    tally *self = context;
    (void)walk;
    (void)low;
    (void)high;
    self->problems++;
    self->page = page;
    self->what = what;
    return SQLITE_OK;
}

static bool claim_others(void *context, uint64_t first, uint64_t count)
{
    const tally *self = context;
    return self->refused < first || self->refused >= first + count;
}

/* Walks through the image; the number of entries. */
static int walk_image(const pt_lmdb_root *root, pt_lmdb_order order, size_t size, tally *sum)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    bool found = true;
    int entries = 0;
    pt_error error = PT_ERROR_NONE;
    const pt_lmdb_page_file file = {.fd = open_image(size),
                                    .path = "file",
                                    .page_size = PAGE,
                                    .last_page = LAST,
                                    .pages = size / PAGE};
    const pt_lmdb_walk_listener listener = {
        .context = sum, .claim = claim_others, .problem = note_problem};
    pt_lmdb_walk_begin(&walk, &file, "tree", root, order, &listener);
    while (found) {
        assert_int_equal(pt_lmdb_walk_next(&walk, &entry, &found, &error), SQLITE_OK);
        entries += found ? 1 : 0;
    }
    assert_int_equal(walk.problems, sum->problems);
    pt_lmdb_walk_end(&walk);
    close(file.fd);
    return entries;
}

/* What is damaged in the tree, where, and how much of it can still be read. */
static void expect_walk(uint64_t page, const char *words, int entries)
{
    tally sum = {0};
    assert_int_equal(walk_image(&whole_root, pt_slice_compare, sizeof image, &sum), entries);
    assert_int_equal(sum.problems, words != NULL ? 1 : 0);
    assert_int_equal(sum.page, page);
    if (words != NULL) {
        expect_text(sum.what, words);
    }
}

static void walks_pass_over_what_is_damaged(void **state)
{
    (void)state;
    static const image_entry leaf[] = {{KEY("a"), .value = "x"}};
    static const image_entry lonely[] = {{KEY(""), .number = 3}};
    static const image_entry low[] = {{KEY("l"), .value = "x"}};
    static const image_entry high[] = {{KEY("m"), .value = "x"}};
    put_tree();
    expect_walk(0, NULL, 5);
    put(PAGE * 3 - 8, 4, LAST + 1);
    expect_walk(LAST + 1, "is not one of the file's pages", 2);
    put(PAGE * 3 - 8, 4, 1);
    expect_walk(1, "is not one of the file's pages", 2);
    put_tree();
    put((size_t)3 * PAGE - 18, 4, 3); /* the left one once more */
    expect_walk(3, "keys that belong on another page", 3);
    put_tree();
    put_page(2, LEAF, leaf, 1);
    expect_walk(2, "too high or too deep", 0);
    put_page(2, BRANCH, lonely, 1);
    expect_walk(2, "only one child", 0);
    put_tree();
    put_page(4, LEAF, low, 1);
    expect_walk(4, "keys that belong on another page", 3);
    put_tree();
    put_page(3, LEAF, high, 1);
    expect_walk(3, "keys that belong on another page", 2);
}

static void values_on_overflow_pages_are_judged(void **state)
{
    (void)state;
    const size_t value = (size_t)4 * PAGE - 30; /* of the entry "b" */
    put_tree();
    put(value + 9, 8, LAST);
    expect_walk(LAST, "begins a long value", 4);
    put(value + 9, 8, 1);
    expect_walk(1, "begins a long value", 4);
    put(value + 9, 8, UINT64_MAX);
    expect_walk(UINT64_MAX, "begins a long value", 4);
    put_tree();
    put(value, 4, 2 * PAGE);
    expect_walk(5, "a different number of pages", 4);
    put(value, 4, 20 * PAGE);
    expect_walk(5, "begins a long value", 4);
    put_tree();
    tally sum = {.refused = 5};
    assert_int_equal(walk_image(&whole_root, pt_slice_compare, sizeof image, &sum), 4);
    expect_text(sum.what, "also in use elsewhere");
    sum = (tally){.refused = 4};
    assert_int_equal(walk_image(&whole_root, pt_slice_compare, sizeof image, &sum), 3);
    expect_text(sum.what, "also in use elsewhere");
    sum = (tally){0};
    assert_int_equal(walk_image(&whole_root, pt_slice_compare, (size_t)6 * PAGE, &sum), 4);
    expect_text(sum.what, "is missing: the file ends before it");
    sum = (tally){0};
    assert_int_equal(walk_image(&whole_root, pt_slice_compare, (size_t)4 * PAGE, &sum), 2);
    assert_int_equal(sum.problems, 2);
}

static void begin_walk(pt_lmdb_walk *walk, pt_lmdb_page_file *file, tally *sum)
{
    const pt_lmdb_walk_listener listener = {.context = sum, .problem = note_problem};
    *file = (pt_lmdb_page_file){.fd = open_image(sizeof image),
                                .path = "file",
                                .page_size = PAGE,
                                .last_page = LAST,
                                .pages = PAGES};
    pt_lmdb_walk_begin(walk, file, "tree", &whole_root, pt_slice_compare, &listener);
}

static void values_may_be_skipped(void **state)
{
    (void)state;
    pt_lmdb_walk walk;
    pt_lmdb_page_file file;
    pt_lmdb_entry entry;
    bool found;
    pt_error error = PT_ERROR_NONE;
    tally sum = {0};
    put_tree();
    memset(image + (size_t)5 * PAGE, 0xFF, PAGE); /* they are not looked at */
    begin_walk(&walk, &file, &sum);
    walk.skips_values = true;
    assert_int_equal(pt_lmdb_walk_seek(&walk, pt_slice_text("b"), &error), SQLITE_OK);
    assert_int_equal(pt_lmdb_walk_next(&walk, &entry, &found, &error), SQLITE_OK);
    assert_true(found && pt_slice_equal(entry.key, pt_slice_text("b")));
    assert_int_equal(entry.value_size, PAGE);
    assert_int_equal(sum.problems, 0);
    pt_lmdb_walk_end(&walk);
    close(file.fd);
}

/* LMDB leaves branches of one child in the list of free pages. */
static void a_list_may_have_one_child(void **state)
{
    (void)state;
    static const image_entry branch[] = {{KEY(""), .number = 3}};
    static const image_entry leaf[] = {{KEY("\1\0\0\0\0\0\0\0"), .value = "list"}};
    const pt_lmdb_root root = {.depth = 2, .page = 2};
    tally sum = {0};
    put_tree();
    put_page(2, BRANCH, branch, 1);
    put_page(3, LEAF, leaf, 1);
    assert_int_equal(walk_image(&root, pt_lmdb_compare_numbers, sizeof image, &sum), 1);
    assert_int_equal(sum.problems, 0);
}

static void seeking_ends_before_what_is_damaged(void **state)
{
    (void)state;
    pt_lmdb_walk walk;
    pt_lmdb_page_file file;
    pt_lmdb_entry entry;
    bool found;
    pt_error error = PT_ERROR_NONE;
    tally sum = {0};
    put_tree();
    begin_walk(&walk, &file, &sum);
    assert_int_equal(pt_lmdb_walk_seek(&walk, pt_slice_text("c"), &error), SQLITE_OK);
    assert_int_equal(pt_lmdb_walk_next(&walk, &entry, &found, &error), SQLITE_OK);
    assert_true(found && pt_slice_equal(entry.value, pt_slice_text("two")));
    assert_int_equal(pt_lmdb_walk_seek_last(&walk, &error), SQLITE_OK);
    assert_int_equal(pt_lmdb_walk_next(&walk, &entry, &found, &error), SQLITE_OK);
    assert_true(found && pt_slice_equal(entry.value, pt_slice_text("four")));
    pt_lmdb_walk_end(&walk);
    close(file.fd);
    put((size_t)4 * PAGE, 8, 5);
    begin_walk(&walk, &file, &sum);
    assert_int_equal(pt_lmdb_walk_seek(&walk, pt_slice_text("z"), &error), SQLITE_OK);
    assert_int_equal(pt_lmdb_walk_seek_last(&walk, &error), SQLITE_OK);
    assert_int_equal(sum.problems, 2);
    assert_int_equal(sum.page, 4);
    pt_lmdb_walk_end(&walk);
    close(file.fd);
}

static void a_walk_needs_memory_and_a_file(void **state)
{
    (void)state;
    pt_lmdb_walk walk;
    pt_lmdb_page_file file;
    pt_lmdb_entry entry;
    bool found = true;
    tally sum = {0};
    put_tree();
    for (int n = 0; n < 3; n++) { /* two pages, then the value */
        pt_error error = PT_ERROR_NONE;
        int rc = SQLITE_OK;
        begin_walk(&walk, &file, &sum);
        failing_malloc_arm(n, false);
        while (rc == SQLITE_OK && found) {
            rc = pt_lmdb_walk_next(&walk, &entry, &found, &error);
        }
        assert_true(failing_malloc_disarm());
        assert_int_equal(rc, SQLITE_NOMEM);
        pt_lmdb_walk_end(&walk);
        close(file.fd);
        found = true;
    }
    pt_error error = PT_ERROR_NONE;
    begin_walk(&walk, &file, &sum);
    assert_int_equal(pt_lmdb_walk_next(&walk, &entry, &found, &error), SQLITE_OK);
    close(file.fd);
    assert_int_equal(pt_lmdb_walk_next(&walk, &entry, &found, &error), SQLITE_IOERR_READ);
    assert_int_equal(pt_lmdb_walk_seek(&walk, pt_slice_text("z"), &error), SQLITE_IOERR_READ);
    assert_int_equal(pt_lmdb_walk_seek_last(&walk, &error), SQLITE_IOERR_READ);
    pt_error_clear(&error);
    pt_lmdb_walk_end(&walk);
}

static void roots_are_compared_with_what_was_met(void **state)
{
    (void)state;
    pt_lmdb_walk walk = {.root = whole_root};
    expect_text(pt_lmdb_walk_judge(&walk), "a different number of entries");
    walk.entries = whole_root.entries;
    expect_text(pt_lmdb_walk_judge(&walk), "a different number of pages");
    walk.branch_pages = whole_root.branch_pages;
    expect_text(pt_lmdb_walk_judge(&walk), "a different number of pages");
    walk.leaf_pages = whole_root.leaf_pages;
    expect_text(pt_lmdb_walk_judge(&walk), "a different number of pages");
    walk.overflow_pages = whole_root.overflow_pages;
    assert_null(pt_lmdb_walk_judge(&walk));
}

/* --- Pages that a file lacks at its end --- */

/* The list of free pages of the version that page 1 shows, in a file of so many pages. */
static bool tail_is_free(size_t size)
{
    bool is_free = true;
    pt_error error = PT_ERROR_NONE;
    int fd = open_image(size);
    assert_int_equal(pt_lmdb_missing_pages_are_free(fd, "file", &is_free, &error), SQLITE_OK);
    close(fd);
    return is_free;
}

static void missing_pages_must_all_be_in_the_list(void **state)
{
    (void)state;
    put_list();
    assert_true(tail_is_free(sizeof image));
    assert_true(tail_is_free((size_t)6 * PAGE));
    assert_false(tail_is_free((size_t)5 * PAGE));
    put((size_t)3 * PAGE - 32 - 8, 8, 0); /* another size of the entry */
    assert_false(tail_is_free((size_t)6 * PAGE));
    put_list();
    put((size_t)3 * PAGE - 16, 8, 1); /* a page that cannot be there */
    assert_false(tail_is_free((size_t)6 * PAGE));
    put_list();
    put(PAGE + 46, 2, 33); /* a root that cannot be */
    assert_false(tail_is_free((size_t)6 * PAGE));
    assert_true(tail_is_free(sizeof image));
}

static void a_file_that_cannot_be_read_is_no_answer(void **state)
{
    (void)state;
    bool is_free = true;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_lmdb_missing_pages_are_free(-1, "file", &is_free, &error),
                     SQLITE_IOERR_READ);
    assert_false(is_free);
    pt_error_clear(&error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_pass_over_what_is_damaged),
        cmocka_unit_test(values_on_overflow_pages_are_judged),
        cmocka_unit_test(values_may_be_skipped),
        cmocka_unit_test(a_list_may_have_one_child),
        cmocka_unit_test(seeking_ends_before_what_is_damaged),
        cmocka_unit_test(a_walk_needs_memory_and_a_file),
        cmocka_unit_test(roots_are_compared_with_what_was_met),
        cmocka_unit_test(missing_pages_must_all_be_in_the_list),
        cmocka_unit_test(a_file_that_cannot_be_read_is_no_answer),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
