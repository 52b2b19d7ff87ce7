/*
 * The entry point of the library for the Table service.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <stdbool.h>

#include "functions/functions.h"
#include "module/loading.h"
#include "module/module.h"
#include "ptable_service.h"
#include "service/account_functions.h"
#include "service/accounts_table.h"
#include "service/remote_module.h"
#include "service/service.h"
#include "service/tables_table.h"

enum { OLDEST_SQLITE_FOR_SERVICE = 3040000 };

static const char service_library[] = "ptable_service";

static int register_module(sqlite3 *db, pt_service *service, const char *name,
                           const sqlite3_module *module)
{
    pt_service_retain(service);
    return sqlite3_create_module_v2(db, name, module, service, pt_service_release);
}

/* The module pt_service comes last: a connection that has it has everything. */
static int register_service(sqlite3 *db, pt_service *service, bool ptable, pt_error *error)
{
    int rc = ptable ? pt_functions_check_version(db, error) : pt_functions_register(db, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_account_functions_register(db, service);
    if (rc == SQLITE_OK) {
        rc = register_module(db, service, "pt_service_accounts", &pt_accounts_module);
    }
    if (rc == SQLITE_OK) {
        rc = register_module(db, service, "pt_service_tables", &pt_service_tables_module);
    }
    if (rc == SQLITE_OK) {
        rc = register_module(db, service, PT_REMOTE_MODULE, &pt_remote_module);
    }
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : pt_error_set(error, rc, "%s", sqlite3_errmsg(db));
}

static int load_service_into(sqlite3 *db, char **message)
{
    pt_error error = PT_ERROR_NONE;
    /* Functions of the other library are there with its module. */
    static const char *const names[] = {PT_REMOTE_MODULE, "ptable"};
    enum { SERVICE, PTABLE, MODULES };
    bool found[MODULES];
    if (sqlite3_libversion_number() < OLDEST_SQLITE_FOR_SERVICE) {
        pt_error_set(&error, SQLITE_ERROR, "needs SQLite 3.40.0 or newer, this is %s",
                     sqlite3_libversion());
        return pt_loading_fail(service_library, error.rc, &error, message);
    }
    if (pt_module_find(db, names, found, MODULES) != SQLITE_OK) {
        pt_error_nomem(&error);
        return pt_loading_fail(service_library, error.rc, &error, message);
    }
    if (found[SERVICE]) {
        return SQLITE_OK;
    }
    pt_service *service = pt_service_new(db);
    if (service == NULL) {
        pt_error_nomem(&error);
        return pt_loading_fail(service_library, error.rc, &error, message);
    }
    int rc = register_service(db, service, found[PTABLE], &error);
    pt_service_release(service);
    return rc == SQLITE_OK ? rc : pt_loading_fail(service_library, error.rc, &error, message);
}

int sqlite3_ptableservice_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
#ifndef SQLITE_CORE
    if (!pt_loading_uses(api)) {
        return pt_loading_refuse(service_library, api, message);
    }
#endif
    (void)api;
    return load_service_into(db, message);
}
