/*
 * xBestIndex of table-valued functions: their arguments, and conditions on their key column.
 *
 * idxNum is a plan of query/plan.h and, above its bits, the number of arguments. xFilter gets the
 * arguments first, then what the plan asks for.
 */
#ifndef PT_MODULE_TVF_PLAN_H
#define PT_MODULE_TVF_PLAN_H

#include "module/tvf.h"

enum { PT_TVF_PLAN_BITS = 28 };

static inline int pt_tvf_argument_count(int index_number)
{
    return index_number >> PT_TVF_PLAN_BITS;
}

static inline unsigned pt_tvf_plan_bits(int index_number)
{
    return (unsigned)index_number & ((1u << PT_TVF_PLAN_BITS) - 1);
}

/* SQLITE_OK, SQLITE_CONSTRAINT (an argument is not known in this order of a join), SQLITE_NOMEM. */
int pt_tvf_plan(const pt_tvf *tvf, bool other_text_order, sqlite3_index_info *info);

#endif
