/*
 * Shared by the SQL functions: reads arguments, returns results and errors.
 *
 * Every function is registered with its own SQL name as user data. Its errors read "<name>: <value>
 * <what is wrong>; <what to do>", with the code SQLITE_ERROR.
 */
#ifndef PT_FUNCTIONS_FUNCTION_ARGUMENTS_H
#define PT_FUNCTIONS_FUNCTION_ARGUMENTS_H

#include "base/buffer.h"
#include "base/number.h"
#include "base/sqlite.h"

/* True if an argument is NULL. If the function then returns at once, its result is NULL. */
bool pt_arguments_have_null(int argc, sqlite3_value **argv);

/*
 * The bytes of an argument that is TEXT, or of an INTEGER converted to text. Valid until the
 * argument is converted to another type. False for REAL, BLOB and NULL, and when out of memory: the
 * function has failed.
 */
bool pt_argument_text(sqlite3_context *context, sqlite3_value *argument, pt_slice *text);

/*
 * The same for a key or a part of one. A REAL that is an integer (pt_value_real_integer) is given
 * as that integer's text, in `digits`.
 */
bool pt_argument_key_text(sqlite3_context *context, sqlite3_value *argument,
                          char digits[PT_INTEGER_TEXT_SIZE], pt_slice *text);

/* The integer of an argument that pt_value_integer reads. Otherwise false, and the function has
 * failed. */
bool pt_argument_integer(sqlite3_context *context, sqlite3_value *argument, int64_t *integer);

/*
 * Makes the function fail with "<name>: <formatted text>". SQLITE_NOMEM when out of memory. The
 * format is sqlite3_mprintf's.
 */
void pt_result_error(sqlite3_context *context, const char *format, ...);

/* Makes the function fail with "<name>: <argument, shortened> <formatted text>". */
void pt_argument_refuse(sqlite3_context *context, sqlite3_value *argument, const char *format, ...);

/* Returns the buffer's content as TEXT, or SQLITE_NOMEM if the buffer has failed. Frees the buffer.
 */
void pt_result_text(sqlite3_context *context, pt_buffer *buffer);

#endif
