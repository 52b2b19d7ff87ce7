/*
 * Conditions are written in short: P for PartitionKeys, R for RowKeys, E for entities; {..} lists,
 * [low..high) bounds, where + stands for "and all that follows": [a+..) is greater than a, [..b+)
 * up to b. What is not bounded is left out; "never" is a filter that no key meets.
 */
#include "fixtures/cmocka.h"

#include <stdio.h>

#include "base/sqlite.h"
#include "entity/key.h"
#include "faults/failing_malloc.h"
#include "fixtures/filter_entity.h"
#include "query/filter.h"
#include "query/filter_keys.h"

static pt_filter filter;
static pt_filter_keys keys;

static void find_keys(const char *text)
{
    pt_error error = PT_ERROR_NONE;
    if (pt_filter_parse(&filter, pt_slice_text(text), &error) != SQLITE_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    assert_int_equal(pt_filter_find_keys(&filter, &keys), SQLITE_OK);
}

static void append_key(pt_buffer *text, pt_slice key)
{
    for (size_t i = 0; i < key.size; i++) {
        uint8_t c = key.data[i];
        pt_buffer_append_byte(text, c == 0 ? '/' : c == 1 ? '+' : c);
    }
}

static void append_condition(pt_buffer *text, char letter, const pt_key_condition *condition)
{
    if (pt_condition_is_always(condition)) {
        return;
    }
    pt_buffer_append_text(text, text->size != 0 ? " " : "");
    pt_buffer_append_byte(text, (uint8_t)letter);
    if (condition->listed) {
        pt_buffer_append_text(text, "{");
        for (unsigned i = 0; i < condition->point_count; i++) {
            pt_buffer_append_text(text, i == 0 ? "" : " ");
            append_key(text, condition->points[i]);
            assert_int_equal(condition->points[i].data[condition->points[i].size], 0);
        }
        pt_buffer_append_text(text, "}");
    }
    if (condition->interval.low.size != 0 || condition->interval.bounded) {
        pt_buffer_append_text(text, "[");
        append_key(text, condition->interval.low);
        pt_buffer_append_text(text, "..");
        append_key(text, condition->interval.bounded ? condition->interval.high : (pt_slice){0});
        pt_buffer_append_text(text, ")");
    }
}

static bool is_never(void)
{
    return pt_condition_is_never(&keys.partition) || pt_condition_is_never(&keys.row) ||
           pt_condition_is_never(&keys.entity);
}

static void assert_found_keys(const char *filter_text, const char *expected)
{
    pt_buffer text = {0};
    if (is_never()) {
        pt_buffer_append_text(&text, "never");
    } else {
        append_condition(&text, 'P', &keys.partition);
        append_condition(&text, 'R', &keys.row);
        append_condition(&text, 'E', &keys.entity);
    }
    pt_buffer_append_byte(&text, 0);
    if (strcmp((const char *)text.data, expected) != 0) {
        fail_msg("%s: %s, not %s", filter_text, (const char *)text.data, expected);
    }
    pt_buffer_free(&text);
}

static void assert_keys(const char *filter_text, const char *expected)
{
    find_keys(filter_text);
    assert_found_keys(filter_text, expected);
}

static void comparisons_bound_keys(void **state)
{
    (void)state;
    assert_keys("PartitionKey eq 'a'", "P{a}");
    assert_keys("'a' eq PartitionKey", "P{a}");
    assert_keys("PartitionKey gt 'a'", "P[a+..)");
    assert_keys("PartitionKey ge 'a'", "P[a..)");
    assert_keys("PartitionKey lt 'a'", "P[..a)");
    assert_keys("PartitionKey le 'a'", "P[..a+)");
    assert_keys("'a' lt PartitionKey", "P[a+..)");
    assert_keys("PartitionKey ne 'a'", "");
    assert_keys("PartitionKey ge ''", "");
    assert_keys("PartitionKey eq ''", "P{}");
    assert_keys("PartitionKey lt ''", "never");
    assert_keys("RowKey ge 'x' and RowKey lt 'y'", "R[x..y)");
    assert_keys("RowKey eq 'x'", "R{x}");
}

static void other_comparisons_do_not(void **state)
{
    (void)state;
    assert_keys("", "");
    assert_keys("Age gt 30", "");
    assert_keys("not Active", "");
    assert_keys("Timestamp gt datetime'2026-01-01'", "");
    assert_keys("not (Timestamp gt datetime'2026-01-01')", "");
    assert_keys("Age gt 30 and PartitionKey eq 'a'", "P{a}");
    assert_keys("Age gt 30 or PartitionKey eq 'a'", "");
    assert_keys("(Age gt 30 or Active) and RowKey gt 'x'", "R[x+..)");
}

static void comparisons_with_other_types_are_decided(void **state)
{
    (void)state;
    assert_keys("PartitionKey eq 3", "never");
    assert_keys("PartitionKey lt 3", "");
    assert_keys("not (PartitionKey lt 3)", "never");
    assert_keys("not (RowKey eq guid'00000000-0000-0000-0000-000000000000')", "");
    assert_keys("PartitionKey eq 3 or PartitionKey eq 'a'", "P{a}");
    assert_keys("PartitionKey", "never");
    assert_keys("Timestamp eq '2026'", "never");
    assert_keys("Timestamp lt '2026' and RowKey eq 'x'", "R{x}");
    assert_keys("true", "");
    assert_keys("false", "never");
    assert_keys("false or RowKey eq 'x' and true", "R{x}");
    assert_keys("Active and false", "never");
}

static void and_narrows(void **state)
{
    (void)state;
    assert_keys("PartitionKey ge 'a' and PartitionKey lt 'c' and PartitionKey gt 'b'", "P[b+..c)");
    assert_keys("PartitionKey gt 'b' and PartitionKey le 'b'", "never");
    assert_keys("PartitionKey eq 'a' and PartitionKey eq 'b'", "never");
    assert_keys("PartitionKey eq 'a' and PartitionKey gt 'a'", "never");
    assert_keys("PartitionKey eq 'b' and RowKey ge 'x'", "P{b} R[x..)");
    assert_keys("(PartitionKey eq 'a' or PartitionKey eq 'b' or PartitionKey eq 'c') and "
                "PartitionKey gt 'a' and (PartitionKey eq 'c' or PartitionKey eq 'a')",
                "P{c}[a+..)");
}

static void a_text_with_nul_is_between_two_keys(void **state)
{
    (void)state;
    static const char *const operators[] = {"eq", "ne", "gt", "ge", "lt", "le"};
    static const char *const expected[] = {"never", "", "P[a+..)", "P[a+..)", "P[..a+)", "P[..a+)"};
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        char text[40];
        int size = snprintf(text, sizeof text, "PartitionKey %s 'a/b'", operators[i]);
        text[size - 3] = 0;
        pt_error error = PT_ERROR_NONE;
        assert_int_equal(pt_filter_parse(&filter, pt_slice_of(text, (size_t)size), &error),
                         SQLITE_OK);
        assert_int_equal(pt_filter_find_keys(&filter, &keys), SQLITE_OK);
        assert_found_keys(operators[i], expected[i]);
    }
}

static void or_lists_and_widens(void **state)
{
    (void)state;
    assert_keys("PartitionKey eq 'b' or PartitionKey eq 'a' or 'b' eq PartitionKey", "P{a b}");
    assert_keys("PartitionKey eq 'b' or PartitionKey gt 'x'", "P[b..)");
    assert_keys("PartitionKey le 'b' or PartitionKey eq 'x'", "P[..x+)");
    assert_keys("PartitionKey ge 'a' and PartitionKey lt 'b' or PartitionKey ge 'x' and "
                "PartitionKey lt 'y'",
                "P[a..y)");
    assert_keys("PartitionKey eq 'a' or RowKey eq 'x'", "");
    assert_keys("PartitionKey lt 'a' or PartitionKey gt 'b'", "");
    assert_keys("RowKey eq 'x' or RowKey lt ''", "R{x}");
    assert_keys("PartitionKey eq 'a' and RowKey ge 'x' or PartitionKey eq 'b' and RowKey ge 'y'",
                "P{a b} R[x..)");
}

static void whole_keys_are_listed(void **state)
{
    (void)state;
    assert_keys("PartitionKey eq 'a' and RowKey eq '1'", "P{a} R{1} E{a/1}");
    assert_keys("PartitionKey eq 'b' and RowKey eq '2' or PartitionKey eq 'a' and RowKey eq '1'",
                "P{a b} R{1 2} E{a/1 b/2}");
    assert_keys("PartitionKey eq 'a' and (RowKey eq '2' or RowKey eq '1')",
                "P{a} R{1 2} E{a/1 a/2}");
    assert_keys("(PartitionKey eq 'a' or PartitionKey eq 'b') and RowKey eq '1'",
                "P{a b} R{1} E{a/1 b/1}");
    assert_keys("(PartitionKey eq 'a' or PartitionKey eq 'b') and (RowKey eq '1' or RowKey eq '2')",
                "P{a b} R{1 2}");
    assert_keys("(PartitionKey eq 'b' and RowKey eq '2' or PartitionKey eq 'a' and RowKey eq '1') "
                "and PartitionKey ne 'c' and RowKey lt '2'",
                "P{a b} R{1}[..2) E{a/1}");
    assert_keys("(PartitionKey eq 'a' and RowKey eq '1' or PartitionKey eq 'b' and RowKey eq '2') "
                "and (PartitionKey eq 'a' and RowKey eq '2' or PartitionKey eq 'b' and RowKey eq "
                "'1')",
                "never");
    assert_keys("((PartitionKey eq 'a' and RowKey eq '1' or PartitionKey eq 'b' and RowKey eq '2') "
                "and (PartitionKey eq 'a' and RowKey eq '2' or PartitionKey eq 'b' and RowKey eq "
                "'1')) or PartitionKey eq 'z' and RowKey eq '1'",
                "P{z} R{1} E{z/1}");
    assert_keys("PartitionKey eq '' and RowKey eq ''", "P{} R{} E{/}");
    assert_keys("PartitionKey eq 'a' and RowKey eq '1' or PartitionKey eq 'b'", "P{a b}");
}

static void not_turns_round(void **state)
{
    (void)state;
    assert_keys("not (PartitionKey lt 'b')", "P[b..)");
    assert_keys("not (PartitionKey ge 'b')", "P[..b)");
    assert_keys("not (PartitionKey gt 'b')", "P[..b+)");
    assert_keys("not (PartitionKey le 'b')", "P[b+..)");
    assert_keys("not (PartitionKey ne 'b')", "P{b}");
    assert_keys("not (PartitionKey eq 'b')", "");
    assert_keys("not (PartitionKey lt 'b' or RowKey ne 'x')", "P[b..) R{x}");
    assert_keys("not (PartitionKey ne 'a' and PartitionKey ne 'b')", "P{a b}");
    assert_keys("not (PartitionKey lt 'b' and RowKey ne 'x')", "");
    assert_keys("not (not (PartitionKey eq 'a' and RowKey eq '1'))", "P{a} R{1} E{a/1}");
    assert_keys("not (Age gt 3 or PartitionKey ne 'a')", "P{a}");
    assert_keys("not (Age gt 3 and PartitionKey ne 'a')", "");
}

static void some_filters_say_which_partitions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool bound;
    } cases[] = {
        {"", false},
        {"Age gt 3", false},
        {"RowKey eq 'x'", false},
        {"PartitionKey ne 'a'", false},
        {"PartitionKey eq 'a' or RowKey eq 'x'", false},
        {"PartitionKey ge ''", false},
        {"PartitionKey ge 'a'", true},
        {"PartitionKey eq 'a' and Age gt 3", true},
        {"RowKey lt 'x' and PartitionKey lt 'b'", true},
        {"false", true},
        {"RowKey lt ''", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        find_keys(cases[i].text);
        if (pt_filter_keys_bound_partitions(&keys) != cases[i].bound) {
            fail_msg("%s", cases[i].text);
        }
    }
}

/* --- All filters --- */

enum { TEXTS = 6, ENTITIES = TEXTS * TEXTS * 2, CASES = 8000 };

static const char *const texts[TEXTS] = {"", "a", "aa", "b", "c", "\xC3\xA9"};
static test_entity entities[ENTITIES];

/* Each pair of keys, once with P true and once without. */
static int make_entities(void **state)
{
    (void)state;
    const named_value yes = {.name = "P", .value = {.type = PT_BOOLEAN, .integer = 1}};
    for (unsigned i = 0; i < ENTITIES; i++) {
        make_entity(&entities[i], texts[i / 2 % TEXTS], texts[i / 2 / TEXTS], &yes, i % 2);
    }
    return 0;
}

static int free_entities(void **state)
{
    (void)state;
    for (int i = 0; i < ENTITIES; i++) {
        free_entity(&entities[i]);
    }
    pt_filter_free(&filter);
    return (int)sqlite3_memory_used();
}

static uint32_t random_state = 20261121;

static unsigned random_below(unsigned limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static size_t random_comparison(char *text, size_t room, bool keys_only)
{
    static const char *const operators[] = {"eq", "eq", "ge", "gt", "lt", "le", "ne"};
    static const char *const others[] = {
        "P", "not P", "true", "false", "PartitionKey lt 3", "RowKey eq 3"};
    if (!keys_only && random_below(4) == 0) {
        return (size_t)snprintf(text, room, "%s", others[random_below(6)]);
    }
    return (size_t)snprintf(text, room, "%s %s '%s'",
                            random_below(2) == 0 ? "PartitionKey" : "RowKey",
                            operators[random_below(keys_only ? 6 : 7)], texts[random_below(TEXTS)]);
}

static size_t random_filter(char *text, size_t room, int depth)
{
    if (depth == 0 || random_below(4) == 0) {
        return random_comparison(text, room, false);
    }
    const char *joint = random_below(2) == 0 ? " and " : " or ";
    size_t size = (size_t)snprintf(text, room, "%s(", random_below(3) == 0 ? "not " : "");
    unsigned count = 1 + random_below(4);
    for (unsigned i = 0; i < count; i++) {
        size += (size_t)snprintf(text + size, room - size, "%s", i == 0 ? "" : joint);
        size += random_filter(text + size, room - size, depth - 1);
    }
    return size + (size_t)snprintf(text + size, room - size, ")");
}

static bool keys_hold(const pt_filter_entity *entity)
{
    pt_buffer key = {0};
    pt_buffer_append_slice(&key, entity->partition_key);
    pt_buffer_append_byte(&key, 0);
    pt_buffer_append_slice(&key, entity->row_key);
    bool hold = pt_condition_holds(&keys.partition, entity->partition_key) &&
                pt_condition_holds(&keys.row, entity->row_key) &&
                pt_condition_holds(&keys.entity, pt_buffer_slice(&key));
    pt_buffer_free(&key);
    return hold;
}

static void every_entity_that_passes_is_inside(void **state)
{
    (void)state;
    static char text[20000];
    int inside = 0;
    int passed = 0;
    for (int i = 0; i < CASES; i++) {
        random_filter(text, sizeof text, 3);
        find_keys(text);
        for (int e = 0; e < ENTITIES; e++) {
            bool hold = keys_hold(&entities[e].entity);
            bool pass = passes(&entities[e], &filter);
            if (pass && !hold) {
                fail_msg("%s", text);
            }
            inside += hold;
            passed += pass;
        }
    }
    assert_true(passed > CASES * ENTITIES / 8);
    assert_true(inside < passed * 2);
}

/* Comparisons of keys with "and" between bound exactly the keys that pass. */
static void conjunctions_bound_exactly(void **state)
{
    (void)state;
    static char text[400];
    for (int i = 0; i < CASES; i++) {
        size_t size = random_comparison(text, sizeof text, true);
        for (unsigned more = random_below(4); more > 0; more--) {
            size += (size_t)snprintf(text + size, sizeof text - size, " and ");
            size += random_comparison(text + size, sizeof text - size, true);
        }
        find_keys(text);
        for (int e = 0; e < ENTITIES; e++) {
            if (keys_hold(&entities[e].entity) != passes(&entities[e], &filter)) {
                fail_msg("%s", text);
            }
        }
    }
}

static void many_points_are_found_quickly(void **state)
{
    (void)state;
    static char text[2000000];
    size_t size = 0;
    for (int i = 20000; i > 0; i--) {
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "PartitionKey eq '%05d' and RowKey eq '%d'%s", i, i,
                                 i == 1 ? "" : " or ");
    }
    find_keys(text);
    assert_int_equal(keys.partition.point_count, 20000);
    assert_int_equal(keys.row.point_count, 20000);
    assert_int_equal(keys.entity.point_count, 20000);
    assert_true(pt_slice_equal(keys.entity.points[0], pt_slice_of("00001\0"
                                                                  "1",
                                                                  7)));
}

static void out_of_memory_is_told(void **state)
{
    (void)state;
    static char text[20000];
    for (int i = 0; i < 30; i++) {
        random_filter(text, sizeof text, 3);
        for (int n = 0;; n++) {
            pt_filter_free(&filter);
            find_keys(text);
            /* A new chunk of the arena is the allocation that can fail. */
            assert_non_null(pt_arena_alloc(&filter.arena, filter.arena.total - filter.arena.used));
            failing_malloc_arm(n, true);
            int rc = pt_filter_find_keys(&filter, &keys);
            bool hit = failing_malloc_disarm();
            assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
            if (!hit) {
                break;
            }
        }
    }
}

/* With ever more room left in the arena's chunk, each place needs the next one once. */
static void any_allocation_of_the_arena_may_fail(void **state)
{
    (void)state;
    static const char text[] = "(PartitionKey eq 'a' or PartitionKey eq 'b') and RowKey eq '1' or "
                               "PartitionKey eq 'c' and RowKey le '2'";
    bool hit = true;
    size_t room = 0;
    for (; hit; room += 8) {
        pt_filter_free(&filter);
        find_keys(text);
        size_t left = filter.arena.top != NULL ? filter.arena.total - filter.arena.used : 0;
        assert_true(left > room);
        assert_non_null(pt_arena_alloc(&filter.arena, left - room));
        failing_malloc_arm(0, true);
        int rc = pt_filter_find_keys(&filter, &keys);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
    }
    assert_true(room > 100);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_bound_keys),
        cmocka_unit_test(other_comparisons_do_not),
        cmocka_unit_test(comparisons_with_other_types_are_decided),
        cmocka_unit_test(and_narrows),
        cmocka_unit_test(a_text_with_nul_is_between_two_keys),
        cmocka_unit_test(or_lists_and_widens),
        cmocka_unit_test(whole_keys_are_listed),
        cmocka_unit_test(not_turns_round),
        cmocka_unit_test(some_filters_say_which_partitions),
        cmocka_unit_test(every_entity_that_passes_is_inside),
        cmocka_unit_test(conjunctions_bound_exactly),
        cmocka_unit_test(many_points_are_found_quickly),
        cmocka_unit_test(out_of_memory_is_told),
        cmocka_unit_test(any_allocation_of_the_arena_may_fail),
    };
    return cmocka_run_group_tests(tests, make_entities, free_entities);
}
