/*
 * The entry point of the library for the Table service.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "functions/functions.h"
#include "module/module.h"
#include "ptable_service.h"
#include "service/account_functions.h"
#include "service/accounts_table.h"
#include "service/remote_module.h"
#include "service/service.h"
#include "service/tables_table.h"

enum { OLDEST_SQLITE_FOR_SERVICE = 3040000 };

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

static int fail_service_load(pt_error *error, char **message)
{
    int rc = error->rc;
    if (message != NULL) {
        *message = sqlite3_mprintf("ptable_service: %s",
                                   error->message != NULL ? error->message : sqlite3_errstr(rc));
    }
    pt_error_clear(error);
    return rc;
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
        return fail_service_load(&error, message);
    }
    if (pt_module_find(db, names, found, MODULES) != SQLITE_OK) {
        pt_error_nomem(&error);
        return fail_service_load(&error, message);
    }
    if (found[SERVICE]) {
        return SQLITE_OK;
    }
    pt_service *service = pt_service_new(db);
    if (service == NULL) {
        pt_error_nomem(&error);
        return fail_service_load(&error, message);
    }
    int rc = register_service(db, service, found[PTABLE], &error);
    pt_service_release(service);
    return rc == SQLITE_OK ? rc : fail_service_load(&error, message);
}

#ifndef SQLITE_CORE

/* --- The SQLite library --- */

static _Atomic(const sqlite3_api_routines *) service_api;
static pthread_once_t service_api_once = PTHREAD_ONCE_INIT;

static void use_service_api(void)
{
    SQLITE_EXTENSION_INIT2(atomic_load(&service_api));
}

/* A process may have two SQLite libraries. This one calls the functions of the first that loads it.
 */
static bool is_service_api(const sqlite3_api_routines *api)
{
    const sqlite3_api_routines *none = NULL;
    atomic_compare_exchange_strong(&service_api, &none, api);
    pthread_once(&service_api_once, use_service_api);
    return sqlite3_api == api;
}

/* The other SQLite library frees the text, so it must allocate it too. */
static int refuse_second_api(const sqlite3_api_routines *api, char **message)
{
    Dl_info first = {0};
    if (message == NULL) {
        return SQLITE_ERROR;
    }
    dladdr(sqlite3_api, &first);
    *message = api->mprintf("ptable_service: this process has already loaded the extension into "
                            "another SQLite library, %Q; load it only into connections of that "
                            "library",
                            first.dli_fname);
    return *message != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
}

#endif

int sqlite3_ptableservice_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
#ifndef SQLITE_CORE
    if (!is_service_api(api)) {
        return refuse_second_api(api, message);
    }
#endif
    (void)api;
    return load_service_into(db, message);
}
