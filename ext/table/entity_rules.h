/*
 * The rules that a table's options put on writes: limits='azure' on entities, batch='azure' on
 * transactions.
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text. They cost almost
 * nothing for a table without these options, unless the transaction is a batch already.
 */
#ifndef PT_TABLE_ENTITY_RULES_H
#define PT_TABLE_ENTITY_RULES_H

#include "table/table.h"

/* Fails if table->bag must not be stored under a logical key, whatever the store has there. */
int pt_entity_check_rules(pt_table *table, pt_slice key, pt_error *error);

/* Fails if the entity of a logical key must not be removed. */
int pt_entity_check_removal(pt_table *table, pt_slice key, pt_error *error);

#endif
