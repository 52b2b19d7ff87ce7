#include "table/write.h"

#include "table/entity_writer.h"
#include "table/operation.h"
#include "table/table_transaction.h"
#include "table/update.h"

/* xUpdate's arguments: the old key, a copy of the new one, then the columns. */
enum { ARGUMENT_OLD_KEY = 0, ARGUMENT_COLUMNS = 2 };

static pt_write_arguments split_arguments(const pt_table *table, sqlite3_value **argv)
{
    sqlite3_value **columns = argv + ARGUMENT_COLUMNS;
    return (pt_write_arguments){.keys = columns,
                                .declared = columns + PT_COLUMN_FIRST,
                                .tail = columns + PT_COLUMN_FIRST + table->config.column_count};
}

/* SQLite 3.40 gives all columns in UPDATE ... FROM, so there Filter is what its WHERE asks. */
static int refuse_filter(const pt_write_arguments *given, bool inserting, pt_error *error)
{
    bool all_given = !inserting && !sqlite3_value_nochange(given->tail[PT_TAIL_ENTITY_KEY]);
    if (all_given || sqlite3_value_type(given->tail[PT_TAIL_FILTER]) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "Filter cannot be written, it is there for WHERE Filter MATCH '...'; leave "
                        "the column out");
}

static int delete_entity(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    int rc = pt_entity_make_old_key(table, entity_key, error);
    return rc == SQLITE_OK ? pt_entity_remove(table, pt_buffer_slice(&table->old_key), error) : rc;
}

static int write_row(pt_table *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid,
                     pt_error *error)
{
    int rc = pt_transaction_prepare_write(table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (argc == 1) {
        return delete_entity(table, argv[ARGUMENT_OLD_KEY], error);
    }
    pt_write_arguments given = split_arguments(table, argv);
    bool inserting = sqlite3_value_type(argv[ARGUMENT_OLD_KEY]) == SQLITE_NULL;
    rc = refuse_filter(&given, inserting, error);
    if (rc == SQLITE_OK && inserting) {
        rc = pt_insert(table, &given, error);
        /* SQLite copies it into last_insert_rowid(), which is none of this table's business. */
        *rowid = sqlite3_last_insert_rowid(pt_connection_db(table->connection));
    } else if (rc == SQLITE_OK) {
        rc = pt_update(table, argv[ARGUMENT_OLD_KEY], &given, error);
    }
    return rc;
}

int pt_write_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    pt_table_enter(table);
    int rc = write_row(table, argc, argv, rowid, &error);
    pt_table_leave(table);
    return rc == SQLITE_OK ? rc : pt_table_fail_write(table, &error);
}

/* --- Insert --- */

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

/* The columns' values go over the base that Properties has given. */
static int set_columns(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < table->config.column_count; i++) {
        pt_field field;
        rc = pt_entity_convert(table, i, given->declared[i], &field, error);
        if (rc == SQLITE_OK && field.value.type != PT_NONE && !pt_bag_set(&table->bag, &field)) {
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
 * Fills an empty bag from the columns. What the last entity had, too, goes where its shape has it,
 * and the rest behind; so a row of the same shape is in the shape's order already.
 */
static int add_columns(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    pt_bag *bag = &table->bag;
    int count = table->config.column_count;
    const pt_column_places *places = pt_entity_last_places(table);
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
        int rc = pt_entity_convert(table, i, given->declared[i], field, error);
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

static int collect_insert(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    int rc = pt_entity_parse_properties(table, given->tail[PT_TAIL_PROPERTIES], error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return table->bag.count != 0 ? set_columns(table, given, error)
                                 : add_columns(table, given, error);
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
