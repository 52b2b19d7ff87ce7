#include "insert.h"

#include "write_mode.h"

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

/* A value for a declared column goes over the base. */
static int set_column(pt_bag *bag, pt_field field, pt_error *error)
{
    return pt_bag_set(bag, &field) ? SQLITE_OK : pt_error_nomem(error);
}

static int collect_insert(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    pt_bag *bag = &table->bag;
    int count = table->config.column_count;
    int rc = pt_entity_parse_properties(table, given->tail[PT_TAIL_PROPERTIES], error);
    if (rc == SQLITE_OK && !pt_bag_reserve(bag, bag->count + (unsigned)count)) {
        rc = pt_error_nomem(error);
    }
    bool has_base = bag->count != 0;
    const pt_column_places *places = pt_entity_last_places(table);
    for (int i = 0; rc == SQLITE_OK && i < count; i++) {
        pt_field *field = &bag->fields[bag->count];
        rc = pt_entity_convert(table, i, given->declared[i], field, error);
        if (rc != SQLITE_OK || field->value.type == PT_NONE) {
            continue;
        }
        if (has_base) {
            rc = set_column(bag, *field, error);
        } else {
            field->name_id = pt_column_places_name_id(places, i);
            bag->count++;
        }
    }
    return rc;
}

int pt_insert(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    pt_slice partition = {0};
    pt_slice row = {0};
    pt_write_form form = {0};
    int rc = refuse_system_columns(given, error);
    if (rc == SQLITE_OK) {
        rc = pt_write_form_read(table, given, &form, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_entity_key_text(given->keys[0], "PartitionKey", &partition, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_entity_key_text(given->keys[1], "RowKey", &row, error);
    }
    if (rc == SQLITE_OK) {
        rc = form.mode == PT_WRITE_DELETE
                 ? pt_entity_make_key_of_any_length(table, partition, row, error)
                 : pt_entity_make_key(table, partition, row, error);
    }
    if (rc == SQLITE_OK) {
        rc = collect_insert(table, given, error);
    }
    return rc == SQLITE_OK ? pt_write_perform(table, pt_buffer_slice(&table->key), &form, error)
                           : rc;
}
