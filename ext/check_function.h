/*
 * pt_check([store]): whether a store is sound, as text: ok, or a line for each problem and one that
 * says what to do. Without a store, or NULL, it is that of the main database.
 */
#ifndef PT_CHECK_FUNCTION_H
#define PT_CHECK_FUNCTION_H

#include "connection.h"
#include "sqlite.h"

/* Registers the function, which keeps a reference to the connection. SQLite's code. */
int pt_check_function_register(sqlite3 *db, pt_connection *connection);

#endif
