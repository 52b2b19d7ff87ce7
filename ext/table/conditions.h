/*
 * Conditions on declared columns of a ptable. They become part of the plan as terms
 * (table/terms.h). Rows for which a condition is certainly not true are passed over before SQLite
 * sees them.
 */
#ifndef PT_TABLE_CONDITIONS_H
#define PT_TABLE_CONDITIONS_H

#include "table/row.h"
#include "table/table.h"
#include "table/terms.h"

/* All zeros before its first use. */
typedef struct pt_conditions {
    pt_terms terms;
    bool shape_passes;     /* false: no row of the shape passes */
    const pt_shape *shape; /* of the last row, or NULL */
} pt_conditions;

/* What a plan with an index says about the conditions. All zeros: it has none. */
typedef struct pt_indexed_conditions {
    uint64_t used;   /* constraints that the index uses: pt_term_rules.indexed */
    int time_column; /* Timestamp, if one of them is on it; else -1 */
    pt_slice use;    /* how xFilter uses the index: bytes that follow the terms in idxStr */
} pt_indexed_conditions;

/*
 * For a plan in info->idxNum and idxStr: asks for the values of conditions on declared columns as
 * arguments of xFilter, after those of the plan. If there are any, sets PT_PLAN_CONDITIONS in
 * idxNum, completes idxStr for people, and appends the terms after its NUL, where nobody sees them.
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_conditions_plan(const pt_table *table, sqlite3_index_info *info,
                       const pt_indexed_conditions *indexed);

/*
 * Takes these arguments of xFilter off *argc. For plans with PT_PLAN_CONDITIONS. Does not change
 * the values. SQLITE_MISMATCH: a text that is not a number is compared with a Boolean column;
 * SQLITE_NOMEM. If the values of an IN cannot be read, the code of SQLite's function.
 */
int pt_conditions_set(pt_conditions *conditions, const pt_table *table, unsigned plan,
                      const char *sentence, int *argc, sqlite3_value **argv, pt_error *error);

void pt_conditions_free(pt_conditions *conditions);

/* *may_pass = false if a condition is certainly not true of the row, which is opened.
 * SQLITE_CORRUPT_VTAB: the row is damaged; SQLITE_NOMEM. */
int pt_conditions_judge(pt_conditions *conditions, pt_table *table, pt_row *row, bool *may_pass,
                        pt_error *error);

#endif
