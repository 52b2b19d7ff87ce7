/*
 * What INSERT, UPDATE and DELETE share: keys from SQL values, the bag of an entity's properties,
 * and storing it.
 *
 * All functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text.
 */
#ifndef PT_TABLE_ENTITY_WRITER_H
#define PT_TABLE_ENTITY_WRITER_H

#include "table/table.h"

/* The arguments of one call of xUpdate by column. */
typedef struct pt_write_arguments {
    sqlite3_value **keys;     /* PartitionKey, RowKey */
    sqlite3_value **declared; /* the declared columns */
    sqlite3_value **tail;     /* Properties and so on: PT_TAIL_... */
} pt_write_arguments;

/* Whether the statement is one with OR REPLACE. */
bool pt_write_replaces(const pt_table *table);

/* The text of a key. SQLITE_CONSTRAINT_NOTNULL for NULL, SQLITE_MISMATCH for what is no key. */
int pt_entity_key_text(sqlite3_value *value, const char *column, pt_slice *text, pt_error *error);

/* Makes the logical key in table->key. SQLITE_TOOBIG. */
int pt_entity_make_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error);

/* The same for an entity that is to go: with too long a key it is just not there. */
int pt_entity_make_key_of_any_length(pt_table *table, pt_slice partition, pt_slice row,
                                     pt_error *error);

/* Makes the logical key for an EntityKey in table->old_key. */
int pt_entity_make_old_key(pt_table *table, sqlite3_value *entity_key, pt_error *error);

/* Copies the entity under a logical key, for the new record may be written over its bytes, and
 * opens it. `record` is only set if *found. */
int pt_entity_open_old(pt_table *table, pt_slice key, bool *found, pt_record *record,
                       pt_error *error);

/* --- table->bag, the entity that is put together --- */

pt_slice pt_entity_column_name(const pt_table *table, int column);

/* Where the columns are in the shape of the last entity that was put: most have the same. NULL if
 * there is none, or out of memory. */
const pt_column_places *pt_entity_last_places(pt_table *table);

/* A value for a declared column as a property. SQLITE_MISMATCH. */
int pt_entity_convert(pt_table *table, int column, sqlite3_value *sql, pt_field *field,
                      pt_error *error);

/* Fills the bag from a value for Properties. */
int pt_entity_parse_properties(pt_table *table, sqlite3_value *json, pt_error *error);

/* Fills the bag with an entity's properties as they are. */
int pt_entity_keep_properties(pt_table *table, const pt_record *record, pt_slice key,
                              pt_error *error);

/* Lays the fields of table->columns over the bag; PT_NONE removes. */
int pt_entity_set_columns(pt_table *table, pt_error *error);

/* SQLITE_CONSTRAINT_PRIMARYKEY if there is an entity under the key; its text says to use the
 * remedy. */
int pt_entity_check_absent(pt_table *table, pt_slice key, const char *remedy, pt_error *error);

/*
 * --- Changing the store: all or nothing ---
 *
 * Fields that are too long for a record are stored as large values, and fields of the large types,
 * as pt_entity_keep_properties gives them, go on pointing to theirs. Large values of the entities
 * that go are removed.
 */

/* Stores the bag as the entity of a logical key, if table/entity_rules.h allows it; PT_INSERT: none
 * is there. */
int pt_entity_put(pt_table *table, pt_slice key, pt_operation operation, pt_error *error);

/* The same, and removes the entity of another key. */
int pt_entity_move(pt_table *table, pt_slice old_key, pt_slice new_key, pt_operation operation,
                   pt_error *error);

/* Removes the entity of a logical key, whether it can be read or not. */
int pt_entity_remove(pt_table *table, pt_slice key, pt_error *error);

/*
 * The short way of an UPDATE or a merge whose values have the types and sizes of the old ones: the
 * record is copied and patched. What it stores is what putting the entity together anew would
 * store.
 */

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
