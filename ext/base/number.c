#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * strtod and printf round correctly, but their radix character is the locale's. Therefore strtod
 * only gets whole digits with an exponent, and of printf's output only the digits are used.
 *
 * No decimal halfway between two doubles has more than 767 significant digits: a digit '1' in place
 * of all that follow rounds as they would.
 */
enum { DIGITS_MAX = 800, EXPONENT_LIMIT = 100000 };

/* digits * 10^exponent; the digits, without leading zeros, are the text's significant ones. */
typedef struct decimal {
    char digits[DIGITS_MAX + 1];
    int count;
    bool cut; /* digits other than 0 were left out */
    int64_t exponent;
} decimal;

typedef struct reader {
    const uint8_t *at;
    const uint8_t *end;
} reader;

static reader reader_of(pt_slice text)
{
    return (reader){.at = text.data, .end = text.data + text.size};
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool at_digit(const reader *text)
{
    return text->at < text->end && is_digit(*text->at);
}

static bool take(reader *text, char c)
{
    if (text->at == text->end || *text->at != (uint8_t)c) {
        return false;
    }
    text->at++;
    return true;
}

/* Whether it is a minus sign. */
static bool take_sign(reader *text)
{
    if (take(text, '-')) {
        return true;
    }
    take(text, '+');
    return false;
}

bool pt_integer_parse(pt_slice slice, int64_t *integer)
{
    reader text = reader_of(slice);
    bool negative = take_sign(&text);
    if (!at_digit(&text)) {
        return false;
    }
    int64_t sum = 0; /* kept negative, whose range is the larger one */
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

static void add_digit(decimal *number, char digit)
{
    if (digit == '0' && number->count == 0) {
        return;
    }
    if (number->count < DIGITS_MAX) {
        number->digits[number->count++] = digit;
        return;
    }
    number->exponent++;
    number->cut = number->cut || digit != '0';
}

/* How many. */
static ptrdiff_t take_digits(reader *text, decimal *number)
{
    const uint8_t *first = text->at;
    for (; at_digit(text); text->at++) {
        add_digit(number, (char)*text->at);
    }
    return text->at - first;
}

/* What follows an 'e'. Exponents of absurd size are cut down to one that is absurd enough. */
static bool take_exponent(reader *text, int64_t *exponent)
{
    bool negative = take_sign(text);
    if (!at_digit(text)) {
        return false;
    }
    int64_t sum = 0;
    for (; at_digit(text); text->at++) {
        sum = sum > INT64_MAX / 100 ? sum : sum * 10 + (*text->at - '0');
    }
    *exponent = negative ? -sum : sum;
    return true;
}

static bool take_decimal(reader *text, decimal *number)
{
    ptrdiff_t digits = take_digits(text, number);
    if (take(text, '.')) {
        ptrdiff_t fraction = take_digits(text, number);
        number->exponent -= fraction;
        digits += fraction;
    }
    int64_t exponent = 0;
    if (digits == 0 || ((take(text, 'e') || take(text, 'E')) && !take_exponent(text, &exponent))) {
        return false;
    }
    number->exponent += exponent;
    return text->at == text->end;
}

/* The nearest double; `digits` has at least one. */
static double nearest(const char *digits, int count, int64_t exponent)
{
    exponent = exponent > EXPONENT_LIMIT ? EXPONENT_LIMIT : exponent;
    exponent = exponent < -EXPONENT_LIMIT ? -EXPONENT_LIMIT : exponent;
    char text[DIGITS_MAX + 16];
    snprintf(text, sizeof text, "%.*se%d", count, digits, (int)exponent);
    return strtod(text, NULL);
}

bool pt_double_parse(pt_slice slice, double *real)
{
    reader text = reader_of(slice);
    bool negative = take_sign(&text);
    decimal number = {.count = 0};
    if (!take_decimal(&text, &number)) {
        return false;
    }
    if (number.cut) {
        number.digits[number.count++] = '1';
        number.exponent--;
    }
    double magnitude =
        number.count == 0 ? 0.0 : nearest(number.digits, number.count, number.exponent);
    if (isinf(magnitude)) {
        return false;
    }
    *real = negative ? -magnitude : magnitude;
    return true;
}

enum { ROUND_TRIP_DIGITS = 17 };

/* Returns the exponent of the first digit: d.ddd * 10^exponent. */
static int significant_digits(double magnitude, int count, char digits[ROUND_TRIP_DIGITS + 1])
{
    char text[ROUND_TRIP_DIGITS + 16];
    snprintf(text, sizeof text, "%.*e", count - 1, magnitude);
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (is_digit((uint8_t)*at)) {
            *digits++ = *at;
        }
    }
    *digits = 0;
    return (int)strtol(at + 1, NULL, 10);
}

static int round_trip_digits(double magnitude, char digits[ROUND_TRIP_DIGITS + 1])
{
    int count = 15;
    int exponent = significant_digits(magnitude, count, digits);
    while (count < ROUND_TRIP_DIGITS &&
           nearest(digits, count, exponent - (count - 1)) != magnitude) {
        exponent = significant_digits(magnitude, ++count, digits);
    }
    return exponent;
}

static void drop_trailing_zeros(char *digits)
{
    size_t count = strlen(digits);
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    digits[count] = 0;
}

static char *write_text(char *at, const char *text)
{
    size_t size = strlen(text);
    memcpy(at, text, size);
    return at + size;
}

static char *write_zeros(char *at, int count)
{
    for (int i = 0; i < count; i++) {
        *at++ = '0';
    }
    return at;
}

/* Digits with the point behind the first `whole` of them, and zeros where there is none. */
static char *write_positional(char *at, const char *digits, int whole)
{
    int count = (int)strlen(digits);
    if (whole <= 0) {
        at = write_text(at, "0.");
        at = write_zeros(at, -whole);
        return write_text(at, digits);
    }
    for (int i = 0; i < whole; i++) {
        *at++ = i < count ? digits[i] : '0';
    }
    *at++ = '.';
    return write_text(at, whole < count ? digits + whole : "0");
}

enum { POSITIONAL_MIN = -5, POSITIONAL_MAX = 16 }; /* exponents that are not written as such */

void pt_double_format(double real, char text[PT_DOUBLE_TEXT_SIZE])
{
    char digits[ROUND_TRIP_DIGITS + 1];
    int exponent = round_trip_digits(fabs(real), digits);
    drop_trailing_zeros(digits);
    char *at = text;
    if (signbit(real)) {
        *at++ = '-';
    }
    if (exponent >= POSITIONAL_MIN && exponent <= POSITIONAL_MAX) {
        at = write_positional(at, digits, exponent + 1);
        *at = 0;
        return;
    }
    at = write_positional(at, digits, 1);
    snprintf(at, (size_t)(text + PT_DOUBLE_TEXT_SIZE - at), "e%+03d", exponent);
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
