/*
 * From a plan and its arguments to key ranges, one after the other. Reads no store: if the next
 * range depends on which partitions exist, the caller is asked to look (PT_RANGE_PROBE).
 *
 * All positions are byte strings that are compared with entity keys (PartitionKey, 00, RowKey;
 * entity/key.h).
 */
#ifndef PT_QUERY_RANGES_H
#define PT_QUERY_RANGES_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/sqlite.h"
#include "query/key_condition.h"
#include "query/plan.h"

typedef struct pt_ranges {
    pt_key_condition partition; /* on PartitionKeys */
    pt_key_condition row;       /* on RowKeys */
    pt_key_condition entity;    /* on entity keys */
    bool nothing;               /* no key meets all conditions */
    bool checked;               /* SQLite checks a term on PartitionKey or RowKey again */
    pt_arena arena;
    pt_buffer low_buffer, high_buffer; /* bounds of the last range returned */
} pt_ranges;

/*
 * Sets the conditions from a plan's bits and xFilter's arguments, without the Filter's. The ranges
 * then hold exactly the keys that SQLite would find:
 *
 * NULL matches nothing. TEXT is a bound. If it contains a NUL it is compared as SQLite would
 * compare it; no key contains one. PartitionKey and RowKey are less than every BLOB. EntityKey is
 * greater than every TEXT and number. Only a TEXT can be a row id.
 *
 * With PT_PLAN_PK_PATTERN or PT_PLAN_RK_PATTERN the ranges hold the keys that begin as the pattern,
 * up to its first wildcard.
 *
 * An integer bound to a parameter is compared with PartitionKey and RowKey as its text, and so is a
 * bound REAL that is an integer (pt_value_real_integer), except where SQLite would then compare
 * the key with the text of the REAL. This holds for CAST(? AS ...) too, and where SQLite puts the
 * parameter in place of a column that the statement says is equal to it. Any other number is
 * refused with SQLITE_MISMATCH: it may come from a numeric column or a CAST and be meant by value,
 * which several keys can have ('5', '05') or none; xFilter cannot tell.
 *
 * Arguments are copied. SQLITE_NOMEM. If the values of an IN cannot be read, the code of SQLite's
 * function. Zero `ranges` before its first use; it may then be set again and again.
 */
int pt_ranges_set(pt_ranges *ranges, unsigned plan_bits, int argc, sqlite3_value **argv,
                  pt_error *error);

/*
 * Narrows ranges that have just been set by more conditions. The bytes of their bounds and points
 * are not copied and must last as long as the ranges. False when out of memory.
 */
bool pt_ranges_restrict(pt_ranges *ranges, const pt_key_condition *partition,
                        const pt_key_condition *row, const pt_key_condition *entity);

/* True if nothing in the plan bounds the partitions (pt_plan_is_table_scan), or only a pattern that
 * begins with a wildcard. */
bool pt_ranges_scan_table(const pt_ranges *ranges, unsigned plan_bits);

void pt_ranges_free(pt_ranges *ranges);

/* --- From one range to the next --- */

typedef enum pt_ranges_step {
    PT_RANGE_END,   /* no more ranges in this direction */
    PT_RANGE_FOUND, /* every key from range->low to range->high matches */
    PT_RANGE_PROBE, /* find the first key >= range->low (forward) or the last key < range->high
                       (backward; the last of all if not bounded) and ask again from that key. If
                       there is no such key, there are no more ranges. */
    PT_RANGE_NOMEM,
} pt_ranges_step;

/*
 * Forward: the first range with keys >= `at`, cut off below `at`. After a PROBE ask again with `at`
 * = the key found. The bounds are valid until the next call, as long as `at` is; do not pass them
 * as the next `at`.
 */
pt_ranges_step pt_ranges_next(pt_ranges *ranges, pt_slice at, pt_interval *range);

/*
 * Backward: the last range with keys < `at` (NULL: the last range of all), cut off at `at`. After a
 * PROBE ask again with `at` = the key found and one 00 byte, so that the key itself is included.
 */
pt_ranges_step pt_ranges_previous(pt_ranges *ranges, const pt_slice *at, pt_interval *range);

/* --- Walk: through all ranges in one direction --- */

typedef struct pt_range_walk {
    pt_direction direction;
    bool begun;
    bool at_end;  /* the range that was left last reached to the end of all keys */
    pt_buffer at; /* where the search for the next range begins */
} pt_range_walk;

/* Begins before the first range, or after the last one. */
void pt_range_walk_begin(pt_range_walk *walk, pt_direction direction);
void pt_range_walk_free(pt_range_walk *walk);

/* The next range from where the walk is. It stays there: say where to go on with one of the
 * functions below, which return false when out of memory. */
pt_ranges_step pt_range_walk_next(pt_range_walk *walk, pt_ranges *ranges, pt_interval *range);

/* Goes on after a range. */
bool pt_range_walk_leave(pt_range_walk *walk, const pt_interval *range);

/* Goes on at the entity that a probe has found. */
bool pt_range_walk_follow(pt_range_walk *walk, pt_slice entity_key);

/* Goes on after all entities of a partition. */
bool pt_range_walk_pass(pt_range_walk *walk, pt_slice partition);

#endif
