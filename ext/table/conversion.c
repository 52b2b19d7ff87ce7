#include "table/conversion.h"

#include <string.h>

#include "base/text.h"
#include "entity/key.h"
#include "value/json_read.h"

/* --- Keys --- */

/* SQLite keeps some values in a table of its own before it passes them to xUpdate: those of an
 * UPDATE of several rows, and of an INSERT that sorts. There it forgets that a value was bound. */
static int refuse_real_key(sqlite3_value *value, const char *column, pt_error *error)
{
    char digits[PT_BOUND_INTEGER_SIZE];
    bool integral = pt_value_integral_real(value, digits);
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s is the number %!.15g; give or bind a text or an integer%s "
                        "(InvalidValueType)",
                        column, sqlite3_value_double(value),
                        integral ? ", or write CAST(... AS INTEGER)" : "");
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
                                                     char digits[PT_BOUND_INTEGER_SIZE],
                                                     pt_slice *text, pt_error *error)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_FLOAT && pt_value_bound_integer(value, digits)) {
        *text = pt_slice_text(digits);
        return SQLITE_OK;
    }
    if (type != SQLITE_INTEGER) {
        return refuse_key_type(value, column, error);
    }
    /* SQLite has not applied the column's affinity: an integer arrives as an integer. */
    return pt_value_argument_text(value, text) == SQLITE_OK ? SQLITE_OK : pt_error_nomem(error);
}

int pt_key_from_sql(sqlite3_value *value, const char *column, char digits[PT_BOUND_INTEGER_SIZE],
                    pt_slice *text, pt_error *error)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return key_from_number(value, column, digits, text, error);
    }
    if (pt_value_text_bytes(value, text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    return pt_key_is_valid_text(*text) ? SQLITE_OK : refuse_key_text(*text, column, error);
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
