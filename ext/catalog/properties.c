#include "catalog/properties.h"

#include "catalog/census.h"
#include "catalog/source.h"
#include "table/columns.h"

enum { NAME, TYPE, ENTITIES, SHARE, EXAMPLE, ARGUMENTS };

typedef struct properties {
    pt_tvf_cursor base;
    pt_catalog_source source;
    pt_census census;
    size_t place; /* of the current row, from 1 on */
} properties;

static properties *properties_of(pt_tvf_cursor *cursor)
{
    return (properties *)cursor;
}

/* --- Counting --- */

static int look(properties *self, pt_error *error)
{
    pt_record record;
    int rc = pt_catalog_source_record(&self->source, &record, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_census_look(&self->census, &record);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : pt_report_damage(self->source.scan.key, error);
}

static int count_entity(properties *self, pt_error *error)
{
    uint16_t shape_id = pt_catalog_source_shape(&self->source);
    bool seen = false;
    if (shape_id != 0 && !pt_census_count(&self->census, shape_id, &seen)) {
        return pt_error_nomem(error);
    }
    return seen ? SQLITE_OK : look(self, error);
}

static int begin(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    properties *self = properties_of(cursor);
    const pt_slice all = {0};
    int rc = pt_catalog_source_open(&self->source, cursor, error);
    if (rc == SQLITE_OK) {
        rc = pt_catalog_source_seek(&self->source, all, all, false, PT_FORWARD, error);
    }
    while (rc == SQLITE_OK && self->source.scan.valid) {
        rc = count_entity(self, error);
        rc = rc == SQLITE_OK ? pt_view_step(self->source.scan.view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&self->source.scan, error) : rc;
    }
    if (rc == SQLITE_OK) {
        pt_shape_source shapes =
            pt_dictionary_source(pt_session_store(self->source.session)->dictionary);
        pt_census_finish(&self->census, &shapes);
    }
    pt_catalog_source_close(&self->source);
    self->place = 0;
    return rc;
}

static void end(pt_tvf_cursor *cursor)
{
    properties *self = properties_of(cursor);
    pt_catalog_source_close(&self->source);
    pt_census_free(&self->census);
}

/* --- Rows --- */

static int next(pt_tvf_cursor *cursor, pt_error *error)
{
    (void)error;
    properties *self = properties_of(cursor);
    cursor->eof = self->place == self->census.count;
    self->place++;
    return SQLITE_OK;
}

static void column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const properties *self = properties_of(cursor);
    const pt_census_property *property = &self->census.properties[self->place - 1];
    switch (index) {
    case NAME:
        pt_tvf_result_text(context, property->name);
        break;
    case TYPE:
        sqlite3_result_text(context, pt_type_name(property->type), -1, SQLITE_STATIC);
        break;
    case ENTITIES:
        sqlite3_result_int64(context, property->entities);
        break;
    case SHARE:
        sqlite3_result_double(context, (double)property->entities / (double)self->census.entities);
        break;
    default:
        sqlite3_result_text(context, property->example, -1, SQLITE_TRANSIENT);
        break;
    }
}

const pt_tvf pt_tvf_properties = {
    .name = "pt_properties",
    .declaration = "CREATE TABLE x(Name TEXT, Type TEXT, Entities INT, Share REAL, Example TEXT, "
                   "argument1 HIDDEN, argument2 HIDDEN)",
    .usage = "pt_properties('table'), or pt_properties('store', 'table')",
    .first_argument = ARGUMENTS,
    .least_arguments = 1,
    .most_arguments = 2,
    .key_column = -1,
    .opens_stores = true,
    .cursor_size = sizeof(properties),
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};
