/*
 * From comparisons of a property (query/comparison.h) to ranges of parts of an index's entries
 * (entity/index.h). The ranges hold every value for which all comparisons may be true, and
 * others: the rows are judged again.
 */
#ifndef PT_QUERY_VALUE_RANGES_H
#define PT_QUERY_VALUE_RANGES_H

#include "base/arena.h"
#include "query/comparison.h"

/* Holds the parts with low <= part < high. What follows a part in a key does not change that. */
typedef struct pt_value_range {
    pt_slice low;
    pt_slice high;
    bool point; /* it holds one part, which is `low` */
} pt_value_range;

/* In ascending order, without overlaps. */
typedef struct pt_value_ranges {
    pt_value_range *ranges;
    unsigned count;
    unsigned capacity;
} pt_value_ranges;

/*
 * Sets the ranges for at least one comparison of the same property. Bit n of `has` is set if the
 * index may have values of the pt_type n. The ranges are in the arena. `scratch` is
 * overwritten. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_value_ranges_set(pt_value_ranges *ranges, const pt_comparison *const *comparisons,
                        unsigned count, unsigned has, pt_arena *arena, pt_buffer *scratch);

/* Keeps what is in both. SQLITE_OK or SQLITE_NOMEM. */
int pt_value_ranges_intersect(pt_value_ranges *ranges, const pt_value_ranges *with,
                              pt_arena *arena);

#endif
