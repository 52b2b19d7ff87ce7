/*
 * Numbers, times, GUIDs and base64 as text, and values between SQL and properties: beside what the
 * C library and SQLite make of the same text, and there and back again. The input is the text; its
 * first bytes are also taken for numbers.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>

#include "base/number.h"
#include "base/text.h"
#include "base/ticks.h"
#include "fixtures/value_same.h"
#include "fuzz/fuzz.h"
#include "value/value.h"

/* --- Numbers --- */

static const char *skip_sign(const char *text)
{
    return text + (*text == '-' || *text == '+');
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

static bool is_integer(const char *text, size_t size)
{
    const char *at = skip_sign(text);
    return digits(at) != 0 && digits(at) == size - (size_t)(at - text);
}

static bool is_decimal(const char *text, size_t size)
{
    const char *at = skip_sign(text);
    size_t before = digits(at);
    at += before;
    size_t behind = *at == '.' ? digits(at + 1) : 0;
    at += *at == '.' ? 1 + behind : 0;
    if (*at == 'e' || *at == 'E') {
        const char *exponent = skip_sign(at + 1);
        at = digits(exponent) != 0 ? exponent + digits(exponent) : text;
    }
    return before + behind != 0 && at == text + size;
}

/* `text` is terminated, and may have NULs inside. */
static void check_integer(const char *text, pt_slice slice)
{
    int64_t parsed = 0;
    errno = 0;
    long long expected = strtoll(text, NULL, 10);
    bool good = is_integer(text, slice.size) && errno == 0;
    must_hold(pt_integer_parse(slice, &parsed) == good, "an integer is digits within 64 bits");
    must_hold(!good || parsed == expected, "integers are the C library's");
}

static void check_decimal(const char *text, pt_slice slice)
{
    double parsed = 0;
    double expected = strtod(text, NULL);
    bool good = is_decimal(text, slice.size) && isfinite(expected);
    must_hold(pt_double_parse(slice, &parsed) == good, "a number has digits and is finite");
    must_hold(!good || memcmp(&parsed, &expected, sizeof parsed) == 0,
              "numbers are rounded as by the C library");
}

static int significant_digits(double real)
{
    char text[64];
    int count = 15;
    while (count < 17) {
        snprintf(text, sizeof text, "%.*e", count - 1, real);
        if (strtod(text, NULL) == real) {
            break;
        }
        count++;
    }
    return count;
}

static void check_double(double real)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    double again = 0;
    if (!isfinite(real)) {
        const char *name = pt_double_name(real);
        must_hold(name != NULL && pt_double_parse_name(pt_slice_text(name), &again),
                  "what is not finite has a name");
        must_hold(isnan(real) ? isnan(again) : again == real, "a name comes back");
        return;
    }
    pt_double_format(real, text);
    must_hold(strlen(text) < PT_DOUBLE_TEXT_SIZE && strchr(text, '.') != NULL,
              "a number has a point");
    must_hold(pt_double_parse(pt_slice_text(text), &again) &&
                  memcmp(&again, &real, sizeof real) == 0,
              "a number comes back to the bit");
    char shortest[64];
    snprintf(shortest, sizeof shortest, "%.*e", significant_digits(real) - 1, real);
    int count = 0;
    for (const char *at = text; *at != 0 && *at != 'e'; at++) {
        count += *at >= '1' && *at <= '9';
    }
    int expected = 0;
    for (const char *at = shortest; *at != 'e'; at++) {
        expected += *at >= '1' && *at <= '9';
    }
    must_hold(count == expected, "a number has no more digits than it needs");
}

/* --- Times, GUIDs, base64 --- */

static sqlite3 *db;
static sqlite3_stmt *seconds;
static sqlite3_stmt *same_day;
static sqlite3_stmt *identity;

static void prepare(const char *sql, sqlite3_stmt **statement)
{
    must_hold(sqlite3_prepare_v2(db, sql, -1, statement, NULL) == SQLITE_OK, sql);
}

/* SQLite counts in milliseconds, rounds to them, and has nothing behind its last one. */
/* The place of any text, and that it compares as its place says. */
static void check_place(pt_slice text)
{
    int64_t place = pt_ticks_place(text);
    must_hold(place >= -1 && place <= PT_TICKS_MAX + 1, "a text has a place");
    must_hold((place < 0) == (text.size == 0), "the empty text is first");
    must_hold(pt_ticks_compare_texts(text, text) == 0, "a text equals itself");
    char form[PT_DATETIME_TEXT_SIZE + 1];
    bool time = place >= 0 && place <= PT_TICKS_MAX;
    pt_ticks_format(time ? place : 0, form);
    int order = pt_ticks_compare_texts(text, pt_slice_text(form));
    must_hold(time ? order == 0 : (order < 0) == (place < 0), "a text compares by its place");
    must_hold((order < 0) == (pt_ticks_compare_texts(pt_slice_text(form), text) > 0),
              "the order has one direction");
}

static void check_time(pt_slice text)
{
    int64_t ticks = 0;
    check_place(text);
    if (!pt_ticks_parse(text, &ticks)) {
        return;
    }
    must_hold(pt_ticks_place(text) == ticks, "a time is at its place");
    must_hold(ticks >= 0 && ticks <= PT_TICKS_MAX, "a time is within its range");
    char form[PT_DATETIME_TEXT_SIZE + 1];
    int64_t again = -1;
    pt_ticks_format(ticks, form);
    must_hold(pt_ticks_parse(pt_slice_text(form), &again) && again == ticks, "a time comes back");
    sqlite3_reset(seconds);
    sqlite3_bind_text64(seconds, 1, (const char *)text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
    must_hold(sqlite3_step(seconds) == SQLITE_ROW, "SQLite answers");
    bool last = ticks > PT_TICKS_MAX - PT_TICKS_PER_SECOND;
    must_hold(last || sqlite3_column_type(seconds, 0) == SQLITE_INTEGER,
              "a time is one for SQLite");
    int64_t ours = (ticks - PT_TICKS_UNIX_EPOCH) / PT_TICKS_PER_SECOND;
    int64_t theirs = sqlite3_column_int64(seconds, 0);
    must_hold(last || (ours - theirs <= 1 && theirs - ours <= 1), "times are SQLite's");
    sqlite3_reset(seconds);
}

/* A day that a month has or has not: one that SQLite does not take for another. */
static void check_day(uint64_t bits)
{
    unsigned year = (unsigned)(bits >> 16) % 10000;
    year -= (bits & 1) != 0 ? year % 100 : 0;
    if (year < 400) {
        return; /* for which SQLite 3.40 reckons leap years wrongly */
    }
    char text[32];
    snprintf(text, sizeof text, "%04u-%02u-%02u", year, (unsigned)(bits >> 1) % 12 + 1,
             28 + (unsigned)(bits >> 8) % 4);
    sqlite3_reset(same_day);
    sqlite3_bind_text(same_day, 1, text, -1, SQLITE_STATIC);
    must_hold(sqlite3_step(same_day) == SQLITE_ROW, "SQLite answers");
    int64_t ticks = 0;
    must_hold(pt_ticks_parse(pt_slice_text(text), &ticks) == (sqlite3_column_int(same_day, 0) != 0),
              "months have their days");
    sqlite3_reset(same_day);
}

static void check_ticks(int64_t ticks)
{
    char form[PT_DATETIME_TEXT_SIZE + 1];
    int64_t again = -1;
    pt_ticks_format(ticks, form);
    must_hold(strlen(form) == PT_DATETIME_TEXT_SIZE, "a time has its width");
    must_hold(pt_ticks_parse(pt_slice_text(form), &again) && again == ticks, "a time comes back");
    check_time(pt_slice_text(form));
}

static void check_guid(pt_slice text)
{
    uint8_t guid[PT_GUID_SIZE];
    uint8_t again[PT_GUID_SIZE];
    char form[PT_GUID_TEXT_SIZE + 1];
    if (pt_guid_parse(text, guid)) {
        pt_guid_format(guid, form);
        must_hold(strlen(form) == PT_GUID_TEXT_SIZE, "a GUID has its width");
        must_hold(pt_guid_parse(pt_slice_text(form), again) &&
                      memcmp(guid, again, sizeof guid) == 0,
                  "a GUID comes back");
        size_t brace = text.data[0] == '{';
        must_hold(sqlite3_strnicmp((const char *)text.data + brace, form, PT_GUID_TEXT_SIZE) == 0,
                  "a GUID is its digits");
    }
}

static void check_base64(pt_slice bytes)
{
    pt_buffer text = {0};
    size_t size = 0;
    pt_base64_append(&text, bytes);
    must_hold(text.size == (bytes.size + 2) / 3 * 4, "base64 has its size");
    uint8_t *decoded = malloc(text.size / 4 * 3 + 1);
    must_hold(pt_base64_decode(pt_buffer_slice(&text), decoded, &size) &&
                  pt_slice_equal(pt_slice_of(decoded, size), bytes),
              "bytes come back from base64");
    free(decoded);
    pt_buffer_clear(&text);
    uint8_t *exact = exact_copy(bytes); /* which is decoded in place */
    if (pt_base64_decode(bytes, exact, &size)) {
        pt_base64_append(&text, pt_slice_of(exact, size));
        /* The last digit may have had other bits that belong to no byte. */
        size_t last = size % 3 == 0 ? bytes.size : bytes.size - (size % 3 == 1 ? 3 : 2);
        must_hold(text.size == bytes.size, "a text that is read has the size of the one written");
        for (size_t i = 0; i < text.size; i++) {
            must_hold(i == last || text.data[i] == bytes.data[i], "and its digits");
        }
    }
    free(exact);
    pt_buffer_free(&text);
}

/* --- Between SQL and properties --- */

static void give(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_value_result(context, sqlite3_value_pointer(argv[0], "value"), false);
}

static sqlite3_value *sql_of(const pt_value *value)
{
    static sqlite3_stmt *giving;
    if (giving == NULL) {
        prepare("SELECT give(?1)", &giving);
    }
    sqlite3_reset(giving);
    sqlite3_bind_pointer(giving, 1, (void *)value, "value", NULL);
    must_hold(sqlite3_step(giving) == SQLITE_ROW, "a value can be given");
    return sqlite3_value_dup(sqlite3_column_value(giving, 0));
}

static void check_conversion(sqlite3_value *sql, pt_type declared)
{
    pt_value value = {.type = PT_NONE};
    pt_value again = {.type = PT_NONE};
    pt_error error = PT_ERROR_NONE;
    sqlite3_value *copy = sqlite3_value_dup(sql);
    int rc = pt_value_from_sql(copy, declared, "C", &value, &error);
    must_hold(rc == SQLITE_OK || (rc == SQLITE_MISMATCH && error.message != NULL),
              "what does not fit is said");
    if (rc == SQLITE_OK) {
        must_hold(value.type == PT_NONE || declared == PT_NONE || value.type == declared,
                  "a value gets the column's type");
        sqlite3_value *given = sql_of(&value);
        must_hold(pt_value_equals_sql(&value, given), "a value is what it shows");
        must_hold(pt_value_from_sql(given, declared, "C", &again, &error) == SQLITE_OK,
                  "what a column shows can be written there");
        must_hold((value.type == PT_DOUBLE && isnan(value.real)) || value_same(&value, &again),
                  "what a column shows is the same when it is written");
        sqlite3_value_free(given);
    }
    pt_error_clear(&error);
    sqlite3_value_free(copy);
}

static void check_sql(void)
{
    must_hold(sqlite3_step(identity) == SQLITE_ROW, "a value can be had");
    sqlite3_value *sql = sqlite3_value_dup(sqlite3_column_value(identity, 0));
    for (int type = PT_NONE; type <= (int)PT_TYPE_LAST; type++) {
        check_conversion(sql, (pt_type)type);
    }
    sqlite3_value_free(sql);
    sqlite3_reset(identity);
}

static void check_all_sql(pt_slice text, uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    sqlite3_bind_text64(identity, 1, (const char *)text.data, text.size, SQLITE_TRANSIENT,
                        SQLITE_UTF8);
    check_sql();
    sqlite3_bind_blob64(identity, 1, text.data, text.size, SQLITE_TRANSIENT);
    check_sql();
    sqlite3_bind_int64(identity, 1, (int64_t)bits >> (bits & 63));
    check_sql();
    sqlite3_bind_double(identity, 1, real);
    check_sql();
}

static void open_once(void)
{
    if (db == NULL) {
        must_hold(sqlite3_open(":memory:", &db) == SQLITE_OK, "a database opens");
        sqlite3_create_function(db, "give", 1, SQLITE_UTF8, NULL, give, NULL, NULL);
        prepare("SELECT CAST(strftime('%s', ?1) AS INTEGER)", &seconds);
        prepare("SELECT date(?1, '+0 days') = ?1", &same_day);
        prepare("SELECT ?1", &identity);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_once();
    fuzz_input input = fuzz_input_of(data, size);
    uint64_t bits = take_64_bits(&input);
    double real;
    memcpy(&real, &bits, sizeof real);
    uint8_t *exact = exact_copy(pt_slice_of(data, size));
    char *terminated = malloc(size + 1);
    memcpy(terminated, exact, size);
    terminated[size] = 0;
    pt_slice text = pt_slice_of(exact, size);
    check_integer(terminated, text);
    check_decimal(terminated, text);
    check_double(real);
    check_time(text);
    check_ticks((int64_t)(bits % ((uint64_t)PT_TICKS_MAX + 1)));
    check_day(bits);
    check_guid(text);
    check_base64(text);
    check_all_sql(text, bits);
    pt_type type = pt_type_from_name(text);
    must_hold(pt_type_from_name(pt_slice_text(pt_type_name(type))) == type, "types have names");
    free(terminated);
    free(exact);
    return 0;
}
