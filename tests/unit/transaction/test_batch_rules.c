#include "unit/transaction/connected.h"

#include "entity/key.h"
#include "transaction/batch_rules.h"
#include "transaction/large_value.h"

static pt_session *session; /* of the store in the fixture's folder */

static int setup(void **state)
{
    (void)state;
    if (connect_database() != 0) {
        return -1;
    }
    assert_ok(pt_connection_use(connection, fixture_path, "main", true, &session, &error));
    begin(session);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pt_session_rollback(session);
    return disconnect_database();
}

/* --- What the tests do --- */

enum { TABLE = 7, OTHER_TABLE = 8, RECORD = 10 };

/* A logical key; '|' in the text stands for the 00 between the keys. */
static test_key entity_key(uint32_t table, const char *text)
{
    test_key key = key_of(table, text);
    uint8_t *separator = memchr(key.bytes, '|', key.size);
    if (separator != NULL) {
        *separator = 0;
    }
    return key;
}

static int check(pt_session *of, uint32_t table, const char *text, pt_error *error)
{
    test_key key = entity_key(table, text);
    return pt_batch_rules_check(connection, of, key_slice(&key), key.size + RECORD, error);
}

/* What a table without the option writes. */
static void put_sized(pt_session *of, uint32_t table, const char *text, size_t size)
{
    test_key key = entity_key(table, text);
    uint8_t *record = pt_session_put(of, key_slice(&key), PT_REPLACE, size);
    assert_non_null(record);
    memset(record, 'r', size);
}

static void put_freely(pt_session *of, uint32_t table, const char *text)
{
    put_sized(of, table, text, RECORD);
}

/* What a table with batch='azure' writes. */
static void put_in_batch(uint32_t table, const char *text)
{
    assert_ok(check(session, table, text, &error));
    put_freely(session, table, text);
    pt_batch_rules_begin(connection, session);
}

static void fill_batch(int count)
{
    for (int i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "p|%03d", i);
        put_in_batch(TABLE, text);
    }
}

#define assert_refused(table, text, code, part)                                                    \
    assert_fails(check(session, table, text, &error), code, part)

/* --- One partition, one table, each entity once --- */

static void one_partition(void **state)
{
    (void)state;
    put_in_batch(TABLE, "p|1");
    put_in_batch(TABLE, "p|2");
    assert_refused(TABLE, "q|1", SQLITE_CONSTRAINT_VTAB,
                   "operation 2 (from 0) of a transaction with batch='azure' is on PartitionKey "
                   "'q', an earlier one on 'p'");
    assert_refused(TABLE, "pp|1", SQLITE_CONSTRAINT_VTAB,
                   "(CommandsInBatchActOnDifferentPartitions)");
    assert_refused(TABLE, "|1", SQLITE_CONSTRAINT_VTAB, "PartitionKey '', an earlier");
    put_in_batch(TABLE, "p|");
}

static void the_partition_may_be_the_empty_one(void **state)
{
    (void)state;
    put_in_batch(TABLE, "|1");
    put_in_batch(TABLE, "|2");
    assert_refused(TABLE, "p|1", SQLITE_CONSTRAINT_VTAB, "PartitionKey 'p', an earlier one on ''");
}

static void one_table(void **state)
{
    (void)state;
    put_in_batch(TABLE, "p|1");
    assert_refused(OTHER_TABLE, "p|1", SQLITE_CONSTRAINT_VTAB,
                   "operation 1 (from 0) of a transaction with batch='azure' is on another table");
    assert_refused(OTHER_TABLE, "p|2", SQLITE_CONSTRAINT_VTAB,
                   "(CommandsInBatchActOnDifferentPartitions)");
}

static void each_entity_once(void **state)
{
    (void)state;
    put_in_batch(TABLE, "p|1");
    put_in_batch(TABLE, "p|2");
    assert_refused(TABLE, "p|1", SQLITE_CONSTRAINT_VTAB,
                   "operation 2 (from 0) of a transaction with batch='azure' is the second on the "
                   "entity with PartitionKey 'p', RowKey '1'; write each entity once in a "
                   "transaction (InvalidDuplicateRow)");
    test_key key = entity_key(TABLE, "p|3");
    assert_ok(pt_session_remove(session, key_slice(&key), &error));
    assert_refused(TABLE, "p|3", SQLITE_CONSTRAINT_VTAB, "(InvalidDuplicateRow)");
}

/* --- Number and size --- */

static void a_hundred_operations(void **state)
{
    (void)state;
    fill_batch(100);
    assert_refused(TABLE, "p|more", SQLITE_CONSTRAINT_VTAB,
                   "operation 100 (from 0) of a transaction with batch='azure' is one too many, "
                   "100 are allowed; COMMIT before it (InvalidInput)");
    assert_refused(TABLE, "p|001", SQLITE_CONSTRAINT_VTAB, "(InvalidDuplicateRow)");
}

static void four_mib(void **state)
{
    (void)state;
    enum { KEY = 1 + 3, NEXT = KEY + RECORD };
    put_sized(session, TABLE, "p|1", PT_BATCH_BYTES_MAX - KEY - NEXT);
    assert_ok(check(session, TABLE, "p|2", &error));
    assert_refused(TABLE, "p|22", SQLITE_CONSTRAINT_VTAB,
                   "operation 1 (from 0) of a transaction with batch='azure' takes it over 4194304 "
                   "bytes; COMMIT before it (RequestBodyTooLarge)");
}

static void large_values_count_with_their_bytes(void **state)
{
    (void)state;
    enum { ENTITY = 1 + 3 + RECORD, WHOLE_CHUNKS = 2090 };
    put_in_batch(TABLE, "p|1");
    for (int i = 0; i < WHOLE_CHUNKS; i++) {
        char text[32];
        snprintf(text, sizeof text, "chunk %d", i);
        put_sized(session, PT_TABLE_CHUNKS, text, PT_CHUNK_HEADER + PT_CHUNK_SIZE);
    }
    test_key deleted = key_of(PT_TABLE_CHUNKS, "older chunk");
    assert_ok(pt_session_remove(session, key_slice(&deleted), &error));
    put_sized(session, PT_TABLE_CHUNKS, "last chunk",
              PT_CHUNK_HEADER + PT_BATCH_BYTES_MAX - WHOLE_CHUNKS * PT_CHUNK_SIZE - 2 * ENTITY);
    assert_ok(check(session, TABLE, "p|2", &error));
    assert_refused(TABLE, "p|22", SQLITE_CONSTRAINT_VTAB, "operation 1 (from 0)");
}

/* --- What is no operation --- */

static void the_catalogue_is_no_part_of_a_batch(void **state)
{
    (void)state;
    put_freely(session, PT_TABLE_CATALOG, "newtable");
    put_freely(session, PT_TABLE_GARBAGE, "\x01");
    put_freely(session, PT_TABLE_CHUNKS, "chunk");
    fill_batch(100);
    assert_refused(TABLE, "p|more", SQLITE_CONSTRAINT_VTAB, "operation 100");
}

/* An entity is there once, also if a savepoint still needs what was written to it first. */
static void older_versions_do_not_count(void **state)
{
    (void)state;
    put_freely(session, TABLE, "p|1");
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    put_freely(session, TABLE, "p|1");
    put_in_batch(TABLE, "p|2");
    assert_refused(TABLE, "q|1", SQLITE_CONSTRAINT_VTAB, "operation 2 (from 0)");
}

/* --- From when to when there is a batch --- */

static void a_batch_begins_with_the_first_write(void **state)
{
    (void)state;
    assert_false(pt_batch_rules_apply(connection));
    put_freely(session, TABLE, "p|1");
    assert_false(pt_batch_rules_apply(connection));
    put_in_batch(TABLE, "p|2");
    assert_true(pt_batch_rules_apply(connection));
    assert_true(pt_batch_rules_apply(connection));
}

/* What was written freely before counts. */
static void what_came_before_belongs_to_the_batch(void **state)
{
    (void)state;
    put_freely(session, TABLE, "p|1");
    put_freely(session, TABLE, "q|1");
    put_freely(session, OTHER_TABLE, "p|1");
    assert_refused(TABLE, "p|2", SQLITE_CONSTRAINT_VTAB, "operation 3 (from 0)");
}

static void a_batch_ends_with_its_transaction(void **state)
{
    (void)state;
    put_in_batch(TABLE, "p|1");
    sync_now(session);
    assert_true(pt_batch_rules_apply(connection));
    pt_session_commit(session);
    assert_false(pt_batch_rules_apply(connection));
    begin(session);
    put_freely(session, TABLE, "q|1");
    assert_false(pt_batch_rules_apply(connection));
    pt_session_rollback(session);

    begin(session);
    put_in_batch(TABLE, "p|1");
    pt_session_rollback(session);
    begin(session);
    put_freely(session, OTHER_TABLE, "q|1");
    assert_false(pt_batch_rules_apply(connection));
}

static void rolling_back_ends_a_batch(void **state)
{
    (void)state;
    put_freely(session, TABLE, "p|1");
    assert_int_equal(pt_session_savepoint(session, 0), SQLITE_OK);
    put_in_batch(TABLE, "p|2");
    assert_int_equal(pt_session_savepoint(session, 1), SQLITE_OK);
    put_in_batch(TABLE, "p|3");
    pt_session_rollback_to(session, 1);
    assert_true(pt_batch_rules_apply(connection));
    pt_session_rollback_to(session, 0);
    assert_false(pt_batch_rules_apply(connection));
    put_freely(session, OTHER_TABLE, "q|1");
    put_freely(session, OTHER_TABLE, "q|2");
    assert_false(pt_batch_rules_apply(connection));
}

static void a_row_given_up_begins_no_batch(void **state)
{
    (void)state;
    put_freely(session, TABLE, "p|1");
    size_t row = pt_session_begin_row(session);
    put_in_batch(TABLE, "p|2");
    pt_session_discard_row(session, row);
    put_freely(session, OTHER_TABLE, "q|1");
    put_freely(session, OTHER_TABLE, "q|2");
    assert_false(pt_batch_rules_apply(connection));

    row = pt_session_begin_row(session);
    put_freely(session, OTHER_TABLE, "q|3");
    pt_session_end_row(session);
    assert_false(pt_batch_rules_apply(connection));
}

/* --- Several stores --- */

static void one_store(void **state)
{
    (void)state;
    pt_session *other = NULL;
    assert_ok(pt_connection_use(connection, NULL, "main", true, &other, &error));
    begin(other);
    assert_ok(check(session, TABLE, "p|1", &error));
    put_freely(other, PT_TABLE_CATALOG, "newtable");
    assert_ok(check(session, TABLE, "p|1", &error));
    put_freely(other, TABLE, "p|1");
    assert_refused(TABLE, "p|1", SQLITE_CONSTRAINT_VTAB,
                   "operation 1 (from 0) of a transaction with batch='azure' is on another table");
    pt_session_rollback(other);

    put_in_batch(TABLE, "p|1");
    begin(other);
    assert_true(pt_batch_rules_apply(connection));
    assert_fails(check(other, TABLE, "p|2", &error), SQLITE_CONSTRAINT_VTAB,
                 "operation 1 (from 0) of a transaction with batch='azure' is on another table");
    pt_session_rollback(other);
    pt_connection_leave(connection, other);
}

static void sessions_are_walked_once_each(void **state)
{
    (void)state;
    pt_session *other = NULL;
    assert_ok(pt_connection_use(connection, NULL, "main", true, &other, &error));
    pt_session *first = pt_connection_session_above(connection, 0);
    uint32_t number = pt_connection_number_of(connection, first);
    pt_session *second = pt_connection_session_above(connection, number);
    assert_ptr_equal(first, session);
    assert_ptr_equal(second, other);
    number = pt_connection_number_of(connection, second);
    assert_null(pt_connection_session_above(connection, number));
    pt_connection_leave(connection, other);
}

/* --- Memory --- */

/* Checking allocates nothing; refusals need memory for their texts. */
static void refusals_may_run_out_of_memory(void **state)
{
    (void)state;
    fill_batch(100);
    static const struct {
        uint32_t table;
        const char *text;
    } refused[] = {{OTHER_TABLE, "p|x"}, {TABLE, "q|x"}, {TABLE, "p|001"}, {TABLE, "p|x"}};
    pt_error error = PT_ERROR_NONE;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        failing_malloc_arm(0, true);
        int rc = check(session, refused[i].table, refused[i].text, &error);
        assert_true(failing_malloc_disarm());
        assert_int_equal(rc, SQLITE_NOMEM);
        assert_null(error.message);
    }
    pt_session_rollback(session);
    begin(session);
    failing_malloc_arm(0, true);
    int rc = check(session, TABLE, "p|1", &error);
    assert_false(failing_malloc_disarm());
    assert_int_equal(rc, SQLITE_OK);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(one_partition),
        TEST(the_partition_may_be_the_empty_one),
        TEST(one_table),
        TEST(each_entity_once),
        TEST(a_hundred_operations),
        TEST(four_mib),
        TEST(large_values_count_with_their_bytes),
        TEST(the_catalogue_is_no_part_of_a_batch),
        TEST(older_versions_do_not_count),
        TEST(a_batch_begins_with_the_first_write),
        TEST(what_came_before_belongs_to_the_batch),
        TEST(a_batch_ends_with_its_transaction),
        TEST(rolling_back_ends_a_batch),
        TEST(a_row_given_up_begins_no_batch),
        TEST(one_store),
        TEST(sessions_are_walked_once_each),
        TEST(refusals_may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, session_group_setup, fixture_teardown);
}
