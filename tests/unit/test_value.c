#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "../../ext/ticks.h"
#include "../../ext/value.h"
#include "failing_malloc.h"
#include "value_conversions.h"
#include "value_same.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static sqlite3 *db;

static sqlite3 *open_database(void)
{
    sqlite3 *opened = NULL;
    assert_int_equal(sqlite3_open(":memory:", &opened), SQLITE_OK);
    return opened;
}

static int open_shared(void **state)
{
    (void)state;
    db = open_database();
    return 0;
}

static int close_shared(void **state)
{
    (void)state;
    return sqlite3_close(db);
}

/* What an SQL expression gives; sqlite3_value_free frees it. */
static sqlite3_value *value_in(sqlite3 *database, const char *expression)
{
    char *sql = sqlite3_mprintf("SELECT %s", expression);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(database, sql, -1, &statement, NULL);
    if (rc != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(database));
    }
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    assert_non_null(value);
    return value;
}

static sqlite3_value *value_of(const char *expression)
{
    return value_in(db, expression);
}

static void render_bytes(pt_slice bytes, bool hex, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        int added = snprintf(text + used, size - used,
                             hex                  ? "%02x"
                             : bytes.data[i] == 0 ? "\\0"
                                                  : "%c",
                             bytes.data[i]);
        used += (size_t)added;
    }
}

/* A property's value for comparison with a table. */
static void render(const pt_value *value, char *text, size_t size)
{
    char canonical[PT_GUID_TEXT_SIZE + 1] = "NULL";
    switch (value->type) {
    case PT_STRING:
    case PT_BINARY:
        render_bytes(value->bytes, value->type == PT_BINARY, text, size);
        return;
    case PT_DOUBLE:
        snprintf(text, size, "%.17g", value->real);
        return;
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        snprintf(text, size, "%lld", (long long)value->integer);
        return;
    case PT_DATETIME:
        pt_ticks_format(value->integer, canonical);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, canonical);
        break;
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        break;
    }
    snprintf(text, size, "%s", canonical);
}

/* The rendered result of a conversion, or "-" if it was refused: as in value_conversions.h. */
static void convert(sqlite3_value *value, pt_type declared, char *text, size_t size)
{
    pt_value converted = {.type = (pt_type)77};
    pt_error error = PT_ERROR_NONE;
    int rc = pt_value_from_sql(value, declared, "Age", &converted, &error);
    if (rc == SQLITE_OK) {
        assert_null(error.message);
        assert_true(declared == PT_NONE || converted.type == declared || converted.type == PT_NONE);
        render(&converted, text, size);
        return;
    }
    assert_int_equal(rc, SQLITE_MISMATCH);
    assert_int_equal(error.rc, SQLITE_MISMATCH);
    assert_int_equal(converted.type, 77);
    char type[32];
    snprintf(type, sizeof type, "%s; ", pt_type_name(declared));
    assert_ptr_equal(strstr(error.message, "column Age: "), error.message);
    assert_non_null(strstr(error.message, type));
    assert_non_null(strstr(error.message, " (InvalidValueType)"));
    pt_error_clear(&error);
    snprintf(text, size, "-");
}

static void assert_conversion(sqlite3 *database, size_t row, pt_type type)
{
    const char *expression = conversions[row].expression;
    sqlite3_value *value = value_in(database, expression);
    const char *expected = conversions[row].converted[type - 1];
    char text[200];
    convert(value, type, text, sizeof text);
    if (strcmp(text, expected) != 0) {
        fail_msg("%s as %s gave %s", expression, pt_type_name(type), text);
    }
    sqlite3_value_free(value);
}

static void check_conversions(sqlite3 *database)
{
    for (size_t i = 0; i < COUNT(conversions); i++) {
        for (int type = PT_STRING; type <= PT_TYPE_LAST; type++) {
            assert_conversion(database, i, (pt_type)type);
        }
    }
}

static void every_type_takes_what_loses_nothing(void **state)
{
    (void)state;
    check_conversions(db);
}

static void utf16_databases_convert_alike(void **state)
{
    (void)state;
    sqlite3 *wide = open_database();
    assert_int_equal(
        sqlite3_exec(wide, "PRAGMA encoding='UTF-16le'; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    check_conversions(wide);
    assert_int_equal(sqlite3_close(wide), SQLITE_OK);
}

static void without_a_declared_type_a_value_keeps_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(conversions); i++) {
        sqlite3_value *value = value_of(conversions[i].expression);
        pt_value converted;
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(pt_value_from_sql(value, PT_NONE, "Age", &converted, &error), SQLITE_OK);
        assert_int_equal(converted.type, conversions[i].own);
        if (converted.type != PT_NONE) {
            char text[200];
            render(&converted, text, sizeof text);
            assert_string_equal(text, conversions[i].converted[converted.type - 1]);
        }
        sqlite3_value_free(value);
    }
}

static void a_conversion_leaves_the_value_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(conversions); i++) {
        sqlite3_value *value = value_of(conversions[i].expression);
        int before = sqlite3_value_type(value);
        for (int type = PT_NONE; type <= PT_TYPE_LAST; type++) {
            char text[200];
            convert(value, (pt_type)type, text, sizeof text);
            assert_int_equal(sqlite3_value_type(value), before);
        }
        sqlite3_value_free(value);
    }
}

static void assert_message(const char *expression, pt_type declared, const char *expected)
{
    sqlite3_value *value = value_of(expression);
    pt_value converted;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_value_from_sql(value, declared, "Age", &converted, &error),
                     SQLITE_MISMATCH);
    assert_string_equal(error.message, expected);
    pt_error_clear(&error);
    sqlite3_value_free(value);
}

static void messages_name_column_value_type_and_remedy(void **state)
{
    (void)state;
    assert_message("'abc'", PT_INT32,
                   "column Age: 'abc' is not an Int32; give an integer from -2147483648 to "
                   "2147483647 (InvalidValueType)");
    assert_message("2147483648", PT_INT32,
                   "column Age: 2147483648 is not an Int32; give an integer from -2147483648 to "
                   "2147483647 (InvalidValueType)");
    assert_message("1.5", PT_INT64,
                   "column Age: 1.5 is not an Int64; give an integer from -9223372036854775808 to "
                   "9223372036854775807 (InvalidValueType)");
    assert_message("-1e999", PT_BOOLEAN,
                   "column Age: -Infinity is not a Boolean; give 0, 1, 'false' or 'true' "
                   "(InvalidValueType)");
    assert_message("x'00ff'", PT_STRING,
                   "column Age: x'00ff' is not a String; give text, for example by CAST(... AS "
                   "TEXT) (InvalidValueType)");
    assert_message("zeroblob(1000)", PT_STRING,
                   "column Age: x'00000000000000000000000000000000...' (1000 bytes) is not a "
                   "String; give text, for example by CAST(... AS TEXT) (InvalidValueType)");
    assert_message("'abc'", PT_BINARY,
                   "column Age: 'abc' is not a Binary; give a BLOB, such as x'0011' or CAST(... "
                   "AS BLOB) (InvalidValueType)");
    assert_message("printf('%.100c', '\xE2\x82\xAC')", PT_BOOLEAN,
                   "column Age: '\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"
                   "...' is not a Boolean; give 0, 1, 'false' or 'true' (InvalidValueType)");
}

static void strings_and_blobs_are_not_copied(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        pt_type declared;
    } cases[] = {{"'Jun Jones'", PT_STRING}, {"34", PT_STRING}, {"x'001122'", PT_BINARY}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        sqlite3_value *value = value_of(cases[i].expression);
        pt_value converted;
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(pt_value_from_sql(value, cases[i].declared, "Age", &converted, &error),
                         SQLITE_OK);
        const void *own = cases[i].declared == PT_BINARY ? sqlite3_value_blob(value)
                                                         : (const void *)sqlite3_value_text(value);
        assert_ptr_equal(converted.bytes.data, own);
        sqlite3_value_free(value);
    }
}

/* --- Results --- */

static pt_value given;
static bool given_lasting;

static void give(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    pt_value_result(context, &given, given_lasting);
}

static sqlite3_stmt *give_statement(const char *sql)
{
    assert_int_equal(
        sqlite3_create_function_v2(db, "give", 0, SQLITE_UTF8, NULL, give, NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    return statement;
}

static pt_value string_of(const char *text, size_t size)
{
    return (pt_value){.type = PT_STRING, .bytes = pt_slice_of(text, size)};
}

static pt_value binary_of(const char *bytes, size_t size)
{
    return (pt_value){.type = PT_BINARY, .bytes = pt_slice_of(bytes, size)};
}

static pt_value double_of(double real)
{
    return (pt_value){.type = PT_DOUBLE, .real = real};
}

static pt_value integer_of(pt_type type, int64_t integer)
{
    return (pt_value){.type = type, .integer = integer};
}

enum { SAMPLES = 26 };

static void fill_samples(pt_value samples[SAMPLES])
{
    pt_value guid = {.type = PT_GUID};
    assert_true(pt_guid_parse(pt_slice_text(GUID), guid.guid));
    pt_value list[SAMPLES] = {
        {.type = PT_NONE},
        string_of("", 0),
        string_of("Jun", 3),
        string_of("a\0b", 3),
        string_of("\0", 1),
        string_of("NaN", 3),
        string_of("1", 1),
        string_of(GUID, 36),
        string_of("2026-11-21T08:43:22.5484454Z", 28),
        integer_of(PT_INT32, 1),
        integer_of(PT_INT32, INT32_MIN),
        integer_of(PT_INT64, INT64_MAX),
        integer_of(PT_INT64, INT64_MIN),
        integer_of(PT_BOOLEAN, 0),
        double_of(1.0),
        double_of(0.0),
        double_of(-0.0),
        double_of(0.1),
        double_of(NAN),
        double_of(-INFINITY),
        integer_of(PT_DATETIME, 0),
        integer_of(PT_DATETIME, INT64_C(638993114025484454)),
        guid,
        binary_of("", 0),
        binary_of("1", 1),
        binary_of("\0\xFF", 2),
    };
    memcpy(samples, list, sizeof list);
}

/* What SQLite says of give(): its type and, for comparison, its bytes. */
static void describe_given(const pt_value *value, bool lasting, char *text, size_t size)
{
    given = *value;
    given_lasting = lasting;
    sqlite3_stmt *statement =
        give_statement("SELECT typeof(g), hex(CAST(g AS BLOB)), g FROM (SELECT give() AS g)");
    snprintf(text, size, "%s %s", (const char *)sqlite3_column_text(statement, 0),
             (const char *)sqlite3_column_text(statement, 1));
    sqlite3_finalize(statement);
}

static void results_have_their_types_form(void **state)
{
    (void)state;
    static const struct {
        int sample;
        const char *described;
    } expected[] = {
        {0, "null "},
        {1, "text "},
        {2, "text 4A756E"},
        {3, "text 610062"},
        {4, "text 00"},
        {9, "integer 31"},
        {12, "integer 2D39323233333732303336383534373735383038"},
        {13, "integer 30"},
        {14, "real 312E30"},
        {18, "text 4E614E"},
        {19, "real 2D496E66"},
        {20, "text 303030312D30312D30315430303A30303A30302E303030303030305A"},
        {22, "text 30663866616435622D643963622D343639662D613136352D373038363737323839353065"},
        {23, "blob "},
        {25, "blob 00FF"},
    };
    pt_value samples[SAMPLES];
    fill_samples(samples);
    for (size_t i = 0; i < COUNT(expected); i++) {
        for (int lasting = 0; lasting < 2; lasting++) {
            char text[200];
            describe_given(&samples[expected[i].sample], lasting != 0, text, sizeof text);
            assert_string_equal(text, expected[i].described);
        }
    }
}

static void empty_values_may_have_no_memory(void **state)
{
    (void)state;
    for (int lasting = 0; lasting < 2; lasting++) {
        char text[200];
        pt_value string = string_of(NULL, 0);
        describe_given(&string, lasting != 0, text, sizeof text);
        assert_string_equal(text, "text ");
        pt_value binary = binary_of(NULL, 0);
        describe_given(&binary, lasting != 0, text, sizeof text);
        assert_string_equal(text, "blob ");
    }
}

static void lasting_results_are_not_copied(void **state)
{
    (void)state;
    static const char text[] = "Jun Jones";
    given = string_of(text, strlen(text));
    given_lasting = true;
    sqlite3_stmt *statement = give_statement("SELECT give()");
    assert_ptr_equal(sqlite3_column_text(statement, 0), text);
    assert_int_equal(sqlite3_column_bytes(statement, 0), 9);
    sqlite3_finalize(statement);
    given = binary_of(text, 4);
    statement = give_statement("SELECT give()");
    assert_ptr_equal(sqlite3_column_blob(statement, 0), text);
    assert_int_equal(sqlite3_column_bytes(statement, 0), 4);
    sqlite3_finalize(statement);
}

static void other_results_are_copied(void **state)
{
    (void)state;
    char text[] = "Jun Jones";
    given_lasting = false;
    given = string_of(text, 3); /* no NUL behind its size */
    sqlite3_stmt *statement = give_statement("SELECT give()");
    text[0] = 'X';
    assert_string_equal(sqlite3_column_text(statement, 0), "Jun");
    sqlite3_finalize(statement);
    text[0] = 'J';
    given = binary_of(text, 3);
    statement = give_statement("SELECT give()");
    text[0] = 'X';
    assert_memory_equal(sqlite3_column_blob(statement, 0), "Jun", 3);
    sqlite3_finalize(statement);
}

static sqlite3_value *result_of(const pt_value *value)
{
    given = *value;
    given_lasting = true;
    sqlite3_finalize(give_statement("SELECT give()")); /* registers give() */
    return value_of("give()");
}

static void results_convert_back_to_the_same_property(void **state)
{
    (void)state;
    pt_value samples[SAMPLES];
    fill_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        sqlite3_value *result = result_of(&samples[i]);
        pt_value back;
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(pt_value_from_sql(result, samples[i].type, "Age", &back, &error),
                         SQLITE_OK);
        if (samples[i].type == PT_DOUBLE && isnan(samples[i].real)) {
            assert_true(isnan(back.real));
        } else {
            assert_true(value_same(&samples[i], &back));
        }
        sqlite3_value_free(result);
    }
}

/* Same storage class and same bits, looked at without the code under test. */
static bool same_sql(sqlite3_value *a, sqlite3_value *b)
{
    int type = sqlite3_value_type(a);
    if (type != sqlite3_value_type(b)) {
        return false;
    }
    double left = sqlite3_value_double(a);
    double right = sqlite3_value_double(b);
    switch (type) {
    case SQLITE_NULL:
        return true;
    case SQLITE_INTEGER:
        return sqlite3_value_int64(a) == sqlite3_value_int64(b);
    case SQLITE_FLOAT:
        return memcmp(&left, &right, sizeof left) == 0;
    default:
        return sqlite3_value_bytes(a) == sqlite3_value_bytes(b) &&
               (sqlite3_value_bytes(a) == 0 || memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b),
                                                      (size_t)sqlite3_value_bytes(a)) == 0);
    }
}

static void equality_means_what_reading_gives(void **state)
{
    (void)state;
    pt_value samples[SAMPLES];
    fill_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        sqlite3_value *expected = result_of(&samples[i]);
        for (size_t k = 0; k < SAMPLES; k++) {
            sqlite3_value *other = result_of(&samples[k]);
            int type = sqlite3_value_type(other);
            bool equal = pt_value_equals_sql(&samples[i], other);
            assert_int_equal(sqlite3_value_type(other), type);
            assert_int_equal(equal, same_sql(expected, other));
            sqlite3_value_free(other);
        }
        sqlite3_value_free(expected);
    }
}

/* --- Out of memory --- */

static void check_out_of_memory(sqlite3 *database, const char *expression, pt_type declared)
{
    for (int n = 0;; n++) {
        sqlite3_value *value = value_in(database, expression);
        pt_value converted = {.type = (pt_type)77};
        pt_error error = PT_ERROR_NONE;
        failing_malloc_arm(n, false);
        int rc = pt_value_from_sql(value, declared, "Age", &converted, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(error.rc, rc);
        if (hit) {
            assert_int_equal(rc, SQLITE_NOMEM);
            assert_null(error.message);
            assert_int_equal(converted.type, 77);
        }
        pt_error_clear(&error);
        sqlite3_value_free(value);
        if (!hit) {
            return;
        }
    }
}

static void out_of_memory_is_reported_and_changes_nothing(void **state)
{
    (void)state;
    sqlite3 *wide = open_database();
    assert_int_equal(
        sqlite3_exec(wide, "PRAGMA encoding='UTF-16le'; CREATE TABLE t(x)", NULL, NULL, NULL),
        SQLITE_OK);
    for (size_t i = 0; i < COUNT(conversions); i++) {
        for (int type = PT_NONE; type <= PT_TYPE_LAST; type++) {
            check_out_of_memory(db, conversions[i].expression, (pt_type)type);
            check_out_of_memory(wide, conversions[i].expression, (pt_type)type);
        }
    }
    assert_int_equal(sqlite3_close(wide), SQLITE_OK);
}

/* --- Results with their memory --- */

static pt_buffer given_buffer;
static const void *given_data;
static pt_type given_type;

static void give_buffer(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_buffer_assign(&given_buffer, pt_slice_of(sqlite3_value_blob(argv[0]),
                                                (size_t)sqlite3_value_bytes(argv[0])));
    pt_buffer_reserve(&given_buffer, 1);
    given_buffer.data[given_buffer.size] = 0;
    given_data = given_buffer.data;
    pt_value_result_buffer(context, given_type, &given_buffer);
}

/* SQLite frees the memory; nothing is copied unless a text has U+0000 inside. */
static void a_buffer_is_handed_over(void **state)
{
    (void)state;
    static const char *const selects[] = {"SELECT give_buffer(x'4A756E')",
                                          "SELECT give_buffer(x'610062')"};
    assert_int_equal(sqlite3_create_function_v2(db, "give_buffer", 1, SQLITE_UTF8, NULL,
                                                give_buffer, NULL, NULL, NULL),
                     SQLITE_OK);
    for (int i = 0; i < 4; i++) {
        bool text = i % 2 == 0;
        sqlite3_stmt *statement = NULL;
        given_type = text ? PT_STRING : PT_BINARY;
        assert_int_equal(sqlite3_prepare_v2(db, selects[i / 2], -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_null(given_buffer.data);
        assert_int_equal(sqlite3_column_type(statement, 0), text ? SQLITE_TEXT : SQLITE_BLOB);
        const void *data = text ? (const void *)sqlite3_column_text(statement, 0)
                                : sqlite3_column_blob(statement, 0);
        assert_int_equal(sqlite3_column_bytes(statement, 0), 3);
        assert_memory_equal(data, i < 2 ? "Jun" : "a\0b", 3);
        assert_true(data == given_data || (text && i >= 2));
        sqlite3_finalize(statement);
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_takes_what_loses_nothing),
        cmocka_unit_test(utf16_databases_convert_alike),
        cmocka_unit_test(without_a_declared_type_a_value_keeps_its_own),
        cmocka_unit_test(a_conversion_leaves_the_value_as_it_was),
        cmocka_unit_test(messages_name_column_value_type_and_remedy),
        cmocka_unit_test(strings_and_blobs_are_not_copied),
        cmocka_unit_test(results_have_their_types_form),
        cmocka_unit_test(empty_values_may_have_no_memory),
        cmocka_unit_test(lasting_results_are_not_copied),
        cmocka_unit_test(other_results_are_copied),
        cmocka_unit_test(results_convert_back_to_the_same_property),
        cmocka_unit_test(equality_means_what_reading_gives),
        cmocka_unit_test(out_of_memory_is_reported_and_changes_nothing),
        cmocka_unit_test(a_buffer_is_handed_over),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
