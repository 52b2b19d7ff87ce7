#include "entity/azure_limits.h"

#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"

enum {
    TABLE_NAME_SHORTEST = 3,
    TABLE_NAME_LONGEST = 63,
    KEY_UNITS = 512,
    NAME_UNITS = 255,
    PROPERTIES_MOST = 252,
    STRING_UNITS = 32768,
    BINARY_BYTES = 65536,
    ENTITY_BYTES = 1 << 20,
};

/* The service's formula for the size of an entity: the bytes that count for an entity, a property,
 * a String and a Binary in addition to the texts and bytes in them. */
enum { ENTITY_BASE = 4, PROPERTY_BASE = 8, VARIABLE_BASE = 4, UNIT_BYTES = 2 };

#define FIRST_TICKS INT64_C(504911232000000000) /* 1601-01-01T00:00:00Z */
#define NOT_UTF8 UINT32_MAX

/* --- Characters --- */

/* Takes the first character off a text, which is not empty; NOT_UTF8 for a byte that is not UTF-8.
 */
static inline uint32_t take_character(pt_slice *text)
{
    uint8_t first = text->data[0];
    if (first < 0x80) { /* nearly all */
        *text = pt_slice_of(text->data + 1, text->size - 1);
        return first;
    }
    size_t size = pt_utf8_size(*text);
    uint32_t character = size != 0 ? pt_utf8_decode(text->data, size) : NOT_UTF8;
    size_t taken = size != 0 ? size : 1;
    *text = pt_slice_of(text->data + taken, text->size - taken);
    return character;
}

uint64_t pt_utf16_length(pt_slice text)
{
    uint64_t units = 0;
    while (text.size != 0) {
        uint32_t character = take_character(&text);
        units += character > 0xFFFF && character != NOT_UTF8 ? 2 : 1;
    }
    return units;
}

static bool is_ascii_letter(uint32_t character)
{
    return (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z');
}

static bool is_ascii_digit(uint32_t character)
{
    return character >= '0' && character <= '9';
}

/* --- Table names --- */

/* The message contains only the start of the name, which may be long. */
static int refuse_table_name(const char *name, const char *reason, const char *code,
                             pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(pt_slice_text(name), excerpt);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "the table's name in the store, %Q, %s; give another one (a ptable by the "
                        "option table), or leave out limits='azure' (%s)",
                        excerpt, reason, code);
}

int pt_limits_check_table_name(const char *name, pt_error *error)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)name[i];
        if (!is_ascii_letter(c) && !(i != 0 && is_ascii_digit(c))) {
            return refuse_table_name(name,
                                     i == 0 ? "does not begin with a letter of A to Z"
                                            : "has characters other than letters and digits",
                                     "InvalidResourceName", error);
        }
    }
    if (length < TABLE_NAME_SHORTEST || length > TABLE_NAME_LONGEST) {
        return refuse_table_name(name, "does not have 3 to 63 characters", "OutOfRangeInput",
                                 error);
    }
    if (sqlite3_stricmp(name, "tables") == 0) {
        return refuse_table_name(name, "is reserved", "InvalidResourceName", error);
    }
    return SQLITE_OK;
}

/* --- Keys --- */

static bool is_forbidden_in_keys(uint32_t character)
{
    return character < 0x20 || (character >= 0x7F && character <= 0x9F) || character == '/' ||
           character == '\\' || character == '#' || character == '?';
}

static int refuse_key_character(const char *column, pt_slice key, uint32_t character,
                                const char *rule, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(key, excerpt);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s %Q contains U+%04X; %s allows no / \\ # ? and no control "
                        "characters in keys, replace it (OutOfRangeInput)",
                        column, excerpt, character, rule);
}

static int check_key_characters(const char *column, pt_slice key, const char *rule, pt_error *error)
{
    pt_slice rest = key;
    while (rest.size != 0) {
        uint32_t character = take_character(&rest);
        if (is_forbidden_in_keys(character)) {
            return refuse_key_character(column, key, character, rule, error);
        }
    }
    return SQLITE_OK;
}

static int check_one_key(const char *column, pt_slice key, const char *rule, pt_error *error)
{
    int rc = check_key_characters(column, key, rule, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    uint64_t units = pt_utf16_length(key);
    if (units <= KEY_UNITS) {
        return SQLITE_OK;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(key, excerpt);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s %Q has %llu UTF-16 units; %s allows %d, shorten it "
                        "(PropertyValueTooLarge)",
                        column, excerpt, (unsigned long long)units, rule, KEY_UNITS);
}

int pt_limits_check_keys(pt_slice partition_key, pt_slice row_key, const char *rule,
                         pt_error *error)
{
    int rc = check_one_key("PartitionKey", partition_key, rule, error);
    return rc == SQLITE_OK ? check_one_key("RowKey", row_key, rule, error) : rc;
}

int pt_limits_check_key_characters(pt_slice partition_key, pt_slice row_key, const char *rule,
                                   pt_error *error)
{
    int rc = check_key_characters("PartitionKey", partition_key, rule, error);
    return rc == SQLITE_OK ? check_key_characters("RowKey", row_key, rule, error) : rc;
}

/* --- Names of properties --- */

/* The ranges of U+0080 to U+FFFF with no letters, digits or marks, or with hardly any. */
static const struct {
    uint16_t first;
    uint16_t last;
} other_characters[] = {{0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},     {0xBB, 0xBF},
                        {0xD7, 0xD7},     {0xF7, 0xF7},     {0x2000, 0x2BFF}, {0x2E00, 0x2E7F},
                        {0x3000, 0x3004}, {0x3008, 0x3020}, {0xE000, 0xF8FF}, {0xFFF0, 0xFFFF}};

static bool is_identifier_letter(uint32_t character)
{
    if (character < 0x80) {
        return is_ascii_letter(character) || character == '_';
    }
    bool letter = character <= 0xFFFF;
    for (size_t i = 0; i < sizeof other_characters / sizeof other_characters[0]; i++) {
        letter = letter &&
                 (character < other_characters[i].first || character > other_characters[i].last);
    }
    return letter;
}

static bool is_identifier(pt_slice name)
{
    pt_slice rest = name;
    if (rest.size == 0 || !is_identifier_letter(take_character(&rest))) {
        return false;
    }
    while (rest.size != 0) {
        uint32_t character = take_character(&rest);
        if (!is_identifier_letter(character) && !is_ascii_digit(character)) {
            return false;
        }
    }
    return true;
}

static int check_property_name(pt_slice name, const char *rule, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    uint64_t units = pt_utf16_length(name);
    if (units > NAME_UNITS) {
        pt_excerpt(name, excerpt);
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the name of property %Q has %llu characters; %s allows "
                            "%d, shorten it (PropertyNameTooLong)",
                            excerpt, (unsigned long long)units, rule, NAME_UNITS);
    }
    if (!is_identifier(name)) {
        pt_excerpt(name, excerpt);
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "property %Q has a name that %s does not allow; begin it "
                            "with a letter or _ and use only letters, digits and _ "
                            "(PropertyNameInvalid)",
                            excerpt, rule);
    }
    return SQLITE_OK;
}

/* --- Values --- */

static int refuse_value_size(pt_slice name, uint64_t size, const char *unit, int limit,
                             const char *rule, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "property %Q has %llu %s; %s allows %d, shorten it or divide "
                        "it among several properties (PropertyValueTooLarge)",
                        excerpt, (unsigned long long)size, unit, rule, limit);
}

static int check_string_size(const pt_field *property, uint64_t *bytes, const char *rule,
                             pt_error *error)
{
    uint64_t units = pt_utf16_length(property->value.bytes);
    *bytes += VARIABLE_BASE + UNIT_BYTES * units;
    return units <= STRING_UNITS ? SQLITE_OK
                                 : refuse_value_size(property->name, units, "UTF-16 units",
                                                     STRING_UNITS, rule, error);
}

static int check_binary_size(const pt_field *property, uint64_t *bytes, const char *rule,
                             pt_error *error)
{
    size_t size = property->value.bytes.size;
    *bytes += VARIABLE_BASE + size;
    return size <= BINARY_BYTES
               ? SQLITE_OK
               : refuse_value_size(property->name, size, "bytes", BINARY_BYTES, rule, error);
}

static int check_datetime(const pt_field *property, uint64_t *bytes, const char *rule,
                          pt_error *error)
{
    *bytes += pt_type_fixed_size(PT_DATETIME);
    if (property->value.integer >= FIRST_TICKS) {
        return SQLITE_OK;
    }
    char excerpt[PT_EXCERPT_SIZE];
    char text[PT_DATETIME_TEXT_SIZE + 1];
    pt_excerpt(property->name, excerpt);
    pt_ticks_format(property->value.integer, text);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "property %Q is %s; %s allows no DateTime before 1601-01-01, "
                        "give a later one or a String (OutOfRangeInput)",
                        excerpt, text, rule);
}

static int check_property_value(const pt_field *property, uint64_t *bytes, const char *rule,
                                pt_error *error)
{
    switch (property->value.type) {
    case PT_STRING:
        return check_string_size(property, bytes, rule, error);
    case PT_BINARY:
        return check_binary_size(property, bytes, rule, error);
    case PT_DATETIME:
        return check_datetime(property, bytes, rule, error);
    default:
        *bytes += pt_type_fixed_size(property->value.type);
        return SQLITE_OK;
    }
}

/* --- Entities --- */

int pt_limits_check_property(const pt_field *property, uint64_t *bytes, const char *rule,
                             pt_error *error)
{
    *bytes += PROPERTY_BASE + UNIT_BYTES * pt_utf16_length(property->name);
    int rc = check_property_name(property->name, rule, error);
    return rc == SQLITE_OK ? check_property_value(property, bytes, rule, error) : rc;
}

int pt_limits_check_entity_size(pt_slice partition_key, pt_slice row_key, unsigned properties,
                                uint64_t bytes, const char *rule, pt_error *error)
{
    if (properties > PROPERTIES_MOST) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the entity has %u properties; %s allows %d, leave some out "
                            "or make several entities (TooManyProperties)",
                            properties, rule, PROPERTIES_MOST);
    }
    uint64_t size = bytes + ENTITY_BASE +
                    UNIT_BYTES * (pt_utf16_length(partition_key) + pt_utf16_length(row_key));
    if (size > ENTITY_BYTES) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the entity has %llu bytes as the Table service counts; %s "
                            "allows %d, make it smaller (EntityTooLarge)",
                            (unsigned long long)size, rule, ENTITY_BYTES);
    }
    return SQLITE_OK;
}
