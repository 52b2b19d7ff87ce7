/*
 * Conditions on properties of a table of the service. They become part of the plan as terms
 * (table/terms.h), as on a ptable, and what can be said of them in the service's words is sent with
 * each request for a range (service/filter_parts.h).
 */
#ifndef PT_SERVICE_REMOTE_CONDITIONS_H
#define PT_SERVICE_REMOTE_CONDITIONS_H

#include "query/plan.h"
#include "service/filter_parts.h"
#include "service/remote_table.h"
#include "table/terms.h"

/* All zeros before its first use. */
typedef struct pt_remote_conditions {
    pt_terms terms;
    pt_filter_parts parts;
} pt_remote_conditions;

/* Makes the terms, whose arguments follow those of the plan. Returns PT_PLAN_CONDITIONS for idxNum
 * if there are any, else 0. */
unsigned pt_remote_conditions_plan(const pt_remote_table *table, const pt_plan *plan,
                                   sqlite3_index_info *info, pt_term_list *list);

/* Takes the arguments of the terms off *argc, the last ones, and writes the conditions. `list` has
 * the bytes of the terms. Codes as pt_terms_set. */
int pt_remote_conditions_set(pt_remote_conditions *conditions, const pt_remote_table *table,
                             unsigned plan_bits, const char *list, int *argc, sqlite3_value **argv,
                             pt_error *error);

void pt_remote_conditions_free(pt_remote_conditions *conditions);

#endif
