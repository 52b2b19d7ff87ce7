#include "module/registration.h"

void pt_module_release_connection(void *connection)
{
    pt_connection_release(connection);
}

int pt_module_register(sqlite3 *db, const char *name, const sqlite3_module *module,
                       pt_connection *connection)
{
    pt_connection_retain(connection);
    return sqlite3_create_module_v2(db, name, module, connection, pt_module_release_connection);
}

static void release_registration(void *context)
{
    pt_module_registration *registration = context;
    pt_connection_release(registration->connection);
    sqlite3_free(registration);
}

int pt_module_register_shared(sqlite3 *db, const char *name, const sqlite3_module *module,
                              pt_connection *connection, const void *description)
{
    pt_module_registration *registration = sqlite3_malloc64(sizeof *registration);
    if (registration == NULL) {
        return SQLITE_NOMEM;
    }
    *registration = (pt_module_registration){.connection = connection, .description = description};
    pt_connection_retain(connection);
    return sqlite3_create_module_v2(db, name, module, registration, release_registration);
}
