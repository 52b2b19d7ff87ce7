/*
 * Entities as texts that are equal when the entities are: the keys, then a line for each property,
 * with its type and value. Of a JSON object, or of columns of a ptable (without the types, which
 * SQL does not have).
 */
#ifndef TESTS_CONFORMANCE_ENTITIES_H
#define TESTS_CONFORMANCE_ENTITIES_H

#include "conformance/sql.h"

#include "base/buffer.h"
#include "base/text.h"

/* A JSON string's text between the quotes, with every escape of a control character as \u00XX. */
static inline void append_string(pt_buffer *out, const char *json, size_t size)
{
    static const char letters[] = "bfnrt";
    static const char *const codes[] = {"\\u0008", "\\u000c", "\\u000a", "\\u000d", "\\u0009"};
    for (size_t i = 1; i + 1 < size; i++) {
        if (json[i] != '\\') {
            pt_buffer_append_byte(out, (uint8_t)json[i]);
            continue;
        }
        i++;
        const char *letter = strchr(letters, json[i]);
        if (letter != NULL) {
            pt_buffer_append_text(out, codes[letter - letters]);
        } else {
            pt_buffer_append(out, json + i - 1, 2);
        }
    }
}

static inline void append_double(pt_buffer *out, double number)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", number);
    pt_buffer_append_text(out, number != number ? "NaN" : text);
}

/* What a property of the given type and JSON text is. */
static inline void append_value(pt_buffer *out, const char *type, const char *json)
{
    size_t size = strlen(json);
    bool quoted = json[0] == '"';
    if (strcmp(type, "Edm.Double") == 0) {
        append_double(out, strtod(json + quoted, NULL));
    } else if (strcmp(type, "Edm.Boolean") == 0) {
        pt_buffer_append_text(out, strcmp(json, "true") == 0 ? "1" : "0");
    } else if (quoted) {
        append_string(out, json, size);
    } else {
        pt_buffer_append(out, json, size);
    }
}

/* Text as append_string writes it. */
static inline void append_text(pt_buffer *out, const unsigned char *text, int size)
{
    char escape[8];
    for (int i = 0; i < size; i++) {
        if (text[i] >= 0x20 && text[i] != '"' && text[i] != '\\') {
            pt_buffer_append_byte(out, text[i]);
        } else {
            snprintf(escape, sizeof escape, text[i] < 0x20 ? "\\u%04x" : "\\%c", text[i]);
            pt_buffer_append_text(out, escape);
        }
    }
}

static inline void append_column(pt_buffer *out, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_FLOAT:
        append_double(out, sqlite3_column_double(row, column));
        break;
    case SQLITE_BLOB:
        pt_base64_append(out, pt_slice_of(sqlite3_column_blob(row, column),
                                          (size_t)sqlite3_column_bytes(row, column)));
        break;
    default:
        append_text(out, sqlite3_column_text(row, column), sqlite3_column_bytes(row, column));
        break;
    }
}

static inline void append_label(pt_buffer *out, const char *name, const char *type, bool with_type)
{
    pt_buffer_append_text(out, "\n    ");
    pt_buffer_append_text(out, name);
    if (with_type) {
        pt_buffer_append_byte(out, ' ');
        pt_buffer_append_text(out, type);
    }
    pt_buffer_append_text(out, " = ");
}

/* The keys are text without escapes in both. */
static inline void append_keys(pt_buffer *out, sqlite3_stmt *row)
{
    for (int i = 0; i < 2; i++) {
        pt_buffer_append_text(out, i == 0 ? "  '" : "', '");
        pt_buffer_append(out, sqlite3_column_text(row, i), (size_t)sqlite3_column_bytes(row, i));
    }
    pt_buffer_append_text(out, "'");
}

/* Every property of ?1, by name, with its type and its JSON. */
#define PROPERTIES_SQL                                                                             \
    "SELECT key, coalesce(json_extract(?1, '$.\"' || key || '@odata.type\"'),"                     \
    " CASE type WHEN 'text' THEN 'Edm.String' WHEN 'integer' THEN 'Edm.Int32'"                     \
    " WHEN 'real' THEN 'Edm.Double' ELSE 'Edm.Boolean' END), ?1 -> ('$.\"' || key || '\"')"        \
    " FROM json_each(?1) WHERE key NOT IN ('PartitionKey', 'RowKey')"                              \
    " AND key NOT LIKE '%@odata.type' ORDER BY key COLLATE BINARY"

static inline void append_properties(pt_buffer *out, sqlite3 *db, const char *json, bool with_types)
{
    sqlite3_stmt *property = prepare_with(db, PROPERTIES_SQL, 1, &json);
    while (sqlite3_step(property) == SQLITE_ROW) {
        const char *type = (const char *)sqlite3_column_text(property, 1);
        append_label(out, (const char *)sqlite3_column_text(property, 0), type, with_types);
        append_value(out, type, (const char *)sqlite3_column_text(property, 2));
    }
    assert_int_equal(sqlite3_finalize(property), SQLITE_OK);
}

/* The entities that ?1, an operation, expects. */
static inline void append_expected(pt_buffer *out, sqlite3 *db, const char *operation,
                                   bool with_types)
{
    sqlite3_stmt *entity =
        prepare_with(db,
                     "SELECT value ->> '$.PartitionKey', value ->> '$.RowKey', value"
                     " FROM json_each(?1, '$.expect.entities')",
                     1, &operation);
    while (sqlite3_step(entity) == SQLITE_ROW) {
        append_keys(out, entity);
        append_properties(out, db, (const char *)sqlite3_column_text(entity, 2), with_types);
        pt_buffer_append_byte(out, '\n');
    }
    assert_int_equal(sqlite3_finalize(entity), SQLITE_OK);
}

/* Rows are PartitionKey, RowKey, EntityKey, then Properties or columns. */
enum { ENTITY_KEY_COLUMN = 2, FIRST_PROPERTY_COLUMN = 3 };

/* The first property column is Properties. */
static inline void append_bag_row(pt_buffer *out, sqlite3 *db, sqlite3_stmt *row)
{
    append_keys(out, row);
    append_properties(out, db, (const char *)sqlite3_column_text(row, FIRST_PROPERTY_COLUMN), true);
    pt_buffer_append_byte(out, '\n');
}

/* The columns are in the order of their names. */
static inline void append_column_row(pt_buffer *out, sqlite3_stmt *row)
{
    append_keys(out, row);
    for (int i = FIRST_PROPERTY_COLUMN; i < sqlite3_column_count(row); i++) {
        if (sqlite3_column_type(row, i) != SQLITE_NULL) {
            append_label(out, sqlite3_column_name(row, i), "", false);
            append_column(out, row, i);
        }
    }
    pt_buffer_append_byte(out, '\n');
}

#endif
