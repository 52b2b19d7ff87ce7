#include "table/table.h"

#include "module/companion.h"
#include "module/module.h"
#include "module/registration.h"
#include "module/store_path.h"
#include "table/refusals.h"
#include "transaction/index_builder.h"
#include "transaction/index_spelling.h"

int pt_table_fail(pt_table *table, pt_error *error)
{
    return pt_module_fail(&table->base.zErrMsg, table->config.sql_name, error);
}

static int open_or_create_store(pt_table *table, bool create, pt_error *error)
{
    if (table->session != NULL) {
        return SQLITE_OK;
    }
    int rc = pt_store_path_check(table->config.store, error);
    return rc == SQLITE_OK ? pt_connection_use(table->connection, table->path, table->schema,
                                               create, &table->session, error)
                           : rc;
}

int pt_table_open_store(pt_table *table, pt_error *error)
{
    return open_or_create_store(table, false, error);
}

static const char *module_of(pt_table_kind kind)
{
    switch (kind) {
    case PT_TABLE_OF_ENTITIES:
        return "USING ptable";
    case PT_TABLE_OF_MESSAGES:
        return "USING pt_queue";
    default:
        return "by a later version of ptable";
    }
}

static int refuse_kind(const pt_table *table, pt_error *error)
{
    return pt_error_set(
        error, SQLITE_ERROR,
        "table %Q of store %Q was created %s and cannot be used by %s; choose another "
        "name with table=..., or drop it with all that it holds: DELETE FROM "
        "pt_tables WHERE Store = %Q AND TableName = %Q",
        table->config.table, pt_session_store(table->session)->path, module_of(table->id.kind),
        table->form->module, pt_session_store(table->session)->path, table->config.table);
}

/* SQLITE_NOTFOUND, without a text, if the store does not have the table. */
static int find_id_of_kind(pt_table *table, pt_view *view, pt_error *error)
{
    int rc = pt_table_directory_find(table->session, view, table->config.table, &table->id, error);
    return rc == SQLITE_OK && table->id.kind != table->form->kind ? refuse_kind(table, error) : rc;
}

/* Several connections can have one database in memory open (cache=shared, vfs=memdb), and any
 * database can be copied into memory. A private store comes with neither. */
static const char *advice_on_private_store(const pt_table *table)
{
    return table->path == NULL
               ? "; a private store belongs to one connection and is not copied with the "
                 "database: to share a store, name a file with store='path'"
               : "";
}

static int refuse_missing_table(const pt_table *table, pt_error *error)
{
    const char *store = pt_session_store(table->session)->path;
    const char *writable = table->read_only ? " without readonly=1" : "";
    if (table->form->kind == PT_TABLE_OF_MESSAGES) {
        return pt_error_set(
            error, SQLITE_ERROR,
            "store %Q has no queue %Q; DROP TABLE and CREATE VIRTUAL TABLE%s create "
            "it%s (QueueNotFound)",
            store, table->config.table, writable, advice_on_private_store(table));
    }
    return pt_error_set(error, SQLITE_ERROR,
                        "store %Q has no table %Q; INSERT INTO pt_tables(Store, TableName) creates "
                        "it, and so do DROP TABLE and CREATE VIRTUAL TABLE%s%s (TableNotFound)",
                        store, table->config.table, writable, advice_on_private_store(table));
}

/* For a table whose entities expire, which has an index on their times. Every statement asks for
 * the time, so that it is that of the transaction's first statement. */
static int learn_expiry(pt_table *table, pt_view *view, pt_error *error)
{
    pt_table_entry entry = {0};
    unsigned loads = table->indexes.list.loads;
    pt_view_now(view);
    if (table->expiry.loads == loads) {
        return SQLITE_OK;
    }
    int rc = pt_table_directory_read(view, table->config.table, &entry, error);
    return rc == SQLITE_OK && !pt_expiry_set(&table->expiry, entry.properties.expires, loads)
               ? pt_error_nomem(error)
               : rc;
}

/* For the planner, which does not read the store. A damaged index is a matter of those that use it.
 */
static int learn_indexes(pt_table *table, pt_view *view, pt_error *error)
{
    int rc =
        pt_index_list_load(&table->indexes.list, table->session, view, table->config.table, error);
    if (rc == SQLITE_CORRUPT_VTAB) {
        pt_error_clear(error);
        rc = SQLITE_OK;
    }
    return rc == SQLITE_OK && table->id.expires ? learn_expiry(table, view, error) : rc;
}

int pt_table_find_id(pt_table *table, pt_view *view, pt_error *error)
{
    int rc = find_id_of_kind(table, view, error);
    if (rc == SQLITE_OK && table->id.indexed) {
        return learn_indexes(table, view, error);
    }
    return rc == SQLITE_NOTFOUND ? refuse_missing_table(table, error) : rc;
}

int pt_table_learn_indexes(pt_table *table)
{
    pt_error error = PT_ERROR_NONE;
    pt_view *view = NULL;
    if (table->session == NULL &&
        !pt_connection_has_open(table->connection, table->path, table->schema)) {
        return SQLITE_OK;
    }
    int rc = pt_table_open_store(table, &error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &view, &error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_find_id(table, view, &error);
    }
    if (table->session != NULL) {
        pt_session_end_read(table->session);
    }
    pt_error_clear(&error);
    return rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

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

int pt_table_open_scan(pt_table *table, pt_scan *scan, pt_error *error)
{
    pt_view *view = NULL;
    /* Join first: the view of a transaction that is followed lasts until its end. */
    int rc = pt_companion_join(table->connection, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_find_id(table, view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_scan_open(scan, view, error);
    }
    if (rc == SQLITE_OK) {
        pt_scan_freeze(scan);
    }
    return rc;
}

/* --- Indexes --- */

static pt_place_in_store place_of(const pt_table *table)
{
    return (pt_place_in_store){.store = pt_session_store(table->session)->path,
                               .table = table->config.table};
}

/* Compares one with the list. *missing = true if it is not there. */
static int compare_declared(const pt_table *table, const pt_index_definition *declared,
                            bool *missing, pt_error *error)
{
    const pt_index *index =
        pt_index_list_find(&table->indexes.list, pt_index_definition_key(declared));
    *missing = index == NULL;
    return index != NULL && index->unique != declared->unique
               ? pt_refuse_other_index(place_of(table), declared, error)
               : SQLITE_OK;
}

static int load_list(pt_table *table, pt_error *error)
{
    return pt_index_writer_load(&table->indexes, table->session, table->config.table, error);
}

static int compare_all(pt_table *table, pt_error *error)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < table->config.index_count; i++) {
        bool missing = false;
        rc = compare_declared(table, &table->config.indexes[i], &missing, error);
        if (rc == SQLITE_OK && missing) {
            rc = pt_refuse_missing_index(place_of(table), &table->config.indexes[i], error);
        }
    }
    return rc;
}

/* *missing = true if the entities do not expire, but the declaration says so. The list is loaded.
 */
static int compare_expiry(const pt_table *table, bool *missing, pt_error *error)
{
    const char *declared = table->config.expires;
    pt_slice name = table->indexes.list.kept.expires;
    *missing = declared != NULL && name.size == 0;
    return declared == NULL || *missing || pt_slice_equal(name, pt_slice_text(declared))
               ? SQLITE_OK
               : pt_refuse_other_expiry(place_of(table), declared, name, error);
}

static bool lacks_changes(const pt_table *table)
{
    return table->config.changes && table->indexes.list.kept.changes_id == 0;
}

int pt_table_load_indexes(pt_table *table, pt_error *error)
{
    bool missing = false;
    int rc = load_list(table, error);
    if (rc != SQLITE_OK || table->declared_indexes == table->indexes.list.loads) {
        return rc;
    }
    rc = compare_all(table, error);
    if (rc == SQLITE_OK) {
        rc = compare_expiry(table, &missing, error);
    }
    if (rc == SQLITE_OK && missing) {
        rc = pt_refuse_other_expiry(place_of(table), table->config.expires, (pt_slice){0}, error);
    }
    if (rc == SQLITE_OK && lacks_changes(table)) {
        rc = pt_refuse_missing_changes(place_of(table), error);
    }
    if (rc == SQLITE_OK) {
        table->declared_indexes = table->indexes.list.loads;
    }
    return rc;
}

static int look_for_indexes(pt_table *table, bool *missing, pt_error *error)
{
    bool declares = table->config.index_count != 0 || table->config.changes;
    *missing = false;
    int rc = declares ? load_list(table, error) : SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < table->config.index_count; i++) {
        bool lacks = false;
        rc = compare_declared(table, &table->config.indexes[i], &lacks, error);
        *missing = *missing || lacks;
    }
    *missing = *missing || (declares && lacks_changes(table));
    return rc == SQLITE_OK && !*missing ? compare_expiry(table, missing, error) : rc;
}

/* Makes one, if it is missing. */
static int make_index(pt_table *table, const pt_index_definition *declared, pt_view *view,
                      pt_error *error)
{
    bool missing = false;
    int rc = load_list(table, error);
    if (rc == SQLITE_OK) {
        rc = compare_declared(table, declared, &missing, error);
    }
    if (rc != SQLITE_OK || !missing) {
        return rc;
    }
    pt_session_require_sync(table->session, table->config.sync);
    rc = pt_index_check_spelling(declared, table->config.columns, table->config.column_count, view,
                                 table->id.id, table->config.table, error);
    if (rc == SQLITE_OK) {
        rc = pt_index_directory_add(table->session, table->config.table, declared, error);
    }
    if (rc == SQLITE_OK) {
        rc = load_list(table, error);
    }
    return rc == SQLITE_OK ? pt_index_build(&table->indexes,
                                            pt_index_list_find(&table->indexes.list,
                                                               pt_index_definition_key(declared)),
                                            table->id.id, error)
                           : rc;
}

/* Makes entities expire as it is declared, after the index has been made. */
static int make_expiry(pt_table *table, pt_view *view, pt_error *error)
{
    bool missing = false;
    int rc = compare_expiry(table, &missing, error);
    if (rc != SQLITE_OK || !missing) {
        return rc;
    }
    pt_table_properties properties = table->indexes.list.kept;
    properties.expires = pt_slice_text(table->config.expires);
    pt_session_require_sync(table->session, table->config.sync);
    return pt_table_directory_set_properties(table->session, view, table->config.table, &properties,
                                             error);
}

static int make_changes(pt_table *table, pt_error *error)
{
    pt_session_require_sync(table->session, table->config.sync);
    return pt_change_log_switch(table->session, table->config.table, true, error);
}

static int make_indexes(pt_table *table, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(table->session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_find_id(table, view, error);
    }
    for (int i = 0; rc == SQLITE_OK && i < table->config.index_count; i++) {
        rc = make_index(table, &table->config.indexes[i], view, error);
    }
    if (rc == SQLITE_OK) {
        rc = load_list(table, error);
    }
    if (rc == SQLITE_OK && lacks_changes(table)) {
        rc = make_changes(table, error);
    }
    if (rc == SQLITE_OK) {
        rc = load_list(table, error);
    }
    return rc == SQLITE_OK ? make_expiry(table, view, error) : rc;
}

/* --- Creating and connecting --- */

void pt_table_leave_store(pt_table *table)
{
    pt_session *session = table->session;
    table->session = NULL;
    /* The next session counts its own changes of the catalogue. */
    table->id.stamp.known = false;
    table->indexes.list.stamp.known = false;
    if (session != NULL) {
        pt_connection_leave(table->connection, session);
    }
}

static bool leave_store(pt_connected *connected)
{
    pt_table *table = pt_table_of_connected(connected);
    if (table->busy == 0) {
        table->form->leave_store(table);
    }
    return table->busy == 0;
}

void pt_table_clear(pt_table *table)
{
    pt_connected_tables_remove(table->connection, &table->connected);
    pt_table_leave_store(table);
    pt_column_map_free(&table->map);
    pt_bag_free(&table->bag);
    pt_bag_free(&table->columns);
    sqlite3_free(table->alike.fields);
    sqlite3_free(table->alike.targets);
    pt_buffer_free(&table->key);
    pt_buffer_free(&table->old_key);
    pt_buffer_free(&table->old_record);
    pt_buffer_free(&table->old_shape);
    pt_buffer_free(&table->new_shape);
    pt_buffer_free(&table->json);
    pt_index_writer_free(&table->indexes);
    pt_expiry_free(&table->expiry);
    pt_config_free(&table->config);
    sqlite3_free(table->schema);
    sqlite3_free(table->path);
    sqlite3_free(table->base.zErrMsg);
}

static void free_table(pt_table *table)
{
    table->form->release(table);
    pt_table_clear(table);
    sqlite3_free(table);
}

static int declare_table(sqlite3 *db, const pt_table *table, pt_error *error)
{
    char *declaration = table->form->declaration(table);
    if (declaration == NULL) {
        return pt_error_nomem(error);
    }
    int rc = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return rc == SQLITE_OK ? rc : pt_error_set(error, rc, "%s", sqlite3_errmsg(db));
}

static int configure_table(pt_table *table, int argc, const char *const *argv, pt_error *error)
{
    sqlite3 *db = table->db;
    int rc = table->form->configure(table, argc, argv, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    table->schema = sqlite3_mprintf("%s", pt_connection_schema(table->connection, argv[1]));
    if (table->schema == NULL) {
        return pt_error_nomem(error);
    }
    rc = pt_store_path(table->connection, table->schema, table->config.store, &table->path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    table->read_only = table->config.read_only || sqlite3_db_readonly(db, table->schema) == 1;
    bool utf8;
    if (pt_module_is_utf8(db, table->schema, &utf8) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    table->other_encoding = !utf8;
    return declare_table(db, table, error);
}

/* For xCreate and xConnect. NULL, with the error set, on failure. */
static pt_table *new_table(const pt_module_registration *registration, int argc,
                           const char *const *argv, pt_error *error)
{
    const pt_table_form *form = registration->description;
    pt_connection *connection = registration->connection;
    pt_table *table = sqlite3_malloc64(form->size);
    if (table == NULL) {
        pt_error_nomem(error);
        return NULL;
    }
    memset(table, 0, form->size);
    table->form = form;
    table->connection = connection;
    table->db = connection->db;
    if (configure_table(table, argc, argv, error) != SQLITE_OK) {
        free_table(table);
        return NULL;
    }
    table->connected.schema = table->schema;
    table->connected.name = table->config.sql_name;
    table->connected.leave_store = leave_store;
    pt_connected_tables_add(connection, &table->connected);
    return table;
}

/* Finds the table in the session's view, for callers that do not have it. SQLITE_NOTFOUND as
 * find_id_of_kind. */
static int find_in_session_view(pt_table *table, pt_error *error)
{
    pt_view *view;
    int rc = pt_session_read(table->session, &view, error);
    if (rc == SQLITE_OK) {
        rc = find_id_of_kind(table, view, error);
    }
    pt_session_end_read(table->session);
    return rc;
}

int pt_table_add_if_missing(pt_table *table, pt_error *error)
{
    int rc = find_in_session_view(table, error);
    if (rc != SQLITE_NOTFOUND) {
        return rc;
    }
    pt_session_require_sync(table->session, table->config.sync);
    return pt_table_directory_add(table->session, table->config.table, table->form->kind, error);
}

static int begin_and_add(pt_table *table, pt_error *error)
{
    int rc = pt_session_begin(table->session, error);
    /* Look again: before we got the writer lock another connection may have added the table. */
    if (rc == SQLITE_OK) {
        rc = pt_table_add_if_missing(table, error);
    }
    return rc == SQLITE_OK ? make_indexes(table, error) : rc;
}

/* SQLITE_NOTFOUND if the store lacks the table, or something that the table declares. */
static int find_whole(pt_table *table, pt_error *error)
{
    bool missing = false;
    int rc = find_in_session_view(table, error);
    if (rc == SQLITE_OK) {
        rc = look_for_indexes(table, &missing, error);
        pt_session_end_read(table->session);
    }
    return rc == SQLITE_OK && missing ? SQLITE_NOTFOUND : rc;
}

/*
 * Creates the store, and the table in it, if they do not exist. A virtual table joins the
 * transaction that creates it without xBegin, so in an explicit transaction, which may go on to
 * write to the table, this begins the session's transaction.
 */
static int create_in_store(pt_table *table, pt_error *error)
{
    int rc = open_or_create_store(table, true, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool was_writing = pt_session_is_writing(table->session);
    /* Join before the transaction reads or writes: if a ROLLBACK TO undoes this CREATE, SQLite
     * tells only the companion, and after DROP TABLE only the companion gets xCommit. */
    rc = pt_companion_join(table->connection, error);
    if (rc == SQLITE_OK) {
        rc = find_whole(table, error);
    }
    bool goes_on = !sqlite3_get_autocommit(table->db);
    /* While cursors are open, our view may be older than the store, and the table gone. */
    bool may_be_gone = pt_session_is_being_read(table->session);
    if (rc == SQLITE_NOTFOUND || (rc == SQLITE_OK && (goes_on || may_be_gone))) {
        rc = begin_and_add(table, error);
    }
    if (rc != SQLITE_OK && !was_writing) {
        /* SQLite calls no xRollback for a table whose xCreate has failed. */
        pt_session_rollback(table->session);
    }
    table->created_in_transaction = !was_writing && pt_session_is_writing(table->session);
    return rc;
}

int pt_table_create(sqlite3 *db, void *registration, int argc, const char *const *argv,
                    sqlite3_vtab **vtab, char **message)
{
    (void)db;
    pt_error error = PT_ERROR_NONE;
    pt_table *table = new_table(registration, argc, argv, &error);
    if (table == NULL) {
        return pt_module_fail(message, argv[2], &error);
    }
    int rc = table->form->check_name(table, &error);
    if (rc == SQLITE_OK) {
        rc = pt_store_path_check(table->config.store, &error); /* also if it is only read, later */
    }
    if (rc == SQLITE_OK && !table->read_only) {
        rc = create_in_store(table, &error);
    }
    if (rc != SQLITE_OK) {
        free_table(table);
        return pt_module_fail(message, argv[2], &error);
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

int pt_table_connect(sqlite3 *db, void *registration, int argc, const char *const *argv,
                     sqlite3_vtab **vtab, char **message)
{
    (void)db;
    const pt_module_registration *registered = registration;
    pt_error error = PT_ERROR_NONE;
    pt_table *table = NULL;
    if (pt_companion_ensure(registered->connection, &error) == SQLITE_OK) {
        table = new_table(registered, argc, argv, &error);
    }
    if (table == NULL) {
        return pt_module_fail(message, argv[2], &error);
    }
    *vtab = &table->base;
    return SQLITE_OK;
}

/* --- Disconnecting and dropping --- */

/*
 * If SQLite runs out of memory when it adds a new table to the transaction, it disconnects the
 * table without xRollback: then roll back here.
 */
static void roll_back_and_free(pt_table *table)
{
    if (table->created_in_transaction) {
        pt_session_rollback(table->session);
    }
    free_table(table);
}

int pt_table_disconnect(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    if (table->busy != 0) {
        table->disconnected = true;
    } else {
        roll_back_and_free(table);
    }
    return SQLITE_OK;
}

void pt_table_clear_busy_by_name(pt_table *table)
{
    pt_table_clear_busy(table);
    if (table->disconnected && table->busy == 0) {
        roll_back_and_free(table);
    }
}

/*
 * After DROP TABLE SQLite calls no callback of the table any more. If the table was written to,
 * only the companion can commit that; if it cannot join, DROP TABLE fails and the user must COMMIT
 * first. (SQLite shows no message of xDestroy.)
 */
int pt_table_destroy(sqlite3_vtab *vtab)
{
    pt_table *table = pt_table_of(vtab);
    if (table->busy != 0) {
        return SQLITE_LOCKED;
    }
    pt_connection_notice_detach(table->connection);
    if (table->session != NULL && pt_session_is_writing(table->session)) {
        pt_error error = PT_ERROR_NONE;
        pt_table_set_busy(table);
        int rc = pt_companion_join(table->connection, &error);
        pt_table_clear_busy(table);
        pt_error_clear(&error);
        if (rc != SQLITE_OK || !table->connection->followed) {
            return rc != SQLITE_OK ? rc : SQLITE_LOCKED;
        }
    }
    free_table(table);
    return SQLITE_OK;
}

int pt_table_rename(sqlite3_vtab *vtab, const char *name)
{
    pt_table *table = pt_table_of(vtab);
    if (table->config.table_given) {
        return SQLITE_OK;
    }
    pt_error error = PT_ERROR_NONE;
    pt_error_set(&error, SQLITE_ERROR,
                 "cannot be renamed to %Q, because its name is also the table's name in the store; "
                 "DROP TABLE "
                 "(the entities stay) and CREATE VIRTUAL TABLE \"%w\" USING %s(..., table=%Q)",
                 name, name, table->form->module, table->config.table);
    return pt_table_fail(table, &error);
}

/*
 * SQLite 3.40 prepares UPDATE and DELETE ... LIMIT before it has connected the table, so it does
 * not know yet that the table is WITHOUT ROWID, and calls xRowid. SQLITE_SCHEMA makes it prepare
 * the statement again; then it knows.
 */
int pt_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    (void)rowid;
    return SQLITE_SCHEMA;
}
