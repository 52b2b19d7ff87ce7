/*
 * INSERT into a ptable: inserts, replaces, merges or deletes one entity.
 */
#ifndef PT_TABLE_INSERT_H
#define PT_TABLE_INSERT_H

#include "table/arguments.h"

/*
 * One row of an INSERT. All or nothing. SQLITE_CONSTRAINT_PRIMARYKEY (EntityAlreadyExists),
 * SQLITE_CONSTRAINT_CHECK (ResourceNotFound), SQLITE_CONSTRAINT_VTAB (UpdateConditionNotSatisfied),
 * SQLITE_NOMEM, or the code of another error with text.
 */
int pt_insert(pt_table *table, const pt_write_arguments *given, pt_error *error);

#endif
