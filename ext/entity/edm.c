#include "entity/edm.h"

#include "base/text.h"
#include "base/ticks.h"

static const char *const type_names[] = {
    [PT_NONE] = "",
    [PT_STRING] = "String",
    [PT_INT32] = "Int32",
    [PT_INT64] = "Int64",
    [PT_DOUBLE] = "Double",
    [PT_BOOLEAN] = "Boolean",
    [PT_DATETIME] = "DateTime",
    [PT_GUID] = "Guid",
    [PT_BINARY] = "Binary",
};

static const uint8_t fixed_sizes[] = {
    [PT_NONE] = 0,   [PT_STRING] = 0,        [PT_INT32] = 4,         [PT_INT64] = 8,
    [PT_DOUBLE] = 8, [PT_BOOLEAN] = 1,       [PT_DATETIME] = 8,      [PT_GUID] = PT_GUID_SIZE,
    [PT_BINARY] = 0, [PT_LARGE_STRING] = 18, [PT_LARGE_BINARY] = 18,
};

/*
 * Type names of SQL and its dialects. NUMERIC, DECIMAL and DATE are left out on purpose: no type of
 * the service holds all of their values unchanged.
 */
static const struct {
    const char *name;
    pt_type type;
} sql_names[] = {
    {"TEXT", PT_STRING},
    {"VARCHAR", PT_STRING},
    {"NVARCHAR", PT_STRING},
    {"CHAR", PT_STRING},
    {"NCHAR", PT_STRING},
    {"CHARACTER", PT_STRING},
    {"CHARACTER VARYING", PT_STRING},
    {"VARYING CHARACTER", PT_STRING},
    {"NATIVE CHARACTER", PT_STRING},
    {"CLOB", PT_STRING},
    {"TINYINT", PT_INT32},
    {"SMALLINT", PT_INT32},
    {"MEDIUMINT", PT_INT32},
    {"INT2", PT_INT32},
    {"INT4", PT_INT32},
    {"INTEGER", PT_INT64},
    {"INT", PT_INT64},
    {"BIGINT", PT_INT64},
    {"INT8", PT_INT64},
    {"REAL", PT_DOUBLE},
    {"FLOAT", PT_DOUBLE},
    {"DOUBLE PRECISION", PT_DOUBLE},
    {"BOOL", PT_BOOLEAN},
    {"TIMESTAMP", PT_DATETIME},
    {"UUID", PT_GUID},
    {"UNIQUEIDENTIFIER", PT_GUID},
    {"BLOB", PT_BINARY},
    {"VARBINARY", PT_BINARY},
    {"BYTEA", PT_BINARY},
};

const char *pt_type_name(pt_type type)
{
    return (unsigned)type <= PT_TYPE_LAST ? type_names[type] : "";
}

const char *pt_type_article(pt_type type)
{
    return type == PT_INT32 || type == PT_INT64 ? "an" : "a";
}

static pt_type service_type(pt_slice name)
{
    for (int type = PT_NONE + 1; type <= PT_TYPE_LAST; type++) {
        if (pt_is_word(name, type_names[type])) {
            return (pt_type)type;
        }
    }
    return PT_NONE;
}

static pt_type sql_type(pt_slice name)
{
    for (size_t i = 0; i < sizeof sql_names / sizeof sql_names[0]; i++) {
        if (pt_is_word(name, sql_names[i].name)) {
            return sql_names[i].type;
        }
    }
    return PT_NONE;
}

static bool is_length(pt_slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (!pt_is_digit(text.data[i])) {
            return pt_is_word(text, "MAX");
        }
    }
    return text.size != 0;
}

/* Returns "VARCHAR" for "VARCHAR(20)". As in SQLite, a length is accepted and not enforced. */
static pt_slice without_length(pt_slice name)
{
    if (name.size == 0 || name.data[name.size - 1] != ')') {
        return name;
    }
    const uint8_t *open = memchr(name.data, '(', name.size);
    if (open == NULL) {
        return name;
    }
    size_t size = (size_t)(open - name.data);
    if (!is_length(pt_slice_of(open + 1, name.size - size - 2))) {
        return name;
    }
    while (size != 0 && name.data[size - 1] == ' ') {
        size--;
    }
    return pt_slice_of(name.data, size);
}

pt_type pt_type_from_name(pt_slice name)
{
    size_t prefix = strlen(PT_ODATA_TYPE_PREFIX);
    if (name.size > prefix && pt_is_word(pt_slice_of(name.data, prefix), PT_ODATA_TYPE_PREFIX)) {
        return service_type(pt_slice_of(name.data + prefix, name.size - prefix));
    }
    pt_slice bare = without_length(name);
    pt_type type = service_type(bare);
    return type != PT_NONE ? type : sql_type(bare);
}

unsigned pt_type_fixed_size(pt_type type)
{
    return (unsigned)type <= PT_STORED_TYPE_LAST ? fixed_sizes[type] : 0;
}

static bool hyphen_before_byte(unsigned index)
{
    return index == 4 || index == 6 || index == 8 || index == 10;
}

static const char *guid_broken_rule(pt_slice text)
{
    uint8_t guid[PT_GUID_SIZE];
    unsigned digits = 0;
    for (size_t i = 0; i < text.size; i++) {
        digits += pt_hex_digit(text.data[i]) >= 0;
    }
    if (pt_guid_parse(text, guid)) {
        return NULL;
    }
    return digits == 2 * PT_GUID_SIZE ? "it is not 8, 4, 4, 4 and 12 digits with hyphens between"
                                      : "it does not have 32 hexadecimal digits";
}

const char *pt_type_broken_rule(pt_type type, pt_slice text)
{
    switch (type) {
    case PT_DATETIME:
        return pt_ticks_broken_rule(text);
    case PT_GUID:
        return guid_broken_rule(text);
    default:
        return NULL;
    }
}

bool pt_guid_parse(pt_slice text, uint8_t guid[PT_GUID_SIZE])
{
    const uint8_t *at = text.data;
    if (text.size == PT_GUID_TEXT_SIZE + 2 && at[0] == '{' && at[text.size - 1] == '}') {
        at++;
    } else if (text.size != PT_GUID_TEXT_SIZE) {
        return false;
    }
    uint8_t parsed[PT_GUID_SIZE];
    for (unsigned i = 0; i < PT_GUID_SIZE; i++) {
        if (hyphen_before_byte(i) && *at++ != '-') {
            return false;
        }
        int high = pt_hex_digit(at[0]);
        int low = pt_hex_digit(at[1]);
        if (high < 0 || low < 0) {
            return false;
        }
        parsed[i] = (uint8_t)(high << 4 | low);
        at += 2;
    }
    memcpy(guid, parsed, PT_GUID_SIZE);
    return true;
}

void pt_guid_format(const uint8_t guid[PT_GUID_SIZE], char text[PT_GUID_TEXT_SIZE + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < PT_GUID_SIZE; i++) {
        if (hyphen_before_byte(i)) {
            *text++ = '-';
        }
        *text++ = digits[guid[i] >> 4];
        *text++ = digits[guid[i] & 15];
    }
    *text = 0;
}

/* --- Names --- */

bool pt_is_annotation_name(pt_slice name)
{
    return pt_slice_has_prefix(name, pt_slice_text(PT_ODATA_CONTROL_PREFIX)) ||
           pt_slice_has_suffix(name, pt_slice_text(PT_ODATA_TYPE_SUFFIX));
}

const char *pt_system_property_name(pt_system_property property)
{
    static const char *const names[PT_SYSTEM_PROPERTIES] = {
        [PT_SYSTEM_PARTITION_KEY] = "PartitionKey",
        [PT_SYSTEM_ROW_KEY] = "RowKey",
        [PT_SYSTEM_TIMESTAMP] = "Timestamp",
    };
    return names[property];
}

pt_system_property pt_find_system_property(pt_slice name)
{
    pt_system_property found = 0;
    while (found < PT_SYSTEM_PROPERTIES &&
           !pt_slice_equal(name, pt_slice_text(pt_system_property_name(found)))) {
        found++;
    }
    return found;
}

bool pt_is_property_name(pt_slice name)
{
    return name.size != 0 && !pt_is_annotation_name(name) &&
           pt_find_system_property(name) == PT_SYSTEM_PROPERTIES;
}
