/*
 * xBestIndex of ptable: describes SQLite's constraints to query/plan.h and hands its plan to
 * SQLite.
 */
#ifndef PT_TABLE_PLANNER_H
#define PT_TABLE_PLANNER_H

#include "base/sqlite.h"

/* The module's xBestIndex. */
int pt_planner_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

#endif
