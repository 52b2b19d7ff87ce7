/*
 * What the SQL functions share: reading arguments, giving results, refusing values.
 *
 * Every function is registered with its own SQL name as user data. Its errors read
 * "<name>: <value> <what is wrong>; <what to do>", with the code SQLITE_ERROR.
 */
#ifndef PT_FUNCTIONS_FUNCTION_ARGUMENTS_H
#define PT_FUNCTIONS_FUNCTION_ARGUMENTS_H

#include "base/buffer.h"
#include "base/sqlite.h"

/* Whether one of the arguments is NULL. A function that then returns at once gives NULL. */
bool pt_arguments_have_null(int argc, sqlite3_value **argv);

/*
 * The bytes of an argument that is TEXT, or INTEGER written as text; valid as long as the argument
 * is not converted otherwise. On REAL and BLOB the function fails, and so it does out of memory:
 * false, with the error set.
 */
bool pt_argument_text(sqlite3_context *context, sqlite3_value *argument, pt_slice *text);

/*
 * An argument that is INTEGER, or TEXT that is exactly an integer (an optional sign and digits,
 * nothing around them). Anything else: false, with the error set.
 */
bool pt_argument_integer(sqlite3_context *context, sqlite3_value *argument, int64_t *integer);

/* Fails the function: its name, the argument (shortened) and the formatted text (sqlite3_mprintf's
 * formats), which goes on after the argument. */
void pt_argument_refuse(sqlite3_context *context, sqlite3_value *argument, const char *format, ...);

/* Gives the buffer's content as TEXT, or fails with SQLITE_NOMEM if the buffer has failed. The
 * buffer is empty afterwards. */
void pt_result_text(sqlite3_context *context, pt_buffer *buffer);

#endif
