/*
 * Conversions between SQLite's values and typed properties.
 */
#ifndef PT_VALUE_VALUE_H
#define PT_VALUE_VALUE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "entity/edm.h"

/* The type of an integer without a declared type: Int32 if it fits, else Int64. */
pt_type pt_value_integer_type(int64_t integer);

/* The integer that a REAL is, from -2^53 to 2^53: beyond, it may be another one, rounded. False for
 * every other value. In JavaScript and R every number is a REAL. */
bool pt_value_real_integer(sqlite3_value *value, int64_t *integer);

/*
 * Reads an integer that is given to a function or an option: an INTEGER, a REAL as above, or a TEXT
 * that is an optional sign and digits and nothing else. SQLITE_OK, SQLITE_NOMEM; SQLITE_MISMATCH
 * for every other value.
 */
int pt_value_integer(sqlite3_value *value, int64_t *integer);

/*
 * Reads the text of an argument of xUpdate in UTF-8. No NUL follows it: to add one, SQLite would
 * copy a text that is bound or comes from a table. The text is read as a BLOB instead, which sets a
 * flag in the value that makes later comparisons wrong. So do not pass the value on. SQLITE_OK or
 * SQLITE_NOMEM.
 */
int pt_value_argument_text(sqlite3_value *value, pt_slice *text);

/* The same for an argument that is known to be a TEXT. */
int pt_value_text_bytes(sqlite3_value *value, pt_slice *text);

/* Reads the bytes of a BLOB; NULL if it is empty. SQLITE_OK or SQLITE_NOMEM. */
int pt_value_argument_blob(sqlite3_value *value, pt_slice *blob);

/* Writes a value for a message, as a literal: NULL, 5, 1.5, 'a text', x'00ff'. Long ones are
 * shortened. Like pt_value_argument_text, this may set a flag in the value. */
enum { PT_DESCRIPTION_SIZE = 2 * PT_EXCERPT_SIZE + 32 };
void pt_value_describe(sqlite3_value *value, char description[PT_DESCRIPTION_SIZE]);

/*
 * Converts an SQL value for a column of type `declared`; PT_NONE: the value keeps its own type.
 * NULL becomes PT_NONE, which means absent. So does an empty text if `declared` is a type other
 * than String. Only conversions that lose nothing are allowed:
 *
 *     String          TEXT; INTEGER and REAL as SQLite writes them, if that is the same number
 *     Int32, Int64    INTEGER and integral REAL within range; text that is exactly an integer
 *                     ("34", "+034"; neither "3.0" nor " 34"). Integers have one zero: -0 is 0
 *     Double          REAL; INTEGER up to 2^53; text that is exactly a number whose digits a double
 *                     keeps (pt_double_parse_lossless), and "NaN", "Infinity", "-Infinity"
 *     Boolean         0 and 1, also as REAL and text; 'true' and 'false' in any case
 *     DateTime        text that pt_ticks_parse reads
 *     Guid            a GUID's text; a BLOB of 16 bytes
 *     Binary          BLOB
 *
 * Returns SQLITE_OK, SQLITE_NOMEM, or SQLITE_MISMATCH with a message that names the column, the
 * value (shortened) and the type. STRING and BINARY point into `value` and are valid until it
 * changes. Like pt_value_argument_text, this may set a flag in the value.
 */
int pt_value_from_sql(sqlite3_value *value, pt_type declared, const char *column, pt_value *out,
                      pt_error *error);

/* A column, and the property that an entity of a known shape has for it. */
typedef struct pt_value_target {
    pt_value *value;    /* receives the property's value; its type is set and stays */
    pt_type type;       /* the same type; PT_NONE: the shape has no such property */
    pt_type usual;      /* the type if SQL values in its usual form get it; else PT_NONE */
    pt_type declared;   /* of the column */
    const char *column; /* its name */
} pt_value_target;

/* The type of `value` is that of the property. */
pt_value_target pt_value_target_of(pt_type declared, const char *column, pt_value *value);

/*
 * Converts the values of all columns of an entity as pt_value_from_sql does. Stops at the first one
 * that gets another type than its target has, and sets *alike to false. Otherwise sets *data_size
 * to the bytes of data that the record of the entity has. SQLITE_NOMEM; SQLITE_MISMATCH with the
 * message of pt_value_from_sql.
 */
int pt_values_from_sql(sqlite3_value **values, const pt_value_target *targets, int count,
                       bool *alike, uint64_t *data_size, pt_error *error);

/*
 * Returns a property to SQLite: STRING as TEXT; INT32, INT64 and BOOLEAN as INTEGER; DOUBLE as
 * REAL, but NaN as the text 'NaN'; DATETIME and GUID as TEXT in canonical form; BINARY as BLOB,
 * even if empty; NONE as NULL. With `lasting`, the bytes of STRING and BINARY outlive the
 * statement's use of them and are not copied; a NUL must follow a STRING.
 */
void pt_value_result(sqlite3_context *context, const pt_value *value, bool lasting);

/*
 * Returns the content of the buffer, at least one byte, to SQLite as a STRING or BINARY. SQLite
 * takes the memory over, and the buffer becomes empty. A NUL must follow the content of a STRING.
 */
void pt_value_result_buffer(sqlite3_context *context, pt_type type, pt_buffer *bytes);

/* True if an SQL value is exactly what pt_value_result returns for this property. */
bool pt_value_equals_sql(const pt_value *value, sqlite3_value *sql);

/*
 * Appends the text of a property's value in JSON and CSV: a STRING as it is, numbers in decimal
 * (base/number.h), a DOUBLE that is not finite by its name, true or false, a DATETIME or GUID in
 * canonical form, a BINARY in base64. Appends nothing for PT_NONE and the large types.
 */
void pt_value_append_text(pt_buffer *buffer, const pt_value *value);

#endif
