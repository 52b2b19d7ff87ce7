/*
 * INSERT into a ptable.
 */
#ifndef PT_TABLE_INSERT_H
#define PT_TABLE_INSERT_H

#include "table/entity_writer.h"

/* One row of an INSERT. SQLITE_OK, SQLITE_NOMEM, or the code of an error with text. */
int pt_insert(pt_table *table, const pt_write_arguments *given, pt_error *error);

#endif
