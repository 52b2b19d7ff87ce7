/*
 * Reads a property bag from the JSON that value/json_write.h describes, and from more than is
 * written.
 */
#ifndef PT_VALUE_JSON_READ_H
#define PT_VALUE_JSON_READ_H

#include "base/error.h"
#include "base/sqlite.h"
#include "entity/bag.h"
#include "entity/edm.h"
#include "value/json_scan.h"

/*
 * Reads an object into `bag` (emptied first), in the order of the names. Names and strings are
 * copied into its arena, with a NUL behind them. On failure the bag is empty.
 *
 * Without annotation: string String, true/false Boolean, integer Int32 if it fits, else Int64
 * (beyond 64 bits refused), number with fraction or exponent Double, null absent. With annotation:
 *
 *     Edm.String               string
 *     Edm.Int32, Edm.Int64     integer, as number or string
 *     Edm.Double               number, as number or string; "NaN", "Infinity", "-Infinity"
 *     Edm.Boolean              true, false
 *     Edm.DateTime             string in one of pt_ticks_parse's forms
 *     Edm.Guid                 string
 *     Edm.Binary               string in base64
 *
 * Annotations may stand before or after their property; one without its property, or of a null, is
 * ignored if it names a type. Names that begin with "odata." are ignored.
 *
 * SQLITE_MISMATCH with a text that names the property and the reason: not TEXT, malformed JSON, not
 * an object, nested objects or arrays, names twice, empty names, PartitionKey/RowKey/Timestamp as
 * property, half a surrogate pair, unknown annotation, value that does not fit its annotation.
 * What is wrong first is named. SQLITE_NOMEM.
 *
 * SQLite's json_valid is not asked: a statement that was kept prepared for it would be found, and
 * perhaps finalized, by an application that finalizes all statements before it closes.
 */
int pt_json_parse(sqlite3_value *json, pt_bag *bag, pt_error *error);

/*
 * The same for a whole entity in JSON: PartitionKey and RowKey must be there, as strings that can
 * be keys, a Timestamp may be there, and the bag gets the other members. Texts of errors begin with
 * `subject` instead of "Properties".
 */
int pt_json_parse_entity(sqlite3_value *json, const char *subject, pt_bag *bag, pt_error *error);

/*
 * From the value of a JSON member to a typed value.
 */

/* The type of a value without annotation; neither null nor nested. */
pt_type pt_json_own_type(const pt_json_token *token);

/*
 * Converts to a type as value/json_read.h says. Bytes point into the token, and those of a BINARY
 * take the place of its text. False if the token is no value of that type.
 */
bool pt_json_to_value(const pt_json_token *token, pt_type type, pt_value *value);

/* What would have been one: "an Int32; write an integer from ...". */
const char *pt_json_expectation(pt_type type);

#endif
