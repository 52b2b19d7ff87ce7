#include "table/table_module.h"

#include "entity/azure_limits.h"
#include "functions/key_functions.h"
#include "module/module.h"
#include "table/config.h"
#include "table/cursor.h"
#include "table/planner.h"
#include "table/row_filter.h"
#include "table/table_transaction.h"
#include "table/write.h"

static int configure(pt_table *table, int argc, const char *const *argv, pt_error *error)
{
    int rc = pt_config_parse(argc, argv, &table->config, error);
    if (rc == SQLITE_OK) {
        table->map.columns = table->config.columns;
        table->map.column_count = table->config.column_count;
    }
    return rc;
}

static int check_name(const pt_table *table, pt_error *error)
{
    return table->config.azure_limits ? pt_limits_check_table_name(table->config.table, error)
                                      : SQLITE_OK;
}

static char *declaration(const pt_table *table)
{
    return pt_declaration_text(&table->config);
}

static void release(pt_table *table)
{
    pt_cursor_free(table->spare_cursor);
}

static const pt_table_form form = {
    .kind = PT_TABLE_OF_ENTITIES,
    .module = "ptable",
    .size = sizeof(pt_table),
    .configure = configure,
    .check_name = check_name,
    .declaration = declaration,
    .release = release,
};

/* pt_starts_with(PartitionKey or RowKey, prefix) may become a key range: table/planner.c */
static int find_function(sqlite3_vtab *vtab, int argc, const char *name,
                         void (**function)(sqlite3_context *, int, sqlite3_value **), void **data)
{
    if (argc == 2 && sqlite3_stricmp(name, "match") == 0) {
        *function = pt_function_match;
        *data = vtab;
        return 1;
    }
    if (argc != 2 || sqlite3_stricmp(name, "pt_starts_with") != 0) {
        return 0;
    }
    *function = pt_function_starts_with;
    *data = NULL;
    return PT_CONSTRAINT_STARTS_WITH;
}

static const sqlite3_module table_module = {
    .iVersion = 2,
    .xCreate = pt_table_create,
    .xConnect = pt_table_connect,
    .xBestIndex = pt_planner_best_index,
    .xDisconnect = pt_table_disconnect,
    .xDestroy = pt_table_destroy,
    .xOpen = pt_cursor_open,
    .xClose = pt_cursor_close,
    .xFilter = pt_cursor_filter,
    .xNext = pt_cursor_next,
    .xEof = pt_cursor_eof,
    .xColumn = pt_cursor_column,
    .xRowid = pt_table_compile_again,
    .xUpdate = pt_write_update,
    .xBegin = pt_transaction_begin,
    .xSync = pt_transaction_sync,
    .xCommit = pt_transaction_commit,
    .xRollback = pt_transaction_rollback,
    .xFindFunction = find_function,
    .xRename = pt_table_rename,
    .xSavepoint = pt_transaction_savepoint,
    .xRelease = pt_transaction_release,
    .xRollbackTo = pt_transaction_rollback_to,
};

int pt_table_register(sqlite3 *db, pt_connection *connection)
{
    return pt_module_register_shared(db, form.module, &table_module, connection, &form);
}
