#include "value/json_read.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/number.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/key.h"
#include "value/json_scan.h"
#include "value/value.h"

/* A property, or the annotation of one. */
typedef struct member {
    pt_slice name; /* of the property */
    bool annotation;
    pt_json_token value;
} member;

typedef struct json_reading {
    const char *subject; /* the name of the text in error messages */
    bool entity;         /* system members are allowed, and the keys required */
    bool has[PT_SYSTEM_PROPERTIES];
    pt_bag *bag;
    member *members;
    size_t member_count;
    size_t member_capacity;
    pt_error *error;
} json_reading;

/* --- The value of a member --- */

static bool json_to_string(const pt_json_token *token, pt_value *value)
{
    value->bytes = pt_json_token_text(token);
    return token->kind == PT_JSON_STRING;
}

static bool json_to_int64(const pt_json_token *token, pt_value *value)
{
    return (token->kind == PT_JSON_INTEGER || token->kind == PT_JSON_STRING) &&
           pt_integer_parse(pt_json_token_text(token), &value->integer);
}

static bool json_to_int32(const pt_json_token *token, pt_value *value)
{
    return json_to_int64(token, value) && pt_value_integer_type(value->integer) == PT_INT32;
}

static bool json_to_double(const pt_json_token *token, pt_value *value)
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

static bool json_to_boolean(const pt_json_token *token, pt_value *value)
{
    value->integer = token->kind == PT_JSON_TRUE;
    return token->kind == PT_JSON_TRUE || token->kind == PT_JSON_FALSE;
}

static bool json_to_datetime(const pt_json_token *token, pt_value *value)
{
    return token->kind == PT_JSON_STRING &&
           pt_ticks_parse(pt_json_token_text(token), &value->integer);
}

static bool json_to_guid(const pt_json_token *token, pt_value *value)
{
    return token->kind == PT_JSON_STRING && pt_guid_parse(pt_json_token_text(token), value->guid);
}

/* Decodes the bytes into the memory of their text. */
static bool json_to_binary(const pt_json_token *token, pt_value *value)
{
    value->bytes.data = token->data;
    return token->kind == PT_JSON_STRING &&
           pt_base64_decode(pt_json_token_text(token), token->data, &value->bytes.size);
}

static const struct {
    bool (*convert)(const pt_json_token *token, pt_value *value);
    const char *remedy;
} json_conversions[] = {
    [PT_STRING] = {json_to_string, "write a string"},
    [PT_INT32] = {json_to_int32, "write an integer from -2147483648 to 2147483647, without "
                                 "point and exponent"},
    [PT_INT64] = {json_to_int64,
                  "write an integer from -9223372036854775808 to "
                  "9223372036854775807, without point and exponent; beyond it a Double, "
                  "with point or exponent"},
    [PT_DOUBLE] = {json_to_double,
                   "write a number up to 1.7976931348623157e+308, or \"NaN\", "
                   "\"Infinity\" or \"-Infinity\" with the annotation \"Edm.Double\""},
    [PT_BOOLEAN] = {json_to_boolean, "write true or false"},
    [PT_DATETIME] = {json_to_datetime,
                     "write a string of the form \"2026-11-21T08:43:22.5484454Z\", "
                     "from year 0001 to 9999"},
    [PT_GUID] = {json_to_guid, "write a string of the form "
                               "\"0f8fad5b-d9cb-469f-a165-70867728950e\""},
    [PT_BINARY] = {json_to_binary, "write a string in base64 with its padding"},
};

bool pt_json_to_value(const pt_json_token *token, pt_type type, pt_value *value)
{
    *value = (pt_value){.type = type};
    return json_conversions[type].convert(token, value);
}

pt_type pt_json_own_type(const pt_json_token *token)
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

/* --- Members --- */

static int refuse_json_text(json_reading *p, const char *problem, pt_slice text)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    return pt_error_set(p->error, SQLITE_MISMATCH,
                        "%s: %s: %s; give an object such as json_object('Age', 34) "
                        "(InvalidInput)",
                        p->subject, problem, excerpt);
}

/* `problem` goes on with the sentence that begins with the name. */
static int refuse_member(json_reading *p, pt_slice name, const char *problem, const char *code)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    return pt_error_set(p->error, SQLITE_MISMATCH, "%s: property %s %s (%s)", p->subject, excerpt,
                        problem, code);
}

/* Cuts the suffix off the name of an annotation. Returns false for other names. */
static bool cut_type_suffix(pt_slice *name)
{
    pt_slice suffix = pt_slice_text(PT_ODATA_TYPE_SUFFIX);
    bool found = pt_slice_has_suffix(*name, suffix);
    name->size -= found ? suffix.size : 0;
    return found;
}

/* The service sends such members with an entity. They are no properties, so nobody can store one.
 */
static int refuse_control_member(json_reading *p, pt_slice name)
{
    return refuse_member(p, name,
                         "has a name that begins with odata., as no property can; give it another "
                         "name, or read the service's JSON with pt_entity_properties",
                         "PropertyNameInvalid");
}

static int add_member(json_reading *p, pt_slice name, const pt_json_token *value)
{
    if (value->kind == PT_JSON_NESTED) {
        return refuse_member(p, name,
                             "is an object or array, which no property type can hold; give its "
                             "JSON text as a string",
                             "InvalidInput");
    }
    if (pt_slice_has_prefix(name, pt_slice_text(PT_ODATA_CONTROL_PREFIX))) {
        return p->entity ? SQLITE_OK : refuse_control_member(p, name);
    }
    member added = {.name = name, .value = *value};
    added.annotation = cut_type_suffix(&added.name);
    if (!pt_array_reserve(&p->members, &p->member_capacity, p->member_count + 1, sizeof added)) {
        return pt_error_nomem(p->error);
    }
    p->members[p->member_count++] = added;
    return SQLITE_OK;
}

static int collect_members(json_reading *p, pt_slice text, pt_json_scan *scan)
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
            return refuse_json_text(p, "not a JSON object", text);
        case PT_JSON_MALFORMED:
            return refuse_json_text(p, "malformed JSON", text);
        case PT_JSON_HALF_SURROGATE:
            return refuse_member(p, name.size != 0 ? name : pt_slice_text("name"),
                                 "has half of a surrogate pair, which is no character; write both "
                                 "halves, such as \\ud83d\\ude00",
                                 "InvalidInput");
        }
    }
}

/* Orders by name, a property before its annotation. */
static int compare_members(const void *a, const void *b)
{
    const member *left = a;
    const member *right = b;
    int order = pt_slice_compare(left->name, right->name);
    return order != 0 ? order : left->annotation - right->annotation;
}

static int refuse_second_member(json_reading *p, const member *twice)
{
    return refuse_member(p, twice->name,
                         twice->annotation ? "has two annotations; leave one out"
                                           : "is given twice; leave one out",
                         "DuplicatePropertiesSpecified");
}

static pt_type annotation_type(pt_slice text)
{
    pt_slice prefix = pt_slice_text(PT_ODATA_TYPE_PREFIX);
    if (!pt_slice_has_prefix(text, prefix)) {
        return PT_NONE;
    }
    pt_slice name = pt_slice_of(text.data + prefix.size, text.size - prefix.size);
    for (int type = PT_NONE + 1; type <= PT_TYPE_LAST; type++) {
        if (pt_slice_equal(name, pt_slice_text(pt_type_name((pt_type)type)))) {
            return (pt_type)type;
        }
    }
    return PT_NONE;
}

static int read_type_annotation(json_reading *p, const member *annotation, pt_type *type)
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
                        "%s: %s%s: '%s' is not a type; write \"Edm.String\", \"Edm.Int32\", "
                        "\"Edm.Int64\", \"Edm.Double\", \"Edm.Boolean\", \"Edm.DateTime\", "
                        "\"Edm.Guid\" or \"Edm.Binary\" (InvalidInput)",
                        p->subject, name, PT_ODATA_TYPE_SUFFIX, excerpt);
}

static int refuse_member_value(json_reading *p, const member *property, pt_type type)
{
    char name[PT_EXCERPT_SIZE];
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(property->name, name);
    pt_excerpt(pt_json_token_text(&property->value), excerpt);
    bool string = property->value.kind == PT_JSON_STRING;
    const char *quote = string ? "\"" : "";
    const char *rule =
        string ? pt_type_broken_rule(type, pt_json_token_text(&property->value)) : NULL;
    return pt_error_set(p->error, SQLITE_MISMATCH,
                        "%s: property %s: %s%s%s is not %s %s%s%s; %s (InvalidValueType)",
                        p->subject, name, quote, excerpt, quote, pt_type_article(type),
                        pt_type_name(type), rule != NULL ? ": " : "", rule != NULL ? rule : "",
                        json_conversions[type].remedy);
}

static int take_system_member(json_reading *p, const member *property, pt_system_property which)
{
    if (!p->entity) {
        return refuse_member(p, property->name, "is a system property; leave it out of the JSON",
                             "PropertyNameInvalid");
    }
    if (which != PT_SYSTEM_TIMESTAMP &&
        (property->value.kind != PT_JSON_STRING ||
         !pt_key_is_valid_text(pt_json_token_text(&property->value)))) {
        return refuse_member(p, property->name,
                             "is not a key; write a string of UTF-8 without U+0000",
                             "OutOfRangeInput");
    }
    p->has[which] = true;
    return SQLITE_OK;
}

static int check_members_of_keys(json_reading *p)
{
    for (pt_system_property key = PT_SYSTEM_PARTITION_KEY; p->entity && key <= PT_SYSTEM_ROW_KEY;
         key++) {
        if (!p->has[key]) {
            return refuse_member(p, pt_slice_text(pt_system_property_name(key)),
                                 "is missing; write a string, which may be empty",
                                 "PropertiesNeedValue");
        }
    }
    return SQLITE_OK;
}

/* `type` is the type that the annotation names, or PT_NONE. */
static int add_member_property(json_reading *p, const member *property, pt_type type)
{
    pt_system_property which = pt_find_system_property(property->name);
    if (which != PT_SYSTEM_PROPERTIES) {
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
        type = pt_json_own_type(&property->value);
    }
    pt_field field = {.name = property->name};
    if (!pt_json_to_value(&property->value, type, &field.value)) {
        return refuse_member_value(p, property, type);
    }
    return pt_bag_append(p->bag, &field) ? SQLITE_OK : pt_error_nomem(p->error);
}

/* Handles the member `first`. `next` is the one after it, or NULL. */
static int handle_member(json_reading *p, const member *first, const member *next)
{
    bool related = next != NULL && pt_slice_equal(first->name, next->name);
    if (related && first->annotation == next->annotation) {
        return refuse_second_member(p, first);
    }
    pt_type type = PT_NONE;
    if (first->annotation) {
        return read_type_annotation(p, first, &type);
    }
    int rc = related ? read_type_annotation(p, next, &type) : SQLITE_OK;
    return rc == SQLITE_OK ? add_member_property(p, first, type) : rc;
}

static int handle_members(json_reading *p)
{
    member *members = p->members;
    const size_t count = p->member_count;
    PT_ASSERT(count == 0 || members != NULL);
    if (count > 1) {
        qsort(members, count, sizeof *members, compare_members);
    }
    int rc = SQLITE_OK;
    for (size_t i = 0; i < count && rc == SQLITE_OK; i++) {
        rc = handle_member(p, &members[i], i + 1 < count ? &members[i + 1] : NULL);
    }
    return rc == SQLITE_OK ? check_members_of_keys(p) : rc;
}

/* Copies the text into the arena of the bag, where it is unescaped in place. */
static int fill_bag_from_json(json_reading *p, pt_slice text)
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

static int read_json_object(json_reading *p, sqlite3_value *json)
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
    int rc = fill_bag_from_json(p, text);
    sqlite3_free(p->members);
    if (rc != SQLITE_OK) {
        pt_bag_clear(p->bag);
    }
    return rc;
}

int pt_json_parse(sqlite3_value *json, pt_bag *bag, pt_error *error)
{
    json_reading p = {.subject = "Properties", .bag = bag, .error = error};
    return read_json_object(&p, json);
}

int pt_json_parse_entity(sqlite3_value *json, const char *subject, pt_bag *bag, pt_error *error)
{
    json_reading p = {.subject = subject, .entity = true, .bag = bag, .error = error};
    return read_json_object(&p, json);
}
