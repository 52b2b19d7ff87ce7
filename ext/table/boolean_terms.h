/*
 * Conditions on Boolean columns. A Boolean is shown as 0 or 1, so Active = 'true' would find
 * nothing, without a word. xFilter gets the values that Boolean columns are compared with and
 * refuses texts. SQLite itself decides the conditions, as ever.
 */
#ifndef PT_TABLE_BOOLEAN_TERMS_H
#define PT_TABLE_BOOLEAN_TERMS_H

#include "table/table.h"

/*
 * Asks for the values of comparisons (with IS, IS NOT and IN) on Boolean columns as arguments of
 * xFilter, after those of the plan in idxNum. If there are any, sets PT_PLAN_BOOLEANS in idxNum and
 * appends the terms to idxStr after its NUL, where nobody sees them. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_boolean_terms_plan(const pt_table *table, sqlite3_index_info *info);

/*
 * Checks these arguments of xFilter and takes them off *argc. For plans with PT_PLAN_BOOLEANS.
 * SQLITE_MISMATCH if one is a text that is not a number; SQLITE_NOMEM.
 */
int pt_boolean_terms_check(const pt_table *table, unsigned plan, const char *sentence, int *argc,
                           sqlite3_value **argv, pt_error *error);

#endif
