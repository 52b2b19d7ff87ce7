#include "catalog/expiry.h"

#include "base/seal.h"
#include "catalog/new_index.h"
#include "entity/key.h"
#include "module/companion.h"
#include "module/module.h"
#include "module/registration.h"
#include "table/entity_writer.h"
#include "table/table_transaction.h"
#include "value/value.h"

typedef struct purge_call {
    pt_named_write base;
    int64_t most;
    int64_t purged;
} purge_call;

/* --- Entities --- */

/* The entries of entities that have expired, and of those that have a text in place of a time. */
typedef struct expired_entries {
    pt_table *table;
    const pt_index *index;
    pt_view *view;
    pt_scan scan; /* does not show what is deleted meanwhile */
    pt_buffer low;
    pt_buffer high;
    pt_buffer key; /* logical key of an entity */
} expired_entries;

static void free_expired(expired_entries *entries)
{
    pt_scan_free(&entries->scan);
    pt_buffer_free(&entries->low);
    pt_buffer_free(&entries->high);
    pt_buffer_free(&entries->key);
}

/* Times are in the order of their texts. */
static int seek_entries(expired_entries *entries, pt_error *error)
{
    const pt_value now = {.type = PT_DATETIME, .integer = pt_view_now(entries->view)};
    pt_key_begin(&entries->low, entries->index->id);
    pt_entry_append_prefix(&entries->low, (pt_slice){0});
    pt_key_begin(&entries->high, entries->index->id);
    pt_entry_append(&entries->high, &now);
    pt_buffer_append_byte(&entries->high, PT_ENTRY_END);
    int rc = entries->low.failed || entries->high.failed
                 ? pt_error_nomem(error)
                 : pt_scan_open(&entries->scan, entries->view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_scan_freeze(&entries->scan);
    return pt_scan_seek(&entries->scan, pt_buffer_slice(&entries->low),
                        pt_buffer_slice(&entries->high), PT_FORWARD, error);
}

/* Sets the key of the entry's entity, unless the entry is that of a text. */
static int read_expired(expired_entries *entries, bool *is_time, pt_error *error)
{
    pt_slice entry = pt_key_entity(entries->scan.key);
    size_t parts = pt_entry_parts_size(entry, 1);
    pt_slice types;
    if (parts == 0 || !pt_unseal(entries->scan.key, entries->scan.record, &types) ||
        types.size == 0) {
        return pt_index_report_damage(entries->index, error);
    }
    *is_time = (types.data[0] & PT_ENTRY_TYPE) == PT_DATETIME;
    return pt_key_make(&entries->key, entries->table->id.id,
                       pt_slice_of(entry.data + parts, entry.size - parts))
               ? SQLITE_OK
               : pt_error_nomem(error);
}

/* An entity that has not expired, whatever its entry says, is not deleted. */
static int remove_expired(expired_entries *entries, pt_error *error)
{
    pt_table *table = entries->table;
    pt_slice key = pt_buffer_slice(&entries->key);
    pt_slice record;
    bool found;
    bool expired = false;
    int rc = pt_session_find(table->session, key, &found, &record, error);
    if (rc == SQLITE_OK && found) {
        rc = pt_expiry_judge_bytes(&table->expiry, entries->view, key, record, &expired, error);
    }
    if (rc == SQLITE_OK && !expired) {
        rc = pt_index_report_damage(entries->index, error);
    }
    return rc == SQLITE_OK ? pt_entity_remove(table, key, error) : rc;
}

static int remove_all_expired(expired_entries *entries, purge_call *call, pt_error *error)
{
    int rc = seek_entries(entries, error);
    while (rc == SQLITE_OK && entries->scan.valid && call->purged < call->most) {
        bool is_time = false;
        rc = read_expired(entries, &is_time, error);
        if (rc == SQLITE_OK && is_time) {
            rc = remove_expired(entries, error);
            call->purged++;
        }
        rc = rc == SQLITE_OK ? pt_view_step(entries->view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&entries->scan, error) : rc;
    }
    return rc;
}

static int refuse_lasting_table(const pt_table *table, pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR,
                        "its entities do not expire; UPDATE pt_tables SET Expires = 'property' "
                        "WHERE Store = %Q AND TableName = %Q names the DateTime by which they do",
                        pt_session_store(table->session)->path, table->config.table);
}

static int refuse_lost_index(const pt_table *table, pt_error *error)
{
    return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                        "store %Q lacks the index on %s, by which entities expire; make it: INSERT "
                        "INTO pt_indexes(Store, TableName, Columns) VALUES (%Q, %Q, %Q)",
                        pt_session_store(table->session)->path, table->expiry.property.name,
                        pt_session_store(table->session)->path, table->config.table,
                        table->expiry.property.name);
}

/* All or nothing: SQLite opens no savepoint around the call. */
static int purge_all_or_none(expired_entries *entries, purge_call *call, pt_error *error)
{
    pt_session *session = entries->table->session;
    size_t row = pt_session_begin_row(session);
    int rc = remove_all_expired(entries, call, error);
    if (rc == SQLITE_OK) {
        pt_session_end_row(session);
    } else {
        pt_session_discard_row(session, row);
    }
    return rc;
}

/* A pt_named_write's `write`. */
static int purge_table(pt_named_write *base, pt_table *table, pt_error *error)
{
    purge_call *call = (purge_call *)base;
    expired_entries entries = {.table = table};
    if (!table->id.expires) {
        return refuse_lasting_table(table, error);
    }
    int rc = pt_index_writer_load(&table->indexes, table->session, table->config.table, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &entries.view, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_slice name =
        pt_slice_of(table->expiry.property.name, table->expiry.property.name_size);
    entries.index = pt_index_list_find(&table->indexes.list, name);
    if (entries.index == NULL) {
        return refuse_lost_index(table, error);
    }
    rc = purge_all_or_none(&entries, call, error);
    free_expired(&entries);
    return rc;
}

/* --- The ptable --- */

/* Asks the authorizer as a DELETE would. */
static int check_permission(const purge_call *call, pt_error *error)
{
    const pt_named_write *base = &call->base;
    sqlite3 *db = base->connection->db;
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("DELETE FROM \"%w\".\"%w\" WHERE 0", base->schema, base->name);
    int rc = pt_module_prepare(db, sql, &statement, error);
    if (rc == SQLITE_OK && statement == NULL) {
        rc = pt_module_nested_error(db, "DELETE from the table", error);
    }
    sqlite3_finalize(statement);
    return rc;
}

static int refuse_queue(const char *name, pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR,
                        "%s is a queue, whose messages expire by themselves; pt_purge is for "
                        "tables of entities",
                        name);
}

/* A pt_catalog_table_use. */
static int purge_found_table(void *context, const char *schema, const char *name, pt_error *error)
{
    purge_call *call = context;
    bool run = false;
    call->base.schema = schema;
    call->base.name = name;
    if (pt_named_write_find(&call->base) == NULL) {
        return refuse_queue(name, error);
    }
    int rc = check_permission(call, error);
    if (rc == SQLITE_OK) {
        rc = pt_named_write_run(&call->base, &run, error);
    }
    return rc == SQLITE_OK && !run
               ? pt_error_set(error, SQLITE_AUTH,
                              "deletes by an INSERT into temp.ptable_companion, which is not "
                              "there, or which an authorizer ignores; let it allow that")
               : rc;
}

/* --- The function --- */

static int refuse_purge_count(sqlite3_value *value, pt_error *error)
{
    char shown[PT_DESCRIPTION_SIZE];
    pt_value_describe(value, shown);
    return pt_error_set(error, SQLITE_MISMATCH,
                        "the count is %s; give an integer from 0 on, or leave it out to delete all "
                        "that have expired",
                        shown);
}

static int read_count(sqlite3_value *value, int64_t *count, pt_error *error)
{
    if (value == NULL || sqlite3_value_type(value) == SQLITE_NULL) {
        *count = INT64_MAX;
        return SQLITE_OK;
    }
    int rc = pt_value_integer(value, count);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK && *count >= 0 ? SQLITE_OK : refuse_purge_count(value, error);
}

static int purge(purge_call *call, int argc, sqlite3_value **argv, pt_error *error)
{
    const char *name = (const char *)sqlite3_value_text(argv[0]);
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) {
        return pt_error_set(error, SQLITE_ERROR,
                            "the name of the table is NULL; write pt_purge('table' [, count])");
    }
    int rc = name != NULL ? read_count(argc > 1 ? argv[1] : NULL, &call->most, error)
                          : pt_error_nomem(error);
    return rc == SQLITE_OK
               ? pt_catalog_use_ptable(call->base.connection, name, purge_found_table, call, error)
               : rc;
}

static void call_purge(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    purge_call call = {.base = {.connection = sqlite3_user_data(context),
                                .kind = PT_TABLE_OF_ENTITIES,
                                .write = purge_table}};
    if (purge(&call, argc, argv, &error) == SQLITE_OK) {
        sqlite3_result_int64(context, call.purged);
    } else {
        pt_module_fail_function(context, "pt_purge", &error);
    }
}

int pt_purge_register(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    for (int arguments = 1; rc == SQLITE_OK && arguments <= 2; arguments++) {
        pt_connection_retain(connection); /* SQLite releases it even if this fails */
        rc = sqlite3_create_function_v2(db, "pt_purge", arguments, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                        connection, call_purge, NULL, NULL,
                                        pt_module_release_connection);
    }
    return rc;
}

/* --- Switching on and off --- */

static int refuse_property(pt_slice name, const char *wrong, pt_error *error)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "Expires is '%.*q': %s; give the name of a property whose DateTime says "
                        "when an entity expires, or NULL",
                        (int)name.size, (const char *)name.data, wrong);
}

/* Makes the index on the property, unless there is one. */
static int ensure_index(pt_session *session, pt_view *view, const pt_declared_tables *declared,
                        const char *table, pt_slice name, pt_error *error)
{
    uint32_t id;
    pt_index_writer writer = {.session = NULL};
    pt_new_index made = {.table = table};
    const char *wrong = pt_find_system_property(name) != PT_SYSTEM_PROPERTIES
                            ? "keys and Timestamp are no times until which an entity is there"
                            : pt_index_definition_add(&made.definition, name);
    wrong = wrong == NULL && name.size > PT_EXPIRES_NAME_MAX ? "it has more than 255 bytes" : wrong;
    int rc = wrong != NULL ? refuse_property(name, wrong, error)
                           : pt_index_writer_load(&writer, session, table, error);
    if (rc == SQLITE_OK && made.definition.names.failed) {
        rc = pt_error_nomem(error);
    }
    if (rc == SQLITE_OK && pt_index_list_find(&writer.list, name) == NULL) {
        rc = pt_new_index_make(&made, declared, session, view, &id, error);
    }
    pt_index_writer_free(&writer);
    pt_new_index_free(&made);
    return rc;
}

static int change_expires(pt_session *session, pt_view *view, const pt_declared_tables *declared,
                          const char *table, pt_table_entry *entry, pt_slice name, pt_error *error)
{
    int rc = name.size != 0 ? ensure_index(session, view, declared, table, name, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, table, entry, error); /* which may have moved */
    }
    pt_table_properties properties = entry->properties;
    properties.expires = name;
    return rc == SQLITE_OK
               ? pt_table_directory_set_properties(session, view, table, &properties, error)
               : rc;
}

int pt_catalog_set_expires(pt_session *session, pt_view *view, const pt_declared_tables *declared,
                           const char *table, pt_slice name, pt_error *error)
{
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, table, &entry, error);
    if (rc != SQLITE_OK || pt_slice_equal(entry.properties.expires, name)) {
        return rc;
    }
    if (entry.kind != PT_TABLE_OF_ENTITIES) {
        return pt_error_set(error, SQLITE_ERROR,
                            "%Q is a queue, whose messages expire by themselves; Expires is for "
                            "tables of entities",
                            table);
    }
    return change_expires(session, view, declared, table, &entry, name, error);
}
