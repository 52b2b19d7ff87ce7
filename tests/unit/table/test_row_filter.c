/*
 * Filters of rows: out of memory in any part of taking a text, which can then be taken again. (What
 * they find: the SQL scripts and test_filter_keys.c.)
 */
#include "fixtures/value_fixture.h"

#include "faults/failing_malloc.h"
#include "table/row_filter.h"

static const pt_config config;

enum { CHUNK = 4096 }; /* the first one of an arena */

/* Compared with a name of so many letters, and with a key whose successor must be made. */
static sqlite3_value *filter_with_name(int size)
{
    char *expression = sqlite3_mprintf(
        "replace(hex(zeroblob(%d)), '0', 'a') || 'a eq 1 and PartitionKey gt ''b'''", size / 2);
    sqlite3_value *text = value_of(expression);
    sqlite3_free(expression);
    return text;
}

/* The longer the name, the sooner the arena needs its second chunk. */
static void texts_may_run_out_of_memory(void **state)
{
    (void)state;
    int failed[3] = {0};
    for (int size = 8; size <= CHUNK; size += 8) {
        sqlite3_value *text = filter_with_name(size);
        for (int n = 0; n < 3; n++) {
            pt_row_filter filter = {0};
            pt_error error = PT_ERROR_NONE;
            failing_malloc_arm(n, false);
            int rc = pt_row_filter_set(&filter, &config, text, &error);
            bool hit = failing_malloc_disarm();
            assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
            assert_int_equal(error.rc, rc);
            failed[n] += hit;
            pt_error_clear(&error);
            assert_int_equal(pt_row_filter_set(&filter, &config, text, &error), SQLITE_OK);
            assert_true(pt_row_filter_bounds_partitions(&filter));
            pt_row_filter_free(&filter);
        }
        sqlite3_value_free(text);
    }
    assert_int_equal(failed[0], CHUNK / 8);
    assert_int_equal(failed[1], CHUNK / 8);
    assert_in_range(failed[2], 1, CHUNK / 8 - 1);
}

/* Neither the name of a column nor one that no column has in any case is refused. */
static void a_name_in_the_wrong_case_is_refused(void **state)
{
    (void)state;
    static char name[] = "Age";
    pt_column column = {.name = name, .name_size = 3, .type = PT_INT32};
    const pt_config with_age = {.columns = &column, .column_count = 1};
    sqlite3_value *right = value_of("'Age gt 1 and ag gt 1 and Ages gt 1 and partition gt 1'");
    sqlite3_value *wrong = value_of("'Age gt 1 or (1 lt aGe)'");
    pt_row_filter filter = {0};
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_row_filter_set(&filter, &config, wrong, &error), SQLITE_OK);
    assert_int_equal(pt_row_filter_set(&filter, &with_age, right, &error), SQLITE_OK);
    bool hit = true;
    for (int n = 0; hit; n++) {
        failing_malloc_arm(n, false);
        int rc = pt_row_filter_set(&filter, &with_age, wrong, &error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_ERROR);
    }
    assert_string_equal(error.message, "Filter: no property 'aGe'; did you mean Age (upper and "
                                       "lower case differ)? (InvalidInput)");
    /* The filter does not remember the refused text as parsed: it refuses it again. */
    pt_error_clear(&error);
    assert_int_equal(pt_row_filter_set(&filter, &with_age, wrong, &error), SQLITE_ERROR);
    pt_error_clear(&error);
    pt_row_filter_free(&filter);
    sqlite3_value_free(right);
    sqlite3_value_free(wrong);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_may_run_out_of_memory),
        cmocka_unit_test(a_name_in_the_wrong_case_is_refused),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
