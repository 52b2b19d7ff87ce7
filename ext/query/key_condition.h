/*
 * Intervals of byte strings, and conditions on one key column: an interval, or a list of points, or
 * both. Patterns of GLOB.
 *
 * All intervals are half-open. A bound that includes or excludes its own value becomes half-open by
 * one appended byte: see the enum below.
 */
#ifndef PT_QUERY_KEY_CONDITION_H
#define PT_QUERY_KEY_CONDITION_H

#include "base/arena.h"
#include "base/bytes.h"
#include "store/engine.h"

/*
 * The byte that, appended to a string, makes the first string after it. Among texts without NUL,
 * such as keys, it is 01. Among all byte strings it is 00. FF, which is in no UTF-8 text, makes a
 * string greater than all texts with that prefix.
 */
enum { PT_AFTER_BYTES = 0x00, PT_AFTER_TEXT = 0x01, PT_AFTER_PREFIX = 0xFF };

typedef struct pt_interval {
    pt_slice low;  /* the first string inside */
    pt_slice high; /* the first string after the interval; ignored if not bounded */
    bool bounded;  /* there is an upper end */
} pt_interval;

typedef struct pt_key_condition {
    pt_interval interval;
    pt_slice *points; /* ascending, distinct, each with a NUL after its size */
    unsigned point_count;
    bool listed; /* only the points meet the condition */
} pt_key_condition;

bool pt_interval_is_empty(const pt_interval *interval);
bool pt_interval_contains(const pt_interval *interval, pt_slice point);

/* These narrow an interval. A bound outside the interval changes nothing. */
void pt_interval_raise_low(pt_interval *interval, pt_slice low);
void pt_interval_lower_high(pt_interval *interval, pt_slice high);
void pt_interval_intersect(pt_interval *interval, const pt_interval *other);

/* How many points are less than `bound`. */
unsigned pt_condition_points_before(const pt_key_condition *condition, pt_slice bound);

/* The first (forward) or last (backward) point inside `within`, as an interval that contains
 * nothing else. False if there is no such point. */
bool pt_condition_outermost(const pt_key_condition *condition, const pt_interval *within,
                            pt_direction direction, pt_interval *point);

bool pt_condition_holds(const pt_key_condition *condition, pt_slice key);

/* True if every key meets the condition; true if no key does. */
bool pt_condition_is_always(const pt_key_condition *condition);
bool pt_condition_is_never(const pt_key_condition *condition);

/* --- Lists of points --- */

/*
 * Appends a point, which is not copied, to an array in the arena. `capacity` begins at 0 and
 * belongs to the condition while it is built. Sort afterwards. False when out of memory.
 */
bool pt_condition_add_point(pt_key_condition *condition, unsigned *capacity, pt_slice point,
                            pt_arena *arena);

/* Sorts the points and removes duplicates. */
void pt_condition_sort(pt_key_condition *condition);

/* Narrows the condition to these points (ascending, distinct). It may keep their array. */
void pt_condition_restrict(pt_key_condition *condition, const pt_key_condition *points);

/* Removes the points outside the condition's own interval. */
void pt_condition_drop_outside(pt_key_condition *condition);

/* Removes the entity keys whose PartitionKey or RowKey does not meet its condition. */
void pt_condition_drop_entities(pt_key_condition *entities, const pt_key_condition *partition,
                                const pt_key_condition *row);

/* --- Patterns --- */

/*
 * The literal beginning of a pattern of GLOB, with which all keys begin that match. A NUL ends the
 * pattern. GLOB reads bytes that are not UTF-8, and the code points from U+FFFD to U+FFFF, in its
 * own way: if there are any, only the ASCII before them counts.
 */
pt_slice pt_glob_beginning(pt_slice pattern);

#endif
