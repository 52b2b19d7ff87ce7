/*
 * SQL functions between the Properties column and the CSV of Azure Storage Explorer, one record an
 * entity, with a pair of fields for each property that any of them has:
 *
 *     PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type
 *     Sales,000223,2026-11-21T08:43:22.5484454Z,34,Edm.Int32,"Jones, Jun",Edm.String
 *     Sales,000312,2026-11-21T08:43:22.5484455Z,,,Kwok,Edm.String
 *
 * Both fields are empty where the entity has no such property. DateTime and Guid are in their
 * canonical form, Binary is base64, a Boolean true or false.
 */
#ifndef PT_FUNCTIONS_CSV_FUNCTIONS_H
#define PT_FUNCTIONS_CSV_FUNCTIONS_H

#include "base/sqlite.h"

/*
 * pt_csv_header(columns): the record of the fields' names. `columns` is a JSON object whose members
 * are named as the properties, in ascending order of their bytes.
 */
void pt_function_csv_header(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_csv_line(columns, PartitionKey, RowKey, Timestamp, Properties): the record of an entity. Fails
 * if it has a property that is not among the columns, or a U+0000, which CSV readers take for the
 * end.
 */
void pt_function_csv_line(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_csv_member(place, name, value, type): a property as what pt_entity_properties reads,
 * `,"Age":"34","Age@odata.type":"Edm.Int32"`, or an empty text if both fields are empty. The type
 * may come without "Edm.". Fails, with `place` before the text, if there is a value without a type.
 */
void pt_function_csv_member(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
