/*
 * Large values as chunks: their layout, reading them from where they are, and what happens when
 * chunks are damaged, missing, rolled back or cannot be written.
 */
#include "unit/transaction/one_session.h"

#include "base/xxhash.h"
#include "transaction/large_value.h"

enum { TICKS = 12345 };

/* Bytes of which no two chunks are the same. */
static uint8_t *make_bytes(size_t size)
{
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i % 251 + i / 2000);
    }
    return bytes;
}

static test_key chunk_key(int64_t ticks, uint16_t ordinal, uint32_t number)
{
    test_key key = {.bytes = {0xFF, 7}, .size = 16};
    pt_put_be32(key.bytes + 2, (uint32_t)(ticks >> 32));
    pt_put_be32(key.bytes + 6, (uint32_t)ticks);
    key.bytes[10] = (uint8_t)(ordinal >> 8);
    key.bytes[11] = (uint8_t)ordinal;
    pt_put_be32(key.bytes + 12, number);
    return key;
}

static pt_value put_value(pt_type type, const uint8_t *bytes, size_t size, int64_t ticks,
                          uint16_t ordinal)
{
    pt_value value = {.type = type, .bytes = pt_slice_of(bytes, size)};
    assert_ok(pt_large_put(session, SESSION_TABLE, ticks, ordinal, &value, &error));
    assert_int_equal(value.type, type == PT_STRING ? PT_LARGE_STRING : PT_LARGE_BINARY);
    assert_int_equal(value.large.size, size);
    assert_int_equal(value.large.ticks, ticks);
    assert_int_equal(value.large.ordinal, ordinal);
    return value;
}

/* A value that is committed. */
static pt_value store_value(const uint8_t *bytes, size_t size)
{
    begin(session);
    pt_value value = put_value(PT_STRING, bytes, size, next_timestamp(session), 0);
    sync_now(session);
    pt_session_commit(session);
    return value;
}

static void commit_removal(const pt_value *value)
{
    begin(session);
    assert_ok(pt_large_remove(session, SESSION_TABLE, &value->large, &error));
    sync_now(session);
    pt_session_commit(session);
}

static int read_value(pt_value *value, pt_buffer *bytes, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_large_read(view, SESSION_TABLE, value, bytes, error);
    }
    pt_session_end_read(session);
    return rc;
}

static void assert_value_reads(pt_value value, const uint8_t *expected, size_t size)
{
    pt_buffer bytes = {0};
    pt_type type = value.type == PT_LARGE_STRING ? PT_STRING : PT_BINARY;
    assert_ok(read_value(&value, &bytes, &error));
    assert_int_equal(value.type, type);
    assert_int_equal(value.bytes.size, size);
    assert_ptr_equal(value.bytes.data, bytes.data);
    assert_memory_equal(value.bytes.data, expected, size);
    assert_int_equal(bytes.data[size], 0);
    pt_buffer_free(&bytes);
}

static int64_t chunk_count(void)
{
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    pt_table_counts counts;
    assert_ok(engine->counts(snapshot, SESSION_TABLE, &counts, &error));
    assert_int_equal(counts.entities, 0);
    engine->snapshot_free(snapshot);
    return counts.chunks;
}

/* --- What is large --- */

static void long_values_are_large(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint64_t inline_bytes;
        bool large;
    } cases[] = {
        {0, 0, false},       {2000, 2000, false},    {2001, 0, true},      {256, 16385, false},
        {257, 16385, true},  {257, 16384, false},    {2000, 16384, false}, {2000, 16385, true},
        {100000, 100, true}, {1, UINT64_MAX, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int type = PT_NONE; type <= PT_STORED_TYPE_LAST; type++) {
            pt_value value = {.type = (pt_type)type, .bytes = pt_slice_of(NULL, cases[i].size)};
            bool varies = type == PT_STRING || type == PT_BINARY;
            assert_int_equal(pt_large_is_needed(&value, cases[i].inline_bytes),
                             varies && cases[i].large);
        }
    }
}

/* --- Layout --- */

static void chunks_are_laid_out_as_documented(void **state)
{
    (void)state;
    const int64_t ticks = INT64_C(0x0102030405060708);
    uint8_t *bytes = make_bytes(4500);
    begin(session);
    put_value(PT_BINARY, bytes, 4500, ticks, 0x1234);
    sync_now(session);
    pt_session_commit(session);
    pt_snapshot *snapshot = begin_snapshot(pt_session_store(session));
    for (uint32_t i = 0; i < 3; i++) {
        size_t size = i < 2 ? 2000 : 500;
        test_key key = chunk_key(ticks, 0x1234, i);
        bool found = false;
        pt_slice record = {0};
        assert_ok(engine->get(snapshot, key_slice(&key), &found, &record, &error));
        assert_true(found);
        assert_int_equal(record.size, 4 + size);
        assert_memory_equal(record.data + 4, bytes + 2000 * i, size);
        uint64_t hash =
            XXH3_64bits_withSeed(bytes + 2000 * i, size, XXH3_64bits(key.bytes, key.size));
        assert_int_equal(pt_get_le32(record.data), (uint32_t)hash);
    }
    engine->snapshot_free(snapshot);
    assert_int_equal(chunk_count(), 3);
    free(bytes);
}

static void values_of_all_sizes_read_back(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        int64_t chunks;
    } sizes[] = {{1, 1},    {257, 1},  {1999, 1}, {2000, 1},       {2001, 2},
                 {3999, 2}, {4000, 2}, {4001, 3}, {10000000, 5000}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *bytes = make_bytes(sizes[i].size);
        pt_value value = store_value(bytes, sizes[i].size);
        assert_int_equal(chunk_count(), sizes[i].chunks);
        assert_value_reads(value, bytes, sizes[i].size);
        commit_removal(&value);
        assert_int_equal(chunk_count(), 0);
        free(bytes);
    }
}

static void other_values_stay_as_they_are(void **state)
{
    (void)state;
    pt_value value = {.type = PT_INT32, .integer = 7};
    pt_buffer bytes = {0};
    assert_ok(read_value(&value, &bytes, &error));
    assert_int_equal(value.integer, 7);
    value = (pt_value){.type = PT_STRING, .bytes = pt_slice_text("text")};
    assert_ok(read_value(&value, &bytes, &error));
    assert_true(pt_slice_equal(value.bytes, pt_slice_text("text")));
    assert_null(bytes.data);
}

static void a_buffer_is_used_again(void **state)
{
    (void)state;
    uint8_t *content = make_bytes(9000);
    pt_value large = store_value(content, 9000);
    pt_value small = store_value(content, 3000);
    pt_buffer bytes = {0};
    const pt_value order[] = {small, large, small};
    for (size_t i = 0; i < 3; i++) {
        pt_value value = order[i];
        assert_ok(read_value(&value, &bytes, &error));
        assert_int_equal(value.bytes.size, i == 1 ? 9000 : 3000);
        assert_memory_equal(value.bytes.data, content, value.bytes.size);
    }
    pt_buffer_free(&bytes);
    free(content);
}

/* --- Inside a transaction --- */

/* A row that was read before still points to what the transaction has deleted since. */
static void deleted_chunks_can_still_be_read(void **state)
{
    (void)state;
    uint8_t *bytes = make_bytes(5000);
    pt_value old = store_value(bytes, 5000);
    begin(session);
    pt_value pending = put_value(PT_STRING, bytes, 4500, next_timestamp(session), 1);
    assert_value_reads(pending, bytes, 4500);
    size_t row = pt_session_begin_row(session);
    assert_ok(pt_large_remove(session, SESSION_TABLE, &old.large, &error));
    assert_ok(pt_large_remove(session, SESSION_TABLE, &pending.large, &error));
    pt_session_end_row(session);
    assert_true(row > 0);
    assert_value_reads(old, bytes, 5000);
    assert_value_reads(pending, bytes, 4500);
    sync_now(session);
    pt_session_commit(session);
    assert_int_equal(chunk_count(), 0);
    free(bytes);
}

static void chunks_that_were_rolled_back_are_no_damage(void **state)
{
    (void)state;
    uint8_t *bytes = make_bytes(5000);
    pt_value old = store_value(bytes, 5000);
    begin(session);
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    pt_value pending = put_value(PT_STRING, bytes, 4500, next_timestamp(session), 0);
    assert_ok(pt_large_remove(session, SESSION_TABLE, &old.large, &error));
    pt_session_rollback_to(session, 0);
    assert_value_reads(old, bytes, 5000);
    pt_buffer buffer = {0};
    assert_fails(read_value(&pending, &buffer, &error), SQLITE_ABORT_ROLLBACK, "rolled back");
    pt_buffer_free(&buffer);
    assert_int_equal(pending.type, PT_LARGE_STRING);
    sync_now(session);
    pt_session_commit(session);
    assert_int_equal(chunk_count(), 3);
    free(bytes);
}

static void a_commit_that_is_undone_leaves_no_chunk(void **state)
{
    (void)state;
    uint8_t *bytes = make_bytes(5000);
    pt_value old = store_value(bytes, 5000);
    begin(session);
    put_value(PT_STRING, bytes, 4500, next_timestamp(session), 0);
    assert_ok(pt_large_remove(session, SESSION_TABLE, &old.large, &error));
    sync_now(session);
    pt_session_rollback(session);
    assert_int_equal(chunk_count(), 3);
    assert_value_reads(old, bytes, 5000);
    free(bytes);
}

static void tables_without_large_values_are_known(void **state)
{
    (void)state;
    bool possible = true;
    begin(session);
    assert_ok(pt_large_values_possible(session, SESSION_TABLE, &possible, &error));
    assert_false(possible);
    write_text(session, "a", "an entity");
    assert_ok(pt_large_values_possible(session, SESSION_TABLE, &possible, &error));
    assert_false(possible);
    uint8_t *bytes = make_bytes(2500);
    put_value(PT_STRING, bytes, 2500, next_timestamp(session), 0);
    assert_ok(pt_large_values_possible(session, SESSION_TABLE, &possible, &error));
    assert_true(possible);
    sync_now(session);
    pt_session_commit(session);
    begin(session);
    for (uint32_t table = 1; table < 40; table++) {
        assert_ok(pt_large_values_possible(session, table, &possible, &error));
        assert_int_equal(possible, table == SESSION_TABLE);
    }
    pt_session_rollback(session);
    free(bytes);
}

/* --- Damage --- */

static void assert_damaged(pt_value value)
{
    pt_buffer bytes = {0};
    pt_error error = PT_ERROR_NONE;
    pt_type type = value.type;
    assert_int_equal(read_value(&value, &bytes, &error), SQLITE_CORRUPT_VTAB);
    assert_null(error.message);
    assert_int_equal(value.type, type);
    pt_buffer_free(&bytes);
}

static void assert_start_is_damaged(pt_value value)
{
    pt_view *view = NULL;
    pt_error error = PT_ERROR_NONE;
    pt_type type = value.type;
    assert_int_equal(pt_session_read(session, &view, &error), SQLITE_OK);
    assert_int_equal(pt_large_read_start(view, SESSION_TABLE, &value, &error), SQLITE_CORRUPT_VTAB);
    assert_null(error.message);
    assert_int_equal(value.type, type);
    pt_session_end_read(session);
}

/* Stores another record under the key of a chunk; NULL: none. */
static void overwrite(const test_key *key, const uint8_t *record, size_t size)
{
    begin(session);
    if (record != NULL) {
        write_key(session, key_slice(key), pt_slice_of(record, size));
    } else {
        assert_ok(pt_session_remove(session, key_slice(key), &error));
    }
    sync_now(session);
    pt_session_commit(session);
}

static void damaged_chunks_are_found_out(void **state)
{
    (void)state;
    enum { SIZE = 2300 };
    uint8_t *bytes = make_bytes(SIZE);
    pt_value value = store_value(bytes, SIZE);
    test_key first = chunk_key(value.large.ticks, 0, 0);
    test_key last = chunk_key(value.large.ticks, 0, 1);
    uint8_t sound[304];
    memcpy(sound + 4, bytes + 2000, 300);
    pt_put_le32(sound, (uint32_t)XXH3_64bits_withSeed(bytes + 2000, 300,
                                                      XXH3_64bits(last.bytes, last.size)));
    for (size_t bit = 0; bit < 8 * sizeof sound; bit += 37) {
        sound[bit / 8] ^= (uint8_t)(1 << bit % 8);
        overwrite(&last, sound, sizeof sound);
        assert_damaged(value);
        sound[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t size = 0; size < sizeof sound; size += 19) {
        overwrite(&last, sound, size);
        assert_damaged(value);
    }
    overwrite(&last, NULL, 0);
    assert_damaged(value);
    overwrite(&last, sound, sizeof sound);
    assert_value_reads(value, bytes, SIZE);
    overwrite(&first, sound, sizeof sound); /* another chunk's */
    assert_damaged(value);
    assert_start_is_damaged(value);
    overwrite(&first, NULL, 0);
    assert_damaged(value);
    assert_start_is_damaged(value);
    free(bytes);
}

static void errors_of_the_engine_are_reported(void **state)
{
    (void)state;
    uint8_t *bytes = make_bytes(5000);
    pt_value value = store_value(bytes, 5000);
    pt_buffer buffer = {0};
    fault_from(FAULTY_GET, 1);
    assert_fails(read_value(&value, &buffer, &error), FAULTY_RC, "fire");
    pt_buffer_free(&buffer);
    free(bytes);
}

/* --- Out of memory --- */

static int write_and_give_up(const uint8_t *bytes, pt_error *error)
{
    pt_value value = {.type = PT_BINARY, .bytes = pt_slice_of(bytes, 90000)};
    int rc = pt_session_begin(session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    size_t row = pt_session_begin_row(session);
    rc = pt_large_put(session, SESSION_TABLE, TICKS, 0, &value, error);
    if (rc != SQLITE_OK) {
        assert_int_equal(value.type, PT_BINARY);
        pt_session_discard_row(session, row);
        assert_false(pt_session_has_pending(session));
        return rc;
    }
    rc = pt_large_remove(session, SESSION_TABLE, &value.large, error);
    pt_session_end_row(session);
    return rc;
}

static void writing_may_run_out_of_memory(void **state)
{
    (void)state;
    uint8_t *bytes = make_bytes(90000);
    bool hit = true;
    for (int n = 0; hit; n++) {
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, n % 2 == 1);
        int rc = write_and_give_up(bytes, &error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(error.rc, rc);
        pt_session_rollback(session);
    }
    assert_int_equal(chunk_count(), 0);
    free(bytes);
}

static void assert_reading_runs_out_of_memory(pt_value stored)
{
    bool hit = true;
    for (int n = 0; hit; n++) {
        pt_value value = stored;
        pt_buffer buffer = {0};
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, n % 2 == 1);
        int rc = read_value(&value, &buffer, &error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(value.type, hit ? PT_LARGE_STRING : PT_STRING);
        pt_buffer_free(&buffer);
    }
}

static void reading_may_run_out_of_memory(void **state)
{
    (void)state;
    uint8_t *bytes = make_bytes(90000);
    pt_value stored = store_value(bytes, 90000);
    assert_reading_runs_out_of_memory(stored);
    begin(session);
    pt_value pending = put_value(PT_STRING, bytes, 80000, next_timestamp(session), 0);
    assert_reading_runs_out_of_memory(stored);
    assert_reading_runs_out_of_memory(pending);
    assert_value_reads(pending, bytes, 80000);
    pt_session_rollback(session);
    free(bytes);
}

/* What is asked of a transaction's memory, for pt_batches. */
static void values_are_pending_until_they_are_deleted(void **state)
{
    (void)state;
    const pt_large large = {.size = 5000, .ticks = TICKS};
    test_key first = chunk_key(TICKS, 0, 0);
    bool pending = true;
    pt_memtable *memtable = pt_memtable_new();
    assert_int_equal(pt_large_is_pending(memtable, SESSION_TABLE, &large, &pending), SQLITE_OK);
    assert_false(pending);
    assert_non_null(pt_memtable_put(memtable, key_slice(&first), PT_INSERT, 100));
    bool hit = true;
    for (int n = 0; hit; n++) {
        failing_malloc_arm(n, false);
        int rc = pt_large_is_pending(memtable, SESSION_TABLE, &large, &pending);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(pending, !hit);
    }
    assert_non_null(pt_memtable_put(memtable, key_slice(&first), PT_DELETE, 0));
    assert_int_equal(pt_large_is_pending(memtable, SESSION_TABLE, &large, &pending), SQLITE_OK);
    assert_false(pending);
    pt_memtable_free(memtable);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_values_are_large),
        TEST(chunks_are_laid_out_as_documented),
        TEST(values_of_all_sizes_read_back),
        TEST(other_values_stay_as_they_are),
        TEST(a_buffer_is_used_again),
        TEST(deleted_chunks_can_still_be_read),
        TEST(chunks_that_were_rolled_back_are_no_damage),
        TEST(a_commit_that_is_undone_leaves_no_chunk),
        TEST(tables_without_large_values_are_known),
        TEST(damaged_chunks_are_found_out),
        TEST(errors_of_the_engine_are_reported),
        TEST(values_are_pending_until_they_are_deleted),
        TEST(writing_may_run_out_of_memory),
        TEST(reading_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
