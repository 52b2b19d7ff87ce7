#include "catalog/indexes.h"

#include "base/assert.h"
#include "catalog/new_index.h"
#include "catalog/stores.h"
#include "entity/key.h"
#include "module/companion.h"
#include "module/follower.h"
#include "module/module.h"
#include "module/registration.h"

/* Bits of a plan. */
enum { INDEXES_BY_STORE = 1, INDEXES_COUNTED = 2 };

/* The virtual table. */
typedef struct indexes_table {
    pt_follower follower; /* first */
    pt_declared_tables declared;
    bool lists_all; /* the last cursor was not told a store, and there is no default one */
} indexes_table;

typedef struct index_row {
    uint32_t number; /* of the session */
    uint32_t id;
    pt_slice store;
    pt_slice table;
    pt_slice name;
    bool unique;
    pt_table_counts counts;
} index_row;

typedef struct indexes_cursor {
    sqlite3_vtab_cursor base;
    index_row *rows; /* all, read when the query begins */
    unsigned count;
    unsigned capacity;
    unsigned at;
    pt_arena arena;
} indexes_cursor;

static indexes_table *indexes_of(sqlite3_vtab *vtab)
{
    return (indexes_table *)vtab;
}

static indexes_cursor *indexes_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (indexes_cursor *)cursor;
}

/* --- Connecting and planning --- */

static int connect_indexes(sqlite3 *db, void *context, int argc, const char *const *argv,
                           sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    int rc = sqlite3_declare_vtab(db, "CREATE TABLE x(Store TEXT, TableName TEXT COLLATE NOCASE, "
                                      "IndexName TEXT, Columns TEXT, IsUnique INT, Entries INT, "
                                      "Bytes INT)");
    if (rc != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return rc;
    }
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    indexes_table *indexes = sqlite3_malloc64(sizeof *indexes);
    if (indexes == NULL) {
        return SQLITE_NOMEM;
    }
    *indexes =
        (indexes_table){.follower = {.connection = context}, .declared = {.connection = context}};
    *vtab = &indexes->follower.base;
    return SQLITE_OK;
}

static int disconnect_indexes(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static bool is_store_term(sqlite3_index_info *info, int i)
{
    unsigned char op = info->aConstraint[i].op;
    return info->aConstraint[i].iColumn == PT_INDEXES_STORE &&
           (op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS) &&
           sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") == 0;
}

/* Without a Store the rows come from the default store, or from all: a plan with the Store must
 * win. */
static int plan_indexes(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const char *const sentences[] = {"indexes", "indexes: Store=?"};
    const sqlite3_uint64 counts = UINT64_C(1) << PT_INDEXES_ENTRIES | UINT64_C(1)
                                                                          << PT_INDEXES_BYTES;
    (void)vtab;
    bool waiting = false;
    int plan = (info->colUsed & counts) != 0 ? INDEXES_COUNTED : 0;
    for (int i = 0; i < info->nConstraint; i++) {
        if (is_store_term(info, i) && !info->aConstraint[i].usable) {
            waiting = true;
        } else if (is_store_term(info, i) && (plan & INDEXES_BY_STORE) == 0) {
            plan |= INDEXES_BY_STORE;
            info->aConstraintUsage[i].argvIndex = 1;
        }
    }
    bool by_store = (plan & INDEXES_BY_STORE) != 0;
    info->idxNum = plan;
    info->idxStr = (char *)(uintptr_t)sentences[by_store];
    info->estimatedRows = 100;
    info->estimatedCost = by_store ? 10 : waiting ? 1e12 : 1e6;
    return SQLITE_OK;
}

/* --- Reading --- */

static int open_indexes(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    indexes_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (indexes_cursor){.rows = NULL};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int close_indexes(sqlite3_vtab_cursor *base)
{
    indexes_cursor *cursor = indexes_cursor_of(base);
    pt_arena_free(&cursor->arena);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int add_index_row(indexes_cursor *cursor, const index_row *row, pt_error *error)
{
    if (!pt_arena_reserve(&cursor->arena, &cursor->rows, &cursor->capacity, cursor->count,
                          sizeof *cursor->rows)) {
        return pt_error_nomem(error);
    }
    cursor->rows[cursor->count++] = *row;
    return SQLITE_OK;
}

static int copy_index_name(indexes_cursor *cursor, const pt_index *index, pt_slice *copy,
                           pt_error *error)
{
    pt_buffer name = {0};
    pt_index_name_from_key(index->names, &name);
    if (!name.failed) {
        *copy = pt_arena_copy(&cursor->arena, pt_slice_of(name.data, name.size - 1));
    }
    bool done = !name.failed && copy->data != NULL;
    pt_buffer_free(&name);
    return done ? SQLITE_OK : pt_error_nomem(error);
}

/* Takes a record of the catalogue: a table, which is remembered in the row, or one of its indexes.
 */
static int take_record(indexes_cursor *cursor, const pt_scan *scan, bool counted, index_row *row,
                       pt_error *error)
{
    pt_table_entry entry;
    pt_index index;
    if (!pt_slice_has_nul(pt_key_entity(scan->key))) {
        row->table = pt_table_entry_read(scan->key, scan->record, &entry)
                         ? pt_arena_copy(&cursor->arena, entry.name)
                         : pt_arena_copy(&cursor->arena, pt_key_entity(scan->key));
        return row->table.data != NULL ? SQLITE_OK : pt_error_nomem(error);
    }
    if (!pt_index_read(scan->key, scan->record, &index)) {
        return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                            "the catalogue entry of an index of table '%.*q' is damaged in store "
                            "%Q; restore the store from a backup",
                            (int)row->table.size, (const char *)row->table.data,
                            scan->view->snapshot->store->path);
    }
    row->id = index.id;
    row->unique = index.unique;
    int rc = copy_index_name(cursor, &index, &row->name, error);
    if (rc == SQLITE_OK && counted) {
        rc = pt_table_counts_of(scan->view, index.id, &row->counts, error);
    }
    return rc == SQLITE_OK ? add_index_row(cursor, row, error) : rc;
}

/* Opens a scan of the catalogue, which does not show later writes. */
static int open_catalog(pt_scan *scan, pt_view *view, pt_error *error)
{
    pt_key_start low = pt_key_start_of_table(PT_TABLE_CATALOG);
    pt_key_start high = pt_key_start_after(low);
    int rc = pt_scan_open(scan, view, error);
    if (rc == SQLITE_OK) {
        pt_scan_freeze(scan);
        rc = pt_scan_seek(scan, pt_key_start_slice(&low), pt_key_start_slice(&high), PT_FORWARD,
                          error);
    }
    return rc;
}

static int read_catalog(indexes_cursor *cursor, pt_view *view, bool counted, index_row *row,
                        pt_error *error)
{
    pt_scan scan = {0};
    int rc = open_catalog(&scan, view, error);
    while (rc == SQLITE_OK && scan.valid) {
        rc = take_record(cursor, &scan, counted, row, error);
        rc = rc == SQLITE_OK ? pt_view_step(view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    return rc;
}

/* Reads the indexes of one store; `given` is its name in the statement, or NULL. */
static int read_indexes_of_store(indexes_cursor *cursor, pt_session *session, const char *given,
                                 bool counted, pt_error *error)
{
    indexes_table *indexes = indexes_of(cursor->base.pVtab);
    pt_view *view = NULL;
    char *store = given != NULL ? sqlite3_mprintf("%s", given)
                                : pt_catalog_store_name(indexes->follower.connection, session);
    index_row row = {.number = pt_connection_number_of(indexes->follower.connection, session)};
    if (store != NULL) {
        row.store = pt_arena_copy(&cursor->arena, pt_slice_text(store));
    }
    int rc = row.store.data != NULL ? SQLITE_OK : pt_error_nomem(error);
    sqlite3_free(store);
    pt_session_cursor_opened(session);
    if (rc == SQLITE_OK && pt_follower_takes_lock(&indexes->follower)) {
        rc = pt_session_begin(session, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_read(session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = read_catalog(cursor, view, counted, &row, error);
    }
    pt_session_cursor_closed(session);
    return rc;
}

static int read_all_stores(indexes_cursor *cursor, bool counted, pt_error *error)
{
    pt_connection *connection = indexes_of(cursor->base.pVtab)->follower.connection;
    uint32_t number = 0;
    int rc = SQLITE_OK;
    for (pt_session *open;
         rc == SQLITE_OK && (open = pt_connection_session_above(connection, number)) != NULL;) {
        number = pt_connection_number_of(connection, open);
        pt_connection_use_again(connection, open);
        rc = read_indexes_of_store(cursor, open, NULL, counted, error);
        pt_connection_leave(connection, open);
    }
    return rc;
}

static int read_rows(indexes_cursor *cursor, const char *store, bool counted, pt_error *error)
{
    indexes_table *indexes = indexes_of(cursor->base.pVtab);
    pt_connection *connection = indexes->follower.connection;
    pt_session *session = NULL;
    int rc = pt_companion_join(connection, error);
    if (rc == SQLITE_OK) {
        rc = store != NULL ? pt_catalog_use_store(connection, store, &session, error)
                           : pt_catalog_use_default_store(connection, &session, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    indexes->lists_all = session == NULL;
    if (session == NULL) {
        return read_all_stores(cursor, counted, error);
    }
    rc = read_indexes_of_store(cursor, session, store, counted, error);
    pt_connection_leave(connection, session);
    return rc;
}

static int filter_indexes(sqlite3_vtab_cursor *base, int plan, const char *sentence, int argc,
                          sqlite3_value **argv)
{
    (void)sentence;
    (void)argc;
    indexes_cursor *cursor = indexes_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    const char *store = NULL;
    pt_connection_notice_detach(indexes_of(base->pVtab)->follower.connection);
    pt_arena_clear(&cursor->arena);
    cursor->rows = NULL;
    cursor->count = 0;
    cursor->capacity = 0;
    cursor->at = 0;
    if ((plan & INDEXES_BY_STORE) != 0) {
        if (sqlite3_value_type(argv[0]) == SQLITE_NULL ||
            sqlite3_value_type(argv[0]) == SQLITE_BLOB) {
            return SQLITE_OK;
        }
        store = (const char *)sqlite3_value_text(argv[0]);
        if (store == NULL) {
            return SQLITE_NOMEM;
        }
    }
    int rc = read_rows(cursor, store, (plan & INDEXES_COUNTED) != 0, &error);
    return rc == SQLITE_OK ? rc : pt_module_fail(&base->pVtab->zErrMsg, "pt_indexes", &error);
}

static int next_index(sqlite3_vtab_cursor *base)
{
    indexes_cursor_of(base)->at++;
    return SQLITE_OK;
}

static int is_after_indexes(sqlite3_vtab_cursor *base)
{
    const indexes_cursor *cursor = indexes_cursor_of(base);
    return cursor->at >= cursor->count;
}

static int index_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const indexes_cursor *cursor = indexes_cursor_of(base);
    const index_row *row = &cursor->rows[cursor->at];
    switch (column) {
    case PT_INDEXES_STORE:
        pt_tvf_result_text(context, row->store);
        break;
    case PT_INDEXES_TABLE:
        pt_tvf_result_text(context, row->table);
        break;
    case PT_INDEXES_NAME:
    case PT_INDEXES_COLUMNS:
        pt_tvf_result_text(context, row->name);
        break;
    case PT_INDEXES_UNIQUE:
        sqlite3_result_int(context, row->unique);
        break;
    case PT_INDEXES_ENTRIES:
        sqlite3_result_int64(context, row->counts.entities);
        break;
    default:
        sqlite3_result_int64(context, row->counts.bytes);
        break;
    }
    return SQLITE_OK;
}

static sqlite3_int64 rowid_of(uint32_t session, uint32_t index)
{
    return (sqlite3_int64)((uint64_t)session << 32 | index);
}

static int index_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const indexes_cursor *cursor = indexes_cursor_of(base);
    *rowid = rowid_of(cursor->rows[cursor->at].number, cursor->rows[cursor->at].id);
    return SQLITE_OK;
}

/* --- Writing --- */

static int begin_indexes(sqlite3_vtab *vtab)
{
    indexes_of(vtab)->declared.connected = false;
    return pt_follower_begin(vtab);
}

/* Begins to write to the indexes of a table. */
static int begin_change(const indexes_table *indexes, pt_session *session, const char *table,
                        pt_view **view, pt_error *error)
{
    pt_declaration said = pt_declared_tables_ask(&indexes->declared, session, table);
    int rc = pt_declaration_check_writable(&said, "to change its indexes", error);
    if (rc == SQLITE_OK) {
        rc = pt_session_begin(session, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_read(session, view, error);
    }
    if (rc == SQLITE_OK) {
        pt_session_require_sync(session, said.sync);
    }
    return rc;
}

/* --- DELETE --- */

/* Finds an index by its id. *key is its key in the catalogue; empty: it is not there. */
static int find_index(pt_view *view, uint32_t id, pt_buffer *key, pt_error *error)
{
    pt_scan scan = {0};
    int rc = open_catalog(&scan, view, error);
    while (rc == SQLITE_OK && scan.valid && key->size == 0) {
        pt_index index;
        bool found = pt_slice_has_nul(pt_key_entity(scan.key)) &&
                     pt_index_read(scan.key, scan.record, &index) && index.id == id;
        if (found && !pt_buffer_assign(key, scan.key)) {
            rc = pt_error_nomem(error);
        }
        rc = rc == SQLITE_OK ? pt_scan_step(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    return rc;
}

/* It is not an error if the index was dropped since the row was read. */
static int drop_index(indexes_table *indexes, sqlite3_int64 rowid, pt_error *error)
{
    uint32_t number = (uint32_t)((uint64_t)rowid >> 32);
    pt_connection *connection = indexes->follower.connection;
    pt_session *session = pt_connection_session_of(connection, number);
    pt_view *view = NULL;
    if (indexes->lists_all || session == NULL) {
        return pt_catalog_ask_for_store(connection, error);
    }
    pt_buffer key = {0};
    int rc = pt_session_read(session, &view, error);
    if (rc == SQLITE_OK) {
        rc = find_index(view, (uint32_t)rowid, &key, error);
    }
    if (rc == SQLITE_OK && key.size != 0) {
        /* The table's name in lower case is followed by 00. */
        const char *table = (const char *)pt_key_entity(pt_buffer_slice(&key)).data;
        rc = begin_change(indexes, session, table, &view, error);
    }
    if (rc == SQLITE_OK && key.size != 0) {
        rc =
            pt_index_directory_remove(session, view, pt_buffer_slice(&key), (uint32_t)rowid, error);
    }
    pt_buffer_free(&key);
    return rc;
}

/* --- INSERT --- */

static int make_index_in(const indexes_table *indexes, pt_session *session,
                         const pt_new_index *made, sqlite3_int64 *rowid, pt_error *error)
{
    pt_view *view = NULL;
    uint32_t id = 0;
    int rc = begin_change(indexes, session, made->table, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_new_index_make(made, &indexes->declared, session, view, &id, error);
    }
    if (rc == SQLITE_OK) {
        *rowid = rowid_of(pt_connection_number_of(indexes->follower.connection, session), id);
    }
    return rc;
}

static int insert_index(indexes_table *indexes, sqlite3_value **columns, sqlite3_int64 *rowid,
                        pt_error *error)
{
    pt_connection *connection = indexes->follower.connection;
    pt_session *session = NULL;
    pt_new_index made = {.table = NULL};
    int rc = pt_new_index_read(columns, &made, error);
    if (rc == SQLITE_OK) {
        rc = pt_companion_join(connection, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_catalog_use_store(connection, made.store, &session, error);
    }
    if (rc == SQLITE_OK) {
        rc = make_index_in(indexes, session, &made, rowid, error);
        pt_connection_leave(connection, session);
    }
    pt_new_index_free(&made);
    return rc;
}

/* --- xUpdate --- */

static int change_indexes(indexes_table *indexes, int argc, sqlite3_value **argv,
                          sqlite3_int64 *rowid, pt_error *error)
{
    enum { OLD_INDEX, NEW_INDEX, INDEX_COLUMNS };
    int rc = pt_follower_begin_update(&indexes->follower)
                 ? pt_declared_tables_connect(&indexes->declared, error)
                 : SQLITE_OK;
    if (rc != SQLITE_OK || !indexes->follower.joined) {
        return rc != SQLITE_OK ? rc : pt_session_refuse_rolled_back(error);
    }
    if (argc == 1) {
        return drop_index(indexes, sqlite3_value_int64(argv[OLD_INDEX]), error);
    }
    if (sqlite3_value_type(argv[OLD_INDEX]) != SQLITE_NULL) {
        return pt_error_set(error, SQLITE_ERROR,
                            "UPDATE cannot change an index; INSERT makes one, DELETE drops one");
    }
    if (sqlite3_value_type(argv[NEW_INDEX]) != SQLITE_NULL) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the rowid cannot be given; give only Store, TableName, Columns and "
                            "IsUnique");
    }
    return insert_index(indexes, argv + INDEX_COLUMNS, rowid, error);
}

static int update_indexes(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    indexes_table *indexes = indexes_of(vtab);
    pt_error error = PT_ERROR_NONE;
    int rc = change_indexes(indexes, argc, argv, rowid, &error);
    return rc == SQLITE_OK ? rc
                           : pt_module_fail_write(indexes->follower.connection->db, &vtab->zErrMsg,
                                                  "pt_indexes", &error);
}

static const sqlite3_module indexes_module = {
    .iVersion = 2,
    .xConnect = connect_indexes,
    .xBestIndex = plan_indexes,
    .xDisconnect = disconnect_indexes,
    .xOpen = open_indexes,
    .xClose = close_indexes,
    .xFilter = filter_indexes,
    .xNext = next_index,
    .xEof = is_after_indexes,
    .xColumn = index_column,
    .xRowid = index_rowid,
    .xUpdate = update_indexes,
    .xBegin = begin_indexes,
    .xSync = pt_follower_sync,
    .xCommit = pt_follower_commit,
    .xRollback = pt_follower_rollback,
    .xSavepoint = pt_follower_savepoint,
    .xRelease = pt_follower_release,
    .xRollbackTo = pt_follower_rollback_to,
};

int pt_indexes_register(sqlite3 *db, pt_connection *connection)
{
    return pt_module_register(db, "pt_indexes", &indexes_module, connection);
}
