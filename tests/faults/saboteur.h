/*
 * A virtual table of its own module, which takes part in transactions and fails them: its xSync
 * returns `saboteur_code`, after everything that joined earlier has synced.
 */
#ifndef TESTS_FAULTS_SABOTEUR_H
#define TESTS_FAULTS_SABOTEUR_H

#include <sqlite3.h>
#include <stddef.h>

static int saboteur_code;
static int saboteur_syncs;
static void (*saboteur_watch)(void); /* called by each xSync, or NULL */

static inline int saboteur_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                                   sqlite3_vtab **table, char **message)
{
    (void)context;
    (void)argc;
    (void)argv;
    (void)message;
    *table = sqlite3_malloc64(sizeof **table);
    return *table != NULL ? sqlite3_declare_vtab(db, "CREATE TABLE x(v)") : SQLITE_NOMEM;
}

static inline int saboteur_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

static inline int saboteur_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    (void)info;
    return SQLITE_OK;
}

static inline int saboteur_update(sqlite3_vtab *table, int argc, sqlite3_value **argv,
                                  sqlite3_int64 *rowid)
{
    (void)table;
    (void)argc;
    (void)argv;
    *rowid = 1;
    return SQLITE_OK;
}

static inline int saboteur_succeed(sqlite3_vtab *table)
{
    (void)table;
    return SQLITE_OK;
}

static inline int saboteur_sync(sqlite3_vtab *table)
{
    (void)table;
    saboteur_syncs++;
    if (saboteur_watch != NULL) {
        saboteur_watch();
    }
    return saboteur_code;
}

static const sqlite3_module saboteur_module = {
    .xCreate = saboteur_connect,
    .xConnect = saboteur_connect,
    .xBestIndex = saboteur_best_index,
    .xDisconnect = saboteur_disconnect,
    .xDestroy = saboteur_disconnect,
    .xUpdate = saboteur_update,
    .xBegin = saboteur_succeed,
    .xSync = saboteur_sync,
    .xCommit = saboteur_succeed,
    .xRollback = saboteur_succeed,
};

#endif
