#include "fixtures/cmocka.h"

#include <math.h>
#include <stdio.h>

#include "base/sqlite.h"
#include "fixtures/filter_entity.h"
#include "query/filter.h"

static pt_filter filter;

static void parse(const char *text)
{
    pt_error error = PT_ERROR_NONE;
    if (pt_filter_parse(&filter, pt_slice_text(text), &error) != SQLITE_OK) {
        fail_msg("%s: %s", text, error.message);
    }
}

static bool holds(test_entity *made, const char *text)
{
    parse(text);
    return passes(made, &filter);
}

static void assert_holds(test_entity *made, const char *text, bool expected)
{
    if (holds(made, text) != expected) {
        fail_msg("%s is %s", text, expected ? "false" : "true");
    }
}

/* An entity with one property, P. */
static void make_with(test_entity *made, const pt_value *value)
{
    named_value named = {.name = "P", .value = *value};
    make_entity(made, "pk", "rk", &named, 1);
}

static pt_value text_value(const char *text)
{
    return (pt_value){.type = PT_STRING, .bytes = pt_slice_text(text)};
}

/* In the order of the operators, and what each gives for less, equal, greater, unordered. */
static const char *const operators[] = {"eq", "ne", "gt", "ge", "lt", "le"};
static const char *const mirrors[] = {"eq", "ne", "lt", "le", "gt", "ge"};
enum { OPERATORS = 6, LESS = 0, EQUAL = 1, GREATER = 2, UNORDERED = 3 };
static const bool truth[OPERATORS][4] = {
    {false, true, false, false}, {true, false, true, true},   {false, false, true, false},
    {false, true, true, false},  {true, false, false, false}, {true, true, false, false},
};

/* All operators, the constant right and left, with and without not. */
static void assert_order(test_entity *made, const char *property, const char *constant, int order)
{
    char text[300];
    for (int op = 0; op < OPERATORS; op++) {
        snprintf(text, sizeof text, "%s %s %s", property, operators[op], constant);
        assert_holds(made, text, truth[op][order]);
        snprintf(text, sizeof text, "%s %s %s", constant, mirrors[op], property);
        assert_holds(made, text, truth[op][order]);
        snprintf(text, sizeof text, "not %s %s %s", property, operators[op], constant);
        assert_holds(made, text, !truth[op][order]);
    }
}

/* --- One type --- */

typedef struct sample {
    const char *constant;
    pt_value value;
} sample;

/* Each property against each constant; the samples ascend. */
static void assert_ascending(const sample *samples, int count)
{
    for (int i = 0; i < count; i++) {
        test_entity made;
        make_with(&made, &samples[i].value);
        for (int j = 0; j < count; j++) {
            assert_order(&made, "P", samples[j].constant, i < j ? LESS : i == j ? EQUAL : GREATER);
        }
        free_entity(&made);
    }
}

static void strings_compare_by_their_bytes(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        " ",
                                        "0",
                                        "00",
                                        "1",
                                        "10",
                                        "9",
                                        "P",
                                        "a",
                                        "aa",
                                        "\xC3\xA9",
                                        "\xEE\x80\x80",
                                        "\xF0\x9F\x98\x80"};
    enum { COUNT = sizeof texts / sizeof *texts };
    sample samples[COUNT];
    char constants[COUNT][20];
    for (int i = 0; i < COUNT; i++) {
        snprintf(constants[i], sizeof constants[i], "'%s'", texts[i]);
        samples[i] = (sample){constants[i], text_value(texts[i])};
    }
    assert_ascending(samples, COUNT);
}

static void integers_compare_by_value(void **state)
{
    (void)state;
    static const sample small[] = {
        {"-2147483648", {.type = PT_INT32, .integer = INT32_MIN}},
        {"-1", {.type = PT_INT32, .integer = -1}},
        {"0", {.type = PT_INT32, .integer = 0}},
        {"2147483647", {.type = PT_INT32, .integer = INT32_MAX}},
    };
    static const sample large[] = {
        {"-9223372036854775808L", {.type = PT_INT64, .integer = INT64_MIN}},
        {"-1L", {.type = PT_INT64, .integer = -1}},
        {"0L", {.type = PT_INT64, .integer = 0}},
        {"4294967296L", {.type = PT_INT64, .integer = INT64_C(4294967296)}},
        {"9223372036854775807L", {.type = PT_INT64, .integer = INT64_MAX}},
    };
    assert_ascending(small, 4);
    assert_ascending(large, 5);
}

static void other_types_have_their_order(void **state)
{
    (void)state;
    static const sample booleans[] = {{"false", {.type = PT_BOOLEAN, .integer = 0}},
                                      {"true", {.type = PT_BOOLEAN, .integer = 1}}};
    static const sample times[] = {
        {"datetime'0001-01-01T00:00:00Z'", {.type = PT_DATETIME, .integer = 0}},
        {"datetime'1970-01-01T00:00:00Z'",
         {.type = PT_DATETIME, .integer = INT64_C(621355968000000000)}},
        {"datetime'1970-01-01T00:00:00.0000001Z'",
         {.type = PT_DATETIME, .integer = INT64_C(621355968000000001)}},
        {"datetime'9999-12-31T23:59:59.9999999Z'",
         {.type = PT_DATETIME, .integer = INT64_C(3155378975999999999)}},
    };
    static const sample guids[] = {
        {"guid'00000000-0000-0000-0000-000000000000'", {.type = PT_GUID}},
        {"guid'00000001-0000-0000-0000-000000000000'", {.type = PT_GUID, .guid = {0, 0, 0, 1}}},
        {"guid'7F000000-0000-0000-0000-000000000000'", {.type = PT_GUID, .guid = {0x7F}}},
        {"guid'ff000000-0000-0000-0000-000000000000'", {.type = PT_GUID, .guid = {0xFF}}},
    };
    static const sample binaries[] = {
        {"X''", {.type = PT_BINARY}},
        {"X'00'", {.type = PT_BINARY, .bytes = {(const uint8_t *)"\0", 1}}},
        {"binary'0000'", {.type = PT_BINARY, .bytes = {(const uint8_t *)"\0\0", 2}}},
        {"X'01'", {.type = PT_BINARY, .bytes = {(const uint8_t *)"\1", 1}}},
        {"x'FF'", {.type = PT_BINARY, .bytes = {(const uint8_t *)"\xFF", 1}}},
    };
    assert_ascending(booleans, 2);
    assert_ascending(times, 4);
    assert_ascending(guids, 4);
    assert_ascending(binaries, 5);
}

static void doubles_compare_by_value(void **state)
{
    (void)state;
    static const sample doubles[] = {
        {"-1e300", {.type = PT_DOUBLE, .real = -1e300}},
        {"-0.5", {.type = PT_DOUBLE, .real = -0.5}},
        {"0.0", {.type = PT_DOUBLE, .real = 0}},
        {"0.1", {.type = PT_DOUBLE, .real = 0.1}},
        {"3D", {.type = PT_DOUBLE, .real = 3}},
    };
    assert_ascending(doubles, 5);
    const pt_value zero = {.type = PT_DOUBLE, .real = -0.0};
    const pt_value nan = {.type = PT_DOUBLE, .real = NAN};
    const pt_value infinity = {.type = PT_DOUBLE, .real = INFINITY};
    test_entity made;
    make_with(&made, &zero);
    assert_order(&made, "P", "0.0", EQUAL);
    assert_order(&made, "P", "0", EQUAL);
    free_entity(&made);
    make_with(&made, &nan);
    assert_order(&made, "P", "0.0", UNORDERED);
    assert_order(&made, "P", "3", UNORDERED);
    assert_order(&made, "P", "3L", UNORDERED);
    free_entity(&made);
    make_with(&made, &infinity);
    assert_order(&made, "P", "1e308", GREATER);
    assert_order(&made, "P", "9223372036854775807L", GREATER);
    free_entity(&made);
}

/* --- Two types --- */

/* One constant of each type, all of them great. */
static const sample constants[] = {
    {"'~'", {.type = PT_STRING, .bytes = {(const uint8_t *)"~", 1}}},
    {"2147483647", {.type = PT_INT32, .integer = INT32_MAX}},
    {"9223372036854775807L", {.type = PT_INT64, .integer = INT64_MAX}},
    {"1e308", {.type = PT_DOUBLE, .real = 1e308}},
    {"true", {.type = PT_BOOLEAN, .integer = 1}},
    {"datetime'9999-12-31'", {.type = PT_DATETIME, .integer = INT64_C(3155378112000000000)}},
    {"guid'ffffffff-ffff-ffff-ffff-ffffffffffff'",
     {.type = PT_GUID,
      .guid = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
               0xFF, 0xFF}}},
    {"X'ff'", {.type = PT_BINARY, .bytes = {(const uint8_t *)"\xFF", 1}}},
};

/* And small ones, which a property is less than as well. */
static const char *const small_constants[] = {"''",
                                              "-2147483648",
                                              "-9223372036854775808L",
                                              "-1e308",
                                              "false",
                                              "datetime'0001-01-01'",
                                              "guid'00000000-0000-0000-0000-000000000000'",
                                              "X''"};

static bool is_widened(pt_type property, pt_type constant)
{
    return (property == PT_INT64 && constant == PT_INT32) ||
           (property == PT_DOUBLE && (constant == PT_INT32 || constant == PT_INT64));
}

static void a_property_of_another_type_is_less(void **state)
{
    (void)state;
    enum { COUNT = sizeof constants / sizeof *constants };
    int pairs = 0;
    for (int i = 0; i < COUNT; i++) {
        test_entity made;
        make_with(&made, &constants[i].value);
        for (int j = 0; j < COUNT; j++) {
            if (i != j && !is_widened(constants[i].value.type, constants[j].value.type)) {
                assert_order(&made, "P", constants[j].constant, LESS);
                assert_order(&made, "P", small_constants[j], LESS);
                pairs++;
            }
        }
        free_entity(&made);
    }
    assert_int_equal(pairs, COUNT * (COUNT - 1) - 3);
}

static int order_of(int64_t a, int64_t b)
{
    return a < b ? LESS : a > b ? GREATER : EQUAL;
}

static void constants_are_widened_to_the_nearest(void **state)
{
    (void)state;
    static const int64_t integers[] = {INT64_MIN,
                                       INT64_MIN + 1,
                                       INT32_MIN,
                                       -1,
                                       0,
                                       1,
                                       INT32_MAX,
                                       INT64_C(9007199254740992),
                                       INT64_C(9007199254740993),
                                       INT64_MAX - 1,
                                       INT64_MAX};
    static const double reals[] = {-1e300,
                                   -9223372036854775808.0,
                                   -2147483648.5,
                                   -1,
                                   -0.5,
                                   0,
                                   0.5,
                                   1,
                                   1.5,
                                   2147483647,
                                   9007199254740992.0,
                                   9007199254740994.0,
                                   9223372036854774784.0,
                                   9223372036854775808.0,
                                   1e300};
    char constant[40];
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        bool is_small = integers[i] >= INT32_MIN && integers[i] <= INT32_MAX;
        for (size_t j = 0; j < sizeof reals / sizeof *reals; j++) {
            const pt_value real = {.type = PT_DOUBLE, .real = reals[j]};
            test_entity made;
            make_with(&made, &real);
            double widened = (double)integers[i];
            int order = reals[j] < widened ? LESS : reals[j] > widened ? GREATER : EQUAL;
            snprintf(constant, sizeof constant, "%lldL", (long long)integers[i]);
            assert_order(&made, "P", constant, order);
            constant[strlen(constant) - 1] = 0;
            if (is_small) {
                assert_order(&made, "P", constant, order);
            }
            free_entity(&made);
        }
        for (size_t j = 0; j < sizeof integers / sizeof *integers && is_small; j++) {
            const pt_value integer = {.type = PT_INT64, .integer = integers[j]};
            test_entity made;
            make_with(&made, &integer);
            snprintf(constant, sizeof constant, "%lld", (long long)integers[i]);
            assert_order(&made, "P", constant, order_of(integers[j], integers[i]));
            free_entity(&made);
        }
    }
}

/* --- Entities --- */

static void an_absent_property_compares_as_false(void **state)
{
    (void)state;
    const pt_value other = text_value("x");
    test_entity made;
    make_with(&made, &other);
    char text[120];
    for (int op = 0; op < OPERATORS; op++) {
        for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
            snprintf(text, sizeof text, "Gone %s %s", operators[op], constants[i].constant);
            assert_holds(&made, text, false);
            snprintf(text, sizeof text, "%s %s Gone", constants[i].constant, operators[op]);
            assert_holds(&made, text, false);
            snprintf(text, sizeof text, "not (Gone %s %s)", operators[op], constants[i].constant);
            assert_holds(&made, text, true);
        }
    }
    assert_holds(&made, "Gone", false);
    assert_holds(&made, "not Gone", true);
    assert_holds(&made, "not (Gone ge '' or Gone lt '')", true);
    assert_holds(&made, "not (P ge '' or P lt '')", false);
    assert_holds(&made, "p eq 'x'", false);
    free_entity(&made);
}

static void a_property_alone_must_be_true(void **state)
{
    (void)state;
    static const sample values[] = {{"y", {.type = PT_BOOLEAN, .integer = 1}},
                                    {"n", {.type = PT_BOOLEAN, .integer = 0}},
                                    {"n", {.type = PT_INT32, .integer = 1}},
                                    {"n", {.type = PT_STRING, .bytes = {(const uint8_t *)"1", 1}}}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        test_entity made;
        make_with(&made, &values[i].value);
        assert_holds(&made, "P", values[i].constant[0] == 'y');
        assert_holds(&made, "not P", values[i].constant[0] != 'y');
        free_entity(&made);
    }
}

static void keys_and_timestamp_are_properties(void **state)
{
    (void)state;
    test_entity made;
    make_entity(&made, "b", "2", NULL, 0);
    assert_order(&made, "PartitionKey", "'a'", GREATER);
    assert_order(&made, "PartitionKey", "'b'", EQUAL);
    assert_order(&made, "PartitionKey", "'ba'", LESS);
    assert_order(&made, "RowKey", "''", GREATER);
    assert_order(&made, "RowKey", "'2'", EQUAL);
    assert_order(&made, "RowKey", "'3'", LESS);
    assert_order(&made, "RowKey", "1", LESS);
    assert_order(&made, "PartitionKey", "guid'00000000-0000-0000-0000-000000000000'", LESS);
    made.record.ticks = INT64_C(621355968000000001);
    assert_order(&made, "Timestamp", "datetime'1970-01-01T00:00:00Z'", GREATER);
    assert_order(&made, "Timestamp", "datetime'1970-01-01T00:00:00.0000001Z'", EQUAL);
    assert_order(&made, "Timestamp", "datetime'1970-01-01T00:00:00.0000002Z'", LESS);
    assert_order(&made, "Timestamp", "'1970'", LESS);
    free_entity(&made);
}

/* --- Logic --- */

static uint32_t random_state = 20261121;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

/* A chain of atoms without parentheses, read as sums of products; in parentheses it is one. */
static bool random_chain(char *text, size_t room, int depth)
{
    static const struct {
        const char *text;
        bool value;
    } atoms[] = {{"T", true},        {"F", false},         {"true", true},
                 {"false", false},   {"N eq 3", true},     {"4 lt N", false},
                 {"Gone", false},    {"Gone ne 1", false}, {"RowKey eq 'r'", true},
                 {"N gt 'x'", false}};
    bool sum = false;
    bool product = true;
    unsigned count = 1 + random_below(4);
    text[0] = 0;
    for (unsigned i = 0; i < count; i++) {
        bool joined_by_or = random_below(2) == 0;
        if (i != 0) {
            strcat(text, joined_by_or ? " or " : " and ");
        }
        if (i != 0 && joined_by_or) {
            sum = sum || product;
            product = true;
        }
        bool value = true;
        while (random_below(3) == 0) {
            strcat(text, "not ");
            value = !value;
        }
        size_t size = strlen(text);
        if (depth > 0 && random_below(3) == 0) {
            strcat(text, "(");
            bool inner = random_chain(text + size + 1, room - size - 1, depth - 1);
            strcat(text, ")");
            value = value == inner;
        } else {
            unsigned atom = random_below(sizeof atoms / sizeof *atoms);
            strcat(text, atoms[atom].text);
            value = value == atoms[atom].value;
        }
        product = product && value;
    }
    assert_true(strlen(text) + 200 < room);
    return sum || product;
}

static void logic_has_two_values(void **state)
{
    (void)state;
    static const named_value values[] = {
        {"F", {.type = PT_BOOLEAN, .integer = 0}},
        {"N", {.type = PT_INT32, .integer = 3}},
        {"T", {.type = PT_BOOLEAN, .integer = 1}},
    };
    static char text[20000];
    test_entity made;
    make_entity(&made, "p", "r", values, 3);
    int counts[2] = {0};
    for (int i = 0; i < 20000; i++) {
        bool expected = random_chain(text, sizeof text, 2);
        parse(text);
        if (filter.property_count <= ENTITY_PLACES_MAX) {
            assert_holds(&made, text, expected);
            counts[expected]++;
        }
    }
    assert_true(counts[0] > 5000 && counts[1] > 5000);
    free_entity(&made);
}

/* --- Large values --- */

static char large_text[] = "what lies in chunks";
static int fetched;
static int fetch_result;

static int fetch(void *context, pt_value *value, pt_error *error)
{
    (void)error;
    assert_ptr_equal(context, large_text);
    assert_int_equal(value->large.size, strlen(large_text));
    fetched++;
    pt_type type = value->type == PT_LARGE_STRING ? PT_STRING : PT_BINARY;
    *value = (pt_value){.type = type, .bytes = pt_slice_text(large_text)};
    return fetch_result;
}

static void make_with_large(test_entity *made, pt_type type)
{
    const pt_value value = {.type = type, .large = {.size = strlen(large_text), .ticks = 1}};
    make_with(made, &value);
    made->entity.fetch = fetch;
    made->entity.context = large_text;
}

static void large_values_are_fetched_when_their_bytes_decide(void **state)
{
    (void)state;
    if (pt_type_fixed_size(PT_LARGE_STRING) == 0) {
        skip(); /* records do not hold them */
    }
    test_entity made;
    make_with_large(&made, PT_LARGE_STRING);
    assert_order(&made, "P", "'what lies in chunks'", EQUAL);
    assert_order(&made, "P", "'what'", GREATER);
    assert_order(&made, "P", "'x'", LESS);
    assert_int_equal(fetched, 3 * 3 * OPERATORS);
    assert_order(&made, "P", "3", LESS);
    assert_order(&made, "P", "X''", LESS);
    assert_holds(&made, "RowKey eq 'x' and P eq 'x'", false);
    assert_int_equal(fetched, 3 * 3 * OPERATORS);
    parse("not (P eq 'x')");
    made.places[0] = 0;
    fetch_result = SQLITE_NOMEM;
    bool matches;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_filter_matches(&filter, &made.entity, &matches, &error), SQLITE_NOMEM);
    fetch_result = SQLITE_OK;
    free_entity(&made);
    make_with_large(&made, PT_LARGE_BINARY);
    assert_order(&made, "P", "X'77'", GREATER);
    assert_order(&made, "P", "'x'", LESS);
    free_entity(&made);
}

static void damage_is_told(void **state)
{
    (void)state;
    const pt_value value = {.type = PT_BOOLEAN, .integer = 1};
    test_entity made;
    make_with(&made, &value);
    uint8_t damaged[8] = {7};
    made.record.fixed = damaged;
    parse("not P or RowKey eq 'rk'");
    made.places[0] = 0;
    bool matches;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_filter_matches(&filter, &made.entity, &matches, &error),
                     SQLITE_CORRUPT_VTAB);
    assert_null(error.message);
    free_entity(&made);
}

static int free_filter(void **state)
{
    (void)state;
    pt_filter_free(&filter);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_compare_by_their_bytes),
        cmocka_unit_test(integers_compare_by_value),
        cmocka_unit_test(other_types_have_their_order),
        cmocka_unit_test(doubles_compare_by_value),
        cmocka_unit_test(a_property_of_another_type_is_less),
        cmocka_unit_test(constants_are_widened_to_the_nearest),
        cmocka_unit_test(an_absent_property_compares_as_false),
        cmocka_unit_test(a_property_alone_must_be_true),
        cmocka_unit_test(keys_and_timestamp_are_properties),
        cmocka_unit_test(logic_has_two_values),
        cmocka_unit_test(large_values_are_fetched_when_their_bytes_decide),
        cmocka_unit_test(damage_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, free_filter);
}
