#include "table/row.h"

#include <math.h>

#include "entity/key.h"
#include "entity/record_value.h"
#include "table/columns.h"

void pt_row_free(pt_row *row)
{
    pt_buffer_free(&row->shape);
    pt_buffer_free(&row->json);
}

/* A shape that a stored record names keeps its id; one that only pending records name may lose it.
 */
static void remember_shape(pt_row *row)
{
    if (row->lasting && row->record.shape->id != 0) {
        row->source.hint = row->record.shape;
    }
}

static inline int open_record(pt_row *row, const pt_table *table, pt_error *error)
{
    if (row->source.context == NULL) {
        row->source = pt_dictionary_source(pt_session_store(table->session)->dictionary);
    }
    int rc = pt_record_open(&row->record, row->key, row->bytes, &row->source, &row->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(row->key, error);
    }
    row->opened = true;
    if (row->record.shape != row->source.hint) {
        remember_shape(row);
    }
    return SQLITE_OK;
}

int pt_row_open(pt_row *row, const pt_table *table, pt_error *error)
{
    return row->opened ? SQLITE_OK : open_record(row, table, error);
}

/*
 * --- Declared columns ---
 *
 * One is asked for in every row of every scan. What is not needed each time, or calls out, is kept
 * out of line: then the usual way saves no registers.
 */

/* SQLite copies a text of given length as soon as somebody asks for its terminated form; with -1 it
 * knows that the NUL is there. */
__attribute__((noinline)) static int string_column(const pt_row *row, sqlite3_context *context,
                                                   const pt_property *property, pt_error *error)
{
    pt_slice text;
    if (!pt_record_string(&row->record, property, &text)) {
        return pt_report_damage(row->key, error);
    }
    const char *data = (const char *)text.data;
    int size = strlen(data) == text.size ? -1 : (int)text.size;
    sqlite3_result_text(context, data, size, row->lasting ? SQLITE_STATIC : SQLITE_TRANSIENT);
    return SQLITE_OK;
}

/* The usual types are handed on without a value being made of them. */
static inline int present_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                                 unsigned place, pt_error *error)
{
    const pt_record *record = &row->record;
    const pt_property *property = &record->shape->properties[place];
    switch (property->type) {
    case PT_STRING:
        return string_column(row, context, property, error);
    case PT_INT32:
        sqlite3_result_int(context, pt_record_int32(record, property));
        return SQLITE_OK;
    case PT_INT64:
        sqlite3_result_int64(context, pt_record_int64(record, property));
        return SQLITE_OK;
    case PT_DOUBLE:
        if (!isnan(pt_record_double(record, property))) {
            sqlite3_result_double(context, pt_record_double(record, property));
            return SQLITE_OK;
        }
        break;
    default:
        break;
    }
    return pt_property_column(row, table, context, place, error);
}

static inline int placed_column(const pt_row *row, const pt_table *table, sqlite3_context *context,
                                int place, pt_error *error)
{
    if (place < 0) {
        sqlite3_result_null(context);
        return SQLITE_OK;
    }
    return present_column(row, table, context, (unsigned)place, error);
}

/* The places of shapes without id lie in the map only until the next of them is asked for. */
__attribute__((noinline)) static int newly_placed_column(pt_row *row, pt_table *table,
                                                         sqlite3_context *context, int index,
                                                         pt_error *error)
{
    const pt_shape *shape = row->record.shape;
    const pt_column_places *places = pt_column_map_find(&table->map, shape);
    row->places = shape->id != 0 ? places : NULL;
    return places != NULL ? placed_column(row, table, context, places->place[index], error)
                          : pt_error_nomem(error);
}

static inline int declared_column(pt_row *row, pt_table *table, sqlite3_context *context, int index,
                                  pt_error *error)
{
    const pt_column_places *places = row->places;
    return places != NULL && places->shape == row->record.shape
               ? placed_column(row, table, context, places->place[index], error)
               : newly_placed_column(row, table, context, index, error);
}

__attribute__((noinline)) static int
first_column(pt_row *row, pt_table *table, sqlite3_context *context, int index, pt_error *error)
{
    int rc = open_record(row, table, error);
    return rc == SQLITE_OK ? declared_column(row, table, context, index, error) : rc;
}

int pt_row_column(pt_row *row, pt_table *table, sqlite3_context *context, int column,
                  pt_error *error)
{
    int declared = column - PT_COLUMN_FIRST;
    int tail = declared - table->config.column_count;
    if (tail >= 0) {
        return pt_tail_column(row, table, context, tail, error);
    }
    return row->opened ? declared_column(row, table, context, declared, error)
                       : first_column(row, table, context, declared, error);
}
