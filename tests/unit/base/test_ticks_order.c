/*
 * The order of PT_DATETIME: the place of each text, and that comparing is a total order.
 */
#include "fixtures/cmocka.h"

#include <stdio.h>

#include "base/ticks.h"
#include "fixtures/random_bits.h"

enum { POOL = 3000, TRIPLES = 1000000, TEXT_ROOM = 48 };

/* A text that is followed by bytes which belong to no time. */
typedef struct sample {
    char bytes[TEXT_ROOM];
    size_t size;
} sample;

static pt_slice slice_of(const sample *text)
{
    return pt_slice_of(text->bytes, text->size);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static int compare(const char *a, const char *b)
{
    return sign(pt_ticks_compare_texts(pt_slice_text(a), pt_slice_text(b)));
}

static void assert_place(const char *text, const char *time)
{
    int64_t expected = PT_TICKS_MAX + 1;
    if (time != NULL) {
        assert_true(pt_ticks_parse(pt_slice_text(time), &expected));
    }
    if (pt_ticks_place(pt_slice_text(text)) != expected) {
        fail_msg("'%s' is not at %s", text, time != NULL ? time : "the end");
    }
}

static void a_beginning_is_its_first_time(void **state)
{
    (void)state;
    static const char *const beginnings[][2] = {
        {"0", "0001-01-01"},
        {"000", "0001-01-01"},
        {"0001", "0001-01-01"},
        {"01", "0100-01-01"},
        {"1", "1000-01-01"},
        {"2", "2000-01-01"},
        {"202", "2020-01-01"},
        {"2026", "2026-01-01"},
        {"2026-", "2026-01-01"},
        {"2026-0", "2026-01-01"},
        {"2026-1", "2026-10-01"},
        {"2026-11", "2026-11-01"},
        {"2026-11-0", "2026-11-01"},
        {"2026-11-2", "2026-11-20"},
        {"2026-11-22", "2026-11-22"},
        {"2026-11-22T", "2026-11-22"},
        {"2026-11-22 ", "2026-11-22"},
        {"2026-11-22T1", "2026-11-22T10:00"},
        {"2026-11-22 10", "2026-11-22T10:00"},
        {"2026-11-22T10:", "2026-11-22T10:00"},
        {"2026-11-22T10:3", "2026-11-22T10:30"},
        {"2026-11-22 10:35", "2026-11-22T10:35"},
        {"2026-11-22T10:35:", "2026-11-22T10:35"},
        {"2026-11-22T10:35:4", "2026-11-22T10:35:40"},
        {"2026-11-22T10:35:41.", "2026-11-22T10:35:41"},
        {"2026-11-22T10:35:41.25", "2026-11-22T10:35:41.25"},
        {"2024-02-29", "2024-02-29"},
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        assert_place(beginnings[i][0], beginnings[i][1]);
    }
}

static void every_spelling_of_a_time_is_equal(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "2026-11-22T10:00:00.0000000Z",
        "2026-11-22T10:00:00.0000000",
        "2026-11-22 10:00:00.0000000Z",
        "2026-11-22 10:00",
        "2026-11-22T10",
        "2026-11-22T10:00Z",
        "2026-11-22 10:00:00z",
        "2026-11-22T10:00:00.000000000000Z",
        "2026-11-22T12:00+02:00",
        "2026-11-21 23:30:00.0-10:30",
    };
    size_t count = sizeof spellings / sizeof spellings[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            assert_int_equal(compare(spellings[i], spellings[j]), 0);
        }
        assert_int_equal(compare(spellings[i], "2026-11-22T10:00:00.0000001Z"), -1);
        assert_int_equal(compare("2026-11-22T09:59:59.9999999", spellings[i]), -1);
    }
}

static void other_texts_come_last_by_their_bytes(void **state)
{
    (void)state;
    static const char *const others[] = {
        " 2026-11-22",
        "-2026",
        "0000",
        "0000-01-01T00:00:00.0000000Z",
        "0001-01-01T00:00+00:01",
        "10000",
        "2023-02-29T00:00:00.0000000Z",
        "2026-00-01T00:00:00.0000000Z",
        "2026-02-3",
        "2026-11-00T00:00:00.0000000Z",
        "2026-11-21T08:43+1",
        "2026-11-22T10:00:00.00000001",
        "2026-11-22T10:00:00.0000000Z ",
        "2026-11-22T10:00:00.0000000z0",
        "2026-11-22T10:00:00.000000aZ",
        "2026-11-22T10:00:00_0000000Z",
        "2026-11-22T10:00:60.0000000Z",
        "2026-11-22T10:00Z0",
        "2026-11-22T10:60:00.0000000Z",
        "2026-11-22T24:00:00.0000000Z",
        "2026-11-22t10:00:00.0000000Z",
        "2026-11-31T00:00:00.0000000Z",
        "2026-13-01T00:00:00.0000000Z",
        "9999-12-31T23:59-00:01",
        "\xb2\xb0\xb2\xb6-11-22T10:00:00.0000000Z",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_place(others[i], NULL);
        assert_int_equal(compare("9999-12-31T23:59:59.9999999Z", others[i]), -1);
        assert_int_equal(compare("9999", others[i]), -1);
        if (i != 0) {
            assert_int_equal(compare(others[i - 1], others[i]), -1);
        }
    }
}

static void the_empty_text_comes_first(void **state)
{
    (void)state;
    assert_int_equal(pt_ticks_place((pt_slice){0}), -1);
    assert_int_equal(pt_ticks_compare_texts((pt_slice){0}, (pt_slice){0}), 0);
    assert_int_equal(compare("", "0001-01-01T00:00:00.0000000Z"), -1);
    assert_int_equal(compare("", "0"), -1);
    assert_int_equal(compare("now", ""), 1);
}

/* --- Random texts --- */

static int64_t random_time(void)
{
    static const int64_t near[] = {
        0,
        PT_TICKS_UNIX_EPOCH,
        INT64_C(639308784992341940),
        PT_TICKS_MAX - 30 * INT64_C(864000000000),
    };
    int64_t spread = INT64_C(1) << random_bits() % 50;
    int64_t ticks = near[random_bits() % 4] + (int64_t)(random_bits() % (uint64_t)spread);
    return ticks < PT_TICKS_MAX ? ticks : PT_TICKS_MAX;
}

/* Writes a time with a zone. Near the ends of time, the shown time may be one that does not exist.
 */
static void spell_with_zone(sample *text, int64_t ticks)
{
    int offset = (int)(random_bits() % 1681) - 840;
    int64_t local = ticks + offset * INT64_C(60) * PT_TICKS_PER_SECOND;
    local = local < 0 || local > PT_TICKS_MAX ? ticks : local;
    pt_ticks_format(local, text->bytes);
    int minutes = offset < 0 ? -offset : offset;
    int size = snprintf(text->bytes + 27, TEXT_ROOM - 27, "%c%02d:%02d", offset < 0 ? '-' : '+',
                        minutes / 60, minutes % 60);
    text->size = 27 + (size_t)size;
}

static sample random_text(void)
{
    static const char signs[] = "0123456789-T :.Zz+x";
    sample text = {.size = PT_DATETIME_TEXT_SIZE};
    int64_t ticks = random_time();
    pt_ticks_format(ticks, text.bytes);
    switch (random_bits() % 6) {
    case 0: /* a beginning */
        text.size = random_bits() % (PT_DATETIME_TEXT_SIZE + 1);
        text.bytes[10] = random_bits() % 2 == 0 ? 'T' : ' ';
        break;
    case 1:
        spell_with_zone(&text, ticks);
        break;
    case 2: /* one wrong sign */
        text.bytes[random_bits() % text.size] = signs[random_bits() % (sizeof signs - 1)];
        break;
    case 3: /* fewer digits, then Z */
        text.size = 20 + random_bits() % 8;
        text.bytes[text.size - 1] = 'Z';
        break;
    case 4: /* of the same signs */
        text.size = random_bits() % 4;
        for (size_t i = 0; i < text.size; i++) {
            text.bytes[i] = signs[random_bits() % (sizeof signs - 1)];
        }
        break;
    default:
        break;
    }
    return text;
}

static void fill_pool(sample pool[POOL])
{
    for (int i = 0; i < POOL; i++) {
        pool[i] = random_text();
    }
}

static void fail_triple(const sample *a, const sample *b, const sample *c, const char *rule)
{
    fail_msg("%s: '%.*s', '%.*s', '%.*s'", rule, (int)a->size, a->bytes, (int)b->size, b->bytes,
             (int)c->size, c->bytes);
}

static void random_triples_are_totally_ordered(void **state)
{
    (void)state;
    static sample pool[POOL];
    int equal = 0;
    fill_pool(pool);
    for (int i = 0; i < TRIPLES; i++) {
        const sample *a = &pool[random_bits() % POOL];
        const sample *b = &pool[random_bits() % POOL];
        const sample *c = &pool[random_bits() % POOL];
        int ab = sign(pt_ticks_compare_texts(slice_of(a), slice_of(b)));
        int ba = sign(pt_ticks_compare_texts(slice_of(b), slice_of(a)));
        int bc = sign(pt_ticks_compare_texts(slice_of(b), slice_of(c)));
        int ac = sign(pt_ticks_compare_texts(slice_of(a), slice_of(c)));
        if (ab != -ba) {
            fail_triple(a, b, c, "antisymmetric");
        }
        /* With equality: a <= b <= c is a <= c, and a < c if one of the two is <. */
        if (ab <= 0 && bc <= 0 && ac != (ab + bc < 0 ? -1 : 0)) {
            fail_triple(a, b, c, "transitive");
        }
        equal += ab == 0 && a != b;
    }
    assert_true(equal > 1000);
}

/* The comparison has shorter ways than by the places. */
static void comparing_agrees_with_the_places(void **state)
{
    (void)state;
    static sample pool[POOL];
    int times = 0;
    fill_pool(pool);
    for (int i = 0; i < TRIPLES; i++) {
        const sample *a = &pool[random_bits() % POOL];
        const sample *b = &pool[random_bits() % POOL];
        int64_t place_a = pt_ticks_place(slice_of(a));
        int64_t place_b = pt_ticks_place(slice_of(b));
        int expected = (place_a > place_b) - (place_a < place_b);
        if (expected == 0 && place_a > PT_TICKS_MAX) {
            expected = sign(pt_slice_compare(slice_of(a), slice_of(b)));
        }
        if (sign(pt_ticks_compare_texts(slice_of(a), slice_of(b))) != expected) {
            fail_triple(a, b, b, "by places");
        }
        times += place_a >= 0 && place_a <= PT_TICKS_MAX;
    }
    assert_in_range(times, TRIPLES / 2, TRIPLES - TRIPLES / 20);
}

static bool begins(int64_t ticks, pt_slice text)
{
    char time[PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(ticks, time);
    if (text.size > 10 && text.data[10] == ' ') {
        time[10] = ' ';
    }
    return text.size <= PT_DATETIME_TEXT_SIZE && memcmp(time, text.data, text.size) == 0;
}

/* What INSERT reads is there; what it does not read is the first time that begins so. */
static void places_are_those_of_the_definition(void **state)
{
    (void)state;
    int beginnings = 0;
    for (int i = 0; i < TRIPLES / 4; i++) {
        sample text = random_text();
        int64_t place = pt_ticks_place(slice_of(&text));
        int64_t ticks;
        if (pt_ticks_parse(slice_of(&text), &ticks)) {
            assert_int_equal(place, ticks);
        } else if (place >= 0 && place <= PT_TICKS_MAX) {
            beginnings++;
            assert_true(begins(place, slice_of(&text)));
            assert_true(place == 0 || !begins(place - 1, slice_of(&text)));
        }
    }
    assert_true(beginnings > TRIPLES / 100);
}

/* No beginning is missed. */
static void every_beginning_of_a_time_is_read(void **state)
{
    (void)state;
    for (int i = 0; i < TRIPLES / 40; i++) {
        char time[PT_DATETIME_TEXT_SIZE + 1];
        int64_t ticks = random_time();
        pt_ticks_format(ticks, time);
        int64_t least = 0;
        for (size_t size = 1; size <= PT_DATETIME_TEXT_SIZE; size++) {
            int64_t place = pt_ticks_place(pt_slice_of(time, size));
            assert_in_range(place, least, ticks);
            least = place;
        }
        assert_int_equal(least, ticks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_beginning_is_its_first_time),
        cmocka_unit_test(every_spelling_of_a_time_is_equal),
        cmocka_unit_test(other_texts_come_last_by_their_bytes),
        cmocka_unit_test(the_empty_text_comes_first),
        cmocka_unit_test(random_triples_are_totally_ordered),
        cmocka_unit_test(comparing_agrees_with_the_places),
        cmocka_unit_test(places_are_those_of_the_definition),
        cmocka_unit_test(every_beginning_of_a_time_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
