#include "table/arguments.h"

#include "base/text.h"
#include "base/ways.h"
#include "entity/azure_limits.h"
#include "entity/key.h"
#include "value/json_read.h"
#include "value/value.h"

/* --- Keys --- */

/* Also a REAL that is an integer: many conditions could not find a key '5' by the 5.0 that wrote
 * it, because SQLite makes '5.0' of it. */
static int refuse_real_key(sqlite3_value *value, const char *column, pt_error *error)
{
    char shown[PT_DESCRIPTION_SIZE];
    int64_t integer;
    pt_value_describe(value, shown);
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s is the REAL %s; give a text (in JavaScript String(n)) or an "
                        "integer%s (InvalidValueType)",
                        column, shown,
                        pt_value_real_integer(value, &integer) ? ", such as CAST(? AS INTEGER)"
                                                               : "");
}

static int refuse_key_type(sqlite3_value *value, const char *column, pt_error *error)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return pt_error_set(
            error, SQLITE_CONSTRAINT_NOTNULL,
            "%s is NULL; every entity needs a PartitionKey and a RowKey, which may be "
            "empty texts (PropertiesNeedValue)",
            column);
    case SQLITE_FLOAT:
        return refuse_real_key(value, column, error);
    default:
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s is a BLOB; give a text or an integer (InvalidValueType)", column);
    }
}

static int refuse_key_text(pt_slice text, const char *column, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    if (memchr(text.data, 0, text.size) != NULL) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s '%s' contains U+0000, which no key may contain; remove it "
                            "(OutOfRangeInput)",
                            column, excerpt);
    }
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s '%s' is not well-formed UTF-8; give another key (OutOfRangeInput)",
                        column, excerpt);
}

/* noinline, so that texts, as nearly all keys are, need no room for it. */
__attribute__((noinline)) static int key_from_number(sqlite3_value *value, const char *column,
                                                     pt_slice *text, pt_error *error)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER) {
        return refuse_key_type(value, column, error);
    }
    /* SQLite has not applied the column's affinity: an integer arrives as an integer. */
    return pt_value_argument_text(value, text) == SQLITE_OK ? SQLITE_OK : pt_error_nomem(error);
}

int pt_key_from_sql(sqlite3_value *value, const char *column, pt_slice *text, pt_error *error)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return key_from_number(value, column, text, error);
    }
    if (pt_value_text_bytes(value, text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    return pt_key_is_valid_text(*text) ? SQLITE_OK : refuse_key_text(*text, column, error);
}

static int make_table_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error)
{
    pt_key_begin(&table->key, table->id.id);
    pt_key_append(&table->key, partition, row);
    return table->key.failed ? pt_error_nomem(error) : SQLITE_OK;
}

int pt_make_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error)
{
    int rc = table->config.azure_limits
                 ? pt_limits_check_keys(partition, row, PT_LIMITS_OF_OPTION, error)
                 : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = make_table_key(table, partition, row, error);
    }
    if (rc == SQLITE_OK && table->key.size > PT_KEY_ENTITY_MAX &&
        pt_key_entity(pt_buffer_slice(&table->key)).size > PT_KEY_ENTITY_MAX) {
        return pt_error_set(
            error, SQLITE_TOOBIG,
            "PartitionKey and RowKey have %lld bytes together; at most %d are possible "
            "(PropertyValueTooLarge)",
            (long long)partition.size + (long long)row.size, PT_KEY_ENTITY_MAX - 1);
    }
    return rc;
}

int pt_make_key_of_any_length(pt_table *table, pt_slice partition, pt_slice row, pt_error *error)
{
    int rc = table->config.azure_limits
                 ? pt_limits_check_key_characters(partition, row, PT_LIMITS_OF_OPTION, error)
                 : SQLITE_OK;
    return rc == SQLITE_OK ? make_table_key(table, partition, row, error) : rc;
}

int pt_make_old_key(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    pt_key_begin(&table->old_key, table->id.id);
    pt_buffer_append(&table->old_key, sqlite3_value_blob(entity_key),
                     (size_t)sqlite3_value_bytes(entity_key));
    return table->old_key.failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* --- Properties --- */

int pt_field_from_sql(const pt_column *column, sqlite3_value *sql, pt_field *field, pt_error *error)
{
    field->name = pt_slice_of(column->name, column->name_size);
    field->name_id = 0;
    return pt_value_from_sql(sql, column->type, column->name, &field->value, error);
}

int pt_bag_from_properties(pt_bag *bag, sqlite3_value *json, pt_error *error)
{
    int type = sqlite3_value_type(json);
    /* The shell's .import gives an empty text for an empty field. */
    if (type == SQLITE_NULL || (type == SQLITE_TEXT && sqlite3_value_bytes(json) == 0)) {
        pt_bag_clear(bag);
        return SQLITE_OK;
    }
    return pt_json_parse(json, bag, error);
}

int pt_bag_set_columns(pt_bag *bag, const pt_column *columns, int count, sqlite3_value **declared,
                       pt_error *error)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < count; i++) {
        pt_field field;
        rc = pt_field_from_sql(&columns[i], declared[i], &field, error);
        if (rc == SQLITE_OK && field.value.type != PT_NONE && !pt_bag_set(bag, &field)) {
            rc = pt_error_nomem(error);
        }
    }
    return rc;
}

static unsigned close_gaps(pt_field *fields, unsigned end)
{
    unsigned count = 0;
    for (unsigned i = 0; i < end; i++) {
        if (fields[i].value.type != PT_NONE) {
            fields[count++] = fields[i];
        }
    }
    return count;
}

/*
 * Fills an empty bag from the columns. A column that the last shape has goes to its place there;
 * the others follow. Places that stay empty (NULL columns, properties without a column) are closed
 * at the end.
 */
static int add_insert_columns(pt_table *table, const pt_write_arguments *given,
                              const pt_column_places *places, pt_error *error)
{
    pt_bag *bag = &table->bag;
    int count = table->config.column_count;
    unsigned end = places != NULL ? places->shape->count : 0;
    unsigned gaps = end;
    if (!pt_bag_reserve(bag, end + (unsigned)count)) {
        return pt_error_nomem(error);
    }
    for (unsigned i = 0; i < end; i++) {
        bag->fields[i].value.type = PT_NONE;
    }
    for (int i = 0; i < count; i++) {
        int place = places != NULL ? places->place[i] : -1;
        pt_field *field = &bag->fields[place >= 0 ? (unsigned)place : end];
        int rc = pt_field_from_sql(&table->config.columns[i], given->declared[i], field, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (field->value.type == PT_NONE) {
            continue;
        }
        if (place >= 0) {
            field->name_id = places->shape->properties[place].name_id;
            gaps--;
        } else {
            end++;
        }
    }
    bag->count = gaps == 0 ? end : close_gaps(bag->fields, end);
    return SQLITE_OK;
}

int pt_bag_from_insert(pt_table *table, const pt_write_arguments *given,
                       const pt_column_places *places, pt_error *error)
{
    int rc = pt_bag_from_properties(&table->bag, given->tail[PT_TAIL_PROPERTIES], error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return table->bag.count != 0
               ? pt_bag_set_columns(&table->bag, table->config.columns, table->config.column_count,
                                    given->declared, error)
               : add_insert_columns(table, given, places, error);
}

/* --- Rows like the last one --- */

static bool reserve_template(pt_table *table, const pt_shape *shape)
{
    pt_template *alike = &table->alike;
    if (alike->targets == NULL) {
        alike->targets =
            sqlite3_malloc64((size_t)table->config.column_count * sizeof *alike->targets);
    }
    return alike->targets != NULL && pt_array_reserve(&alike->fields, &alike->field_capacity,
                                                      shape->count, sizeof *alike->fields);
}

void pt_template_make(pt_table *table, const pt_column_places *places)
{
    pt_template *alike = &table->alike;
    const pt_shape *shape = places->shape;
    alike->shape = NULL;
    if (PT_WAYS_ARE_GENERAL || !reserve_template(table, shape)) {
        return;
    }
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_property *property = &shape->properties[i];
        alike->fields[i] = (pt_field){.name = property->name,
                                      .name_id = property->name_id,
                                      .value = {.type = (pt_type)property->type}};
    }
    for (int i = 0; i < table->config.column_count; i++) {
        const pt_column *column = &table->config.columns[i];
        int place = places->place[i];
        pt_value *value = place >= 0 ? &alike->fields[place].value : &alike->absent;
        alike->targets[i] = pt_value_target_of(column->type, column->name, value);
    }
    alike->shape = shape;
}

int pt_template_fill(pt_table *table, const pt_write_arguments *given, bool *alike,
                     uint64_t *data_size, pt_error *error)
{
    return pt_values_from_sql(given->declared, table->alike.targets, table->config.column_count,
                              alike, data_size, error);
}
