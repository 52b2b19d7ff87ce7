/*
 * From one term of a plan and its argument to a condition on keys.
 */
#ifndef PT_RANGE_TERMS_H
#define PT_RANGE_TERMS_H

#include "ranges.h"

/*
 * Adds what the term asks to the ranges' conditions. SQLITE_OK, SQLITE_NOMEM, or the code with
 * which the values of an IN could not be read.
 */
int pt_ranges_apply_term(pt_ranges *ranges, int term, sqlite3_value *argument);

/* Whether a PartitionKey passes `numeric_partition`. */
bool pt_ranges_partition_fits(const pt_ranges *ranges, pt_slice partition_key);

#endif
