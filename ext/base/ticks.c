#include "base/ticks.h"

#include <time.h>

#include "base/text.h"

enum {
    NANOSECONDS_PER_TICK = 100,
    FRACTION_DIGITS = 7,
    SECONDS_PER_MINUTE = 60,
    SECONDS_PER_DAY = 86400,
    MINUTES_PER_HOUR = 60,
    LARGEST_OFFSET = 14 * MINUTES_PER_HOUR,
    DAYS_PER_400_YEARS = 146097,
    DAYS_PER_100_YEARS = 36524,
    DAYS_PER_4_YEARS = 1461,
    DAYS_PER_YEAR = 365,
};

/*
 * The calendar is computed in years that begin on 1 March, which makes the leap day the last day of
 * the year. Days are counted from 1 March of the year -400, which keeps every number positive. In
 * such a year month m (0: March) begins on day (153 m + 2) / 5.
 */
enum {
    FIRST_YEAR = -400,
    DAYS_BEFORE_0001 = DAYS_PER_400_YEARS + 306, /* 1 March -400 to 1 January 0001 */
};

/* Seconds since 1970: 0001-01-01T00:00:00Z and 9999-01-01T00:00:00Z. */
static const int64_t first_second = -PT_TICKS_UNIX_EPOCH / PT_TICKS_PER_SECOND;
static const int64_t end_of_seconds = INT64_C(253370764800);

int64_t pt_ticks_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t seconds = now.tv_sec;
    if (seconds < first_second || seconds >= end_of_seconds) {
        return 0;
    }
    return PT_TICKS_UNIX_EPOCH + seconds * PT_TICKS_PER_SECOND +
           (int64_t)now.tv_nsec / NANOSECONDS_PER_TICK;
}

/* Days since 0001-01-01; negative before it. */
static inline int64_t days_from_date(int year, int month, int day)
{
    uint32_t years = (uint32_t)(year - FIRST_YEAR - (month <= 2));
    uint32_t month_from_march = (uint32_t)(month > 2 ? month - 3 : month + 9);
    uint32_t days = years * DAYS_PER_YEAR + years / 4 - years / 100 + years / 400 +
                    (153 * month_from_march + 2) / 5 + (uint32_t)day;
    return (int64_t)days - 1 - DAYS_BEFORE_0001;
}

/* Unsigned numbers of 32 bits are divided faster than others, and are large enough. */
static void date_from_days(uint32_t days, uint32_t *year, uint32_t *month, uint32_t *day)
{
    days += DAYS_BEFORE_0001;
    uint32_t cycle = days / DAYS_PER_400_YEARS;
    uint32_t rest = days % DAYS_PER_400_YEARS;
    /* Subtracting the leap days so far, and the last day of the cycle, leaves years of 365 days. */
    uint32_t year_of_cycle = (rest - rest / (DAYS_PER_4_YEARS - 1) + rest / DAYS_PER_100_YEARS -
                              rest / (DAYS_PER_400_YEARS - 1)) /
                             DAYS_PER_YEAR;
    uint32_t day_of_year =
        rest - (year_of_cycle * DAYS_PER_YEAR + year_of_cycle / 4 - year_of_cycle / 100);
    uint32_t month_from_march = (5 * day_of_year + 2) / 153;
    *day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    *month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    *year = cycle * 400 + year_of_cycle + (uint32_t)FIRST_YEAR + (*month <= 2);
}

static int days_in_month(int year, int month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static bool take_separator(pt_slice *rest, char wanted)
{
    if (rest->size == 0 || rest->data[0] != (uint8_t)wanted) {
        return false;
    }
    *rest = pt_slice_of(rest->data + 1, rest->size - 1);
    return true;
}

static bool take_digit(pt_slice *rest, int *digit)
{
    if (rest->size == 0 || !pt_is_digit(rest->data[0])) {
        return false;
    }
    *digit = rest->data[0] - '0';
    *rest = pt_slice_of(rest->data + 1, rest->size - 1);
    return true;
}

static bool take_number(pt_slice *rest, int digits, int *number)
{
    int value = 0;
    for (int i = 0; i < digits; i++) {
        int digit;
        if (!take_digit(rest, &digit)) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

/* The functions below take one part of a time each. They return NULL, or the rule that the part
 * breaks, for a message. */

static const char *take_date(pt_slice *rest, int64_t *days)
{
    int year;
    int month;
    int day;
    if (!take_number(rest, 4, &year) || !take_separator(rest, '-') ||
        !take_number(rest, 2, &month) || !take_separator(rest, '-') ||
        !take_number(rest, 2, &day)) {
        return "it does not begin with a date YYYY-MM-DD";
    }
    if (month < 1 || month > 12) {
        return "its month is not from 01 to 12";
    }
    if (day < 1 || day > days_in_month(year, month)) {
        return "its month has no such day";
    }
    *days = days_from_date(year, month, day);
    return NULL;
}

/* Takes the digits after the point, at least one. Digits finer than a tick must be zeros. */
static const char *take_fraction(pt_slice *rest, int64_t *ticks)
{
    int64_t unit = PT_TICKS_PER_SECOND;
    int digit;
    *ticks = 0;
    if (!take_digit(rest, &digit)) {
        return "no digit follows the point of its seconds";
    }
    do {
        unit /= 10;
        if (unit == 0 && digit != 0) {
            return "its seconds have more than 7 digits after the point";
        }
        *ticks += digit * unit;
    } while (take_digit(rest, &digit));
    return NULL;
}

static const char *take_time(pt_slice *rest, int64_t *ticks)
{
    static const char form[] = "its date is not followed by a time HH:MM or HH:MM:SS";
    int hour;
    int minute;
    int second = 0;
    int64_t fraction = 0;
    if (!take_number(rest, 2, &hour) || !take_separator(rest, ':') ||
        !take_number(rest, 2, &minute)) {
        return form;
    }
    if (take_separator(rest, ':')) {
        if (!take_number(rest, 2, &second)) {
            return form;
        }
        const char *rule = take_separator(rest, '.') ? take_fraction(rest, &fraction) : NULL;
        if (rule != NULL) {
            return rule;
        }
    }
    if (hour > 23 || minute > 59 || second > 59) {
        return "its time is not from 00:00:00 to 23:59:59";
    }
    int minutes = hour * MINUTES_PER_HOUR + minute;
    *ticks = (minutes * SECONDS_PER_MINUTE + second) * PT_TICKS_PER_SECOND + fraction;
    return NULL;
}

/* Takes an optional time zone. *ahead: minutes that its clock is ahead of UTC. */
static const char *take_zone(pt_slice *rest, int *ahead)
{
    *ahead = 0;
    if (rest->size == 0 || take_separator(rest, 'Z') || take_separator(rest, 'z')) {
        return NULL;
    }
    bool is_behind_utc = take_separator(rest, '-');
    if (!is_behind_utc && !take_separator(rest, '+')) {
        return "its time is followed by something other than Z, +HH:MM or -HH:MM";
    }
    int hours;
    int minutes;
    if (!take_number(rest, 2, &hours) || !take_separator(rest, ':') ||
        !take_number(rest, 2, &minutes)) {
        return "its offset from UTC is not written +HH:MM or -HH:MM";
    }
    int offset = hours * MINUTES_PER_HOUR + minutes;
    *ahead = is_behind_utc ? -offset : offset;
    if (minutes > 59) {
        return "its offset from UTC has more than 59 minutes";
    }
    return offset > LARGEST_OFFSET ? "its offset from UTC is more than 14:00" : NULL;
}

static const char *read_parts(pt_slice text, int64_t *ticks)
{
    int64_t days;
    int64_t time = 0;
    int ahead = 0;
    const char *rule = take_date(&text, &days);
    if (rule == NULL && (take_separator(&text, 'T') || take_separator(&text, ' '))) {
        rule = take_time(&text, &time);
        rule = rule == NULL ? take_zone(&text, &ahead) : rule;
    } else if (rule == NULL && text.size != 0) {
        rule = "its date is followed by something other than a space or T and a time";
    }
    if (rule != NULL) {
        return rule;
    }
    if (text.size != 0) {
        return "something follows its end";
    }
    int64_t seconds = days * SECONDS_PER_DAY - (int64_t)ahead * SECONDS_PER_MINUTE;
    int64_t parsed = seconds * PT_TICKS_PER_SECOND + time;
    if (parsed < 0 || parsed > PT_TICKS_MAX) {
        return "in UTC it is not in a year from 0001 to 9999";
    }
    *ticks = parsed;
    return NULL;
}

/*
 * --- Texts in the usual form ---
 *
 * YYYY-MM-DDTHH:MM:SSZ, without or with seven digits of a fraction. Everything has its place there,
 * so eight bytes are compared at once.
 */

enum { WHOLE_SECONDS_SIZE = 20, FRACTION_AT = 20 };

/* The form that pt_ticks_format writes. */
static const char canonical_form[] = "0000-00-00T00:00:00.0000000Z";

/*
 * Compares eight bytes with the form. The result has a high bit for every byte that does not fit.
 * Subtracting the form by XOR leaves 0 to 9 of a digit and 0 of a separator. Then the greatest
 * number that fits, added to its byte of `rooms`, is just below the high bit.
 */
static uint64_t misfits(const uint8_t *text, size_t offset)
{
    static const char rooms[] = "vvvv\177vv\177vv\177vv\177vv\177vv\177vvvvvvv\177";
    const uint64_t low_bits = UINT64_C(0x7F7F7F7F7F7F7F7F);
    uint64_t bytes;
    uint64_t form;
    uint64_t room;
    memcpy(&bytes, text + offset, sizeof bytes);
    memcpy(&form, canonical_form + offset, sizeof form);
    memcpy(&room, rooms + offset, sizeof room);
    bytes ^= form;
    return (bytes | ((bytes & low_bits) + room)) & ~low_bits;
}

static int two_digits(const uint8_t *text)
{
    return (text[0] - '0') * 10 + text[1] - '0';
}

/* True if there is a time with the numbers in a text of the form. */
static inline bool has_time_in_range(const uint8_t *at)
{
    int year = two_digits(at) * 100 + two_digits(at + 2);
    int month = two_digits(at + 5);
    int day = two_digits(at + 8);
    return year != 0 && month >= 1 && month <= 12 && day >= 1 &&
           (day <= 28 || day <= days_in_month(year, month)) && two_digits(at + 11) <= 23 &&
           two_digits(at + 14) <= 59 && two_digits(at + 17) <= 59;
}

static bool is_canonical(pt_slice text)
{
    const uint8_t *at = text.data;
    return text.size == PT_DATETIME_TEXT_SIZE &&
           (misfits(at, 0) | misfits(at, 8) | misfits(at, 16) | misfits(at, 20)) == 0 &&
           has_time_in_range(at);
}

/* The same without a fraction. */
static inline bool is_canonical_to_seconds(pt_slice text)
{
    const uint8_t *at = text.data;
    return text.size == WHOLE_SECONDS_SIZE && at[WHOLE_SECONDS_SIZE - 1] == 'Z' &&
           (misfits(at, 0) | misfits(at, 8) | misfits(at, 11)) == 0 && has_time_in_range(at);
}

static inline int64_t ticks_of_whole_seconds(const uint8_t *at)
{
    int64_t days = days_from_date(two_digits(at) * 100 + two_digits(at + 2), two_digits(at + 5),
                                  two_digits(at + 8));
    int minutes = two_digits(at + 11) * MINUTES_PER_HOUR + two_digits(at + 14);
    int seconds = minutes * SECONDS_PER_MINUTE + two_digits(at + 17);
    return (days * SECONDS_PER_DAY + seconds) * PT_TICKS_PER_SECOND;
}

static int ticks_of_fraction(const uint8_t *at)
{
    return two_digits(at) * 100000 + two_digits(at + 2) * 1000 + two_digits(at + 4) * 10 +
           (at[6] - '0');
}

const char *pt_ticks_read(pt_slice text, int64_t *ticks)
{
    bool whole = is_canonical_to_seconds(text);
    const uint8_t *at = whole || is_canonical(text) ? text.data : NULL;
    if (at == NULL) {
        return read_parts(text, ticks);
    }
    *ticks = ticks_of_whole_seconds(at) + (whole ? 0 : ticks_of_fraction(at + FRACTION_AT));
    return NULL;
}

/* --- The order of texts --- */

/* The numbers of a date begin with 1. So where only zeros of one are given, its last digit becomes
 * 1. */
static void complete_number(uint8_t *text, size_t given, size_t first, size_t last)
{
    if (given <= last && memcmp(text + first, canonical_form + first, last - first) == 0) {
        text[last] = '1';
    }
}

/*
 * The first canonical text that begins with `text`, which may have ' ' for 'T'. That is the text
 * itself or one made in `room`. NULL if there is none.
 */
static const uint8_t *first_canonical(pt_slice text, uint8_t room[PT_DATETIME_TEXT_SIZE])
{
    if (is_canonical(text)) {
        return text.data;
    }
    if (text.size == 0 || text.size > PT_DATETIME_TEXT_SIZE) {
        return NULL;
    }
    memcpy(room, canonical_form, PT_DATETIME_TEXT_SIZE);
    memcpy(room, text.data, text.size);
    complete_number(room, text.size, 0, 3);
    complete_number(room, text.size, 5, 6);
    complete_number(room, text.size, 8, 9);
    room[10] = room[10] == ' ' ? 'T' : room[10];
    return is_canonical(pt_slice_of(room, PT_DATETIME_TEXT_SIZE)) ? room : NULL;
}

int64_t pt_ticks_place(pt_slice text)
{
    uint8_t room[PT_DATETIME_TEXT_SIZE];
    const uint8_t *first = first_canonical(text, room);
    int64_t ticks;
    if (text.size == 0) {
        return -1;
    }
    return pt_ticks_parse(first != NULL ? pt_slice_of(first, sizeof room) : text, &ticks)
               ? ticks
               : PT_TICKS_MAX + 1;
}

static int compare_by_place(pt_slice a, pt_slice b)
{
    int64_t place_a = pt_ticks_place(a);
    int64_t place_b = pt_ticks_place(b);
    if (place_a != place_b) {
        return place_a < place_b ? -1 : 1;
    }
    return place_a > PT_TICKS_MAX ? pt_slice_compare(a, b) : 0;
}

/* One text is not canonical. */
static int compare_spellings(pt_slice a, pt_slice b)
{
    uint8_t room_a[PT_DATETIME_TEXT_SIZE];
    uint8_t room_b[PT_DATETIME_TEXT_SIZE];
    const uint8_t *first_a = first_canonical(a, room_a);
    const uint8_t *first_b = first_canonical(b, room_b);
    return first_a != NULL && first_b != NULL ? memcmp(first_a, first_b, PT_DATETIME_TEXT_SIZE)
                                              : compare_by_place(a, b);
}

int pt_ticks_compare_texts(pt_slice a, pt_slice b)
{
    return is_canonical(a) && is_canonical(b) ? memcmp(a.data, b.data, PT_DATETIME_TEXT_SIZE)
                                              : compare_spellings(a, b);
}

/* --- Writing --- */

/* Writes a number below 100 as two digits, and the character after them, and returns their end. */
static char *put_two_digits(char *text, uint32_t number, char follower)
{
    static const char digits[] = "00010203040506070809101112131415161718192021222324"
                                 "25262728293031323334353637383940414243444546474849"
                                 "50515253545556575859606162636465666768697071727374"
                                 "75767778798081828384858687888990919293949596979899";
    memcpy(text, digits + 2 * (size_t)number, 2);
    text[2] = follower;
    return text + 3;
}

static char *put_date(char *text, uint32_t days)
{
    uint32_t year;
    uint32_t month;
    uint32_t day;
    date_from_days(days, &year, &month, &day);
    put_two_digits(text, year / 100, 0);
    text = put_two_digits(text + 2, year % 100, '-');
    text = put_two_digits(text, month, '-');
    return put_two_digits(text, day, 'T');
}

static char *put_time(char *text, uint32_t seconds)
{
    uint32_t minutes = seconds / SECONDS_PER_MINUTE;
    text = put_two_digits(text, minutes / MINUTES_PER_HOUR, ':');
    text = put_two_digits(text, minutes % MINUTES_PER_HOUR, ':');
    return put_two_digits(text, seconds % SECONDS_PER_MINUTE, '.');
}

/* Each pair's follower is overwritten by the digit or the pair after it. */
static void put_fraction(char *text, uint32_t ticks)
{
    put_two_digits(text, ticks / 100000, 0);
    put_two_digits(text + 2, ticks / 1000 % 100, 0);
    put_two_digits(text + 4, ticks / 10 % 100, (char)('0' + ticks % 10));
    text[FRACTION_DIGITS] = 'Z';
    text[FRACTION_DIGITS + 1] = 0;
}

void pt_ticks_format(int64_t ticks, char text[PT_DATETIME_TEXT_SIZE + 1])
{
    uint64_t seconds = (uint64_t)ticks / PT_TICKS_PER_SECOND;
    text = put_date(text, (uint32_t)(seconds / SECONDS_PER_DAY));
    text = put_time(text, (uint32_t)(seconds % SECONDS_PER_DAY));
    put_fraction(text, (uint32_t)((uint64_t)ticks % PT_TICKS_PER_SECOND));
}
