/*
 * From a plan and its arguments to key ranges. Pure: no store is touched; where the next range
 * depends on which partitions exist, the caller is told to look.
 *
 * All positions are byte strings in the space of entity keys (PartitionKey, 00, RowKey;
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
    pt_key_condition partition; /* over PartitionKeys */
    pt_key_condition row;       /* over RowKeys */
    pt_key_condition entity;    /* over entity keys */
    bool nothing;               /* the conditions contradict each other */
    pt_arena arena;
    pt_buffer low_buffer, high_buffer; /* of the last range given */
} pt_ranges;

/*
 * Takes the plan's bits and xFilter's arguments, that for the Filter left out. The ranges hold
 * exactly the keys that SQLite would find. TEXT makes a bound; NULL matches nothing; BLOB compares
 * as greater than every text (for PartitionKey and RowKey; for EntityKey a TEXT compares less and a
 * number too). Text with an embedded NUL is compared as SQLite compares it; no key contains one.
 *
 * An integer that is bound compares with PartitionKey and RowKey as its text, also through a CAST
 * and in the place of a column that the statement compares with it, for which SQLite may put it.
 * Any other number may come from a column or a CAST and mean its value, which several keys can have
 * ('5', '05'), or be equal to no text; xFilter cannot tell: SQLITE_MISMATCH.
 *
 * All is copied. SQLITE_NOMEM; other codes of sqlite3_vtab_in_first/next with text. `ranges` is
 * zeroed before its first use and may then be set again and again.
 */
int pt_ranges_set(pt_ranges *ranges, unsigned plan_bits, int argc, sqlite3_value **argv,
                  pt_error *error);

/*
 * Asks for more besides: conditions on the partitions, rows and entities of ranges that have just
 * been set. They are copied, but for the bytes of their bounds and points, which must last as long
 * as the ranges. False when out of memory.
 */
bool pt_ranges_restrict(pt_ranges *ranges, const pt_key_condition *partition,
                        const pt_key_condition *row, const pt_key_condition *entity);

void pt_ranges_free(pt_ranges *ranges);

typedef enum pt_ranges_step {
    PT_RANGE_END,   /* nothing more in this direction */
    PT_RANGE_FOUND, /* range->low, range->high: every key in it matches */
    PT_RANGE_PROBE, /* look at the first key >= range->low (forward) or the last key < range->high
                       (backward, if bounded) and ask again from there; end if there is none */
    PT_RANGE_NOMEM,
} pt_ranges_step;

/*
 * Forward: the first range with keys >= `at`, cut off below `at`. After a PROBE ask again with `at`
 * = the key that was found. The slices stay valid until the next call, as long as `at` does, and
 * are not to be its `at`.
 */
pt_ranges_step pt_ranges_next(pt_ranges *ranges, pt_slice at, pt_interval *range);

/*
 * Backward: the last range with keys < `at` (or from the very end if `at` is NULL), cut off at
 * `at`. After a PROBE ask again with `at` = the key that was found followed by one 00 byte, so that
 * the key itself is inside.
 */
pt_ranges_step pt_ranges_previous(pt_ranges *ranges, const pt_slice *at, pt_interval *range);

/*
 * From one term of a plan and its argument to a condition on keys.
 */

/*
 * Adds what a term of the plan asks to the ranges' conditions. SQLITE_NOMEM; SQLITE_MISMATCH: a
 * number that is refused (query/ranges.h); or the code with which the values of an IN could not be
 * read.
 */
int pt_ranges_apply_term(pt_ranges *ranges, int term, sqlite3_value *argument);

/*
 * The way through the ranges of a query, from one to the next, in either direction.
 */

typedef struct pt_range_walk {
    pt_direction direction;
    bool begun;
    bool at_end;  /* nothing lies behind the range that was left last */
    pt_buffer at; /* where to look for the next range */
} pt_range_walk;

/* Begins at the first range, or at the last one. */
void pt_range_walk_begin(pt_range_walk *walk, pt_direction direction);
void pt_range_walk_free(pt_range_walk *walk);

/* The next range, or where a key must be looked for to find it (query/ranges.h). */
pt_ranges_step pt_range_walk_next(pt_range_walk *walk, pt_ranges *ranges, pt_interval *range);

/* --- Where to go on from; false: out of memory --- */

/* Behind a range. */
bool pt_range_walk_leave(pt_range_walk *walk, const pt_interval *range);

/* At the entity that a probe has found. */
bool pt_range_walk_follow(pt_range_walk *walk, pt_slice entity_key);

/* Behind all entities of a partition. */
bool pt_range_walk_pass(pt_range_walk *walk, pt_slice partition);

#endif
