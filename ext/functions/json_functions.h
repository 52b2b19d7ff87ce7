/*
 * SQL functions that convert between the Properties column and the Table service's JSON of an
 * entity. In the latter an Int64 is a string, and the keys are members like the properties:
 *
 *     {"PartitionKey":"Sales","RowKey":"000223","Timestamp":"2026-11-21T08:43:22.5484454Z",
 *      "Age":34,"Total":"12345678901","Total@odata.type":"Edm.Int64"}
 */
#ifndef PT_FUNCTIONS_JSON_FUNCTIONS_H
#define PT_FUNCTIONS_JSON_FUNCTIONS_H

#include "base/sqlite.h"
#include "entity/bag.h"

/*
 * pt_entity_json(PartitionKey, RowKey, Timestamp, Properties): the entity's JSON, its properties
 * ordered by name. A NULL argument is left out.
 */
void pt_function_entity_json(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_entity_properties(json, place): the Properties from an entity's JSON, without the keys,
 * Timestamp and members whose names begin with "odata.". `place` says where the JSON was found, and
 * errors begin with it.
 */
void pt_function_entity_properties(sqlite3_context *context, int argc, sqlite3_value **argv);

/* Reads an argument that is a value of Properties. NULL and an empty text have no property. False
 * if the function has failed. */
bool pt_argument_properties(sqlite3_context *context, sqlite3_value *argument, pt_bag *bag);

#endif
