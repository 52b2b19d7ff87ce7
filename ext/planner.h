/*
 * xBestIndex: SQLite's constraints put into the planner's words, and the plan put into SQLite's.
 */
#ifndef PT_PLANNER_H
#define PT_PLANNER_H

#include "sqlite.h"

/* What xFindFunction answers for pt_starts_with, and how the constraint then comes to xBestIndex.
 */
enum { PT_CONSTRAINT_STARTS_WITH = SQLITE_INDEX_CONSTRAINT_FUNCTION };

/* The module's xBestIndex. */
int pt_planner_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

#endif
