/*
 * Records (record.h) and descriptions of shapes (shape.h). The first byte of the input says what
 * the others are: the description of a shape; a record, whose checksums are put right; or
 * properties to make a record of. What can be read is written again and then reads the same; a
 * changed bit or another key is found out; patched values are there, and the others as they were.
 */
#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "fixtures/sample_records.h"
#include "fixtures/value_same.h"
#include "fuzz/fuzz.h"

enum { FIELDS_MAX = 64, DESCRIPTION_MAX = 2048, ROOM = 1 << 17 };

static const uint32_t sizes_of_types[PT_STORED_TYPE_LAST + 1] = {
    [PT_INT32] = 4,    [PT_INT64] = 8, [PT_DOUBLE] = 8,        [PT_BOOLEAN] = 1,
    [PT_DATETIME] = 8, [PT_GUID] = 16, [PT_LARGE_STRING] = 18, [PT_LARGE_BINARY] = 18};

/* --- Shapes --- */

static bool is_variable(uint8_t type)
{
    return type == PT_STRING || type == PT_BINARY;
}

static void check_order(const pt_property *before, const pt_property *property)
{
    bool both_inline = before->name_id == 0 && property->name_id == 0;
    must_hold(both_inline ? pt_slice_compare(before->name, property->name) < 0
                          : property->name_id == 0 ||
                                (before->name_id != 0 && before->name_id < property->name_id),
              "properties are in order");
}

static void check_shape(const pt_shape *shape, pt_slice description)
{
    uint32_t fixed = 0;
    uint32_t variable = 0;
    must_hold(pt_slice_equal(shape->description, description), "a description is kept");
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_property *property = &shape->properties[i];
        must_hold(property->type >= PT_STRING && property->type <= PT_STORED_TYPE_LAST,
                  "types are known");
        must_hold(property->name.data[property->name.size] == 0, "names end with a NUL");
        must_hold(property->slot == (is_variable(property->type) ? variable : fixed),
                  "slots follow each other");
        fixed += sizes_of_types[property->type];
        variable += is_variable(property->type);
        must_hold(pt_shape_find(shape, property->name) >= 0, "properties are found");
        if (i > 0) {
            check_order(&shape->properties[i - 1], property);
        }
    }
    must_hold(shape->fixed_size == fixed && shape->variable == variable, "slots are counted");
}

/* From malloc, with its memory; NULL if the description is malformed. */
static pt_shape *parse_shape(pt_slice description)
{
    uint8_t *exact = exact_copy(description);
    pt_slice copy = pt_slice_of(exact, description.size);
    size_t size = pt_shape_memory(copy);
    void *memory = size != 0 ? malloc(size) : NULL;
    pt_shape *shape = size != 0 ? pt_shape_parse(copy, sample_lookup, NULL, memory) : NULL;
    free(exact); /* the shape must not depend on it */
    if (shape == NULL) {
        free(memory);
        return NULL;
    }
    must_hold((void *)shape == memory, "a shape begins its memory");
    check_shape(shape, description);
    return shape;
}

static void check_description(pt_slice description)
{
    free(parse_shape(description));
}

/* --- Records --- */

static int open_record(pt_record *record, pt_slice key, const record_bytes *bytes,
                       pt_buffer *scratch)
{
    int rc = pt_record_open(record, key, slice_of(bytes), &source, scratch);
    must_hold(rc == SQLITE_OK || rc == SQLITE_CORRUPT_VTAB, "a record is one or is not");
    return rc;
}

/* Touches every byte that the value claims to have. */
static void touch(const pt_value *value)
{
    if (value->type != PT_STRING && value->type != PT_BINARY) {
        return;
    }
    free(
        exact_copy(pt_slice_of(value->bytes.data, value->bytes.size + (value->type == PT_STRING))));
    must_hold(value->type != PT_STRING || value->bytes.data[value->bytes.size] == 0,
              "a text ends with a NUL");
}

/* Reads all values; false if one of them is damaged. */
static bool read_fields(pt_record *record, pt_field *values)
{
    bool all = true;
    for (unsigned i = 0; i < record->shape->count; i++) {
        bool good = pt_record_value(record, i, &values[i].value) == SQLITE_OK;
        all = all && good;
        if (good) {
            touch(&values[i].value);
        }
    }
    must_hold(all == pt_record_is_sound(record), "a record is sound if all can be read");
    return all;
}

static void check_values(const record_bytes *bytes, const pt_field *values, int64_t ticks)
{
    pt_record record;
    pt_buffer scratch = {0};
    must_hold(open_record(&record, sample_key(), bytes, &scratch) == SQLITE_OK,
              "what is written can be opened");
    must_hold(record.ticks == ticks, "the time comes back");
    for (unsigned i = 0; i < record.shape->count; i++) {
        pt_value value;
        must_hold(pt_record_value(&record, i, &value) == SQLITE_OK, "what is written can be read");
        must_hold(value_same(&value, &values[i].value), "values come back");
    }
    pt_buffer_free(&scratch);
}

static void check_rewritten(const pt_shape *shape, const pt_field *values, int64_t ticks)
{
    record_bytes written = {.size = pt_record_size(shape, values)};
    must_hold(written.size >= PT_RECORD_LEAST, "a record has a size");
    written.data = malloc(written.size);
    pt_record_write(shape, values, ticks, sample_key(), written.data, written.size);
    check_values(&written, values, ticks);
    free(written.data);
}

/* A value of the same type and size whose bits are all others. */
static pt_value other_value(const pt_value *value, uint8_t *room)
{
    pt_value other = *value;
    switch (value->type) {
    case PT_STRING:
    case PT_BINARY:
        for (size_t i = 0; i < value->bytes.size; i++) {
            room[i] = (uint8_t)~value->bytes.data[i];
        }
        other.bytes.data = room;
        return other;
    case PT_GUID:
        for (int i = 0; i < PT_GUID_SIZE; i++) {
            other.guid[i] = (uint8_t)~value->guid[i];
        }
        return other;
    case PT_DOUBLE:
        other.real = value->real == 1.0 ? 2.0 : 1.0;
        return other;
    case PT_INT32:
        other.integer = ~value->integer;
        return other;
    default:
        other.integer = value->integer == 0;
        return other;
    }
}

/* Patches one value after the other. */
static void check_patches(pt_record *record, const record_bytes *bytes, pt_field *values)
{
    static uint8_t room[ROOM];
    for (unsigned i = 0; i < record->shape->count && record->shape->id != 0; i++) {
        const pt_property *property = &record->shape->properties[i];
        pt_value before = values[i].value;
        bool large = pt_type_is_large(before.type);
        pt_value after = large ? before : other_value(&before, room);
        must_hold(pt_record_can_take(record, property, &after) == !large,
                  "a value of the same size can be taken");
        if (large) {
            continue;
        }
        record_bytes copy = {.data = exact_copy(slice_of(bytes)), .size = bytes->size};
        pt_record_patch(record, property, &after, copy.data);
        pt_record_seal(record, record->ticks, sample_key(), copy.data);
        values[i].value = after;
        check_values(&copy, values, record->ticks);
        values[i].value = before;
        free(copy.data);
    }
}

static void check_damage(const record_bytes *bytes, size_t bit)
{
    pt_record record;
    pt_buffer scratch = {0};
    record_bytes copy = {.data = exact_copy(slice_of(bytes)), .size = bytes->size};
    copy.data[bit / 8 % copy.size] ^= (uint8_t)(1u << bit % 8);
    must_hold(open_record(&record, sample_key(), &copy, &scratch) != SQLITE_OK ||
                  (record.shape->variable != 0 && !pt_record_verify_data(&record)),
              "a changed bit is found out");
    must_hold(open_record(&record, pt_slice_of("\1Sales\0other", 12), bytes, &scratch) != SQLITE_OK,
              "another key is found out");
    pt_buffer_free(&scratch);
    free(copy.data);
}

static void check_record(const record_bytes *bytes, size_t bit)
{
    static pt_field values[UINT16_MAX + 1];
    pt_record record;
    pt_buffer scratch = {0};
    if (open_record(&record, sample_key(), bytes, &scratch) == SQLITE_OK) {
        check_damage(bytes, bit);
        if (read_fields(&record, values)) {
            check_rewritten(record.shape, values, record.ticks);
            check_patches(&record, bytes, values);
        }
    }
    pt_buffer_free(&scratch);
}

static void check_bytes(fuzz_input *input)
{
    size_t bit = take_below(input, 1 << 15);
    pt_slice content = take_bytes(input, input->left);
    record_bytes bytes = {.data = exact_copy(content), .size = content.size};
    pt_record record;
    pt_buffer scratch = {0};
    int rc = open_record(&record, sample_key(), &bytes, &scratch);
    bool sound = rc == SQLITE_OK && (record.shape->variable == 0 || pt_record_verify_data(&record));
    restore_checksums(&bytes);
    must_hold(!sound || memcmp(bytes.data, content.data, bytes.size) == 0,
              "a wrong checksum is found out");
    pt_buffer_free(&scratch);
    check_record(&bytes, bit);
    free(bytes.data);
}

/* --- Records of properties --- */

static pt_value take_value(fuzz_input *input, pt_type type)
{
    pt_value value = {.type = type};
    uint64_t bits = pt_type_fixed_size(type) != 0 ? take_64_bits(input) : 0;
    switch (type) {
    case PT_STRING:
    case PT_BINARY:
        value.bytes = take_bytes(input, take_below(input, 3) == 0 ? take_below(input, 4096) : 5);
        break;
    case PT_INT32:
        value.integer = (int32_t)bits;
        break;
    case PT_DOUBLE:
        memcpy(&value.real, &bits, sizeof bits);
        break;
    case PT_BOOLEAN:
        value.integer = (int64_t)(bits & 1);
        break;
    case PT_DATETIME:
        value.integer = (int64_t)(bits % ((uint64_t)PT_TICKS_MAX + 1));
        break;
    case PT_GUID:
        memcpy(value.guid, &bits, sizeof bits);
        break;
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
        value.large = (pt_large){.size = 1 + bits % PT_LARGE_SIZE_MAX, .ordinal = (uint16_t)bits};
        break;
    default:
        value.integer = (int64_t)bits;
        break;
    }
    return value;
}

/* Properties of the dictionary, and then some with names of their own: each is taken or not. */
static unsigned take_properties(fuzz_input *input, sample_property *properties, pt_field *values,
                                bool all_known)
{
    static const char *const names[] = {"", "Note", "Notes", "Z", "\xC3\xA9"};
    enum { INLINE_NAMES = sizeof names / sizeof names[0] };
    unsigned count = 0;
    unsigned candidates = SAMPLE_NAMES + (all_known ? 0 : INLINE_NAMES);
    for (unsigned i = 1; i < candidates && input->left != 0; i++) {
        unsigned choice = take_byte(input);
        uint8_t type = (uint8_t)(choice % (PT_STORED_TYPE_LAST + 1));
        if (type == PT_NONE) {
            continue;
        }
        bool known = i < SAMPLE_NAMES;
        properties[count] = (sample_property){.name_id = known ? (uint16_t)i : 0, .type = type};
        properties[count].inline_name = known ? NULL : names[i - SAMPLE_NAMES];
        values[count++].value = take_value(input, (pt_type)type);
    }
    return count;
}

static void check_properties(fuzz_input *input)
{
    static pt_field values[FIELDS_MAX];
    sample_property properties[FIELDS_MAX] = {{0, 0, NULL}};
    uint8_t description[DESCRIPTION_MAX];
    bool in_dictionary = take_below(input, 2) != 0;
    size_t bit = take_below(input, 1 << 15);
    unsigned count = take_properties(input, properties, values, in_dictionary);
    size_t size = sample_describe(properties, count, description);
    pt_shape *shape = parse_shape(pt_slice_of(description, size));
    must_hold(shape != NULL, "a good description is understood");
    shape->id = in_dictionary ? SHAPE_ID : 0;
    known_shape = shape;
    record_bytes bytes = write_record(shape, values);
    check_values(&bytes, values, sample_ticks);
    check_record(&bytes, bit);
    free(bytes.data);
    free(shape);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static pt_shape *shape;
    if (shape == NULL) {
        shape = make_shape(described, PROPERTIES, SHAPE_ID);
    }
    known_shape = shape;
    fuzz_input input = fuzz_input_of(data, size);
    switch (take_below(&input, 3)) {
    case 0:
        check_description(take_bytes(&input, input.left));
        break;
    case 1:
        check_bytes(&input);
        break;
    default:
        check_properties(&input);
        break;
    }
    return 0;
}
