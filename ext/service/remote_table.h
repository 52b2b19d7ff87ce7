/*
 * The module pt_service: a virtual table whose rows are the entities of a table of the service.
 * Creating, connecting and dropping it send no request.
 */
#ifndef PT_SERVICE_REMOTE_TABLE_H
#define PT_SERVICE_REMOTE_TABLE_H

#include "base/sqlite.h"
#include "entity/bag.h"
#include "service/config.h"
#include "service/service.h"
#include "service/split.h"

typedef struct pt_remote_table {
    sqlite3_vtab base;
    pt_service *service;
    pt_service_config config;
    bool other_encoding; /* the database's text is not UTF-8 */
    pt_split *split;     /* of the running statement, or NULL */
    pt_bag bag;          /* the entity that is being written; the memory is for the next one, too */
    pt_buffer body;      /* the same as JSON */
    bool joining;        /* xBegin was called, and no xSavepoint or xUpdate since */
} pt_remote_table;

static inline pt_remote_table *pt_remote_table_of(sqlite3_vtab *vtab)
{
    return (pt_remote_table *)vtab;
}

/* The dialect of the table's service, as far as it is known. */
pt_dialect pt_remote_table_dialect(const pt_remote_table *table);

/* The budget of the statement that runs, for what it writes. It is kept until another one writes,
 * or the transaction ends. SQLITE_NOMEM. */
int pt_remote_table_budget(pt_remote_table *table, pt_budget *budget, pt_error *error);

/* Forgets the statement that wrote last. */
void pt_remote_table_end_budget(pt_remote_table *table);

/* Reports an error to SQLite as "ptable: <table>: <text>". Returns its code. */
int pt_remote_table_fail(pt_remote_table *table, pt_error *error);

/* xCreate, xConnect, xDisconnect, xDestroy (it only forgets the table) and xRename. `service` is
 * the module's user data. */
int pt_remote_table_connect(sqlite3 *db, void *service, int argc, const char *const *argv,
                            sqlite3_vtab **vtab, char **message);
int pt_remote_table_disconnect(sqlite3_vtab *vtab);
int pt_remote_table_destroy(sqlite3_vtab *vtab);
int pt_remote_table_rename(sqlite3_vtab *vtab, const char *name);

#endif
