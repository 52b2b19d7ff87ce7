#include "faults/failing_malloc.h"
#include "unit/service/remote_database.h"

#include <stdatomic.h>
#include <time.h>

#include "service/division.h"

#define CREATE "CREATE VIRTUAL TABLE Employee USING pt_service(Name String, Age Int32, account=hr"
#define BOUND "%20ge%20%27"

/* --- A service with a table of many pages --- */

enum { ENTITIES_MAX = 400, PAGE_ENTITIES = 2, KEY_SIZE = 160 };

static struct {
    char partition[KEY_SIZE];
    char row[KEY_SIZE];
} table[ENTITIES_MAX];
static int entities;
static bool ignores_bounds; /* answers with whatever is there */
static int busy_at;         /* this request is refused once; 0: none */
/* Requests from this one on get no answer; 0: all do. The server's thread reads it meanwhile. */
static atomic_int silent_from;
static bool begins_empty; /* the first page has a token only */

static void add_entities(const char *partition, const char *row, int from, int count)
{
    for (int i = from; i < from + count; i++) {
        snprintf(table[entities].partition, KEY_SIZE, partition, i);
        snprintf(table[entities++].row, KEY_SIZE, row, i);
    }
}

/* Partitions of one page each. */
static void make_table(int partitions)
{
    entities = 0;
    ignores_bounds = false;
    busy_at = 0;
    silent_from = 0;
    begins_empty = false;
    for (int i = 0; i < partitions; i++) {
        add_entities("p%03d", "1", i, 1);
        add_entities("p%03d", "2", i, 1);
    }
}

/* False if the request compares the key with a constant in this way, and it is not so. */
static bool meets(const char *request, const char *name, const char *op, const char *key)
{
    char comparison[40];
    char constant[KEY_SIZE * 3];
    snprintf(comparison, sizeof comparison, "%s%%20%s%%20%%27", name, op);
    const char *at = strstr(request, comparison);
    if (at == NULL || (ignores_bounds && strcmp(op, "eq") != 0)) {
        return true;
    }
    at += strlen(comparison);
    snprintf(constant, sizeof constant, "%.*s", (int)strcspn(at, "%"), at);
    int order = strcmp(key, constant);
    return strcmp(op, "ge") == 0   ? order >= 0
           : strcmp(op, "gt") == 0 ? order > 0
           : strcmp(op, "lt") == 0 ? order < 0
                                   : order == 0;
}

static bool is_asked_for(const char *request, int i)
{
    static const char *const ops[] = {"ge", "gt", "lt", "eq"};
    bool met = true;
    for (size_t op = 0; met && op < sizeof ops / sizeof ops[0]; op++) {
        met = meets(request, "PartitionKey", ops[op], table[i].partition) &&
              meets(request, "RowKey", ops[op], table[i].row);
    }
    return met;
}

static char *answer_range(const char *request, int number)
{
    const char *keys[2 * PAGE_ENTITIES + 1] = {NULL};
    char token[128] = "";
    int count = 0;
    if (number == busy_at) {
        busy_at = 0;
        return canned_reply(503, "Retry-After: 0\r\n", "");
    }
    if (silent_from != 0 && number >= silent_from) {
        return CANNED_SILENCE;
    }
    const char *from = strstr(request, "NextRowKey=");
    if (begins_empty && from == NULL) {
        return EMPTY_PAGE(TOKEN("t", "0"));
    }
    for (int i = from != NULL ? atoi(from + 11) : 0; i < entities; i++) {
        if (!is_asked_for(request, i)) {
            continue;
        }
        if (count == PAGE_ENTITIES) {
            snprintf(token, sizeof token, TOKEN("t", "%d"), i);
            break;
        }
        keys[2 * count] = table[i].partition;
        keys[2 * count++ + 1] = table[i].row;
    }
    return page_of(token, keys);
}

/* Reads all entities: so many requests are sent, and ranges are asked for or not. */
static void expect_scan(const char *sql, int least, int most, bool divided)
{
    char expected[64];
    snprintf(expected, sizeof expected, "%d %d\n", entities, entities);
    canned_take_requests();
    expect_sql(sql, expected);
    assert_int_equal(was_sent(BOUND), divided);
    assert_in_range(canned_take_requests(), (uintmax_t)least, (uintmax_t)most);
}

#define COUNT "SELECT count(*), count(DISTINCT PartitionKey || '/' || RowKey) FROM "

/* --- Dividing --- */

static void a_long_scan_is_divided(void **state)
{
    (void)state;
    make_table(100);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    expect_scan(COUNT "Employee", 100, 125, true);
    expect_scan(COUNT "Employee WHERE PartitionKey < 'q'", 100, 125, true);
    expect_scan(COUNT "Employee WHERE PartitionKey >= 'p' AND RowKey >= '1'", 100, 125, true);
    make_table(3);
    expect_scan(COUNT "Employee", 3, 3, false);
    close_remote();
}

static void a_large_partition_is_divided(void **state)
{
    (void)state;
    make_table(0);
    add_entities("a%d", "1", 1, 4);
    add_entities("m", "%05d", 0, 120);
    add_entities("n%d", "1", 1, 4);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    canned_take_requests();
    expect_sql(COUNT "Employee", "128 128\n");
    assert_true(was_sent("PartitionKey%20gt%20%27m%27"));
    assert_true(was_sent("PartitionKey%20eq%20%27m%27%20and%20RowKey%20ge%20%270"));
    assert_in_range(canned_take_requests(), 64, 84);
    entities = 0;
    add_entities("m", "%05d", 0, 120);
    expect_scan(COUNT "Employee WHERE PartitionKey = 'm'", 60, 75, true);
    expect_scan(COUNT "Employee WHERE PartitionKey = 'm' AND RowKey >= '0' AND RowKey < '1'", 60,
                75, true);
    close_remote();
}

/* What a bound cannot tell: a partition whose end has another place for the service, or that is too
 * long. */
static void a_partition_may_have_no_bound(void **state)
{
    (void)state;
    char partition[KEY_SIZE] = "m\xEE\x80\x80";
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    for (int i = 0; i < 2; i++) {
        make_table(0);
        add_entities(partition, "%05d", 0, 20);
        expect_scan(COUNT "Employee", 10, 10, false);
        memset(partition, 'm', KEY_SIZE - 1);
    }
    close_remote();
}

/* An empty PartitionKey has no bytes to copy. */
static void a_large_partition_may_have_an_empty_key(void **state)
{
    (void)state;
    make_table(0);
    add_entities("", "%05d", 0, 120);
    add_entities("n%d", "1", 1, 4);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    canned_take_requests();
    expect_sql(COUNT "Employee", "124 124\n");
    assert_true(was_sent("PartitionKey%20eq%20%27%27%20and%20RowKey%20ge%20%270"));
    close_remote();
}

/* A filter of partitions may have a condition on RowKeys, which a part of a partition would not. */
static void a_condition_on_rows_is_kept(void **state)
{
    (void)state;
    make_table(0);
    add_entities("m", "%05d", 0, 40);
    add_entities("x%d", "1", 1, 1);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    canned_take_requests();
    expect_sql(COUNT "Employee WHERE RowKey >= '0'", "41 41\n");
    assert_true(was_sent("PartitionKey%20gt%20%27m%27%20and%20RowKey%20ge%20%270%27"));
    assert_false(was_sent("%20eq%20"));
    close_remote();
}

/* Where nothing is found after a bound, that costs a few requests. */
static void guesses_may_fail(void **state)
{
    (void)state;
    make_table(0);
    for (int i = 0; i < 12; i++) { /* each is taken for the first of many */
        static const char *const letters[] = {"A",  "Aa", "Ab", "Ac", "B",  "Ba",
                                              "Bb", "Bc", "C",  "Ca", "Cb", "Cc"};
        add_entities(letters[i], "1", 0, 1);
        add_entities(letters[i], "2", 0, 1);
    }
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    expect_scan(COUNT "Employee", 12, 15, true);
    close_remote();
}

#define TEXT_1000 TEXT_200 TEXT_200 TEXT_200 TEXT_200 TEXT_200
#define TEXT_200 TEXT_40 TEXT_40 TEXT_40 TEXT_40 TEXT_40
#define TEXT_40 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static void some_scans_are_not_divided(void **state)
{
    (void)state;
    static const char *const statements[] = {
        COUNT "Alone",
        COUNT "(SELECT * FROM Employee ORDER BY PartitionKey, RowKey LIMIT 1000)",
        COUNT "(SELECT * FROM Employee LIMIT 1000)",
        COUNT "Cosmos",
        COUNT "Employee('Age ge 0 and Name ne ''" TEXT_1000 "''')",
        COUNT "Employee('Age ge 0 or Age ge 0 or Age ge 0 or Age ge 0 or Age ge 0 or Age ge 0 or "
              "Age ge 0 or Age ge 0 or Age ge 0 or Age ge 0 or Age ge 0 or Age ge 0')",
    };
    make_table(30);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    expect_sql("CREATE VIRTUAL TABLE Alone USING pt_service(account=hr, streams=1)", "");
    expect_sql("CREATE VIRTUAL TABLE Cosmos USING pt_service(account=hr, dialect=cosmos)", "");
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        canned_take_requests();
        expect_sql(statements[i], "60 60\n");
        assert_false(was_sent("PartitionKey" BOUND));
        assert_in_range(canned_take_requests(), 30, 30);
    }
    close_remote();
}

/* Dividing gets one in sixteen. */
static void max_requests_is_for_entities(void **state)
{
    (void)state;
    make_table(15);
    open_remote(answer_range);
    expect_sql(CREATE ", max_requests=15)", "");
    expect_scan(COUNT "Employee", 15, 15, false);
    make_table(30);
    expect_sql("CREATE VIRTUAL TABLE More USING pt_service(account=hr, max_requests=33)", "");
    expect_scan(COUNT "More", 31, 33, true);
    make_table(40);
    expect_sql("CREATE VIRTUAL TABLE Two USING pt_service(account=hr, streams=2, max_requests=33)",
               "");
    expect_sql(COUNT "Two",
               "1: ptable: Two: the statement needs more than 33 requests, which max_requests "
               "forbids; add a condition on PartitionKey or RowKey, or a LIMIT, or create the "
               "table with a larger max_requests (0: any number)");
    close_remote();
}

/* What the transaction has written is laid over entities in order. */
static void a_scan_of_own_writes_is_not_divided(void **state)
{
    (void)state;
    make_table(30);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    expect_sql("BEGIN", "");
    expect_sql("INSERT INTO Employee(PartitionKey, RowKey) VALUES ('p015', '3')", "");
    canned_take_requests();
    expect_sql(COUNT "Employee", "61 61\n");
    assert_false(was_sent(BOUND));
    expect_sql("ROLLBACK", "");
    close_remote();
}

/* A service that has too much to do is not asked for more at once. */
static void a_busy_service_gets_no_more_at_once(void **state)
{
    (void)state;
    make_table(30);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    busy_at = 3;
    expect_scan(COUNT "Employee", 31, 31, false);
    close_remote();
}

/* Two streams at most: while both are read, no other range is asked for. */
static void streams_bounds_what_is_read_at_once(void **state)
{
    (void)state;
    make_table(30);
    open_remote(answer_range);
    expect_sql(CREATE ", streams=2, parallel=1)", "");
    expect_scan(COUNT "Employee", 30, 38, true);
    expect_sql("CREATE VIRTUAL TABLE None USING pt_service(account=hr, streams=0)",
               "1: ptable: None: unknown value \"0\" in argument \"streams=0\"; streams is an "
               "integer from 1 to 64");
    close_remote();
}

#define UNKNOWN_ORDER                                                                              \
    "10: ptable: Employee: the service orders keys in an unknown way, so it cannot be asked for "  \
    "several ranges of them at once; create the table with streams=1"

/* An entity that is not in the part asked for, and a part that does not end where it should. */
static void another_order_is_noticed(void **state)
{
    (void)state;
    make_table(30);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    ignores_bounds = true;
    expect_sql(COUNT "Employee", UNKNOWN_ORDER);
    make_table(8);
    for (int i = 0; i < 4; i++) {
        add_entities("p%03d", "1", 90 + i, 1);
        add_entities("p%03d", "9", 10 + i, 1); /* it comes too late */
    }
    expect_sql(COUNT "Employee", UNKNOWN_ORDER);
    close_remote();
}

static void a_divided_scan_may_stop(void **state)
{
    (void)state;
    make_table(100);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    sqlite3_stmt *statement;
    for (int rows = 1; rows < 60; rows += 7) {
        assert_int_equal(
            sqlite3_prepare_v2(db, "SELECT RowKey FROM Employee", -1, &statement, NULL), SQLITE_OK);
        for (int i = 0; i < rows; i++) {
            assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        }
        sqlite3_finalize(statement);
    }
    expect_sql(COUNT "Employee", "200 200\n");
    close_remote();
}

static struct timespec silent_since;

/* When the service has been silent for some time, so that all rows that came have been read. */
static int stop_when_silent(void *nothing)
{
    struct timespec now;
    (void)nothing;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (canned_requests() < silent_from) {
        silent_since = now;
    }
    return (now.tv_sec - silent_since.tv_sec) * 1000 +
               (now.tv_nsec - silent_since.tv_nsec) / 1000000 >
           200;
}

/* While several streams wait. */
static void a_divided_scan_can_be_interrupted(void **state)
{
    (void)state;
    make_table(40);
    open_remote(answer_range);
    expect_sql(CREATE ")", "");
    for (silent_from = 5; silent_from < 12; silent_from += 3) {
        canned_take_requests();
        sqlite3_progress_handler(db, 1, stop_when_silent, NULL);
        assert_int_equal(
            sqlite3_exec(db, "SELECT group_concat(RowKey) FROM Employee", NULL, NULL, NULL),
            SQLITE_INTERRUPT);
        sqlite3_progress_handler(db, 0, NULL, NULL);
    }
    close_remote();
}

/* The better division is of a larger part, has failed less often, or is not a mere hope. */
static void divisions_are_compared(void **state)
{
    (void)state;
    static const pt_division divisions[] = {
        {.bound = {.size = 1}},
        {.bound = {.size = 2}},
        {.bound = {.size = 1}, .doubts = 1},
        {.bound = {.size = 1, .leap = true}},
        {.bound = {.size = 2, .leap = true}},
    };
    for (size_t i = 0; i < sizeof divisions / sizeof divisions[0]; i++) {
        for (size_t k = 0; k < sizeof divisions / sizeof divisions[0]; k++) {
            assert_int_equal(pt_division_is_better(&divisions[i], &divisions[k]), i < k);
        }
    }
}

/* The service finds the beginning of this bound only, and what it gives is before the range. */
static void what_comes_before_a_range_is_not_divided(void **state)
{
    (void)state;
    make_table(30);
    open_remote(answer_range);
    expect_sql(CREATE ", streams=3)", "");
    expect_sql(COUNT "Employee WHERE PartitionKey > 'p\xF0\x9F\x98\x80'", "0 0\n");
    close_remote();
}

static void dividing_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const statements[] = {COUNT "Employee",
                                             COUNT "Employee WHERE PartitionKey = 'm'"};
    bool hit = true;
    for (int n = 0; hit || n < 400; n++) {
        make_table(0);
        add_entities("m", "%05d", 0, 14);
        begins_empty = n / 2 % 2 != 0;
        open_remote(answer_range);
        expect_sql(CREATE ", streams=3)", "");
        sqlite3_stmt *statement = NULL;
        failing_malloc_arm(n / 4, false);
        int rc = sqlite3_prepare_v2(db, statements[n % 2], -1, &statement, NULL);
        rc = rc == SQLITE_OK ? sqlite3_step(statement) : rc;
        hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_ROW || (hit && rc == SQLITE_NOMEM));
        assert_true(rc != SQLITE_ROW || sqlite3_column_int(statement, 0) == 14);
        sqlite3_finalize(statement);
        close_remote();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_scan_is_divided),
        cmocka_unit_test(a_large_partition_is_divided),
        cmocka_unit_test(a_large_partition_may_have_an_empty_key),
        cmocka_unit_test(a_partition_may_have_no_bound),
        cmocka_unit_test(a_condition_on_rows_is_kept),
        cmocka_unit_test(guesses_may_fail),
        cmocka_unit_test(some_scans_are_not_divided),
        cmocka_unit_test(max_requests_is_for_entities),
        cmocka_unit_test(a_scan_of_own_writes_is_not_divided),
        cmocka_unit_test(a_busy_service_gets_no_more_at_once),
        cmocka_unit_test(streams_bounds_what_is_read_at_once),
        cmocka_unit_test(another_order_is_noticed),
        cmocka_unit_test(a_divided_scan_may_stop),
        cmocka_unit_test(a_divided_scan_can_be_interrupted),
        cmocka_unit_test(divisions_are_compared),
        cmocka_unit_test(what_comes_before_a_range_is_not_divided),
        cmocka_unit_test(dividing_may_run_out_of_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
