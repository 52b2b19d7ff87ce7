/*
 * Makes the entries of a new index.
 */
#ifndef PT_TRANSACTION_INDEX_BUILDER_H
#define PT_TRANSACTION_INDEX_BUILDER_H

#include "transaction/index_writer.h"

/*
 * Puts the entries of one index, just added to the catalogue, for all entities of the table. The
 * list is loaded after that. SQLITE_CONSTRAINT_UNIQUE: two entities have the same values.
 */
int pt_index_build(pt_index_writer *writer, const pt_index *index, uint32_t table_id,
                   pt_error *error);

#endif
