#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

/*
 * strtod and snprintf round correctly, but use the radix character of the process's locale.
 * Therefore strtod gets "1.25" as "125e-2", and only the digits of snprintf's output are used.
 * strtod_l would need a terminated copy of the text, which may be longer than any buffer.
 *
 * No decimal halfway between two doubles has more than 767 significant digits. The digits after
 * DIGITS_MAX therefore only matter if one of them is not 0, and then an odd last digit stands for
 * them.
 */
enum { DIGITS_MAX = 800, EXPONENT_LIMIT = 100000, EXPONENT_SIZE = sizeof "e-100000" };

/* digits * 10^exponent */
typedef struct decimal {
    char digits[DIGITS_MAX + EXPONENT_SIZE]; /* without leading zeros; not terminated */
    int count;
    int64_t exponent;
    bool integer; /* written without point and exponent */
} decimal;

typedef struct number_reader {
    const uint8_t *at;
    const uint8_t *end;
} number_reader;

static number_reader number_reader_of(pt_slice text)
{
    return (number_reader){.at = text.data, .end = text.data + text.size};
}

static bool at_digit(const number_reader *text)
{
    return text->at < text->end && pt_is_digit(*text->at);
}

static bool take_symbol(number_reader *text, char symbol)
{
    if (text->at == text->end || *text->at != (uint8_t)symbol) {
        return false;
    }
    text->at++;
    return true;
}

/* Takes a sign, if there is one. True if it is a minus sign. */
static bool take_minus(number_reader *text)
{
    return !take_symbol(text, '+') && take_symbol(text, '-');
}

bool pt_integer_parse(pt_slice slice, int64_t *integer)
{
    number_reader text = number_reader_of(slice);
    bool negative = take_minus(&text);
    if (!at_digit(&text)) {
        return false;
    }
    int64_t sum = 0; /* kept negative: INT64_MIN has no positive counterpart */
    for (; at_digit(&text); text.at++) {
        int digit = *text.at - '0';
        if (sum < (INT64_MIN + digit) / 10) {
            return false;
        }
        sum = sum * 10 - digit;
    }
    if (text.at != text.end || (!negative && sum == INT64_MIN)) {
        return false;
    }
    *integer = negative ? sum : -sum;
    return true;
}

size_t pt_integer_format(int64_t integer, char text[PT_INTEGER_TEXT_SIZE])
{
    char backwards[PT_INTEGER_TEXT_SIZE];
    size_t digits = 0;
    size_t size = 0;
    uint64_t rest = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;
    do {
        backwards[digits++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (integer < 0) {
        text[size++] = '-';
    }
    while (digits != 0) {
        text[size++] = backwards[--digits];
    }
    text[size] = 0;
    return size;
}

static void add_digit(decimal *number, char digit)
{
    if (number->count == DIGITS_MAX) {
        number->exponent++;
        number->digits[DIGITS_MAX - 1] |= digit != '0';
    } else if (digit != '0' || number->count != 0) {
        number->digits[number->count++] = digit;
    }
}

/* Returns the number of digits. */
static ptrdiff_t take_digits(number_reader *text, decimal *number)
{
    const uint8_t *first = text->at;
    for (; at_digit(text); text->at++) {
        add_digit(number, (char)*text->at);
    }
    return text->at - first;
}

/* Adds the number after an 'e' to *exponent. Its digits are ignored once it is too large to matter.
 */
static bool take_exponent(number_reader *text, int64_t *exponent)
{
    bool negative = take_minus(text);
    const uint8_t *first = text->at;
    int64_t sum = 0;
    for (; at_digit(text); text->at++) {
        sum = sum > INT64_MAX / 100 ? sum : sum * 10 + (*text->at - '0');
    }
    *exponent += negative ? -sum : sum;
    return text->at != first;
}

/* Returns false if anything follows the number. */
static bool take_decimal(number_reader *text, decimal *number)
{
    ptrdiff_t digits = take_digits(text, number);
    number->integer = text->at == text->end;
    if (take_symbol(text, '.')) {
        ptrdiff_t fraction = take_digits(text, number);
        number->exponent -= fraction;
        digits += fraction;
    }
    bool has_exponent = take_symbol(text, 'e') || take_symbol(text, 'E');
    return digits != 0 && (!has_exponent || take_exponent(text, &number->exponent)) &&
           text->at == text->end;
}

/* The double nearest to digits * 10^exponent. Overwrites what follows the digits. */
static double nearest_double(char *digits, int count, int64_t exponent)
{
    exponent = exponent > EXPONENT_LIMIT ? EXPONENT_LIMIT : exponent;
    exponent = exponent < -EXPONENT_LIMIT ? -EXPONENT_LIMIT : exponent;
    digits[count] = 0;
    if (exponent != 0) {
        snprintf(digits + count, EXPONENT_SIZE, "e%d", (int)exponent);
    }
    return strtod(digits, NULL); /* of no digits: 0 */
}

/* Reads the number, which stays in `number` without its sign. */
static bool parse_decimal(pt_slice slice, decimal *number, double *real)
{
    number_reader text = number_reader_of(slice);
    bool negative = take_minus(&text);
    number->count = 0;
    number->exponent = 0;
    if (!take_decimal(&text, number)) {
        return false;
    }
    double magnitude = nearest_double(number->digits, number->count, number->exponent);
    if (isinf(magnitude)) {
        return false;
    }
    *real = negative ? -magnitude : magnitude;
    return true;
}

bool pt_double_parse(pt_slice text, double *real)
{
    decimal number;
    return parse_decimal(text, &number, real);
}

/* Two doubles always differ in 17 significant digits. 15 digits always survive the way to a double
 * and back. */
enum {
    DIGITS_KEPT = 15,
    ROUND_TRIP_DIGITS = 17,
    ROUND_TRIP_SIZE = ROUND_TRIP_DIGITS + EXPONENT_SIZE
};

/* Returns the exponent of the first digit: d.ddd * 10^exponent. */
static int significant_digits(double magnitude, int count, char *digits)
{
    char text[DIGITS_MAX + 16]; /* the radix character may have several bytes */
    snprintf(text, sizeof text, "%.*e", count - 1, magnitude);
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (pt_is_digit((uint8_t)*at)) {
            *digits++ = *at;
        }
    }
    return (int)strtol(at + 1, NULL, 10);
}

static void drop_zeros_at_end(decimal *number)
{
    while (number->count > 0 && number->digits[number->count - 1] == '0') {
        number->count--;
        number->exponent++;
    }
}

/*
 * True if the double is the number, as far as its digits go. The nearest number of so many digits
 * may be read as another double, if the double is a power of two. Then there is nothing better than
 * the given number, and other programs write the double in this way.
 */
static bool keeps_digits(decimal *number, double magnitude)
{
    if (!number->integer) {
        drop_zeros_at_end(number);
    }
    if (number->count == 0 || (number->count <= DIGITS_KEPT && magnitude >= DBL_MIN)) {
        return true;
    }
    char digits[DIGITS_MAX + EXPONENT_SIZE];
    int last = significant_digits(magnitude, number->count, digits) - (number->count - 1);
    bool same =
        last == number->exponent && memcmp(digits, number->digits, (size_t)number->count) == 0;
    return same || nearest_double(digits, number->count, last) != magnitude;
}

bool pt_double_parse_lossless(pt_slice text, double *real)
{
    decimal number;
    double parsed;
    if (!parse_decimal(text, &number, &parsed) || !keeps_digits(&number, fabs(parsed))) {
        return false;
    }
    *real = parsed;
    return true;
}

#ifdef __SIZEOF_INT128__

/*
 * A double is m * 2^e. Times 10^k, so that 17 digits stand before the point, it is exactly
 * m * 5^k * 2^(e + k): `scaled`, whose last `shift` bits stand after the point.
 */
__extension__ typedef unsigned __int128 wide;

typedef struct scaled_double {
    wide scaled;
    int shift;
    uint64_t spacing; /* to the next double, in units of the last bit: 5^k */
    int exponent;     /* of the first digit */
} scaled_double;

static const uint64_t first_of_18_digits = UINT64_C(100000000000000000);

static scaled_double scale_double(double magnitude)
{
    enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023 };
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    uint64_t first = UINT64_C(1) << MANTISSA_BITS;
    uint64_t m = first | (bits & (first - 1));
    int power = (int)(bits >> MANTISSA_BITS) - EXPONENT_BIAS;
    /* log10(2) is 0.30103. The sum is not negative, so that the division rounds down. */
    int exponent = (power * 30103 + 600000) / 100000 - 6;
    int k = ROUND_TRIP_DIGITS - 1 - exponent;
    scaled_double s = {.spacing = 1, .exponent = exponent};
    for (int i = 0; i < k; i++) {
        s.spacing *= 5;
    }
    s.scaled = (wide)m * s.spacing;
    s.shift = MANTISSA_BITS - power - k;
    if (s.scaled >> s.shift >= first_of_18_digits) { /* a power of ten is between 2^power and it */
        s.exponent++;
        s.spacing /= 5;
        s.scaled = (wide)m * s.spacing;
        s.shift++;
    }
    return s;
}

/* Rounds to multiples of `unit`, a half to the even one, and counts in units. True if that is read
 * back as the same double. The spacing is odd: no number is in the middle between two doubles. */
static bool round_to_unit(const scaled_double *s, uint64_t unit, uint64_t *rounded)
{
    uint64_t whole = (uint64_t)(s->scaled >> s->shift);
    uint64_t after_point = (uint64_t)s->scaled & ((UINT64_C(1) << s->shift) - 1);
    uint64_t rest = (whole % unit << s->shift) | after_point;
    uint64_t missing = (unit << s->shift) - rest;
    *rounded = whole / unit;
    if (rest > missing || (rest == missing && *rounded % 2 != 0)) {
        *rounded += 1;
        return 2 * missing < s->spacing;
    }
    return 2 * rest < s->spacing;
}

/*
 * Quick, since snprintf and strtod take longer than all else that writes a row as text. Returns how
 * many digits; 0: there is no quick way for this double. Two things need no care with these
 * doubles: powers of two, after which the spacing changes, have 15 digits at most; and none of the
 * doubles is rounded up to a power of ten that is read back as it.
 */
static int quick_digits(double magnitude, char digits[ROUND_TRIP_SIZE], int *exponent)
{
    if (!(magnitude >= 1e-5 && magnitude < 1e15)) { /* the integers have no room for others */
        return 0;
    }
    const scaled_double s = scale_double(magnitude);
    int count = DIGITS_KEPT;
    uint64_t unit = 100;
    uint64_t rounded;
    while (!round_to_unit(&s, unit, &rounded)) { /* 17 digits are always enough */
        count++;
        unit /= 10;
    }
    *exponent = s.exponent;
    for (int i = count - 1; i >= 0; i--) {
        digits[i] = (char)('0' + rounded % 10);
        rounded /= 10;
    }
    return count;
}

#else

static int quick_digits(double magnitude, char digits[ROUND_TRIP_SIZE], int *exponent)
{
    (void)magnitude;
    (void)digits;
    (void)exponent;
    return 0;
}

#endif

/* The fewest digits that are read back as the same double, without trailing zeros. Returns how
 * many. */
static int round_trip_digits(double magnitude, char digits[ROUND_TRIP_SIZE], int *exponent)
{
    int count = quick_digits(magnitude, digits, exponent);
    if (count == 0) {
        count = DIGITS_KEPT;
        *exponent = significant_digits(magnitude, count, digits);
        while (count < ROUND_TRIP_DIGITS &&
               nearest_double(digits, count, *exponent - (count - 1)) != magnitude) {
            *exponent = significant_digits(magnitude, ++count, digits);
        }
    }
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    return count;
}

static char *put_text(char *at, const char *text, int size)
{
    memcpy(at, text, (size_t)size);
    return at + size;
}

/* The exponents of numbers that are written without one. */
enum { POSITIONAL_MIN = -5, POSITIONAL_MAX = 16 };

void pt_double_format(double real, char text[PT_DOUBLE_TEXT_SIZE])
{
    static const char zeros[] = "0000000000000000";
    char digits[ROUND_TRIP_SIZE] = "";
    int exponent = 0;
    int count = round_trip_digits(fabs(real), digits, &exponent);
    bool positional = exponent >= POSITIONAL_MIN && exponent <= POSITIONAL_MAX;
    int whole = positional ? exponent + 1 : 1; /* digits before the point */
    char *at = text;
    if (signbit(real)) {
        *at++ = '-';
    }
    if (whole <= 0) {
        at = put_text(at, "0.", 2);
        at = put_text(at, zeros, -whole);
        at = put_text(at, digits, count);
    } else if (whole < count) {
        at = put_text(at, digits, whole);
        *at++ = '.';
        at = put_text(at, digits + whole, count - whole);
    } else {
        at = put_text(at, digits, count);
        at = put_text(at, zeros, whole - count);
        at = put_text(at, ".0", 2);
    }
    *at = 0;
    if (!positional) {
        snprintf(at, (size_t)(text + PT_DOUBLE_TEXT_SIZE - at), "e%+03d", exponent);
    }
}

const char *pt_double_name(double real)
{
    if (isnan(real)) {
        return "NaN";
    }
    if (isinf(real)) {
        return real < 0 ? "-Infinity" : "Infinity";
    }
    return NULL;
}

bool pt_double_parse_name(pt_slice text, double *real)
{
    static const double named[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (pt_slice_equal(text, pt_slice_text(pt_double_name(named[i])))) {
            *real = named[i];
            return true;
        }
    }
    return false;
}
