#include "fixtures/value_fixture.h"

#include <math.h>

#include "base/ticks.h"
#include "faults/failing_malloc.h"
#include "fixtures/filter_entity.h"
#include "fixtures/random_bits.h"
#include "functions/time_functions.h"
#include "query/comparison.h"

/* --- SQLite's judgement: a virtual table of one row --- */

/* The property, in a column of its own type, and the value of the other side in columns of other
 * affinities: none of them converts what it holds. */
enum { PROPERTY_COLUMN, TEXT_COLUMN, NUMERIC_COLUMN, BLOB_COLUMN, OTHER_COLUMNS = 3 };

static const pt_value *shown;
static sqlite3_value *other_side;

static const struct column_type {
    pt_type type;
    const char *declared;
} column_types[] = {
    {PT_STRING, "TEXT"},
    {PT_INT32, "INTEGER"},
    {PT_INT64, "INTEGER"},
    {PT_DOUBLE, "REAL"},
    {PT_BOOLEAN, "INTEGER"},
    {PT_DATETIME, "TEXT COLLATE " PT_TICKS_COLLATION},
    {PT_GUID, "TEXT COLLATE NOCASE"},
    {PT_BINARY, "BLOB"},
    {PT_NONE, ""},
};

static int connect_row(sqlite3 *database, void *context, int argc, const char *const *argv,
                       sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    const struct column_type *type = context;
    char *sql = sqlite3_mprintf("CREATE TABLE x(p %s, t TEXT, n NUMERIC, b BLOB)", type->declared);
    int rc = sqlite3_declare_vtab(database, sql);
    sqlite3_free(sql);
    *vtab = sqlite3_malloc64(sizeof **vtab);
    memset(*vtab, 0, sizeof **vtab);
    return rc;
}

static int disconnect_row(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static int plan_row(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedCost = 1;
    return SQLITE_OK;
}

typedef struct row_cursor {
    sqlite3_vtab_cursor base;
    bool eof;
} row_cursor;

static int open_row(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
    (void)vtab;
    *cursor = sqlite3_malloc64(sizeof(row_cursor));
    return SQLITE_OK;
}

static int close_row(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int filter_row(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                      sqlite3_value **argv)
{
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    ((row_cursor *)cursor)->eof = false;
    return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *cursor)
{
    ((row_cursor *)cursor)->eof = true;
    return SQLITE_OK;
}

static int row_eof(sqlite3_vtab_cursor *cursor)
{
    return ((row_cursor *)cursor)->eof;
}

static int row_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    (void)cursor;
    if (column == PROPERTY_COLUMN) {
        pt_value_result(context, shown, false);
    } else {
        sqlite3_result_value(context, other_side);
    }
    return SQLITE_OK;
}

static int row_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    *rowid = 1;
    return SQLITE_OK;
}

static const sqlite3_module row_module = {.xConnect = connect_row,
                                          .xBestIndex = plan_row,
                                          .xDisconnect = disconnect_row,
                                          .xOpen = open_row,
                                          .xClose = close_row,
                                          .xFilter = filter_row,
                                          .xNext = next_row,
                                          .xEof = row_eof,
                                          .xColumn = row_column,
                                          .xRowid = row_rowid};

/* --- Operators --- */

/* One answer for each affinity that the other side can have, a parameter first. */
#define COMPARED(op) "p " op " ?1, p " op " t, p " op " n, p " op " b, 0"

enum { ANSWERS = OTHER_COLUMNS + 2 };

static const struct operator
{
    const char *sql;
    pt_plan_op op;
    bool is;
    const char *answers;
}
operators[] = {{"=", PT_OP_EQ, false, COMPARED("=")},
               {"<", PT_OP_LT, false, COMPARED("<")},
               {"<=", PT_OP_LE, false, COMPARED("<=")},
               {">", PT_OP_GT, false, COMPARED(">")},
               {">=", PT_OP_GE, false, COMPARED(">=")},
               {"IS", PT_OP_EQ, true, COMPARED("IS")},
               /* SQLite converts the column, too: an integer in a column of REALs is rounded. */
               {"IN", PT_OP_EQ, false,
                "p IN (?1, ?1, ?1), p IN (SELECT t), p IN (SELECT n), p IN (SELECT b), 0"}};

static sqlite3_stmt *questions[COUNT(column_types)][COUNT(operators)];

static int open_questions(void **state)
{
    open_shared(state);
    assert_int_equal(
        sqlite3_create_collation(db, PT_TICKS_COLLATION, SQLITE_UTF8, NULL, pt_collation_datetime),
        SQLITE_OK);
    for (size_t t = 0; t < COUNT(column_types); t++) {
        char name[20];
        sqlite3_snprintf(sizeof name, name, "row%d", (int)t);
        assert_int_equal(sqlite3_create_module(db, name, &row_module, (void *)&column_types[t]),
                         SQLITE_OK);
        for (size_t o = 0; o < COUNT(operators); o++) {
            char *sql = sqlite3_mprintf("SELECT %s FROM %s", operators[o].answers, name);
            int rc = sqlite3_prepare_v2(db, sql, -1, &questions[t][o], NULL);
            sqlite3_free(sql);
            assert_int_equal(rc, SQLITE_OK);
        }
    }
    return 0;
}

static int close_questions(void **state)
{
    for (size_t t = 0; t < COUNT(column_types); t++) {
        for (size_t o = 0; o < COUNT(operators); o++) {
            sqlite3_finalize(questions[t][o]);
        }
    }
    return close_shared(state);
}

/* True if SQLite finds the comparison true with any affinity of the other side. */
static bool is_true_somehow(size_t type, size_t op)
{
    sqlite3_stmt *question = questions[type][op];
    sqlite3_bind_value(question, 1, other_side);
    assert_int_equal(sqlite3_step(question), SQLITE_ROW);
    bool is_true = false;
    for (int i = 0; i < ANSWERS; i++) {
        is_true = is_true || sqlite3_column_int(question, i) == 1;
    }
    sqlite3_reset(question);
    return is_true;
}

/* --- The module's judgement --- */

static pt_arena arena;

static void begin(pt_comparison *comparison, size_t type, size_t op, bool only_equal)
{
    pt_arena_clear(&arena);
    pt_comparison_begin(comparison, column_types[type].type, operators[op].op, only_equal);
}

static void add(pt_comparison *comparison, size_t op, sqlite3_value *value)
{
    if (operators[op].is && sqlite3_value_type(value) == SQLITE_NULL) {
        comparison->finds_null = true;
    }
    assert_int_equal(pt_comparison_add_argument(comparison, value, &arena), SQLITE_OK);
}

/* An entity with one property, or with none. */
static void make_with(test_entity *made, const pt_value *value)
{
    named_value named = {.name = "P", .value = *value};
    make_entity(made, "pk", "rk", &named, value->type != PT_NONE ? 1 : 0);
}

static bool may_pass(const pt_comparison *comparison, test_entity *entity)
{
    const pt_shape *shape = entity->record.shape;
    pt_type type = shape->count != 0 ? (pt_type)shape->properties[0].type : PT_NONE;
    pt_judging judging = pt_comparison_judging(comparison, type);
    bool passes = judging == PT_JUDGE_NONE;
    if (judging != PT_JUDGE_NONE && judging != PT_JUDGE_ALL) {
        assert_int_equal(
            pt_comparison_judge(comparison, judging, &entity->record, shape->properties, &passes),
            SQLITE_OK);
    }
    return passes;
}

/* --- Values --- */

#define TEXT(literal)                                                                              \
    {                                                                                              \
        .type = PT_STRING, .bytes = {(const uint8_t *)(literal), sizeof(literal) - 1 }             \
    }
#define BYTES(literal)                                                                             \
    {                                                                                              \
        .type = PT_BINARY, .bytes = {(const uint8_t *)(literal), sizeof(literal) - 1 }             \
    }
#define DAY (PT_TICKS_PER_SECOND * 86400)

static const pt_value properties[] = {
    {.type = PT_NONE},
    {.type = PT_INT32, .integer = 0},
    {.type = PT_INT32, .integer = 5},
    {.type = PT_INT32, .integer = -5},
    {.type = PT_INT32, .integer = 10},
    {.type = PT_INT32, .integer = 2026},
    {.type = PT_INT32, .integer = INT32_MAX},
    {.type = PT_INT64, .integer = 5},
    {.type = PT_INT64, .integer = INT64_C(9007199254740992)},
    {.type = PT_INT64, .integer = INT64_C(9007199254740993)},
    {.type = PT_INT64, .integer = INT64_MAX},
    {.type = PT_INT64, .integer = INT64_MIN},
    {.type = PT_BOOLEAN, .integer = 0},
    {.type = PT_BOOLEAN, .integer = 1},
    {.type = PT_DOUBLE, .real = 0.0},
    {.type = PT_DOUBLE, .real = -0.0},
    {.type = PT_DOUBLE, .real = 5.0},
    {.type = PT_DOUBLE, .real = 2.5},
    {.type = PT_DOUBLE, .real = 0.1},
    {.type = PT_DOUBLE, .real = 0.1 + 1e-17 * 2},
    {.type = PT_DOUBLE, .real = 9007199254740992.0},
    {.type = PT_DOUBLE, .real = 9223372036854775808.0},
    {.type = PT_DOUBLE, .real = -9223372036854775808.0},
    {.type = PT_DOUBLE, .real = NAN},
    {.type = PT_DOUBLE, .real = INFINITY},
    {.type = PT_DOUBLE, .real = -INFINITY},
    {.type = PT_DATETIME, .integer = 0},
    {.type = PT_DATETIME, .integer = PT_TICKS_UNIX_EPOCH},
    {.type = PT_DATETIME, .integer = PT_TICKS_UNIX_EPOCH + 20454 * DAY}, /* 2026-01-01 */
    {.type = PT_DATETIME, .integer = PT_TICKS_UNIX_EPOCH + 20454 * DAY + 1},
    {.type = PT_DATETIME, .integer = PT_TICKS_MAX},
    {.type = PT_GUID, .guid = {0x0f, 0x8f, 0xad, 0x5b, 0xd9, 0xcb, 0x46, 0x9f, 0xa1, 0x65, 0x70}},
    {.type = PT_GUID, .guid = {0x10, 0x8f, 0xad, 0x5b, 0xd9, 0xcb, 0x46, 0x9f, 0xa1, 0x65, 0x70}},
    {.type = PT_GUID, .guid = {0}},
    TEXT(""),
    TEXT("a"),
    TEXT("A"),
    TEXT("ab"),
    TEXT("a\0b"),
    TEXT("\xC3\xA9"),
    TEXT("\xFF"),
    TEXT("5"),
    TEXT("05"),
    TEXT("10"),
    TEXT(" 5 "),
    TEXT("5.0"),
    TEXT("5e0"),
    TEXT("+5"),
    TEXT("-5"),
    TEXT("."),
    TEXT("-"),
    TEXT("5x"),
    TEXT("\t5"),
    TEXT("\x01"
         "5"),
    TEXT("\x0E"
         "5"),
    TEXT("5E1"),
    TEXT("5f1"),
    TEXT("9007199254740993"),
    TEXT("99999999999999999999"),
    TEXT("99999999999999999998"),
    TEXT("Inf"),
    TEXT("-Inf"),
    TEXT("NaN"),
    TEXT("2026"),
    TEXT("2026-01-01"),
    TEXT("2026-01-01T00:00:00.0000000Z"),
    TEXT("0F8FAD5B-D9CB-469F-A165-700000000000"),
    TEXT("0f8fad5b-d9cb-469f-a165-700000000000"),
    TEXT("{0f8fad5b-d9cb-469f-a165-700000000000}"),
    TEXT("!"),
    TEXT("~"),
    BYTES(""),
    BYTES("a"),
    BYTES("5"),
    BYTES("\xFF"),
};

static const char *const others[] = {
    "NULL",
    "0",
    "1",
    "5",
    "-5",
    "6",
    "10",
    "2026",
    "2147483648",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "0.0",
    "-0.0",
    "5.0",
    "2.5",
    "5.5",
    "-2.5",
    "0.1",
    "9007199254740992.0",
    "9223372036854775808.0",
    "-9223372036854775808.0",
    "1e300",
    "-1e300",
    "9e999",
    "-9e999",
    "''",
    "'a'",
    "'A'",
    "'b'",
    "'ab'",
    "char(97, 0, 98)",
    "'é'",
    "CAST(x'FF' AS TEXT)",
    "'5'",
    "'05'",
    "'10'",
    "'09'",
    "' 5'",
    "'5 '",
    "'5.0'",
    "'5e0'",
    "'+5'",
    "'.5e1'",
    "'5.'",
    "'0x5'",
    "'5x'",
    "'.'",
    "'1e'",
    "'9007199254740993'",
    "'99999999999999999999'",
    "'99999999999999999998'",
    "'Inf'",
    "'-Inf'",
    "'NaN'",
    "'2026'",
    "'2026-01'",
    "'2026-01-01'",
    "'2026-01-01 00:00'",
    "'2026-01-01T01:00:00+01:00'",
    "'2026-01-01T00:00:00.0000001Z'",
    "'9999-12-31T23:59:59.9999999Z'",
    "'0001'",
    "'1970-01-01'",
    "'0f8fad5b-d9cb-469f-a165-700000000000'",
    "'0F8FAD5B-D9CB-469F-A165-700000000000'",
    "'{0f8fad5b-d9cb-469f-a165-700000000000}'",
    "'00000000-0000-0000-0000-000000000000'",
    "'0f8f'",
    "'0f8fad5b-d9cb-469f-a165-70000000000x'",
    "'5E1'",
    "char(9) || '5'",
    "'!'",
    "'~'",
    "x''",
    "x'61'",
    "x'35'",
    "x'ff'",
    "zeroblob(2)",
};

static sqlite3_value *other_values[COUNT(others)];
static test_entity entities[COUNT(properties)];

static int open_values(void **state)
{
    open_questions(state);
    for (size_t i = 0; i < COUNT(others); i++) {
        other_values[i] = value_of(others[i]);
    }
    for (size_t i = 0; i < COUNT(properties); i++) {
        make_with(&entities[i], &properties[i]);
    }
    return 0;
}

static int close_values(void **state)
{
    for (size_t i = 0; i < COUNT(others); i++) {
        sqlite3_value_free(other_values[i]);
    }
    for (size_t i = 0; i < COUNT(properties); i++) {
        free_entity(&entities[i]);
    }
    pt_arena_free(&arena);
    return close_questions(state);
}

static void describe(pt_buffer *text, size_t property)
{
    pt_buffer_clear(text);
    pt_value_append_text(text, &properties[property]);
    pt_buffer_append_byte(text, 0);
}

static void assert_not_lost(bool passes, bool is_true, size_t type, size_t property, size_t op,
                            const char *other)
{
    if (is_true && !passes) {
        pt_buffer text = {0};
        describe(&text, property);
        fail_msg("column of type '%s' with the %s %s: %s %s may be true",
                 pt_type_name(column_types[type].type), pt_type_name(properties[property].type),
                 (const char *)text.data, operators[op].sql, other);
    }
}

/* --- Tests --- */

static size_t type_of(pt_type column)
{
    size_t type = 0;
    while (column_types[type].type != column) {
        type++;
    }
    return type;
}

static void what_may_be_true_passes(void **state)
{
    (void)state;
    if (!has_long_doubles()) {
        skip();
    }
    size_t judged = 0;
    size_t false_ones = 0;
    for (size_t type = 0; type < COUNT(column_types); type++) {
        for (size_t op = 0; op < COUNT(operators); op++) {
            for (size_t o = 0; o < COUNT(others); o++) {
                pt_comparison comparison;
                other_side = other_values[o];
                begin(&comparison, type, op, false);
                add(&comparison, op, other_side);
                pt_comparison_end(&comparison);
                for (size_t p = 0; p < COUNT(properties); p++) {
                    shown = &properties[p];
                    bool is_true = is_true_somehow(type, op);
                    bool passes = may_pass(&comparison, &entities[p]);
                    assert_not_lost(passes, is_true, type, p, op, others[o]);
                    assert_true(passes || !is_true);
                    assert_true(!is_true || !pt_comparison_is_never(&comparison));
                    judged += passes ? 0 : 1;
                    false_ones += is_true ? 0 : 1;
                }
            }
        }
    }
    /* Much of what is false is judged. */
    assert_true(judged > false_ones / 3);
}

/* As for IN: SQLite compares with each value. */
static void a_list_passes_what_equals_any_value(void **state)
{
    (void)state;
    if (!has_long_doubles()) {
        skip();
    }
    enum { LISTS = 3000, LONGEST = 6 };
    for (int list = 0; list < LISTS; list++) {
        size_t type = random_bits() % COUNT(column_types);
        size_t members[LONGEST];
        size_t count = random_bits() % (LONGEST + 1);
        pt_comparison comparison;
        begin(&comparison, type, 0, false);
        for (size_t i = 0; i < count; i++) {
            members[i] = random_bits() % COUNT(others);
            add(&comparison, 0, other_values[members[i]]);
        }
        pt_comparison_end(&comparison);
        for (size_t p = 0; p < COUNT(properties); p++) {
            bool passes = may_pass(&comparison, &entities[p]);
            shown = &properties[p];
            for (size_t i = 0; i < count && !passes; i++) {
                other_side = other_values[members[i]];
                assert_not_lost(passes, is_true_somehow(type, 0), type, p, 0, others[members[i]]);
            }
        }
    }
}

static void a_long_list_is_left_to_sqlite(void **state)
{
    (void)state;
    const pt_value absent = {.type = PT_NONE};
    const pt_value six = {.type = PT_INT32, .integer = 6};
    test_entity without;
    test_entity with_six;
    pt_comparison comparison;
    sqlite3_value *five = value_of("5");
    make_with(&without, &absent);
    make_with(&with_six, &six);
    begin(&comparison, type_of(PT_INT32), 0, false);
    for (int i = 0; i <= PT_COMPARED_VALUES_MAX; i++) {
        assert_false(comparison.too_many);
        add(&comparison, 0, five);
    }
    pt_comparison_end(&comparison);
    assert_true(comparison.too_many);
    assert_true(may_pass(&comparison, &with_six));
    assert_false(may_pass(&comparison, &without));
    comparison.too_many = false;
    assert_false(may_pass(&comparison, &with_six));
    free_entity(&without);
    free_entity(&with_six);
    sqlite3_value_free(five);
}

static int add_all(pt_comparison *comparison)
{
    int rc = SQLITE_OK;
    for (size_t o = 0; o < COUNT(others) && rc == SQLITE_OK; o++) {
        rc = pt_comparison_add_argument(comparison, other_values[o], &arena);
    }
    return rc;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    for (size_t type = 0; type < COUNT(column_types); type++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            pt_comparison comparison;
            pt_arena_free(&arena);
            begin(&comparison, type, 0, false);
            failing_malloc_arm(n, false);
            int rc = add_all(&comparison);
            hit = failing_malloc_disarm();
            assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        }
    }
}

static bool is_ascii(pt_slice text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] < 0x80) {
        at++;
    }
    return at == text.size;
}

/* In a database in UTF-16 an inequality of texts says nothing, and = only of ASCII. */
static void less_is_judged_in_utf16(void **state)
{
    (void)state;
    for (size_t type = 0; type < COUNT(column_types); type++) {
        for (size_t op = 0; op < COUNT(operators); op++) {
            for (size_t o = 0; o < COUNT(others); o++) {
                pt_comparison here;
                pt_comparison there;
                other_side = other_values[o];
                begin(&there, type, op, false);
                add(&there, op, other_side);
                pt_comparison_end(&there);
                pt_comparison_begin(&here, column_types[type].type, operators[op].op, true);
                add(&here, op, other_side);
                pt_comparison_end(&here);
                bool text = sqlite3_value_type(other_side) == SQLITE_TEXT;
                for (size_t p = 0; p < COUNT(properties); p++) {
                    bool passes = may_pass(&here, &entities[p]);
                    assert_true(passes || !may_pass(&there, &entities[p]));
                    bool texts = text && !here.has_number && properties[p].type == PT_STRING;
                    assert_true(passes || !texts ||
                                (here.op == PT_OP_EQ && is_ascii(properties[p].bytes)));
                }
            }
        }
    }
}

static const struct judged_case {
    pt_type column;
    pt_value property;
    const char *op;
    const char *other;
    bool passes;
} judged_cases[] = {
    {PT_INT32, {.type = PT_INT32, .integer = 5}, ">", "5", false},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, ">", "4.5", true},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, ">", "5.5", false},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, "<", "'6'", true},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, "<", "' 5'", false},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, "<", "-9e999", false},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, "=", "'a'", false},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, "<", "NULL", false},
    {PT_INT32, {.type = PT_INT32, .integer = 5}, "IS", "NULL", false},
    {PT_INT32, {.type = PT_NONE}, "IS", "NULL", true},
    {PT_INT32, {.type = PT_NONE}, "IS", "5", false},
    {PT_INT32, {.type = PT_NONE}, "<=", "5", false},
    {PT_INT64,
     {.type = PT_INT64, .integer = INT64_C(9007199254740993)},
     "=",
     "9007199254740992.0",
     false},
    {PT_DOUBLE, {.type = PT_DOUBLE, .real = 9007199254740992.0}, "<", "9007199254740993", true},
    {PT_DOUBLE, {.type = PT_DOUBLE, .real = 9007199254740992.0}, "=", "9007199254740993", false},
    {PT_DOUBLE, {.type = PT_DOUBLE, .real = 2.5}, ">=", "3", false},
    {PT_BOOLEAN, {.type = PT_BOOLEAN, .integer = 1}, "=", "0", false},
    {PT_STRING, TEXT("a"), "=", "'b'", false},
    {PT_STRING, TEXT("a"), ">", "'a'", false},
    {PT_STRING, TEXT("a"), "=", "'5'", false},
    {PT_STRING, TEXT("5"), "=", "'a'", false},
    {PT_STRING, TEXT("00123"), "=", "'00124'", false},
    {PT_STRING, TEXT("00123"), ">", "'00124'", false},
    {PT_STRING, TEXT("12 monkeys"), "=", "'12'", false},
    {PT_STRING, TEXT("a"), "=", "x'62'", false},
    {PT_BINARY, BYTES("a"), ">", "x'62'", false},
    {PT_DATETIME, {.type = PT_DATETIME, .integer = 1}, ">", "'0001-01-02'", false},
    {PT_DATETIME, {.type = PT_DATETIME, .integer = 1}, "=", "''", false},
    {PT_DATETIME, {.type = PT_DATETIME, .integer = 1}, "=", "'now'", false},
    {PT_DATETIME, {.type = PT_DATETIME, .integer = 1}, "=", "'2026'", false},
    {PT_GUID, {.type = PT_GUID, .guid = {1}}, "=", "'02000000-0000-0000-0000-00000000000A'", false},
    {PT_GUID, {.type = PT_GUID, .guid = {1}}, ">", "'02000000-0000-0000-0000-00000000000A'", false},
    {PT_GUID,
     {.type = PT_GUID, .guid = {1}},
     "=",
     "'{01000000-0000-0000-0000-000000000000}'",
     false},
    {PT_NONE, {.type = PT_INT32, .integer = 5}, "=", "7", false},
    {PT_NONE, TEXT("a"), "=", "7", false},
    /* SQLite may see these otherwise. */
    {PT_STRING, TEXT("5"), "=", "'05'", true},
    {PT_STRING, TEXT("10"), "<", "'9'", true},
    {PT_STRING, TEXT("5"), "=", "7", true},
    {PT_STRING, {.type = PT_INT32, .integer = 10}, ">", "9", true},
    {PT_STRING, {.type = PT_INT32, .integer = 10}, "=", "'10'", true},
    {PT_STRING, TEXT("9999999999999999991"), "=", "'9999999999999999992'", true},
    {PT_INT32, TEXT("5"), "=", "5", true},
    {PT_INT32, TEXT("a"), "<", "5", true},
    {PT_DOUBLE, {.type = PT_DOUBLE, .real = NAN}, "=", "'NaN'", true},
    {PT_DATETIME, {.type = PT_DATETIME, .integer = 1}, "=", "2026", true},
    {PT_DATETIME, {.type = PT_DATETIME, .integer = 1}, ">", "'2026'", true},
    {PT_DATETIME, TEXT("a"), "=", "'b'", true},
    {PT_STRING, {.type = PT_LARGE_STRING, .large = {.size = 9000}}, "=", "'b'", true},
};

static size_t operator_of(const char *sql)
{
    size_t op = 0;
    while (strcmp(operators[op].sql, sql) != 0) {
        op++;
    }
    return op;
}

static void only_what_is_certain_is_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(judged_cases); i++) {
        const struct judged_case *given = &judged_cases[i];
        size_t op = operator_of(given->op);
        pt_comparison comparison;
        test_entity entity;
        sqlite3_value *value = value_of(given->other);
        make_with(&entity, &given->property);
        begin(&comparison, type_of(given->column), op, false);
        add(&comparison, op, value);
        pt_comparison_end(&comparison);
        if (may_pass(&comparison, &entity) != given->passes) {
            fail_msg("case %zu: %s %s %s", i, pt_type_name(given->property.type), given->op,
                     given->other);
        }
        free_entity(&entity);
        sqlite3_value_free(value);
    }
}

static void the_value_is_not_changed(void **state)
{
    (void)state;
    for (size_t o = 0; o < COUNT(others); o++) {
        for (size_t type = 0; type < COUNT(column_types); type++) {
            sqlite3_value *value = value_of(others[o]);
            pt_comparison comparison;
            int before = sqlite3_value_type(value);
            begin(&comparison, type, 0, false);
            add(&comparison, 0, value);
            assert_int_equal(sqlite3_value_type(value), before);
            assert_int_equal(sqlite3_value_numeric_type(value),
                             sqlite3_value_numeric_type(other_values[o]));
            sqlite3_value_free(value);
        }
    }
}

static void a_damaged_property_is_reported(void **state)
{
    (void)state;
    static const pt_value damaged[] = {
        TEXT("a"), {.type = PT_BOOLEAN, .integer = 1}, {.type = PT_DATETIME, .integer = 1}};
    for (size_t i = 0; i < COUNT(damaged); i++) {
        test_entity entity;
        pt_comparison comparison;
        bool passes = false;
        make_with(&entity, &damaged[i]);
        sqlite3_value *value = value_of(i == 0 ? "'b'" : i == 1 ? "0" : "'2026-01-01'");
        begin(&comparison, type_of(damaged[i].type), 0, false);
        add(&comparison, 0, value);
        pt_comparison_end(&comparison);
        size_t header = (size_t)(entity.record.fixed - entity.bytes);
        size_t size = pt_record_bytes(&entity.record).size;
        memset(entity.bytes + header, 0xFF, size - header);
        pt_judging judging = pt_comparison_judging(&comparison, damaged[i].type);
        assert_int_equal(pt_comparison_judge(&comparison, judging, &entity.record,
                                             entity.record.shape->properties, &passes),
                         SQLITE_CORRUPT_VTAB);
        sqlite3_value_free(value);
        free_entity(&entity);
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_true_passes),
        cmocka_unit_test(a_list_passes_what_equals_any_value),
        cmocka_unit_test(a_long_list_is_left_to_sqlite),
        cmocka_unit_test(less_is_judged_in_utf16),
        cmocka_unit_test(only_what_is_certain_is_judged),
        cmocka_unit_test(the_value_is_not_changed),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
        cmocka_unit_test(a_damaged_property_is_reported),
    };
    return cmocka_run_group_tests(tests, open_values, close_values);
}
