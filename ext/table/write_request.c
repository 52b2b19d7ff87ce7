#include "table/write_request.h"

#include <string.h>

#include "base/text.h"
#include "value/value.h"

static int refuse_request_value(sqlite3_value *value, const char *column, const char *choices,
                                pt_error *error)
{
    if (sqlite3_value_type(value) == SQLITE_BLOB) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "%s is a BLOB; give %s (InvalidInput)",
                            column, choices);
    }
    pt_slice text;
    if (pt_value_argument_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "%s is %Q; give %s (InvalidInput)", column,
                        excerpt, choices);
}

/* The text of a value; empty for a value of another type. */
static int request_text(sqlite3_value *value, pt_slice *text)
{
    *text = pt_slice_text("");
    return sqlite3_value_type(value) == SQLITE_TEXT ? pt_value_argument_text(value, text)
                                                    : SQLITE_OK;
}

static int read_mode(sqlite3_value *value, pt_write_request *request, pt_error *error)
{
    static const char *const words[] = {[PT_WRITE_INSERT] = "insert",
                                        [PT_WRITE_REPLACE] = "replace",
                                        [PT_WRITE_MERGE] = "merge",
                                        [PT_WRITE_DELETE] = "delete"};
    pt_slice text;
    if (request_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (pt_is_word(text, words[i])) {
            request->mode = (pt_write_mode)i;
            request->mode_given = true;
            return SQLITE_OK;
        }
    }
    return refuse_request_value(value, "WriteMode", "'insert', 'replace', 'merge' or 'delete'",
                                error);
}

/* True for W/"..." without another quote inside. */
static bool is_weak_etag(pt_slice text)
{
    static const char prefix[] = "W/\"";
    size_t start = sizeof prefix - 1;
    return text.size > start && memcmp(text.data, prefix, start) == 0 &&
           memchr(text.data + start, '"', text.size - start) == text.data + text.size - 1;
}

static int read_condition(sqlite3_value *value, pt_write_request *request, pt_error *error)
{
    if (!request->mode_given) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "IfMatch is given without a WriteMode; give WriteMode 'replace', "
                            "'merge' or 'delete', too (InvalidInput)");
    }
    if (request->mode == PT_WRITE_INSERT) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "IfMatch is given with WriteMode 'insert', which wants no entity to "
                            "match; leave it out, or give WriteMode 'replace', 'merge' or 'delete' "
                            "(InvalidInput)");
    }
    pt_slice text;
    if (request_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    bool any = pt_slice_equal(text, pt_slice_text("*"));
    if (!any && !is_weak_etag(text)) {
        return refuse_request_value(value, "IfMatch", "'*' or the text of the entity's ETag",
                                    error);
    }
    request->must_exist = true;
    if (!any) {
        request->etag = text;
    }
    return SQLITE_OK;
}

static int refuse_property_of_delete(const char *name, pt_error *error)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "column %s is given with WriteMode 'delete', which takes the keys and "
                        "IfMatch; leave it out (InvalidInput)",
                        name);
}

static int refuse_properties_of_delete(const pt_given_request *given, pt_error *error)
{
    for (int i = 0; i < given->column_count; i++) {
        if (sqlite3_value_type(given->declared[i]) != SQLITE_NULL) {
            return refuse_property_of_delete(given->columns[i].name, error);
        }
    }
    return sqlite3_value_type(given->properties) != SQLITE_NULL
               ? refuse_property_of_delete("Properties", error)
               : SQLITE_OK;
}

int pt_write_request_read(const pt_given_request *given, pt_write_request *request, pt_error *error)
{
    *request = (pt_write_request){.mode = PT_WRITE_INSERT};
    int rc = SQLITE_OK;
    if (sqlite3_value_type(given->mode) != SQLITE_NULL) {
        rc = read_mode(given->mode, request, error);
    } else if (given->or_replace) {
        request->mode = PT_WRITE_REPLACE;
    }
    /* After the mode: read_condition depends on it. */
    if (rc == SQLITE_OK && sqlite3_value_type(given->if_match) != SQLITE_NULL) {
        rc = read_condition(given->if_match, request, error);
    }
    if (rc == SQLITE_OK && request->mode == PT_WRITE_DELETE) {
        rc = refuse_properties_of_delete(given, error);
    }
    return rc;
}
