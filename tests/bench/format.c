#include "bench/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *format_count(uint64_t count, char text[FORMAT_SIZE])
{
    char digits[FORMAT_SIZE];
    int size = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *end = text;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            *end++ = ',';
        }
        *end++ = digits[i];
    }
    *end = 0;
    return text;
}

/* Three digits that count, but not beyond thousandths. */
static int decimals(double number)
{
    return number >= 99.95 ? 0 : number >= 9.995 ? 1 : number >= 0.0995 ? 2 : 3;
}

const char *format_seconds(double seconds, char text[FORMAT_SIZE])
{
    static const char *const units[] = {"s", "ms", "us", "ns"};
    unsigned unit = 0;
    while (unit < 3 && seconds < 0.9995) {
        seconds *= 1000;
        unit++;
    }
    snprintf(text, FORMAT_SIZE, "%.*f %s", decimals(seconds), seconds, units[unit]);
    return text;
}

const char *format_megabytes(double bytes, char text[FORMAT_SIZE])
{
    snprintf(text, FORMAT_SIZE, "%.1f MB", bytes / 1e6);
    return text;
}

const char *format_ratio(double ratio, char text[FORMAT_SIZE])
{
    if (ratio == 0) {
        strcpy(text, "-");
    } else {
        snprintf(text, FORMAT_SIZE, "%.*f", decimals(ratio), ratio);
    }
    return text;
}
