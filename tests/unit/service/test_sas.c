#include "unit/service/remote_database.h"

#include "faults/failing_malloc.h"

#define SAS "SELECT pt_service_sas('dev', "

static char *answer_no_request(const char *request, int number)
{
    (void)request;
    (void)number;
    return CANNED_CLOSE;
}

static void open_accounts(void)
{
    open_remote(answer_no_request);
    expect_sql("SELECT pt_service_account('dev', 'UseDevelopmentStorage=true') IS NULL", "0\n");
}

/* The tokens are those of generateTableSas in @azure/data-tables 13.3.1, but that ' is encoded. */
static void tokens_are_those_of_the_services_libraries(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(SAS "'Employee', 'r', NULL, '2026-11-24')",
               "sv=2019-02-02&se=2026-11-24T00%3A00%3A00Z&sp=r&sig="
               "iwzNuV5kPjDCJseOSs3tr%2BTaMJlHi1G1mlEfnMmnI04%3D&tn=Employee\n");
    expect_sql(SAS "'Employee', 'dura', '2026-11-21 08:43:22.548', '9999-12-31T23:59:59Z',"
                   " 'Sales', '0001', 'Sales', '0999')",
               "sv=2019-02-02&st=2026-11-21T08%3A43%3A22Z&se=9999-12-31T23%3A59%3A59Z&sp=raud&sig="
               "cRxTRb%2BhkYXYnt8pPawrGU%2Buhx65aOpF7BUUrCpKr3c%3D&tn=Employee&srk=0001&spk=Sales&"
               "epk=Sales&erk=0999\n");
    expect_sql(
        SAS "'Tab', 'ua', NULL, '2026-11-24T01:00:00+01:00', 'a b&=%+ä😀', NULL, 'z''')",
        "sv=2019-02-02&se=2026-11-24T00%3A00%3A00Z&sp=au&sig="
        "zvVbFiq%2BXt7%2BBUBSa%2BYCNgEycBOgMDBqOik9ZYmhFNY%3D&tn=Tab&spk=a%20b%26%3D%25%2B%C3%A4%F0"
        "%9F%98%80&epk=z%27\n");
    assert_int_equal(canned_take_requests(), 0);
    close_remote();
}

static void optional_arguments_may_be_left_out(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(
        "SELECT pt_service_sas('dev', 'Tab', 'r', NULL, '2026-11-24') ="
        " pt_service_sas('DEV', 'Tab', 'r', NULL, '2026-11-24 00:00Z', NULL, '', NULL, NULL),"
        " pt_service_sas('dev', 'Tab', 'r', NULL, '2026-11-24', 5, 6) ="
        " pt_service_sas('dev', 'Tab', 'r', NULL, '2026-11-24', '5', '6', NULL, NULL)",
        "1 1\n");
    expect_sql("SELECT pt_service_sas('dev', 'Tab', 'r', NULL)",
               "1: wrong number of arguments to function pt_service_sas()");
    close_remote();
}

static void only_a_key_signs(void **state)
{
    (void)state;
    open_accounts();
    expect_sql("SELECT pt_service_sas('x', 'Tab', 'r', NULL, '2026-11-24')",
               "1: pt_service_sas: this connection has no account 'x'; name it first: SELECT "
               "pt_service_account('x', <connection string>)");
    expect_sql("SELECT pt_service_sas(NULL, 'Tab', 'r', NULL, '2026-11-24')",
               "20: pt_service_sas: the account must be a text, not NULL");
    register_account("SharedAccessSignature=sv=1&sig=secret");
    expect_sql("SELECT pt_service_sas('hr', 'Tab', 'r', NULL, '2026-11-24')",
               "1: pt_service_sas: the account has no AccountKey, which signs; name it with one");
    register_account("BearerToken=ey.secret");
    expect_sql("SELECT pt_service_sas('hr', 'Tab', 'r', NULL, '2026-11-24')",
               "1: pt_service_sas: the account has no AccountKey, which signs; name it with one");
    close_remote();
}

static void rights_are_letters_of_raud(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(SAS "'Tab', 'rx', NULL, '2026-11-24')",
               "1: pt_service_sas: the rights 'rx' are not letters of 'raud', each once: read, "
               "add, update, delete");
    expect_sql(SAS "'Tab', 'rr', NULL, '2026-11-24')",
               "1: pt_service_sas: the rights 'rr' are not letters of 'raud', each once: read, "
               "add, update, delete");
    expect_sql(SAS "'Tab', '', NULL, '2026-11-24')",
               "1: pt_service_sas: the rights '' are not letters of 'raud', each once: read, add, "
               "update, delete");
    expect_sql(SAS "'Tab', NULL, NULL, '2026-11-24')",
               "20: pt_service_sas: the rights must be a text, not NULL");
    expect_sql(SAS "'Tab', CAST(x'72FF' AS TEXT), NULL, '2026-11-24')",
               "1: pt_service_sas: the rights must be UTF-8 text without U+0000");
    close_remote();
}

static void tables_have_names_of_the_service(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(SAS "'a_b', 'r', NULL, '2026-11-24')",
               "1: pt_service_sas: the service has no table 'a_b': a name has 3 to 63 letters and "
               "digits (A-Z, a-z, 0-9), begins with a letter, and is not \"tables\"; give another "
               "one (InvalidResourceName)");
    expect_sql(SAS "x'54', 'r', NULL, '2026-11-24')",
               "20: pt_service_sas: the table must be a text, not a BLOB");
    expect_sql(SAS "'Tab' || char(0) || '!', 'r', NULL, '2026-11-24')",
               "1: pt_service_sas: the table must be UTF-8 text without U+0000");
    close_remote();
}

static void times_are_in_order(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(SAS "'Tab', 'r', NULL, NULL)",
               "20: pt_service_sas: the expiry must be a text, not NULL");
    expect_sql(SAS "'Tab', 'r', NULL, 5)", "1: pt_service_sas: the expiry '5' is not a time: it "
                                           "does not begin with a date YYYY-MM-DD; write it like "
                                           "'2026-11-21T08:43:22Z'");
    expect_sql(SAS "'Tab', 'r', NULL, 'now')",
               "1: pt_service_sas: the expiry 'now' is not a time: it does not begin with a date "
               "YYYY-MM-DD; write it like "
               "'2026-11-21T08:43:22Z'");
    expect_sql(SAS "'Tab', 'r', '2026-02-30', '2026-11-24')",
               "1: pt_service_sas: the start '2026-02-30' is not a time: its month has no such "
               "day; write it like '2026-11-21T08:43:22Z'");
    expect_sql(SAS "'Tab', 'r', '2026-11-24', '2026-11-24T00:00:00.9Z')",
               "1: pt_service_sas: the expiry is not after the start; give a later one");
    close_remote();
}

static void expect_range(const char *keys, const char *parameters)
{
    char *sql = sqlite3_mprintf(SAS "'Tab', 'r', NULL, '2026-11-24', %s) GLOB '*&tn=Tab&%s'", keys,
                                parameters);
    expect_sql(sql, "1\n");
    sqlite3_free(sql);
}

/* The service takes an empty parameter for none. */
static void key_ranges_are_in_order(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(SAS "'Tab2', 'r', NULL, '2026-11-24') GLOB '*&tn=Tab2'", "1\n");
    static const char reversed[] =
        "1: pt_service_sas: the end of the key range is before its start; exchange them";
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', 'b', NULL, 'a')", reversed);
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', 'b', '2', 'b', '1')", reversed);
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', 'bb', NULL, 'b')", reversed);
    expect_range("'b', '2', 'c', '1'", "srk=2&spk=b&epk=c&erk=1");
    expect_range("'b', '1', 'b', '1'", "srk=1&spk=b&epk=b&erk=1");
    expect_range("'b', '2', 'b'", "srk=2&spk=b&epk=b");
    expect_range("NULL, NULL, 'b'", "epk=b");
    /* UTF-16 orders these otherwise. */
    expect_range("char(0x1F600), NULL, char(0xFFFD)", "spk=%F0%9F%98%80&epk=%EF%BF%BD");
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', char(0xFFFD), NULL, char(0xD7FF))", reversed);
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', char(0x1F601), NULL, char(0x1F600))", reversed);
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', char(0x10FFFD), NULL, char(0x1F600))",
               reversed);
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', char(0x1F600), NULL, 'a')", reversed);
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', 'a', NULL, '')",
               "1: pt_service_sas: the end PartitionKey is empty, which the service takes for no "
               "end; give NULL or a key");
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', NULL, NULL, 'a', '')",
               "1: pt_service_sas: the end RowKey is empty, which the service takes for no end; "
               "give NULL or a key");
    expect_sql(
        SAS "'Tab', 'r', NULL, '2026-11-24', '', 'a')",
        "1: pt_service_sas: the start RowKey is given without the start PartitionKey; give both");
    expect_sql(
        SAS "'Tab', 'r', NULL, '2026-11-24', 'a', 'b', NULL, 'c')",
        "1: pt_service_sas: the end RowKey is given without the end PartitionKey; give both");
    close_remote();
}

/* A line end would begin the next part of the text that is signed. */
static void keys_are_keys_of_the_service(void **state)
{
    (void)state;
    open_accounts();
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', 'a' || char(10) || 'b')",
               "1: pt_service_sas: no entity has the start PartitionKey: a key has at most 512 "
               "characters, and "
               "none of / \\ # ? and of the control characters; give another one");
    expect_sql(
        SAS "'Tab', 'r', NULL, '2026-11-24', 'a', 'b/')",
        "1: pt_service_sas: no entity has the start RowKey: a key has at most 512 characters, and "
        "none of / \\ # ? and of the control characters; give another one");
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', NULL, NULL, 'a', CAST(x'FF' AS TEXT))",
               "1: pt_service_sas: the end RowKey must be UTF-8 text without U+0000");
    expect_sql(SAS "'Tab', 'r', NULL, '2026-11-24', 1.5)",
               "20: pt_service_sas: the start PartitionKey must be a text, not a REAL");
    close_remote();
}

/* A view or trigger of a database from elsewhere must not sign. */
static void schemas_cannot_sign(void **state)
{
    (void)state;
    open_accounts();
    expect_sql("CREATE VIEW v AS SELECT pt_service_sas('dev', 'Tab', 'r', NULL, '2026-11-24') AS s",
               "");
    expect_sql("SELECT s FROM v", "1: unsafe use of pt_service_sas()");
    close_remote();
}

static void signing_may_run_out_of_memory(void **state)
{
    (void)state;
    static const char *const statements[] = {
        SAS "'Tab', 'raud', '2026-11-23', '2026-11-24', 'a', 'b', 'c', 'd')",
        SAS "'Tab', 'x', NULL, '2026-11-24')",
        SAS "'Tab', 'r', NULL, '2026-11-24', 'a/', 'b')",
        "SELECT pt_service_sas(5, 'Tab', 'r', NULL, '2026-11-24')",
        SAS "5, 6, NULL, '2026-11-24', 7)",
    };
    open_accounts();
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            failing_malloc_arm(n, false);
            int rc = sqlite3_exec(db, statements[i], NULL, NULL, NULL);
            hit = failing_malloc_disarm();
            assert_true(rc == (i == 0 ? SQLITE_OK : SQLITE_ERROR) || (hit && rc == SQLITE_NOMEM));
        }
    }
    close_remote();
}

/* The text of a database in UTF-16 is converted first. */
static void the_account_may_need_memory(void **state)
{
    (void)state;
    bool hit = true;
    int failures = 0;
    open_accounts();
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    expect_sql("PRAGMA encoding = 'UTF-16le'", "");
    assert_int_equal(sqlite3_ptableservice_init(db, NULL, NULL), SQLITE_OK);
    register_account("AccountKey=" REMOTE_KEY);
    for (int n = 0; hit; n++) {
        failing_malloc_arm(n, false);
        int rc = sqlite3_exec(db, "SELECT pt_service_sas('hr', 'Tab', 'r', NULL, '2026-11-24')",
                              NULL, NULL, NULL);
        hit = failing_malloc_disarm();
        failures += hit;
        assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
    }
    assert_true(failures > 10);
    close_remote();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_those_of_the_services_libraries),
        cmocka_unit_test(optional_arguments_may_be_left_out),
        cmocka_unit_test(only_a_key_signs),
        cmocka_unit_test(rights_are_letters_of_raud),
        cmocka_unit_test(tables_have_names_of_the_service),
        cmocka_unit_test(times_are_in_order),
        cmocka_unit_test(key_ranges_are_in_order),
        cmocka_unit_test(keys_are_keys_of_the_service),
        cmocka_unit_test(schemas_cannot_sign),
        cmocka_unit_test(signing_may_run_out_of_memory),
        cmocka_unit_test(the_account_may_need_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, leave_no_memory);
}
