/*
 * match(text, Filter): what SQLite calls for Filter MATCH where that did not become part of the
 * plan, as beside OR and under NOT.
 */
#ifndef PT_TABLE_MATCH_FUNCTION_H
#define PT_TABLE_MATCH_FUNCTION_H

#include "base/sqlite.h"

/* What the column Filter shows then: a pointer of this type to the pt_row (table/columns.h), an SQL
 * NULL to everybody else. */
#define PT_ROW_POINTER "ptable row"

/*
 * For xFindFunction, with the pt_table as user data: 1 if the row passes the filter, else 0. Where
 * the plan has a Filter, the column shows its text and only that matches. NULL for the row without
 * values that an outer join adds.
 */
void pt_function_match(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
