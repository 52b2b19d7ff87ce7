#include "unit/transaction/one_session.h"

#include "entity/key.h"
#include "transaction/table_directory.h"

static void add(pt_table_names *names, int64_t id, const char *name)
{
    assert_true(pt_table_names_add(names, id, pt_slice_text(name)));
}

static void assert_name(pt_table_names *names, int64_t id, const char *expected)
{
    const char *name = pt_table_names_find(names, id);
    if (expected == NULL) {
        assert_null(name);
    } else {
        assert_string_equal(name, expected);
    }
}

static void an_empty_list_has_no_names(void **state)
{
    (void)state;
    pt_table_names names = {0};
    assert_name(&names, 1, NULL);
    add(&names, 1, "a");
    pt_table_names_clear(&names);
    assert_name(&names, 1, NULL);
    pt_table_names_free(&names);
    assert_name(&names, 1, NULL);
}

static void names_are_found_in_whatever_order_they_came(void **state)
{
    (void)state;
    enum { IDS = 101 };
    static const char *const texts[] = {"", "a", "Logins", "some longer name"};
    pt_table_names names = {0};
    for (unsigned i = 0; i < IDS; i++) {
        unsigned id = i * 37 % IDS;
        add(&names, (int64_t)id << 32 | 7, texts[id % 4]);
        assert_name(&names, (int64_t)id << 32 | 7, texts[id % 4]);
        assert_name(&names, (int64_t)id << 32 | 8, NULL);
    }
    for (unsigned id = 0; id < IDS; id++) {
        assert_name(&names, (int64_t)id << 32 | 7, texts[id % 4]);
    }
    assert_name(&names, -1, NULL);
    assert_name(&names, INT64_MAX, NULL);
    pt_table_names_free(&names);
}

static void the_name_added_last_counts(void **state)
{
    (void)state;
    pt_table_names names = {0};
    add(&names, 5, "z");
    add(&names, 6, "y");
    add(&names, 5, "b");
    assert_name(&names, 5, "b");
    add(&names, 5, "m");
    assert_name(&names, 5, "m");
    assert_name(&names, 6, "y");
    pt_table_names_free(&names);
}

static int fill(pt_table_names *names, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_names_add_all(names, view, error);
    }
    return rc;
}

/* Those of the snapshot and those of the transaction. */
static void all_tables_of_a_view_are_added(void **state)
{
    (void)state;
    pt_table_names names = {0};
    begin(session);
    assert_ok(fill(&names, &error));
    assert_int_equal(names.count, 0);
    assert_ok(pt_table_directory_add(session, "Zoo", PT_TABLE_OF_ENTITIES, &error));
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    assert_ok(pt_table_directory_add(session, "apes", PT_TABLE_OF_ENTITIES, &error));
    assert_ok(fill(&names, &error));
    assert_int_equal(names.count, 2);
    for (unsigned i = 0; i < 2; i++) {
        int64_t id = names.names[i].id;
        assert_true(id > 0 && id < PT_TABLE_ID_LIMIT);
    }
    pt_table_names_find(&names, 0);
    assert_name(&names, names.names[0].id, "Zoo");
    assert_name(&names, names.names[1].id, "apes");
    pt_session_rollback(session);
    pt_table_names_free(&names);
}

static void a_damaged_entry_is_reported(void **state)
{
    (void)state;
    pt_table_names names = {0};
    store_text(pt_session_store(session), 0, "logins", "\1\7");
    assert_fails(fill(&names, &error), SQLITE_CORRUPT_VTAB, "'logins'");
    pt_session_end_read(session);
    pt_table_names_free(&names);
}

static void out_of_memory_is_told(void **state)
{
    (void)state;
    begin(session);
    assert_ok(pt_table_directory_add(session, "Logins", PT_TABLE_OF_ENTITIES, &error));
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        pt_table_names names = {0};
        failing_malloc_arm(n, false);
        int rc = fill(&names, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        pt_error_clear(&error);
        pt_table_names_free(&names);
        if (!hit) {
            assert_true(n >= 2);
            break;
        }
    }
    pt_session_rollback(session);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(an_empty_list_has_no_names),  TEST(names_are_found_in_whatever_order_they_came),
        TEST(the_name_added_last_counts),  TEST(all_tables_of_a_view_are_added),
        TEST(a_damaged_entry_is_reported), TEST(out_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
