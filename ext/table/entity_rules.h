/*
 * What a table's options say against a write: limits='azure' and the rules of batches. As in the
 * service it is asked before the entity is looked for; what changes the store asks itself, too, for
 * an entity may have grown by what it keeps.
 *
 * All functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text. They cost next
 * to nothing for a table without these options, unless the transaction is a batch already.
 */
#ifndef PT_TABLE_ENTITY_RULES_H
#define PT_TABLE_ENTITY_RULES_H

#include "table/table.h"

/* Whether there may be anything to say against a write to the table. */
bool pt_entity_has_rules(const pt_table *table);

/* Whether table->bag may be stored as the entity of a logical key, whatever the store holds. */
int pt_entity_check(pt_table *table, pt_slice key, pt_error *error);

/* Whether the entity of a logical key may be removed. */
int pt_entity_check_removal(pt_table *table, pt_slice key, pt_error *error);

/* After a write that has been made. */
void pt_entity_note_write(const pt_table *table);

#endif
