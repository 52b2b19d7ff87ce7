#include "entity/index.h"

#include <assert.h>
#include <math.h>

#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/key.h"

static_assert((int)PT_ENTRY_PARTS_MAX == (int)PT_KEY_PARTS_MAX, "every entry has a logical key");

/* Bytes of a part: the class, the Double, and how much greater the number is. */
enum { DOUBLE_SIZE = 8, NUMBER_PART_SIZE = 1 + DOUBLE_SIZE, EXCESS_SIZE = 2 };

/* From here on not every integer has an equal Double. */
static const double EXACT_INTEGERS_END = 9007199254740992.0;

/* Two to the power of 63: no int64_t is as great. */
static const double INT64_END = 9223372036854775808.0;

#define SIGN_BIT (UINT64_C(1) << 63)

pt_entry_class pt_entry_class_of(const pt_value *value)
{
    switch (value->type) {
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        return PT_ENTRY_NUMBER;
    case PT_DOUBLE:
        return isnan(value->real) ? PT_ENTRY_TEXT : PT_ENTRY_NUMBER;
    case PT_STRING:
    case PT_DATETIME:
    case PT_GUID:
    case PT_LARGE_STRING:
        return PT_ENTRY_TEXT;
    case PT_BINARY:
    case PT_LARGE_BINARY:
        return PT_ENTRY_BINARY;
    case PT_NONE:
        break;
    }
    return PT_ENTRY_NULL;
}

/* --- Numbers --- */

static uint64_t bits_of(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static void put_be64(uint8_t *to, uint64_t value)
{
    pt_put_be32(to, (uint32_t)(value >> 32));
    pt_put_be32(to + sizeof(uint32_t), (uint32_t)value);
}

static uint64_t get_be64(const uint8_t *from)
{
    return (uint64_t)pt_get_be32(from) << 32 | pt_get_be32(from + sizeof(uint32_t));
}

static bool has_excess(double real)
{
    return real >= EXACT_INTEGERS_END || real <= -EXACT_INTEGERS_END;
}

/* The greatest Double not above an integer. */
static double floor_of(int64_t integer)
{
    double real = (double)integer;
    bool above = real >= INT64_END || (int64_t)real > integer;
    return above ? nextafter(real, -INFINITY) : real;
}

static void append_number_part(pt_buffer *key, double real, uint64_t excess)
{
    uint64_t bits = bits_of(real);
    size_t size = has_excess(real) ? NUMBER_PART_SIZE + EXCESS_SIZE : NUMBER_PART_SIZE;
    uint8_t *at = pt_buffer_extend(key, size);
    if (at == NULL) {
        return;
    }
    at[0] = PT_ENTRY_NUMBER;
    put_be64(at + 1, (bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT);
    if (size > NUMBER_PART_SIZE) {
        at[NUMBER_PART_SIZE] = (uint8_t)(excess >> 8);
        at[NUMBER_PART_SIZE + 1] = (uint8_t)excess;
    }
}

static void append_integer_part(pt_buffer *key, int64_t integer)
{
    double real = floor_of(integer);
    append_number_part(key, real, (uint64_t)integer - (uint64_t)(int64_t)real);
}

/* Sets *excess to 0 for a Double that is written alone. False if the part has another size. */
static bool read_number_part(pt_slice part, double *real, uint64_t *excess)
{
    if (part.size < NUMBER_PART_SIZE || part.data[0] != PT_ENTRY_NUMBER) {
        return false;
    }
    uint64_t bits = get_be64(part.data + 1);
    bits = (bits & SIGN_BIT) != 0 ? bits & ~SIGN_BIT : ~bits;
    memcpy(real, &bits, sizeof *real);
    bool more = has_excess(*real);
    const uint8_t *rest = part.data + NUMBER_PART_SIZE;
    *excess = more && part.size > NUMBER_PART_SIZE + 1 ? (uint64_t)(rest[0] << 8 | rest[1]) : 0;
    return !isnan(*real) &&
           part.size == (size_t)(more ? NUMBER_PART_SIZE + EXCESS_SIZE : NUMBER_PART_SIZE);
}

static bool read_integer_part(pt_slice part, int64_t least, int64_t most, int64_t *integer)
{
    double real;
    uint64_t excess;
    if (!read_number_part(part, &real, &excess) || !(real >= -INT64_END && real < INT64_END)) {
        return false;
    }
    *integer = (int64_t)((uint64_t)(int64_t)real + excess);
    return (double)(int64_t)real == real && *integer >= least && *integer <= most;
}

/* --- Texts and binaries --- */

static uint8_t *put_escaped_bytes(uint8_t *to, pt_slice bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        *to++ = bytes.data[i];
        if (bytes.data[i] == PT_ENTRY_ESCAPE) {
            *to++ = PT_ENTRY_ESCAPED_NUL;
        }
    }
    return to;
}

/* Appends the bytes of a class, with or without what ends them. */
static void append_part_bytes(pt_buffer *key, pt_entry_class class, pt_slice bytes, bool ended)
{
    size_t before = key->size;
    size_t most = 1 + 2 * bytes.size + PT_ENTRY_END_SIZE;
    uint8_t *at = pt_buffer_extend(key, most);
    if (at == NULL) {
        return;
    }
    uint8_t *start = at;
    *at++ = (uint8_t) class;
    if (pt_slice_has_nul(bytes)) {
        at = put_escaped_bytes(at, bytes);
    } else if (bytes.size != 0) {
        memcpy(at, bytes.data, bytes.size);
        at += bytes.size;
    }
    if (ended) {
        *at++ = PT_ENTRY_ESCAPE;
        *at++ = PT_ENTRY_ESCAPED_END;
    }
    key->size = before + (size_t)(at - start);
}

static bool append_text_part(pt_buffer *key, pt_entry_class class, pt_slice bytes, size_t limit)
{
    bool cut = bytes.size > limit;
    append_part_bytes(key, class, cut ? pt_slice_of(bytes.data, limit) : bytes, true);
    return cut;
}

void pt_entry_append_prefix(pt_buffer *key, pt_slice prefix)
{
    append_part_bytes(key, PT_ENTRY_TEXT, prefix, false);
}

/* Finds the two bytes that end a text or binary. Returns the bytes before them; SIZE_MAX if there
 * is no end. */
static size_t find_text_end(pt_slice bytes)
{
    size_t at = 0;
    while (at < bytes.size) {
        const uint8_t *found = memchr(bytes.data + at, PT_ENTRY_ESCAPE, bytes.size - at);
        at = found != NULL ? (size_t)(found - bytes.data) : bytes.size;
        if (bytes.size - at < PT_ENTRY_END_SIZE) {
            break;
        }
        if (bytes.data[at + 1] == PT_ENTRY_ESCAPED_END) {
            return at;
        }
        at += PT_ENTRY_END_SIZE;
    }
    return SIZE_MAX;
}

/* Reads the bytes of a text or binary from a part of this class. */
static bool read_escaped(pt_slice part, pt_entry_class class, pt_slice *bytes, pt_buffer *scratch)
{
    if (part.size < 1 + PT_ENTRY_END_SIZE || part.data[0] != (uint8_t) class) {
        return false;
    }
    *bytes = pt_slice_of(part.data + 1, part.size - 1 - PT_ENTRY_END_SIZE);
    if (!pt_slice_has_nul(*bytes)) {
        return true;
    }
    pt_buffer_clear(scratch);
    for (size_t i = 0; i < bytes->size; i++) {
        pt_buffer_append_byte(scratch, bytes->data[i]);
        i += bytes->data[i] == PT_ENTRY_ESCAPE ? 1 : 0;
    }
    size_t size = scratch->size;
    pt_buffer_append_byte(scratch, 0);
    *bytes = pt_slice_of(scratch->data, size);
    return !scratch->failed;
}

/* --- Parts --- */

static uint8_t append_double_part(pt_buffer *key, double real, size_t limit)
{
    if (isnan(real)) {
        append_text_part(key, PT_ENTRY_TEXT, pt_slice_text(pt_double_name(real)), limit);
        return PT_DOUBLE | PT_ENTRY_INEXACT;
    }
    append_number_part(key, real == 0 ? 0 : real, 0);
    return real == 0 && signbit(real) ? PT_DOUBLE | PT_ENTRY_INEXACT : PT_DOUBLE;
}

static uint8_t append_value_part(pt_buffer *key, const pt_value *value, size_t limit)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    bool cut = false;
    switch (value->type) {
    case PT_NONE:
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
        pt_buffer_append_byte(key, PT_ENTRY_NULL);
        return PT_NONE;
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        append_integer_part(key, value->integer);
        break;
    case PT_DOUBLE:
        return append_double_part(key, value->real, limit);
    case PT_STRING:
        cut = append_text_part(key, PT_ENTRY_TEXT, value->bytes, limit);
        break;
    case PT_BINARY:
        cut = append_text_part(key, PT_ENTRY_BINARY, value->bytes, limit);
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        append_text_part(key, PT_ENTRY_TEXT, pt_slice_of(text, PT_DATETIME_TEXT_SIZE), limit);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, text);
        append_text_part(key, PT_ENTRY_TEXT, pt_slice_of(text, PT_GUID_TEXT_SIZE), limit);
        break;
    }
    return (uint8_t)((unsigned)value->type | (cut ? (unsigned)PT_ENTRY_CUT : 0));
}

uint8_t pt_entry_append(pt_buffer *key, const pt_value *value)
{
    return append_value_part(key, value, PT_ENTRY_VALUE_MAX);
}

void pt_entry_append_whole(pt_buffer *key, const pt_value *value)
{
    append_value_part(key, value, SIZE_MAX);
}

size_t pt_entry_part_size(pt_slice bytes)
{
    double real;
    uint64_t excess;
    if (bytes.size == 0) {
        return 0;
    }
    size_t end;
    switch (bytes.data[0]) {
    case PT_ENTRY_NULL:
        return 1;
    case PT_ENTRY_NUMBER:
        if (bytes.size >= NUMBER_PART_SIZE &&
            read_number_part(pt_slice_of(bytes.data, NUMBER_PART_SIZE), &real, &excess)) {
            return NUMBER_PART_SIZE;
        }
        return bytes.size >= NUMBER_PART_SIZE + EXCESS_SIZE &&
                       read_number_part(pt_slice_of(bytes.data, NUMBER_PART_SIZE + EXCESS_SIZE),
                                        &real, &excess)
                   ? NUMBER_PART_SIZE + EXCESS_SIZE
                   : 0;
    case PT_ENTRY_TEXT:
    case PT_ENTRY_BINARY:
        end = find_text_end(pt_slice_of(bytes.data + 1, bytes.size - 1));
        return end != SIZE_MAX ? 1 + end + PT_ENTRY_END_SIZE : 0;
    default:
        return 0;
    }
}

/* As pt_entry_parts_size; 0 also if one stands for no value, unless `nulls`. */
static size_t size_of_parts(pt_slice bytes, unsigned count, bool nulls)
{
    size_t at = 0;
    for (unsigned i = 0; i < count; i++) {
        size_t size = pt_entry_part_size(pt_slice_of(bytes.data + at, bytes.size - at));
        if (size == 0 || (!nulls && bytes.data[at] == PT_ENTRY_NULL)) {
            return 0;
        }
        at += size;
    }
    return at;
}

size_t pt_entry_parts_size(pt_slice bytes, unsigned count)
{
    return size_of_parts(bytes, count, true);
}

size_t pt_entry_whole_parts_size(pt_slice bytes, unsigned count)
{
    return size_of_parts(bytes, count, false);
}

bool pt_entry_is_cut(const uint8_t *types, unsigned count)
{
    unsigned all = 0;
    for (unsigned i = 0; i < count; i++) {
        all |= types[i];
    }
    return (all & PT_ENTRY_CUT) != 0;
}

bool pt_entry_read(pt_slice part, uint8_t type, pt_value *value, pt_buffer *scratch)
{
    pt_slice text;
    uint64_t excess;
    value->type = (pt_type)(type & PT_ENTRY_TYPE);
    switch (value->type) {
    case PT_NONE:
        return part.size == 1 && part.data[0] == PT_ENTRY_NULL;
    case PT_INT32:
        return read_integer_part(part, INT32_MIN, INT32_MAX, &value->integer);
    case PT_INT64:
        return read_integer_part(part, INT64_MIN, INT64_MAX, &value->integer);
    case PT_BOOLEAN:
        return read_integer_part(part, 0, 1, &value->integer);
    case PT_DOUBLE:
        return read_number_part(part, &value->real, &excess) && excess == 0;
    case PT_STRING:
        return read_escaped(part, PT_ENTRY_TEXT, &value->bytes, scratch);
    case PT_BINARY:
        return read_escaped(part, PT_ENTRY_BINARY, &value->bytes, scratch);
    case PT_DATETIME:
        return read_escaped(part, PT_ENTRY_TEXT, &text, scratch) &&
               text.size == PT_DATETIME_TEXT_SIZE && pt_ticks_parse(text, &value->integer);
    case PT_GUID:
        return read_escaped(part, PT_ENTRY_TEXT, &text, scratch) &&
               pt_guid_parse(text, value->guid);
    default:
        return false;
    }
}

/* --- Definitions --- */

void pt_index_definition_free(pt_index_definition *definition)
{
    pt_buffer_free(&definition->names);
    *definition = (pt_index_definition){0};
}

static bool is_name_in_any_case(pt_slice name, const char *other)
{
    return name.size == strlen(other) &&
           sqlite3_strnicmp((const char *)name.data, other, (int)name.size) == 0;
}

/* Columns that tables have and that are no properties. */
static bool is_other_column(pt_slice name)
{
    static const char *const names[] = {"Properties", "Filter",    "ETag",   "WriteMode",
                                        "IfMatch",    "EntityKey", "_rowid_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is_name_in_any_case(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* The name of a system property in its own case; other names as they are. */
static pt_slice own_case(pt_slice name)
{
    for (int i = 0; i < PT_SYSTEM_PROPERTIES; i++) {
        const char *system = pt_system_property_name((pt_system_property)i);
        if (is_name_in_any_case(name, system)) {
            return pt_slice_text(system);
        }
    }
    return name;
}

bool pt_index_next_name(pt_slice *key, pt_slice *name)
{
    if (key->size == 0) {
        return false;
    }
    const uint8_t *end = memchr(key->data, 0, key->size);
    size_t size = end != NULL ? (size_t)(end - key->data) : key->size;
    size_t taken = end != NULL ? size + 1 : size;
    *name = pt_slice_of(key->data, size);
    *key = pt_slice_of(key->data + taken, key->size - taken);
    return true;
}

static bool has_name(const pt_index_definition *definition, pt_slice name)
{
    pt_slice rest = pt_buffer_slice(&definition->names);
    pt_slice present;
    while (pt_index_next_name(&rest, &present)) {
        if (pt_slice_equal(present, name)) {
            return true;
        }
    }
    return false;
}

/* True for a name that is written without quotes. */
static bool is_bare_name(pt_slice name)
{
    size_t i = 0;
    while (i < name.size && pt_is_name_character(name.data[i])) {
        i++;
    }
    return i == name.size;
}

const char *pt_index_definition_add(pt_index_definition *definition, pt_slice given)
{
    pt_slice name = own_case(given);
    if (name.size == 0) {
        return "a name is empty";
    }
    if (is_other_column(name)) {
        return "columns of ptable itself, other than PartitionKey, RowKey and Timestamp, cannot be "
               "indexed";
    }
    if (pt_slice_has_nul(name) || pt_is_annotation_name(name)) {
        return "no property can have this name";
    }
    if (has_name(definition, name)) {
        return "a column is listed twice";
    }
    if (definition->count == PT_ENTRY_COLUMNS_MAX) {
        return "it has more than 8 columns";
    }
    if (definition->names.size + name.size + 1 > PT_INDEX_NAMES_MAX) {
        return "its names have more than 2000 bytes together";
    }
    pt_buffer_append_slice(&definition->names, name);
    pt_buffer_append_byte(&definition->names, 0);
    definition->count++;
    return NULL;
}

/* The first comma outside of quotes, or the size. */
static size_t find_comma(pt_slice list)
{
    bool quoted = false;
    size_t at = 0;
    while (at < list.size && (quoted || list.data[at] != ',')) {
        quoted = quoted != (list.data[at] == '"');
        at++;
    }
    return at;
}

/* The name of a column of the table in its own case; other names as they are. */
static pt_slice declared_case(pt_slice name, const pt_column *columns, int count)
{
    for (int i = 0; i < count; i++) {
        if (is_name_in_any_case(name, columns[i].name)) {
            return pt_slice_of(columns[i].name, columns[i].name_size);
        }
    }
    return name;
}

static const char *add_item(pt_index_definition *definition, pt_slice item,
                            const pt_column *columns, int count)
{
    bool quoted = item.size >= 2 && item.data[0] == '"' && item.data[item.size - 1] == '"';
    if (!quoted && !is_bare_name(item)) {
        return "a column is a name; one that is not just letters, digits and _ needs double quotes";
    }
    if (!quoted) {
        return pt_index_definition_add(definition, declared_case(item, columns, count));
    }
    pt_buffer name = {0};
    for (size_t i = 1; i + 1 < item.size; i++) {
        pt_buffer_append_byte(&name, item.data[i]);
        i += item.data[i] == '"' ? 1 : 0; /* written twice */
    }
    const char *wrong = NULL;
    if (name.failed) {
        definition->names.failed = true;
    } else {
        wrong = pt_index_definition_add(definition,
                                        declared_case(pt_buffer_slice(&name), columns, count));
    }
    pt_buffer_free(&name);
    return wrong;
}

const char *pt_index_definition_add_list(pt_index_definition *definition, pt_slice list,
                                         const pt_column *columns, int count)
{
    const char *wrong = NULL;
    for (;;) {
        size_t comma = find_comma(list);
        wrong =
            add_item(definition, pt_without_blanks(pt_slice_of(list.data, comma)), columns, count);
        if (wrong != NULL || comma == list.size) {
            return wrong;
        }
        list = pt_slice_of(list.data + comma + 1, list.size - comma - 1);
    }
}

const char *pt_index_definition_problem(const pt_index_definition *definition)
{
    static const pt_system_property keys[] = {PT_SYSTEM_PARTITION_KEY, PT_SYSTEM_ROW_KEY};
    pt_slice rest = pt_buffer_slice(&definition->names);
    pt_slice name;
    unsigned number = 0;
    while (pt_index_next_name(&rest, &name)) {
        if (number == sizeof keys / sizeof keys[0] ||
            pt_find_system_property(name) != keys[number++]) {
            return NULL;
        }
    }
    bool one_entity_a_partition = definition->unique && number == 1;
    return one_entity_a_partition ? NULL
                                  : "the table is in the order of PartitionKey, RowKey anyway";
}

pt_slice pt_index_definition_key(const pt_index_definition *definition)
{
    size_t size = definition->names.size;
    return pt_slice_of(definition->names.data, size != 0 ? size - 1 : 0);
}

void pt_index_name_from_key(pt_slice key, pt_buffer *name)
{
    pt_buffer_assign(name, key);
    for (size_t i = 0; i < name->size; i++) {
        if (name->data[i] == 0) {
            name->data[i] = ',';
        }
    }
    pt_buffer_append_byte(name, 0);
}
