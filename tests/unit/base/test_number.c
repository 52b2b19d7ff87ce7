#include "fixtures/database.h"

#include <float.h>
#include <locale.h>
#include <math.h>

#include "base/number.h"
#include "fixtures/random_bits.h"

enum { RANDOM_NUMBERS = 20000, RANDOM_NUMBERS_LONG = 200000, LONGEST_TEXT = 4000 };

static int random_numbers(void)
{
    return setting("LONG", 0) != 0 ? RANDOM_NUMBERS_LONG : RANDOM_NUMBERS;
}

static double random_double(void)
{
    double real;
    do {
        uint64_t bits = random_bits();
        memcpy(&real, &bits, sizeof real);
    } while (!isfinite(real));
    return real;
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void integers_are_read_within_64_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t integer;
    } vectors[] = {
        {"0", 0},
        {"-0", 0},
        {"+0", 0},
        {"34", 34},
        {"+34", 34},
        {"-34", -34},
        {"000000000000000000000000034", 34},
        {"9223372036854775807", INT64_MAX},
        {"+9223372036854775807", INT64_MAX},
        {"-9223372036854775807", -INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        int64_t integer = 99;
        assert_true(pt_integer_parse(pt_slice_text(vectors[i].text), &integer));
        assert_int_equal(integer, vectors[i].integer);
    }
}

static void assert_integer_written(int64_t integer)
{
    char text[PT_INTEGER_TEXT_SIZE];
    char expected[PT_INTEGER_TEXT_SIZE];
    int size = snprintf(expected, sizeof expected, "%lld", (long long)integer);
    memset(text, 'x', sizeof text);
    assert_int_equal(pt_integer_format(integer, text), size);
    assert_string_equal(text, expected);
}

static void integers_are_written(void **state)
{
    (void)state;
    assert_integer_written(0);
    assert_integer_written(INT64_MIN);
    assert_integer_written(INT64_MAX);
    for (int shift = 0; shift < 64; shift++) {
        for (int i = 0; i < 20; i++) {
            assert_integer_written((int64_t)random_bits() >> shift);
        }
    }
}

static void other_texts_are_no_integers(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "+",
        "-",
        "--1",
        "+-1",
        " 1",
        "1 ",
        "1.0",
        "1e3",
        "0x10",
        "abc",
        "1a",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551616",
        "99999999999999999999999999",
        "\xD9\xA1",
        "1\n",
    };
    int64_t integer = 99;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (pt_integer_parse(pt_slice_text(texts[i]), &integer)) {
            fail_msg("accepted: %s", texts[i]);
        }
    }
    assert_false(pt_integer_parse(pt_slice_of("1\0", 2), &integer));
    assert_false(pt_integer_parse((pt_slice){0}, &integer));
    assert_int_equal(integer, 99);
}

static void hard_decimals_round_to_the_nearest_double(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double real;
    } vectors[] = {
        {"0", 0.0},
        {"-0", -0.0},
        {"-0.0e5", -0.0},
        {"1", 1.0},
        {"+1.", 1.0},
        {".5", 0.5},
        {"-00.50", -0.5},
        {"1E3", 1000.0},
        {"1e+003", 1000.0},
        {"5e-1", 0.5},
        {"0.1", 0x1.999999999999ap-4},
        {"9007199254740993", 0x1p53}, /* half-way: to even */
        {"9007199254740995", 0x1.0000000000002p53},
        {"9007199254740993.0000000001", 0x1.0000000000001p53},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.2250738585072012e-308", 0x1p-1022},
        {"2.2250738585072014e-308", 0x1p-1022},
        {"4.9e-324", 0x1p-1074},
        {"2.4703282292062327e-324", 0.0},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"1.7976931348623157e308", DBL_MAX},
        {"1.797693134862315807e308", DBL_MAX},
        {"1e-400", 0.0},
        {"1e-99999999999999999999", 0.0},
        {"0e99999999999999999999", 0.0},
        {"6.631236846766476e-316", 0x0.0000008000000p-1022},
        {"3.2378839133029012895883524125015321748630094239803e-319", 0x0.000000000ffffp-1022},
        {"6929495644600919.5", 0x1.89e56ee5e7a58p+52},
        {"3.518437208883201171875e13", 0x1.0000000000002p45},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        double real = 99;
        assert_true(pt_double_parse(pt_slice_text(vectors[i].text), &real));
        if (!same_bits(real, vectors[i].real)) {
            fail_msg("%s gave %a instead of %a", vectors[i].text, real, vectors[i].real);
        }
    }
}

static void other_texts_are_no_doubles(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "+",
        "-",
        ".",
        "-.",
        "e5",
        ".e5",
        "1e",
        "1e+",
        "1e-",
        "1.5.",
        "1 ",
        " 1",
        "1\n",
        "0x10",
        "0x1p3",
        "1,5",
        "1_000",
        "nan",
        "NaN",
        "inf",
        "Infinity",
        "abc",
        "1e5.0",
        "--1",
        "1f",
        "1e999",
        "-1e309",
        "1.797693134862315808e308",
        "1e99999999999999999999",
    };
    double real = 99;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (pt_double_parse(pt_slice_text(texts[i]), &real)) {
            fail_msg("accepted: %s", texts[i]);
        }
    }
    assert_false(pt_double_parse(pt_slice_of("1\0", 2), &real));
    assert_false(pt_double_parse((pt_slice){0}, &real));
    assert_true(same_bits(real, 99));
}

/* "prefix" followed by `count` times `c` and "suffix". */
static double parsed_long(const char *prefix, char c, int count, const char *suffix)
{
    static char text[8000];
    int size = snprintf(text, sizeof text, "%s", prefix);
    memset(text + size, c, (size_t)count);
    snprintf(text + size + count, sizeof text - (size_t)(size + count), "%s", suffix);
    double real = 99;
    assert_true(pt_double_parse(pt_slice_text(text), &real));
    return real;
}

static void any_number_of_digits_counts(void **state)
{
    (void)state;
    assert_true(same_bits(parsed_long("9007199254740993.", '0', 5000, ""), 0x1p53));
    assert_true(same_bits(parsed_long("9007199254740993.", '0', 5000, "1"), 0x1.0000000000001p53));
    assert_true(same_bits(parsed_long("0.", '0', 5000, "1e5001"), 1.0));
    assert_true(same_bits(parsed_long("1", '0', 5000, "e-5000"), 1.0));
    assert_true(same_bits(parsed_long("", '0', 5000, "7"), 7.0));
    assert_true(same_bits(parsed_long("0.", '9', 5000, ""), 1.0));
    assert_true(same_bits(parsed_long("2.5e", '0', 5000, "1"), 25.0));
}

static void halves_between_doubles_are_told_apart_by_their_last_digit(void **state)
{
    (void)state;
    /* The longest: half of the smallest double is 5^1075 / 10^1075, 751 significant digits. */
    char half[1200];
    snprintf(half, sizeof half, "%.1075f", 0x1p-1074);
    char exact[1200];
    unsigned carry = 0;
    size_t size = strlen(half);
    memcpy(exact, half, size + 1);
    for (size_t i = 0; i < size; i++) { /* divides by two in decimal */
        if (half[i] == '.') {
            continue;
        }
        unsigned digit = carry * 10 + (unsigned)(half[i] - '0');
        exact[i] = (char)('0' + digit / 2);
        carry = digit % 2;
    }
    assert_int_equal(carry, 0);
    double real = 99;
    assert_true(pt_double_parse(pt_slice_text(exact), &real));
    assert_true(same_bits(real, 0.0));
    exact[size] = '1';
    assert_true(pt_double_parse(pt_slice_of(exact, size + 1), &real));
    assert_true(same_bits(real, 0x1p-1074));
}

static char *put_random_digits(char *at, unsigned most)
{
    unsigned kind = (unsigned)(random_bits() % 8);
    for (unsigned count = (unsigned)(random_bits() % (most + 1)); count > 0; count--) {
        *at++ = kind == 0 ? '0' : kind == 1 ? '9' : (char)('0' + random_bits() % 10);
    }
    return at;
}

/* A number, or nearly one: parts may be missing, and now and then a character is changed. */
static size_t make_random_text(char text[LONGEST_TEXT])
{
    static const char others[] = "0123456789.eE+-xpinfaN ,";
    static const unsigned most[] = {3, 3, 20, 20, 20, 900};
    char *at = text;
    if (random_bits() % 3 == 0) {
        *at++ = "+-"[random_bits() % 2];
    }
    at = put_random_digits(at, most[random_bits() % 6]);
    if (random_bits() % 3 != 0) {
        *at++ = '.';
        at = put_random_digits(at, most[random_bits() % 6]);
    }
    if (random_bits() % 2 == 0) {
        *at++ = "eE"[random_bits() % 2];
        at += random_bits() % 40 == 0 ? 0 : sprintf(at, "%d", (int)(random_bits() % 700) - 350);
    }
    if (at != text && random_bits() % 10 == 0) {
        text[random_bits() % (size_t)(at - text)] = others[random_bits() % (sizeof others - 1)];
    }
    return (size_t)(at - text);
}

/* In the C locale strtod reads what pt_double_parse does, and some texts with other characters. */
static void random_texts_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    char text[LONGEST_TEXT];
    for (int i = 0; i < random_numbers(); i++) {
        size_t size = make_random_text(text);
        text[size] = 0;
        char *end;
        double expected = strtod(text, &end);
        bool is_number = size != 0 && strspn(text, "+-.0123456789eE") == size &&
                         end == text + size && !isinf(expected);
        text[size] = (char)('0' + random_bits() % 10); /* must not be read */
        double real = 99;
        assert_int_equal(pt_double_parse(pt_slice_of(text, size), &real), is_number);
        assert_true(same_bits(real, is_number ? expected : 99));
    }
}

static void texts_that_lose_digits_are_refused(void **state)
{
    (void)state;
    static const char *const kept[] = {
        "0",
        "-0",
        "0e999",
        "0.1",
        "-0.1",
        "0.10000000000000001",                                       /* 17 digits of 0.1 */
        "0.1000000000000000055511151231257827021181583404541015625", /* all of its digits */
        "0.10000000000000001000000000000000000000",
        "9007199254740992",
        "09007199254740992",
        "9007199254740994",
        "9007199254740992.000",
        "10000000000000000000000",
        "18014398509481990.0", /* 2^54 + 8 in 16 digits */
        "1.152921504606847e18",
        "5.684341886080802e-14", /* 2^-44, as other programs write it */
        "1.7976931348623157e308",
        "2.2250738585072014e-308",
        "4.9e-324",
        "5e-324",
        "0.00000000000000000000000000000000000001",
    };
    static const char *const lost[] = {
        "9007199254740993",
        "-9007199254740993",
        "9007199254740993.0",
        "9007199254740993.5",
        "9007199254740993.0000000001",
        "18014398509481990",
        "10000000000000000000000.5",
        "10000000000000000000001",
        "3.14159265358979323846",
        "0.100000000000000012",
        "1.797693134862315807e308",
        "2.2250738585072011e-308",
        "4e-324",
        "3e-324",
        "1e-400",
        "-1e-400",
        "1e-99999999999999999999",
        "1e999",
        "nan",
        "",
    };
    double real = 99;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++) {
        if (pt_double_parse_lossless(pt_slice_text(lost[i]), &real) || !same_bits(real, 99)) {
            fail_msg("accepted: %s", lost[i]);
        }
    }
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (!pt_double_parse_lossless(pt_slice_text(kept[i]), &real)) {
            fail_msg("refused: %s", kept[i]);
        }
        assert_true(same_bits(real, strtod(kept[i], NULL)));
    }
}

/* The shortest text, 17 digits, and all digits: programs write doubles in these ways. */
static void written_doubles_lose_nothing(void **state)
{
    (void)state;
    static char text[1200];
    for (int i = 0; i < random_numbers() / 10; i++) {
        double real = random_double();
        double parsed = 99;
        pt_double_format(real, text);
        assert_true(pt_double_parse_lossless(pt_slice_text(text), &parsed));
        assert_true(same_bits(parsed, real));
        for (int digits = 16; digits < 800; digits += digits < 20 ? 1 : 700) {
            snprintf(text, sizeof text, "%.*e", digits, real);
            assert_true(pt_double_parse_lossless(pt_slice_text(text), &parsed));
            assert_true(same_bits(parsed, real));
        }
    }
}

static void assert_formatted(double real, const char *expected)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    memset(text, 'x', sizeof text);
    pt_double_format(real, text);
    assert_string_equal(text, expected);
}

static void doubles_are_written_short_and_with_a_point(void **state)
{
    (void)state;
    assert_formatted(0.0, "0.0");
    assert_formatted(-0.0, "-0.0");
    assert_formatted(5.0, "5.0");
    assert_formatted(-5.5, "-5.5");
    assert_formatted(0.1, "0.1");
    assert_formatted(0.1 + 0.2, "0.30000000000000004");
    assert_formatted(1.0 / 3, "0.3333333333333333");
    assert_formatted(1e15, "1000000000000000.0");
    assert_formatted(1e16, "10000000000000000.0");
    assert_formatted(1e17, "1.0e+17");
    assert_formatted(9007199254740993.0, "9007199254740992.0");
    assert_formatted(1e300, "1.0e+300");
    assert_formatted(-1.5e-7, "-1.5e-07");
    assert_formatted(0.00001, "0.00001");
    assert_formatted(0.000012345, "0.000012345");
    assert_formatted(0.000001, "1.0e-06");
    assert_formatted(DBL_MAX, "1.7976931348623157e+308");
    assert_formatted(-DBL_MAX, "-1.7976931348623157e+308");
    assert_formatted(DBL_MIN, "2.2250738585072014e-308");
    assert_formatted(0x1p-1074, "4.94065645841247e-324");
}

/* The significant digits, without leading and trailing zeros. */
static int digit_count(const char *text)
{
    int count = 0;
    int zeros = 0;
    for (; *text != 0 && *text != 'e'; text++) {
        if (*text == '0') {
            zeros += count != 0 ? 1 : 0;
        } else if (*text >= '1' && *text <= '9') {
            count += zeros + 1;
            zeros = 0;
        }
    }
    return count;
}

static void random_doubles_survive_to_the_bit(void **state)
{
    (void)state;
    for (int i = 0; i < random_numbers(); i++) {
        double real = random_double();
        char text[PT_DOUBLE_TEXT_SIZE];
        pt_double_format(real, text);
        double parsed = 99;
        assert_true(pt_double_parse(pt_slice_text(text), &parsed));
        assert_true(same_bits(parsed, real));
        assert_true(same_bits(strtod(text, NULL), real));
        assert_non_null(strchr(text, '.'));
        assert_true(digit_count(text) <= 17);
    }
}

/* The significant digits of a text, without leading and trailing zeros and without the point. */
static void copy_digits(const char *text, char *digits)
{
    size_t size = 0;
    for (; *text != 0 && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9' && (size != 0 || *text != '0')) {
            digits[size++] = *text;
        }
    }
    while (size != 0 && digits[size - 1] == '0') {
        size--;
    }
    digits[size] = 0;
}

/* The text has the digits of printf: the fewest of 15 to 17 that are read back. */
static void assert_written_as_printf_does(double real)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    char expected[PT_DOUBLE_TEXT_SIZE];
    char digits[2][PT_DOUBLE_TEXT_SIZE];
    int count = 14;
    do {
        snprintf(expected, sizeof expected, "%.*e", count++, real);
    } while (!same_bits(strtod(expected, NULL), real) && count < 17);
    pt_double_format(real, text);
    copy_digits(text, digits[0]);
    copy_digits(expected, digits[1]);
    assert_string_equal(digits[0], digits[1]);
    assert_true(same_bits(strtod(text, NULL), real));
}

static void doubles_have_the_digits_of_printf(void **state)
{
    (void)state;
    for (int power = -40; power < 70; power++) {
        double real = ldexp(1, power);
        assert_written_as_printf_does(real);
        assert_written_as_printf_does(nextafter(real, 0));
        assert_written_as_printf_does(nextafter(real, DBL_MAX));
        for (int i = 0; i < 300; i++) { /* any digits, and few */
            uint64_t bits = random_bits();
            assert_written_as_printf_does(ldexp((double)(bits | 1), power - 64));
            assert_written_as_printf_does(ldexp((double)(bits % 4096 + 1), power - 12));
        }
    }
    for (int power = -8; power < 20; power++) {
        char text[40];
        snprintf(text, sizeof text, "1e%d", power);
        double ten = strtod(text, NULL);
        double below = ten;
        for (int i = 0; i < 300; i++) {
            below = nextafter(below, 0);
            assert_written_as_printf_does(below);
            assert_written_as_printf_does(ten * (i + 0.5));
            assert_written_as_printf_does(ten * i / 3);
        }
    }
}

static void decimals_of_15_digits_come_back_as_they_were(void **state)
{
    (void)state;
    for (int i = 0; i < random_numbers() / 4; i++) {
        long long mantissa = (long long)(random_bits() % 999999999999999) + 1;
        char text[64];
        snprintf(text, sizeof text, "%llde%d", mantissa, (int)(random_bits() % 500) - 250);
        double real = 99;
        assert_true(pt_double_parse(pt_slice_text(text), &real));
        assert_true(same_bits(real, strtod(text, NULL)));
        char written[PT_DOUBLE_TEXT_SIZE];
        pt_double_format(real, written);
        assert_true(digit_count(written) <= 15);
    }
}

static bool set_comma_locale(const char *name)
{
    return setlocale(LC_ALL, name) != NULL && localeconv()->decimal_point[0] != '.';
}

/* Makes a locale with a decimal comma, and little else, in the test's folder. False if there is no
 * localedef. */
static bool make_comma_locale(const char *folder)
{
    char command[3 * PATH_SIZE + 200];
    snprintf(command, sizeof command,
             "printf 'LC_NUMERIC\\ndecimal_point \",\"\\nthousands_sep \"\"\\ngrouping -1\\n"
             "END LC_NUMERIC\\n' >%s/source;"
             "localedef -c -i %s/source -f ANSI_X3.4-1968 %s/comma >/dev/null 2>&1",
             folder, folder, folder);
    /* It warns by its exit code, too; setlocale finds out whether the locale is there. */
    return system(command) >= 0 && setenv("LOCPATH", folder, 1) == 0 && set_comma_locale("comma");
}

static void the_locale_makes_no_difference(void **state)
{
    static const char *const installed[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ps_AF"};
    bool found = false;
    for (size_t i = 0; i < sizeof installed / sizeof installed[0] && !found; i++) {
        found = set_comma_locale(installed[i]);
    }
    if (!found && !make_comma_locale(*state)) {
        setlocale(LC_ALL, "C");
        skip();
    }
    assert_formatted(0.1 + 0.2, "0.30000000000000004");
    assert_formatted(-1.5e-7, "-1.5e-07");
    double real = 99;
    assert_true(pt_double_parse(pt_slice_text("-12.25e1"), &real));
    assert_true(same_bits(real, -122.5));
    assert_false(pt_double_parse(pt_slice_text("1,5"), &real));
    setlocale(LC_ALL, "C");
}

static void special_doubles_have_names(void **state)
{
    (void)state;
    assert_string_equal(pt_double_name(NAN), "NaN");
    assert_string_equal(pt_double_name(-NAN), "NaN");
    assert_string_equal(pt_double_name(INFINITY), "Infinity");
    assert_string_equal(pt_double_name(-INFINITY), "-Infinity");
    assert_null(pt_double_name(0.0));
    assert_null(pt_double_name(-DBL_MAX));
    double real = 99;
    assert_true(pt_double_parse_name(pt_slice_text("NaN"), &real) && isnan(real));
    assert_true(pt_double_parse_name(pt_slice_text("Infinity"), &real));
    assert_true(same_bits(real, INFINITY));
    assert_true(pt_double_parse_name(pt_slice_text("-Infinity"), &real));
    assert_true(same_bits(real, -INFINITY));
    static const char *const others[] = {"", "nan", "NAN", "-NaN", "+Infinity", "Inf", "Infinity "};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(pt_double_parse_name(pt_slice_text(others[i]), &real));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_read_within_64_bits),
        cmocka_unit_test(integers_are_written),
        cmocka_unit_test(other_texts_are_no_integers),
        cmocka_unit_test(hard_decimals_round_to_the_nearest_double),
        cmocka_unit_test(other_texts_are_no_doubles),
        cmocka_unit_test(any_number_of_digits_counts),
        cmocka_unit_test(halves_between_doubles_are_told_apart_by_their_last_digit),
        cmocka_unit_test(random_texts_are_read_as_strtod_reads_them),
        cmocka_unit_test(texts_that_lose_digits_are_refused),
        cmocka_unit_test(written_doubles_lose_nothing),
        cmocka_unit_test(doubles_are_written_short_and_with_a_point),
        cmocka_unit_test(random_doubles_survive_to_the_bit),
        cmocka_unit_test(doubles_have_the_digits_of_printf),
        cmocka_unit_test(decimals_of_15_digits_come_back_as_they_were),
        cmocka_unit_test_setup_teardown(the_locale_makes_no_difference, make_folder, remove_folder),
        cmocka_unit_test(special_doubles_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
