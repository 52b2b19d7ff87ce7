#include "catalog/properties.h"

#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "catalog/tables_source.h"
#include "entity/damage.h"

enum {
    PROPERTIES_NAME,
    PROPERTIES_TYPE,
    PROPERTIES_ENTITIES,
    PROPERTIES_SHARE,
    PROPERTIES_EXAMPLE,
    PROPERTIES_ARGUMENTS
};

typedef struct properties_cursor {
    pt_tvf_cursor base;
    pt_catalog_source source;
    pt_census census;
    size_t place; /* number of the current row, from 1 */
} properties_cursor;

static properties_cursor *properties_cursor_of(pt_tvf_cursor *cursor)
{
    return (properties_cursor *)cursor;
}

/* --- Counting --- */

static int look_into_entity(properties_cursor *self, pt_error *error)
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

static int count_entity(properties_cursor *self, pt_error *error)
{
    uint16_t shape_id = pt_catalog_source_shape(&self->source);
    bool seen = false;
    if (shape_id != 0 && !pt_census_count(&self->census, shape_id, &seen)) {
        return pt_error_nomem(error);
    }
    return seen ? SQLITE_OK : look_into_entity(self, error);
}

static int begin_properties(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    properties_cursor *self = properties_cursor_of(cursor);
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

static void end_properties(pt_tvf_cursor *cursor)
{
    properties_cursor *self = properties_cursor_of(cursor);
    pt_catalog_source_close(&self->source);
    pt_census_free(&self->census);
}

/* --- Rows --- */

static int next_property(pt_tvf_cursor *cursor, pt_error *error)
{
    (void)error;
    properties_cursor *self = properties_cursor_of(cursor);
    cursor->eof = self->place == self->census.count;
    self->place++;
    return SQLITE_OK;
}

static void census_column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const properties_cursor *self = properties_cursor_of(cursor);
    const pt_census_property *property = &self->census.properties[self->place - 1];
    switch (index) {
    case PROPERTIES_NAME:
        pt_tvf_result_text(context, property->name);
        break;
    case PROPERTIES_TYPE:
        sqlite3_result_text(context, pt_type_name(property->type), -1, SQLITE_STATIC);
        break;
    case PROPERTIES_ENTITIES:
        sqlite3_result_int64(context, property->entities);
        break;
    case PROPERTIES_SHARE:
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
    .first_argument = PROPERTIES_ARGUMENTS,
    .least_arguments = 1,
    .most_arguments = 2,
    .key_column = -1,
    .opens_stores = true,
    .cursor_size = sizeof(properties_cursor),
    .begin = begin_properties,
    .next = next_property,
    .column = census_column,
    .end = end_properties,
};

/* --- Census --- */

enum { BINARY_EXAMPLE = 16, EXAMPLE_SIZE = PT_EXCERPT_SIZE };

/* A large value counts as one of its plain type. */
static pt_type plain_type(uint8_t type)
{
    switch (type) {
    case PT_LARGE_STRING:
        return PT_STRING;
    case PT_LARGE_BINARY:
        return PT_BINARY;
    default:
        return (pt_type)type;
    }
}

/* --- Examples --- */

static void write_binary(pt_slice bytes, char example[EXAMPLE_SIZE])
{
    size_t shown = bytes.size < BINARY_EXAMPLE ? bytes.size : BINARY_EXAMPLE;
    char *end = example;
    *end++ = 'x';
    *end++ = '\'';
    for (size_t i = 0; i < shown; i++, end += 2) {
        sqlite3_snprintf(3, end, "%02x", bytes.data[i]);
    }
    sqlite3_snprintf(5, end, shown < bytes.size ? "...'" : "'");
}

static void write_double(double real, char example[EXAMPLE_SIZE])
{
    const char *name = pt_double_name(real);
    if (name != NULL) {
        sqlite3_snprintf(EXAMPLE_SIZE, example, "%s", name);
    } else {
        pt_double_format(real, example);
    }
}

static void write_example(const pt_value *value, char example[EXAMPLE_SIZE])
{
    switch (value->type) {
    case PT_STRING:
        pt_excerpt(value->bytes, example);
        break;
    case PT_BINARY:
        write_binary(value->bytes, example);
        break;
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        sqlite3_snprintf(EXAMPLE_SIZE, example, "%lld", (long long)value->integer);
        break;
    case PT_DOUBLE:
        write_double(value->real, example);
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, example);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, example);
        break;
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
        sqlite3_snprintf(EXAMPLE_SIZE, example, "(%llu bytes)",
                         (unsigned long long)value->large.size);
        break;
    case PT_NONE:
        example[0] = 0;
        break;
    }
}

/* --- Sorted properties --- */

static int compare_counted_property(const pt_census_property *a, pt_slice name, pt_type type)
{
    int order = pt_slice_compare(a->name, name);
    return order != 0 ? order : (int)a->type - (int)type;
}

/* The index of the property, or where to insert it if *found is false. */
static size_t find_property(const pt_census *census, pt_slice name, pt_type type, bool *found)
{
    size_t low = 0;
    size_t high = census->count;
    *found = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_counted_property(&census->properties[middle], name, type);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool insert_property(pt_census *census, size_t place, pt_slice name, pt_type type,
                            const pt_value *value)
{
    char example[EXAMPLE_SIZE];
    write_example(value, example);
    pt_slice own_name = pt_arena_copy(&census->arena, name);
    pt_slice own_example = pt_arena_copy(&census->arena, pt_slice_text(example));
    if (own_name.data == NULL || own_example.data == NULL ||
        !pt_array_reserve(&census->properties, &census->capacity, census->count + 1,
                          sizeof *census->properties)) {
        return false;
    }
    pt_census_property *at = &census->properties[place];
    memmove(at + 1, at, (census->count - place) * sizeof *at);
    *at = (pt_census_property){
        .name = own_name, .type = type, .example = (const char *)own_example.data};
    census->count++;
    return true;
}

/* --- Counting --- */

bool pt_census_count(pt_census *census, uint16_t shape_id, bool *seen)
{
    size_t known = census->shape_capacity;
    if (!pt_array_reserve(&census->shapes, &census->shape_capacity, (size_t)shape_id + 1,
                          sizeof *census->shapes)) {
        return false;
    }
    memset(census->shapes + known, 0, (census->shape_capacity - known) * sizeof *census->shapes);
    *seen = census->shapes[shape_id] != 0;
    census->shapes[shape_id]++;
    census->entities++;
    return true;
}

int pt_census_look(pt_census *census, pt_record *record)
{
    int64_t entities = record->shape->id == 0 ? 1 : 0;
    for (unsigned i = 0; i < record->shape->count; i++) {
        const pt_property *property = &record->shape->properties[i];
        pt_type type = plain_type(property->type);
        pt_value value;
        bool found;
        if (pt_record_value(record, i, &value) != SQLITE_OK) {
            return SQLITE_CORRUPT_VTAB;
        }
        size_t place = find_property(census, property->name, type, &found);
        if (!found && !insert_property(census, place, property->name, type, &value)) {
            return SQLITE_NOMEM;
        }
        census->properties[place].entities += entities;
    }
    census->entities += entities;
    return SQLITE_OK;
}

static void add_shape(pt_census *census, const pt_shape *shape, int64_t entities)
{
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_property *property = &shape->properties[i];
        bool found;
        size_t place = find_property(census, property->name, plain_type(property->type), &found);
        if (found) {
            census->properties[place].entities += entities;
        }
    }
}

void pt_census_finish(pt_census *census, const pt_shape_source *source)
{
    for (size_t id = 1; id < census->shape_capacity; id++) {
        const pt_shape *shape =
            census->shapes[id] != 0 ? source->shape(source->context, (uint16_t)id) : NULL;
        if (shape != NULL) {
            add_shape(census, shape, census->shapes[id]);
        }
        census->shapes[id] = 0;
    }
}

void pt_census_free(pt_census *census)
{
    sqlite3_free(census->properties);
    sqlite3_free(census->shapes);
    pt_arena_free(&census->arena);
    *census = (pt_census){0};
}
