/*
 * Checking large values. Records point to them, and their parts are stored elsewhere. The engine
 * gives all entities before all parts. So the check collects the values it meets, sorts them in the
 * order of their parts, and then goes through values and parts together.
 */
#ifndef PT_CATALOG_CHECK_VALUES_H
#define PT_CATALOG_CHECK_VALUES_H

#include "base/arena.h"
#include "transaction/large_value.h"

typedef struct pt_met_value {
    uint32_t table_id;
    pt_large large;
    pt_slice key; /* logical, of the entity */
} pt_met_value;

/* Empty if zeroed. */
typedef struct pt_met_values {
    pt_met_value *values;
    size_t count;
    size_t capacity;
    pt_arena keys;
    bool sorted;
    size_t next;     /* index of the value whose parts come next */
    uint32_t number; /* of its next part */
} pt_met_values;

typedef enum pt_part_state {
    PT_PART_SOUND,
    PT_PART_DAMAGED,
    PT_PART_ORPHAN, /* no record points to it */
} pt_part_state;

/* False when out of memory. */
bool pt_check_add_value(pt_met_values *values, uint32_t table_id, const pt_large *large,
                        pt_slice key);

/*
 * The next value that lacks parts with keys below a part (NULL: that lacks any part), or NULL. Call
 * it until it returns NULL, and then pt_check_match_part with that part.
 */
const pt_met_value *pt_check_next_incomplete(pt_met_values *values, const pt_chunk_key *before);

/* Judges the next part in key order; *value is the value it belongs to, unless it is an orphan. */
pt_part_state pt_check_match_part(pt_met_values *values, const pt_chunk_key *chunk, pt_slice key,
                                  pt_slice record, const pt_met_value **value);

void pt_check_free_values(pt_met_values *values);

#endif
