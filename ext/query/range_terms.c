#include "query/range_terms.h"

#include <assert.h>

#include "value/value.h"

/*
 * Bounds are normalised to half-open intervals. In texts, which contain no NUL, the first string
 * behind `a` is a 01 and all texts with prefix p lie in [p, p FF); in byte strings the first string
 * behind `b` is b 00.
 */
enum { AFTER_BYTES = 0x00, AFTER_TEXT = 0x01, AFTER_PREFIX = 0xFF };

/* How a term compares: its place among the terms of its column. */
typedef enum comparison { EQUAL, AMONG, ABOVE, FROM, BELOW, UP_TO, PREFIXED } comparison;

static_assert((int)PT_TERM_PK_IN == AMONG && (int)PT_TERM_PK_PREFIX == PREFIXED &&
                  PT_TERM_RK_PREFIX - PT_TERM_RK_EQ == PREFIXED &&
                  PT_TERM_EK_LE - PT_TERM_EK_EQ == UP_TO,
              "the terms of each column are listed in the same order");

static comparison comparison_of(int term)
{
    if (term >= PT_TERM_EK_EQ) {
        return (comparison)(term - PT_TERM_EK_EQ);
    }
    return (comparison)(term >= PT_TERM_RK_EQ ? term - PT_TERM_RK_EQ : term - PT_TERM_PK_EQ);
}

/* A list of points while it grows in the arena. */
typedef struct point_list {
    pt_key_condition points;
    unsigned capacity;
} point_list;

static bool has_nul(pt_slice text)
{
    return text.size != 0 && memchr(text.data, 0, text.size) != NULL;
}

/* A copy, for what an argument is must not change: it may be looked at again. */
static int text_of_copy(pt_arena *arena, sqlite3_value *value, pt_slice *text)
{
    sqlite3_value *copy = sqlite3_value_dup(value);
    pt_slice converted = {0};
    int rc = copy != NULL ? pt_value_argument_text(copy, &converted) : SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        *text = pt_arena_copy(arena, converted);
        rc = text->data != NULL ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_value_free(copy);
    return rc;
}

/* --- Points and bounds --- */

static int add_point(pt_arena *arena, point_list *list, pt_slice point)
{
    pt_key_condition *points = &list->points;
    if (points->point_count == list->capacity) {
        unsigned capacity = list->capacity == 0 ? 1 : list->capacity * 4;
        pt_slice *larger = pt_arena_alloc(arena, capacity * sizeof *larger);
        if (larger == NULL) {
            return SQLITE_NOMEM;
        }
        if (points->point_count != 0) {
            memcpy(larger, points->points, points->point_count * sizeof *larger);
        }
        points->points = larger;
        list->capacity = capacity;
    }
    pt_slice copy = pt_arena_copy(arena, point);
    if (copy.data == NULL) {
        return SQLITE_NOMEM;
    }
    points->points[points->point_count++] = copy;
    return SQLITE_OK;
}

static int apply_point(pt_ranges *ranges, pt_key_condition *condition, pt_slice point)
{
    point_list list = {0};
    int rc = add_point(&ranges->arena, &list, point);
    if (rc == SQLITE_OK) {
        pt_condition_restrict(condition, &list.points);
    }
    return rc;
}

static int apply_prefix(pt_ranges *ranges, pt_key_condition *condition, pt_slice prefix)
{
    if (prefix.size == 0) {
        return SQLITE_OK;
    }
    pt_slice end = pt_arena_copy_with(&ranges->arena, prefix, AFTER_PREFIX);
    if (end.data == NULL) {
        return SQLITE_NOMEM;
    }
    pt_interval_raise_low(&condition->interval, pt_slice_of(end.data, prefix.size));
    pt_interval_lower_high(&condition->interval, end);
    return SQLITE_OK;
}

/* An inequality; `after` makes the first string behind the bound. */
static int apply_bound(pt_ranges *ranges, pt_key_condition *condition, comparison how,
                       pt_slice bound, uint8_t after)
{
    pt_slice edge = pt_arena_copy_with(&ranges->arena, bound, after);
    if (edge.data == NULL) {
        return SQLITE_NOMEM;
    }
    if (how == FROM || how == BELOW) {
        edge.size = bound.size;
    }
    if (how == ABOVE || how == FROM) {
        pt_interval_raise_low(&condition->interval, edge);
    } else {
        pt_interval_lower_high(&condition->interval, edge);
    }
    return SQLITE_OK;
}

/* --- PartitionKey and RowKey --- */

/* A key compares with "a", NUL and more as with "a", but is never equal to it. */
static int apply_text_with_nul(pt_ranges *ranges, pt_key_condition *condition, comparison how,
                               pt_slice text)
{
    if (how == EQUAL || how == PREFIXED) {
        ranges->nothing = true;
        return SQLITE_OK;
    }
    comparison same = how == ABOVE || how == FROM ? ABOVE : UP_TO;
    pt_slice start = pt_slice_text((const char *)text.data);
    return apply_bound(ranges, condition, same, start, AFTER_TEXT);
}

static int apply_text(pt_ranges *ranges, pt_key_condition *condition, comparison how, pt_slice text)
{
    if (has_nul(text)) {
        return apply_text_with_nul(ranges, condition, how, text);
    }
    if (how == EQUAL) {
        return apply_point(ranges, condition, text);
    }
    return how == PREFIXED ? apply_prefix(ranges, condition, text)
                           : apply_bound(ranges, condition, how, text, AFTER_TEXT);
}

/*
 * The text that an argument is compared as. pt_starts_with takes everything as text. Of the rest,
 * an integer that is bound is compared as its text, which TEXT affinity makes of it.
 */
static int compared_text(pt_arena *arena, comparison how, sqlite3_value *value, pt_slice *text)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_TEXT) {
        return pt_value_argument_text(value, text);
    }
    bool as_text = how == PREFIXED || (type == SQLITE_INTEGER && sqlite3_value_frombind(value));
    return as_text ? text_of_copy(arena, value, text) : SQLITE_MISMATCH;
}

static int apply_to_text(pt_ranges *ranges, pt_key_condition *condition, comparison how,
                         sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) {
        ranges->nothing = true;
        return SQLITE_OK;
    }
    if (type == SQLITE_BLOB && how != PREFIXED) {
        ranges->nothing = ranges->nothing || how == EQUAL || how == ABOVE || how == FROM;
        return SQLITE_OK;
    }
    pt_slice text;
    int rc = compared_text(&ranges->arena, how, value, &text);
    return rc == SQLITE_OK ? apply_text(ranges, condition, how, text) : rc;
}

/* --- EntityKey --- */

/* Numbers and texts compare as less than every BLOB. */
static int apply_to_blob(pt_ranges *ranges, comparison how, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    if (type != SQLITE_BLOB) {
        bool always = type != SQLITE_NULL && (how == ABOVE || how == FROM);
        ranges->nothing = ranges->nothing || !always;
        return SQLITE_OK;
    }
    pt_slice blob;
    int rc = pt_value_argument_blob(value, &blob);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return how == EQUAL ? apply_point(ranges, &ranges->entity, blob)
                        : apply_bound(ranges, &ranges->entity, how, blob, AFTER_BYTES);
}

/* --- IN --- */

/* Adds one value of an IN, unless no key can equal it. Those of a written list come as texts. */
static int add_value(pt_ranges *ranges, const pt_key_condition *condition, sqlite3_value *value,
                     point_list *list)
{
    int type = sqlite3_value_type(value);
    bool is_entity = condition == &ranges->entity;
    if (!is_entity && (type == SQLITE_INTEGER || type == SQLITE_FLOAT)) {
        return SQLITE_MISMATCH;
    }
    if (type != (is_entity ? SQLITE_BLOB : SQLITE_TEXT)) {
        return SQLITE_OK;
    }
    pt_slice key;
    int rc = is_entity ? pt_value_argument_blob(value, &key) : pt_value_argument_text(value, &key);
    if (rc != SQLITE_OK || (!is_entity && has_nul(key))) {
        return rc;
    }
    return add_point(&ranges->arena, list, key);
}

static int apply_in(pt_ranges *ranges, pt_key_condition *condition, sqlite3_value *argument)
{
    point_list list = {0};
    sqlite3_value *value;
    int rc = sqlite3_vtab_in_first(argument, &value);
    while (rc == SQLITE_OK) {
        rc = add_value(ranges, condition, value, &list);
        if (rc == SQLITE_OK) {
            rc = sqlite3_vtab_in_next(argument, &value);
        }
    }
    if (rc != SQLITE_DONE) {
        return rc;
    }
    pt_condition_sort(&list.points);
    pt_condition_restrict(condition, &list.points);
    return SQLITE_OK;
}

int pt_ranges_apply_term(pt_ranges *ranges, int term, sqlite3_value *argument)
{
    pt_key_condition *condition = &ranges->partition;
    if (term >= PT_TERM_EK_EQ) {
        condition = &ranges->entity;
    } else if (term >= PT_TERM_RK_EQ) {
        condition = &ranges->row;
    }
    comparison how = comparison_of(term);
    if (how == AMONG) {
        return apply_in(ranges, condition, argument);
    }
    return condition == &ranges->entity ? apply_to_blob(ranges, how, argument)
                                        : apply_to_text(ranges, condition, how, argument);
}
