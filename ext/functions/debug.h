/*
 * pt_debug(): versions of this library and of those that it uses, and how it was built.
 */
#ifndef PT_FUNCTIONS_DEBUG_H
#define PT_FUNCTIONS_DEBUG_H

#include "base/error.h"
#include "base/sqlite.h"

/* `engine` is the engine's version and must last. Codes as pt_functions_register. */
int pt_debug_register(sqlite3 *db, const char *engine, pt_error *error);

#endif
