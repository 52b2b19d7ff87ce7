/*
 * Between SQLite's values and typed properties.
 */
#ifndef PT_VALUE_VALUE_H
#define PT_VALUE_VALUE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/sqlite.h"
#include "entity/edm.h"

/* What an integer without a declared type becomes: Int32 if it fits, else Int64. */
pt_type pt_value_integer_type(int64_t integer);

/*
 * The text of a value in UTF-8, without a NUL behind it, for an argument of xUpdate. Asking SQLite
 * for a terminated text makes it copy one that is bound or read from a table. What is done instead
 * leaves a mark on the value that comparisons trip over, so it must not be handed on to anybody.
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_value_argument_text(sqlite3_value *value, pt_slice *text);

/* The bytes of a value that is a BLOB; NULL if there are none. SQLITE_OK or SQLITE_NOMEM. */
int pt_value_argument_blob(sqlite3_value *value, pt_slice *blob);

/*
 * Converts an SQL value for a column of type `declared` (PT_NONE: the value's own type, integers as
 * above). NULL gives PT_NONE: absent; so does an empty text where a type other than String is
 * declared. Only conversions that lose nothing are made:
 *
 *     String          TEXT; INTEGER and REAL as SQLite writes them
 *     Int32, Int64    INTEGER and integral REAL within range; text that is exactly an integer
 *                     ("34", "+034"; neither "3.0" nor " 34")
 *     Double          REAL; INTEGER up to 2^53; text that is exactly a number (base/number.h), and
 *                     "NaN", "Infinity", "-Infinity"
 *     Boolean         0 and 1, also as text; true and false as text in any case
 *     DateTime        text in pt_ticks_parse's forms
 *     Guid            a GUID's text; a BLOB of 16 bytes
 *     Binary          BLOB
 *
 * Otherwise SQLITE_MISMATCH with a text that names column, value (shortened) and type. STRING and
 * BINARY point into `value` and live as long as it is not changed. SQLITE_NOMEM. The value is read
 * as by pt_value_argument_text.
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

/*
 * Hands a STRING or BINARY of at least one byte to SQLite with the memory it lies in: the buffer's
 * content, behind a STRING a NUL. The buffer is empty then.
 */
void pt_value_result_buffer(sqlite3_context *context, pt_type type, pt_buffer *bytes);

/* Whether an SQL value is exactly what pt_value_result would give for this property. */
bool pt_value_equals_sql(const pt_value *value, sqlite3_value *sql);

/*
 * The text of a property's value, as JSON and CSV have it.
 */

/*
 * Appends a STRING as it is, an integer's digits, a DOUBLE's (base/number.h) or its name, true or
 * false, a DATETIME or GUID in its canonical form, a BINARY in base64. Nothing for PT_NONE and the
 * large types.
 */
void pt_value_append_text(pt_buffer *buffer, const pt_value *value);

#endif
