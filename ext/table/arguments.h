/*
 * The SQL values of one xUpdate call: split into keys, declared columns and the other columns, and
 * converted to keys and properties. Nothing is stored here. Texts and blobs of columns are not
 * copied: they point into the SQL values.
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text.
 */
#ifndef PT_TABLE_ARGUMENTS_H
#define PT_TABLE_ARGUMENTS_H

#include "table/table.h"
#include "value/value.h"

/* --- Conversions that need no table: those of the service use them, too --- */

/* The text of a key that is a TEXT or an INTEGER. SQLITE_CONSTRAINT_NOTNULL for NULL,
 * SQLITE_MISMATCH if it cannot be a key. */
int pt_key_from_sql(sqlite3_value *value, const char *column, pt_slice *text, pt_error *error);

/* The value of a declared column as a property; PT_NONE for NULL. SQLITE_MISMATCH. */
int pt_field_from_sql(const pt_column *column, sqlite3_value *sql, pt_field *field,
                      pt_error *error);

/* Replaces the bag with the properties in the value of column Properties. */
int pt_bag_from_properties(pt_bag *bag, sqlite3_value *json, pt_error *error);

/* Lays the values of declared columns that are not NULL over the bag. */
int pt_bag_set_columns(pt_bag *bag, const pt_column *columns, int count, sqlite3_value **declared,
                       pt_error *error);

typedef struct pt_write_arguments {
    sqlite3_value **keys;     /* PartitionKey, RowKey */
    sqlite3_value **declared; /* the declared columns */
    sqlite3_value **tail;     /* by PT_TAIL_..., then the row ids */
    bool all_given;           /* an UPDATE that does not say which columns SET names */
} pt_write_arguments;

/* True if the statement that is writing has OR REPLACE. */
static inline bool pt_is_or_replace(const pt_table *table)
{
    return sqlite3_vtab_on_conflict(table->db) == SQLITE_REPLACE;
}

/* --- Keys --- */

/* Makes the logical key in table->key. SQLITE_TOOBIG, or a limit of limits='azure'. */
int pt_make_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error);

/* Makes the logical key of an entity to be deleted. If it is too long to be stored, there is just
 * no such entity. */
int pt_make_key_of_any_length(pt_table *table, pt_slice partition, pt_slice row, pt_error *error);

/* Makes the logical key for an EntityKey in table->old_key. */
int pt_make_old_key(pt_table *table, sqlite3_value *entity_key, pt_error *error);

/* --- Properties --- */

/*
 * Replaces table->bag with the properties of a new entity: those of Properties, and over them the
 * columns that are not NULL. `places`, or NULL, is where the last entity stored had its columns;
 * most entities have the same shape, and then the bag comes out in its order.
 */
int pt_bag_from_insert(pt_table *table, const pt_write_arguments *given,
                       const pt_column_places *places, pt_error *error);

/*
 * --- Rows like the last one ---
 *
 * Most rows of an INSERT give the same columns in the same types as the row before, so the entity
 * has the same shape. table->alike keeps such an entity from row to row, and only its values are
 * filled in.
 */

/* Makes a template for entities of a shape all of whose properties are declared columns. When out
 * of memory there is none afterwards. */
void pt_template_make(pt_table *table, const pt_column_places *places);

/*
 * Fills the template from the declared columns. *alike = false if they make an entity of another
 * shape: then call pt_bag_from_insert. Otherwise the template is the entity that it would make, and
 * *data_size is the bytes of data that the record has. SQLITE_MISMATCH with the text that it would
 * set; SQLITE_NOMEM.
 */
int pt_template_fill(pt_table *table, const pt_write_arguments *given, bool *alike,
                     uint64_t *data_size, pt_error *error);

#endif
