/*
 * The module's methods that make, open and drop a table and those that take part in transactions.
 */
#include "table.h"

#include "azure_limits.h"
#include "companion.h"
#include "cursor.h"
#include "key_functions.h"
#include "match_function.h"
#include "module.h"
#include "planner.h"
#include "store_path.h"
#include "write.h"

int pt_table_fail(pt_table *table, pt_error *error)
{
    return pt_module_fail(&table->base.zErrMsg, table->config.sql_name, error);
}

static int use_store(pt_table *table, bool create, pt_error *error)
{
    if (table->session != NULL) {
        return SQLITE_OK;
    }
    return pt_connection_use(table->connection, table->path, table->schema, create, &table->session,
                             error);
}

int pt_table_open_store(pt_table *table, pt_error *error)
{
    return use_store(table, false, error);
}

int pt_table_find_id(pt_table *table, pt_view *view, pt_error *error)
{
    int rc = pt_table_directory_find(table->session, view, table->config.table, &table->id, error);
    if (rc == SQLITE_NOTFOUND) {
        return pt_error_set(
            error, SQLITE_ERROR,
            "store %Q has no table %Q; INSERT INTO pt_tables(Store, TableName) makes it, and so do "
            "DROP TABLE and CREATE VIRTUAL TABLE%s (TableNotFound)",
            pt_session_store(table->session)->path, table->config.table,
            table->read_only ? " without readonly=1" : "");
    }
    return rc;
}

/* --- Making and dropping --- */

static void free_table(pt_table *table)
{
    pt_connection_take_out(table->connection, &table->connected);
    pt_cursor_free(table->spare_cursor);
    sqlite3_finalize(table->json_statement);
    if (table->session != NULL) {
        pt_connection_leave(table->connection, table->session);
    }
    pt_column_map_free(&table->map);
    pt_bag_free(&table->bag);
    pt_bag_free(&table->columns);
    pt_buffer_free(&table->key);
    pt_buffer_free(&table->old_key);
    pt_buffer_free(&table->old_record);
    pt_buffer_free(&table->old_shape);
    pt_buffer_free(&table->new_shape);
    pt_buffer_free(&table->json);
    pt_config_free(&table->config);
    sqlite3_free(table->schema);
    sqlite3_free(table->path);
    sqlite3_free(table->base.zErrMsg);
    sqlite3_free(table);
}

static int declare(sqlite3 *db, const pt_config *config, pt_error *error)
{
    char *declaration = pt_declaration_text(config);
    if (declaration == NULL) {
        return pt_error_nomem(error);
    }
    int rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return rc == SQLITE_OK ? rc : pt_error_set(error, rc, "%s", sqlite3_errmsg(db));
}

static int configure(pt_table *table, sqlite3 *db, int argc, const char *const *argv,
                     pt_error *error)
{
    int rc = pt_config_parse(argc, argv, &table->config, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    table->schema = sqlite3_mprintf("%s", argv[1]);
    if (table->schema == NULL) {
        return pt_error_nomem(error);
    }
    rc = pt_store_path(db, table->schema, table->config.store, &table->path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    table->read_only = table->config.read_only || sqlite3_db_readonly(db, table->schema) == 1;
    bool utf8;
    if (pt_module_is_utf8(db, table->schema, &utf8) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    table->other_encoding = !utf8;
    table->map.columns = table->config.columns;
    table->map.column_count = table->config.column_count;
    return declare(db, &table->config, error);
}

/* NULL, with the error set, if it cannot be made. */
static pt_table *new_table(sqlite3 *db, pt_connection *connection, int argc,
                           const char *const *argv, pt_error *error)
{
    pt_table *table = sqlite3_malloc64(sizeof *table);
    if (table == NULL) {
        pt_error_nomem(error);
        return NULL;
    }
    *table = (pt_table){.connection = connection};
    if (configure(table, db, argc, argv, error) != SQLITE_OK) {
        free_table(table);
        return NULL;
    }
    table->connected.schema = table->schema;
    table->connected.name = table->config.sql_name;
    pt_connection_enter(connection, &table->connected);
    return table;
}

/* SQLITE_NOTFOUND, without a text, if the store does not have the table. */
static int find_in_store(pt_table *table, pt_error *error)
{
    pt_view *view;
    int rc = pt_session_read(table->session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_find(table->session, view, table->config.table, &table->id, error);
    }
    pt_session_end_read(table->session);
    return rc;
}

static int begin_and_enter(pt_table *table, pt_error *error)
{
    int rc = pt_session_begin(table->session, error);
    if (rc == SQLITE_OK) {
        rc = find_in_store(table, error); /* again, for somebody else may have been quicker */
    }
    if (rc != SQLITE_NOTFOUND) {
        return rc;
    }
    pt_session_require_sync(table->session, table->config.sync);
    return pt_table_directory_add(table->session, table->config.table, error);
}

/*
 * Makes the store and the table in it, as far as they are not there. SQLite lets a new table take
 * part in the transaction without xBegin, so one that goes on begins to write here.
 */
static int make_in_store(pt_table *table, pt_error *error)
{
    int rc = use_store(table, true, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool was_writing = pt_session_is_writing(table->session);
    rc = pt_companion_join(table->connection, error);
    if (rc == SQLITE_OK) {
        rc = find_in_store(table, error);
    }
    bool goes_on = !sqlite3_get_autocommit(pt_connection_db(table->connection));
    if (rc == SQLITE_NOTFOUND || (rc == SQLITE_OK && goes_on)) {
        rc = begin_and_enter(table, error);
    }
    if (rc != SQLITE_OK && !was_writing) {
        /* No callback will come for a table that could not be made. */
        pt_session_rollback(table->session);
    }
    table->owes_end = !was_writing && pt_session_is_writing(table->session);
    return rc;
}

static int check_name(const pt_config *config, pt_error *error)
{
    return config->azure_limits ? pt_limits_check_table_name(config->table, error) : SQLITE_OK;
}

static int create(sqlite3 *db, void *context, int argc, const char *const *argv,
                  sqlite3_vtab **vtab, char **message)
{
    pt_error error = PT_ERROR_NONE;
    pt_table *table = new_table(db, context, argc, argv, &error);
    if (table == NULL) {
        return pt_module_fail(message, argv[2], &error);
    }
    int rc = check_name(&table->config, &error);
    if (rc == SQLITE_OK && !table->read_only) {
        rc = make_in_store(table, &error);
    }
    if (rc != SQLITE_OK) {
        free_table(table);
        return pt_module_fail(message, argv[2], &error);
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **vtab, char **message)
{
    pt_error error = PT_ERROR_NONE;
    pt_table *table = NULL;
    if (pt_companion_ensure(context, &error) == SQLITE_OK) {
        table = new_table(db, context, argc, argv, &error);
    }
    if (table == NULL) {
        return pt_module_fail(message, argv[2], &error);
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

/*
 * SQLite may run out of memory when it enters a new table into the transaction. It then disconnects
 * it without a callback.
 */
static int disconnect(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    if (table->owes_end) {
        pt_session_rollback(table->session);
    }
    free_table(table);
    return SQLITE_OK;
}

/*
 * After a DROP nothing calls back for the table; only the companion hears of the transaction's end.
 * Without it what was written would never be committed, so it must be committed first. SQLite shows
 * no text of xDestroy.
 */
static int destroy(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    if (table->session != NULL && pt_session_is_writing(table->session)) {
        pt_error error = PT_ERROR_NONE;
        int rc = pt_companion_join(table->connection, &error);
        pt_error_clear(&error);
        if (rc != SQLITE_OK || !pt_connection_is_followed(table->connection)) {
            return rc != SQLITE_OK ? rc : SQLITE_LOCKED;
        }
    }
    free_table(table);
    return SQLITE_OK;
}

static int rename_table(sqlite3_vtab *vtab, const char *name)
{
    pt_table *table = pt_table_of(vtab);
    if (table->config.table_given) {
        return SQLITE_OK;
    }
    pt_error error = PT_ERROR_NONE;
    pt_error_set(
        &error, SQLITE_ERROR,
        "cannot be renamed to %Q, for the name tells which table of the store it is; DROP TABLE "
        "(the entities stay) and CREATE VIRTUAL TABLE \"%w\" USING ptable(..., table=%Q)",
        name, name, table->config.table);
    return pt_table_fail(table, &error);
}

/* --- Transactions: session.h says what each call means --- */

int pt_table_check_writable(const pt_table *table, pt_error *error)
{
    if (!table->read_only) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_READONLY,
                        table->config.read_only
                            ? "is read-only by its option; DROP TABLE and CREATE VIRTUAL TABLE "
                              "without readonly=1 to write (the entities stay)"
                            : "its database was opened read-only; open it for writing");
}

static int begin(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    int rc = pt_table_check_writable(table, &error);
    if (rc == SQLITE_OK) {
        rc = pt_table_open_store(table, &error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_begin(table->session, &error);
    }
    table->joining = rc == SQLITE_OK;
    return rc == SQLITE_OK ? rc : pt_table_fail(table, &error);
}

static int sync_table(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    if (table->session == NULL || pt_session_sync(table->session, &error) == SQLITE_OK) {
        return SQLITE_OK;
    }
    return pt_table_fail(table, &error);
}

static int commit(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    table->owes_end = false;
    if (table->session != NULL) {
        pt_session_commit(table->session);
    }
    return SQLITE_OK;
}

static int rollback(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    table->owes_end = false;
    if (table->session != NULL) {
        pt_session_rollback(table->session);
    }
    return SQLITE_OK;
}

/*
 * Right after xBegin SQLite announces the savepoint that is innermost already. When it was opened
 * it was announced to those that have written, so there is nothing to learn from it.
 */
static int savepoint(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    bool known = table->joining || table->session == NULL;
    table->joining = false;
    return known ? SQLITE_OK : pt_session_savepoint(table->session, level);
}

static int release(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    if (table->session != NULL) {
        pt_session_release(table->session, level);
    }
    return SQLITE_OK;
}

static int rollback_to(sqlite3_vtab *vtab, int level)
{
    pt_table *table = pt_table_of(vtab);
    if (table->session != NULL) {
        pt_session_rollback_to(table->session, level);
    }
    return SQLITE_OK;
}

/* pt_starts_with(PartitionKey or RowKey, prefix) may become a key range: planner.c */
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

/*
 * SQLite 3.40 compiles UPDATE and DELETE ... LIMIT before it has connected the table, that is,
 * before it knows that there are no rowids. Compiled again, it knows.
 */
static int compile_again(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    (void)rowid;
    return SQLITE_SCHEMA;
}

static const sqlite3_module table_module = {
    .iVersion = 2,
    .xCreate = create,
    .xConnect = connect,
    .xBestIndex = pt_planner_best_index,
    .xDisconnect = disconnect,
    .xDestroy = destroy,
    .xOpen = pt_cursor_open,
    .xClose = pt_cursor_close,
    .xFilter = pt_cursor_filter,
    .xNext = pt_cursor_next,
    .xEof = pt_cursor_eof,
    .xColumn = pt_cursor_column,
    .xRowid = compile_again,
    .xUpdate = pt_write_update,
    .xBegin = begin,
    .xSync = sync_table,
    .xCommit = commit,
    .xRollback = rollback,
    .xFindFunction = find_function,
    .xRename = rename_table,
    .xSavepoint = savepoint,
    .xRelease = release,
    .xRollbackTo = rollback_to,
};

int pt_table_register(sqlite3 *db, pt_connection *connection)
{
    return pt_module_register(db, "ptable", &table_module, connection);
}
