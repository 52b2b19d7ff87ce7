/*
 * The large values that a check has come upon in records, against the parts that are stored.
 */
#ifndef PT_CATALOG_CHECK_LARGE_H
#define PT_CATALOG_CHECK_LARGE_H

#include "base/arena.h"
#include "transaction/large_value.h"

typedef struct pt_check_value {
    uint32_t table_id;
    pt_large large;
    pt_slice key; /* logical, of the entity */
} pt_check_value;

/* All zeros: none. */
typedef struct pt_check_values {
    pt_check_value *values;
    size_t count;
    size_t capacity;
    pt_arena keys;
    bool sorted;
    size_t next;     /* value whose parts come next */
    uint32_t number; /* of the next part */
} pt_check_values;

/* False when out of memory. */
bool pt_check_values_add(pt_check_values *values, uint32_t table_id, const pt_large *large,
                         pt_slice key);

typedef enum pt_check_part {
    PT_CHECK_PART_SOUND,
    PT_CHECK_PART_DAMAGED, /* *value: whose part it is */
    PT_CHECK_PART_ORPHAN,  /* no record says that it is there */
} pt_check_part;

/*
 * Takes the next part in the order of their keys. First asked for what lacks parts before this one
 * until there is none.
 */
pt_check_part pt_check_values_take(pt_check_values *values, const pt_chunk_key *chunk, pt_slice key,
                                   pt_slice record, const pt_check_value **value);

/* The next large value that lacks parts, of those before a part (NULL: of all); NULL: there is
 * none. */
const pt_check_value *pt_check_values_lacking(pt_check_values *values, const pt_chunk_key *before);

void pt_check_values_free(pt_check_values *values);

#endif
