#include "table/entity_writer.h"

#include "base/text.h"
#include "entity/azure_limits.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "entity/shape.h"
#include "table/entity_rules.h"
#include "transaction/large_value.h"
#include "value/json_read.h"
#include "value/value.h"

/* --- Keys --- */

static int refuse_key(pt_error *error, const char *column, sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return pt_error_set(
            error, SQLITE_CONSTRAINT_NOTNULL,
            "%s is NULL; every entity needs a PartitionKey and a RowKey, which may be "
            "empty texts (PropertiesNeedValue)",
            column);
    case SQLITE_FLOAT:
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s is the number %s; give a text or an integer (InvalidValueType)",
                            column, (const char *)sqlite3_value_text(value));
    default:
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s is a BLOB; give a text or an integer (InvalidValueType)", column);
    }
}

int pt_entity_key_text(sqlite3_value *value, const char *column, pt_slice *text, pt_error *error)
{
    int type = sqlite3_value_type(value);
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER) {
        return refuse_key(error, column, value);
    }
    if (pt_value_argument_text(value, text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (pt_key_is_valid_text(*text)) {
        return SQLITE_OK;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(*text, excerpt);
    if (memchr(text->data, 0, text->size) != NULL) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s '%s' contains U+0000, which no key may contain; remove it "
                            "(OutOfRangeInput)",
                            column, excerpt);
    }
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s '%s' is not well-formed UTF-8; give another key (OutOfRangeInput)",
                        column, excerpt);
}

static int put_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error)
{
    pt_key_begin(&table->key, table->id.id);
    pt_key_append(&table->key, partition, row);
    return table->key.failed ? pt_error_nomem(error) : SQLITE_OK;
}

int pt_entity_make_key_of_any_length(pt_table *table, pt_slice partition, pt_slice row,
                                     pt_error *error)
{
    int rc = table->config.azure_limits ? pt_limits_check_key_characters(partition, row, error)
                                        : SQLITE_OK;
    return rc == SQLITE_OK ? put_key(table, partition, row, error) : rc;
}

int pt_entity_make_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error)
{
    int rc = table->config.azure_limits ? pt_limits_check_keys(partition, row, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = put_key(table, partition, row, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (table->key.size > PT_KEY_LOGICAL_MAX) {
        return pt_error_set(
            error, SQLITE_TOOBIG,
            "PartitionKey and RowKey have %lld bytes together; at most %d are possible "
            "(PropertyValueTooLarge)",
            (long long)partition.size + (long long)row.size,
            PT_KEY_LOGICAL_MAX - PT_KEY_TABLE_SIZE - 1);
    }
    return SQLITE_OK;
}

int pt_entity_make_old_key(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    pt_key_begin(&table->old_key, table->id.id);
    pt_buffer_append(&table->old_key, sqlite3_value_blob(entity_key),
                     (size_t)sqlite3_value_bytes(entity_key));
    return table->old_key.failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* --- Putting an entity together --- */

static pt_dictionary *dictionary_of(const pt_table *table)
{
    return pt_session_store(table->session)->dictionary;
}

pt_slice pt_entity_column_name(const pt_table *table, int column)
{
    return pt_slice_of(table->config.columns[column].name, table->config.columns[column].name_size);
}

int pt_entity_convert(pt_table *table, int column, sqlite3_value *sql, pt_field *field,
                      pt_error *error)
{
    const pt_column *declared = &table->config.columns[column];
    field->name = pt_entity_column_name(table, column);
    field->name_id = 0;
    return pt_value_from_sql(sql, declared->type, declared->name, &field->value, error);
}

int pt_entity_parse_properties(pt_table *table, sqlite3_value *json, pt_error *error)
{
    /* An empty text is what .import sends for an empty field. */
    int type = sqlite3_value_type(json);
    if (type == SQLITE_NULL || (type == SQLITE_TEXT && sqlite3_value_bytes(json) == 0)) {
        pt_bag_clear(&table->bag);
        return SQLITE_OK;
    }
    return pt_json_parse(json, &table->bag, error);
}

/* --- Storing --- */

/* A name that occurs twice can only come from a stored record. */
static int refuse_shape(const pt_table *table, pt_slice key, int rc, pt_error *error)
{
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (rc == SQLITE_CONSTRAINT) {
        return pt_report_damage(key, error);
    }
    if (table->bag.count > UINT16_MAX) {
        return pt_error_set(error, rc,
                            "the entity has %u properties; leave some out, at most %d are possible "
                            "(TooManyProperties)",
                            table->bag.count, UINT16_MAX);
    }
    return pt_error_set(error, rc,
                        "the entity has a property whose name is longer than %d bytes; shorten it "
                        "(PropertyNameTooLong)",
                        UINT16_MAX);
}

/* The shape of the last entity that was put, while its ids are valid, or NULL. */
static const pt_shape *last_shape_of(const pt_table *table)
{
    bool valid = table->last_shape_epoch == pt_dictionary_epoch(dictionary_of(table));
    return valid ? table->last_shape : NULL;
}

const pt_column_places *pt_entity_last_places(pt_table *table)
{
    const pt_shape *shape = last_shape_of(table);
    return shape != NULL ? pt_column_map_find(&table->map, shape) : NULL;
}

/* Puts the record of the bag under a logical key. On failure nothing has changed. */
static int put_record(pt_table *table, pt_slice key, pt_operation operation, int64_t ticks,
                      pt_error *error)
{
    pt_dictionary *dictionary = dictionary_of(table);
    const pt_shape *shape;
    int rc = pt_dictionary_shape(dictionary, table->bag.fields, table->bag.count,
                                 last_shape_of(table), &table->new_shape, &shape);
    if (rc != SQLITE_OK) {
        return refuse_shape(table, key, rc, error);
    }
    table->last_shape = shape->id != 0 ? shape : NULL;
    table->last_shape_epoch = pt_dictionary_epoch(dictionary);
    size_t size = pt_record_size(shape, table->bag.fields);
    if (size == 0) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "the entity would have more than %d bytes; make it smaller "
                            "(EntityTooLarge)",
                            PT_RECORD_MAX);
    }
    uint8_t *bytes = pt_session_put(table->session, key, operation, size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    pt_record_write(shape, table->bag.fields, ticks, key, bytes, size);
    return SQLITE_OK;
}

/*
 * What a row's write does to the store. Large values are operations of their own: their chunks are
 * put before the record that points to them, and those that nothing points to any more are removed.
 */
typedef struct entity_change {
    const pt_slice *put; /* the key that the bag is stored under, or NULL */
    pt_operation operation;
    const pt_slice *remove; /* the key that goes, or NULL */
    pt_buffer gone;         /* large values that go: transaction/large_value.h */
} entity_change;

static int put_entity(pt_table *table, const entity_change *change, bool has_large, pt_error *error)
{
    int64_t ticks = pt_session_tick(table->session);
    int rc = SQLITE_OK;
    if (has_large) {
        rc = pt_large_fields_put(table->session, table->id.id, ticks, &table->bag, error);
    }
    return rc == SQLITE_OK ? put_record(table, *change->put, change->operation, ticks, error) : rc;
}

static int remove_entity(pt_table *table, pt_slice key, pt_error *error)
{
    int rc = pt_entity_check_removal(table, key, error);
    return rc == SQLITE_OK ? pt_session_remove(table->session, key, error) : rc;
}

static int run_operations(pt_table *table, const entity_change *change, bool has_large,
                          pt_error *error)
{
    int rc = SQLITE_OK;
    if (change->put != NULL) {
        rc = put_entity(table, change, has_large, error);
    }
    if (rc == SQLITE_OK && change->remove != NULL) {
        rc = remove_entity(table, *change->remove, error);
    }
    if (rc == SQLITE_OK && change->gone.size != 0) {
        rc = pt_large_fields_remove(table->session, table->id.id, &change->gone, error);
    }
    return rc;
}

/* All operations of the change or none. */
static int apply(pt_table *table, const entity_change *change, pt_error *error)
{
    bool has_large = change->put != NULL && pt_large_fields_are_needed(&table->bag);
    bool moves = change->put != NULL && change->remove != NULL;
    pt_session_require_sync(table->session, table->config.sync);
    if (!has_large && !moves && change->gone.size == 0) {
        return run_operations(table, change, false, error);
    }
    size_t row = pt_session_begin_row(table->session);
    int rc = run_operations(table, change, has_large, error);
    if (rc == SQLITE_OK) {
        pt_session_end_row(table->session);
    } else {
        pt_session_give_up_row(table->session, row);
    }
    return rc;
}

/* Finds the large values that go and applies the change. */
static int find_and_apply(pt_table *table, entity_change *change, pt_error *error)
{
    const pt_bag *kept = change->put != NULL ? &table->bag : NULL;
    bool replaces = change->put != NULL && change->operation != PT_INSERT;
    int rc = SQLITE_OK;
    if (replaces) {
        rc = pt_large_fields_find_gone(table->session, *change->put, kept, &change->gone, error);
    }
    if (rc == SQLITE_OK && change->remove != NULL) {
        rc = pt_large_fields_find_gone(table->session, *change->remove, kept, &change->gone, error);
    }
    return rc == SQLITE_OK ? apply(table, change, error) : rc;
}

static int make_change(pt_table *table, entity_change *change, pt_error *error)
{
    int rc = change->put != NULL ? pt_entity_check(table, *change->put, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = find_and_apply(table, change, error);
    }
    if (rc == SQLITE_OK) {
        pt_entity_note_write(table);
    }
    if (change->gone.data != NULL) {
        pt_buffer_free(&change->gone);
    }
    return rc;
}

/*
 * The short way of most rows: the bag has the shape of the last one and so little data that no
 * value must become large, no rule is asked, and there are no large values that could go. 0: this
 * is not such a row.
 */
static int find_short_size(pt_table *table, pt_operation operation, size_t *size, pt_error *error)
{
    const pt_shape *shape = last_shape_of(table);
    uint64_t data_size;
    bool possible = false;
    int rc = SQLITE_OK;
    *size = 0;
    if (shape == NULL || pt_entity_has_rules(table) ||
        !pt_shape_fits(shape, table->bag.fields, table->bag.count, &data_size) ||
        data_size > PT_INLINE_SIZE_MAX) {
        return SQLITE_OK;
    }
    if (operation != PT_INSERT) {
        rc = pt_large_values_possible(table->session, table->id.id, &possible, error);
    }
    if (rc == SQLITE_OK && !possible) {
        *size = pt_record_size_with(shape, data_size);
    }
    return rc;
}

static int put_short(pt_table *table, pt_slice key, pt_operation operation, size_t size,
                     pt_error *error)
{
    int64_t ticks = pt_session_tick(table->session);
    pt_session_require_sync(table->session, table->config.sync);
    uint8_t *bytes = pt_session_put(table->session, key, operation, size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    pt_record_write(table->last_shape, table->bag.fields, ticks, key, bytes, size);
    return SQLITE_OK;
}

int pt_entity_put(pt_table *table, pt_slice key, pt_operation operation, pt_error *error)
{
    size_t short_size;
    int rc = find_short_size(table, operation, &short_size, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (short_size != 0) {
        return put_short(table, key, operation, short_size, error);
    }
    entity_change change = {.put = &key, .operation = operation};
    return make_change(table, &change, error);
}

int pt_entity_move(pt_table *table, pt_slice old_key, pt_slice new_key, pt_operation operation,
                   pt_error *error)
{
    entity_change change = {.put = &new_key, .operation = operation, .remove = &old_key};
    return make_change(table, &change, error);
}

int pt_entity_remove(pt_table *table, pt_slice key, pt_error *error)
{
    entity_change change = {.remove = &key};
    return make_change(table, &change, error);
}

int pt_entity_open_old(pt_table *table, pt_slice key, bool *found, pt_record *record,
                       pt_error *error)
{
    pt_slice bytes;
    int rc = pt_session_find(table->session, key, found, &bytes, error);
    if (rc != SQLITE_OK || !*found) {
        return rc;
    }
    if (!pt_buffer_assign(&table->old_record, bytes)) {
        return pt_error_nomem(error);
    }
    pt_shape_source source = pt_dictionary_source(dictionary_of(table));
    rc = pt_record_open(record, key, pt_buffer_slice(&table->old_record), &source,
                        &table->old_shape);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : pt_report_damage(key, error);
}

int pt_entity_keep_properties(pt_table *table, const pt_record *record, pt_slice key,
                              pt_error *error)
{
    pt_bag *bag = &table->bag;
    unsigned count = record->shape->count;
    pt_bag_clear(bag);
    if (!pt_bag_reserve(bag, count)) {
        return pt_error_nomem(error);
    }
    for (unsigned i = 0; i < count; i++) {
        const pt_property *property = &record->shape->properties[i];
        pt_field *field = &bag->fields[i];
        field->name = property->name;
        field->name_id = property->name_id;
        if (pt_record_value(record, i, &field->value) != SQLITE_OK) {
            return pt_report_damage(key, error);
        }
    }
    bag->count = count;
    return SQLITE_OK;
}

int pt_entity_set_columns(pt_table *table, pt_error *error)
{
    for (unsigned i = 0; i < table->columns.count; i++) {
        if (!pt_bag_set(&table->bag, &table->columns.fields[i])) {
            return pt_error_nomem(error);
        }
    }
    return SQLITE_OK;
}

/* --- Conflicts --- */

bool pt_write_replaces(const pt_table *table)
{
    return sqlite3_vtab_on_conflict(pt_connection_db(table->connection)) == SQLITE_REPLACE;
}

int pt_entity_check_absent(pt_table *table, pt_slice key, const char *remedy, pt_error *error)
{
    bool found;
    pt_slice record;
    int rc = pt_session_find(table->session, key, &found, &record, error);
    if (rc != SQLITE_OK || !found) {
        return rc;
    }
    pt_keys keys = pt_keys_of(key);
    return pt_error_set(error, SQLITE_CONSTRAINT_PRIMARYKEY,
                        "an entity with PartitionKey '%.*s', RowKey '%.*s' exists; use %s or "
                        "other keys (EntityAlreadyExists)",
                        (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
                        keys.row.data, remedy);
}

/* --- Entity patch --- */

/* NULL if it is not there, or has no id. */
static const pt_property *property_of(const pt_shape *shape, uint16_t name_id)
{
    for (unsigned i = 0; i < shape->count; i++) {
        if (shape->properties[i].name_id == name_id) {
            return name_id != 0 ? &shape->properties[i] : NULL;
        }
    }
    return NULL;
}

static bool can_take_all(const pt_record *record, const pt_bag *changes)
{
    for (unsigned i = 0; i < changes->count; i++) {
        const pt_field *field = &changes->fields[i];
        const pt_property *property = property_of(record->shape, field->name_id);
        if (property == NULL || !pt_record_can_take(record, property, &field->value)) {
            return false;
        }
    }
    return true;
}

/* A record with so little data has no value that must become a large one. */
bool pt_entity_can_be_patched(const pt_table *table, const pt_record *record)
{
    return record->shape->id != 0 && record->data_size <= PT_INLINE_SIZE_MAX &&
           !pt_entity_has_rules(table) && can_take_all(record, &table->columns) &&
           pt_record_is_sound(record);
}

int pt_entity_patch(pt_table *table, const pt_record *record, pt_slice key, pt_error *error)
{
    pt_slice old = pt_buffer_slice(&table->old_record);
    int64_t ticks = pt_session_tick(table->session);
    pt_session_require_sync(table->session, table->config.sync);
    uint8_t *bytes = pt_session_put(table->session, key, PT_MERGE, old.size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    memcpy(bytes, old.data, old.size);
    for (unsigned i = 0; i < table->columns.count; i++) {
        const pt_field *field = &table->columns.fields[i];
        pt_record_patch(record, property_of(record->shape, field->name_id), &field->value, bytes);
    }
    pt_record_seal(ticks, key, bytes, old.size);
    return SQLITE_OK;
}
