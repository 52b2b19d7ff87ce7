/*
 * Conditions on declared columns, such as Age > 30. They become part of the plan: xFilter gets the
 * values that columns are compared with, and rows for which a condition is certainly not true are
 * passed over before SQLite sees them. SQLite checks the conditions of all other rows itself, as
 * ever.
 *
 * A Boolean is shown as 0 or 1, so Active = 'true' would find nothing, without a word. A text
 * beside a Boolean column is refused.
 */
#ifndef PT_TABLE_CONDITIONS_H
#define PT_TABLE_CONDITIONS_H

#include "base/arena.h"
#include "query/comparison.h"
#include "table/row.h"
#include "table/table.h"

typedef struct pt_condition pt_condition;

/* All zeros before its first use. */
typedef struct pt_conditions {
    pt_condition *conditions; /* that are judged */
    unsigned count;
    bool never;            /* one of them is never true */
    bool shape_passes;     /* false: no row of the shape passes */
    const pt_shape *shape; /* of the last row, or NULL */
    pt_arena arena;
} pt_conditions;

/*
 * For a plan in info->idxNum and idxStr: asks for the values of conditions on declared columns as
 * arguments of xFilter, after those of the plan. If there are any, sets PT_PLAN_CONDITIONS in
 * idxNum, completes idxStr for people, and appends the terms after its NUL, where nobody sees them.
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_conditions_plan(const pt_table *table, sqlite3_index_info *info);

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
