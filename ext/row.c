#include "row.h"

#include <math.h>

#include "columns.h"
#include "key.h"
#include "record_value.h"

void pt_row_free(pt_row *row)
{
    pt_buffer_free(&row->shape);
    pt_buffer_free(&row->json);
}

/* A shape that a stored record names keeps its id; one that only pending records name may lose it.
 */
static inline int open_record(pt_row *row, const pt_table *table, pt_error *error)
{
    if (row->source.context == NULL) {
        row->source = pt_dictionary_source(pt_session_store(table->session)->dictionary);
    }
    int rc = pt_record_open(&row->record, row->key, row->bytes, &row->source, &row->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(row->key, error);
    }
    if (row->lasting && row->record.shape->id != 0) {
        row->source.hint = row->record.shape;
    }
    row->opened = true;
    return SQLITE_OK;
}

int pt_row_open(pt_row *row, const pt_table *table, pt_error *error)
{
    return row->opened ? SQLITE_OK : open_record(row, table, error);
}

/* --- Declared columns --- */

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
                                int index, pt_error *error)
{
    int place = row->places->place[index];
    if (place < 0) {
        sqlite3_result_null(context);
        return SQLITE_OK;
    }
    return present_column(row, table, context, (unsigned)place, error);
}

/*
 * Whether the columns' places are those of the last row with places. Those of shapes without id lie
 * in the map only until the next of them is asked for.
 */
static bool has_places(const pt_row *row)
{
    return row->places != NULL && row->places->shape == row->record.shape &&
           row->record.shape->id != 0;
}

__attribute__((noinline)) static int newly_placed_column(pt_row *row, pt_table *table,
                                                         sqlite3_context *context, int index,
                                                         pt_error *error)
{
    row->places = pt_column_map_find(&table->map, row->record.shape);
    return row->places != NULL ? placed_column(row, table, context, index, error)
                               : pt_error_nomem(error);
}

static inline int declared_column(pt_row *row, pt_table *table, sqlite3_context *context, int index,
                                  pt_error *error)
{
    return has_places(row) ? placed_column(row, table, context, index, error)
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
