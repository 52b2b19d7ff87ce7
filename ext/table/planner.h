/*
 * xBestIndex: SQLite's constraints put into the planner's words, and the plan put into SQLite's.
 */
#ifndef PT_TABLE_PLANNER_H
#define PT_TABLE_PLANNER_H

#include "base/sqlite.h"
#include "query/plan.h"

/* What xFindFunction answers for pt_starts_with, and how the constraint then comes to xBestIndex.
 */
enum { PT_CONSTRAINT_STARTS_WITH = SQLITE_INDEX_CONSTRAINT_FUNCTION };

/* The module's xBestIndex. */
int pt_planner_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

/* --- For other tables that plan with query/plan.h --- */

/*
 * Room for a query's constraints, what is done with them (none yet), and its order, as many as
 * SQLite gives; all freed with the constraints by sqlite3_free. NULL when out of memory.
 */
pt_plan_constraint *pt_planner_reserve(const sqlite3_index_info *info, pt_plan_use **uses,
                                       pt_plan_order **order);

/* How SQLite compares the usable constraint `i` of a key: `binary`, `in` and `number`. */
void pt_planner_compare_key(sqlite3_index_info *info, int i, pt_plan_constraint *constraint);

/* One of SQLite's comparisons as such; PT_OP_OTHER for anything else. */
pt_plan_op pt_planner_comparison(unsigned char op);

/* Tells SQLite what is done with its constraints; `arguments` of others come before. */
void pt_planner_apply(sqlite3_index_info *info, const pt_plan_use *uses, int arguments);

#endif
