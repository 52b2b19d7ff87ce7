#include "fixtures/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "service/key_guess.h"
#include "service/query_text.h"

/* The guess as a text, with "leap " before it; "none" if there is none. */
static const char *guess_of(const char *before, const char *last, const char *end)
{
    static char text[PT_KEY_GUESS_MAX + 8];
    pt_key_guess guess;
    pt_slice bound = end != NULL ? pt_slice_text(end) : (pt_slice){0};
    if (!pt_key_guess_make(pt_slice_text(before), pt_slice_text(last), bound, &guess)) {
        return "none";
    }
    pt_slice found = pt_slice_of(guess.text, guess.size);
    assert_true(pt_slice_compare(found, pt_slice_text(last)) > 0);
    assert_true(end == NULL || pt_slice_compare(found, bound) < 0);
    assert_int_equal(pt_query_alike_size(found), guess.size);
    snprintf(text, sizeof text, "%s%.*s", guess.leap ? "leap " : "", (int)guess.size,
             (const char *)guess.text);
    return text;
}

static void the_end_is_looked_for_near_and_then_far(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"p000", "p001", "p005"},
        {"p004", "p005", "p007"},   /* four pages are left in this ten */
        {"p005", "p006", "p05"},    /* too few are */
        {"p098", "p099", "p5"},     /* none are, nor in this hundred */
        {"p998", "p999", "u"},      /* the letter is the place of least hope */
        {"z998", "z999", "leap {"}, /* no letter is left */
        {"998", "999", "leap :"},   /* letters may follow digits */
        {"Z9", "Z98", "leap ["},
        {"000a", "04f1", "5"}, /* a page is four sixteenths of a sixteenth */
        {"2024-01-01", "2024-01-02", "2024-01-06"},
        {"2024-01-08", "2024-01-09", "2024-01-5"},
        {"", "a", "leap {"},
        {"a", "ab", "n"},
        {"x-y", "x-z", "y"},
        {"\u00e4", "\u00e5", "\u00f2"},
        {"\u4e01", "\u4e09", "\u7704"},
        {"\uac00", "\uac01", "\uc200"},
        {"\ud7f0", "\ud7ff", "none"},
        {"\u00e9"
         "8",
         "\u00e9"
         "9",
         "\u00f4"},
        {"b", "a", "n"}, /* in an order of its own */
        {"~", "~a", "leap \u00a0"},
        {"\x7e!", "\x7e#", "leap \u00a0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(guess_of(cases[i][0], cases[i][1], NULL), cases[i][2]);
    }
}

static void a_range_with_an_end_is_halved(void **state)
{
    (void)state;
    static const char *const cases[][4] = {
        {"p000", "p001", "p9", "p4"},
        {"p000", "p001", "p1", "p05"},
        {"p000", "p001", "p009", "p005"},
        {"p000", "p001", "p005", "p003"},
        {"p000", "p001", "p004", "none"}, /* less than four pages */
        {"p000", "p010", "p0105", "none"},
        {"p008", "p009", "p01", "none"},
        {"5a", "5b", ":", "5n"},
        {"A", "B", "Z", "N"},
        {"A", "B", "_", "N"},
        {"\u4e00", "\u4e01", "\u4e09", "\u4e05"},
        {"\u4e01a", "\u4e01b", "\u4e02", "\u4e01n"},
        {"a\u00e0", "a\u00e1", "b", "a\u00f0"},
        {"p\u4e00"
         "000",
         "p\u4e00"
         "001",
         "q", "p\u7700"},
        {"1\u00e9"
         "x-",
         "1\u00e9"
         "x.",
         "2", "1\u00f4"},
        {"5\u00ff-", "5\u00ff.", "6", "none"},
        {"a0", "a1", "a", "none"}, /* the last key is past the end */
        {"5y", "5z", ":", "7"},
        {"9y", "9z", ":", "none"},
        {"p00", "p01", "p\xFF", "p05"},
        {"p98", "p99", "p\xFF", "leap p:"},
        {"p98", "p99", "p:", "none"},
        {"a", "b", "\U0001F600", "n"},
        {"a0", "a1", "a1b", "none"},
        {"a", "b", "b\x01", "none"},
        {"x-y", "x-z", "x.", "none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(guess_of(cases[i][0], cases[i][1], cases[i][2]), cases[i][3]);
    }
}

/* Keys that do not rise, rise in characters that the service may order otherwise, or are too long.
 */
static void there_may_be_no_guess(void **state)
{
    (void)state;
    char before[200];
    char last[200];
    memset(before, 'a', sizeof before);
    memset(last, 'a', sizeof last);
    before[sizeof before - 1] = 0;
    last[sizeof last - 1] = 0;
    assert_string_equal(guess_of("p", "p", NULL), "none");
    assert_string_equal(guess_of("", "", NULL), "none");
    assert_string_equal(guess_of("p\uE000", "p\U0001F600", NULL), "none");
    assert_string_equal(guess_of("\U0001F600a", "\U0001F600b", NULL), "none");
    assert_string_equal(guess_of("p\uE000", "p", NULL), "none"); /* a page came from before */
    last[150] = 'b';
    assert_int_equal(strlen(guess_of(before, last, NULL)), PT_KEY_GUESS_MAX - 3);
    assert_string_equal(guess_of(before, last, "aaaab"), "aaaaan");
    memset(last, 'z', 150);
    memset(before, 'z', 150);
    assert_string_equal(guess_of(before, last, NULL), "leap {");
    memset(before, 'z', 126);
    memset(last, 'z', 126);
    strcpy(before + 126, "8");
    strcpy(last + 126, "9");
    char end[200];
    strcpy(end, last);
    end[126] = '{';
    assert_string_equal(guess_of(before, last, end), "none");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_looked_for_near_and_then_far),
        cmocka_unit_test(a_range_with_an_end_is_halved),
        cmocka_unit_test(there_may_be_no_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
