/*
 * SQL functions between the Properties column and entities in the JSON of the Table service, in
 * which an Int64 is a string and the keys are members like others:
 *
 *     {"PartitionKey":"Sales","RowKey":"000223","Timestamp":"2026-11-21T08:43:22.5484454Z",
 *      "Age":34,"Total":"12345678901","Total@odata.type":"Edm.Int64"}
 */
#ifndef PT_FUNCTIONS_JSON_FUNCTIONS_H
#define PT_FUNCTIONS_JSON_FUNCTIONS_H

#include "base/sqlite.h"
#include "entity/bag.h"

/*
 * pt_entity_json(PartitionKey, RowKey, Timestamp, Properties): an entity in that form, its
 * properties in the order of their names. A NULL is left out.
 */
void pt_function_entity_json(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_entity_properties(json, place): the Properties of an entity in that form, without the keys,
 * Timestamp and what begins with "odata.". Errors begin with `place`, which says where the JSON was
 * found.
 */
void pt_function_entity_properties(sqlite3_context *context, int argc, sqlite3_value **argv);

/* Reads Properties, of which NULL and an empty text have none. False: the function has failed. */
bool pt_argument_properties(sqlite3_context *context, sqlite3_value *argument, pt_bag *bag);

#endif
