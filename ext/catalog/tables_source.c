#include "catalog/tables_source.h"

#include "base/assert.h"
#include "catalog/stores.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "module/companion.h"
#include "module/module.h"
#include "module/schema_search.h"

/* --- By the name of a ptable --- */

/* Sets *has if the schema has a table or view of this name. */
static int find_name(sqlite3 *db, const char *schema, const char *name, bool *has, pt_error *error)
{
    sqlite3_stmt *statement;
    /* Columns that an authorizer hides are NULL. While a table is being created, so are all columns
     * but its rowid. */
    char *sql = sqlite3_mprintf("SELECT rowid NOT NULL AND name NOT NULL AND type NOT NULL FROM "
                                "\"%w\".sqlite_schema WHERE rowid IS NULL OR (name IS NULL) <> "
                                "(type IS NULL) OR name = %Q COLLATE NOCASE AND type IN "
                                "('table', 'view')",
                                schema, name);
    int rc = pt_module_prepare(db, sql, &statement, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int step = statement != NULL ? sqlite3_step(statement) : SQLITE_ERROR;
    *has = step == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;
    bool known = *has || (step == SQLITE_DONE && !pt_module_is_ignored(statement));
    return pt_module_finish(db, statement, known, "SELECT from sqlite_schema", error);
}

/* Prepares a statement on a table, which makes SQLite connect it. *statement is NULL if SQLite
 * refuses that. SQLITE_OK or SQLITE_NOMEM. */
static int prepare_on_table(sqlite3 *db, const char *schema, const char *name,
                            sqlite3_stmt **statement, pt_error *error)
{
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".\"%w\"", schema, name);
    return pt_module_prepare(db, sql, statement, error);
}

/* How a table that is looked for is used. */
typedef struct table_use {
    pt_connection *connection;
    pt_catalog_table_use *use;
    void *context;
} table_use;

/* SQLITE_NOTFOUND, without a text, if it is not a ptable. */
static int use_if_connected(const table_use *self, const char *schema, const char *name,
                            pt_error *error)
{
    sqlite3 *db = self->connection->db;
    sqlite3_stmt *statement;
    int rc = prepare_on_table(db, schema, name, &statement, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (statement == NULL) {
        return pt_module_nested_error(db, "SELECT from the table", error);
    }
    rc = pt_connected_tables_find(self->connection, schema, name) != NULL
             ? self->use(self->context, schema, name, error)
             : SQLITE_NOTFOUND;
    sqlite3_finalize(statement);
    return rc;
}

/* A pt_schema_look. */
static int use_in_schema(void *context, const char *schema, const char *name, bool *has,
                         pt_error *error)
{
    const table_use *self = context;
    int rc = find_name(self->connection->db, schema, name, has, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return *has ? use_if_connected(self, schema, name, error) : SQLITE_NOTFOUND;
}

/* The advice follows in the message if there is no such ptable. */
static int use_ptable(table_use *self, const char *name, const char *advice, pt_error *error)
{
    PT_ASSERT(name != NULL);
    int rc = pt_schema_search(self->connection->db, name, use_in_schema, self, error);
    if (rc == SQLITE_NOTFOUND) {
        rc = pt_error_set(error, SQLITE_ERROR,
                          "%Q is not the name of a ptable; give the name of a table created USING "
                          "ptable%s",
                          name, advice);
    }
    return rc;
}

int pt_catalog_use_ptable(pt_connection *connection, const char *name, pt_catalog_table_use *use,
                          void *context, pt_error *error)
{
    table_use self = {.connection = connection, .use = use, .context = context};
    return use_ptable(&self, name, "", error);
}

/* Uses the store and table of a connected ptable. A pt_catalog_table_use. */
static int take_connected_table(void *context, const char *schema, const char *name,
                                pt_error *error)
{
    pt_catalog_source *source = context;
    pt_connected *connected = pt_connected_tables_find(source->connection, schema, name);
    PT_ASSERT(connected != NULL);
    const pt_table *table = pt_table_of_connected(connected);
    source->table = sqlite3_mprintf("%s", table->config.table);
    if (source->table == NULL) {
        return pt_error_nomem(error);
    }
    return pt_connection_use(source->connection, table->path, table->schema, false,
                             &source->session, error);
}

static int find_ptable(pt_catalog_source *source, const char *name, pt_error *error)
{
    table_use self = {
        .connection = source->connection, .use = take_connected_table, .context = source};
    return use_ptable(&self, name, ", or two arguments: a store and the name of a table in it",
                      error);
}

/* --- By a store and a table --- */

static int find_store_and_table(pt_catalog_source *source, const char *store, const char *table,
                                pt_error *error)
{
    source->table = sqlite3_mprintf("%s", table);
    if (source->table == NULL) {
        return pt_error_nomem(error);
    }
    return pt_catalog_use_store(source->connection, store, &source->session, error);
}

/* By the columns. SQLite checks them again, so the column Store must show what was given. */
static int find_by_columns(pt_catalog_source *source, const pt_tvf_cursor *cursor, pt_error *error)
{
    sqlite3_value *given_store = cursor->arguments[PT_TVF_STORE];
    sqlite3_value *given_table = cursor->arguments[PT_TVF_TABLE_NAME];
    const char *store = NULL;
    if (sqlite3_value_type(given_table) != SQLITE_TEXT) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "TableName is compared with a number; give a text");
    }
    const char *table = (const char *)sqlite3_value_text(given_table);
    if (given_store != NULL) {
        store = (const char *)sqlite3_value_text(given_store);
        source->store = store != NULL ? sqlite3_mprintf("%s", store) : NULL;
    }
    if (table == NULL || (given_store != NULL && source->store == NULL)) {
        return pt_error_nomem(error);
    }
    return find_store_and_table(source, store, table, error);
}

/* --- Opening and closing --- */

static int find_by_arguments(pt_catalog_source *source, const pt_tvf_cursor *cursor,
                             pt_error *error)
{
    const char *text[2] = {NULL};
    for (int i = 0; i < 2 && cursor->arguments[i] != NULL; i++) {
        text[i] = (const char *)sqlite3_value_text(cursor->arguments[i]);
        if (text[i] == NULL) {
            return pt_error_nomem(error);
        }
    }
    return text[1] == NULL ? find_ptable(source, text[0], error)
                           : find_store_and_table(source, text[0], text[1], error);
}

/* After the search for the session. */
static int use_found_source(pt_catalog_source *source, int rc, pt_error *error)
{
    if (rc != SQLITE_OK) {
        source->session = NULL;
        return rc;
    }
    pt_session_cursor_opened(source->session);
    if (source->store == NULL) {
        source->store = pt_catalog_store_name(source->connection, source->session);
    }
    return source->store != NULL ? SQLITE_OK : pt_error_nomem(error);
}

static int find_source(pt_catalog_source *source, const pt_tvf_cursor *cursor, pt_error *error)
{
    int rc = cursor->arguments[PT_TVF_TABLE_NAME] != NULL
                 ? find_by_columns(source, cursor, error)
                 : find_by_arguments(source, cursor, error);
    return use_found_source(source, rc, error);
}

int pt_catalog_source_find(pt_catalog_source *source, pt_connection *connection, const char *store,
                           const char *table, pt_error *error)
{
    source->connection = connection;
    int rc = pt_companion_join(connection, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = store == NULL ? find_ptable(source, table, error)
                       : find_store_and_table(source, store, table, error);
    return use_found_source(source, rc, error);
}

static int find_table_id(pt_catalog_source *source, pt_view *view, bool by_columns, pt_error *error)
{
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, source->table, &entry, error);
    if (rc == SQLITE_NOTFOUND && !by_columns) {
        return pt_error_set(error, SQLITE_ERROR,
                            "store %Q has no table %Q; SELECT TableName FROM pt_tables WHERE "
                            "Store = %Q lists its tables (TableNotFound)",
                            source->store, source->table, source->store);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    char *name = sqlite3_mprintf("%.*s", (int)entry.name.size, (const char *)entry.name.data);
    if (name == NULL) {
        return pt_error_nomem(error);
    }
    sqlite3_free(source->table);
    source->table = name;
    source->table_id = entry.id;
    return SQLITE_OK;
}

/* Opens the scan of the table, whose session has been found. */
static int open_found_source(pt_catalog_source *source, const pt_tvf_cursor *cursor,
                             bool by_columns, pt_error *error)
{
    pt_view *view = NULL;
    int rc = SQLITE_OK;
    if (pt_follower_takes_lock(pt_follower_of(cursor->base.pVtab))) {
        rc = pt_session_begin(source->session, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_read(source->session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = find_table_id(source, view, by_columns, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_scan_open(&source->scan, view, error);
    }
    if (rc == SQLITE_OK) {
        pt_scan_freeze(&source->scan);
    }
    return rc;
}

int pt_catalog_source_open(pt_catalog_source *source, const pt_tvf_cursor *cursor, pt_error *error)
{
    source->connection = cursor->connection;
    int rc = pt_companion_join(source->connection, error);
    if (rc == SQLITE_OK) {
        rc = find_source(source, cursor, error);
    }
    bool by_columns = cursor->arguments[PT_TVF_TABLE_NAME] != NULL;
    return rc == SQLITE_OK ? open_found_source(source, cursor, by_columns, error) : rc;
}

int pt_catalog_source_open_named(pt_catalog_source *source, const pt_tvf_cursor *cursor,
                                 const char *store, const char *table, pt_error *error)
{
    int rc = pt_catalog_source_find(source, cursor->connection, store, table, error);
    return rc == SQLITE_OK ? open_found_source(source, cursor, false, error) : rc;
}

void pt_catalog_source_close(pt_catalog_source *source)
{
    pt_scan_free(&source->scan);
    pt_buffer_free(&source->low);
    pt_buffer_free(&source->high);
    pt_buffer_free(&source->shape);
    sqlite3_free(source->store);
    sqlite3_free(source->table);
    if (source->session != NULL) {
        pt_session_cursor_closed(source->session);
        pt_connection_leave(source->connection, source->session);
    }
    *source = (pt_catalog_source){0};
}

/* --- Reading --- */

int pt_catalog_source_seek(pt_catalog_source *source, pt_slice low, pt_slice high, bool bounded,
                           pt_direction direction, pt_error *error)
{
    pt_key_begin(&source->low, source->table_id);
    pt_buffer_append_slice(&source->low, low);
    if (bounded) {
        pt_key_begin(&source->high, source->table_id);
        pt_buffer_append_slice(&source->high, high);
    } else {
        pt_key_begin_after(&source->high, source->table_id);
    }
    if (source->low.failed || source->high.failed) {
        return pt_error_nomem(error);
    }
    return pt_scan_seek(&source->scan, pt_buffer_slice(&source->low),
                        pt_buffer_slice(&source->high), direction, error);
}

int pt_catalog_source_record(pt_catalog_source *source, pt_record *record, pt_error *error)
{
    pt_shape_source shapes = pt_dictionary_source(pt_session_store(source->session)->dictionary);
    pt_slice key = source->scan.key;
    int rc = pt_record_open(record, key, source->scan.record, &shapes, &source->shape);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : pt_report_damage(key, error);
}

uint16_t pt_catalog_source_shape(const pt_catalog_source *source)
{
    return pt_record_shape_id(source->scan.record);
}

/* --- Connecting the declared tables --- */

/* False if the table cannot be connected. */
static bool connect_declared(sqlite3 *db, const char *schema, const char *name)
{
    sqlite3_stmt *statement;
    pt_error ignored = PT_ERROR_NONE;
    prepare_on_table(db, schema, name, &statement, &ignored);
    pt_error_clear(&ignored);
    bool connected = statement != NULL;
    sqlite3_finalize(statement);
    return connected;
}

/* Connects the ptables and queues of a schema. *complete = false if one may be missing. */
static int connect_all_in_schema(sqlite3 *db, const char *schema, bool *complete, pt_error *error)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(
        "SELECT name, sql FROM \"%w\".sqlite_schema WHERE type = 'table' OR type IS NULL", schema);
    if (sql == NULL) {
        return pt_error_nomem(error);
    }
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        const char *declaration = (const char *)sqlite3_column_text(statement, 1);
        bool known = name != NULL && declaration != NULL; /* an authorizer can hide them */
        bool other = known && sqlite3_strlike("create virtual%using%pt%", declaration, 0) != 0;
        *complete = *complete && (other || (known && connect_declared(db, schema, name)));
        rc = SQLITE_OK;
    }
    *complete = *complete && rc == SQLITE_DONE && !pt_module_is_ignored(statement);
    sqlite3_finalize(statement);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : SQLITE_OK;
}

/* The application may detach a database meanwhile, so its name is copied. */
int pt_declared_tables_connect(pt_declared_tables *declared, pt_error *error)
{
    sqlite3 *db = declared->connection->db;
    int rc = SQLITE_OK;
    if (declared->connected) {
        return SQLITE_OK;
    }
    declared->connected = true;
    declared->complete = true;
    const char *name;
    for (int i = 0; rc == SQLITE_OK && (name = sqlite3_db_name(db, i)) != NULL; i++) {
        char *schema = sqlite3_mprintf("%s", name);
        rc = schema != NULL ? connect_all_in_schema(db, schema, &declared->complete, error)
                            : pt_error_nomem(error);
        sqlite3_free(schema);
    }
    return rc;
}

/* --- Asking them --- */

static bool is_in_store(const pt_declared_tables *declared, const pt_table *table,
                        const pt_session *session)
{
    const char *schema = pt_connection_private_schema(declared->connection, session);
    if (table->path == NULL) {
        return schema != NULL && sqlite3_stricmp(schema, table->schema) == 0;
    }
    return schema == NULL && strcmp(table->path, pt_session_store(session)->path) == 0;
}

/* True for a declaration of the table; with NULL, of any table of the store. */
static bool is_declaration_of(const pt_declared_tables *declared, const pt_table *table,
                              const pt_session *session, const char *name)
{
    return is_in_store(declared, table, session) &&
           (name == NULL || sqlite3_stricmp(table->config.table, name) == 0);
}

pt_declaration pt_declared_tables_ask(const pt_declared_tables *declared, const pt_session *session,
                                      const char *name)
{
    pt_declaration said = {.sync = PT_SYNC_OFF};
    bool any = false;
    bool writable = false;
    pt_connected *each = pt_connected_tables_first(declared->connection);
    for (; each != NULL; each = each->next) {
        const pt_table *table = pt_table_of_connected(each);
        if (!is_declaration_of(declared, table, session, name)) {
            continue;
        }
        any = true;
        writable = writable || !table->read_only;
        said.read_only = table->read_only ? table : said.read_only;
        said.azure_batch = said.azure_batch || table->config.azure_batch;
        said.sync = table->config.sync > said.sync ? table->config.sync : said.sync;
    }
    said.sync = any && declared->complete ? said.sync : PT_SYNC_FULL;
    said.read_only = writable ? NULL : said.read_only;
    return said;
}

int pt_declaration_check_writable(const pt_declaration *said, const char *purpose, pt_error *error)
{
    return said->read_only == NULL
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_READONLY,
                              "table %Q is declared read-only, as %Q; declare it without "
                              "readonly=1, in a database that can be written, %s",
                              said->read_only->config.table, said->read_only->config.sql_name,
                              purpose);
}

static void spell_declared(const pt_table *table, pt_index_spelling *spelling)
{
    const pt_config *config = &table->config;
    pt_index_spelling_add_columns(spelling, config->columns, config->column_count);
    for (int i = 0; i < config->index_count; i++) {
        pt_slice rest = pt_index_definition_key(&config->indexes[i]);
        pt_slice column;
        while (pt_index_next_name(&rest, &column)) {
            pt_index_spelling_add(spelling, column);
        }
    }
}

void pt_declared_tables_spell(const pt_declared_tables *declared, const pt_session *session,
                              const char *name, pt_index_spelling *spelling)
{
    pt_connected *each = pt_connected_tables_first(declared->connection);
    for (; each != NULL; each = each->next) {
        const pt_table *table = pt_table_of_connected(each);
        if (is_declaration_of(declared, table, session, name)) {
            spell_declared(table, spelling);
        }
    }
}
