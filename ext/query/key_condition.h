/*
 * Intervals of byte strings, and what a query asks of one key column.
 */
#ifndef PT_QUERY_KEY_CONDITION_H
#define PT_QUERY_KEY_CONDITION_H

#include "base/bytes.h"
#include "store/engine.h"

/* A half-open interval of byte strings. */
typedef struct pt_interval {
    pt_slice low;  /* first string inside */
    pt_slice high; /* first string behind; ignored if unbounded */
    bool bounded;  /* there is a high end */
} pt_interval;

/* What is asked of one column: an interval, and, if `listed`, only these points of it (ascending,
 * distinct, each with a NUL behind its size). */
typedef struct pt_key_condition {
    pt_interval interval;
    pt_slice *points;
    unsigned point_count;
    bool listed;
} pt_key_condition;

bool pt_interval_is_empty(const pt_interval *interval);
bool pt_interval_contains(const pt_interval *interval, pt_slice point);

/* Narrow an interval; bounds outside it change nothing. */
void pt_interval_raise_low(pt_interval *interval, pt_slice low);
void pt_interval_lower_high(pt_interval *interval, pt_slice high);
void pt_interval_intersect(pt_interval *interval, const pt_interval *other);

/* How many of the points lie before `bound`. */
unsigned pt_condition_points_before(const pt_key_condition *condition, pt_slice bound);

/* The first (forward) or last listed point inside `within`, as an interval of its own. */
bool pt_condition_outermost(const pt_key_condition *condition, const pt_interval *within,
                            pt_direction direction, pt_interval *point);

bool pt_condition_holds(const pt_key_condition *condition, pt_slice key);

/* Whether it excludes no key, or every key. */
bool pt_condition_is_always(const pt_key_condition *condition);
bool pt_condition_is_never(const pt_key_condition *condition);

/* Sorts the points and removes double ones. */
void pt_condition_sort(pt_key_condition *condition);

/* Asks for one of these points (ascending, distinct) besides what is asked already; their array
 * may become the condition's. */
void pt_condition_restrict(pt_key_condition *condition, const pt_key_condition *points);

#endif
