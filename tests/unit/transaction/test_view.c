#include "faults/faulty_engine.h"

#include "faults/failing_malloc.h"
#include "transaction/view.h"

enum { TABLE = 7 };

static pt_view *open_view(pt_store *store)
{
    pt_view *view = NULL;
    assert_ok(pt_view_open(store, &view, &error));
    return view;
}

static void put_pending(pt_view *view, const char *text, pt_operation operation, const char *record)
{
    test_key key = key_of(TABLE, text);
    size_t size = strlen(record);
    uint8_t *bytes = pt_memtable_put(view->memtable, key_slice(&key), operation, size);
    assert_non_null(bytes);
    memcpy(bytes, record, size);
}

/* `expected` NULL: the view shows no such key. */
static void assert_shown(pt_view *view, const char *text, const char *expected)
{
    test_key key = key_of(TABLE, text);
    bool found = expected == NULL;
    pt_slice record = {0};
    assert_ok(pt_view_get(view, key_slice(&key), &found, &record, &error));
    assert_int_equal(found, expected != NULL);
    if (expected != NULL) {
        assert_true(pt_slice_equal(record, pt_slice_text(expected)));
    }
}

static void pending_operations_lie_over_the_snapshot(void **state)
{
    (void)state;
    pt_store *store = open_faulty(NULL);
    store_text(store, TABLE, "changed", "old");
    store_text(store, TABLE, "deleted", "old");
    store_text(store, TABLE, "kept", "old");
    pt_view *view = open_view(store);
    assert_false(pt_view_has_pending(view));
    assert_shown(view, "changed", "old");
    view->memtable = pt_memtable_new();
    assert_false(pt_view_has_pending(view));
    put_pending(view, "changed", PT_MERGE, "new");
    put_pending(view, "deleted", PT_DELETE, "");
    put_pending(view, "inserted", PT_INSERT, "");
    assert_true(pt_view_has_pending(view));
    assert_shown(view, "changed", "new");
    assert_shown(view, "deleted", NULL);
    assert_shown(view, "inserted", "");
    assert_shown(view, "kept", "old");
    assert_shown(view, "absent", NULL);
    pt_memtable_discard(view->memtable, 0);
    assert_shown(view, "changed", "old");
    assert_shown(view, "deleted", "old");
    assert_shown(view, "inserted", NULL);
    pt_view_release(view);
    store->engine->close(store);
}

static void the_last_reference_frees(void **state)
{
    (void)state;
    pt_store *store = open_faulty(NULL);
    sqlite3_int64 before = sqlite3_memory_used();
    pt_view *view = open_view(store);
    view->memtable = pt_memtable_new();
    put_pending(view, "a", PT_INSERT, "record");
    assert_ptr_equal(pt_view_retain(view), view);
    pt_view_release(view);
    assert_shown(view, "a", "record");
    pt_view_release(view);
    assert_int_equal(sqlite3_memory_used(), before);
    pt_view_release(NULL);
    store->engine->close(store);
}

static void a_dropped_view_is_used_again_for_the_newest_version(void **state)
{
    (void)state;
    pt_store *store = open_faulty(NULL);
    pt_current_view current = {0};
    store_text(store, TABLE, "a", "1");
    assert_ok(pt_current_view_renew(&current, store, NULL, &error));
    pt_view *view = current.view;
    store_text(store, TABLE, "a", "2");
    assert_shown(view, "a", "1");
    pt_current_view_drop(&current);
    failing_malloc_arm(0, true);
    assert_ok(pt_current_view_renew(&current, store, NULL, &error));
    assert_false(failing_malloc_disarm());
    assert_ptr_equal(current.view, view);
    assert_shown(view, "a", "2");
    pt_current_view_drop(&current);
    fault_next(FAULTY_SNAPSHOT_BEGIN);
    assert_fails(pt_current_view_renew(&current, store, NULL, &error), FAULTY_RC, "fire");
    assert_null(current.view);
    assert_ok(pt_current_view_renew(&current, store, NULL, &error));
    assert_ptr_equal(current.view, view);
    assert_shown(view, "a", "2");
    pt_current_view_free(&current);
    store->engine->close(store);
}

static void failures_leave_nothing_behind(void **state)
{
    (void)state;
    pt_store *store = open_faulty(NULL);
    sqlite3_int64 before = sqlite3_memory_used();
    pt_view *view = NULL;
    fault_next(FAULTY_SNAPSHOT_NEW);
    assert_fails(pt_view_open(store, &view, &error), FAULTY_RC, "fire");
    fault_next(FAULTY_SNAPSHOT_BEGIN);
    assert_fails(pt_view_open(store, &view, &error), FAULTY_RC, "fire");
    assert_null(view);
    assert_int_equal(sqlite3_memory_used(), before);
    view = open_view(store);
    test_key key = key_of(TABLE, "a");
    bool found;
    pt_slice record;
    fault_next(FAULTY_GET);
    assert_fails(pt_view_get(view, key_slice(&key), &found, &record, &error), FAULTY_RC, "fire");
    pt_view_release(view);
    store->engine->close(store);
}

static int open_and_get(pt_store *store, pt_error *error)
{
    pt_view *view;
    int rc = pt_view_open(store, &view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    test_key low = key_of(TABLE, "a");
    test_key high = key_of(TABLE, "b");
    view->memtable = pt_memtable_new();
    if (view->memtable == NULL ||
        pt_memtable_put(view->memtable, key_slice(&high), PT_DELETE, 0) == NULL) {
        rc = pt_error_nomem(error);
    } else {
        bool found;
        pt_slice record;
        rc = pt_view_get(view, key_slice(&low), &found, &record, error);
    }
    pt_view_release(view);
    return rc;
}

static void out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    pt_store *store = open_faulty(NULL);
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, false);
        int rc = open_and_get(store, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(error.rc, rc);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n > 5);
            break;
        }
    }
    store->engine->close(store);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pending_operations_lie_over_the_snapshot),
        cmocka_unit_test(the_last_reference_frees),
        cmocka_unit_test(a_dropped_view_is_used_again_for_the_newest_version),
        cmocka_unit_test(failures_leave_nothing_behind),
        cmocka_unit_test(out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
