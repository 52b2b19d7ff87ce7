#include "fixtures/value_fixture.h"

#include <math.h>
#include <stdio.h>

#include "base/ticks.h"
#include "fixtures/value_same.h"

#define GUID "0f8fad5b-d9cb-469f-a165-70867728950e"

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
    given = string_of(text, 3); /* no NUL after its size */
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_have_their_types_form),
        cmocka_unit_test(empty_values_may_have_no_memory),
        cmocka_unit_test(lasting_results_are_not_copied),
        cmocka_unit_test(other_results_are_copied),
        cmocka_unit_test(results_convert_back_to_the_same_property),
        cmocka_unit_test(equality_means_what_reading_gives),
        cmocka_unit_test(a_buffer_is_handed_over),
    };
    return cmocka_run_group_tests(tests, open_shared, close_shared);
}
