/*
 * Statements that SQLite stops from within: by an interrupt at each of their steps, and by an
 * authorizer that forbids what ptable asks for on their behalf.
 */
#include "fixtures/store_fixture.h"

#include "faults/failing_malloc.h"
#include "fixtures/connection.h"
#include "transaction/interruption.h"

enum { MOST_STEPS = 100000 };

static sqlite3 *db;
static int steps_left;        /* until the interrupt */
static const char *forbidden; /* a table that may not be read */

static int setup(void **state)
{
    (void)state;
    db = open_with_ptable(":memory:");
    run_sql(db, "CREATE VIRTUAL TABLE T USING ptable(v, sync=off);"
                "INSERT INTO T VALUES ('a', '1', 1), ('b', '1', 2)");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return sqlite3_close(db) == SQLITE_OK ? 0 : -1;
}

static int count_down(void *context)
{
    (void)context;
    return steps_left-- <= 0;
}

/* Each interrupt ends the statement, with the transaction or without it. */
static int interrupt_everywhere(const char *sql)
{
    int rolled_back = 0;
    int rc = SQLITE_INTERRUPT;
    for (int steps = 0; rc != SQLITE_OK; steps++) {
        assert_true(steps < MOST_STEPS);
        run_sql(db, "BEGIN");
        steps_left = steps;
        sqlite3_progress_handler(db, 1, count_down, NULL);
        rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        assert_true(rc == SQLITE_OK || rc == SQLITE_INTERRUPT);
        bool is_told = strstr(sqlite3_errmsg(db), "has been rolled back") != NULL;
        assert_true(!is_told || sqlite3_get_autocommit(db));
        rolled_back += is_told;
        if (!sqlite3_get_autocommit(db)) {
            run_sql(db, "ROLLBACK");
        }
    }
    return rolled_back;
}

static void interrupted_transactions_end(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "SELECT v FROM T",
        "SELECT TableName FROM pt_tables",
        "SELECT PartitionKey FROM pt_partitions('T')",
        "INSERT INTO T VALUES ('c', '1', 3)",
        "INSERT INTO pt_tables(TableName) VALUES ('New')",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        assert_true(interrupt_everywhere(statements[i]) > 0);
    }
    run_sql(db, "SELECT v FROM T; INSERT INTO T VALUES ('c', '1', 3)");
}

/* Only the innermost statement that runs is stopped by it. */
static int interrupt_once(void *context)
{
    (void)context;
    return steps_left-- == 0;
}

/* Asking how long to wait is a part of the statement, too. */
static void who_is_interrupted_is_not_called_busy(void **state)
{
    static const char *const statements[] = {"INSERT INTO temp.S VALUES ('c', '1', 3)",
                                             "SELECT pt_compact('%s')"};
    assert_int_equal(fixture_setup(state), 0);
    pt_store *store = open_store(fixture_path);
    char *sql =
        sqlite3_mprintf("CREATE VIRTUAL TABLE temp.S USING ptable(v, store=%Q)", fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    lock_store(store);
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        int rc = SQLITE_INTERRUPT;
        sql = sqlite3_mprintf(statements[i], fixture_path);
        for (int steps = 0; rc == SQLITE_INTERRUPT; steps++) {
            steps_left = steps;
            sqlite3_progress_handler(db, 1, interrupt_once, NULL);
            rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
            sqlite3_progress_handler(db, 0, NULL, NULL);
            assert_int_equal(rc, steps_left < 0 ? SQLITE_INTERRUPT : SQLITE_BUSY);
        }
        sqlite3_free(sql);
    }
    store->engine->unlock(store);
    store->engine->close(store);
    run_sql(db, "DROP TABLE temp.S");
    fixture_teardown(state);
}

static int authorize(void *context, int action, const char *table, const char *column,
                     const char *schema, const char *trigger)
{
    (void)context;
    (void)column;
    (void)schema;
    (void)trigger;
    return action == SQLITE_READ && strcmp(table, forbidden) == 0 ? SQLITE_DENY : SQLITE_OK;
}

/* Hides all that ptable itself asks for, of that action. */
typedef struct hiding {
    int action;
    const char *first;  /* its first argument, or NULL: any */
    int left;           /* how many there are before */
    const char *second; /* its second one, or NULL */
} hiding;

static int hide(void *context, int action, const char *first, const char *second,
                const char *schema, const char *trigger)
{
    hiding *self = context;
    (void)schema;
    (void)trigger;
    bool is_one = action == self->action &&
                  (self->first == NULL || strcmp(first, self->first) == 0) &&
                  (self->second == NULL || strcmp(second, self->second) == 0);
    return is_one && self->left-- <= 0 ? SQLITE_IGNORE : SQLITE_OK;
}

/* What an authorizer lets nobody see is not taken for missing, or for allowed. */
static void what_is_hidden_is_said_to_be(void **state)
{
    (void)state;
    static const struct {
        hiding hidden;
        const char *sql;
        const char *needs;
    } cases[] = {
        {{SQLITE_SELECT, NULL, 1, NULL},
         "SELECT * FROM pt_partitions('T')",
         "SELECT from sqlite_schema"},
        {{SQLITE_READ, "sqlite_master", 0, NULL},
         "SELECT * FROM pt_partitions('T')",
         "SELECT from sqlite_schema"},
        {{SQLITE_READ, "sqlite_master", 0, NULL},
         "SELECT * FROM pt_properties('main.T')",
         "SELECT from sqlite_schema"},
        {{SQLITE_READ, "sqlite_master", 0, "name"},
         "SELECT * FROM pt_partitions('T')",
         "SELECT from sqlite_schema"},
        {{SQLITE_READ, "sqlite_master", 0, "type"},
         "SELECT * FROM pt_partitions('T')",
         "SELECT from sqlite_schema"},
        {{SQLITE_PRAGMA, "table_xinfo", 0, NULL},
         "SELECT * FROM pt_queue_get('q')",
         "PRAGMA table_xinfo"},
        {{SQLITE_PRAGMA, "query_only", 0, NULL}, "SELECT pt_compact()", "PRAGMA query_only"},
    };
    run_sql(db, "CREATE VIRTUAL TABLE q USING pt_queue");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hiding hidden = cases[i].hidden;
        assert_int_equal(sqlite3_set_authorizer(db, hide, &hidden), SQLITE_OK);
        int rc = sqlite3_exec(db, cases[i].sql, NULL, NULL, NULL);
        sqlite3_set_authorizer(db, NULL, NULL);
        if (rc != SQLITE_AUTH || strstr(sqlite3_errmsg(db), cases[i].needs) == NULL) {
            fail_msg("%s: %d, %s", cases[i].sql, rc, sqlite3_errmsg(db));
        }
        run_sql(db, cases[i].sql);
    }
    run_sql(db, "DROP TABLE q");
}

static void assert_forbidden(const char *table)
{
    forbidden = table;
    assert_int_equal(sqlite3_set_authorizer(db, authorize, NULL), SQLITE_OK);
    int rc = sqlite3_exec(db, "SELECT PartitionKey FROM pt_partitions('T')", NULL, NULL, NULL);
    assert_int_equal(rc, SQLITE_AUTH);
    assert_non_null(strstr(sqlite3_errmsg(db), "ptable: pt_partitions: "));
    sqlite3_set_authorizer(db, NULL, NULL);
}

static void forbidden_tables_stay_so(void **state)
{
    (void)state;
    assert_forbidden("T");
    assert_forbidden("sqlite_master");
}

/* Its columns may not be declared, which SQLite asks for anew after VACUUM. */
static void why_a_table_cannot_be_connected_is_told(void **state)
{
    (void)state;
    static const char *const names[] = {"T", "main.T"};
    forbidden = "x";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *sql = sqlite3_mprintf("SELECT * FROM pt_properties(%Q)", names[i]);
        assert_non_null(sql);
        run_sql(db, "VACUUM");
        assert_int_equal(sqlite3_set_authorizer(db, authorize, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_ERROR);
        assert_string_equal(sqlite3_errmsg(db), "ptable: pt_properties: T: access to x.EntityKey "
                                                "is prohibited");
        sqlite3_set_authorizer(db, NULL, NULL);
        run_sql(db, sql);
        sqlite3_free(sql);
    }
}

static void what_a_schema_lacks_is_named(void **state)
{
    (void)state;
    int rc = sqlite3_exec(db, "SELECT * FROM pt_partitions('main.Nothing')", NULL, NULL, NULL);
    assert_int_equal(rc, SQLITE_ERROR);
    assert_non_null(strstr(sqlite3_errmsg(db), "'main.Nothing' is not the name of a ptable"));
}

/* Denies every SELECT but the first. */
static int authorize_one(void *selects, int action, const char *table, const char *column,
                         const char *schema, const char *trigger)
{
    (void)table;
    (void)column;
    (void)schema;
    (void)trigger;
    return action == SQLITE_SELECT && (*(int *)selects)++ > 0 ? SQLITE_DENY : SQLITE_OK;
}

static void what_cannot_be_asked_for_interrupts_goes_on(void **state)
{
    (void)state;
    int selects = 0;
    assert_int_equal(sqlite3_set_authorizer(db, authorize_one, &selects), SQLITE_OK);
    int rc = sqlite3_exec(db, "SELECT pt_compact()", NULL, NULL, NULL);
    assert_int_equal(rc, SQLITE_OK);
    assert_true(selects > 1);
    sqlite3_set_authorizer(db, NULL, NULL);
}

static void without_memory_nothing_can_be_asked(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_interruption_check(db, &error), SQLITE_OK);
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0), SQLITE_OK);
    failing_malloc_arm(0, true);
    int rc = pt_interruption_check(db, &error);
    assert_true(failing_malloc_disarm());
    assert_int_equal(rc, SQLITE_NOMEM);
    pt_error_clear(&error);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(interrupted_transactions_end),
        TEST(who_is_interrupted_is_not_called_busy),
        TEST(forbidden_tables_stay_so),
        TEST(what_is_hidden_is_said_to_be),
        TEST(what_a_schema_lacks_is_named),
        TEST(why_a_table_cannot_be_connected_is_told),
        TEST(what_cannot_be_asked_for_interrupts_goes_on),
        TEST(without_memory_nothing_can_be_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
