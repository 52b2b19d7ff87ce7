#include "fixtures/cmocka.h"

#include "functions/function_arguments.h"
#include "unit/functions/function_fixture.h"

static void text_back(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice text;
    if (!pt_arguments_have_null(argc, argv) && pt_argument_text(context, argv[0], &text)) {
        pt_buffer buffer = {0};
        pt_buffer_append_slice(&buffer, text);
        pt_result_text(context, &buffer);
        assert_null(buffer.data);
    }
}

static void key_text_back(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice text;
    char digits[PT_INTEGER_TEXT_SIZE];
    if (!pt_arguments_have_null(argc, argv) &&
        pt_argument_key_text(context, argv[0], digits, &text)) {
        pt_buffer buffer = {0};
        pt_buffer_append_slice(&buffer, text);
        pt_result_text(context, &buffer);
    }
}

static void integer_back(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t integer;
    assert_int_equal(argc, 1);
    if (pt_argument_integer(context, argv[0], &integer)) {
        sqlite3_result_int64(context, integer);
    }
}

static void refuse_always(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    assert_int_equal(argc, 1);
    pt_argument_refuse(context, argv[0], "is %d%s; give %Q", 5, "%", "it's");
}

static sqlite3 *open_with_functions(void)
{
    sqlite3 *db = fixture_open();
    fixture_register(db, "text_back", text_back);
    fixture_register(db, "key_text_back", key_text_back);
    fixture_register(db, "integer_back", integer_back);
    fixture_register(db, "refuse", refuse_always);
    return db;
}

static void texts_and_integers_are_text(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "text_back('')", "");
    fixture_expect(db, "typeof(text_back(''))", "text");
    fixture_expect(db, "text_back('é')", "é");
    fixture_expect(db, "text_back(-9223372036854775808)", "-9223372036854775808");
    fixture_expect(db, "hex(text_back('a' || char(0) || 'b'))", "610062");
    fixture_expect(db, "text_back(NULL)", "(null)");
    fixture_expect(db, "text_back('a', NULL)", "(null)");
    fixture_expect(db, "text_back(1e3)", "text_back: 1000.0 is REAL; give TEXT or INTEGER");
    fixture_expect(db, "text_back(x'')",
                   "text_back: a BLOB of size 0 is not text; give TEXT or INTEGER");
    fixture_close(db);
}

static void whole_reals_are_integers_in_keys(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "key_text_back(1.0)", "1");
    fixture_expect(db, "key_text_back(-0.0)", "0");
    fixture_expect(db, "key_text_back(-1e3)", "-1000");
    fixture_expect(db, "key_text_back(9007199254740992.0)", "9007199254740992");
    fixture_expect(db, "key_text_back(-9007199254740992.0)", "-9007199254740992");
    fixture_expect(db, "key_text_back(1)", "1");
    fixture_expect(db, "key_text_back('1.0')", "1.0");
    fixture_expect(db, "key_text_back(NULL)", "(null)");
    fixture_expect(db, "key_text_back(1.5)", "key_text_back: 1.5 is REAL; give TEXT or INTEGER");
    fixture_expect(db, "key_text_back(9007199254740994.0)",
                   "key_text_back: 9007199254740994.0 is REAL; give TEXT or INTEGER");
    fixture_expect(db, "key_text_back(1e300)",
                   "key_text_back: 1.0e+300 is REAL; give TEXT or INTEGER");
    fixture_expect(db, "key_text_back(-1e999)",
                   "key_text_back: -Infinity is REAL; give TEXT or INTEGER");
    fixture_close(db);
}

static void only_exact_integers_are_integers(void **state)
{
    (void)state;
    static const char *const exact[][2] = {
        {"7", "7"},
        {"'7'", "7"},
        {"'-0'", "0"},
        {"'+1'", "1"},
        {"'0012'", "12"},
        {"'9223372036854775807'", "9223372036854775807"},
        {"'-9223372036854775808'", "-9223372036854775808"},
        {"'000000000000000000000000000001'", "1"},
        {"1.0", "1"},
        {"-0.0", "0"},
        {"1e3", "1000"},
        {"9007199254740992.0", "9007199254740992"},
        {"-9007199254740992.0", "-9007199254740992"},
    };
    static const char *const other[] = {
        "''",
        "'-'",
        "'--1'",
        "'+-1'",
        "' 1'",
        "'1 '",
        "'1.0'",
        "'0x1'",
        "'1' || char(0)",
        "'x'",
        "1.5",
        "9007199254740994.0",
        "1e300",
        "1e999",
        "-1e999",
        "NULL",
        "x'31'",
        "'9223372036854775808'",
        "'-9223372036854775809'",
        "'99999999999999999999'",
        "'-99999999999999999999'",
    };
    sqlite3 *db = open_with_functions();
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        char *call = sqlite3_mprintf("integer_back(%s)", exact[i][0]);
        fixture_expect(db, call, exact[i][1]);
        sqlite3_free(call);
    }
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        char *sql = sqlite3_mprintf("SELECT integer_back(%s)", other[i]);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_ERROR);
        assert_non_null(strstr(sqlite3_errmsg(db), "is not an integer of 64 bits; give"));
        sqlite3_free(sql);
    }
    fixture_close(db);
}

static void messages_show_the_value(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "refuse(-3)", "refuse: -3 is 5%; give 'it''s'");
    fixture_expect(db, "refuse(NULL)", "refuse: NULL is 5%; give 'it''s'");
    fixture_expect(db, "refuse(0.1)", "refuse: 0.1 is 5%; give 'it''s'");
    fixture_expect(db, "refuse(9007199254740994.0)",
                   "refuse: 9007199254740994.0 is 5%; give 'it''s'");
    fixture_expect(db, "refuse('o''c')", "refuse: 'o''c' is 5%; give 'it''s'");
    fixture_expect(db, "refuse(zeroblob(3))", "refuse: a BLOB of size 3 is 5%; give 'it''s'");
    fixture_expect(db, "refuse(CAST(x'61ff' AS TEXT))",
                   "refuse: a text of size 2 with U+0000 or malformed UTF-8 is 5%; give 'it''s'");
    fixture_close(db);
}

static void messages_shorten_at_a_character(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect(db, "refuse(replace(hex(zeroblob(20)), '0', 'é'))",
                   "refuse: 'éééééééééééééééééééééééééééééééééééééééé' is 5%; give 'it''s'");
    fixture_expect(db, "refuse('a' || replace(hex(zeroblob(20)), '0', '😀'))",
                   "refuse: 'a😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀😀...' is 5%; "
                   "give 'it''s'");
    fixture_close(db);
}

static void wide_databases_work_too(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_make_wide(db, "é😀");
    fixture_expect(db, "text_back(x) FROM t", "é😀");
    fixture_expect(db, "integer_back('12') FROM t", "12");
    fixture_expect(db, "refuse(x) FROM t", "refuse: 'é😀' is 5%; give 'it''s'");
    fixture_expect(db, "text_back('') = '' FROM t", "1");
    fixture_close(db);
}

static void memory_may_run_out(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    for (int persistent = 0; persistent < 2; persistent++) {
        fixture_expect_without_memory(db, "text_back(31)", "31", persistent);
        fixture_expect_without_memory(db, "text_back('a' || 'b')", "ab", persistent);
        fixture_expect_without_memory(db, "integer_back('5' || '6')", "56", persistent);
        fixture_expect_without_memory(db, "refuse('a')", "refuse: 'a' is 5%; give 'it''s'",
                                      persistent);
        fixture_expect_without_memory(db, "refuse(x'00')",
                                      "refuse: a BLOB of size 1 is 5%; give 'it''s'", persistent);
    }
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA encoding='UTF-16be'; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    fixture_expect_without_memory(db, "text_back('a' || 'b')", "ab", false);
    fixture_expect_without_memory(db, "integer_back('5' || '6')", "56", false);
    fixture_expect_without_memory(db, "refuse('a' || 'b')", "refuse: 'ab' is 5%; give 'it''s'",
                                  false);
    fixture_close(db);
}

static void failed_buffers_are_no_memory(void **state)
{
    (void)state;
    sqlite3 *db = open_with_functions();
    fixture_expect_without_memory(db, "text_back(hex(zeroblob(5000))) = hex(zeroblob(5000))", "1",
                                  false);
    fixture_close(db);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_and_integers_are_text),
        cmocka_unit_test(whole_reals_are_integers_in_keys),
        cmocka_unit_test(only_exact_integers_are_integers),
        cmocka_unit_test(messages_show_the_value),
        cmocka_unit_test(messages_shorten_at_a_character),
        cmocka_unit_test(wide_databases_work_too),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(failed_buffers_are_no_memory),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
