/*
 * The short way of an UPDATE or a merge whose values have the types and sizes of the old ones: the
 * record is copied and patched. What it stores is what putting the entity together anew would
 * store.
 */
#ifndef PT_TABLE_ENTITY_PATCH_H
#define PT_TABLE_ENTITY_PATCH_H

#include "table/table.h"

/*
 * Whether the fields of table->columns, by their name ids, can be patched into the open record, and
 * nothing else is to be done: no rule is asked, no large value comes or goes, and the record is
 * not damaged.
 */
bool pt_entity_can_be_patched(const pt_table *table, const pt_record *record);

/* Stores the patched record under its logical key. `record` is the one of table->old_record. On
 * failure nothing has changed. SQLITE_OK or SQLITE_NOMEM. */
int pt_entity_patch(pt_table *table, const pt_record *record, pt_slice key, pt_error *error);

#endif
