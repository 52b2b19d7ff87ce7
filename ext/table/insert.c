#include "table/insert.h"

#include "base/text.h"
#include "entity/key.h"
#include "table/entity_rules.h"
#include "table/entity_writer.h"
#include "table/row.h"
#include "table/write_request.h"
#include "value/value.h"

/* --- Checking IfMatch --- */

static int refuse_missing_entity(pt_slice key, pt_write_mode mode, pt_error *error)
{
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe(pt_keys_of(key), keys);
    pt_error_set(error, SQLITE_CONSTRAINT_CHECK,
                 "there is no entity with %s; leave IfMatch out %s (ResourceNotFound)", keys,
                 mode == PT_WRITE_DELETE ? "if it may be missing" : "to create it");
    return pt_error_naming(error, PT_NAMES_KEYS);
}

/* A text that is no longer than a real ETag is shown whole, so that it can be compared. */
static void show_etag(pt_slice etag, char shown[PT_EXCERPT_SIZE])
{
    if (etag.size > PT_ETAG_SIZE || !pt_key_is_valid_text(etag)) {
        pt_excerpt(etag, shown);
        return;
    }
    memcpy(shown, etag.data, etag.size);
    shown[etag.size] = 0;
}

static int compare_etag(pt_slice key, int64_t ticks, pt_slice expected, pt_error *error)
{
    char found[PT_ETAG_SIZE + 1];
    pt_etag_format(ticks, found);
    if (pt_slice_equal(pt_slice_text(found), expected)) {
        return SQLITE_OK;
    }
    char shown[PT_EXCERPT_SIZE];
    show_etag(expected, shown);
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe(pt_keys_of(key), keys);
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "the entity with %s has the ETag %Q, not %Q; read it again and repeat the change "
                 "with its ETag (UpdateConditionNotSatisfied)",
                 keys, found, shown);
    return pt_error_naming(error, PT_NAMES_KEYS);
}

/*
 * Checks IfMatch against the entity; `record` is only read if the request has an ETag.
 * SQLITE_CONSTRAINT_CHECK (ResourceNotFound), SQLITE_CONSTRAINT_VTAB (UpdateConditionNotSatisfied).
 */
static int check_condition(const pt_write_request *request, pt_slice key, bool found,
                           pt_record *record, pt_error *error)
{
    if (!request->must_exist) {
        return SQLITE_OK;
    }
    if (!found) {
        return refuse_missing_entity(key, request->mode, error);
    }
    return request->etag.data != NULL ? compare_etag(key, record->ticks, request->etag, error)
                                      : SQLITE_OK;
}

/* --- With WriteMode or IfMatch: an operation that depends on the entity that is there --- */

/* Opens the record only if something in it is needed: a damaged entity can be replaced or deleted,
 * unless entities of the table expire.
 * The key of a delete may be longer than any that is stored. */
static int find_entity(pt_table *table, pt_slice key, const pt_write_request *request, bool *found,
                       pt_record *record, pt_error *error)
{
    if (pt_key_entity(key).size > PT_KEY_ENTITY_MAX) {
        *found = false;
        return SQLITE_OK;
    }
    if (request->mode == PT_WRITE_MERGE || request->etag.data != NULL) {
        return pt_entity_open_old(table, key, found, record, error);
    }
    return pt_entity_find(table, key, found, error);
}

/* Checks the rules that apply whether or not the entity exists. A delete without IfMatch is checked
 * only if it finds the entity: if not, it does not count as an operation of the batch. */
static int check_rules(pt_table *table, pt_slice key, const pt_write_request *request,
                       pt_error *error)
{
    if (request->mode != PT_WRITE_DELETE) {
        return pt_entity_check_rules(table, key, error);
    }
    return request->must_exist ? pt_entity_check_removal(table, key, error) : SQLITE_OK;
}

/* Lays the properties in table->bag over those of the entity. */
static int merge_into(pt_table *table, pt_slice key, pt_record *record, pt_error *error)
{
    pt_bag changes = table->bag;
    table->bag = table->columns;
    table->columns = changes;
    /* So far only the changes have been checked: the service refuses those before it looks for the
     * entity. The merged entity may still break the rules, so rules_checked stays false. */
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
        rc = check_condition(request, key, found, &record, error);
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

/* The change that INSERT or INSERT OR REPLACE makes. */
static pt_entity_change plain_change(const pt_slice *key, bool replaces)
{
    return (pt_entity_change){.put = key,
                              .operation = replaces ? PT_REPLACE : PT_INSERT,
                              .if_absent = replaces ? NULL
                                                    : "change that entity with UPDATE; INSERT OR "
                                                      "REPLACE would overwrite it"};
}

static int perform(pt_table *table, pt_slice key, const pt_write_request *request, pt_error *error)
{
    if (request->mode != PT_WRITE_INSERT &&
        (request->mode != PT_WRITE_REPLACE || request->must_exist)) {
        return perform_on_found(table, key, request, error);
    }
    pt_entity_change change = plain_change(&key, request->mode == PT_WRITE_REPLACE);
    if (change.if_absent != NULL && request->mode_given) {
        change.if_absent =
            "change that entity with WriteMode 'merge'; 'replace' would overwrite it";
    }
    return pt_entity_write(table, &change, error);
}

static int refuse_given_column(const char *name, pt_error *error)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s cannot be given, the store sets it; leave the column out", name);
}

static int refuse_system_columns(const pt_table *table, const pt_write_arguments *given,
                                 pt_error *error)
{
    static const struct {
        int tail;
        const char *name;
    } columns[] = {{PT_TAIL_TIMESTAMP, "Timestamp"},
                   {PT_TAIL_ETAG, "ETag"},
                   {PT_TAIL_ENTITY_KEY, "EntityKey"}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (sqlite3_value_type(given->tail[columns[i].tail]) != SQLITE_NULL) {
            return refuse_given_column(columns[i].name, error);
        }
    }
    for (int i = 0; i < table->config.row_id_count; i++) {
        if (sqlite3_value_type(given->tail[PT_TAIL_COUNT + i]) != SQLITE_NULL) {
            return refuse_given_column(table->config.row_ids[i], error);
        }
    }
    return SQLITE_OK;
}

/* Makes the key in table->key. */
static int make_insert_key(pt_table *table, const pt_write_arguments *given, bool of_any_length,
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
    return of_any_length ? pt_make_key_of_any_length(table, partition, row, error)
                         : pt_make_key(table, partition, row, error);
}

/* True if a row gives nothing but the keys and declared columns. */
static bool gives_columns_only(const pt_table *table, const pt_write_arguments *given)
{
    sqlite3_value **tail = given->tail;
    sqlite3_value **end = tail + PT_TAIL_COUNT + table->config.row_id_count;
    while (tail != end && sqlite3_value_type(*tail) == SQLITE_NULL) {
        tail++;
    }
    return tail == end;
}

static int insert_columns(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    int rc = make_insert_key(table, given, false, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_slice key = pt_buffer_slice(&table->key);
    const pt_column_places *places = pt_entity_last_places(table);
    const pt_entity_change change = plain_change(&key, pt_is_or_replace(table));
    uint64_t data_size = 0;
    bool alike = places != NULL && table->alike.shape == places->shape;
    if (alike) {
        rc = pt_template_fill(table, given, &alike, &data_size, error);
    }
    if (rc == SQLITE_OK && alike) {
        return pt_entity_write_template(table, &change, data_size, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_bag_from_insert(table, given, places, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_entity_write(table, &change, error);
    }
    /* Two entities of one shape make it likely that more of them follow. */
    if (rc == SQLITE_OK && places != NULL && table->last_shape == places->shape) {
        pt_template_make(table, places);
    }
    return rc;
}

static int insert_with_request(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    const pt_given_request given_request = {
        .mode = given->tail[PT_TAIL_WRITE_MODE],
        .if_match = given->tail[PT_TAIL_IF_MATCH],
        .or_replace = pt_is_or_replace(table),
        .columns = table->config.columns,
        .column_count = table->config.column_count,
        .declared = given->declared,
        .properties = given->tail[PT_TAIL_PROPERTIES],
    };
    pt_write_request request = {0};
    int rc = refuse_system_columns(table, given, error);
    if (rc == SQLITE_OK) {
        rc = pt_write_request_read(&given_request, &request, error);
    }
    if (rc == SQLITE_OK) {
        rc = make_insert_key(table, given, request.mode == PT_WRITE_DELETE, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_bag_from_insert(table, given, pt_entity_last_places(table), error);
    }
    return rc == SQLITE_OK ? perform(table, pt_buffer_slice(&table->key), &request, error) : rc;
}

int pt_insert(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    return gives_columns_only(table, given) ? insert_columns(table, given, error)
                                            : insert_with_request(table, given, error);
}
