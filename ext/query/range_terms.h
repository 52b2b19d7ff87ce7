/*
 * From one term of a plan and its argument to a condition on keys.
 */
#ifndef PT_QUERY_RANGE_TERMS_H
#define PT_QUERY_RANGE_TERMS_H

#include "query/ranges.h"

/*
 * Adds what a term of the plan asks to the ranges' conditions. SQLITE_NOMEM; SQLITE_MISMATCH: a
 * number that is refused (query/ranges.h); or the code with which the values of an IN could not be
 * read.
 */
int pt_ranges_apply_term(pt_ranges *ranges, int term, sqlite3_value *argument);

#endif
