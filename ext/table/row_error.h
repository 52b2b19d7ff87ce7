/*
 * Errors of xUpdate, which name the row.
 */
#ifndef PT_TABLE_ROW_ERROR_H
#define PT_TABLE_ROW_ERROR_H

#include "table/table.h"

/*
 * pt_table_fail for xUpdate, except where OR IGNORE will skip the row: then it sets no text
 * (pt_module_fail_write). In front of a message about the row it puts the row's number, unless it
 * is the statement's first row, and `row`, which names the row, or is empty. In a batch
 * (transaction/batch_rules.h) the number is that of the operation.
 */
int pt_table_fail_row(pt_table *table, const char *row, pt_error *error);

#endif
