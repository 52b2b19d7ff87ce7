/*
 * SQL values to keys and properties, for tables of stores and of the service alike. Nothing is
 * stored here. Texts and blobs of columns are not copied: they point into the SQL values.
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text.
 */
#ifndef PT_TABLE_CONVERSION_H
#define PT_TABLE_CONVERSION_H

#include "entity/bag.h"
#include "entity/column.h"
#include "value/value.h"

/*
 * The text of a key: of a TEXT, an INTEGER, or a bound REAL that is an integer. The last one is
 * written to `digits`. SQLITE_CONSTRAINT_NOTNULL for NULL, SQLITE_MISMATCH if it cannot be a key.
 */
int pt_key_from_sql(sqlite3_value *value, const char *column, char digits[PT_BOUND_INTEGER_SIZE],
                    pt_slice *text, pt_error *error);

/* The value of a declared column as a property; PT_NONE for NULL. SQLITE_MISMATCH. */
int pt_field_from_sql(const pt_column *column, sqlite3_value *sql, pt_field *field,
                      pt_error *error);

/* Replaces the bag with the properties in the value of column Properties. */
int pt_bag_from_properties(pt_bag *bag, sqlite3_value *json, pt_error *error);

/* Lays the values of declared columns that are not NULL over the bag. */
int pt_bag_set_columns(pt_bag *bag, const pt_column *columns, int count, sqlite3_value **declared,
                       pt_error *error);

#endif
