#include "query/value_ranges.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "base/ticks.h"
#include "entity/index.h"

/* The ranges of one comparison, which are put together. */
typedef struct range_making {
    const pt_comparison *comparison;
    unsigned has;
    pt_value_ranges *ranges;
    pt_arena *arena;
    pt_buffer *part; /* that is being made */
    bool failed;     /* out of memory */
} range_making;

/* --- Bounds --- */

static pt_slice copy_bound(range_making *making, pt_slice bound)
{
    pt_slice copy = pt_arena_copy(making->arena, bound);
    making->failed = making->failed || copy.data == NULL;
    return copy;
}

static pt_slice class_bound(range_making *making, unsigned class)
{
    const uint8_t byte = (uint8_t) class;
    return copy_bound(making, pt_slice_of(&byte, 1));
}

/* The position before all keys with the part of a value, or after them. */
static pt_slice part_bound(range_making *making, const pt_value *value, bool after)
{
    pt_buffer_clear(making->part);
    pt_entry_append(making->part, value);
    if (after) {
        pt_buffer_append_byte(making->part, PT_ENTRY_END);
    }
    if (making->part->failed) {
        making->failed = true;
        return (pt_slice){0};
    }
    return copy_bound(making, pt_buffer_slice(making->part));
}

/* The position after all keys with a part, which part_bound has returned. */
static pt_slice end_of_part(range_making *making, pt_slice part)
{
    pt_slice end = {0};
    if (!making->failed) {
        end = pt_arena_copy_with(making->arena, part, PT_ENTRY_END);
        making->failed = end.data == NULL;
    }
    return end;
}

static void add_range(range_making *making, pt_slice low, pt_slice high, bool point)
{
    pt_value_ranges *ranges = making->ranges;
    making->failed =
        making->failed || !pt_arena_reserve(making->arena, &ranges->ranges, &ranges->capacity,
                                            ranges->count, sizeof *ranges->ranges);
    if (!making->failed) {
        ranges->ranges[ranges->count++] =
            (pt_value_range){.low = low, .high = high, .point = point};
    }
}

static void add_class(range_making *making, unsigned class)
{
    add_range(making, class_bound(making, class), class_bound(making, class + 1), false);
}

static void add_value_point(range_making *making, const pt_value *value)
{
    pt_slice low = part_bound(making, value, false);
    add_range(making, low, end_of_part(making, low), true);
}

/* True if values of several lengths have the part of this one. */
static bool may_be_cut(const pt_value *value)
{
    return (value->type == PT_STRING || value->type == PT_BINARY) &&
           value->bytes.size >= PT_ENTRY_VALUE_MAX;
}

/* Adds the values of a class that are on the comparison's side of a value. */
static void add_side(range_making *making, unsigned class, const pt_value *value)
{
    pt_plan_op op = making->comparison->op;
    bool cut = may_be_cut(value);
    if (op == PT_OP_GT || op == PT_OP_GE) {
        add_range(making, part_bound(making, value, op == PT_OP_GT && !cut),
                  class_bound(making, class + 1), false);
    } else {
        add_range(making, class_bound(making, class),
                  part_bound(making, value, op == PT_OP_LE || cut), false);
    }
}

/* Adds what is equal to a value, or on the comparison's side of it. */
static void add_compared(range_making *making, unsigned class, const pt_value *value)
{
    if (making->comparison->op == PT_OP_EQ) {
        add_value_point(making, value);
    } else {
        add_side(making, class, value);
    }
}

/* --- Numbers and binaries --- */

static bool is_numeric(pt_type type)
{
    return type == PT_INT32 || type == PT_INT64 || type == PT_BOOLEAN || type == PT_DOUBLE;
}

/* How the values of some types, bits of `types`, are judged: PT_JUDGE_NONE if one of them is not,
 * PT_JUDGE_ALL if none passes, else PT_JUDGE_VALUE. */
static pt_judging judge_types(const range_making *making, unsigned types)
{
    pt_judging all = PT_JUDGE_ALL;
    for (int type = PT_NONE + 1; type <= PT_TYPE_LAST; type++) {
        if ((making->has & types & 1u << type) == 0) {
            continue;
        }
        pt_judging judging = pt_comparison_judging(making->comparison, (pt_type)type);
        if (judging == PT_JUDGE_NONE) {
            return judging;
        }
        all = judging == PT_JUDGE_ALL ? all : PT_JUDGE_VALUE;
    }
    return all;
}

enum {
    NUMBERS = 1u << PT_INT32 | 1u << PT_INT64 | 1u << PT_BOOLEAN | 1u << PT_DOUBLE,
    TEXTS = 1u << PT_STRING | 1u << PT_DATETIME | 1u << PT_GUID,
};

/* Adds the values of a class that has these types. */
static void add_values_of(range_making *making, unsigned class, unsigned types)
{
    const pt_comparison *comparison = making->comparison;
    switch (judge_types(making, types)) {
    case PT_JUDGE_ALL:
        return;
    case PT_JUDGE_NONE:
        add_class(making, class);
        return;
    default:
        break;
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        pt_type type = comparison->values[i].type;
        if (class == PT_ENTRY_NUMBER ? is_numeric(type) : type == PT_BINARY) {
            add_compared(making, class, &comparison->values[i]);
        }
    }
}

/* --- Texts --- */

/* Adds all texts that begin with a character from `first` to before `end`. */
static void add_texts_from(range_making *making, uint8_t first, uint8_t end)
{
    const uint8_t low[2] = {PT_ENTRY_TEXT, first};
    const uint8_t high[2] = {PT_ENTRY_TEXT, end};
    add_range(making, copy_bound(making, pt_slice_of(low, first != 0 ? 2 : 1)),
              copy_bound(making, pt_slice_of(high, sizeof high)), false);
}

static void add_times(range_making *making, int64_t ticks)
{
    bool upward = making->comparison->op == PT_OP_GT || making->comparison->op == PT_OP_GE;
    bool order = making->comparison->op != PT_OP_EQ;
    const pt_value time = {.type = PT_DATETIME, .integer = ticks};
    if (ticks >= 0 && ticks <= PT_TICKS_MAX) {
        add_compared(making, PT_ENTRY_TEXT, &time);
    } else if (order && upward == (ticks < 0)) {
        add_class(making, PT_ENTRY_TEXT);
    }
}

/* Adds the texts equal to the values, or on the comparison's side of its value. Those in which the
 * other side's affinity matters are added too. */
static void add_strings(range_making *making)
{
    const pt_comparison *comparison = making->comparison;
    bool order = comparison->op != PT_OP_EQ;
    if (pt_comparison_decides_no_text(comparison)) {
        add_class(making, PT_ENTRY_TEXT);
        return;
    }
    for (unsigned i = 0; i < comparison->count; i++) {
        if (comparison->values[i].type == PT_STRING) {
            add_compared(making, PT_ENTRY_TEXT, &comparison->values[i]);
        }
    }
    if (order ? !comparison->exact
              : comparison->has_number || (comparison->number_texts && !comparison->exact)) {
        add_texts_from(making, 0, '9' + 1); /* what may be a number */
        add_texts_from(making, 'I', 'I' + 1);
    }
}

/* The position after all keys that begin with these bytes. The first one is that of a class. */
static pt_slice end_of_prefix(range_making *making, pt_slice prefix)
{
    while (prefix.data[prefix.size - 1] == UINT8_MAX) {
        prefix.size--;
    }
    pt_slice end = copy_bound(making, prefix);
    if (!making->failed) {
        ((uint8_t *)(uintptr_t)end.data)[end.size - 1]++;
    }
    return end;
}

/* Adds the texts that begin with a prefix, as far as entries have it. */
static void add_prefixed(range_making *making, pt_slice prefix)
{
    size_t size = prefix.size < PT_ENTRY_VALUE_MAX ? prefix.size : PT_ENTRY_VALUE_MAX;
    pt_buffer_clear(making->part);
    pt_entry_append_prefix(making->part, pt_slice_of(prefix.data, size));
    if (making->part->failed) {
        making->failed = true;
        return;
    }
    pt_slice part = pt_buffer_slice(making->part);
    add_range(making, copy_bound(making, part), end_of_prefix(making, part), false);
}

/* Adds what may pass if texts are not judged. In UTF-16 another text may begin with the prefix. */
static void add_unjudged_texts(range_making *making)
{
    const pt_comparison *comparison = making->comparison;
    if (comparison->op == PT_OP_STARTS_WITH && !comparison->only_equal) {
        add_prefixed(making, comparison->values[0].bytes);
    } else {
        add_class(making, PT_ENTRY_TEXT);
    }
}

static void add_texts(range_making *making)
{
    const pt_comparison *comparison = making->comparison;
    switch (judge_types(making, TEXTS)) {
    case PT_JUDGE_NONE:
        add_unjudged_texts(making);
        return;
    case PT_JUDGE_ALL:
        break;
    default:
        if ((making->has & 1u << PT_STRING) != 0) {
            add_strings(making);
        }
        for (unsigned i = 0; i < comparison->count; i++) {
            if (comparison->values[i].type == PT_DATETIME) {
                add_times(making, comparison->values[i].integer);
            } else if (comparison->values[i].type == PT_GUID) {
                add_compared(making, PT_ENTRY_TEXT, &comparison->values[i]);
            }
        }
    }
    if ((making->has & 1u << PT_DOUBLE) != 0 && comparison->any) {
        const pt_value not_a_number = {.type = PT_STRING, .bytes = pt_slice_text("NaN")};
        add_value_point(making, &not_a_number);
    }
}

/* --- Putting ranges together --- */

static int range_order(const void *a, const void *b)
{
    return pt_slice_compare(((const pt_value_range *)a)->low, ((const pt_value_range *)b)->low);
}

/* Sorts the ranges and unites those that overlap. */
static void unite_ranges(pt_value_ranges *ranges)
{
    if (ranges->count < 2) {
        return;
    }
    qsort(ranges->ranges, ranges->count, sizeof *ranges->ranges, range_order);
    unsigned last = 0;
    for (unsigned i = 1; i < ranges->count; i++) {
        pt_value_range *before = &ranges->ranges[last];
        const pt_value_range *next = &ranges->ranges[i];
        if (pt_slice_compare(next->low, before->high) >= 0) {
            ranges->ranges[++last] = *next;
            continue;
        }
        before->point = before->point && next->point && pt_slice_equal(before->low, next->low);
        if (pt_slice_compare(next->high, before->high) > 0) {
            before->high = next->high;
        }
    }
    ranges->count = last + 1;
}

static int make_ranges(pt_value_ranges *ranges, const pt_comparison *comparison, unsigned has,
                       pt_arena *arena, pt_buffer *scratch)
{
    range_making making = {
        .comparison = comparison, .has = has, .ranges = ranges, .arena = arena, .part = scratch};
    *ranges = (pt_value_ranges){0};
    if (comparison->finds_null) {
        add_range(&making, class_bound(&making, PT_ENTRY_NULL),
                  class_bound(&making, PT_ENTRY_NULL + 1), true);
    }
    add_values_of(&making, PT_ENTRY_NUMBER, NUMBERS);
    add_texts(&making);
    add_values_of(&making, PT_ENTRY_BINARY, 1u << PT_BINARY);
    if (making.failed) {
        return SQLITE_NOMEM;
    }
    unite_ranges(ranges);
    return SQLITE_OK;
}

int pt_value_ranges_intersect(pt_value_ranges *ranges, const pt_value_ranges *with, pt_arena *arena)
{
    pt_value_ranges both = {0};
    range_making making = {.ranges = &both, .arena = arena};
    unsigned a = 0;
    unsigned b = 0;
    while (a < ranges->count && b < with->count) {
        const pt_value_range *left = &ranges->ranges[a];
        const pt_value_range *right = &with->ranges[b];
        bool left_ends = pt_slice_compare(left->high, right->high) <= 0;
        const pt_value_range *high = left_ends ? left : right;
        const pt_value_range *low = pt_slice_compare(left->low, right->low) >= 0 ? left : right;
        if (pt_slice_compare(low->low, high->high) < 0) {
            /* A point is inside of a range or outside of it. */
            add_range(&making, low->low, high->high, left->point || right->point);
        }
        a += left_ends;
        b += !left_ends;
    }
    *ranges = both;
    return making.failed ? SQLITE_NOMEM : SQLITE_OK;
}

int pt_value_ranges_set(pt_value_ranges *ranges, const pt_comparison *const *comparisons,
                        unsigned count, unsigned has, pt_arena *arena, pt_buffer *scratch)
{
    int rc = make_ranges(ranges, comparisons[0], has, arena, scratch);
    for (unsigned i = 1; rc == SQLITE_OK && i < count; i++) {
        pt_value_ranges more;
        rc = make_ranges(&more, comparisons[i], has, arena, scratch);
        if (rc == SQLITE_OK) {
            rc = pt_value_ranges_intersect(ranges, &more, arena);
        }
    }
    return rc;
}
