#include "json.h"

#include <stdlib.h>

#include "base64.h"
#include "excerpt.h"
#include "json_scan.h"
#include "key.h"
#include "number.h"
#include "ticks.h"
#include "value.h"

static const char annotation_suffix[] = "@odata.type";
static const char annotation_prefix[] = "Edm.";
static const char ignored_prefix[] = "odata.";

/* --- Writing --- */

/* The characters of a JSON string, without its quotes. */
static void append_escaped(pt_buffer *json, pt_slice text)
{
    size_t plain = 0; /* start of the run that needs no escape */
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        char escape[8];
        sqlite3_snprintf(sizeof escape, escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
        pt_buffer_append_slice(json, pt_slice_of(text.data + plain, i - plain));
        pt_buffer_append_text(json, escape);
        plain = i + 1;
    }
    if (plain < text.size) {
        pt_buffer_append_slice(json, pt_slice_of(text.data + plain, text.size - plain));
    }
}

static void append_string(pt_buffer *json, pt_slice text)
{
    pt_buffer_append_byte(json, '"');
    append_escaped(json, text);
    pt_buffer_append_byte(json, '"');
}

static void append_integer(pt_buffer *json, int64_t integer)
{
    char text[24];
    sqlite3_snprintf(sizeof text, text, "%lld", (sqlite3_int64)integer);
    pt_buffer_append_text(json, text);
}

static void append_double(pt_buffer *json, double real)
{
    const char *name = pt_double_name(real);
    if (name != NULL) {
        append_string(json, pt_slice_text(name));
        return;
    }
    char text[PT_DOUBLE_TEXT_SIZE];
    pt_double_format(real, text);
    pt_buffer_append_text(json, text);
}

static void append_value(pt_buffer *json, const pt_value *value)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    switch (value->type) {
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        break;
    case PT_STRING:
        append_string(json, value->bytes);
        break;
    case PT_INT32:
    case PT_INT64:
        append_integer(json, value->integer);
        break;
    case PT_DOUBLE:
        append_double(json, value->real);
        break;
    case PT_BOOLEAN:
        pt_buffer_append_text(json, value->integer != 0 ? "true" : "false");
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        append_string(json, pt_slice_text(text));
        break;
    case PT_GUID:
        pt_guid_format(value->guid, text);
        append_string(json, pt_slice_text(text));
        break;
    case PT_BINARY:
        pt_buffer_append_byte(json, '"');
        pt_base64_append(json, value->bytes);
        pt_buffer_append_byte(json, '"');
        break;
    }
}

static bool needs_annotation(const pt_value *value)
{
    switch (value->type) {
    case PT_INT64:
    case PT_DATETIME:
    case PT_GUID:
    case PT_BINARY:
        return true;
    case PT_DOUBLE:
        return pt_double_name(value->real) != NULL;
    default:
        return false;
    }
}

void pt_json_begin(pt_buffer *json)
{
    pt_buffer_append_byte(json, '{');
}

void pt_json_add(pt_buffer *json, pt_slice name, const pt_value *value)
{
    if (value->type == PT_NONE || json->failed) {
        return;
    }
    if (json->data[json->size - 1] != '{') {
        pt_buffer_append_byte(json, ',');
    }
    append_string(json, name);
    pt_buffer_append_byte(json, ':');
    append_value(json, value);
    if (needs_annotation(value)) {
        pt_buffer_append_text(json, ",\"");
        append_escaped(json, name);
        pt_buffer_append_text(json, annotation_suffix);
        pt_buffer_append_text(json, "\":\"");
        pt_buffer_append_text(json, annotation_prefix);
        pt_buffer_append_text(json, pt_type_name(value->type));
        pt_buffer_append_byte(json, '"');
    }
}

void pt_json_end(pt_buffer *json)
{
    pt_buffer_append_byte(json, '}');
}

/* --- Reading --- */

/* A property, or the annotation of one. */
typedef struct member {
    pt_slice name; /* the property's */
    bool annotation;
    pt_json_token value;
} member;

/* The members of an entity that are no properties. */
typedef enum system_member { PARTITION_KEY, ROW_KEY, TIMESTAMP, SYSTEM_MEMBERS } system_member;

static const char *const system_names[SYSTEM_MEMBERS] = {"PartitionKey", "RowKey", "Timestamp"};

typedef struct parse {
    const char *subject; /* what the text is, for errors */
    bool entity;         /* system members are expected */
    bool has[SYSTEM_MEMBERS];
    pt_bag *bag;
    pt_buffer members; /* array of member */
    pt_error *error;
} parse;

static int refuse_text(parse *p, const char *problem, pt_slice text)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    return pt_error_set(p->error, SQLITE_MISMATCH,
                        "%s: %s: %s; give an object such as json_object('Age', 34) "
                        "(InvalidInput)",
                        p->subject, problem, excerpt);
}

static int refuse_property(parse *p, pt_slice name, const char *problem, const char *code)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    return pt_error_set(p->error, SQLITE_MISMATCH, "%s: property %s: %s (%s)", p->subject, excerpt,
                        problem, code);
}

static int statement_failed(parse *p, sqlite3 *db, int rc)
{
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(p->error);
    }
    return pt_error_set(p->error, rc, "%s: the JSON cannot be checked: %s", p->subject,
                        sqlite3_errmsg(db));
}

/* Leaves the statement ready for the next use. */
static int run_json_valid(sqlite3_stmt *statement, pt_slice text, bool *valid)
{
    int rc = sqlite3_bind_text64(statement, 1, (const char *)text.data, text.size, SQLITE_STATIC,
                                 SQLITE_UTF8);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *valid = sqlite3_column_int(statement, 0) != 0;
    }
    rc = sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return rc;
}

static int check_well_formed(parse *p, sqlite3 *db, sqlite3_stmt **statement, pt_slice text)
{
    if (*statement == NULL) {
        int rc = sqlite3_prepare_v3(db, "SELECT json_valid(?1)", -1, SQLITE_PREPARE_PERSISTENT,
                                    statement, NULL);
        if (rc != SQLITE_OK) {
            return statement_failed(p, db, rc);
        }
    }
    /* SQLite's answer is no also when it has run out of memory; a second try tells. */
    bool valid = false;
    int rc = run_json_valid(*statement, text, &valid);
    if (rc == SQLITE_OK && !valid) {
        rc = run_json_valid(*statement, text, &valid);
    }
    if (rc != SQLITE_OK) {
        return statement_failed(p, db, rc);
    }
    return valid ? SQLITE_OK : refuse_text(p, "malformed JSON", text);
}

static bool has_text_prefix(pt_slice text, const char *prefix)
{
    return pt_slice_has_prefix(text, pt_slice_text(prefix));
}

/* Cuts the suffix off an annotation's name. */
static bool cut_annotation_suffix(pt_slice *name)
{
    size_t suffix = strlen(annotation_suffix);
    if (name->size < suffix ||
        memcmp(name->data + name->size - suffix, annotation_suffix, suffix) != 0) {
        return false;
    }
    name->size -= suffix;
    return true;
}

static int add_member(parse *p, pt_slice name, const pt_json_token *value)
{
    if (value->kind == PT_JSON_NESTED) {
        return refuse_property(p, name,
                               "is an object or array, which no property type can hold; give its "
                               "JSON text as a string",
                               "InvalidInput");
    }
    if (has_text_prefix(name, ignored_prefix)) {
        return SQLITE_OK;
    }
    member added = {.name = name, .value = *value};
    added.annotation = cut_annotation_suffix(&added.name);
    pt_buffer_append(&p->members, &added, sizeof added);
    return p->members.failed ? pt_error_nomem(p->error) : SQLITE_OK;
}

static int collect_members(parse *p, pt_slice text, pt_json_scan *scan)
{
    for (;;) {
        pt_slice name;
        pt_json_token value;
        int rc = SQLITE_OK;
        switch (pt_json_scan_next(scan, &name, &value)) {
        case PT_JSON_MEMBER:
            rc = add_member(p, name, &value);
            if (rc != SQLITE_OK) {
                return rc;
            }
            break;
        case PT_JSON_END:
            return SQLITE_OK;
        case PT_JSON_NO_OBJECT:
            return refuse_text(p, "not a JSON object", text);
        case PT_JSON_MALFORMED:
            return refuse_text(p, "malformed JSON", text);
        case PT_JSON_HALF_SURROGATE:
            return refuse_property(p, name.size != 0 ? name : pt_slice_text("name"),
                                   "half of a surrogate pair is no character; write both halves, "
                                   "such as \\ud83d\\ude00",
                                   "InvalidInput");
        }
    }
}

/* By name, a property before its annotation. */
static int compare_members(const void *a, const void *b)
{
    const member *left = a;
    const member *right = b;
    int order = pt_slice_compare(left->name, right->name);
    return order != 0 ? order : left->annotation - right->annotation;
}

static int refuse_duplicate(parse *p, const member *twice)
{
    return refuse_property(p, twice->name,
                           twice->annotation ? "has two annotations; leave one out"
                                             : "is there twice; leave one out",
                           "DuplicatePropertiesSpecified");
}

static pt_type annotation_type(pt_slice text)
{
    for (int type = PT_NONE + 1; type <= PT_TYPE_LAST; type++) {
        pt_slice name = pt_slice_text(pt_type_name((pt_type)type));
        size_t prefix = strlen(annotation_prefix);
        if (has_text_prefix(text, annotation_prefix) &&
            pt_slice_equal(pt_slice_of(text.data + prefix, text.size - prefix), name)) {
            return (pt_type)type;
        }
    }
    return PT_NONE;
}

static int read_annotation(parse *p, const member *annotation, pt_type *type)
{
    pt_slice text = pt_json_token_text(&annotation->value);
    if (annotation->value.kind == PT_JSON_STRING) {
        *type = annotation_type(text);
    }
    if (*type != PT_NONE) {
        return SQLITE_OK;
    }
    char name[PT_EXCERPT_SIZE];
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(annotation->name, name);
    pt_excerpt(text, excerpt);
    return pt_error_set(p->error, SQLITE_MISMATCH,
                        "%s: %s%s: '%s' is no type; write \"Edm.String\", \"Edm.Int32\", "
                        "\"Edm.Int64\", \"Edm.Double\", \"Edm.Boolean\", \"Edm.DateTime\", "
                        "\"Edm.Guid\" or \"Edm.Binary\" (InvalidInput)",
                        p->subject, name, annotation_suffix, excerpt);
}

static bool to_string(const pt_json_token *token, pt_value *value)
{
    value->bytes = pt_json_token_text(token);
    return token->kind == PT_JSON_STRING;
}

static bool to_int64(const pt_json_token *token, pt_value *value)
{
    return (token->kind == PT_JSON_INTEGER || token->kind == PT_JSON_STRING) &&
           pt_integer_parse(pt_json_token_text(token), &value->integer);
}

static bool to_int32(const pt_json_token *token, pt_value *value)
{
    return to_int64(token, value) && pt_value_integer_type(value->integer) == PT_INT32;
}

static bool to_double(const pt_json_token *token, pt_value *value)
{
    pt_slice text = pt_json_token_text(token);
    switch (token->kind) {
    case PT_JSON_INTEGER:
    case PT_JSON_REAL:
        return pt_double_parse(text, &value->real);
    case PT_JSON_STRING:
        return pt_double_parse(text, &value->real) || pt_double_parse_name(text, &value->real);
    default:
        return false;
    }
}

static bool to_boolean(const pt_json_token *token, pt_value *value)
{
    value->integer = token->kind == PT_JSON_TRUE;
    return token->kind == PT_JSON_TRUE || token->kind == PT_JSON_FALSE;
}

static bool to_datetime(const pt_json_token *token, pt_value *value)
{
    return token->kind == PT_JSON_STRING &&
           pt_ticks_parse(pt_json_token_text(token), &value->integer);
}

static bool to_guid(const pt_json_token *token, pt_value *value)
{
    return token->kind == PT_JSON_STRING && pt_guid_parse(pt_json_token_text(token), value->guid);
}

/* The bytes take the place of their text. */
static bool to_binary(const pt_json_token *token, pt_value *value)
{
    value->bytes.data = token->data;
    return token->kind == PT_JSON_STRING &&
           pt_base64_decode(pt_json_token_text(token), token->data, &value->bytes.size);
}

static const struct {
    bool (*convert)(const pt_json_token *token, pt_value *value);
    const char *name;
    const char *remedy;
} conversions[] = {
    [PT_STRING] = {to_string, "a String", "write a string"},
    [PT_INT32] = {to_int32, "an Int32",
                  "write an integer from -2147483648 to 2147483647, without point and exponent"},
    [PT_INT64] =
        {to_int64, "an Int64",
         "write an integer from -9223372036854775808 to 9223372036854775807, without point "
         "and exponent; beyond it a Double, with point or exponent"},
    [PT_DOUBLE] = {to_double, "a Double",
                   "write a number up to 1.7976931348623157e+308, or \"NaN\", \"Infinity\" or "
                   "\"-Infinity\" with the annotation \"Edm.Double\""},
    [PT_BOOLEAN] = {to_boolean, "a Boolean", "write true or false"},
    [PT_DATETIME] = {to_datetime, "a DateTime",
                     "write a string of the form \"2026-11-21T08:43:22.5484454Z\", from year 0001 "
                     "to 9999"},
    [PT_GUID] = {to_guid, "a Guid",
                 "write a string of the form \"0f8fad5b-d9cb-469f-a165-70867728950e\""},
    [PT_BINARY] = {to_binary, "a Binary", "write a string in base64 with its padding"},
};

static pt_type own_type(const pt_json_token *token)
{
    int64_t integer = INT64_MAX;
    switch (token->kind) {
    case PT_JSON_INTEGER:
        pt_integer_parse(pt_json_token_text(token), &integer);
        return pt_value_integer_type(integer);
    case PT_JSON_REAL:
        return PT_DOUBLE;
    case PT_JSON_STRING:
        return PT_STRING;
    default:
        return PT_BOOLEAN;
    }
}

static int refuse_value(parse *p, const member *property, pt_type type)
{
    char name[PT_EXCERPT_SIZE];
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(property->name, name);
    pt_excerpt(pt_json_token_text(&property->value), excerpt);
    const char *quote = property->value.kind == PT_JSON_STRING ? "\"" : "";
    return pt_error_set(
        p->error, SQLITE_MISMATCH, "%s: property %s: %s%s%s is not %s; %s (InvalidValueType)",
        p->subject, name, quote, excerpt, quote, conversions[type].name, conversions[type].remedy);
}

static system_member find_system_member(pt_slice name)
{
    system_member found = 0;
    while (found < SYSTEM_MEMBERS && !pt_slice_equal(name, pt_slice_text(system_names[found]))) {
        found++;
    }
    return found;
}

static int take_system_member(parse *p, const member *property, system_member which)
{
    if (!p->entity) {
        return refuse_property(p, property->name, "is a system property; leave it out of the JSON",
                               "PropertyNameInvalid");
    }
    if (which != TIMESTAMP && (property->value.kind != PT_JSON_STRING ||
                               !pt_key_is_valid_text(pt_json_token_text(&property->value)))) {
        return refuse_property(p, property->name,
                               "is no key; write a string of UTF-8 without U+0000",
                               "OutOfRangeInput");
    }
    p->has[which] = true;
    return SQLITE_OK;
}

static int check_keys(parse *p)
{
    for (system_member key = PARTITION_KEY; p->entity && key <= ROW_KEY; key++) {
        if (!p->has[key]) {
            return refuse_property(p, pt_slice_text(system_names[key]),
                                   "is missing; write a string, which may be empty",
                                   "PropertiesNeedValue");
        }
    }
    return SQLITE_OK;
}

/* `type` is its annotation's, or PT_NONE. */
static int add_property(parse *p, const member *property, pt_type type)
{
    system_member which = find_system_member(property->name);
    if (which != SYSTEM_MEMBERS) {
        return take_system_member(p, property, which);
    }
    if (property->name.size == 0) {
        return pt_error_set(p->error, SQLITE_MISMATCH,
                            "%s: a property has the empty name \"\"; give it a name "
                            "(PropertyNameInvalid)",
                            p->subject);
    }
    if (property->value.kind == PT_JSON_NULL) {
        return SQLITE_OK;
    }
    if (type == PT_NONE) {
        type = own_type(&property->value);
    }
    pt_field field = {.name = property->name, .value = {.type = type}};
    if (!conversions[type].convert(&property->value, &field.value)) {
        return refuse_value(p, property, type);
    }
    return pt_bag_append(p->bag, &field) ? SQLITE_OK : pt_error_nomem(p->error);
}

/* Handles the first of the members; `next` is the one behind it, or NULL. */
static int handle_member(parse *p, const member *first, const member *next)
{
    bool related = next != NULL && pt_slice_equal(first->name, next->name);
    if (related && first->annotation == next->annotation) {
        return refuse_duplicate(p, first);
    }
    pt_type type = PT_NONE;
    if (first->annotation) {
        return read_annotation(p, first, &type);
    }
    int rc = related ? read_annotation(p, next, &type) : SQLITE_OK;
    return rc == SQLITE_OK ? add_property(p, first, type) : rc;
}

static int handle_members(parse *p)
{
    member *members = (member *)(void *)p->members.data;
    size_t count = p->members.size / sizeof *members;
    if (count > 1) {
        qsort(members, count, sizeof *members, compare_members);
    }
    int rc = SQLITE_OK;
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = handle_member(p, &members[i], i + 1 < count ? &members[i + 1] : NULL);
    }
    return rc == SQLITE_OK ? check_keys(p) : rc;
}

/* Fills the bag from a text that has been checked, by way of a copy that is unescaped in place. */
static int fill_bag(parse *p, pt_slice text)
{
    uint8_t *copy = pt_arena_alloc(&p->bag->arena, text.size);
    if (copy == NULL) {
        return pt_error_nomem(p->error);
    }
    memcpy(copy, text.data, text.size);
    pt_json_scan scan = pt_json_scan_of(copy, text.size);
    int rc = collect_members(p, text, &scan);
    return rc == SQLITE_OK ? handle_members(p) : rc;
}

/* SQLite converts the value to UTF-8. */
static int parse_object(parse *p, sqlite3 *db, sqlite3_stmt **statement, sqlite3_value *json)
{
    pt_bag_clear(p->bag);
    if (sqlite3_value_type(json) != SQLITE_TEXT) {
        return pt_error_set(p->error, SQLITE_MISMATCH,
                            "%s: not TEXT; give a JSON object such as json_object('Age', "
                            "34) (InvalidInput)",
                            p->subject);
    }
    const unsigned char *data = sqlite3_value_text(json);
    if (data == NULL) {
        return pt_error_nomem(p->error);
    }
    pt_slice text = pt_slice_of(data, (size_t)sqlite3_value_bytes(json));
    int rc = check_well_formed(p, db, statement, text);
    if (rc == SQLITE_OK) {
        rc = fill_bag(p, text);
    }
    pt_buffer_free(&p->members);
    if (rc != SQLITE_OK) {
        pt_bag_clear(p->bag);
    }
    return rc;
}

int pt_json_parse(sqlite3 *db, sqlite3_stmt **statement, sqlite3_value *json, pt_bag *bag,
                  pt_error *error)
{
    parse p = {.subject = "Properties", .bag = bag, .error = error};
    return parse_object(&p, db, statement, json);
}

int pt_json_parse_entity(sqlite3 *db, sqlite3_stmt **statement, sqlite3_value *json,
                         const char *subject, pt_bag *bag, pt_error *error)
{
    parse p = {.subject = subject, .entity = true, .bag = bag, .error = error};
    return parse_object(&p, db, statement, json);
}
