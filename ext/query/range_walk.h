/*
 * The way through the ranges of a query, from one to the next, in either direction.
 */
#ifndef PT_QUERY_RANGE_WALK_H
#define PT_QUERY_RANGE_WALK_H

#include "query/ranges.h"

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
