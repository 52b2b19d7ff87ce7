/*
 * xBestIndex for tables that plan with query/plan.h: SQLite's constraints go into the planner's
 * query, and what the planner decides goes back into sqlite3_index_info.
 */
#ifndef PT_MODULE_CONSTRAINTS_H
#define PT_MODULE_CONSTRAINTS_H

#include "base/error.h"
#include "base/sqlite.h"
#include "query/plan.h"

/* xFindFunction of a table of entities returns this for pt_starts_with; SQLite then gives
 * xBestIndex a constraint with this operator. */
enum { PT_CONSTRAINT_STARTS_WITH = SQLITE_INDEX_CONSTRAINT_FUNCTION };

/* The planner's name for a column of a table. */
typedef pt_plan_column pt_constraint_column(const void *table, int column);

/* What a kind of table says to the planner. */
typedef struct pt_constraint_reader {
    pt_constraint_column *column;
    pt_plan_constraint (*constraint)(const void *table, sqlite3_index_info *info, int i);
} pt_constraint_reader;

/*
 * Sets the query's constraints and its order. Allocates the uses too, zeroed: SQLite checks every
 * constraint itself. All three arrays are one allocation; free it by calling sqlite3_free on the
 * result. NULL when out of memory.
 */
void *pt_constraints_read(const pt_constraint_reader *reader, const void *table,
                          sqlite3_index_info *info, pt_plan_query *query, pt_plan_use **uses);

/* The planner's operator for a comparison (IS is =), or PT_OP_OTHER if `op` is not one. */
pt_plan_op pt_constraint_comparison(unsigned char op);

/* Sets `binary`, `in` and `number`: how SQLite compares a key column in usable constraint `i`. */
void pt_constraint_describe_key(sqlite3_index_info *info, int i, pt_plan_constraint *constraint);

/* Constraint `i` on a table of entities. A Filter = ... counts as MATCH. */
pt_plan_constraint pt_constraint_of_entity(pt_constraint_column *column, const void *table,
                                           sqlite3_index_info *info, int i);

/* Checks that a plan can have the query's Filter. SQLITE_CONSTRAINT, without a text, if its value
 * is not known yet in this order of a join; SQLITE_ERROR. */
int pt_constraints_check_filter(const pt_plan_query *query, pt_error *error);

/* Sets SQLite's aConstraintUsage from the planner's uses. The first `arguments_before` arguments of
 * xFilter are taken already. */
void pt_constraints_apply(sqlite3_index_info *info, const pt_plan_use *uses, int arguments_before);

/* Returns the plan to SQLite. SQLITE_OK or SQLITE_NOMEM. */
int pt_constraints_return_plan(sqlite3_index_info *info, const pt_plan *plan);

#endif
