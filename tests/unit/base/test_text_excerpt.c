#include "fixtures/cmocka.h"

#include "base/text.h"

static void assert_excerpt(const char *text, size_t size, const char *expected)
{
    char excerpt[PT_EXCERPT_SIZE];
    memset(excerpt, 'x', sizeof excerpt);
    pt_excerpt(pt_slice_of(text, size), excerpt);
    assert_string_equal(excerpt, expected);
}

static void a_short_text_stays_whole(void **state)
{
    (void)state;
    assert_excerpt(NULL, 0, "");
    assert_excerpt("Sales", 5, "Sales");
    assert_excerpt("0123456789012345678901234567890123456789", 40,
                   "0123456789012345678901234567890123456789");
}

static void a_long_text_is_cut_after_forty_characters(void **state)
{
    (void)state;
    assert_excerpt("0123456789012345678901234567890123456789Z", 41,
                   "0123456789012345678901234567890123456789...");
}

static void characters_are_never_cut(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        size_t size = strlen(characters[i]);
        char text[200];
        char expected[200];
        for (size_t n = 0; n < 41; n++) {
            memcpy(text + n * size, characters[i], size);
        }
        memcpy(expected, text, 40 * size);
        memcpy(expected + 40 * size, "...", 4);
        assert_excerpt(text, 41 * size, expected);
        expected[40 * size] = 0;
        assert_excerpt(text, 40 * size, expected);
    }
}

static void a_nul_ends_it(void **state)
{
    (void)state;
    assert_excerpt("ab\0cd", 5, "ab...");
    assert_excerpt("\0", 1, "...");
}

static void malformed_text_is_replaced(void **state)
{
    (void)state;
    assert_excerpt("a\xF0\x9F", 3, "a??");
    assert_excerpt("\x80\x80", 2, "??");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    assert_excerpt("a\nb\x1F\x7F ~", 7, "a\\x0ab\\x1f\\x7f ~");
    char text[41];
    char expected[4 * 40 + 4];
    memset(text, '\t', sizeof text);
    for (size_t i = 0; i < 40; i++) {
        memcpy(expected + 4 * i, "\\x09", 4);
    }
    memcpy(expected + sizeof expected - 4, "...", 4);
    assert_excerpt(text, sizeof text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_text_stays_whole),
        cmocka_unit_test(a_long_text_is_cut_after_forty_characters),
        cmocka_unit_test(characters_are_never_cut),
        cmocka_unit_test(a_nul_ends_it),
        cmocka_unit_test(malformed_text_is_replaced),
        cmocka_unit_test(control_characters_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
