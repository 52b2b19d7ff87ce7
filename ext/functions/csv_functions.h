/*
 * SQL functions that convert between the Properties column and the CSV of Azure Storage Explorer.
 * Each entity is one record, with two fields for each property that any entity has:
 *
 *     PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type
 *     Sales,000223,2026-11-21T08:43:22.5484454Z,34,Edm.Int32,"Jones, Jun",Edm.String
 *     Sales,000312,2026-11-21T08:43:22.5484455Z,,,Kwok,Edm.String
 *
 * Both fields are empty if the entity lacks the property. DateTime and Guid have their canonical
 * form, Binary is base64, a Boolean is true or false. The name of a property may end in @type, so a
 * reader must take the columns in order.
 */
#ifndef PT_FUNCTIONS_CSV_FUNCTIONS_H
#define PT_FUNCTIONS_CSV_FUNCTIONS_H

#include "base/sqlite.h"

/*
 * pt_csv_header(columns): the header record. `columns` is a JSON object with a member for each
 * property, ordered by the bytes of their names.
 */
void pt_function_csv_header(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_csv_line(columns, PartitionKey, RowKey, Timestamp, Properties): the record of an entity. Fails
 * if a property is not among the columns, or if a value contains U+0000, where CSV readers would
 * stop.
 */
void pt_function_csv_line(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_csv_member(place, name, value, type): a property as JSON for pt_entity_properties,
 * `,"Age":"34","Age@odata.type":"Edm.Int32"`, or an empty text if both fields are empty. The type
 * may lack "Edm.". Fails if a value has no type or an unknown one; the error then names `place`.
 */
void pt_function_csv_member(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
