/*
 * UPDATE of a ptable.
 */
#ifndef PT_TABLE_UPDATE_H
#define PT_TABLE_UPDATE_H

#include "table/arguments.h"

/*
 * One row of an UPDATE, that of the EntityKey. Nothing is written if the entity has gone. All or
 * nothing. SQLITE_OK, SQLITE_NOMEM, or the code of an error with text.
 */
int pt_update(pt_table *table, sqlite3_value *entity_key, const pt_write_arguments *given,
              pt_error *error);

#endif
