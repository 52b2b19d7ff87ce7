/*
 * xBestIndex of pt_service. The plan is that of a ptable (query/plan.h) with two differences: the
 * service cannot read in descending order, and a table scan costs more than anything else.
 *
 * idxNum has the plan's bits and those below. After the NUL of idxStr come the names of the
 * properties to ask for, with commas between them, where an empty list means all; and after its NUL
 * the terms of conditions (table/terms.h).
 */
#ifndef PT_SERVICE_REMOTE_PLANNER_H
#define PT_SERVICE_REMOTE_PLANNER_H

#include "base/sqlite.h"
#include "query/plan.h"

/* The arguments of LIMIT and of OFFSET follow those of plan and conditions. They only tell how many
 * entities to ask for at first. */
#define PT_REMOTE_LIMIT (1u << 29)
#define PT_REMOTE_OFFSET (1u << 30)

/* SQLite relies on the order of keys. */
#define PT_REMOTE_ORDERED (1u << 23)

int pt_remote_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

#endif
