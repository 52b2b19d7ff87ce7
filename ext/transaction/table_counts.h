/*
 * How much a table holds, as a transaction sees it.
 */
#ifndef PT_TRANSACTION_TABLE_COUNTS_H
#define PT_TRANSACTION_TABLE_COUNTS_H

#include "transaction/view.h"

/*
 * The counts of the snapshot and what pending operations add to them: exact, in time that grows
 * with the table's pending operations only. SQLITE_OK, SQLITE_NOMEM, and what the engine answers.
 */
int pt_table_counts_of(pt_view *view, uint32_t table_id, pt_table_counts *counts, pt_error *error);

#endif
