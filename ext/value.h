/*
 * Between SQLite's values and typed properties.
 */
#ifndef PT_VALUE_H
#define PT_VALUE_H

#include "arena.h"
#include "edm.h"
#include "error.h"
#include "sqlite.h"

/*
 * Converts an SQL value for a column of type `declared` (PT_NONE: keep the value's own type,
 * integers Int32 if they fit, else Int64). NULL, and an empty text where the type is not String,
 * give PT_NONE: absent. Only conversions that lose nothing are made: text that is exactly a number
 * ("34", " 34" is refused), numbers to String as SQLite writes them, an integral REAL within range
 * to an integer type, integers up to 2^53 to Double, true/false (any case)/0/1 for Boolean,
 * pt_ticks_parse's forms for DateTime, a GUID's text or 16-byte BLOB for Guid, BLOB for Binary,
 * "NaN", "Infinity",
 * "-Infinity" for Double. Otherwise SQLITE_MISMATCH with a text that names column, value
 * (shortened) and type. STRING and BINARY point into `value` and live as long as it is not changed;
 * SQLITE_NOMEM.
 */
int pt_value_from_sql(sqlite3_value *value, pt_type declared, const char *column, pt_value *out,
                      pt_error *error);

/*
 * Hands a property to SQLite in its type's form: STRING TEXT, INT32/INT64/BOOLEAN INTEGER, DOUBLE
 * REAL (NaN as the text 'NaN'), DATETIME and GUID canonical TEXT, BINARY BLOB (zero-length ones
 * too), NONE NULL. With `lasting` the bytes of STRING and BINARY outlive the statement's use of
 * them and are not copied (a STRING has a NUL behind its size).
 */
void pt_value_result(sqlite3_context *context, const pt_value *value, bool lasting);

/* Whether an SQL value is exactly what pt_value_result would give for this property. */
bool pt_value_equals_sql(const pt_value *value, sqlite3_value *sql);

#endif
