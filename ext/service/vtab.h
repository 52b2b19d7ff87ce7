/*
 * A virtual table that knows nothing but the service: those of accounts and of tables.
 */
#ifndef PT_SERVICE_VTAB_H
#define PT_SERVICE_VTAB_H

#include "base/sqlite.h"
#include "service/service.h"

typedef struct pt_service_vtab {
    sqlite3_vtab base;
    pt_service *service;
    int64_t changed; /* rows that the running statement has written */
} pt_service_vtab;

/* For xConnect; `service` is the module's user data. SQLite's code. */
int pt_service_vtab_connect(sqlite3 *db, void *service, const char *declaration,
                            sqlite3_vtab **vtab);

/* xDisconnect. */
int pt_service_vtab_disconnect(sqlite3_vtab *vtab);

#endif
