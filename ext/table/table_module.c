#include "table/table_module.h"

#include <assert.h>

#include "entity/azure_limits.h"
#include "entity/key.h"
#include "functions/key_functions.h"
#include "module/constraints.h"
#include "module/module.h"
#include "module/registration.h"
#include "table/arguments.h"
#include "table/config.h"
#include "table/cursor.h"
#include "table/entity_writer.h"
#include "table/insert.h"
#include "table/planner.h"
#include "table/row_error.h"
#include "table/row_filter.h"
#include "table/table_transaction.h"
#include "table/update.h"
#include "value/value.h"

/* --- expires=Due --- */

static int refuse_expires(const pt_config *config, const char *wrong, pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR,
                        "expires=%s: %s; give the name of a property, whose DateTime says when an "
                        "entity expires",
                        config->expires, wrong);
}

/* Spells the property as its column does, if there is one. */
static int find_expiry_column(pt_config *config, pt_error *error)
{
    int i = 0;
    while (i < config->column_count &&
           sqlite3_stricmp(config->columns[i].name, config->expires) != 0) {
        i++;
    }
    if (i == config->column_count) {
        return SQLITE_OK;
    }
    memcpy(config->expires, config->columns[i].name, config->columns[i].name_size);
    return config->columns[i].type == PT_DATETIME
               ? SQLITE_OK
               : refuse_expires(config, "its column is not declared DateTime", error);
}

/* Declares the index on the property, unless it is declared already. */
static int declare_expiry_index(pt_config *config, pt_error *error)
{
    pt_slice name = pt_slice_text(config->expires);
    size_t capacity = (size_t)config->index_count;
    pt_index_definition definition = {.unique = false};
    const char *wrong = pt_find_system_property(name) != PT_SYSTEM_PROPERTIES
                            ? "keys and Timestamp are no times until which an entity is there"
                            : pt_index_definition_add(&definition, name);
    for (int i = 0; wrong == NULL && i < config->index_count; i++) {
        if (pt_slice_equal(pt_index_definition_key(&config->indexes[i]), name)) {
            pt_index_definition_free(&definition);
            return SQLITE_OK;
        }
    }
    wrong = wrong == NULL && name.size > PT_EXPIRES_NAME_MAX ? "it has more than 255 bytes" : wrong;
    bool added = wrong == NULL && !definition.names.failed &&
                 pt_array_reserve(&config->indexes, &capacity, capacity + 1, sizeof definition);
    if (added) {
        config->indexes[config->index_count++] = definition;
        return SQLITE_OK;
    }
    pt_index_definition_free(&definition);
    return wrong != NULL ? refuse_expires(config, wrong, error) : pt_error_nomem(error);
}

static int parse_arguments(pt_config *config, int argc, const char *const *argv, pt_error *error)
{
    int rc = pt_config_parse(argc, argv, config, error);
    if (rc == SQLITE_OK && config->expires != NULL) {
        rc = find_expiry_column(config, error);
        rc = rc == SQLITE_OK ? declare_expiry_index(config, error) : rc;
    }
    return rc;
}

/* --- The form --- */

static int ptable_configure(pt_table *table, int argc, const char *const *argv, pt_error *error)
{
    int rc = parse_arguments(&table->config, argc, argv, error);
    if (rc == SQLITE_OK) {
        table->map.columns = table->config.columns;
        table->map.column_count = table->config.column_count;
    }
    return rc;
}

static int ptable_check_name(const pt_table *table, pt_error *error)
{
    return table->config.azure_limits ? pt_limits_check_table_name(table->config.table, error)
                                      : SQLITE_OK;
}

static char *ptable_declaration(const pt_table *table)
{
    return pt_declaration_text(&pt_config_of_ptable, &table->config);
}

static void ptable_release(pt_table *table)
{
    pt_cursor_free(table->spare_cursor);
}

static const pt_table_form ptable_form = {
    .kind = PT_TABLE_OF_ENTITIES,
    .module = "ptable",
    .size = sizeof(pt_table),
    .configure = ptable_configure,
    .check_name = ptable_check_name,
    .declaration = ptable_declaration,
    .leave_store = pt_table_leave_store,
    .release = ptable_release,
};

/* SQLite calls match() for a Filter MATCH that is not part of the plan. The result for
 * pt_starts_with(column, prefix), 150 or more, makes it a constraint in xBestIndex, which can turn
 * it into a key range. */
static int ptable_find_function(sqlite3_vtab *vtab, int argc, const char *name,
                                void (**function)(sqlite3_context *, int, sqlite3_value **),
                                void **data)
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

/* --- xUpdate: INSERT, UPDATE (table/insert.h, table/update.h) and DELETE --- */

/* Filter is only for WHERE. If an UPDATE gives all columns, its value is the filter in the WHERE.
 */
static int refuse_filter(const pt_write_arguments *given, pt_error *error)
{
    if (given->all_given || sqlite3_value_type(given->tail[PT_TAIL_FILTER]) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "Filter cannot be written, it is there for WHERE Filter MATCH '...'; leave "
                        "the column out");
}

static int delete_row(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    int rc = pt_make_old_key(table, entity_key, error);
    return rc == SQLITE_OK ? pt_entity_remove(table, pt_buffer_slice(&table->old_key), error) : rc;
}

/* argv[0]: the old EntityKey, NULL for INSERT; argv[1]: a copy of the new one; then the columns. */
static int write_table_row(pt_table *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid,
                           pt_error *error)
{
    int rc = pt_transaction_prepare_write(table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (argc == 1) {
        return delete_row(table, argv[0], error);
    }
    sqlite3_value **columns = argv + 2;
    sqlite3_value **tail = columns + PT_COLUMN_FIRST + table->config.column_count;
    bool inserting = sqlite3_value_type(argv[0]) == SQLITE_NULL;
    const pt_write_arguments given = {
        .keys = columns,
        .declared = columns + PT_COLUMN_FIRST,
        .tail = tail,
        .all_given = !inserting && !sqlite3_value_nochange(tail[PT_TAIL_ENTITY_KEY])};
    rc = refuse_filter(&given, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!inserting) {
        return pt_update(table, argv[0], &given, error);
    }
    /* SQLite sets last_insert_rowid() to this. An INSERT here must not change it. */
    *rowid = sqlite3_last_insert_rowid(table->db);
    return pt_insert(table, &given, error);
}

enum { ROW_TEXT_SIZE = 2 * PT_DESCRIPTION_SIZE + 32 };

static_assert((int)ROW_TEXT_SIZE >= (int)PT_KEYS_TEXT_SIZE, "both ways to name a row fit");

/* Names the row of xUpdate: by the keys that it has, or for an INSERT by those that are given. */
static void describe_row(int argc, sqlite3_value **argv, char text[ROW_TEXT_SIZE])
{
    if (argc > 1 && sqlite3_value_type(argv[0]) == SQLITE_NULL) {
        char partition[PT_DESCRIPTION_SIZE];
        char row[PT_DESCRIPTION_SIZE];
        pt_value_describe(argv[2 + PT_COLUMN_PARTITION_KEY], partition);
        pt_value_describe(argv[2 + PT_COLUMN_ROW_KEY], row);
        sqlite3_snprintf(ROW_TEXT_SIZE, text, "PartitionKey %s, RowKey %s", partition, row);
        return;
    }
    pt_keys keys = {{0}, {0}}; /* of a damaged key, which the message names itself */
    pt_key_split(pt_slice_of(sqlite3_value_blob(argv[0]), (size_t)sqlite3_value_bytes(argv[0])),
                 &keys.partition, &keys.row);
    pt_keys_describe(keys, text);
}

__attribute__((noinline)) static int fail_row(pt_table *table, int argc, sqlite3_value **argv,
                                              pt_error *error)
{
    char row[ROW_TEXT_SIZE];
    describe_row(argc, argv, row);
    int rc = pt_table_fail_row(table, row, error);
    pt_transaction_undo_statement(table, argc, argv, rc);
    return rc;
}

/* All or nothing: SQLite opens no savepoint around a single row. */
static int ptable_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    pt_table_set_busy(table);
    int rc = write_table_row(table, argc, argv, rowid, &error);
    pt_table_clear_busy(table);
    if (rc != SQLITE_OK) {
        return fail_row(table, argc, argv, &error);
    }
    table->rows++;
    return SQLITE_OK;
}

static const sqlite3_module ptable_module = {
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
    .xRowid = pt_table_rowid,
    .xUpdate = ptable_update,
    .xBegin = pt_transaction_begin,
    .xSync = pt_transaction_sync,
    .xCommit = pt_transaction_commit,
    .xRollback = pt_transaction_rollback,
    .xFindFunction = ptable_find_function,
    .xRename = pt_table_rename,
    .xSavepoint = pt_transaction_savepoint,
    .xRelease = pt_transaction_release,
    .xRollbackTo = pt_transaction_rollback_to,
};

int pt_table_register(sqlite3 *db, pt_connection *connection)
{
    return pt_module_register_shared(db, ptable_form.module, &ptable_module, connection,
                                     &ptable_form);
}
