/*
 * The scan comes to the end of a flat object if and only if it is JSON for SQLite and for
 * json_text.h. SQLite alone takes more: it stops reading at U+0000, and 3.40 takes an object whose
 * last member is a string for the name of a member.
 */
#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "fixtures/json_text.h"
#include "value/json_scan.h"

enum { TEXT_MAX = 100, WORD_MAX = 5 };

static sqlite3 *db;
static sqlite3_stmt *ask;

typedef struct tally {
    int64_t texts;
    int64_t valid;
    int64_t malformed;
    int64_t not_scanned; /* to their end, or what ends them */
} tally;

static int prepare(void **state)
{
    (void)state;
    int rc = sqlite3_open(":memory:", &db);
    return rc == SQLITE_OK ? sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &ask, NULL) : rc;
}

static int finish(void **state)
{
    (void)state;
    sqlite3_finalize(ask);
    return sqlite3_close(db);
}

static bool is_json_for_sqlite(pt_slice text)
{
    sqlite3_reset(ask);
    sqlite3_bind_text64(ask, 1, (const char *)text.data, text.size, SQLITE_STATIC, SQLITE_UTF8);
    assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
    return sqlite3_column_int(ask, 0) != 0;
}

/* How the scan ends; PT_JSON_MEMBER: at a nested value. */
static pt_json_step scan_to_end(pt_slice text)
{
    uint8_t *copy = malloc(text.size);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    pt_json_scan scan = pt_json_scan_of(copy, text.size);
    pt_json_token value = {.kind = PT_JSON_NULL};
    pt_slice name;
    pt_json_step step;
    do {
        step = pt_json_scan_next(&scan, &name, &value);
    } while (step == PT_JSON_MEMBER && value.kind != PT_JSON_NESTED);
    free(copy);
    return step;
}

static bool begins_object(pt_slice text)
{
    size_t at = 0;
    while (at < text.size && text.data[at] != 0 && strchr(" \t\r\n", text.data[at]) != NULL) {
        at++;
    }
    return at < text.size && text.data[at] == '{';
}

static void disagree(pt_slice text, bool valid, pt_json_step step)
{
    print_error("%.*s\nis %sJSON, but the scan ends with %d\n", (int)text.size,
                (const char *)text.data, valid ? "" : "no ", (int)step);
    fail();
}

static void compare(pt_slice text, tally *all)
{
    bool valid = is_json_text(text);
    bool for_sqlite = is_json_for_sqlite(text);
    pt_json_step step = scan_to_end(text);
    all->texts++;
    assert_true(for_sqlite || !valid);
    if ((step == PT_JSON_END && !valid) || (step == PT_JSON_MALFORMED && valid) ||
        (step == PT_JSON_NO_OBJECT && begins_object(text))) {
        disagree(text, valid, step);
    }
    all->valid += step == PT_JSON_END;
    all->malformed += step == PT_JSON_MALFORMED;
    all->not_scanned += step != PT_JSON_END && step != PT_JSON_MALFORMED;
}

static void report(const tally *all, const char *what)
{
    print_message("# %s: %lld texts, %lld JSON, %lld malformed, %lld otherwise no flat object\n",
                  what, (long long)all->texts, (long long)all->valid, (long long)all->malformed,
                  (long long)all->not_scanned);
    assert_true(all->valid > 0 && all->malformed > 0);
}

/* --- Numbers: all short words of the characters that they are made of --- */

static void compare_words(char *word, size_t size, tally *all)
{
    static const char characters[] = "-+.0129eE";
    char text[TEXT_MAX];
    for (size_t i = 0; size < WORD_MAX && i < sizeof characters - 1; i++) {
        word[size] = characters[i];
        word[size + 1] = 0;
        sqlite3_snprintf(sizeof text, text, "{\"a\":%s}", word);
        compare(pt_slice_text(text), all);
        compare_words(word, size + 1, all);
    }
}

static void numbers_are_those_of_json(void **state)
{
    (void)state;
    char word[WORD_MAX + 1] = "";
    tally all = {0};
    compare_words(word, 0, &all);
    report(&all, "numbers");
}

/* --- Every byte in every place --- */

static const char *const texts[] = {
    "{}",
    " {\"a\\u00e4\\n\" : \"x\\\"\" , \"b\":-1.5e+70,\"c\":true}\r\n",
    "{\"a\":null,\"b\":\"\",\"c\":0,\"d\":\"\\\\\\/\\b\\f\\r\\t\",\"e\":false}\t",
    "{\"\":\"\\ud83d\\ude00\xC3\xA4\",\"b\":10}",
};

static void compare_changed(const char *json, size_t at, uint8_t byte, tally *all)
{
    uint8_t text[TEXT_MAX];
    size_t size = strlen(json);
    memcpy(text, json, size);
    text[at] = byte;
    compare(pt_slice_of(text, size), all);
    memcpy(text + at + 1, json + at, size - at);
    compare(pt_slice_of(text, size + 1), all);
}

static void every_byte_is_judged_as_in_json(void **state)
{
    (void)state;
    tally all = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        compare(pt_slice_text(texts[i]), &all);
        for (size_t at = 0; at < strlen(texts[i]); at++) {
            for (int byte = 0; byte <= UINT8_MAX; byte++) {
                compare_changed(texts[i], at, (uint8_t)byte, &all);
            }
        }
    }
    report(&all, "changed texts");
}

/* What lacks something, anywhere. */
static void every_part_is_judged_as_in_json(void **state)
{
    (void)state;
    tally all = {0};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t size = strlen(texts[i]);
        for (size_t from = 0; from < size; from++) {
            for (size_t to = from; to <= size; to++) {
                uint8_t text[TEXT_MAX];
                memcpy(text, texts[i], from);
                memcpy(text + from, texts[i] + to, size - to);
                if (from + size - to > 0) {
                    compare(pt_slice_of(text, from + size - to), &all);
                }
            }
        }
    }
    report(&all, "parts");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_those_of_json),
        cmocka_unit_test(every_byte_is_judged_as_in_json),
        cmocka_unit_test(every_part_is_judged_as_in_json),
    };
    return cmocka_run_group_tests(tests, prepare, finish);
}
