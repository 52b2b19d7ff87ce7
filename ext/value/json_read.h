/*
 * Reads a property bag from JSON: everything that value/json_write.h writes, and more.
 */
#ifndef PT_VALUE_JSON_READ_H
#define PT_VALUE_JSON_READ_H

#include "base/error.h"
#include "base/sqlite.h"
#include "entity/bag.h"
#include "entity/edm.h"
#include "value/json_scan.h"

/*
 * Reads an object into `bag`, which is emptied first, in the order of the names. Copies names and
 * strings into its arena; a NUL follows each. On failure the bag is empty.
 *
 * Without annotation, a string is a String, true and false are Boolean, an integer is Int32 if it
 * fits, else Int64 (beyond 64 bits it is refused), a number with fraction or exponent is a Double,
 * and null is an absent property. With annotation:
 *
 *     Edm.String               string
 *     Edm.Int32, Edm.Int64     integer, as number or string
 *     Edm.Double               number, as number or string; "NaN", "Infinity", "-Infinity"
 *     Edm.Boolean              true, false
 *     Edm.DateTime             string that pt_ticks_parse reads
 *     Edm.Guid                 string
 *     Edm.Binary               string in base64
 *
 * An annotation may come before or after its property. An annotation without property, or of a
 * null, must name a type but is otherwise ignored.
 *
 * Returns SQLITE_OK, SQLITE_NOMEM, or SQLITE_MISMATCH with a message that names the property and
 * the first problem: not TEXT, malformed JSON, not an object, a nested object or array, a name
 * twice, an empty name or one that begins with "odata.", PartitionKey, RowKey or Timestamp as
 * property, half of a surrogate pair, an unknown annotation, a value that does not fit its
 * annotation.
 *
 * This does not call SQLite's json_valid: it would need a prepared statement, and an application
 * that finalizes all statements before it closes the connection would find and finalize that one
 * too.
 */
int pt_json_parse(sqlite3_value *json, pt_bag *bag, pt_error *error);

/*
 * Reads a whole entity in the same way. PartitionKey and RowKey must be there, as strings that can
 * be keys, and Timestamp may be there; the bag gets the other members. Members whose names begin
 * with "odata.", which the service sends, are ignored. Error messages begin with `subject` instead
 * of "Properties".
 */
int pt_json_parse_entity(sqlite3_value *json, const char *subject, pt_bag *bag, pt_error *error);

/* --- The value of a single member --- */

/* The type of a value without annotation, which is neither null nor nested. */
pt_type pt_json_own_type(const pt_json_token *token);

/*
 * Converts a token to a value of a type, as described above. The bytes of the value point into the
 * token; those of a BINARY overwrite its text. Returns false if the token is not a value of the
 * type.
 */
bool pt_json_to_value(const pt_json_token *token, pt_type type, pt_value *value);

#endif
