#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/sqlite.h"
#include "base/text.h"
#include "service/filter_parts.h"

#define GUID "0f8fad5b-d9cb-469f-a165-70867728950e"
#define EMOJI "\xF0\x9F\x98\x80"

static sqlite3 *db;
static pt_arena arena;

/* The values of an SQL list become those of a comparison. */
static void compare_with(pt_comparison *comparison, const char *values)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT %s", values);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(statement, i));
        assert_int_equal(pt_comparison_add(comparison, value, &arena), SQLITE_OK);
        sqlite3_value_free(value);
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    pt_comparison_end(comparison);
}

/* A condition on column P, and its text; "" if it is not sent. */
typedef struct example {
    pt_type column;
    pt_plan_op op;
    const char *values;
    const char *text;
} example;

static char *write(const pt_written_condition *condition)
{
    pt_buffer filter = {0};
    pt_buffer_append_text(&filter, "R and ");
    int comparisons = pt_condition_append(&filter, condition);
    char *text = sqlite3_mprintf("%.*s", (int)filter.size, (const char *)filter.data);
    int counted = 0;
    for (const char *at = text; (at = strstr(at, "P ")) != NULL; at++) {
        counted++;
    }
    assert_int_equal(comparisons, counted);
    pt_buffer_free(&filter);
    return text;
}

static void expect_text(pt_written_condition condition, const char *text)
{
    condition.name = "P";
    char *found = write(&condition);
    char *expected = sqlite3_mprintf("R and %s", text);
    assert_string_equal(found, expected);
    sqlite3_free(found);
    sqlite3_free(expected);
    pt_arena_clear(&arena);
}

static void expect_texts(pt_written_condition condition, const example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pt_comparison comparison;
        pt_comparison_begin(&comparison, examples[i].column, examples[i].op, false);
        compare_with(&comparison, examples[i].values);
        condition.comparison = &comparison;
        expect_text(condition, examples[i].text);
    }
}

#define EXPECT_TEXTS(condition, examples)                                                          \
    expect_texts(condition, examples, sizeof(examples) / sizeof(examples)[0])

static const pt_written_condition azure_any = {.dialect = PT_DIALECT_AZURE, .plain = true};
static const pt_written_condition azure_declared = {
    .dialect = PT_DIALECT_AZURE, .plain = true, .declared = true};
static const pt_written_condition azurite_any = {.dialect = PT_DIALECT_AZURITE, .plain = true};
static const pt_written_condition azurite_declared = {
    .dialect = PT_DIALECT_AZURITE, .plain = true, .declared = true};

static void numbers_on_azure(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_INT32, PT_OP_EQ, "30", "(P eq 30 or P lt -2147483648)"},
        {PT_INT32, PT_OP_GT, "30", "(P ne 30 and not (P le 30) or P lt -2147483648)"},
        {PT_INT32, PT_OP_GE, "-5", "(P ne -6 and not (P lt -5) or P lt -2147483648)"},
        {PT_INT32, PT_OP_LT, "30", "(P lt 30)"},
        {PT_INT64, PT_OP_LE, "30", "(P le 30)"},
        {PT_DOUBLE, PT_OP_LE, "30", "(P le 30)"},
        {PT_NONE, PT_OP_EQ, "30", "(P eq 30 or P lt -2147483648)"},
        {PT_INT32, PT_OP_EQ, "'30'", "(P eq 30 or P lt -2147483648)"},
        {PT_INT32, PT_OP_GT, "30.5", "(P ne 30 and not (P le 30) or P lt -2147483648)"},
        {PT_INT32, PT_OP_LE, "30.5", "(P lt 31)"},
        {PT_INT64, PT_OP_EQ, "-30.5", "(P ge -31 and P le -30 or P lt -2147483648)"},
        {PT_INT64, PT_OP_GT, "5000000000",
         "(P ne 5000000000L and not (P le 5000000000L) or P lt -9223372036854775808L)"},
        {PT_INT32, PT_OP_LT, "5000000000.0", "(P lt 5000000000L)"},
        {PT_DOUBLE, PT_OP_EQ, "0.1", "(P eq 0.1 or P lt -1.7976931348623157e308)"},
        {PT_DOUBLE, PT_OP_GE, "0.1",
         "(P ne -1.0 and not (P lt 0.1) or P lt -1.7976931348623157e308)"},
        {PT_DOUBLE, PT_OP_LT, "1e-7", "(P lt 1.0e-07)"},
        {PT_DOUBLE, PT_OP_EQ, "-0.0", "(P eq 0 or P lt -2147483648)"},
        {PT_INT64, PT_OP_EQ, "9007199254740991",
         "(P eq 9007199254740991L or P lt -9223372036854775808L)"},
        {PT_INT64, PT_OP_EQ, "9007199254740992", ""},
        {PT_DOUBLE, PT_OP_LT, "9e999", ""},
        {PT_INT32, PT_OP_GE, "-2147483648", ""},
        {PT_INT32, PT_OP_GT, "-2147483648",
         "(P ne -2147483648 and not (P le -2147483648) or P lt -2147483648)"},
        {PT_INT32, PT_OP_GT, "2147483647.5", ""},
        {PT_INT32, PT_OP_EQ, "-2147483648.5", ""},
        {PT_INT32, PT_OP_EQ, "3, 1, NULL, 2", "(P eq 1 or P eq 2 or P eq 3 or P lt -2147483648)"},
        {PT_INT32, PT_OP_EQ, "6, 1, 5, 2, 4, 3", "(P ge 1 and P le 6 or P lt -2147483648)"},
        {PT_INT32, PT_OP_EQ, "1, 2.5", ""},
        {PT_DOUBLE, PT_OP_EQ, "1, 2.5", "(P eq 1.0 or P eq 2.5 or P lt -1.7976931348623157e308)"},
        {PT_NONE, PT_OP_EQ, "1, 'a'", ""},
        {PT_NONE, PT_OP_EQ, "1, x'00'", ""},
        {PT_DOUBLE, PT_OP_EQ, "0.5, 2.5", "(P eq 0.5 or P eq 2.5 or P lt -1.7976931348623157e308)"},
        {PT_STRING, PT_OP_EQ, "30", ""},
        {PT_INT32, PT_OP_EQ, "NULL", ""},
        {PT_INT32, PT_OP_GT, "'abc'", ""},
    };
    static const example declared[] = {
        {PT_INT32, PT_OP_GT, "30", "(P gt 30)"},
        {PT_INT64, PT_OP_GE, "5000000000", "(P ge 5000000000L)"},
        {PT_INT32, PT_OP_GE, "5000000000", ""},
        {PT_INT32, PT_OP_EQ, "30.5", "(P ge 30 and P le 31)"},
        {PT_DOUBLE, PT_OP_GT, "30", "(P ne 30 and not (P le 30))"},
        {PT_DOUBLE, PT_OP_LE, "5e9", "(P le 5000000000.0)"},
        {PT_INT32, PT_OP_EQ, "1, 2", "(P eq 1 or P eq 2)"},
        {PT_NONE, PT_OP_EQ, "30", "(P eq 30 or P lt -2147483648)"},
        {PT_BINARY, PT_OP_EQ, "30", ""},
    };
    EXPECT_TEXTS(azure_any, any);
    EXPECT_TEXTS(azure_declared, declared);
}

static void numbers_on_azurite(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_INT32, PT_OP_EQ, "30", "(P ge 30 and P le 30 or P ge 'x' or P lt 'x')"},
        {PT_INT64, PT_OP_GT, "30", "(P gt 30 or P ge 'x' or P lt 'x')"},
        {PT_DOUBLE, PT_OP_LE, "0.5", "(P le 0.5 or P ge 'x' or P lt 'x')"},
        {PT_INT32, PT_OP_LE, "30.5", "(P le 30.5 or P ge 'x' or P lt 'x')"},
        {PT_INT64, PT_OP_LE, "5000000000", "(P le 5000000000.0 or P ge 'x' or P lt 'x')"},
        {PT_BOOLEAN, PT_OP_EQ, "1", "(P ge 1 and P le 1 or P ge 'x' or P lt 'x')"},
        {PT_DOUBLE, PT_OP_LE, "1e-7", ""},
    };
    static const example declared[] = {
        {PT_INT32, PT_OP_EQ, "30", "(P ge 30 and P le 30)"},
        {PT_INT64, PT_OP_EQ, "30", "(P ge 30L and P le 30L)"},
        {PT_INT64, PT_OP_LT, "30.5", "(P lt 31)"},
        {PT_DOUBLE, PT_OP_GE, "1.00001", "(P ne 0.0 and not (P lt 1.00001))"},
        {PT_DOUBLE, PT_OP_GE, "9000000000000001",
         "(P ne 9000000000000000.0 and not (P lt 9000000000000001.0))"},
        {PT_BOOLEAN, PT_OP_EQ, "1", "(P eq true)"},
    };
    EXPECT_TEXTS(azurite_any, any);
    EXPECT_TEXTS(azurite_declared, declared);
}

static void booleans(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_BOOLEAN, PT_OP_EQ, "1", "(P eq true or P lt false)"},
        {PT_BOOLEAN, PT_OP_LT, "1", "(P eq false or P lt false)"},
        {PT_BOOLEAN, PT_OP_GT, "0.5", "(P eq true or P lt false)"},
        {PT_BOOLEAN, PT_OP_GE, "0", ""},
        {PT_BOOLEAN, PT_OP_EQ, "2", "P lt false"},
        {PT_BOOLEAN, PT_OP_EQ, "1, 2", "(P eq true or P lt false)"},
        {PT_BOOLEAN, PT_OP_EQ, "0, 1", ""},
    };
    static const example declared[] = {{PT_BOOLEAN, PT_OP_EQ, "0", "(P eq false)"}};
    EXPECT_TEXTS(azure_any, any);
    EXPECT_TEXTS(azure_declared, declared);
}

static void texts_on_azure(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_STRING, PT_OP_EQ, "'it''s'", "(P eq 'it''s' or P lt '')"},
        {PT_STRING, PT_OP_EQ, "'b', 'a'", "(P eq 'a' or P eq 'b' or P lt '')"},
        {PT_STRING, PT_OP_EQ, "'f','e','d','c','b','a'", "(P ge 'a' and P le 'f' or P lt '')"},
        {PT_STRING, PT_OP_EQ, "'f','e','d','c','b','" EMOJI "'", ""},
        {PT_STRING, PT_OP_EQ, "'" EMOJI "'", "(P eq '" EMOJI "' or P lt '')"},
        {PT_STRING, PT_OP_EQ, "char(65533)", ""},
        {PT_STRING, PT_OP_EQ, "'a' || char(9)", ""},
        {PT_STRING, PT_OP_EQ, "'a' || char(133)", ""},
        {PT_STRING, PT_OP_EQ, "CAST(x'ff' AS TEXT)", ""},
        {PT_STRING, PT_OP_EQ,
         "'" EMOJI "1','" EMOJI "2','" EMOJI "3','" EMOJI "4','" EMOJI "5','" EMOJI "6'", ""},
        {PT_STRING, PT_OP_EQ, "printf('%.401c', 'x')", ""},
        {PT_NONE, PT_OP_EQ, "'x'", "(P eq 'x' or P lt '')"},
        {PT_STRING, PT_OP_EQ, "'5'", "(P eq '5' or P lt '')"},
        {PT_STRING, PT_OP_GT, "'m'", "(P gt 'm' or P lt '')"},
        {PT_STRING, PT_OP_GE, "'a" EMOJI "b'", "(P ge 'a' or P lt '')"},
        {PT_STRING, PT_OP_GE, "'" EMOJI "'", ""},
        {PT_STRING, PT_OP_LE, "'m'", "(P le 'm' or P lt '')"},
        {PT_STRING, PT_OP_LT, "'b" EMOJI "'", "(P lt 'c' or P lt '')"},
        {PT_STRING, PT_OP_LT, "'" EMOJI "'", ""},
        {PT_STRING, PT_OP_LT, "'5'", "(P lt '5' or P lt '')"},
        {PT_GUID, PT_OP_EQ, "'x'", ""},
    };
    static const example declared[] = {
        {PT_STRING, PT_OP_EQ, "'x'", "(P eq 'x')"},
        {PT_STRING, PT_OP_GT, "'x'", "(P gt 'x')"},
        {PT_BINARY, PT_OP_EQ, "'x'", ""},
    };
    EXPECT_TEXTS(azure_any, any);
    EXPECT_TEXTS(azure_declared, declared);
}

/* If the other side may be a column of numbers, texts that look like numbers become numbers. */
static void texts_beside_columns(void **state)
{
    (void)state;
    static const example examples[] = {
        {PT_STRING, PT_OP_EQ, "'x'", "(P eq 'x' or P lt '')"},
        {PT_STRING, PT_OP_EQ, "'5'", ""},
        {PT_STRING, PT_OP_GT, "'5'", ""},
        {PT_STRING, PT_OP_GT, "'!'", "(P gt '!' or P lt '')"},
        {PT_STRING, PT_OP_LT, "'!'", ""},
        {PT_STRING, PT_OP_LT, "''", ""},
        {PT_STRING, PT_OP_LT, "':'", "(P lt ':' or P lt '')"},
    };
    pt_written_condition condition = azure_any;
    condition.plain = false;
    EXPECT_TEXTS(condition, examples);
}

static void texts_on_azurite(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_STRING, PT_OP_EQ, "'x'", "(P eq 'x' or P ge 0 or P lt 0)"},
        {PT_STRING, PT_OP_EQ, "''", "(P eq '' or P ge 0 or P lt 0)"},
        {PT_STRING, PT_OP_EQ, "'" GUID "'", ""},
        {PT_STRING, PT_OP_EQ, "'2026-01'", ""},
        {PT_STRING, PT_OP_EQ, "'NaN'", ""},
        {PT_STRING, PT_OP_GT, "'x'", ""},
    };
    static const example declared[] = {
        {PT_STRING, PT_OP_EQ, "'" GUID "'", "(P eq '" GUID "')"},
        {PT_STRING, PT_OP_LE, "'x'", "(P le 'x')"},
    };
    EXPECT_TEXTS(azurite_any, any);
    EXPECT_TEXTS(azurite_declared, declared);
}

#define TIME(text) "datetime'" text "'"

static void times(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_DATETIME, PT_OP_EQ, "'2026-11-21 10:00'",
         "(P eq " TIME("2026-11-21T10:00:00.0000000Z") " or P lt " TIME(
             "1601-01-01T00:00:00.0000000Z") ")"},
        {PT_DATETIME, PT_OP_GT, "'2026-11-21'",
         "(P ge " TIME("2026-11-21T00:00:00.0000001Z") " or P lt " TIME(
             "1601-01-01T00:00:00.0000000Z") ")"},
        {PT_DATETIME, PT_OP_LT, "'2026-11'", "(P le " TIME("2026-10-31T23:59:59.9999999Z") ")"},
        {PT_DATETIME, PT_OP_GE, "''", ""},
        {PT_DATETIME, PT_OP_EQ, "'1500-01-01'", ""},
        {PT_DATETIME, PT_OP_EQ, "'now'", ""},
        {PT_DATETIME, PT_OP_EQ, "'now', '2026'", ""},
        {PT_DATETIME, PT_OP_LT, "'1500-01-01'", ""},
        {PT_DATETIME, PT_OP_GT, "'now'", ""},
        {PT_DATETIME, PT_OP_GT, "2026", ""},
        {PT_STRING, PT_OP_EQ, "'2026-11-21'", "(P eq '2026-11-21' or P lt '')"},
    };
    static const example declared[] = {
        {PT_DATETIME, PT_OP_EQ, "'2026', '2025'",
         "(P eq " TIME("2025-01-01T00:00:00.0000000Z") " or P eq " TIME(
             "2026-01-01T00:00:00.0000000Z") ")"},
        {PT_DATETIME, PT_OP_EQ, "'2026', '2025', '2024', '2023', '2022', '2021'",
         "(P ge " TIME("2021-01-01T00:00:00.0000000Z") " and P le " TIME(
             "2026-01-01T00:00:00.0000000Z") ")"},
    };
    static const example azurite[] = {
        {PT_DATETIME, PT_OP_EQ, "'2026-01-01'",
         "(P ge " TIME("2025-12-31T23:59:59.9990000Z") " and P le " TIME(
             "2026-01-01T00:00:00.0010000Z") ")"},
        {PT_DATETIME, PT_OP_LT, "'2026-01-01'", "(P le " TIME("2026-01-01T00:00:00.0009999Z") ")"},
        {PT_DATETIME, PT_OP_EQ, "'2026', '2025', '2024', '2023', '2022', '2021'",
         "(P ge " TIME("2020-12-31T23:59:59.9990000Z") " and P le " TIME(
             "2026-01-01T00:00:00.0010000Z") ")"},
        {PT_DATETIME, PT_OP_LT, "'9999-12-31T23:59:59.9999999Z'",
         "(P le " TIME("9999-12-31T23:59:59.9999998Z") ")"},
    };
    static const example not_sent[] = {{PT_DATETIME, PT_OP_EQ, "'2026-01-01'", ""}};
    EXPECT_TEXTS(azure_any, any);
    EXPECT_TEXTS(azure_declared, declared);
    EXPECT_TEXTS(azurite_declared, azurite);
    EXPECT_TEXTS(azurite_any, not_sent);
}

static void guids_and_binaries(void **state)
{
    (void)state;
    static const example any[] = {
        {PT_GUID, PT_OP_EQ, "upper('" GUID "')",
         "(P eq guid'" GUID "' or P lt guid'00000000-0000-0000-0000-000000000000')"},
        {PT_GUID, PT_OP_LT, "'" GUID "'", ""},
        {PT_GUID, PT_OP_EQ, "x'61', 'a'", ""},
        {PT_BINARY, PT_OP_EQ, "x'00ff'", "(P eq X'00ff')"},
        {PT_NONE, PT_OP_EQ, "x'00', x'01'", "(P eq X'00' or P eq X'01')"},
        {PT_BINARY, PT_OP_EQ, "x''", ""},
        {PT_BINARY, PT_OP_GT, "x'00'", ""},
        {PT_BINARY, PT_OP_EQ, "zeroblob(201)", ""},
        {PT_BINARY, PT_OP_EQ, "x'01',x'02',x'03',x'04',x'05',x'06'", ""},
    };
    static const example azurite[] = {
        {PT_GUID, PT_OP_EQ, "'" GUID "'", ""},
        {PT_BINARY, PT_OP_EQ, "x'00ff'", ""},
    };
    EXPECT_TEXTS(azure_any, any);
    EXPECT_TEXTS(azurite_declared, azurite);
}

static void presence(void **state)
{
    (void)state;
    pt_written_condition condition = azure_any;
    pt_comparison comparison;
    condition.comparison = &comparison;
    pt_comparison_begin(&comparison, PT_INT32, PT_OP_EQ, false);
    comparison.finds_null = true;
    expect_text(condition, "not (P eq 'x' or P ne 'x')");
    condition.always = true;
    expect_text(condition, "");
    condition.always = false;
    pt_comparison_begin(&comparison, PT_INT32, PT_OP_EQ, false);
    pt_comparison_find_all(&comparison);
    expect_text(condition, "(P eq 'x' or P ne 'x')");
}

/* xFilter reads no more than the first values of a long list. */
static void long_lists_are_not_sent(void **state)
{
    (void)state;
    sqlite3_str *values = sqlite3_str_new(db);
    for (int i = 0; i <= PT_COMPARED_VALUES_MAX; i++) {
        sqlite3_str_appendf(values, "%s%d", i != 0 ? ", " : "", i);
    }
    char *list = sqlite3_str_finish(values);
    const example examples[] = {{PT_INT32, PT_OP_EQ, list, ""}};
    EXPECT_TEXTS(azure_any, examples);
    sqlite3_free(list);
}

/* A database in UTF-16 orders texts otherwise, and has no texts that are not well-formed. */
static void other_encodings(void **state)
{
    (void)state;
    static const struct {
        pt_plan_op op;
        const char *value;
        const char *text;
    } examples[] = {
        {PT_OP_EQ, "'x'", "(P eq 'x' or P lt '')"},
        {PT_OP_EQ, "'\xC3\xA9'", ""},
        {PT_OP_GT, "'x'", ""},
    };
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        pt_written_condition condition = azure_any;
        pt_comparison comparison;
        condition.comparison = &comparison;
        pt_comparison_begin(&comparison, PT_STRING, examples[i].op, true);
        compare_with(&comparison, examples[i].value);
        expect_text(condition, examples[i].text);
    }
}

static void cosmos_gets_keys_only(void **state)
{
    (void)state;
    static const example examples[] = {{PT_INT32, PT_OP_EQ, "1", ""}};
    pt_written_condition condition = azure_any;
    condition.dialect = PT_DIALECT_COSMOS;
    EXPECT_TEXTS(condition, examples);
    condition.dialect = PT_DIALECT_UNKNOWN;
    static const example unknown[] = {
        {PT_INT32, PT_OP_GT, "1", "(P gt 1 or P ge 'x' or P lt 'x')"}};
    EXPECT_TEXTS(condition, unknown);
}

static void only_plain_names_are_sent(void **state)
{
    (void)state;
    assert_true(pt_condition_has_name(pt_slice_text("Age_2")));
    static const char *const others[] = {"", "2x", "a b", "a-b", "\xC3\xA9", "Not", "eq", "true"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(pt_condition_has_name(pt_slice_text(others[i])));
    }
}

static void add_example(pt_filter_parts *texts, const char *values)
{
    pt_comparison comparison;
    pt_written_condition condition = azure_any;
    condition.name = "P";
    condition.comparison = &comparison;
    pt_comparison_begin(&comparison, PT_STRING, PT_OP_EQ, false);
    compare_with(&comparison, values);
    pt_filter_parts_add(texts, &condition);
    pt_arena_clear(&arena);
}

static void expect_filter(const pt_filter_parts *texts, const char *keys, const char *expected)
{
    pt_buffer filter = {0};
    pt_buffer_append_text(&filter, keys);
    pt_filter_parts_append(texts, &filter);
    pt_buffer_append_byte(&filter, 0);
    assert_string_equal((const char *)filter.data, expected);
    pt_buffer_free(&filter);
}

static void a_filter_has_few_comparisons(void **state)
{
    (void)state;
    pt_filter_parts texts = {0};
    expect_filter(&texts, "", "");
    add_example(&texts, "'a','b','c','d','e'");
    add_example(&texts, "'f','g','h','i','j'");
    add_example(&texts, "char(9)");
    add_example(&texts, "'k','l','m'");
    add_example(&texts, "'n'");
#define FIRST "(P eq 'a' or P eq 'b' or P eq 'c' or P eq 'd' or P eq 'e' or P lt '')"
#define SECOND "(P eq 'f' or P eq 'g' or P eq 'h' or P eq 'i' or P eq 'j' or P lt '')"
    expect_filter(&texts, "", FIRST " and " SECOND " and (P eq 'n' or P lt '')");
    expect_filter(&texts, "_~", "_~ and " FIRST " and " SECOND " and (P eq 'n' or P lt '')");
    expect_filter(&texts, "PartitionKey eq ' eq eq '' '",
                  "PartitionKey eq ' eq eq '' ' and " FIRST " and " SECOND
                  " and (P eq 'n' or P lt '')");
    expect_filter(&texts, "a ge '' and a ne '' and a lt ''",
                  "a ge '' and a ne '' and a lt '' and " FIRST " and " SECOND);
    expect_filter(&texts, "a ge '' and a ne '' and a lt '' and b eq ''",
                  "a ge '' and a ne '' and a lt '' and b eq '' and " FIRST
                  " and (P eq 'k' or P eq 'l' or P eq 'm' or P lt '')");
    for (int i = 0; i < 20; i++) {
        add_example(&texts, "'o'");
    }
    assert_int_equal(texts.count, PT_FILTER_COMPARISONS_MAX);
    pt_filter_parts_clear(&texts);
    expect_filter(&texts, "k", "k");
    pt_filter_parts_free(&texts);
}

static void a_filter_fits_in_a_url(void **state)
{
    (void)state;
    pt_filter_parts texts = {0};
    for (int i = 0; i < 4; i++) {
        add_example(&texts, "replace(printf('%.400c', 'x'), 'x', '%')");
    }
    pt_buffer filter = {0};
    pt_filter_parts_append(&texts, &filter);
    assert_int_equal(texts.count, 4);
    assert_in_range(filter.size, 1200, 1400); /* three of them */
    pt_buffer_free(&filter);
    pt_filter_parts_free(&texts);
}

static void hosts_and_servers_tell_their_dialect(void **state)
{
    (void)state;
    assert_int_equal(pt_dialect_of_endpoint("https://hr.table.core.windows.net"), PT_DIALECT_AZURE);
    assert_int_equal(pt_dialect_of_endpoint("https://hr-secondary.TABLE.core.windows.net:443/x"),
                     PT_DIALECT_AZURE);
    assert_int_equal(pt_dialect_of_endpoint("https://hr.table.cosmos.azure.com:443"),
                     PT_DIALECT_COSMOS);
    assert_int_equal(pt_dialect_of_endpoint("http://127.0.0.1:10002/devstoreaccount1"),
                     PT_DIALECT_UNKNOWN);
    assert_int_equal(pt_dialect_of_endpoint("https://hr.table.core.windows.net.example.org"),
                     PT_DIALECT_UNKNOWN);
    assert_int_equal(pt_dialect_of_endpoint(".table.core.windows.net"), PT_DIALECT_UNKNOWN);
    static const struct {
        const char *header;
        pt_dialect dialect;
    } servers[] = {
        {"Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0", PT_DIALECT_AZURE},
        {"Azurite-Table/3.35.0", PT_DIALECT_AZURITE},
        {"Microsoft-HTTPAPI/2.0", PT_DIALECT_COSMOS},
        {"nginx", PT_DIALECT_UNKNOWN},
        {"", PT_DIALECT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++) {
        assert_int_equal(pt_dialect_of_server(pt_slice_text(servers[i].header)),
                         servers[i].dialect);
    }
}

static int open_database(void **state)
{
    (void)state;
    return sqlite3_open(":memory:", &db);
}

static int close_database(void **state)
{
    (void)state;
    pt_arena_free(&arena);
    return sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_on_azure),
        cmocka_unit_test(numbers_on_azurite),
        cmocka_unit_test(booleans),
        cmocka_unit_test(texts_on_azure),
        cmocka_unit_test(texts_beside_columns),
        cmocka_unit_test(texts_on_azurite),
        cmocka_unit_test(times),
        cmocka_unit_test(guids_and_binaries),
        cmocka_unit_test(presence),
        cmocka_unit_test(long_lists_are_not_sent),
        cmocka_unit_test(other_encodings),
        cmocka_unit_test(cosmos_gets_keys_only),
        cmocka_unit_test(only_plain_names_are_sent),
        cmocka_unit_test(a_filter_has_few_comparisons),
        cmocka_unit_test(a_filter_fits_in_a_url),
        cmocka_unit_test(hosts_and_servers_tell_their_dialect),
    };
    return cmocka_run_group_tests(tests, open_database, close_database);
}
