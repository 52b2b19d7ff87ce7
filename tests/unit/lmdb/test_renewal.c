/*
 * The commit without changes that follows others when the map is full, so that what they freed can
 * be used: it may fail.
 */
#include "faults/lmdb_faults.h"
#include "fixtures/store_fixture.h"

#include "fixtures/sealed.h"

/* Puts records until there is no room; the lock stays held. */
static void fill_map(pt_store *store)
{
    static char record[2000];
    memset(record, 'r', sizeof record - 1);
    lock_store(store);
    for (int i = 0;; i++) {
        char text[16];
        pt_error error = PT_ERROR_NONE;
        snprintf(text, sizeof text, "%06d", i);
        test_key key = key_of(1, text);
        pt_writer *writer = begin_write(store);
        int rc = engine->write_put(writer, key_slice(&key), pt_slice_text(record), &error);
        pt_error_clear(&error);
        if (rc != SQLITE_OK) {
            assert_int_equal(rc, SQLITE_FULL);
            engine->write_abort(writer);
            return;
        }
        commit_write(writer);
    }
}

/* Nothing depends on it at once: the next holder of the lock tries again. */
static void a_renewal_may_fail(void **state)
{
    (void)state;
    test_key dropped = garbage_key(1);
    pt_slice garbage = key_slice(&dropped);
    set_map_size("1M");
    pt_store *store = open_store(fixture_path);
    fill_map(store);
    lmdb_fail_at(LMDB_TXN_BEGIN, ENOMEM, 0, 1);
    engine->unlock(store);
    assert_true(lmdb_has_failed(1));
    lmdb_forget_faults();
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_ok(engine->write_put(writer, garbage, sealed(garbage, pt_slice_text("\1")), &error));
    commit_write(writer);
    lmdb_fail_at(LMDB_CURSOR_OPEN, ENOMEM, 0, 1);
    engine->unlock(store);
    assert_true(lmdb_has_failed(1));
    lmdb_forget_faults();
    lock_store(store); /* collects */
    writer = begin_write(store);
    bool collected = true;
    assert_ok(engine->write_collect(writer, &collected, &error));
    assert_false(collected);
    put_text(writer, 2, "a", "there is room");
    commit_write(writer);
    engine->unlock(store);
    engine->close(store);
    set_map_size(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(a_renewal_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
