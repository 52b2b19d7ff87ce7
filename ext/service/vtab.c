#include "service/vtab.h"

int pt_service_vtab_connect(sqlite3 *db, void *service, const char *declaration,
                            sqlite3_vtab **vtab)
{
    int rc = sqlite3_declare_vtab(db, declaration);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_service_vtab *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table = (pt_service_vtab){.service = service};
    pt_service_retain(table->service);
    *vtab = &table->base;
    return SQLITE_OK;
}

int pt_service_vtab_disconnect(sqlite3_vtab *vtab)
{
    pt_service_release(((pt_service_vtab *)vtab)->service);
    sqlite3_free(vtab);
    return SQLITE_OK;
}
