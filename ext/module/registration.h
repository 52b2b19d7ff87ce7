/*
 * Registers the modules of virtual tables that read and write stores.
 */
#ifndef PT_MODULE_REGISTRATION_H
#define PT_MODULE_REGISTRATION_H

#include "base/sqlite.h"
#include "transaction/connection.h"

/* Registers a module. Its xCreate and xConnect get the connection, to which it keeps a reference.
 * Returns SQLite's code. */
int pt_module_register(sqlite3 *db, const char *name, const sqlite3_module *module,
                       pt_connection *connection);

/* pt_connection_release, for modules and functions whose user data is the connection. */
void pt_module_release_connection(void *connection);

/* xCreate and xConnect get this if several modules share them. */
typedef struct pt_module_registration {
    pt_connection *connection;
    const void *description; /* says how this module differs */
} pt_module_registration;

/* Registers a module that shares its methods with others. The description is not copied. Returns
 * SQLite's code. */
int pt_module_register_shared(sqlite3 *db, const char *name, const sqlite3_module *module,
                              pt_connection *connection, const void *description);

#endif
