#include "service/remote_table.h"

#include "module/module.h"

int pt_remote_table_fail(pt_remote_table *table, pt_error *error)
{
    return pt_module_fail(&table->base.zErrMsg, table->config.base.sql_name, error);
}

pt_dialect pt_remote_table_dialect(const pt_remote_table *table)
{
    pt_dialect given = table->config.dialect;
    return given != PT_DIALECT_UNKNOWN ? given
                                       : pt_service_dialect(table->service, table->config.account);
}

void pt_remote_table_end_budget(pt_remote_table *table)
{
    pt_service *service = table->service;
    pt_statement_leave(&service->statements, service->writing);
    service->writing = NULL;
}

int pt_remote_table_budget(pt_remote_table *table, pt_budget *budget, pt_error *error)
{
    pt_service *service = table->service;
    pt_statement *running = pt_statement_enter(&service->statements, service->db);
    pt_remote_table_end_budget(table);
    service->writing = running;
    *budget = (pt_budget){.statement = running, .max_requests = table->config.max_requests};
    return running != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* Views and triggers may not use the table: a database from somewhere else could send requests, and
 * pay for them, with the accounts of whoever opens it. */
static int declare_remote_table(sqlite3 *db, const pt_remote_table *table, pt_error *error)
{
    char *declaration = pt_service_declaration(&table->config);
    if (declaration == NULL) {
        return pt_error_nomem(error);
    }
    int rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return rc == SQLITE_OK ? rc : pt_error_set(error, rc, "%s", sqlite3_errmsg(db));
}

static int configure_remote_table(pt_remote_table *table, int argc, const char *const *argv,
                                  pt_error *error)
{
    sqlite3 *db = table->service->db;
    int rc = pt_service_config_parse(argc, argv, &table->config, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool utf8;
    if (pt_module_is_utf8(db, argv[1], &utf8) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    table->other_encoding = !utf8;
    return declare_remote_table(db, table, error);
}

int pt_remote_table_connect(sqlite3 *db, void *service, int argc, const char *const *argv,
                            sqlite3_vtab **vtab, char **message)
{
    (void)db;
    pt_error error = PT_ERROR_NONE;
    pt_remote_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    *table = (pt_remote_table){.service = service};
    pt_service_retain(table->service);
    if (configure_remote_table(table, argc, argv, &error) != SQLITE_OK) {
        pt_remote_table_disconnect(&table->base);
        return pt_module_fail(message, argv[2], &error);
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

int pt_remote_table_disconnect(sqlite3_vtab *vtab)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    pt_split_free(table->split);
    pt_remote_table_end_budget(table);
    pt_bag_free(&table->bag);
    pt_buffer_free(&table->body);
    pt_service_config_free(&table->config);
    pt_service_release(table->service);
    sqlite3_free(table);
    return SQLITE_OK;
}

/* SQLite would not tell of the transaction's end. */
int pt_remote_table_destroy(sqlite3_vtab *vtab)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    if (table->service->pending.operations.count == 0) {
        return pt_remote_table_disconnect(vtab);
    }
    pt_error error = PT_ERROR_NONE;
    pt_error_set(&error, SQLITE_LOCKED,
                 "cannot be dropped while the transaction has writes for the service; COMMIT or "
                 "ROLLBACK first");
    return pt_remote_table_fail(table, &error);
}

int pt_remote_table_rename(sqlite3_vtab *vtab, const char *name)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    const pt_service_config *config = &table->config;
    if (config->base.table_given) {
        return SQLITE_OK;
    }
    pt_error error = PT_ERROR_NONE;
    pt_error_set(&error, SQLITE_ERROR,
                 "cannot be renamed to %Q, because its name is also the table's name at the "
                 "service; DROP TABLE (the entities stay) and CREATE VIRTUAL TABLE \"%w\" USING "
                 "pt_service(..., account=%Q, table=%Q)",
                 name, name, config->account, config->base.table);
    return pt_remote_table_fail(table, &error);
}
