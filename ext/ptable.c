/*
 * The entry point. Loading the extension registers all its modules and functions with a connection.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <dlfcn.h>

#include "catalog/admin.h"
#include "catalog/batches.h"
#include "catalog/changes.h"
#include "catalog/expiry.h"
#include "catalog/indexes.h"
#include "catalog/partitions.h"
#include "catalog/properties.h"
#include "catalog/stores.h"
#include "catalog/tables.h"
#include "functions/debug.h"
#include "functions/functions.h"
#include "lmdb/engine.h"
#include "module/companion.h"
#include "module/loading.h"
#include "ptable.h"
#include "queue/functions.h"
#include "queue/queue_module.h"
#include "table/table_module.h"
#include "transaction/connection.h"

enum { OLDEST_SQLITE = 3040000 };

static const char library_name[] = "ptable";

static const pt_tvf *const table_functions[] = {
    &pt_tvf_partitions, &pt_tvf_properties, &pt_tvf_batches,     &pt_tvf_stores,
    &pt_tvf_changes,    &pt_tvf_queue_get,  &pt_tvf_queue_update};

static int register_table_functions(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    size_t count = sizeof table_functions / sizeof table_functions[0];
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        rc = pt_tvf_register(db, connection, table_functions[i]);
    }
    return rc;
}

/* `functions`: the connection has the shared functions already. */
static int register_all(sqlite3 *db, pt_connection *connection, bool functions, pt_error *error)
{
    int rc = functions ? pt_functions_check_version(db, error) : pt_functions_register(db, error);
    if (rc == SQLITE_OK) {
        rc = pt_debug_register(db, pt_engine_version(), error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_queue_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_tables_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_indexes_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = register_table_functions(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_admin_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_purge_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_forget_register(db, connection);
    }
    if (rc == SQLITE_OK) {
        rc = pt_companion_register(db, connection, error);
    }
    return rc;
}

/*
 * The file of another copy of this library that the process loaded before, or NULL. Each copy would
 * open a store for itself, and closing the file in one copy would drop the locks of the other.
 */
static const char *find_other_copy(void)
{
    Dl_info first;
    Dl_info own;
    void *entry = dlsym(RTLD_DEFAULT, "sqlite3_ptable_init");
    bool known = entry != NULL && dladdr(entry, &first) != 0 && dladdr(table_functions, &own) != 0;
    return known && first.dli_fbase != own.dli_fbase ? first.dli_fname : NULL;
}

static int load_into(sqlite3 *db, char **message)
{
    pt_error error = PT_ERROR_NONE;
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        pt_error_set(&error, SQLITE_ERROR, "needs SQLite 3.40.0 or newer, this is %s",
                     sqlite3_libversion());
        return pt_loading_fail(library_name, SQLITE_ERROR, &error, message);
    }
    /* Modules that are registered again would not know the transactions and tables of the first
     * ones. */
    bool registered;
    bool functions;
    int rc = pt_companion_is_registered(db, &registered, &functions);
    if (rc != SQLITE_OK) {
        return pt_loading_fail(library_name, rc, &error, message);
    }
    if (registered) {
        return SQLITE_OK;
    }
    const char *other_copy = find_other_copy();
    if (other_copy != NULL) {
        pt_error_set(
            &error, SQLITE_ERROR,
            "this process has already loaded another copy of the extension, %Q; load that one",
            other_copy);
        return pt_loading_fail(library_name, SQLITE_ERROR, &error, message);
    }
    pt_connection *connection = pt_connection_new(db, &pt_lmdb_engine);
    if (connection == NULL) {
        return pt_loading_fail(library_name, SQLITE_NOMEM, &error, message);
    }
    rc = register_all(db, connection, functions, &error);
    pt_connection_release(connection);
    return rc == SQLITE_OK ? rc : pt_loading_fail(library_name, rc, &error, message);
}

int sqlite3_ptable_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
#ifndef SQLITE_CORE
    if (!pt_loading_uses(api)) {
        return pt_loading_refuse(library_name, api, message);
    }
#endif
    (void)api;
    return load_into(db, message);
}
