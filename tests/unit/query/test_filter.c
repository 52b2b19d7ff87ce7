#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "query/filter.h"
#include "unit/query/filter_text.h"

static pt_filter filter;

static int parse_slice(pt_slice text, pt_error *error)
{
    uint8_t *copy = malloc(text.size + 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    int rc = pt_filter_parse(&filter, pt_slice_of(copy, text.size), error);
    free(copy);
    return rc;
}

static void assert_parsed(const char *text, const char *expected)
{
    pt_error error = PT_ERROR_NONE;
    if (parse_slice(pt_slice_text(text), &error) != SQLITE_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    pt_buffer parsed = {0};
    append_node(&parsed, &filter, filter.root);
    pt_buffer_append_byte(&parsed, 0);
    assert_string_equal((const char *)parsed.data, expected);
    pt_buffer_free(&parsed);
}

static void assert_refused(const char *text, const char *expected)
{
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_slice(pt_slice_text(text), &error), SQLITE_ERROR);
    assert_string_equal(error.message, expected);
    pt_error_clear(&error);
}

static void assert_unexpected(const char *text, int position, const char *expectation)
{
    char message[400];
    snprintf(message, sizeof message,
             "Filter: syntax error at position %d (counted from 0): expected %s (InvalidInput)",
             position, expectation);
    assert_refused(text, message);
}

static void comparisons(void **state)
{
    (void)state;
    assert_parsed("Age gt 30", "Age gt Int32 30");
    assert_parsed("Age ge 30L", "Age ge Int64 30");
    assert_parsed("  Age\tlt\n3.5 ", "Age lt Double 3.5");
    assert_parsed("Name le 'it''s'", "Name le String it's");
    assert_parsed("Name eq ''", "Name eq String ");
    assert_parsed("Active ne false", "Active ne Boolean false");
    assert_parsed("Active eq true", "Active eq Boolean true");
    assert_parsed("Due ge datetime'2026-11-21T00:00:00Z'",
                  "Due ge DateTime 2026-11-21T00:00:00.0000000Z");
    assert_parsed("Id eq guid'01234567-89ab-cdef-0123-456789abcdef'",
                  "Id eq Guid 01234567-89ab-cdef-0123-456789abcdef");
    assert_parsed("Photo eq X'0a1b' ", "Photo eq Binary 0A1B");
    assert_parsed("Photo lt binary'ff'", "Photo lt Binary FF");
}

static void names_count_with_their_case(void **state)
{
    (void)state;
    assert_parsed("PartitionKey eq 'a'", "PartitionKey! eq String a");
    assert_parsed("RowKey ge '1'", "RowKey! ge String 1");
    assert_parsed("Timestamp lt datetime'2026-01-01'",
                  "Timestamp! lt DateTime 2026-01-01T00:00:00.0000000Z");
    assert_parsed("partitionkey eq 'a'", "partitionkey eq String a");
    assert_parsed("\xC3\x9C"
                  "ber_1 eq 1",
                  "\xC3\x9C"
                  "ber_1 eq Int32 1");
    assert_parsed("add gt 1", "add gt Int32 1");
    assert_parsed("And eq 1", "And eq Int32 1");
}

static void a_constant_may_stand_left(void **state)
{
    (void)state;
    assert_parsed("30 lt Age", "Age gt Int32 30");
    assert_parsed("30 le Age", "Age ge Int32 30");
    assert_parsed("30 gt Age", "Age lt Int32 30");
    assert_parsed("30 ge Age", "Age le Int32 30");
    assert_parsed("30 eq Age", "Age eq Int32 30");
    assert_parsed("30 ne Age", "Age ne Int32 30");
    assert_parsed("true ne Active", "Active ne Boolean true");
}

static void booleans_stand_alone(void **state)
{
    (void)state;
    assert_parsed("Active", "Active eq Boolean true");
    assert_parsed("not Active", "!(Active eq Boolean true)");
    assert_parsed("true", "true");
    assert_parsed("false or Active", "(false or Active eq Boolean true)");
    assert_parsed("not true", "!(true)");
    assert_parsed("", "true");
    assert_parsed(" \t\n", "true");
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_filter_parse(&filter, (pt_slice){0}, &error), SQLITE_OK);
}

static void not_binds_before_and_before_or(void **state)
{
    (void)state;
    assert_parsed("a and b", "(a eq Boolean true and b eq Boolean true)");
    assert_parsed("a eq 1 or b eq 2 and c eq 3",
                  "(a eq Int32 1 or (b eq Int32 2 and c eq Int32 3))");
    assert_parsed("a eq 1 and b eq 2 or c eq 3",
                  "((a eq Int32 1 and b eq Int32 2) or c eq Int32 3)");
    assert_parsed("(a eq 1 or b eq 2) and c eq 3",
                  "((a eq Int32 1 or b eq Int32 2) and c eq Int32 3)");
    assert_parsed("not a eq 1 and b eq 2", "(!(a eq Int32 1) and b eq Int32 2)");
    assert_parsed("not(a eq 1 and b eq 2)", "!(a eq Int32 1 and b eq Int32 2)");
    assert_parsed("not not a eq 1", "a eq Int32 1");
    assert_parsed("not (not (a eq 1))", "a eq Int32 1");
    assert_parsed("((a eq 1))and((b eq 2))", "(a eq Int32 1 and b eq Int32 2)");
    assert_parsed("a eq 1 or b eq 2 or c eq 3", "(a eq Int32 1 or b eq Int32 2 or c eq Int32 3)");
}

static void only_other_properties_need_the_record(void **state)
{
    (void)state;
    assert_parsed("PartitionKey eq 'a' and not (RowKey lt 'b') or true",
                  "((PartitionKey! eq String a and !(RowKey! lt String b)) or true)");
    assert_false(filter.reads_record);
    assert_int_equal(filter.property_count, 0);
    assert_parsed("Timestamp gt datetime'2026-01-01'",
                  "Timestamp! gt DateTime 2026-01-01T00:00:00.0000000Z");
    assert_true(filter.reads_record);
    assert_int_equal(filter.property_count, 0);
    assert_parsed("a or b or a", "(a eq Boolean true or b eq Boolean true or a eq Boolean true)");
    assert_true(filter.reads_record);
    assert_int_equal(filter.property_count, 3);
}

static void bad_syntax_is_told_with_its_position(void **state)
{
    (void)state;
    static const char operand[] = "a property, a constant, not or (, not ";
    static const char op[] = "eq, ne, gt, ge, lt or le, not ";
    static const struct {
        const char *text;
        int position;
        const char *expected;
        const char *found;
    } cases[] = {
        {"Age gt", 6, operand, "the end"},
        {"Age gt ", 7, operand, "the end"},
        {"Age 30", 4, op, "30"},
        {"Age = 30", 4, op, "="},
        {"Age Badge", 4, op, "Badge"},
        {"30", 2, op, "the end"},
        {"'x' and Age gt 3", 4, op, "and"},
        {"Age gt gt", 7, operand, "gt"},
        {"and Age gt 3", 0, operand, "and"},
        {"Age gt 3 and", 12, operand, "the end"},
        {"Age gt 3 or or", 12, operand, "or"},
        {"not", 3, operand, "the end"},
        {"Age gt not 3", 7, operand, "not"},
        {"()", 1, operand, ")"},
        {"(Age gt 3", 9, "and, or or ), not ", "the end"},
        {"(Age gt 3 4)", 10, "and, or or ), not ", "4"},
        {"Age gt 3)", 8, "and, or or the end, not ", ")"},
        {"Age gt 3 Badge eq 4", 9, "and, or or the end, not ", "Badge"},
        {"1 lt Age lt 3", 9, "and, or or the end, not ", "lt"},
        {"(Age) gt 3", 6, "and, or or the end, not ", "gt"},
        {"a/b eq 3", 1, op, "/"},
        {"Age GT 30", 4, op, "GT; keywords are lower-case"},
        {"a eq 1 AND b eq 2", 7, "and, or or the end, not ", "AND; keywords are lower-case"},
        {"NOT Active", 0, operand, "NOT; keywords are lower-case"},
        {"Active eq TRUE", 10, "a constant, not ", "TRUE; keywords are lower-case"},
        {"Name eq \"x\"", 8, operand, "\"; write a text between single quotes"},
        {"Age gt +3", 7, operand, "+"},
        {"Age gt .5", 7, operand, "."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expectation[200];
        snprintf(expectation, sizeof expectation, "%s%s", cases[i].expected, cases[i].found);
        assert_unexpected(cases[i].text, cases[i].position, expectation);
    }
    assert_refused(
        "Age eq null",
        "Filter: syntax error at position 7 (counted from 0): there is no null; to find entities "
        "without Age write not (Age ge '' or Age lt ''), or Age IS NULL in SQL (InvalidInput)");
}

static void what_the_service_lacks_is_named(void **state)
{
    (void)state;
    assert_refused("startswith(Name, 'x')",
                   "Filter: filters have no function startswith(); use RowKey ge 'x' and RowKey lt "
                   "'y', or SQL's pt_starts_with(RowKey, 'x') (NotImplemented)");
    assert_refused("Age gt 3 and substringof('x', Name)",
                   "Filter: filters have no function substringof(); use a condition in SQL, such "
                   "as instr(Name, 'x') (NotImplemented)");
    assert_refused("tolower(Name) eq 'x'",
                   "Filter: filters have no function tolower(); use a condition in SQL, such as "
                   "lower(Name) = 'x' (NotImplemented)");
    assert_refused("3 eq length (Name)", "Filter: filters have no function length(); use a "
                                         "condition in SQL beside the Filter (NotImplemented)");
    assert_refused("Age add 1 gt 30", "Filter: no arithmetic in a filter (add); use a condition in "
                                      "SQL, such as Age + 1 > 30 (NotImplemented)");
    assert_refused("Age gt 30 sub 1", "Filter: no arithmetic in a filter (sub); use a condition in "
                                      "SQL, such as Age + 1 > 30 (NotImplemented)");
    assert_refused("-Age lt 30", "Filter: no arithmetic in a filter (-); use a condition in SQL, "
                                 "such as Age + 1 > 30 (NotImplemented)");
    assert_refused("Age eq Badge", "Filter: Age and Badge are both properties; use a condition "
                                   "in SQL (NotImplemented)");
    assert_refused("1 eq 2", "Filter: 1 and 2 are both constants; one side must be a property "
                             "(NotImplemented)");
    assert_refused("true eq false", "Filter: true and false are both constants; one side must "
                                    "be a property (NotImplemented)");
    assert_refused("Score eq NaN",
                   "Filter: Score and NaN are both properties, since there is no constant NaN or "
                   "Infinity; use a condition in SQL, such as Score = 'NaN' (NotImplemented)");
}

static void texts_that_are_none_are_refused(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    static const struct {
        const char *text;
        size_t size;
        int position;
    } with_nul[] = {{"\0", 1, 0}, {" \0 a eq 1", 10, 1}, {"a\0 eq 1", 7, 1}, {"a eq 1\0", 7, 6}};
    for (size_t i = 0; i < sizeof with_nul / sizeof with_nul[0]; i++) {
        char message[200];
        snprintf(message, sizeof message,
                 "Filter: syntax error at position %d (counted from 0): U+0000 may stand only in a "
                 "text between single quotes; leave it out (InvalidInput)",
                 with_nul[i].position);
        pt_slice text = pt_slice_of(with_nul[i].text, with_nul[i].size);
        assert_int_equal(parse_slice(text, &error), SQLITE_ERROR);
        assert_string_equal(error.message, message);
    }
    pt_slice in_guid = pt_slice_of("a eq guid'0f8fad5b-d9cb-469f-a165-70867728950\0'", 47);
    assert_int_equal(parse_slice(in_guid, &error), SQLITE_ERROR);
    assert_non_null(strstr(error.message, "is not a constant: it does not have 32 hexadecimal "
                                          "digits; write a Guid as"));
    assert_int_equal(parse_slice(pt_slice_of("'\0\0''\0' lt a", 12), &error), SQLITE_OK);
    pt_slice constant = filter.root->constant.bytes;
    assert_true(pt_slice_equal(constant, pt_slice_of("\0\0'\0", 4)));
    assert_int_equal(parse_slice(pt_slice_of("a eq '\xFF'", 8), &error), SQLITE_ERROR);
    assert_string_equal(error.message, "Filter: the text is not UTF-8; give it in the database's "
                                       "encoding (InvalidInput)");
    pt_error_clear(&error);
}

/* `count` times `open`, then `middle`, then `count` times `close`. */
static pt_slice nested(const char *open, int count, const char *middle, const char *close)
{
    static char text[400000];
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s", open);
    }
    size += (size_t)snprintf(text + size, sizeof text - size, "%s", middle);
    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s", close);
    }
    return pt_slice_of(text, size);
}

static void nesting_has_a_limit(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_slice(nested("(", 100, "a", ")"), &error), SQLITE_OK);
    assert_int_equal(parse_slice(nested("not (", 100, "a", " or b) and c"), &error), SQLITE_OK);
    assert_int_equal(parse_slice(nested("(", 101, "a", ")"), &error), SQLITE_ERROR);
    assert_string_equal(error.message, "Filter: syntax error at position 100 (counted from 0): "
                                       "more than 100 nested parentheses (InvalidInput)");
    assert_int_equal(parse_slice(nested("(", 100000, "", ""), &error), SQLITE_ERROR);
    pt_error_clear(&error);
    assert_int_equal(parse_slice(nested("not ", 90001, "a", ""), &error), SQLITE_OK);
    assert_true(filter.root->negated);
    assert_int_equal(parse_slice(nested("", 1, "(a) and (b) and ((c)) or (d)", ""), &error),
                     SQLITE_OK);
}

static void chains_may_be_long(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_slice(nested("Age eq 3 or ", 20000, "Age eq 4", ""), &error), SQLITE_OK);
    assert_int_equal(filter.property_count, 20001);
    int operands = 0;
    for (const pt_filter_node *node = filter.root->first; node != NULL; node = node->next) {
        assert_int_equal(node->property, operands);
        operands++;
    }
    assert_int_equal(operands, 20001);
}

/* Either it is parsed or a text says why not; a sanitizer sees the rest. */
static void assert_survived(pt_slice text)
{
    pt_error error = PT_ERROR_NONE;
    int rc = parse_slice(text, &error);
    if (rc == SQLITE_OK) {
        pt_buffer parsed = {0};
        append_node(&parsed, &filter, filter.root);
        pt_buffer_free(&parsed);
    } else {
        assert_int_equal(rc, SQLITE_ERROR);
        const char *end = error.message + strlen(error.message);
        assert_true(strcmp(end - strlen("(InvalidInput)"), "(InvalidInput)") == 0 ||
                    strcmp(end - strlen("(NotImplemented)"), "(NotImplemented)") == 0);
    }
    pt_error_clear(&error);
}

static void no_mutation_does_harm(void **state)
{
    (void)state;
    static const char *const samples[] = {
        "PartitionKey eq 'a''b' and not (Age ge -3.5e+2 or 30L lt Age) or Active",
        "Due lt datetime'2026-11-21T08:43:22.5Z' and Id ne guid'01234567-89ab-cdef-0123-"
        "456789abcdef'",
        "(X'0a1B' eq Photo or Stra\xC3\x9F"
        "e eq '\xF0\x9F\x98\x80') and true",
    };
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
        uint8_t text[200];
        size_t size = strlen(samples[s]);
        for (size_t at = 0; at < size; at++) {
            memcpy(text, samples[s], size);
            assert_survived(pt_slice_of(text, at));
            for (int byte = 0; byte < 256; byte++) {
                text[at] = (uint8_t)byte;
                assert_survived(pt_slice_of(text, size));
            }
            memcpy(text + at, samples[s] + at + 1, size - at - 1);
            assert_survived(pt_slice_of(text, size - 1));
        }
    }
}

static void out_of_memory_can_be_tried_again(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "a eq 'x' and b or not (c eq X'00' or d) or e and f or g and h",
        "Age gt",
        "Age eq Badge",
        "length(a)",
        "a add",
        "'",
        "a eq null",
        "",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        pt_error error = PT_ERROR_NONE;
        int expected = parse_slice(pt_slice_text(texts[i]), &error);
        for (int n = 0;; n++) {
            pt_filter_free(&filter);
            failing_malloc_arm(n, false);
            int rc = pt_filter_parse(&filter, pt_slice_text(texts[i]), &error);
            bool hit = failing_malloc_disarm();
            assert_int_equal(rc, hit ? SQLITE_NOMEM : expected);
            assert_int_equal(pt_filter_parse(&filter, pt_slice_text(texts[i]), &error), expected);
            if (!hit) {
                break;
            }
        }
        pt_error_clear(&error);
    }
}

/* The longer the first name, the sooner the arena needs its second chunk: at each place once. */
static void any_allocation_of_the_arena_may_fail(void **state)
{
    (void)state;
    enum { CHUNK = 4096 };
    static const char rest[] = " eq 1 and b1 and b2 eq 2 and true and (b3 or b4 and b5 or false)";
    char text[CHUNK + sizeof rest];
    unsigned failed = 0;
    for (size_t size = 1; size <= CHUNK; size += 8) {
        pt_error error = PT_ERROR_NONE;
        memset(text, 'a', size);
        memcpy(text + size, rest, sizeof rest);
        pt_filter_free(&filter);
        failing_malloc_arm(1, false);
        int rc = pt_filter_parse(&filter, pt_slice_text(text), &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(error.rc, rc);
        failed += hit;
        pt_error_clear(&error);
        assert_int_equal(pt_filter_parse(&filter, pt_slice_text(text), &error), SQLITE_OK);
        assert_int_equal(filter.property_count, 6);
    }
    assert_in_range(failed, 2, CHUNK / 8 - 1);
}

static int free_filter(void **state)
{
    (void)state;
    pt_filter_free(&filter);
    return (int)sqlite3_memory_used();
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons),
        cmocka_unit_test(names_count_with_their_case),
        cmocka_unit_test(a_constant_may_stand_left),
        cmocka_unit_test(booleans_stand_alone),
        cmocka_unit_test(not_binds_before_and_before_or),
        cmocka_unit_test(only_other_properties_need_the_record),
        cmocka_unit_test(bad_syntax_is_told_with_its_position),
        cmocka_unit_test(what_the_service_lacks_is_named),
        cmocka_unit_test(texts_that_are_none_are_refused),
        cmocka_unit_test(nesting_has_a_limit),
        cmocka_unit_test(chains_may_be_long),
        cmocka_unit_test(no_mutation_does_harm),
        cmocka_unit_test(out_of_memory_can_be_tried_again),
        cmocka_unit_test(any_allocation_of_the_arena_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, free_filter);
}
