/*
 * For the entry points of the libraries: which SQLite library they call, and errors of loading.
 */
#ifndef PT_MODULE_LOADING_H
#define PT_MODULE_LOADING_H

#include <stdbool.h>

#include "base/error.h"
#include "base/sqlite.h"

/*
 * True if these are the SQLite functions that this library calls: the first ones it was given. A
 * process may have two SQLite libraries, one of the system and one from a language's package, and
 * neither can use connections of the other. Nothing of SQLite may be called before. Only in the
 * loadable libraries.
 */
bool pt_loading_uses(const sqlite3_api_routines *api);

/* *message becomes the reason why a connection of another SQLite library is refused. Returns the
 * code of the entry point. `library`: "ptable" or "ptable_service". */
int pt_loading_refuse(const char *library, const sqlite3_api_routines *api, char **message);

/* *message becomes "<library>: <text>", unless `message` is NULL; the text is the code's if the
 * error has none. Clears the error and returns the code. */
int pt_loading_fail(const char *library, int rc, pt_error *error, char **message);

#endif
