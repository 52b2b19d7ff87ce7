#include "fixtures/value_fixture.h"

#include <math.h>
#include <stdio.h>

#include "base/ticks.h"
#include "faults/failing_malloc.h"
#include "fixtures/value_same.h"
#include "unit/value/value_conversions.h"

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
    bool has_rule = declared == PT_DATETIME || declared == PT_GUID ||
                    strstr(error.message, "digits that a Double cannot keep") != NULL;
    bool text_given = sqlite3_value_type(value) == SQLITE_TEXT;
    snprintf(type, sizeof type, "%s%s ", pt_type_name(declared),
             has_rule && text_given ? ":" : ";");
    assert_ptr_equal(strstr(error.message, "column Age: "), error.message);
    assert_non_null(strstr(error.message, type));
    assert_non_null(strstr(error.message, " (InvalidValueType)"));
    pt_error_clear(&error);
    snprintf(text, size, "-");
}

/*
 * SQLite writes 15 digits of a number, recent versions as many as it takes to read it back. So with
 * those a number becomes text that would lose something with others.
 */
static bool is_written_exactly(sqlite3 *database, const char *expression, char *text, size_t size)
{
    char *sql = sqlite3_mprintf("CASE WHEN typeof(%s) = 'real' AND CAST(CAST(%s AS TEXT) AS REAL)"
                                " = %s THEN CAST(%s AS TEXT) END",
                                expression, expression, expression, expression);
    sqlite3_value *written = value_in(database, sql);
    bool exact = sqlite3_value_type(written) == SQLITE_TEXT;
    if (exact) {
        snprintf(text, size, "%s", (const char *)sqlite3_value_text(written));
    }
    sqlite3_value_free(written);
    sqlite3_free(sql);
    return exact;
}

static void assert_conversion(sqlite3 *database, size_t row, pt_type type)
{
    const char *expression = conversions[row].expression;
    sqlite3_value *value = value_in(database, expression);
    const char *expected = conversions[row].converted[type - 1];
    char text[200];
    char written[40];
    if (type == PT_STRING && strcmp(expected, "-") == 0 &&
        is_written_exactly(database, expression, written, sizeof written)) {
        expected = written;
    }
    convert(value, type, text, sizeof text);
    if (strcmp(text, expected) != 0) {
        fail_msg("%s as %s gave %s", expression, pt_type_name(type), text);
    }
    sqlite3_value_free(value);
}

/* SQLite writes no sign of zero. */
static void a_negative_zero_is_no_string(void **state)
{
    (void)state;
    char text[40];
    sqlite3_value *value = value_in(db, "-1e-300 * 1e-300");
    assert_int_equal(sqlite3_value_type(value), SQLITE_FLOAT);
    convert(value, PT_STRING, text, sizeof text);
    assert_string_equal(text, "-");
    convert(value, PT_DOUBLE, text, sizeof text);
    assert_string_equal(text, "-0");
    convert(value, PT_INT32, text, sizeof text);
    assert_string_equal(text, "0");
    convert(value, PT_BOOLEAN, text, sizeof text);
    assert_string_equal(text, "0");
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

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_takes_what_loses_nothing),
        cmocka_unit_test(a_negative_zero_is_no_string),
        cmocka_unit_test(utf16_databases_convert_alike),
        cmocka_unit_test(without_a_declared_type_a_value_keeps_its_own),
        cmocka_unit_test(a_conversion_leaves_the_value_as_it_was),
        cmocka_unit_test(messages_name_column_value_type_and_remedy),
        cmocka_unit_test(strings_and_blobs_are_not_copied),
        cmocka_unit_test(out_of_memory_is_reported_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
