#include "catalog/tables.h"

#include "catalog/changes.h"
#include "catalog/expiry.h"
#include "catalog/stores.h"
#include "catalog/tables_cursor.h"
#include "entity/azure_limits.h"
#include "module/companion.h"
#include "module/module.h"
#include "module/registration.h"
#include "module/store_path.h"

static int connect_tables(sqlite3 *db, void *context, int argc, const char *const *argv,
                          sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    int rc = sqlite3_declare_vtab(
        db, "CREATE TABLE x(Store TEXT, TableName TEXT COLLATE NOCASE, Entities INT, Bytes INT, "
            "Changes TEXT, Expires TEXT, Limits HIDDEN TEXT, Horizon HIDDEN TEXT)");
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    pt_tables *tables = sqlite3_malloc64(sizeof *tables);
    if (tables == NULL) {
        return SQLITE_NOMEM;
    }
    *tables = (pt_tables){.follower = {.connection = context}, .declared = {.connection = context}};
    *vtab = &tables->follower.base;
    return SQLITE_OK;
}

static int disconnect_tables(sqlite3_vtab *vtab)
{
    pt_tables *tables = pt_tables_of(vtab);
    pt_buffer_free(&tables->named);
    pt_table_names_free(&tables->names);
    sqlite3_free(tables);
    return SQLITE_OK;
}

static int begin_write(sqlite3_vtab *vtab)
{
    pt_tables_of(vtab)->declared.connected = false;
    return pt_follower_begin(vtab);
}

/* Begins writing to a store. *view is what the transaction sees of it. A commit is full, unless
 * the connection declares tables in the store and all have sync=off. */
static int begin_store(const pt_tables *tables, pt_session *session, pt_view **view,
                       pt_error *error)
{
    int rc = pt_session_begin(session, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(session, view, error);
    }
    if (rc == SQLITE_OK) {
        pt_declaration all = pt_declared_tables_ask(&tables->declared, session, NULL);
        pt_session_require_sync(session, all.sync == PT_SYNC_OFF ? PT_SYNC_OFF : PT_SYNC_FULL);
    }
    return rc;
}

/* Begins to change a table, or to drop it, unless it is declared read-only. */
static int begin_change_of(pt_tables *tables, pt_session *session, const char *name, pt_view **view,
                           pt_error *error)
{
    pt_declaration said = pt_declared_tables_ask(&tables->declared, session, name);
    int rc = pt_declaration_check_writable(&said, "to change it", error);
    return rc == SQLITE_OK ? begin_store(tables, session, view, error) : rc;
}

/* --- Properties --- */

/* *expires is empty for NULL. */
static int read_expires(sqlite3_value *value, pt_slice *expires, pt_error *error)
{
    int type = sqlite3_value_type(value);
    *expires = (pt_slice){0};
    if (type == SQLITE_NULL) {
        return SQLITE_OK;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    if (type != SQLITE_TEXT || size == 0) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "Expires is %s; give the name of a property, whose DateTime says when "
                            "an entity expires, or NULL",
                            type == SQLITE_TEXT ? "empty" : "no text");
    }
    *expires = pt_slice_of(text, size);
    return SQLITE_OK;
}

static int set_expires(pt_tables *tables, pt_session *session, pt_view *view, const char *name,
                       sqlite3_value *value, pt_error *error)
{
    pt_slice expires;
    int rc = read_expires(value, &expires, error);
    return rc == SQLITE_OK
               ? pt_catalog_set_expires(session, view, &tables->declared, name, expires, error)
               : rc;
}

/* --- DELETE --- */

/* It is not an error if the table was dropped since the row was read. */
static int drop_table(pt_tables *tables, sqlite3_int64 rowid, pt_error *error)
{
    uint32_t number = (uint32_t)((uint64_t)rowid >> 32);
    pt_session *session = pt_connection_session_of(tables->follower.connection, number);
    const char *name = pt_table_names_find(&tables->names, rowid);
    if (!pt_tables_is_named(tables, number) || session == NULL || name == NULL) {
        return pt_catalog_ask_for_store(tables->follower.connection, error);
    }
    pt_view *view = NULL;
    pt_table_entry entry = {0};
    int rc = begin_change_of(tables, session, name, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, name, &entry, error);
    }
    if (rc == SQLITE_OK && entry.id == (uint32_t)rowid) {
        rc = pt_table_directory_remove(session, view, name, error);
    }
    return rc == SQLITE_NOTFOUND ? SQLITE_OK : rc;
}

/* --- INSERT --- */

/* Limits is 'azure' or 'none', in any case, or NULL. */
static int check_limits(sqlite3_value *limits, const char *name, pt_error *error)
{
    if (sqlite3_value_type(limits) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    const char *text = (const char *)sqlite3_value_text(limits);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    if (sqlite3_stricmp(text, "azure") == 0) {
        return pt_limits_check_table_name(name, error);
    }
    return sqlite3_stricmp(text, "none") == 0
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                              "Limits is %Q; give 'azure', 'none' or leave it out (InvalidInput)",
                              text);
}

static int check_new_name(sqlite3_value *value, const char **name, pt_error *error)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) {
        return pt_error_set(error, SQLITE_CONSTRAINT_NOTNULL,
                            "TableName is NULL; give the new table a name (PropertiesNeedValue)");
    }
    if (type == SQLITE_BLOB || type == SQLITE_FLOAT) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "TableName is a %s; give a text (InvalidResourceName)",
                            type == SQLITE_BLOB ? "BLOB" : "REAL");
    }
    *name = (const char *)sqlite3_value_text(value);
    if (*name == NULL) {
        return pt_error_nomem(error);
    }
    if (**name == 0) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "TableName is empty; give a text of 1 to %d bytes (OutOfRangeInput)",
                            PT_TABLE_NAME_MAX);
    }
    if (strlen(*name) != (size_t)sqlite3_value_bytes(value)) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "TableName %Q is followed by U+0000; leave that out "
                            "(InvalidResourceName)",
                            *name);
    }
    return SQLITE_OK;
}

/* `name` is the table's own spelling. */
static int refuse_existing(const pt_tables *tables, const pt_session *session, pt_slice name,
                           pt_error *error)
{
    bool replaces = sqlite3_vtab_on_conflict(tables->follower.connection->db) == SQLITE_REPLACE;
    char *spelling = sqlite3_mprintf("%.*s", (int)name.size, (const char *)name.data);
    if (spelling == NULL) {
        return pt_error_nomem(error);
    }
    pt_error_set(error, SQLITE_CONSTRAINT_PRIMARYKEY,
                 replaces
                     ? "store %Q already has a table %Q, and INSERT OR REPLACE does not drop its "
                       "entities; to drop them, DELETE the table first (TableAlreadyExists)"
                     : "store %Q already has a table %Q; use it, or INSERT OR IGNORE "
                       "(TableAlreadyExists)",
                 pt_session_store(session)->path, spelling);
    sqlite3_free(spelling);
    return error->rc;
}

/* Adds the table with its properties, or nothing. */
static int add_table(pt_tables *tables, pt_session *session, pt_view *view, const char *name,
                     sqlite3_value **columns, pt_error *error)
{
    sqlite3_value *changes = columns[PT_TABLES_CHANGES];
    size_t row = pt_session_begin_row(session);
    int rc = pt_table_directory_add(session, name, PT_TABLE_OF_ENTITIES, error);
    if (rc == SQLITE_OK && sqlite3_value_type(changes) != SQLITE_NULL) {
        rc = pt_catalog_set_changes(session, name, changes, error);
    }
    if (rc == SQLITE_OK) {
        rc = set_expires(tables, session, view, name, columns[PT_TABLES_EXPIRES], error);
    }
    return pt_session_finish_catalog_row(session, row, rc);
}

static int create_table_in(pt_tables *tables, pt_session *session, const char *name,
                           sqlite3_value **columns, sqlite3_int64 *rowid, pt_error *error)
{
    pt_view *view = NULL;
    pt_table_entry entry = {0};
    int rc = begin_store(tables, session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, name, &entry, error);
    }
    if (rc == SQLITE_OK) {
        return refuse_existing(tables, session, entry.name, error);
    }
    if (rc == SQLITE_NOTFOUND) {
        rc = add_table(tables, session, view, name, columns, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, name, &entry, error);
    }
    if (rc == SQLITE_OK) {
        uint32_t number = pt_connection_number_of(tables->follower.connection, session);
        *rowid = pt_tables_rowid(number, entry.id);
    }
    return rc;
}

/* The default store. If the main database is in memory and no store is open, that is a new private
 * store; beside other stores the statement must say which is meant. */
static int use_default_store(pt_connection *connection, pt_session **session, pt_error *error)
{
    char *path = NULL;
    int rc = pt_store_path(connection, "main", NULL, &path, error);
    bool creates = path == NULL && pt_connection_session_above(connection, 0) == NULL;
    sqlite3_free(path);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return creates ? pt_connection_use(connection, NULL, "main", true, session, error)
                   : pt_catalog_use_store(connection, NULL, session, error);
}

/* Uses the store to create a table in. */
static int use_given_store(const pt_tables *tables, sqlite3_value *store, pt_session **session,
                           pt_error *error)
{
    pt_connection *connection = tables->follower.connection;
    if (sqlite3_value_type(store) == SQLITE_NULL) {
        return use_default_store(connection, session, error);
    }
    const char *name = (const char *)sqlite3_value_text(store);
    return name != NULL ? pt_catalog_use_store(connection, name, session, error)
                        : pt_error_nomem(error);
}

static int refuse_unsettable(sqlite3_value **columns, pt_error *error)
{
    static const int refused[] = {PT_TABLES_ENTITIES, PT_TABLES_BYTES, PT_TABLES_HORIZON};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (sqlite3_value_type(columns[refused[i]]) != SQLITE_NULL) {
            return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                                "only Store, TableName, Changes, Expires and Limits can be given; "
                                "leave the other columns out");
        }
    }
    return SQLITE_OK;
}

static int create_table(pt_tables *tables, sqlite3_value **columns, sqlite3_int64 *rowid,
                        pt_error *error)
{
    const char *name = NULL;
    pt_session *session = NULL;
    int rc = refuse_unsettable(columns, error);
    if (rc == SQLITE_OK) {
        rc = check_new_name(columns[PT_TABLES_NAME], &name, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_limits(columns[PT_TABLES_LIMITS], name, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_companion_join(tables->follower.connection, error);
    }
    if (rc == SQLITE_OK) {
        rc = use_given_store(tables, columns[PT_TABLES_STORE], &session, error);
    }
    if (rc == SQLITE_OK) {
        rc = create_table_in(tables, session, name, columns, rowid, error);
        pt_connection_leave(tables->follower.connection, session);
    }
    return rc;
}

/* --- UPDATE --- */

/* SQLite says which columns SET does not name, except in UPDATE ... FROM with SQLite 3.40. Nobody
 * sets Limits, so it tells the two cases apart. */
static int refuse_other_columns(sqlite3_value **columns, pt_error *error)
{
    static const int refused[] = {PT_TABLES_STORE, PT_TABLES_NAME, PT_TABLES_ENTITIES,
                                  PT_TABLES_BYTES, PT_TABLES_HORIZON};
    bool all_given = !sqlite3_value_nochange(columns[PT_TABLES_LIMITS]);
    for (size_t i = 0; !all_given && i < sizeof refused / sizeof refused[0]; i++) {
        if (!sqlite3_value_nochange(columns[refused[i]])) {
            return pt_error_set(
                error, SQLITE_CONSTRAINT_VTAB,
                "only Changes and Expires can be changed; leave the other columns out of SET");
        }
    }
    return SQLITE_OK;
}

/* Sets both or none: SQLite takes nothing back in UPDATE OR IGNORE and OR FAIL. */
static int set_properties(pt_tables *tables, pt_session *session, const char *name,
                          sqlite3_value **columns, pt_error *error)
{
    pt_view *view = NULL;
    int rc = begin_change_of(tables, session, name, &view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    size_t row = pt_session_begin_row(session);
    if (!sqlite3_value_nochange(columns[PT_TABLES_CHANGES])) {
        rc = pt_catalog_set_changes(session, name, columns[PT_TABLES_CHANGES], error);
    }
    if (rc == SQLITE_OK && !sqlite3_value_nochange(columns[PT_TABLES_EXPIRES])) {
        rc = set_expires(tables, session, view, name, columns[PT_TABLES_EXPIRES], error);
    }
    return pt_session_finish_catalog_row(session, row, rc);
}

/* It is not an error if the table was dropped since the row was read. */
static int change_table(pt_tables *tables, sqlite3_int64 rowid, sqlite3_value **columns,
                        pt_error *error)
{
    uint32_t number = (uint32_t)((uint64_t)rowid >> 32);
    pt_session *session = pt_connection_session_of(tables->follower.connection, number);
    const char *name = pt_table_names_find(&tables->names, rowid);
    bool changes = !sqlite3_value_nochange(columns[PT_TABLES_CHANGES]) ||
                   !sqlite3_value_nochange(columns[PT_TABLES_EXPIRES]);
    int rc = refuse_other_columns(columns, error);
    if (rc == SQLITE_OK && (!pt_tables_is_named(tables, number) || session == NULL || !name)) {
        rc = pt_catalog_ask_for_store(tables->follower.connection, error);
    }
    if (rc == SQLITE_OK && changes) {
        rc = set_properties(tables, session, name, columns, error);
    }
    rc = rc == SQLITE_NOTFOUND ? SQLITE_OK : rc;
    if (rc != SQLITE_OK && session != NULL &&
        !pt_module_keeps_rows(tables->follower.connection->db, rc)) {
        pt_session_undo_statement(session); /* of UPDATE ... FROM, which has no savepoint */
    }
    return rc;
}

/* --- xUpdate --- */

/* Connecting the declared tables may roll the transaction back too. */
static int begin_table_update(pt_tables *tables, pt_error *error)
{
    int rc = pt_follower_begin_update(&tables->follower)
                 ? pt_declared_tables_connect(&tables->declared, error)
                 : SQLITE_OK;
    return rc == SQLITE_OK && !tables->follower.joined ? pt_session_refuse_rolled_back(error) : rc;
}

static int update_tables(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    enum { OLD_ROWID, NEW_ROWID, NEW_COLUMNS };
    pt_tables *tables = pt_tables_of(vtab);
    pt_error error = PT_ERROR_NONE;
    int rc = begin_table_update(tables, &error);
    if (rc != SQLITE_OK) {
        return pt_module_fail_write(tables->follower.connection->db, &vtab->zErrMsg, "pt_tables",
                                    &error);
    }
    if (argc == 1) {
        rc = drop_table(tables, sqlite3_value_int64(argv[OLD_ROWID]), &error);
    } else if (sqlite3_value_type(argv[OLD_ROWID]) != SQLITE_NULL &&
               sqlite3_value_int64(argv[OLD_ROWID]) == sqlite3_value_int64(argv[NEW_ROWID])) {
        rc = change_table(tables, sqlite3_value_int64(argv[OLD_ROWID]), argv + NEW_COLUMNS, &error);
    } else if (sqlite3_value_type(argv[NEW_ROWID]) != SQLITE_NULL) {
        rc = pt_error_set(&error, SQLITE_CONSTRAINT_VTAB,
                          "the rowid cannot be given; give only Store, TableName, Changes, Expires "
                          "and Limits in INSERT, and Changes and Expires in UPDATE");
    } else {
        rc = create_table(tables, argv + NEW_COLUMNS, rowid, &error);
    }
    return rc == SQLITE_OK ? rc
                           : pt_module_fail_write(tables->follower.connection->db, &vtab->zErrMsg,
                                                  "pt_tables", &error);
}

/* Without xCreate the table is eponymous: it exists once in every connection. */
static const sqlite3_module tables_module = {
    .iVersion = 2,
    .xConnect = connect_tables,
    .xBestIndex = pt_tables_best_index,
    .xDisconnect = disconnect_tables,
    .xOpen = pt_tables_open,
    .xClose = pt_tables_close,
    .xFilter = pt_tables_filter,
    .xNext = pt_tables_next,
    .xEof = pt_tables_eof,
    .xColumn = pt_tables_column,
    .xRowid = pt_tables_cursor_rowid,
    .xUpdate = update_tables,
    .xBegin = begin_write,
    .xSync = pt_follower_sync,
    .xCommit = pt_follower_commit,
    .xRollback = pt_follower_rollback,
    .xSavepoint = pt_follower_savepoint,
    .xRelease = pt_follower_release,
    .xRollbackTo = pt_follower_rollback_to,
};

int pt_tables_register(sqlite3 *db, pt_connection *connection)
{
    return pt_module_register(db, "pt_tables", &tables_module, connection);
}
