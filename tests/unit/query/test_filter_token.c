#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "query/filter_token.h"
#include "unit/query/filter_text.h"

static pt_arena arena;

/* In memory of its own size, so that a sanitizer sees every stray access. */
static uint8_t *exact_copy(const char *text)
{
    uint8_t *copy = malloc(strlen(text) + 1);
    assert_non_null(copy);
    memcpy(copy, text, strlen(text));
    return realloc(copy, strlen(text) != 0 ? strlen(text) : 1);
}

/* The tokens of a text: words as they are, constants as filter_text.h writes them, between bars. */
static void tokens_of(const char *text, pt_buffer *tokens)
{
    uint8_t *copy = exact_copy(text);
    pt_filter_lexer lexer = {.filter = pt_slice_of(copy, strlen(text)), .arena = &arena};
    pt_filter_token token;
    pt_error error = PT_ERROR_NONE;
    pt_buffer_clear(tokens);
    do {
        if (pt_filter_next_token(&lexer, &token, &error) != SQLITE_OK) {
            pt_buffer_append_text(tokens, error.message);
            pt_error_clear(&error);
            break;
        }
        if (token.kind == PT_TOKEN_CONSTANT) {
            append_value(tokens, &token.value);
        } else {
            pt_buffer_append_slice(tokens, token.text);
        }
        pt_buffer_append_byte(tokens, '|');
    } while (token.kind != PT_TOKEN_END);
    pt_buffer_append_byte(tokens, 0);
    free(copy);
}

static void assert_tokens(const char *text, const char *expected)
{
    pt_buffer tokens = {0};
    tokens_of(text, &tokens);
    assert_string_equal((const char *)tokens.data, expected);
    pt_buffer_free(&tokens);
}

/* Refused as the first token; the position and the remedy are in the message. */
static void assert_refused(const char *text, int position, const char *remedy)
{
    char begin[80];
    snprintf(begin, sizeof begin,
             "Filter: syntax error at position %d (counted from 0): ", position);
    pt_buffer tokens = {0};
    tokens_of(text, &tokens);
    const char *message = (const char *)tokens.data;
    const char *start = strstr(message, begin);
    if (start == NULL || strstr(start, remedy) == NULL ||
        strcmp(start + strlen(start) - strlen(" (InvalidInput)"), " (InvalidInput)") != 0) {
        fail_msg("%s: %s", text, message);
    }
    pt_buffer_free(&tokens);
}

static void words_and_signs(void **state)
{
    (void)state;
    assert_tokens("", "|");
    assert_tokens(" \t\r\n", "|");
    assert_tokens("Age gt", "Age|gt||");
    assert_tokens("(not(A_1))", "(|not|(|A_1|)|)||");
    assert_tokens("_x Stra\xC3\x9F"
                  "e",
                  "_x|Stra\xC3\x9F"
                  "e||");
    assert_tokens("a.b", "a|.|b||");
    assert_tokens("- -x", "-|-|x||");
}

static void numbers_have_the_type_they_are_written_with(void **state)
{
    (void)state;
    assert_tokens("0", "Int32 0||");
    assert_tokens("-3", "Int32 -3||");
    assert_tokens("007", "Int32 7||");
    assert_tokens("2147483647 -2147483648", "Int32 2147483647|Int32 -2147483648||");
    assert_tokens("3L -3l 2147483648L", "Int64 3|Int64 -3|Int64 2147483648||");
    assert_tokens("9223372036854775807L -9223372036854775808L",
                  "Int64 9223372036854775807|Int64 -9223372036854775808||");
    assert_tokens("3.0 3.25 -0.5", "Double 3|Double 3.25|Double -0.5||");
    assert_tokens("3e0 3E2 25e-1 1.5e+3", "Double 3|Double 300|Double 2.5|Double 1500||");
    assert_tokens("3D 3d 3.5D 3e0D -0.0", "Double 3|Double 3|Double 3.5|Double 3|Double -0||");
    assert_tokens("9007199254740993.0", "Double 9007199254740992||");
    assert_tokens("3)", "Int32 3|)||");
    assert_tokens("1-2", "Int32 1|Int32 -2||");
}

static void other_numbers_are_refused(void **state)
{
    (void)state;
    assert_refused("2147483648", 0, "2147483648 is not a constant; write 3 for an Int32, 3L for");
    assert_refused("  -2147483649", 2, "-2147483649 is not a constant");
    assert_refused("9223372036854775808L", 0, "is not a constant");
    assert_refused("3.0L", 0, "3.0L is not a constant");
    assert_refused("3F", 0, "3F is not a constant");
    assert_refused("3M", 0, "3M is not a constant");
    assert_refused("3e", 0, "3e is not a constant");
    assert_refused("3DD", 0, "3DD is not a constant");
    assert_refused("0x1F", 0, "0x1F is not a constant");
    assert_refused("1e999", 0, "1e999 is not a constant");
    assert_refused("1e999d", 0, "1e999d is not a constant");
    assert_refused("12abc", 0, "12abc is not a constant");
    assert_tokens("3.", "Int32 3|.||");
    assert_tokens("+3", "+|Int32 3||");
    assert_tokens(".5", ".|Int32 5||");
}

static void texts_stand_between_quotes(void **state)
{
    (void)state;
    assert_tokens("''", "String ||");
    assert_tokens("'it''s'", "String it's||");
    assert_tokens("''''", "String '||");
    assert_tokens("'a'')('", "String a')(||");
    assert_tokens("'\xF0\x9F\x98\x80 x'x", "String \xF0\x9F\x98\x80 x|x||");
    assert_refused("'", 0, "no closing '");
    assert_refused("Name eq 'it''s", 8, "no closing '");
    assert_refused("'''", 0, "no closing '");
}

static void other_types_have_a_word_before_the_quote(void **state)
{
    (void)state;
    assert_tokens("datetime'2026-11-21T08:43:22.5484454Z'",
                  "DateTime 2026-11-21T08:43:22.5484454Z||");
    assert_tokens("datetime'1601-01-01T00:00:00Z'", "DateTime 1601-01-01T00:00:00.0000000Z||");
    assert_tokens("datetime'2026-11-21T10:00:00+02:00'", "DateTime 2026-11-21T08:00:00.0000000Z||");
    assert_tokens("guid'01234567-89AB-cdef-0123-456789abcdef'",
                  "Guid 01234567-89ab-cdef-0123-456789abcdef||");
    assert_tokens("X'0a1B' x'' binary'ff'", "Binary 0A1B|Binary |Binary FF||");
    assert_refused("datetime'2026-02-30T00:00:00Z'", 0, "write a time as datetime'");
    assert_refused("datetime''", 0, "write a time as");
    assert_refused("guid'0123'", 0, "write a Guid as");
    assert_refused("X'0'", 0, "two hexadecimal digits");
    assert_refused("X'0g'", 0, "two hexadecimal digits");
    assert_refused("a binary'zz'", 2, "two hexadecimal digits");
    assert_refused("time'PT1H'", 0, "time'PT1H' is not a constant; only datetime, guid, X");
    assert_refused("Guid'01234567-89ab-cdef-0123-456789abcdef'", 0, "only datetime, guid, X");
    assert_refused("X'00", 1, "no closing '");
}

/* A blank of formatted text would otherwise make one name of a whole condition. */
static void what_looks_like_a_blank_or_quote_is_refused(void **state)
{
    (void)state;
    static const char *const others[] = {
        "\xC2\xA0",     "\xE2\x80\x80", "\xE2\x80\x8A", "\xE2\x80\x98",
        "\xE2\x80\x9F", "\xE2\x80\xAF", "\xE3\x80\x80", "\xEF\xBB\xBF",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[20];
        snprintf(text, sizeof text, "Age%seq", others[i]);
        assert_refused(text, 3, "this blank or quote is not ASCII; write a plain blank, or '");
        snprintf(text, sizeof text, "3%sand", others[i]);
        assert_refused(text, 1, "this blank or quote is not ASCII");
    }
    assert_tokens("'\xC2\xA0' \xC2\xA1 \xE2\x80\x8B \xE2\x80\xA0",
                  "String \xC2\xA0|\xC2\xA1|\xE2\x80\x8B|\xE2\x80\xA0||");
}

static void positions_count_utf16_units(void **state)
{
    (void)state;
    assert_refused("'\xC3\xA9' 3x", 4, "3x");
    assert_refused("'\xE6\x97\xA5' 3x", 4, "3x");
    assert_refused("'\xF0\x9F\x98\x80' 3x", 5, "3x");
}

static void out_of_memory_is_told(void **state)
{
    (void)state;
    static const char *const texts[] = {"'abc'", "X'00'", "3x", "guid''", "'"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (int n = 0;; n++) {
            pt_arena fresh = {0};
            pt_error error = PT_ERROR_NONE;
            pt_filter_token token;
            pt_filter_lexer lexer = {.filter = pt_slice_text(texts[i]), .arena = &fresh};
            failing_malloc_arm(n, false);
            int rc = pt_filter_next_token(&lexer, &token, &error);
            bool hit = failing_malloc_disarm();
            assert_int_equal(rc == SQLITE_NOMEM, hit);
            pt_error_clear(&error);
            pt_arena_free(&fresh);
            if (!hit) {
                break;
            }
        }
    }
}

static int free_arena(void **state)
{
    (void)state;
    pt_arena_free(&arena);
    return 0;
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_signs),
        cmocka_unit_test(numbers_have_the_type_they_are_written_with),
        cmocka_unit_test(other_numbers_are_refused),
        cmocka_unit_test(texts_stand_between_quotes),
        cmocka_unit_test(other_types_have_a_word_before_the_quote),
        cmocka_unit_test(what_looks_like_a_blank_or_quote_is_refused),
        cmocka_unit_test(positions_count_utf16_units),
        cmocka_unit_test(out_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
