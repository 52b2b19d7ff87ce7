#include "table/insert.h"

#include "entity/key.h"
#include "table/entity_rules.h"
#include "table/entity_writer.h"
#include "table/operation.h"

/* --- With WriteMode or IfMatch: an operation that depends on the entity that is there --- */

/* Opens the record only if something in it is needed: a damaged entity can be replaced or deleted.
 * The key of a delete may be longer than any that is stored. */
static int find_entity(pt_table *table, pt_slice key, const pt_write_request *request, bool *found,
                       pt_record *record, pt_error *error)
{
    if (key.size > PT_KEY_LOGICAL_MAX) {
        *found = false;
        return SQLITE_OK;
    }
    if (request->mode == PT_WRITE_MERGE || request->etag.data != NULL) {
        return pt_entity_open_old(table, key, found, record, error);
    }
    pt_slice bytes;
    return pt_session_find(table->session, key, found, &bytes, error);
}

/* Checks the rules that apply whether or not the entity exists. A delete without IfMatch is checked
 * only if it finds the entity: if not, it does not count as an operation of the batch. */
static int check_rules(pt_table *table, pt_slice key, const pt_write_request *request,
                       pt_error *error)
{
    if (request->mode != PT_WRITE_DELETE) {
        return pt_entity_check(table, key, error);
    }
    return request->must_exist ? pt_entity_check_removal(table, key, error) : SQLITE_OK;
}

/* Lays the properties in table->bag over those of the entity. */
static int merge_into(pt_table *table, pt_slice key, const pt_record *record, pt_error *error)
{
    pt_bag changes = table->bag;
    table->bag = table->columns;
    table->columns = changes;
    /* So far only the changes have been checked. The merged entity may still break the rules, so
     * rules_checked stays false. */
    const pt_entity_change change = {.put = &key, .operation = PT_MERGE, .over = record};
    return pt_entity_write(table, &change, error);
}

static int perform_on_found(pt_table *table, pt_slice key, const pt_write_request *request,
                            pt_error *error)
{
    pt_record record = {0};
    bool found;
    int rc = check_rules(table, key, request, error);
    if (rc == SQLITE_OK) {
        rc = find_entity(table, key, request, &found, &record, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_write_request_check(request, key, found, &record, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (request->mode == PT_WRITE_DELETE) {
        const pt_entity_change removal = {.remove = &key, .rules_checked = request->must_exist};
        return found ? pt_entity_write(table, &removal, error) : SQLITE_OK;
    }
    if (request->mode == PT_WRITE_MERGE && found) {
        return merge_into(table, key, &record, error);
    }
    const pt_entity_change change = {
        .put = &key, .operation = found ? PT_REPLACE : PT_INSERT, .rules_checked = true};
    return pt_entity_write(table, &change, error);
}

/* --- INSERT --- */

static int perform(pt_table *table, pt_slice key, const pt_write_request *request, pt_error *error)
{
    if (request->mode == PT_WRITE_INSERT) {
        const pt_entity_change change = {.put = &key,
                                         .operation = PT_INSERT,
                                         .if_absent = request->mode_given
                                                          ? "WriteMode 'replace', 'merge'"
                                                          : "INSERT OR REPLACE"};
        return pt_entity_write(table, &change, error);
    }
    if (request->mode == PT_WRITE_REPLACE && !request->must_exist) {
        return pt_entity_put(table, key, PT_REPLACE, error);
    }
    return perform_on_found(table, key, request, error);
}

static int refuse_system_columns(const pt_write_arguments *given, pt_error *error)
{
    static const struct {
        int tail;
        const char *name;
    } columns[] = {{PT_TAIL_TIMESTAMP, "Timestamp"},
                   {PT_TAIL_ETAG, "ETag"},
                   {PT_TAIL_ENTITY_KEY, "EntityKey"}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (sqlite3_value_type(given->tail[columns[i].tail]) != SQLITE_NULL) {
            return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                                "%s cannot be given, the store sets it; leave the column out",
                                columns[i].name);
        }
    }
    return SQLITE_OK;
}

static int make_insert_key(pt_table *table, const pt_write_arguments *given, pt_write_mode mode,
                           pt_error *error)
{
    pt_slice partition = {0};
    pt_slice row = {0};
    int rc = pt_key_from_sql(given->keys[0], "PartitionKey", &partition, error);
    if (rc == SQLITE_OK) {
        rc = pt_key_from_sql(given->keys[1], "RowKey", &row, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    return mode == PT_WRITE_DELETE ? pt_make_key_of_any_length(table, partition, row, error)
                                   : pt_make_key(table, partition, row, error);
}

int pt_insert(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    pt_write_request request = {0};
    int rc = refuse_system_columns(given, error);
    if (rc == SQLITE_OK) {
        rc = pt_write_request_read(table, given, &request, error);
    }
    if (rc == SQLITE_OK) {
        rc = make_insert_key(table, given, request.mode, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_bag_from_insert(table, given, pt_entity_last_places(table), error);
    }
    return rc == SQLITE_OK ? perform(table, pt_buffer_slice(&table->key), &request, error) : rc;
}
